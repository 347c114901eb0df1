//! The outputs of the running cell, so that one of them can be removed.
//!
//! The protocol has no message that removes an output: an update without data leaves an empty output in the notebook.
//! So the cell's output is cleared, and its other outputs are sent again.

use crate::cell_host::OutputSink;
use serde_json::{Value as Json, json};

/// The number of bytes recorded for one cell. If a cell has more output, a removed output is only emptied.
pub const LIMIT: usize = 1 << 20;

enum CellOutput {
    Stream(&'static str, String),
    Display { kind: &'static str, content: Json, metadata: Json },
}

/// The outputs of a cell.
#[derive(Default)]
pub struct OutputRecord {
    outputs: Vec<CellOutput>,
    bytes: usize,
}

fn display_id(content: &Json) -> &Json {
    &content["transient"]["display_id"]
}

impl OutputRecord {
    /// Clears the record with the cell's output.
    pub fn clear(&mut self) {
        *self = OutputRecord::default();
    }

    /// Records printed text.
    pub fn stream(&mut self, name: &'static str, text: &str) {
        if !self.fits(text.len()) {
            return;
        }
        match self.outputs.last_mut() {
            Some(CellOutput::Stream(n, t)) if *n == name => t.push_str(text),
            _ => self.outputs.push(CellOutput::Stream(name, text.to_owned())),
        }
    }

    /// Records a published message.
    pub fn publish(&mut self, kind: &str, content: &Json, metadata: &Json) {
        let size =
            || content["data"].as_object().map_or(0, |data| data.values().filter_map(Json::as_str).map(str::len).sum());
        match kind {
            "clear_output" => self.clear(),
            "update_display_data" if self.fits(size()) => self.update(content),
            "display_data" if self.fits(size()) => self.outputs.push(CellOutput::Display {
                kind: "display_data",
                content: content.clone(),
                metadata: metadata.clone(),
            }),
            "execute_result" if self.fits(size()) => self.outputs.push(CellOutput::Display {
                kind: "execute_result",
                content: content.clone(),
                metadata: metadata.clone(),
            }),
            _ => {}
        }
    }

    /// Whether `bytes` more can be recorded.
    fn fits(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > LIMIT {
            self.outputs.clear();
        }
        self.bytes <= LIMIT
    }

    fn update(&mut self, new: &Json) {
        for output in &mut self.outputs {
            if let CellOutput::Display { content, .. } = output
                && display_id(content) == display_id(new)
            {
                content["data"] = new["data"].clone();
                content["metadata"] = new["metadata"].clone();
            }
        }
    }

    /// The outputs as a notebook stores them. Of too many, only a notice is left.
    pub fn stored(self) -> Vec<Json> {
        if self.bytes > LIMIT {
            let text = format!("more than {LIMIT} bytes of output are not shown\n");
            return vec![json!({"output_type": "stream", "name": "stderr", "text": text})];
        }
        let output = |o| match o {
            CellOutput::Stream(name, text) => json!({"output_type": "stream", "name": name, "text": text}),
            CellOutput::Display { content, .. } => {
                json!({"output_type": "display_data", "data": content["data"], "metadata": content["metadata"]})
            }
        };
        self.outputs.into_iter().map(output).collect()
    }

    /// Removes the display with an id.
    pub fn take_back(&mut self, id: &str, to: &dyn OutputSink) {
        if self.bytes > LIMIT {
            return to.take_back(id);
        }
        self.outputs.retain(|o| !matches!(o, CellOutput::Display { content, .. } if display_id(content) == id));
        // If the front end delays clearing until the next output, the display does not flicker.
        to.publish("clear_output", json!({"wait": !self.outputs.is_empty()}), json!({}));
        for output in &self.outputs {
            match output {
                CellOutput::Stream(name, text) => to.stream(name, text),
                CellOutput::Display { kind, content, metadata } => to.publish(kind, content.clone(), metadata.clone()),
            }
        }
    }
}

//! Notebooks without a front end: every code cell is run, and its outputs are stored as a front end would store them.

use crate::cell_host::OutputSink;
use crate::cells::{CellEvaluator, Setup};
use crate::parameters::{self, Parameter};
use serde_json::{Map, Value as Json, json};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A notebook after a run.
pub struct NotebookRun {
    /// Its JSON text.
    pub text: String,
    /// The cells (from 1) whose outputs differ from the stored ones.
    pub changed: Vec<usize>,
    /// The first cell that failed unexpectedly, with its message and traceback.
    pub failed: Option<(usize, String, String)>,
}

/// Collects the outputs of a cell.
#[derive(Default)]
pub struct CellOutputs {
    /// The outputs so far.
    pub outputs: RefCell<Vec<Json>>,
}

impl OutputSink for CellOutputs {
    fn stream(&self, name: &'static str, text: &str) {
        let mut outputs = self.outputs.borrow_mut();
        if let Some(last) = outputs.last_mut().filter(|o| o["output_type"] == "stream" && o["name"] == name) {
            let both = last["text"].as_str().unwrap_or("").to_owned() + text;
            last["text"] = json!(both);
        } else if !text.is_empty() {
            outputs.push(json!({"output_type": "stream", "name": name, "text": text}));
        }
    }

    fn publish(&self, kind: &str, content: Json, _metadata: Json) {
        let mut outputs = self.outputs.borrow_mut();
        let id = &content["transient"]["display_id"];
        match kind {
            "clear_output" => outputs.clear(),
            "update_display_data" => {
                let same = outputs.iter_mut().filter(|o| o["id"] == *id);
                same.for_each(|o| (o["data"], o["metadata"]) = (content["data"].clone(), content["metadata"].clone()));
            }
            // Until the cell ends, an output keeps its id, by which it can be updated.
            "display_data" => outputs
                .push(json!({"output_type": kind, "data": content["data"], "metadata": content["metadata"], "id": id})),
            "execute_result" | "error" => {
                let mut output = content;
                output["output_type"] = json!(kind);
                outputs.push(output);
            }
            // Controls need a front end.
            _ => {}
        }
    }

    fn ask(&self, _prompt: &str) -> Result<Option<String>, String> {
        Err("input cannot be asked for while a notebook runs by itself".into())
    }

    fn watched(&self) -> bool {
        false
    }
}

/// Runs the text of a notebook up to the first cell that fails. A cell tagged `raises-exception` may fail. `parameters`
/// are inserted as a cell.
pub fn run(text: &str, parameters: &[Parameter], setup: &Setup) -> Result<NotebookRun, String> {
    let mut book: Json = serde_json::from_str(text).map_err(|e| format!("it is not a notebook: {e}"))?;
    if book["nbformat"].as_u64() != Some(4) || !book["cells"].is_array() {
        return Err("it is not a notebook of format 4".into());
    }
    let mut parameters = parameters.to_vec();
    let injected = if parameters.is_empty() { None } else { Some(parameters::inject(&mut book, &parameters)?) };
    let page = Rc::new(CellOutputs::default());
    let interrupt = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, interrupt.clone());
    if let Some(all) = &setup.ranks {
        all.share_interrupts(&interrupt);
    }
    let mut cells = CellEvaluator::new(setup, page.clone(), interrupt, Arc::new(AtomicBool::new(false)));
    let (mut changed, mut failed, mut number) = (Vec::new(), None, 0);
    for (position, cell) in
        book["cells"].as_array_mut().into_iter().flatten().enumerate().filter(|(_, c)| c["cell_type"] == "code")
    {
        if injected == Some(position) {
            parameters::typed(&mut parameters, &mut cells.session.borrow_mut())?;
            cell["source"] = parameters::source(&parameters);
        }
        let code = joined(&cell["source"]);
        number += u64::from(!code.trim().is_empty());
        cells.begin();
        let ended = cells.run(&format!("In[{number}]"), &code, number, false);
        if let Err(f) = &ended {
            page.publish("error", f.content(), json!({}));
        }
        let outputs: Vec<Json> = page.outputs.take().into_iter().map(stored).collect();
        if cell["outputs"].as_array().is_none_or(|old| normal(old) != normal(&outputs)) {
            changed.push(position + 1);
        }
        cell["outputs"] = json!(outputs);
        cell["execution_count"] = if code.trim().is_empty() { Json::Null } else { json!(number) };
        if let (Err(f), false) = (ended, tagged(cell, "raises-exception")) {
            failed = Some((position + 1, f.text, f.traceback));
            break;
        }
    }
    about(&mut book);
    Ok(NotebookRun { text: written(&book)?, changed, failed })
}

fn tagged(cell: &Json, tag: &str) -> bool {
    cell["metadata"]["tags"].as_array().is_some_and(|tags| tags.iter().any(|t| t == tag))
}

/// Sets the kernel metadata of the notebook.
fn about(book: &mut Json) {
    if !book["metadata"].is_object() {
        book["metadata"] = json!({});
    }
    book["metadata"]["kernelspec"] = json!({"display_name": "adl", "language": "adl", "name": "adl"});
    book["metadata"]["language_info"] = crate::language_info();
}

/// Serialises a notebook in the usual format: sorted keys, indented by one.
fn written(book: &Json) -> Result<String, String> {
    let mut out = Vec::new();
    let mut to = serde_json::Serializer::with_formatter(&mut out, serde_json::ser::PrettyFormatter::with_indent(b" "));
    serde::Serialize::serialize(book, &mut to).map_err(|e| e.to_string())?;
    out.push(b'\n');
    String::from_utf8(out).map_err(|e| e.to_string())
}

/// A text that may be stored as an array of lines.
pub fn joined(text: &Json) -> String {
    match text {
        Json::Array(lines) => lines.iter().filter_map(Json::as_str).collect(),
        other => other.as_str().unwrap_or("").to_owned(),
    }
}

/// Removes numbers of milliseconds from a text.
pub fn timeless(text: &str) -> String {
    let mut parts = text.split(" ms");
    let mut out = parts.next().unwrap_or("").to_owned();
    for part in parts {
        out.truncate(out.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').len());
        out += "_ ms";
        out += part;
    }
    out
}

fn lines(text: &str) -> Json {
    json!(text.split_inclusive('\n').collect::<Vec<_>>())
}

/// An output in its stored format: texts as lines, without data that only a running kernel can use.
pub fn stored(mut output: Json) -> Json {
    let Some(o) = output.as_object_mut() else { return output };
    o.remove("id");
    if let Some(Json::String(text)) = o.get("text") {
        let split = lines(text);
        o.insert("text".into(), split);
    }
    if let Some(data) = o.get_mut("data").and_then(Json::as_object_mut) {
        let split: Map<String, Json> =
            std::mem::take(data).into_iter().map(|(k, v)| (k, v.as_str().map_or_else(|| v.clone(), lines))).collect();
        *data = split;
    }
    output
}

/// Normalises outputs for comparison, independently of how their texts are split. Execution counts and durations are
/// removed.
pub fn normal(outputs: &[Json]) -> Vec<Json> {
    fn flat(v: &Json) -> Json {
        match v {
            Json::Array(lines) if lines.iter().all(Json::is_string) => json!(timeless(&joined(v))),
            Json::Array(parts) => Json::Array(parts.iter().map(flat).collect()),
            Json::Object(o) => o
                .iter()
                .filter(|(k, _)| *k != "execution_count")
                .map(|(k, v)| (k.clone(), flat(v)))
                .collect::<Map<_, _>>()
                .into(),
            other => other.clone(),
        }
    }
    outputs.iter().map(flat).collect()
}

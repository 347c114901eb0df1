//! The host of a cell: files of the machine, and output to the cell's audience.

use adl_interp::host::{Format, Host};
use adl_interp::value::Value;
use adl_plotting::{Figure, live::Live};
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The receiver of a cell's outputs.
pub trait OutputSink {
    /// Printed text, on `stdout` or `stderr`.
    fn stream(&self, name: &'static str, text: &str);
    /// An output: `display_data`, `update_display_data`, `clear_output`, `execute_result`, `error`, `comm_open`, ...
    fn publish(&self, kind: &str, content: Json, metadata: Json);
    /// Asks the user for a line of input.
    fn ask(&self, prompt: &str) -> Result<Option<String>, String>;
    /// Whether output is displayed live, so that progress is worth showing.
    fn watched(&self) -> bool;
    /// Removes an output by its id.
    fn take_back(&self, id: &str) {
        self.publish(
            "update_display_data",
            json!({"data": {}, "metadata": {}, "transient": {"display_id": id}}),
            json!({}),
        );
    }
    /// Called when a loop has done `done` of `total` iterations in a time.
    fn progressed(&self, done: u64, total: u64, time: Duration) {
        // By default, progress is ignored.
        let _ = (done, total, time);
    }
}

/// The interval at which the display in one slot is redrawn.
const REDRAW: Duration = Duration::from_millis(60);
/// Loops that take longer show a progress bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// The host of a session whose cells have an audience.
pub struct CellHost {
    world: Box<dyn Host>,
    audience: Rc<dyn OutputSink>,
    slots: HashMap<String, DisplaySlot>,
    bar: Option<Bar>,
    /// The live picture, and its display id.
    live: Live,
    live_id: Option<String>,
    /// The displayed figure, if it was drawn without the media that only a final picture has.
    live_frame: Option<Figure>,
}

/// The display of a slot.
struct DisplaySlot {
    id: String,
    drawn: Instant,
    /// A value that has not been drawn yet.
    next: Option<Value>,
}

struct Bar {
    begin: Instant,
    first: u64,
    total: u64,
    id: Option<String>,
}

impl CellHost {
    /// A stage with a host and an audience.
    pub fn new(world: Box<dyn Host>, audience: Rc<dyn OutputSink>) -> CellHost {
        CellHost {
            world,
            audience,
            slots: HashMap::new(),
            bar: None,
            live: Live::default(),
            live_id: None,
            live_frame: None,
        }
    }

    fn draw(&self, id: &str, v: &Value, kind: &str) {
        self.send(id, crate::mime_bundle::shown(v, ""), kind);
    }

    /// Draws the live picture of the cell; `last` for the final one.
    fn draw_live_picture(&mut self, figure: &Figure, last: bool) {
        let bundle = if last { crate::mime_bundle::picture } else { crate::mime_bundle::frame };
        let kind = if self.live_id.is_some() { "update_display_data" } else { "display_data" };
        let id = self.live_id.get_or_insert_with(fresh).clone();
        self.send(&id, bundle(figure), kind);
        self.live_frame = (!last).then(|| figure.clone());
    }

    fn send(&self, id: &str, (data, metadata): (Json, Json), kind: &str) {
        self.audience.publish(
            kind,
            json!({"data": data, "metadata": metadata, "transient": {"display_id": id}}),
            json!({}),
        );
    }
}

fn fresh() -> String {
    uuid::Uuid::new_v4().to_string()
}

impl Host for CellHost {
    fn print(&mut self, text: &str) {
        self.audience.stream("stdout", text);
    }
    /// Called at the end of a cell: draws pending displays, and resets the slots.
    fn flush(&mut self) {
        if let Some(last) = self.live.finish().or_else(|| self.live_frame.take()) {
            self.draw_live_picture(&last, true);
        }
        self.live_id = None;
        for slot in std::mem::take(&mut self.slots).into_values() {
            if let Some(v) = &slot.next {
                self.draw(&slot.id, v, "update_display_data");
            }
        }
        if let Some(Bar { id: Some(id), .. }) = self.bar.take() {
            self.audience.take_back(&id);
        }
    }
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        self.world.read(path)
    }
    fn read_at(&mut self, path: &str, from: u64, len: usize) -> Result<Vec<u8>, String> {
        self.world.read_at(path, from, len)
    }
    fn length(&mut self, path: &str) -> Result<u64, String> {
        self.world.length(path)
    }
    fn list(&mut self, path: &str) -> Option<Vec<String>> {
        self.world.list(path)
    }
    fn size(&mut self, path: &str) -> usize {
        self.world.size(path)
    }
    fn write(&mut self, path: &str, bytes: &[u8]) -> Result<(), String> {
        self.world.write(path, bytes)
    }
    fn identity(&mut self, path: &str) -> Option<String> {
        self.world.identity(path)
    }
    fn args(&mut self) -> Vec<String> {
        self.world.args()
    }
    fn env(&mut self, name: &str) -> Option<String> {
        self.world.env(name)
    }
    fn time(&mut self) -> f64 {
        self.world.time()
    }
    fn free_memory(&mut self) -> Option<u64> {
        self.world.free_memory()
    }
    fn return_memory(&mut self) {
        self.world.return_memory();
    }
    fn input(&mut self, prompt: &str) -> Result<Option<String>, String> {
        self.audience.ask(prompt)
    }
    fn warn(&mut self, text: &str) {
        self.audience.stream("stderr", text);
    }
    fn display(&mut self, value: &Value, slot: &str) {
        if slot.is_empty() {
            return self.draw(&fresh(), value, "display_data");
        }
        match self.slots.get_mut(slot) {
            Some(s) if s.drawn.elapsed() < REDRAW => s.next = Some(value.clone()),
            Some(s) => {
                (s.drawn, s.next) = (Instant::now(), None);
                let id = s.id.clone();
                self.draw(&id, value, "update_display_data");
            }
            None => {
                let id = fresh();
                self.draw(&id, value, "display_data");
                self.slots.insert(slot.to_owned(), DisplaySlot { id, drawn: Instant::now(), next: None });
            }
        }
    }
    fn render(&mut self, value: &Value, format: Format) -> Result<Vec<u8>, String> {
        self.world.render(value, format)
    }
    fn show(&mut self, value: &Value, live: bool) -> Result<(), String> {
        let figure =
            adl_plotting::picture(value).ok_or("this value has no picture: it is not a plot, a cost or residuals")?;
        if !live {
            self.send(&fresh(), crate::mime_bundle::picture(&figure), "display_data");
        } else if let Some(f) = self.live.show(figure) {
            self.draw_live_picture(&f, false);
        }
        Ok(())
    }
    fn watch(&mut self, name: &str, y: f64) -> Result<(), String> {
        if let Some(f) = self.live.watch(name, y) {
            self.draw_live_picture(&f, false);
        }
        Ok(())
    }
    fn progress(&mut self, done: u64, total: u64) {
        if !self.audience.watched() {
            return;
        }
        let same = self.bar.as_ref().is_some_and(|b| b.total == total && done >= b.first);
        if !same {
            let id = self.bar.take().and_then(|b| b.id);
            self.bar = Some(Bar { begin: Instant::now(), first: done, total, id });
            return;
        }
        let Some(bar) = &mut self.bar else { return };
        let passed = bar.begin.elapsed();
        self.audience.progressed(done, total, passed);
        if passed < PATIENCE {
            return;
        }
        let kind = if bar.id.is_some() { "update_display_data" } else { "display_data" };
        let id = bar.id.get_or_insert_with(fresh).clone();
        let data = bar_data(done, total, (done - bar.first) as f64 / passed.as_secs_f64());
        self.audience.publish(kind, json!({"data": data, "metadata": {}, "transient": {"display_id": id}}), json!({}));
    }
}

/// A progress bar: fraction, rate, remaining time.
pub fn bar_data(done: u64, total: u64, rate: f64) -> Json {
    let left = total.saturating_sub(done) as f64 / rate.max(1e-9);
    let percent = 100.0 * done as f64 / total.max(1) as f64;
    let text = format!(
        "{percent:.0} % ({} of {}), {}/s, {left:.0} s left",
        grouped(done),
        grouped(total),
        grouped(rate as u64)
    );
    let html = format!("<progress value=\"{done}\" max=\"{total}\" style=\"width: 20em\"></progress> {text}");
    json!({"text/plain": text, "text/html": html})
}

/// A number with digits in groups of three.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let first = digits.len() % 3;
    let mut groups: Vec<&str> = (first..digits.len()).step_by(3).filter_map(|i| digits.get(i..i + 3)).collect();
    if first > 0 {
        groups.insert(0, &digits[..first]);
    }
    groups.join(",")
}

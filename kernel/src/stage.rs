//! The world as a cell sees it: files of the machine, output to whoever runs the cell.

use adl_interp::host::{Format, Host};
use adl_interp::value::Value;
use adl_plotting::{Figure, live::Live};
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Whoever runs cells and gets their outputs.
pub trait Audience {
    /// Printed text, on `stdout` or `stderr`.
    fn stream(&self, name: &'static str, text: &str);
    /// An output: `display_data`, `update_display_data`, `clear_output`, `execute_result`, `error`, `comm_open`, ...
    fn publish(&self, kind: &str, content: Json, metadata: Json);
    /// A line of the user's.
    fn ask(&self, prompt: &str) -> Result<Option<String>, String>;
    /// Whether somebody watches, so that progress is worth showing.
    fn watched(&self) -> bool;
}

/// How often what is shown in one slot is drawn anew.
const REDRAW: Duration = Duration::from_millis(60);
/// Loops that take longer have a bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// The host of a session whose cells have an audience.
pub struct Stage {
    world: Box<dyn Host>,
    audience: Rc<dyn Audience>,
    slots: HashMap<String, Slot>,
    bar: Option<Bar>,
    /// The picture that changes, and the id under which it is shown.
    live: Live,
    live_id: Option<String>,
}

/// What is shown in a slot.
struct Slot {
    id: String,
    drawn: Instant,
    /// What has not been drawn yet.
    next: Option<Value>,
}

struct Bar {
    begin: Instant,
    first: u64,
    total: u64,
    id: Option<String>,
}

impl Stage {
    /// A stage in a world, before an audience.
    pub fn new(world: Box<dyn Host>, audience: Rc<dyn Audience>) -> Stage {
        Stage { world, audience, slots: HashMap::new(), bar: None, live: Live::default(), live_id: None }
    }

    fn draw(&self, id: &str, v: &Value, kind: &str) {
        self.send(id, crate::bundle::shown(v, ""), kind);
    }

    fn draw_live(&mut self, figure: &Figure) {
        let kind = if self.live_id.is_some() { "update_display_data" } else { "display_data" };
        let id = self.live_id.get_or_insert_with(fresh).clone();
        self.send(&id, crate::bundle::picture(figure), kind);
    }

    fn send(&self, id: &str, (data, metadata): (Json, Json), kind: &str) {
        self.audience.publish(kind, json!({"data": data, "metadata": metadata, "transient": {"display_id": id}}), json!({}));
    }
}

fn fresh() -> String {
    uuid::Uuid::new_v4().to_string()
}

impl Host for Stage {
    fn print(&mut self, text: &str) {
        self.audience.stream("stdout", text);
    }
    /// The cell has ended: what has not been drawn is drawn, and slots are new in the next one.
    fn flush(&mut self) {
        if let Some(last) = self.live.finish() {
            self.draw_live(&last);
        }
        self.live_id = None;
        for slot in std::mem::take(&mut self.slots).into_values() {
            if let Some(v) = &slot.next {
                self.draw(&slot.id, v, "update_display_data");
            }
        }
        if let Some(Bar { begin, total, id: Some(id), .. }) = self.bar.take() {
            let data = ended(total, begin.elapsed().as_secs_f64());
            self.audience.publish("update_display_data", json!({"data": data, "metadata": {}, "transient": {"display_id": id}}), json!({}));
        }
    }
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        self.world.read(path)
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
                self.slots.insert(slot.to_owned(), Slot { id, drawn: Instant::now(), next: None });
            }
        }
    }
    fn render(&mut self, value: &Value, format: Format) -> Result<Vec<u8>, String> {
        self.world.render(value, format)
    }
    fn show(&mut self, value: &Value, live: bool) -> Result<(), String> {
        let figure = adl_plotting::picture(value).ok_or("this value is no plot, and no cost or residuals, and has no picture")?;
        if !live {
            self.send(&fresh(), crate::bundle::picture(&figure), "display_data");
        } else if let Some(f) = self.live.show(figure) {
            self.draw_live(&f);
        }
        Ok(())
    }
    fn watch(&mut self, name: &str, y: f64) -> Result<(), String> {
        if let Some(f) = self.live.watch(name, y) {
            self.draw_live(&f);
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
        if passed < PATIENCE {
            return;
        }
        let kind = if bar.id.is_some() { "update_display_data" } else { "display_data" };
        let id = bar.id.get_or_insert_with(fresh).clone();
        let data = bar_data(done, total, (done - bar.first) as f64 / passed.as_secs_f64());
        self.audience.publish(kind, json!({"data": data, "metadata": {}, "transient": {"display_id": id}}), json!({}));
    }
}

/// A progress bar: how far, how fast, how long still.
fn bar_data(done: u64, total: u64, rate: f64) -> Json {
    let left = total.saturating_sub(done) as f64 / rate.max(1e-9);
    let text = format!("{:.0} % ({done} of {total}), {rate:.0}/s, {left:.0} s left", 100.0 * done as f64 / total.max(1) as f64);
    let html = format!("<progress value=\"{done}\" max=\"{total}\" style=\"width: 20em\"></progress> {text}");
    json!({"text/plain": text, "text/html": html})
}

/// What stays of a bar when its cell has ended: an output that was shown does not go away, and had better say something.
fn ended(total: u64, seconds: f64) -> Json {
    json!({"text/plain": format!("a loop of {total} turns ran for {seconds:.1} s")})
}

#[cfg(test)]
mod tests {
    use super::{bar_data, ended};

    #[test]
    fn a_bar_says_how_long_still() {
        assert_eq!(bar_data(500, 1000, 250.0)["text/plain"], "50 % (500 of 1000), 250/s, 2 s left");
        assert_eq!(ended(1000, 1.25)["text/plain"], "a loop of 1000 turns ran for 1.2 s");
        assert!(bar_data(0, 0, 0.0)["text/plain"].as_str().unwrap().starts_with("0 %"));
    }
}

//! Answers messages of GradBench: a line of JSON for each.

use super::SOURCES;
use crate::Memory;
use adl_interp::ops::data::json;
use adl_interp::value::Value;
use adl_session::Session;
use adl_syntax::diag::Diagnostic;
use serde_json::{Value as Json, json};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::Instant;

/// The file from which programs read the message.
const MESSAGE: &str = "message.json";

/// A session with the problems requested so far.
pub struct Tool {
    session: Session,
    files: Rc<RefCell<HashMap<String, Vec<u8>>>>,
    loaded: HashSet<String>,
}

/// The result of running a function: its output as JSON, and the nanoseconds of each run.
pub struct ToolRun {
    /// The answer.
    pub output: String,
    /// One number for each run.
    pub nanoseconds: Vec<u128>,
}

/// The minimal number of runs, and the minimal total time in seconds.
struct MinimalEffort {
    runs: u64,
    seconds: f64,
}

impl Default for Tool {
    fn default() -> Tool {
        let host = Memory::default();
        let files = host.files.clone();
        files.borrow_mut().extend(SOURCES.iter().map(|p| (format!("{}.adl", p.name), p.source.as_bytes().to_vec())));
        Tool { session: Session::new(Box::new(host)), files, loaded: HashSet::new() }
    }
}

impl Tool {
    /// The answer to a message.
    pub fn answer(&mut self, line: &str) -> String {
        let message: Json = match serde_json::from_str(line) {
            Ok(m) => m,
            Err(e) => {
                return json!({"id": null, "success": false, "error": format!("this is no JSON: {e}")}).to_string();
            }
        };
        let (id, module) = (&message["id"], message["module"].as_str().unwrap_or(""));
        match message["kind"].as_str() {
            Some("start") => json!({"id": id, "tool": "adl"}).to_string(),
            Some("define") => self.define(id, module),
            Some("evaluate") => match self.evaluate(line, &message) {
                Ok(run) => success(id, &run),
                Err(e) => json!({"id": id, "success": false, "error": e}).to_string(),
            },
            _ => json!({"id": id}).to_string(),
        }
    }

    fn define(&mut self, id: &Json, module: &str) -> String {
        match self.load(module) {
            Ok(_) => json!({"id": id, "success": true}).to_string(),
            Err(e) => json!({"id": id, "success": false, "error": e}).to_string(),
        }
    }

    /// Runs the function that a message requests.
    pub fn evaluate(&mut self, line: &str, message: &Json) -> Result<ToolRun, String> {
        let (module, function) = (message["module"].as_str().unwrap_or(""), message["function"].as_str().unwrap_or(""));
        let name = self.load(module)?;
        if !function.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            || self.session.type_of(&format!("{name}.{function}")).is_err()
        {
            return Err(format!("`{module}` has no function `{function}`"));
        }
        self.files.borrow_mut().insert(MESSAGE.to_owned(), line.as_bytes().to_vec());
        let mut input = self.value(&format!("(read_json \"{MESSAGE}\" : {{input : {name}.Input}}).input"))?;
        if self.session.type_of(&format!("{name}.prepare")).is_ok() {
            let prepare = self.value(&format!("{name}.prepare"))?;
            input = self.call(&prepare, input)?;
        }
        let f = self.value(&format!("{name}.{function}"))?;
        let given = &message["input"];
        self.time(
            &f,
            &input,
            &MinimalEffort {
                runs: given["min_runs"].as_u64().unwrap_or(1).max(1),
                seconds: given["min_seconds"].as_f64().unwrap_or(0.0),
            },
        )
    }

    fn time(&mut self, f: &Value, input: &Value, effort: &MinimalEffort) -> Result<ToolRun, String> {
        let mut nanoseconds = Vec::new();
        let mut total = 0;
        loop {
            let argument = input.clone();
            let start = Instant::now();
            let output = self.call(f, argument)?;
            nanoseconds.push(start.elapsed().as_nanos());
            total += nanoseconds.last().copied().unwrap_or(0);
            if nanoseconds.len() as u64 >= effort.runs && total as f64 >= effort.seconds * 1e9 {
                let output = json::write(&output).map_err(|e| e.diag.message)?;
                return Ok(ToolRun { output: output.trim_end().to_owned(), nanoseconds });
            }
        }
    }

    /// Imports a problem once; returns its module name.
    fn load(&mut self, module: &str) -> Result<String, String> {
        if !super::problems().iter().any(|p| p.name == module) {
            return Err(format!("there is no problem `{module}`"));
        }
        let name = format!("{}{}", module[..1].to_uppercase(), &module[1..]);
        if self.loaded.insert(module.to_owned()) {
            self.value(&format!("import \"{module}.adl\" as {name}"))?;
        }
        Ok(name)
    }

    fn value(&mut self, text: &str) -> Result<Value, String> {
        self.session.value(text).map_err(|diags| self.text(&diags))
    }

    fn call(&mut self, f: &Value, argument: Value) -> Result<Value, String> {
        self.session.call(f, &[argument]).map_err(|d| self.text(&[*d]))
    }

    fn text(&self, diags: &[Diagnostic]) -> String {
        let texts: Vec<String> =
            diags.iter().map(|d| adl_syntax::render::text(d, &self.session.sources, false)).collect();
        texts.join("\n")
    }
}

fn success(id: &Json, run: &ToolRun) -> String {
    let timings: Vec<Json> =
        run.nanoseconds.iter().map(|n| json!({"name": "evaluate", "nanoseconds": *n as u64})).collect();
    format!("{{\"id\":{id},\"success\":true,\"output\":{},\"timings\":{}}}", run.output, Json::from(timings))
}

//! The outside world of programs that run inside Python: files are those of the command line, text goes to `sys.stdout`.

use adl_cli::host::Terminal;
use adl_interp::host::{Format, Host};
use adl_interp::value::Value;
use pyo3::prelude::*;

/// The host.
pub struct PythonHost(Terminal);

impl PythonHost {
    pub fn new() -> PythonHost {
        PythonHost(Terminal::new(Vec::new()).still(true))
    }
}

/// Writes to a stream of Python. What cannot be written is lost, as for `print` after the end of the interpreter.
fn write(stream: &str, text: &str) {
    Python::attach(|py| {
        let out = py.import("sys").and_then(|sys| sys.getattr(stream));
        let _ = out.and_then(|out| out.call_method1("write", (text,)));
    });
}

impl Host for PythonHost {
    fn print(&mut self, text: &str) {
        write("stdout", text);
    }
    fn warn(&mut self, text: &str) {
        write("stderr", text);
    }
    fn flush(&mut self) {
        Python::attach(|py| {
            let out = py.import("sys").and_then(|sys| sys.getattr("stdout"));
            let _ = out.and_then(|out| out.call_method0("flush"));
        });
    }
    fn input(&mut self, prompt: &str) -> Result<Option<String>, String> {
        Python::attach(|py| {
            let ask = py.import("builtins").and_then(|b| b.getattr("input")).map_err(|e| e.to_string())?;
            match ask.call1((prompt,)).and_then(|line| line.extract()) {
                Ok(line) => Ok(Some(line)),
                Err(e) if e.is_instance_of::<pyo3::exceptions::PyEOFError>(py) => Ok(None),
                Err(e) => Err(e.to_string()),
            }
        })
    }
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        self.0.read(path)
    }
    fn read_at(&mut self, path: &str, from: u64, len: usize) -> Result<Vec<u8>, String> {
        self.0.read_at(path, from, len)
    }
    fn length(&mut self, path: &str) -> Result<u64, String> {
        self.0.length(path)
    }
    fn list(&mut self, path: &str) -> Option<Vec<String>> {
        self.0.list(path)
    }
    fn size(&mut self, path: &str) -> usize {
        self.0.size(path)
    }
    fn write(&mut self, path: &str, bytes: &[u8]) -> Result<(), String> {
        self.0.write(path, bytes)
    }
    fn identity(&mut self, path: &str) -> Option<String> {
        self.0.identity(path)
    }
    fn env(&mut self, name: &str) -> Option<String> {
        self.0.env(name)
    }
    fn kept(&mut self, name: &str) -> Option<Vec<u8>> {
        self.0.kept(name)
    }
    fn keep(&mut self, name: &str, bytes: &[u8]) {
        self.0.keep(name, bytes);
    }
    fn time(&mut self) -> f64 {
        self.0.time()
    }
    fn free_memory(&mut self) -> Option<u64> {
        self.0.free_memory()
    }
    fn return_memory(&mut self) {
        self.0.return_memory();
    }
    fn render(&mut self, value: &Value, format: Format) -> Result<Vec<u8>, String> {
        self.0.render(value, format)
    }
    fn show(&mut self, value: &Value, _live: bool) -> Result<(), String> {
        let picture = self.0.render(value, Format::Text)?;
        self.print(&String::from_utf8_lossy(&picture));
        Ok(())
    }
}

//! The outside world, as the evaluator sees it.

use crate::value::{Value, show};

/// How a picture is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Format {
    Svg,
    Png,
    Text,
}

/// What a program may do to the world. Implemented by the command line, the kernel and tests. What a host does not say, it does not have.
pub trait Host {
    /// Standard output (`print`), text as it is, newline included.
    fn print(&mut self, _text: &str) {}
    /// Makes what was printed visible.
    fn flush(&mut self) {}
    /// A whole file. Relative paths are relative to the script, or the working directory.
    fn read(&mut self, _path: &str) -> Result<Vec<u8>, String> {
        Err("there are no files here".into())
    }
    /// Bytes that reading a file will take, as far as that is known.
    fn size(&mut self, _path: &str) -> usize {
        0
    }
    /// Writes a whole file.
    fn write(&mut self, _path: &str, _bytes: &[u8]) -> Result<(), String> {
        Err("there are no files here".into())
    }
    /// One name for a file, however its path is spelled; `None` where the host knows of none.
    fn identity(&mut self, _path: &str) -> Option<String> {
        None
    }
    /// A line of the user's, without its end, after a prompt; `None` at the end of input.
    fn input(&mut self, _prompt: &str) -> Result<Option<String>, String> {
        Err("input cannot be asked for here".into())
    }
    /// Standard error, text as it is.
    fn warn(&mut self, _text: &str) {}
    /// Shows a value while a program runs. What was shown before in the same slot is replaced where the host can; the slot `""` is always new.
    fn display(&mut self, value: &Value, _slot: &str) {
        self.print(&(show::show(value) + "\n"));
    }
    /// `ARGS…` of the command line.
    fn args(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// An environment variable.
    fn env(&mut self, _name: &str) -> Option<String> {
        None
    }
    /// What [`Host::keep`] kept in an earlier run under this name.
    fn kept(&mut self, _name: &str) -> Option<Vec<u8>> {
        None
    }
    /// Keeps bytes for later runs: what can be made again. A host that cannot says nothing.
    fn keep(&mut self, _name: &str, _bytes: &[u8]) {}
    /// Seconds since an arbitrary origin, monotonic.
    fn time(&mut self) -> f64 {
        0.0
    }
    /// Bytes of memory that are free; `None` where the host does not know.
    fn free_memory(&mut self) -> Option<u64> {
        None
    }
    /// Much memory is free again: an allocator that keeps blocks for reuse may return them to the system.
    fn return_memory(&mut self) {
        // Most hosts keep none.
    }
    /// A plot (or another value that has a picture) as the bytes of a file. The core draws nothing: this and the next two are for hosts that do.
    fn render(&mut self, _value: &Value, _format: Format) -> Result<Vec<u8>, String> {
        Err("no pictures can be drawn here".to_owned())
    }
    /// Shows a picture; a live one in place of the live one before.
    fn show(&mut self, _value: &Value, _live: bool) -> Result<(), String> {
        Err("no pictures can be shown here".to_owned())
    }
    /// One more number of a live curve.
    fn watch(&mut self, _name: &str, _y: f64) -> Result<(), String> {
        Err("no pictures can be shown here".to_owned())
    }
    /// The outermost loop with a known count has done `done` of `total`. Called when the machine's `tick` was set.
    fn progress(&mut self, _done: u64, _total: u64) {}
}

/// A host that hears nothing and has nothing: for a machine whose host is elsewhere, and for code without effects.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Host for Nobody {}

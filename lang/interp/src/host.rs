//! The outside world, as the evaluator sees it.

use crate::value::{Value, show};

/// A picture format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Format {
    Svg,
    Png,
    Text,
}

/// The ranks of a run. All of them call the same methods in the same order.
pub trait Ranks {
    /// This rank, from 0.
    fn rank(&self) -> usize;
    /// The number of ranks.
    fn size(&self) -> usize;
    /// Every rank's bytes, in the order of the ranks. `what` names the operation. It is an error that names both if
    /// another rank is at another operation.
    fn all_gather(&mut self, what: &str, bytes: &[u8]) -> Result<Vec<Vec<u8>>, String>;
    /// Sends `parts[r]` to rank `r`, and returns what each rank has sent to this one. It belongs to the operation of the
    /// last [`Ranks::all_gather`].
    fn all_to_all(&mut self, parts: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String>;
    /// Counts an operation to which this rank has given so many bytes of numbers.
    fn count(&mut self, bytes: usize);
    /// Whether the values of definitions are compared between ranks.
    fn compares(&self) -> bool {
        false
    }
}

/// The interface to the outside world, implemented by the command line, the kernel and tests. By default a host
/// has no files, no input and no pictures.
pub trait Host {
    /// Writes text to standard output exactly as given, including newlines.
    fn print(&mut self, _text: &str) {}
    /// Flushes standard output.
    fn flush(&mut self) {}
    /// Reads an entire file. Relative paths are relative to the script or the working directory.
    fn read(&mut self, _path: &str) -> Result<Vec<u8>, String> {
        Err("there are no files here".into())
    }
    /// Reads `len` bytes of a file from an offset, or fewer at its end. Each rank reads for itself.
    fn read_at(&mut self, path: &str, from: u64, len: usize) -> Result<Vec<u8>, String> {
        let all = self.read(path)?;
        let from = usize::try_from(from).unwrap_or(all.len()).min(all.len());
        Ok(all[from..all.len().min(from.saturating_add(len))].to_vec())
    }
    /// Says that `len` bytes of a file from an offset are read soon, so that they may be fetched in the meantime.
    fn will_read(&mut self, _path: &str, _from: u64, _len: u64) {}
    /// The number of bytes of a file, as this rank sees it.
    fn length(&mut self, path: &str) -> Result<u64, String> {
        self.read(path).map(|all| all.len() as u64)
    }
    /// The paths of the files in a directory, sorted; `None` if the path is not a directory.
    fn list(&mut self, _path: &str) -> Option<Vec<String>> {
        None
    }
    /// The number of bytes that reading a file will allocate, as far as it is known.
    fn size(&mut self, _path: &str) -> usize {
        0
    }
    /// Writes an entire file.
    fn write(&mut self, _path: &str, _bytes: &[u8]) -> Result<(), String> {
        Err("there are no files here".into())
    }
    /// A canonical name for a file, independent of how its path is spelled; `None` if the host does not know
    /// one.
    fn identity(&mut self, _path: &str) -> Option<String> {
        None
    }
    /// Reads a line from the user after a prompt, without its line end; `None` at the end of input.
    fn input(&mut self, _prompt: &str) -> Result<Option<String>, String> {
        Err("input cannot be asked for here".into())
    }
    /// Writes text to standard error exactly as given.
    fn warn(&mut self, _text: &str) {}
    /// Displays a value while a program runs. It replaces the previous value of the same slot if the host
    /// supports this; the slot `""` is always new.
    fn display(&mut self, value: &Value, _slot: &str) {
        self.print(&(show::show(value) + "\n"));
    }
    /// The arguments (`ARGS…`) of the command line.
    fn args(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// An environment variable.
    fn env(&mut self, _name: &str) -> Option<String> {
        None
    }
    /// The bytes that [`Host::keep`] stored under this name in an earlier run.
    fn kept(&mut self, _name: &str) -> Option<Vec<u8>> {
        None
    }
    /// Stores bytes for later runs. They must be reproducible, because a host may ignore this.
    fn keep(&mut self, _name: &str, _bytes: &[u8]) {}
    /// Seconds since an arbitrary origin; monotonic.
    fn time(&mut self) -> f64 {
        0.0
    }
    /// Bytes of free memory; `None` if the host does not know.
    fn free_memory(&mut self) -> Option<u64> {
        None
    }
    /// Called when much memory has been freed: an allocator that keeps blocks for reuse may return them to the
    /// system.
    fn return_memory(&mut self) {
        // Most hosts keep no blocks.
    }
    /// Renders a plot, or another value with a picture, as the bytes of a file. The core does not render; this
    /// and the next two methods are for hosts that do.
    fn render(&mut self, _value: &Value, _format: Format) -> Result<Vec<u8>, String> {
        Err("no pictures can be drawn here".to_owned())
    }
    /// Shows a picture; a live one replaces the previous live one.
    fn show(&mut self, _value: &Value, _live: bool) -> Result<(), String> {
        Err("no pictures can be shown here".to_owned())
    }
    /// Adds a point to a live curve.
    fn watch(&mut self, _name: &str, _y: f64) -> Result<(), String> {
        Err("no pictures can be shown here".to_owned())
    }
    /// The ranks of this run, if there are several.
    fn ranks(&mut self) -> Option<&mut dyn Ranks> {
        None
    }
    /// From now on this rank reads and writes for itself, or together with the others again.
    fn alone(&mut self, _on: bool) {}
    /// Reports that the outermost loop with a known trip count has completed `done` of `total` iterations.
    /// Called after the machine's `tick` was set.
    fn progress(&mut self, _done: u64, _total: u64) {}
}

/// A host without any capabilities: for a machine whose host is temporarily elsewhere, and for code without
/// effects.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullHost;

impl Host for NullHost {}

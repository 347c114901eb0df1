//! The real world.

use adl_interp::host::Host;
use std::io::Write;
use std::time::Instant;

/// Files, the environment and the terminal of this process.
pub struct Terminal {
    out: std::io::BufWriter<std::io::Stdout>,
    args: Vec<String>,
    start: Instant,
}

impl Terminal {
    /// With the arguments of the script.
    pub fn new(args: Vec<String>) -> Terminal {
        Terminal { out: std::io::BufWriter::with_capacity(1 << 16, std::io::stdout()), args, start: Instant::now() }
    }
}

impl Host for Terminal {
    fn print(&mut self, text: &str) {
        // A reader that went away ends the program quietly, as it does any filter.
        if self.out.write_all(text.as_bytes()).is_err() {
            std::process::exit(0);
        }
    }
    fn flush(&mut self) {
        if self.out.flush().is_err() {
            std::process::exit(0);
        }
    }
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => e.to_string(),
        })
    }
    fn write(&mut self, path: &str, bytes: &[u8]) -> Result<(), String> {
        std::fs::write(path, bytes).map_err(|e| e.to_string())
    }
    fn args(&mut self) -> Vec<String> {
        self.args.clone()
    }
    fn env(&mut self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
    fn time(&mut self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
    fn progress(&mut self, _done: u64, _total: u64) {}
}

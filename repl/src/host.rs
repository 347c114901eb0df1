//! The real world.

use adl_interp::host::Host;
use std::io::Write;
use std::time::Instant;

/// Files, the environment and the terminal of this process.
pub struct Terminal {
    out: std::io::BufWriter<std::io::Stdout>,
    args: Vec<String>,
    start: Instant,
    shown: Option<Instant>,
    bar: Option<Instant>,
    last_done: u64,
}

impl Terminal {
    /// With the arguments of the script.
    pub fn new(args: Vec<String>) -> Terminal {
        Terminal { out: std::io::BufWriter::with_capacity(1 << 16, std::io::stdout()), args, start: Instant::now(), shown: None, bar: None, last_done: 0 }
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
    /// A bar on the terminal for loops that take longer than half a second.
    fn progress(&mut self, done: u64, total: u64) {
        use std::io::IsTerminal;
        if done <= self.last_done {
            self.bar = None;
        }
        self.last_done = done;
        let begin = *self.bar.get_or_insert_with(Instant::now);
        let due = self.shown.is_none_or(|t| t.elapsed().as_millis() >= 100);
        if begin.elapsed().as_millis() < 500 || !due || !std::io::stderr().is_terminal() {
            return;
        }
        self.shown = Some(Instant::now());
        let part = done as f64 / total.max(1) as f64;
        let left = begin.elapsed().as_secs_f64() * (1.0 - part) / part.max(1e-9);
        let filled = (part * 30.0) as usize;
        eprint!("\r[{}{}] {:3.0} %  {left:.1} s left ", "#".repeat(filled), " ".repeat(30 - filled.min(30)), part * 100.0);
        if done + 1 >= total || total - done < total / 50 {
            eprint!("\r\x1b[K");
        }
    }
}

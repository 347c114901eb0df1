//! The host of the command line: files, environment and terminal.

use adl_interp::fault;
use adl_interp::host::{Format, Host};
use adl_interp::value::Value;
use adl_interp::vm::OutOfMemoryFlag;
use adl_plotting::live::Live;
use adl_plotting::{Figure, Theme};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Files, the environment and the terminal of this process.
pub struct Terminal {
    out: std::io::BufWriter<StandardOutput>,
    /// Whether output goes to a terminal, so that every line is flushed immediately.
    watched: bool,
    args: Vec<String>,
    start: Instant,
    bar: Bar,
    live: Live,
    /// The number of lines of the live picture on the screen.
    live_lines: usize,
    /// Whether printed output is discarded.
    silent: bool,
}

impl Terminal {
    /// The same host with printed output discarded.
    pub fn silent(mut self) -> Terminal {
        self.silent = true;
        self
    }

    /// The same host without animations (for screen readers): no progress bars, no live pictures.
    pub fn still(mut self, still: bool) -> Terminal {
        if still {
            self.bar.terminal = false;
            self.live = Live::unseen();
        }
        self
    }

    /// A host with the arguments of the script.
    pub fn new(args: Vec<String>) -> Terminal {
        let out = std::io::BufWriter::with_capacity(1 << 16, StandardOutput);
        let watched = std::io::stdout().is_terminal();
        let live = if watched { Live::default() } else { Live::unseen() };
        Terminal { out, watched, args, start: Instant::now(), bar: Bar::new(), live, live_lines: 0, silent: false }
    }
}

/// Standard output. If it was closed at the start of the process, writing fails, although the Rust runtime has opened
/// `/dev/null` in its place.
pub struct StandardOutput;

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if adl_jit::process::was_closed(1) {
            return Err(std::io::Error::other("it is closed"));
        }
        std::io::stdout().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stdout().flush()
    }
}

/// Ends the process after a failure to write standard output. A closed pipe ends it quietly with exit code 0, as in any
/// filter.
fn lost(e: &std::io::Error) -> ! {
    crate::rank_watch::end(1);
    if e.kind() == std::io::ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
    let _ = writeln!(std::io::stderr(), "error[E0801]: standard output: {e}");
    std::process::exit(1);
}

/// Writes to standard output and flushes it.
pub fn say(text: &str) {
    if let Err(e) = StandardOutput.write_all(text.as_bytes()).and_then(|()| StandardOutput.flush()) {
        lost(&e);
    }
}

/// The cache directory: `$ADL_CACHE`, or `adl` in the system's cache directory. `None` if the variable is empty.
fn cache_dir() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from);
    match set("ADL_CACHE") {
        Some(dir) => (!dir.as_os_str().is_empty()).then_some(dir),
        None => set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|h| h.join(".cache"))).map(|c| c.join("adl")),
    }
}

impl Host for Terminal {
    fn print(&mut self, text: &str) {
        self.bar.erase();
        if self.silent {
            return;
        }
        self.lift();
        let written = self.out.write_all(text.as_bytes());
        if let Err(e) = written.and_then(|()| if self.watched { self.out.flush() } else { Ok(()) }) {
            lost(&e);
        }
    }
    fn flush(&mut self) {
        self.bar.clear();
        if let Some(last) = self.live.finish() {
            self.draw(&last);
        }
        self.live_lines = 0;
        if let Err(e) = self.out.flush() {
            lost(&e);
        }
    }
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        adl_files::read_unless(path, &adl_interp::interrupted).map_err(|e| crate::commands::io_text(&e))
    }
    fn read_at(&mut self, path: &str, from: u64, len: usize) -> Result<Vec<u8>, String> {
        adl_files::read_part(path, from, len).map_err(|e| crate::commands::io_text(&e))
    }
    fn will_read(&mut self, path: &str, from: u64, len: u64) {
        adl_files::will_read(path, from, len);
    }
    fn length(&mut self, path: &str) -> Result<u64, String> {
        adl_files::length(path).map_err(|e| crate::commands::io_text(&e))
    }
    fn list(&mut self, path: &str) -> Option<Vec<String>> {
        adl_files::list(path)
    }
    fn size(&mut self, path: &str) -> usize {
        std::fs::metadata(path).map_or(0, |m| usize::try_from(m.len()).unwrap_or(usize::MAX))
    }
    fn write(&mut self, path: &str, bytes: &[u8]) -> Result<(), String> {
        // If both streams go to the same place, earlier output must come first.
        if let Err(e) = self.out.flush() {
            lost(&e);
        }
        crate::commands::write(path, bytes)
    }
    fn identity(&mut self, path: &str) -> Option<String> {
        std::fs::canonicalize(path).ok().map(|p| p.to_string_lossy().into_owned())
    }
    fn input(&mut self, prompt: &str) -> Result<Option<String>, String> {
        self.print(prompt);
        self.flush();
        let line = crate::input::line(&adl_interp::interrupted).map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&line);
        Ok((!line.is_empty()).then(|| text.trim_end_matches('\n').trim_end_matches('\r').to_owned()))
    }
    fn warn(&mut self, text: &str) {
        self.bar.erase();
        // If both streams go to the same terminal, their output must stay in order.
        if self.watched {
            let _ = self.out.flush();
        }
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
    fn args(&mut self) -> Vec<String> {
        self.args.clone()
    }
    fn env(&mut self, name: &str) -> Option<String> {
        // A name with `=` or NUL in it cannot exist.
        if name.is_empty() || name.contains(['=', '\0']) {
            return None;
        }
        std::env::var(name).ok()
    }
    fn kept(&mut self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(cache_dir()?.join(name)).ok()
    }
    fn keep(&mut self, name: &str, bytes: &[u8]) {
        let Some(dir) = cache_dir() else { return };
        // If the cache cannot be written, the data is computed again next time.
        let _ = std::fs::create_dir_all(&dir).and_then(|()| adl_files::write(dir.join(name), bytes));
    }
    fn time(&mut self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
    fn free_memory(&mut self) -> Option<u64> {
        // Linux says so in kB; elsewhere there is no such source.
        let info = std::fs::read_to_string("/proc/meminfo").ok()?;
        let line = info.lines().find(|l| l.starts_with("MemAvailable:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kb| kb * 1024)
    }
    fn return_memory(&mut self) {
        adl_jit::alloc::release();
    }
    fn progress(&mut self, done: u64, total: u64) {
        // A live picture already shows the progress.
        if self.live_lines == 0 {
            self.bar.step(done, total);
        }
    }
    fn render(&mut self, value: &Value, format: Format) -> Result<Vec<u8>, String> {
        let figure = figure(value)?;
        Ok(match format {
            Format::Svg => figure.svg(Theme::Light).into_bytes(),
            Format::Png => figure.png(Theme::Light, 2.0),
            Format::Text => (figure.text(80, 24, false) + "\n").into_bytes(),
        })
    }
    fn show(&mut self, value: &Value, live: bool) -> Result<(), String> {
        let figure = figure(value)?;
        if !live {
            let text = crate::graphics::picture(&figure, self.watched && crate::graphics::colour());
            self.print(&(text + "\n"));
        } else if let Some(f) = self.live.show(figure) {
            self.draw(&f);
        }
        Ok(())
    }
    fn watch(&mut self, name: &str, y: f64) -> Result<(), String> {
        if let Some(f) = self.live.watch(name, y) {
            self.draw(&f);
        }
        Ok(())
    }
}

fn figure(value: &Value) -> Result<Figure, String> {
    adl_plotting::picture(value)
        .ok_or_else(|| "this value has no picture: it is not a plot, a cost or residuals".to_owned())
}

impl Terminal {
    /// Removes the live picture from the screen before other output.
    fn lift(&mut self) {
        let lines = std::mem::take(&mut self.live_lines);
        if lines > 0 && self.watched {
            // A write error is reported by the next write.
            let _ = write!(self.out, "\x1b[{lines}A\x1b[J");
        }
    }

    fn draw(&mut self, figure: &Figure) {
        // Pictures of characters have a known number of lines.
        let text = crate::graphics::characters(figure, self.watched && crate::graphics::colour()) + "\n";
        self.print(&text);
        self.live_lines = if self.watched { text.lines().count() } else { 0 };
    }
}

/// Asks for progress ten times a second, as long as there is a session and a terminal to show it on.
pub fn watch(tick: &Arc<AtomicBool>, out_of_memory: &OutOfMemoryFlag) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    let tick = Arc::downgrade(tick);
    let out_of_memory = out_of_memory.downgrade();
    let step = move || {
        fault::point(fault::PanicPoint::Progress);
        tick.upgrade()?.store(true, Ordering::Relaxed);
        Some(Duration::from_millis(100))
    };
    let stop = move || {
        if let Some(s) = out_of_memory.upgrade() {
            s.interrupt();
        }
    };
    // Without a thread there is no bar.
    let _ = fault::helper("adl-progress", step, stop);
}

/// A progress bar on the terminal, for loops that take longer than half a second.
struct Bar {
    terminal: bool,
    /// The time of the first report of the loop, and its counts then.
    begin: Option<(Instant, u64, u64)>,
    drawn: bool,
}

impl Bar {
    fn new() -> Bar {
        Bar { terminal: std::io::stderr().is_terminal(), begin: None, drawn: false }
    }

    fn step(&mut self, done: u64, total: u64) {
        if !self.terminal {
            return;
        }
        let (begin, first) = match self.begin {
            Some((b, first, t)) if t == total && done >= first => (b, first),
            _ => {
                self.clear();
                self.begin = Some((Instant::now(), done, total));
                return;
            }
        };
        let passed = begin.elapsed();
        if passed < Duration::from_millis(500) {
            return;
        }
        self.drawn = true;
        let rate = (done - first) as f64 / passed.as_secs_f64();
        let _ = write!(std::io::stderr(), "\r{}\x1b[K", bar_text(done, total, rate));
    }

    /// Removes the bar from the screen before other output.
    fn erase(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }

    /// Forgets a loop that has ended.
    fn clear(&mut self) {
        self.erase();
        self.begin = None;
    }
}

/// `[#####     ]  50 %  1000/s  2.0 s left`.
pub fn bar_text(done: u64, total: u64, rate: f64) -> String {
    const WIDTH: usize = 30;
    let part = (done as f64 / total.max(1) as f64).clamp(0.0, 1.0);
    let filled = (part * WIDTH as f64) as usize;
    let left = total.saturating_sub(done) as f64 / rate.max(1e-9);
    format!(
        "[{}{}] {:3.0} %  {}/s  {} left",
        "#".repeat(filled),
        " ".repeat(WIDTH - filled),
        part * 100.0,
        count(rate),
        span(left)
    )
}

fn count(x: f64) -> String {
    match x {
        x if x >= 1e6 => format!("{:.1} M", x / 1e6),
        x if x >= 1e3 => format!("{:.1} k", x / 1e3),
        x => format!("{x:.1} "),
    }
}

fn span(seconds: f64) -> String {
    match seconds {
        s if s < 60.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{:.0} min {:.0} s", (s / 60.0).floor(), s % 60.0),
        s => format!("{:.0} h {:.0} min", (s / 3600.0).floor(), (s % 3600.0) / 60.0),
    }
}

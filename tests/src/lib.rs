//! The test-suite: programs with expected output, gradient checks, examples of the documentation, fuzz targets.
//!
//! `programs/*.adl` are scripts; the file `*.out` beside each has its expected output (`UPDATE=1` rewrites them). This
//! library has the tests' shared code: a [`Host`] in memory and [`session`]s on it.

pub mod bench;
pub mod functions;
pub mod fuzz;
pub mod gradbench;
pub mod precise;
pub mod ranks;

use adl_interp::host::{Format, Host};
use adl_interp::value::Value;
use adl_session::Session;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Draws a value in a format.
pub type Draw = fn(&Value, Format) -> Result<Vec<u8>, String>;

/// A host that records printed and written output, and reads files of the repository.
#[derive(Clone)]
pub struct Memory {
    /// Draws what programs show or save. The library cannot: it does not depend on the crate of plots.
    pub draw: Draw,
    /// The printed text.
    pub out: Rc<RefCell<String>>,
    /// The written files.
    pub files: Rc<RefCell<HashMap<String, Vec<u8>>>>,
}

impl Default for Memory {
    fn default() -> Memory {
        let draw: Draw = |_, _| Err("this host draws no pictures".to_owned());
        Memory { draw, out: Rc::default(), files: Rc::default() }
    }
}

impl Host for Memory {
    fn print(&mut self, text: &str) {
        self.out.borrow_mut().push_str(text);
    }
    fn flush(&mut self) {}
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        match self.files.borrow().get(path) {
            Some(bytes) => Ok(bytes.clone()),
            None => std::fs::read(root().join(path)).map_err(|_| "there is no such file".to_owned()),
        }
    }
    fn write(&mut self, path: &str, bytes: &[u8]) -> Result<(), String> {
        self.files.borrow_mut().insert(path.to_owned(), bytes.to_vec());
        Ok(())
    }
    fn args(&mut self) -> Vec<String> {
        vec!["one".into(), "two".into()]
    }
    fn env(&mut self, _name: &str) -> Option<String> {
        None
    }
    fn time(&mut self) -> f64 {
        0.0
    }
    fn progress(&mut self, _done: u64, _total: u64) {}
    fn render(&mut self, value: &Value, format: Format) -> Result<Vec<u8>, String> {
        (self.draw)(value, format)
    }
    fn show(&mut self, value: &Value, live: bool) -> Result<(), String> {
        let text = (self.draw)(value, Format::Text)?;
        if !live {
            self.print(&(String::from_utf8_lossy(&text) + "\n"));
        }
        Ok(())
    }
    fn watch(&mut self, _name: &str, _y: f64) -> Result<(), String> {
        Ok(())
    }
}

/// A program with blanks in the place of expressions at top level: what it defines has the same places.
pub fn definitions(text: &str) -> String {
    let (program, _) = adl_syntax::parse(Default::default(), text);
    let mut bytes = text.as_bytes().to_vec();
    for item in program.items.iter().filter(|i| matches!(i.kind, adl_syntax::ast::ItemKind::Expr(_))) {
        let inside = &mut bytes[item.span.lo as usize..item.span.hi as usize];
        inside.iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// The repository's root.
pub fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A session that prints into memory. With `ADL_AD=taped`, all derivatives use taped AD.
pub fn session() -> (Session, Rc<RefCell<String>>) {
    adl_ir::verify::always();
    timed_session()
}

/// Like `session`, for measurements: in release builds the IR verifier does not run after each pass.
pub fn timed_session() -> (Session, Rc<RefCell<String>>) {
    session_on(Memory::default())
}

/// A session on a host, and the text that the host prints.
pub fn session_on(host: Memory) -> (Session, Rc<RefCell<String>>) {
    let out = host.out.clone();
    let mut s = Session::new(Box::new(host));
    s.set_compiled_ad(std::env::var("ADL_AD").map_or(true, |r| r != "taped"));
    (s, out)
}

/// The echo of a text's last expression, or its first error as `E0123: message`.
pub fn echo(text: &str) -> String {
    let (mut s, _) = session();
    echo_in(&mut s, text)
}

/// Like `echo`, in an existing session.
pub fn echo_in(s: &mut Session, text: &str) -> String {
    let out = s.eval(text);
    match (out.diags.iter().find(|d| d.is_error()), out.echoes.last()) {
        (Some(d), _) => format!("{}: {}", d.code, d.message),
        (None, Some(e)) => e.whole(),
        (None, None) => "() : ()".into(),
    }
}

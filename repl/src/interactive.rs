//! The REPL.

use crate::Global;
use crate::commands::{report, session};
use adl_session::{Outcome, Session};
use adl_syntax::Completeness;
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Editor, Helper};
use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{BufRead, IsTerminal};
use std::rc::Rc;
use std::time::Instant;

/// Commands with what they do: one table for help and completion.
const COMMANDS: &[(&str, &str)] = &[
    (":help", "this list; `:help NAME` is `:doc NAME`"),
    (":type", "the type of an expression, which is not run"),
    (":doc", "documentation of a name"),
    (":env", "your definitions"),
    (":source", "the source of a definition"),
    (":load", "run a file; what it defines stays in scope"),
    (":reload", "run the files loaded before again"),
    (":save", "write the entries that worked to a file"),
    (":edit", "write an entry in $EDITOR"),
    (":set", "`:set stack MIB`: memory for nested calls"),
    (":time", "run an expression and say how long it took"),
    (":reset", "forget everything"),
    (":clear", "clear the screen"),
    (":quit", "leave"),
];

/// Letters by their LaTeX names.
const LETTERS: &[(&str, &str)] = &[
    ("alpha", "α"), ("beta", "β"), ("gamma", "γ"), ("delta", "δ"), ("epsilon", "ε"), ("zeta", "ζ"), ("eta", "η"), ("theta", "θ"), ("iota", "ι"),
    ("kappa", "κ"), ("lambda", "λ"), ("mu", "μ"), ("nu", "ν"), ("xi", "ξ"), ("pi", "π"), ("rho", "ρ"), ("sigma", "σ"), ("tau", "τ"), ("phi", "φ"),
    ("chi", "χ"), ("psi", "ψ"), ("omega", "ω"), ("nabla", "∇"), ("partial", "∂"), ("_0", "₀"), ("_1", "₁"), ("_2", "₂"), ("_3", "₃"), ("_4", "₄"),
    ("_5", "₅"), ("_6", "₆"), ("_7", "₇"), ("_8", "₈"), ("_9", "₉"),
];

struct Assistant {
    session: Rc<RefCell<Session>>,
    color: bool,
}

impl Helper for Assistant {}
impl Hinter for Assistant {
    type Hint = String;
}

impl Completer for Assistant {
    type Candidate = Pair;
    fn complete(&self, line: &str, pos: usize, _ctx: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = &line[..pos];
        if let Some(at) = before.rfind('\\') {
            let found = LETTERS.iter().filter(|(n, _)| n.starts_with(&before[at + 1..]));
            return Ok((at, found.map(|(n, c)| Pair { display: format!("{c} \\{n}"), replacement: (*c).into() }).collect()));
        }
        if before.starts_with(':') && !before.contains(' ') {
            let found = COMMANDS.iter().filter(|(n, _)| n.starts_with(before));
            return Ok((0, found.map(|(n, what)| Pair { display: format!("{n}  {what}"), replacement: (*n).into() }).collect()));
        }
        let start = before.rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.' || c == '\'')).map_or(0, |i| i + before[i..].chars().next().map_or(1, char::len_utf8));
        let prefix = &before[start..];
        if prefix.is_empty() {
            return Ok((start, Vec::new()));
        }
        let Ok(mut s) = self.session.try_borrow_mut() else { return Ok((start, Vec::new())) };
        let found = s.complete(prefix);
        Ok((start, found.into_iter().map(|c| Pair { display: format!("{} : {}", c.text, c.ty), replacement: c.text }).collect()))
    }
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, _pos: usize) -> Cow<'l, str> {
        if !self.color || line.starts_with(':') {
            return Cow::Borrowed(line);
        }
        let mut out = String::new();
        let mut at = 0;
        for (range, class) in adl_syntax::tokens(line) {
            if range.start < at {
                continue;
            }
            out.push_str(&line[at..range.start]);
            let style = style_of(&format!("{class:?}"));
            out.push_str(style);
            out.push_str(&line[range.start..range.end]);
            if !style.is_empty() {
                out.push_str("\x1b[0m");
            }
            at = range.end;
        }
        out.push_str(&line[at..]);
        Cow::Owned(out)
    }
    fn highlight_char(&self, _line: &str, _pos: usize, _kind: CmdKind) -> bool {
        self.color
    }
}

/// A colour for a class of tokens.
fn style_of(class: &str) -> &'static str {
    match class {
        "Keyword" => "\x1b[35m",
        "Number" => "\x1b[36m",
        "Text" | "String" => "\x1b[32m",
        "Comment" => "\x1b[90m",
        "Constructor" | "Type" => "\x1b[33m",
        _ => "",
    }
}

impl Validator for Assistant {
    fn validate(&self, ctx: &mut ValidationContext) -> rustyline::Result<ValidationResult> {
        let text = ctx.input();
        if text.starts_with(':') {
            return Ok(ValidationResult::Valid(None));
        }
        Ok(match adl_syntax::is_complete(text) {
            Completeness::Incomplete(_) => ValidationResult::Incomplete,
            Completeness::Complete | Completeness::Invalid => ValidationResult::Valid(None),
        })
    }
}

/// Runs until `:quit` or the end of input.
pub fn run(global: &Global) -> u8 {
    let session = Rc::new(RefCell::new(session(global, Vec::new())));
    if !std::io::stdin().is_terminal() {
        return piped(global, &session);
    }
    println!("adl {}. `:help` lists the commands, `:quit` leaves.", env!("CARGO_PKG_VERSION"));
    let color = global.color != "never" && std::env::var_os("NO_COLOR").is_none();
    let Ok(mut editor) = Editor::<Assistant, rustyline::history::FileHistory>::new() else {
        return piped(global, &session);
    };
    editor.set_helper(Some(Assistant { session: session.clone(), color }));
    let history = std::env::var_os("HOME").map(|h| std::path::Path::new(&h).join(".adl_history"));
    if let Some(h) = &history {
        let _ = editor.load_history(h);
    }
    loop {
        match editor.readline("adl> ") {
            Ok(line) => {
                let _ = editor.add_history_entry(line.as_str());
                if !entry(global, &mut session.borrow_mut(), &line) {
                    break;
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(_) => break,
        }
    }
    if let Some(h) = &history {
        let _ = editor.save_history(h);
    }
    0
}

/// Entries from a pipe: no prompt, the same echo. The exit code is 1 if one failed.
fn piped(global: &Global, session: &Rc<RefCell<Session>>) -> u8 {
    let mut text = String::new();
    let mut lines = std::io::stdin().lock().lines().map_while(Result::ok).peekable();
    let mut code = 0;
    let mut s = session.borrow_mut();
    while let Some(line) = lines.next() {
        text.push_str(&line);
        text.push('\n');
        // What follows indented, or would not begin an item, belongs to the entry.
        let goes_on = lines.peek().is_some_and(|l| l.starts_with([' ', '\t', '|', ')', ']', '}']));
        if goes_on || matches!(adl_syntax::is_complete(&text), Completeness::Incomplete(_)) && lines.peek().is_some() {
            continue;
        }
        let one = std::mem::take(&mut text);
        let before = s.failures();
        if !entry(global, &mut s, one.trim_end()) {
            return code;
        }
        if s.failures() > before {
            code = 1;
        }
    }
    s.host().flush();
    code
}

fn show(global: &Global, s: &mut Session, out: &Outcome) {
    for e in &out.echoes {
        let text = match (&e.name, e.value.is_empty()) {
            (name, false) if e.layout.is_some() && std::io::stdout().is_terminal() => {
                let name = name.as_ref().map_or(String::new(), |n| format!("{n} "));
                format!("{name}: {}\n{}\n", e.ty, e.layout.as_deref().unwrap_or(""))
            }
            (Some(n), true) => format!("{n} : {}\n", e.ty),
            (Some(n), false) => format!("{n} = {} : {}\n", cut(&e.value), e.ty),
            (None, _) => format!("{} : {}\n", cut(&e.value), e.ty),
        };
        s.host().print(&text);
    }
    report(global, s, &out.diags);
}

/// At most about a screen.
fn cut(text: &str) -> String {
    const LIMIT: usize = 2000;
    match text.char_indices().nth(LIMIT) {
        Some((at, _)) => format!("{} … ({} characters more)", &text[..at], text.chars().count() - LIMIT),
        None => text.to_owned(),
    }
}

/// Runs one entry; whether to go on.
fn entry(global: &Global, s: &mut Session, text: &str) -> bool {
    s.clear_interrupt();
    let trimmed = text.trim();
    if !trimmed.starts_with(':') {
        let out = s.eval(text);
        show(global, s, &out);
        return true;
    }
    let (name, rest) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
    let rest = rest.trim();
    match name {
        ":quit" | ":q" => return false,
        ":help" if rest.is_empty() => COMMANDS.iter().for_each(|(n, what)| s.host().print(&format!("{n:8} {what}\n"))),
        ":help" | ":doc" => {
            let text = s.doc(rest).unwrap_or_else(|| format!("nothing is named `{rest}`"));
            s.host().print(&(text + "\n"));
        }
        ":type" | ":t" => match s.type_of(rest) {
            Ok(t) => s.host().print(&format!("{rest} : {t}\n")),
            Err(diags) => report(global, s, &diags),
        },
        ":env" => {
            let names = s.listing();
            names.iter().for_each(|c| s.host().print(&format!("{} : {}\n", c.text, c.ty)));
        }
        ":load" => load(global, s, rest),
        ":reload" => {
            let files = s.loaded.clone();
            files.iter().for_each(|f| load(global, s, f));
        }
        ":source" => {
            let text = s.source_of(rest).unwrap_or_else(|| format!("`{rest}` is no definition of yours"));
            s.host().print(&(text + "\n"));
        }
        ":save" => {
            let text = s.history.join("\n\n") + "\n";
            let said = match std::fs::write(rest, text) {
                Ok(()) => format!("{} entries written to {rest}\n", s.history.len()),
                Err(e) => format!("{rest}: {e}\n"),
            };
            s.host().print(&said);
        }
        ":edit" => edit(global, s),
        ":set" => match rest.split_once(' ') {
            Some(("stack", n)) if n.trim().parse::<usize>().is_ok() => s.set_stack(n.trim().parse::<usize>().unwrap_or(1024) << 20),
            _ => s.host().print("`:set stack MIB` sets the memory for nested calls\n"),
        },
        ":time" => {
            let start = Instant::now();
            let out = s.eval(rest);
            show(global, s, &out);
            s.host().print(&format!("{:.3} ms\n", start.elapsed().as_secs_f64() * 1e3));
        }
        ":reset" => *s = session(global, Vec::new()),
        ":clear" => s.host().print("\x1b[2J\x1b[H"),
        other => s.host().print(&format!("there is no command `{other}`; `:help` lists them\n")),
    }
    s.host().flush();
    true
}

fn load(global: &Global, s: &mut Session, file: &str) {
    match std::fs::read(file) {
        Ok(bytes) => {
            let out = s.run_file(file, &bytes);
            show(global, s, &out);
            if !s.loaded.iter().any(|f| f == file) {
                s.loaded.push(file.to_owned());
            }
        }
        Err(e) => s.host().print(&format!("{file}: {e}\n")),
    }
}

/// An entry from the user's editor.
fn edit(global: &Global, s: &mut Session) {
    let editor = std::env::var("EDITOR").unwrap_or_else(|_| "vi".into());
    let path = std::env::temp_dir().join(format!("adl-{}.adl", std::process::id()));
    let text = s.history.last().cloned().unwrap_or_default();
    let edited = std::fs::write(&path, text).and_then(|()| std::process::Command::new(&editor).arg(&path).status()).and_then(|_| std::fs::read_to_string(&path));
    let _ = std::fs::remove_file(&path);
    match edited {
        Ok(text) => {
            let out = s.eval(&text);
            show(global, s, &out);
        }
        Err(e) => s.host().print(&format!("{editor}: {e}\n")),
    }
}

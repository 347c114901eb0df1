//! The REPL: with an editor on a terminal, and otherwise entry by entry from a pipe.

pub mod assistant;
pub mod history;
mod inspect;
mod keys;
pub mod menu;
mod meta;
mod pager;
pub mod paste;
pub mod piped;
mod plans;
pub mod signature;
mod undo;
pub mod value_colours;

use crate::Global;
use crate::commands::{report, session};
use adl_interp::fault;
use adl_session::{Outcome, Session};
use assistant::Assistant;
use keys::{Enter, HistoryEntries, HistorySearch, NewLine, Prefix, Tab};
use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::hint::HistoryHinter;
use rustyline::history::{FileHistory, History, SearchDirection};
use rustyline::{
    CompletionType, ConditionalEventHandler, Config, EditMode, Editor, EventHandler, KeyCode, KeyEvent, Modifiers,
};
use std::cell::{Cell, RefCell};
use std::io::IsTerminal;
use std::rc::Rc;
use std::time::Instant;

/// The state of a REPL.
pub struct Repl {
    global: Global,
    session: Rc<RefCell<Session>>,
    color: Rc<Cell<bool>>,
    /// Whether types and errors are shown while typing.
    live: Rc<Cell<bool>>,
    /// Whether vi key bindings are used.
    vi: bool,
    /// Whether output goes to a screen, so that values are laid out.
    terminal: bool,
    /// The width set by `:set`.
    width: Option<usize>,
    /// The terminal's width.
    columns: usize,
    /// The number of entries and commands that failed.
    failed: usize,
    /// Whether the last entry was interrupted.
    interrupted: bool,
    /// Creates the session after `:reset`.
    fresh: Box<dyn Fn(&Global) -> Session>,
    /// Whether entries are cells of a notebook.
    notebook: bool,
}

/// The width of output in a notebook.
const NOTEBOOK: usize = 100;

/// The `:commands` for a kernel's cells.
pub fn commands(
    global: &Global,
    session: Rc<RefCell<Session>>,
    fresh: Box<dyn Fn() -> Session>,
) -> Box<dyn adl_kernel::Commands> {
    Box::new(Repl {
        global: global.clone(),
        session,
        color: Rc::new(Cell::new(true)),
        live: Rc::new(Cell::new(false)),
        vi: false,
        terminal: false,
        width: Some(NOTEBOOK),
        columns: NOTEBOOK,
        failed: 0,
        interrupted: false,
        fresh: Box::new(move |_| fresh()),
        notebook: true,
    })
}

impl adl_kernel::Commands for Repl {
    fn run(&mut self, line: &str) -> bool {
        let before = self.failed;
        if !self.foreign(line) {
            meta::run(self, line);
        }
        self.failed == before
    }
}

/// The names of the `:commands` with their descriptions.
pub fn command_names() -> Vec<adl_kernel::suggest::CommandName> {
    meta::COMMANDS.iter().map(|c| (c.name, c.what)).collect()
}

/// Runs until `:quit` or the end of input.
pub fn run(global: &Global) -> u8 {
    let color = crate::commands::colours(global, std::io::stdout().is_terminal());
    let mut repl = Repl {
        global: global.clone(),
        session: Rc::new(RefCell::new(session(global, Vec::new()))),
        color: Rc::new(Cell::new(color)),
        live: Rc::new(Cell::new(true)),
        vi: false,
        terminal: std::io::stdout().is_terminal() && !global.plain,
        width: None,
        columns: 80,
        failed: 0,
        interrupted: false,
        fresh: Box::new(|global| session(global, Vec::new())),
        notebook: false,
    };
    let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
    if std::io::stdin().is_terminal() && !global.plain && !dumb {
        let entries = HistoryEntries::default();
        if let Ok(editor) = editor(&repl, &entries) {
            return interactive(&mut repl, editor, &entries);
        }
    }
    piped::run(&mut repl)
}

type AdlEditor = Editor<Assistant, FileHistory>;

fn editor(repl: &Repl, entries: &HistoryEntries) -> rustyline::Result<AdlEditor> {
    let config = Config::builder()
        .max_history_size(history::MOST)?
        .history_ignore_dups(true)?
        .completion_type(CompletionType::List)
        .completion_show_all_if_ambiguous(true)
        .completion_prompt_limit(200)
        .auto_add_history(false)
        .build();
    let mut editor = AdlEditor::with_config(config)?;
    let (session, color, live) = (repl.session.clone(), repl.color.clone(), repl.live.clone());
    editor.set_helper(Some(Assistant {
        session,
        color,
        live,
        history: HistoryHinter::new(),
        checked: RefCell::default(),
    }));
    let mut bind = |code: KeyCode, modifiers: Modifiers, handler: Box<dyn ConditionalEventHandler>| {
        editor.bind_sequence(KeyEvent(code, modifiers), EventHandler::Conditional(handler));
    };
    bind(KeyCode::Enter, Modifiers::NONE, Box::new(Enter));
    bind(KeyCode::Enter, Modifiers::ALT, Box::new(NewLine));
    bind(KeyCode::Tab, Modifiers::NONE, Box::new(Tab));
    bind(KeyCode::Up, Modifiers::NONE, Box::new(Prefix { entries: entries.clone(), back: true }));
    bind(KeyCode::Down, Modifiers::NONE, Box::new(Prefix { entries: entries.clone(), back: false }));
    bind(KeyCode::Char('R'), Modifiers::CTRL, Box::new(HistorySearch(entries.clone())));
    Ok(editor)
}

fn interactive(repl: &mut Repl, mut editor: AdlEditor, entries: &HistoryEntries) -> u8 {
    let device = repl.session.borrow().device_lines().into_iter().next().unwrap_or_default();
    let threads = adl_interp::ops::parallel::threads();
    repl.say_wrapped(
        &format!(
            "adl {} on {device}, {threads} thread{}. `:help` lists the commands, `:quit` leaves.",
            env!("CARGO_PKG_VERSION"),
            if threads == 1 { "" } else { "s" }
        ),
        0,
    );
    let history = history::file();
    if let Some(h) = &history {
        // The first session has no history file.
        let _ = history::shorten(h).and_then(|()| editor.load_history(h).map_err(std::io::Error::other));
    }
    let all = editor.history();
    for i in 0..all.len() {
        let found = all.get(i, SearchDirection::Forward).ok().flatten();
        found.iter().for_each(|e| entries.add(&e.entry));
    }
    loop {
        editor.set_edit_mode(if repl.vi { EditMode::Vi } else { EditMode::Emacs });
        let prompt = if repl.color.get() {
            ("adl> ".to_owned(), "\x1b[1;34madl>\x1b[0m ".to_owned())
        } else {
            ("adl> ".to_owned(), "adl> ".to_owned())
        };
        match editor.readline(&prompt) {
            Ok(line) => {
                if !line.trim().is_empty() {
                    entries.add(line.trim_end());
                }
                if !line.trim().is_empty()
                    && editor.add_history_entry(line.trim_end()).unwrap_or(false)
                    && let Some(h) = &history
                {
                    // An entry that cannot be saved is still in this session's history.
                    let _ = history::append(h, line.trim_end());
                }
                repl.columns = editor.dimensions().map_or(80, |(w, _)| usize::from(w));
                if !repl.entry(&line) {
                    break;
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(_) => break,
        }
    }
    0
}

impl Repl {
    /// The width of the screen, if output goes to one.
    fn screen(&self) -> Option<usize> {
        self.width.or(self.terminal.then_some(self.columns))
    }

    fn say(&self, text: &str) {
        self.session.borrow_mut().host().print(&format!("{text}\n"));
    }

    /// Prints text, wrapped between words on a screen.
    fn say_wrapped(&self, text: &str, indent: usize) {
        match self.screen() {
            Some(columns) => self.say(&adl_session::wrapped(text, columns, indent).join("\n")),
            None => self.say(text),
        }
    }

    /// Reports an entry or command that failed.
    fn complain(&mut self, text: &str) {
        self.failed += 1;
        let mut session = self.session.borrow_mut();
        session.host().flush();
        session.host().warn(&format!("error: {text}\n"));
    }

    fn show(&mut self, out: &Outcome) {
        for e in &out.echoes {
            let text = self.screen().map_or_else(|| e.line(), |w| e.screen(w));
            let painted = if self.terminal && self.color.get() { value_colours::marked(&text) } else { text };
            self.say(&painted);
            self.draw(&e.shown);
        }
        self.failed += usize::from(!out.ok());
        self.interrupted = out.interrupted;
        report(&self.global, &mut self.session.borrow_mut(), &out.diags);
    }

    /// Prints a plot below its echo. Costs and residuals have their own tables.
    fn draw(&mut self, v: &adl_interp::value::Value) {
        let v = &adl_interp::value::interactive::at_start(v);
        let plot = adl_interp::value::plot::inside(v).and_then(|_| adl_plotting::picture(v));
        if let (Some(figure), Some(_)) = (plot, self.screen()) {
            let colour = self.terminal && self.color.get();
            let text = match self.width {
                Some(w) => figure.text(w, 24, colour),
                None => crate::graphics::picture(&figure, colour),
            };
            self.say(&text);
        }
    }

    fn eval(&mut self, text: &str) {
        self.session.borrow_mut().release();
        let start = Instant::now();
        let out = self.session.borrow_mut().eval(text);
        let took = start.elapsed();
        self.show(&out);
        if out.interrupted && self.terminal {
            let kept = if out.echoes.is_empty() { "" } else { ", with what this entry had defined" };
            self.say_wrapped(
                &format!(
                    "stopped after {}; all definitions are kept{kept}",
                    crate::commands::measure::duration(took.as_secs_f64())
                ),
                0,
            );
        }
    }

    /// Runs one entry and returns whether the session continues. After a panic in the entry, in a command or in the
    /// display of a value, the session is restored.
    fn entry(&mut self, text: &str) -> bool {
        let before = self.session.borrow_mut().checkpoint();
        match fault::catch(|| self.parts(text)) {
            Ok(belongs_to_entry) => {
                self.session.borrow_mut().keep(before);
                belongs_to_entry
            }
            Err(fault) => {
                let error = self.session.borrow_mut().recover(before, &fault);
                self.failed += 1;
                report(&self.global, &mut self.session.borrow_mut(), &[error]);
                true
            }
        }
    }

    /// Runs the parts of an entry: pasted text may contain commands between items.
    fn parts(&mut self, text: &str) -> bool {
        self.session.borrow().clear_interrupt();
        if let Some(name) = adl_kernel::suggest::asked(text) {
            let name = name.to_owned();
            return meta::doc(self, &name);
        }
        if self.foreign(text) {
            return true;
        }
        let Some(entries) = paste::entries(text) else { return self.items(text) };
        for e in entries {
            if !self.items(&e) {
                return false;
            }
            if self.interrupted {
                break;
            }
        }
        true
    }

    /// Says what adl has for a command in the form of another shell; whether it is one.
    fn foreign(&mut self, text: &str) -> bool {
        let ours = adl_kernel::foreign::entry(text, &command_names());
        ours.map(|ours| {
            self.complain(&format!("unknown command `{}`; {ours}", text.split_whitespace().next().unwrap_or("")));
        })
        .is_some()
    }

    /// Items with commands between them.
    fn items(&mut self, text: &str) -> bool {
        let mut items = String::new();
        let text = if text.trim_start().starts_with(':') { text.trim_start() } else { text };
        for line in text.lines() {
            if !line.starts_with(':') || line.starts_with("::") {
                items.push_str(line);
                items.push('\n');
                continue;
            }
            self.eval_some(&std::mem::take(&mut items));
            if self.interrupted || !meta::run(self, line.trim()) {
                return self.interrupted;
            }
        }
        self.eval_some(&items);
        self.session.borrow_mut().host().flush();
        true
    }

    fn eval_some(&mut self, items: &str) {
        self.interrupted = false;
        if !items.trim().is_empty() {
            self.eval(items.trim_end());
        }
    }
}

/// An entry as edited, truncated to one screen.
fn cut_entry(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    match lines.len() {
        n if n > 20 => format!("{}\n… ({} lines more)", lines[..20].join("\n"), n - 20),
        _ => text.to_owned(),
    }
}

//! Support while typing: completion, colours, bracket matching, hints, types and errors, and detection of complete
//! entries.

use super::signature;
use adl_kernel::suggest;
use adl_session::complete::Completion;
use adl_session::{Probe, Session};
use adl_syntax::Completeness;
use adl_syntax::highlight::Class;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::{Hint, Hinter, HistoryHinter};
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Context, Helper};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The editor's helper.
pub struct Assistant {
    pub session: Rc<RefCell<Session>>,
    pub color: Rc<Cell<bool>>,
    /// Whether types and errors are shown while typing.
    pub live: Rc<Cell<bool>>,
    pub history: HistoryHinter,
    pub checked: RefCell<CheckedInput>,
}

/// The result of analysing the current text.
#[derive(Default)]
pub struct CheckedInput {
    text: String,
    probe: Probe,
    /// The range of the current parameter in the status line.
    parameter: Option<Range<usize>>,
    /// Whether the check was slow; then it is not repeated until the next entry.
    slow: bool,
}

/// If a check takes longer, it is not repeated at every key press.
const PATIENCE: Duration = Duration::from_millis(30);
/// Longer entries are not checked at every key press.
const LONG: usize = 8000;
/// The prefix of lines below the entry.
const BELOW: &str = "  ";
const WRONG: &str = "error: ";

impl Helper for Assistant {}

/// The hint: the rest of an earlier entry, which the Right key accepts, and the status line about the text.
pub struct EntryHint {
    text: String,
    rest: Option<String>,
}

impl Hint for EntryHint {
    fn display(&self) -> &str {
        &self.text
    }
    fn completion(&self) -> Option<&str> {
        self.rest.as_deref()
    }
}

impl Hinter for Assistant {
    type Hint = EntryHint;
    fn hint(&self, line: &str, pos: usize, ctx: &Context<'_>) -> Option<EntryHint> {
        if line.trim().is_empty() {
            return None;
        }
        // Only one line of a longer entry; more lines would make the screen jump.
        let rest = self
            .history
            .hint(line, pos, ctx)
            .and_then(|h| h.lines().next().map(str::to_owned))
            .filter(|l| !l.is_empty());
        let columns = terminal_size::terminal_size().map_or(80, |(w, _)| usize::from(w.0));
        let below =
            self.status(line, pos, columns.saturating_sub(4)).map_or(String::new(), |s| format!("\n{BELOW}{s}"));
        let text = rest.clone().unwrap_or_default() + &below;
        (!text.is_empty()).then_some(EntryHint { text, rest })
    }
}

/// A text truncated to a width.
pub(super) fn clip(text: &str, columns: usize) -> String {
    let fits = |(i, c): &(usize, char)| adl_session::width(&text[..i + c.len_utf8()]) < columns;
    let end = text.char_indices().take_while(fits).last().map_or(0, |(i, c)| i + c.len_utf8());
    if end < text.len() { format!("{}…", &text[..end]) } else { text.to_owned() }
}

impl Assistant {
    /// The status line: the error, the type, or the signature of the function at the cursor.
    fn status(&self, line: &str, pos: usize, columns: usize) -> Option<String> {
        self.checked.borrow_mut().parameter = None;
        if !self.live.get() || line.starts_with([':', '?']) || line.len() > LONG {
            return None;
        }
        let mut session = self.session.try_borrow_mut().ok()?;
        self.check(&mut session, line);
        let checked = self.checked.borrow();
        let probe = &checked.probe;
        if let Some((_, message)) = errors_of(probe, pos).next() {
            return Some(clip(&format!("{WRONG}{}", message.lines().next().unwrap_or("")), columns));
        }
        let open = probe.ty.as_ref().is_none_or(|t| t.contains("->"));
        let ty = probe.ty.as_ref().map(|t| clip(&format!(": {t}"), columns));
        drop(checked);
        let Some((name, nth)) = adl_session::completion_ranking::called(&line[..pos]).filter(|_| open) else {
            return ty;
        };
        let Some((head, about)) = session.signature(name) else { return ty };
        let head = head.lines().next().unwrap_or("");
        let Some(of) = head.strip_prefix(name).and_then(|h| h.strip_prefix(" : ")) else {
            return Some(clip(head, columns));
        };
        let (text, place) = signature::line(name, of, &about, nth, columns);
        self.checked.borrow_mut().parameter = place;
        Some(text)
    }

    fn check(&self, s: &mut Session, line: &str) {
        let mut checked = self.checked.borrow_mut();
        if checked.text == line {
            return;
        }
        if line.len() <= 2 {
            checked.slow = false;
        }
        let start = Instant::now();
        checked.probe = if checked.slow { Probe::default() } else { s.probe(line) };
        checked.slow |= start.elapsed() > PATIENCE;
        checked.text = line.to_owned();
    }
}

/// Errors to show, without those in the word being typed.
fn errors_of(probe: &Probe, pos: usize) -> impl Iterator<Item = &(Range<usize>, String)> {
    probe.errors.iter().filter(move |(place, _)| place.end != pos)
}

impl Completer for Assistant {
    type Candidate = Pair;
    fn complete(&self, line: &str, pos: usize, _ctx: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let Ok(mut s) = self.session.try_borrow_mut() else { return Ok((pos, Vec::new())) };
        Ok(candidates(&mut s, &line[..pos]))
    }
}

/// A line of the completion list: a name, its type, and its purpose.
fn pair(c: &Completion, columns: usize) -> Pair {
    let head = if c.ty.is_empty() { c.text.clone() } else { format!("{} : {}", c.text, c.ty) };
    let half = (columns / 2).max(30);
    let line = if c.doc.is_empty() { head } else { format!("{:half$}  {}", clip(&head, half), c.doc) };
    Pair { display: clip(&line, columns), replacement: c.text.clone() }
}

/// Completions before the cursor: where they begin, and the candidates.
pub fn candidates(s: &mut Session, before: &str) -> (usize, Vec<Pair>) {
    let (start, mut found) = suggest::candidates(before, &super::command_names(), |prefix| s.complete(prefix));
    s.order_by_type(before, start, &mut found);
    let columns = terminal_size::terminal_size().map_or(80, |(w, _)| usize::from(w.0)).saturating_sub(1);
    let letter = |c: &Completion| Pair { display: format!("{} {}", c.text, c.ty), replacement: c.text.clone() };
    let shown = |c: &Completion| if c.ty.starts_with('\\') { letter(c) } else { pair(c, columns) };
    (start, found.iter().map(shown).collect())
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, pos: usize) -> Cow<'l, str> {
        if !self.color.get() || line.starts_with(':') {
            return Cow::Borrowed(line);
        }
        let checked = self.checked.borrow();
        let wrong: Vec<Range<usize>> = if checked.text == line {
            errors_of(&checked.probe, pos).map(|(r, _)| r.clone()).collect()
        } else {
            Vec::new()
        };
        Cow::Owned(coloured(line, pos, &wrong))
    }
    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        if !self.color.get() {
            return Cow::Borrowed(hint);
        }
        let (rest, below) = hint.split_once('\n').map_or((hint, None), |(r, b)| (r, Some(b)));
        let below = below.map_or(String::new(), |line| {
            let colour = if line.trim_start().starts_with(WRONG) { "31" } else { "90" };
            let parts = self.checked.borrow().parameter.as_ref().and_then(|r| {
                Some((
                    line.get(..BELOW.len() + r.start)?,
                    line.get(BELOW.len() + r.start..BELOW.len() + r.end)?,
                    line.get(BELOW.len() + r.end..)?,
                ))
            });
            match parts {
                Some((before, here, after)) => format!("\n\x1b[90m{before}\x1b[0;1m{here}\x1b[0;90m{after}\x1b[0m"),
                None => format!("\n\x1b[{colour}m{line}\x1b[0m"),
            }
        });
        Cow::Owned(format!("\x1b[90m{rest}\x1b[0m{below}"))
    }
    fn highlight_candidate<'c>(&self, candidate: &'c str, _: CompletionType) -> Cow<'c, str> {
        // The list overwrites the status line.
        match candidate.split_once(" : ").filter(|_| self.color.get()) {
            Some((name, about)) => Cow::Owned(format!("\x1b[K{name}\x1b[90m : {about}\x1b[0m")),
            None => Cow::Owned(format!("\x1b[K{candidate}")),
        }
    }
    fn highlight_char(&self, _line: &str, _pos: usize, kind: CmdKind) -> bool {
        self.color.get() && kind != CmdKind::ForcedRefresh || self.color.get()
    }
}

/// An entry with syntax colours, matching brackets marked, and errors underlined.
pub fn coloured(line: &str, pos: usize, wrong: &[Range<usize>]) -> String {
    let tokens = adl_syntax::tokens(line);
    let marked = brackets_at(line, pos, &tokens);
    let mut out = String::with_capacity(line.len() * 2);
    let mut at = 0;
    for (range, class) in tokens {
        if range.start < at || range.end > line.len() {
            continue;
        }
        out.push_str(&line[at..range.start]);
        let underlined =
            if wrong.iter().any(|w| w.start <= range.start && range.end <= w.end) { "\x1b[4;31m" } else { "" };
        let style = if marked.contains(&range.start) { "\x1b[1;7m" } else { style_of(class) }.to_owned() + underlined;
        out.push_str(&style);
        out.push_str(&line[range.start..range.end]);
        if !style.is_empty() {
            out.push_str("\x1b[0m");
        }
        at = range.end;
    }
    out.push_str(&line[at..]);
    out
}

/// A colour for a class of tokens.
fn style_of(class: Class) -> &'static str {
    match class {
        Class::Keyword => "\x1b[35m",
        Class::Number => "\x1b[36m",
        Class::String => "\x1b[32m",
        Class::Comment => "\x1b[90m",
        Class::Constructor | Class::Type => "\x1b[33m",
        Class::Name | Class::Operator | Class::Bracket => "",
    }
}

/// The positions of the bracket at (or directly before) the cursor and of its partner.
pub fn brackets_at(line: &str, pos: usize, tokens: &[(std::ops::Range<usize>, Class)]) -> Vec<usize> {
    let side = |r: &std::ops::Range<usize>| match line.get(r.clone()) {
        Some("(" | "[" | "{" | "[|") => 1i32,
        Some(")" | "]" | "}" | "|]") => -1,
        _ => 0,
    };
    let brackets: Vec<(usize, usize, i32)> = tokens
        .iter()
        .filter(|(_, c)| *c == Class::Bracket)
        .map(|(r, _)| (r.start, r.end, side(r)))
        .filter(|b| b.2 != 0)
        .collect();
    let Some(here) = brackets.iter().position(|b| b.0 == pos).or_else(|| brackets.iter().position(|b| b.1 == pos))
    else {
        return Vec::new();
    };
    let step = brackets[here].2;
    let (mut depth, mut i) = (0, here as i64);
    while let Some(b) = usize::try_from(i).ok().and_then(|i| brackets.get(i)) {
        depth += b.2;
        if depth == 0 {
            return vec![brackets[here].0, b.0];
        }
        i += i64::from(step);
    }
    Vec::new()
}

impl Validator for Assistant {
    fn validate(&self, ctx: &mut ValidationContext) -> rustyline::Result<ValidationResult> {
        Ok(match wanted(ctx.input()) {
            Some(_) => ValidationResult::Incomplete,
            None => ValidationResult::Valid(None),
        })
    }
}

/// The indentation of the next line of an incomplete entry; `None` if it is complete.
pub fn wanted(text: &str) -> Option<usize> {
    if text.starts_with([':', '?'])
        || suggest::asked(text).is_some()
        || super::paste::entries(text).is_some()
        || adl_kernel::foreign::entry(text, &super::command_names()).is_some()
        || text.trim().is_empty()
    {
        return None;
    }
    match adl_syntax::is_complete(text) {
        Completeness::Incomplete(n) => Some(n),
        Completeness::Complete | Completeness::Invalid => None,
    }
}

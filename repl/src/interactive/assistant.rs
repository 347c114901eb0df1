//! What helps while typing: completion, colours, brackets, hints, when an entry is complete.

use adl_kernel::suggest;
use adl_session::Session;
use adl_session::complete::Completion;
use adl_syntax::Completeness;
use adl_syntax::highlight::Class;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::{Hinter, HistoryHinter};
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Cmd, ConditionalEventHandler, Context, Event, EventContext, Helper, RepeatCount};
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

/// The editor's helper.
pub struct Assistant {
    pub session: Rc<RefCell<Session>>,
    pub color: Rc<std::cell::Cell<bool>>,
    pub history: HistoryHinter,
}

impl Helper for Assistant {}

impl Hinter for Assistant {
    type Hint = String;
    fn hint(&self, line: &str, pos: usize, ctx: &Context<'_>) -> Option<String> {
        if line.trim().is_empty() {
            return None;
        }
        let hint = self.history.hint(line, pos, ctx)?;
        // One line of a longer entry: the rest would push the screen about.
        let first = hint.lines().next().unwrap_or("").to_owned();
        (!first.is_empty()).then_some(first)
    }
}

impl Completer for Assistant {
    type Candidate = Pair;
    fn complete(&self, line: &str, pos: usize, _ctx: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let Ok(mut s) = self.session.try_borrow_mut() else { return Ok((pos, Vec::new())) };
        Ok(candidates(&mut s, &line[..pos]))
    }
}

fn pair(text: &str, what: &str) -> Pair {
    let what: String = if what.chars().count() > 70 { what.chars().take(70).chain(['…']).collect() } else { what.into() };
    Pair { display: if what.is_empty() { text.to_owned() } else { format!("{text} : {what}") }, replacement: text.to_owned() }
}

/// What may stand before the cursor: where it begins, and the candidates.
pub fn candidates(s: &mut Session, before: &str) -> (usize, Vec<Pair>) {
    let (start, found) = suggest::candidates(before, &super::command_names(), |prefix| s.complete(prefix));
    let letter = |c: &Completion| Pair { display: format!("{} {}", c.text, c.ty), replacement: c.text.clone() };
    let shown = |c: &Completion| if c.ty.starts_with('\\') { letter(c) } else { pair(&c.text, &c.ty) };
    (start, found.iter().map(shown).collect())
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, pos: usize) -> Cow<'l, str> {
        if !self.color.get() || line.starts_with(':') { Cow::Borrowed(line) } else { Cow::Owned(coloured(line, pos)) }
    }
    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        if self.color.get() { Cow::Owned(format!("\x1b[90m{hint}\x1b[0m")) } else { Cow::Borrowed(hint) }
    }
    fn highlight_char(&self, _line: &str, _pos: usize, kind: CmdKind) -> bool {
        self.color.get() && kind != CmdKind::ForcedRefresh || self.color.get()
    }
}

/// An entry with colours, and the brackets at the cursor marked.
fn coloured(line: &str, pos: usize) -> String {
    let tokens = adl_syntax::tokens(line);
    let marked = brackets_at(line, pos, &tokens);
    let mut out = String::with_capacity(line.len() * 2);
    let mut at = 0;
    for (range, class) in tokens {
        if range.start < at || range.end > line.len() {
            continue;
        }
        out.push_str(&line[at..range.start]);
        let style = if marked.contains(&range.start) { "\x1b[1;7m" } else { style_of(class) };
        out.push_str(style);
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

/// Where the bracket at (or just before) the cursor and its partner begin.
fn brackets_at(line: &str, pos: usize, tokens: &[(std::ops::Range<usize>, Class)]) -> Vec<usize> {
    let side = |r: &std::ops::Range<usize>| match line.get(r.clone()) {
        Some("(" | "[" | "{" | "[|") => 1i32,
        Some(")" | "]" | "}" | "|]") => -1,
        _ => 0,
    };
    let brackets: Vec<(usize, usize, i32)> = tokens.iter().filter(|(_, c)| *c == Class::Bracket).map(|(r, _)| (r.start, r.end, side(r))).filter(|b| b.2 != 0).collect();
    let Some(here) = brackets.iter().position(|b| b.0 == pos).or_else(|| brackets.iter().position(|b| b.1 == pos)) else { return Vec::new() };
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

/// The indentation of the line that an entry still wants; `None` if it can run.
fn wanted(text: &str) -> Option<usize> {
    if text.starts_with(':') || text.trim().is_empty() {
        return None;
    }
    match adl_syntax::is_complete(text) {
        Completeness::Incomplete(n) => Some(n),
        Completeness::Complete | Completeness::Invalid => None,
    }
}

/// Enter: a new line with its indentation where the entry is not complete.
pub struct Enter;

impl ConditionalEventHandler for Enter {
    fn handle(&self, _event: &Event, _n: RepeatCount, _positive: bool, ctx: &EventContext) -> Option<Cmd> {
        let (line, pos) = (ctx.line(), ctx.pos());
        if pos < line.len() {
            // In the middle of an entry of several lines, a new line; at the end of it, it runs.
            return if line.contains('\n') && wanted(line).is_some() { Some(Cmd::Insert(1, "\n".into())) } else { None };
        }
        wanted(line).map(|n| Cmd::Insert(1, format!("\n{}", " ".repeat(n))))
    }
}

/// Tab: indents where only blanks stand before the cursor, completes elsewhere.
pub struct Tab;

impl ConditionalEventHandler for Tab {
    fn handle(&self, _event: &Event, _n: RepeatCount, _positive: bool, ctx: &EventContext) -> Option<Cmd> {
        let before = &ctx.line()[..ctx.pos()];
        let line = &before[before.rfind('\n').map_or(0, |i| i + 1)..];
        line.trim().is_empty().then(|| Cmd::Insert(1, "  ".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_find_each_other() {
        let line = "f (a, [b]) c";
        let tokens = adl_syntax::tokens(line);
        assert_eq!(brackets_at(line, 2, &tokens), [2, 9]);
        assert_eq!(brackets_at(line, 10, &tokens), [9, 2]);
        assert_eq!(brackets_at(line, 6, &tokens), [6, 8]);
        assert!(brackets_at(line, 0, &tokens).is_empty());
        assert!(brackets_at("((a)", 0, &adl_syntax::tokens("((a)")).is_empty());
    }

    #[test]
    fn colours_do_not_change_the_text() {
        for line in ["let f x = \"a\" -- c", "(* open", "f\"{x}\"", "α [1, 2] )"] {
            let text = coloured(line, 0);
            let mut plain = String::new();
            let mut skip = false;
            for c in text.chars() {
                match (skip, c) {
                    (false, '\x1b') => skip = true,
                    (false, c) => plain.push(c),
                    (true, 'm') => skip = false,
                    (true, _) => {}
                }
            }
            assert_eq!(plain, line);
        }
    }

    #[test]
    fn entries_that_want_more() {
        assert_eq!(wanted("let f x ="), Some(2));
        assert_eq!(wanted("let f x =\n  x"), Some(2));
        assert_eq!(wanted("let f x =\n  x\n  "), None);
        assert_eq!(wanted("1 + 1"), None);
        assert_eq!(wanted(":load"), None);
    }

    #[test]
    fn candidates_by_place() {
        let mut s = Session::new(Box::new(crate::host::Terminal::new(Vec::new())));
        s.eval("let point = {x = 1.0, y = {z = 2}}");
        let texts = |s: &mut Session, before: &str| candidates(s, before).1.into_iter().map(|p| p.replacement).collect::<Vec<_>>();
        assert_eq!(texts(&mut s, "2 * point."), ["point.x", "point.y"]);
        assert_eq!(texts(&mut s, "point.y."), ["point.y.z"]);
        assert_eq!(texts(&mut s, "poi"), ["point"]);
        assert_eq!(texts(&mut s, "\\alpha"), ["α"]);
        assert_eq!(texts(&mut s, ":re"), [":reload", ":residuals", ":recompute", ":reset"]);
        assert_eq!(texts(&mut s, ":type poi"), ["point"]);
        assert!(texts(&mut s, "optim.").contains(&"optim.adam".to_owned()));
        assert!(texts(&mut s, "import \"sr").contains(&"src/".to_owned()));
        assert!(texts(&mut s, ":load src/ma").contains(&"main.rs".to_owned()));
        let displays: Vec<String> = candidates(&mut s, "point.x").1.into_iter().map(|p| p.display).collect();
        assert_eq!(displays, ["point.x : Float"]);
    }
}

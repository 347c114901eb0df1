//! Key bindings that the editor lacks.

use super::assistant::wanted;
use super::menu;
use rustyline::{Cmd, ConditionalEventHandler, Event, EventContext, Movement, RepeatCount};
use std::sync::{Arc, Mutex, PoisonError};

/// The entries of this and earlier sessions, the latest last, for searching by keys.
#[derive(Clone, Default)]
pub struct HistoryEntries(Arc<Mutex<Vec<String>>>);

impl HistoryEntries {
    /// Adds an entry.
    pub fn add(&self, entry: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.last().is_none_or(|l| l != entry) {
            all.push(entry.to_owned());
        }
    }

    fn has(&self, entry: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|e| e == entry)
    }

    /// The entries without duplicates, the latest first.
    pub fn latest(&self) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = std::collections::HashSet::new();
        all.iter().rev().filter(|e| seen.insert((*e).clone())).cloned().collect()
    }
}

/// Enter: inserts a new line with its indentation if the entry is incomplete.
pub struct Enter;

impl ConditionalEventHandler for Enter {
    fn handle(&self, _event: &Event, _n: RepeatCount, _positive: bool, ctx: &EventContext) -> Option<Cmd> {
        let (line, pos) = (ctx.line(), ctx.pos());
        if pos < line.len() {
            // Inside a multi-line entry it inserts a new line; at its end it runs the entry.
            return if line.contains('\n') && wanted(line).is_some() {
                Some(Cmd::Insert(1, "\n".into()))
            } else {
                None
            };
        }
        wanted(line).map(|n| Cmd::Insert(1, format!("\n{}", " ".repeat(n))))
    }
}

/// Alt-Enter: always inserts a new line.
pub struct NewLine;

impl ConditionalEventHandler for NewLine {
    fn handle(&self, _event: &Event, _n: RepeatCount, _positive: bool, ctx: &EventContext) -> Option<Cmd> {
        let before = &ctx.line()[..ctx.pos()];
        let last = &before[before.rfind('\n').map_or(0, |i| i + 1)..];
        let indent = wanted(before).unwrap_or_else(|| last.len() - last.trim_start_matches(' ').len());
        Some(Cmd::Insert(1, format!("\n{}", " ".repeat(indent))))
    }
}

/// Tab: indents after leading white space, and otherwise completes.
pub struct Tab;

impl ConditionalEventHandler for Tab {
    fn handle(&self, _event: &Event, _n: RepeatCount, _positive: bool, ctx: &EventContext) -> Option<Cmd> {
        let before = &ctx.line()[..ctx.pos()];
        let line = &before[before.rfind('\n').map_or(0, |i| i + 1)..];
        (line.trim().is_empty() && !before.trim().is_empty()).then(|| Cmd::Insert(1, "  ".into()))
    }
}

/// Up and Down: search for entries that begin with the text before the cursor, if there is any.
pub struct Prefix {
    pub entries: HistoryEntries,
    pub back: bool,
}

impl ConditionalEventHandler for Prefix {
    fn handle(&self, _event: &Event, _n: RepeatCount, _positive: bool, ctx: &EventContext) -> Option<Cmd> {
        let (line, pos) = (ctx.line(), ctx.pos());
        // With the cursor at its end, a complete entry from the history was recalled: Up continues from there. In
        // multi-line entries the keys move the cursor.
        let whole = pos == line.len() && self.entries.has(line);
        let searches = pos > 0 && !whole && !line[..pos].contains('\n') && (self.back || !line.contains('\n'));
        searches.then_some(if self.back { Cmd::HistorySearchBackward } else { Cmd::HistorySearchForward })
    }
}

/// Ctrl-R: opens a menu of entries.
pub struct HistorySearch(pub HistoryEntries);

impl ConditionalEventHandler for HistorySearch {
    fn handle(&self, _event: &Event, _n: RepeatCount, _positive: bool, ctx: &EventContext) -> Option<Cmd> {
        Some(match menu::choose(&self.0.latest(), ctx.line()) {
            Some(entry) => Cmd::Replace(Movement::WholeBuffer, Some(entry)),
            None => Cmd::Repaint,
        })
    }
}

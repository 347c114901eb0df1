//! Undo and snapshots: the definitions before an entry, or when they were saved under a name.

use crate::Session;
use crate::limits::snapshots::MAX_UNDO;
use crate::reload::Loaded;
use crate::saved::{History, LAST_VALUES};
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use adl_typing::env::Env;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The meaning of all names at one time.
#[derive(Clone)]
pub(crate) struct SavedScope {
    pub env: Env,
    texts: rpds::HashTrieMap<Symbol, Span>,
    pub loaded: Vec<Rc<Loaded>>,
    history: History,
    /// The entry that was about to run.
    entry: String,
}

/// The saved states.
#[derive(Default)]
pub(crate) struct UndoHistory {
    undo: Vec<SavedScope>,
    named: BTreeMap<String, SavedScope>,
}

impl UndoHistory {
    /// All saved states.
    pub fn all(&self) -> impl Iterator<Item = &SavedScope> {
        self.undo.iter().chain(self.named.values())
    }

    /// Removes large values of old states, except those before the last entry.
    pub fn shorten(&mut self) {
        let n = self.undo.len();
        self.undo.drain(..n.saturating_sub(1));
    }
}

impl Session {
    fn definitions_now(&self, entry: &str) -> SavedScope {
        let mut env = self.env.clone();
        for name in LAST_VALUES {
            env.values.remove_mut(&Symbol::new(name));
        }
        SavedScope {
            env,
            texts: self.texts.clone(),
            loaded: self.loaded.clone(),
            history: self.history.clone(),
            entry: entry.to_owned(),
        }
    }

    /// Restores a state. The last values (`it`) stay.
    fn restore_scope(&mut self, there: SavedScope) {
        let its = LAST_VALUES.map(|n| (Symbol::new(n), self.env.values.get(&Symbol::new(n)).cloned()));
        self.env = there.env;
        for (name, value) in its {
            match value {
                Some(g) => self.env.values.insert_mut(name, g),
                None => _ = self.env.values.remove_mut(&name),
            }
        }
        self.texts = there.texts;
        self.loaded = there.loaded;
        self.history = there.history;
    }

    /// Saves the state before an entry changes it.
    pub(crate) fn remember(&mut self, entry: &str) {
        if self.past.undo.len() >= MAX_UNDO {
            self.past.undo.remove(0);
        }
        let now = self.definitions_now(entry);
        self.past.undo.push(now);
    }

    /// Drops the last saved state, because the entry defined nothing.
    pub(crate) fn drop_last(&mut self) {
        self.past.undo.pop();
    }

    /// Undoes the last entry that defined something, and returns its text.
    pub fn undo(&mut self) -> Option<String> {
        let before = self.past.undo.pop()?;
        let entry = before.entry.clone();
        self.restore_scope(before);
        Some(entry)
    }

    /// Saves the state under a name.
    pub fn snapshot(&mut self, name: &str) {
        let now = self.definitions_now(&format!("snapshot {name}"));
        self.past.named.insert(name.to_owned(), now);
    }

    /// Restores a snapshot; `undo` reverts this. Returns whether it exists.
    pub fn restore(&mut self, name: &str) -> bool {
        let Some(there) = self.past.named.get(name).cloned() else { return false };
        self.remember(&format!(":restore {name}"));
        self.restore_scope(there);
        true
    }

    /// The names of the snapshots.
    pub fn snapshots(&self) -> Vec<String> {
        self.past.named.keys().cloned().collect()
    }
}

//! Interned names: equal names are equal numbers, everywhere in the process.

use std::collections::HashMap;
use std::fmt;
use std::sync::{OnceLock, RwLock};

/// An interned name. Ordering is by first use, not alphabetical; sort by [`Symbol::as_str`] for
/// anything a person sees.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(u32);

#[derive(Default)]
struct Interner {
    ids: HashMap<&'static str, u32>,
    names: Vec<&'static str>,
}

fn interner() -> &'static RwLock<Interner> {
    static TABLE: OnceLock<RwLock<Interner>> = OnceLock::new();
    TABLE.get_or_init(Default::default)
}

impl Symbol {
    /// Interns `name`. Names live as long as the process: programs have few distinct ones.
    pub fn new(name: &str) -> Symbol {
        let table = interner();
        if let Some(&id) = table.read().unwrap_or_else(std::sync::PoisonError::into_inner).ids.get(name) {
            return Symbol(id);
        }
        let mut table = table.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(&id) = table.ids.get(name) {
            return Symbol(id);
        }
        let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
        let id = table.names.len() as u32;
        table.names.push(name);
        table.ids.insert(name, id);
        Symbol(id)
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        interner().read().unwrap_or_else(std::sync::PoisonError::into_inner).names[self.0 as usize]
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.as_str())
    }
}

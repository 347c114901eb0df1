//! Local names: what each means, innermost first.

use crate::core::Local;
use crate::ty::{Scheme, SizeVar};
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

/// A member of a recursive group inside the group: used without instantiation of types.
#[derive(Clone, Debug)]
pub(super) struct Recursive {
    /// The sizes that the definitions around the group name.
    pub outer: Rc<[SizeVar]>,
    /// How many functions are around the group: the value is there only inside another one.
    pub functions: usize,
    /// Where it is defined.
    pub at: Span,
}

/// What a name in a local scope is.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub name: Symbol,
    pub local: Local,
    pub scheme: Rc<Scheme>,
    /// In its own recursive group.
    pub recursive: Option<Recursive>,
    /// It is the value of this size.
    pub size: Option<SizeVar>,
    /// The arguments of the function that is written there; 0 if none is.
    pub arity: usize,
    /// Its type was seen to have no variables but those that its scheme quantifies, and so for ever.
    pub closed: Cell<bool>,
}

/// Names in the order in which they were bound, with an index from names to places.
#[derive(Clone, Default)]
pub(super) struct Scope {
    bound: Vec<Bound>,
    places: HashMap<Symbol, Vec<usize>>,
}

impl Scope {
    /// How many names are bound: what [`Scope::truncate`] takes to go back to this place.
    pub fn len(&self) -> usize {
        self.bound.len()
    }

    /// Binds a name, in front of others of the same spelling.
    pub fn push(&mut self, b: Bound) {
        self.places.entry(b.name).or_default().push(self.bound.len());
        self.bound.push(b);
    }

    /// Forgets the names that were bound since there were `len`.
    pub fn truncate(&mut self, len: usize) {
        for b in self.bound.drain(len..) {
            if let Some(places) = self.places.get_mut(&b.name) {
                places.pop();
            }
        }
    }

    /// What a name means here.
    pub fn find(&self, name: Symbol) -> Option<&Bound> {
        self.places.get(&name)?.last().map(|i| &self.bound[*i])
    }

    /// All that is bound, outermost first.
    pub fn iter(&self) -> impl Iterator<Item = &Bound> {
        self.bound.iter()
    }
}

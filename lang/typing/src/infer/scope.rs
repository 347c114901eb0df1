//! Local names and their meanings, innermost first.

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
    /// The number of functions around the group. Its value may be used only inside a further function.
    pub functions: usize,
    /// Where it is defined.
    pub at: Span,
}

/// The meaning of a name in a local scope.
#[derive(Clone, Debug)]
pub(super) struct BoundName {
    pub name: Symbol,
    pub local: Local,
    pub scheme: Rc<Scheme>,
    /// Set for members of a recursive group inside that group.
    pub recursive: Option<Recursive>,
    /// Set if it holds the value of this size.
    pub size: Option<SizeVar>,
    /// The number of parameters if its value is a function literal; 0 otherwise.
    pub arity: usize,
    /// Whether its type has no free variables. Once true, this stays true.
    pub closed: Cell<bool>,
}

/// Names in binding order, with an index from names to positions.
#[derive(Clone, Default)]
pub(super) struct Scope {
    bound: Vec<BoundName>,
    places: HashMap<Symbol, Vec<usize>>,
}

impl Scope {
    /// The number of bound names, for [`Scope::truncate`].
    pub fn len(&self) -> usize {
        self.bound.len()
    }

    /// Binds a name; it shadows earlier ones of the same spelling.
    pub fn push(&mut self, b: BoundName) {
        self.places.entry(b.name).or_default().push(self.bound.len());
        self.bound.push(b);
    }

    /// Removes the names bound since [`Scope::len`] returned `len`.
    pub fn truncate(&mut self, len: usize) {
        for b in self.bound.drain(len..) {
            if let Some(places) = self.places.get_mut(&b.name) {
                places.pop();
            }
        }
    }

    /// The innermost binding of a name.
    pub fn find(&self, name: Symbol) -> Option<&BoundName> {
        self.places.get(&name)?.last().map(|i| &self.bound[*i])
    }

    /// All bindings, outermost first.
    pub fn iter(&self) -> impl Iterator<Item = &BoundName> {
        self.bound.iter()
    }
}

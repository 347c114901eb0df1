//! How a value of the language is spread over IR variables.

use adl_ir::{DataId, Ty};
use adl_syntax::symbol::Symbol;
use std::rc::Rc;

/// The shape of a type as a tree; its leaves, from left to right, are IR variables.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Layout {
    /// One variable.
    Leaf(Ty),
    /// `()`: no variable.
    Unit,
    /// The components' variables.
    Tuple(Vec<Layout>),
    /// The fields' variables, sorted by name.
    Record(Vec<(Symbol, Layout)>),
    /// An array: each leaf of the element with one more axis. (Arrays of arrays of numbers are one leaf.)
    Array(Rc<Layout>),
    /// A declared type at its arguments: one variable. [`crate::Entry::datas`] says how its constructors' fields are laid out.
    Data(DataId),
    /// A function, as data that only the IR has: one variable.
    Fun(DataId),
}

impl Layout {
    /// The types of its variables.
    pub fn leaves(&self) -> Vec<Ty> {
        let mut out = Vec::new();
        self.collect(0, &mut out);
        out
    }

    fn collect(&self, rank: u32, out: &mut Vec<Ty>) {
        match self {
            Layout::Leaf(t) => out.push(t.array(rank)),
            Layout::Unit => {}
            Layout::Tuple(ls) => ls.iter().for_each(|l| l.collect(rank, out)),
            Layout::Record(fs) => fs.iter().for_each(|(_, l)| l.collect(rank, out)),
            Layout::Array(e) => e.collect(rank + 1, out),
            Layout::Data(d) | Layout::Fun(d) => out.push(Ty::Data(*d).array(rank)),
        }
    }
}

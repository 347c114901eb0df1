//! The representation of language values by IR variables.

use adl_ir::{DataId, Ty};
use adl_syntax::symbol::Symbol;
use std::rc::Rc;

/// The structure of a type as a tree; its leaves, from left to right, are IR variables.
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
    /// An array: the element's leaves, each with one more axis. (An array of arrays of numbers is a single leaf.)
    Array(Rc<Layout>),
    /// A declared type at its arguments: one variable. [`crate::Entry::datas`] has the layouts of its constructors'
    /// fields.
    Data(DataId),
    /// A function represented as a data type of the IR: one variable.
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

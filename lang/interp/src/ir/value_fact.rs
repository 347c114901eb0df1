//! Facts on which a specialisation depends.

use crate::value::Rep;
use adl_typing::ty::{DataId, Ty};
use std::rc::Rc;

/// What the specialiser learned about the value at a place. A specialisation is valid for other values for
/// which the same facts hold.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ValueFact {
    /// A function, identified by the kind and the address of its code.
    Fun(&'static str, usize),
    /// A run-time type representation.
    Rep(Rc<Rep>),
    /// A data value; its type, if the specialiser asked for it.
    Data(Option<Ty>),
    /// An array with functions, and its length.
    Array(usize),
    /// Declared data with this constructor.
    Con(DataId, u32),
    /// A value without a representation in the IR.
    Opaque,
}

//! What a machine knows of the program: values, Core and declared types.

use crate::ops::data;
use crate::value::Value;
use adl_typing::core::{Def, GlobalId};
use adl_typing::ty::{DataDecl, DataId};
use std::collections::HashMap;
use std::rc::Rc;

/// The definitions of a session.
#[derive(Default)]
pub struct Definitions {
    /// Declared types, for functions that read data.
    pub datas: HashMap<DataId, Rc<DataDecl>>,
    /// Definitions, for the specialiser. For data only the type is kept.
    pub(crate) core: HashMap<GlobalId, Rc<Def>>,
    /// Released definitions whose code addresses may still occur in caches.
    pub(super) buried: Vec<Rc<Def>>,
    pub(crate) globals: Vec<Option<Value>>,
    /// The headers of tables that are read chunk by chunk, by path.
    pub(crate) tables: HashMap<Rc<str>, Rc<data::chunked::Table>>,
}

impl Definitions {
    /// The value of a global.
    pub fn value(&self, id: GlobalId) -> Option<&Value> {
        self.globals.get(id.0 as usize).and_then(|v| v.as_ref())
    }

    /// Sets the value of a global.
    pub fn set(&mut self, id: GlobalId, v: Value) {
        let at = id.0 as usize;
        if self.globals.len() <= at {
            self.globals.resize(at + 1, None);
        }
        self.globals[at] = Some(v);
    }
}

/// How deep a run is, and how deep it may be.
pub struct StackUse {
    /// Maximum memory of frames in bytes; a deeper recursion is reported as endless.
    pub budget: usize,
    /// The number of frames below the frame that native code has replaced. That frame and those above it are
    /// not running.
    pub(super) replaced: usize,
    /// Nesting of calls through primitives, in bytes of native stack.
    pub(super) reentries: usize,
    /// Whether a call is repeated in the interpreter, for its time: nothing new becomes native meanwhile,
    /// since compiling would count as time of the interpreter, and a caller would be compared with itself.
    pub(super) repeats: bool,
}

impl Default for StackUse {
    fn default() -> StackUse {
        StackUse { budget: 1 << 30, replaced: usize::MAX, reentries: 0, repeats: false }
    }
}

impl StackUse {
    /// Nothing runs any more, for instance after a panic.
    pub(super) fn reset(&mut self) {
        (self.replaced, self.reentries, self.repeats) = (usize::MAX, 0, false);
    }
}

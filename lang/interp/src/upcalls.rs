//! What operations on values ask of the layers above them.
//!
//! Operations on values know no machine. Some call functions of the program; some, applied to traced values, need
//! derivative rules, which are operations on values in turn. They reach both through [`Upcalls`], which the machine
//! implements. So each layer imports only layers below it.

use crate::ad::tape::Tape;
use crate::error::Res;
use crate::value::Value;
use crate::value::fun::Fun;
use adl_ir::Collective;
use adl_prim::{Bin, Prim, Un};
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use adl_typing::ty::{DataDecl, DataId};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

/// A running program, as an operation on values sees it.
pub trait Upcalls {
    /// The flag that is set to stop the run.
    fn interrupt(&self) -> &AtomicBool;
    /// An error if the run should stop.
    fn poll(&self) -> Res<()>;
    /// Applies a function.
    fn call(&mut self, f: &Value, args: &[Value]) -> Res<Value>;
    /// Applies a primitive to all its arguments, traced or not. `reps` are its hidden arguments, run-time type
    /// representations. Arguments may be moved out, so that an unshared array is updated in place.
    fn apply_primitive(&mut self, p: Prim, reps: &[Value], args: &mut [Value]) -> Res<Value>;
    /// Like [`Upcalls::apply_primitive`], for arguments of which none is traced.
    fn untraced_primitive(&mut self, p: Prim, reps: &[Value], args: &mut [Value]) -> Res<Value>;
    /// The declaration of a type.
    fn declaration(&self, id: DataId) -> Option<Rc<DataDecl>>;
    /// The tape of a level of taped AD; `None` in forward mode.
    fn tape(&mut self, level: u16) -> Option<&mut Tape>;
    /// Opens a level of taped AD that records on a tape. Returns its number.
    fn open_tape(&mut self, tape: Tape) -> Res<u16>;
    /// Closes a level and all levels above it. Returns its tape.
    fn close_tape(&mut self, level: u16) -> Tape;
    /// The next effects are those of an earlier run, with these results.
    fn repeat_effects(&mut self, results: &[Value]);
    /// A unary operator on a traced value.
    fn traced_unary(&mut self, op: Un, value: &Value) -> Res<Value>;
    /// A binary operator with a traced operand.
    fn traced_binary(&mut self, op: Bin, a: &Value, b: &Value) -> Res<Value>;
    /// Element `index` of the first axis of a traced array.
    fn traced_element(&mut self, array: &Value, index: usize) -> Res<Value>;
    /// An array of numbers or arrays, some of which are traced.
    fn traced_pack(&mut self, vals: Vec<Value>) -> Res<Value>;
    /// A collective of traced or untraced leaves.
    fn collective(&mut self, kind: Collective, leaves: Vec<Value>, at: &Value, site: CollectiveSite)
    -> Res<Vec<Value>>;
    /// A unary operator on the device. `None` if the CPU must run it.
    fn unary_on_device(&mut self, op: Un, a: &Value) -> Res<Option<Value>>;
    /// A binary operator on the device. `None` if the CPU must run it.
    fn binary_on_device(&mut self, op: Bin, a: &Value, b: &Value) -> Res<Option<Value>>;
}

/// Runs lowered code: what compiled AD asks of the virtual machine above it.
pub trait RunsLowered {
    /// Calls a lowered function. It must have `results` results, which are returned.
    fn call_lowered(&mut self, f: &Rc<Fun>, args: Vec<Value>, results: usize) -> Res<Vec<Value>>;
    /// Like [`RunsLowered::call_lowered`], with arguments that may be packed ([`crate::ir::boxes`]); if `pack_results`,
    /// results may be packed as well.
    fn call_packed(&mut self, f: &Rc<Fun>, args: Vec<Value>, results: usize, pack_results: bool) -> Res<Vec<Value>>;
}

/// Where a collective stands.
#[derive(Clone, Copy, Debug)]
pub struct CollectiveSite {
    /// Its place in the program, which the ranks compare.
    pub at: Span,
    /// The constructors of declared data whose numbers are sent one by one, which the ranks compare as well.
    pub of: Option<Symbol>,
    /// Whether it is recorded at every level of derivatives that is open, even if no operand of this rank has a derivative
    /// there: those of another rank may have one, and each level sends messages of its own.
    pub everywhere: bool,
}

/// Applies a primitive to arguments that the caller owns.
pub fn call(m: &mut dyn Upcalls, p: impl Into<Prim>, reps: &[Value], mut args: Vec<Value>) -> Res<Value> {
    m.apply_primitive(p.into(), reps, &mut args)
}

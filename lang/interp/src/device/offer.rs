//! Offers interpreted work to the device: single operations on large arrays, and calls of functions with large
//! array arguments.

use crate::error::Res;
use crate::ir::derive::compile_plain;
use crate::limits::device_offer::{MANY, TRIES};
use crate::value::{Kind, Value};
use crate::vm::code::Code;
use crate::vm::{Fun, Machine};
use adl_prim::{ArrayFn, Bin, NumberFn, Prim, Un};
use std::rc::Rc;

/// Whether a primitive does work on all elements of its arguments.
fn suits(prim: Prim) -> bool {
    match prim {
        Prim::Bin(_) | Prim::Un(_) => prim.row().named,
        Prim::CompareEach(_) | Prim::Reduction(_) => true,
        Prim::Array(p) => matches!(
            p,
            ArrayFn::Append
                | ArrayFn::Scatter
                | ArrayFn::ScatterWithin
                | ArrayFn::Gather
                | ArrayFn::Compress
                | ArrayFn::Rotate
                | ArrayFn::Reverse
                | ArrayFn::Flatten
                | ArrayFn::Reshape
                | ArrayFn::Take
                | ArrayFn::Drop
                | ArrayFn::Where
                | ArrayFn::Diag
                | ArrayFn::TransposeArray
        ),
        Prim::Number(p) => !matches!(p, NumberFn::PowInt | NumberFn::Pi | NumberFn::E | NumberFn::Inf | NumberFn::Nan),
        Prim::Compare(_)
        | Prim::General(_)
        | Prim::HigherOrder(_)
        | Prim::Linalg(_)
        | Prim::Random(_)
        | Prim::Text(_)
        | Prim::Io(_)
        | Prim::Comm(_)
        | Prim::Rows(_)
        | Prim::Derivative(_) => false,
    }
}

/// The number of elements of the numeric arrays in a value, and whether one of them exists only on the device.
fn elements(v: &Value) -> (usize, bool) {
    let of_all =
        |parts: &[Value]| parts.iter().map(elements).fold((0, false), |(n, there), (m, one)| (n + m, there | one));
    match v {
        Value::Tuple(t) => of_all(&t.0),
        Value::Record(r) => of_all(&r.vals),
        Value::Array(a) if matches!(a.kind(), Kind::F64 | Kind::F32 | Kind::I64 | Kind::Bool) => {
            (a.shape.iter().product(), a.is_remote())
        }
        _ => (0, false),
    }
}

impl Machine {
    /// Whether work on these arguments should be offered: they are large, and either the device is selected or
    /// it already holds one of them.
    fn offers<'v>(&self, args: impl Iterator<Item = &'v Value>) -> bool {
        let (least, wanted) = (self.device.least.map_or(MANY, |n| n as usize).max(1), self.device.is_wanted());
        let (mut all, mut away) = (0, false);
        for v in args {
            let (n, there) = elements(v);
            all += n;
            away |= there;
        }
        all >= least && (wanted || away)
    }

    /// Runs a primitive on the device. Returns `None` if the CPU must run it.
    #[inline]
    pub(crate) fn primitive_on_device(&mut self, p: Prim, reps: &[Value], args: &[Value]) -> Res<Option<Value>> {
        if !self.device.is_on() || !suits(p) || !self.offers(args.iter()) || !compile_plain::wanted(self) {
            return Ok(None);
        }
        let f = Value::Fun(Rc::new(Fun::Prim(p, reps.to_vec())));
        compile_plain::call_on_device(self, &f, args)
    }

    /// Runs a binary array operator on the device. Returns `None` if the CPU must run it.
    #[inline]
    pub(crate) fn binary_on_device(&mut self, op: Bin, a: &Value, b: &Value) -> Res<Option<Value>> {
        if !self.device.is_on() || !matches!((a, b), (Value::Array(_), _) | (_, Value::Array(_))) {
            return Ok(None);
        }
        self.primitive_on_device(op.into(), &[], &[a.clone(), b.clone()])
    }

    /// Runs a unary array operator on the device. Returns `None` if the CPU must run it.
    #[inline]
    pub(crate) fn unary_on_device(&mut self, op: Un, a: &Value) -> Res<Option<Value>> {
        if !self.device.is_on() || !matches!(a, Value::Array(_)) {
            return Ok(None);
        }
        self.primitive_on_device(op.into(), &[], std::slice::from_ref(a))
    }

    /// Whether a call of a user's function should be offered: it has large array arguments and has not been
    /// refused [`TRIES`] times in a row.
    #[inline]
    pub(crate) fn offered(&self, code: &Code, args: &[Value]) -> bool {
        self.device.is_on()
            && code.profile.offered.get() < TRIES
            && self.offers(args.iter())
            && compile_plain::wanted(self)
    }

    /// Calls the function on the device. Returns `None` if the CPU must run the call.
    #[cold]
    pub(crate) fn called_on_device(&mut self, f: &Rc<Fun>, code: &Code, mut args: Vec<Value>) -> Res<Option<Value>> {
        // Leading type representations and functions become part of the closure, so that code is specialised to
        // them.
        let known = args.iter().take_while(|a| matches!(a, Value::Rep(_) | Value::Fun(_))).count().min(args.len() - 1);
        let rest = args.split_off(known);
        let f = if known == 0 { f.clone() } else { Rc::new(Fun::Partial(f.clone(), args)) };
        let out = compile_plain::call_on_device(self, &Value::Fun(f), &rest)?;
        code.profile.offered.set(if out.is_some() { 0 } else { code.profile.offered.get() + 1 });
        Ok(out)
    }
}

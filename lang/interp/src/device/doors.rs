//! Where interpreted code offers work to the device: operations on large arrays, and calls of functions with such among their arguments.

use crate::error::Res;
use crate::ir::road::primal;
use crate::value::{Kind, Value};
use crate::vm::code::Code;
use crate::vm::{Fun, Machine};
use adl_prim::{Bin, Prim, Un};
use std::rc::Rc;

/// Elements from which on a single operation is offered: below, starting a kernel takes longer than it.
const MANY: usize = 1 << 13;

/// Calls of a function that are offered in vain before it is left alone.
const TRIES: u8 = 4;

/// Whether a primitive does something with all elements of its arguments.
fn suits(p: Prim) -> bool {
    use Prim as P;
    p.bin().is_some()
        || p.un().is_some()
        || matches!(
            p,
            P::MatMul | P::Matmul | P::Append | P::Scatter | P::ScatterWithin | P::Gather | P::Rotate | P::Reverse | P::Concat | P::Flatten | P::Reshape | P::Take | P::Drop | P::Sort
                | P::Argsort | P::Argmin | P::Argmax | P::Sum | P::Prod | P::Mean | P::Variance | P::Maximum | P::Minimum | P::Cumsum | P::Cumprod | P::Dot | P::Outer
                | P::Norm | P::Where | P::Diag | P::Trace | P::TransposeArray | P::Clamp | P::IsNan | P::IsInf | P::ToFloat | P::ToInt | P::ToF32 | P::F32ToFloat
                | P::Any | P::All | P::Not | P::Compress | P::EqEach | P::NeEach | P::LtEach | P::GtEach | P::LeEach | P::GeEach
                | P::AndEach | P::OrEach
        )
}

/// Elements of an array of numbers, and whether they are on the device and not here.
fn elements(v: &Value) -> (usize, bool) {
    match v {
        Value::Array(a) if matches!(a.kind(), Kind::F64 | Kind::F32 | Kind::I64 | Kind::Bool) => (a.shape.iter().product(), a.is_away()),
        _ => (0, false),
    }
}

impl Machine {
    /// Whether something on these arguments is to be offered: they are large, and the device is asked for, or has them already.
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

    /// What a primitive gives, by the device. `None` where the CPU is to do it.
    #[inline]
    pub(crate) fn primitive_on_device(&mut self, p: Prim, reps: &[Value], args: &[Value]) -> Res<Option<Value>> {
        if !self.device.is_on() || !suits(p) || !self.offers(args.iter()) || !primal::wanted(self) {
            return Ok(None);
        }
        let f = Value::Fun(Rc::new(Fun::Prim(p, reps.to_vec())));
        primal::call_on_device(self, &f, args)
    }

    /// What an operator on arrays gives, by the device.
    #[inline]
    pub(crate) fn binary_on_device(&mut self, op: Bin, a: &Value, b: &Value) -> Res<Option<Value>> {
        if !self.device.is_on() || !matches!((a, b), (Value::Array(_), _) | (_, Value::Array(_))) {
            return Ok(None);
        }
        match Prim::of_bin(op) {
            Some(p) => self.primitive_on_device(p, &[], &[a.clone(), b.clone()]),
            None => Ok(None),
        }
    }

    /// The same for an operator on one array.
    #[inline]
    pub(crate) fn unary_on_device(&mut self, op: Un, a: &Value) -> Res<Option<Value>> {
        if !self.device.is_on() || !matches!(a, Value::Array(_)) {
            return Ok(None);
        }
        match Prim::of_un(op) {
            Some(p) => self.primitive_on_device(p, &[], std::slice::from_ref(a)),
            None => Ok(None),
        }
    }

    /// Whether a call of a user's function is to be offered: it has large arrays, and was not refused again and again.
    #[inline]
    pub(crate) fn offered(&self, code: &Code, args: &[Value]) -> bool {
        self.device.is_on() && code.heat.offered.get() < TRIES && self.offers(args.iter()) && primal::wanted(self)
    }

    /// What the function gives, by the device. `None` where the CPU is to do it.
    #[cold]
    pub(crate) fn called_on_device(&mut self, f: &Rc<Fun>, code: &Code, mut args: Vec<Value>) -> Res<Option<Value>> {
        // Types, and functions in front: code is made for those that are given.
        let known = args.iter().take_while(|a| matches!(a, Value::Rep(_) | Value::Fun(_))).count().min(args.len() - 1);
        let rest = args.split_off(known);
        let f = if known == 0 { f.clone() } else { Rc::new(Fun::Partial(f.clone(), args)) };
        let out = primal::call_on_device(self, &Value::Fun(f), &rest)?;
        code.heat.offered.set(if out.is_some() { 0 } else { code.heat.offered.get() + 1 });
        Ok(out)
    }
}

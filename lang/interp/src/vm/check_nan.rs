//! `--check-nan`: the first operation that produces a nan or an infinity from finite numbers stops the run with
//! an error at its source position.
//!
//! Instructions are checked one by one, in primal code and in derivatives, whose instructions have the spans of
//! the code from which they were derived. So nothing is compiled to native code or batched while this is on.
//! Non-finite inputs (literals, `inf`, missing values in a file) are not errors: an operation is checked only
//! if its operands are finite.
//!
//! What is *not* checked: the sweeps of taped AD, which are not instructions. An error in them is reported for
//! the operator as a whole.

use super::Machine;
use super::code::{Code, I, R};
use crate::error::{Error, Res, codes};
use crate::ir::eval_op::LoweredOp;
use crate::value::{Buf, Value, compare, show};
use adl_ir::Op;
use adl_prim::{DerivativeFn, Prim};
use smallvec::SmallVec;

/// An operation on finite numbers: its result registers and its operands.
pub(super) struct WatchedOp {
    outs: SmallVec<[R; 2]>,
    given: SmallVec<[Value; 2]>,
}

/// Whether all reals in a value are finite; `None` if it has none. Declared data is not traversed.
fn finite(v: &Value) -> Option<bool> {
    let all = |vs: &[Value]| vs.iter().filter_map(finite).reduce(|a, b| a && b);
    match v {
        Value::Float(x) => Some(x.is_finite()),
        Value::F32(x) => Some(x.is_finite()),
        Value::Rev { primal, .. } => Some(primal.is_finite()),
        Value::Dual(_) => finite(&compare::primal(v)),
        Value::Array(a) => match a.buf() {
            Buf::F64(xs) => Some(xs.iter().all(|x| x.is_finite())),
            Buf::F32(xs) => Some(xs.iter().all(|x| x.is_finite())),
            Buf::Tuple(vs) | Buf::Record(_, vs) => all(vs),
            Buf::I64(_) | Buf::Bool(_) | Buf::Unit | Buf::Boxed(_) => None,
        },
        Value::Tuple(t) => all(&t.0),
        Value::Record(r) => all(&r.vals),
        Value::Unit
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Str(_)
        | Value::Data(_)
        | Value::Fun(_)
        | Value::Rep(_)
        | Value::Zero => None,
    }
}

/// The first real in a value that is not finite.
fn first_nonfinite(v: &Value) -> Option<f64> {
    match compare::primal(v) {
        Value::Float(x) => Some(x).filter(|x| !x.is_finite()),
        Value::F32(x) => Some(f64::from(x)).filter(|x| !x.is_finite()),
        Value::Array(a) => match a.buf() {
            Buf::F64(xs) => xs.iter().copied().find(|x| !x.is_finite()),
            Buf::F32(xs) => xs.iter().find(|x| !x.is_finite()).map(|x| f64::from(*x)),
            Buf::Tuple(vs) | Buf::Record(_, vs) => vs.iter().find_map(first_nonfinite),
            Buf::I64(_) | Buf::Bool(_) | Buf::Unit | Buf::Boxed(_) => None,
        },
        Value::Tuple(t) => t.0.iter().find_map(first_nonfinite),
        Value::Record(r) => r.vals.iter().find_map(first_nonfinite),
        _ => None,
    }
}

/// Whether a higher-order primitive is checked itself: derivatives are, because they may be taped. All others
/// are checked by the instructions that run inside.
fn derives(p: Prim) -> bool {
    matches!(
        p,
        Prim::Derivative(
            DerivativeFn::Grad
                | DerivativeFn::GradWith
                | DerivativeFn::ValueAndGrad
                | DerivativeFn::Jvp
                | DerivativeFn::Jacobian
                | DerivativeFn::Jacfwd
                | DerivativeFn::Jacrev
                | DerivativeFn::Hessian
                | DerivativeFn::Hvp
        )
    )
}

/// Whether an operation of the IR computes numbers. Others only move them, and checking their operands could
/// cost a pass over large arrays in each loop iteration.
fn computes(what: &LoweredOp) -> bool {
    match what {
        LoweredOp::Op(op) => matches!(
            op,
            Op::Un(..)
                | Op::Bin(..)
                | Op::Prim(..)
                | Op::Sum { .. }
                | Op::SumAll { .. }
                | Op::Dot(..)
                | Op::MatMul(..)
                | Op::Outer(..)
                | Op::Cumsum { .. }
        ),
        LoweredOp::Prim(..) | LoweredOp::Collective(..) => true,
        LoweredOp::Con(_) | LoweredOp::Buffer(..) | LoweredOp::Finish(_) | LoweredOp::Put => false,
    }
}

impl Machine {
    /// What to check after an instruction, if it computes and its operands are finite.
    pub(super) fn watch(&self, base: usize, ins: &I, code: &Code) -> Option<WatchedOp> {
        let (outs, args): (SmallVec<[R; 2]>, SmallVec<[R; 4]>) = match *ins {
            I::Bin(_, d, a, b) => ([d].into_iter().collect(), [a, b].into_iter().collect()),
            I::Un(_, d, a) => ([d].into_iter().collect(), [a].into_iter().collect()),
            I::Prim(d, p, first, hidden, n) => {
                let args: SmallVec<[R; 4]> = (first + hidden..first + hidden + n).collect();
                if !derives(p) && args.iter().any(|r| matches!(self.reg(base, *r), Value::Fun(_))) {
                    return None;
                }
                ([d].into_iter().collect(), args)
            }
            I::Lowered(k) => {
                let s = &code.lowered.steps[k as usize];
                if !computes(&s.what) {
                    return None;
                }
                (s.outs.iter().copied().collect(), s.args.iter().map(|a| a.r).collect())
            }
            _ => return None,
        };
        let mut given = SmallVec::new();
        let mut real = false;
        for r in args {
            let v = self.reg(base, r);
            match finite(v) {
                Some(false) => return None,
                Some(true) => real = true,
                None => {}
            }
            if matches!(v, Value::Float(_) | Value::F32(_) | Value::Int(_) | Value::Rev { .. }) {
                given.push(compare::primal(v));
            }
        }
        real.then_some(WatchedOp { outs, given })
    }

    /// Reports an error if a result is not finite.
    pub(super) fn check_finite(&self, base: usize, w: &WatchedOp) -> Res<()> {
        let Some(x) = w.outs.iter().find_map(|r| first_nonfinite(self.reg(base, *r))) else { return Ok(()) };
        let mut error = Error::new(codes::NON_FINITE, format!("{} appeared here", show::show(&Value::Float(x))));
        if !w.given.is_empty() {
            let given: Vec<String> = w.given.iter().map(show::show).collect();
            error = error.note(format!("it was made from {}", given.join(" and ")));
        }
        let lowered = self.frames.iter().rev().find(|f| f.code.lowered.native.is_some());
        if let Some(name) = lowered.and_then(|f| f.code.name) {
            let of = name.as_str().rsplit(' ').next().unwrap_or_default().to_owned();
            error = error.note(format!(
                "this was while a derivative of `{of}` was computed: the place is what is differentiated"
            ));
        }
        Err(error)
    }
}

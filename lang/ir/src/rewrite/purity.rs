//! What an operation may do besides computing its results: effects, errors, updates in place.

use crate::rows::{Effect, Fails};
use crate::{Collective, Conv, Function, Op, Stmt, Ty, Var};
use adl_prim::{Bin, GeneralFn, Prim, Un};

/// Whether an operation has no blocks and its results depend on its operands alone.
pub fn is_pure(op: &Op) -> bool {
    match op {
        Op::Prim(p, _) => !p.has_effect() && !matches!(p, Prim::General(GeneralFn::Assert | GeneralFn::Error)),
        op => op.row().effect == Effect::Pure,
    }
}

/// Whether evaluation always succeeds. Integer arithmetic may overflow, indices may be out of bounds, and shapes
/// may differ, so these may fail.
pub fn never_fails(func: &Function, op: &Op) -> bool {
    let real = |v: &Var| func.ty(*v).scalar().is_real();
    let scalar = |v: &Var| func.ty(*v).rank() == 0;
    match op {
        Op::Un(Un::Neg, a) => real(a),
        Op::Un(_, a) => real(a),
        Op::Bin(Bin::IntDiv | Bin::Rem, a, _) => real(a) && scalar(a),
        Op::Bin(_, a, b) => real(a) && real(b) && (scalar(a) || scalar(b)),
        Op::Cmp(_, a, b) => scalar(a) && scalar(b) && func.ty(*a) == func.ty(*b) && (real(a) || func.ty(*a).is_flat()),
        Op::Select(c, a, b) => scalar(c) && scalar(a) && scalar(b),
        Op::Convert(Conv::ToF64, _) => true,
        // An array of Ints, such as a shape.
        Op::ArrayLit { elems, .. } => !elems.is_empty() && elems.iter().all(|v| *func.ty(*v) == Ty::I64),
        op => op.row().fails == Fails::Never,
    }
}

/// Whether a statement has an effect besides its results. A call without results is made for its effect.
pub fn has_effect(s: &Stmt) -> bool {
    let call = matches!(s.op, Op::Call { .. }) && s.outs.is_empty() && s.lin_outs.is_empty();
    call || op_has_effect(&s.op)
}

/// Whether an operation, or one inside it, is output, input or a message, or may fail on purpose. It must then run once.
pub fn op_has_effect(op: &Op) -> bool {
    match op {
        Op::Prim(Prim::General(GeneralFn::Assert | GeneralFn::Error), _) => true,
        Op::Prim(..) | Op::Collective { .. } => op_has_output(op),
        op => op.blocks().into_iter().any(|b| b.stmts.iter().any(has_effect)),
    }
}

/// Whether an operation, or one inside it, is output, input or a message.
pub fn op_has_output(op: &Op) -> bool {
    match op {
        Op::Prim(p, _) => p.has_effect(),
        Op::Collective { kind, .. } => *kind != Collective::Fork,
        op => op.blocks().into_iter().any(|b| b.stmts.iter().any(|s| op_has_output(&s.op))),
    }
}

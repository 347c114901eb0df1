//! Recognises arrays of brackets: numbers that are moved, or computed by little arithmetic, under predicates that
//! compare indices.

use super::path::comprehension;
use crate::limits::tensor_bracket_array::ELEMENT;
use adl_ir::{Function, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::{Bin, Un};
use std::collections::HashSet;

/// An array whose elements are computed by known code from their indices.
pub(super) struct BracketArray {
    pub(super) array: Var,
    /// The loops that collect it, from the outermost inwards, and the position of each in the body of the previous one.
    pub(super) loops: Vec<Loop>,
    pub(super) next: Vec<usize>,
    /// The variable of the element.
    pub(super) result: Var,
    /// Whether the element is computed by arithmetic, and not only moved.
    pub(super) arithmetic: bool,
}

/// The arrays that may be pushed, judging by their own code.
pub(super) fn candidates(f: &Function) -> Vec<BracketArray> {
    let mut out = Vec::new();
    let mut work = vec![&f.body];
    while let Some(b) = work.pop() {
        for s in &b.stmts {
            if let Some((l, _)) = comprehension(&s.op) {
                out.extend((0..l.outs.len()).filter_map(|k| view(f, s, l, k)));
            }
            work.extend(s.op.blocks());
        }
    }
    out
}

fn view(func: &Function, stmt: &Stmt, l: &Loop, k: usize) -> Option<BracketArray> {
    let mut view = BracketArray {
        array: *stmt.outs.get(k)?,
        loops: Vec::new(),
        next: Vec::new(),
        result: *stmt.outs.get(k)?,
        arithmetic: false,
    };
    let (mut ir_loop, mut position, mut inside, mut bracket, mut left) = (l, k, HashSet::new(), false, ELEMENT);
    loop {
        let Trip::Count(n) = ir_loop.trip else { return None };
        if ir_loop.outs.get(position) != Some(&Out::Collect)
            || !ir_loop.lin_outs.is_empty()
            || ir_loop.reverse
            || inside.contains(&n)
        {
            return None;
        }
        inside.extend(super::narrow::bound_in(&ir_loop.body));
        let result = ir_loop.body.results[position];
        view.loops.push(ir_loop.clone());
        let inner = ir_loop.body.stmts.iter().position(|s| s.outs.contains(&result) && func.ty(result).rank() > 0);
        for (at, s) in ir_loop.body.stmts.iter().enumerate() {
            if Some(at) != inner {
                bracket |= matches!(s.op, Op::If(..));
                left = left.checked_sub(moves(func, s, &mut view.arithmetic)?)?;
            }
        }
        match inner {
            None if func.ty(result).rank() == 0 && func.ty(result).is_real() && bracket => {
                view.result = result;
                return Some(view);
            }
            None => return None,
            Some(at) => {
                let s = &ir_loop.body.stmts[at];
                view.next.push(at);
                (ir_loop, position) = (comprehension(&s.op)?.0, s.outs.iter().position(|o| *o == result)?);
            }
        }
    }
}

/// The size of a statement that moves numbers, or computes or compares indices, and cannot fail; `None` for others.
/// Sets `arithmetic` if it adds or multiplies real numbers.
fn moves(func: &Function, stmt: &Stmt, arithmetic: &mut bool) -> Option<usize> {
    let ints = |vs: &[Var]| vs.iter().all(|v| *func.ty(*v) == Ty::I64);
    match &stmt.op {
        Op::Lit(Lit::Str(_)) => None,
        Op::Lit(_) | Op::Not(_) => Some(1),
        Op::Zero(t) if t.is_flat() => Some(1),
        Op::Cmp(_, a, b) | Op::Bin(Bin::Add | Bin::Sub | Bin::Mul, a, b) if ints(&[*a, *b]) => Some(1),
        Op::Bin(Bin::Add | Bin::Sub | Bin::Mul, ..) | Op::Un(Un::Neg, _)
            if stmt.outs.iter().all(|o| func.ty(*o).rank() == 0 && func.ty(*o).is_real()) =>
        {
            *arithmetic = true;
            Some(1)
        }
        Op::Select(_, a, _) if func.ty(*a).rank() == 0 => Some(1),
        Op::If(_, a, b) if stmt.outs.iter().all(|o| func.ty(*o).is_flat()) => {
            let inner = a.stmts.iter().chain(&b.stmts).map(|s| moves(func, s, arithmetic)).sum::<Option<usize>>()?;
            Some(inner + 1)
        }
        _ => None,
    }
}

impl BracketArray {
    pub(super) fn rank(&self) -> usize {
        self.loops.len()
    }

    pub(super) fn trip(&self, axis: usize) -> Option<Var> {
        match self.loops[axis].trip {
            Trip::Count(n) => Some(n),
            Trip::While(_) => None,
        }
    }
}

//! Sums and products of matrices, written out number by number in the orders of `interp::ops::kernels`.
//!
//! `emit` emits an operation and returns its result; `zero` is the literal 0 of the type of the numbers.

use adl_ir::sum_order::PARTIAL;
use adl_ir::{Lit, Op, Var};
use adl_prim::Bin;

/// The sum of numbers, from 0: `PARTIAL` accumulators side by side, then these pairwise, then the remaining terms.
pub(crate) fn sum(terms: &[Var], zero: Lit, emit: &mut dyn FnMut(Op) -> Var) -> Var {
    let (whole, rest) = terms.split_at(terms.len() / PARTIAL * PARTIAL);
    let mut add = |p: Var, q: Var| emit(Op::Bin(Bin::Add, p, q));
    let mut total = None;
    if !whole.is_empty() {
        let mut lanes = whole[..PARTIAL].to_vec();
        for more in whole[PARTIAL..].chunks_exact(PARTIAL) {
            lanes.iter_mut().zip(more).for_each(|(l, x)| *l = add(*l, *x));
        }
        let pairs: Vec<Var> = (0..PARTIAL / 2).map(|k| add(lanes[k], lanes[k + PARTIAL / 2])).collect();
        let (p, q) = (add(pairs[0], pairs[1]), add(pairs[2], pairs[3]));
        total = Some(add(p, q));
    }
    let tail = rest.iter().copied().reduce(&mut add);
    let total = match (total, tail) {
        (Some(p), Some(q)) => add(p, q),
        (Some(p), None) | (None, Some(p)) => p,
        (None, None) => terms[0],
    };
    // A sum that starts with 0.0 is never -0.0.
    let zero = emit(Op::Lit(zero));
    emit(Op::Bin(Bin::Add, zero, total))
}

/// The inner product of two vectors, with accumulators side by side.
pub(crate) fn inner_product(x: &[Var], y: &[Var], zero: Lit, emit: &mut dyn FnMut(Op) -> Var) -> Var {
    let terms: Vec<Var> = x.iter().zip(y).map(|(x, y)| emit(Op::Bin(Bin::Mul, *x, *y))).collect();
    sum(&terms, zero, emit)
}

/// The inner product of a row and a column with one accumulator, as in products of two matrices.
pub(crate) fn term_by_term(row: &[Var], column: &[Var], zero: Lit, emit: &mut dyn FnMut(Op) -> Var) -> Var {
    let zero = emit(Op::Lit(zero));
    row.iter().zip(column).fold(zero, |total, (x, y)| {
        let term = emit(Op::Bin(Bin::Mul, *x, *y));
        emit(Op::Bin(Bin::Add, total, term))
    })
}

//! Contractions: sums of products of the elements of two matrices, either of which may be transposed.

use crate::array::{Array, Scalar};
use crate::error::{Check, Error, Fault, Res, unsupported};
use crate::fold::{KernelContext, TupleOperator};
use crate::gemm::{self, StridedOperand};
use crate::queue::Gpu;
use crate::wgsl::Emit;
use adl_ir::{Function, Program, Terms};
use adl_prim::Bin;

/// The least number of rows, columns and terms for which the tiled product kernel is worthwhile.
const LARGE: usize = 16;

/// `Σ l. a[i, l] · b[j, l]` for `n` rows of `a`, `m` rows of `b`, and `k` terms. `turned`: whether the first axis of
/// each operand runs over the terms. If `a` is a vector, so is the result.
///
/// # Errors
/// [`Error::Fault`] if an operand has too few elements.
pub fn contract(
    gpu: &Gpu,
    (a, b): (&Array, &Array),
    turned: [bool; 2],
    [n, m, k]: [usize; 3],
    terms: Terms,
) -> Res<Array> {
    let vector = a.shape.len() == 1;
    if a.scalar != Scalar::F64 || b.scalar != Scalar::F64 || a.shape.len() > 2 || b.shape.len() != 2 {
        return unsupported("a contraction of what are no matrices of Floats");
    }
    let n = if vector { 1 } else { n };
    let reaches = |x: &Array, turned: bool, rows: usize| match x.shape[..] {
        [l] => l >= k,
        [i, l] if turned => l >= rows && i >= k,
        [i, l] => i >= rows && l >= k,
        _ => false,
    };
    if n * m * k > 0 && !(reaches(a, turned[0], n) && reaches(b, turned[1], m)) {
        return Err(Error::Fault(Fault { what: Check::Bounds, span: Default::default() }));
    }
    let extents = if vector { vec![m] } else { vec![n, m] };
    let exact = |x: &Array, turned: bool, rows: usize| x.shape == if turned { [k, rows] } else { [rows, k] };
    if terms == Terms::Mul && n.min(m).min(k) >= LARGE && exact(a, turned[0], n) && exact(b, turned[1], m) {
        let side = |array, turned: bool, rows: usize| {
            if turned {
                StridedOperand { array, iteration: 0, rows: 1, terms: rows }
            } else {
                StridedOperand { array, iteration: 0, rows: k, terms: 1 }
            }
        };
        return gemm::tiles(gpu, 1, (side(a, turned[0], n), side(b, turned[1], m)), [n, m, k])?.reshaped(extents);
    }
    sums(gpu, (a, b), turned, [n, m, k], terms)?.reshaped(extents)
}

/// Each element as a separate sum.
fn sums(gpu: &Gpu, (a, b): (&Array, &Array), turned: [bool; 2], [n, m, k]: [usize; 3], terms: Terms) -> Res<Array> {
    let (program, function) = (Program::default(), Function::default());
    let op = TupleOperator {
        kinds: vec![Scalar::F64],
        combine: &|e, x, y| e.bin(Bin::Add, Scalar::F64, &x[0], &y[0]).map(|t| vec![t]),
        neutral: &|e| Ok(vec![e.zero(Scalar::F64)]),
        prepare: &|_| Ok(()),
    };
    let from = |e: &mut Emit<'_>, row: &str, l: &str| {
        let columns = e.word(m as u32);
        let mut number = |x: &Array, turned: bool, i: &str| -> Res<String> {
            let (slot, wide) = (e.slot(x, false)?, e.word(x.shape.last().map_or(1, |n| *n as u32)));
            let at = match (x.shape.len(), turned) {
                (1, _) => l.to_owned(),
                (_, true) => format!("{l} * {wide} + {i}"),
                (_, false) => format!("{i} * {wide} + {l}"),
            };
            Ok(e.define("c", &format!("a{slot}[{at}]")))
        };
        let (x, y) = (
            number(a, turned[0], &format!("({row} / {columns})"))?,
            number(b, turned[1], &format!("({row} % {columns})"))?,
        );
        let term = match terms {
            Terms::Mul => e.bin(Bin::Mul, Scalar::F64, &x, &y)?,
            Terms::Scale => e.bin(Bin::ScaleTangent, Scalar::F64, &x, &y)?,
            Terms::Scaled => e.bin(Bin::ScaleTangent, Scalar::F64, &y, &x)?,
        };
        Ok(vec![e.define("c", &term)])
    };
    let maker = KernelContext { gpu, program: &program, function: &function, env: &|_| None };
    // For a vector and a matrix: whether neighbouring elements in memory belong to the same sum or to neighbouring
    // sums.
    match if n == 1 {
        Some(turned[1])
    } else if m == 1 {
        Some(turned[0])
    } else {
        None
    } {
        Some(true) => maker.columns(&op, n * m, k, &from),
        Some(false) => return maker.sums_of_rows(Scalar::F64, n * m, k, &from),
        None => maker.reduce(&op, n * m, k, &from),
    }
    .map(|mut outs| outs.remove(0))
}

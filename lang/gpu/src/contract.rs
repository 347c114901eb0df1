//! Contractions: sums of products of the elements of two matrices, either of which may be transposed.

use crate::array::{Array, Scalar};
use crate::error::{Check, Error, FailedCheck, Res, unsupported};
use crate::fold::{KernelContext, TupleOperator};
use crate::gemm::{self, StridedOperand};
use crate::limits::contract::LARGE;
use crate::queue::Gpu;
use crate::wgsl::Emit;
use adl_ir::{Function, Program, Terms};
use adl_prim::Bin;

/// `Σ l. left[i, l] · right[j, l]` for `n` rows of `left`, `width` rows of `right`, and `depth` terms. `turned`: whether the first axis of
/// each operand runs over the terms. If `left` is a vector, so is the result.
///
/// # Errors
/// [`Error::Fault`] if an operand has too few elements.
pub fn contract(
    gpu: &Gpu,
    (left, right): (&Array, &Array),
    turned: [bool; 2],
    [n, width, depth]: [usize; 3],
    terms: Terms,
) -> Res<Array> {
    let vector = left.shape.len() == 1;
    if left.scalar != Scalar::F64 || right.scalar != Scalar::F64 || left.shape.len() > 2 || right.shape.len() != 2 {
        return unsupported("a contraction of what are no matrices of Floats");
    }
    let height = if vector { 1 } else { n };
    let reaches = |x: &Array, turned: bool, rows: usize| match x.shape[..] {
        [l] => l >= depth,
        [i, l] if turned => l >= rows && i >= depth,
        [i, l] => i >= rows && l >= depth,
        _ => false,
    };
    if height * width * depth > 0 && !(reaches(left, turned[0], height) && reaches(right, turned[1], width)) {
        return Err(Error::Fault(FailedCheck { what: Check::Bounds, span: Default::default() }));
    }
    let extents = if vector { vec![width] } else { vec![height, width] };
    let exact = |x: &Array, turned: bool, rows: usize| x.shape == if turned { [depth, rows] } else { [rows, depth] };
    if terms == Terms::Mul
        && height.min(width).min(depth) >= LARGE
        && exact(left, turned[0], height)
        && exact(right, turned[1], width)
    {
        let side = |array, turned: bool, rows: usize| {
            if turned {
                StridedOperand { array, iteration: 0, rows: 1, terms: rows }
            } else {
                StridedOperand { array, iteration: 0, rows: depth, terms: 1 }
            }
        };
        return gemm::tiles(
            gpu,
            1,
            (side(left, turned[0], height), side(right, turned[1], width)),
            [height, width, depth],
        )?
        .reshaped(extents);
    }
    sums(gpu, (left, right), turned, [height, width, depth], terms)?.reshaped(extents)
}

/// Each element as a separate sum.
fn sums(
    gpu: &Gpu,
    (left, right): (&Array, &Array),
    turned: [bool; 2],
    [height, width, depth]: [usize; 3],
    terms: Terms,
) -> Res<Array> {
    let (program, function) = (Program::default(), Function::default());
    let op = TupleOperator {
        kinds: vec![Scalar::F64],
        combine: &|e, x, y| e.bin(Bin::Add, Scalar::F64, &x[0], &y[0]).map(|t| vec![t]),
        neutral: &|e| Ok(vec![e.zero(Scalar::F64)]),
        prepare: &|_| Ok(()),
    };
    let from = |emit: &mut Emit<'_>, row: &str, l: &str| {
        let columns = emit.word(width as u32);
        let mut number = |x: &Array, turned: bool, i: &str| -> Res<String> {
            let (slot, wide) = (emit.slot(x, false)?, emit.word(x.shape.last().map_or(1, |n| *n as u32)));
            let at = match (x.shape.len(), turned) {
                (1, _) => l.to_owned(),
                (_, true) => format!("{l} * {wide} + {i}"),
                (_, false) => format!("{i} * {wide} + {l}"),
            };
            Ok(emit.define("c", &format!("a{slot}[{at}]")))
        };
        let (x, y) = (
            number(left, turned[0], &format!("({row} / {columns})"))?,
            number(right, turned[1], &format!("({row} % {columns})"))?,
        );
        let term = match terms {
            Terms::Mul => emit.bin(Bin::Mul, Scalar::F64, &x, &y)?,
            Terms::Scale => emit.bin(Bin::ScaleTangent, Scalar::F64, &x, &y)?,
            Terms::Scaled => emit.bin(Bin::ScaleTangent, Scalar::F64, &y, &x)?,
        };
        Ok(vec![emit.define("c", &term)])
    };
    let maker = KernelContext { gpu, program: &program, function: &function, env: &|_| None };
    // For a vector and a matrix: whether neighbouring elements in memory belong to the same sum or to neighbouring
    // sums.
    match if height == 1 {
        Some(turned[1])
    } else if width == 1 {
        Some(turned[0])
    } else {
        None
    } {
        Some(true) => maker.columns(&op, height * width, depth, &from),
        Some(false) => return maker.sums_of_rows(Scalar::F64, height * width, depth, &from),
        None => maker.reduce(&op, height * width, depth, &from),
    }
    .map(|mut outs| outs.remove(0))
}

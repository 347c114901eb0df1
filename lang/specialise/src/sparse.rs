//! Matrices that are zero off their diagonal, their products with numbers, and vectors with a single nonzero element.
//!
//! Such an array is computed like any other. In addition this table records its components, and operations that need
//! only these use them: the sum of a diagonal, the product of a row and a column. The array itself is then dead code.
//! So a gradient through `trace (diag x)` costs no more than one through `sum x`.

use crate::extents::ExtentTerm;
use crate::{Attempt, Spec, Val};
use adl_ir::{Block, Cmp, Op, Ty, Var};
use adl_prim::{ArrayFn, Bin};
use std::collections::HashMap;

/// Facts about the nonzero elements of arrays.
#[derive(Default)]
pub(crate) struct KnownZeros {
    /// Matrices that are a number off their diagonal.
    diagonals: HashMap<Var, DiagonalMatrix>,
    /// The position and value of a vector's only nonzero element.
    units: HashMap<Var, (Var, Var)>,
    /// The extents that comprehension indices run over.
    trip: HashMap<Var, Var>,
}

/// A diagonal matrix times a number. Off the diagonal stands the product of 0 and the number: -0 for a negative number,
/// and NaN for an infinite one.
#[derive(Clone, Copy)]
struct DiagonalMatrix {
    diagonal: Var,
    /// What the zeros were multiplied to, if the matrix was multiplied.
    elsewhere: Option<Var>,
}

impl Spec<'_> {
    /// The diagonal of a matrix that is zero, or zero times a number, elsewhere.
    pub(crate) fn diagonal(&self, m: Var) -> Option<Var> {
        self.sparse.diagonals.get(&m).map(|d| d.diagonal)
    }

    /// Whether zeros of an argument are known. A function of its own would not know them, so that a short one is inlined.
    pub(crate) fn known_zeros(&self, args: &[Val]) -> bool {
        let known = |v: &Var| self.sparse.diagonals.contains_key(v) || self.sparse.units.contains_key(v);
        args.iter().any(|a| matches!(a, Val::Leaf(v) if known(v)))
    }

    /// Records the diagonal of a matrix that is zero elsewhere.
    pub(crate) fn learn_diagonal(&mut self, m: Var, d: Var) {
        self.learn_diagonal_matrix(m, DiagonalMatrix { diagonal: d, elsewhere: None });
    }

    fn learn_diagonal_matrix(&mut self, m: Var, d: DiagonalMatrix) {
        self.sparse.diagonals.insert(m, d);
        (0..2).for_each(|k| self.sizes.learn(ExtentTerm::Axis(m, k), ExtentTerm::Axis(d.diagonal, 0)));
    }

    /// Records that an index runs over an extent.
    pub(crate) fn learn_index_extent(&mut self, index: Var, n: Var) {
        self.sparse.trip.insert(index, n);
    }

    /// The element at an index of a matrix known to be diagonal, if the index is known well enough.
    pub(crate) fn diagonal_element(&mut self, m: Var, at: &[Var]) -> Option<Var> {
        let (Some(DiagonalMatrix { diagonal, elsewhere }), [row, col]) = (self.sparse.diagonals.get(&m).copied(), at)
        else {
            return None;
        };
        let inside: Vec<bool> = [row, col]
            .into_iter()
            .map(|v| {
                let n = self.sparse.trip.get(v).copied()?;
                let n = self.known_extent(n);
                Some(self.sizes.equals(n, ExtentTerm::Axis(diagonal, 0)))
            })
            .map(|x| x == Some(true))
            .collect();
        if inside == [false, false] {
            return None;
        }
        let ty = self.b.ty(diagonal).elem();
        for v in [row, col].into_iter().zip(&inside).filter(|(_, inside)| !**inside).map(|(v, _)| *v) {
            self.within(v, diagonal);
        }
        let same = self.b.cmp(Cmp::Eq, *row, *col);
        self.b.open();
        let here = self.b.one(Op::Index { a: diagonal, at: vec![*row], shape: None }, ty.clone());
        let some = self.b.close(vec![here], Vec::new());
        self.b.open();
        let zero = elsewhere.unwrap_or_else(|| self.zero_of(&ty));
        let none = self.b.close(vec![zero], Vec::new());
        Some(self.b.one(Op::If(same, Box::new(some), Box::new(none)), ty))
    }

    /// Asserts that a position is inside an array.
    fn within(&mut self, i: Var, a: Var) {
        let (n, zero) = (self.b.dim(a, 0), self.int(0));
        let low = self.b.cmp(Cmp::Ge, i, zero);
        self.assert(low, "an index is out of bounds");
        let high = self.b.cmp(Cmp::Lt, i, n);
        self.assert(high, "an index is out of bounds");
    }

    /// The identity matrix.
    pub(crate) fn eye(&mut self, n: &Val) -> Attempt<Val> {
        let n = self.leaf(n)?;
        let m = self.b.prim(ArrayFn::Eye, &[n], Ty::F64.array(2));
        let one = self.lit(adl_ir::Lit::F64(1.0));
        let d = self.b.one(Op::Replicate { n, a: one }, Ty::F64.array(1));
        self.learn_diagonal(m, d);
        Ok(Val::Leaf(m))
    }

    /// Records that a diagonal matrix, multiplied or divided by a number, is diagonal.
    pub(crate) fn learn_scaled(&mut self, op: Bin, x: Var, y: Var, result: Var) {
        let of = |v: Var| self.sparse.diagonals.get(&v).copied();
        let number = |v: Var| self.b.ty(v).rank() == 0;
        let (d, by) = match (op, of(x), of(y)) {
            (Bin::Mul, None, Some(d)) if number(x) => (d, x),
            (Bin::Mul | Bin::Div, Some(d), None) if number(y) => (d, y),
            _ => return,
        };
        let zero = d.elsewhere.unwrap_or_else(|| self.zero_of(&self.b.ty(by)));
        let elsewhere = Some(self.b.bin(op, zero, by));
        let diagonal = self.b.bin(op, d.diagonal, by);
        self.learn_diagonal_matrix(result, DiagonalMatrix { diagonal, elsewhere });
    }

    /// Records that the transpose of a diagonal matrix is diagonal.
    pub(crate) fn learn_transpose(&mut self, m: Var, t: Var) {
        if let Some(d) = self.sparse.diagonals.get(&m) {
            self.learn_diagonal_matrix(t, *d);
        }
    }

    /// Records that a row of a diagonal matrix has a single nonzero element.
    pub(crate) fn learn_row(&mut self, m: Var, at: &[Var], row: Var) {
        let plain = self.sparse.diagonals.get(&m).filter(|d| d.elsewhere.is_none()).map(|d| d.diagonal);
        if let (Some(d), [i]) = (plain, at) {
            let ty = self.b.ty(d).elem();
            let v = self.b.one(Op::Index { a: d, at: vec![*i], shape: None }, ty);
            self.sparse.units.insert(row, (*i, v));
        }
    }

    /// The inner product of two vectors with a single nonzero element each.
    pub(crate) fn unit_product(&mut self, x: Var, y: Var) -> Option<Var> {
        let ((i, a), (j, right)) = (*self.sparse.units.get(&x)?, *self.sparse.units.get(&y)?);
        let ty = self.b.ty(a);
        let same = self.b.cmp(Cmp::Eq, i, j);
        self.b.open();
        let product = self.b.bin(Bin::Mul, a, right);
        let some: Block = self.b.close(vec![product], Vec::new());
        // 0 · inf is NaN.
        self.b.open();
        let zero = self.zero_of(&ty);
        let (below, beside) = (self.b.bin(Bin::Mul, a, zero), self.b.bin(Bin::Mul, zero, right));
        let sum = self.b.bin(Bin::Add, below, beside);
        let none = self.b.close(vec![sum], Vec::new());
        Some(self.b.one(Op::If(same, Box::new(some), Box::new(none)), ty))
    }
}

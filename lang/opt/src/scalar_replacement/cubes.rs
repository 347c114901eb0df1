//! Scalar replacement for arrays of small matrices, whose elements become scalars where an iteration reads a
//! matrix; and for reductions and scans that accumulate small arrays, which become loops that carry scalars. Runs
//! after all differentiation.

use super::facts::{BlockFacts, KnownExtent};
use super::matrices::ArraySize;
use super::{MOST, Scalars, Sums};
use adl_ir::{Block, Loop, Op, Out, Soac, SoacKind, Stmt, Trip, Ty, Var};

/// Largest length of an array of Ints that may be the shape of such an array.
const AXES: usize = 3;

impl Scalars<'_> {
    pub(super) fn is_cube(&self, v: Var) -> bool {
        matches!(self.f.ty(v), Ty::Array(e, 3) if self.is_float(e)) && !self.f.linear(v)
    }

    /// The rows and columns of the matrices in an array.
    fn matrix_extents(&self, a: Var) -> Option<(usize, usize)> {
        self.cube_size(a).filter(|(n, m)| n * m <= self.most && !self.updated_in_place.contains(&a))
    }

    /// Like [`Self::matrix_extents`], also for an array that may be updated in place, since updates keep the size.
    fn cube_size(&self, a: Var) -> Option<(usize, usize)> {
        let side = |axis: u32| self.extent_value(KnownExtent::Side(a, axis));
        side(1).zip(side(2))
    }

    fn set_cube(&mut self, a: Var, (rows, columns): (usize, usize)) {
        self.note(|l| l.extents.extend([(KnownExtent::Side(a, 1), rows), (KnownExtent::Side(a, 2), columns)]));
    }

    /// Records which arrays consist of small rows or matrices.
    pub(super) fn learn_matrix_arrays(&mut self, s: &Stmt) {
        let [var] = s.outs[..] else { return };
        match &s.op {
            Op::ArrayLit { elems, .. } if (2..=AXES).contains(&elems.len()) && *self.f.ty(elems[0]) == Ty::I64 => {
                self.note(|l| _ = l.lists.insert(var, elems.clone()));
            }
            // An array reshaped without `from` is not linear, and therefore materialised.
            Op::Reshape { to, from: None, .. } => {
                let Some(list) = self.find(|l| l.lists.get(to).cloned()) else { return };
                let size = |k: usize| list.get(k).and_then(|n| self.extent_of_some(*n)).and_then(super::small);
                match (size(1), size(2)) {
                    (Some(n), None) if self.is_matrix(var) => {
                        self.note(|l| _ = l.extents.insert(KnownExtent::RowLength(var), n));
                    }
                    (Some(n), Some(m)) if self.is_cube(var) => self.set_cube(var, (n, m)),
                    _ => {}
                }
            }
            Op::Slice { a, .. }
            | Op::Gather { a, .. }
            | Op::Reverse(a)
            | Op::Rotate { a, .. }
            | Op::IndexSet { acc: a, .. }
                if self.is_cube(var) && self.is_cube(*a) =>
            {
                if let Some(size) = self.cube_size(*a) {
                    self.set_cube(var, size);
                }
            }
            _ => {}
        }
    }

    /// An extent that has this value in an array with elements: those of what a loop collects are 0 if it does not run.
    fn extent_of_some(&self, v: Var) -> Option<i64> {
        self.literal(v).or_else(|| self.find(|l| l.ints.unless_empty.get(&v).copied()))
    }

    /// Records the element sizes of arrays that all branches return. `known` are the layers of the arms.
    pub(super) fn learn_given(&mut self, s: &Stmt, known: &mut [BlockFacts]) {
        for (k, v) in s.outs.iter().enumerate().filter(|(_, v)| self.is_cube(**v)).collect::<Vec<_>>() {
            let mut sizes = Vec::new();
            for (b, layer) in s.op.blocks().into_iter().zip(&mut *known) {
                self.layers.push(std::mem::take(layer));
                sizes.push(self.cube_size(b.results[k]));
                *layer = self.layers.pop().unwrap_or_default();
            }
            if let Some(size) = sizes[0].filter(|_| sizes.iter().all(|n| *n == sizes[0])) {
                self.set_cube(*v, size);
            }
        }
    }

    /// The small arrays that a loop collects, at the end of its body: the collected array, and the size of its
    /// elements.
    pub(super) fn collected(&self, l: &Loop, carried: usize, outs: &[Var]) -> Vec<(Var, ArraySize)> {
        let results = l.body.results.iter().skip(carried).zip(&l.outs).zip(outs.iter().skip(carried));
        results.filter(|((_, o), _)| **o == Out::Collect).filter_map(|((r, _), v)| Some((*v, self.size(*r)?))).collect()
    }

    /// Records the element sizes of collected arrays.
    pub(super) fn learn_collected(&mut self, collected: Vec<(Var, ArraySize)>) {
        for (v, size) in collected {
            match size.columns() {
                0 => self.note(|l| _ = l.extents.insert(KnownExtent::RowLength(v), size.len)),
                columns => self.set_cube(v, (size.len / columns, columns)),
            }
        }
    }

    /// Records that a matrix is an element of such an array. Returns whether it is.
    pub(super) fn is_matrix_element(&mut self, v: Var, a: Var, i: Var) -> bool {
        let found = self.sums == Sums::Written && self.is_matrix(v) && self.matrix_extents(a).is_some();
        if found {
            self.note(|l| _ = l.matrix_elements.insert(v, (a, i)));
        }
        found
    }

    /// The size of an array, if it is known directly or because the array is an element of one with known element size.
    pub(super) fn size_of_row(&self, v: Var) -> Option<ArraySize> {
        let matrix_element = || {
            self.matrix_extents(self.find(|l| l.matrix_elements.get(&v).copied())?.0)
                .map(|(n, m)| ArraySize::matrix(n, m))
        };
        self.size(v).or_else(matrix_element)
    }

    /// Reads the scalars of a matrix that is an element of such an array. Returns the number of columns and the
    /// scalars.
    pub(super) fn matrix_element(&mut self, v: Var, like: &Stmt, out: &mut Vec<Stmt>) -> Option<(usize, Vec<Var>)> {
        let (a, i) = self.find(|l| l.matrix_elements.get(&v).copied())?;
        let (rows, columns) = self.matrix_extents(a)?;
        let mut elems = Vec::with_capacity(rows * columns);
        for k in 0..rows * columns {
            let [r, c] = [k / columns, k % columns].map(|n| self.int(n as i64, like, out));
            elems.push(self.like(Op::Index { a, at: vec![i, r, c], shape: None }, a, like, out));
        }
        Some((columns, elems))
    }

    /// Rewrites a reduction or scan that accumulates a small array as a loop that carries its elements. Returns
    /// whether it was rewritten.
    pub(super) fn accumulated(&mut self, stmt: &Stmt, soac: &Soac, out: &mut Vec<Stmt>) -> bool {
        if self.sums != Sums::Written || !stmt.lin_outs.is_empty() || self.left < 8 * MOST {
            return false;
        }
        soac.neutral.iter().for_each(|v| self.open(*v, stmt, out));
        let sizes: Vec<_> = soac.neutral.iter().map(|v| self.size(*v)).collect();
        let known = sizes.iter().zip(&soac.neutral).all(|(size, v)| size.is_some() || self.f.ty(*v).rank() == 0);
        if !known || sizes.iter().all(Option::is_none) {
            return false;
        }
        let (before, left, changed, layer) = (out.len(), self.left, self.changed, self.layers.last().cloned());
        let n = self.one(Op::Dim(soac.arrays[0], 0), Ty::I64, stmt, out);
        let looped = self.as_loop(stmt, soac, n);
        self.looped(looped, out);
        // Whether all carried values are scalars now.
        let numbers = out
            .iter()
            .skip(before)
            .any(|s| matches!(&s.op, Op::Loop(l) if l.init.iter().all(|v| self.f.ty(*v).rank() == 0)));
        if !numbers {
            out.truncate(before);
            (self.left, self.changed) = (left, changed);
            if let (Some(l), Some(was)) = (self.layers.last_mut(), layer) {
                *l = was;
            }
        }
        numbers
    }

    /// A reduction or scan as a loop.
    fn as_loop(&mut self, stmt: &Stmt, soac: &Soac, count: Var) -> Stmt {
        let k = soac.neutral.len();
        let index = self.f.fresh(Ty::I64, false);
        // The copy has its own variables, so that a failed attempt leaves the original intact.
        let op = self.copy_all(&soac.op);
        let mut body = Block { params: [index].into_iter().chain(op.params.iter().copied()).collect(), ..op };
        let kept = match soac.kind {
            SoacKind::Reduce => Vec::new(),
            SoacKind::Scan => body.results.clone(),
            SoacKind::ScanExclusive => body.params[1..=k].to_vec(),
        };
        let outs = vec![Out::Collect; kept.len()];
        body.results.extend(kept);
        let mut all: Vec<Var> = match soac.kind {
            SoacKind::Reduce => Vec::new(),
            SoacKind::Scan | SoacKind::ScanExclusive => {
                soac.neutral.iter().map(|v| self.f.fresh(self.f.ty(*v).clone(), false)).collect()
            }
        };
        all.extend(&stmt.outs);
        all.push(self.f.fresh(Ty::I64, false));
        let ir_loop =
            Loop { init: soac.neutral.clone(), xs: soac.arrays.clone(), outs, ..Loop::new(Trip::Count(count), body) };
        Stmt { op: Op::Loop(Box::new(ir_loop)), outs: all, lin_outs: Vec::new(), span: stmt.span }
    }
}

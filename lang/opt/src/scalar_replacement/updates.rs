//! Additions to elements and rows of small matrices, by which cotangents of matrices are accumulated.

use super::Scalars;
use super::matrices::ArraySize;
use adl_ir::{Op, Stmt, Var};
use adl_prim::Bin;

impl Scalars<'_> {
    /// The columns and elements of a small matrix in which an element, a row or several rows are added to or replaced.
    /// A symbolic zero becomes zeros of the shape that the statement states.
    pub(super) fn updated(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) -> Option<(usize, Vec<Var>)> {
        let (acc, at, value, shape) = match &stmt.op {
            Op::IndexAdd { acc, at, v, shape } | Op::IndexSet { acc, at, v, shape } => (*acc, at.clone(), *v, *shape),
            Op::SliceAdd { acc, lo, v, shape, .. } => (*acc, vec![*lo], *v, *shape),
            _ => return None,
        };
        let (size, zeros) = match self.size(acc) {
            Some(size) => (size, false),
            None => (self.stated_size(acc, shape?)?, true),
        };
        let columns = size.columns();
        let places = at.iter().map(|i| usize::try_from(self.literal(*i)?).ok()).collect::<Option<Vec<usize>>>()?;
        let (start, added) = match (&places[..], self.size(value)) {
            ([i, j], None) if *j < columns && self.is_number(value) => (i.checked_mul(columns)? + j, vec![value]),
            ([i], Some(rows)) if rows.columns() == columns || rows.columns() == 0 && rows.len == columns => {
                (i.checked_mul(columns)?, self.numbers_of(value, rows, stmt, out))
            }
            _ => return None,
        };
        let mut elems = if zeros {
            vec![self.real(0.0, stmt.outs[0], stmt, out); size.len]
        } else {
            self.numbers_of(acc, size, stmt, out)
        };
        let set = matches!(stmt.op, Op::IndexSet { .. });
        for (old, new) in elems.get_mut(start..start.checked_add(added.len())?)?.iter_mut().zip(added) {
            *old = if set { new } else { self.like(Op::Bin(Bin::Add, *old, new), new, stmt, out) };
        }
        Some((columns, elems))
    }

    /// The size of a symbolic zero, if it is a small matrix of literal extents.
    fn stated_size(&self, array: Var, shape: Var) -> Option<ArraySize> {
        let stated = self.int_list(shape)?.into_iter().map(|n| usize::try_from(n).ok()).collect::<Option<Vec<_>>>()?;
        let [rows, columns] = stated[..] else { return None };
        let fits = self.is_symbolic_zero(array) && rows > 0 && columns > 0 && rows.checked_mul(columns)? <= self.most;
        fits.then(|| ArraySize::matrix(rows, columns))
    }
}

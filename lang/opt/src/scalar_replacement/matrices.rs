//! Scalar replacement for small matrices: each element of a Float matrix of known extents, with no more elements
//! than a small array, gets a variable of its own. Products, sums and transposition become arithmetic on these. The
//! order of additions is that of `interp::ops::kernels`.
//!
//! If the matrix itself is used, it is assembled from the elements, like a vector. Runs after all differentiation.

use super::facts::{ElemSource, KnownExtent};
use super::{Scalars, Sums};
use crate::written_sums;
use adl_ir::{Op, Stmt, Var};
use adl_prim::{ArrayFn, Bin, Prim};

/// The size of a small array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ArraySize {
    /// Number of elements.
    pub len: usize,
    /// Number of columns of a matrix; 0 for a vector.
    columns: usize,
}

impl ArraySize {
    pub fn matrix(rows: usize, columns: usize) -> ArraySize {
        ArraySize { len: rows * columns, columns }
    }

    /// Number of columns of a matrix; 0 for a vector.
    pub fn columns(self) -> usize {
        self.columns
    }
}

/// A matrix whose elements are scalars, row by row.
#[derive(Clone, Debug)]
pub(super) struct MatrixElems {
    columns: usize,
    elems: Vec<Var>,
}

impl MatrixElems {
    fn rows(&self) -> usize {
        self.elems.len() / self.columns
    }

    fn at(&self, i: usize, j: usize) -> Var {
        self.elems[i * self.columns + j]
    }
}

impl Scalars<'_> {
    fn grid(&self, a: Var) -> Option<MatrixElems> {
        self.find(|l| l.grids.get(&a).cloned())
    }

    /// The size of an array, if it is small and known.
    pub(super) fn size(&self, a: Var) -> Option<ArraySize> {
        if self.is_vector(a) {
            return Some(ArraySize { len: self.len(a)?, columns: 0 });
        }
        self.grid(a).map(|g| ArraySize { len: g.elems.len(), columns: g.columns })
    }

    /// Whether all elements of a small array of this size are available as scalars.
    pub(super) fn all_numbers(&self, a: Var, size: ArraySize) -> bool {
        size.columns > 0 || self.are_numbers(a, size.len)
    }

    /// The elements of a small array; reads those that have not been read.
    pub(super) fn numbers_of(&mut self, a: Var, size: ArraySize, like: &Stmt, out: &mut Vec<Stmt>) -> Vec<Var> {
        match self.grid(a) {
            Some(g) => g.elems,
            None => self.elements(a, size.len, like, out),
        }
    }

    /// Binds an array of this size to scalars.
    pub(super) fn bind_array(
        &mut self,
        array: Var,
        size: ArraySize,
        elems: Vec<Var>,
        like: &Stmt,
        out: &mut Vec<Stmt>,
    ) {
        if size.columns == 0 {
            return self.bind(array, elems, like, out);
        }
        let rows: Vec<Var> = elems
            .chunks(size.columns)
            .map(|row| {
                self.one(Op::ArrayLit { elems: row.to_vec(), shape: None }, self.f.ty(row[0]).array(1), like, out)
            })
            .collect();
        for (v, row) in rows.iter().zip(elems.chunks(size.columns)) {
            self.consists(*v, row.iter().map(|x| ElemSource::Is(*x)).collect());
        }
        out.push(Stmt {
            op: Op::ArrayLit { elems: rows, shape: None },
            outs: vec![array],
            lin_outs: Vec::new(),
            span: like.span,
        });
        self.note(|l| _ = l.grids.insert(array, MatrixElems { columns: size.columns, elems }));
        self.left = self.left.saturating_sub(1);
        self.changed = true;
    }

    /// Expands a statement on small matrices. Returns whether the statement is replaced.
    pub(super) fn on_matrices(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) -> bool {
        let result = stmt.outs[0];
        let mut operands = Vec::new();
        stmt.op.each_operand(&mut |a| operands.push(a));
        operands.into_iter().for_each(|a| self.open(a, stmt, out));
        if let Some(x) = self.read_of(&stmt.op) {
            self.note(|l| _ = l.names.insert(result, x));
            self.changed = true;
            return true;
        }
        if let Op::Prim(Prim::Array(ArrayFn::Eye), args) = &stmt.op {
            self.identity_of(result, &args.clone(), stmt, out);
            return false;
        }
        if let Op::ArrayLit { elems, .. } = &stmt.op {
            self.stacked(result, &elems.clone(), stmt, out);
            return false;
        }
        if let Some(row) = self.row_of(&stmt.op) {
            self.consists(result, row.into_iter().map(ElemSource::Is).collect());
            return false;
        }
        if let Some(x) = self.number_of(stmt, out) {
            self.note(|l| _ = l.names.insert(result, x));
            self.changed = true;
            return true;
        }
        let Some((columns, elems)) =
            self.product(stmt, out).or_else(|| self.made(stmt, out)).or_else(|| self.updated(stmt, out))
        else {
            return false;
        };
        self.bind_array(result, ArraySize { len: elems.len(), columns }, elems, stmt, out);
        true
    }

    /// The scalar result of an operation on small matrices.
    fn number_of(&mut self, s: &Stmt, out: &mut Vec<Stmt>) -> Option<Var> {
        match &s.op {
            Op::Dot(a, b) => {
                let (x, y) = (self.grid(*a)?, self.grid(*b)?);
                (x.columns == y.columns && x.elems.len() == y.elems.len())
                    .then(|| self.inner_product(&x.elems, &y.elems, s, out))
            }
            Op::SumAll { a, .. } => {
                let g = self.grid(*a).filter(|g| g.elems.len() < adl_ir::sum_order::PARTIAL)?;
                Some(self.added(&g.elems, s, out))
            }
            _ => None,
        }
    }

    /// The element that an operation reads at literal indices.
    fn read_of(&self, op: &Op) -> Option<Var> {
        let Op::Index { a, at, .. } = op else { return None };
        let (g, [i, j]) = (self.grid(*a)?, &at[..]) else { return None };
        let place = |v: Var, n: usize| usize::try_from(self.literal(v)?).ok().filter(|k| *k < n);
        Some(g.at(place(*i, g.rows())?, place(*j, g.columns)?))
    }

    /// The row that an operation reads at a literal index.
    fn row_of(&self, op: &Op) -> Option<Vec<Var>> {
        let Op::Index { a, at, .. } = op else { return None };
        let (g, [i]) = (self.grid(*a)?, &at[..]) else { return None };
        let i = usize::try_from(self.literal(*i)?).ok().filter(|i| *i < g.rows())?;
        Some((0..g.columns).map(|j| g.at(i, j)).collect())
    }

    /// Records the elements of a matrix built from small vectors.
    fn stacked(&mut self, v: Var, rows: &[Var], s: &Stmt, out: &mut Vec<Stmt>) {
        let Some(columns) = rows.first().filter(|r| self.is_vector(**r)).and_then(|r| self.len(*r)) else { return };
        if columns * rows.len() > self.most || rows.iter().any(|r| self.len(*r) != Some(columns)) {
            return;
        }
        let elems = rows.iter().flat_map(|r| self.elements(*r, columns, s, out)).collect();
        self.note(|l| _ = l.grids.insert(v, MatrixElems { columns, elems }));
    }

    /// Emits an inner product, with accumulators side by side.
    fn inner_product(&mut self, x: &[Var], y: &[Var], s: &Stmt, out: &mut Vec<Stmt>) -> Var {
        let (of, zero) = (x[0], crate::real(self.f.ty(x[0]).scalar(), 0.0));
        written_sums::inner_product(x, y, zero, &mut |op| self.like(op, of, s, out))
    }

    /// Emits an inner product with one accumulator.
    fn sum_in_order(&mut self, x: &[Var], y: &[Var], s: &Stmt, out: &mut Vec<Stmt>) -> Var {
        let of = s.outs[0];
        let zero = crate::real(self.f.ty(of).scalar(), 0.0);
        written_sums::term_by_term(x, y, zero, &mut |op| self.like(op, of, s, out))
    }

    /// Emits a matrix product or outer product. Returns the number of columns (0 for a vector) and the elements.
    fn product(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) -> Option<(usize, Vec<Var>)> {
        match &stmt.op {
            Op::Outer(a, b) if self.is_vector(*a) && self.is_vector(*b) => {
                let (n, m) = (self.len(*a)?, self.len(*b)?);
                if n * m > self.most {
                    return None;
                }
                let (x, y) = (self.elements(*a, n, stmt, out), self.elements(*b, m, stmt, out));
                let pairs = x.iter().flat_map(|x| y.iter().map(move |y| (*x, *y)));
                Some((m, pairs.map(|(x, y)| self.like(Op::Bin(Bin::Mul, x, y), x, stmt, out)).collect()))
            }
            Op::MatMul(a, b) => {
                let (left, right) = (self.size(*a)?, self.size(*b)?);
                let inner = if left.columns > 0 { left.columns } else { left.len };
                let columns = right.columns.max(1);
                if right.len != inner * columns
                    || left.columns + right.columns == 0
                    || left.len / inner * columns > self.most
                {
                    return None;
                }
                let (x, y) = (self.numbers_of(*a, left, stmt, out), self.numbers_of(*b, right, stmt, out));
                let mut made = Vec::new();
                for row in x.chunks(inner) {
                    for j in 0..columns {
                        let column: Vec<Var> = y.iter().skip(j).step_by(columns).copied().collect();
                        // A product with a single column is computed by inner products.
                        made.push(if columns == 1 {
                            self.inner_product(row, &column, stmt, out)
                        } else {
                            self.sum_in_order(row, &column, stmt, out)
                        });
                    }
                }
                Some((if left.columns > 0 { right.columns } else { 0 }, made))
            }
            _ => None,
        }
    }

    /// The columns and elements of the result of an operation that only moves rows of small matrices. A matrix that
    /// is flattened has no columns.
    fn moved_rows(&self, op: &Op) -> Option<(usize, Vec<Var>)> {
        match op {
            Op::Slice { a, lo, hi, .. } => {
                let g = self.grid(*a)?;
                let [lo, hi] = [lo, hi].map(|v| usize::try_from(self.literal(*v)?).ok());
                let rows = lo?.checked_mul(g.columns)?..hi?.checked_mul(g.columns)?;
                Some((g.columns, g.elems.get(rows).filter(|rows| !rows.is_empty())?.to_vec()))
            }
            Op::Reverse(a) => {
                let g = self.grid(*a)?;
                Some((g.columns, g.elems.chunks(g.columns).rev().flatten().copied().collect()))
            }
            Op::Concat { a, b, .. } => {
                let (x, y) = (self.grid(*a)?, self.grid(*b)?);
                let fits = x.columns == y.columns && x.elems.len() + y.elems.len() <= self.most;
                fits.then(|| (x.columns, [x.elems, y.elems].concat()))
            }
            Op::Reshape { a, to, .. } => {
                let g = self.grid(*a)?;
                (self.find(|l| l.shapes.get(to).copied())? == g.elems.len()).then_some((0, g.elems))
            }
            _ => None,
        }
    }

    /// The columns and elements of a small matrix that another operation makes.
    fn made(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) -> Option<(usize, Vec<Var>)> {
        if let Some(rows) = self.moved_rows(&stmt.op) {
            return Some(rows);
        }
        match &stmt.op {
            Op::Transpose(a) => {
                let g = self.grid(*a)?;
                Some((
                    g.rows(),
                    (0..g.columns).flat_map(|j| (0..g.rows()).map(move |i| (i, j))).map(|(i, j)| g.at(i, j)).collect(),
                ))
            }
            Op::Un(..) | Op::Bin(..) => self.elementwise(stmt, out),
            Op::Convert(..) if self.is_matrix(stmt.outs[0]) => self.elementwise(stmt, out),
            Op::Replicate { n, a } if self.is_vector(*a) => {
                let (n, m) = (super::small(self.literal(*n)?)?, self.len(*a)?);
                if n * m > self.most {
                    return None;
                }
                let row = self.elements(*a, m, stmt, out);
                Some((m, (0..n).flat_map(|_| row.clone()).collect()))
            }
            // A vector of another length would be an error.
            Op::Reshape { a, to, .. } if self.is_vector(*a) => {
                let [rows, columns] = self.int_list(*to)?[..] else { return None };
                let (n, columns) = (super::small(rows.checked_mul(columns)?)?, super::small(columns)?);
                (n <= self.most).then(|| (columns, self.elements(*a, n, stmt, out)))
            }
            Op::Sum { a, .. } => {
                let g = self.grid(*a)?;
                Some((0, (0..g.columns).map(|j| self.column_sum(&g, j, stmt, out)).collect()))
            }
            _ => None,
        }
    }

    /// Emits the sum of a column with one accumulator.
    fn column_sum(&mut self, g: &MatrixElems, j: usize, s: &Stmt, out: &mut Vec<Stmt>) -> Var {
        let zero = self.real(0.0, s.outs[0], s, out);
        (0..g.rows()).fold(zero, |sum, i| self.like(Op::Bin(Bin::Add, sum, g.at(i, j)), sum, s, out))
    }

    /// Records the elements of an identity matrix.
    fn identity_of(&mut self, v: Var, args: &[Var], s: &Stmt, out: &mut Vec<Stmt>) {
        let n = args
            .first()
            .and_then(|n| self.literal(*n))
            .and_then(|n| usize::try_from(n).ok())
            .filter(|n| (1..=self.most).contains(&(n * n)));
        let Some(n) = n else { return };
        let [zero, one] = [0.0, 1.0].map(|x| self.real(x, v, s, out));
        let elems = (0..n * n).map(|k| if k % (n + 1) == 0 { one } else { zero }).collect();
        self.note(|l| _ = l.grids.insert(v, MatrixElems { columns: n, elems }));
    }

    /// Reads the elements of a matrix whose extents are established by assertions.
    pub(super) fn open(&mut self, matrix: Var, like: &Stmt, out: &mut Vec<Stmt>) {
        if self.sums == Sums::Kept || !self.is_matrix(matrix) || self.grid(matrix).is_some() {
            return;
        }
        if let Some((columns, elems)) = self.matrix_element(matrix, like, out) {
            return self.note(|l| _ = l.grids.insert(matrix, MatrixElems { columns, elems }));
        }
        let known = |t: &Self| {
            Some((t.extent_value(KnownExtent::RowCount(matrix))?, t.extent_value(KnownExtent::RowLength(matrix))?))
        };
        if let Some(size) = known(self).filter(|(n, m)| n * m <= self.most) {
            self.read_elements(matrix, size, like, out);
        }
    }

    /// Reads all elements of a matrix of this size.
    fn read_elements(&mut self, matrix: Var, (rows, columns): (usize, usize), like: &Stmt, out: &mut Vec<Stmt>) {
        let mut elems = Vec::with_capacity(rows * columns);
        for k in 0..rows * columns {
            let at = [k / columns, k % columns].map(|i| self.int(i as i64, like, out)).to_vec();
            elems.push(self.like(Op::Index { a: matrix, at, shape: None }, matrix, like, out));
        }
        self.note(|l| _ = l.grids.insert(matrix, MatrixElems { columns, elems }));
    }

    /// Whether an operation reads a matrix whose elements are, or can be made, scalars.
    pub(super) fn reads_matrix(&self, op: &Op) -> bool {
        let is = |a: &Var| {
            self.is_matrix(*a)
                && (self.grid(*a).is_some()
                    || self.extent_value(KnownExtent::RowCount(*a)).is_some()
                    || self.find(|l| l.matrix_elements.get(a).copied()).is_some())
        };
        match op {
            Op::Index { a, .. } | Op::Dot(a, _) | Op::Sum { a, .. } | Op::SumAll { a, .. } | Op::Reshape { a, .. } => {
                is(a)
            }
            Op::MatMul(a, b) => is(a) || is(b),
            _ => false,
        }
    }

    /// The elements of elementwise arithmetic on small matrices. A tangent has the shape of its coefficient.
    fn elementwise(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) -> Option<(usize, Vec<Var>)> {
        let (mut size, mut fits) = (None, true);
        if let Op::Bin(Bin::ScaleTangent, coefficient, tangent) = stmt.op
            && let (Some(g), None, true) = (self.grid(coefficient), self.grid(tangent), self.is_matrix(tangent))
        {
            self.read_elements(tangent, (g.rows(), g.columns), stmt, out);
        }
        stmt.op.each_operand(&mut |v| {
            if !self.is_number(v) {
                let here = self.grid(v).map(|g| (g.columns, g.elems.len()));
                fits &= here.is_some() && size.is_none_or(|s| Some(s) == here);
                size = here;
            }
        });
        let (columns, len) = size.filter(|_| fits)?;
        let each = |k: usize| {
            let mut op = stmt.op.clone();
            op.map_operands(&mut |v| self.grid(v).map_or(v, |g| g.elems[k]));
            op
        };
        let ops: Vec<Op> = (0..len).map(each).collect();
        Some((columns, ops.into_iter().map(|op| self.like(op, stmt.outs[0], stmt, out)).collect()))
    }

    /// An extent of a small matrix.
    pub(super) fn side(&self, a: Var, axis: u32) -> Option<usize> {
        self.grid(a).map(|g| if axis == 0 { g.rows() } else { g.columns })
    }
}

//! Expands operations on small arrays into operations on their elements.

use super::facts::{ElemSource, KnownExtent};
use super::{MOST, Scalars, Sums};
use crate::written_sums;
use adl_ir::{Cmp, Op, Stmt, Ty, Var};
use adl_prim::Bin;

impl Scalars<'_> {
    /// Expands a statement, or records the elements of its result. Returns whether the statement is replaced.
    pub(super) fn expanded(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) -> bool {
        let ([v], true) = (&stmt.outs[..], stmt.lin_outs.is_empty() && self.left > 4 * MOST) else { return false };
        let var = *v;
        if self.f.linear(var) {
            return false;
        }
        if self.with_symbolic_zero(stmt, out) {
            return true;
        }
        // The derivative of a product consists of products. They are kept before J, so that every unzip plan adds
        // in one order.
        if self.sums == Sums::Written
            && (self.is_matrix(var) || self.reads_matrix(&stmt.op))
            && self.on_matrices(stmt, out)
        {
            return true;
        }
        if let Op::Index { a, at, .. } = &stmt.op
            && let [i] = at[..]
            && (self.len(var).is_none() && self.is_row(var, *a, i) || self.is_matrix_element(var, *a, i))
        {
            return false;
        }
        if let Some(moved) = self.moved(&stmt.op) {
            self.consists(var, moved);
            return false;
        }
        if let Some(x) = self.number(stmt, out) {
            self.note(|l| _ = l.names.insert(var, x));
            self.changed = true;
            return true;
        }
        match self
            .arithmetic(stmt, out)
            .or_else(|| self.changed(stmt, out))
            .or_else(|| self.replaced(stmt, out))
            .or_else(|| self.one_hot(stmt, out))
        {
            Some(elems) => self.bind(var, elems, stmt, out),
            None => return false,
        }
        true
    }

    /// Records that a vector is a row of a matrix with rows of known length. Returns whether it is.
    pub(super) fn is_row(&mut self, v: Var, a: Var, i: Var) -> bool {
        let width = self
            .extent_value(KnownExtent::RowLength(a))
            .filter(|_| !self.updated_in_place.contains(&a) && self.is_vector(v));
        let Some(n) = width else { return false };
        self.note(|l| {
            l.lens.insert(v, n);
            l.rows.insert(v, (a, i));
        });
        true
    }

    fn all(&self, a: Var, n: usize) -> Vec<ElemSource> {
        (0..n).map(|k| ElemSource::Of(a, k)).collect()
    }

    /// The elements of the result of an operation that only moves elements.
    fn moved(&self, op: &Op) -> Option<Vec<ElemSource>> {
        let size = |v: &Var| self.len(*v).filter(|_| self.is_vector(*v));
        let place = |v: &Var| usize::try_from(self.literal(*v)?).ok();
        let elems = match op {
            Op::ArrayLit { elems, .. } if elems.iter().all(|v| self.is_number(*v)) => {
                elems.iter().map(|v| ElemSource::Is(*v)).collect()
            }
            Op::Slice { a, lo, hi, .. } => {
                let (n, lo, hi) = (size(a)?, place(lo)?, place(hi)?);
                (lo <= hi && hi <= n).then(|| self.all(*a, n)[lo..hi].to_vec())?
            }
            Op::Gather { a, at, .. } => {
                let (n, places) = (size(a)?, self.int_list(*at)?);
                let all = self.all(*a, n);
                places.iter().map(|k| all.get(usize::try_from(*k).ok()?).copied()).collect::<Option<_>>()?
            }
            Op::Concat { a, b, .. } => [self.all(*a, size(a)?), self.all(*b, size(b)?)].concat(),
            Op::Reverse(a) => self.all(*a, size(a)?).into_iter().rev().collect(),
            Op::Broadcast { a, shape } if self.is_number(*a) => {
                vec![ElemSource::Is(*a); self.find(|l| l.shapes.get(shape).copied())?]
            }
            Op::Replicate { n, a } if self.is_number(*a) => vec![ElemSource::Is(*a); place(n).filter(|n| *n <= MOST)?],
            _ => return None,
        };
        (1..=MOST).contains(&elems.len()).then_some(elems)
    }

    /// The scalar result of an operation on small arrays.
    fn number(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) -> Option<Var> {
        match &stmt.op {
            Op::Index { a: array, at, .. } if self.is_vector(*array) => {
                let (n, index) = (self.len(*array)?, usize::try_from(self.literal(*at.first()?)?).ok()?);
                if index >= n {
                    return None;
                }
                match self.place(*array, index) {
                    ElemSource::Is(v) => Some(v),
                    ElemSource::Of(b, j) if b == *array && self.row(b).is_none() => {
                        let v = stmt.outs[0];
                        self.note(|l| _ = l.read.insert((b, j), v));
                        None
                    }
                    ElemSource::Of(..) => Some(self.element(*array, index, stmt, out)),
                }
            }
            Op::Dot(a, b) if self.is_vector(*a) && self.is_vector(*b) => {
                let n = self.len(*a).filter(|n| self.len(*b) == Some(*n))?;
                let (x, y) = (self.elements(*a, n, stmt, out), self.elements(*b, n, stmt, out));
                let products: Vec<Var> =
                    x.into_iter().zip(y).map(|(x, y)| self.like(Op::Bin(Bin::Mul, x, y), x, stmt, out)).collect();
                Some(self.added(&products, stmt, out))
            }
            Op::Sum { a, .. } | Op::SumAll { a, .. } if self.sums == Sums::Written && self.is_vector(*a) => {
                let n = self.len(*a)?;
                let all = self.elements(*a, n, stmt, out);
                Some(self.added(&all, stmt, out))
            }
            _ => None,
        }
    }

    /// Emits the sum of numbers.
    pub(super) fn added(&mut self, terms: &[Var], stmt: &Stmt, out: &mut Vec<Stmt>) -> Var {
        let (of, zero) = (terms[0], crate::real(self.f.ty(terms[0]).scalar(), 0.0));
        written_sums::sum(terms, zero, &mut |op| self.like(op, of, stmt, out))
    }

    /// Emits the elements of the result of elementwise arithmetic.
    fn arithmetic(&mut self, s: &Stmt, out: &mut Vec<Stmt>) -> Option<Vec<Var>> {
        let n = self.extent(&s.op)?;
        let mut made = Vec::with_capacity(n);
        for k in 0..n {
            let mut op = s.op.clone();
            op.map_operands(&mut |v| if self.is_vector(v) { self.element(v, k, s, out) } else { v });
            made.push(self.like(op, s.outs[0], s, out));
        }
        Some(made)
    }

    /// The elements of a row of an identity matrix.
    fn one_hot(&mut self, s: &Stmt, out: &mut Vec<Stmt>) -> Option<Vec<Var>> {
        let Op::Index { a, at, .. } = &s.op else { return None };
        let (n, [i]) = (self.identity(*a)?, &at[..]) else { return None };
        let i = usize::try_from(self.literal(*i)?).ok().filter(|i| *i < n)?;
        let [zero, one] = [0.0, 1.0].map(|x| self.real(x, s.outs[0], s, out));
        Some((0..n).map(|k| if k == i { one } else { zero }).collect())
    }

    /// Emits the elements of a small array in which the element at a loop's index is replaced.
    fn replaced(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) -> Option<Vec<Var>> {
        let Op::IndexSet { acc, at, v, .. } = &stmt.op else { return None };
        let (at, n) = (*at.first()?, self.len(*acc)?);
        let trip = self.find(|l| l.ints.trips.get(&at).copied())?;
        if !self.is_number(*v) || !self.is_vector(*acc) || trip > n as i64 || !self.are_numbers(*acc, n) {
            return None;
        }
        let old = self.elements(*acc, n, stmt, out);
        let element = |(k, x): (usize, Var)| {
            let k = self.int(k as i64, stmt, out);
            let here = self.one(Op::Cmp(Cmp::Eq, at, k), Ty::Bool, stmt, out);
            self.like(Op::Select(here, *v, x), x, stmt, out)
        };
        Some(old.into_iter().enumerate().map(element).collect())
    }

    /// Emits the elements of a small array after an addition to some elements or a replacement of some.
    fn changed(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) -> Option<Vec<Var>> {
        let place = |t: &Self, v: &Var| usize::try_from(t.literal(*v)?).ok();
        let (acc, at, value, shape) = match &stmt.op {
            Op::IndexAdd { acc, at, v, shape } | Op::IndexSet { acc, at, v, shape } if self.is_number(*v) => {
                (*acc, place(self, at.first()?)?, *v, *shape)
            }
            Op::SliceAdd { acc, lo, v, shape, .. } if self.is_vector(*v) => (*acc, place(self, lo)?, *v, *shape),
            _ => return None,
        };
        if !self.is_vector(acc) {
            return None;
        }
        let count = if self.is_number(value) { 1 } else { self.len(value)? };
        let symbolic_zero = self.find(|l| l.zeros.get(&acc).copied()).is_some();
        let n =
            if symbolic_zero { shape.and_then(|s| self.find(|l| l.shapes.get(&s).copied()))? } else { self.len(acc)? };
        if at + count > n || !symbolic_zero && !self.are_numbers(acc, n) {
            return None;
        }
        let mut elems =
            if symbolic_zero { vec![self.real(0.0, acc, stmt, out); n] } else { self.elements(acc, n, stmt, out) };
        for k in 0..count {
            let x = if self.is_number(value) { value } else { self.element(value, k, stmt, out) };
            let set = matches!(stmt.op, Op::IndexSet { .. });
            elems[at + k] = if set { x } else { self.like(Op::Bin(Bin::Add, elems[at + k], x), x, stmt, out) };
        }
        Some(elems)
    }

    /// Whether all elements of an array are available as scalars.
    pub(super) fn are_numbers(&self, a: Var, n: usize) -> bool {
        (0..n).all(|k| matches!(self.place(a, k), ElemSource::Is(_)))
    }

    /// The length of the result of elementwise arithmetic on Floats, if all operands have known lengths.
    fn extent(&self, op: &Op) -> Option<usize> {
        let operands: &[Var] = match op {
            Op::Un(_, a) => &[*a],
            Op::Bin(_, a, b) => &[*a, *b],
            Op::Select(c, a, b) if *self.f.ty(*c) == Ty::Bool && self.is_vector(*a) && self.is_vector(*b) => &[*a, *b],
            _ => return None,
        };
        let mut found = None;
        for v in operands {
            if self.is_number(*v) {
                continue;
            }
            let m = self.len(*v).filter(|_| self.is_vector(*v))?;
            if found.is_some_and(|n| n != m) {
                return None;
            }
            found = Some(m);
        }
        found
    }
}

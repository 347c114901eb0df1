//! Vectorisation over directions: one rule for each linear operation.

use super::Batching;
use adl_ir::{Op, Stmt, Ty, Var};
use adl_prim::Bin;
use adl_specialise::Unsupported;

impl Batching<'_> {
    /// The rank of a variable in the function of one direction.
    fn rank(&self, v: Var) -> u32 {
        self.src.vars.get(v.0 as usize).map_or_else(|| self.b.ty(v).rank(), |i| i.ty.rank())
    }

    /// A shape extended by the number of directions.
    fn with_directions(&mut self, shape: Var) -> Var {
        let k = self.b.one(Op::ArrayLit { elems: vec![self.k], shape: None }, Ty::shape());
        self.b.one(Op::Concat { a: shape, b: k, len: None, shape: None }, Ty::shape())
    }

    /// Extends the shape of `a` (and of a result like it) by the number of directions. Boxed arrays have the
    /// additional axis inside of the boxes.
    fn extend_shape(&mut self, a: Var, shape: &mut Option<Var>) {
        let flat = self.b.ty(a).scalar().is_flat();
        if let Some(s) = shape.as_mut().filter(|_| flat) {
            *s = self.with_directions(*s);
        }
    }

    /// The number of elements of an array of a shape, as a shape of rank 1.
    fn volume(&mut self, shape: Var, rank: u32) -> Var {
        let mut n = self.b.int(1);
        for axis in 0..rank {
            let at = self.b.int(i64::from(axis));
            let extent = self.b.one(Op::Index { a: shape, at: vec![at], shape: None }, Ty::I64);
            n = self.b.bin(Bin::Mul, n, extent);
        }
        n
    }

    fn ints(&mut self, ns: &[Var]) -> Var {
        self.b.one(Op::ArrayLit { elems: ns.to_vec(), shape: None }, Ty::shape())
    }

    /// A non-linear array in which each element is repeated for each direction.
    fn repeat_for_directions(&mut self, c: Var) -> Var {
        let ty = self.b.ty(c);
        let (rank, scalar) = (ty.rank(), ty.scalar().clone());
        let (flat, shape) = self.flat(c);
        let rows = self.b.one(Op::Replicate { n: self.k, a: flat }, scalar.array(2));
        let made = self.b.one(Op::Transpose(rows), scalar.array(2));
        if rank == 1 {
            return made;
        }
        let to = self.with_directions(shape);
        self.b.one(Op::Reshape { a: made, to, from: None }, ty.array(1))
    }

    /// A non-linear array flattened to a vector, and its shape.
    fn flat(&mut self, c: Var) -> (Var, Var) {
        let ty = self.b.ty(c);
        let shape = self.b.shape(c);
        if ty.rank() == 1 {
            return (c, shape);
        }
        let n = self.volume(shape, ty.rank());
        let to = self.ints(&[n]);
        (self.b.one(Op::Reshape { a: c, to, from: None }, ty.scalar().array(1)), shape)
    }

    /// Broadcasts the directions of a scalar to each element of an array of a shape.
    fn broadcast(&mut self, a: Var, shape: Var, rank: u32) -> Var {
        let ty = self.b.ty(a);
        let n = self.volume(shape, rank);
        let rows = self.b.lin(Op::Replicate { n, a }, ty.array(1));
        if rank == 1 {
            return rows;
        }
        let (to, from) = (self.with_directions(shape), self.ints(&[n, self.k]));
        self.b.lin(Op::Reshape { a: rows, to, from: Some(from) }, ty.array(rank))
    }

    /// The directions of an array as the rows of a matrix, one row for each element, and the number of rows.
    fn rows(&mut self, a: Var, shape: Var, rank: u32) -> (Var, Var) {
        let n = self.volume(shape, rank);
        if rank == 1 {
            return (a, n);
        }
        let (to, from) = (self.ints(&[n, self.k]), self.with_directions(shape));
        let ty = self.b.ty(a).scalar().array(2);
        (self.b.lin(Op::Reshape { a, to, from: Some(from) }, ty), n)
    }

    pub(super) fn leaf(&mut self, mut stmt: Stmt) -> Result<(), Unsupported> {
        match &mut stmt.op {
            Op::Zero(_) => {
                if let Some(v) = stmt.lin_outs.first() {
                    stmt.op = Op::Zero(self.b.ty(*v));
                }
            }
            Op::Bin(op @ (Bin::Mul | Bin::ScaleTangent), c, a) => stmt.op = self.scaled(*op, *c, *a),
            Op::Bin(Bin::Div, a, c) => (*c, *a) = self.factor(*c, *a),
            Op::Select(c, a, b) if self.rank(*c) > 0 => self.choice(c, [a, b]),
            Op::Broadcast { a, shape } => {
                let (a, shape) = (*a, *shape);
                return self.spread(stmt, a, shape);
            }
            Op::SumAll { a, shape: Some(shape) } => {
                let (a, n) = self.rows(*a, *shape, self.rank(*a));
                stmt.op = Op::Sum { a, n: Some(n) };
            }
            Op::Dot(a, b) => {
                let (c, x) = if self.linear(*b) { (*a, *b) } else { (*b, *a) };
                let rank = self.rank(c);
                let (c, shape) = self.flat(c);
                let (x, _) = self.rows(x, shape, rank);
                stmt.op = Op::MatMul(c, x);
            }
            Op::MatMul(a, b) if self.linear(*a) => {
                let (a, b) = (*a, *b);
                return self.product(stmt, a, b);
            }
            Op::Outer(a, b) if self.linear(*a) => {
                let (a, b) = (*a, *b);
                let turned = self.b.lin(Op::Outer(b, a), self.wide_of(&stmt));
                stmt.op = Op::Transpose(turned);
            }
            Op::SumAll { .. } => return Err(Unsupported::new("a sum of an array whose shape is not known", stmt.span)),
            other => self.shapes(other),
        }
        self.b.push(stmt);
        Ok(())
    }

    /// An elementwise `select`.
    fn choice(&mut self, c: &mut Var, parts: [&mut Var; 2]) {
        let (shape, rank) = (self.b.shape(*c), self.rank(*c));
        for v in parts {
            if self.rank(*v) == 0 {
                *v = self.broadcast(*v, shape, rank);
            }
        }
        *c = self.repeat_for_directions(*c);
    }

    /// Extends the shape operands of an operation.
    fn shapes(&mut self, op: &mut Op) {
        match op {
            Op::Index { a, shape, .. }
            | Op::Slice { a, shape, .. }
            | Op::Gather { a, shape, .. }
            | Op::Concat { a, shape, .. } => self.extend_shape(*a, shape),
            Op::IndexAdd { acc, shape, .. } | Op::IndexSet { acc, shape, .. } | Op::SliceAdd { acc, shape, .. } => {
                self.extend_shape(*acc, shape);
            }
            Op::GatherAdd { acc, shape, .. } => self.extend_shape(*acc, shape),
            Op::ArrayLit { elems, shape } => self.extend_shape(elems[0], shape),
            Op::Reshape { a, to, from } if self.b.ty(*a).scalar().is_flat() => {
                *to = self.with_directions(*to);
                self.extend_shape(*a, from);
            }
            // The remaining operations act on leading axes; the new axis is the last.
            _ => {}
        }
    }

    fn wide_of(&self, s: &Stmt) -> Ty {
        s.lin_outs.first().map_or(Ty::F64, |v| self.b.ty(*v))
    }

    fn scaled(&mut self, op: Bin, c: Var, a: Var) -> Op {
        // An outer product, unlike a broadcast, needs no shape of a factor that may be a symbolic zero.
        if self.rank(c) == 1 && self.rank(a) == 0 {
            return Op::Outer(c, a);
        }
        let (c, a) = self.factor(c, a);
        Op::Bin(op, c, a)
    }

    /// A coefficient and the linear operand that it scales, brought to one shape unless the coefficient is a scalar.
    fn factor(&mut self, c: Var, a: Var) -> (Var, Var) {
        let rank = self.rank(c);
        if rank == 0 {
            return (c, a);
        }
        let shape = self.b.shape(c);
        let a = if self.rank(a) == 0 { self.broadcast(a, shape, rank) } else { a };
        (self.repeat_for_directions(c), a)
    }

    fn spread(&mut self, mut stmt: Stmt, a: Var, shape: Var) -> Result<(), Unsupported> {
        let rank = self.rank(stmt.lin_outs.first().copied().unwrap_or(a));
        let ty = self.b.ty(a);
        let n = self.volume(shape, rank);
        if rank == 1 {
            stmt.op = Op::Replicate { n, a };
        } else {
            let rows = self.b.lin(Op::Replicate { n, a }, ty.array(1));
            let (to, from) = (self.with_directions(shape), self.ints(&[n, self.k]));
            stmt.op = Op::Reshape { a: rows, to, from: Some(from) };
        }
        self.b.push(stmt);
        Ok(())
    }

    /// A product whose left operand is linear is computed as the transpose of a product whose right operand is.
    fn product(&mut self, mut stmt: Stmt, a: Var, rhs: Var) -> Result<(), Unsupported> {
        let (ra, rb) = (self.rank(a), self.rank(rhs));
        let left = if ra == 2 {
            let ty = self.b.ty(a);
            self.b.lin(Op::Transpose(a), ty)
        } else {
            a
        };
        let right = if rb == 2 {
            let ty = self.b.ty(rhs);
            self.b.one(Op::Transpose(rhs), ty)
        } else {
            rhs
        };
        stmt.op = if ra == 2 && rb == 2 {
            let ty = self.wide_of(&stmt);
            Op::Transpose(self.b.lin(Op::MatMul(right, left), ty))
        } else {
            Op::MatMul(right, left)
        };
        self.b.push(stmt);
        Ok(())
    }
}

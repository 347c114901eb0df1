//! T of operations without blocks: one rule each.

use super::T;
use adl_ir::{Conv, Op, Stmt, Ty, Var};
use adl_prim::{Bin, Un};
use adl_specialise::Unsupported;

impl T<'_> {
    /// Propagates the cotangent of the statement's result to its linear operands.
    pub(crate) fn leaf(&mut self, stmt: &Stmt, ct: Var) -> Result<(), Unsupported> {
        match &stmt.op {
            Op::Zero(_) => {}
            Op::Un(_, a) => self.negated(*a, ct),
            Op::Bin(op, a, b) => self.arithmetic(*op, *a, *b, ct),
            Op::Select(c, a, b) => self.selected(*c, *a, *b, ct),
            Op::Convert(_, a) => self.converted(*a, ct),
            Op::Index { a, at, shape } => {
                self.into_accumulator(*a, &|acc| Op::IndexAdd { acc, at: at.clone(), v: ct, shape: *shape });
            }
            Op::Slice { a, lo, hi, shape } => {
                self.into_accumulator(*a, &|acc| Op::SliceAdd { acc, lo: *lo, hi: *hi, v: ct, shape: *shape });
            }
            Op::Gather { a, at, shape } => {
                self.into_accumulator(*a, &|acc| Op::GatherAdd { acc, at: *at, v: ct, shape: *shape });
            }
            Op::IndexAdd { acc, at, v, shape } => {
                self.added(*acc, *v, Op::Index { a: ct, at: at.clone(), shape: *shape }, ct);
            }
            Op::SliceAdd { acc, lo, hi, v, shape } => {
                self.added(*acc, *v, Op::Slice { a: ct, lo: *lo, hi: *hi, shape: *shape }, ct);
            }
            Op::GatherAdd { acc, at, v, shape } => {
                self.added(*acc, *v, Op::Gather { a: ct, at: *at, shape: *shape }, ct);
            }
            Op::IndexSet { acc, at, v, shape } => self.replaced(*acc, at, *v, *shape, ct),
            Op::Reverse(a) => self.add_result(*a, Op::Reverse(ct)),
            Op::Rotate { n, a } => self.rotated(*n, *a, ct),
            Op::Concat { a, b, len, shape } => self.parts(*a, *b, *len, *shape, ct),
            Op::Reshape { a, to, from } => {
                self.add_result(*a, Op::Reshape { a: ct, to: from.unwrap_or(*to), from: Some(*to) });
            }
            Op::Transpose(a) => self.add_result(*a, Op::Transpose(ct)),
            Op::Replicate { n, a } => self.summed(*a, *n, ct),
            Op::Sum { a, n: Some(n) } => self.add_result(*a, Op::Replicate { n: *n, a: ct }),
            Op::Broadcast { a, shape } => self.add_result(*a, Op::SumAll { a: ct, shape: Some(*shape) }),
            Op::SumAll { a, shape: Some(shape) } => self.add_result(*a, Op::Broadcast { a: ct, shape: *shape }),
            Op::Sum { n: None, .. } | Op::SumAll { shape: None, .. } => return no_shape(stmt),
            Op::ArrayLit { elems, shape } => self.stacked(elems, *shape, ct),
            Op::Cumsum { a, reverse } => self.add_result(*a, Op::Cumsum { a: ct, reverse: !reverse }),
            Op::Construct { data, tag, fields } => self.rebuilt(fields, *data, *tag, ct),
            Op::Dot(a, b) => self.dotted(*a, *b, ct),
            Op::MatMul(a, b) => self.matmul(*a, *b, ct),
            Op::Outer(a, b) if self.b.func.linear(*b) => self.add_result(*b, Op::MatMul(*a, ct)),
            Op::Outer(a, b) => self.add_result(*a, Op::MatMul(ct, *b)),
            Op::Lit(_)
            | Op::Cmp(..)
            | Op::Not(_)
            | Op::Prim(..)
            | Op::Dim(..)
            | Op::Shape(_)
            | Op::Size(_)
            | Op::Nonzero(_)
            | Op::Zeros(_)
            | Op::Contract(_)
            | Op::Soac(_)
            | Op::ReduceByIndex { .. } => {
                unreachable!("never linear")
            }
            Op::Drop(_)
            | Op::Dup(_)
            | Op::Destruct { .. }
            | Op::If(..)
            | Op::Switch(..)
            | Op::Loop(_)
            | Op::Collective { .. }
            | Op::Call { .. } => unreachable!("handled before"),
        }
        Ok(())
    }

    fn negated(&mut self, a: Var, ct: Var) {
        let c = self.b.un(Un::Neg, ct);
        let product = self.products.get(&ct).map(|(x, y, negative)| (*x, *y, !negative));
        self.products.extend(product.map(|p| (c, p)));
        self.add(a, c);
    }

    fn arithmetic(&mut self, op: Bin, a: Var, b: Var, ct: Var) {
        match op {
            Bin::Add | Bin::Sub => {
                self.add(a, ct);
                if op == Bin::Add { self.add(b, ct) } else { self.negated(b, ct) }
            }
            Bin::Div => {
                let c = self.b.bin(Bin::Div, ct, b);
                self.add(a, c);
            }
            _ => self.scaled(a, b, ct),
        }
    }

    /// Each operand of `select` gets the cotangent where it was selected, and zeros elsewhere.
    fn selected(&mut self, c: Var, a: Var, b: Var, ct: Var) {
        let ty = self.b.ty(ct);
        for (v, first) in [(a, true), (b, false)] {
            let zero = self.zero(ty.clone());
            let (x, y) = if first { (ct, zero) } else { (zero, ct) };
            let part = self.b.lin(Op::Select(c, x, y), ty.clone());
            self.add(v, part);
        }
    }

    fn converted(&mut self, a: Var, ct: Var) {
        let to = if *self.b.ty(a).scalar() == Ty::F32 { Conv::ToF32 } else { Conv::ToF64 };
        let c = self.b.convert(to, ct);
        self.add(a, c);
    }

    /// An update `acc` with `v` added somewhere: `part` reads the cotangent at that position.
    fn added(&mut self, acc: Var, v: Var, part: Op, ct: Var) {
        self.add_result(v, part);
        self.add(acc, ct);
    }

    fn replaced(&mut self, acc: Var, at: &[Var], v: Var, shape: Option<Var>, ct: Var) {
        self.add_result(v, Op::Index { a: ct, at: at.to_vec(), shape });
        let ty = self.b.ty(v);
        let zero = self.zero(ty);
        self.add_result(acc, Op::IndexSet { acc: ct, at: at.to_vec(), v: zero, shape });
    }

    fn rotated(&mut self, n: Var, a: Var, ct: Var) {
        let back = self.b.un(Un::Neg, n);
        self.add_result(a, Op::Rotate { n: back, a: ct });
    }

    fn stacked(&mut self, elems: &[Var], shape: Option<Var>, ct: Var) {
        for (k, e) in elems.iter().enumerate() {
            let at = self.b.int(k as i64);
            self.add_result(*e, Op::Index { a: ct, at: vec![at], shape });
        }
    }

    fn dotted(&mut self, a: Var, b: Var, ct: Var) {
        let (c, x) = self.ordered(a, b);
        let part = self.b.bin(Bin::ScaleTangent, c, ct);
        self.add(x, part);
    }

    /// Adds the result of an operation to the cotangent of `v`, which has the same type.
    fn add_result(&mut self, v: Var, op: Op) {
        let ty = self.b.ty(v);
        let product = match op {
            Op::MatMul(x, y) if [x, y].into_iter().all(|v| self.b.ty(v).rank() > 1) => Some((x, y, false)),
            _ => None,
        };
        let ct = self.b.lin(op, ty);
        self.products.extend(product.map(|p| (ct, p)));
        self.add(v, ct);
    }

    /// Transposes `replicate`: sums the cotangents of the copies. If the cotangent is a matrix product, the sum is
    /// moved into the product, which saves most of its multiplications.
    fn summed(&mut self, array: Var, n: Var, ct: Var) {
        let Some((x, y, negative)) = self.products.get(&ct).copied() else {
            return self.add_result(array, Op::Sum { a: ct, n: Some(n) });
        };
        let (linear, row, ty) = (self.b.func.linear(x), self.b.ty(x).elem(), self.b.ty(array));
        let sum = if linear {
            self.b.lin(Op::Sum { a: x, n: Some(n) }, row)
        } else {
            self.b.one(Op::Sum { a: x, n: None }, row)
        };
        let all = self.b.lin(Op::MatMul(sum, y), ty);
        if negative { self.negated(array, all) } else { self.add(array, all) }
    }

    /// Emits an operation that adds to the cotangent so far in place.
    fn into_accumulator(&mut self, v: Var, op: &dyn Fn(Var) -> Op) {
        let acc = self.accumulator(v);
        let ty = self.b.ty(v);
        let sum = self.b.lin(op(acc), ty);
        self.set(v, sum);
    }

    /// The non-linear operand, then the linear one.
    fn ordered(&self, a: Var, b: Var) -> (Var, Var) {
        if self.b.func.linear(b) { (a, b) } else { (b, a) }
    }

    /// Transposes `c a`. If a linear scalar was broadcast to an array, the cotangents of all products are summed.
    fn scaled(&mut self, c: Var, a: Var, ct: Var) {
        let (wide, narrow) = (self.b.ty(c).rank(), self.b.ty(a).rank());
        if wide == narrow || narrow > 0 {
            let part = self.b.bin(Bin::ScaleTangent, c, ct);
            self.add(a, part);
        } else {
            self.add_result(a, Op::Dot(c, ct));
        }
    }

    fn parts(&mut self, a: Var, b: Var, len: Option<Var>, shape: Option<Var>, ct: Var) {
        let (Some(len), Some(shape)) = (len, shape) else { return };
        let zero = self.b.int(0);
        let end = self.b.one(Op::Index { a: shape, at: vec![zero], shape: None }, Ty::I64);
        self.add_result(a, Op::Slice { a: ct, lo: zero, hi: len, shape: Some(shape) });
        self.add_result(b, Op::Slice { a: ct, lo: len, hi: end, shape: Some(shape) });
    }

    fn rebuilt(&mut self, fields: &[Var], data: adl_ir::DataId, tag: u32, ct: Var) {
        let tys: Vec<Ty> = fields.iter().map(|v| self.b.ty(*v)).collect();
        let (_, parts) = self.b.emit(Op::Destruct { a: ct, data, tag }, &[], &tys);
        for (v, c) in fields.iter().zip(parts) {
            self.add(*v, c);
        }
    }

    /// The right operand may have additional axes for directions. J has flattened those of a non-linear right
    /// operand to one axis.
    fn matmul(&mut self, left: Var, right: Var, ct: Var) {
        let (ra, rb) = (self.b.ty(left).rank(), self.b.ty(right).rank());
        if self.b.func.linear(right) {
            match (ra, rb) {
                (2, 1) => self.add_result(right, Op::MatMul(ct, left)),
                (2, _) => {
                    let ty = self.b.ty(left);
                    let t = self.b.one(Op::Transpose(left), ty);
                    self.add_result(right, Op::MatMul(t, ct));
                }
                _ => self.add_result(right, Op::Outer(left, ct)),
            }
        } else {
            match (ra, rb) {
                (2, 1) => self.add_result(left, Op::Outer(ct, right)),
                (2, _) => {
                    let ty = self.b.ty(right);
                    let t = self.b.one(Op::Transpose(right), ty);
                    self.add_result(left, Op::MatMul(ct, t));
                }
                _ => self.add_result(left, Op::MatMul(right, ct)),
            }
        }
    }
}

fn no_shape(s: &Stmt) -> Result<(), Unsupported> {
    Err(Unsupported::new("the transpose needs the shape of an array that is not known here", s.span))
}

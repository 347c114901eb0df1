//! T of operations without blocks: one rule each.

use super::T;
use adl_ir::{Conv, Op, Stmt, Ty, Var};
use adl_prim::{Bin, Un};
use adl_specialise::Unsupported;

impl T<'_> {
    /// Passes the cotangent of the statement's result on to its linear operands.
    pub(crate) fn leaf(&mut self, s: &Stmt, ct: Var) -> Result<(), Unsupported> {
        match &s.op {
            Op::Zero(_) => {}
            Op::Un(_, a) => {
                let c = self.b.un(Un::Neg, ct);
                self.add(*a, c);
            }
            Op::Bin(Bin::Add, a, b) => {
                self.add(*a, ct);
                self.add(*b, ct);
            }
            Op::Bin(Bin::Sub, a, b) => {
                self.add(*a, ct);
                let c = self.b.un(Un::Neg, ct);
                self.add(*b, c);
            }
            Op::Bin(Bin::Div, a, c) => {
                let c = self.b.bin(Bin::Div, ct, *c);
                self.add(*a, c);
            }
            Op::Bin(_, c, a) => self.scaled(*c, *a, ct),
            Op::Select(c, a, b) => {
                let ty = self.b.ty(ct);
                for (v, first) in [(*a, true), (*b, false)] {
                    let zero = self.zero(ty.clone());
                    let (x, y) = if first { (ct, zero) } else { (zero, ct) };
                    let part = self.b.lin(Op::Select(*c, x, y), ty.clone());
                    self.add(v, part);
                }
            }
            Op::Convert(_, a) => {
                let to = if *self.b.ty(*a).scalar() == Ty::F32 { Conv::ToF32 } else { Conv::ToF64 };
                let c = self.b.convert(to, ct);
                self.add(*a, c);
            }
            Op::Index { a, at, shape } => self.into_accumulator(*a, &|acc| Op::IndexAdd { acc, at: at.clone(), v: ct, shape: *shape }),
            Op::Slice { a, lo, hi, shape } => self.into_accumulator(*a, &|acc| Op::SliceAdd { acc, lo: *lo, hi: *hi, v: ct, shape: *shape }),
            Op::Gather { a, at, shape } => self.into_accumulator(*a, &|acc| Op::GatherAdd { acc, at: *at, v: ct, shape: *shape }),
            Op::IndexAdd { acc, at, v, shape } => {
                self.pass(*v, Op::Index { a: ct, at: at.clone(), shape: *shape });
                self.add(*acc, ct);
            }
            Op::IndexSet { acc, at, v, shape } => {
                self.pass(*v, Op::Index { a: ct, at: at.clone(), shape: *shape });
                let ty = self.b.ty(*v);
                let zero = self.zero(ty);
                self.pass(*acc, Op::IndexSet { acc: ct, at: at.clone(), v: zero, shape: *shape });
            }
            Op::SliceAdd { acc, lo, hi, v, shape } => {
                self.pass(*v, Op::Slice { a: ct, lo: *lo, hi: *hi, shape: *shape });
                self.add(*acc, ct);
            }
            Op::GatherAdd { acc, at, v, shape } => {
                self.pass(*v, Op::Gather { a: ct, at: *at, shape: *shape });
                self.add(*acc, ct);
            }
            Op::Reverse(a) => self.pass(*a, Op::Reverse(ct)),
            Op::Rotate { n, a } => {
                let back = self.b.un(Un::Neg, *n);
                self.pass(*a, Op::Rotate { n: back, a: ct });
            }
            Op::Concat { a, b, len, shape } => self.parts(*a, *b, *len, *shape, ct),
            Op::Reshape { a, to, from } => self.pass(*a, Op::Reshape { a: ct, to: from.unwrap_or(*to), from: Some(*to) }),
            Op::Transpose(a) => self.pass(*a, Op::Transpose(ct)),
            Op::Replicate { n, a } => self.pass(*a, Op::Sum { a: ct, n: Some(*n) }),
            Op::Sum { a, n } => {
                let Some(n) = n else { return no_shape(s) };
                self.pass(*a, Op::Replicate { n: *n, a: ct });
            }
            Op::Spread { a, shape } => self.pass(*a, Op::Total { a: ct, shape: Some(*shape) }),
            Op::Total { a, shape } => {
                let Some(shape) = shape else { return no_shape(s) };
                self.pass(*a, Op::Spread { a: ct, shape: *shape });
            }
            Op::Stack { elems, shape } => {
                for (k, e) in elems.iter().enumerate() {
                    let at = self.b.int(k as i64);
                    self.pass(*e, Op::Index { a: ct, at: vec![at], shape: *shape });
                }
            }
            Op::Cumsum { a, reverse } => self.pass(*a, Op::Cumsum { a: ct, reverse: !reverse }),
            Op::Con { data, tag, fields } => self.rebuilt(fields, *data, *tag, ct),
            Op::Dot(a, b) => {
                let (c, x) = self.ordered(*a, *b);
                let part = self.b.bin(Bin::Scale, c, ct);
                self.add(x, part);
            }
            Op::MatMul(a, b) => self.matmul(*a, *b, ct),
            Op::Outer(a, b) => {
                if self.b.func.linear(*b) {
                    self.pass(*b, Op::MatMul(*a, ct));
                } else {
                    self.pass(*a, Op::MatMul(ct, *b));
                }
            }
            Op::Lit(_) | Op::Cmp(..) | Op::Not(_) | Op::Prim(..) | Op::Dim(..) | Op::Shape(_) | Op::Count(_) | Op::Nonzero(_) | Op::Soac(_) | Op::ReduceByIndex { .. } => {
                unreachable!("never linear")
            }
            Op::Drop(_) | Op::Dup(_) | Op::Fields { .. } | Op::If(..) | Op::Switch(..) | Op::Loop(_) | Op::Call { .. } => unreachable!("handled before"),
        }
        Ok(())
    }

    /// Contributes the result of an operation, which has the type of `v`.
    fn pass(&mut self, v: Var, op: Op) {
        let ty = self.b.ty(v);
        let ct = self.b.lin(op, ty);
        self.add(v, ct);
    }

    /// An operation that adds to the cotangent so far.
    fn into_accumulator(&mut self, v: Var, op: &dyn Fn(Var) -> Op) {
        let acc = self.accumulator(v);
        let ty = self.b.ty(v);
        let sum = self.b.lin(op(acc), ty);
        self.set(v, sum);
    }

    /// The non-linear operand and the linear one.
    fn ordered(&self, a: Var, b: Var) -> (Var, Var) {
        if self.b.func.linear(b) { (a, b) } else { (b, a) }
    }

    /// `c a`: where a number met an array, all its products' cotangents meet in it again.
    fn scaled(&mut self, c: Var, a: Var, ct: Var) {
        let (wide, narrow) = (self.b.ty(c).rank(), self.b.ty(a).rank());
        if wide == narrow || narrow > 0 {
            let part = self.b.bin(Bin::Scale, c, ct);
            self.add(a, part);
        } else {
            self.pass(a, Op::Dot(c, ct));
        }
    }

    fn parts(&mut self, a: Var, b: Var, len: Option<Var>, shape: Option<Var>, ct: Var) {
        let (Some(len), Some(shape)) = (len, shape) else { return };
        let zero = self.b.int(0);
        let end = self.b.one(Op::Index { a: shape, at: vec![zero], shape: None }, Ty::I64);
        self.pass(a, Op::Slice { a: ct, lo: zero, hi: len, shape: Some(shape) });
        self.pass(b, Op::Slice { a: ct, lo: len, hi: end, shape: Some(shape) });
    }

    fn rebuilt(&mut self, fields: &[Var], data: adl_ir::DataId, tag: u32, ct: Var) {
        let tys: Vec<Ty> = fields.iter().map(|v| self.b.ty(*v)).collect();
        let (_, parts) = self.b.emit(Op::Fields { a: ct, data, tag }, &[], &tys);
        for (v, c) in fields.iter().zip(parts) {
            self.add(*v, c);
        }
    }

    fn matmul(&mut self, a: Var, b: Var, ct: Var) {
        let (ra, rb) = (self.b.ty(a).rank(), self.b.ty(b).rank());
        if self.b.func.linear(b) {
            match (ra, rb) {
                (2, 2) => {
                    let ty = self.b.ty(a);
                    let t = self.b.one(Op::Transpose(a), ty);
                    self.pass(b, Op::MatMul(t, ct));
                }
                (2, _) => self.pass(b, Op::MatMul(ct, a)),
                (_, 2) => self.pass(b, Op::Outer(a, ct)),
                _ => {
                    let part = self.b.bin(Bin::Scale, a, ct);
                    self.add(b, part);
                }
            }
        } else {
            match (ra, rb) {
                (2, 2) => {
                    let ty = self.b.ty(b);
                    let t = self.b.one(Op::Transpose(b), ty);
                    self.pass(a, Op::MatMul(ct, t));
                }
                (2, _) => self.pass(a, Op::Outer(ct, b)),
                (_, 2) => self.pass(a, Op::MatMul(b, ct)),
                _ => {
                    let part = self.b.bin(Bin::Scale, b, ct);
                    self.add(a, part);
                }
            }
        }
    }
}

fn no_shape(s: &Stmt) -> Result<(), Unsupported> {
    Err(Unsupported::new("the transpose needs the shape of an array that is not known here", s.span))
}

//! J of operations without blocks.

use super::{J, derivative, partials};
use crate::activity::Activity;
use adl_ir::{Block, Collective, Conv, Op, Stmt, Ty, Var};
use adl_prim::{Bin, Prim, ReductionFn, Un};
use adl_specialise::Unsupported;
use std::collections::HashSet;

/// Arrays whose shapes rules need: active operands of operations whose result does not determine the operand's shape.
pub(super) fn wanted_shapes(b: &Block, act: &Activity) -> HashSet<Var> {
    let mut out = HashSet::new();
    b.stmts.iter().for_each(|s| wanted_of(s, act, &mut out));
    out
}

/// The same for one statement and its nested blocks.
pub(super) fn wanted_of(s: &Stmt, act: &Activity, out: &mut HashSet<Var>) {
    let mut work = vec![s];
    while let Some(stmt) = work.pop() {
        match &stmt.op {
            Op::Index { a, shape: None, .. }
            | Op::Slice { a, shape: None, .. }
            | Op::Gather { a, shape: None, .. }
            | Op::SumAll { a, shape: None }
                if act.has(*a) =>
            {
                out.insert(*a);
            }
            Op::Reshape { a, from: None, .. } if act.has(*a) => {
                out.insert(*a);
            }
            _ => {}
        }
        work.extend(stmt.op.blocks().into_iter().flat_map(|b| &b.stmts));
    }
}

impl J<'_> {
    /// Emits the statement and, if it is active, its tangent.
    pub(super) fn leaf(&mut self, stmt: &Stmt) -> Result<(), Unsupported> {
        if let (Op::Prim(Prim::Reduction(ReductionFn::Cumprod), args), [y]) = (&stmt.op, stmt.outs.as_slice())
            && self.act.has(*y)
            && self.b.ty(*y).rank() == 1
        {
            return self.cumprod(stmt, args[0]);
        }
        self.b.push(stmt.clone());
        if let Op::Destruct { a, tag, .. } = &stmt.op {
            self.fields(stmt, *a, *tag);
            return Ok(());
        }
        if let Op::Collective { kind, args, at } = &stmt.op {
            self.sent(stmt, *kind, args, *at);
            return Ok(());
        }
        for y in stmt.outs.iter().filter(|y| self.act.has(**y)).copied().collect::<Vec<_>>() {
            let t = self.tangent_of(stmt, y)?;
            self.tan.insert(y, t);
        }
        Ok(())
    }

    /// A collective is linear: the tangents of active operands are sent together.
    fn sent(&mut self, s: &Stmt, kind: Collective, args: &[Var], at: Option<Var>) {
        let active: Vec<(Var, Var)> =
            args.iter().zip(&s.outs).filter(|(_, y)| self.act.has(**y)).map(|(a, y)| (*a, *y)).collect();
        if active.is_empty() {
            return;
        }
        self.decide(s.span, "collective", backwards(kind), "");
        let args: Vec<Var> = active.iter().map(|(a, _)| self.tangent(*a)).collect();
        let lin_outs: Vec<Var> = active.iter().map(|(_, y)| self.fresh_tangent(*y)).collect();
        let op = Op::Collective { kind, args, at };
        self.b.push(Stmt { outs: Vec::new(), lin_outs, op, span: s.span });
    }

    /// The tangents of a data value's fields are the fields of its tangent.
    fn fields(&mut self, s: &Stmt, a: Var, tag: u32) {
        let (Some(t), adl_ir::Ty::Data(data)) = (self.has(a), self.tangent_ty(a)) else { return };
        let mut lin_outs = Vec::new();
        for v in &s.outs {
            let ty = self.b.ty(*v);
            if self.ad.tangent_ty(self.p, &ty).is_some() {
                lin_outs.push(self.fresh_tangent(*v));
            }
        }
        self.b.push(Stmt { outs: Vec::new(), lin_outs, op: Op::Destruct { a: t, data, tag }, span: s.span });
    }

    /// Emits the tangent of an active result `out`, whose statement has been emitted.
    fn tangent_of(&mut self, stmt: &Stmt, out: Var) -> Result<Var, Unsupported> {
        let ty = self.tangent_ty(out);
        let op = match &stmt.op {
            Op::Un(u, a) => return Ok(self.unary(*u, *a, out)),
            Op::Bin(op, a, b) => return Ok(self.binary(*op, *a, *b, out)),
            Op::Dot(a, b) => return Ok(self.bilinear(out, *a, *b, &|a, b| Op::Dot(a, b))),
            Op::MatMul(a, b) => return Ok(self.wide_product(out, *a, *b, 2, &|a, b| Op::MatMul(a, b))),
            Op::Outer(a, b) => return Ok(self.wide_product(out, *a, *b, 1, &|a, b| Op::Outer(a, b))),
            Op::Prim(p, args) => return self.prim(*p, args, out, stmt.span),
            Op::Select(c, a, b) => {
                let (a, b) = (self.spread_tangent(*a, out), self.spread_tangent(*b, out));
                Op::Select(*c, a, b)
            }
            Op::Convert(Conv::ToI64, _) => Op::Zero(ty.clone()),
            Op::Convert(_, a) => {
                let to = if *ty.scalar() == adl_ir::Ty::F32 { Conv::ToF32 } else { Conv::ToF64 };
                Op::Convert(to, self.tangent(*a))
            }
            Op::Index { a, at, shape } if at.len() == 1 => {
                let shape = self.shape_or(*a, *shape);
                return self.tangent_at(*a, at[0], shape, ty);
            }
            Op::Index { a, at, shape } => {
                Op::Index { shape: Some(self.shape_or(*a, *shape)), at: at.clone(), a: self.tangent(*a) }
            }
            Op::Slice { a, lo, hi, shape } => {
                Op::Slice { shape: Some(self.shape_or(*a, *shape)), lo: *lo, hi: *hi, a: self.tangent(*a) }
            }
            Op::Gather { a, at, shape } => {
                self.decide(stmt.span, "gather", "additions at the same indices, a histogram by +", "");
                Op::Gather { shape: Some(self.shape_or(*a, *shape)), at: *at, a: self.tangent(*a) }
            }
            Op::Reshape { a, to, from } => {
                Op::Reshape { from: Some(self.shape_or(*a, *from)), to: *to, a: self.tangent(*a) }
            }
            Op::SumAll { a, shape } => Op::SumAll { shape: Some(self.shape_or(*a, *shape)), a: self.tangent(*a) },
            Op::IndexAdd { acc, at, v, shape } => Op::IndexAdd {
                shape: Some(self.shape_or(*acc, *shape)),
                acc: self.tangent(*acc),
                at: at.clone(),
                v: self.tangent(*v),
            },
            Op::IndexSet { acc, at, v, shape } => Op::IndexSet {
                shape: Some(self.shape_or(out, *shape)),
                acc: self.tangent(*acc),
                at: at.clone(),
                v: self.tangent(*v),
            },
            Op::SliceAdd { acc, lo, hi, v, shape } => Op::SliceAdd {
                shape: Some(self.shape_or(out, *shape)),
                acc: self.tangent(*acc),
                lo: *lo,
                hi: *hi,
                v: self.tangent(*v),
            },
            Op::GatherAdd { acc, at, v, shape } => {
                self.decide(stmt.span, "scatter", "a gather at the same indices", "");
                Op::GatherAdd {
                    shape: Some(self.shape_or(out, *shape)),
                    acc: self.tangent(*acc),
                    at: *at,
                    v: self.tangent(*v),
                }
            }
            Op::Reverse(a) => Op::Reverse(self.tangent(*a)),
            Op::Rotate { n, a } => Op::Rotate { n: *n, a: self.tangent(*a) },
            Op::Transpose(a) => Op::Transpose(self.tangent(*a)),
            Op::Replicate { n, a } => Op::Replicate { n: *n, a: self.tangent(*a) },
            Op::Broadcast { a, shape } => Op::Broadcast { a: self.tangent(*a), shape: *shape },
            Op::Cumsum { a, reverse } => {
                self.decide(stmt.span, "scan", "+: running sums from the other end (§5.3.1)", "");
                Op::Cumsum { a: self.tangent(*a), reverse: *reverse }
            }
            Op::Sum { a, n } => {
                self.decide(stmt.span, "reduce", "+: copies of the cotangent (§3.2.1)", "");
                let n = match n {
                    Some(n) => *n,
                    None => self.b.dim(*a, 0),
                };
                Op::Sum { a: self.tangent(*a), n: Some(n) }
            }
            Op::Concat { a, b, len, shape } => {
                let len = match len {
                    Some(n) => *n,
                    None => self.b.dim(*a, 0),
                };
                let shape = self.shape_or(out, *shape);
                Op::Concat { len: Some(len), shape: Some(shape), a: self.full_tangent(*a), b: self.full_tangent(*b) }
            }
            Op::ArrayLit { elems, shape } => {
                let shape = self.shape_or(out, *shape);
                Op::ArrayLit { elems: elems.iter().map(|e| self.full_tangent(*e)).collect(), shape: Some(shape) }
            }
            Op::Construct { tag, fields, .. } => {
                let adl_ir::Ty::Data(data) = ty else {
                    return Err(Unsupported::new("data without a tangent type", stmt.span));
                };
                Op::Construct { data, tag: *tag, fields: self.field_tangents(fields) }
            }
            Op::Lit(_)
            | Op::Zero(_)
            | Op::Cmp(..)
            | Op::Not(_)
            | Op::Dim(..)
            | Op::Shape(_)
            | Op::Size(_)
            | Op::Nonzero(_)
            | Op::Zeros(_)
            | Op::Dup(_)
            | Op::Drop(_) => Op::Zero(ty.clone()),
            Op::Contract(_) => {
                return Err(Unsupported::new(
                    "a contraction, which the optimiser makes when nothing will be differentiated any more",
                    stmt.span,
                ));
            }
            Op::Destruct { .. }
            | Op::If(..)
            | Op::Switch(..)
            | Op::Loop(_)
            | Op::Call { .. }
            | Op::Collective { .. }
            | Op::Soac(_)
            | Op::ReduceByIndex { .. } => unreachable!("handled before"),
        };
        Ok(self.b.lin(op, ty))
    }

    fn field_tangents(&mut self, fields: &[Var]) -> Vec<Var> {
        let mut out = Vec::new();
        for v in fields {
            let ty = self.b.ty(*v);
            if self.ad.tangent_ty(self.p, &ty).is_some() {
                out.push(self.tangent(*v));
            }
        }
        out
    }

    fn shape_or(&mut self, v: Var, known: Option<Var>) -> Var {
        match known {
            Some(s) => s,
            None => self.shape(v),
        }
    }

    /// The tangent of a variable. An array without one gets a materialised zero, for operations that need its shape,
    /// unless it is a symbolic zero itself and has none.
    fn full_tangent(&mut self, v: Var) -> Var {
        let ty = self.b.ty(v);
        let absent = self.symbolic_zeros.contains(&v);
        if self.has(v).is_some() || absent || ty.rank() == 0 || !ty.scalar().is_real() {
            return self.tangent(v);
        }
        let shape = self.shape(v);
        let zero = self.b.lin(Op::Zero(ty.scalar().clone()), ty.scalar().clone());
        self.b.lin(Op::Broadcast { a: zero, shape }, ty)
    }

    /// The tangent of `v`, broadcast to the rank of `y`.
    fn spread_tangent(&mut self, v: Var, y: Var) -> Var {
        let Some(t) = self.has(v) else {
            let ty = self.tangent_ty(y);
            return self.b.lin(Op::Zero(ty.clone()), ty);
        };
        self.spread(t, y)
    }

    /// A linear scalar, broadcast to the shape of `y` if that is an array.
    pub(super) fn spread(&mut self, t: Var, y: Var) -> Var {
        let ty = self.b.ty(y);
        if ty.rank() == self.b.ty(t).rank() {
            return t;
        }
        let shape = self.shape(y);
        self.b.lin(Op::Broadcast { a: t, shape }, ty)
    }

    fn unary(&mut self, op: Un, a: Var, y: Var) -> Var {
        let t = self.tangent(a);
        if op == Un::Neg {
            return self.b.un(Un::Neg, t);
        }
        let c = derivative(&mut self.b, op, a, y);
        self.b.bin(Bin::ScaleTangent, c, t)
    }

    fn binary(&mut self, op: Bin, lhs: Var, rhs: Var, out: Var) -> Var {
        let (ta, tb) = (self.has(lhs), self.has(rhs));
        match (op, ta, tb) {
            (Bin::Add | Bin::Sub, Some(x), Some(z)) => {
                let (x, z) = (self.spread(x, out), self.spread(z, out));
                return self.b.bin(op, x, z);
            }
            (Bin::Add | Bin::Sub, Some(x), None) | (Bin::Add, None, Some(x)) => return self.spread(x, out),
            (Bin::Sub, None, Some(x)) => {
                let x = self.spread(x, out);
                return self.b.un(Un::Neg, x);
            }
            _ => {}
        }
        let (ca, cb) = partials(&mut self.b, op, lhs, rhs, out);
        let left = ta.map(|t| self.partial(ca, t, out));
        let right = tb.map(|t| self.partial(cb, t, out));
        match (left, right) {
            (Some(l), Some(r)) => self.b.bin(Bin::Add, l, r),
            (Some(t), None) | (None, Some(t)) => t,
            (None, None) => self.tangent(out),
        }
    }

    /// `c t`, broadcast to the rank of `y`.
    pub(super) fn partial(&mut self, c: Var, t: Var, y: Var) -> Var {
        let scaled = self.b.bin(Bin::ScaleTangent, c, t);
        self.spread(scaled, y)
    }

    fn bilinear(&mut self, y: Var, a: Var, b: Var, op: &dyn Fn(Var, Var) -> Op) -> Var {
        let ty = self.tangent_ty(y);
        let left = self.has(a).map(|t| self.b.lin(op(t, b), ty.clone()));
        let right = self.has(b).map(|t| self.b.lin(op(a, t), ty.clone()));
        match (left, right) {
            (Some(l), Some(r)) => self.b.bin(Bin::Add, l, r),
            (Some(t), None) | (None, Some(t)) => t,
            (None, None) => self.tangent(y),
        }
    }
    /// A product whose right operand may have more than `most` axes; code for many directions has such products. In
    /// the tangent with respect to the left operand, the additional axes are flattened to one, because the
    /// transposed product sums over all of them.
    fn wide_product(&mut self, y: Var, lhs: Var, rhs: Var, most: u32, op: &dyn Fn(Var, Var) -> Op) -> Var {
        let (Some(tangent), true) = (self.has(lhs), self.b.ty(rhs).rank() > most) else {
            return self.bilinear(y, lhs, rhs, op);
        };
        let (kept, ty) = (self.b.ty(lhs).rank() + 1 - most, self.tangent_ty(y));
        let (full, right) = (self.shape(y), self.shape(rhs));
        let flat_right = self.flat_after(right, most - 1, self.b.ty(rhs).rank());
        let scalar = self.b.ty(rhs).scalar().clone();
        let columns = self.b.one(Op::Reshape { a: rhs, to: flat_right, from: Some(right) }, scalar.array(most));
        let flat = self.b.lin(op(tangent, columns), scalar.array(kept + 1));
        let from = self.flat_after(full, kept, self.b.ty(y).rank());
        let left = self.b.lin(Op::Reshape { a: flat, to: full, from: Some(from) }, ty.clone());
        match self.has(rhs) {
            Some(t) => {
                let right = self.b.lin(op(lhs, t), ty);
                self.b.bin(Bin::Add, left, right)
            }
            None => left,
        }
    }

    /// A shape of rank `rank` in which the axes after the first `kept` are flattened to one.
    fn flat_after(&mut self, shape: Var, kept: u32, rank: u32) -> Var {
        let mut extents = Vec::new();
        for axis in 0..rank {
            let at = self.b.int(i64::from(axis));
            let n = self.b.one(Op::Index { a: shape, at: vec![at], shape: None }, Ty::I64);
            match extents.last_mut() {
                Some(last) if axis > kept => *last = self.b.bin(Bin::Mul, *last, n),
                _ => extents.push(n),
            }
        }
        self.b.one(Op::ArrayLit { elems: extents, shape: None }, Ty::shape())
    }
}

/// What the transpose of a collective sends.
fn backwards(kind: Collective) -> &'static str {
    match kind {
        Collective::Spread => "spread: backwards one all-reduce of all cotangents",
        Collective::Total => "total: backwards nothing is sent",
        Collective::Mine => "mine: backwards one all-gather",
        Collective::Gather => "gather: backwards nothing is sent",
        Collective::ScatterSum => "scatter_sum: backwards one all-gather",
        Collective::GatherEach => "gather_each: backwards one reduce-scatter",
        Collective::Shift => "shift: backwards one shift to the other side",
        Collective::Exchange => "exchange: backwards one all-to-all",
        Collective::From => "from: backwards nothing is sent",
        Collective::Place => "place: backwards one broadcast",
        Collective::SpreadRows => "rows: backwards one all-reduce of all cotangents",
        Collective::TotalRows => "total of rows: backwards nothing is sent",
        Collective::Fork => "fork: the cotangents of one part of the chunks are summed by themselves",
    }
}

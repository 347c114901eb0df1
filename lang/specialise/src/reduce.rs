//! Reductions: sums, extrema, products; and sorting.

use crate::val::Val;
use crate::{Attempt, Spec};
use adl_ir::{Cmp, Lit, Op, Ty as IrTy, Var};
use adl_prim::scalar::norm_range;
use adl_prim::{Bin, Prim, ReductionFn, Un};

impl Spec<'_> {
    /// Primitives that reduce arrays.
    fn largest_or_smallest(&mut self, reduction: ReductionFn, args: &[Val]) -> Attempt<Val> {
        match &args[0] {
            Val::Leaf(x) if self.b.ty(*x).rank() == 1 && self.b.ty(*x).scalar().is_real() => {
                let t = self.b.ty(*x).elem();
                self.leaf_prim(reduction, args, t)
            }
            val => {
                let at = self.extreme(reduction == ReductionFn::Maximum, val)?;
                self.element(val, &[at])
            }
        }
    }

    pub(crate) fn reduce_prim(&mut self, reduction: ReductionFn, args: &[Val]) -> Attempt<Val> {
        let val = &args[0];
        match reduction {
            ReductionFn::Sum => self.sum(val),
            ReductionFn::Mean => {
                let (s, n) = (self.sum(val)?, self.extent(val, 0)?);
                self.divide_by_count(&s, n)
            }
            ReductionFn::Prod => self.prod(val),
            ReductionFn::Maximum | ReductionFn::Minimum => self.largest_or_smallest(reduction, args),
            ReductionFn::Argmax | ReductionFn::Argmin => {
                self.extreme(reduction == ReductionFn::Argmax, val).map(Val::Leaf)
            }
            ReductionFn::Argsort => self.sorted(val).map(Val::Leaf),
            ReductionFn::Any | ReductionFn::All => self.leaf_prim(reduction, args, IrTy::Bool),
            ReductionFn::Cumsum => {
                let x = self.leaf(val)?;
                let t = self.b.ty(x);
                Ok(Val::Leaf(self.b.one(Op::Cumsum { a: x, reverse: false }, t)))
            }
            ReductionFn::Cumprod => {
                let x = self.leaf(val)?;
                let t = self.b.ty(x);
                if t.rank() != 1 {
                    return Err(self.no("`cumprod` of a matrix"));
                }
                self.leaf_prim(reduction, args, t)
            }
            ReductionFn::Dot => self.dot(args),
            ReductionFn::Outer => {
                let (x, y) = (self.leaf(val)?, self.leaf(&args[1])?);
                let t = self.b.ty(x).scalar().array(2);
                Ok(Val::Leaf(self.b.one(Op::Outer(x, y), t)))
            }
            ReductionFn::MatMul => {
                let (x, y) = (self.leaf(val)?, self.leaf(&args[1])?);
                let (tx, ty) = (self.b.ty(x), self.b.ty(y));
                let rank = (tx.rank() + ty.rank()).saturating_sub(2);
                Ok(Val::Leaf(self.b.one(Op::MatMul(x, y), tx.scalar().array(rank))))
            }
            ReductionFn::Norm => self.norm(val),
        }
    }

    /// The sum along the first axis.
    pub(crate) fn sum(&mut self, v: &Val) -> Attempt<Val> {
        let elem = v.lifted_elem();
        if elem.leaves().iter().any(|x| !matches!(self.b.ty(*x).scalar(), IrTy::F64 | IrTy::F32 | IrTy::I64)) {
            return Err(self.no("a sum of data that are not all numbers"));
        }
        Ok(self.leafwise(&elem, &mut |s, a, t| s.b.one(Op::Sum { a, n: None }, t.elem())))
    }

    fn prod(&mut self, val: &Val) -> Attempt<Val> {
        let x = self.leaf(val)?;
        let t = self.b.ty(x);
        if t.rank() == 1 {
            return self.leaf_prim(ReductionFn::Prod, std::slice::from_ref(val), t.elem());
        }
        let one = match t.scalar() {
            IrTy::I64 => self.int(1),
            IrTy::F32 => self.lit(Lit::F32(1.0)),
            _ => self.lit(Lit::F64(1.0)),
        };
        let dims = (1..t.rank()).map(|k| self.b.dim(x, k)).collect();
        let (start, n) = (self.spread(one, dims), self.extent(val, 0)?);
        self.carry(n, false, &Val::Leaf(start), std::slice::from_ref(val), &mut |s, _, acc, e| {
            s.bin(Bin::Mul, acc, &e[0])
        })
    }

    /// The first position of the largest (or smallest) element. Compound elements are compared one after the other.
    fn extreme(&mut self, greatest: bool, val: &Val) -> Attempt<Var> {
        if let Val::Leaf(x) = val {
            return Ok(self.b.prim(
                if greatest { Prim::Reduction(ReductionFn::Argmax) } else { Prim::Reduction(ReductionFn::Argmin) },
                &[*x],
                IrTy::I64,
            ));
        }
        let (n, zero) = (self.extent(val, 0)?, self.int(0));
        // An empty array has no extremum: reading its first element reports that.
        self.element(val, &[zero])?;
        let op = if greatest { Cmp::Gt } else { Cmp::Lt };
        let best = self.carry(n, false, &Val::Leaf(zero), std::slice::from_ref(val), &mut |s, i, best, e| {
            let at = s.leaf(best)?;
            let so_far = s.element(val, &[at])?;
            let better = s.compare(op, &e[0], &so_far)?;
            let better = s.leaf(&better)?;
            Ok(Val::Leaf(s.b.one(Op::Select(better, i, at), IrTy::I64)))
        })?;
        self.leaf(&best)
    }

    /// The permutation that sorts an array. Compound elements are sorted by their last component first, as sorting is
    /// stable.
    pub(crate) fn sorted(&mut self, v: &Val) -> Attempt<Var> {
        if let Val::Leaf(x) = v {
            return Ok(self.b.prim(ReductionFn::Argsort, &[*x], IrTy::I64.array(1)));
        }
        let parts = v.leaves();
        if v.has_fun()
            || parts.is_empty()
            || parts.iter().any(|x| self.b.ty(*x).rank() != 1 || matches!(self.b.ty(*x).scalar(), IrTy::Data(_)))
        {
            return Err(self.no("an order of arrays or declared data"));
        }
        let mut at: Option<Var> = None;
        for x in parts.into_iter().rev() {
            let t = self.b.ty(x);
            let keys = at.map_or(x, |at| self.b.one(Op::Gather { a: x, at, shape: None }, t));
            let order = self.b.prim(ReductionFn::Argsort, &[keys], IrTy::I64.array(1));
            at = Some(
                at.map_or(order, |at| self.b.one(Op::Gather { a: at, at: order, shape: None }, IrTy::I64.array(1))),
            );
        }
        at.ok_or_else(|| self.no("an order of compound data"))
    }

    fn dot(&mut self, args: &[Val]) -> Attempt<Val> {
        let (x, y) = (self.leaf(&args[0])?, self.leaf(&args[1])?);
        if let Some(z) = self.unit_product(x, y) {
            return Ok(Val::Leaf(z));
        }
        let t = self.b.ty(x).elem();
        Ok(Val::Leaf(self.b.one(Op::Dot(x, y), t)))
    }

    /// The Euclidean norm. Its derivative at 0 is 0, so the square root is not taken there. The numbers are scaled
    /// before they are squared if their squares would overflow or underflow. The scale is a factor (usually 1) rather
    /// than a branch, because a branch would prevent the vectorisation of loops over rows.
    fn norm(&mut self, v: &Val) -> Attempt<Val> {
        let vector = self.leaf(v)?;
        let ty = self.b.ty(vector).scalar().clone();
        let plain = self.sum_of_squares(vector);
        let (range, up) = norm_range(ty == IrTy::F32);
        let (zero, one, up, down) = (
            self.b.real(0.0, vector),
            self.b.real(1.0, vector),
            self.b.real(up, vector),
            self.b.real(1.0 / up, vector),
        );
        let (least, most) = (self.b.real(range.start, vector), self.b.real(range.end, vector));
        let large = self.b.cmp(Cmp::Ge, plain, most);
        let small = self.b.cmp(Cmp::Lt, plain, least);
        let unit = self.b.one(Op::Select(large, down, one), ty.clone());
        let unit = self.b.one(Op::Select(small, up, unit), ty.clone());
        let scaled = self.b.bin(Bin::Mul, vector, unit);
        let s = self.sum_of_squares(scaled);
        let at_zero = self.b.cmp(Cmp::Eq, s, zero);
        let safe = self.b.one(Op::Select(at_zero, one, s), ty.clone());
        let r = self.b.un(Un::Sqrt, safe);
        let r = self.b.bin(Bin::Div, r, unit);
        Ok(Val::Leaf(self.b.one(Op::Select(at_zero, zero, r), ty)))
    }

    fn sum_of_squares(&mut self, x: Var) -> Var {
        let t = self.b.ty(x).scalar().clone();
        let squares = self.b.bin(Bin::Mul, x, x);
        self.b.one(Op::SumAll { a: squares, shape: None }, t)
    }

    /// A built-in whose arguments and result are single leaves.
    pub(crate) fn leaf_prim(&mut self, p: impl Into<Prim>, args: &[Val], ty: IrTy) -> Attempt<Val> {
        let xs = args.iter().map(|a| self.leaf(a)).collect::<Attempt<Vec<_>>>()?;
        Ok(Val::Leaf(self.b.prim(p, &xs, ty)))
    }
}

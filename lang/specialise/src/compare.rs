//! Comparisons of entire values.

use crate::val::Val;
use crate::{Attempt, Spec};
use adl_ir::{Cmp, Lit, Op, Ty as IrTy, Var};
use adl_prim::ReductionFn;

impl Spec<'_> {
    /// `a op b` on entire values.
    pub(crate) fn compare(&mut self, op: Cmp, a: &Val, b: &Val) -> Attempt<Val> {
        let result = match op {
            Cmp::Eq => self.equal(a, b)?,
            Cmp::Ne => {
                let e = self.equal(a, b)?;
                match self.scalars(a, b) {
                    Some((x, y)) => self.b.cmp(Cmp::Ne, x, y),
                    None => self.b.one(Op::Not(e), IrTy::Bool),
                }
            }
            Cmp::Lt | Cmp::Gt | Cmp::Le | Cmp::Ge => self.ordered(op, a, b)?,
        };
        Ok(Val::Leaf(result))
    }

    fn scalars(&self, a: &Val, b: &Val) -> Option<(Var, Var)> {
        match (a, b) {
            (Val::Leaf(x), Val::Leaf(y)) if self.b.ty(*x).rank() == 0 => Some((*x, *y)),
            _ => None,
        }
    }

    /// The conjunction of two Bools.
    fn both(&mut self, a: Var, b: Var) -> Var {
        let no = self.lit(Lit::Bool(false));
        self.b.one(Op::Select(a, b, no), IrTy::Bool)
    }

    fn parts<'v>(&self, a: &'v Val, b: &'v Val) -> Option<Vec<(&'v Val, &'v Val)>> {
        match (a, b) {
            (Val::Tuple(xs), Val::Tuple(ys)) => Some(xs.iter().zip(ys).collect()),
            (Val::Record(xs), Val::Record(ys)) => Some(xs.iter().map(|f| &f.1).zip(ys.iter().map(|f| &f.1)).collect()),
            _ => None,
        }
    }

    fn equal(&mut self, left: &Val, right: &Val) -> Attempt<Var> {
        if let Some((x, y)) = self.scalars(left, right) {
            return Ok(self.b.cmp(Cmp::Eq, x, y));
        }
        if let Some(parts) = self.parts(left, right) {
            let mut all = self.lit(Lit::Bool(true));
            for (x, y) in parts {
                let e = self.equal(x, y)?;
                all = self.both(all, e);
            }
            return Ok(all);
        }
        match (left, right) {
            (Val::Unit, Val::Unit) => Ok(self.lit(Lit::Bool(true))),
            (Val::Leaf(x), Val::Leaf(y)) => self.equal_arrays(*x, *y),
            (Val::Array(x), Val::Array(y)) => {
                let mut all = self.lit(Lit::Bool(true));
                for (x, y) in x.leaves().into_iter().zip(y.leaves()) {
                    let e = self.equal_arrays(x, y)?;
                    all = self.both(all, e);
                }
                Ok(all)
            }
            (Val::Data(x, d), Val::Data(y, _)) if self.b.ty(*x).rank() == 0 => self.equal_data(*x, *y, *d),
            _ => Err(self.no("a comparison of such values")),
        }
    }

    fn equal_arrays(&mut self, left: Var, right: Var) -> Attempt<Var> {
        let rank = self.b.ty(left).rank();
        if !self.b.ty(left).scalar().is_flat() {
            return Err(self.no("a comparison of arrays of texts or declared data"));
        }
        let mut same = self.lit(Lit::Bool(true));
        for k in 0..rank {
            let (m, n) = (self.b.dim(left, k), self.b.dim(right, k));
            let e = self.b.cmp(Cmp::Eq, m, n);
            same = self.both(same, e);
        }
        let v = self.branch_on(
            same,
            &mut |s| {
                let e = Val::Leaf(s.b.cmp(Cmp::Eq, left, right));
                let flat = s.flat(&e)?;
                let flat = s.leaf(&flat)?;
                Ok(Val::Leaf(s.b.prim(ReductionFn::All, &[flat], IrTy::Bool)))
            },
            &mut |s| Ok(Val::Leaf(s.lit(Lit::Bool(false)))),
        )?;
        self.leaf(&v)
    }

    /// Lexicographic order.
    fn ordered(&mut self, op: Cmp, a: &Val, right: &Val) -> Attempt<Var> {
        if let Some((x, y)) = self.scalars(a, right) {
            return Ok(self.b.cmp(op, x, y));
        }
        let Some(parts) = self.parts(a, right) else { return Err(self.no("an order of arrays or declared data")) };
        let strict = if matches!(op, Cmp::Lt | Cmp::Le) { Cmp::Lt } else { Cmp::Gt };
        let mut out = self.lit(Lit::Bool(matches!(op, Cmp::Le | Cmp::Ge)));
        for (k, (x, y)) in parts.iter().enumerate().rev() {
            if k + 1 == parts.len() {
                out = self.ordered(op, x, y)?;
                continue;
            }
            let (before, same) = (self.ordered(strict, x, y)?, self.equal(x, y)?);
            let later = self.both(same, out);
            let yes = self.lit(Lit::Bool(true));
            out = self.b.one(Op::Select(before, yes, later), IrTy::Bool);
        }
        Ok(out)
    }
}

//! Broadcasting: selections, elementwise comparisons and logic on operands of different rank, and loops over rows.

use crate::val::Val;
use crate::{Attempt, Spec};
use adl_ir::{Cmp, Lit, Op, Out, Ty as IrTy, Var};

impl Spec<'_> {
    /// Whether some operands are arrays of different rank.
    pub(crate) fn repeats(&self, vars: &[Var]) -> bool {
        let mut ranks = vars.iter().map(|v| self.b.ty(*v).rank()).filter(|r| *r > 0);
        let first = ranks.next();
        ranks.any(|r| Some(r) != first)
    }

    /// An elementwise operation on arrays of different rank. It is applied to each row of the operands of highest rank
    /// and to the others unchanged, so that nothing is copied in memory.
    pub(crate) fn over_rows(
        &mut self,
        vars: &[Var],
        body: &mut dyn FnMut(&mut Self, &[Val]) -> Attempt<Val>,
    ) -> Attempt<Val> {
        let most = vars.iter().map(|v| self.b.ty(*v).rank()).max().unwrap_or(0);
        let all: Vec<Val> = vars.iter().map(|v| Val::Leaf(*v)).collect();
        let is_high = |s: &Self, v: Var| s.b.ty(v).rank() == most;
        let high: Vec<Val> = vars.iter().filter(|v| is_high(self, **v)).map(|v| Val::Leaf(*v)).collect();
        let outer = self.dims(&high[0])?;
        for v in &all {
            let inner = if self.leaf_rank(v)? == 0 { Vec::new() } else { self.dims(v)? };
            for (m, n) in outer[outer.len() - inner.len()..].iter().zip(&inner) {
                self.same(*m, *n, "arrays of different shapes");
            }
        }
        let places: Vec<Option<usize>> =
            vars.iter().scan(0, |k, v| Some(is_high(self, *v).then(|| std::mem::replace(k, *k + 1)))).collect();
        let out = self.each(outer[0], &high, Out::Collect, &mut |s, _, rows| {
            let operands: Vec<Val> =
                places.iter().zip(&all).map(|(k, v)| k.map_or_else(|| v.clone(), |k| rows[k].clone())).collect();
            body(s, &operands)
        })?;
        let (made, high) = (self.leaf(&out)?, self.leaf(&high[0])?);
        self.learn_shape(made, high);
        Ok(out)
    }

    fn leaf_rank(&mut self, v: &Val) -> Attempt<u32> {
        let x = self.leaf(v)?;
        Ok(self.b.ty(x).rank())
    }

    /// An elementwise comparison, as an array of Bools.
    pub(crate) fn compare_each(&mut self, op: Cmp, a: &Val, b: &Val) -> Attempt<Val> {
        let (x, y) = (self.leaf(a)?, self.leaf(b)?);
        if self.repeats(&[x, y]) {
            return self.over_rows(&[x, y], &mut |s, v| s.compare_each(op, &v[0], &v[1]));
        }
        if self.b.ty(x).rank() + self.b.ty(y).rank() > 0 && !self.b.ty(x).scalar().is_flat() {
            return Err(self.no("a comparison of arrays of texts"));
        }
        let z = self.b.cmp(op, x, y);
        self.learn_shape(z, if self.b.ty(x).rank() > 0 { x } else { y });
        Ok(Val::Leaf(z))
    }

    /// Elementwise `and` or `or`.
    pub(crate) fn logic(&mut self, and: bool, a: &Val, b: &Val) -> Attempt<Val> {
        let (x, y) = (self.leaf(a)?, self.leaf(b)?);
        if self.repeats(&[x, y]) {
            return self.over_rows(&[x, y], &mut |s, v| s.logic(and, &v[0], &v[1]));
        }
        let (x, y) = if self.b.ty(x).rank() == 0 { (y, x) } else { (x, y) };
        let known = self.lit(Lit::Bool(!and));
        let t = self.b.ty(x);
        let z = self.b.one(if and { Op::Select(x, y, known) } else { Op::Select(x, known, y) }, t);
        self.learn_shape(z, x);
        Ok(Val::Leaf(z))
    }

    /// The elements selected by a mask.
    pub(crate) fn compress(&mut self, mask: &Val, v: &Val) -> Attempt<Val> {
        self.same_lengths(&[mask.clone(), v.clone()], "compress")?;
        let mask = self.leaf(mask)?;
        let at = self.b.one(Op::Nonzero(mask), IrTy::I64.array(1));
        Ok(self.gather(v, at))
    }

    /// `where cond left right`.
    pub(crate) fn select(&mut self, c: &Val, left: &Val, right: &Val) -> Attempt<Val> {
        let condition = self.leaf(c)?;
        if let (Val::Leaf(x), Val::Leaf(y)) = (left, right)
            && self.repeats(&[condition, *x, *y])
        {
            return self.over_rows(&[condition, *x, *y], &mut |s, v| s.select(&v[0], &v[1], &v[2]));
        }
        if self.b.ty(condition).rank() == 0 {
            let (a, b) = (self.like(left, right)?, self.like(right, left)?);
            return self.select_leaves(condition, &a, &b);
        }
        let (Val::Leaf(x), Val::Leaf(y)) = (left, right) else {
            return Err(self.no("`where` on an array of compound data"));
        };
        let t = self.b.ty(*x).scalar().array(self.b.ty(condition).rank());
        let z = self.b.one(Op::Select(condition, *x, *y), t);
        self.learn_shape(z, condition);
        Ok(Val::Leaf(z))
    }

    /// Broadcasts a number to the shape of the other operand, if that is an array.
    fn like(&mut self, a: &Val, other: &Val) -> Attempt<Val> {
        match (a, other) {
            (Val::Leaf(x), Val::Leaf(y)) if self.b.ty(*x).rank() == 0 && self.b.ty(*y).rank() > 0 => {
                let dims = self.dims(other)?;
                Ok(Val::Leaf(self.spread(*x, dims)))
            }
            _ => Ok(a.clone()),
        }
    }

    fn select_leaves(&mut self, c: Var, a: &Val, b: &Val) -> Attempt<Val> {
        let (xs, ys) = (a.leaves(), b.leaves());
        if a.has_fun() || b.has_fun() {
            return self.branch_on(c, &mut |_| Ok(a.clone()), &mut |_| Ok(b.clone()));
        }
        if self.layout_of_val(a)? != self.layout_of_val(b)? {
            return Err(self.no("branches whose values are laid out differently"));
        }
        let outs: Vec<Var> =
            xs.iter().zip(&ys).map(|(x, y)| self.b.one(Op::Select(c, *x, *y), self.b.ty(*x))).collect();
        Ok(a.with(&outs))
    }
}

//! Indexing: positions, slices, elements.

use crate::val::Val;
use crate::{Attempt, Spec};
use adl_ir::{Op, Out, Ty as IrTy, Var};
use adl_typing::core::{Expr, IndexArg};

/// One evaluated element of an index list.
#[derive(Clone, Copy)]
enum IndexElement {
    One(Var),
    Slice(Option<Var>, Option<Var>),
}

/// Removes the first axes of an array: the value of an element over the same leaves.
fn stripped(v: &Val, axes: usize) -> Val {
    (0..axes).fold(v.clone(), |v, _| v.lifted_elem())
}

impl Spec<'_> {
    pub(crate) fn index(&mut self, a: &Expr, args: &[IndexArg]) -> Attempt<Val> {
        let (array, args) = match self.read(a, args) {
            Some((v, k)) => (v, &args[k..]),
            None => (self.eval(a)?, args),
        };
        let mut at = Vec::new();
        for i in args {
            at.push(match i {
                IndexArg::At(e) => match self.int_of(e)? {
                    Some(i) => IndexElement::One(i),
                    None => return Ok(Val::Bottom),
                },
                IndexArg::Slice(lo, hi) => {
                    let mut ends = [None, None];
                    for (end, e) in ends.iter_mut().zip([lo, hi]) {
                        if let Some(e) = e {
                            match self.int_of(e)? {
                                Some(x) => *end = Some(x),
                                None => return Ok(Val::Bottom),
                            }
                        }
                    }
                    IndexElement::Slice(ends[0], ends[1])
                }
            });
        }
        if matches!(array, Val::Bottom) { Ok(array) } else { self.index_by(&array, &at) }
    }

    fn int_of(&mut self, e: &Expr) -> Attempt<Option<Var>> {
        match self.eval(e)? {
            Val::Bottom => Ok(None),
            v => self.leaf(&v).map(Some),
        }
    }

    fn index_by(&mut self, value: &Val, at: &[IndexElement]) -> Attempt<Val> {
        let mut lead = Vec::new();
        for a in at {
            match a {
                IndexElement::One(i) => lead.push(*i),
                IndexElement::Slice(..) => break,
            }
        }
        let rest = &at[lead.len()..];
        let v = if lead.is_empty() { value.clone() } else { self.element(value, &lead)? };
        let [IndexElement::Slice(lo, hi), more @ ..] = rest else { return Ok(v) };
        let part = self.slice_open(&v, *lo, *hi)?;
        match more {
            [] => Ok(part),
            [IndexElement::One(j), more @ ..] => {
                let turned = self.transpose(&part)?;
                let column = self.element(&turned, &[*j])?;
                let again: Vec<IndexElement> =
                    std::iter::once(IndexElement::Slice(None, None)).chain(more.iter().copied()).collect();
                if more.is_empty() { Ok(column) } else { self.index_by(&column, &again) }
            }
            [IndexElement::Slice(None, None)] => Ok(part),
            _ => {
                let n = self.extent(&part, 0)?;
                let more = more.to_vec();
                self.each(n, &[part], Out::Collect, &mut |s, _, e| s.index_by(&e[0], &more))
            }
        }
    }

    fn slice_open(&mut self, val: &Val, lo: Option<Var>, hi: Option<Var>) -> Attempt<Val> {
        if lo.is_none() && hi.is_none() {
            return Ok(val.clone());
        }
        let lo = match lo {
            Some(x) => x,
            None => self.int(0),
        };
        let hi = match hi {
            Some(x) => x,
            None => self.extent(val, 0)?,
        };
        Ok(self.slice(val, lo, hi))
    }

    /// `v[lo:hi]`.
    pub(crate) fn slice(&mut self, v: &Val, lo: Var, hi: Var) -> Val {
        self.leafwise(v, &mut |s, a, t| s.b.one(Op::Slice { a, lo, hi, shape: None }, t))
    }

    /// `v[i, j, ...]`.
    pub(crate) fn element(&mut self, value: &Val, at: &[Var]) -> Attempt<Val> {
        let mut ok = true;
        let out = stripped(value, at.len()).map(&mut |a| {
            let mut t = self.b.ty(a);
            ok &= t.rank() as usize >= at.len();
            (0..at.len()).for_each(|_| t = t.elem());
            if let Some(v) = self.diagonal_element(a, at) {
                return v;
            }
            let v = self.b.one(Op::Index { a, at: at.to_vec(), shape: None }, t);
            self.learn_row(a, at, v);
            v
        });
        if ok { Ok(out) } else { Err(self.no("an index into something that is no array")) }
    }

    /// Replaces each leaf by one of the same type.
    pub(crate) fn leafwise(&mut self, v: &Val, f: &mut dyn FnMut(&mut Self, Var, IrTy) -> Var) -> Val {
        v.map(&mut |a| {
            let t = self.b.ty(a);
            f(self, a, t)
        })
    }

    /// Exchanges the first two axes.
    pub(crate) fn transpose(&mut self, v: &Val) -> Attempt<Val> {
        if v.leaves().iter().any(|x| self.b.ty(*x).rank() < 2) {
            return Err(self.no("the transpose of an array of one axis"));
        }
        Ok(self.leafwise(v, &mut |s, a, t| {
            let m = s.b.one(Op::Transpose(a), t);
            s.learn_transpose(a, m);
            m
        }))
    }
}

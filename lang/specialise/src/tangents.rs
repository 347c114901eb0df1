//! Conversion between tangents in the language and tangents in the IR.
//!
//! In the language, the tangent of a value has the value's own type; its discrete leaves and constructors are those of
//! the primal. In the IR, tangents have no discrete leaves, and declared data has a separate tangent type
//! ([`crate::Transforms::tangent_ty`]). Recursive functions convert between the two.

use crate::call::ResultPromise;
use crate::key::KeyToken;
use crate::val::Val;
use crate::{Attempt, Layout, Spec};
use adl_ir::{DataId, Op, Out, Ty as IrTy, Var};
use adl_prim::Bin;

impl Spec<'_> {
    /// The type of a variable's tangent, if it has one.
    pub(crate) fn tangent_ty(&mut self, x: Var) -> Option<IrTy> {
        let t = self.b.ty(x);
        self.t.tangent_ty(self.p, &t)
    }

    /// Whether a variable has a tangent.
    pub(crate) fn has_tangent(&mut self, x: Var) -> bool {
        self.tangent_ty(x).is_some()
    }

    /// The data type of the elements of an array of declared data.
    fn elements_of(&self, x: Var) -> Option<DataId> {
        match self.b.ty(x) {
            IrTy::Array(e, _) => {
                if let IrTy::Data(d) = *e {
                    Some(d)
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    /// Applies `f` to each element of arrays of declared data, and returns the array of results, which are data too.
    fn each_element(
        &mut self,
        arrays: &[(Var, DataId)],
        f: &mut dyn FnMut(&mut Self, &[Var]) -> Attempt<Val>,
    ) -> Attempt<Var> {
        let vals: Vec<Val> = arrays.iter().map(|(x, d)| Val::Array(Box::new(Val::Data(*x, *d)))).collect();
        let n = self.extent(&vals[0], 0)?;
        let made = self.each(n, &vals, Out::Collect, &mut |s, _, elems| {
            let elems = elems.iter().map(|e| s.leaf(e)).collect::<Attempt<Vec<_>>>()?;
            f(s, &elems)
        })?;
        match made.leaves()[..] {
            [x] => Ok(x),
            _ => Err(self.no("an array of declared data that is laid out otherwise")),
        }
    }

    /// The IR tangents of the leaves of a language-level tangent.
    pub(crate) fn tangents_in(&mut self, v: &Val) -> Attempt<Vec<Var>> {
        let mut out = Vec::new();
        for x in v.leaves() {
            out.extend(self.tangent_in(x)?);
        }
        Ok(out)
    }

    pub(crate) fn tangent_in(&mut self, primal: Var) -> Attempt<Option<Var>> {
        let Some(ty) = self.tangent_ty(primal) else { return Ok(None) };
        if let (Some(d), IrTy::Array(to, _)) = (self.elements_of(primal), &ty) {
            let IrTy::Data(to) = **to else { return Ok(Some(primal)) };
            if d == to {
                return Ok(Some(primal));
            }
            let out = self.each_element(&[(primal, d)], &mut |s, e| match s.tangent_in(e[0])? {
                Some(t) => Ok(Val::Data(t, to)),
                None => Err(s.no("data without a tangent")),
            })?;
            return Ok(Some(out));
        }
        let (IrTy::Data(d), IrTy::Data(to)) = (self.b.ty(primal), &ty) else { return Ok(Some(primal)) };
        let to = *to;
        if d == to {
            return Ok(Some(primal));
        }
        let inputs = [Val::Data(primal, d)];
        let key = self.key(vec![KeyToken::What("tangent")], &inputs)?;
        let target =
            self.outline(key, "tangent", &inputs, ResultPromise::Layout(Layout::Data(to)), &mut |s, vals| {
                let x = s.leaf(&vals[0])?;
                s.switch_constructors(x, d, &mut |s, tag, fields| {
                    let mut parts = Vec::new();
                    for f in fields {
                        parts.extend(s.tangents_in(f)?);
                    }
                    Ok(Val::Data(s.b.one(Op::Construct { data: to, tag, fields: parts }, IrTy::Data(to)), to))
                })
            })?;
        let v = self.emit_call(&target, &inputs, None, false)?;
        self.leaf(&v).map(Some)
    }

    /// Builds a language-level tangent. `given` holds the IR tangents of the leaves that have one and are `active`;
    /// other tangents are zero.
    pub(crate) fn tangent_of(
        &mut self,
        primal: &Val,
        active: &dyn Fn(usize) -> bool,
        given: &mut dyn Iterator<Item = Var>,
    ) -> Attempt<Val> {
        let mut leaves = Vec::new();
        for (k, x) in primal.leaves().into_iter().enumerate() {
            leaves.push(match self.tangent_ty(x) {
                None => x,
                Some(t) => match given.next().filter(|_| active(k)) {
                    Some(t) => self.merge(x, t)?,
                    None => {
                        let zero = self.b.one(Op::Zero(t.clone()), t);
                        self.merge(x, zero)?
                    }
                },
            });
        }
        Ok(primal.with(&leaves))
    }

    /// Combines a tangent with its primal. Symbolic zeros become zeros of the primal's shape.
    pub(crate) fn merge(&mut self, x: Var, tangent: Var) -> Attempt<Var> {
        match (self.b.ty(x), self.b.ty(tangent)) {
            (IrTy::Data(d), IrTy::Data(from)) => self.merge_data(x, d, tangent, from),
            (IrTy::Array(..), IrTy::Array(from, _)) if self.elements_of(x).is_some() => {
                let (Some(d), IrTy::Data(from)) = (self.elements_of(x), &*from) else { return Ok(tangent) };
                let from = *from;
                self.each_element(&[(x, d), (tangent, from)], &mut |s, e| Ok(Val::Data(s.merge(e[0], e[1])?, d)))
            }
            (IrTy::Array(..), _) => {
                let zero = self.zero_like(x);
                Ok(self.b.bin(Bin::Add, zero, tangent))
            }
            _ => Ok(tangent),
        }
    }

    fn merge_data(&mut self, x: Var, id: DataId, t: Var, from: DataId) -> Attempt<Var> {
        let inputs = [Val::Data(x, id), Val::Data(t, from)];
        let key = self.key(vec![KeyToken::What("merge")], &inputs)?;
        let target = self.outline(key, "merge", &inputs, ResultPromise::Layout(Layout::Data(id)), &mut |s, vals| {
            let (x, t) = (s.leaf(&vals[0])?, s.leaf(&vals[1])?);
            s.switch_constructors(x, id, &mut |s, tag, fields| {
                let tys = s.p.data(from).cons[tag as usize].1.clone();
                let (given, _) = s.b.emit(Op::Destruct { a: t, data: from, tag }, &tys, &[]);
                let mut given = given.into_iter();
                let mut parts = Vec::new();
                for f in fields {
                    parts.push(s.tangent_of(f, &|_| true, &mut given)?);
                }
                s.con(id, tag, &parts)
            })
        })?;
        let v = self.emit_call(&target, &inputs, None, false)?;
        self.leaf(&v)
    }

    /// The zero tangent of a number, array or data. Discrete leaves keep their value.
    pub(crate) fn zero_tangent(&mut self, v: &Val) -> Attempt<Val> {
        self.tangent_of(v, &|_| false, &mut std::iter::empty())
    }

    /// Zeros with the shape of a number or array.
    pub(crate) fn zero_like(&mut self, x: Var) -> Var {
        let zero = self.b.real(0.0, x);
        if self.b.ty(x).rank() == 0 {
            return zero;
        }
        let t = self.b.ty(x);
        if t.rank() == 1 {
            let n = self.b.dim(x, 0);
            return self.b.one(Op::Replicate { n, a: zero }, t);
        }
        let shape = self.b.shape(x);
        self.b.one(Op::Broadcast { a: zero, shape }, t)
    }
}

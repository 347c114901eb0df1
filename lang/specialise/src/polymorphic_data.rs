//! Top-level data of polymorphic type, such as the `None` in `{rate = 0.1, bounds = None}`: each use instantiates it.

use crate::types::{apply, closed};
use crate::val::Val;
use crate::{Attempt, Spec};
use adl_ir::{DataId, Var};
use adl_typing::ty::{Ty, TyVar};
use std::collections::BTreeMap;

impl Spec<'_> {
    /// Instantiates a top-level value at the type of a use: `None` may be an option of any type.
    pub(crate) fn decided(&mut self, value: Val, ty: &Ty) -> Attempt<Val> {
        match (value, ty) {
            (Val::Tuple(vs), Ty::Tuple(ts)) => {
                Ok(Val::Tuple(vs.into_iter().zip(ts.iter()).map(|(v, t)| self.decided(v, t)).collect::<Attempt<_>>()?))
            }
            (Val::Record(fs), Ty::Record(r)) => {
                let at = |n| r.fields.iter().find(|f| f.0 == n).map(|f| &f.1);
                let fields = fs.into_iter().map(|(n, v)| {
                    Ok((
                        n,
                        match at(n) {
                            Some(t) => self.decided(v, t)?,
                            None => v,
                        },
                    ))
                });
                Ok(Val::Record(fields.collect::<Attempt<_>>()?))
            }
            (Val::Data(x, from), Ty::Data(id, args))
                if args.iter().all(closed) && self.cache.data_tys.get(&from).is_some_and(|t| !closed(t)) =>
            {
                let to = self.data(*id, args)?;
                self.converted(x, from, to)
            }
            (v, _) => Ok(v),
        }
    }

    /// Converts data of polymorphic type to an instance. A constructor with a field of uninstantiated type has no
    /// values.
    fn converted(&mut self, data: Var, from: DataId, to: DataId) -> Attempt<Val> {
        let (old, new) = (self.constructors_of(from)?, self.constructors_of(to)?);
        let (mut branches, mut params) = (Vec::new(), Vec::new());
        for (tag, ((_, before), (_, after))) in old.iter().zip(new.iter()).enumerate() {
            let mut ps = Vec::new();
            let vals: Vec<Val> = before
                .iter()
                .map(|l| {
                    Self::build(l, &mut |t| {
                        ps.push(self.b.func.fresh(t, false));
                        ps[ps.len() - 1]
                    })
                })
                .collect();
            let empty = self.has_polymorphic_field(from, tag);
            if before != after && !empty {
                return Err(self.no("data of a type that nothing decides"));
            }
            let make = &mut |s: &mut Self| {
                if before == after {
                    s.con(to, tag as u32, &vals)
                } else {
                    Ok(s.fail("a value of a type that has none"))
                }
            };
            branches.push(self.block(make)?);
            params.push(ps);
        }
        self.switch(data, branches, params)
    }

    /// Whether a constructor has a field whose type is an uninstantiated variable.
    fn has_polymorphic_field(&mut self, d: DataId, tag: usize) -> bool {
        let Some(Ty::Data(id, args)) = self.cache.data_tys.get(&d).cloned() else { return false };
        let Some(decl) = self.world.data(id) else { return false };
        let subst: BTreeMap<TyVar, Ty> = decl.params.iter().copied().zip(args.iter().cloned()).collect();
        decl.cons
            .get(tag)
            .is_some_and(|c| c.fields.iter().any(|t| matches!(apply(&subst, t), Ty::Var(_) | Ty::Meta(_))))
    }
}

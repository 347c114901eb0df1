//! Built-in recursive functions over declared data: equality, addition, scaling, appending lists.

use crate::call::ResultPromise;
use crate::key::KeyToken;
use crate::val::Val;
use crate::{Attempt, Layout, Spec};
use adl_ir::{DataId, Lit, Op, Out, Trip, Ty as IrTy, Var};
use adl_prim::Bin;

/// A function of two values of a data type that have the same constructor, given its tag and the fields of both.
type CaseBody<'f, 's> = &'f mut dyn FnMut(&mut Spec<'s>, u32, &[Val], &[Val]) -> Attempt<Val>;

impl<'s> Spec<'s> {
    fn promised(&self, d: DataId) -> Option<adl_typing::ty::Ty> {
        self.cache.data_tys.get(&d).cloned()
    }

    /// `a + b` or `a - b`.
    pub(crate) fn combine_data(&mut self, op: Bin, x: Var, y: Var, d: DataId) -> Attempt<Val> {
        let inputs = [Val::Data(x, d), Val::Data(y, d)];
        let name = if op == Bin::Add { "add" } else { "subtract" };
        let key = self.key(vec![KeyToken::What(name)], &inputs)?;
        let t = self.outline(key, name, &inputs, ResultPromise::of(self.promised(d)), &mut |s, vals| {
            let (x, y) = (s.leaf(&vals[0])?, s.leaf(&vals[1])?);
            let mut same = |s: &mut Self, tag: u32, a: &[Val], b: &[Val]| {
                let parts = a.iter().zip(b).map(|(a, b)| s.combine(op, a, b)).collect::<Attempt<Vec<_>>>()?;
                s.con(d, tag, &parts)
            };
            s.both_data(x, y, d, &mut same, &mut |s| Ok(s.fail("data of different structure cannot be added")))
        })?;
        self.emit_call(&t, &inputs, None, false)
    }

    /// Whether two values of a data type are equal.
    pub(crate) fn equal_data(&mut self, left: Var, right: Var, id: DataId) -> Attempt<Var> {
        // Maps are equal if their entries are, whatever the shape of their trees.
        if self.p.data(id).cons.iter().any(|(name, _)| name == "MapNode") {
            return Err(self.no("a comparison of maps or sets"));
        }
        let inputs = [Val::Data(left, id), Val::Data(right, id)];
        let key = self.key(vec![KeyToken::What("equal")], &inputs)?;
        let t = self.outline(key, "equal", &inputs, ResultPromise::Ty(adl_typing::ty::Ty::Bool), &mut |s, vals| {
            let (x, y) = (s.leaf(&vals[0])?, s.leaf(&vals[1])?);
            let mut same = |s: &mut Self, _: u32, a: &[Val], b: &[Val]| {
                let (a, b) = (Val::Tuple(a.to_vec()), Val::Tuple(b.to_vec()));
                s.compare(adl_ir::Cmp::Eq, &a, &b)
            };
            s.both_data(x, y, id, &mut same, &mut |s| Ok(Val::Leaf(s.lit(Lit::Bool(false)))))
        })?;
        let v = self.emit_call(&t, &inputs, None, false)?;
        self.leaf(&v)
    }

    /// Multiplies or divides each real number inside by `n`.
    pub(crate) fn scale_data(&mut self, op: Bin, x: Var, n: Var, d: DataId) -> Attempt<Val> {
        let inputs = [Val::Data(x, d), Val::Leaf(n)];
        let name = if op == Bin::Mul { "scale" } else { "divide" };
        let key = self.key(vec![KeyToken::What(name)], &inputs)?;
        let t = self.outline(key, name, &inputs, ResultPromise::of(self.promised(d)), &mut |s, vals| {
            let (x, n) = (s.leaf(&vals[0])?, s.leaf(&vals[1])?);
            s.switch_constructors(x, d, &mut |s, tag, fields| {
                let parts = fields.iter().map(|f| s.scaled(op, f, n)).collect::<Attempt<Vec<_>>>()?;
                s.con(d, tag, &parts)
            })
        })?;
        self.emit_call(&t, &inputs, None, false)
    }

    /// `xs ++ ys` on lists.
    pub(crate) fn join_lists(&mut self, x: Var, y: Var, d: DataId) -> Attempt<Val> {
        self.list(d)?;
        let inputs = [Val::Data(x, d), Val::Data(y, d)];
        let key = self.key(vec![KeyToken::What("join")], &inputs)?;
        let target = self.outline(key, "join", &inputs, ResultPromise::of(self.promised(d)), &mut |s, vals| {
            let x = s.leaf(&vals[0])?;
            s.switch_constructors(x, d, &mut |s, tag, fields| match fields {
                [head, Val::Data(rest, _)] => {
                    let y = s.leaf(&vals[1])?;
                    let tail = s.join_lists(*rest, y, d)?;
                    s.con(d, tag, &[head.clone(), tail])
                }
                _ => Ok(vals[1].clone()),
            })
        })?;
        self.emit_call(&target, &inputs, None, false)
    }

    /// The element layout of a list type: `Nil | Cons a (List a)`.
    fn list(&self, d: DataId) -> Attempt<Layout> {
        let cons = self.constructors_of(d)?;
        match cons.as_slice() {
            [(_, nil), (_, both)] if nil.is_empty() => match both.as_slice() {
                [head, Layout::Data(rest)] if *rest == d => Ok(head.clone()),
                _ => Err(self.no("a list function on other data")),
            },
            _ => Err(self.no("a list function on other data")),
        }
    }

    /// The elements of a list as an array.
    pub(crate) fn list_to_array(&mut self, list: Var, id: DataId) -> Attempt<Val> {
        let head = self.list(id)?;
        let leaves = head.leaves();
        self.b.open();
        let p = self.b.param(IrTy::Data(id));
        let more = self.switch_constructors(p, id, &mut |s, tag, _| Ok(Val::Leaf(s.lit(Lit::Bool(tag == 1)))))?;
        let more = self.leaf(&more)?;
        let cond = self.b.close(vec![more], Vec::new());
        self.b.open();
        self.b.param(IrTy::I64);
        let p = self.b.param(IrTy::Data(id));
        let fields = self.fields(p, id, 1)?;
        let mut results: Vec<Var> = fields[1].leaves();
        results.extend(fields[0].leaves());
        let body = self.b.close(results, Vec::new());
        let mut tys = vec![IrTy::Data(id)];
        for t in &leaves {
            tys.push(t.array(1));
        }
        tys.push(IrTy::I64);
        let ir_loop = adl_ir::Loop {
            trip: Trip::While(cond),
            reverse: false,
            init: vec![list],
            lin_init: Vec::new(),
            xs: Vec::new(),
            lin_xs: Vec::new(),
            outs: vec![Out::Collect; leaves.len()],
            lin_outs: Vec::new(),
            body,
        };
        let (outs, _) = self.b.emit(Op::Loop(Box::new(ir_loop)), &tys, &[]);
        let mut next = outs.into_iter().skip(1);
        Ok(Val::array_of(Self::build(&head, &mut |_| next.next().unwrap_or(list))))
    }

    /// A branch for each constructor.
    pub(crate) fn switch_constructors(
        &mut self,
        data: Var,
        d: DataId,
        arm: &mut dyn FnMut(&mut Self, u32, &[Val]) -> Attempt<Val>,
    ) -> Attempt<Val> {
        let cons = self.constructors_of(d)?;
        let (mut branches, mut params) = (Vec::new(), Vec::new());
        for (tag, (_, layouts)) in cons.iter().enumerate() {
            let mut ps = Vec::new();
            let vals: Vec<Val> = layouts
                .iter()
                .map(|l| {
                    Self::build(l, &mut |t| {
                        ps.push(self.b.func.fresh(t, false));
                        ps[ps.len() - 1]
                    })
                })
                .collect();
            branches.push(self.block(&mut |s| arm(s, tag as u32, &vals))?);
            params.push(ps);
        }
        self.switch(data, branches, params)
    }

    fn both_data(
        &mut self,
        x: Var,
        y: Var,
        d: DataId,
        same: CaseBody<'_, 's>,
        other: &mut dyn FnMut(&mut Self) -> Attempt<Val>,
    ) -> Attempt<Val> {
        self.switch_constructors(x, d, &mut |s, tag, a| {
            s.switch_constructors(y, d, &mut |s, other_tag, b| {
                if tag == other_tag { same(s, tag, a, b) } else { other(s) }
            })
        })
    }
}

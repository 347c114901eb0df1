//! Higher-order primitives.

use crate::call::ResultPromise;
use crate::key::{Key, KeyToken};
use crate::val::{Closure, Fun, Val};
use crate::{Attempt, Spec};
use adl_ir::{Block, Cmp, Lit, Op, Out, Rule, RuleKind, Soac, SoacKind, Ty as IrTy, Var};
use adl_prim::{Bin, HigherOrderFn, Prim, ReductionFn};
use adl_typing::core::ExprKind;
use adl_typing::ty::Ty;
use std::collections::HashMap;
use std::rc::Rc;

/// The operator that a function computes, if it is one with its own array operations.
fn operator(f: &Fun) -> Option<Prim> {
    let known = |p: Prim| matches!(p, Prim::Bin(Bin::Add | Bin::Mul | Bin::Min | Bin::Max)).then_some(p);
    match f {
        Fun::Prim(p, _) => known(*p),
        Fun::Closure(Closure { lam, hidden, .. }) if hidden.is_empty() && lam.params.len() == 2 => {
            match &*lam.body.kind {
                ExprKind::App(g, args) if args.len() == 2 => match (&*g.kind, &*args[0].kind, &*args[1].kind) {
                    (ExprKind::Prim(p, _), ExprKind::Local(a), ExprKind::Local(b)) => {
                        let (x, y) = (lam.params[0].local, lam.params[1].local);
                        // The argument order matters for ties of `min` and `max`.
                        let straight = (*a, *b) == (x, y);
                        let either = (*a, *b) == (y, x) && matches!(p, Prim::Bin(Bin::Add | Bin::Mul));
                        known(*p).filter(|_| straight || either)
                    }
                    _ => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}

/// The result type of a function literal of two arguments.
fn result_type(f: &Fun) -> Option<Ty> {
    match f {
        Fun::Closure(c) if c.lam.params.len() == 2 => Some(crate::types::apply(&c.subst, &c.lam.body.ty)),
        _ => None,
    }
}

impl<'s> Spec<'s> {
    fn run(&mut self, f: &Rc<Fun>, args: Vec<Val>, here: bool) -> Attempt<Val> {
        if here { self.apply_here(f, args, None) } else { self.call(f, args, None) }
    }

    /// Higher-order primitives. `ty`: the result type. `here`: the function is a literal at the application.
    pub(crate) fn higher_prim(
        &mut self,
        prim: HigherOrderFn,
        args: &[Val],
        ty: Option<&Ty>,
        here: bool,
    ) -> Attempt<Val> {
        let fun = self.function_of(&args[usize::from(prim == HigherOrderFn::ReduceByIndex)]);
        match prim {
            HigherOrderFn::Map | HigherOrderFn::Map2 | HigherOrderFn::Map3 => self.map(&fun?, &args[1..], here),
            HigherOrderFn::Reduce => self.reduce(&fun?, &args[1], &args[2], here),
            HigherOrderFn::Scan => self.scan(SoacKind::Scan, &fun?, &args[1], &args[2], here),
            HigherOrderFn::ScanExclusive => self.scan(SoacKind::ScanExclusive, &fun?, &args[1], &args[2], here),
            HigherOrderFn::ReduceByIndex => self.reduce_by_index(&fun?, args, here),
            HigherOrderFn::Fold | HigherOrderFn::Foldr => {
                let f = fun?;
                let n = self.extent(&args[2], 0)?;
                let right = prim == HigherOrderFn::Foldr;
                let ty = ty.cloned().or_else(|| result_type(&f));
                self.carry_typed(n, right, (&args[1], ty.as_ref()), &args[2..3], &mut |s, _, acc, e| {
                    let pair = if right { vec![e[0].clone(), acc.clone()] } else { vec![acc.clone(), e[0].clone()] };
                    s.run(&f, pair, here)
                })
            }
            HigherOrderFn::Invertible => self.invertible(args),
            HigherOrderFn::Along => Err(self.no("`along`, which Core does not contain")),
        }
    }

    fn map(&mut self, f: &Rc<Fun>, arrays: &[Val], here: bool) -> Attempt<Val> {
        let n = self.same_lengths(arrays, if arrays.len() == 2 { "map2" } else { "map3" })?;
        if let Some(v) = self.map_entire_arrays(f, arrays, n)? {
            return Ok(v);
        }
        // The extents of rows are known inside of one function only.
        let here = here || self.world.assumptions().allow_zero_trips && matches!(**f, Fun::Closure(_));
        self.each(n, arrays, Out::Collect, &mut |s, _, elems| s.run(f, elems.to_vec(), here))
    }

    /// Maps straight-line arithmetic by applying it to entire arrays.
    fn map_entire_arrays(&mut self, f: &Rc<Fun>, arrays: &[Val], count: Var) -> Attempt<Option<Val>> {
        let flat =
            |s: &Self, v: &Val| matches!(v, Val::Leaf(x) if matches!(s.b.ty(*x), IrTy::Array(ref e, 1) if e.is_real()));
        if !arrays.iter().all(|a| flat(self, a)) {
            return Ok(None);
        }
        let result = match &**f {
            Fun::Prim(Prim::Un(op), _) if arrays.len() == 1 => self.un(*op, &arrays[0])?,
            Fun::Prim(Prim::Bin(op), _) if arrays.len() == 2 => self.bin(*op, &arrays[0], &arrays[1])?,
            Fun::Closure(c) if c.hidden.is_empty() && c.lam.params.len() == arrays.len() && self.elementwise(c) => {
                // Functions that it calls are inlined too: their own IR functions would take numbers, not arrays.
                let outer = std::mem::replace(&mut self.whole, true);
                let made = self.enter(c, arrays);
                self.whole = outer;
                made?
            }
            _ => return Ok(None),
        };
        match &result {
            Val::Leaf(x) if self.b.ty(*x).rank() == 0 => self.replicate(count, &result).map(Some),
            _ => Ok(Some(result)),
        }
    }

    /// The record that `invertible` takes.
    fn invertible_parts(&self, f: &Fun) -> Option<Val> {
        match f {
            Fun::Partial(g, args)
                if args.len() == 1 && matches!(&**g, Fun::Prim(Prim::HigherOrder(HigherOrderFn::Invertible), _)) =>
            {
                Some(args[0].clone())
            }
            _ => None,
        }
    }

    fn part(&mut self, r: &Val, name: &str) -> Attempt<Rc<Fun>> {
        let v = self.step(r, adl_typing::core::Projection::Field(adl_syntax::symbol::Symbol::new(name)))?;
        self.function_of(&v)
    }

    /// `lower (op (lift x) (lift y))`.
    fn invertible(&mut self, args: &[Val]) -> Attempt<Val> {
        let [r, x, y] = args else { return Err(self.no("`invertible` without arguments")) };
        let (lift, op, lower) = (self.part(r, "lift")?, self.part(r, "op")?, self.part(r, "lower")?);
        let a = self.call(&lift, vec![x.clone()], None)?;
        let b = self.call(&lift, vec![y.clone()], None)?;
        let c = self.call(&op, vec![a, b], None)?;
        self.call(&lower, vec![c], None)
    }

    fn reduce(&mut self, fun: &Rc<Fun>, neutral: &Val, xs: &Val, here: bool) -> Attempt<Val> {
        if let Some(r) = self.invertible_parts(fun) {
            let (lift, op, lower) = (self.part(&r, "lift")?, self.part(&r, "op")?, self.part(&r, "lower")?);
            let lifted = self.map(&lift, std::slice::from_ref(xs), false)?;
            let e = self.call(&lift, vec![neutral.clone()], None)?;
            let inverse = self.part(&r, "inverse")?;
            let plain = |s: &mut Self, v: &[Val]| {
                let op = s.function_of(&v[2])?;
                s.reduce(&op, &v[0], &v[1], false)
            };
            let inputs = [e.clone(), lifted.clone(), Val::Fun(op.clone()), Val::Fun(inverse)];
            let total = match self.with_inverse("reduce", inputs.to_vec(), &mut { plain })? {
                Some(v) => v,
                None => self.reduce(&op, &e, &lifted, false)?,
            };
            return self.call(&lower, vec![total], None);
        }
        if let (Some(p), Val::Leaf(x), Val::Leaf(e)) = (operator(fun), xs, neutral)
            && self.b.ty(*x).rank() == 1
        {
            return self.reduce_numbers(p, *e, *x);
        }
        self.soac(SoacKind::Reduce, fun, neutral, xs, here)
    }

    /// A reduction as an IR function of its own together with the inverse of its operator, which derivatives use.
    /// `inputs` begin with the neutral element, the elements, the operator and the inverse. `None` if the operator has
    /// a derivative rule without an inverse, or captures numbers.
    fn with_inverse(
        &mut self,
        name: &'static str,
        inputs: Vec<Val>,
        body: crate::call::Body<'_, 's>,
    ) -> Attempt<Option<Val>> {
        let op = self.function_of(&inputs[2])?;
        if operator(&op).is_some() || self.captures_numbers(&inputs[2..4])? {
            return Ok(None);
        }
        let key = self.key(vec![KeyToken::What("inverted"), KeyToken::What(name)], &inputs)?;
        let t = self.outline(key, name, &inputs, ResultPromise::Nothing, body)?;
        let target = self.without_effects(t, "the operator of a reduction")?;
        let mut fresh = || {
            let b = &mut self.b;
            inputs[0].map(&mut |v| {
                let ty = b.ty(v);
                b.func.fresh(ty, false)
            })
        };
        let all = [&inputs[..], &[fresh(), fresh()]].concat();
        let n = inputs.len();
        let key = self.key(vec![KeyToken::What("inverse of"), KeyToken::What(name)], &all)?;
        let rule = self.outline(key, "inverse", &all, ResultPromise::Nothing, &mut |s, v| {
            let inverse = s.function_of(&v[3])?;
            s.call(&inverse, vec![v[n].clone(), v[n + 1].clone()], None)
        })?;
        let rule = self.without_effects(rule, "the inverse of an operator")?;
        let tys: Vec<IrTy> = inputs[0].leaves().iter().map(|v| self.b.ty(*v)).collect();
        if rule.tys != tys {
            return Ok(None);
        }
        self.emit_call(&target, &inputs, Some(Rule { kind: RuleKind::Inverse, func: rule.id }), false).map(Some)
    }

    fn reduce_numbers(&mut self, prim: Prim, initial: Var, array: Var) -> Attempt<Val> {
        let t = self.b.ty(initial);
        let neutral = |s: &Self, n: f64| matches!(s.known.literals.get(&initial), Some(Lit::F64(k)) if *k == n);
        Ok(Val::Leaf(match prim {
            Prim::Bin(Bin::Add) => {
                let total = self.b.one(Op::Sum { a: array, n: None }, t);
                if neutral(self, 0.0) { total } else { self.b.bin(Bin::Add, initial, total) }
            }
            Prim::Bin(Bin::Mul) => {
                let total = self.b.prim(ReductionFn::Prod, &[array], t);
                if neutral(self, 1.0) { total } else { self.b.bin(Bin::Mul, initial, total) }
            }
            _ => {
                let (whole, op) = if prim == Prim::Bin(Bin::Min) {
                    (Prim::Reduction(ReductionFn::Minimum), Bin::Min)
                } else {
                    (Prim::Reduction(ReductionFn::Maximum), Bin::Max)
                };
                let (n, zero) = (self.b.dim(array, 0), self.int(0));
                let empty = self.b.cmp(Cmp::Eq, n, zero);
                return self.branch_on(empty, &mut |_| Ok(Val::Leaf(initial)), &mut |s| {
                    let best = s.prim(whole, Vec::new(), vec![Val::Leaf(array)], None)?;
                    s.bin(op, &Val::Leaf(initial), &best)
                });
            }
        }))
    }

    fn scan(&mut self, kind: SoacKind, f: &Rc<Fun>, e: &Val, xs: &Val, here: bool) -> Attempt<Val> {
        if let (Some(Prim::Bin(Bin::Add)), Val::Leaf(x), Val::Leaf(z), SoacKind::Scan) = (operator(f), xs, e, kind)
            && self.b.ty(*x).rank() == 1
            && matches!(self.known.literals.get(z), Some(Lit::F64(k)) if *k == 0.0)
        {
            let t = self.b.ty(*x);
            return Ok(Val::Leaf(self.b.one(Op::Cumsum { a: *x, reverse: false }, t)));
        }
        self.soac(kind, f, e, xs, here)
    }

    fn soac(&mut self, kind: SoacKind, f: &Rc<Fun>, initial: &Val, xs: &Val, here: bool) -> Attempt<Val> {
        let op = self.operator_block(f, initial, xs, here)?;
        let (neutral, arrays) = (initial.leaves(), xs.leaves());
        let one: Vec<IrTy> = neutral.iter().map(|v| self.b.ty(*v)).collect();
        let many: Vec<IrTy> = arrays.iter().map(|v| self.b.ty(*v)).collect();
        let reduces = kind == SoacKind::Reduce;
        if !reduces && one.iter().any(|t| t.rank() > 0) {
            let n = self.extent(xs, 0)?;
            self.assert_rows_known(n, &neutral, &HashMap::new(), &mut neutral.clone())?;
        }
        let tys = if reduces { one } else { many };
        let (outs, _) = self.b.emit(Op::Soac(Box::new(Soac { kind, op, neutral, arrays })), &tys, &[]);
        Ok(if reduces { initial.with(&outs) } else { xs.with(&outs) })
    }

    /// An associative operator as a block.
    fn operator_block(&mut self, fun: &Rc<Fun>, e: &Val, xs: &Val, here: bool) -> Attempt<Block> {
        let (span, mark) = (self.b.span, self.sizes.mark());
        self.b.open();
        let builder = &mut self.b;
        let acc = e.map(&mut |v| {
            let t = builder.ty(v);
            builder.param(t)
        });
        let elem = self.element_params(xs);
        let (mut one, mut other) = (Key::new(), Key::new());
        self.key_val(&acc, &mut one);
        self.key_val(&elem, &mut other);
        if one != other || acc.has_fun() {
            return Err(self.no("a reduction whose neutral element is laid out differently from the elements"));
        }
        let effects = self.effects;
        let combined = match self.run(fun, vec![acc.clone(), elem], here)? {
            Val::Bottom => acc,
            v => v,
        };
        if self.effects > effects {
            return Err(self.no("output or input in the operator of a reduction"));
        }
        let mut result = Key::new();
        self.key_val(&combined, &mut result);
        if one != result {
            return Err(self.no("an operator whose result is laid out differently from its arguments"));
        }
        self.b.span = span;
        self.sizes.forget(mark);
        Ok(self.b.close(combined.leaves(), Vec::new()))
    }

    fn reduce_by_index(&mut self, fun: &Rc<Fun>, args: &[Val], here: bool) -> Attempt<Val> {
        let [dest, _, neutral, keys, values] = args else { return Err(self.no("`reduce_by_index` without arguments")) };
        if let Some(r) = self.invertible_parts(fun) {
            let (lift, op, lower) = (self.part(&r, "lift")?, self.part(&r, "op")?, self.part(&r, "lower")?);
            let lifted = [dest, values].map(|v| self.map(&lift, std::slice::from_ref(v), false));
            let [dest, values] = lifted;
            let neutral = self.call(&lift, vec![neutral.clone()], None)?;
            let inverse = self.part(&r, "inverse")?;
            let (dest, values) = (dest?, values?);
            let plain = |s: &mut Self, v: &[Val]| {
                let op = s.function_of(&v[2])?;
                s.reduce_by_index(&op, &[v[4].clone(), v[2].clone(), v[0].clone(), v[5].clone(), v[1].clone()], false)
            };
            let inputs = vec![
                neutral.clone(),
                values.clone(),
                Val::Fun(op.clone()),
                Val::Fun(inverse),
                dest.clone(),
                keys.clone(),
            ];
            let made = match self.with_inverse("reduce_by_index", inputs, &mut { plain })? {
                Some(v) => v,
                None => {
                    self.reduce_by_index(&op, &[dest, Val::Fun(op.clone()), neutral, keys.clone(), values], false)?
                }
            };
            return self.map(&lower, &[made], false);
        }
        let op = self.operator_block(fun, neutral, values, here)?;
        self.same_lengths(&[keys.clone(), values.clone()], "reduce_by_index")?;
        let d = dest.leaves();
        let tys: Vec<IrTy> = d.iter().map(|v| self.b.ty(*v)).collect();
        let keys = self.leaf(keys)?;
        let op =
            Op::ReduceByIndex { dest: d, op: Box::new(op), neutral: neutral.leaves(), keys, values: values.leaves() };
        let (outs, _) = self.b.emit(op, &tys, &[]);
        Ok(dest.with(&outs))
    }
}

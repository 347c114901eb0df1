//! Application. A function is specialised to one IR function for each combination of code and of the layouts of
//! captured values and arguments.

use crate::defunctionalise::functional;
use crate::key::{Key, KeyToken};
use crate::limits::call::DEEPEST;
use crate::types::{apply, bind, closed};
use crate::val::{Closure, Fun, Subst, Val};
use crate::{Attempt, Layout, Spec, Specialized};
use adl_ir::{Builder, FnId, Op, Rule, Ty as IrTy, Var};
use adl_typing::core::{Expr, ExprKind, GlobalId, Lambda};
use adl_typing::ty::{Ty, TyVar};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// A function of the IR that can be called.
pub(crate) struct IrTarget {
    pub id: FnId,
    pub globals: Rc<[GlobalId]>,
    /// Its result, as a value over placeholder variables.
    pub result: Val,
    /// The types of its results.
    pub tys: Vec<IrTy>,
}

/// The result layout of a recursive function, known before the function is complete.
#[derive(Clone)]
pub(crate) enum ResultPromise {
    Nothing,
    Ty(Ty),
    Layout(Layout),
}

impl ResultPromise {
    pub(crate) fn of(t: Option<Ty>) -> ResultPromise {
        t.map_or(ResultPromise::Nothing, ResultPromise::Ty)
    }
}

/// Generates a function's body from its inputs.
pub(crate) type Body<'f, 's> = &'f mut dyn FnMut(&mut Spec<'s>, &[Val]) -> Attempt<Val>;

impl<'s> Spec<'s> {
    pub(crate) fn application(&mut self, e: &Expr) -> Attempt<Val> {
        let (head, reps, args) = e.spine();
        let mut vals: Vec<Val> = reps.iter().map(|r| self.rep_val(r)).collect();
        let ty = self.ty(&e.ty);
        if let ExprKind::Prim(p, _) = &*head.kind {
            return self.prim_app(*p, vals, &args, ty, e.span);
        }
        let f = self.eval(head)?;
        let Some(more) = self.all(args.iter().copied())? else { return Ok(Val::Bottom) };
        vals.extend(more);
        self.b.span = e.span;
        match (&f, &*head.kind) {
            (Val::Bottom, _) => Ok(Val::Bottom),
            (f, _) if vals.is_empty() => Ok(f.clone()),
            (Val::Fun(g), ExprKind::Lam(_)) => self.apply_here(g, vals, Some(ty)),
            (Val::Fun(g), _) => self.call(g, vals, Some(ty)),
            _ => Err(self.no("an application of something that is not a function")),
        }
    }

    /// Applies a function to any number of arguments. `ty`: the result type.
    pub(crate) fn call(&mut self, f: &Rc<Fun>, args: Vec<Val>, ty: Option<Ty>) -> Attempt<Val> {
        stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.call_inner(f, args, ty, false))
    }

    /// Like [`Spec::call`], but inlines the code into the current block. For function literals that are applied where
    /// they are written.
    pub(crate) fn apply_here(&mut self, f: &Rc<Fun>, args: Vec<Val>, ty: Option<Ty>) -> Attempt<Val> {
        stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.call_inner(f, args, ty, true))
    }

    fn call_inner(&mut self, fun: &Rc<Fun>, mut args: Vec<Val>, ty: Option<Ty>, here: bool) -> Attempt<Val> {
        if args.iter().any(|a| matches!(a, Val::Bottom)) {
            return Ok(Val::Bottom);
        }
        let arity = arity(fun);
        if args.len() < arity {
            return Ok(Val::fun(Fun::Partial(fun.clone(), args)));
        }
        if args.len() > arity {
            let rest = args.split_off(arity);
            let known = ty.clone().and_then(|t| {
                rest.iter().rev().try_fold(t, |result, a| Some(Ty::Fun(Rc::new(self.ty_of_val(a)?), Rc::new(result))))
            });
            return match self.call_inner(fun, args, known, here)? {
                Val::Fun(g) => self.call(&g, rest, ty),
                Val::Bottom => Ok(Val::Bottom),
                _ => Err(self.no("an application of something that is not a function")),
            };
        }
        match &**fun {
            Fun::Closure(c) => self.call_closure(fun, c, args, here),
            Fun::Prim(p, reps) => self.prim(*p, reps.clone(), args, ty),
            Fun::Partial(g, first) => {
                let all = first.iter().cloned().chain(args).collect();
                self.call_inner(g, all, ty, here)
            }
            Fun::Linear(l) => self.apply_linear(l, &args[0]),
            Fun::Custom { vjp, f, rule } => self.call_custom(*vjp, f, rule, &args[0]),
            Fun::Checkpoint(g) => self.call_checkpoint(g, &args[0]),
            Fun::Tagged(tag, fs) => self.dispatch(*tag, fs, 0, &args, &ty),
            Fun::Boxed(x, d) => match args.pop() {
                Some(arg) => self.apply_function_data(*x, *d, arg),
                None => Ok(Val::Fun(fun.clone())),
            },
        }
    }

    /// Applies a function that was selected at run time, by a branch on its tag.
    fn dispatch(&mut self, tag: Var, fs: &[Rc<Fun>], k: usize, args: &[Val], ty: &Option<Ty>) -> Attempt<Val> {
        if k + 1 >= fs.len() {
            return self.call(&fs[k], args.to_vec(), ty.clone());
        }
        let n = self.int(k as i64);
        let c = self.b.cmp(adl_ir::Cmp::Eq, tag, n);
        self.branch_on(c, &mut |s| s.call(&fs[k], args.to_vec(), ty.clone()), &mut |s| {
            s.dispatch(tag, fs, k + 1, args, ty)
        })
    }

    fn call_closure(&mut self, fun: &Rc<Fun>, closure: &Closure, args: Vec<Val>, here: bool) -> Attempt<Val> {
        let thunk = closure.lam.params.is_empty() && !closure.hidden.is_empty();
        let info = self.info(&closure.hidden, &closure.lam);
        if here
            || thunk
            || self.whole
            || info.small
            || info.short && self.known_zeros(&args) && !self.recursive(closure)
        {
            return self.enter(closure, &args);
        }
        let subst = self.bound(closure, &args);
        let mut args = self.instantiate_arguments(closure, &subst, args);
        if args.iter().any(Val::has_fun) && self.grows(&closure.lam) {
            args = self.functions_to_data(closure, &subst, args)?;
        }
        let f = Rc::new(match &**fun {
            Fun::Closure(c) => Fun::Closure(Closure { subst: subst.clone(), ..c.clone() }),
            other => other.map(&mut |v| v),
        });
        let result = apply(&subst, &closure.lam.body.ty);
        let name = closure.lam.name.map_or("fun".to_owned(), |n| n.to_string());
        let inputs: Vec<Val> = std::iter::once(Val::Fun(f)).chain(args).collect();
        let key = self.key(vec![KeyToken::What("call")], &inputs)?;
        let body: Body<'_, '_> = &mut |s, vals| s.closure_body(&vals[0], &vals[1..]);
        let Some(promise) = self.promise_in_progress(&key, result) else { return Ok(Val::Bottom) };
        let t = self.outline(key, &name, &inputs, promise, body)?;
        if self.has_effects(&t) {
            self.closure_body(&inputs[0], &inputs[1..])
        } else {
            self.emit_call(&t, &inputs, None, false)
        }
    }

    /// What a call may rely on of the result. A recursive call whose type is not known has no result at first, as if it
    /// failed: what the function returns elsewhere tells the layout, and the function is made once more ([`Spec::outline`]).
    fn promise_in_progress(&mut self, key: &Key, result: Ty) -> Option<ResultPromise> {
        let id = match self.cache.made.get(key) {
            Some(s) if s.result.is_none() && !closed(&result) => s.id,
            _ => return Some(ResultPromise::Ty(result)),
        };
        self.early.results.entry(id).or_default().clone().map(ResultPromise::Layout)
    }

    /// Evaluates the body of a closure, within the limit of specialisations of one code in progress.
    fn closure_body(&mut self, f: &Val, args: &[Val]) -> Attempt<Val> {
        let f = self.function_of(f)?;
        let Fun::Closure(c) = &*f else { return Err(self.no("code without a function")) };
        let code = (Rc::as_ptr(&c.lam), self.early.inside);
        let times = self.boxes.making.entry(code).or_default();
        *times += 1;
        if *times > DEEPEST {
            return Err(self.no("functions that are specialised without end"));
        }
        let out = self.enter(c, args);
        self.boxes.making.entry(code).and_modify(|n| *n -= 1);
        out
    }

    /// Converts functions among the arguments to data, for a function that is called with ever larger ones.
    fn functions_to_data(&mut self, c: &Closure, subst: &Subst, args: Vec<Val>) -> Attempt<Vec<Val>> {
        let hidden = c.hidden.len();
        let mut out = Vec::new();
        for (k, v) in args.into_iter().enumerate() {
            let t = k.checked_sub(hidden).and_then(|k| c.lam.params.get(k)).map(|p| apply(subst, &p.ty)).filter(closed);
            out.push(match t {
                Some(t) => self.functions_as_data(v, &t)?,
                None => v,
            });
        }
        Ok(out)
    }

    /// Evaluates the body of a function in the current block.
    pub(crate) fn enter(&mut self, closure: &Closure, args: &[Val]) -> Attempt<Val> {
        let subst = self.bound(closure, args);
        let mut env: HashMap<_, _> = closure.env.iter().cloned().collect();
        for (l, hidden, lam) in closure.group.iter().flat_map(|g| g.iter()) {
            let member = Closure {
                lam: lam.clone(),
                hidden: hidden.clone(),
                group: closure.group.clone(),
                env: closure.env.clone(),
                subst: subst.clone(),
            };
            env.insert(*l, Val::fun(Fun::Closure(member)));
        }
        for (l, v) in closure.hidden.iter().copied().chain(closure.lam.params.iter().map(|p| p.local)).zip(args) {
            env.insert(l, v.clone());
        }
        let span = self.b.span;
        let (env, subst, elems) = (
            std::mem::replace(&mut self.env, env),
            std::mem::replace(&mut self.subst, subst),
            std::mem::take(&mut self.elems),
        );
        let out = self.eval(&closure.lam.body)?;
        (self.env, self.subst, self.elems) = (env, subst, elems);
        self.b.span = span;
        Ok(out)
    }

    /// Instantiates polymorphic functions among the arguments at the parameter types, so that a call's key does not
    /// depend on the origin of its arguments.
    fn instantiate_arguments(&mut self, c: &Closure, subst: &Subst, args: Vec<Val>) -> Vec<Val> {
        let hidden = c.hidden.len();
        let types = c.lam.params.iter().map(|p| apply(subst, &p.ty));
        let (reps, own) = args.split_at(hidden.min(args.len()));
        let own =
            own.iter().zip(types).map(|(a, t)| if a.has_fun() { self.instantiate(a.clone(), &t) } else { a.clone() });
        reps.iter().cloned().chain(own.collect::<Vec<_>>()).collect()
    }

    /// The substitution for a function's type variables at these arguments.
    fn bound(&mut self, c: &Closure, args: &[Val]) -> Subst {
        let vars = self.info(&c.hidden, &c.lam).tyvars.clone();
        if vars.iter().all(|v| c.subst.contains_key(v)) {
            return c.subst.clone();
        }
        let mut s = (*c.subst).clone();
        for (p, a) in c.lam.params.iter().zip(args.iter().skip(c.hidden.len())) {
            if let Some(t) = self.ty_of_val(a) {
                bind(&p.ty, &t, &mut s);
            }
        }
        Rc::new(s)
    }

    /// Instantiates a polymorphic function at the type of a use.
    pub(crate) fn instantiate(&mut self, value: Val, t: &Ty) -> Val {
        match (value, t) {
            (Val::Fun(f), t) => Val::Fun(self.instantiate_fun(f, t, 0)),
            (Val::Tuple(vs), Ty::Tuple(ts)) => {
                Val::Tuple(vs.into_iter().zip(ts.iter()).map(|(v, t)| self.instantiate(v, t)).collect())
            }
            (Val::Record(fs), Ty::Record(r)) => {
                let at = |n| r.fields.iter().find(|f| f.0 == n).map(|f| f.1.clone());
                Val::Record(
                    fs.into_iter().map(|(n, v)| (n, at(n).map_or(v.clone(), |t| self.instantiate(v, &t)))).collect(),
                )
            }
            (v, _) => v,
        }
    }

    fn instantiate_fun(&mut self, fun: Rc<Fun>, ty: &Ty, given: usize) -> Rc<Fun> {
        match &*fun {
            Fun::Closure(c) => {
                let vars = self.info(&c.hidden, &c.lam).tyvars.clone();
                if vars.iter().all(|v| c.subst.contains_key(v)) {
                    return fun;
                }
                let mut s: BTreeMap<TyVar, Ty> = (*c.subst).clone();
                bind(&function_type(&c.lam, given.saturating_sub(c.hidden.len())), ty, &mut s);
                Rc::new(Fun::Closure(Closure { subst: Rc::new(s), ..c.clone() }))
            }
            Fun::Partial(g, args) => {
                let g = self.instantiate_fun(g.clone(), ty, given + args.len());
                Rc::new(Fun::Partial(g, args.clone()))
            }
            Fun::Prim(..)
            | Fun::Custom { .. }
            | Fun::Checkpoint(_)
            | Fun::Linear(_)
            | Fun::Tagged(..)
            | Fun::Boxed(..) => fun,
        }
    }

    /// The IR function for a key, generated on first use. Its parameters are the leaves of the globals that the inputs'
    /// code can reach, and of the inputs.
    pub(crate) fn outline(
        &mut self,
        key: Key,
        name: &str,
        inputs: &[Val],
        result: ResultPromise,
        body: Body<'_, 's>,
    ) -> Attempt<IrTarget> {
        if let Some(m) = self.cache.made.get(&key).cloned() {
            return self.target(m, result);
        }
        let globals: Rc<[GlobalId]> = self.globals_of(inputs).into_iter().collect();
        let id = self.p.reserve(name);
        self.cache.made.insert(key.clone(), Specialized { id, globals: globals.clone(), result: None });
        self.new.push(key.clone());
        let (made, effects) = (self.new.len(), self.effects);
        let (mut v, mut tys) = self.function(name, id, inputs, &globals, result, body)?;
        if let Some(Some(layout)) = self.early.results.get(&id).cloned() {
            // What was made in the meantime may contain calls without a result.
            self.new.drain(made..).for_each(|k| drop(self.cache.made.remove(&k)));
            self.effects = effects;
            (v, tys) = self.function(name, id, inputs, &globals, ResultPromise::Layout(layout), body)?;
        }
        self.cache.made.insert(key, Specialized { id, globals: globals.clone(), result: Some(v.clone()) });
        Ok(IrTarget { id, globals, result: v, tys })
    }

    fn target(&mut self, specialized: Specialized, result: ResultPromise) -> Attempt<IrTarget> {
        if let Some(v) = specialized.result {
            let f = self.p.func(specialized.id);
            let tys = f.tys(&f.body.results);
            return Ok(IrTarget { id: specialized.id, globals: specialized.globals, result: v, tys });
        }
        let layout = match result {
            ResultPromise::Ty(t) if closed(&t) => {
                if functional(&t) {
                    self.boxes.promised.insert(specialized.id);
                }
                self.layout(&t)?
            }
            ResultPromise::Layout(l) => l,
            ResultPromise::Ty(_) | ResultPromise::Nothing => {
                return Err(self.no("a recursive function whose result is not known"));
            }
        };
        let result = Self::build(&layout, &mut |_| Var(u32::MAX));
        self.early.called.insert(specialized.id);
        Ok(IrTarget { id: specialized.id, globals: specialized.globals, result, tys: layout.leaves() })
    }

    pub(crate) fn function(
        &mut self,
        name: &str,
        id: FnId,
        inputs: &[Val],
        globals: &[GlobalId],
        result: ResultPromise,
        body: Body<'_, 's>,
    ) -> Attempt<(Val, Vec<IrTy>)> {
        let mut builder = Builder::new(name);
        builder.span = self.b.span;
        let old = &self.b;
        let mut param = |v: Var| builder.param(old.ty(v));
        let mut inner = BTreeMap::new();
        for g in globals {
            match self.globals.get(g) {
                Some(v) => inner.insert(*g, v.map(&mut param)),
                None => return Err(self.no("a top-level value that is not there")),
            };
        }
        let vals: Vec<Val> = inputs.iter().map(|v| v.map(&mut param)).collect();
        let outer = (
            std::mem::replace(&mut self.b, builder),
            std::mem::take(&mut self.env),
            self.subst.clone(),
            std::mem::replace(&mut self.globals, Rc::new(inner)),
            std::mem::take(&mut self.known),
            std::mem::take(&mut self.sizes),
            std::mem::take(&mut self.sparse),
            std::mem::take(&mut self.elems),
        );
        let (effects, outputs) = (self.effects, self.outputs);
        let value = body(self, &vals)?;
        if self.outputs > outputs {
            self.cache.outputs.insert(id);
        }
        if self.effects > effects {
            if self.early.called.contains(&id) {
                return Err(self.no("output or input in a recursive function"));
            }
            self.cache.effectful.insert(id);
        }
        self.note_result(id, &value)?;
        let v = self.as_promised(id, value, result)?;
        let b;
        (b, self.env, self.subst, self.globals, self.known, self.sizes, self.sparse, self.elems) = {
            let (o, env, subst, globals, known, sizes, sparse, elems) = outer;
            (std::mem::replace(&mut self.b, o), env, subst, globals, known, sizes, sparse, elems)
        };
        let leaves = v.leaves();
        let f = b.finish(leaves.clone(), Vec::new());
        let tys = f.tys(&leaves);
        self.p.set(id, f);
        Ok((v, tys))
    }

    /// Keeps the layout of a result that a recursive call has asked for in vain.
    fn note_result(&mut self, id: FnId, v: &Val) -> Attempt<()> {
        if self.early.results.get(&id).is_some_and(Option::is_none) {
            if matches!(v, Val::Bottom) || v.has_fun() {
                return Err(self.no("a recursive function whose result is not known"));
            }
            let layout = self.layout_of_val(v)?;
            self.early.results.insert(id, Some(layout));
        }
        Ok(())
    }

    /// Converts a result to the layout of its type, which recursive calls rely on. Functions are converted only if such
    /// a call has used the layout.
    fn as_promised(&mut self, id: FnId, value: Val, result: ResultPromise) -> Attempt<Val> {
        let promised = match result {
            ResultPromise::Ty(t) if functional(&t) && !self.boxes.promised.contains(&id) => None,
            ResultPromise::Ty(t) if closed(&t) => self.layout(&t).ok(),
            ResultPromise::Layout(l) => Some(l),
            ResultPromise::Ty(_) | ResultPromise::Nothing => None,
        };
        let Some(l) = promised else { return Ok(value) };
        match &value {
            Val::Bottom => Ok(self.zeros(&l)),
            v if v.has_fun() => self.shaped(v.clone(), &l),
            v => match self.layout_of_val(v) {
                Ok(m) if m == l => Ok(v.clone()),
                Ok(_) => Err(self.no("a result that is laid out differently from its type")),
                Err(e) => Err(e),
            },
        }
    }

    /// Calls an IR function with the leaves of its inputs.
    pub(crate) fn emit_call(
        &mut self,
        t: &IrTarget,
        inputs: &[Val],
        rule: Option<Rule>,
        checkpoint: bool,
    ) -> Attempt<Val> {
        let args = self.arguments(inputs, &t.globals)?;
        let (outs, _) = self.b.emit(Op::Call { f: t.id, args, lin_args: Vec::new(), rule, checkpoint }, &t.tys, &[]);
        Ok(t.result.with(&outs))
    }

    /// The leaves of the globals and of the inputs.
    pub(crate) fn arguments(&mut self, inputs: &[Val], globals: &[GlobalId]) -> Attempt<Vec<Var>> {
        let mut args: Vec<Var> = Vec::new();
        for g in globals {
            match self.globals.get(g) {
                Some(v) => args.extend(v.leaves()),
                None => return Err(self.no("a top-level value that is not there")),
            }
        }
        args.extend(inputs.iter().flat_map(Val::leaves));
        Ok(args)
    }

    /// The variable of a value that consists of one leaf.
    pub(crate) fn leaf(&self, v: &Val) -> Attempt<Var> {
        match v {
            Val::Leaf(x) | Val::Data(x, _) => Ok(*x),
            _ => Err(self.no("an operation on a value that is not one number, text or array")),
        }
    }

    /// The function of a functional value.
    pub(crate) fn function_of(&self, v: &Val) -> Attempt<Rc<Fun>> {
        match v {
            Val::Fun(f) => Ok(f.clone()),
            _ => Err(self.no("an application of something that is not a function")),
        }
    }

    /// The layout of a type under the current substitution.
    pub(crate) fn layout_at(&mut self, t: &Ty) -> Attempt<Layout> {
        let t = self.ty(t);
        self.layout(&t)
    }
}

/// The number of arguments that a function still takes.
pub(crate) fn arity(f: &Fun) -> usize {
    match f {
        Fun::Closure(c) => c.hidden.len() + c.lam.params.len(),
        Fun::Prim(p, _) => p.row().arity as usize,
        Fun::Partial(g, args) => arity(g).saturating_sub(args.len()),
        Fun::Custom { .. } | Fun::Checkpoint(_) | Fun::Linear(_) | Fun::Boxed(..) => 1,
        Fun::Tagged(_, fs) => fs.iter().map(|f| arity(f)).min().unwrap_or(1),
    }
}

/// The type of a function after `given` of its parameters.
fn function_type(lam: &Lambda, given: usize) -> Ty {
    let params = lam.params.iter().skip(given);
    params.rev().fold(lam.body.ty.clone(), |r, p| Ty::Fun(Rc::new(p.ty.clone()), Rc::new(r)))
}

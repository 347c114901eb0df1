//! Derivative operators on known functions, computed by [`crate::Transforms`].

use crate::Linearized;
use crate::call::ResultPromise;
use crate::key::KeyToken;
use crate::val::{Fun, KnownRep, Linear, Val};
use crate::{Attempt, Spec, Unsupported};
use adl_ir::{Conv, Lit, Op, Rule, RuleKind, Ty as IrTy, Var};
use adl_prim::{Bin, DerivativeFn, Prim};
use std::rc::Rc;

const CAPTURES: &str = "a custom derivative whose functions capture numbers of the differentiated function";

/// A function of data, as an IR function.
pub(crate) struct DerivableFunction {
    pub target: crate::call::IrTarget,
    /// The argument and the function, whose leaves are the parameters.
    inputs: [Val; 2],
    /// Which parameters are differentiated.
    pub wrt: Vec<bool>,
}

impl Spec<'_> {
    /// The derivative operators (docs/book/src/reference/differentiation.md) and their helpers.
    pub(crate) fn derivative_prim(&mut self, prim: DerivativeFn, reps: Vec<Val>, args: &[Val]) -> Attempt<Val> {
        match prim {
            DerivativeFn::Grad => Ok(self.value_and_grad(&args[0], &args[1])?.1),
            // Plans have no effect inside differentiated code: they do not change results.
            DerivativeFn::GradWith => Ok(self.value_and_grad(&args[1], &args[2])?.1),
            DerivativeFn::ValueAndGrad | DerivativeFn::ValueAndGradWith => {
                let k = usize::from(prim == DerivativeFn::ValueAndGradWith);
                let (y, g) = self.value_and_grad(&args[k], &args[k + 1])?;
                Ok(pair(y, g))
            }
            DerivativeFn::Jvp => {
                let (y, t) = self.jvp(&args[0], &args[1], &args[2])?;
                Ok(pair(y, t))
            }
            DerivativeFn::Hvp => {
                let g = gradient_of(&args[0], reps);
                Ok(self.jvp(&g, &args[1], &args[2])?.1)
            }
            DerivativeFn::Linearize | DerivativeFn::Vjp => {
                let Some(mut l) = self.linear_at(&args[0], &args[1])? else { return Ok(Val::Bottom) };
                l.transposed = prim == DerivativeFn::Vjp;
                Ok(Val::Tuple(vec![l.y.clone(), Val::fun(Fun::Linear(l))]))
            }
            DerivativeFn::Transpose => self.transpose_fun(&args[0], None, &reps),
            DerivativeFn::TransposeAt => self.transpose_fun(&args[1], Some(&args[0]), &reps),
            DerivativeFn::Jacobian | DerivativeFn::Jacfwd | DerivativeFn::Jacrev => {
                self.jacobian(prim, &args[0], &args[1])
            }
            DerivativeFn::Hessian => {
                // The hidden argument here is the type of the numbers, not of the point.
                let g = gradient_of(&args[0], Vec::new());
                self.jacobian(DerivativeFn::Jacfwd, &g, &args[1])
            }
            DerivativeFn::StopGrad if args[0].has_fun() => Err(self.no("`stop_grad` of a function")),
            DerivativeFn::StopGrad => {
                Ok(self.leafwise(&args[0], &mut |s, x, t| s.b.prim(DerivativeFn::StopGrad, &[x], t)))
            }
            DerivativeFn::Checkpoint => Ok(Val::fun(Fun::Checkpoint(args[0].clone()))),
            DerivativeFn::CustomJvp | DerivativeFn::CustomVjp if self.captures_numbers(args)? => Err(self.no(CAPTURES)),
            DerivativeFn::CustomJvp | DerivativeFn::CustomVjp => Ok(Val::fun(Fun::Custom {
                vjp: prim == DerivativeFn::CustomVjp,
                f: args[0].clone(),
                rule: args[1].clone(),
            })),
            DerivativeFn::Ravel => self.ravel(&args[0]),
            DerivativeFn::Unravel => self.unravel(&args[0], &args[1]),
            DerivativeFn::EngineGrad => self.engine_gradient(&args[1], &args[2]),
            DerivativeFn::Engine => {
                Err(self.no("the cost of an engine of reverse mode, which is measured while it runs"))
            }
            DerivativeFn::JacobianSparse
            | DerivativeFn::Gradcheck
            | DerivativeFn::ResidualsUnder
            | DerivativeFn::Cost => {
                Err(self.no(format!("`{}` inside a differentiated function", Prim::from(prim).name())))
            }
        }
    }

    /// `f` as an IR function of the leaves of `point` and of its captured values, or `None` after code that fails.
    ///
    /// A derivative needs the whole body of what it differentiates. If `f` reaches a function whose body is still being
    /// made, as in a derivative of a function inside itself, everything that `f` reaches is made once more, for one more
    /// level of such derivatives. Below the last level is an error, after which the code is specialised to one level more,
    /// or the run is repeated with a tape.
    pub(crate) fn known(&mut self, f: &Val, point: &Val) -> Attempt<Option<DerivableFunction>> {
        let outer = self.early.inside;
        let found = loop {
            match self.derivable(f, point) {
                Ok(Some(made)) if self.p.is_complete(made.target.id, &mut self.early.complete) => break Ok(Some(made)),
                Ok(_) if self.early.inside < self.world.assumptions().levels => self.early.inside += 1,
                Ok(_) => break Ok(None),
                Err(e) => break Err(e),
            }
        };
        self.early.inside = outer;
        if matches!(found, Ok(None)) {
            self.fail(crate::DEEPER);
        }
        found
    }

    /// The same, or `None` if that function is being made already, or always fails.
    fn derivable(&mut self, function: &Val, point: &Val) -> Attempt<Option<DerivableFunction>> {
        if point.has_fun() {
            return Err(self.no("a derivative with respect to a function"));
        }
        let inputs = [point.clone(), function.clone()];
        let key = self.key(vec![KeyToken::What("at")], &inputs)?;
        if self.cache.made.get(&key).is_some_and(|made| made.result.is_none()) {
            return Ok(None);
        }
        let target = self.outline(key, "fun", &inputs, ResultPromise::Nothing, &mut |s, vals| {
            let f = s.function_of(&vals[1])?;
            s.call(&f, vec![vals[0].clone()], None)
        })?;
        let target = self.without_output(target, "a function that is differentiated inside another")?;
        self.freeze_function_data()?;
        if matches!(target.result, Val::Bottom) {
            return Ok(None);
        }
        self.bearable_result(&target)?;
        let mut before = 0;
        for g in target.globals.iter() {
            before += self.globals.get(g).map_or(0, |v| v.leaves().len());
        }
        let own = before..before + point.leaves().len();
        let wrt = (0..self.p.func(target.id).body.params.len()).map(|k| own.contains(&k)).collect();
        Ok(Some(DerivableFunction { target, inputs, wrt }))
    }

    /// Adds the place of the derivative to a failure of a transformation that has no place.
    fn located(&self, e: Unsupported) -> Unsupported {
        if crate::nowhere(e.span) { self.no(e.why) } else { e }
    }

    /// Whether functions capture differentiable values. (Whether their derivatives matter is seen only when a rule is
    /// used.)
    pub(crate) fn captures_numbers(&mut self, vals: &[Val]) -> Attempt<bool> {
        self.freeze_function_data()?;
        Ok(vals.iter().flat_map(Val::leaves).any(|v| self.has_tangent(v)))
    }

    fn bearable_result(&self, t: &crate::call::IrTarget) -> Attempt<()> {
        if t.result.has_fun() {
            return Err(self.no("a derivative of a function whose result is a function"));
        }
        if matches!(t.result, Val::Bottom) {
            return Err(self.no("a derivative of a function that always stops with an error"));
        }
        Ok(())
    }

    /// The value and the derivative at a point.
    fn linear_at(&mut self, f: &Val, x: &Val) -> Attempt<Option<Linear>> {
        self.known(f, x)?.map(|k| self.linear_of(&k)).transpose()
    }

    pub(crate) fn linear_of(&mut self, k: &DerivableFunction) -> Attempt<Linear> {
        let Linearized { primal, results, tangent, cotangent, active } =
            self.t.linearize(self.p, k.target.id, &k.wrt).map_err(|e| self.located(e))?;
        let args = self.arguments(&k.inputs, &k.target.globals)?;
        let outs = self.call_derivative(primal, &args);
        let y = k.target.result.with(&outs[..results]);
        Ok(Linear {
            tangent,
            cotangent,
            transposed: false,
            x: k.inputs[0].clone(),
            y,
            active,
            residuals: outs[results..].to_vec(),
        })
    }

    /// Applies a derivative or its transpose.
    pub(crate) fn apply_linear(&mut self, l: &Linear, v: &Val) -> Attempt<Val> {
        let (f, to) = if l.transposed { (l.cotangent, &l.x) } else { (l.tangent, &l.y) };
        let active = |k: usize| l.active.get(k).copied().unwrap_or(false);
        let mut args = l.residuals.clone();
        for (k, x) in v.leaves().into_iter().enumerate() {
            if !l.transposed || active(k) {
                args.extend(self.tangent_in(x)?);
            }
        }
        let outs = self.call_derivative(f, &args);
        self.tangent_at(to, &|k| l.transposed || active(k), &outs)
    }

    /// Builds the user-level tangent from the tangents of the active leaves.
    fn tangent_at(&mut self, primal: &Val, active: &dyn Fn(usize) -> bool, outs: &[Var]) -> Attempt<Val> {
        // One tangent for each leaf that has one, active or not.
        let (mut next, mut given) = (outs.iter().copied(), Vec::new());
        for (k, x) in primal.leaves().into_iter().enumerate() {
            if self.has_tangent(x) {
                given.push(if active(k) { next.next().unwrap_or(x) } else { x });
            }
        }
        self.tangent_of(primal, active, &mut given.into_iter())
    }

    fn value_and_grad(&mut self, f: &Val, x: &Val) -> Attempt<(Val, Val)> {
        let Some(mut l) = self.linear_at(f, x)? else { return Ok((Val::Bottom, Val::Bottom)) };
        l.transposed = true;
        let y = self.leaf(&l.y)?;
        let one = Val::Leaf(self.b.real(1.0, y));
        let g = self.apply_linear(&l, &one)?;
        Ok((l.y, g))
    }

    /// The gradient by an engine, which is that of `grad`. It is a function of its own, so that code which runs engines
    /// is known ([`crate::Entry::engines`]).
    fn engine_gradient(&mut self, f: &Val, x: &Val) -> Attempt<Val> {
        let inputs = [x.clone(), f.clone()];
        let key = self.key(vec![KeyToken::What("engine")], &inputs)?;
        let t = self.outline(key, "engine", &inputs, ResultPromise::Nothing, &mut |s, vals| {
            Ok(s.value_and_grad(&vals[1], &vals[0])?.1)
        })?;
        let t = self.without_effects(t, "a function that an engine differentiates")?;
        self.cache.engines.insert(t.id);
        self.emit_call(&t, &inputs, None, false)
    }

    fn jvp(&mut self, f: &Val, x: &Val, v: &Val) -> Attempt<(Val, Val)> {
        let Some(k) = self.known(f, x)? else { return Ok((Val::Bottom, Val::Bottom)) };
        let (g, active) = self.t.jvp(self.p, k.target.id, &k.wrt).map_err(|e| self.located(e))?;
        let mut args = self.arguments(&k.inputs, &k.target.globals)?;
        let n = k.target.tys.len();
        args.extend(self.tangents_in(v)?);
        let outs = self.call_derivative(g, &args);
        let y = k.target.result.with(&outs[..n]);
        let t = self.tangent_at(&y, &|k| active.get(k).copied().unwrap_or(false), &outs[n..])?;
        Ok((y, t))
    }

    /// The transpose of a linear function. For a derivative, this flips its direction. Any other linear function is its
    /// own derivative, taken here at 0.
    fn transpose_fun(&mut self, function: &Val, like: Option<&Val>, reps: &[Val]) -> Attempt<Val> {
        if let Val::Fun(g) = function
            && let Fun::Linear(l) = &**g
        {
            return Ok(Val::fun(Fun::Linear(Linear { transposed: !l.transposed, ..l.clone() })));
        }
        let input = match (like, reps.first()) {
            (Some(x), _) => self.zero_tangent(x)?,
            (None, Some(Val::Rep(r))) if known_shape(r) => self.zero(&KnownRep::clone(r))?,
            _ => return Err(self.no("`transpose` of a linear function whose input's shape is not known")),
        };
        let Some(l) = self.linear_at(function, &input)? else { return Ok(Val::Bottom) };
        Ok(Val::fun(Fun::Linear(Linear { transposed: true, ..l })))
    }

    /// `checkpoint f` applied.
    pub(crate) fn call_checkpoint(&mut self, f: &Val, x: &Val) -> Attempt<Val> {
        let inputs = [x.clone(), f.clone()];
        let key = self.key(vec![KeyToken::What("at")], &inputs)?;
        let t = self.outline(key, "fun", &inputs, ResultPromise::Nothing, &mut |s, vals| {
            let f = s.function_of(&vals[1])?;
            s.call(&f, vec![vals[0].clone()], None)
        })?;
        if self.has_effects(&t) {
            // A checkpoint would run the effects again.
            let f = self.function_of(f)?;
            return self.call(&f, vec![x.clone()], None);
        }
        self.emit_call(&t, &inputs, None, true)
    }

    /// A function with a rule of its own, applied.
    pub(crate) fn call_custom(&mut self, vjp: bool, f: &Val, rule: &Val, x: &Val) -> Attempt<Val> {
        let inputs = [x.clone(), f.clone(), rule.clone()];
        let key = self.key(vec![KeyToken::What("custom")], &inputs)?;
        let target = self.outline(key, "custom", &inputs, ResultPromise::Nothing, &mut |s, vals| {
            let f = s.function_of(&vals[1])?;
            s.call(&f, vec![vals[0].clone()], None)
        })?;
        let t = self.without_effects(target, "a function with a custom derivative")?;
        if x.has_fun() {
            return Err(self.no("a derivative with respect to a function"));
        }
        self.bearable_result(&t)?;
        self.freeze_function_data()?;
        let func = self.rule(vjp, &inputs, &t)?;
        let kind = if vjp { RuleKind::Vjp } else { RuleKind::Jvp };
        self.emit_call(&t, &inputs, Some(Rule { kind, func }), false)
    }

    /// The custom rule as an IR function `(args, t…) -> (results, u…)`.
    fn rule(&mut self, vjp: bool, inputs: &[Val; 3], t: &crate::call::IrTarget) -> Attempt<adl_ir::FnId> {
        // Placeholder variables for the tangents: only their types matter.
        let like: Vec<IrTy> = if vjp {
            t.tys.clone()
        } else {
            self.arguments(inputs, &t.globals)?.iter().map(|v| self.b.ty(*v)).collect()
        };
        let mut given = Vec::new();
        for t in like {
            if let Some(t) = self.t.tangent_ty(self.p, &t) {
                given.push(self.b.func.fresh(t, false));
            }
        }
        let mut all: Vec<Val> = inputs.to_vec();
        all.extend(given.into_iter().map(Val::Leaf));
        let key = self.key(vec![KeyToken::What(if vjp { "vjp rule" } else { "jvp rule" })], &all)?;
        let rule = self.outline(key, "rule", &all, ResultPromise::Nothing, &mut |s, vals| s.rule_body(vjp, vals))?;
        Ok(self.without_effects(rule, "a custom derivative")?.id)
    }

    /// `vals`: the argument, the function, the rule, and the tangents or cotangents.
    fn rule_body(&mut self, vjp: bool, vals: &[Val]) -> Attempt<Val> {
        let (x, rule) = (&vals[0], self.function_of(&vals[2])?);
        let pair = self.call(&rule, vec![x.clone()], None)?;
        let Val::Tuple(parts) = &pair else { return Err(self.no("a custom derivative without a linear map")) };
        let map = self.function_of(&parts[1])?;
        let globals: Vec<Var> = self.globals.values().flat_map(Val::leaves).collect();
        let before: Vec<IrTy> = globals.into_iter().filter_map(|v| self.tangent_ty(v)).collect();
        let skip = if vjp { 0 } else { before.len() };
        let mut given = vals[3..].iter().flat_map(Val::leaves).skip(skip);
        let to = if vjp { &parts[0] } else { x };
        let direction = self.tangent_of(to, &|_| true, &mut given)?;
        let u = self.call(&map, vec![direction], None)?;
        let mut out = parts[0].leaves();
        // By the rule, everything except the argument has a zero derivative.
        if vjp {
            before.into_iter().for_each(|t| out.push(self.b.one(Op::Zero(t.clone()), t)));
        }
        out.extend(self.tangents_in(&u)?);
        if vjp {
            let rest: Vec<Var> = vals[1..3].iter().flat_map(Val::leaves).collect();
            let rest: Vec<IrTy> = rest.into_iter().filter_map(|v| self.tangent_ty(v)).collect();
            rest.into_iter().for_each(|t| out.push(self.b.one(Op::Zero(t.clone()), t)));
        }
        Ok(Val::Tuple(out.into_iter().map(Val::Leaf).collect()))
    }

    fn no_data_inside(&self, v: &Val) -> Attempt<()> {
        let data = v.leaves().iter().any(|x| matches!(self.b.ty(*x).scalar(), IrTy::Data(_)));
        if data { Err(self.no("`ravel` of declared data")) } else { Ok(()) }
    }

    /// Flattens the real leaves of data to one vector of Floats.
    fn ravel(&mut self, value: &Val) -> Attempt<Val> {
        self.no_data_inside(value)?;
        let mut out: Option<Val> = None;
        for x in value.leaves() {
            if !self.has_tangent(x) {
                continue;
            }
            let x = if *self.b.ty(x).scalar() == IrTy::F32 { self.b.convert(Conv::ToF64, x) } else { x };
            let part =
                if self.b.ty(x).rank() == 0 { self.stacked(&[Val::Leaf(x)])? } else { self.flat(&Val::Leaf(x))? };
            out = Some(match out {
                None => part,
                Some(all) => self.concat(&all, &part)?,
            });
        }
        match out {
            Some(v) => Ok(v),
            None => {
                let (n, zero) = (self.int(0), self.lit(Lit::F64(0.0)));
                Ok(Val::Leaf(self.b.one(Op::Replicate { n, a: zero }, IrTy::F64.array(1))))
            }
        }
    }

    /// Data with the structure of `like` and real leaves from a vector.
    fn unravel(&mut self, like: &Val, v: &Val) -> Attempt<Val> {
        self.no_data_inside(like)?;
        let all = self.leaf(v)?;
        let mut at = self.int(0);
        let out = self.leafwise(like, &mut |s, x, t| {
            if !s.has_tangent(x) {
                return x;
            }
            let (y, next) = s.unravel_leaf(all, at, x, &t);
            at = next;
            if *t.scalar() == IrTy::F32 { s.b.convert(Conv::ToF32, y) } else { y }
        });
        let n = self.b.dim(all, 0);
        self.same(n, at, "`unravel`: the vector has not as many numbers as the data");
        Ok(out)
    }

    fn unravel_leaf(&mut self, all: Var, at: Var, template: Var, ty: &IrTy) -> (Var, Var) {
        let mut size = self.int(1);
        if ty.rank() == 0 {
            let next = self.b.bin(Bin::Add, at, size);
            return (self.b.one(Op::Index { a: all, at: vec![at], shape: None }, IrTy::F64), next);
        }
        for k in 0..ty.rank() {
            let n = self.b.dim(template, k);
            size = self.b.bin(Bin::Mul, size, n);
        }
        let next = self.b.bin(Bin::Add, at, size);
        let part = self.b.one(Op::Slice { a: all, lo: at, hi: next, shape: None }, IrTy::F64.array(1));
        let to = self.b.shape(template);
        (self.b.one(Op::Reshape { a: part, to, from: None }, IrTy::F64.array(ty.rank())), next)
    }
}

/// The function `grad f`.
fn gradient_of(f: &Val, reps: Vec<Val>) -> Val {
    let grad = Fun::Prim(Prim::Derivative(DerivativeFn::Grad), reps);
    Val::fun(Fun::Partial(Rc::new(grad), vec![f.clone()]))
}

/// Whether all values of a type have the same shape.
fn known_shape(r: &KnownRep) -> bool {
    use crate::val::ArraySize;
    match r {
        KnownRep::Base(t) => !matches!(t, adl_typing::ty::Ty::Data(..)),
        KnownRep::Array(n, e) => !matches!(n, ArraySize::Unknown) && known_shape(e),
        KnownRep::Tuple(ps) => ps.iter().all(|p| known_shape(p)),
        KnownRep::Record(fs) => fs.iter().all(|f| known_shape(&f.1)),
        KnownRep::Other => false,
    }
}

/// A pair of results, if there are any.
fn pair(a: Val, b: Val) -> Val {
    if matches!(a, Val::Bottom) { a } else { Val::Tuple(vec![a, b]) }
}

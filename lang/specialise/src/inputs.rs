//! Values from outside the specialised code: arguments, captured values, globals. Their leaves are the entry's
//! parameters.

use crate::info::local_types;
use crate::limits::inputs::DEEPEST;
use crate::types::{apply, closed};
use crate::val::{Closure, Fun, Val};
use crate::{Attempt, Entry, EntryInput, FunView, Root, Spec, Unsupported, ValueKind, ValuePath};
use adl_ir::Builder;
use adl_syntax::symbol::Symbol;
use adl_typing::core::{Def, Expr, ExprKind, GlobalId, Lambda, Local};
use adl_typing::ty::{self, Ty};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

impl ValuePath {
    fn then(&self, step: u32) -> ValuePath {
        let mut p = self.clone();
        p.steps.push(step);
        p
    }
}

/// Whether a type contains a function type.
fn functional(t: &Ty) -> bool {
    matches!(t, Ty::Fun(..) | Ty::Lin(..))
}

impl Spec<'_> {
    /// Specialises the function at [`Root::Fun`].
    pub(crate) fn entry(&mut self, args: &[Ty]) -> Result<Entry, Unsupported> {
        let mut inputs = Vec::new();
        let mut vals = Vec::new();
        for (i, t) in args.iter().enumerate() {
            let place = ValuePath { root: Root::Arg(i as u32), steps: Vec::new() };
            vals.push(if functional(t) {
                self.outside(place, None, &mut inputs)?
            } else {
                self.data_input(place, t, &mut inputs)?
            });
        }
        let function = self.outside(ValuePath { root: Root::Fun, steps: Vec::new() }, None, &mut inputs)?;
        let fun = self.function_of(&function)?;
        let roots: Vec<Val> = vals.iter().cloned().chain([Val::Fun(fun.clone())]).collect();
        self.global_inputs(&roots, &mut inputs)?;
        self.b.func.name = name(&fun);
        let v = self.entry_body(&fun, vals)?;
        let result = self.layout_of_val(&v)?;
        if self.holds_functions(&result) {
            return Err(self.no("a result that is a function"));
        }
        self.write_apply_functions()?;
        let b = std::mem::replace(&mut self.b, Builder::new(""));
        let func = self.p.add(b.finish(v.leaves(), Vec::new()));
        Ok(Entry {
            func,
            inputs,
            result,
            datas: self.cache.layouts.clone(),
            effects: self.effects > 0,
            engines: self.p.callees(func, |_, _| true).iter().any(|f| self.cache.engines.contains(f)),
            host_calls: self.cache.host_calls.clone(),
        })
    }

    /// The body of the function is inlined into the entry.
    fn entry_body(&mut self, f: &Rc<Fun>, args: Vec<Val>) -> Attempt<Val> {
        match &**f {
            Fun::Closure(c) if crate::call::arity(f) == args.len() && !self.recursive(c) => self.enter(c, &args),
            Fun::Partial(g, first) => {
                let all = first.iter().cloned().chain(args).collect();
                self.entry_body(g, all)
            }
            _ => self.call(f, args, None),
        }
    }

    /// Whether a function can reach itself. Then it is not inlined.
    pub(crate) fn recursive(&mut self, closure: &Closure) -> bool {
        if closure.group.is_some() {
            return true;
        }
        let mut todo = self.info(&closure.hidden, &closure.lam).globals.clone();
        let mut seen = std::collections::BTreeSet::new();
        while let Some(g) = todo.pop() {
            if !seen.insert(g) {
                continue;
            }
            if let Some((hidden, lam)) = self.global_code(g) {
                if Rc::ptr_eq(&lam, &closure.lam) {
                    return true;
                }
                todo.extend(self.info(&hidden, &lam).globals.iter().copied());
            }
        }
        false
    }

    fn data_input(&mut self, place: ValuePath, t: &Ty, inputs: &mut Vec<EntryInput>) -> Attempt<Val> {
        let layout = self.layout(t)?;
        if self.holds_functions(&layout) {
            return Err(self.no("functions inside declared data that was made outside"));
        }
        let b = &mut self.b;
        let v = Self::build(&layout, &mut |t| b.param(t));
        inputs.push(EntryInput { place, layout });
        Ok(v)
    }

    /// The abstract value of a place. Its data become inputs. `ty`: its type, if Core states it.
    fn outside(&mut self, place: ValuePath, ty: Option<Ty>, inputs: &mut Vec<EntryInput>) -> Attempt<Val> {
        if place.steps.len() > DEEPEST {
            return Err(self.no("functions that contain ever more functions"));
        }
        match self.world.view(&place) {
            ValueKind::Opaque(why) => Err(self.no(why)),
            ValueKind::Rep(t) => Ok(Val::Rep(Rc::new(Self::rep_of_ty(&t)))),
            ValueKind::Data => self.captured_data(place, ty, inputs),
            ValueKind::Fun(f) => self.outside_fun(place, f, inputs),
            ValueKind::Tuple(n) => {
                let part = |k: u32| match &ty {
                    Some(Ty::Tuple(ts)) => ts.get(k as usize).cloned(),
                    _ => None,
                };
                Ok(Val::Tuple((0..n).map(|k| self.outside(place.then(k), part(k), inputs)).collect::<Attempt<_>>()?))
            }
            ValueKind::Record(names) => {
                let field = |n: Symbol| match &ty {
                    Some(Ty::Record(r)) => r.fields.iter().find(|f| f.0 == n).map(|f| f.1.clone()),
                    _ => None,
                };
                let fields = names
                    .into_iter()
                    .enumerate()
                    .map(|(k, n)| Ok((n, self.outside(place.then(k as u32), field(n), inputs)?)));
                Ok(Val::Record(fields.collect::<Attempt<_>>()?))
            }
            ValueKind::Array(n) => {
                let elem = match &ty {
                    Some(Ty::Array(_, e)) => Some((**e).clone()),
                    _ => None,
                };
                self.outside_elements(&place, n, elem.as_ref(), inputs)
            }
        }
    }

    /// An array of the elements at a place.
    fn outside_elements(
        &mut self,
        place: &ValuePath,
        n: u32,
        elem: Option<&Ty>,
        inputs: &mut Vec<EntryInput>,
    ) -> Attempt<Val> {
        let elems = (0..n).map(|k| self.outside(place.then(k), elem.cloned(), inputs)).collect::<Attempt<Vec<_>>>()?;
        self.global_inputs(&elems, inputs)?;
        if elems.iter().any(Val::has_fun) { self.stack_tagged_functions(&elems, elem) } else { self.stacked(&elems) }
    }

    /// Data at a place. `ty`: its type, if Core states it. Type variables in it belong to a polymorphic top-level value
    /// and have no instance.
    fn captured_data(&mut self, place: ValuePath, ty: Option<Ty>, inputs: &mut Vec<EntryInput>) -> Attempt<Val> {
        let told = ty.clone().filter(closed).or_else(|| self.world.ty(&place)).filter(closed);
        let known = told.or_else(|| ty.filter(is_polymorphic_only_in_data));
        let Some(known_ty) = known else { return Err(self.no("a captured value whose type is not known")) };
        if !self.functions_in(&known_ty)? {
            return self.data_input(place, &known_ty, inputs);
        }
        match &known_ty {
            Ty::Data(id, args) => self.rebuild_data(place, *id, args, inputs),
            Ty::Tuple(ts) => {
                let parts = ts.iter().enumerate().map(|(k, t)| self.captured_part(&place, k, t, inputs));
                Ok(Val::Tuple(parts.collect::<Attempt<_>>()?))
            }
            Ty::Record(r) => {
                let part = |(k, (n, t)): (usize, &(Symbol, Ty))| Ok((*n, self.captured_part(&place, k, t, inputs)?));
                Ok(Val::Record(r.fields.iter().enumerate().map(part).collect::<Attempt<_>>()?))
            }
            Ty::Array(_, elem) => match self.world.length(&place) {
                Some(0) => self.empty(&known_ty),
                Some(n) => self.outside_elements(&place, n, Some(elem), inputs),
                None => self.data_input(place, &known_ty, inputs),
            },
            _ => self.data_input(place, &known_ty, inputs),
        }
    }

    fn captured_part(&mut self, whole: &ValuePath, k: usize, ty: &Ty, inputs: &mut Vec<EntryInput>) -> Attempt<Val> {
        self.outside(whole.then(k as u32), Some(ty.clone()), inputs)
    }

    fn functions_in(&mut self, t: &Ty) -> Attempt<bool> {
        let layout = self.layout(t)?;
        Ok(self.holds_functions(&layout))
    }

    /// Declared data that contains functions is rebuilt from its fields.
    fn rebuild_data(
        &mut self,
        place: ValuePath,
        id: ty::DataId,
        args: &[Ty],
        inputs: &mut Vec<EntryInput>,
    ) -> Attempt<Val> {
        let (Some((tag, n)), Some(decl)) = (self.world.constructor(&place), self.world.data(id)) else {
            return Err(self.no("functions inside declared data that was made outside"));
        };
        let d = self.data(id, args)?;
        let types: BTreeMap<_, _> = decl.params.iter().copied().zip(args.iter().cloned()).collect();
        let wanted = decl.cons.get(tag as usize).map(|c| c.fields.clone()).unwrap_or_default();
        let mut parts = Vec::new();
        for k in 0..n {
            let t = wanted.get(k as usize).map(|t| apply(&types, t));
            let v = self.outside(place.then(k), t, inputs)?;
            self.global_inputs(std::slice::from_ref(&v), inputs)?;
            parts.push(v);
        }
        self.con(d, tag, &parts)
    }

    fn outside_fun(&mut self, place: ValuePath, view: FunView, inputs: &mut Vec<EntryInput>) -> Attempt<Val> {
        Ok(Val::fun(match view {
            FunView::Prim(p) => Fun::Prim(p, Vec::new()),
            FunView::Closure { hidden, lam, captured } => {
                let env = self.outside_env(&place, &local_types(&lam), &captured, inputs)?;
                Fun::Closure(Closure { lam, hidden: hidden.into(), group: None, env, subst: Rc::new(BTreeMap::new()) })
            }
            FunView::Member { group, index, captured } => {
                let mut types = HashMap::new();
                group.iter().for_each(|(_, _, lam)| types.extend(local_types(lam)));
                let env = self.outside_env(&place, &types, &captured, inputs)?;
                let group: Vec<(Local, Rc<[Local]>, Rc<Lambda>)> =
                    group.into_iter().map(|(l, h, lam)| (l, h.into(), lam)).collect();
                let Some((_, hidden, lam)) = group.get(index as usize).cloned() else {
                    return Err(self.no("a recursive group without that member"));
                };
                Fun::Closure(Closure { lam, hidden, group: Some(Rc::new(group)), env, subst: Rc::new(BTreeMap::new()) })
            }
            FunView::Partial(n) => {
                let g = self.outside(place.then(0), None, inputs)?;
                let g = self.function_of(&g)?;
                let args = (1..=n)
                    .map(|k| self.outside(place.then(k), parameter(&g, k as usize - 1), inputs))
                    .collect::<Attempt<_>>()?;
                Fun::Partial(g, args)
            }
            FunView::Custom { vjp } => {
                let (f, rule) =
                    (self.outside(place.then(0), None, inputs)?, self.outside(place.then(1), None, inputs)?);
                Fun::Custom { vjp, f, rule }
            }
            FunView::Checkpoint => Fun::Checkpoint(self.outside(place.then(0), None, inputs)?),
        }))
    }

    fn outside_env(
        &mut self,
        place: &ValuePath,
        types: &HashMap<Local, Ty>,
        captured: &[Local],
        inputs: &mut Vec<EntryInput>,
    ) -> Attempt<Rc<[(Local, Val)]>> {
        let mut env = Vec::new();
        for (k, l) in captured.iter().enumerate() {
            let t = types.get(l).map(|t| apply(&BTreeMap::new(), t)).filter(closed);
            env.push((*l, self.outside(place.then(k as u32), t, inputs)?));
        }
        Ok(env.into())
    }

    /// Adds inputs for the globals that code in these values can reach. The captured values of a global may reach
    /// further ones.
    fn global_inputs(&mut self, roots: &[Val], inputs: &mut Vec<EntryInput>) -> Attempt<()> {
        loop {
            let missing: Vec<GlobalId> =
                self.globals_of(roots).into_iter().filter(|g| !self.globals.contains_key(g)).collect();
            if missing.is_empty() {
                return Ok(());
            }
            for g in missing {
                let v = self.global_input(g, inputs)?;
                let mut all = (*self.globals).clone();
                all.insert(g, v);
                self.globals = Rc::new(all);
            }
        }
    }

    fn global_input(&mut self, g: GlobalId, inputs: &mut Vec<EntryInput>) -> Attempt<Val> {
        let place = ValuePath { root: Root::Global(g), steps: Vec::new() };
        let def = self.world.global(g);
        if let (ValueKind::Opaque(_), Some(def)) = (
            self.world.view(&place),
            def.as_ref().filter(|d| !matches!(*d.expr.kind, ExprKind::Lit(adl_typing::core::CoreLit::Unit))),
        ) {
            // An opaque value. Its Core definition, if available, is evaluated here. (The globals that it needs come
            // first.)
            let c = Closure {
                lam: self.thunk(&def.expr)?,
                hidden: Rc::new([]),
                group: None,
                env: Rc::new([]),
                subst: Rc::new(BTreeMap::new()),
            };
            self.global_inputs(&[Val::fun(Fun::Closure(c.clone()))], inputs)?;
            return self.enter(&c, &[]);
        }
        let ty = def.map(|d| apply(&BTreeMap::new(), &d.scheme.ty));
        self.outside(place, ty, inputs)
    }

    /// The code of a global that is a function literal.
    pub(crate) fn global_code(&mut self, g: GlobalId) -> Option<(Rc<[Local]>, Rc<Lambda>)> {
        let def = self.world.global(g)?;
        self.def_code(&def)
    }

    fn def_code(&mut self, def: &Rc<Def>) -> Option<(Rc<[Local]>, Rc<Lambda>)> {
        let code = |hidden: &[Local], e: &Expr| match &*e.kind {
            ExprKind::Lam(lam) => Some((Rc::from(hidden), lam.clone())),
            _ => None,
        };
        match &*def.expr.kind {
            ExprKind::Abs(ls, inner) => {
                code(ls, inner).or_else(|| Some((Rc::from(ls.as_slice()), self.thunk(inner).ok()?)))
            }
            _ => code(&[], &def.expr),
        }
    }

    /// The value of a global.
    pub(crate) fn global_val(&mut self, g: GlobalId) -> Attempt<Val> {
        if let Some((hidden, lam)) = self.global_code(g) {
            return Ok(Val::fun(Fun::Closure(Closure {
                lam,
                hidden,
                group: None,
                env: Rc::new([]),
                subst: Rc::new(BTreeMap::new()),
            })));
        }
        self.globals.get(&g).cloned().ok_or_else(|| self.no("a top-level value that is not there"))
    }
}

/// Whether the variables of a type occur only inside declared data.
fn is_polymorphic_only_in_data(t: &Ty) -> bool {
    match t {
        Ty::Data(..) => true,
        Ty::Tuple(ts) => ts.iter().all(is_polymorphic_only_in_data),
        Ty::Record(r) => r.tail.is_none() && r.fields.iter().all(|f| is_polymorphic_only_in_data(&f.1)),
        t => closed(t),
    }
}

/// The type of a parameter, if it has no type variables.
fn parameter(f: &Fun, k: usize) -> Option<Ty> {
    let Fun::Closure(c) = f else { return None };
    let t = &c.lam.params.get(k.checked_sub(c.hidden.len())?)?.ty;
    Some(apply(&c.subst, t)).filter(closed)
}

/// The source name of a function.
fn name(f: &Fun) -> String {
    match f {
        Fun::Closure(c) => c.lam.name.map_or("fun".to_owned(), |n| n.to_string()),
        Fun::Partial(g, _) => name(g),
        Fun::Prim(p, _) => p.name().to_owned(),
        Fun::Custom { .. } | Fun::Checkpoint(_) | Fun::Linear(_) | Fun::Tagged(..) | Fun::Boxed(..) => "fun".to_owned(),
    }
}

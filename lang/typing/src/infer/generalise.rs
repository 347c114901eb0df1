//! Generalisation and instantiation.

use super::op_constraints::OpConstraint;
use super::{Infer, map_type, mk, pending};
use crate::core::{self, ExprKind, Local};
use crate::env::Global;
use crate::errors::mismatch;
use crate::limits::infer_generalise::MAX_TYPE_SIZE;
use crate::ty::{Class, Constraint, OperationSite, Scheme, Size, SizeVar, Ty, TyVar};
use adl_prim::{ArrayFn, Prim, Typing};
use adl_syntax::ast;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The constraints that a definition leaves to its uses.
#[derive(Default)]
pub(super) struct DeferredConstraints {
    /// Operators that its signature lists.
    pub given: Vec<Constraint>,
    /// Operators on operands of unknown rank.
    pub ops: Vec<OpConstraint>,
}

impl Infer<'_> {
    /// Whether a type exceeds the size limit.
    pub(super) fn too_large(&self, t: &Ty) -> bool {
        let mut left = MAX_TYPE_SIZE;
        !self.within(t, &mut left)
    }

    /// Reports a type that is too large, once for each item: types derived from it would be too large as well.
    pub(super) fn report_large(&mut self, span: Span) {
        let d = mismatch::too_large(span);
        if !self.diags.iter().any(|e| e.message == d.message) {
            self.report(d);
        }
    }

    fn within(&self, ty: &Ty, left: &mut usize) -> bool {
        *left = left.saturating_sub(1);
        if *left == 0 {
            return false;
        }
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || match self.resolve(ty) {
            Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str | Ty::Var(_) | Ty::Meta(_) => true,
            Ty::Fun(a, b) | Ty::Lin(a, b) => self.within(&a, left) && self.within(&b, left),
            Ty::Tuple(parts) | Ty::Data(_, parts) => parts.iter().all(|p| self.within(p, left)),
            Ty::Array(_, e) => self.within(&e, left),
            Ty::Record(r) => {
                r.fields.iter().all(|(_, t)| self.within(t, left))
                    && r.tail.as_ref().is_none_or(|t| self.within(t, left))
            }
        })
    }

    /// Quantifies the variables of levels above the current one. Constrained variables are quantified only if
    /// `function`: any other value is computed once. `left` holds the constraints that each use decides.
    pub(super) fn generalise(&mut self, ty: &Ty, function: bool, left: DeferredConstraints, span: Span) -> Scheme {
        if self.too_large(ty) {
            self.report_large(span);
            return Scheme::mono(self.meta());
        }
        let ty = self.resolve_deep(ty);
        let free = free_in(&ty);
        let mut vars = Vec::new();
        // Data beside functions, as in `{f = sin, n = 2}`, is computed once.
        let of_functions = if function { in_functions(&ty) } else { HashSet::new() };
        for m in free.metas {
            vars.extend(self.quantify(m, of_functions.contains(&m)));
        }
        for v in free.rigid {
            if let Some((classes, name)) = self.annotated.rigid.get(&v) {
                // Variables of an enclosing definition's signature stay free.
                if !self.scope_has(v) {
                    vars.push((v, classes.clone(), *name));
                }
            }
        }
        let mut sizes: Vec<(SizeVar, Symbol)> = Vec::new();
        self.quantify_sizes(free.size_metas, &mut sizes);
        // Sizes that an enclosing definition's signature names are not quantified.
        for v in free.sizes.into_iter().filter(|v| !self.annotated.names_size(*v)) {
            let name = self.annotated.size_labels.get(&v).copied();
            sizes.push((v, name.unwrap_or_else(|| Symbol::new(""))));
        }
        self.leave_points(&vars);
        let mut determined = Vec::new();
        self.promised_variables(&left.given, &vars, &mut determined, &mut sizes);
        let ops = left.ops.into_iter().map(|op| self.constraint(op, &mut determined, &mut sizes));
        let constraints = left.given.iter().cloned().chain(ops).collect();
        Scheme { vars, sizes, constraints, determined, ty: self.resolve_deep(&ty) }
    }

    /// Records derivatives at types with quantified variables: each use checks that the type has a real leaf.
    fn leave_points(&mut self, vars: &[(TyVar, Vec<Class>, Symbol)]) {
        for (t, _, op) in &self.at_end.points {
            let t = self.resolve_deep(t);
            let free = free_in(&t);
            let first = free.rigid.into_iter().find(|v| vars.iter().any(|(w, ..)| w == v));
            // Inference variables that remain have no meaning outside this item.
            if let Some(v) = first.filter(|_| free.metas.is_empty()) {
                self.tables.points.entry(v).or_default().push((t, op));
            }
        }
    }

    /// Variables and sizes that only the constraints of a signature mention.
    fn promised_variables(
        &self,
        given: &[Constraint],
        vars: &[(TyVar, Vec<Class>, Symbol)],
        determined: &mut Vec<(TyVar, Vec<Class>)>,
        sizes: &mut Vec<(SizeVar, Symbol)>,
    ) {
        for c in given {
            let types: Vec<Ty> = c.args.iter().chain([&c.res]).cloned().collect();
            let free = free_in(&self.resolve_deep(&Ty::Tuple(types.into())));
            for v in free.rigid {
                if vars.iter().all(|(w, ..)| *w != v) && determined.iter().all(|(w, _)| *w != v) {
                    determined.push((v, self.rigid_classes(v)));
                }
            }
            for v in free.sizes {
                if sizes.iter().all(|(w, _)| *w != v) && !self.annotated.names_size(v) {
                    sizes.push((v, self.annotated.size_labels.get(&v).copied().unwrap_or_else(|| Symbol::new(""))));
                }
            }
        }
    }

    fn quantify_sizes(&mut self, metas: Vec<u32>, sizes: &mut Vec<(SizeVar, Symbol)>) {
        for m in metas {
            if self.vars.is_inner_size(m) {
                let v = self.tables.size();
                self.vars.bind_size(m, Size::Var(v));
                sizes.push((v, Symbol::new("")));
            }
        }
    }

    /// Converts an operator to a constraint of a scheme. Variables that only operators mention are determined by the
    /// others.
    fn constraint(
        &mut self,
        op: OpConstraint,
        determined: &mut Vec<(TyVar, Vec<Class>)>,
        sizes: &mut Vec<(SizeVar, Symbol)>,
    ) -> Constraint {
        let types: Vec<Ty> = op.args.iter().map(|a| a.0.clone()).chain([op.res]).collect();
        let free = free_in(&self.resolve_deep(&Ty::Tuple(types.clone().into())));
        for m in free.metas {
            determined.extend(self.quantify(m, true).map(|(v, classes, _)| (v, classes)));
        }
        self.quantify_sizes(free.size_metas, sizes);
        let mut types: Vec<Ty> = types.iter().map(|t| self.resolve_deep(t)).collect();
        let res = types.pop().unwrap_or(Ty::Unit);
        let place = || OperationSite {
            span: op.span,
            operands: op.args.iter().map(|a| a.1).collect(),
            within: self.enclosing.defining.last().map(|d| d.0),
        };
        Constraint { prim: op.prim, args: types, res, at: op.inside.unwrap_or_else(|| Rc::new(place())) }
    }

    /// Turns an inference variable that belongs to the definition into a quantified variable.
    fn quantify(&mut self, index: u32, function: bool) -> Option<(TyVar, Vec<Class>, Symbol)> {
        let meta = self.vars[index].clone();
        if meta.level <= self.vars.level {
            return None;
        }
        let classes: Vec<Class> = meta.classes.iter().map(|c| c.0).collect();
        if !function && classes.iter().any(|c| c.has_rep()) {
            self.vars[index].level = self.vars.level;
            return None;
        }
        let v = self.tables.var();
        if let Some((_, span, op)) = meta.classes.iter().find(|c| c.0 == Class::Data) {
            self.tables.reads.insert(v, (*span, op));
        }
        let name = meta.name.unwrap_or_else(|| Symbol::new(""));
        self.annotated.rigid.insert(v, (classes.clone(), name));
        self.vars[index].bound = Some(Ty::Var(v));
        Some((v, classes, name))
    }

    /// Whether a rigid variable occurs in the type of something in scope.
    pub(super) fn scope_has(&self, v: TyVar) -> bool {
        self.scope.iter().filter(|b| !b.closed.get()).any(|b| {
            let quantified: HashSet<TyVar> = b.scheme.vars.iter().map(|(w, _, _)| *w).collect();
            let free = free_in(&self.resolve_deep(&b.scheme.ty));
            b.closed.set(free.metas.is_empty() && free.rigid.iter().all(|w| quantified.contains(w)));
            !quantified.contains(&v) && free.rigid.contains(&v)
        })
    }

    /// Hidden parameters of a scheme's constrained variables.
    pub(super) fn hidden(&mut self, scheme: &Scheme) -> Vec<Local> {
        let vars: Vec<TyVar> = scheme.rep_vars().collect();
        vars.into_iter()
            .map(|v| match self.hidden.reps.get(&v) {
                Some(l) => *l,
                None => {
                    let l = self.local();
                    self.hidden.reps.insert(v, l);
                    l
                }
            })
            .collect()
    }

    /// Instantiates a scheme with fresh metas. Returns the type and the types of the hidden arguments.
    pub(super) fn instantiate(&mut self, scheme: &Scheme, span: Span, op: &'static str) -> (Ty, Vec<Ty>) {
        if scheme.vars.is_empty() && scheme.sizes.is_empty() && scheme.constraints.is_empty() {
            return (scheme.ty.clone(), Vec::new());
        }
        let mut map: HashMap<TyVar, Ty> = HashMap::new();
        let mut reps = Vec::new();
        for (var, classes, name) in &scheme.vars {
            // A descriptive name is kept.
            let told =
                Some(*name).filter(|n| !matches!(n.as_str(), "" | "a" | "b" | "c" | "d" | "e" | "f" | "g" | "h"));
            let t = self.constrained(classes, told, span, op);
            if let Some(at) = self.tables.reads.get(var) {
                self.at_end.reads.insert(span, *at);
            }
            if classes.iter().any(|c| c.has_rep()) {
                reps.push(t.clone());
            }
            map.insert(*var, t);
        }
        for (v, classes) in &scheme.determined {
            let t = self.constrained(classes, None, span, op);
            reps.push(t.clone());
            map.insert(*v, t);
        }
        let sizes: HashMap<SizeVar, Size> = scheme.sizes.iter().map(|(v, _)| (*v, self.size_meta())).collect();
        let of_var = |t: &Ty| if let Ty::Var(v) = t { map.get(v).cloned() } else { None };
        let at_use = |t: &Ty| {
            map_type(t, &mut |t| of_var(t), &mut |s| match s {
                Size::Var(v) => sizes.get(&v).copied().unwrap_or(s),
                s => s,
            })
        };
        let points = scheme.vars.iter().filter_map(|v| self.tables.points.get(&v.0)).flatten();
        self.at_end.points.extend(points.map(|(t, op)| (at_use(t), span, *op)));
        for c in scheme.constraints.iter() {
            if let (Prim::Array(ArrayFn::Append), true, Ty::Meta(m)) = (c.prim, c.args.contains(&c.res), at_use(&c.res))
            {
                self.vars[m].grows = true;
            }
            let args = c.args.iter().map(|t| (at_use(t), span)).collect();
            self.defer_new(OpConstraint { prim: c.prim, args, res: at_use(&c.res), span, inside: Some(c.at.clone()) });
        }
        (at_use(&scheme.ty), reps)
    }

    /// An inference variable with classes.
    fn constrained(&mut self, classes: &[Class], name: Option<Symbol>, span: Span, op: &'static str) -> Ty {
        let t = self.meta();
        if let Ty::Meta(m) = t {
            let meta = &mut self.vars[m];
            meta.name = name;
            meta.classes = classes.iter().map(|c| (*c, span, op)).collect();
            meta.scalar = classes.iter().any(|c| matches!(c, Class::Num | Class::Real));
        }
        t
    }

    /// A use of something with a scheme.
    pub(super) fn instance(&mut self, kind: ExprKind, scheme: &Scheme, span: Span, op: &'static str) -> core::Expr {
        let (ty, reps) = self.instantiate(scheme, span, op);
        let e = mk(kind, ty.clone(), span);
        if reps.is_empty() {
            return e;
        }
        mk(ExprKind::Inst(e, reps.iter().map(pending).collect()), ty, span)
    }
}

/// Variables of a resolved type, each once, in order.
#[derive(Default)]
struct FreeVariables {
    metas: Vec<u32>,
    rigid: Vec<TyVar>,
    size_metas: Vec<u32>,
    sizes: Vec<SizeVar>,
}

/// The inference variables in the types of functions.
fn in_functions(ty: &Ty) -> HashSet<u32> {
    let mut out = HashSet::new();
    map_type(
        ty,
        &mut |t| match t {
            Ty::Fun(..) | Ty::Lin(..) => {
                out.extend(free_in(t).metas);
                Some(t.clone())
            }
            _ => None,
        },
        &mut |s| s,
    );
    out
}

fn free_in(ty: &Ty) -> FreeVariables {
    let (mut out, mut sizes) = (FreeVariables::default(), Vec::new());
    let mut seen: HashSet<Ty> = HashSet::new();
    map_type(
        ty,
        &mut |t| {
            match t {
                Ty::Meta(m) if seen.insert(t.clone()) => out.metas.push(*m),
                Ty::Var(v) if seen.insert(t.clone()) => out.rigid.push(*v),
                _ => {}
            }
            None
        },
        &mut |s| {
            sizes.push(s);
            s
        },
    );
    let mut seen: HashSet<Size> = HashSet::new();
    for s in sizes.into_iter().filter(|s| seen.insert(*s)) {
        match s {
            Size::Meta(m) => out.size_metas.push(m),
            Size::Var(v) => out.sizes.push(v),
            Size::Const(..) | Size::Unknown => {}
        }
    }
    out
}

impl Infer<'_> {
    /// Whether an expression is a function or a cheap combination of functions, so that it may be evaluated at each
    /// use.
    pub(super) fn is_value(&self, expr: &ast::Expr) -> bool {
        match &expr.kind {
            ast::ExprKind::Fun(..)
            | ast::ExprKind::Lin(..)
            | ast::ExprKind::Var(_)
            | ast::ExprKind::Con(..)
            | ast::ExprKind::Section(_)
            | ast::ExprKind::Lit(_)
            | ast::ExprKind::Field(..) => true,
            ast::ExprKind::Paren(e) | ast::ExprKind::Ann(e, _) => self.is_value(e),
            ast::ExprKind::App(f, args) => self.lacks_arguments(f, args.len()) && args.iter().all(|a| self.is_value(a)),
            ast::ExprKind::Bin(ast::BinOp::Compose, _, a, b) => self.is_value(a) && self.is_value(b),
            ast::ExprKind::Tuple(parts) | ast::ExprKind::Array(parts) => parts.iter().all(|p| self.is_value(p)),
            ast::ExprKind::Record(fields) => fields.iter().all(|(_, e)| self.is_value(e)),
            _ => false,
        }
    }

    /// Whether a function applied to `signature_constraints` arguments runs nothing yet: it needs more of them, or is a constructor.
    fn lacks_arguments(&self, f: &ast::Expr, given: usize) -> bool {
        let arity = |g: &Global| g.alias.map_or(g.arity, arrows);
        match &f.kind {
            ast::ExprKind::Con(..) => true,
            ast::ExprKind::Paren(f) | ast::ExprKind::Ann(f, _) => self.lacks_arguments(f, given),
            ast::ExprKind::App(f, args) => {
                self.lacks_arguments(f, given + args.len()) && args.iter().all(|a| self.is_value(a))
            }
            ast::ExprKind::Section(_) => given < 2,
            ast::ExprKind::Var(name) => match (self.lookup(*name), self.env.value(*name)) {
                (Some(b), _) => given < b.arity,
                (None, Some(g)) => given < arity(g),
                (None, None) => self.visible_prim(*name).is_some_and(|p| given < arrows(p)),
            },
            ast::ExprKind::Field(m, name) => {
                let module = match &m.kind {
                    ast::ExprKind::Con(None, m) => m.name,
                    ast::ExprKind::Var(m) if self.lookup(*m).is_none() && self.env.value(*m).is_none() => *m,
                    _ => return false,
                };
                self.env.modules.get(&module).and_then(|m| m.value(name.name).map(&arity)).is_some_and(|n| given < n)
            }
            _ => false,
        }
    }
}

/// The number of arguments after which a primitive returns data: `checkpoint f` is still a function.
fn arrows(p: Prim) -> usize {
    let (Typing::Scheme(text) | Typing::Elementwise(text) | Typing::Special(text)) = p.row().typing;
    let (mut n, sig) = (0, adl_syntax::parse_signature(text));
    let mut t = sig.as_ref().ok().map(|s| &s.ty);
    while let Some(ast::TypeKind::Fun(_, r) | ast::TypeKind::Lin(_, r)) = t.map(|t| &t.kind) {
        n += 1;
        t = Some(r);
    }
    n
}

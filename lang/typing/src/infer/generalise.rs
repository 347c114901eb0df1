//! Generalisation and instantiation.

use super::{Infer, map_type, mk, pending};
use crate::core::{self, ExprKind, Local};
use crate::ty::{Class, Scheme, Size, SizeVar, Ty, TyVar};
use crate::errors::mismatch;
use adl_syntax::ast;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::collections::{HashMap, HashSet};

/// Parts that a type may have. `let x = (x, x)` doubles one each time.
const MAX_TYPE_SIZE: usize = 20_000;

impl Infer<'_> {
    /// Whether a type has more parts than can be worked with.
    pub(super) fn too_large(&self, t: &Ty) -> bool {
        let mut left = MAX_TYPE_SIZE;
        !self.within(t, &mut left)
    }

    /// Once for each item: what is made of it would be too large again.
    pub(super) fn report_large(&mut self, span: Span) {
        let d = mismatch::too_large(span);
        if !self.diags.iter().any(|e| e.message == d.message) {
            self.report(d);
        }
    }

    fn within(&self, t: &Ty, left: &mut usize) -> bool {
        *left = left.saturating_sub(1);
        if *left == 0 {
            return false;
        }
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || match self.resolve(t) {
            Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str | Ty::Var(_) | Ty::Meta(_) => true,
            Ty::Fun(a, b) | Ty::Lin(a, b) => self.within(&a, left) && self.within(&b, left),
            Ty::Tuple(parts) | Ty::Data(_, parts) => parts.iter().all(|p| self.within(p, left)),
            Ty::Array(_, e) => self.within(&e, left),
            Ty::Record(r) => r.fields.iter().all(|(_, t)| self.within(t, left)) && r.tail.as_ref().is_none_or(|t| self.within(t, left)),
        })
    }

    /// Quantifies what belongs to levels above the current one. Constrained variables are quantified only where `function`: anything else
    /// is a value that is computed once.
    pub(super) fn generalise(&mut self, ty: &Ty, function: bool, span: Span) -> Scheme {
        if self.too_large(ty) {
            self.report_large(span);
            return Scheme::mono(self.meta());
        }
        let ty = self.resolve_deep(ty);
        let free = free_in(&ty);
        let mut vars = Vec::new();
        for m in free.metas {
            vars.extend(self.quantify(m, function));
        }
        for v in free.rigid {
            if let Some((classes, name)) = self.rigid.get(&v) {
                // Variables of an enclosing definition's signature stay free.
                if !self.scope_has(v) {
                    vars.push((v, classes.clone(), *name));
                }
            }
        }
        let mut sizes: Vec<(SizeVar, Symbol)> = Vec::new();
        for m in free.size_metas {
            if self.size_levels[m as usize] > self.level {
                let v = self.tables.size();
                self.sizes[m as usize] = Some(Size::Var(v));
                sizes.push((v, Symbol::new("")));
            }
        }
        // Sizes that an enclosing definition's signature names stay what they are.
        for v in free.sizes.into_iter().filter(|v| self.size_names.values().all(|(w, _)| w != v)) {
            let name = self.size_labels.get(&v).copied();
            sizes.push((v, name.unwrap_or_else(|| Symbol::new(""))));
        }
        Scheme { vars, sizes, ty: self.resolve_deep(&ty) }
    }

    /// Makes a variable of a scheme of an inference variable, if it belongs to the definition.
    fn quantify(&mut self, m: u32, function: bool) -> Option<(TyVar, Vec<Class>, Symbol)> {
        let meta = self.metas[m as usize].clone();
        if meta.level <= self.level {
            return None;
        }
        let classes: Vec<Class> = meta.classes.iter().map(|c| c.0).collect();
        if !function && classes.iter().any(|c| c.has_rep()) {
            self.metas[m as usize].level = self.level;
            return None;
        }
        let v = self.tables.var();
        let name = meta.name.unwrap_or_else(|| Symbol::new(""));
        self.rigid.insert(v, (classes.clone(), name));
        self.metas[m as usize].bound = Some(Ty::Var(v));
        Some((v, classes, name))
    }

    /// Whether a rigid variable occurs in the type of something in scope.
    fn scope_has(&self, v: TyVar) -> bool {
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
            .map(|v| match self.rep_locals.get(&v) {
                Some(l) => *l,
                None => {
                    let l = self.local();
                    self.rep_locals.insert(v, l);
                    l
                }
            })
            .collect()
    }

    /// Fresh metas for a scheme's variables: the type, and the types of its hidden arguments.
    pub(super) fn instantiate(&mut self, scheme: &Scheme, span: Span, op: &'static str) -> (Ty, Vec<Ty>) {
        if scheme.vars.is_empty() && scheme.sizes.is_empty() {
            return (scheme.ty.clone(), Vec::new());
        }
        let mut map: HashMap<TyVar, Ty> = HashMap::new();
        let mut reps = Vec::new();
        for (v, classes, name) in &scheme.vars {
            let t = self.meta();
            if let Ty::Meta(m) = t {
                // A name that says something stays with it.
                self.metas[m as usize].name = Some(*name).filter(|n| !matches!(n.as_str(), "" | "a" | "b" | "c" | "d" | "e" | "f" | "g" | "h"));
                self.metas[m as usize].classes = classes.iter().map(|c| (*c, span, op)).collect();
                self.metas[m as usize].scalar = classes.iter().any(|c| matches!(c, Class::Num | Class::Real));
            }
            if classes.iter().any(|c| c.has_rep()) {
                reps.push(t.clone());
            }
            map.insert(*v, t);
        }
        let sizes: HashMap<SizeVar, Size> = scheme.sizes.iter().map(|(v, _)| (*v, self.size_meta())).collect();
        let ty = map_type(&scheme.ty, &mut |t| match t {
            Ty::Var(v) => map.get(v).cloned(),
            _ => None,
        }, &mut |s| match s {
            Size::Var(v) => sizes.get(&v).copied().unwrap_or(s),
            s => s,
        });
        (ty, reps)
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
struct Free {
    metas: Vec<u32>,
    rigid: Vec<TyVar>,
    size_metas: Vec<u32>,
    sizes: Vec<SizeVar>,
}

fn free_in(ty: &Ty) -> Free {
    let (mut out, mut sizes) = (Free::default(), Vec::new());
    let mut seen: HashSet<Ty> = HashSet::new();
    map_type(ty, &mut |t| {
        match t {
            Ty::Meta(m) if seen.insert(t.clone()) => out.metas.push(*m),
            Ty::Var(v) if seen.insert(t.clone()) => out.rigid.push(*v),
            _ => {}
        }
        None
    }, &mut |s| {
        sizes.push(s);
        s
    });
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

/// Whether an expression is a function, or a cheap combination of functions, so that it may be evaluated once for each use.
pub(super) fn is_value(e: &ast::Expr) -> bool {
    match &e.kind {
        ast::ExprKind::Fun(..) | ast::ExprKind::Lin(..) | ast::ExprKind::Var(_) | ast::ExprKind::Con(..) | ast::ExprKind::Section(_)
        | ast::ExprKind::Lit(_) | ast::ExprKind::Field(..) => true,
        ast::ExprKind::Paren(e) | ast::ExprKind::Ann(e, _) => is_value(e),
        ast::ExprKind::App(f, args) => is_value(f) && args.iter().all(is_value),
        ast::ExprKind::Bin(ast::BinOp::Compose, _, a, b) => is_value(a) && is_value(b),
        ast::ExprKind::Tuple(parts) | ast::ExprKind::Array(parts) => parts.iter().all(is_value),
        ast::ExprKind::Record(fields) => fields.iter().all(|(_, e)| is_value(e)),
        _ => false,
    }
}

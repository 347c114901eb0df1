//! Generalisation and instantiation.

use super::{Infer, map_type, mk, pending};
use crate::core::{self, ExprKind, Local};
use crate::ty::{Class, Scheme, Size, SizeVar, Ty, TyVar};
use adl_syntax::ast;
use adl_syntax::symbol::Symbol;
use std::collections::HashMap;

impl Infer<'_> {
    /// Quantifies what belongs to levels above the current one. Constrained variables are quantified only where `function`: anything else
    /// is a value that is computed once.
    pub(super) fn generalise(&mut self, ty: &Ty, function: bool) -> Scheme {
        let ty = self.resolve_deep(ty);
        let (mut metas, mut sizes, mut rigids, mut named) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let size_of = |s: Size| self.resolve_size(s);
        map_type(&ty, &mut |t| {
            match t {
                Ty::Meta(m) if !metas.contains(m) => metas.push(*m),
                Ty::Var(v) if !rigids.contains(v) => rigids.push(*v),
                _ => {}
            }
            None
        }, &mut |s| {
            match size_of(s) {
                Size::Meta(m) if !sizes.contains(&m) => sizes.push(m),
                Size::Var(v) if !named.contains(&v) => named.push(v),
                _ => {}
            }
            s
        });
        let mut vars = Vec::new();
        for m in metas {
            let meta = self.metas[m as usize].clone();
            if meta.level <= self.level {
                continue;
            }
            let classes: Vec<Class> = meta.classes.iter().map(|c| c.0).collect();
            if !function && classes.iter().any(|c| c.has_rep()) {
                self.metas[m as usize].level = self.level;
                continue;
            }
            let v = self.tables.var();
            let name = meta.name.unwrap_or_else(|| Symbol::new(""));
            self.rigid.insert(v, (classes.clone(), name));
            self.metas[m as usize].bound = Some(Ty::Var(v));
            vars.push((v, classes, name));
        }
        for v in rigids {
            if let Some((classes, name)) = self.rigid.get(&v) {
                // Variables of an enclosing definition's signature stay free.
                if !self.scope_has(v) {
                    vars.push((v, classes.clone(), *name));
                }
            }
        }
        let mut size_vars: Vec<(SizeVar, Symbol)> = Vec::new();
        for m in sizes {
            if self.size_levels[m as usize] > self.level {
                let v = self.tables.size();
                self.sizes[m as usize] = Some(Size::Var(v));
                size_vars.push((v, Symbol::new("")));
            }
        }
        for v in named {
            let name = self.size_names.iter().find(|(_, (w, _))| *w == v).map(|(n, _)| *n);
            size_vars.push((v, name.unwrap_or_else(|| Symbol::new(""))));
        }
        Scheme { vars, sizes: size_vars, ty: self.resolve_deep(&ty) }
    }

    /// Whether a rigid variable occurs in the type of something in scope.
    fn scope_has(&self, v: TyVar) -> bool {
        self.scope.iter().any(|b| {
            let quantified = b.scheme.vars.iter().any(|(w, _, _)| *w == v);
            !quantified && mentions(&self.resolve_deep(&b.scheme.ty), v)
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
    pub(super) fn instantiate(&mut self, scheme: &Scheme, span: adl_syntax::span::Span, op: &'static str) -> (Ty, Vec<Ty>) {
        if scheme.vars.is_empty() && scheme.sizes.is_empty() {
            return (scheme.ty.clone(), Vec::new());
        }
        let mut map: HashMap<TyVar, Ty> = HashMap::new();
        let mut reps = Vec::new();
        for (v, classes, _) in &scheme.vars {
            let t = self.meta();
            if let Ty::Meta(m) = t {
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
    pub(super) fn instance(&mut self, kind: ExprKind, scheme: &Scheme, span: adl_syntax::span::Span, op: &'static str) -> core::Expr {
        let (ty, reps) = self.instantiate(scheme, span, op);
        let e = mk(kind, ty.clone(), span);
        if reps.is_empty() {
            return e;
        }
        mk(ExprKind::Inst(e, reps.iter().map(pending).collect()), ty, span)
    }
}

fn mentions(t: &Ty, v: TyVar) -> bool {
    let mut found = false;
    map_type(t, &mut |t| {
        found |= *t == Ty::Var(v);
        None
    }, &mut |s| s);
    found
}

/// Whether an expression is a function, or a cheap combination of functions, so that it may be evaluated once for each use.
pub(super) fn is_value(e: &ast::Expr) -> bool {
    match &e.kind {
        ast::ExprKind::Fun(..) | ast::ExprKind::Lin(..) | ast::ExprKind::Var(_) | ast::ExprKind::Con(..) | ast::ExprKind::Section(_)
        | ast::ExprKind::Lit(_) | ast::ExprKind::Field(..) => true,
        ast::ExprKind::Paren(e) | ast::ExprKind::Ann(e, _) => is_value(e),
        ast::ExprKind::App(f, args) => is_value(f) && args.iter().all(is_value),
        ast::ExprKind::Bin(ast::BinOp::Compose, _, a, b) => is_value(a) && is_value(b),
        ast::ExprKind::Tuple(parts) => parts.iter().all(is_value),
        ast::ExprKind::Record(fields) => fields.iter().all(|(_, e)| is_value(e)),
        ast::ExprKind::Array(parts) => parts.is_empty(),
        _ => false,
    }
}

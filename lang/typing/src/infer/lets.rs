//! Definitions: functions with their sizes, `let` groups.

use super::generalise::is_value;
use super::pats::PatVar;
use super::{Bound, Infer, RecKey, Why, fun, mk};
use crate::core::{self, ExprKind, Lambda, Local, Param, SizeAt, SizeRep, Sizes, Step};
use crate::patterns::TPat;
use crate::ty::{Scheme, Size, Ty};
use adl_syntax::ast;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::rc::Rc;

/// A binding that was inferred, generalised.
pub(super) struct Made {
    pub name: Symbol,
    pub span: Span,
    pub scheme: Scheme,
    pub expr: core::Expr,
}

impl Infer<'_> {
    /// A function of patterns. `wants` are the parameter types that the context knows.
    pub(super) fn function(&mut self, params: &[ast::Pat], wants: &[Ty], ret: Option<&Ty>, body: &ast::Expr, linear: bool, name: Option<Symbol>, span: Span, ret_sig: Option<&ast::Signature>, whole: Option<&Ty>) -> core::Expr {
        let (scope, type_names, size_names) = (self.scope.len(), self.type_names.clone(), self.size_names.clone());
        let mut parts: Vec<(Local, Ty, TPat, Vec<PatVar>, Span)> = Vec::new();
        let mut seen: Vec<PatVar> = Vec::new();
        for (i, p) in params.iter().enumerate() {
            let ty = wants.get(i).cloned().unwrap_or_else(|| self.meta());
            let before = seen.len();
            let pat = self.pat(p, &ty, &mut seen);
            let vars = seen[before..].to_vec();
            let local = match &pat {
                TPat::Var(x) => *x,
                _ => self.local(),
            };
            parts.push((local, ty, pat, vars, p.span));
        }
        let ret_ty = match ret_sig {
            Some(sig) => self.signature(sig),
            None => ret.cloned().unwrap_or_else(|| self.meta()),
        };
        if let Some(t) = whole {
            // Uses of a recursive function inside itself see what its annotations say. A mismatch is reported at the end.
            let own = parts.iter().rev().fold(ret_ty.clone(), |r, (_, p, ..)| fun(p.clone(), r));
            let _ = self.unify(t, &own);
        }
        let sizes = self.entry_sizes(&parts, params);
        for (_, _, _, vars, _) in &parts {
            self.push_vars(vars);
        }
        let what = match name {
            Some(n) => format!("the result of `{n}`"),
            None => "the result of this function".to_owned(),
        };
        let why = match ret_sig {
            Some(sig) => Why::from(what, sig.ty.span, "the result's type is given here"),
            None => Why::new(what),
        };
        let mut core = self.check(body, &ret_ty, &why);
        for (local, ty, pat, vars, pspan) in parts.iter().rev() {
            core = self.destructure(*local, ty, pat.clone(), vars, *pspan, core);
        }
        if !sizes.binds.is_empty() || !sizes.checks.is_empty() {
            let (t, s) = (core.ty.clone(), core.span);
            core = mk(ExprKind::Sizes(sizes, core), t, s);
        }
        self.scope.truncate(scope);
        self.type_names = type_names;
        self.size_names = size_names;
        let mut ty = ret_ty;
        for (i, (_, p, ..)) in parts.iter().enumerate().rev() {
            ty = if linear && i == 0 { Ty::Lin(Rc::new(p.clone()), Rc::new(ty)) } else { fun(p.clone(), ty) };
        }
        let params = parts
            .iter()
            .zip(params)
            .map(|((local, ty, ..), p)| Param { local: *local, name: pattern_name(p), ty: ty.clone() })
            .collect();
        mk(ExprKind::Lam(Rc::new(Lambda { params, body: core, linear, name })), ty, span)
    }

    /// Sizes that parameter types name for the first time are bound; the others are checked. Names enter the scope.
    fn entry_sizes(&mut self, parts: &[(Local, Ty, TPat, Vec<PatVar>, Span)], params: &[ast::Pat]) -> Sizes {
        let mut found: Vec<(Size, SizeAt)> = Vec::new();
        for ((local, ty, _, _, span), p) in parts.iter().zip(params) {
            let annotated = annotated(p);
            let ty = self.resolve_deep(ty);
            size_places(&ty, *local, &mut Vec::new(), *span, annotated, &mut found);
        }
        let mut sizes = Sizes { binds: Vec::new(), checks: Vec::new() };
        for (size, at) in found {
            match size {
                Size::Const(n) => sizes.checks.push((at, SizeRep::Const(n), n.to_string())),
                Size::Var(v) => {
                    let Some((name, known)) = self.size_names.iter().find(|(_, (w, _))| *w == v).map(|(n, (_, l))| (*n, *l)) else { continue };
                    match known {
                        Some(l) => sizes.checks.push((at, SizeRep::Local(l), name.to_string())),
                        None => {
                            let local = self.local();
                            self.size_names.insert(name, (v, Some(local)));
                            self.size_locals.insert(v, local);
                            self.scope.push(Bound { name, local, scheme: Rc::new(Scheme::mono(Ty::Int)), recursive: false, size: Some(v) });
                            sizes.binds.push((v, local, name, at));
                        }
                    }
                }
                Size::Meta(_) | Size::Unknown => {}
            }
        }
        sizes
    }

    /// The right-hand side of a binding, one level up.
    fn binding_body(&mut self, b: &ast::Binding, want: Option<&Ty>) -> core::Expr {
        let name = pattern_name(&b.pat);
        if b.params.is_empty() {
            let Some(sig) = &b.sig else {
                return match want {
                    Some(t) => self.check_named(&b.body, t, name),
                    None => self.infer_named(&b.body, None, name),
                };
            };
            let (type_names, size_names) = (self.type_names.clone(), self.size_names.clone());
            let ty = self.signature(sig);
            let why = Why::from(format!("the value of `{}`", name.map_or("this pattern", |n| n.as_str())), sig.ty.span, "its type is given here");
            let e = self.infer_named(&b.body, Some(&ty), name);
            self.expect(&ty, &e.ty.clone(), b.body.span, &why);
            self.type_names = type_names;
            let added: Vec<_> = self.size_names.iter().filter(|(n, _)| !size_names.contains_key(n)).map(|(n, v)| (*n, *v)).collect();
            self.size_names = size_names;
            for (n, v) in added {
                // Kept under an unwritable name: the scheme still prints the user's.
                self.size_names.insert(Symbol::new(&format!("{n}")), (v.0, None));
            }
            let e = core::Expr { ty, ..e };
            if let Some(w) = want {
                self.expect(w, &e.ty.clone(), b.body.span, &Why::new("this definition"));
            }
            return e;
        }
        let e = self.function(&b.params, &[], None, &b.body, false, name, b.span, b.sig.as_ref(), want);
        if let Some(w) = want {
            self.expect(w, &e.ty.clone(), b.span, &Why::new("this definition"));
        }
        e
    }

    fn check_named(&mut self, e: &ast::Expr, t: &Ty, name: Option<Symbol>) -> core::Expr {
        let c = self.infer_named(e, Some(t), name);
        self.expect(t, &c.ty.clone(), e.span, &Why::new("this definition"));
        c
    }

    /// A lambda that is the value of a binding takes its name, for call stacks.
    fn infer_named(&mut self, e: &ast::Expr, want: Option<&Ty>, name: Option<Symbol>) -> core::Expr {
        if let ast::ExprKind::Fun(params, body) = &e.kind {
            return self.lambda(params, body, want, false, name, e.span);
        }
        self.infer(e, want)
    }

    /// Infers one level up, settles the operators, generalises.
    fn enclosed(&mut self, f: impl FnOnce(&mut Self) -> core::Expr, value: bool) -> (Scheme, core::Expr) {
        self.level += 1;
        let sizes = self.size_names.clone();
        let e = f(self);
        self.level -= 1;
        self.settle_ops(self.level);
        let function = value && matches!(self.resolve(&e.ty), Ty::Fun(..) | Ty::Lin(..));
        let scheme = self.generalise(&e.ty, function);
        self.size_names = sizes;
        let e = self.abstracted(e, &scheme);
        (scheme, e)
    }

    fn abstracted(&mut self, e: core::Expr, scheme: &Scheme) -> core::Expr {
        let hidden = self.hidden(scheme);
        if hidden.is_empty() {
            return e;
        }
        let (t, s) = (e.ty.clone(), e.span);
        mk(ExprKind::Abs(hidden, e), t, s)
    }

    /// A binding of one name that is not recursive.
    pub(super) fn single(&mut self, b: &ast::Binding, name: Symbol) -> Made {
        let value = !b.params.is_empty() || is_value(&b.body);
        let (scheme, expr) = self.enclosed(|s| s.binding_body(b, None), value);
        Made { name, span: b.pat.span, scheme, expr }
    }

    /// A pattern binding: its value, not generalised, and the pattern with its variables.
    pub(super) fn pattern_value(&mut self, b: &ast::Binding) -> (core::Expr, TPat, Vec<PatVar>) {
        let e = self.binding_body(b, None);
        let mut vars = Vec::new();
        let pat = self.pat(&b.pat, &e.ty.clone(), &mut vars);
        (e, pat, vars)
    }

    /// A recursive group. `refer` gives the Core of a use of each name.
    pub(super) fn recursive(&mut self, group: &ast::LetGroup, keys: &[RecKey]) -> Vec<Made> {
        let scope = self.scope.len();
        self.level += 1;
        let sizes = self.size_names.clone();
        let mut metas = Vec::new();
        for (b, key) in group.bindings.iter().zip(keys) {
            let t = self.meta();
            metas.push(t.clone());
            let name = pattern_name(&b.pat).unwrap_or_else(|| Symbol::new("_"));
            let local = match key {
                RecKey::Local(l) => *l,
                RecKey::Global(g) => Local(u32::MAX - g.0),
            };
            self.scope.push(Bound { name, local, scheme: Rc::new(Scheme::mono(t)), recursive: true, size: None });
        }
        let bodies: Vec<core::Expr> = group.bindings.iter().zip(&metas).map(|(b, t)| self.binding_body(b, Some(t))).collect();
        self.level -= 1;
        self.settle_ops(self.level);
        let all = Ty::Tuple(metas.iter().cloned().collect());
        let functions = bodies.iter().all(|e| matches!(*e.kind, ExprKind::Lam(_)));
        let shared = self.generalise(&all, functions);
        self.size_names = sizes;
        self.scope.truncate(scope);
        let rep_vars: Vec<_> = shared.rep_vars().collect();
        let mut out = Vec::new();
        for ((b, key), e) in group.bindings.iter().zip(keys).zip(bodies) {
            let scheme = Scheme { ty: self.resolve_deep(&e.ty), ..shared.clone() };
            self.rec_reps.insert(*key, rep_vars.clone());
            let expr = self.abstracted(e, &shared);
            let name = pattern_name(&b.pat).unwrap_or_else(|| Symbol::new("_"));
            out.push(Made { name, span: b.pat.span, scheme, expr });
        }
        out
    }

    /// A `let` in a block: binds its names, infers the rest of the block, and wraps.
    pub(super) fn local_let(&mut self, group: &ast::LetGroup, span: Span, rest: impl FnOnce(&mut Self) -> core::Expr) -> core::Expr {
        let scope = self.scope.len();
        if group.rec {
            let keys: Vec<RecKey> = group.bindings.iter().map(|_| RecKey::Local(self.local())).collect();
            let made = self.recursive(group, &keys);
            let mut binds = Vec::new();
            for (m, key) in made.into_iter().zip(&keys) {
                let RecKey::Local(local) = *key else { continue };
                self.scope.push(Bound { name: m.name, local, scheme: Rc::new(m.scheme), recursive: false, size: None });
                binds.push((local, m.name, m.expr));
            }
            let body = rest(self);
            self.scope.truncate(scope);
            let t = body.ty.clone();
            self.check_rec_values(&binds);
            return mk(ExprKind::LetRec(binds, body), t, span);
        }
        // `let a = ... and b = ...`: neither sees the other.
        enum One {
            Name(Local, Made),
            Pattern(Local, core::Expr, TPat, Vec<PatVar>, Span),
        }
        let mut ones = Vec::new();
        for b in &group.bindings {
            match pattern_name(&b.pat) {
                Some(name) if !matches!(b.pat.kind, ast::PatKind::Ann(..)) => {
                    let made = self.single(b, name);
                    ones.push(One::Name(self.local(), made));
                }
                _ => {
                    let (e, pat, vars) = self.pattern_value(b);
                    ones.push(One::Pattern(self.local(), e, pat, vars, b.pat.span));
                }
            }
        }
        for one in &ones {
            match one {
                One::Name(local, m) => {
                    // The value of a size stays one: `let n = len x` does not, an alias of a size does.
                    self.scope.push(Bound { name: m.name, local: *local, scheme: Rc::new(m.scheme.clone()), recursive: false, size: None });
                }
                One::Pattern(_, _, _, vars, _) => self.push_vars(vars),
            }
        }
        let mut body = rest(self);
        self.scope.truncate(scope);
        for one in ones.into_iter().rev() {
            let t = body.ty.clone();
            body = match one {
                One::Name(local, m) => mk(ExprKind::Let(local, Some(m.name), m.expr, body), t, span),
                One::Pattern(local, e, pat, vars, s) => {
                    let ty = e.ty.clone();
                    let inner = self.destructure(local, &ty, pat, &vars, s, body);
                    mk(ExprKind::Let(local, None, e, inner), t, span)
                }
            };
        }
        body
    }

    fn check_rec_values(&mut self, binds: &[(Local, Symbol, core::Expr)]) {
        for (_, name, e) in binds {
            let inner = match &*e.kind {
                ExprKind::Abs(_, inner) => inner,
                _ => e,
            };
            if !matches!(*inner.kind, ExprKind::Lam(_)) {
                let d = adl_syntax::diag::Diagnostic::error("E0203", e.span, format!("`let rec {name}` must define a function")).hint(format!("write it as `let rec {name} x = ...`"));
                self.report(d);
            }
        }
    }
}

/// The name of a pattern that is a variable.
pub(super) fn pattern_name(p: &ast::Pat) -> Option<Symbol> {
    match &p.kind {
        ast::PatKind::Var(n) => Some(*n),
        ast::PatKind::Ann(p, _) => pattern_name(p),
        _ => None,
    }
}

fn annotated(p: &ast::Pat) -> bool {
    match &p.kind {
        ast::PatKind::Ann(..) => true,
        ast::PatKind::Tuple(ps) | ast::PatKind::Or(ps) | ast::PatKind::Array(ps) | ast::PatKind::Con(_, _, ps) => ps.iter().any(annotated),
        ast::PatKind::Record(fs, _) => fs.iter().any(|(_, p)| annotated(p)),
        ast::PatKind::As(p, _) => annotated(p),
        ast::PatKind::Wild | ast::PatKind::Var(_) | ast::PatKind::Lit(_) | ast::PatKind::Error => false,
    }
}

/// Where sizes stand in the type of a parameter: arrays reached through tuples and records.
fn size_places(t: &Ty, from: Local, path: &mut Vec<Step>, span: Span, consts: bool, out: &mut Vec<(Size, SizeAt)>) {
    match t {
        Ty::Array(..) => {
            let (mut t, mut axis) = (t, 0);
            while let Ty::Array(n, e) = t {
                if matches!(n, Size::Var(_)) || consts && matches!(n, Size::Const(_)) {
                    out.push((*n, SizeAt { from, path: path.clone(), axis, span }));
                }
                axis += 1;
                t = e;
            }
        }
        Ty::Tuple(parts) => {
            for (i, p) in parts.iter().enumerate() {
                path.push(Step::Item(i as u32));
                size_places(p, from, path, span, consts, out);
                path.pop();
            }
        }
        Ty::Record(r) => {
            for (name, p) in &r.fields {
                path.push(Step::Field(*name));
                size_places(p, from, path, span, consts, out);
                path.pop();
            }
        }
        _ => {}
    }
}


//! Top-level items.

use super::lets::pattern_name;
use super::places::{Places, Recorder};
use super::{Infer, RecKey, mk, ops};
use crate::core::{self, Def, Expr, ExprKind, Item};
use crate::env::{CheckHost, Env, Global, Tables};
use crate::errors::mismatch;
use crate::errors::reason::Reason;
use crate::linear::FunctionDefinition;
use crate::ty::{Class, Constraint, Scheme, Ty};
use adl_prim::Typing;
use adl_syntax::ast;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::rc::Rc;

/// The result of checking an item.
pub struct CheckedItem {
    /// `None` after errors, and for an import, which the session resolves.
    pub item: Option<Item>,
    /// The environment for the next item.
    pub env: Env,
    /// Errors and warnings.
    pub diags: Vec<Diagnostic>,
    /// The scheme of an expression statement that is a function.
    pub scheme: Option<Scheme>,
}

/// Checks one item. `internal`: names that begin with `__` are in scope.
pub fn check_item(
    env: &Env,
    item: &ast::Item,
    tables: &mut Tables,
    host: &mut dyn CheckHost,
    internal: bool,
) -> CheckedItem {
    check_with(Infer::new(env, tables, host, internal), item, internal).0
}

/// Checks one item and says what type each place has, also where there are errors: for editors.
pub fn inspect_item(
    env: &Env,
    item: &ast::Item,
    tables: &mut Tables,
    host: &mut dyn CheckHost,
) -> (CheckedItem, Places) {
    let mut inf = Infer::new(env, tables, host, false);
    inf.places = Some(Recorder::default());
    check_with(inf, item, false)
}

fn check_with(mut inf: Infer<'_>, item: &ast::Item, internal: bool) -> (CheckedItem, Places) {
    let doc: Option<Rc<str>> = item.doc.as_deref().map(Into::into);
    let mut scheme = None;
    let core = match &item.kind {
        ast::ItemKind::Let(group) => Some(Item::Defs(inf.top_let(group, doc))),
        ast::ItemKind::Types(decls) => {
            inf.declare(decls);
            Some(Item::Nothing)
        }
        ast::ItemKind::Expr(e) => {
            let e = inf.top_value(e, &mut scheme);
            Some(Item::Expr(e))
        }
        ast::ItemKind::Test { name, body } => {
            Some(Item::Test(name.as_str().into(), inf.top_expr(body, Some(&Ty::Bool))))
        }
        ast::ItemKind::Bench { name, body } => Some(Item::Bench(name.as_str().into(), inf.top_expr(body, None))),
        ast::ItemKind::Import { .. } | ast::ItemKind::Error => None,
    };
    let mut out_env = inf.env.clone();
    let mut diags = std::mem::take(&mut inf.diags);
    let core = core.and_then(|item| {
        if diags.iter().any(adl_syntax::diag::Diagnostic::is_error) {
            return None;
        }
        let item = inf.zonk_item(item);
        // Types that outlive the item contain no inference variables.
        scheme = scheme.take().map(|s| inf.final_scheme(s));
        diags.append(&mut inf.diags);
        Some(item)
    });
    let failed = diags.iter().any(adl_syntax::diag::Diagnostic::is_error);
    let places = inf.recorded_places(failed);
    match (&core, &item.kind) {
        (_, ast::ItemKind::Let(group)) if failed => forget(&mut out_env, group),
        (Some(Item::Defs(defs)), _) => defs.iter().for_each(|d| define(&mut out_env, d, internal)),
        _ => {}
    }
    (CheckedItem { item: core.filter(|_| !failed), env: out_env, diags, scheme }, places)
}

/// Adds the names of a definition to the environment.
fn define(env: &mut Env, def: &Def, internal: bool) {
    let Some(name) = def.name else { return };
    let alias = match &*def.expr.kind {
        ExprKind::Prim(p, _) => Some(*p),
        ExprKind::Abs(_, e) => match &*e.kind {
            ExprKind::Prim(p, _) => Some(*p),
            _ => None,
        },
        _ => None,
    };
    let g = Global {
        id: def.global,
        scheme: Rc::new(def.scheme.clone()),
        span: def.span,
        doc: def.doc.clone(),
        alias: alias.filter(|_| internal),
        arity: def.expr.arity(),
    };
    env.values.insert_mut(name, g);
    if env.broken.contains_key(&name) {
        env.broken.remove_mut(&name);
    }
}

/// Marks the names of a definition with errors, so that their uses are not reported.
fn forget(env: &mut Env, group: &ast::LetGroup) {
    let mut names = Vec::new();
    group.bindings.iter().for_each(|b| bound(&b.pat, &mut names));
    for (n, s) in names {
        env.broken.insert_mut(n, s);
        env.values.remove_mut(&n);
    }
}

/// The names that a pattern binds.
pub(super) fn bound(pattern: &ast::Pat, out: &mut Vec<(Symbol, Span)>) {
    match &pattern.kind {
        ast::PatKind::Var(n) => out.push((*n, pattern.span)),
        ast::PatKind::Tuple(ps) | ast::PatKind::Con(_, _, ps) | ast::PatKind::Array(ps) | ast::PatKind::Or(ps) => {
            ps.iter().for_each(|p| bound(p, out));
        }
        ast::PatKind::Record(fs, _) => fs.iter().for_each(|(_, p)| bound(p, out)),
        ast::PatKind::As(p, n) => {
            out.push((n.name, n.span));
            bound(p, out);
        }
        ast::PatKind::Ann(p, _) => bound(p, out),
        ast::PatKind::Wild | ast::PatKind::Lit(_) | ast::PatKind::Error => {}
    }
}

impl Infer<'_> {
    fn top_expr(&mut self, e: &ast::Expr, want: Option<&Ty>) -> core::Expr {
        let c = self.infer(e, want);
        if let Some(t) = want {
            self.expect(t, &c.ty.clone(), e.span, &Reason::new("this test"));
        }
        c
    }

    /// An expression that is a function is generalised like a definition.
    fn top_value(&mut self, e: &ast::Expr, scheme: &mut Option<Scheme>) -> core::Expr {
        if !self.is_value(e) {
            return self.infer(e, None);
        }
        // A record of functions is shown as a record.
        let (s, c) = self.enclosed(|me| me.infer(e, None), |me, t| matches!(me.resolve(t), Ty::Fun(..) | Ty::Lin(..)));
        // A plain name keeps the type of its definition.
        let own = match &e.kind {
            ast::ExprKind::Var(name) => self.scheme_of(*name),
            _ => None,
        };
        let s = own.unwrap_or(s);
        if self.holds_function(&c.ty) {
            *scheme = Some(s);
        }
        c
    }

    fn scheme_of(&mut self, name: Symbol) -> Option<Scheme> {
        match self.prim_named(name) {
            // At operands of any rank the operation itself is the constraint.
            Some(p) if ops::is_constraint(p) => None,
            Some(p) => {
                let (Typing::Scheme(text) | Typing::Elementwise(text) | Typing::Special(text)) = p.row().typing;
                Some(self.prim_scheme(text))
            }
            None => self.env.value(name).map(|g| (*g.scheme).clone()),
        }
    }

    fn top_let(&mut self, group: &ast::LetGroup, doc: Option<Rc<str>>) -> Vec<Def> {
        let mut defs = Vec::new();
        if group.rec {
            let keys: Vec<RecKey> = group.bindings.iter().map(|_| RecKey::Global(self.tables.global())).collect();
            let mut doc = doc;
            for (m, key) in self.recursive(group, &keys).into_iter().zip(keys) {
                let RecKey::Global(global) = key else { continue };
                // The doc comment of a group documents its first member.
                defs.push(Def {
                    global,
                    name: Some(m.name),
                    scheme: m.scheme,
                    expr: m.expr,
                    span: m.span,
                    doc: doc.take(),
                });
            }
            return defs;
        }
        self.distinct(group);
        for binding in &group.bindings {
            match pattern_name(&binding.pat) {
                Some(name) if !matches!(binding.pat.kind, ast::PatKind::Ann(..)) => {
                    let m = self.single(binding, name);
                    defs.push(Def {
                        global: self.tables.global(),
                        name: Some(m.name),
                        scheme: m.scheme,
                        expr: m.expr,
                        span: m.span,
                        doc: doc.clone(),
                    });
                }
                _ => self.top_pattern(binding, &mut defs, &doc),
            }
        }
        defs
    }

    /// `let (a, binding) = e`: binds the value to a hidden name, then each variable to a part of it.
    fn top_pattern(&mut self, binding: &ast::Binding, defs: &mut Vec<Def>, doc: &Option<Rc<str>>) {
        let (e, pat, vars) = self.pattern_value(binding);
        let (hidden, ty) = (self.tables.global(), e.ty.clone());
        defs.push(Def {
            global: hidden,
            name: None,
            scheme: Scheme::mono(ty.clone()),
            expr: e,
            span: binding.pat.span,
            doc: None,
        });
        if !matches!(vars.as_slice(), [_]) {
            // Exhaustiveness is checked once, for the whole pattern.
            let (root, unit) = (self.local(), mk(ExprKind::Lit(core::CoreLit::Unit), Ty::Unit, binding.pat.span));
            self.destructure(root, &ty, pat.clone(), &vars, binding.pat.span, unit);
        }
        for var in &vars {
            let (name, local, var_ty, span) = var;
            let value = mk(ExprKind::Global(hidden), ty.clone(), binding.pat.span);
            let body = mk(ExprKind::Local(*local), var_ty.clone(), *span);
            let root = self.local();
            let taken = match vars.len() {
                1 => self.destructure(root, &ty, pat.clone(), &vars, binding.pat.span, body),
                _ => {
                    self.destructure_with(
                        root,
                        &ty,
                        pat.only(*local),
                        std::slice::from_ref(var),
                        binding.pat.span,
                        body,
                    )
                    .0
                }
            };
            let expr = match &*taken.kind {
                ExprKind::Local(l) if *l == *local => value,
                _ => mk(ExprKind::Let(root, None, value, taken), var_ty.clone(), *span),
            };
            defs.push(Def {
                global: self.tables.global(),
                name: Some(*name),
                scheme: Scheme::mono(var_ty.clone()),
                expr,
                span: *span,
                doc: doc.clone(),
            });
        }
    }

    /// Applies defaults to undetermined types, then resolves every type in the item.
    pub(super) fn zonk_item(&mut self, item: Item) -> Item {
        self.settle_ops(0, 0);
        self.force_all();
        self.default_metas();
        self.check_spaces();
        self.check_points();
        match item {
            Item::Defs(defs) => Item::Defs(defs.into_iter().map(|d| self.zonk_def(d)).collect()),
            Item::Expr(e) => Item::Expr(self.checked(e)),
            Item::Test(n, e) => Item::Test(n, self.checked(e)),
            Item::Bench(n, e) => Item::Bench(n, self.checked(e)),
            Item::Nothing => Item::Nothing,
        }
    }

    fn zonk_def(&mut self, d: Def) -> Def {
        let scheme = self.final_scheme(d.scheme);
        let expr = self.checked(d.expr);
        if let Some(lambda) = expr.lambda() {
            let lambda = lambda.clone();
            self.tables.functions.insert(d.global, FunctionDefinition { lambda, internal: self.internal });
        }
        Def { scheme, expr, ..d }
    }

    fn checked(&mut self, e: Expr) -> Expr {
        let e = self.zonk(e);
        self.check_each(&e);
        e
    }

    fn final_scheme(&mut self, s: Scheme) -> Scheme {
        let ty = self.final_type(&s.ty);
        let mut constraint = |c: &Constraint| Constraint {
            args: c.args.iter().map(|t| self.final_type(t)).collect(),
            res: self.final_type(&c.res),
            ..c.clone()
        };
        let constraints = s.constraints.iter().map(&mut constraint).collect();
        Scheme { ty, constraints, ..s }
    }

    pub(super) fn default_metas(&mut self) {
        for index in 0..self.vars.types() {
            let meta = self.vars[index].clone();
            if meta.bound.is_some() {
                continue;
            }
            let has = |c: Class| meta.classes.iter().any(|k| k.0 == c);
            let to = if has(Class::Real) || has(Class::Reals) {
                Ty::Float
            } else if has(Class::Num) || has(Class::Nums) || meta.scalar {
                Ty::Int
            } else if has(Class::Diff) || has(Class::Space) {
                // A differentiable type about which nothing else is known defaults to Float.
                Ty::Float
            } else if has(Class::Data) {
                let (_, span, op) = meta.classes.iter().find(|k| k.0 == Class::Data).copied().unwrap_or((
                    Class::Data,
                    Span::default(),
                    "",
                ));
                let inside = self.at_end.reads.get(&span).copied().filter(|(at, _)| at.file == span.file);
                self.report(mismatch::unknown_result(span, op, inside));
                Ty::Unit
            } else {
                continue;
            };
            self.vars[index].bound = Some(to);
        }
    }
}

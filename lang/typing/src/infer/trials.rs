//! Trials: inference on a copy of the state, to see whether a variant has no error. They are used for arguments that do
//! not fit (`argument_trials`) and for functions where a linear one is expected.

use super::apply::strip;
use super::state::{FinalChecks, FinalTypes, Trial};
use super::{Infer, map_type, mk};
use crate::core::{CoreLit, ExprKind, Item};
use crate::limits::infer_trials::MAX_TRIALS;
use crate::ty::{Size, Ty};
use adl_syntax::ast;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::collections::HashMap;

impl Infer<'_> {
    /// Runs `f` on a copy of the current state, which is then discarded.
    pub(super) fn attempt<T>(&mut self, f: impl FnOnce(&mut Infer<'_>) -> T) -> Option<T> {
        if self.trial.on || self.tables.tried >= MAX_TRIALS {
            return None;
        }
        self.tables.tried += 1;
        let looked_for = std::mem::replace(&mut self.tables.looked_for, usize::MAX / 2);
        let out = f(&mut self.copy());
        self.tables.looked_for = looked_for;
        Some(out)
    }

    /// Copies the current state, without its errors.
    fn copy(&mut self) -> Infer<'_> {
        Infer {
            env: self.env.clone(),
            tables: self.tables,
            host: self.host,
            internal: self.internal,
            vars: self.vars.clone(),
            scope: self.scope.clone(),
            locals: self.locals,
            ops: self.ops.clone(),
            diags: Vec::new(),
            annotated: self.annotated.clone(),
            hidden: self.hidden.clone(),
            enclosing: self.enclosing.clone(),
            at_end: FinalChecks::default(),
            finals: FinalTypes::default(),
            trial: Trial { on: true, hole: None },
            places: None,
        }
    }

    /// Whether an expression is a function.
    pub(super) fn fits_function(&mut self, e: &ast::Expr) -> bool {
        let found = self.attempt(|me| {
            let e = me.infer(e, None);
            matches!(me.resolve(&e.ty), Ty::Fun(..) | Ty::Lin(..))
        });
        found == Some(true)
    }

    /// Whether an expression is an array.
    pub(super) fn fits_array(&mut self, e: &ast::Expr) -> bool {
        self.attempt(|me| {
            let e = me.infer(e, None);
            matches!(me.resolve(&e.ty), Ty::Array(..))
        }) == Some(true)
    }

    /// The argument that a trial adds.
    pub(super) fn hole(&mut self, span: Span) -> crate::core::Expr {
        let ty = self.meta();
        self.trial.hole = Some(ty.clone());
        mk(ExprKind::Lit(CoreLit::Unit), ty, span)
    }

    /// A type from a trial, with fresh inference variables of the outer state.
    pub(super) fn export_type(&mut self, t: &Ty) -> Ty {
        let (types, sizes) = (self.vars.types(), self.vars.sizes());
        let mut new: HashMap<u32, Ty> = HashMap::new();
        map_type(
            t,
            &mut |t| match t {
                Ty::Meta(m) if *m >= types => Some(new.entry(*m).or_insert_with(|| self.meta()).clone()),
                _ => None,
            },
            &mut |s| match s {
                Size::Meta(m) if m >= sizes => Size::Unknown,
                s => s,
            },
        )
    }

    /// The fault of a function where a linear one is expected; `Some(None)` if it is linear, `None` if its source is
    /// not available.
    pub(super) fn not_linear_in(&mut self, a: &ast::Expr) -> Option<Option<Diagnostic>> {
        let (lin, here) = match &strip(a).kind {
            ast::ExprKind::Fun(params, body) => (as_linear(params, body)?, true),
            ast::ExprKind::Var(name) if self.lookup(*name).is_none() => (self.defined_as(*name)?, false),
            _ => return None,
        };
        self.attempt(|me| {
            if !here {
                me.scope = Default::default();
                me.vars.level = 0;
            }
            let e = me.infer(&lin, None);
            me.solve_ops();
            if let Ty::Lin(p, _) = me.resolve(&e.ty) {
                me.make_floats(&p);
            }
            me.zonk_item(Item::Expr(e));
            me.diags.iter().find(|d| d.is_error()).cloned()
        })
        .filter(|d| d.as_ref().is_none_or(|d| d.code == "E0501"))
    }

    /// Sets the undetermined parts of a type to Float.
    fn make_floats(&mut self, ty: &Ty) {
        let mut open = Vec::new();
        map_type(
            &self.resolve_deep(ty),
            &mut |t| {
                if matches!(t, Ty::Meta(_)) {
                    open.push(t.clone());
                }
                None
            },
            &mut |s| s,
        );
        for t in open {
            let _ = self.unify(&t, &Ty::Float);
        }
    }

    /// The function literal of one parameter that defines a name, rewritten with `lin`.
    fn defined_as(&mut self, name: Symbol) -> Option<ast::Expr> {
        let at = self.env.value(name)?.span;
        let (_, whole) = *self
            .tables
            .defined
            .get(&name)?
            .iter()
            .find(|(_, whole)| whole.file == at.file && whole.lo <= at.lo && at.hi <= whole.hi)?;
        let text = self.host.text(Span { lo: 0, ..whole }).to_owned();
        let (program, _) = adl_syntax::parse(whole.file, &text);
        let item = program.items.into_iter().find(|i| i.span.lo == whole.lo)?;
        let ast::ItemKind::Let(group) = item.kind else { return None };
        let binding = group
            .bindings
            .into_iter()
            .find(|b| matches!(b.pat.kind, ast::PatKind::Var(n) if n == name))
            .filter(|_| !group.rec)?;
        match (binding.params.as_slice(), &binding.body.kind) {
            ([], ast::ExprKind::Fun(params, body)) => as_linear(params, body),
            (params, _) => as_linear(params, &binding.body),
        }
    }
}

/// `fun p -> e` as `lin p -> e`.
fn as_linear(params: &[ast::Pat], body: &ast::Expr) -> Option<ast::Expr> {
    let [p] = params else { return None };
    Some(ast::Expr {
        span: p.span.to(body.span),
        kind: ast::ExprKind::Lin(Box::new(p.clone()), Box::new(body.clone())),
    })
}

/// The names that a text defines, each with the spans of the name and of its definition.
pub fn definitions(items: &[ast::Item]) -> HashMap<Symbol, Vec<(Span, Span)>> {
    let mut all: HashMap<Symbol, Vec<(Span, Span)>> = HashMap::new();
    for item in items {
        if let ast::ItemKind::Let(group) = &item.kind {
            let mut names = Vec::new();
            group.bindings.iter().for_each(|b| super::items::bound(&b.pat, &mut names));
            names.into_iter().for_each(|(name, at)| all.entry(name).or_default().push((at, item.span)));
        }
    }
    all
}

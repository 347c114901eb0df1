//! `if`, `match`, `loop`.

use super::comprehensions::Source;
use super::exprs::last_span;
use super::slices::{LetBindings, after, extent, is_name};
use super::{Infer, array, mk};
use crate::core::{self, Arm, CoreLit, ExprKind, LoopKind};
use crate::errors::reason::Reason;
use crate::errors::{elements, patterns};
use crate::patterns::compile;
use crate::ty::{Size, Ty};
use adl_syntax::ast;
use adl_syntax::span::Span;

/// What a loop runs over.
enum LoopOver<'a> {
    Nothing(&'a ast::Expr),
    Index(ast::Ident, core::Expr),
    /// A pattern, an array, and the type of its elements.
    Elements(&'a ast::Pat, core::Expr, Ty),
}

impl Infer<'_> {
    pub(super) fn if_expr(
        &mut self,
        c: &ast::Expr,
        expr: &ast::Expr,
        b: Option<&ast::Expr>,
        want: Option<&Ty>,
        span: Span,
    ) -> core::Expr {
        let cond = self.check(c, &Ty::Bool, &Reason::new("the condition of this `if`"));
        let yes = self.infer(expr, want);
        let no = match b {
            Some(b) => {
                let no = self.infer(b, Some(&yes.ty.clone()));
                let why = Reason::is("the `else` branch", last_span(expr), "the `then` branch", &yes.ty);
                self.expect(&self.loosened(&yes.ty, want), &no.ty.clone(), last_span(b), &why);
                no
            }
            None => {
                self.expect(
                    &Ty::Unit,
                    &yes.ty.clone(),
                    last_span(expr),
                    &Reason::new("the branch of an `if` without `else`"),
                );
                mk(ExprKind::Lit(CoreLit::Unit), Ty::Unit, span)
            }
        };
        let ty = self.joined(&yes.ty, &no.ty);
        mk(ExprKind::If(cond, yes, no), ty, span)
    }

    /// Reports the missing cases and the unreachable arms.
    fn cases(&mut self, span: Span, arms: &[ast::Arm], missing: Vec<String>, reached: &[bool]) {
        if !missing.is_empty() {
            let guards = arms.iter().any(|a| a.guard.is_some());
            self.report(patterns::NotExhaustive { span, missing, guards }.diagnostic());
        }
        for (arm, _) in arms.iter().zip(reached).filter(|(_, reached)| !**reached) {
            self.report(patterns::unreachable(arm.pat.span));
        }
    }

    /// Removes the sizes of a type that the expected type leaves open, because branches may differ there.
    fn loosened(&self, t: &Ty, want: Option<&Ty>) -> Ty {
        match (self.resolve(t), want.map(|w| self.resolve(w))) {
            (Ty::Array(n, x), Some(Ty::Array(m, y))) => {
                let open = self.resolve_size(m) == Size::Unknown;
                array(if open { Size::Unknown } else { n }, self.loosened(&x, Some(&y)))
            }
            (Ty::Tuple(xs), Some(Ty::Tuple(ys))) if xs.len() == ys.len() => {
                Ty::Tuple(xs.iter().zip(ys.iter()).map(|(x, y)| self.loosened(x, Some(y))).collect())
            }
            (t, _) => t,
        }
    }

    /// Joins the types of two branches. A function type is linear only if it is linear in both.
    pub(super) fn joined(&self, a: &Ty, b: &Ty) -> Ty {
        match (self.resolve(a), self.resolve(b)) {
            (Ty::Lin(..), t @ Ty::Fun(..)) => t,
            // A size is known only if all branches agree on it.
            (Ty::Array(m, x), Ty::Array(n, y)) => {
                let (m, n) = (self.resolve_size(m), self.resolve_size(n));
                array(if m == n { m } else { Size::Unknown }, self.joined(&x, &y))
            }
            (Ty::Tuple(xs), Ty::Tuple(ys)) if xs.len() == ys.len() => {
                Ty::Tuple(xs.iter().zip(ys.iter()).map(|(x, y)| self.joined(x, y)).collect())
            }
            (t, _) => t,
        }
    }

    pub(super) fn match_expr(
        &mut self,
        expr: &ast::Expr,
        arms: &[ast::Arm],
        want: Option<&Ty>,
        span: Span,
    ) -> core::Expr {
        let scrutinee = self.infer(expr, None);
        // If nothing were known of the result, the first arm's size would be imposed on all arms.
        let ty = match want {
            Some(t) if !matches!(self.resolve(t), Ty::Meta(_)) => t.clone(),
            _ => self.meta(),
        };
        let (mut pats, mut out) = (Vec::new(), Vec::new());
        let mut first: Option<Span> = None;
        // Ill-typed patterns say nothing about coverage.
        let mut wrong = false;
        for arm in arms {
            let scope = self.scope.len();
            let mut vars = Vec::new();
            let errors = self.diags.len();
            let pat = self.pat(&arm.pat, &scrutinee.ty.clone(), &mut vars);
            wrong |= self.diags.len() > errors;
            self.push_vars(&vars);
            let guard = arm.guard.as_ref().map(|g| self.check(g, &Ty::Bool, &Reason::new("the guard")));
            let body = self.infer(&arm.body, Some(&ty));
            let why = match first {
                Some(f) => Reason::is("this arm", f, "the first arm", &ty),
                None => Reason::new("this arm"),
            };
            self.expect(&ty, &body.ty.clone(), last_span(&arm.body), &why);
            first.get_or_insert(last_span(&arm.body));
            self.scope.truncate(scope);
            pats.push((pat, guard.is_some()));
            out.push(Arm { vars: vars.into_iter().map(|(n, l, t, _)| (l, n, t)).collect(), guard, body });
        }
        let root = self.local();
        let compiled = compile(root, &pats, &mut || self.local());
        match compiled.too_large {
            true => self.report(patterns::too_large(expr.span)),
            false if wrong => {}
            false => self.cases(expr.span, arms, compiled.missing, &compiled.reached),
        }
        let ty = out.iter().map(|a| a.body.ty.clone()).reduce(|a, b| self.joined(&a, &b)).unwrap_or(ty);
        mk(ExprKind::Match(scrutinee, root, compiled.tree, out), ty, span)
    }

    pub(super) fn loop_expr(
        &mut self,
        pattern: &ast::Pat,
        init: &ast::Expr,
        kind: &ast::LoopKind,
        body: &ast::Expr,
        span: Span,
    ) -> core::Expr {
        let init_core = self.infer(init, None);
        let mut ty = init_core.ty.clone();
        if super::apply::changes_sizes(body) {
            ty = super::map_type(&self.resolve_deep(&ty), &mut |_| None, &mut |_| Size::Unknown);
        }
        let mut lets = Vec::new();
        let (init_core, over) = self.loop_head(kind, init_core, &mut lets);
        let scope = self.scope.len();
        let mut vars = Vec::new();
        let pat = self.pat(pattern, &ty, &mut vars);
        let state = match &pat {
            crate::patterns::TPat::Var(x) => *x,
            _ => self.local(),
        };
        self.push_vars(&vars);
        let mut element = None;
        let kind = match over {
            LoopOver::Nothing(c) => {
                let cond = self.check(c, &Ty::Bool, &Reason::new("the condition of the loop"));
                LoopKind::While(self.destructure(state, &ty, pat.clone(), &vars, pattern.span, cond))
            }
            LoopOver::Index(i, n) => {
                let local = self.local();
                self.bind_mono(i.name, local, Ty::Int);
                LoopKind::For(local, n)
            }
            LoopOver::Elements(p, source, elem) => {
                let (local, count) = (self.local(), extent(&source, 0, source.span));
                element = Some(self.bind_element(p, source, local, &elem));
                LoopKind::For(local, count)
            }
        };
        let why = Reason::is("the next state", pattern.span, "the state", &ty);
        let body = self.check(body, &ty, &why);
        let body = element.into_iter().fold(body, |body, e| self.with_element(e, body));
        // A size that an iteration may change is determined only at run time.
        let out = self.joined(&ty, &body.ty);
        self.scope.truncate(scope);
        let body = self.destructure(state, &ty, pat, &vars, pattern.span, body);
        after(lets, mk(ExprKind::Loop(state, init_core, kind, body), out, span))
    }

    /// What a loop runs over. If the source of elements needs a name, so does the start value, which is computed first.
    fn loop_head<'a>(
        &mut self,
        kind: &'a ast::LoopKind,
        init: core::Expr,
        lets: &mut LetBindings,
    ) -> (core::Expr, LoopOver<'a>) {
        match kind {
            ast::LoopKind::While(c) => (init, LoopOver::Nothing(c)),
            ast::LoopKind::For(i, n) => {
                let n = self.check(n, &Ty::Int, &Reason::new("the number of rounds"));
                (init, LoopOver::Index(*i, n))
            }
            ast::LoopKind::In(p, source) => match self.source(p, source) {
                Source::Array(array, _, elem) => {
                    let init = if is_name(&array) { init } else { self.held(init, lets) };
                    (init, LoopOver::Elements(p, self.named(array, lets), elem))
                }
                Source::Rows(..) => {
                    self.report(elements::loop_over_rows(source.span, self.host.text(source.span)));
                    let (nothing, elem) = (self.error_expr(source.span), self.meta());
                    (init, LoopOver::Elements(p, self.named(nothing, lets), elem))
                }
            },
        }
    }
}

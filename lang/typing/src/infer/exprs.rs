//! Expressions: the dispatch over all forms, and the forms without a module of their own.

use super::lets::FunctionHead;
use super::{Infer, mk, pending};
use crate::core::{self, CoreLit, ExprKind, ForKind};
use crate::errors::reason::Reason;
use crate::limits::infer_exprs::MAX_TYPE_DEPTH;
use crate::ty::{Class, Ty};
use adl_syntax::ast;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::stop;
use adl_syntax::symbol::Symbol;

/// The syntactic context of a function literal.
pub(super) struct LambdaContext {
    /// Written with `lin`.
    pub linear: bool,
    /// The expected type comes from a use, not from the function's own definition.
    pub inner: bool,
    /// The name of the definition, if it is the value of one.
    pub name: Option<Symbol>,
}

impl Infer<'_> {
    /// Infers an expression and requires a type.
    pub(super) fn check(&mut self, e: &ast::Expr, ty: &Ty, why: &Reason) -> core::Expr {
        let c = self.infer(e, Some(ty));
        self.expect(ty, &c.ty.clone(), last_span(e), why);
        c
    }

    /// Infers an expression. `want` is the type that the context expects; it only guides inference.
    pub(super) fn infer(&mut self, expr: &ast::Expr, want: Option<&Ty>) -> core::Expr {
        let out = self.infer_deep(expr, want);
        self.record_type(expr.span, &out.ty);
        out
    }

    /// The same, with a limit to the depth of types.
    fn infer_deep(&mut self, expr: &ast::Expr, want: Option<&Ty>) -> core::Expr {
        stop::poll();
        let deepens = matches!(
            expr.kind,
            ast::ExprKind::Fun(..)
                | ast::ExprKind::Lin(..)
                | ast::ExprKind::Array(_)
                | ast::ExprKind::Record(_)
                | ast::ExprKind::Tuple(_)
                | ast::ExprKind::For(..)
                | ast::ExprKind::App(..)
        );
        if !deepens {
            return stacker::maybe_grow(96 * 1024, 1024 * 1024, || self.infer_inner(expr, want));
        }
        // Types grow with these forms, and every level traverses the whole type.
        if self.enclosing.depth >= MAX_TYPE_DEPTH {
            self.report(Diagnostic::error("E0107", expr.span, "nested too deeply").hint("name the parts with `let`"));
            return self.error_expr(expr.span);
        }
        self.enclosing.depth += 1;
        let out = stacker::maybe_grow(96 * 1024, 1024 * 1024, || self.infer_inner(expr, want));
        self.enclosing.depth -= 1;
        if self.too_large(&out.ty) {
            self.report_large(expr.span);
            return self.error_expr(expr.span);
        }
        out
    }

    pub(super) fn infer_inner(&mut self, expr: &ast::Expr, want: Option<&Ty>) -> core::Expr {
        let span = expr.span;
        match &expr.kind {
            ast::ExprKind::Lit(l) => self.literal(l, span),
            ast::ExprKind::Interp(parts) => self.interp(parts, span),
            ast::ExprKind::Var(name) => self.variable(*name, span),
            ast::ExprKind::Con(m, c) => self.constructor(*m, *c, &[], span),
            ast::ExprKind::Section(op) => self.section(*op, span),
            ast::ExprKind::App(f, args) => self.apply(f, args, want, span),
            ast::ExprKind::Bin(op, at, a, b) => self.binary(*op, *at, a, b, want, span),
            ast::ExprKind::Neg(a) => self.negate(a, span),
            ast::ExprKind::Fun(params, body) => self.lambda(
                params,
                body,
                want,
                LambdaContext { linear: false, inner: want.is_some(), name: None },
                span,
            ),
            ast::ExprKind::Lin(p, body) => self.lambda(
                std::slice::from_ref(p),
                body,
                want,
                LambdaContext { linear: true, inner: want.is_some(), name: None },
                span,
            ),
            ast::ExprKind::Block(stmts) => self.block(stmts, want, span),
            ast::ExprKind::If(c, a, b) => self.if_expr(c, a, b.as_deref(), want, span),
            ast::ExprKind::Match(s, arms) => self.match_expr(s, arms, want, span),
            ast::ExprKind::Tuple(parts) => self.tuple(parts, want, span),
            ast::ExprKind::Paren(e) => self.infer(e, want),
            ast::ExprKind::Record(fields) => self.record(fields, want, span),
            ast::ExprKind::Update(r, fields) => self.update(r, fields, want, span),
            ast::ExprKind::Field(r, name) => self.field(r, *name, span),
            ast::ExprKind::Array(parts) => self.array_literal(parts, want, span),
            ast::ExprKind::Index(a, args) => self.index(a, args, span),
            ast::ExprKind::For(generators, body) => self.comprehension(ForKind::Build, generators, body, span),
            ast::ExprKind::Iverson(p) => self.iverson(p, span),
            ast::ExprKind::Loop(p, init, kind, body) => self.loop_expr(p, init, kind, body, span),
            ast::ExprKind::Ann(e, sig) => {
                let names = self.annotated.types.clone();
                let ty = self.signature(sig);
                let c = self.infer(e, Some(&ty));
                let had = c.ty.clone();
                self.expect(
                    &ty,
                    &had,
                    last_span(e),
                    &Reason::said("this expression", sig.ty.span, "its type is given here"),
                );
                self.annotated.types = names;
                self.sized(c, &ty, sig.ty.span)
            }
            ast::ExprKind::Error if self.trial.on => self.hole(span),
            ast::ExprKind::Error => self.error_expr(span),
        }
    }

    pub(super) fn literal(&mut self, l: &ast::Lit, span: Span) -> core::Expr {
        let (kind, ty) = match l {
            ast::Lit::Unit => (ExprKind::Lit(CoreLit::Unit), Ty::Unit),
            ast::Lit::Bool(b) => (ExprKind::Lit(CoreLit::Bool(*b)), Ty::Bool),
            ast::Lit::Str(s) => (ExprKind::Lit(CoreLit::Str(s.as_str().into())), Ty::Str),
            ast::Lit::F32(x) => (ExprKind::Lit(CoreLit::F32(*x)), Ty::F32),
            ast::Lit::Int(n) => {
                let t = self.number(Class::Num, span, "a number");
                (ExprKind::IntAt(*n, pending(&t)), t)
            }
            ast::Lit::Float(x) => {
                let t = self.number(Class::Real, span, "a real number");
                (ExprKind::FloatAt(*x, pending(&t)), t)
            }
        };
        mk(kind, ty, span)
    }

    pub(super) fn interp(&mut self, parts: &[ast::StrPart], span: Span) -> core::Expr {
        let parts = parts
            .iter()
            .map(|p| match p {
                ast::StrPart::Text(s) => mk(ExprKind::Lit(CoreLit::Str(s.as_str().into())), Ty::Str, span),
                ast::StrPart::Expr(e) => self.infer(e, None),
            })
            .collect();
        mk(ExprKind::Interp(parts), Ty::Str, span)
    }

    /// `fun p1 p2 -> e` and `lin p -> e`.
    pub(super) fn lambda(
        &mut self,
        params: &[ast::Pat],
        body: &ast::Expr,
        want: Option<&Ty>,
        head: LambdaContext,
        span: Span,
    ) -> core::Expr {
        let mut wants = Vec::new();
        let mut ret = None;
        let mut want = want.map(|t| self.resolve(t));
        for _ in params {
            match want {
                Some(Ty::Fun(a, b) | Ty::Lin(a, b)) => {
                    wants.push((*a).clone());
                    want = Some(self.resolve(&b));
                    ret = Some((*b).clone());
                }
                _ => {
                    ret = None;
                    break;
                }
            }
        }
        // The context's result type only guides; a mismatch is better reported for the whole expression.
        let ret =
            if wants.len() == params.len() { ret.filter(|t| !matches!(self.resolve(t), Ty::Meta(_))) } else { None };
        self.function(FunctionHead {
            params,
            wants: &wants,
            ret: ret.as_ref(),
            body,
            linear: head.linear,
            name: head.name,
            span,
            sig: None,
            whole: None,
            inner: head.inner,
        })
    }

    pub(super) fn block(&mut self, stmts: &[ast::Stmt], want: Option<&Ty>, span: Span) -> core::Expr {
        match stmts {
            [] => self.error_expr(span),
            [ast::Stmt::Expr(e)] => self.infer(e, want),
            [ast::Stmt::Let(..)] => self.error_expr(span),
            [ast::Stmt::Let(group, s), rest @ ..] => stacker::maybe_grow(96 * 1024, 1024 * 1024, || {
                self.local_let(group, *s, |me| me.block(rest, want, span))
            }),
            [ast::Stmt::Expr(e), rest @ ..] => {
                let first = self.infer(e, Some(&Ty::Unit));
                let why = Reason::new("an expression that is not the last of its block");
                self.expect(&Ty::Unit, &first.ty.clone(), e.span, &why);
                let body = stacker::maybe_grow(96 * 1024, 1024 * 1024, || self.block(rest, want, span));
                let (local, t) = (self.local(), body.ty.clone());
                mk(ExprKind::Let(local, None, first, body), t, e.span)
            }
        }
    }

    /// `[| p |]` alone: 1 or 0.
    pub(super) fn iverson(&mut self, p: &ast::Expr, span: Span) -> core::Expr {
        let cond = self.check(p, &Ty::Bool, &Reason::new("the condition of `[| |]`"));
        let t = self.number(Class::Num, span, "`[| |]`");
        let one = mk(ExprKind::IntAt(1, pending(&t)), t.clone(), span);
        let zero = mk(ExprKind::IntAt(0, pending(&t)), t.clone(), span);
        mk(ExprKind::If(cond, one, zero), t, span)
    }
}

/// The span to mark for the value of an expression: the last entry of a block.
pub(super) fn last_span(e: &ast::Expr) -> Span {
    match &e.kind {
        ast::ExprKind::Block(stmts) => match stmts.last() {
            Some(ast::Stmt::Expr(e)) => last_span(e),
            _ => e.span,
        },
        _ => e.span,
    }
}

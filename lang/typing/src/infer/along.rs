//! `along axis f x`: applies a function of vectors along one axis of an array, by mapping over the other axes.

use super::{Infer, array, fun, mk};
use crate::core::{self, ExprKind, Lambda, Param};
use crate::errors::mismatch;
use crate::errors::reason::Reason;
use crate::ty::{Size, Ty};
use adl_prim::{ArrayFn, HigherOrderFn, Prim, ReductionFn};
use adl_syntax::ast;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::rc::Rc;

/// Builds one expression from another.
type BuildExpr<'f, 'i> = &'f mut dyn FnMut(&mut Infer<'i>, core::Expr) -> core::Expr;

impl<'i> Infer<'i> {
    pub(super) fn along(&mut self, args: &[&ast::Expr], span: Span) -> core::Expr {
        let x = self.infer(args[2], None);
        self.solve_ops();
        let Some(axis) = literal(args[0]) else {
            self.report(mismatch::unknown_axis(args[0].span));
            return self.error_expr(span);
        };
        let Some((axis, sizes, leaf)) = self.leading_axes(axis, args[0].span, &x) else { return self.error_expr(span) };
        let reduces = self.reduces_rows(args[1]);
        let (operand, leaf) = match reduces {
            Some(p) => self.counted(p, x, leaf),
            None => (x, leaf),
        };
        let rest = sizes.len() - axis - 1;
        let row = sizes[axis + 1..].iter().rev().fold(leaf.clone(), |t, n| array(*n, t));
        let whole = reduces.is_some() || rest == 0;
        let (given, out) = (array(sizes[axis], if whole { row } else { leaf }), self.meta());
        let f = self.check(args[1], &fun(given, out.clone()), &Reason::argument(1, 3, &"`along`".into()));
        self.solve_ops();
        self.bind_if_costly(f, span, &mut |me, f| {
            me.mapped(operand.clone(), axis, &mut |me, part| {
                if whole { call_of(&f, part, &out, span) } else { me.map_vectors(&f, part, rest, &out) }
            })
        })
    }

    /// `along axis f`, a function. `want`: the type that the context expects.
    pub(super) fn along_of(&mut self, axis: &ast::Expr, f: &ast::Expr, want: Option<&Ty>, span: Span) -> core::Expr {
        let name = Symbol::new("__array");
        let var = |name| ast::Expr { kind: ast::ExprKind::Var(name), span };
        let args = vec![axis.clone(), f.clone(), var(name)];
        let body = ast::Expr { kind: ast::ExprKind::App(Box::new(var(Symbol::new("along"))), args), span };
        let param = ast::Pat { kind: ast::PatKind::Var(name), span };
        self.lambda(
            &[param],
            &body,
            want,
            super::exprs::LambdaContext { linear: false, inner: false, name: None },
            span,
        )
    }

    /// The axis counted from 0, the sizes of all axes, and the element type under them. An array of unknown rank is
    /// assumed to end with the axis.
    fn leading_axes(&mut self, axis: i64, at: Span, expr: &core::Expr) -> Option<(usize, Vec<Size>, Ty)> {
        let known = self.known_rank(&expr.ty);
        if let (None, 0..) = (known, axis) {
            let t = (0..=axis.min(64)).fold(self.meta(), |t, _| array(self.size_meta(), t));
            self.expect(&t, &expr.ty.clone(), expr.span, &Reason::argument(2, 3, &"`along`".into()));
        }
        let rank = known.or_else(|| (axis >= 0).then(|| self.rank(&expr.ty)));
        let place = rank.map(|n| if axis < 0 { n as i64 + axis } else { axis });
        let Some(place) = place.and_then(|k| usize::try_from(k).ok()).filter(|k| rank.is_some_and(|n| (*k as u64) < n))
        else {
            self.report(mismatch::no_axis(at, axis, rank));
            return None;
        };
        let (mut sizes, mut t) = (Vec::new(), self.resolve(&expr.ty));
        while let Ty::Array(n, e) = t {
            sizes.push(n);
            t = self.resolve(&e);
        }
        Some((place, sizes, t))
    }

    /// A reduction that adds rows as it adds numbers. On an array of rows it needs no vectors along the axis.
    fn reduces_rows(&self, f: &ast::Expr) -> Option<Prim> {
        let ast::ExprKind::Var(name) = super::apply::strip(f).kind else { return None };
        self.prim_named(name)
            .filter(|p| matches!(p, Prim::Reduction(ReductionFn::Sum | ReductionFn::Prod | ReductionFn::Mean)))
    }

    /// Uses a function inside lambdas. If evaluating it costs work, it is bound outside of them first.
    fn bind_if_costly(&mut self, f: core::Expr, span: Span, body: BuildExpr<'_, 'i>) -> core::Expr {
        if matches!(*f.kind, ExprKind::Prim(..) | ExprKind::Global(..) | ExprKind::Local(..) | ExprKind::Lam(..)) {
            return body(self, f);
        }
        let name = self.local();
        let body = body(self, mk(ExprKind::Local(name), f.ty.clone(), span));
        let ty = body.ty.clone();
        mk(ExprKind::Let(name, None, f, body), ty, span)
    }

    /// Applies `f` under the first `axes` axes of an array.
    fn mapped(&mut self, expr: core::Expr, axes: usize, f: BuildExpr<'_, 'i>) -> core::Expr {
        let Ty::Array(n, elem) = self.resolve(&expr.ty) else { return f(self, expr) };
        if axes == 0 {
            return f(self, expr);
        }
        let (span, local) = (expr.span, self.local());
        let body = self.mapped(mk(ExprKind::Local(local), (*elem).clone(), span), axes - 1, f);
        let (ty, made) = (fun((*elem).clone(), body.ty.clone()), array(n, body.ty.clone()));
        let lam =
            Lambda { params: vec![Param { local, name: None, ty: (*elem).clone() }], body, linear: false, name: None };
        let map = self.prim_value(Prim::HigherOrder(HigherOrderFn::Map), span);
        let whole = fun(ty.clone(), fun(expr.ty.clone(), made.clone()));
        self.expect(&whole, &map.ty.clone(), span, &Reason::new("`along`"));
        mk(ExprKind::App(map, vec![mk(ExprKind::Lam(Rc::new(lam)), ty, span), expr]), made, span)
    }

    /// Applies `f` to each vector along the first axis, which `rest` other axes follow. Its result replaces that axis.
    fn map_vectors(&mut self, f: &core::Expr, x: core::Expr, rest: usize, out: &Ty) -> core::Expr {
        let span = x.span;
        let vectors = self.move_first_axis_last(x, rest);
        let mut made = self.mapped(vectors, rest, &mut |_, v| call_of(f, v, out, span));
        let axes = self.rank(out) as usize;
        for _ in 0..if axes == 0 { 0 } else { rest } {
            made = self.move_first_axis_last(made, axes + rest - 1);
        }
        made
    }

    /// Moves the first axis of an array behind the next `rest` ones.
    fn move_first_axis_last(&mut self, x: core::Expr, rest: usize) -> core::Expr {
        if rest == 0 {
            return x;
        }
        let (span, ty) = (x.span, self.resolve(&x.ty));
        let Ty::Array(n, row) = &ty else { return x };
        let Ty::Array(m, e) = self.resolve(row) else { return x };
        let turned = array(m, array(*n, (*e).clone()));
        let prim = mk(ExprKind::Prim(Prim::Array(ArrayFn::TransposeArray), Vec::new()), Ty::Unit, span);
        let x = mk(ExprKind::App(prim, vec![x]), turned, span);
        self.mapped(x, 1, &mut |me, part| me.move_first_axis_last(part, rest - 1))
    }
}

/// The value of an Int literal.
pub(super) fn literal(e: &ast::Expr) -> Option<i64> {
    match &super::apply::strip(e).kind {
        ast::ExprKind::Lit(ast::Lit::Int(n)) => Some(*n),
        ast::ExprKind::Neg(e) => literal(e).map(|n| -n),
        _ => None,
    }
}

fn call_of(f: &core::Expr, x: core::Expr, out: &Ty, span: Span) -> core::Expr {
    mk(ExprKind::App(f.clone(), vec![x]), out.clone(), span)
}

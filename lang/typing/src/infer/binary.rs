//! Binary operators: those that are primitives, and those that are not.

use super::apply::{factors, guarded};
use super::exprs::LambdaContext;
use super::{Infer, fun, mk};
use crate::core::{self, CoreLit, ExprKind, Lambda, Param};
use crate::errors::reason::Reason;
use crate::ty::{Class, Ty};
use adl_prim::{ArrayFn, Bin, Cmp, NumberFn, Prim, ReductionFn, Un};
use adl_syntax::ast::{self, BinOp};
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::rc::Rc;

impl Infer<'_> {
    pub(super) fn section(&mut self, op: BinOp, span: Span) -> core::Expr {
        if let Some(p) = arith_prim(op) {
            return self.prim_value(p, span);
        }
        // Every other operator becomes `fun a b -> a op b`.
        let (x, y) = (Symbol::new("a"), Symbol::new("b"));
        let var = |name| ast::Expr { kind: ast::ExprKind::Var(name), span };
        let body = ast::Expr { kind: ast::ExprKind::Bin(op, span, Box::new(var(x)), Box::new(var(y))), span };
        let pat = |name| ast::Pat { kind: ast::PatKind::Var(name), span };
        self.lambda(&[pat(x), pat(y)], &body, None, LambdaContext { linear: false, inner: false, name: None }, span)
    }

    pub(super) fn negate(&mut self, a: &ast::Expr, span: Span) -> core::Expr {
        let lit = match &a.kind {
            ast::ExprKind::Lit(ast::Lit::Int(n)) => Some(ast::Lit::Int(-n)),
            ast::ExprKind::Lit(ast::Lit::Float(x)) => Some(ast::Lit::Float(-x)),
            ast::ExprKind::Lit(ast::Lit::F32(x)) => Some(ast::Lit::F32(-x)),
            _ => None,
        };
        if let Some(l) = lit {
            return self.literal(&l, span);
        }
        let e = self.infer(a, None);
        self.arith(Prim::Un(Un::Neg), vec![e], span)
    }

    /// An arithmetic primitive on operands already inferred.
    pub(super) fn arith(&mut self, p: Prim, args: Vec<core::Expr>, span: Span) -> core::Expr {
        let ty = self.operate(p, args.iter().map(|a| (a.ty.clone(), a.span)).collect(), span);
        mk(ExprKind::App(mk(ExprKind::Prim(p, Vec::new()), Ty::Unit, span), args), ty, span)
    }

    pub(super) fn binary(
        &mut self,
        op: BinOp,
        at: Span,
        left: &ast::Expr,
        right: &ast::Expr,
        want: Option<&Ty>,
        span: Span,
    ) -> core::Expr {
        if self.effect_before(op, left, span) {
            return self.error_expr(span);
        }
        match op {
            BinOp::PipeRight => self.apply_to(right, &[left], want, span, true),
            BinOp::PipeLeft => self.apply_to(left, &[right], want, span, false),
            BinOp::Compose => self.compose(left, right, span),
            BinOp::And | BinOp::Or => {
                let why = Reason::new(format!("an operand of `{}`", op.text()));
                let x = self.check(left, &Ty::Bool, &why);
                let y = self.check(right, &Ty::Bool, &why);
                let known = mk(ExprKind::Lit(CoreLit::Bool(op == BinOp::Or)), Ty::Bool, at);
                let kind = if op == BinOp::And { ExprKind::If(x, y, known) } else { ExprKind::If(x, known, y) };
                mk(kind, Ty::Bool, span)
            }
            BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Gt | BinOp::Le | BinOp::Ge => {
                self.comparison(op, at, left, right, span)
            }
            BinOp::Cons => {
                self.constructor(None, ast::Ident { name: Symbol::new("Cons"), span: at }, &[left, right], span)
            }
            BinOp::Pow => self.power(left, right, span),
            BinOp::Mul => self.multiply(left, right, span),
            BinOp::IntDiv if self.comment_by_slashes(at, right) => self.error_expr(span),
            op => match arith_prim(op) {
                Some(p) => self.plain_arith(p, left, right, span),
                None => self.error_expr(span),
            },
        }
    }

    /// `a * b`, where `a` may be a product itself: the factors are inferred in order, without recursion.
    fn multiply(&mut self, a: &ast::Expr, b: &ast::Expr, span: Span) -> core::Expr {
        let (first, others) = factors(a);
        if let ast::ExprKind::Iverson(p) = &first.kind {
            return self.guard(p, guarded(&others), b, span);
        }
        let mut out = self.infer(first, None);
        for (factor, at) in others.into_iter().chain([(b, span)]) {
            let factor = self.infer(factor, None);
            out = self.arith(Prim::Bin(Bin::Mul), vec![out, factor], at);
        }
        out
    }

    pub(super) fn plain_arith(&mut self, p: Prim, a: &ast::Expr, b: &ast::Expr, span: Span) -> core::Expr {
        let x = self.infer(a, None);
        let y = self.infer(b, None);
        self.arith(p, vec![x, y], span)
    }

    pub(super) fn power(&mut self, a: &ast::Expr, expr: &ast::Expr, span: Span) -> core::Expr {
        let base = self.infer(a, None);
        let literal = match &expr.kind {
            ast::ExprKind::Lit(ast::Lit::Int(n)) => Some(*n),
            ast::ExprKind::Neg(e) => match &e.kind {
                ast::ExprKind::Lit(ast::Lit::Int(n)) => Some(-n),
                _ => None,
            },
            _ => None,
        };
        let Some(n) = literal.filter(|n| i32::try_from(*n).is_ok()) else {
            let y = self.infer(expr, None);
            return self.arith(Prim::Bin(Bin::Pow), vec![base, y], span);
        };
        let ty = self.operate(Prim::Number(NumberFn::PowInt), vec![(base.ty.clone(), base.span)], span);
        let exponent = mk(ExprKind::Lit(CoreLit::Int(n)), Ty::Int, expr.span);
        mk(
            ExprKind::App(
                mk(ExprKind::Prim(Prim::Number(NumberFn::PowInt), Vec::new()), Ty::Unit, span),
                vec![base, exponent],
            ),
            ty,
            span,
        )
    }

    pub(super) fn comparison(
        &mut self,
        op: BinOp,
        at: Span,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
    ) -> core::Expr {
        let lhs = self.infer(left, None);
        let rhs = self.infer(right, Some(&lhs.ty.clone()));
        self.solve_ops();
        let (class, name) = match op {
            BinOp::Eq => (Class::Eq, "`==`"),
            BinOp::Ne => (Class::Eq, "`!=`"),
            BinOp::Lt => (Class::Ord, "`<`"),
            BinOp::Gt => (Class::Ord, "`>`"),
            BinOp::Le => (Class::Ord, "`<=`"),
            _ => (Class::Ord, "`>=`"),
        };
        let why = Reason::right(name, left.span, &lhs.ty);
        match self.unify(&lhs.ty.clone(), &rhs.ty.clone()) {
            Ok(()) => {
                self.require(class, &lhs.ty.clone(), span, name);
            }
            Err(_) if self.applied_before(&lhs.ty, (left.span, right.span), op.text()).is_some() => {
                let d = self.applied_before(&lhs.ty, (left.span, right.span), op.text());
                d.into_iter().for_each(|d| self.report(d));
            }
            Err(unify_error) => {
                let d = self.unify_error(unify_error, &lhs.ty, &rhs.ty, right.span, &why);
                let each = self.known_rank(&lhs.ty) != self.known_rank(&rhs.ty);
                self.report(if each {
                    d.hint(self.by_element(op, left, right)).fix(at, format!(".{}", op.text()))
                } else {
                    d
                });
            }
        }
        let p = arith_prim(op).unwrap_or(Prim::Compare(Cmp::Eq));
        mk(ExprKind::App(mk(ExprKind::Prim(p, Vec::new()), Ty::Unit, span), vec![lhs, rhs]), Ty::Bool, span)
    }

    /// The elementwise comparison that is meant when an array is compared with a number.
    fn by_element(&self, op: BinOp, a: &ast::Expr, b: &ast::Expr) -> String {
        let (op, left, right) = (op.text(), self.host.text(a.span), self.host.text(b.span));
        format!("`{op}` compares whole values; `.{op}` compares each element: `{left} .{op} {right}`")
    }

    pub(super) fn compose(&mut self, f: &ast::Expr, g: &ast::Expr, span: Span) -> core::Expr {
        let (domain, b, c) = (self.meta(), self.meta(), self.meta());
        let first = self.check(f, &fun(domain.clone(), b.clone()), &Reason::new("the left side of `>>`"));
        let second = self.check(g, &fun(b.clone(), c.clone()), &Reason::new("the right side of `>>`"));
        let (x, lf, lg) = (self.local(), self.local(), self.local());
        let call = |h: core::Local, ht: &Ty, arg: core::Expr, t: &Ty| {
            mk(ExprKind::App(mk(ExprKind::Local(h), ht.clone(), span), vec![arg]), t.clone(), span)
        };
        let linear = matches!((self.resolve(&first.ty), self.resolve(&second.ty)), (Ty::Lin(..), Ty::Lin(..)));
        let inner = call(lf, &first.ty, mk(ExprKind::Local(x), domain.clone(), span), &b);
        let body = call(lg, &second.ty, inner, &c);
        let ty = if linear { Ty::Lin(Rc::new(domain.clone()), Rc::new(c)) } else { fun(domain.clone(), c) };
        let lam = Lambda { params: vec![Param { local: x, name: None, ty: domain }], body, linear, name: None };
        let lam = mk(ExprKind::Lam(Rc::new(lam)), ty.clone(), span);
        let inner = mk(ExprKind::Let(lg, None, second, lam), ty.clone(), span);
        mk(ExprKind::Let(lf, None, first, inner), ty, span)
    }
}

/// The primitive of an arithmetic or comparison operator.
pub(super) fn arith_prim(op: BinOp) -> Option<Prim> {
    Some(match op {
        BinOp::Add => Prim::Bin(Bin::Add),
        BinOp::Sub => Prim::Bin(Bin::Sub),
        BinOp::Mul => Prim::Bin(Bin::Mul),
        BinOp::Div => Prim::Bin(Bin::Div),
        BinOp::IntDiv => Prim::Bin(Bin::IntDiv),
        BinOp::Rem => Prim::Bin(Bin::Rem),
        BinOp::Pow => Prim::Bin(Bin::Pow),
        BinOp::Eq => Prim::Compare(Cmp::Eq),
        BinOp::Ne => Prim::Compare(Cmp::Ne),
        BinOp::Lt => Prim::Compare(Cmp::Lt),
        BinOp::Gt => Prim::Compare(Cmp::Gt),
        BinOp::Le => Prim::Compare(Cmp::Le),
        BinOp::Ge => Prim::Compare(Cmp::Ge),
        BinOp::EqEach => Prim::CompareEach(Cmp::Eq),
        BinOp::NeEach => Prim::CompareEach(Cmp::Ne),
        BinOp::LtEach => Prim::CompareEach(Cmp::Lt),
        BinOp::GtEach => Prim::CompareEach(Cmp::Gt),
        BinOp::LeEach => Prim::CompareEach(Cmp::Le),
        BinOp::GeEach => Prim::CompareEach(Cmp::Ge),
        BinOp::AndEach => Prim::Number(NumberFn::AndEach),
        BinOp::OrEach => Prim::Number(NumberFn::OrEach),
        BinOp::Append => Prim::Array(ArrayFn::Append),
        BinOp::MatMul => Prim::Reduction(ReductionFn::MatMul),
        BinOp::PipeLeft | BinOp::PipeRight | BinOp::Compose | BinOp::Or | BinOp::And | BinOp::Cons => return None,
    })
}

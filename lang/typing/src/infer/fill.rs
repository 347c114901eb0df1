//! Arrays built from a shape, or as equidistant numbers: `zeros [n, m]`, `arange a b step`.

use super::slices::{LetBindings, after, int, prim, whole};
use super::{Infer, array, mk, pending};
use crate::core::{CoreLit, Expr, ExprKind, Extent, ForKind};
use crate::errors::mismatch;
use crate::errors::reason::Reason;
use crate::ty::{Class, Size, Ty};
use adl_prim::{ArrayFn, Bin, NumberFn, Prim, Un};
use adl_syntax::ast;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;

impl Infer<'_> {
    /// An array filled with `expr`, whose shape is a literal or a single size.
    pub(super) fn filled_shape(&mut self, p: Prim, shape: &ast::Expr, expr: Expr, span: Span) -> Expr {
        let dims: Vec<&ast::Expr> = match &super::apply::strip(shape).kind {
            ast::ExprKind::Array(dims) => dims.iter().collect(),
            _ => vec![shape],
        };
        let alone = !matches!(super::apply::strip(shape).kind, ast::ExprKind::Array(_));
        let mut sizes = Vec::new();
        for e in dims {
            let n = self.infer(e, Some(&Ty::Int));
            if alone && matches!(self.resolve(&n.ty), Ty::Array(..)) {
                self.report(mismatch::unknown_shape(shape.span, p.name()));
                return self.error_expr(span);
            }
            self.expect(&Ty::Int, &n.ty.clone(), e.span, &Reason::new("an extent"));
            sizes.push((n, self.size_of(e)));
        }
        sizes.into_iter().rev().fold(expr, |x, (n, size)| {
            let ty = array(size, x.ty.clone());
            self.call(Prim::Array(ArrayFn::Replicate), &[], vec![n, x], ty, span)
        })
    }

    /// `arange n`, `arange from to`, `arange from to step`.
    pub(super) fn arange(&mut self, args: &[&ast::Expr], span: Span) -> Expr {
        if let [n] = args {
            let size = self.size_of(n);
            let n = self.arg(Prim::Array(ArrayFn::Arange), 0, n, &Ty::Int);
            return self.call(Prim::Array(ArrayFn::Iota), &[], vec![n], array(size, Ty::Int), span);
        }
        let t = self.number(Class::Num, span, "`arange`");
        let why = Reason::new("a bound of `arange`");
        let mut cores: Vec<Expr> = args.iter().map(|a| self.check(a, &t, &why)).collect();
        self.solve_ops();
        let real = match self.resolve(&t) {
            Ty::Meta(m) => self.vars[m].has(Class::Real),
            t => t != Ty::Int,
        };
        let wanted = if real { Ty::Float } else { Ty::Int };
        if !self.expect(&wanted, &t, span, &why) {
            return self.error_expr(span);
        }
        if let ([_, _], false) = (args, real) {
            let size = match (self.size_of(args[0]), self.size_of(args[1])) {
                (Size::Const(a, _), Size::Const(b, _)) => Size::from(b.saturating_sub(a), span),
                _ => Size::Unknown,
            };
            return self.call(Prim::Array(ArrayFn::Range), &[], cores, array(size, Ty::Int), span);
        }
        if cores.len() == 2 {
            cores.push(mk(ExprKind::Lit(CoreLit::Float(1.0)), Ty::Float, span));
        }
        self.steps(cores, real, span)
    }

    /// The numbers `from`, `from + step` and so on, below `to`.
    fn steps(&mut self, cores: Vec<Expr>, real: bool, span: Span) -> Expr {
        let mut lets = LetBindings::new();
        let [from, to, step] = [0, 1, 2].map(|k| self.named(cores[k].clone(), &mut lets));
        let of = |p: Prim, args: Vec<Expr>| prim(p, args, if real { Ty::Float } else { Ty::Int }, span);
        let distance = of(Prim::Bin(Bin::Sub), vec![to, from.clone()]);
        let count = if real {
            let steps = of(Prim::Un(Un::Ceil), vec![of(Prim::Bin(Bin::Div), vec![distance, step.clone()])]);
            whole(Prim::Number(NumberFn::ToInt), vec![steps], span)
        } else {
            let last = of(Prim::Bin(Bin::Sub), vec![step.clone(), of(Prim::Un(Un::Sign), vec![step.clone()])]);
            of(Prim::Bin(Bin::IntDiv), vec![of(Prim::Bin(Bin::Add), vec![distance, last]), step.clone()])
        };
        let count = whole(Prim::Bin(Bin::Max), vec![count, int(0, span)], span);
        let k = self.local();
        let index = mk(ExprKind::Local(k), Ty::Int, span);
        let index = if real { of(Prim::Number(NumberFn::ToFloat), vec![index]) } else { index };
        let x = of(Prim::Bin(Bin::Add), vec![from, of(Prim::Bin(Bin::Mul), vec![step, index])]);
        let t = x.ty.clone();
        let made = mk(
            ExprKind::For(ForKind::Build, vec![(k, Symbol::new("i"), Extent::Bound(count))], x, pending(&t)),
            array(Size::Unknown, t),
            span,
        );
        after(lets, made)
    }
}

//! Arrays of Bools: `where`, `x[mask]`, and sums that count.

use super::op_constraints::OpConstraint;
use super::ops::{Head, is_logic};
use super::{Infer, array, mk};
use crate::core::{self, CoreLit, ExprKind};
use crate::errors::reason::Reason;
use crate::ty::{Size, Ty};
use adl_prim::{ArrayFn, Prim, ReductionFn};
use adl_syntax::ast;

/// An index argument whose type is known.
pub(super) enum IndexArgKind {
    /// A position.
    At(core::Expr),
    /// A mask, which has already been applied: it now stands for the whole axis of the selected elements.
    Mask,
}

impl Infer<'_> {
    /// `where cond left right` has the highest rank of the three. The others are broadcast along its leading axes.
    pub(super) fn solve_where(&mut self, op: &OpConstraint, force: bool) -> bool {
        let [condition, left, right] = [0, 1, 2].map(|i| op.args[i].clone());
        let unknown = |s: &Self, t: &Ty| s.known_rank(t).is_none() && s.bottom(t) != Ty::Bool;
        // A scalar condition, or branches of equal types, need no rank.
        let alike = self.resolve(&condition.0) == Ty::Bool && self.resolve_deep(&left.0) == self.resolve_deep(&right.0);
        if !force && !alike && [&condition, &left, &right].iter().any(|e| unknown(self, &e.0)) {
            return false;
        }
        let mask = self.bottom(&condition.0);
        if !self.expect(&Ty::Bool, &mask, condition.1, &Reason::new("the condition of `where`")) {
            return true;
        }
        let ranks = [&condition, &left, &right].map(|e| self.rank(&e.0));
        let most = ranks.into_iter().max().unwrap_or(0);
        let why = Reason::is("this branch of `where`", left.1, "the other branch", &left.0);
        if ranks == [0; 3] || ranks == [0, most, most] {
            self.expect(&left.0, &right.0, right.1, &why);
            let ty = self.sharper(&left.0, &right.0);
            return self.finish(op, &ty);
        }
        let (leaf, other) = (self.bottom(&left.0), self.bottom(&right.0));
        self.expect(&leaf, &other, right.1, &why);
        let operands =
            [(&condition, "the condition of `where`"), (&left, "a branch of `where`"), (&right, "a branch of `where`")];
        let operands = operands.map(|(e, what)| ((self.with_leaf(&e.0, &leaf), e.1), what));
        let high = ranks.iter().position(|r| *r == most).unwrap_or(0);
        let mut whole = operands[high].0.clone();
        for (i, (operand, what)) in operands.iter().enumerate() {
            if i != high && ranks[i] > 0 {
                whole.0 = self.spread((*what).to_owned(), operand, (&whole, operands[high].1));
            }
        }
        self.finish(op, &whole.0)
    }

    /// The type of an array with another element type.
    pub(super) fn with_leaf(&self, t: &Ty, leaf: &Ty) -> Ty {
        match self.resolve(t) {
            Ty::Array(n, e) => array(n, self.with_leaf(&e, leaf)),
            _ => leaf.clone(),
        }
    }

    /// An array to be reduced and its element type. A sum of Bools counts them, and a mean is the fraction that is
    /// true.
    pub(super) fn counted(&mut self, p: Prim, expr: core::Expr, elem: Ty) -> (core::Expr, Ty) {
        let number = match p {
            Prim::Reduction(ReductionFn::Sum) => Ty::Int,
            Prim::Reduction(ReductionFn::Mean) => Ty::Float,
            _ => return (expr, elem),
        };
        if self.bottom(&elem) != Ty::Bool {
            return (expr, elem);
        }
        let (ty, elem, span) = (self.with_leaf(&expr.ty, &number), self.with_leaf(&elem, &number), expr.span);
        let [one, zero] = [1, 0].map(|k| {
            mk(
                ExprKind::Lit(if number == Ty::Int { CoreLit::Int(k) } else { CoreLit::Float(k as f64) }),
                number.clone(),
                span,
            )
        });
        (self.call(Prim::Array(ArrayFn::Where), &[], vec![expr, one, zero], ty, span), elem)
    }

    /// Infers index arguments and tells masks from positions by their types. For a mask, the base becomes the selected
    /// elements.
    pub(super) fn positions(
        &mut self,
        base: &mut core::Expr,
        args: &[ast::IndexArg],
        axes: &mut [Size],
    ) -> Vec<Option<IndexArgKind>> {
        let mut out = Vec::new();
        for (axis, arg) in args.iter().enumerate() {
            out.push(match arg {
                ast::IndexArg::At(i) if super::along::literal(i).is_none() => {
                    Some(self.position(i, axis, &mut axes[axis], base))
                }
                _ => None,
            });
        }
        out
    }

    fn position(&mut self, expr: &ast::Expr, axis: usize, size: &mut Size, base: &mut core::Expr) -> IndexArgKind {
        let at = self.infer(expr, Some(&Ty::Int));
        self.solve_ops();
        if !matches!(self.resolve(&at.ty), Ty::Array(..)) && !self.gives_bools(&at.ty) {
            self.expect(&Ty::Int, &at.ty.clone(), expr.span, &Reason::new("an index"));
            return IndexArgKind::At(at);
        }
        if self.head(&self.bottom(&at.ty)) == Head::Scalar {
            self.report(crate::errors::mismatch::positions(
                expr.span,
                self.host.text(base.span),
                self.host.text(expr.span),
            ));
            return IndexArgKind::Mask;
        }
        self.expect(&array(*size, Ty::Bool), &at.ty.clone(), expr.span, &Reason::new("an array for an index, a mask,"));
        let (span, whole) = (base.span, base.clone());
        let turned = |me: &mut Self, x: core::Expr, ty: Ty| {
            me.call(Prim::Array(ArrayFn::TransposeArray), &[], vec![x], ty, span)
        };
        *base = match (axis, self.resolve(&whole.ty)) {
            (0, Ty::Array(_, e)) => self.compress(at, whole, (*e).clone()),
            (1, Ty::Array(m, row)) if let Ty::Array(n, e) = self.resolve(&row) => {
                let columns = turned(self, whole, array(n, array(m, (*e).clone())));
                let chosen = self.compress(at, columns, array(m, (*e).clone()));
                turned(self, chosen, array(m, array(Size::Unknown, (*e).clone())))
            }
            _ => {
                self.report(crate::errors::mismatch::mask_too_far(expr.span));
                return IndexArgKind::Mask;
            }
        };
        *size = Size::Unknown;
        IndexArgKind::Mask
    }

    /// Whether a type is the pending result of an elementwise comparison. (A single Bool is not an index.)
    fn gives_bools(&self, t: &Ty) -> bool {
        let Ty::Meta(m) = self.resolve(t) else { return false };
        let op = self.ops.deferred_producer(m, &|t| self.resolve(t));
        op.is_some_and(|op| is_logic(op.prim) || matches!(op.prim, Prim::CompareEach(_)))
    }

    fn compress(&mut self, mask: core::Expr, xs: core::Expr, elem: Ty) -> core::Expr {
        let (span, ty) = (xs.span, array(Size::Unknown, elem));
        mk(
            ExprKind::App(
                mk(ExprKind::Prim(Prim::Array(ArrayFn::Compress), Vec::new()), Ty::Unit, span),
                vec![mask, xs],
            ),
            ty,
            span,
        )
    }
}

//! Operands of elementwise operators whose rank is unknown: inference from the other operand and the result, and
//! defaults.

use super::Infer;
use super::op_constraints::OpConstraint;
use super::ops::{Head, is_logic};
use crate::errors::reason::Reason;
use crate::ty::{Class, Ty};
use adl_prim::{Bin, NumberFn, Prim};

impl Infer<'_> {
    /// `left op right` if the rank of at least one operand is unknown and neither is compound data.
    pub(super) fn solve_unknown(&mut self, op: &OpConstraint, force: bool) -> bool {
        let ((left, sa), (right, sb)) = (op.args[0].clone(), op.args[1].clone());
        let (ha, hb) = (self.operand(op.prim, &left), self.operand(op.prim, &right));
        if is_logic(op.prim) || matches!(op.prim, Prim::CompareEach(_)) {
            // The result consists of Bools, so only its rank is informative.
            let single = self.resolve(&op.res) == Ty::Bool;
            if self.has_all_axes(op, [&left, &right]) {
                return self.solve_binary(op, force);
            }
            return (single || force) && self.same(op, &left, &right);
        }
        if self.is_number(&op.res) {
            // A scalar result has scalar operands.
            [&left, &right].into_iter().for_each(|t| self.make_scalar(t));
            return self.same(op, &left, &right);
        }
        if let Some(done) = self.improve(op, (&left, ha), (&right, hb)) {
            return done;
        }
        match (ha, hb) {
            _ if !force => false,
            (Head::Array, Head::Unknown) if matches!(self.resolve(&right), Ty::Meta(_)) => {
                self.broadcast(op, &left, &right, sb)
            }
            (Head::Unknown, Head::Array) if matches!(self.resolve(&left), Ty::Meta(_)) => {
                self.broadcast(op, &right, &left, sa)
            }
            _ => self.same(op, &left, &right),
        }
    }

    /// Whether an operand must be an array of scalars, because it has as many axes as the result.
    fn has_all_axes(&mut self, op: &OpConstraint, operands: [&Ty; 2]) -> bool {
        let Some(axes) = self.known_rank(&op.res).filter(|n| *n > 0) else { return false };
        let mut any = false;
        for t in operands {
            if self.rank(t) == axes && self.operand(op.prim, t) == Head::Unknown {
                let element = self.bottom(t);
                if is_logic(op.prim) {
                    any |= self.unify(&Ty::Bool, &element).is_ok();
                } else {
                    self.make_scalar(&element);
                }
                any |= self.operand(op.prim, t) != Head::Unknown;
            }
        }
        any
    }

    /// Refines the result type before the ranks are known. `None` if the operator is not solved by that.
    fn improve(&mut self, op: &OpConstraint, (left, ha): (&Ty, Head), (right, hb): (&Ty, Head)) -> Option<bool> {
        // Compound data is only added to data of its own type; it is not broadcast over an array of such data.
        let number = if self.rank(left) == self.rank(right) {
            Self::rank_class(op.prim)
        } else {
            self.class_beside_number(op.prim)
        };
        let data = Class::Space;
        match (ha, hb) {
            (Head::Scalar, Head::Unknown) => {
                let class = if op.prim == Prim::Bin(Bin::Mul) { data } else { self.class_beside_number(op.prim) };
                self.beside(op, right, left, class)
            }
            (Head::Unknown, Head::Scalar) => {
                let class = if matches!(op.prim, Prim::Bin(Bin::Mul | Bin::Div)) {
                    data
                } else {
                    self.class_beside_number(op.prim)
                };
                self.beside(op, left, right, class)
            }
            (Head::Unknown, Head::Unknown) if self.has_leaf_type(right, left) => Some(self.keep(op, right, number)),
            (Head::Unknown, Head::Unknown) if self.has_leaf_type(left, right) => Some(self.keep(op, left, number)),
            (Head::Unknown, Head::Array) if self.lower_than_result(op, right) => self.unify_with_result(op, left),
            (Head::Array, Head::Unknown) if self.lower_than_result(op, left) => self.unify_with_result(op, right),
            _ => None,
        }
    }

    /// A number beside an operand of unknown rank: the result has that operand's type. The number's type is decided by
    /// that operand's elements.
    fn beside(&mut self, op: &OpConstraint, t: &Ty, number: &Ty, class: Class) -> Option<bool> {
        if self.bottom(t) == self.resolve(number) {
            return Some(self.keep(op, t, class));
        }
        let errors = self.diags.len();
        self.keep(op, t, class);
        (self.diags.len() > errors).then_some(true)
    }

    /// Unifies the result with the operand that determines its axes.
    fn unify_with_result(&mut self, op: &OpConstraint, t: &Ty) -> Option<bool> {
        self.unify(t, &op.res.clone()).ok()?;
        Some(self.solve_binary(op, false))
    }

    /// The class of an operand beside a number: numbers are added to arrays of numbers, not to other data.
    fn class_beside_number(&self, prim: Prim) -> Class {
        match Self::rank_class(prim) {
            Class::Space => Class::Nums,
            class => class,
        }
    }

    /// Whether `t` is `end`, or an array with that element type at any rank.
    fn has_leaf_type(&self, t: &Ty, end: &Ty) -> bool {
        let (mut t, end) = (self.resolve_deep(t), self.resolve_deep(end));
        loop {
            if t == end {
                return true;
            }
            let Ty::Array(_, e) = t else { return false };
            t = (*e).clone();
        }
    }

    /// Whether the result is known to have more axes than an array of numbers. Then the other operand has them.
    fn lower_than_result(&self, op: &OpConstraint, t: &Ty) -> bool {
        let res = op.res.clone();
        self.head(&res) == Head::Array && !self.compound_leaf(&res) && self.rank(t) < self.rank(&res)
    }

    /// Whether a type is known to be a number.
    pub(super) fn is_number(&self, t: &Ty) -> bool {
        self.head(t) == Head::Scalar
    }

    /// Whether an operator changes the element type.
    pub(super) fn converts(prim: Prim) -> bool {
        matches!(
            prim,
            Prim::Number(NumberFn::IsNan | NumberFn::IsInf | NumberFn::ToFloat | NumberFn::ToInt | NumberFn::ToF32)
        )
    }

    /// `not x` on an operand of unknown rank: a Bool for a Bool.
    pub(super) fn solve_not(&mut self, op: &OpConstraint, t: &Ty, force: bool) -> bool {
        if !force && self.resolve(&op.res) != Ty::Bool {
            return false;
        }
        let bottom = self.bottom(t);
        self.expect(&Ty::Bool, &bottom, op.args[0].1, &Reason::new("the operand of `not`"));
        self.solve_unary(op, force)
    }

    /// `float x`, `is_nan x` on an operand of unknown rank: a scalar result implies a scalar operand.
    pub(super) fn solve_conversion(&mut self, op: &OpConstraint, t: &Ty, force: bool) -> bool {
        let known =
            !matches!(self.resolve(&op.res), Ty::Meta(_) | Ty::Array(..) | Ty::Var(_)) || self.is_number(&op.res);
        if !known && !force {
            let class = if Self::rank_class(op.prim) == Class::Reals { Class::Reals } else { Class::Nums };
            self.require(class, t, op.span, Self::op_name(op.prim));
            return false;
        }
        match self.leaf(op, t) {
            Some(s) => self.finish(op, &Self::scalar_result(op.prim, &s)),
            None => true,
        }
    }
}

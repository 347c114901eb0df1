//! Operands of elementwise operators that are not known: what the other operand and the result say of them, and what they are by default.

use super::Infer;
use super::ops::{Head, is_logic};
use super::waiting::Op;
use crate::ty::{Class, Ty};
use adl_prim::{Cmp, Prim};
use adl_syntax::span::Span;

impl Infer<'_> {
    /// `a op b` where one is unknown, or both are, and neither is a record or other data.
    pub(super) fn solve_unknown(&mut self, op: &Op, force: bool) -> bool {
        let ((a, sa), (b, sb)) = (op.args[0].clone(), op.args[1].clone());
        let additive = matches!(op.prim, Prim::Add | Prim::Sub);
        match (self.operand(op.prim, &a), self.operand(op.prim, &b)) {
            (Head::Unknown, Head::Scalar) if self.from_result(op, &a) => self.solve_binary(op, force),
            (Head::Scalar, Head::Unknown) if self.from_result(op, &b) => self.solve_binary(op, force),
            (Head::Array, Head::Unknown) if self.element_of(&b, &a) => self.broadcast(op, &a, &b, sb),
            (Head::Unknown, Head::Array) if self.element_of(&a, &b) => self.broadcast(op, &b, &a, sa),
            _ if !force => false,
            _ if let Some(done) = self.solve_space(op, (&a, sa), (&b, sb)) => done,
            (Head::Array, Head::Unknown) | (Head::Unknown, Head::Array) if Self::pairs(op) => self.same(op, &a, &b),
            (Head::Array, Head::Unknown) if Self::spreads_right(op.prim) => self.broadcast(op, &a, &b, sb),
            (Head::Unknown, Head::Array) if op.prim == Prim::Mul => self.broadcast(op, &b, &a, sa),
            (Head::Array, _) | (_, Head::Array) if additive && (self.compound_leaf(&a) || self.compound_leaf(&b)) => self.same_compound(op, &a, &b),
            (Head::Unknown, Head::Unknown) => self.solve_unknowns(op, &a, &b),
            _ => self.same(op, &a, &b),
        }
    }

    /// Both are unknown, and it is time to decide: they are of one type, but for `k * x`, `x / k` and `x ^ k` whose value is an array or data.
    fn solve_unknowns(&mut self, op: &Op, a: &Ty, b: &Ty) -> bool {
        let alike = Self::pairs(op) || self.shaped_as(b, a) || self.shaped_as(a, b) || !Self::spreads_right(op.prim);
        if alike && self.from_result(op, a) && self.from_result(op, b) {
            return self.solve_binary(op, true);
        }
        let (data, number) = if op.prim == Prim::Mul { (b, a) } else { (a, b) };
        if self.from_result(op, data) {
            self.make_scalar(number);
            return self.solve_binary(op, true);
        }
        self.same(op, a, b)
    }

    /// Sums and multiples of what is differentiated, as in `p - rate * grad f p`: nothing says that it is a number, so any data will do.
    fn solve_space(&mut self, op: &Op, (a, sa): (&Ty, Span), (b, sb): (&Ty, Span)) -> Option<bool> {
        let in_a = self.is_space(a) || self.is_promised(a) && self.is_real(b);
        let in_b = self.is_space(b) || self.is_promised(b) && self.is_real(a);
        let number = |h| matches!(h, Head::Unknown | Head::Scalar);
        let (ha, hb) = (self.head(a), self.head(b));
        match op.prim {
            Prim::Add | Prim::Sub if (in_a || in_b) && (ha, hb) == (Head::Unknown, Head::Unknown) => Some(self.same_compound(op, a, b)),
            Prim::Mul if in_b && !in_a && number(ha) => Some(self.scale(op, b, a, sb, sa)),
            Prim::Mul | Prim::Div if in_a && !in_b && number(hb) => Some(self.scale(op, a, b, sa, sb)),
            _ => None,
        }
    }

    /// Whether a type is not known but for having a tangent.
    pub(super) fn is_space(&self, t: &Ty) -> bool {
        let Ty::Meta(m) = self.resolve(t) else { return false };
        let m = &self.metas[m as usize];
        !m.scalar && m.classes.iter().any(|c| c.0 == Class::Diff) && !m.classes.iter().any(|c| matches!(c.0, Class::Num | Class::Real | Class::Ord))
    }

    /// Whether a type is a variable that the user wrote, of which nothing is known: it stands for every type, so that it is not the Float
    /// that it is multiplied by.
    fn is_promised(&self, t: &Ty) -> bool {
        let Ty::Meta(m) = self.resolve(t) else { return false };
        let m = &self.metas[m as usize];
        m.name.is_some() && !m.scalar && !m.classes.iter().any(|c| matches!(c.0, Class::Num | Class::Real | Class::Ord))
    }

    fn is_real(&self, t: &Ty) -> bool {
        matches!(self.resolve(t), Ty::Float | Ty::F32)
    }

    /// Whether unknown factors are arrays of one shape because what comes out is reduced, as in `sum (x * y)`.
    fn pairs(op: &Op) -> bool {
        op.reduced && matches!(op.prim, Prim::Mul | Prim::Div)
    }

    /// Whether an unknown right operand beside an array is taken for a number, as in `x / k` and `x ^ k`.
    fn spreads_right(prim: Prim) -> bool {
        matches!(prim, Prim::Mul | Prim::Div | Prim::Pow | Prim::Rem) || Cmp::of_each(prim).is_some()
    }

    /// Whether the operator, when it is decided by default, says that an unknown operand is an array or data: it is added to an array, or
    /// what comes out is one.
    pub(super) fn tells(&self, op: &Op) -> bool {
        let [(a, _), (b, _)] = op.args.as_slice() else { return false };
        match (self.head(a), self.head(b)) {
            (Head::Array, Head::Unknown) | (Head::Unknown, Head::Array) => matches!(op.prim, Prim::Add | Prim::Sub),
            (Head::Unknown, Head::Unknown) => op.prim != Prim::MatMul && matches!(self.head(&op.res), Head::Array | Head::Compound),
            _ => false,
        }
    }

    /// Whether a type comes out of another by operators that keep it, as that of `x * log (1.0 - x)` out of that of `x`.
    fn shaped_as(&self, made: &Ty, from: &Ty) -> bool {
        let (mut t, from) = (self.resolve(made), self.resolve(from));
        // More steps than anybody writes in one expression.
        for _ in 0..64 {
            if t == from {
                return true;
            }
            let Ty::Meta(m) = t else { return false };
            let Some(op) = self.ops.giver(m, &|t| self.resolve(t)) else { return false };
            t = match op.args.as_slice() {
                [(a, _)] => self.resolve(a),
                [(a, _), (b, _)] if self.head(b) == Head::Scalar => self.resolve(a),
                [(a, _), (b, _)] if self.head(a) == Head::Scalar => self.resolve(b),
                _ => return false,
            };
        }
        false
    }

    /// An unknown operand that is also what the other one, an array, holds: it can be nothing but a number.
    fn element_of(&mut self, unknown: &Ty, arr: &Ty) -> bool {
        let t = self.resolve(unknown);
        let element = self.bottom(arr) == t;
        if element {
            self.make_scalar(&t);
        }
        element
    }

    /// An operand takes its type from a result that is an array or a record, where the operator keeps types. Whether it did.
    pub(super) fn from_result(&mut self, op: &Op, t: &Ty) -> bool {
        let keeps = Cmp::of_each(op.prim).is_none() && !matches!(op.prim, Prim::IsNan | Prim::IsInf | Prim::ToFloat | Prim::F32ToFloat | Prim::ToInt | Prim::ToF32);
        let decides = matches!(self.head(&op.res), Head::Array | Head::Compound) || is_logic(op.prim) && self.resolve(&op.res) == Ty::Bool;
        keeps && decides && self.unify(t, &op.res.clone()).is_ok()
    }
}

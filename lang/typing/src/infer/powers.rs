//! Powers with Int exponents, whose base may be any number.

use super::Infer;
use super::op_constraints::OpConstraint;
use super::ops::Head;
use crate::errors::reason::Reason;
use crate::ty::{Class, Ty};
use adl_prim::{NumberFn, Prim};

impl Infer<'_> {
    /// Whether the exponent of `a ^ b` is an Int, or becomes one because the base is an Int.
    pub(super) fn has_whole_exponent(&mut self, op: &OpConstraint) -> bool {
        let (base, exponent) = (self.bottom(&op.args[0].0), self.bottom(&op.args[1].0));
        match exponent {
            Ty::Int => true,
            // Arithmetic of literals, as in `n ^ (1 + 1)`.
            Ty::Meta(m) if base == Ty::Int => {
                let meta = &self.vars[m];
                meta.scalar
                    && meta.classes.iter().all(|c| c.0 != Class::Real)
                    && self.unify(&Ty::Int, &exponent).is_ok()
            }
            _ => false,
        }
    }

    /// The result has the type of the base. An array of exponents gives an array.
    pub(super) fn solve_whole_power(&mut self, op: &OpConstraint, force: bool) -> bool {
        let [(base, _), (exponent, at)] = [op.args[0].clone(), op.args[1].clone()];
        let one = OpConstraint { prim: Prim::Number(NumberFn::PowInt), args: vec![op.args[0].clone()], ..op.clone() };
        match (self.head(&base), self.head(&exponent)) {
            (Head::Scalar, Head::Array) => match self.leaf(&one, &base) {
                Some(leaf) => {
                    let res = self.with_leaf(&exponent, &leaf);
                    self.finish(op, &res)
                }
                None => true,
            },
            (Head::Array, Head::Array) => {
                let leaf = self.bottom(&base);
                let spread = self.with_leaf(&exponent, &leaf);
                let why = Reason::right("`^`", op.args[0].1, &base);
                !self.expect(&base, &spread, at, &why) || self.solve_unary(&one, force)
            }
            (Head::Unknown, Head::Array) if !force => false,
            (Head::Unknown, Head::Array) => {
                self.make_scalar(&base);
                self.solve_whole_power(op, force)
            }
            (Head::Unknown, _) => {
                self.finish(op, &base);
                self.solve_unary(&one, force)
            }
            _ => self.solve_unary(&one, force),
        }
    }
}

//! J of built-ins that are not IR operations of their own, and that specialisation does not compose of others.

use super::J;
use adl_ir::{Op, Ty, Var};
use adl_prim::{Bin, LinalgFn, Prim, ReductionFn, Un};
use adl_specialise::Unsupported;
use adl_syntax::span::Span;

impl J<'_> {
    /// The tangent of `out = prim(args)`, which is active.
    pub(super) fn prim(&mut self, prim: Prim, args: &[Var], out: Var, span: Span) -> Result<Var, Unsupported> {
        use Prim as P;
        self.reduction(prim, args, span);
        match prim {
            P::Reduction(ReductionFn::Maximum) => self.element_tangent(P::Reduction(ReductionFn::Argmax), args[0], out),
            P::Reduction(ReductionFn::Minimum) => self.element_tangent(P::Reduction(ReductionFn::Argmin), args[0], out),
            P::Reduction(ReductionFn::Prod) if self.b.ty(args[0]).rank() == 1 => self.prod(args[0], out),
            P::Linalg(LinalgFn::LinSolve) => Ok(self.solved(args[0], args[1], out)),
            P::Linalg(LinalgFn::Inv) => Ok(self.inverted(args[0], out)),
            _ => no_rule(prim, span),
        }
    }

    /// Records which rule is used for a built-in that reduces or sorts.
    fn reduction(&mut self, p: Prim, args: &[Var], span: Span) {
        match p {
            Prim::Reduction(ReductionFn::Maximum | ReductionFn::Minimum) => {
                self.decide(span, "reduce", "min, max: the first position (§3.2.2)", "");
            }
            Prim::Reduction(ReductionFn::Prod) if self.b.ty(args[0]).rank() == 1 => {
                self.decide(span, "reduce", "*: products of the others, zeros counted (§3.2.3, Fig. 3)", "");
            }
            _ => {}
        }
    }

    /// `y` is an element at a computed position; its tangent is the element's tangent.
    fn element_tangent(&mut self, which: Prim, a: Var, y: Var) -> Result<Var, Unsupported> {
        let i = self.b.prim(which, &[a], Ty::I64);
        let (shape, ty) = (self.shape(a), self.tangent_ty(y));
        self.tangent_at(a, i, shape, ty)
    }

    fn prod(&mut self, a: Var, y: Var) -> Result<Var, Unsupported> {
        let one = self.b.real(1.0, a);
        self.product(one, a, y)?;
        Ok(self.tangent(y))
    }

    /// The solution y of a y = b: ẏ = a⁻¹ (ḃ - ȧ y).
    fn solved(&mut self, a: Var, right_side: Var, y: Var) -> Var {
        let ty = self.tangent_ty(y);
        let matrix = self.b.ty(a);
        let inverse = self.b.prim(LinalgFn::Inv, &[a], matrix);
        let right = self.has(right_side);
        let left = self.has(a).map(|t| self.b.lin(Op::MatMul(t, y), ty.clone())).map(|t| self.b.un(Un::Neg, t));
        let rhs = match (left, right) {
            (Some(l), Some(r)) => self.b.bin(Bin::Add, l, r),
            (Some(t), None) | (None, Some(t)) => t,
            (None, None) => return self.tangent(y),
        };
        self.b.lin(Op::MatMul(inverse, rhs), ty)
    }

    /// The inverse y of a: ẏ = -y ȧ y.
    fn inverted(&mut self, a: Var, y: Var) -> Var {
        let ty = self.tangent_ty(y);
        let t = self.tangent(a);
        let left = self.b.lin(Op::MatMul(y, t), ty.clone());
        let both = self.b.lin(Op::MatMul(left, y), ty);
        self.b.un(Un::Neg, both)
    }
}

fn no_rule(p: Prim, span: Span) -> Result<Var, Unsupported> {
    Err(Unsupported::new(format!("`{}` here", p.name()), span))
}

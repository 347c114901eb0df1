//! Emits arithmetic on coefficients, simplified where they are 0 or 1.

use super::read::Coef;
use adl_ir::{Cmp, Function, Lit, Op, Stmt, Ty, Var};
use adl_prim::{Bin, GeneralFn, Prim, Un};
use adl_syntax::span::Span;

/// Emits arithmetic on coefficients.
pub(super) struct CoefficientWriter<'a> {
    pub f: &'a mut Function,
    pub ty: &'a Ty,
    pub span: Span,
    pub out: &'a mut Vec<Stmt>,
}

impl CoefficientWriter<'_> {
    pub fn op(&mut self, op: Op, ty: Ty) -> Var {
        let v = self.f.fresh(ty, false);
        self.out.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op, span: self.span });
        v
    }

    pub fn var(&mut self, c: Coef) -> Var {
        match c {
            Coef::Is(v) => v,
            c => self.op(Op::Lit(crate::real(self.ty, f64::from(u8::from(c == Coef::One)))), self.ty.clone()),
        }
    }

    pub fn chosen(&mut self, c: Var, x: Coef, y: Coef) -> Var {
        let (x, y) = (self.var(x), self.var(y));
        self.op(Op::Select(c, x, y), self.ty.clone())
    }

    pub fn product(&mut self, x: Coef, y: Coef) -> Coef {
        match (x, y) {
            (Coef::Zero, _) | (_, Coef::Zero) => Coef::Zero,
            (Coef::One, c) | (c, Coef::One) => c,
            (Coef::Is(x), Coef::Is(y)) => Coef::Is(self.op(Op::Bin(Bin::Mul, x, y), self.ty.clone())),
        }
    }

    pub fn sum(&mut self, x: Coef, y: Coef) -> Coef {
        match (x, y) {
            (Coef::Zero, c) | (c, Coef::Zero) => c,
            (x, y) => {
                let (x, y) = (self.var(x), self.var(y));
                Coef::Is(self.op(Op::Bin(Bin::Add, x, y), self.ty.clone()))
            }
        }
    }

    /// A sum of products plus another number.
    pub fn sums(&mut self, first: Coef, terms: &[(Coef, Coef)]) -> Var {
        let mut sum = Coef::Zero;
        for (x, y) in terms {
            let term = self.product(*x, *y);
            sum = self.sum(sum, term);
        }
        let all = self.sum(sum, first);
        self.var(all)
    }

    /// Asserts that a number is finite.
    pub fn finite(&mut self, v: Var) {
        let largest = crate::real(self.ty, if *self.ty == Ty::F32 { f64::from(f32::MAX) } else { f64::MAX });
        let size = self.op(Op::Un(Un::Abs, v), self.ty.clone());
        let largest = self.op(Op::Lit(largest), self.ty.clone());
        let fine = self.op(Op::Cmp(Cmp::Le, size, largest), Ty::Bool);
        let text = self.op(Op::Lit(Lit::Str("a product of factors that is no number".into())), Ty::Str);
        self.out.push(Stmt {
            outs: Vec::new(),
            lin_outs: Vec::new(),
            op: Op::Prim(Prim::General(GeneralFn::Assert), vec![fine, text]),
            span: self.span,
        });
    }
}

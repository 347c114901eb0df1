//! J of built-ins that are not IR operations of their own.

use super::{J, partials};
use adl_ir::{Cmp, Op, Ty, Var};
use adl_prim::{ArrayFn, Bin, LinalgFn, NumberFn, Prim, ReductionFn, Un};
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
            P::Reduction(ReductionFn::Sort) if self.b.ty(args[0]).rank() == 1 => Ok(self.sorted(args[0], out)),
            P::Reduction(ReductionFn::Prod) if self.b.ty(args[0]).rank() == 1 => self.prod(args[0], out),
            P::Reduction(ReductionFn::Mean) => Ok(self.mean(args[0], out)),
            P::Reduction(ReductionFn::Variance) if self.b.ty(args[0]).rank() == 1 => Ok(self.variance(args[0])),
            P::Reduction(ReductionFn::Norm) => Ok(self.norm(args[0], out)),
            P::Number(NumberFn::Clamp) => Ok(self.clamp(args, out)),
            P::Array(ArrayFn::Linspace) => Ok(self.linspace(args, out)),
            P::Array(ArrayFn::Diag) => Ok(self.diagonal(args[0], out)),
            P::Reduction(ReductionFn::Trace) => Ok(self.trace(args[0], out)),
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
            Prim::Reduction(ReductionFn::Sort) => {
                self.decide(span, "sort", "the elements' places, sorted once; backwards additions at them", "");
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

    fn sorted(&mut self, a: Var, y: Var) -> Var {
        let at = self.b.prim(ReductionFn::Argsort, &[a], Ty::shape());
        let shape = self.shape(a);
        let (t, ty) = (self.tangent(a), self.tangent_ty(y));
        self.b.lin(Op::Gather { a: t, at, shape: Some(shape) }, ty)
    }

    fn prod(&mut self, a: Var, y: Var) -> Result<Var, Unsupported> {
        let one = self.b.real(1.0, a);
        self.product(one, a, y)?;
        Ok(self.tangent(y))
    }

    fn count(&mut self, a: Var) -> (Var, Var) {
        let n = self.b.dim(a, 0);
        let to = if *self.b.ty(a).scalar() == Ty::F32 { adl_ir::Conv::ToF32 } else { adl_ir::Conv::ToF64 };
        (n, self.b.convert(to, n))
    }

    fn mean(&mut self, a: Var, y: Var) -> Var {
        let (n, len) = self.count(a);
        let one = self.b.real(1.0, a);
        let c = self.b.bin(Bin::Div, one, len);
        let (t, ty) = (self.tangent(a), self.tangent_ty(y));
        let sum = self.b.lin(Op::Sum { a: t, n: Some(n) }, ty);
        self.b.bin(Bin::ScaleTangent, c, sum)
    }

    fn variance(&mut self, a: Var) -> Var {
        let ty = self.b.ty(a);
        let (_, len) = self.count(a);
        let mean = self.b.prim(ReductionFn::Mean, &[a], ty.elem());
        let off = self.b.bin(Bin::Sub, a, mean);
        let two = self.b.real(2.0, a);
        let c = self.b.bin(Bin::Div, two, len);
        let c = self.b.bin(Bin::Mul, c, off);
        let t = self.tangent(a);
        self.b.lin(Op::Dot(c, t), ty.elem())
    }

    /// The derivative of the norm: a / |a|, and 0 at 0.
    fn norm(&mut self, array: Var, y: Var) -> Var {
        let (zero, one) = (self.b.real(0.0, array), self.b.real(1.0, array));
        let at_zero = self.b.cmp(Cmp::Eq, y, zero);
        let scalar = self.b.ty(y);
        let safe = self.b.one(Op::Select(at_zero, one, y), scalar.clone());
        let c = self.b.bin(Bin::Div, array, safe);
        let t = self.tangent(array);
        if self.b.ty(array).rank() == 1 {
            return self.b.lin(Op::Dot(c, t), scalar);
        }
        let scaled = self.b.bin(Bin::ScaleTangent, c, t);
        let shape = self.shape(array);
        self.b.lin(Op::SumAll { a: scaled, shape: Some(shape) }, scalar)
    }

    /// `min (max x lo) hi`: at a bound the tangent of `x` is used.
    fn clamp(&mut self, args: &[Var], out: Var) -> Var {
        let (lo, hi, x) = (args[0], args[1], args[2]);
        let inner = self.b.bin(Bin::Max, x, lo);
        let mut t = Vec::new();
        for (v, c) in self.partials(Bin::Max, x, lo, inner) {
            t.extend(self.has(v).map(|d| self.partial(c, d, inner)));
        }
        let outer = self.partials(Bin::Min, inner, hi, out);
        let mut sum: Option<Var> = None;
        for d in t {
            let d = self.partial(outer[0].1, d, out);
            sum = Some(match sum {
                Some(s) => self.b.bin(Bin::Add, s, d),
                None => d,
            });
        }
        if let Some(d) = self.has(hi) {
            let d = self.partial(outer[1].1, d, out);
            sum = Some(match sum {
                Some(s) => self.b.bin(Bin::Add, s, d),
                None => d,
            });
        }
        match sum {
            Some(s) => s,
            None => self.tangent(out),
        }
    }

    fn partials(&mut self, op: Bin, a: Var, b: Var, y: Var) -> [(Var, Var); 2] {
        let (ca, cb) = partials(&mut self.b, op, a, b, y);
        [(a, ca), (b, cb)]
    }

    /// `linspace`: a (1 - w) + b w for n weights w from 0 to 1.
    fn linspace(&mut self, args: &[Var], y: Var) -> Var {
        let ty = self.b.ty(y);
        let (zero, one) = (self.b.real(0.0, y), self.b.real(1.0, y));
        let up = self.b.prim(ArrayFn::Linspace, &[zero, one, args[2]], ty.clone());
        let down = self.b.prim(ArrayFn::Linspace, &[one, zero, args[2]], ty);
        let a = self.has(args[0]).map(|t| self.b.bin(Bin::ScaleTangent, down, t));
        let b = self.has(args[1]).map(|t| self.b.bin(Bin::ScaleTangent, up, t));
        match (a, b) {
            (Some(a), Some(b)) => self.b.bin(Bin::Add, a, b),
            (Some(t), None) | (None, Some(t)) => t,
            (None, None) => self.tangent(y),
        }
    }

    /// Positions of the diagonal in the flattened elements of an n×m matrix.
    fn diagonal_at(&mut self, n: Var, m: Var) -> Var {
        let k = self.b.bin(Bin::Min, n, m);
        let rows = self.b.prim(ArrayFn::Iota, &[k], Ty::shape());
        let one = self.b.int(1);
        let stride = self.b.bin(Bin::Add, m, one);
        self.b.bin(Bin::Mul, rows, stride)
    }

    fn diagonal_of(&mut self, a: Var) -> Var {
        let (n, m) = (self.b.dim(a, 0), self.b.dim(a, 1));
        let at = self.diagonal_at(n, m);
        let shape = self.shape(a);
        let total = self.b.bin(Bin::Mul, n, m);
        let flat = self.b.one(Op::ArrayLit { elems: vec![total], shape: None }, Ty::shape());
        let ty = self.tangent_ty(a).elem();
        let t = self.tangent(a);
        let line = self.b.lin(Op::Reshape { a: t, to: flat, from: Some(shape) }, ty.clone());
        self.b.lin(Op::Gather { a: line, at, shape: Some(flat) }, ty)
    }

    fn diagonal(&mut self, array: Var, y: Var) -> Var {
        if self.b.ty(array).rank() == 2 {
            return self.diagonal_of(array);
        }
        let n = self.b.dim(array, 0);
        let at = self.diagonal_at(n, n);
        let total = self.b.bin(Bin::Mul, n, n);
        let flat = self.b.one(Op::ArrayLit { elems: vec![total], shape: None }, Ty::shape());
        let shape = self.shape(y);
        let (line, square) = (self.tangent_ty(array), self.tangent_ty(y));
        let acc = self.b.lin(Op::Zero(line.clone()), line.clone());
        let v = self.tangent(array);
        let t = self.b.lin(Op::GatherAdd { acc, at, v, shape: Some(flat) }, line);
        self.b.lin(Op::Reshape { a: t, to: shape, from: Some(flat) }, square)
    }

    fn trace(&mut self, a: Var, y: Var) -> Var {
        let d = self.diagonal_of(a);
        let (n, m) = (self.b.dim(a, 0), self.b.dim(a, 1));
        let n = self.b.bin(Bin::Min, n, m);
        let ty = self.tangent_ty(y);
        self.b.lin(Op::Sum { a: d, n: Some(n) }, ty)
    }

    /// The solution y of a y = b: ẏ = a⁻¹ (ḃ - ȧ y).
    fn solved(&mut self, a: Var, b: Var, y: Var) -> Var {
        let ty = self.tangent_ty(y);
        let matrix = self.b.ty(a);
        let inverse = self.b.prim(LinalgFn::Inv, &[a], matrix);
        let right = self.has(b);
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

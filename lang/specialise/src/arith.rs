//! Arithmetic on numbers and arrays, and leaf by leaf on compound data.

use crate::val::Val;
use crate::{Attempt, Spec};
use adl_ir::{Cmp, Conv, Lit, Op, Ty as IrTy, Var};
use adl_prim::{Bin, NumberFn, Prim, Un};

impl Spec<'_> {
    fn real(&self, v: Var) -> bool {
        self.b.ty(v).scalar().is_real()
    }

    /// A binary operator.
    pub(crate) fn bin(&mut self, op: Bin, left: &Val, right: &Val) -> Attempt<Val> {
        match (left, right) {
            (Val::Leaf(x), Val::Leaf(y)) if op == Bin::Pow && *self.b.ty(*y).scalar() == IrTy::I64 => {
                self.whole_power(*x, *y)
            }
            (Val::Leaf(x), Val::Leaf(y)) => {
                let (x, y) = self.alike(*x, *y);
                if self.repeats(&[x, y]) {
                    return self.over_rows(&[x, y], &mut |s, v| s.bin(op, &v[0], &v[1]));
                }
                let z = self.b.bin(op, x, y);
                let array = if self.b.ty(x).rank() > 0 { x } else { y };
                self.learn_shape(z, array);
                self.learn_scaled(op, x, y, z);
                Ok(Val::Leaf(z))
            }
            (a, b) if matches!(op, Bin::Add | Bin::Sub) => self.combine(op, a, b),
            (a, Val::Leaf(s)) if matches!(op, Bin::Mul | Bin::Div) => self.scaled(op, a, *s),
            (Val::Leaf(s), b) if op == Bin::Mul => self.scaled(op, b, *s),
            _ => Err(self.no("arithmetic on something that is no number")),
        }
    }

    /// Converts one operand if their number types differ. This happens when data of any type is scaled: the data may be
    /// F32 and the factor Float, or the reverse.
    fn alike(&mut self, left: Var, right: Var) -> (Var, Var) {
        let wide = |v: Var| *self.b.ty(v).scalar() == IrTy::F64;
        if !self.real(left) || !self.real(right) || wide(left) == wide(right) {
            return (left, right);
        }
        // The array is the data, and the scalar the factor. Of two scalars the F32 one is the data: literals are Float
        // unless they are marked.
        let x_scales = match (self.b.ty(left).rank(), self.b.ty(right).rank()) {
            (0, 0) => wide(left),
            (rank, _) => rank == 0,
        };
        if x_scales { (self.number_like(left, right), right) } else { (left, self.number_like(right, left)) }
    }

    /// Converts the scale factor `s` to the number type of `x`.
    fn number_like(&mut self, s: Var, x: Var) -> Var {
        match (self.b.ty(s).scalar(), self.b.ty(x).scalar()) {
            (IrTy::F64, IrTy::F32) => self.b.convert(Conv::ToF32, s),
            (IrTy::F32, IrTy::F64) => self.b.convert(Conv::ToF64, s),
            _ => s,
        }
    }

    /// `a + b` or `a - b` on compound data: combines the real leaves and takes the others from the left operand.
    pub(crate) fn combine(&mut self, op: Bin, a: &Val, right: &Val) -> Attempt<Val> {
        match (a, right) {
            (Val::Unit, _) => Ok(Val::Unit),
            (Val::Leaf(x), Val::Leaf(y)) => Ok(Val::Leaf(if self.real(*x) { self.b.bin(op, *x, *y) } else { *x })),
            (Val::Tuple(xs), Val::Tuple(ys)) if xs.len() == ys.len() => {
                Ok(Val::Tuple(xs.iter().zip(ys).map(|(x, y)| self.combine(op, x, y)).collect::<Attempt<_>>()?))
            }
            (Val::Record(xs), Val::Record(ys)) if xs.len() == ys.len() => Ok(Val::Record(
                xs.iter().zip(ys).map(|((n, x), (_, y))| Ok((*n, self.combine(op, x, y)?))).collect::<Attempt<_>>()?,
            )),
            (Val::Array(x), Val::Array(y)) => Ok(Val::Array(Box::new(self.combine(op, x, y)?))),
            (Val::Data(x, d), Val::Data(y, _)) if self.b.ty(*x).rank() == 0 => self.combine_data(op, *x, *y, *d),
            (Val::Data(..), Val::Data(..)) => Err(self.no("arithmetic on an array of declared data")),
            _ => Err(self.no("arithmetic on values that are laid out differently")),
        }
    }

    /// Multiplies or divides each real leaf by a number.
    pub(crate) fn scaled(&mut self, op: Bin, v: &Val, factor: Var) -> Attempt<Val> {
        match v {
            Val::Leaf(x) if self.real(*x) => {
                let s = self.number_like(factor, *x);
                Ok(Val::Leaf(if op == Bin::Mul { self.b.bin(op, s, *x) } else { self.b.bin(op, *x, s) }))
            }
            Val::Leaf(_) | Val::Unit => Ok(v.clone()),
            Val::Tuple(vs) => Ok(Val::Tuple(vs.iter().map(|v| self.scaled(op, v, factor)).collect::<Attempt<_>>()?)),
            Val::Record(fs) => {
                Ok(Val::Record(fs.iter().map(|(n, v)| Ok((*n, self.scaled(op, v, factor)?))).collect::<Attempt<_>>()?))
            }
            Val::Array(e) => Ok(Val::Array(Box::new(self.scaled(op, e, factor)?))),
            Val::Data(x, d) if self.b.ty(*x).rank() == 0 => self.scale_data(op, *x, factor, *d),
            Val::Data(..) => Err(self.no("arithmetic on an array of declared data")),
            Val::Fun(_) | Val::Rep(_) | Val::Bottom => Err(self.no("arithmetic on a function")),
        }
    }

    fn negate(&mut self, v: &Val) -> Attempt<Val> {
        match v {
            Val::Leaf(x) => Ok(Val::Leaf(self.b.un(Un::Neg, *x))),
            v => {
                let m = match v.leaves().iter().find(|x| self.real(**x)).map(|x| self.b.ty(*x).scalar().clone()) {
                    Some(IrTy::F32) => self.lit(Lit::F32(-1.0)),
                    _ => self.lit(Lit::F64(-1.0)),
                };
                self.scaled(Bin::Mul, v, m)
            }
        }
    }

    /// A unary operator.
    pub(crate) fn un(&mut self, op: Un, v: &Val) -> Attempt<Val> {
        if op == Un::Neg {
            return self.negate(v);
        }
        let x = self.leaf(v)?;
        let y = self.b.un(op, x);
        self.learn_shape(y, x);
        Ok(Val::Leaf(y))
    }

    /// A function of numbers, applied to all its arguments.
    pub(crate) fn number_prim(&mut self, prim: NumberFn, reps: &[Val], args: &[Val]) -> Attempt<Val> {
        match prim {
            NumberFn::PowInt => self.power(args),
            NumberFn::Clamp => {
                let up = self.bin(Bin::Max, &args[2], &args[0])?;
                self.bin(Bin::Min, &up, &args[1])
            }
            NumberFn::IsNan => {
                let x = self.leaf(&args[0])?;
                Ok(Val::Leaf(self.b.cmp(Cmp::Ne, x, x)))
            }
            NumberFn::IsInf => {
                let x = self.leaf(&args[0])?;
                let size = self.b.un(Un::Abs, x);
                let inf = self.b.real(f64::INFINITY, x);
                Ok(Val::Leaf(self.b.cmp(Cmp::Eq, size, inf)))
            }
            NumberFn::Not => {
                let x = self.leaf(&args[0])?;
                Ok(Val::Leaf(self.b.one(Op::Not(x), self.b.ty(x))))
            }
            NumberFn::AndEach | NumberFn::OrEach => self.logic(prim == NumberFn::AndEach, &args[0], &args[1]),
            NumberFn::Pi => Ok(self.constant(std::f64::consts::PI, reps)),
            NumberFn::E => Ok(self.constant(std::f64::consts::E, reps)),
            NumberFn::Inf => Ok(self.constant(f64::INFINITY, reps)),
            NumberFn::Nan => Ok(self.constant(f64::NAN, reps)),
            NumberFn::ToFloat => self.convert(Conv::ToF64, &args[0]),
            NumberFn::ToInt => self.convert(Conv::ToI64, &args[0]),
            NumberFn::ToF32 => self.convert(Conv::ToF32, &args[0]),
        }
    }

    fn power(&mut self, args: &[Val]) -> Attempt<Val> {
        let (x, n) = (self.leaf(&args[0])?, self.leaf(&args[1])?);
        match self.known.literals.get(&n) {
            Some(Lit::I64(k)) => match i32::try_from(*k) {
                Ok(k) => Ok(Val::Leaf(self.b.un(Un::Powi(k), x))),
                Err(_) => {
                    let e = self.b.real(*k as f64, x);
                    Ok(Val::Leaf(self.b.bin(Bin::Pow, x, e)))
                }
            },
            _ => Err(self.no("a power whose exponent is not known here")),
        }
    }

    /// A power with a computed Int exponent. With a real base the exponent is converted to a real number.
    fn whole_power(&mut self, base: Var, exponent: Var) -> Attempt<Val> {
        let to = match self.b.ty(base).scalar() {
            IrTy::I64 => {
                let rank = self.b.ty(base).rank().max(self.b.ty(exponent).rank());
                let z =
                    self.b.one(Op::Prim(Prim::Number(NumberFn::PowInt), vec![base, exponent]), IrTy::I64.array(rank));
                return Ok(Val::Leaf(z));
            }
            IrTy::F32 => Conv::ToF32,
            _ => Conv::ToF64,
        };
        let n = self.b.convert(to, exponent);
        self.bin(Bin::Pow, &Val::Leaf(base), &Val::Leaf(n))
    }

    fn convert(&mut self, to: Conv, v: &Val) -> Attempt<Val> {
        let x = self.leaf(v)?;
        let same = matches!(
            (to, self.b.ty(x).scalar()),
            (Conv::ToF64, IrTy::F64) | (Conv::ToF32, IrTy::F32) | (Conv::ToI64, IrTy::I64)
        );
        Ok(if same { v.clone() } else { Val::Leaf(self.b.convert(to, x)) })
    }

    fn constant(&mut self, x: f64, reps: &[Val]) -> Val {
        use adl_typing::ty::Ty;
        let narrow = matches!(reps.first(), Some(Val::Rep(r)) if matches!(**r, crate::val::KnownRep::Base(Ty::F32)));
        Val::Leaf(self.lit(if narrow { Lit::F32(x as f32) } else { Lit::F64(x) }))
    }
}

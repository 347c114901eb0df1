//! Scalar operators and functions: how each entry of the table runs on a GPU, or that it does not.
//!
//! For f64 the device computes + - * / and comparisons; all other functions are this crate's (`math`). For f32 it
//! computes these too. Functions of f32 are rounded f64 functions if the device has f64, so that results equal the
//! CPU's. Comparisons never use `!=`, which WGSL compilers evaluate to false for NaN.

use super::{Emit, wgsl};
use crate::array::Scalar;
use crate::error::{Check, Res, unsupported};
use crate::primitive_table::{OnGpu, on_gpu};
use adl_ir::{Cmp, Conv, Lit, Op};
use adl_prim::{Bin, DerivativeFn, GeneralFn, Prim, Un};

/// A literal, except a Float zero (see [`Emit::literal`]).
fn literal(l: &Lit) -> Res<(Scalar, String)> {
    Ok(match l {
        Lit::F64(x) => (Scalar::F64, f64_text(*x)),
        Lit::F32(x) if x.is_normal() || x.to_bits() == 0 => (Scalar::F32, format!("({x:?}f)")),
        Lit::F32(x) => (Scalar::F32, format!("s_of({}u)", x.to_bits())),
        Lit::I64(i64::MIN) => (Scalar::I64, "bitcast<i64>(l_least())".to_owned()),
        Lit::I64(n) => (Scalar::I64, format!("({n}li)")),
        Lit::Bool(b) => (Scalar::Bool, b.to_string()),
        Lit::Str(_) => return unsupported("texts in a kernel"),
    })
}

/// Infinities, NaN and subnormals are given by their bits, because some compilers misread their literals.
fn f64_text(x: f64) -> String {
    if x.is_normal() || x.to_bits() == 0 { format!("({x:?}lf)") } else { format!("d_of({}lu)", x.to_bits()) }
}

/// The zero of a type, for contexts without arithmetic.
pub(crate) fn zero(s: Scalar) -> &'static str {
    match s {
        Scalar::F32 => "0.0f",
        Scalar::F64 => "0.0lf",
        Scalar::I64 => "0li",
        Scalar::Bool => "false",
        Scalar::Word => "0u",
    }
}

/// The library function of a binary operator, if it has one.
fn function2(b: Bin) -> Option<&'static str> {
    match b {
        Bin::Add | Bin::Sub | Bin::Mul | Bin::Div | Bin::IntDiv | Bin::LeIndicator => None,
        Bin::Rem => Some("rem"),
        Bin::Pow => Some("pow"),
        Bin::Atan2 => Some("atan2"),
        Bin::Hypot => Some("hypot"),
        Bin::Min => Some("min"),
        Bin::Max => Some("max"),
        Bin::ScaleTangent => Some("scale"),
    }
}

/// Whether an operation is elementwise.
pub fn is_pointwise(op: &Op) -> bool {
    matches!(
        op,
        Op::Lit(_)
            | Op::Un(..)
            | Op::Bin(..)
            | Op::Cmp(..)
            | Op::Not(_)
            | Op::Select(..)
            | Op::Convert(..)
            | Op::Dup(_)
            | Op::Drop(_)
    )
}

impl Emit<'_> {
    /// A literal. Float zeros are parameters: compilers that see a zero fold `x * 0` to 0, and `0 - 0` or `x + 0` to x.
    pub(crate) fn literal(&mut self, value: &Lit) -> Res<(Scalar, String)> {
        let negative = match value {
            Lit::F64(x) if *x == 0.0 => x.is_sign_negative(),
            Lit::F32(x) if *x == 0.0 => x.is_sign_negative(),
            Lit::I64(n) => {
                let (s, t) = literal(value)?;
                self.know(&t, *n);
                return Ok((s, t));
            }
            _ => return literal(value),
        };
        let s = if matches!(value, Lit::F64(_)) { Scalar::F64 } else { Scalar::F32 };
        let zero = self.zero(s);
        Ok((s, if negative { format!("(-{zero})") } else { zero }))
    }

    /// The zero of a type; for floats a parameter that compilers cannot fold.
    pub(crate) fn zero(&mut self, s: Scalar) -> String {
        match s {
            Scalar::F32 => format!("s_of({})", self.nothing()),
            Scalar::F64 => format!("d_of(u64({}))", self.nothing()),
            Scalar::I64 | Scalar::Bool | Scalar::Word => zero(s).to_owned(),
        }
    }

    /// Emits a unary operator.
    pub(crate) fn un(&mut self, u: Un, s: Scalar, x: &str) -> Res<String> {
        match s {
            Scalar::F64 => real_un(u, "d_", "lf", x),
            Scalar::F32 if self.caps.f64 && !u.gpu().exact_in_f32 => {
                Ok(format!("f32({})", real_un(u, "d_", "lf", &format!("f64({x})"))?))
            }
            Scalar::F32 => real_un(u, "s_", "f", x),
            Scalar::I64 => self.int_un(u, x),
            Scalar::Bool | Scalar::Word => unsupported("a function of a Bool"),
        }
    }

    fn int_un(&mut self, u: Un, x: &str) -> Res<String> {
        let check = self.check(Check::Overflow);
        Ok(match u {
            Un::Neg => format!("l_neg({x}, {check})"),
            Un::Abs => format!("l_abs({x}, {check})"),
            Un::Sign => format!("l_sign({x})"),
            Un::Powi(n) if n >= 0 => format!("l_powi({x}, {n}u, {check})"),
            Un::Powi(_) => {
                let never = self.check(Check::Power);
                self.line(&format!("fault({never});"));
                "0li".to_owned()
            }
            _ => return unsupported("a real function of an Int"),
        })
    }

    /// Emits a binary operator.
    pub(crate) fn bin(&mut self, b: Bin, s: Scalar, x: &str, y: &str) -> Res<String> {
        match s {
            Scalar::F64 => Ok(real_bin(b, "d_", "lf", x, y)),
            Scalar::F32 if self.caps.f64 && !b.gpu().exact_in_f32 => {
                Ok(format!("f32({})", real_bin(b, "d_", "lf", &format!("f64({x})"), &format!("f64({y})"))))
            }
            Scalar::F32 => Ok(real_bin(b, "s_", "f", x, y)),
            Scalar::I64 => self.int_bin(b, x, y),
            // Words are internal to this crate, and do not overflow.
            Scalar::Word if b == Bin::Add => Ok(format!("({x} + {y})")),
            Scalar::Bool | Scalar::Word => unsupported("arithmetic on Bools"),
        }
    }

    fn int_bin(&mut self, op: Bin, left: &str, right: &str) -> Res<String> {
        let check = self.check(Check::Overflow);
        let zero = if matches!(op, Bin::IntDiv | Bin::Rem) { self.check(Check::Zero) } else { String::new() };
        let text = match op {
            Bin::Add => format!("l_add({left}, {right}, {check})"),
            Bin::Sub => format!("l_sub({left}, {right}, {check})"),
            Bin::Mul | Bin::ScaleTangent => format!("l_mul({left}, {right}, {check})"),
            Bin::IntDiv => format!("l_div({left}, {right}, {zero}, {check})"),
            Bin::Rem => format!("l_rem({left}, {right}, {zero})"),
            Bin::Min => format!("min({left}, {right})"),
            Bin::Max => format!("max({left}, {right})"),
            Bin::LeIndicator => format!("select(0li, 1li, {left} <= {right})"),
            Bin::Div | Bin::Pow | Bin::Atan2 | Bin::Hypot => return unsupported("a real operator on Ints"),
        };
        // Constant folding, mostly of extents.
        let known = self.known(left).zip(self.known(right)).and_then(|(x, y)| match op {
            Bin::Add => x.checked_add(y),
            Bin::Sub => x.checked_sub(y),
            Bin::Mul => x.checked_mul(y),
            _ => None,
        });
        known.into_iter().for_each(|k| self.know(&text, k));
        Ok(text)
    }

    /// Emits a conversion.
    pub(crate) fn convert(&mut self, c: Conv, s: Scalar, operand: &str) -> Res<(Scalar, String)> {
        let to = match c {
            Conv::ToF64 => Scalar::F64,
            Conv::ToF32 => Scalar::F32,
            Conv::ToI64 => Scalar::I64,
        };
        self.has(to)?;
        let text = match (s, to) {
            (a, b) if a == b => operand.to_owned(),
            (Scalar::Bool, Scalar::F64) => format!("select(0.0lf, 1.0lf, {operand})"),
            (Scalar::Bool, Scalar::F32) => format!("select(0.0f, 1.0f, {operand})"),
            (Scalar::Bool, _) => format!("select(0li, 1li, {operand})"),
            (Scalar::F64, Scalar::I64) => format!("l_of_f64({operand}, {})", self.check(Check::Conversion)),
            (Scalar::F32, Scalar::I64) => format!("l_of_f32({operand}, {})", self.check(Check::Conversion)),
            // Via f64, as on the CPU.
            (Scalar::I64, Scalar::F32) if self.caps.f64 => format!("f32(f64({operand}))"),
            _ => format!("{}({operand})", wgsl(to)),
        };
        Ok((to, text))
    }

    /// Emits a scalar primitive. Returns its results. [`on_gpu`] says which primitives are scalar.
    pub(crate) fn prim(&mut self, prim: Prim, args: &[(Scalar, String)]) -> Res<Vec<(Scalar, String)>> {
        if let OnGpu::Cpu(why) = on_gpu(prim) {
            return unsupported(format!("`{}`: {why}", prim.name()));
        }
        let one = |s, t| Ok(vec![(s, t)]);
        match (prim, args) {
            (Prim::Un(u), [(s, x)]) => {
                let t = self.un(u, *s, x)?;
                one(*s, t)
            }
            (Prim::Bin(b), [(s, x), (_, y)]) => {
                let t = self.bin(b, *s, x, y)?;
                one(*s, t)
            }
            (Prim::Compare(c), [(s, x), (_, y)]) => one(Scalar::Bool, compare(c, *s, x, y)),
            (Prim::Derivative(DerivativeFn::StopGrad) | Prim::General(GeneralFn::Id), _) => Ok(args.to_vec()),
            (Prim::General(GeneralFn::Assert), [(Scalar::Bool, x), ..]) => {
                let check = self.check(Check::Assertion);
                self.line(&format!("if !({x}) {{ fault({check}); }}"));
                Ok(Vec::new())
            }
            _ => unsupported(format!("`{}` inside of a kernel", prim.name())),
        }
    }
}

/// Whether a number is NaN.
pub(crate) fn is_nan(s: Scalar, x: &str) -> String {
    match s {
        Scalar::F64 => format!("d_is_nan({x})"),
        Scalar::F32 => format!("s_is_nan({x})"),
        Scalar::I64 | Scalar::Bool | Scalar::Word => "false".to_owned(),
    }
}

fn real_un(u: Un, prefix: &str, suffix: &str, x: &str) -> Res<String> {
    Ok(match u {
        Un::Neg => format!("(-{x})"),
        Un::Step => format!("select(0.0{suffix}, 1.0{suffix}, {x} > 0.0{suffix})"),
        Un::Powi(n) => format!("{prefix}powi({x}, {n})"),
        Un::Polygamma(_) if prefix != "d_" => return unsupported("polygamma of 32-bit floats, without 64-bit ones"),
        Un::Polygamma(n) => format!("{prefix}polygamma({n}u, {x})"),
        _ => format!("{prefix}{}({x})", u.word()),
    })
}

fn real_bin(b: Bin, prefix: &str, suffix: &str, x: &str, y: &str) -> String {
    match b {
        Bin::Add => format!("({x} + {y})"),
        Bin::Sub => format!("({x} - {y})"),
        Bin::Mul => format!("({x} * {y})"),
        Bin::Div => format!("({x} / {y})"),
        Bin::IntDiv => format!("{prefix}floor({x} / {y})"),
        Bin::LeIndicator => format!("select(0.0{suffix}, 1.0{suffix}, {x} <= {y})"),
        _ => format!("{prefix}{}({x}, {y})", function2(b).unwrap_or_default()),
    }
}

/// Compares two scalars of one type.
pub(crate) fn compare(cmp: Cmp, s: Scalar, left: &str, right: &str) -> String {
    if s == Scalar::Bool {
        return match cmp {
            Cmp::Eq => format!("({left} == {right})"),
            Cmp::Ne => format!("({left} != {right})"),
            Cmp::Lt => format!("(!{left} && {right})"),
            Cmp::Gt => format!("({left} && !{right})"),
            Cmp::Le => format!("(!{left} || {right})"),
            Cmp::Ge => format!("({left} || !{right})"),
        };
    }
    match cmp {
        Cmp::Eq => format!("({left} == {right})"),
        Cmp::Ne => format!("!({left} == {right})"),
        Cmp::Lt => format!("({left} < {right})"),
        Cmp::Gt => format!("({left} > {right})"),
        Cmp::Le => format!("({left} <= {right})"),
        Cmp::Ge => format!("({left} >= {right})"),
    }
}

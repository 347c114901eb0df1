//! Functions of numbers that native code calls: the same Rust functions as the interpreter's.

use adl_prim::{Bin, Un};

macro_rules! unary {
    ($($name:ident $op:ident),* $(,)?) => {
        $(extern "C" fn $name(x: f64) -> f64 {
            Un::$op.eval(x)
        })*

        /// The function of an operator that is no instruction.
        pub(crate) fn unary(op: Un) -> Option<*const u8> {
            match op {
                $(Un::$op => Some($name as *const u8),)*
                Un::Neg | Un::Sqrt | Un::Abs | Un::Sign | Un::Floor | Un::Ceil | Un::Round | Un::Relu | Un::Step | Un::Powi(_) | Un::Polygamma(_) => None,
            }
        }
    };
}

unary!(
    sin Sin, cos Cos, tan Tan, asin Asin, acos Acos, atan Atan, sinh Sinh, cosh Cosh, tanh Tanh, exp Exp, expm1 Expm1, log Log,
    log1p Log1p, cbrt Cbrt, sigmoid Sigmoid, softplus Softplus, erf Erf, erfc Erfc, lgamma Lgamma, digamma Digamma, gamma Gamma,
);

extern "C" fn pow(x: f64, y: f64) -> f64 {
    Bin::Pow.eval(x, y)
}

extern "C" fn atan2(x: f64, y: f64) -> f64 {
    Bin::Atan2.eval(x, y)
}

extern "C" fn hypot(x: f64, y: f64) -> f64 {
    Bin::Hypot.eval(x, y)
}

extern "C" fn rem(x: f64, y: f64) -> f64 {
    Bin::Rem.eval(x, y)
}

/// The function of an operator that is no instruction.
pub(crate) fn binary(op: Bin) -> Option<*const u8> {
    match op {
        Bin::Pow => Some(pow as *const u8),
        Bin::Atan2 => Some(atan2 as *const u8),
        Bin::Hypot => Some(hypot as *const u8),
        Bin::Rem => Some(rem as *const u8),
        Bin::Add | Bin::Sub | Bin::Mul | Bin::Div | Bin::IntDiv | Bin::Min | Bin::Max | Bin::StepLe | Bin::Scale => None,
    }
}

/// A derivative of digamma.
pub(crate) extern "C" fn polygamma(n: u64, x: f64) -> f64 {
    Un::Polygamma(n as u8).eval(x)
}

/// A power whose exponent is not written out as multiplications.
pub(crate) extern "C" fn powi(n: i64, x: f64) -> f64 {
    Un::Powi(n as i32).eval(x)
}

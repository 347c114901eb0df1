//! Scalar math functions that native code calls: the Rust functions that the interpreter uses, too.

use adl_interp::fault::shielded;
use adl_interp::ops::kernels;
use adl_prim::{Bin, Un};

/// Evaluates a math function. After a panic it returns NaN, and native code continues until its next poll.
#[inline]
fn number(run: impl FnOnce() -> f64) -> f64 {
    shielded(|| f64::NAN, run)
}

macro_rules! unary {
    ($($name:ident $op:ident),* $(,)?) => {
        $(extern "C" fn $name(x: f64) -> f64 {
            number(|| Un::$op.eval(x))
        })*

        /// The same functions applied in place to a block of numbers.
        mod strips {
            use super::*;

            $(pub(super) unsafe extern "C" fn $name(x: *mut f64, n: usize) {
                // SAFETY: native code passes `n` initialised Floats that nothing else refers to meanwhile.
                shielded(|| (), || kernels::map(Un::$op, unsafe { std::slice::from_raw_parts_mut(x, n) }));
            })*
        }

        /// The block function of a unary operator, and the extra integer argument that it takes (order or exponent).
        pub(crate) fn block_function_of_unary(op: Un) -> (*const u8, Option<i64>) {
            match op {
                $(Un::$op => (strips::$name as *const u8, None),)*
                Un::Polygamma(n) => (polygammas as *const u8, Some(i64::from(n))),
                Un::Powi(n) => (powis as *const u8, Some(i64::from(n))),
                // These compile to instructions, so that no block function is requested for them.
                Un::Neg | Un::Sqrt | Un::Abs | Un::Sign | Un::Floor | Un::Ceil | Un::Round | Un::Relu | Un::Step => (std::ptr::null(), None),
            }
        }

        /// The address of an operator's function; `None` if it compiles to instructions or needs an extra argument.
        pub(crate) fn unary(op: Un) -> Option<*const u8> {
            match op {
                $(Un::$op => Some($name as *const u8),)*
                Un::Neg | Un::Sqrt | Un::Abs | Un::Sign | Un::Floor | Un::Ceil | Un::Round | Un::Relu | Un::Step | Un::Powi(_) | Un::Polygamma(_) => None,
            }
        }
    };
}

unary!(
    sin Sin, cos Cos, tan Tan, asin Asin, acos Acos, atan Atan, sinh Sinh, cosh Cosh, tanh Tanh, sech2 Sech2, exp Exp, expm1 Expm1, log Log,
    log1p Log1p, cbrt Cbrt, sigmoid Sigmoid, softplus Softplus, erf Erf, erfc Erfc, erfinv Erfinv, lgamma Lgamma, digamma Digamma, gamma Gamma,
);

extern "C" fn pow(x: f64, y: f64) -> f64 {
    number(|| Bin::Pow.eval(x, y))
}

extern "C" fn atan2(x: f64, y: f64) -> f64 {
    number(|| Bin::Atan2.eval(x, y))
}

extern "C" fn hypot(x: f64, y: f64) -> f64 {
    number(|| Bin::Hypot.eval(x, y))
}

extern "C" fn rem(x: f64, y: f64) -> f64 {
    number(|| Bin::Rem.eval(x, y))
}

/// The address of an operator's function; `None` if it compiles to instructions.
pub(crate) fn binary(op: Bin) -> Option<*const u8> {
    match op {
        Bin::Pow => Some(pow as *const u8),
        Bin::Atan2 => Some(atan2 as *const u8),
        Bin::Hypot => Some(hypot as *const u8),
        Bin::Rem => Some(rem as *const u8),
        Bin::Add
        | Bin::Sub
        | Bin::Mul
        | Bin::Div
        | Bin::IntDiv
        | Bin::Min
        | Bin::Max
        | Bin::LeIndicator
        | Bin::ScaleTangent => None,
    }
}

/// The polygamma function of order `n`: the `n`-th derivative of digamma.
pub(crate) extern "C" fn polygamma(n: u64, x: f64) -> f64 {
    number(|| Un::Polygamma(n as u8).eval(x))
}

/// `x` to the power `n`, for exponents that are not expanded into multiplications.
pub(crate) extern "C" fn powi(n: i64, x: f64) -> f64 {
    number(|| Un::Powi(n as i32).eval(x))
}

unsafe extern "C" fn polygammas(x: *mut f64, n: usize, order: i64) {
    // SAFETY: native code passes `n` initialised Floats that nothing else refers to meanwhile.
    shielded(|| (), || kernels::map(Un::Polygamma(order as u8), unsafe { std::slice::from_raw_parts_mut(x, n) }));
}

unsafe extern "C" fn powis(x: *mut f64, n: usize, exponent: i64) {
    // SAFETY: native code passes `n` initialised Floats that nothing else refers to meanwhile.
    shielded(|| (), || kernels::map(Un::Powi(exponent as i32), unsafe { std::slice::from_raw_parts_mut(x, n) }));
}

macro_rules! pairs {
    ($($name:ident $op:ident),*) => {
        $(unsafe extern "C" fn $name(x: *mut f64, y: *const f64, n: usize) {
            // SAFETY: native code passes two disjoint buffers of `n` initialised Floats each.
            let (x, y) = unsafe { (std::slice::from_raw_parts_mut(x, n), std::slice::from_raw_parts(y, n)) };
            shielded(|| (), || x.iter_mut().zip(y).for_each(|(x, y)| *x = Bin::$op.eval(*x, *y)));
        })*

        /// The block function of a binary operator, whose results overwrite the first operands. Null if the operator
        /// compiles to instructions.
        pub(crate) fn block_function_of_binary(op: Bin) -> *const u8 {
            match op {
                $(Bin::$op => $name as *const u8,)*
                _ => std::ptr::null(),
            }
        }
    };
}

pairs!(pows Pow, atan2s Atan2, hypots Hypot, rems Rem);

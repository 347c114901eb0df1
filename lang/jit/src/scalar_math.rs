//! Scalar math functions that native code calls: the Rust functions that the interpreter uses, too.

use adl_interp::fault::shielded;
use adl_interp::ops::kernels;
use adl_prim::scalar::{BinaryFn, EachBinary, EachUnary, Native, UnaryFn};
use adl_prim::{Bin, Un};

/// Evaluates a math function. After a panic it returns NaN, and native code continues until its next poll.
#[inline]
fn number(run: impl FnOnce() -> f64) -> f64 {
    shielded(|| f64::NAN, run)
}

/// The function of an operator, for one number.
extern "C" fn unary_function<F: UnaryFn>(x: f64) -> f64 {
    number(|| F::OP.eval(x))
}

/// The function of an operator, applied in place to a block of numbers.
unsafe extern "C" fn unary_block<F: UnaryFn>(x: *mut f64, n: usize) {
    // SAFETY: native code passes `n` initialised Floats that nothing else refers to meanwhile.
    shielded(|| (), || kernels::map(F::OP, unsafe { std::slice::from_raw_parts_mut(x, n) }));
}

struct UnaryAddress;

impl EachUnary for UnaryAddress {
    type Out = *const u8;

    fn run<F: UnaryFn>(self) -> *const u8 {
        unary_function::<F> as *const u8
    }
}

struct UnaryBlockAddress;

impl EachUnary for UnaryBlockAddress {
    type Out = *const u8;

    fn run<F: UnaryFn>(self) -> *const u8 {
        unary_block::<F> as *const u8
    }
}

/// The address of an operator's function; `None` if it compiles to instructions or needs an extra argument.
pub(crate) fn unary(op: Un) -> Option<*const u8> {
    if op.native() == Native::Instructions { None } else { op.each(UnaryAddress) }
}

/// The block function of a unary operator that does not compile to instructions, and the extra integer argument that it
/// takes (order or exponent).
pub(crate) fn block_function_of_unary(op: Un) -> (*const u8, Option<i64>) {
    let function = match op {
        Un::Polygamma(_) => polygammas as *const u8,
        Un::Powi(_) => powis as *const u8,
        op => op.each(UnaryBlockAddress).unwrap_or(std::ptr::null()),
    };
    (function, op.parameter())
}

/// The function of an operator, for two numbers.
extern "C" fn binary_function<F: BinaryFn>(x: f64, y: f64) -> f64 {
    number(|| F::OP.eval(x, y))
}

/// The function of an operator, applied to two blocks of numbers; its results overwrite the first operands.
unsafe extern "C" fn binary_block<F: BinaryFn>(x: *mut f64, y: *const f64, n: usize) {
    // SAFETY: native code passes two disjoint buffers of `n` initialised Floats each.
    let (x, y) = unsafe { (std::slice::from_raw_parts_mut(x, n), std::slice::from_raw_parts(y, n)) };
    shielded(|| (), || x.iter_mut().zip(y).for_each(|(x, y)| *x = F::OP.eval(*x, *y)));
}

struct BinaryAddress;

impl EachBinary for BinaryAddress {
    type Out = *const u8;

    fn run<F: BinaryFn>(self) -> *const u8 {
        binary_function::<F> as *const u8
    }
}

struct BinaryBlockAddress;

impl EachBinary for BinaryBlockAddress {
    type Out = *const u8;

    fn run<F: BinaryFn>(self) -> *const u8 {
        binary_block::<F> as *const u8
    }
}

/// The address of an operator's function; `None` if it compiles to instructions.
pub(crate) fn binary(op: Bin) -> Option<*const u8> {
    (op.native() != Native::Instructions).then(|| op.each(BinaryAddress))
}

/// The block function of a binary operator that does not compile to instructions.
pub(crate) fn block_function_of_binary(op: Bin) -> *const u8 {
    op.each(BinaryBlockAddress)
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

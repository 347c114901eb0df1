//! The table of primitives: one row each, exhaustive by `match`.
//!
//! - [`scalar`]: the scalar operators [`Un`] and [`Bin`], their evaluation on f64/f32, and their
//!   derivatives. A derivative is written once, generically over [`Ops`], so that the same rule
//!   serves plain floats, dual numbers of any nesting, whole arrays, and IR builders.
//! - [`elementary`]: exp, log, tanh, sigmoid, sin, cos and their kin, with the same bits one by one and in vectors.
//! - [`prim`]: [`Prim`], every name that the language has built in, and [`Prim::row`]: its type,
//!   linearity, cost class and documentation.
//! - [`rule`]: those derivatives as formulas to read.
//! - [`special`]: special functions (digamma, polygamma, lgamma, erf) that `libm` lacks.
//!
//! A new primitive needs a variant and a row here, and a case in the exhaustive matches of `lang/ir`, `lang/interp`,
//! `lang/specialise`, `lang/jit` and `lang/gpu`. A missing case, also of a derivative rule, is a compile error.
//!
//! What is *not* here: values, arrays and their evaluation (`lang/interp`), and any IO.

pub mod elementary;
pub mod prim;
mod rows;
pub mod rule;
pub mod scalar;
pub mod special;

pub use prim::{Fold, Linearity, Prim, Row, Typing};
pub use scalar::{Bin, Cmp, Ops, Un};

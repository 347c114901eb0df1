//! The table of primitives: one row each, exhaustive by `match`.
//!
//! - [`table`]: the rows, by family. Rows of scalar operators ([`Un`] and [`Bin`]) hold their value, their derivative and
//!   how native code and a GPU compute them. A derivative is written once, generically over [`Ops`], so that the same rule
//!   serves plain floats, dual numbers of any nesting, whole arrays, and IR builders.
//! - [`scalar`]: [`Ops`], and what the rules of scalar operators share.
//! - [`elementary`]: exp, log, tanh, sigmoid, sin, cos and their kin, with the same bits one by one and in vectors.
//! - [`prim`]: [`Prim`], every name that the language has built in. [`mod@row`]: the columns of a row.
//! - [`rule`]: those derivatives as formulas to read.
//! - [`special`]: special functions (digamma, polygamma, lgamma, erf) that `libm` lacks.
//!
//! A new scalar operator is a row here. Another primitive is a row, and a case in the exhaustive matches of its family in
//! `lang/interp`, `lang/specialise` and `lang/gpu`. A missing case, also of a derivative rule, is a compile error.
//!
//! What is *not* here: values, arrays and their evaluation (`lang/interp`), and any IO.

pub mod elementary;
pub mod prim;
pub mod row;
pub mod rule;
pub mod scalar;
pub mod special;
pub mod table;

pub use prim::Prim;
pub use row::{Fold, Linearity, Row, Typing};
pub use scalar::Ops;
pub use table::array::ArrayFn;
pub use table::binary::Bin;
pub use table::comm::CommFn;
pub use table::compare::Cmp;
pub use table::derivative::DerivativeFn;
pub use table::general::GeneralFn;
pub use table::higher_order::HigherOrderFn;
pub use table::io::IoFn;
pub use table::linalg::LinalgFn;
pub use table::number::NumberFn;
pub use table::random::RandomFn;
pub use table::reduction::ReductionFn;
pub use table::rows::RowsFn;
pub use table::text::TextFn;
pub use table::unary::{Un, UnByWord};

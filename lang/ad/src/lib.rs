//! Derivatives as program transformations (*You Only Linearize Once*).
//!
//! ```text
//! J  jvp         f : (x…) -> (y…)                 ⟼  (x… ; ẋ…) -> (y… ; ẏ…)                        §5
//! U  unzip       (x… ; ẋ…) -> (y… ; ẏ…)           ⟼  (x…) -> (y…, r…)   and   (r… ; ẋ…) -> ( ; ẏ…)  §6
//! T  transpose   (r… ; ẋ…) -> ( ; ẏ…)             ⟼  (r… ; ÿ…) -> ( ; ẍ…)                           §7
//!    erase       forgets linearity, to nest derivatives and to run                                  §4.5
//! ```
//!
//! Everything else is made of these: `grad f x` is T (U (J f)) at cotangent 1.
//!
//! - [`tangent`]: the tangent type of a type; discrete types have none.
//! - [`activity`]: which variables carry a tangent.
//! - [`jvp`]: J. One rule for each operation; control flow keeps its shape.
//! - [`soac`]: J of reductions, scans and histograms, whose rules depend on the operator.
//! - [`explicit`]: makes each linear variable be used exactly once, by `dup` and `drop`.
//! - [`unzip`]: U, with a plan that says which intermediates are stored and which recomputed.
//! - [`transpose`]: T. Cotangents of arrays are accumulated in place of being summed copy by copy.
//! - [`diagonal`]: whether a linear function is diagonal, seen from its code.
//! - [`structure`]: which entries the matrix of a linear function may have, seen from its code.
//! - [`batch`]: a linear function in many directions at once.
//! - `tensor`: adjoints of comprehensions as comprehensions, without scatter.
//! - [`segment`]: loops in segments that are recomputed, for reverse memory O(√n) or O(log n).
//! - [`profile`]: what a plan would store and recompute, counted without storing it.
//! - [`erase`], [`dce`]: forgetting linearity; dead-code elimination.
//! - [`Ad`]: the memo of all of these over one program. Calls are transformed to calls of transformed functions, so that code grows
//!   linearly.
//!
//! What is *not* here: choosing plans by cost, run-time values, closures, any IO.

pub mod activity;
pub mod batch;
pub mod dce;
pub mod diagonal;
pub mod erase;
pub mod explicit;
pub mod jvp;
pub mod profile;
pub mod segment;
pub mod soac;
pub mod structure;
pub mod tangent;
mod tensor;
pub mod transpose;
pub mod unzip;

mod check;
mod memo;
mod road;

pub use memo::{Ad, Arrays};

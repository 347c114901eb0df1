//! Derivatives as program transformations (*You Only Linearize Once*).
//!
//! ```text
//! J  jvp         f : (x…) -> (y…)                 ⟼  (x… ; ẋ…) -> (y… ; ẏ…)                        §5
//! U  unzip       (x… ; ẋ…) -> (y… ; ẏ…)           ⟼  (x…) -> (y…, r…)   and   (r… ; ẋ…) -> ( ; ẏ…)  §6
//! T  transpose   (r… ; ẋ…) -> ( ; ẏ…)             ⟼  (r… ; ÿ…) -> ( ; ẍ…)                           §7
//!    erase       removes linearity, to nest derivatives and to execute                              §4.5
//! ```
//!
//! Everything else is made of these: `grad f x` is T (U (J f)) at cotangent 1.
//!
//! - [`tangent`]: the tangent type of a type; discrete types have none.
//! - [`activity`]: which variables carry a tangent.
//! - [`jvp`]: J. One rule for each operation; control flow keeps its structure.
//! - [`soac`]: J of reductions, scans and histograms, with rules that depend on the operator.
//! - [`unzip`]: U, with a plan that says which intermediates are stored and which are recomputed.
//! - [`transpose`]: T. Cotangents of arrays are accumulated in place, not summed copy by copy.
//! - [`diagonal`]: whether a linear function is diagonal, from its code.
//! - [`structure`]: the sparsity pattern of a linear function, from its code.
//! - [`batch`]: vectorisation of a linear function over directions.
//! - `tensor`: adjoints of comprehensions as comprehensions, without scatter.
//! - [`segment`]: checkpointing of loops by segments, for reverse memory O(√n) or O(log n).
//! - [`profile`]: what a plan would store and recompute, counted without storing anything.
//! - [`erase`]: erasure of linearity.
//! - [`Ad`]: the memo of all of these for one program. A call becomes a call of the transformed callee, so code
//!   grows linearly.
//!
//! What is *not* here: choosing plans by cost, run-time values, closures, any IO.

pub mod activity;
pub mod batch;
pub mod diagonal;
pub mod erase;
pub mod jvp;
pub mod profile;
mod results;
pub mod segment;
pub mod soac;
pub mod structure;
pub mod tangent;
mod tensor;
pub mod transpose;
pub mod unzip;

mod check;
mod derive;
mod forward_maps;
mod limits;
mod memo;

pub use memo::Ad;

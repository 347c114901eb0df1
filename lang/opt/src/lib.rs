//! The optimiser: passes from IR to IR. A pass never changes the meaning of a function: results have the same bits,
//! and a computation that stays raises the same errors. Only results that are not used are no longer computed.
//! Work, as the reference evaluator counts it, never grows (except by [`mod@index_pushdown`] and [`mod@diagonals`] for
//! arrays of a few elements).
//!
//! - [`ipo_dce`]: interprocedural elimination of dead results and parameters.
//! - [`mod@inline`][]: inlining.
//! - [`mod@simplify`]: constant folding ([`fold`]), algebraic identities, extents traced to their origin ([`extent`]).
//! - [`cse`]: common subexpression elimination.
//! - [`mod@shapes`]: shape propagation, through loops and branches too.
//! - [`mod@scalar_replacement`]: scalar replacement of small arrays, unrolling of short loops.
//! - [`mod@hoist`]: loop-invariant code motion.
//! - [`mod@diagonals`]: code motion along diagonals: what depends on the sum of two indices only.
//! - [`mod@index_pushdown`]: index pushdown: elements of products and sums of arrays from elements of the operands.
//! - [`mod@interchange`]: reductions, scans and histograms of rows as those of columns.
//! - [`mod@loop_rows`]: rows that loops with carried values read at their index, as rows over which they run.
//! - [`mod@row_of_row`]: index pushdown for rows of rows.
//! - [`mod@short_rows`]: products with small matrices as loops over the rows.
//! - [`mod@pointwise`]: arithmetic on entire vectors as loops. [`mod@device`]: the same for a device.
//! - [`mod@contract`]: recognition of contractions (sums of products).
//! - [`mod@fuse_halves`]: both halves of a gradient as one function.
//! - [`mod@index_splitting`]: index-set splitting: a loop without boundary tests for the interior.
//! - [`mod@flatten_rows`]: small matrices that loops collect, as flat rows of numbers.
//! - [`mod@sum_order`]: sums over an index in the order of sums of arrays.
//! - [`mod@fuse`]: loop fusion: map–map, map–reduce, map–scan, map–histogram, and maps side by side.
//! - [`mod@arm_constructors`]: data that only one unit sees, with a constructor for each arm that makes it.
//! - dead code elimination: [`adl_ir::rewrite::dce`], which also covers components of reductions, outputs and carried values
//!   of loops, and results of branches.
//!
//! [`ipo_dce::trim`] comes first, on specialised code, and [`tail_calls`] after it. [`pipelines`] lists all other passes
//! and the orders in which they run.
//!
//! Updates in place are not a pass. The last use of an array moves it out of its register, and an array with a
//! single owner is updated in place. Fusion preserves this: it never moves a read of an array behind its update.
//!
//! What is *not* here: transformations that change the order of floating-point sums (except for devices); any IO.

pub mod arm_constructors;
pub mod contract;
pub mod cse;
pub mod device;
pub mod diagonals;
pub mod extent;
pub mod flatten_rows;
pub mod fold;
pub mod fuse;
pub mod fuse_halves;
pub mod hoist;
pub mod index_pushdown;
pub mod index_splitting;
pub mod inline;
pub mod interchange;
pub mod ipo_dce;
mod limits;
pub mod loop_rows;
pub mod operators;
pub mod pipelines;
pub mod pointwise;
mod rebuild;
pub mod row_of_row;
pub mod row_products;
pub mod scalar_replacement;
pub mod shapes;
pub mod short_rows;
pub mod simplify;
pub mod sum_order;
pub mod tail_calls;
pub mod updated_zeros;
mod written_sums;

pub use fuse::straight;
pub use pipelines::{Pass, PipelineStep, run};

use adl_ir::{Function, Program};

/// A literal of type `f32` or `f64`.
fn real(ty: &adl_ir::Ty, x: f64) -> adl_ir::Lit {
    if *ty == adl_ir::Ty::F32 { adl_ir::Lit::F32(x as f32) } else { adl_ir::Lit::F64(x) }
}

/// Verifies the output of a pass in debug builds.
fn check(p: &Program, f: &Function, pass: &str) {
    if adl_ir::verify::is_on()
        && let Err(faults) = adl_ir::verify::verify(p, f)
    {
        let text: Vec<String> = faults.iter().map(ToString::to_string).collect();
        unreachable!("the pass `{pass}` made a wrong function: {}", text.join("\n"));
    }
}

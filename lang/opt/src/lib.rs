//! The optimiser: passes from IR to IR. A pass never changes the meaning of a function: results have the same bits,
//! and a computation that stays raises the same errors. Only results that are not used are no longer computed.
//! Work, as the reference evaluator counts it, never grows (except by [`mod@index_pushdown`] for arrays of a few
//! elements).
//!
//! - [`ipo_dce`]: interprocedural elimination of dead results and parameters.
//! - [`mod@inline`][]: inlining.
//! - [`mod@simplify`]: constant folding ([`fold`]), algebraic identities, extents traced to their origin ([`extent`]).
//! - [`cse`]: common subexpression elimination.
//! - [`mod@shapes`]: shape propagation, through loops and branches too.
//! - [`mod@scalar_replacement`]: scalar replacement of small arrays, unrolling of short loops.
//! - [`mod@hoist`]: loop-invariant code motion.
//! - [`mod@index_pushdown`]: index pushdown: elements of products and sums of arrays from elements of the operands.
//! - [`mod@interchange`]: reductions, scans and histograms of rows as those of columns.
//! - [`mod@row_of_row`]: index pushdown for rows of rows.
//! - [`mod@pointwise`]: arithmetic on entire vectors as loops. [`mod@device`]: the same for a device.
//! - [`mod@row_element`]: index pushdown for elements of rows that are read in more loops than the array has axes.
//! - [`mod@contract`]: recognition of contractions (sums of products).
//! - [`mod@fuse_halves`]: both halves of a gradient as one function.
//! - [`mod@index_splitting`]: index-set splitting: a loop without boundary tests for the interior.
//! - [`mod@flatten_rows`]: small matrices that loops collect, as flat rows of numbers.
//! - [`mod@sum_order`]: sums over an index in the order of sums of arrays.
//! - [`mod@fuse`]: loop fusion: map–map, map–reduce, map–scan, map–histogram, and maps side by side.
//! - dead code elimination: [`adl_ad::dce`], which also covers components of reductions, outputs and carried values
//!   of loops, and results of branches.
//!
//! [`ipo_dce::trim`] comes first, on specialised code. There are five pipelines, each followed by the verifier in
//! debug builds:
//!
//! - [`function`], before differentiation (J) and between J and unzipping (U): simplification with CSE, hoisting,
//!   the former again (hoisted statements may have equals outside), and dead code elimination. Linear statements
//!   are left alone; fewer statements mean fewer residuals. One round reaches a fixpoint, except for chains through
//!   nested loops, which one more round would shorten by a level.
//! - [`plain`], for functions that are not differentiated.
//! - [`finish`], before a function is lowered and after all differentiation: rounds of the above and of fusion,
//!   until a round changes nothing. Each fusion removes a statement, so this terminates; the limit is [`ROUNDS`].
//! - [`native`], in addition, what pays off in native code only.
//! - [`inlined`], [`finish_for_device`] and [`device::vectors`] instead of [`finish`], for a device.
//!
//! Updates in place are not a pass. The last use of an array moves it out of its register, and an array with a
//! single owner is updated in place. Fusion preserves this: it never moves a read of an array behind its update.
//!
//! What is *not* here: transformations that change the order of floating-point sums (except for devices); any IO.

pub mod contract;
mod copy;
pub mod cse;
pub mod device;
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
pub mod pointwise;
pub mod row_element;
pub mod row_of_row;
pub mod scalar_replacement;
pub mod shapes;
pub mod simplify;
pub mod sum_order;
pub mod tail_calls;

pub use fuse::straight;

use adl_ad::Zeros;
use adl_ir::{Function, Program};
use fuse::For;
use std::collections::HashSet;

/// Limit of the rounds of fusion in [`finish`].
pub const ROUNDS: usize = 4;

/// Optimises any function, whether it will be differentiated or not.
pub fn function(p: &Program, f: &mut Function, arrays: Zeros) {
    inline::inline(p, f);
    if arrays == Zeros::Materialized {
        index_pushdown::elements(f, index_pushdown::Order::Free);
    }
    row_of_row::rows(f);
    round(f, arrays);
    if scalar_replacement::scalars(f, scalar_replacement::Sums::Kept) {
        round(f, arrays);
    }
    row_element::read_elements_directly(f);
    check(p, f);
}

/// Optimises a function that is not differentiated. The order of all sums is kept ([`mod@sum_order`] establishes the
/// order that the language defines).
pub fn plain(p: &Program, f: &mut Function, arrays: Zeros) {
    inline::inline(p, f);
    if arrays == Zeros::Materialized {
        index_pushdown::elements(f, index_pushdown::Order::Kept);
    }
    row_of_row::rows(f);
    round(f, arrays);
    check(p, f);
}

/// The first phase of [`finish`]: inlining.
pub fn inlined(p: &Program, f: &mut Function) {
    inline::finally(p, f);
    round(f, Zeros::Symbolic);
}

/// Optimises a function that is about to be lowered, after all differentiation.
pub fn finish(p: &Program, f: &mut Function) {
    inlined(p, f);
    finish_inlined(p, f);
}

/// The second phase of [`finish`], after [`inlined`].
pub fn finish_inlined(p: &Program, f: &mut Function) {
    until_done(p, f, For::Any);
}

/// Optimises a function for a device; [`device::vectors`] may follow.
pub fn finish_for_device(p: &Program, f: &mut Function) {
    until_done(p, f, For::Device);
    // All code that collects small matrices is in the form of loops by now.
    if device::sides::sides(f) {
        check(p, f);
        round(f, Zeros::Symbolic);
        until_done(p, f, For::Device);
    }
    // Takes apart small arrays that fused loops carry.
    if scalar_replacement::for_device(f) {
        round(f, Zeros::Symbolic);
        check(p, f);
    }
}

/// Optimises a function that has been through [`finish`] for native code.
pub fn native(p: &Program, f: &mut Function) {
    until_done(p, f, For::Native);
    if index_splitting::split_loops(f) {
        check(p, f);
        round(f, Zeros::Symbolic);
        check(p, f);
    }
}

/// Optimises the output of [`native`] further if assertions establish that arguments are small. Returns whether
/// there was anything to gain.
pub fn small(p: &Program, f: &mut Function) -> bool {
    if !scalar_replacement::scalars(f, scalar_replacement::Sums::Written) {
        return false;
    }
    check(p, f);
    round(f, Zeros::Symbolic);
    until_done(p, f, For::Native);
    true
}

fn until_done(p: &Program, f: &mut Function, target: For) {
    if target != For::Native {
        let apart = if target == For::Device {
            scalar_replacement::for_device(f)
        } else {
            scalar_replacement::scalars(f, scalar_replacement::Sums::Written)
        };
        if apart {
            round(f, Zeros::Symbolic);
        }
        if contract::contract(f) {
            round(f, Zeros::Symbolic);
        }
    }
    if target == For::Device && interchange::for_device(f) {
        check(p, f);
        round(f, Zeros::Symbolic);
    }
    for _ in 0..ROUNDS {
        if !fuse::fuse(f, target) {
            break;
        }
        check(p, f);
        round(f, Zeros::Symbolic);
    }
    if target == For::Native {
        let turned = interchange::interchange(f);
        if flatten_rows::flatten_matrices(f) || turned {
            check(p, f);
            round(f, Zeros::Symbolic);
        }
    }
    check(p, f);
}

fn round(f: &mut Function, arrays: Zeros) {
    simplify::simplify(f);
    let safe = match arrays {
        Zeros::Materialized => shapes::known(f),
        Zeros::Symbolic => HashSet::new(),
    };
    hoist::hoist(f, &safe);
    simplify::simplify(f);
    adl_ad::dce::remove_dead(f);
}

/// A literal of type `f32` or `f64`.
fn real(ty: &adl_ir::Ty, x: f64) -> adl_ir::Lit {
    if *ty == adl_ir::Ty::F32 { adl_ir::Lit::F32(x as f32) } else { adl_ir::Lit::F64(x) }
}

fn check(p: &Program, f: &Function) {
    if adl_ir::verify::is_on()
        && let Err(faults) = adl_ir::verify::verify(p, f)
    {
        let text: Vec<String> = faults.iter().map(ToString::to_string).collect();
        unreachable!("the optimiser made a wrong function: {}", text.join("\n"));
    }
}

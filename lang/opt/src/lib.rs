//! The optimiser: passes from IR to IR. A pass never changes the meaning of a function: results have the same bits,
//! and a computation that stays raises the same errors. Only results that are not used are no longer computed.
//! Work, as the reference evaluator counts it, never grows (except by [`mod@elements`] for arrays of a few
//! elements).
//!
//! - [`across`]: interprocedural elimination of dead results and parameters.
//! - [`mod@inline`]: inlining.
//! - [`mod@simplify`]: constant folding ([`fold`]), algebraic identities, extents traced to their origin ([`extent`]).
//! - [`cse`]: common subexpression elimination.
//! - [`mod@shapes`]: shape propagation, through loops and branches too.
//! - [`mod@scalars`]: scalar replacement of small arrays, unrolling of short loops.
//! - [`mod@hoist`]: loop-invariant code motion.
//! - [`mod@elements`]: index pushdown: elements of products and sums of arrays from elements of the operands.
//! - [`mod@interchange`]: reductions, scans and histograms of rows as those of columns.
//! - [`mod@rows`]: index pushdown for rows of rows.
//! - [`mod@pointwise`]: arithmetic on entire vectors as loops. [`mod@device`]: the same for a device.
//! - [`mod@direct`]: index pushdown for elements of rows that are read in more loops than the array has axes.
//! - [`mod@contract`]: recognition of contractions (sums of products).
//! - [`mod@join`]: both halves of a gradient as one function.
//! - [`mod@ranges`]: index-set splitting: a loop without boundary tests for the interior.
//! - [`mod@flat`]: small matrices that loops collect, as flat rows of numbers.
//! - [`mod@terms`]: sums over an index in the order of sums of arrays.
//! - [`mod@fuse`]: loop fusion: map–map, map–reduce, map–scan, map–histogram, and maps side by side.
//! - dead code elimination: [`adl_ad::dce`], which also covers components of reductions, outputs and carried values
//!   of loops, and results of branches.
//!
//! [`across::trim`] comes first, on specialised code. There are five pipelines, each followed by the verifier in
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

pub mod across;
pub mod contract;
mod copy;
pub mod cse;
pub mod device;
pub mod direct;
pub mod elements;
pub mod extent;
pub mod flat;
pub mod fold;
pub mod fuse;
pub mod hoist;
pub mod inline;
pub mod interchange;
pub mod join;
pub mod pointwise;
pub mod ranges;
pub mod rows;
pub mod scalars;
pub mod shapes;
pub mod simplify;
pub mod terms;
pub mod turns;

pub use fuse::straight;

use adl_ad::Arrays;
use adl_ir::{Function, Program};
use fuse::For;
use std::collections::HashSet;

/// Limit of the rounds of fusion in [`finish`].
pub const ROUNDS: usize = 4;

/// Optimises any function, whether it will be differentiated or not.
pub fn function(p: &Program, f: &mut Function, arrays: Arrays) {
    inline::inline(p, f);
    if arrays == Arrays::There {
        elements::elements(f, elements::Order::Free);
    }
    rows::rows(f);
    round(f, arrays);
    if scalars::scalars(f, scalars::Sums::Kept) {
        round(f, arrays);
    }
    direct::direct(f);
    check(p, f);
}

/// Optimises a function that is not differentiated. The order of all sums is kept ([`mod@terms`] establishes the
/// order that the language defines).
pub fn plain(p: &Program, f: &mut Function, arrays: Arrays) {
    inline::inline(p, f);
    if arrays == Arrays::There {
        elements::elements(f, elements::Order::Kept);
    }
    rows::rows(f);
    round(f, arrays);
    check(p, f);
}

/// The first phase of [`finish`]: inlining.
pub fn inlined(p: &Program, f: &mut Function) {
    inline::finally(p, f);
    round(f, Arrays::MayBeAbsent);
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
        round(f, Arrays::MayBeAbsent);
        until_done(p, f, For::Device);
    }
    // Takes apart small arrays that fused loops carry.
    if scalars::for_device(f) {
        round(f, Arrays::MayBeAbsent);
        check(p, f);
    }
}

/// Optimises a function that has been through [`finish`] for native code.
pub fn native(p: &Program, f: &mut Function) {
    until_done(p, f, For::Native);
    if ranges::ranges(f) {
        check(p, f);
        round(f, Arrays::MayBeAbsent);
        check(p, f);
    }
}

/// Optimises the output of [`native`] further if assertions establish that arguments are small. Returns whether
/// there was anything to gain.
pub fn small(p: &Program, f: &mut Function) -> bool {
    if !scalars::scalars(f, scalars::Sums::Written) {
        return false;
    }
    check(p, f);
    round(f, Arrays::MayBeAbsent);
    until_done(p, f, For::Native);
    true
}

fn until_done(p: &Program, f: &mut Function, target: For) {
    if target != For::Native {
        let apart =
            if target == For::Device { scalars::for_device(f) } else { scalars::scalars(f, scalars::Sums::Written) };
        if apart {
            round(f, Arrays::MayBeAbsent);
        }
        if contract::contract(f) {
            round(f, Arrays::MayBeAbsent);
        }
    }
    if target == For::Device && interchange::for_device(f) {
        check(p, f);
        round(f, Arrays::MayBeAbsent);
    }
    for _ in 0..ROUNDS {
        if !fuse::fuse(f, target) {
            break;
        }
        check(p, f);
        round(f, Arrays::MayBeAbsent);
    }
    if target == For::Native {
        let turned = interchange::interchange(f);
        if flat::flat(f) || turned {
            check(p, f);
            round(f, Arrays::MayBeAbsent);
        }
    }
    check(p, f);
}

fn round(f: &mut Function, arrays: Arrays) {
    simplify::simplify(f);
    let safe = match arrays {
        Arrays::There => shapes::known(f),
        Arrays::MayBeAbsent => HashSet::new(),
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
    if adl_ir::verify::is_on() {
        if let Err(faults) = adl_ir::verify::verify(p, f) {
            let text: Vec<String> = faults.iter().map(ToString::to_string).collect();
            unreachable!("the optimiser made a wrong function: {}", text.join("\n"));
        }
    }
}

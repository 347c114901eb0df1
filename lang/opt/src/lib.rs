//! The optimiser: IR → IR. A pass changes a function and never its meaning: results are the same bits, and so are the errors of what is
//! computed; what is not read is not computed. Work, as the reference evaluator counts it, never grows (but for [`mod@elements`] of arrays of a
//! few elements).
//!
//! - [`across`]: results that no caller reads, and parameters that only they need, through calls and recursion.
//! - [`mod@inline`]: small functions in the place of calls.
//! - [`mod@simplify`]: constants folded ([`fold`]), identities, extents found where they come from ([`extent`]).
//! - [`cse`]: one statement for equal ones, in the block or around it.
//! - [`mod@shapes`]: shapes found where they come from, through loops and branches too.
//! - [`mod@scalars`]: small vectors of known length as numbers, loops of few turns written out.
//! - [`mod@hoist`]: what no turn of a loop changes, and what cannot fail, is computed before it.
//! - [`mod@elements`]: elements of products and sums of arrays from those of their operands, so that the arrays are not made.
//! - [`mod@interchange`]: reductions, scans and histograms of rows as those of columns.
//! - [`mod@rows`]: rows of rows, read from the array.
//! - [`mod@pointwise`]: arithmetic on whole vectors as loops. [`mod@device`]: the same for a device.
//! - [`mod@direct`]: elements of rows that are read in more loops than the array has axes, read from the array.
//! - [`mod@contract`]: sums of products that are contractions.
//! - [`mod@join`]: both halves of a gradient as one function.
//! - [`mod@ranges`]: loops without branches that ask where the index is, where those say yes.
//! - [`mod@flat`]: small matrices that loops collect, as rows of numbers.
//! - [`mod@terms`]: sums of terms in the order of sums of arrays.
//! - [`mod@fuse`]: loops over the same indices become one: map–map, map–reduce, map–scan, map–histogram, and maps side by side.
//! - dead code: [`adl_ad::dce`], in components of reductions, outputs and carried values of loops, and results of branches too.
//!
//! [`across::trim`] comes first, on what was specialised. Five compositions, each followed by the verifier in debug builds:
//!
//! - [`function`], before J and between J and U: simplify and equal statements, hoist, the former again (what was hoisted meets its equals), dead
//!   code. These leave linear statements alone; fewer statements are fewer residuals. One round reaches the fixpoint but for chains
//!   through loops nested in loops, which a round more would shorten by a level.
//! - [`plain`], for functions that are not differentiated.
//! - [`finish`], before a function is lowered, when nothing will be differentiated any more: rounds of the former and fusion, until a
//!   round changes nothing (each fusion removes a statement, so there is an end; [`ROUNDS`] at most).
//! - [`native`], the same with what pays in native code alone.
//! - [`inlined`], [`finish_for_device`] and [`device::vectors`] in the place of [`finish`], for a device beside the CPU.
//!
//! Updates in place are no pass: an update takes its array's register at its last use, and an array with one owner changes in place. Fusion
//! keeps what is needed for that: no read of an array is moved behind its update.
//!
//! What is *not* here: transformations that change the order of floating-point sums, but for devices; any IO.

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
use std::collections::HashSet;
use fuse::For;

/// Rounds of [`finish`].
pub const ROUNDS: usize = 4;

/// What suits every function, to be differentiated or not.
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

/// What suits a function that is not differentiated: the order of all sums is kept ([`mod@terms`] makes it what the language says).
pub fn plain(p: &Program, f: &mut Function, arrays: Arrays) {
    inline::inline(p, f);
    if arrays == Arrays::There {
        elements::elements(f, elements::Order::Kept);
    }
    rows::rows(f);
    round(f, arrays);
    check(p, f);
}

/// What [`finish`] begins with: functions that a function calls in the place of their calls.
pub fn inlined(p: &Program, f: &mut Function) {
    inline::finally(p, f);
    round(f, Arrays::MayBeAbsent);
}

/// For a function that is about to be lowered.
pub fn finish(p: &Program, f: &mut Function) {
    inlined(p, f);
    finish_inlined(p, f);
}

/// The rest of [`finish`].
pub fn finish_inlined(p: &Program, f: &mut Function) {
    until_done(p, f, For::Any);
}

/// The same for a device beside the CPU; [`device::vectors`] may follow.
pub fn finish_for_device(p: &Program, f: &mut Function) {
    until_done(p, f, For::Device);
    // What collects small matrices is a loop by now.
    if device::sides::sides(f) {
        check(p, f);
        round(f, Arrays::MayBeAbsent);
        until_done(p, f, For::Device);
    }
    // What loops that became one hand on.
    if scalars::for_device(f) {
        round(f, Arrays::MayBeAbsent);
        check(p, f);
    }
}

/// For a function that has been through [`finish`] and becomes native code.
pub fn native(p: &Program, f: &mut Function) {
    until_done(p, f, For::Native);
    if ranges::ranges(f) {
        check(p, f);
        round(f, Arrays::MayBeAbsent);
        check(p, f);
    }
}

/// For a function as [`native`] leaves it, of whose arguments assertions say that they are small; whether there is anything to gain.
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
        let apart = if target == For::Device { scalars::for_device(f) } else { scalars::scalars(f, scalars::Sums::Written) };
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

/// A literal of a type of real numbers.
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

//! The optimiser: IR → IR. A pass changes a function and never its meaning: results are the same bits, and so are the errors of what is
//! computed; what nobody reads is not computed.
//!
//! - [`simplify`]: constants folded, identities, one statement for equal ones (in the block or around it).
//! - [`hoist`]: what no turn of a loop changes, and what cannot fail, is computed before it.
//! - dead code: [`adl_ad::dce`].
//!
//! [`function`] runs them in order. They leave linear statements alone, so that they may stand between J and U: then there are fewer
//! residuals.
//!
//! What is *not* here: fusion, transformations that change the order of floating-point sums, any IO.

pub mod hoist;
pub mod simplify;

use adl_ir::{Function, Program};

/// All passes on one function.
pub fn function(p: &Program, f: &mut Function) {
    simplify::simplify(f);
    hoist::hoist(f);
    simplify::simplify(f);
    adl_ad::dce::remove_dead(f);
    if cfg!(debug_assertions) {
        if let Err(faults) = adl_ir::verify::verify(p, f) {
            let text: Vec<String> = faults.iter().map(ToString::to_string).collect();
            unreachable!("the optimiser made a wrong function: {}", text.join("\n"));
        }
    }
}

//! Runs the verifier after every pass, in debug builds and in tests.

use adl_ir::{Function, Program, verify};

/// Panics if a pass produced a function that breaks an invariant. That is always a bug of the pass, not of the
/// user's program.
pub(crate) fn made(pass: &str, p: &Program, f: &Function) {
    if verify::is_on()
        && let Err(faults) = verify::verify(p, f)
    {
        let text: Vec<String> = faults.iter().map(ToString::to_string).collect();
        unreachable!(
            "{pass} made a wrong function: {}\n{}",
            text.join("\n"),
            adl_ir::print::function(p, f, adl_ir::print::Style::PLAIN)
        );
    }
}

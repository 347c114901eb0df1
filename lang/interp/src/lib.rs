//! The evaluator: runs Core programs with their effects, and computes their derivatives.
//!
//! Reading order
//! 1. [`value`]: values. Scalars are unboxed (16 bytes a value), arrays are flat typed buffers, and arrays of
//!    tuples and records are stored as one array for each component.
//! 2. [`error`], [`fault`]: run-time errors, and panics as errors.
//! 3. [`host`]: the interface to the outside world. `polling` polls for interrupts, [`memory`] checks
//!    allocations.
//! 4. [`ops`]: primitives on untraced values: arithmetic, arrays, linear algebra, random numbers, text and data
//!    formats. [`upcalls`]: what they ask of the layers above them.
//! 5. [`vm`]: Core → register code → results. Frames are on the heap.
//! 6. [`ad`]: taped AD: dual numbers, the tape, linear maps, and the derivative operators.
//! 7. [`ir`]: compiled AD: functions are specialised to IR, transformed and lowered to register code.
//! 8. [`device`]: the interface to a GPU, and the choice between it and the CPU.
//! 9. `engine`: engines of reverse mode for comparison, with the cost of each.
//!
//! Invariants
//! - Modules form layers, and each uses its own and lower ones only (`docs/ARCHITECTURE.md`).
//! - [`ops`] never sees a traced value: [`ops::apply`] sends a call with a traced argument to
//!   [`ad::apply_traced`], which strips one level, calls [`ops::apply`] again, and records.
//! - A traced value never outlives the derivative operator that made it, except inside the tape of a linear
//!   map.
//! - Evaluating adl calls does not recurse on the native stack. Higher-order primitives re-enter
//!   [`vm::Machine::call`], which grows the stack through `stacker` and counts against the same frame budget.
//! - Dropping or traversing a deep value does not recurse on the native stack.
//!
//! What is *not* here: parsing, types (beyond run-time representations), and IO. Everything that touches the
//! world goes through [`host::Host`].

pub mod ad;
pub mod memory;
mod polling;
pub use polling::{PIECE, failure, interrupt_requested as interrupted};
pub mod device;
pub(crate) mod engine;
pub mod error;
pub mod fault;
pub mod host;
pub mod ir;
mod limits;
pub mod ops;
pub mod upcalls;
pub mod value;
pub mod vm;

/// What the tests of the crate use beside its interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::ops::arrays::transpose_rows;
    pub use crate::ops::interrupt::InterruptFlag;
    pub use crate::ops::random::philox;
    pub use crate::ops::sorting::argsort;

    /// The parts of CSV files that all threads read.
    pub mod csv {
        pub use crate::limits::csv::PART;
        pub use crate::ops::data::csv::columns::{digits, ordinary_number};
        pub use crate::ops::data::csv::parallel::{NumberColumn, Visit, cells, lines, split};
    }

    /// Zeros that products leave out.
    pub mod zero_spans {
        pub use crate::ops::kernels::zero_spans::{Spans, finite, span};
    }

    /// Values as messages between ranks.
    pub mod message {
        pub use crate::ops::comm::plain::{read, size, write};
    }

    /// Loops that poll for interrupts.
    pub mod polling {
        pub use crate::polling::{STRIDE, collect, copy, each, listen, poll};
    }

    /// Where code runs.
    pub mod tiers {
        pub use crate::device::timing::{DeviceTimes, NextTarget};
        pub use crate::ir::derive::derivative_stats::CompileTimes;
        pub use crate::limits::vm_policy::{ATTEMPTS, MANY};
        pub use crate::limits::vm_profile::{CHAIN, ITERATION, LARGE, SAMPLED, SHORT, THRESHOLD, TRIAL};
        pub use crate::vm::policy::{Request, Tier, choose};
        pub use crate::vm::profile::Profile;
    }
}

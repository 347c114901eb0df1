//! Programs and their derivatives, written by hand in Rust as the baseline of benchmarks.
//!
//! They are optimised: no unnecessary intermediate arrays, and loops and elementary functions that the compiler
//! vectorises ([`wide`]).

pub mod cameras;
pub mod deals;
pub mod gemm;
pub mod hand;
pub mod memory;
pub mod mixture;
pub mod network;
pub mod numbers;
pub mod operators;
pub mod sums;
pub mod systems;

/// A computation.
pub type Job = Box<dyn Fn() -> Vec<f64>>;

/// A hand-written function and its derivative. The order of the derivative's numbers is unspecified.
pub struct ByHand {
    /// The function's results.
    pub value: Job,
    /// The numbers of its derivative.
    pub gradient: Job,
}

impl ByHand {
    /// Builds both from functions of the same data.
    pub fn of<T: 'static>(data: T, value: fn(&T) -> Vec<f64>, gradient: fn(&T) -> Vec<f64>) -> ByHand {
        let data = std::rc::Rc::new(data);
        let again = data.clone();
        ByHand { value: Box::new(move || value(&data)), gradient: Box::new(move || gradient(&again)) }
    }
}

/// Runs code compiled for the widest vector instructions of the machine.
pub fn wide<T>(f: impl FnOnce() -> T) -> T {
    pulp::Arch::new().dispatch(f)
}

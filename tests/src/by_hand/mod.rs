//! Programs and their derivatives as one would write them in Rust by hand: what a benchmark's times are compared with.
//!
//! They are written to be fast: no intermediate arrays that need not be, loops that the compiler vectorises ([`wide`]), elementary functions that it can
//! vectorise, too.

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

/// Something to compute.
pub type Job = Box<dyn Fn() -> Vec<f64>>;

/// A function and its derivative, by hand. The order of a derivative's numbers is that of no particular definition.
pub struct ByHand {
    /// The function's results.
    pub value: Job,
    /// Those of its derivative.
    pub gradient: Job,
}

impl ByHand {
    /// Of functions of the same data.
    pub fn of<T: 'static>(data: T, value: fn(&T) -> Vec<f64>, gradient: fn(&T) -> Vec<f64>) -> ByHand {
        let data = std::rc::Rc::new(data);
        let again = data.clone();
        ByHand { value: Box::new(move || value(&data)), gradient: Box::new(move || gradient(&again)) }
    }
}

/// Runs code with the machine's widest vector instructions, as a compiler for this machine alone would have it.
pub fn wide<T>(f: impl FnOnce() -> T) -> T {
    pulp::Arch::new().dispatch(f)
}

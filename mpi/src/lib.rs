//! MPI, opened at run time: no MPI is linked, and one binary works with each of them.
//!
//! [`launcher`] tells whether a launcher has started this process, [`Communicator::open`] opens the library and joins the
//! other ranks. Two exchanges of bytes are all that adl needs: everyone's bytes to everyone, and one part to each.
//!
//! Reading order: [`find`] (which library), `abi` (its functions and handles), `world` (exchanges of any length).
//!
//! What is *not* here: what the bytes mean, and the check that all ranks are at the same operation.

#[cfg(unix)]
#[allow(unsafe_code)]
mod abi;
mod communicator;
pub mod find;
mod limits;

pub use communicator::Communicator;
pub use find::{Launcher, launcher};

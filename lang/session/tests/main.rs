//! The tests of the session, one program. None is inside the crate, which would be compiled a second time for it.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod analysis;
mod completion;
mod echo;
mod questions;
mod states;

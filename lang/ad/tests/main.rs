//! The tests of derivatives, one program: each would take as long to link as to compile.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod analyses;
mod collectives;
mod common;
mod derive;
mod directions;
mod laws;
mod nests;
mod numbers;
mod places;
mod predicates;
mod profile;
mod rows;
mod snapshots;
mod soac;
mod soac_work;
mod tallies;
mod tensor;
mod theorems;

//! What passes over the IR share: dead code elimination, renaming and copying, free and bound variables, and the form
//! in which each linear variable is used once.

pub mod compact;
pub mod dce;
pub mod linear_uses;
pub mod purity;
pub mod rename;

pub use dce::remove_dead;
pub use purity::{has_effect, is_pure, never_fails, op_has_output};
pub use rename::{bound, copy, copy_all, free, renumber};

//! The tests of the kernel's parts, one program. None is inside the crate, which would be compiled a second time for it.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

/// Serialises the tests that inject a panic or could meet one, because an injection concerns the whole process.
static INJECTIONS: std::sync::Mutex<()> = std::sync::Mutex::new(());

mod cells;
mod channels;
mod messages;
mod notebooks;
mod outputs;
mod panel;
mod responder;
mod suggestions;

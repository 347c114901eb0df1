//! The tests of the commands, one program: each would take as long to link as to compile.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod browser;
mod cli;
#[path = "../../editors/server/tests/client/mod.rs"]
mod client;
mod common;
mod editor;
mod files;
mod interactive;
mod jupyter;
mod kernel;
mod launchers;
mod limits;
mod lsp;
mod memory;
mod notebooks;
mod pipes;
mod ranks;
mod rows;
mod texts;
mod transcripts;

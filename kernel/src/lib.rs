//! The Jupyter kernel of adl, and notebooks without a front end.
//!
//! Three threads. The evaluator has the [`Session`](adl_session::Session) and runs cells and comms in order. The sockets' thread
//! (`channels`) reads, sorts and sends, and never waits: it sets the flag that interrupts a cell, and ends the process at a shutdown. The
//! desk answers completion, inspection and history from a `snapshot` that the evaluator leaves after each cell, so that it answers while
//! a cell runs.
//!
//! Reading order: `wire` (messages), `outbox`, `channels`, `abort`, `desk` with `snapshot`, `suggest` and `history`; `stage` (the world of a
//! cell), `cells`, `bundle` and `html` (values as front ends want them), `widgets` and `controls` (the live table of residuals), `server`; [`notebook`] runs a file; [`spec`] installs.
//!
//! What is *not* here: the language, its `:commands` and the command line, which the binary gives as a [`Setup`].

mod abort;
pub mod ansi;
mod bundle;
mod cells;
mod channels;
mod controls;
mod desk;
pub mod foreign;
mod history;
mod html;
pub mod letters;
pub mod notebook;
mod outbox;
pub mod parameters;
mod record;
mod server;
mod snapshot;
pub mod spec;
mod stage;
pub mod suggest;
mod widgets;
mod wire;

pub use cells::{Commands, MakeCommands, MakeSession, Setup};
pub use server::run;

/// What the language is, for front ends.
///
/// Where adl is not known, its colours are those of the known languages that come nearest (`docs/reference.md`, Notebooks): Lean 4 for
/// Pygments, which nbconvert uses, and Elm for CodeMirror, which JupyterLab uses.
pub fn language_info() -> serde_json::Value {
    serde_json::json!({
        "name": "adl",
        "version": env!("CARGO_PKG_VERSION"),
        "mimetype": "text/x-adl",
        "file_extension": ".adl",
        "pygments_lexer": "lean4",
        "codemirror_mode": "elm",
        "nbconvert_exporter": "script",
    })
}

//! The Jupyter kernel of adl, and notebooks without a front end.
//!
//! There are three threads. The evaluator owns the [`Session`](adl_session::Session) and runs cells and comms in order.
//! The socket thread (`channels`) reads, routes and sends messages and never waits: it sets the flag that interrupts a
//! cell, and ends the process at a shutdown. The desk answers completion, inspection and history requests from a
//! `snapshot` that the evaluator leaves after each cell. So it can answer while a cell runs.
//!
//! Reading order: `wire` (messages), `outbox`, `channels`, `abort`, `responder` with `snapshot`, `suggest`, `history` and `variables`;
//! `cell_host` and `cell_sink` (the host of a cell, and where its output goes), `cells`, `mime_bundle` and `html` (values in media types),
//! `widgets` and `control` with `residuals_control` (the live table of residuals) and `interact_control` (functions with
//! sliders), `server`; [`notebook`] runs a file; [`cell_ranks`] runs the cells on several ranks; [`kernelspec`] installs.
//!
//! What is *not* here: the language, its `:commands`, and the command line, which the binary supplies as a [`Setup`].

mod abort;
pub mod ansi;
mod cell_host;
pub mod cell_ranks;
mod cell_sink;
mod cells;
mod channels;
pub mod foreign;
mod history;
mod html;
mod interact_control;
pub mod kernelspec;
pub mod latex_symbols;
mod live_controls;
mod mime_bundle;
pub mod notebook;
mod outbox;
mod output_record;
pub mod parameters;
mod residuals_control;
mod responder;
mod server;
mod snapshot;
pub mod suggest;
mod variables;
mod widgets;
mod wire;

pub use cells::{Commands, MakeCommands, MakeSession, Setup};
pub use server::run;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process is one of a wheel, which brings adl's own colours.
static OWN_COLOURS: AtomicBool = AtomicBool::new(false);

/// Says that Pygments and JupyterLab know adl here, because the package that has this kernel taught them.
pub fn use_own_colours() {
    OWN_COLOURS.store(true, Ordering::Relaxed);
}

/// The language info for front ends.
///
/// Front ends that do not know adl use the highlighting of a similar language (`docs/book/src/reference/notebooks.md`): Lean 4
/// for Pygments, which nbconvert uses, and Elm for `CodeMirror`, which `JupyterLab` uses.
pub fn language_info() -> serde_json::Value {
    let own = OWN_COLOURS.load(Ordering::Relaxed);
    serde_json::json!({
        "name": "adl",
        "version": env!("CARGO_PKG_VERSION"),
        "mimetype": "text/x-adl",
        "file_extension": ".adl",
        "pygments_lexer": if own { "adlang" } else { "lean4" },
        "codemirror_mode": if own { serde_json::json!({"name": "adl", "extensions": ["elm"]}) } else { "elm".into() },
        "nbconvert_exporter": "script",
    })
}

/// A value in several media types, and their metadata, for other front ends: two objects of JSON.
pub fn mime_bundle(v: &adl_interp::value::Value, ty: &str) -> (String, String) {
    let (data, metadata) = mime_bundle::shown(v, ty);
    (data.to_string(), metadata.to_string())
}

/// What the tests of the crate use beside its interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::abort::{Failed, UNDATED};
    pub use crate::cell_host::{OutputSink, bar_data, grouped};
    pub use crate::cells::{CellPart, parts};
    pub use crate::channels::{Inboxes, MessageRouter, connection};
    pub use crate::history::{History, glob};
    pub use crate::html::{escape, of as html};
    pub use crate::outbox::{Channel, Outbox, Request};
    pub use crate::output_record::{LIMIT, OutputRecord};
    pub use crate::responder::{Responder, SharedHandle, asked, byte_of, lock};
    pub use crate::server::serve;
    pub use crate::snapshot::Snapshot;
    pub use crate::variables::VariableInspector;
    pub use crate::wire::{Message, SigningKey, read, write};
}

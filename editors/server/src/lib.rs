//! The language server: what editors ask about programs, answered by the session that also runs them.
//!
//! One thread owns the session and answers in order (`server`). Another one receives (`inbox`): it drops requests that the editor has
//! cancelled, and interrupts checking when the text has changed meanwhile. Diagnostics are computed when nothing is left
//! to answer. Programs never run here: tests, benches and costs are commands of child processes (`commands`).
//!
//! Reading order: `text` (positions), `files` (paths, open buffers over those on disk), `documents` (texts and their
//! analyses), `meaning` (what a name refers to, across files), then a module for each family of requests.

mod actions;
mod calls;
mod commands;
mod completion;
mod context;
mod definitions;
mod diagnostics;
mod documents;
mod files;
mod hints;
mod hover;
mod inbox;
mod lenses;
mod meaning;
mod outline;
mod rename;
mod server;
mod signature;
mod source_text;
mod tokens;
mod views;

pub use commands::Adl;
pub use server::serve;

use lsp_server::Connection;

/// What the tests of the crate use beside its interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::files::{path_of, uri_of};
    pub use crate::inbox::Inbox;
    pub use crate::source_text::{Encoding, Text};
    pub use crate::views::{in_comment, in_table};
}

/// Serves an editor over standard input and output until it ends the session. `adl` is how this program is started.
///
/// # Errors
/// Why the connection broke.
pub fn run(adl: Adl) -> Result<(), String> {
    let (connection, threads) = Connection::stdio();
    serve(connection, adl)?;
    match threads.join() {
        // An editor that has ended the session need not read what was still under way.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        ended => ended.map_err(|e| e.to_string()),
    }
}

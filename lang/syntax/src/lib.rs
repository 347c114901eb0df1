//! Text → tokens → AST, and back.
//!
//! This crate parses adl source text to the tree of [`ast`] and prints that tree as canonical text ([`mod@format`]). It
//! also owns what every later stage needs to refer to source text: [`span`]s, the [`diag::Diagnostic`] type with its
//! renderers, and interned [`symbol::Symbol`]s.
//!
//! Reading order: [`span`], [`symbol`], [`diag`], [`token`], [`lexer`], [`ast`], [`parser`],
//! [`mod@format`], [`render`].
//!
//! Invariants
//! - Parsing is total: any byte sequence gives a tree and a list of diagnostics, never a panic.
//! - Every node's span lies inside its parent's span and inside the file.
//! - Trees are at most [`parser::MAX_DEPTH`] deep, so later passes may recurse (through `stacker`).
//! - `parse(format(parse(s)))` equals `parse(s)` up to spans, and `format` is idempotent.
//!
//! What is *not* here: name resolution, types, and IO.

pub mod ast;
pub mod completeness;
pub mod diag;
pub mod dump;
pub mod errors;
pub mod field_order;
pub mod format;
pub mod highlight;
pub mod lexer;
mod limits;
pub mod names;
pub mod parser;
pub mod render;
pub mod span;
pub mod stop;
pub mod symbol;
pub mod textmate;
pub mod token;

pub use completeness::{Completeness, is_complete, is_complete as completeness};
pub use errors::explain;
pub use highlight::tokens;
pub use parser::{parse, parse_bytes, parse_type, parse_type as parse_signature};

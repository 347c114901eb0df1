//! Text → tokens → AST, and back.
//!
//! This crate turns adl source text into the tree of [`ast`], prints that tree back as canonical
//! text ([`format`]), and owns what every later stage needs to talk about source: [`span`]s, the
//! [`diag::Diagnostic`] type with its renderers, and interned [`symbol::Symbol`]s.
//!
//! Reading order: [`span`], [`symbol`], [`diag`], [`token`], [`lexer`], [`ast`], [`parser`],
//! [`format`].
//!
//! Invariants
//! - Parsing is total: any byte sequence gives a tree and a list of diagnostics, never a panic.
//! - Every node's span lies inside its parent's span and inside the file.
//! - Trees are at most [`parser::MAX_DEPTH`] deep, so later passes may recurse (through `stacker`).
//! - `parse(format(parse(s)))` equals `parse(s)` up to spans, and `format` is idempotent.
//!
//! What is *not* here: names are not resolved, types are not known, and nothing does IO.

pub mod ast;
pub mod diag;
pub mod errors;
pub mod lexer;
pub mod parser;
pub mod render;
pub mod span;
pub mod symbol;
pub mod token;

pub use parser::{Completeness, completeness, parse, parse_signature};

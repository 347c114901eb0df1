//! Data formats: conversion between bytes and values, without IO.

pub mod arrow;
pub mod chunked;
pub mod csv;
pub mod json;
pub mod npy;
pub mod parquet;
mod table;

use adl_syntax::lexer::{is_name_continue, is_name_start};
use adl_syntax::token::Kw;

/// Converts a column or field name to an identifier: invalid characters become `_`, an initial digit or
/// upper-case letter is avoided, and a reserved word gets a trailing `_`.
pub fn identifier(name: &str) -> String {
    let mut out: String = name.trim().chars().map(|c| if is_name_continue(c) && c != '\'' { c } else { '_' }).collect();
    if !out.starts_with(is_name_start) {
        out.insert(0, '_');
    }
    if out.starts_with(char::is_uppercase) {
        let lower: String = out.chars().take(1).flat_map(char::to_lowercase).collect();
        out.replace_range(..out.chars().next().map_or(0, char::len_utf8), &lower);
    }
    if Kw::from_name(&out).is_some() || out == "_" {
        out.push('_');
    }
    out
}

//! Data formats: bytes ↔ values, without IO.

pub mod csv;
pub mod json;
pub mod npy;

/// A column's or field's name as an identifier: characters that none has become `_`, and it does not begin with a digit.
pub fn identifier(name: &str) -> String {
    let mut out: String = name.trim().chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if out.is_empty() || out.starts_with(|c: char| c.is_numeric()) {
        out.insert(0, '_');
    }
    if out.starts_with(|c: char| c.is_uppercase()) {
        let lower: String = out.chars().take(1).flat_map(char::to_lowercase).collect();
        out.replace_range(..out.chars().next().map_or(0, char::len_utf8), &lower);
    }
    out
}

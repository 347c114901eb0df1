//! Primitives on texts.

use super::{int, string as str_of};
use crate::error::{Error, Res, codes};
use crate::memory;
use crate::polling;
use crate::upcalls::Upcalls;
use crate::value::{Buf, Value, array, show};
use adl_prim::TextFn;
use std::rc::Rc;

/// A String value.
pub fn string(s: String) -> Value {
    Value::Str(Rc::new(s.into()))
}

/// Joins texts with a separator.
pub(super) fn joined(parts: &[&str], between: &str) -> Res<Value> {
    let bytes = parts.iter().fold(0usize, |n, p| n.saturating_add(p.len()).saturating_add(between.len()));
    let mut out = room(bytes.saturating_sub(between.len()))?;
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            out.push_str(between);
        }
        push(&mut out, part)?;
    }
    Ok(string(out))
}

/// Appends a text in pieces that end at character boundaries, polling for interrupts.
fn push(out: &mut String, part: &str) -> Res<()> {
    let mut rest = part;
    while rest.len() > polling::STRIDE {
        let (piece, more) = rest.split_at(rest.floor_char_boundary(polling::STRIDE));
        out.push_str(piece);
        rest = more;
        polling::poll()?;
    }
    out.push_str(rest);
    Ok(())
}

/// An empty text with a given capacity, or an error if memory is short.
fn room(bytes: usize) -> Res<String> {
    let mut out = String::new();
    memory::check_available(bytes).map_err(|s| s.error("a text", bytes))?;
    out.try_reserve_exact(bytes)
        .map_err(|_| Error::new(codes::MEMORY, format!("there is not enough memory for a text of {bytes} bytes")))?;
    Ok(out)
}

/// A text with all occurrences of `from` replaced.
fn replaced(text: &str, from: &str, to: &str) -> Res<Value> {
    if from.is_empty() {
        return Ok(string(text.into()));
    }
    let found = text.matches(from).count();
    let mut out = room(text.len().saturating_sub(found * from.len()).saturating_add(found.saturating_mul(to.len())))?;
    for (i, part) in text.split(from).enumerate() {
        if i > 0 {
            out.push_str(to);
        }
        out.push_str(part);
    }
    Ok(string(out))
}

pub(super) fn apply(m: &mut dyn Upcalls, p: TextFn, args: &mut [Value]) -> Res<Value> {
    let text_at = |i: usize| str_of(&args[i]);
    Ok(match p {
        TextFn::Show => {
            let text = show::plain(&args[0]);
            m.poll()?;
            string(text)
        }
        TextFn::StrLen => Value::Int(text_at(0).chars().count() as i64),
        TextFn::StrSlice => {
            let a = int(&args[0]).max(0) as usize;
            let b = int(&args[1]).max(0) as usize;
            string(text_at(2).chars().take(b).skip(a).collect())
        }
        TextFn::StrSplit => {
            let parts: Vec<Value> = if text_at(0).is_empty() {
                text_at(1).chars().map(|c| string(c.to_string())).collect()
            } else {
                text_at(1).split(text_at(0)).map(|x| string(x.into())).collect()
            };
            array::boxed(parts)
        }
        TextFn::StrJoin => {
            let parts: Vec<&str> = match &args[1] {
                Value::Array(a) => match a.buf() {
                    Buf::Boxed(v) => v.iter().map(str_of).collect(),
                    _ => Vec::new(),
                },
                _ => Vec::new(),
            };
            joined(&parts, text_at(0))?
        }
        TextFn::StrTrim => string(text_at(0).trim().into()),
        TextFn::StrFind => match text_at(1).find(text_at(0)) {
            Some(at) => Value::Int(text_at(1)[..at].chars().count() as i64),
            None => Value::Int(-1),
        },
        TextFn::StrReplace => replaced(text_at(2), text_at(0), text_at(1))?,
        TextFn::StrUpper => string(text_at(0).to_uppercase()),
        TextFn::StrLower => string(text_at(0).to_lowercase()),
        TextFn::ParseFloat => array::floats(text_at(0).trim().parse().ok().into_iter().collect()),
        TextFn::ParseInt => array::ints(text_at(0).trim().parse().ok().into_iter().collect()),
    })
}

//! Fitting text to a width: wrapping between words, and values on one line.

use super::extent;
pub(super) use crate::limits::echo_text::MANY;
use crate::limits::echo_text::{EDGE, LIST, LONG};
use adl_interp::ir::derive::table;
use adl_interp::value::{Array, Data, Value, array, maps_and_sets, show};
use adl_syntax::field_order;
use adl_typing::ty::Ty;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The width of a text in terminal columns.
pub fn width(text: &str) -> usize {
    text.width()
}

/// A text truncated to a width.
pub fn clip(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut used = 1;
    let kept = text.chars().take_while(|c| {
        used += c.width().unwrap_or(0);
        used <= columns
    });
    kept.collect::<String>() + "…"
}

/// Wraps a text between words; continuation lines are indented by `indent` columns. Words wider than a line are broken.
pub fn wrapped(text: &str, columns: usize, indent: usize) -> Vec<String> {
    let mut out = Vec::new();
    for line in text.lines() {
        let lead = line.len() - line.trim_start_matches(' ').len();
        let hang = (lead + indent).min(columns / 2);
        let mut now = " ".repeat(lead);
        let mut empty = true;
        for word in line.trim_start_matches(' ').split(' ') {
            if !empty && width(&now) + 1 + width(word) > columns {
                out.push(std::mem::replace(&mut now, " ".repeat(hang)));
                empty = true;
            }
            now.push_str(if empty { "" } else { " " });
            empty = false;
            for c in word.chars() {
                if width(&now) + c.width().unwrap_or(0) > columns.max(hang + 2) {
                    out.push(std::mem::replace(&mut now, " ".repeat(hang)));
                }
                now.push(c);
            }
        }
        out.push(now);
    }
    out
}

/// Like `wrapped`, for types and echoes: a name and its type stay together.
pub fn wrapped_type(text: &str, columns: usize, indent: usize) -> Vec<String> {
    // Non-breaking spaces.
    let lines = wrapped(&text.replace(" : ", "\u{a0}:\u{a0}").replace(" = ", "\u{a0}=\u{a0}"), columns, indent);
    lines.into_iter().map(|l| l.replace('\u{a0}', " ")).collect()
}

/// The number of leaves in a value, counted up to `limit`.
pub(super) fn leaves(v: &Value, limit: usize) -> usize {
    let (mut todo, mut count) = (vec![v], 0usize);
    while let Some(v) = todo.pop() {
        count += 1;
        match v {
            Value::Array(a) => {
                count = count.saturating_add(a.shape.iter().product());
                todo.extend(a.values().iter().take(limit));
            }
            Value::Tuple(t) => todo.extend(&t.0),
            Value::Record(r) => todo.extend(&r.vals),
            Value::Data(d) => todo.extend(&d.fields),
            Value::Str(s) => count += s.len(),
            _ => {}
        }
        if count > limit {
            break;
        }
    }
    count
}

/// The text of a value, if it fits the width.
pub(super) fn short(v: &Value, ty: Option<&Ty>, columns: usize) -> Option<String> {
    if let Some(text) = adl_interp::value::plot::summary(v) {
        return Some(text);
    }
    if leaves(v, columns) > columns {
        return None;
    }
    let text = show::brief(v, ty, usize::MAX);
    (width(&text) <= columns && !text.contains('\n')).then_some(text)
}

/// One line: large arrays and lists are abbreviated, and the rest is truncated.
pub(super) fn brief(value: &Value, ty: Option<&Ty>) -> String {
    let text = match value {
        Value::Array(a) if large(value) => ends(a, EDGE),
        Value::Record(r) if !table::is_cost(value) => {
            let fields: Vec<String> = field_order::shown(&r.names)
                .into_iter()
                .map(|i| format!("{} = {}", r.names[i], inner(&r.vals[i], show::field(ty, r.names[i]))))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Tuple(t) => format!(
            "({})",
            t.0.iter().enumerate().map(|(i, v)| inner(v, show::component(ty, i))).collect::<Vec<_>>().join(", ")
        ),
        Value::Data(d) if let Some(text) = list(d).or_else(|| tree(value)) => text,
        v => show::brief(v, ty, LONG),
    };
    match text.char_indices().nth(LONG) {
        Some((at, _)) => format!("{} …", &text[..at]),
        None => text,
    }
}

/// Whether an array is abbreviated.
pub(super) fn large(v: &Value) -> bool {
    matches!(v, Value::Array(a) if a.shape.iter().product::<usize>() > MANY || leaves(v, 4 * MANY) > 4 * MANY)
}

/// A value inside other data, with numbers rounded consistently. (The nesting of records and tuples is bounded by
/// types.)
pub(super) fn inner(v: &Value, ty: Option<&Ty>) -> String {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match v {
        Value::Float(x) => adl_interp::value::digits::rounded(*x),
        Value::F32(x) => adl_interp::value::digits::rounded32(*x),
        v => brief(v, ty),
    })
}

/// A long list as its first elements and its length.
fn list(d: &Data) -> Option<String> {
    let (mut first, mut count, mut at) = (Vec::new(), 0usize, d);
    while let ("Cons", [head, tail]) = (at.con.name.as_str(), at.fields.as_slice()) {
        count += 1;
        if first.len() < EDGE {
            first.push(inner(head, None));
        }
        let Value::Data(next) = tail else { return None };
        at = next;
    }
    if count <= LIST || adl_interp::interrupted() {
        return None;
    }
    let heads: String = first.iter().map(|h| format!("Cons {} (", clip(h, 40))).collect();
    Some(format!("{heads}…{} ({count} elements)", ")".repeat(first.len())))
}

/// A large map or set as its first entries and their number.
fn tree(v: &Value) -> Option<String> {
    let (open, first, n) = maps_and_sets::first(v, EDGE).filter(|(_, _, n)| *n > LIST)?;
    let entry = |(k, v): &(Value, Option<Value>)| {
        let value = v.as_ref().map_or(String::new(), |v| format!(": {}", clip(&inner(v, None), 40)));
        format!("{}{value}, ", clip(&inner(k, None), 40))
    };
    Some(format!("{open}{}…}} ({n} entries)", first.iter().map(entry).collect::<String>()))
}

/// `[0, 1, 2, …, 7, 8, 9]` on every axis; `[0, …]` if `edge` is 0.
pub(super) fn ends(a: &Array, edge: usize) -> String {
    let part = |i: usize| match array::elem(a, i) {
        Value::Array(row) if !row.shape.is_empty() => ends(&row, edge),
        other => inner(&other, None),
    };
    let n = a.len();
    let parts: Vec<String> = match n > 2 * edge + 1 {
        true => (0..edge.max(1)).map(part).chain(["…".to_owned()]).chain((n - edge..n).map(part)).collect(),
        false => (0..n).map(part).collect(),
    };
    format!("[{}]", parts.join(", "))
}

/// An array on one line of the given width: abbreviated elements and their range; `tail` follows it.
pub(super) fn summary(a: &Array, tail: &str, columns: usize) -> String {
    let about = extent::of(a).map_or(String::new(), |e| format!(", {e}"));
    let rest = width(tail) + width(&about);
    let texts = || (0..=EDGE).rev().map(|edge| ends(a, edge));
    let fits = texts().find(|t| width(t) + rest <= columns);
    let text = fits.unwrap_or_else(|| ends(a, 0));
    format!("{text}{tail}{about}")
}

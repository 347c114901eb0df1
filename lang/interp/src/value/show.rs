//! Values as text (see docs/book/src/reference/repl.md).

use super::{Array, Buf, Data, Value, digits, maps_and_sets};
use crate::{memory, polling};
use adl_syntax::field_order;
use adl_syntax::symbol::Symbol;
use adl_typing::ty::Ty;
use std::fmt::Write;
use std::rc::Rc;

/// A Float as adl writes it: the shortest text that is read back exactly, with a point or an exponent.
pub fn float(x: f64) -> String {
    if x.is_nan() {
        return "nan".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let size = x.abs();
    if x != 0.0 && !(1e-4..1e16).contains(&size) { exponent(format!("{x:e}")) } else { pointed(format!("{x}")) }
}

/// An F32, likewise.
pub fn float32(x: f32) -> String {
    if !x.is_finite() {
        return float(f64::from(x));
    }
    let size = x.abs();
    if x != 0.0 && !(1e-4..1e16).contains(&size) { exponent(format!("{x:e}")) } else { pointed(format!("{x}")) }
}

fn exponent(text: String) -> String {
    text
}

fn pointed(text: String) -> String {
    if text.contains('.') { text } else { text + ".0" }
}

/// A text in quotes, with escapes.
pub fn quoted(s: &str) -> String {
    let mut out = String::from("\"");
    for character in s.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

enum ShowItem {
    /// A value; whether it is the argument of a constructor; and its type, if known.
    Val(Value, bool, Option<Ty>),
    Text(&'static str),
    Owned(String),
    /// Elements of an array from an index on, and the element type.
    From(Rc<Array>, usize, Option<Ty>),
    /// The entries of a map or set.
    Entries(maps_and_sets::Entries),
}

/// How numbers are written.
#[derive(Clone, Copy)]
struct NumberFormat {
    float: fn(f64) -> String,
    float32: fn(f32) -> String,
}

const EXACT: NumberFormat = NumberFormat { float, float32 };
const ROUNDED: NumberFormat = NumberFormat { float: digits::rounded, float32: digits::rounded32 };

/// A value as text, with texts in quotes. An interrupt truncates the text; the caller stops at its next poll.
pub fn show(v: &Value) -> String {
    written(v, None, EXACT, usize::MAX)
}

/// Like [`show`]; the type is used to describe functions.
pub fn typed(v: &Value, ty: Option<&Ty>) -> String {
    written(v, ty, EXACT, usize::MAX)
}

/// Like [`typed`], for display: numbers inside data are rounded to the number of digits that is set. Output may
/// stop after about `limit` characters.
pub fn brief(v: &Value, ty: Option<&Ty>, limit: usize) -> String {
    let alone = matches!(v, Value::Float(_) | Value::F32(_) | Value::Rev { .. });
    written(v, ty, if alone { EXACT } else { ROUNDED }, limit.saturating_mul(4))
}

fn written(value: &Value, ty: Option<&Ty>, numbers: NumberFormat, limit: usize) -> String {
    let mut out = String::new();
    let mut todo = vec![ShowItem::Val(value.clone(), false, ty.cloned())];
    let mut steps = 0u32;
    while let Some(t) = todo.pop() {
        steps = steps.wrapping_add(1);
        if out.len() > limit
            || steps.is_multiple_of(4096) && (polling::interrupt_requested() || !memory::text_may_grow(&mut out))
        {
            break;
        }
        match t {
            ShowItem::Text(s) => out.push_str(s),
            ShowItem::Owned(s) => out.push_str(&s),
            ShowItem::From(a, i, ty) if i < a.len() => {
                let v = row(&a, i);
                if i + 1 < a.len() {
                    todo.push(ShowItem::From(a, i + 1, ty.clone()));
                    todo.push(ShowItem::Text(", "));
                }
                todo.push(ShowItem::Val(v, false, ty));
            }
            ShowItem::From(..) => {}
            ShowItem::Entries(e) => in_order(&e, &mut todo),
            ShowItem::Val(v, arg, ty) => one(&v, arg, ty.as_ref(), numbers, &mut out, &mut todo),
        }
    }
    out
}

/// A value as `print` writes it: a text without quotes.
pub fn plain(v: &Value) -> String {
    match v {
        Value::Str(s) => s.to_string(),
        other => show(other),
    }
}

fn negative(text: String, arg: bool, out: &mut String) {
    if arg && text.starts_with('-') {
        let _ = write!(out, "({text})");
    } else {
        out.push_str(&text);
    }
}

fn one(value: &Value, arg: bool, ty: Option<&Ty>, numbers: NumberFormat, out: &mut String, todo: &mut Vec<ShowItem>) {
    match value {
        Value::Unit => out.push_str("()"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Int(n) => negative(n.to_string(), arg, out),
        Value::Float(x) => negative((numbers.float)(*x), arg, out),
        Value::F32(x) => negative((numbers.float32)(*x), arg, out),
        Value::Rev { primal, .. } => negative((numbers.float)(*primal), arg, out),
        Value::Dual(d) => todo.push(ShowItem::Val(d.primal.clone(), arg, None)),
        Value::Zero => out.push_str("0.0"),
        Value::Str(s) => out.push_str(&quoted(s)),
        Value::Rep(_) => out.push_str("<type>"),
        Value::Fun(f) => {
            let _ = write!(out, "<fun{} : {}>", f.called(), ty.map_or_else(|| f.type_text(), adl_typing::print::ty));
        }
        Value::Array(a) => array(a, ty, numbers, out, todo),
        Value::Tuple(t) => list(
            "(",
            t.0.iter().enumerate().map(|(i, v)| (None, v.clone(), component(ty, i).cloned())).collect(),
            ")",
            todo,
        ),
        Value::Record(_) if let Some(text) = super::report_tables::cost(value) => out.push_str(&text),
        Value::Record(_) if let Some(part) = super::each::part(value) => {
            out.push_str("each ");
            todo.push(ShowItem::Val(part.clone(), true, ty.and_then(adl_typing::ty::part_of_each).cloned()));
        }
        Value::Record(_) if let Some(text) = rows(value) => out.push_str(&text),
        Value::Record(r) => {
            let part =
                |i: usize| (Some(format!("{} = ", r.names[i])), r.vals[i].clone(), field(ty, r.names[i]).cloned());
            let parts = field_order::shown(&r.names).into_iter().map(part).collect();
            list("{", parts, "}", todo);
        }
        Value::Data(_) if let Some(text) = super::report_tables::residuals(value) => out.push_str(&text),
        Value::Data(_) if let Some(i) = super::interactive::inside(value) => {
            let line = i.line(&i.start());
            out.push_str(&line);
            out.push_str(if line.is_empty() { "" } else { "\n" });
            todo.push(ShowItem::Val(i.shown, false, None));
        }
        Value::Data(_) if let Some(text) = super::plot::summary(value) => out.push_str(&text),
        Value::Data(d) => data(d, arg, out, todo),
    }
}

fn data(data: &Rc<Data>, arg: bool, out: &mut String, todo: &mut Vec<ShowItem>) {
    match maps_and_sets::entries(data) {
        Some((open, entries)) => {
            out.push_str(if arg { "(" } else { "" });
            out.push_str(open);
            todo.push(ShowItem::Text(if arg { "})" } else { "}" }));
            todo.push(ShowItem::Entries(entries));
        }
        None => {
            let wrap = arg && !data.fields.is_empty();
            if wrap {
                out.push('(');
                todo.push(ShowItem::Text(")"));
            }
            out.push_str(data.con.name.as_str());
            for f in data.fields.iter().rev() {
                todo.push(ShowItem::Val(f.clone(), true, None));
                todo.push(ShowItem::Text(" "));
            }
        }
    }
}

fn in_order(entries: &maps_and_sets::Entries, todo: &mut Vec<ShowItem>) {
    let Some((before, key, value, behind)) = entries.parts() else { return };
    if let Some(e) = behind {
        todo.push(ShowItem::Entries(e));
        todo.push(ShowItem::Text(", "));
    }
    if let Some(v) = value {
        todo.push(ShowItem::Val(v.clone(), false, None));
        todo.push(ShowItem::Text(": "));
    }
    todo.push(ShowItem::Val(key.clone(), false, None));
    if let Some(e) = before {
        todo.push(ShowItem::Text(", "));
        todo.push(ShowItem::Entries(e));
    }
}

/// The type of a tuple's component, if the tuple's type is known.
pub fn component(ty: Option<&Ty>, i: usize) -> Option<&Ty> {
    if let Some(Ty::Tuple(ts)) = ty { ts.get(i) } else { None }
}

/// The type of a record's field, if the record's type is known.
pub fn field(ty: Option<&Ty>, name: Symbol) -> Option<&Ty> {
    if let Some(Ty::Record(t)) = ty { t.fields.iter().find(|f| f.0 == name).map(|f| &f.1) } else { None }
}

fn list(
    open: &'static str,
    parts: Vec<(Option<String>, Value, Option<Ty>)>,
    close: &'static str,
    todo: &mut Vec<ShowItem>,
) {
    todo.push(ShowItem::Text(close));
    let n = parts.len();
    for (i, (label, v, ty)) in parts.into_iter().enumerate().rev() {
        todo.push(ShowItem::Val(v, false, ty));
        if let Some(l) = label {
            todo.push(ShowItem::Owned(l));
        }
        if i > 0 && i < n {
            todo.push(ShowItem::Text(", "));
        }
    }
    todo.push(ShowItem::Text(open));
}

fn array(a: &Rc<Array>, ty: Option<&Ty>, style: NumberFormat, out: &mut String, todo: &mut Vec<ShowItem>) {
    // A vector of numbers is written in one go, other arrays element by element.
    out.push('[');
    match a.buf() {
        Buf::F64(v) if a.shape.len() == 1 => numbers(v, |x| (style.float)(*x), out),
        Buf::I64(v) if a.shape.len() == 1 => numbers(v, i64::to_string, out),
        _ => {
            let element = if let Some(Ty::Array(_, e)) = ty { Some((**e).clone()) } else { None };
            todo.push(ShowItem::Text("]"));
            todo.push(ShowItem::From(a.clone(), 0, element));
            return;
        }
    }
    out.push(']');
}

fn numbers<T>(v: &[T], text: impl Fn(&T) -> String, out: &mut String) {
    for (i, x) in v.iter().enumerate() {
        if i % 4096 == 0 && (polling::interrupt_requested() || !memory::text_may_grow(out)) {
            return;
        }
        if i > 0 {
            out.push_str(", ");
        }
        out.push_str(&text(x));
    }
}

fn row(array: &Array, index: usize) -> Value {
    let strip = |c: &Value| -> Value {
        let mut c = c.clone();
        while let Value::Dual(d) = &c {
            c = d.primal.clone();
        }
        c
    };
    match array.buf() {
        Buf::Tuple(cols) => {
            super::array::elem(&Array::new(array.shape.clone(), Buf::Tuple(cols.iter().map(strip).collect())), index)
        }
        Buf::Record(names, cols) => super::array::elem(
            &Array::new(array.shape.clone(), Buf::Record(names.clone(), cols.iter().map(strip).collect())),
            index,
        ),
        _ => super::array::elem(array, index),
    }
}

/// Rows as text, if the value is rows: how many there are.
fn rows(v: &Value) -> Option<String> {
    let Value::Record(r) = v else { return None };
    if *r.names != adl_typing::ty::rows_fields() {
        return None;
    }
    let Some(Value::Array(a)) = r.vals.get(1) else { return None };
    let Buf::I64(sizes) = a.buf() else { return None };
    let counted = |n: i64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let chunks = counted(sizes.len() as i64, "chunk");
    Some(match sizes.iter().all(|n| *n >= 0) {
        true => format!("<rows: {} in {chunks}>", counted(sizes.iter().sum(), "row")),
        false => format!("<rows: {chunks}>"),
    })
}

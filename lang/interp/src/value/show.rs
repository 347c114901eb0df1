//! Values as text (language.md §6).

use super::{Array, Buf, Value};
use crate::{attend, memory};
use std::fmt::Write;
use std::rc::Rc;

/// A number as adl writes it: shortest round trip, with a point or an exponent.
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

/// An F32.
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

/// A text in quotes.
pub fn quoted(s: &str) -> String {
    let mut out = String::from("\"");
    for c in s.chars() {
        match c {
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

enum Todo {
    /// A value; `true`: as an argument of a constructor.
    Val(Value, bool),
    Text(&'static str),
    Owned(String),
    /// Elements of an array from one on.
    From(Rc<Array>, usize),
}

/// A value inside data: texts in quotes. An interrupt cuts the text short; whoever wants it then stops anyway.
pub fn show(v: &Value) -> String {
    let mut out = String::new();
    let mut todo = vec![Todo::Val(v.clone(), false)];
    let mut steps = 0u32;
    while let Some(t) = todo.pop() {
        steps = steps.wrapping_add(1);
        if steps % 4096 == 0 && (attend::asked() || !memory::text_may_grow(&mut out)) {
            break;
        }
        match t {
            Todo::Text(s) => out.push_str(s),
            Todo::Owned(s) => out.push_str(&s),
            Todo::From(a, i) if i < a.len() => {
                let v = row(&a, i);
                if i + 1 < a.len() {
                    todo.push(Todo::From(a, i + 1));
                    todo.push(Todo::Text(", "));
                }
                todo.push(Todo::Val(v, false));
            }
            Todo::From(..) => {}
            Todo::Val(v, arg) => one(&v, arg, &mut out, &mut todo),
        }
    }
    out
}

/// A value as `print` writes it: a text is plain.
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

fn one(v: &Value, arg: bool, out: &mut String, todo: &mut Vec<Todo>) {
    match v {
        Value::Unit => out.push_str("()"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Int(n) => negative(n.to_string(), arg, out),
        Value::Float(x) => negative(float(*x), arg, out),
        Value::F32(x) => negative(float32(*x), arg, out),
        Value::Rev { primal, .. } => negative(float(*primal), arg, out),
        Value::Dual(d) => todo.push(Todo::Val(d.primal.clone(), arg)),
        Value::Zero => out.push_str("0.0"),
        Value::Str(s) => out.push_str(&quoted(s)),
        Value::Rep(_) => out.push_str("<type>"),
        Value::Fun(f) => {
            let _ = write!(out, "<fun : {}>", f.type_text());
        }
        Value::Array(a) => array(a, out, todo),
        Value::Tuple(t) => list("(", t.0.iter().map(|v| (None, v.clone())).collect(), ")", todo),
        Value::Record(_) if let Some(text) = crate::ir::road::table::cost(v) => out.push_str(&text),
        Value::Record(r) => {
            let parts = r.names.iter().zip(&r.vals).map(|(n, v)| (Some(format!("{n} = ")), v.clone())).collect();
            list("{", parts, "}", todo);
        }
        Value::Data(_) if let Some(text) = crate::ir::road::table::residuals(v) => out.push_str(&text),
        Value::Data(_) if let Some(text) = super::plot::summary(v) => out.push_str(&text),
        Value::Data(d) => {
            let wrap = arg && !d.fields.is_empty();
            if wrap {
                out.push('(');
                todo.push(Todo::Text(")"));
            }
            out.push_str(d.con.name.as_str());
            for f in d.fields.iter().rev() {
                todo.push(Todo::Val(f.clone(), true));
                todo.push(Todo::Text(" "));
            }
        }
    }
}

fn list(open: &'static str, parts: Vec<(Option<String>, Value)>, close: &'static str, todo: &mut Vec<Todo>) {
    todo.push(Todo::Text(close));
    let n = parts.len();
    for (i, (label, v)) in parts.into_iter().enumerate().rev() {
        todo.push(Todo::Val(v, false));
        if let Some(l) = label {
            todo.push(Todo::Owned(l));
        }
        if i > 0 && i < n {
            todo.push(Todo::Text(", "));
        }
    }
    todo.push(Todo::Text(open));
}

fn array(a: &Rc<Array>, out: &mut String, todo: &mut Vec<Todo>) {
    // A vector of numbers is written at once; anything else element by element.
    out.push('[');
    match a.buf() {
        Buf::F64(v) if a.shape.len() == 1 => numbers(v, |x| float(*x), out),
        Buf::I64(v) if a.shape.len() == 1 => numbers(v, i64::to_string, out),
        _ => {
            todo.push(Todo::Text("]"));
            todo.push(Todo::From(a.clone(), 0));
            return;
        }
    }
    out.push(']');
}

fn numbers<T>(v: &[T], text: impl Fn(&T) -> String, out: &mut String) {
    for (i, x) in v.iter().enumerate() {
        if i % 4096 == 0 && (attend::asked() || !memory::text_may_grow(out)) {
            return;
        }
        if i > 0 {
            out.push_str(", ");
        }
        out.push_str(&text(x));
    }
}

fn row(a: &Array, i: usize) -> Value {
    let strip = |c: &Value| -> Value {
        let mut c = c.clone();
        while let Value::Dual(d) = &c {
            c = d.primal.clone();
        }
        c
    };
    match a.buf() {
        Buf::Tuple(cols) => super::array::elem(&Array::new(a.shape.clone(), Buf::Tuple(cols.iter().map(strip).collect())), i),
        Buf::Record(names, cols) => {
            super::array::elem(&Array::new(a.shape.clone(), Buf::Record(names.clone(), cols.iter().map(strip).collect())), i)
        }
        _ => super::array::elem(a, i),
    }
}

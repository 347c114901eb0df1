//! Writes a value as JSON text.

use crate::error::{Error, Res, codes};
use crate::value::{Array, Value, array, show};
use crate::{memory, polling};
use adl_syntax::render::quote;
use std::rc::Rc;

/// Remaining work: an explicit stack instead of recursion, because values may be nested to any depth.
enum WriteItem {
    Value(Value),
    Text(String),
    /// Elements of an array from an index on.
    Elements(Rc<Array>, usize),
}

/// The value as one line of JSON text.
pub fn write(value: &Value) -> Res<String> {
    let mut out = String::new();
    let mut todo = vec![WriteItem::Value(value.clone())];
    let mut steps = 0u32;
    while let Some(t) = todo.pop() {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(4096) {
            memory::text_may_grow(&mut out);
            polling::poll()?;
        }
        match t {
            WriteItem::Text(s) => out.push_str(&s),
            WriteItem::Value(v) => one(&v, &mut out, &mut todo)?,
            WriteItem::Elements(a, i) if i < a.len() => {
                out.push_str(if i > 0 { ", " } else { "" });
                let v = array::elem(&a, i);
                todo.push(WriteItem::Elements(a, i + 1));
                todo.push(WriteItem::Value(v));
            }
            WriteItem::Elements(..) => out.push(']'),
        }
    }
    out.push('\n');
    Ok(out)
}

fn number(x: f64, text: String) -> String {
    if x.is_finite() { text } else { "null".to_owned() }
}

fn one(value: &Value, out: &mut String, todo: &mut Vec<WriteItem>) -> Res<()> {
    match value {
        Value::Unit => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Int(n) => out.push_str(&n.to_string()),
        Value::Float(x) => out.push_str(&number(*x, show::float(*x))),
        Value::F32(x) => out.push_str(&number(f64::from(*x), show::float32(*x))),
        Value::Str(s) => out.push_str(&quote(s)),
        Value::Tuple(t) => list(t.0.clone(), todo),
        Value::Array(a) => {
            out.push('[');
            todo.push(WriteItem::Elements(a.clone(), 0));
        }
        Value::Record(r) => {
            todo.push(WriteItem::Text("}".to_owned()));
            for (k, i) in adl_syntax::field_order::shown(&r.names).into_iter().enumerate().rev() {
                todo.push(WriteItem::Value(r.vals[i].clone()));
                todo.push(WriteItem::Text(format!(
                    "{}{}: ",
                    if k == 0 { "{" } else { ", " },
                    quote(r.names[i].as_str())
                )));
            }
            if r.vals.is_empty() {
                out.push('{');
            }
        }
        Value::Data(d) => match (d.con.name.as_str(), d.fields.as_slice()) {
            ("None", []) => out.push_str("null"),
            ("Some", [x]) => todo.push(WriteItem::Value(x.clone())),
            ("Nil", []) | ("Cons", [_, _]) => list(elements(value), todo),
            (name, []) => out.push_str(&quote(name)),
            (name, fields) => {
                out.push('{');
                out.push_str(&quote(name));
                out.push_str(": ");
                todo.push(WriteItem::Text("}".to_owned()));
                list(fields.to_vec(), todo);
            }
        },
        other => return Err(Error::new(codes::JSON, format!("{} cannot be written as JSON", show::show(other)))),
    }
    Ok(())
}

fn list(parts: Vec<Value>, todo: &mut Vec<WriteItem>) {
    todo.push(WriteItem::Text("]".to_owned()));
    for (i, v) in parts.into_iter().enumerate().rev() {
        todo.push(WriteItem::Value(v));
        if i > 0 {
            todo.push(WriteItem::Text(", ".to_owned()));
        }
    }
    todo.push(WriteItem::Text("[".to_owned()));
}

fn elements(v: &Value) -> Vec<Value> {
    let mut out = Vec::new();
    let mut at = v.clone();
    while let Value::Data(d) = &at {
        let [x, rest] = d.fields.as_slice() else { break };
        out.push(x.clone());
        let next = rest.clone();
        at = next;
    }
    out
}

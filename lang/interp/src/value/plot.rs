//! Values of type `Plot`, as far as the core knows them: recognition, and a summary.

use super::report_tables::field;
use super::{Buf, Record, Value};

/// The record inside a value of type `Plot`.
pub fn inside(v: &Value) -> Option<&Value> {
    match v {
        Value::Data(d) if d.con.name.as_str() == "Plot" && d.fields.len() == 1 => {
            d.fields.first().filter(|r| field(r, "layers").is_some() && field(r, "facets").is_some())
        }
        _ => None,
    }
}

/// The layers of a plot's record, from bottom to top.
pub fn layers(plot: &Value) -> Vec<&Value> {
    let mut out = Vec::new();
    let mut at = field(plot, "layers");
    while let Some(Value::Data(d)) = at {
        let [head, tail] = d.fields.as_slice() else { break };
        out.push(head);
        at = Some(tail);
    }
    out.reverse();
    out
}

/// A summary such as `<plot "loss": line, scatter>`.
pub fn summary(v: &Value) -> Option<String> {
    let plot = inside(v)?;
    let title = match field(plot, "title") {
        Some(Value::Str(s)) if !s.is_empty() => format!(" {}", super::show::quoted(s)),
        _ => String::new(),
    };
    let facets = match field(plot, "facets") {
        Some(Value::Array(a)) => a.len(),
        _ => 0,
    };
    let kinds: Vec<String> =
        layers(plot).into_iter().filter_map(|l| field(l, "kind")).map(super::show::plain).collect();
    let what = match (facets, kinds.len()) {
        (0, 0) => "empty".to_owned(),
        (0, n) if n > 8 => format!("{n} layers"),
        (0, _) => kinds.join(", "),
        (n, _) => format!("{n} plots"),
    };
    Some(format!("<plot{title}: {what}>"))
}

/// The elements of an array of Floats.
pub fn floats(v: &Value) -> &[f64] {
    match v {
        Value::Array(a) => match a.buf() {
            Buf::F64(x) => x,
            _ => &[],
        },
        _ => &[],
    }
}

/// The fields of a record.
pub fn fields(v: &Value) -> Option<&Record> {
    match v {
        Value::Record(r) => Some(r),
        _ => None,
    }
}

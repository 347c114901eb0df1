//! Residuals and costs as text tables.

use super::plan::Plan;
use crate::limits::value_report_tables::{ROWS, WIDE};
use crate::value::{Buf, Kind, Record, Value, array, show};

/// Width and height of the plot.
const PLOT: (usize, usize) = (44, 8);

/// A field of a record.
pub fn field<'v>(v: &'v Value, name: &str) -> Option<&'v Value> {
    let Value::Record(r) = v else { return None };
    let at = r.names.iter().position(|n| n.as_str() == name)?;
    r.vals.get(at)
}

/// The value of an Int field; 0 if it is missing or negative.
pub fn number(v: &Value, name: &str) -> u64 {
    match field(v, name) {
        Some(Value::Int(n)) => u64::try_from(*n).unwrap_or(0),
        _ => 0,
    }
}

fn real(v: &Value, name: &str) -> f64 {
    match field(v, name) {
        Some(Value::Float(x)) => *x,
        _ => 0.0,
    }
}

/// The value of a Bool field; false if it is missing.
pub fn flag(v: &Value, name: &str) -> bool {
    matches!(field(v, name), Some(Value::Bool(true)))
}

/// A field as text; empty if it is missing.
pub fn text(v: &Value, name: &str) -> String {
    field(v, name).map_or(String::new(), show::plain)
}

/// The rows of a field that is an array of records.
pub fn rows(v: &Value, name: &str) -> Vec<Value> {
    match field(v, name) {
        Some(Value::Array(a)) if a.kind() == Kind::Record => {
            (0..a.shape.first().copied().unwrap_or(0)).map(|i| array::elem(a, i)).collect()
        }
        _ => Vec::new(),
    }
}

/// A number of bytes with a unit, as text.
pub fn size(n: u64) -> String {
    match n {
        0..1000 => format!("{n} B"),
        1000..1_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        _ => format!("{:.1} GB", n as f64 / 1e9),
    }
}

/// A count with a unit prefix, as text.
pub fn count(n: u64) -> String {
    match n {
        0..100_000 => n.to_string(),
        100_000..100_000_000 => format!("{:.1}k", n as f64 / 1e3),
        100_000_000..100_000_000_000 => format!("{:.1}M", n as f64 / 1e6),
        _ => format!("{:.1}G", n as f64 / 1e9),
    }
}

fn cut(text: &str, n: usize) -> String {
    match text.char_indices().nth(n) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Formats lines as aligned columns; the columns in `right` are right-aligned.
fn columns(lines: &[Vec<String>], right: &[usize]) -> String {
    let column_count = lines.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..column_count)
        .map(|k| lines.iter().filter_map(|l| l.get(k)).map(|t| t.chars().count()).max().unwrap_or(0))
        .collect();
    let mut out = String::new();
    for l in lines {
        let mut line = String::new();
        for (k, t) in l.iter().enumerate() {
            let pad = " ".repeat(widths[k].saturating_sub(t.chars().count()));
            line += &if right.contains(&k) { format!("{pad}{t}  ") } else { format!("{t}{pad}  ") };
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

fn heads(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

/// The record inside a value of type `Residuals`.
pub fn inside(v: &Value) -> Option<&Value> {
    match v {
        Value::Data(d) if d.con.name.as_str() == "Residuals" && d.fields.len() == 2 => {
            d.fields.first().filter(|r| field(r, "frontier").is_some())
        }
        _ => None,
    }
}

/// A value of type `Residuals` as text: the rows, the costs of the plan and of the alternatives, and a plot of
/// the trade-off.
pub fn residuals(v: &Value) -> Option<String> {
    let report = inside(v)?;
    let all = rows(report, "rows");
    let mut shown: Vec<&Value> = all.iter().collect();
    if shown.len() > ROWS {
        shown.sort_by_key(|row| std::cmp::Reverse(number(row, "bytes")));
        shown.truncate(ROWS);
        shown.sort_by_key(|row| number(row, "id"));
    }
    let plan = Plan::of(field(report, "plan")?).map_or_else(|_| "a plan".to_owned(), |p| p.to_string());
    let mut lines = vec![heads(&["id", "line", "expression", "shape", "bytes", "work", "decision", "reason"])];
    for row in shown {
        let line = number(row, "line");
        lines.push(vec![
            number(row, "id").to_string(),
            if line == 0 { String::new() } else { line.to_string() },
            cut(&text(row, "expression"), WIDE),
            text(row, "shape"),
            size(number(row, "bytes")),
            count(number(row, "work")),
            text(row, "decision"),
            text(row, "reason"),
        ]);
    }
    let mut out = format!("residuals of {} under {plan}\n", text(report, "function"));
    out += &columns(&lines, &[0, 1, 4, 5]);
    if all.len() > ROWS {
        out += &format!("and {} smaller ones\n", all.len() - ROWS);
    }
    out += &sent(report).unwrap_or_default();
    out.push('\n');
    out += &plans(report, &plan);
    Some(out.trim_end().to_owned())
}

/// The messages of a function that is differentiated.
fn sent(report: &Value) -> Option<String> {
    match field(report, "messages")? {
        Value::Data(d) => d.fields.first().map_or(Some("messages: not counted\n".to_owned()), messages),
        _ => None,
    }
}

/// The costs of the plans, numbered as in the plot.
fn plans(report: &Value, plan: &str) -> String {
    let others = rows(report, "frontier");
    let work = number(report, "work").max(1);
    let line = |mark: String, name: String, v: &Value, measured: String| {
        let again = number(v, "again");
        vec![
            mark,
            name,
            size(number(v, "bytes")),
            size(number(v, "peak")),
            format!("{} ({:.0} %)", count(again), 100.0 * again as f64 / work as f64),
            measured,
        ]
    };
    let measured = measured(report).map_or("not yet".to_owned(), size);
    let mut lines = vec![
        heads(&["", "plan", "stored", "peak", "extra work", "measured"]),
        line("*".into(), plan.to_owned(), report, measured),
    ];
    if let Some(line) = measurements(report, work) {
        lines.push(line);
    }
    for (k, v) in others.iter().enumerate() {
        lines.push(line((k + 1).to_string(), text(v, "plan"), v, String::new()));
    }
    let mut points: Vec<(char, f64, f64)> = others
        .iter()
        .enumerate()
        .map(|(k, v)| {
            (
                char::from_digit(k as u32 + 1, 36).unwrap_or('+'),
                number(v, "again") as f64 / work as f64,
                number(v, "peak") as f64,
            )
        })
        .collect();
    points.push(('*', number(report, "again") as f64 / work as f64, number(report, "peak") as f64));
    columns(&lines, &[2, 3, 4, 5]) + "\n" + &plot(&points)
}

/// The measured costs, shown below the predicted ones.
fn measurements(r: &Value, work: u64) -> Option<Vec<String>> {
    let stored = measured(r)?;
    let (peak, again) = (counted(r, "measured_peak")?, counted(r, "measured_again")?);
    let extra = format!("{} ({:.0} %)", count(again), 100.0 * again as f64 / work as f64);
    Some(vec![String::new(), "measured".to_owned(), size(stored), size(peak), extra])
}

/// A plot of extra work (x) against peak memory (y), on logarithmic axes.
fn plot(points: &[(char, f64, f64)]) -> String {
    let (width, h) = PLOT;
    let x = |p: f64| (1.0 + 10.0 * p).ln();
    let y = |p: f64| p.max(1.0).ln();
    let right = points.iter().map(|p| x(p.1)).fold(1e-9, f64::max);
    let (low, high) = points.iter().map(|p| y(p.2)).fold((f64::INFINITY, 0.0f64), |(a, b), v| (a.min(v), b.max(v)));
    let mut grid = vec![vec![' '; width]; h];
    for (c, px, py) in points {
        let col = (x(*px) / right * (width - 1) as f64).round() as usize;
        let row = if high > low { ((high - y(*py)) / (high - low) * (h - 1) as f64).round() as usize } else { h - 1 };
        grid[row.min(h - 1)][col.min(width - 1)] = *c;
    }
    let mut out = String::from("memory\n");
    for line in grid {
        out += format!("  |{}", line.into_iter().collect::<String>()).trim_end();
        out.push('\n');
    }
    out += &format!("  +{}> extra work\n", "-".repeat(width));
    out
}

/// The bytes that were stored when a gradient was computed under the plan of these residuals; `None` if there
/// was no such run.
pub fn measured(r: &Value) -> Option<u64> {
    counted(r, "measured")
}

/// An optional number.
fn counted(r: &Value, name: &str) -> Option<u64> {
    match field(r, name) {
        Some(Value::Data(d)) => {
            d.fields.first().map(|n| if let Value::Int(n) = n { u64::try_from(*n).unwrap_or(0) } else { 0 })
        }
        _ => None,
    }
}

/// Ids of the rows that the plan recomputes.
pub fn recomputed(r: &Value) -> Vec<u32> {
    match field(r, "recomputed") {
        Some(Value::Array(a)) => match a.buf() {
            Buf::I64(ids) => ids.iter().filter_map(|n| u32::try_from(*n).ok()).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The plan of these residuals.
pub fn plan(r: &Value) -> Plan {
    field(r, "plan").and_then(|p| Plan::of(p).ok()).unwrap_or_default()
}

/// Whether a value is of type `Cost`.
pub fn is_cost(v: &Value) -> bool {
    ["adjoint", "arithmetic", "bound", "lines", "rules"].iter().all(|n| field(v, n).is_some())
}

/// A value of type `Cost` or `Residuals` as a table.
pub fn of(v: &Value) -> Option<String> {
    residuals(v).or_else(|| cost(v))
}

/// A value of type `Cost` as a table with the source lines.
pub fn cost(value: &Value) -> Option<String> {
    if !is_cost(value) {
        return None;
    }
    let mut lines = vec![heads(&["line", "primal", "tangent", "adjoint", "stored", "source"])];
    for l in rows(value, "lines") {
        let at = number(&l, "line");
        lines.push(vec![
            if at == 0 { String::new() } else { at.to_string() },
            count(number(&l, "primal")),
            count(number(&l, "tangent")),
            count(number(&l, "adjoint")),
            size(number(&l, "bytes")),
            cut(&text(&l, "source"), 2 * WIDE),
        ]);
    }
    let sum = |n: &str| count(number(value, n));
    lines.push(vec![
        "all".into(),
        sum("primal"),
        sum("tangent"),
        sum("adjoint"),
        size(number(value, "bytes")),
        text(value, "function"),
    ]);
    let mut out = columns(&lines, &[0, 1, 2, 3, 4]);
    for r in rows(value, "rules") {
        out += &rule(&text(&r, "construct"), number(&r, "line"), &text(&r, "rule"), &text(&r, "why"));
        out.push('\n');
    }
    out += &format!(
        "value and gradient: {:.2} times the value's work; the bound is {:.2}\n",
        real(value, "ratio"),
        real(value, "bound")
    );
    if let Some(a) = field(value, "arithmetic") {
        out += &format!(
            "arithmetic: $ {}, of the gradient $ {}: {:.2} times with {} inputs and outputs; theory's bound is 4\n",
            number(a, "function"),
            number(a, "gradient"),
            real(a, "ratio"),
            number(a, "ends")
        );
    }
    out += &field(value, "messages").and_then(messages).unwrap_or_default();
    if let Some(g) = field(value, "gpu").filter(|g| number(g, "kernels") > 0) {
        out += &format!(
            "on the GPU: {} kernels for value and gradient; {} sent, {} fetched\n",
            number(g, "kernels"),
            size(number(g, "sent")),
            size(number(g, "fetched"))
        );
    }
    Some(out.trim_end().to_owned())
}

/// What is sent to other ranks, if anything is.
fn messages(sent: &Value) -> Option<String> {
    let sent = Some(sent).filter(|s| number(s, "gradient") > 0)?;
    let (value, all) = (number(sent, "function"), number(sent, "gradient"));
    Some(format!("messages: {value} for the value, {all} with the gradient, of {}\n", size(number(sent, "bytes"))))
}

/// How a construct is differentiated, as one line of text.
pub(crate) fn rule(construct: &str, line: impl std::fmt::Display, rule: &str, why: &str) -> String {
    let why = if why.is_empty() { String::new() } else { format!("; {why}") };
    format!("{construct} at line {line}: {rule}{why}")
}

/// A value of type `Cost` as JSON.
pub fn cost_json(value: &Value) -> Option<String> {
    let objects = |name: &str| -> Option<String> {
        let all: Vec<String> = rows(value, name).iter().map(object).collect::<Option<_>>()?;
        Some(format!("\"{name}\":[{}]", all.join(",")))
    };
    let Value::Record(r) = value else { return None };
    let single = |n: &str| !["lines", "rules", "arithmetic", "gpu", "messages"].contains(&n);
    let parts: Vec<String> = r
        .names
        .iter()
        .zip(&r.vals)
        .filter(|(n, _)| single(n.as_str()))
        .map(|(n, v)| format!("\"{n}\":{}", json(v)))
        .collect();
    let of = |name: &str| object(field(value, name)?);
    let (arithmetic, gpu, messages) = (of("arithmetic")?, of("gpu")?, of("messages")?);
    Some(format!(
        "{{\"arithmetic\":{arithmetic},\"gpu\":{gpu},\"messages\":{messages},{},{},{}}}",
        parts.join(","),
        objects("lines")?,
        objects("rules")?
    ))
}

fn object(v: &Value) -> Option<String> {
    let Value::Record(r) = v else { return None };
    let Record { names, vals } = &**r;
    Some(format!(
        "{{{}}}",
        names.iter().zip(vals).map(|(n, v)| format!("\"{n}\":{}", json(v))).collect::<Vec<_>>().join(",")
    ))
}

fn json(v: &Value) -> String {
    match v {
        Value::Str(s) => adl_syntax::render::quote(s),
        Value::Float(x) if !x.is_finite() => "null".into(),
        v => show::show(v),
    }
}

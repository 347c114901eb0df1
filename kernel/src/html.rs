//! Values as HTML: tables for arrays, tables and records, abridged if large. All text is escaped.

use adl_interp::value::{Array, Buf, Kind, Value, array, digits, show};
use adl_session::columns;
use adl_syntax::field_order;
use std::fmt::Write;

/// The maximal number of rows and columns of a table; of larger ones the first and last are shown.
const ROWS: usize = 20;
const COLUMNS: usize = 16;
/// The maximal number of elements of a vector.
const VECTOR: usize = 24;
/// The nesting depth to which values are laid out.
const DEPTH: usize = 4;
/// The maximal length of a value in a table cell.
const CELL: usize = 60;
/// The maximal number of elements of a value in a table cell that are examined.
const LOOK: usize = 200;

const RIGHT: &str = "text-align:right;font-variant-numeric:tabular-nums";
const LEFT: &str = "text-align:left";

/// Escapes HTML markup.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A structured value with its type as caption; `None` if plain text is sufficient.
pub fn of(v: &Value, ty: &str) -> Option<String> {
    let body = laid_out(v, 0)?;
    let caption = if ty.is_empty() { String::new() } else { format!("<div><code>{}</code></div>", escape(ty)) };
    Some(format!("<div class=\"adl\">{caption}{body}</div>"))
}

fn laid_out(value: &Value, depth: usize) -> Option<String> {
    if depth > DEPTH {
        return None;
    }
    if let Some(columns) = columns(value) {
        return Some(table(&columns));
    }
    match value {
        Value::Array(a) if !a.is_empty() => match a.shape.len() {
            1 => vector(a, depth),
            2 if plain(a) => Some(matrix(a)),
            _ => Some(slices(a, depth)),
        },
        Value::Record(r) => Some(parts(
            field_order::shown(&r.names).into_iter().map(|i| (format!(".{}", r.names[i]), &r.vals[i])),
            depth,
        )),
        Value::Tuple(t) if t.0.iter().any(|v| laid_out(v, depth + 1).is_some()) => {
            Some(parts(t.0.iter().enumerate().map(|(i, v)| (i.to_string(), v)), depth))
        }
        _ => None,
    }
}

fn plain(a: &Array) -> bool {
    matches!(a.kind(), Kind::F64 | Kind::F32 | Kind::I64 | Kind::Bool)
}

/// Components with their names, one per row.
fn parts<'v>(parts: impl Iterator<Item = (String, &'v Value)>, depth: usize) -> String {
    let mut out = String::from("<table>");
    for (name, v) in parts {
        let inner = laid_out(v, depth + 1).unwrap_or_else(|| format!("<code>{}</code>", brief(v)));
        let _ = write!(out, "<tr><th style=\"{LEFT}\">{}</th><td style=\"{LEFT}\">{inner}</td></tr>", escape(&name));
    }
    out + "</table>"
}

/// A value in a table cell.
fn brief(v: &Value) -> String {
    let text = match v {
        Value::Array(a) if a.shape.iter().product::<usize>() > LOOK => {
            let extents: String = a.shape.iter().map(|n| format!("[{n}]")).collect();
            format!("{extents} …")
        }
        Value::Str(s) => s.to_string(),
        Value::Float(x) => digits::rounded(*x),
        v => show::brief(v, None, CELL),
    };
    match text.char_indices().nth(CELL) {
        Some((at, _)) => escape(&text[..at]) + "…",
        None => escape(&text),
    }
}

/// A space as wide as a digit. It aligns decimal points in right-aligned columns.
const FIGURE: &str = "\u{2007}";

/// The cells of a column. Numbers have the same number of digits, with aligned decimal points.
fn cells(array: &Array, at: &[usize]) -> Vec<String> {
    let numbers = |xs: Vec<f64>| -> Vec<String> {
        let pad = |t: &String| {
            let text = t.trim_end();
            text.trim_start().to_owned() + &FIGURE.repeat(t.len() - text.len())
        };
        digits::column(&xs).iter().map(pad).collect()
    };
    let texts: Vec<String> = match array.buf() {
        Buf::F64(v) => numbers(at.iter().filter_map(|i| v.get(*i).copied()).collect()),
        Buf::F32(v) if digits::digits() < digits::SINGLE => {
            numbers(at.iter().filter_map(|i| v.get(*i)).map(|x| f64::from(*x)).collect())
        }
        Buf::F32(v) => at.iter().filter_map(|i| v.get(*i)).map(|x| show::float32(*x)).collect(),
        Buf::I64(v) => at.iter().filter_map(|i| v.get(*i)).map(i64::to_string).collect(),
        Buf::Bool(v) => at.iter().filter_map(|i| v.get(*i)).map(bool::to_string).collect(),
        Buf::Boxed(v) => at.iter().filter_map(|i| v.get(*i)).map(brief).collect(),
        Buf::Unit => vec!["()".into(); at.len()],
        Buf::Tuple(_) | Buf::Record(..) => at.iter().map(|i| brief(&array::elem(array, *i))).collect(),
    };
    let numbers = !matches!(array.kind(), Kind::Boxed | Kind::Tuple | Kind::Record);
    texts.iter().map(|t| format!("<td style=\"{}\">{t}</td>", if numbers { RIGHT } else { LEFT })).collect()
}

/// Like `cells`, for rows of which some are omitted.
fn column(a: &Array, rows: &[Option<usize>], at: impl Fn(usize) -> usize) -> Vec<String> {
    let mut found = cells(a, &rows.iter().flatten().map(|r| at(*r)).collect::<Vec<_>>()).into_iter();
    rows.iter().map(|r| r.map_or_else(|| GAP.to_owned(), |_| found.next().unwrap_or_default())).collect()
}

/// The rows of a table from its columns; each begins with its index.
fn rows(shown: &[Option<usize>], columns: &[Vec<String>]) -> String {
    let row = |(k, r): (usize, &Option<usize>)| {
        let cells: String = columns.iter().map(|c| c[k].as_str()).collect();
        format!("<tr>{}{cells}</tr>", r.map_or_else(|| "<th>…</th>".to_owned(), |r| head(&r.to_string())))
    };
    shown.iter().enumerate().map(row).collect()
}

/// The indices of the first and last elements; `None` stands for those omitted.
fn picked(n: usize, limit: usize) -> Vec<Option<usize>> {
    if n <= limit {
        return (0..n).map(Some).collect();
    }
    let half = limit / 2;
    (0..half).map(Some).chain([None]).chain((n - half..n).map(Some)).collect()
}

const GAP: &str = "<td style=\"text-align:center\">…</td>";

fn head(text: &str) -> String {
    format!("<th style=\"{RIGHT}\">{}</th>", escape(text))
}

fn heads(shown: &[Option<usize>]) -> String {
    shown.iter().map(|i| i.map_or_else(|| "<th>…</th>".to_owned(), |i| head(&i.to_string()))).collect()
}

fn vector(a: &Array, depth: usize) -> Option<String> {
    let shown = picked(a.len(), VECTOR);
    if a.kind() == Kind::Boxed {
        let nested = shown.iter().flatten().any(|i| laid_out(&array::elem(a, *i), depth + 1).is_some());
        return nested.then(|| slices(a, depth));
    }
    let cells: String = column(a, &shown, |i| i).concat();
    Some(format!("<table><thead><tr>{}</tr></thead><tbody><tr>{cells}</tr></tbody></table>", heads(&shown)))
}

fn matrix(a: &Array) -> String {
    let (n, width) = (a.shape[0], a.shape[1]);
    let (across, down) = (picked(width, COLUMNS), picked(n, ROWS));
    let columns: Vec<Vec<String>> = across
        .iter()
        .map(|c| c.map_or_else(|| vec![GAP.to_owned(); down.len()], |c| column(a, &down, |r| r * width + c)))
        .collect();
    format!(
        "<table><thead><tr><th></th>{}</tr></thead><tbody>{}</tbody></table>",
        heads(&across),
        rows(&down, &columns)
    )
}

/// The elements below each other.
fn slices(a: &Array, depth: usize) -> String {
    let mut out = String::from("<table>");
    for i in picked(a.len(), 6) {
        let Some(i) = i else {
            out.push_str("<tr><th>…</th><td></td></tr>");
            continue;
        };
        let v = array::elem(a, i);
        let inner = laid_out(&v, depth + 1).unwrap_or_else(|| format!("<code>{}</code>", brief(&v)));
        let _ = write!(out, "<tr>{}<td style=\"{LEFT}\">{inner}</td></tr>", head(&i.to_string()));
    }
    out + "</table>"
}

fn table(columns: &[(String, &Array)]) -> String {
    let n = columns.first().map_or(0, |(_, a)| a.len());
    let (across, down) = (picked(columns.len(), COLUMNS), picked(n, ROWS));
    let names: String =
        across.iter().map(|c| c.map_or_else(|| "<th>…</th>".to_owned(), |c| head(&columns[c].0))).collect();
    let cells: Vec<Vec<String>> = across
        .iter()
        .map(|c| c.map_or_else(|| vec![GAP.to_owned(); down.len()], |c| column(columns[c].1, &down, |r| r)))
        .collect();
    let head = format!("<table><thead><tr><th></th>{names}</tr></thead><tbody>{}</tbody></table>", rows(&down, &cells));
    format!("{head}<div>{n} rows × {} columns</div>", columns.len())
}

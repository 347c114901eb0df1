//! Layout of numbers in columns: vectors, matrices, arrays of higher rank, tables.

use super::wrapping::{clip, inner, width, wrapped};
use super::{DisplayWidth, LINES, ROWS, picked};
use crate::limits::echo_grid::{CELL, SLICES};
use adl_interp::value::{Array, Buf, Kind, Value, array, digits, show};
use adl_syntax::field_order;
use adl_syntax::symbol::Symbol;

/// A non-numeric element as a cell. In a table, a String on one line needs no quotes.
fn entry(v: &Value, limit: usize, table: bool) -> String {
    match v {
        Value::Str(s) if table && !s.contains(char::is_control) && !s.is_empty() => clip(s, limit),
        v => clip(&inner(v, None), limit),
    }
}

/// The cells of a column of elements, padded to one width. Numbers are aligned at the decimal point.
fn cells(array: &Array, at: &[usize], limit: usize, table: bool) -> Vec<String> {
    let right = |texts: Vec<String>| padded(texts, true);
    match array.buf() {
        Buf::F64(v) => digits::column(&at.iter().map(|i| v[*i]).collect::<Vec<_>>()),
        Buf::F32(v) if digits::digits() < digits::SINGLE => {
            digits::column(&at.iter().map(|i| f64::from(v[*i])).collect::<Vec<_>>())
        }
        Buf::F32(v) => digits::aligned(&at.iter().map(|i| show::float32(v[*i])).collect::<Vec<_>>()),
        Buf::I64(v) => right(at.iter().map(|i| v[*i].to_string()).collect()),
        Buf::Bool(v) => right(at.iter().map(|i| v[*i].to_string()).collect()),
        Buf::Boxed(v) => padded(at.iter().map(|i| entry(&v[*i], limit, table)).collect(), false),
        Buf::Unit => vec!["()".into(); at.len()],
        Buf::Tuple(_) | Buf::Record(..) => {
            padded(at.iter().map(|i| clip(&inner(&array::elem(array, *i), None), limit)).collect(), false)
        }
    }
}

/// Whether the cells of an array are left-aligned.
fn is_text(a: &Array) -> bool {
    matches!(a.kind(), Kind::Boxed | Kind::Tuple | Kind::Record)
}

fn padded(texts: Vec<String>, right: bool) -> Vec<String> {
    let widest = texts.iter().map(|t| width(t)).max().unwrap_or(0);
    texts.into_iter().map(|t| pad(&t, widest, right)).collect()
}

fn pad(text: &str, columns: usize, right: bool) -> String {
    let gap = " ".repeat(columns.saturating_sub(width(text)));
    if right { gap + text } else { text.to_owned() + &gap }
}

/// A column with an optional heading, and an ellipsis where rows are omitted.
fn column(
    a: &Array,
    head: Option<&str>,
    rows: &[Option<usize>],
    at: impl Fn(usize) -> usize,
    limit: usize,
) -> Vec<String> {
    let mut found =
        cells(a, &rows.iter().flatten().map(|i| at(*i)).collect::<Vec<_>>(), limit, head.is_some()).into_iter();
    let body = rows.iter().map(|i| i.map_or_else(|| "…".to_owned(), |_| found.next().unwrap_or_default()));
    padded(head.map(|h| clip(h, limit)).into_iter().chain(body).collect(), !is_text(a))
}

/// As many columns as fit, the first and the last ones; `None` stands for those omitted. There is always at least one.
fn fitting(
    n: usize,
    lines: usize,
    room: DisplayWidth,
    of: &dyn Fn(usize) -> Vec<String>,
) -> (Vec<Option<usize>>, Vec<String>) {
    let mut most = n.min(room.most(room.columns / 3)).max(1);
    loop {
        let shown = picked(n, most);
        let parts: Vec<Vec<String>> = shown.iter().map(|j| j.map_or_else(|| vec!["…".to_owned(); lines], of)).collect();
        let rows: Vec<String> =
            (0..lines).map(|i| parts.iter().map(|p| p[i].as_str()).collect::<Vec<_>>().join("  ")).collect();
        if most == 1 || room.all || rows.iter().all(|l| width(l) <= room.columns) {
            return (shown, rows.iter().map(|l| l.trim_end().to_owned()).collect());
        }
        most -= 1;
    }
}

/// Numbers in as many columns as fit; each row begins with the index of its first element.
pub(super) fn vector(a: &Array, room: DisplayWidth) -> Vec<String> {
    let (count, columns) = (a.len(), room.columns);
    let lead = count.to_string().len() + 4;
    // Widths depend on the visible elements, so they are computed for the narrowest possible layout.
    let seen: Vec<usize> = picked(count, room.most(ROWS * columns / 2)).into_iter().flatten().collect();
    let texts = cells(a, &seen, CELL.min(columns.saturating_sub(lead)), false);
    let widest = texts.first().map_or(1, |t| width(t));
    let across = ((columns.saturating_sub(lead) + 2) / (widest + 2)).max(1);
    let at = |i: usize| seen.binary_search(&i).map_or("", |k| texts[k].as_str());
    let line = |r: usize| {
        let cells: Vec<&str> = (r * across..((r + 1) * across).min(count)).map(at).collect();
        format!("{:<lead$}{}", format!("[{}]", r * across), cells.join("  ")).trim_end().to_owned()
    };
    picked(count.div_ceil(across), room.most(ROWS))
        .into_iter()
        .map(|r| r.map_or_else(|| "…".to_owned(), line))
        .collect()
}

/// A matrix with at most `most` rows.
pub(super) fn matrix(a: &Array, room: DisplayWidth, most: usize) -> Vec<String> {
    let (n, k) = (a.shape[0], a.shape[1]);
    let rows = picked(n, most);
    let of = |j: usize| column(a, None, &rows, |i| i * k + j, CELL.min(room.columns.saturating_sub(3)));
    fitting(k, rows.len(), room, &of).1
}

/// Arrays of rank 3 or higher: the first and last matrices, each with its indices as heading.
pub(super) fn slices(array: &Array, room: DisplayWidth) -> Vec<String> {
    let outer = &array.shape[..array.shape.len() - 2];
    let shown = picked(outer.iter().product(), room.most(SLICES));
    let rows = room.most((LINES / shown.len().max(1)).saturating_sub(3).max(2));
    let inside = DisplayWidth { columns: room.columns.saturating_sub(2), ..room };
    let mut out = Vec::new();
    for entry in shown {
        let Some(index) = entry else {
            out.push("…".to_owned());
            continue;
        };
        let (mut rest, mut at) = (index, vec![0; outer.len()]);
        for (axis, extent) in outer.iter().enumerate().rev() {
            at[axis] = rest % extent;
            rest /= extent;
        }
        let slice = at.iter().fold(Value::Unit, |v, i| match v {
            Value::Array(inside) => array::elem(&inside, *i),
            _ => array::elem(array, *i),
        });
        out.push(format!("[{}]", at.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")));
        if let Value::Array(m) = slice {
            out.extend(matrix(&m, inside, rows).into_iter().map(|l| format!("  {l}")));
        }
    }
    out
}

/// A vector that can be a column of a table.
fn flat(v: &Value) -> Option<&Array> {
    match v {
        Value::Array(a) if a.shape.len() == 1 && a.len() > 1 && !matches!(a.kind(), Kind::Tuple | Kind::Record) => {
            Some(a)
        }
        _ => None,
    }
}

fn named<'v>(names: &[Symbol], vals: &'v [Value]) -> Option<Vec<(String, &'v Array)>> {
    field_order::shown(names).into_iter().map(|i| Some((names[i].to_string(), flat(&vals[i])?))).collect()
}

/// The names and columns of a record of vectors of equal length, or of a vector of records or tuples.
pub fn columns(v: &Value) -> Option<Vec<(String, &Array)>> {
    let found = match v {
        Value::Record(r) => named(&r.names, &r.vals),
        Value::Array(a) if a.shape.len() == 1 => match a.buf() {
            Buf::Record(names, vals) => named(names, vals),
            Buf::Tuple(vals) => vals.iter().enumerate().map(|(i, v)| Some((format!("({i})"), flat(v)?))).collect(),
            _ => None,
        },
        _ => None,
    };
    found.filter(|c| !c.is_empty() && c.iter().all(|(_, a)| a.len() == c[0].1.len()))
}

/// A table with column headings. Columns that do not fit are listed by name.
pub(super) fn table(v: &Value, room: DisplayWidth) -> Vec<String> {
    let columns = columns(v).unwrap_or_default();
    let rows = picked(columns.first().map_or(0, |(_, a)| a.len()), room.most(ROWS));
    let of = |j: usize| {
        column(columns[j].1, Some(&columns[j].0), &rows, |i| i, room.most(CELL.min(room.columns.saturating_sub(3))))
    };
    let (shown, mut lines) = fitting(columns.len(), rows.len() + 1, room, &of);
    let hidden: Vec<&str> =
        (0..columns.len()).filter(|j| !shown.contains(&Some(*j))).map(|j| columns[j].0.as_str()).collect();
    if !hidden.is_empty() {
        lines.extend(wrapped(
            &format!(
                "… {} column{} more: {}",
                hidden.len(),
                if hidden.len() == 1 { "" } else { "s" },
                hidden.join(", ")
            ),
            room.columns,
            2,
        ));
    }
    lines
}

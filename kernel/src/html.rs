//! Values as HTML: tables for arrays, tables and records, cut to what one looks at. All text is escaped.

use adl_interp::value::{Array, Buf, Kind, Value, array, show};
use adl_session::columns;
use std::fmt::Write;

/// Rows and columns of a table that are shown; of more, the first and last.
const ROWS: usize = 20;
const COLUMNS: usize = 16;
/// Elements of a vector.
const VECTOR: usize = 24;
/// How deep values in values are laid out.
const DEPTH: usize = 4;
/// Characters of a value in a cell of a table.
const CELL: usize = 60;
/// Elements that a value in a cell is looked at for.
const LOOK: usize = 200;

const RIGHT: &str = "text-align:right;font-variant-numeric:tabular-nums";
const LEFT: &str = "text-align:left";

/// A text in which nothing is markup.
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

/// A value that has parts, under its type; `None` where its text says all.
pub fn of(v: &Value, ty: &str) -> Option<String> {
    let body = laid_out(v, 0)?;
    let caption = if ty.is_empty() { String::new() } else { format!("<div><code>{}</code></div>", escape(ty)) };
    Some(format!("<div class=\"adl\">{caption}{body}</div>"))
}

fn laid_out(v: &Value, depth: usize) -> Option<String> {
    if depth > DEPTH {
        return None;
    }
    if let Some(columns) = columns(v) {
        return Some(table(&columns));
    }
    match v {
        Value::Array(a) if a.len() > 0 => match a.shape.len() {
            1 => vector(a, depth),
            2 if plain(a) => Some(matrix(a)),
            _ => Some(slices(a, depth)),
        },
        Value::Record(r) => Some(parts(r.names.iter().map(|n| format!(".{n}")).zip(&r.vals), depth)),
        Value::Tuple(t) if t.0.iter().any(|v| laid_out(v, depth + 1).is_some()) => Some(parts(t.0.iter().enumerate().map(|(i, v)| (i.to_string(), v)), depth)),
        _ => None,
    }
}

fn plain(a: &Array) -> bool {
    matches!(a.kind(), Kind::F64 | Kind::F32 | Kind::I64 | Kind::Bool)
}

/// Parts under their names, one a row.
fn parts<'v>(parts: impl Iterator<Item = (String, &'v Value)>, depth: usize) -> String {
    let mut out = String::from("<table>");
    for (name, v) in parts {
        let inner = laid_out(v, depth + 1).unwrap_or_else(|| format!("<code>{}</code>", brief(v)));
        let _ = write!(out, "<tr><th style=\"{LEFT}\">{}</th><td style=\"{LEFT}\">{inner}</td></tr>", escape(&name));
    }
    out + "</table>"
}

/// A value in a cell.
fn brief(v: &Value) -> String {
    let text = match v {
        Value::Array(a) if a.shape.iter().product::<usize>() > LOOK => {
            let extents: String = a.shape.iter().map(|n| format!("[{n}]")).collect();
            format!("{extents} …")
        }
        v => show::plain(v),
    };
    match text.char_indices().nth(CELL) {
        Some((at, _)) => escape(&text[..at]) + "…",
        None => escape(&text),
    }
}

fn cell(a: &Array, i: usize) -> String {
    let text = match a.buf() {
        Buf::F64(v) => v.get(i).map(|x| show::float(*x)),
        Buf::F32(v) => v.get(i).map(|x| show::float32(*x)),
        Buf::I64(v) => v.get(i).map(i64::to_string),
        Buf::Bool(v) => v.get(i).map(bool::to_string),
        Buf::Boxed(v) => v.get(i).map(brief),
        Buf::Unit => Some("()".into()),
        Buf::Tuple(_) | Buf::Record(..) => Some(brief(&array::elem(a, i))),
    };
    let numbers = !matches!(a.kind(), Kind::Boxed | Kind::Tuple | Kind::Record);
    format!("<td style=\"{}\">{}</td>", if numbers { RIGHT } else { LEFT }, text.unwrap_or_default())
}

/// The first and last of many; `None` stands for those between.
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
    let cells: String = shown.iter().map(|i| i.map_or_else(|| GAP.to_owned(), |i| cell(a, i))).collect();
    Some(format!("<table><thead><tr>{}</tr></thead><tbody><tr>{cells}</tr></tbody></table>", heads(&shown)))
}

fn matrix(a: &Array) -> String {
    let (rows, width) = (a.shape[0], a.shape[1]);
    let columns = picked(width, COLUMNS);
    let mut out = format!("<table><thead><tr><th></th>{}</tr></thead><tbody>", heads(&columns));
    for r in picked(rows, ROWS) {
        let cells: String = match r {
            Some(r) => columns.iter().map(|c| c.map_or_else(|| GAP.to_owned(), |c| cell(a, r * width + c))).collect(),
            None => GAP.repeat(columns.len()),
        };
        let _ = write!(out, "<tr>{}{cells}</tr>", r.map_or_else(|| "<th>…</th>".to_owned(), |r| head(&r.to_string())));
    }
    out + "</tbody></table>"
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
    let shown = picked(columns.len(), COLUMNS);
    let names: String = shown.iter().map(|c| c.map_or_else(|| "<th>…</th>".to_owned(), |c| head(&columns[c].0))).collect();
    let mut out = format!("<table><thead><tr><th></th>{names}</tr></thead><tbody>");
    for r in picked(n, ROWS) {
        let cells: String = match r {
            Some(r) => shown.iter().map(|c| c.map_or_else(|| GAP.to_owned(), |c| cell(columns[c].1, r))).collect(),
            None => GAP.repeat(shown.len()),
        };
        let _ = write!(out, "<tr>{}{cells}</tr>", r.map_or_else(|| "<th>…</th>".to_owned(), |r| head(&r.to_string())));
    }
    let _ = write!(out, "</tbody></table><div>{n} rows × {} columns</div>", columns.len());
    out
}

#[cfg(test)]
mod tests {
    use super::{escape, of};
    use adl_interp::value::{Buf, Value, array};

    fn ints(shape: &[usize]) -> Value {
        array::make(shape.iter().copied().collect(), Buf::I64((0..shape.iter().product::<usize>() as i64).collect()))
    }

    #[test]
    fn big_values_are_cut() {
        for shape in [&[100_000][..], &[1000, 1000], &[100, 100, 100], &[3, 2, 2, 2]] {
            let html = of(&ints(shape), "T").unwrap();
            assert!(html.len() < 200_000 && (html.contains('…') || shape.len() == 4), "{shape:?}: {}", html.len());
            assert_eq!(html.matches("<tr>").count(), html.matches("</tr>").count());
        }
    }

    #[test]
    fn scalars_have_no_parts() {
        assert!(of(&Value::Int(1), "Int").is_none() && of(&array::ints(vec![]), "[0]Int").is_none());
    }

    #[test]
    fn text_is_no_markup() {
        assert_eq!(escape("<b a='\"'>&"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;");
    }
}

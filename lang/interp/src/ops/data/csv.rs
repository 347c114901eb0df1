//! CSV by named, typed columns.

use crate::error::{Error, Res, codes};
use crate::value::{Buf, Record, Rep, Value, array};
use adl_syntax::symbol::Symbol;
use adl_typing::env::Column;
use std::rc::Rc;

fn bad(path: &str, line: u64, column: usize, text: impl std::fmt::Display) -> Box<Error> {
    Error::new(codes::CSV, format!("{path}:{line}:{column}: {text}"))
}

/// Names and cells by column, every row of one length; with the line that each row begins on.
struct Table {
    names: Vec<String>,
    cells: Vec<Vec<String>>,
    lines: Vec<u64>,
}

fn table(path: &str, bytes: &[u8]) -> Res<Table> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).trim(csv::Trim::All).from_reader(bytes);
    let mut rows = reader.records();
    let header = match rows.next() {
        Some(Ok(h)) => h,
        Some(Err(_)) => return Err(bad(path, 1, 1, "the header is not UTF-8 text")),
        None => return Err(bad(path, 1, 1, "the file is empty: the first line names the columns")),
    };
    let names: Vec<String> = header.iter().map(super::identifier).collect();
    if let Some((i, n)) = names.iter().enumerate().find(|(i, n)| names[..*i].contains(n)) {
        return Err(bad(path, 1, i + 1, format!("two columns are named `{n}`")));
    }
    let mut out = Table { cells: vec![Vec::new(); names.len()], names, lines: Vec::new() };
    for row in rows {
        let row = row.map_err(|e| bad(path, e.position().map_or(0, |p| p.line()), 1, "a row is not UTF-8 text"))?;
        let line = row.position().map_or(0, |p| p.line());
        if row.len() != out.names.len() {
            return Err(bad(path, line, row.len().min(out.names.len()) + 1, format!("this row has {} cells, the header {}", row.len(), out.names.len())));
        }
        out.lines.push(line);
        for (col, cell) in out.cells.iter_mut().zip(row.iter()) {
            col.push(cell.to_owned());
        }
    }
    Ok(out)
}

fn missing(cell: &str) -> bool {
    cell.is_empty() || matches!(cell, "NA" | "NaN" | "nan" | "null")
}

fn parse_float(cell: &str) -> Option<f64> {
    if missing(cell) { Some(f64::NAN) } else { cell.parse().ok() }
}

fn parse_bool(cell: &str) -> Option<bool> {
    match cell {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

fn kind(cells: &[String]) -> Column {
    if cells.is_empty() || cells.iter().all(|c| missing(c)) {
        Column::Float
    } else if cells.iter().all(|c| c.parse::<i64>().is_ok()) {
        Column::Int
    } else if cells.iter().all(|c| parse_float(c).is_some()) {
        Column::Float
    } else if cells.iter().all(|c| parse_bool(c).is_some()) {
        Column::Bool
    } else {
        Column::Text
    }
}

/// Names and types of the columns.
pub fn schema(path: &str, bytes: &[u8]) -> Res<Vec<(String, Column)>> {
    let t = table(path, bytes)?;
    Ok(t.names.iter().cloned().zip(t.cells.iter().map(|c| kind(c))).collect())
}

/// The columns that a record type wants (all of them where the type is not known).
pub fn read(path: &str, bytes: &[u8], rep: &Rep) -> Res<Value> {
    let t = table(path, bytes)?;
    let wanted: Vec<(String, Option<Column>)> = match rep {
        Rep::Record(fields) => fields.iter().map(|(n, r)| (n.to_string(), column_of(r))).collect(),
        _ => t.names.iter().map(|n| (n.clone(), None)).collect(),
    };
    let mut fields: Vec<(Symbol, Value)> = Vec::new();
    for (name, want) in wanted {
        let Some(k) = t.names.iter().position(|n| *n == name) else {
            return Err(bad(path, 1, 1, format!("there is no column `{name}`; there are {}", t.names.join(", "))));
        };
        let kind = want.unwrap_or_else(|| kind(&t.cells[k]));
        fields.push((Symbol::new(&name), column(path, &t, k, kind)?));
    }
    fields.sort_by_key(|(n, _)| n.as_str());
    let names: Rc<[Symbol]> = fields.iter().map(|(n, _)| *n).collect();
    Ok(Value::Record(Rc::new(Record { names, vals: fields.into_iter().map(|(_, v)| v).collect() })))
}

fn column_of(r: &Rep) -> Option<Column> {
    match r {
        Rep::Array(_, e) => match &**e {
            Rep::Int => Some(Column::Int),
            Rep::Float => Some(Column::Float),
            Rep::Bool => Some(Column::Bool),
            Rep::Str => Some(Column::Text),
            _ => None,
        },
        _ => None,
    }
}

fn column(path: &str, t: &Table, k: usize, kind: Column) -> Res<Value> {
    fn all<T>(path: &str, t: &Table, k: usize, what: &str, parse: impl Fn(&str) -> Option<T>) -> Res<Vec<T>> {
        t.cells[k]
            .iter()
            .zip(&t.lines)
            .map(|(c, line)| parse(c).ok_or_else(|| bad(path, *line, k + 1, format!("`{c}` in column `{}` is no {what}", t.names[k]))))
            .collect()
    }
    Ok(match kind {
        Column::Int => array::ints(all(path, t, k, "Int", |c| c.parse().ok())?),
        Column::Float => array::floats(all(path, t, k, "number", parse_float)?),
        Column::Bool => {
            let v = all(path, t, k, "Bool", parse_bool)?;
            array::make(crate::value::Shape::from_slice(&[v.len()]), Buf::Bool(v))
        }
        Column::Text => array::boxed(t.cells[k].iter().map(|c| crate::ops::data_text(c)).collect()),
    })
}

/// A record of columns as text.
pub fn write(v: &Value) -> Res<Vec<u8>> {
    let Value::Record(r) = v else {
        return Err(Error::new(codes::CSV, "`write_csv` writes a record of columns"));
    };
    let mut cols: Vec<Vec<String>> = Vec::new();
    for (n, v) in r.names.iter().zip(&r.vals) {
        match v {
            Value::Array(a) if a.shape.len() == 1 => cols.push(crate::ops::column_texts(&a.buf)),
            _ => return Err(Error::new(codes::CSV, format!("the field `{n}` is no column: it must be an array of numbers, Bools or texts"))),
        }
    }
    if let Some(c) = cols.iter().find(|c| c.len() != cols[0].len()) {
        return Err(Error::new(codes::CSV, format!("columns of {} and {} rows", cols[0].len(), c.len())));
    }
    let mut out = csv::Writer::from_writer(Vec::new());
    let failed = |e: csv::Error| Error::new(codes::CSV, e.to_string());
    out.write_record(r.names.iter().map(|n| n.as_str())).map_err(failed)?;
    for i in 0..cols.first().map_or(0, Vec::len) {
        out.write_record(cols.iter().map(|c| &c[i])).map_err(failed)?;
    }
    out.into_inner().map_err(|e| Error::new(codes::CSV, e.to_string()))
}

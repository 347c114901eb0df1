//! Reading and writing of CSV files with named, typed columns.
//!
//! A file is read in one pass if the types of its columns are known, otherwise in two.

mod columns;
mod tokens;

use crate::error::{Error, Res, codes};
use crate::value::{Array, Buf, Record, Rep, Shape, Value, array};
use crate::{memory, polling};
use adl_syntax::symbol::Symbol;
use adl_typing::env::Column;
use columns::{Builder, CellTypes, ColumnType};
use std::rc::Rc;
use tokens::Scanner;

fn bad(path: &str, (line, column): (usize, usize), text: impl std::fmt::Display) -> Box<Error> {
    Error::new(codes::CSV, format!("{path}:{line}:{column}: {text}"))
}

/// The number of cells of the first row if all of them are numbers; the file then has no header.
fn unnamed(path: &str, bytes: &[u8]) -> Res<Option<usize>> {
    let mut numbers = true;
    let n = Scanner::new(path, bytes)?.row(&mut |_, _, cell| {
        numbers = numbers && tokens::is_number(&cell.text);
        Ok(())
    })?;
    Ok(n.filter(|_| numbers))
}

/// The names of the columns, and the rows. If `plain`, a file without a header is accepted, and its columns are
/// numbered.
fn named<'a>(path: &'a str, bytes: &'a [u8], plain: bool) -> Res<(Vec<String>, Scanner<'a>)> {
    let mut rows = Scanner::new(path, bytes)?;
    match unnamed(path, bytes)? {
        None => header(path, &mut rows).map(|names| (names, rows)),
        Some(n) if plain => Ok(((1..=n).map(|k| format!("column_{k}")).collect(), rows)),
        Some(_) => {
            let text = format!(
                "the first line has only numbers, and must name the columns; a file without names is read as a matrix: `let t : [_][_]Float = read_csv {path:?}`"
            );
            Err(bad(path, (1, 1), text))
        }
    }
}

/// The names in the first row.
fn header(path: &str, rows: &mut Scanner) -> Res<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    let found = rows.row(&mut |rows, k, cell| {
        let text = cell.text.trim();
        let name = if text.is_empty() { format!("column_{}", k + 1) } else { super::identifier(text) };
        if names.contains(&name) {
            return Err(rows.error(cell.line, cell.at, format!("two columns are named `{name}`")));
        }
        names.push(name);
        Ok(())
    })?;
    match found {
        Some(_) => Ok(names),
        None => Err(bad(path, (1, 1), "the file is empty: the first line names the columns")),
    }
}

/// Calls `visit` for each cell of the rows after the header.
fn body<'a>(
    rows: &mut Scanner<'a>,
    width: usize,
    visit: &mut dyn FnMut(&Scanner<'a>, usize, tokens::Cell<'a>) -> Res<()>,
) -> Res<()> {
    loop {
        let (mut line, mut at) = (0, 0);
        let found = rows.row(&mut |rows, k, cell| {
            (line, at) = (cell.line, cell.at);
            if k >= width {
                return Err(rows.error(
                    line,
                    at,
                    format!("this row has more cells than the header, which has {width}"),
                ));
            }
            visit(rows, k, cell)
        })?;
        match found {
            None => return Ok(()),
            Some(n) if n < width => {
                return Err(rows.error(line, at, format!("this row ends after {n} of {width} cells")));
            }
            Some(_) => {}
        }
    }
}

/// Infers the names and types of the columns.
pub fn schema(path: &str, bytes: &[u8]) -> Res<Vec<(String, Column)>> {
    let (names, mut rows) = named(path, bytes, false)?;
    let mut seen = vec![CellTypes::default(); names.len()];
    body(&mut rows, names.len(), &mut |_, k, cell| {
        seen[k].add(&cell.text);
        Ok(())
    })?;
    Ok(names.into_iter().zip(seen.iter().map(CellTypes::column)).collect())
}

/// The form in which a file is read.
enum FileForm<'a> {
    /// A record of columns.
    Columns(&'a [(Symbol, Rc<Rep>)]),
    /// An array of records.
    Rows(&'a [(Symbol, Rc<Rep>)]),
    /// A matrix of all columns, with their number if the type specifies it.
    Matrix(&'a Rep, Option<usize>),
}

fn form(rep: &Rep) -> Option<FileForm<'_>> {
    match rep {
        Rep::Record(fields) => Some(FileForm::Columns(fields)),
        Rep::Array(_, e) => match &**e {
            Rep::Record(fields) => Some(FileForm::Rows(fields)),
            Rep::Array(n, e) if matches!(**e, Rep::Float | Rep::F32 | Rep::Int) => Some(FileForm::Matrix(e, *n)),
            _ => None,
        },
        _ => None,
    }
}

/// A column that is read.
struct WantedColumn {
    name: Symbol,
    kind: ColumnType,
    /// The number of rows, if the type specifies it.
    rows: Option<usize>,
}

/// Reads a file as a record of columns, an array of records or a matrix, according to the type.
pub fn read(path: &str, bytes: &[u8], rep: &Rep) -> Res<Value> {
    let all = match rep {
        Rep::Array(n, _) => *n,
        _ => None,
    };
    match form(rep) {
        Some(FileForm::Columns(fields)) => {
            let wanted = fields.iter().map(|(n, r)| column(path, *n, r)).collect::<Res<Vec<_>>>()?;
            let vals = columns(path, named(path, bytes, false)?, &wanted)?;
            Ok(Value::Record(Rc::new(Record { names: names_of(&wanted), vals })))
        }
        Some(FileForm::Rows(fields)) => {
            let wanted = fields
                .iter()
                .map(|(n, r)| Ok(WantedColumn { name: *n, kind: kind(path, *n, r)?, rows: all }))
                .collect::<Res<Vec<_>>>()?;
            let vals = columns(path, named(path, bytes, false)?, &wanted)?;
            let n = vals.first().map_or(0, crate::value::seq::len);
            Ok(array::make(Shape::from_slice(&[n]), Buf::Record(names_of(&wanted), vals)))
        }
        Some(FileForm::Matrix(e, width)) => matrix(path, bytes, e, (all, width)),
        None if *rep == Rep::Other => {
            Err(Error::new(codes::CSV, format!("{path}: the type of the table is not known here"))
                .hint("annotate it: `(read_csv path : {x : [_]Float})`"))
        }
        None => Err(Error::new(
            codes::CSV,
            format!("{path}: a CSV file is read as a record of columns, an array of records or a matrix of numbers"),
        )),
    }
}

fn names_of(wanted: &[WantedColumn]) -> Rc<[Symbol]> {
    wanted.iter().map(|w| w.name).collect()
}

fn matrix(path: &str, bytes: &[u8], element: &Rep, (rows, width): (Option<usize>, Option<usize>)) -> Res<Value> {
    let (names, cells) = named(path, bytes, true)?;
    if let Some(n) = width.filter(|n| *n != names.len()) {
        return Err(Error::new(
            codes::CSV,
            format!("{path} has {}, and the type wants {n}", counted(names.len(), "column")),
        ));
    }
    let wanted = names
        .iter()
        .map(|n| Ok(WantedColumn { name: Symbol::new(n), kind: kind(path, Symbol::new(n), element)?, rows }))
        .collect::<Res<Vec<_>>>()?;
    let columns = columns(path, (names, cells), &wanted)?;
    let parts: Vec<&Array> = columns
        .iter()
        .filter_map(|c| match c {
            Value::Array(a) => Some(&**a),
            _ => None,
        })
        .collect();
    let (n, k) = (parts.first().map_or(0, |c| c.len()), parts.len());
    let flat = array::concat(&parts)?;
    let at: Vec<usize> = (0..n).flat_map(|i| (0..k).map(move |j| j * n + i)).collect();
    Ok(Value::Array(Rc::new(array::gather_rows(&flat, &at, &[n, k])?)))
}

fn column(path: &str, name: Symbol, rep: &Rep) -> Res<WantedColumn> {
    match rep {
        Rep::Array(rows, e) => Ok(WantedColumn { name, kind: kind(path, name, e)?, rows: *rows }),
        _ => Err(Error::new(codes::CSV, format!("{path}: the field `{name}` must be an array: a column"))),
    }
}

fn kind(path: &str, name: Symbol, rep: &Rep) -> Res<ColumnType> {
    let refused = || {
        Error::new(
            codes::CSV,
            format!(
                "{path}: the column `{name}` holds numbers, Bools or Strings, or an Option of one; its type wants something else"
            ),
        )
    };
    Ok(match rep {
        Rep::Int => ColumnType::Int,
        Rep::Float => ColumnType::Float,
        Rep::F32 => ColumnType::F32,
        Rep::Bool => ColumnType::Bool,
        Rep::Str => ColumnType::Text,
        Rep::Data(d, args) if d.name.as_str() == "Option" && args.len() == 1 => match kind(path, name, &args[0])? {
            ColumnType::Maybe(_) => return Err(refused()),
            k => ColumnType::Maybe(Box::new(k)),
        },
        Rep::Unit | Rep::Array(..) | Rep::Tuple(_) | Rep::Record(_) | Rep::Data(..) | Rep::Other => {
            return Err(refused());
        }
    })
}

/// A number with a noun: `1 column`, `2 columns`.
fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Reads the requested columns in one pass.
fn columns(path: &str, (names, mut rows): (Vec<String>, Scanner<'_>), wanted: &[WantedColumn]) -> Res<Vec<Value>> {
    let mut builders: Vec<Option<(Builder, &WantedColumn)>> = names.iter().map(|_| None).collect();
    for column in wanted {
        let Some(k) = names.iter().position(|n| n == column.name.as_str()) else {
            let text = format!(
                "there is no column `{}`: the file has {} ({}), and the type wants {}",
                column.name,
                counted(names.len(), "column"),
                names.join(", "),
                wanted.len()
            );
            return Err(bad(path, (1, 1), text));
        };
        builders[k] = Some((Builder::new(&column.kind), column));
    }
    let mut count = 0;
    body(&mut rows, names.len(), &mut |rows, k, cell| {
        count += usize::from(k == 0);
        let Some((b, w)) = &mut builders[k] else { return Ok(()) };
        b.add(&cell.text).map_err(|what| {
            let shown = if cell.text.is_empty() { "an empty cell".to_owned() } else { format!("`{}`", cell.text) };
            let error =
                rows.error(cell.line, cell.at, format!("{shown} in column {} (`{}`) is no {what}", k + 1, w.name));
            let comma = cell.text.replacen(',', ".", 1).parse::<f64>().is_ok();
            if comma { error.hint("numbers are written with a point, not with a comma") } else { error }
        })
    })?;
    if let Some(n) = wanted.iter().filter_map(|w| w.rows).find(|n| *n != count) {
        return Err(Error::new(codes::SIZE, format!("{path} has {}, and the type wants {n}", counted(count, "row"))));
    }
    let mut made: Vec<(Symbol, Value)> = builders.into_iter().flatten().map(|(b, w)| (w.name, b.finish())).collect();
    // In the order of the type's fields, which are sorted by name.
    wanted
        .iter()
        .map(|w| match made.iter().position(|(n, _)| *n == w.name) {
            Some(i) => Ok(made.swap_remove(i).1),
            None => Err(Error::new(codes::CSV, format!("{path}: the column `{}` is asked for twice", w.name))),
        })
        .collect()
}

/// A record of columns, or an array of records, as CSV text.
pub fn write(v: &Value) -> Res<Vec<u8>> {
    let (names, vals) = match v {
        Value::Record(r) => (&r.names, &r.vals),
        Value::Array(a) => match a.buf() {
            Buf::Record(names, cols) if a.shape.len() == 1 => (names, cols),
            _ => return Err(no_table()),
        },
        _ => return Err(no_table()),
    };
    let mut cols: Vec<Vec<String>> = Vec::new();
    let order = adl_syntax::field_order::shown(names);
    let names: Vec<Symbol> = order.iter().map(|i| names[*i]).collect();
    for (n, v) in names.iter().zip(order.iter().map(|i| &vals[*i])) {
        match v {
            Value::Array(a) if a.shape.len() == 1 => cols.push(columns::texts(*n, a.buf())?),
            _ => {
                return Err(Error::new(
                    codes::CSV,
                    format!("the field `{n}` is no column: it must be an array of numbers, Bools or Strings"),
                ));
            }
        }
    }
    if let Some((c, n)) = cols.iter().zip(names.iter()).find(|(c, _)| c.len() != cols[0].len()) {
        return Err(Error::new(
            codes::CSV,
            format!("the column `{}` has {} rows, and `{n}` has {}", names[0], cols[0].len(), c.len()),
        ));
    }
    let mut out = names.iter().map(|n| columns::quoted(n.as_str())).collect::<Vec<_>>().join(",") + "\n";
    for i in 0..cols.first().map_or(0, Vec::len) {
        if i % 4096 == 0 {
            memory::text_may_grow(&mut out);
            polling::poll()?;
        }
        for (k, c) in cols.iter().enumerate() {
            out.push_str(if k > 0 { "," } else { "" });
            out.push_str(&c[i]);
        }
        out.push('\n');
    }
    Ok(out.into_bytes())
}

fn no_table() -> Box<Error> {
    Error::new(codes::CSV, "`write_csv` writes a record of columns or an array of records")
}

//! Reading and writing of CSV files with named, typed columns.
//!
//! A file is read in one pass if the types of its columns are known, otherwise in two. Plain files of numbers are read in parts by all
//! threads.

mod chunks;
pub(crate) mod columns;
pub(crate) mod parallel;
mod tokens;

use super::table::{self, Builder, ColumnFile, FileOrigin, WantedColumn, counted};
use crate::error::{Error, Res, codes};
use crate::value::{Rep, Value};
use crate::{memory, polling};
use adl_syntax::symbol::Symbol;
use adl_typing::env::Column;
pub(super) use chunks::CsvChunks;
use columns::CellTypes;
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
    visit: &mut dyn FnMut(&Scanner<'a>, usize, tokens::CsvCell<'a>) -> Res<()>,
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
    schema_of(named(path, bytes, false)?)
}

fn schema_of((names, mut rows): (Vec<String>, Scanner<'_>)) -> Res<Vec<(String, Column)>> {
    let mut seen = vec![CellTypes::default(); names.len()];
    if let Some(found) = parallel::types(&rows, names.len())? {
        return Ok(names.into_iter().zip(found.iter().map(CellTypes::column)).collect());
    }
    body(&mut rows, names.len(), &mut |_, k, cell| {
        seen[k].add(&cell.text);
        Ok(())
    })?;
    Ok(names.into_iter().zip(seen.iter().map(CellTypes::column)).collect())
}

/// Reads a file as a record of columns, an array of records or a matrix, according to the type.
pub fn read(path: &str, bytes: &[u8], rep: &Rep) -> Res<Value> {
    table::read(&mut CsvFile { path, bytes, plain: false }, rep)
}

/// A CSV file.
struct CsvFile<'a> {
    path: &'a str,
    bytes: &'a [u8],
    /// Whether the columns may have no names.
    plain: bool,
}

impl ColumnFile for CsvFile<'_> {
    fn origin(&self) -> FileOrigin<'_> {
        FileOrigin { path: self.path, code: codes::CSV, format: "a CSV file", reader: "read_csv" }
    }

    fn names(&mut self, matrix: bool) -> Res<Vec<String>> {
        self.plain = matrix;
        Ok(named(self.path, self.bytes, matrix)?.0)
    }

    fn columns(&mut self, wanted: &[WantedColumn]) -> Res<Vec<Value>> {
        columns(self.path, named(self.path, self.bytes, self.plain)?, wanted)
    }
}

/// Reads the requested columns in one pass.
fn columns(path: &str, (names, mut rows): (Vec<String>, Scanner<'_>), wanted: &[WantedColumn]) -> Res<Vec<Value>> {
    let at: Option<Vec<usize>> = wanted.iter().map(|w| names.iter().position(|n| n == w.name.as_str())).collect();
    if let Some(at) = at
        && let Some(vals) = parallel::columns(&rows, names.len(), wanted, &at)?
    {
        return Ok(vals);
    }
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
        columns::add(b, &cell.text).map_err(|what| {
            let shown = if cell.text.is_empty() { "an empty cell".to_owned() } else { format!("`{}`", cell.text) };
            let error =
                rows.error(cell.line, cell.at, format!("{shown} in column {} (`{}`) is no {what}", k + 1, w.name));
            let comma = cell.text.replacen(',', ".", 1).parse::<f64>().is_ok();
            if comma { error.hint("numbers are written with a point, not with a comma") } else { error }
        })
    })?;
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
    let (mut names, mut cols): (Vec<Symbol>, Vec<Vec<String>>) = (Vec::new(), Vec::new());
    for (name, a) in table::arrays(v, codes::CSV, "write_csv")? {
        names.push(name);
        cols.push(columns::texts(name, a.buf())?);
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

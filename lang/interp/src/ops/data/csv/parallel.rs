//! Files of plain cells, in parts that all threads read: no quotes, lines that end with `\n` or `\r\n`, and columns of numbers and
//! Bools. Whatever else there is, an error too, is left to the reader of the whole file, which knows lines and columns.

use super::columns::{CellTypes, ordinary_number, parse_bool, parse_float};
use super::tokens::Scanner;
use crate::error::Res;
use crate::limits::csv::PART;
use crate::ops::data::table::{ColumnType, WantedColumn};
use crate::ops::interrupt::InterruptFlag;
use crate::ops::parallel;
use crate::value::{Buf, Shape, Value, array};
use crate::{memory, polling};

/// A column of numbers or Bools, with room for one in each line.
pub enum NumberColumn {
    /// `Int`.
    Int(Vec<i64>),
    /// `Float`.
    Float(Vec<f64>),
    /// `F32`.
    F32(Vec<f32>),
    /// `Bool`.
    Bool(Vec<bool>),
}

/// The room of a part in a column.
enum Room<'a> {
    Int(&'a mut [i64]),
    Float(&'a mut [f64]),
    F32(&'a mut [f32]),
    Bool(&'a mut [bool]),
    /// The column is not wanted.
    Skipped,
}

/// A column of this many default values.
fn filled<T: Clone + Default>(n: usize) -> Res<Vec<T>> {
    let mut v = memory::room(n)?;
    v.resize(n, T::default());
    Ok(v)
}

impl NumberColumn {
    fn new(kind: &ColumnType, n: usize) -> Option<Res<NumberColumn>> {
        Some(match kind {
            ColumnType::Int => filled(n).map(NumberColumn::Int),
            ColumnType::Float => filled(n).map(NumberColumn::Float),
            ColumnType::F32 => filled(n).map(NumberColumn::F32),
            ColumnType::Bool => filled(n).map(NumberColumn::Bool),
            ColumnType::Text | ColumnType::Maybe(_) => return None,
        })
    }

    /// The room of parts with these numbers of lines.
    fn rooms(&mut self, lines: &[usize]) -> Vec<Room<'_>> {
        fn split<'a, T>(mut v: &'a mut [T], lines: &[usize], room: impl Fn(&'a mut [T]) -> Room<'a>) -> Vec<Room<'a>> {
            lines
                .iter()
                .map(|n| {
                    let (part, more) = std::mem::take(&mut v).split_at_mut(*n);
                    v = more;
                    room(part)
                })
                .collect()
        }
        match self {
            NumberColumn::Int(v) => split(v, lines, Room::Int),
            NumberColumn::Float(v) => split(v, lines, Room::Float),
            NumberColumn::F32(v) => split(v, lines, Room::F32),
            NumberColumn::Bool(v) => split(v, lines, Room::Bool),
        }
    }

    /// Closes the gaps that empty lines leave: a part has `lines` places, of which `rows` are filled.
    pub fn close(&mut self, lines: &[usize], rows: &[usize]) {
        fn close<T: Copy>(v: &mut Vec<T>, lines: &[usize], rows: &[usize]) {
            let (mut from, mut to) = (0, 0);
            for (n, k) in lines.iter().zip(rows) {
                if from != to {
                    v.copy_within(from..from + k, to);
                }
                (from, to) = (from + n, to + k);
            }
            v.truncate(to);
        }
        match self {
            NumberColumn::Int(v) => close(v, lines, rows),
            NumberColumn::Float(v) => close(v, lines, rows),
            NumberColumn::F32(v) => close(v, lines, rows),
            NumberColumn::Bool(v) => close(v, lines, rows),
        }
    }

    fn finish(self) -> Value {
        match self {
            NumberColumn::Int(v) => array::ints(v),
            NumberColumn::Float(v) => array::floats(v),
            NumberColumn::F32(v) => array::make(Shape::from_slice(&[v.len()]), Buf::F32(v)),
            NumberColumn::Bool(v) => array::make(Shape::from_slice(&[v.len()]), Buf::Bool(v)),
        }
    }
}

impl Room<'_> {
    /// Sets the cell of a row; `None` if it does not fit.
    fn set(&mut self, row: usize, cell: &str) -> Option<()> {
        match self {
            Room::Int(v) => *v.get_mut(row)? = cell.parse().ok()?,
            Room::Float(v) => *v.get_mut(row)? = parse_float(cell)?,
            Room::F32(v) => *v.get_mut(row)? = parse_float(cell)? as f32,
            Room::Bool(v) => *v.get_mut(row)? = parse_bool(cell)?,
            Room::Skipped => {}
        }
        Some(())
    }
}

/// What is done with the cells of a part.
pub trait Visit: Send {
    /// Takes a cell from the beginning of the text, if its end can be seen without a search, and returns its length.
    fn prefix(&mut self, _column: usize, _text: &[u8]) -> Option<usize> {
        None
    }

    /// Takes a cell; `None` if it does not fit.
    fn cell(&mut self, row: usize, column: usize, cell: &str) -> Option<()>;
}

/// A part of the rows, and what is made of it; `None` if that is left to the other reader.
struct RowsPart<'a, T> {
    text: &'a str,
    made: Option<T>,
}

/// The parts of the rows behind the header, and the separator; `None` if the other reader must read them.
fn parts_of<'a>(rows: &Scanner<'a>) -> Option<(Vec<&'a str>, u8)> {
    let (text, separator) = rows.rest();
    (separator != b' ' && !text.contains('"')).then(|| (split(text), separator))
}

/// Visits the cells of all parts, each by its own visitor.
fn in_parts<T: Visit>((parts, separator): (Vec<&str>, u8), width: usize, visitors: Vec<T>) -> Res<Option<Vec<T>>> {
    let mut parts: Vec<RowsPart<T>> =
        parts.into_iter().zip(visitors).map(|(text, v)| RowsPart { text, made: Some(v) }).collect();
    let read = |(): &mut (), p: &mut RowsPart<T>| {
        if p.made.as_mut().and_then(|v| cells(p.text, separator, width, v)).is_none() {
            p.made = None;
        }
    };
    let flag = polling::flag();
    parallel::each(InterruptFlag(&flag), &mut parts, PART, || (), read)?;
    Ok(parts.into_iter().map(|p| p.made).collect())
}

/// Parts of whole lines.
pub fn split(text: &str) -> Vec<&str> {
    let (mut out, mut rest) = (Vec::new(), text);
    while rest.len() > PART {
        let Some(n) = rest.as_bytes()[PART..].iter().position(|c| *c == b'\n') else { break };
        let (part, more) = rest.split_at(PART + n + 1);
        out.push(part);
        rest = more;
    }
    out.push(rest);
    out
}

/// The number of lines of a part. Counts of blocks fit into a byte, so that the inner loop is vectorised.
pub fn lines(text: &str) -> usize {
    let in_block = |b: &[u8]| usize::from(b.iter().map(|c| u8::from(*c == b'\n')).sum::<u8>());
    let ends: usize = text.as_bytes().chunks(128).map(in_block).sum();
    ends + usize::from(!text.ends_with('\n') && !text.is_empty())
}

/// A cell without the blanks around it.
fn trimmed(cell: &str) -> &str {
    let outer = |c: Option<&u8>| c.is_some_and(u8::is_ascii_graphic);
    let bytes = cell.as_bytes();
    if outer(bytes.first()) && outer(bytes.last()) { cell } else { cell.trim() }
}

/// Whether a byte ends a cell.
fn is_end(byte: u8, separator: u8) -> bool {
    byte == separator || byte == b'\n' || byte == b'\r'
}

/// Visits each cell; `None` if a row has another number of cells than `width`, or a cell does not fit.
pub fn cells(text: &str, separator: u8, width: usize, visit: &mut impl Visit) -> Option<()> {
    let bytes = text.as_bytes();
    let (mut at, mut row) = (0, 0);
    while at < bytes.len() {
        let mut column = 0;
        loop {
            if column < width
                && let Some(n) = visit.prefix(column, &bytes[at..])
            {
                at += n;
            } else {
                let n = bytes[at..].iter().position(|c| is_end(*c, separator)).unwrap_or(bytes.len() - at);
                let cell = &text[at..at + n];
                at += n;
                if column == 0 && bytes.get(at) != Some(&separator) && cell.bytes().all(|c| c == b' ' || c == b'\t') {
                    break;
                }
                if column == width {
                    return None;
                }
                visit.cell(row, column, trimmed(cell))?;
            }
            column += 1;
            if bytes.get(at) != Some(&separator) {
                break;
            }
            at += 1;
        }
        // A line ends with `\n` or `\r\n`. `\r` alone ends one for the other reader.
        at += match bytes.get(at) {
            Some(b'\r') if bytes.get(at + 1) != Some(&b'\n') => return None,
            Some(b'\r') => 2,
            _ => 1,
        };
        match column {
            0 => {}
            k if k == width => row += 1,
            _ => return None,
        }
    }
    Some(())
}

/// The number of rows so far, and the room in each column.
struct RowRoom<'a> {
    filled: usize,
    columns: Vec<Room<'a>>,
}

impl Visit for RowRoom<'_> {
    fn cell(&mut self, row: usize, column: usize, cell: &str) -> Option<()> {
        self.filled = row + 1;
        self.columns[column].set(row, cell)
    }
}

/// The wanted columns; `None` if the other reader must read them. `at` has the position of each.
pub(super) fn columns(rows: &Scanner, width: usize, wanted: &[WantedColumn], at: &[usize]) -> Res<Option<Vec<Value>>> {
    let numbers = |w: &WantedColumn| !matches!(w.kind, ColumnType::Text | ColumnType::Maybe(_));
    let Some(parts) = parts_of(rows).filter(|_| wanted.iter().all(numbers)) else { return Ok(None) };
    let counts = parallel::listed(parts.0.len(), PART, |i| lines(parts.0[i]));
    let total = counts.iter().sum();
    let made = parallel::listed(wanted.len(), total, |i| NumberColumn::new(&wanted[i].kind, total));
    let Some(made) = made.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
    let mut made = made.into_iter().collect::<Res<Vec<NumberColumn>>>()?;
    let skipped = || RowRoom { filled: 0, columns: (0..width).map(|_| Room::Skipped).collect() };
    let mut parts_of_columns: Vec<RowRoom> = counts.iter().map(|_| skipped()).collect();
    for (column, k) in made.iter_mut().zip(at) {
        for (room, part) in column.rooms(&counts).into_iter().zip(&mut parts_of_columns) {
            part.columns[*k] = room;
        }
    }
    let Some(done) = in_parts(parts, width, parts_of_columns)? else { return Ok(None) };
    let filled: Vec<usize> = done.into_iter().map(|part| part.filled).collect();
    made.iter_mut().for_each(|column| column.close(&counts, &filled));
    Ok(Some(made.into_iter().map(NumberColumn::finish).collect()))
}

/// The types of the columns of a part.
struct Types {
    columns: Vec<CellTypes>,
    separator: u8,
}

impl Visit for Types {
    fn prefix(&mut self, column: usize, text: &[u8]) -> Option<usize> {
        let (n, int) = ordinary_number(text)?;
        if !is_end(*text.get(n)?, self.separator) {
            return None;
        }
        self.columns[column].add_number(int);
        Some(n)
    }

    fn cell(&mut self, _: usize, column: usize, cell: &str) -> Option<()> {
        self.columns[column].add(cell);
        Some(())
    }
}

/// The types of the columns; `None` if the other reader must find them.
pub(super) fn types(rows: &Scanner, width: usize) -> Res<Option<Vec<CellTypes>>> {
    let Some(parts) = parts_of(rows) else { return Ok(None) };
    let separator = parts.1;
    let start = parts.0.iter().map(|_| Types { columns: vec![CellTypes::default(); width], separator }).collect();
    let Some(parts) = in_parts(parts, width, start)? else { return Ok(None) };
    Ok(parts.into_iter().map(|part| part.columns).reduce(|mut all, part| {
        all.iter_mut().zip(part).for_each(|(a, b)| a.join(&b));
        all
    }))
}

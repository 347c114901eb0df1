//! Files of plain cells, in parts that all threads read: no quotes, lines that end with `\n` or `\r\n`, and columns of numbers and
//! Bools. Whatever else there is, an error too, is left to the reader of the whole file, which knows lines and columns.

use super::columns::{CellTypes, parse_bool, parse_float};
use super::tokens::Scanner;
use crate::error::Res;
use crate::limits::csv::PART;
use crate::ops::data::table::{ColumnType, WantedColumn};
use crate::ops::interrupt::InterruptFlag;
use crate::ops::parallel;
use crate::polling;
use crate::value::{Buf, Shape, Value, array};

/// A column of numbers or Bools under construction.
enum Numbers {
    Int(Vec<i64>),
    Float(Vec<f64>),
    F32(Vec<f32>),
    Bool(Vec<bool>),
}

impl Numbers {
    fn new(kind: &ColumnType) -> Option<Numbers> {
        Some(match kind {
            ColumnType::Int => Numbers::Int(Vec::new()),
            ColumnType::Float => Numbers::Float(Vec::new()),
            ColumnType::F32 => Numbers::F32(Vec::new()),
            ColumnType::Bool => Numbers::Bool(Vec::new()),
            ColumnType::Text | ColumnType::Maybe(_) => return None,
        })
    }

    /// Appends a cell; `None` if it does not fit.
    fn add(&mut self, cell: &str) -> Option<()> {
        match self {
            Numbers::Int(v) => v.push(cell.parse().ok()?),
            Numbers::Float(v) => v.push(parse_float(cell)?),
            Numbers::F32(v) => v.push(parse_float(cell)? as f32),
            Numbers::Bool(v) => v.push(parse_bool(cell)?),
        }
        Some(())
    }

    /// Appends another column of the same kind.
    fn join(&mut self, more: Numbers) {
        match (self, more) {
            (Numbers::Int(a), Numbers::Int(b)) => a.extend(b),
            (Numbers::Float(a), Numbers::Float(b)) => a.extend(b),
            (Numbers::F32(a), Numbers::F32(b)) => a.extend(b),
            (Numbers::Bool(a), Numbers::Bool(b)) => a.extend(b),
            _ => {}
        }
    }

    fn finish(self) -> Value {
        match self {
            Numbers::Int(v) => array::ints(v),
            Numbers::Float(v) => array::floats(v),
            Numbers::F32(v) => array::make(Shape::from_slice(&[v.len()]), Buf::F32(v)),
            Numbers::Bool(v) => array::make(Shape::from_slice(&[v.len()]), Buf::Bool(v)),
        }
    }
}

/// A part of the rows, and what is made of it; `None` if that is left to the other reader.
struct Part<'a, T> {
    text: &'a str,
    made: Option<T>,
}

/// Reads the rows behind the header in parts: `start` makes what a part begins with, `cell` adds a cell, whose column it gets.
fn in_parts<'a, T: Send>(
    rows: &Scanner<'a>,
    width: usize,
    start: impl Fn() -> T + Sync,
    cell: impl Fn(&mut T, usize, &str) -> Option<()> + Sync + Send,
) -> Res<Option<Vec<T>>> {
    let (text, separator) = rows.rest();
    if separator == b' ' || text.contains('"') {
        return Ok(None);
    }
    let mut parts: Vec<Part<'a, T>> = split(text).into_iter().map(|text| Part { text, made: Some(start()) }).collect();
    let read = |(): &mut (), p: &mut Part<'a, T>| {
        let done = p.made.as_mut().and_then(|made| cells(p.text, separator, width, &mut |k, c| cell(made, k, c)));
        if done.is_none() {
            p.made = None;
        }
    };
    let flag = polling::flag();
    parallel::each(InterruptFlag(&flag), &mut parts, PART, || (), read)?;
    Ok(parts.into_iter().map(|p| p.made).collect())
}

/// Parts of whole lines.
fn split(text: &str) -> Vec<&str> {
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

/// Calls `visit` for each cell; `None` if a row has another number of cells than `width`, or a cell does not fit.
fn cells(text: &str, separator: u8, width: usize, visit: &mut dyn FnMut(usize, &str) -> Option<()>) -> Option<()> {
    for line in text.lines() {
        if line.bytes().all(|c| c == b' ' || c == b'\t' && separator != b'\t') {
            continue;
        }
        let (bytes, mut from, mut k) = (line.as_bytes(), 0, 0);
        loop {
            // `\r` ends a line for the other reader.
            let end = bytes[from..].iter().position(|c| *c == separator || *c == b'\r');
            let to = end.map_or(bytes.len(), |n| from + n);
            if k == width || bytes.get(to) == Some(&b'\r') {
                return None;
            }
            visit(k, line[from..to].trim())?;
            k += 1;
            if to == bytes.len() {
                break;
            }
            from = to + 1;
        }
        if k < width {
            return None;
        }
    }
    Some(())
}

/// The wanted columns; `None` if the other reader must read them. `at` has the position of each.
pub(super) fn columns(rows: &Scanner, width: usize, wanted: &[WantedColumn], at: &[usize]) -> Res<Option<Vec<Value>>> {
    if wanted.iter().any(|w| Numbers::new(&w.kind).is_none()) {
        return Ok(None);
    }
    let start = || {
        let mut out: Vec<Option<Numbers>> = (0..width).map(|_| None).collect();
        for (w, k) in wanted.iter().zip(at) {
            out[*k] = Numbers::new(&w.kind);
        }
        out
    };
    let add = |made: &mut Vec<Option<Numbers>>, k: usize, cell: &str| match &mut made[k] {
        Some(column) => column.add(cell),
        None => Some(()),
    };
    let Some(parts) = in_parts(rows, width, start, add)? else { return Ok(None) };
    let mut all = start();
    for part in parts {
        for (column, more) in all.iter_mut().zip(part) {
            if let (Some(column), Some(more)) = (column, more) {
                column.join(more);
            }
        }
    }
    Ok(at.iter().map(|k| all[*k].take().map(Numbers::finish)).collect())
}

/// The types of the columns; `None` if the other reader must find them.
pub(super) fn types(rows: &Scanner, width: usize) -> Res<Option<Vec<CellTypes>>> {
    let start = || vec![CellTypes::default(); width];
    let add = |seen: &mut Vec<CellTypes>, k: usize, cell: &str| {
        seen[k].add(cell);
        Some(())
    };
    let Some(parts) = in_parts(rows, width, start, add)? else { return Ok(None) };
    Ok(parts.into_iter().reduce(|mut all, part| {
        all.iter_mut().zip(part).for_each(|(a, b)| a.join(&b));
        all
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_lines() {
        let line = "0.125,-3\r\n";
        let text = line.repeat(3 * PART / line.len());
        let parts = split(&text);
        assert!(parts.len() > 2 && parts.concat() == text);
        assert!(parts.iter().all(|p| p.ends_with("\r\n")));
    }

    #[test]
    fn rows_of_another_width_are_left_to_the_other_reader() {
        let read = |text: &str| {
            let mut out = Vec::new();
            let done = cells(text, b',', 2, &mut |k, c| {
                out.push((k, c.to_owned()));
                Some(())
            });
            done.map(|()| out)
        };
        let pair = |a: &str, b: &str| vec![(0, a.to_owned()), (1, b.to_owned())];
        assert_eq!(read("1, x\n\n  \n"), Some(pair("1", "x")));
        assert_eq!(read(",\n"), Some(pair("", "")));
        assert_eq!((read("1\n"), read("1,2,3\n"), read("1,2\r3,4\n")), (None, None, None));
    }
}

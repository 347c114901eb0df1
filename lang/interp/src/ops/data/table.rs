//! Tables of named, typed columns, whatever the format of the file: which columns a type wants, in which form, and the columns
//! under construction.

use crate::error::{Error, Res, codes};
use crate::ops::io::option;
use crate::polling;
use crate::value::{Array, Buf, Record, Rep, Shape, Value, array};
use adl_syntax::symbol::Symbol;
use adl_typing::env::Column;
use adl_typing::errors::nearest;
use std::rc::Rc;

/// A file for error messages.
#[derive(Clone, Copy)]
pub(super) struct FileOrigin<'a> {
    pub path: &'a str,
    /// The code of errors of its format.
    pub code: &'static str,
    /// Its format with an article: `a CSV file`.
    pub format: &'static str,
    /// The function that reads it.
    pub reader: &'static str,
}

impl FileOrigin<'_> {
    /// An error about the file.
    pub fn error(&self, text: impl std::fmt::Display) -> Box<Error> {
        Error::new(self.code, format!("{}: {text}", self.path))
    }
}

/// A file with columns.
pub(super) trait ColumnFile {
    /// The file.
    fn origin(&self) -> FileOrigin<'_>;
    /// The names of its columns as identifiers. A `matrix` needs no names in the file.
    fn names(&mut self, matrix: bool) -> Res<Vec<String>>;
    /// The columns that are wanted, in that order, each an array.
    fn columns(&mut self, wanted: &[WantedColumn]) -> Res<Vec<Value>>;
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
pub(super) struct WantedColumn {
    pub name: Symbol,
    pub kind: ColumnType,
    /// The number of rows, if the type specifies it.
    pub rows: Option<usize>,
    /// Whether the program writes the type of a cell, and not that of the column.
    pub by_cell: bool,
}

/// Reads a file as a record of columns, an array of records or a matrix, according to the type.
pub(super) fn read(source: &mut dyn ColumnFile, rep: &Rep) -> Res<Value> {
    let all = match rep {
        Rep::Array(n, _) => *n,
        _ => None,
    };
    let origin = source.origin();
    match form(rep) {
        Some(FileForm::Columns(fields)) => {
            let wanted = fields.iter().map(|(n, r)| column(origin, *n, r)).collect::<Res<Vec<_>>>()?;
            let vals = checked(source, &wanted)?;
            Ok(Value::Record(Rc::new(Record { names: names_of(&wanted), vals })))
        }
        Some(FileForm::Rows(fields)) => {
            let wanted = fields
                .iter()
                .map(|(n, r)| Ok(WantedColumn { name: *n, kind: kind(origin, *n, r)?, rows: all, by_cell: true }))
                .collect::<Res<Vec<_>>>()?;
            let vals = checked(source, &wanted)?;
            let n = vals.first().map_or(0, crate::value::seq::len);
            Ok(array::make(Shape::from_slice(&[n]), Buf::Record(names_of(&wanted), vals)))
        }
        Some(FileForm::Matrix(e, width)) => matrix(source, e, (all, width)),
        None if *rep == Rep::Other => Err(origin
            .error("the type of the table is not known here")
            .hint(format!("annotate it: `({} path : {{x : [_]Float}})`", origin.reader))),
        None => Err(origin.error(format!(
            "{} is read as a record of columns, an array of records or a matrix of numbers",
            origin.format
        ))),
    }
}

fn names_of(wanted: &[WantedColumn]) -> Rc<[Symbol]> {
    wanted.iter().map(|w| w.name).collect()
}

/// The wanted columns, whose number of rows must be as the type says.
fn checked(source: &mut dyn ColumnFile, wanted: &[WantedColumn]) -> Res<Vec<Value>> {
    let vals = source.columns(wanted)?;
    let count = vals.first().map_or(0, crate::value::seq::len);
    match wanted.iter().filter_map(|w| w.rows).find(|n| *n != count) {
        Some(n) => {
            let text = format!("{} has {}, and the type wants {n}", source.origin().path, counted(count, "row"));
            Err(Error::new(codes::SIZE, text))
        }
        None => Ok(vals),
    }
}

fn matrix(source: &mut dyn ColumnFile, element: &Rep, (rows, width): (Option<usize>, Option<usize>)) -> Res<Value> {
    let names = source.names(true)?;
    let origin = source.origin();
    if let Some(n) = width.filter(|n| *n != names.len()) {
        let text = format!("{} has {}, and the type wants {n}", origin.path, counted(names.len(), "column"));
        return Err(Error::new(origin.code, text));
    }
    let wanted = names
        .iter()
        .map(|n| {
            Ok(WantedColumn { name: Symbol::new(n), kind: kind(origin, Symbol::new(n), element)?, rows, by_cell: true })
        })
        .collect::<Res<Vec<_>>>()?;
    let columns = checked(source, &wanted)?;
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

fn column(origin: FileOrigin<'_>, name: Symbol, rep: &Rep) -> Res<WantedColumn> {
    match rep {
        Rep::Array(rows, e) => Ok(WantedColumn { name, kind: kind(origin, name, e)?, rows: *rows, by_cell: false }),
        _ => Err(origin.error(format!("the field `{name}` must be an array: a column"))),
    }
}

pub(super) fn kind(origin: FileOrigin<'_>, name: Symbol, rep: &Rep) -> Res<ColumnType> {
    let refused = || {
        origin.error(format!(
            "the column `{name}` holds numbers, Bools or Strings, or an Option of one; its type wants something else"
        ))
    };
    Ok(match rep {
        Rep::Int => ColumnType::Int,
        Rep::Float => ColumnType::Float,
        Rep::F32 => ColumnType::F32,
        Rep::Bool => ColumnType::Bool,
        Rep::Str => ColumnType::Text,
        Rep::Data(d, args) if d.name.as_str() == "Option" && args.len() == 1 => match kind(origin, name, &args[0])? {
            ColumnType::Maybe(_) => return Err(refused()),
            k => ColumnType::Maybe(Box::new(k)),
        },
        Rep::Unit | Rep::Array(..) | Rep::Tuple(_) | Rep::Record(_) | Rep::Data(..) | Rep::Other => {
            return Err(refused());
        }
    })
}

/// A number with a noun: `1 column`, `2 columns`.
pub(super) fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The position of a column; the error names the nearest one.
pub(super) fn position(origin: FileOrigin<'_>, names: &[String], name: Symbol) -> Res<usize> {
    names.iter().position(|n| n == name.as_str()).ok_or_else(|| {
        let e = origin.error(format!(
            "there is no column `{name}`: the file has {} ({})",
            counted(names.len(), "column"),
            names.join(", ")
        ));
        match nearest(name.as_str(), names.iter().map(String::as_str)) {
            Some(near) => e.hint(format!("did you mean `{near}`?")),
            None => e,
        }
    })
}

/// The identifiers of the columns of a file; two columns may not have the same.
pub(super) fn identifiers<'a>(origin: FileOrigin<'_>, names: impl Iterator<Item = &'a str>) -> Res<Vec<String>> {
    let mut out: Vec<String> = Vec::new();
    for (k, name) in names.enumerate() {
        let name = if name.trim().is_empty() { format!("column_{}", k + 1) } else { super::identifier(name) };
        if out.contains(&name) {
            return Err(origin.error(format!("two columns are named `{name}`")));
        }
        out.push(name);
    }
    Ok(out)
}

/// The element type of a column.
#[derive(Clone)]
pub(super) enum ColumnType {
    Int,
    Float,
    F32,
    Bool,
    Text,
    /// `Option`: a missing cell is `None`.
    Maybe(Box<ColumnType>),
}

impl ColumnType {
    /// The type that a word names: the opposite of [`std::fmt::Display`].
    pub fn named(word: &str) -> Option<ColumnType> {
        Some(match word {
            "Int" => ColumnType::Int,
            "Float" => ColumnType::Float,
            "F32" => ColumnType::F32,
            "Bool" => ColumnType::Bool,
            "String" => ColumnType::Text,
            _ => ColumnType::Maybe(Box::new(ColumnType::named(word.strip_prefix("Option ")?)?)),
        })
    }

    /// Whether elements of a column of a file can be read as this type. Any number may be a Float.
    fn accepts(&self, found: Column) -> bool {
        match self {
            ColumnType::Int => found == Column::Int,
            ColumnType::Float | ColumnType::F32 => matches!(found, Column::Int | Column::Float),
            ColumnType::Bool => found == Column::Bool,
            ColumnType::Text => found == Column::Text,
            ColumnType::Maybe(k) => k.accepts(found),
        }
    }
}

impl std::fmt::Display for ColumnType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ColumnType::Int => "Int",
            ColumnType::Float => "Float",
            ColumnType::F32 => "F32",
            ColumnType::Bool => "Bool",
            ColumnType::Text => "String",
            ColumnType::Maybe(k) => return write!(f, "Option {k}"),
        })
    }
}

/// An error if a column of a file cannot be read as the wanted type. `found` is the file's own name of its type.
pub(super) fn fits(origin: FileOrigin<'_>, want: &WantedColumn, column: Option<Column>, found: &str) -> Res<()> {
    let Some(column) = column else {
        return Err(unsupported(origin, want.name.as_str(), found));
    };
    match want.kind.accepts(column) {
        true => Ok(()),
        false => {
            Err(origin.error(format!("the column `{}` holds {found}, and the type wants {}", want.name, want.kind)))
        }
    }
}

/// The error for a column of a type that adl lacks.
pub(super) fn unsupported(origin: FileOrigin<'_>, name: &str, found: &str) -> Box<Error> {
    origin
        .error(format!("the column `{name}` holds {found}, which is neither a number, a Bool nor text"))
        .hint("convert it where the file is made, or leave it out: an annotation names the columns that are read")
}

/// Cells, and which of them are not missing (`None`: all).
pub(super) type MaskedCells = (ColumnCells, Option<Vec<bool>>);

/// Elements of a column of a file. Where one is missing, the element is arbitrary.
pub(super) enum ColumnCells {
    Int(Vec<i64>),
    /// Unsigned integers of 64 bits, of which an Int cannot represent all.
    Unsigned(Vec<u64>),
    Float(Vec<f64>),
    F32(Vec<f32>),
    Bool(Vec<bool>),
    Text(Vec<Value>),
}

/// The same expression for each kind of cells.
macro_rules! each_kind {
    ($cells:expr, $v:ident => $e:expr) => {
        match $cells {
            ColumnCells::Int($v) => $e,
            ColumnCells::Unsigned($v) => $e,
            ColumnCells::Float($v) => $e,
            ColumnCells::F32($v) => $e,
            ColumnCells::Bool($v) => $e,
            ColumnCells::Text($v) => $e,
        }
    };
}

impl ColumnCells {
    pub fn len(&self) -> usize {
        each_kind!(self, v => v.len())
    }

    /// Appends cells of the same kind; returns whether they are.
    pub fn join(&mut self, more: ColumnCells) -> bool {
        match (self, more) {
            (ColumnCells::Int(a), ColumnCells::Int(b)) => a.extend(b),
            (ColumnCells::Unsigned(a), ColumnCells::Unsigned(b)) => a.extend(b),
            (ColumnCells::Float(a), ColumnCells::Float(b)) => a.extend(b),
            (ColumnCells::F32(a), ColumnCells::F32(b)) => a.extend(b),
            (ColumnCells::Bool(a), ColumnCells::Bool(b)) => a.extend(b),
            (ColumnCells::Text(a), ColumnCells::Text(b)) => a.extend(b),
            _ => return false,
        }
        true
    }

    /// `n` cells at indices; without an index, an arbitrary one.
    pub fn pick(&self, n: usize, index: impl Fn(usize) -> Option<usize>) -> Res<ColumnCells> {
        Ok(match self {
            ColumnCells::Int(v) => ColumnCells::Int(polling::collect(n, |i| index(i).map_or(0, |k| v[k]))?),
            ColumnCells::Unsigned(v) => ColumnCells::Unsigned(polling::collect(n, |i| index(i).map_or(0, |k| v[k]))?),
            ColumnCells::Float(v) => ColumnCells::Float(polling::collect(n, |i| index(i).map_or(0.0, |k| v[k]))?),
            ColumnCells::F32(v) => ColumnCells::F32(polling::collect(n, |i| index(i).map_or(0.0, |k| v[k]))?),
            ColumnCells::Bool(v) => ColumnCells::Bool(polling::collect(n, |i| index(i).is_some_and(|k| v[k]))?),
            ColumnCells::Text(v) => {
                let none = crate::ops::data_text("");
                ColumnCells::Text(polling::collect(n, |i| index(i).map_or_else(|| none.clone(), |k| v[k].clone()))?)
            }
        })
    }
}

/// Why cells cannot become elements.
pub(super) enum Refusal {
    /// The cell at this position is missing.
    Missing(usize),
    /// The integer at this position is too large for an Int.
    Large(usize),
    /// The cells have another type.
    Type,
    /// Memory is short, or the run was interrupted.
    Stop(Box<Error>),
}

/// The error for cells that cannot become elements; `at` makes one about a row.
pub(super) fn refused(
    origin: FileOrigin<'_>,
    refusal: Refusal,
    want: &WantedColumn,
    at: &dyn Fn(&str, usize) -> Box<Error>,
) -> Box<Error> {
    match refusal {
        Refusal::Missing(row) => {
            let ty = if want.by_cell { format!("Option {}", want.kind) } else { format!("[_](Option {})", want.kind) };
            at("a null", row).hint(format!("a missing value is read as an Option: `{} : {ty}`", want.name))
        }
        Refusal::Large(row) => at("a number above the largest Int", row).hint("read the column as Floats: `[_]Float`"),
        Refusal::Type => origin.error(format!("the column `{}` changes its type", want.name)),
        Refusal::Stop(e) => e,
    }
}

impl From<Box<Error>> for Refusal {
    fn from(e: Box<Error>) -> Refusal {
        Refusal::Stop(e)
    }
}

/// A column under construction.
pub(super) enum Builder {
    Int(Vec<i64>),
    Float(Vec<f64>),
    F32(Vec<f32>),
    Bool(Vec<bool>),
    Text(Vec<Value>),
    Maybe(ColumnType, Vec<Value>),
}

impl Builder {
    pub fn new(kind: &ColumnType) -> Builder {
        match kind {
            ColumnType::Int => Builder::Int(Vec::new()),
            ColumnType::Float => Builder::Float(Vec::new()),
            ColumnType::F32 => Builder::F32(Vec::new()),
            ColumnType::Bool => Builder::Bool(Vec::new()),
            ColumnType::Text => Builder::Text(Vec::new()),
            ColumnType::Maybe(k) => Builder::Maybe((**k).clone(), Vec::new()),
        }
    }

    /// Appends cells; `valid` says which are not missing (`None`: all). A missing number is `nan` as a Float and `None`
    /// as an Option, and refused otherwise.
    pub fn extend(&mut self, cells: ColumnCells, valid: Option<&[bool]>) -> Result<(), Refusal> {
        if let Builder::Maybe(kind, out) = self {
            return maybe(kind, out, cells, valid);
        }
        let missing = valid.and_then(|v| v.iter().position(|x| !x));
        match (self, cells) {
            (Builder::Float(out), cells) => reals(out, &cells, valid, |x| x, |x| x as f64, |x| x as f64, f64::from),
            (Builder::F32(out), cells) => reals(out, &cells, valid, |x| x as f32, |x| x as f32, |x| x as f32, |x| x),
            (_, _) if missing.is_some() => Err(Refusal::Missing(missing.unwrap_or(0))),
            (Builder::Int(out), ColumnCells::Int(v)) => Ok(append(out, v)?),
            (Builder::Int(out), ColumnCells::Unsigned(v)) => match v.iter().position(|x| i64::try_from(*x).is_err()) {
                Some(at) => Err(Refusal::Large(at)),
                None => Ok(append(out, v.into_iter().map(|x| x as i64).collect())?),
            },
            (Builder::Bool(out), ColumnCells::Bool(v)) => Ok(append(out, v)?),
            (Builder::Text(out), ColumnCells::Text(v)) => Ok(append(out, v)?),
            _ => Err(Refusal::Type),
        }
    }

    pub fn finish(self) -> Value {
        match self {
            Builder::Int(v) => array::ints(v),
            Builder::Float(v) => array::floats(v),
            Builder::F32(v) => array::make(Shape::from_slice(&[v.len()]), Buf::F32(v)),
            Builder::Bool(v) => array::make(Shape::from_slice(&[v.len()]), Buf::Bool(v)),
            Builder::Text(v) | Builder::Maybe(_, v) => array::boxed(v),
        }
    }
}

/// Moves elements to the end of a vector.
fn append<T>(out: &mut Vec<T>, from: Vec<T>) -> Res<()> {
    if out.is_empty() {
        *out = from;
        return Ok(());
    }
    crate::memory::grow(out, from.len())?;
    out.extend(from);
    Ok(())
}

/// Appends numbers as Floats or F32; a missing one is `nan`.
fn reals<T: Copy + From<f32>>(
    out: &mut Vec<T>,
    cells: &ColumnCells,
    valid: Option<&[bool]>,
    float: impl Fn(f64) -> T,
    int: impl Fn(i64) -> T,
    unsigned: impl Fn(u64) -> T,
    f32: impl Fn(f32) -> T,
) -> Result<(), Refusal> {
    let from = out.len();
    match cells {
        ColumnCells::Float(v) => push(out, v, float)?,
        ColumnCells::Int(v) => push(out, v, int)?,
        ColumnCells::Unsigned(v) => push(out, v, unsigned)?,
        ColumnCells::F32(v) => push(out, v, f32)?,
        ColumnCells::Bool(_) | ColumnCells::Text(_) => return Err(Refusal::Type),
    }
    for (x, valid) in out[from..].iter_mut().zip(valid.unwrap_or_default()) {
        if !valid {
            *x = T::from(f32::NAN);
        }
    }
    Ok(())
}

fn push<A: Copy, T>(out: &mut Vec<T>, from: &[A], to: impl Fn(A) -> T) -> Res<()> {
    crate::memory::grow(out, from.len())?;
    out.extend(from.iter().map(|x| to(*x)));
    Ok(())
}

/// Appends cells as `Some` or `None`.
fn maybe(kind: &ColumnType, out: &mut Vec<Value>, cells: ColumnCells, valid: Option<&[bool]>) -> Result<(), Refusal> {
    let mut plain = Builder::new(kind);
    plain.extend(cells, None)?;
    let Value::Array(a) = plain.finish() else { return Err(Refusal::Type) };
    crate::memory::grow(out, a.len())?;
    for i in 0..a.len() {
        let here = valid.is_none_or(|v| v[i]);
        out.push(option(here.then(|| array::elem(&a, i))));
    }
    Ok(())
}

/// A column that is written.
pub(super) struct WrittenColumn {
    pub name: Symbol,
    pub cells: ColumnCells,
    /// Which cells are not missing; `None` if the elements are not Options.
    pub valid: Option<Vec<bool>>,
}

/// The arrays of a record of columns or an array of records, with the names in the order in which the program wrote them.
/// They have the same length.
pub(super) fn arrays<'a>(v: &'a Value, code: &'static str, writer: &str) -> Res<Vec<(Symbol, &'a Array)>> {
    let no_table = || Error::new(code, format!("`{writer}` writes a record of columns or an array of records"));
    let (names, vals) = match v {
        Value::Record(r) => (&r.names, &r.vals),
        Value::Array(a) => match a.buf() {
            Buf::Record(names, cols) if a.shape.len() == 1 => (names, cols),
            _ => return Err(no_table()),
        },
        _ => return Err(no_table()),
    };
    let mut out: Vec<(Symbol, &Array)> = Vec::with_capacity(names.len());
    for i in adl_syntax::field_order::shown(names) {
        let name = names[i];
        match &vals[i] {
            Value::Array(a) if a.shape.len() == 1 => out.push((name, &**a)),
            _ => {
                let text =
                    format!("the field `{name}` cannot be a column: it must be an array of numbers, Bools or Strings");
                return Err(Error::new(code, text));
            }
        }
    }
    match out.iter().find(|(_, a)| a.len() != out[0].1.len()) {
        Some((n, a)) => {
            let (first, rows) = (out[0].0, out[0].1.len());
            Err(Error::new(code, format!("the column `{first}` has {rows} rows, and `{n}` has {}", a.len())))
        }
        None => Ok(out),
    }
}

/// The error for an array whose elements cannot be written.
pub(super) fn no_cell(code: &'static str, name: Symbol) -> Box<Error> {
    let text = format!(
        "the field `{name}` cannot be a column: its elements must be numbers, Bools or Strings, or an Option of one"
    );
    Error::new(code, text)
}

/// The columns of a table as typed cells, for formats with types.
pub(super) fn written(v: &Value, code: &'static str, writer: &str) -> Res<Vec<WrittenColumn>> {
    let column = |(name, a): (Symbol, &Array)| {
        let (cells, valid) = cells_of(code, name, a.buf())?;
        Ok(WrittenColumn { name, cells, valid })
    };
    arrays(v, code, writer)?.into_iter().map(column).collect()
}

fn cells_of(code: &'static str, name: Symbol, b: &Buf) -> Res<(ColumnCells, Option<Vec<bool>>)> {
    let cells = match b {
        Buf::F64(v) => ColumnCells::Float(polling::copy(v)?),
        Buf::F32(v) => ColumnCells::F32(polling::copy(v)?),
        Buf::I64(v) => ColumnCells::Int(polling::copy(v)?),
        Buf::Bool(v) => ColumnCells::Bool(polling::copy(v)?),
        Buf::Boxed(v) => return boxed_cells(code, name, v),
        Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => return Err(no_cell(code, name)),
    };
    Ok((cells, None))
}

/// The cells of Strings or Options. If all are missing or there are none, they are texts.
fn boxed_cells(code: &'static str, name: Symbol, v: &[Value]) -> Res<(ColumnCells, Option<Vec<bool>>)> {
    let mut options = false;
    let mut inner: Vec<Option<&Value>> = Vec::with_capacity(v.len());
    for x in v {
        inner.push(match x {
            Value::Data(d) => match (d.con.name.as_str(), d.fields.as_slice()) {
                ("None", []) => None,
                ("Some", [x]) => Some(x),
                _ => return Err(no_cell(code, name)),
            },
            x => Some(x),
        });
        options = options || matches!(x, Value::Data(_));
    }
    macro_rules! all {
        ($kind:ident, $pattern:pat => $x:expr, $empty:expr) => {
            ColumnCells::$kind(
                inner
                    .iter()
                    .map(|x| match x {
                        Some($pattern) => Ok($x),
                        None => Ok($empty),
                        Some(_) => Err(no_cell(code, name)),
                    })
                    .collect::<Res<_>>()?,
            )
        };
    }
    let cells = match inner.iter().flatten().next() {
        Some(Value::Int(_)) => all!(Int, Value::Int(x) => *x, 0),
        Some(Value::Float(_)) => all!(Float, Value::Float(x) => *x, 0.0),
        Some(Value::F32(_)) => all!(F32, Value::F32(x) => *x, 0.0),
        Some(Value::Bool(_)) => all!(Bool, Value::Bool(x) => *x, false),
        Some(Value::Str(_)) | None => all!(Text, x @ Value::Str(_) => (*x).clone(), crate::ops::data_text("")),
        Some(_) => return Err(no_cell(code, name)),
    };
    Ok((cells, options.then(|| inner.iter().map(Option::is_some).collect())))
}

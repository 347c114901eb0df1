//! Columns of CSV files: type inference from cells, and construction from cells.

use crate::error::{Res, codes};
use crate::ops::data::table::{Builder, no_cell};
use crate::ops::io::option;
use crate::polling;
use crate::value::{Buf, Value, array, show};
use adl_syntax::symbol::Symbol;
use adl_typing::env::Column;

/// Whether a cell stands for a missing number.
fn missing(cell: &str) -> bool {
    matches!(cell, "" | "NA" | "N/A" | "NaN" | "nan" | "NULL" | "null")
}

pub(super) fn parse_float(cell: &str) -> Option<f64> {
    // Most cells are numbers.
    cell.parse().ok().or_else(|| missing(cell).then_some(f64::NAN))
}

pub(super) fn parse_bool(cell: &str) -> Option<bool> {
    match cell {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// The types that the cells of a column still allow.
#[derive(Clone)]
pub(super) struct CellTypes {
    int: bool,
    float: bool,
    bool: bool,
    /// Whether any cell is not missing.
    some: bool,
}

impl Default for CellTypes {
    fn default() -> CellTypes {
        CellTypes { int: true, float: true, bool: true, some: false }
    }
}

/// The number of digits at the beginning, eight at a time.
pub fn digits(text: &[u8]) -> usize {
    let mut n = 0;
    while let Some(eight) = text[n..].first_chunk::<8>() {
        // Digits become 0 to 9. Others get the highest bit, or are behind one that has it.
        let values = u64::from_le_bytes(*eight) ^ 0x3030_3030_3030_3030;
        let others = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
        if others != 0 {
            return n + others.trailing_zeros() as usize / 8;
        }
        n += 8;
    }
    n + text[n..].iter().take_while(|c| c.is_ascii_digit()).count()
}

/// The length of a number at the beginning that is written as most are, and whether it is an Int. Its value is not
/// computed.
pub fn ordinary_number(text: &[u8]) -> Option<(usize, bool)> {
    let sign = usize::from(text.first() == Some(&b'-'));
    let whole = digits(&text[sign..]);
    let mut length = sign + whole;
    if whole == 0 {
        return None;
    }
    if text.get(length) != Some(&b'.') {
        // An Int has at most 19 digits.
        return (whole < 19).then_some((length, true));
    }
    length += 1;
    length += digits(&text[length..]);
    if let Some(b'e' | b'E') = text.get(length) {
        length += 1 + usize::from(matches!(text.get(length + 1), Some(b'-' | b'+')));
        let power = digits(&text[length..]);
        length += power;
        return (power > 0).then_some((length, false));
    }
    Some((length, false))
}

impl CellTypes {
    /// Adds a cell.
    pub fn add(&mut self, cell: &str) {
        if let Some((n, int)) = ordinary_number(cell.as_bytes())
            && n == cell.len()
        {
            return self.add_number(int);
        }
        let cell = cell.trim();
        if missing(cell) {
            (self.int, self.bool) = (false, false);
            return;
        }
        self.some = true;
        self.int = self.int && cell.parse::<i64>().is_ok();
        self.float = self.float && (self.int || cell.parse::<f64>().is_ok());
        self.bool = self.bool && parse_bool(cell).is_some();
    }

    /// Adds a number, which may be an Int.
    pub fn add_number(&mut self, int: bool) {
        *self = CellTypes { int: self.int && int, bool: false, some: true, ..*self };
    }

    /// Adds the cells that `more` has seen.
    pub fn join(&mut self, more: &CellTypes) {
        self.int = self.int && more.int;
        self.float = self.float && more.float;
        self.bool = self.bool && more.bool;
        self.some = self.some || more.some;
    }

    /// The narrowest type that fits; Float if all cells are missing.
    pub fn column(&self) -> Column {
        match self {
            CellTypes { some: false, .. } => Column::Float,
            CellTypes { int: true, .. } => Column::Int,
            CellTypes { float: true, .. } => Column::Float,
            CellTypes { bool: true, .. } => Column::Bool,
            _ => Column::Text,
        }
    }
}

/// Appends a cell; the error names the expected type.
pub(super) fn add(builder: &mut Builder, cell: &str) -> Result<(), &'static str> {
    match builder {
        Builder::Int(v) => v.push(cell.trim().parse().map_err(|_| "Int")?),
        Builder::Float(v) => v.push(parse_float(cell.trim()).ok_or("number")?),
        Builder::F32(v) => v.push(parse_float(cell.trim()).ok_or("number")? as f32),
        Builder::Bool(v) => v.push(parse_bool(cell.trim()).ok_or("Bool")?),
        Builder::Text(v) => v.push(crate::ops::data_text(cell)),
        Builder::Maybe(_, v) if missing(cell.trim()) => v.push(option(None)),
        Builder::Maybe(k, v) => {
            let mut one = Builder::new(k);
            add(&mut one, cell)?;
            let Value::Array(a) = one.finish() else { return Ok(()) };
            v.push(option(Some(array::elem(&a, 0))));
        }
    }
    Ok(())
}

/// The cells of a column as text.
pub(super) fn texts(name: Symbol, b: &Buf) -> Res<Vec<String>> {
    Ok(match b {
        Buf::F64(v) => polling::collect(v.len(), |i| show::float(v[i]))?,
        Buf::F32(v) => polling::collect(v.len(), |i| show::float32(v[i]))?,
        Buf::I64(v) => polling::collect(v.len(), |i| v[i].to_string())?,
        Buf::Bool(v) => polling::collect(v.len(), |i| v[i].to_string())?,
        Buf::Boxed(v) => v.iter().map(|x| cell(name, x)).collect::<Res<_>>()?,
        Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => return Err(no_cell(codes::CSV, name)),
    })
}

fn cell(name: Symbol, v: &Value) -> Res<String> {
    match v {
        Value::Str(s) => Ok(quoted(s)),
        Value::Float(_) | Value::F32(_) | Value::Int(_) | Value::Bool(_) => Ok(show::plain(v)),
        Value::Data(d) => match (d.con.name.as_str(), d.fields.as_slice()) {
            ("None", []) => Ok("NA".to_owned()),
            ("Some", [x]) => cell(name, x),
            _ => Err(no_cell(codes::CSV, name)),
        },
        _ => Err(no_cell(codes::CSV, name)),
    }
}

/// A text as a cell, quoted if it would not be read back unchanged otherwise.
pub(super) fn quoted(s: &str) -> String {
    let plain = !s.is_empty() && !s.contains([',', '"', '\n', '\r']) && s.trim_matches([' ', '\t']).len() == s.len();
    if plain { s.to_owned() } else { format!("\"{}\"", s.replace('"', "\"\"")) }
}

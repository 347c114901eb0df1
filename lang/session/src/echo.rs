//! Echoes: a value as one line, or laid out on a screen.

use adl_interp::fault;
use adl_interp::ir::road::table;
use adl_interp::value::{Array, Buf, Kind, Value, array, plot, show};

/// What a cell shows of an item.
#[derive(Clone, Debug)]
pub struct Echo {
    /// The name that it defines; `None` for an expression.
    pub name: Option<String>,
    /// Its type as text, with true sizes.
    pub ty: String,
    /// The value.
    pub shown: Value,
}

/// Elements from which on an array is abbreviated, and how many of it then remain at either end.
const MANY: usize = 1000;
const EDGE: usize = 3;
/// Characters of one line that is cut.
const LONG: usize = 2000;
/// Lines of a laid-out value.
const LINES: usize = 40;
/// Rows of a matrix, table or vector; of more, the first and last.
const ROWS: usize = 20;

impl Echo {
    /// The whole value on one line.
    pub fn value(&self) -> String {
        show::show(&self.shown)
    }

    /// `value : type` on one line, never cut; what `adl -e` prints.
    pub fn whole(&self) -> String {
        fault::point(fault::Point::Renderer);
        self.there(self.with_name(&self.value()))
    }

    /// The same, cut to what one looks at.
    pub fn line(&self) -> String {
        fault::point(fault::Point::Renderer);
        self.there(self.with_name(&brief(&self.shown)))
    }

    /// Laid out for a screen of so many columns.
    pub fn screen(&self, width: usize) -> String {
        fault::point(fault::Point::Renderer);
        self.there(self.laid(width))
    }

    fn laid(&self, width: usize) -> String {
        if let Some(table) = table::of(&self.shown) {
            return format!("{}\n{}", self.head(), indented(&table.lines().map(str::to_owned).collect::<Vec<_>>(), 2));
        }
        match short(&self.shown, width.saturating_sub(2)) {
            Some(text) if !is_matrix(&self.shown) && !is_table(&self.shown) => self.with_name(&text),
            _ => {
                format!("{}\n{}", self.head(), indented(&cut_lines(lay(&self.shown, width.saturating_sub(2).max(20), 0)), 2))
            }
        }
    }

    /// A text of the value, unless that could not be fetched from the device where it is: then why.
    fn there(&self, text: String) -> String {
        adl_interp::failure().map_or(text, |e| self.with_name(&format!("<{}>", e.diag.message)))
    }

    /// `name : type` over a value that is laid out below.
    fn head(&self) -> String {
        let name = self.name.as_ref().map_or(String::new(), |n| format!("{n} "));
        format!("{name}: {}", if table::is_cost(&self.shown) { "Cost" } else { &self.ty })
    }

    fn with_name(&self, value: &str) -> String {
        match (&self.name, &self.shown) {
            _ if table::of(&self.shown).is_some() => format!("{}\n{value}", self.head()),
            (Some(n), Value::Fun(_)) => format!("{n} : {}", self.ty),
            // The type of a function says all that there is to see.
            (None, Value::Fun(_)) => format!("<fun : {0}> : {0}", self.ty),
            (Some(n), _) => format!("{n} = {value} : {}", self.ty),
            (None, _) => format!("{value} : {}", self.ty),
        }
    }
}

fn is_matrix(v: &Value) -> bool {
    matches!(v, Value::Array(a) if a.shape.len() >= 2 && a.shape[0] > 1)
}

fn is_table(v: &Value) -> bool {
    columns(v).is_some()
}

/// Whether a value has more than so many leaves, found without looking at all of them.
fn leaves(v: &Value, limit: usize) -> usize {
    let (mut todo, mut n) = (vec![v], 0usize);
    while let Some(v) = todo.pop() {
        n += 1;
        match v {
            Value::Array(a) => {
                n = n.saturating_add(a.shape.iter().product());
                todo.extend(a.values().iter().take(limit));
            }
            Value::Tuple(t) => todo.extend(&t.0),
            Value::Record(r) => todo.extend(&r.vals),
            Value::Data(d) => todo.extend(&d.fields),
            Value::Str(s) => n += s.len(),
            _ => {}
        }
        if n > limit {
            break;
        }
    }
    n
}

/// The text of a value if it takes no more than so many columns.
fn short(v: &Value, width: usize) -> Option<String> {
    if let Some(text) = plot::summary(v) {
        return Some(text);
    }
    if leaves(v, width) > width {
        return None;
    }
    let text = show::show(v);
    (text.chars().count() <= width).then_some(text)
}

/// One line: big arrays by their ends, the rest cut.
fn brief(v: &Value) -> String {
    let text = match v {
        Value::Array(a) if a.shape.iter().product::<usize>() > MANY || leaves(v, 4 * MANY) > 4 * MANY => ends(a),
        Value::Record(r) if !table::is_cost(v) => {
            let fields: Vec<String> = r.names.iter().zip(&r.vals).map(|(n, v)| format!("{n} = {}", nested_brief(v))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Tuple(t) => format!("({})", t.0.iter().map(nested_brief).collect::<Vec<_>>().join(", ")),
        v => show::show(v),
    };
    match text.char_indices().nth(LONG) {
        Some((at, _)) => format!("{} … ({} characters more)", &text[..at], text[at..].chars().count()),
        None => text,
    }
}

/// Records and tuples are as deep as types: not deep.
fn nested_brief(v: &Value) -> String {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || brief(v))
}

/// `[0, 1, 2, …, 7, 8, 9]`, on every axis.
fn ends(a: &Array) -> String {
    let part = |i: usize| match array::elem(a, i) {
        Value::Array(row) if !row.shape.is_empty() => ends(&row),
        other => nested_brief(&other),
    };
    let n = a.len();
    let parts: Vec<String> = match n > 2 * EDGE + 1 {
        true => (0..EDGE).map(part).chain(["…".to_owned()]).chain((n - EDGE..n).map(part)).collect(),
        false => (0..n).map(part).collect(),
    };
    format!("[{}]", parts.join(", "))
}

/// Lines of a value.
fn lay(v: &Value, width: usize, depth: usize) -> Vec<String> {
    if let Some(t) = short(v, width).filter(|_| !is_matrix(v) && !is_table(v)) {
        return vec![t];
    }
    if depth > 8 {
        return vec![brief(v)];
    }
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match v {
        _ if is_table(v) => table(v, width),
        Value::Array(a) if a.shape.len() == 1 => vector(a, width, depth),
        Value::Array(a) if a.shape.len() == 2 => matrix(a, width),
        Value::Array(a) => slices(a, width, depth),
        Value::Record(r) => r.names.iter().zip(&r.vals).flat_map(|(n, v)| part(&format!("{n} ="), v, width, depth)).collect(),
        Value::Tuple(t) => t.0.iter().enumerate().flat_map(|(i, v)| part(&format!("({i})"), v, width, depth)).collect(),
        Value::Data(d) if d.con.name.as_str() != "Cons" => {
            let fields = d.fields.iter().flat_map(|f| lay(f, width.saturating_sub(2).max(20), depth + 1)).map(|l| format!("  {l}"));
            std::iter::once(d.con.name.to_string()).chain(fields).collect()
        }
        v => vec![brief(v)],
    })
}

/// A part under its name: beside it if there is room, else indented below.
fn part(name: &str, v: &Value, width: usize, depth: usize) -> Vec<String> {
    let inner = lay(v, width.saturating_sub(2).max(20), depth + 1);
    match inner.as_slice() {
        [one] if name.chars().count() + 1 + one.chars().count() <= width => vec![format!("{name} {one}")],
        _ => std::iter::once(name.to_owned()).chain(inner.into_iter().map(|l| format!("  {l}"))).collect(),
    }
}

/// One element as a cell of a grid.
fn cell(a: &Array, i: usize) -> String {
    match a.buf() {
        Buf::F64(v) => show::float(v[i]),
        Buf::F32(v) => show::float32(v[i]),
        Buf::I64(v) => v[i].to_string(),
        Buf::Bool(v) => v[i].to_string(),
        Buf::Boxed(v) => clip(&brief(&v[i])),
        Buf::Unit => "()".into(),
        Buf::Tuple(_) | Buf::Record(..) => clip(&nested_brief(&array::elem(a, i))),
    }
}

fn clip(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Numbers in as many columns as fit, each row led by the index of its first.
fn vector(a: &Array, width: usize, depth: usize) -> Vec<String> {
    let n = a.len();
    if a.kind() == Kind::Boxed && depth < 8 && (0..n.min(ROWS)).any(|i| short(&array::elem(a, i), 38).is_none()) {
        return picked(n, 8).into_iter().flat_map(|i| i.map_or(vec!["…".to_owned()], |i| part(&format!("[{i}]"), &array::elem(a, i), width, depth))).collect();
    }
    let lead = n.to_string().len() + 4;
    // Widths are those of what will be seen: what fits at the narrowest.
    let seen = picked(n, ROWS * width / 2);
    let cells: Vec<Option<String>> = seen.iter().map(|i| i.map(|i| cell(a, i))).collect();
    let widest = cells.iter().flatten().map(|c| c.chars().count()).max().unwrap_or(1);
    let across = ((width.saturating_sub(lead) + 2) / (widest + 2)).max(1);
    let rows = n.div_ceil(across);
    picked(rows, ROWS)
        .into_iter()
        .map(|r| match r {
            None => "…".to_owned(),
            Some(r) => {
                let cells: Vec<String> = (r * across..((r + 1) * across).min(n)).map(|i| format!("{:>widest$}", cell(a, i))).collect();
                format!("{:<lead$}{}", format!("[{}]", r * across), cells.join("  "))
            }
        })
        .collect()
}

fn matrix(a: &Array, width: usize) -> Vec<String> {
    let (n, k) = (a.shape[0], a.shape[1]);
    let rows = picked(n, ROWS);
    let text = |i: &Option<usize>, j: &Option<usize>| match (i, j) {
        (Some(i), Some(j)) => cell(a, i * k + j),
        _ => "…".to_owned(),
    };
    // As many columns as fit; each takes three characters at least.
    let mut most = k.min(width / 3).max(2);
    loop {
        let columns = picked(k, most);
        let cells: Vec<Vec<String>> = rows.iter().map(|i| columns.iter().map(|j| text(i, j)).collect()).collect();
        let lines = align(&cells);
        if most <= 3 || lines.iter().all(|l| l.chars().count() <= width) {
            return lines;
        }
        most = (most * 4 / 5).max(3);
    }
}

/// Arrays of three axes and more, slice by slice.
fn slices(a: &Array, width: usize, depth: usize) -> Vec<String> {
    let mut out = Vec::new();
    for i in picked(a.len(), 4) {
        match i {
            None => out.push("…".to_owned()),
            Some(i) => {
                out.push(format!("[{i}]"));
                out.extend(lay(&array::elem(a, i), width.saturating_sub(2).max(20), depth + 1).into_iter().map(|l| format!("  {l}")));
            }
        }
    }
    out
}

/// Names and columns of a record of vectors of one length, or of a vector of records or tuples.
pub fn columns(v: &Value) -> Option<Vec<(String, &Array)>> {
    fn flat(v: &Value) -> Option<&Array> {
        match v {
            Value::Array(a) if a.shape.len() == 1 && a.len() > 1 && !matches!(a.kind(), Kind::Tuple | Kind::Record) => Some(a),
            _ => None,
        }
    }
    let named: Option<Vec<(String, &Array)>> = match v {
        Value::Record(r) => r.names.iter().zip(&r.vals).map(|(n, v)| Some((n.to_string(), flat(v)?))).collect(),
        Value::Array(a) if a.shape.len() == 1 => match a.buf() {
            Buf::Record(names, vals) => names.iter().zip(vals).map(|(n, v)| Some((n.to_string(), flat(v)?))).collect(),
            Buf::Tuple(vals) => vals.iter().enumerate().map(|(i, v)| Some((format!("({i})"), flat(v)?))).collect(),
            _ => None,
        },
        _ => None,
    };
    named.filter(|c| !c.is_empty() && c.iter().all(|(_, a)| a.len() == c[0].1.len()))
}

fn table(v: &Value, width: usize) -> Vec<String> {
    let columns = columns(v).unwrap_or_default();
    let n = columns.first().map_or(0, |(_, a)| a.len());
    let rows = picked(n, ROWS);
    let mut most = columns.len();
    loop {
        let shown = picked(columns.len(), most);
        let head: Vec<String> = shown.iter().map(|j| j.map_or("…".to_owned(), |j| columns[j].0.clone())).collect();
        let body = rows.iter().map(|i| {
            shown.iter().map(|j| match (i, j) {
                (Some(i), Some(j)) => cell(columns[*j].1, *i),
                _ => "…".to_owned(),
            }).collect()
        });
        let lines = align(&std::iter::once(head).chain(body).collect::<Vec<_>>());
        if most <= 3 || lines.iter().all(|l| l.chars().count() <= width) {
            return lines;
        }
        most = (most * 4 / 5).max(3);
    }
}

/// The first and last of many; `None` stands for those between.
fn picked(n: usize, limit: usize) -> Vec<Option<usize>> {
    if n <= limit {
        return (0..n).map(Some).collect();
    }
    let half = limit.div_ceil(2);
    (0..half).map(Some).chain([None]).chain((n - (limit - half)..n).map(Some)).collect()
}

fn align(rows: &[Vec<String>]) -> Vec<String> {
    let width = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..width).map(|j| rows.iter().map(|r| r[j].chars().count()).max().unwrap_or(0)).collect();
    let row = |r: &Vec<String>| r.iter().zip(&widths).map(|(c, w)| format!("{c:>w$}")).collect::<Vec<_>>().join("  ");
    rows.iter().map(row).collect()
}

fn cut_lines(mut lines: Vec<String>) -> Vec<String> {
    if lines.len() > LINES {
        let more = lines.len() - LINES;
        lines.truncate(LINES);
        lines.push(format!("… ({more} lines more)"));
    }
    lines
}

fn indented(lines: &[String], by: usize) -> String {
    lines.iter().map(|l| format!("{:by$}{l}", "")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(shown: Value) -> Echo {
        Echo { name: None, ty: "T".into(), shown }
    }

    fn matrix_of(shape: &[usize]) -> Value {
        array::make(shape.iter().copied().collect(), Buf::I64((0..shape.iter().product::<usize>() as i64).collect()))
    }

    #[test]
    fn short_values_stand_on_one_line() {
        assert_eq!(echo(array::ints(vec![1, 2])).screen(80), "[1, 2] : T");
        assert_eq!(echo(Value::Float(1.0)).screen(80), "1.0 : T");
    }

    #[test]
    fn matrices_are_aligned() {
        let m = array::make([2, 2].into_iter().collect(), Buf::F64(vec![1.0, 10.0, 100.5, 2.0]));
        assert_eq!(echo(m).screen(80), ": T\n    1.0  10.0\n  100.5   2.0");
    }

    #[test]
    fn nothing_is_wider_than_the_screen_or_longer() {
        for shape in [&[1000][..], &[100, 100], &[7, 8, 9], &[2, 300], &[300, 2], &[3, 3, 3, 3]] {
            for width in [20, 40, 80, 200] {
                let text = echo(matrix_of(shape)).screen(width);
                let lines: Vec<&str> = text.lines().collect();
                assert!(lines.len() <= LINES + 2, "{shape:?} {width}: {text}");
                assert!(lines.iter().all(|l| l.chars().count() <= width.max(24)), "{shape:?} {width}: {text}");
            }
        }
    }

    #[test]
    fn long_vectors_show_their_ends() {
        assert_eq!(echo(array::ints((0..2000).collect())).line(), "[0, 1, 2, …, 1997, 1998, 1999] : T");
        let screen = echo(array::ints((0..2000).collect())).screen(80);
        assert!(screen.contains("[0]") && screen.contains("1999") && screen.contains('…'), "{screen}");
    }
}

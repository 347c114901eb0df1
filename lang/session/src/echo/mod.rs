//! Echoes: a value on one line, or laid out for a screen.

pub(crate) mod extent;
mod grid;
pub(crate) mod wrapping;

pub use grid::columns;
pub use wrapping::{width, wrapped, wrapped_type};

use crate::limits::echo::{LINES, NAMED, NARROW, ROWS, TYPE};
use adl_interp::fault;
use adl_interp::ir::derive::table;
use adl_interp::value::interactive::{self, Interactive};
use adl_interp::value::{Array, Kind, Value, array, maps_and_sets, show};
use adl_syntax::field_order;
use adl_typing::print;
use adl_typing::ty::Ty;
use wrapping::{brief, clip, large, short, summary};

/// The displayed result of an item.
#[derive(Clone, Debug)]
pub struct Echo {
    /// The defined name; `None` for an expression.
    pub name: Option<String>,
    /// What a function is called, and where it was defined.
    pub called: Option<String>,
    /// Its type as text, with actual sizes.
    pub ty: String,
    /// Its type, if known, for the types of functions inside the value.
    pub of: Option<Ty>,
    /// The value.
    pub shown: Value,
}

/// The available width, and whether the entire value is shown.
#[derive(Clone, Copy)]
struct DisplayWidth {
    columns: usize,
    all: bool,
}

impl DisplayWidth {
    fn of(columns: usize) -> DisplayWidth {
        DisplayWidth { columns, all: false }
    }

    fn all(columns: usize) -> DisplayWidth {
        DisplayWidth { columns, all: true }
    }

    /// The limit `most`, or no limit if the entire value is shown.
    fn most(self, most: usize) -> usize {
        if self.all { usize::MAX } else { most }
    }
}

impl Echo {
    /// The parts of a value of type `Interactive`, and the echo of its value where the controls stand.
    pub fn interactive(&self) -> Option<(Interactive, Echo)> {
        let parts = interactive::inside(&self.shown)?;
        let of = match &self.of {
            Some(Ty::Data(_, args)) => args.first().cloned(),
            _ => None,
        };
        let ty = of.as_ref().map_or_else(String::new, print::ty);
        let shown = parts.shown.clone();
        Some((parts, Echo { name: None, called: None, ty, of, shown }))
    }

    /// The value of an interactive one below a line with its parameters; a definition only by its type.
    fn where_it_stands(&self, text: impl Fn(&Echo) -> String) -> Option<String> {
        let (parts, echo) = self.interactive()?;
        let line = parts.line(&parts.start());
        Some(match &self.name {
            Some(n) => format!("{n} : {}", self.ty),
            None if line.is_empty() => text(&echo),
            None => format!("{line}\n{}", text(&echo)),
        })
    }

    /// The whole value on one line.
    pub fn value(&self) -> String {
        show::show(&self.shown)
    }

    /// `value : type` on one line, exact and unabridged, as `adl -e` prints.
    pub fn whole(&self) -> String {
        fault::point(fault::PanicPoint::Renderer);
        if let Some(text) = self.where_it_stands(Echo::whole) {
            return text;
        }
        self.there(self.with_name(&show::typed(&self.shown, self.of.as_ref())))
    }

    /// On one line, abridged.
    pub fn line(&self) -> String {
        fault::point(fault::PanicPoint::Renderer);
        if let Some(text) = self.where_it_stands(Echo::line) {
            return text;
        }
        if let (Value::Array(a), true) = (&self.shown, large(&self.shown)) {
            return self.there(self.summary(a, usize::MAX));
        }
        self.there(self.with_name(&brief(&self.shown, self.of.as_ref())))
    }

    /// Laid out for a screen of the given width.
    pub fn screen(&self, columns: usize) -> String {
        fault::point(fault::PanicPoint::Renderer);
        let inner = self.where_it_stands(|e| e.screen(columns));
        inner.unwrap_or_else(|| self.there(self.laid(columns)))
    }

    /// All elements, on as many lines as necessary. Rows of numbers in columns are not wrapped.
    pub fn all(&self, columns: usize) -> String {
        if let Some(text) = self.where_it_stands(|e| e.all(columns)) {
            return text;
        }
        let one = || show::typed(&self.shown, self.of.as_ref());
        if matches!(self.shown, Value::Fun(_))
            || wrapping::leaves(&self.shown, columns) <= columns && width(&one()) <= columns
        {
            return self.there(self.with_name(&one()));
        }
        let lines = match &self.shown {
            v if is_table(v) => grid::table(v, DisplayWidth::all(columns)),
            Value::Array(a) if is_matrix(&self.shown) && a.shape.len() == 2 => {
                grid::matrix(a, DisplayWidth::all(columns), usize::MAX)
            }
            Value::Array(a) if is_matrix(&self.shown) => grid::slices(a, DisplayWidth::all(columns)),
            Value::Array(a) if a.shape.len() == 1 && a.kind() != Kind::Boxed => {
                grid::vector(a, DisplayWidth::all(columns))
            }
            _ => wrapped_type(&one(), columns.max(NARROW), 2),
        };
        self.there(format!("{}\n{}", self.head(columns), lines.join("\n")))
    }

    fn laid(&self, columns: usize) -> String {
        if let Some(table) = table::of(&self.shown) {
            return format!(
                "{}\n{}",
                self.head(columns),
                indented(&table.lines().map(str::to_owned).collect::<Vec<_>>(), 2)
            );
        }
        let inside = columns.saturating_sub(2).max(NARROW);
        match short(&self.shown, self.of.as_ref(), inside) {
            Some(text) if !is_matrix(&self.shown) && !is_table(&self.shown) => {
                wrapped_type(&self.with_name(&text), columns.max(NARROW), 4).join("\n")
            }
            _ if matches!(self.shown, Value::Fun(_)) => {
                wrapped_type(&self.with_name(""), columns.max(NARROW), 4).join("\n")
            }
            _ => self.in_lines(columns, lay(&self.shown, self.of.as_ref(), inside, 0)),
        }
    }

    /// A value of several lines. A definition whose value is too long shows only its type.
    fn in_lines(&self, columns: usize, lines: Vec<String>) -> String {
        match &self.shown {
            _ if self.name.is_none() || lines.len() <= NAMED => {
                format!("{}\n{}", self.head(columns), indented(&cut_lines(lines), 2))
            }
            Value::Array(a) => wrapped_type(&self.summary(a, columns), columns.max(NARROW), 4).join("\n"),
            _ => self.head(columns),
        }
    }

    /// An array on one line, with the range of its numbers.
    fn summary(&self, a: &Array, columns: usize) -> String {
        let name = self.name.as_ref().map_or(String::new(), |n| format!("{n} = "));
        format!("{name}{}", summary(a, &format!(" : {}", self.ty), columns.saturating_sub(width(&name))))
    }

    /// A text of the value; or the reason why the value could not be copied from its device.
    fn there(&self, text: String) -> String {
        adl_interp::failure().map_or(text, |e| self.with_name(&format!("<{}>", e.diag.message)))
    }

    /// The line `name : type` above a laid-out value; long types are wrapped.
    fn head(&self, columns: usize) -> String {
        let name = self.name.as_ref().map_or(String::new(), |n| format!("{n} "));
        let ty = if table::is_cost(&self.shown) { "Cost" } else { &self.ty };
        let about = match &self.shown {
            Value::Array(a) if a.shape.iter().product::<usize>() > ROWS * ROWS || extent::has_none(a) => {
                extent::of(a).map_or(String::new(), |e| format!(", {e}"))
            }
            _ => String::new(),
        };
        let mut lines = wrapped_type(&format!("{name}: {ty}{about}"), columns.max(NARROW), 4);
        if lines.len() > TYPE {
            lines.truncate(TYPE);
            let last = lines.pop().unwrap_or_default();
            lines.push(clip(&format!("{last} …"), columns.max(NARROW)));
        }
        lines.join("\n")
    }

    fn with_name(&self, value: &str) -> String {
        match (&self.name, &self.shown) {
            _ if table::of(&self.shown).is_some() => format!("{}\n{value}", self.head(usize::MAX)),
            (Some(n), Value::Fun(_)) => format!("{n} : {}", self.ty),
            // The type of a function says all that there is to see.
            (None, Value::Fun(_)) => {
                format!("<fun{}> : {}", self.called.as_ref().map_or(String::new(), |n| format!(" {n}")), self.ty)
            }
            (Some(n), _) => format!("{n} = {value} : {}", self.ty),
            (None, _) => format!("{value} : {}", self.ty),
        }
    }
}

fn is_matrix(v: &Value) -> bool {
    matches!(v, Value::Array(a) if a.shape.len() >= 2 && a.shape[0] > 1 && !a.shape.contains(&0))
}

fn is_table(v: &Value) -> bool {
    columns(v).is_some()
}

/// The lines of a laid-out value.
fn lay(value: &Value, ty: Option<&Ty>, columns: usize, depth: usize) -> Vec<String> {
    if let Some(t) = short(value, ty, columns).filter(|_| !is_matrix(value) && !is_table(value)) {
        return vec![t];
    }
    if depth > 8 {
        return wrapped(&brief(value, ty), columns, 2);
    }
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match value {
        _ if is_table(value) => grid::table(value, DisplayWidth::of(columns)),
        Value::Array(a) if a.shape.contains(&0) => wrapped(&brief(value, ty), columns, 2),
        Value::Array(a) if a.shape.len() == 1 => vector(a, columns, depth),
        Value::Array(a) if a.shape.len() == 2 => grid::matrix(a, DisplayWidth::of(columns), ROWS),
        Value::Array(a) => grid::slices(a, DisplayWidth::of(columns)),
        Value::Record(r) => {
            let field =
                |i: usize| part(&format!("{} =", r.names[i]), &r.vals[i], show::field(ty, r.names[i]), columns, depth);
            field_order::shown(&r.names).into_iter().flat_map(field).collect()
        }
        Value::Tuple(t) => {
            t.0.iter()
                .enumerate()
                .flat_map(|(i, v)| part(&format!("({i})"), v, show::component(ty, i), columns, depth))
                .collect()
        }
        Value::Data(d) if d.con.name.as_str() != "Cons" && !maps_and_sets::is_tree(value) => {
            let fields = d
                .fields
                .iter()
                .flat_map(|f| lay(f, None, columns.saturating_sub(2).max(NARROW), depth + 1))
                .map(|l| format!("  {l}"));
            std::iter::once(d.con.name.to_string()).chain(fields).collect()
        }
        v => wrapped(&brief(v, ty), columns, 2),
    })
}

/// A component with its name: beside it if it fits, otherwise indented below.
fn part(name: &str, v: &Value, ty: Option<&Ty>, columns: usize, depth: usize) -> Vec<String> {
    let inner = lay(v, ty, columns.saturating_sub(2).max(NARROW), depth + 1);
    match inner.as_slice() {
        [one] if width(name) + 1 + width(one) <= columns => {
            vec![format!("{name} {}", if is_number(v) { wrapping::inner(v, ty) } else { one.clone() })]
        }
        _ => std::iter::once(name.to_owned()).chain(inner.into_iter().map(|l| format!("  {l}"))).collect(),
    }
}

/// Whether a component is a single number, which is shown in full precision when alone.
fn is_number(v: &Value) -> bool {
    matches!(v, Value::Float(_) | Value::F32(_))
}

/// Numbers in as many columns as fit; larger elements below each other.
fn vector(a: &Array, columns: usize, depth: usize) -> Vec<String> {
    let n = a.len();
    if a.kind() == Kind::Boxed && depth < 8 && (0..n.min(ROWS)).any(|i| short(&array::elem(a, i), None, 38).is_none()) {
        return picked(n, NAMED)
            .into_iter()
            .flat_map(|i| {
                i.map_or(vec!["…".to_owned()], |i| part(&format!("[{i}]"), &array::elem(a, i), None, columns, depth))
            })
            .collect();
    }
    grid::vector(a, DisplayWidth::of(columns))
}

/// The indices of the first and last elements; `None` stands for those omitted.
fn picked(n: usize, limit: usize) -> Vec<Option<usize>> {
    if n <= limit {
        return (0..n).map(Some).collect();
    }
    let half = limit.div_ceil(2);
    (0..half).map(Some).chain([None]).chain((n - (limit - half)..n).map(Some)).collect()
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

//! Costs beside the source: one row per line, with a bar for its work in three parts and a bar for what it stores.

use crate::colour::Theme;
use crate::font;
use crate::scale::short;
use crate::scene::{Anchor, Frame, Scene, Shape};
use adl_interp::ir::derive::table::{self, field};
use adl_interp::value::{Array, Buf, Value, array, show};

/// The maximal number of rows; of longer sources, those with the most work are shown.
const ROWS: usize = 40;
/// The layout from the left: line numbers, source, bars of work, bars of bytes.
const WIDTH: f64 = 860.0;
const SOURCE: f64 = 52.0;
const WORK: f64 = 420.0;
const BYTES: f64 = 700.0;
const ROW: f64 = 22.0;
const HEAD: f64 = 84.0;
const SMALL: f64 = 11.0;
/// The space for the number after a bar.
const NUMBER: f64 = 58.0;
/// The maximal number of reduction rules that are listed.
const RULES: usize = 12;

/// The contents of a value of type `Cost`.
#[derive(Clone, Debug)]
pub struct Cost {
    function: String,
    ratio: f64,
    bound: f64,
    rows: Vec<CostRow>,
    left_out: usize,
    /// The derivative rule of each reduction, as text.
    rules: Vec<String>,
    /// The same data as a text table.
    pub table: String,
}

/// A line of source.
#[derive(Clone, Debug)]
struct CostRow {
    line: i64,
    source: String,
    /// The work of the primal, tangent and adjoint.
    work: [f64; 3],
    bytes: f64,
}

/// The cost in a value.
pub fn read(value: &Value) -> Option<Cost> {
    let Value::Array(lines) = field(value, "lines")? else { return None };
    let real = |n: &str| match field(value, n) {
        Some(Value::Float(x)) => Some(*x),
        _ => None,
    };
    let (ratio, bound) = (real("ratio")?, real("bound")?);
    let mut rows = rows(lines)?;
    let left_out = rows.len().saturating_sub(ROWS);
    if left_out > 0 {
        rows.sort_by(|a, b| b.work.iter().sum::<f64>().total_cmp(&a.work.iter().sum()));
        rows.truncate(ROWS);
        rows.sort_by_key(|r| r.line);
    }
    Some(Cost {
        function: field(value, "function").map_or(String::new(), show::plain),
        ratio,
        bound,
        rows,
        left_out,
        rules: rules(value),
        table: table::cost(value)?,
    })
}

fn rules(v: &Value) -> Vec<String> {
    let Some(Value::Array(a)) = field(v, "rules") else { return Vec::new() };
    let rule = |k: usize| {
        let r = array::elem(a, k);
        let text = |n: &str| field(&r, n).map_or(String::new(), show::plain);
        let why = if text("why").is_empty() { String::new() } else { format!("; {}", text("why")) };
        format!("{} at line {}: {}{why}", text("construct"), text("line"), text("rule"))
    };
    (0..a.len().min(RULES)).map(rule).collect()
}

fn rows(lines: &Array) -> Option<Vec<CostRow>> {
    let Buf::Record(names, columns) = lines.buf() else { return (lines.is_empty()).then(Vec::new) };
    let column = |n: &str| names.iter().position(|m| m.as_str() == n).and_then(|k| columns.get(k));
    let ints = |n: &str| match column(n)? {
        Value::Array(a) => match a.buf() {
            Buf::I64(v) => Some(v.clone()),
            _ => None,
        },
        _ => None,
    };
    let sources: Vec<String> = match column("source")? {
        Value::Array(a) => match a.buf() {
            Buf::Boxed(v) => v.iter().map(show::plain).collect(),
            _ => return None,
        },
        _ => return None,
    };
    let (line, primal, tangent, adjoint, bytes) =
        (ints("line")?, ints("primal")?, ints("tangent")?, ints("adjoint")?, ints("bytes")?);
    let row = |(k, source): (usize, String)| {
        Some(CostRow {
            line: *line.get(k)?,
            source,
            work: [*primal.get(k)? as f64, *tangent.get(k)? as f64, *adjoint.get(k)? as f64],
            bytes: *bytes.get(k)? as f64,
        })
    };
    sources.into_iter().enumerate().map(row).collect()
}

impl Cost {
    /// Width and height in pixels.
    pub fn size(&self) -> (f64, f64) {
        (WIDTH, HEAD + ROW * self.rows.len().max(1) as f64 + 36.0 + 18.0 * self.rules.len() as f64)
    }

    /// The cost as a scene.
    pub fn scene(&self, theme: Theme) -> Scene {
        let ink = theme.ink();
        let (width, height) = self.size();
        let mut shapes = vec![Shape::text(
            (16.0, 22.0),
            font::cut(&format!("cost of {}", self.function), 15.0, width - 32.0),
            15.0,
            Anchor::Start,
            ink.ink,
        )];
        shapes.push(Shape::Group("legend", self.legend(theme)));
        let most = self.rows.iter().map(|r| r.work.iter().sum()).fold(1.0, f64::max);
        let bytes = self.rows.iter().map(|r| r.bytes).fold(1.0, f64::max);
        for (k, r) in self.rows.iter().enumerate() {
            shapes.push(Shape::Group("line", r.shapes(theme, HEAD + (k as f64 + 0.5) * ROW, most, bytes)));
        }
        let more = if self.left_out > 0 {
            format!("; {} lines with less work are not shown", self.left_out)
        } else {
            String::new()
        };
        let text = format!(
            "value and gradient: {:.2} times the value's work; the bound is {:.2}{more}",
            self.ratio, self.bound
        );
        for (k, line) in self.rules.iter().chain([&text]).enumerate() {
            let line = font::cut(line, SMALL, width - 32.0);
            shapes.push(Shape::text(
                (16.0, height - 18.0 - 18.0 * (self.rules.len() - k) as f64),
                line,
                SMALL,
                Anchor::Start,
                ink.soft,
            ));
        }
        Scene { width, height, paper: ink.paper, title: format!("cost of {}", self.function), shapes }
    }

    fn legend(&self, theme: Theme) -> Vec<Shape> {
        let ink = theme.ink();
        let mut out = Vec::new();
        let mut x = WORK;
        for (name, colour) in ["primal", "tangent", "adjoint"].into_iter().zip(ink.series) {
            out.push(Shape::Rect { frame: Frame { x, y: 53.0, w: 12.0, h: 10.0 }, fill: colour, opacity: 1.0 });
            out.push(Shape::text((x + 17.0, 58.0), name, SMALL, Anchor::Start, ink.ink));
            x += 32.0 + font::width(name, SMALL);
        }
        out.push(Shape::Rect {
            frame: Frame { x: BYTES, y: 53.0, w: 12.0, h: 10.0 },
            fill: ink.series[3],
            opacity: 1.0,
        });
        out.push(Shape::text((BYTES + 17.0, 58.0), "bytes stored", SMALL, Anchor::Start, ink.ink));
        out.push(Shape::text((SOURCE - 12.0, 58.0), "line", SMALL, Anchor::End, ink.soft));
        out.push(Shape::grid((16.0, 72.0), (WIDTH - 16.0, 72.0), &ink));
        out
    }
}

impl CostRow {
    fn shapes(&self, theme: Theme, middle: f64, most: f64, most_bytes: f64) -> Vec<Shape> {
        let ink = theme.ink();
        let mut out = Vec::new();
        if self.line > 0 {
            out.push(Shape::text((SOURCE - 12.0, middle), self.line.to_string(), SMALL, Anchor::End, ink.soft));
        }
        out.push(Shape::text(
            (SOURCE, middle),
            font::cut(&self.source, SMALL, WORK - SOURCE - 14.0),
            SMALL,
            Anchor::Start,
            ink.ink,
        ));
        let room = BYTES - WORK - NUMBER - 14.0;
        let mut edge = WORK;
        for (work, fill) in self.work.into_iter().zip(ink.series) {
            let w = work / most * room;
            if w > 0.0 {
                out.push(Shape::Rect { frame: Frame { x: edge, y: middle - 7.0, w, h: 14.0 }, fill, opacity: 1.0 });
            }
            edge += w;
        }
        out.push(Shape::text((edge + 5.0, middle), short(self.work.iter().sum()), SMALL, Anchor::Start, ink.soft));
        if self.bytes > 0.0 {
            let w = self.bytes / most_bytes * (WIDTH - 16.0 - BYTES - NUMBER);
            out.push(Shape::Rect {
                frame: Frame { x: BYTES, y: middle - 7.0, w, h: 14.0 },
                fill: ink.series[3],
                opacity: 1.0,
            });
            out.push(Shape::text((BYTES + w + 5.0, middle), short(self.bytes), SMALL, Anchor::Start, ink.soft));
        }
        out
    }
}

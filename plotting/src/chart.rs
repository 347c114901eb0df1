//! Plots as data, read from values of type `Plot`.

use crate::colour::Theme;
use adl_interp::ir::derive::table::field;
use adl_interp::value::{Array, Buf, Value, plot, seq};

/// The maximal nesting depth of plots in plots.
const DEPTH: usize = 4;

/// A plot as described by a program.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// The layers, from the back to the front.
    pub layers: Vec<Layer>,
    /// Subplots; if there are any, there are no layers.
    pub facets: Vec<Chart>,
    /// The number of subplots per row.
    pub columns: usize,
    /// The colour map of heights.
    pub colour_map: String,
    /// Whether both axes have the same scale.
    pub equal: bool,
    /// Whether the legend is shown.
    pub legend: bool,
    /// Whether the x and y axes are logarithmic.
    pub log: (bool, bool),
    /// Width and height in pixels, if given.
    pub size: Option<(f64, f64)>,
    /// The theme, if given.
    pub theme: Option<Theme>,
    /// The title.
    pub title: String,
    /// The labels of the x and y axes.
    pub labels: (String, String),
    /// The limits of the x and y axes, if given.
    pub limits: (Option<(f64, f64)>, Option<(f64, f64)>),
}

/// The kinds of layers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
pub enum LayerKind {
    #[default]
    Line,
    Scatter,
    Area,
    Band,
    Bars,
    Stacked,
    Hist,
    Box,
    Heatmap,
    Contour,
    Quiver,
    Surface,
    Path,
    Stem,
    Across,
    Upright,
    Text,
}

/// Something drawn on the axes.
#[derive(Clone, Debug, Default)]
pub struct Layer {
    /// Its kind.
    pub kind: LayerKind,
    /// Its name in the legend.
    pub name: String,
    /// Its colour as given by the program.
    pub colour: String,
    /// Whether the line is dashed.
    pub dashed: bool,
    /// Whether each point of the line has a marker.
    pub markers: bool,
    /// The line width in pixels; 0 if not given.
    pub width: f64,
    /// The x coordinates.
    pub x: Vec<f64>,
    /// The y coordinates.
    pub y: Vec<f64>,
    /// The x components of arrows; or the number of intervals of a histogram.
    pub u: Vec<f64>,
    /// The y components of arrows; or the upper edge of a band.
    pub v: Vec<f64>,
    /// Categories, or texts.
    pub words: Vec<String>,
    /// Heights on a grid.
    pub z: Grid,
}

/// A matrix.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// In row-major order.
    pub data: Vec<f64>,
}

impl Grid {
    /// An element; `nan` if out of bounds.
    pub fn at(&self, i: usize, j: usize) -> f64 {
        if j < self.columns { self.data.get(i * self.columns + j).copied().unwrap_or(f64::NAN) } else { f64::NAN }
    }
}

/// The plot in a value.
pub fn read(v: &Value) -> Option<Chart> {
    plot::inside(v).map(|r| chart(r, 0))
}

fn chart(record: &Value, depth: usize) -> Chart {
    let flag = |n: &str| matches!(field(record, n), Some(Value::Bool(true)));
    let size = match field(record, "size") {
        Some(Value::Tuple(t)) => t.0.iter().map(int).collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    Chart {
        layers: plot::layers(record).into_iter().filter_map(layer).collect(),
        facets: if depth < DEPTH { facets(record, depth) } else { Vec::new() },
        columns: field(record, "columns").map_or(1, |v| int(v).max(1) as usize),
        colour_map: text(record, "colour_map"),
        equal: flag("equal"),
        legend: flag("legend"),
        log: (flag("log_x"), flag("log_y")),
        size: match size[..] {
            [w, h] if w > 0 && h > 0 => Some((w as f64, h as f64)),
            _ => None,
        },
        theme: match text(record, "theme").as_str() {
            "dark" => Some(Theme::Dark),
            "light" => Some(Theme::Light),
            _ => None,
        },
        title: text(record, "title"),
        labels: (text(record, "x_label"), text(record, "y_label")),
        limits: (limits(record, "x_limits"), limits(record, "y_limits")),
    }
}

fn facets(r: &Value, depth: usize) -> Vec<Chart> {
    match field(r, "facets") {
        Some(Value::Array(a)) => match a.buf() {
            Buf::Boxed(vs) => vs.iter().filter_map(plot::inside).map(|r| chart(r, depth + 1)).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn int(v: &Value) -> i64 {
    if let Value::Int(n) = v { *n } else { 0 }
}

fn text(r: &Value, name: &str) -> String {
    match field(r, name) {
        Some(Value::Str(s)) => s.to_string(),
        _ => String::new(),
    }
}

fn limits(r: &Value, name: &str) -> Option<(f64, f64)> {
    let Some(Value::Data(d)) = field(r, name) else { return None };
    match d.fields.first() {
        Some(Value::Tuple(t)) => match t.0[..] {
            [Value::Float(a), Value::Float(b)] if a < b => Some((a, b)),
            _ => None,
        },
        _ => None,
    }
}

fn layer(record: &Value) -> Option<Layer> {
    let numbers = |n: &str| field(record, n).map_or(Vec::new(), |v| floats(v).to_vec());
    let flag = |n: &str| matches!(field(record, n), Some(Value::Bool(true)));
    let kind = kind(&text(record, "kind"))?;
    let width = match field(record, "width") {
        Some(Value::Float(w)) => *w,
        _ => 0.0,
    };
    let words = match field(record, "words") {
        Some(Value::Array(a)) => strings(a),
        _ => Vec::new(),
    };
    let grid = match field(record, "z").and_then(seq::shape).map(|s| &s[..]) {
        Some([rows, columns]) => Grid { rows: *rows, columns: *columns, data: numbers("z") },
        _ => Grid::default(),
    };
    Some(Layer {
        kind,
        name: text(record, "name"),
        colour: text(record, "colour"),
        dashed: flag("dashed"),
        markers: flag("markers"),
        width,
        x: numbers("x"),
        y: numbers("y"),
        u: numbers("u"),
        v: numbers("v"),
        words,
        z: grid,
    })
}

/// The numbers of an array; of traced arrays the primal.
fn floats(v: &Value) -> &[f64] {
    match v {
        Value::Dual(d) => floats(&d.primal),
        plain => plot::floats(plain),
    }
}

fn strings(a: &Array) -> Vec<String> {
    match a.buf() {
        Buf::Boxed(vs) => vs.iter().map(adl_interp::value::show::plain).collect(),
        _ => Vec::new(),
    }
}

fn kind(name: &str) -> Option<LayerKind> {
    Some(match name {
        "line" => LayerKind::Line,
        "scatter" => LayerKind::Scatter,
        "area" => LayerKind::Area,
        "band" => LayerKind::Band,
        "bars" => LayerKind::Bars,
        "stacked" => LayerKind::Stacked,
        "hist" => LayerKind::Hist,
        "box" => LayerKind::Box,
        "heatmap" => LayerKind::Heatmap,
        "contour" => LayerKind::Contour,
        "quiver" => LayerKind::Quiver,
        "surface" => LayerKind::Surface,
        "path" => LayerKind::Path,
        "stem" => LayerKind::Stem,
        "hline" => LayerKind::Across,
        "vline" => LayerKind::Upright,
        "text" => LayerKind::Text,
        _ => return None,
    })
}

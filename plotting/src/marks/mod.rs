//! Layers as shapes, with one file for each family of kinds.

mod bars;
mod boxes;
mod contour;
mod grid;
mod lines;

pub use boxes::{Summary, summary};
pub use contour::lines;

use crate::chart::{Layer, LayerKind};
use crate::colour::Colour;
use crate::panel::Panel;
use crate::scene::{Point, Shape};

/// A layer with the data that all kinds of marks use.
pub struct LayerMarks<'p> {
    /// The axes.
    pub panel: &'p Panel<'p>,
    /// The layer to be drawn.
    pub layer: &'p Layer,
    /// Its position among the layers.
    pub index: usize,
    /// Its colour.
    pub colour: Colour,
    /// The number of values without a position in the picture.
    pub missing: usize,
    /// The number of points drawn as a density.
    pub dense: usize,
}

/// Remarks about what the marks do not show.
#[derive(Clone, Copy, Default)]
pub struct Remarks {
    /// The number of values that could not be drawn.
    pub missing: usize,
    /// The number of points drawn as a density.
    pub dense: usize,
}

impl Remarks {
    /// The remarks as text, if there are any.
    pub fn words(self) -> Option<String> {
        let missing = match self.missing {
            0 => None,
            1 => Some("1 value is not drawn".to_owned()),
            n => Some(format!("{} values are not drawn", grouped(n))),
        };
        let dense = (self.dense > 0).then(|| format!("density of {} points", grouped(self.dense)));
        match (missing, dense) {
            (Some(m), Some(d)) => Some(format!("{d}; {m}")),
            (m, d) => m.or(d),
        }
    }
}

/// `1,000,000`.
fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|g| std::str::from_utf8(g).ok()).collect();
    groups.join(",")
}

/// Whether a layer has so many points that it is drawn as a density.
pub fn crowded(layer: &Layer) -> bool {
    layer.kind == LayerKind::Scatter && layer.x.len().min(layer.y.len()) > lines::POINTS
}

/// The shapes of all layers.
pub fn all(panel: &Panel) -> (Vec<Shape>, Remarks) {
    let (mut out, mut remarks) = (Vec::new(), Remarks::default());
    for (index, layer) in panel.chart.layers.iter().enumerate() {
        let mut m = LayerMarks { panel, layer, index, colour: panel.colour(index), missing: 0, dense: 0 };
        let (class, shapes) = m.shapes();
        remarks.missing += m.missing;
        remarks.dense += m.dense;
        out.push(Shape::Group(class, shapes));
    }
    (out, remarks)
}

/// The opacity of a kind's shapes.
pub fn opacity(kind: LayerKind) -> f64 {
    match kind {
        LayerKind::Area => 0.35,
        LayerKind::Band => 0.25,
        LayerKind::Hist => 0.75,
        LayerKind::Box => 0.45,
        _ => 1.0,
    }
}

impl LayerMarks<'_> {
    fn shapes(&mut self) -> (&'static str, Vec<Shape>) {
        match self.layer.kind {
            LayerKind::Line => ("line", self.line()),
            LayerKind::Scatter => ("scatter", self.scatter()),
            LayerKind::Area => ("area", self.area()),
            LayerKind::Band => ("band", self.band()),
            LayerKind::Bars => ("bars", self.bars()),
            LayerKind::Stacked => ("stacked", self.stacked()),
            LayerKind::Hist => ("hist", self.hist()),
            LayerKind::Box => ("box", self.boxes()),
            LayerKind::Heatmap => ("heatmap", self.heatmap()),
            LayerKind::Contour => ("contour", self.contour()),
            LayerKind::Quiver => ("quiver", self.quiver()),
            LayerKind::Path => ("path", self.path()),
            LayerKind::Stem => ("stem", self.stems()),
            LayerKind::Across => ("hline", self.across()),
            LayerKind::Upright => ("vline", self.upright()),
            LayerKind::Text => ("text", self.text()),
            LayerKind::Surface => ("surface", Vec::new()),
        }
    }

    /// The width of the layer's lines.
    fn width(&self, default: f64) -> f64 {
        if self.layer.width > 0.0 { self.layer.width } else { default }
    }

    /// The point of a pair of numbers.
    fn place(&self, x: f64, y: f64) -> Option<Point> {
        let p = self.panel;
        if !x.is_finite() || !y.is_finite() {
            return None;
        }
        Some((p.x.at(x)?, p.y.at(y)?))
    }

    /// Runs of points that have positions; counts the others.
    fn runs(&mut self, ys: &[f64]) -> Vec<Vec<Point>> {
        let mut out: Vec<Vec<Point>> = Vec::new();
        let mut open = false;
        for (x, y) in self.layer.x.iter().zip(ys) {
            match self.place(*x, *y) {
                Some(p) => match out.last_mut() {
                    Some(run) if open => run.push(p),
                    _ => {
                        out.push(vec![p]);
                        open = true;
                    }
                },
                None => {
                    self.missing += 1;
                    open = false;
                }
            }
        }
        out
    }

    /// The pixel at which bars and similar marks begin: 0 if it is on the axis.
    fn ground(&self) -> f64 {
        let f = self.panel.frame;
        self.panel.y.at(0.0).unwrap_or(f.bottom()).clamp(f.y, f.bottom())
    }
}

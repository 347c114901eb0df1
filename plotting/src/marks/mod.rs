//! Layers as shapes, each kind in its family's file.

mod bars;
mod boxes;
mod contour;
mod grid;
mod lines;

use crate::chart::{Kind, Layer};
use crate::colour::Colour;
use crate::panel::Panel;
use crate::scene::{Point, Shape};

/// A layer with what its marks share.
pub struct Mark<'p> {
    /// The axes.
    pub panel: &'p Panel<'p>,
    /// What is drawn.
    pub layer: &'p Layer,
    /// Its position among the layers.
    pub index: usize,
    /// Its colour.
    pub colour: Colour,
    /// Values that have no place in the picture.
    pub missing: usize,
}

/// The shapes of all layers, and how many values could not be drawn.
pub fn all(panel: &Panel) -> (Vec<Shape>, usize) {
    let (mut out, mut missing) = (Vec::new(), 0);
    for (index, layer) in panel.chart.layers.iter().enumerate() {
        let mut m = Mark { panel, layer, index, colour: panel.colour(index), missing: 0 };
        let (class, shapes) = m.shapes();
        missing += m.missing;
        out.push(Shape::Group(class, shapes));
    }
    (out, missing)
}

/// How much of what lies behind them shapes of a kind hide.
pub fn opacity(kind: Kind) -> f64 {
    match kind {
        Kind::Area => 0.35,
        Kind::Band => 0.25,
        Kind::Hist => 0.75,
        Kind::Box => 0.45,
        _ => 1.0,
    }
}

impl Mark<'_> {
    fn shapes(&mut self) -> (&'static str, Vec<Shape>) {
        match self.layer.kind {
            Kind::Line => ("line", self.line()),
            Kind::Scatter => ("scatter", self.scatter()),
            Kind::Area => ("area", self.area()),
            Kind::Band => ("band", self.band()),
            Kind::Bars => ("bars", self.bars()),
            Kind::Stacked => ("stacked", self.stacked()),
            Kind::Hist => ("hist", self.hist()),
            Kind::Box => ("box", self.boxes()),
            Kind::Heatmap => ("heatmap", self.heatmap()),
            Kind::Contour => ("contour", self.contour()),
            Kind::Quiver => ("quiver", self.quiver()),
            Kind::Path => ("path", self.path()),
            Kind::Stem => ("stem", self.stems()),
            Kind::Across => ("hline", self.across()),
            Kind::Upright => ("vline", self.upright()),
            Kind::Text => ("text", self.text()),
            Kind::Surface => ("surface", Vec::new()),
        }
    }

    /// The width of the layer's lines.
    fn width(&self, default: f64) -> f64 {
        if self.layer.width > 0.0 { self.layer.width } else { default }
    }

    /// The place of a pair of numbers.
    fn place(&self, x: f64, y: f64) -> Option<Point> {
        let p = self.panel;
        if !x.is_finite() || !y.is_finite() {
            return None;
        }
        Some((p.x.at(x)?, p.y.at(y)?))
    }

    /// Runs of points that have places, and counts those that have none.
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

    /// Where what grows from 0 begins.
    fn ground(&self) -> f64 {
        let f = self.panel.frame;
        self.panel.y.at(0.0).unwrap_or(f.bottom()).clamp(f.y, f.bottom())
    }
}

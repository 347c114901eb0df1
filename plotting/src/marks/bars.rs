//! Bars, stacked bars, histograms.

use super::{LayerMarks, opacity};
use crate::chart::LayerKind;
use crate::range;
use crate::scene::{Frame, Shape};

/// The fraction of a category's width that its bars take.
const FULL: f64 = 0.8;

impl LayerMarks<'_> {
    /// A bar between two x coordinates and two heights, clipped to the frame.
    fn bar(&self, (left, right): (f64, f64), (a, b): (f64, f64)) -> Option<Shape> {
        let f = self.panel.frame;
        let (x0, x1) = (self.panel.x.at(left)?.max(f.x), self.panel.x.at(right)?.min(f.right()));
        let clamp = |v: f64| v.clamp(f.y, f.bottom());
        let (y0, y1) = (clamp(a.min(b)), clamp(a.max(b)));
        if x1 <= x0 {
            return None;
        }
        // Bars narrower than a pixel must stay visible.
        let frame = Frame { x: x0, y: y0, w: (x1 - x0).max(0.3), h: y1 - y0 };
        Some(Shape::Rect { frame, fill: self.colour, opacity: opacity(self.layer.kind) })
    }

    pub(super) fn bars(&mut self) -> Vec<Shape> {
        let layers = &self.panel.chart.layers;
        let beside = layers.iter().filter(|l| l.kind == LayerKind::Bars).count();
        let turn = layers[..self.index].iter().filter(|l| l.kind == LayerKind::Bars).count();
        let each = FULL / beside.max(1) as f64;
        let places = range::places(&self.panel.categories);
        let ground = self.ground();
        let mut out = Vec::new();
        for (w, v) in self.layer.words.iter().zip(&self.layer.y) {
            let Some(k) = places.get(w.as_str()) else { continue };
            match self.panel.y.at(*v).filter(|_| v.is_finite()) {
                Some(y) => {
                    let left = *k as f64 - FULL / 2.0 + turn as f64 * each;
                    out.extend(self.bar((left, left + each), (ground, y)));
                }
                None => self.missing += 1,
            }
        }
        out
    }

    pub(super) fn stacked(&mut self) -> Vec<Shape> {
        let places = range::places(&self.panel.categories);
        // The heights of the stacks so far at each position, upwards and downwards.
        let (mut up, mut down) = (vec![0.0f64; places.len()], vec![0.0f64; places.len()]);
        for l in self.panel.chart.layers[..self.index].iter().filter(|l| l.kind == LayerKind::Stacked) {
            for (w, v) in l.words.iter().zip(&l.y).filter(|p| p.1.is_finite()) {
                if let Some(k) = places.get(w.as_str()) {
                    if *v > 0.0 { up[*k] += v } else { down[*k] += v }
                }
            }
        }
        let mut out = Vec::new();
        for (w, v) in self.layer.words.iter().zip(&self.layer.y) {
            let Some(k) = places.get(w.as_str()) else { continue };
            if !v.is_finite() {
                self.missing += 1;
                continue;
            }
            let side = if *v > 0.0 { &mut up } else { &mut down };
            let (from, to) = (side[*k], side[*k] + v);
            side[*k] = to;
            let ground = self.ground();
            let (a, b) = (self.panel.y.at(from).unwrap_or(ground), self.panel.y.at(to).unwrap_or(ground));
            let left = *k as f64 - FULL / 2.0;
            out.extend(self.bar((left, left + FULL), (a, b)));
        }
        out
    }

    pub(super) fn hist(&mut self) -> Vec<Shape> {
        self.missing += self.layer.x.iter().filter(|v| !v.is_finite()).count();
        let ground = self.ground();
        let mut out = Vec::new();
        for (low, high, count) in range::bins(self.layer) {
            if let (true, Some(y)) = (count > 0, self.panel.y.at(count as f64)) {
                // On a logarithmic axis the first interval may begin outside the range.
                let low = if self.panel.x.log { low.max(self.panel.x.range.0) } else { low };
                out.extend(self.bar((low, high), (ground, y)).map(with_gap));
            }
        }
        out
    }
}

/// Leaves a thin gap between neighbours that are wide enough.
fn with_gap(s: Shape) -> Shape {
    match s {
        Shape::Rect { frame, fill, opacity } if frame.w > 4.0 => {
            Shape::Rect { frame: Frame { x: frame.x + 0.5, w: frame.w - 1.0, ..frame }, fill, opacity }
        }
        other => other,
    }
}

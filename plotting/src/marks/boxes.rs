//! Box plots.

use super::{LayerMarks, opacity};
use crate::clip;
use crate::range;
use crate::scene::{Frame, Point, Shape};

/// Half the width of a box, as a fraction of a category's width.
const HALF: f64 = 0.28;

/// The statistics that a box shows.
#[derive(PartialEq, Debug)]
pub struct Summary {
    /// Lower whisker, lower quartile, median, upper quartile, upper whisker.
    pub five: [f64; 5],
    /// Values beyond the whiskers.
    pub beyond: Vec<f64>,
}

/// The statistics of sorted numbers; there is at least one.
pub fn summary(sorted: &[f64]) -> Summary {
    let quantile = |q: f64| {
        let at = q * (sorted.len() - 1) as f64;
        let k = at.floor() as usize;
        let next = sorted[(k + 1).min(sorted.len() - 1)];
        sorted[k] + (at - k as f64) * (next - sorted[k])
    };
    let (q1, median, q3) = (quantile(0.25), quantile(0.5), quantile(0.75));
    let reach = 1.5 * (q3 - q1);
    let inside = |v: &&f64| **v >= q1 - reach && **v <= q3 + reach;
    let low = sorted.iter().find(inside).copied().unwrap_or(q1);
    let high = sorted.iter().rev().find(inside).copied().unwrap_or(q3);
    Summary {
        five: [low.min(q1), q1, median, q3, high.max(q3)],
        beyond: sorted.iter().filter(|v| !inside(v)).copied().collect(),
    }
}

impl LayerMarks<'_> {
    pub(super) fn boxes(&mut self) -> Vec<Shape> {
        let log = self.panel.y.log;
        let mut values: Vec<f64> = self.layer.y.iter().copied().filter(|v| range::fits(*v, log)).collect();
        self.missing += self.layer.y.len() - values.len();
        values.sort_by(f64::total_cmp);
        let name = self.layer.words.first().map_or("", String::as_str);
        let place = range::places(&self.panel.categories).get(name).copied();
        match (values.is_empty(), place) {
            (false, Some(k)) => self.one(k as f64, &summary(&values)),
            _ => Vec::new(),
        }
    }

    fn one(&self, at: f64, summary: &Summary) -> Vec<Shape> {
        let (x_axis, y_axis) = (&self.panel.x, &self.panel.y);
        let place = |dx: f64, v: f64| Some((x_axis.at(at + dx)?, y_axis.at(v)?));
        let [low, q1, median, q3, high] = summary.five;
        let area = self.panel.frame;
        let line = |a: Option<Point>, b: Option<Point>, width: f64| -> Vec<Shape> {
            let (Some(a), Some(b)) = (a, b) else { return Vec::new() };
            clip::line(&[a, b], area)
                .into_iter()
                .map(|points| Shape::Line { points, colour: self.colour, width, dashed: false, opacity: 1.0 })
                .collect()
        };
        let mut out = Vec::new();
        if let (Some(a), Some(b), false) = (place(-HALF, q3), place(HALF, q1), self.panel.coarse) {
            let (top, bottom) = (a.1.clamp(area.y, area.bottom()), b.1.clamp(area.y, area.bottom()));
            let frame = Frame { x: a.0, y: top, w: b.0 - a.0, h: bottom - top };
            out.push(Shape::Rect { frame, fill: self.colour, opacity: opacity(self.layer.kind) });
        }
        for (a, b) in [(-HALF, q1), (-HALF, q3)].map(|(dx, v)| (place(dx, v), place(-dx, v))) {
            out.extend(line(a, b, 1.5));
        }
        for dx in [-HALF, HALF] {
            out.extend(line(place(dx, q1), place(dx, q3), 1.5));
        }
        out.extend(line(place(-HALF, median), place(HALF, median), 3.0));
        for (from, to) in [(q1, low), (q3, high)] {
            out.extend(line(place(0.0, from), place(0.0, to), 1.5));
            out.extend(line(place(-HALF / 2.0, to), place(HALF / 2.0, to), 1.5));
        }
        let beyond: Vec<Point> =
            summary.beyond.iter().filter_map(|v| place(0.0, *v)).filter(|p| area.holds(*p)).collect();
        if !beyond.is_empty() {
            out.push(Shape::Dots { at: clip::distinct(beyond, 2000), radius: 2.5, fill: self.colour, opacity: 1.0 });
        }
        out
    }
}

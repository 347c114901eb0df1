//! The ranges of the axes, from the numbers of all layers.

use crate::chart::{Chart, Layer, LayerKind};

/// The range of numbers along an axis.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Extent {
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
    /// Whether there is padding below and above.
    pub air: (bool, bool),
}

const NOTHING: Extent = Extent { low: f64::INFINITY, high: f64::NEG_INFINITY, air: (false, false) };

impl Extent {
    fn add(&mut self, v: f64) {
        self.low = self.low.min(v);
        self.high = self.high.max(v);
    }

    /// For marks that begin at 0: includes 0, with padding only at the other end.
    fn from_zero(&mut self) {
        self.air = (self.low < 0.0, self.high > 0.0);
        self.add(0.0);
    }

    /// Whether there were no numbers.
    pub fn is_empty(self) -> bool {
        self.low > self.high
    }

    fn join(&mut self, other: Extent) {
        if other.is_empty() {
            return;
        }
        if other.low <= self.low {
            self.air.0 = other.air.0 || other.low == self.low && self.air.0;
        }
        if other.high >= self.high {
            self.air.1 = other.air.1 || other.high == self.high && self.air.1;
        }
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
    }

    /// The range with padding.
    pub fn padded(self, log: bool) -> (f64, f64) {
        const AIR: f64 = 0.04;
        if self.is_empty() {
            return (f64::NAN, f64::NAN);
        }
        let (a, b) = if log { (self.low.ln(), self.high.ln()) } else { (self.low / 2.0, self.high / 2.0) };
        let by = AIR * (b - a);
        let (a, b) = (if self.air.0 { a - by } else { a }, if self.air.1 { b + by } else { b });
        if log { (a.exp(), b.exp()) } else { (2.0 * a, 2.0 * b) }
    }
}

/// The categories of bars and boxes, in order of first appearance.
pub fn categories(chart: &Chart) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let words = chart.layers.iter().filter(|l| has_categories(l.kind)).flat_map(|l| &l.words);
    words.filter(|w| seen.insert(w.as_str())).cloned().collect()
}

/// Whether the x coordinates of a layer are categories.
pub fn has_categories(kind: LayerKind) -> bool {
    matches!(kind, LayerKind::Bars | LayerKind::Stacked | LayerKind::Box)
}

/// Whether a matrix is shown in reading order, with its first row at the top.
pub fn is_matrix_order(chart: &Chart) -> bool {
    !chart.layers.is_empty() && chart.layers.iter().all(|l| l.kind == LayerKind::Heatmap && l.y.is_empty())
}

/// Whether a number has a position on an axis.
pub fn fits(v: f64, log: bool) -> bool {
    v.is_finite() && (!log || v > 0.0)
}

/// Whether some number has no position in the picture.
pub fn has_missing(chart: &Chart) -> bool {
    let bad = |vs: &[f64], log| vs.iter().any(|v| !fits(*v, log));
    chart.layers.iter().any(|l| {
        bad(&l.x, chart.log.0)
            || bad(&l.y, chart.log.1)
            || bad(&l.v, false)
            || bad(&l.u, false)
            || bad(&l.z.data, false)
    })
}

/// The ranges of both axes of a chart.
pub fn of(chart: &Chart, categories: &[String]) -> (Extent, Extent) {
    let (mut across, mut up) = (NOTHING, NOTHING);
    for l in &chart.layers {
        let (x, y) = layer(chart, l);
        across.join(x);
        up.join(y);
    }
    if !categories.is_empty() {
        across.join(Extent { low: -0.5, high: categories.len() as f64 - 0.5, air: (false, false) });
    }
    up.join(stacks(chart, categories));
    (across, up)
}

fn layer(chart: &Chart, layer: &Layer) -> (Extent, Extent) {
    let (mut across, mut upwards) = (NOTHING, NOTHING);
    let (log_x, log_y) = chart.log;
    match layer.kind {
        LayerKind::Line
        | LayerKind::Scatter
        | LayerKind::Area
        | LayerKind::Band
        | LayerKind::Path
        | LayerKind::Quiver
        | LayerKind::Stem
        | LayerKind::Text => {
            points(layer, &layer.y, chart.log, &mut across, &mut upwards);
            if layer.kind == LayerKind::Band {
                points(layer, &layer.v, chart.log, &mut across, &mut upwards);
            }
            if layer.kind == LayerKind::Quiver {
                room_for_arrows(chart, layer, &mut across, &mut upwards);
            }
            (across.air, upwards.air) = ((true, true), (true, true));
        }
        LayerKind::Bars | LayerKind::Box => {
            layer.y.iter().filter(|v| fits(**v, log_y)).for_each(|v| upwards.add(*v));
            upwards.air = (true, true);
        }
        LayerKind::Hist => histogram(layer, chart.log, &mut across, &mut upwards),
        LayerKind::Heatmap | LayerKind::Contour => {
            let (columns, rows) =
                (edges(&layer.x, layer.z.columns, layer.kind), edges(&layer.y, layer.z.rows, layer.kind));
            columns.iter().filter(|v| fits(**v, log_x)).for_each(|v| across.add(*v));
            rows.iter().filter(|v| fits(**v, log_y)).for_each(|v| upwards.add(*v));
        }
        LayerKind::Across => layer.y.iter().filter(|v| fits(**v, log_y)).for_each(|v| upwards.add(*v)),
        LayerKind::Upright => layer.x.iter().filter(|v| fits(**v, log_x)).for_each(|v| across.add(*v)),
        LayerKind::Stacked | LayerKind::Surface => {}
    }
    if matches!(layer.kind, LayerKind::Area | LayerKind::Bars | LayerKind::Hist | LayerKind::Stem)
        && !log_y
        && !upwards.is_empty()
    {
        upwards.from_zero();
    }
    (across, upwards)
}

fn histogram(l: &Layer, (log_x, log_y): (bool, bool), x: &mut Extent, y: &mut Extent) {
    for (low, high, count) in bins(l) {
        [low, high].into_iter().filter(|v| fits(*v, log_x)).for_each(|v| x.add(v));
        if fits(count as f64, log_y) {
            y.add(count as f64);
        }
    }
    (x.air, y.air) = ((true, true), (true, true));
}

/// Arrows extend by up to the distance of their points. Over a grid, which has its own limits, they are clipped.
fn room_for_arrows(chart: &Chart, l: &Layer, x: &mut Extent, y: &mut Extent) {
    let on_grid = chart.layers.iter().any(|l| matches!(l.kind, LayerKind::Heatmap | LayerKind::Contour));
    let part = (1.0 / (l.x.len().max(1) as f64).sqrt()).min(0.25);
    for (e, log) in [(x, chart.log.0), (y, chart.log.1)] {
        let by = part * (e.high / 2.0 - e.low / 2.0) * 2.0;
        if !log && !on_grid && by.is_finite() && !e.is_empty() {
            (e.low, e.high) = (e.low - by, e.high + by);
        }
    }
}

fn points(l: &Layer, ys: &[f64], log: (bool, bool), x: &mut Extent, y: &mut Extent) {
    for (a, b) in l.x.iter().zip(ys) {
        if fits(*a, log.0) && fits(*b, log.1) {
            x.add(*a);
            y.add(*b);
        }
    }
}

/// The extent of stacked bars.
fn stacks(chart: &Chart, categories: &[String]) -> Extent {
    let mut out = NOTHING;
    if !chart.layers.iter().any(|l| l.kind == LayerKind::Stacked) {
        return out;
    }
    let (mut up, mut down) = (vec![0.0f64; categories.len()], vec![0.0f64; categories.len()]);
    let place = places(categories);
    for l in chart.layers.iter().filter(|l| l.kind == LayerKind::Stacked) {
        for (w, v) in l.words.iter().zip(&l.y).filter(|p| p.1.is_finite()) {
            let Some(k) = place.get(w.as_str()) else { continue };
            if *v > 0.0 {
                up[*k] += v;
            } else {
                down[*k] += v;
            }
            if !chart.log.1 || up[*k] > 0.0 {
                out.add(up[*k]);
            }
        }
    }
    if !chart.log.1 {
        down.iter().for_each(|v| out.add(*v));
        out.air = (out.low < 0.0, true);
    }
    out
}

/// Categories with their positions.
pub fn places(categories: &[String]) -> std::collections::HashMap<&str, usize> {
    categories.iter().enumerate().map(|(k, c)| (c.as_str(), k)).collect()
}

/// The intervals of a histogram with their counts.
pub fn bins(l: &Layer) -> Vec<(f64, f64, usize)> {
    let values: Vec<f64> = l.x.iter().copied().filter(|v| v.is_finite()).collect();
    let count = l.u.first().map_or(10.0, |n| n.max(1.0)).min(5000.0) as usize;
    let (Some(low), Some(high)) = (values.iter().copied().reduce(f64::min), values.iter().copied().reduce(f64::max))
    else {
        return Vec::new();
    };
    let (low, high) = if high > low { (low, high) } else { (low - 0.5, high + 0.5) };
    // Halves avoid an overflow for the widest ranges.
    let width = (high / 2.0 - low / 2.0) / count as f64;
    let mut counts = vec![0; count];
    for v in values {
        let k = ((v / 2.0 - low / 2.0) / width) as usize;
        counts[k.min(count - 1)] += 1;
    }
    let edge = |k: usize| if k == count { high } else { 2.0 * (low / 2.0 + k as f64 * width) };
    counts.into_iter().enumerate().map(|(k, c)| (edge(k), edge(k + 1), c)).collect()
}

/// The edges of a grid's cells (heatmaps), or the positions of its points (contours).
pub fn edges(at: &[f64], count: usize, kind: LayerKind) -> Vec<f64> {
    if count == 0 {
        return Vec::new();
    }
    let centre = |k: usize| at.get(k).copied().unwrap_or(k as f64);
    if kind == LayerKind::Contour {
        return (0..count).map(centre).collect();
    }
    let half = |k: usize| if count == 1 { 1.0 } else { centre(k.min(count - 2) + 1) - centre(k.min(count - 2)) } / 2.0;
    (0..=count)
        .map(|k| {
            if k == 0 {
                centre(0) - half(0)
            } else if k == count {
                centre(count - 1) + half(count - 1)
            } else {
                centre(k - 1) / 2.0 + centre(k) / 2.0
            }
        })
        .collect()
}

/// The minimal and maximal height in a chart's grids.
pub fn heights(chart: &Chart, centred: bool) -> Option<(f64, f64)> {
    let grids =
        chart.layers.iter().filter(|l| matches!(l.kind, LayerKind::Heatmap | LayerKind::Contour | LayerKind::Surface));
    let mut e = NOTHING;
    let mut any = false;
    for l in grids {
        any = true;
        l.z.data.iter().filter(|v| v.is_finite()).for_each(|v| e.add(*v));
    }
    if !any || e.is_empty() {
        return None;
    }
    let most = e.low.abs().max(e.high.abs());
    Some(if centred && most > 0.0 { (-most, most) } else { (e.low, e.high) })
}

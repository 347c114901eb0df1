//! Subplots.

use crate::chart::Chart;
use crate::colour::Theme;
use crate::panel;
use crate::scene::{Frame, Shape};

/// The maximal number of subplots.
const MOST: usize = 64;

/// The number of rows and columns of subplots.
pub fn shape(chart: &Chart) -> (usize, usize) {
    let n = chart.facets.len().clamp(1, MOST);
    let columns = chart.columns.clamp(1, n);
    (n.div_ceil(columns), columns)
}

/// Draws all subplots into a frame.
pub fn draw(chart: &Chart, theme: Theme, f: Frame) -> Vec<Shape> {
    let (rows, columns) = shape(chart);
    let (w, h) = (f.w / columns as f64, f.h / rows as f64);
    let place = |k: usize| Frame { x: f.x + (k % columns) as f64 * w, y: f.y + (k / columns) as f64 * h, w, h };
    chart
        .facets
        .iter()
        .take(MOST)
        .enumerate()
        .map(|(k, c)| Shape::Group("facet", panel::draw(c, theme, place(k))))
        .collect()
}

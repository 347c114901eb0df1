//! Heatmaps.

use super::LayerMarks;
use crate::chart::{Grid, LayerKind};
use crate::range;
use crate::scale::Axis;
use crate::scene::{Frame, Shape};

/// The maximal number of cells along an axis; of finer grids, means of neighbours are shown.
const MOST: usize = 800;
/// The maximum if cells have different sizes.
const UNEVEN: usize = 150;

impl LayerMarks<'_> {
    pub(super) fn heatmap(&mut self) -> Vec<Shape> {
        let l = self.layer;
        if l.z.rows == 0 || l.z.columns == 0 {
            return Vec::new();
        }
        self.missing += l.z.data.iter().filter(|v| !v.is_finite()).count();
        let (across, up) =
            (range::edges(&l.x, l.z.columns, LayerKind::Heatmap), range::edges(&l.y, l.z.rows, LayerKind::Heatmap));
        match (even(&across, &self.panel.x), even(&up, &self.panel.y)) {
            (Some(x), Some(y)) => self.even_cells(x, y),
            _ => self.uneven_cells(&across, &up),
        }
    }

    /// Cells of equal size, in screen order.
    fn even_cells(&self, (x0, x1): (f64, f64), (y0, y1): (f64, f64)) -> Vec<Shape> {
        let (g, f) = (&self.layer.z, self.panel.frame);
        let (rows, columns) = (g.rows.min(MOST), g.columns.min(MOST));
        let frame = Frame { x: x0.min(x1), y: y0.min(y1), w: (x1 - x0).abs(), h: (y1 - y0).abs() };
        let row = |i: usize| if y1 > y0 { i } else { rows - 1 - i };
        let column = |j: usize| if x1 > x0 { j } else { columns - 1 - j };
        let part = |k: usize, of: usize, all: usize| (k * all / of, ((k + 1) * all / of).max(k * all / of + 1));
        let colour = |i: usize, j: usize| {
            self.panel.height(mean(g, part(row(i), rows, g.rows), part(column(j), columns, g.columns)))
        };
        if f.holds((frame.x, frame.y)) && f.holds((frame.right(), frame.bottom())) {
            let colours = (0..rows * columns).map(|k| colour(k / columns, k % columns)).collect();
            return vec![Shape::Cells { frame, columns, colours }];
        }
        // Cells that extend beyond the frame are shown in part.
        let (w, h) = (frame.w / columns as f64, frame.h / rows as f64);
        let cell =
            |k: usize| Frame { x: frame.x + (k % columns) as f64 * w, y: frame.y + (k / columns) as f64 * h, w, h };
        (0..rows * columns).filter_map(|k| self.cell(cell(k), colour(k / columns, k % columns)?)).collect()
    }

    fn uneven_cells(&self, across: &[f64], up: &[f64]) -> Vec<Shape> {
        let grid = &self.layer.z;
        let (di, dj) = (grid.rows.div_ceil(UNEVEN), grid.columns.div_ceil(UNEVEN));
        let mut out = Vec::new();
        for row in (0..grid.rows).step_by(di) {
            for j in (0..grid.columns).step_by(dj) {
                let (i1, j1) = ((row + di).min(grid.rows), (j + dj).min(grid.columns));
                let corners = (
                    self.panel.x.at(across[j]),
                    self.panel.x.at(across[j1]),
                    self.panel.y.at(up[row]),
                    self.panel.y.at(up[i1]),
                );
                let (Some(x0), Some(x1), Some(y0), Some(y1)) = corners else { continue };
                let frame = Frame { x: x0.min(x1), y: y0.min(y1), w: (x1 - x0).abs(), h: (y1 - y0).abs() };
                out.extend(self.panel.height(mean(grid, (row, i1), (j, j1))).and_then(|c| self.cell(frame, c)));
            }
        }
        out
    }

    fn cell(&self, c: Frame, fill: crate::colour::Colour) -> Option<Shape> {
        let f = self.panel.frame;
        let (x0, x1, y0, y1) = (c.x.max(f.x), c.right().min(f.right()), c.y.max(f.y), c.bottom().min(f.bottom()));
        (x1 > x0 && y1 > y0).then_some(Shape::Rect {
            frame: Frame { x: x0, y: y0, w: x1 - x0, h: y1 - y0 },
            fill,
            opacity: 1.0,
        })
    }
}

/// The mean of the finite elements of a block.
fn mean(g: &Grid, (i0, i1): (usize, usize), (j0, j1): (usize, usize)) -> f64 {
    if i1 == i0 + 1 && j1 == j0 + 1 {
        return g.at(i0, j0);
    }
    let (mut sum, mut n) = (0.0, 0usize);
    for i in i0..i1 {
        for v in (j0..j1).map(|j| g.at(i, j)).filter(|v| v.is_finite()) {
            sum += v;
            n += 1;
        }
    }
    if n == 0 { f64::NAN } else { sum / n as f64 }
}

/// The pixels of the ends of edges that are equally spaced on the screen.
fn even(edges: &[f64], axis: &Axis) -> Option<(f64, f64)> {
    let at: Vec<f64> = edges.iter().map(|e| axis.at(*e)).collect::<Option<_>>()?;
    let (first, last) = (*at.first()?, *at.last()?);
    let step = (last - first) / (at.len() - 1).max(1) as f64;
    let close = |k: usize| (at[k] - (first + k as f64 * step)).abs() <= 0.02 * step.abs() + 1e-3;
    ((0..at.len()).all(close) && step != 0.0).then_some((first, last))
}

//! Contour lines by marching squares. Segments are joined where they share an edge of the grid.

use super::LayerMarks;
use crate::chart::Grid;
use crate::clip;
use crate::scale::Axis;
use crate::scene::{Point, Shape};
use std::collections::HashMap;

/// An edge of the grid: its first point (row, column), and whether it leads to the next row.
type Edge = (usize, usize, bool);

impl LayerMarks<'_> {
    pub(super) fn contour(&mut self) -> Vec<Shape> {
        let layer = self.layer;
        self.missing += layer.z.data.iter().filter(|v| !v.is_finite()).count();
        let Some((low, high)) = self.panel.heights else { return Vec::new() };
        let levels = Axis::new((low, high), false, (0.0, 1.0)).levels(if self.panel.coarse { 3.0 } else { 8.0 });
        let mut out = Vec::new();
        for level in levels {
            for line in lines(&layer.z, level) {
                let points: Option<Vec<Point>> = line.iter().map(|e| self.crossing(*e, level)).collect();
                let Some(points) = points else { continue };
                let colour = if layer.colour.is_empty() {
                    self.panel.contour_colour(level).unwrap_or(self.colour)
                } else {
                    self.colour
                };
                let width = self.width(1.5);
                out.extend(clip::line(&clip::thin(points), self.panel.frame).into_iter().map(|points| Shape::Line {
                    points,
                    colour,
                    width,
                    dashed: layer.dashed,
                    opacity: 1.0,
                }));
            }
        }
        out
    }

    /// The point where the level crosses an edge.
    fn crossing(&self, (i, j, down): Edge, level: f64) -> Option<Point> {
        let l = self.layer;
        let (i1, j1) = if down { (i + 1, j) } else { (i, j + 1) };
        let (a, b) = (l.z.at(i, j), l.z.at(i1, j1));
        let t = if a == b { 0.5 } else { ((level - a) / (b - a)).clamp(0.0, 1.0) };
        let between = |at: &[f64], k: usize, k1: usize| Some(at.get(k)? + t * (at.get(k1)? - at.get(k)?));
        self.place(between(&l.x, j, j1)?, between(&l.y, i, i1)?)
    }
}

/// The lines of a level, as the edges that they cross.
pub fn lines(g: &Grid, level: f64) -> Vec<Vec<Edge>> {
    let mut ends: HashMap<Edge, Vec<Edge>> = HashMap::new();
    let mut order = Vec::new();
    for i in 0..g.rows.saturating_sub(1) {
        for j in 0..g.columns.saturating_sub(1) {
            for (a, b) in pieces(g, level, i, j) {
                order.push(a);
                ends.entry(a).or_default().push(b);
                ends.entry(b).or_default().push(a);
            }
        }
    }
    // Lines that end at the border come first, then closed lines.
    let border: Vec<Edge> =
        order.iter().flat_map(|e| [*e].into_iter().chain(ends[e].clone())).filter(|e| ends[e].len() == 1).collect();
    let mut out = Vec::new();
    for start in border.into_iter().chain(order) {
        let line = follow(start, &mut ends);
        if line.len() > 1 {
            out.push(line);
        }
    }
    out
}

/// Follows a line from an edge and removes its segments.
fn follow(start: Edge, ends: &mut HashMap<Edge, Vec<Edge>>) -> Vec<Edge> {
    let mut line = vec![start];
    let mut at = start;
    while let Some(next) = ends.get_mut(&at).and_then(Vec::pop) {
        if let Some(back) = ends.get_mut(&next)
            && let Some(k) = back.iter().position(|e| *e == at)
        {
            back.swap_remove(k);
        }
        line.push(next);
        at = next;
    }
    line
}

/// The segments of a level's line in a cell: none, one or two.
fn pieces(g: &Grid, level: f64, i: usize, j: usize) -> Vec<(Edge, Edge)> {
    let corners = [g.at(i, j), g.at(i, j + 1), g.at(i + 1, j + 1), g.at(i + 1, j)];
    if corners.iter().any(|v| !v.is_finite()) {
        return Vec::new();
    }
    let above = corners.map(|v| v >= level);
    let edges: [Edge; 4] = [(i, j, false), (i, j + 1, true), (i + 1, j, false), (i, j, true)];
    let crossed: Vec<Edge> = (0..4).filter(|k| above[*k] != above[(k + 1) % 4]).map(|k| edges[k]).collect();
    match crossed[..] {
        [a, b] => vec![(a, b)],
        [a, b, c, d] => {
            // At a saddle, the mean height decides which corners are connected.
            let middle = corners.iter().map(|v| v / 4.0).sum::<f64>() >= level;
            if middle == above[0] { vec![(a, b), (c, d)] } else { vec![(d, a), (b, c)] }
        }
        _ => Vec::new(),
    }
}

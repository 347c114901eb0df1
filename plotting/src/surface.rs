//! Surfaces in perspective, drawn from back to front.

use crate::chart::{Chart, Grid, Layer, LayerKind};
use crate::colour::{Colour, Theme};
use crate::legend;
use crate::panel::{LABEL, Panel, SMALL};
use crate::scale::Axis;
use crate::scene::{Anchor, Frame, Point, Shape};

/// The maximal number of pieces along an axis; of finer grids every n-th point is used.
const MOST: usize = 60;
/// The view: rotation about the vertical axis, then tilt (radians).
const TURN: f64 = 0.72;
const TILT: f64 = 0.5;

/// The projection of the unit cube to the screen.
struct SurfaceView {
    centre: Point,
    scale: f64,
}

impl SurfaceView {
    fn of(f: Frame) -> SurfaceView {
        let scale = (f.w / 1.7).min(f.h / 1.5);
        SurfaceView { centre: (f.x + f.w / 2.0, f.y + f.h / 2.0), scale }
    }

    /// The screen position of a point, and its depth.
    fn at(&self, x: f64, y: f64, z: f64) -> (Point, f64) {
        let (x, y, z) = (x - 0.5, y - 0.5, (z - 0.5) * 0.8);
        let (across, deep) = (x * TURN.cos() + y * TURN.sin(), y * TURN.cos() - x * TURN.sin());
        let up = z * TILT.cos() + deep * TILT.sin();
        ((self.centre.0 + across * self.scale, self.centre.1 - up * self.scale), z * TILT.sin() - deep * TILT.cos())
    }
}

/// Draws a chart with a surface.
pub fn draw(chart: &Chart, theme: Theme, inner: Frame) -> Vec<Shape> {
    let whole = Panel::new(chart, theme, Frame { w: inner.w.max(40.0), h: inner.h.max(40.0), ..inner });
    let side = legend::width(&whole).min(0.4 * inner.w);
    let frame = Frame { x: inner.x, y: inner.y + 6.0, w: inner.w - side, h: inner.h - 12.0 };
    let panel = Panel { frame, ..whole };
    let view = SurfaceView::of(frame);
    let mut out = Vec::new();
    let layers: Vec<&Layer> = chart.layers.iter().filter(|l| l.kind == LayerKind::Surface).collect();
    out.push(Shape::Group("axes", axes(&panel, &layers, &view)));
    for l in &layers {
        out.push(Shape::Group("surface", surface(&panel, l, &view)));
    }
    out.push(Shape::Group("numbers", numbers_and_labels(&panel, &layers, &view)));
    if side > 0.0 {
        out.extend(legend::draw(
            &panel,
            Frame { x: frame.right() + 14.0, y: inner.y + 20.0, w: side - 14.0, h: (inner.h - 40.0).max(20.0) },
        ));
    }
    out
}

/// The range of a layer's coordinates along an axis.
fn span(layers: &[&Layer], part: impl Fn(&Layer) -> (&[f64], usize)) -> Axis {
    let all = layers.iter().flat_map(|l| part(l).0.iter().take(part(l).1)).copied().filter(|v| v.is_finite());
    let (a, b) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    Axis::new((a, b), false, (0.0, 1.0))
}

fn spans(p: &Panel, layers: &[&Layer]) -> [Axis; 3] {
    let heights = p.heights.unwrap_or((0.0, 1.0));
    [span(layers, |l| (&l.x, l.z.columns)), span(layers, |l| (&l.y, l.z.rows)), Axis::new(heights, false, (0.0, 1.0))]
}

fn surface(panel: &Panel, l: &Layer, view: &SurfaceView) -> Vec<Shape> {
    let [ax, ay, az] = spans(panel, &[l]);
    let g = &l.z;
    let (rows, columns) = (picked(g.rows), picked(g.columns));
    let mut pieces: Vec<(f64, Vec<Point>, Colour)> = Vec::new();
    for i in rows.windows(2) {
        for j in columns.windows(2) {
            let Some((depth, points, height)) =
                piece(l, g, (i, j), |x, y, z| Some(view.at(ax.at(x)?, ay.at(y)?, az.at(z)?)))
            else {
                continue;
            };
            let colour = panel.height(height).unwrap_or(panel.ink.soft);
            pieces.push((depth, points, colour));
        }
    }
    pieces.sort_by(|a, b| a.0.total_cmp(&b.0));
    let edge = |c: Colour| c.mix(panel.ink.paper.unwrap_or(panel.ink.grid), 0.25);
    pieces
        .into_iter()
        .flat_map(|(_, points, colour)| {
            let outline = points.iter().copied().chain(points.first().copied()).collect();
            [
                Shape::Polygon { points, fill: colour, opacity: 1.0 },
                Shape::Line { points: outline, colour: edge(colour), width: 0.6, dashed: false, opacity: 1.0 },
            ]
        })
        .collect()
}

/// A piece between two rows and two columns: depth, corners, mean height. `None` if a corner is not finite.
fn piece(
    l: &Layer,
    g: &Grid,
    (i, j): (&[usize], &[usize]),
    at: impl Fn(f64, f64, f64) -> Option<(Point, f64)>,
) -> Option<(f64, Vec<Point>, f64)> {
    let (mut depth, mut points, mut height) = (0.0, Vec::new(), 0.0);
    for (r, c) in [(i[0], j[0]), (i[0], j[1]), (i[1], j[1]), (i[1], j[0])] {
        let (x, y, z) = (*l.x.get(c)?, *l.y.get(r)?, g.at(r, c));
        if !(x.is_finite() && y.is_finite() && z.is_finite()) {
            return None;
        }
        let (p, d) = at(x, y, z)?;
        points.push(p);
        depth += d;
        height += z / 4.0;
    }
    Some((depth, points, height))
}

/// At most `MOST` indices, including the first and the last.
fn picked(n: usize) -> Vec<usize> {
    if n <= MOST + 1 {
        return (0..n).collect();
    }
    (0..=MOST).map(|k| k * (n - 1) / MOST).collect()
}

/// Three walls of the box, with tick labels along the front edges.
fn axes(p: &Panel, layers: &[&Layer], view: &SurfaceView) -> Vec<Shape> {
    let [ax, ay, az] = spans(p, layers);
    let ink = p.ink;
    let mut out = Vec::new();
    let mut line = |a: (f64, f64, f64), b: (f64, f64, f64)| {
        out.push(Shape::grid(view.at(a.0, a.1, a.2).0, view.at(b.0, b.1, b.2).0, &ink));
    };
    for (v, _) in &ax.ticks(4).at {
        let t = ax.at(*v).unwrap_or(0.0);
        line((t, 0.0, 0.0), (t, 1.0, 0.0));
        line((t, 1.0, 0.0), (t, 1.0, 1.0));
    }
    for (v, _) in &ay.ticks(4).at {
        let t = ay.at(*v).unwrap_or(0.0);
        line((0.0, t, 0.0), (1.0, t, 0.0));
        line((0.0, t, 0.0), (0.0, t, 1.0));
    }
    for (v, _) in &az.ticks(4).at {
        let t = az.at(*v).unwrap_or(0.0);
        line((0.0, 1.0, t), (1.0, 1.0, t));
        line((0.0, 0.0, t), (0.0, 1.0, t));
    }
    let edges: [((f64, f64, f64), (f64, f64, f64)); 3] =
        [((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)), ((1.0, 0.0, 0.0), (1.0, 1.0, 0.0)), ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))];
    for (a, b) in edges {
        out.push(Shape::stroke(view.at(a.0, a.1, a.2).0, view.at(b.0, b.1, b.2).0, ink.soft, 1.0));
    }
    out
}

fn numbers_and_labels(p: &Panel, layers: &[&Layer], view: &SurfaceView) -> Vec<Shape> {
    let [ax, ay, az] = spans(p, layers);
    let ink = p.ink;
    let mut out = Vec::new();
    out.extend(numbers(p, &ax, |t| view.at(t, -0.07, 0.0).0, Anchor::End));
    out.extend(numbers(p, &ay, |t| view.at(1.07, t, 0.0).0, Anchor::Start));
    out.extend(numbers(p, &az, |t| view.at(-0.04, -0.04, t).0, Anchor::End));
    let (across, deep) = &p.chart.labels;
    out.push(Shape::text(view.at(0.5, -0.26, 0.0).0, across.clone(), LABEL, Anchor::End, ink.ink));
    out.push(Shape::text(view.at(1.26, 0.5, 0.0).0, deep.clone(), LABEL, Anchor::Start, ink.ink));
    out.retain(|s| !matches!(s, Shape::Text(l) if l.text.is_empty()));
    out
}

fn numbers(p: &Panel, axis: &Axis, at: impl Fn(f64) -> Point, anchor: Anchor) -> Vec<Shape> {
    let t = axis.ticks(4);
    let last = t.at.len().saturating_sub(1);
    let text = |k: usize, text: &str| {
        if k == last && !t.note.is_empty() { format!("{text} {}", t.note) } else { text.to_owned() }
    };
    t.at.iter()
        .enumerate()
        .map(|(k, (v, s))| Shape::text(at(axis.at(*v).unwrap_or(0.0)), text(k, s), SMALL, anchor, p.ink.soft))
        .collect()
}

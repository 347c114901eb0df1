//! Clipping to a frame, and reduction of lines to as many points as a picture can show.

use crate::scene::{Frame, Point};

/// The part of a segment inside a frame (Liang and Barsky).
fn segment(point: Point, b: Point, f: Frame) -> Option<(Point, Point)> {
    let (dx, dy) = (b.0 - point.0, b.1 - point.1);
    let (mut t0, mut t1) = (0.0f64, 1.0f64);
    for (p, q) in [(-dx, point.0 - f.x), (dx, f.right() - point.0), (-dy, point.1 - f.y), (dy, f.bottom() - point.1)] {
        if p == 0.0 {
            if q < 0.0 {
                return None;
            }
        } else if p < 0.0 {
            t0 = t0.max(q / p);
        } else {
            t1 = t1.min(q / p);
        }
    }
    (t0 <= t1).then_some(((point.0 + t0 * dx, point.1 + t0 * dy), (point.0 + t1 * dx, point.1 + t1 * dy)))
}

/// The pieces of a line inside a frame.
pub fn line(points: &[Point], f: Frame) -> Vec<Vec<Point>> {
    let mut out: Vec<Vec<Point>> = Vec::new();
    for pair in points.windows(2) {
        let Some((a, b)) = segment(pair[0], pair[1], f) else { continue };
        match out.last_mut() {
            Some(piece) if piece.last().is_some_and(|l| (l.0 - a.0).abs() + (l.1 - a.1).abs() < 1e-6) => piece.push(b),
            _ => out.push(vec![a, b]),
        }
    }
    out
}

/// A polygon cut to a frame (Sutherland and Hodgman).
pub fn polygon(points: &[Point], f: Frame) -> Vec<Point> {
    let mut out = points.to_vec();
    let sides: [(fn(Point) -> f64, f64, f64); 4] =
        [(|p| p.0, f.x, 1.0), (|p| p.0, f.right(), -1.0), (|p| p.1, f.y, 1.0), (|p| p.1, f.bottom(), -1.0)];
    for (part, edge, sign) in sides {
        let inside = |p: Point| sign * (part(p) - edge) >= 0.0;
        let mut next = Vec::with_capacity(out.len() + 4);
        for k in 0..out.len() {
            let (a, b) = (out[k], out[(k + 1) % out.len()]);
            if inside(a) {
                next.push(a);
            }
            if inside(a) != inside(b) {
                let t = (edge - part(a)) / (part(b) - part(a));
                next.push((a.0 + t * (b.0 - a.0), a.1 + t * (b.1 - a.1)));
            }
        }
        out = next;
    }
    out
}

/// Longer lines are thinned.
const DENSE: usize = 3000;

/// A thinned line that looks the same. If x is monotonic, each column of half a pixel keeps its first, lowest, highest
/// and last point.
pub fn thin(points: Vec<Point>) -> Vec<Point> {
    if points.len() <= DENSE {
        return points;
    }
    if points.windows(2).all(|p| p[1].0 >= p[0].0) {
        return columns(&points);
    }
    let mut out: Vec<Point> = Vec::new();
    for near in [0.3, 1.0, 2.0, 4.0] {
        out.clear();
        for p in &points {
            if out.last().is_none_or(|l| (l.0 - p.0).hypot(l.1 - p.1) >= near) {
                out.push(*p);
            }
        }
        out.extend(points.last());
        if out.len() <= 4 * DENSE {
            return out;
        }
    }
    let stride = out.len().div_ceil(4 * DENSE);
    out.into_iter().step_by(stride).collect()
}

fn columns(points: &[Point]) -> Vec<Point> {
    let mut out = Vec::new();
    let mut from = 0;
    while from < points.len() {
        let column = (2.0 * points[from].0).floor();
        let many = points[from..].iter().take_while(|p| (2.0 * p.0).floor() == column).count().max(1);
        let part = &points[from..from + many];
        let extreme = |less: fn(f64, f64) -> bool| {
            (0..many).reduce(|m, k| if less(part[k].1, part[m].1) { k } else { m }).unwrap_or(0)
        };
        let mut keep = [0, extreme(|a, b| a < b), extreme(|a, b| a > b), many - 1];
        keep.sort_unstable();
        for (k, i) in keep.iter().enumerate() {
            if k == 0 || keep[k - 1] != *i {
                out.push(part[*i]);
            }
        }
        from += many;
    }
    out
}

/// At most `most` of the points, without those that coincide with others.
pub fn distinct(points: Vec<Point>, most: usize) -> Vec<Point> {
    let mut cell = 0.5;
    let mut points = points;
    while points.len() > most {
        let mut seen = std::collections::HashSet::new();
        points.retain(|p| seen.insert(((p.0 / cell) as i64, (p.1 / cell) as i64)));
        cell *= 1.5;
    }
    points
}

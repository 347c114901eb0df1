//! Lines, points, areas, stems, paths, arrows, texts.

use super::{LayerMarks, opacity};
use crate::clip;
use crate::scene::{Anchor, Frame, Point, Shape};

/// Larger scatter plots are drawn as a density, and markers that coincide with others are omitted.
pub(super) const POINTS: usize = 8000;
/// The side of a cell of a density, in pixels.
const CELL: f64 = 2.0;
/// The opacity of a cell with very few points.
const FAINTEST: f64 = 0.2;
/// The size of an arrow head in pixels.
const HEAD: f64 = 5.0;

impl LayerMarks<'_> {
    pub(super) fn line(&mut self) -> Vec<Shape> {
        let ys = &self.layer.y;
        let runs = self.runs(ys);
        let mut out = self.strokes(&runs, 2.0);
        let frame = self.panel.frame;
        // A point without neighbours would be invisible as a line.
        let alone = runs.iter().filter(|r| r.len() == 1).map(|r| r[0]);
        let mut dots: Vec<Point> = alone.filter(|p| frame.holds(*p)).collect();
        if self.layer.markers {
            dots = runs.iter().flatten().copied().filter(|p| frame.holds(*p)).collect();
        }
        if !dots.is_empty() {
            out.push(Shape::Dots {
                at: clip::distinct(dots, POINTS),
                radius: 1.5 * self.width(2.0),
                fill: self.colour,
                opacity: 1.0,
            });
        }
        out
    }

    fn strokes(&self, runs: &[Vec<Point>], width: f64) -> Vec<Shape> {
        let mut out = Vec::new();
        for run in runs {
            let run = clip::thin(run.clone());
            for points in clip::line(&run, self.panel.frame) {
                out.push(Shape::Line {
                    points,
                    colour: self.colour,
                    width: self.width(width),
                    dashed: self.layer.dashed,
                    opacity: 1.0,
                });
            }
        }
        out
    }

    pub(super) fn scatter(&mut self) -> Vec<Shape> {
        let ys = &self.layer.y;
        let runs = self.runs(ys);
        let points: Vec<Point> = runs.into_iter().flatten().filter(|p| self.panel.frame.holds(*p)).collect();
        if points.len() > POINTS && !self.panel.coarse {
            self.dense += points.len();
            return vec![self.density(&points)];
        }
        // With many points, markers are small and translucent.
        let (radius, opacity) = match points.len() {
            n if n > 2000 => (1.5, 0.6),
            n if n > 300 => (2.5, 0.7),
            _ => (3.5, 0.85),
        };
        let radius = if self.layer.width > 0.0 { self.layer.width / 2.0 } else { radius };
        vec![Shape::Dots { at: clip::distinct(points, POINTS), radius, fill: self.colour, opacity }]
    }

    /// Draws points that are too dense to distinguish as their count in each cell of a grid: opacity grows with the
    /// logarithm of the count.
    fn density(&self, points: &[Point]) -> Shape {
        let frame = self.panel.frame;
        let along = |length: f64| (length / CELL).ceil().max(1.0) as usize;
        let (columns, rows) = (along(frame.w), along(frame.h));
        let mut counts = vec![0u32; columns * rows];
        for p in points {
            let cell = |at: f64, from: f64, cells: usize| (((at - from) / CELL).max(0.0) as usize).min(cells - 1);
            let k = cell(p.1, frame.y, rows) * columns + cell(p.0, frame.x, columns);
            counts[k] = counts[k].saturating_add(1);
        }
        let most = f64::from(counts.iter().copied().max().unwrap_or(1).max(1)).ln_1p();
        let shade = |n: u32| if n == 0 { 0.0 } else { FAINTEST + (1.0 - FAINTEST) * f64::from(n).ln_1p() / most };
        let opacity = counts.into_iter().map(|n| (255.0 * shade(n)).round() as u8).collect();
        let frame = Frame { w: columns as f64 * CELL, h: rows as f64 * CELL, ..frame };
        Shape::Density { frame, columns, fill: self.colour, opacity }
    }

    pub(super) fn area(&mut self) -> Vec<Shape> {
        let ys = &self.layer.y;
        let runs = self.runs(ys);
        let ground = self.ground();
        let mut out = Vec::new();
        for run in runs.iter().cloned().map(clip::thin) {
            let (Some(a), Some(b)) = (run.first(), run.last()) else { continue };
            let outline: Vec<Point> =
                [(a.0, ground)].into_iter().chain(run.iter().copied()).chain([(b.0, ground)]).collect();
            out.extend(self.filled(&outline));
        }
        out.extend(self.strokes(&runs, 1.5));
        out
    }

    pub(super) fn band(&mut self) -> Vec<Shape> {
        let (low, high) = (self.layer.y.clone(), self.layer.v.clone());
        let both: Vec<Option<(Point, Point)>> = self
            .layer
            .x
            .iter()
            .zip(low.iter().zip(&high))
            .map(|(x, (l, h))| Some((self.place(*x, *l)?, self.place(*x, *h)?)))
            .collect();
        self.missing += both.iter().filter(|p| p.is_none()).count();
        let mut out = Vec::new();
        for run in both.split(Option::is_none) {
            let lower: Vec<Point> = run.iter().flatten().map(|p| p.0).collect();
            let upper: Vec<Point> = run.iter().flatten().map(|p| p.1).collect();
            let outline: Vec<Point> =
                clip::thin(lower).into_iter().chain(clip::thin(upper).into_iter().rev()).collect();
            out.extend(self.filled(&outline));
        }
        out
    }

    fn filled(&self, outline: &[Point]) -> Option<Shape> {
        let points = clip::polygon(outline, self.panel.frame);
        (points.len() > 2).then(|| Shape::Polygon { points, fill: self.colour, opacity: opacity(self.layer.kind) })
    }

    pub(super) fn path(&mut self) -> Vec<Shape> {
        let ys = &self.layer.y;
        let runs = self.runs(ys);
        let mut out = self.strokes(&runs, 2.0);
        let frame = self.panel.frame;
        let points: Vec<Point> = runs.into_iter().flatten().filter(|p| frame.holds(*p)).collect();
        if points.len() <= 200 {
            out.push(Shape::Dots { at: points.clone(), radius: 2.2, fill: self.colour, opacity: 1.0 });
        }
        if let (Some(a), Some(b)) = (points.first(), points.last()) {
            out.push(Shape::ring(*a, 6.0, self.colour, 2.0));
            out.push(Shape::Dots { at: vec![*b], radius: 5.0, fill: self.colour, opacity: 1.0 });
        }
        out
    }

    pub(super) fn stems(&mut self) -> Vec<Shape> {
        let ys = &self.layer.y;
        let runs = self.runs(ys);
        let (ground, frame) = (self.ground(), self.panel.frame);
        let all: Vec<Point> = runs.into_iter().flatten().collect();
        let points = clip::distinct(all, POINTS);
        let mut out = vec![Shape::stroke((frame.x, ground), (frame.right(), ground), self.panel.ink.soft, 1.0)];
        let width = self.width(if points.len() > 100 { 1.0 } else { 2.0 });
        for p in &points {
            for line in clip::line(&[(p.0, ground), *p], frame) {
                out.push(Shape::Line { points: line, colour: self.colour, width, dashed: false, opacity: 1.0 });
            }
        }
        let heads: Vec<Point> = points.into_iter().filter(|p| frame.holds(*p)).collect();
        let radius = if heads.len() > 100 { 1.5 } else { 3.5 };
        out.push(Shape::Dots { at: heads, radius, fill: self.colour, opacity: 1.0 });
        out
    }

    pub(super) fn across(&mut self) -> Vec<Shape> {
        let f = self.panel.frame;
        self.rules(|m, v| m.panel.y.at(v).map(|y| vec![(f.x, y), (f.right(), y)]), true)
    }

    pub(super) fn upright(&mut self) -> Vec<Shape> {
        let f = self.panel.frame;
        self.rules(|m, v| m.panel.x.at(v).map(|x| vec![(x, f.y), (x, f.bottom())]), false)
    }

    fn rules(&mut self, line: impl Fn(&Self, f64) -> Option<Vec<Point>>, up: bool) -> Vec<Shape> {
        let values = if up { &self.layer.y } else { &self.layer.x };
        let mut out = Vec::new();
        for v in values {
            match line(self, *v).filter(|_| v.is_finite()) {
                Some(points) if points.iter().all(|p| self.panel.frame.holds(*p)) => {
                    out.push(Shape::Line {
                        points,
                        colour: self.colour,
                        width: self.width(1.5),
                        dashed: self.layer.dashed,
                        opacity: 1.0,
                    });
                }
                Some(_) => {}
                None => self.missing += 1,
            }
        }
        out
    }

    pub(super) fn text(&mut self) -> Vec<Shape> {
        let (Some(data_x), Some(data_y)) = (self.layer.x.first(), self.layer.y.first()) else { return Vec::new() };
        let Some(at) = self.place(*data_x, *data_y) else {
            self.missing += 1;
            return Vec::new();
        };
        let f = self.panel.frame;
        if !f.holds(at) {
            return Vec::new();
        }
        let size = crate::panel::SMALL;
        let words = self.layer.words.first().map_or(String::new(), |w| crate::font::cut(w, size, f.w - 8.0));
        // Beside its point, but inside the frame.
        let half = crate::font::width(&words, size) / 2.0;
        let horizontal = at.0.clamp(f.x + half + 2.0, (f.right() - half - 2.0).max(f.x + half + 2.0));
        let vertical = if at.1 - 10.0 > f.y + 6.0 { at.1 - 10.0 } else { at.1 + 10.0 };
        vec![Shape::text((horizontal, vertical), words, size, Anchor::Middle, self.colour)]
    }

    pub(super) fn quiver(&mut self) -> Vec<Shape> {
        let l = self.layer;
        let mut arrows: Vec<(Point, Point)> = Vec::new();
        for k in 0..l.x.len().min(l.y.len()).min(l.u.len()).min(l.v.len()) {
            match (self.place(l.x[k], l.y[k]), l.u[k].is_finite() && l.v[k].is_finite()) {
                (Some(p), true) if self.panel.frame.holds(p) => arrows.push((p, self.direction(l.u[k], l.v[k]))),
                (Some(_), true) => {}
                _ => self.missing += 1,
            }
        }
        let f = self.panel.frame;
        let apart = (f.w * f.h / arrows.len().max(1) as f64).sqrt().clamp(4.0, 60.0);
        let longest = arrows.iter().map(|a| a.1.0.hypot(a.1.1)).fold(0.0, f64::max);
        if longest == 0.0 || arrows.is_empty() {
            return vec![Shape::Dots {
                at: arrows.into_iter().map(|a| a.0).collect(),
                radius: 1.0,
                fill: self.colour,
                opacity: 1.0,
            }];
        }
        let scale = 0.95 * apart / longest;
        let mut out = Vec::new();
        for (p, d) in &arrows {
            let tip = (p.0 + d.0 * scale, p.1 + d.1 * scale);
            out.extend(self.arrow(*p, tip));
        }
        out
    }

    /// An arrow's direction on the screen: on linear axes, its direction in the plane.
    fn direction(&self, u: f64, v: f64) -> Point {
        let p = self.panel;
        if p.x.log || p.y.log {
            return (u, -v);
        }
        let per = |a: &crate::scale::Axis| (a.ends.1 - a.ends.0) / (a.range.1 - a.range.0);
        let (dx, dy) = (u * per(&p.x), v * per(&p.y));
        if dx.is_finite() && dy.is_finite() { (dx.clamp(-1e150, 1e150), dy.clamp(-1e150, 1e150)) } else { (0.0, 0.0) }
    }

    fn arrow(&self, from: Point, tip: Point) -> Vec<Shape> {
        let (dx, dy) = (tip.0 - from.0, tip.1 - from.1);
        let length = dx.hypot(dy);
        let mut out: Vec<Shape> = clip::line(&[from, tip], self.panel.frame)
            .into_iter()
            .map(|points| Shape::Line {
                points,
                colour: self.colour,
                width: self.width(1.2),
                dashed: false,
                opacity: 1.0,
            })
            .collect();
        if length > 3.0 && self.panel.frame.holds(tip) {
            let head = HEAD.min(0.5 * length);
            let (ux, uy) = (dx / length * head, dy / length * head);
            let points = vec![
                tip,
                (tip.0 - ux - 0.5 * uy, tip.1 - uy + 0.5 * ux),
                (tip.0 - ux + 0.5 * uy, tip.1 - uy - 0.5 * ux),
            ];
            out.push(Shape::Polygon { points, fill: self.colour, opacity: 1.0 });
        }
        out
    }
}

//! Draws shapes on a grid of dots, with eight dots per character.

use super::painted;
use crate::colour::Colour;
use crate::scene::{Anchor, Frame, Point, Shape};

/// Dots per character horizontally.
pub const OVER: usize = 2;
/// Dots per character vertically.
pub const DOWN: usize = 4;

/// The bit of each dot in a braille character, row by row.
const BITS: [[u8; OVER]; DOWN] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// A character.
#[derive(Clone, Copy, Default)]
struct CanvasCell {
    dots: u8,
    letter: Option<char>,
    /// The lightness of a filled cell.
    shade: Option<f64>,
    colour: Option<Colour>,
}

/// A grid of characters.
pub struct Canvas {
    columns: usize,
    /// The number of rows.
    pub rows: usize,
    cells: Vec<CanvasCell>,
}

impl Canvas {
    /// An empty canvas.
    pub fn new(columns: usize, rows: usize) -> Canvas {
        Canvas { columns, rows, cells: vec![CanvasCell::default(); columns * rows] }
    }

    /// Whether the picture contains shades.
    pub fn shaded(&self) -> bool {
        self.cells.iter().any(|c| c.shade.is_some())
    }

    fn cell(&mut self, column: usize, row: usize) -> Option<&mut CanvasCell> {
        if column < self.columns { self.cells.get_mut(row * self.columns + column) } else { None }
    }

    fn dot(&mut self, p: Point, colour: Colour) {
        if p.0 < 0.0 || p.1 < 0.0 {
            return;
        }
        let (x, y) = (p.0 as usize, p.1 as usize);
        if let Some(c) = self.cell(x / OVER, y / DOWN) {
            c.dots |= BITS[y % DOWN][x % OVER];
            c.colour = Some(colour);
        }
    }

    /// Draws shapes whose coordinates are in dots.
    pub fn draw(&mut self, shapes: &[Shape]) {
        for s in shapes {
            match s {
                Shape::Group(_, inner) => self.draw(inner),
                Shape::Line { points, colour, dashed, .. } => self.line(points, *colour, *dashed),
                Shape::Polygon { points, fill, opacity } => self.polygon(points, *fill, *opacity),
                Shape::Rect { frame, fill, opacity } => self.rect(*frame, *fill, *opacity),
                Shape::Dots { at, fill, .. } => at.iter().for_each(|p| self.dot(*p, *fill)),
                Shape::Text(l) => self.letters(l.at, &l.text, l.anchor, l.colour),
                Shape::Cells { frame, columns, colours } => self.shades(*frame, *columns, colours),
                // At this resolution, points are drawn individually (`Panel::coarse`).
                Shape::Density { .. } => {}
            }
        }
    }

    fn line(&mut self, points: &[Point], colour: Colour, dashed: bool) {
        let mut gone = 0usize;
        for pair in points.windows(2) {
            let ((ax, ay), (bx, by)) = (pair[0], pair[1]);
            let steps = (bx - ax).abs().max((by - ay).abs()).ceil().clamp(1.0, 10_000.0) as usize;
            for k in 0..=steps {
                let t = k as f64 / steps as f64;
                if !dashed || gone % 6 < 3 {
                    self.dot((ax + t * (bx - ax), ay + t * (by - ay)), colour);
                }
                gone += usize::from(k > 0);
            }
        }
    }

    /// Fills a dot. Translucent shapes fill every second dot.
    fn fill(&mut self, x: usize, y: usize, colour: Colour, opacity: f64) {
        if opacity > 0.6 || (x + y).is_multiple_of(2) {
            self.dot((x as f64, y as f64), colour);
        }
    }

    fn rect(&mut self, f: Frame, fill: Colour, opacity: f64) {
        let last = |v: f64| (v - 0.5).max(0.0).round() as usize;
        let first = |v: f64| v.max(0.0).round() as usize;
        for y in first(f.y)..last(f.bottom()).max(first(f.y)) + usize::from(f.h >= 0.5) {
            for x in first(f.x)..last(f.right()).max(first(f.x) + 1) {
                self.fill(x, y, fill, opacity);
            }
        }
    }

    fn polygon(&mut self, points: &[Point], fill: Colour, opacity: f64) {
        let (low, high) = points.iter().fold((f64::INFINITY, 0.0f64), |(a, b), p| (a.min(p.1), b.max(p.1)));
        if !low.is_finite() {
            return;
        }
        for row in low.max(0.0) as usize..=(high as usize).min(self.rows * DOWN) {
            let at = row as f64 + 0.5;
            let mut hits: Vec<f64> = (0..points.len())
                .filter_map(|k| {
                    let (a, b) = (points[k], points[(k + 1) % points.len()]);
                    ((a.1 <= at) != (b.1 <= at)).then(|| a.0 + (at - a.1) / (b.1 - a.1) * (b.0 - a.0))
                })
                .collect();
            hits.sort_by(f64::total_cmp);
            for pair in hits.chunks_exact(2) {
                for x in pair[0].max(0.0).round() as usize..(pair[1].max(0.0).round() as usize).min(self.columns * OVER)
                {
                    self.fill(x, row, fill, opacity);
                }
            }
        }
    }

    fn letters(&mut self, at: Point, text: &str, anchor: Anchor, colour: Colour) {
        let n = text.chars().count();
        let column = (at.0.max(0.0) as usize) / OVER;
        let from = match anchor {
            Anchor::Start => column,
            Anchor::Middle => column.saturating_sub(n / 2),
            Anchor::End => column.saturating_sub(n),
        };
        let row = (at.1.max(0.0) as usize) / DOWN;
        for (k, letter) in text.chars().enumerate() {
            if let Some(c) = self.cell(from + k, row) {
                (c.letter, c.colour) = (Some(letter), Some(colour));
            }
        }
    }

    /// Each character takes the grid cell at its centre.
    fn shades(&mut self, frame: Frame, columns: usize, colours: &[Option<Colour>]) {
        let rows = colours.len() / columns.max(1);
        if rows == 0 || frame.w <= 0.0 || frame.h <= 0.0 {
            return;
        }
        for row in 0..self.rows {
            for column in 0..self.columns {
                let (x, y) = ((column * OVER) as f64 + 0.5 * OVER as f64, (row * DOWN) as f64 + 0.5 * DOWN as f64);
                if !frame.holds((x, y)) {
                    continue;
                }
                let j = (((x - frame.x) / frame.w * columns as f64) as usize).min(columns - 1);
                let i = (((y - frame.y) / frame.h * rows as f64) as usize).min(rows - 1);
                if let (Some(Some(colour)), Some(c)) = (colours.get(i * columns + j), self.cell(column, row)) {
                    (c.shade, c.colour) = (Some(colour.lightness()), Some(*colour));
                }
            }
        }
    }

    /// A row as text, without trailing spaces. Neighbours of the same colour share one escape sequence.
    pub fn row(&self, k: usize, colour: bool) -> String {
        let cells = self.cells.get(k * self.columns..(k + 1) * self.columns).unwrap_or_default();
        let letters: Vec<char> = cells.iter().map(|c| c.letter(colour)).collect();
        let end = letters.iter().rposition(|l| *l != ' ').map_or(0, |k| k + 1);
        let (mut out, mut run, mut paint) = (String::new(), String::new(), None);
        for (letter, cell) in letters.iter().zip(cells).take(end) {
            if *letter != ' ' && cell.colour != paint {
                out += &flushed(&mut run, paint, colour);
                paint = cell.colour;
            }
            run.push(*letter);
        }
        out + &flushed(&mut run, paint, colour)
    }
}

fn flushed(run: &mut String, paint: Option<Colour>, colour: bool) -> String {
    let text = std::mem::take(run);
    match paint {
        Some(p) if !text.is_empty() => painted(&text, p, colour),
        _ => text,
    }
}

impl CanvasCell {
    fn letter(&self, colour: bool) -> char {
        match (self.letter, self.dots, self.shade) {
            (Some(l), _, _) => l,
            (None, 0, None) => ' ',
            (None, 0, Some(_)) if colour => '█',
            (None, 0, Some(s)) => ['░', '░', '▒', '▓', '█'][((s * 5.0) as usize).min(4)],
            (None, dots, _) => char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' '),
        }
    }
}

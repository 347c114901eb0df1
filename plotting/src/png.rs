//! Scenes as PNG: drawn at a multiple of the size by plotters, then averaged for smooth edges.

use crate::colour::Colour;
use crate::font;
use crate::scene::{Anchor, Frame, Label, Point, Scene, Shape};
use plotters::prelude::{BitMapBackend, DrawingBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, FontTransform, IntoFont, RGBColor, TextStyle, register_font};
use std::sync::OnceLock;

/// The maximal number of drawn pixels. For larger pictures there is less smoothing, then the picture is reduced.
const MOST: f64 = 60e6;

/// The bytes of a PNG file, magnified by `scale`.
pub fn write(scene: &Scene, scale: f64) -> Vec<u8> {
    if scene.paper.is_some() {
        let (w, h, pixels) = pixels(scene, scale);
        return encode(w, h, png::ColorType::Rgb, &pixels);
    }
    let (w, h, on_white) = on(scene, Colour(255, 255, 255), scale);
    let (_, _, on_black) = on(scene, Colour(0, 0, 0), scale);
    encode(w, h, png::ColorType::Rgba, &transparent(&on_white, &on_black))
}

/// The RGBA pixels of a picture, computed from its renderings on white and on black.
fn transparent(on_white: &[u8], on_black: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(on_white.len() / 3 * 4);
    for (w, b) in on_white.chunks_exact(3).zip(on_black.chunks_exact(3)) {
        // A colour c of opacity a is 255 (1 - a) + a c on white, and a c on black.
        let opacity = (0..3).map(|k| 255 - i32::from(w[k]) + i32::from(b[k])).max().unwrap_or(0).clamp(0, 255);
        let part =
            |k: usize| (i32::from(b[k]) * 255 + opacity / 2).checked_div(opacity).unwrap_or(0).clamp(0, 255) as u8;
        out.extend([part(0), part(1), part(2), opacity as u8]);
    }
    out
}

/// The width, the height, and the RGB pixels; on white if the scene has no background.
pub fn pixels(scene: &Scene, scale: f64) -> (usize, usize, Vec<u8>) {
    on(scene, scene.paper.unwrap_or(Colour(255, 255, 255)), scale)
}

fn on(scene: &Scene, paper: Colour, scale: f64) -> (usize, usize, Vec<u8>) {
    static FONT: OnceLock<bool> = OnceLock::new();
    FONT.get_or_init(|| register_font("sans-serif", FontStyle::Normal, font::BYTES).is_ok());
    let scale = if scale.is_finite() { scale.clamp(0.1, 8.0) } else { 1.0 };
    let scale = scale.min((MOST / (scene.width * scene.height).max(1.0)).sqrt());
    let size = |x: f64| (x * scale).round().max(1.0) as usize;
    let (w, h) = (size(scene.width), size(scene.height));
    let fine = (1..=3usize).rev().find(|k| (w * h * k * k) as f64 <= MOST).unwrap_or(1);
    let (ww, hh) = (w * fine, h * fine);
    let mut buffer: Vec<u8> = [paper.0, paper.1, paper.2].repeat(ww * hh);
    {
        let mut canvas =
            Canvas { to: BitMapBackend::with_buffer(&mut buffer, (ww as u32, hh as u32)), scale: scale * fine as f64 };
        canvas.shapes(&scene.shapes);
    }
    (w, h, averaged(&buffer, w, h, fine))
}

/// The cells of a grid as an image with one pixel each.
pub fn of_cells(columns: usize, rows: usize, colours: &[Option<Colour>]) -> Vec<u8> {
    let pixels: Vec<u8> =
        colours.iter().take(columns * rows).flat_map(|c| c.map_or([0; 4], |c| [c.0, c.1, c.2, 255])).collect();
    encode(columns, rows, png::ColorType::Rgba, &pixels)
}

/// Cells of one colour with varying opacity, as an image with one pixel each.
pub fn of_density(columns: usize, fill: Colour, opacity: &[u8]) -> Vec<u8> {
    let rows = opacity.len() / columns.max(1);
    let pixels: Vec<u8> = opacity.iter().take(columns * rows).flat_map(|a| [fill.0, fill.1, fill.2, *a]).collect();
    encode(columns, rows, png::ColorType::Rgba, &pixels)
}

/// Encodes a PNG in memory, which cannot fail; after an error the file would be empty.
fn encode(w: usize, h: usize, kind: png::ColorType, pixels: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, w as u32, h as u32);
    encoder.set_color(kind);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(pixels));
    if written.is_err() {
        out.clear();
    }
    out
}

fn averaged(fine: &[u8], w: usize, h: usize, k: usize) -> Vec<u8> {
    if k == 1 {
        return fine.to_vec();
    }
    let mut out = Vec::with_capacity(w * h * 3);
    for y in 0..h {
        for x in 0..w {
            for c in 0..3 {
                let sum: usize =
                    (0..k * k).map(|j| usize::from(fine[((y * k + j / k) * w * k + x * k + j % k) * 3 + c])).sum();
                out.push((sum / (k * k)) as u8);
            }
        }
    }
    out
}

fn rgb(c: Colour) -> RGBColor {
    RGBColor(c.0, c.1, c.2)
}

/// A bitmap with a scale. Errors of plotters are ignored, because drawing into memory does not fail.
struct Canvas<'a> {
    to: BitMapBackend<'a>,
    scale: f64,
}

impl Canvas<'_> {
    fn px(&self, p: Point) -> (i32, i32) {
        let one = |v: f64| (v * self.scale).clamp(-1e6, 1e6).round() as i32;
        (one(p.0), one(p.1))
    }

    fn shapes(&mut self, all: &[Shape]) {
        for s in all {
            match s {
                Shape::Group(_, inner) => self.shapes(inner),
                Shape::Line { points, colour, width, dashed: false, opacity } => {
                    self.line(points, *colour, *width, *opacity);
                }
                Shape::Line { points, colour, width, dashed: true, opacity } => {
                    dashes(points, 4.0 * width, 2.5 * width)
                        .iter()
                        .for_each(|d| self.line(d, *colour, *width, *opacity));
                }
                Shape::Polygon { points, fill, opacity } => self.polygon(points, *fill, *opacity),
                Shape::Rect { frame, fill, opacity } => self.rect(*frame, *fill, *opacity),
                Shape::Dots { at, radius, fill, opacity } => {
                    at.iter().for_each(|p| self.dot(*p, *radius, *fill, *opacity));
                }
                Shape::Text(l) => self.text(l),
                Shape::Cells { frame, columns, colours } => {
                    self.cells(
                        *frame,
                        *columns,
                        |k| colours.get(k).copied().flatten().map(|c| (c, 1.0)),
                        colours.len(),
                    );
                }
                Shape::Density { frame, columns, fill, opacity } => {
                    self.cells(*frame, *columns, |k| Some((*fill, f64::from(*opacity.get(k)?) / 256.0)), opacity.len());
                }
            }
        }
    }

    fn polygon(&mut self, points: &[Point], fill: Colour, opacity: f64) {
        let points: Vec<(i32, i32)> = points.iter().map(|p| self.px(*p)).collect();
        let _ = self.to.fill_polygon(points, &rgb(fill).mix(opacity));
    }

    fn rect(&mut self, f: Frame, fill: Colour, opacity: f64) {
        let (a, b) = (self.px((f.x, f.y)), self.px((f.right(), f.bottom())));
        // A rectangle in plotters includes both corners.
        if b.0 > a.0 && b.1 > a.1 {
            let _ = self.to.draw_rect(a, (b.0 - 1, b.1 - 1), &rgb(fill).mix(opacity), true);
        }
    }

    fn dot(&mut self, p: Point, radius: f64, fill: Colour, opacity: f64) {
        let r = (radius * self.scale).round().max(1.0) as u32;
        let _ = self.to.draw_circle(self.px(p), r, &rgb(fill).mix(opacity), true);
    }

    /// Draws each segment as a rectangle and each joint as a circle: thick lines of plotters have spikes at sharp
    /// corners.
    fn line(&mut self, points: &[Point], colour: Colour, width: f64, opacity: f64) {
        let half = 0.5 * width;
        for pair in points.windows(2) {
            let ((ax, ay), (bx, by)) = (pair[0], pair[1]);
            let length = (bx - ax).hypot(by - ay);
            if length < 1e-9 {
                continue;
            }
            let (nx, ny) = ((by - ay) / length * half, (ax - bx) / length * half);
            self.polygon(
                &[(ax + nx, ay + ny), (bx + nx, by + ny), (bx - nx, by - ny), (ax - nx, ay - ny)],
                colour,
                opacity,
            );
        }
        // At the joints of a translucent line, overlapping shapes would be darker.
        if width > 1.0 && points.len() > 2 && opacity == 1.0 {
            for p in &points[1..points.len() - 1] {
                self.dot(*p, half, colour, 1.0);
            }
        }
    }

    fn text(&mut self, label: &Label) {
        let side = match label.anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let turn = if label.upwards { FontTransform::Rotate270 } else { FontTransform::None };
        let colour = rgb(label.colour);
        let style: TextStyle = ("sans-serif", label.size * self.scale)
            .into_font()
            .transform(turn)
            .color(&colour)
            .pos(Pos::new(side, VPos::Center));
        let at = self.px(label.at);
        let _ = self.to.draw_text(&label.text, &style, at);
    }

    /// The cells of a grid; `cell` returns the colour and opacity of each.
    fn cells(&mut self, frame: Frame, columns: usize, cell: impl Fn(usize) -> Option<(Colour, f64)>, count: usize) {
        let rows = count / columns.max(1);
        let (w, h) = (frame.w / columns.max(1) as f64, frame.h / rows.max(1) as f64);
        for k in 0..count {
            let Some((c, opacity)) = cell(k).filter(|c| c.1 > 0.0) else { continue };
            let (x, y) = (frame.x + (k % columns) as f64 * w, frame.y + (k / columns) as f64 * h);
            let (a, b) = (self.px((x, y)), self.px((x + w, y + h)));
            // Opaque rectangles include the last row and column. So neighbours overlap by one pixel, and the background
            // does not show through.
            let _ = self.to.draw_rect(a, b, &rgb(c).mix(opacity), true);
        }
    }
}

/// Cuts a line into dashes of length `on` with gaps of length `off`.
fn dashes(points: &[Point], on: f64, off: f64) -> Vec<Vec<Point>> {
    let (mut out, mut piece): (Vec<Vec<Point>>, Vec<Point>) = (Vec::new(), Vec::new());
    let (mut left, mut drawing) = (on.max(0.5), true);
    for pair in points.windows(2) {
        let (mut start, end) = (pair[0], pair[1]);
        if drawing && piece.is_empty() {
            piece.push(start);
        }
        let mut length = (end.0 - start.0).hypot(end.1 - start.1);
        while length > left {
            let t = left / length;
            start = (start.0 + (end.0 - start.0) * t, start.1 + (end.1 - start.1) * t);
            length -= left;
            piece.push(start);
            if drawing {
                out.push(std::mem::take(&mut piece));
            } else {
                piece = vec![start];
            }
            drawing = !drawing;
            left = if drawing { on.max(0.5) } else { off.max(0.5) };
        }
        left -= length;
        if drawing {
            piece.push(end);
        }
    }
    if drawing && piece.len() > 1 {
        out.push(piece);
    }
    out
}

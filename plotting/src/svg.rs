//! Scenes as SVG: few elements, coordinates with two decimals, text as text elements.

use crate::colour::Colour;
use crate::png;
use crate::scene::{Anchor, Frame, Label, Point, Scene, Shape};
use std::fmt::Write;

/// Up to this number, cells are separate rectangles; more cells are an embedded image.
const RECTS: usize = 900;

/// The SVG text of a scene.
pub fn write(scene: &Scene) -> String {
    let (w, h) = (num(scene.width), num(scene.height));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" font-family=\"'DejaVu Sans',Verdana,sans-serif\">\n"
    );
    if !scene.title.is_empty() {
        let _ = writeln!(out, "<title>{}</title>", escape(&scene.title));
    }
    if let Some(paper) = scene.paper {
        let _ = writeln!(out, "<rect width=\"{w}\" height=\"{h}\" fill=\"{}\"/>", paper.hex());
    }
    shapes(&scene.shapes, &mut out);
    out + "</svg>\n"
}

fn shapes(all: &[Shape], out: &mut String) {
    for s in all {
        match s {
            Shape::Group(class, inner) => {
                let _ = writeln!(out, "<g class=\"{class}\">");
                shapes(inner, out);
                out.push_str("</g>\n");
            }
            other => one(other, out),
        }
    }
}

fn one(s: &Shape, out: &mut String) {
    let _ = match s {
        Shape::Line { points, colour, width, dashed, opacity } => {
            let dash = if *dashed {
                format!(" stroke-dasharray=\"{} {}\"", num(4.0 * width), num(2.5 * width))
            } else {
                String::new()
            };
            writeln!(
                out,
                "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dash}{}/>",
                path(points),
                colour.hex(),
                num(*width),
                faint_stroke(*opacity)
            )
        }
        Shape::Polygon { points, fill, opacity } => {
            writeln!(out, "<path d=\"{}Z\" fill=\"{}\"{}/>", path(points), fill.hex(), faint(*opacity))
        }
        Shape::Rect { frame, fill, opacity } => {
            writeln!(out, "<rect {} fill=\"{}\"{}/>", place(*frame), fill.hex(), faint(*opacity))
        }
        Shape::Dots { at, radius, fill, opacity } => dots(at, *radius, *fill, *opacity, out),
        Shape::Text(l) => text(l, out),
        Shape::Cells { frame, columns, colours } => cells(*frame, *columns, colours, out),
        Shape::Density { frame, columns, fill, opacity } => {
            image(*frame, &png::of_density(*columns, *fill, opacity), out)
        }
        Shape::Group(..) => Ok(()),
    };
}

fn place(f: Frame) -> String {
    format!("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", num(f.x), num(f.y), num(f.w), num(f.h))
}

fn faint(opacity: f64) -> String {
    if opacity < 1.0 { format!(" fill-opacity=\"{}\"", num(opacity)) } else { String::new() }
}

fn faint_stroke(opacity: f64) -> String {
    if opacity < 1.0 { format!(" stroke-opacity=\"{}\"", num(opacity)) } else { String::new() }
}

/// Points are lines of length zero with round caps: one element for all of them.
fn dots(at: &[Point], radius: f64, fill: Colour, opacity: f64, out: &mut String) -> std::fmt::Result {
    let d: String = at.iter().map(|p| format!("M{} {}h0", num(p.0), num(p.1))).collect();
    let faint = faint_stroke(opacity);
    writeln!(
        out,
        "<path d=\"{d}\" stroke=\"{}\" stroke-width=\"{}\" stroke-linecap=\"round\"{faint}/>",
        fill.hex(),
        num(2.0 * radius)
    )
}

fn path(points: &[Point]) -> String {
    let mut out = String::new();
    for (k, p) in points.iter().enumerate() {
        let _ = write!(out, "{}{} {}", if k == 0 { "M" } else { "L" }, num(p.0), num(p.1));
    }
    out
}

fn text(label: &Label, out: &mut String) -> std::fmt::Result {
    let anchor = match label.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    // Moves the baseline down by half the height of capitals.
    let down = 0.36 * label.size;
    let (x, y) = label.at;
    let (at, turn) = match label.upwards {
        true => ((x + down, y), format!(" transform=\"rotate(-90 {} {})\"", num(x + down), num(y))),
        false => ((x, y + down), String::new()),
    };
    writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{anchor}{turn}>{}</text>",
        num(at.0),
        num(at.1),
        num(label.size),
        label.colour.hex(),
        escape(&label.text)
    )
}

/// Embeds a PNG file in a frame.
fn image(frame: Frame, png: &[u8], out: &mut String) -> std::fmt::Result {
    let (place, data) = (place(frame), base64(png));
    writeln!(
        out,
        "<image {place} preserveAspectRatio=\"none\" image-rendering=\"pixelated\" href=\"data:image/png;base64,{data}\"/>"
    )
}

fn cells(frame: Frame, columns: usize, colours: &[Option<Colour>], out: &mut String) -> std::fmt::Result {
    if columns == 0 || colours.is_empty() {
        return Ok(());
    }
    let rows = colours.len() / columns;
    if colours.len() > RECTS {
        return image(frame, &png::of_cells(columns, rows, colours), out);
    }
    out.push_str("<g shape-rendering=\"crispEdges\">\n");
    let (w, h) = (frame.w / columns as f64, frame.h / rows.max(1) as f64);
    for (k, c) in colours.iter().enumerate() {
        let Some(c) = c else { continue };
        let f = Frame { x: frame.x + (k % columns) as f64 * w, y: frame.y + (k / columns) as f64 * h, w, h };
        writeln!(out, "<rect {} fill=\"{}\"/>", place(f), c.hex())?;
    }
    out.push_str("</g>\n");
    Ok(())
}

/// A number with at most two decimals. Numbers that are not finite never reach this function; if they did, the file
/// would still be valid.
pub fn num(x: f64) -> String {
    let x = if x.is_finite() { (x * 100.0).round() / 100.0 } else { 0.0 };
    format!("{}", if x == 0.0 { 0.0 } else { x })
}

/// Escapes text for XML.
pub fn escape(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '&' => "&amp;".to_owned(),
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '"' => "&quot;".to_owned(),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => " ".to_owned(),
            c => c.to_string(),
        })
        .collect()
}

/// Encodes bytes in base64.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let n = chunk.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for k in 0..4 {
            let digit = DIGITS[(n >> (18 - 6 * k)) as usize & 63];
            out.push(if k <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

//! The legend and the colour bar, to the right of the axes.

use crate::chart::LayerKind;
use crate::font;
use crate::panel::{Panel, SMALL, ticks_up};
use crate::scale::Axis;
use crate::scene::{Anchor, Frame, Shape};

/// The line height of the legend in pixels.
const LINE: f64 = 18.0;
/// The width of the colour bar in pixels, without its labels.
const BAR: f64 = 14.0;
/// The maximal width of a name in pixels.
const NAME: f64 = 150.0;

/// Layers with names.
pub fn entries(p: &Panel) -> Vec<usize> {
    if !p.chart.legend {
        return Vec::new();
    }
    (0..p.chart.layers.len()).filter(|k| !p.chart.layers[*k].name.is_empty()).collect()
}

/// The width in pixels; 0 if there is neither a legend nor a colour bar.
pub fn width(p: &Panel) -> f64 {
    let names =
        entries(p).iter().map(|k| font::width(&p.chart.layers[*k].name, SMALL).min(NAME) + 24.0).fold(0.0, f64::max);
    let bar = bar_width(p);
    if names + bar > 0.0 { names + bar + 14.0 } else { 0.0 }
}

fn bar_width(p: &Panel) -> f64 {
    let Some(axis) = heights(p, p.frame) else { return 0.0 };
    let t = ticks_up(&axis);
    let numbers = t.at.iter().map(|t| font::width(&t.1, SMALL)).fold(font::width(&t.note, SMALL) - BAR, f64::max);
    BAR + 6.0 + numbers + 8.0
}

fn heights(p: &Panel, f: Frame) -> Option<Axis> {
    p.heights.map(|h| Axis::new(h, false, (f.bottom(), f.y)))
}

/// Draws both into a frame.
pub fn draw(p: &Panel, f: Frame) -> Vec<Shape> {
    let mut out = Vec::new();
    let mut left = f.x;
    if let Some(axis) = heights(p, f) {
        out.push(Shape::Group("heights", bar(p, &axis, f)));
        left += bar_width(p);
    }
    let names = names(p, Frame { x: left, w: f.right() - left, ..f });
    if !names.is_empty() {
        out.push(Shape::Group("legend", names));
    }
    out
}

fn bar(panel: &Panel, axis: &Axis, frame: Frame) -> Vec<Shape> {
    const STEPS: usize = 64;
    let colours = (0..STEPS).map(|k| Some(panel.map.at(1.0 - (k as f64 + 0.5) / STEPS as f64))).collect();
    let mut out = vec![Shape::Cells { frame: Frame { w: BAR, ..frame }, columns: 1, colours }];
    let t = ticks_up(axis);
    for (v, text) in &t.at {
        let Some(y) = axis.at(*v).filter(|y| *y >= frame.y - 0.5 && *y <= frame.bottom() + 0.5) else { continue };
        out.push(Shape::stroke((frame.x + BAR, y), (frame.x + BAR + 3.0, y), panel.ink.soft, 1.0));
        out.push(Shape::text((frame.x + BAR + 6.0, y), text.clone(), SMALL, Anchor::Start, panel.ink.soft));
    }
    if !t.note.is_empty() {
        out.push(Shape::text((frame.x, frame.y - 10.0), t.note, SMALL, Anchor::Start, panel.ink.soft));
    }
    out
}

fn names(panel: &Panel, frame: Frame) -> Vec<Shape> {
    let all = entries(panel);
    let room = ((frame.h / LINE) as usize).max(1);
    let shown = if all.len() > room { room.saturating_sub(1) } else { all.len() };
    let mut out = Vec::new();
    for (row, k) in all.iter().take(shown).enumerate() {
        let y = frame.y + (row as f64 + 0.5) * LINE;
        out.extend(sample(panel, *k, frame.x, y));
        let name = font::cut(&panel.chart.layers[*k].name, SMALL, (frame.w - 24.0).min(NAME));
        out.push(Shape::text((frame.x + 24.0, y), name, SMALL, Anchor::Start, panel.ink.ink));
    }
    if shown < all.len() {
        let y = frame.y + (shown as f64 + 0.5) * LINE;
        out.push(Shape::text(
            (frame.x, y),
            format!("and {} more", all.len() - shown),
            SMALL,
            Anchor::Start,
            panel.ink.soft,
        ));
    }
    out
}

/// A small sample of a layer.
fn sample(p: &Panel, k: usize, left: f64, middle: f64) -> Vec<Shape> {
    let layer = &p.chart.layers[k];
    let colour = p.colour(k);
    match layer.kind {
        LayerKind::Scatter => {
            vec![Shape::Dots { at: vec![(left + 9.0, middle)], radius: 3.5, fill: colour, opacity: 1.0 }]
        }
        LayerKind::Line
        | LayerKind::Path
        | LayerKind::Stem
        | LayerKind::Across
        | LayerKind::Upright
        | LayerKind::Quiver
        | LayerKind::Contour => {
            let dashed = layer.dashed;
            let mut out = vec![Shape::Line {
                points: vec![(left, middle), (left + 18.0, middle)],
                colour,
                width: 2.0,
                dashed,
                opacity: 1.0,
            }];
            if layer.markers {
                out.push(Shape::Dots { at: vec![(left + 9.0, middle)], radius: 3.0, fill: colour, opacity: 1.0 });
            }
            out
        }
        LayerKind::Text | LayerKind::Surface | LayerKind::Heatmap => Vec::new(),
        LayerKind::Area | LayerKind::Band | LayerKind::Bars | LayerKind::Stacked | LayerKind::Hist | LayerKind::Box => {
            let opacity = crate::marks::opacity(layer.kind);
            vec![Shape::Rect {
                frame: Frame { x: left + 2.0, y: middle - 5.0, w: 14.0, h: 10.0 },
                fill: colour,
                opacity,
            }]
        }
    }
}

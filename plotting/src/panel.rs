//! A pair of axes with its contents: the layout.

use crate::chart::{Chart, LayerKind};
use crate::colour::{Colour, ColourMap, Ink, Theme};
use crate::font;
use crate::range;
use crate::scale::{Axis, Ticks};
use crate::scene::{Anchor, Frame, Label, Shape};
use crate::{legend, marks};

/// Font size of tick labels.
pub const SMALL: f64 = 11.0;
/// Font size of axis labels.
pub const LABEL: f64 = 12.5;
/// Font size of titles.
pub const TITLE: f64 = 15.0;
/// Margin at the picture's edge.
const EDGE: f64 = 12.0;
/// The maximal height in pixels of rotated category names.
const UPRIGHT: f64 = 110.0;

/// With more space than this per category, a name is truncated rather than rotated.
const SLOT: f64 = 64.0;

/// Axes in a frame, with their contents.
pub struct Panel<'c> {
    /// The chart to be drawn.
    pub chart: &'c Chart,
    /// Light or dark.
    pub theme: Theme,
    /// Its colours.
    pub ink: Ink,
    /// The axes' frame.
    pub frame: Frame,
    /// The x axis.
    pub x: Axis,
    /// The y axis.
    pub y: Axis,
    /// The names along the x axis, if it has categories.
    pub categories: Vec<String>,
    /// Colours of heights.
    pub map: ColourMap,
    /// The minimal and maximal height.
    pub heights: Option<(f64, f64)>,
    /// Whether pixels are large (text output): fewer lines, no partial opacity.
    pub coarse: bool,
}

impl<'c> Panel<'c> {
    /// Lays out the axes of a chart in a frame.
    pub fn new(chart: &'c Chart, theme: Theme, frame: Frame) -> Panel<'c> {
        let categories = range::categories(chart);
        let (across, up) = range::of(chart, &categories);
        let map = ColourMap::named(&chart.colour_map);
        let log_x = chart.log.0 && categories.is_empty();
        let x_limits = chart.limits.0.filter(|l| !log_x || l.0 > 0.0).unwrap_or_else(|| across.padded(log_x));
        let y_limits = chart.limits.1.filter(|l| !chart.log.1 || l.0 > 0.0).unwrap_or_else(|| up.padded(chart.log.1));
        let ends = if range::is_matrix_order(chart) { (frame.y, frame.bottom()) } else { (frame.bottom(), frame.y) };
        let mut panel = Panel {
            chart,
            theme,
            ink: theme.ink(),
            frame,
            x: Axis::new(x_limits, log_x, (frame.x, frame.right())),
            y: Axis::new(y_limits, chart.log.1, ends),
            heights: range::heights(chart, map.centred),
            map,
            categories,
            coarse: false,
        };
        panel.x.whole =
            chart.layers.iter().any(|l| l.kind == LayerKind::Stem || l.kind == LayerKind::Heatmap && l.x.is_empty());
        panel.y.whole = range::is_matrix_order(chart);
        if chart.equal {
            panel.equalise();
        }
        panel
    }

    /// Gives both axes the same scale by extending the range of one of them.
    fn equalise(&mut self) {
        if self.x.log || self.y.log {
            return;
        }
        let per = |a: &Axis| (a.range.1 - a.range.0) / (a.ends.1 - a.ends.0).abs().max(1.0);
        let (x, y) = (per(&self.x), per(&self.y));
        let grow = |a: &mut Axis, by: f64| {
            let (mid, half) = ((a.range.0 + a.range.1) / 2.0, (a.range.1 - a.range.0) / 2.0 * by);
            a.range = (mid - half, mid + half);
        };
        if x > 0.0 && y > 0.0 && x.is_finite() && y.is_finite() {
            if x < y { grow(&mut self.x, y / x) } else { grow(&mut self.y, x / y) }
        }
    }

    /// The colour of a layer, as given by the program or by its index.
    pub fn colour(&self, index: usize) -> Colour {
        let layer = &self.chart.layers[index];
        let quiet = |kind| {
            matches!(
                kind,
                LayerKind::Heatmap
                    | LayerKind::Contour
                    | LayerKind::Surface
                    | LayerKind::Across
                    | LayerKind::Upright
                    | LayerKind::Text
            )
        };
        let turn = self.chart.layers[..index].iter().filter(|l| !quiet(l.kind) && l.colour.is_empty()).count();
        match self.theme.named(&layer.colour) {
            Some(c) => c,
            None if layer.kind == LayerKind::Text => self.ink.ink,
            None if quiet(layer.kind) => self.ink.soft,
            None if layer.kind == LayerKind::Quiver && self.heights.is_some() => self.ink.ink,
            None if layer.kind == LayerKind::Path => self.ink.series[(turn + 1) % 8],
            None => self.ink.series[turn % 8],
        }
    }

    /// The colour of a contour line at a height, with sufficient contrast to the background.
    pub fn contour_colour(&self, z: f64) -> Option<Colour> {
        let c = self.height(z)?;
        Some(if self.theme.distance(c) < 0.3 { c.mix(self.ink.ink, 0.35) } else { c })
    }

    /// The colour of a height.
    pub fn height(&self, z: f64) -> Option<Colour> {
        let (a, b) = self.heights?;
        let t = if b > a { (z / 2.0 - a / 2.0) / (b / 2.0 - a / 2.0) } else { 0.5 };
        z.is_finite().then(|| self.map.at(t))
    }
}

/// Ticks of the x axis; as many as fit without touching.
pub fn ticks_across(axis: &Axis, size: f64) -> Ticks {
    let length = (axis.ends.1 - axis.ends.0).abs();
    let mut room = (length / 60.0) as usize;
    loop {
        let t = axis.ticks(room.max(2));
        let widest = t.at.iter().map(|t| font::width(&t.1, size)).fold(0.0, f64::max);
        let gaps = t.at.windows(2).filter_map(|p| Some((axis.at(p[1].0)? - axis.at(p[0].0)?).abs()));
        if room <= 2 || gaps.fold(f64::INFINITY, f64::min) > widest + 8.0 {
            return t;
        }
        room -= 1;
    }
}

/// Ticks of the y axis.
pub fn ticks_up(axis: &Axis) -> Ticks {
    axis.ticks(((axis.ends.1 - axis.ends.0).abs() / 38.0) as usize)
}

/// Draws a chart into a frame: title, axes, marks, legend.
pub fn draw(chart: &Chart, theme: Theme, whole: Frame) -> Vec<Shape> {
    let ink = theme.ink();
    let mut out = Vec::new();
    let mut inner = Frame { x: whole.x + EDGE, y: whole.y + EDGE, w: whole.w - 2.0 * EDGE, h: whole.h - 2.0 * EDGE };
    if !chart.title.is_empty() {
        let size = if whole.w < 300.0 { LABEL } else { TITLE };
        let text = font::cut(&chart.title, size, inner.w);
        out.push(Shape::text((whole.x + whole.w / 2.0, inner.y + 8.0), text, size, Anchor::Middle, ink.ink));
        inner.y += 26.0;
        inner.h -= 26.0;
    }
    if !chart.facets.is_empty() {
        out.extend(crate::facets::draw(
            chart,
            theme,
            Frame { x: whole.x, w: whole.w, y: inner.y - EDGE, h: inner.h + 2.0 * EDGE },
        ));
        return out;
    }
    if chart.layers.iter().any(|l| l.kind == LayerKind::Surface) {
        out.extend(crate::surface::draw(chart, theme, inner));
        return out;
    }
    // The legend's width depends on names and heights, and the margins on tick labels, which depend on the frame. So
    // both are estimated for the full frame.
    let first = Panel::new(chart, theme, Frame { x: inner.x, y: inner.y, w: inner.w.max(40.0), h: inner.h.max(40.0) });
    let side = legend::width(&first).min(0.45 * inner.w);
    let frame = margins(&first, inner, side);
    let panel = Panel::new(chart, theme, frame);
    out.push(Shape::Group("axes", axes(&panel, whole)));
    let (shapes, remarks) = marks::all(&panel);
    out.extend(shapes);
    if side > 0.0 {
        out.extend(legend::draw(&panel, Frame { x: frame.right() + 14.0, y: frame.y, w: side - 14.0, h: frame.h }));
    }
    out.extend(remark(&panel, remarks));
    out
}

/// The frame of the axes inside the remaining space.
fn margins(panel: &Panel, inner: Frame, side: f64) -> Frame {
    let up = ticks_up(&Axis { ends: (inner.bottom() - 40.0, inner.y), ..panel.y.clone() });
    let numbers = up.at.iter().map(|t| font::width(&t.1, SMALL)).fold(8.0, f64::max);
    let left = numbers + 8.0 + if panel.chart.labels.1.is_empty() { 0.0 } else { 22.0 };
    let top =
        if up.note.is_empty() && !range::has_missing(panel.chart) && !panel.chart.layers.iter().any(marks::crowded) {
            4.0
        } else {
            18.0
        };
    let w = (inner.w - left - side - 6.0).max(30.0);
    let names = if upright(panel, w) {
        panel.categories.iter().map(|c| font::width(&font::cut(c, SMALL, UPRIGHT), SMALL)).fold(0.0, f64::max) + 4.0
    } else {
        16.0
    };
    let note = !ticks_across(&panel.x, SMALL).note.is_empty();
    let bottom = names.min(0.4 * inner.h) + 4.0 + if panel.chart.labels.0.is_empty() && !note { 0.0 } else { 20.0 };
    Frame { x: inner.x + left, y: inner.y + top, w, h: (inner.h - top - bottom).max(30.0) }
}

/// Whether names along the x axis must be rotated.
fn upright(p: &Panel, width: f64) -> bool {
    let slot = width / p.categories.len().max(1) as f64;
    slot < SLOT && p.categories.iter().any(|c| font::width(c, SMALL) > slot - 4.0)
}

fn axes(panel: &Panel, whole: Frame) -> Vec<Shape> {
    let mut out = Vec::new();
    let (frame, ink) = (panel.frame, panel.ink);
    let up = ticks_up(&panel.y);
    let grid = !panel.chart.layers.iter().all(|l| l.kind == LayerKind::Heatmap) || panel.chart.layers.is_empty();
    for (v, text) in &up.at {
        let Some(y) = panel.y.at(*v).filter(|y| *y >= frame.y - 0.5 && *y <= frame.bottom() + 0.5) else { continue };
        if grid {
            out.push(Shape::grid((frame.x, y), (frame.right(), y), &ink));
        }
        out.push(Shape::text((frame.x - 6.0, y), text.clone(), SMALL, Anchor::End, ink.soft));
    }
    if !up.note.is_empty() {
        out.push(Shape::text((frame.x, frame.y - 10.0), up.note, SMALL, Anchor::Start, ink.soft));
    }
    if panel.categories.is_empty() {
        numbers(panel, grid, &mut out);
    } else {
        names(panel, &mut out);
    }
    out.push(Shape::stroke((frame.x, frame.bottom()), (frame.right(), frame.bottom()), ink.soft, 1.0));
    out.push(Shape::stroke((frame.x, frame.y), (frame.x, frame.bottom()), ink.soft, 1.0));
    let (across, upwards) = &panel.chart.labels;
    if !across.is_empty() {
        let text = font::cut(across, LABEL, frame.w);
        out.push(Shape::text(
            (frame.x + frame.w / 2.0, whole.bottom() - EDGE - 5.0),
            text,
            LABEL,
            Anchor::Middle,
            ink.ink,
        ));
    }
    if !upwards.is_empty() {
        let text = font::cut(upwards, LABEL, frame.h);
        let at = (whole.x + EDGE + 4.0, frame.y + frame.h / 2.0);
        out.push(Shape::Text(Label { at, text, size: LABEL, anchor: Anchor::Middle, upwards: true, colour: ink.ink }));
    }
    out
}

fn numbers(p: &Panel, grid: bool, out: &mut Vec<Shape>) {
    let (f, ink) = (p.frame, p.ink);
    let t = ticks_across(&p.x, SMALL);
    for (v, text) in &t.at {
        let Some(x) = p.x.at(*v).filter(|x| *x >= f.x - 0.5 && *x <= f.right() + 0.5) else { continue };
        if grid {
            out.push(Shape::grid((x, f.y), (x, f.bottom()), &ink));
        }
        out.push(Shape::text((x, f.bottom() + 13.0), text.clone(), SMALL, Anchor::Middle, ink.soft));
    }
    if !t.note.is_empty() {
        out.push(Shape::text((f.right(), f.bottom() + 30.0), t.note, SMALL, Anchor::End, ink.soft));
    }
}

fn names(p: &Panel, out: &mut Vec<Shape>) {
    let (frame, ink) = (p.frame, p.ink);
    let slot = frame.w / p.categories.len().max(1) as f64;
    let stand = upright(p, frame.w);
    // If there are more names than fit, only every n-th one is shown.
    let every = if stand { (13.0 / slot).ceil().max(1.0) as usize } else { 1 };
    for (k, name) in p.categories.iter().enumerate().step_by(every) {
        let Some(centre) = p.x.at(k as f64).filter(|x| *x >= frame.x && *x <= frame.right()) else { continue };
        out.push(match stand {
            true => Shape::Text(Label {
                at: (centre, frame.bottom() + 6.0),
                text: font::cut(name, SMALL, UPRIGHT),
                size: SMALL,
                anchor: Anchor::End,
                upwards: true,
                colour: ink.soft,
            }),
            false => Shape::text(
                (centre, frame.bottom() + 13.0),
                font::cut(name, SMALL, slot - 4.0),
                SMALL,
                Anchor::Middle,
                ink.soft,
            ),
        });
    }
}

/// Remarks about what the marks do not show, as text.
fn remark(p: &Panel, remarks: marks::Remarks) -> Vec<Shape> {
    let f = p.frame;
    let empty = p.chart.layers.iter().all(|l| l.x.is_empty() && l.y.is_empty() && l.z.data.is_empty());
    match remarks.words() {
        Some(words) => vec![Shape::text((f.right(), f.y - 9.0), words, SMALL, Anchor::End, p.ink.soft)],
        None if empty => {
            vec![Shape::text((f.x + f.w / 2.0, f.y + f.h / 2.0), "no data", LABEL, Anchor::Middle, p.ink.soft)]
        }
        None => Vec::new(),
    }
}

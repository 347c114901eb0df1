//! Pictures of adl values: plots as SVG, PNG and text.
//!
//! Reading order: `chart` (a plot as data, read from a value), `range` and `scale` (numbers and ticks of axes), `panel`
//! (layout), `marks` (layers as shapes), then the back ends for lists of shapes (`scene`): `svg`, `png`, `text`.
//!
//! What is *not* here: files, terminals and notebooks. Hosts handle these and call [`picture`].

mod chart;
mod clip;
mod colour;
mod cost_chart;
mod facets;
mod font;
mod legend;
pub mod live;
mod marks;
mod panel;
mod png;
mod range;
mod residuals_chart;
mod scale;
mod scene;
mod surface;
mod svg;
pub mod terminal;
mod text;

pub use colour::Theme;

use adl_interp::value::{Value, interactive};
use chart::Chart;
use scene::{Frame, Scene};

/// What the tests of the crate use beside its interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::chart::{Chart, Grid, Layer, LayerKind};
    pub use crate::clip::{line, polygon, thin};
    pub use crate::colour::{Colour, DARK_PAGE, NAMED, WHITE};
    pub use crate::live::MOST;
    pub use crate::marks::{Summary, lines, summary};
    pub use crate::scale::Axis;
    pub use crate::scene::{Frame, Point};
    pub use crate::svg::{base64, escape, num};
    pub use crate::terminal::{PIECE, kitty, sixel};
}

/// The default size in pixels.
const SIZE: (f64, f64) = (640.0, 400.0);

/// A value that can be drawn.
#[derive(Clone, Debug)]
pub struct Figure {
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Chart(Box<Chart>),
    Cost(Box<cost_chart::Cost>),
}

/// The picture of a plot, of a cost (bars beside the source), of residuals (the frontier of memory and work), or of an
/// interactive value where its controls stand; `None` for other values.
pub fn picture(v: &Value) -> Option<Figure> {
    let v = &interactive::at_start(v);
    match chart::read(v).or_else(|| residuals_chart::read(v, &[])) {
        Some(chart) => Some(Figure::of(chart)),
        None => cost_chart::read(v).map(|c| Figure { what: What::Cost(Box::new(c)) }),
    }
}

/// The picture of residuals, including the plans in `steps` between the named ones: their peak memory and extra work.
/// `None` for other values.
pub fn frontier(v: &Value, steps: &[(u64, u64)]) -> Option<Figure> {
    residuals_chart::read(v, steps).map(Figure::of)
}

impl Figure {
    /// The picture of a chart.
    #[doc(hidden)]
    pub fn of(chart: Chart) -> Figure {
        Figure { what: What::Chart(Box::new(chart)) }
    }

    /// Width and height in pixels.
    pub fn size(&self) -> (f64, f64) {
        match &self.what {
            What::Cost(c) => c.size(),
            What::Chart(c) if c.facets.is_empty() => c.size.unwrap_or(SIZE),
            What::Chart(c) => {
                let (rows, columns) = facets::shape(c);
                let of_facets =
                    ((320.0 * columns as f64).clamp(SIZE.0, 2400.0), (240.0 * rows as f64).clamp(240.0, 2400.0));
                c.size.unwrap_or(of_facets)
            }
        }
    }

    fn scene(&self, theme: Theme) -> Scene {
        let chart = match &self.what {
            What::Cost(c) => return c.scene(theme),
            What::Chart(c) => c,
        };
        let theme = chart.theme.unwrap_or(theme);
        let (width, height) = self.size();
        let shapes = panel::draw(chart, theme, Frame { x: 0.0, y: 0.0, w: width, h: height });
        Scene { width, height, paper: theme.ink().paper, title: chart.title.clone(), shapes }
    }

    /// As SVG.
    pub fn svg(&self, theme: Theme) -> String {
        svg::write(&self.scene(theme))
    }

    /// As PNG, magnified by `scale`.
    pub fn png(&self, theme: Theme, scale: f64) -> Vec<u8> {
        png::write(&self.scene(theme), scale)
    }

    /// As escape sequences of a terminal graphics protocol.
    pub fn terminal(&self, protocol: terminal::Protocol, theme: Theme) -> String {
        terminal::write(&self.scene(theme), protocol, 1.0)
    }

    /// As characters in the given number of columns and rows. A cost is shown as its table, which may be wider.
    pub fn text(&self, columns: usize, rows: usize, colour: bool) -> String {
        match &self.what {
            What::Chart(c) => text::write(c, columns, rows, colour),
            What::Cost(c) => c.table.clone(),
        }
    }
}

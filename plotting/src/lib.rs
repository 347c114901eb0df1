//! Pictures of adl values: plots as SVG, PNG and text.
//!
//! Reading order: `chart` (a plot as data, read from a value), `range` and `scale` (numbers and ticks of axes), `panel` (where everything
//! stands), `marks` (layers as shapes), then the back ends on a list of shapes (`scene`): `svg`, `png`, `text`.
//!
//! What is *not* here: files, terminals and notebooks. Hosts have them, and call [`picture`].

mod chart;
mod clip;
mod colour;
mod facets;
mod font;
mod legend;
pub mod live;
mod marks;
mod panel;
mod png;
mod range;
mod scale;
mod scene;
mod surface;
mod svg;
mod text;

pub use colour::Theme;

use adl_interp::value::Value;
use chart::Chart;
use scene::{Frame, Scene};

/// Pixels of a picture that says nothing of its size.
const SIZE: (f64, f64) = (640.0, 400.0);

/// Something that can be drawn.
#[derive(Clone, Debug)]
pub struct Figure {
    chart: Chart,
}

/// The picture of a value; `None` for values that have none.
pub fn picture(v: &Value) -> Option<Figure> {
    chart::read(v).map(|chart| Figure { chart })
}

impl Figure {
    pub(crate) fn of(chart: Chart) -> Figure {
        Figure { chart }
    }

    /// Pixels across and down.
    pub fn size(&self) -> (f64, f64) {
        let (rows, columns) = facets::shape(&self.chart);
        let of_facets = (320.0 * columns as f64, 240.0 * rows as f64);
        let default = if self.chart.facets.is_empty() { SIZE } else { (of_facets.0.clamp(SIZE.0, 2400.0), of_facets.1.clamp(240.0, 2400.0)) };
        self.chart.size.unwrap_or(default)
    }

    fn scene(&self, theme: Theme) -> Scene {
        let theme = self.chart.theme.unwrap_or(theme);
        let (width, height) = self.size();
        let shapes = panel::draw(&self.chart, theme, Frame { x: 0.0, y: 0.0, w: width, h: height });
        Scene { width, height, paper: theme.ink().paper, title: self.chart.title.clone(), shapes }
    }

    /// As SVG.
    pub fn svg(&self, theme: Theme) -> String {
        svg::write(&self.scene(theme))
    }

    /// As PNG, `scale` times as large.
    pub fn png(&self, theme: Theme, scale: f64) -> Vec<u8> {
        png::write(&self.scene(theme), scale)
    }

    /// As characters, in so many columns and rows.
    pub fn text(&self, columns: usize, rows: usize, colour: bool) -> String {
        text::write(&self.chart, columns, rows, colour)
    }
}

//! All kinds of plots with hostile numbers: no panics, and no invalid numbers in files.

use adl_ir::generate::rng::Rng;
use adl_plotting::internals::{Chart, Grid, Layer, LayerKind};
use adl_plotting::{Figure, Theme};

const KINDS: [LayerKind; 17] = [
    LayerKind::Line,
    LayerKind::Scatter,
    LayerKind::Area,
    LayerKind::Band,
    LayerKind::Bars,
    LayerKind::Stacked,
    LayerKind::Hist,
    LayerKind::Box,
    LayerKind::Heatmap,
    LayerKind::Contour,
    LayerKind::Quiver,
    LayerKind::Surface,
    LayerKind::Path,
    LayerKind::Stem,
    LayerKind::Across,
    LayerKind::Upright,
    LayerKind::Text,
];

/// Random plots, with numbers that break a careless picture.
struct PlotGenerator(Rng);

impl PlotGenerator {
    fn number(&mut self) -> f64 {
        const STRANGE: [f64; 10] =
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MAX, f64::MIN, 5e-324, 1e-300, 1e300];
        match self.0.below(8) {
            0 => STRANGE[self.0.below(10)],
            1 => (self.0.below(2000) as f64 - 1000.0) * 1e9,
            2 => 1e9 + self.0.below(10) as f64,
            _ => self.0.below(2000) as f64 / 100.0 - 10.0,
        }
    }

    fn numbers(&mut self) -> Vec<f64> {
        let n = [0, 1, 2, 3, 10, 50][self.0.below(6)];
        (0..n).map(|_| self.number()).collect()
    }

    fn word(&mut self) -> String {
        ["", "a", "α", "a very long name of a category that has no room", "<&>\"\u{1}\n", "b"][self.0.below(6)]
            .to_owned()
    }

    fn layer(&mut self, kind: LayerKind) -> Layer {
        let (horizontal, vertical, eastward, northward) =
            (self.numbers(), self.numbers(), self.numbers(), self.numbers());
        let words = (0..self.0.below(12)).map(|_| self.word()).collect();
        let (rows, columns) = (self.0.below(6), self.0.below(6));
        let data = (0..rows * columns).map(|_| self.number()).collect();
        let (dashed, markers) = (self.0.below(2) == 1, self.0.below(2) == 1);
        Layer {
            kind,
            name: self.word(),
            colour: String::new(),
            dashed,
            markers,
            width: self.0.below(3) as f64,
            x: horizontal,
            y: vertical,
            u: eastward,
            v: northward,
            words,
            z: Grid { rows, columns, data },
        }
    }

    fn chart(&mut self, kind: LayerKind) -> Chart {
        let mut layers = vec![self.layer(kind)];
        for _ in 0..self.0.below(3) {
            let kind = KINDS[self.0.below(17)];
            layers.push(self.layer(kind));
        }
        let sizes = [None, Some((120.0, 120.0)), Some((300.0, 1000.0))];
        Chart {
            layers,
            columns: 1,
            colour_map: ["viridis", "balance"][self.0.below(2)].to_owned(),
            equal: self.0.below(5) == 0,
            legend: true,
            log: (self.0.below(3) == 0, self.0.below(3) == 0),
            size: sizes[self.0.below(3)],
            title: self.word(),
            labels: (self.word(), self.word()),
            ..Chart::default()
        }
    }
}

/// Checks that numbers in an SVG are valid and that tags are closed.
fn check(svg: &str) {
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    assert_eq!(svg.matches("<g").count(), svg.matches("</g>").count());
    assert!(!svg.chars().any(|c| c.is_control() && c != '\n'));
}

#[test]
fn no_numbers_break_a_picture() {
    let rounds = std::env::var("ADL_PICTURES").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let mut random = PlotGenerator(Rng::new(1));
    for kind in KINDS {
        for round in 0..rounds {
            let figure = Figure::of(random.chart(kind));
            let theme = if round % 2 == 0 { Theme::Light } else { Theme::Dark };
            check(&figure.svg(theme));
            let text = figure.text(30 + round % 60, 8 + round % 20, round % 3 == 0);
            assert!(!text.contains("NaN") && text.lines().count() > 3, "{text}");
            if round % 20 == 0 {
                assert!(figure.png(theme, 0.5).starts_with(b"\x89PNG"));
            }
        }
    }
}

#[test]
fn facets_in_facets_end_somewhere() {
    let mut chart = PlotGenerator(Rng::new(7)).chart(LayerKind::Line);
    for _ in 0..6 {
        chart = Chart { facets: vec![chart.clone(), chart], columns: 2, ..Chart::default() };
    }
    check(&Figure::of(chart.clone()).svg(Theme::Light));
    assert!(!Figure::of(chart).text(80, 24, false).is_empty());
}

#[test]
fn a_million_points_make_a_small_picture() {
    let n = 1_000_000;
    let x: Vec<f64> = (0..n).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|v| (v / 1e4).sin() + (v * 12.9898).sin() * 0.1).collect();
    for kind in [LayerKind::Line, LayerKind::Scatter, LayerKind::Area, LayerKind::Stem, LayerKind::Path] {
        let layer = Layer { kind, x: x.clone(), y: y.clone(), ..Layer::default() };
        let svg = Figure::of(Chart { layers: vec![layer], ..Chart::default() }).svg(Theme::Light);
        assert!(svg.len() < 900_000, "{kind:?}: {}", svg.len());
    }
}

/// The exact text of a line plot.
#[test]
fn text_is_drawn_with_axes() {
    let layer = Layer {
        kind: LayerKind::Line,
        x: vec![0.0, 1.0, 2.0],
        y: vec![0.0, 1.0, 0.0],
        name: "tent".into(),
        ..Layer::default()
    };
    let chart = Chart {
        layers: vec![layer],
        title: "Tent".into(),
        legend: true,
        labels: ("x".into(), "y".into()),
        ..Chart::default()
    };
    let text = Figure::of(chart).text(30, 10, false);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0].trim(), "Tent");
    assert_eq!(lines[1].trim(), "y");
    assert!(lines[2].starts_with("1 ┤"), "{text}");
    assert!(lines.iter().any(|l| l.contains("└─")) && lines.iter().any(|l| l.trim() == "x"), "{text}");
    assert_eq!(lines.last().copied(), Some("  ━ tent"));
}

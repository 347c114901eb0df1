//! Pictures that change while a program runs: when to redraw them, and curves that receive one number at a time.

use crate::Figure;
use crate::chart::{Chart, Layer, LayerKind};
use std::time::{Duration, Instant};

/// The minimal interval between two drawings.
const PAUSE: Duration = Duration::from_millis(100);
/// The maximal number of points of a curve; then every second point is dropped.
pub const MOST: usize = 20_000;

/// A growing curve.
struct Curve {
    name: String,
    /// Position and value.
    points: Vec<(f64, f64)>,
    /// The count of numbers so far.
    count: u64,
    /// One in `stride` numbers is kept.
    stride: u64,
    /// The latest point, kept or not.
    last: (f64, f64),
}

/// The live picture of a run.
#[derive(Default)]
pub struct Live {
    curves: Vec<Curve>,
    drawn: Option<Instant>,
    /// A figure that has not been drawn yet.
    waiting: Option<Figure>,
    /// Whether a curve has numbers that have not been drawn yet.
    grown: bool,
    /// Whether intermediate pictures are not displayed, so that only the last one is drawn.
    unseen: bool,
}

impl Live {
    /// For an output without a viewer: only `finish` returns a picture.
    pub fn unseen() -> Live {
        Live { unseen: true, ..Live::default() }
    }

    /// Replaces the picture; returns it if it is time to draw.
    pub fn show(&mut self, figure: Figure) -> Option<Figure> {
        self.waiting = Some(figure);
        self.grown = false;
        self.due().then(|| self.waiting.take()).flatten()
    }

    /// Appends a number to a curve; returns the picture of all curves if it is time to draw.
    pub fn watch(&mut self, name: &str, y: f64) -> Option<Figure> {
        match self.curves.iter_mut().find(|c| c.name == name) {
            Some(c) => c.add(y),
            None => {
                let mut c = Curve { name: name.to_owned(), points: Vec::new(), count: 0, stride: 1, last: (0.0, y) };
                c.add(y);
                self.curves.push(c);
            }
        }
        self.waiting = None;
        self.grown = true;
        self.due().then(|| self.figure())
    }

    /// Ends the run: returns what has not been drawn yet, and resets the state.
    pub fn finish(&mut self) -> Option<Figure> {
        let left = if self.grown { Some(self.figure()) } else { self.waiting.take() };
        *self = Live { unseen: self.unseen, ..Live::default() };
        left
    }

    /// The number of points that all curves keep.
    pub fn kept(&self) -> usize {
        self.curves.iter().map(|c| c.points.len()).sum()
    }

    fn due(&mut self) -> bool {
        let due = !self.unseen && self.drawn.is_none_or(|t| t.elapsed() >= PAUSE);
        if due {
            self.drawn = Some(Instant::now());
        }
        due
    }

    fn figure(&mut self) -> Figure {
        self.grown = false;
        let layer = |c: &Curve| {
            let points = c.points.iter().chain(c.points.last().is_none_or(|p| p.0 < c.last.0).then_some(&c.last));
            let (x, y) = points.copied().unzip();
            Layer { kind: LayerKind::Line, name: c.name.clone(), x, y, ..Layer::default() }
        };
        let layers: Vec<Layer> = self.curves.iter().map(layer).collect();
        // Losses decrease by orders of magnitude, so the axis may be logarithmic.
        let all = || layers.iter().flat_map(|l| &l.y).copied().filter(|v| v.is_finite());
        let (low, high) = all().fold((f64::INFINITY, 0.0f64), |(a, b), v| (a.min(v), b.max(v)));
        let log = (false, low > 0.0 && high > 50.0 * low);
        Figure::of(Chart {
            layers,
            columns: 1,
            legend: true,
            log,
            labels: ("step".to_owned(), String::new()),
            ..Chart::default()
        })
    }
}

impl Curve {
    fn add(&mut self, y: f64) {
        self.last = (self.count as f64, y);
        if self.count.is_multiple_of(self.stride) {
            self.points.push(self.last);
        }
        self.count += 1;
        if self.points.len() > MOST {
            let mut k = 0;
            self.points.retain(|_| {
                k += 1;
                k % 2 == 1
            });
            self.stride *= 2;
        }
    }
}

//! What a picture is made of, in pixels from the upper left corner. Every back end draws these shapes and nothing else.

use crate::colour::{Colour, Ink};

/// A place.
pub type Point = (f64, f64);

/// A rectangle.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Frame {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Width.
    pub w: f64,
    /// Height.
    pub h: f64,
}

impl Frame {
    /// Right edge.
    pub fn right(self) -> f64 {
        self.x + self.w
    }

    /// Lower edge.
    pub fn bottom(self) -> f64 {
        self.y + self.h
    }

    /// Whether a point lies in it.
    pub fn holds(self, p: Point) -> bool {
        p.0 >= self.x - 0.01 && p.0 <= self.right() + 0.01 && p.1 >= self.y - 0.01 && p.1 <= self.bottom() + 0.01
    }
}

/// Which point of a text stands at its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A text on one line; its place is vertically in the middle.
#[derive(Clone, PartialEq, Debug)]
pub struct Label {
    /// Its place.
    pub at: Point,
    /// The words.
    pub text: String,
    /// Pixels.
    pub size: f64,
    /// Which of its ends stands there.
    pub anchor: Anchor,
    /// Whether it runs upwards.
    pub upwards: bool,
    /// Its colour.
    pub colour: Colour,
}

/// Something drawn.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Shape {
    /// A line through points.
    Line { points: Vec<Point>, colour: Colour, width: f64, dashed: bool, opacity: f64 },
    /// A filled polygon.
    Polygon { points: Vec<Point>, fill: Colour, opacity: f64 },
    /// A filled rectangle.
    Rect { frame: Frame, fill: Colour, opacity: f64 },
    /// Filled circles.
    Dots { at: Vec<Point>, radius: f64, fill: Colour, opacity: f64 },
    /// How densely points lie: the opacity of each cell of a grid, row by row from the top.
    Density { frame: Frame, columns: usize, fill: Colour, opacity: Vec<u8> },
    /// Words.
    Text(Label),
    /// Cells of a grid, row by row from the top; `None` shows the paper.
    Cells { frame: Frame, columns: usize, colours: Vec<Option<Colour>> },
    /// Shapes that belong together, with what they are.
    Group(&'static str, Vec<Shape>),
}

/// A whole picture.
#[derive(Clone, PartialEq, Debug)]
pub struct Scene {
    /// Pixels across.
    pub width: f64,
    /// Pixels down.
    pub height: f64,
    /// Behind everything; without it the ground of the page is seen.
    pub paper: Option<Colour>,
    /// What it shows, in words, for those who cannot see it.
    pub title: String,
    /// From the back to the front.
    pub shapes: Vec<Shape>,
}

impl Shape {
    /// A text.
    pub fn text(at: Point, text: impl Into<String>, size: f64, anchor: Anchor, colour: Colour) -> Shape {
        Shape::Text(Label { at, text: text.into(), size, anchor, upwards: false, colour })
    }

    /// A circle that is not filled.
    pub fn ring(at: Point, radius: f64, colour: Colour, width: f64) -> Shape {
        const SIDES: usize = 24;
        let angle = |k: usize| k as f64 / SIDES as f64 * std::f64::consts::TAU;
        let points = (0..=SIDES).map(|k| (at.0 + radius * angle(k).cos(), at.1 + radius * angle(k).sin())).collect();
        Shape::Line { points, colour, width, dashed: false, opacity: 1.0 }
    }

    /// A line of the grid.
    pub fn grid(from: Point, to: Point, ink: &Ink) -> Shape {
        Shape::Line { points: vec![from, to], colour: ink.grid, width: 1.0, dashed: false, opacity: ink.grid_opacity }
    }

    /// A straight line.
    pub fn stroke(from: Point, to: Point, colour: Colour, width: f64) -> Shape {
        Shape::Line { points: vec![from, to], colour, width, dashed: false, opacity: 1.0 }
    }
}

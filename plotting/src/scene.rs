//! The shapes of a picture, in pixels from the upper left corner. Every back end draws exactly these shapes.

use crate::colour::{Colour, Ink};

/// A point.
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

/// The part of a text that is at its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A text on one line, vertically centred at its position.
#[derive(Clone, PartialEq, Debug)]
pub struct Label {
    /// Its position.
    pub at: Point,
    /// The words.
    pub text: String,
    /// Font size in pixels.
    pub size: f64,
    /// Horizontal alignment at the position.
    pub anchor: Anchor,
    /// Whether it is rotated to read upwards.
    pub upwards: bool,
    /// Its colour.
    pub colour: Colour,
}

/// A shape.
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
    /// The density of points: the opacity of each cell of a grid, in row-major order from the top.
    Density { frame: Frame, columns: usize, fill: Colour, opacity: Vec<u8> },
    /// Words.
    Text(Label),
    /// The cells of a grid, in row-major order from the top; `None` is transparent.
    Cells { frame: Frame, columns: usize, colours: Vec<Option<Colour>> },
    /// Related shapes, with the name of the group.
    Group(&'static str, Vec<Shape>),
}

/// A whole picture.
#[derive(Clone, PartialEq, Debug)]
pub struct Scene {
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
    /// The background; `None` if it is transparent.
    pub paper: Option<Colour>,
    /// A description for users who cannot see the picture.
    pub title: String,
    /// From back to front.
    pub shapes: Vec<Shape>,
}

impl Shape {
    /// A text.
    pub fn text(at: Point, text: impl Into<String>, size: f64, anchor: Anchor, colour: Colour) -> Shape {
        Shape::Text(Label { at, text: text.into(), size, anchor, upwards: false, colour })
    }

    /// A circle outline.
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

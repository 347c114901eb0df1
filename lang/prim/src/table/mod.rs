//! The table of primitives: one row for each. A row has the name, type, linearity, documentation and examples; rows of
//! scalar operators ([`unary`], [`binary`]) also have value, derivative, and how native code and a GPU compute them.
//!
//! Each family is an enum, so that the code that evaluates, specialises or compiles a family matches all of it: a
//! primitive without such code does not compile.

pub mod array;
pub mod binary;
pub mod comm;
pub mod compare;
pub mod derivative;
pub mod general;
pub mod higher_order;
pub mod io;
pub mod linalg;
pub mod number;
pub mod random;
pub mod reduction;
pub mod rows;
pub mod text;
pub mod unary;

use crate::row::{Fold, Linearity, Row, Typing};

type Examples = &'static [&'static str];

/// A primitive of an ordinary type.
const fn scheme(
    name: &'static str,
    text: &'static str,
    arity: u8,
    l: Linearity,
    doc: &'static str,
    e: Examples,
) -> Row {
    Row { name, typing: Typing::Scheme(text), arity, linearity: l, doc, examples: e, named: true }
}

/// A primitive that the type checker knows.
const fn special(
    name: &'static str,
    text: &'static str,
    arity: u8,
    l: Linearity,
    doc: &'static str,
    e: Examples,
) -> Row {
    Row { name, typing: Typing::Special(text), arity, linearity: l, doc, examples: e, named: true }
}

/// A function of numbers that acts on each element of arrays.
const fn elementwise(name: &'static str, text: &'static str, arity: u8, doc: &'static str, examples: Examples) -> Row {
    Row { name, typing: Typing::Elementwise(text), arity, linearity: Linearity::None, doc, examples, named: true }
}

/// A real function of one argument.
const fn real(name: &'static str, doc: &'static str, examples: Examples) -> Row {
    elementwise(name, "Reals a => a -> a", 1, doc, examples)
}

/// A real function that only derivatives contain.
const fn internal(name: &'static str, arity: u8, doc: &'static str, examples: Examples) -> Row {
    let text = if arity == 1 { "Reals a => a -> a" } else { "Reals a => a -> a -> a" };
    Row { named: false, ..elementwise(name, text, arity, doc, examples) }
}

/// A primitive that only other primitives contain.
const fn hidden(name: &'static str, text: &'static str, arity: u8, doc: &'static str, examples: Examples) -> Row {
    Row { named: false, ..scheme(name, text, arity, Linearity::None, doc, examples) }
}

/// A family of primitives: `Name "word": constructor(arguments), documentation, [examples];`. The constructors are the
/// functions above.
macro_rules! family {
    ($(#[$meta:meta])* $family:ident {
        $($name:ident $word:literal: $make:ident($($arg:expr),*), $doc:literal, [$($example:literal),* $(,)?];)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $family { $(#[doc = $doc] $name,)* }

        impl $family {
            /// Every one, in the order of the table.
            pub const ALL: &'static [$family] = &[$($family::$name),*];

            /// Its row.
            pub const fn row(self) -> Row {
                match self {
                    $($family::$name => $make($word, $($arg,)* $doc, &[$($example),*]),)*
                }
            }
        }
    };
}
use family;

//! The built-in names, and the columns of their table.

use crate::table::array::ArrayFn;
use crate::table::binary::Bin;
use crate::table::compare::Cmp;
use crate::table::derivative::DerivativeFn;
use crate::table::general::GeneralFn;
use crate::table::higher_order::HigherOrderFn;
use crate::table::io::IoFn;
use crate::table::linalg::LinalgFn;
use crate::table::number::NumberFn;
use crate::table::random::RandomFn;
use crate::table::reduction::ReductionFn;
use crate::table::text::TextFn;
use crate::table::unary::Un;
use std::collections::HashMap;

/// How a primitive is typed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Typing {
    /// An ordinary type scheme, in adl's own syntax: `"Num a => [n]a -> a"`.
    Scheme(&'static str),
    /// The scalar type scheme of an elementwise function (`"Real a => a -> a"`). On arrays the function acts on each
    /// element, and scalars are broadcast.
    Elementwise(&'static str),
    /// The type checker has a special rule. The text is for documentation, and for uses with fewer arguments than the
    /// arity.
    Special(&'static str),
}

/// The arguments in which a primitive is (jointly) linear; the others must not depend on the linear variable.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Linearity {
    /// Linear in no argument.
    None,
    /// Linear in all arguments jointly (`+`, `zip`, `concat`).
    Joint,
    /// Linear in the listed arguments only (`take n xs`: 1).
    In(&'static [u8]),
    /// Linear in each of its two arguments while the other is fixed (`*`, `@`, `dot`).
    Bilinear,
    /// A higher-order function (`map f xs`): linear in the data if the function is linear.
    Mapped,
    /// Combines a state with each element (`reduce op e xs`). Linear if the function is linear in the state, or in the
    /// state and the elements jointly.
    Folded(Fold),
}

/// The arguments of a primitive that combines a state with each element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fold {
    /// The index of the function.
    pub function: u8,
    /// The indices of the initial states.
    pub states: &'static [u8],
    /// The index of the elements.
    pub elements: u8,
    /// Whether the function takes the element before the state.
    pub element_first: bool,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The user's name for it.
    pub name: &'static str,
    /// Its type.
    pub typing: Typing,
    /// Number of arguments of a full application.
    pub arity: u8,
    /// Its linearity.
    pub linearity: Linearity,
    /// Markdown: one to three sentences; shapes, errors, and the derivative if it is not obvious.
    pub doc: &'static str,
    /// `>>>` examples, as `expression => echo`. They run as tests.
    pub examples: &'static [&'static str],
    /// Whether it is a name of the language. The others are made by derivatives.
    pub named: bool,
}

/// Declares the families of primitives: `Variant(Enum) by row;`.
macro_rules! families {
    ($($(#[$meta:meta])* $variant:ident($family:ident) by $row:ident;)*) => {
        /// A built-in function or constant.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Prim { $($(#[$meta])* $variant($family),)* }

        impl Prim {
            /// Its row in the table.
            pub const fn row(self) -> Row {
                match self { $(Prim::$variant(p) => p.$row(),)* }
            }
        }

        /// The number of names of the language.
        const NAMED: usize = {
            let mut n = 0;
            $(
                let mut i = 0;
                while i < $family::ALL.len() {
                    n += $family::ALL[i].$row().named as usize;
                    i += 1;
                }
            )*
            n
        };

        /// Every primitive that is a name of the language, in table order.
        const NAMES: [Prim; NAMED] = {
            let (mut all, mut n) = ([Prim::General(GeneralFn::Id); NAMED], 0);
            $(
                let mut i = 0;
                while i < $family::ALL.len() {
                    if $family::ALL[i].$row().named {
                        all[n] = Prim::$variant($family::ALL[i]);
                        n += 1;
                    }
                    i += 1;
                }
            )*
            all
        };
    };
}

families! {
    /// A binary scalar operator.
    Bin(Bin) by row;
    /// A unary scalar operator.
    Un(Un) by row;
    /// Another function of numbers or Bools.
    Number(NumberFn) by row;
    /// A comparison of whole values.
    Compare(Cmp) by row;
    /// A comparison of each element.
    CompareEach(Cmp) by row_of_each;
    /// A function of any data.
    General(GeneralFn) by row;
    /// A function that takes a function, and applies it to elements.
    HigherOrder(HigherOrderFn) by row;
    /// A function that makes, takes apart or rearranges arrays.
    Array(ArrayFn) by row;
    /// A function that computes with all elements of an array.
    Reduction(ReductionFn) by row;
    /// A function of linear algebra.
    Linalg(LinalgFn) by row;
    /// A function of random keys.
    Random(RandomFn) by row;
    /// A function of texts.
    Text(TextFn) by row;
    /// A function with an effect.
    Io(IoFn) by row;
    /// A derivative operator.
    Derivative(DerivativeFn) by row;
}

macro_rules! from {
    ($($variant:ident($family:ident)),*) => {
        $(impl From<$family> for Prim {
            fn from(p: $family) -> Prim {
                Prim::$variant(p)
            }
        })*
    };
}

from!(
    Bin(Bin),
    Un(Un),
    Number(NumberFn),
    General(GeneralFn),
    HigherOrder(HigherOrderFn),
    Array(ArrayFn),
    Reduction(ReductionFn),
    Linalg(LinalgFn),
    Random(RandomFn),
    Text(TextFn),
    Io(IoFn),
    Derivative(DerivativeFn)
);

impl Prim {
    /// Every primitive that is a name of the language, in table order.
    pub const ALL: &'static [Prim] = &NAMES;

    /// The name in source programs (operators as written; names with `__` are reserved for the standard modules).
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The built-in of that name.
    pub fn by_name(name: &str) -> Option<Prim> {
        thread_local! {
            static BY_NAME: HashMap<&'static str, Prim> = {
                // `^` also has a spelled-out name.
                NAMES.iter().map(|p| (p.name(), *p)).chain([("pow", Prim::Bin(Bin::Pow))]).collect()
            };
        }
        BY_NAME.with(|names| names.get(name).copied())
    }

    /// Whether it writes, reads or shows something, so that it must run once and in order.
    pub const fn has_effect(self) -> bool {
        matches!(self, Prim::Io(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_text_parses() {
        for p in Prim::ALL {
            let (Typing::Scheme(t) | Typing::Elementwise(t) | Typing::Special(t)) = p.row().typing;
            assert!(adl_syntax::parse_signature(t).is_ok(), "{p:?}: {t}");
            assert_eq!(Prim::by_name(p.name()), Some(*p));
        }
    }
}

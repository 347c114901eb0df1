//! The built-in names.

use crate::row::Row;
use crate::table::array::ArrayFn;
use crate::table::binary::Bin;
use crate::table::comm::CommFn;
use crate::table::compare::Cmp;
use crate::table::derivative::DerivativeFn;
use crate::table::general::GeneralFn;
use crate::table::higher_order::HigherOrderFn;
use crate::table::io::IoFn;
use crate::table::linalg::LinalgFn;
use crate::table::number::NumberFn;
use crate::table::random::RandomFn;
use crate::table::reduction::ReductionFn;
use crate::table::rows::RowsFn;
use crate::table::text::TextFn;
use crate::table::unary::Un;
use std::collections::HashMap;

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

        impl Prim {
            /// The built-in of that name, also one that only derivatives and other built-ins contain.
            pub fn by_word(name: &str) -> Option<Prim> {
                let of_families = [
                    $($family::ALL.iter().find(|p| p.$row().name == name).map(|p| Prim::$variant(*p)),)*
                ];
                Prim::by_name(name).or_else(|| of_families.into_iter().flatten().next())
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
    /// A function of values on several ranks.
    Comm(CommFn) by row;
    /// A function of tables in chunks.
    Rows(RowsFn) by row;
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
    Comm(CommFn),
    Rows(RowsFn),
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

    /// Whether it writes, reads, shows or sends something, so that it must run once and in order.
    pub const fn has_effect(self) -> bool {
        matches!(self, Prim::Io(_)) || matches!(self, Prim::Comm(p) if p.sends())
    }
}

//! Comparisons, of whole values and of each element.

use super::{Linearity as L, Row, elementwise, scheme};
use std::cmp::Ordering::{Equal, Greater, Less};

/// Rows: `Name "text form" "operator", documentation, [examples], "elementwise operator", documentation, [examples],
/// the orders for which it holds,`.
macro_rules! comparisons {
    ($($name:ident $word:literal
        $sign:literal $class:literal $doc:literal [$($example:literal),*]
        $each:literal $each_doc:literal [$($each_example:literal),*]
        $holds:pat,)*) => {
        /// A comparison.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Cmp { $(#[doc = $doc] $name,)* }

        impl Cmp {
            /// Every comparison.
            pub const ALL: &'static [Cmp] = &[$(Cmp::$name),*];

            /// Its word in the text form of the IR.
            pub const fn word(self) -> &'static str {
                match self { $(Cmp::$name => $word,)* }
            }

            /// The row of the comparison of whole values.
            pub const fn row(self) -> Row {
                match self {
                    $(Cmp::$name => scheme($sign, $class, 2, L::None, $doc, &[$($example),*]),)*
                }
            }

            /// The row of the comparison of each element.
            pub const fn row_of_each(self) -> Row {
                match self {
                    $(Cmp::$name => elementwise($each, "Num a => a -> a -> Bool", 2, $each_doc, &[$($each_example),*]),)*
                }
            }

            /// Whether the comparison holds for two values in this order. nan has no order: it only satisfies `!=`.
            #[inline]
            pub const fn holds(self, order: Option<std::cmp::Ordering>) -> bool {
                match self { $(Cmp::$name => matches!(order, $holds),)* }
            }
        }
    };
}

comparisons! {
    Eq "eq" "==" "Eq a => a -> a -> Bool" "Equality of whole values." ["[1, 2] == [1, 2] => true : Bool"]
        ".==" "Which elements are equal; numbers and arrays of lower rank broadcast. Texts and Bools are compared too."
        ["[1, 2] .== 2 => [false, true] : [2]Bool"]
        Some(Equal),
    Ne "ne" "!=" "Eq a => a -> a -> Bool" "Inequality." ["1 != 2 => true : Bool"]
        ".!=" "Which elements differ." ["[1, 2] .!= 2 => [true, false] : [2]Bool"]
        Some(Less | Greater) | None,
    Lt "lt" "<" "Ord a => a -> a -> Bool" "Less than; lexicographic on tuples, texts, arrays and data."
        ["1 < 2 => true : Bool"]
        ".<" "Which elements are less." ["[1.0, 2.0] .< 1.5 => [true, false] : [2]Bool"]
        Some(Less),
    Gt "gt" ">" "Ord a => a -> a -> Bool" "Greater than." ["1 > 2 => false : Bool"]
        ".>" "Which elements are greater."
        ["[[1, 5], [4, 2]] .> [3, 3] => [[false, true], [true, false]] : [2][2]Bool"]
        Some(Greater),
    Le "le" "<=" "Ord a => a -> a -> Bool" "At most." ["2 <= 2 => true : Bool"]
        ".<=" "Which elements are at most." ["[1, 2] .<= [1, 1] => [true, false] : [2]Bool"]
        Some(Less | Equal),
    Ge "ge" ">=" "Ord a => a -> a -> Bool" "At least." ["\"b\" >= \"a\" => true : Bool"]
        ".>=" "Which elements are at least." ["[1, 2] .>= 2 => [false, true] : [2]Bool"]
        Some(Greater | Equal),
}

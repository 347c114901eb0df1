//! Second-order array combinators and other functions that take functions.

use super::Fold;
use super::{Linearity as L, Row, family, scheme, special};

/// `op e xs`.
const OPERATOR: Fold = Fold { function: 0, states: &[1], elements: 2, element_first: false };
/// `f init xs`, with `f x acc`.
const FROM_RIGHT: Fold = Fold { element_first: true, ..OPERATOR };
/// `dest op e keys values`.
const HISTOGRAM: Fold = Fold { function: 1, states: &[0, 2], elements: 4, element_first: false };

family! {
    /// A function that takes a function, and applies it to elements.
    HigherOrderFn {
        Map "map": scheme("(a -> b) -> [n]a -> [n]b", 2, L::Mapped), "Applies a function to each element.",
        ["map (fun x -> x * x) [1.0, 2.0] => [1.0, 4.0] : [2]Float"];
        Map2 "map2": scheme("(a -> b -> c) -> [n]a -> [n]b -> [n]c", 3, L::Mapped), "Applies a function to pairs of elements.",
        ["map2 (+) [1, 2] [10, 20] => [11, 22] : [2]Int"];
        Map3 "map3": scheme("(a -> b -> c -> d) -> [n]a -> [n]b -> [n]c -> [n]d", 4, L::Mapped),
        "Applies a function to triples of elements.",
        ["map3 (fun a b c -> a + b + c) [1] [2] [3] => [6] : [1]Int"];
        Reduce "reduce": scheme("(a -> a -> a) -> a -> [n]a -> a", 3, L::Folded(OPERATOR)),
        "`reduce op e xs`: combines all elements by an associative `op` with unit `e`.",
        ["reduce (+) 0 [1, 2, 3] => 6 : Int"];
        Scan "scan": scheme("(a -> a -> a) -> a -> [n]a -> [n]a", 3, L::Folded(OPERATOR)),
        "Inclusive prefix combinations by an associative operator.",
        ["scan (+) 0 [1, 2, 3] => [1, 3, 6] : [3]Int"];
        ScanExclusive "scan_exclusive": scheme("(a -> a -> a) -> a -> [n]a -> [n]a", 3, L::Folded(OPERATOR)),
        "Prefix combinations without the element itself.",
        ["scan_exclusive (+) 0 [1, 2, 3] => [0, 1, 3] : [3]Int"];
        ReduceByIndex "reduce_by_index": scheme("[m]a -> (a -> a -> a) -> a -> [n]Int -> [n]a -> [m]a", 5, L::Folded(HISTOGRAM)),
        "`reduce_by_index dest op e keys values`: combines each value into the element of `dest` that its key names. \
         Keys out of range are ignored; `op` is associative and commutative.",
        ["reduce_by_index [0, 0] (+) 0 [0, 1, 0, 9] [1, 2, 3, 4] => [4, 2] : [2]Int"];
        Fold "fold": scheme("(b -> a -> b) -> b -> [n]a -> b", 3, L::Folded(OPERATOR)),
        "`fold f init xs`: from the left, `f acc x`.",
        ["fold (fun acc x -> acc - x) 10 [1, 2] => 7 : Int"];
        Foldr "foldr": scheme("(a -> b -> b) -> b -> [n]a -> b", 3, L::Folded(FROM_RIGHT)),
        "`foldr f init xs`: from the right, `f x acc`.",
        ["foldr (fun x acc -> x - acc) 0 [5, 3] => 2 : Int"];
        Along "along": special("Int -> ([n]a -> b) -> [n]a -> b", 3, L::None),
        "`along axis f x`: `f` of each vector along an axis, which stands for the axis: a number takes it away, an \
         array replaces it. The axis is a literal; -1 is the last.",
        [
            "along 1 sum [[1, 2], [3, 4]] => [3, 7] : [2]Int",
            "along 0 maximum [[1, 5], [4, 2]] => [4, 5] : [2]Int",
            "[[1, 2], [3, 4]] |> along (-1) cumsum => [[1, 3], [3, 7]] : [2][2]Int",
        ];
        Invertible "invertible": scheme("{inverse : b -> b -> b, lift : a -> b, lower : b -> a, op : b -> b -> b} -> a -> a -> a", 3, L::None),
        "A commutative operator that has an inverse: `op` and `inverse` act on lifted values. Use it where `reduce` \
         and `reduce_by_index` take an operator.",
        [
            "reduce (invertible {op = fun a b -> a + b, lift = id, lower = id, inverse = fun a b -> a - b}) 0 [1, 2] \
             => 3 : Int",
        ];
    }
}

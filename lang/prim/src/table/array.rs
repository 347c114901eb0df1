//! Arrays: how they are made, taken apart and rearranged.

use super::{Linearity as L, Row, family, scheme, special};

family! {
    /// A function that makes, takes apart or rearranges arrays.
    ArrayFn {
        Zip "zip": scheme("[n]a -> [n]b -> [n](a, b)", 2, L::Joint), "Pairs of elements.",
        ["zip [1, 2] [true, false] => [(1, true), (2, false)] : [2](Int, Bool)"];
        Zip3 "zip3": scheme("[n]a -> [n]b -> [n]c -> [n](a, b, c)", 3, L::Joint), "Triples of elements.",
        ["zip3 [1] [2] [3] => [(1, 2, 3)] : [1](Int, Int, Int)"];
        Unzip "unzip": scheme("[n](a, b) -> ([n]a, [n]b)", 1, L::Joint), "The components of pairs.",
        ["unzip [(1, 2.0)] => ([1], [2.0]) : ([1]Int, [1]Float)"];
        Unzip3 "unzip3": scheme("[n](a, b, c) -> ([n]a, [n]b, [n]c)", 1, L::Joint), "The components of triples.",
        ["unzip3 [(1, 2, 3)] => ([1], [2], [3]) : ([1]Int, [1]Int, [1]Int)"];
        Zeros "zeros": special("Int -> [_]Float", 1, L::None),
        "`zeros n`, `zeros [n, m, ...]`: an array of zeros of a size, or of a shape that is written out.",
        ["zeros 2 => [0.0, 0.0] : [2]Float", "zeros [2, 3] => [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]] : [2][3]Float"];
        Ones "ones": special("Int -> [_]Float", 1, L::None), "`ones n`, `ones [n, m, ...]`: an array of ones.",
        ["ones [2, 1] => [[1.0], [1.0]] : [2][1]Float"];
        Full "full": special("Int -> a -> [_]a", 2, L::In(&[1])),
        "`full n x`, `full [n, m, ...] x`: an array whose elements are all `x`.",
        ["full [2, 2] 7 => [[7, 7], [7, 7]] : [2][2]Int"];
        Arange "arange": special("Int -> [_]Int", 1, L::None),
        "`arange n`, `arange from to`, `arange from to step`: numbers from `from` (or 0) up to `to`, which is left \
         out. Of Ints or of Floats.",
        [
            "arange 3 => [0, 1, 2] : [3]Int",
            "arange 1 4 => [1, 2, 3] : [3]Int",
            "arange 0.0 1.0 0.25 => [0.0, 0.25, 0.5, 0.75] : [4]Float",
            "arange 5 0 (-2) => [5, 3, 1] : [3]Int",
        ];
        Iota "iota": special("Int -> [_]Int", 1, L::None), "0, 1, ..., n - 1.", ["iota 3 => [0, 1, 2] : [3]Int"];
        Range "range": special("Int -> Int -> [_]Int", 2, L::None), "`range a b`: a, ..., b - 1.",
        ["range 2 5 => [2, 3, 4] : [3]Int"];
        Linspace "linspace": special("Float -> Float -> Int -> [_]Float", 3, L::None),
        "`linspace a b n`: n numbers from a to b, both included.",
        ["linspace 0.0 1.0 3 => [0.0, 0.5, 1.0] : [3]Float"];
        Replicate "replicate": special("Int -> a -> [_]a", 2, L::In(&[1])), "`replicate n x`: n times x.",
        ["replicate 2 0.5 => [0.5, 0.5] : [2]Float"];
        Eye "eye": special("Int -> [_][_]Float", 1, L::None), "The identity matrix.",
        ["eye 2 => [[1.0, 0.0], [0.0, 1.0]] : [2][2]Float"];
        Diag "diag": special("Num a => [n]a -> [n][n]a", 1, L::In(&[0])),
        "A vector as a diagonal matrix; of a matrix, its diagonal.",
        ["diag [1, 2] => [[1, 0], [0, 2]] : [2][2]Int"];
        Put "__put": scheme("[n]a -> Int -> a -> [n]a", 3, L::In(&[0, 2])),
        "`{x with [i] = v}`: an array with another element, or, at a tuple of indices, with another element or part \
         of its rows.",
        [];
        Scatter "scatter": scheme("[m]a -> [n]Int -> [n]a -> [m]a", 3, L::In(&[0, 2])),
        "`scatter dest indices values`: a copy of `dest` with elements replaced. An index out of bounds is an error \
         (`scatter_within` leaves it out); of equal indices the last wins.",
        ["scatter [0, 0, 0] [2, 0] [5, 7] => [7, 0, 5] : [3]Int"];
        ScatterWithin "scatter_within": scheme("[m]a -> [n]Int -> [n]a -> [m]a", 3, L::In(&[0, 2])),
        "`scatter_within dest indices values`: a copy of `dest` with elements replaced, as by `scatter`; values \
         whose index is out of bounds are left out.",
        ["scatter_within [0, 0, 0] [2, 9, -1] [5, 7, 8] => [0, 0, 5] : [3]Int"];
        Gather "gather": scheme("[m]a -> [n]Int -> [n]a", 2, L::In(&[0])), "`gather xs indices`: the elements at the indices.",
        ["gather [10, 20, 30] [2, 0] => [30, 10] : [2]Int"];
        Compress "compress": scheme("[n]Bool -> [n]a -> [_]a", 2, L::In(&[1])),
        "`compress mask xs`: the elements where the mask is true, also written `xs[mask]`.",
        [
            "compress [true, false, true] [1, 2, 3] => [1, 3] : [2]Int",
            "(let xs = [1, 5, 3] in xs[xs .> 2]) => [5, 3] : [2]Int",
        ];
        Rotate "rotate": scheme("Int -> [n]a -> [n]a", 2, L::In(&[1])), "`rotate k xs`: to the left by k.",
        ["rotate 1 [1, 2, 3] => [2, 3, 1] : [3]Int"];
        Reverse "reverse": scheme("[n]a -> [n]a", 1, L::In(&[0])), "The elements in reverse order.",
        ["reverse [1, 2] => [2, 1] : [2]Int"];
        Append "++": special("[n]a -> [m]a -> [_]a", 2, L::Joint), "Joins arrays, texts or lists.",
        ["[1] ++ [2, 3] => [1, 2, 3] : [3]Int", "\"a\" ++ \"b\" => \"ab\" : String"];
        Flatten "flatten": special("[n][m]a -> [_]a", 1, L::In(&[0])), "The rows of a matrix, one after the other.",
        ["flatten [[1, 2], [3, 4]] => [1, 2, 3, 4] : [4]Int"];
        Reshape "reshape": special("[r]Int -> [n]a -> [_]a", 2, L::In(&[1])),
        "`reshape [2, 3] xs`: the same elements in another shape. The shape is a literal.",
        ["reshape [2, 2] [1, 2, 3, 4] => [[1, 2], [3, 4]] : [2][2]Int"];
        Stack "stack": special("List [m]a -> [_][m]a", 1, L::In(&[0])), "A list (or array) of arrays of one shape as one array.",
        ["stack ([1, 2] :: [3, 4] :: Nil) => [[1, 2], [3, 4]] : [2][2]Int"];
        Split "split": special("Int -> [n]a -> ([_]a, [_]a)", 2, L::In(&[1])), "`split k xs`: the first k, and the rest.",
        ["split 1 [1, 2, 3] => ([1], [2, 3]) : ([1]Int, [2]Int)"];
        Take "take": special("Int -> [n]a -> [_]a", 2, L::In(&[1])), "The first k elements.",
        ["take 2 [1, 2, 3] => [1, 2] : [2]Int"];
        Drop "drop": special("Int -> [n]a -> [_]a", 2, L::In(&[1])), "All but the first k elements.",
        ["drop 2 [1, 2, 3] => [3] : [1]Int"];
        Len "len": scheme("[n]a -> Int", 1, L::None), "Number of elements (rows, of a matrix).", ["len [5, 6] => 2 : Int"];
        Shape "shape": special("[n]a -> [_]Int", 1, L::None), "The extents of all axes.",
        ["shape [[1, 2, 3]] => [1, 3] : [2]Int"];
        Rank "rank": special("[n]a -> Int", 1, L::None), "Number of axes.", ["rank [[1, 2, 3]] => 2 : Int"];
        Where "where": special("Bool -> a -> a -> a", 3, L::In(&[1, 2])),
        "`where cond a b`, elementwise where `cond` is an array; scalars and arrays of lower rank broadcast. Both \
         are evaluated; the derivative reaches the chosen one.",
        ["where [true, false] [1, 2] [3, 4] => [1, 4] : [2]Int"];
        TransposeArray "__transpose": scheme("[n][m]a -> [m][n]a", 1, L::In(&[0])), "The transposed matrix: `x.T`.",
        ["[[1, 2], [3, 4]].T => [[1, 3], [2, 4]] : [2][2]Int"];
    }
}

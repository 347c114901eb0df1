//! Arrays: what is computed of all elements.

use super::{Linearity as L, Row, family, scheme, special};

family! {
    /// A function that computes with all elements of an array.
    ReductionFn {
        Sum "sum": special("Num a => [n]a -> a", 1, L::In(&[0])), "The sum of the elements; of a matrix, of its rows.",
        ["sum [1.0, 2.0] => 3.0 : Float", "sum [[1, 2], [3, 4]] => [4, 6] : [2]Int"];
        Prod "prod": special("Num a => [n]a -> a", 1, L::None), "The product of the elements.", ["prod [2, 3] => 6 : Int"];
        Mean "mean": special("Real a => [n]a -> a", 1, L::In(&[0])), "The mean of the elements; of a matrix, of its rows.",
        ["mean [1.0, 3.0] => 2.0 : Float"];
        Maximum "maximum": special("Ord a => [n]a -> a", 1, L::None),
        "The largest element; the derivative goes to the first of several.",
        ["maximum [1, 3, 2] => 3 : Int"];
        Minimum "minimum": special("Ord a => [n]a -> a", 1, L::None),
        "The smallest element; the derivative goes to the first of several.",
        ["minimum [1, 3, 2] => 1 : Int"];
        Argmin "argmin": scheme("Ord a => [n]a -> Int", 1, L::None), "Index of the smallest element (the first of several).",
        ["argmin [3, 1, 1] => 1 : Int"];
        Argmax "argmax": scheme("Ord a => [n]a -> Int", 1, L::None), "Index of the largest element (the first of several).",
        ["argmax [1, 3, 3] => 1 : Int"];
        Argsort "argsort": scheme("Ord a => [n]a -> [n]Int", 1, L::None), "The indices that sort an array; stable.",
        ["argsort [30, 10, 20] => [1, 2, 0] : [3]Int"];
        Cumsum "cumsum": scheme("Num a => [n]a -> [n]a", 1, L::In(&[0])), "Running sums.",
        ["cumsum [1, 2, 3] => [1, 3, 6] : [3]Int"];
        Cumprod "cumprod": scheme("Num a => [n]a -> [n]a", 1, L::None), "Running products.",
        ["cumprod [1, 2, 3] => [1, 2, 6] : [3]Int"];
        Dot "dot": scheme("Num a => [n]a -> [n]a -> a", 2, L::Bilinear), "Inner product.",
        ["dot [1.0, 2.0] [3.0, 4.0] => 11.0 : Float"];
        Outer "outer": scheme("Num a => [n]a -> [m]a -> [n][m]a", 2, L::Bilinear), "All products of two elements.",
        ["outer [1, 2] [10, 20] => [[10, 20], [20, 40]] : [2][2]Int"];
        MatMul "@": special("Num a => [n][m]a -> [m][k]a -> [n][k]a", 2, L::Bilinear),
        "Matrix product: matrix and matrix, matrix and vector, vector and matrix.",
        ["[[1.0, 2.0], [3.0, 4.0]] @ [1.0, 1.0] => [3.0, 7.0] : [2]Float"];
        Norm "norm": special("Real a => [n]a -> a", 1, L::None),
        "Euclidean norm (of a matrix, over all elements). The derivative at 0 is 0.",
        ["norm [3.0, 4.0] => 5.0 : Float"];
        Any "any": scheme("[n]Bool -> Bool", 1, L::None), "Whether one is true.", ["any [false, true] => true : Bool"];
        All "all": scheme("[n]Bool -> Bool", 1, L::None), "Whether all are true.", ["all [false, true] => false : Bool"];
    }
}

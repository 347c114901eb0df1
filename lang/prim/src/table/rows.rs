//! Tables in chunks, which are read when they are needed (module `rows` has the functions that programs use).

use super::{Linearity as L, Row, family, hidden, scheme};

family! {
    /// A function of `Rows a`.
    RowsFn {
        Make "__rows_make": scheme("(Int -> [_]a) -> [_]Int -> Rows a", 2, L::None),
        "`chunk sizes`: rows in chunks, each made when it is needed. A size of -1 is not known.",
        [];
        Chunk "__rows_chunk": scheme("Rows a -> Int -> [_]a", 2, L::None), "The rows of a chunk.", [];
        Sizes "__rows_sizes": scheme("Rows a -> [_]Int", 1, L::None), "The number of rows of each chunk, -1 where it is not known.", [];
        Fork "__rows_fork": scheme("(a -> b) -> a -> b", 1, L::None),
        "The function. The cotangents of what it captures are summed by themselves before they are added to others.",
        [];
        Read "__rows_read": hidden("() -> String -> Int -> [_]a", 3), "`type path k`: the rows of a chunk of a file.", [];
        Column "__rows_column": hidden("String -> String -> String -> Int -> [_]a", 4),
        "`path name type k`: a column of a chunk of a file.",
        [];
    }
}

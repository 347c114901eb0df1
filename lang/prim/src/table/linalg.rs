//! Linear algebra without derivatives (module `linalg` wraps it in custom rules).

use super::{Linearity as L, Row, family, scheme};

family! {
    /// A function of linear algebra.
    LinalgFn {
        LinSolve "__solve": scheme("Diff b => [n][n]Float -> [n]b -> [n]b", 2, L::In(&[1])), "Solves a linear system.", [];
        Cholesky "__cholesky": scheme("[n][n]Float -> [n][n]Float", 1, L::None), "Lower Cholesky factor.", [];
        Qr "__qr": scheme("[m][n]Float -> ([m][_]Float, [_][n]Float)", 1, L::None), "Thin QR.", [];
        Lu "__lu": scheme("[n][n]Float -> ([n][n]Float, [n][n]Float, [n]Int)", 1, L::None), "LU with row exchanges.", [];
        Svd "__svd": scheme("[m][n]Float -> ([m][_]Float, [_]Float, [_][n]Float)", 1, L::None), "Thin SVD.", [];
        Eigh "__eigh": scheme("[n][n]Float -> ([n]Float, [n][n]Float)", 1, L::None), "Symmetric eigenproblem.", [];
        Inv "__inv": scheme("[n][n]Float -> [n][n]Float", 1, L::None), "Inverse.", [];
        Det "__det": scheme("[n][n]Float -> Float", 1, L::None), "Determinant.", [];
    }
}

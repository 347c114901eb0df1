//! Every primitive of the table has a check of its derivatives here, or says why it needs none: a new primitive does not compile into
//! this file without one.
//!
//! A check is a function at a point, both as text. At each, with `ravel` for data of any kind: forward mode against central
//! differences; `linearize` and `vjp` against forward mode (the inner product with any cotangent, to 1e-12); and the second derivative
//! in all four nestings of forward and reverse, which also shows that it is symmetric.

use adl_prim::{
    ArrayFn, Bin, CommFn, DerivativeFn, GeneralFn, HigherOrderFn, LinalgFn, NumberFn, Prim, ReductionFn, RowsFn, Un,
};
use adl_tests::{echo_in, session};

/// What is checked for a primitive.
enum PrimCheck {
    /// Functions of `x`: the type of `x`, the body, points.
    At(&'static [(&'static str, &'static str, &'static [&'static str])]),
    /// Arithmetic of one argument: at points inside its domain, as scalars, arrays of length 0, 1, 3 and a matrix.
    Unary(&'static [&'static str]),
    /// Arithmetic of two arguments, in every combination of scalar and array.
    Binary,
    /// Nothing: its result has no tangent, or it has no argument.
    Discrete,
    /// Nothing here: it is a derivative operator, and `operators.rs` tests it.
    Operator,
}

use PrimCheck::{At, Binary, Discrete, Operator, Unary};

const VECTORS: &[&str] = &["[0.7, -1.3, 0.4]", "[2.5]", "([] : [0]Float)"];
const FULL: &[&str] = &["[0.7, -1.3, 0.4]", "[2.5]"];
const MATRICES: &[&str] = &["[[0.7, -1.3, 0.4], [0.2, 0.9, -0.6]]", "[[2.5]]"];
const SQUARE: &[&str] = &["[[2.1, 0.3, -0.4], [0.2, 1.9, 0.6], [0.5, -0.7, 3.2]]", "[[2.5]]"];
const PAIRS: &[&str] =
    &["([0.7, -1.3, 0.4], [0.2, 0.9, -0.6])", "([2.5], [-1.5])", "(([] : [0]Float), ([] : [0]Float))"];
const SMALL: &[&str] = &["0.37", "-0.61"];
const POSITIVE: &[&str] = &["0.37", "2.61"];
/// Also three tenths of them are above 1.
const ABOVE_ONE: &[&str] = &["4.37", "9.61"];

fn check(prim: Prim) -> PrimCheck {
    use Prim as P;
    match prim {
        P::Bin(
            Bin::Add
            | Bin::Sub
            | Bin::Mul
            | Bin::Div
            | Bin::Rem
            | Bin::Pow
            | Bin::Atan2
            | Bin::Hypot
            | Bin::Min
            | Bin::Max,
        ) => Binary,
        // Only derivatives contain them; the tests of their rows differentiate them.
        P::Bin(Bin::LeIndicator | Bin::ScaleTangent) => Discrete,
        P::Number(NumberFn::PowInt) => At(&[
            ("Float", "x ^ 3 + x ^ 2 + x ^ 1 + x ^ 0", SMALL),
            ("Float", "x ^ (-2)", SMALL),
            ("[n]Float", "x ^ 3", VECTORS),
            ("[n][m]Float", "x ^ 2", MATRICES),
        ]),
        P::Reduction(ReductionFn::MatMul) => At(&[
            ("[n][m]Float", "x @ x.T", MATRICES),
            ("([n][m]Float, [m]Float)", "fst x @ snd x", &["([[0.7, -1.3], [0.2, 0.9], [1.1, 0.4]], [0.3, -0.5])"]),
            ("([n]Float, [n][m]Float)", "fst x @ snd x", &["([0.3, -0.5], [[0.7, -1.3, 0.4], [0.2, 0.9, -0.6]])"]),
            ("[n][n]Float", "matmul x (matmul x x)", SQUARE),
            ("[n][m]Float", "[[1.0, 2.0], [3.0, 4.0]] @ x", &["[[0.7, -1.3, 0.4], [0.2, 0.9, -0.6]]"]),
            ("[n][m]Float", "(x @ x.T)[:, 0] @ x", MATRICES),
        ]),
        P::Un(Un::Neg) => At(&[
            ("Float", "-x * x", SMALL),
            ("[n]Float", "-x * x", VECTORS),
            ("(Float, [n]Float)", "let y = -x in (fst y * fst x, snd y)", &["(2.0, [3.0, 4.0])"]),
        ]),
        P::Array(ArrayFn::Append) => At(&[
            ("[n]Float", "let y = x ++ [5.0] ++ x in y * y", VECTORS),
            ("([n]Float, [n]Float)", "let y = concat (fst x) (snd x * fst x) in y * y", PAIRS),
            ("[n][m]Float", "let y = concat x x in y * y", MATRICES),
            ("[n](Float, Float)", "map (fun (a, b) -> a * b) (concat x (reverse x))", &["[(1.0, 2.0), (3.0, 4.0)]"]),
        ]),
        P::Un(op) => Unary(match op {
            _ if op.eval(-0.61).is_finite() => SMALL,
            _ if op.eval(0.37).is_finite() => POSITIVE,
            _ => ABOVE_ONE,
        }),
        P::Number(NumberFn::Clamp) => At(&[
            ("Float", "clamp 0.1 0.6 (x * x)", &["0.5", "0.2", "0.9"]),
            ("[n]Float", "clamp (-1.0) 0.5 (x * x * x)", VECTORS),
            (
                "(Float, Float, Float)",
                "let (lo, hi, v) = x in clamp (lo * lo) (hi * hi) (v * v)",
                &["(0.1, 1.0, 0.7)", "(0.5, 1.0, 0.2)", "(0.5, 1.0, 1.4)"],
            ),
        ]),
        P::Number(NumberFn::ToFloat) => At(&[("Float", "float x * to_float x", SMALL)]),
        P::Comm(CommFn::Spread | CommFn::Total | CommFn::Each) => At(&[
            ("[n]Float", "comm.total (comm.each (fun v -> v * v * x) (comm.spread x))", VECTORS),
            (
                "(Float, [n]Float)",
                "comm.total (comm.each (fun v -> (fst x * fst v, snd v)) (comm.spread x))",
                &["(2.0, [3.0, 4.0])"],
            ),
        ]),
        P::Comm(CommFn::Zip) => At(&[(
            "[n]Float",
            "let y = comm.spread x in comm.total (comm.each (fun (a, b) -> a * b) (comm.zip y y))",
            VECTORS,
        )]),
        P::Comm(CommFn::Mine | CommFn::Gather) => At(&[
            ("[n]Float", "comm.gather (comm.each (fun v -> map (fun a -> a * a) v) (comm.mine x))", VECTORS),
            ("[n][m]Float", "comm.gather (comm.each (fun v -> map (fun r -> r * r) v) (comm.mine x))", MATRICES),
        ]),
        P::Comm(CommFn::ScatterSum | CommFn::GatherEach) => At(&[(
            "[n]Float",
            "comm.total (comm.each (fun v -> v * v) (comm.gather_each (comm.scatter_sum (comm.spread x))))",
            VECTORS,
        )]),
        P::Comm(CommFn::Shift | CommFn::Exchange) => At(&[
            ("[n]Float", "comm.total (comm.each (fun v -> v * v) (comm.shift 2 (comm.spread x)))", VECTORS),
            ("[n]Float", "comm.total (comm.each (fun v -> v * v) (comm.exchange (comm.spread [x])))", VECTORS),
        ]),
        P::Comm(CommFn::From | CommFn::Place) => {
            At(&[("[n]Float", "let y = comm.from 0 (comm.place 0 x) in y * y", VECTORS)])
        }
        P::Comm(CommFn::FoldChunks | CommFn::SumChunks) | P::Rows(RowsFn::Chunk | RowsFn::Fork | RowsFn::Sizes) => {
            At(&[
                ("[n]Float", "rows.sum (fun v -> v * v * x) (rows.blocks 2 [0.5, -1.5, 2.0, 0.3, 0.8])", VECTORS),
                ("Float", "rows.fold_chunks max (fun vs -> sum vs * x) (rows.blocks 2 [0.5, -1.5, 2.0])", SMALL),
                ("Float", "rows.reduce (fun a b -> a * b) 1.0 (fun v -> v + x) (rows.blocks 1 [0.5, 1.5, 2.0])", SMALL),
            ])
        }
        P::Rows(RowsFn::Make) => At(&[
            ("[n]Float", "rows.sum (fun v -> v * v) (rows.map (fun v -> sum x * v) (rows.blocks 2 x))", VECTORS),
            ("Float", "rows.collect (rows.scan (+) 0.0 (fun v -> v * x) (rows.blocks 2 [0.5, -1.5, 2.0]))", SMALL),
        ]),
        P::Rows(RowsFn::Read | RowsFn::Column) => Discrete,
        P::Comm(CommFn::Rank | CommFn::Size | CommFn::Block | CommFn::Blocks | CommFn::Lengths) => Discrete,
        P::Number(NumberFn::ToF32) => At(&[("F32", "to_f32 (to_float x * to_float x)", &["1.5f32"])]),
        P::HigherOrder(HigherOrderFn::Map) => At(&[
            ("[n]Float", "map (fun v -> v * v * v) x", VECTORS),
            ("[n]Float", "map (fun v -> if v > 0.0 then v * v else sin v) x", VECTORS),
            ("[n]Float", "map (fun v -> (v * v, [v, 2.0 * v])) x", FULL),
            ("[n][m]Float", "map (fun r -> sum r * r[0]) x", MATRICES),
            ("[n](Float, Float)", "map (fun (a, b) -> {p = a * b, q = a / b}) x", &["[(1.0, 2.0), (3.0, 4.0)]"]),
            ("Float", "map (fun v -> v * x * x) (linspace 0.0 1.0 20)", SMALL),
            ("[n]Float", "map (fun v -> map (fun w -> v * w * w) x) x", FULL),
        ]),
        P::HigherOrder(HigherOrderFn::Map2) => At(&[
            ("([n]Float, [n]Float)", "map2 (fun a b -> a * b * b) (fst x) (snd x)", PAIRS),
            ("[n][m]Float", "map2 (fun r i -> r * r[0] * float i) x (iota n)", MATRICES),
        ]),
        P::HigherOrder(HigherOrderFn::Map3) => {
            At(&[("([n]Float, [n]Float)", "map3 (fun a b c -> a * b + c * c * a) (fst x) (snd x) (fst x)", PAIRS)])
        }
        P::Array(ArrayFn::Zip | ArrayFn::Unzip) => At(&[
            ("([n]Float, [n]Float)", "let (a, b) = unzip (zip (fst x) (snd x * fst x)) in a * b", PAIRS),
            ("[n][m]Float", "map (fun (r, s) -> dot r s) (zip x x)", MATRICES),
        ]),
        P::Array(ArrayFn::Zip3 | ArrayFn::Unzip3) => At(&[(
            "([n]Float, [n]Float)",
            "let (a, b, c) = unzip3 (zip3 (fst x) (snd x) (iota (len (fst x)))) in a * b * b",
            PAIRS,
        )]),
        P::HigherOrder(HigherOrderFn::Reduce) => At(&[
            ("[n]Float", "reduce (fun a b -> a * b + a + b) 0.0 x", VECTORS),
            ("[n]Float", "reduce (*) 1.0 x", VECTORS),
            ("[n]Float", "reduce max (-inf) (x * x)", FULL),
            (
                "[n][2][2]Float",
                "reduce (fun a b -> a @ b) (eye 2) x",
                &["[[[0.7, -1.3], [0.2, 0.9]], [[0.4, 0.1], [-0.3, 0.5]], [[1.0, 0.2], [0.3, 0.4]]]"],
            ),
            ("[n]Float", "reduce (fun (a, b) (c, d) -> (a * c, b * c + d)) (1.0, 0.0) (zip x (x * x))", VECTORS),
            ("Float", "reduce (+) (x * x) [1.0, 2.0]", SMALL),
        ]),
        P::HigherOrder(HigherOrderFn::Scan) => At(&[
            ("[n]Float", "scan (fun a b -> a * b + a + b) 0.0 x", FULL),
            ("[n]Float", "scan (+) 0.0 (x * x)", FULL),
            ("[n]Float", "scan (*) 1.0 x", FULL),
            ("[n]Float", "scan max (-inf) (x * x)", FULL),
            ("[n]Float", "scan (fun (a, b) (c, d) -> (a * c, b * c + d)) (1.0, 0.0) (zip x (x * x))", FULL),
        ]),
        P::HigherOrder(HigherOrderFn::ScanExclusive) => At(&[
            ("[n]Float", "scan_exclusive (fun a b -> a * b + a + b) 0.0 x", FULL),
            ("[n]Float", "scan_exclusive (*) 1.0 x", FULL),
        ]),
        P::HigherOrder(HigherOrderFn::ReduceByIndex) => At(&[
            ("[n]Float", "reduce_by_index [1.0, 2.0] (+) 0.0 (map (fun i -> i % 3) (iota n)) (x * x)", VECTORS),
            ("[n]Float", "reduce_by_index x (*) 1.0 [0, 0, 7] (take 1 x ++ [2.0, 3.0])", FULL),
            ("[n]Float", "reduce_by_index [0.1, 0.2] max (-inf) (map (fun i -> i % 2) (iota n)) (x * x)", VECTORS),
            (
                "[n]Float",
                "reduce_by_index [0.5, 0.6] (fun a b -> a * b + a + b) 0.0 (map (fun i -> i % 2) (iota n)) x",
                VECTORS,
            ),
        ]),
        P::Array(ArrayFn::ScatterWithin) => At(&[
            ("[n]Float", "let y = scatter_within x [0, 9, 0] [x[0] * x[0], 1.0, 3.0 * x[0]] in y * y", FULL),
            ("[n][m]Float", "let y = scatter_within x [0, -1] [x[0] * x[0], x[0]] in y * y", MATRICES),
        ]),
        P::Array(ArrayFn::Scatter) => At(&[
            ("[n]Float", "let y = scatter x [0, 0] [x[0] * x[0], 3.0 * x[0]] in y * y", FULL),
            ("[n][m]Float", "let y = scatter x [0] [x[0] * x[0]] in y * y", MATRICES),
        ]),
        P::Array(ArrayFn::Put) => At(&[
            ("[n]Float", "let y = {x with [0] = x[0] * x[-1], [-1] = 3.0} in y * y", FULL),
            ("[n][m]Float", "let y = {x with [0] = x[0] * x[0]} in y * y", MATRICES),
            ("[n][m]Float", "let y = {x with [0, 0] = x[0, 0] * 2.0, [:, -1] = 0.5 * x[:, 0]} in y * y", MATRICES),
            ("[n](Float, Float)", "map (fun (a, b) -> a * b) {x with [0] = x[1]}", &["[(1.0, 2.0), (3.0, 4.0)]"]),
            ("[n]Float", "let y = {x with [::2] = x[::2] ^ 2} in y * y", FULL),
            (
                "{w : [n]Float, b : Float}",
                "{x with w[0] = x.b * x.b, b = x.w[0]}.w * x.b",
                &["{w = [1.0, 2.0], b = 3.0}"],
            ),
        ]),
        P::Array(ArrayFn::Zeros | ArrayFn::Ones) => At(&[("Float", "(zeros 2 + x) * (ones [2] * x)", SMALL)]),
        P::Array(ArrayFn::Full) => At(&[
            ("Float", "let y = full [2, 3] x in y * y", SMALL),
            ("[n]Float", "let y = full 2 x in y * y", VECTORS),
        ]),
        P::Array(ArrayFn::Arange) => {
            At(&[("(Float, Float)", "let y = arange (fst x) 2.0 (snd x) in y * y", &["(0.3, 0.4)"])])
        }
        P::Array(ArrayFn::Gather) => At(&[
            // The prelude's `sort` and `sort_by`.
            ("[n]Float", "sort x * x", VECTORS),
            ("[n]Float", "sort_by (fun v -> -v) x * x", VECTORS),
            ("[n][m]Float", "sort_by (fun r -> r[0]) x * x", MATRICES),
            (
                "[n](Float, Float)",
                "map (fun (a, b) -> a * b) (sort_by snd x) * [1.0, 2.0]",
                &["[(1.0, 4.0), (3.0, 2.0)]"],
            ),
            ("[n]Float", "let y = gather x [0, 0, n - 1] in y * y", FULL),
            ("[n][m]Float", "let y = gather x [n - 1, 0, 0] in y * y", MATRICES),
            ("[n](Float, Float)", "map (fun (a, b) -> a * b) (gather x [1, 1])", &["[(1.0, 2.0), (3.0, 4.0)]"]),
        ]),
        // The prelude makes `filter` and `partition` of it.
        P::Array(ArrayFn::Compress) => At(&[
            ("[n]Float", "compress (x .> 0.0) x * 2.0", FULL),
            ("[n]Float", "let y = filter (fun v -> v > 0.0) x in y * y", VECTORS),
            ("[n][m]Float", "map (fun r -> r[0] * r[0]) (filter (fun r -> r[0] > 0.5) x)", MATRICES),
            ("[n]Float", "let (a, b) = partition (fun v -> v > 0.0) x in (a * a, b * b * b)", VECTORS),
        ]),
        P::HigherOrder(HigherOrderFn::Along) => At(&[
            ("[n][m]Float", "along 1 sum (x * x)", MATRICES),
            ("[n][m]Float", "along 0 norm (x * x + 1.0)", MATRICES),
        ]),
        P::Array(ArrayFn::Replicate) => At(&[
            ("Float", "let y = replicate 3 x in y * y", SMALL),
            ("[n]Float", "let y = replicate 2 x in y * y", VECTORS),
            ("(Float, [n]Float)", "map (fun (a, b) -> a * sum b) (replicate 2 x)", &["(2.0, [3.0, 4.0])"]),
        ]),
        P::Array(ArrayFn::Linspace) => At(&[
            ("(Float, Float)", "let y = linspace (fst x) (snd x) 5 in y * y", &["(0.3, 1.7)"]),
            ("Float", "linspace (x * x) 3.0 1", SMALL),
        ]),
        P::Array(ArrayFn::Rotate) => {
            At(&[("[n]Float", "rotate 1 x * x", VECTORS), ("[n][m]Float", "rotate (-1) x * x", MATRICES)])
        }
        P::Array(ArrayFn::Reverse) => {
            At(&[("[n]Float", "reverse x * x", VECTORS), ("[n][m]Float", "reverse x * x", MATRICES)])
        }
        P::Array(ArrayFn::Flatten) => At(&[
            ("[n][m]Float", "flatten x * flatten x", MATRICES),
            (
                "[n][m]Float",
                "let y = flatten (map (fun r -> map (fun v -> (v, v * v)) r) x) in map (fun (a, b) -> a * b) y",
                MATRICES,
            ),
        ]),
        P::Array(ArrayFn::Reshape) => At(&[
            ("[n]Float", "let y = reshape [3, 2] x in y @ y.T", &["[0.7, -1.3, 0.4, 0.2, 0.9, -0.6]"]),
            ("[n][m]Float", "let y = reshape [3, 2] x in y @ y.T", &["[[0.7, -1.3, 0.4], [0.2, 0.9, -0.6]]"]),
        ]),
        P::Array(ArrayFn::Stack) => At(&[
            ("[n]Float", "let y = stack (x :: x * x :: Nil) in y @ y.T", VECTORS),
            ("[n]Float", "let y = stack [x, x * x] in y.T @ y", FULL),
        ]),
        P::Array(ArrayFn::Split) => At(&[
            ("[n]Float", "let (a, b) = split 1 x in (a * a, b * b)", FULL),
            ("[n][m]Float", "let (a, b) = split 1 x in (a * a, b * b)", MATRICES),
        ]),
        P::Array(ArrayFn::Take) => At(&[
            ("[n]Float", "take 1 x * take 1 x", FULL),
            ("[n]Float", "take 0 x", VECTORS),
            ("[n][m]Float", "take 1 x * take 1 x", MATRICES),
        ]),
        P::Array(ArrayFn::Drop) => {
            At(&[("[n]Float", "drop 1 x * drop 1 x", FULL), ("[n][m]Float", "drop 1 x * drop 1 x", MATRICES)])
        }
        P::Reduction(ReductionFn::Sum) => At(&[
            ("[n]Float", "let s = sum x in s * s", VECTORS),
            ("[n][m]Float", "let s = sum x in s * s", MATRICES),
            ("[n](Float, Float)", "let (a, b) = sum x in a * b", &["[(1.0, 2.0), (3.0, 4.0)]"]),
            ("[n]Float", "sum for i < n -> x[i] * x[i]", VECTORS),
        ]),
        P::Reduction(ReductionFn::Prod) => At(&[
            ("[n]Float", "prod x", VECTORS),
            ("[n]Float", "prod x", &["[0.0, 2.0, 3.0]", "[0.0, 0.0, 3.0]"]),
            ("[n][m]Float", "prod x", MATRICES),
            ("[n]Float", "prod for i < n -> x[i] * x[i]", VECTORS),
        ]),
        P::Reduction(ReductionFn::Mean) => At(&[
            ("[n]Float", "let s = mean x in s * s", FULL),
            ("[n][m]Float", "let s = mean x in s * s", MATRICES),
            ("[n]Float", "mean for i < n -> x[i] * x[i]", FULL),
            // The prelude's `variance`.
            ("[n]Float", "variance x", FULL),
            ("[n]Float", "variance (x * x)", FULL),
            ("[n][m]Float", "variance (x * x)", MATRICES),
        ]),
        P::Reduction(ReductionFn::Maximum) => At(&[
            ("[n]Float", "let s = maximum x in s * s", FULL),
            ("[n]Float", "maximum for i < n -> x[i] * x[i]", FULL),
        ]),
        P::Reduction(ReductionFn::Minimum) => At(&[
            ("[n]Float", "let s = minimum x in s * s", FULL),
            ("[n]Float", "minimum for i < n -> x[i] * x[i]", FULL),
        ]),
        P::Reduction(ReductionFn::Cumsum) => At(&[("[n]Float", "cumsum x * x", VECTORS)]),
        P::Reduction(ReductionFn::Cumprod) => {
            At(&[("[n]Float", "cumprod x", VECTORS), ("[n]Float", "cumprod x", &["[0.0, 2.0, 3.0]"])])
        }
        P::Reduction(ReductionFn::Dot) => At(&[
            ("([n]Float, [n]Float)", "dot (fst x) (snd x)", PAIRS),
            ("[n]Float", "dot x x * dot x (x * x)", VECTORS),
            ("[n]Float", "let c = map float (iota n) in dot c x + dot x c * dot x x", VECTORS),
        ]),
        P::Reduction(ReductionFn::Outer) => {
            At(&[("([n]Float, [n]Float)", "outer (fst x) (snd x)", PAIRS), ("[n]Float", "outer x (x * x)", VECTORS)])
        }
        P::Reduction(ReductionFn::Norm) => At(&[("[n]Float", "norm x", FULL), ("[n][m]Float", "norm x", MATRICES)]),
        P::Array(ArrayFn::Where) => At(&[
            ("[n]Float", "where (map (fun v -> v > 0.0) x) (x * x) (sin x)", VECTORS),
            ("[n]Float", "where (map (fun v -> v > 0.0) x) (x * x) 1.0", VECTORS),
            ("Float", "where [true, false] (x * x) [3.0, 4.0]", SMALL),
            ("Float", "where (x > 0.0) (x * x) (sin x)", SMALL),
            ("[n]Float", "where true (x * x) 0.0", FULL),
        ]),
        P::HigherOrder(HigherOrderFn::Fold) => At(&[
            ("[n]Float", "fold (fun a v -> sin (a + v)) 0.0 x", VECTORS),
            ("[n]Float", "fold (fun (a, b) v -> (a * v, b + a)) (1.0, 0.0) x", VECTORS),
            ("[n][m]Float", "fold (fun a r -> a * r[0] + sum r) 1.0 x", MATRICES),
        ]),
        P::HigherOrder(HigherOrderFn::Foldr) => {
            At(&[("[n]Float", "foldr (fun v a -> sin (a * v) + v) 1.0 x", VECTORS)])
        }
        P::Array(ArrayFn::Diag) => At(&[
            ("[n]Float", "diag x @ diag x", FULL),
            ("[n][n]Float", "diag x * diag x", SQUARE),
            ("[n][n]Float", "trace x * trace (x @ x)", SQUARE),
        ]),
        P::Array(ArrayFn::TransposeArray) => {
            At(&[("[n][m]Float", "x.T @ x", MATRICES), ("[n][m]Float", "x.T.T * x", MATRICES)])
        }
        P::HigherOrder(HigherOrderFn::Invertible) => At(&[
            (
                "[n]Float",
                "reduce (invertible {op = fun a b -> a + b, lift = id, lower = fun v -> v * v, inverse = fun a b -> a - b}) 0.0 x",
                FULL,
            ),
            (
                "[n]Float",
                "reduce_by_index [0.5, 0.6] (invertible {op = fun a b -> a * b, lift = id, lower = id, inverse = fun a b -> a / b}) 1.0 [0] (take 1 x)",
                FULL,
            ),
        ]),
        P::Linalg(LinalgFn::LinSolve) => {
            At(&[("[n][n]Float", "solve x (x[0])", SQUARE), ("[n][n]Float", "solve x x.T", SQUARE)])
        }
        P::Linalg(LinalgFn::Cholesky) => At(&[("[n][n]Float", "cholesky (x @ x.T)", SQUARE)]),
        P::Linalg(LinalgFn::Qr) => At(&[("[n][n]Float", "qr x", SQUARE), ("[n][m]Float", "qr x.T", MATRICES)]),
        P::Linalg(LinalgFn::Lu) => At(&[("[n][n]Float", "let (l, u, p) = lu x in (l, u)", SQUARE)]),
        P::Linalg(LinalgFn::Svd) => At(&[
            ("[n][n]Float", "let (u, s, vt) = svd x in (s, u @ diag s)", &["[[2.1, 0.3], [0.2, 0.9]]"]),
            ("[n][m]Float", "let (u, s, vt) = svd x in s", MATRICES),
        ]),
        P::Linalg(LinalgFn::Eigh) => At(&[(
            "[n][n]Float",
            "let (w, v) = eigh (x + x.T) in (w, map (fun i -> v[0, i] * v[0, i]) (iota (len w)))",
            SQUARE,
        )]),
        P::Linalg(LinalgFn::Inv) => At(&[("[n][n]Float", "inv x", SQUARE)]),
        P::Linalg(LinalgFn::Det) => At(&[("[n][n]Float", "(det x, logdet x)", SQUARE)]),
        P::General(GeneralFn::Fst | GeneralFn::Snd) => {
            At(&[("(Float, [n]Float)", "(fst x * fst x, snd x * fst x)", &["(2.0, [3.0, 4.0])"])])
        }
        P::General(GeneralFn::Id) => At(&[("Float", "id x * id x", SMALL)]),
        P::Derivative(DerivativeFn::Ravel | DerivativeFn::Unravel) => At(&[
            ("(Float, [n]Float)", "let y = ravel x in unravel x (y * y)", &["(2.0, [3.0, 4.0])"]),
            ("{a : Float, b : [n][m]Float}", "let y = ravel x in y * y", &["{a = 2.0, b = [[3.0, 4.0]]}"]),
        ]),
        P::Derivative(DerivativeFn::StopGrad) => At(&[("Float", "(stop_grad 2.0) * x * x", SMALL)]),
        P::Derivative(DerivativeFn::Checkpoint) => At(&[
            ("[n]Float", "checkpoint (fun v -> v * v * v) x", VECTORS),
            ("Float", "checkpoint (fun v -> checkpoint sin v * v) (x * x)", SMALL),
        ]),
        P::Derivative(DerivativeFn::CustomJvp) => {
            At(&[("Float", "(custom_jvp (fun v -> v * v) (fun v -> (v * v, lin d -> 2.0 * v * d))) (sin x)", SMALL)])
        }
        P::Derivative(DerivativeFn::CustomVjp) => At(&[(
            "[n]Float",
            "(custom_vjp (fun v -> sum (v * v)) (fun v -> (sum (v * v), lin d -> 2.0 * d * v))) (sin x)",
            FULL,
        )]),
        P::Bin(Bin::IntDiv)
        | P::Compare(_)
        | P::Number(
            NumberFn::Not
            | NumberFn::AndEach
            | NumberFn::OrEach
            | NumberFn::IsNan
            | NumberFn::IsInf
            | NumberFn::Pi
            | NumberFn::E
            | NumberFn::Inf
            | NumberFn::Nan
            | NumberFn::ToInt,
        )
        | P::CompareEach(_)
        | P::Array(ArrayFn::Iota | ArrayFn::Len | ArrayFn::Shape | ArrayFn::Rank | ArrayFn::Range | ArrayFn::Eye)
        | P::Reduction(
            ReductionFn::Argsort | ReductionFn::Argmin | ReductionFn::Argmax | ReductionFn::Any | ReductionFn::All,
        )
        | P::Random(_)
        | P::Io(_)
        | P::Text(_)
        | P::General(GeneralFn::Assert | GeneralFn::Error | GeneralFn::Zero) => Discrete,
        P::Derivative(
            DerivativeFn::Jvp
            | DerivativeFn::Linearize
            | DerivativeFn::Vjp
            | DerivativeFn::Transpose
            | DerivativeFn::TransposeAt
            | DerivativeFn::Grad
            | DerivativeFn::ValueAndGrad
            | DerivativeFn::Jacobian
            | DerivativeFn::Jacfwd
            | DerivativeFn::Jacrev
            | DerivativeFn::Hessian
            | DerivativeFn::Hvp
            | DerivativeFn::Engine
            | DerivativeFn::EngineGrad
            | DerivativeFn::Gradcheck
            | DerivativeFn::GradWith
            | DerivativeFn::ValueAndGradWith
            | DerivativeFn::ResidualsUnder
            | DerivativeFn::Cost
            | DerivativeFn::JacobianSparse,
        ) => Operator,
    }
}

/// All checks of a primitive: type, body, point.
fn cases(prim: Prim) -> Vec<(String, String, String)> {
    let mut out = Vec::new();
    let mut add = |t: &str, body: String, x: &str| out.push((t.to_owned(), body, x.to_owned()));
    match check(prim) {
        At(all) => all.iter().for_each(|(t, body, points)| points.iter().for_each(|x| add(t, (*body).to_owned(), x))),
        Unary(points) => {
            let f = prim.name();
            for x in points {
                add("Float", format!("{f} x * x"), x);
                add("[n]Float", format!("{f} x * x"), &format!("[{x}, 0.5 * {x}, 0.9 * {x}]"));
                add("[n][m]Float", format!("{f} x"), &format!("[[{x}], [0.3 * {x}]]"));
            }
            add("[n]Float", format!("{f} x"), "([] : [0]Float)");
            add("[n]Float", format!("map {f} x"), &format!("[{}, 0.7 * {}]", points[0], points[0]));
        }
        Binary => {
            let name = prim.name();
            let word = name.chars().all(char::is_alphanumeric);
            let call =
                |a: &str, b: &str| if word { format!("{name} ({a}) ({b})") } else { format!("({a}) {name} ({b})") };
            add("(Float, Float)", call("fst x", "snd x"), "(0.7, 0.4)");
            add("(Float, Float)", call("snd x", "fst x"), "(0.7, 0.4)");
            add("Float", call("x * x", "0.3"), "0.7");
            add("Float", call("0.9", "x * x"), "0.7");
            add("(Float, [n]Float)", call("fst x", "snd x"), "(0.7, [0.4, 1.3])");
            add("(Float, [n]Float)", call("snd x", "fst x"), "(0.7, [0.4, 1.3])");
            add("([n]Float, [n]Float)", call("fst x", "snd x"), "([0.7, 2.2, 0.3], [0.4, 1.3, 0.9])");
            add("[n]Float", call("x", "0.3"), "[0.7, 2.2]");
            add("[n]Float", call("2.0", "x"), "[0.7, 2.2]");
            add("[n][m]Float", call("x", "x * x"), "[[0.7, 2.2], [0.3, 0.4]]");
            add("([n]Float, [n]Float)", call("fst x", "snd x"), "(([] : [0]Float), ([] : [0]Float))");
            add("(Float, [n]Float)", call("fst x", "snd x"), "(0.7, ([] : [0]Float))");
        }
        Discrete | Operator => {}
    }
    out
}

/// The program of a check. It gives four Bools: differences, `linearize`, `vjp`, second derivatives.
fn program(t: &str, body: &str, point: &str) -> String {
    let t = t.replace("[n]", "[_]").replace("[m]", "[_]");
    let t = if t == "[_]Float" && body.contains('n') { "[n]Float".to_owned() } else { t };
    let t = if t == "[_][_]Float" { "[n][m]Float".to_owned() } else { t };
    let single = t.contains("F32");
    let (h, near) = if single { ("0.001", "2e-2") } else { ("1e-5", "2e-8") };
    let exact = if single { "1e-5" } else { "1e-12" };
    format!(
        "let f (x : {t}) = {body}\nlet x = {point}\nlet some k n = map (fun i -> sin (1.7 * float i + k)) (iota n)\n\
         let n = len (ravel x)\nlet v = unravel x (some 0.3 n)\nlet w = unravel x (some 1.1 n)\nlet y = f x\nlet c = some 0.7 (len (ravel y))\nlet ct = unravel y c\n\
         let close tol a b = all (map2 (fun a b -> abs (a - b) <= tol * (1.0 + abs a)) a b)\n\
         let moved s = ravel (f (unravel x (ravel x + s * some 0.3 n)))\n\
         let forward = ravel (snd (jvp f x v))\n\
         let differences = close {near} forward ((moved {h} - moved (-({h}))) / (2.0 * {h}))\n\
         let linear = close {exact} forward (ravel ((snd (linearize f x)) v))\n\
         let back = dot (ravel ((snd (vjp f x)) ct)) (ravel v)\nlet pairing = abs (back - dot c forward) <= {exact} * (1.0 + abs back)\n\
         let g x = dot c (ravel (f x))\n\
         let rr = dot (ravel (grad (fun x -> dot (ravel (grad g x)) (ravel v)) x)) (ravel w)\nlet fr = dot (ravel (snd (jvp (grad g) x v))) (ravel w)\n\
         let rf = dot (ravel (grad (fun x -> snd (jvp g x v)) x)) (ravel w)\nlet ff = snd (jvp (fun x -> snd (jvp g x v)) x w)\n\
         let second = close 1e-7 [rr, rr, rr] [fr, rf, ff]\n\
         (differences, linear, pairing, second)"
    )
}

#[test]
fn every_primitive_has_derivatives_that_agree() {
    let (mut s, _) = session();
    let mut wrong = Vec::new();
    for p in Prim::ALL {
        for (t, body, x) in cases(*p) {
            let have = echo_in(&mut s, &program(&t, &body, &x));
            if have != "(true, true, true, true) : (Bool, Bool, Bool, Bool)" {
                wrong.push(format!("{p:?}: {body} at {x}: {have}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

//! The table of primitives: one row for each. A primitive without a row does not compile.

use crate::prim::{Fold, Linearity as L, Prim, Row, Typing};

/// `op e xs`.
const OPERATOR: Fold = Fold { function: 0, states: &[1], elements: 2, element_first: false };
/// `f init xs`, with `f x acc`.
const FROM_RIGHT: Fold = Fold { element_first: true, ..OPERATOR };
/// `dest op e keys values`.
const HISTOGRAM: Fold = Fold { function: 1, states: &[0, 2], elements: 4, element_first: false };

fn row(p: Prim, typing: Typing, arity: u8, linearity: L, doc: &'static str, examples: &'static [&'static str]) -> Row {
    Row { name: p.name(), typing, arity, linearity, doc, examples }
}

fn scheme(p: Prim, text: &'static str, arity: u8, l: L, doc: &'static str, examples: &'static [&'static str]) -> Row {
    row(p, Typing::Scheme(text), arity, l, doc, examples)
}

fn special(p: Prim, text: &'static str, arity: u8, l: L, doc: &'static str, examples: &'static [&'static str]) -> Row {
    row(p, Typing::Special(text), arity, l, doc, examples)
}

fn elementwise(p: Prim, text: &'static str, arity: u8, doc: &'static str, examples: &'static [&'static str]) -> Row {
    row(p, Typing::Elementwise(text), arity, L::None, doc, examples)
}

/// The row of a real function of one argument.
fn real(p: Prim, doc: &'static str, examples: &'static [&'static str]) -> Row {
    elementwise(p, "Reals a => a -> a", 1, doc, examples)
}

/// The rows: `Name: constructor(arguments), documentation, [examples];`. The constructors are the functions above.
macro_rules! rows {
    ($($name:ident: $make:ident($($arg:expr),*), $doc:literal, [$($example:literal),* $(,)?];)*) => {
        /// The row of a primitive.
        pub(crate) fn row_of(p: Prim) -> Row {
            match p {
                $(Prim::$name => $make(p, $($arg,)* $doc, &[$($example),*]),)*
            }
        }
    };
}

rows! {
    Add: special("Num a => a -> a -> a", 2, L::Joint),
        "Sum. Elementwise on arrays: a number broadcasts, and so does an array along the leading axes of one of \
         higher rank. On tuples, records and declared data leaf by leaf.",
        [
            "1 + 2 => 3 : Int",
            "[1.0, 2.0] + 1.0 => [2.0, 3.0] : [2]Float",
            "[[1, 2], [3, 4]] + [10, 20] => [[11, 22], [13, 24]] : [2][2]Int",
        ];
    Sub: special("Num a => a -> a -> a", 2, L::Joint), "Difference; acts like `+`.", ["3 - 2 => 1 : Int"];
    Mul: special("Num a => a -> a -> a", 2, L::Bilinear),
        "Product. Elementwise on arrays; a scalar scales arrays, tuples, records and declared data.",
        ["2.0 * [1.0, 2.0] => [2.0, 4.0] : [2]Float"];
    Div: special("Real a => a -> a -> a", 2, L::In(&[0])), "Real division (IEEE: `1.0 / 0.0` is `inf`).",
        ["1.0 / 4.0 => 0.25 : Float"];
    IntDiv: special("Int -> Int -> Int", 2, L::None),
        "Whole division, rounded towards negative infinity. Division by zero is an error.",
        ["7 // 2 => 3 : Int", "(-7) // 2 => -4 : Int"];
    Rem: special("Num a => a -> a -> a", 2, L::None), "Remainder with the sign of the divisor.",
        ["(-7) % 2 => 1 : Int", "5.5 % 2.0 => 1.5 : Float"];
    Pow: special("Real a => a -> a -> a", 2, L::None),
        "Power. With an Int exponent it works on any number; an Int to a negative power is an error.",
        [
            "2 ^ 10 => 1024 : Int",
            "2.0 ^ 0.5 => 1.4142135623730951 : Float",
            "[2.0, 4.0] ^ len [1, 2] => [4.0, 16.0] : [2]Float",
        ];
    PowInt: special("Num a => a -> Int -> a", 2, L::None), "Power with an Int exponent.", [];
    MatMul: special("Num a => [n][m]a -> [m][k]a -> [n][k]a", 2, L::Bilinear),
        "Matrix product: matrix and matrix, matrix and vector, vector and matrix.",
        ["[[1.0, 2.0], [3.0, 4.0]] @ [1.0, 1.0] => [3.0, 7.0] : [2]Float"];
    Neg: special("Num a => a -> a", 1, L::Joint), "Negation: unary `-`.", ["-(3) => -3 : Int"];
    Append: special("[n]a -> [m]a -> [_]a", 2, L::Joint), "Joins arrays, texts or lists.",
        ["[1] ++ [2, 3] => [1, 2, 3] : [3]Int", "\"a\" ++ \"b\" => \"ab\" : String"];
    Eq: scheme("Eq a => a -> a -> Bool", 2, L::None), "Equality of whole values.",
        ["[1, 2] == [1, 2] => true : Bool"];
    Ne: scheme("Eq a => a -> a -> Bool", 2, L::None), "Inequality.", ["1 != 2 => true : Bool"];
    Lt: scheme("Ord a => a -> a -> Bool", 2, L::None), "Less than; lexicographic on tuples, texts, arrays and data.",
        ["1 < 2 => true : Bool"];
    Gt: scheme("Ord a => a -> a -> Bool", 2, L::None), "Greater than.", ["1 > 2 => false : Bool"];
    Le: scheme("Ord a => a -> a -> Bool", 2, L::None), "At most.", ["2 <= 2 => true : Bool"];
    Ge: scheme("Ord a => a -> a -> Bool", 2, L::None), "At least.", ["\"b\" >= \"a\" => true : Bool"];
    Not: elementwise("Bool -> Bool", 1), "Logical negation, elementwise on arrays.",
        ["not true => false : Bool", "not [true, false] => [false, true] : [2]Bool"];
    EqEach: elementwise("Num a => a -> a -> Bool", 2),
        "Which elements are equal; numbers and arrays of lower rank broadcast. Texts and Bools are compared too.",
        ["[1, 2] .== 2 => [false, true] : [2]Bool"];
    NeEach: elementwise("Num a => a -> a -> Bool", 2), "Which elements differ.",
        ["[1, 2] .!= 2 => [true, false] : [2]Bool"];
    LtEach: elementwise("Num a => a -> a -> Bool", 2), "Which elements are less.",
        ["[1.0, 2.0] .< 1.5 => [true, false] : [2]Bool"];
    GtEach: elementwise("Num a => a -> a -> Bool", 2), "Which elements are greater.",
        ["[[1, 5], [4, 2]] .> [3, 3] => [[false, true], [true, false]] : [2][2]Bool"];
    LeEach: elementwise("Num a => a -> a -> Bool", 2), "Which elements are at most.",
        ["[1, 2] .<= [1, 1] => [true, false] : [2]Bool"];
    GeEach: elementwise("Num a => a -> a -> Bool", 2), "Which elements are at least.",
        ["[1, 2] .>= 2 => [false, true] : [2]Bool"];
    AndEach: elementwise("Bool -> Bool -> Bool", 2), "Both, elementwise. Unlike `&&` it evaluates both.",
        ["[true, false] .&& true => [true, false] : [2]Bool"];
    OrEach: elementwise("Bool -> Bool -> Bool", 2), "Either, elementwise. Unlike `||` it evaluates both.",
        ["[true, false] .|| [false, false] => [true, false] : [2]Bool"];
    Sin: real(), "Sine.", ["sin 0.0 => 0.0 : Float"];
    Cos: real(), "Cosine.", ["cos 0.0 => 1.0 : Float"];
    Tan: real(), "Tangent.", ["tan 0.0 => 0.0 : Float"];
    Asin: real(), "Arc sine.", ["asin 0.0 => 0.0 : Float"];
    Acos: real(), "Arc cosine.", ["acos 1.0 => 0.0 : Float"];
    Atan: real(), "Arc tangent.", ["atan 0.0 => 0.0 : Float"];
    Sinh: real(), "Hyperbolic sine.", ["sinh 0.0 => 0.0 : Float"];
    Cosh: real(), "Hyperbolic cosine.", ["cosh 0.0 => 1.0 : Float"];
    Tanh: real(), "Hyperbolic tangent.", ["tanh 0.0 => 0.0 : Float"];
    Exp: real(), "Exponential.", ["exp 0.0 => 1.0 : Float"];
    Expm1: real(), "exp x - 1, accurate near 0.", ["expm1 0.0 => 0.0 : Float"];
    Log: real(), "Natural logarithm.", ["log 1.0 => 0.0 : Float"];
    Log1p: real(), "log (1 + x), accurate near 0.", ["log1p 0.0 => 0.0 : Float"];
    Sqrt: real(), "Square root.", ["sqrt 9.0 => 3.0 : Float"];
    Cbrt: real(), "Cube root.", ["cbrt 27.0 => 3.0 : Float"];
    Abs: elementwise("Nums a => a -> a", 1), "Absolute value. The derivative at 0 is 0.", ["abs (-2) => 2 : Int"];
    Sign: elementwise("Nums a => a -> a", 1), "-1, 0 or 1. The derivative is 0.", ["sign (-2.5) => -1.0 : Float"];
    Floor: real(), "Largest whole number that is not greater. The derivative is 0.", ["floor 1.5 => 1.0 : Float"];
    Ceil: real(), "Smallest whole number that is not less. The derivative is 0.", ["ceil 1.5 => 2.0 : Float"];
    Round: real(), "Nearest whole number, ties to even. The derivative is 0.", ["round 2.5 => 2.0 : Float"];
    Sigmoid: real(), "1 / (1 + exp (-x)).", ["sigmoid 0.0 => 0.5 : Float"];
    Relu: real(), "max (x, 0). The derivative at 0 is 0.", ["relu (-1.0) => 0.0 : Float"];
    Softplus: real(), "log (1 + exp x) without overflow.", ["softplus 0.0 => 0.6931471805599453 : Float"];
    Erf: real(), "Error function.", ["erf 0.0 => 0.0 : Float"];
    Erfc: real(), "1 - erf x, accurate for large x.", ["erfc 0.0 => 1.0 : Float"];
    Erfinv: real(), "Inverse of `erf`: `inf` at 1, `-inf` at -1, `nan` beyond.",
        ["erfinv 0.0 => 0.0 : Float", "abs (erf (erfinv 0.3) - 0.3) < 1e-15 => true : Bool"];
    Lgamma: real(), "Logarithm of the absolute value of the gamma function.", ["lgamma 1.0 => 0.0 : Float"];
    Digamma: real(), "Derivative of `lgamma`.", ["abs (digamma 1.0 + 0.5772156649015329) < 1e-14 => true : Bool"];
    Gamma: real(), "Gamma function.", ["gamma 5.0 => 24.0 : Float"];
    IsNan: elementwise("Reals a => a -> Bool", 1), "Whether it is not a number.", ["is_nan nan => true : Bool"];
    IsInf: elementwise("Reals a => a -> Bool", 1), "Whether it is infinite.", ["is_inf (-inf) => true : Bool"];
    Atan2: elementwise("Reals a => a -> a -> a", 2), "`atan2 y x`: the angle of the point (x, y).",
        ["atan2 0.0 1.0 => 0.0 : Float"];
    Hypot: elementwise("Reals a => a -> a -> a", 2),
        "sqrt (x² + y²) without overflow. The derivative at the origin is 0.",
        ["hypot 3.0 4.0 => 5.0 : Float"];
    Min: elementwise("Nums a => a -> a -> a", 2), "The smaller; the derivative of a tie goes to the first argument.",
        ["min 1 2 => 1 : Int"];
    Max: elementwise("Nums a => a -> a -> a", 2), "The larger; the derivative of a tie goes to the first argument.",
        ["max 1.0 2.0 => 2.0 : Float"];
    Clamp: elementwise("Nums a => a -> a -> a -> a", 3),
        "`clamp lo hi x`; the bounds may be arrays. The derivative at a bound is 1.",
        ["clamp 0.0 1.0 1.5 => 1.0 : Float"];
    Pi: scheme("Real a => a", 0, L::None), "3.14159….", ["pi => 3.141592653589793 : Float"];
    E: scheme("Real a => a", 0, L::None), "2.71828….", ["e => 2.718281828459045 : Float"];
    Inf: scheme("Real a => a", 0, L::None), "Infinity.", ["inf => inf : Float"];
    Nan: scheme("Real a => a", 0, L::None), "Not a number.", ["nan => nan : Float"];
    ToFloat: elementwise("Nums a => a -> Float", 1), "Any number as a Float.", ["float 3 => 3.0 : Float"];
    ToInt: elementwise("Nums a => a -> Int", 1),
        "The whole part, towards zero. A number that no Int holds is an error.",
        ["int (-1.5) => -1 : Int"];
    ToF32: elementwise("Nums a => a -> F32", 1), "Rounded to 32 bits.", ["to_f32 0.5 => 0.5 : F32"];
    F32ToFloat: elementwise("Nums a => a -> Float", 1), "Any number as a Float.", ["to_float 1.5f32 => 1.5 : Float"];
    Print: scheme("Show a => a -> ()", 1, L::None), "Writes a value and a line break.", [];
    Show: scheme("Show a => a -> String", 1, L::None), "A value as text.",
        ["show [1.0, 2.0] => \"[1.0, 2.0]\" : String"];
    ReadCsv: special("Data a => String -> a", 1, L::None),
        "A CSV file as a record of columns. With a literal path the header gives the record's type when the program \
         is checked; otherwise annotate it. Missing numbers are `nan`. Names that are no identifiers have other \
         characters replaced by `_`.",
        [];
    WriteCsv: scheme("Data a => String -> a -> ()", 2, L::None), "Writes a record of columns.", [];
    ReadNpy: special("Data a => String -> a", 1, L::None), "An NPY array (or an NPZ archive as a record of arrays).",
        [];
    WriteNpy: scheme("Data a => String -> a -> ()", 2, L::None),
        "Writes an NPY array (or a record of arrays as NPZ).",
        [];
    ReadJson: scheme("Data a => String -> a", 1, L::None), "A JSON file, read as the expected type (annotate it).",
        [];
    WriteJson: scheme("Data a => String -> a -> ()", 2, L::None), "Writes a value as JSON.", [];
    ReadText: scheme("String -> String", 1, L::None), "A whole file as text.", [];
    WriteText: scheme("String -> String -> ()", 2, L::None), "`write_text path text`.", [];
    PlotSave: scheme("String -> a -> ()", 2, L::None), "Writes a picture.", [];
    PlotShow: scheme("Bool -> a -> ()", 2, L::None),
        "Shows a picture; in place of the last where the first argument is true.",
        [];
    PlotWatch: scheme("String -> Float -> ()", 2, L::None), "A number of a live curve.", [];
    Args: scheme("() -> [_]String", 1, L::None), "The arguments of the command line.", [];
    Env: scheme("String -> Option String", 1, L::None), "An environment variable.", [];
    Time: scheme("() -> Float", 1, L::None), "Seconds since some moment; for differences.", [];
    Input: scheme("String -> String", 1, L::None), "`prompt`: the line that is typed.", [];
    Warn: scheme("Show a => a -> ()", 1, L::None), "Writes a value and a line break to standard error.", [];
    Display: scheme("Show a => String -> a -> ()", 2, L::None), "`slot value`: shows a value as a result is shown.",
        [];
    Assert: scheme("Bool -> ()", 1, L::None), "An error unless the condition holds.", ["assert (1 < 2) => () : ()"];
    Error: scheme("String -> a", 1, L::None), "Stops with a message.", [];
    StrLen: scheme("String -> Int", 1, L::None), "Number of characters.", [];
    StrSlice: scheme("Int -> Int -> String -> String", 3, L::None), "Characters a to b - 1.", [];
    StrSplit: scheme("String -> String -> [_]String", 2, L::None), "`separator text`.", [];
    StrJoin: scheme("String -> [n]String -> String", 2, L::None), "`separator parts`.", [];
    StrTrim: scheme("String -> String", 1, L::None), "Without white space at the ends.", [];
    StrFind: scheme("String -> String -> Int", 2, L::None), "`part text`: character index, or -1.", [];
    StrReplace: scheme("String -> String -> String -> String", 3, L::None), "`old new text`.", [];
    StrUpper: scheme("String -> String", 1, L::None), "Upper case.", [];
    StrLower: scheme("String -> String", 1, L::None), "Lower case.", [];
    ParseFloat: scheme("String -> [_]Float", 1, L::None), "One element, or none.", [];
    ParseInt: scheme("String -> [_]Int", 1, L::None), "One element, or none.", [];
    Fst: scheme("(a, b) -> a", 1, L::In(&[0])), "First of a pair.", ["fst (1, 2) => 1 : Int"];
    Snd: scheme("(a, b) -> b", 1, L::In(&[0])), "Second of a pair.", ["snd (1, 2) => 2 : Int"];
    Id: scheme("a -> a", 1, L::In(&[0])), "Its argument.", ["id 3 => 3 : Int"];
    Zero: scheme("Diff a => a", 0, L::None), "The zero of a type (of unknown shape where its sizes are not known).",
        ["(zero : Float) => 0.0 : Float"];
    Ravel: scheme("Diff a => a -> [_]Float", 1, L::In(&[0])), "The real leaves of any data as one vector.",
        ["ravel (1.0, [2.0, 3.0]) => [1.0, 2.0, 3.0] : [3]Float"];
    Unravel: scheme("Diff a => a -> [n]Float -> a", 2, L::In(&[1])),
        "`unravel like x`: data shaped as `like`, its real leaves taken from the vector `x`.",
        ["unravel (1.0, 2.0) [3.0, 4.0] => (3.0, 4.0) : (Float, Float)"];
    Jvp: scheme("(Diff a, Diff b) => (a -> b) -> a -> a -> (b, b)", 3, L::In(&[2])),
        "`jvp f x v`: the value and the derivative in direction `v` (forward mode).",
        ["jvp sin 0.0 2.0 => (0.0, 2.0) : (Float, Float)"];
    Linearize: scheme("(Diff a, Diff b) => (a -> b) -> a -> (b, a -o b)", 2, L::None),
        "The value and the derivative as a linear function; `f` runs once.",
        ["(snd (linearize (fun x -> x * x) 3.0)) 1.0 => 6.0 : Float"];
    Vjp: scheme("(Diff a, Diff b) => (a -> b) -> a -> (b, b -o a)", 2, L::None),
        "The value and the transposed derivative (reverse mode).",
        ["(snd (vjp (fun x -> x * x) 3.0)) 1.0 => 6.0 : Float"];
    Transpose: scheme("(Diff a, Diff b) => (a -o b) -> (b -o a)", 1, L::None),
        "The transposed linear function. The shape of its input must be known; otherwise use `transpose_at`.",
        ["(transpose (lin x -> 3.0 * (x : Float))) 2.0 => 6.0 : Float"];
    TransposeAt: scheme("(Diff a, Diff b) => a -> (a -o b) -> (b -o a)", 2, L::None),
        "`transpose_at like f`: transposes `f`, whose input is shaped as `like`.",
        ["(transpose_at [0.0, 0.0] (lin x -> sum x)) 2.0 => [2.0, 2.0] : [2]Float"];
    Grad: scheme("(Diff a, Real s) => (a -> s) -> a -> a", 2, L::None),
        "The gradient of a scalar function of any data (reverse mode).",
        [
            "grad (fun x -> x * x) 3.0 => 6.0 : Float",
            "grad (fun r -> r.a * r.b) {a = 2.0, b = 5.0} => {a = 5.0, b = 2.0} : {a : Float, b : Float}",
        ];
    ValueAndGrad: scheme("(Diff a, Real s) => (a -> s) -> a -> (s, a)", 2, L::None), "The value and the gradient.",
        ["value_and_grad (fun x -> x * x) 3.0 => (9.0, 6.0) : (Float, Float)"];
    Jacobian: scheme("Real s => ([n]s -> [m]s) -> [n]s -> [m][n]s", 2, L::None),
        "The matrix of partial derivatives, by whichever mode needs fewer passes. Of numbers, matrices, tuples and \
         records it has the structure of the output, and in each leaf that of the input.",
        [
            "jacobian (fun x -> 2.0 * x) [1.0, 1.0] => [[2.0, 0.0], [0.0, 2.0]] : [2][2]Float",
            "jacobian (fun (x, y) -> x * y) (2.0, [1.0, 3.0]) => ([1.0, 3.0], [[2.0, 0.0], [0.0, 2.0]]) : ([2]Float, \
             [2][2]Float)",
        ];
    Jacfwd: scheme("Real s => ([n]s -> [m]s) -> [n]s -> [m][n]s", 2, L::None),
        "The Jacobian column by column (forward mode).",
        ["jacfwd (fun x -> x * x) [3.0] => [[6.0]] : [1][1]Float"];
    Jacrev: scheme("Real s => ([n]s -> [m]s) -> [n]s -> [m][n]s", 2, L::None),
        "The Jacobian row by row (reverse mode).",
        ["jacrev (fun x -> x * x) [3.0] => [[6.0]] : [1][1]Float"];
    Hessian: scheme("Real s => ([n]s -> s) -> [n]s -> [n][n]s", 2, L::None),
        "The matrix of second derivatives. Of numbers, matrices, tuples and records it has the structure of the \
         input twice.",
        ["hessian (fun x -> x[0] * x[1]) [1.0, 2.0] => [[0.0, 1.0], [1.0, 0.0]] : [2][2]Float"];
    Hvp: scheme("(Diff a, Real s) => (a -> s) -> a -> a -> a", 3, L::In(&[2])),
        "`hvp f x v`: the Hessian times `v`, without the Hessian.",
        ["hvp (fun x -> x ^ 3) 2.0 1.0 => 12.0 : Float"];
    StopGrad: scheme("a -> a", 1, L::None), "Its argument, as a constant to every derivative.",
        ["grad (fun x -> x * stop_grad x) 3.0 => 3.0 : Float"];
    Checkpoint: scheme("(a -> b) -> (a -> b)", 1, L::None),
        "The same function; reverse mode keeps its input only and runs it again.",
        ["grad (checkpoint (fun x -> sin (sin x))) 0.0 => 1.0 : Float"];
    CustomJvp: scheme("(a -> b) -> (a -> (b, a -o b)) -> (a -> b)", 2, L::None),
        "The function, with a derivative of your own: the value and a linear map. Reverse mode transposes the map.",
        ["grad (custom_jvp (fun x -> x * x) (fun x -> (x * x, lin dx -> 10.0 * dx))) 3.0 => 10.0 : Float"];
    CustomVjp: scheme("(a -> b) -> (a -> (b, b -o a)) -> (a -> b)", 2, L::None),
        "The function, with a reverse derivative of your own.",
        ["grad (custom_vjp (fun x -> x * x) (fun x -> (x * x, lin dy -> 10.0 * dy))) 3.0 => 10.0 : Float"];
    Engine: scheme("(Diff a, Real s) => Bool -> Int -> (a -> s) -> a -> ([4]Int, String, Float, s, a)", 4, L::None),
        "A gradient by an engine, with what it cost.",
        [];
Gradcheck: scheme("(Diff a, Real s) => (a -> s) -> a -> {max_error : Float, ok : Bool, at : Int, gradient : Float, \
                difference : Float}", 2, L::None),
        "Compares `grad f x` with central differences, leaf by leaf: the largest error relative to the size of the \
         numbers, where in `ravel x` it is, and the two derivatives there.",
        ["(gradcheck (fun x -> x ^ 3) 2.0).ok => true : Bool"];
    GradWith: scheme("(Diff a, Real s) => Plan -> (a -> s) -> a -> a", 3, L::None),
        "The gradient under a plan: what reverse mode stores and what it recomputes. The numbers are the same under \
         every plan. A budget that no plan keeps is an error.",
        ["grad_with Sqrt (fun x -> x * x) 3.0 => 6.0 : Float"];
    ValueAndGradWith: scheme("(Diff a, Real s) => Plan -> (a -> s) -> a -> (s, a)", 3, L::None),
        "The value and the gradient under a plan.",
        ["value_and_grad_with RecomputeAll (fun x -> x * x) 3.0 => (9.0, 6.0) : (Float, Float)"];
ResidualsUnder: scheme("(Diff a, Diff b) => (a -> b) -> a -> Plan -> {again : Int, bytes : Int, frontier : \
                [_]{again : Int, bytes : Int, peak : Int, plan : String}, function : String, measured : Option Int, \
                measured_again : Option Int, measured_peak : Option Int, peak : Int, plan : Plan, recomputed : \
                [_]Int, rows : [_]{bytes : Int, decision : String, expression : String, id : Int, line : Int, \
                movable : Bool, reason : String, shape : String, work : Int}, work : Int}", 3, L::None),
        "What a plan stores of `f x` (`residuals` wraps it).",
        [];
    Cost: scheme("(a -> b) -> a -> Cost", 2, L::None), "Work of `f x` and of its derivatives, by source line.", [];
JacobianSparse: scheme("([n]Float -> [m]Float) -> [n]Float -> {backwards : Bool, col_indices : [_]Int, cols : Int, \
                passes : Int, row_indices : [_]Int, rows : Int, values : [_]Float}", 2, L::None),
        "The Jacobian's entries that may be other than zero (`jacobian_sparse` wraps it).",
        [];
    Map: scheme("(a -> b) -> [n]a -> [n]b", 2, L::Mapped), "Applies a function to each element.",
        ["map (fun x -> x * x) [1.0, 2.0] => [1.0, 4.0] : [2]Float"];
    Map2: scheme("(a -> b -> c) -> [n]a -> [n]b -> [n]c", 3, L::Mapped), "Applies a function to pairs of elements.",
        ["map2 (+) [1, 2] [10, 20] => [11, 22] : [2]Int"];
    Map3: scheme("(a -> b -> c -> d) -> [n]a -> [n]b -> [n]c -> [n]d", 4, L::Mapped),
        "Applies a function to triples of elements.",
        ["map3 (fun a b c -> a + b + c) [1] [2] [3] => [6] : [1]Int"];
    Zip: scheme("[n]a -> [n]b -> [n](a, b)", 2, L::Joint), "Pairs of elements.",
        ["zip [1, 2] [true, false] => [(1, true), (2, false)] : [2](Int, Bool)"];
    Zip3: scheme("[n]a -> [n]b -> [n]c -> [n](a, b, c)", 3, L::Joint), "Triples of elements.",
        ["zip3 [1] [2] [3] => [(1, 2, 3)] : [1](Int, Int, Int)"];
    Unzip: scheme("[n](a, b) -> ([n]a, [n]b)", 1, L::Joint), "The components of pairs.",
        ["unzip [(1, 2.0)] => ([1], [2.0]) : ([1]Int, [1]Float)"];
    Unzip3: scheme("[n](a, b, c) -> ([n]a, [n]b, [n]c)", 1, L::Joint), "The components of triples.",
        ["unzip3 [(1, 2, 3)] => ([1], [2], [3]) : ([1]Int, [1]Int, [1]Int)"];
    Reduce: scheme("(a -> a -> a) -> a -> [n]a -> a", 3, L::Folded(OPERATOR)),
        "`reduce op e xs`: combines all elements by an associative `op` with unit `e`.",
        ["reduce (+) 0 [1, 2, 3] => 6 : Int"];
    Scan: scheme("(a -> a -> a) -> a -> [n]a -> [n]a", 3, L::Folded(OPERATOR)),
        "Inclusive prefix combinations by an associative operator.",
        ["scan (+) 0 [1, 2, 3] => [1, 3, 6] : [3]Int"];
    ScanExclusive: scheme("(a -> a -> a) -> a -> [n]a -> [n]a", 3, L::Folded(OPERATOR)),
        "Prefix combinations without the element itself.",
        ["scan_exclusive (+) 0 [1, 2, 3] => [0, 1, 3] : [3]Int"];
    ReduceByIndex: scheme("[m]a -> (a -> a -> a) -> a -> [n]Int -> [n]a -> [m]a", 5, L::Folded(HISTOGRAM)),
        "`reduce_by_index dest op e keys values`: combines each value into the element of `dest` that its key names. \
         Keys out of range are ignored; `op` is associative and commutative.",
        ["reduce_by_index [0, 0] (+) 0 [0, 1, 0, 9] [1, 2, 3, 4] => [4, 2] : [2]Int"];
    Zeros: special("Int -> [_]Float", 1, L::None),
        "`zeros n`, `zeros [n, m, ...]`: an array of zeros of a size, or of a shape that is written out.",
        ["zeros 2 => [0.0, 0.0] : [2]Float", "zeros [2, 3] => [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]] : [2][3]Float"];
    Ones: special("Int -> [_]Float", 1, L::None), "`ones n`, `ones [n, m, ...]`: an array of ones.",
        ["ones [2, 1] => [[1.0], [1.0]] : [2][1]Float"];
    Full: special("Int -> a -> [_]a", 2, L::In(&[1])),
        "`full n x`, `full [n, m, ...] x`: an array whose elements are all `x`.",
        ["full [2, 2] 7 => [[7, 7], [7, 7]] : [2][2]Int"];
    Arange: special("Int -> [_]Int", 1, L::None),
        "`arange n`, `arange from to`, `arange from to step`: numbers from `from` (or 0) up to `to`, which is left \
         out. Of Ints or of Floats.",
        [
            "arange 3 => [0, 1, 2] : [3]Int",
            "arange 1 4 => [1, 2, 3] : [3]Int",
            "arange 0.0 1.0 0.25 => [0.0, 0.25, 0.5, 0.75] : [4]Float",
            "arange 5 0 (-2) => [5, 3, 1] : [3]Int",
        ];
    Put: scheme("[n]a -> Int -> a -> [n]a", 3, L::In(&[0, 2])),
        "`{x with [i] = v}`: an array with another element, or, at a tuple of indices, with another element or part \
         of its rows.",
        [];
    Scatter: scheme("[m]a -> [n]Int -> [n]a -> [m]a", 3, L::In(&[0, 2])),
        "`scatter dest indices values`: a copy of `dest` with elements replaced. An index out of bounds is an error \
         (`scatter_within` leaves it out); of equal indices the last wins.",
        ["scatter [0, 0, 0] [2, 0] [5, 7] => [7, 0, 5] : [3]Int"];
    ScatterWithin: scheme("[m]a -> [n]Int -> [n]a -> [m]a", 3, L::In(&[0, 2])),
        "`scatter_within dest indices values`: a copy of `dest` with elements replaced, as by `scatter`; values \
         whose index is out of bounds are left out.",
        ["scatter_within [0, 0, 0] [2, 9, -1] [5, 7, 8] => [0, 0, 5] : [3]Int"];
    Gather: scheme("[m]a -> [n]Int -> [n]a", 2, L::In(&[0])), "`gather xs indices`: the elements at the indices.",
        ["gather [10, 20, 30] [2, 0] => [30, 10] : [2]Int"];
    Compress: scheme("[n]Bool -> [n]a -> [_]a", 2, L::In(&[1])),
        "`compress mask xs`: the elements where the mask is true, also written `xs[mask]`.",
        [
            "compress [true, false, true] [1, 2, 3] => [1, 3] : [2]Int",
            "(let xs = [1, 5, 3] in xs[xs .> 2]) => [5, 3] : [2]Int",
        ];
    Along: special("Int -> ([n]a -> b) -> [n]a -> b", 3, L::None),
        "`along axis f x`: `f` of each vector along an axis, which stands for the axis: a number takes it away, an \
         array replaces it. The axis is a literal; -1 is the last.",
        [
            "along 1 sum [[1, 2], [3, 4]] => [3, 7] : [2]Int",
            "along 0 maximum [[1, 5], [4, 2]] => [4, 5] : [2]Int",
            "[[1, 2], [3, 4]] |> along (-1) cumsum => [[1, 3], [3, 7]] : [2][2]Int",
        ];
    Filter: scheme("(a -> Bool) -> [n]a -> [_]a", 2, L::None), "The elements that satisfy a predicate.",
        ["filter (fun x -> x > 1) [1, 2, 3] => [2, 3] : [2]Int"];
    Partition: scheme("(a -> Bool) -> [n]a -> ([_]a, [_]a)", 2, L::None),
        "Those that satisfy a predicate, and the others.",
        ["partition (fun x -> x > 1) [1, 2, 3] => ([2, 3], [1]) : ([2]Int, [1]Int)"];
    Iota: special("Int -> [_]Int", 1, L::None), "0, 1, ..., n - 1.", ["iota 3 => [0, 1, 2] : [3]Int"];
    Replicate: special("Int -> a -> [_]a", 2, L::In(&[1])), "`replicate n x`: n times x.",
        ["replicate 2 0.5 => [0.5, 0.5] : [2]Float"];
    Linspace: special("Float -> Float -> Int -> [_]Float", 3, L::None),
        "`linspace a b n`: n numbers from a to b, both included.",
        ["linspace 0.0 1.0 3 => [0.0, 0.5, 1.0] : [3]Float"];
    Rotate: scheme("Int -> [n]a -> [n]a", 2, L::In(&[1])), "`rotate k xs`: to the left by k.",
        ["rotate 1 [1, 2, 3] => [2, 3, 1] : [3]Int"];
    Reverse: scheme("[n]a -> [n]a", 1, L::In(&[0])), "The elements in reverse order.",
        ["reverse [1, 2] => [2, 1] : [2]Int"];
    Concat: special("[n]a -> [m]a -> [_]a", 2, L::Joint), "One array after the other (also `++`).",
        ["concat [1] [2] => [1, 2] : [2]Int"];
    Flatten: special("[n][m]a -> [_]a", 1, L::In(&[0])), "The rows of a matrix, one after the other.",
        ["flatten [[1, 2], [3, 4]] => [1, 2, 3, 4] : [4]Int"];
    Reshape: special("[r]Int -> [n]a -> [_]a", 2, L::In(&[1])),
        "`reshape [2, 3] xs`: the same elements in another shape. The shape is a literal.",
        ["reshape [2, 2] [1, 2, 3, 4] => [[1, 2], [3, 4]] : [2][2]Int"];
    Stack: special("List [m]a -> [_][m]a", 1, L::In(&[0])), "A list (or array) of arrays of one shape as one array.",
        ["stack ([1, 2] :: [3, 4] :: Nil) => [[1, 2], [3, 4]] : [2][2]Int"];
    Split: special("Int -> [n]a -> ([_]a, [_]a)", 2, L::In(&[1])), "`split k xs`: the first k, and the rest.",
        ["split 1 [1, 2, 3] => ([1], [2, 3]) : ([1]Int, [2]Int)"];
    Take: special("Int -> [n]a -> [_]a", 2, L::In(&[1])), "The first k elements.",
        ["take 2 [1, 2, 3] => [1, 2] : [2]Int"];
    Drop: special("Int -> [n]a -> [_]a", 2, L::In(&[1])), "All but the first k elements.",
        ["drop 2 [1, 2, 3] => [3] : [1]Int"];
    First: scheme("[n]a -> a", 1, L::In(&[0])), "The first element.", ["first [1, 2] => 1 : Int"];
    Last: scheme("[n]a -> a", 1, L::In(&[0])), "The last element.", ["last [1, 2] => 2 : Int"];
    Len: scheme("[n]a -> Int", 1, L::None), "Number of elements (rows, of a matrix).", ["len [5, 6] => 2 : Int"];
    Shape: special("[n]a -> [_]Int", 1, L::None), "The extents of all axes.",
        ["shape [[1, 2, 3]] => [1, 3] : [2]Int"];
    Rank: special("[n]a -> Int", 1, L::None), "Number of axes.", ["rank [[1, 2, 3]] => 2 : Int"];
    Sort: scheme("Ord a => [n]a -> [n]a", 1, L::None), "In ascending order; stable, `nan` last.",
        ["sort [3, 1, 2] => [1, 2, 3] : [3]Int"];
    SortBy: scheme("Ord b => (a -> b) -> [n]a -> [n]a", 2, L::None), "In ascending order of a key; stable.",
        ["sort_by (fun x -> -x) [1, 3, 2] => [3, 2, 1] : [3]Int"];
    Argsort: scheme("Ord a => [n]a -> [n]Int", 1, L::None), "The indices that sort an array; stable.",
        ["argsort [30, 10, 20] => [1, 2, 0] : [3]Int"];
    Argmin: scheme("Ord a => [n]a -> Int", 1, L::None), "Index of the smallest element (the first of several).",
        ["argmin [3, 1, 1] => 1 : Int"];
    Argmax: scheme("Ord a => [n]a -> Int", 1, L::None), "Index of the largest element (the first of several).",
        ["argmax [1, 3, 3] => 1 : Int"];
    Sum: special("Num a => [n]a -> a", 1, L::In(&[0])), "The sum of the elements; of a matrix, of its rows.",
        ["sum [1.0, 2.0] => 3.0 : Float", "sum [[1, 2], [3, 4]] => [4, 6] : [2]Int"];
    Prod: special("Num a => [n]a -> a", 1, L::None), "The product of the elements.", ["prod [2, 3] => 6 : Int"];
    Mean: special("Real a => [n]a -> a", 1, L::In(&[0])), "The mean of the elements; of a matrix, of its rows.",
        ["mean [1.0, 3.0] => 2.0 : Float"];
    Variance: special("Real a => [n]a -> a", 1, L::None), "Population variance.",
        ["variance [1.0, 3.0] => 1.0 : Float"];
    Maximum: special("Ord a => [n]a -> a", 1, L::None),
        "The largest element; the derivative goes to the first of several.",
        ["maximum [1, 3, 2] => 3 : Int"];
    Minimum: special("Ord a => [n]a -> a", 1, L::None),
        "The smallest element; the derivative goes to the first of several.",
        ["minimum [1, 3, 2] => 1 : Int"];
    Cumsum: scheme("Num a => [n]a -> [n]a", 1, L::In(&[0])), "Running sums.",
        ["cumsum [1, 2, 3] => [1, 3, 6] : [3]Int"];
    Cumprod: scheme("Num a => [n]a -> [n]a", 1, L::None), "Running products.",
        ["cumprod [1, 2, 3] => [1, 2, 6] : [3]Int"];
    Dot: scheme("Num a => [n]a -> [n]a -> a", 2, L::Bilinear), "Inner product.",
        ["dot [1.0, 2.0] [3.0, 4.0] => 11.0 : Float"];
    Outer: scheme("Num a => [n]a -> [m]a -> [n][m]a", 2, L::Bilinear), "All products of two elements.",
        ["outer [1, 2] [10, 20] => [[10, 20], [20, 40]] : [2][2]Int"];
    Matmul: special("Num a => [n][m]a -> [m][k]a -> [n][k]a", 2, L::Bilinear), "Matrix product (also `@`).",
        ["matmul [[1, 2]] [[3], [4]] => [[11]] : [1][1]Int"];
    Norm: special("Real a => [n]a -> a", 1, L::None),
        "Euclidean norm (of a matrix, over all elements). The derivative at 0 is 0.",
        ["norm [3.0, 4.0] => 5.0 : Float"];
    Any: scheme("[n]Bool -> Bool", 1, L::None), "Whether one is true.", ["any [false, true] => true : Bool"];
    All: scheme("[n]Bool -> Bool", 1, L::None), "Whether all are true.", ["all [false, true] => false : Bool"];
    Where: special("Bool -> a -> a -> a", 3, L::In(&[1, 2])),
        "`where cond a b`, elementwise where `cond` is an array; scalars and arrays of lower rank broadcast. Both \
         are evaluated; the derivative reaches the chosen one.",
        ["where [true, false] [1, 2] [3, 4] => [1, 4] : [2]Int"];
    Fold: scheme("(b -> a -> b) -> b -> [n]a -> b", 3, L::Folded(OPERATOR)),
        "`fold f init xs`: from the left, `f acc x`.",
        ["fold (fun acc x -> acc - x) 10 [1, 2] => 7 : Int"];
    Foldr: scheme("(a -> b -> b) -> b -> [n]a -> b", 3, L::Folded(FROM_RIGHT)),
        "`foldr f init xs`: from the right, `f x acc`.",
        ["foldr (fun x acc -> x - acc) 0 [5, 3] => 2 : Int"];
    Range: special("Int -> Int -> [_]Int", 2, L::None), "`range a b`: a, ..., b - 1.",
        ["range 2 5 => [2, 3, 4] : [3]Int"];
    Eye: special("Int -> [_][_]Float", 1, L::None), "The identity matrix.",
        ["eye 2 => [[1.0, 0.0], [0.0, 1.0]] : [2][2]Float"];
    Diag: special("Num a => [n]a -> [n][n]a", 1, L::In(&[0])),
        "A vector as a diagonal matrix; of a matrix, its diagonal.",
        ["diag [1, 2] => [[1, 0], [0, 2]] : [2][2]Int"];
    Trace: scheme("Num a => [n][n]a -> a", 1, L::In(&[0])), "The sum of the diagonal.",
        ["trace [[1, 2], [3, 4]] => 5 : Int"];
    TransposeArray: scheme("[n][m]a -> [m][n]a", 1, L::In(&[0])), "The transposed matrix: `x.T`.",
        ["[[1, 2], [3, 4]].T => [[1, 3], [2, 4]] : [2][2]Int"];
    Invertible:
        scheme("{inverse : b -> b -> b, lift : a -> b, lower : b -> a, op : b -> b -> b} -> a -> a -> a", 3, L::None),
        "A commutative operator that has an inverse: `op` and `inverse` act on lifted values. Use it where `reduce` \
         and `reduce_by_index` take an operator.",
        [
            "reduce (invertible {op = fun a b -> a + b, lift = id, lower = id, inverse = fun a b -> a - b}) 0 [1, 2] \
             => 3 : Int",
        ];
    LinSolve: scheme("Diff b => [n][n]Float -> [n]b -> [n]b", 2, L::In(&[1])), "Solves a linear system.", [];
    Cholesky: scheme("[n][n]Float -> [n][n]Float", 1, L::None), "Lower Cholesky factor.", [];
    Qr: scheme("[m][n]Float -> ([m][_]Float, [_][n]Float)", 1, L::None), "Thin QR.", [];
    Lu: scheme("[n][n]Float -> ([n][n]Float, [n][n]Float, [n]Int)", 1, L::None), "LU with row exchanges.", [];
    Svd: scheme("[m][n]Float -> ([m][_]Float, [_]Float, [_][n]Float)", 1, L::None), "Thin SVD.", [];
    Eigh: scheme("[n][n]Float -> ([n]Float, [n][n]Float)", 1, L::None), "Symmetric eigenproblem.", [];
    Inv: scheme("[n][n]Float -> [n][n]Float", 1, L::None), "Inverse.", [];
    Det: scheme("[n][n]Float -> Float", 1, L::None), "Determinant.", [];
    RandKey: scheme("Int -> (Int, Int)", 1, L::None), "The two words of a key from a seed.", [];
    RandSplit: scheme("Int -> Int -> Int -> [_](Int, Int)", 3, L::None), "n new keys.", [];
    RandUniform: special("k -> [r]Int -> [_]Float", 2, L::None),
        "`random.uniform key shape`: uniform in [0, 1). The shape is a literal; `[]` gives one number.",
        [];
    RandNormal: special("k -> [r]Int -> [_]Float", 2, L::None),
        "`random.normal key shape`: standard normal. The shape is a literal.",
        [];
    RandInt: special("k -> Int -> Int -> [r]Int -> [_]Int", 4, L::None),
        "`random.int key lo hi shape`: uniform in lo ... hi - 1. The shape is a literal.",
        [];
    RandPermutation: scheme("Int -> Int -> Int -> [_]Int", 3, L::None), "A random order of 0 ... n - 1.", [];
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

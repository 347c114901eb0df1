//! The table: operators, real functions, text, input and output, differentiation. Arrays are in `rows_arrays`.

use crate::prim::{Linearity as L, Prim, Row, Typing};

fn row(p: Prim, typing: Typing, arity: u8, linearity: L, doc: &'static str, examples: &'static [&'static str]) -> Row {
    Row { name: p.name(), typing, arity, linearity, doc, examples }
}

pub(crate) fn scheme(p: Prim, text: &'static str, arity: u8, l: L, doc: &'static str, examples: &'static [&'static str]) -> Row {
    row(p, Typing::Scheme(text), arity, l, doc, examples)
}

pub(crate) fn special(p: Prim, text: &'static str, arity: u8, l: L, doc: &'static str, examples: &'static [&'static str]) -> Row {
    row(p, Typing::Special(text), arity, l, doc, examples)
}

fn elementwise(p: Prim, text: &'static str, arity: u8, doc: &'static str, examples: &'static [&'static str]) -> Row {
    row(p, Typing::Elementwise(text), arity, L::None, doc, examples)
}

/// A real function of one argument.
fn real(p: Prim, doc: &'static str, examples: &'static [&'static str]) -> Row {
    elementwise(p, "Real a => a -> a", 1, doc, examples)
}

/// The row of a primitive.
pub(crate) fn row_of(p: Prim) -> Row {
    use Prim as P;
    match p {
        P::Add => special(p, "Num a => a -> a -> a", 2, L::Joint, "Sum. Elementwise on arrays (a scalar broadcasts); on tuples, records and declared data leaf by leaf.", &["1 + 2 => 3 : Int", "[1.0, 2.0] + 1.0 => [2.0, 3.0] : [2]Float"]),
        P::Sub => special(p, "Num a => a -> a -> a", 2, L::Joint, "Difference; acts like `+`.", &["3 - 2 => 1 : Int"]),
        P::Mul => special(p, "Num a => a -> a -> a", 2, L::Bilinear, "Product. Elementwise on arrays; a scalar scales arrays, tuples, records and declared data.", &["2.0 * [1.0, 2.0] => [2.0, 4.0] : [2]Float"]),
        P::Div => special(p, "Real a => a -> a -> a", 2, L::In(&[0]), "Real division (IEEE: `1.0 / 0.0` is `inf`).", &["1.0 / 4.0 => 0.25 : Float"]),
        P::IntDiv => special(p, "Int -> Int -> Int", 2, L::None, "Whole division, rounded towards negative infinity. Division by zero is an error.", &["7 // 2 => 3 : Int", "(-7) // 2 => -4 : Int"]),
        P::Rem => special(p, "Num a => a -> a -> a", 2, L::None, "Remainder with the sign of the divisor.", &["(-7) % 2 => 1 : Int", "5.5 % 2.0 => 1.5 : Float"]),
        P::Pow => special(p, "Real a => a -> a -> a", 2, L::None, "Power. With a literal Int exponent it works on any number.", &["2 ^ 10 => 1024 : Int", "2.0 ^ 0.5 => 1.4142135623730951 : Float"]),
        P::PowInt => special(p, "Num a => a -> Int -> a", 2, L::None, "Power with a literal Int exponent.", &[]),
        P::MatMul => special(p, "Num a => [n][m]a -> [m][k]a -> [n][k]a", 2, L::Bilinear, "Matrix product: matrix and matrix, matrix and vector, vector and matrix.", &["[[1.0, 2.0], [3.0, 4.0]] @ [1.0, 1.0] => [3.0, 7.0] : [2]Float"]),
        P::Neg => special(p, "Num a => a -> a", 1, L::Joint, "Negation: unary `-`.", &["-(3) => -3 : Int"]),
        P::Append => special(p, "[n]a -> [m]a -> [_]a", 2, L::Joint, "Joins arrays, texts or lists.", &["[1] ++ [2, 3] => [1, 2, 3] : [3]Int", "\"a\" ++ \"b\" => \"ab\" : String"]),
        P::Eq => scheme(p, "Eq a => a -> a -> Bool", 2, L::None, "Equality of whole values.", &["[1, 2] == [1, 2] => true : Bool"]),
        P::Ne => scheme(p, "Eq a => a -> a -> Bool", 2, L::None, "Inequality.", &["1 != 2 => true : Bool"]),
        P::Lt => scheme(p, "Ord a => a -> a -> Bool", 2, L::None, "Less than; lexicographic on tuples, texts, arrays and data.", &["1 < 2 => true : Bool"]),
        P::Gt => scheme(p, "Ord a => a -> a -> Bool", 2, L::None, "Greater than.", &["1 > 2 => false : Bool"]),
        P::Le => scheme(p, "Ord a => a -> a -> Bool", 2, L::None, "At most.", &["2 <= 2 => true : Bool"]),
        P::Ge => scheme(p, "Ord a => a -> a -> Bool", 2, L::None, "At least.", &["\"b\" >= \"a\" => true : Bool"]),
        P::Not => scheme(p, "Bool -> Bool", 1, L::None, "Logical negation.", &["not true => false : Bool"]),
        P::Sin => real(p, "Sine.", &["sin 0.0 => 0.0 : Float"]),
        P::Cos => real(p, "Cosine.", &["cos 0.0 => 1.0 : Float"]),
        P::Tan => real(p, "Tangent.", &["tan 0.0 => 0.0 : Float"]),
        P::Asin => real(p, "Arc sine.", &["asin 0.0 => 0.0 : Float"]),
        P::Acos => real(p, "Arc cosine.", &["acos 1.0 => 0.0 : Float"]),
        P::Atan => real(p, "Arc tangent.", &["atan 0.0 => 0.0 : Float"]),
        P::Sinh => real(p, "Hyperbolic sine.", &["sinh 0.0 => 0.0 : Float"]),
        P::Cosh => real(p, "Hyperbolic cosine.", &["cosh 0.0 => 1.0 : Float"]),
        P::Tanh => real(p, "Hyperbolic tangent.", &["tanh 0.0 => 0.0 : Float"]),
        P::Exp => real(p, "Exponential.", &["exp 0.0 => 1.0 : Float"]),
        P::Expm1 => real(p, "exp x - 1, accurate near 0.", &["expm1 0.0 => 0.0 : Float"]),
        P::Log => real(p, "Natural logarithm.", &["log 1.0 => 0.0 : Float"]),
        P::Log1p => real(p, "log (1 + x), accurate near 0.", &["log1p 0.0 => 0.0 : Float"]),
        P::Sqrt => real(p, "Square root.", &["sqrt 9.0 => 3.0 : Float"]),
        P::Cbrt => real(p, "Cube root.", &["cbrt 27.0 => 3.0 : Float"]),
        P::Abs => elementwise(p, "Num a => a -> a", 1, "Absolute value. The derivative at 0 is 0.", &["abs (-2) => 2 : Int"]),
        P::Sign => elementwise(p, "Num a => a -> a", 1, "-1, 0 or 1. The derivative is 0.", &["sign (-2.5) => -1.0 : Float"]),
        P::Floor => real(p, "Largest whole number that is not greater. The derivative is 0.", &["floor 1.5 => 1.0 : Float"]),
        P::Ceil => real(p, "Smallest whole number that is not less. The derivative is 0.", &["ceil 1.5 => 2.0 : Float"]),
        P::Round => real(p, "Nearest whole number, ties to even. The derivative is 0.", &["round 2.5 => 2.0 : Float"]),
        P::Sigmoid => real(p, "1 / (1 + exp (-x)).", &["sigmoid 0.0 => 0.5 : Float"]),
        P::Relu => real(p, "max (x, 0). The derivative at 0 is 0.", &["relu (-1.0) => 0.0 : Float"]),
        P::Softplus => real(p, "log (1 + exp x) without overflow.", &["softplus 0.0 => 0.6931471805599453 : Float"]),
        P::Erf => real(p, "Error function.", &["erf 0.0 => 0.0 : Float"]),
        P::Erfc => real(p, "1 - erf x, accurate for large x.", &["erfc 0.0 => 1.0 : Float"]),
        P::Lgamma => real(p, "Logarithm of the absolute value of the gamma function.", &["lgamma 1.0 => 0.0 : Float"]),
        P::Digamma => real(p, "Derivative of `lgamma`.", &["abs (digamma 1.0 + 0.5772156649015329) < 1e-14 => true : Bool"]),
        P::Gamma => real(p, "Gamma function.", &["gamma 5.0 => 24.0 : Float"]),
        P::IsNan => elementwise(p, "Real a => a -> Bool", 1, "Whether it is not a number.", &["is_nan nan => true : Bool"]),
        P::IsInf => elementwise(p, "Real a => a -> Bool", 1, "Whether it is infinite.", &["is_inf (-inf) => true : Bool"]),
        P::Atan2 => elementwise(p, "Real a => a -> a -> a", 2, "`atan2 y x`: the angle of the point (x, y).", &["atan2 0.0 1.0 => 0.0 : Float"]),
        P::Hypot => elementwise(p, "Real a => a -> a -> a", 2, "sqrt (x² + y²) without overflow. The derivative at the origin is 0.", &["hypot 3.0 4.0 => 5.0 : Float"]),
        P::Min => elementwise(p, "Num a => a -> a -> a", 2, "The smaller; the derivative of a tie goes to the first argument.", &["min 1 2 => 1 : Int"]),
        P::Max => elementwise(p, "Num a => a -> a -> a", 2, "The larger; the derivative of a tie goes to the first argument.", &["max 1.0 2.0 => 2.0 : Float"]),
        P::Clamp => elementwise(p, "Num a => a -> a -> a -> a", 3, "`clamp lo hi x`; the derivative at a bound is 1.", &["clamp 0.0 1.0 1.5 => 1.0 : Float"]),
        P::Pi => scheme(p, "Real a => a", 0, L::None, "3.14159….", &["pi => 3.141592653589793 : Float"]),
        P::E => scheme(p, "Real a => a", 0, L::None, "2.71828….", &["e => 2.718281828459045 : Float"]),
        P::Inf => scheme(p, "Real a => a", 0, L::None, "Infinity.", &["inf => inf : Float"]),
        P::Nan => scheme(p, "Real a => a", 0, L::None, "Not a number.", &["nan => nan : Float"]),
        P::ToFloat => elementwise(p, "Num a => a -> Float", 1, "Any number as a Float.", &["float 3 => 3.0 : Float"]),
        P::ToInt => elementwise(p, "Num a => a -> Int", 1, "The whole part, towards zero. A number that no Int holds is an error.", &["int (-1.5) => -1 : Int"]),
        P::ToF32 => elementwise(p, "Num a => a -> F32", 1, "Rounded to 32 bits.", &["to_f32 0.5 => 0.5 : F32"]),
        P::F32ToFloat => elementwise(p, "Num a => a -> Float", 1, "Any number as a Float.", &["to_float 1.5f32 => 1.5 : Float"]),
        P::Print => scheme(p, "Show a => a -> ()", 1, L::None, "Writes a value and a line break.", &[]),
        P::Show => scheme(p, "Show a => a -> String", 1, L::None, "A value as text.", &["show [1.0, 2.0] => \"[1.0, 2.0]\" : String"]),
        P::ReadCsv => special(p, "Data a => String -> a", 1, L::None, "A CSV file as a record of columns. With a literal path the header gives the record's type when the program is checked; otherwise annotate it. Missing numbers are `nan`. Names that are no identifiers have other characters replaced by `_`.", &[]),
        P::WriteCsv => scheme(p, "Data a => String -> a -> ()", 2, L::None, "Writes a record of columns.", &[]),
        P::ReadNpy => special(p, "Data a => String -> a", 1, L::None, "An NPY array (or an NPZ archive as a record of arrays).", &[]),
        P::WriteNpy => scheme(p, "Data a => String -> a -> ()", 2, L::None, "Writes an NPY array (or a record of arrays as NPZ).", &[]),
        P::ReadJson => scheme(p, "Data a => String -> a", 1, L::None, "A JSON file, read as the type that is wanted (annotate it).", &[]),
        P::WriteJson => scheme(p, "Data a => String -> a -> ()", 2, L::None, "Writes a value as JSON.", &[]),
        P::ReadText => scheme(p, "String -> String", 1, L::None, "A whole file as text.", &[]),
        P::WriteText => scheme(p, "String -> String -> ()", 2, L::None, "`write_text path text`.", &[]),
        P::Args => scheme(p, "() -> [_]String", 1, L::None, "The arguments of the command line.", &[]),
        P::Env => scheme(p, "String -> Option String", 1, L::None, "An environment variable.", &[]),
        P::Time => scheme(p, "() -> Float", 1, L::None, "Seconds since some moment; for differences.", &[]),
        P::Assert => scheme(p, "Bool -> ()", 1, L::None, "An error unless the condition holds.", &["assert (1 < 2) => () : ()"]),
        P::Error => scheme(p, "String -> a", 1, L::None, "Stops with a message.", &[]),
        P::StrLen => scheme(p, "String -> Int", 1, L::None, "Number of characters.", &[]),
        P::StrSlice => scheme(p, "Int -> Int -> String -> String", 3, L::None, "Characters a to b - 1.", &[]),
        P::StrSplit => scheme(p, "String -> String -> [_]String", 2, L::None, "`separator text`.", &[]),
        P::StrJoin => scheme(p, "String -> [n]String -> String", 2, L::None, "`separator parts`.", &[]),
        P::StrTrim => scheme(p, "String -> String", 1, L::None, "Without white space at the ends.", &[]),
        P::StrFind => scheme(p, "String -> String -> Int", 2, L::None, "`part text`: character index, or -1.", &[]),
        P::StrReplace => scheme(p, "String -> String -> String -> String", 3, L::None, "`old new text`.", &[]),
        P::StrUpper => scheme(p, "String -> String", 1, L::None, "Upper case.", &[]),
        P::StrLower => scheme(p, "String -> String", 1, L::None, "Lower case.", &[]),
        P::ParseFloat => scheme(p, "String -> [_]Float", 1, L::None, "One element, or none.", &[]),
        P::ParseInt => scheme(p, "String -> [_]Int", 1, L::None, "One element, or none.", &[]),
        P::Fst => scheme(p, "(a, b) -> a", 1, L::In(&[0]), "First of a pair.", &["fst (1, 2) => 1 : Int"]),
        P::Snd => scheme(p, "(a, b) -> b", 1, L::In(&[0]), "Second of a pair.", &["snd (1, 2) => 2 : Int"]),
        P::Id => scheme(p, "a -> a", 1, L::In(&[0]), "Its argument.", &["id 3 => 3 : Int"]),
        P::Zero => scheme(p, "Diff a => a", 0, L::None, "The zero of a type (of unknown shape where its sizes are not known).", &["(zero : Float) => 0.0 : Float"]),
        P::Ravel => scheme(p, "Diff a => a -> [_]Float", 1, L::In(&[0]), "The real leaves of any data as one vector.", &["ravel (1.0, [2.0, 3.0]) => [1.0, 2.0, 3.0] : [3]Float"]),
        P::Unravel => scheme(p, "Diff a => a -> [n]Float -> a", 2, L::In(&[1]), "`unravel like x`: data shaped as `like`, its real leaves taken from the vector `x`.", &["unravel (1.0, 2.0) [3.0, 4.0] => (3.0, 4.0) : (Float, Float)"]),
        P::Jvp => scheme(p, "(Diff a, Diff b) => (a -> b) -> a -> a -> (b, b)", 3, L::In(&[2]), "`jvp f x v`: the value and the derivative in direction `v` (forward mode).", &["jvp sin 0.0 2.0 => (0.0, 2.0) : (Float, Float)"]),
        P::Linearize => scheme(p, "(Diff a, Diff b) => (a -> b) -> a -> (b, a -o b)", 2, L::None, "The value and the derivative as a linear function; `f` runs once.", &["(snd (linearize (fun x -> x * x) 3.0)) 1.0 => 6.0 : Float"]),
        P::Vjp => scheme(p, "(Diff a, Diff b) => (a -> b) -> a -> (b, b -o a)", 2, L::None, "The value and the transposed derivative (reverse mode).", &["(snd (vjp (fun x -> x * x) 3.0)) 1.0 => 6.0 : Float"]),
        P::Transpose => scheme(p, "(Diff a, Diff b) => (a -o b) -> (b -o a)", 1, L::None, "The transposed linear function. The shape of its input must be known; otherwise use `transpose_at`.", &["(transpose (lin x -> 3.0 * (x : Float))) 2.0 => 6.0 : Float"]),
        P::TransposeAt => scheme(p, "(Diff a, Diff b) => a -> (a -o b) -> (b -o a)", 2, L::None, "`transpose_at like f`: transposes `f`, whose input is shaped as `like`.", &["(transpose_at [0.0, 0.0] (lin x -> sum x)) 2.0 => [2.0, 2.0] : [2]Float"]),
        P::Grad => scheme(p, "(Diff a, Real s) => (a -> s) -> a -> a", 2, L::None, "The gradient of a scalar function of any data (reverse mode).", &["grad (fun x -> x * x) 3.0 => 6.0 : Float", "grad (fun r -> r.a * r.b) {a = 2.0, b = 5.0} => {a = 5.0, b = 2.0} : {a : Float, b : Float}"]),
        P::ValueAndGrad => scheme(p, "(Diff a, Real s) => (a -> s) -> a -> (s, a)", 2, L::None, "The value and the gradient.", &["value_and_grad (fun x -> x * x) 3.0 => (9.0, 6.0) : (Float, Float)"]),
        P::Jacobian => scheme(p, "Real s => ([n]s -> [m]s) -> [n]s -> [m][n]s", 2, L::None, "The matrix of partial derivatives, by whichever mode needs fewer passes.", &["jacobian (fun x -> 2.0 * x) [1.0, 1.0] => [[2.0, 0.0], [0.0, 2.0]] : [2][2]Float"]),
        P::Jacfwd => scheme(p, "Real s => ([n]s -> [m]s) -> [n]s -> [m][n]s", 2, L::None, "The Jacobian column by column (forward mode).", &["jacfwd (fun x -> x * x) [3.0] => [[6.0]] : [1][1]Float"]),
        P::Jacrev => scheme(p, "Real s => ([n]s -> [m]s) -> [n]s -> [m][n]s", 2, L::None, "The Jacobian row by row (reverse mode).", &["jacrev (fun x -> x * x) [3.0] => [[6.0]] : [1][1]Float"]),
        P::Hessian => scheme(p, "Real s => ([n]s -> s) -> [n]s -> [n][n]s", 2, L::None, "The matrix of second derivatives.", &["hessian (fun x -> x[0] * x[1]) [1.0, 2.0] => [[0.0, 1.0], [1.0, 0.0]] : [2][2]Float"]),
        P::Hvp => scheme(p, "(Diff a, Real s) => (a -> s) -> a -> a -> a", 3, L::In(&[2]), "`hvp f x v`: the Hessian times `v`, without the Hessian.", &["hvp (fun x -> x ^ 3) 2.0 1.0 => 12.0 : Float"]),
        P::StopGrad => scheme(p, "a -> a", 1, L::None, "Its argument, as a constant to every derivative.", &["grad (fun x -> x * stop_grad x) 3.0 => 3.0 : Float"]),
        P::Checkpoint => scheme(p, "(a -> b) -> (a -> b)", 1, L::None, "The same function; reverse mode keeps its input only and runs it again.", &["grad (checkpoint (fun x -> sin (sin x))) 0.0 => 1.0 : Float"]),
        P::CustomJvp => scheme(p, "(a -> b) -> (a -> (b, a -o b)) -> (a -> b)", 2, L::None, "The function, with a derivative of your own: the value and a linear map. Reverse mode transposes the map.", &["grad (custom_jvp (fun x -> x * x) (fun x -> (x * x, lin dx -> 10.0 * dx))) 3.0 => 10.0 : Float"]),
        P::CustomVjp => scheme(p, "(a -> b) -> (a -> (b, b -o a)) -> (a -> b)", 2, L::None, "The function, with a reverse derivative of your own.", &["grad (custom_vjp (fun x -> x * x) (fun x -> (x * x, lin dy -> 10.0 * dy))) 3.0 => 10.0 : Float"]),
        P::Gradcheck => scheme(p, "(Diff a, Real s) => (a -> s) -> a -> {max_error : Float, ok : Bool}", 2, L::None, "Compares `grad f x` with central differences, leaf by leaf: the largest error relative to the size of the numbers.", &["(gradcheck (fun x -> x ^ 3) 2.0).ok => true : Bool"]),
        _ => crate::rows_arrays::row_of(p),
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

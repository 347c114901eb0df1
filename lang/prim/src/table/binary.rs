//! Binary scalar operators: one row each.

use super::{Linearity as L, Row, elementwise, internal, special};
use crate::scalar::{Gpu, Native, Ops, d_pow, exact, floor_rem, pow, rounded, safe_div, unit};
use crate::table::unary::Un;

/// A binary operator as a type, so that code can be compiled for each one.
pub trait BinaryFn {
    /// The operator.
    const OP: Bin;
}

/// Code that is compiled for each binary operator.
pub trait EachBinary {
    /// The result.
    type Out;
    /// The code for one operator.
    fn run<F: BinaryFn>(self) -> Self::Out;
}

/// Rows: `Name "text form" "name": constructor(arguments), documentation, [examples], operations: …, native: …, gpu: …,
/// value: |x, y| …, derivatives: |o, x, y, z| …;`.
///
/// `operations` is their number in the sense of *Differentiating a Tensor Language*, Fig. 6, in which a function counts
/// as the additions, products and unary functions that it consists of. The paper's bound on derivatives holds for these:
/// a binary function that counted as one operation would cost five together with its partial derivatives.
///
/// The derivatives are both partial derivatives at `(x, y)`, where `z` is the value, written over the trait [`Ops`].
macro_rules! binary {
    ($($name:ident $word:literal $user:literal: $make:ident($($arg:expr),*), $doc:literal, [$($example:literal),* $(,)?],
        operations: $operations:literal, native: $native:expr, gpu: $gpu:expr,
        value: |$vx:ident, $vy:ident| $value:expr,
        derivatives: |$o:ident, $x:ident, $y:ident, $z:ident| $derivatives:expr;)*
    ) => {
        /// Binary real operators.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Bin { $(#[doc = $doc] $name,)* }

        /// The operators as types.
        mod types {
            use super::{Bin, BinaryFn};
            $(
                #[derive(Debug)]
                pub(super) struct $name;
                impl BinaryFn for $name {
                    const OP: Bin = Bin::$name;
                }
            )*
        }

        impl Bin {
            /// Every operator.
            pub const ALL: &'static [Bin] = &[$(Bin::$name),*];

            /// Its word in the text form of the IR.
            pub const fn word(self) -> &'static str {
                match self { $(Bin::$name => $word,)* }
            }

            /// Its row among the primitives.
            pub const fn row(self) -> Row {
                match self { $(Bin::$name => $make($user, $($arg,)* $doc, &[$($example),*]),)* }
            }

            /// The number of operations that the operator consists of.
            pub const fn operations(self) -> u64 {
                match self { $(Bin::$name => $operations,)* }
            }

            /// How native code computes it.
            pub const fn native(self) -> Native {
                match self { $(Bin::$name => $native,)* }
            }

            /// How a GPU computes it.
            pub const fn gpu(self) -> Gpu {
                match self { $(Bin::$name => $gpu,)* }
            }

            /// f(x, y) in f64.
            #[inline]
            pub fn eval(self, x: f64, y: f64) -> f64 {
                match self { $(Bin::$name => { let ($vx, $vy) = (x, y); $value })* }
            }

            /// Runs code for this operator.
            pub fn each<C: EachBinary>(self, code: C) -> C::Out {
                match self { $(Bin::$name => code.run::<types::$name>(),)* }
            }
        }

        /// Both partial derivatives of `op` at `(x, y)`, where `z = op(x, y)`. At ties, `min` and `max` differentiate the
        /// first argument; the derivative of `hypot` at the origin is 0.
        pub fn d_bin<O: Ops>(o: &mut O, op: Bin, x: &O::V, y: &O::V, z: &O::V) -> Result<(O::V, O::V), O::E> {
            Ok(match op {
                $(Bin::$name => { let ($o, $x, $y, $z) = (o, x, y, z); $derivatives })*
            })
        }
    };
}

binary! {
    Add "add" "+": special("Num a => a -> a -> a", 2, L::Joint),
        "Sum. Elementwise on arrays: a number broadcasts, and so does an array along the leading axes of one of \
         higher rank. On tuples, records and declared data leaf by leaf.",
        [
            "1 + 2 => 3 : Int",
            "[1.0, 2.0] + 1.0 => [2.0, 3.0] : [2]Float",
            "[[1, 2], [3, 4]] + [10, 20] => [[11, 22], [13, 24]] : [2][2]Int",
        ],
        operations: 1, native: Native::Instructions, gpu: exact(0.0),
        value: |x, y| x + y,
        derivatives: |o, x, _y, _z| (o.constant(1.0, x), o.constant(1.0, x));
    Sub "sub" "-": special("Num a => a -> a -> a", 2, L::Joint), "Difference; acts like `+`.", ["3 - 2 => 1 : Int"],
        operations: 1, native: Native::Instructions, gpu: exact(0.0),
        value: |x, y| x - y,
        derivatives: |o, x, _y, _z| (o.constant(1.0, x), o.constant(-1.0, x));
    Mul "mul" "*": special("Num a => a -> a -> a", 2, L::Bilinear),
        "Product. Elementwise on arrays; a scalar scales arrays, tuples, records and declared data.",
        ["2.0 * [1.0, 2.0] => [2.0, 4.0] : [2]Float"],
        operations: 1, native: Native::Instructions, gpu: exact(0.0),
        value: |x, y| x * y,
        derivatives: |_o, x, y, _z| (y.clone(), x.clone());
    // A reciprocal and a product.
    Div "div" "/": special("Real a => a -> a -> a", 2, L::In(&[0])), "Real division (IEEE: `1.0 / 0.0` is `inf`).",
        ["1.0 / 4.0 => 0.25 : Float"],
        operations: 2, native: Native::Instructions, gpu: exact(0.0),
        value: |x, y| x / y,
        derivatives: |o, x, y, z| {
            let one = o.constant(1.0, x);
            let dx = o.bin(Bin::Div, &one, y)?;
            let q = o.bin(Bin::ScaleTangent, z, &dx)?;
            (dx, o.un(Un::Neg, &q)?)
        };
    IntDiv "int_div" "//": special("Int -> Int -> Int", 2, L::None),
        "Whole division, rounded towards negative infinity. Division by zero is an error.",
        ["7 // 2 => 3 : Int", "(-7) // 2 => -4 : Int"],
        operations: 3, native: Native::Instructions, gpu: rounded(0.0, 0.0),
        value: |x, y| (x / y).floor(),
        derivatives: |o, x, _y, _z| (o.constant(0.0, x), o.constant(0.0, x));
    // x - y floor (x / y).
    Rem "rem" "%": special("Num a => a -> a -> a", 2, L::None), "Remainder with the sign of the divisor.",
        ["(-7) % 2 => 1 : Int", "5.5 % 2.0 => 1.5 : Float"],
        operations: 5, native: Native::Call, gpu: rounded(0.0, 0.0),
        value: |x, y| floor_rem(x, y),
        derivatives: |o, x, y, _z| {
            let one = o.constant(1.0, x);
            let q = o.bin(Bin::IntDiv, x, y)?;
            (one, o.un(Un::Neg, &q)?)
        };
    // exp (y log x).
    Pow "pow" "^": special("Real a => a -> a -> a", 2, L::None),
        "Power. With an Int exponent it works on any number; an Int to a negative power is an error.",
        [
            "2 ^ 10 => 1024 : Int",
            "2.0 ^ 0.5 => 1.4142135623730951 : Float",
            "[2.0, 4.0] ^ len [1, 2] => [4.0, 16.0] : [2]Float",
        ],
        operations: 3, native: Native::Call, gpu: rounded(0.0, 2.0),
        value: |x, y| pow(x, y),
        derivatives: |o, x, y, z| d_pow(o, x, y, z)?;
    // atan (x / y).
    Atan2 "atan2" "atan2": elementwise("Reals a => a -> a -> a", 2), "`atan2 y x`: the angle of the point (x, y).",
        ["atan2 0.0 1.0 => 0.0 : Float"],
        operations: 3, native: Native::Call, gpu: rounded(0.0, 3.0),
        value: |x, y| x.atan2(y),
        derivatives: |o, x, y, _z| {
            // Scaled so that the square of the radius neither overflows nor underflows.
            let unit = unit(o, x, y)?;
            let (x, y) = (o.bin(Bin::Mul, x, &unit)?, o.bin(Bin::Mul, y, &unit)?);
            let xx = o.bin(Bin::Mul, &x, &x)?;
            let yy = o.bin(Bin::Mul, &y, &y)?;
            let r = o.bin(Bin::Add, &xx, &yy)?;
            let (dx, dy) = (o.bin(Bin::Div, &y, &r)?, o.bin(Bin::Div, &x, &r)?);
            let dy = o.un(Un::Neg, &dy)?;
            (o.bin(Bin::Mul, &dx, &unit)?, o.bin(Bin::Mul, &dy, &unit)?)
        };
    // sqrt (x x + y y).
    Hypot "hypot" "hypot": elementwise("Reals a => a -> a -> a", 2),
        "sqrt (x² + y²) without overflow. The derivative at the origin is 0.",
        ["hypot 3.0 4.0 => 5.0 : Float"],
        operations: 4, native: Native::Call, gpu: rounded(0.0, 1.0),
        value: |x, y| x.hypot(y),
        derivatives: |o, x, y, z| (safe_div(o, x, z)?, safe_div(o, y, z)?);
    Min "min" "min": elementwise("Nums a => a -> a -> a", 2),
        "The smaller; the derivative of a tie goes to the first argument.",
        ["min 1 2 => 1 : Int"],
        operations: 1, native: Native::Instructions, gpu: exact(0.0),
        value: |x, y| if x.is_nan() || x <= y { x } else { y },
        derivatives: |o, x, y, _z| {
            let one = o.constant(1.0, x);
            let first = o.bin(Bin::LeIndicator, x, y)?;
            let second = o.bin(Bin::Sub, &one, &first)?;
            (first, second)
        };
    Max "max" "max": elementwise("Nums a => a -> a -> a", 2),
        "The larger; the derivative of a tie goes to the first argument.",
        ["max 1.0 2.0 => 2.0 : Float"],
        operations: 1, native: Native::Instructions, gpu: exact(0.0),
        value: |x, y| if x.is_nan() || x >= y { x } else { y },
        derivatives: |o, x, y, _z| {
            let one = o.constant(1.0, x);
            let first = o.bin(Bin::LeIndicator, y, x)?;
            let second = o.bin(Bin::Sub, &one, &first)?;
            (first, second)
        };
    // An Iverson bracket, which the paper does not count.
    LeIndicator "le_indicator" "le_indicator": internal(2), "1 if x ≤ y, else 0.", [],
        operations: 0, native: Native::Instructions, gpu: exact(0.0),
        value: |x, y| if x <= y { 1.0 } else { 0.0 },
        derivatives: |o, x, _y, _z| (o.constant(0.0, x), o.constant(0.0, x));
    ScaleTangent "scale_tangent" "scale_tangent": internal(2),
        "x y, but 0 if either factor is 0: a tangent times a coefficient. So 0 · inf produces no nan in a derivative, in \
         forward and in reverse mode alike.", [],
        operations: 1, native: Native::Instructions, gpu: exact(0.0),
        value: |x, y| if x == 0.0 || y == 0.0 { 0.0 } else { x * y },
        derivatives: |_o, x, y, _z| (y.clone(), x.clone());
}

//! Unary scalar operators: one row each.

use super::{Linearity as L, Row, elementwise, internal, real, special};
use crate::elementary::one;
use crate::scalar::{Gpu, Native, Ops, exact, gauss, inverse_root, rounded};
use crate::special as functions;
use crate::table::binary::Bin;
use std::f64::consts::FRAC_2_SQRT_PI;

/// A unary operator without a parameter as a type, so that code can be compiled for each one.
pub trait UnaryFn {
    /// The operator.
    const OP: Un;
}

/// Code that is compiled for each unary operator without a parameter.
pub trait EachUnary {
    /// The result.
    type Out;
    /// The code for one operator.
    fn run<F: UnaryFn>(self) -> Self::Out;
}

/// What a word of the text form stands for.
#[derive(Clone, Copy, Debug)]
pub enum UnByWord {
    /// An operator.
    Plain(Un),
    /// An operator with the parameter that follows, if it is within its range.
    Parameter(fn(i64) -> Option<Un>),
}

/// Rows: `Name "word": constructor(arguments), documentation, [examples], native: …, gpu: …, value: |x| …, derivative:
/// |o, x, y| …;`, first of operators without a parameter, then of those with one.
///
/// The derivative at `x`, where `y` is the value, is written over the trait [`Ops`].
macro_rules! unary {
    (
        plain { $($name:ident $word:literal: $make:ident($($arg:expr),*), $doc:literal, [$($example:literal),* $(,)?],
            native: $native:expr, gpu: $gpu:expr,
            value: |$vx:ident| $value:expr,
            derivative: |$o:ident, $x:ident, $y:ident| $derivative:expr;)* }
        parameter {
            $($pname:ident($n:ident: $t:ty) $pword:literal: $pmake:ident($($parg:expr),*), $pdoc:literal,
                native: $pnative:expr, gpu: $pgpu:expr,
                value: |$pvx:ident| $pvalue:expr,
                derivative: |$po:ident, $px:ident, $py:ident| $pderivative:expr;)*
        }
    ) => {
        /// Unary real operators.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Un {
            $(#[doc = $doc] $name,)*
            $(#[doc = $pdoc] $pname($t),)*
        }

        /// The operators without a parameter as types.
        mod types {
            use super::{Un, UnaryFn};
            $(
                #[derive(Debug)]
                pub(super) struct $name;
                impl UnaryFn for $name {
                    const OP: Un = Un::$name;
                }
            )*
        }

        impl Un {
            /// The operators without a parameter.
            pub const ALL: &'static [Un] = &[$(Un::$name),*];

            /// Its row among the primitives.
            pub const fn row(self) -> Row {
                match self {
                    $(Un::$name => $make($word, $($arg,)* $doc, &[$($example),*]),)*
                    $(Un::$pname(_) => $pmake($pword, $($parg,)* $pdoc, &[]),)*
                }
            }

            /// Its parameter, which follows the word in the text form of the IR.
            pub fn parameter(self) -> Option<i64> {
                match self {
                    $(Un::$name => None,)*
                    $(Un::$pname($n) => Some(i64::from($n)),)*
                }
            }

            /// The operator of a word of the text form.
            pub fn by_word(word: &str) -> Option<UnByWord> {
                match word {
                    $($word => Some(UnByWord::Plain(Un::$name)),)*
                    $($pword => Some(UnByWord::Parameter(|n| <$t>::try_from(n).ok().map(Un::$pname))),)*
                    _ => None,
                }
            }

            /// How native code computes it.
            pub const fn native(self) -> Native {
                match self {
                    $(Un::$name => $native,)*
                    $(Un::$pname($n) => { let _ = $n; $pnative })*
                }
            }

            /// How a GPU computes it.
            pub const fn gpu(self) -> Gpu {
                match self {
                    $(Un::$name => $gpu,)*
                    $(Un::$pname(_) => $pgpu,)*
                }
            }

            /// f(x) in f64.
            #[inline]
            pub fn eval(self, x: f64) -> f64 {
                match self {
                    $(Un::$name => { let $vx = x; $value })*
                    $(Un::$pname($n) => { let $pvx = x; $pvalue })*
                }
            }

            /// Runs code for this operator; `None` if the operator has a parameter.
            pub fn each<C: EachUnary>(self, code: C) -> Option<C::Out> {
                match self {
                    $(Un::$name => Some(code.run::<types::$name>()),)*
                    $(Un::$pname(_) => None,)*
                }
            }
        }

        /// The derivative of `op` at `x`, where `y = op(x)`. At kinks: 0 for `abs` and `relu` at 0.
        pub fn d_un<O: Ops>(o: &mut O, op: Un, x: &O::V, y: &O::V) -> Result<O::V, O::E> {
            Ok(match op {
                $(Un::$name => { let ($o, $x, $y) = (o, x, y); $derivative })*
                $(Un::$pname($n) => { let ($po, $px, $py) = (o, x, y); $pderivative })*
            })
        }
    };
}

unary! {
    plain {
        Neg "neg": special("Num a => a -> a", 1, L::Joint), "Negation: unary `-`.", ["-(3) => -3 : Int"],
            native: Native::Instructions, gpu: exact(1.0),
            value: |x| -x,
            derivative: |o, x, _y| o.constant(-1.0, x);
        Sin "sin": real(), "Sine.", ["sin 0.0 => 0.0 : Float"],
            native: Native::Vector, gpu: rounded(100.0, 1.0),
            value: |x| one::sin(x),
            derivative: |o, x, _y| o.un(Un::Cos, x)?;
        Cos "cos": real(), "Cosine.", ["cos 0.0 => 1.0 : Float"],
            native: Native::Vector, gpu: rounded(100.0, 1.0),
            value: |x| one::cos(x),
            derivative: |o, x, _y| {
                let s = o.un(Un::Sin, x)?;
                o.un(Un::Neg, &s)?
            };
        Tan "tan": real(), "Tangent.", ["tan 0.0 => 0.0 : Float"],
            native: Native::Call, gpu: rounded(100.0, 3.0),
            value: |x| x.tan(),
            derivative: |o, x, y| {
                let yy = o.bin(Bin::Mul, y, y)?;
                let one = o.constant(1.0, x);
                o.bin(Bin::Add, &one, &yy)?
            };
        Asin "asin": real(), "Arc sine.", ["asin 0.0 => 0.0 : Float"],
            native: Native::Call, gpu: rounded(1.0, 2.0),
            value: |x| x.asin(),
            derivative: |o, x, _y| inverse_root(o, x)?;
        Acos "acos": real(), "Arc cosine.", ["acos 1.0 => 0.0 : Float"],
            native: Native::Call, gpu: rounded(1.0, 2.0),
            value: |x| x.acos(),
            derivative: |o, x, _y| {
                let d = inverse_root(o, x)?;
                o.un(Un::Neg, &d)?
            };
        Atan "atan": real(), "Arc tangent.", ["atan 0.0 => 0.0 : Float"],
            native: Native::Call, gpu: rounded(5.0, 2.0),
            value: |x| x.atan(),
            derivative: |o, x, _y| {
                let one = o.constant(1.0, x);
                let xx = o.bin(Bin::Mul, x, x)?;
                let d = o.bin(Bin::Add, &one, &xx)?;
                o.bin(Bin::Div, &one, &d)?
            };
        Sinh "sinh": real(), "Hyperbolic sine.", ["sinh 0.0 => 0.0 : Float"],
            native: Native::Call, gpu: rounded(710.0, 3.0),
            value: |x| x.sinh(),
            derivative: |o, x, _y| o.un(Un::Cosh, x)?;
        Cosh "cosh": real(), "Hyperbolic cosine.", ["cosh 0.0 => 1.0 : Float"],
            native: Native::Call, gpu: rounded(710.0, 3.0),
            value: |x| x.cosh(),
            derivative: |o, x, _y| o.un(Un::Sinh, x)?;
        Tanh "tanh": real(), "Hyperbolic tangent.", ["tanh 0.0 => 0.0 : Float"],
            native: Native::Vector, gpu: rounded(5.0, 0.0),
            value: |x| one::tanh(x),
            // 1 - y² would lose all digits where y is close to 1.
            derivative: |o, x, _y| o.un(Un::Sech2, x)?;
        Asinh "asinh": real(), "Inverse of `sinh`.", ["asinh 0.0 => 0.0 : Float"],
            native: Native::Call, gpu: rounded(1e3, 0.0),
            value: |x| functions::asinh(x),
            derivative: |o, x, _y| {
                // √(1 + x²) without overflow.
                let one = o.constant(1.0, x);
                let r = o.bin(Bin::Hypot, &one, x)?;
                o.bin(Bin::Div, &one, &r)?
            };
        Acosh "acosh": real(), "Inverse of `cosh`: `nan` below 1.", ["acosh 1.0 => 0.0 : Float"],
            native: Native::Call, gpu: rounded(1e3, 0.0),
            value: |x| functions::acosh(x),
            derivative: |o, x, _y| {
                // The product of the roots does not overflow where that of the factors would.
                let one = o.constant(1.0, x);
                let (a, b) = (o.bin(Bin::Sub, x, &one)?, o.bin(Bin::Add, x, &one)?);
                let (a, b) = (o.un(Un::Sqrt, &a)?, o.un(Un::Sqrt, &b)?);
                let r = o.bin(Bin::Mul, &a, &b)?;
                o.bin(Bin::Div, &one, &r)?
            };
        Atanh "atanh": real(), "Inverse of `tanh`: `inf` at 1, `-inf` at -1, `nan` beyond.", ["atanh 0.0 => 0.0 : Float"],
            native: Native::Call, gpu: rounded(1.0, 0.0),
            value: |x| functions::atanh(x),
            derivative: |o, x, _y| {
                let one = o.constant(1.0, x);
                let (a, b) = (o.bin(Bin::Sub, &one, x)?, o.bin(Bin::Add, &one, x)?);
                let ab = o.bin(Bin::Mul, &a, &b)?;
                o.bin(Bin::Div, &one, &ab)?
            };
        Exp "exp": real(), "Exponential.", ["exp 0.0 => 1.0 : Float"],
            native: Native::Vector, gpu: rounded(745.0, 0.0),
            value: |x| one::exp(x),
            derivative: |_o, _x, y| y.clone();
        Expm1 "expm1": real(), "exp x - 1, accurate near 0.", ["expm1 0.0 => 0.0 : Float"],
            native: Native::Vector, gpu: rounded(40.0, 0.0),
            value: |x| one::expm1(x),
            // y + 1 would lose all digits where y is close to -1.
            derivative: |o, x, _y| o.un(Un::Exp, x)?;
        Log "log": real(), "Natural logarithm.", ["log 1.0 => 0.0 : Float"],
            native: Native::Vector, gpu: rounded(3.0, 0.0),
            value: |x| one::log(x),
            derivative: |o, x, _y| {
                let one = o.constant(1.0, x);
                o.bin(Bin::Div, &one, x)?
            };
        Log1p "log1p": real(), "log (1 + x), accurate near 0.", ["log1p 0.0 => 0.0 : Float"],
            native: Native::Vector, gpu: rounded(3.0, 0.0),
            value: |x| one::log1p(x),
            derivative: |o, x, _y| {
                let one = o.constant(1.0, x);
                let d = o.bin(Bin::Add, &one, x)?;
                o.bin(Bin::Div, &one, &d)?
            };
        Sqrt "sqrt": real(), "Square root.", ["sqrt 9.0 => 3.0 : Float"],
            native: Native::Instructions, gpu: rounded(1e3, 0.0),
            value: |x| x.sqrt(),
            derivative: |o, x, y| {
                let (one, two) = (o.constant(1.0, x), o.constant(2.0, x));
                let d = o.bin(Bin::Mul, &two, y)?;
                o.bin(Bin::Div, &one, &d)?
            };
        Cbrt "cbrt": real(), "Cube root.", ["cbrt 27.0 => 3.0 : Float"],
            native: Native::Call, gpu: rounded(1e3, 1.0),
            value: |x| x.cbrt(),
            derivative: |o, x, y| {
                let (one, three) = (o.constant(1.0, x), o.constant(3.0, x));
                let yy = o.bin(Bin::Mul, y, y)?;
                let d = o.bin(Bin::Mul, &three, &yy)?;
                o.bin(Bin::Div, &one, &d)?
            };
        Abs "abs": elementwise("Nums a => a -> a", 1), "Absolute value. The derivative at 0 is 0.", ["abs (-2) => 2 : Int"],
            native: Native::Instructions, gpu: exact(1.0),
            value: |x| x.abs(),
            derivative: |o, x, _y| o.un(Un::Sign, x)?;
        Sign "sign": elementwise("Nums a => a -> a", 1), "-1, 0 or 1. The derivative is 0.", ["sign (-2.5) => -1.0 : Float"],
            native: Native::Instructions, gpu: exact(1.0),
            value: |x| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { x },
            derivative: |o, x, _y| o.constant(0.0, x);
        Floor "floor": real(), "Largest whole number that is not greater. The derivative is 0.", ["floor 1.5 => 1.0 : Float"],
            native: Native::Instructions, gpu: exact(100.0),
            value: |x| x.floor(),
            derivative: |o, x, _y| o.constant(0.0, x);
        Ceil "ceil": real(), "Smallest whole number that is not less. The derivative is 0.", ["ceil 1.5 => 2.0 : Float"],
            native: Native::Instructions, gpu: exact(100.0),
            value: |x| x.ceil(),
            derivative: |o, x, _y| o.constant(0.0, x);
        Round "round": real(), "Nearest whole number, ties to even. The derivative is 0.", ["round 2.5 => 2.0 : Float"],
            native: Native::Instructions, gpu: exact(100.0),
            value: |x| x.round_ties_even(),
            derivative: |o, x, _y| o.constant(0.0, x);
        Sigmoid "sigmoid": real(), "1 / (1 + exp (-x)).", ["sigmoid 0.0 => 0.5 : Float"],
            native: Native::Vector, gpu: rounded(40.0, 0.0),
            value: |x| one::sigmoid(x),
            derivative: |o, x, y| {
                // y (1 - y), with 1 - y computed as sigmoid (-x) to avoid cancellation.
                let nx = o.un(Un::Neg, x)?;
                let z = o.un(Un::Sigmoid, &nx)?;
                o.bin(Bin::Mul, y, &z)?
            };
        Relu "relu": real(), "max (x, 0). The derivative at 0 is 0.", ["relu (-1.0) => 0.0 : Float"],
            native: Native::Instructions, gpu: exact(1.0),
            value: |x| if x > 0.0 || x.is_nan() { x } else { 0.0 },
            derivative: |o, x, _y| o.un(Un::Step, x)?;
        Softplus "softplus": real(), "log (1 + exp x) without overflow.", ["softplus 0.0 => 0.6931471805599453 : Float"],
            native: Native::Vector, gpu: rounded(40.0, 0.0),
            value: |x| one::softplus(x),
            derivative: |o, x, _y| o.un(Un::Sigmoid, x)?;
        Erf "erf": real(), "Error function.", ["erf 0.0 => 0.0 : Float"],
            native: Native::Vector, gpu: rounded(6.0, 2.0),
            value: |x| one::erf(x),
            derivative: |o, x, _y| gauss(o, x, FRAC_2_SQRT_PI)?;
        Erfc "erfc": real(), "1 - erf x, accurate for large x.", ["erfc 0.0 => 1.0 : Float"],
            native: Native::Vector, gpu: rounded(27.0, 5.0),
            value: |x| one::erfc(x),
            derivative: |o, x, _y| gauss(o, x, -FRAC_2_SQRT_PI)?;
        Erfinv "erfinv": real(), "Inverse of `erf`: `inf` at 1, `-inf` at -1, `nan` beyond.",
            ["erfinv 0.0 => 0.0 : Float", "abs (erf (erfinv 0.3) - 0.3) < 1e-15 => true : Bool"],
            native: Native::Call, gpu: rounded(1.0, 0.0),
            value: |x| functions::erfinv(x),
            derivative: |o, x, y| {
                // exp (y²) / (2 / √π).
                let yy = o.bin(Bin::Mul, y, y)?;
                let e = o.un(Un::Exp, &yy)?;
                let c = o.constant(1.0 / FRAC_2_SQRT_PI, x);
                o.bin(Bin::Mul, &c, &e)?
            };
        Lgamma "lgamma": real(), "Logarithm of the absolute value of the gamma function.", ["lgamma 1.0 => 0.0 : Float"],
            native: Native::Call, gpu: rounded(200.0, 8.0),
            value: |x| functions::lgamma(x),
            derivative: |o, x, _y| o.un(Un::Digamma, x)?;
        Digamma "digamma": real(), "Derivative of `lgamma`.", ["abs (digamma 1.0 + 0.5772156649015329) < 1e-14 => true : Bool"],
            native: Native::Call, gpu: rounded(50.0, 8.0),
            value: |x| functions::digamma(x),
            derivative: |o, x, _y| o.un(Un::Polygamma(1), x)?;
        Gamma "gamma": real(), "Gamma function.", ["gamma 5.0 => 24.0 : Float"],
            native: Native::Call, gpu: rounded(171.0, 12.0),
            value: |x| libm::tgamma(x),
            derivative: |o, x, y| {
                let psi = o.un(Un::Digamma, x)?;
                o.bin(Bin::Mul, y, &psi)?
            };
        Step "step": internal(1), "1 if x > 0, else 0.", [],
            native: Native::Instructions, gpu: exact(1.0),
            value: |x| if x > 0.0 { 1.0 } else { 0.0 },
            derivative: |o, x, _y| o.constant(0.0, x);
        Sech2 "sech2": internal(1), "1 / cosh² x, the derivative of `tanh`.", [],
            native: Native::Vector, gpu: rounded(20.0, 1.0),
            value: |x| one::sech2(x),
            derivative: |o, x, y| {
                let t = o.un(Un::Tanh, x)?;
                let ty = o.bin(Bin::Mul, &t, y)?;
                let c = o.constant(-2.0, x);
                o.bin(Bin::Mul, &c, &ty)?
            };
    }
    parameter {
        Polygamma(n: u8) "polygamma": internal(1), "The n-th derivative of digamma, n at least 1.",
            native: Native::Call, gpu: rounded(50.0, 24.0),
            value: |x| functions::polygamma(n, x),
            derivative: |o, x, _y| o.un(Un::Polygamma(n.saturating_add(1)), x)?;
        Powi(n: i32) "powi": internal(1), "x to a constant integer power.",
            native: if n.unsigned_abs() <= 16 { Native::Instructions } else { Native::Call }, gpu: rounded(10.0, 0.0),
            value: |x| x.powi(n),
            derivative: |o, x, _y| if n == 0 {
                o.constant(0.0, x)
            } else {
                let p = o.un(Un::Powi(n - 1), x)?;
                let c = o.constant(f64::from(n), x);
                o.bin(Bin::Mul, &c, &p)?
            };
    }
}

impl Un {
    /// Its word in the text form of the IR, which is its name in programs if it has one.
    pub const fn word(self) -> &'static str {
        self.row().name
    }

    /// Whether the derivative is zero wherever it exists.
    pub fn is_flat(self) -> bool {
        matches!(self, Un::Sign | Un::Floor | Un::Ceil | Un::Round | Un::Step | Un::Powi(0))
    }
}

//! Values, first and second derivatives of every primitive at the ends of the floats' range, at kinks and at branch points, against references with 256
//! bits and no bounds on exponents. A primitive without a reference does not compile into this file.
//!
//! Each is evaluated at once on all points and one by one, as native code and interpreted, on transformed code and on tapes.

use adl_prim::{ArrayFn, Bin, DerivativeFn, GeneralFn, HigherOrderFn, NumberFn, Prim, ReductionFn, Un};
use adl_tests::precise::{Real, erf, erfc, erfinv, log_gamma};
use adl_tests::session;

/// A function and its first two derivatives.
type Line = fn(&Real) -> [Real; 3];
/// A function of two numbers: value, both first derivatives; second derivatives by xx, xy, yy.
type Plane = fn(&Real, &Real) -> [Real; 6];

/// What a primitive is compared with.
enum Reference {
    /// A smooth function of a number, the numbers for which it is defined, the limits of its first derivative at both infinities where they exist, and
    /// how many ulps (of 2⁻⁵²) results may be off.
    Smooth(Line, fn(f64) -> bool, [Option<f64>; 2], f64),
    /// One with kinks or steps: value and derivative as documented at every number. The second derivative is 0.
    Kinked(fn(f64) -> (f64, f64)),
    /// A smooth function of two numbers, and where it is defined.
    Pair(Plane, fn(f64, f64) -> bool),
    /// One with kinks: value and both derivatives.
    KinkedPair(fn(f64, f64) -> (f64, f64, f64)),
    /// Operations on arrays: `tests/programs/extremes.adl` has them.
    Zeros,
    /// It has no derivative of its own: it is discrete, or applies functions that have.
    None,
}

use Reference::{Kinked, KinkedPair, None as Nothing, Pair, Smooth, Zeros};

fn one() -> Real {
    Real::from(1.0)
}

fn two() -> Real {
    Real::from(2.0)
}

fn zero() -> Real {
    Real::from(0.0)
}

/// 1 / (1 + e⁻ˣ).
fn logistic(x: &Real) -> Real {
    one() / (one() + (-x.clone()).exp())
}

/// log (1 + x) with all digits for small x.
fn log1p(x: &Real) -> Real {
    if x.to_f64().abs() < 1e-30 { x.clone() - x.squared() / two() } else { (one() + x.clone()).ln() }
}

/// eˣ - 1 with all digits for small x.
fn expm1(x: &Real) -> Real {
    if x.to_f64().abs() < 1e-30 { x.clone() + x.squared() / two() } else { x.exp() - one() }
}

/// An odd function with all digits for small x, where it is x (1 + c x²).
fn odd(x: &Real, c: f64, f: impl Fn(&Real) -> Real) -> Real {
    if x.to_f64().abs() < 1e-20 { x.clone() * (one() + Real::from(c) * x.squared()) } else { f(x) }
}

fn sech2(x: &Real) -> Real {
    one() / x.cosh().squared()
}

fn gauss(x: &Real) -> Real {
    two() / Real::pi().sqrt() * (-x.squared()).exp()
}

/// 1 - x².
fn below(x: &Real) -> Real {
    (one() - x.clone()) * (one() + x.clone())
}

/// Γ and its first two derivatives.
fn gamma(x: &Real) -> [Real; 3] {
    let [l, d, dd] = log_gamma(x);
    let g = l.exp();
    [g.clone(), g.clone() * d.clone(), g * (d.squared() + dd)]
}

/// The third derivative of log Γ, by differences of the second.
fn digamma(x: &Real) -> [Real; 3] {
    let h = x.clone() * Real::from(2f64.powi(-60));
    let [_, _, high] = log_gamma(&(x.clone() + h.clone()));
    let [_, _, low] = log_gamma(&(x.clone() - h.clone()));
    let [_, d, dd] = log_gamma(x);
    [d, dd, (high - low) / (two() * h)]
}

fn any(_: f64) -> bool {
    true
}

/// The reference of a primitive.
fn reference(p: Prim) -> Reference {
    use Prim as P;
    let both = |a, b| [Some(a), Some(b)];
    let inf = f64::INFINITY;
    match p {
        P::Un(Un::Neg) => Kinked(|x| (-x, -1.0)),
        P::Un(Un::Sin) => {
            Smooth(|x| [odd(x, -1.0 / 6.0, Real::sin), x.cos(), -odd(x, -1.0 / 6.0, Real::sin)], any, [None, None], 2.0)
        }
        P::Un(Un::Cos) => Smooth(|x| [x.cos(), -odd(x, -1.0 / 6.0, Real::sin), -x.cos()], any, [None, None], 2.0),
        P::Un(Un::Tan) => Smooth(
            |x| {
                let t = odd(x, 1.0 / 3.0, Real::tan);
                let d = one() + t.squared();
                [t.clone(), d.clone(), two() * t * d]
            },
            any,
            [None, None],
            6.0,
        ),
        P::Un(Un::Asin) => Smooth(
            |x| [odd(x, 1.0 / 6.0, Real::asin), one() / below(x).sqrt(), x.clone() / (below(x) * below(x).sqrt())],
            |x| x.abs() <= 1.0,
            [None, None],
            8.0,
        ),
        P::Un(Un::Acos) => Smooth(
            |x| [x.acos(), -(one() / below(x).sqrt()), -(x.clone() / (below(x) * below(x).sqrt()))],
            |x| x.abs() <= 1.0,
            [None, None],
            8.0,
        ),
        P::Un(Un::Atan) => Smooth(
            |x| {
                let d = one() / (one() + x.squared());
                [odd(x, -1.0 / 3.0, Real::atan), d.clone(), -(two() * x.clone() * d.squared())]
            },
            any,
            both(0.0, 0.0),
            6.0,
        ),
        P::Un(Un::Sinh) => Smooth(
            |x| [odd(x, 1.0 / 6.0, Real::sinh), x.cosh(), odd(x, 1.0 / 6.0, Real::sinh)],
            any,
            both(inf, inf),
            4.0,
        ),
        P::Un(Un::Cosh) => Smooth(|x| [x.cosh(), odd(x, 1.0 / 6.0, Real::sinh), x.cosh()], any, both(-inf, inf), 4.0),
        P::Un(Un::Tanh) => Smooth(
            |x| [odd(x, -1.0 / 3.0, Real::tanh), sech2(x), -(two() * odd(x, -1.0 / 3.0, Real::tanh) * sech2(x))],
            any,
            both(0.0, 0.0),
            6.0,
        ),
        P::Un(Un::Asinh) => Smooth(
            |x| {
                let r = (one() + x.squared()).sqrt();
                let value = |x: &Real| {
                    let positive = |x: &Real| (x.clone() + (one() + x.squared()).sqrt()).ln();
                    if x.is_negative() { -positive(&-x.clone()) } else { positive(x) }
                };
                [odd(x, -1.0 / 6.0, value), one() / r.clone(), -(x.clone() / (r.squared() * r))]
            },
            any,
            both(0.0, 0.0),
            6.0,
        ),
        P::Un(Un::Acosh) => Smooth(
            |x| {
                let s = (x.clone() - one()) * (x.clone() + one());
                let r = s.sqrt();
                [(x.clone() + r.clone()).ln(), one() / r.clone(), -(x.clone() / (s * r))]
            },
            |x| x > 1.0,
            [None, Some(0.0)],
            8.0,
        ),
        P::Un(Un::Atanh) => Smooth(
            |x| {
                let value = |x: &Real| ((one() + x.clone()) / (one() - x.clone())).ln() / two();
                let s = (one() - x.clone()) * (one() + x.clone());
                [odd(x, 1.0 / 3.0, value), one() / s.clone(), two() * x.clone() / s.squared()]
            },
            |x| x.abs() < 1.0,
            [None, None],
            8.0,
        ),
        P::Un(Un::Exp) => Smooth(|x| [x.exp(), x.exp(), x.exp()], any, both(0.0, inf), 2.0),
        P::Un(Un::Expm1) => Smooth(|x| [expm1(x), x.exp(), x.exp()], any, both(0.0, inf), 3.0),
        P::Un(Un::Log) => {
            Smooth(|x| [x.ln(), one() / x.clone(), -(one() / x.squared())], |x| x > 0.0, [None, Some(0.0)], 4.0)
        }
        P::Un(Un::Log1p) => Smooth(
            |x| {
                let y = one() + x.clone();
                [log1p(x), one() / y.clone(), -(one() / y.squared())]
            },
            |x| x > -1.0,
            [None, Some(0.0)],
            4.0,
        ),
        P::Un(Un::Sqrt) => Smooth(
            |x| [x.sqrt(), one() / (two() * x.sqrt()), -(one() / (Real::from(4.0) * x.clone() * x.sqrt()))],
            |x| x > 0.0,
            [None, Some(0.0)],
            4.0,
        ),
        P::Un(Un::Cbrt) => Smooth(
            |x| {
                let y = if x.is_negative() { -(-x.clone()).cbrt() } else { x.cbrt() };
                let d = one() / (Real::from(3.0) * y.squared());
                [y, d.clone(), -(two() * d / (Real::from(3.0) * x.clone()))]
            },
            |x| x != 0.0,
            both(0.0, 0.0),
            8.0,
        ),
        P::Un(Un::Sigmoid) => Smooth(
            |x| {
                let (y, z) = (logistic(x), logistic(&-x.clone()));
                [y.clone(), y.clone() * z.clone(), -(y * z * odd(&(x.clone() / two()), -1.0 / 3.0, Real::tanh))]
            },
            any,
            both(0.0, 0.0),
            6.0,
        ),
        P::Un(Un::Softplus) => Smooth(
            |x| {
                [
                    if x.is_negative() { log1p(&x.exp()) } else { x.clone() + log1p(&(-x.clone()).exp()) },
                    logistic(x),
                    logistic(x) * logistic(&-x.clone()),
                ]
            },
            any,
            both(0.0, 1.0),
            6.0,
        ),
        P::Un(Un::Erf) => Smooth(|x| [erf(x), gauss(x), -(two() * x.clone() * gauss(x))], any, both(0.0, 0.0), 2000.0),
        P::Un(Un::Erfc) => Smooth(|x| [erfc(x), -gauss(x), two() * x.clone() * gauss(x)], any, both(0.0, 0.0), 2000.0),
        P::Un(Un::Erfinv) => Smooth(
            |x| {
                let y = erfinv(x);
                let d = y.squared().exp() * Real::pi().sqrt() / two();
                [y.clone(), d.clone(), two() * y * d.squared()]
            },
            |x| x.abs() <= 1.0,
            [None, None],
            1000.0,
        ),
        P::Un(Un::Lgamma) => Smooth(log_gamma_line, |x| x > 0.0, [None, Some(inf)], 40.0),
        P::Un(Un::Digamma) => Smooth(digamma, |x| x > 0.0, [None, Some(0.0)], 40.0),
        P::Un(Un::Gamma) => Smooth(gamma, |x| x > 0.0, [None, Some(inf)], 60.0),
        P::Un(Un::Abs) => Kinked(|x| (x.abs(), if x == 0.0 { 0.0 } else { x.signum() })),
        P::Un(Un::Relu) => Kinked(|x| (x.max(0.0), f64::from(u8::from(x > 0.0)))),
        P::Un(Un::Sign) => Kinked(|x| (if x == 0.0 { x } else { x.signum() }, 0.0)),
        P::Un(Un::Floor) => Kinked(|x| (x.floor(), 0.0)),
        P::Un(Un::Ceil) => Kinked(|x| (x.ceil(), 0.0)),
        P::Un(Un::Round) => Kinked(|x| (x.round_ties_even(), 0.0)),
        P::Bin(Bin::Add) => Pair(|x, y| [x.clone() + y.clone(), one(), one(), zero(), zero(), zero()], |_, _| true),
        P::Bin(Bin::Sub) => Pair(|x, y| [x.clone() - y.clone(), one(), -one(), zero(), zero(), zero()], |_, _| true),
        P::Bin(Bin::Mul) => {
            Pair(|x, y| [x.clone() * y.clone(), y.clone(), x.clone(), zero(), one(), zero()], |_, _| true)
        }
        P::Bin(Bin::Div) => Pair(
            |x, y| {
                let (r, q) = (one() / y.clone(), x.clone() / y.clone());
                [q.clone(), r.clone(), -(q.clone() * r.clone()), zero(), -r.squared(), two() * q * r.squared()]
            },
            |_, y| y.abs() > 1e-308,
        ),
        P::Bin(Bin::Pow) => Pair(power, |x, y| x > 1e-308 && y.abs() < 1e6 && ((y.abs() + 2.0) * x.ln()).abs() < 700.0),
        P::Bin(Bin::Atan2) => Pair(
            |left, right| {
                let squares = left.squared() + right.squared();
                let angle = if right.is_negative() {
                    if left.is_negative() {
                        odd_atan(left, right) - Real::pi()
                    } else {
                        odd_atan(left, right) + Real::pi()
                    }
                } else {
                    odd_atan(left, right)
                };
                let xy = two() * left.clone() * right.clone() / squares.squared();
                [
                    angle,
                    right.clone() / squares.clone(),
                    -(left.clone() / squares.clone()),
                    -xy.clone(),
                    (left.squared() - right.squared()) / squares.squared(),
                    xy,
                ]
            },
            |x, y| y > 0.0 || y < 0.0 && x != 0.0,
        ),
        P::Bin(Bin::Hypot) => Pair(
            |x, y| {
                let r = (x.squared() + y.squared()).sqrt();
                let (a, b) = (x.clone() / r.clone(), y.clone() / r.clone());
                [
                    r.clone(),
                    a.clone(),
                    b.clone(),
                    b.squared() / r.clone(),
                    -(a.clone() * b / r.clone()),
                    a.clone() * a / r,
                ]
            },
            |x, y| x.abs().max(y.abs()) > 1e-300,
        ),
        P::Bin(Bin::Rem) => KinkedPair(|x, y| {
            let r = x % y;
            (if r != 0.0 && (r < 0.0) != (y < 0.0) { r + y } else { r }, 1.0, -(x / y).floor())
        }),
        P::Bin(Bin::Min) => KinkedPair(|x, y| if x <= y { (x, 1.0, 0.0) } else { (y, 0.0, 1.0) }),
        P::Bin(Bin::Max) => KinkedPair(|x, y| if x >= y { (x, 1.0, 0.0) } else { (y, 0.0, 1.0) }),
        P::Number(NumberFn::Clamp | NumberFn::PowInt)
        | P::Reduction(
            ReductionFn::MatMul
            | ReductionFn::Sum
            | ReductionFn::Prod
            | ReductionFn::Mean
            | ReductionFn::Maximum
            | ReductionFn::Minimum
            | ReductionFn::Cumsum
            | ReductionFn::Cumprod
            | ReductionFn::Dot
            | ReductionFn::Outer
            | ReductionFn::Norm,
        )
        | P::Array(ArrayFn::Append | ArrayFn::Scatter | ArrayFn::ScatterWithin | ArrayFn::Gather | ArrayFn::Linspace)
        | P::HigherOrder(
            HigherOrderFn::Reduce | HigherOrderFn::Scan | HigherOrderFn::ScanExclusive | HigherOrderFn::ReduceByIndex,
        )
        | P::Linalg(_) => Zeros,
        // These move numbers, or apply functions to them.
        P::HigherOrder(
            HigherOrderFn::Map
            | HigherOrderFn::Map2
            | HigherOrderFn::Map3
            | HigherOrderFn::Along
            | HigherOrderFn::Fold
            | HigherOrderFn::Foldr
            | HigherOrderFn::Invertible,
        )
        | P::Array(
            ArrayFn::Put
            | ArrayFn::Zip
            | ArrayFn::Zip3
            | ArrayFn::Unzip
            | ArrayFn::Unzip3
            | ArrayFn::Compress
            | ArrayFn::Replicate
            | ArrayFn::Rotate
            | ArrayFn::Reverse
            | ArrayFn::Flatten
            | ArrayFn::Reshape
            | ArrayFn::Stack
            | ArrayFn::Split
            | ArrayFn::Take
            | ArrayFn::Drop
            | ArrayFn::Where
            | ArrayFn::Diag
            | ArrayFn::TransposeArray,
        )
        | P::General(GeneralFn::Fst | GeneralFn::Snd | GeneralFn::Id)
        | P::Derivative(
            DerivativeFn::Ravel
            | DerivativeFn::Unravel
            | DerivativeFn::StopGrad
            | DerivativeFn::Checkpoint
            | DerivativeFn::CustomJvp
            | DerivativeFn::CustomVjp,
        )
        | P::Number(NumberFn::ToFloat | NumberFn::ToF32) => Nothing,
        // Only derivatives contain them.
        P::Un(Un::Step | Un::Sech2 | Un::Polygamma(_) | Un::Powi(_)) | P::Bin(Bin::LeIndicator | Bin::ScaleTangent) => {
            Nothing
        }
        // Discrete results, or no numbers.
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
        | P::Array(
            ArrayFn::Iota
            | ArrayFn::Zeros
            | ArrayFn::Ones
            | ArrayFn::Full
            | ArrayFn::Arange
            | ArrayFn::Len
            | ArrayFn::Shape
            | ArrayFn::Rank
            | ArrayFn::Range
            | ArrayFn::Eye,
        )
        | P::Reduction(
            ReductionFn::Argsort | ReductionFn::Argmin | ReductionFn::Argmax | ReductionFn::Any | ReductionFn::All,
        )
        | P::Random(_)
        | P::Io(_)
        | P::Comm(_)
        | P::Rows(_)
        | P::Text(_)
        | P::General(GeneralFn::Assert | GeneralFn::Error | GeneralFn::Zero) => Nothing,
        // Derivative operators.
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
        ) => Nothing,
    }
}

/// At 1 and 2 the logarithm of Γ is 0, and the reference next to it.
fn log_gamma_line(x: &Real) -> [Real; 3] {
    let [l, d, dd] = log_gamma(x);
    [if l.to_f64().abs() < 1e-50 { zero() } else { l }, d, dd]
}

fn odd_atan(x: &Real, y: &Real) -> Real {
    odd(&(x.clone() / y.clone()), -1.0 / 3.0, Real::atan)
}

fn power(x: &Real, y: &Real) -> [Real; 6] {
    let (z, l, r) = (x.powf(y), x.ln(), one() / x.clone());
    let slope = y.clone() * z.clone() * r.clone();
    [
        z.clone(),
        slope.clone(),
        z.clone() * l.clone(),
        slope.clone() * (y.clone() - one()) * r.clone(),
        z.clone() * r * (one() + y.clone() * l.clone()),
        z * l.squared(),
    ]
}

/// Where functions of a number are evaluated, besides negatives.
const POINTS: [f64; 34] = [
    0.0,
    5e-324,
    1e-310,
    f64::MIN_POSITIVE,
    1e-300,
    1e-200,
    1e-155,
    1e-100,
    1e-17,
    1e-8,
    0.3,
    0.5,
    0.9999999999999999,
    1.0,
    1.0000000000000002,
    1.4616321449683622,
    1.5,
    2.0,
    3.7,
    6.5,
    10.0,
    20.0,
    23.5,
    40.0,
    300.0,
    372.0,
    700.0,
    745.0,
    1e8,
    1e16,
    1e100,
    1e200,
    1e300,
    f64::MAX,
];

/// Where functions of two numbers are.
const PAIRS: [f64; 14] = [0.0, 5e-324, 1e-310, 1e-200, 1e-160, 1e-50, 0.5, 1.0, 2.0, 3.0, 1e50, 1e155, 1e200, 1e300];

/// Whether products of four such numbers are floats: then second derivatives are right.
fn moderate(x: f64) -> bool {
    x == 0.0 || (1e-70..1e70).contains(&x.abs())
}

fn with_negatives(points: &[f64]) -> Vec<f64> {
    points.iter().flat_map(|x| [*x, -*x]).collect()
}

/// How a program is run.
const MODES: [(bool, bool); 3] = [(true, true), (true, false), (false, true)];

/// The numbers of the echo of `text`, on transformed code or tapes, as native code or not.
fn numbers(text: &str, (main, jit): (bool, bool)) -> Vec<f64> {
    let (mut s, _) = session();
    s.set_compiled_ad(main);
    s.set_jit(jit);
    let echo = adl_tests::echo_in(&mut s, text);
    let value = echo.split(" : ").next().unwrap_or_default().to_owned();
    let all: Vec<&str> = value.split(|c: char| "[](), \n".contains(c)).filter(|t| !t.is_empty()).collect();
    all.iter().map(|t| t.parse().unwrap_or_else(|_| panic!("{text}\n{echo}"))).collect()
}

fn list(xs: &[f64]) -> String {
    let all: Vec<String> = xs
        .iter()
        .map(|x| if x.is_infinite() { format!("({}inf)", if *x < 0.0 { "-" } else { "" }) } else { format!("({x:e})") })
        .collect();
    format!("[{}]", all.join(", "))
}

/// Whether a result is as near to the reference as `ulps` allow; what lies below the normal numbers may be off by some of the smallest.
fn near(have: f64, want: f64, ulps: f64) -> bool {
    if have == want || have.is_nan() && want.is_nan() {
        return true;
    }
    if want.is_infinite() || have.is_infinite() {
        // Beyond or next to the largest number.
        return have.signum() == want.signum() && have.abs().min(want.abs()) > 1e308;
    }
    (have - want).abs() <= ulps * f64::EPSILON * want.abs() + ulps * 5e-324
}

fn checked(wrong: &mut Vec<String>, what: &str, have: f64, want: f64, ulps: f64) {
    if !near(have, want, ulps) {
        wrong.push(format!("{what}: {have:e} instead of {want:e}"));
    }
}

/// Value and two derivatives of a function of a number at all points: together, and one by one.
fn line(name: &str, xs: &[f64], mode: (bool, bool)) -> [Vec<f64>; 2] {
    let head = format!("let f (x : Float) : Float = {name} x\nlet g = grad f\nlet h = grad g\nlet xs = {}\n", list(xs));
    let at_once = numbers(&format!("{head}(map f xs, map g xs, map h xs)"), mode);
    let ones: Vec<String> = ["f", "g", "h"].iter().map(|f| format!("(for i -> {f} xs[i])")).collect();
    [at_once, numbers(&format!("{head}({})", ones.join(", ")), mode)]
}

fn name_of(p: Prim) -> String {
    let name = p.name();
    if name.chars().all(char::is_alphanumeric) { name.to_owned() } else { format!("({name})") }
}

#[test]
fn functions_of_a_number_are_right_at_extremes() {
    let mut wrong = Vec::new();
    for prim in Prim::ALL {
        let Smooth(exact, defined, limits, ulps) = reference(*prim) else { continue };
        let xs: Vec<f64> = with_negatives(&POINTS).into_iter().filter(|x| defined(*x)).collect();
        let want: Vec<[f64; 3]> = xs.iter().map(|x| exact(&Real::from(*x)).map(|r| r.to_f64())).collect();
        for mode in MODES {
            for (way, have) in line(prim.name(), &xs, mode).iter().enumerate() {
                for (i, x) in xs.iter().enumerate() {
                    let [y, d, dd] = want[i];
                    let at = |k: usize| {
                        (format!("{mode:?} {way} derivative {k} of {} at {x:e}", prim.name()), have[k * xs.len() + i])
                    };
                    let ((value, a), (first, b), (second, c)) = (at(0), at(1), at(2));
                    checked(&mut wrong, &value, a, y, ulps);
                    checked(&mut wrong, &first, b, d, ulps);
                    // Where a second derivative passes through 0, rounding of the first counts.
                    let near = (c - dd).abs() <= ulps * f64::EPSILON * d.abs() + 1e-299;
                    if !near {
                        checked(&mut wrong, &second, c, dd, ulps);
                    }
                }
            }
            for (x, limit) in [f64::NEG_INFINITY, f64::INFINITY].into_iter().zip(limits) {
                let Some(limit) = limit else { continue };
                let have = numbers(
                    &format!("grad (fun (x : Float) -> {} x) {}", prim.name(), list(&[x]).trim_matches(['[', ']'])),
                    mode,
                );
                checked(&mut wrong, &format!("{mode:?} slope of {} at {x}", prim.name()), have[0], limit, 0.0);
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn functions_with_kinks_are_as_documented_at_extremes() {
    let mut wrong = Vec::new();
    for prim in Prim::ALL {
        let Kinked(exact) = reference(*prim) else { continue };
        let mut xs = with_negatives(&POINTS);
        xs.extend([2.5, -2.5, f64::INFINITY, f64::NEG_INFINITY]);
        let name = if *prim == Prim::Un(Un::Neg) { "(fun v -> -v)" } else { prim.name() };
        for mode in MODES {
            for (way, have) in line(name, &xs, mode).iter().enumerate() {
                for (i, x) in xs.iter().enumerate() {
                    let (y, d) = exact(*x);
                    for (k, want) in [y, d, 0.0].into_iter().enumerate() {
                        checked(
                            &mut wrong,
                            &format!("{mode:?} {way} derivative {k} of {} at {x:e}", prim.name()),
                            have[k * xs.len() + i],
                            want,
                            0.0,
                        );
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// Value, gradient and Hessian of a function of two numbers at all pairs.
fn plane(p: Prim, xs: &[f64], ys: &[f64], mode: (bool, bool)) -> Vec<f64> {
    let text = format!(
        "let f (v : [2]Float) : Float = {} v[0] v[1]\nlet xs = {}\nlet ys = {}\n\
         (map2 (fun x y -> f [x, y]) xs ys, map2 (fun x y -> grad f [x, y]) xs ys, map2 (fun x y -> hessian f [x, y]) xs ys)",
        name_of(p),
        list(xs),
        list(ys)
    );
    numbers(&text, mode)
}

#[test]
fn functions_of_two_numbers_are_right_at_extremes() {
    let mut wrong = Vec::new();
    let points = with_negatives(&PAIRS);
    for prim in Prim::ALL {
        let (smooth, kinked) = match reference(*prim) {
            Pair(f, defined) => (Some((f, defined)), None),
            KinkedPair(f) => (None, Some(f)),
            _ => continue,
        };
        let all = points.iter().flat_map(|x| points.iter().map(|y| (*x, *y)));
        let (xs, ys): (Vec<f64>, Vec<f64>) =
            all.filter(|(x, y)| smooth.is_none_or(|(_, defined)| defined(*x, *y))).unzip();
        let count = xs.len();
        for mode in MODES {
            let have = plane(*prim, &xs, &ys, mode);
            for index in 0..count {
                let (left, right) = (xs[index], ys[index]);
                let want = match (smooth, kinked) {
                    (Some((f, _)), _) => f(&Real::from(left), &Real::from(right)).map(|r| r.to_f64()),
                    (_, Some(f)) => {
                        let (z, a, b) = f(left, right);
                        [z, a, b, 0.0, 0.0, 0.0]
                    }
                    _ => continue,
                };
                let (g, hessian) = (count + 2 * index, 3 * count + 4 * index);
                let got = [have[index], have[g], have[g + 1], have[hessian], have[hessian + 1], have[hessian + 3]];
                let most = if moderate(left) && moderate(right) { 6 } else { 3 };
                // Where terms of a second derivative cancel, rounding of the largest one counts.
                let rounding = 32.0 * f64::EPSILON * want[3..].iter().fold(0.0f64, |m, d| m.max(d.abs()));
                for (k, what) in ["value", "x", "y", "xx", "xy", "yy"].iter().enumerate().take(most) {
                    if k > 2 && (got[k] - want[k]).abs() <= rounding {
                        continue;
                    }
                    checked(
                        &mut wrong,
                        &format!("{mode:?} {what} of {} at {left:e}, {right:e}", prim.name()),
                        got[k],
                        want[k],
                        32.0,
                    );
                }
                if most == 6 && (have[hessian + 2] - got[4]).abs() > rounding {
                    checked(
                        &mut wrong,
                        &format!("{mode:?} symmetry of {} at {left:e}, {right:e}", prim.name()),
                        have[hessian + 2],
                        got[4],
                        32.0,
                    );
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong\n{}", wrong.len(), wrong.join("\n"));
}

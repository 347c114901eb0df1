//! Numbers of the reference: nested dual numbers. Each derivative has its own tag, so that the perturbations of nested
//! derivatives are distinguished.
//!
//! All derivative rules are implemented independently of the engine. As in adl, a zero tangent is not multiplied.

use std::rc::Rc;

/// A number, or a dual number for the derivative with a tag.
#[derive(Clone, Debug)]
pub enum Num {
    /// Without tangents.
    Flat(f64),
    /// A value and a tangent, whose own tags are smaller.
    Dual(u32, Rc<(Num, Num)>),
}

use Num::{Dual, Flat};

/// Functions of one number.
pub const UNARY: [&str; 22] = [
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "expm1", "log", "log1p", "sqrt",
    "cbrt", "abs", "sigmoid", "relu", "softplus", "erf", "-", "id",
];

/// Functions of two numbers.
pub const BINARY: [&str; 9] = ["+", "-", "*", "/", "^", "min", "max", "atan2", "hypot"];

impl Num {
    /// The primal value.
    pub fn value(&self) -> f64 {
        match self {
            Flat(x) => *x,
            Dual(_, p) => p.0.value(),
        }
    }

    /// The largest magnitude of all components.
    pub fn magnitude(&self) -> f64 {
        match self {
            Flat(x) if x.is_nan() => f64::INFINITY,
            Flat(x) => x.abs(),
            Dual(_, p) => p.0.magnitude().max(p.1.magnitude()),
        }
    }

    fn tag(&self) -> u32 {
        if let Dual(t, _) = self { *t } else { 0 }
    }

    /// The value and the tangent for a tag.
    pub fn parts(&self, tag: u32) -> (Num, Num) {
        match self {
            Dual(t, p) if *t == tag => (p.0.clone(), p.1.clone()),
            _ => (self.clone(), Flat(0.0)),
        }
    }

    /// A number with a tangent.
    pub fn dual(tag: u32, value: Num, tangent: Num) -> Num {
        Dual(tag, Rc::new((value, tangent)))
    }

    fn is_zero(&self) -> bool {
        match self {
            Flat(x) => *x == 0.0,
            Dual(_, p) => p.0.is_zero() && p.1.is_zero(),
        }
    }

    /// A tangent times a coefficient. If the tangent is zero and the coefficient is not finite, reverse mode need not
    /// give zero. Such programs have no reference answer.
    fn scale(&self, by: impl FnOnce() -> Num) -> Num {
        match self.is_zero() {
            false => binary("*", self, &by()),
            true if by().magnitude().is_finite() => Flat(0.0),
            true => Flat(f64::NAN),
        }
    }
}

/// The value of a function of one number.
pub fn flat_unary(f: &str, input: f64) -> f64 {
    match f {
        "-" => -input,
        "sin" => input.sin(),
        "cos" => input.cos(),
        "tan" => input.tan(),
        "asin" => input.asin(),
        "acos" => input.acos(),
        "atan" => input.atan(),
        "sinh" => input.sinh(),
        "cosh" => input.cosh(),
        "tanh" => input.tanh(),
        "exp" => input.exp(),
        "expm1" => input.exp_m1(),
        "log" => input.ln(),
        "log1p" => input.ln_1p(),
        "sqrt" => input.sqrt(),
        "cbrt" => input.cbrt(),
        "abs" => input.abs(),
        "sigmoid" => 1.0 / (1.0 + (-input).exp()),
        "relu" => input.max(0.0),
        "softplus" => input.max(0.0) + (-input.abs()).exp().ln_1p(),
        "erf" => erf(input),
        "id" => input,
        _ => f64::NAN,
    }
}

/// The error function by its series (up to 3) or by a continued fraction, independent of rational approximations.
fn erf(input: f64) -> f64 {
    let magnitude = input.abs();
    let value = if magnitude < 3.0 {
        let (mut term, mut sum, mut n) = (magnitude, magnitude, 0.0);
        while term.abs() > 1e-18 * sum.abs() && n < 200.0 {
            n += 1.0;
            term *= 2.0 * magnitude * magnitude / (2.0 * n + 1.0);
            sum += term;
        }
        2.0 / std::f64::consts::PI.sqrt() * (-magnitude * magnitude).exp() * sum
    } else {
        let tail = (1..60).rev().fold(0.0, |t, k| f64::from(k) / 2.0 / (magnitude + t));
        1.0 - (-magnitude * magnitude).exp() / std::f64::consts::PI.sqrt() / (magnitude + tail)
    };
    value.copysign(input)
}

fn constant(x: f64) -> Num {
    Flat(x)
}

/// The derivative of a function at a number.
fn slope(f: &str, input: &Num) -> Num {
    let one = constant(1.0);
    let square = |x: &Num| binary("*", x, x);
    let over = |x: &Num| binary("/", &constant(1.0), x);
    match f {
        "-" => constant(-1.0),
        "id" => one,
        "sin" => unary("cos", input),
        "cos" => unary("-", &unary("sin", input)),
        "tan" => binary("+", &one, &square(&unary("tan", input))),
        "asin" => over(&unary("sqrt", &binary("-", &one, &square(input)))),
        "acos" => unary("-", &slope("asin", input)),
        "atan" => over(&binary("+", &one, &square(input))),
        "sinh" => unary("cosh", input),
        "cosh" => unary("sinh", input),
        "tanh" => over(&square(&unary("cosh", input))),
        "exp" | "expm1" => unary("exp", input),
        "log" => over(input),
        "log1p" => over(&binary("+", &one, input)),
        "sqrt" => binary("/", &constant(0.5), &unary("sqrt", input)),
        "cbrt" => over(&binary("*", &constant(3.0), &square(&unary("cbrt", input)))),
        "abs" => constant(if input.value() == 0.0 { 0.0 } else { input.value().signum() }),
        "relu" => constant(f64::from(input.value() > 0.0)),
        "sigmoid" => {
            let s = unary("sigmoid", input);
            binary("*", &s, &binary("-", &one, &s))
        }
        "softplus" => unary("sigmoid", input),
        "erf" => binary("*", &constant(2.0 / std::f64::consts::PI.sqrt()), &unary("exp", &unary("-", &square(input)))),
        _ => constant(f64::NAN),
    }
}

/// A function of one number.
pub fn unary(f: &str, x: &Num) -> Num {
    match x {
        Flat(v) => Flat(flat_unary(f, *v)),
        Dual(tag, p) => Num::dual(*tag, unary(f, &p.0), p.1.scale(|| slope(f, &p.0))),
    }
}

/// The value of a function of two numbers.
pub fn flat_binary(f: &str, left: f64, right: f64) -> f64 {
    match f {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        "/" => left / right,
        "^" => left.powf(right),
        "min" => {
            if right < left {
                right
            } else {
                left
            }
        }
        "max" => {
            if right > left {
                right
            } else {
                left
            }
        }
        // On the negative half of the axis the sign of a zero selects -π or π, and sums do not keep that sign.
        "atan2" if left == 0.0 && right.is_sign_negative() => f64::NAN,
        "atan2" => left.atan2(right),
        "hypot" => left.hypot(right),
        _ => f64::NAN,
    }
}

/// A partial derivative of a function of two numbers; only the requested one is computed.
fn slopes(f: &str, left: &Num, right: &Num, first: bool) -> Num {
    let first_wins = if f == "min" { left.value() <= right.value() } else { left.value() >= right.value() };
    match (f, first) {
        ("+", _) | ("-", true) => constant(1.0),
        ("-", false) => constant(-1.0),
        ("*", true) => right.clone(),
        ("*", false) => left.clone(),
        ("/", true) => binary("/", &constant(1.0), right),
        ("/", false) => unary("-", &binary("/", &binary("/", left, right), right)),
        ("^", true) => binary("*", right, &binary("^", left, &binary("-", right, &constant(1.0)))),
        ("^", false) => binary("*", &unary("log", left), &binary("^", left, right)),
        ("min" | "max", _) => constant(f64::from(first_wins == first)),
        ("atan2", _) => {
            let r = binary("+", &binary("*", left, left), &binary("*", right, right));
            if first { binary("/", right, &r) } else { unary("-", &binary("/", left, &r)) }
        }
        ("hypot", _) => binary("/", if first { left } else { right }, &binary("hypot", left, right)),
        _ => constant(f64::NAN),
    }
}

/// A function of two numbers.
pub fn binary(f: &str, x: &Num, y: &Num) -> Num {
    let tag = x.tag().max(y.tag());
    if let (Flat(a), Flat(b)) = (x, y) {
        return Flat(flat_binary(f, *a, *b));
    }
    let ((xv, xt), (yv, yt)) = (x.parts(tag), y.parts(tag));
    let value = binary(f, &xv, &yv);
    let active = |n: &Num| n.tag() == tag;
    let a = if active(x) { xt.scale(|| slopes(f, &xv, &yv, true)) } else { Flat(0.0) };
    let b = if active(y) { yt.scale(|| slopes(f, &xv, &yv, false)) } else { Flat(0.0) };
    let tangent = match (a.is_zero(), b.is_zero()) {
        (true, _) => b,
        (_, true) => a,
        _ => binary("+", &a, &b),
    };
    Num::dual(tag, value, tangent)
}

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

fn flat_unary(f: &str, x: f64) -> f64 {
    match f {
        "-" => -x,
        "sin" => x.sin(),
        "cos" => x.cos(),
        "tan" => x.tan(),
        "asin" => x.asin(),
        "acos" => x.acos(),
        "atan" => x.atan(),
        "sinh" => x.sinh(),
        "cosh" => x.cosh(),
        "tanh" => x.tanh(),
        "exp" => x.exp(),
        "expm1" => x.exp_m1(),
        "log" => x.ln(),
        "log1p" => x.ln_1p(),
        "sqrt" => x.sqrt(),
        "cbrt" => x.cbrt(),
        "abs" => x.abs(),
        "sigmoid" => 1.0 / (1.0 + (-x).exp()),
        "relu" => x.max(0.0),
        "softplus" => x.max(0.0) + (-x.abs()).exp().ln_1p(),
        "erf" => erf(x),
        "id" => x,
        _ => f64::NAN,
    }
}

/// The error function by its series (up to 3) or by a continued fraction, independent of rational approximations.
fn erf(x: f64) -> f64 {
    let a = x.abs();
    let value = if a < 3.0 {
        let (mut term, mut sum, mut n) = (a, a, 0.0);
        while term.abs() > 1e-18 * sum.abs() && n < 200.0 {
            n += 1.0;
            term *= 2.0 * a * a / (2.0 * n + 1.0);
            sum += term;
        }
        2.0 / std::f64::consts::PI.sqrt() * (-a * a).exp() * sum
    } else {
        let tail = (1..60).rev().fold(0.0, |t, k| f64::from(k) / 2.0 / (a + t));
        1.0 - (-a * a).exp() / std::f64::consts::PI.sqrt() / (a + tail)
    };
    value.copysign(x)
}

fn constant(x: f64) -> Num {
    Flat(x)
}

/// The derivative of a function at a number.
fn slope(f: &str, x: &Num) -> Num {
    let one = constant(1.0);
    let square = |x: &Num| binary("*", x, x);
    let over = |x: &Num| binary("/", &constant(1.0), x);
    match f {
        "-" => constant(-1.0),
        "id" => one,
        "sin" => unary("cos", x),
        "cos" => unary("-", &unary("sin", x)),
        "tan" => binary("+", &one, &square(&unary("tan", x))),
        "asin" => over(&unary("sqrt", &binary("-", &one, &square(x)))),
        "acos" => unary("-", &slope("asin", x)),
        "atan" => over(&binary("+", &one, &square(x))),
        "sinh" => unary("cosh", x),
        "cosh" => unary("sinh", x),
        "tanh" => over(&square(&unary("cosh", x))),
        "exp" | "expm1" => unary("exp", x),
        "log" => over(x),
        "log1p" => over(&binary("+", &one, x)),
        "sqrt" => binary("/", &constant(0.5), &unary("sqrt", x)),
        "cbrt" => over(&binary("*", &constant(3.0), &square(&unary("cbrt", x)))),
        "abs" => constant(if x.value() == 0.0 { 0.0 } else { x.value().signum() }),
        "relu" => constant(f64::from(x.value() > 0.0)),
        "sigmoid" => {
            let s = unary("sigmoid", x);
            binary("*", &s, &binary("-", &one, &s))
        }
        "softplus" => unary("sigmoid", x),
        "erf" => binary("*", &constant(2.0 / std::f64::consts::PI.sqrt()), &unary("exp", &unary("-", &square(x)))),
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

fn flat_binary(f: &str, x: f64, y: f64) -> f64 {
    match f {
        "+" => x + y,
        "-" => x - y,
        "*" => x * y,
        "/" => x / y,
        "^" => x.powf(y),
        "min" => {
            if y < x {
                y
            } else {
                x
            }
        }
        "max" => {
            if y > x {
                y
            } else {
                x
            }
        }
        // On the negative half of the axis the sign of a zero selects -π or π, and sums do not keep that sign.
        "atan2" if x == 0.0 && y.is_sign_negative() => f64::NAN,
        "atan2" => x.atan2(y),
        "hypot" => x.hypot(y),
        _ => f64::NAN,
    }
}

/// A partial derivative of a function of two numbers; only the requested one is computed.
fn slopes(f: &str, x: &Num, y: &Num, first: bool) -> Num {
    let first_wins = if f == "min" { x.value() <= y.value() } else { x.value() >= y.value() };
    match (f, first) {
        ("+", _) | ("-", true) => constant(1.0),
        ("-", false) => constant(-1.0),
        ("*", true) => y.clone(),
        ("*", false) => x.clone(),
        ("/", true) => binary("/", &constant(1.0), y),
        ("/", false) => unary("-", &binary("/", &binary("/", x, y), y)),
        ("^", true) => binary("*", y, &binary("^", x, &binary("-", y, &constant(1.0)))),
        ("^", false) => binary("*", &unary("log", x), &binary("^", x, y)),
        ("min" | "max", _) => constant(f64::from(first_wins == first)),
        ("atan2", _) => {
            let r = binary("+", &binary("*", x, x), &binary("*", y, y));
            if first { binary("/", y, &r) } else { unary("-", &binary("/", x, &r)) }
        }
        ("hypot", _) => binary("/", if first { x } else { y }, &binary("hypot", x, y)),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares tangents with central differences of the values, for every function.
    #[test]
    fn rules_are_the_slopes_of_the_values() {
        let h = 1e-6;
        for f in UNARY {
            for x in [0.37, 0.61] {
                let d = unary(f, &Num::dual(1, Flat(x), Flat(1.0))).parts(1).1.value();
                let want = (flat_unary(f, x + h) - flat_unary(f, x - h)) / (2.0 * h);
                assert!((d - want).abs() < 1e-8 * (1.0 + want.abs()), "{f} {x}: {d} {want}");
            }
        }
        for f in BINARY {
            let (x, y) = (0.7, 1.3);
            let d = binary(f, &Num::dual(1, Flat(x), Flat(0.5)), &Num::dual(1, Flat(y), Flat(2.0))).parts(1).1.value();
            let want =
                (flat_binary(f, x + 0.5 * h, y + 2.0 * h) - flat_binary(f, x - 0.5 * h, y - 2.0 * h)) / (2.0 * h);
            assert!((d - want).abs() < 1e-8 * (1.0 + want.abs()), "{f}: {d} {want}");
        }
    }

    /// Perturbations of nested derivatives are not confused: d/dx (x * d/dy (x * y)) is 2 x.
    #[test]
    fn nested_derivatives_keep_their_tags() {
        let x = Num::dual(1, Flat(3.0), Flat(1.0));
        let inner = binary("*", &x, &Num::dual(2, Flat(5.0), Flat(1.0))).parts(2).1;
        assert_eq!(binary("*", &x, &inner).parts(1).1.value(), 6.0);
    }
}

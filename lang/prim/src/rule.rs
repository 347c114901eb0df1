//! Derivatives of scalar built-ins as text: the rules of [`crate::scalar`], applied to symbolic formulas.

use crate::prim::Prim;
use crate::row::Linearity;
use crate::scalar::{Ops, d_bin, d_un};
use crate::table::binary::Bin;
use crate::table::unary::Un;

/// A formula in the arguments `x` and `y`.
#[derive(Clone, PartialEq)]
enum Formula {
    Number(f64),
    Name(&'static str),
    Un(Un, Box<Formula>),
    Bin(Bin, Box<Formula>, Box<Formula>),
}

use Formula::Number;

/// Symbolic formulas; points at which a rule has a special value are ignored.
struct Symbolic;

impl Ops for Symbolic {
    type V = Formula;
    type E = std::convert::Infallible;

    fn constant(&mut self, x: f64, _like: &Formula) -> Formula {
        Number(x)
    }

    fn un(&mut self, op: Un, x: &Formula) -> Result<Formula, Self::E> {
        Ok(match (op, x) {
            (_, Number(x)) => Number(op.eval(*x)),
            (Un::Neg, Formula::Un(Un::Neg, x)) => (**x).clone(),
            _ => Formula::Un(op, Box::new(x.clone())),
        })
    }

    fn bin(&mut self, op: Bin, left: &Formula, right: &Formula) -> Result<Formula, Self::E> {
        let (zero, one) = (Number(0.0), Number(1.0));
        Ok(match (op, left, right) {
            (_, Number(a), Number(b)) => Number(op.eval(*a, *b)),
            (Bin::LeIndicator, _, Number(_)) | (Bin::LeIndicator, Number(_), _) => zero,
            (Bin::Max, x, Number(least)) if *least < 1e-300 => x.clone(),
            (Bin::Mul | Bin::ScaleTangent, x, y) if *x == zero || *y == zero => zero,
            (Bin::Mul | Bin::ScaleTangent, x, y) if *y == one => x.clone(),
            (Bin::Mul | Bin::ScaleTangent, x, y) if *x == one => y.clone(),
            (Bin::Mul | Bin::ScaleTangent, x, y) if x == y => Formula::Un(Un::Powi(2), Box::new(x.clone())),
            (Bin::Mul | Bin::ScaleTangent, x, y @ Number(_)) => {
                Formula::Bin(Bin::Mul, Box::new(y.clone()), Box::new(x.clone()))
            }
            (Bin::ScaleTangent, x, y) => Formula::Bin(Bin::Mul, Box::new(x.clone()), Box::new(y.clone())),
            (Bin::Add, x, y) if *x == zero => y.clone(),
            (Bin::Add | Bin::Sub, x, y) if *y == zero => x.clone(),
            _ => Formula::Bin(op, Box::new(left.clone()), Box::new(right.clone())),
        })
    }
}

/// Precedence levels of formulas.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Sum,
    Product,
    Minus,
    Power,
    Call,
    Atom,
}

fn infix(op: Bin) -> Option<(&'static str, Precedence)> {
    Some(match op {
        Bin::Add => ("+", Precedence::Sum),
        Bin::Sub => ("-", Precedence::Sum),
        Bin::Mul | Bin::ScaleTangent => ("*", Precedence::Product),
        Bin::Div => ("/", Precedence::Product),
        Bin::IntDiv => ("//", Precedence::Product),
        Bin::Rem => ("%", Precedence::Product),
        Bin::Pow => ("^", Precedence::Power),
        Bin::Atan2 | Bin::Hypot | Bin::Min | Bin::Max | Bin::LeIndicator => return None,
    })
}

impl Formula {
    /// The formula as text, in parentheses if it binds less tightly than its context `around`.
    fn text(&self, around: Precedence) -> String {
        let (text, level) = self.parts();
        if level < around { format!("({text})") } else { text }
    }

    fn parts(&self) -> (String, Precedence) {
        match self {
            Number(x) if *x == std::f64::consts::FRAC_2_SQRT_PI => ("2 / sqrt pi".into(), Precedence::Product),
            Number(x) if *x == -std::f64::consts::FRAC_2_SQRT_PI => ("-2 / sqrt pi".into(), Precedence::Product),
            Number(x) => (format!("{x}"), if *x < 0.0 { Precedence::Minus } else { Precedence::Atom }),
            Formula::Name(n) => ((*n).into(), Precedence::Atom),
            Formula::Un(op, x) => match op {
                Un::Neg => (format!("-{}", x.text(Precedence::Power)), Precedence::Minus),
                Un::Powi(n) => (format!("{} ^ {n}", x.text(Precedence::Call)), Precedence::Power),
                Un::Sech2 => (format!("1 / cosh {} ^ 2", x.text(Precedence::Atom)), Precedence::Product),
                Un::Step => (format!("(1 where {} > 0, else 0)", x.text(Precedence::Sum)), Precedence::Atom),
                Un::Polygamma(n) => (format!("polygamma {n} {}", x.text(Precedence::Atom)), Precedence::Call),
                _ => (format!("{} {}", op.word(), x.text(Precedence::Atom)), Precedence::Call),
            },
            Formula::Bin(Bin::Sub, one, step)
                if **one == Number(1.0)
                    && let Formula::Bin(Bin::LeIndicator, x, y) = &**step =>
            {
                (
                    format!("(1 where {} > {}, else 0)", x.text(Precedence::Sum), y.text(Precedence::Sum)),
                    Precedence::Atom,
                )
            }
            Formula::Bin(op, x, y) => match infix(*op) {
                // Operators of one level associate to the left, so the left operand needs no parentheses.
                Some((sign, level)) => (format!("{} {sign} {}", x.text(level), y.text(above(level))), level),
                None if *op == Bin::LeIndicator => (
                    format!("(1 where {} <= {}, else 0)", x.text(Precedence::Sum), y.text(Precedence::Sum)),
                    Precedence::Atom,
                ),
                None => (
                    format!("{} {} {}", op.row().name, x.text(Precedence::Atom), y.text(Precedence::Atom)),
                    Precedence::Call,
                ),
            },
        }
    }
}

fn above(level: Precedence) -> Precedence {
    if level == Precedence::Sum { Precedence::Product } else { Precedence::Minus }
}

/// The derivative of a built-in as a sentence; `None` if its documentation already states it.
pub fn derivative(prim: Prim) -> Option<String> {
    let (first, second) = (Formula::Name("x"), Formula::Name("y"));
    let text = |f: Formula| f.text(Precedence::Sum);
    if let Prim::Un(op) = prim
        && op != Un::Neg
    {
        let Ok(d) = d_un(&mut Symbolic, op, &first, &Formula::Un(op, Box::new(first.clone())));
        return Some(format!("Derivative of `{} x`: `{}`.", prim.name(), text(d)));
    }
    if let Prim::Bin(op) = prim
        && !matches!(op, Bin::Add | Bin::Sub)
    {
        let Ok((dx, dy)) = d_bin(
            &mut Symbolic,
            op,
            &first,
            &second,
            &Formula::Bin(op, Box::new(first.clone()), Box::new(second.clone())),
        );
        let call = Formula::Bin(op, Box::new(first), Box::new(second)).text(Precedence::Sum);
        return Some(format!("Derivatives of `{call}`: in x `{}`, in y `{}`.", text(dx), text(dy)));
    }
    linear(prim.row().linearity, prim.row().arity)
}

/// The derivative as implied by linearity.
fn linear(l: Linearity, arity: u8) -> Option<String> {
    let place = |n: u8| ["first", "second", "third", "fourth"].get(usize::from(n)).copied();
    Some(match l {
        Linearity::None | Linearity::Folded(_) => return None,
        Linearity::In(&[0]) if arity == 1 => "Linear: its derivative is itself, applied to the tangent.".into(),
        Linearity::Joint => "Linear: its derivative is itself, applied to the tangents.".into(),
        Linearity::In(&[one]) => format!("Linear in its {} argument: the derivative there is itself, applied to the tangent.", place(one)?),
        Linearity::In(_) => return None,
        Linearity::Bilinear => "Linear in each argument: the derivative is the sum of both, each with one tangent in the place of its argument.".into(),
        Linearity::Mapped => "The derivative maps that of the function.".into(),
    })
}

//! Types of operations on operands of known types. `None` is an unknown type, after an error or where nothing is
//! annotated.

use super::tree::{At, Ty};

/// Types to which no rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch;

/// The type of an operation, or an error.
pub type Typed = Result<Ty, Mismatch>;

/// The common extent of two.
fn extent(a: Option<usize>, b: Option<usize>) -> Result<Option<usize>, Mismatch> {
    match (a, b) {
        (Some(x), Some(y)) if x != y => Err(Mismatch),
        (x, y) => Ok(x.or(y)),
    }
}

/// The common type of two types that may differ only in known sizes.
pub fn same(left: &Ty, right: &Ty) -> Typed {
    let all = |x: &[Ty], y: &[Ty]| {
        if x.len() == y.len() {
            x.iter().zip(y).map(|(x, y)| same(x, y)).collect::<Result<Vec<_>, _>>()
        } else {
            Err(Mismatch)
        }
    };
    match (left, right) {
        (Ty::Array(n, x), Ty::Array(m, y)) => Ok(Ty::Array(extent(*n, *m)?, Box::new(same(x, y)?))),
        (Ty::Tuple(x), Ty::Tuple(y)) => Ok(Ty::Tuple(all(x, y)?)),
        (Ty::Record(x), Ty::Record(y)) if x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.0 == y.0) => {
            Ok(Ty::Record(x.iter().zip(y).map(|(x, y)| Ok((x.0, same(&x.1, &y.1)?))).collect::<Result<_, _>>()?))
        }
        _ if left == right => Ok(left.clone()),
        _ => Err(Mismatch),
    }
}

/// The operand of higher rank, along whose leading axes the other is broadcast. The element type is that of `a`.
fn spread(a: &Ty, b: &Ty) -> Typed {
    if a.rank() < b.rank() {
        return spread(&b.with_leaf(a.leaf()), a);
    }
    match (a, b) {
        (Ty::Array(n, e), _) if a.rank() > b.rank() => Ok(Ty::Array(*n, Box::new(spread(e, b)?))),
        (Ty::Array(n, x), Ty::Array(m, y)) => Ok(Ty::Array(extent(*n, *m)?, Box::new(spread(x, y)?))),
        _ => Ok(a.clone()),
    }
}

/// Whether all its numbers are Floats.
pub fn is_vector_space(t: &Ty) -> bool {
    t.parts().map_or_else(|| t.is_real(), |ps| ps.iter().all(|p| is_vector_space(p)))
}

/// `left op right`, or `op left right`.
pub fn binary(op: &str, left: &Ty, right: &Ty) -> Typed {
    match op {
        "@" => product(left, right),
        "++" => match (left, right) {
            (Ty::Array(n, x), Ty::Array(m, y)) => Ok(Ty::Array(n.zip(*m).map(|(n, m)| n + m), Box::new(same(x, y)?))),
            _ => Err(Mismatch),
        },
        "<" | ">" => {
            if left == right && matches!(left, Ty::Float | Ty::Int) {
                Ok(Ty::Bool)
            } else {
                Err(Mismatch)
            }
        }
        ".<" | ".>=" => {
            if left.is_numeric() && left.leaf() == right.leaf() {
                spread(left, right).map(|t| t.with_leaf(&Ty::Bool))
            } else {
                Err(Mismatch)
            }
        }
        _ if left.parts().is_some() || right.parts().is_some() => match op {
            "+" | "-" if is_vector_space(left) => same(left, right),
            "*" if *left == Ty::Float && is_vector_space(right) => Ok(right.clone()),
            "*" | "/" if *right == Ty::Float && is_vector_space(left) => Ok(left.clone()),
            _ => Err(Mismatch),
        },
        _ => {
            let real = matches!(op, "/" | "atan2" | "hypot" | "^");
            let fits = left.leaf() == right.leaf() && if real { left.is_real() } else { left.is_numeric() };
            if fits { spread(left, right) } else { Err(Mismatch) }
        }
    }
}

fn product(a: &Ty, b: &Ty) -> Typed {
    if !a.is_numeric() || a.leaf() != b.leaf() {
        return Err(Mismatch);
    }
    let (Ty::Array(n, x), Ty::Array(m, y)) = (a, b) else { return Err(Mismatch) };
    match (&**x, &**y, a.rank(), b.rank()) {
        (Ty::Array(k, e), Ty::Array(l, _), 2, 2) => {
            extent(*k, *m).map(|_| Ty::Array(*n, Box::new(Ty::Array(*l, e.clone()))))
        }
        (Ty::Array(k, e), _, 2, 1) => extent(*k, *m).map(|_| Ty::Array(*n, e.clone())),
        (_, Ty::Array(l, e), 1, 2) => extent(*n, *m).map(|_| Ty::Array(*l, e.clone())),
        _ => Err(Mismatch),
    }
}

/// A function of one operand, elementwise.
pub fn unary(f: &str, t: &Ty) -> Typed {
    let fits = match f {
        "-" => t.is_numeric() || is_vector_space(t),
        "abs" => t.is_numeric(),
        _ => t.is_real(),
    };
    if fits { Ok(t.clone()) } else { Err(Mismatch) }
}

/// A function of arrays or tuples.
pub fn call(name: &str, args: &[Ty]) -> Typed {
    let first = args.first().ok_or(Mismatch)?;
    if let ("fst" | "snd", Ty::Tuple(ts)) = (name, first) {
        return if ts.len() == 2 { Ok(ts[usize::from(name == "snd")].clone()) } else { Err(Mismatch) };
    }
    if name == "where" {
        let [c, a, b] = args else { return Err(Mismatch) };
        let fits = *c.leaf() == Ty::Bool && a.is_numeric() && a.leaf() == b.leaf();
        return if fits { spread(&spread(a, b)?, c) } else { Err(Mismatch) };
    }
    let Ty::Array(len, elem) = first else { return Err(Mismatch) };
    let vector = first.rank() == 1 && first.is_numeric();
    match name {
        "sum" | "prod" if elem.is_numeric() => Ok((**elem).clone()),
        "mean" | "maximum" if elem.is_real() => Ok((**elem).clone()),
        "norm" if elem.is_real() => Ok(Ty::Float),
        "chosen" if first.rank() == 1 && elem.is_real() => Ok(Ty::Float),
        "count" => Ok(Ty::Float),
        "reverse" => Ok(first.clone()),
        "cumsum" | "sort" if vector => Ok(first.clone()),
        "T" => match &**elem {
            Ty::Array(m, x) => Ok(Ty::Array(*m, Box::new(Ty::Array(*len, x.clone())))),
            _ => Err(Mismatch),
        },
        "dot" | "outer" => match &args[1] {
            Ty::Array(m, x) if vector && x == elem => {
                if name == "dot" {
                    extent(*len, *m).map(|_| (**elem).clone())
                } else {
                    Ok(Ty::Array(*len, Box::new(args[1].clone())))
                }
            }
            _ => Err(Mismatch),
        },
        _ => Err(Mismatch),
    }
}

/// `t[..]`.
pub fn index(t: &Ty, at: &[At]) -> Typed {
    let Some((first, rest)) = at.split_first() else { return Ok(t.clone()) };
    let Ty::Array(n, e) = t else { return Err(Mismatch) };
    let below = index(e, rest)?;
    let Some(n) = *n else { return Err(Mismatch) };
    let size = match first {
        At::Literal(k) => return if (-(n as i64)..n as i64).contains(k) { Ok(below) } else { Err(Mismatch) },
        At::Name(_) => return Ok(below),
        At::Slice("1:" | ":-1") => n.saturating_sub(1),
        At::Slice("::2") => n.div_ceil(2),
        At::Slice(_) => n,
    };
    Ok(Ty::Array(Some(size), Box::new(below)))
}

/// The axes of `outer` before those of `inner`.
fn around(outer: &Ty, inner: &Ty) -> Ty {
    outer.with_leaf(inner)
}

/// A derivative operator at a function from the type of the first argument to `result`.
pub fn derivative(op: &str, result: &Ty, args: &[Ty]) -> Typed {
    let at = args.first().filter(|t| is_vector_space(t)).ok_or(Mismatch)?;
    match (op, args) {
        ("grad", [_]) if *result == Ty::Float => Ok(at.clone()),
        ("value_and_grad", [_]) if *result == Ty::Float => Ok(Ty::Tuple(vec![Ty::Float, at.clone()])),
        ("jvp", [_, d]) if is_vector_space(result) => {
            same(at, d).map(|_| Ty::Tuple(vec![result.clone(), result.clone()]))
        }
        ("pull", [_, c]) if is_vector_space(result) => same(result, c).map(|_| at.clone()),
        ("jacobian", [_]) if result.is_real() && at.is_real() => Ok(around(result, at)),
        ("hessian", [_]) if *result == Ty::Float && at.is_real() => Ok(around(at, at)),
        _ => Err(Mismatch),
    }
}

//! Types of operations on operands of known types. `None` is an unknown type, after an error or where nothing is
//! annotated.

use super::tree::{ConcreteTy, RankIndex};

/// Types to which no rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch;

/// The type of an operation, or an error.
pub type Typed = Result<ConcreteTy, Mismatch>;

/// The common extent of two.
fn extent(a: Option<usize>, b: Option<usize>) -> Result<Option<usize>, Mismatch> {
    match (a, b) {
        (Some(x), Some(y)) if x != y => Err(Mismatch),
        (x, y) => Ok(x.or(y)),
    }
}

/// The common type of two types that may differ only in known sizes.
pub fn same(left: &ConcreteTy, right: &ConcreteTy) -> Typed {
    let all = |x: &[ConcreteTy], y: &[ConcreteTy]| {
        if x.len() == y.len() {
            x.iter().zip(y).map(|(x, y)| same(x, y)).collect::<Result<Vec<_>, _>>()
        } else {
            Err(Mismatch)
        }
    };
    match (left, right) {
        (ConcreteTy::Array(n, x), ConcreteTy::Array(m, y)) => {
            Ok(ConcreteTy::Array(extent(*n, *m)?, Box::new(same(x, y)?)))
        }
        (ConcreteTy::Tuple(x), ConcreteTy::Tuple(y)) => Ok(ConcreteTy::Tuple(all(x, y)?)),
        (ConcreteTy::Record(x), ConcreteTy::Record(y))
            if x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.0 == y.0) =>
        {
            Ok(ConcreteTy::Record(
                x.iter().zip(y).map(|(x, y)| Ok((x.0, same(&x.1, &y.1)?))).collect::<Result<_, _>>()?,
            ))
        }
        _ if left == right => Ok(left.clone()),
        _ => Err(Mismatch),
    }
}

/// The operand of higher rank, along whose leading axes the other is broadcast. The element type is that of `a`.
fn spread(a: &ConcreteTy, b: &ConcreteTy) -> Typed {
    if a.rank() < b.rank() {
        return spread(&b.with_leaf(a.leaf()), a);
    }
    match (a, b) {
        (ConcreteTy::Array(n, e), _) if a.rank() > b.rank() => Ok(ConcreteTy::Array(*n, Box::new(spread(e, b)?))),
        (ConcreteTy::Array(n, x), ConcreteTy::Array(m, y)) => {
            Ok(ConcreteTy::Array(extent(*n, *m)?, Box::new(spread(x, y)?)))
        }
        _ => Ok(a.clone()),
    }
}

/// Whether all its numbers are Floats.
pub fn is_vector_space(t: &ConcreteTy) -> bool {
    t.parts().map_or_else(|| t.is_real(), |ps| ps.iter().all(|p| is_vector_space(p)))
}

/// `left op right`, or `op left right`.
pub fn binary(op: &str, left: &ConcreteTy, right: &ConcreteTy) -> Typed {
    match op {
        "@" => product(left, right),
        "++" => match (left, right) {
            (ConcreteTy::Array(n, x), ConcreteTy::Array(m, y)) => {
                Ok(ConcreteTy::Array(n.zip(*m).map(|(n, m)| n + m), Box::new(same(x, y)?)))
            }
            _ => Err(Mismatch),
        },
        "<" | ">" => {
            if left == right && matches!(left, ConcreteTy::Float | ConcreteTy::Int) {
                Ok(ConcreteTy::Bool)
            } else {
                Err(Mismatch)
            }
        }
        ".<" | ".>=" => {
            if left.is_numeric() && left.leaf() == right.leaf() {
                spread(left, right).map(|t| t.with_leaf(&ConcreteTy::Bool))
            } else {
                Err(Mismatch)
            }
        }
        _ if left.parts().is_some() || right.parts().is_some() => match op {
            "+" | "-" if is_vector_space(left) => same(left, right),
            "*" if *left == ConcreteTy::Float && is_vector_space(right) => Ok(right.clone()),
            "*" | "/" if *right == ConcreteTy::Float && is_vector_space(left) => Ok(left.clone()),
            _ => Err(Mismatch),
        },
        _ => {
            let real = matches!(op, "/" | "atan2" | "hypot" | "^");
            let fits = left.leaf() == right.leaf() && if real { left.is_real() } else { left.is_numeric() };
            if fits { spread(left, right) } else { Err(Mismatch) }
        }
    }
}

fn product(a: &ConcreteTy, b: &ConcreteTy) -> Typed {
    if !a.is_numeric() || a.leaf() != b.leaf() {
        return Err(Mismatch);
    }
    let (ConcreteTy::Array(n, x), ConcreteTy::Array(m, y)) = (a, b) else { return Err(Mismatch) };
    match (&**x, &**y, a.rank(), b.rank()) {
        (ConcreteTy::Array(k, e), ConcreteTy::Array(l, _), 2, 2) => {
            extent(*k, *m).map(|_| ConcreteTy::Array(*n, Box::new(ConcreteTy::Array(*l, e.clone()))))
        }
        (ConcreteTy::Array(k, e), _, 2, 1) => extent(*k, *m).map(|_| ConcreteTy::Array(*n, e.clone())),
        (_, ConcreteTy::Array(l, e), 1, 2) => extent(*n, *m).map(|_| ConcreteTy::Array(*l, e.clone())),
        _ => Err(Mismatch),
    }
}

/// A function of one operand, elementwise.
pub fn unary(f: &str, t: &ConcreteTy) -> Typed {
    let fits = match f {
        "-" => t.is_numeric() || is_vector_space(t),
        "abs" => t.is_numeric(),
        _ => t.is_real(),
    };
    if fits { Ok(t.clone()) } else { Err(Mismatch) }
}

/// A function of arrays or tuples.
pub fn call(name: &str, args: &[ConcreteTy]) -> Typed {
    let first = args.first().ok_or(Mismatch)?;
    if let ("fst" | "snd", ConcreteTy::Tuple(ts)) = (name, first) {
        return if ts.len() == 2 { Ok(ts[usize::from(name == "snd")].clone()) } else { Err(Mismatch) };
    }
    if name == "where" {
        let [c, a, b] = args else { return Err(Mismatch) };
        let fits = *c.leaf() == ConcreteTy::Bool && a.is_numeric() && a.leaf() == b.leaf();
        return if fits { spread(&spread(a, b)?, c) } else { Err(Mismatch) };
    }
    let ConcreteTy::Array(len, elem) = first else { return Err(Mismatch) };
    let vector = first.rank() == 1 && first.is_numeric();
    match name {
        "sum" | "prod" if elem.is_numeric() => Ok((**elem).clone()),
        "mean" | "maximum" if elem.is_real() => Ok((**elem).clone()),
        "norm" if elem.is_real() => Ok(ConcreteTy::Float),
        "chosen" if first.rank() == 1 && elem.is_real() => Ok(ConcreteTy::Float),
        "count" => Ok(ConcreteTy::Float),
        "reverse" => Ok(first.clone()),
        "cumsum" | "sort" if vector => Ok(first.clone()),
        "T" => match &**elem {
            ConcreteTy::Array(m, x) => Ok(ConcreteTy::Array(*m, Box::new(ConcreteTy::Array(*len, x.clone())))),
            _ => Err(Mismatch),
        },
        "dot" | "outer" => match &args[1] {
            ConcreteTy::Array(m, x) if vector && x == elem => {
                if name == "dot" {
                    extent(*len, *m).map(|_| (**elem).clone())
                } else {
                    Ok(ConcreteTy::Array(*len, Box::new(args[1].clone())))
                }
            }
            _ => Err(Mismatch),
        },
        _ => Err(Mismatch),
    }
}

/// `t[..]`.
pub fn index(t: &ConcreteTy, at: &[RankIndex]) -> Typed {
    let Some((first, rest)) = at.split_first() else { return Ok(t.clone()) };
    let ConcreteTy::Array(n, e) = t else { return Err(Mismatch) };
    let below = index(e, rest)?;
    let Some(n) = *n else { return Err(Mismatch) };
    let size = match first {
        RankIndex::Literal(k) => return if (-(n as i64)..n as i64).contains(k) { Ok(below) } else { Err(Mismatch) },
        RankIndex::Name(_) => return Ok(below),
        RankIndex::Slice("1:" | ":-1") => n.saturating_sub(1),
        RankIndex::Slice("::2") => n.div_ceil(2),
        RankIndex::Slice(_) => n,
    };
    Ok(ConcreteTy::Array(Some(size), Box::new(below)))
}

/// The axes of `outer` before those of `inner`.
fn around(outer: &ConcreteTy, inner: &ConcreteTy) -> ConcreteTy {
    outer.with_leaf(inner)
}

/// A derivative operator at a function from the type of the first argument to `result`.
pub fn derivative(op: &str, result: &ConcreteTy, args: &[ConcreteTy]) -> Typed {
    let at = args.first().filter(|t| is_vector_space(t)).ok_or(Mismatch)?;
    match (op, args) {
        ("grad", [_]) if *result == ConcreteTy::Float => Ok(at.clone()),
        ("value_and_grad", [_]) if *result == ConcreteTy::Float => {
            Ok(ConcreteTy::Tuple(vec![ConcreteTy::Float, at.clone()]))
        }
        ("jvp", [_, d]) if is_vector_space(result) => {
            same(at, d).map(|_| ConcreteTy::Tuple(vec![result.clone(), result.clone()]))
        }
        ("pull", [_, c]) if is_vector_space(result) => same(result, c).map(|_| at.clone()),
        ("jacobian", [_]) if result.is_real() && at.is_real() => Ok(around(result, at)),
        ("hessian", [_]) if *result == ConcreteTy::Float && at.is_real() => Ok(around(at, at)),
        _ => Err(Mismatch),
    }
}

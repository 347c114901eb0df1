//! Built-ins, which the evaluator leaves to a host.

use super::arrays::{self, array, int, size};
use super::scalar::{self, Evaluated};
use super::value::Val;
use crate::collective::Collective;
use crate::ty::Ty;
use adl_prim::{ArrayFn, Bin, CommFn, DerivativeFn, GeneralFn, NumberFn, Prim, ReductionFn, TextFn};
use std::cmp::Ordering;
use std::rc::Rc;

/// Evaluates built-ins ([`crate::Op::Prim`]).
pub trait Host {
    /// The results of a built-in (most have one).
    fn prims(&mut self, p: Prim, args: &[Val]) -> Result<Vec<Val>, String> {
        self.prim(p, args).map(|v| vec![v])
    }

    /// The result of a built-in with one result.
    fn prim(&mut self, p: Prim, args: &[Val]) -> Result<Val, String> {
        simple(p, args)
    }

    /// The results of a collective; by default those of the only rank there is.
    fn collective(&mut self, kind: Collective, args: Vec<Val>, at: Option<&Val>) -> Result<Vec<Val>, String> {
        super::alone(kind, args, at)
    }

    /// Whether to stop the evaluation. Polled before each statement.
    fn stop(&self) -> bool {
        false
    }
}

/// A host that implements only simple built-ins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simple;

impl Host for Simple {
    fn prims(&mut self, prim: Prim, args: &[Val]) -> Result<Vec<Val>, String> {
        match prim {
            // These have no result but a possible error; if a result is bound, it is a unit value.
            Prim::General(GeneralFn::Assert) => match args.first() {
                Some(Val::Bool(true)) => Ok(Vec::new()),
                _ => Err("this assertion does not hold".to_owned()),
            },
            Prim::General(GeneralFn::Error) => Err(match args.first() {
                Some(Val::Str(s)) => s.to_string(),
                _ => "error".to_owned(),
            }),
            Prim::Derivative(DerivativeFn::StopGrad) | Prim::General(GeneralFn::Id) => Ok(args.to_vec()),
            _ => self.prim(prim, args).map(|v| vec![v]),
        }
    }
}

fn arg(args: &[Val], i: usize) -> Result<&Val, String> {
    args.get(i).ok_or_else(|| format!("argument {i} is missing"))
}

/// Evaluates the simple built-ins.
pub fn simple(prim: Prim, args: &[Val]) -> Evaluated {
    if let (Prim::Un(u), [a]) = (prim, args) {
        return scalar::un(u, a);
    }
    if let (Prim::Bin(b), [x, y]) = (prim, args) {
        return scalar::bin(b, x, y);
    }
    if let Prim::Comm(p) = prim {
        return of_one_rank(p, args);
    }
    let first = arg(args, 0)?;
    match prim {
        Prim::Array(ArrayFn::Iota) => counting(0, size(first)? as i64),
        Prim::Array(ArrayFn::Range) => counting(int(first)?, int(arg(args, 1)?)?),
        Prim::Array(ArrayFn::Eye) => diagonal(&ones(size(first)?)?),
        Prim::Number(NumberFn::PowInt) => scalar::bin(Bin::Pow, first, arg(args, 1)?),
        Prim::Array(ArrayFn::ScatterWithin) => scatter(first, arg(args, 1)?, arg(args, 2)?),
        Prim::Text(TextFn::StrLen) => match first {
            Val::Str(s) => Ok(Val::I64(s.chars().count() as i64)),
            other => Err(format!("a text was expected, not {}", other.kind())),
        },
        Prim::Array(ArrayFn::Append) => match (first, arg(args, 1)?) {
            (Val::Str(x), Val::Str(y)) => Ok(Val::Str(Rc::from(format!("{x}{y}")))),
            (x, y) => arrays::concat(x, y, None, None, &scalar_ty(x).array(1)),
        },
        other => of_array(other, first),
    }
}

/// Functions of module `comm` that are not collectives, for the only rank there is.
fn of_one_rank(p: CommFn, args: &[Val]) -> Evaluated {
    match p {
        CommFn::Rank => Ok(Val::I64(0)),
        CommFn::Size => Ok(Val::I64(1)),
        CommFn::Block => Ok(Val::ints(&[0, int(arg(args, 0)?)?])),
        CommFn::Blocks | CommFn::Lengths => Ok(Val::ints(&[size(arg(args, 0)?)? as i64])),
        other => Err(format!("the reference evaluator does not know `{}`", other.row().name)),
    }
}

/// Functions of one array: sorting, extremes, sums.
fn of_array(prim: Prim, input: &Val) -> Evaluated {
    match prim {
        Prim::Reduction(ReductionFn::Argsort) => {
            Ok(Val::ints(&order(input)?.iter().map(|i| *i as i64).collect::<Vec<_>>()))
        }
        Prim::Reduction(ReductionFn::Argmin | ReductionFn::Argmax) => extreme(prim, input).map(|i| Val::I64(i as i64)),
        Prim::Reduction(ReductionFn::Minimum | ReductionFn::Maximum) => {
            Ok(arrays::row(array(input)?, extreme(prim, input)?))
        }
        Prim::Reduction(ReductionFn::Prod) => {
            array(input)?.elems.iter().try_fold(same(input, 1.0), |acc, x| scalar::bin(Bin::Mul, &acc, x))
        }
        Prim::Reduction(ReductionFn::Cumprod) => running(input, Bin::Mul),
        Prim::Reduction(ReductionFn::Any) => Ok(Val::Bool(array(input)?.elems.contains(&Val::Bool(true)))),
        Prim::Reduction(ReductionFn::All) => Ok(Val::Bool(!array(input)?.elems.contains(&Val::Bool(false)))),
        other => Err(format!("the reference evaluator does not know `{}`", other.name())),
    }
}

/// `n` ones, unless a square matrix of that size would be too large.
fn ones(n: usize) -> Result<Vec<Val>, String> {
    arrays::volume(&[n, n])?;
    Ok(vec![Val::F64(1.0); n])
}

/// The element type of an array.
fn scalar_ty(a: &Val) -> Ty {
    match a.leaves().first() {
        Some(Val::F32(_)) => Ty::F32,
        Some(Val::I64(_)) => Ty::I64,
        Some(Val::Bool(_)) => Ty::Bool,
        _ => Ty::F64,
    }
}

/// `x` as a number of the element type of `a`.
fn same(a: &Val, x: f64) -> Val {
    match scalar_ty(a) {
        Ty::F32 => Val::F32(x as f32),
        Ty::I64 => Val::I64(x as i64),
        _ => Val::F64(x),
    }
}

fn counting(lo: i64, hi: i64) -> Evaluated {
    arrays::volume(&[usize::try_from(hi.saturating_sub(lo)).unwrap_or(0)])?;
    Ok(Val::ints(&(lo..hi.max(lo)).collect::<Vec<_>>()))
}

/// A square matrix with these elements on its diagonal.
fn diagonal(xs: &[Val]) -> Evaluated {
    let n = xs.len();
    arrays::volume(&[n, n])?;
    let zero = xs.first().map_or(Val::F64(0.0), |x| same(x, 0.0));
    let elems = (0..n * n).map(|k| if k / n == k % n { xs[k / n].clone() } else { zero.clone() }).collect();
    Ok(Val::array(vec![n, n], elems))
}

fn running(a: &Val, op: Bin) -> Evaluated {
    let input = array(a)?;
    let n = arrays::rows(input).0;
    let mut out: Vec<Val> = Vec::with_capacity(n);
    for i in 0..n {
        let x = arrays::row(input, i);
        out.push(match out.last() {
            Some(acc) => scalar::bin(op, acc, &x)?,
            None => x,
        });
    }
    let elems = if input.shape.len() == 1 {
        out
    } else {
        out.iter().filter_map(Val::arr).flat_map(|r| r.elems.iter().cloned()).collect()
    };
    Ok(Val::array(input.shape.clone(), elems))
}

fn compare(a: &Val, b: &Val) -> Option<Ordering> {
    match (a, b) {
        (Val::I64(x), Val::I64(y)) => Some(x.cmp(y)),
        (Val::Bool(x), Val::Bool(y)) => Some(x.cmp(y)),
        (Val::Str(x), Val::Str(y)) => Some(x.cmp(y)),
        _ => a.float().zip(b.float()).and_then(|(x, y)| x.partial_cmp(&y)),
    }
}

/// The permutation that sorts a vector: stable, nan last.
fn order(a: &Val) -> Result<Vec<usize>, String> {
    let a = array(a)?;
    if a.shape.len() != 1 {
        return Err("only vectors are sorted by the reference evaluator".to_owned());
    }
    let nan = |v: &Val| v.float().is_some_and(f64::is_nan);
    let mut at: Vec<usize> = (0..a.elems.len()).collect();
    at.sort_by(|i, j| {
        let (x, y) = (&a.elems[*i], &a.elems[*j]);
        compare(x, y).unwrap_or_else(|| nan(x).cmp(&nan(y)))
    });
    Ok(at)
}

/// The index of the first extreme element; a nan counts as extreme.
fn extreme(prim: Prim, a: &Val) -> Result<usize, String> {
    let input = array(a)?;
    if input.elems.is_empty() || input.shape.len() != 1 {
        return Err(if input.elems.is_empty() {
            format!("`{}` of an empty array", prim.name())
        } else {
            format!("`{}` of a matrix", prim.name())
        });
    }
    if let Some(i) = input.elems.iter().position(|x| x.float().is_some_and(f64::is_nan)) {
        return Ok(i);
    }
    let better = if matches!(prim, Prim::Reduction(ReductionFn::Argmin | ReductionFn::Minimum)) {
        Ordering::Less
    } else {
        Ordering::Greater
    };
    Ok((1..input.elems.len())
        .fold(0, |best, i| if compare(&input.elems[i], &input.elems[best]) == Some(better) { i } else { best }))
}

/// A copy of `dest` with elements replaced. Indices out of range are ignored; among equal indices the last wins.
fn scatter(dest: &Val, at: &Val, v: &Val) -> Evaluated {
    let (target, at, v) = (array(dest)?, array(at)?, array(v)?);
    let (n, k) = arrays::rows(target);
    if arrays::rows(v) != (at.elems.len(), k) {
        return Err(format!("{} indices for values of shape {:?}", at.elems.len(), v.shape));
    }
    let mut elems = target.elems.clone();
    for (j, i) in at.elems.iter().enumerate() {
        if let Some(i) = usize::try_from(int(i)?).ok().filter(|i| *i < n) {
            elems[i * k..(i + 1) * k].clone_from_slice(&v.elems[j * k..(j + 1) * k]);
        }
    }
    Ok(Val::array(target.shape.clone(), elems))
}

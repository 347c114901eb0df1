//! Linear algebra on untraced matrices: products, `lu` and `qr` are our own, the other decompositions are
//! nalgebra's.

use super::factorisations::{self, Lu, exponent, scaled};
use super::{kernels, parallel};
use crate::error::{Error, Res, codes};
use crate::limits::ops_linalg::BAND;
use crate::ops::arith;
use crate::ops::interrupt::{InterruptFlag, STRIDE};
use crate::value::{Array, Buf, Shape, Tuple, Value, array};
use adl_ir::Contract;
use adl_prim::{Bin, LinalgFn};
use nalgebra::DMatrix;
use std::rc::Rc;

fn arr(v: &Value) -> Res<&Array> {
    match v {
        Value::Array(a) => Ok(a),
        other => {
            Err(Error::new(codes::STRUCTURE, format!("a matrix was expected, not {}", crate::value::show::show(other))))
        }
    }
}

fn floats(a: &Array) -> Vec<f64> {
    match a.buf() {
        Buf::F64(v) => v.clone(),
        Buf::F32(v) => v.iter().map(|x| f64::from(*x)).collect(),
        _ => Vec::new(),
    }
}

fn matrix(v: &Value) -> Res<DMatrix<f64>> {
    let a = arr(v)?;
    let (n, k) = (a.len(), a.shape.get(1).copied().unwrap_or(1));
    Ok(DMatrix::from_row_slice(n, k, &floats(a)))
}

fn square(v: &Value, what: &str) -> Res<DMatrix<f64>> {
    let m = matrix(v)?;
    if m.nrows() != m.ncols() {
        return Err(Error::new(
            codes::SIZE,
            format!("`{what}` needs a square matrix, and this one is {} by {}", m.nrows(), m.ncols()),
        ));
    }
    Ok(m)
}

fn value(m: &DMatrix<f64>) -> Value {
    let v = m.transpose().as_slice().to_vec();
    array::make(Shape::from_slice(&[m.nrows(), m.ncols()]), Buf::F64(v))
}

fn tuple(parts: Vec<Value>) -> Value {
    Value::Tuple(Rc::new(Tuple(parts)))
}

/// An error if an element is not finite, because iterative algorithms would not terminate.
fn finite(m: DMatrix<f64>, what: &str) -> Res<DMatrix<f64>> {
    match m.iter().find(|x| !x.is_finite()) {
        Some(x) => {
            Err(Error::new(codes::DOMAIN, format!("`{what}` of a matrix that holds {}", crate::value::show::float(*x))))
        }
        None => Ok(m),
    }
}

fn singular(what: &str) -> Box<Error> {
    Error::new(codes::SINGULAR, format!("`{what}`: the matrix is singular"))
}

pub(super) fn apply(interrupt: InterruptFlag, p: LinalgFn, args: &mut [Value]) -> Res<Value> {
    match p {
        LinalgFn::LinSolve => solve(interrupt, &args[0], &args[1]),
        LinalgFn::Inv => aside(interrupt, 2, square(&args[0], "inv")?, |m| Lu::new(m).inverse())?
            .map(|m| value(&m))
            .ok_or_else(|| singular("inv")),
        LinalgFn::Det => {
            let m = square(&args[0], "det")?;
            Ok(Value::Float(aside(interrupt, 1, m, |m| Lu::new(m).determinant())?))
        }
        LinalgFn::Cholesky => {
            let m = square(&args[0], "cholesky")?;
            let l = aside(interrupt, 1, m, |m| m.cholesky().map(|c| c.l()))?;
            l.map(|l| value(&l))
                .ok_or_else(|| Error::new(codes::SINGULAR, "`cholesky`: the matrix is not positive definite"))
        }
        LinalgFn::Qr => qr(interrupt, matrix(&args[0])?),
        LinalgFn::Lu => lu(interrupt, square(&args[0], "lu")?),
        LinalgFn::Svd => svd(interrupt, finite(matrix(&args[0])?, "svd")?),
        LinalgFn::Eigh => eigh(interrupt, finite(square(&args[0], "eigh")?, "eigh")?),
    }
}

/// Runs a decomposition of about `each` operations for each product of three extents so that it can be
/// interrupted.
fn aside<T: Send + 'static>(
    w: InterruptFlag,
    each: u64,
    m: DMatrix<f64>,
    work: impl FnOnce(DMatrix<f64>) -> T + Send + 'static,
) -> Res<T> {
    let (n, k) = (m.nrows() as u64, m.ncols() as u64);
    let flops = n.saturating_mul(k).saturating_mul(n.min(k)).saturating_mul(each);
    w.aside(flops, move || work(m))
}

/// Matrix products; the inner loop runs over contiguous elements.
pub(super) fn product(interrupt: InterruptFlag, a: &Value, b: &Value) -> Res<Value> {
    let (left, right) = (arr(a)?, arr(b)?);
    let (vector_left, vector_right) = (left.shape.len() == 1, right.shape.len() == 1);
    let (rows, inner) = if vector_left { (1, left.shape[0]) } else { (left.shape[0], left.shape[1]) };
    let (k2, cols) = if vector_right { (right.shape[0], 1) } else { (right.shape[0], right.shape[1]) };
    if inner != k2 {
        return Err(Error::new(
            codes::SIZE,
            format!(
                "a product of arrays of shape {:?} and {:?}: {inner} and {k2} differ",
                &left.shape[..],
                &right.shape[..]
            ),
        ));
    }
    let shape: Shape = match (vector_left, vector_right) {
        (false, false) => Shape::from_slice(&[rows, cols]),
        (true, _) => Shape::from_slice(&[cols]),
        (_, true) => Shape::from_slice(&[rows]),
    };
    let total = array::count(&shape)?;
    let buf = match (left.buf(), right.buf()) {
        (Buf::F64(x), Buf::F64(y)) => Buf::F64(multiply(interrupt, (x, y), (rows, inner, cols), total)?),
        (Buf::I64(x), Buf::I64(y)) => {
            let mut out = array::filled(0i64, total)?;
            for i in 0..rows {
                interrupt.poll()?;
                for l in 0..inner {
                    for j in 0..cols {
                        let t = arith::int_bin(Bin::Mul, x[i * inner + l], y[l * cols + j])?;
                        out[i * cols + j] = arith::int_bin(Bin::Add, out[i * cols + j], t)?;
                    }
                }
            }
            Buf::I64(out)
        }
        (Buf::F32(_), _) | (_, Buf::F32(_)) => {
            let out = multiply(interrupt, (&floats(left), &floats(right)), (rows, inner, cols), total)?;
            Buf::F32(out.into_iter().map(|x| x as f32).collect())
        }
        (Buf::I64(_), _) | (_, Buf::I64(_)) => Buf::I64(array::filled(0, total)?),
        _ => Buf::F64(array::filled(0.0, total)?),
    };
    Ok(array::make(shape, buf))
}

fn multiply(
    w: InterruptFlag,
    (x, y): (&[f64], &[f64]),
    (n, k, c): (usize, usize, usize),
    total: usize,
) -> Res<Vec<f64>> {
    let mut out = array::filled(0.0, total)?;
    // Number of rows between two polls for interrupts.
    let band = (STRIDE / (k * c).max(1)).next_multiple_of(8).max(BAND);
    parallel::bands(w, &mut out, band * c, n.saturating_mul(k).saturating_mul(c) / 8, |at, part| {
        let (i, rows) = (at / c, part.len() / c);
        kernels::multiply(&x[i * k..(i + rows) * k], y, (rows, k, c), part);
    })?;
    Ok(out)
}

/// A contraction of Float arrays.
pub(crate) fn contract(
    interrupt: InterruptFlag,
    contract: &Contract,
    (left, right): (&Value, &Value),
    (height, width, depth): (usize, usize, usize),
) -> Res<Value> {
    let shape =
        if arr(left)?.shape.len() == 1 { Shape::from_slice(&[width]) } else { Shape::from_slice(&[height, width]) };
    let mut out = array::filled(0.0, array::count(&shape)?)?;
    // Without elements nothing is read, whatever the extents of the factors.
    if out.is_empty() {
        return Ok(array::make(shape, Buf::F64(out)));
    }
    let of = |v, turned, rows| -> Res<kernels::Factor> {
        kernels::Factor::of(numbers(v)?, &arr(v)?.shape, turned, (rows, depth)).ok_or_else(outside)
    };
    let (x, y) = (of(left, contract.turned[0], height)?, of(right, contract.turned[1], width)?);
    parallel::bands(
        interrupt,
        &mut out,
        BAND * width,
        height.saturating_mul(depth).saturating_mul(width) / 8,
        |at, part| {
            kernels::contract_by(contract.terms, x.after(at / width), y, (part.len() / width, width, depth), part);
        },
    )?;
    Ok(array::make(shape, Buf::F64(out)))
}

fn numbers(v: &Value) -> Res<&[f64]> {
    match arr(v)?.buf() {
        Buf::F64(v) => Ok(v),
        _ => Err(Error::new(codes::STRUCTURE, "an array of Floats was expected")),
    }
}

fn outside() -> Box<Error> {
    Error::new(codes::BOUNDS, "an index out of bounds in a contraction")
}

fn solve(interrupt: InterruptFlag, a: &Value, right_side: &Value) -> Res<Value> {
    let system = square(a, "solve")?;
    let rhs = arr(right_side)?;
    if rhs.len() != system.nrows() {
        return Err(Error::new(
            codes::SIZE,
            format!("`solve`: a matrix of {} rows and a right side of {}", system.nrows(), rhs.len()),
        ));
    }
    if system.nrows() == 0 {
        return Ok(right_side.clone());
    }
    let right = matrix(right_side)?;
    let x = aside(interrupt, 1, system, move |m| Lu::new(m).solve(&right))?.ok_or_else(|| singular("solve"))?;
    Ok(if rhs.shape.len() == 1 { array::floats(x.as_slice().to_vec()) } else { value(&x) })
}

fn qr(w: InterruptFlag, m: DMatrix<f64>) -> Res<Value> {
    let (q, r) = aside(w, 2, m, factorisations::qr)?;
    Ok(tuple(vec![value(&q), value(&r)]))
}

fn lu(w: InterruptFlag, m: DMatrix<f64>) -> Res<Value> {
    let d = aside(w, 1, m, Lu::new)?;
    let p = d.rows.iter().map(|i| *i as i64).collect();
    Ok(tuple(vec![value(&d.l()), value(&d.u()), array::ints(p)]))
}

/// Scales a matrix by a power of two that brings its largest element near 1, if squares of its elements might
/// leave the floating-point range. Returns the exponent that undoes the scaling.
fn balanced(m: DMatrix<f64>) -> (DMatrix<f64>, i32) {
    let most = exponent(m.amax());
    if most.abs() < 200 { (m, 0) } else { (m.map(|x| scaled(x, -most)), most) }
}

/// The thin singular value decomposition, with descending singular values; the largest component of each left
/// vector is positive.
fn svd(w: InterruptFlag, m: DMatrix<f64>) -> Res<Value> {
    let (n, c) = m.shape();
    if n == 0 || c == 0 {
        return Ok(tuple(vec![value(&DMatrix::zeros(n, 0)), array::floats(Vec::new()), value(&DMatrix::zeros(0, c))]));
    }
    let (m, power) = balanced(m);
    let d = aside(w, 10, m, |m| m.svd(true, true))?;
    let (Some(mut left), Some(mut vt)) = (d.u, d.v_t) else {
        return Err(Error::new(codes::SINGULAR, "`svd` did not converge"));
    };
    let mut order: Vec<usize> = (0..d.singular_values.len()).collect();
    order.sort_by(|a, b| d.singular_values[*b].total_cmp(&d.singular_values[*a]));
    let s: Vec<f64> = order.iter().map(|i| scaled(d.singular_values[*i], power)).collect();
    left = DMatrix::from_fn(left.nrows(), order.len(), |i, j| left[(i, order[j])]);
    vt = DMatrix::from_fn(order.len(), vt.ncols(), |i, j| vt[(order[i], j)]);
    for j in 0..left.ncols() {
        if negative(left.column(j).iter()) {
            left.column_mut(j).neg_mut();
            vt.row_mut(j).neg_mut();
        }
    }
    Ok(tuple(vec![value(&left), array::floats(s), value(&vt)]))
}

/// Whether the component of largest magnitude is negative.
fn negative<'a>(v: impl Iterator<Item = &'a f64>) -> bool {
    v.fold(0.0f64, |best, x| if x.abs() > best.abs() * (1.0 + 1e-12) { *x } else { best }) < 0.0
}

/// The decomposition of a symmetric matrix, with ascending eigenvalues; the largest component of each vector is
/// positive.
fn eigh(interrupt: InterruptFlag, m: DMatrix<f64>) -> Res<Value> {
    if m.nrows() == 0 {
        return Ok(tuple(vec![array::floats(Vec::new()), value(&m)]));
    }
    let (m, power) = balanced(m);
    let d = aside(interrupt, 10, m, |m| ((&m + m.transpose()) * 0.5).symmetric_eigen())?;
    let n = d.eigenvalues.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| d.eigenvalues[*a].total_cmp(&d.eigenvalues[*b]));
    let w: Vec<f64> = order.iter().map(|i| scaled(d.eigenvalues[*i], power)).collect();
    let mut v = DMatrix::from_fn(n, n, |i, j| d.eigenvectors[(i, order[j])]);
    for j in 0..n {
        if negative(v.column(j).iter()) {
            v.column_mut(j).neg_mut();
        }
    }
    Ok(tuple(vec![array::floats(w), value(&v)]))
}

//! Primitives. [`apply`] is the only entry point: it dispatches traced arguments to [`crate::ad`] and all
//! others to the implementations in this module.

pub mod arith;
mod arrays;
mod cumulative;
mod elementwise;
mod factorisations;
pub mod higher_order;
pub mod index;
pub(crate) mod io;
pub mod kernels;
mod linalg;
pub(crate) mod masks;
pub mod parallel;
mod random;
pub(crate) mod reduce;
pub(crate) use kernels::sum as sum_floats;
pub(crate) use linalg::contract;
mod comprehension_sums;
pub mod data;
pub(crate) mod fused_chain;
pub(crate) mod interrupt;
mod sorting;
pub mod strip_mining;
mod text;
pub(crate) mod whole;
pub use io::bytes as file_bytes;

use crate::ad;
use crate::error::{Error, Res, codes};
use crate::value::{Rep, Value, compare, seq, show};
use crate::vm::Machine;
use adl_prim::{Bin, Prim, Un};
pub(crate) use arrays::{put, put_indices};
pub(crate) use cumulative::sums_from_the_end;
pub(crate) use elementwise::compared;
use interrupt::InterruptFlag;

/// Applies a primitive to all its arguments. `reps` are its hidden arguments, run-time type representations.
/// Arguments may be moved out, so that an unshared array is updated in place.
pub fn apply(m: &mut Machine, p: Prim, reps: &[Value], args: &mut [Value]) -> Res<Value> {
    if sees_tracing(p) && args.iter().any(|a| ad::deep_level(a) > 0) {
        return ad::apply_traced(m, p, reps, args);
    }
    plain(m, p, reps, args)
}

/// Like [`apply`], with arguments that the caller owns.
pub fn call(m: &mut Machine, p: Prim, reps: &[Value], mut args: Vec<Value>) -> Res<Value> {
    apply(m, p, reps, &mut args)
}

/// Whether traced arguments need the rules in `ad`. The other primitives are arithmetic (which checks for
/// tracing itself), containers, and higher-order functions.
fn sees_tracing(p: Prim) -> bool {
    use Prim as P;
    matches!(
        p,
        P::Not
            | P::EqEach
            | P::NeEach
            | P::LtEach
            | P::GtEach
            | P::LeEach
            | P::GeEach
            | P::AndEach
            | P::OrEach
            | P::Compress
            | P::IsNan
            | P::IsInf
            | P::Clamp
            | P::ToFloat
            | P::ToInt
            | P::ToF32
            | P::F32ToFloat
            | P::MatMul
            | P::Matmul
            | P::Append
            | P::Scatter
            | P::ScatterWithin
            | P::Put
            | P::Gather
            | P::Replicate
            | P::Linspace
            | P::Rotate
            | P::Reverse
            | P::Concat
            | P::Flatten
            | P::Reshape
            | P::Stack
            | P::Split
            | P::Take
            | P::Drop
            | P::First
            | P::Last
            | P::Len
            | P::Shape
            | P::Rank
            | P::Sort
            | P::Argsort
            | P::Argmin
            | P::Argmax
            | P::Sum
            | P::Prod
            | P::Mean
            | P::Variance
            | P::Maximum
            | P::Minimum
            | P::Cumsum
            | P::Cumprod
            | P::Dot
            | P::Outer
            | P::Norm
            | P::Where
            | P::Diag
            | P::Trace
            | P::TransposeArray
            | P::LinSolve
            | P::Cholesky
            | P::Qr
            | P::Lu
            | P::Svd
            | P::Eigh
            | P::Inv
            | P::Det
    )
}

/// The error for arrays that must have equal lengths.
pub fn lengths_differ(what: &str, a: usize, b: usize) -> Box<Error> {
    Error::new(codes::SIZE, format!("`{what}` needs arrays of one length, and these have {a} and {b}"))
}

fn rep_of(reps: &[Value]) -> Rep {
    match reps.first() {
        Some(Value::Rep(r)) => (**r).clone(),
        _ => Rep::Other,
    }
}

fn constant(reps: &[Value], x: f64) -> Value {
    match rep_of(reps) {
        Rep::F32 => Value::F32(x as f32),
        _ => Value::Float(x),
    }
}

fn take(args: &mut [Value], i: usize) -> Value {
    std::mem::take(&mut args[i])
}

/// Applies a primitive to untraced arguments.
pub fn plain(m: &mut Machine, p: Prim, reps: &[Value], args: &mut [Value]) -> Res<Value> {
    use Prim as P;
    m.poll()?;
    if let Some(v) = m.primitive_on_device(p, reps, args)? {
        return Ok(v);
    }
    if let Some(op) = p.bin() {
        let (a, b) = (take(args, 0), take(args, 1));
        return arith::bin(m, op, a, b);
    }
    if let Some(op) = p.un() {
        let a = take(args, 0);
        return arith::un(m, op, a);
    }
    match p {
        P::Add
        | P::Sub
        | P::Mul
        | P::Div
        | P::IntDiv
        | P::Rem
        | P::Pow
        | P::Atan2
        | P::Hypot
        | P::Min
        | P::Max
        | P::Neg
        | P::Sin
        | P::Cos
        | P::Tan
        | P::Asin
        | P::Acos
        | P::Atan
        | P::Sinh
        | P::Cosh
        | P::Tanh
        | P::Exp
        | P::Expm1
        | P::Log
        | P::Log1p
        | P::Sqrt
        | P::Cbrt
        | P::Abs
        | P::Sign
        | P::Floor
        | P::Ceil
        | P::Round
        | P::Sigmoid
        | P::Relu
        | P::Softplus
        | P::Erf
        | P::Erfc
        | P::Erfinv
        | P::Lgamma
        | P::Digamma
        | P::Gamma => {
            unreachable!("scalar operators were handled above")
        }
        P::PowInt => match (take(args, 0), &args[1]) {
            (x, Value::Int(n)) => match i32::try_from(*n) {
                Ok(n) => arith::un(m, Un::Powi(n), x),
                Err(_) => arith::bin(m, Bin::Pow, x, Value::Int(*n)),
            },
            (x, n) => arith::bin(m, Bin::Pow, x, n.clone()),
        },
        P::Eq => Ok(Value::Bool(compare::equal(&args[0], &args[1])?)),
        P::Ne => Ok(Value::Bool(!compare::equal(&args[0], &args[1])?)),
        P::Lt | P::Gt | P::Le | P::Ge => {
            use std::cmp::Ordering::{Equal, Greater, Less};
            let o = compare::partial(&args[0], &args[1])?;
            Ok(Value::Bool(match p {
                P::Lt => o == Some(Less),
                P::Gt => o == Some(Greater),
                P::Le => matches!(o, Some(Less | Equal)),
                _ => matches!(o, Some(Greater | Equal)),
            }))
        }
        P::Not
        | P::EqEach
        | P::NeEach
        | P::LtEach
        | P::GtEach
        | P::LeEach
        | P::GeEach
        | P::AndEach
        | P::OrEach
        | P::Compress => masks::apply(m, p, args),
        P::IsNan => Ok(arith::test(&args[0], f64::is_nan)),
        P::IsInf => Ok(arith::test(&args[0], f64::is_infinite)),
        P::Clamp => {
            let (lo, hi, x) = (take(args, 0), take(args, 1), take(args, 2));
            let y = arith::bin(m, Bin::Max, x, lo)?;
            arith::bin(m, Bin::Min, y, hi)
        }
        P::Pi => Ok(constant(reps, std::f64::consts::PI)),
        P::E => Ok(constant(reps, std::f64::consts::E)),
        P::Inf => Ok(constant(reps, f64::INFINITY)),
        P::Nan => Ok(constant(reps, f64::NAN)),
        P::ToFloat | P::F32ToFloat => arith::convert(&args[0], Rep::Float),
        P::ToInt => arith::convert(&compare::primal(&args[0]), Rep::Int),
        P::ToF32 => arith::convert(&args[0], Rep::F32),
        P::Zeros | P::Ones => {
            let x = Value::Float(if p == P::Ones { 1.0 } else { 0.0 });
            arrays::apply(m, P::Replicate, &mut [take(args, 0), x])
        }
        P::Full => apply(m, P::Replicate, reps, args),
        P::Arange => arrays::apply(m, P::Iota, args),
        P::Map => {
            let f = take(args, 0);
            higher_order::map(m, &f, &args[1..])
        }
        P::Map2 | P::Map3 => {
            let f = take(args, 0);
            higher_order::map(m, &f, &args[1..])
        }
        P::Reduce => higher_order::reduce(m, &args[0].clone(), &args[1].clone(), &args[2].clone()),
        P::Scan => higher_order::scan(m, &args[0].clone(), &args[1].clone(), &args[2].clone(), false),
        P::ScanExclusive => higher_order::scan(m, &args[0].clone(), &args[1].clone(), &args[2].clone(), true),
        P::ReduceByIndex => higher_order::reduce_by_index(m, args),
        P::Filter => higher_order::filter(m, &args[0].clone(), &args[1].clone()),
        P::Partition => higher_order::partition(m, &args[0].clone(), &args[1].clone()),
        P::SortBy => higher_order::sort_by(m, &args[0].clone(), &args[1].clone()),
        P::Fold => higher_order::fold(m, &args[0].clone(), take(args, 1), &args[2].clone()),
        P::Foldr => higher_order::foldr(m, &args[0].clone(), take(args, 1), &args[2].clone()),
        P::Invertible => higher_order::invertible(m, &args[0].clone(), &args[1].clone(), &args[2].clone()),
        P::Zip
        | P::Zip3
        | P::Unzip
        | P::Unzip3
        | P::Scatter
        | P::ScatterWithin
        | P::Put
        | P::Gather
        | P::Iota
        | P::Replicate
        | P::Linspace
        | P::Rotate
        | P::Reverse
        | P::Concat
        | P::Append
        | P::Flatten
        | P::Reshape
        | P::Stack
        | P::Split
        | P::Take
        | P::Drop
        | P::First
        | P::Last
        | P::Len
        | P::Rank
        | P::Where
        | P::Range
        | P::Eye
        | P::Diag
        | P::TransposeArray => arrays::apply(m, p, args),
        P::Shape => Ok(arrays::shape_of(&args[0], &rep_of(reps))),
        P::Sort | P::Argsort | P::Argmin | P::Argmax => sorting::apply(InterruptFlag(&m.interrupt), p, args),
        P::Sum
        | P::Prod
        | P::Mean
        | P::Variance
        | P::Maximum
        | P::Minimum
        | P::Dot
        | P::Outer
        | P::Norm
        | P::Any
        | P::All
        | P::Trace => reduce::apply(m, p, reps, args),
        P::Cumsum | P::Cumprod => cumulative::apply(m, p, args),
        P::MatMul | P::Matmul | P::LinSolve | P::Cholesky | P::Qr | P::Lu | P::Svd | P::Eigh | P::Inv | P::Det => {
            linalg::apply(InterruptFlag(&m.interrupt), p, args)
        }
        P::RandKey | P::RandSplit | P::RandUniform | P::RandNormal | P::RandInt | P::RandPermutation => {
            random::apply(InterruptFlag(&m.interrupt), p, args)
        }
        P::Print
        | P::ReadCsv
        | P::WriteCsv
        | P::ReadNpy
        | P::WriteNpy
        | P::ReadJson
        | P::WriteJson
        | P::ReadText
        | P::WriteText
        | P::Args
        | P::Env
        | P::Time
        | P::Assert
        | P::Error
        | P::PlotSave
        | P::PlotShow
        | P::PlotWatch
        | P::Input
        | P::Warn
        | P::Display => io::apply(m, p, reps, args),
        P::Show => {
            let text = show::plain(&args[0]);
            m.poll()?;
            Ok(text::string(text))
        }
        P::StrLen
        | P::StrSlice
        | P::StrSplit
        | P::StrJoin
        | P::StrTrim
        | P::StrFind
        | P::StrReplace
        | P::StrUpper
        | P::StrLower
        | P::ParseFloat
        | P::ParseInt => text::apply(p, args),
        P::Fst => crate::vm::part(&args[0], 0),
        P::Snd => crate::vm::part(&args[0], 1),
        P::Id => Ok(take(args, 0)),
        P::Zero => Ok(rep_of(reps).zero()),
        P::Engine => crate::engine::apply(m, args),
        P::Ravel
        | P::Unravel
        | P::Jvp
        | P::Linearize
        | P::Vjp
        | P::Transpose
        | P::TransposeAt
        | P::Grad
        | P::ValueAndGrad
        | P::Jacobian
        | P::Jacfwd
        | P::Jacrev
        | P::Hessian
        | P::Hvp
        | P::StopGrad
        | P::Checkpoint
        | P::CustomJvp
        | P::CustomVjp
        | P::Gradcheck
        | P::GradWith
        | P::ValueAndGradWith
        | P::ResidualsUnder
        | P::Cost
        | P::JacobianSparse => ad::operators::apply(m, p, reps, args),
        P::Along => unreachable!("it is `map` and `__transpose` in Core"),
    }
}

/// The Int in an argument.
pub(crate) fn int(v: &Value) -> i64 {
    match v {
        Value::Int(n) => *n,
        _ => 0,
    }
}

/// A length, position or count; an error if it is negative.
fn size(v: &Value, what: &str) -> Res<usize> {
    usize::try_from(int(v))
        .map_err(|_| Error::new(codes::NEGATIVE, format!("{what} is {}, and must not be negative", int(v))))
}

/// The text of a String argument.
fn string(v: &Value) -> &str {
    match v {
        Value::Str(s) => s,
        _ => "",
    }
}

/// The length of the first axis.
fn len(v: &Value) -> usize {
    seq::len(v)
}

/// A String value.
pub(crate) fn data_text(s: &str) -> Value {
    text::string(s.to_owned())
}

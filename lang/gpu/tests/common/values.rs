//! Converts between values of the reference evaluator and of the device.

use adl_gpu::exec::Value;
use adl_gpu::{Data, Gpu, Scalar};
use adl_ir::{Lit, Ty, Val};
use std::rc::Rc;

/// Converts a value for the device.
pub fn value(gpu: &Gpu, ty: &Ty, val: &Val) -> Value {
    match val {
        Val::F64(x) => Value::Number(Lit::F64(*x)),
        Val::F32(x) => Value::Number(Lit::F32(*x)),
        Val::I64(x) => Value::Number(Lit::I64(*x)),
        Val::Bool(x) => Value::Number(Lit::Bool(*x)),
        Val::Str(x) => Value::Number(Lit::Str(x.clone())),
        // All arrays in data are of Floats in these tests.
        Val::Data(c) => {
            Value::Data(c.tag, Rc::new(c.fields.iter().map(|f| value(gpu, &Ty::F64.array(1), f)).collect()))
        }
        Val::Array(a) if ty.scalar().is_flat() => Value::Array(gpu.array(&data(ty, val), a.shape.clone()).unwrap()),
        Val::Array(a) => Value::Data(0, Rc::new(a.elems.iter().map(|f| value(gpu, &ty.elem(), f)).collect())),
        Val::SymbolicZero | Val::Deps(_) => Value::SymbolicZero,
    }
}

fn data(ty: &Ty, v: &Val) -> Data {
    let leaves = v.leaves();
    match Scalar::of(ty.scalar()).unwrap() {
        Scalar::F64 => Data::F64(leaves.iter().filter_map(|v| v.float()).collect()),
        Scalar::F32 => Data::F32(leaves.iter().filter_map(|v| v.float()).map(|x| x as f32).collect()),
        Scalar::I64 => {
            Data::I64(leaves.iter().filter_map(|v| if let Val::I64(n) = v { Some(*n) } else { None }).collect())
        }
        Scalar::Bool | Scalar::Word => Data::Bool(leaves.iter().map(|v| **v == Val::Bool(true)).collect()),
    }
}

/// All scalars of a device value.
pub fn numbers(gpu: &Gpu, v: &Value) -> Vec<f64> {
    match v {
        Value::Number(Lit::F64(x)) => vec![*x],
        Value::Number(Lit::F32(x)) => vec![f64::from(*x)],
        Value::Number(Lit::I64(n)) => vec![*n as f64],
        Value::Number(Lit::Bool(b)) => vec![f64::from(u8::from(*b))],
        Value::Number(Lit::Str(_)) | Value::SymbolicZero => Vec::new(),
        Value::Ints(x) => x.iter().map(|n| *n as f64).collect(),
        Value::Data(_, fields) => fields.iter().flat_map(|f| numbers(gpu, f)).collect(),
        Value::Array(a) => match gpu.read(a).unwrap() {
            Data::F64(x) => x,
            Data::F32(x) => x.iter().map(|x| f64::from(*x)).collect(),
            Data::I64(x) => x.iter().map(|x| *x as f64).collect(),
            Data::Bool(x) => x.iter().map(|x| f64::from(u8::from(*x))).collect(),
            Data::Word(x) => x.iter().map(|x| f64::from(*x)).collect(),
        },
    }
}

/// All scalars of an evaluator value.
pub fn wanted(v: &Val) -> Vec<f64> {
    let one = |v: &&Val| match v {
        Val::I64(n) => Some(*n as f64),
        Val::Bool(b) => Some(f64::from(u8::from(*b))),
        other => other.float(),
    };
    v.leaves().iter().filter_map(one).collect()
}

/// Checks that results agree approximately.
pub fn agree(gpu: &Gpu, what: &str, got: &[Value], want: &[Val]) {
    for (k, (g, w)) in got.iter().zip(want).enumerate() {
        let (g, w) = (numbers(gpu, g), wanted(w));
        // A symbolic zero on one side may be materialised on the other.
        let zero = |x: &[f64], y: &[f64]| x.is_empty() && y.iter().all(|y| *y == 0.0);
        let near = g.len() == w.len()
            && g.iter()
                .zip(&w)
                .all(|(a, b)| (a - b).abs() <= 1e-10 * b.abs().max(1.0) || a == b || a.is_nan() && b.is_nan());
        assert!(near || zero(&g, &w) || zero(&w, &g), "{what}, result {k}: {g:?} instead of {w:?}");
    }
}

/// A cotangent of the shape of a value.
pub fn like(v: &Val) -> Val {
    match v {
        Val::F64(x) => Val::F64(0.5 + 0.25 * x),
        Val::Array(a) => Val::array(a.shape.clone(), a.elems.iter().map(like).collect()),
        other => other.clone(),
    }
}

/// Whether a value consists of Floats only, so that these tests can make a cotangent.
pub fn plain(v: &Val) -> bool {
    v.arr().is_none_or(|a| a.elems.iter().all(|x| matches!(x, Val::F64(_)))) && !matches!(v, Val::Data(_))
}

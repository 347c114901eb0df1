//! Packed forms of boxed Float arrays.
//!
//! Loops store residuals in boxes, because each iteration's residual may have a different shape. In practice
//! the shapes mostly agree, and native code then packs them into one buffer: a value of type `[]([]f64)` is
//! represented by a matrix. If rows have different lengths, it is represented by a pair ([`ragged`]). Only
//! native code reads packed values. Values are unpacked ([`unpack`]) wherever they leave native code, except
//! residuals that are only passed back to native code.

pub use crate::limits::ir_boxes::LARGEST;
use crate::polling;
use crate::value::{Buf, Shape, Tuple, Value, array};
use adl_ir::Ty;
use std::rc::Rc;

/// Number of nested box axes above an array of Floats: 1 for `[]([]f64)`.
pub fn boxes(ty: &Ty) -> usize {
    let (mut n, mut ty) = (0, ty);
    while let Ty::Array(e, 1) = ty {
        match &**e {
            inner @ Ty::Array(..) => (n, ty) = (n + 1, inner),
            Ty::F64 => return n,
            Ty::F32 | Ty::I64 | Ty::Bool | Ty::Str | Ty::Data(_) => return 0,
        }
    }
    if *ty.scalar() == Ty::F64 { n } else { 0 }
}

/// Packed rows of different lengths: all their elements, and the offset at which each row begins, followed by
/// the end of the last row.
pub fn ragged(numbers: Value, starts: Value) -> Value {
    Value::Tuple(Rc::new(Tuple(vec![numbers, starts])))
}

/// The elements and the row offsets of a value made by [`ragged`].
pub fn parts(v: &Value) -> Option<(&[f64], &[i64])> {
    let Value::Tuple(t) = v else { return None };
    match &t.0[..] {
        [Value::Array(x), Value::Array(starts)] => match (x.buf(), starts.buf()) {
            (Buf::F64(x), Buf::I64(starts)) => Some((x, starts)),
            _ => None,
        },
        _ => None,
    }
}

/// Unpacks a value with `boxes` box axes into nested boxed arrays.
pub fn unpack(value: Value, boxes: usize) -> Value {
    if let Some((x, starts)) = parts(&value) {
        let row = |w: &[i64]| array::floats(polling::cloned(&x[w[0] as usize..w[1] as usize]));
        let rows: Vec<Value> = starts.windows(2).map(row).collect();
        return array::make(Shape::from_slice(&[rows.len()]), Buf::Boxed(rows));
    }
    let Value::Array(a) = &value else { return value };
    if boxes == 0 {
        return value;
    }
    let rows: Vec<Value> = match a.buf() {
        Buf::Boxed(_) if boxes == 1 => return value,
        Buf::Boxed(rows) => rows.iter().map(|r| unpack(r.clone(), boxes - 1)).collect(),
        Buf::F64(x) if a.shape.len() > boxes => {
            let shape: Shape = a.shape[1..].into();
            let n: usize = shape.iter().product();
            (0..a.shape[0])
                .map(|i| {
                    unpack(array::make(shape.clone(), Buf::F64(polling::cloned(&x[i * n..(i + 1) * n]))), boxes - 1)
                })
                .collect()
        }
        Buf::F64(_) | Buf::F32(_) | Buf::I64(_) | Buf::Bool(_) | Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => {
            return value;
        }
    };
    array::make(Shape::from_slice(&[rows.len()]), Buf::Boxed(rows))
}

/// Packs a value with `boxes` box axes into one flat array, if it is not empty and all inner arrays have the
/// same shape.
pub fn pack(v: &Value, boxes: usize) -> Option<Value> {
    let Value::Array(a) = v else { return None };
    let Buf::Boxed(rows) = a.buf() else { return None };
    if boxes == 0 || a.shape.len() != 1 {
        return None;
    }
    let (mut shape, mut out): (Option<Shape>, Vec<f64>) = (None, Vec::new());
    for row in rows {
        let packed = if boxes > 1 { pack(row, boxes - 1) } else { None };
        let Value::Array(r) = packed.as_ref().unwrap_or(row) else { return None };
        let Buf::F64(numbers) = r.buf() else { return None };
        if numbers.len() > LARGEST {
            return None;
        }
        match &shape {
            None => {
                out.try_reserve(numbers.len().checked_mul(rows.len())?).ok()?;
                shape = Some(r.shape.clone());
            }
            Some(s) if *s == r.shape => {}
            Some(_) => return None,
        }
        polling::append(&mut out, numbers);
    }
    let all = std::iter::once(rows.len()).chain(shape?).collect();
    Some(array::make(all, Buf::F64(out)))
}

//! Bytes of residuals that are there.

use super::Road;
use crate::value::{Array, Buf, Value};
use adl_ir::{DataId, Program, Ty};
use std::collections::BTreeSet;

impl Road {
    /// Bytes of a primal half's residuals: the same sum that profiles predict.
    pub(super) fn bytes_of(&self, boxes: &BTreeSet<DataId>, tys: &[Ty], residuals: &[Value]) -> u64 {
        tys.iter().zip(residuals).map(|(t, v)| bytes(&self.program, boxes, t, v)).sum()
    }
}

/// Numbers count with their width, data and text as references; what functions keep that call themselves (`boxes`) is opened.
fn bytes(p: &Program, boxes: &BTreeSet<DataId>, ty: &Ty, v: &Value) -> u64 {
    let mut todo: Vec<(Ty, Value)> = vec![(ty.clone(), v.clone())];
    let mut sum = 0;
    while let Some((ty, v)) = todo.pop() {
        match (&ty, &v) {
            (Ty::Array(..), Value::Zero) => {}
            (Ty::Array(e, _), Value::Array(a)) => match &a.buf {
                Buf::Boxed(vs) => todo.extend(vs.iter().map(|v| ((**e).clone(), v.clone()))),
                _ => sum += flat(a),
            },
            (Ty::Data(d), Value::Data(x)) if boxes.contains(d) => {
                sum += 8;
                let fields = p.data(*d).cons.get(x.con.tag as usize).map(|c| c.1.clone()).unwrap_or_default();
                todo.extend(fields.into_iter().zip(x.fields.iter().cloned()));
            }
            (Ty::F32, _) => sum += 4,
            (Ty::Bool, _) => sum += 1,
            _ => sum += 8,
        }
    }
    sum
}

fn flat(a: &Array) -> u64 {
    let n = a.shape.iter().product::<usize>() as u64;
    match &a.buf {
        Buf::F64(_) | Buf::I64(_) => 8 * n,
        Buf::F32(_) => 4 * n,
        Buf::Bool(_) => n,
        Buf::Unit => 0,
        Buf::Boxed(_) | Buf::Tuple(_) | Buf::Record(..) => 8 * n,
    }
}

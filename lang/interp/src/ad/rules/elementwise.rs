//! Derivative rules of elementwise arithmetic with broadcasting.

use super::{Add, Elementwise, ElementwiseOperand, Partial, Rule, View, total, zeros};
use crate::error::Res;
use crate::ops::arith;
use crate::upcalls::Upcalls;
use crate::value::{Value, seq};
use adl_prim::Bin;

impl ElementwiseOperand {
    /// Builds an operand from its value, the partial derivative, and whether it is traced.
    pub(crate) fn new(x: &Value, traced: bool, partial: Partial) -> ElementwiseOperand {
        ElementwiseOperand {
            partial: if traced { partial } else { Partial::Constant },
            scalar: seq::shape(x).is_none(),
        }
    }
}

impl Rule for Elementwise {
    fn pull(&self, m: &mut dyn Upcalls, cts: &[Value], add: Add) -> Res<()> {
        for (k, o) in self.operands.iter().enumerate() {
            let g = match &o.partial {
                Partial::Constant => continue,
                Partial::One => cts[0].clone(),
                Partial::By(p) => masked_mul(m, cts[0].clone(), p.clone())?,
            };
            let g = if o.scalar && self.out.is_some() { total(m, g)? } else { g };
            add(m, k, g)?;
        }
        Ok(())
    }

    fn push(&self, machine: &mut dyn Upcalls, tangents: &[Value]) -> Res<Vec<Value>> {
        let mut sum = Value::Zero;
        for (o, t) in self.operands.iter().zip(tangents) {
            if matches!(t, Value::Zero) {
                continue;
            }
            let mut x = match &o.partial {
                Partial::Constant => continue,
                Partial::One => t.clone(),
                Partial::By(p) => masked_mul(machine, t.clone(), p.clone())?,
            };
            if o.scalar && self.out.is_some() && seq::shape(&x).is_none() {
                let z = zeros(&self.out, &x)?;
                x = arith::bin(machine, Bin::Add, z, x)?;
            }
            sum = arith::bin(machine, Bin::Add, sum, x)?;
        }
        Ok(vec![sum])
    }
    fn view(&self) -> View<'_> {
        View::Elementwise(self)
    }
}

/// `ct * partial`, which is 0 if either factor is 0. An element that was not selected has a zero cotangent, and
/// its partial derivative may be infinite.
pub(super) fn masked_mul(m: &mut dyn Upcalls, ct: Value, p: Value) -> Res<Value> {
    if matches!(&ct, Value::Float(x) if *x == 0.0) && !matches!(p, Value::Array(_) | Value::Dual(_)) {
        return Ok(Value::Zero);
    }
    arith::bin(m, Bin::ScaleTangent, p, ct)
}

//! The derivative of a collective on a tape: it is linear, and its transpose is another collective.

use super::CollectiveSite;
use crate::ad::tape::Rule;
use crate::error::Res;
use crate::ops::arith;
use crate::upcalls::Upcalls;
use crate::value::{Buf, Shape, Value, array, seq};
use adl_ir::Collective;
use adl_prim::Bin;

pub(super) struct CollectiveRule {
    pub kind: Collective,
    pub at: Value,
    /// The shapes of the results; `None` for numbers.
    pub outs: Vec<Option<Shape>>,
    pub site: CollectiveSite,
}

/// The cotangent of an array may be a number, if all its elements are equal. Other ranks need its shape.
fn with_shape(m: &mut dyn Upcalls, ct: &Value, shape: Option<&Shape>) -> Res<Value> {
    match shape {
        Some(shape) if !matches!(ct, Value::Zero) && seq::shape(ct).is_none() => {
            let zeros = array::make(shape.clone(), Buf::F64(array::filled(0.0, array::count(shape)?)?));
            arith::bin(m, Bin::Add, zeros, ct.clone())
        }
        _ => Ok(ct.clone()),
    }
}

impl Rule for CollectiveRule {
    fn pull(
        &self,
        upcalls: &mut dyn Upcalls,
        cts: &[Value],
        add: &mut dyn FnMut(&mut dyn Upcalls, usize, Value) -> Res<()>,
    ) -> Res<()> {
        let at = match (self.kind, &self.at) {
            (Collective::Shift, Value::Int(k)) => Value::Int(k.wrapping_neg()),
            (_, at) => at.clone(),
        };
        let shaped = cts.iter().zip(&self.outs).map(|(ct, shape)| with_shape(upcalls, ct, shape.as_ref()));
        let cts = shaped.collect::<Res<Vec<_>>>()?;
        let outs = upcalls.collective(self.kind.transposed(), cts, &at, self.site)?;
        outs.into_iter().enumerate().try_for_each(|(k, v)| add(upcalls, k, v))
    }

    fn push(&self, m: &mut dyn Upcalls, tangents: &[Value]) -> Res<Vec<Value>> {
        m.collective(self.kind, tangents.to_vec(), &self.at, self.site)
    }

    /// Another rank may have a cotangent where this one has none.
    fn always(&self) -> bool {
        true
    }
}

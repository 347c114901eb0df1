//! The operations on single scalars of a run, in the order of evaluation.

use super::run_state::{EngineResult, EngineStop, MAX_NODES};
use crate::ad::tape::NONE;
use crate::value::Value;

/// An operation: `dy = da * dx_a + db * dx_b`. `b` may be [`NONE`].
#[derive(Clone, Debug)]
pub(super) struct GraphOp<V> {
    pub a: u32,
    pub da: V,
    pub b: u32,
    pub db: V,
}

/// A graph of scalar operations. Identifiers count the inputs first, then the operations.
pub(super) struct Graph<V> {
    pub inputs: usize,
    pub ops: Vec<GraphOp<V>>,
    /// The result; [`NONE`] if it depends on no input.
    pub output: u32,
}

impl Graph<Value> {
    /// Adds an operation, some of whose operands may be constants. The result is a constant if all operands
    /// are.
    pub fn op(&mut self, a: u32, da: Value, b: u32, db: Value) -> EngineResult<u32> {
        let op = match (a, b) {
            (NONE, NONE) => return Ok(NONE),
            (NONE, b) => GraphOp { a: b, da: db, b: NONE, db: Value::Float(0.0) },
            (a, b) => GraphOp { a, da, b, db },
        };
        if self.ops.len() >= MAX_NODES {
            return Err(EngineStop::Limit(format!("the run has more than {MAX_NODES} operations on single numbers")));
        }
        self.ops.push(op);
        Ok((self.inputs + self.ops.len() - 1) as u32)
    }

    /// A linear combination, as binary operations.
    pub fn combination(&mut self, terms: &[(u32, Value)]) -> EngineResult<u32> {
        let mut terms = terms.iter().filter(|t| t.0 != NONE);
        let Some((a, da)) = terms.next() else { return Ok(NONE) };
        let Some((b, db)) = terms.next() else { return self.op(*a, da.clone(), NONE, Value::Float(0.0)) };
        let mut sum = self.op(*a, da.clone(), *b, db.clone())?;
        for (c, dc) in terms {
            sum = self.op(sum, Value::Float(1.0), *c, dc.clone())?;
        }
        Ok(sum)
    }

    /// A sum.
    pub fn sum(&mut self, ids: impl Iterator<Item = u32>) -> EngineResult<u32> {
        let mut ids = ids.filter(|i| *i != NONE);
        let Some(mut sum) = ids.next() else { return Ok(NONE) };
        for i in ids {
            sum = self.op(sum, Value::Float(1.0), i, Value::Float(1.0))?;
        }
        Ok(sum)
    }

    /// Converts to a graph with plain floats, if all partial derivatives are plain floats.
    pub fn floats(self) -> Result<Graph<f64>, Graph<Value>> {
        let plain = |v: &Value| match v {
            Value::Float(x) => Some(*x),
            _ => None,
        };
        let ops: Option<Vec<GraphOp<f64>>> =
            self.ops.iter().map(|o| Some(GraphOp { a: o.a, da: plain(&o.da)?, b: o.b, db: plain(&o.db)? })).collect();
        match ops {
            Some(ops) => Ok(Graph { inputs: self.inputs, ops, output: self.output }),
            None => Err(self),
        }
    }
}

//! Sums of comprehensions: nested sums, one for each index, the innermost first. Each adds its terms in the
//! order of `sum` of an array, however the terms are computed, so that all executors produce the same bits.

use super::arith;
use super::kernels::Adder;
use crate::error::Res;
use crate::upcalls::Upcalls;
use crate::value::Value;
use adl_prim::{Bin, ReductionFn};

/// Accumulates terms that are given one after the other; the last index varies fastest.
pub(super) struct Sums {
    /// The sums over the indices, the innermost last.
    levels: Vec<SumLevel>,
}

struct SumLevel {
    /// The total number of terms, and the number so far.
    extent: usize,
    count: usize,
    sum: Sum,
}

enum Sum {
    None,
    Floats(Adder),
    /// F32 numbers are added as Floats.
    Singles(f64),
    Other(Value),
}

impl Sums {
    /// A sum over indices with these extents, none of which is 0.
    pub(super) fn over(shape: &[usize]) -> Sums {
        Sums { levels: shape.iter().map(|n| SumLevel { extent: *n, count: 0, sum: Sum::None }).collect() }
    }

    /// Adds one term.
    pub(super) fn one(&mut self, m: &mut dyn Upcalls, v: Value) -> Res<()> {
        let depth = self.levels.len();
        self.add(m, depth, v)?;
        self.close(m)
    }

    fn add(&mut self, machine: &mut dyn Upcalls, depth: usize, value: Value) -> Res<()> {
        let Some(level) = depth.checked_sub(1).and_then(|k| self.levels.get_mut(k)) else { return Ok(()) };
        level.count += 1;
        level.sum = match (std::mem::replace(&mut level.sum, Sum::None), value) {
            (Sum::None, Value::Float(x)) => Sum::Floats(Adder::of(x)),
            (Sum::Floats(mut a), Value::Float(x)) => {
                a.push(x);
                Sum::Floats(a)
            }
            (Sum::None, Value::F32(x)) => Sum::Singles(f64::from(x)),
            (Sum::Singles(s), Value::F32(x)) => Sum::Singles(s + f64::from(x)),
            (Sum::None, v) => Sum::Other(v),
            (before, v) => match before.value() {
                Some(before) => Sum::Other(arith::bin(machine, Bin::Add, before, v)?),
                None => Sum::Other(v),
            },
        };
        Ok(())
    }

    /// Adds completed inner sums to the sums around them.
    fn close(&mut self, m: &mut dyn Upcalls) -> Res<()> {
        for k in (1..self.levels.len()).rev() {
            if self.levels[k].count < self.levels[k].extent {
                break;
            }
            self.levels[k].count = 0;
            if let Some(v) = std::mem::replace(&mut self.levels[k].sum, Sum::None).value() {
                self.add(m, k, v)?;
            }
        }
        Ok(())
    }

    /// The sum, if there was a term.
    pub(super) fn total(mut self) -> Option<Value> {
        if self.levels.is_empty() { None } else { self.levels.swap_remove(0).sum.value() }
    }
}

/// The sum itself, or for `mean` the quotient by the number of terms.
pub(super) fn mean(m: &mut dyn Upcalls, p: ReductionFn, sum: Value, n: usize) -> Res<Value> {
    if p == ReductionFn::Mean { arith::bin(m, Bin::Div, sum, Value::Float(n as f64)) } else { Ok(sum) }
}

impl Sum {
    fn value(self) -> Option<Value> {
        match self {
            Sum::None => None,
            Sum::Floats(a) => Some(Value::Float(a.total())),
            Sum::Singles(s) => Some(Value::F32(s as f32)),
            Sum::Other(v) => Some(v),
        }
    }
}

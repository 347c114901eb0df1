//! The state that all engines share during a run: scalars, counters, limits.

use crate::error::{Error, Res, codes};
pub(super) use crate::limits::engine_run_state::{MAX_CALLS, MAX_NODES, MAX_OPERATIONS};
use crate::ops::arith;
use crate::upcalls::Upcalls;
use crate::value::Value;
use adl_prim::Bin;
use std::marker::PhantomData;

/// The counts of an engine.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct EngineCounts {
    /// Operations on traced scalars.
    pub primal: u64,
    /// Operations of the backward pass.
    pub backward: u64,
    /// Calls of backpropagators.
    pub calls: u64,
    /// Bytes in use, and their maximum.
    pub bytes: u64,
    pub peak: u64,
}

impl EngineCounts {
    /// Counts allocated memory.
    pub fn hold(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.peak = self.peak.max(self.bytes);
    }

    /// Counts released memory.
    pub fn release(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes as u64);
    }
}

/// Why an engine did not compute a gradient.
pub(super) enum EngineStop {
    /// An error in the program.
    Error(Box<Error>),
    /// A limit of the engine was exceeded.
    Limit(String),
    /// The engine does not support the function.
    Unsupported(String),
}

/// The result of an engine's work.
pub(super) type EngineResult<T> = Result<T, EngineStop>;

impl From<Box<Error>> for EngineStop {
    fn from(e: Box<Error>) -> EngineStop {
        EngineStop::Error(e)
    }
}

impl EngineStop {
    /// One word, for a table.
    pub fn status(&self) -> &'static str {
        match self {
            EngineStop::Error(_) => "error",
            EngineStop::Limit(_) => "limit",
            EngineStop::Unsupported(_) => "unsupported",
        }
    }

    /// Converts it to a run-time error.
    pub fn error(self, engine: &str) -> Box<Error> {
        match self {
            EngineStop::Error(e) => e,
            EngineStop::Limit(why) => Error::new(codes::ENGINE_LIMIT, format!("the engine `{engine}` gave up: {why}"))
                .hint("`grad` has no such limit"),
            EngineStop::Unsupported(why) => Error::new(
                codes::ENGINE_CANNOT,
                format!("the engine `{engine}` cannot differentiate this function: {why}"),
            ),
        }
    }
}

/// The arithmetic of cotangents.
pub(super) trait Field: 'static {
    /// A scalar.
    type V: Clone + 'static;
    /// A partial derivative times a cotangent; 0 if the cotangent is 0, whatever the derivative is.
    fn times(m: &mut dyn Upcalls, partial: &Self::V, z: &Self::V) -> Res<Self::V>;
    /// The sum.
    fn plus(m: &mut dyn Upcalls, a: &Self::V, b: &Self::V) -> Res<Self::V>;
    /// A constant.
    fn constant(x: f64) -> Self::V;
    /// Converts a scalar to a value.
    fn value(v: Self::V) -> Value;
}

/// Scalars of a field.
pub(super) type V<F> = <F as Field>::V;

/// Plain floats.
pub(super) struct Floats;

impl Field for Floats {
    type V = f64;
    fn times(_: &mut dyn Upcalls, partial: &f64, z: &f64) -> Res<f64> {
        Ok(if *z == 0.0 { 0.0 } else { partial * z })
    }
    fn plus(_: &mut dyn Upcalls, a: &f64, b: &f64) -> Res<f64> {
        Ok(a + b)
    }
    fn constant(x: f64) -> f64 {
        x
    }
    fn value(v: f64) -> Value {
        Value::Float(v)
    }
}

/// Floats that an outer derivative may trace.
pub(super) struct Traced;

impl Field for Traced {
    type V = Value;
    fn times(m: &mut dyn Upcalls, partial: &Value, z: &Value) -> Res<Value> {
        match z {
            Value::Float(z) if *z == 0.0 => Ok(Value::Float(0.0)),
            z => arith::bin(m, Bin::Mul, partial.clone(), z.clone()),
        }
    }
    fn plus(m: &mut dyn Upcalls, a: &Value, b: &Value) -> Res<Value> {
        arith::bin(m, Bin::Add, a.clone(), b.clone())
    }
    fn constant(x: f64) -> Value {
        Value::Float(x)
    }
    fn value(v: Value) -> Value {
        v
    }
}

/// The state of a running engine.
pub(super) struct EngineRun<'m, F> {
    machine: &'m mut dyn Upcalls,
    pub counts: EngineCounts,
    field: PhantomData<F>,
}

impl<'m, F: Field> EngineRun<'m, F> {
    pub fn new(machine: &'m mut dyn Upcalls, counts: EngineCounts) -> EngineRun<'m, F> {
        EngineRun { machine, counts, field: PhantomData }
    }

    /// Counts operations.
    pub fn work(&mut self, n: usize) -> EngineResult<()> {
        let before = self.counts.backward;
        self.counts.backward += n as u64;
        if before >> 16 != self.counts.backward >> 16 {
            self.machine.poll()?;
        }
        if self.counts.backward > MAX_OPERATIONS {
            return Err(EngineStop::Limit(format!("its backward pass takes more than {MAX_OPERATIONS} operations")));
        }
        Ok(())
    }

    /// Counts a call of a backpropagator.
    pub fn call(&mut self) -> EngineResult<()> {
        self.counts.calls += 1;
        if self.counts.calls & 0xffff == 0 {
            self.machine.poll()?;
        }
        Ok(())
    }

    pub fn times(&mut self, partial: &V<F>, z: &V<F>) -> EngineResult<V<F>> {
        self.work(1)?;
        Ok(F::times(self.machine, partial, z)?)
    }

    pub fn plus(&mut self, a: &V<F>, b: &V<F>) -> EngineResult<V<F>> {
        self.work(1)?;
        Ok(F::plus(self.machine, a, b)?)
    }

    /// A dense zero cotangent of the input.
    pub fn zeros(&mut self, n: usize) -> EngineResult<Vec<V<F>>> {
        self.work(n)?;
        self.counts.hold(n * size_of::<V<F>>());
        Ok(vec![F::constant(0.0); n])
    }

    /// The sum of two dense cotangents.
    pub fn plus_all(&mut self, mut a: Vec<V<F>>, b: Vec<V<F>>) -> EngineResult<Vec<V<F>>> {
        self.work(a.len())?;
        for (x, y) in a.iter_mut().zip(&b) {
            *x = F::plus(self.machine, x, y)?;
        }
        self.counts.release(b.len() * size_of::<V<F>>());
        Ok(a)
    }

    /// Counts a closure that lives until the end, including its reference counts.
    pub fn closure<T>(&mut self, _: &T) {
        self.counts.hold(size_of::<T>() + 2 * size_of::<usize>());
    }
}

/// The depth of a balanced map with the given number of entries.
pub(super) fn levels(entries: usize) -> usize {
    (usize::BITS - entries.leading_zeros()).max(1) as usize
}

/// Backpropagators in the order of their identifiers. They are dropped from the last to the first, which avoids
/// recursive drops of long chains.
pub(super) struct Backpropagators<B>(pub Vec<B>);

impl<B> Drop for Backpropagators<B> {
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}

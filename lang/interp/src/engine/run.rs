//! What all engines share while they run: their numbers, counters, limits.

use crate::error::{Error, Res, codes};
use crate::ops::arith;
use crate::value::Value;
use crate::vm::Machine;
use adl_prim::Bin;
use std::marker::PhantomData;

/// Calls of backpropagators after which `Naive` gives up. The other engines call each once.
pub(super) const MAX_CALLS: u64 = 1 << 20;
/// Operations of a backward pass after which an engine gives up.
pub(super) const MAX_OPERATIONS: u64 = 1 << 27;
/// Operations on single numbers that a run may have.
pub(super) const MAX_NODES: usize = 1 << 22;

/// What an engine has counted.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counts {
    /// Operations on traced numbers.
    pub primal: u64,
    /// Operations of the backward pass.
    pub backward: u64,
    /// Calls of backpropagators.
    pub calls: u64,
    /// Bytes in use, and the most there were.
    pub bytes: u64,
    pub peak: u64,
}

impl Counts {
    /// Memory that is taken.
    pub fn hold(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.peak = self.peak.max(self.bytes);
    }

    /// Memory that is given back.
    pub fn release(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes as u64);
    }
}

/// Why an engine has no gradient.
pub(super) enum Stop {
    /// An error of the program.
    Error(Box<Error>),
    /// More work than it may do.
    Limit(String),
    /// Not for this engine.
    Unsupported(String),
}

/// Result of an engine's work.
pub(super) type Out<T> = Result<T, Stop>;

impl From<Box<Error>> for Stop {
    fn from(e: Box<Error>) -> Stop {
        Stop::Error(e)
    }
}

impl Stop {
    /// A word for a table.
    pub fn status(&self) -> &'static str {
        match self {
            Stop::Error(_) => "error",
            Stop::Limit(_) => "limit",
            Stop::Unsupported(_) => "unsupported",
        }
    }

    /// As a run-time error.
    pub fn error(self, engine: &str) -> Box<Error> {
        match self {
            Stop::Error(e) => e,
            Stop::Limit(why) => Error::new(codes::ENGINE_LIMIT, format!("the engine `{engine}` gave up: {why}")).hint("`grad` has no such limit"),
            Stop::Unsupported(why) => Error::new(codes::ENGINE_CANNOT, format!("the engine `{engine}` cannot differentiate this function: {why}")),
        }
    }
}

/// Cotangents.
pub(super) trait Field: 'static {
    /// A number.
    type V: Clone + 'static;
    /// A partial derivative times a cotangent; a cotangent of 0 gives 0, whatever the derivative is.
    fn times(m: &mut Machine, partial: &Self::V, z: &Self::V) -> Res<Self::V>;
    /// The sum.
    fn plus(m: &mut Machine, a: &Self::V, b: &Self::V) -> Res<Self::V>;
    /// A constant.
    fn constant(x: f64) -> Self::V;
    /// As a value.
    fn value(v: Self::V) -> Value;
}

/// Numbers of a field.
pub(super) type V<F> = <F as Field>::V;

/// Floats.
pub(super) struct Floats;

impl Field for Floats {
    type V = f64;
    fn times(_: &mut Machine, partial: &f64, z: &f64) -> Res<f64> {
        Ok(if *z == 0.0 { 0.0 } else { partial * z })
    }
    fn plus(_: &mut Machine, a: &f64, b: &f64) -> Res<f64> {
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
    fn times(m: &mut Machine, partial: &Value, z: &Value) -> Res<Value> {
        match z {
            Value::Float(z) if *z == 0.0 => Ok(Value::Float(0.0)),
            z => arith::bin(m, Bin::Mul, partial.clone(), z.clone()),
        }
    }
    fn plus(m: &mut Machine, a: &Value, b: &Value) -> Res<Value> {
        arith::bin(m, Bin::Add, a.clone(), b.clone())
    }
    fn constant(x: f64) -> Value {
        Value::Float(x)
    }
    fn value(v: Value) -> Value {
        v
    }
}

/// An engine at work.
pub(super) struct Run<'m, F> {
    machine: &'m mut Machine,
    pub counts: Counts,
    field: PhantomData<F>,
}

impl<'m, F: Field> Run<'m, F> {
    pub fn new(machine: &'m mut Machine, counts: Counts) -> Run<'m, F> {
        Run { machine, counts, field: PhantomData }
    }

    /// Counts operations.
    pub fn work(&mut self, n: usize) -> Out<()> {
        let before = self.counts.backward;
        self.counts.backward += n as u64;
        if before >> 16 != self.counts.backward >> 16 {
            self.machine.poll()?;
        }
        if self.counts.backward > MAX_OPERATIONS {
            return Err(Stop::Limit(format!("its backward pass takes more than {MAX_OPERATIONS} operations")));
        }
        Ok(())
    }

    /// Counts a call of a backpropagator.
    pub fn call(&mut self) -> Out<()> {
        self.counts.calls += 1;
        if self.counts.calls & 0xffff == 0 {
            self.machine.poll()?;
        }
        Ok(())
    }

    pub fn times(&mut self, partial: &V<F>, z: &V<F>) -> Out<V<F>> {
        self.work(1)?;
        Ok(F::times(self.machine, partial, z)?)
    }

    pub fn plus(&mut self, a: &V<F>, b: &V<F>) -> Out<V<F>> {
        self.work(1)?;
        Ok(F::plus(self.machine, a, b)?)
    }

    /// A dense cotangent of the whole input.
    pub fn zeros(&mut self, n: usize) -> Out<Vec<V<F>>> {
        self.work(n)?;
        self.counts.hold(n * size_of::<V<F>>());
        Ok(vec![F::constant(0.0); n])
    }

    /// The sum of two dense cotangents.
    pub fn plus_all(&mut self, mut a: Vec<V<F>>, b: Vec<V<F>>) -> Out<Vec<V<F>>> {
        self.work(a.len())?;
        for (x, y) in a.iter_mut().zip(&b) {
            *x = F::plus(self.machine, x, y)?;
        }
        self.counts.release(b.len() * size_of::<V<F>>());
        Ok(a)
    }

    /// Counts a closure that lives to the end, with the counter of its owners.
    pub fn closure<T>(&mut self, _: &T) {
        self.counts.hold(size_of::<T>() + 2 * size_of::<usize>());
    }
}

/// Levels of a balanced map of so many entries.
pub(super) fn levels(entries: usize) -> usize {
    (usize::BITS - entries.leading_zeros()).max(1) as usize
}

/// Backpropagators in the order of their identifiers. They are dropped from the last to the first, so that none drops a chain of others.
pub(super) struct Made<B>(pub Vec<B>);

impl<B> Drop for Made<B> {
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}

//! Sections 5 to 7: a backpropagator returns an *update* of the collected cotangents, so that only the updated
//! position is touched. Zero becomes the identity, and addition becomes composition. The representation of
//! collected cotangents and of staged calls is given by a [`Collect`].

use super::graph::{Graph, GraphOp};
use super::run_state::{Backpropagators, EngineResult, EngineRun, Field, V};
use crate::ad::tape::NONE;
use crate::value::Value;
use std::rc::Rc;

/// An update of the collected cotangents and of the staged calls.
pub(super) type Update<F, S> = Box<dyn FnOnce(&mut EngineRun<'_, F>, S) -> EngineResult<S>>;

/// A backpropagator.
pub(super) struct CayleyBackpropagator<F: Field, S>(
    Rc<dyn Fn(&mut EngineRun<'_, F>, V<F>) -> EngineResult<Update<F, S>>>,
);

impl<F: Field, S> Clone for CayleyBackpropagator<F, S> {
    fn clone(&self) -> CayleyBackpropagator<F, S> {
        CayleyBackpropagator(self.0.clone())
    }
}

/// The collected cotangents of the input, and the staged calls of backpropagators.
pub(super) trait Collect<F: Field>: Sized + 'static {
    /// The initial state, for an input `x` with `inputs` scalars and `made` backpropagators in all.
    fn new(run: &mut EngineRun<'_, F>, x: &Value, inputs: usize, made: usize) -> EngineResult<Self>;
    /// Stages a call; calls of the same backpropagator are merged.
    fn stage(
        self,
        run: &mut EngineRun<'_, F>,
        id: u32,
        back: CayleyBackpropagator<F, Self>,
        z: V<F>,
    ) -> EngineResult<Self>;
    /// Adds to one scalar of the input's cotangent.
    fn add(self, run: &mut EngineRun<'_, F>, input: usize, z: V<F>) -> EngineResult<Self>;
    /// Takes the staged call with the highest identifier.
    fn next(&mut self, run: &mut EngineRun<'_, F>) -> EngineResult<Option<(CayleyBackpropagator<F, Self>, V<F>)>>;
    /// The cotangents of the input's scalars.
    fn collected(self, run: &mut EngineRun<'_, F>) -> EngineResult<Vec<V<F>>>;
}

/// The gradient, as the scalars of the input in order.
pub(super) fn gradient<F: Field, S: Collect<F>>(
    run: &mut EngineRun<'_, F>,
    graph: &Graph<V<F>>,
    point: &Value,
) -> EngineResult<Vec<V<F>>> {
    let mut made: Backpropagators<CayleyBackpropagator<F, S>> =
        Backpropagators(Vec::with_capacity(graph.inputs + graph.ops.len()));
    for i in 0..graph.inputs {
        made.0.push(input(run, i));
    }
    for o in &graph.ops {
        let back = operation(run, &made.0, o);
        made.0.push(back);
    }
    let mut s = S::new(run, point, graph.inputs, made.0.len())?;
    if graph.output != NONE {
        s = s.stage(run, graph.output, made.0[graph.output as usize].clone(), F::constant(1.0))?;
    }
    while let Some((back, z)) = s.next(run)? {
        s = (back.0)(run, z)?(run, s)?;
    }
    s.collected(run)
}

/// The update that stages a call.
fn later<F: Field, S: Collect<F>>(id: u32, back: CayleyBackpropagator<F, S>, z: V<F>) -> Update<F, S> {
    Box::new(move |run, s| s.stage(run, id, back, z))
}

fn input<F: Field, S: Collect<F>>(run: &mut EngineRun<'_, F>, at: usize) -> CayleyBackpropagator<F, S> {
    let back = move |run: &mut EngineRun<'_, F>, z: V<F>| {
        run.call()?;
        let update: Update<F, S> = Box::new(move |run, s| s.add(run, at, z));
        Ok(update)
    };
    run.closure(&back);
    CayleyBackpropagator(Rc::new(back))
}

fn operation<F: Field, S: Collect<F>>(
    run: &mut EngineRun<'_, F>,
    made: &[CayleyBackpropagator<F, S>],
    op: &GraphOp<V<F>>,
) -> CayleyBackpropagator<F, S> {
    let (operand, first, da) = (op.a, made[op.a as usize].clone(), op.da.clone());
    if op.b == NONE {
        let back = move |run: &mut EngineRun<'_, F>, z: V<F>| {
            run.call()?;
            let z = run.times(&da, &z)?;
            Ok(later(operand, first.clone(), z))
        };
        run.closure(&back);
        return CayleyBackpropagator(Rc::new(back));
    }
    let (b, second, db) = (op.b, made[op.b as usize].clone(), op.db.clone());
    let back = move |run: &mut EngineRun<'_, F>, z: V<F>| {
        run.call()?;
        let (za, zb) = (run.times(&da, &z)?, run.times(&db, &z)?);
        let (one, two) = (later(operand, first.clone(), za), later(b, second.clone(), zb));
        let both: Update<F, S> = Box::new(move |run, s| {
            let s = one(run, s)?;
            two(run, s)
        });
        Ok(both)
    };
    run.closure(&back);
    CayleyBackpropagator(Rc::new(back))
}

//! Section 4: a backpropagator does not call others but stages the calls by identifier. Calls of the same
//! backpropagator are merged (`f x + f y = f (x + y)`), and the highest identifier is called first, so that
//! each is called once. Collected cotangents are still added densely, zeros included.

use super::graph::{Graph, GraphOp};
use super::run_state::{Backpropagators, EngineResult, EngineRun, Field, V, levels};
use crate::ad::tape::NONE;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A cotangent of the input, and the staged calls that will add to it.
struct Staged<F: Field> {
    collected: Vec<V<F>>,
    calls: BTreeMap<u32, (StagedBackpropagator<F>, V<F>)>,
}

/// A backpropagator.
struct StagedBackpropagator<F: Field>(Rc<dyn Fn(&mut EngineRun<'_, F>, V<F>) -> EngineResult<Staged<F>>>);

impl<F: Field> Clone for StagedBackpropagator<F> {
    fn clone(&self) -> StagedBackpropagator<F> {
        StagedBackpropagator(self.0.clone())
    }
}

const fn entry<F: Field>() -> usize {
    size_of::<(u32, (StagedBackpropagator<F>, V<F>))>()
}

impl<F: Field> Staged<F> {
    /// A staged call.
    fn call(
        run: &mut EngineRun<'_, F>,
        inputs: usize,
        id: u32,
        back: &StagedBackpropagator<F>,
        z: V<F>,
    ) -> EngineResult<Staged<F>> {
        run.work(1)?;
        run.counts.hold(entry::<F>());
        Ok(Staged { collected: run.zeros(inputs)?, calls: BTreeMap::from([(id, (back.clone(), z))]) })
    }

    /// The sum: collected cotangents are added, and calls of the same backpropagator are merged.
    fn plus(self, run: &mut EngineRun<'_, F>, other: Staged<F>) -> EngineResult<Staged<F>> {
        let collected = run.plus_all(self.collected, other.collected)?;
        let (mut calls, few) =
            if self.calls.len() >= other.calls.len() { (self.calls, other.calls) } else { (other.calls, self.calls) };
        for (id, (back, z)) in few {
            run.work(levels(calls.len()))?;
            let z = match calls.remove(&id) {
                Some((_, old)) => {
                    run.counts.release(entry::<F>());
                    run.plus(&old, &z)?
                }
                None => z,
            };
            calls.insert(id, (back, z));
        }
        Ok(Staged { collected, calls })
    }
}

/// The gradient, as the scalars of the input in order.
pub(super) fn gradient<F: Field>(run: &mut EngineRun<'_, F>, graph: &Graph<V<F>>) -> EngineResult<Vec<V<F>>> {
    let mut made: Backpropagators<StagedBackpropagator<F>> =
        Backpropagators(Vec::with_capacity(graph.inputs + graph.ops.len()));
    for i in 0..graph.inputs {
        made.0.push(input(run, i, graph.inputs));
    }
    for o in &graph.ops {
        let back = operation(run, &made.0, o, graph.inputs);
        made.0.push(back);
    }
    if graph.output == NONE {
        return run.zeros(graph.inputs);
    }
    let mut rest = Staged::call(run, graph.inputs, graph.output, &made.0[graph.output as usize], F::constant(1.0))?;
    while let Some((_, (back, z))) = rest.calls.pop_last() {
        run.work(levels(rest.calls.len()))?;
        run.counts.release(entry::<F>());
        let more = (back.0)(run, z)?;
        rest = more.plus(run, rest)?;
    }
    Ok(rest.collected)
}

fn input<F: Field>(run: &mut EngineRun<'_, F>, at: usize, of: usize) -> StagedBackpropagator<F> {
    let back = move |run: &mut EngineRun<'_, F>, z: V<F>| {
        run.call()?;
        let mut collected = run.zeros(of)?;
        collected[at] = z;
        Ok(Staged { collected, calls: BTreeMap::new() })
    };
    run.closure(&back);
    StagedBackpropagator(Rc::new(back))
}

fn operation<F: Field>(
    run: &mut EngineRun<'_, F>,
    made: &[StagedBackpropagator<F>],
    op: &GraphOp<V<F>>,
    inputs: usize,
) -> StagedBackpropagator<F> {
    let (operand, first, da) = (op.a, made[op.a as usize].clone(), op.da.clone());
    if op.b == NONE {
        let back = move |run: &mut EngineRun<'_, F>, z: V<F>| {
            run.call()?;
            let z = run.times(&da, &z)?;
            Staged::call(run, inputs, operand, &first, z)
        };
        run.closure(&back);
        return StagedBackpropagator(Rc::new(back));
    }
    let (b, second, db) = (op.b, made[op.b as usize].clone(), op.db.clone());
    let back = move |run: &mut EngineRun<'_, F>, z: V<F>| {
        run.call()?;
        let (za, zb) = (run.times(&da, &z)?, run.times(&db, &z)?);
        let one = Staged::call(run, inputs, operand, &first, za)?;
        let two = Staged::call(run, inputs, b, &second, zb)?;
        one.plus(run, two)
    };
    run.closure(&back);
    StagedBackpropagator(Rc::new(back))
}

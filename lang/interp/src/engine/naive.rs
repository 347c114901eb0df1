//! Section 3: the second component of a dual number is a function from its cotangent to the cotangent of the
//! entire input. If a number is used twice, its function is called twice, and so are all functions that it
//! calls.

use super::graph::{Graph, GraphOp};
use super::run_state::{Backpropagators, EngineResult, EngineRun, EngineStop, Field, MAX_CALLS, V};
use crate::ad::tape::NONE;
use std::rc::Rc;

/// Maps the cotangent of a number to that of the input.
type Backpropagator<F> = Rc<dyn Fn(&mut EngineRun<'_, F>, V<F>) -> EngineResult<Vec<V<F>>>>;

/// The gradient, as the scalars of the input in order.
pub(super) fn gradient<F: Field>(run: &mut EngineRun<'_, F>, graph: &Graph<V<F>>) -> EngineResult<Vec<V<F>>> {
    let mut made: Backpropagators<Backpropagator<F>> =
        Backpropagators(Vec::with_capacity(graph.inputs + graph.ops.len()));
    for i in 0..graph.inputs {
        made.0.push(input(run, i, graph.inputs));
    }
    for o in &graph.ops {
        let back = operation(run, &made.0, o);
        made.0.push(back);
    }
    match graph.output {
        NONE => run.zeros(graph.inputs),
        out => made.0[out as usize].clone()(run, F::constant(1.0)),
    }
}

/// The backpropagator of one scalar of the input: its cotangent there, and 0 everywhere else.
fn input<F: Field>(run: &mut EngineRun<'_, F>, at: usize, of: usize) -> Backpropagator<F> {
    let back = move |run: &mut EngineRun<'_, F>, z: V<F>| {
        call(run)?;
        let mut c = run.zeros(of)?;
        c[at] = z;
        Ok(c)
    };
    run.closure(&back);
    Rc::new(back)
}

fn operation<F: Field>(
    run: &mut EngineRun<'_, F>,
    made: &[Backpropagator<F>],
    op: &GraphOp<V<F>>,
) -> Backpropagator<F> {
    let (first, da) = (made[op.a as usize].clone(), op.da.clone());
    if op.b == NONE {
        let back = move |run: &mut EngineRun<'_, F>, z: V<F>| {
            call(run)?;
            let z = run.times(&da, &z)?;
            deeper(|| first(run, z))
        };
        run.closure(&back);
        return Rc::new(back);
    }
    let (second, db) = (made[op.b as usize].clone(), op.db.clone());
    let back = move |run: &mut EngineRun<'_, F>, z: V<F>| {
        call(run)?;
        let (za, zb) = (run.times(&da, &z)?, run.times(&db, &z)?);
        let a = deeper(|| first(run, za))?;
        let b = deeper(|| second(run, zb))?;
        run.plus_all(a, b)
    };
    run.closure(&back);
    Rc::new(back)
}

/// Counts a call.
fn call<F: Field>(run: &mut EngineRun<'_, F>) -> EngineResult<()> {
    if run.counts.calls >= MAX_CALLS {
        return Err(EngineStop::Limit(format!("its backpropagators were called {MAX_CALLS} times")));
    }
    run.call()
}

/// Grows the stack: calls of backpropagators are nested as deeply as the run is long.
fn deeper<T>(f: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, f)
}

//! Engines for comparison, each with its cost: the constructions of "Efficient dual-numbers reverse AD via
//! well-known program transformations" (Smeding and Vákár, POPL 2023), the unary normal form, and the two
//! implementations behind `grad`.
//!
//! The paper defines each engine as a program transformation that pairs every real number with a
//! backpropagator. The transformation is the identity except in three cases. An input gets a backpropagator for
//! its position. A constant gets the backpropagator that returns zero. An arithmetic operation gets one that
//! consists of its partial derivatives and the backpropagators of its arguments.
//!
//! Evaluating a transformed program therefore takes the same branches, calls the same functions and builds the
//! same data as the original program. In addition it creates one backpropagator for each arithmetic operation,
//! in the order of evaluation, whose environment is that operation's arguments and partial derivatives. This is
//! the sequence that a tape records.
//!
//! So the program is run once with traced numbers ([`trace`]). Array operations are expanded to scalar
//! operations ([`graph`]), by the linear maps of the rules in [`crate::ad`]. Each engine creates its
//! backpropagators along that sequence, with identifiers counted from 0 as by the paper's monad. The result is
//! the heap of closures that the transformed program would have left; from there on the engines follow the
//! paper.
//!
//! Two simplifications do not affect any engine: constants have no backpropagator (it would return zero), and
//! moving a number (`x[i]`, `fst`, `reverse`) is not an operation, as in the paper.
//!
//! The engines:
//!
//! | engine | paper | module |
//! |---|---|---|
//! | `Naive` | section 3 | [`naive`]: closures that call each other |
//! | `Staged` | section 4 | [`staged`]: calls are staged in a map by identifier, so that each is made once |
//! | `Cayley` | section 5 | [`cayley`]: updates of cotangents with the structure of the input ([`collect`]) |
//! | `Sparse` | section 6 | [`cayley`]: updates of a balanced map ([`collect`]) |
//! | `Mutable` | section 7 | [`cayley`]: updates of an array ([`collect`]) |
//! | `Taped` | section 8 | the tape of [`crate::ad`] |
//! | `Unf` | unary normal form | [`unf`] |
//! | `Linearize` | | what `grad` does, counted on the tape |
//!
//! An engine is generic over its scalars ([`run_state::Field`]): floats, or values that outer derivatives trace, so
//! that engines can be nested.
//!
//! Compiled AD does not run engines. The gradient of an engine in a function that is differentiated is compiled as that
//! of `grad`, and costs stay on the tape.
//!
//! Costs. The primal counts one operation for each operation on traced numbers. The backward pass counts one
//! for each addition and multiplication, for each number that is written or copied, and for each level of a
//! balanced map that is traversed. Memory is the peak number of bytes of closures, staged calls and collected
//! cotangents. The trace stands for the run itself and is not counted.

mod cayley;
mod collect;
mod expand;
mod graph;
mod naive;
mod run_state;
mod staged;
mod tape_cost;
mod trace;
mod tree;
mod unf;

use crate::ad::operators::derivative;
use crate::ad::tape::NONE;
use crate::ad::{linear, sweep};
use crate::error::{Error, Res, codes};
use crate::ir::derive;
use crate::ops::data_text;
use crate::value::{Tuple, Value, array, vector_space};
use crate::vm::Machine;
use graph::Graph;
use run_state::{EngineCounts, EngineResult, EngineRun, EngineStop, Field, Floats, Traced};
use std::rc::Rc;
use trace::Trace;

/// The engines, in the order of the constructors of type `Engine`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Engine {
    Linearize,
    Naive,
    Staged,
    Cayley,
    Sparse,
    Mutable,
    Taped,
    Unf,
}

impl Engine {
    const ALL: [Engine; 8] = [
        Engine::Linearize,
        Engine::Naive,
        Engine::Staged,
        Engine::Cayley,
        Engine::Sparse,
        Engine::Mutable,
        Engine::Taped,
        Engine::Unf,
    ];

    fn at(index: &Value) -> Engine {
        let at = match index {
            Value::Int(n) => usize::try_from(*n).unwrap_or(0),
            _ => 0,
        };
        Engine::ALL.get(at).copied().unwrap_or(Engine::Linearize)
    }
}

/// `__engine strict engine func input`: returns the counts (primal, backward, calls, bytes), the status, the time in
/// seconds, the value, and the gradient. If `strict`, an engine that gives up is an error.
pub(crate) fn apply(machine: &mut Machine, args: &mut [Value]) -> Res<Value> {
    let [strict, index, func, input] = args else {
        return Err(Error::new(codes::STRUCTURE, "an engine takes four arguments"));
    };
    let engine = Engine::at(index);
    let mut counts = EngineCounts::default();
    let mut value = Value::Zero;
    let start = machine.host.time();
    let out = gradient(machine, engine, func, input, &mut counts, &mut value);
    // Clocks are not more precise than this, and the digits would not fit a table.
    let seconds = ((machine.host.time() - start) * 1e9).round() / 1e9;
    let (status, gradient) = match out {
        Ok((g, swept)) => {
            swept.count(machine, func, input, &mut counts)?;
            ("ok", g)
        }
        Err(EngineStop::Error(e)) => return Err(e),
        Err(stop) if matches!(strict, Value::Bool(true)) => return Err(stop.error(&format!("{engine:?}"))),
        Err(stop) => (stop.status(), vector_space::zero_like(input)),
    };
    let counted =
        [counts.primal, counts.backward, counts.calls, counts.peak].map(|n| i64::try_from(n).unwrap_or(i64::MAX));
    let parts = vec![array::ints(counted.to_vec()), data_text(status), Value::Float(seconds), value, gradient];
    Ok(Value::Tuple(Rc::new(Tuple(parts))))
}

/// `__engine_grad engine func input`: the gradient. An engine that gives up is an error.
pub(crate) fn strict_gradient(machine: &mut Machine, engine: &Value, func: &Value, input: &Value) -> Res<Value> {
    let engine = Engine::at(engine);
    match gradient(machine, engine, func, input, &mut EngineCounts::default(), &mut Value::Zero) {
        Ok((g, _)) => Ok(g),
        Err(stop) => Err(stop.error(&format!("{engine:?}"))),
    }
}

/// What remains of a gradient computation; its cost is counted after the clock has stopped.
enum Swept {
    /// Nothing: the engine counted while it ran.
    Nothing,
    /// A trace that was swept.
    Trace(Trace),
    /// The derivative that `grad` used.
    Map(linear::LinearMap),
}

impl Swept {
    fn count(self, machine: &mut Machine, func: &Value, input: &Value, counts: &mut EngineCounts) -> Res<()> {
        match self {
            Swept::Nothing => {}
            Swept::Trace(t) => tape_cost::of_tape(&t.tape, t.output, counts),
            Swept::Map(map) if map.main.is_some() => match derive::cost::totals(machine, func, input)? {
                Some([primal, backward, bytes]) => {
                    counts.primal = primal;
                    counts.backward = backward;
                    counts.hold(usize::try_from(bytes).unwrap_or(usize::MAX));
                }
                // Too long to be counted by the evaluator: count the same operations on a tape instead.
                None => {
                    let t = trace::trace(machine, func, input)?;
                    tape_cost::of_tape(&t.tape, t.output, counts);
                }
            },
            Swept::Map(map) => tape_cost::of_tape(&map.tape, map.output.nodes.first().copied().unwrap_or(NONE), counts),
        }
        Ok(())
    }
}

/// The gradient by an engine. `value` and `counts` are set as soon as they are known, also if the engine gives
/// up.
fn gradient(
    machine: &mut Machine,
    engine: Engine,
    func: &Value,
    input: &Value,
    counts: &mut EngineCounts,
    value: &mut Value,
) -> EngineResult<(Value, Swept)> {
    if engine == Engine::Linearize {
        let (y, mut map) = derivative::record(machine, func, input)?;
        map.transposed = true;
        let g = derivative::apply(machine, &map, trace::one(&y))?;
        *value = y;
        return Ok((g, Swept::Map(map)));
    }
    let t = trace::trace(machine, func, input)?;
    *value = t.value.clone();
    if engine != Engine::Taped && sends(machine, &t) {
        return Err(EngineStop::Unsupported("it sends messages to other ranks".to_owned()));
    }
    let gradient = match engine {
        Engine::Taped => return Ok((taped(machine, &t)?, Swept::Trace(t))),
        Engine::Unf => unf::gradient(machine, &t, counts)?,
        _ => {
            counts.primal = tape_cost::primal(&t.tape);
            let graph = expand::expand(machine, &t)?;
            counts.primal = graph.ops.len() as u64;
            match graph.floats() {
                Ok(graph) => dual::<Floats>(machine, engine, graph, input, counts)?,
                Err(graph) => dual::<Traced>(machine, engine, graph, input, counts)?,
            }
        }
    };
    Ok((gradient, Swept::Nothing))
}

/// Whether the cotangents of a trace go through other ranks, whose traces this one does not have.
fn sends(machine: &mut Machine, t: &Trace) -> bool {
    t.tape.always > 0 && machine.host.ranks().is_some_and(|r| r.size() > 1)
}

/// The gradient by dual numbers with backpropagators.
fn dual<F: Field>(
    machine: &mut Machine,
    engine: Engine,
    graph: Graph<F::V>,
    input: &Value,
    counts: &mut EngineCounts,
) -> EngineResult<Value> {
    let mut run = EngineRun::<F>::new(machine, *counts);
    let out = match engine {
        Engine::Naive => naive::gradient(&mut run, &graph),
        Engine::Cayley => cayley::gradient::<F, collect::Structured<F>>(&mut run, &graph, input),
        Engine::Sparse => cayley::gradient::<F, collect::Sparse<F>>(&mut run, &graph, input),
        Engine::Mutable => cayley::gradient::<F, collect::Mutable<F>>(&mut run, &graph, input),
        Engine::Staged | Engine::Linearize | Engine::Taped | Engine::Unf => staged::gradient(&mut run, &graph),
    };
    *counts = run.counts;
    let numbers = out?.into_iter().map(F::value).collect();
    Ok(trace::assemble(machine, input, numbers)?)
}

/// The gradient by the tape, where an operation on arrays is a single record, without backpropagators.
fn taped(m: &mut Machine, t: &Trace) -> EngineResult<Value> {
    let seeds = if t.output == NONE { Vec::new() } else { vec![(t.output, trace::one(&t.value))] };
    let parts = sweep::backward(m, &t.tape, seeds, &t.input.nodes)?;
    Ok(t.gradient(parts)?)
}

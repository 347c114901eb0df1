//! Derivative operators by compiled AD: specialisation, transformation of IR, lowering, and evaluation.
//!
//! An operator at top level, outside any derivative that is being computed, first asks this module. It answers
//! `None` if the function cannot be specialised; taped AD then computes the derivative, and [`CompiledAd::explain`]
//! records why. A repeated run replays its effects (`vm::effects`), so a run-time error is handled in the same way: taped AD runs
//! into it again and reports it in terms of the user's program.
//!
//! Compiled code is cached together with the facts about captured values on which it depends; a second call
//! compiles nothing. The cache is bounded: a session that keeps creating functions clears it when it exceeds
//! `FUNCTIONS`.

/// Evaluates to the `Ok` value, or returns `Ok(Err(..))` with the reason why compilation is not possible.
macro_rules! or_not_compiled {
    ($e:expr) => {
        match $e {
            Ok(v) => v,
            Err(n) => return Ok(Err(n)),
        }
    };
}

mod attempt;
pub(crate) mod compile_plain;
pub(crate) mod compression;
pub(crate) mod cost;
pub(crate) mod derivative_stats;
pub(crate) mod directions;
mod functions;
mod fused_gradient;
mod gradient_target;
mod measure;
mod passes;
pub mod residuals_report;
mod resolve_plan;
mod shape_variants;
pub mod stages;
mod state;

pub use crate::value::plan::{Plan, SPELLINGS};
pub use crate::value::report_tables as table;
use attempt::{answer, attempt, entered, entered_for_gradient, with};
pub(crate) use attempt::{compiled, name_of, no_plans_error, wanted};
pub use cost::rules_of;
pub(crate) use derivative_stats::CompileClock;
pub use derivative_stats::DerivativeStats;
pub(crate) use fused_gradient::{Differentiated, record_gradient, took};
pub use state::{CompiledAd, Derivation, DerivativeRecord, Settings};
use state::{
    FusedGradient, Linearized, Map, NotCompiled, PreparedGradient, ResolvedPlan, SparsityPattern, Specialized,
    UnsignedZeros, not,
};

use super::tangents;
use super::world;
use crate::ad::linear::{self, LinearMap, Traced};
use crate::error::{Error, Res, codes};
use crate::upcalls::RunsLowered;
use crate::value::Value;
use crate::vm::Machine;
use adl_specialise::world::Unsupported;
use std::rc::Rc;

/// Whether two functions have the same definition, ignoring arguments of partial application.
pub fn same_definition(f: &Value, g: &Value) -> bool {
    matches!((f, g), (Value::Fun(_), Value::Fun(_))) && world::definition(f) == world::definition(g)
}

/// Runs an operator under a plan.
pub(crate) fn under<T>(m: &mut Machine, plan: &Value, run: impl FnOnce(&mut Machine) -> Res<T>) -> Res<T> {
    let plan = Plan::of(plan)?;
    let before = m.compiled_ad.plans.given.replace(plan);
    let out = run(m);
    m.compiled_ad.plans.given = before;
    out
}

/// `f x`, and the derivative of `f` at `x`.
pub(crate) fn record(m: &mut Machine, f: &Value, x: &Value) -> Res<Option<(Value, LinearMap)>> {
    if !wanted(m) {
        return Ok(None);
    }
    let out = attempt(m, |m| recorded(m, f, x));
    answer(m, f, out)
}

fn recorded(m: &mut Machine, f: &Value, x: &Value) -> Res<Result<(Value, LinearMap), NotCompiled>> {
    let ready = or_not_compiled!(readied(m, f, x)?);
    recorded_by(m, f, x, ready, None)
}

fn readied(m: &mut Machine, f: &Value, x: &Value) -> Res<Result<PreparedGradient, NotCompiled>> {
    let (e, leaves) = or_not_compiled!(entered_for_gradient(m, f, x));
    let plan = m.compiled_ad.plan_of(f);
    let how = or_not_compiled!(resolve_plan::resolve(m, &e, &leaves, &plan)?);
    let lined = or_not_compiled!(with(m, |compiled_ad, _| compiled_ad.lined(e, &how)));
    Ok(Ok(PreparedGradient { lined, leaves, plan, how }))
}

/// `cpu_only` is given if the CPU was chosen by measured time: the number of scalars in the arguments.
fn recorded_by(
    machine: &mut Machine,
    func: &Value,
    input: &Value,
    ready: PreparedGradient,
    cpu_only: Option<u64>,
) -> Res<Result<(Value, LinearMap), NotCompiled>> {
    let PreparedGradient { lined, leaves, plan, how } = ready;
    let measured =
        (machine.compiled_ad.plans.given.is_some() || plan != Plan::StoreAll).then(|| resolve_plan::sizes(&leaves));
    machine.effects.rewind();
    let mut outs = machine.call_packed(&lined.primal, leaves, lined.outs, true)?;
    let residuals = outs.split_off(lined.results.min(outs.len()));
    let effects = machine.effects.performed();
    if let Some(sizes) = measured {
        machine.compiled_ad.measure(&lined, (how, sizes), &residuals);
    }
    let e = &lined.specialized;
    let Some(output) = e.datas.from_leaves(&e.entry.result, &mut outs.into_iter()) else {
        return Ok(Err(not("a result of another layout than its type says")));
    };
    let like = |v: &Value| Traced { like: v.clone(), nodes: Vec::new() };
    let map = LinearMap {
        tape: Rc::default(),
        input: like(input),
        output: like(&output),
        transposed: false,
        original: None,
        main: Some(Rc::new(Map {
            lined: lined.clone(),
            residuals,
            at: (func.clone(), input.clone()),
            cpu_only,
            effects,
        })),
    };
    Ok(Ok((output, map)))
}

/// Applies a derivative to a tangent, or its transpose to a cotangent. If that fails, taped AD is used.
pub(crate) fn apply(machine: &mut Machine, map: &LinearMap, main: &Map, value: &Value) -> Res<Value> {
    let out = if main.cpu_only.is_some() {
        machine.cpu_only(|m| applied(m, map, main, value))
    } else {
        applied(machine, map, main, value)
    };
    match out {
        Err(e) if !e.stops() => {
            let why = Unsupported::new(format!("an error: {}", e.diag.message), e.diag.primary.span);
            machine.compiled_ad.note(&main.at.0, false, Some(why));
            machine.effects.repeat(&main.effects);
            let (_, taped) = linear::taped(machine, Default::default(), &main.at.0, &main.at.1)?;
            linear::apply_taped(machine, &LinearMap { transposed: map.transposed, ..taped }, value.clone())
        }
        out => {
            // The record was made with the primal half; add the statistics of the half that has run now.
            let (native, ran) = (std::mem::take(&mut machine.ran_native), machine.device.take());
            if let Some(last) = machine.compiled_ad.explain.last_mut().filter(|e| e.derivation == Derivation::Compiled)
            {
                last.native |= native;
                last.device.add(ran);
            }
            machine.compiled_ad.add_to_last_call();
            out
        }
    }
}

fn applied(machine: &mut Machine, map: &LinearMap, main: &Map, v: &Value) -> Res<Value> {
    let broken = || Error::new(codes::STRUCTURE, "a linear function is applied to data of another structure");
    let linearized = &main.lined;
    let specialized = &linearized.specialized;
    let Some(arg) = specialized.entry.inputs.first().map(|i| &i.layout) else { return Err(broken()) };
    let result = &specialized.entry.result;
    let mut args = main.residuals.clone();
    let from = if map.transposed { result } else { arg };
    let mut seeds = Vec::new();
    specialized.datas.tangents(v, from, &mut seeds).ok_or_else(broken)?;
    if map.transposed {
        let active = linearized
            .active
            .iter()
            .zip(result.leaves())
            .filter(|(_, t)| specialized.datas.has_tangent(t))
            .map(|(a, _)| *a);
        args.extend(seeds.into_iter().zip(active).filter(|(_, a)| *a).map(|(s, _)| s));
        let n = arg.leaves().iter().filter(|t| specialized.datas.has_tangent(t)).count();
        let outs = machine.call_lowered(&linearized.cotangent, args, n)?;
        return specialized
            .datas
            .merge(&map.input.like, arg, &mut outs.into_iter().map(tangents::unsigned_zeros))
            .ok_or_else(broken);
    }
    args.extend(seeds);
    let n = linearized.active.iter().filter(|a| **a).count();
    let outs = machine.call_lowered(&linearized.tangent, args, n)?;
    specialized
        .datas
        .merge(&map.output.like, result, &mut spread(specialized, &linearized.active, outs).into_iter())
        .ok_or_else(broken)
}

/// Tangents of all results whose type has a tangent; symbolic zeros for inactive results.
fn spread(e: &Specialized, active: &[bool], outs: Vec<Value>) -> Vec<Value> {
    let mut next = outs.into_iter();
    let leaves = e.entry.result.leaves();
    active
        .iter()
        .zip(&leaves)
        .filter(|(_, t)| e.datas.has_tangent(t))
        .map(|(a, _)| if *a { next.next().unwrap_or(Value::Zero) } else { Value::Zero })
        .collect()
}

/// `f x`, and its derivative in the direction `v`.
pub(crate) fn jvp(m: &mut Machine, f: &Value, x: &Value, v: &Value) -> Res<Option<(Value, Value)>> {
    if !wanted(m) {
        return Ok(None);
    }
    let out = attempt(m, |m| pushed(m, f, x, v));
    answer(m, f, out)
}

fn pushed(machine: &mut Machine, f: &Value, x: &Value, value: &Value) -> Res<Result<(Value, Value), NotCompiled>> {
    if linear::same_structure("the direction", value, x).is_err() {
        return Ok(Err(not("a tangent of another structure")));
    }
    let args = std::slice::from_ref(x);
    let (e, mut leaves) = or_not_compiled!(entered(machine, f, args));
    let e = machine.compiled_ad.sized(&e, &leaves);
    let forward = or_not_compiled!(with(machine, |compiled_ad, _| compiled_ad.pushed(e)));
    let specialized = &forward.entered;
    let layout = or_not_compiled!(
        specialized.entry.inputs.first().map(|i| &i.layout).ok_or_else(|| not("a function without arguments"))
    );
    or_not_compiled!(
        specialized.datas.tangents(value, layout, &mut leaves).ok_or_else(|| not("a tangent of another structure"))
    );
    machine.effects.rewind();
    let mut outs =
        machine.call_lowered(&forward.func, leaves, forward.results + forward.active.iter().filter(|a| **a).count())?;
    let tangents = outs.split_off(forward.results.min(outs.len()));
    let Some(y) = specialized.datas.from_leaves(&specialized.entry.result, &mut outs.into_iter()) else {
        return Ok(Err(not("a result of another layout than its type says")));
    };
    let tangents = spread(specialized, &forward.active, tangents);
    let Some(t) = specialized.datas.merge(&y, &specialized.entry.result, &mut tangents.into_iter()) else {
        return Ok(Err(not("a tangent of another structure")));
    };
    Ok(Ok((y, t)))
}

//! Measures a gradient: the bytes of the residuals that were stored and, by a second run with counters, the
//! peak memory and the work.

use super::ResolvedPlan;
use super::cost::{Builtins, ones};
use super::{CompiledAd, NotCompiled, Specialized, not, with};
use crate::error::Res;
use crate::ir::evaluator_values::val;
use crate::limits::ir_derive_measure::FUEL;
use crate::upcalls::RunsLowered;
use crate::value::{Array, Buf, Kind, Value};
use crate::vm::Machine;
use adl_ad::segment::Segments;
use adl_ir::eval::{Evaluator, Watch};
use adl_ir::{DataId, FnId, Program, Ty, Val, Var};
use adl_specialise::Unsupported;
use std::collections::BTreeSet;

/// Measurements beside the stored bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Measured {
    /// Peak memory in bytes.
    pub peak: u64,
    /// Work beyond computing everything once.
    pub again: u64,
}

/// Measures the gradient at these arguments under a plan; `None` if it takes too long to count.
pub(super) fn ran(m: &mut Machine, e: &Specialized, leaves: &[Value], how: &ResolvedPlan) -> Res<Option<Measured>> {
    if let Ok(out) = metered(m, e, leaves, how)? {
        return Ok(Some(out));
    }
    let Some(vals) = leaves.iter().map(val).collect::<Option<Vec<Val>>>() else { return Ok(None) };
    let mut compiled_ad = std::mem::take(&mut m.compiled_ad);
    let out = counted(&mut compiled_ad, m, e, &vals, how);
    m.compiled_ad = compiled_ad;
    Ok(out.ok())
}

/// The undivided function, which recomputes nothing, and both halves under a plan.
struct PlanHalves {
    whole: FnId,
    primal: FnId,
    results: usize,
    back: FnId,
    boxes: BTreeSet<DataId>,
}

fn halves(compiled_ad: &mut CompiledAd, e: &Specialized, how: &ResolvedPlan) -> Result<PlanHalves, NotCompiled> {
    let wrt = compiled_ad.wrt(e);
    let whole = compiled_ad.differentiated(e, Segments::None)?;
    let f = compiled_ad.ad.segmented(&mut compiled_ad.program, e.entry.func, how.segments);
    let j = compiled_ad.ad.jvp(&mut compiled_ad.program, f, &wrt)?;
    let u = compiled_ad.ad.unzip(&mut compiled_ad.program, j.func, &how.plan)?;
    let back = compiled_ad.ad.transpose(&mut compiled_ad.program, u.linear)?;
    let boxes = compiled_ad.ad.all_boxes(&mut compiled_ad.program, j.func, &how.plan)?;
    Ok(PlanHalves { whole, primal: u.primal, results: u.results, back, boxes })
}

/// Measures with instrumented versions of both halves.
fn metered(
    machine: &mut Machine,
    specialized: &Specialized,
    leaves: &[Value],
    how: &ResolvedPlan,
) -> Res<Result<Measured, NotCompiled>> {
    let (parts, funs, (plain, outs), kept) = or_not_compiled!(with(machine, |compiled_ad, _| {
        let parts = halves(compiled_ad, specialized, how)?;
        let mut funs = Vec::new();
        let (mut plain, mut outs) = (Vec::new(), Vec::new());
        for f in [parts.whole, parts.primal, parts.back] {
            plain.push(compiled_ad.program.func(f).body.results.len());
            let f = compiled_ad.ad.metered(&mut compiled_ad.program, f, &parts.boxes)?;
            funs.push(compiled_ad.linker.function(&compiled_ad.program, f).map_err(|e| not(&e.diag.message))?);
            outs.push(compiled_ad.program.func(f).body.results.len());
        }
        let primal = compiled_ad.program.func(parts.primal);
        let kept = primal.tys(&primal.body.results[parts.results..]);
        Ok((parts, funs, (plain, outs), kept))
    }));
    let run = |m: &mut Machine, k: usize, args: &[Value]| -> Res<Result<MeteredRun, NotCompiled>> {
        m.effects.rewind();
        let mut results = match m.call_lowered(&funs[k], args.to_vec(), outs[k]) {
            Ok(results) => results,
            Err(e) if e.stops() => return Err(e),
            Err(e) => return Ok(Err(not(&e.diag.message))),
        };
        let took = results.split_off(plain[k].min(results.len()));
        let number = |v: Option<&Value>| v.map_or(0, |v| u64::try_from(crate::ops::int(v)).unwrap_or(0));
        Ok(Ok(MeteredRun { results, work: number(took.first()), peak: number(took.get(1)) }))
    };
    let once = or_not_compiled!(run(machine, 0, leaves)?).work;
    let mut forwards = or_not_compiled!(run(machine, 1, leaves)?);
    let residuals = forwards.results.split_off(parts.results);
    let stored = machine.compiled_ad.bytes_of(&parts.boxes, &kept, &residuals);
    let reverse = or_not_compiled!(run(machine, 2, &residuals)?);
    Ok(Ok(Measured { peak: stored + reverse.peak, again: (forwards.work + reverse.work).saturating_sub(once) }))
}

/// The result of an instrumented function.
struct MeteredRun {
    results: Vec<Value>,
    work: u64,
    peak: u64,
}

/// Measures with the reference evaluator, which also knows what recursive functions store inside checkpoints.
fn counted(
    compiled_ad: &mut CompiledAd,
    machine: &mut Machine,
    e: &Specialized,
    x: &[Val],
    how: &ResolvedPlan,
) -> Result<Measured, NotCompiled> {
    let parts = halves(compiled_ad, e, how)?;
    let wrt = compiled_ad.wrt(e);
    let f = compiled_ad.ad.segmented(&mut compiled_ad.program, e.entry.func, how.segments);
    let active = compiled_ad.ad.jvp(&mut compiled_ad.program, f, &wrt)?.active;
    let func = compiled_ad.program.func(f).clone();
    let dx = seeds(compiled_ad, &func, x, &func.body.params, &wrt);
    let once = evaluated(compiled_ad, machine, parts.whole, (x, &dx), &parts.boxes)?.work;
    let mut forward = evaluated(compiled_ad, machine, parts.primal, (x, &[]), &parts.boxes)?;
    let residuals = forward.results.split_off(parts.results.min(forward.results.len()));
    let primal = compiled_ad.program.func(parts.primal).clone();
    let kept = primal.tys(&primal.body.results[parts.results..]);
    let stored: u64 =
        kept.iter().zip(&residuals).map(|(t, v)| bytes_of_val(&compiled_ad.program, &parts.boxes, t, v)).sum();
    let dy = seeds(compiled_ad, &func, &forward.results, &func.body.results, &active);
    let reverse = evaluated(compiled_ad, machine, parts.back, (&residuals, &dy), &parts.boxes)?;
    Ok(Measured { peak: stored + reverse.peak, again: (forward.work + reverse.work).saturating_sub(once) })
}

/// Unit tangents for the selected variables.
fn seeds(compiled_ad: &mut CompiledAd, f: &adl_ir::Function, vals: &[Val], vars: &[Var], which: &[bool]) -> Vec<Val> {
    vals.iter()
        .zip(vars)
        .zip(which)
        .filter(|(_, w)| **w)
        .filter_map(|((x, v), _)| ones(compiled_ad, x, f.ty(*v)))
        .collect()
}

/// The result of evaluating a function.
struct EvaluatedRun {
    results: Vec<Val>,
    /// Non-linear work.
    work: u64,
    /// Peak number of bytes that checkpoints recomputed and held at one time.
    peak: u64,
}

fn evaluated(
    compiled_ad: &CompiledAd,
    m: &mut Machine,
    id: FnId,
    (args, lin_args): (&[Val], &[Val]),
    boxes: &BTreeSet<DataId>,
) -> Result<EvaluatedRun, NotCompiled> {
    let p = &compiled_ad.program;
    let mut host = Builtins(m);
    let mut e = Evaluator::new(p, &mut host);
    e.fuel = FUEL;
    let bytes = |f: &adl_ir::Function, vs: &[Val]| {
        f.body.results.iter().zip(vs).map(|(r, v)| bytes_of_val(p, boxes, f.ty(*r), v)).sum()
    };
    e.watch = Some(Watch { functions: compiled_ad.ad.made_again(), bytes: Box::new(bytes), live: 0, peak: 0 });
    let out = e.run(id, args, lin_args).map_err(|e| NotCompiled(Unsupported::new(e.message, e.span)))?;
    Ok(EvaluatedRun { results: out.results, work: out.counts.non_linear, peak: e.watch.map_or(0, |w| w.peak) })
}

/// The size of a value of the evaluator, by the rules of [`bytes`].
fn bytes_of_val(program: &Program, boxes: &BTreeSet<DataId>, ty: &Ty, value: &Val) -> u64 {
    let mut todo = vec![(ty, value)];
    let mut sum = 0;
    while let Some((ty, v)) = todo.pop() {
        match (ty, v) {
            (Ty::Array(..), Val::SymbolicZero) => {}
            (Ty::Array(e, _), Val::Array(a)) if e.is_flat() => {
                let width = match **e {
                    Ty::F32 => 4,
                    Ty::Bool => 1,
                    _ => 8,
                };
                sum += width * a.elems.len() as u64;
            }
            (Ty::Array(e, _), Val::Array(a)) => todo.extend(a.elems.iter().map(|v| (&**e, v))),
            (Ty::Data(d), Val::Data(c)) if boxes.contains(d) => {
                sum += 8;
                todo.extend(program.data(*d).cons.get(c.tag as usize).into_iter().flat_map(|k| &k.1).zip(&c.fields));
            }
            (Ty::F32, _) => sum += 4,
            (Ty::Bool, _) => sum += 1,
            _ => sum += 8,
        }
    }
    sum
}

impl CompiledAd {
    /// Bytes of the residuals of a primal half; profiles predict the same sum.
    pub(super) fn bytes_of(&self, boxes: &BTreeSet<DataId>, tys: &[Ty], residuals: &[Value]) -> u64 {
        tys.iter().zip(residuals).map(|(t, v)| bytes(&self.program, boxes, t, v)).sum()
    }
}

/// The size of a value: scalars count with their width, data and text as references. Values of the recursive
/// residual types in `boxes` are traversed.
fn bytes(program: &Program, boxes: &BTreeSet<DataId>, ty: &Ty, value: &Value) -> u64 {
    let mut todo: Vec<(Ty, Value)> = vec![(ty.clone(), value.clone())];
    let mut sum = 0;
    while let Some((ty, v)) = todo.pop() {
        match (&ty, &v) {
            (Ty::Array(..), Value::Zero) => {}
            (Ty::Array(..), Value::Tuple(_)) => {
                sum += crate::ir::boxes::parts(&v).map_or(0, |(x, _)| size_of_val(x) as u64);
            }
            (Ty::Array(..), Value::Array(a)) if a.is_flat() => sum += flat(a),
            (Ty::Array(e, _), Value::Array(a)) => match a.buf() {
                Buf::Boxed(vs) => todo.extend(vs.iter().map(|v| ((**e).clone(), v.clone()))),
                _ => sum += flat(a),
            },
            (Ty::Data(d), Value::Data(x)) if boxes.contains(d) => {
                sum += 8;
                let fields = program.data(*d).cons.get(x.con.tag as usize).map(|c| c.1.clone()).unwrap_or_default();
                todo.extend(fields.into_iter().zip(x.fields.iter().cloned()));
            }
            (Ty::F32, _) => sum += 4,
            (Ty::Bool, _) => sum += 1,
            _ => sum += 8,
        }
    }
    sum
}

fn flat(a: &Array) -> u64 {
    let n = a.shape.iter().product::<usize>() as u64;
    match a.kind() {
        Kind::F64 | Kind::I64 => 8 * n,
        Kind::F32 => 4 * n,
        Kind::Bool => n,
        Kind::Unit => 0,
        Kind::Boxed | Kind::Tuple | Kind::Record => 8 * n,
    }
}

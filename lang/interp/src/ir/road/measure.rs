//! What a gradient took: bytes of residuals that were there, and, by running its code once more on the reference evaluator, the most bytes
//! at one time and the work.

use super::choose::Resolved;
use super::cost::{Builtins, ones};
use super::{Entered, Not, Road};
use crate::ir::reference::val;
use crate::value::{Array, Buf, Value};
use crate::vm::Machine;
use adl_ir::eval::{Evaluator, Watch};
use adl_ad::segment::Segments;
use adl_ir::{DataId, FnId, Program, Ty, Val, Var};
use adl_specialise::Unsupported;
use std::collections::BTreeSet;

/// Statements after which counting is given up: it is done whenever a table is shown.
const FUEL: u64 = 500_000;

/// What a run took beyond what it stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ran {
    /// The most bytes at one time.
    pub peak: u64,
    /// Work beyond that of doing everything once.
    pub again: u64,
}

/// What the gradient at these leaves takes under a plan; `None` where it is too much to count.
pub(super) fn ran(m: &mut Machine, e: &Entered, leaves: &[Value], how: &Resolved) -> Option<Ran> {
    let vals: Vec<Val> = leaves.iter().map(val).collect::<Option<_>>()?;
    let mut road = std::mem::take(&mut m.road);
    let out = counted(&mut road, m, e, &vals, how);
    m.road = road;
    out.ok()
}

/// Runs forward mode, which does nothing twice, and then both halves of the plan.
fn counted(road: &mut Road, m: &mut Machine, e: &Entered, x: &[Val], how: &Resolved) -> Result<Ran, Not> {
    let wrt = road.wrt(e);
    let whole = road.differentiated(e, Segments::None)?;
    let f = road.ad.segmented(&mut road.program, e.entry.func, how.segments);
    let j = road.ad.jvp(&mut road.program, f, &wrt)?;
    let u = road.ad.unzip(&mut road.program, j.func, &how.plan)?;
    let back = road.ad.transpose(&mut road.program, u.linear)?;
    let boxes = road.ad.all_boxes(&mut road.program, j.func, &how.plan)?;
    let func = road.program.func(f).clone();
    let dx = seeds(road, &func, x, &func.body.params, &wrt);
    let once = evaluated(road, m, whole, (x, &dx), &boxes)?.work;
    let mut forward = evaluated(road, m, u.primal, (x, &[]), &boxes)?;
    let residuals = forward.results.split_off(u.results.min(forward.results.len()));
    let primal = road.program.func(u.primal).clone();
    let kept = primal.tys(&primal.body.results[u.results..]);
    let stored: u64 = kept.iter().zip(&residuals).map(|(t, v)| bytes_of_val(&road.program, &boxes, t, v)).sum();
    let dy = seeds(road, &func, &forward.results, &func.body.results, &j.active);
    let reverse = evaluated(road, m, back, (&residuals, &dy), &boxes)?;
    Ok(Ran { peak: stored + reverse.peak, again: (forward.work + reverse.work).saturating_sub(once) })
}

/// Tangents for those that are meant: ones.
fn seeds(road: &mut Road, f: &adl_ir::Function, vals: &[Val], vars: &[Var], which: &[bool]) -> Vec<Val> {
    vals.iter().zip(vars).zip(which).filter(|(_, w)| **w).filter_map(|((x, v), _)| ones(road, x, f.ty(*v))).collect()
}

/// What a run of a function took.
struct Run {
    results: Vec<Val>,
    /// Non-linear work.
    work: u64,
    /// The most bytes that checkpoints had made again at one time.
    peak: u64,
}

fn evaluated(road: &Road, m: &mut Machine, f: FnId, (args, lin_args): (&[Val], &[Val]), boxes: &BTreeSet<DataId>) -> Result<Run, Not> {
    let p = &road.program;
    let mut host = Builtins(m);
    let mut e = Evaluator::new(p, &mut host);
    e.fuel = FUEL;
    let bytes = |f: &adl_ir::Function, vs: &[Val]| f.body.results.iter().zip(vs).map(|(r, v)| bytes_of_val(p, boxes, f.ty(*r), v)).sum();
    e.watch = Some(Watch { functions: road.ad.made_again(), bytes: Box::new(bytes), live: 0, peak: 0 });
    let out = e.run(f, args, lin_args).map_err(|e| Not(Unsupported::new(e.message, e.span)))?;
    Ok(Run { results: out.results, work: out.counts.non_linear, peak: e.watch.map_or(0, |w| w.peak) })
}

/// The evaluator's values by the same rules as [`bytes`].
fn bytes_of_val(p: &Program, boxes: &BTreeSet<DataId>, ty: &Ty, v: &Val) -> u64 {
    let mut todo = vec![(ty, v)];
    let mut sum = 0;
    while let Some((ty, v)) = todo.pop() {
        match (ty, v) {
            (Ty::Array(..), Val::Absent) => {}
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
                todo.extend(p.data(*d).cons.get(c.tag as usize).into_iter().flat_map(|k| &k.1).zip(&c.fields));
            }
            (Ty::F32, _) => sum += 4,
            (Ty::Bool, _) => sum += 1,
            _ => sum += 8,
        }
    }
    sum
}

impl Road {
    /// Bytes of a primal half's residuals: the same sum that profiles predict.
    pub(super) fn bytes_of(&self, boxes: &BTreeSet<DataId>, tys: &[Ty], residuals: &[Value]) -> u64 {
        tys.iter().zip(residuals).map(|(t, v)| bytes(&self.program, boxes, t, v)).sum()
    }
}

/// Numbers count with their width, data and text as references; what functions keep that call themselves (`boxes`) is opened.
fn bytes(p: &Program, boxes: &BTreeSet<DataId>, ty: &Ty, v: &Value) -> u64 {
    let mut todo: Vec<(Ty, Value)> = vec![(ty.clone(), v.clone())];
    let mut sum = 0;
    while let Some((ty, v)) = todo.pop() {
        match (&ty, &v) {
            (Ty::Array(..), Value::Zero) => {}
            (Ty::Array(e, _), Value::Array(a)) => match &a.buf {
                Buf::Boxed(vs) => todo.extend(vs.iter().map(|v| ((**e).clone(), v.clone()))),
                _ => sum += flat(a),
            },
            (Ty::Data(d), Value::Data(x)) if boxes.contains(d) => {
                sum += 8;
                let fields = p.data(*d).cons.get(x.con.tag as usize).map(|c| c.1.clone()).unwrap_or_default();
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
    match &a.buf {
        Buf::F64(_) | Buf::I64(_) => 8 * n,
        Buf::F32(_) => 4 * n,
        Buf::Bool(_) => n,
        Buf::Unit => 0,
        Buf::Boxed(_) | Buf::Tuple(_) | Buf::Record(..) => 8 * n,
    }
}

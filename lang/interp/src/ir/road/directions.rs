//! A derivative in many directions at once, and which inputs each output depends on.

use super::cost::{Builtins, FUEL};
use crate::ir::reference::val;
use super::{Lined, Not, Road, with};
use crate::ad::linear::{self, LinearMap};
use crate::error::{Res, codes};
use crate::ir::boxes;
use crate::ir::tangents::unsigned_zeros;
use crate::value::{Buf, Shape, Value, array, seq};
use crate::vm::{Fun, Machine};
use adl_ir::eval::{Deps, Evaluator};
use adl_ir::{FnId, Val};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

/// Directions below which they are taken one by one.
const FEWEST: usize = 4;
/// Numbers in the directions that are taken at once: more are taken in parts.
const LARGEST: usize = 1 << 20;

impl Road {
    /// The derivative's code for many directions.
    fn wide(&mut self, l: &Lined, transposed: bool) -> Result<Rc<Fun>, Not> {
        let mut kept = l.wide.borrow_mut();
        let place = &mut kept[usize::from(transposed)];
        if let Some(f) = place {
            return Ok(f.clone());
        }
        let start = Instant::now();
        let f = self.ad.directions(&mut self.program, l.source, &l.wrt, &l.plan, transposed)?;
        let made = self.linker.function(&self.program, f).map_err(|e| super::not(&e.diag.message))?;
        *place = Some(made.clone());
        self.clock.making(start);
        Ok(made)
    }

    /// The linear half of forward mode.
    fn linear_half(&mut self, l: &Lined) -> Result<FnId, Not> {
        let j = self.ad.jvp(&mut self.program, l.source, &l.wrt)?;
        Ok(self.ad.unzip(&mut self.program, j.func, &l.plan)?.linear)
    }
}

/// A matrix by rows, of the map's images: those of the columns of a matrix with `from` rows and `k` columns, which `seed` gives. The map is
/// between vectors; its image has `to` numbers.
pub(crate) fn images(m: &mut Machine, map: &LinearMap, (from, to): (usize, usize), k: usize, narrow: bool, seed: &dyn Fn(usize, usize) -> bool) -> Res<Vec<f64>> {
    let mut out = vec![0.0; to * k];
    let part = (LARGEST / from.max(to).max(1)).max(FEWEST).min(k);
    let mut lo = 0;
    while lo < k {
        let w = part.min(k - lo);
        let whole = if w < FEWEST { None } else { at_once(m, map, (from, to, w), narrow, &|i, j| seed(i, lo + j))? };
        for j in 0..w {
            let one;
            let (column, step, first) = match &whole {
                Some(all) => (all, w, j),
                None => {
                    one = numbers(&linear::apply(m, map, matrix(&[from], narrow, &|i| seed(i, lo + j)))?, to);
                    (&one, 1, 0)
                }
            };
            (0..to).for_each(|i| out[i * k + lo + j] = column[i * step + first]);
        }
        lo += w;
    }
    Ok(out)
}

fn matrix(shape: &[usize], narrow: bool, one: &dyn Fn(usize) -> bool) -> Value {
    let n: usize = shape.iter().product();
    let buf = if narrow { Buf::F32((0..n).map(|i| f32::from(u8::from(one(i)))).collect()) } else { Buf::F64((0..n).map(|i| f64::from(u8::from(one(i)))).collect()) };
    array::make(Shape::from_slice(shape), buf)
}

/// The numbers of an array of reals; zeros where it is absent.
fn numbers(v: &Value, n: usize) -> Vec<f64> {
    match v {
        Value::Array(a) => match a.buf() {
            Buf::F64(x) if x.len() == n => x.clone(),
            Buf::F32(x) if x.len() == n => x.iter().map(|x| f64::from(*x)).collect(),
            _ => vec![0.0; n],
        },
        _ => vec![0.0; n],
    }
}

/// All images in one pass, where the main road has the map. An error is met again, in the user's terms, where they are taken one by one.
fn at_once(m: &mut Machine, map: &LinearMap, (from, to, w): (usize, usize, usize), narrow: bool, seed: &dyn Fn(usize, usize) -> bool) -> Res<Option<Vec<f64>>> {
    let Some(main) = map.main.clone() else { return Ok(None) };
    let Ok(f) = with(m, |road, _| road.wide(&main.lined, map.transposed)) else { return Ok(None) };
    if !main.lined.active.first().is_some_and(|a| *a) {
        return Ok(Some(vec![0.0; to * w]));
    }
    let mut args = main.residuals.clone();
    args.push(Value::Int(w as i64));
    args.push(matrix(&[from, w], narrow, &|at| seed(at / w, at % w)));
    let outs = m.call_lowered(&f, args, 1);
    m.road.settle();
    match outs {
        Ok(outs) => {
            let out = outs.into_iter().next().unwrap_or(Value::Zero);
            let out = if map.transposed { unsigned_zeros(out) } else { out };
            Ok(Some(numbers(&out, to * w)))
        }
        Err(e) if e.diag.code == codes::INTERRUPT => Err(e),
        Err(_) => Ok(None),
    }
}

/// Whether the map's code shows that it is diagonal, whatever the point.
pub(crate) fn diagonal(m: &mut Machine, map: &LinearMap) -> bool {
    let Some(main) = map.main.clone() else { return false };
    let active = main.lined.active.first().is_some_and(|a| *a);
    active && with(m, |road, _| Ok(road.linear_half(&main.lined).is_ok_and(|f| adl_ad::diagonal::is_diagonal(&road.program, f)))).unwrap_or(false)
}

/// What a pattern by the code rests on, and the pattern; `None` if sets became too large.
#[derive(Debug)]
pub(super) struct Pattern {
    size: (usize, usize),
    entries: u64,
    residuals: Vec<Val>,
    rows: Option<Rc<Vec<Vec<u32>>>>,
}

/// The same as [`dependences`] by the function's code, for all points that have the same Ints and shapes: a second call at such a point computes
/// nothing. `exact`: only where no entry of it can be missing at a point.
pub(crate) fn by_code(m: &mut Machine, map: &LinearMap, (n, k): (usize, usize), exact: bool, entries: u64) -> Res<Option<Rc<Vec<Vec<u32>>>>> {
    let found = coded(m, map, (n, k), exact, entries);
    crate::attend::poll()?;
    Ok(found)
}

fn coded(m: &mut Machine, map: &LinearMap, size: (usize, usize), exact: bool, entries: u64) -> Option<Rc<Vec<Vec<u32>>>> {
    let main = map.main.clone().filter(|main| main.lined.active.first().is_some_and(|a| *a))?;
    let structure = with(m, |road, _| {
        let f = road.linear_half(&main.lined)?;
        road.ad.structure(&mut road.program, f).ok_or_else(|| super::not("a pattern that depends on the point"))
    }).ok()?;
    if exact && !structure.exact {
        return None;
    }
    let kept = main.lined.kept.iter().map(boxes::boxes);
    let residuals: Vec<Val> = main.residuals.iter().zip(kept).zip(&structure.reads).map(|((v, n), read)| {
        if *read { val(&boxes::unpack(v.clone(), n)).map(ones) } else { Some(Val::Absent) }
    }).collect::<Option<_>>()?;
    if let Some(p) = main.lined.pattern.borrow().as_ref().filter(|p| p.size == size && p.entries >= entries && p.residuals == residuals) {
        return p.rows.clone();
    }
    let tys = m.road.program.func(structure.func).tys(&m.road.program.func(structure.func).body.params);
    let args: Vec<Val> = residuals.iter().zip(&tys).map(|(v, t)| if v.is_absent() { Val::zero(t) } else { v.clone() }).collect();
    let rows = evaluated(m, structure.func, &args, size, entries).map(Rc::new);
    *main.lined.pattern.borrow_mut() = Some(Pattern { size, entries, residuals, rows: rows.clone() });
    rows
}

/// A value with all its real numbers 1.
fn ones(v: Val) -> Val {
    match v {
        Val::F64(_) => Val::F64(1.0),
        Val::F32(_) => Val::F32(1.0),
        Val::Array(a) => Val::array(a.shape.clone(), a.elems.iter().cloned().map(ones).collect()),
        other => other,
    }
}

/// Which components of the input each component of the output depends on: the linear map is evaluated with sets of inputs in place of
/// numbers, so that nothing that may be other than zero at this point is left out. `None` where the map is not
/// on the main road, more than `most` numbers are stored for it, or the sets take more than `entries` in all.
pub(crate) fn dependences(m: &mut Machine, map: &LinearMap, (n, k): (usize, usize), most: usize, entries: u64) -> Res<Option<Vec<Vec<u32>>>> {
    let found = sets(m, map, (n, k), most, entries);
    crate::attend::poll()?;
    Ok(found)
}

fn sets(m: &mut Machine, map: &LinearMap, (n, k): (usize, usize), most: usize, entries: u64) -> Option<Vec<Vec<u32>>> {
    let main = map.main.clone()?;
    let kept = main.lined.kept.iter().map(boxes::boxes);
    let unpacked: Vec<Value> = main.residuals.iter().zip(kept).map(|(v, n)| boxes::unpack(v.clone(), n)).collect();
    let stored: usize = unpacked.iter().map(|v| seq::shape(v).map_or(1, |s| s.iter().product())).sum();
    if stored > most {
        return None;
    }
    let residuals: Vec<Val> = unpacked.iter().map(val).collect::<Option<_>>()?;
    if !main.lined.active.first().is_some_and(|a| *a) {
        return Some(vec![Vec::new(); k]);
    }
    let f = with(m, |road, _| road.linear_half(&main.lined)).ok()?;
    evaluated(m, f, &residuals, (n, k), entries)
}

/// A linear function of sets of inputs.
fn evaluated(m: &mut Machine, f: FnId, residuals: &[Val], (n, k): (usize, usize), entries: u64) -> Option<Vec<Vec<u32>>> {
    let left = Rc::new(Cell::new(entries));
    let inputs = (0..n as u32).map(|i| Val::Deps(Rc::new(Deps { of: vec![i], left: left.clone() }))).collect();
    let road = std::mem::take(&mut m.road);
    let out = {
        let mut host = Builtins(m);
        let mut e = Evaluator::new(&road.program, &mut host);
        e.fuel = FUEL;
        e.run(f, residuals, &[Val::array(vec![n], inputs)]).ok().and_then(|o| o.lin_results.into_iter().next())
    };
    m.road = road;
    if left.get() == 0 {
        return None;
    }
    let rows: Vec<Vec<u32>> = match out? {
        Val::Absent => vec![Vec::new(); k],
        Val::Array(a) => a.elems.iter().map(|v| if let Val::Deps(d) = v { d.of.clone() } else { Vec::new() }).collect(),
        _ => return None,
    };
    (rows.len() == k).then_some(rows)
}

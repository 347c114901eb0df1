//! Derivatives in many directions at once, and sparsity patterns of Jacobians.

use super::compression::{Fact, Pattern};
use super::cost::{Builtins, FUEL};
use super::{CompiledAd, Linearized, NotCompiled, SparsityPattern, with};
use crate::ad::linear::{LinearMap, linear_fun};
use crate::error::{Res, codes};
use crate::ir::boxes;
use crate::ir::evaluator_values::val;
use crate::ir::tangents::unsigned_zeros;
use crate::limits::ir_derive_directions::{FEWEST, LARGEST};
use crate::upcalls::{RunsLowered, Upcalls};
use crate::value::{Buf, Shape, Value, array, seq};
use crate::vm::{Fun, Machine};
use adl_ir::eval::{Deps, Evaluator};
use adl_ir::{FnId, Val};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

impl CompiledAd {
    /// The code of the derivative for many directions.
    fn wide(&mut self, l: &Linearized, transposed: bool) -> Result<Rc<Fun>, NotCompiled> {
        let mut kept = l.wide.borrow_mut();
        let place = &mut kept[usize::from(transposed)];
        if let Some(f) = place {
            return Ok(f.clone());
        }
        let start = Instant::now();
        let f = self.ad.directions(&mut self.program, l.source, &l.wrt, &l.plan, transposed)?;
        let made = self.linker.function(&self.program, f).map_err(|e| super::not(&e.diag.message))?;
        *place = Some(made.clone());
        self.clock.add_transform_time(start);
        Ok(made)
    }

    /// The linear half of the forward-mode transform.
    fn linear_half(&mut self, l: &Linearized) -> Result<FnId, NotCompiled> {
        let j = self.ad.jvp(&mut self.program, l.source, &l.wrt)?;
        Ok(self.ad.unzip(&mut self.program, j.func, &l.plan)?.linear)
    }
}

/// The images of directions under a linear map.
pub(crate) struct Images {
    /// Matrices with a column for each direction, row by row; nothing for zeros.
    parts: Vec<(Option<Value>, usize)>,
    /// The number of components of an image.
    to: usize,
}

/// The components of one image.
pub(crate) struct Image<'a> {
    numbers: &'a [f64],
    step: usize,
    first: usize,
}

impl Image<'_> {
    /// A component.
    pub(crate) fn at(&self, i: usize) -> f64 {
        self.numbers.get(i * self.step + self.first).copied().unwrap_or(0.0)
    }
}

impl Images {
    /// Each image.
    pub(crate) fn each(&self) -> impl Iterator<Item = Image<'_>> {
        self.parts.iter().flat_map(|(v, step)| {
            let numbers = match v {
                Some(Value::Array(a)) => match a.buf() {
                    Buf::F64(x) => x.as_slice(),
                    _ => &[],
                },
                _ => &[],
            };
            (0..*step).map(move |first| Image { numbers, step: *step, first })
        })
    }

    /// The matrix whose columns are the images, row by row.
    pub(crate) fn matrix(&self) -> Vec<f64> {
        let width = self.parts.iter().map(|(_, width)| width).sum::<usize>();
        let mut out = vec![0.0; self.to * width];
        self.each().enumerate().for_each(|(j, image)| (0..self.to).for_each(|i| out[i * width + j] = image.at(i)));
        out
    }
}

/// Applies a linear map between vectors of `from` and `to` components to `directions` vectors of zeros and ones. The
/// direction in which a component is 1 is given by `colour`.
pub(crate) fn images(
    machine: &mut Machine,
    map: &LinearMap,
    (from, to): (usize, usize),
    directions: usize,
    narrow: bool,
    colour: &dyn Fn(usize) -> usize,
) -> Res<Images> {
    let one_direction = linear_fun(map.clone());
    let mut parts = Vec::new();
    let part = (LARGEST / from.max(to).max(1)).max(FEWEST).min(directions);
    let mut lo = 0;
    while lo < directions {
        let width = part.min(directions - lo);
        let whole = if width < FEWEST {
            None
        } else {
            at_once(machine, map, (from, to, width), narrow, &|i| colour(i).wrapping_sub(lo))?
        };
        match whole {
            Some(all) => parts.push((all, width)),
            None => {
                for c in lo..lo + width {
                    let seed = matrix(&[from], narrow, &|i| if colour(i) == c { 0 } else { 1 });
                    parts.push((numbers(Upcalls::call(machine, &one_direction, &[seed])?, to), 1));
                }
            }
        }
        lo += width;
    }
    Ok(Images { parts, to })
}

/// A matrix with a 1 in each row, in the column that `place` gives, if there is such a column.
fn matrix(shape: &[usize], narrow: bool, place: &dyn Fn(usize) -> usize) -> Value {
    let width = shape.get(1).copied().unwrap_or(1);
    let mut xs = vec![0.0; shape[0] * width];
    for i in 0..shape[0] {
        let at = place(i);
        if at < width {
            xs[i * width + at] = 1.0;
        }
    }
    let buf = if narrow { Buf::F32(xs.into_iter().map(|x| x as f32).collect()) } else { Buf::F64(xs) };
    array::make(Shape::from_slice(shape), buf)
}

/// A real array of length `n` with elements of 64 bits; nothing for a symbolic zero.
fn numbers(v: Value, n: usize) -> Option<Value> {
    let Value::Array(a) = &v else { return None };
    match a.buf() {
        Buf::F64(x) if x.len() == n => Some(v),
        Buf::F32(x) if x.len() == n => Some(array::floats(x.iter().map(|x| f64::from(*x)).collect())),
        _ => None,
    }
}

/// All images in one batch, if the map was made by compiled AD. On an error it returns `None`: evaluating the
/// directions one at a time reports the error in terms of the user's program.
fn at_once(
    machine: &mut Machine,
    map: &LinearMap,
    (from, to, width): (usize, usize, usize),
    narrow: bool,
    place: &dyn Fn(usize) -> usize,
) -> Res<Option<Option<Value>>> {
    let Some(main) = super::compiled(map) else { return Ok(None) };
    let Ok(f) = with(machine, |compiled_ad, _| compiled_ad.wide(&main.lined, map.transposed)) else { return Ok(None) };
    if !main.lined.active.first().is_some_and(|a| *a) {
        return Ok(Some(None));
    }
    let mut args = main.residuals.clone();
    args.push(Value::Int(width as i64));
    args.push(matrix(&[from, width], narrow, place));
    let outs = machine.call_lowered(&f, args, 1);
    machine.compiled_ad.add_to_last_call();
    match outs {
        Ok(outs) => {
            let out = outs.into_iter().next().unwrap_or(Value::Zero);
            let out = if map.transposed { unsigned_zeros(out) } else { out };
            Ok(Some(numbers(out, to * width)))
        }
        Err(e) if e.diag.code == codes::INTERRUPT => Err(e),
        Err(_) => Ok(None),
    }
}

/// Whether the code of the map shows that its matrix is diagonal at every point.
pub(crate) fn diagonal(m: &mut Machine, map: &LinearMap) -> bool {
    let Some(main) = super::compiled(map) else { return false };
    let active = main.lined.active.first().is_some_and(|a| *a);
    active
        && with(m, |compiled_ad, _| {
            Ok(compiled_ad
                .linear_half(&main.lined)
                .is_ok_and(|f| adl_ad::diagonal::is_diagonal(&compiled_ad.program, f)))
        })
        .unwrap_or(false)
}

/// Derives the pattern of [`dependences`] from the code of the function. It holds for all points with the same
/// Ints and shapes, so that a second call at such a point computes nothing, and keeps the directions. `exact` accepts only patterns of
/// which every entry is present at every point.
pub(crate) fn by_code(
    m: &mut Machine,
    map: &LinearMap,
    (n, k): (usize, usize),
    exact: bool,
    entries: u64,
) -> Res<Option<Rc<Pattern>>> {
    let found = coded(m, map, (n, k), exact, entries);
    crate::polling::poll()?;
    Ok(found)
}

fn coded(
    machine: &mut Machine,
    map: &LinearMap,
    size: (usize, usize),
    exact: bool,
    entries: u64,
) -> Option<Rc<Pattern>> {
    let main = super::compiled(map).filter(|main| main.lined.active.first().is_some_and(|a| *a))?;
    let structure = with(machine, |compiled_ad, _| {
        let f = compiled_ad.linear_half(&main.lined)?;
        compiled_ad
            .ad
            .structure(&mut compiled_ad.program, f)
            .ok_or_else(|| super::not("a pattern that depends on the point"))
    })
    .ok()?;
    if exact && !structure.exact {
        return None;
    }
    let given = || main.residuals.iter().zip(&structure.reads).map(|(v, read)| read.then_some(v));
    if let Some(p) = main.lined.pattern.borrow().as_ref().filter(|p| {
        p.size == size && p.entries >= entries && p.facts.iter().zip(given()).all(|(fact, v)| fact.holds(v))
    }) {
        return p.found.clone();
    }
    let kept = main.lined.kept.iter().map(boxes::boxes);
    let func = machine.compiled_ad.program.func(structure.func);
    let args: Vec<Val> = given()
        .zip(kept)
        .zip(func.tys(&func.body.params))
        .map(|((v, n), ty)| v.map_or_else(|| Some(Val::zero(&ty)), |v| val(&boxes::unpack(v.clone(), n)).map(ones)))
        .collect::<Option<_>>()?;
    let facts = given().map(Fact::of).collect();
    let found = evaluated(machine, structure.func, &args, size, entries).map(|rows| Rc::new(Pattern::of(rows)));
    *main.lined.pattern.borrow_mut() = Some(SparsityPattern { size, entries, facts, found: found.clone() });
    found
}

/// The value with all its real scalars replaced by 1.
fn ones(v: Val) -> Val {
    match v {
        Val::F64(_) => Val::F64(1.0),
        Val::F32(_) => Val::F32(1.0),
        Val::Array(a) => Val::array(a.shape.clone(), a.elems.iter().cloned().map(ones).collect()),
        other => other,
    }
}

/// Which components of the input each component of the output depends on. The linear map is evaluated on index
/// sets instead of numbers, so that the result contains every entry that may be non-zero at this point. `None`
/// if the map was not made by compiled AD, if it stores more than `most` scalars, or if the sets have more than
/// `entries` elements in all.
pub(crate) fn dependences(
    m: &mut Machine,
    map: &LinearMap,
    (n, k): (usize, usize),
    most: usize,
    entries: u64,
) -> Res<Option<Vec<Vec<u32>>>> {
    let found = sets(m, map, (n, k), most, entries);
    crate::polling::poll()?;
    Ok(found)
}

fn sets(
    machine: &mut Machine,
    map: &LinearMap,
    (inputs, outputs): (usize, usize),
    most: usize,
    entries: u64,
) -> Option<Vec<Vec<u32>>> {
    let main = super::compiled(map)?;
    let kept = main.lined.kept.iter().map(boxes::boxes);
    let unpacked: Vec<Value> = main.residuals.iter().zip(kept).map(|(v, n)| boxes::unpack(v.clone(), n)).collect();
    let stored: usize = unpacked.iter().map(|v| seq::shape(v).map_or(1, |s| s.iter().product())).sum();
    if stored > most {
        return None;
    }
    let residuals: Vec<Val> = unpacked.iter().map(val).collect::<Option<_>>()?;
    if !main.lined.active.first().is_some_and(|a| *a) {
        return Some(vec![Vec::new(); outputs]);
    }
    let f = with(machine, |compiled_ad, _| compiled_ad.linear_half(&main.lined)).ok()?;
    evaluated(machine, f, &residuals, (inputs, outputs), entries)
}

/// Evaluates a linear function on index sets.
fn evaluated(
    machine: &mut Machine,
    id: FnId,
    residuals: &[Val],
    (n, outputs): (usize, usize),
    entries: u64,
) -> Option<Vec<Vec<u32>>> {
    let left = Rc::new(Cell::new(entries));
    let inputs = (0..n as u32).map(|i| Val::Deps(Rc::new(Deps { of: vec![i], left: left.clone() }))).collect();
    let compiled_ad = std::mem::take(&mut machine.compiled_ad);
    let out = {
        let mut host = Builtins(machine);
        let mut e = Evaluator::new(&compiled_ad.program, &mut host);
        e.fuel = FUEL;
        e.run(id, residuals, &[Val::array(vec![n], inputs)]).ok().and_then(|o| o.lin_results.into_iter().next())
    };
    machine.compiled_ad = compiled_ad;
    if left.get() == 0 {
        return None;
    }
    let rows: Vec<Vec<u32>> = match out? {
        Val::SymbolicZero => vec![Vec::new(); outputs],
        Val::Array(a) => a.elems.iter().map(|v| if let Val::Deps(d) = v { d.of.clone() } else { Vec::new() }).collect(),
        _ => return None,
    };
    (rows.len() == outputs).then_some(rows)
}

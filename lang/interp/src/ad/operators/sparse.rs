//! Jacobians: dense ones, and sparse ones that are compressed by graph colouring.

use super::derivative;
use super::linear::LinearMap;
use crate::ad::traced::primal_of;
use crate::error::{Error, Res, codes};
use crate::ir::derive::compression::{Colouring, Compression, Pattern};
use crate::ir::derive::directions::{by_code, dependences, diagonal, images};
use crate::ir::derive::residuals_report::{int, record};
use crate::limits::ad_operators_sparse::{CODED, DIAGONAL, ENTRIES, MOST_ENTRIES, RESIDUALS, STRUCTURED};
use crate::value::{Buf, Shape, Value, array, seq, vector_space};
use crate::vm::{Fun, Machine};
use adl_prim::{ArrayFn, DerivativeFn, Prim};
use std::rc::Rc;

fn made(shape: [usize; 2], xs: Vec<f64>, narrow: bool) -> Value {
    let buf = if narrow { Buf::F32(xs.into_iter().map(|x| x as f32).collect()) } else { Buf::F64(xs) };
    array::make(Shape::from_slice(&shape), buf)
}

/// The Jacobian matrix, in all directions at once: in forward mode from each input or in reverse mode from each
/// output, whichever are fewer.
pub(super) fn jacobian(machine: &mut Machine, p: DerivativeFn, f: &Value, point: &Value) -> Res<Value> {
    let (y, map) = derivative::record(machine, f, point)?;
    let (inputs, outputs) = (seq::len(point), seq::len(&y));
    let narrow = vector_space::narrow(point);
    if inputs == 0 || outputs == 0 {
        return Ok(made([outputs, inputs], Vec::new(), narrow));
    }
    array::count(&[outputs, inputs])?;
    crate::memory::ask_dense(outputs, inputs)?;
    let forwards = p == DerivativeFn::Jacfwd || p == DerivativeFn::Jacobian && inputs <= outputs;
    if machine.ad.depth() > 0 {
        return one_by_one(
            machine,
            LinearMap { transposed: !forwards, ..map },
            if forwards { inputs } else { outputs },
            narrow,
        );
    }
    if inputs == outputs && inputs >= DIAGONAL && diagonal(machine, &map) {
        let entries = images(machine, &map, (inputs, inputs), 1, narrow, &|_| 0)?.matrix();
        let mut all = vec![0.0; inputs * inputs];
        entries.iter().enumerate().for_each(|(i, x)| all[i * inputs + i] = *x);
        return Ok(made([inputs, inputs], all, narrow));
    }
    if inputs.min(outputs) >= CODED
        && let Some(all) = structured(machine, &map, (inputs, outputs), narrow)?
    {
        return Ok(made([outputs, inputs], all, narrow));
    }
    let map = LinearMap { transposed: !forwards, ..map };
    if forwards {
        let all = images(machine, &map, (inputs, outputs), inputs, narrow, &|i| i)?.matrix();
        return Ok(made([outputs, inputs], all, narrow));
    }
    let rows = images(machine, &map, (outputs, inputs), outputs, narrow, &|i| i)?;
    let mut all = Vec::with_capacity(outputs * inputs);
    rows.each().for_each(|row| all.extend((0..inputs).map(|j| row.at(j))));
    Ok(made([outputs, inputs], all, narrow))
}

/// Like [`jacobian`], inside another derivative, which traces the numbers: one direction at a time.
fn one_by_one(m: &mut Machine, map: LinearMap, count: usize, narrow: bool) -> Res<Value> {
    let rows = (0..count)
        .map(|i| derivative::apply(m, &map, direction(count, narrow, &|j| i == j)))
        .collect::<Res<Vec<_>>>()?;
    let all = seq::pack(m, rows)?;
    if map.transposed { Ok(all) } else { crate::ops::call(m, Prim::Array(ArrayFn::TransposeArray), &[], vec![all]) }
}

/// A vector that is 1 where `seed` holds, and 0 elsewhere.
fn direction(count: usize, narrow: bool, seed: &dyn Fn(usize) -> bool) -> Value {
    let xs = (0..count).map(|j| f64::from(u8::from(seed(j))));
    let buf = if narrow { Buf::F32(xs.map(|x| x as f32).collect()) } else { Buf::F64(xs.collect()) };
    array::make(Shape::from_slice(&[count]), buf)
}

/// The entries that the code of `f` allows at any point. The derivative parts of outer derivatives do not
/// affect the structure, so they are removed together with their levels.
fn untraced_structure(m: &mut Machine, f: &Value, x: &Value) -> Option<Rc<Pattern>> {
    let levels = std::mem::take(&mut m.ad.levels);
    let found = primal_structure(m, &primal(f), &primal(x));
    m.ad.levels = levels;
    found
}

/// A value without derivative parts, including values that functions capture.
fn primal(v: &Value) -> Value {
    let Value::Fun(f) = v else { return primal_of(v) };
    let all = |vals: &[Value]| vals.iter().map(primal).collect();
    match &**f {
        Fun::Closure(code, vals) => Value::Fun(Rc::new(Fun::Closure(code.clone(), all(vals)))),
        Fun::Partial(g, vals) => Value::Fun(Rc::new(Fun::Partial(g.clone(), all(vals)))),
        _ => v.clone(),
    }
}

fn primal_structure(m: &mut Machine, f: &Value, x: &Value) -> Option<Rc<Pattern>> {
    let (y, map) = derivative::record(m, f, x).ok()?;
    by_code(m, &map, (seq::len(x), seq::len(&y)), true, MOST_ENTRIES).ok()?
}

/// Computes a dense Jacobian from the few directions that its structure requires, if they are few and the
/// structure is cheap to find.
fn structured(
    machine: &mut Machine,
    map: &LinearMap,
    (inputs, outputs): (usize, usize),
    narrow: bool,
) -> Res<Option<Vec<f64>>> {
    let most = ENTRIES * (inputs + outputs) as u64;
    if let Some(pattern) = by_code(machine, map, (inputs, outputs), false, most.min((inputs * outputs) as u64 * 4))?
        && let Some(all) = compressed(machine, map, (inputs, outputs), narrow, &pattern)?
    {
        return Ok(Some(all));
    }
    if inputs.min(outputs) < STRUCTURED {
        return Ok(None);
    }
    match dependences(machine, map, (inputs, outputs), RESIDUALS * inputs, most)? {
        Some(rows) => compressed(machine, map, (inputs, outputs), narrow, &Pattern::of(rows)),
        None => Ok(None),
    }
}

/// Like [`structured`], with a known pattern.
fn compressed(
    machine: &mut Machine,
    map: &LinearMap,
    (inputs, outputs): (usize, usize),
    narrow: bool,
    pattern: &Pattern,
) -> Res<Option<Vec<f64>>> {
    if 4 * pattern.bound(inputs) > inputs.min(outputs) {
        return Ok(None);
    }
    let c = pattern.compression(inputs)?;
    if 4 * c.passes() > inputs.min(outputs) {
        return Ok(None);
    }
    let values = entries(machine, map, &c, (inputs, outputs), narrow)?;
    let mut all = vec![0.0; outputs * inputs];
    let places = c.rows.iter().enumerate().flat_map(|(i, r)| r.iter().map(move |j| i * inputs + *j as usize));
    places.zip(values).for_each(|(at, v)| all[at] = v);
    Ok(Some(all))
}

/// The entries of a Jacobian, row by row.
fn entries(m: &mut Machine, map: &LinearMap, c: &Compression, (n, k): (usize, usize), narrow: bool) -> Res<Vec<f64>> {
    let part = |m: &mut Machine, colouring: &Colouring, transposed: bool, size: (usize, usize)| {
        let map = LinearMap { transposed, ..map.clone() };
        images(m, &map, size, colouring.count, narrow, &|i| colouring.colours[i] as usize)
    };
    let forwards = part(m, &c.columns, false, (n, k))?;
    let backwards = part(m, &c.across, true, (k, n))?;
    let all: Vec<_> = forwards.each().chain(backwards.each()).collect();
    Ok(c.places.iter().map(|(direction, i)| all[*direction as usize].at(*i as usize)).collect())
}

/// Like [`entries`], inside another derivative: one value for each direction, from whose elements the entries are
/// taken.
fn traced_entries(
    machine: &mut Machine,
    map: &LinearMap,
    compression: &Compression,
    (inputs, outputs): (usize, usize),
    narrow: bool,
) -> Res<Value> {
    let mut parts = Vec::new();
    for (colouring, transposed, from) in [(&compression.columns, false, inputs), (&compression.across, true, outputs)] {
        let map = LinearMap { transposed, ..map.clone() };
        let rows = (0..colouring.count)
            .map(|c| {
                let seed = direction(from, narrow, &|i| colouring.colours[i] as usize == c);
                derivative::apply(machine, &map, seed)
            })
            .collect::<Res<Vec<_>>>()?;
        if !rows.is_empty() {
            let all = seq::pack(machine, rows)?;
            parts.push(crate::ops::call(machine, Prim::Array(ArrayFn::Flatten), &[], vec![all])?);
        }
    }
    let flat = match <[Value; 2]>::try_from(parts) {
        Ok(both) => crate::ops::call(machine, Prim::Array(ArrayFn::Append), &[], both.into())?,
        Err(one) => match one.into_iter().next() {
            Some(one) => one,
            None => return Ok(array::floats(Vec::new())),
        },
    };
    let first = compression.columns.count;
    let place = |direction: usize| {
        if direction < first { direction * outputs } else { first * outputs + (direction - first) * inputs }
    };
    let at =
        compression.places.iter().map(|(direction, i)| (place(*direction as usize) + *i as usize) as i64).collect();
    crate::ops::call(machine, Prim::Array(ArrayFn::Gather), &[], vec![flat, array::ints(at)])
}

/// The entries of a Jacobian that may be non-zero. Columns without a common row are computed by one pass in
/// forward mode, and rows without a common column by one pass in reverse mode, or both for parts of the matrix.
pub(super) fn jacobian_sparse(machine: &mut Machine, func: &Value, point: &Value) -> Res<Value> {
    let (y, map) = derivative::record(machine, func, point)?;
    let (inputs, outputs) = (seq::len(point), seq::len(&y));
    if u32::try_from(inputs.max(outputs)).is_err() {
        return Err(Error::new(codes::DOMAIN, "a Jacobian of more than 4294967295 rows or columns"));
    }
    // Inside another derivative, which traces the numbers, all entries are returned unless the code determines
    // the structure for every point.
    let traced = machine.ad.depth() > 0 && inputs > 0 && outputs > 0;
    let coded = if traced {
        untraced_structure(machine, func, point)
    } else {
        by_code(machine, &map, (inputs, outputs), true, MOST_ENTRIES)?
    };
    let found = match coded {
        Some(pattern) => Some(pattern),
        None if traced => None,
        None => dependences(machine, &map, (inputs, outputs), usize::MAX, MOST_ENTRIES)?
            .map(|rows| Rc::new(Pattern::of(rows))),
    };
    let pattern = match found {
        Some(pattern) => pattern,
        None => {
            drop(array::room::<[u64; 6]>(array::count(&[outputs, inputs])?)?);
            Rc::new(Pattern::of(vec![(0..inputs as u32).collect(); outputs]))
        }
    };
    let compression = pattern.compression(inputs)?;
    let values = if traced {
        traced_entries(machine, &map, &compression, (inputs, outputs), vector_space::narrow(point))?
    } else {
        let values = entries(machine, &map, &compression, (inputs, outputs), false)?;
        array::make(Shape::from_slice(&[values.len()]), Buf::F64(values))
    };
    let (row, col) = compression.indices();
    Ok(record(vec![
        ("col_indices", col),
        ("cols", int(inputs as u64)),
        ("mode", Value::Str(Rc::new(compression.mode().into()))),
        ("passes", int(compression.passes() as u64)),
        ("row_indices", row),
        ("rows", int(outputs as u64)),
        ("values", values),
    ]))
}

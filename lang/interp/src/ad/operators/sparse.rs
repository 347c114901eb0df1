//! Jacobians: dense ones, and sparse ones that are compressed by graph colouring.

use super::derivative;
use super::linear::LinearMap;
use crate::ad::traced::primal_of;
use crate::error::{Error, Res, codes};
use crate::ir::derive::directions::{by_code, dependences, diagonal, images};
use crate::ir::derive::report::{int, record};
use crate::limits::ad_operators_sparse::{CODED, DIAGONAL, ENTRIES, MOST_ENTRIES, RESIDUALS, STRUCTURED};
use crate::polling;
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
pub(super) fn jacobian(machine: &mut Machine, p: DerivativeFn, f: &Value, x: &Value) -> Res<Value> {
    let (y, map) = derivative::record(machine, f, x)?;
    let (inputs, outputs) = (seq::len(x), seq::len(&y));
    let narrow = vector_space::narrow(x);
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
        let entries = images(machine, &map, (inputs, inputs), 1, narrow, &|_, _| true)?;
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
        let all = images(machine, &map, (inputs, outputs), inputs, narrow, &|i, j| i == j)?;
        return Ok(made([outputs, inputs], all, narrow));
    }
    let columns = images(machine, &map, (outputs, inputs), outputs, narrow, &|i, j| i == j)?;
    let mut all = vec![0.0; outputs * inputs];
    for i in 0..inputs {
        (0..outputs).for_each(|j| all[j * inputs + i] = columns[i * outputs + j]);
    }
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
fn untraced_structure(m: &mut Machine, f: &Value, x: &Value) -> Option<Vec<Vec<u32>>> {
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

fn primal_structure(m: &mut Machine, f: &Value, x: &Value) -> Option<Vec<Vec<u32>>> {
    let (y, map) = derivative::record(m, f, x).ok()?;
    let rows = by_code(m, &map, (seq::len(x), seq::len(&y)), true, MOST_ENTRIES).ok()??;
    Some((*rows).clone())
}

/// Computes a dense Jacobian from the few directions that its structure requires, if they are few and the
/// structure is cheap to find.
fn structured(
    machine: &mut Machine,
    map: &LinearMap,
    (inputs, outputs): (usize, usize),
    narrow: bool,
) -> Res<Option<Vec<f64>>> {
    let entries = ENTRIES * (inputs + outputs) as u64;
    if let Some(rows) = by_code(machine, map, (inputs, outputs), false, entries.min((inputs * outputs) as u64 * 4))?
        && let Some(all) = compressed(machine, map, (inputs, outputs), narrow, (*rows).clone())?
    {
        return Ok(Some(all));
    }
    if inputs.min(outputs) < STRUCTURED {
        return Ok(None);
    }
    match dependences(machine, map, (inputs, outputs), RESIDUALS * inputs, entries)? {
        Some(rows) => compressed(machine, map, (inputs, outputs), narrow, rows),
        None => Ok(None),
    }
}

/// Like [`structured`], with known rows.
fn compressed(
    machine: &mut Machine,
    map: &LinearMap,
    (inputs, outputs): (usize, usize),
    narrow: bool,
    rows: Vec<Vec<u32>>,
) -> Res<Option<Vec<f64>>> {
    // One direction determines at most one entry of each row, so the widest row is a lower bound for the number
    // of directions.
    let widest = |groups: &[Vec<u32>]| groups.iter().map(Vec::len).max().unwrap_or(0);
    if 4 * widest(&rows).min(widest(&transposed(&rows, inputs))) > inputs.min(outputs) {
        return Ok(None);
    }
    let c = Compressed::of(rows, inputs, outputs)?;
    if 4 * c.passes() > inputs.min(outputs) {
        return Ok(None);
    }
    let values = c.values(machine, map, (inputs, outputs), narrow)?;
    let mut all = vec![0.0; outputs * inputs];
    let places = c.rows.iter().enumerate().flat_map(|(i, r)| r.iter().map(move |j| i * inputs + *j as usize));
    places.zip(values).for_each(|(at, v)| all[at] = v);
    Ok(Some(all))
}

/// The entries of a Jacobian, and the directions by which they are computed.
struct Compressed {
    rows: Vec<Vec<u32>>,
    /// The colour of each column and of each row, with the number of colours.
    by_column: (Vec<usize>, usize),
    by_row: (Vec<usize>, usize),
}

impl Compressed {
    fn of(rows: Vec<Vec<u32>>, n: usize, k: usize) -> Res<Compressed> {
        let (by_column, by_row) = (colours(&rows, n)?, colours(&transposed(&rows, n), k)?);
        Ok(Compressed { rows, by_column, by_row })
    }

    fn backwards(&self) -> bool {
        self.by_row.1 < self.by_column.1
    }

    fn passes(&self) -> usize {
        self.by_row.1.min(self.by_column.1)
    }

    /// The entries, row by row.
    fn values(&self, m: &mut Machine, map: &LinearMap, (n, k): (usize, usize), narrow: bool) -> Res<Vec<f64>> {
        let w = self.passes();
        let map = LinearMap { transposed: self.backwards(), ..map.clone() };
        if self.backwards() {
            let (row, _) = &self.by_row;
            let got = images(m, &map, (k, n), w, narrow, &|i, c| row[i] == c)?;
            return Ok(self.each(&|i, j| got[j * w + row[i]]));
        }
        let (column, _) = &self.by_column;
        let got = images(m, &map, (n, k), w, narrow, &|i, c| column[i] == c)?;
        Ok(self.each(&|i, j| got[i * w + column[j]]))
    }

    /// Like [`Compressed::values`], inside another derivative: one value for each direction, from whose
    /// elements the entries are taken.
    fn traced_values(&self, machine: &mut Machine, map: LinearMap, (n, k): (usize, usize), narrow: bool) -> Res<Value> {
        let back = self.backwards();
        let map = LinearMap { transposed: back, ..map };
        let (colour, from, to) = if back { (&self.by_row.0, k, n) } else { (&self.by_column.0, n, k) };
        let rows = (0..self.passes())
            .map(|c| derivative::apply(machine, &map, direction(from, narrow, &|i| colour[i] == c)))
            .collect::<Res<Vec<_>>>()?;
        if rows.is_empty() {
            return Ok(array::floats(Vec::new()));
        }
        let all = seq::pack(machine, rows)?;
        let flat = crate::ops::call(machine, Prim::Array(ArrayFn::Flatten), &[], vec![all])?;
        let place = |i: usize, j: usize| if back { colour[i] * to + j } else { colour[j] * to + i };
        let at = self
            .rows
            .iter()
            .enumerate()
            .flat_map(|(i, r)| r.iter().map(move |j| place(i, *j as usize) as i64))
            .collect();
        crate::ops::call(machine, Prim::Array(ArrayFn::Gather), &[], vec![flat, array::ints(at)])
    }

    fn each(&self, at: &dyn Fn(usize, usize) -> f64) -> Vec<f64> {
        self.rows.iter().enumerate().flat_map(|(i, r)| r.iter().map(move |j| at(i, *j as usize))).collect()
    }
}

/// Colours things so that all members of a group differ, by the greedy algorithm in the given order. Returns
/// the colours and their number.
fn colours(groups: &[Vec<u32>], things: usize) -> Res<(Vec<usize>, usize)> {
    let mut of: Vec<Vec<u32>> = vec![Vec::new(); things];
    for (g, members) in groups.iter().enumerate() {
        members.iter().for_each(|t| of[*t as usize].push(g as u32));
    }
    // A bit set of the colours in each group.
    let mut taken: Vec<Vec<u64>> = vec![Vec::new(); groups.len()];
    let mut colour = vec![0; things];
    let mut most = 0;
    for thing in 0..things {
        if thing % 16 == 0 {
            polling::poll()?;
        }
        let used =
            |word: usize| of[thing].iter().fold(0, |bits, g| bits | taken[*g as usize].get(word).copied().unwrap_or(0));
        let (word, bits) = (0..).map(|w| (w, used(w))).find(|(_, bits)| *bits != u64::MAX).unwrap_or((0, 0));
        let free = 64 * word + bits.trailing_ones() as usize;
        colour[thing] = free;
        if !of[thing].is_empty() {
            most = most.max(free + 1);
        }
        of[thing].iter().for_each(|g| {
            let bits = &mut taken[*g as usize];
            bits.resize(bits.len().max(word + 1), 0);
            bits[word] |= 1 << (free % 64);
        });
    }
    Ok((colour, most))
}

/// The rows in which each column has an entry.
fn transposed(rows: &[Vec<u32>], n: usize) -> Vec<Vec<u32>> {
    let mut out = vec![Vec::new(); n];
    for (i, r) in rows.iter().enumerate() {
        r.iter().for_each(|j| out[*j as usize].push(i as u32));
    }
    out
}

/// The entries of a Jacobian that may be non-zero. Columns without a common row are computed by one pass in
/// forward mode, or rows without a common column by one pass in reverse mode.
pub(super) fn jacobian_sparse(machine: &mut Machine, func: &Value, point: &Value) -> Res<Value> {
    let (y, map) = derivative::record(machine, func, point)?;
    let (inputs, outputs) = (seq::len(point), seq::len(&y));
    if u32::try_from(inputs.max(outputs)).is_err() {
        return Err(Error::new(codes::DOMAIN, "a Jacobian of more than 4294967295 rows or columns"));
    }
    let all = || (0..inputs as u32).collect::<Vec<_>>();
    // Inside another derivative, which traces the numbers, all entries are returned unless the code determines
    // the structure for every point.
    let traced = machine.ad.depth() > 0 && inputs > 0 && outputs > 0;
    let coded = if traced {
        untraced_structure(machine, func, point)
    } else {
        by_code(machine, &map, (inputs, outputs), true, MOST_ENTRIES)?.map(|rows| (*rows).clone())
    };
    let found = match coded {
        Some(rows) => Some(rows),
        None if traced => None,
        None => dependences(machine, &map, (inputs, outputs), usize::MAX, MOST_ENTRIES)?,
    };
    // Each entry takes several words here; fail before memory is exhausted.
    let entries = found.as_ref().map_or(array::count(&[outputs, inputs])?, |rows| rows.iter().map(Vec::len).sum());
    drop(array::room::<[u64; 6]>(entries)?);
    let compressed = Compressed::of(found.unwrap_or_else(|| vec![all(); outputs]), inputs, outputs)?;
    let values = if traced {
        compressed.traced_values(machine, map, (inputs, outputs), vector_space::narrow(point))?
    } else {
        let values = compressed.values(machine, &map, (inputs, outputs), false)?;
        array::make(Shape::from_slice(&[values.len()]), Buf::F64(values))
    };
    let row = compressed.rows.iter().enumerate().flat_map(|(i, r)| r.iter().map(move |_| i as i64)).collect();
    let col = compressed.rows.iter().flatten().map(|j| i64::from(*j)).collect();
    Ok(record(vec![
        ("backwards", Value::Bool(compressed.backwards())),
        ("col_indices", array::ints(col)),
        ("cols", int(inputs as u64)),
        ("passes", int(compressed.passes() as u64)),
        ("row_indices", array::ints(row)),
        ("rows", int(outputs as u64)),
        ("values", values),
    ]))
}

//! Replacement of rows: in place if the array is not shared, with a record as large as the replaced rows.

use super::{Add, Gather, Rule, View, zeros};
use crate::ad::{self, DerivativePart, Dual};
use crate::error::Res;
use crate::ops::call;
use crate::upcalls::Upcalls;
use crate::value::{Array, Buf, Shape, Value, array, seq};
use adl_prim::{ArrayFn, Prim};
use std::cell::OnceCell;
use std::rc::Rc;

/// `out` is the destination with some rows replaced by rows of another array.
struct Replace {
    /// The destination row that each new row replaces; `None` if the index is out of bounds, or if a later row
    /// replaces it again.
    at: Vec<Option<usize>>,
    /// Number of elements of a row.
    row: usize,
    dest: Shape,
    values: Shape,
    /// The same map on single elements, for nested derivatives and for engines.
    elements: OnceCell<Gather>,
}

impl Replace {
    fn new(at: &[i64], dest: Shape, values: Shape) -> Replace {
        let rows = dest.first().copied().unwrap_or(0);
        let mut last: std::collections::HashMap<usize, usize> = std::collections::HashMap::with_capacity(at.len());
        let mut places: Vec<Option<usize>> = Vec::with_capacity(at.len());
        for (k, i) in at.iter().enumerate() {
            let place = usize::try_from(*i).ok().filter(|i| *i < rows);
            if let Some(before) = place.and_then(|p| last.insert(p, k)) {
                places[before] = None;
            }
            places.push(place);
        }
        Replace { at: places, row: dest[1..].iter().product(), dest, values, elements: OnceCell::new() }
    }

    /// The offset of each effective row in the values, and in the destination.
    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let row = self.row;
        self.at.iter().enumerate().filter_map(move |(k, i)| i.map(|i| (k * row, i * row)))
    }

    fn elements(&self) -> &Gather {
        self.elements.get_or_init(|| {
            let n: usize = self.dest.iter().product();
            let mut map: Vec<i64> = (0..n as i64).collect();
            for (from, to) in self.places() {
                (0..self.row).for_each(|j| map[to + j] = (n + from + j) as i64);
            }
            Gather { map, ins: vec![Some(self.dest.clone()), Some(self.values.clone())], out: Some(self.dest.clone()) }
        })
    }

    /// Moves the cotangent of the values out of that of the result, leaving zeros.
    fn take_out<T: Copy + Default>(&self, ct: &mut [T]) -> Vec<T> {
        let mut out = vec![T::default(); self.values.iter().product()];
        for (from, to) in self.places() {
            out[from..from + self.row].copy_from_slice(&ct[to..to + self.row]);
            ct[to..to + self.row].fill(T::default());
        }
        out
    }
}

impl Rule for Replace {
    fn pull(&self, m: &mut dyn Upcalls, cts: &[Value], add: Add) -> Res<()> {
        self.pull_taken(m, cts.to_vec(), add)
    }

    fn pull_taken(&self, machine: &mut dyn Upcalls, mut cts: Vec<Value>, add: Add) -> Res<()> {
        let Some(Value::Array(ct)) =
            cts.pop_if(|v| matches!(v, Value::Array(a) if matches!(a.buf(), Buf::F64(_) | Buf::F32(_))))
        else {
            return self.elements().pull(machine, &cts, add);
        };
        let mut ct: Array = array::owned(ct)?;
        let values = match ct.buf_mut() {
            Buf::F64(d) => Buf::F64(self.take_out(d)),
            Buf::F32(d) => Buf::F32(self.take_out(d)),
            other => other.clone(),
        };
        add(machine, 0, Value::Array(Rc::new(ct)))?;
        add(machine, 1, array::make(self.values.clone(), values))
    }

    fn push(&self, m: &mut dyn Upcalls, tangents: &[Value]) -> Res<Vec<Value>> {
        self.elements().push(m, tangents)
    }

    fn view(&self) -> View<'_> {
        View::Gather(self.elements())
    }
}

/// `scatter` or `scatter_within` on traced numbers. The destination is moved out of `args`, so that it is
/// updated in place if it is not shared.
pub(crate) fn scatter(m: &mut dyn Upcalls, level: u16, p: Prim, args: &mut [Value]) -> Res<Value> {
    let at = args[1].clone();
    let places = match &at {
        Value::Array(a) => match a.buf() {
            Buf::I64(at) => at.clone(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    let write = |m: &mut dyn Upcalls, dest: Value, values: Value| call(m, p, &[], vec![dest, at.clone(), values]);
    replaced(m, level, [std::mem::take(&mut args[0]), args[2].clone()], &write, &|dest, values| {
        Replace::new(&places, dest, values)
    })
}

/// Replaces one element or row, as a scatter of an array of one.
pub(crate) fn put(machine: &mut dyn Upcalls, level: u16, args: &mut [Value]) -> Res<Value> {
    let at = args[1].clone();
    let one = call(machine, Prim::Array(ArrayFn::Replicate), &[], vec![Value::Int(1), args[2].clone()])?;
    let write = |m: &mut dyn Upcalls, dest: Value, values: Value| {
        let value = seq::elem(m, &values, 0)?;
        call(m, Prim::Array(ArrayFn::Put), &[], vec![dest, at.clone(), value])
    };
    let rule = |dest: Shape, values: Shape| {
        let at = crate::ops::put_indices(&at);
        let index = |v: &Value| if let Value::Int(i) = v { *i as usize } else { 0 };
        let row = dest[at.len()..].iter().product();
        let place = at.iter().zip(&dest).fold(0, |place, (i, n)| place * n + index(i));
        Replace { at: vec![Some(place)], row, dest, values, elements: OnceCell::new() }
    };
    replaced(machine, level, [std::mem::take(&mut args[0]), one], &write, &rule)
}

/// Applies `write` to the destination and values at a level, and to their tangents.
fn replaced(
    machine: &mut dyn Upcalls,
    level: u16,
    [dest, values]: [Value; 2],
    write: &dyn Fn(&mut dyn Upcalls, Value, Value) -> Res<Value>,
    rule: &dyn Fn(Shape, Shape) -> Replace,
) -> Res<Value> {
    let (dest, dest_part) = split_taken(dest, level);
    let (values, values_part) = ad::split(&values, level);
    let shape = seq::shape(&values).cloned().unwrap_or_default();
    let primal = write(machine, dest, values)?;
    if machine.tape(level).is_some() {
        let rule = rule(seq::shape(&primal).cloned().unwrap_or_default(), shape);
        return ad::result(machine, level, vec![dest_part, values_part], primal, Rc::new(rule));
    }
    let tangent = |part: Option<DerivativePart>| match part {
        Some(DerivativePart::Tangent(t)) => t,
        _ => Value::Zero,
    };
    let (mut t, mut v) = (tangent(dest_part), tangent(values_part));
    let like = if matches!(t, Value::Zero) { v.clone() } else { t.clone() };
    if !matches!(like, Value::Zero) {
        drop_zero(&mut t, seq::shape(&primal), &like)?;
        drop_zero(&mut v, Some(&shape), &like)?;
        drop(like);
        t = write(machine, t, v)?;
    }
    Ok(Value::Dual(Rc::new(Dual { level, primal, part: DerivativePart::Tangent(t) })))
}

/// Materialises a symbolic zero.
fn drop_zero(t: &mut Value, shape: Option<&Shape>, like: &Value) -> Res<()> {
    if matches!(t, Value::Zero) {
        *t = zeros(&shape.cloned(), like)?;
    }
    Ok(())
}

/// Like `split`, but without copying an unshared value.
fn split_taken(v: Value, level: u16) -> (Value, Option<DerivativePart>) {
    match v {
        Value::Dual(d) if d.level == level => match Rc::try_unwrap(d) {
            Ok(d) => (d.primal, Some(d.part)),
            Err(d) => (d.primal.clone(), Some(d.part.clone())),
        },
        v => ad::split(&v, level),
    }
}

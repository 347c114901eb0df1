//! The cost of a tape: the operations that it records, those of its sweep, and its memory.

use super::run_state::EngineCounts;
use crate::ad::rules::{Partial, View};
use crate::ad::tape::{ELEM, NONE, OUT, Rec, SIDE, Side, Tape};
use crate::value::{Kind, Shape, Value, seq};

/// The number of operations that a tape records.
pub(super) fn primal(tape: &Tape) -> u64 {
    (0..tape.recs.len()).map(|i| record(tape, i).0 as u64).sum()
}

/// The number of operations of the backward step over a record.
pub(super) fn backward(tape: &Tape, i: usize) -> usize {
    record(tape, i).1
}

/// Adds the cost of a tape and of its backward sweep from a node.
pub(super) fn of_tape(tape: &Tape, output: u32, counts: &mut EngineCounts) {
    counts.hold(tape.recs.len() * size_of::<Rec>() + tape.side.iter().map(side_bytes).sum::<usize>());
    // Cotangents of records. Those of arrays live from their last use to their record.
    counts.hold(tape.recs.len() * size_of::<f64>());
    let reached = reached(tape, output);
    let mut ends = vec![0usize; tape.recs.len()];
    for index in (0..tape.recs.len()).rev() {
        for p in parents(tape, index).filter(|_| reached[index]) {
            let n = tape.shape(p).map_or(0, |s| numbers(&Some(s)) * size_of::<f64>());
            if n > 0 && ends[p as usize] == 0 {
                ends[p as usize] = n;
                counts.hold(n);
            }
        }
        let (primal, backward) = record(tape, index);
        counts.primal += primal as u64;
        counts.backward += if reached[index] { backward as u64 } else { 0 };
        let input = tape.recs[index].a == SIDE && tape.side[tape.recs[index].b as usize].rule.is_none();
        if !input {
            counts.release(ends[index]);
        }
    }
}

/// The records that the backward sweep from a node reaches.
fn reached(tape: &Tape, output: u32) -> Vec<bool> {
    let mut out = vec![false; tape.recs.len()];
    if output != NONE {
        out[output as usize] = true;
    }
    for i in (0..tape.recs.len()).rev() {
        if !out[i] {
            continue;
        }
        // Further outputs follow the record that has the parents.
        if tape.recs[i].a == OUT {
            out[i - 1] = true;
        }
        for p in parents(tape, i) {
            out[p as usize] = true;
        }
    }
    out
}

fn parents(tape: &Tape, i: usize) -> impl Iterator<Item = u32> + '_ {
    let r = tape.recs[i];
    let (flat, side): ([u32; 2], &[u32]) = match r.a {
        NONE | OUT => ([NONE; 2], &[]),
        SIDE => ([NONE; 2], &tape.side[r.b as usize].parents),
        a if r.b == ELEM => ([a, NONE], &[]),
        a => ([a, r.b], &[]),
    };
    flat.into_iter().chain(side.iter().copied()).filter(|p| *p != NONE)
}

/// The number of operations of a record, and of its backward step.
fn record(tape: &Tape, i: usize) -> (usize, usize) {
    let r = tape.recs[i];
    match r.a {
        NONE | OUT => (0, 0),
        SIDE => side(tape, &tape.side[r.b as usize]),
        _ if r.b == ELEM => (0, 1),
        _ if r.b == NONE => (1, 2),
        _ => (1, 4),
    }
}

fn numbers(shape: &Option<Shape>) -> usize {
    shape.as_ref().map_or(1, |s| s.iter().product())
}

fn side(tape: &Tape, side: &Side) -> (usize, usize) {
    let count: usize = side.shapes.iter().map(numbers).sum();
    let input = |k: usize| side.parents.get(k).map_or(0, |p| if *p == NONE { 0 } else { numbers(&tape.shape(*p)) });
    let Some(rule) = &side.rule else { return (0, 0) };
    match rule.view() {
        View::Elementwise(e) => (
            count,
            e.operands
                .iter()
                .filter(|o| !matches!(o.partial, Partial::Constant))
                .map(|o| if matches!(o.partial, Partial::One) { count } else { 2 * count })
                .sum(),
        ),
        View::Gather(g) => (0, g.map.len()),
        View::Spread(at, _) => (at.len(), at.len()),
        View::Dot(d) => products(input(0).max(input(1)), 1, d.traced),
        View::MatMul(p) => products(seq::shape(&p.a).and_then(|s| s.last().copied()).unwrap_or(0), count, p.traced),
        View::Solve(_) => {
            let rows = isqrt(input(0));
            (2 * rows * rows * rows / 3 + 2 * rows * count, 2 * rows * rows * rows / 3 + 4 * rows * count)
        }
        View::SumRows(rows) => (rows.saturating_sub(1) * count, rows * count),
        View::Cumsum => (count.saturating_sub(1), count),
        View::Convert => (count, count),
        View::Opaque(_) => {
            let all = count + (0..side.parents.len()).map(input).sum::<usize>();
            (all, all)
        }
    }
}

/// Operations of `outputs` inner products of length `inner`, and of their transposes for the traced operands.
fn products(inner: usize, outputs: usize, traced: [bool; 2]) -> (usize, usize) {
    let backward = traced.iter().filter(|t| **t).count() * 2 * inner * outputs;
    (outputs * (2 * inner).saturating_sub(1), backward)
}

fn isqrt(n: usize) -> usize {
    (n as f64).sqrt().round() as usize
}

/// Bytes of a record with a rule, including the values that it saves.
fn side_bytes(side: &Side) -> usize {
    let kept = match side.rule.as_ref().map(|r| r.view()) {
        Some(View::Elementwise(e)) => {
            e.operands.iter().map(|o| if let Partial::By(p) = &o.partial { bytes(p) } else { 0 }).sum()
        }
        Some(View::Gather(g)) => g.map.len() * size_of::<i64>(),
        Some(View::Spread(at, _)) => size_of_val(at),
        Some(View::MatMul(p)) => bytes(&p.a) + bytes(&p.b),
        Some(View::Dot(d)) => bytes(&d.a) + bytes(&d.b),
        Some(View::Solve(s)) => bytes(&s.a) + bytes(&s.x),
        Some(View::Opaque(y)) => y.map_or(0, bytes),
        Some(View::SumRows(_) | View::Cumsum | View::Convert) | None => 0,
    };
    size_of::<Side>() + size_of_val(side.parents.as_slice()) + size_of_val(side.shapes.as_slice()) + kept
}

fn bytes(v: &Value) -> usize {
    let number = match v {
        Value::Array(a) if a.kind() == Kind::F32 => size_of::<f32>(),
        _ => size_of::<f64>(),
    };
    seq::shape(v).map_or(size_of::<Value>(), |s| number * s.iter().product::<usize>())
}

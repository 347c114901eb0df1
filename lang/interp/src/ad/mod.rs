//! Taped AD: dual numbers in forward and reverse mode, for any program.
//!
//! Each evaluation of a derivative operator has a *level*, one more than the number of operators inside which
//! it runs. A traced value carries its level, its primal (a value of lower levels), and either a tangent
//! (forward mode) or a node of the level's tape (reverse mode). An operation on traced values acts at the
//! highest level among its operands; operands of lower levels are constants to it. This is sufficient to avoid
//! perturbation confusion.
//!
//! Reading order: this file, [`tape`], `sweep` (traversal of a tape), `rules` (array operations as linear
//! maps), `traced` (primitives on traced arguments), `operators` (grad, jvp, ...), `linear` (linear maps as
//! functions).

pub(crate) mod linear;
pub(crate) mod linear_map;
mod maps;
pub mod operators;
pub(crate) mod rules;
pub(crate) mod sweep;
pub mod tape;
mod traced;

pub use crate::value::traced::{deep_level, level_of};
pub(crate) use crate::value::traced::{on_tape, split};
pub use crate::value::{DerivativePart, Dual};
pub use traced::apply_traced;

use crate::error::{Error, Res, codes};
use crate::limits::ad::SPARE;
use crate::ops::arith;
use crate::upcalls::Upcalls;
use crate::value::{Kind, Value, seq};
use adl_prim::{Bin, Ops, Un, scalar};
use rules::{ElementwiseOperand, Partial};
use std::rc::Rc;
use tape::{NONE, Rule, Tape};

/// The mode of a derivative operator that is being evaluated.
pub(crate) enum DerivativeLevel {
    Forward,
    Reverse(Tape),
}

/// The derivative operators that are being evaluated.
#[derive(Default)]
pub struct State {
    pub(crate) levels: Vec<DerivativeLevel>,
    /// Counts of records on tapes that are complete.
    pub recorded: Recorded,
    /// Levels that the rules of custom derivatives that are running do not see: the lowest and the highest.
    hidden: Vec<(u16, u16)>,
    /// The allocation of a discarded tape, for reuse by the next one.
    spare: Tape,
}

/// Counts of tape records.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Recorded {
    /// Records of scalar operations, of a few words each.
    pub scalar: usize,
    /// Records with a rule: operations on arrays.
    pub array: usize,
}

impl State {
    /// The tape of a level.
    #[inline]
    pub fn tape(&mut self, level: u16) -> Option<&mut Tape> {
        match self.levels.get_mut(level as usize - 1) {
            Some(DerivativeLevel::Reverse(t)) => Some(t),
            _ => None,
        }
    }

    /// Opens a level.
    pub(crate) fn open(&mut self, level: DerivativeLevel) -> Res<u16> {
        if self.levels.len() >= 60_000 {
            return Err(Error::new(codes::DEPTH, "derivatives are nested too deeply"));
        }
        self.levels.push(level);
        Ok(self.levels.len() as u16)
    }

    /// An empty tape that reuses the allocation of the last one.
    pub(crate) fn new_tape(&mut self) -> Tape {
        std::mem::take(&mut self.spare)
    }

    /// Keeps the allocation of a tape that is not needed any more.
    pub(crate) fn recycle(&mut self, mut tape: Tape) {
        tape.side.clear();
        tape.recs.clear();
        tape.always = 0;
        let bytes = tape.recs.capacity() * size_of::<tape::Rec>();
        if bytes <= SPARE && tape.recs.capacity() > self.spare.recs.capacity() {
            self.spare = tape;
        }
    }

    /// Closes a level and all levels above it, and returns its tape.
    pub(crate) fn close(&mut self, level: u16) -> Tape {
        self.levels.truncate(level as usize);
        let tape = match self.levels.pop() {
            Some(DerivativeLevel::Reverse(t)) => t,
            _ => Tape::default(),
        };
        let array = tape.side.iter().filter(|s| s.rule.is_some()).count();
        self.recorded.array += array;
        self.recorded.scalar += tape.recs.len() - array;
        tape
    }

    /// Runs the rule of a custom derivative at a level: the values of the rule have no part at it or above, so messages are
    /// not recorded there. Levels that the rule opens are above those that are open now.
    pub(crate) fn hide_from(&mut self, level: u16) {
        self.hidden.push((level, self.levels.len() as u16));
    }

    /// Ends the last [`State::hide_from`].
    pub(crate) fn show_again(&mut self) {
        self.hidden.pop();
    }

    /// Whether a rule is running whose values have no part at a level.
    pub(crate) fn hides(&self, level: u16) -> bool {
        self.hidden.iter().any(|(lo, hi)| (*lo..=*hi).contains(&level))
    }

    /// The number of open levels.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Closes the levels above a depth, after an error.
    pub fn reset_to(&mut self, depth: usize) {
        self.levels.truncate(depth);
        self.hidden.retain(|h| usize::from(h.0) <= depth);
    }
}

/// Completes an operation at a level: records the results on its tape, or pushes the tangents through the rule.
pub(crate) fn results(
    machine: &mut dyn Upcalls,
    level: u16,
    parts: Vec<Option<DerivativePart>>,
    primals: Vec<Value>,
    rule: Rc<dyn Rule>,
) -> Res<Vec<Value>> {
    let reverse = machine.tape(level).is_some();
    if reverse {
        let parents = parts
            .iter()
            .map(|p| match p {
                Some(DerivativePart::Node(n)) => *n,
                _ => NONE,
            })
            .collect();
        let shapes = primals.iter().map(|p| seq::shape(p).cloned()).collect();
        let Some(tape) = machine.tape(level) else { return Err(escaped()) };
        let first = tape.record(parents, Some(rule), shapes);
        return Ok(primals.into_iter().enumerate().map(|(k, p)| on_tape(level, first + k as u32, p)).collect());
    }
    let tangents: Vec<Value> = parts
        .into_iter()
        .map(|p| match p {
            Some(DerivativePart::Tangent(t)) => t,
            _ => Value::Zero,
        })
        .collect();
    let outs = rule.push(machine, &tangents)?;
    Ok(primals
        .into_iter()
        .zip(outs)
        .map(|(primal, t)| Value::Dual(Rc::new(Dual { level, primal, part: DerivativePart::Tangent(t) })))
        .collect())
}

fn escaped() -> Box<Error> {
    Error::new(codes::STRUCTURE, "a traced value outlived its derivative operator")
}

/// Like [`results`], for a single result.
pub(crate) fn result(
    m: &mut dyn Upcalls,
    level: u16,
    parts: Vec<Option<DerivativePart>>,
    primal: Value,
    rule: Rc<dyn Rule>,
) -> Res<Value> {
    Ok(results(m, level, parts, vec![primal], rule)?.pop().unwrap_or_default())
}

/// Lets the derivative rules of the primitive table compute with values.
struct Domain<'a>(&'a mut dyn Upcalls);

impl Ops for Domain<'_> {
    type V = Value;
    type E = Box<Error>;
    fn constant(&mut self, x: f64, like: &Value) -> Value {
        match leaf(like) {
            Value::F32(_) => Value::F32(x as f32),
            Value::Array(a) if a.kind() == Kind::F32 => Value::F32(x as f32),
            _ => Value::Float(x),
        }
    }
    fn un(&mut self, op: Un, x: &Value) -> Res<Value> {
        arith::un(self.0, op, x.clone())
    }
    fn bin(&mut self, op: Bin, x: &Value, y: &Value) -> Res<Value> {
        arith::bin(self.0, op, x.clone(), y.clone())
    }
}

fn leaf(v: &Value) -> Value {
    match v {
        Value::Dual(d) => leaf(&d.primal),
        other => other.clone(),
    }
}

/// A unary operator on a traced value.
pub fn arith_un(machine: &mut dyn Upcalls, op: Un, value: &Value) -> Res<Value> {
    if let Value::Rev { level, node, primal } = value {
        let y = op.eval(*primal);
        if op.is_flat() {
            return Ok(Value::Float(y));
        }
        let Ok(d) = scalar::d_un(&mut scalar::Plain, op, primal, &y);
        let node = machine.tape(*level).ok_or_else(escaped)?.push1(*node, d);
        return Ok(Value::Rev { level: *level, node, primal: y });
    }
    let level = level_of(value);
    let (x, part) = split(value, level);
    let y = arith::un(machine, op, x.clone())?;
    if op.is_flat() {
        return Ok(y);
    }
    let d = scalar::d_un(&mut Domain(machine), op, &x, &y)?;
    let rule = rules::Elementwise {
        operands: vec![ElementwiseOperand::new(&x, true, Partial::By(d))],
        out: seq::shape(&y).cloned(),
    };
    result(machine, level, vec![part], y, Rc::new(rule))
}

/// A binary operator with a traced operand.
pub fn arith_bin(machine: &mut dyn Upcalls, op: Bin, a: &Value, b: &Value) -> Res<Value> {
    if let Some(v) = scalar_bin(machine, op, a, b)? {
        return Ok(v);
    }
    let level = level_of(a).max(level_of(b));
    let ((x, px), (y, py)) = (split(a, level), split(b, level));
    let z = arith::bin(machine, op, x.clone(), y.clone())?;
    if matches!(op, Bin::IntDiv | Bin::LeIndicator) {
        return Ok(z);
    }
    let (dx, dy) = partials(machine, op, [&x, &y, &z], py.is_some())?;
    let operands = vec![ElementwiseOperand::new(&x, px.is_some(), dx), ElementwiseOperand::new(&y, py.is_some(), dy)];
    let rule = rules::Elementwise { operands, out: seq::shape(&z).cloned() };
    result(machine, level, vec![px, py], z, Rc::new(rule))
}

/// Both partial derivatives of `z = x op y`; the second one only if `second`.
fn partials(m: &mut dyn Upcalls, op: Bin, [x, y, z]: [&Value; 3], second: bool) -> Res<(Partial, Partial)> {
    Ok(match op {
        Bin::Add => (Partial::One, Partial::One),
        Bin::Sub => (Partial::One, Partial::By(Domain(m).constant(-1.0, y))),
        Bin::Mul => (Partial::By(y.clone()), Partial::By(x.clone())),
        Bin::Div if !second => {
            let one = Domain(m).constant(1.0, y);
            (Partial::By(arith::bin(m, Bin::Div, one, y.clone())?), Partial::Constant)
        }
        _ => {
            let (dx, dy) = scalar::d_bin(&mut Domain(m), op, x, y, z)?;
            (Partial::By(dx), Partial::By(dy))
        }
    })
}

/// The frequent case: untraced floats on one tape.
#[inline]
pub(crate) fn scalar_bin(machine: &mut dyn Upcalls, op: Bin, first: &Value, second: &Value) -> Res<Option<Value>> {
    let (level, na, left, nb, right) = match (first, second) {
        (Value::Rev { level: l, node: n, primal: x }, Value::Rev { level: k, node: o, primal: y }) if l == k => {
            (*l, *n, *x, *o, *y)
        }
        (Value::Rev { level: l, node: n, primal: x }, Value::Float(y)) => (*l, *n, *x, NONE, *y),
        (Value::Float(x), Value::Rev { level: l, node: n, primal: y }) => (*l, NONE, *x, *n, *y),
        _ => return Ok(None),
    };
    let value = op.eval(left, right);
    let (dx, dy) = match op {
        Bin::Add => (1.0, 1.0),
        Bin::Sub => (1.0, -1.0),
        Bin::Mul => (right, left),
        Bin::IntDiv | Bin::LeIndicator => return Ok(Some(Value::Float(value))),
        _ => {
            let Ok(d) = scalar::d_bin(&mut scalar::Plain, op, &left, &right, &value);
            d
        }
    };
    let tape = machine.tape(level).ok_or_else(escaped)?;
    let node = match (na, nb) {
        (NONE, b) => tape.push1(b, dy),
        (a, NONE) => tape.push1(a, dx),
        (a, b) => tape.push2(a, dx, b, dy),
    };
    Ok(Some(Value::Rev { level, node, primal: value }))
}

/// Element `index` of the first axis of a traced array.
pub fn elem(machine: &mut dyn Upcalls, v: &Value, index: usize) -> Res<Value> {
    let Value::Dual(d) = v else { return seq::elem(machine, v, index) };
    let n = seq::len(v);
    if index >= n {
        return Err(seq::out_of_bounds(index as i64, n));
    }
    let dual = d.clone();
    let primal = seq::elem(machine, &dual.primal, index)?;
    if let (DerivativePart::Node(node), Value::Float(x)) = (&dual.part, &primal) {
        let node = machine.tape(dual.level).ok_or_else(escaped)?.push_elem(*node, index);
        return Ok(Value::Rev { level: dual.level, node, primal: *x });
    }
    if let DerivativePart::Tangent(t) = &dual.part {
        let t = if matches!(t, Value::Zero) { Value::Zero } else { seq::elem(machine, t, index)? };
        return Ok(Value::Dual(Rc::new(Dual { level: dual.level, primal, part: DerivativePart::Tangent(t) })));
    }
    let row: usize = seq::shape(&dual.primal).map_or(1, |s| s[1..].iter().product());
    let map = (index * row..(index + 1) * row).map(|k| k as i64).collect();
    let rule = rules::Gather { map, ins: vec![seq::shape(&dual.primal).cloned()], out: seq::shape(&primal).cloned() };
    result(machine, dual.level, vec![Some(dual.part.clone())], primal, Rc::new(rule))
}

/// An array of numbers or arrays, some of which are traced.
pub fn pack(machine: &mut dyn Upcalls, vals: Vec<Value>) -> Res<Value> {
    let level = vals.iter().map(level_of).max().unwrap_or(0);
    let mut primals = Vec::with_capacity(vals.len());
    let mut parts = Vec::with_capacity(vals.len());
    for v in &vals {
        let (p, part) = split(v, level);
        primals.push(p);
        parts.push(part);
    }
    let ins = primals.iter().map(|p| seq::shape(p).cloned()).collect();
    let packed = seq::pack(machine, primals)?;
    let n: usize = seq::shape(&packed).map_or(0, |s| s.iter().product());
    let rule = rules::Gather { map: (0..n as i64).collect(), ins, out: seq::shape(&packed).cloned() };
    result(machine, level, parts, packed, Rc::new(rule))
}

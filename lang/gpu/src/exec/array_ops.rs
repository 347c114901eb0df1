//! Operations on whole arrays.

use super::{Exec, ExecFrame, Value, kind};
use crate::array::{Array, Scalar};
use crate::error::{Check, Error, FailedCheck, Res, unsupported};
use crate::{batched_ops, compaction, contract, data_movement, gemm, index, soac};
use adl_ir::{Block, Contract, Function, Lit, Op, Stmt, Ty, Var};
use adl_prim::{Bin, Prim, ReductionFn};
use std::rc::Rc;

impl<'a> Exec<'a> {
    /// The shape of an array value.
    pub(super) fn shape(&self, fr: &ExecFrame<'a>, v: Var) -> Res<Vec<usize>> {
        match fr.get(v)? {
            // The axes of boxed elements are not part of the shape.
            Value::Array(a) => Ok(a.shape.iter().take(fr.rank(v) as usize).copied().collect()),
            Value::Ints(x) => Ok(vec![x.len()]),
            Value::Data(_, boxes) if fr.rank(v) > 0 => Ok(vec![boxes.len()]),
            Value::Number(_) | Value::Data(..) | Value::SymbolicZero => unsupported("the shape of what has none"),
        }
    }

    /// Ints, read from the device if necessary.
    pub(super) fn ints(&self, fr: &ExecFrame<'a>, v: Var) -> Res<Vec<usize>> {
        let read = match fr.get(v)? {
            Value::Ints(x) => (**x).clone(),
            Value::Array(a) => match self.gpu.read(a)? {
                crate::array::Data::I64(x) => x,
                _ => return unsupported("no Ints in the place of some"),
            },
            _ => return unsupported("no Ints in the place of some"),
        };
        read.into_iter().map(|n| usize::try_from(n).map_or_else(|_| unsupported("an extent below 0"), Ok)).collect()
    }

    /// A copy of the subarray at leading indices.
    pub(super) fn part(&self, a: &Array, at: &[i64]) -> Res<Array> {
        let place = place(a, at)?;
        let out = self.gpu.empty(a.scalar, a.shape[at.len()..].to_vec())?;
        self.gpu.copy_into(&a.buffer, place * out.bytes(), &out.buffer, 0, out.bytes())?;
        Ok(out)
    }

    /// A binary operator on two scalars or arrays.
    pub(super) fn pair(&mut self, b: Bin, x: Value, y: Value) -> Res<Value> {
        self.made_of(&[x, y], |vs| Op::Bin(b, vs[0], vs[1]))
    }

    /// An operator on scalars and arrays that are not bound to variables.
    pub(super) fn made_of(&mut self, x: &[Value], op: impl FnOnce(&[Var]) -> Op) -> Res<Value> {
        let mut f = Function::default();
        let tys = x.iter().map(ty_of).collect::<Res<Vec<_>>>()?;
        let out = tys.iter().max_by_key(|t| t.rank()).cloned().unwrap_or(Ty::F64);
        let vars: Vec<Var> = tys.into_iter().map(|t| f.fresh(t, false)).collect();
        let result = f.fresh(out, false);
        let stmt = Stmt { outs: vec![result], lin_outs: Vec::new(), op: op(&vars), span: Default::default() };
        let mut fr = ExecFrame { f: &f, values: vars.iter().copied().zip(x.iter().cloned()).collect() };
        let mut exec = Exec {
            gpu: self.gpu,
            program: self.program,
            tapes: self.tapes,
            calls: self.calls,
            patience: self.patience,
            before: self.before,
        };
        exec.arithmetic(&mut fr, &stmt.op, &stmt, &[result])
    }

    /// `a` with a part replaced, in place if it is not shared.
    fn replaced(&self, a: Array, at: u64, v: &Array) -> Res<Array> {
        let out = if a.buffer.alone() { a } else { Array { buffer: self.gpu.copy(&a.buffer, a.bytes())?, ..a } };
        self.gpu.copy_into(&v.buffer, 0, &out.buffer, at, v.bytes())?;
        Ok(out)
    }

    /// An accumulator: a symbolic zero is materialised with the given shape.
    fn accumulator(&self, fr: &ExecFrame<'a>, acc: Value, shape: Option<Var>, out: Var) -> Res<Array> {
        match (acc, shape) {
            (Value::SymbolicZero, Some(s)) => self.zeros(kind(fr.f.ty(out))?, self.ints(fr, s)?),
            (acc, _) => self.on_device(&acc),
        }
    }

    pub(super) fn zeros(&self, scalar: Scalar, extents: Vec<usize>) -> Res<Array> {
        let zero = match scalar {
            Scalar::F64 => Lit::F64(0.0),
            Scalar::F32 => Lit::F32(0.0),
            Scalar::I64 => Lit::I64(0),
            Scalar::Bool | Scalar::Word => Lit::Bool(false),
        };
        self.spread(&self.device_number(&zero)?, extents)
    }

    pub(super) fn spread(&self, a: &Array, extents: Vec<usize>) -> Res<Array> {
        data_movement::replicate(self.gpu, extents.iter().product(), a)?.reshaped(extents)
    }

    /// Indices, as the host knows them.
    fn indices(&self, fr: &ExecFrame<'a>, at: &[Var]) -> Res<Vec<i64>> {
        at.iter().map(|v| self.int(fr, *v)).collect()
    }

    pub(super) fn whole(&mut self, fr: &mut ExecFrame<'a>, op: &Op, outs: &[Var]) -> Res<Value> {
        let out = outs.first().copied().map_or_else(|| unsupported("an operation without a result"), Ok)?;
        match op {
            Op::Dim(a, axis) => self.shape(fr, *a).and_then(|s| {
                s.get(*axis as usize).map_or_else(|| unsupported("an axis that is not there"), |n| Ok(int(*n)))
            }),
            Op::Shape(a) if matches!(fr.get(*a)?, Value::SymbolicZero) => Ok(Value::SymbolicZero),
            Op::Shape(a) => self.shape(fr, *a).map(|s| Value::Ints(Rc::new(s.iter().map(|n| *n as i64).collect()))),
            Op::Size(a) => count(fr.get(*a)?).map(int),
            Op::Construct { tag, fields, .. } => Ok(Value::Data(*tag, Rc::new(fr.all(fields)?))),
            Op::ArrayLit { elems, .. } => {
                let all = fr.all(elems)?;
                self.stacked(&all, fr.f.ty(out))
            }
            Op::Index { a, at, .. } if fr.rank(*a) > 0 => self.index(fr, *a, at, out),
            Op::Destruct { a, .. } => match (fr.get(*a)?, outs) {
                (Value::Data(_, fields), [_]) => Ok(fields[0].clone()),
                (Value::SymbolicZero, [out]) => Ok(super::zero(fr.f.ty(*out))),
                _ => unsupported("fields of data"),
            },
            _ => self.moved(fr, op, out),
        }
    }

    fn index(&mut self, fr: &ExecFrame<'a>, array: Var, at: &[Var], out: Var) -> Res<Value> {
        let at = self.indices(fr, at)?;
        match fr.get(array)? {
            Value::SymbolicZero => Ok(super::zero(fr.f.ty(out))),
            Value::Data(_, boxes) => match at.as_slice() {
                [i] => usize::try_from(*i).ok().and_then(|i| boxes.get(i)).cloned().map_or_else(|| Err(bounds()), Ok),
                _ => unsupported("an index into a box"),
            },
            Value::Ints(x) if at.len() == 1 => usize::try_from(at[0])
                .ok()
                .and_then(|i| x.get(i))
                .map_or_else(|| Err(bounds()), |n| Ok(Value::Number(Lit::I64(*n)))),
            _ => self.array(fr, array).and_then(|a| self.part(&a, &at)).map(Value::Array),
        }
    }

    /// An array with a value added or replaced.
    pub(super) fn updated(&mut self, fr: &mut ExecFrame<'a>, op: &Op, own: Value, out: Var) -> Res<Value> {
        if !fr.f.ty(out).scalar().is_flat() && !matches!(own, Value::Array(_)) {
            return self.updated_boxes(fr, op, own);
        }
        let (array, at, value) = match op {
            Op::IndexAdd { v, .. } | Op::SliceAdd { v, .. } | Op::GatherAdd { v, .. }
                if matches!(fr.get(*v)?, Value::SymbolicZero) =>
            {
                return Ok(own);
            }
            Op::IndexAdd { at, v, shape, .. } => {
                let (at, a, v) =
                    (self.indices(fr, at)?, self.accumulator(fr, own, *shape, out)?, Value::Array(self.array(fr, *v)?));
                let place = place(&a, &at)?;
                let old = self.part(&a, &at)?;
                let Value::Array(sum) = self.pair(Bin::Add, Value::Array(old), v)? else {
                    return unsupported("no array in the place of one");
                };
                (a, place * sum.bytes(), sum)
            }
            Op::IndexSet { at, v, shape, .. } => {
                let (at, a) = (self.indices(fr, at)?, self.accumulator(fr, own, *shape, out)?);
                let place = place(&a, &at)?;
                let inner: Vec<usize> = a.shape[at.len()..].to_vec();
                let v = if matches!(fr.get(*v)?, Value::SymbolicZero) {
                    self.zeros(a.scalar, inner)?
                } else {
                    self.array(fr, *v)?
                };
                (a, place * v.bytes(), v)
            }
            Op::SliceAdd { lo, hi, v, shape, .. } => {
                let (lo, hi, array, v) = (
                    self.size(fr, *lo)?,
                    self.size(fr, *hi)?,
                    self.accumulator(fr, own, *shape, out)?,
                    self.array(fr, *v)?,
                );
                let at = (lo * data_movement::rows(&array).1) as u64 * array.scalar.bytes();
                let old = data_movement::slice(self.gpu, &array, lo, hi)?;
                let Value::Array(sum) = self.pair(Bin::Add, Value::Array(old), Value::Array(v))? else {
                    return unsupported("no array in the place of one");
                };
                (array, at, sum)
            }
            Op::GatherAdd { at, v, shape, .. } => return self.added_at(fr, own, (*at, *v, *shape), out),
            _ => return unsupported("no update"),
        };
        self.replaced(array, at, &value).map(Value::Array)
    }

    /// An array with rows added at indices.
    fn added_at(
        &self,
        fr: &ExecFrame<'a>,
        own: Value,
        (at, v, shape): (Var, Var, Option<Var>),
        out: Var,
    ) -> Res<Value> {
        let made = matches!(own, Value::SymbolicZero);
        let placed = made && are_distinct(&fr.f.body, at);
        let (a, at, v) = (self.accumulator(fr, own, shape, out)?, self.array(fr, at)?, self.array(fr, v)?);
        if shape.is_none() {
            batched_ops::in_bounds(self.gpu, &at, a.shape.first().copied().unwrap_or(0))?;
        }
        let sums =
            if placed { index::placed(self.gpu, &a, &at, &v) } else { index::rows_added(self.gpu, &a, &at, &v, made) };
        sums.map(Value::Array)
    }

    /// Boxes with one of them replaced, or with a value added to one.
    fn updated_boxes(&mut self, fr: &mut ExecFrame<'a>, op: &Op, own: Value) -> Res<Value> {
        let (Op::IndexAdd { at, v, shape, .. } | Op::IndexSet { at, v, shape, .. }) = op else {
            return unsupported("parts of arrays of boxes");
        };
        let (at, value) = (self.indices(fr, at)?, fr.get(*v)?.clone());
        let mut boxes = match (own, shape) {
            (Value::Data(_, boxes), _) => boxes.to_vec(),
            (Value::SymbolicZero, Some(s)) if self.ints(fr, *s)?.len() == 1 => {
                vec![Value::SymbolicZero; self.ints(fr, *s)?[0]]
            }
            _ => return unsupported("the elements of an absent zero"),
        };
        let Some(place) =
            at.first().and_then(|i| usize::try_from(*i).ok()).filter(|i| *i < boxes.len() && at.len() == 1)
        else {
            return Err(bounds());
        };
        boxes[place] = match op {
            Op::IndexAdd { .. } => self.vector(&Op::Bin(Bin::Add, Var(0), Var(0)), &[boxes[place].clone(), value])?,
            _ => value,
        };
        Ok(Value::Data(0, Rc::new(boxes)))
    }

    fn contraction(&self, fr: &ExecFrame<'a>, c: &Contract, out: Var) -> Res<Array> {
        let size = |v: Var| self.int(fr, v).map(|n| n.max(0) as usize);
        let [n, m, k] = [size(c.size[0])?, size(c.size[1])?, size(c.size[2])?];
        if [c.a, c.b].iter().any(|v| matches!(fr.get(*v), Ok(Value::SymbolicZero))) {
            return self.zeros(Scalar::F64, if fr.rank(out) == 1 { vec![m] } else { vec![n, m] });
        }
        contract::contract(self.gpu, (&self.array(fr, c.a)?, &self.array(fr, c.b)?), c.turned, [n, m, k], c.terms)
    }

    /// Whether an operation maps symbolic zeros to a symbolic zero.
    fn is_of_symbolic_zero(&self, fr: &ExecFrame<'a>, op: &Op) -> bool {
        let symbolic_zero = |v: &Var| matches!(fr.get(*v), Ok(Value::SymbolicZero));
        match op {
            Op::Reverse(a)
            | Op::Rotate { a, .. }
            | Op::Transpose(a)
            | Op::Replicate { a, .. }
            | Op::Slice { a, .. }
            | Op::Gather { a, .. } => symbolic_zero(a),
            Op::Reshape { a, .. } | Op::Sum { a, .. } | Op::SumAll { a, .. } | Op::Cumsum { a, .. } => symbolic_zero(a),
            Op::Dot(a, b) | Op::MatMul(a, b) | Op::Outer(a, b) => symbolic_zero(a) || symbolic_zero(b),
            _ => false,
        }
    }

    /// Data movement and products.
    fn moved(&mut self, fr: &mut ExecFrame<'a>, op: &Op, out: Var) -> Res<Value> {
        let (gpu, array) = (self.gpu, |v: &Var| self.array(fr, *v));
        if self.is_of_symbolic_zero(fr, op) {
            return Ok(super::zero(fr.f.ty(out)));
        }
        Ok(Value::Array(match op {
            Op::Slice { a, lo, hi, .. } => {
                data_movement::slice(gpu, &array(a)?, self.size(fr, *lo)?, self.size(fr, *hi)?)?
            }
            Op::Gather { a, at, shape } => data_movement::gather(gpu, &array(a)?, &array(at)?, shape.is_some())?,
            Op::Reverse(a) => data_movement::reverse(gpu, &array(a)?)?,
            Op::Rotate { n, a } => data_movement::rotate(gpu, self.int(fr, *n)?, &array(a)?)?,
            Op::Concat { a, b, .. } => data_movement::concat(gpu, &array(a)?, &array(b)?)?,
            Op::Reshape { a, .. } if !fr.f.ty(*a).scalar().is_flat() => return unsupported("boxes in another shape"),
            Op::Reshape { a, to, .. } => array(a)?.reshaped(self.ints(fr, *to)?)?,
            Op::Transpose(a) => data_movement::transpose(gpu, &array(a)?)?,
            Op::Replicate { n, a } => data_movement::replicate(gpu, self.size(fr, *n)?, &array(a)?)?,
            Op::Broadcast { a, shape } => self.spread(&array(a)?, self.ints(fr, *shape)?)?,
            Op::Sum { a, .. } => soac::sum(gpu, &array(a)?)?,
            Op::SumAll { a, .. } => {
                let a = array(a)?;
                soac::sum(gpu, &a.reshaped(vec![a.len()])?)?
            }
            Op::Dot(a, b) => gemm::dot(gpu, &array(a)?, &array(b)?)?,
            Op::MatMul(a, b) => gemm::matmul(gpu, &array(a)?, &array(b)?)?,
            Op::Outer(a, b) => {
                let (a, b) = (array(a)?, array(b)?);
                let extents = [a.shape.clone(), b.shape.clone()].concat();
                gemm::matmul(gpu, &a.reshaped(vec![a.len(), 1])?, &b.reshaped(vec![1, b.len()])?)?.reshaped(extents)?
            }
            Op::Contract(c) => self.contraction(fr, c, out)?,
            Op::Nonzero(a) => compaction::places(gpu, &array(a)?, false)?,
            Op::Zeros(a) => compaction::places(gpu, &array(a)?, true)?,
            Op::Cumsum { a, reverse } => soac::running(gpu, &array(a)?, Bin::Add, *reverse)?,
            _ => return Err(Error::Unsupported(format!("an operation that has no kernel ({})", name(op)))),
        }))
    }
}

/// Whether the elements of an Int vector are distinct, because of the operation that produced it.
fn are_distinct(b: &Block, v: Var) -> bool {
    match made_by(b, v) {
        Some(Op::Prim(Prim::Reduction(ReductionFn::Argsort), _) | Op::Nonzero(_) | Op::Zeros(_)) => true,
        Some(Op::Slice { a, .. } | Op::Reverse(a) | Op::Rotate { a, .. }) => are_distinct(b, *a),
        _ => false,
    }
}

fn made_by(b: &Block, v: Var) -> Option<&Op> {
    b.stmts.iter().find_map(|s| {
        if s.outs.contains(&v) { Some(&s.op) } else { s.op.blocks().into_iter().find_map(|b| made_by(b, v)) }
    })
}

/// The type of a scalar or array.
fn ty_of(v: &Value) -> Res<Ty> {
    let of = |s: Scalar| match s {
        Scalar::F64 => Ty::F64,
        Scalar::F32 => Ty::F32,
        Scalar::I64 | Scalar::Word => Ty::I64,
        Scalar::Bool => Ty::Bool,
    };
    match v {
        Value::Number(l) => Ok(l.ty()),
        Value::Array(a) => Ok(of(a.scalar).array(a.shape.len() as u32)),
        Value::Ints(_) => Ok(Ty::shape()),
        Value::Data(..) | Value::SymbolicZero => unsupported("data in the place of an array"),
    }
}

/// The name of an operation without a kernel, for messages.
fn name(op: &Op) -> &'static str {
    match op {
        Op::Destruct { .. } => "fields of data",
        _ => "arrays",
    }
}

fn int(n: usize) -> Value {
    Value::Number(Lit::I64(n as i64))
}

/// The number of scalars in boxes and arrays.
fn count(v: &Value) -> Res<usize> {
    match v {
        Value::SymbolicZero => Ok(0),
        Value::Number(_) => Ok(1),
        Value::Ints(x) => Ok(x.len()),
        Value::Array(a) => Ok(a.len()),
        Value::Data(_, boxes) if boxes.iter().any(|b| matches!(b, Value::Data(..))) => {
            unsupported("elements in boxes of boxes, or of data")
        }
        Value::Data(_, boxes) => boxes.iter().map(count).sum(),
    }
}

fn bounds() -> Error {
    Error::Fault(FailedCheck { what: Check::Bounds, span: Default::default() })
}

/// The linear index of the subarray at leading indices.
fn place(a: &Array, at: &[i64]) -> Res<u64> {
    let mut place = 0;
    for (i, n) in at.iter().zip(&a.shape) {
        match usize::try_from(*i).ok().filter(|i| i < n) {
            Some(i) => place = place * *n as u64 + i as u64,
            None => return Err(bounds()),
        }
    }
    Ok(place)
}

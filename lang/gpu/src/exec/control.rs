//! Branches, loops, calls, reductions and histograms.

use super::{CALLS, Exec, ExecFrame, Value, kind, zero};
use crate::array::{Array, Operand, Scalar};
use crate::error::{Error, Res, unsupported};
use crate::index::{self, ByIndex};
use crate::limits::exec_control::{FEW, ITERATIONS, LONG, MOST};
use crate::{nest, soac};
use adl_ir::{Block, FnId, Lit, Loop, Op, Out, Stmt, Trip, Var};
use adl_prim::Bin;
use std::rc::Rc;

/// The reason for giving up a loop on the host.
const HOST: &str = "loops whose iterations the host starts, with small kernels";

/// The largest number of elements that a thread iterates over, as far as the host knows, in a block whose loops
/// `levels` are parallel.
fn longest(
    block: &Block,
    levels: &[&Loop],
    number: &dyn Fn(Var) -> Option<usize>,
    length: &dyn Fn(Var) -> usize,
) -> usize {
    let of = |s: &Stmt| match &s.op {
        Op::Loop(l) => {
            let inside = longest(&l.body, levels, number, length);
            let own = match &l.trip {
                Trip::Count(n) if !levels.iter().any(|k| std::ptr::eq(*k, &raw const **l)) => {
                    number(*n).or_else(|| l.xs.first().map(|x| length(*x))).unwrap_or(0)
                }
                _ => 1,
            };
            own.saturating_mul(inside.max(1))
        }
        Op::Sum { a, .. } | Op::SumAll { a, .. } | Op::Dot(a, _) => length(*a),
        op => op.blocks().into_iter().map(|b| longest(b, levels, number, length)).max().unwrap_or(0),
    };
    block.stmts.iter().map(of).max().unwrap_or(0)
}

impl<'a> Exec<'a> {
    pub(super) fn call(&mut self, id: FnId, args: Vec<Value>) -> Res<Vec<Value>> {
        if self.calls >= CALLS {
            return unsupported("calls inside of calls, too many for the host of a GPU");
        }
        let f = self.program.func(id);
        let mut fr =
            ExecFrame { f, values: f.body.params.iter().chain(&f.body.lin_params).copied().zip(args).collect() };
        self.calls += 1;
        let made = stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.block(&mut fr, &f.body));
        self.calls -= 1;
        made
    }

    /// Runs an operation with blocks, or a call; `None` for others.
    pub(super) fn control(&mut self, fr: &mut ExecFrame<'a>, s: &Stmt, outs: &[Var]) -> Res<Option<Vec<Value>>> {
        let made = match &s.op {
            Op::If(c, a, b) => {
                let arm = if self.holds(fr, *c)? { a } else { b };
                self.inner(fr, arm)?
            }
            Op::Switch(d, arms) => match fr.get(*d)?.clone() {
                Value::Data(tag, fields) if (tag as usize) < arms.len() => {
                    let arm = &arms[tag as usize];
                    fr.bind(&arm.params, fields.to_vec())?;
                    self.inner(fr, arm)?
                }
                _ => return unsupported("no data in the place of some"),
            },
            Op::Call { f, args, lin_args, .. } => {
                let all = fr.all(&[args.as_slice(), lin_args].concat())?;
                self.call(*f, all)?
            }
            Op::Loop(l) => self.trip(fr, l, outs)?,
            Op::Soac(x) => {
                let env = self.env(fr, None);
                soac::run(self.gpu, self.program, fr.f, x, &env)?.into_iter().map(Value::Array).collect()
            }
            Op::ReduceByIndex { dest, op, neutral, keys, values } => {
                let all = |vs: &[Var]| vs.iter().map(|v| self.array(fr, *v)).collect::<Res<Vec<_>>>();
                let (dest, values, keys) = (all(dest)?, all(values)?, self.array(fr, *keys)?);
                let env = self.env(fr, None);
                let x = ByIndex { dest: &dest, op, neutral, keys: &keys, values: &values };
                index::reduce_by_index(self.gpu, self.program, fr.f, &x, &env)?.into_iter().map(Value::Array).collect()
            }
            _ => return Ok(None),
        };
        Ok(Some(made))
    }

    fn inner(&mut self, fr: &mut ExecFrame<'a>, b: &Block) -> Res<Vec<Value>> {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.block(fr, b))
    }

    fn trip(&mut self, fr: &mut ExecFrame<'a>, ir_loop: &Loop, outs: &[Var]) -> Res<Vec<Value>> {
        let limit = match &ir_loop.trip {
            Trip::Count(n) => Some(self.int(fr, *n)?.max(0)),
            Trip::While(_) => None,
        };
        let mut why = None;
        if let (Some(n), Trip::Count(v), true) =
            (limit, &ir_loop.trip, ir_loop.init.is_empty() && ir_loop.lin_init.is_empty())
        {
            match self.without_state(fr, ir_loop, *v, n) {
                Err(Error::Unsupported(x)) => why = Some(x),
                made => return made,
            }
        }
        if limit.is_some_and(|n| n > ITERATIONS) {
            return unsupported(match why {
                Some(why) => format!("a long loop that is not a kernel: {why}"),
                None => "a long loop that is not a kernel".to_owned(),
            });
        }
        match (self.on_host(fr, ir_loop, limit, outs), why) {
            // Report why the innermost candidate for a kernel is not one.
            (Err(Error::Unsupported(what)), Some(why)) if what == HOST => unsupported(format!("{HOST}: {why}")),
            (made, _) => made,
        }
    }

    /// Runs a stateless loop as one kernel or in a batch. If neither is possible, the error is that of the first
    /// attempt.
    fn without_state(&mut self, fr: &mut ExecFrame<'a>, l: &Loop, v: Var, n: i64) -> Res<Vec<Value>> {
        let long = self.is_long(fr, l, v, n);
        let mut first = None;
        for at_once in [long, !long] {
            let made = if at_once { self.at_once(fr, l, n) } else { self.as_kernel(fr, l, v, n) };
            match made {
                Err(Error::Unsupported(why)) => first = first.or(Some(why)),
                made => return made,
            }
        }
        unsupported(first.unwrap_or_default())
    }

    fn as_kernel(&self, fr: &ExecFrame<'a>, l: &Loop, v: Var, n: i64) -> Res<Vec<Value>> {
        let env = self.env(fr, None);
        // The host now knows the extent, wherever it was stored.
        let known = |x: Var| if x == v { Some(Operand::Number(Lit::I64(n))) } else { env(x) };
        nest::run(self.gpu, self.program, fr.f, l, &known)
            .map(|made| made.into_iter().map(Value::Array).chain([Value::Number(Lit::I64(n))]).collect())
    }

    /// Whether a kernel for the loop would have few threads with much work each.
    fn is_long(&self, fr: &ExecFrame<'a>, ir_loop: &Loop, v: Var, n: i64) -> bool {
        let number = |x: Var| match fr.values.get(&x) {
            _ if x == v => usize::try_from(n).ok(),
            Some(Value::Number(Lit::I64(n))) => usize::try_from(*n).ok(),
            _ => None,
        };
        let length = |x: Var| if let Some(Value::Array(a)) = fr.values.get(&x) { a.len() } else { 0 };
        let known = |x: Var| number(x).map(|n| Operand::Number(Lit::I64(n as i64)));
        let Ok(nest) = nest::Nest::of(ir_loop, &known) else { return false };
        let threads: usize = nest.extents().iter().product();
        let levels: Vec<&Loop> = nest.levels.iter().map(|(l, _)| *l).collect();
        let iteration = longest(&ir_loop.body, &levels, &number, &length);
        threads < FEW && iteration >= LONG && iteration.saturating_mul(threads) <= MOST
    }

    /// Runs a loop on the host. Linear carried values and outputs follow the others.
    fn on_host(&mut self, fr: &mut ExecFrame<'a>, ir_loop: &Loop, limit: Option<i64>, outs: &[Var]) -> Res<Vec<Value>> {
        let (count, lin_count) = (ir_loop.init.len(), ir_loop.lin_init.len());
        let (mut carried, mut lin) = (fr.all(&ir_loop.init)?, fr.all(&ir_loop.lin_init)?);
        let mut made: Vec<Vec<Value>> = vec![Vec::new(); ir_loop.outs.len() + ir_loop.lin_outs.len()];
        let kinds: Vec<Out> = ir_loop.outs.iter().chain(&ir_loop.lin_outs).copied().collect();
        // The variables of the outputs, which follow the carried values; the trip count comes last.
        let plain = count + ir_loop.outs.len() + 1;
        let of: Vec<Var> = (0..ir_loop.outs.len())
            .map(|k| outs[count + k])
            .chain((0..ir_loop.lin_outs.len()).map(|k| outs[plain + lin_count + k]))
            .collect();
        let mut iteration = 0;
        while self.again(fr, ir_loop, limit, iteration, &carried)? {
            let i = if ir_loop.reverse { limit.unwrap_or(0) - 1 - iteration } else { iteration };
            let (xs, lin_xs) = (self.elements(fr, &ir_loop.xs, i)?, self.elements(fr, &ir_loop.lin_xs, i)?);
            fr.bind(&ir_loop.body.params, [vec![Value::Number(Lit::I64(i))], carried, xs].concat())?;
            fr.bind(&ir_loop.body.lin_params, [lin, lin_xs].concat())?;
            let mut results = self.inner(fr, &ir_loop.body)?;
            let mut rest = results.split_off(count + ir_loop.outs.len());
            let lin_made = rest.split_off(lin_count);
            let put = results.split_off(count);
            (carried, lin) = (results, rest);
            for ((v, kind), made) in put.into_iter().chain(lin_made).zip(&kinds).zip(&mut made) {
                self.put(*kind, made, v)?;
            }
            iteration += 1;
            self.patient()?;
            if iteration > ITERATIONS {
                return unsupported("a long loop that is not a kernel");
            }
        }
        let mut ends = Vec::new();
        for ((mut x, kind), v) in made.into_iter().zip(&kinds).zip(&of) {
            if ir_loop.reverse {
                x.reverse();
            }
            ends.push(self.finished(fr, x, *kind, *v)?);
        }
        let lin_ends = ends.split_off(ir_loop.outs.len());
        Ok([carried, ends, vec![Value::Number(Lit::I64(iteration))], lin, lin_ends].concat())
    }

    /// Whether the host may continue to run loops: small kernels are not worth their launch.
    pub(super) fn patient(&self) -> Res<()> {
        let now = self.gpu.work();
        let (kernels, bytes) = (now.kernels - self.before.kernels, now.traffic - self.before.traffic);
        if self.patience.is_over(kernels, bytes) {
            return unsupported(HOST);
        }
        Ok(())
    }

    /// Adds the output of an iteration; of sums only the sum is kept.
    fn put(&mut self, kind: Out, made: &mut Vec<Value>, v: Value) -> Res<()> {
        let v = match (kind, made.is_empty()) {
            (Out::Sum, false) => {
                let sum = made.pop().unwrap_or(Value::SymbolicZero);
                self.vector(&Op::Bin(Bin::Add, Var(0), Var(0)), &[sum, v])?
            }
            _ => v,
        };
        made.push(v);
        Ok(())
    }

    fn again(
        &mut self,
        fr: &mut ExecFrame<'a>,
        l: &Loop,
        limit: Option<i64>,
        iteration: i64,
        carried: &[Value],
    ) -> Res<bool> {
        match (&l.trip, limit) {
            (Trip::While(c), _) => {
                fr.bind(&c.params, carried.to_vec())?;
                let made = self.inner(fr, c)?;
                match (made.first(), c.results.first()) {
                    (Some(Value::Number(Lit::Bool(b))), _) => Ok(*b),
                    (Some(_), Some(v)) => self.holds(fr, *v),
                    _ => unsupported("a loop without a condition"),
                }
            }
            (Trip::Count(_), n) => Ok(iteration < n.unwrap_or(0)),
        }
    }

    pub(super) fn elements(&mut self, fr: &ExecFrame<'a>, xs: &[Var], i: i64) -> Res<Vec<Value>> {
        let one = |v: &Var| match fr.get(*v)? {
            Value::SymbolicZero => Ok(zero(&fr.f.ty(*v).elem())),
            Value::Ints(x) => x
                .get(i as usize)
                .map_or_else(|| unsupported("an index out of bounds"), |n| Ok(Value::Number(Lit::I64(*n)))),
            Value::Data(_, boxes) if fr.rank(*v) > 0 => {
                boxes.get(i as usize).cloned().map_or_else(|| unsupported("an index out of bounds"), Ok)
            }
            _ => self.array(fr, *v).and_then(|a| self.part(&a, &[i])).map(Value::Array),
        };
        xs.iter().map(one).collect()
    }

    /// The value of a loop's output.
    fn finished(&mut self, fr: &ExecFrame<'a>, mut x: Vec<Value>, out: Out, v: Var) -> Res<Value> {
        let ty = fr.f.ty(v);
        match out {
            Out::Sum => Ok(x.pop().unwrap_or_else(|| zero(ty))),
            Out::Boxed => Ok(self.boxed(x)),
            Out::Collect if !ty.scalar().is_flat() => boxes(x, ty),
            Out::Collect if x.is_empty() && ty.rank() == 1 => self.gpu.empty(kind(ty)?, vec![0]).map(Value::Array),
            Out::Collect if x.is_empty() && fr.f.linear(v) => Ok(Value::SymbolicZero),
            Out::Collect if x.is_empty() => unsupported("rows that no iteration makes"),
            Out::Collect if x.iter().all(|x| matches!(x, Value::SymbolicZero)) => Ok(Value::SymbolicZero),
            Out::Collect => self.stacked(&x, ty),
        }
    }

    /// Boxes: an array with one more axis if all elements are arrays of one shape.
    fn boxed(&mut self, x: Vec<Value>) -> Value {
        let arrays: Option<Vec<&Array>> =
            x.iter().map(|v| if let Value::Array(a) = v { Some(a) } else { None }).collect();
        let alike = arrays.is_some_and(|a| {
            !a.is_empty() && a.windows(2).all(|w| w[0].shape == w[1].shape && w[0].scalar == w[1].scalar)
        });
        let made = if alike { self.in_a_row(&x).ok() } else { None };
        made.unwrap_or_else(|| Value::Data(0, Rc::new(x)))
    }

    /// Values of one shape as an array.
    pub(super) fn stacked(&mut self, x: &[Value], ty: &adl_ir::Ty) -> Res<Value> {
        if !ty.scalar().is_flat() {
            return boxes(x.to_vec(), ty);
        }
        let ints: Option<Vec<i64>> =
            x.iter().map(|v| if let Value::Number(Lit::I64(n)) = v { Some(*n) } else { None }).collect();
        if let (Some(ints), Ok(Scalar::I64)) = (ints, kind(ty)) {
            return Ok(Value::Ints(Rc::new(ints)));
        }
        self.in_a_row(x)
    }

    fn in_a_row(&mut self, x: &[Value]) -> Res<Value> {
        let like = x.iter().find_map(|v| if let Value::Array(a) = v { Some(a) } else { None });
        let row = |v: &Value| match (v, like) {
            (Value::SymbolicZero, Some(a)) => self.zeros(a.scalar, a.shape.clone()),
            _ => self.on_device(v),
        };
        let rows = x.iter().map(row).collect::<Res<Vec<Array>>>()?;
        let Some(first) = rows.first() else { return unsupported("an array of nothing") };
        if rows.iter().any(|r| r.shape != first.shape) {
            return unsupported("rows of different shapes in an array");
        }
        let out = self.gpu.empty(first.scalar, [vec![rows.len()], first.shape.clone()].concat())?;
        for (k, r) in rows.iter().enumerate() {
            self.gpu.copy_into(&r.buffer, 0, &out.buffer, k as u64 * r.bytes(), r.bytes())?;
        }
        Ok(Value::Array(out))
    }

    /// The device array of a value.
    pub(super) fn on_device(&self, v: &Value) -> Res<Array> {
        match v {
            Value::Array(a) => Ok(a.clone()),
            Value::Number(l) => self.device_number(l),
            Value::Ints(x) => self.gpu.array(&crate::array::Data::I64((**x).clone()), vec![x.len()]),
            Value::Data(..) | Value::SymbolicZero => unsupported("data, or an absent zero, in an array"),
        }
    }
}

/// An array of boxes.
fn boxes(x: Vec<Value>, ty: &adl_ir::Ty) -> Res<Value> {
    if ty.rank() > 1 { unsupported("boxes in several axes") } else { Ok(Value::Data(0, Rc::new(x))) }
}

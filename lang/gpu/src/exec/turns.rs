//! Batched loop execution (flattening): each statement of the body runs for all iterations before the next statement,
//! as an operation on arrays with one more axis.
//!
//! This is for bodies of operations on whole arrays (matrix products, updates, loops with state), for which a single
//! kernel ([`crate::nest`]) is not possible or would have too few threads. Loop-invariant statements run once. If the
//! condition of a branch varies between iterations, both arms run, unless they contain checks. If they contain array
//! operations, the host reads whether all iterations take the same arm.
//!
//! - Here: blocks and control flow. `batch`: operations.

use super::{Exec, ExecFrame, Value};
use crate::array::{Array, Operand};
use crate::batched_ops::{self, BatchedOperand, StridedFactor};
use crate::error::{Error, Res, unsupported};
use crate::primitive_table::{OnGpu, on_gpu};
use crate::single_thread;
use crate::{data_movement, gemm};
use adl_ir::{Block, FnId, Function, Lit, Loop, Op, Out, Program, Stmt, Trip, Ty, Var};
use adl_prim::{Bin, GeneralFn, Prim};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The maximum depth of calls in branch arms that both run.
const CALLS: usize = 8;

/// The maximum number of iterations whose conditions the host reads.
const ASKED: usize = 1 << 16;

/// The maximum trip count of an inner loop with state, each iteration of which launches a kernel per statement.
const STEPS: i64 = 2000;

/// The value of a variable in all iterations.
#[derive(Clone, Debug)]
pub(super) enum Batched {
    /// A loop-invariant value.
    Same(Value),
    /// An array whose first axis is the iterations.
    Each(Array),
    /// A deferred outer product for each iteration; usually only the sum over the iterations is needed.
    Outer(Array, Array),
}

/// The iterations of a batch.
#[derive(Default)]
pub(super) struct IterationBatch {
    pub n: usize,
    pub each: HashMap<Var, Batched>,
    /// The functions that are being called.
    calls: Vec<FnId>,
    /// In a branch arm, the iterations that reach it: checks must not fail in others.
    pub only: Option<Array>,
}

/// Visits all variables that a block reads.
pub(crate) fn reads(b: &Block, see: &mut dyn FnMut(Var)) {
    for s in &b.stmts {
        s.op.each_operand(&mut *see);
        s.op.blocks().into_iter().for_each(|b| reads(b, see));
    }
    b.results.iter().chain(&b.lin_results).for_each(|v| see(*v));
}

/// All variables that a statement reads.
fn operands(s: &Stmt) -> HashSet<Var> {
    let mut all = HashSet::new();
    s.op.each_operand(&mut |v| {
        all.insert(v);
    });
    s.op.blocks().into_iter().for_each(|b| {
        reads(b, &mut |v| {
            all.insert(v);
        });
    });
    all
}

/// Whether a block contains checks, other than assertions, which iterations that do not reach it must not execute.
fn may_fail(program: &Program, func: &Function, block: &Block, calls: usize) -> bool {
    let literal = |v: &Var| block.stmts.iter().any(|s| matches!(s.op, Op::Lit(_)) && s.outs.contains(v));
    block.stmts.iter().any(|s| match &s.op {
        // An extent of a shape, which is in bounds.
        Op::Index { a, at, .. } if *func.ty(*a) == Ty::shape() && at.iter().all(literal) => false,
        Op::Index { .. }
        | Op::IndexAdd { .. }
        | Op::IndexSet { .. }
        | Op::Slice { .. }
        | Op::SliceAdd { .. }
        | Op::Gather { shape: None, .. }
        | Op::GatherAdd { .. }
        | Op::Contract(_) => true,
        Op::Prim(p, _) => on_gpu(*p) != OnGpu::Number,
        Op::Bin(Bin::IntDiv | Bin::Rem | Bin::Pow, a, _) => *func.ty(*a).scalar() == Ty::I64,
        Op::Loop(l) if matches!(l.trip, Trip::While(_)) => true,
        Op::Call { f, .. } if calls == 0 || may_fail(program, program.func(*f), &program.func(*f).body, calls - 1) => {
            true
        }
        op => op.blocks().into_iter().any(|b| may_fail(program, func, b, calls)),
    })
}

/// Whether a block contains assertions.
fn asserts(p: &Program, b: &Block, calls: usize) -> bool {
    b.stmts.iter().any(|s| match &s.op {
        Op::Prim(Prim::General(GeneralFn::Assert), _) => true,
        Op::Call { f, .. } if calls == 0 || asserts(p, &p.func(*f).body, calls - 1) => true,
        op => op.blocks().into_iter().any(|b| asserts(p, b, calls)),
    })
}

/// Whether a block contains array operations: reading the conditions costs less than running both arms.
fn on_arrays(f: &Function, b: &Block) -> bool {
    b.stmts.iter().any(|s| {
        s.outs.iter().any(|v| f.ty(*v).rank() > 0) && !matches!(s.op, Op::Zero(_))
            || s.op.blocks().into_iter().any(|b| on_arrays(f, b))
    })
}

/// Whether a loop has no linear operands or results.
fn free(l: &Loop) -> bool {
    l.lin_init.is_empty() && l.lin_xs.is_empty() && l.lin_outs.is_empty()
}

impl<'a> Exec<'a> {
    /// Runs a stateless loop in a batch.
    pub(super) fn at_once(&mut self, fr: &mut ExecFrame<'a>, l: &Loop, n: i64) -> Res<Vec<Value>> {
        if !free(l) || n == 0 {
            return unsupported("a loop without iterations, or a linear one");
        }
        let mut one = IterationBatch { n: 1, ..IterationBatch::default() };
        let made = stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.free_iterations(fr, l, n as usize, &mut one))?;
        let single = |t: Batched| match t {
            Batched::Same(v) => Ok(v),
            Batched::Each(a) => a.reshaped(a.shape[1..].to_vec()).map(Value::Array),
            Batched::Outer(..) => unsupported("a product where there is none"),
        };
        made.into_iter().map(single).collect()
    }

    /// Runs a loop inside of a batch.
    fn free_iterations(
        &mut self,
        fr: &mut ExecFrame<'a>,
        ir_loop: &Loop,
        trip: usize,
        batch: &mut IterationBatch,
    ) -> Res<Vec<Batched>> {
        let only = batch.only.as_ref().map(|a| batched_ops::repeated(self.gpu, a, trip)).transpose()?;
        let mut inner = IterationBatch { n: batch.n * trip, each: HashMap::new(), calls: batch.calls.clone(), only };
        let mut all = HashSet::new();
        reads(&ir_loop.body, &mut |v| {
            all.insert(v);
        });
        for v in all.iter().filter(|v| batch.each.contains_key(v)) {
            let a = self.each(fr, batch, *v)?;
            inner.each.insert(*v, Batched::Each(batched_ops::repeated(self.gpu, &a, trip)?));
        }
        for (p, x) in ir_loop.body.params.iter().skip(1).zip(&ir_loop.xs).filter(|(p, _)| all.contains(p)) {
            let x = match self.turned(fr, batch, *x)? {
                Batched::Same(Value::SymbolicZero) => Batched::Same(super::zero(fr.f.ty(*p))),
                _ => Batched::Each(self.elements_of_all(fr, batch, *x, trip)?),
            };
            self.tie(fr, &mut inner, *p, x);
        }
        if let Some(p) = ir_loop.body.params.first().filter(|p| all.contains(p)) {
            let indices = batched_ops::trip(self.gpu, batch.n, trip)?;
            inner.each.insert(*p, Batched::Each(indices));
        }
        let made = self.in_iterations(fr, &ir_loop.body, &mut inner)?;
        let outs = made
            .into_iter()
            .zip(&ir_loop.outs)
            .map(|(x, o)| self.joined(x, *o, batch.n, trip))
            .collect::<Res<Vec<_>>>();
        outs.map(|mut outs| {
            outs.push(Batched::Same(Value::Number(Lit::I64(trip as i64))));
            outs
        })
    }

    /// The elements that the iterations of an inner loop read.
    fn elements_of_all(&self, fr: &ExecFrame<'a>, batch: &IterationBatch, x: Var, trip: usize) -> Res<Array> {
        let operand = self.many(fr, batch, x)?;
        let Some((length, rest)) = operand.inner().split_first() else { return unsupported("elements of a number") };
        let rest = rest.to_vec();
        if *length < trip {
            return unsupported("an array that is shorter than a loop");
        }
        let whole = if *length == trip && batch.n == 1 {
            operand.array.clone()
        } else if *length == trip {
            batched_ops::spread(self.gpu, batch.n, &operand)?
        } else {
            batched_ops::moved(self.gpu, batch.n, &operand, &[&[trip], &rest[..]].concat(), |_, q| q.to_owned())?
        };
        whole.reshaped([&[batch.n * trip], &rest[..]].concat())
    }

    /// The output of an inner loop with m iterations in each of n.
    fn joined(&self, value: Batched, out: Out, count: usize, trip: usize) -> Res<Batched> {
        let gpu = self.gpu;
        match (value, out) {
            (Batched::Same(Value::SymbolicZero), _) => Ok(Batched::Same(Value::SymbolicZero)),
            // The host keeps what it knows.
            (Batched::Same(Value::Number(Lit::I64(k))), Out::Collect) if trip <= ASKED => {
                Ok(Batched::Same(Value::Ints(Rc::new(vec![k; trip]))))
            }
            (Batched::Outer(a, b), Out::Sum) if count == 1 => {
                let sum = gemm::matmul(gpu, &data_movement::transpose(gpu, &a)?, &b)?;
                sum.reshaped([&[1], &sum.shape[..]].concat()).map(Batched::Each)
            }
            (Batched::Outer(a, b), Out::Sum) => {
                let (h, d) = (a.shape[1], b.shape[1]);
                let (a, b) = (
                    BatchedOperand { array: a.reshaped(vec![count, trip * h])?, each: true },
                    BatchedOperand { array: b.reshaped(vec![count, trip * d])?, each: true },
                );
                batched_ops::products(
                    gpu,
                    count,
                    (StridedFactor { of: &a, rows: 1, terms: h }, StridedFactor { of: &b, rows: 1, terms: d }),
                    [h, d, trip],
                    Bin::Mul,
                )
                .map(Batched::Each)
            }
            (x, out) => {
                let a = self.spread_out(x, count * trip)?;
                let a = a.reshaped([&[count, trip], &a.shape[1..]].concat())?;
                if out == Out::Sum { batched_ops::sum(gpu, &a).map(Batched::Each) } else { Ok(Batched::Each(a)) }
            }
        }
    }

    /// Converts any value to an array per iteration.
    pub(super) fn spread_out(&self, x: Batched, count: usize) -> Res<Array> {
        match x {
            // Kernels would read one element per iteration.
            Batched::Each(a) if a.shape.first() != Some(&count) => {
                unsupported("an array for another number of iterations")
            }
            Batched::Each(a) => Ok(a),
            Batched::Same(v) => {
                batched_ops::spread(self.gpu, count, &BatchedOperand { array: self.on_device(&v)?, each: false })
            }
            Batched::Outer(a, b) => {
                let (h, d) = (a.shape[1], b.shape[1]);
                let (a, b) = (BatchedOperand { array: a, each: true }, BatchedOperand { array: b, each: true });
                batched_ops::products(
                    self.gpu,
                    count,
                    (StridedFactor { of: &a, rows: 1, terms: 1 }, StridedFactor { of: &b, rows: 1, terms: 1 }),
                    [h, d, 1],
                    Bin::Mul,
                )
            }
        }
    }

    /// The value of a variable.
    pub(super) fn turned(&self, fr: &ExecFrame<'a>, t: &IterationBatch, v: Var) -> Res<Batched> {
        match t.each.get(&v) {
            Some(x) => Ok(x.clone()),
            None => fr.get(v).cloned().map(Batched::Same),
        }
    }

    /// An array per iteration.
    pub(super) fn each(&self, fr: &ExecFrame<'a>, t: &IterationBatch, v: Var) -> Res<Array> {
        self.turned(fr, t, v).and_then(|x| self.spread_out(x, t.n))
    }

    /// An operand of a batched operation.
    pub(super) fn many(&self, fr: &ExecFrame<'a>, t: &IterationBatch, v: Var) -> Res<BatchedOperand> {
        match t.each.get(&v) {
            Some(x) => self.spread_out(x.clone(), t.n).map(|array| BatchedOperand { array, each: true }),
            None => self.array(fr, v).map(|array| BatchedOperand { array, each: false }),
        }
    }

    /// Binds a variable.
    fn tie(&self, fr: &mut ExecFrame<'a>, t: &mut IterationBatch, v: Var, x: Batched) {
        match x {
            Batched::Same(x) => {
                t.each.remove(&v);
                fr.values.insert(v, x);
            }
            x => {
                t.each.insert(v, x);
            }
        }
    }

    /// Runs a block in all iterations. Returns its results.
    fn in_iterations(
        &mut self,
        fr: &mut ExecFrame<'a>,
        block: &Block,
        batch: &mut IterationBatch,
    ) -> Res<Vec<Batched>> {
        let known = self.tapes.last_reads(block);
        // Literals are bound first, so that they do not separate other statements.
        for s in &block.stmts {
            if let (Op::Lit(l), [out]) = (&s.op, &s.outs[..]) {
                fr.values.insert(*out, Value::Number(l.clone()));
            }
        }
        let mut position = 0;
        while let Some(s) = block.stmts.get(position) {
            let count = match self.alike(fr, &block.stmts[position..], batch) {
                0 => {
                    self.step(fr, s, batch)?;
                    1
                }
                n => self.most_alike(fr, &block.stmts[position..position + n], batch, &|v, n| {
                    known.last.get(&v).is_some_and(|at| *at >= position + n)
                })?,
            };
            for v in known.dies[position..position + count].iter().flatten() {
                batch.each.remove(v);
            }
            position += count;
        }
        block.results.iter().chain(&block.lin_results).map(|v| self.turned(fr, batch, *v)).collect()
    }

    /// Runs elementwise statements as one kernel, or as many of them as the number of bindings permits. Returns how
    /// many.
    fn most_alike(
        &mut self,
        fr: &mut ExecFrame<'a>,
        stmts: &[Stmt],
        t: &mut IterationBatch,
        later: &dyn Fn(Var, usize) -> bool,
    ) -> Res<usize> {
        let mut n = stmts.len();
        loop {
            match self.alike_at_once(fr, &stmts[..n], t, &|v| later(v, n)) {
                Err(Error::Unsupported(_)) if n > 1 => n = n.div_ceil(2),
                made => return made.map(|()| n),
            }
        }
    }

    /// Runs one statement in all iterations.
    fn step(&mut self, fr: &mut ExecFrame<'a>, stmt: &Stmt, batch: &mut IterationBatch) -> Res<()> {
        if matches!(stmt.op, Op::Lit(_) | Op::Drop(_)) {
            return Ok(());
        }
        let checks = matches!(stmt.op, Op::Prim(Prim::General(GeneralFn::Assert), _)) && batch.only.is_some();
        if !checks && !operands(stmt).iter().any(|v| batch.each.contains_key(v)) {
            stmt.outs.iter().chain(&stmt.lin_outs).for_each(|v| {
                batch.each.remove(v);
            });
            return self.stmt(fr, stmt, &[]);
        }
        let outs: Vec<Var> = stmt.outs.iter().chain(&stmt.lin_outs).copied().collect();
        if let Some(made) = self.threads(fr, stmt, batch)? {
            stmt.outs.iter().zip(made).for_each(|(v, a)| {
                batch.each.insert(*v, Batched::Each(a));
            });
            return Ok(());
        }
        let made = match &stmt.op {
            Op::Dup(a) => vec![self.turned(fr, batch, *a)?; 2],
            Op::If(c, a, b) => self.both(fr, *c, (a, b), batch)?,
            Op::Loop(l) => stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.loop_in_turns(fr, l, batch))?,
            Op::Call { f, args, lin_args, .. } => {
                self.call_in_turns(fr, *f, &[args.as_slice(), lin_args].concat(), batch)?
            }
            op => self.operation(fr, op, &outs, batch)?,
        };
        if outs.len() > made.len() {
            return unsupported("an operation with fewer results than it should have");
        }
        outs.into_iter().zip(made).for_each(|(v, x)| self.tie(fr, batch, v, x));
        Ok(())
    }

    /// Runs a scalar branch, or a scalar loop with state, as a kernel with one thread per iteration, if possible.
    fn threads(&mut self, fr: &ExecFrame<'a>, stmt: &Stmt, batch: &IterationBatch) -> Res<Option<Vec<Array>>> {
        let suits = match &stmt.op {
            Op::If(c, ..) => batch.each.contains_key(c),
            Op::Loop(l) => !l.init.is_empty(),
            _ => false,
        };
        if !suits || single_thread::size(stmt) > single_thread::STATEMENTS {
            return Ok(None);
        }
        let known = |v: Var| match (batch.each.get(&v), fr.values.get(&v)) {
            (None, Some(Value::Number(Lit::I64(n)))) => Some((*n).max(0) as u64),
            _ => None,
        };
        let seen = |v: &Var| match (batch.each.get(v), fr.values.get(v)) {
            (Some(x), _) => matches!(x, Batched::Each(_)),
            (None, x) => !matches!(x, Some(Value::Number(Lit::Str(_)) | Value::Data(..) | Value::SymbolicZero)),
        };
        if !operands(stmt).iter().all(seen)
            || !single_thread::work(fr.f, stmt, &known).is_some_and(single_thread::bearable)
        {
            return Ok(None);
        }
        let own = self.env(fr, None);
        let env = |v: Var| match batch.each.get(&v) {
            Some(Batched::Each(a)) => Some(Operand::Array(a.clone())),
            Some(_) => None,
            None => own(v),
        };
        match single_thread::in_iterations(
            self.gpu,
            self.program,
            fr.f,
            stmt,
            &env,
            (batch.n, &|v| batch.each.contains_key(&v)),
        ) {
            Ok(made) => Ok(Some(made)),
            Err(Error::Unsupported(_)) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Runs a branch: both arms if the iterations diverge.
    fn both(
        &mut self,
        fr: &mut ExecFrame<'a>,
        c: Var,
        (then_arm, else_arm): (&Block, &Block),
        batch: &mut IterationBatch,
    ) -> Res<Vec<Batched>> {
        let Some(test) = batch.each.get(&c).cloned() else {
            let arm = if self.holds(fr, c)? { then_arm } else { else_arm };
            return stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.in_iterations(fr, arm, batch));
        };
        let test = BatchedOperand { array: self.spread_out(test, batch.n)?, each: true };
        if batch.only.is_none()
            && batch.n <= ASKED
            && [then_arm, else_arm].into_iter().any(|b| on_arrays(fr.f, b))
            && let Some(way) = self.one_way(&test.array)?
        {
            return stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
                self.in_iterations(fr, if way { then_arm } else { else_arm }, batch)
            });
        }
        if may_fail(self.program, fr.f, then_arm, CALLS) || may_fail(self.program, fr.f, else_arm, CALLS) {
            return unsupported("a branch with checks, in iterations that take different arms");
        }
        let before = batch.only.take();
        batch.only = if asserts(self.program, then_arm, CALLS) {
            Some(self.only(&test, before.as_ref(), true, batch.n)?)
        } else {
            None
        };
        let yes = stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.in_iterations(fr, then_arm, batch))?;
        batch.only = if asserts(self.program, else_arm, CALLS) {
            Some(self.only(&test, before.as_ref(), false, batch.n)?)
        } else {
            None
        };
        let no = stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.in_iterations(fr, else_arm, batch))?;
        batch.only = before;
        yes.into_iter().zip(no).map(|(x, y)| self.chosen(&test, x, y, batch.n)).collect()
    }

    /// The arm that all iterations take, if they do not diverge.
    fn one_way(&self, test: &Array) -> Res<Option<bool>> {
        let crate::array::Data::Bool(ways) = self.gpu.read(test)? else { return Ok(None) };
        Ok(ways.first().copied().filter(|w| ways.iter().all(|x| x == w)))
    }

    /// The number that is the same in all iterations.
    fn one_length(&self, all: &Array) -> Res<i64> {
        match self.gpu.read(all)? {
            crate::array::Data::I64(all) if all.iter().all(|n| *n == all[0]) => {
                all.first().copied().map_or_else(|| unsupported("no iterations"), Ok)
            }
            _ => unsupported("loops of different lengths in iterations of another"),
        }
    }

    /// Runs a loop inside of a batch.
    fn loop_in_turns(
        &mut self,
        fr: &mut ExecFrame<'a>,
        ir_loop: &Loop,
        batch: &mut IterationBatch,
    ) -> Res<Vec<Batched>> {
        let Trip::Count(count) = ir_loop.trip else {
            return unsupported("a loop of unknown length in iterations of another");
        };
        let trip = match batch.each.get(&count) {
            None if free(ir_loop) => self.int(fr, count)?.max(0),
            Some(Batched::Each(a)) if free(ir_loop) && batch.n <= ASKED => self.one_length(a)?.max(0),
            _ => return unsupported("loops of different lengths in iterations of another"),
        };
        if ir_loop.init.is_empty() && trip > 0 {
            return self.free_iterations(fr, ir_loop, trip as usize, batch);
        }
        if trip > STEPS {
            return unsupported("a long loop with state, in iterations of another");
        }
        let mut carried = ir_loop.init.iter().map(|v| self.turned(fr, batch, *v)).collect::<Res<Vec<_>>>()?;
        let mut made: Vec<Vec<Batched>> = vec![Vec::new(); ir_loop.outs.len()];
        for iteration in 0..trip {
            self.patient()?;
            let i = if ir_loop.reverse { trip - 1 - iteration } else { iteration };
            let xs = ir_loop.xs.iter().map(|x| self.element_of_each(fr, batch, *x, i)).collect::<Res<Vec<_>>>()?;
            let index = Batched::Same(Value::Number(Lit::I64(i)));
            ir_loop
                .body
                .params
                .iter()
                .zip([vec![index], carried, xs].concat())
                .for_each(|(p, x)| self.tie(fr, batch, *p, x));
            carried = self.in_iterations(fr, &ir_loop.body, batch)?;
            let put = carried.split_off(ir_loop.init.len());
            for ((x, kind), made) in put.into_iter().zip(&ir_loop.outs).zip(&mut made) {
                match (kind, made.pop()) {
                    (Out::Sum, Some(sum)) => made.push(self.added(sum, x, batch.n)?),
                    (_, before) => made.extend(before.into_iter().chain([x])),
                }
            }
        }
        let ends = made
            .into_iter()
            .zip(&ir_loop.outs)
            .map(|(x, o)| self.ended(x, *o, ir_loop.reverse, batch.n))
            .collect::<Res<Vec<_>>>()?;
        Ok([carried, ends, vec![Batched::Same(Value::Number(Lit::I64(trip)))]].concat())
    }

    /// The element that each iteration reads.
    fn element_of_each(&mut self, fr: &mut ExecFrame<'a>, batch: &IterationBatch, array: Var, i: i64) -> Res<Batched> {
        if !batch.each.contains_key(&array) {
            let mut made = self.elements(fr, &[array], i)?;
            return Ok(Batched::Same(made.remove(0)));
        }
        let x = self.many(fr, batch, array)?;
        let (length, rest) = (x.inner()[0], &x.inner()[1..]);
        if i as usize >= length {
            return unsupported("an array that is shorter than a loop");
        }
        let at = i as usize * rest.iter().product::<usize>();
        let place = |e: &mut crate::wgsl::Emit<'_>, q: &str| format!("{} + {q}", e.word(at as u32));
        batched_ops::moved(self.gpu, batch.n, &x, rest, place).map(Batched::Each)
    }

    /// The output of a sequential inner loop.
    fn ended(&self, mut rows: Vec<Batched>, out: Out, reverse: bool, count: usize) -> Res<Batched> {
        if rows.is_empty() {
            return unsupported("rows that no iteration makes");
        }
        if out == Out::Sum {
            return Ok(rows.remove(0));
        }
        if reverse {
            rows.reverse();
        }
        if rows.iter().all(|x| matches!(x, Batched::Same(Value::SymbolicZero))) {
            return Ok(Batched::Same(Value::SymbolicZero));
        }
        let all = rows
            .into_iter()
            .map(|x| self.spread_out(x, count).map(|array| BatchedOperand { array, each: true }))
            .collect::<Res<Vec<_>>>()?;
        batched_ops::stack(self.gpu, count, &all).map(Batched::Each)
    }

    /// Runs a call in all iterations.
    fn call_in_turns(
        &mut self,
        fr: &mut ExecFrame<'a>,
        id: FnId,
        args: &[Var],
        batch: &mut IterationBatch,
    ) -> Res<Vec<Batched>> {
        if batch.calls.contains(&id) {
            return unsupported("a function that calls itself, in iterations of a loop");
        }
        let func = self.program.func(id);
        let given = args.iter().map(|v| self.turned(fr, batch, *v)).collect::<Res<Vec<_>>>()?;
        let mut own = ExecFrame { f: func, values: HashMap::new() };
        let mut inner = IterationBatch {
            n: batch.n,
            each: HashMap::new(),
            calls: [&batch.calls[..], &[id]].concat(),
            only: batch.only.clone(),
        };
        func.body
            .params
            .iter()
            .chain(&func.body.lin_params)
            .zip(given)
            .for_each(|(p, x)| self.tie(&mut own, &mut inner, *p, x));
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.in_iterations(&mut own, &func.body, &mut inner))
    }

    /// The shape, which is the same in all iterations.
    pub(super) fn shape_in_iterations(&self, fr: &ExecFrame<'a>, t: &IterationBatch, v: Var) -> Res<Vec<usize>> {
        match t.each.get(&v) {
            Some(Batched::Each(a)) => Ok(a.shape[1..].to_vec()),
            Some(Batched::Outer(a, b)) => Ok(vec![a.shape[1], b.shape[1]]),
            _ => self.shape(fr, v),
        }
    }

    /// An Int that is the same in all iterations.
    pub(super) fn int_in_iterations(&self, fr: &ExecFrame<'a>, t: &IterationBatch, v: Var) -> Res<i64> {
        if t.each.contains_key(&v) {
            unsupported("extents that differ from iteration to iteration")
        } else {
            self.int(fr, v)
        }
    }

    /// Ints that are the same in all iterations.
    pub(super) fn ints_in_iterations(&self, fr: &ExecFrame<'a>, t: &IterationBatch, v: Var) -> Res<Vec<usize>> {
        if t.each.contains_key(&v) {
            unsupported("extents that differ from iteration to iteration")
        } else {
            self.ints(fr, v)
        }
    }
}

/// A shape as Ints.
pub(super) fn extents(shape: &[usize]) -> Value {
    Value::Ints(Rc::new(shape.iter().map(|n| *n as i64).collect()))
}

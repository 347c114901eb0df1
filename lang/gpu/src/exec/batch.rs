//! Batched operations, for all iterations of a loop (see `turns`).

use super::turns::{Batched, IterationBatch, extents};
use super::{Exec, ExecFrame, Value};
use crate::array::{Array, Operand, Scalar};
use crate::batched_ops::{self, BatchedOperand, StridedFactor};
use crate::error::{Res, unsupported};
use crate::pointwise::{self, InIterations, is_pointwise};
use crate::primitive_table::{OnGpu, on_gpu};
use crate::{data_movement, gemm, index, soac, sort};
use adl_ir::{Function, Lit, Op, Program, Soac, SoacKind, Stmt, Var};
use adl_prim::{Bin, DerivativeFn, GeneralFn, Prim, ReductionFn};
use std::collections::HashMap;

/// Whether an operation can be computed elementwise.
fn elementwise(op: &Op) -> bool {
    match op {
        Op::Lit(_) | Op::Dup(_) | Op::Drop(_) => false,
        Op::Prim(p, _) => on_gpu(*p) == OnGpu::Number && !matches!(p, Prim::General(GeneralFn::Assert)),
        op => is_pointwise(op),
    }
}

impl<'a> Exec<'a> {
    /// The number of leading statements that are elementwise on arrays of one shape.
    pub(super) fn alike(&self, fr: &ExecFrame<'a>, stmts: &[Stmt], batch: &IterationBatch) -> usize {
        let mut made: HashMap<Var, Vec<usize>> = HashMap::new();
        let mut one: Option<Vec<usize>> = None;
        let fits = |stmt: &&Stmt| {
            if matches!(stmt.op, Op::Lit(_)) && !made.is_empty() {
                return true;
            }
            if !elementwise(&stmt.op) || !stmt.lin_outs.is_empty() && stmt.outs.is_empty() {
                return false;
            }
            let (mut vars, mut own, mut each, mut fine) = (Vec::new(), Vec::new(), false, true);
            stmt.op.each_operand(&mut |v| vars.push(v));
            for v in &vars {
                let shape = match (made.get(v), batch.each.get(v), fr.values.get(v)) {
                    (Some(s), ..) => s.clone(),
                    (None, Some(Batched::Each(a)), _) => a.shape[1..].to_vec(),
                    (None, None, Some(Value::Array(a))) => a.shape.clone(),
                    (None, None, Some(Value::Ints(x))) => vec![x.len()],
                    (None, None, Some(Value::Number(l))) if !matches!(l, Lit::Str(_)) => Vec::new(),
                    _ => return false,
                };
                each |= made.contains_key(v) || batch.each.contains_key(v);
                fine &= shape.is_empty() || own.is_empty() || own == shape;
                if !shape.is_empty() {
                    own = shape;
                }
            }
            // A condition that is a scalar per iteration selects whole arrays: the shape of an iteration's value must
            // be that of the result.
            fine &= each
                && *one.get_or_insert_with(|| own.clone()) == own
                && (own.is_empty() || !matches!(stmt.op, Op::Prim(..)));
            if fine {
                made.extend(stmt.outs.iter().chain(&stmt.lin_outs).map(|o| (*o, own.clone())));
            }
            fine
        };
        let n = stmts.iter().take_while(fits).count();
        // Literals are bound already.
        n - stmts[..n].iter().rev().take_while(|s| matches!(s.op, Op::Lit(_))).count()
    }

    /// Runs such statements as one kernel, which stores the results for which `later` is true.
    pub(super) fn alike_at_once(
        &mut self,
        fr: &mut ExecFrame<'a>,
        stmts: &[Stmt],
        batch: &mut IterationBatch,
        later: &dyn Fn(Var) -> bool,
    ) -> Res<()> {
        let outs: Vec<Var> = stmts
            .iter()
            .filter(|s| !matches!(s.op, Op::Lit(_)))
            .flat_map(|s| s.outs.iter().chain(&s.lin_outs))
            .copied()
            .filter(|v| later(*v))
            .collect();
        if outs.is_empty() {
            return Ok(());
        }
        let mut inner: Vec<usize> = Vec::new();
        for s in stmts {
            let mut vars = Vec::new();
            s.op.each_operand(&mut |v| vars.push(v));
            for v in vars.iter().filter(|v| batch.each.contains_key(v) || fr.values.contains_key(v)) {
                if let Ok(shape) = self.shape_in_iterations(fr, batch, *v)
                    && !shape.is_empty()
                {
                    inner = shape;
                }
            }
        }
        let own = self.env(fr, None);
        let env = |v: Var| match batch.each.get(&v) {
            Some(Batched::Each(a)) => Some(Operand::Array(a.clone())),
            Some(_) => None,
            None => own(v),
        };
        let made = pointwise::in_iterations(
            self.gpu,
            self.program,
            fr.f,
            stmts,
            &outs,
            &env,
            &InIterations { n: batch.n, inner: &inner, each: &|v| batch.each.contains_key(&v) },
        )?;
        outs.into_iter().zip(made).for_each(|(v, a)| {
            batch.each.insert(v, Batched::Each(a));
        });
        Ok(())
    }

    /// Applies an elementwise operator to values that are not bound to variables.
    fn applied(
        &self,
        count: usize,
        op: impl FnOnce(&[Var]) -> Op,
        operands: &[BatchedOperand],
        out: Scalar,
    ) -> Res<Array> {
        let mut func = Function::default();
        let of = |s: Scalar| match s {
            Scalar::F64 => adl_ir::Ty::F64,
            Scalar::F32 => adl_ir::Ty::F32,
            Scalar::I64 | Scalar::Word => adl_ir::Ty::I64,
            Scalar::Bool => adl_ir::Ty::Bool,
        };
        let vars: Vec<Var> = operands.iter().map(|m| func.fresh(of(m.array.scalar), false)).collect();
        let r = func.fresh(of(out), false);
        let stmt = Stmt { outs: vec![r], lin_outs: Vec::new(), op: op(&vars), span: Default::default() };
        let inner = operands.iter().map(BatchedOperand::inner).find(|s| !s.is_empty()).unwrap_or(&[]).to_vec();
        let at = |v: Var| vars.iter().position(|w| *w == v);
        let env = |v: Var| at(v).map(|k| Operand::Array(operands[k].array.clone()));
        let mut made = pointwise::in_iterations(
            self.gpu,
            &Program::default(),
            &func,
            &[stmt],
            &[r],
            &env,
            &InIterations { n: count, inner: &inner, each: &|v| at(v).is_some_and(|k| operands[k].each) },
        )?;
        Ok(made.remove(0))
    }

    fn as_many(&self, x: Batched, n: usize) -> Res<BatchedOperand> {
        match x {
            Batched::Same(v) => self.on_device(&v).map(|array| BatchedOperand { array, each: false }),
            x => self.spread_out(x, n).map(|array| BatchedOperand { array, each: true }),
        }
    }

    /// The sum of two values.
    pub(super) fn added(&mut self, x: Batched, y: Batched, n: usize) -> Res<Batched> {
        match (x, y) {
            (Batched::Same(Value::SymbolicZero), z) | (z, Batched::Same(Value::SymbolicZero)) => Ok(z),
            (Batched::Same(x), Batched::Same(y)) => self.pair(Bin::Add, x, y).map(Batched::Same),
            (x, y) => {
                let (x, y) = (self.as_many(x, n)?, self.as_many(y, n)?);
                let scalar = x.array.scalar;
                self.applied(n, |v| Op::Bin(Bin::Add, v[0], v[1]), &[x, y], scalar).map(Batched::Each)
            }
        }
    }

    /// The iterations that reach a branch arm, among those that reach the branch.
    pub(super) fn only(&self, test: &BatchedOperand, before: Option<&Array>, arm: bool, n: usize) -> Res<Array> {
        let constant = |b: bool| self.device_number(&Lit::Bool(b)).map(|array| BatchedOperand { array, each: false });
        let to = match before {
            Some(a) => BatchedOperand { array: a.clone(), each: true },
            None => constant(true)?,
        };
        let (yes, no) = if arm { (to, constant(false)?) } else { (constant(false)?, to) };
        self.applied(n, |v| Op::Select(v[0], v[1], v[2]), &[test.clone(), yes, no], Scalar::Bool)
    }

    /// Zeros of the shape of an iteration's value, for all iterations.
    fn zeros_like(&self, x: &BatchedOperand) -> Res<BatchedOperand> {
        self.zeros(x.array.scalar, x.inner().to_vec()).map(|array| BatchedOperand { array, each: false })
    }

    /// Selects between two values by each iteration's Bool.
    pub(super) fn chosen(
        &mut self,
        test: &BatchedOperand,
        left: Batched,
        right: Batched,
        count: usize,
    ) -> Res<Batched> {
        if let (Batched::Same(Value::SymbolicZero), Batched::Same(Value::SymbolicZero)) = (&left, &right) {
            return Ok(left);
        }
        let symbolic_zero = |x: &Batched| matches!(x, Batched::Same(Value::SymbolicZero));
        let (yes, no) = match (symbolic_zero(&left), symbolic_zero(&right)) {
            (true, _) => {
                let y = self.as_many(right, count)?;
                (self.zeros_like(&y)?, y)
            }
            (_, true) => {
                let x = self.as_many(left, count)?;
                let zeros = self.zeros_like(&x)?;
                (x, zeros)
            }
            _ => (self.as_many(left, count)?, self.as_many(right, count)?),
        };
        if yes.inner() != no.inner() {
            return unsupported("arms of a branch with arrays of different shapes, in iterations of a loop");
        }
        let scalar = yes.array.scalar;
        self.applied(count, |v| Op::Select(v[0], v[1], v[2]), &[test.clone(), yes, no], scalar).map(Batched::Each)
    }

    /// Runs an operation with an operand that varies between iterations.
    pub(super) fn operation(
        &mut self,
        fr: &mut ExecFrame<'a>,
        op: &Op,
        outs: &[Var],
        batch: &mut IterationBatch,
    ) -> Res<Vec<Batched>> {
        let same = |v: Value| Ok(vec![Batched::Same(v)]);
        let each = |a: Res<Array>| a.map(|a| vec![Batched::Each(a)]);
        match op {
            Op::Dim(a, k) => match self.shape_in_iterations(fr, batch, *a)?.get(*k as usize) {
                Some(n) => same(Value::Number(Lit::I64(*n as i64))),
                None => unsupported("an axis that is not there"),
            },
            Op::Shape(a) => {
                let shape = self.shape_in_iterations(fr, batch, *a)?;
                same(extents(&shape[..(fr.rank(*a) as usize).min(shape.len())]))
            }
            Op::Size(a) => {
                same(Value::Number(Lit::I64(self.shape_in_iterations(fr, batch, *a)?.iter().product::<usize>() as i64)))
            }
            Op::Prim(p, args) => self.prim_in_turns(fr, *p, args, batch),
            Op::Soac(s) => self.soac_in_turns(fr, s, batch),
            Op::Dot(..) | Op::MatMul(..) | Op::Outer(..) | Op::Contract(_) => self.products_in_turns(fr, op, batch),
            Op::ArrayLit { elems, .. } => {
                let all = elems.iter().map(|v| self.many(fr, batch, *v)).collect::<Res<Vec<_>>>()?;
                each(batched_ops::stack(self.gpu, batch.n, &all))
            }
            Op::Cumsum { a, reverse } => {
                each(batched_ops::running(self.gpu, &self.each(fr, batch, *a)?, Bin::Add, *reverse))
            }
            Op::Concat { a, b, .. } => {
                each(batched_ops::concat(self.gpu, batch.n, &self.many(fr, batch, *a)?, &self.many(fr, batch, *b)?))
            }
            Op::IndexAdd { .. } | Op::IndexSet { .. } | Op::SliceAdd { .. } | Op::GatherAdd { .. } => {
                self.updated_in_iterations(fr, op, outs, batch)
            }
            op if elementwise(op) => self.with_zeros(fr, op, batch),
            op => each(self.moved_in_turns(fr, op, batch)),
        }
    }

    /// Arithmetic with symbolic zeros.
    fn with_zeros(&mut self, fr: &ExecFrame<'a>, op: &Op, batch: &IterationBatch) -> Res<Vec<Batched>> {
        let mut vars = Vec::new();
        op.each_operand(&mut |v| vars.push(v));
        let operands = vars.iter().map(|v| self.turned(fr, batch, *v)).collect::<Res<Vec<_>>>()?;
        let symbolic_zero = |x: &Batched| matches!(x, Batched::Same(Value::SymbolicZero));
        Ok(vec![match (op, &operands[..]) {
            (Op::Bin(Bin::Add, ..), [a, b]) if symbolic_zero(a) => b.clone(),
            (Op::Bin(Bin::Add | Bin::Sub, ..), [a, b]) if symbolic_zero(b) => a.clone(),
            (Op::Bin(Bin::Sub, ..), [a, b]) if symbolic_zero(a) => {
                let b = self.as_many(b.clone(), batch.n)?;
                let scalar = b.array.scalar;
                Batched::Each(self.applied(batch.n, |v| Op::Un(adl_prim::Un::Neg, v[0]), &[b], scalar)?)
            }
            (Op::Bin(Bin::Mul | Bin::ScaleTangent, ..), [a, b]) if symbolic_zero(a) || symbolic_zero(b) => {
                Batched::Same(Value::SymbolicZero)
            }
            (Op::Bin(Bin::Div, ..), [a, _]) if symbolic_zero(a) => Batched::Same(Value::SymbolicZero),
            (Op::Select(..), [_, a, b]) if symbolic_zero(a) && symbolic_zero(b) => Batched::Same(Value::SymbolicZero),
            (Op::Select(..), [c, a, b]) if symbolic_zero(a) || symbolic_zero(b) => {
                let (c, there) = (
                    self.as_many(c.clone(), batch.n)?,
                    self.as_many(if symbolic_zero(a) { b.clone() } else { a.clone() }, batch.n)?,
                );
                let zeros = self.zeros_like(&there)?;
                let scalar = there.array.scalar;
                let x = if symbolic_zero(a) { [c, zeros, there] } else { [c, there, zeros] };
                Batched::Each(self.applied(batch.n, |v| Op::Select(v[0], v[1], v[2]), &x, scalar)?)
            }
            (_, x) if x.iter().any(symbolic_zero) => return unsupported("the elements of an absent zero"),
            // Deferred outer products, and arrays whose shapes differ from those of adjacent statements.
            (Op::Un(u, _), [a]) => {
                let a = self.as_many(a.clone(), batch.n)?;
                let scalar = a.array.scalar;
                Batched::Each(self.applied(batch.n, |v| Op::Un(*u, v[0]), &[a], scalar)?)
            }
            (Op::Bin(b, ..), [p, q]) => {
                let (p, q) = (self.as_many(p.clone(), batch.n)?, self.as_many(q.clone(), batch.n)?);
                let scalar = p.array.scalar;
                Batched::Each(self.applied(batch.n, |v| Op::Bin(*b, v[0], v[1]), &[p, q], scalar)?)
            }
            _ => return unsupported("arithmetic on arrays of different shapes"),
        }])
    }

    /// The condition of an assertion; in a branch arm it is true for iterations that do not reach the arm.
    fn tested(&self, fr: &ExecFrame<'a>, t: &IterationBatch, v: Var) -> Res<Array> {
        let test = self.each(fr, t, v)?;
        let Some(only) = &t.only else { return Ok(test) };
        let yes = BatchedOperand { array: self.device_number(&Lit::Bool(true))?, each: false };
        let (only, test) =
            (BatchedOperand { array: only.clone(), each: true }, BatchedOperand { array: test, each: true });
        self.applied(t.n, |v| Op::Select(v[0], v[1], v[2]), &[only, test, yes], Scalar::Bool)
    }

    fn prim_in_turns(
        &mut self,
        fr: &ExecFrame<'a>,
        prim: Prim,
        args: &[Var],
        batch: &IterationBatch,
    ) -> Res<Vec<Batched>> {
        let gpu = self.gpu;
        if prim == Prim::General(GeneralFn::Assert) {
            let test = self.tested(fr, batch, args[0])?;
            batched_ops::asserted(gpu, &test)?;
            return Ok(Vec::new());
        }
        if matches!(prim, Prim::Derivative(DerivativeFn::StopGrad) | Prim::General(GeneralFn::Id)) {
            return args.iter().map(|v| self.turned(fr, batch, *v)).collect();
        }
        let ([arg], Some(_)) = (args, args.first()) else {
            return unsupported(format!("`{}` in iterations of a loop", prim.name()));
        };
        let array = self.each(fr, batch, *arg)?;
        let vector = array.shape.len() == 2;
        Ok(vec![Batched::Each(match prim {
            Prim::Reduction(ReductionFn::Minimum | ReductionFn::Maximum) => {
                batched_ops::extreme(gpu, &array, prim == Prim::Reduction(ReductionFn::Minimum))?[0].clone()
            }
            Prim::Reduction(ReductionFn::Argmin | ReductionFn::Argmax) => {
                batched_ops::extreme(gpu, &array, prim == Prim::Reduction(ReductionFn::Argmin))?[1].clone()
            }
            Prim::Reduction(ReductionFn::Prod) => batched_ops::along(gpu, &array, Bin::Mul)?,
            Prim::Reduction(ReductionFn::Cumprod) => batched_ops::running(gpu, &array, Bin::Mul, false)?,
            Prim::Reduction(ReductionFn::Argsort) if vector => sort::argsort_rows(gpu, &array)?,
            _ => return unsupported(format!("`{}` in iterations of a loop", prim.name())),
        })])
    }

    /// A reduction or scan of each iteration's vectors.
    fn soac_in_turns(&mut self, fr: &ExecFrame<'a>, soac: &Soac, batch: &IterationBatch) -> Res<Vec<Batched>> {
        let mut all = soac.neutral.clone();
        super::turns::reads(&soac.op, &mut |v| all.push(v));
        if all.iter().any(|v| batch.each.contains_key(v)) {
            return unsupported("an operator that differs from iteration to iteration");
        }
        let arrays = soac.arrays.iter().map(|v| self.each(fr, batch, *v)).collect::<Res<Vec<_>>>()?;
        let Some([_, length]) = arrays.first().map(|a| &a.shape[..]) else {
            return unsupported("a reduction of an array that is not a vector");
        };
        if arrays.iter().any(|a| a.shape.len() != 2 || a.shape[1] != *length) {
            return unsupported("arrays of different lengths");
        }
        let (env, length) = (self.env(fr, None), *length);
        let made = soac::rows(self.gpu, self.program, fr.f, soac, &env, &arrays, batch.n, length)?;
        let shape = if soac.kind == SoacKind::Reduce { vec![batch.n] } else { vec![batch.n, length] };
        made.into_iter().map(|a| a.reshaped(shape.clone()).map(Batched::Each)).collect()
    }

    /// Products of arrays.
    fn products_in_turns(&mut self, fr: &ExecFrame<'a>, op: &Op, batch: &IterationBatch) -> Res<Vec<Batched>> {
        let (lhs, rhs) = match op {
            Op::Dot(a, b) | Op::MatMul(a, b) | Op::Outer(a, b) => (*a, *b),
            Op::Contract(c) => (c.a, c.b),
            _ => return unsupported("no product"),
        };
        let symbolic_zero = |v: Var| matches!(self.turned(fr, batch, v), Ok(Batched::Same(Value::SymbolicZero)));
        if symbolic_zero(lhs) || symbolic_zero(rhs) {
            return if matches!(op, Op::Dot(..)) {
                unsupported("the elements of an absent zero")
            } else {
                Ok(vec![Batched::Same(Value::SymbolicZero)])
            };
        }
        let (left, right) = (self.many(fr, batch, lhs)?, self.many(fr, batch, rhs)?);
        let (gpu, count) = (self.gpu, batch.n);
        let made = match op {
            Op::Dot(..) => {
                if left.inner() != right.inner() {
                    return unsupported("an inner product of arrays of different shapes");
                }
                let k = left.size();
                let one = |of| StridedFactor { of, rows: 0, terms: 1 };
                batched_ops::products(gpu, count, (one(&left), one(&right)), [1, 1, k], Bin::Mul)?
                    .reshaped(vec![count])?
            }
            Op::Outer(..) if left.each && right.each && left.inner().len() == 1 && right.inner().len() == 1 => {
                return Ok(vec![Batched::Outer(left.array, right.array)]);
            }
            Op::Outer(..) => {
                let inner = [left.inner(), right.inner()].concat();
                let one = |of| StridedFactor { of, rows: 1, terms: 0 };
                batched_ops::products(gpu, count, (one(&left), one(&right)), [left.size(), right.size(), 1], Bin::Mul)?
                    .reshaped([&[count], &inner[..]].concat())?
            }
            Op::MatMul(..) => matrices(gpu, count, &left, &right)?,
            _ => return unsupported("a contraction in iterations of a loop"),
        };
        Ok(vec![Batched::Each(made)])
    }

    /// `gather_add` in each iteration, as one on the arrays of all iterations.
    fn gather_added(
        &self,
        count: usize,
        target: &BatchedOperand,
        at: &BatchedOperand,
        part: &BatchedOperand,
    ) -> Res<Array> {
        let (length, rest) = (target.inner()[0], target.inner()[1..].to_vec());
        let keys = batched_ops::shifted(self.gpu, count, at, length)?;
        let flat = batched_ops::spread(self.gpu, count, target)?.reshaped([&[count * length], &rest[..]].concat())?;
        let v = batched_ops::spread(self.gpu, count, part)?.reshaped([&[keys.len()], &rest[..]].concat())?;
        index::gather_add(self.gpu, &flat, &keys.reshaped(vec![keys.len()])?, &v)?
            .reshaped([&[count, length], &rest[..]].concat())
    }

    fn updated_in_iterations(
        &mut self,
        fr: &ExecFrame<'a>,
        op: &Op,
        outs: &[Var],
        batch: &IterationBatch,
    ) -> Res<Vec<Batched>> {
        let (acc, var, shape) = match op {
            Op::IndexAdd { acc, v, shape, .. }
            | Op::IndexSet { acc, v, shape, .. }
            | Op::SliceAdd { acc, v, shape, .. }
            | Op::GatherAdd { acc, v, shape, .. } => (*acc, *v, *shape),
            _ => return unsupported("no update"),
        };
        if !fr.f.ty(outs[0]).scalar().is_flat() {
            return unsupported("boxes that change, in iterations of a loop");
        }
        if matches!(self.turned(fr, batch, var)?, Batched::Same(Value::SymbolicZero))
            && !matches!(op, Op::IndexSet { .. })
        {
            return self.turned(fr, batch, acc).map(|x| vec![x]);
        }
        let target = match (self.turned(fr, batch, acc)?, shape) {
            (Batched::Same(Value::SymbolicZero), Some(s)) => BatchedOperand {
                array: self.zeros(super::kind(fr.f.ty(outs[0]))?, self.ints_in_iterations(fr, batch, s)?)?,
                each: false,
            },
            (x, _) => self.as_many(x, batch.n)?,
        };
        let part = self.many(fr, batch, var)?;
        let keys = |at: &[Var]| at.iter().map(|k| self.many(fr, batch, *k)).collect::<Res<Vec<_>>>();
        let (gpu, count) = (self.gpu, batch.n);
        Ok(vec![Batched::Each(match op {
            Op::IndexAdd { at, .. } | Op::IndexSet { at, .. } => {
                let keys = keys(at)?;
                if target.inner().get(keys.len()..) != Some(part.inner()) {
                    return unsupported("a part of another shape");
                }
                batched_ops::update(gpu, count, &target, &keys, &part, matches!(op, Op::IndexAdd { .. }))?
            }
            Op::SliceAdd { lo, hi, .. } => {
                let at = |v: Var| {
                    self.int_in_iterations(fr, batch, v)
                        .and_then(|n| usize::try_from(n).map_or_else(|_| unsupported("a size below 0"), Ok))
                };
                batched_ops::slice_add(gpu, count, &target, (at(*lo)?, at(*hi)?), &part)?
            }
            Op::GatherAdd { at, shape: Some(_), .. } => {
                let at = BatchedOperand { array: self.each(fr, batch, *at)?, each: true };
                self.gather_added(count, &target, &at, &part)?
            }
            _ => return unsupported("elements added at indices, in iterations of a loop"),
        })])
    }

    /// Elements, slices and subarrays.
    fn parts_in_turns(&mut self, fr: &ExecFrame<'a>, op: &Op, t: &IterationBatch) -> Res<Array> {
        let (gpu, count) = (self.gpu, t.n);
        let many = |v: Var| self.many(fr, t, v);
        let size = |v: Var| {
            self.int_in_iterations(fr, t, v)
                .and_then(|n| usize::try_from(n).map_or_else(|_| unsupported("a size below 0"), Ok))
        };
        match op {
            Op::Index { a, at, .. } => {
                let (a, keys) = (many(*a)?, at.iter().map(|k| many(*k)).collect::<Res<Vec<_>>>()?);
                if keys.len() > a.inner().len() {
                    unsupported("too many indices")
                } else {
                    batched_ops::index(gpu, count, &a, &keys)
                }
            }
            Op::Gather { a, at, shape } => batched_ops::gather(gpu, count, &many(*a)?, &many(*at)?, shape.is_some()),
            Op::Slice { a, lo, hi, .. } => {
                let (a, lo, hi) = (many(*a)?, size(*lo)?, size(*hi)?);
                if lo > hi || hi > a.inner()[0] {
                    return unsupported("a part that is out of bounds");
                }
                let k: usize = a.inner()[1..].iter().product();
                batched_ops::moved(gpu, count, &a, &[&[hi - lo], &a.inner()[1..]].concat(), |e, q| {
                    format!("{q} + {}", e.word((lo * k) as u32))
                })
            }
            _ => unsupported("no part of an array"),
        }
    }

    /// Reversals and rotations.
    fn turned_in_turns(&self, fr: &ExecFrame<'a>, op: &Op, batch: &IterationBatch) -> Res<Array> {
        let (Op::Reverse(a) | Op::Rotate { a, .. }) = op else { return unsupported("no array that is turned") };
        let a = self.many(fr, batch, *a)?;
        let (m, k) = (a.inner()[0], a.inner()[1..].iter().product::<usize>());
        if let Op::Rotate { n: by, .. } = op {
            let by = self.int_in_iterations(fr, batch, *by)?.rem_euclid(m.max(1) as i64) as usize * k;
            return batched_ops::moved(self.gpu, batch.n, &a, a.inner(), |e, q| {
                let (left, by) = (e.word((m * k - by) as u32), e.word(by as u32));
                format!("select({q} - {left}, {q} + {by}, {q} < {left})")
            });
        }
        batched_ops::moved(self.gpu, batch.n, &a, a.inner(), |e, q| {
            let (m, k) = (e.word(m as u32), e.word(k as u32));
            format!("({m} - 1u - {q} / {k}) * {k} + {q} % {k}")
        })
    }

    fn moved_in_turns(&mut self, fr: &ExecFrame<'a>, op: &Op, batch: &IterationBatch) -> Res<Array> {
        let (gpu, count) = (self.gpu, batch.n);
        let many = |v: Var| self.many(fr, batch, v);
        let size = |v: Var| {
            self.int_in_iterations(fr, batch, v)
                .and_then(|n| usize::try_from(n).map_or_else(|_| unsupported("a size below 0"), Ok))
        };
        match op {
            Op::Index { .. } | Op::Gather { .. } | Op::Slice { .. } => self.parts_in_turns(fr, op, batch),
            Op::Reverse(_) | Op::Rotate { .. } => self.turned_in_turns(fr, op, batch),
            Op::Transpose(a) => {
                let a = many(*a)?;
                let [m, l, ref rest @ ..] = *a.inner() else { return unsupported("the transpose of a vector") };
                let k: usize = rest.iter().product();
                batched_ops::moved(gpu, count, &a, &[&[l, m], rest].concat(), |e, q| {
                    let (m, l, k) = (e.word(m as u32), e.word(l as u32), e.word(k as u32));
                    format!("(({q} / {k}) % {m} * {l} + ({q} / {k}) / {m}) * {k} + {q} % {k}")
                })
            }
            Op::Replicate { n: m, a } => {
                let (m, a) = (size(*m)?, many(*a)?);
                batched_ops::moved(gpu, count, &a, &[&[m], a.inner()].concat(), |e, q| {
                    format!("{q} % {}", e.word(a.size() as u32))
                })
            }
            Op::Broadcast { a, shape } => {
                batched_ops::moved(gpu, count, &many(*a)?, &self.ints_in_iterations(fr, batch, *shape)?, |_, _| {
                    "0u".to_owned()
                })
            }
            Op::Reshape { a, to, .. } => {
                let (a, to) = (self.each(fr, batch, *a)?, self.ints_in_iterations(fr, batch, *to)?);
                a.reshaped([&[count], &to[..]].concat())
            }
            Op::Sum { a, .. } => batched_ops::sum(gpu, &self.each(fr, batch, *a)?),
            Op::SumAll { a, .. } => {
                let a = self.each(fr, batch, *a)?;
                batched_ops::sum(gpu, &a.reshaped(vec![count, a.shape[1..].iter().product()])?)
            }
            _ => unsupported("an operation that is not done in all iterations of a loop at once"),
        }
    }
}

/// Products of matrices and vectors in all iterations.
fn matrices(gpu: &crate::Gpu, count: usize, left: &BatchedOperand, right: &BatchedOperand) -> Res<Array> {
    let (vector, depth) = (left.inner().len() == 1, right.inner().first().copied().unwrap_or(0));
    let (rows, inner) = match *left.inner() {
        [k] => (1, k),
        [r, k] => (r, k),
        _ => return unsupported("the product of arrays of more than two axes"),
    };
    if inner != depth {
        return unsupported("a product of arrays whose extents differ");
    }
    let columns: usize = right.inner()[1..].iter().product();
    let shape = [&[count], &left.inner()[..usize::from(!vector)], &right.inner()[1..]].concat();
    // The rows of all iterations form one matrix.
    if left.each && !right.each && count * rows > 1 && columns > 1 {
        return gemm::matmul(
            gpu,
            &left.array.reshaped(vec![count * rows, inner])?,
            &right.array.reshaped(vec![inner, columns])?,
        )?
        .reshaped(shape);
    }
    if !left.each && right.each && columns == 1 && !vector && count > 1 {
        return gemm::matmul(
            gpu,
            &right.array.reshaped(vec![count, inner])?,
            &data_movement::transpose(gpu, &left.array)?,
        )?
        .reshaped(shape);
    }
    batched_ops::products(
        gpu,
        count,
        (StridedFactor { of: left, rows: inner, terms: 1 }, StridedFactor { of: right, rows: 1, terms: columns }),
        [rows, columns, inner],
        Bin::Mul,
    )?
    .reshaped(shape)
}

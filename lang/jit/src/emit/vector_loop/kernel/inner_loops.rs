//! Inner loops of a kernel: each iteration of the kernel runs them for all its lanes.
//!
//! A row that is only summed is not stored. Its terms are added in the order of [`adl_ir::sum_order`], in each lane:
//! eight partial sums in memory, as long as there are eight terms, and the sum of the rest in a register.

use super::super::inner::Inner;
use super::super::plan::AccessIndices;
use super::{Kernel, LOOSE, LaneValue, libm_stages};
use adl_ir::{Block, Loop, Out, Stmt, Var};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, StackSlotData, StackSlotKind, Value, types};
use smallvec::SmallVec;

/// The number of partial sums.
const PARTIAL: i64 = adl_ir::sum_order::PARTIAL as i64;

/// The sums of rows that a loop reads or collects.
pub(super) struct RowSums {
    /// The addresses of the partial sums of each row.
    partial: SmallVec<[Value; 2]>,
    /// How many iterations add to partial sums.
    full: Value,
}

/// Variables by index.
fn picked(vars: &[Var], at: &[usize]) -> SmallVec<[Var; 4]> {
    at.iter().map(|k| vars[*k]).collect()
}

/// The results of an inner loop that are added up one by one, by index.
fn added(l: &Loop) -> SmallVec<[usize; 2]> {
    l.outs.iter().enumerate().filter(|(_, o)| **o == Out::Sum).map(|(k, _)| l.init.len() + k).collect()
}

impl Kernel<'_, '_, '_, '_> {
    /// The bytes of a number in all lanes.
    pub(super) fn width(&self) -> i64 {
        8 * (self.iterations() as i64).max(1)
    }

    /// The registers of a number in all lanes.
    pub(super) fn registers(&self) -> usize {
        self.side.max(1)
    }

    /// Emits an inner loop.
    pub(super) fn inner(&mut self, stmt: &Stmt, ir_loop: &Loop) {
        let Some(id) = self.k.p.inner.iter().position(|i| i.name == stmt.outs[0]) else { return };
        let inner = &self.k.p.inner[id];
        let added = added(ir_loop);
        let kept = self.carried_numbers(ir_loop);
        let numbers = kept.iter().copied().chain(added.iter().copied()).map(|k| stmt.outs[k]);
        let wanted: SmallVec<[Var; 4]> =
            numbers.chain(inner.summed.iter().copied()).filter(|v| self.wants(*v)).collect();
        let ends = self.stores_rows(id)
            || self.makes_rows(id)
            || self.is_last() && libm_stages::loop_adds(self.k.p, stmt, ir_loop);
        let known = wanted.iter().filter(|v| self.from_before(**v)).count();
        if !ends && known == wanted.len() {
            return;
        }
        // What this loop loads is not there behind it.
        let around = self.loaded.clone();
        self.load_before(&ir_loop.body, 1 << id);
        self.inner_loop(id, stmt, ir_loop, (&kept, &added));
        self.loaded = around;
        for v in wanted {
            let x = self.float(v);
            self.keep(v, &x);
        }
    }

    /// Emits the loop itself. `kept`: the numbers that it carries, by index; `added`: the results that it adds up.
    fn inner_loop(&mut self, id: usize, stmt: &Stmt, ir_loop: &Loop, (kept, added): (&[usize], &[usize])) {
        let inner = &self.k.p.inner[id];
        let carried = ir_loop.init.len();
        let (count, _) = self.int(inner.trip);
        self.row_calls(id, ir_loop, count);
        let summed: SmallVec<[usize; 2]> =
            (carried..stmt.outs.len()).filter(|k| inner.summed.contains(&stmt.outs[*k])).collect();
        let sums = self.start_sums(summed.len(), count);
        let mut first = vec![self.e.int(0)];
        kept.iter().for_each(|k| self.carry(ir_loop.init[*k], &mut first));
        self.start_rows(id);
        let zero = self.e.b.ins().f64const(0.0);
        let zeros = self.registers_of(&LaneValue::One(zero));
        added.iter().for_each(|_| first.extend_from_slice(&zeros));
        let (totals, rests) = (1 + kept.len() * self.registers(), first.len());
        summed.iter().for_each(|_| first.extend_from_slice(&zeros));
        let (header, vals) = self.e.header(&first);
        let (body, exit) = (self.e.fresh(), self.e.fresh());
        let more = self.e.b.ins().icmp(IntCC::SignedLessThan, vals[0], count);
        self.e.stays(more, body, exit, &[]);
        self.e.b.switch_to_block(body);
        self.inner[id] = vals[0];
        self.carried(&picked(&ir_loop.body.params[1..], kept), &vals[1..], kept.len());
        self.elements(&ir_loop.body.params);
        self.block(&ir_loop.body);
        self.add_row(inner, ir_loop);
        self.store_rows(id, &stmt.outs, ir_loop);
        self.store_tables(id, ir_loop);
        self.next_rows(id);
        let terms: Vec<LaneValue> = summed.iter().map(|k| self.float(ir_loop.body.results[*k])).collect();
        let after = self.add_terms(&sums, vals[0], &terms, &vals[rests..]);
        let mut next = vec![self.e.b.ins().iadd_imm_s(vals[0], 1)];
        kept.iter().for_each(|k| self.carry(ir_loop.body.results[*k], &mut next));
        self.add_up(ir_loop, added, &vals[totals..rests], &mut next);
        next.extend(after);
        let args: Vec<BlockArg> = next.into_iter().map(BlockArg::Value).collect();
        self.e.b.ins().jump(header, &args);
        self.e.b.switch_to_block(exit);
        self.carried(&picked(&stmt.outs, kept), &vals[1..], kept.len());
        self.carried(&picked(&stmt.outs, added), &vals[totals..rests], added.len());
        let totals = self.end_sums(&sums, &vals[rests..]);
        self.carried(&picked(&stmt.outs, &summed), &totals, summed.len());
    }

    /// Loads the elements that are the same in all iterations of an inner loop, so that what depends only on them is
    /// hoisted too. All accesses have been checked. `inside`: a bit mask of this loop and those around it that began
    /// together.
    fn load_before(&mut self, body: &Block, inside: u64) {
        let k = self.k;
        let invariant = |at: &AccessIndices, inside: u64| at.iter().all(|n| k.p.ints[*n].inner & inside == 0);
        for v in body.params.iter().chain(body.stmts.iter().flat_map(|s| &s.outs)) {
            let Some((array, at)) = k.p.elements.get(v).filter(|_| self.wants(*v)) else { continue };
            if invariant(at, inside) && !self.loaded.contains_key(v) {
                let x = self.load(*array, at);
                self.loaded.insert(*v, x);
            }
        }
        for s in &body.stmts {
            let loop_bit = k.p.inner.iter().position(|i| Some(&i.name) == s.outs.first()).map_or(0, |id| 1 << id);
            s.op.blocks().into_iter().for_each(|b| self.load_before(b, inside | loop_bit));
        }
    }

    /// Adds the terms of numbers that are added up one by one. `before`: their sums so far.
    fn add_up(&mut self, ir_loop: &Loop, added: &[usize], before: &[Value], to: &mut Vec<Value>) {
        for (k, before) in added.iter().zip(before.chunks(self.registers())) {
            let x = self.float(ir_loop.body.results[*k]);
            let terms = self.registers_of(&x);
            to.extend(before.iter().zip(terms).map(|(x, y)| self.e.b.ins().fadd(*x, y)));
        }
    }

    /// Adds the number of an iteration that is an element of an accumulated row.
    fn add_row(&mut self, inner: &Inner, ir_loop: &Loop) {
        if let (true, Some(k), Some(row)) = (self.is_last(), inner.to, ir_loop.body.results.get(ir_loop.init.len())) {
            let x = self.float(*row);
            let at: AccessIndices = [self.node(ir_loop.body.params[0])].into_iter().collect();
            self.add(self.k.w.sums[k], &at, x);
        }
    }

    /// The registers of a number.
    pub(super) fn registers_of(&mut self, x: &LaneValue) -> SmallVec<[Value; 4]> {
        match x {
            LaneValue::One(x) if self.side == 0 => SmallVec::from_elem(*x, 1),
            x => self.many(x),
        }
    }

    /// A number from its registers.
    pub(super) fn of_registers(&self, x: &[Value]) -> LaneValue {
        if self.side == 0 { LaneValue::One(x[0]) } else { LaneValue::Many(x.iter().copied().collect()) }
    }

    /// Collects the values of a number that an inner loop carries.
    fn carry(&mut self, v: Var, to: &mut Vec<Value>) {
        let x = self.float(v);
        to.extend(self.registers_of(&x));
    }

    /// Binds the numbers that an inner loop carries.
    fn carried(&mut self, vars: &[Var], vals: &[Value], n: usize) {
        for (v, x) in vars[..n].iter().zip(vals.chunks(self.registers())) {
            let x = self.of_registers(x);
            self.env.insert(*v, x);
        }
    }

    /// Emits what precedes a loop of `n` iterations over so many rows: partial sums of zero.
    pub(super) fn start_sums(&mut self, rows: usize, n: Value) -> RowSums {
        let full = self.e.b.ins().band_imm_s(n, -PARTIAL);
        if rows == 0 {
            return RowSums { partial: SmallVec::new(), full };
        }
        let (clear, ready) = (self.e.fresh(), self.e.fresh());
        let size = (PARTIAL * self.width()) as u32;
        let slots: SmallVec<[_; 2]> = (0..rows)
            .map(|_| self.e.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size, 4)))
            .collect();
        let partial: SmallVec<[Value; 2]> =
            slots.iter().map(|s| self.e.b.ins().stack_addr(types::I64, *s, 0)).collect();
        self.e.b.ins().brif(full, clear, &[], ready, &[]);
        self.e.b.switch_to_block(clear);
        let zero = self.e.b.ins().f64const(0.0);
        let (ty, bytes) = (self.vector(), self.vector().bytes() as i32);
        let zero = self.e.b.ins().splat(ty, zero);
        for at in &partial {
            (0..size as i32 / bytes).for_each(|k| _ = self.e.b.ins().store(LOOSE, zero, *at, bytes * k));
        }
        self.e.goto(ready, &[]);
        self.e.b.switch_to_block(ready);
        RowSums { partial, full }
    }

    /// Adds the terms of iteration `i`. Returns the sums of the terms after the last multiple of 8.
    pub(super) fn add_terms(
        &mut self,
        sums: &RowSums,
        index: Value,
        terms: &[LaneValue],
        rests: &[Value],
    ) -> Vec<Value> {
        if terms.is_empty() {
            return Vec::new();
        }
        let terms: Vec<Value> = terms.iter().flat_map(|x| self.registers_of(x)).collect();
        let (part, single, next) = (self.e.fresh(), self.e.fresh(), self.e.fresh());
        let after: Vec<Value> = rests
            .iter()
            .map(|x| {
                let ty = self.e.b.func.dfg.value_type(*x);
                self.e.b.append_block_param(next, ty)
            })
            .collect();
        let whole = self.e.b.ins().icmp(IntCC::UnsignedLessThan, index, sums.full);
        self.e.b.ins().brif(whole, part, &[], single, &[]);
        self.e.b.switch_to_block(single);
        let added: Vec<Value> = rests.iter().zip(&terms).map(|(x, y)| self.e.b.ins().fadd(*x, *y)).collect();
        self.e.goto(next, &added);
        self.e.b.switch_to_block(part);
        let k = self.e.b.ins().band_imm_s(index, PARTIAL - 1);
        let width = self.width();
        let bytes = self.e.b.ins().imul_imm_s(k, width);
        for (at, terms) in sums.partial.iter().zip(terms.chunks(self.registers())) {
            let at = self.e.b.ins().iadd(*at, bytes);
            for (u, x) in terms.iter().enumerate() {
                let (ty, offset) = (self.e.b.func.dfg.value_type(*x), self.offset(u));
                let before = self.e.b.ins().load(ty, LOOSE, at, offset);
                let sum = self.e.b.ins().fadd(before, *x);
                self.e.b.ins().store(LOOSE, sum, at, offset);
            }
        }
        self.e.goto(next, rests);
        self.e.b.switch_to_block(next);
        after
    }

    /// Emits what follows the loop. Returns the registers of the sums.
    pub(super) fn end_sums(&mut self, sums: &RowSums, rests: &[Value]) -> Vec<Value> {
        if rests.is_empty() {
            return Vec::new();
        }
        let (some, done) = (self.e.fresh(), self.e.fresh());
        let made: Vec<Value> = rests
            .iter()
            .map(|x| {
                let ty = self.e.b.func.dfg.value_type(*x);
                self.e.b.append_block_param(done, ty)
            })
            .collect();
        let args: Vec<BlockArg> = rests.iter().map(|x| BlockArg::Value(*x)).collect();
        self.e.b.ins().brif(sums.full, some, &[], done, &args);
        self.e.b.switch_to_block(some);
        let n = self.registers();
        let all: Vec<Value> = rests
            .iter()
            .enumerate()
            .map(|(k, rest)| self.combined(sums.partial[k / n], self.offset(k % n), *rest))
            .collect();
        self.e.goto(done, &all);
        self.e.b.switch_to_block(done);
        made
    }

    /// The sum of a row, of which `rest` is the sum of the last terms.
    fn combined(&mut self, partial: Value, offset: i32, rest: Value) -> Value {
        let (ty, width) = (self.e.b.func.dfg.value_type(rest), self.width() as i32);
        let acc: SmallVec<[Value; 8]> =
            (0..PARTIAL as i32).map(|k| self.e.b.ins().load(ty, LOOSE, partial, width * k + offset)).collect();
        let quarters: SmallVec<[Value; 4]> = (0..4).map(|k| self.e.b.ins().fadd(acc[k], acc[k + 4])).collect();
        let halves = [0, 2].map(|k| self.e.b.ins().fadd(quarters[k], quarters[k + 1]));
        let all = self.e.b.ins().fadd(halves[0], halves[1]);
        self.e.b.ins().fadd(all, rest)
    }
}

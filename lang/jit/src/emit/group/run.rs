//! Emits a group: the fused loop and the slow path.

use super::super::state::EmitSite;
use super::super::{BoundVar, EmissionScope, Emit, LOOSE, TRUSTED};
use super::plan::Group;
use super::{Member, member};
use crate::handle::{self, ValueForm};
pub(super) use crate::limits::emit_group_run::CHUNKS;
use crate::shims;
use adl_ir::{Block, Ty, Var};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, StackSlotData, StackSlotKind, Type, Value, types};
use std::collections::HashMap;

/// Number of terms of a chunk of a sum.
pub(in crate::emit) const CHUNK: i64 = adl_ir::sum_order::CHUNK as i64;

/// A contiguous range of elements.
#[derive(Clone, Debug)]
pub(super) struct ElementRange {
    pub base: Value,
    /// For a possible symbolic zero: a mask of the offset, 0 if it is one.
    pub mask: Option<Value>,
}

/// The state of the loop that is being emitted.
#[derive(Default)]
pub(super) struct Loop {
    /// The common extents.
    pub dims: Vec<Value>,
    /// A word that is 0 if all conditions recorded so far hold.
    pub wrong: Option<Value>,
    pub inputs: HashMap<Var, ElementRange>,
    /// Ranges that members read, by result.
    pub parts: HashMap<Var, ElementRange>,
    /// Ranges that members update, by result.
    pub targets: HashMap<Var, ElementRange>,
    /// Handles of updated arrays, by each of their variables.
    pub changed: HashMap<Var, Value>,
    /// Destinations of stored results.
    outs: Vec<(Var, Value)>,
    /// Destinations of rows that a loop collects.
    places: Vec<(Var, Value)>,
    /// Sums and inner products.
    totals: Vec<(Var, Value)>,
    /// Scalars broadcast to both lanes.
    splats: HashMap<Var, Value>,
    /// Scratch addresses of values that later phases read.
    pub rooms: HashMap<Var, Value>,
}

impl Emit<'_, '_, '_> {
    /// Emits the group that starts at statement `at`. Returns the first statement after it.
    pub(in super::super) fn group(&mut self, block: &Block, at: u32, sc: &EmissionScope) -> Option<u32> {
        member(self.f, &block.stmts[at as usize])?;
        let group = self.find_group(block, at, sc)?;
        for i in &group.before {
            self.stmt(&block.stmts[*i as usize], *i, sc);
        }
        self.at = EmitSite::of(block.stmts[at as usize].span);
        let (slow, done) = (self.cold(), self.fresh());
        let results: Vec<Var> = group.stored.iter().chain(&group.changed).chain(&group.totals).copied().collect();
        let bases: Vec<Var> = group.bases().into_iter().map(|(v, _)| v).collect();
        let before: Vec<Option<BoundVar>> = bases.iter().map(|v| self.vals[v.0 as usize].clone()).collect();
        bases.iter().for_each(|_| {
            self.b.append_block_param(slow, types::I64);
        });
        for v in &results {
            let t = self.word_type(*v);
            self.b.append_block_param(done, t);
        }
        let fast = self.fast_way(&group, block, slow, &results);
        self.goto(done, &fast);
        self.b.switch_to_block(slow);
        let other = self.slow_way(&group, block, &bases, (slow, sc), &results);
        self.goto(done, &other);
        // The slow path may have replaced these bindings.
        for (v, old) in bases.iter().zip(before) {
            self.vals[v.0 as usize] = old;
        }
        self.b.switch_to_block(done);
        let vals = self.b.block_params(done).to_vec();
        for (v, x) in results.iter().zip(vals) {
            self.bind(*v, x);
        }
        Some(group.end)
    }

    /// Emits the checks and the loop. Returns the results. Jumps to `slow` with the handles of the updated arrays.
    fn fast_way(&mut self, group: &Group, b: &Block, slow: ir::Block, results: &[Var]) -> Vec<Value> {
        let mut ir_loop = Loop::default();
        let bases = group.bases();
        let given: Vec<Value> = bases.iter().map(|(v, _)| self.val(*v)).collect();
        self.check_group(group, &mut ir_loop);
        self.all_hold(&mut ir_loop, slow, &given);
        let own = self.own_bases(&bases, &given, b, slow);
        self.check_targets(group, &mut ir_loop);
        self.all_hold(&mut ir_loop, slow, &own);
        let freed = self.make_targets(group, &mut ir_loop, slow, &own);
        self.run_group(group, &mut ir_loop);
        self.release_after(group, &freed);
        let placed = self.int(0);
        let made = |v: &Var| match ir_loop.outs.iter().chain(&ir_loop.totals).find(|(o, _)| o == v) {
            Some((_, h)) => *h,
            None => ir_loop.changed.get(v).copied().unwrap_or(placed),
        };
        results.iter().map(made).collect()
    }

    /// Emits the interpreter's operations one by one.
    fn slow_way(
        &mut self,
        g: &Group,
        b: &Block,
        bases: &[Var],
        (slow, sc): (ir::Block, &EmissionScope),
        results: &[Var],
    ) -> Vec<Value> {
        for (v, h) in bases.iter().zip(self.b.block_params(slow).to_vec()) {
            self.vals[v.0 as usize] = Some(BoundVar { v: h, view: None, row: None });
        }
        for (i, _, _) in &g.members {
            let s = &b.stmts[*i as usize];
            self.at = EmitSite::of(s.span);
            let vals = self.slow(s, *i, sc);
            self.bind_outs(s, &vals);
        }
        results.iter().map(|v| self.val(*v)).collect()
    }

    /// Allocates destinations for the stored results, or reuses inputs that die here. Returns the reused inputs with
    /// their results.
    fn make_targets(&mut self, group: &Group, ir_loop: &mut Loop, slow: ir::Block, own: &[Value]) -> Vec<(Var, Value)> {
        // Later phases read inputs after results have been stored, so that inputs of groups with functions are not
        // reused.
        let plain = |v: &Var| {
            group.phases.batches.is_empty()
                && group.inputs.iter().any(|i| i.var == *v && !i.optional)
                && !group.members.iter().any(|(_, _, m)| m.base() == Some(*v))
        };
        let mut old: Vec<Var> = group.released.iter().copied().filter(plain).collect();
        let mut used = Vec::new();
        for v in &group.placed {
            let p = self.place_in_buffer(*v, &ir_loop.dims);
            self.unless(p, slow, own);
            ir_loop.places.push((*v, p));
        }
        for var in group.stored.iter().filter(|v| !group.placed.contains(v)) {
            let from = old.pop();
            let given = match from {
                Some(d) => self.val(d),
                None => self.int(0),
            };
            let expect = self.int(i64::from(ValueForm::of(self.f.ty(*var)).0));
            let h = if group.rank == 1 {
                self.runtime(shims::target_row as *const u8, &[self.frame.ctx, given, ir_loop.dims[0]], 1)
            } else {
                let dims = self.words_on_stack(&ir_loop.dims);
                self.runtime(shims::target as *const u8, &[self.frame.ctx, given, expect, dims], 1)
            };
            let h = h.unwrap_or(given);
            self.unless(h, slow, own);
            used.extend(from.map(|d| (d, h)));
            ir_loop.outs.push((*var, h));
        }
        used
    }

    /// Emits the loop: two elements at a time, then a possible last one.
    fn run_group(&mut self, group: &Group, ir_loop: &mut Loop) {
        let count = ir_loop.dims[1..].iter().copied().fold(ir_loop.dims[0], |n, d| self.b.ins().imul(n, d));
        let mut stores: Vec<(Var, Value)> = ir_loop
            .outs
            .clone()
            .into_iter()
            .map(|(v, h)| (v, self.b.ins().load(types::I64, TRUSTED, h, handle::offset::DATA)))
            .collect();
        stores.extend(&ir_loop.places);
        self.splat_numbers(group, ir_loop);
        if !group.phases.batches.is_empty() {
            return self.run_phases(group, ir_loop, count, &stores);
        }
        let unroll = if group.members.len() <= 16 { 2 } else { 1 };
        let pairs = self.b.ins().band_imm_s(count, !(2 * unroll - 1));
        let (end, last) = (self.b.ins().ishl_imm_s(pairs, 3), self.b.ins().ishl_imm_s(count, 3));
        let zero = self.int(0);
        if !group.totals.is_empty() {
            return self.with_totals(group, ir_loop, &stores, (count, last));
        }
        let (o, _) = self.strip(group, ir_loop, &stores, (zero, end), types::F64X2, unroll);
        self.strip(group, ir_loop, &stores, (o, last), types::F64, 1);
    }

    /// Emits the loop of a group with sums: chunk by chunk, with eight partial sums for eight elements at a time, then
    /// one sum for the rest. This is the order of the interpreter's sums.
    fn with_totals(
        &mut self,
        group: &Group,
        ir_loop: &mut Loop,
        stores: &[(Var, Value)],
        (count, last): (Value, Value),
    ) {
        let each = 8 * group.totals.len() as i64;
        let slot = self.b.create_sized_stack_slot(StackSlotData::new(
            StackSlotKind::ExplicitSlot,
            each as u32 * CHUNKS as u32,
            3,
        ));
        let parts = self.b.ins().stack_addr(types::I64, slot, 0);
        let start = self.int(0);
        let (header, at) = self.header(&[start]);
        let chunk_end = self.b.ins().iadd_imm_s(at[0], 8 * CHUNK);
        let end = self.b.ins().smin(chunk_end, last);
        let bytes = self.b.ins().isub(end, at[0]);
        let eights = self.b.ins().band_imm_s(bytes, !63);
        let eights = self.b.ins().iadd(at[0], eights);
        let (o, eight) = self.strip(group, ir_loop, stores, (at[0], eights), types::F64X2, 4);
        let (_, rest) = self.strip(group, ir_loop, stores, (o, end), types::F64, 1);
        let k = self.b.ins().ushr_imm_u(at[0], 13);
        let k = self.b.ins().imul_imm_s(k, each);
        let place = self.b.ins().iadd(parts, k);
        for (t, (acc, tail)) in eight.chunks(4).zip(rest).enumerate() {
            let x = self.folded(acc, tail);
            self.b.ins().store(TRUSTED, x, place, 8 * t as i32);
        }
        let exit = self.fresh();
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, chunk_end, last);
        self.b.ins().brif(more, header, &[ir::BlockArg::Value(chunk_end)], exit, &[]);
        self.b.switch_to_block(exit);
        for (t, v) in group.totals.iter().enumerate() {
            let x = self.of_parts(parts, (t as i64, group.totals.len() as i64), count);
            ir_loop.totals.push((*v, x));
        }
    }

    /// Combines eight partial sums and the sum of the rest.
    pub(in crate::emit) fn folded(&mut self, acc: &[Value], tail: Value) -> Value {
        let halves = [(acc[0], acc[2]), (acc[1], acc[3])].map(|(x, y)| {
            let s = self.b.ins().fadd(x, y);
            let (low, high) = (self.b.ins().extractlane(s, 0), self.b.ins().extractlane(s, 1));
            self.b.ins().fadd(low, high)
        });
        let all = self.b.ins().fadd(halves[0], halves[1]);
        self.b.ins().fadd(all, tail)
    }

    /// Combines the sums of chunks, which are at every `step`-th word from `first` on.
    fn of_parts(&mut self, parts: Value, (first, step): (i64, i64), n: Value) -> Value {
        let (many, done) = (self.cold(), self.fresh());
        self.b.append_block_param(done, types::F64);
        let parts = self.b.ins().iadd_imm_s(parts, 8 * first);
        let one = self.b.ins().load(types::F64, TRUSTED, parts, 0);
        let few = self.b.ins().icmp_imm_s(IntCC::UnsignedLessThanOrEqual, n, CHUNK);
        self.b.ins().brif(few, done, &[ir::BlockArg::Value(one)], many, &[]);
        self.b.switch_to_block(many);
        let step = self.int(step);
        let x = self.number_of(shims::of_chunks as *const u8, &[parts, step, n]);
        self.goto(done, &[x]);
        self.b.switch_to_block(done);
        self.b.block_params(done)[0]
    }

    fn splat_numbers(&mut self, g: &Group, l: &mut Loop) {
        for (_, _, m) in &g.members {
            let extra = match m {
                Member::Fill { x, .. } => Some(*x),
                _ => None,
            };
            for v in m.elements().into_iter().chain(extra) {
                if *self.ty(v) == Ty::F64 && !l.splats.contains_key(&v) {
                    let x = self.val(v);
                    let x = self.b.ins().splat(types::F64X2, x);
                    l.splats.insert(v, x);
                }
            }
        }
    }

    /// Emits a loop over the byte range from `start` to `end`. Returns the offset at which it stopped, and the partial
    /// sums of each total, one per element of an iteration.
    fn strip(
        &mut self,
        group: &Group,
        ir_loop: &Loop,
        stores: &[(Var, Value)],
        (start, end): (Value, Value),
        ty: Type,
        unroll: i64,
    ) -> (Value, Vec<Value>) {
        let (body, exit) = (self.fresh(), self.fresh());
        let mut first = vec![start];
        if !group.totals.is_empty() {
            let zero = self.b.ins().f64const(0.0);
            let zero = if ty.is_vector() { self.b.ins().splat(ty, zero) } else { zero };
            first.extend(vec![zero; group.totals.len() * unroll as usize]);
        }
        let (header, vals) = self.header(&first);
        let (offset, mut sums) = (vals[0], vals[1..].to_vec());
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, offset, end);
        self.stays(more, body, exit, &[]);
        self.b.switch_to_block(body);
        let size = i64::from(ty.bytes());
        for u in 0..unroll {
            let terms = self.elements_at(group, ir_loop, stores, offset, ty, (u * size) as i32);
            for (k, v) in group.totals.iter().enumerate() {
                let sum = &mut sums[k * unroll as usize + u as usize];
                *sum = self.b.ins().fadd(*sum, terms[v]);
            }
        }
        let next = self.b.ins().iadd_imm_s(offset, unroll * size);
        sums.insert(0, next);
        self.goto(header, &sums);
        self.b.switch_to_block(exit);
        (offset, vals[1..].to_vec())
    }

    pub(super) fn at_offset(&mut self, s: &ElementRange, o: Value) -> Value {
        let o = match s.mask {
            Some(m) => self.b.ins().band(o, m),
            None => o,
        };
        self.b.ins().iadd(s.base, o)
    }

    /// Emits all members at one position.
    fn elements_at(
        &mut self,
        g: &Group,
        ir_loop: &Loop,
        stores: &[(Var, Value)],
        offset: Value,
        ty: Type,
        more: i32,
    ) -> HashMap<Var, Value> {
        let mut vals: HashMap<Var, Value> = HashMap::new();
        for (_, out, m) in &g.members {
            let value = match m {
                Member::Un(op, a) => {
                    let x = self.element_in(ir_loop, &mut vals, *a, offset, ty, more);
                    self.un(*op, x)
                }
                Member::Bin(op, a, b) => {
                    let (x, y) = (
                        self.element_in(ir_loop, &mut vals, *a, offset, ty, more),
                        self.element_in(ir_loop, &mut vals, *b, offset, ty, more),
                    );
                    self.bin(*op, x, y)
                }
                Member::Fill { x, .. } => self.element_in(ir_loop, &mut vals, *x, offset, ty, more),
                Member::Total { a, b } => {
                    let x = self.element_in(ir_loop, &mut vals, *a, offset, ty, more);
                    let y = b.map(|b| self.element_in(ir_loop, &mut vals, b, offset, ty, more));
                    y.map_or(x, |y| self.b.ins().fmul(x, y))
                }
                Member::Row { .. } | Member::Slice { .. } => {
                    let p = self.at_offset(&ir_loop.parts[out], offset);
                    self.b.ins().load(ty, LOOSE, p, more)
                }
                Member::ToRow { v, add, .. } => {
                    let x = self.element_in(ir_loop, &mut vals, *v, offset, ty, more);
                    self.change(&ir_loop.targets[out], x, *add, offset, ty, more)
                }
                Member::ToSlice { v, .. } => {
                    let x = self.element_in(ir_loop, &mut vals, *v, offset, ty, more);
                    self.change(&ir_loop.targets[out], x, true, offset, ty, more)
                }
            };
            vals.insert(*out, value);
        }
        for (v, data) in stores {
            let p = self.b.ins().iadd(*data, offset);
            self.b.ins().store(LOOSE, vals[v], p, more);
        }
        vals
    }

    /// Accumulates to or replaces an element of a destination.
    pub(super) fn change(
        &mut self,
        target: &ElementRange,
        mut value: Value,
        add: bool,
        o: Value,
        t: Type,
        more: i32,
    ) -> Value {
        let p = self.at_offset(target, o);
        if add {
            let old = self.b.ins().load(t, LOOSE, p, more);
            value = self.b.ins().fadd(old, value);
        }
        self.b.ins().store(LOOSE, value, p, more);
        value
    }

    /// The elements of an operand at one position.
    pub(super) fn element_in(
        &mut self,
        ir_loop: &Loop,
        vals: &mut HashMap<Var, Value>,
        var: Var,
        offset: Value,
        ty: Type,
        more: i32,
    ) -> Value {
        if let Some(x) = vals.get(&var) {
            return *x;
        }
        if self.held.collected.symbolic_zero.contains(&var) {
            let zero = self.b.ins().f64const(0.0);
            return if ty.is_vector() { self.b.ins().splat(ty, zero) } else { zero };
        }
        let Some(s) = ir_loop.inputs.get(&var) else {
            // A scalar.
            return match ir_loop.splats.get(&var) {
                Some(x) if ty.is_vector() => *x,
                _ => self.val(var),
            };
        };
        let p = self.at_offset(s, offset);
        let x = self.b.ins().load(ty, LOOSE, p, more);
        vals.insert(var, x);
        x
    }

    /// Releases the variables that die, except inputs that were reused for results.
    fn release_after(&mut self, g: &Group, freed: &[(Var, Value)]) {
        for v in &g.released {
            let h = self.val(*v);
            match freed.iter().find(|(d, _)| d == v) {
                None => self.release(h),
                Some((_, made)) => {
                    let (gone, next) = (self.fresh(), self.fresh());
                    let same = self.b.ins().icmp(IntCC::Equal, h, *made);
                    self.b.ins().brif(same, next, &[], gone, &[]);
                    self.b.switch_to_block(gone);
                    self.release(h);
                    self.goto(next, &[]);
                    self.b.switch_to_block(next);
                }
            }
        }
    }
}

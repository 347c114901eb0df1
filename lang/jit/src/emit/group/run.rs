//! Emits a group: the fused loop and the slow path.

use super::super::{BoundVar, Emit, LOOSE, Scope, TRUSTED};
use super::plan::Group;
use super::{Member, member};
use crate::handle::{self, AXES, ValueForm};
use crate::shims;
use adl_ir::{Block, Ty, Var};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, StackSlotData, StackSlotKind, Type, Value, types};
use std::collections::HashMap;

/// The number of elements of one partial sum.
pub(super) const CHUNK: i64 = 1024;

/// The maximum number of partial sums that are combined inline.
pub(super) const CHUNKS: i64 = 64;

/// A contiguous range of elements.
#[derive(Clone, Debug)]
pub(super) struct Source {
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
    pub inputs: HashMap<Var, Source>,
    /// Ranges that members read, by result.
    pub parts: HashMap<Var, Source>,
    /// Ranges that members update, by result.
    pub targets: HashMap<Var, Source>,
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
    pub(in super::super) fn group(&mut self, b: &Block, at: u32, sc: &Scope) -> Option<u32> {
        member(self.f, &b.stmts[at as usize])?;
        let g = self.find_group(b, at, sc)?;
        for i in &g.before {
            self.stmt(&b.stmts[*i as usize], *i, sc);
        }
        (self.span, self.stmt_site) = (b.stmts[at as usize].span, None);
        let (slow, done) = (self.cold(), self.fresh());
        let results: Vec<Var> = g.stored.iter().chain(&g.changed).chain(&g.totals).copied().collect();
        let bases: Vec<Var> = g.bases().into_iter().map(|(v, _)| v).collect();
        let before: Vec<Option<BoundVar>> = bases.iter().map(|v| self.vals[v.0 as usize].clone()).collect();
        bases.iter().for_each(|_| {
            self.b.append_block_param(slow, types::I64);
        });
        for v in &results {
            let t = self.word_type(*v);
            self.b.append_block_param(done, t);
        }
        let fast = self.fast_way(&g, b, slow, &results);
        self.goto(done, &fast);
        self.b.switch_to_block(slow);
        let other = self.slow_way(&g, b, &bases, (slow, sc), &results);
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
        Some(g.end)
    }

    /// Emits the checks and the loop. Returns the results. Jumps to `slow` with the handles of the updated arrays.
    fn fast_way(&mut self, g: &Group, b: &Block, slow: ir::Block, results: &[Var]) -> Vec<Value> {
        let mut l = Loop::default();
        let bases = g.bases();
        let given: Vec<Value> = bases.iter().map(|(v, _)| self.val(*v)).collect();
        self.check_group(g, &mut l);
        self.all_hold(&mut l, slow, &given);
        let own = self.own_bases(&bases, &given, b, slow);
        self.check_targets(g, &mut l);
        self.all_hold(&mut l, slow, &own);
        let freed = self.make_targets(g, &mut l, slow, &own);
        self.run_group(g, &mut l);
        self.release_after(g, &freed);
        let placed = self.int(0);
        let made = |v: &Var| match l.outs.iter().chain(&l.totals).find(|(o, _)| o == v) {
            Some((_, h)) => *h,
            None => l.changed.get(v).copied().unwrap_or(placed),
        };
        results.iter().map(made).collect()
    }

    /// Emits the interpreter's operations one by one.
    fn slow_way(
        &mut self,
        g: &Group,
        b: &Block,
        bases: &[Var],
        (slow, sc): (ir::Block, &Scope),
        results: &[Var],
    ) -> Vec<Value> {
        for (v, h) in bases.iter().zip(self.b.block_params(slow).to_vec()) {
            self.vals[v.0 as usize] = Some(BoundVar { v: h, view: None, row: None });
        }
        for (i, _, _) in &g.members {
            let s = &b.stmts[*i as usize];
            (self.span, self.stmt_site) = (s.span, None);
            let vals = self.slow(s, *i, sc);
            self.bind_outs(s, &vals);
        }
        results.iter().map(|v| self.val(*v)).collect()
    }

    /// Allocates destinations for the stored results, or reuses inputs that die here. Returns the reused inputs with
    /// their results.
    fn make_targets(&mut self, g: &Group, l: &mut Loop, slow: ir::Block, own: &[Value]) -> Vec<(Var, Value)> {
        // Later phases read inputs after results have been stored, so that inputs of groups with functions are not
        // reused.
        let plain = |v: &Var| {
            g.phases.batches.is_empty()
                && g.inputs.iter().any(|i| i.var == *v && !i.optional)
                && !g.members.iter().any(|(_, _, m)| m.base() == Some(*v))
        };
        let mut old: Vec<Var> = g.released.iter().copied().filter(plain).collect();
        let mut used = Vec::new();
        for v in &g.placed {
            let p = self.place_in_buffer(*v, &l.dims);
            self.unless(p, slow, own);
            l.places.push((*v, p));
        }
        for v in g.stored.iter().filter(|v| !g.placed.contains(v)) {
            let from = old.pop();
            let given = match from {
                Some(d) => self.val(d),
                None => self.int(0),
            };
            let expect = self.int(i64::from(ValueForm::of(self.f.ty(*v)).0));
            let h = if g.rank == 1 {
                self.runtime(shims::target_row as *const u8, &[self.ctx, given, l.dims[0]], 1)
            } else {
                let none = self.int(0);
                let dims = (0..AXES).map(|k| l.dims.get(k).copied().unwrap_or(none));
                let args: Vec<Value> = [self.ctx, given, expect].into_iter().chain(dims).collect();
                self.runtime(shims::target as *const u8, &args, 1)
            };
            let h = h.unwrap_or(given);
            self.unless(h, slow, own);
            used.extend(from.map(|d| (d, h)));
            l.outs.push((*v, h));
        }
        used
    }

    /// Emits the loop: two elements at a time, then a possible last one.
    fn run_group(&mut self, g: &Group, l: &mut Loop) {
        let n = l.dims[1..].iter().copied().fold(l.dims[0], |n, d| self.b.ins().imul(n, d));
        let mut stores: Vec<(Var, Value)> = l
            .outs
            .clone()
            .into_iter()
            .map(|(v, h)| (v, self.b.ins().load(types::I64, TRUSTED, h, handle::offset::DATA)))
            .collect();
        stores.extend(&l.places);
        self.splat_numbers(g, l);
        if !g.phases.batches.is_empty() {
            return self.run_phases(g, l, n, &stores);
        }
        let unroll = if g.members.len() <= 16 { 2 } else { 1 };
        let pairs = self.b.ins().band_imm_s(n, !(2 * unroll - 1));
        let (end, last) = (self.b.ins().ishl_imm_s(pairs, 3), self.b.ins().ishl_imm_s(n, 3));
        let zero = self.int(0);
        if !g.totals.is_empty() {
            return self.with_totals(g, l, &stores, (n, last));
        }
        let (o, _) = self.strip(g, l, &stores, (zero, end), types::F64X2, unroll);
        self.strip(g, l, &stores, (o, last), types::F64, 1);
    }

    /// Emits the loop of a group with sums: chunk by chunk, with eight partial sums for eight elements at a time, then
    /// one sum for the rest. This is the order of the interpreter's sums.
    fn with_totals(&mut self, g: &Group, l: &mut Loop, stores: &[(Var, Value)], (n, last): (Value, Value)) {
        let each = 8 * g.totals.len() as i64;
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
        let (o, eight) = self.strip(g, l, stores, (at[0], eights), types::F64X2, 4);
        let (_, rest) = self.strip(g, l, stores, (o, end), types::F64, 1);
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
        for (t, v) in g.totals.iter().enumerate() {
            let x = self.of_parts(parts, (t as i64, g.totals.len() as i64), n);
            l.totals.push((*v, x));
        }
    }

    /// Combines eight partial sums and the sum of the rest.
    fn folded(&mut self, acc: &[Value], tail: Value) -> Value {
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
        g: &Group,
        l: &Loop,
        stores: &[(Var, Value)],
        (start, end): (Value, Value),
        t: Type,
        unroll: i64,
    ) -> (Value, Vec<Value>) {
        let (body, exit) = (self.fresh(), self.fresh());
        let mut first = vec![start];
        if !g.totals.is_empty() {
            let zero = self.b.ins().f64const(0.0);
            let zero = if t.is_vector() { self.b.ins().splat(t, zero) } else { zero };
            first.extend(vec![zero; g.totals.len() * unroll as usize]);
        }
        let (header, vals) = self.header(&first);
        let (o, mut sums) = (vals[0], vals[1..].to_vec());
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, o, end);
        self.stays(more, body, exit, &[]);
        self.b.switch_to_block(body);
        let size = i64::from(t.bytes());
        for u in 0..unroll {
            let terms = self.elements_at(g, l, stores, o, t, (u * size) as i32);
            for (k, v) in g.totals.iter().enumerate() {
                let sum = &mut sums[k * unroll as usize + u as usize];
                *sum = self.b.ins().fadd(*sum, terms[v]);
            }
        }
        let next = self.b.ins().iadd_imm_s(o, unroll * size);
        sums.insert(0, next);
        self.goto(header, &sums);
        self.b.switch_to_block(exit);
        (o, vals[1..].to_vec())
    }

    pub(super) fn at_offset(&mut self, s: &Source, o: Value) -> Value {
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
        l: &Loop,
        stores: &[(Var, Value)],
        o: Value,
        t: Type,
        more: i32,
    ) -> HashMap<Var, Value> {
        let mut vals: HashMap<Var, Value> = HashMap::new();
        for (_, out, m) in &g.members {
            let x = match m {
                Member::Un(op, a) => {
                    let x = self.element_in(l, &mut vals, *a, o, t, more);
                    self.un(*op, x)
                }
                Member::Bin(op, a, b) => {
                    let (x, y) =
                        (self.element_in(l, &mut vals, *a, o, t, more), self.element_in(l, &mut vals, *b, o, t, more));
                    self.bin(*op, x, y)
                }
                Member::Fill { x, .. } => self.element_in(l, &mut vals, *x, o, t, more),
                Member::Total { a, b } => {
                    let x = self.element_in(l, &mut vals, *a, o, t, more);
                    let y = b.map(|b| self.element_in(l, &mut vals, b, o, t, more));
                    y.map_or(x, |y| self.b.ins().fmul(x, y))
                }
                Member::Row { .. } | Member::Slice { .. } => {
                    let p = self.at_offset(&l.parts[out], o);
                    self.b.ins().load(t, LOOSE, p, more)
                }
                Member::ToRow { v, add, .. } => {
                    let x = self.element_in(l, &mut vals, *v, o, t, more);
                    self.change(&l.targets[out], x, *add, o, t, more)
                }
                Member::ToSlice { v, .. } => {
                    let x = self.element_in(l, &mut vals, *v, o, t, more);
                    self.change(&l.targets[out], x, true, o, t, more)
                }
            };
            vals.insert(*out, x);
        }
        for (v, data) in stores {
            let p = self.b.ins().iadd(*data, o);
            self.b.ins().store(LOOSE, vals[v], p, more);
        }
        vals
    }

    /// Accumulates to or replaces an element of a destination.
    pub(super) fn change(&mut self, target: &Source, mut x: Value, add: bool, o: Value, t: Type, more: i32) -> Value {
        let p = self.at_offset(target, o);
        if add {
            let old = self.b.ins().load(t, LOOSE, p, more);
            x = self.b.ins().fadd(old, x);
        }
        self.b.ins().store(LOOSE, x, p, more);
        x
    }

    /// The elements of an operand at one position.
    pub(super) fn element_in(
        &mut self,
        l: &Loop,
        vals: &mut HashMap<Var, Value>,
        v: Var,
        o: Value,
        t: Type,
        more: i32,
    ) -> Value {
        if let Some(x) = vals.get(&v) {
            return *x;
        }
        if self.collected.symbolic_zero.contains(&v) {
            let zero = self.b.ins().f64const(0.0);
            return if t.is_vector() { self.b.ins().splat(t, zero) } else { zero };
        }
        let Some(s) = l.inputs.get(&v) else {
            // A scalar.
            return match l.splats.get(&v) {
                Some(x) if t.is_vector() => *x,
                _ => self.val(v),
            };
        };
        let p = self.at_offset(s, o);
        let x = self.b.ins().load(t, LOOSE, p, more);
        vals.insert(v, x);
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

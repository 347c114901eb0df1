//! The prologue and epilogue of a vectorised loop: checks, kernel parameters, allocation of outputs, and ownership.

use super::super::group::ArrayAddress;
use super::super::rows_in_place::RowBuffer;
use super::super::{EmissionScope, Emit, TRUSTED, inner, is_ref};
use super::plan::{BITS, Carry, Int, IterationOutput, Node, VectorPlan};
use super::{VectorLoop, kernel};
use crate::handle::{self, ValueForm};
use crate::limits::emit_vector_loop::COMPARED;
use crate::limits::emit_vector_loop_prologue::{FEWEST, ITERATIONS};
use crate::limits::output_buffer::ROOM;
use crate::shims;
use crate::{runtime, strip_runner};
use adl_ir::{Out, Trip, Ty, Var};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, StackSlot, StackSlotData, StackSlotKind, Value, types};
use cranelift_module::{FuncId, Module};
use std::collections::{HashMap, HashSet};

/// The largest trip count for which a loop is vectorised.
const MOST: i64 = 1 << (BITS - 2);

/// The number of description words before the parameters.
const DESCRIPTION_WORDS: usize = strip_runner::DESCRIPTION_WORDS;

/// The array of an output.
enum OutputArray {
    /// The row of an enclosing loop.
    Placed,
    Elements(Value),
    Rows(RowBuffer),
    Table(Value),
}

/// The array of an output, and the address of its elements.
struct OutputBuffer {
    array: OutputArray,
    data: Value,
}

/// Values computed before the first iteration.
struct Outside {
    arrays: Vec<ArrayAddress>,
    /// The handles of the arrays that are accumulated to.
    sums: Vec<Value>,
    ranges: Vec<Option<(Value, Value)>>,
    /// For arrays of positions, one more than the largest.
    above: HashMap<usize, Value>,
    n: Value,
    ok: Vec<Value>,
}

impl Emit<'_, '_, '_> {
    /// Emits the vectorised path and returns its results. Jumps to `slow`, without any effect, if a check fails.
    pub(super) fn at_once(
        &mut self,
        vector_loop: &VectorLoop,
        made: FuncId,
        results: &[Var],
        slow: ir::Block,
        at: u32,
        sc: &EmissionScope,
    ) -> Vec<Value> {
        let count = match vector_loop.l.trip {
            Trip::Count(n) => self.val(n),
            Trip::While(_) => self.frame.ctx,
        };
        let mut outside = Outside {
            arrays: Vec::new(),
            sums: Vec::new(),
            ranges: vec![None; vector_loop.p.ints.len()],
            above: HashMap::new(),
            n: count,
            ok: Vec::new(),
        };
        self.check_arrays(vector_loop, &mut outside);
        self.go_on(&mut outside, slow);
        let taken = self.taken_sums(vector_loop, at, sc);
        self.there(vector_loop, &mut outside, slow);
        self.check_sums(vector_loop, &mut outside, slow);
        self.own_sums(vector_loop, &mut outside, &taken);
        let buffers = self.outputs(vector_loop, &mut outside);
        let slot = self.words(vector_loop, &mut outside, &buffers, made);
        let told = self.b.ins().stack_addr(types::I64, slot, 0);
        self.fallible(shims::run_iterations as *const u8, &[self.frame.ctx, told]);
        let all = self.made(vector_loop, &outside, &buffers, slot);
        self.release_sums(vector_loop, &taken, at, sc);
        for (v, h) in &all {
            if !results.contains(v) && is_ref(self.ty(*v)) {
                self.release(*h);
            }
        }
        results.iter().map(|v| all.iter().find(|(a, _)| a == v).map_or(self.frame.ctx, |(_, x)| *x)).collect()
    }

    fn go_on(&mut self, o: &mut Outside, no: ir::Block) {
        let all = std::mem::take(&mut o.ok).into_iter().reduce(|a, b| self.b.ins().band(a, b));
        if let Some(c) = all {
            self.unless(c, no, &[]);
        }
    }

    /// Records the condition that an Int is at least 0 and less than another.
    fn below(&mut self, o: &mut Outside, x: Value, n: Value) {
        let c = self.b.ins().icmp(IntCC::UnsignedLessThan, x, n);
        o.ok.push(c);
    }

    fn check_arrays(&mut self, vector_loop: &VectorLoop, outside: &mut Outside) {
        let plan = &vector_loop.p;
        let more = self.b.ins().iadd_imm_s(outside.n, -FEWEST);
        let most = self.int(MOST);
        self.below(outside, more, most);
        for v in &plan.arrays {
            let (data, dims) = self.seen(*v);
            let there = self.b.ins().icmp_imm_s(IntCC::NotEqual, data, 0);
            outside.ok.push(there);
            outside.arrays.push((data, dims));
        }
        self.check_ints(plan, outside);
        for v in &plan.checks.bools {
            let c = self.val(*v);
            outside.ok.push(c);
        }
        self.check_inner(plan, outside);
        self.check_rows(vector_loop, outside);
        for (a, at) in &plan.reads {
            let dims = outside.arrays[*a].1.clone();
            self.inside(plan, outside, at, &dims);
        }
        for (at, length) in &plan.rows.bounds {
            let (length, _) = self.range(plan, outside, *length);
            self.inside(plan, outside, &[*at], &[length]);
        }
        for v in vector_loop.stored.iter().map(|k| vector_loop.s.outs[vector_loop.l.init.len() + k]) {
            if let Some(place) = self.held.places.get(&v).copied() {
                let room = self.b.ins().load(types::I64, TRUSTED, place.buffer, handle::offset::OWNED);
                let end = self.b.ins().iadd(place.base, outside.n);
                let c = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, end, room);
                outside.ok.push(c);
            }
        }
    }

    /// Records the conditions that the arrays of rows are not too large.
    fn check_rows(&mut self, x: &VectorLoop, outside: &mut Outside) {
        for out in &x.stored {
            let inner: &[usize] = match &x.p.outs[*out] {
                IterationOutput::Row(row) => &[row.inner],
                IterationOutput::Table(t) => &[x.p.rows.tables[*t].inner, x.p.rows.tables[*t].row.inner],
                IterationOutput::Number | IterationOutput::Bool | IterationOutput::Int => continue,
            };
            let mut size = outside.n;
            for k in inner {
                let (width, _) = self.range(&x.p, outside, x.p.inner[*k].trip);
                size = self.b.ins().imul(size, width);
            }
            let c = self.b.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, size, ROOM);
            outside.ok.push(c);
        }
    }

    /// Records the conditions that inner loops are short enough.
    fn check_inner(&mut self, plan: &VectorPlan, outside: &mut Outside) {
        let mut iterations: Vec<Value> = Vec::new();
        for inner in &plan.inner {
            let (_, n) = self.range(plan, outside, inner.trip);
            if inner.longest < MOST {
                let c = self.b.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, n, inner.longest);
                outside.ok.push(c);
            }
            iterations.push(match inner.outer {
                None => n,
                Some(outer) => {
                    let (all, most) = (self.b.ins().imul(iterations[outer], n), self.int(MOST));
                    let all = self.b.ins().smin(all, most);
                    let c = self.b.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, all, ITERATIONS);
                    outside.ok.push(c);
                    all
                }
            });
        }
    }

    /// Records the conditions that Ints are as small as the plan assumes, and that hoisted checks hold.
    fn check_ints(&mut self, vector_plan: &VectorPlan, outside: &mut Outside) {
        let bound = self.int(1 << (BITS - 1));
        for i in &vector_plan.ints {
            match i.op {
                Int::Outside(v) => {
                    let v = self.val(v);
                    let v = self.b.ins().iadd_imm_s(v, 1 << (BITS - 2));
                    self.below(outside, v, bound);
                }
                Int::Dim(a, axis) => {
                    let d = outside.arrays[a].1[axis];
                    self.below(outside, d, bound);
                }
                Int::Above(a) => {
                    let (data, n) = (outside.arrays[a].0, outside.arrays[a].1[0]);
                    // A short loop may read few elements of a long array, all of which are compared here.
                    let many = self.b.ins().imul_imm_s(outside.n, COMPARED);
                    let few = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, n, many);
                    outside.ok.push(few);
                    let none = self.int(0);
                    let n = self.b.ins().select(few, n, none);
                    let above = self.runtime(shims::above as *const u8, &[data, n], 1).unwrap_or(n);
                    outside.above.insert(a, above);
                    self.below(outside, above, bound);
                }
                _ => {}
            }
        }
        for (c, a, b) in &vector_plan.checks.ints {
            let ((a, _), (b, _)) = (self.range(vector_plan, outside, *a), self.range(vector_plan, outside, *b));
            let c = self.b.ins().icmp(super::super::scalar::int_code(*c, true), a, b);
            outside.ok.push(c);
        }
    }

    /// Records the condition that indices are in bounds in all iterations.
    fn inside(&mut self, p: &VectorPlan, o: &mut Outside, at: &[Node], dims: &[Value]) {
        for (i, d) in at.iter().zip(dims) {
            let (lo, hi) = self.range(p, o, *i);
            self.below(o, lo, *d);
            if hi != lo {
                self.below(o, hi, *d);
            }
        }
    }

    /// The minimum and maximum of an Int over all iterations.
    fn range(&mut self, vector_plan: &VectorPlan, outside: &mut Outside, node: Node) -> (Value, Value) {
        if let Some(r) = outside.ranges[node] {
            return r;
        }
        let range = match vector_plan.ints[node].op {
            Int::Outside(v) => (self.val(v), self.val(v)),
            Int::Above(a) => (outside.above[&a], outside.above[&a]),
            Int::Lit(c) => {
                let c = self.int(c);
                (c, c)
            }
            Int::Iteration => (self.int(0), self.b.ins().iadd_imm_s(outside.n, -1)),
            Int::Inner(k) => {
                let (_, m) = self.range(vector_plan, outside, vector_plan.inner[k].trip);
                (self.int(0), self.b.ins().iadd_imm_s(m, -1))
            }
            Int::Dim(a, axis) => (outside.arrays[a].1[axis], outside.arrays[a].1[axis]),
            Int::Add(a, b) => {
                let ((l, h), (m, g)) = (self.range(vector_plan, outside, a), self.range(vector_plan, outside, b));
                (self.b.ins().iadd(l, m), self.b.ins().iadd(h, g))
            }
            Int::Sub(a, b) => {
                let ((l, h), (m, g)) = (self.range(vector_plan, outside, a), self.range(vector_plan, outside, b));
                (self.b.ins().isub(l, g), self.b.ins().isub(h, m))
            }
            Int::Min(a, b) => {
                let ((l, h), (m, g)) = (self.range(vector_plan, outside, a), self.range(vector_plan, outside, b));
                (self.b.ins().smin(l, m), self.b.ins().smin(h, g))
            }
            Int::Max(a, b) => {
                let ((l, h), (m, g)) = (self.range(vector_plan, outside, a), self.range(vector_plan, outside, b));
                (self.b.ins().smax(l, m), self.b.ins().smax(h, g))
            }
            Int::Mul(a, b) => {
                let ((l, h), (m, g)) = (self.range(vector_plan, outside, a), self.range(vector_plan, outside, b));
                let all = [(l, m), (l, g), (h, m), (h, g)].map(|(x, y)| self.b.ins().imul(x, y));
                let least = all[1..].iter().fold(all[0], |x, y| self.b.ins().smin(x, *y));
                (least, all[1..].iter().fold(all[0], |x, y| self.b.ins().smax(x, *y)))
            }
        };
        outside.ranges[node] = Some(range);
        range
    }

    /// For each carried variable, whether its reference is consumed here, because it is an accumulated array that dies.
    fn taken_sums(&self, x: &VectorLoop, at: u32, sc: &EmissionScope) -> Vec<bool> {
        let kept = self.kept(x, at, sc);
        self.takes(&x.l.init, at, sc, &|v| kept.contains(&v))
    }

    fn kept(&self, x: &VectorLoop, at: u32, sc: &EmissionScope) -> HashSet<Var> {
        x.l.xs.iter().copied().chain(inner(sc, at).iter().flat_map(|i| i.free.keys().copied())).collect()
    }

    /// Replaces symbolic zeros that are accumulated to by arrays of additive identities (-0).
    fn there(&mut self, vector_loop: &VectorLoop, outside: &mut Outside, slow: ir::Block) {
        for sum in &vector_loop.p.sums {
            let (h, expect) = (self.val(sum.init), ValueForm::of(self.ty(sum.init)));
            let symbolic_zero = self.b.ins().load(
                types::I64,
                TRUSTED.with_readonly().with_can_move(),
                self.frame.ctx,
                runtime::offset::SYMBOLIC_ZERO,
            );
            let gone = self.b.ins().icmp(IntCC::Equal, h, symbolic_zero);
            let (make, done) = (self.cold(), self.fresh());
            self.b.append_block_param(done, types::I64);
            self.b.ins().brif(gone, make, &[], done, &[ir::BlockArg::Value(h)]);
            self.b.switch_to_block(make);
            let none = self.int(0);
            let whole = sum.extents.len() == expect.rank();
            let new = match (whole, sum.shape) {
                (true, _) => {
                    let dims: Vec<Value> = sum
                        .extents
                        .iter()
                        .map(|k| self.range(&vector_loop.p, outside, vector_loop.p.inner[*k].trip).1)
                        .collect();
                    let new = self.new_floats(expect, &dims);
                    self.runtime(shims::clear as *const u8, &[new], 1)
                }
                (false, Some(shape)) => {
                    let (shape, made) = self.handle(shape);
                    let expect = self.int(i64::from(expect.0));
                    let new = self.runtime(shims::own as *const u8, &[self.frame.ctx, symbolic_zero, shape, expect], 1);
                    if made {
                        self.release(shape);
                    }
                    new
                }
                (false, None) => None,
            };
            let new = new.unwrap_or(none);
            // An array allocated before is freed with the run's pool.
            self.unless(new, slow, &[]);
            self.goto(done, &[new]);
            self.b.switch_to_block(done);
            let there = self.b.block_params(done)[0];
            outside.sums.push(there);
        }
        // Ranges computed in a branch are not available after it.
        if !vector_loop.p.sums.is_empty() {
            outside.ranges.iter_mut().for_each(|r| *r = None);
        }
    }

    fn check_sums(&mut self, vector_loop: &VectorLoop, outside: &mut Outside, slow: ir::Block) {
        for (k, s) in vector_loop.p.sums.iter().enumerate() {
            let view = self.view(outside.sums[k], ValueForm::of(self.ty(s.init)));
            let there = self.b.ins().icmp_imm_s(IntCC::NotEqual, view.data, 0);
            outside.ok.push(there);
            for (at, _) in &s.adds {
                self.inside(&vector_loop.p, outside, at, &view.dims);
            }
            let axes = &view.dims[view.dims.len() - s.extents.len()..];
            for (k, extent) in s.extents.iter().zip(axes) {
                let (_, m) = self.range(&vector_loop.p, outside, vector_loop.p.inner[*k].trip);
                let fits = self.b.ins().icmp(IntCC::Equal, m, *extent);
                outside.ok.push(fits);
            }
        }
        if vector_loop.p.sums.is_empty() {
            return;
        }
        let undo = self.cold();
        self.go_on(outside, undo);
        let here = self.b.current_block();
        self.b.switch_to_block(undo);
        for (s, h) in vector_loop.p.sums.iter().zip(outside.sums.clone()) {
            let old = self.val(s.init);
            self.unless_same(h, old, |e| e.release(h));
        }
        self.goto(slow, &[]);
        if let Some(b) = here {
            self.b.switch_to_block(b);
        }
    }

    /// Emits code that runs only if two words differ.
    fn unless_same(&mut self, x: Value, y: Value, f: impl FnOnce(&mut Self)) {
        let (other, next) = (self.fresh(), self.fresh());
        let same = self.b.ins().icmp(IntCC::Equal, x, y);
        self.b.ins().brif(same, next, &[], other, &[]);
        self.b.switch_to_block(other);
        f(self);
        self.goto(next, &[]);
        self.b.switch_to_block(next);
    }

    /// Makes each accumulated array writable with a single reference.
    fn own_sums(&mut self, x: &VectorLoop, outside: &mut Outside, taken: &[bool]) {
        let carried: Vec<usize> = (0..x.p.carry.len()).filter(|k| matches!(x.p.carry[*k], Carry::Sum(_))).collect();
        for (index, place) in carried.into_iter().enumerate() {
            let (handle, init) = (outside.sums[index], x.p.sums[index].init);
            if !taken[place] {
                // A new array is not shared.
                let old = self.val(init);
                let (mine, next) = (self.fresh(), self.fresh());
                let same = self.b.ins().icmp(IntCC::Equal, handle, old);
                self.b.ins().brif(same, mine, &[], next, &[]);
                self.b.switch_to_block(mine);
                self.retain(handle);
                self.goto(next, &[]);
                self.b.switch_to_block(next);
            }
            outside.sums[index] = self.alone(handle, ValueForm::of(self.ty(init)));
        }
    }

    /// The array itself, or a copy if it is shared.
    fn alone(&mut self, handle: Value, expect: ValueForm) -> Value {
        let (cold, done) = (self.cold(), self.fresh());
        self.b.append_block_param(done, types::I64);
        let rc = self.b.ins().load(types::I64, TRUSTED, handle, handle::offset::RC);
        let owned = self.b.ins().load(types::I64, TRUSTED, handle, handle::offset::OWNED);
        let (more, shared) = (self.b.ins().bxor_imm_s(rc, 1), self.b.ins().bxor_imm_s(owned, 1));
        let others = self.b.ins().bor(more, shared);
        let alone = self.b.ins().icmp_imm_s(IntCC::Equal, others, 0);
        self.unless(alone, cold, &[]);
        self.goto(done, &[handle]);
        self.b.switch_to_block(cold);
        let (none, expect) = (self.int(0), self.int(i64::from(expect.0)));
        let made = self.runtime(shims::own as *const u8, &[self.frame.ctx, handle, none, expect], 1).unwrap_or(handle);
        self.room_for(made);
        self.goto(done, &[made]);
        self.b.switch_to_block(done);
        self.b.block_params(done)[0]
    }

    /// Fails if memory is exhausted.
    fn room_for(&mut self, c: Value) {
        let (none, next) = (self.cold(), self.fresh());
        self.stays(c, next, none, &[]);
        self.b.switch_to_block(none);
        let site = self.site();
        let site = self.int(i64::from(site));
        self.runtime(shims::no_memory as *const u8, &[self.frame.ctx, site], 1);
        let fail = self.frame.fail;
        self.goto(fail, &[]);
        self.b.switch_to_block(next);
    }

    /// Allocates the arrays of outputs, and computes the addresses of their elements.
    fn outputs(&mut self, vector_loop: &VectorLoop, outside: &mut Outside) -> Vec<OutputBuffer> {
        let mut out = Vec::new();
        for k in &vector_loop.stored {
            let v = vector_loop.s.outs[vector_loop.l.init.len() + k];
            if let Some(place) = self.held.places.get(&v).copied() {
                let data = self.b.ins().load(types::I64, TRUSTED, place.buffer, handle::offset::DATA);
                let shift = if matches!(vector_loop.p.outs[*k], IterationOutput::Bool) { 0 } else { 3 };
                let bytes = self.b.ins().ishl_imm_s(place.base, shift);
                let data = self.b.ins().iadd(data, bytes);
                out.push(OutputBuffer { array: OutputArray::Placed, data });
                continue;
            }
            out.push(self.output(vector_loop, outside, *k));
        }
        out
    }

    /// Allocates the array of an output.
    fn output(&mut self, vector_loop: &VectorLoop, outside: &mut Outside, index: usize) -> OutputBuffer {
        let (array, buffer, size) = match &vector_loop.p.outs[index] {
            IterationOutput::Table(t) => {
                let table = &vector_loop.p.rows.tables[*t];
                let extents = [table.inner, table.row.inner]
                    .map(|k| self.range(&vector_loop.p, outside, vector_loop.p.inner[k].trip).0);
                let expect = ValueForm::of(self.ty(vector_loop.s.outs[vector_loop.l.init.len() + index]));
                let h = self.new_floats(expect, &[&[outside.n], &extents[..]].concat());
                self.room_for(h);
                let data = self.b.ins().load(types::I64, TRUSTED, h, handle::offset::DATA);
                return OutputBuffer { array: OutputArray::Table(h), data };
            }
            IterationOutput::Row(row) => {
                let (width, _) = self.range(&vector_loop.p, outside, vector_loop.p.inner[row.inner].trip);
                let (result, boxed) = (
                    vector_loop.l.body.results[vector_loop.l.init.len() + index],
                    vector_loop.l.outs[index] == Out::Boxed,
                );
                let rows = self.rows_buffer((result, boxed), outside.n, width, false);
                (OutputArray::Rows(rows), rows.buffer, self.b.ins().imul(outside.n, width))
            }
            kind => {
                let ty = match kind {
                    IterationOutput::Bool => Ty::Bool,
                    IterationOutput::Int => Ty::I64,
                    _ => Ty::F64,
                };
                let h = self.new_buffer(&ty, false, Some(outside.n));
                (OutputArray::Elements(h), h, outside.n)
            }
        };
        let room = self.b.ins().load(types::I64, TRUSTED, buffer, handle::offset::OWNED);
        let fits = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, size, room);
        self.room_for(fits);
        OutputBuffer { array, data: self.b.ins().load(types::I64, TRUSTED, buffer, handle::offset::DATA) }
    }

    /// An array of Floats of these extents, which are still to be written. 0 if memory is exhausted.
    fn new_floats(&mut self, form: ValueForm, dims: &[Value]) -> Value {
        let (form, none) = (self.int(i64::from(form.0)), self.int(0));
        let dims = self.words_on_stack(dims);
        self.runtime(shims::new_floats as *const u8, &[self.frame.ctx, form, dims], 1).unwrap_or(none)
    }

    /// Stores the description for the runtime and the parameter words of the kernel.
    fn words(
        &mut self,
        vector_loop: &VectorLoop,
        outside: &mut Outside,
        buffers: &[OutputBuffer],
        made: FuncId,
    ) -> StackSlot {
        let room = self.scratch_size(vector_loop, outside);
        let size = 8 * (DESCRIPTION_WORDS + vector_loop.w.len + vector_loop.totals.len()) as u32;
        let slot = self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size, 3));
        let callee = self.job.module.declare_func_in_func(made, self.b.func);
        let function = self.b.ins().func_addr(types::I64, callee);
        let meets = match vector_loop.p.meets {
            None => self.int(-1),
            Some(m) => {
                let i = outside.ranges[m].map_or(outside.n, |r| r.0);
                let last = self.b.ins().iadd_imm_s(outside.n, -1);
                if vector_loop.falls { self.b.ins().isub(last, i) } else { i }
            }
        };
        let site = self.site();
        let counts = [
            vector_loop.w.len as i64,
            vector_loop.totals.len() as i64,
            i64::from(vector_loop.p.sequential),
            i64::from(self.nest.depth == 0),
            i64::from(site),
        ]
        .map(|c| self.int(c));
        let told = [&[function, outside.n, meets], &counts[..2], &[room], &counts[2..]].concat();
        let put = |e: &mut Self, at: usize, v: Value| _ = e.b.ins().stack_store(types::I64, v, slot, 8 * at as i32);
        told.iter().enumerate().for_each(|(k, v)| put(self, k, *v));
        put(self, DESCRIPTION_WORDS, outside.n);
        let sums: Vec<ArrayAddress> = vector_loop
            .p
            .sums
            .iter()
            .zip(&outside.sums)
            .map(|(s, h)| self.view(*h, ValueForm::of(self.f.ty(s.init))))
            .map(|v| (v.data, v.dims.iter().copied().collect()))
            .collect();
        for (at, (data, dims)) in
            vector_loop.w.arrays.iter().chain(&vector_loop.w.sums).zip(outside.arrays.iter().chain(&sums))
        {
            put(self, DESCRIPTION_WORDS + at, *data);
            dims.iter().enumerate().for_each(|(k, d)| put(self, DESCRIPTION_WORDS + at + 1 + k, *d));
        }
        self.given_words(vector_loop, slot);
        for (at, buffer) in vector_loop.w.outs.iter().zip(buffers) {
            put(self, DESCRIPTION_WORDS + at, buffer.data);
        }
        slot
    }

    /// The Floats of scratch memory for a strip.
    fn scratch_size(&mut self, x: &VectorLoop, outside: &mut Outside) -> Value {
        let mut size = self.int(kernel::room(x));
        for length in &x.p.rows.stored {
            let (n, _) = self.range(&x.p, outside, *length);
            let room = self.b.ins().imul_imm_s(n, x.vectors.iterations());
            size = self.b.ins().iadd(size, room);
        }
        size
    }

    /// Stores the numbers among the parameter words.
    fn given_words(&mut self, x: &VectorLoop, slot: StackSlot) {
        let numbers = x.w.numbers.iter().map(|(v, at)| (*v, *at));
        let ints =
            x.w.ints
                .iter()
                .filter_map(|(n, at)| if let Int::Outside(v) = x.p.ints[*n].op { Some((v, *at)) } else { None });
        let folds = x.w.folds.iter().map(|(k, at)| (x.l.init[*k], *at));
        let mut all: Vec<(usize, Var)> = numbers.chain(ints).chain(folds).map(|(v, at)| (at, v)).collect();
        all.sort_unstable();
        for (at, v) in all {
            let w = self.val(v);
            let w = if *self.ty(v) == Ty::Bool { self.b.ins().uextend(types::I64, w) } else { w };
            self.b.ins().stack_store(types::I64, w, slot, 8 * (DESCRIPTION_WORDS + at) as i32);
        }
    }

    /// The results of the kernel, by variable.
    fn made(
        &mut self,
        vector_loop: &VectorLoop,
        outside: &Outside,
        buffers: &[OutputBuffer],
        slot: StackSlot,
    ) -> Vec<(Var, Value)> {
        let carried = vector_loop.l.init.len();
        let mut all = Vec::new();
        for (index, c) in vector_loop.p.carry.iter().enumerate() {
            let v = match c {
                Carry::Same => self.val(vector_loop.l.init[index]),
                Carry::Fold => self.b.ins().stack_load(
                    types::I64,
                    types::F64,
                    slot,
                    8 * (DESCRIPTION_WORDS + vector_loop.w.folds[&index]) as i32,
                ),
                Carry::Sum(s) => outside.sums[*s],
            };
            all.push((vector_loop.s.outs[index], v));
        }
        for (out, buffer) in vector_loop.stored.iter().zip(buffers) {
            let v = vector_loop.s.outs[carried + out];
            let made = match buffer.array {
                OutputArray::Placed => continue,
                OutputArray::Elements(h) => self.finish(h, outside.n, false, v),
                OutputArray::Rows(rows) => self.finish_rows(&rows, outside.n, v),
                OutputArray::Table(h) => h,
            };
            all.push((v, made));
        }
        for (t, (_, v)) in vector_loop.sums.iter().enumerate() {
            let made = self.b.ins().stack_load(
                types::I64,
                types::F64,
                slot,
                8 * (DESCRIPTION_WORDS + vector_loop.w.len + t) as i32,
            );
            all.push((*v, made));
        }
        all.extend(vector_loop.s.outs.iter().skip(carried + vector_loop.l.outs.len()).map(|v| (*v, outside.n)));
        all
    }

    /// Releases the variables that die at the loop, except those that were consumed.
    fn release_sums(&mut self, x: &VectorLoop, taken: &[bool], at: u32, sc: &EmissionScope) {
        let dying = self.dying_inside(at, sc);
        let took: Vec<Var> = x.l.init.iter().zip(taken).filter(|(_, t)| **t).map(|(v, _)| *v).collect();
        let mut gone: Vec<Var> =
            x.l.init
                .iter()
                .copied()
                .chain(self.kept(x, at, sc))
                .filter(|v| !took.contains(v) && (dying.contains(v) || self.dies(*v, at, sc)))
                .collect();
        gone.sort_unstable();
        gone.dedup();
        for v in gone.into_iter().filter(|v| is_ref(self.f.ty(*v))).collect::<Vec<_>>() {
            let h = self.val(v);
            self.let_go(v, h);
        }
    }
}

//! The prologue and epilogue of a vectorised loop: checks, kernel parameters, allocation of outputs, and ownership.

use super::super::{Emit, Scope, TRUSTED, inner, is_ref};
use super::plan::{BITS, Carry, Int, Node, VectorPlan};
use super::{VectorLoop, kernel};
use crate::handle::{self, ValueForm};
use crate::shims;
use crate::{runtime, strip_runner};
use adl_ir::{Trip, Ty, Var};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, StackSlot, StackSlotData, StackSlotKind, Value, types};
use cranelift_module::{FuncId, Module};
use smallvec::SmallVec;
use std::collections::HashSet;

/// The least trip count for which a loop is vectorised.
const FEWEST: i64 = 16;

/// The largest trip count for which a loop is vectorised.
const MOST: i64 = 1 << (BITS - 2);

/// The number of description words before the parameters.
const DESCRIPTION_WORDS: usize = strip_runner::DESCRIPTION_WORDS;

/// The address of an array's elements, and its extents.
type Seen = (Value, SmallVec<[Value; 4]>);

/// Values computed before the first iteration.
struct Outside {
    arrays: Vec<Seen>,
    /// The handles of the arrays that are accumulated to.
    sums: Vec<Value>,
    ranges: Vec<Option<(Value, Value)>>,
    n: Value,
    ok: Vec<Value>,
}

impl Emit<'_, '_, '_> {
    /// Emits the vectorised path and returns its results. Jumps to `slow`, without any effect, if a check fails.
    pub(super) fn at_once(
        &mut self,
        x: &VectorLoop,
        made: FuncId,
        results: &[Var],
        slow: ir::Block,
        at: u32,
        sc: &Scope,
    ) -> Vec<Value> {
        let n = match x.l.trip {
            Trip::Count(n) => self.val(n),
            Trip::While(_) => self.ctx,
        };
        let mut o =
            Outside { arrays: Vec::new(), sums: Vec::new(), ranges: vec![None; x.p.ints.len()], n, ok: Vec::new() };
        self.check_arrays(x, &mut o);
        self.go_on(&mut o, slow);
        let taken = self.taken_sums(x, at, sc);
        self.there(x, &mut o, slow);
        self.check_sums(x, &mut o, slow);
        self.own_sums(x, &mut o, &taken);
        let buffers = self.outputs(x, n);
        let slot = self.words(x, &o, &buffers, made);
        let told = self.b.ins().stack_addr(types::I64, slot, 0);
        self.fallible(shims::run_iterations as *const u8, &[self.ctx, told]);
        let all = self.made(x, &o, &buffers, slot);
        self.release_sums(x, &taken, at, sc);
        for (v, h) in &all {
            if !results.contains(v) && is_ref(self.ty(*v)) {
                self.release(*h);
            }
        }
        results.iter().map(|v| all.iter().find(|(a, _)| a == v).map_or(self.ctx, |(_, x)| *x)).collect()
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

    fn check_arrays(&mut self, x: &VectorLoop, o: &mut Outside) {
        let p = &x.p;
        let more = self.b.ins().iadd_imm_s(o.n, -FEWEST);
        let most = self.int(MOST);
        self.below(o, more, most);
        for v in &p.arrays {
            let (data, dims) = self.seen(*v);
            let there = self.b.ins().icmp_imm_s(IntCC::NotEqual, data, 0);
            o.ok.push(there);
            o.arrays.push((data, dims));
        }
        self.check_ints(p, o);
        for v in &p.holds {
            let c = self.val(*v);
            o.ok.push(c);
        }
        for (a, at) in &p.reads {
            let dims = o.arrays[*a].1.clone();
            self.inside(p, o, at, &dims);
        }
        for v in x.stored.iter().map(|k| x.s.outs[x.l.init.len() + k]) {
            if let Some(place) = self.places.get(&v).copied() {
                let room = self.b.ins().load(types::I64, TRUSTED, place.buffer, handle::offset::OWNED);
                let end = self.b.ins().iadd(place.base, o.n);
                let c = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, end, room);
                o.ok.push(c);
            }
        }
    }

    /// Records the conditions that Ints are as small as the plan assumes, and that hoisted checks hold.
    fn check_ints(&mut self, p: &VectorPlan, o: &mut Outside) {
        let bound = self.int(1 << (BITS - 1));
        for i in &p.ints {
            match i.op {
                Int::Outside(v) => {
                    let v = self.val(v);
                    let v = self.b.ins().iadd_imm_s(v, 1 << (BITS - 2));
                    self.below(o, v, bound);
                }
                Int::Dim(a, axis) => {
                    let d = o.arrays[a].1[axis];
                    self.below(o, d, bound);
                }
                _ => {}
            }
        }
        for (c, a, b) in &p.hold {
            let ((a, _), (b, _)) = (self.range(p, o, *a), self.range(p, o, *b));
            let c = self.b.ins().icmp(super::super::scalar::int_code(*c, true), a, b);
            o.ok.push(c);
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
    fn range(&mut self, p: &VectorPlan, o: &mut Outside, n: Node) -> (Value, Value) {
        if let Some(r) = o.ranges[n] {
            return r;
        }
        let r = match p.ints[n].op {
            Int::Outside(v) => (self.val(v), self.val(v)),
            Int::Lit(c) => {
                let c = self.int(c);
                (c, c)
            }
            Int::Iteration => (self.int(0), self.b.ins().iadd_imm_s(o.n, -1)),
            Int::Inner(k) => {
                let (_, m) = self.range(p, o, p.inner[k].trip);
                (self.int(0), self.b.ins().iadd_imm_s(m, -1))
            }
            Int::Dim(a, axis) => (o.arrays[a].1[axis], o.arrays[a].1[axis]),
            Int::Add(a, b) => {
                let ((l, h), (m, g)) = (self.range(p, o, a), self.range(p, o, b));
                (self.b.ins().iadd(l, m), self.b.ins().iadd(h, g))
            }
            Int::Sub(a, b) => {
                let ((l, h), (m, g)) = (self.range(p, o, a), self.range(p, o, b));
                (self.b.ins().isub(l, g), self.b.ins().isub(h, m))
            }
            Int::Mul(a, b) => {
                let ((l, h), (m, g)) = (self.range(p, o, a), self.range(p, o, b));
                let all = [(l, m), (l, g), (h, m), (h, g)].map(|(x, y)| self.b.ins().imul(x, y));
                let least = all[1..].iter().fold(all[0], |x, y| self.b.ins().smin(x, *y));
                (least, all[1..].iter().fold(all[0], |x, y| self.b.ins().smax(x, *y)))
            }
        };
        o.ranges[n] = Some(r);
        r
    }

    /// For each carried variable, whether its reference is consumed here, because it is an accumulated array that dies.
    fn taken_sums(&self, x: &VectorLoop, at: u32, sc: &Scope) -> Vec<bool> {
        let kept = self.kept(x, at, sc);
        self.takes(&x.l.init, at, sc, &|v| kept.contains(&v))
    }

    fn kept(&self, x: &VectorLoop, at: u32, sc: &Scope) -> HashSet<Var> {
        x.l.xs.iter().copied().chain(inner(sc, at).iter().flat_map(|i| i.free.keys().copied())).collect()
    }

    /// Replaces symbolic zeros that are accumulated to by arrays of additive identities (-0).
    fn there(&mut self, x: &VectorLoop, o: &mut Outside, slow: ir::Block) {
        for s in &x.p.sums {
            let (h, expect) = (self.val(s.init), ValueForm::of(self.ty(s.init)));
            let symbolic_zero = self.b.ins().load(
                types::I64,
                TRUSTED.with_readonly().with_can_move(),
                self.ctx,
                runtime::offset::SYMBOLIC_ZERO,
            );
            let gone = self.b.ins().icmp(IntCC::Equal, h, symbolic_zero);
            let (make, done) = (self.cold(), self.fresh());
            self.b.append_block_param(done, types::I64);
            self.b.ins().brif(gone, make, &[], done, &[ir::BlockArg::Value(h)]);
            self.b.switch_to_block(make);
            let none = self.int(0);
            let new = match (s.row, s.shape) {
                (Some(k), _) => {
                    let (_, m) = self.range(&x.p, o, x.p.inner[k].trip);
                    self.runtime(shims::zeros_to_add_to as *const u8, &[self.ctx, m], 1)
                }
                (None, Some(shape)) => {
                    let (shape, made) = self.handle(shape);
                    let expect = self.int(i64::from(expect.0));
                    let new = self.runtime(shims::own as *const u8, &[self.ctx, symbolic_zero, shape, expect], 1);
                    if made {
                        self.release(shape);
                    }
                    new
                }
                (None, None) => None,
            };
            let new = new.unwrap_or(none);
            // An array allocated before is freed with the run's pool.
            self.unless(new, slow, &[]);
            self.goto(done, &[new]);
            self.b.switch_to_block(done);
            let there = self.b.block_params(done)[0];
            o.sums.push(there);
        }
        // Ranges computed in a branch are not available after it.
        if !x.p.sums.is_empty() {
            o.ranges.iter_mut().for_each(|r| *r = None);
        }
    }

    fn check_sums(&mut self, x: &VectorLoop, o: &mut Outside, slow: ir::Block) {
        for (k, s) in x.p.sums.iter().enumerate() {
            let view = self.view(o.sums[k], ValueForm::of(self.ty(s.init)));
            let there = self.b.ins().icmp_imm_s(IntCC::NotEqual, view.data, 0);
            o.ok.push(there);
            for (at, _) in &s.adds {
                self.inside(&x.p, o, at, &view.dims);
            }
            if let Some(k) = s.row {
                let (_, m) = self.range(&x.p, o, x.p.inner[k].trip);
                let fits = self.b.ins().icmp(IntCC::Equal, m, view.dims[0]);
                o.ok.push(fits);
            }
        }
        if x.p.sums.is_empty() {
            return;
        }
        let undo = self.cold();
        self.go_on(o, undo);
        let here = self.b.current_block();
        self.b.switch_to_block(undo);
        for (s, h) in x.p.sums.iter().zip(o.sums.clone()) {
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
    fn own_sums(&mut self, x: &VectorLoop, o: &mut Outside, taken: &[bool]) {
        let carried: Vec<usize> = (0..x.p.carry.len()).filter(|k| matches!(x.p.carry[*k], Carry::Sum(_))).collect();
        for (k, place) in carried.into_iter().enumerate() {
            let (h, v) = (o.sums[k], x.p.sums[k].init);
            if !taken[place] {
                // A new array is not shared.
                let old = self.val(v);
                let (mine, next) = (self.fresh(), self.fresh());
                let same = self.b.ins().icmp(IntCC::Equal, h, old);
                self.b.ins().brif(same, mine, &[], next, &[]);
                self.b.switch_to_block(mine);
                self.retain(h);
                self.goto(next, &[]);
                self.b.switch_to_block(next);
            }
            o.sums[k] = self.alone(h, ValueForm::of(self.ty(v)));
        }
    }

    /// The array itself, or a copy if it is shared.
    fn alone(&mut self, h: Value, expect: ValueForm) -> Value {
        let (cold, done) = (self.cold(), self.fresh());
        self.b.append_block_param(done, types::I64);
        let rc = self.b.ins().load(types::I64, TRUSTED, h, handle::offset::RC);
        let owned = self.b.ins().load(types::I64, TRUSTED, h, handle::offset::OWNED);
        let (more, shared) = (self.b.ins().bxor_imm_s(rc, 1), self.b.ins().bxor_imm_s(owned, 1));
        let others = self.b.ins().bor(more, shared);
        let alone = self.b.ins().icmp_imm_s(IntCC::Equal, others, 0);
        self.unless(alone, cold, &[]);
        self.goto(done, &[h]);
        self.b.switch_to_block(cold);
        let (none, expect) = (self.int(0), self.int(i64::from(expect.0)));
        let made = self.runtime(shims::own as *const u8, &[self.ctx, h, none, expect], 1).unwrap_or(h);
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
        self.runtime(shims::no_memory as *const u8, &[self.ctx, site], 1);
        let fail = self.fail;
        self.goto(fail, &[]);
        self.b.switch_to_block(next);
    }

    /// Allocates the arrays of outputs, and computes the addresses of their elements.
    fn outputs(&mut self, x: &VectorLoop, n: Value) -> Vec<(Option<Value>, Value)> {
        let mut out = Vec::new();
        for k in &x.stored {
            let v = x.s.outs[x.l.init.len() + k];
            if let Some(place) = self.places.get(&v).copied() {
                let data = self.b.ins().load(types::I64, TRUSTED, place.buffer, handle::offset::DATA);
                let bytes = self.b.ins().ishl_imm_s(place.base, 3);
                out.push((None, self.b.ins().iadd(data, bytes)));
                continue;
            }
            let h = self.new_buffer(&Ty::F64, false, Some(n));
            let room = self.b.ins().load(types::I64, TRUSTED, h, handle::offset::OWNED);
            let fits = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, n, room);
            self.room_for(fits);
            out.push((Some(h), self.b.ins().load(types::I64, TRUSTED, h, handle::offset::DATA)));
        }
        out
    }

    /// Stores the description for the runtime and the parameter words of the kernel.
    fn words(&mut self, x: &VectorLoop, o: &Outside, buffers: &[(Option<Value>, Value)], made: FuncId) -> StackSlot {
        let size = 8 * (DESCRIPTION_WORDS + x.w.len + x.totals.len()) as u32;
        let slot = self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size, 3));
        let callee = self.job.module.declare_func_in_func(made, self.b.func);
        let function = self.b.ins().func_addr(types::I64, callee);
        let meets = match x.p.meets {
            None => self.int(-1),
            Some(m) => {
                let i = o.ranges[m].map_or(o.n, |r| r.0);
                let last = self.b.ins().iadd_imm_s(o.n, -1);
                if x.falls { self.b.ins().isub(last, i) } else { i }
            }
        };
        let site = self.site();
        let counts = [
            x.w.len as i64,
            x.totals.len() as i64,
            kernel::room(x),
            i64::from(x.p.sequential),
            i64::from(self.depth == 0),
            i64::from(site),
        ]
        .map(|c| self.int(c));
        let told = [&[function, o.n, meets], &counts[..]].concat();
        let put = |e: &mut Self, at: usize, v: Value| _ = e.b.ins().stack_store(types::I64, v, slot, 8 * at as i32);
        told.iter().enumerate().for_each(|(k, v)| put(self, k, *v));
        put(self, DESCRIPTION_WORDS, o.n);
        let sums: Vec<Seen> =
            x.p.sums
                .iter()
                .zip(&o.sums)
                .map(|(s, h)| self.view(*h, ValueForm::of(self.f.ty(s.init))))
                .map(|v| (v.data, v.dims.iter().copied().collect()))
                .collect();
        for (at, (data, dims)) in x.w.arrays.iter().chain(&x.w.sums).zip(o.arrays.iter().chain(&sums)) {
            put(self, DESCRIPTION_WORDS + at, *data);
            dims.iter().enumerate().for_each(|(k, d)| put(self, DESCRIPTION_WORDS + at + 1 + k, *d));
        }
        self.given_words(x, slot);
        for (at, (_, data)) in x.w.outs.iter().zip(buffers) {
            put(self, DESCRIPTION_WORDS + at, *data);
        }
        slot
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
        x: &VectorLoop,
        o: &Outside,
        buffers: &[(Option<Value>, Value)],
        slot: StackSlot,
    ) -> Vec<(Var, Value)> {
        let k = x.l.init.len();
        let mut all = Vec::new();
        for (i, c) in x.p.carry.iter().enumerate() {
            let v = match c {
                Carry::Same => self.val(x.l.init[i]),
                Carry::Fold => self.b.ins().stack_load(
                    types::I64,
                    types::F64,
                    slot,
                    8 * (DESCRIPTION_WORDS + x.w.folds[&i]) as i32,
                ),
                Carry::Sum(s) => o.sums[*s],
            };
            all.push((x.s.outs[i], v));
        }
        for (out, (h, _)) in x.stored.iter().zip(buffers) {
            let v = x.s.outs[k + out];
            if let Some(h) = h {
                let made = self.finish(*h, o.n, false, v);
                all.push((v, made));
            }
        }
        for (t, (_, v)) in x.sums.iter().enumerate() {
            let made =
                self.b.ins().stack_load(types::I64, types::F64, slot, 8 * (DESCRIPTION_WORDS + x.w.len + t) as i32);
            all.push((*v, made));
        }
        all.extend(x.s.outs.iter().skip(k + x.l.outs.len()).map(|v| (*v, o.n)));
        all
    }

    /// Releases the variables that die at the loop, except those that were consumed.
    fn release_sums(&mut self, x: &VectorLoop, taken: &[bool], at: u32, sc: &Scope) {
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

//! Checks before the loop of a group: all arrays must be materialised and have fitting shapes. They also compute the
//! addresses of the elements.

use super::super::{BoundVar, Emit, TRUSTED};
use super::Member;
use super::plan::Group;
use super::run::{CHUNK, CHUNKS, ElementRange, Loop};
use crate::handle::{self, ValueForm};
use crate::runtime;
use crate::shims;
use adl_ir::{Block, Op, Var};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, Value, types};
use smallvec::SmallVec;

/// The address of an array's elements, and its extents.
pub(in super::super) type ArrayAddress = (Value, SmallVec<[Value; 4]>);

impl Emit<'_, '_, '_> {
    /// The address of an array's elements, and its extents.
    pub(in super::super) fn seen(&mut self, v: Var) -> ArrayAddress {
        if let Some(view) = self.vals[v.0 as usize].as_ref().and_then(|b| b.view.clone()) {
            return (view.data, view.dims.iter().copied().collect());
        }
        let h = self.val(v);
        let view = self.view(h, ValueForm::of(self.f.ty(v)));
        (view.data, view.dims.iter().copied().collect())
    }

    /// Records the condition that a value is 0.
    fn must_be_zero(&mut self, l: &mut Loop, x: Value) {
        l.wrong = Some(match l.wrong {
            Some(w) => self.b.ins().bor(w, x),
            None => x,
        });
    }

    /// Records the condition that a comparison holds.
    fn must_hold(&mut self, l: &mut Loop, c: Value) {
        let c = self.b.ins().bxor_imm_s(c, 1);
        let c = self.b.ins().uextend(types::I64, c);
        self.must_be_zero(l, c);
    }

    fn must_be_there(&mut self, l: &mut Loop, data: Value) {
        let ok = self.b.ins().icmp_imm_s(IntCC::NotEqual, data, 0);
        self.must_hold(l, ok);
    }

    /// Records the condition that extents equal the group's common extents, which the first call defines. `mask`: 0 if
    /// the condition does not apply.
    fn must_fit(&mut self, ir_loop: &mut Loop, dims: &[Value], mask: Option<Value>) {
        if ir_loop.dims.is_empty() {
            ir_loop.dims = dims.to_vec();
            return;
        }
        for (d, e) in dims.iter().zip(ir_loop.dims.clone()) {
            if *d != e {
                let mut x = self.b.ins().bxor(*d, e);
                if let Some(m) = mask {
                    x = self.b.ins().band(x, m);
                }
                self.must_be_zero(ir_loop, x);
            }
        }
    }

    /// Continues if all recorded conditions hold; otherwise jumps to `slow`.
    pub(super) fn all_hold(&mut self, l: &mut Loop, slow: ir::Block, bases: &[Value]) {
        if let Some(w) = l.wrong.take() {
            let ok = self.b.ins().icmp_imm_s(IntCC::Equal, w, 0);
            self.unless(ok, slow, bases);
        }
    }

    /// Makes updated arrays writable with a single reference: shared ones are copied, and symbolic zeros are
    /// materialised.
    pub(super) fn own_bases(
        &mut self,
        bases: &[(Var, u32)],
        given: &[Value],
        b: &Block,
        slow: ir::Block,
    ) -> Vec<Value> {
        let mut own = given.to_vec();
        for (k, (v, at)) in bases.iter().enumerate() {
            let shape = match &b.stmts[*at as usize].op {
                Op::IndexAdd { shape, .. } | Op::IndexSet { shape, .. } | Op::SliceAdd { shape, .. } => *shape,
                _ => None,
            };
            own[k] = self.own_base((*v, shape), k, &own, slow);
            self.vals[v.0 as usize] = Some(BoundVar { v: own[k], view: None, row: None });
        }
        own
    }

    fn own_base(&mut self, (var, shape): (Var, Option<Var>), index: usize, own: &[Value], slow: ir::Block) -> Value {
        let (cold, done) = (self.cold(), self.fresh());
        self.b.append_block_param(done, types::I64);
        let rc = self.b.ins().load(types::I64, TRUSTED, own[index], handle::offset::RC);
        let owned = self.b.ins().load(types::I64, TRUSTED, own[index], handle::offset::OWNED);
        let (more, shared) = (self.b.ins().bxor_imm_s(rc, 1), self.b.ins().bxor_imm_s(owned, 1));
        let others = self.b.ins().bor(more, shared);
        let alone = self.b.ins().icmp_imm_s(IntCC::Equal, others, 0);
        self.unless(alone, cold, &[]);
        self.goto(done, &[own[index]]);
        self.b.switch_to_block(cold);
        let expect = self.int(i64::from(ValueForm::of(self.f.ty(var)).0));
        let (shape, new) = match shape {
            Some(s) => self.handle(s),
            None => (self.int(0), false),
        };
        let made = self
            .runtime(shims::own as *const u8, &[self.frame.ctx, own[index], shape, expect], 1)
            .unwrap_or(own[index]);
        if new {
            self.release(shape);
        }
        self.unless(made, slow, own);
        self.goto(done, &[made]);
        self.b.switch_to_block(done);
        self.b.block_params(done)[0]
    }

    /// Checks that all arrays that are read are materialised and fit, and computes the addresses of their elements.
    pub(super) fn check_group(&mut self, group: &Group, ir_loop: &mut Loop) {
        for i in group.inputs.iter().filter(|i| !i.optional) {
            let (data, dims) = self.seen(i.var);
            self.must_be_there(ir_loop, data);
            self.must_fit(ir_loop, &dims, None);
            ir_loop.inputs.insert(i.var, ElementRange { base: data, mask: None });
        }
        for (_, out, m) in &group.members {
            if m.base().is_some() {
                let part = self.part(ir_loop, m);
                ir_loop.parts.insert(*out, part);
            }
        }
        for i in group.inputs.iter().filter(|i| i.optional) {
            self.check_optional(ir_loop, i.var);
        }
        for (_, _, m) in &group.members {
            if let Member::Fill { n, .. } = m {
                let n = self.val(*n);
                self.must_fit(ir_loop, &[n], None);
            }
        }
        if let (false, Some(n)) = (group.totals.is_empty(), ir_loop.dims.first().copied()) {
            let few = self.b.ins().icmp_imm_s(IntCC::UnsignedLessThanOrEqual, n, CHUNK * CHUNKS);
            self.must_hold(ir_loop, few);
        }
    }

    /// Checks an array that may be a symbolic zero.
    fn check_optional(&mut self, ir_loop: &mut Loop, var: Var) {
        let (data, dims) = self.seen(var);
        let h = self.val(var);
        let symbolic_zero = self.b.ins().load(
            types::I64,
            TRUSTED.with_readonly().with_can_move(),
            self.frame.ctx,
            runtime::offset::SYMBOLIC_ZERO,
        );
        let there = self.b.ins().icmp(IntCC::NotEqual, h, symbolic_zero);
        let null = self.b.ins().icmp_imm_s(IntCC::Equal, data, 0);
        let hidden = self.b.ins().band(there, null);
        let hidden = self.b.ins().uextend(types::I64, hidden);
        self.must_be_zero(ir_loop, hidden);
        let (all, none) = (self.int(-1), self.int(0));
        let mask = self.b.ins().select(there, all, none);
        self.must_fit(ir_loop, &dims, Some(mask));
        let nothing = self.int(runtime::NOTHING.as_ptr() as i64);
        let base = self.b.ins().select(there, data, nothing);
        ir_loop.inputs.insert(var, ElementRange { base, mask: Some(mask) });
    }

    /// Checks the updated arrays.
    pub(super) fn check_targets(&mut self, g: &Group, l: &mut Loop) {
        for (_, out, m) in g.members.iter().filter(|(_, _, m)| m.changed().is_some()) {
            self.target(l, *out, m);
        }
    }

    /// The part of an array that a member reads.
    fn part(&mut self, ir_loop: &mut Loop, m: &Member) -> ElementRange {
        let base = match m {
            Member::Row { a, at } => {
                let (data, dims) = self.seen(*a);
                self.must_be_there(ir_loop, data);
                let place = self.row_at(ir_loop, data, &dims, at);
                self.must_fit(ir_loop, &dims[at.len()..], None);
                place
            }
            Member::Slice { a, lo, hi } => {
                let (data, dims) = self.seen(*a);
                self.must_be_there(ir_loop, data);
                let (lo, hi) = (self.val(*lo), self.val(*hi));
                let n = self.b.ins().isub(hi, lo);
                let rest: Vec<Value> = std::iter::once(n).chain(dims[1..].iter().copied()).collect();
                self.must_fit(ir_loop, &rest, None);
                self.slice_at(ir_loop, data, &dims, (lo, hi))
            }
            Member::Un(..)
            | Member::Bin(..)
            | Member::Fill { .. }
            | Member::ToRow { .. }
            | Member::ToSlice { .. }
            | Member::Total { .. } => self.frame.ctx,
        };
        ElementRange { base, mask: None }
    }

    /// The address of a row; its indices must be in bounds.
    fn row_at(&mut self, l: &mut Loop, data: Value, dims: &[Value], at: &[Var]) -> Value {
        let mut offset = None;
        for (i, n) in at.iter().zip(dims) {
            let i = self.val(*i);
            let inside = self.b.ins().icmp(IntCC::UnsignedLessThan, i, *n);
            self.must_hold(l, inside);
            offset = Some(match offset {
                None => i,
                Some(o) => {
                    let o = self.b.ins().imul(o, *n);
                    self.b.ins().iadd(o, i)
                }
            });
        }
        let offset = offset.unwrap_or(self.frame.ctx);
        self.advance(data, offset, &dims[at.len()..])
    }

    /// The address after that many blocks of these extents.
    fn advance(&mut self, data: Value, blocks: Value, dims: &[Value]) -> Value {
        let offset = dims.iter().fold(blocks, |o, n| self.b.ins().imul(o, *n));
        let bytes = self.b.ins().ishl_imm_s(offset, 3);
        self.b.ins().iadd(data, bytes)
    }

    /// The address of a slice, which must lie within the array.
    fn slice_at(&mut self, l: &mut Loop, data: Value, dims: &[Value], (lo, hi): (Value, Value)) -> Value {
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, hi, dims[0]);
        self.must_hold(l, inside);
        let ordered = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, lo, hi);
        self.must_hold(l, ordered);
        self.advance(data, lo, &dims[1..])
    }

    /// The part of an array that a member updates.
    fn target(&mut self, ir_loop: &mut Loop, out: Var, m: &Member) {
        let Some(acc) = m.changed() else { return };
        let handle = ir_loop.changed.get(&acc).copied().unwrap_or_else(|| self.val(acc));
        let view = self.view(handle, ValueForm::of(self.f.ty(acc)));
        let base = match m {
            Member::ToRow { at, .. } => {
                self.must_fit(ir_loop, &view.dims[at.len()..], None);
                self.row_at(ir_loop, view.data, &view.dims, at)
            }
            Member::ToSlice { lo, .. } => {
                let lo = self.val(*lo);
                let hi = self.b.ins().iadd(lo, ir_loop.dims[0]);
                let rest: Vec<Value> = std::iter::once(ir_loop.dims[0]).chain(view.dims[1..].iter().copied()).collect();
                self.must_fit(ir_loop, &rest, None);
                self.slice_at(ir_loop, view.data, &view.dims, (lo, hi))
            }
            Member::Un(..)
            | Member::Bin(..)
            | Member::Fill { .. }
            | Member::Row { .. }
            | Member::Slice { .. }
            | Member::Total { .. } => self.frame.ctx,
        };
        ir_loop.changed.insert(out, handle);
        ir_loop.targets.insert(out, ElementRange { base, mask: None });
    }
}

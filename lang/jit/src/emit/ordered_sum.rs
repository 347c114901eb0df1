//! Sums of what a loop collects, without the array of terms, in the order of [`adl_ir::sum_order`].

use super::group::CHUNK;
use super::{EmissionScope, Emit, LOOSE, TRUSTED};
use crate::handle;
use crate::shims;
use adl_interp::ir::live::NEVER;
use adl_ir::{Block, Loop, Op, Out, Trip, Ty, Var};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, BlockArg, InstBuilder, StackSlotData, StackSlotKind, Value, types};

/// The number of partial sums of a chunk.
const PARTIAL: i64 = adl_ir::sum_order::PARTIAL as i64;

/// The pairs of partial sums.
const PAIRS: std::ops::Range<i32> = 0..PARTIAL as i32 / 2;

/// A sum that is being computed.
#[derive(Clone, Copy)]
pub(super) struct OrderedSum {
    /// The variable of the array of terms, and that of the sum.
    terms: Var,
    total: Var,
    /// The address of the partial sums.
    partial: Value,
    /// The trip count, and how many of these iterations add to partial sums.
    count: Value,
    full: Value,
    /// The buffer for the sums of chunks, if there are several.
    chunks: Value,
}

impl Emit<'_, '_, '_> {
    /// Emits the loop at `at` together with the sums of outputs that follow it and are their only use. Returns the first
    /// statement after them.
    pub(super) fn loop_and_sums(&mut self, block: &Block, at: u32, sc: &EmissionScope) -> u32 {
        let stmt = &block.stmts[at as usize];
        let mut next = at + 1;
        if let Op::Loop(l) = &stmt.op {
            let outs = &stmt.outs[l.init.len()..][..l.outs.len()];
            while let Some((terms, total)) = self.summed(block, next, l, outs) {
                self.held.totals.insert(terms, total);
                next += 1;
            }
        }
        self.stmt(stmt, at, sc);
        next
    }

    /// The array of Floats that statement `at` adds up, and its sum, if the array is an output of the loop with no other
    /// use.
    fn summed(&self, block: &Block, at: u32, ir_loop: &Loop, outs: &[Var]) -> Option<(Var, Var)> {
        let sum = block.stmts.get(at as usize)?;
        let (Op::Sum { a: array, .. }, [total]) = (&sum.op, &sum.outs[..]) else { return None };
        let out = outs.iter().position(|v| v == array)?;
        let fits = matches!(ir_loop.trip, Trip::Count(_))
            && !ir_loop.reverse
            && ir_loop.outs[out] == Out::Collect
            && *self.ty(*total) == Ty::F64
            && self.last[total.0 as usize] != NEVER
            && self.last[array.0 as usize] == at
            && !self.held.pinned.contains(array)
            && !self.held.places.contains_key(array)
            && !self.held.totals.contains_key(array);
        fits.then_some((*array, *total))
    }

    /// Emits what precedes the loop.
    pub(super) fn start_sum(&mut self, terms: Var, total: Var, count: Value) -> OrderedSum {
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, 8 * PARTIAL as u32, 3);
        let slot = self.b.create_sized_stack_slot(slot);
        let partial = self.b.ins().stack_addr(types::I64, slot, 0);
        let full = self.b.ins().band_imm_s(count, -PARTIAL);
        let (some, many, ready) = (self.fresh(), self.cold(), self.fresh());
        let chunks = self.b.append_block_param(ready, types::I64);
        self.b.ins().brif(full, some, &[], ready, &[BlockArg::Value(partial)]);
        self.b.switch_to_block(some);
        self.clear(partial);
        let several = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThan, count, CHUNK);
        self.b.ins().brif(several, many, &[], ready, &[BlockArg::Value(partial)]);
        self.b.switch_to_block(many);
        let n = self.b.ins().iadd_imm_s(count, CHUNK - 1);
        let n = self.b.ins().sshr_imm_s(n, i64::from(CHUNK.trailing_zeros()));
        let buffer = self.new_buffer(&Ty::F64, false, Some(n));
        self.goto(ready, &[buffer]);
        self.b.switch_to_block(ready);
        OrderedSum { terms, total, partial, count, full, chunks }
    }

    fn clear(&mut self, partial: Value) {
        let zero = self.b.ins().f64const(0.0);
        let zero = self.b.ins().splat(types::F64X2, zero);
        PAIRS.for_each(|k| _ = self.b.ins().store(LOOSE, zero, partial, 16 * k));
    }

    /// Adds the term of iteration `i`. `rest` is the sum of the terms after the last multiple of 8.
    pub(super) fn add_term(&mut self, ordered: &OrderedSum, index: Value, rest: Value, term: Value) -> Value {
        let (part, single, end, next) = (self.fresh(), self.fresh(), self.cold(), self.fresh());
        let sum = self.b.append_block_param(next, types::F64);
        let whole = self.b.ins().icmp(IntCC::UnsignedLessThan, index, ordered.full);
        self.b.ins().brif(whole, part, &[], single, &[]);
        self.b.switch_to_block(single);
        let added = self.b.ins().fadd(rest, term);
        self.goto(next, &[added]);
        self.b.switch_to_block(part);
        let k = self.b.ins().band_imm_s(index, PARTIAL - 1);
        let bytes = self.b.ins().ishl_imm_s(k, 3);
        let at = self.b.ins().iadd(ordered.partial, bytes);
        let before = self.b.ins().load(types::F64, TRUSTED, at, 0);
        let after = self.b.ins().fadd(before, term);
        self.b.ins().store(TRUSTED, after, at, 0);
        let left = self.b.ins().iadd_imm_s(index, 1);
        let left = self.b.ins().band_imm_s(left, CHUNK - 1);
        self.b.ins().brif(left, next, &[BlockArg::Value(rest)], end, &[]);
        self.b.switch_to_block(end);
        self.end_of_chunk(ordered, index, next, rest);
        self.b.switch_to_block(next);
        sum
    }

    /// Emits the code after the last iteration of a chunk, and the jump to `next`.
    fn end_of_chunk(&mut self, s: &OrderedSum, i: Value, next: ir::Block, rest: Value) {
        let store = self.cold();
        let several = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThan, s.count, CHUNK);
        self.b.ins().brif(several, store, &[], next, &[BlockArg::Value(rest)]);
        self.b.switch_to_block(store);
        let x = self.sum_of_chunk(s, rest);
        self.store_chunk(s, i, x);
        self.clear(s.partial);
        self.goto(next, &[rest]);
    }

    fn store_chunk(&mut self, s: &OrderedSum, i: Value, x: Value) {
        let k = self.b.ins().sshr_imm_s(i, i64::from(CHUNK.trailing_zeros()));
        self.append(s.chunks, k, crate::runtime::WordKind::F64, x);
    }

    /// The sum of a chunk, from its partial sums and the rest.
    fn sum_of_chunk(&mut self, s: &OrderedSum, rest: Value) -> Value {
        let partial: Vec<Value> = PAIRS.map(|k| self.b.ins().load(types::F64X2, LOOSE, s.partial, 16 * k)).collect();
        self.folded(&partial, rest)
    }

    /// Emits what follows the loop, and binds the sum.
    pub(super) fn end_sum(&mut self, ordered: &OrderedSum, rest: Value) {
        let (some, many, done) = (self.fresh(), self.cold(), self.fresh());
        let sum = self.b.append_block_param(done, types::F64);
        self.b.ins().brif(ordered.full, some, &[], done, &[BlockArg::Value(rest)]);
        self.b.switch_to_block(some);
        let last = self.sum_of_chunk(ordered, rest);
        let several = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThan, ordered.count, CHUNK);
        self.b.ins().brif(several, many, &[], done, &[BlockArg::Value(last)]);
        self.b.switch_to_block(many);
        let x = self.sum_of_chunks(ordered, last);
        self.goto(done, &[x]);
        self.b.switch_to_block(done);
        self.bind(ordered.total, sum);
    }

    /// The sum of all chunks, of which `last` is the last one if it is not complete.
    fn sum_of_chunks(&mut self, sum: &OrderedSum, last: Value) -> Value {
        let (part, all) = (self.cold(), self.cold());
        let left = self.b.ins().band_imm_s(sum.count, CHUNK - 1);
        self.b.ins().brif(left, part, &[], all, &[]);
        self.b.switch_to_block(part);
        self.store_chunk(sum, sum.count, last);
        self.goto(all, &[]);
        self.b.switch_to_block(all);
        let n = self.b.ins().iadd_imm_s(sum.count, CHUNK - 1);
        let n = self.b.ins().sshr_imm_s(n, i64::from(CHUNK.trailing_zeros()));
        let h = self.finish(sum.chunks, n, false, sum.terms);
        let data = self.b.ins().load(types::I64, TRUSTED, h, handle::offset::DATA);
        let step = self.int(1);
        let x = self.number_of(shims::of_chunks as *const u8, &[data, step, sum.count]);
        self.release(h);
        x
    }
}

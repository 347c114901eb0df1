//! Rows written directly to the output buffer: an inner loop collects a row, the outer loop only collects the rows, and
//! all rows have the same length, as in `for i < n -> for j < m -> ...`. The inner loop appends its elements to the
//! outer loop's buffer, and no row is allocated.
//!
//! The same holds for rows that are short array literals, as in `for i < n -> [x, y, z]`, also in boxes: all have the
//! same length, and are therefore packed.
//!
//! Rows that an elementwise group computes (`group`), and that are only collected by a loop, are also written to the
//! loop's buffer. If an inner loop collects such rows, its buffer is a slot of the outer loop's buffer, as soon as the
//! outer loop's first row has determined the row length.

use super::{Emit, TRUSTED, params, results};
use crate::handle::{self, ValueForm};
use crate::runtime::WordKind;
use crate::shims;
use adl_ir::{Block, Function, Loop, Op, Out, Stmt, Trip, Ty, Var};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use std::collections::{HashMap, HashSet};

/// Facts about arrays that iterations hand to their loop's output buffer.
#[derive(Default)]
pub(super) struct CollectedRows {
    /// Rows whose only use is that a loop collects them, with the buffer.
    pub buffers: HashMap<Var, Value>,
    /// The rows among them that may be in the buffer already: the variable is null if so.
    pub placed: HashSet<Var>,
    /// Arrays that are symbolic zeros.
    pub symbolic_zero: HashSet<Var>,
}

/// A buffer for the rows of all iterations.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowBuffer {
    pub buffer: Value,
    /// The number of elements of a row.
    width: Value,
    pub kind: WordKind,
    /// The number of the buffer to use if there are no rows.
    id: i64,
    /// Whether the rows are in reverse order of the iterations.
    reverse: bool,
}

/// The destination of the elements of one iteration's row.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowSlot {
    pub buffer: Value,
    pub base: Value,
    pub kind: WordKind,
}

/// The number of uses of a variable in a block.
fn reads(b: &Block, v: Var) -> usize {
    results(b).filter(|r| **r == v).count() + reads_in(&b.stmts, v)
}

fn reads_in(stmts: &[Stmt], v: Var) -> usize {
    let mut n = 0;
    for s in stmts {
        s.op.each_operand(&mut |x| n += usize::from(x == v));
        n +=
            s.op.blocks()
                .into_iter()
                .map(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || reads(b, v)))
                .sum::<usize>();
    }
    n
}

/// The length of a row that an inner loop collects, if it is the same in all iterations.
fn width(l: &Loop, row: Var) -> Option<Var> {
    let made = |s: &&adl_ir::Stmt| s.outs.contains(&row);
    let s = l.body.stmts.iter().find(made)?;
    let Op::Loop(inner) = &s.op else { return None };
    let at = s.outs.iter().position(|v| *v == row)?.checked_sub(inner.init.len())?;
    let Trip::Count(n) = inner.trip else { return None };
    let inside =
        params(&l.body).chain(l.body.stmts.iter().flat_map(|s| s.outs.iter().chain(&s.lin_outs))).any(|v| *v == n);
    (inner.outs.get(at) == Some(&Out::Collect) && !inner.reverse && !inside && reads(&l.body, row) == 1).then_some(n)
}

/// The length of a row that is an array literal of Floats and is only collected.
fn stacked(f: &Function, l: &Loop, row: Var) -> Option<usize> {
    let elems = l.body.stmts.iter().find_map(|s| match (&s.op, &s.outs[..]) {
        (Op::ArrayLit { elems, .. }, [v]) if *v == row => Some(elems),
        _ => None,
    })?;
    (elems.iter().all(|v| *f.ty(*v) == Ty::F64) && reads(&l.body, row) == 1).then_some(elems.len())
}

impl Emit<'_, '_, '_> {
    /// The buffer for the rows that a loop of `n` iterations collects as `row`, if rows can be written to it directly.
    pub(super) fn rows_of(&mut self, ir_loop: &Loop, out: Out, row: Var, n: Option<Value>) -> Option<RowBuffer> {
        let (Ty::Array(elem, 1), Out::Collect | Out::Boxed, Some(count)) = (self.ty(row).clone(), out, n) else {
            return None;
        };
        let columns = match stacked(self.f, ir_loop, row) {
            Some(k) => self.int(k as i64),
            None if out == Out::Boxed => return None,
            None => {
                let width = width(ir_loop, row).filter(|w| {
                    !ir_loop.reverse && elem.is_flat() && elem.rank() == 0 && self.vals[w.0 as usize].is_some()
                })?;
                let (w, zero) = (self.val(width), self.int(0));
                self.b.ins().smax(w, zero)
            }
        };
        Some(self.rows_buffer((row, out == Out::Boxed), count, columns, ir_loop.reverse))
    }

    /// Allocates a buffer for `count` rows of `width` numbers like `row`.
    pub(super) fn rows_buffer(
        &mut self,
        (row, boxed): (Var, bool),
        count: Value,
        width: Value,
        reverse: bool,
    ) -> RowBuffer {
        let ty = self.ty(row).clone();
        let elem = ty.scalar().clone();
        self.job.tables.buffers.push((ty, boxed));
        self.job.tables.buffers.push((elem.clone(), false));
        let id = self.job.tables.buffers.len() as i64 - 1;
        let (scalar, site) = (self.int(id), self.site());
        let site = self.int(i64::from(site));
        let args = [self.frame.ctx, scalar, count, width, site];
        let buffer = self.runtime(shims::new_rows as *const u8, &args, 1).unwrap_or(count);
        let fail = self.frame.fail;
        self.unless(buffer, fail, &[]);
        RowBuffer { buffer, width, kind: WordKind::of(&elem), id: id - 1, reverse }
    }

    /// Before an iteration: records the rows that are only collected by the loop.
    pub(super) fn collect_rows(&mut self, b: &Block, made: impl Iterator<Item = (Var, Value)>) {
        for (v, buffer) in made {
            if ValueForm::of(self.ty(v)).holds_floats() && results(b).filter(|r| **r == v).count() == 1 {
                self.held.collected.buffers.insert(v, buffer);
            }
        }
    }

    /// Whether a result of a group can be written to a loop's buffer: the statements from `end` on do not use it.
    pub(super) fn can_be_placed(&self, v: Var, b: &Block, end: u32) -> bool {
        self.held.collected.buffers.contains_key(&v)
            && ValueForm::of(self.ty(v)).stacked().is_some()
            && results(b).any(|r| *r == v)
            && reads_in(&b.stmts[end as usize..], v) == 0
    }

    /// The address for an iteration's row of extents `dims` in the buffer; null if rows are not stored contiguously.
    pub(super) fn place_in_buffer(&mut self, v: Var, dims: &[Value]) -> Value {
        let buffer = self.held.collected.buffers[&v];
        let (expect, none) = (self.int(i64::from(ValueForm::of(self.ty(v)).0)), self.int(0));
        let dims = self.words_on_stack(dims);
        let args = [self.frame.ctx, buffer, expect, dims];
        self.held.collected.placed.insert(v);
        self.held.viewed.remove(&v);
        self.runtime(shims::row_target as *const u8, &args, 1).unwrap_or(none)
    }

    /// Completes a row that may be in the buffer already (`x` is null); otherwise appends it with `push`.
    pub(super) fn count_row(&mut self, buffer: Value, x: Value, push: impl FnOnce(&mut Self)) {
        let (cold, here, done) = (self.cold(), self.fresh(), self.fresh());
        self.b.ins().brif(x, cold, &[], here, &[]);
        self.b.switch_to_block(cold);
        push(self);
        self.release(x);
        self.goto(done, &[]);
        self.b.switch_to_block(here);
        let n = self.b.ins().load(types::I64, TRUSTED, buffer, handle::offset::DIMS);
        let n = self.b.ins().iadd_imm_s(n, 1);
        self.b.ins().store(TRUSTED, n, buffer, handle::offset::DIMS);
        self.goto(done, &[]);
        self.b.switch_to_block(done);
    }

    /// Before an iteration: computes the destination of its row.
    pub(super) fn place_row(&mut self, row: Var, rows: &RowBuffer, iteration: Value) {
        let base = self.b.ins().imul(iteration, rows.width);
        self.held.places.insert(row, RowSlot { buffer: rows.buffer, base, kind: rows.kind });
    }

    /// Stores an element of an iteration's row.
    pub(super) fn add_to_row(&mut self, p: RowSlot, k: Value, x: Value) {
        let at = self.b.ins().iadd(p.base, k);
        self.append(p.buffer, at, p.kind, x);
    }

    /// Stores the elements of an array literal directly to the loop's buffer, if it is a collected row. Returns whether
    /// it is.
    pub(super) fn stack_in_place(&mut self, s: &Stmt, row: Var, elems: &[Var]) -> bool {
        let Some(p) = self.held.places.remove(&row) else { return false };
        for (k, v) in elems.iter().enumerate() {
            let (k, x) = (self.int(k as i64), self.val(*v));
            self.add_to_row(p, k, x);
        }
        // The row is never read as a value.
        self.held.viewed.remove(&row);
        self.held.pinned.insert(row);
        self.bind_outs(s, &[self.frame.ctx]);
        true
    }

    /// Makes the array of all rows.
    pub(super) fn finish_rows(&mut self, rows: &RowBuffer, n: Value, v: Var) -> Value {
        let (id, expect) =
            (self.int(rows.id), self.int(i64::from(ValueForm::of(self.f.ty(v)).0) << 1 | i64::from(rows.reverse)));
        self.runtime(shims::finish_rows as *const u8, &[self.frame.ctx, rows.buffer, n, rows.width, id, expect], 1)
            .unwrap_or(id)
    }
}

//! Rows that are never materialised: elements of a multidimensional array that a loop reads or an index selects, and of
//! which only elements and extents are read, or which take part in elementwise operations. Such a row is a reference
//! into the array, which outlives the iteration.
//!
//! If the interpreter's operation is needed after all (an index out of bounds, a symbolic zero), the row is
//! materialised for it.

use super::{ArrayView, BoundVar, EmissionScope, Emit, group, is_ref};
use crate::fast_paths::{FastOp, FastOpSite};
use crate::handle::{self, ValueForm};
use crate::runtime::{SlowOp, WordKind};
use crate::shims;
use adl_interp::ir::eval_op::LoweredOp;
use adl_interp::ir::lower::zero_of;
use adl_ir::{Block, Function, Loop, Op, Stmt, Ty, Var};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, Value, types};
use std::collections::HashSet;

/// Finds rows of which only elements and extents are read.
pub(super) fn virtual_rows(func: &Function) -> HashSet<Var> {
    let mut search = VirtualRowSearch { f: func, rows: Vec::new(), indexed: HashSet::new(), whole: HashSet::new() };
    search.block(&func.body);
    // Rows that are not Float arrays are materialised from an array that is itself materialised.
    loop {
        let before = search.whole.len();
        for (p, a) in &search.rows {
            if search.whole.contains(p) && func.ty(*p).rank() > 0 && !ValueForm::of(func.ty(*p)).holds_floats() {
                search.whole.insert(*a);
            }
        }
        if search.whole.len() == before {
            break;
        }
    }
    let flat = |v: &Var| ValueForm::of(func.ty(*v)).0 != 0;
    search.rows.iter().map(|(p, _)| *p).filter(|p| flat(p) && !search.whole.contains(p)).collect()
}

struct VirtualRowSearch<'a> {
    f: &'a Function,
    /// Candidate rows, with their arrays.
    rows: Vec<(Var, Var)>,
    /// The candidates that are selected by an index.
    indexed: HashSet<Var>,
    /// Variables that are needed as values.
    whole: HashSet<Var>,
}

impl VirtualRowSearch<'_> {
    fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match &stmt.op {
                Op::Loop(l) => self.loop_(l),
                Op::Index { a, at, shape } => {
                    if let Some(row) = stmt.outs.first().filter(|v| at.len() == 1 && is_ref(self.f.ty(**v))) {
                        self.rows.push((*row, *a));
                        self.indexed.insert(*row);
                    }
                    if self.f.ty(*a).rank() as usize != at.len() {
                        self.whole.insert(*a);
                    }
                    self.whole.extend(shape);
                }
                Op::Dim(..) => {}
                _ if super::fast_calls::reads_elements(self.f, stmt) => {}
                _ if group::member(self.f, stmt).is_some() => {
                    self.whole.extend(group::member(self.f, stmt).and_then(|(m, _)| m.changed()));
                    // A loop over an array of rows cannot iterate over a row that an index selects.
                    let indexed = &self.indexed;
                    stmt.op.each_operand(&mut |v| {
                        if indexed.contains(&v) {
                            self.whole.insert(v);
                        }
                    });
                }
                op => op.each_operand(&mut |v| {
                    self.whole.insert(v);
                }),
            }
            for part in stmt.op.blocks() {
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.block(part));
            }
        }
        self.whole.extend(block.results.iter().chain(&block.lin_results));
    }

    fn loop_(&mut self, l: &Loop) {
        self.whole.extend(l.init.iter().chain(&l.lin_init));
        let b = &l.body;
        let params = b.params.iter().skip(1 + l.init.len()).chain(b.lin_params.iter().skip(l.lin_init.len()));
        self.rows.extend(params.copied().zip(l.xs.iter().chain(&l.lin_xs).copied()));
    }
}

/// An index operation on one axis.
fn at_index() -> LoweredOp {
    LoweredOp::Op(Op::Index { a: Var(0), at: vec![Var(1)], shape: None })
}

impl Emit<'_, '_, '_> {
    /// Binds a variable to a row of an array that is not modified until the last use of the row. Returns whether this
    /// was possible.
    pub(super) fn bind_row(&mut self, param: Var, array: Var, index: Value) -> bool {
        if !self.held.virtuals.contains(&param) {
            return false;
        }
        let Some(view) = self.vals[array.0 as usize].as_ref().and_then(|b| b.view.clone()) else { return false };
        if view.dims.len() != ValueForm::of(self.ty(param)).rank() + 1 {
            return false;
        }
        let size = match self.ty(param).scalar() {
            Ty::F32 => 4,
            Ty::Bool => 1,
            _ => 8,
        };
        let done = self.fresh();
        for _ in &view.dims {
            self.b.append_block_param(done, types::I64);
        }
        let cold = self.cold();
        let ok = self.b.ins().icmp(IntCC::UnsignedLessThan, index, view.dims[0]);
        self.unless(ok, cold, &[]);
        let mut offset = index;
        for n in &view.dims[1..] {
            offset = self.b.ins().imul(offset, *n);
        }
        let offset = self.b.ins().imul_imm_s(offset, size);
        let data = self.b.ins().iadd(view.data, offset);
        let found: Vec<Value> = std::iter::once(data).chain(view.dims[1..].iter().copied()).collect();
        self.goto(done, &found);
        self.b.switch_to_block(cold);
        self.boxed_row(param, array, index, done);
        let row = self.row(array, index, param);
        self.release(row);
        let zero = self.int(0);
        self.goto(done, &vec![zero; view.dims.len()]);
        self.b.switch_to_block(done);
        let vals = self.b.block_params(done).to_vec();
        self.held.pinned.insert(param);
        self.vals[param.0 as usize] = Some(BoundVar {
            v: vals[0],
            view: Some(ArrayView { data: vals[0], dims: vals[1..].into() }),
            row: Some((array, index)),
        });
        true
    }

    /// Binds a row at an index, if the array outlives the block and does not change in it. Returns whether this was
    /// possible.
    pub(super) fn indexed_row(&mut self, s: &Stmt, sc: &EmissionScope) -> bool {
        let (Op::Index { a, at, .. }, [row]) = (&s.op, &s.outs[..]) else { return false };
        let lives = sc.info.free.contains_key(a)
            && !sc.dying.contains(a)
            && self.vals[a.0 as usize].as_ref().is_some_and(|b| b.row.is_none());
        let [i] = at[..] else { return false };
        if !lives || !self.held.virtuals.contains(row) {
            return false;
        }
        let i = self.val(i);
        self.bind_row(*row, *a, i)
    }

    /// For boxed rows: jumps to `done` with a row's address if the array is materialised.
    fn boxed_row(&mut self, p: Var, a: Var, index: Value, done: ir::Block) {
        let (row, all) = (ValueForm::of(self.ty(p)), ValueForm::of(self.ty(a)));
        let whole = self.vals[a.0 as usize].as_ref().is_some_and(|b| b.row.is_none());
        if !row.is_floats() || all.boxes() != 1 || !whole {
            return;
        }
        let (h, rank) = (self.val(a), self.int(row.rank() as i64));
        if all == ValueForm::RAGGED {
            self.ragged_row(h, index, done);
        }
        let slot = self.b.ins().stack_addr(types::I64, self.frame.slot, 0);
        let Some(data) = self.runtime(shims::row_address as *const u8, &[self.frame.ctx, h, index, rank, slot], 1)
        else {
            return;
        };
        let (found, none) = (self.cold(), self.cold());
        self.b.ins().brif(data, found, &[], none, &[]);
        self.b.switch_to_block(found);
        let dims =
            (0..row.rank()).map(|k| self.b.ins().stack_load(types::I64, types::I64, self.frame.slot, 8 * k as i32));
        let all: Vec<Value> = std::iter::once(data).chain(dims.collect::<Vec<_>>()).collect();
        self.goto(done, &all);
        self.b.switch_to_block(none);
    }

    /// For rows of different lengths: jumps to `done` with a row's address if the array is materialised.
    fn ragged_row(&mut self, h: Value, index: Value, done: ir::Block) {
        let (some, found, none) = (self.fresh(), self.fresh(), self.cold());
        let load = |e: &mut Self, at: Value, offset: i32| e.b.ins().load(types::I64, super::TRUSTED, at, offset);
        let starts = load(self, h, handle::offset::DIMS + 24);
        self.b.ins().brif(starts, some, &[], none, &[]);
        self.b.switch_to_block(some);
        let rows = load(self, h, handle::offset::HINT);
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThan, index, rows);
        self.stays(inside, found, none, &[]);
        self.b.switch_to_block(found);
        let numbers = load(self, h, handle::offset::DIMS + 16);
        let bytes = self.b.ins().ishl_imm_s(index, 3);
        let at = self.b.ins().iadd(starts, bytes);
        let (start, end) = (load(self, at, 0), load(self, at, 8));
        let n = self.b.ins().isub(end, start);
        let bytes = self.b.ins().ishl_imm_s(start, 3);
        let data = self.b.ins().iadd(numbers, bytes);
        self.goto(done, &[data, n]);
        self.b.switch_to_block(none);
    }

    /// Materialises a row as a value with a reference.
    pub(super) fn row(&mut self, array: Var, index: Value, p: Var) -> Value {
        let ty = self.ty(p).clone();
        if self.is_cold() {
            return self.whole_row(array, index, &ty);
        }
        let Some(view) = self.vals[array.0 as usize].as_ref().and_then(|b| b.view.clone()) else {
            return self.whole_row(array, index, &ty);
        };
        let expect = ValueForm::of(&ty);
        if let (Ty::Data(_), ValueForm::CELLS) = (&ty, ValueForm::of(self.ty(array))) {
            return self.cell_at(array, &view, index, &ty);
        }
        if !expect.holds_floats() || view.dims.len() != expect.rank() + 1 {
            return self.whole_row(array, index, &ty);
        }
        let (cold, done) = (self.cold(), self.fresh());
        self.b.append_block_param(done, types::I64);
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThan, index, view.dims[0]);
        self.unless(inside, cold, &[]);
        let blocks = view.dims[1..].iter().fold(index, |o, n| self.b.ins().imul(o, *n));
        let bytes = self.b.ins().ishl_imm_s(blocks, 3);
        let data = self.b.ins().iadd(view.data, bytes);
        let (expect, none) = (self.int(i64::from(expect.0)), self.int(0));
        let dims = self.words_on_stack(&view.dims[1..]);
        let args = [self.frame.ctx, data, expect, dims];
        let copy = self.runtime(shims::copied_part as *const u8, &args, 1).unwrap_or(none);
        self.unless(copy, cold, &[]);
        self.goto(done, &[copy]);
        self.b.switch_to_block(cold);
        let slow = self.whole_row(array, index, &ty);
        self.goto(done, &[slow]);
        self.b.switch_to_block(done);
        self.b.block_params(done)[0]
    }

    /// Reads an element of an array of data.
    fn cell_at(&mut self, array: Var, view: &ArrayView, index: Value, ty: &Ty) -> Value {
        let (cold, done) = (self.cold(), self.fresh());
        self.b.append_block_param(done, types::I64);
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThan, index, view.dims[0]);
        self.unless(inside, cold, &[]);
        let bytes = self.b.ins().ishl_imm_s(index, 3);
        let at = self.b.ins().iadd(view.data, bytes);
        let cell = self.b.ins().load(types::I64, super::TRUSTED, at, 0);
        self.retain(cell);
        self.goto(done, &[cell]);
        self.b.switch_to_block(cold);
        let slow = self.whole_row(array, index, ty);
        self.goto(done, &[slow]);
        self.b.switch_to_block(done);
        self.b.block_params(done)[0]
    }

    /// Materialises a row if the array's elements are not accessible inline.
    fn whole_row(&mut self, a: Var, index: Value, ty: &Ty) -> Value {
        let (h, made) = self.handle(a);
        let Some((way, expect)) = super::fast_calls::row_way(self.ty(a), ty) else {
            return self.slow_row((h, made), a, index, ty);
        };
        if self.is_cold() {
            return self.seldom_row((way, expect), (h, made), a, index, ty);
        }
        self.quick_or(way, &[h, index], &[made, false], expect, |e| e.slow_row((h, made), a, index, ty))
    }

    /// [`Emit::whole_row`] in a single call, for cold blocks.
    fn seldom_row(
        &mut self,
        (what, expect): (FastOp, ValueForm),
        (handle, made): (Value, bool),
        a: Var,
        index: Value,
        ty: &Ty,
    ) -> Value {
        self.job.tables.quick.push(FastOpSite { what, takes: u32::from(made), expect });
        let args = vec![(WordKind::of(self.f.ty(a)), made), (WordKind::I64, false)];
        let site = self.site();
        self.job.tables.slow.push(SlowOp {
            what: at_index(),
            args,
            outs: vec![WordKind::of(ty)],
            zeros: vec![zero_of(ty)],
            site,
        });
        let [quick, slow] = [self.job.tables.quick.len(), self.job.tables.slow.len()].map(|n| n as i64 - 1);
        let (quick, slow) = (self.int(quick), self.int(slow));
        let row =
            self.runtime(shims::row as *const u8, &[self.frame.ctx, quick, slow, handle, index], 1).unwrap_or(handle);
        let fail = self.frame.fail;
        self.unless(row, fail, &[]);
        row
    }

    fn slow_row(&mut self, (h, made): (Value, bool), a: Var, index: Value, ty: &Ty) -> Value {
        let args = [(WordKind::of(self.f.ty(a)), h), (WordKind::I64, index)];
        self.slow_on(at_index(), &args, vec![made, false], vec![WordKind::of(ty)], vec![zero_of(ty)])[0]
    }

    /// The handle of a variable, and whether it was materialised for this use, which must then consume it.
    pub(super) fn handle(&mut self, v: Var) -> (Value, bool) {
        if let Some(text) = self.say(v) {
            return (text, true);
        }
        match self.vals[v.0 as usize].as_ref().and_then(|b| b.row) {
            Some((a, index)) => (self.row(a, index, v), true),
            None => (self.val(v), false),
        }
    }
}

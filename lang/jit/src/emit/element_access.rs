//! Inline element accesses to flat arrays: reads, accumulations, replacements, extents.

use super::{ArrayView, EmissionScope, Emit, is_ref};
use crate::handle::{self, AXES, ValueForm};
use crate::runtime::WordKind;
use crate::shims;
use adl_ir::{Block, Function, Op, Stmt, Ty, Var};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use std::collections::HashSet;

/// The element type of a flat array if all its axes are indexed and fit a handle.
pub(super) fn scalar_at(ty: &Ty, indices: usize) -> Option<Ty> {
    match ty {
        Ty::Array(e, r) if e.is_flat() && *r as usize == indices && indices <= AXES => Some((**e).clone()),
        _ => None,
    }
}

/// Variables whose elements are accessed inline, or whose extents are read.
pub(super) fn viewed(func: &Function) -> HashSet<Var> {
    fn of(func: &Function, b: &Block, out: &mut HashSet<Var>) {
        for stmt in &b.stmts {
            let found = match &stmt.op {
                Op::Index { a, at, .. } if at.len() == 1 && stmt.outs.iter().any(|v| is_ref(func.ty(*v))) => Some(*a),
                Op::Index { a, at, .. } | Op::IndexAdd { acc: a, at, .. } | Op::IndexSet { acc: a, at, .. } => {
                    scalar_at(func.ty(*a), at.len()).map(|_| *a)
                }
                Op::Dim(a, _) => Some(*a),
                _ => None,
            };
            out.extend(found);
            match &stmt.op {
                Op::Loop(l) => out.extend(l.xs.iter().chain(&l.lin_xs)),
                Op::Soac(x) => out.extend(&x.arrays),
                Op::ReduceByIndex { dest, keys, values, .. } => {
                    out.extend(dest.iter().chain(values).chain([keys]).chain(&stmt.outs));
                }
                _ => {}
            }
            for part in stmt.op.blocks() {
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || of(func, part, out));
            }
        }
    }
    let mut out = HashSet::new();
    of(func, &func.body, &mut out);
    out.retain(|v| ValueForm::of(func.ty(*v)).0 != 0);
    out
}

/// The machine type of elements, and their size in bytes.
fn element(ty: &Ty) -> (Type, i64) {
    match ty {
        Ty::F32 => (types::F32, 4),
        Ty::I64 => (types::I64, 8),
        Ty::Bool => (types::I8, 1),
        _ => (types::F64, 8),
    }
}

impl Emit<'_, '_, '_> {
    /// Emits an inline array operation. Returns whether the statement has one.
    pub(super) fn array(&mut self, stmt: &Stmt, at: u32, sc: &EmissionScope) -> bool {
        match &stmt.op {
            Op::Index { a, at: is, .. } => self.index(stmt, *a, is, at, sc),
            Op::IndexAdd { acc, at: is, v, .. } => self.update(stmt, (*acc, *v), is, true, at, sc),
            Op::IndexSet { acc, at: is, v, .. } => self.update(stmt, (*acc, *v), is, false, at, sc),
            Op::Dim(a, axis) => self.dim(stmt, *a, *axis, at, sc),
            Op::ArrayLit { elems, .. } => self.shape_later(stmt) || self.stack(stmt, elems),
            Op::Dup(a) => {
                let x = self.val(*a);
                if is_ref(self.ty(*a)) {
                    self.retain(x);
                    if !self.dies(*a, at, sc) {
                        self.retain(x);
                    }
                }
                self.bind_outs(stmt, &[x, x]);
                true
            }
            Op::Drop(a) => {
                self.release_dying(&[*a], at, sc);
                true
            }
            _ => false,
        }
    }

    /// The view of a variable, and its element type, if it can be accessed inline with that many indices.
    fn reach(&self, a: Var, indices: usize) -> Option<(ArrayView, Ty)> {
        let elem = scalar_at(self.f.ty(a), indices)?;
        let view = self.vals[a.0 as usize].as_ref()?.view.clone()?;
        Some((view, elem))
    }

    /// The address of an element; jumps to `slow` if an index is out of bounds.
    fn address(&mut self, view: &ArrayView, is: &[Value], elem: &Ty, slow: cranelift_codegen::ir::Block) -> Value {
        let mut offset = None;
        for (i, n) in is.iter().zip(&view.dims) {
            let ok = self.b.ins().icmp(IntCC::UnsignedLessThan, *i, *n);
            self.unless(ok, slow, &[]);
            offset = Some(match offset {
                None => *i,
                Some(o) => {
                    let row = self.b.ins().imul(o, *n);
                    self.b.ins().iadd(row, *i)
                }
            });
        }
        let (_, size) = element(elem);
        let bytes = match offset {
            Some(o) if size > 1 => self.b.ins().ishl_imm_s(o, i64::from(size.trailing_zeros())),
            Some(o) => o,
            None => return view.data,
        };
        self.b.ins().iadd(view.data, bytes)
    }

    fn index(&mut self, s: &Stmt, a: Var, is: &[Var], at: u32, sc: &EmissionScope) -> bool {
        let Some((view, elem)) = self.reach(a, is.len()) else { return false };
        let is: Vec<Value> = is.iter().map(|v| self.val(*v)).collect();
        let x = self.element(&view, &is, &elem, |e| e.slow_lent(s)[0]);
        self.bind_outs(s, &[x]);
        self.release_dying(&[a], at, sc);
        true
    }

    /// Loads an element; if an index is out of bounds, the result is the value that `slow` emits.
    pub(super) fn element(
        &mut self,
        view: &ArrayView,
        is: &[Value],
        elem: &Ty,
        slow: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        let (t, _) = element(elem);
        let (cold, done) = (self.cold(), self.fresh());
        self.b.append_block_param(done, t);
        let p = self.address(view, is, elem, cold);
        let x = self.b.ins().load(t, TRUSTED, p, 0);
        self.goto(done, &[x]);
        self.b.switch_to_block(cold);
        let y = slow(self);
        self.goto(done, &[y]);
        self.b.switch_to_block(done);
        self.b.block_params(done)[0]
    }

    /// Loads the element of an array at a loop's index. `None` if it has no inline access.
    pub(super) fn element_of(&mut self, a: Var, i: Value, slow: impl FnOnce(&mut Self) -> Value) -> Option<Value> {
        let (view, elem) = self.reach(a, 1)?;
        Some(self.element(&view, &[i], &elem, slow))
    }

    /// Accumulates to or replaces an element in place, if the array has a single reference.
    fn update(&mut self, s: &Stmt, (acc, v): (Var, Var), is: &[Var], add: bool, at: u32, sc: &EmissionScope) -> bool {
        let Some((view, elem)) = self.reach(acc, is.len()) else { return false };
        if *self.ty(v) != elem || add && !elem.is_real() || !self.dies(acc, at, sc) {
            return false;
        }
        let is: Vec<Value> = is.iter().map(|v| self.val(*v)).collect();
        let (h, x) = (self.val(acc), self.val(v));
        let made = self.update_in_place((h, &view), &is, x, &elem, add, |e| e.slow(s, at, sc)[0]);
        self.bind_outs(s, &[made]);
        true
    }

    /// [`Emit::update`] on machine values. Returns the handle after the update.
    pub(super) fn update_in_place(
        &mut self,
        (handle, view): (Value, &ArrayView),
        is: &[Value],
        value: Value,
        elem: &Ty,
        add: bool,
        slow: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        let (cold, done) = (self.cold(), self.fresh());
        self.b.append_block_param(done, types::I64);
        let address = self.address(view, is, elem, cold);
        let rc = self.b.ins().load(types::I64, TRUSTED, handle, handle::offset::RC);
        let alone = self.b.ins().icmp_imm_s(IntCC::Equal, rc, 1);
        self.unless(alone, cold, &[]);
        let owned = self.b.ins().load(types::I64, TRUSTED, handle, handle::offset::OWNED);
        self.unless(owned, cold, &[]);
        let new = if add {
            let (t, _) = element(elem);
            let old = self.b.ins().load(t, TRUSTED, address, 0);
            self.b.ins().fadd(old, value)
        } else {
            value
        };
        self.b.ins().store(TRUSTED, new, address, 0);
        self.goto(done, &[handle]);
        self.b.switch_to_block(cold);
        let other = slow(self);
        self.goto(done, &[other]);
        self.b.switch_to_block(done);
        self.b.block_params(done)[0]
    }

    /// An array literal of Floats, which are stored directly to their positions.
    fn stack(&mut self, stmt: &Stmt, elems: &[Var]) -> bool {
        let Some(out) = stmt.outs.iter().chain(&stmt.lin_outs).next().copied() else { return false };
        if self.stack_in_place(stmt, out, elems) {
            return true;
        }
        if ValueForm::of(self.ty(out)) != ValueForm::ROW
            || elems.is_empty()
            || elems.iter().any(|v| *self.ty(*v) != Ty::F64)
        {
            return false;
        }
        let (none, n) = (self.int(0), self.int(elems.len() as i64));
        let h = self.runtime(shims::target_row as *const u8, &[self.frame.ctx, none, n], 1).unwrap_or(none);
        let fail = self.cold();
        let done = self.fresh();
        self.b.append_block_param(done, types::I64);
        self.unless(h, fail, &[]);
        let data = self.b.ins().load(types::I64, TRUSTED, h, handle::offset::DATA);
        for (k, v) in elems.iter().enumerate() {
            let x = self.val(*v);
            self.b.ins().store(TRUSTED, x, data, 8 * k as i32);
        }
        self.goto(done, &[h]);
        self.b.switch_to_block(fail);
        let other = self.slow_lent(stmt)[0];
        self.goto(done, &[other]);
        self.b.switch_to_block(done);
        let made = self.b.block_params(done)[0];
        self.bind_outs(stmt, &[made]);
        true
    }

    fn dim(&mut self, s: &Stmt, a: Var, axis: u32, at: u32, sc: &EmissionScope) -> bool {
        let Some(view) = self.vals[a.0 as usize].as_ref().and_then(|b| b.view.clone()) else { return false };
        let Some(n) = view.dims.get(axis as usize).copied() else { return false };
        let x = self.or_slow(s, view.data, n);
        self.bind_outs(s, &[x]);
        self.release_dying(&[a], at, sc);
        true
    }

    /// Stores an element after `len` others in an output buffer.
    pub(super) fn append(&mut self, buffer: Value, len: Value, kind: WordKind, value: Value) {
        let data = self.with_room(buffer, (IntCC::SignedGreaterThan, len), shims::grow_buffer as *const u8);
        self.store_at(data, len, kind, value);
    }

    /// Ensures room for `count` elements in an empty output buffer. Returns the address of the first.
    pub(super) fn reserve(&mut self, buffer: Value, count: Value) -> Value {
        self.with_room(buffer, (IntCC::SignedGreaterThanOrEqual, count), shims::reserve_buffer as *const u8)
    }

    /// The address of a buffer whose capacity compares so with a number; otherwise the runtime enlarges it first.
    fn with_room(&mut self, buffer: Value, (enough, n): (IntCC, Value), enlarge: *const u8) -> Value {
        let (cold, done) = (self.cold(), self.fresh());
        let room = self.b.ins().load(types::I64, TRUSTED, buffer, handle::offset::OWNED);
        let ok = self.b.ins().icmp(enough, room, n);
        self.b.ins().brif(ok, done, &[], cold, &[]);
        self.b.switch_to_block(cold);
        let site = self.site();
        let site = self.int(i64::from(site));
        self.fallible(enlarge, &[self.frame.ctx, buffer, n, site]);
        self.goto(done, &[]);
        self.b.switch_to_block(done);
        self.b.ins().load(types::I64, TRUSTED, buffer, handle::offset::DATA)
    }

    /// Stores an element of an array of scalars.
    pub(super) fn store_at(&mut self, data: Value, at: Value, kind: WordKind, value: Value) {
        let elem = match kind {
            WordKind::F32 => Ty::F32,
            WordKind::I64 => Ty::I64,
            WordKind::Bool => Ty::Bool,
            WordKind::F64 | WordKind::Ref(_) | WordKind::Data(_) => Ty::F64,
        };
        let (_, size) = element(&elem);
        let bytes = self.b.ins().ishl_imm_s(at, i64::from(size.trailing_zeros()));
        let p = self.b.ins().iadd(data, bytes);
        self.b.ins().store(TRUSTED, value, p, 0);
    }
}

const TRUSTED: MemFlagsData = MemFlagsData::trusted();

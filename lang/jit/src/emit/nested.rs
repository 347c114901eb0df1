//! Rows that are made where they belong: what a loop inside a loop collects, where the outer one only collects the rows and all are equally
//! long, as in `for i < n -> for j < m -> ...`. The inner loop adds its elements to the outer one's buffer, and no row is an array.

use super::{Emit, params, results};
use crate::collect;
use crate::handle::Expect;
use crate::runtime::Kind;
use adl_ir::{Block, Loop, Op, Out, Ty, Turns, Var};
use cranelift_codegen::ir::{InstBuilder, Value};

/// A buffer for all rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub buffer: Value,
    /// Elements of a row.
    width: Value,
    pub kind: Kind,
    /// The buffer's number among those of rows that nobody knows yet.
    id: i64,
}

/// Where the elements of a turn's row go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub buffer: Value,
    pub base: Value,
    pub kind: Kind,
}

/// How often a block reads a variable.
fn reads(b: &Block, v: Var) -> usize {
    let mut n = results(b).filter(|r| **r == v).count();
    for s in &b.stmts {
        s.op.each_operand(&mut |x| n += usize::from(x == v));
        n += s.op.blocks().into_iter().map(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || reads(b, v))).sum::<usize>();
    }
    n
}

/// The length of a row that a loop collects, if a loop inside makes it, always as long.
fn width(l: &Loop, row: Var) -> Option<Var> {
    let made = |s: &&adl_ir::Stmt| s.outs.contains(&row);
    let s = l.body.stmts.iter().find(made)?;
    let Op::Loop(inner) = &s.op else { return None };
    let at = s.outs.iter().position(|v| *v == row)?.checked_sub(inner.init.len())?;
    let Turns::For(n) = inner.turns else { return None };
    let inside = params(&l.body).chain(l.body.stmts.iter().flat_map(|s| s.outs.iter().chain(&s.lin_outs))).any(|v| *v == n);
    (inner.outs.get(at) == Some(&Out::Collect) && !inner.reverse && !inside && reads(&l.body, row) == 1).then_some(n)
}

impl Emit<'_, '_, '_> {
    /// The buffer for the rows that a loop of `n` turns collects as `row`, if a loop inside may add to it.
    pub(super) fn rows_of(&mut self, l: &Loop, out: Out, row: Var, n: Option<Value>) -> Option<Rows> {
        let (Ty::Array(elem, 1), Out::Collect, false, Some(n)) = (self.ty(row).clone(), out, l.reverse, n) else { return None };
        let width = width(l, row).filter(|w| elem.is_flat() && elem.rank() == 0 && self.vals[w.0 as usize].is_some())?;
        let (w, zero) = (self.val(width), self.int(0));
        let w = self.b.ins().smax(w, zero);
        self.job.tables.buffers.push((self.ty(row).clone(), false));
        self.job.tables.buffers.push(((*elem).clone(), false));
        let id = self.job.tables.buffers.len() as i64 - 1;
        let (scalar, site) = (self.int(id), self.site());
        let site = self.int(i64::from(site));
        let buffer = self.runtime(collect::new_rows as *const u8, &[self.ctx, scalar, n, w, site], 1)?;
        let fail = self.fail;
        self.unless(buffer, fail, &[]);
        Some(Rows { buffer, width: w, kind: Kind::of(&elem), id: id - 1 })
    }

    /// Before a turn: where its row goes.
    pub(super) fn place_row(&mut self, row: Var, rows: &Rows, turn: Value) {
        let base = self.b.ins().imul(turn, rows.width);
        self.places.insert(row, Place { buffer: rows.buffer, base, kind: rows.kind });
    }

    /// An element of a turn's row.
    pub(super) fn add_to_row(&mut self, p: Place, k: Value, x: Value) {
        let at = self.b.ins().iadd(p.base, k);
        self.append(p.buffer, at, p.kind, x);
    }

    /// The array of all rows.
    pub(super) fn finish_rows(&mut self, rows: &Rows, n: Value, v: Var) -> Value {
        let (id, expect) = (self.int(rows.id), self.int(i64::from(Expect::of(self.f.ty(v)).0)));
        self.runtime(collect::finish_rows as *const u8, &[self.ctx, rows.buffer, n, rows.width, id, expect], 1).unwrap_or(id)
    }
}

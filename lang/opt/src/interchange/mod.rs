//! Reductions, scans and histograms over rows are interchanged with the map over columns (IRWIM, ISWIM, IRBIWIM of
//! *Reverse-Mode AD of Multi-Reduce and Scan in Futhark*) where native code gains by it. A scalar accumulator lives
//! in a register, while a row as accumulator is an array in each iteration.
//!
//! - Histograms become histograms of the rows' elements, because rows of bins would be copied out and back at each
//!   key. Those by `+`, `*`, `min` or `max` remain on the CPU, where one loop combines whole rows.
//! - Reductions and scans are interchanged for rows of a few numbers (`NARROW`). For wide rows the order of
//!   elements in memory favours the original. The width is known only at run time, so both forms are emitted.
//! - Independent components are separated first, so that those with rows can be interchanged.
//!
//! The pass runs after fusion, which looks for the producers of the rows. The order of additions and
//! multiplications within each column does not change.

mod columns;

pub use columns::{arbitrary_value, by_columns, flattened, keys_of_elements, like_another, parts};

use crate::limits::interchange::NARROW;
use crate::rebuild::Rebuild;
use adl_ir::{Block, Builder, Cmp, Function, Lit, Op, Stmt, Var};
use std::collections::HashMap;

/// Interchanges for native code. Returns whether the function changed.
pub fn interchange(f: &mut Function) -> bool {
    turned(f, NARROW)
}

/// Interchanges for a device, which processes columns in parallel, however many there are.
pub fn for_device(f: &mut Function) -> bool {
    turned(f, i64::MAX)
}

/// Interchanges operations on rows of at most `narrow` numbers.
fn turned(f: &mut Function, narrow: i64) -> bool {
    if !has_rows(f, &f.body) {
        return false;
    }
    let mut t = Interchanger { b: Builder::on(f.clone()), filled: HashMap::new(), narrow, changed: false };
    let made = t.block(&f.body);
    if t.changed {
        *f = Function { body: made, ..t.b.func };
    }
    t.changed
}

/// Whether an operation reduces, scans or counts arrays.
fn of_rows(f: &Function, op: &Op) -> bool {
    let row = |v: &Var| f.ty(*v).rank() > 0 && f.ty(*v).scalar().is_flat();
    match op {
        Op::Soac(c) => c.neutral.iter().any(row),
        Op::ReduceByIndex { neutral, dest, values, .. } => neutral.iter().any(row) && dest.len() == values.len(),
        _ => false,
    }
}

fn has_rows(f: &Function, b: &Block) -> bool {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        b.stmts.iter().any(|s| of_rows(f, &s.op) || s.op.blocks().into_iter().any(|b| has_rows(f, b)))
    })
}

struct Interchanger {
    b: Builder,
    /// Variables bound to a literal, and arrays with one literal at all indices.
    filled: HashMap<Var, Lit>,
    /// Largest width of rows.
    narrow: i64,
    changed: bool,
}

impl Rebuild for Interchanger {
    fn builder(&mut self) -> &mut Builder {
        &mut self.b
    }

    fn stmt(&mut self, stmt: &Stmt) {
        self.b.span = stmt.span;
        if of_rows(&self.b.func, &stmt.op) && self.turned(stmt) {
            self.changed = true;
            return;
        }
        let mut s = stmt.clone();
        for inner in s.op.blocks_mut() {
            *inner = self.block(inner);
        }
        self.learn(&s);
        self.b.push(s);
    }
}

impl Interchanger {
    fn learn(&mut self, s: &Stmt) {
        let known = match &s.op {
            Op::Lit(l) => Some(l.clone()),
            Op::Replicate { a, .. } | Op::Broadcast { a, .. } => self.filled.get(a).cloned(),
            _ => None,
        };
        if let ([v], Some(l)) = (s.outs.as_slice(), known) {
            self.filled.insert(*v, l);
        }
    }

    /// Emits the interchanged form of a statement, if there is one.
    fn turned(&mut self, stmt: &Stmt) -> bool {
        if let Some(parts) = parts(&mut self.b, &stmt.op) {
            let any = parts.iter().any(|(_, op)| of_rows(&self.b.func, op) && self.columns(op).is_some());
            for (places, op) in parts.into_iter().filter(|_| any) {
                let outs = places.iter().map(|k| stmt.outs[*k]).collect();
                self.stmt(&Stmt { outs, lin_outs: Vec::new(), op, span: stmt.span });
            }
            return any;
        }
        let on_cpu = self.narrow < i64::MAX;
        if let (true, Op::ReduceByIndex { op, .. }) = (on_cpu, &stmt.op)
            && columns::in_one_step(&self.b.func, op).is_some()
        {
            return false;
        }
        let rows = if on_cpu { self.aside(|b, _| columns::by_rows(b, &stmt.op)) } else { None };
        let Some((before, op)) = rows.or_else(|| self.columns(&stmt.op)) else { return false };
        match &stmt.op {
            Op::Soac(c) if self.narrow < i64::MAX => self.narrow(stmt, c.neutral[0], (&before, op)),
            _ => {
                before.iter().for_each(|s| self.stmt(s));
                self.stmt(&Stmt { op, ..stmt.clone() });
            }
        }
        true
    }

    /// The operation by columns, and the statements that it needs before it.
    fn columns(&mut self, op: &Op) -> Option<(Vec<Stmt>, Op)> {
        self.aside(|b, filled| by_columns(b, op, &|v| filled.get(&v).cloned()))
    }

    /// An operation that `make` emits, and the statements that it needs before it.
    fn aside(&mut self, make: impl FnOnce(&mut Builder, &HashMap<Var, Lit>) -> Option<Op>) -> Option<(Vec<Stmt>, Op)> {
        self.b.open();
        let made = make(&mut self.b, &self.filled);
        let before = self.b.close(Vec::new(), Vec::new());
        Some((before.stmts, made?))
    }

    /// Emits a branch: the form by columns for narrow rows, the original statement for others.
    fn narrow(&mut self, stmt: &Stmt, row: Var, (before, op): (&[Stmt], Op)) {
        let (width, most) = (self.b.dim(row, 0), self.b.int(self.narrow));
        let wide = self.b.cmp(Cmp::Gt, width, most);
        self.b.open();
        let mut names = HashMap::new();
        let as_it_was = self.b.copy_stmt(stmt, &mut names);
        let results = as_it_was.outs.clone();
        self.b.push(as_it_was);
        let rows = self.b.close(results, Vec::new());
        self.b.open();
        before.iter().for_each(|s| self.stmt(s));
        let outs = self.b.like(&stmt.outs);
        self.stmt(&Stmt { outs: outs.clone(), lin_outs: Vec::new(), op, span: stmt.span });
        let columns = self.b.close(outs, Vec::new());
        self.b.push(Stmt { op: Op::If(wide, Box::new(rows), Box::new(columns)), ..stmt.clone() });
    }
}

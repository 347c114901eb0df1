//! Prepares functions for the device: removes carried arrays from the loops of a function and its callees.
//!
//! The transposed half of a derivative carries arrays that each iteration only accumulates to and does not otherwise
//! read: sums over the iterations. Turning them into sums makes the iterations independent, as kernels require. The
//! order of the additions changes.
//!
//! This module rewrites a loop's results and adds the sums after it. `accumulated_terms` finds what an iteration adds, through
//! branches and inner loops.

use super::accumulated_terms::{self, RowsAfterLoop, Term};
use adl_ir::{Block, Cmp, FnId, Function, Lit, Loop, Op, Out, Program, Stmt, Trip, Ty, Var, Zeros};
use adl_opt::pipelines;
use adl_prim::{Bin, GeneralFn, Prim};
use std::collections::HashMap;

/// A program in which all callees of `f` are prepared.
pub(super) fn ready(p: &Program, f: FnId) -> Program {
    let mut p = p.clone();
    for id in p.callees(f, |_, _| true) {
        let mut own = (**p.func(id)).clone();
        adl_opt::run(pipelines::FOR_DEVICE, &p, &mut own, Zeros::Symbolic);
        let mut body = std::mem::take(&mut own.body);
        block(&mut own, &mut body, &mut HashMap::new(), false);
        own.body = body;
        p.set(id, own);
    }
    p
}

/// The program with vector operations of this function as loops, for arguments without symbolic zeros.
pub(super) fn vectors(p: &Program, f: FnId) -> Program {
    let mut p = p.clone();
    let mut own = (**p.func(f)).clone();
    adl_opt::run(pipelines::VECTORS, &p, &mut own, Zeros::Symbolic);
    p.set(f, own);
    p
}

/// Rewrites a block. Returns whether anything changed. `groups`: accumulations that were moved after inner loops, by
/// their result. `within`: whether the block is in a loop.
fn block(f: &mut Function, body: &mut Block, groups: &mut HashMap<Var, RowsAfterLoop>, within: bool) -> bool {
    let mut changed = false;
    let stmts = std::mem::take(&mut body.stmts);
    for mut stmt in stmts {
        let looped = within || matches!(stmt.op, Op::Loop(_));
        for inner in stmt.op.blocks_mut() {
            changed |= stacker::maybe_grow(64 * 1024, 1024 * 1024, || block(f, inner, groups, looped));
        }
        let after = match &mut stmt.op {
            Op::Loop(l) if l.lin_init.is_empty() && l.lin_outs.is_empty() => match l.trip {
                Trip::Count(n) => sums(f, l, n, &mut stmt.outs, groups, within),
                Trip::While(_) => Vec::new(),
            },
            _ => Vec::new(),
        };
        changed |= !after.is_empty();
        body.stmts.push(stmt);
        body.stmts.extend(after);
    }
    changed
}

/// Appends a statement with one result.
pub(super) fn push(f: &mut Function, to: &mut Vec<Stmt>, op: Op, ty: Ty) -> Var {
    let v = f.fresh(ty, false);
    to.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op, span: Default::default() });
    v
}

/// Turns carried values that are only accumulated to into sums. Returns the statements that add them to the initial
/// values.
fn sums(
    func: &mut Function,
    ir_loop: &mut Loop,
    trip: Var,
    outs: &mut Vec<Var>,
    groups: &mut HashMap<Var, RowsAfterLoop>,
    within: bool,
) -> Vec<Stmt> {
    let mut after = Vec::new();
    let mut k = 0;
    while k < ir_loop.init.len() {
        let Some(steps) = accumulated_terms::steps(func, ir_loop, k, groups) else {
            k += 1;
            continue;
        };
        let (init, old) = (ir_loop.init.remove(k), outs.remove(k));
        ir_loop.body.params.remove(k + 1);
        ir_loop.body.results.remove(k);
        let mut inside = accumulated_terms::bound(&ir_loop.body);
        let terms = accumulated_terms::lifted(func, &mut ir_loop.body, steps, &mut inside);
        let mut before = init;
        for (i, term) in terms.iter().enumerate() {
            let last = (i + 1 == terms.len()).then_some(old);
            before = Adding {
                f: &mut *func,
                l: &mut *ir_loop,
                n: trip,
                outs: &mut *outs,
                groups: &mut *groups,
                after: &mut after,
                acc: init,
                inside: &inside,
                within,
            }
            .add(term, before, last);
        }
        if terms.is_empty() {
            // No iteration adds anything.
            after.push(Stmt { outs: vec![old], lin_outs: Vec::new(), op: Op::Dup(init), span: Default::default() });
        }
    }
    after
}

/// A loop from which one carried value is being removed.
struct Adding<'a> {
    f: &'a mut Function,
    l: &'a mut Loop,
    n: Var,
    outs: &'a mut Vec<Var>,
    groups: &'a mut HashMap<Var, RowsAfterLoop>,
    after: &'a mut Vec<Stmt>,
    /// The initial value.
    acc: Var,
    /// The variables bound in the loop.
    inside: &'a std::collections::HashSet<Var>,
    /// Whether the loop is in another loop, to which the additions may be moved.
    within: bool,
}

impl Adding<'_> {
    /// Adds a variable of the body to the loop's outputs.
    fn put(&mut self, v: Var, out: Out) -> Var {
        let ty = self.f.ty(v).clone();
        let ty = if out == Out::Sum { ty } else { Ty::Array(std::rc::Rc::new(ty.scalar().clone()), ty.rank() + 1) };
        let (made, place) = (self.f.fresh(ty, false), self.l.init.len() + self.l.outs.len());
        self.l.outs.push(out);
        self.l.body.results.push(v);
        self.outs.insert(place, made);
        made
    }

    /// Adds one term of all iterations to the previous value. `last`: the variable for the final value, if this is the
    /// last term.
    fn add(&mut self, term: &Term, before: Var, last: Option<Var>) -> Var {
        let ty = self.f.ty(self.acc).clone();
        let to = last.unwrap_or_else(|| self.f.fresh(ty, false));
        let op = if term.keys.is_empty() {
            Op::Bin(Bin::Add, before, self.put(term.v, Out::Sum))
        } else if term.rows.is_none() && term.keys.iter().all(|k| !self.inside.contains(k)) {
            Op::IndexAdd { acc: before, at: term.keys.clone(), v: self.put(term.v, Out::Sum), shape: term.shape }
        } else if !self.within && term.rows.is_none() && term.taken.is_none() && term.keys == [self.l.body.params[0]] {
            // Each iteration has its own index, so that no two collide.
            let zero = push(self.f, self.after, Op::Lit(Lit::I64(0)), Ty::I64);
            let v = self.put(term.v, Out::Collect);
            Op::SliceAdd { acc: before, lo: zero, hi: self.n, v, shape: term.shape }
        } else {
            return self.add_rows(term, before, to);
        };
        self.after.push(Stmt { outs: vec![to], lin_outs: Vec::new(), op, span: Default::default() });
        to
    }

    /// [`Adding::add`] for terms whose indices vary between iterations: they are collected, and then added by one
    /// operation.
    fn add_rows(&mut self, t: &Term, before: Var, to: Var) -> Var {
        let (axes, mut extents, at) = match &t.rows {
            Some((axes, extents)) => (*axes, extents.clone(), t.keys[0]),
            None => (t.keys.len(), Vec::new(), self.place(t)),
        };
        extents.insert(0, self.n);
        let (at, value) = (self.put(at, Out::Collect), self.put(t.v, Out::Collect));
        let begin = self.after.len();
        let ty = self.f.ty(self.acc).clone();
        let (func, after) = (&mut *self.f, &mut *self.after);
        let shape = t.shape.unwrap_or_else(|| push(func, after, Op::Shape(self.acc), Ty::shape()));
        if axes == 1 {
            after.push(Stmt {
                outs: vec![to],
                lin_outs: Vec::new(),
                op: Op::GatherAdd { acc: before, at, v: value, shape: Some(shape) },
                span: Default::default(),
            });
        } else {
            let dims: Vec<Var> = (0..ty.rank()).map(|k| extent(func, after, shape, k as usize)).collect();
            let (mut all, rest) = (dims[0], &dims[axes..]);
            for d in &dims[1..axes] {
                all = push(func, after, Op::Bin(Bin::Mul, all, *d), Ty::I64);
            }
            let flat = push(func, after, Op::ArrayLit { elems: [&[all], rest].concat(), shape: None }, Ty::shape());
            let row = Ty::Array(std::rc::Rc::new(ty.scalar().clone()), rest.len() as u32 + 1);
            let acc = push(func, after, Op::Reshape { a: before, to: flat, from: None }, row.clone());
            let sum = push(func, after, Op::GatherAdd { acc, at, v: value, shape: Some(flat) }, row);
            after.push(Stmt {
                outs: vec![to],
                lin_outs: Vec::new(),
                op: Op::Reshape { a: sum, to: shape, from: None },
                span: Default::default(),
            });
        }
        let made = after[begin..].iter().flat_map(|s| s.outs.iter().copied()).collect();
        let term = Term { keys: vec![at], v: value, shape: Some(shape), rows: Some((axes, extents)), taken: None };
        self.groups.insert(to, RowsAfterLoop { acc: before, term, made });
        to
    }

    /// The linear index of an iteration's term, negative if nothing is added. Each iteration checks its bounds, because
    /// the addition after the loop skips indices out of bounds.
    fn place(&mut self, term: &Term) -> Var {
        let (func, stmts) = (&mut *self.f, &mut self.l.body.stmts);
        let (zero, no, yes) = (
            push(func, stmts, Op::Lit(Lit::I64(0)), Ty::I64),
            push(func, stmts, Op::Lit(Lit::Bool(false)), Ty::Bool),
            push(func, stmts, Op::Lit(Lit::Bool(true)), Ty::Bool),
        );
        let none = push(func, stmts, Op::Lit(Lit::I64(-1)), Ty::I64);
        let (mut inside, mut at) = (None, None);
        for (k, key) in term.keys.iter().enumerate() {
            let size = match term.shape {
                Some(s) => extent(func, stmts, s, k),
                None => push(func, stmts, Op::Dim(self.acc, k as u32), Ty::I64),
            };
            let (low, high) = (
                push(func, stmts, Op::Cmp(Cmp::Ge, *key, zero), Ty::Bool),
                push(func, stmts, Op::Cmp(Cmp::Lt, *key, size), Ty::Bool),
            );
            let fine = push(func, stmts, Op::Select(low, high, no), Ty::Bool);
            inside = Some(inside.map_or(fine, |i| push(func, stmts, Op::Select(i, fine, no), Ty::Bool)));
            // An index far out of bounds must not cause an overflow.
            let key = push(func, stmts, Op::Select(fine, *key, zero), Ty::I64);
            at = Some(at.map_or(key, |at| {
                let at = push(func, stmts, Op::Bin(Bin::Mul, at, size), Ty::I64);
                push(func, stmts, Op::Bin(Bin::Add, at, key), Ty::I64)
            }));
        }
        let (inside, at) = (inside.unwrap_or(no), at.unwrap_or(none));
        let (fine, at) = match term.taken {
            Some(taken) => (
                push(func, stmts, Op::Select(taken, inside, yes), Ty::Bool),
                push(func, stmts, Op::Select(taken, at, none), Ty::I64),
            ),
            None => (inside, at),
        };
        stmts.push(Stmt {
            outs: Vec::new(),
            lin_outs: Vec::new(),
            op: Op::Prim(Prim::General(GeneralFn::Assert), vec![fine]),
            span: Default::default(),
        });
        at
    }
}

/// One extent of a shape.
fn extent(f: &mut Function, to: &mut Vec<Stmt>, shape: Var, axis: usize) -> Var {
    let k = push(f, to, Op::Lit(Lit::I64(axis as i64)), Ty::I64);
    push(f, to, Op::Index { a: shape, at: vec![k], shape: None }, Ty::I64)
}

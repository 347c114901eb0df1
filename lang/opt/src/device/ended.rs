//! An array of which a loop makes all elements but the last, and which gets another number or row at its end, as
//! derivatives of reductions produce it: one loop makes all elements.
//!
//! ```text
//! m = n - 1; v = loop for m … collect { … y }; r = slice_add (index_add 0 [m] x) 0 m v
//! ⟼  r = loop for n (i) … collect { … i < m ? y : x }
//! ```

use super::{Ints, SEEN};
use crate::fuse::reads;
use adl_ir::{Block, Cmp, Function, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use adl_syntax::span::Span;
use std::collections::HashMap;

/// Rewrites such arrays. Returns whether there were any.
pub(super) fn ended(f: &mut Function, b: &mut Block, ints: &Ints) -> bool {
    let mut changed = false;
    while let Some(found) = find(f, b, ints) {
        write(f, b, &found);
        changed = true;
    }
    for s in &mut b.stmts {
        if !matches!(&s.op, Op::Loop(l) if l.init.is_empty()) {
            s.op.blocks_mut()
                .into_iter()
                .for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || changed |= ended(f, b, ints)));
        }
    }
    changed
}

/// Such an array: the positions of the loop and of the statement that adds its elements, the element at the end,
/// and both lengths.
struct EndedArray {
    made: usize,
    added: usize,
    x: Var,
    n: Var,
    m: Var,
}

fn find(func: &Function, block: &Block, ints: &Ints) -> Option<EndedArray> {
    let place = |v: Var| block.stmts.iter().position(|s| s.outs.contains(&v));
    let alone =
        |v: Var| !block.results.contains(&v) && block.stmts.iter().filter(|s| reads(s).contains(&v)).count() == 1;
    block.stmts.iter().enumerate().find_map(|(added, stmt)| {
        let Op::SliceAdd { acc, lo, hi, v: value, shape: Some(shape) } = &stmt.op else { return None };
        let Op::IndexAdd { acc: nothing, at, v: element, shape: Some(_) } = &block.stmts[place(*acc)?].op else {
            return None;
        };
        let made = place(*value)?;
        let Op::Loop(ir_loop) = &block.stmts[made].op else { return None };
        let fits = ints.is(*lo, 0)
            && at[..] == [*hi]
            && ir_loop.trip == Trip::Count(*hi)
            && ir_loop.outs[..] == [Out::Collect]
            && ir_loop.init.is_empty()
            && ir_loop.lin_init.is_empty();
        let zero = place(*nothing).is_some_and(|p| matches!(block.stmts[p].op, Op::Zero(_)));
        let before = ints.before(*hi)?;
        let numbers = written(func, &ir_loop.body, ir_loop.body.results[0])?;
        let written =
            ints.seen(ir_loop) + numbers <= SEEN && !func.linear(stmt.outs[0]) && func.ty(*element).scalar().is_real();
        (fits
            && zero
            && ints.begins(*shape, before)
            && written
            && alone(*acc)
            && alone(*value)
            && ir_loop.xs.iter().all(|a| !func.linear(*a)))
        .then_some(EndedArray { made, added, x: *element, n: before, m: *hi })
    })
}

/// The number of scalars that one iteration returns, if its row is written out element by element.
fn written(f: &Function, b: &Block, v: Var) -> Option<usize> {
    if f.ty(v).is_flat() {
        return Some(1);
    }
    parts(b, v)?.iter().map(|v| written(f, b, *v)).sum()
}

fn parts(b: &Block, v: Var) -> Option<&[Var]> {
    b.stmts
        .iter()
        .find(|s| s.outs.first() == Some(&v))
        .and_then(|s| if let Op::ArrayLit { elems, .. } = &s.op { Some(&elems[..]) } else { None })
}

fn write(f: &mut Function, b: &mut Block, found: &EndedArray) {
    let Op::Loop(l) = b.stmts[found.made].op.clone() else { return };
    let span = b.stmts[found.added].span;
    let trip = f.fresh(Ty::I64, false);
    let l = Ending { f, outside: b, iteration: *l, stmts: Vec::new(), span }.all(found);
    let out = b.stmts[found.added].outs[0];
    b.stmts[found.added] = Stmt { outs: vec![out, trip], lin_outs: Vec::new(), op: Op::Loop(Box::new(l)), span };
    b.stmts.remove(found.made);
}

struct Ending<'a> {
    f: &'a mut Function,
    outside: &'a Block,
    iteration: Loop,
    stmts: Vec<Stmt>,
    span: Span,
}

impl Ending<'_> {
    fn push(&mut self, op: Op, ty: Ty) -> Var {
        let v = self.f.fresh(ty, false);
        self.stmts.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op, span: self.span });
        v
    }

    fn all(&mut self, found: &EndedArray) -> Loop {
        let index = self.f.fresh(Ty::I64, false);
        let within = self.push(Op::Cmp(Cmp::Lt, index, found.m), Ty::Bool);
        let one = self.push(Op::Lit(Lit::I64(1)), Ty::I64);
        let last = self.push(Op::Bin(Bin::Sub, found.m, one), Ty::I64);
        // What the last iteration reads is not used, but the index has to be in bounds.
        let place = self.push(Op::Bin(Bin::Min, index, last), Ty::I64);
        let old = self.iteration.clone();
        let mut names = HashMap::from([(old.body.params[0], place)]);
        for (x, a) in old.body.params[1..].iter().zip(&old.xs) {
            let ty = self.f.ty(*x).clone();
            names.insert(*x, self.push(Op::Index { a: *a, at: vec![place], shape: None }, ty));
        }
        let mut body = old.body.clone();
        body.stmts.iter_mut().for_each(|s| crate::fuse::rename_op(&mut s.op, &names));
        let result = names.get(&body.results[0]).copied().unwrap_or(body.results[0]);
        self.stmts.append(&mut body.stmts);
        let made = self.chosen(within, result, found.x, &mut Vec::new());
        let body = Block {
            params: vec![index],
            stmts: std::mem::take(&mut self.stmts),
            results: vec![made],
            ..Block::default()
        };
        Loop { trip: Trip::Count(found.n), reverse: false, xs: Vec::new(), body, ..old }
    }

    /// Selects between the result of an iteration and the element at the end, scalar by scalar.
    fn chosen(&mut self, within: Var, v: Var, element: Var, at: &mut Vec<i64>) -> Var {
        let ty = self.f.ty(v).clone();
        if ty.is_flat() {
            let x = self.number(element, at, &ty);
            let one = self.push(Op::Select(within, v, x), ty.clone());
            // The original `slice_add` adds to 0.0, so its result is never -0.0. This addition gives the same.
            let zero = self.push(Op::Lit(crate::real(&ty, 0.0)), ty.clone());
            return self.push(Op::Bin(Bin::Add, zero, one), ty);
        }
        let own = Block { stmts: self.stmts.clone(), ..Block::default() };
        let elems = parts(&own, v).unwrap_or_default().to_vec();
        let elems = elems.into_iter().enumerate().map(|(k, e)| {
            at.push(k as i64);
            let made = self.chosen(within, e, element, at);
            at.pop();
            made
        });
        let elems = elems.collect();
        self.push(Op::ArrayLit { elems, shape: None }, ty)
    }

    /// A scalar of the element at the end.
    fn number(&mut self, x: Var, at: &[i64], ty: &Ty) -> Var {
        let (mut x, mut at) = (x, at);
        while let (Some((k, rest)), Some(all)) = (at.split_first(), parts(self.outside, x)) {
            (x, at) = (all[*k as usize], rest);
        }
        if at.is_empty() {
            return x;
        }
        let at = at.iter().copied().map(|k| self.push(Op::Lit(Lit::I64(k)), Ty::I64)).collect();
        self.push(Op::Index { a: x, at, shape: None }, ty.clone())
    }
}

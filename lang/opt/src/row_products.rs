//! Products of the rows of a matrix with another matrix, in a loop over the rows, as one product before the loop.
//!
//! ```text
//! loop for n over (x) (i, row) { … z = matmul row w … }
//! ⟼  y = matmul x w;  loop for n over (x, y) (i, row, z) { … }
//! ```
//!
//! If a loop computes the rows, it is split in functions that are differentiated. So a function of one example that runs
//! over many costs as much as the same function of all examples, and so do its derivatives. `matmul w row` is a row of
//! `matmul x (transpose w)`.
//!
//! A sum of outer products is a product as well, which is added in another order:
//!
//! ```text
//! y = loop for n over (x) collect (i, row) { … o = outer u row; o };  s = sum y
//! ⟼  v = loop for n over (x) collect (i, row) { … u };  s = matmul (transpose v) x
//! ```
//!
//! Products with matrices that scalar replacement takes apart stay in the loop ([`mod@crate::short_rows`]).
//!
//! Each row of a product has the same bits as the product of that row. The product of a matrix and a vector is added in
//! another order ([`adl_ir::Contract`]), which is kept in functions that are not differentiated.

use crate::fuse::{definitions, readers, reads};
use crate::index_pushdown::Order;
use crate::rebuild::Rebuild;
use crate::shapes::Extents;
use crate::short_rows::is_small;
use adl_ir::rewrite::purity::op_has_output;
use adl_ir::{Block, Builder, Cmp, Contract, Function, Loop, Op, Out, Stmt, Terms, Trip, Ty, Var};
use std::collections::{HashMap, HashSet};

/// Hoists products out of loops. Returns whether there were any.
pub fn products(f: &mut Function, order: Order) -> bool {
    let mut body = std::mem::take(&mut f.body);
    let outer = order == Order::Free && outer_products(f, &mut body);
    f.body = body;
    hoisted(f, order) || outer
}

fn hoisted(f: &mut Function, order: Order) -> bool {
    if !in_loops(f, &f.body, false) {
        return false;
    }
    let extents = Extents::of(f);
    let mut p = RowProducts { b: Builder::on(f.clone()), order, extents, changed: false };
    let body = p.block(&f.body);
    if p.changed {
        *f = Function { body, ..p.b.func };
    }
    p.changed
}

/// Whether a block has a product with a vector in a loop.
fn in_loops(f: &Function, b: &Block, inside: bool) -> bool {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        b.stmts.iter().any(|s| {
            let deep = inside || matches!(s.op, Op::Loop(_));
            inside && row_of(f, s).is_some() || s.op.blocks().into_iter().any(|b| in_loops(f, b, deep))
        })
    })
}

/// The vector and the matrix of a product, and whether the vector is the left operand.
fn row_of(f: &Function, s: &Stmt) -> Option<(Var, Var, bool)> {
    let (Op::MatMul(a, b), [_]) = (&s.op, &s.outs[..]) else { return None };
    let vector = |v: &Var| *f.ty(*v) == Ty::F64.array(1);
    let matrix = |v: &Var| *f.ty(*v) == Ty::F64.array(2);
    match (vector(a) && matrix(b), matrix(a) && vector(b)) {
        (true, _) => Some((*a, *b, true)),
        (_, true) => Some((*b, *a, false)),
        _ => None,
    }
}

fn has_no_linear(l: &Loop) -> bool {
    l.lin_init.is_empty() && l.lin_xs.is_empty() && l.lin_outs.is_empty()
}

/// The array over whose rows a loop runs that binds this row.
fn row_in(l: &Loop, row: Var) -> Option<Var> {
    let k = l.body.params.iter().skip(1 + l.init.len()).position(|p| *p == row)?;
    Some(l.xs[k])
}

/// Whether a loop of its own can compute a vector: it depends on no carried value, and the rest of the loop needs nothing else
/// that costs much.
fn may_be_collected(f: &Function, l: &Loop, row: Var) -> bool {
    let Some(first) = behind(l, row) else { return false };
    let carried = &l.body.params[1..=l.init.len()];
    let made: HashSet<Var> = first.iter().flat_map(|s| s.outs.iter().copied()).collect();
    let alone = first.iter().any(|s| s.outs == [row]);
    let costly = |s: &&Stmt| s.outs != [row] && !s.outs.iter().all(|v| f.ty(*v).is_flat());
    let kept: HashSet<Var> = first.iter().filter(costly).flat_map(|s| s.outs.iter().copied()).collect();
    let rest = l.body.stmts.iter().filter(|s| !s.outs.iter().any(|v| made.contains(v)));
    let needed = rest.flat_map(reads).chain(l.body.results.iter().copied()).any(|v| kept.contains(&v));
    alone && !needed && !first.iter().flat_map(reads).any(|v| carried.contains(&v))
}

/// The statements of a loop that a variable depends on. `None` if it is a parameter.
fn behind(l: &Loop, v: Var) -> Option<Vec<Stmt>> {
    let (mut needed, mut all) = (HashSet::from([v]), Vec::new());
    for s in l.body.stmts.iter().rev() {
        if s.outs.iter().any(|v| needed.contains(v)) {
            needed.extend(reads(s));
            all.push(s.clone());
        }
    }
    all.reverse();
    (!all.is_empty()).then_some(all)
}

/// A product that can be taken out of a loop.
struct ProductSite {
    /// The result.
    at: Vec<Var>,
    row: Var,
    by: Var,
    left: bool,
}

struct RowProducts {
    b: Builder,
    order: Order,
    extents: Extents,
    changed: bool,
}

impl Rebuild for RowProducts {
    fn builder(&mut self) -> &mut Builder {
        &mut self.b
    }

    fn stmt(&mut self, s: &Stmt) {
        let mut s = s.clone();
        self.b.span = s.span;
        s.op.blocks_mut().into_iter().for_each(|b| *b = self.block(b));
        self.b.span = s.span;
        self.hoist(&mut s);
        self.b.push(s);
    }
}

impl RowProducts {
    /// Takes the products with rows out of a loop.
    fn hoist(&mut self, stmt: &mut Stmt) {
        let Op::Loop(ir_loop) = &mut stmt.op else { return };
        let plain = has_no_linear(ir_loop) && !ir_loop.body.stmts.iter().any(|s| op_has_output(&s.op));
        if !plain || !matches!(ir_loop.trip, Trip::Count(_)) {
            return;
        }
        while let Some(site) = self.site(ir_loop) {
            let ProductSite { at, row, by, left } = site;
            let x = match row_in(ir_loop, row) {
                Some(x) => x,
                None => self.rows_before(ir_loop, row),
            };
            let y = self.product(x, by, left);
            let product = ir_loop.body.stmts.iter().position(|s| s.outs == at);
            product.map(|k| ir_loop.body.stmts.remove(k));
            ir_loop.xs.push(y);
            ir_loop.body.params.extend(at);
            self.changed = true;
        }
    }

    /// The first product that can be taken out of a loop.
    fn site(&self, l: &Loop) -> Option<ProductSite> {
        let f = &self.b.func;
        let bound = |v: &Var| l.body.params.contains(v) || l.body.stmts.iter().any(|s| s.outs.contains(v));
        l.body.stmts.iter().find_map(|s| {
            let (row, by, left) = row_of(f, s).filter(|(_, by, _)| !bound(by) && !is_small(&self.extents, *by))?;
            let rows = match row_in(l, row) {
                Some(x) => *f.ty(x) == Ty::F64.array(2),
                None => self.order == Order::Free && may_be_collected(f, l, row),
            };
            rows.then(|| ProductSite { at: s.outs.clone(), row, by, left })
        })
    }

    /// Splits a loop: emits one that collects a vector, and lets the rest read the rows.
    fn rows_before(&mut self, ir_loop: &mut Loop, row: Var) -> Var {
        let stmts = behind(ir_loop, row).unwrap_or_default();
        let read: HashSet<Var> = stmts.iter().flat_map(reads).collect();
        let carried = 1 + ir_loop.init.len();
        let elems = ir_loop.body.params[carried..].iter().zip(&ir_loop.xs).filter(|(p, _)| read.contains(p));
        let (params, xs): (Vec<Var>, Vec<Var>) = elems.map(|(p, x)| (*p, *x)).unzip();
        let params = ir_loop.body.params[..1].iter().copied().chain(params).collect();
        let body = Block { params, stmts, results: vec![row], ..Block::default() };
        let body = self.b.copy_block(&body, &mut HashMap::new());
        let (init, outs) = (Vec::new(), vec![Out::Collect]);
        let first = Loop { init, xs, outs, reverse: false, body, ..ir_loop.clone() };
        let all = self.b.emit(Op::Loop(Box::new(first)), &[Ty::F64.array(2), Ty::I64], &[]).0[0];
        ir_loop.body.stmts.retain(|s| s.outs != [row]);
        ir_loop.xs.push(all);
        ir_loop.body.params.push(row);
        all
    }

    /// Emits the products of all rows.
    fn product(&mut self, rows: Var, by: Var, left: bool) -> Var {
        let ty = Ty::F64.array(2);
        if left {
            return self.b.one(Op::MatMul(rows, by), ty);
        }
        if self.order == Order::Free {
            let turned = self.b.one(Op::Transpose(by), ty.clone());
            return self.b.one(Op::MatMul(rows, turned), ty);
        }
        let size = [self.b.dim(rows, 0), self.b.dim(by, 0), self.b.dim(by, 1)];
        let columns = self.b.dim(rows, 1);
        let fits = self.b.cmp(Cmp::Eq, columns, size[2]);
        self.b.assert(fits, "the extents of a product differ");
        let c = Contract { terms: Terms::Mul, a: rows, b: by, size, turned: [false, false] };
        self.b.one(Op::Contract(Box::new(c)), ty)
    }
}

/// Rewrites the sums of outer products in a block. Returns whether there were any.
fn outer_products(function: &mut Function, block: &mut Block) -> bool {
    let mut changed = false;
    for inner in block.stmts.iter_mut().flat_map(|s| s.op.blocks_mut()) {
        changed |= stacker::maybe_grow(64 * 1024, 1024 * 1024, || outer_products(function, inner));
    }
    if !block.stmts.iter().any(|s| matches!(s.op, Op::Sum { .. })) {
        return changed;
    }
    let (defs, readers) = (definitions(block), readers(block));
    let mut turned: Vec<(usize, Stmt)> = Vec::new();
    for at in 0..block.stmts.len() {
        let Op::Sum { a, .. } = block.stmts[at].op else { continue };
        let Some(map) = defs.get(&a).copied().filter(|p| *p < at && readers.get(&a) == Some(&1)) else { continue };
        let Some([left, right]) = factors(function, &mut block.stmts[map], a) else { continue };
        let columns = function.fresh(Ty::F64.array(2), false);
        let (op, span) = (Op::Transpose(left), block.stmts[at].span);
        turned.push((at, Stmt { outs: vec![columns], lin_outs: Vec::new(), op, span }));
        block.stmts[at].op = Op::MatMul(columns, right);
    }
    changed |= !turned.is_empty();
    turned.into_iter().rev().for_each(|(at, s)| block.stmts.insert(at, s));
    changed
}

/// If a loop collects the outer products of vectors in an array: the matrices of these vectors, which it collects instead.
fn factors(function: &mut Function, map: &mut Stmt, array: Var) -> Option<[Var; 2]> {
    let place = map.outs.iter().position(|v| *v == array)?;
    let Op::Loop(ir_loop) = &mut map.op else { return None };
    let carried = ir_loop.init.len();
    let plain = matches!(ir_loop.trip, Trip::Count(_)) && has_no_linear(ir_loop);
    let collected = place.checked_sub(carried).filter(|k| plain && ir_loop.outs.get(*k) == Some(&Out::Collect))?;
    let product = ir_loop.body.results[place];
    let at = ir_loop.body.stmts.iter().position(|s| s.outs == [product])?;
    let Op::Outer(left, right) = ir_loop.body.stmts[at].op else { return None };
    let vectors = [left, right].iter().all(|v| *function.ty(*v) == Ty::F64.array(1));
    if !vectors || readers(&ir_loop.body).get(&product) != Some(&1) {
        return None;
    }
    // A vector from outside of the loop is the same in all iterations, and has no matrix.
    let bound = |v: &Var| ir_loop.body.params.contains(v) || ir_loop.body.stmts.iter().any(|s| s.outs.contains(v));
    if !bound(&left) || !bound(&right) {
        return None;
    }
    ir_loop.body.stmts.remove(at);
    ir_loop.body.results.remove(place);
    ir_loop.outs.remove(collected);
    map.outs.remove(place);
    Some([left, right].map(|v| {
        let row = ir_loop.body.params.iter().skip(1 + carried).position(|p| *p == v);
        if let Some(x) = row.map(|k| ir_loop.xs[k]).filter(|x| *function.ty(*x) == Ty::F64.array(2)) {
            return x;
        }
        let all = function.fresh(Ty::F64.array(2), false);
        map.outs.insert(carried, all);
        ir_loop.outs.insert(0, Out::Collect);
        ir_loop.body.results.insert(carried, v);
        all
    }))
}

//! Recognises sums of products in comprehensions as contractions, which a tuned kernel computes.
//!
//! ```text
//! for i < n, j < m -> g (sum for l < k -> a[i, l] * b[l, j])
//! ⟼  c = contract a (b turned) n m k;  for i < n, j < m -> g c[i, j]
//! ```
//!
//! The term must be a product of two factors: one depends on `i` and `l`, the other on `j` and `l`. A factor that
//! is an element of an array defined outside of the nest is read in place, whichever index comes first. Any other
//! factor is first computed into a matrix of its own, which costs a fraction of the sums. Without the index `i` the
//! contraction is a vector–matrix product.
//!
//! Each of `i`, `j` and `l` may stand for several indices. So a layer of convolutions is a product of matrices:
//!
//! ```text
//! for j < o, g < r, h < s -> sum for k < c, u < 3, v < 3 -> x[k, g + u, h + v] * w[j, k, u, v]
//! ```
//!
//! has the rows `j`, the columns `(g, h)` and the terms `(k, u, v)`; the matrix of `x` has a column for each window.
//!
//! With one index for the terms the results have the same bits, because a contraction adds terms in the order of `sum`
//! ([`adl_ir::Contract`]). Sums over several indices are added as one sum.
//! The sum may be in a branch that is taken for the first rows, or for the first columns, only.
//!
//! The numbers of rows and columns are known only at run time, so the original nest is kept as an alternative for
//! small ones.

mod nest;
mod tables;
mod vectors;

pub use vectors::vector_products;

use crate::limits::contract::COPIED;
use crate::rebuild::Rebuild;
use adl_ir::{Block, Builder, Cmp, Contract, Conv, Function, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use nest::{
    ContractionSearch, ContractionSite, Factor, Limit, Nest, NestDef, collecting, found, may_recompute, summed,
};
use std::collections::{HashMap, HashSet};

/// Which products become contractions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Products {
    /// Those of two matrices. A function may still be inlined into a loop, where the product of a vector and a matrix
    /// is a row of a product of two matrices.
    Matrices,
    /// Those of a vector and a matrix, too.
    All,
}

/// Introduces contractions. Returns whether the function changed.
pub fn contract(f: &mut Function, products: Products) -> bool {
    if !sums_in_loops(f, &f.body, 0) {
        return false;
    }
    let search = ContractionSearch { ints: literals(&f.body), products };
    let mut c = Contractions { b: Builder::on(f.clone()), search, split: false, changed: false };
    let made = c.block(&f.body);
    if c.changed {
        *f = Function { body: made, ..c.b.func };
    }
    c.changed
}

/// The results of the sums that can become contractions, and of the sums inside of them.
pub(crate) fn sums_of_contractions(f: &Function) -> HashSet<Var> {
    let mut all = HashSet::new();
    if sums_in_loops(f, &f.body, 0) {
        sums_of_block(f, &ContractionSearch { ints: literals(&f.body), products: Products::All }, &f.body, &mut all);
    }
    all
}

fn sums_of_block(f: &Function, search: &ContractionSearch, b: &Block, all: &mut HashSet<Var>) {
    for s in &b.stmts {
        if let Some(site) = found(f, search, s) {
            all.extend(&site.sums);
        }
        let inner = || s.op.blocks().into_iter().for_each(|b| sums_of_block(f, search, b, all));
        stacker::maybe_grow(64 * 1024, 1024 * 1024, inner);
    }
}

/// The literal Ints of a block and of the blocks inside of it.
pub(crate) fn literals(b: &Block) -> HashMap<Var, i64> {
    let (mut ints, mut work) = (HashMap::new(), vec![b]);
    while let Some(b) = work.pop() {
        for s in &b.stmts {
            if let Op::Lit(Lit::I64(n)) = s.op {
                ints.insert(s.outs[0], n);
            }
            work.extend(s.op.blocks());
        }
    }
    ints
}

/// Whether a sum over an index occurs inside of a loop.
fn sums_in_loops(f: &Function, b: &Block, depth: usize) -> bool {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        b.stmts.iter().any(|s| {
            let inner = depth + usize::from(matches!(s.op, Op::Loop(_)));
            depth > 0 && summed(f, b, s).is_some() || s.op.blocks().into_iter().any(|b| sums_in_loops(f, b, inner))
        })
    })
}

struct Contractions {
    b: Builder,
    search: ContractionSearch,
    /// Whether the nest at hand is the rest of one whose outermost loop stays around a table.
    split: bool,
    changed: bool,
}

impl Rebuild for Contractions {
    fn builder(&mut self) -> &mut Builder {
        &mut self.b
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let func = std::mem::take(&mut self.b.func);
        let found = found(&func, &self.search, stmt);
        let table = if found.is_none() { tables::found(&func, stmt, self.split) } else { None };
        self.b.func = func;
        if let Some(mut found) = found {
            self.limit(&mut found);
            let pays_off = self.pays_off(&found);
            return self.choice(stmt, pays_off, |c| c.emit_contraction(stmt, &found));
        }
        if let Some(table) = table.as_ref().filter(|t| !t.outside) {
            let (extents, pays_off) = self.table_pays_off(table);
            return self.choice(stmt, pays_off, |c| c.emit_table(stmt, table, &extents));
        }
        let before = std::mem::replace(&mut self.split, table.is_some());
        let mut s = stmt.clone();
        for b in s.op.blocks_mut() {
            *b = self.block(b);
        }
        self.split = before;
        self.b.push(s);
    }
}

impl Contractions {
    /// Emits the numbers of rows and columns of which the sums are computed.
    fn limit(&mut self, site: &mut ContractionSite) {
        for Limit { of, sides, least } in &site.limits {
            let (index, trips) = site.nest.loops[*of];
            let zero = self.b.int(0);
            // The difference at the index 0 is the last index; or the number of indices, if it may not be 0.
            let [first, second] = sides.map(|v| self.made(&site.nest, v, &mut HashMap::from([(index, zero)])));
            let (one, last) = (self.b.int(1 - *least), self.b.bin(Bin::Sub, first, second));
            let count = self.b.bin(Bin::Add, last, one);
            let count = self.b.bin(Bin::Max, count, zero);
            site.nest.loops[*of].1 = self.b.bin(Bin::Min, count, trips);
        }
    }

    /// Emits a statement in another form where a condition holds.
    fn choice(&mut self, stmt: &Stmt, pays_off: Var, emit: impl FnOnce(&mut Self) -> Vec<Var>) {
        self.changed = true;
        self.b.open();
        let results = emit(self);
        let some = self.b.close(results, Vec::new());
        self.b.open();
        let rest = self.b.copy_stmt(stmt, &mut HashMap::new());
        let results = rest.outs.clone();
        self.b.push(rest);
        let few = self.b.close(results, Vec::new());
        self.b.push(Stmt { op: Op::If(pays_off, Box::new(some), Box::new(few)), ..stmt.clone() });
    }

    /// Emits the condition under which a contraction pays off at run time. Products of extents are Floats, which do
    /// not overflow.
    fn pays_off(&mut self, site: &ContractionSite) -> Var {
        let mut all = Vec::new();
        for (axes, least) in site.extents() {
            match axes {
                [] => {}
                [(_, n)] => {
                    let least = self.b.int(least);
                    all.push(self.b.cmp(Cmp::Ge, *n, least));
                }
                axes => {
                    let n = self.elements(axes.iter().map(|a| a.1));
                    all.push(self.compared(Cmp::Ge, n, least as f64));
                }
            }
        }
        for side in site.sides.iter().filter(|side| !site.nest.is_matrix(side)) {
            let n = self.elements(site.nest.axes(side).iter().map(|a| a.1));
            all.push(self.compared(Cmp::Le, n, COPIED as f64));
        }
        self.all(all)
    }

    /// Emits the comparison of a Float with a literal.
    fn compared(&mut self, order: Cmp, n: Var, with: f64) -> Var {
        let with = self.b.lit(Lit::F64(with));
        self.b.cmp(order, n, with)
    }

    /// Emits the conjunction of conditions.
    fn all(&mut self, conditions: Vec<Var>) -> Var {
        let no = self.b.lit(Lit::Bool(false));
        conditions.into_iter().reduce(|all, c| self.b.one(Op::Select(all, c, no), Ty::Bool)).unwrap_or(no)
    }

    /// Emits the product of extents as a Float.
    fn elements(&mut self, extents: impl IntoIterator<Item = Var>) -> Var {
        let mut all = None;
        for n in extents {
            let n = self.b.convert(Conv::ToF64, n);
            all = Some(all.map_or(n, |all| self.b.bin(Bin::Mul, all, n)));
        }
        all.unwrap_or_else(|| self.b.lit(Lit::F64(1.0)))
    }

    /// Emits the product of the extents of some axes.
    fn extent(&mut self, axes: &[(Var, Var)]) -> Var {
        let Some(((_, first), rest)) = axes.split_first() else { return self.b.int(1) };
        rest.iter().fold(*first, |all, (_, n)| self.b.bin(Bin::Mul, all, *n))
    }

    /// Emits an array with other extents.
    fn reshape(&mut self, a: Var, extents: Vec<Var>) -> Var {
        let ty = self.b.ty(a).scalar().array(extents.len() as u32);
        let to = self.b.one(Op::ArrayLit { elems: extents, shape: None }, Ty::I64.array(1));
        self.b.one(Op::Reshape { a, to, from: None }, ty)
    }

    /// Emits the contraction and the rest of the nest. Returns the results.
    fn emit_contraction(&mut self, stmt: &Stmt, found: &ContractionSite) -> Vec<Var> {
        let ContractionSite { nest, sum, terms, sides, .. } = found;
        let ((first, left), (second, right)) = (self.factor(nest, &sides[0]), self.factor(nest, &sides[1]));
        let collects = &nest.loops[..nest.collects];
        let rank = if sides[0].rows.is_empty() { 1 } else { 2 };
        let [n, m] = [&sides[0], &sides[1]].map(|side| self.extent(&collects[side.rows.clone()]));
        let k = self.extent(nest.terms());
        let c = Contract { terms: *terms, a: first, b: second, size: [n, m, k], turned: [left, right] };
        let mut c = self.b.one(Op::Contract(Box::new(c)), Ty::F64.array(rank));
        if collects.len() > rank as usize {
            c = self.reshape(c, collects.iter().map(|l| l.1).collect());
        }
        if stmt.outs.len() == 2 && is_all(&self.b.func, stmt, sum.outs[0]) {
            return vec![c, collects[0].1];
        }
        let read = Stmt {
            op: Op::Index { a: c, at: collects.iter().map(|l| l.0).collect(), shape: None },
            outs: vec![sum.outs[0]],
            lin_outs: Vec::new(),
            span: sum.span,
        };
        let mut rest = stmt.clone();
        replace(&mut rest, sum.outs[0], &[read]);
        let rest = self.b.copy_stmt(&rest, &mut HashMap::new());
        let results = rest.outs.clone();
        self.stmt(&rest);
        results
    }

    /// Emits a factor as an array. The Bool tells whether its first index runs over the terms.
    fn factor(&mut self, nest: &Nest, side: &Factor) -> (Var, bool) {
        let mut axes = nest.axes(side);
        if let Some((a, at, turned)) = nest.factor_place(&self.b.func, side) {
            let ty = Ty::F64.array(axes.len() as u32);
            return (if at.is_empty() { a } else { self.b.one(Op::Index { a, at, shape: None }, ty) }, turned);
        }
        // The kernel reads columns term by term, so that their indices are the inner ones; but short ones.
        let short = axes[..side.rows.len()].last().is_some_and(|(_, n)| self.search.ints.contains_key(n));
        let turned = side.rows.end == nest.collects && side.rows.len() > 1 && !short;
        let mut extents = vec![self.extent(nest.terms())];
        if !side.rows.is_empty() {
            let rows = self.extent(&nest.loops[side.rows.clone()]);
            extents.insert(usize::from(turned), rows);
        }
        axes.rotate_left(if turned { side.rows.len() } else { 0 });
        let mut names = HashMap::new();
        for (index, _) in &axes {
            self.b.open();
            let new = self.b.param(Ty::I64);
            names.insert(*index, new);
        }
        let mut made = self.made(nest, side.v, &mut names);
        for (rank, (_, n)) in axes.iter().rev().enumerate() {
            made = self.close_loop(*n, Out::Collect, made, Ty::F64.array(rank as u32 + 1));
        }
        (if extents.len() < axes.len() { self.reshape(made, extents) } else { made }, turned)
    }

    /// Closes the open block as a loop with a result of this type.
    fn close_loop(&mut self, trips: Var, out: Out, result: Var, ty: Ty) -> Var {
        let ir_loop = Loop { outs: vec![out], ..Loop::new(Trip::Count(trips), self.b.close(vec![result], Vec::new())) };
        self.b.emit(Op::Loop(Box::new(ir_loop)), &[ty, Ty::I64], &[]).0[0]
    }

    /// Recomputes a variable of the nest outside of it.
    fn made(&mut self, nest: &Nest, var: Var, names: &mut HashMap<Var, Var>) -> Var {
        if let Some(v) = names.get(&var) {
            return *v;
        }
        let ty = self.b.ty(var);
        let op = match (nest.place(var), nest.defs.get(&var)) {
            (_, None) => return var,
            (Some((a, at)), _) if self.b.ty(a) == ty.scalar().array(at.len() as u32 + ty.rank()) => {
                Op::Index { a, at: at.iter().map(|i| self.made(nest, *i, names)).collect(), shape: None }
            }
            (_, Some((NestDef::Elem(a, i), _))) => {
                Op::Index { a: self.made(nest, *a, names), at: vec![self.made(nest, *i, names)], shape: None }
            }
            (_, Some((NestDef::Made(s), _))) => {
                let mut op = s.op.clone();
                op.map_operands(&mut |v| self.made(nest, v, names));
                op
            }
            (_, Some(_)) => return var,
        };
        let new = self.b.one(op, ty);
        names.insert(var, new);
        new
    }
}

/// Whether the nest collects only the sums themselves.
fn is_all(f: &Function, s: &Stmt, sum: Var) -> bool {
    let Some((l, _)) = collecting(s).filter(|(l, _)| l.outs == [Out::Collect]) else { return false };
    let result = l.body.results[0];
    // The terms are collected for the sum only.
    let terms = l.body.stmts.iter().find_map(|s| match s.op {
        Op::Sum { a, .. } if s.outs[..] == [sum] => Some(a),
        _ => None,
    });
    let simple = |s: &Stmt| may_recompute(f, s) || s.outs.contains(&result) || s.outs.first().copied() == terms;
    l.body.stmts.iter().all(simple)
        && (result == sum || l.body.stmts.iter().any(|s| s.outs.contains(&result) && is_all(f, s, sum)))
}

/// Replaces the statement of a nest that defines the variable `made`.
fn replace(s: &mut Stmt, made: Var, by: &[Stmt]) {
    for b in s.op.blocks_mut() {
        match b.stmts.iter().position(|s| s.outs.contains(&made)) {
            Some(at) => _ = b.stmts.splice(at..=at, by.iter().cloned()),
            None => b.stmts.iter_mut().for_each(|s| replace(s, made, by)),
        }
    }
}

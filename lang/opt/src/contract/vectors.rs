//! Products of a vector and a matrix that a comprehension in a loop writes out, before differentiation:
//!
//! ```text
//! for j < m -> g (sum for l < k -> v[l] * b[l, j])
//! ⟼  z = matmul v b;  for j < m -> g z[j]
//! ```
//!
//! The transpose of the comprehension would add to the elements of `b` one by one in each iteration of the loop around it. The
//! transpose of the product is an outer product, and [`crate::row_products`] may take either out of the loop. The sums are
//! added in another order.
//!
//! A comprehension over two indices or more is left: it has a transpose without additions in place.
//!
//! Of a matrix that has more rows or columns than the comprehension reads, these are taken before the outermost loop.

use super::nest::{ContractionSearch, ContractionSite, all, collecting, readers};
use super::{Contractions, Products, is_all, literals, replace};
use crate::rebuild::Rebuild;
use adl_ir::{Block, Builder, Function, Loop, Op, Out, Stmt, Terms, Trip, Ty, Var};
use adl_prim::Bin;
use std::collections::{HashMap, HashSet};

/// Introduces products of vectors and matrices. Returns whether the function changed.
pub fn vector_products(f: &mut Function) -> bool {
    if !super::sums_in_loops(f, &f.body, 0) {
        return false;
    }
    let search = ContractionSearch { ints: literals(&f.body), products: Products::All };
    let dims = extents(&f.body);
    let c = Contractions { b: Builder::on(f.clone()), search, split: false, changed: false };
    let mut v = VectorProducts { c, dims, parts: HashMap::new(), depth: 0 };
    let made = v.block(&f.body);
    if v.c.changed {
        *f = Function { body: made, ..v.c.b.func };
    }
    v.c.changed
}

/// The variables that are extents of arrays.
fn extents(b: &Block) -> HashSet<(Var, u32, Var)> {
    let (mut all, mut work) = (HashSet::new(), vec![b]);
    while let Some(b) = work.pop() {
        for s in &b.stmts {
            if let Op::Dim(a, axis) = s.op {
                all.extend(s.outs.iter().map(|n| (a, axis, *n)));
            }
            work.extend(s.op.blocks());
        }
    }
    all
}

/// The first rows and columns of a matrix: it, and their numbers.
type MatrixPart = (Var, [Var; 2]);

struct VectorProducts {
    c: Contractions,
    /// Extents of arrays.
    dims: HashSet<(Var, u32, Var)>,
    /// The parts of matrices that were taken.
    parts: HashMap<MatrixPart, Var>,
    /// The number of loops around the statement.
    depth: usize,
}

/// The part of a matrix that a product reads, and whether its first index runs over the terms.
fn part(f: &Function, site: &ContractionSite) -> Option<(MatrixPart, bool)> {
    let [vector, matrix] = &site.sides;
    let one = vector.rows.is_empty()
        && site.nest.collects == 1
        && site.nest.terms().len() == 1
        && site.limits.is_empty()
        && site.terms == Terms::Mul;
    let (a, before, turned) = site.nest.factor_place(f, matrix).filter(|_| one)?;
    let (rows, terms) = (site.nest.loops[0].1, site.nest.terms()[0].1);
    let size = if turned { [terms, rows] } else { [rows, terms] };
    before.is_empty().then_some(((a, size), turned))
}

/// Whether a comprehension has several indices. `None` if a statement is none, or goes on with what inner loops collect.
fn nested(s: &Stmt) -> Option<bool> {
    let (l, _) = collecting(s)?;
    let mut several = false;
    for s in &l.body.stmts {
        if let (Some(_), Some(out)) = (collecting(s), s.outs.first()) {
            let result = l.body.results.contains(out) && readers(&l.body, *out) == 1;
            several |= stacker::maybe_grow(64 * 1024, 1024 * 1024, || nested(s)).filter(|_| result).is_some();
            if !result {
                return None;
            }
        }
    }
    Some(several)
}

impl Rebuild for VectorProducts {
    fn builder(&mut self) -> &mut Builder {
        &mut self.c.b
    }

    fn stmt(&mut self, stmt: &Stmt) {
        self.c.b.span = stmt.span;
        if self.depth > 0 && self.product(stmt) {
            self.c.changed = true;
            return;
        }
        let inside = usize::from(matches!(stmt.op, Op::Loop(_)));
        if nested(stmt) == Some(true) {
            return self.c.b.push(stmt.clone());
        }
        if inside > 0 {
            self.take_parts(stmt);
        }
        let mut s = stmt.clone();
        self.depth += inside;
        for b in s.op.blocks_mut() {
            let outside = self.parts.clone();
            *b = self.block(b);
            self.parts = outside;
        }
        self.depth -= inside;
        self.c.b.push(s);
    }
}

impl VectorProducts {
    /// Emits the parts of matrices from outside of a loop that products in it read.
    fn take_parts(&mut self, stmt: &Stmt) {
        let (mut bound, mut parts, mut work) = (HashSet::new(), Vec::new(), stmt.op.blocks());
        while let Some(b) = work.pop() {
            bound.extend(b.params.iter().chain(b.stmts.iter().flat_map(|s| &s.outs)).copied());
            for s in &b.stmts {
                let sites = all(&self.c.b.func, &self.c.search, s);
                parts.extend(sites.iter().filter_map(|site| Some(part(&self.c.b.func, site)?.0)));
                work.extend(s.op.blocks());
            }
        }
        for part in parts {
            let (a, [rows, columns]) = part;
            if !self.parts.contains_key(&part) && [a, rows, columns].iter().all(|v| !bound.contains(v)) {
                let made = self.take(part);
                self.parts.insert(part, made);
            }
        }
    }

    /// Emits a part of a matrix.
    fn take(&mut self, (a, [rows, columns]): MatrixPart) -> Var {
        let all = self.first(a, rows);
        if self.dims.contains(&(a, 1, columns)) {
            return all;
        }
        let row = self.c.b.open_loop(&[all])[0];
        let row = self.first(row, columns);
        let body = self.c.b.close(vec![row], Vec::new());
        let l = Loop { xs: vec![all], outs: vec![Out::Collect], ..Loop::new(Trip::Count(rows), body) };
        self.c.b.emit(Op::Loop(Box::new(l)), &[Ty::F64.array(2), Ty::I64], &[]).0[0]
    }

    /// Emits the first elements or rows of an array.
    fn first(&mut self, a: Var, n: Var) -> Var {
        if self.dims.contains(&(a, 0, n)) {
            return a;
        }
        let (lo, ty) = (self.c.b.int(0), self.c.b.ty(a));
        self.c.b.one(Op::Slice { a, lo, hi: n, shape: None }, ty)
    }

    /// Emits a comprehension that reads a product. Returns whether it has one.
    fn product(&mut self, stmt: &Stmt) -> bool {
        let sites = all(&self.c.b.func, &self.c.search, stmt).into_iter();
        let mut known = sites.filter_map(|site| {
            let (key, turned) = part(&self.c.b.func, &site)?;
            Some((self.parts.get(&key).copied()?, turned, site))
        });
        let Some((matrix, turned, site)) = known.next() else { return false };
        let placed = site.nest.factor_place(&self.c.b.func, &site.sides[0]).is_some();
        let mut vector = self.c.factor(&site.nest, &site.sides[0]).0;
        if placed {
            vector = self.first(vector, site.nest.terms()[0].1);
        }
        let op = if turned { Op::MatMul(vector, matrix) } else { Op::MatMul(matrix, vector) };
        let z = self.c.b.one(op, Ty::F64.array(1));
        let (index, trips) = site.nest.loops[0];
        if stmt.outs.len() == 2 && is_all(&self.c.b.func, stmt, site.sum.outs[0]) {
            self.c.b.rename_outs(&HashMap::from([(z, stmt.outs[0])]));
            let zero = self.c.b.int(0);
            let trips = self.c.b.bin(Bin::Add, trips, zero);
            self.c.b.rename_outs(&HashMap::from([(trips, stmt.outs[1])]));
            return true;
        }
        let (outs, op) = (vec![site.sum.outs[0]], Op::Index { a: z, at: vec![index], shape: None });
        let mut rest = stmt.clone();
        replace(&mut rest, site.sum.outs[0], &[Stmt { outs, lin_outs: Vec::new(), op, span: site.sum.span }]);
        self.stmt(&rest);
        true
    }
}

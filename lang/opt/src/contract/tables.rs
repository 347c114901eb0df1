//! Sums of products of which some indices are the same in both factors, and others are shifted:
//!
//! ```text
//! for k < c, r < n -> sum for j < o, u < m r -> w[j, k, lo r + u] * y[j, r - lo r - u]
//! ```
//!
//! The sum over `j` depends on the places in the arrays only, not on how they are reached. So it is a contraction to a
//! table with an element for each pair of places, of which the other sums read elements:
//!
//! ```text
//! t = for k < c, p < dim 2 w, q < dim 1 y -> sum for j < o -> w[j, k, p] * y[j, q]
//! for k < c, r < n -> sum for u < m r -> t[k, lo r + u, r - lo r - u]
//! ```
//!
//! This is what the derivative of a layer of convolutions by its signal needs. The sum over `j` becomes the innermost
//! one, which changes the order of additions.

use super::nest::{EnclosingLoops, Nest, NestDef, collected, collecting, readers, sums};
use super::{Contractions, replace};
use crate::limits::contract::{COPIED, DEEP, LOOPS, SPARE, WIDE};
use crate::rebuild::Rebuild;
use adl_ir::{Cmp, Function, Loop, Op, Out, Stmt, Ty, Var};
use adl_prim::Bin;
use std::collections::HashMap;

/// A factor of the products: an element of an array from outside of the nest.
struct FactorPlace {
    array: Var,
    at: Vec<Var>,
    /// The shape of the array, if it may be a symbolic zero.
    shape: Option<Var>,
    /// The positions in `at` that are axes of the table.
    axes: Vec<usize>,
}

/// A sum that can become one over the elements of a table.
pub(super) struct TableSite<'a> {
    nest: Nest<'a>,
    sum: &'a Stmt,
    collects: Vec<&'a Loop>,
    /// The loops of the nest that sum, other than those of the table.
    kept: Vec<usize>,
    /// The loops of the nest that sum in the table.
    common: Vec<usize>,
    /// The multiplication, and its operands.
    by: Bin,
    places: [FactorPlace; 2],
    /// Whether the outermost loop is to stay around the table, which it would enlarge.
    pub(super) outside: bool,
}

/// The extents of the axes of each place.
pub(super) type PlaceExtents = [Vec<Var>; 2];

/// The first sum of a nest that can read a table. In the rest of a nest whose outermost loop stays, no other does.
pub(super) fn found<'a>(func: &Function, s: &'a Stmt, rest: bool) -> Option<TableSite<'a>> {
    let mut site = collected(collecting, s, &mut EnclosingLoops::default(), &mut |around, s| site(func, around, s))?;
    site.outside = !rest && site.outer();
    Some(site)
}

fn site<'a>(func: &Function, around: &EnclosingLoops<'a>, sum: &'a Stmt) -> Option<TableSite<'a>> {
    let (block, collects) = (around.block().filter(|_| around.arms.is_empty())?, &around.loops);
    let sums = sums(func, block, sum);
    if sums.len() < 2 || collects.len() + sums.len() > LOOPS {
        return None;
    }
    let nest = Nest::of(func, around, &sums);
    let counted = sum.outs.get(1).is_some_and(|v| readers(block, *v) > 0);
    if counted || !collects.iter().all(|l| nest.outside(l.1)) {
        return None;
    }
    let term = sums.last()?.0.body.results[0];
    let (NestDef::Made(Stmt { op: Op::Bin(by @ (Bin::Mul | Bin::ScaleTangent), x, y), .. }), _) =
        nest.definition(term)?
    else {
        return None;
    };
    let mut places = [place(&nest, func, *x)?, place(&nest, func, *y)?];
    let all = collects.len()..nest.loops.len();
    let (common, kept): (Vec<usize>, Vec<usize>) =
        all.partition(|k| nest.outside(nest.loops[*k].1) && places.iter().all(|p| p.has_index(&nest, *k)));
    if common.is_empty() || kept.is_empty() {
        return None;
    }
    let index = |v: &Var| common.iter().any(|k| nest.loops[*k].0 == *v);
    for p in &mut places {
        p.axes = (0..p.at.len()).filter(|k| !nest.outside(p.at[*k]) && !index(&p.at[*k])).collect();
    }
    let rows = places.iter().all(|p| !p.axes.is_empty());
    let collects = collects.iter().map(|l| l.0).collect();
    rows.then_some(TableSite { nest, sum, collects, kept, common, by: *by, places, outside: false })
}

/// The place of a factor that is a number.
fn place(nest: &Nest, func: &Function, v: Var) -> Option<FactorPlace> {
    let (array, at) = nest.place(v).filter(|(a, at)| *func.ty(*a) == Ty::F64.array(at.len() as u32))?;
    let shape = match nest.definition(v) {
        Some((NestDef::Made(Stmt { op: Op::Index { a, shape, .. }, .. }), _)) if *a == array => *shape,
        _ => None,
    };
    (shape.is_none_or(|s| nest.outside(s))).then_some(FactorPlace { array, at, shape, axes: Vec::new() })
}

impl FactorPlace {
    /// Whether the index of a loop occurs once, and as it is.
    fn has_index(&self, nest: &Nest, k: usize) -> bool {
        let on = self.at.iter().filter(|v| nest.on(**v) & (1 << k) != 0);
        on.clone().count() == 1 && on.eq([&nest.loops[k].0])
    }
}

impl TableSite<'_> {
    /// Whether the outermost loop is to stay: its index is an axis of one factor, which has two more at least.
    fn outer(&self) -> bool {
        let used = |p: &&FactorPlace| p.at.iter().any(|v| self.nest.on(*v) & 1 != 0);
        let mut owners = self.places.iter().filter(used);
        let owner = owners.next().filter(|_| owners.next().is_none());
        owner.is_some_and(|p| p.has_index(&self.nest, 0) && p.axes.len() > 2)
    }
}

impl Contractions {
    /// Emits the extents of the axes of a table, and the condition under which it pays off at run time: it has not many
    /// more elements than are read.
    pub(super) fn table_pays_off(&mut self, site: &TableSite) -> (PlaceExtents, Var) {
        let dims = [0, 1].map(|p| {
            let place = &site.places[p];
            (0..place.at.len()).map(|k| self.extent_of(place, k)).collect::<Vec<Var>>()
        });
        let extents = [0, 1].map(|p| site.places[p].axes.iter().map(|k| dims[p][*k]).collect::<Vec<Var>>());
        let mut read: Vec<Var> = site.nest.loops[..site.nest.collects].iter().map(|l| l.1).collect();
        for k in &site.kept {
            let trips = site.nest.loops[*k].1;
            read.push(if site.nest.outside(trips) { trips } else { self.most_trips(site, *k, &dims) });
        }
        let [rows, columns] = [0, 1].map(|p| self.elements(extents[p].iter().copied()));
        let terms = self.elements(site.common.iter().map(|k| site.nest.loops[*k].1));
        let (read, spare) = (self.elements(read), self.b.lit(adl_ir::Lit::F64(SPARE)));
        let (table, most) = (self.b.bin(Bin::Mul, rows, columns), self.b.bin(Bin::Mul, read, spare));
        let mut all = vec![self.b.cmp(Cmp::Le, table, most), self.compared(Cmp::Le, table, COPIED as f64)];
        for (n, least) in [(rows, WIDE), (columns, WIDE), (terms, DEEP)] {
            all.push(self.compared(Cmp::Ge, n, least as f64));
        }
        (extents, self.all(all))
    }

    /// Emits a bound of the trip count of a loop: it reads different places of an axis.
    fn most_trips(&mut self, site: &TableSite, k: usize, dims: &PlaceExtents) -> Var {
        let axes = |p: usize| site.places[p].axes.iter().map(move |a| (p, *a));
        let moved = |(p, a): &(usize, usize)| site.nest.on(site.places[*p].at[*a]) & (1 << k) != 0;
        let all = axes(0).chain(axes(1)).filter(moved).map(|(p, a)| dims[p][a]);
        let least = all.reduce(|least, n| self.b.bin(Bin::Min, least, n));
        least.unwrap_or_else(|| self.b.int(0))
    }

    fn extent_of(&mut self, place: &FactorPlace, axis: usize) -> Var {
        match place.shape {
            Some(shape) => {
                let at = self.b.int(axis as i64);
                self.b.one(Op::Index { a: shape, at: vec![at], shape: None }, Ty::I64)
            }
            None => self.b.dim(place.array, axis as u32),
        }
    }

    /// Emits the table and the nest that reads it. Returns the results.
    pub(super) fn emit_table(&mut self, stmt: &Stmt, site: &TableSite, extents: &PlaceExtents) -> Vec<Var> {
        self.b.open();
        let table = self.table(site, extents);
        for s in self.b.close(Vec::new(), Vec::new()).stmts {
            self.stmt(&s);
        }
        let mut rest = stmt.clone();
        replace(&mut rest, site.sum.outs[0], &self.read(site, table));
        let rest = self.b.copy_stmt(&rest, &mut HashMap::new());
        let results = rest.outs.clone();
        self.b.push(rest);
        results
    }

    /// Emits the table as loops around a sum.
    fn table(&mut self, site: &TableSite, extents: &PlaceExtents) -> Var {
        let mut names = HashMap::new();
        let mut at = [0, 1].map(|p| site.places[p].at.clone());
        for (p, place) in site.places.iter().enumerate() {
            for k in &place.axes {
                self.b.open();
                at[p][*k] = self.b.param(Ty::I64);
            }
        }
        for k in &site.common {
            self.b.open();
            let index = self.b.param(Ty::I64);
            names.insert(site.nest.loops[*k].0, index);
        }
        let [x, y] = [0, 1].map(|p| {
            let (a, shape) = (site.places[p].array, site.places[p].shape);
            let at = at[p].iter().map(|v| *names.get(v).unwrap_or(v)).collect();
            self.b.one(Op::Index { a, at, shape }, Ty::F64)
        });
        let mut made = self.b.bin(site.by, x, y);
        for k in site.common.iter().rev() {
            made = self.close_loop(site.nest.loops[*k].1, Out::Sum, made, Ty::F64);
        }
        for (rank, n) in extents.concat().iter().rev().enumerate() {
            made = self.close_loop(*n, Out::Collect, made, Ty::F64.array(rank as u32 + 1));
        }
        made
    }

    /// The statements that take the place of the sum.
    fn read(&mut self, site: &TableSite, table: Var) -> Vec<Stmt> {
        self.b.open();
        let mut names = HashMap::new();
        for l in &site.collects {
            let made = l.body.stmts.iter().flat_map(|s| &s.outs);
            names.extend(l.body.params.iter().chain(made).map(|v| (*v, *v)));
        }
        let mut trips = Vec::new();
        for k in &site.kept {
            let (index, n) = site.nest.loops[*k];
            trips.push(self.made(&site.nest, n, &mut names));
            self.b.open();
            let new = self.b.param(Ty::I64);
            names.insert(index, new);
        }
        let at = site.places.iter().flat_map(|p| p.axes.iter().map(|k| p.at[*k]));
        let at = at.map(|v| self.made(&site.nest, v, &mut names)).collect();
        let mut made = self.b.one(Op::Index { a: table, at, shape: None }, Ty::F64);
        for n in trips.into_iter().rev() {
            made = self.close_loop(n, Out::Sum, made, Ty::F64);
        }
        let mut stmts = self.b.close(Vec::new(), Vec::new()).stmts;
        let own = HashMap::from([(made, site.sum.outs[0])]);
        stmts.iter_mut().flat_map(|s| &mut s.outs).for_each(|v| *v = *own.get(v).unwrap_or(v));
        stmts
    }
}

//! Nests of loops around sums of products, and which of them can become contractions.

use super::Products;
use crate::limits::contract::{DEEP, LOOPS, WIDE};
use adl_ir::{Block, Cmp, Function, Loop, Op, Out, Stmt, Terms, Trip, Ty, Var};
use adl_prim::{Bin, Un};
use std::collections::HashMap;
use std::ops::Range;

/// The loop of a statement, with its trip count, if its iterations are independent.
pub(super) fn independent(s: &Stmt) -> Option<(&Loop, Var)> {
    let Op::Loop(l) = &s.op else { return None };
    let Trip::Count(n) = l.trip else { return None };
    let plain = l.init.is_empty()
        && l.lin_init.is_empty()
        && l.lin_xs.is_empty()
        && l.lin_outs.is_empty()
        && l.body.lin_params.is_empty();
    plain.then_some((&**l, n))
}

/// The loop whose terms a statement of a block sums, with its trip count: the statement itself, or one that only collects
/// the terms for it.
pub(super) fn summed<'a>(f: &Function, b: &'a Block, s: &'a Stmt) -> Option<(&'a Loop, Var)> {
    let (of, out) = match &s.op {
        Op::Sum { a, .. } => (b.stmts.iter().find(|s| s.outs.first() == Some(a))?, Out::Collect),
        _ => (s, Out::Sum),
    };
    let found = independent(of).filter(|(l, _)| l.outs == [out] && *f.ty(l.body.results[0]) == Ty::F64)?;
    (out == Out::Sum || readers(b, of.outs[0]) == 1).then_some(found)
}

/// The number of statements and results of a block that read a variable.
pub(super) fn readers(b: &Block, v: Var) -> usize {
    let reads = |s: &Stmt| {
        let mut found = false;
        s.op.each_operand(&mut |x| found |= x == v);
        found || s.op.blocks().into_iter().any(|b| readers(b, v) > 0)
    };
    b.stmts.iter().filter(|s| reads(s)).count() + b.results.iter().filter(|r| **r == v).count()
}

/// The loop of a statement, with its trip count, if its iterations are independent and it collects an array.
pub(super) fn collecting(s: &Stmt) -> Option<(&Loop, Var)> {
    independent(s).filter(|(l, _)| l.outs.contains(&Out::Collect))
}

/// How a variable of a nest is defined.
#[derive(Clone, Copy)]
pub(super) enum NestDef<'a> {
    /// The index of a loop.
    Index,
    /// An element of an array (the first variable) at the index of a loop (the second).
    Elem(Var, Var),
    /// The result of a statement.
    Made(&'a Stmt),
    /// Any other definition.
    Other,
}

/// The loops around a statement, all of which collect, and the branches between them.
#[derive(Default)]
pub(super) struct EnclosingLoops<'a> {
    /// The loops with their trip counts, from the outermost inwards.
    pub(super) loops: Vec<(&'a Loop, Var)>,
    pub(super) arms: Vec<FirstArm<'a>>,
}

/// The first arm of a branch in a nest.
pub(super) struct FirstArm<'a> {
    /// The number of loops around it.
    depth: usize,
    condition: Var,
    block: &'a Block,
}

impl<'a> EnclosingLoops<'a> {
    /// The block of the statement.
    pub(super) fn block(&self) -> Option<&'a Block> {
        let arm = self.arms.last().filter(|arm| arm.depth == self.loops.len());
        arm.map(|arm| arm.block).or_else(|| Some(&self.loops.last()?.0.body))
    }
}

/// A condition of a nest: the index of a loop is below a bound that does not depend on the nest.
pub(super) struct Limit {
    /// The loop.
    pub(super) of: usize,
    /// It holds if the first Int, less the second one, is as large as this.
    pub(super) sides: [Var; 2],
    pub(super) least: i64,
}

/// A nest of loops around a sum.
pub(super) struct Nest<'a> {
    /// The definition of each variable bound in the nest, and a bit set of the loops on which it depends.
    pub(super) defs: HashMap<Var, (NestDef<'a>, u32)>,
    /// The index and the trip count of each loop, from the outermost inwards.
    pub(super) loops: Vec<(Var, Var)>,
    /// How many of the loops collect. The others sum.
    pub(super) collects: usize,
}

/// Bit of a variable that depends on more than loop indices.
pub(super) const MORE: u32 = 1 << LOOPS;

/// A factor of the term, and the loops whose indices are those of its rows (none for a vector).
#[derive(Clone)]
pub(super) struct Factor {
    pub(super) v: Var,
    pub(super) rows: Range<usize>,
}

impl<'a> Nest<'a> {
    /// Analyses a nest of loops, the first of which collect and the others sum.
    pub(super) fn of(func: &Function, around: &EnclosingLoops<'a>, sums: &[(&'a Loop, Var)]) -> Nest<'a> {
        let mut nest = Nest { defs: HashMap::new(), loops: Vec::new(), collects: around.loops.len() };
        for (k, (l, n)) in around.loops.iter().chain(sums).enumerate() {
            let (bit, index) = (1 << k, l.body.params[0]);
            nest.loops.push((index, *n));
            nest.defs.insert(index, (NestDef::Index, bit));
            for (x, e) in l.xs.iter().zip(&l.body.params[1..]) {
                let on = nest.on(*x) | bit;
                nest.defs.insert(*e, (NestDef::Elem(*x, index), on));
            }
            let arms = around.arms.iter().filter(|arm| arm.depth == k + 1).map(|arm| arm.block);
            [&l.body].into_iter().chain(arms).for_each(|b| nest.define(func, b));
        }
        nest
    }

    fn define(&mut self, func: &Function, b: &'a Block) {
        for s in &b.stmts {
            let mut on = if may_recompute(func, s) { 0 } else { MORE };
            s.op.each_operand(&mut |v| on |= self.on(v));
            for v in &s.outs {
                self.defs.insert(*v, (if on & MORE == 0 { NestDef::Made(s) } else { NestDef::Other }, on));
            }
        }
    }

    /// The bound of an index that a condition is.
    fn limit(&self, condition: Var) -> Option<Limit> {
        let (NestDef::Made(Stmt { op: Op::Cmp(cmp, x, y), .. }), on) = self.definition(condition)? else {
            return None;
        };
        let of = Some(on.trailing_zeros() as usize).filter(|of| *of < self.collects && on == 1 << of)?;
        let (sides, least) = match cmp {
            Cmp::Ge => ([*x, *y], 0),
            Cmp::Gt => ([*x, *y], 1),
            Cmp::Le => ([*y, *x], 0),
            Cmp::Lt => ([*y, *x], 1),
            Cmp::Eq | Cmp::Ne => return None,
        };
        let factor = self.coefficient(sides[0], of)?.checked_sub(self.coefficient(sides[1], of)?)?;
        (factor == -1).then_some(Limit { of, sides, least })
    }

    /// The factor of the index of a loop in an Int that is a sum.
    fn coefficient(&self, v: Var, of: usize) -> Option<i64> {
        match self.definition(v) {
            _ if v == self.loops[of].0 => Some(1),
            None => Some(0),
            Some((_, 0)) => Some(0),
            Some((NestDef::Made(Stmt { op, .. }), _)) => match op {
                Op::Bin(Bin::Add, x, y) => self.coefficient(*x, of)?.checked_add(self.coefficient(*y, of)?),
                Op::Bin(Bin::Sub, x, y) => self.coefficient(*x, of)?.checked_sub(self.coefficient(*y, of)?),
                Op::Un(Un::Neg, x) => self.coefficient(*x, of)?.checked_neg(),
                _ => None,
            },
            _ => None,
        }
    }

    /// The set of loops on which a variable depends, as bits.
    pub(super) fn on(&self, v: Var) -> u32 {
        self.defs.get(&v).map_or(0, |d| d.1)
    }

    /// How a variable of the nest is defined, and the loops on which it depends.
    pub(super) fn definition(&self, v: Var) -> Option<(NestDef<'a>, u32)> {
        self.defs.get(&v).copied()
    }

    pub(super) fn outside(&self, v: Var) -> bool {
        !self.defs.contains_key(&v)
    }

    /// If a variable is an element or row of an array from outside of the nest: that array, and the indices.
    pub(super) fn place(&self, v: Var) -> Option<(Var, Vec<Var>)> {
        let (a, at) = match self.defs.get(&v) {
            None => return Some((v, Vec::new())),
            Some((NestDef::Elem(a, i), _)) => (*a, vec![*i]),
            Some((NestDef::Made(Stmt { op: Op::Index { a, at, .. }, .. }), _)) => (*a, at.clone()),
            _ => return None,
        };
        let (a, mut to) = self.place(a)?;
        to.extend(at);
        Some((a, to))
    }

    /// The factors of a sum's term, if they have the form of a contraction.
    fn factors(&self, sum: &Loop) -> Option<(Terms, [Factor; 2])> {
        let Some((NestDef::Made(Stmt { op: Op::Bin(by @ (Bin::Mul | Bin::ScaleTangent), left, right), .. }), _)) =
            self.defs.get(&sum.body.results[0])
        else {
            return None;
        };
        let sides = [self.side(*left)?, self.side(*right)?];
        let second = sides.iter().position(|s| s.rows.end == self.collects && !s.rows.is_empty())?;
        let fits = sides[1 - second].rows == (0..sides[second].rows.start);
        let terms = match (by, second) {
            (Bin::Mul, _) => Terms::Mul,
            (_, 1) => Terms::Scale,
            _ => Terms::Scaled,
        };
        let [x, y] = sides;
        fits.then_some((terms, if second == 1 { [x, y] } else { [y, x] }))
    }

    /// A factor that depends on all terms and on the indices of loops that follow each other.
    fn side(&self, v: Var) -> Option<Factor> {
        let (on, rows) = (self.on(v), (1 << self.collects) - 1);
        let (terms, rows) = (on & !rows, on & rows);
        let all = (1 << self.loops.len()) - (1 << self.collects);
        let (start, end) = (rows.trailing_zeros() as usize, (u32::BITS - rows.leading_zeros()) as usize);
        let rows = if rows == 0 { 0..0 } else { start..end };
        (terms == all && rows.len() == on.count_ones() as usize - terms.count_ones() as usize)
            .then_some(Factor { v, rows })
    }
}

/// An array, the indices at which the factor lies in it, and whether the next index runs over the terms.
pub(super) type FactorPlace = (Var, Vec<Var>, bool);

impl Nest<'_> {
    /// The indices of the terms, with their trip counts.
    pub(super) fn terms(&self) -> &[(Var, Var)] {
        &self.loops[self.collects..]
    }

    /// The indices on which a factor depends, with their trip counts: those of rows, then those of terms.
    pub(super) fn axes(&self, side: &Factor) -> Vec<(Var, Var)> {
        [&self.loops[side.rows.clone()], self.terms()].concat()
    }

    /// Whether a factor has one index for its rows at most, and one for its terms.
    pub(super) fn is_matrix(&self, side: &Factor) -> bool {
        side.rows.len() <= 1 && self.terms().len() == 1
    }

    /// The position of a factor, if it is an element of an array from outside of the nest.
    pub(super) fn factor_place(&self, f: &Function, side: &Factor) -> Option<FactorPlace> {
        if !self.is_matrix(side) {
            return None;
        }
        let way: Vec<Var> = self.axes(side).iter().map(|a| a.0).collect();
        let (a, at) = self.place(side.v).filter(|(a, at)| *f.ty(*a) == Ty::F64.array(at.len() as u32))?;
        let (before, last) = at.split_at(at.len().saturating_sub(way.len()));
        let turned = last.iter().rev().eq(&way) && way.len() == 2;
        ((turned || last == way) && before.iter().all(|v| self.outside(*v))).then(|| (a, before.to_vec(), turned))
    }
}

/// Whether a statement may be part of the computation of a factor.
pub(super) fn may_recompute(f: &Function, s: &Stmt) -> bool {
    let flat = s.outs.len() == 1 && s.lin_outs.is_empty() && f.ty(s.outs[0]).is_flat();
    match &s.op {
        Op::Lit(_) | Op::Un(..) | Op::Bin(..) | Op::Cmp(..) | Op::Not(_) | Op::Select(..) | Op::Convert(..) => flat,
        Op::Index { .. } => s.outs.len() == 1,
        _ => false,
    }
}

/// A sum that can become a contraction: the nest around it, its statement, and its factors.
pub(super) struct ContractionSite<'a> {
    pub(super) nest: Nest<'a>,
    /// Where the sum is computed.
    pub(super) limits: Vec<Limit>,
    pub(super) sum: &'a Stmt,
    /// The results of the loops that sum or collect the terms.
    pub(super) sums: Vec<Var>,
    pub(super) terms: Terms,
    pub(super) sides: [Factor; 2],
}

/// What contractions are searched for.
pub(super) struct ContractionSearch {
    /// The literal Ints of the function.
    pub(super) ints: HashMap<Var, i64>,
    pub(super) products: Products,
}

/// The first sum of a nest that can become a contraction, innermost loops first.
pub(super) fn found<'a>(func: &Function, search: &ContractionSearch, s: &'a Stmt) -> Option<ContractionSite<'a>> {
    collected(collecting, s, &mut EnclosingLoops::default(), &mut |around, sum| accepted(func, search, around, sum))
}

/// All sums of a nest that can become a contraction. The loops around them may sum as well.
pub(super) fn all<'a>(func: &Function, search: &ContractionSearch, s: &'a Stmt) -> Vec<ContractionSite<'a>> {
    let mut sites = Vec::new();
    collected::<()>(independent, s, &mut EnclosingLoops::default(), &mut |around, sum| {
        sites.extend(accepted(func, search, around, sum));
        None
    });
    sites
}

fn accepted<'a>(
    f: &Function,
    search: &ContractionSearch,
    around: &EnclosingLoops<'a>,
    sum: &'a Stmt,
) -> Option<ContractionSite<'a>> {
    let site = site(f, around, sum)?;
    let vector = site.sides[0].rows.is_empty();
    (!site.is_small(&search.ints) && (search.products == Products::All || !vector)).then_some(site)
}

/// The loop of a statement, with its trip count, if it may be one of those around a sum.
pub(super) type Outer = for<'b> fn(&'b Stmt) -> Option<(&'b Loop, Var)>;

/// A search of nests of loops, innermost loops first, for a statement in them.
pub(super) fn collected<'a, T>(
    outer: Outer,
    stmt: &'a Stmt,
    around: &mut EnclosingLoops<'a>,
    found: &mut impl FnMut(&EnclosingLoops<'a>, &'a Stmt) -> Option<T>,
) -> Option<T> {
    let depth = around.loops.len();
    let arm = match &stmt.op {
        Op::If(condition, block, _) if depth > 0 => Some(FirstArm { depth, condition: *condition, block }),
        _ => None,
    };
    let branch = arm.is_some();
    match arm {
        Some(arm) => around.arms.push(arm),
        None => around.loops.push(outer(stmt).filter(|_| depth < LOOPS)?),
    }
    let stmts = &around.block()?.stmts;
    let deep = stmts.iter().find_map(|s| collected(outer, s, around, found));
    let result = deep.or_else(|| stmts.iter().find_map(|s| found(around, s)));
    if branch {
        around.arms.pop();
    } else {
        around.loops.pop();
    }
    result
}

/// The sums that a statement of a block computes, one in the other, with their trip counts.
pub(super) fn sums<'a>(func: &Function, b: &'a Block, s: &'a Stmt) -> Vec<(&'a Loop, Var)> {
    let mut all: Vec<(&Loop, Var)> = summed(func, b, s).into_iter().collect();
    while let Some((l, _)) = all.last() {
        let result = |s: &&Stmt| s.outs.first() == l.body.results.first();
        let inner = l.body.stmts.iter().find(result).and_then(|s| summed(func, &l.body, s));
        match inner {
            Some(inner) if l.body.stmts.iter().all(|s| result(&s) || may_recompute(func, s)) => all.push(inner),
            _ => break,
        }
    }
    all
}

/// A sum in loops that collect, if it can become a contraction.
fn site<'a>(func: &Function, around: &EnclosingLoops<'a>, sum: &'a Stmt) -> Option<ContractionSite<'a>> {
    let block = around.block()?;
    let sums = sums(func, block, sum);
    let innermost = sums.last()?.0;
    if around.loops.len() + sums.len() > LOOPS {
        return None;
    }
    let nest = Nest::of(func, around, &sums);
    let limits = around.arms.iter().map(|arm| nest.limit(arm.condition)).collect::<Option<Vec<_>>>()?;
    // The replacement needs the trip counts before the nest, and does not define the trip count results of the
    // replaced loops.
    let counted = sum.outs.get(1).is_some_and(|v| readers(block, *v) > 0);
    if counted || !nest.loops.iter().all(|l| nest.outside(l.1)) {
        return None;
    }
    let (terms, sides) = nest.factors(innermost)?;
    // Copying a matrix costs as much as multiplying it by one vector.
    if sides[0].rows.is_empty() && !nest.factor_place(func, &sides[1]).is_some_and(|(_, before, _)| before.is_empty()) {
        return None;
    }
    let collected = if let Op::Sum { a, .. } = sum.op { a } else { sum.outs[0] };
    let sums = [collected].into_iter().chain(sums.iter().map(|(l, _)| l.body.results[0])).collect();
    Some(ContractionSite { nest, limits, sum, sums, terms, sides })
}

impl ContractionSite<'_> {
    /// The loops of the rows, of the columns and of the terms, with the least number from which a contraction pays off.
    pub(super) fn extents(&self) -> [(&[(Var, Var)], i64); 3] {
        let [x, y] = [0, 1].map(|k| &self.nest.loops[self.sides[k].rows.clone()]);
        [(x, WIDE), (y, WIDE), (self.nest.terms(), DEEP)]
    }

    /// Whether a contraction is known not to pay off.
    fn is_small(&self, ints: &HashMap<Var, i64>) -> bool {
        let count = |axes: &[(Var, Var)]| axes.iter().try_fold(1_i64, |n, a| n.checked_mul(*ints.get(&a.1)?));
        self.extents().iter().any(|(axes, least)| !axes.is_empty() && count(axes).is_some_and(|n| n < *least))
    }
}

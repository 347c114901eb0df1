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
//! The results have the same bits, because a contraction adds terms in the order of `sum` ([`adl_ir::Contract`]).
//! The numbers of rows and columns are known only at run time, so the original nest is kept as an alternative for
//! small ones.

use crate::limits::contract::{DEEP, WIDE};
use adl_ir::{Block, Builder, Cmp, Contract, Function, Lit, Loop, Op, Out, Stmt, Terms, Trip, Ty, Var};
use adl_prim::Bin;
use std::collections::HashMap;

/// Introduces contractions. Returns whether the function changed.
pub fn contract(f: &mut Function) -> bool {
    if !sums_in_loops(f, &f.body, 0) {
        return false;
    }
    let mut c = Contractions { b: Builder::on(f.clone()), changed: false };
    let made = c.block(&f.body);
    if c.changed {
        *f = Function { body: made, ..c.b.func };
    }
    c.changed
}

/// Whether a sum over an index occurs inside of a loop.
fn sums_in_loops(f: &Function, b: &Block, depth: usize) -> bool {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        b.stmts.iter().any(|s| {
            let inner = depth + usize::from(matches!(s.op, Op::Loop(_)));
            depth > 0 && summed(f, s).is_some() || s.op.blocks().into_iter().any(|b| sums_in_loops(f, b, inner))
        })
    })
}

/// The loop of a statement, with its trip count, if its iterations are independent.
fn independent(s: &Stmt) -> Option<(&Loop, Var)> {
    let Op::Loop(l) = &s.op else { return None };
    let Trip::Count(n) = l.trip else { return None };
    let plain = l.init.is_empty()
        && l.lin_init.is_empty()
        && l.lin_xs.is_empty()
        && l.lin_outs.is_empty()
        && l.body.lin_params.is_empty();
    plain.then_some((&**l, n))
}

/// The loop of a statement, with its trip count, if its only output is a sum of Floats over an index.
fn summed<'a>(f: &Function, s: &'a Stmt) -> Option<(&'a Loop, Var)> {
    independent(s).filter(|(l, _)| l.outs == [Out::Sum] && *f.ty(l.body.results[0]) == Ty::F64)
}

/// The loop of a statement, with its trip count, if its iterations are independent and it collects an array.
fn collecting(s: &Stmt) -> Option<(&Loop, Var)> {
    independent(s).filter(|(l, _)| l.outs.contains(&Out::Collect))
}

struct Contractions {
    b: Builder,
    changed: bool,
}

/// How a variable of a nest is defined.
#[derive(Clone, Copy)]
enum NestDef<'a> {
    /// The index of a loop.
    Index,
    /// An element of an array (the first variable) at the index of a loop (the second).
    Elem(Var, Var),
    /// The result of a statement.
    Made(&'a Stmt),
    /// Any other definition.
    Other,
}

/// A nest of loops around a sum.
struct Nest<'a> {
    /// The definition of each variable bound in the nest, and a bit set of the loops on which it depends.
    defs: HashMap<Var, (NestDef<'a>, u8)>,
    /// The index and the trip count of each loop, from the outermost inwards.
    loops: Vec<(Var, Var)>,
}

/// Bit of a variable that depends on more than loop indices.
const MORE: u8 = 128;

/// A factor of the term, and the index of its rows (`None` for a vector).
#[derive(Clone, Copy)]
struct Factor {
    v: Var,
    row: Option<usize>,
}

impl<'a> Nest<'a> {
    /// Analyses a nest of loops, the innermost of which is the sum.
    fn of(func: &Function, loops: &[(&'a Loop, Var)]) -> Nest<'a> {
        let mut nest = Nest { defs: HashMap::new(), loops: Vec::new() };
        for (k, (l, n)) in loops.iter().enumerate() {
            let (bit, index) = (1 << k, l.body.params[0]);
            nest.loops.push((index, *n));
            nest.defs.insert(index, (NestDef::Index, bit));
            for (x, e) in l.xs.iter().zip(&l.body.params[1..]) {
                let on = nest.on(*x) | bit;
                nest.defs.insert(*e, (NestDef::Elem(*x, index), on));
            }
            for s in &l.body.stmts {
                let mut on = if may_recompute(func, s) { 0 } else { MORE };
                s.op.each_operand(&mut |v| on |= nest.on(v));
                for v in &s.outs {
                    nest.defs.insert(*v, (if on & MORE == 0 { NestDef::Made(s) } else { NestDef::Other }, on));
                }
            }
        }
        nest
    }

    /// The set of loops on which a variable depends, as bits.
    fn on(&self, v: Var) -> u8 {
        self.defs.get(&v).map_or(0, |d| d.1)
    }

    fn outside(&self, v: Var) -> bool {
        !self.defs.contains_key(&v)
    }

    /// If a variable is an element or row of an array from outside of the nest: that array, and the indices.
    fn place(&self, v: Var) -> Option<(Var, Vec<Var>)> {
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
        let last = self.loops.len() - 1;
        let Some((NestDef::Made(Stmt { op: Op::Bin(by @ (Bin::Mul | Bin::ScaleTangent), x, y), .. }), _)) =
            self.defs.get(&sum.body.results[0])
        else {
            return None;
        };
        let side = |v: Var| {
            let on = self.on(v) ^ (1 << last);
            let row = (0..last).find(|k| on == 1 << k);
            (on == 0 || row.is_some()).then_some(Factor { v, row })
        };
        let sides = [side(*x)?, side(*y)?];
        let second = sides.iter().position(|s| s.row == Some(last - 1))?;
        let first = sides[1 - second];
        let fits = if last == 1 { first.row.is_none() } else { first.row == Some(0) };
        let terms = match (by, second) {
            (Bin::Mul, _) => Terms::Mul,
            (_, 1) => Terms::Scale,
            _ => Terms::Scaled,
        };
        fits.then_some((terms, [first, sides[second]]))
    }
}

/// An array, the indices at which the factor lies in it, and whether the next index runs over the terms.
type FactorPlace = (Var, Vec<Var>, bool);

impl Nest<'_> {
    /// The indices on which a factor depends, with their trip counts.
    fn axes(&self, side: Factor) -> Vec<(Var, Var)> {
        side.row.into_iter().chain([self.loops.len() - 1]).map(|k| self.loops[k]).collect()
    }

    /// The position of a factor, if it is an element of an array from outside of the nest.
    fn factor_place(&self, f: &Function, side: Factor) -> Option<FactorPlace> {
        let way: Vec<Var> = self.axes(side).iter().map(|a| a.0).collect();
        let (a, at) = self.place(side.v).filter(|(a, at)| *f.ty(*a) == Ty::F64.array(at.len() as u32))?;
        let (before, last) = at.split_at(at.len().saturating_sub(way.len()));
        let turned = last.iter().rev().eq(&way) && way.len() == 2;
        ((turned || last == way) && before.iter().all(|v| self.outside(*v))).then(|| (a, before.to_vec(), turned))
    }
}

/// Whether a statement may be part of the computation of a factor.
fn may_recompute(f: &Function, s: &Stmt) -> bool {
    let flat = s.outs.len() == 1 && s.lin_outs.is_empty() && f.ty(s.outs[0]).is_flat();
    match &s.op {
        Op::Lit(_) | Op::Un(..) | Op::Bin(..) | Op::Cmp(..) | Op::Not(_) | Op::Select(..) | Op::Convert(..) => flat,
        Op::Index { .. } => s.outs.len() == 1,
        _ => false,
    }
}

/// A sum that can become a contraction: the nest around it, its statement, and its factors.
struct ContractionSite<'a> {
    nest: Nest<'a>,
    sum: &'a Stmt,
    terms: Terms,
    sides: [Factor; 2],
}

/// The first sum of a nest that can become a contraction.
fn found<'a>(func: &Function, s: &'a Stmt) -> Option<ContractionSite<'a>> {
    let outer = collecting(s)?;
    let inner = outer.0.body.stmts.iter().filter_map(collecting);
    let deep = inner.flat_map(|l| l.0.body.stmts.iter().map(move |s| (vec![outer, l], s)));
    let all = deep.chain(outer.0.body.stmts.iter().map(|s| (vec![outer], s)));
    all.into_iter().find_map(|(mut loops, sum)| {
        loops.push(summed(func, sum)?);
        let nest = Nest::of(func, &loops);
        // The replacement needs the trip counts before the nest, and does not define the trip count results of the
        // replaced loops.
        let around = loops[loops.len() - 2].0;
        let counted = sum.outs.get(1).is_some_and(|v| reads(&around.body, *v));
        if counted || !nest.loops.iter().all(|l| nest.outside(l.1)) {
            return None;
        }
        let (terms, sides) = nest.factors(loops[loops.len() - 1].0)?;
        // Copying a matrix costs as much as multiplying it by one vector.
        if loops.len() == 2 && !nest.factor_place(func, sides[1]).is_some_and(|(_, before, _)| before.is_empty()) {
            return None;
        }
        Some(ContractionSite { nest, sum, terms, sides })
    })
}

fn reads(b: &Block, v: Var) -> bool {
    let mut found = b.results.contains(&v);
    for s in &b.stmts {
        s.op.each_operand(&mut |x| found |= x == v);
        found |= s.op.blocks().into_iter().any(|b| reads(b, v));
    }
    found
}

impl Contractions {
    fn block(&mut self, b: &Block) -> Block {
        self.b.open();
        self.b.adopt(&b.params, &b.lin_params);
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || b.stmts.iter().for_each(|s| self.stmt(s)));
        self.b.close(b.results.clone(), b.lin_results.clone())
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let func = std::mem::take(&mut self.b.func);
        let found = found(&func, stmt);
        self.b.func = func;
        let Some(found) = found else {
            let mut s = stmt.clone();
            for b in s.op.blocks_mut() {
                *b = self.block(b);
            }
            return self.b.push(s);
        };
        self.changed = true;
        let pays_off = self.pays_off(&found.nest);
        self.b.open();
        let results = self.emit_contraction(stmt, &found);
        let some = self.b.close(results, Vec::new());
        self.b.open();
        let rest = self.b.copy_stmt(stmt, &mut HashMap::new());
        let results = rest.outs.clone();
        self.b.push(rest);
        let few = self.b.close(results, Vec::new());
        self.b.push(Stmt { op: Op::If(pays_off, Box::new(some), Box::new(few)), ..stmt.clone() });
    }

    /// Emits the condition under which a contraction pays off at run time.
    fn pays_off(&mut self, nest: &Nest) -> Var {
        let last = nest.loops.len() - 1;
        let no = self.b.lit(Lit::Bool(false));
        let mut all = None;
        for (k, (_, n)) in nest.loops.iter().enumerate() {
            let least = self.b.int(if k == last { DEEP } else { WIDE });
            let enough = self.b.cmp(Cmp::Ge, *n, least);
            all = Some(all.map_or(enough, |all| self.b.one(Op::Select(all, enough, no), Ty::Bool)));
        }
        all.unwrap_or(no)
    }

    /// Emits the contraction and the rest of the nest. Returns the results.
    fn emit_contraction(&mut self, stmt: &Stmt, found: &ContractionSite) -> Vec<Var> {
        let ContractionSite { nest, sum, terms, sides } = found;
        let ((a, left), (b, right)) = (self.factor(nest, sides[0]), self.factor(nest, sides[1]));
        let [.., (i, m), (_, k)] = nest.loops[..] else { return Vec::new() };
        let (rank, n) = if nest.loops.len() == 2 { (1, self.b.int(1)) } else { (2, nest.loops[0].1) };
        let c = Contract { terms: *terms, a, b, size: [n, m, k], turned: [left, right] };
        let c = self.b.one(Op::Contract(Box::new(c)), Ty::F64.array(rank));
        if stmt.outs.len() == 2 && is_all(&self.b.func, stmt, sum.outs[0]) {
            return vec![c, nest.loops[0].1];
        }
        let at = if rank == 1 { vec![i] } else { vec![nest.loops[0].0, i] };
        let read = Stmt {
            op: Op::Index { a: c, at, shape: None },
            outs: vec![sum.outs[0]],
            lin_outs: Vec::new(),
            span: sum.span,
        };
        let mut rest = stmt.clone();
        replace(&mut rest, sum.outs[0], &read);
        let rest = self.b.copy_stmt(&rest, &mut HashMap::new());
        let results = rest.outs.clone();
        self.stmt(&rest);
        results
    }

    /// Emits a factor as an array. The Bool tells whether its first index runs over the terms.
    fn factor(&mut self, nest: &Nest, side: Factor) -> (Var, bool) {
        let axes = nest.axes(side);
        if let Some((a, at, turned)) = nest.factor_place(&self.b.func, side) {
            let ty = Ty::F64.array(axes.len() as u32);
            return (if at.is_empty() { a } else { self.b.one(Op::Index { a, at, shape: None }, ty) }, turned);
        }
        let mut names = HashMap::new();
        for (index, _) in &axes {
            self.b.open();
            let new = self.b.param(Ty::I64);
            names.insert(*index, new);
        }
        let mut made = self.made(nest, side.v, &mut names);
        for (rank, (_, n)) in axes.iter().rev().enumerate() {
            let body = self.b.close(vec![made], Vec::new());
            let ir_loop = Loop {
                trip: Trip::Count(*n),
                reverse: false,
                init: Vec::new(),
                lin_init: Vec::new(),
                xs: Vec::new(),
                lin_xs: Vec::new(),
                outs: vec![Out::Collect],
                lin_outs: Vec::new(),
                body,
            };
            made = self.b.emit(Op::Loop(Box::new(ir_loop)), &[Ty::F64.array(rank as u32 + 1), Ty::I64], &[]).0[0];
        }
        (made, false)
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
    let simple = |s: &Stmt| may_recompute(f, s) || s.outs.contains(&result);
    l.body.stmts.iter().all(simple)
        && (result == sum || l.body.stmts.iter().any(|s| s.outs.contains(&result) && is_all(f, s, sum)))
}

/// Replaces the statement of a nest that defines the variable `made`.
fn replace(s: &mut Stmt, made: Var, by: &Stmt) {
    for b in s.op.blocks_mut() {
        for s in &mut b.stmts {
            if s.outs.contains(&made) {
                *s = by.clone();
            } else {
                replace(s, made, by);
            }
        }
    }
}

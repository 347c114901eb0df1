//! Builds the function with counters.

use super::forecast::kept_by;
use super::sites::{FunctionSites, WorkUnit};
use super::{Count, Profile};
use crate::Ad;
use crate::unzip::UnzipPlan;
use adl_ir::{Block, Builder, Cmp, FnId, Function, Loop, Op, Out, Program, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use adl_specialise::Unsupported;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The counters of a block so far. A missing counter is 0.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<Count, Var>,
    peak: Option<Var>,
}

struct Counter<'a> {
    ad: &'a mut Ad,
    p: &'a mut Program,
    id: FnId,
    f: Rc<Function>,
    sites: Rc<FunctionSites>,
    b: Builder,
    next: u32,
}

pub(super) fn function(
    ad: &mut Ad,
    p: &mut Program,
    id: FnId,
    made: &Profile,
    builder: Builder,
    src: &Rc<Function>,
) -> Result<Function, Unsupported> {
    let sites = ad.sites(p, id);
    let mut c = Counter { ad, p, id, f: src.clone(), sites, b: builder, next: 0 };
    let mut t = c.stmts(&src.body)?;
    let one = c.b.int(1);
    c.add(&mut t, Count::Runs(id, 0), one);
    let mut results = src.body.results.clone();
    for k in &made.counts {
        results.push(c.or_zero(t.counts.get(k).copied()));
    }
    results.push(c.or_zero(t.peak));
    Ok(c.b.finish(results, Vec::new()))
}

impl Counter<'_> {
    fn or_zero(&mut self, v: Option<Var>) -> Var {
        v.unwrap_or_else(|| self.b.int(0))
    }

    fn add(&mut self, t: &mut Tally, k: Count, v: Var) {
        let sum = match t.counts.get(&k) {
            Some(old) => self.b.bin(Bin::Add, *old, v),
            None => v,
        };
        t.counts.insert(k, sum);
    }

    fn raise(&mut self, t: &mut Tally, v: Var) {
        t.peak = Some(match t.peak {
            Some(old) => self.b.bin(Bin::Max, old, v),
            None => v,
        });
    }

    /// Emits the number of elements of an array.
    fn elements(&mut self, v: Var) -> Var {
        self.b.one(Op::Size(v), Ty::I64)
    }

    /// Emits an extent of an array of `n` elements; 0 for a symbolic zero, which has none.
    fn extent(&mut self, v: Var, n: Var, axis: u32) -> Var {
        let zero = self.b.int(0);
        let there = self.b.cmp(Cmp::Gt, n, zero);
        self.b.open();
        let extent = self.b.dim(v, axis);
        let yes = self.b.close(vec![extent], Vec::new());
        self.b.open();
        let no = self.b.close(vec![zero], Vec::new());
        self.b.one(Op::If(there, Box::new(yes), Box::new(no)), Ty::I64)
    }

    fn arrays(&mut self, vs: &[Var], t: &mut Tally) {
        for v in vs {
            if self.f.ty(*v).rank() > 0 {
                let n = self.elements(*v);
                self.add(t, Count::Elements(self.id, *v), n);
                for axis in 1..self.f.ty(*v).rank() {
                    let extent = self.extent(*v, n, axis - 1);
                    self.add(t, Count::Extent(self.id, *v, axis - 1), extent);
                }
            }
        }
    }

    /// Emits the statements of a block and their counters into the open block.
    fn stmts(&mut self, block: &Block) -> Result<Tally, Unsupported> {
        self.next += 1;
        let mut tally = Tally::default();
        self.arrays(&block.params, &mut tally);
        for s in &block.stmts {
            self.b.span = s.span;
            self.stmt(s, &mut tally)?;
            self.arrays(&s.outs, &mut tally);
            if let Some(site) = s.outs.first().and_then(|o| self.sites.made.get(o).cloned())
                && site.unit == WorkUnit::Own
            {
                let n = super::work::own(&mut self.b, s);
                self.add(&mut tally, Count::Work(self.id, site.key), n);
            }
        }
        Ok(tally)
    }

    fn stmt(&mut self, stmt: &Stmt, t: &mut Tally) -> Result<(), Unsupported> {
        match &stmt.op {
            Op::If(..) | Op::Switch(..) => self.branches(stmt, t),
            Op::Loop(l) => self.loop_(stmt, l, t),
            Op::Call { f, args, checkpoint, .. } => self.call(stmt, *f, args, *checkpoint, t),
            Op::Soac(_) | Op::ReduceByIndex { .. } => {
                self.combinator(stmt, t);
                Ok(())
            }
            op => {
                let mut linear = !stmt.lin_outs.is_empty();
                op.each_operand(&mut |v| linear |= self.f.linear(v));
                if !linear {
                    self.b.push(stmt.clone());
                }
                Ok(())
            }
        }
    }

    /// Counts the operator of a reduction, which runs about once for each element.
    fn combinator(&mut self, s: &Stmt, tally: &mut Tally) {
        let number = self.next;
        // Operators are mostly straight-line code on numbers, so their nested blocks are not counted.
        self.next += s.op.blocks().iter().map(|b| count_blocks(b)).sum::<u32>();
        self.b.push(s.clone());
        let over = match &s.op {
            Op::Soac(s) => s.arrays.first().copied(),
            Op::ReduceByIndex { keys, .. } => Some(*keys),
            _ => None,
        };
        if let Some(a) = over {
            let n = self.elements(a);
            let n = self.extent(a, n, 0);
            self.add(tally, Count::Runs(self.id, number), n);
        }
    }

    fn branches(&mut self, stmt: &Stmt, tally: &mut Tally) -> Result<(), Unsupported> {
        let mut arms = Vec::new();
        for arm in stmt.op.blocks() {
            let number = self.next;
            self.b.open();
            self.b.adopt(&arm.params, &[]);
            let mut inner = self.stmts(arm)?;
            let one = self.b.int(1);
            self.add(&mut inner, Count::Runs(self.id, number), one);
            arms.push((self.b.close(arm.results.clone(), Vec::new()), inner));
        }
        let keys: Vec<Count> = arms
            .iter()
            .flat_map(|(_, t)| t.counts.keys().copied())
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        let peaks = arms.iter().any(|(_, t)| t.peak.is_some());
        let mut blocks = Vec::new();
        for (mut arm, inner) in arms {
            let zero = self.b.func.fresh(Ty::I64, false);
            arm.stmts.push(Stmt {
                outs: vec![zero],
                lin_outs: Vec::new(),
                op: Op::Lit(adl_ir::Lit::I64(0)),
                span: stmt.span,
            });
            arm.results.extend(keys.iter().map(|k| inner.counts.get(k).copied().unwrap_or(zero)));
            if peaks {
                arm.results.push(inner.peak.unwrap_or(zero));
            }
            blocks.push(arm);
        }
        let counts: Vec<Var> = keys.iter().map(|_| self.b.func.fresh(Ty::I64, false)).collect();
        let peak: Vec<Var> = peaks.then(|| self.b.func.fresh(Ty::I64, false)).into_iter().collect();
        let op = stmt.op.with_arms(blocks);
        self.b.push(Stmt {
            outs: [&stmt.outs[..], &counts, &peak].concat(),
            lin_outs: Vec::new(),
            op,
            span: stmt.span,
        });
        keys.into_iter().zip(counts).for_each(|(k, v)| self.add(tally, k, v));
        peak.into_iter().for_each(|v| self.raise(tally, v));
        Ok(())
    }

    fn loop_(&mut self, stmt: &Stmt, ir_loop: &Loop, tally: &mut Tally) -> Result<(), Unsupported> {
        let test = match &ir_loop.trip {
            Trip::While(c) => {
                let first = self.next;
                self.next += count_blocks(c);
                Some(first)
            }
            Trip::Count(_) => None,
        };
        let number = self.next;
        let zero = self.b.int(0);
        self.b.open();
        self.b.adopt(&ir_loop.body.params, &[]);
        let inner = self.stmts(&ir_loop.body)?;
        let mut made = Loop { lin_init: Vec::new(), lin_xs: Vec::new(), lin_outs: Vec::new(), ..ir_loop.clone() };
        let mut results = ir_loop.body.results.clone();
        let mut outs = stmt.outs.clone();
        let mut peak = None;
        let mut params = ir_loop.body.params.clone();
        if let Some(here) = inner.peak {
            peak = Some(super::carry_peak(&mut self.b, &mut made, [&mut params, &mut results, &mut outs], here, zero));
        }
        let (keys, vals): (Vec<Count>, Vec<Var>) = inner.counts.into_iter().unzip();
        results.extend(vals);
        made.outs.extend(keys.iter().map(|_| Out::Sum));
        made.body = Block { params, ..self.b.close(results, Vec::new()) };
        let trips = outs.pop().unwrap_or(zero);
        let sums: Vec<Var> = keys.iter().map(|_| self.b.func.fresh(Ty::I64, false)).collect();
        outs.extend(&sums);
        outs.push(trips);
        self.b.push(Stmt { outs, lin_outs: Vec::new(), op: Op::Loop(Box::new(made)), span: stmt.span });
        keys.into_iter().zip(sums).for_each(|(k, v)| self.add(tally, k, v));
        self.add(tally, Count::Runs(self.id, number), trips);
        if let Some(test) = test {
            // The condition is evaluated once more than the body.
            let one = self.b.int(1);
            let tested = self.b.bin(Bin::Add, trips, one);
            self.add(tally, Count::Runs(self.id, test), tested);
        }
        peak.into_iter().for_each(|v| self.raise(tally, v));
        Ok(())
    }

    fn call(
        &mut self,
        stmt: &Stmt,
        id: FnId,
        args: &[Var],
        checkpoint: bool,
        tally: &mut Tally,
    ) -> Result<(), Unsupported> {
        let callee = self.p.func(id);
        if stmt.outs.is_empty() && callee.body.results.is_empty() {
            return Ok(());
        }
        let linear = !callee.body.lin_results.is_empty();
        let made = self.ad.profile_of(self.p, id)?;
        let counts: Vec<Var> = made.counts.iter().map(|_| self.b.func.fresh(Ty::I64, false)).collect();
        let peak = self.b.func.fresh(Ty::I64, false);
        let op = Op::Call { f: made.func, args: args.to_vec(), lin_args: Vec::new(), rule: None, checkpoint: false };
        self.b.push(Stmt {
            outs: [&stmt.outs[..], &counts, &[peak]].concat(),
            lin_outs: Vec::new(),
            op,
            span: stmt.span,
        });
        if !checkpoint {
            made.counts.iter().zip(counts).for_each(|(k, v)| self.add(tally, *k, v));
            self.raise(tally, peak);
            return Ok(());
        }
        let counted: BTreeMap<Count, Var> = made.counts.iter().copied().zip(counts).collect();
        self.ad.plain(self.p, id);
        let work = super::forecast::work_of_plain(self.ad, self.p, id);
        let once = self.weighted_sum(&work, &counted);
        if let Some(key) = stmt.outs.first() {
            self.add(tally, Count::Inside(self.id, *key), once);
        }
        if !linear {
            return Ok(());
        }
        let work = super::forecast::work_of_residuals(self.ad, self.p, id)?;
        let once = self.weighted_sum(&work, &counted);
        let again = match counted.get(&Count::Again) {
            Some(inner) => self.b.bin(Bin::Add, once, *inner),
            None => once,
        };
        self.add(tally, Count::Again, again);
        let kept = kept_by(self.ad, self.p, id, &UnzipPlan::store_all())?;
        let kept = self.weighted_sum(&kept, &counted);
        let all = self.b.bin(Bin::Add, kept, peak);
        self.raise(tally, all);
        Ok(())
    }

    /// Emits a weighted sum of counters.
    fn weighted_sum(&mut self, weights: &BTreeMap<Count, u64>, counted: &BTreeMap<Count, Var>) -> Var {
        let mut sum = self.b.int(0);
        for (k, w) in weights {
            let Some(v) = counted.get(k) else { continue };
            let w = self.b.int(i64::try_from(*w).unwrap_or(i64::MAX));
            let part = self.b.bin(Bin::Mul, w, *v);
            sum = self.b.bin(Bin::Add, sum, part);
        }
        sum
    }
}

fn count_blocks(b: &Block) -> u32 {
    1 + b.stmts.iter().flat_map(|s| s.op.blocks()).map(count_blocks).sum::<u32>()
}

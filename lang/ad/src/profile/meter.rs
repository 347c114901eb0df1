//! Metered functions: the statements of a half as it is executed, with counters for work and memory.
//!
//! A metered function is `(x…) -> (y…, work, peak, bytes…)`: the non-linear part of a function, the work that it
//! did in the cost model of the reference evaluator, the peak bytes of what checkpoints recomputed, and the bytes
//! of each result that holds the residuals of a recursion. The latter are counted while the residuals are built,
//! because their boundaries are unknown afterwards. A profile predicts all plans at once; a metered function is
//! built from the halves of one plan, so its counts are measurements.

use super::sites::{WorkUnit, unit};
use super::work::{own, size, sizes};
use crate::{Ad, check};
use adl_ir::{Block, Builder, Cmp, Conv, DataId, FnId, Function, Loop, Op, Out, Program, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use adl_specialise::Unsupported;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

impl Ad {
    /// The metered function of a half. Data of the types `boxes` holds residuals.
    pub fn metered(
        &mut self,
        program: &mut Program,
        func_id: FnId,
        boxes: &BTreeSet<DataId>,
    ) -> Result<FnId, Unsupported> {
        if let Some(m) = self.costs.meters.get(&func_id) {
            return Ok(*m);
        }
        let src = program.func(func_id).clone();
        let name = format!("metered {}", src.name);
        // Recursive callers need the signature before the body exists.
        let mut sign =
            Function { name: name.clone(), vars: src.vars.clone(), body: Block::default(), ..Function::default() };
        sign.body.params = src.body.params.clone();
        sign.body.results = src.body.results.clone();
        let boxed = src.body.results.iter().filter(|v| holds(src.ty(**v), boxes)).count();
        for _ in 0..2 + boxed {
            let v = sign.fresh(Ty::I64, false);
            sign.body.results.push(v);
        }
        let id = program.add(sign);
        self.costs.meters.insert(func_id, id);
        let made = function(self, program, &src, name, boxes);
        match made {
            Ok(made) => {
                check::made("meter", program, &made);
                program.set(id, made);
                Ok(id)
            }
            Err(e) => {
                self.costs.meters.remove(&func_id);
                Err(e)
            }
        }
    }
}

fn function(
    ad: &mut Ad,
    p: &mut Program,
    src: &Rc<Function>,
    name: String,
    boxes: &BTreeSet<DataId>,
) -> Result<Function, Unsupported> {
    let again = ad.made_again();
    let mut m = Meter { ad, p, f: src.clone(), boxes, again, sizes: HashMap::new(), b: Builder::on((**src).clone()) };
    m.b.func.name = name;
    m.b.adopt(&src.body.params, &[]);
    let t = m.block(&src.body)?;
    let work = m.work(&t);
    let peak = t.peak.unwrap_or_else(|| m.b.int(0));
    let sizes = m.boxed(&src.body.results);
    Ok(m.b.finish([&src.body.results[..], &[work, peak], &sizes].concat(), Vec::new()))
}

/// Whether a type is data that holds residuals, or an array of such data.
fn holds(ty: &Ty, boxes: &BTreeSet<DataId>) -> bool {
    match ty {
        Ty::Array(e, _) => holds(e, boxes),
        Ty::Data(d) => boxes.contains(d),
        _ => false,
    }
}

/// The counters of a block so far.
#[derive(Default)]
struct MeterState {
    /// Work that is known statically.
    fixed: i64,
    /// Work that depends on sizes and control flow.
    work: Vec<Var>,
    /// Peak bytes.
    peak: Option<Var>,
    /// Bytes in use, and the position of the last statement that reads them.
    live: Vec<(usize, Var)>,
}

struct Meter<'a> {
    ad: &'a mut Ad,
    p: &'a mut Program,
    f: Rc<Function>,
    boxes: &'a BTreeSet<DataId>,
    /// Functions that checkpoints run again.
    again: HashSet<FnId>,
    /// Bytes of variables that hold residuals.
    sizes: HashMap<Var, Var>,
    b: Builder,
}

impl Meter<'_> {
    fn sum(&mut self, vs: &[Var]) -> Option<Var> {
        let (first, rest) = vs.split_first()?;
        Some(rest.iter().fold(*first, |sum, v| self.b.bin(Bin::Add, sum, *v)))
    }

    fn work(&mut self, t: &MeterState) -> Var {
        let fixed = self.b.int(t.fixed);
        match self.sum(&t.work) {
            Some(w) => self.b.bin(Bin::Add, w, fixed),
            None => fixed,
        }
    }

    fn raise(&mut self, t: &mut MeterState, v: Var) {
        t.peak = Some(match t.peak {
            Some(old) => self.b.bin(Bin::Max, old, v),
            None => v,
        });
    }

    fn block(&mut self, block: &Block) -> Result<MeterState, Unsupported> {
        let mut state = MeterState::default();
        for (index, stmt) in block.stmts.iter().enumerate() {
            self.b.span = stmt.span;
            let inner = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.stmt(stmt, &mut state))?;
            if let Some(q) = inner {
                let live: Vec<Var> = state.live.iter().map(|(_, v)| *v).chain([q]).collect();
                let all = self.sum(&live);
                all.into_iter().for_each(|v| self.raise(&mut state, v));
            }
            if matches!(&stmt.op, Op::Call { f, .. } if self.again.contains(f)) {
                let parts: Vec<Var> = stmt.outs.iter().map(|v| self.bytes(*v)).collect::<Result<_, _>>()?;
                let last =
                    block.stmts.iter().rposition(|later| crate::transpose::reads(later, &stmt.outs)).unwrap_or(index);
                state.live.extend(self.sum(&parts).map(|v| (last, v)));
                let live: Vec<Var> = state.live.iter().map(|(_, v)| *v).collect();
                let all = self.sum(&live);
                all.into_iter().for_each(|v| self.raise(&mut state, v));
            }
            state.live.retain(|(last, _)| *last > index);
        }
        Ok(state)
    }

    /// Meters a statement. Returns the peak bytes inside of it.
    fn stmt(&mut self, stmt: &Stmt, t: &mut MeterState) -> Result<Option<Var>, Unsupported> {
        match &stmt.op {
            Op::If(..) | Op::Switch(..) => self.branches(stmt, t),
            Op::Loop(l) => self.loop_(stmt, l, t),
            Op::Call { f, args, .. } => self.call(stmt, *f, args, t),
            op => {
                let mut linear = !stmt.lin_outs.is_empty();
                op.each_operand(&mut |v| linear |= self.f.linear(v));
                if !linear {
                    self.b.push(stmt.clone());
                    self.count(stmt, t);
                    self.made(stmt);
                }
                Ok(None)
            }
        }
    }

    fn branches(&mut self, stmt: &Stmt, meter_state: &mut MeterState) -> Result<Option<Var>, Unsupported> {
        let mut arms = Vec::new();
        for arm in stmt.op.blocks() {
            self.b.open();
            self.b.adopt(&arm.params, &[]);
            let inner = self.block(arm)?;
            let work = self.work(&inner);
            let peak = match inner.peak {
                Some(v) => v,
                None => self.b.int(0),
            };
            let sizes = self.boxed(&arm.results);
            arms.push((
                self.b.close([&arm.results[..], &[work, peak], &sizes].concat(), Vec::new()),
                inner.peak.is_some(),
            ));
        }
        let peaks = arms.iter().any(|(_, p)| *p);
        let blocks: Vec<Block> = arms.into_iter().map(|(b, _)| b).collect();
        let (work, peak) = (self.b.func.fresh(Ty::I64, false), self.b.func.fresh(Ty::I64, false));
        let op = stmt.op.with_arms(blocks);
        let sizes = self.have_sizes(&stmt.outs);
        self.b.push(Stmt {
            outs: [&stmt.outs[..], &[work, peak], &sizes].concat(),
            lin_outs: Vec::new(),
            op,
            span: stmt.span,
        });
        meter_state.work.push(work);
        Ok(peaks.then_some(peak))
    }

    fn loop_(&mut self, stmt: &Stmt, ir_loop: &Loop, meter_state: &mut MeterState) -> Result<Option<Var>, Unsupported> {
        let zero = self.b.int(0);
        self.b.open();
        self.b.adopt(&ir_loop.body.params, &[]);
        let mut inner = self.block(&ir_loop.body)?;
        let mut made = Loop { lin_init: Vec::new(), lin_xs: Vec::new(), lin_outs: Vec::new(), ..ir_loop.clone() };
        let mut params = ir_loop.body.params.clone();
        let mut results = ir_loop.body.results.clone();
        let (mut outs, mut peak) = (stmt.outs.clone(), None);
        let trips = outs.pop().unwrap_or(zero);
        if let Some(here) = inner.peak {
            peak = Some(super::carry_peak(&mut self.b, &mut made, [&mut params, &mut results, &mut outs], here, zero));
        }
        let mut each = None;
        if !inner.work.is_empty() {
            results.push(self.work(&inner));
            each = Some(self.b.func.fresh(Ty::I64, false));
            outs.extend(each);
            inner.fixed = 0;
        }
        results.extend(self.boxed(&ir_loop.body.results));
        outs.extend(self.have_sizes(&stmt.outs[..stmt.outs.len().saturating_sub(1)]));
        made.outs.resize(results.len() - made.init.len(), Out::Sum);
        made.body = Block { params, ..self.b.close(results, Vec::new()) };
        self.b.push(Stmt {
            outs: [&outs[..], &[trips]].concat(),
            lin_outs: Vec::new(),
            op: Op::Loop(Box::new(made)),
            span: stmt.span,
        });
        meter_state.work.extend(each);
        self.times(meter_state, inner.fixed, trips);
        self.trip(stmt, ir_loop, meter_state, trips);
        Ok(peak)
    }

    /// Adds `work`, `n` times.
    fn times(&mut self, t: &mut MeterState, work: i64, n: Var) {
        if work > 0 {
            let work = self.b.int(work);
            t.work.push(self.b.bin(Bin::Mul, work, n));
        }
    }

    /// Adds what a loop costs besides its iterations: sums, and conditions, which run once more than the body.
    fn trip(&mut self, s: &Stmt, l: &Loop, meter_state: &mut MeterState, trips: Var) {
        if let Trip::While(c) = &l.trip {
            let tested = c.stmts.iter().filter(|s| unit(&self.f, s) == WorkUnit::One).count() as i64;
            meter_state.fixed += tested;
            self.times(meter_state, tested, trips);
        }
        for (kind, out) in l.outs.iter().zip(&s.outs[l.init.len()..]) {
            if *kind == Out::Sum {
                // The first term of a sum needs no addition.
                let (one, zero) = (self.b.int(1), self.b.int(0));
                let n = self.b.bin(Bin::Sub, trips, one);
                let n = self.b.bin(Bin::Max, n, zero);
                let size = size(&mut self.b, *out);
                meter_state.work.push(self.b.bin(Bin::Mul, n, size));
            }
        }
    }

    fn call(
        &mut self,
        stmt: &Stmt,
        id: FnId,
        args: &[Var],
        meter_state: &mut MeterState,
    ) -> Result<Option<Var>, Unsupported> {
        let made = self.ad.metered(self.p, id, self.boxes)?;
        let (work, peak) = (self.b.func.fresh(Ty::I64, false), self.b.func.fresh(Ty::I64, false));
        let op = Op::Call { f: made, args: args.to_vec(), lin_args: Vec::new(), rule: None, checkpoint: false };
        let sizes = self.have_sizes(&stmt.outs);
        self.b.push(Stmt {
            outs: [&stmt.outs[..], &[work, peak], &sizes].concat(),
            lin_outs: Vec::new(),
            op,
            span: stmt.span,
        });
        meter_state.work.push(work);
        let watched = self.p.callees(id, |_, _| true).iter().any(|g| self.again.contains(g));
        Ok(watched.then_some(peak))
    }

    /// Adds the work of a statement without blocks.
    fn count(&mut self, s: &Stmt, t: &mut MeterState) {
        match unit(&self.f, s) {
            WorkUnit::Free => self.operators(s, t),
            WorkUnit::One => t.fixed += 1,
            WorkUnit::Elements => t.work.push(sizes(&mut self.b, &s.outs)),
            WorkUnit::Own => {
                let n = own(&mut self.b, s);
                t.work.push(n);
            }
        }
    }

    /// Emits the number of keys in bounds.
    fn in_bounds(&mut self, keys: Var, dest: &[Var]) -> Var {
        let zero = self.b.int(0);
        let Some(n) = dest.first().map(|d| self.b.dim(*d, 0)) else { return zero };
        let (whole, truths) = (Ty::shape(), Ty::Bool.array(1));
        let mut holds = |c, bound| {
            let t = self.b.one(Op::Cmp(c, keys, bound), truths.clone());
            self.b.one(Op::Convert(Conv::ToI64, t), whole.clone())
        };
        let (low, high) = (holds(Cmp::Ge, zero), holds(Cmp::Lt, n));
        let both = self.b.one(Op::Bin(Bin::Mul, low, high), whole);
        self.b.one(Op::SumAll { a: both, shape: None }, Ty::I64)
    }

    /// Adds the operator of a reduction, which runs once for each element.
    fn operators(&mut self, s: &Stmt, meter_state: &mut MeterState) {
        let over = match &s.op {
            Op::Soac(x) => x.arrays.first().copied(),
            Op::ReduceByIndex { keys, .. } => Some(*keys),
            _ => None,
        };
        let (Some(a), [op]) = (over, &s.op.blocks()[..]) else { return };
        let each = op.stmts.iter().filter(|s| unit(&self.f, s) == WorkUnit::One).count() as i64;
        let n = match &s.op {
            Op::ReduceByIndex { dest, .. } => self.in_bounds(a, dest),
            _ => self.b.dim(a, 0),
        };
        self.times(meter_state, each, n);
    }

    /// Emits the bytes of a residual.
    fn bytes(&mut self, var: Var) -> Result<Var, Unsupported> {
        let mut ty = self.f.ty(var);
        if holds(ty, self.boxes) {
            return self
                .sizes
                .get(&var)
                .copied()
                .ok_or_else(|| Unsupported::new("residuals that somebody else made", self.b.span));
        }
        while let Ty::Array(e, _) = ty {
            ty = e;
        }
        let width = match ty {
            Ty::F32 => 4,
            Ty::Bool => 1,
            _ => 8,
        };
        let (n, width) = (size(&mut self.b, var), self.b.int(width));
        Ok(self.b.bin(Bin::Mul, n, width))
    }

    /// Emits the bytes of those variables that hold residuals.
    fn boxed(&mut self, vs: &[Var]) -> Vec<Var> {
        let boxed: Vec<Var> = vs.iter().copied().filter(|v| holds(self.f.ty(*v), self.boxes)).collect();
        boxed.iter().map(|v| self.sizes.get(v).copied().unwrap_or_else(|| self.b.int(0))).collect()
    }

    /// New variables for these bytes.
    fn have_sizes(&mut self, vs: &[Var]) -> Vec<Var> {
        let boxed: Vec<Var> = vs.iter().copied().filter(|v| holds(self.f.ty(*v), self.boxes)).collect();
        let sizes: Vec<Var> = boxed.iter().map(|_| self.b.func.fresh(Ty::I64, false)).collect();
        self.sizes.extend(boxed.into_iter().zip(sizes.iter().copied()));
        sizes
    }

    /// Records the bytes of residuals that a statement builds, or of a symbolic zero.
    fn made(&mut self, s: &Stmt) {
        let Some(out) = s.outs.first().copied().filter(|v| holds(self.f.ty(*v), self.boxes)) else { return };
        let own = self.b.int(if self.f.ty(out).rank() == 0 { 8 } else { 0 });
        let parts: Option<Vec<Var>> = match &s.op {
            Op::Construct { fields, .. } => fields.iter().map(|v| self.bytes(*v).ok()).collect(),
            Op::Zero(_) => Some(Vec::new()),
            _ => None,
        };
        let Some(mut parts) = parts else { return };
        parts.push(own);
        let all = self.sum(&parts);
        self.sizes.extend(all.map(|v| (out, v)));
    }
}

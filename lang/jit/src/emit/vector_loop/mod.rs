//! Vectorised loops: several independent iterations at a time, two, four or eight in each vector.
//!
//! Such a loop becomes a function of its own, the [`kernel`], that runs a strip of iterations. The runtime
//! ([`crate::strip_runner`]) runs it over all iterations, on all threads if there are many. Loop bodies may contain
//! straight-line Float code, branches, array elements at sums and products of indices, and inner loops whose trip count
//! is the same in all iterations ([`plan`]). Order-dependent accumulations keep their order ([`dependence`]). Sums of loop
//! outputs are computed per strip, without materialising the terms. Functions such as `exp` are called on whole strips
//! ([`libm_stages`]). Rows that an iteration reads again lie in scratch memory ([`iteration_rows`]). Operations on whole rows are
//! lowered to inner loops ([`lower_rows`]); the sequential loop keeps them.
//!
//! This path runs if all arrays are materialised, all accesses are in bounds, and the trip count is large enough.
//! Otherwise the loop runs sequentially.

mod dependence;
mod inner;
mod iteration_rows;
mod kernel;
mod libm_stages;
mod lower_rows;
mod params;
mod plan;
mod prologue;
mod row_calls;

use super::{EmissionScope, Emit, EmitSite, is_ref};
use crate::limits::emit_vector_loop::SHORT;
use crate::wide::Extension;
use adl_interp::ir::live::NEVER;
use adl_ir::{Block, Loop, Op, Stmt, Var};
use adl_prim::Bin;
use cranelift_codegen::ir::Value;
use cranelift_module::FuncId;
use kernel::{Total, Vectors};
use libm_stages::Stages;
use params::KernelParams;
use plan::{IterationOutput, VectorPlan};

/// A loop together with the sums of its outputs.
struct VectorLoop<'b> {
    s: &'b Stmt,
    /// The loop of the statement, perhaps with lowered operations on rows.
    l: &'b Loop,
    p: VectorPlan,
    w: KernelParams,
    stages: Stages,
    /// Outputs that are materialised.
    stored: Vec<usize>,
    totals: Vec<Total>,
    /// The statements after the loop that sum outputs, and their results.
    sums: Vec<(u32, Var)>,
    falls: bool,
    vectors: Vectors,
}

/// The vectors with which a loop is run. `wide`: the extension that has longer ones than all processors.
fn vectors(plan: &VectorPlan, stages: &Stages, totals: bool, wide: Option<Extension>) -> Vectors {
    let size = stages.size().unwrap_or(plan.size);
    // Functions are called for at least eight iterations, and rows are stored for at most so many.
    let eight = plan.calls_inside || !plan.rows.stored.is_empty();
    // Sums of inner loops wait for each other, so several are computed side by side.
    let sums = !plan.inner.is_empty() && plan.inside <= SHORT && !eight;
    match wide {
        Some(Extension::Avx512) => return Vectors { wide, side: if sums { 4 } else { 1 } },
        Some(Extension::Avx2) => {
            // Totals in registers are those of eight iterations.
            let few = eight || totals || size < 28;
            return Vectors {
                wide,
                side: if sums {
                    4
                } else if few {
                    2
                } else {
                    1
                },
            };
        }
        None => {}
    }
    let side = match (plan.inner.is_empty(), size) {
        _ if plan.calls_inside => 4,
        // Most work is in inner loops, whose values stay in registers if there are few.
        (false, _) if plan.inside <= SHORT => 4,
        (false, ..12) => 4,
        (_, ..28) => 2,
        _ => 1,
    };
    Vectors { wide, side }
}

impl Emit<'_, '_, '_> {
    /// Vectorises a loop together with the sums of its outputs. Returns the first statement after them.
    pub(super) fn trip(&mut self, block: &Block, at: u32, sc: &EmissionScope) -> Option<u32> {
        let stmt = &block.stmts[at as usize];
        let Op::Loop(ir_loop) = &stmt.op else { return None };
        let lowered;
        let (l, p) = match plan::plan(self.f, ir_loop, false) {
            Some(p) => (&**ir_loop, p),
            None => {
                let (l, p) = self.lowered(ir_loop)?;
                lowered = l;
                (&lowered, p)
            }
        };
        let stages = libm_stages::stages(l, &p)?;
        let whole = self.with_sums(block, at, l, (p, stages));
        let made = self.define_trip(&whole)?;
        self.at = EmitSite::of(stmt.span);
        let (slow, done) = (self.fresh(), self.fresh());
        let results: Vec<Var> = self.results(&whole);
        for v in &results {
            let t = self.word_type(*v);
            self.b.append_block_param(done, t);
        }
        let places = self.held.places.clone();
        let fast = self.at_once(&whole, made, &results, slow, at, sc);
        self.goto(done, &fast);
        self.b.switch_to_block(slow);
        self.held.places = places;
        let rest = self.loop_and_sums(block, at, sc);
        for (i, _) in whole.sums.iter().filter(|(i, _)| *i >= rest) {
            self.stmt(&block.stmts[*i as usize], *i, sc);
        }
        let other: Vec<Value> = results.iter().map(|v| self.val(*v)).collect();
        self.goto(done, &other);
        self.b.switch_to_block(done);
        let vals = self.b.block_params(done).to_vec();
        for (v, x) in results.iter().zip(vals) {
            self.bind(*v, x);
        }
        Some(at + 1 + whole.sums.len() as u32)
    }

    /// Lowers the operations on rows of a loop, and makes the plan of what it becomes.
    fn lowered(&mut self, l: &Loop) -> Option<(Loop, VectorPlan)> {
        if !lower_rows::has_rows(self.f, &l.body) {
            return None;
        }
        let made = self.held.lowered.take().unwrap_or_else(|| lower_rows::with_variables(self.f));
        let (made, l) = lower_rows::lower(self.f, made, l);
        let plan = plan::plan(&made, &l, true);
        self.held.lowered = Some(made);
        Some((l, plan?))
    }

    /// Emits the kernel.
    fn define_trip(&mut self, vector_loop: &VectorLoop) -> Option<FuncId> {
        let stored: Vec<(usize, usize)> =
            vector_loop.stored.iter().copied().zip(vector_loop.w.outs.iter().copied()).collect();
        let f = self.held.lowered.clone().unwrap_or_else(|| self.f.clone());
        kernel::define(
            self,
            &kernel::KernelJob {
                f: &f,
                p: &vector_loop.p,
                l: vector_loop.l,
                w: &vector_loop.w,
                stages: &vector_loop.stages,
                stored: &stored,
                totals: &vector_loop.totals,
                falls: vector_loop.falls,
                vectors: vector_loop.vectors,
            },
        )
    }

    /// Finds the sums of the loop's outputs that follow it.
    fn with_sums<'b>(
        &self,
        b: &'b Block,
        at: u32,
        ir_loop: &'b Loop,
        (plan, stages): (VectorPlan, Stages),
    ) -> VectorLoop<'b> {
        let stmt = &b.stmts[at as usize];
        let outs = &stmt.outs[ir_loop.init.len()..ir_loop.init.len() + ir_loop.outs.len()];
        let falls = ir_loop.reverse && plan.sequential;
        let (mut totals, mut sums) = (Vec::new(), Vec::new());
        for (i, next) in (at + 1..).zip(&b.stmts[at as usize + 1..]) {
            let (Op::Sum { a, .. }, [total]) = (&next.op, &next.outs[..]) else { break };
            let number = |k: &usize| matches!(plan.outs[*k], IterationOutput::Number);
            let at = outs.iter().position(|v| v == a).filter(number);
            let Some(k) = at.filter(|_| !falls && plan.meets.is_none()) else { break };
            totals.push(product(ir_loop, &plan, k).unwrap_or(Total::Out(k)));
            sums.push((i, *total));
        }
        let end = at + 1 + sums.len() as u32;
        let lives = |v: Var| self.last[v.0 as usize] != NEVER && self.last[v.0 as usize] >= end;
        let stored: Vec<usize> =
            (0..outs.len()).filter(|k| lives(outs[*k]) || self.held.places.contains_key(&outs[*k])).collect();
        let w = KernelParams::of(self.f, &plan, stored.len());
        let vectors = vectors(&plan, &stages, !totals.is_empty(), self.job.wide);
        VectorLoop { s: stmt, l: ir_loop, p: plan, w, stages, stored, totals, sums, falls, vectors }
    }

    /// The used results of the loop and the sums: carried values, arrays, sums, the number of iterations.
    fn results(&self, x: &VectorLoop) -> Vec<Var> {
        let k = x.l.init.len();
        let arrays = x.stored.iter().map(|o| x.s.outs[k + o]).filter(|v| !self.held.places.contains_key(v));
        let all = x.s.outs[..k]
            .iter()
            .copied()
            .chain(arrays)
            .chain(x.sums.iter().map(|(_, v)| *v))
            .chain(x.s.outs.iter().skip(k + x.l.outs.len()).copied());
        all.filter(|v| self.last[v.0 as usize] != NEVER || !is_ref(self.ty(*v))).collect()
    }
}

/// An output that is a product of elements of two arrays at unit stride.
fn product(l: &Loop, p: &VectorPlan, k: usize) -> Option<Total> {
    let r = l.body.results[l.init.len() + k];
    let s = l.body.stmts.iter().find(|s| s.outs[..] == [r])?;
    let Op::Bin(Bin::Mul, a, b) = &s.op else { return None };
    let beside = |v: &Var| {
        p.elements.get(v).is_some_and(|(_, at)| {
            let last = at.len() - 1;
            at.iter().enumerate().all(|(i, n)| p.ints[*n].inner == 0 && p.ints[*n].step == Some(i64::from(i == last)))
        })
    };
    (beside(a) && beside(b)).then_some(Total::Dot(*a, *b))
}

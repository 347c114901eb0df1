//! Stages: functions that are not instructions (`exp`, `log`, ...) are called on a strip of iterations at a time.
//!
//! The arguments of such a function are stored to a buffer for all iterations of the strip. The function is then called
//! on the buffer, with the widest vectors of the machine where a vectorised version exists. A later stage loads its
//! results. A stage recomputes what it needs of earlier stages, except results of functions, roots, quotients and inner
//! loops, which are also kept in buffers. All stores and accumulations are in the last stage, so that their order is
//! that of the original loop.

use super::super::group::is_plain;
use super::plan::{Carry, VectorPlan};
use crate::limits::emit_vector_loop_libm_stages::BUFFERS;
use adl_ir::{Block, Loop, Op, Stmt, Var};
use adl_prim::scalar::Native;
use adl_prim::{Bin, Un};
use smallvec::{SmallVec, smallvec};
use std::collections::{HashMap, HashSet};

/// A math function that is not an instruction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum MathFunction {
    Un(Un),
    Bin(Bin),
}

impl MathFunction {
    /// The function and arguments of an operation, if it is one.
    pub(super) fn of(op: &Op) -> Option<(MathFunction, SmallVec<[Var; 2]>)> {
        match op {
            Op::Un(op, a) if !is_plain(*op) => Some((MathFunction::Un(*op), smallvec![*a])),
            Op::Bin(op, a, b) if op.native() != Native::Instructions => {
                Some((MathFunction::Bin(*op), smallvec![*a, *b]))
            }
            _ => None,
        }
    }

    /// Whether evaluating many costs little more than one, independently of the arguments.
    pub(super) fn is_quick(self) -> bool {
        matches!(self, MathFunction::Un(op) if op.native() == Native::Vector)
    }
}

/// A function call on a strip of iterations.
pub(super) struct Call {
    pub out: Var,
    pub fun: MathFunction,
    pub args: SmallVec<[Var; 2]>,
    /// The stage after which it is called.
    pub stage: usize,
    /// The buffer of its first argument and of its result; those of other arguments follow.
    pub buffer: usize,
}

/// The buffer of another value that later stages read.
#[derive(Clone, Copy)]
pub(super) struct KeptValue {
    pub stage: usize,
    pub buffer: usize,
}

/// The stages of a strip.
pub(super) struct Stages {
    pub calls: Vec<Call>,
    pub kept: HashMap<Var, KeptValue>,
    /// The variables that each stage computes or loads; empty if there is a single stage.
    pub needed: Vec<HashSet<Var>>,
    /// The number of buffers.
    pub buffers: usize,
}

impl Stages {
    /// The index of the last stage.
    pub(super) fn last(&self) -> usize {
        self.needed.len().saturating_sub(1)
    }

    /// The number of variables in the largest stage.
    pub(super) fn size(&self) -> Option<usize> {
        self.needed.iter().map(HashSet::len).max()
    }
}

/// Makes the stages of a plan. `None` if it cannot be divided into stages.
pub(super) fn stages(ir_loop: &Loop, p: &VectorPlan) -> Option<Stages> {
    let none = Stages { calls: Vec::new(), kept: HashMap::new(), needed: Vec::new(), buffers: 0 };
    if p.calls.is_empty() {
        return Some(none);
    }
    let mut builder = StageBuilder { p, made: HashMap::new(), level: HashMap::new(), homes: HashMap::new(), out: none };
    builder.levels(&ir_loop.body);
    let last = builder.out.calls.iter().map(|c| c.stage + 1).max()?;
    for stage in 0..=last {
        let roots = if stage < last {
            builder.out.calls.iter().filter(|c| c.stage == stage).flat_map(|c| c.args.to_vec()).collect()
        } else {
            builder.ends(ir_loop)
        };
        builder.need(stage, last, roots)?;
    }
    (builder.out.buffers <= BUFFERS).then_some(builder.out)
}

/// The definition of a variable.
#[derive(Clone)]
enum StageDefinition<'a> {
    By(&'a Stmt),
    /// A selection between two variables by a Bool.
    Either([Var; 3]),
    Loop(&'a Stmt, &'a Loop),
}

struct StageBuilder<'a> {
    p: &'a VectorPlan,
    made: HashMap<Var, StageDefinition<'a>>,
    /// The first stage in which a variable is available.
    level: HashMap<Var, usize>,
    /// The stage of variables that are not recomputed.
    homes: HashMap<Var, usize>,
    out: Stages,
}

/// Whether a block contains accumulations to arrays.
pub(super) fn adds(b: &Block) -> bool {
    b.stmts.iter().any(|s| {
        matches!(s.op, Op::IndexAdd { .. })
            || s.op.blocks().into_iter().any(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || adds(b)))
    })
}

/// Whether an inner loop accumulates to arrays.
pub(super) fn loop_adds(p: &VectorPlan, s: &Stmt, l: &Loop) -> bool {
    adds(&l.body) || p.inner.iter().any(|i| s.outs.first() == Some(&i.name) && i.to.is_some())
}

impl<'a> StageBuilder<'a> {
    fn level(&self, v: Var) -> usize {
        self.level.get(&v).copied().unwrap_or(0)
    }

    fn levels(&mut self, b: &'a Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || b.stmts.iter().for_each(|s| self.level_of(s)));
    }

    fn level_of(&mut self, stmt: &'a Stmt) {
        stmt.op.blocks().into_iter().for_each(|b| self.levels(b));
        match &stmt.op {
            Op::If(c, x, y) => {
                for (k, out) in stmt.outs.iter().enumerate() {
                    let of = [*c, x.results[k], y.results[k]];
                    let level = of.iter().map(|v| self.level(*v)).max();
                    self.level.insert(*out, level.unwrap_or(0));
                    self.made.insert(*out, StageDefinition::Either(of));
                }
            }
            Op::Loop(l) => {
                let mut level = 0;
                let mut see = |me: &Self, v: Var| level = level.max(me.level(v));
                l.init.iter().for_each(|v| see(self, *v));
                each_inside(&l.body, &mut |v| see(self, v));
                for out in &stmt.outs {
                    self.level.insert(*out, level);
                    self.made.insert(*out, StageDefinition::Loop(stmt, l));
                }
            }
            op => {
                let [out] = stmt.outs[..] else { return };
                let mut level = 0;
                op.each_operand(&mut |v| level = level.max(self.level(v)));
                self.made.insert(out, StageDefinition::By(stmt));
                if let Some((fun, args)) = MathFunction::of(op).filter(|_| self.p.calls.contains(&out)) {
                    let buffer = self.out.buffers;
                    self.out.buffers += args.len();
                    self.out.calls.push(Call { out, fun, args, stage: level, buffer });
                    level += 1;
                }
                self.level.insert(out, level);
            }
        }
    }

    /// The variables that the last stage stores or accumulates.
    fn ends(&self, l: &Loop) -> Vec<Var> {
        let mut ends = l.body.results[l.init.len()..].to_vec();
        for (k, c) in self.p.carry.iter().enumerate() {
            if let (Carry::Fold, Some(StageDefinition::By(s))) = (c, self.made.get(&l.body.results[k])) {
                s.op.each_operand(&mut |v| ends.push(v));
            }
        }
        self.added(&l.body, &mut ends);
        ends
    }

    fn added(&self, b: &Block, ends: &mut Vec<Var>) {
        for s in &b.stmts {
            match &s.op {
                Op::IndexAdd { v, .. } => ends.push(*v),
                Op::If(c, x, y) if adds(x) || adds(y) => {
                    ends.push(*c);
                    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
                        [x, y].into_iter().for_each(|b| self.added(b, ends));
                    });
                }
                Op::Loop(l) if loop_adds(self.p, s, l) => {
                    ends.extend(l.init.iter().chain(&l.body.results));
                    stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.added(&l.body, ends));
                }
                _ => {}
            }
        }
    }

    /// Computes which variables a stage needs.
    fn need(&mut self, stage: usize, last: usize, mut work: Vec<Var>) -> Option<()> {
        let mut needed = HashSet::new();
        while let Some(v) = work.pop() {
            if !needed.insert(v) || self.out.calls.iter().any(|c| c.out == v) {
                continue;
            }
            let Some(made) = self.made.get(&v).cloned() else { continue };
            if self.is_kept(&made) {
                let home = *self.homes.entry(v).or_insert(stage);
                if home < stage {
                    if !self.out.kept.contains_key(&v) {
                        self.out.kept.insert(v, KeptValue { stage: home, buffer: self.out.buffers });
                        self.out.buffers += 1;
                    }
                    continue;
                }
            }
            match made {
                StageDefinition::By(s) => s.op.each_operand(&mut |v| work.push(v)),
                StageDefinition::Either(of) => work.extend(of),
                // A loop that accumulates to arrays must not run in more than one stage.
                StageDefinition::Loop(s, l) if loop_adds(self.p, s, l) && stage < last => return None,
                StageDefinition::Loop(s, l) => {
                    work.extend(s.outs.iter().chain(&l.init).chain(&l.body.results));
                }
            }
        }
        self.out.needed.push(needed);
        Some(())
    }

    /// Whether a value is stored in a buffer instead of being recomputed.
    fn is_kept(&self, made: &StageDefinition) -> bool {
        match made {
            StageDefinition::Loop(..) => true,
            StageDefinition::Either(_) => false,
            StageDefinition::By(s) => matches!(s.op, Op::Bin(Bin::Div, ..) | Op::Un(Un::Sqrt | Un::Powi(..0), _)),
        }
    }
}

/// Visits each operand and result in a block, including nested blocks.
fn each_inside(b: &Block, f: &mut dyn FnMut(Var)) {
    b.results.iter().for_each(|v| f(*v));
    for s in &b.stmts {
        s.op.each_operand(f);
        s.op.blocks().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || each_inside(b, f)));
    }
}

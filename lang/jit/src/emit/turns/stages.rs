//! Stages: functions that are no instructions (`exp`, `log`, ...) are called for a strip of turns at a time.
//!
//! What such a function is given goes into a buffer, for all turns of the strip; then the function is called on the buffer, by the machine's widest
//! vectors where it has a form for them; a later stage reads what it gives. A stage computes again what it needs of the stages before it, but for results of functions,
//! roots, quotients and loops inside, which are kept in buffers too. Whatever is stored or added up is done in the last stage, so that its order is that of one stage.

use super::super::group::is_plain;
use super::plan::{Carry, Plan};
use adl_ir::{Block, Loop, Op, Stmt, Var};
use adl_prim::{Bin, Un};
use smallvec::{SmallVec, smallvec};
use std::collections::{HashMap, HashSet};

/// Buffers at most: those of a strip are to stay in the second cache.
const BUFFERS: usize = 64;

/// A function of numbers that is no instruction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Fun {
    Un(Un),
    Bin(Bin),
}

impl Fun {
    /// Of an operation that is one: the function, and what it is given.
    pub(super) fn of(op: &Op) -> Option<(Fun, SmallVec<[Var; 2]>)> {
        match op {
            Op::Un(op, a) if !is_plain(*op) => Some((Fun::Un(*op), smallvec![*a])),
            Op::Bin(op @ (Bin::Pow | Bin::Atan2 | Bin::Hypot | Bin::Rem), a, b) => Some((Fun::Bin(*op), smallvec![*a, *b])),
            _ => None,
        }
    }

    /// Whether many are done in little more time than one, whatever the numbers.
    pub(super) fn is_quick(self) -> bool {
        matches!(self, Fun::Un(Un::Exp | Un::Expm1 | Un::Log | Un::Log1p | Un::Tanh | Un::Sech2 | Un::Sigmoid | Un::Softplus | Un::Sin | Un::Cos))
    }
}

/// A function that is called for a strip of turns.
pub(super) struct Call {
    pub out: Var,
    pub fun: Fun,
    pub args: SmallVec<[Var; 2]>,
    /// At whose end it is called.
    pub stage: usize,
    /// The buffer of its first argument, and of its result; those of others follow.
    pub buffer: usize,
}

/// What else later stages read.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    pub stage: usize,
    pub buffer: usize,
}

/// How the turns of a strip are done.
pub(super) struct Stages {
    pub calls: Vec<Call>,
    pub kept: HashMap<Var, Kept>,
    /// What each stage computes or reads; nothing if there is one stage, which has everything.
    pub needed: Vec<HashSet<Var>>,
    /// How many buffers there are.
    pub buffers: usize,
}

impl Stages {
    /// The last one.
    pub(super) fn last(&self) -> usize {
        self.needed.len().saturating_sub(1)
    }

    /// What the largest stage has.
    pub(super) fn size(&self) -> Option<usize> {
        self.needed.iter().map(HashSet::len).max()
    }
}

/// Stages for a plan, if it can be done in some.
pub(super) fn stages(l: &Loop, p: &Plan) -> Option<Stages> {
    let none = Stages { calls: Vec::new(), kept: HashMap::new(), needed: Vec::new(), buffers: 0 };
    if p.calls.is_empty() {
        return Some(none);
    }
    let mut s = Search { p, made: HashMap::new(), level: HashMap::new(), homes: HashMap::new(), out: none };
    s.levels(&l.body);
    let last = s.out.calls.iter().map(|c| c.stage + 1).max()?;
    for stage in 0..=last {
        let roots = if stage < last { s.out.calls.iter().filter(|c| c.stage == stage).flat_map(|c| c.args.to_vec()).collect() } else { s.ends(l) };
        s.need(stage, last, roots)?;
    }
    (s.out.buffers <= BUFFERS).then_some(s.out)
}

/// What a variable is made of.
#[derive(Clone)]
enum Made<'a> {
    By(&'a Stmt),
    /// One of two, as a Bool says.
    Either([Var; 3]),
    Loop(&'a Stmt, &'a Loop),
}

struct Search<'a> {
    p: &'a Plan,
    made: HashMap<Var, Made<'a>>,
    /// The first stage in which something can be had.
    level: HashMap<Var, usize>,
    /// Where what is not computed again is computed.
    homes: HashMap<Var, usize>,
    out: Stages,
}

/// Whether something is added to arrays there.
pub(super) fn adds(b: &Block) -> bool {
    b.stmts.iter().any(|s| matches!(s.op, Op::IndexAdd { .. }) || s.op.blocks().into_iter().any(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || adds(b))))
}

/// Whether a loop inside adds to arrays.
pub(super) fn loop_adds(p: &Plan, s: &Stmt, l: &Loop) -> bool {
    adds(&l.body) || p.inner.iter().any(|i| s.outs.first() == Some(&i.name) && i.to.is_some())
}

impl<'a> Search<'a> {
    fn level(&self, v: Var) -> usize {
        self.level.get(&v).copied().unwrap_or(0)
    }

    fn levels(&mut self, b: &'a Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || b.stmts.iter().for_each(|s| self.level_of(s)));
    }

    fn level_of(&mut self, s: &'a Stmt) {
        s.op.blocks().into_iter().for_each(|b| self.levels(b));
        match &s.op {
            Op::If(c, x, y) => {
                for (k, out) in s.outs.iter().enumerate() {
                    let of = [*c, x.results[k], y.results[k]];
                    let level = of.iter().map(|v| self.level(*v)).max();
                    self.level.insert(*out, level.unwrap_or(0));
                    self.made.insert(*out, Made::Either(of));
                }
            }
            Op::Loop(l) => {
                let mut level = 0;
                let mut see = |me: &Self, v: Var| level = level.max(me.level(v));
                l.init.iter().for_each(|v| see(self, *v));
                each_inside(&l.body, &mut |v| see(self, v));
                for out in &s.outs {
                    self.level.insert(*out, level);
                    self.made.insert(*out, Made::Loop(s, l));
                }
            }
            op => {
                let [out] = s.outs[..] else { return };
                let mut level = 0;
                op.each_operand(&mut |v| level = level.max(self.level(v)));
                self.made.insert(out, Made::By(s));
                if let Some((fun, args)) = Fun::of(op).filter(|_| self.p.calls.contains(&out)) {
                    let buffer = self.out.buffers;
                    self.out.buffers += args.len();
                    self.out.calls.push(Call { out, fun, args, stage: level, buffer });
                    level += 1;
                }
                self.level.insert(out, level);
            }
        }
    }

    /// What the last stage stores or adds up.
    fn ends(&self, l: &Loop) -> Vec<Var> {
        let mut ends = l.body.results[l.init.len()..].to_vec();
        for (k, c) in self.p.carry.iter().enumerate() {
            if let (Carry::Fold, Some(Made::By(s))) = (c, self.made.get(&l.body.results[k])) {
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
                    stacker::maybe_grow(64 * 1024, 1024 * 1024, || [x, y].into_iter().for_each(|b| self.added(b, ends)));
                }
                Op::Loop(l) if loop_adds(self.p, s, l) => {
                    ends.extend(l.init.iter().chain(&l.body.results));
                    stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.added(&l.body, ends));
                }
                _ => {}
            }
        }
    }

    /// Notes what a stage needs for some variables.
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
                        self.out.kept.insert(v, Kept { stage: home, buffer: self.out.buffers });
                        self.out.buffers += 1;
                    }
                    continue;
                }
            }
            match made {
                Made::By(s) => s.op.each_operand(&mut |v| work.push(v)),
                Made::Either(of) => work.extend(of),
                // What adds to arrays does so once.
                Made::Loop(s, l) if loop_adds(self.p, s, l) && stage < last => return None,
                Made::Loop(s, l) => work.extend(s.outs[..l.init.len()].iter().chain(&l.init).chain(&l.body.results)),
            }
        }
        self.out.needed.push(needed);
        Some(())
    }

    /// Whether something is kept rather than computed again.
    fn is_kept(&self, made: &Made) -> bool {
        match made {
            Made::Loop(..) => true,
            Made::Either(_) => false,
            Made::By(s) => matches!(s.op, Op::Bin(Bin::Div, ..) | Op::Un(Un::Sqrt | Un::Powi(..0), _)),
        }
    }
}

/// Each operand of what stands in a block.
fn each_inside(b: &Block, f: &mut dyn FnMut(Var)) {
    b.results.iter().for_each(|v| f(*v));
    for s in &b.stmts {
        s.op.each_operand(f);
        s.op.blocks().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || each_inside(b, f)));
    }
}

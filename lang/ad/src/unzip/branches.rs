//! U of branches.
//!
//! The residuals of an arm are returned through all enclosing branches, so code would grow with the square of the
//! nesting depth. Two measures keep it linear:
//!
//! - In a nest of more than [`MAX_UNPACKED`] branches the conditions are not stored separately. The arms are numbered, and
//!   only the number of the one that ran is stored. The linear half compares that number ([`super::balance`]). A
//!   branch continues the numbering of its most deeply nested arm, and adds one number for the other arm, whose own
//!   nest has its own numbering.
//! - At every [`MAX_UNPACKED`]th level above the innermost one, residuals are packed in one value, as in recursive functions.

use super::cells::Slot;
use super::mixed_statements::{bound_in, push_linear};
use super::{BlockHalves, Residual, U};
use crate::limits::unzip_branches::MAX_UNPACKED;
use adl_ir::{Block, Cmp, DataDecl, Lit, Op, Stmt, Ty, Var};
use adl_specialise::Unsupported;
use adl_syntax::span::Span;
use std::collections::HashMap;

/// The number of the arm that ran, in a nest of branches.
#[derive(Clone, Copy)]
pub(super) struct ArmNumber {
    /// The variable with the number.
    var: Var,
    /// The number of arms.
    arms: i64,
}

/// How a branch of a numbered nest is selected.
struct NumberedBranch {
    /// The arm whose numbering is continued.
    deep: usize,
    /// The numbering of that arm. If it has no nested branches, it has number 0.
    inner: Option<ArmNumber>,
    /// The numbering of this branch.
    here: ArmNumber,
}

/// Nesting depth of the branches and loops of a statement.
#[derive(Clone, Copy, Default)]
pub(super) struct NestDepth {
    /// Counting only two-way branches directly inside each other.
    chain: u32,
    /// Counting all of them.
    all: u32,
}

/// A linear result that identifies a statement. Every statement considered here has one.
fn linear_key(s: &Stmt) -> Option<Var> {
    s.lin_outs.first().copied()
}

/// The most deeply nested linear two-way branch of a block.
fn deepest<'b>(u: &mut U, b: &'b Block) -> Option<(u32, &'b Stmt)> {
    b.stmts
        .iter()
        .filter(|s| matches!(s.op, Op::If(..)) && linear_key(s).is_some())
        .map(|s| (u.depth(s).chain, s))
        .max_by_key(|(d, _)| *d)
}

impl U<'_> {
    fn depth(&mut self, stmt: &Stmt) -> NestDepth {
        let Some(name) = linear_key(stmt) else { return NestDepth::default() };
        if let Some(d) = self.depths.get(&name) {
            return *d;
        }
        let blocks = stmt.op.blocks();
        let mut d = NestDepth::default();
        for inner in blocks.iter().flat_map(|b| &b.stmts) {
            let i = stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.depth(inner));
            d = NestDepth { chain: d.chain.max(i.chain), all: d.all.max(i.all) };
        }
        d.chain = if matches!(stmt.op, Op::If(..)) { d.chain + 1 } else { 0 };
        d.all += u32::from(!blocks.is_empty());
        self.depths.insert(name, d);
        d
    }

    pub(super) fn branches(
        &mut self,
        stmt: &Stmt,
        primal: &mut Block,
        linear: &mut Vec<Stmt>,
    ) -> Result<(), Unsupported> {
        let nest = self.continued_arm(stmt);
        let inner = nest.and_then(|deep| deepest(self, stmt.op.blocks()[deep])).and_then(|(_, s)| linear_key(s));
        self.numbered.extend(inner);
        let mut halves = Vec::new();
        for (k, arm) in stmt.op.blocks().into_iter().enumerate() {
            self.note_params(arm, stmt.span, "a field of data");
            let mut half = self.block(arm, &|_, _| false)?;
            let which = inner.and_then(|i| self.which.get(&i)).map(|w| w.var);
            self.pack(stmt, (k as u32, arm), &mut half, |v| arm.params.contains(&v) || Some(v) == which);
            halves.push(half);
        }
        let numbered = nest.map(|deep| {
            let inner = inner.and_then(|i| self.which.remove(&i));
            let here = ArmNumber { var: self.f.fresh(Ty::I64, false), arms: inner.map_or(1, |w| w.arms) + 1 };
            NumberedBranch { deep, inner, here }
        });
        let (mut extra, mut prims, lins) = self.arms(stmt, halves, numbered.as_ref());
        if let Some(n) = &numbered {
            extra.push(n.here.var);
            self.number(stmt, n, &mut prims);
        }
        let outs = [&stmt.outs[..], &extra].concat();
        let lin_op = match (&stmt.op, &numbered) {
            (Op::If(..), Some(n)) => {
                Op::If(self.taken(stmt, n, linear), Box::default(), Box::default()).with_arms(lins)
            }
            (op, _) => op.with_arms(lins),
        };
        let op = stmt.op.with_arms(prims);
        primal.stmts.push(Stmt { outs, lin_outs: Vec::new(), op, span: stmt.span });
        push_linear(stmt, lin_op, linear);
        Ok(())
    }

    /// Whether a branch belongs to a numbered nest, and which arm's numbering it continues. If conditions are
    /// recomputed, no number is needed.
    fn continued_arm(&mut self, s: &Stmt) -> Option<usize> {
        let inside = linear_key(s).is_some_and(|n| self.numbered.contains(&n));
        let Op::If(_, a, b) = &s.op else { return None };
        if !inside && (self.plan.everything || self.depth(s).chain <= MAX_UNPACKED) {
            return None;
        }
        let depth = |u: &mut Self, b| deepest(u, b).map_or(0, |(d, _)| d);
        Some(usize::from(depth(self, a) <= depth(self, b)))
    }

    /// Makes the arms return the number of the arm that ran.
    fn number(&mut self, stmt: &Stmt, numbered_branch: &NumberedBranch, prims: &mut [Block]) {
        for (k, arm) in prims.iter_mut().enumerate() {
            let v = match numbered_branch.inner {
                Some(inner) if k == numbered_branch.deep => inner.var,
                _ => self.int(
                    stmt.span,
                    if k == numbered_branch.deep { 0 } else { numbered_branch.here.arms - 1 },
                    &mut arm.stmts,
                ),
            };
            arm.results.push(v);
        }
        let Some(name) = crate::profile::key(stmt) else { return };
        self.notes.keys.extend(linear_key(stmt).map(|n| (n, name)));
        let row = Residual {
            at: (self.id, name),
            span: stmt.span,
            name: None,
            ty: Ty::I64,
            movable: false,
            reason: "which branch ran",
            arms: Vec::new(),
        };
        self.made.entry(name).or_insert((stmt.span, row.reason));
        self.origins.insert(numbered_branch.here.var, vec![row]);
        self.parts.insert(numbered_branch.here.var);
        self.which.extend(linear_key(stmt).map(|name| (name, numbered_branch.here)));
    }

    fn int(&mut self, span: Span, n: i64, stmts: &mut Vec<Stmt>) -> Var {
        let v = self.f.fresh(Ty::I64, false);
        stmts.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op: Op::Lit(Lit::I64(n)), span });
        v
    }

    /// Emits which arm the linear half takes: the last number is that of the other arm, all others belong to the
    /// deep arm.
    fn taken(&mut self, s: &Stmt, n: &NumberedBranch, linear: &mut Vec<Stmt>) -> Var {
        let last = self.int(s.span, n.here.arms - 1, linear);
        let v = self.f.fresh(Ty::Bool, false);
        let cmp = if n.deep == 0 { Cmp::Lt } else { Cmp::Ge };
        linear.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op: Op::Cmp(cmp, n.here.var, last), span: s.span });
        v
    }

    /// Packs the residuals of a block of a deep nest, except for values that are `there` anyway.
    pub(super) fn pack(
        &mut self,
        stmt: &Stmt,
        (number, block): (u32, &Block),
        half: &mut BlockHalves,
        there: impl Fn(Var) -> bool,
    ) {
        let height = block.stmts.iter().map(|s| self.depth(s).all).max().unwrap_or(0);
        let inside = bound_in(&half.primal);
        let goes = |v: &Var| inside.contains(v) && !there(*v);
        let kept: Vec<Var> = half.needs.iter().copied().filter(goes).collect();
        if height == 0 || height % MAX_UNPACKED != 0 || kept.len() <= MAX_UNPACKED as usize {
            return;
        }
        let fields = kept.iter().map(|v| self.f.ty(*v).clone()).collect();
        let data = self.p.add_data(DataDecl {
            name: format!("Residuals of {}", self.f.name.trim_start_matches("jvp ")),
            cons: vec![("Kept".to_owned(), fields)],
            declared: None,
        });
        let one = self.f.fresh(Ty::Data(data), false);
        let rows = kept.iter().flat_map(|v| self.origin(*v)).collect();
        self.origins.insert(one, rows);
        self.notes.packs.push(data);
        self.notes.padding.extend(crate::profile::key(stmt).map(|key| (one, (key, number, Ty::Data(data)))));
        half.needs.retain(|v| !kept.contains(v));
        half.needs.push(one);
        let open = Op::Destruct { a: one, data, tag: 0 };
        half.linear.stmts.insert(0, Stmt { outs: kept.clone(), lin_outs: Vec::new(), op: open, span: stmt.span });
        half.primal.stmts.push(Stmt {
            outs: vec![one],
            lin_outs: Vec::new(),
            op: Op::Construct { data, tag: 0, fields: kept },
            span: stmt.span,
        });
    }

    /// Assigns the arms' residuals to shared slots. Returns the slots, the primal arms (which return the slots
    /// after their results), and the linear arms. An arm's own parameters (fields of data) are bound again by its
    /// linear half.
    fn arms(
        &mut self,
        stmt: &Stmt,
        arms: Vec<BlockHalves>,
        numbered: Option<&NumberedBranch>,
    ) -> (Vec<Var>, Vec<Block>, Vec<Block>) {
        let mut slots: Vec<Var> = Vec::new();
        let mut filled: Vec<Vec<Option<Var>>> = Vec::new();
        let (mut linears, mut primals) = (Vec::new(), Vec::new());
        for (k, arm) in arms.into_iter().enumerate() {
            let mut names = HashMap::new();
            let which = numbered.filter(|n| n.deep == k).and_then(|n| Some((n.inner?.var, n.here.var)));
            names.extend(which);
            let mut mine: Vec<Option<Var>> = vec![None; slots.len()];
            let (inside, own) = (bound_in(&arm.primal), &arm.primal.params);
            for v in arm
                .needs
                .iter()
                .filter(|v| inside.contains(v) && !own.contains(v) && which.is_none_or(|(w, _)| w != **v))
            {
                names.insert(*v, self.slot(*v, &mut slots, &mut mine));
            }
            let mut linear = arm.linear;
            for v in own {
                let new = self.copy_of(*v);
                names.insert(*v, new);
                linear.params.push(new);
            }
            adl_ir::rewrite::rename::rename(&mut linear, &names);
            filled.push(mine);
            linears.push(linear);
            primals.push(arm.primal);
        }
        self.parts.extend(&slots);
        for (number, (arm, mine)) in primals.iter_mut().zip(filled).enumerate() {
            for (k, slot) in slots.iter().enumerate() {
                let new = || Slot { branch: crate::profile::key(stmt), filled: Vec::new() };
                let filled = &mut self.slots.entry(*slot).or_insert_with(new).filled;
                filled.push(mine.get(k).is_some_and(Option::is_some));
            }
            self.fill(stmt, number as u32, &slots, &mine, arm);
        }
        (slots, primals, linears)
    }

    /// A slot that this arm has not used yet, for a residual.
    fn slot(&mut self, v: Var, slots: &mut Vec<Var>, mine: &mut Vec<Option<Var>>) -> Var {
        let ty = self.f.ty(v).clone();
        let free = (0..slots.len()).find(|k| mine[*k].is_none() && *self.f.ty(slots[*k]) == ty);
        let k = free.unwrap_or_else(|| {
            slots.push(self.copy_of(v));
            mine.push(None);
            slots.len() - 1
        });
        mine[k] = Some(v);
        let rows = self.origin(v);
        self.origins.entry(slots[k]).or_default().extend(rows);
        slots[k]
    }

    /// Makes an arm return the contents of its slots, and zeros in the slots of other arms.
    fn fill(&mut self, s: &Stmt, number: u32, slots: &[Var], mine: &[Option<Var>], arm: &mut Block) {
        for (k, slot) in slots.iter().enumerate() {
            let v = match mine.get(k).copied().flatten() {
                Some(v) => v,
                None => {
                    let (ty, key) = (self.f.ty(*slot).clone(), crate::profile::key(s));
                    self.notes.padding.extend(key.filter(|_| ty.rank() == 0).map(|key| (*slot, (key, number, ty))));
                    self.nothing(*slot, s.span, arm)
                }
            };
            arm.results.push(v);
        }
    }

    /// An arbitrary value of the type of `like`, which will not be read.
    fn nothing(&mut self, like: Var, span: Span, b: &mut Block) -> Var {
        let v = self.copy_of(like);
        let op = match self.f.ty(like).clone() {
            Ty::F64 => Op::Lit(Lit::F64(0.0)),
            Ty::F32 => Op::Lit(Lit::F32(0.0)),
            Ty::I64 => Op::Lit(Lit::I64(0)),
            Ty::Bool => Op::Lit(Lit::Bool(false)),
            Ty::Str => Op::Lit(Lit::Str("".into())),
            ty => Op::Zero(ty),
        };
        b.stmts.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op, span });
        v
    }
}

//! Makes every linear variable be used exactly once: further uses get copies by `dup`, and unused variables end in
//! `drop` (§5.1.2).
//!
//! A nested block counts as one use of each linear variable that it reads from outside. Both arms of an `if` must
//! then consume the variable; an arm that does not read it drops it.

use super::rename::rename;
use crate::{Block, Function, Op, Stmt, Trip, Var};
use std::collections::{BTreeSet, HashMap};

/// Inserts `dup` and `drop` in the entire function.
pub fn uses(f: &mut Function) {
    let mut body = std::mem::take(&mut f.body);
    block(f, &mut body, &[]);
    f.body = body;
}

/// Linear variables that a block reads from outside, in order of their numbers.
pub fn captured(func: &Function, block: &Block) -> BTreeSet<Var> {
    let mut free = BTreeSet::new();
    let mut bound: BTreeSet<Var> = block.lin_params.iter().copied().collect();
    for s in &block.stmts {
        let mut see = |v: Var| {
            if func.linear(v) && !bound.contains(&v) {
                free.insert(v);
            }
        };
        s.op.each_operand(&mut see);
        for inner in s.op.blocks() {
            captured(func, inner).into_iter().for_each(&mut see);
        }
        bound.extend(&s.lin_outs);
    }
    free.extend(block.lin_results.iter().filter(|v| !bound.contains(v)));
    free
}

/// Linear variables that a statement's blocks read from outside.
pub fn captured_by(f: &Function, op: &Op) -> BTreeSet<Var> {
    op.blocks().into_iter().flat_map(|b| captured(f, b)).collect()
}

struct Uses {
    left: HashMap<Var, usize>,
    current: HashMap<Var, Var>,
    out: Vec<Stmt>,
}

fn block(func: &mut Function, body: &mut Block, outer: &[Var]) {
    let mut uses = Uses { left: count(func, body), current: HashMap::new(), out: Vec::with_capacity(body.stmts.len()) };
    for v in outer.iter().chain(&body.lin_params) {
        uses.defined(*v, Stmt { outs: Vec::new(), lin_outs: Vec::new(), op: Op::Drop(*v), span: Default::default() });
    }
    for mut stmt in std::mem::take(&mut body.stmts) {
        let span = stmt.span;
        let inner = captured_by(func, &stmt.op);
        let names: HashMap<Var, Var> = inner.iter().map(|v| (*v, uses.take(func, *v, span))).collect();
        for part in stmt.op.blocks_mut() {
            rename(part, &names);
        }
        // The condition block of a loop sees no linear variables.
        let outer: Vec<Var> = names.values().copied().collect::<BTreeSet<_>>().into_iter().collect();
        if let Op::Loop(l) = &mut stmt.op {
            if let Trip::While(c) = &mut l.trip {
                block(func, c, &[]);
            }
            block(func, &mut l.body, &outer);
        } else {
            for part in stmt.op.blocks_mut() {
                block(func, part, &outer);
            }
        }
        let mut op = std::mem::replace(&mut stmt.op, Op::Nonzero(Var(0)));
        op.map_operands(&mut |v| if func.linear(v) { uses.take(func, v, span) } else { v });
        stmt.op = op;
        let made = stmt.lin_outs.clone();
        uses.out.push(stmt);
        for v in made {
            uses.defined(v, Stmt { outs: Vec::new(), lin_outs: Vec::new(), op: Op::Drop(v), span });
        }
    }
    for r in &mut body.lin_results {
        *r = uses.take(func, *r, Default::default());
    }
    body.stmts = uses.out;
}

/// Number of uses of each linear variable in the block. A statement's nested blocks count once together.
fn count(f: &Function, block: &Block) -> HashMap<Var, usize> {
    let mut left = HashMap::new();
    let mut see = |v: Var| {
        if f.linear(v) {
            *left.entry(v).or_insert(0) += 1;
        }
    };
    for s in &block.stmts {
        s.op.each_operand(&mut see);
        captured_by(f, &s.op).into_iter().for_each(&mut see);
    }
    block.lin_results.iter().for_each(|v| see(*v));
    left
}

impl Uses {
    fn defined(&mut self, v: Var, drop: Stmt) {
        if self.left.get(&v).copied().unwrap_or(0) == 0 {
            self.out.push(drop);
        }
    }

    /// The variable for the next use of `v`: a copy, unless it is the last use.
    fn take(&mut self, f: &mut Function, v: Var, span: adl_syntax::span::Span) -> Var {
        let now = *self.current.get(&v).unwrap_or(&v);
        let left = self.left.entry(v).or_insert(1);
        *left = left.saturating_sub(1);
        if *left == 0 {
            return now;
        }
        let ty = f.ty(v).clone();
        let (a, b) = (f.fresh(ty.clone(), true), f.fresh(ty, true));
        self.out.push(Stmt { outs: Vec::new(), lin_outs: vec![a, b], op: Op::Dup(now), span });
        self.current.insert(v, b);
        a
    }
}

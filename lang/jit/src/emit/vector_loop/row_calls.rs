//! Functions in inner loops whose arguments do not depend on earlier iterations of the inner loop. If rows are stored
//! anyway, the arguments are stored as rows first, the function is called once for a whole row of all lanes, and the
//! inner loop reads the results.

use super::inner::Inner;
use super::libm_stages::MathFunction;
use super::plan::LoopAnalysis;
use adl_ir::{Block, Loop, Op, Stmt, Var};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};

/// A function that is called on a row.
pub(super) struct RowCall {
    pub fun: MathFunction,
    pub args: SmallVec<[Var; 2]>,
    /// The stored rows of the arguments; the first is also that of the result.
    pub rows: SmallVec<[usize; 2]>,
}

/// The functions of an inner loop that are called on rows.
pub(super) struct RowCalls {
    pub calls: Vec<RowCall>,
    /// What must be computed for their arguments.
    pub needed: HashSet<Var>,
}

/// The definition of a variable in the body of an inner loop.
enum RowDefinition<'a> {
    By(&'a Stmt),
    /// A branch chooses between two variables by a Bool.
    Either([Var; 3]),
}

struct RowCallSearch<'a> {
    made: HashMap<Var, RowDefinition<'a>>,
    /// Statements that call functions, in order.
    calls: Vec<&'a Stmt>,
    /// Variables on which arguments must not depend.
    late: HashSet<Var>,
}

impl<'a> RowCallSearch<'a> {
    /// Collects the definitions of a block. Returns whether it contains no loop.
    fn block(&mut self, b: &'a Block, hoisted: &HashSet<Var>) -> bool {
        b.stmts.iter().all(|stmt| match &stmt.op {
            Op::Loop(_) => false,
            Op::If(c, x, y) => {
                let flat =
                    stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.block(x, hoisted) && self.block(y, hoisted));
                for (out, (x, y)) in stmt.outs.iter().zip(x.results.iter().zip(&y.results)) {
                    self.made.insert(*out, RowDefinition::Either([*c, *x, *y]));
                    self.depends(*out, &[*c, *x, *y]);
                }
                flat
            }
            op => {
                let Some(out) = stmt.outs.first() else { return true };
                let mut operands = Vec::new();
                op.each_operand(&mut |v| operands.push(v));
                self.made.insert(*out, RowDefinition::By(stmt));
                self.depends(*out, &operands);
                // While arguments are stored, no other rows are.
                if matches!(op, Op::IndexAdd { .. } | Op::ArrayLit { .. }) {
                    self.late.insert(*out);
                }
                if MathFunction::of(op).is_some() && !hoisted.contains(out) {
                    if !self.late.contains(out) {
                        self.calls.push(stmt);
                    }
                    self.late.insert(*out);
                }
                true
            }
        })
    }

    fn depends(&mut self, out: Var, on: &[Var]) {
        if on.iter().any(|v| self.late.contains(v)) {
            self.late.insert(out);
        }
    }

    /// All that is needed to compute these variables.
    fn needed(&self, mut work: Vec<Var>) -> HashSet<Var> {
        let mut needed = HashSet::new();
        while let Some(v) = work.pop() {
            if needed.insert(v) {
                match self.made.get(&v) {
                    Some(RowDefinition::By(s)) => s.op.each_operand(&mut |v| work.push(v)),
                    Some(RowDefinition::Either(of)) => work.extend(of),
                    None => {}
                }
            }
        }
        needed
    }
}

impl LoopAnalysis<'_> {
    /// Finds the functions of all inner loops that are called on rows.
    pub(super) fn row_calls(&mut self, b: &Block) {
        for s in &b.stmts {
            match &s.op {
                Op::Loop(l) => self.row_calls_of(s, l),
                op => op
                    .blocks()
                    .into_iter()
                    .for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.row_calls(b))),
            }
        }
    }

    fn row_calls_of(&mut self, stmt: &Stmt, l: &Loop) {
        let Some(inner) = self.p.inner.iter().position(|i| stmt.outs.first() == Some(&i.name)) else { return };
        let hoisted: HashSet<Var> = self.p.rows.hoisted.iter().map(|(v, _)| *v).collect();
        let late = l.body.params[1..][..l.init.len()].iter().copied().collect();
        let mut search = RowCallSearch { made: HashMap::new(), calls: Vec::new(), late };
        if !search.block(&l.body, &hoisted) {
            return stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.row_calls(&l.body));
        }
        let Inner { trip: length, .. } = self.p.inner[inner];
        let mut calls = Vec::new();
        for s in &search.calls {
            let (Some((fun, args)), [out]) = (MathFunction::of(&s.op), &s.outs[..]) else { continue };
            let Some(rows) = args.iter().map(|_| self.room(length)).collect::<Option<SmallVec<[usize; 2]>>>() else {
                break;
            };
            self.p.rows.called.insert(*out, (inner, rows[0]));
            calls.push(RowCall { fun, args, rows });
        }
        if calls.is_empty() {
            return;
        }
        let needed = search.needed(calls.iter().flat_map(|c| c.args.to_vec()).collect());
        self.p.rows.calls.insert(inner, RowCalls { calls, needed });
    }
}

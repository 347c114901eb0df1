//! Rows of an array that a loop with carried values reads at its index, before differentiation: the loop runs over the rows.
//!
//! ```text
//! loop for n carry (s) (i, s) { r = index a [i]; … index a [i, j] … }        a has n rows
//! ⟼  loop for n carry (s) over (a) (i, s, r) { … index r [j] … }
//! ```
//!
//! Transposition then collects the cotangents of the rows. It would otherwise carry the cotangent of the array, and add
//! to a row of it in each iteration. What is collected is fused and vectorised like what any other loop collects.
//!
//! An array that is also read elsewhere would have a cotangent of both kinds, so all reads in the loop must be such reads.
//! Rows of which an element at a computed position is read are left: a row of zeros would be made for it.

use crate::contract::literals;
use crate::shapes::Extents;
use adl_ir::rewrite::rename::rename;
use adl_ir::{Block, Function, Loop, Op, Trip, Ty, Var};
use std::collections::{HashMap, HashSet};

/// Lets loops run over the rows that they read at their index. Returns whether there were any.
pub fn loop_rows(f: &mut Function) -> bool {
    let mut changed = false;
    while has_carried(&f.body) {
        let (extents, literals) = (Extents::of(f), literals(&f.body).into_keys().collect());
        let mut body = std::mem::take(&mut f.body);
        let more = block(f, &mut body, &FunctionFacts { extents, literals });
        f.body = body;
        if !more {
            break;
        }
        changed = true;
    }
    changed
}

/// Whether a block has a loop with carried values.
fn has_carried(b: &Block) -> bool {
    b.stmts.iter().any(|s| {
        matches!(&s.op, Op::Loop(l) if !l.init.is_empty())
            || stacker::maybe_grow(64 * 1024, 1024 * 1024, || s.op.blocks().into_iter().any(has_carried))
    })
}

/// What is known of a function.
struct FunctionFacts {
    extents: Extents,
    /// Int literals.
    literals: HashSet<Var>,
}

/// Rewrites the outermost loops first: the rows of a row have extents of their own afterwards.
fn block(f: &mut Function, b: &mut Block, known: &FunctionFacts) -> bool {
    let mut changed = false;
    for s in &mut b.stmts {
        let here = match &mut s.op {
            Op::Loop(l) => runs_over(f, l, known),
            _ => false,
        };
        changed |= here;
        if !here {
            for inner in s.op.blocks_mut() {
                changed |= stacker::maybe_grow(64 * 1024, 1024 * 1024, || block(f, inner, known));
            }
        }
    }
    changed
}

/// Lets a loop run over the rows that it reads. Returns whether it reads any.
fn runs_over(function: &mut Function, ir_loop: &mut Loop, known: &FunctionFacts) -> bool {
    let Trip::Count(n) = ir_loop.trip else { return false };
    if ir_loop.init.is_empty() || !ir_loop.lin_init.is_empty() || !ir_loop.lin_xs.is_empty() {
        return false;
    }
    let (index, inner) = (ir_loop.body.params[0], HashSet::new());
    let mut reads = Reads { index, literals: &known.literals, inner, rows: Vec::new(), others: HashSet::new() };
    reads.block(&ir_loop.body);
    let Reads { rows, others, .. } = reads;
    let from_outside = |a: &Var| {
        let numbers = matches!(function.ty(*a), Ty::Array(e, _) if matches!(**e, Ty::F64 | Ty::F32));
        numbers && !others.contains(a) && !function.linear(*a) && known.extents.is(*a, 0, n)
    };
    let rows: Vec<Var> = rows.into_iter().filter(from_outside).collect();
    for a in &rows {
        let row = function.fresh(function.ty(*a).elem(), false);
        ir_loop.xs.push(*a);
        ir_loop.body.params.push(row);
        let mut names = HashMap::new();
        take_rows(&mut ir_loop.body, *a, row, &mut names);
        rename(&mut ir_loop.body, &names);
    }
    !rows.is_empty()
}

/// Reads elements of rows from the rows. `names`: the rows that were read, and their new name.
fn take_rows(b: &mut Block, source: Var, row: Var, names: &mut HashMap<Var, Var>) {
    b.stmts.retain_mut(|s| {
        match &mut s.op {
            Op::Index { a: of, at, .. } if *of == source => {
                at.remove(0);
                *of = row;
                if at.is_empty() {
                    names.insert(s.outs[0], row);
                    return false;
                }
            }
            op => {
                for inner in op.blocks_mut() {
                    stacker::maybe_grow(64 * 1024, 1024 * 1024, || take_rows(inner, source, row, names));
                }
            }
        }
        true
    });
}

/// The arrays that a loop's body reads.
struct Reads<'a> {
    index: Var,
    literals: &'a HashSet<Var>,
    /// Indices of inner loops.
    inner: HashSet<Var>,
    /// Arrays of which a row is read at the loop's index, in order.
    rows: Vec<Var>,
    /// What is bound in the body, or read in another way.
    others: HashSet<Var>,
}

impl Reads<'_> {
    fn block(&mut self, body: &Block) {
        self.others.extend(body.params.iter().chain(&body.lin_params).chain(&body.results).chain(&body.lin_results));
        for s in &body.stmts {
            self.others.extend(s.outs.iter().chain(&s.lin_outs));
            match &s.op {
                Op::Index { a, at, shape: None } if at[0] == self.index && self.places(&at[1..]) => {
                    if !self.rows.contains(a) {
                        self.rows.push(*a);
                    }
                }
                Op::Dim(..) | Op::Shape(_) => {}
                op => {
                    if let Op::Loop(l) = op {
                        self.inner.insert(l.body.params[0]);
                    }
                    op.each_operand(&mut |v| _ = self.others.insert(v));
                    let blocks = op.blocks();
                    blocks.into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.block(b)));
                }
            }
        }
    }

    /// Whether an element of a row is read at a position that is a literal or an index of an inner loop.
    fn places(&self, at: &[Var]) -> bool {
        at.iter().all(|i| self.inner.contains(i) || self.literals.contains(i))
    }
}

//! Common subexpression elimination: a statement is dropped if an equal one has been computed in the same block or
//! an enclosing one.
//!
//! Operations are compared by their text. Operations with blocks (loops, reductions, branches) are compared with
//! their bound variables renumbered; those with more than `LARGEST` statements are skipped.

use crate::limits::cse::LARGEST;
use adl_ir::rewrite::is_pure;
use adl_ir::{Block, Function, Lit, Op, Stmt, Var};
use adl_syntax::span::Span;
use std::collections::HashMap;

/// Statements seen so far, by text, one table for each open block.
#[derive(Default)]
pub struct SeenStmts {
    blocks: Vec<HashMap<String, Vec<Var>>>,
}

impl SeenStmts {
    /// Enters a block.
    pub fn open(&mut self) {
        self.blocks.push(HashMap::new());
    }

    /// Leaves the innermost block.
    pub fn close(&mut self) {
        self.blocks.pop();
    }

    /// The results of an equal earlier statement. If there is none, records this statement.
    pub fn find(&mut self, f: &Function, s: &Stmt) -> Option<Vec<Var>> {
        let key = key(f, &s.op)?;
        if let Some(made) = self.get(&key) {
            let alike = made.len() == s.outs.len() && made.iter().zip(&s.outs).all(|(a, b)| f.ty(*a) == f.ty(*b));
            return alike.then(|| made.clone());
        }
        if let Some(m) = self.blocks.last_mut() {
            m.insert(key, s.outs.clone());
        }
        None
    }

    /// The variable that an earlier statement bound to this extent of the array.
    pub fn extent(&self, a: Var, axis: u32) -> Option<Var> {
        self.get(&plain(&Op::Dim(a, axis)))?.first().copied()
    }

    fn get(&self, key: &str) -> Option<&Vec<Var>> {
        self.blocks.iter().rev().find_map(|m| m.get(key))
    }
}

/// A text that is the same for equal operations. `None` if the results depend on more than the operands.
fn key(f: &Function, op: &Op) -> Option<String> {
    match op {
        Op::If(..) | Op::Switch(..) | Op::Loop(_) | Op::Soac(_) | Op::ReduceByIndex { .. }
            if may_repeat(f, op, &mut LARGEST.clone()) =>
        {
            let (mut op, mut names) = (op.clone(), HashMap::new());
            op.blocks_mut().into_iter().for_each(|b| renumber_bound(b, &mut names));
            Some(format!("{op:?}"))
        }
        op if is_pure(op) => Some(plain(op)),
        _ => None,
    }
}

/// The text of an operation without blocks. Float literals are compared by bits, so that 0.0 and -0.0 differ.
pub(crate) fn plain(op: &Op) -> String {
    match op {
        Op::Lit(Lit::F64(x)) => format!("f64 {:x}", x.to_bits()),
        Op::Lit(Lit::F32(x)) => format!("f32 {:x}", x.to_bits()),
        other => format!("{other:?}"),
    }
}

/// Whether an operation with blocks is small, not linear, and pure.
fn may_repeat(f: &Function, op: &Op, left: &mut usize) -> bool {
    let mut plain = true;
    op.each_operand(&mut |v| plain &= !f.linear(v));
    let with_blocks = !op.blocks().is_empty();
    let allowed = with_blocks || is_pure(op) && !matches!(op, Op::Lit(Lit::F64(_) | Lit::F32(_))) || exact(op);
    plain
        && allowed
        && op.blocks().into_iter().all(|b| {
            let own = b.lin_params.is_empty() && b.lin_results.is_empty() && b.stmts.len() <= *left;
            *left = left.saturating_sub(b.stmts.len());
            own && b.stmts.iter().all(|s| s.lin_outs.is_empty() && may_repeat(f, &s.op, left))
        })
}

/// Further operations that a compared block may contain: Float literals other than nan, whose text determines their
/// bits, and in-place updates.
fn exact(op: &Op) -> bool {
    match op {
        Op::Lit(Lit::F64(x)) => !x.is_nan(),
        Op::Lit(Lit::F32(x)) => !x.is_nan(),
        Op::IndexAdd { .. } | Op::IndexSet { .. } | Op::SliceAdd { .. } | Op::GatherAdd { .. } => true,
        _ => false,
    }
}

/// Renumbers the variables that a block binds in binding order, and clears the spans.
fn renumber_bound(block: &mut Block, names: &mut HashMap<Var, Var>) {
    let bind = |v: &mut Var, names: &mut HashMap<Var, Var>| {
        let new = Var(u32::MAX - names.len() as u32);
        names.insert(*v, new);
        *v = new;
    };
    block.params.iter_mut().for_each(|v| bind(v, names));
    for s in &mut block.stmts {
        s.span = Span::default();
        s.op.map_operands(&mut |v| *names.get(&v).unwrap_or(&v));
        s.op.blocks_mut().into_iter().for_each(|b| renumber_bound(b, names));
        s.outs.iter_mut().for_each(|v| bind(v, names));
    }
    block.results.iter_mut().for_each(|v| *v = *names.get(v).unwrap_or(v));
}

//! One statement for equal ones: a statement whose operation has been done, in this block or around it, is not done again.
//!
//! Operations are compared as text. Those with blocks (loops, reductions, branches) are too, with the variables that they bind numbered
//! anew; large ones are not looked at.

use crate::simplify::is_pure;
use adl_ir::{Block, Function, Lit, Op, Stmt, Var};
use adl_syntax::span::Span;
use std::collections::HashMap;

/// Statements of an operation with blocks, above which it is not compared.
const LARGEST: usize = 48;

/// Statements that have been made, by text, for each open block.
#[derive(Default)]
pub struct Seen {
    blocks: Vec<HashMap<String, Vec<Var>>>,
}

impl Seen {
    /// A block begins.
    pub fn open(&mut self) {
        self.blocks.push(HashMap::new());
    }

    /// The innermost block ends.
    pub fn close(&mut self) {
        self.blocks.pop();
    }

    /// The results of an equal statement; if there is none, this one is remembered.
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

    /// The variable that has been made of an array's extent.
    pub fn extent(&self, a: Var, axis: u32) -> Option<Var> {
        self.get(&plain(&Op::Dim(a, axis)))?.first().copied()
    }

    fn get(&self, key: &str) -> Option<&Vec<Var>> {
        self.blocks.iter().rev().find_map(|m| m.get(key))
    }
}

/// A text that equal operations share, of those whose results depend on their operands alone.
fn key(f: &Function, op: &Op) -> Option<String> {
    match op {
        Op::If(..) | Op::Switch(..) | Op::Loop(_) | Op::Soac(_) | Op::ReduceByIndex { .. } if may_repeat(f, op, &mut LARGEST.clone()) => {
            let (mut op, mut names) = (op.clone(), HashMap::new());
            op.blocks_mut().into_iter().for_each(|b| number(b, &mut names));
            Some(format!("{op:?}"))
        }
        op if is_pure(op) => Some(plain(op)),
        _ => None,
    }
}

/// (Literals of equal value but other bits differ.)
fn plain(op: &Op) -> String {
    match op {
        Op::Lit(Lit::F64(x)) => format!("f64 {:x}", x.to_bits()),
        Op::Lit(Lit::F32(x)) => format!("f32 {:x}", x.to_bits()),
        other => format!("{other:?}"),
    }
}

/// Whether an operation with blocks is small, not linear, and does nothing but compute.
fn may_repeat(f: &Function, op: &Op, left: &mut usize) -> bool {
    let mut plain = true;
    op.each_operand(&mut |v| plain &= !f.linear(v));
    let with_blocks = !op.blocks().is_empty();
    let allowed = with_blocks || is_pure(op) && !matches!(op, Op::Lit(Lit::F64(_) | Lit::F32(_))) || exact(op);
    plain && allowed && op.blocks().into_iter().all(|b| {
        let own = b.lin_params.is_empty() && b.lin_results.is_empty() && b.stmts.len() <= *left;
        *left = left.saturating_sub(b.stmts.len());
        own && b.stmts.iter().all(|s| s.lin_outs.is_empty() && may_repeat(f, &s.op, left))
    })
}

/// A literal whose text tells its bits, or an update.
fn exact(op: &Op) -> bool {
    match op {
        Op::Lit(Lit::F64(x)) => !x.is_nan(),
        Op::Lit(Lit::F32(x)) => !x.is_nan(),
        Op::IndexAdd { .. } | Op::IndexSet { .. } | Op::SliceAdd { .. } | Op::GatherAdd { .. } => true,
        _ => false,
    }
}

/// Numbers what a block binds in the order of binding, and forgets where it came from.
fn number(b: &mut Block, names: &mut HashMap<Var, Var>) {
    let bind = |v: &mut Var, names: &mut HashMap<Var, Var>| {
        let new = Var(u32::MAX - names.len() as u32);
        names.insert(*v, new);
        *v = new;
    };
    b.params.iter_mut().for_each(|v| bind(v, names));
    for s in &mut b.stmts {
        s.span = Span::default();
        s.op.map_operands(&mut |v| *names.get(&v).unwrap_or(&v));
        s.op.blocks_mut().into_iter().for_each(|b| number(b, names));
        s.outs.iter_mut().for_each(|v| bind(v, names));
    }
    b.results.iter_mut().for_each(|v| *v = *names.get(v).unwrap_or(v));
}

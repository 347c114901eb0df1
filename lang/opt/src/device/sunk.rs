//! Sinks scalar loads: if a stateless loop uses several elements of one array that are read outside, it reads them
//! itself. Its kernel then binds the one array instead of one buffer for each element.

use crate::fuse::{reads_of, rename_op};
use adl_ir::{Block, Function, Loop, Op, Stmt, Var};
use adl_syntax::span::Span;
use std::collections::HashMap;

/// Number of elements of one array from which the loads are sunk.
const MANY: usize = 4;

/// Elements that are read outside of loops: the array and the indices.
pub(super) type Elements = HashMap<Var, (Var, Vec<Var>)>;

/// Sinks such loads into loops.
pub(super) fn sunk(func: &mut Function, block: &mut Block, known: &mut Elements) {
    for s in &mut block.stmts {
        match &mut s.op {
            Op::Index { a, at, shape: None }
                if func.ty(s.outs[0]).is_flat() && func.ty(*a).rank() as usize == at.len() && !func.linear(*a) =>
            {
                known.insert(s.outs[0], (*a, at.clone()));
            }
            Op::Loop(l) if l.init.is_empty() => into(func, l, known, s.span),
            op => op
                .blocks_mut()
                .into_iter()
                .for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || sunk(func, b, known))),
        }
    }
}

fn into(f: &mut Function, ir_loop: &mut Loop, known: &Elements, span: Span) {
    let mut read: Vec<Var> = reads_of(&ir_loop.body).into_iter().filter(|v| known.contains_key(v)).collect();
    read.sort_unstable();
    let mut arrays: HashMap<Var, usize> = HashMap::new();
    read.iter().for_each(|v| *arrays.entry(known[v].0).or_default() += 1);
    let (mut first, mut names) = (Vec::new(), HashMap::new());
    for v in read {
        let (a, at) = known[&v].clone();
        if arrays[&a] >= MANY {
            let x = f.fresh(f.ty(v).clone(), false);
            names.insert(v, x);
            first.push(Stmt { outs: vec![x], lin_outs: Vec::new(), op: Op::Index { a, at, shape: None }, span });
        }
    }
    ir_loop.body.stmts.iter_mut().for_each(|s| rename_op(&mut s.op, &names));
    ir_loop.body.results.iter_mut().for_each(|v| *v = names.get(v).copied().unwrap_or(*v));
    ir_loop.body.stmts.splice(0..0, first);
}

//! Arrays that are only turned round are read from their end, where kernels read them.

use super::known::is_vector;
use adl_ir::{Block, Function, Loop, Op, Stmt, Var};
use adl_syntax::span::Span;
use std::collections::HashMap;

/// Loops without state over a vector that is turned round read the vector from its end.
pub(super) fn turned(f: &mut Function, b: &mut Block) {
    let turned: HashMap<Var, Var> = b.stmts.iter().filter_map(|s| if let Op::Reverse(a) = &s.op { Some((s.outs[0], *a)) } else { None }).filter(|(v, _)| is_vector(f, *v)).collect();
    for s in &mut b.stmts {
        if let Op::Loop(l) = &mut s.op
            && l.init.is_empty()
            && l.lin_xs.is_empty()
        {
            from_end(f, l, &turned, s.span);
            continue;
        }
        s.op.blocks_mut().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || self::turned(f, b)));
    }
}

fn from_end(f: &mut Function, l: &mut Loop, turned: &HashMap<Var, Var>, span: Span) {
    let index = l.body.params[0];
    let mut backs: HashMap<Var, Var> = HashMap::new();
    let mut first = Vec::new();
    let mut back = |f: &mut Function, first: &mut Vec<Stmt>, v: Var, a: Var| {
        *backs.entry(v).or_insert_with(|| {
            let back = f.fresh(f.ty(a).clone(), false);
            first.push(Stmt { outs: vec![back], lin_outs: Vec::new(), op: Op::Reverse(a), span });
            back
        })
    };
    for s in &mut l.body.stmts {
        if let Op::Index { a, at, .. } = &mut s.op
            && at[..] == [index]
            && let Some(from) = turned.get(a)
        {
            *a = back(f, &mut first, *a, *from);
        }
    }
    for i in (0..l.xs.len()).rev() {
        let Some(a) = turned.get(&l.xs[i]) else { continue };
        let x = l.body.params.remove(1 + i);
        let from = back(f, &mut first, l.xs.remove(i), *a);
        first.push(Stmt { outs: vec![x], lin_outs: Vec::new(), op: Op::Index { a: from, at: vec![index], shape: None }, span });
    }
    l.body.stmts.splice(0..0, first);
}

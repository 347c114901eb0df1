//! Renaming of variables, copies of blocks, and the variables that a block binds and reads.

use crate::{Block, Function, Op, Var};
use std::collections::{HashMap, HashSet};

/// Renames variables in a block and its nested blocks.
pub fn rename(b: &mut Block, names: &HashMap<Var, Var>) {
    if names.is_empty() {
        return;
    }
    let name = |v: Var| *names.get(&v).unwrap_or(&v);
    for s in &mut b.stmts {
        rename_op(&mut s.op, names);
    }
    for r in b.results.iter_mut().chain(&mut b.lin_results) {
        *r = name(*r);
    }
}

/// Renames every non-linear variable of a block by `name`, including those that it binds.
pub fn renumber(b: &mut Block, name: &dyn Fn(Var) -> Var) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        b.params.iter_mut().chain(&mut b.results).for_each(|v| *v = name(*v));
        for s in &mut b.stmts {
            s.outs.iter_mut().for_each(|v| *v = name(*v));
            s.op.map_operands(&mut |v| name(v));
            s.op.blocks_mut().into_iter().for_each(|part| renumber(part, name));
        }
    });
}

/// Renames the operands of an operation, and variables in its blocks.
pub fn rename_op(op: &mut Op, names: &HashMap<Var, Var>) {
    op.map_operands(&mut |v| *names.get(&v).unwrap_or(&v));
    for inner in op.blocks_mut() {
        rename(inner, names);
    }
}

/// Copies a block without its parameters: `names` maps these to variables, and everything that the block binds gets
/// a new variable. The block must not bind linear variables.
pub fn copy(f: &mut Function, b: &Block, mut names: HashMap<Var, Var>) -> Block {
    let mut b = b.clone();
    b.params.clear();
    let mut inside = Vec::new();
    bound(&b, &mut inside);
    for v in inside {
        let ty = f.ty(v).clone();
        names.insert(v, f.fresh(ty, false));
    }
    renumber(&mut b, &|v| *names.get(&v).unwrap_or(&v));
    b
}

/// Copies a block with new variables for its parameters and for everything that it binds.
pub fn copy_all(f: &mut Function, b: &Block) -> Block {
    let params: Vec<Var> = b.params.iter().map(|v| f.fresh(f.ty(*v).clone(), false)).collect();
    let names = b.params.iter().copied().zip(params.iter().copied()).collect();
    Block { params, ..copy(f, b, names) }
}

/// Appends the variables that a block binds to `out`, nested blocks included.
pub fn bound(b: &Block, out: &mut Vec<Var>) {
    out.extend(&b.params);
    for s in &b.stmts {
        out.extend(&s.outs);
        s.op.blocks().into_iter().for_each(|part| stacker::maybe_grow(64 * 1024, 1024 * 1024, || bound(part, out)));
    }
}

/// Non-linear variables that a block reads but does not bind.
pub fn free(func: &Function, block: &Block) -> HashSet<Var> {
    let mut out = HashSet::new();
    let mut bound: HashSet<Var> = block.params.iter().copied().collect();
    for s in &block.stmts {
        let mut see = |v: Var| {
            if !func.linear(v) && !bound.contains(&v) {
                out.insert(v);
            }
        };
        s.op.each_operand(&mut see);
        for inner in s.op.blocks() {
            free(func, inner).into_iter().for_each(&mut see);
        }
        bound.extend(&s.outs);
    }
    out.extend(block.results.iter().filter(|v| !bound.contains(v)));
    out
}

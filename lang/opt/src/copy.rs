//! Copies of blocks.

use adl_ad::explicit::renumber;
use adl_ir::{Block, Function, Var};
use std::collections::HashMap;

/// Copies a block without its parameters: `names` maps these to variables, and everything that the block binds gets
/// a new variable. The block must not bind linear variables.
pub(crate) fn copy(f: &mut Function, b: &Block, mut names: HashMap<Var, Var>) -> Block {
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
pub(crate) fn copy_all(f: &mut Function, b: &Block) -> Block {
    let params: Vec<Var> = b.params.iter().map(|v| f.fresh(f.ty(*v).clone(), false)).collect();
    let names = b.params.iter().copied().zip(params.iter().copied()).collect();
    Block { params, ..copy(f, b, names) }
}

/// Appends the variables that a block binds to `out`, nested blocks included.
pub(crate) fn bound(b: &Block, out: &mut Vec<Var>) {
    out.extend(&b.params);
    for s in &b.stmts {
        out.extend(&s.outs);
        s.op.blocks().into_iter().for_each(|part| stacker::maybe_grow(64 * 1024, 1024 * 1024, || bound(part, out)));
    }
}

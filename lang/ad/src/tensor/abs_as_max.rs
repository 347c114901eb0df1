//! Rewrites `abs x` of an Int as the maximum of `x` and `-x`, so that the rules for `max` in predicates apply to
//! bands like `abs (i - j) <= k`, too.

use adl_ir::{Block, Function, Op, Stmt, Ty};
use adl_prim::{Bin, Un};

/// The function with `abs` of Ints rewritten; `None` if it has none.
pub(super) fn as_choices(src: &Function) -> Option<Function> {
    let mut f = src.clone();
    let mut body = std::mem::take(&mut f.body);
    let mut found = false;
    within(&mut f, &mut body, &mut found);
    f.body = body;
    found.then_some(f)
}

fn within(f: &mut Function, block: &mut Block, found: &mut bool) {
    let mut out = Vec::with_capacity(block.stmts.len());
    for mut s in std::mem::take(&mut block.stmts) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || s.op.blocks_mut().into_iter().for_each(|b| within(f, b, found)));
        if let Op::Un(Un::Abs, x) = s.op
            && *f.ty(x) == Ty::I64
        {
            let turned = f.fresh(Ty::I64, false);
            out.push(Stmt { outs: vec![turned], lin_outs: Vec::new(), op: Op::Un(Un::Neg, x), span: s.span });
            s.op = Op::Bin(Bin::Max, x, turned);
            *found = true;
        }
        out.push(s);
    }
    block.stmts = out;
}

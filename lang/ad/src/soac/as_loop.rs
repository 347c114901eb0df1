//! Reductions, scans and histograms by any operator as loops, for which J has rules.

use adl_ir::{Block, Builder, Lit, Loop, Op, Out, Soac, SoacKind, Stmt, Trip, Ty, Var};

/// Emits the loop with one additional, unused result: the trip count.
fn bind(b: &mut Builder, mut outs: Vec<Var>, l: Loop, s: &Stmt) {
    outs.push(b.func.fresh(Ty::I64, false));
    b.push(Stmt { outs, lin_outs: Vec::new(), op: Op::Loop(Box::new(l)), span: s.span });
}

/// Emits a reduction or scan as a loop that carries the accumulated values.
pub(super) fn reduction(builder: &mut Builder, stmt: &Stmt, c: &Soac) {
    let (kind, neutral, arrays) = (c.kind, &c.neutral, &c.arrays);
    let count = builder.dim(arrays[0], 0);
    let index = builder.func.fresh(Ty::I64, false);
    let k = neutral.len();
    let mut body = c.op.clone();
    let kept: Vec<Var> = match kind {
        SoacKind::Reduce => Vec::new(),
        SoacKind::Scan => body.results.clone(),
        SoacKind::ScanExclusive => body.params[..k].to_vec(),
    };
    body.params.insert(0, index);
    body.results.extend(&kept);
    let ir_loop = Loop {
        init: neutral.clone(),
        xs: arrays.clone(),
        outs: vec![Out::Collect; kept.len()],
        ..Loop::new(Trip::Count(count), body)
    };
    let outs = if kept.is_empty() {
        stmt.outs.clone()
    } else {
        let mut last = builder.like(neutral);
        last.extend(&stmt.outs);
        last
    };
    bind(builder, outs, ir_loop, stmt);
}

/// Emits a histogram as a loop that applies the operator to `dest` at each key in bounds.
pub(super) fn histogram(builder: &mut Builder, stmt: &Stmt, dest: &[Var], keys: Var, values: &[Var], op: &Block) {
    let count = builder.dim(keys, 0);
    let len = builder.dim(dest[0], 0);
    builder.open();
    let index = builder.func.fresh(Ty::I64, false);
    let carry = builder.like(dest);
    let key = builder.func.fresh(Ty::I64, false);
    let elems = builder.elements(values);
    let mut params = vec![index];
    params.extend(&carry);
    params.push(key);
    params.extend(&elems);
    builder.adopt(&params, &[]);
    let inside = within(builder, key, len);
    let tys: Vec<Ty> = carry.iter().map(|v| builder.ty(*v)).collect();
    builder.open();
    update(builder, &carry, key, &elems, op);
    let yes = builder.open_results();
    let yes = builder.close(yes, Vec::new());
    builder.open();
    let no = builder.close(carry.clone(), Vec::new());
    let (next, _) = builder.emit(Op::If(inside, Box::new(yes), Box::new(no)), &tys, &[]);
    let body = builder.close(next, Vec::new());
    let mut xs = vec![keys];
    xs.extend(values);
    let ir_loop = Loop { init: dest.to_vec(), xs, ..Loop::new(Trip::Count(count), body) };
    bind(builder, stmt.outs.clone(), ir_loop, stmt);
}

/// Emits whether a key is one of `len` bins.
fn within(b: &mut Builder, key: Var, len: Var) -> Var {
    let zero = b.lit(Lit::I64(0));
    let low = b.cmp(adl_ir::Cmp::Ge, key, zero);
    let high = b.cmp(adl_ir::Cmp::Lt, key, len);
    let never = b.lit(Lit::Bool(false));
    b.one(Op::Select(low, high, never), Ty::Bool)
}

/// Applies the operator to the accumulated arrays at the key. The updated arrays become the results of the open block.
fn update(builder: &mut Builder, carry: &[Var], key: Var, elems: &[Var], op: &Block) {
    let old: Vec<Var> = carry
        .iter()
        .map(|c| {
            let ty = builder.ty(*c).elem();
            builder.one(Op::Index { a: *c, at: vec![key], shape: None }, ty)
        })
        .collect();
    let made = builder.inline(op, &[old, elems.to_vec()].concat());
    let next: Vec<Var> = carry
        .iter()
        .zip(made)
        .map(|(c, v)| {
            let ty = builder.ty(*c);
            builder.one(Op::IndexSet { acc: *c, at: vec![key], v, shape: None }, ty)
        })
        .collect();
    builder.set_results(next);
}

//! Reductions, scans and histograms by any operator as loops, for which J has rules.

use adl_ir::{Block, Builder, Lit, Loop, Op, Out, Soac, SoacKind, Stmt, Trip, Ty, Var};

/// Emits the loop with one additional, unused result: the trip count.
fn bind(b: &mut Builder, mut outs: Vec<Var>, l: Loop, s: &Stmt) {
    outs.push(b.func.fresh(Ty::I64, false));
    b.push(Stmt { outs, lin_outs: Vec::new(), op: Op::Loop(Box::new(l)), span: s.span });
}

/// Emits a reduction or scan as a loop that carries the accumulated values.
pub(super) fn reduction(b: &mut Builder, s: &Stmt, c: &Soac) {
    let (kind, neutral, arrays) = (c.kind, &c.neutral, &c.arrays);
    let n = b.dim(arrays[0], 0);
    let index = b.func.fresh(Ty::I64, false);
    let k = neutral.len();
    let mut body = c.op.clone();
    let kept: Vec<Var> = match kind {
        SoacKind::Reduce => Vec::new(),
        SoacKind::Scan => body.results.clone(),
        SoacKind::ScanExclusive => body.params[..k].to_vec(),
    };
    body.params.insert(0, index);
    body.results.extend(&kept);
    let l = Loop {
        trip: Trip::Count(n),
        reverse: false,
        init: neutral.clone(),
        lin_init: Vec::new(),
        xs: arrays.clone(),
        lin_xs: Vec::new(),
        outs: vec![Out::Collect; kept.len()],
        lin_outs: Vec::new(),
        body,
    };
    let outs = if kept.is_empty() {
        s.outs.clone()
    } else {
        let mut last = b.like(neutral);
        last.extend(&s.outs);
        last
    };
    bind(b, outs, l, s);
}

/// Emits a histogram as a loop that applies the operator to `dest` at each key in bounds.
pub(super) fn histogram(b: &mut Builder, s: &Stmt, dest: &[Var], keys: Var, values: &[Var], op: &Block) {
    let n = b.dim(keys, 0);
    let len = b.dim(dest[0], 0);
    b.open();
    let index = b.func.fresh(Ty::I64, false);
    let carry = b.like(dest);
    let key = b.func.fresh(Ty::I64, false);
    let elems = b.elements(values);
    let mut params = vec![index];
    params.extend(&carry);
    params.push(key);
    params.extend(&elems);
    b.adopt(&params, &[]);
    let inside = within(b, key, len);
    let tys: Vec<Ty> = carry.iter().map(|v| b.ty(*v)).collect();
    b.open();
    update(b, &carry, key, &elems, op);
    let yes = b.open_results();
    let yes = b.close(yes, Vec::new());
    b.open();
    let no = b.close(carry.clone(), Vec::new());
    let (next, _) = b.emit(Op::If(inside, Box::new(yes), Box::new(no)), &tys, &[]);
    let body = b.close(next, Vec::new());
    let mut xs = vec![keys];
    xs.extend(values);
    let l = Loop {
        trip: Trip::Count(n),
        reverse: false,
        init: dest.to_vec(),
        lin_init: Vec::new(),
        xs,
        lin_xs: Vec::new(),
        outs: Vec::new(),
        lin_outs: Vec::new(),
        body,
    };
    bind(b, s.outs.clone(), l, s);
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
fn update(b: &mut Builder, carry: &[Var], key: Var, elems: &[Var], op: &Block) {
    let old: Vec<Var> = carry
        .iter()
        .map(|c| {
            let ty = b.ty(*c).elem();
            b.one(Op::Index { a: *c, at: vec![key], shape: None }, ty)
        })
        .collect();
    let made = b.inline(op, &[old, elems.to_vec()].concat());
    let next: Vec<Var> = carry
        .iter()
        .zip(made)
        .map(|(c, v)| {
            let ty = b.ty(*c);
            b.one(Op::IndexSet { acc: *c, at: vec![key], v, shape: None }, ty)
        })
        .collect();
    b.set_results(next);
}

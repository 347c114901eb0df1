//! Reductions and scans by any operator as loops, which have rules.

use adl_ir::{Block, Builder, Function, Lit, Loop, Op, Out, SoacKind, Stmt, Turns, Ty, Var};
use adl_prim::{Bin, Prim};

/// The function with loops in place of [`Op::Soac`], [`Op::ReduceByIndex`] and running products.
pub(super) fn without_soacs(f: &Function) -> Function {
    let mut b = Builder::on(f.clone());
    b.adopt(&f.body.params, &f.body.lin_params);
    block(&mut b, &f.body);
    b.finish(f.body.results.clone(), f.body.lin_results.clone())
}

fn block(b: &mut Builder, from: &Block) {
    for s in &from.stmts {
        b.span = s.span;
        match &s.op {
            Op::Soac(c) => {
                let op = inner(b, &c.op);
                reduction(b, s, c.kind, &c.neutral, &c.arrays, op);
            }
            Op::ReduceByIndex { dest, op, keys, values, .. } => {
                let op = inner(b, op);
                histogram(b, s, dest, *keys, values, op);
            }
            Op::Prim(Prim::Cumprod, args) if f_rank(b, args[0]) == 1 => running_product(b, s, args[0]),
            _ => {
                let mut s = s.clone();
                for part in s.op.blocks_mut() {
                    *part = inner(b, part);
                }
                b.push(s);
            }
        }
    }
}

fn f_rank(b: &Builder, v: Var) -> u32 {
    b.ty(v).rank()
}

fn inner(b: &mut Builder, from: &Block) -> Block {
    b.open();
    b.adopt(&from.params, &from.lin_params);
    block(b, from);
    b.close(from.results.clone(), from.lin_results.clone())
}

/// The loop binds one more result, the number of turns, which nobody reads.
fn bind(b: &mut Builder, mut outs: Vec<Var>, l: Loop, s: &Stmt) {
    outs.push(b.func.fresh(Ty::I64, false));
    b.push(Stmt { outs, lin_outs: Vec::new(), op: Op::Loop(Box::new(l)), span: s.span });
}

fn reduction(b: &mut Builder, s: &Stmt, kind: SoacKind, neutral: &[Var], arrays: &[Var], op: Block) {
    let n = b.dim(arrays[0], 0);
    let index = b.func.fresh(Ty::I64, false);
    let k = neutral.len();
    let mut body = op;
    let kept: Vec<Var> = match kind {
        SoacKind::Reduce => Vec::new(),
        SoacKind::Scan => body.results.clone(),
        SoacKind::ScanExclusive => body.params[..k].to_vec(),
    };
    body.params.insert(0, index);
    body.results.extend(&kept);
    let l = Loop {
        turns: Turns::For(n),
        reverse: false,
        init: neutral.to_vec(),
        lin_init: Vec::new(),
        xs: arrays.to_vec(),
        lin_xs: Vec::new(),
        outs: vec![Out::Collect; kept.len()],
        lin_outs: Vec::new(),
        body,
    };
    let outs = if kept.is_empty() {
        s.outs.clone()
    } else {
        let mut last: Vec<Var> = neutral.iter().map(|v| b.ty(*v)).collect::<Vec<_>>().into_iter().map(|t| b.func.fresh(t, false)).collect();
        last.extend(&s.outs);
        last
    };
    bind(b, outs, l, s);
}

fn histogram(b: &mut Builder, s: &Stmt, dest: &[Var], keys: Var, values: &[Var], op: Block) {
    let n = b.dim(keys, 0);
    let len = b.dim(dest[0], 0);
    b.open();
    let index = b.func.fresh(Ty::I64, false);
    let carry: Vec<Var> = dest.iter().map(|v| b.ty(*v)).collect::<Vec<_>>().into_iter().map(|t| b.func.fresh(t, false)).collect();
    let key = b.func.fresh(Ty::I64, false);
    let elems: Vec<Var> = values.iter().map(|v| b.ty(*v).elem()).collect::<Vec<_>>().into_iter().map(|t| b.func.fresh(t, false)).collect();
    let mut params = vec![index];
    params.extend(&carry);
    params.push(key);
    params.extend(&elems);
    b.adopt(&params, &[]);
    let zero = b.lit(Lit::I64(0));
    let low = b.cmp(adl_ir::Cmp::Ge, key, zero);
    let high = b.cmp(adl_ir::Cmp::Lt, key, len);
    let never = b.lit(Lit::Bool(false));
    let inside = b.one(Op::Select(low, high, never), Ty::Bool);
    let tys: Vec<Ty> = carry.iter().map(|v| b.ty(*v)).collect();
    b.open();
    update(b, &carry, key, &elems, &op);
    let yes = b.open_results();
    let yes = b.close(yes, Vec::new());
    b.open();
    let no = b.close(carry.clone(), Vec::new());
    let (next, _) = b.emit(Op::If(inside, Box::new(yes), Box::new(no)), &tys, &[]);
    let body = b.close(next, Vec::new());
    let mut xs = vec![keys];
    xs.extend(values);
    let l = Loop {
        turns: Turns::For(n),
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

/// The accumulated arrays with the operator applied at the key; they are left as the open block's results.
fn update(b: &mut Builder, carry: &[Var], key: Var, elems: &[Var], op: &Block) {
    let old: Vec<Var> = carry.iter().map(|c| {
        let ty = b.ty(*c).elem();
        b.one(Op::Index { a: *c, at: vec![key], shape: None }, ty)
    }).collect();
    let made = b.inline(op, &[old, elems.to_vec()].concat());
    let next: Vec<Var> = carry.iter().zip(made).map(|(c, v)| {
        let ty = b.ty(*c);
        b.one(Op::IndexSet { acc: *c, at: vec![key], v, shape: None }, ty)
    }).collect();
    b.set_results(next);
}

fn running_product(b: &mut Builder, s: &Stmt, a: Var) {
    let elem = b.ty(a).elem();
    let (one, n) = (b.real(1.0, a), b.dim(a, 0));
    b.open();
    let params: Vec<Var> = [Ty::I64, elem.clone(), elem.clone()].into_iter().map(|t| b.func.fresh(t, false)).collect();
    b.adopt(&params, &[]);
    let next = b.bin(Bin::Mul, params[1], params[2]);
    let body = b.close(vec![next, next], Vec::new());
    let l = Loop {
        turns: Turns::For(n),
        reverse: false,
        init: vec![one],
        lin_init: Vec::new(),
        xs: vec![a],
        lin_xs: Vec::new(),
        outs: vec![Out::Collect],
        lin_outs: Vec::new(),
        body,
    };
    let last = b.func.fresh(elem, false);
    bind(b, vec![last, s.outs[0]], l, s);
}

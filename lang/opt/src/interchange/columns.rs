//! Operators that act elementwise on arrays: `reduce (map2 op)` is `map (reduce op)` on the transpose (IRWIM,
//! §3.2.4), and likewise for scans (ISWIM, §5.3.2). A histogram (IRBIWIM, §4.2.5) needs no transpose: it becomes one of
//! all elements, with a key for each. The same additions and multiplications happen in the same order.
//!
//! The derivative rules are applied to the interchanged form. The optimiser also interchanges where that is faster.

use crate::operators::{self, ElementwiseOperator, may_fail_on_purpose};
use adl_ir::{Block, Builder, Cmp, Function, Lit, Loop, Op, Out, Soac, SoacKind, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use std::collections::HashMap;

/// The literal that all elements of an array are equal to, if known.
pub type Filled<'a> = &'a dyn Fn(Var) -> Option<Lit>;

/// The interchanged operation, if `op` is a reduction, scan or histogram whose operator acts elementwise on arrays.
/// Calls in the operator must have been inlined.
pub fn by_columns(b: &mut Builder, op: &Op, filled: Filled) -> Option<Op> {
    match op {
        Op::Soac(c) => {
            let column = operators::as_elementwise(&b.func, &c.op)?;
            Some(reduction(b, c, &column, filled))
        }
        Op::ReduceByIndex { op: block, .. } => {
            let column = operators::as_elementwise(&b.func, block)?;
            histogram(b, op, &column)
        }
        _ => None,
    }
}

/// A separate reduction, scan or histogram for each independent part of an operator, with the positions of its
/// results. `None` if there is only one part.
pub fn parts(b: &mut Builder, op: &Op) -> Option<Vec<(Vec<usize>, Op)>> {
    let block = op.blocks().into_iter().next()?.clone();
    let parts = operators::groups(&b.func, &block);
    if parts.len() < 2 {
        return None;
    }
    let restricted = parts.into_iter().map(|part| {
        let pick = |vs: &[Var]| -> Vec<Var> { part.iter().map(|k| vs[*k]).collect() };
        let mine = operators::restrict(&b.func, &block, &part);
        let mine = b.copy_block(&mine, &mut HashMap::new());
        let made = match op {
            Op::Soac(c) => {
                Op::Soac(Box::new(Soac { kind: c.kind, op: mine, neutral: pick(&c.neutral), arrays: pick(&c.arrays) }))
            }
            Op::ReduceByIndex { dest, neutral, keys, values, .. } => Op::ReduceByIndex {
                dest: pick(dest),
                op: Box::new(mine),
                neutral: pick(neutral),
                keys: *keys,
                values: pick(values),
            },
            _ => return None,
        };
        Some((part, made))
    });
    restricted.collect()
}

fn reduction(builder: &mut Builder, soac: &Soac, column: &ElementwiseOperator, filled: Filled) -> Op {
    let reduces = soac.kind == SoacKind::Reduce;
    let (n, zero) = (builder.dim(soac.arrays[0], 0), builder.int(0));
    let empty = builder.cmp(Cmp::Eq, n, zero);
    builder.open();
    let none = builder.close(if reduces { soac.neutral.clone() } else { soac.arrays.clone() }, Vec::new());
    builder.open();
    if may_fail_on_purpose(&soac.op) {
        checked_once(builder, &soac.op, &soac.neutral, &soac.arrays, zero);
    }
    let turned = transposed(builder, &soac.arrays);
    let made = columns(builder, soac, column, &turned, filled);
    let results = made
        .iter()
        .zip(soac.neutral.iter().zip(&turned))
        .map(|(m, (e, t))| {
            let like = if reduces { *e } else { *t };
            let whole = like_another(builder, *m, like);
            if reduces { whole } else { transposed(builder, &[whole])[0] }
        })
        .collect();
    let some = builder.close(results, Vec::new());
    Op::If(empty, Box::new(none), Box::new(some))
}

/// The elements of an array in the shape of another. Arrays without elements do not know the lengths of their rows.
pub fn like_another(b: &mut Builder, a: Var, like: Var) -> Var {
    let (to, ty) = (b.shape(like), b.ty(like));
    b.one(Op::Reshape { a, to, from: None }, ty)
}

/// Emits the operator's shape checks once, since they are the same for all elements.
fn checked_once(b: &mut Builder, op: &Block, left: &[Var], arrays: &[Var], at: Var) {
    let firsts = rows(b, arrays, at);
    b.inline(op, &[left, &firsts].concat());
}

fn rows(b: &mut Builder, arrays: &[Var], at: Var) -> Vec<Var> {
    let mut row = |a: &Var| {
        let ty = b.ty(*a).elem();
        b.one(Op::Index { a: *a, at: vec![at], shape: None }, ty)
    };
    arrays.iter().map(&mut row).collect()
}

fn transposed(b: &mut Builder, arrays: &[Var]) -> Vec<Var> {
    let mut turned = |a: &Var| {
        let ty = b.ty(*a);
        b.one(Op::Transpose(*a), ty)
    };
    arrays.iter().map(&mut turned).collect()
}

/// Emits the operation for each column.
fn columns(
    builder: &mut Builder,
    soac: &Soac,
    column: &ElementwiseOperator,
    turned: &[Var],
    filled: Filled,
) -> Vec<Var> {
    let count = builder.dim(soac.neutral[0], 0);
    let known: Vec<Option<Lit>> =
        soac.neutral.iter().map(|e| filled(*e).filter(|_| builder.func.ty(*e).rank() == 1)).collect();
    let neutral: Vec<Var> = soac.neutral.iter().zip(&known).filter(|(_, k)| k.is_none()).map(|(e, _)| *e).collect();
    let xs = [&neutral[..], turned].concat();
    let elems = builder.open_loop(&xs);
    let (given, arrays) = elems.split_at(neutral.len());
    let mut given = given.iter();
    let mut firsts = Vec::new();
    for k in &known {
        match (k, k.is_none().then(|| given.next()).flatten()) {
            (Some(l), _) => firsts.push(builder.lit(l.clone())),
            (None, Some(v)) => firsts.push(*v),
            (None, None) => {}
        }
    }
    let op = column.block(builder);
    let like = if soac.kind == SoacKind::Reduce { &firsts } else { arrays };
    let tys: Vec<Ty> = like.iter().map(|v| builder.ty(*v)).collect();
    let inner = Soac { kind: soac.kind, op, neutral: firsts, arrays: arrays.to_vec() };
    let (made, _) = builder.emit(Op::Soac(Box::new(inner)), &tys, &[]);
    let body = builder.close(made, Vec::new());
    collected(builder, count, xs, body, &tys)
}

/// Emits a stateless loop that collects the results of its body.
fn collected(builder: &mut Builder, n: Var, xs: Vec<Var>, body: Block, tys: &[Ty]) -> Vec<Var> {
    let ir_loop = Loop { xs, outs: vec![Out::Collect; tys.len()], ..Loop::new(Trip::Count(n), body) };
    let mut over: Vec<Ty> = tys.iter().map(|t| t.array(1)).collect();
    over.push(Ty::I64);
    let (mut outs, _) = builder.emit(Op::Loop(Box::new(ir_loop)), &over, &[]);
    outs.pop();
    outs
}

/// The operator that has a loop of its own in histograms, if a block on Floats or arrays of Floats consists of it.
pub(super) fn in_one_step(f: &Function, op: &Block) -> Option<Bin> {
    let [Stmt { op: Op::Bin(_, x, y), .. }] = op.stmts[..] else { return None };
    operators::known(f, op).filter(|_| op.params == [x, y] && *f.ty(x).scalar() == Ty::F64)
}

/// The histogram of whole rows, if its operator combines two Floats of them by `+`, `*`, `min` or `max`.
pub(super) fn by_rows(builder: &mut Builder, h: &Op) -> Option<Op> {
    let Op::ReduceByIndex { dest, op, neutral, keys, values } = h else { return None };
    let [row] = neutral[..] else { return None };
    let scalar = operators::as_elementwise(&builder.func, op)?.block(builder);
    let simple = in_one_step(&builder.func, &scalar)?;
    let ty = builder.ty(row);
    checked_histogram(builder, h, |builder, _| {
        let op = Box::new(operators::binary(builder, &ty, simple));
        let inner =
            Op::ReduceByIndex { dest: dest.clone(), op, neutral: neutral.clone(), keys: *keys, values: values.clone() };
        builder.emit(inner, &[ty.array(1)], &[]).0
    })
}

/// The histogram of all elements, whose keys are those of their rows times the width, and their columns. Nothing is
/// transposed, and each bin receives its elements in the same order.
fn histogram(builder: &mut Builder, h: &Op, column: &ElementwiseOperator) -> Option<Op> {
    let Op::ReduceByIndex { dest, keys, values, .. } = h else { return None };
    checked_histogram(builder, h, |builder, [bins, width]| {
        let keys = keys_of_elements(builder, *keys, bins, width);
        let flat_dest: Vec<Var> = dest.iter().map(|v| flattened(builder, *v)).collect();
        let flat_values = values.iter().map(|v| flattened(builder, *v)).collect();
        let op = Box::new(column.block(builder));
        // The neutral elements are not read.
        let elements: Vec<Ty> = flat_dest.iter().map(|v| builder.ty(*v).elem()).collect();
        let neutral = elements.iter().map(|t| arbitrary_value(builder, t)).collect();
        let tys: Vec<Ty> = flat_dest.iter().map(|v| builder.ty(*v)).collect();
        let inner = Op::ReduceByIndex { dest: flat_dest, op, neutral, keys, values: flat_values };
        let (made, _) = builder.emit(inner, &tys, &[]);
        made.iter().zip(dest).map(|(m, d)| like_another(builder, *m, *d)).collect()
    })
}

/// A histogram of rows after the checks of its operator, which are the same for all rows. `made` gets the number of bins
/// and the length of the rows; it is not used if there are no bins or no keys.
fn checked_histogram(
    builder: &mut Builder,
    h: &Op,
    made: impl FnOnce(&mut Builder, [Var; 2]) -> Vec<Var>,
) -> Option<Op> {
    let Op::ReduceByIndex { dest, op, keys, values, .. } = h else { return None };
    let (n, bins, zero) = (builder.dim(*keys, 0), builder.dim(dest[0], 0), builder.int(0));
    let all = builder.bin(Bin::Min, n, bins);
    let empty = builder.cmp(Cmp::Eq, all, zero);
    builder.open();
    let none = builder.close(dest.clone(), Vec::new());
    builder.open();
    if may_fail_on_purpose(op) {
        let firsts = rows(builder, dest, zero);
        checked_once(builder, op, &firsts, values, zero);
    }
    let width = builder.dim(dest[0], 1);
    for other in dest[1..].iter().chain(values) {
        let own = builder.dim(*other, 1);
        let same = builder.cmp(Cmp::Eq, own, width);
        builder.assert(same, "the operator of a histogram has arrays of different lengths");
    }
    let results = made(builder, [bins, width]);
    let some = builder.close(results, Vec::new());
    Some(Op::If(empty, Box::new(none), Box::new(some)))
}

/// The keys of the elements of rows. Keys out of range stay out of range.
pub fn keys_of_elements(builder: &mut Builder, keys: Var, bins: Var, width: Var) -> Var {
    let key_count = builder.dim(keys, 0);
    let below = builder.int(-1);
    let key = builder.open_loop(&[keys])[0];
    let key = builder.bin(Bin::Max, key, below);
    let key = builder.bin(Bin::Min, key, bins);
    let first = builder.bin(Bin::Mul, key, width);
    builder.open();
    let column = builder.param(Ty::I64);
    let of_element = builder.bin(Bin::Add, first, column);
    let row = builder.close(vec![of_element], Vec::new());
    let row = collected(builder, width, Vec::new(), row, &[Ty::I64]);
    let body = builder.close(row, Vec::new());
    let by_row = collected(builder, key_count, vec![keys], body, &[Ty::shape()])[0];
    let count = builder.bin(Bin::Mul, key_count, width);
    let to = builder.one(Op::ArrayLit { elems: vec![count], shape: None }, Ty::shape());
    builder.one(Op::Reshape { a: by_row, to, from: None }, Ty::shape())
}

/// An array of rows as an array of their elements, row after row.
pub fn flattened(builder: &mut Builder, rows: Var) -> Var {
    let ty = builder.ty(rows);
    let mut extents: Vec<Var> = (0..ty.rank()).map(|axis| builder.dim(rows, axis)).collect();
    let count = builder.bin(Bin::Mul, extents[0], extents[1]);
    extents.splice(..2, [count]);
    let to = builder.one(Op::ArrayLit { elems: extents, shape: None }, Ty::shape());
    builder.one(Op::Reshape { a: rows, to, from: None }, ty.elem())
}

/// An arbitrary value of a type, which will not be read.
pub fn arbitrary_value(b: &mut Builder, ty: &Ty) -> Var {
    match ty {
        Ty::F64 => b.lit(Lit::F64(0.0)),
        Ty::F32 => b.lit(Lit::F32(0.0)),
        Ty::I64 => b.lit(Lit::I64(0)),
        Ty::Bool => b.lit(Lit::Bool(false)),
        other => b.one(Op::Zero(other.clone()), other.clone()),
    }
}

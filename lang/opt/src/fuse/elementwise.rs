//! Arithmetic on arrays that comprehensions with one trip count make becomes a loop over their elements, into which
//! `vertical` then fuses the comprehensions. For native code: gradients of stencils are sums of gathers.
//!
//! ```text
//! a = loop for n collect { … };  b = loop for n collect { … };  c = add a b
//! ⟼  a = loop for n collect { … };  b = loop for n collect { … };  c = loop for n over (a, b) collect { add x y }
//! ```

use super::parts::{definitions, reads};
use super::{as_map, is_number};
use adl_ir::{Block, Function, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::{Bin, Un};
use std::collections::HashMap;

/// Rewrites the statements of a block. Returns whether there were any.
pub(super) fn expand(f: &mut Function, b: &mut Block) -> bool {
    let (defs, readers) = (definitions(b), readers(b));
    let mut changed = false;
    for at in 0..b.stmts.len() {
        if let Some((arrays, trip)) = made_by_maps(f, b, at, (&defs, &readers)) {
            b.stmts[at] = over_elements(f, &b.stmts[at], &arrays, trip);
            changed = true;
        }
    }
    changed
}

/// How many statements read each variable, and the block as one of them if it returns the variable.
fn readers(b: &Block) -> HashMap<Var, usize> {
    let mut count: HashMap<Var, usize> = HashMap::new();
    let all = b.stmts.iter().flat_map(reads).chain(b.results.iter().copied());
    all.for_each(|v| *count.entry(v).or_default() += 1);
    count
}

/// The arrays on which a statement is arithmetic, and the trip count of the maps that make all of them. One array at least
/// has no other reader.
fn made_by_maps(
    f: &Function,
    b: &Block,
    at: usize,
    (defs, readers): (&HashMap<Var, usize>, &HashMap<Var, usize>),
) -> Option<(Vec<Var>, Var)> {
    let stmt = &b.stmts[at];
    let operands = match &stmt.op {
        Op::Un(Un::Neg, a) => vec![*a],
        Op::Bin(Bin::Add | Bin::Sub | Bin::Mul | Bin::Div | Bin::ScaleTangent, a, b) => vec![*a, *b],
        _ => return None,
    };
    let out = stmt.outs.first().filter(|_| stmt.lin_outs.is_empty())?;
    let rank = f.ty(*out).rank();
    let mut arrays: Vec<Var> = operands.into_iter().filter(|v| f.ty(*v).rank() > 0).collect();
    arrays.dedup();
    if rank == 0 || *f.ty(*out).scalar() != Ty::F64 || arrays.iter().any(|v| f.ty(*v).rank() != rank) {
        return None;
    }
    let trips = arrays.iter().map(|v| defs.get(v).filter(|p| **p < at).and_then(|p| trip_of_map(f, &b.stmts[*p], *v)));
    let trips = trips.collect::<Option<Vec<Var>>>()?;
    let trip = *trips.first()?;
    let saves = arrays.iter().any(|v| readers.get(v) == Some(&1));
    (trips.iter().all(|t| *t == trip) && saves).then_some((arrays, trip))
}

/// The trip count of a statement that collects an array of which each element is computed by itself.
fn trip_of_map(f: &Function, s: &Stmt, array: Var) -> Option<Var> {
    let l = as_map(f, &s.op).filter(|l| is_light(f, l))?;
    let k = s.outs.iter().position(|v| *v == array).filter(|k| *k < l.outs.len())?;
    match l.trip {
        Trip::Count(n) if l.outs[k] == Out::Collect => Some(n),
        _ => None,
    }
}

/// Whether a loop only collects, and so do the loops in it: a comprehension without sums.
fn is_light(f: &Function, l: &Loop) -> bool {
    l.init.is_empty()
        && matches!(l.trip, Trip::Count(_))
        && l.outs.iter().all(|o| *o == Out::Collect)
        && l.body.results.iter().all(|r| is_number(f, *r) || f.ty(*r).rank() > 0)
        && only_collects(f, &l.body)
}

fn only_collects(f: &Function, b: &Block) -> bool {
    b.stmts.iter().all(|s| match &s.op {
        Op::Loop(l) => is_light(f, l),
        Op::If(_, x, y) => stacker::maybe_grow(64 * 1024, 1024 * 1024, || only_collects(f, x) && only_collects(f, y)),
        Op::Un(..) | Op::Bin(..) | Op::Cmp(..) | Op::Not(_) | Op::Select(..) | Op::Convert(..) | Op::Index { .. } => {
            true
        }
        Op::Lit(_) | Op::Zero(_) | Op::Dim(..) | Op::Shape(_) | Op::ArrayLit { .. } => true,
        _ => false,
    })
}

/// The statement as a loop over the elements of its arrays.
fn over_elements(f: &mut Function, stmt: &Stmt, arrays: &[Var], trip: Var) -> Stmt {
    let index = f.fresh(Ty::I64, false);
    let elements: Vec<Var> = arrays.iter().map(|a| f.fresh(f.ty(*a).elem(), false)).collect();
    let ty = f.ty(stmt.outs[0]).elem();
    let result = f.fresh(ty, false);
    let mut op = stmt.op.clone();
    op.map_operands(&mut |v| arrays.iter().position(|a| *a == v).map_or(v, |k| elements[k]));
    let body = Block {
        params: [&[index][..], &elements].concat(),
        stmts: vec![Stmt { op, outs: vec![result], lin_outs: Vec::new(), span: stmt.span }],
        results: vec![result],
        ..Block::default()
    };
    let ir_loop = Loop {
        trip: Trip::Count(trip),
        reverse: false,
        init: Vec::new(),
        lin_init: Vec::new(),
        xs: arrays.to_vec(),
        lin_xs: Vec::new(),
        outs: vec![Out::Collect],
        lin_outs: Vec::new(),
        body,
    };
    let trips = f.fresh(Ty::I64, false);
    Stmt { outs: vec![stmt.outs[0], trips], lin_outs: Vec::new(), op: Op::Loop(Box::new(ir_loop)), span: stmt.span }
}

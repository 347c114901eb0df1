//! Arithmetic on arrays that comprehensions make becomes a loop over their elements, into which `vertical` then fuses the
//! comprehensions. Slices of rows are comprehensions, too. For native code: gradients of stencils are sums of gathers.
//!
//! ```text
//! a = loop for n collect { … };  b = loop for n collect { … };  c = add a b
//! ⟼  a = loop for n collect { … };  b = loop for n collect { … };  c = loop for n over (a, b) collect { add x y }
//! ```

use super::block_edits::{definitions, readers};
use super::{as_map, is_number, subarrays};
use adl_ir::{Block, Function, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::{Bin, Un};
use std::collections::{HashMap, HashSet};

/// Rewrites the statements of a block. Returns whether there were any.
pub(super) fn expand(function: &mut Function, block: &mut Block) -> bool {
    let (defs, readers) = (definitions(block), readers(block));
    let zeros: HashSet<Var> =
        block.stmts.iter().filter(|s| matches!(s.op, Op::Zero(_))).flat_map(|s| s.outs.clone()).collect();
    let known = BlockUses { defs: &defs, readers: &readers };
    let mut checks: Vec<(usize, Vec<Stmt>)> = Vec::new();
    let mut changed = false;
    for at in 0..block.stmts.len() {
        if let Op::Loop(l) = &block.stmts[at].op
            && subarrays::are_padded(function, l, &zeros)
        {
            checks.extend(subarrays::expand(function, &mut block.stmts[at], &zeros).map(|c| (at, c)));
            changed = true;
        }
        if let Some((arrays, trip)) = made_by_maps(function, block, at, &known) {
            for place in arrays.iter().map(|v| defs[v]) {
                same_trip(function, block, (place, trip), &defs, &mut checks);
                checks.extend(subarrays::expand(function, &mut block.stmts[place], &zeros).map(|c| (place, c)));
            }
            block.stmts[at] = over_elements(function, &block.stmts[at], &arrays, trip);
            changed = true;
        }
    }
    checks.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
    checks.into_iter().for_each(|(place, c)| drop(block.stmts.splice(place..place, c)));
    changed
}

/// Makes `trip` the trip count of the loop at a place, and of the maps over whose results it runs. Adds the check that it is, if
/// it is not the same variable.
fn same_trip(
    function: &mut Function,
    block: &mut Block,
    (place, trip): (usize, Var),
    defs: &HashMap<Var, usize>,
    checks: &mut Vec<(usize, Vec<Stmt>)>,
) {
    let mut todo = vec![place];
    while let Some(place) = todo.pop() {
        let stmt = &mut block.stmts[place];
        let Op::Loop(l) = &mut stmt.op else { continue };
        let Trip::Count(own) = &mut l.trip else { continue };
        let other = std::mem::replace(own, trip);
        if other != trip {
            checks.push((place, subarrays::equal(function, trip, other, stmt.span)));
            let producers: Vec<usize> = l.xs.iter().filter_map(|v| defs.get(v).copied()).collect();
            let after_trip = |p: &usize| *p < place && defs.get(&trip).is_none_or(|d| d < p);
            let of_other =
                |p: &usize| as_map(function, &block.stmts[*p].op).is_some_and(|l| l.trip == Trip::Count(other));
            todo.extend(producers.into_iter().filter(after_trip).filter(of_other));
        }
    }
}

/// What is known of a block.
struct BlockUses<'a> {
    /// The positions of definitions.
    defs: &'a HashMap<Var, usize>,
    /// The number of readers of variables.
    readers: &'a HashMap<Var, usize>,
}

/// The arrays on which a statement is arithmetic, if maps make all of them, and the trip count of the first map, which has to
/// be that of all. One array at least has no other reader.
fn made_by_maps(function: &Function, block: &Block, at: usize, known: &BlockUses) -> Option<(Vec<Var>, Var)> {
    let stmt = &block.stmts[at];
    let operands = match &stmt.op {
        Op::Un(Un::Neg, a) => vec![*a],
        Op::Bin(Bin::Add | Bin::Sub | Bin::Mul | Bin::Div | Bin::ScaleTangent, a, b) => vec![*a, *b],
        _ => return None,
    };
    let out = stmt.outs.first().filter(|_| stmt.lin_outs.is_empty())?;
    let rank = function.ty(*out).rank();
    let mut arrays: Vec<Var> = operands.into_iter().filter(|v| function.ty(*v).rank() > 0).collect();
    arrays.dedup();
    if rank == 0 || *function.ty(*out).scalar() != Ty::F64 || arrays.iter().any(|v| function.ty(*v).rank() != rank) {
        return None;
    }
    arrays.sort_by_key(|v| known.defs.get(v));
    let trip =
        |v: &Var| known.defs.get(v).filter(|p| **p < at).and_then(|p| trip_of_map(function, &block.stmts[*p], *v));
    let trips = arrays.iter().map(trip).collect::<Option<Vec<Var>>>()?;
    let first = *trips.first()?;
    let saves = arrays.iter().any(|v| known.readers.get(v) == Some(&1));
    saves.then_some((arrays, first))
}

/// The trip count of a statement that collects an array of which each element is computed by itself.
fn trip_of_map(f: &Function, s: &Stmt, array: Var) -> Option<Var> {
    let light = |l: &&Loop| is_light(f, l) || subarrays::are_slices(f, l);
    let l = as_map(f, &s.op).filter(light)?;
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
fn over_elements(function: &mut Function, stmt: &Stmt, arrays: &[Var], trip: Var) -> Stmt {
    let index = function.fresh(Ty::I64, false);
    let elements: Vec<Var> = arrays.iter().map(|a| function.fresh(function.ty(*a).elem(), false)).collect();
    let ty = function.ty(stmt.outs[0]).elem();
    let result = function.fresh(ty, false);
    let mut op = stmt.op.clone();
    op.map_operands(&mut |v| arrays.iter().position(|a| *a == v).map_or(v, |k| elements[k]));
    let body = Block {
        params: [&[index][..], &elements].concat(),
        stmts: vec![Stmt { op, outs: vec![result], lin_outs: Vec::new(), span: stmt.span }],
        results: vec![result],
        ..Block::default()
    };
    let ir_loop = Loop { xs: arrays.to_vec(), outs: vec![Out::Collect], ..Loop::new(Trip::Count(trip), body) };
    let trips = function.fresh(Ty::I64, false);
    Stmt { outs: vec![stmt.outs[0], trips], lin_outs: Vec::new(), op: Op::Loop(Box::new(ir_loop)), span: stmt.span }
}

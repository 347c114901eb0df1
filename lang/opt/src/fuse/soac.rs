//! Fuses a map into the reduction, scan or histogram that reads it: the operator is applied as the elements are
//! computed.
//!
//! ```text
//! ys = loop for n over (x) collect { y = sin x; return y }
//! r  = reduce (a, y) { c = max a y; return c } from e over ys
//! ⟼  r = loop for n carry (a = e) over (x) { y = sin x; c = max a y; return c }
//! ```
//!
//! The operator meets the elements in the same order, so the results have the same bits. The pass runs after
//! differentiation, because the derivative rules for reductions have to see reductions.
//!
//! In native code, reductions and scans of numbers become loops without a producer, too. Then the rules for loops apply
//! to them.

use super::block_edits::{definitions, may_move, prepend, reads, rename, result};
use super::{For, as_map, has_no_linear, straight};
use adl_ir::rewrite::never_fails;
use adl_ir::{Block, Function, Loop, Op, Out, Soac, SoacKind, Stmt, Trip, Ty, Var};
use std::collections::{HashMap, HashSet};

/// Fuses one pair of a block. Returns whether there was one.
pub(super) fn fuse_one(function: &mut Function, block: &mut Block, target: For) -> bool {
    let defs = definitions(block);
    for consumer in 0..block.stmts.len() {
        let Some(arrays) = operator_inputs(&block.stmts[consumer].op) else { continue };
        if !has_no_linear(function, &block.stmts[consumer].op) {
            continue;
        }
        let mut makers: Vec<usize> = arrays.iter().filter_map(|v| defs.get(v)).copied().collect();
        makers.sort_unstable();
        if let Some(p) = makers.into_iter().rev().find(|p| fits(function, block, *p, consumer, target)) {
            let Some(s) = as_loop(function, &block.stmts[p].clone(), &block.stmts[consumer].clone()) else { continue };
            block.stmts[consumer] = s;
            block.stmts.remove(p);
            return true;
        }
        if let Some(made) =
            (target == For::Native).then(|| without_producer(function, &block.stmts[consumer])).flatten()
        {
            block.stmts.splice(consumer..=consumer, made);
            return true;
        }
    }
    false
}

/// A reduction or scan of numbers as a loop that carries them, with the statement for its trip count. `None` for scans that
/// the runtime has a loop for: those by one operation.
fn without_producer(f: &mut Function, stmt: &Stmt) -> Option<[Stmt; 2]> {
    let Op::Soac(soac) = &stmt.op else { return None };
    let numbers = soac.neutral.iter().all(|v| f.ty(*v).is_flat());
    if !numbers || soac.kind == SoacKind::Scan && matches!(&soac.op.stmts[..], [s] if matches!(s.op, Op::Bin(..))) {
        return None;
    }
    let (n, index, span) = (f.fresh(Ty::I64, false), f.fresh(Ty::I64, false), stmt.span);
    let extent = Stmt { outs: vec![n], lin_outs: Vec::new(), op: Op::Dim(*soac.arrays.first()?, 0), span };
    let nothing = Loop::new(Trip::Count(n), Block { params: vec![index], ..Block::default() });
    let producer = Stmt { outs: Vec::new(), ..extent.clone() };
    Some([extent, accumulating(f, &producer, &nothing, soac, stmt)])
}

/// The arrays whose elements an operator combines.
fn operator_inputs(op: &Op) -> Option<Vec<Var>> {
    match op {
        Op::Soac(s) => Some(s.arrays.clone()),
        Op::ReduceByIndex { keys, values, .. } => Some(values.iter().chain([keys]).copied().collect()),
        _ => None,
    }
}

fn fits(f: &Function, block: &Block, producer: usize, consumer: usize, target: For) -> bool {
    let Some(map) = as_map(f, &block.stmts[producer].op) else { return false };
    let alike = target == For::Native || !straight(f, map);
    let mut elsewhere: HashSet<Var> = block.results.iter().chain(&block.lin_results).copied().collect();
    block.stmts[consumer + 1..].iter().for_each(|s| elsewhere.extend(reads(s)));
    let used = |op: &Op| {
        op.blocks()
            .into_iter()
            .flat_map(|b| b.stmts.iter().flat_map(reads).chain(b.results.clone()))
            .collect::<HashSet<Var>>()
    };
    elsewhere.extend(used(&block.stmts[consumer].op));
    match &block.stmts[consumer].op {
        Op::Soac(s) => elsewhere.extend(&s.neutral),
        Op::ReduceByIndex { dest, neutral, .. } => elsewhere.extend(dest.iter().chain(neutral)),
        _ => {}
    }
    let once = !block.stmts[producer].outs.iter().any(|v| elsewhere.contains(v));
    alike && once && map.outs.iter().all(|o| *o == Out::Collect) && may_move(block, producer, consumer)
}

fn as_loop(f: &mut Function, p: &Stmt, c: &Stmt) -> Option<Stmt> {
    let Op::Loop(map) = &p.op else { return None };
    match &c.op {
        Op::Soac(s) => Some(accumulating(f, p, map, s, c)),
        Op::ReduceByIndex { .. } => into_histogram(f, (p, map), c),
        _ => None,
    }
}

/// The loop of the map with an empty body, and the variables in it for elements of `arrays`.
fn empty_loop(f: &mut Function, p: &Stmt, map: &Loop, arrays: &[Var], carried: &[Var]) -> (Loop, Vec<Var>) {
    let index = f.fresh(Ty::I64, false);
    let mut body = Block { params: [&[index], carried].concat(), ..Block::default() };
    let (mut xs, mut found) = (Vec::new(), Vec::new());
    for a in arrays {
        found.push(match p.outs.iter().position(|v| v == a) {
            Some(k) => result(map, k, index),
            None => {
                let v = f.fresh(f.ty(*a).elem(), false);
                body.params.push(v);
                xs.push(*a);
                v
            }
        });
    }
    prepend(map, &mut body, &mut xs);
    let ir_loop = Loop { xs, ..Loop::new(map.trip.clone(), body) };
    (ir_loop, found)
}

fn accumulating(func: &mut Function, p: &Stmt, map: &Loop, soac: &Soac, stmt: &Stmt) -> Stmt {
    let width = soac.neutral.len();
    let (mut ir_loop, found) = empty_loop(func, p, map, &soac.arrays, &soac.op.params[..width]);
    let mut op = soac.op.clone();
    let names: HashMap<Var, Var> = soac.op.params[width..].iter().copied().zip(found).collect();
    rename(&mut op, &names);
    ir_loop.body.stmts.extend(op.stmts);
    ir_loop.init.clone_from(&soac.neutral);
    ir_loop.body.results.clone_from(&op.results);
    let trip = func.fresh(Ty::I64, false);
    let mut outs = stmt.outs.clone();
    if soac.kind != SoacKind::Reduce {
        let last: Vec<Var> = soac.neutral.iter().map(|v| func.fresh(func.ty(*v).clone(), false)).collect();
        outs = [last, outs].concat();
        ir_loop.outs = vec![Out::Collect; width];
        ir_loop.body.results.extend(if soac.kind == SoacKind::Scan {
            op.results
        } else {
            soac.op.params[..width].to_vec()
        });
    }
    outs.push(trip);
    Stmt { outs, lin_outs: Vec::new(), op: Op::Loop(Box::new(ir_loop)), span: stmt.span }
}

/// Puts the map's body before the operator of a histogram, whose values are then the map's own inputs. `None` if
/// the map has sources other than elements, or if it could fail at elements whose keys are out of range: the fused
/// operation skips these.
fn into_histogram(f: &Function, (producer, map): (&Stmt, &Loop), c: &Stmt) -> Option<Stmt> {
    let mut made = c.clone();
    let Op::ReduceByIndex { dest, op, keys, values, .. } = &mut made.op else { return None };
    let index = *map.body.params.first()?;
    let indexed = map.body.results.contains(&index) || map.body.stmts.iter().any(|s| reads(s).contains(&index));
    if indexed || producer.outs.contains(keys) || !map.body.stmts.iter().all(|s| never_fails(f, &s.op)) {
        return None;
    }
    let w = dest.len();
    let mut names = HashMap::new();
    for i in (0..values.len()).rev() {
        if let Some(k) = producer.outs.iter().position(|v| *v == values[i]) {
            names.insert(op.params.remove(w + i), result(map, k, index));
            values.remove(i);
        }
    }
    rename(op, &names);
    // The parameters of a histogram's operator do not begin with an index; one is inserted for the duration of the
    // fusion.
    op.params.insert(0, index);
    prepend(map, op, values);
    op.params.remove(0);
    Some(made)
}

//! The residuals of a function as one value of a data type. Where a branch decides which of them there are, each arm has
//! a constructor of its own, and an arm without residuals gives a zero, for which nothing is allocated.

use crate::results::BranchArm;
use adl_ir::rewrite::{dce, free, rename};
use adl_ir::{DataDecl, DataId, Function, Op, Program, Stmt, Ty, Var};
use adl_syntax::span::Span;
use std::collections::{HashMap, HashSet};

/// A slot of a branch for residuals of its arms.
pub(super) struct Slot {
    /// A result of the branch's statement.
    pub branch: Option<Var>,
    /// For each arm, whether it fills the slot.
    pub filled: Vec<bool>,
}

/// Where residuals are that only some arms of a branch store.
#[derive(Default)]
pub(super) struct ResidualCells {
    /// Slots that are fields of constructors, which need no padding.
    pub slots: HashSet<Var>,
    /// The arms that store a variable from outside of the branch.
    pub arms: HashMap<Var, Vec<BranchArm>>,
}

/// Lets the primal function return its residuals `needs`, which are its last results, as one value of the data type
/// `id`, and lets the linear function take it.
pub(super) fn pack_residuals(
    program: &mut Program,
    id: DataId,
    (primal, linear): (&mut Function, &mut Function),
    needs: &[Var],
    slots: &HashMap<Var, Slot>,
) -> ResidualCells {
    primal.body.results.truncate(primal.body.results.len() - needs.len());
    linear.body.params.truncate(linear.body.params.len() - needs.len());
    let name = program.data(id).name.clone();
    let all = linear.fresh(Ty::Data(id), false);
    linear.body.params.push(all);
    let one = primal.fresh(Ty::Data(id), false);
    primal.body.results.push(one);
    let mut cells = ResidualCells::default();
    let cons = match branches_of(primal, linear, needs, slots) {
        Some(places) => by_arm(id, (primal, one), (linear, all), needs, (places, slots), &mut cells),
        None => whole(id, (primal, one), (linear, all), needs),
    };
    program.set_data(id, DataDecl { name, cons, declared: None });
    cells
}

/// One constructor with all residuals.
fn whole(
    id: DataId,
    (primal, one): (&mut Function, Var),
    (linear, all): (&mut Function, Var),
    needs: &[Var],
) -> Vec<(String, Vec<Ty>)> {
    primal.body.stmts.push(construct(id, 0, needs.to_vec(), one));
    linear.body.stmts.insert(0, destruct(id, 0, all, needs.to_vec()));
    vec![("Kept".to_owned(), linear.tys(needs))]
}

/// The positions of the branches of both halves, if only one branch reads residuals, and all of these are its slots or
/// numbers that are known before it.
fn branches_of(
    primal: &Function,
    linear: &Function,
    needs: &[Var],
    slots: &HashMap<Var, Slot>,
) -> Option<(usize, usize)> {
    let branch = |s: &Stmt| matches!(s.op, Op::If(..) | Op::Switch(..));
    let mut before: HashSet<Var> = primal.body.params.iter().copied().collect();
    let known = |s: &Stmt, before: &HashSet<Var>| {
        let slot = |v| s.outs.contains(v) && slots.contains_key(v);
        branch(s)
            && needs.iter().any(slot)
            && needs.iter().all(|v| slot(v) || before.contains(v) && primal.ty(*v).rank() == 0)
    };
    let at = primal.body.stmts.iter().position(|s| {
        let found = known(s, &before);
        before.extend(&s.outs);
        found
    })?;
    let reads = |s: &Stmt| {
        let mut found = false;
        s.op.each_operand(&mut |v| found |= needs.contains(&v));
        found || s.op.blocks().into_iter().any(|b| free(linear, b).iter().any(|v| needs.contains(v)))
    };
    let mut readers = linear.body.stmts.iter().enumerate().filter(|(_, s)| reads(s));
    let ((k, reader), None) = (readers.next()?, readers.next()) else { return None };
    let mut condition = false;
    reader.op.each_operand(&mut |v| condition |= needs.contains(&v));
    let arms = primal.body.stmts[at].op.blocks().len();
    (branch(reader) && !condition && reader.op.blocks().len() == arms).then_some((at, k))
}

/// A constructor for each arm that has residuals; a zero for other arms.
fn by_arm(
    id: DataId,
    (primal, one): (&mut Function, Var),
    (linear, all): (&mut Function, Var),
    needs: &[Var],
    ((at, reader), slots): ((usize, usize), &HashMap<Var, Slot>),
    cells: &mut ResidualCells,
) -> Vec<(String, Vec<Ty>)> {
    let mut cons = Vec::new();
    let mut stmts = std::mem::take(&mut primal.body.stmts);
    let mut readers = std::mem::take(&mut linear.body.stmts);
    let (branch, reader) = (&mut stmts[at], &mut readers[reader]);
    let places: HashMap<Var, usize> = branch.outs.iter().enumerate().map(|(k, v)| (*v, k)).collect();
    let keep: Vec<bool> = branch.outs.iter().map(|v| !needs.contains(v)).collect();
    cells.slots = needs.iter().copied().filter(|v| places.contains_key(v)).collect();
    let key = cells.slots.iter().find_map(|v| slots[v].branch);
    let arms = branch.op.blocks_mut().into_iter().zip(reader.op.blocks_mut());
    for (number, (arm, linear_arm)) in arms.enumerate() {
        let read = free(linear, linear_arm);
        let fills = |v: &Var| places.get(v).map_or(read.contains(v), |_| slots[v].filled[number]);
        let mine: Vec<Var> = needs.iter().copied().filter(fills).collect();
        for v in mine.iter().filter(|v| !places.contains_key(v)) {
            cells.arms.entry(*v).or_default().extend(key.map(|key| (key, number as u32)));
        }
        let fields: Vec<Var> = mine.iter().map(|v| places.get(v).map_or(*v, |k| arm.results[*k])).collect();
        let cell = primal.fresh(Ty::Data(id), false);
        dce::retain(&mut arm.results, &keep);
        arm.results.push(cell);
        if mine.is_empty() {
            arm.stmts.push(stmt(Op::Zero(Ty::Data(id)), vec![cell]));
            continue;
        }
        let tag = cons.len() as u32;
        arm.stmts.push(construct(id, tag, fields, cell));
        let names: HashMap<Var, Var> = mine.iter().map(|v| (*v, linear.fresh(linear.ty(*v).clone(), false))).collect();
        rename::rename(linear_arm, &names);
        linear_arm.stmts.insert(0, destruct(id, tag, all, mine.iter().map(|v| names[v]).collect()));
        cons.push((format!("Kept{number}"), linear.tys(&mine)));
    }
    dce::retain(&mut branch.outs, &keep);
    branch.outs.push(one);
    (primal.body.stmts, linear.body.stmts) = (stmts, readers);
    cons
}

fn construct(data: DataId, tag: u32, fields: Vec<Var>, out: Var) -> Stmt {
    stmt(Op::Construct { data, tag, fields }, vec![out])
}

fn destruct(data: DataId, tag: u32, a: Var, outs: Vec<Var>) -> Stmt {
    stmt(Op::Destruct { a, data, tag }, outs)
}

fn stmt(op: Op, outs: Vec<Var>) -> Stmt {
    Stmt { outs, lin_outs: Vec::new(), op, span: Span::default() }
}

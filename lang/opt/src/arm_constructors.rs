//! A constructor for each arm: data that only the functions of a unit see.
//!
//! U lets a recursive function return its residuals as data with one constructor, which has the union of what the arms
//! of the function's branch store. The transpose reads it and branches on the same condition:
//!
//! ```text
//! y, r = if c { … return y₁, r₁ } else { … return y₂, r₂ }      switch k
//! k = Kept c a r                                                | a r₁ → …
//!                                                          ⇒    | r₂ → …
//! c, a, r = destruct k
//! if c { … a … r … } else { … r … }
//! ```
//!
//! Each arm makes a constructor of its own, with the fields that the readers read after the arm ran. So the condition is
//! the tag, and an arm without intermediates stores next to nothing. If the condition is data, a constructor may hold
//! the few fields of it that are read. Extents of arrays that are stored are computed again.
//!
//! A type qualifies if it has one constructor that is applied in one place, after a branch whose condition is a field,
//! and if all places that take it apart branch on this field. The entry function must not take or return it.
//!
//! What is *not* here: types with several constructors already; more than one branch of a function.

use crate::limits::arm_constructors::{AROUND, PARTS};
use adl_ir::rewrite::{dce, rename};
use adl_ir::{Block, Builder, DataDecl, DataId, Function, Op, Stmt, Ty, Var};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// A field of a new constructor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum ConstructorField {
    /// A field of the old constructor.
    Old(usize),
    /// A field of the data that is the condition.
    OfCondition(usize),
}

/// A statement at the top level of a function.
#[derive(Clone, Copy)]
struct StatementPlace {
    func: usize,
    stmt: usize,
}

/// Where a type is made and read, and what its new constructors hold.
struct Plan {
    data: DataId,
    /// The construction and the branch before it.
    made: StatementPlace,
    branch: usize,
    /// The field that is the condition.
    condition: usize,
    /// What takes it apart, each with the branch after it.
    read: Vec<(StatementPlace, usize)>,
    /// The fields of each arm's constructor.
    arms: Vec<Vec<ConstructorField>>,
    /// Fields that are extents of others: operation on that field.
    extents: BTreeMap<usize, (Op, usize)>,
}

/// Gives the types that qualify a constructor for each arm. The first function is the entry. Returns whether a type
/// has changed.
pub fn split(funcs: &mut [Rc<Function>], datas: &mut [Rc<DataDecl>]) -> bool {
    let seen = seen_outside(funcs, datas);
    let mut changed = false;
    for k in 0..datas.len() {
        if datas[k].cons.len() != 1 || datas[k].declared.is_some() {
            continue;
        }
        let id = DataId(k as u32);
        if let Some(plan) = (!seen.contains(&id)).then(|| plan(funcs, id)).flatten() {
            declare(&plan, funcs, datas);
            construct(&plan, funcs);
            for (place, branch) in &plan.read {
                take_apart(&plan, *place, *branch, funcs);
            }
            changed = true;
        }
    }
    changed
}

/// The types that the entry function takes or returns, and those that they reach.
fn seen_outside(funcs: &[Rc<Function>], datas: &[Rc<DataDecl>]) -> HashSet<DataId> {
    let Some(entry) = funcs.first() else { return HashSet::new() };
    let ends = [&entry.body.params, &entry.body.lin_params, &entry.body.results, &entry.body.lin_results];
    let mut todo: Vec<DataId> = ends.into_iter().flatten().filter_map(|v| data_in(entry.ty(*v))).collect();
    let mut seen = HashSet::new();
    while let Some(id) = todo.pop() {
        if seen.insert(id) {
            let cons = datas.get(id.0 as usize).map_or(&[][..], |d| &d.cons);
            todo.extend(cons.iter().flat_map(|(_, fields)| fields).filter_map(data_in));
        }
    }
    seen
}

fn data_in(ty: &Ty) -> Option<DataId> {
    match ty {
        Ty::Data(d) => Some(*d),
        Ty::Array(e, _) => data_in(e),
        _ => None,
    }
}

/// How to split a type, if it qualifies.
fn plan(funcs: &[Rc<Function>], data: DataId) -> Option<Plan> {
    let (made, reads) = places(funcs, data)?;
    let writer = &funcs[made.func];
    let Op::Construct { fields, .. } = &writer.body.stmts[made.stmt].op else { return None };
    let (branch, condition) = branch_before(writer, made.stmt, fields)?;
    let mut split = Plan {
        data,
        made,
        branch,
        condition,
        read: Vec::new(),
        arms: Vec::new(),
        extents: extents(&writer.body.stmts[..branch], fields),
    };
    let arms = writer.body.stmts[branch].op.blocks().len();
    let mut needs = vec![BTreeSet::new(); arms];
    for place in reads {
        let at = branch_after(&funcs[place.func], place.stmt, condition, &writer.body.stmts[branch].op)?;
        for (k, need) in needs.iter_mut().enumerate() {
            need.extend(reads_of_arm(&funcs[place.func], place.stmt, at, k, condition));
        }
        split.read.push((place, at));
    }
    split.arms = needs.into_iter().map(|need| split.stored(need)).collect();
    Some(split)
}

/// The one place where a type is made and all that take it apart; `None` if it is used in another way.
fn places(funcs: &[Rc<Function>], data: DataId) -> Option<(StatementPlace, Vec<StatementPlace>)> {
    let (mut made, mut read, mut top) = (Vec::new(), Vec::new(), 0);
    for (func, f) in funcs.iter().enumerate() {
        for (stmt, s) in f.body.stmts.iter().enumerate() {
            match &s.op {
                Op::Construct { data: d, .. } if *d == data => made.push(StatementPlace { func, stmt }),
                Op::Destruct { data: d, .. } if *d == data => read.push(StatementPlace { func, stmt }),
                _ => continue,
            }
            top += 1;
        }
    }
    let all: usize = funcs.iter().map(|f| uses(f, &f.body, data)).sum();
    // Each function is rewritten once.
    let functions: BTreeSet<usize> = made.iter().chain(&read).map(|p| p.func).collect();
    match made[..] {
        [one] if all == top && !read.is_empty() && functions.len() == 1 + read.len() => Some((one, read)),
        _ => None,
    }
}

/// The number of statements that make, take apart or branch on data of a type, nested ones included.
fn uses(f: &Function, b: &Block, data: DataId) -> usize {
    let one = |s: &Stmt| match &s.op {
        Op::Construct { data: d, .. } | Op::Destruct { data: d, .. } => usize::from(*d == data),
        Op::Switch(v, _) => usize::from(*f.ty(*v) == Ty::Data(data)),
        _ => 0,
    };
    let inside = |s: &Stmt| s.op.blocks().into_iter().map(|b| uses(f, b, data)).sum::<usize>();
    b.stmts.iter().map(|s| one(s) + inside(s)).sum()
}

/// The last branch before a construction whose condition is a field, if all fields exist when it ends.
fn branch_before(f: &Function, at: usize, fields: &[Var]) -> Option<(usize, usize)> {
    let stmts = &f.body.stmts;
    let (branch, condition) =
        (0..at).rev().find_map(|k| Some((k, fields.iter().position(|v| condition(&stmts[k].op) == Some(*v))?)))?;
    let later: HashSet<Var> = stmts[branch + 1..].iter().flat_map(|s| &s.outs).copied().collect();
    let plain = stmts[branch].lin_outs.is_empty() && f.body.lin_results.is_empty();
    (plain && fields.iter().all(|v| !later.contains(v))).then_some((branch, condition))
}

/// The condition of a branch.
fn condition(op: &Op) -> Option<Var> {
    match op {
        Op::If(c, ..) | Op::Switch(c, _) => Some(*c),
        _ => None,
    }
}

/// The branch on the condition after data was taken apart, if little code surrounds it, which each arm will repeat.
fn branch_after(f: &Function, at: usize, condition_field: usize, like: &Op) -> Option<usize> {
    let stmts = &f.body.stmts;
    let c = stmts[at].outs.get(condition_field)?;
    let k = (at + 1..stmts.len()).find(|k| condition(&stmts[*k].op) == Some(*c))?;
    let alike = std::mem::discriminant(&stmts[k].op) == std::mem::discriminant(like);
    let around = (at + 1..stmts.len()).filter(|j| *j != k).map(|j| size(&stmts[j])).sum::<usize>();
    (alike && around <= AROUND && f.body.lin_results.is_empty()).then_some(k)
}

/// The number of statements, nested ones included.
fn size(s: &Stmt) -> usize {
    1 + s.op.blocks().into_iter().flat_map(|b| &b.stmts).map(size).sum::<usize>()
}

/// What a function reads of data taken apart at `at`, if arm `k` of the branch runs.
fn reads_of_arm(
    function: &Function,
    at: usize,
    branch: usize,
    arm_index: usize,
    condition: usize,
) -> BTreeSet<ConstructorField> {
    let stmts = &function.body.stmts;
    let arm = stmts[branch].op.blocks()[arm_index];
    let around: Vec<Stmt> = (at + 1..stmts.len()).filter(|j| *j != branch).map(|j| stmts[j].clone()).collect();
    let around = Block { stmts: around, results: function.body.results.clone(), ..Block::default() };
    let mut read = rename::free(function, &around);
    read.extend(rename::free(function, arm));
    let mut out: BTreeSet<ConstructorField> = stmts[at]
        .outs
        .iter()
        .enumerate()
        .filter(|(_, v)| read.contains(v))
        .map(|(k, _)| ConstructorField::Old(k))
        .collect();
    let inside = rename::free(function, &Block { params: Vec::new(), ..arm.clone() });
    let parts: Vec<usize> = (0..arm.params.len()).filter(|k| inside.contains(&arm.params[*k])).collect();
    if parts.len() > PARTS {
        out.insert(ConstructorField::Old(condition));
    }
    out.extend(parts.into_iter().map(ConstructorField::OfCondition));
    out
}

/// Fields that are extents or shapes of other fields.
fn extents(before: &[Stmt], fields: &[Var]) -> BTreeMap<usize, (Op, usize)> {
    let mut out = BTreeMap::new();
    for s in before {
        let (Op::Dim(a, _) | Op::Shape(a)) = &s.op else { continue };
        let found = s.outs.first().and_then(|o| fields.iter().position(|v| v == o));
        if let (Some(k), Some(of)) = (found, fields.iter().position(|v| v == a)) {
            out.insert(k, (s.op.clone(), of));
        }
    }
    out
}

impl Plan {
    /// What a constructor holds, so that all of `need` can be had from it.
    fn stored(&self, need: BTreeSet<ConstructorField>) -> Vec<ConstructorField> {
        let whole = need.contains(&ConstructorField::Old(self.condition));
        let kept = |field: &ConstructorField| match field {
            ConstructorField::Old(k) => {
                self.extents.get(k).is_none_or(|(_, of)| !need.contains(&ConstructorField::Old(*of)))
            }
            ConstructorField::OfCondition(_) => !whole,
        };
        need.iter().copied().filter(kept).collect()
    }
}

/// The types of the new constructors' fields.
fn declare(p: &Plan, funcs: &[Rc<Function>], datas: &mut [Rc<DataDecl>]) {
    let f = &funcs[p.made.func];
    let old = &datas[p.data.0 as usize];
    let (name, fields) = &old.cons[0];
    let ty = |k: usize, field: &ConstructorField| match field {
        ConstructorField::Old(i) => fields[*i].clone(),
        ConstructorField::OfCondition(i) => f.ty(f.body.stmts[p.branch].op.blocks()[k].params[*i]).clone(),
    };
    let cons = p.arms.iter().enumerate().map(|(k, arm)| (format!("{name}{k}"), arm.iter().map(|x| ty(k, x)).collect()));
    let made = DataDecl { name: old.name.clone(), cons: cons.collect(), declared: None };
    datas[p.data.0 as usize] = Rc::new(made);
}

/// Lets each arm make its constructor.
fn construct(plan: &Plan, funcs: &mut [Rc<Function>]) {
    let function = Rc::make_mut(&mut funcs[plan.made.func]);
    let last = function.body.stmts.remove(plan.made.stmt);
    let (Op::Construct { fields, .. }, [old]) = (last.op, &last.outs[..]) else { return };
    let all = function.fresh(Ty::Data(plan.data), false);
    let outs = function.body.stmts[plan.branch].outs.clone();
    for (k, arm) in plan.arms.iter().enumerate() {
        let one = function.fresh(Ty::Data(plan.data), false);
        let mut blocks = function.body.stmts[plan.branch].op.blocks_mut();
        let block = &mut blocks[k];
        let value = |field: &ConstructorField| match field {
            ConstructorField::Old(i) => {
                outs.iter().position(|o| *o == fields[*i]).map_or(fields[*i], |j| block.results[j])
            }
            ConstructorField::OfCondition(i) => block.params[*i],
        };
        let op = Op::Construct { data: plan.data, tag: k as u32, fields: arm.iter().map(value).collect() };
        block.stmts.push(Stmt { outs: vec![one], lin_outs: Vec::new(), op, span: last.span });
        block.results.push(one);
    }
    function.body.stmts[plan.branch].outs.push(all);
    rename::rename(&mut function.body, &HashMap::from([(*old, all)]));
    dce::remove_dead(function);
}

/// Replaces what takes data apart, and all that follows, by a branch on the constructor.
fn take_apart(p: &Plan, place: StatementPlace, branch: usize, funcs: &mut [Rc<Function>]) {
    let src = funcs[place.func].clone();
    let (mut body, first) = (src.body.clone(), &src.body.stmts[place.stmt]);
    let Op::Destruct { a, .. } = first.op else { return };
    let mut b = Builder::on((*src).clone());
    let arms = (0..p.arms.len()).map(|k| p.arm(&mut b, &src, (place.stmt, branch), k)).collect();
    let outs = b.like(&body.results);
    body.stmts.truncate(place.stmt);
    body.stmts.push(Stmt { outs: outs.clone(), lin_outs: Vec::new(), op: Op::Switch(a, arms), span: first.span });
    body.results = outs;
    let mut f = Function { body, ..b.func };
    dce::remove_dead(&mut f);
    funcs[place.func] = Rc::new(f);
}

impl Plan {
    /// The arm for constructor `k`: what follows the statement `at`, with arm `k` in the place of the branch.
    fn arm(&self, builder: &mut Builder, src: &Function, (at, branch): (usize, usize), arm_index: usize) -> Block {
        let (stmts, old) = (&src.body.stmts, &src.body.stmts[at].outs);
        let inner = stmts[branch].op.blocks()[arm_index];
        let var = |field: &ConstructorField| match field {
            ConstructorField::Old(i) => old[*i],
            ConstructorField::OfCondition(i) => inner.params[*i],
        };
        let fields: Vec<Var> = self.arms[arm_index].iter().map(var).collect();
        builder.open();
        let params = builder.like(&fields);
        builder.adopt(&params, &[]);
        let mut names: HashMap<Var, Var> = fields.into_iter().zip(params).collect();
        for (i, (op, of)) in &self.extents {
            if let (None, Some(of)) = (names.get(&old[*i]), names.get(&old[*of])) {
                let op = match op {
                    Op::Dim(_, axis) => Op::Dim(*of, *axis),
                    _ => Op::Shape(*of),
                };
                let v = builder.one(op, src.ty(old[*i]).clone());
                names.insert(old[*i], v);
            }
        }
        if let (Op::Switch(..), Some(c)) = (&stmts[branch].op, names.get(&old[self.condition]).copied()) {
            self.condition_apart(builder, (src, inner, c, arm_index), &mut names);
        }
        let copy = |b: &mut Builder, names: &mut HashMap<Var, Var>, s: &Stmt| {
            let made = b.copy_stmt(s, names);
            b.push(made);
        };
        stmts[at + 1..branch].iter().for_each(|s| copy(builder, &mut names, s));
        inner.stmts.iter().for_each(|s| copy(builder, &mut names, s));
        for (o, r) in stmts[branch].outs.iter().zip(&inner.results) {
            names.insert(*o, *names.get(r).unwrap_or(r));
        }
        stmts[branch + 1..].iter().for_each(|s| copy(builder, &mut names, s));
        let results = src.body.results.iter().map(|v| *names.get(v).unwrap_or(v)).collect();
        builder.close(results, Vec::new())
    }

    /// Takes apart the data that is the condition, if the constructor holds it.
    fn condition_apart(
        &self,
        b: &mut Builder,
        (src, arm, c, tag): (&Function, &Block, Var, usize),
        names: &mut HashMap<Var, Var>,
    ) {
        let Ty::Data(data) = *b.func.ty(c) else { return };
        let outs = b.like(&arm.params);
        names.extend(arm.params.iter().copied().zip(outs.iter().copied()));
        let op = Op::Destruct { a: c, data, tag: tag as u32 };
        b.push(Stmt {
            outs,
            lin_outs: Vec::new(),
            op,
            span: src.body.stmts.first().map(|s| s.span).unwrap_or_default(),
        });
    }
}

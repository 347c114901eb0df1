//! Classification of operators.

use adl_ir::{Block, Builder, Function, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::{Bin, GeneralFn, Prim};
use std::collections::{BTreeSet, HashMap};

/// Partitions the components of an operator into independent groups. Each group is a reduction of its own.
pub fn groups(func: &Function, op: &Block) -> Vec<Vec<usize>> {
    let width = op.results.len();
    let mut home: Vec<usize> = (0..width).collect();
    let mut join = |deps: &BTreeSet<usize>, with: Option<usize>| {
        let mut all = deps.iter().copied().chain(with);
        if let Some(first) = all.next() {
            for k in all {
                let (a, b) = (home[first], home[k]);
                home.iter_mut().filter(|h| **h == b).for_each(|h| *h = a);
            }
        }
    };
    let read = dependencies(func, op);
    for (k, r) in op.results.iter().enumerate() {
        join(&read.get(r).cloned().unwrap_or_default(), Some(k));
    }
    for s in op.stmts.iter().filter(|s| s.outs.is_empty()) {
        join(&stmt_reads(s, &read), None);
    }
    let mut out: Vec<Vec<usize>> = Vec::new();
    for h in home.iter().copied().collect::<BTreeSet<_>>() {
        out.push((0..width).filter(|k| home[*k] == h).collect());
    }
    out.sort_unstable();
    out
}

/// The components on which each variable of a block depends.
fn dependencies(f: &Function, op: &Block) -> HashMap<Var, BTreeSet<usize>> {
    let w = op.results.len();
    let mut read: HashMap<Var, BTreeSet<usize>> =
        op.params.iter().enumerate().map(|(k, v)| (*v, BTreeSet::from([k % w]))).collect();
    for s in &op.stmts {
        let deps = stmt_reads(s, &read);
        for o in &s.outs {
            read.insert(*o, deps.clone());
        }
    }
    debug_assert!(read.keys().all(|v| (v.0 as usize) < f.vars.len()));
    read
}

fn stmt_reads(s: &Stmt, read: &HashMap<Var, BTreeSet<usize>>) -> BTreeSet<usize> {
    let mut deps = BTreeSet::new();
    let mut see = |v: Var| deps.extend(read.get(&v).into_iter().flatten().copied());
    s.op.each_operand(&mut see);
    let mut work: Vec<&Block> = s.op.blocks();
    while let Some(b) = work.pop() {
        b.results.iter().for_each(|v| see(*v));
        for s in &b.stmts {
            s.op.each_operand(&mut see);
            work.extend(s.op.blocks());
        }
    }
    deps
}

/// The operator restricted to some components, which must not depend on the others.
pub fn restrict(f: &Function, op: &Block, part: &[usize]) -> Block {
    let w = op.results.len();
    let read = dependencies(f, op);
    let mine = |s: &&Stmt| stmt_reads(s, &read).iter().all(|k| part.contains(k));
    let mut out = Block {
        params: (0..2).flat_map(|half| part.iter().map(move |k| half * w + k)).map(|k| op.params[k]).collect(),
        stmts: op.stmts.iter().filter(mine).cloned().collect(),
        results: part.iter().map(|k| op.results[*k]).collect(),
        ..Block::default()
    };
    adl_ir::rewrite::dce::prune(f, &mut out);
    out
}

/// Whether a block has effects: output or input.
pub fn has_output(b: &Block) -> bool {
    b.stmts
        .iter()
        .any(|s| matches!(s.op, Op::Prim(p, _) if p.has_effect()) || s.op.blocks().into_iter().any(has_output))
}

/// Whether a block may raise an error on purpose.
pub fn may_fail_on_purpose(b: &Block) -> bool {
    b.stmts.iter().any(|s| {
        matches!(s.op, Op::Prim(Prim::General(GeneralFn::Assert | GeneralFn::Error), _))
            || s.op.blocks().into_iter().any(may_fail_on_purpose)
    })
}

/// The scalar operator with a rule of its own that a block computes from its two arguments, in either order: `+`,
/// `*`, `min` or `max`.
pub fn known(f: &Function, op: &Block) -> Option<Bin> {
    let ([x, y], [r]) = (op.params.as_slice(), op.results.as_slice()) else { return None };
    if !f.ty(*x).scalar().is_real() {
        return None;
    }
    let made = op.stmts.iter().find(|s| s.outs.contains(r))?;
    match made.op {
        Op::Bin(b @ (Bin::Add | Bin::Mul | Bin::Min | Bin::Max), p, q) => {
            ((p, q) == (*x, *y) || (q, p) == (*x, *y)).then_some(b)
        }
        _ => None,
    }
}

/// The operator `x * y` for an element type.
pub fn product(b: &mut Builder, elem: &Ty) -> Block {
    binary(b, elem, Bin::Mul)
}

/// A scalar operator of the IR as a block.
pub fn binary(b: &mut Builder, elem: &Ty, op: Bin) -> Block {
    b.open();
    let (x, y) = (b.param(elem.clone()), b.param(elem.clone()));
    let z = b.bin(op, x, y);
    b.close(vec![z], Vec::new())
}

/// Whether a block on numbers is straight-line elementwise arithmetic, possibly with pure branches, so that it can
/// be applied to arrays unchanged.
pub fn elementwise(f: &Function, b: &Block) -> bool {
    b.params.iter().all(|v| f.ty(*v).is_flat()) && b.stmts.iter().all(|s| elementwise_stmt(f, s))
}

fn elementwise_stmt(f: &Function, s: &Stmt) -> bool {
    let mut numbers = s.outs.iter().all(|v| f.ty(*v).is_flat());
    s.op.each_operand(&mut |v| numbers &= f.ty(v).is_flat());
    numbers
        && match &s.op {
            Op::Lit(_) | Op::Un(..) | Op::Cmp(..) | Op::Not(_) | Op::Select(..) | Op::Convert(..) => true,
            // On Ints these may fail in a branch that is not taken.
            Op::Bin(op, a, _) => f.ty(*a).is_real() || !matches!(op, Bin::IntDiv | Bin::Rem),
            Op::If(_, a, b) => [a, b].into_iter().all(|b| elementwise(f, b)),
            _ => false,
        }
}

/// The work of a linearised step of a straight-line operator: one scaling for each relevant operand, and the additions.
pub fn linear_cost(op: &Block, real: &dyn Fn(Var) -> bool) -> usize {
    let mut live: BTreeSet<Var> = op.params.iter().copied().filter(|v| real(*v)).collect();
    let mut work = 0;
    step_cost(op, real, &mut live, &mut work);
    work
}

fn step_cost(b: &Block, real: &dyn Fn(Var) -> bool, live: &mut BTreeSet<Var>, work: &mut usize) {
    for s in &b.stmts {
        let mut count = 0;
        s.op.each_operand(&mut |v| count += usize::from(live.contains(&v)));
        for inner in s.op.blocks() {
            step_cost(inner, real, live, work);
            count += inner.results.iter().filter(|v| live.contains(v)).count();
        }
        if count > 0 && !matches!(s.op, Op::Cmp(..)) {
            live.extend(s.outs.iter().filter(|o| real(**o)));
            *work += match s.op {
                Op::Bin(Bin::Add | Bin::Sub, ..) => count - 1,
                Op::Convert(..) | Op::If(..) => 0,
                _ => 2 * count - 1,
            };
        }
    }
}

/// The scalar operator that an operator on arrays applies to each of their elements.
pub struct ElementwiseOperator {
    params: Vec<Var>,
    stmts: Vec<Stmt>,
    results: Vec<Var>,
    /// Whether the statements still act on entire arrays.
    whole: bool,
}

/// Recognises an operator on arrays that acts elementwise: arithmetic on entire arrays, or a stateless loop over
/// its arguments.
pub fn as_elementwise(f: &Function, op: &Block) -> Option<ElementwiseOperator> {
    let arrays = |vs: &[Var]| vs.iter().all(|v| matches!(f.ty(*v), Ty::Array(e, _) if e.is_flat()));
    if !arrays(&op.params) || !arrays(&op.results) {
        return None;
    }
    let mut live = op.clone();
    live.stmts.retain(|s| !s.outs.is_empty());
    adl_ir::rewrite::dce::prune(f, &mut live);
    mapped(f, &live).or_else(|| arithmetic(f, &live))
}

fn arithmetic(f: &Function, op: &Block) -> Option<ElementwiseOperator> {
    let inside: BTreeSet<Var> = op.params.iter().chain(op.stmts.iter().flat_map(|s| &s.outs)).copied().collect();
    let ok = op.stmts.iter().all(|s| {
        let mut fine = matches!(
            s.op,
            Op::Lit(_) | Op::Un(..) | Op::Bin(..) | Op::Cmp(..) | Op::Not(_) | Op::Select(..) | Op::Convert(..)
        );
        // A captured array has no column here, and a condition on entire arrays is not an elementwise selection.
        s.op.each_operand(&mut |v| fine &= inside.contains(&v) || f.ty(v).rank() == 0);
        if let Op::Select(c, ..) = s.op {
            fine &= f.ty(c).rank() > 0;
        }
        fine
    });
    ok.then(|| ElementwiseOperator {
        params: op.params.clone(),
        stmts: op.stmts.clone(),
        results: op.results.clone(),
        whole: true,
    })
}

fn mapped(func: &Function, op: &Block) -> Option<ElementwiseOperator> {
    let made = op.stmts.iter().find(|s| s.outs.contains(&op.results[0]))?;
    let Op::Loop(ir_loop) = &made.op else { return None };
    let plain = ir_loop.init.is_empty()
        && matches!(ir_loop.trip, Trip::Count(_))
        && ir_loop.outs.iter().all(|o| *o == Out::Collect);
    // The other statements may only compute the trip count.
    let rest = op.stmts.iter().all(|s| s.outs == made.outs || matches!(s.op, Op::Dim(..) | Op::Lit(_)));
    let trips = *made.outs.last()?;
    if !plain
        || !rest
        || !ir_loop.xs.iter().all(|x| op.params.contains(x))
        || op.results.contains(&trips)
        || reads(&ir_loop.body, ir_loop.body.params[0])
    {
        return None;
    }
    let mut params = Vec::new();
    for p in &op.params {
        // An argument that is not read has no element in the loop.
        params.push(ir_loop.body.params[1 + ir_loop.xs.iter().position(|x| x == p)?]);
    }
    let outside = |v: Var| op.params.contains(&v) || op.stmts.iter().any(|s| s.outs.contains(&v));
    let results = op
        .results
        .iter()
        .map(|r| made.outs.iter().position(|o| o == r).map(|k| ir_loop.body.results[k]))
        .collect::<Option<Vec<_>>>()?;
    let mut free = false;
    each_read(&ir_loop.body, &mut |v| free |= outside(v));
    let _ = func;
    (!free).then(|| ElementwiseOperator { params, stmts: ir_loop.body.stmts.clone(), results, whole: false })
}

fn reads(b: &Block, v: Var) -> bool {
    let mut found = false;
    each_read(b, &mut |x| found |= x == v);
    found
}

fn each_read(b: &Block, see: &mut dyn FnMut(Var)) {
    b.results.iter().for_each(|v| see(*v));
    for s in &b.stmts {
        s.op.each_operand(see);
        s.op.blocks().into_iter().for_each(|b| each_read(b, see));
    }
}

impl ElementwiseOperator {
    /// The operator as a block on elements of these types.
    pub fn block(&self, builder: &mut Builder) -> Block {
        let from = Block {
            params: self.params.clone(),
            stmts: self.stmts.clone(),
            results: self.results.clone(),
            ..Block::default()
        };
        let mut names = HashMap::new();
        let made = builder.copy_block(&from, &mut names);
        if self.whole {
            let lower: Vec<Var> = made.params.iter().chain(made.stmts.iter().flat_map(|s| &s.outs)).copied().collect();
            for v in lower {
                let ty = builder.ty(v);
                if ty.rank() > 0 {
                    builder.func.vars[v.0 as usize].ty = ty.elem();
                }
            }
        }
        made
    }
}

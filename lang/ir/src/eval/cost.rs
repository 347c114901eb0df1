//! The cost model: work of each operation, after §4.3 of *You Only Linearize Once*.
//!
//! The paper: a non-linear primitive costs 1; linear addition and scaling cost 1 for each scalar of the result; `drop` costs 1 for each
//! scalar of its argument; all else is free: variables, literals, tuples, `dup`, `zero`, control flow, calls (whose bodies cost).
//! Here a primitive acts on arrays, and costs 1 for each scalar that it works on:
//!
//! - Copies are free, as `dup` is: `replicate`, `spread`; so are views: `reshape`, `transpose`, `shape`, `dim`. Sums pay for copies:
//!   to make one number of n costs n - 1.
//! - What moves scalars costs 1 for each one: indexing, `gather`, `reverse`, `rotate`, `concat`, `stack`. The part of an array that is
//!   not read costs nothing. An array in a box is moved as one thing.
//! - An update in place (`index_add`, `slice_add`, `gather_add`, `index_set`) costs what reading costs, and the addition: 2 for each
//!   scalar of what is added. The rest of the array costs nothing.
//! - Products cost their multiplications and additions: `dot` 2n - 1.
//! - Linear subtraction is a negation and an addition (2), linear `select` two scalings and an addition (3), so that their transposes
//!   cost no more. The non-linear ones cost 1: erasing linearity never makes a program dearer.
//! - A block that drops an array of outside costs nothing: no number of it is touched.
//! - An absent operand costs nothing, and spares the work that it would have been part of.
//! - A loop's sums cost the additions of its turns; collecting is free, as tuples are.
//! - A built-in costs 1 for each scalar that it reads or makes, whichever are more, and at least 1; sorting n log₂ n; matrix
//!   factorisations the number of elements times the longest extent.
//!
//! With these rules each linear operation and its transpose satisfy the paper's `work(T e) + inputs ≤ work(e) + outputs` exactly, but for
//! operations that read or update parts of arrays and for `select`, where it holds up to a constant factor.

use super::value::Val;
use crate::func::{Function, Role, Var};
use crate::op::Op;
use adl_prim::{Bin, Prim};
use adl_syntax::span::Span;
use std::collections::{BTreeMap, HashSet};

/// Work that was done.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// All of it.
    pub total: u64,
    /// That of non-linear operations.
    pub non_linear: u64,
    /// That of linear operations.
    pub linear: u64,
    /// Arithmetic on real numbers alone.
    pub arithmetic: u64,
    /// The part of it that finds derivatives of functions, without 1 for each ([`Role`]): without it, arithmetic is the `$` of *Differentiating a Tensor
    /// Language* (Fig. 6), where a function and its derivative are black boxes.
    pub inside: u64,
    /// By the statements' places in the source.
    pub by_span: BTreeMap<Span, u64>,
    /// What transposing the linear operations may cost beyond their own work and their results: see [`beyond`].
    pub beyond: u64,
    /// Number of statements that were run (not work: it bounds the evaluator).
    pub steps: u64,
}

impl Counts {
    /// Adds the work of a statement.
    pub(super) fn add(&mut self, span: Span, linear: bool, work: u64) {
        self.total += work;
        *(if linear { &mut self.linear } else { &mut self.non_linear }) += work;
        if work > 0 {
            *self.by_span.entry(span).or_default() += work;
        }
    }
}

/// The part of an operation's work that is arithmetic on real numbers: additions, products and functions, but nothing that only moves
/// numbers, and nothing done to indices.
pub(super) fn arithmetic(op: &Op, linear: bool, work: u64) -> u64 {
    match op {
        // Linear subtraction is counted as a negation and an addition.
        Op::Bin(Bin::Sub, ..) if linear => work.div_ceil(2),
        Op::Un(..) => work,
        Op::Bin(f, ..) => work * f.operations(),
        Op::Sum { .. } | Op::Total { .. } | Op::Dot(..) | Op::MatMul(..) | Op::Contract(_) | Op::Outer(..) | Op::Cumsum { .. } => work,
        // The other half is the access.
        Op::IndexAdd { .. } | Op::SliceAdd { .. } | Op::GatherAdd { .. } => work / 2,
        Op::Prim(Prim::Sort | Prim::Argsort | Prim::Id | Prim::StopGrad, _) => 0,
        Op::Prim(..) => work,
        Op::Lit(_) | Op::Zero(_) | Op::Cmp(..) | Op::Not(_) | Op::Select(..) | Op::Convert(..) | Op::Dim(..) | Op::Shape(_) | Op::Index { .. } => 0,
        Op::IndexSet { .. } | Op::Slice { .. } | Op::Gather { .. } | Op::Reverse(_) | Op::Rotate { .. } | Op::Concat { .. } | Op::Reshape { .. } => 0,
        Op::Transpose(_) | Op::Replicate { .. } | Op::Spread { .. } | Op::Stack { .. } | Op::Nonzero(_) | Op::Zeros(_) | Op::Count(_) | Op::Con { .. } | Op::Fields { .. } => 0,
        Op::Dup(_) | Op::Drop(_) | Op::If(..) | Op::Switch(..) | Op::Loop(_) | Op::Call { .. } | Op::Soac(_) | Op::ReduceByIndex { .. } => 0,
    }
}

/// The part of a statement's arithmetic that is inside a black box: see [`Counts::inside`].
pub(super) fn inside(role: Role, arithmetic: u64, work: u64) -> u64 {
    match role {
        Role::Operation => 0,
        Role::Step => arithmetic,
        Role::Derivative => arithmetic.saturating_sub(work),
    }
}

/// What the transpose of a linear operation may cost beyond the amortised law `work(T e) ≤ work(e) + outputs`, whose credit for outputs
/// is only there where what uses them pays for each scalar. `sparse` are the variables of which parts may stay unread (free here, while the
/// paper's `drop` pays for them): what made such an array gets a cotangent for each of its scalars.
pub(super) fn beyond<'a>(op: &Op, get: &dyn Fn(Var) -> &'a Val, outs: &[Val], sparse: u64) -> u64 {
    let size = |v: &Var| get(*v).scalars();
    sparse + match op {
        // The place that was set gets a zero.
        Op::IndexSet { v, .. } => 2 * size(v),
        // One half is computed for an operand that is absent here.
        Op::Select(..) => 2 * outs.iter().map(Val::scalars).sum::<u64>(),
        // A product with an absent operand costs nothing; its transpose has the cotangent.
        Op::Bin(_, a, b) if get(*a).is_absent() || get(*b).is_absent() => size(a).max(size(b)),
        _ => 0,
    }
}

/// Linear arrays and data that a block inside drops although they are bound outside: a run of the block that does not use them costs
/// nothing, however large they are. Of numbers it costs 1, as its transpose has a zero to add.
pub(super) fn untouched(f: &Function) -> HashSet<Var> {
    let mut out = HashSet::new();
    let mut blocks = vec![&f.body];
    while let Some(b) = blocks.pop() {
        let here: HashSet<Var> = b.stmts.iter().flat_map(|s| &s.lin_outs).chain(&b.lin_params).copied().collect();
        for s in &b.stmts {
            if let Op::Drop(v) = s.op {
                if !here.contains(&v) && (f.ty(v).rank() > 0 || !f.ty(v).is_real()) {
                    out.insert(v);
                }
            }
            blocks.extend(s.op.blocks());
        }
    }
    out
}

/// Linear variables of a function some of whose scalars may stay unread.
pub(super) fn sparse(f: &Function) -> HashSet<Var> {
    let mut out = HashSet::new();
    let mut copies: Vec<(Var, Vec<Var>)> = Vec::new();
    let mut blocks = vec![&f.body];
    while let Some(b) = blocks.pop() {
        out.extend(&b.lin_results);
        let here: HashSet<Var> = b.stmts.iter().flat_map(|s| &s.lin_outs).chain(&b.lin_params).copied().collect();
        for s in &b.stmts {
            let whole = reads_all(&s.op);
            s.op.each_operand(&mut |v| {
                // What a block takes from outside may be read by some of its runs only.
                if f.linear(v) && !(whole && here.contains(&v)) {
                    out.insert(v);
                }
            });
            if let Op::Dup(a) = s.op {
                copies.push((a, s.lin_outs.clone()));
            }
            blocks.extend(s.op.blocks());
        }
    }
    // Copies are one variable with their original.
    let mut grown = true;
    while std::mem::take(&mut grown) {
        for (a, made) in &copies {
            grown |= made.iter().any(|v| out.contains(v)) && out.insert(*a);
        }
    }
    out
}

/// Whether an operation pays for each scalar of its linear operands, by its work or by its results.
fn reads_all(op: &Op) -> bool {
    match op {
        Op::Un(..) | Op::Bin(..) | Op::Select(..) | Op::Convert(..) | Op::Reverse(_) | Op::Rotate { .. } | Op::Concat { .. } | Op::Reshape { .. } => true,
        Op::Transpose(_) | Op::Replicate { .. } | Op::Sum { .. } | Op::Spread { .. } | Op::Total { .. } | Op::Stack { .. } | Op::Dot(..) => true,
        Op::MatMul(..) | Op::Contract(_) | Op::Outer(..) | Op::Cumsum { .. } | Op::IndexAdd { .. } | Op::SliceAdd { .. } | Op::GatherAdd { .. } | Op::Drop(_) | Op::Dup(_) => true,
        Op::Lit(_) | Op::Zero(_) | Op::Cmp(..) | Op::Not(_) | Op::Dim(..) | Op::Shape(_) | Op::Count(_) | Op::Nonzero(_) | Op::Zeros(_) | Op::Prim(..) => true,
        Op::Index { .. } | Op::IndexSet { .. } | Op::Slice { .. } | Op::Gather { .. } | Op::Con { .. } | Op::Fields { .. } => false,
        Op::If(..) | Op::Switch(..) | Op::Loop(_) | Op::Call { .. } | Op::Soac(_) | Op::ReduceByIndex { .. } => false,
    }
}

/// The work of one operation, without that of its blocks and callees. `get` has the operands, `outs` are the results.
pub(super) fn work<'a>(op: &Op, linear: bool, get: &dyn Fn(Var) -> &'a Val, outs: &[Val]) -> u64 {
    // Counted only where it is needed: a result may be a long list.
    let made = || -> u64 { outs.iter().map(Val::scalars).sum() };
    let size = |v: &Var| get(*v).scalars();
    let there = |v: &Var| !get(*v).is_absent();
    match op {
        Op::Lit(_) | Op::Zero(_) | Op::Dup(_) | Op::Con { .. } | Op::Fields { .. } | Op::If(..) | Op::Switch(..) | Op::Call { .. } => 0,
        Op::Loop(_) | Op::Soac(_) | Op::ReduceByIndex { .. } => 0,
        Op::Dim(..) | Op::Shape(_) | Op::Count(_) | Op::Reshape { .. } | Op::Transpose(_) | Op::Replicate { .. } | Op::Spread { .. } => 0,
        Op::Bin(Bin::Add, a, b) if !there(a) || !there(b) => 0,
        Op::Bin(Bin::Sub, _, b) if !there(b) => 0,
        Op::Bin(Bin::Sub, a, _) if linear && there(a) => 2 * made(),
        Op::Un(..) | Op::Bin(..) | Op::Cmp(..) | Op::Not(_) | Op::Convert(..) => made(),
        Op::Select(_, a, b) if linear && there(a) && there(b) => 3 * made(),
        Op::Select(..) => made(),
        Op::Index { a, .. } => if there(a) { if in_boxes(get(*a)) { 1 } else { made() } } else { 0 },
        Op::Slice { .. } | Op::Gather { .. } | Op::Reverse(_) | Op::Rotate { .. } | Op::Concat { .. } | Op::Stack { .. } | Op::Cumsum { .. } => made(),
        Op::IndexAdd { v, .. } | Op::IndexSet { v, .. } | Op::SliceAdd { v, .. } | Op::GatherAdd { v, .. } => 2 * size(v),
        Op::Sum { a, .. } | Op::Total { a, .. } => size(a).saturating_sub(made()),
        Op::Dot(a, b) => if there(a) && there(b) { (2 * size(a)).saturating_sub(1) } else { 0 },
        Op::MatMul(a, b) => if there(a) && there(b) { products(get(*a), get(*b), made()) } else { 0 },
        Op::Contract(c) => match (there(&c.a) && there(&c.b), get(c.size[2])) {
            (true, Val::I64(k)) => made() * (2 * k.unsigned_abs()).saturating_sub(1),
            _ => 0,
        },
        Op::Outer(..) => made(),
        Op::Nonzero(a) | Op::Zeros(a) => size(a),
        Op::Drop(a) => get(*a).reals().len() as u64,
        Op::Prim(p, args) => prim(*p, &args.iter().map(|v| get(*v)).collect::<Vec<_>>(), made()),
    }
}

/// Whether the elements of an array are arrays in boxes, which are moved as one thing each.
fn in_boxes(a: &Val) -> bool {
    a.arr().is_some_and(|a| matches!(a.elems.first(), Some(Val::Array(_))))
}

/// Multiplications and additions of a product with `made` results.
fn products(a: &Val, b: &Val, made: u64) -> u64 {
    let inner = match (a.arr().map(|a| a.shape.as_slice()), b.arr().map(|b| b.shape.as_slice())) {
        (Some([.., k]), Some(_)) => *k as u64,
        _ => 0,
    };
    made * (2 * inner).saturating_sub(1)
}

fn prim(p: Prim, args: &[&Val], made: u64) -> u64 {
    let read: u64 = args.iter().map(|v| v.scalars()).sum();
    let each = read.max(made).max(1);
    match p {
        Prim::StopGrad | Prim::Id => 0,
        Prim::Sort | Prim::Argsort => each * u64::from(64 - each.leading_zeros()),
        Prim::LinSolve | Prim::Cholesky | Prim::Qr | Prim::Lu | Prim::Svd | Prim::Eigh | Prim::Inv | Prim::Det => {
            let longest = args.iter().filter_map(|v| v.arr()).flat_map(|a| a.shape.iter()).max();
            each * longest.map_or(1, |n| *n as u64).max(1)
        }
        // A function of scalars is one primitive, however many arguments it has.
        _ if args.iter().all(|v| v.arr().is_none()) && made <= 1 => 1,
        _ => each,
    }
}

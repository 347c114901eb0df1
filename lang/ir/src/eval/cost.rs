//! The cost model: the work of each operation, after §4.3 of *You Only Linearize Once*.
//!
//! In the paper, a non-linear primitive costs 1. Linear addition and scaling cost 1 for each scalar of the result,
//! and `drop` costs 1 for each scalar of its argument. Everything else is free: variables, literals, tuples, `dup`,
//! `zero`, control flow, and calls (whose bodies cost). Here primitives act on arrays, and cost 1 for each scalar
//! that they process:
//!
//! - Copies are free, as `dup` is (`replicate`, `spread`); so are views (`reshape`, `transpose`, `shape`, `dim`).
//!   Sums pay for copies: to sum n numbers costs n - 1.
//! - Moving scalars costs 1 for each: indexing, `gather`, `reverse`, `rotate`, `concat`, `stack`. Elements of an
//!   array that are not read cost nothing. An array in a box is moved as one unit.
//! - An update in place (`index_add`, `slice_add`, `gather_add`, `index_set`) costs the access and the addition: 2
//!   for each scalar that is added. The rest of the array costs nothing.
//! - Products cost their multiplications and additions: `dot` costs 2n - 1.
//! - Linear subtraction is a negation and an addition (2), linear `select` is two scalings and an addition (3), so
//!   that their transposes cost no more. The non-linear versions cost 1, so erasing linearity never makes a program
//!   more expensive.
//! - A block that drops an array from outside pays nothing for it, because no element is touched.
//! - A symbolic zero as operand costs nothing, and saves the work in which it would have taken part.
//! - A loop's sums cost the additions between iterations; collecting is free, as tuples are.
//! - A built-in costs 1 for each scalar that it reads or writes, whichever are more, and at least 1. Sorting costs
//!   n log₂ n, and a matrix factorisation the number of elements times the longest extent.
//!
//! With these rules each linear operation and its transpose satisfy the paper's `work(T e) + inputs ≤ work(e) +
//! outputs` exactly. Exceptions are `select` and operations that read or update parts of arrays, for which it holds
//! up to a constant factor.

use super::value::Val;
use crate::func::{Function, Role, Var};
use crate::op::Op;
use crate::rows::{Arithmetic, Reads};
use adl_prim::{Bin, DerivativeFn, GeneralFn, Prim, ReductionFn};
use adl_syntax::span::Span;
use std::collections::{BTreeMap, HashSet};

/// Work done by an evaluation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WorkCounts {
    /// All work.
    pub total: u64,
    /// Work of non-linear operations.
    pub non_linear: u64,
    /// Work of linear operations.
    pub linear: u64,
    /// Only arithmetic on real numbers.
    pub arithmetic: u64,
    /// The part of the arithmetic that computes derivatives of functions, beyond 1 for each ([`Role`]). Without it,
    /// the arithmetic is the `$` of *Differentiating a Tensor Language* (Fig. 6), where a function and its
    /// derivative are black boxes.
    pub inside: u64,
    /// Work by source location of the statements.
    pub by_span: BTreeMap<Span, u64>,
    /// Additional work that transposing the linear operations may cost beyond their own work and their outputs: see
    /// `beyond`.
    pub beyond: u64,
    /// Messages to the other ranks of a run.
    pub messages: u64,
    /// Bytes in them, 8 for each number.
    pub message_bytes: u64,
    /// Number of statements executed. Not work; it bounds the evaluation.
    pub steps: u64,
}

impl WorkCounts {
    /// Adds the work of a statement.
    pub(super) fn add(&mut self, span: Span, linear: bool, work: u64) {
        self.total += work;
        *(if linear { &mut self.linear } else { &mut self.non_linear }) += work;
        if work > 0 {
            *self.by_span.entry(span).or_default() += work;
        }
    }
}

/// The part of an operation's work that is arithmetic on real numbers: additions, products and functions. Moving
/// numbers and computing with indices do not count.
pub(super) fn arithmetic(op: &Op, linear: bool, work: u64) -> u64 {
    match op {
        // Linear subtraction counts as a negation and an addition.
        Op::Bin(Bin::Sub, ..) if linear => work.div_ceil(2),
        Op::Bin(f, ..) => work * f.operations(),
        Op::Prim(
            Prim::Reduction(ReductionFn::Argsort)
            | Prim::General(GeneralFn::Id)
            | Prim::Derivative(DerivativeFn::StopGrad),
            _,
        ) => 0,
        op => match op.row().arithmetic {
            Arithmetic::Nothing => 0,
            Arithmetic::Half => work / 2,
            Arithmetic::All => work,
        },
    }
}

/// The part of a statement's arithmetic that is inside of a black box: see [`WorkCounts::inside`].
pub(super) fn inside(role: Role, arithmetic: u64, work: u64) -> u64 {
    match role {
        Role::Operation => 0,
        Role::Step => arithmetic,
        Role::Derivative => arithmetic.saturating_sub(work),
    }
}

/// The additional cost of a linear operation's transpose beyond the amortised law `work(T e) ≤ work(e) + outputs`.
/// The law's credit for outputs exists only if the uses of an output pay for each of its scalars. `sparse` is the
/// number of scalars of results that may stay unread. Leaving them unread is free here, while the paper's `drop`
/// pays for them; but the transpose computes a cotangent for each of them.
pub(super) fn beyond<'a>(op: &Op, get: &dyn Fn(Var) -> &'a Val, outs: &[Val], sparse: u64) -> u64 {
    let size = |v: &Var| get(*v).scalars();
    sparse
        + match op {
            // The transpose writes a zero at the position that was set.
            Op::IndexSet { v, .. } => 2 * size(v),
            // One half is computed for an operand that is a symbolic zero here.
            Op::Select(..) => 2 * outs.iter().map(Val::scalars).sum::<u64>(),
            // A product with a symbolic zero costs nothing, but its transpose has a cotangent to process.
            Op::Bin(_, a, b) if get(*a).is_symbolic_zero() || get(*b).is_symbolic_zero() => size(a).max(size(b)),
            _ => 0,
        }
}

/// Linear arrays and data from outside that a nested block drops. A run of the block that does not use them pays
/// nothing for them, whatever their size. Dropping a scalar costs 1, because its transpose adds a zero.
pub(super) fn untouched(f: &Function) -> HashSet<Var> {
    let mut out = HashSet::new();
    let mut blocks = vec![&f.body];
    while let Some(b) = blocks.pop() {
        let here: HashSet<Var> = b.stmts.iter().flat_map(|s| &s.lin_outs).chain(&b.lin_params).copied().collect();
        for s in &b.stmts {
            if let Op::Drop(v) = s.op
                && !here.contains(&v)
                && (f.ty(v).rank() > 0 || !f.ty(v).is_real())
            {
                out.insert(v);
            }
            blocks.extend(s.op.blocks());
        }
    }
    out
}

/// Linear variables of a function some of whose scalars may stay unread.
pub(super) fn sparse(func: &Function) -> HashSet<Var> {
    let mut out = HashSet::new();
    let mut copies: Vec<(Var, Vec<Var>)> = Vec::new();
    let mut blocks = vec![&func.body];
    while let Some(b) = blocks.pop() {
        out.extend(&b.lin_results);
        let here: HashSet<Var> = b.stmts.iter().flat_map(|s| &s.lin_outs).chain(&b.lin_params).copied().collect();
        for stmt in &b.stmts {
            let whole = stmt.op.row().reads == Reads::All;
            stmt.op.each_operand(&mut |v| {
                // A variable that a block captures may be read in only some of the block's runs.
                if func.linear(v) && !(whole && here.contains(&v)) {
                    out.insert(v);
                }
            });
            if let Op::Dup(a) = stmt.op {
                copies.push((a, stmt.lin_outs.clone()));
            }
            blocks.extend(stmt.op.blocks());
        }
    }
    // A copy counts as the same variable as its original.
    let mut grown = true;
    while std::mem::take(&mut grown) {
        for (a, made) in &copies {
            grown |= made.iter().any(|v| out.contains(v)) && out.insert(*a);
        }
    }
    out
}

/// The work of one operation, without its blocks and callees. `get` looks up operands, `outs` are the results.
pub(super) fn work<'a>(op: &Op, linear: bool, get: &dyn Fn(Var) -> &'a Val, outs: &[Val]) -> u64 {
    // Counted on demand only, because a result may be a long list.
    let made = || -> u64 { outs.iter().map(Val::scalars).sum() };
    let size = |v: &Var| get(*v).scalars();
    let there = |v: &Var| !get(*v).is_symbolic_zero();
    match op {
        Op::Lit(_)
        | Op::Zero(_)
        | Op::Dup(_)
        | Op::Construct { .. }
        | Op::Destruct { .. }
        | Op::If(..)
        | Op::Switch(..)
        | Op::Call { .. } => 0,
        Op::Loop(_) | Op::Soac(_) | Op::ReduceByIndex { .. } | Op::Collective { .. } => 0,
        Op::Dim(..)
        | Op::Shape(_)
        | Op::Size(_)
        | Op::Reshape { .. }
        | Op::Transpose(_)
        | Op::Replicate { .. }
        | Op::Broadcast { .. } => 0,
        Op::Bin(Bin::Add, a, b) if !there(a) || !there(b) => 0,
        Op::Bin(Bin::Sub, _, b) if !there(b) => 0,
        Op::Bin(Bin::Sub, a, _) if linear && there(a) => 2 * made(),
        Op::Un(..) | Op::Bin(..) | Op::Cmp(..) | Op::Not(_) | Op::Convert(..) => made(),
        Op::Select(_, a, b) if linear && there(a) && there(b) => 3 * made(),
        Op::Select(..) => made(),
        Op::Index { a, .. } => {
            if there(a) {
                if in_boxes(get(*a)) { 1 } else { made() }
            } else {
                0
            }
        }
        Op::Slice { .. }
        | Op::Gather { .. }
        | Op::Reverse(_)
        | Op::Rotate { .. }
        | Op::Concat { .. }
        | Op::ArrayLit { .. }
        | Op::Cumsum { .. } => made(),
        Op::IndexAdd { v, .. } | Op::IndexSet { v, .. } | Op::SliceAdd { v, .. } | Op::GatherAdd { v, .. } => {
            2 * size(v)
        }
        Op::Sum { a, .. } | Op::SumAll { a, .. } => size(a).saturating_sub(made()),
        Op::Dot(a, b) => {
            if there(a) && there(b) {
                (2 * size(a)).saturating_sub(1)
            } else {
                0
            }
        }
        Op::MatMul(a, b) => {
            if there(a) && there(b) {
                products(get(*a), get(*b), made())
            } else {
                0
            }
        }
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

/// Whether the elements of an array are boxed arrays, each of which is moved as one unit.
fn in_boxes(a: &Val) -> bool {
    a.arr().is_some_and(|a| matches!(a.elems.first(), Some(Val::Array(_))))
}

/// The multiplications and additions of a product with `made` results.
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
        Prim::Derivative(DerivativeFn::StopGrad) | Prim::General(GeneralFn::Id) => 0,
        Prim::Reduction(ReductionFn::Argsort) => each * u64::from(64 - each.leading_zeros()),
        Prim::Linalg(_) => {
            let longest = args.iter().filter_map(|v| v.arr()).flat_map(|a| a.shape.iter()).max();
            each * longest.map_or(1, |n| *n as u64).max(1)
        }
        // A function of scalars is one primitive, whatever the number of its arguments.
        _ if args.iter().all(|v| v.arr().is_none()) && made <= 1 => 1,
        _ => each,
    }
}

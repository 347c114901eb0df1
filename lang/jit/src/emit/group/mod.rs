//! Elementwise fusion: consecutive statements on Float arrays of one shape form a *group* and become one loop.
//!
//! A member of a group computes each element of its result from the elements at the same position. Members are
//! elementwise operators and functions, broadcasts, reads of rows and slices, and in-place accumulations to or
//! replacements of rows and slices. Intermediate results that only members read are not stored: they stay in registers,
//! two elements at a time. Scalar statements between members are emitted before the loop. Elementary functions are
//! members, too ([`phases`]). A group without them may end with sums and inner products of its results, in the order of
//! [`adl_interp::ops::kernels`].
//!
//! The members of a group are connected by their operands, so that arrays of other shapes are in other groups. The loop
//! runs if all arrays are materialised and have fitting shapes. Otherwise the interpreter's operations run one
//! by one, with the same results and errors. A symbolic zero that is only added to is read as -0, which is exact.

mod check;
pub(super) use check::ArrayAddress;
mod phases;
mod plan;
mod run;
mod shape_classes;

pub(super) use run::CHUNK;

use super::Emit;
use crate::handle::ValueForm;
use adl_ir::{Block, Function, Op, Stmt, Ty, Var};
use adl_prim::scalar::Native;
use adl_prim::{Bin, Un};
use smallvec::SmallVec;
use std::collections::HashSet;

/// The operation of a member.
#[derive(Clone, Debug)]
pub(super) enum Member {
    Un(Un, Var),
    Bin(Bin, Var, Var),
    /// Broadcast: `n` copies of `x`.
    Fill {
        n: Var,
        x: Var,
    },
    /// `a[i, …]` where the element is an array.
    Row {
        a: Var,
        at: SmallVec<[Var; 2]>,
    },
    /// `a[lo:hi]`.
    Slice {
        a: Var,
        lo: Var,
        hi: Var,
    },
    /// `acc` with `v` added to one row, or with one row replaced by `v`.
    ToRow {
        acc: Var,
        at: SmallVec<[Var; 2]>,
        v: Var,
        add: bool,
    },
    /// `acc` with `v` added to the slice that starts at `lo`.
    ToSlice {
        acc: Var,
        lo: Var,
        v: Var,
    },
    /// The sum of `a`, or the inner product of `a` and `b`.
    Total {
        a: Var,
        b: Option<Var>,
    },
}

/// Whether a type is a flat Float array whose extents fit a handle.
fn floats(ty: &Ty) -> bool {
    *ty.scalar() == Ty::F64 && ValueForm::of(ty).0 != 0
}

/// Whether an operator compiles to instructions.
pub(super) fn is_plain(op: Un) -> bool {
    op.native() == Native::Instructions
}

pub(super) fn is_plain_bin(op: Bin) -> bool {
    op.native() == Native::Instructions
}

/// A statement as a sum or inner product at the end of a group.
fn total(f: &Function, s: &Stmt) -> Option<Member> {
    let row = |v: &Var| floats(f.ty(*v)) && f.ty(*v).rank() == 1;
    match &s.op {
        Op::Dot(a, b) if row(a) && row(b) && s.lin_outs.is_empty() => Some(Member::Total { a: *a, b: Some(*b) }),
        Op::Sum { a, n: None } if row(a) && s.lin_outs.is_empty() => Some(Member::Total { a: *a, b: None }),
        _ => None,
    }
}

/// A statement as a member of a group, with the rank of the elements that it iterates over.
pub(super) fn member(func: &Function, stmt: &Stmt) -> Option<(Member, usize)> {
    let number = |v: Var| *func.ty(v) == Ty::F64;
    let array = |v: Var| floats(func.ty(v));
    let out = stmt.outs.iter().chain(&stmt.lin_outs).next().copied()?;
    if let Some(m) = total(func, stmt) {
        return Some((m, 1));
    }
    if stmt.outs.len() + stmt.lin_outs.len() != 1 || !array(out) {
        return None;
    }
    let rank = |v: Var| func.ty(v).rank() as usize;
    let found = match &stmt.op {
        Op::Un(op, a) if array(*a) => Member::Un(*op, *a),
        Op::Bin(op, a, b) if is_plain_bin(*op) && (array(*a) || number(*a)) && (array(*b) || number(*b)) => {
            Member::Bin(*op, *a, *b)
        }
        Op::Replicate { n, a } if number(*a) => Member::Fill { n: *n, x: *a },
        Op::Index { a, at, .. } if array(*a) => Member::Row { a: *a, at: at.iter().copied().collect() },
        Op::Slice { a, lo, hi, .. } if array(*a) => Member::Slice { a: *a, lo: *lo, hi: *hi },
        Op::IndexAdd { acc, at, v, .. } if array(*v) => {
            Member::ToRow { acc: *acc, at: at.iter().copied().collect(), v: *v, add: true }
        }
        Op::IndexSet { acc, at, v, .. } if array(*v) => {
            Member::ToRow { acc: *acc, at: at.iter().copied().collect(), v: *v, add: false }
        }
        Op::SliceAdd { acc, lo, v, .. } if array(*v) => Member::ToSlice { acc: *acc, lo: *lo, v: *v },
        _ => return None,
    };
    let rank = match &found {
        Member::ToRow { v, .. } | Member::ToSlice { v, .. } | Member::Total { a: v, .. } => rank(*v),
        Member::Un(..) | Member::Bin(..) | Member::Fill { .. } | Member::Row { .. } | Member::Slice { .. } => rank(out),
    };
    let fits = match &found {
        Member::Bin(_, a, b) => [a, b].iter().all(|v| number(**v) || func.ty(**v).rank() as usize == rank),
        Member::Row { a: whole, at } | Member::ToRow { acc: whole, at, .. } => {
            func.ty(*whole).rank() as usize == rank + at.len()
        }
        Member::ToSlice { acc, .. } => func.ty(*acc).rank() as usize == rank,
        Member::Un(..) | Member::Fill { .. } | Member::Slice { .. } | Member::Total { .. } => true,
    };
    fits.then_some((found, rank))
}

impl Emit<'_, '_, '_> {
    /// Whether a member fills a row with zeros, because its operand is a symbolic zero.
    fn is_cleared(&self, m: &Member, v: Var) -> bool {
        matches!(m, Member::ToRow { add: false, .. }) && self.held.collected.symbolic_zero.contains(&v)
    }
}

/// Arrays that are symbolic zeros.
pub(super) fn symbolic_zero(f: &Function) -> HashSet<Var> {
    fn of(f: &Function, b: &Block, out: &mut HashSet<Var>) {
        for s in &b.stmts {
            if matches!(s.op, Op::Zero(_)) {
                out.extend(s.outs.iter().chain(&s.lin_outs).filter(|v| floats(f.ty(**v))));
            }
            s.op.blocks().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || of(f, b, out)));
        }
    }
    let mut out = HashSet::new();
    of(f, &f.body, &mut out);
    out
}

impl Member {
    /// Arrays that are read at the position of the element.
    fn elements(&self) -> SmallVec<[Var; 2]> {
        match self {
            Member::Un(_, a) => SmallVec::from_slice(&[*a]),
            Member::Bin(_, a, b) => SmallVec::from_slice(&[*a, *b]),
            Member::ToRow { v, .. } | Member::ToSlice { v, .. } => SmallVec::from_slice(&[*v]),
            Member::Total { a, b } => std::iter::once(*a).chain(*b).collect(),
            Member::Fill { .. } | Member::Row { .. } | Member::Slice { .. } => SmallVec::new(),
        }
    }

    /// The array of which a row or slice is read.
    fn base(&self) -> Option<Var> {
        match self {
            Member::Row { a, .. } | Member::Slice { a, .. } => Some(*a),
            Member::Un(..)
            | Member::Bin(..)
            | Member::Fill { .. }
            | Member::ToRow { .. }
            | Member::ToSlice { .. }
            | Member::Total { .. } => None,
        }
    }

    /// The array that is updated.
    pub(super) fn changed(&self) -> Option<Var> {
        match self {
            Member::ToRow { acc, .. } | Member::ToSlice { acc, .. } => Some(*acc),
            Member::Un(..)
            | Member::Bin(..)
            | Member::Fill { .. }
            | Member::Row { .. }
            | Member::Slice { .. }
            | Member::Total { .. } => None,
        }
    }

    fn is_total(&self) -> bool {
        matches!(self, Member::Total { .. })
    }
}

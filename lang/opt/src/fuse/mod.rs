//! Loop fusion: loops over the same indices become one, so that intermediate results need no array.
//!
//! - `vertical`: another loop reads a map's result at its own index: map–map, and maps into loops with carried state. In
//!   native code, loops that carry numbers into each other, too.
//! - `soac`: a map's result is reduced, scanned, or combined by keys: map–reduce, map–scan, map–histogram.
//! - `horizontal`: two maps over the same arrays; in native code, two loops that carry numbers. `carried` simplifies those.
//! - `elementwise`: arithmetic on the arrays that maps make (in native code only). `subarrays`: slices of rows as maps.
//! - `accumulations`: loops that add what one map makes to arrays (in native code only).
//! - `sums`: a map's results are summed (on a device, and before differentiation). `branches`: two branches on one
//!   condition (on a device only).
//!
//! The results have the same bits. The order of additions in a sum may depend on how a loop is executed:
//! [`straight`] loops add entire arrays in chunks. Two loops are fused only if the fused loop is executed in the
//! same way. Fusion may change which of two errors is raised first. The runtime therefore answers any error by
//! evaluating the call again in the interpreter, which finds the first one.

mod accumulations;
mod block_edits;
mod branches;
mod carried;
mod elementwise;
mod horizontal;
mod soac;
mod subarrays;
mod sums;
mod vertical;

pub use block_edits::reads_of;
pub(crate) use block_edits::{definitions, may_move, moved_adjacent, readers, reads, rename_op};

use adl_ir::{Block, Function, Loop, Op, Out, Trip, Ty, Var};
use adl_prim::{GeneralFn, Prim};

/// The back end for which code is fused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum For {
    /// Any back end. Straight-line loops are not fused with loops that carry state, since a vectorising executor
    /// runs the former in a fraction of the latter's time.
    Any,
    /// Native code, where storing an element costs more than an iteration of a loop.
    Native,
    /// A device, which runs all iterations of a stateless loop in parallel, but not those of a loop with state.
    /// Reductions and scans are kept as operators, and sums are added in the device's own order.
    Device,
}

/// Fuses loops until no rule applies. Returns whether the function changed.
pub fn fuse(f: &mut Function, target: For) -> bool {
    let mut literals = accumulations::Literals::default();
    if target == For::Native {
        literals.add(&f.body);
    }
    let mut body = std::mem::take(&mut f.body);
    let changed = block(f, &mut body, target, &literals);
    f.body = body;
    changed
}

/// Lets loops add the numbers that they collect only for a sum, in a function that is differentiated. Returns whether the
/// function changed.
pub fn sums(f: &mut Function) -> bool {
    let mut body = std::mem::take(&mut f.body);
    let changed = sums::of_maps(f, &mut body);
    f.body = body;
    changed
}

fn block(func: &mut Function, body: &mut Block, target: For, literals: &accumulations::Literals) -> bool {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut changed = false;
        for s in &mut body.stmts {
            // The body of a stateless loop is one thread of a device, and a thread runs sequentially, like any
            // processor.
            let within = if target == For::Device && matches!(&s.op, Op::Loop(l) if l.init.is_empty()) {
                For::Any
            } else {
                target
            };
            s.op.blocks_mut().into_iter().for_each(|part| changed |= block(func, part, within, literals));
        }
        let operators = |f: &mut Function, b: &mut Block| {
            if target == For::Device { sums::of_threads(f, b) } else { soac::fuse_one(f, b, target) }
        };
        let branches = |b: &mut Block| target == For::Device && branches::fuse_one(b);
        while target == For::Native && accumulations::fuse_one(func, body, literals)
            || vertical::fuse_one(func, body, target)
            || operators(func, body)
            || horizontal::fuse_one(func, body, target)
            || branches(body)
            || target == For::Native && (elementwise::expand(func, body) || carried::simplify_one(func, body))
        {
            changed = true;
        }
        changed
    })
}

/// The loop of an operation if it is a map: its iterations are independent and it is not linear.
fn as_map<'a>(f: &Function, op: &'a Op) -> Option<&'a Loop> {
    match op {
        Op::Loop(l)
            if l.init.is_empty()
                && has_no_linear(f, op)
                && matches!(l.trip, Trip::Count(_))
                && !l.outs.contains(&Out::Boxed) =>
        {
            Some(l)
        }
        _ => None,
    }
}

/// Like [`as_map`], but the loop may also collect boxes.
fn as_boxing_map<'a>(f: &Function, op: &'a Op) -> Option<&'a Loop> {
    match op {
        Op::Loop(l) if l.init.is_empty() && has_no_linear(f, op) && matches!(l.trip, Trip::Count(_)) => Some(l),
        _ => None,
    }
}

/// Whether no linear variable occurs in an operation or its blocks.
fn has_no_linear(f: &Function, op: &Op) -> bool {
    let mut plain = true;
    op.each_operand(&mut |v| plain &= !f.linear(v));
    let inside = |b: &Block| {
        let own = b.lin_params.is_empty() && b.lin_results.is_empty();
        own && stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            b.stmts.iter().all(|s| s.lin_outs.is_empty() && has_no_linear(f, &s.op))
        })
    };
    plain && op.blocks().into_iter().all(inside)
}

/// Whether the iterations of a loop are independent straight-line code on numbers. Such a loop may be executed on
/// entire arrays, and its sums are then added like sums of arrays.
pub fn straight(func: &Function, l: &Loop) -> bool {
    let body = &l.body;
    let flat = |v: &Var| func.ty(*v).is_flat();
    matches!(l.trip, Trip::Count(_))
        && l.init.is_empty()
        && l.lin_init.is_empty()
        && l.lin_xs.is_empty()
        && l.lin_outs.is_empty()
        && !l.outs.is_empty()
        && l.outs.iter().zip(&body.results).all(|(o, r)| match o {
            Out::Sum => is_number(func, *r),
            Out::Collect => flat(r),
            Out::Boxed => false,
        })
        && body.stmts.iter().all(|s| s.outs.iter().all(flat) && s.lin_outs.is_empty() && simple(func, &s.op))
}

/// Like [`straight`], and the elements are numbers as well, so that the loop stays straight after fusion.
fn is_straight(f: &Function, l: &Loop) -> bool {
    straight(f, l) && l.body.params.iter().all(|v| f.ty(*v).is_flat())
}

fn is_number(f: &Function, v: Var) -> bool {
    matches!(f.ty(v), Ty::F64 | Ty::F32 | Ty::I64)
}

fn simple(f: &Function, op: &Op) -> bool {
    let flat = |v: &Var| f.ty(*v).is_flat();
    match op {
        Op::Lit(adl_ir::Lit::Str(_)) => false,
        Op::Lit(_) | Op::Not(_) => true,
        Op::Zero(t) => t.is_flat(),
        Op::Un(_, a) | Op::Convert(_, a) => flat(a),
        Op::Bin(_, a, b) | Op::Cmp(_, a, b) => is_number(f, *a) && is_number(f, *b),
        Op::Select(c, a, b) => [c, a, b].into_iter().all(flat),
        Op::Index { a, at, .. } => f.ty(*a).rank() == 1 && f.ty(*a).scalar().is_flat() && at.len() == 1,
        _ => false,
    }
}

/// Whether the iterations of a loop are independent code on numbers, branches allowed: the work of a thread on a
/// device.
pub(crate) fn is_thread(func: &Function, ir_loop: &Loop) -> bool {
    let flat = |v: &Var| func.ty(*v).is_flat();
    let state = !ir_loop.init.is_empty()
        || !ir_loop.lin_init.is_empty()
        || !ir_loop.lin_xs.is_empty()
        || !ir_loop.lin_outs.is_empty();
    let gives = ir_loop
        .outs
        .iter()
        .zip(&ir_loop.body.results)
        .all(|(o, r)| if *o == Out::Sum { is_number(func, *r) } else { *o == Out::Collect && flat(r) });
    matches!(ir_loop.trip, Trip::Count(_))
        && !state
        && !ir_loop.outs.is_empty()
        && gives
        && ir_loop.body.params.iter().all(flat)
        && on_numbers(func, &ir_loop.body)
}

fn on_numbers(f: &Function, b: &Block) -> bool {
    b.stmts.iter().all(|s| {
        let flat = s.lin_outs.is_empty() && s.outs.iter().all(|v| f.ty(*v).is_flat());
        flat && match &s.op {
            Op::If(_, x, y) => stacker::maybe_grow(64 * 1024, 1024 * 1024, || on_numbers(f, x) && on_numbers(f, y)),
            Op::Prim(p, _) => *p != Prim::General(GeneralFn::Assert) && !p.has_effect(),
            op => {
                op.blocks().is_empty()
                    && !matches!(op, Op::Call { .. } | Op::Sum { .. } | Op::SumAll { .. } | Op::Dot(..))
            }
        }
    })
}

/// Whether two loops may be fused without reordering a sum and without slowing either down.
fn may_fuse(f: &Function, a: &Loop, b: &Loop, target: For) -> bool {
    let both = is_straight(f, a) && is_straight(f, b) || target == For::Device && is_thread(f, a) && is_thread(f, b);
    let sums = a.outs.contains(&Out::Sum) || b.outs.contains(&Out::Sum);
    let alike = target == For::Native || straight(f, a) == straight(f, b);
    let neither = !straight(f, a) && !straight(f, b);
    both || neither || (!sums && alike)
}

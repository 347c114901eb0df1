//! Fusion: loops over the same indices become one, so that what one makes for the other is never an array.
//!
//! - [`vertical`]: a map's result is read by another loop, at the turn's own index: map–map, and maps into loops that carry.
//! - [`soac`]: a map's result is reduced, scanned, or counted by keys: map–reduce, map–scan, map–histogram.
//! - [`horizontal`]: two maps over the same arrays.
//! - [`sums`]: a map's results are added up, on a device. [`branches`]: two branches by one condition, there too.
//!
//! Results are the same bits. Where a sum's order of additions depends on how a loop is run ([`straight`] loops add whole arrays, in
//! chunks), the fused loop is run in the same way, or there is none. An error of the one loop may be met before an error of the other;
//! the runtime answers any error by evaluating in the ordinary way, which finds the first.

mod branches;
mod horizontal;
mod parts;
mod soac;
mod sums;
mod vertical;

pub use parts::reads_of;
pub(crate) use parts::{brought, may_move, reads, rename_op};

use adl_ir::{Block, Function, Loop, Op, Out, Turns, Ty, Var};
use adl_prim::Prim;

/// For whom code is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum For {
    /// For any back end: straight-line loops stay apart from loops that carry, since one that runs whole arrays at once runs the former
    /// in a fraction of the latter's time.
    Any,
    /// For native code, in which an element that is stored costs more than a loop's turn.
    Native,
    /// For a device, which does all turns of a loop without state at once, but not those of one that carries: operators stay operators, and sums are
    /// added in an order of its own.
    Device,
}

/// Fuses what can be fused; whether there was anything.
pub fn fuse(f: &mut Function, target: For) -> bool {
    let mut body = std::mem::take(&mut f.body);
    let changed = block(f, &mut body, target);
    f.body = body;
    changed
}

fn block(f: &mut Function, b: &mut Block, target: For) -> bool {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut changed = false;
        for s in &mut b.stmts {
            // A thread of a device does as any processor does.
            let within = if target == For::Device && matches!(&s.op, Op::Loop(l) if l.init.is_empty()) { For::Any } else { target };
            s.op.blocks_mut().into_iter().for_each(|part| changed |= block(f, part, within));
        }
        let operators = |f: &mut Function, b: &mut Block| if target == For::Device { sums::step(f, b) } else { soac::step(f, b, target) };
        let branches = |b: &mut Block| target == For::Device && branches::step(b);
        while vertical::step(f, b, target) || operators(f, b) || horizontal::step(f, b, target) || branches(b) {
            changed = true;
        }
        changed
    })
}

/// A loop whose turns are independent and non-linear: a map.
fn as_map<'a>(f: &Function, op: &'a Op) -> Option<&'a Loop> {
    match op {
        Op::Loop(l) if l.init.is_empty() && is_plain(f, op) && matches!(l.turns, Turns::For(_)) && !l.outs.contains(&Out::Boxed) => Some(l),
        _ => None,
    }
}

/// The same, or one that makes boxes.
fn makes<'a>(f: &Function, op: &'a Op) -> Option<&'a Loop> {
    match op {
        Op::Loop(l) if l.init.is_empty() && is_plain(f, op) && matches!(l.turns, Turns::For(_)) => Some(l),
        _ => None,
    }
}

/// Whether nothing linear takes part in an operation, in its blocks either.
fn is_plain(f: &Function, op: &Op) -> bool {
    let mut plain = true;
    op.each_operand(&mut |v| plain &= !f.linear(v));
    let inside = |b: &Block| {
        let own = b.lin_params.is_empty() && b.lin_results.is_empty();
        own && stacker::maybe_grow(64 * 1024, 1024 * 1024, || b.stmts.iter().all(|s| s.lin_outs.is_empty() && is_plain(f, &s.op)))
    };
    plain && op.blocks().into_iter().all(inside)
}

/// Whether the turns of a loop are independent straight-line code on numbers: such a loop may be run on whole arrays, and its sums are
/// sums of whole arrays.
pub fn straight(f: &Function, l: &Loop) -> bool {
    let b = &l.body;
    let flat = |v: &Var| f.ty(*v).is_flat();
    matches!(l.turns, Turns::For(_))
        && l.init.is_empty()
        && l.lin_init.is_empty()
        && l.lin_xs.is_empty()
        && l.lin_outs.is_empty()
        && !l.outs.is_empty()
        && l.outs.iter().zip(&b.results).all(|(o, r)| match o {
            Out::Sum => is_number(f, *r),
            Out::Collect => flat(r),
            Out::Boxed => false,
        })
        && b.stmts.iter().all(|s| s.outs.iter().all(flat) && s.lin_outs.is_empty() && simple(f, &s.op))
}

/// The same, with elements that are numbers too: whatever is fused with it stays so.
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

/// Whether the turns of a loop are independent code on numbers, with branches: a thread's work on a device.
pub(crate) fn is_thread(f: &Function, l: &Loop) -> bool {
    let flat = |v: &Var| f.ty(*v).is_flat();
    let state = !l.init.is_empty() || !l.lin_init.is_empty() || !l.lin_xs.is_empty() || !l.lin_outs.is_empty();
    let gives = l.outs.iter().zip(&l.body.results).all(|(o, r)| if *o == Out::Sum { is_number(f, *r) } else { *o == Out::Collect && flat(r) });
    matches!(l.turns, Turns::For(_)) && !state && !l.outs.is_empty() && gives && l.body.params.iter().all(flat) && on_numbers(f, &l.body)
}

fn on_numbers(f: &Function, b: &Block) -> bool {
    b.stmts.iter().all(|s| {
        let flat = s.lin_outs.is_empty() && s.outs.iter().all(|v| f.ty(*v).is_flat());
        flat && match &s.op {
            Op::If(_, x, y) => stacker::maybe_grow(64 * 1024, 1024 * 1024, || on_numbers(f, x) && on_numbers(f, y)),
            Op::Prim(p, _) => *p != Prim::Assert,
            op => op.blocks().is_empty() && !matches!(op, Op::Call { .. } | Op::Sum { .. } | Op::Total { .. } | Op::Dot(..)),
        }
    })
}

/// Whether two loops may become one without a sum in another order, and without slowing either.
fn suit(f: &Function, a: &Loop, b: &Loop, target: For) -> bool {
    let both = is_straight(f, a) && is_straight(f, b) || target == For::Device && is_thread(f, a) && is_thread(f, b);
    let sums = a.outs.contains(&Out::Sum) || b.outs.contains(&Out::Sum);
    let alike = target == For::Native || straight(f, a) == straight(f, b);
    let neither = !straight(f, a) && !straight(f, b);
    both || neither || (!sums && alike)
}

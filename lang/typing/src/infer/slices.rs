//! Indices and slices: positions counted from the end, and steps.
//!
//! A literal `-k` denotes the extent minus `k`. A slice with a step is a comprehension over every `s`-th element of the
//! plain slice between its ends. So bounds are checked, and derivatives computed, as for any slice.

use super::apply::strip;
use super::masks::IndexArgKind;
use super::{Infer, array, mk, pending};
use crate::core::{self, CoreLit, Expr, ExprKind, Extent, ForKind, IndexArg, Local};
use crate::errors::reason::Reason;
use crate::errors::sizes;
use crate::ty::{Size, Ty};
use adl_prim::{ArrayFn, Bin, Cmp, GeneralFn, Prim, Un};
use adl_syntax::ast;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;

/// An argument of an index.
pub(super) enum IndexPart {
    At(Expr),
    /// The plain slice, to whose elements the step is applied.
    Slice {
        lo: Option<Expr>,
        hi: Option<Expr>,
        size: Size,
        step: SliceStep,
        span: Span,
    },
}

/// The step of a slice.
#[derive(Clone, Copy)]
pub(super) enum SliceStep {
    One,
    Known(i64),
    /// The local that holds it.
    Run(Local),
}

/// An index, or one end of a slice.
#[derive(Clone)]
enum SliceEnd {
    /// A missing end of a slice.
    Open,
    /// A literal, counted from the front.
    Front(u64),
    /// A literal, counted from the end.
    Back(u64),
    Run(Expr),
}

/// An axis that is being indexed.
struct IndexedAxis<'a> {
    base: &'a Expr,
    number: u32,
    size: Size,
    span: Span,
    /// The span that sizes originate from.
    whole: Span,
}

/// Bindings to be made before an expression.
pub(super) type LetBindings = Vec<(Local, Expr)>;

/// Whether an argument has a direct counterpart in Core.
fn is_plain(arg: &ast::IndexArg) -> bool {
    let stepped = matches!(arg, ast::IndexArg::Slice(s) if s.step.is_some());
    !stepped && arg.parts().all(|e| from_end(e).is_none())
}

/// The `k` of a literal `-k`.
pub(super) fn from_end(e: &ast::Expr) -> Option<u64> {
    let magnitude = |n: i64| Some(n.unsigned_abs()).filter(|k| *k > 0);
    match &strip(e).kind {
        ast::ExprKind::Neg(n) => match strip(n).kind {
            ast::ExprKind::Lit(ast::Lit::Int(n)) => magnitude(n),
            _ => None,
        },
        ast::ExprKind::Lit(ast::Lit::Int(n)) if *n < 0 => magnitude(*n),
        _ => None,
    }
}

/// The value of an Int literal.
fn literal(e: &ast::Expr) -> Option<i64> {
    match (&strip(e).kind, from_end(e)) {
        (_, Some(k)) => i64::try_from(k).ok().map(|k| -k),
        (ast::ExprKind::Lit(ast::Lit::Int(n)), _) => Some(*n),
        _ => None,
    }
}

/// Whether an expression is free to evaluate again.
pub(super) fn is_name(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Local(_) | ExprKind::Global(_) => true,
        ExprKind::Field(a, _) | ExprKind::Item(a, _) => is_name(a),
        _ => false,
    }
}

pub(super) fn int(n: i64, span: Span) -> Expr {
    mk(ExprKind::Lit(CoreLit::Int(n)), Ty::Int, span)
}

/// A primitive from Ints to an Int.
pub(super) fn whole(p: Prim, args: Vec<Expr>, span: Span) -> Expr {
    prim(p, args, Ty::Int, span)
}

pub(super) fn prim(p: Prim, args: Vec<Expr>, ty: Ty, span: Span) -> Expr {
    mk(ExprKind::App(mk(ExprKind::Prim(p, Vec::new()), Ty::Unit, span), args), ty, span)
}

/// The extent of an axis.
pub(super) fn extent(base: &Expr, axis: u32, span: Span) -> Expr {
    if axis == 0 {
        return whole(Prim::Array(ArrayFn::Len), vec![base.clone()], span);
    }
    let shape = mk(ExprKind::Prim(Prim::Array(ArrayFn::Shape), vec![pending(&base.ty)]), Ty::Unit, span);
    let shape = mk(ExprKind::App(shape, vec![base.clone()]), array(Size::Unknown, Ty::Int), span);
    mk(ExprKind::Index(shape, vec![IndexArg::At(int(i64::from(axis), span))]), Ty::Int, span)
}

/// `e` inside the bindings `lets`.
pub(super) fn after(lets: LetBindings, e: Expr) -> Expr {
    lets.into_iter().rev().fold(e, |e, (local, value)| {
        let (ty, span) = (e.ty.clone(), e.span);
        mk(ExprKind::Let(local, None, value, e), ty, span)
    })
}

/// The size of every `s`-th element of `size` ones.
fn every(size: Size, s: u64, span: Span) -> Size {
    match size {
        Size::Const(n, _) => Size::from(n.div_ceil(s), span),
        _ => Size::Unknown,
    }
}

impl IndexedAxis<'_> {
    fn at(&self, end: SliceEnd) -> Option<Expr> {
        match end {
            SliceEnd::Open => None,
            SliceEnd::Front(k) => Some(int(i64::try_from(k).unwrap_or(i64::MAX), self.span)),
            SliceEnd::Back(k) => {
                let k = int(i64::try_from(k).unwrap_or(i64::MAX), self.span);
                Some(whole(Prim::Bin(Bin::Sub), vec![extent(self.base, self.number, self.span), k], self.span))
            }
            SliceEnd::Run(e) => Some(e),
        }
    }

    /// The size of `lo:hi`.
    fn between(&self, lo: &SliceEnd, hi: &SliceEnd) -> Size {
        let known = |end: &SliceEnd, open: Option<u64>| match (end, self.size) {
            (SliceEnd::Open, _) => open,
            (SliceEnd::Front(k), _) => Some(*k),
            (SliceEnd::Back(k), Size::Const(n, _)) => n.checked_sub(*k),
            _ => None,
        };
        let extent = if let Size::Const(n, _) = self.size { Some(n) } else { None };
        match (lo, hi) {
            (SliceEnd::Open | SliceEnd::Front(0), SliceEnd::Open) => self.size,
            // The distance of two positions before the end does not depend on the extent.
            (SliceEnd::Back(a), SliceEnd::Open) => Size::from(*a, self.whole),
            (SliceEnd::Back(a), SliceEnd::Back(b)) if a >= b => Size::from(a - b, self.whole),
            _ => match (known(lo, Some(0)), known(hi, extent)) {
                (Some(a), Some(b)) if a <= b => Size::from(b - a, self.whole),
                _ => Size::Unknown,
            },
        }
    }
}

impl Infer<'_> {
    /// An array that may be used several times; bound to a local unless it is a name.
    pub(super) fn named(&mut self, e: Expr, lets: &mut LetBindings) -> Expr {
        if is_name(&e) {
            return e;
        }
        let (local, ty, span) = (self.local(), e.ty.clone(), e.span);
        lets.push((local, e));
        mk(ExprKind::Local(local), ty, span)
    }

    /// `base[args]`, where `axes` are the sizes of the indexed axes, and `ty` is the type under them.
    pub(super) fn take_part(
        &mut self,
        base: Expr,
        (args, given): (&[ast::IndexArg], Vec<Option<IndexArgKind>>),
        axes: &[Size],
        mut ty: Ty,
        span: Span,
    ) -> Expr {
        let mut lets = Vec::new();
        let base = if args.iter().all(is_plain) { base } else { self.named(base, &mut lets) };
        let (mut out, mut sizes, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        for part in self.parts(&base, (args, given), axes, &mut lets, span) {
            match part {
                IndexPart::At(i) => out.push(IndexArg::At(i)),
                IndexPart::Slice { lo, hi, size, step, span } => {
                    out.push(IndexArg::Slice(lo, hi));
                    sizes.push(size);
                    steps.push((step, span));
                }
            }
        }
        ty = sizes.iter().rev().fold(ty, |t, n| array(*n, t));
        let part = mk(ExprKind::Index(base, out), ty, span);
        let part = self.stepped(part, &steps, &mut lets, span);
        after(lets, part)
    }

    /// Infers each argument of an index. `base` is evaluated for extents that positions are counted from.
    pub(super) fn parts(
        &mut self,
        base: &Expr,
        (args, given): (&[ast::IndexArg], Vec<Option<IndexArgKind>>),
        axes: &[Size],
        lets: &mut LetBindings,
        whole: Span,
    ) -> Vec<IndexPart> {
        let mut out = Vec::new();
        let given = given.into_iter().chain(std::iter::repeat_with(|| None));
        for (number, ((arg, size), given)) in args.iter().zip(axes).zip(given).enumerate() {
            let (number, size) = (number as u32, self.resolve_size(*size));
            match arg {
                ast::IndexArg::At(i) if matches!(given, Some(IndexArgKind::Mask)) => {
                    out.push(IndexPart::Slice {
                        lo: None,
                        hi: None,
                        size: Size::Unknown,
                        step: SliceStep::One,
                        span: i.span,
                    });
                }
                ast::IndexArg::At(i) => {
                    let axis = IndexedAxis { base, number, size, span: i.span, whole };
                    let end = match given {
                        Some(IndexArgKind::At(e)) => SliceEnd::Run(e),
                        _ => self.end(Some(i), &axis),
                    };
                    out.extend(axis.at(end).map(IndexPart::At));
                }
                ast::IndexArg::Slice(slice) => {
                    let span = slice.parts().last().map_or(whole, |e| e.span);
                    let (lo, hi, size, step) = self.ends(slice, &IndexedAxis { base, number, size, span, whole }, lets);
                    out.push(IndexPart::Slice { lo, hi, size, step, span });
                }
            }
        }
        out
    }

    /// An index or one end of a slice.
    fn end(&mut self, e: Option<&ast::Expr>, axis: &IndexedAxis) -> SliceEnd {
        let Some(e) = e else { return SliceEnd::Open };
        match (literal(e), axis.size) {
            (Some(n), Size::Const(extent, _)) if n < 0 && n.unsigned_abs() > extent => {
                self.report(sizes::before_the_first(e.span, n, extent));
                SliceEnd::Front(0)
            }
            (Some(n), _) if n < 0 => SliceEnd::Back(n.unsigned_abs()),
            (Some(n), _) => SliceEnd::Front(n.unsigned_abs()),
            _ => SliceEnd::Run(self.check(e, &Ty::Int, &Reason::new("an index"))),
        }
    }

    /// The ends of the plain slice, its size, and the step.
    fn ends(
        &mut self,
        slice: &ast::Slice,
        axis: &IndexedAxis,
        lets: &mut LetBindings,
    ) -> (Option<Expr>, Option<Expr>, Size, SliceStep) {
        let (from, to) = (self.end(slice.from.as_ref(), axis), self.end(slice.to.as_ref(), axis));
        let step = match &slice.step {
            None => SliceStep::One,
            Some(s) => match literal(s) {
                Some(0) => {
                    self.report(sizes::no_step(s.span));
                    SliceStep::One
                }
                Some(1) => SliceStep::One,
                Some(k) => SliceStep::Known(k),
                None => {
                    let s = self.check(s, &Ty::Int, &Reason::new("the step of a slice"));
                    SliceStep::Run(self.checked_step(s, lets))
                }
            },
        };
        let (lo, hi) = match step {
            SliceStep::Known(s) if s < 0 => (self.behind(to, axis), self.behind(from, axis)),
            SliceStep::Run(s) => return self.turned(s, from, to, axis, lets),
            _ => (from, to),
        };
        let size = axis.between(&lo, &hi);
        (axis.at(lo), axis.at(hi), size, step)
    }

    /// The position after one.
    fn behind(&mut self, end: SliceEnd, axis: &IndexedAxis) -> SliceEnd {
        match end {
            SliceEnd::Open => SliceEnd::Open,
            SliceEnd::Front(k) => SliceEnd::Front(k.saturating_add(1)),
            SliceEnd::Back(1) => SliceEnd::Open,
            SliceEnd::Back(k) => SliceEnd::Back(k - 1),
            SliceEnd::Run(e) => SliceEnd::Run(whole(Prim::Bin(Bin::Add), vec![e, int(1, axis.span)], axis.span)),
        }
    }

    /// A computed step; checks that it is not 0.
    fn checked_step(&mut self, step: Expr, lets: &mut LetBindings) -> Local {
        let (span, given, local) = (step.span, self.local(), self.local());
        lets.push((given, step));
        let given = mk(ExprKind::Local(given), Ty::Int, span);
        let zero = prim(Prim::Compare(Cmp::Eq), vec![given.clone(), int(0, span)], Ty::Bool, span);
        let text = mk(ExprKind::Lit(CoreLit::Str("the step of a slice is 0".into())), Ty::Str, span);
        let fails = prim(Prim::General(GeneralFn::Error), vec![text], Ty::Int, span);
        lets.push((local, mk(ExprKind::If(zero, fails, given), Ty::Int, span)));
        local
    }

    /// The ends of a slice whose step has a sign that is known only at run time.
    fn turned(
        &mut self,
        step: Local,
        from: SliceEnd,
        to: SliceEnd,
        axis: &IndexedAxis,
        lets: &mut LetBindings,
    ) -> (Option<Expr>, Option<Expr>, Size, SliceStep) {
        let span = axis.span;
        let mut hold = |me: &mut Self, end: SliceEnd| match end {
            SliceEnd::Run(e) => SliceEnd::Run(me.named(e, lets)),
            end => end,
        };
        let (from, to) = (hold(self, from), hold(self, to));
        let forwards = |yes: Expr, no: Expr| mk(ExprKind::If(positive(step, span), yes, no), Ty::Int, span);
        let (last, first) = (self.behind(from.clone(), axis), self.behind(to.clone(), axis));
        let length = || extent(axis.base, axis.number, span);
        let open = matches!((&from, &to), (SliceEnd::Open, SliceEnd::Open));
        let lo =
            forwards(axis.at(from).unwrap_or_else(|| int(0, span)), axis.at(first).unwrap_or_else(|| int(0, span)));
        let hi = forwards(axis.at(to).unwrap_or_else(length), axis.at(last).unwrap_or_else(length));
        let (lo, hi) = if open { (None, None) } else { (Some(lo), Some(hi)) };
        (lo, hi, Size::Unknown, SliceStep::Run(step))
    }

    /// Takes every `s`-th element along the axes that have steps.
    fn stepped(&mut self, part: Expr, steps: &[(SliceStep, Span)], lets: &mut LetBindings, span: Span) -> Expr {
        let Some(last) = steps.iter().rposition(|(s, _)| !matches!(s, SliceStep::One)) else { return part };
        if let (0, SliceStep::Known(-1)) = (last, steps[0].0) {
            let ty = part.ty.clone();
            return prim(Prim::Array(ArrayFn::Reverse), vec![part], ty, span);
        }
        let part = self.named(part, lets);
        let (mut elem_ty, mut sizes, mut vars, mut at) = (part.ty.clone(), Vec::new(), Vec::new(), Vec::new());
        for (axis, (step, at_step)) in steps[..=last].iter().enumerate() {
            let Ty::Array(n, e) = self.resolve(&elem_ty) else { break };
            elem_ty = (*e).clone();
            let (index, count) = (self.local(), extent(&part, axis as u32, *at_step));
            let i = mk(ExprKind::Local(index), Ty::Int, *at_step);
            let (count, i) = self.step(*step, count, i, *at_step, lets);
            sizes.push(taken(*step, n, span));
            vars.push((index, Symbol::new("i"), Extent::Bound(count)));
            at.push(IndexArg::At(i));
        }
        let elem = mk(ExprKind::Index(part, at), elem_ty.clone(), span);
        let ty = sizes.into_iter().rev().fold(elem_ty.clone(), |t, n| array(n, t));
        mk(ExprKind::For(ForKind::Build, vars, elem, pending(&elem_ty)), ty, span)
    }
}

impl Infer<'_> {
    /// The number of elements that a step selects from `count`, and the position of the `i`-th one.
    pub(super) fn step(
        &mut self,
        step: SliceStep,
        count: Expr,
        i: Expr,
        span: Span,
        lets: &mut LetBindings,
    ) -> (Expr, Expr) {
        match step {
            SliceStep::One => (count, i),
            SliceStep::Known(s) => known_step(s, count, i, span),
            SliceStep::Run(s) => {
                let count = self.named(count, lets);
                run_step(s, count, i, span)
            }
        }
    }
}

/// The size of a stepped slice.
pub(super) fn taken(step: SliceStep, size: Size, span: Span) -> Size {
    match step {
        SliceStep::One => size,
        SliceStep::Known(s) => every(size, s.unsigned_abs(), span),
        SliceStep::Run(_) => Size::Unknown,
    }
}

/// `s > 0`.
fn positive(step: Local, span: Span) -> Expr {
    let step: core::Expr = mk(ExprKind::Local(step), Ty::Int, span);
    prim(Prim::Compare(Cmp::Gt), vec![step, int(0, span)], Ty::Bool, span)
}

fn known_step(s: i64, count: Expr, i: Expr, span: Span) -> (Expr, Expr) {
    let width = s.unsigned_abs();
    let scaled = if s == -1 {
        i
    } else {
        whole(Prim::Bin(Bin::Mul), vec![int(i64::try_from(width).unwrap_or(i64::MAX), span), i], span)
    };
    let from = if s > 0 {
        scaled
    } else {
        whole(
            Prim::Bin(Bin::Sub),
            vec![whole(Prim::Bin(Bin::Sub), vec![count.clone(), int(1, span)], span), scaled],
            span,
        )
    };
    let taken = match i64::try_from(width) {
        Ok(1) => count,
        Ok(w) => whole(
            Prim::Bin(Bin::IntDiv),
            vec![whole(Prim::Bin(Bin::Add), vec![count, int(w - 1, span)], span), int(w, span)],
            span,
        ),
        Err(_) => whole(Prim::Bin(Bin::Min), vec![count, int(1, span)], span),
    };
    (taken, from)
}

/// Like `step` for a computed step.
fn run_step(step: Local, count: Expr, expr: Expr, span: Span) -> (Expr, Expr) {
    let stride = || mk(ExprKind::Local(step), Ty::Int, span);
    let width = || whole(Prim::Un(Un::Abs), vec![stride()], span);
    let start = mk(
        ExprKind::If(
            positive(step, span),
            int(0, span),
            whole(Prim::Bin(Bin::Sub), vec![count.clone(), int(1, span)], span),
        ),
        Ty::Int,
        span,
    );
    let place = whole(Prim::Bin(Bin::Add), vec![start, whole(Prim::Bin(Bin::Mul), vec![stride(), expr], span)], span);
    let sum =
        whole(Prim::Bin(Bin::Sub), vec![whole(Prim::Bin(Bin::Add), vec![count, width()], span), int(1, span)], span);
    (whole(Prim::Bin(Bin::IntDiv), vec![sum, width()], span), place)
}

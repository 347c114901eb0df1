//! Updates of elements and slices, and of fields on the way to them: `{p with w[i, j] = v}`.
//!
//! The targets, their indices and the new values are evaluated first. Then the values are stored one after the other,
//! so that an array without other readers is updated in place. `__put` stores an element or row, `scatter` elements
//! along one axis, and loops all others.

use super::ops::Head;
use super::slices::{IndexPart, LetBindings, SliceStep, after, extent, int, prim, taken, whole};
use super::{Infer, array, mk, pending};
use crate::core::{Expr, ExprKind, Extent, ForKind, IndexArg, Local, LoopKind, SizeAt, SizeRep, Sizes};
use crate::errors::reason::Reason;
use crate::errors::sizes;
use crate::ty::{Size, Ty};
use adl_prim::{ArrayFn, Bin, Prim};
use adl_syntax::ast;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;

/// A step on the path to the target, with the type of the value it starts from.
enum UpdateStep {
    Field(Symbol, Ty),
    At(Vec<UpdatePlace>, Ty),
}

/// The part of one axis that an update names.
#[derive(Clone)]
enum UpdatePlace {
    One(Expr),
    Range(Range),
}

/// The elements that a slice names.
#[derive(Clone)]
struct Range {
    /// The length of the plain slice, and the number of elements that its step selects.
    length: Expr,
    count: Expr,
    lo: Option<Expr>,
    step: SliceStep,
    size: Size,
    /// It is the whole axis.
    full: bool,
    span: Span,
}

/// One update with all parts evaluated.
struct ResolvedUpdate {
    way: Vec<UpdateStep>,
    value: Expr,
    /// The value is a number that fills every position.
    spread: bool,
}

impl Infer<'_> {
    /// `{r with place = e, ...}`.
    pub(super) fn update(&mut self, r: &ast::Expr, changes: &[ast::Change], want: Option<&Ty>, span: Span) -> Expr {
        let fields: Option<Vec<(ast::Ident, ast::Expr)>> =
            changes.iter().map(|c| c.field().map(|name| (name, c.value.clone()))).collect();
        if let Some(fields) = fields {
            return self.update_fields(r, &fields, want, span);
        }
        let mut lets = LetBindings::new();
        let base = self.infer(r, want);
        self.solve_ops();
        let base = self.named(base, &mut lets);
        let found: Vec<ResolvedUpdate> = changes.iter().map(|c| self.find(&base, c, r.span, &mut lets)).collect();
        let mut now = base;
        for change in found {
            now = self.named(now, &mut lets);
            now = self.changed(now, &change.way, &change, span, &mut lets);
        }
        after(lets, now)
    }

    fn find(&mut self, base: &Expr, change: &ast::Change, record: Span, lets: &mut LetBindings) -> ResolvedUpdate {
        let (mut read, mut way, mut at) = (base.clone(), Vec::new(), record);
        for (k, place) in change.place.iter().enumerate() {
            match place {
                ast::PathStep::Field(name) => {
                    read = self.field_of_value(read, *name, at, name.span);
                    way.push(UpdateStep::Field(name.name, read.ty.clone()));
                    at = name.span;
                }
                ast::PathStep::At(args, span) => {
                    let last = k + 1 == change.place.len();
                    let (axes, below) = self.indexed_axes(&read, args.len(), at);
                    let parts = self.parts(&read, (args, Vec::new()), &axes, lets, *span);
                    if let (false, Some(ast::IndexArg::Slice(_))) =
                        (last, args.iter().find(|a| matches!(a, ast::IndexArg::Slice(_))))
                    {
                        self.report(sizes::slice_inside(*span));
                        read = self.error_expr(*span);
                        break;
                    }
                    let places: Vec<UpdatePlace> = parts
                        .into_iter()
                        .enumerate()
                        .map(|(axis, p)| self.place(&read, axis as u32, p, lets))
                        .collect();
                    let ranges =
                        places.iter().filter_map(|p| if let UpdatePlace::Range(r) = p { Some(r.size) } else { None });
                    let ty = ranges.rev().fold(below, |t, n| array(n, t));
                    let index = places
                        .iter()
                        .filter_map(|p| if let UpdatePlace::One(i) = p { Some(IndexArg::At(i.clone())) } else { None })
                        .collect();
                    read = mk(ExprKind::Index(read, index), ty.clone(), *span);
                    way.push(UpdateStep::At(places, ty));
                    at = *span;
                }
            }
        }
        self.valued(change, way, &read.ty, at, lets)
    }

    /// Infers the new value for a target of type `target`.
    fn valued(
        &mut self,
        change: &ast::Change,
        mut way: Vec<UpdateStep>,
        target: &Ty,
        at: Span,
        lets: &mut LetBindings,
    ) -> ResolvedUpdate {
        let value = self.infer(&change.value, Some(target));
        self.solve_ops();
        let one = match self.resolve(&value.ty) {
            Ty::Array(..) => false,
            t => !matches!(self.head(&t), Head::Unknown),
        };
        let spread = one && self.head(target) == Head::Array;
        let wanted = if spread { self.bottom(target) } else { target.clone() };
        let why = Reason::is("the new value", at, "what it replaces", target);
        self.expect(&wanted, &value.ty.clone(), change.value.span, &why);
        let mut value = self.held(value, lets);
        if let Some(UpdateStep::At(places, _)) = way.last_mut()
            && !spread
        {
            value = self.fitting(value, places, at, lets);
        }
        ResolvedUpdate { way, value, spread }
    }

    /// Evaluates the part of an axis that an update names.
    fn place(&mut self, read: &Expr, axis: u32, part: IndexPart, lets: &mut LetBindings) -> UpdatePlace {
        let (lo, hi, size, step, span) = match part {
            IndexPart::At(i) => return UpdatePlace::One(self.held(i, lets)),
            IndexPart::Slice { lo, hi, size, step, span } => (lo, hi, size, step, span),
        };
        let lo = lo.map(|e| self.held(e, lets));
        let full = lo.is_none() && hi.is_none() && matches!(step, SliceStep::One);
        let mut length = extent(read, axis, span);
        if lo.is_some() || hi.is_some() {
            // Slicing the positions reports errors as slicing the array would.
            let places = prim(Prim::Array(ArrayFn::Iota), vec![length], array(Size::Unknown, Ty::Int), span);
            let slice =
                mk(ExprKind::Index(places, vec![IndexArg::Slice(lo.clone(), hi)]), array(Size::Unknown, Ty::Int), span);
            length = whole(Prim::Array(ArrayFn::Len), vec![slice], span);
        }
        let length = self.held(length, lets);
        let (count, _) = self.step(step, length.clone(), int(0, span), span, lets);
        let count = self.held(count, lets);
        UpdatePlace::Range(Range { length, count, lo, step, size: taken(step, size, span), full, span })
    }

    /// A name or literal with the value of `e`, bound if necessary.
    pub(super) fn held(&mut self, e: Expr, lets: &mut LetBindings) -> Expr {
        if matches!(*e.kind, ExprKind::Lit(_) | ExprKind::IntAt(..) | ExprKind::FloatAt(..)) {
            e
        } else {
            self.named(e, lets)
        }
    }

    fn local_of(&mut self, e: &Expr, lets: &mut LetBindings) -> Local {
        if let ExprKind::Local(l) = &*e.kind {
            return *l;
        }
        let local = self.local();
        lets.push((local, e.clone()));
        local
    }

    /// Checks the sizes of a value against those of the slices it replaces, unless the types show that they are equal.
    fn fitting(&mut self, value: Expr, places: &[UpdatePlace], at: Span, lets: &mut LetBindings) -> Expr {
        let (mut t, mut checks) = (value.ty.clone(), Vec::new());
        let from = self.local_of(&value, lets);
        let ranges = places.iter().filter_map(|p| if let UpdatePlace::Range(r) = p { Some(r) } else { None });
        for (axis, range) in ranges.enumerate() {
            let Ty::Array(n, e) = self.resolve(&t) else { break };
            t = (*e).clone();
            let known = |s: Size| matches!(s, Size::Const(..));
            if known(self.resolve_size(n)) && known(self.resolve_size(range.size)) {
                continue;
            }
            let count = self.local_of(&range.count, lets);
            checks.push((
                SizeAt { from, path: Vec::new(), axis: axis as u32, span: at },
                SizeRep::Local(count),
                String::new(),
            ));
        }
        let (ty, span) = (value.ty.clone(), value.span);
        let value = mk(ExprKind::Local(from), ty.clone(), span);
        if checks.is_empty() {
            return value;
        }
        let checked = mk(ExprKind::Sizes(Sizes { binds: Vec::new(), checks }, value), ty, span);
        self.named(checked, lets)
    }

    /// `now` with the value stored at its target.
    fn changed(
        &mut self,
        now: Expr,
        way: &[UpdateStep],
        change: &ResolvedUpdate,
        span: Span,
        lets: &mut LetBindings,
    ) -> Expr {
        match way {
            [] => change.value.clone(),
            [UpdateStep::Field(name, ty), rest @ ..] => {
                let now = self.named(now, lets);
                let old = mk(ExprKind::Field(now.clone(), *name), ty.clone(), span);
                let new = self.changed(old, rest, change, span, lets);
                let ty = now.ty.clone();
                mk(ExprKind::Update(now, vec![(*name, new)]), ty, span)
            }
            [UpdateStep::At(places, _)] => self.filled(now, places, change, span, lets),
            [UpdateStep::At(places, ty), rest @ ..] => {
                let now = self.named(now, lets);
                let at: Vec<Expr> = places
                    .iter()
                    .filter_map(|p| if let UpdatePlace::One(i) = p { Some(i.clone()) } else { None })
                    .collect();
                let index = at.iter().map(|i| IndexArg::At(i.clone())).collect();
                let old = mk(ExprKind::Index(now.clone(), index), ty.clone(), span);
                let new = self.changed(old, rest, change, span, lets);
                put(now, at, new, span)
            }
        }
    }

    /// An array with elements replaced.
    fn filled(
        &mut self,
        now: Expr,
        places: &[UpdatePlace],
        change: &ResolvedUpdate,
        span: Span,
        lets: &mut LetBindings,
    ) -> Expr {
        let mut places = places.to_vec();
        if change.spread {
            self.add_inner_axes(&now, &mut places, span, lets);
        } else {
            while matches!(places.last(), Some(UpdatePlace::Range(r)) if r.full) {
                places.pop();
            }
        }
        match places.as_slice() {
            // The whole array is replaced.
            [] => change.value.clone(),
            [UpdatePlace::Range(range)] => {
                let k = self.local();
                let at = self.place_of(range, mk(ExprKind::Local(k), Ty::Int, range.span), lets);
                let bound = vec![(k, Symbol::new("i"), Extent::Bound(range.count.clone()))];
                let at =
                    mk(ExprKind::For(ForKind::Build, bound, at, pending(&Ty::Int)), array(range.size, Ty::Int), span);
                let values = match change.spread {
                    true => prim(
                        Prim::Array(ArrayFn::Replicate),
                        vec![range.count.clone(), change.value.clone()],
                        array(range.size, change.value.ty.clone()),
                        span,
                    ),
                    false => change.value.clone(),
                };
                let ty = now.ty.clone();
                prim(Prim::Array(ArrayFn::Scatter), vec![now, at, values], ty, span)
            }
            places => self.nested(now, places, change, (Vec::new(), Vec::new()), span, lets),
        }
    }

    /// A scalar value also fills the axes that the update does not name.
    fn add_inner_axes(&mut self, now: &Expr, places: &mut Vec<UpdatePlace>, span: Span, lets: &mut LetBindings) {
        let mut ty = now.ty.clone();
        let mut axis = 0;
        while let Ty::Array(size, elem) = self.resolve(&ty) {
            if axis >= places.len() {
                let length = extent(now, axis as u32, span);
                let length = self.held(length, lets);
                places.push(UpdatePlace::Range(Range {
                    count: length.clone(),
                    length,
                    lo: None,
                    step: SliceStep::One,
                    size,
                    full: true,
                    span,
                }));
            }
            (axis, ty) = (axis + 1, (*elem).clone());
        }
    }

    /// The position of the `k`-th element of a slice.
    fn place_of(&mut self, range: &Range, k: Expr, lets: &mut LetBindings) -> Expr {
        let (_, place) = self.step(range.step, range.length.clone(), k, range.span, lets);
        match &range.lo {
            Some(lo) => whole(Prim::Bin(Bin::Add), vec![lo.clone(), place], range.span),
            None => place,
        }
    }

    /// One loop for each slice; `at` and `from` are the indices into the array and into the value.
    fn nested(
        &mut self,
        now: Expr,
        places: &[UpdatePlace],
        change: &ResolvedUpdate,
        (mut at, mut from): (Vec<Expr>, Vec<Expr>),
        span: Span,
        lets: &mut LetBindings,
    ) -> Expr {
        match places {
            [] => {
                let mut value = change.value.clone();
                if !change.spread && !from.is_empty() {
                    let ty = from.iter().fold(value.ty.clone(), |t, _| {
                        if let Ty::Array(_, e) = self.resolve(&t) { (*e).clone() } else { t }
                    });
                    value = mk(ExprKind::Index(value, from.into_iter().map(IndexArg::At).collect()), ty, span);
                }
                put(now, at, value, span)
            }
            [UpdatePlace::One(i), rest @ ..] => {
                at.push(i.clone());
                self.nested(now, rest, change, (at, from), span, lets)
            }
            [UpdatePlace::Range(range), rest @ ..] => {
                let (state, k, ty) = (self.local(), self.local(), now.ty.clone());
                let index = mk(ExprKind::Local(k), Ty::Int, range.span);
                at.push(self.place_of(range, index.clone(), lets));
                from.push(index);
                let body =
                    self.nested(mk(ExprKind::Local(state), ty.clone(), span), rest, change, (at, from), span, lets);
                mk(ExprKind::Loop(state, now, LoopKind::For(k, range.count.clone()), body), ty, span)
            }
        }
    }
}

/// An array with one element or row replaced.
fn put(now: Expr, mut at: Vec<Expr>, value: Expr, span: Span) -> Expr {
    let ty = now.ty.clone();
    let at = match at.len() {
        1 => at.remove(0),
        n => mk(ExprKind::Tuple(at), Ty::Tuple(vec![Ty::Int; n].into()), span),
    };
    prim(Prim::Array(ArrayFn::Put), vec![now, at, value], ty, span)
}

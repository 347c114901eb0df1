//! Checks of values that differ from rank to rank, once the types of an item are known.

use super::Infer;
use crate::core::{Expr, ExprKind};
use crate::errors::each;
use crate::ty::{Ty, part_of_each};
use crate::walk::{children, walk};
use adl_prim::{CommFn, Prim};
use adl_syntax::span::Span;

impl Infer<'_> {
    /// Reports operations on all ranks in functions of `comm.each`, and an `Each` inside of another.
    pub(super) fn check_each(&mut self, e: &Expr) {
        if !self.finals.each {
            return;
        }
        walk(e, &mut |e| {
            if let ExprKind::App(f, args) = &*e.kind
                && matches!(&*f.kind, ExprKind::Prim(Prim::Comm(CommFn::Each), _))
                && let Some(function) = args.first()
            {
                walk(function, &mut |inner| self.check_inside(inner, f.span));
            }
        });
        if let Some((ty, at)) = nested(e) {
            let d = each::nested(&self.show(&ty), at);
            self.report(d);
        }
    }

    fn check_inside(&mut self, e: &Expr, each: Span) {
        if let ExprKind::Prim(Prim::Comm(p), _) = &*e.kind
            && *p != CommFn::Size
        {
            let d = each::inside(&p.title(), e.span, each);
            if !self.diags.contains(&d) {
                self.report(d);
            }
        }
    }
}

/// The innermost expression whose type has an `Each` in another, with that type.
fn nested(e: &Expr) -> Option<(Ty, Span)> {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        children(e).into_iter().find_map(nested).or_else(|| Some((doubled(&e.ty)?, e.span)))
    })
}

/// The part of a type that is an `Each` with another inside.
fn doubled(t: &Ty) -> Option<Ty> {
    match t {
        Ty::Fun(a, b) | Ty::Lin(a, b) => doubled(a).or_else(|| doubled(b)),
        Ty::Tuple(parts) => parts.iter().find_map(doubled),
        Ty::Record(r) => r.fields.iter().find_map(|f| doubled(&f.1)),
        Ty::Array(_, e) => doubled(e),
        Ty::Data(_, args) => match part_of_each(t) {
            Some(part) if mentions(part) => Some(t.clone()),
            _ => args.iter().find_map(doubled),
        },
        _ => None,
    }
}

/// Whether a type has an `Each` in it.
pub(super) fn mentions(t: &Ty) -> bool {
    match t {
        Ty::Fun(a, b) | Ty::Lin(a, b) => mentions(a) || mentions(b),
        Ty::Tuple(parts) => parts.iter().any(mentions),
        Ty::Record(r) => r.fields.iter().any(|f| mentions(&f.1)),
        Ty::Array(_, e) => mentions(e),
        Ty::Data(_, args) => part_of_each(t).is_some() || args.iter().any(mentions),
        _ => false,
    }
}

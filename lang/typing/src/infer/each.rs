//! Checks of values that differ from rank to rank, once the types of an item are known.

use super::Infer;
use crate::core::{Expr, ExprKind, GlobalId};
use crate::errors::each;
use crate::ty::{Ty, element_of_rows, part_of_each};
use crate::walk::{children, walk};
use adl_prim::{CommFn, Prim};
use adl_syntax::span::Span;

impl Infer<'_> {
    /// Reports operations on all ranks in functions of `comm.each`, and an `Each` inside of another.
    pub(super) fn check_each(&mut self, expr: &Expr) {
        if !self.finals.each {
            return;
        }
        walk(expr, &mut |e| {
            if let ExprKind::App(f, args) = &*e.kind
                && matches!(&*f.kind, ExprKind::Prim(Prim::Comm(CommFn::Each), _))
                && let Some(function) = args.first()
            {
                walk(function, &mut |inner| self.check_inside(inner, f.span));
            }
        });
        if let Some((ty, at)) = nested(expr) {
            let d = each::nested(&self.show(&ty), at);
            self.report(d);
        }
    }

    fn check_inside(&mut self, e: &Expr, each: Span) {
        let name = match &*e.kind {
            ExprKind::Prim(Prim::Comm(p), _) if *p != CommFn::Size => Some(p.title()),
            ExprKind::Global(id) if mentions(&e.ty) || mentions_rows(&e.ty) => self.on_all_ranks(*id),
            _ => None,
        };
        if let Some(name) = name {
            let d = each::inside(&name, e.span, each);
            if !self.diags.contains(&d) {
                self.report(d);
            }
        }
    }

    /// The name of a function of the modules whose functions act on all ranks.
    fn on_all_ranks(&mut self, id: GlobalId) -> Option<String> {
        ["comm", "rows"].into_iter().find_map(|module| {
            let names = self.host.std_module(module)?;
            let (name, _) = names.values.iter().find(|(_, g)| g.id == id)?;
            Some(format!("{module}.{name}"))
        })
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
    has(t, &|t| part_of_each(t).is_some())
}

/// Whether a type has `Rows` in it.
fn mentions_rows(t: &Ty) -> bool {
    has(t, &|t| element_of_rows(t).is_some())
}

/// Whether a type has a part with a property.
fn has(t: &Ty, property: &dyn Fn(&Ty) -> bool) -> bool {
    property(t)
        || match t {
            Ty::Fun(a, b) | Ty::Lin(a, b) => has(a, property) || has(b, property),
            Ty::Tuple(parts) => parts.iter().any(|t| has(t, property)),
            Ty::Record(r) => r.fields.iter().any(|f| has(&f.1, property)),
            Ty::Array(_, e) => has(e, property),
            Ty::Data(_, args) => args.iter().any(|t| has(t, property)),
            _ => false,
        }
}

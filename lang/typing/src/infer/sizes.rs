//! Sizes: their positions in types, and run-time checks of those that types do not determine.

use super::{Infer, map_type, mk};
use crate::core::{self, ExprKind, Local, Projection, SizeAt, SizeRep, Sizes};
use crate::ty::{Size, SizeVar, Ty};
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::collections::HashMap;

impl Infer<'_> {
    /// Adds run-time checks to a value whose type does not guarantee the expected sizes. `at` is the place where those
    /// are written.
    pub(super) fn sized(&mut self, mut expr: core::Expr, want: &Ty, at: Span) -> core::Expr {
        let (want, have) = (self.resolve_deep(want), self.resolve_deep(&expr.ty));
        let local = self.local();
        let (mut wanted, mut given) = (Vec::new(), Vec::new());
        size_places(&want, local, &mut Vec::new(), at, true, &mut wanted);
        all_sizes(&have, &mut given);
        let mut checks = Vec::new();
        for (size, place) in wanted {
            let same = given.iter().any(|(path, axis, s)| *path == place.path && *axis == place.axis && *s == size);
            if same {
                continue;
            }
            match size {
                Size::Const(n, _) => checks.push((place, SizeRep::Const(n), n.to_string())),
                Size::Var(v) => {
                    if let Some((name, Some(l))) = self.annotated.size_name(v) {
                        checks.push((place, SizeRep::Local(l), name.to_string()));
                    }
                }
                Size::Meta(_) | Size::Unknown => {}
            }
        }
        if checks.is_empty() {
            expr.ty = want;
            return expr;
        }
        let span = expr.span;
        let value = mk(ExprKind::Local(local), want.clone(), span);
        let checked = mk(ExprKind::Sizes(Sizes { binds: Vec::new(), checks }, value), want.clone(), span);
        mk(ExprKind::Let(local, None, expr, checked), want, span)
    }

    /// The annotation of a whole function. Sizes that only the result names are determined by the returned value.
    pub(super) fn closed_signature(&self, t: &Ty, outer: &HashMap<Symbol, (SizeVar, Option<Local>)>) -> Ty {
        close(t, &mut self.known_sizes(outer))
    }

    /// The sizes that are known outside of a definition, and those that the operators of its signature determine.
    pub(super) fn known_sizes(&self, outer: &HashMap<Symbol, (SizeVar, Option<Local>)>) -> Vec<SizeVar> {
        let mut known: Vec<SizeVar> = outer.values().map(|(v, _)| *v).collect();
        self.annotated.given.iter().flat_map(|c| c.args.iter().chain([&c.res])).for_each(|t| size_vars(t, &mut known));
        known
    }
}

fn close(t: &Ty, known: &mut Vec<SizeVar>) -> Ty {
    match t {
        Ty::Fun(a, b) => {
            size_vars(a, known);
            Ty::Fun(a.clone(), std::rc::Rc::new(close(b, known)))
        }
        Ty::Lin(a, b) => {
            size_vars(a, known);
            Ty::Lin(a.clone(), std::rc::Rc::new(close(b, known)))
        }
        t => open_sizes(t, known),
    }
}

/// The type in which every size variable outside `known` is replaced by one that only the value determines.
pub(super) fn open_sizes(t: &Ty, known: &[SizeVar]) -> Ty {
    map_type(t, &mut |_| None, &mut |s| match s {
        Size::Var(v) if !known.contains(&v) => Size::Unknown,
        s => s,
    })
}

/// Adds the size variables of a type.
pub(super) fn size_vars(t: &Ty, out: &mut Vec<SizeVar>) {
    map_type(t, &mut |_| None, &mut |s| {
        if let Size::Var(v) = s {
            out.push(v);
        }
        s
    });
}

/// Every size of the arrays reached through tuples and records, with its path and axis.
fn all_sizes(t: &Ty, out: &mut Vec<(Vec<Projection>, u32, Size)>) {
    let mut places = Vec::new();
    walk(t, &mut Vec::new(), &mut |n, path, axis| places.push((path.to_vec(), axis, n)));
    out.extend(places);
}

/// The positions of sizes in the type of a value, in arrays reached through tuples and records. Constants are included
/// if `consts`.
pub(super) fn size_places(
    t: &Ty,
    from: Local,
    path: &mut Vec<Projection>,
    span: Span,
    consts: bool,
    out: &mut Vec<(Size, SizeAt)>,
) {
    walk(t, path, &mut |n, path, axis| {
        if matches!(n, Size::Var(_)) || consts && matches!(n, Size::Const(..)) {
            out.push((n, SizeAt { from, path: path.to_vec(), axis, span }));
        }
    });
}

fn walk(t: &Ty, path: &mut Vec<Projection>, visit: &mut dyn FnMut(Size, &[Projection], u32)) {
    match t {
        Ty::Array(..) => {
            let (mut t, mut axis) = (t, 0);
            while let Ty::Array(n, e) = t {
                visit(*n, path, axis);
                axis += 1;
                t = e;
            }
        }
        Ty::Tuple(parts) => {
            for (i, p) in parts.iter().enumerate() {
                path.push(Projection::Item(i as u32));
                walk(p, path, visit);
                path.pop();
            }
        }
        Ty::Record(r) => {
            for (name, p) in &r.fields {
                path.push(Projection::Field(*name));
                walk(p, path, visit);
                path.pop();
            }
        }
        _ => {}
    }
}

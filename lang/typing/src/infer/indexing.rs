//! Indices, slices and comprehensions.

use super::masks::IndexArgKind;
use super::{Infer, array, mk, pending};
use crate::core::{self, ExprKind, Extent, ForKind, Lit};
use crate::errors::mismatch;
use crate::errors::reason::Reason;
use crate::ty::{Size, Ty};
use adl_prim::ReductionFn;
use adl_syntax::ast;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;

impl Infer<'_> {
    pub(super) fn index(&mut self, a: &ast::Expr, args: &[ast::IndexArg], span: Span) -> core::Expr {
        let mut base = self.infer(a, None);
        self.solve_ops();
        let (mut axes, t) = self.indexed_axes(&base, args.len(), a.span);
        let given = self.positions(&mut base, args, &mut axes);
        if given.iter().all(|g| matches!(g, Some(IndexArgKind::Mask))) {
            return base;
        }
        self.take_part(base, (args, given), &axes, t, span)
    }

    /// The sizes of the first `count` axes of an array, and the type under them.
    pub(super) fn indexed_axes(&mut self, base: &core::Expr, count: usize, at: Span) -> (Vec<Size>, Ty) {
        let mut ty = base.ty.clone();
        let mut axes = Vec::new();
        for _ in 0..count {
            let (n, e) = match self.resolve(&ty) {
                Ty::Array(n, e) => (n, (*e).clone()),
                _ => {
                    let (n, e) = (self.size_meta(), self.meta());
                    self.expect(&array(n, e.clone()), &ty, at, &Reason::new("the indexed value"));
                    (n, e)
                }
            };
            axes.push(n);
            ty = e;
        }
        (axes, ty)
    }

    pub(super) fn comprehension(
        &mut self,
        kind: ForKind,
        vars: &[ast::ForVar],
        body: &ast::Expr,
        span: Span,
    ) -> core::Expr {
        let scope = self.scope.len();
        let mut out: Vec<(core::Local, Symbol, Extent)> = Vec::new();
        let mut sizes = Vec::new();
        for var in vars {
            let (extent, size) = match &var.bound {
                Some(b) => {
                    let others = out.iter().map(|(_, name, _)| *name).collect();
                    let before = std::mem::replace(&mut self.enclosing.indices, others);
                    let e = self.check(b, &Ty::Int, &Reason::new("the bound of an index"));
                    self.enclosing.indices = before;
                    (Extent::Bound(e), self.size_of(b))
                }
                None => self.extent_from_use(var, vars, body),
            };
            sizes.push(size);
            out.push((self.local(), var.name.name, extent));
        }
        for (local, name, _) in &out {
            self.bind_mono(*name, *local, Ty::Int);
        }
        let body = match kind {
            ForKind::Reduce(ReductionFn::Any | ReductionFn::All) => {
                self.check(body, &Ty::Bool, &Reason::new("the body"))
            }
            _ => self.infer(body, None),
        };
        self.scope.truncate(scope);
        let elem = body.ty.clone();
        let ty = match kind {
            ForKind::Build => sizes.into_iter().rev().fold(elem.clone(), |t, n| array(n, t)),
            ForKind::Reduce(p) => {
                self.solve_ops();
                self.reduced(p.into(), &elem, span)
            }
        };
        mk(ExprKind::For(kind, out, body, pending(&elem)), ty, span)
    }

    /// The arrays that an index without a bound indexes.
    pub(super) fn extent_from_use(
        &mut self,
        var: &ast::ForVar,
        vars: &[ast::ForVar],
        body: &ast::Expr,
    ) -> (Extent, Size) {
        let mut inner: Vec<Symbol> = vars.iter().map(|v| v.name.name).collect();
        super::apply::bound_names(body, &mut inner);
        let mut found: Vec<(ast::Expr, u32)> = Vec::new();
        super::apply::walk(body, &mut |e| {
            let ast::ExprKind::Index(a, args) = &e.kind else { return };
            for (axis, arg) in args.iter().enumerate() {
                let direct = matches!(arg, ast::IndexArg::At(i) if matches!(i.kind, ast::ExprKind::Var(n) if n == var.name.name));
                // Slices before the index do not change its axis.
                if direct
                    && super::apply::is_path(a, &inner)
                    && !found.iter().any(|(b, k)| *k == axis as u32 && super::apply::same_path(b, a))
                {
                    found.push(((**a).clone(), axis as u32));
                }
            }
        });
        if found.is_empty() {
            self.report(mismatch::no_extent(var.name.span, var.name.name.as_str()));
            let zero = mk(ExprKind::Lit(Lit::Int(0)), Ty::Int, var.name.span);
            return (Extent::Bound(zero), Size::Unknown);
        }
        let size = self.size_meta();
        let mut axes = Vec::new();
        for (a, axis) in found {
            let c = self.infer(&a, None);
            self.solve_ops();
            let mut t = self.meta();
            t = array(size, t);
            for _ in 0..axis {
                let n = self.size_meta();
                t = array(n, t);
            }
            let why = Reason::new(format!("an array that `{}` indexes", var.name.name));
            self.expect(&t, &c.ty.clone(), a.span, &why);
            axes.push((c, axis));
        }
        (Extent::Axes(axes), size)
    }
}

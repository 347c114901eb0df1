//! Indices and slices.

use super::masks::IndexArgKind;
use super::{Infer, array};
use crate::core;
use crate::errors::reason::Reason;
use crate::ty::{Size, Ty};
use adl_syntax::ast;
use adl_syntax::span::Span;

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
}

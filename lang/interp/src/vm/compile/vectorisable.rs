//! Finds comprehension bodies that can be evaluated on entire arrays of indices instead of element by element.

use adl_prim::{Bin, NumberFn, Prim, Un};
use adl_syntax::symbol::Symbol;
use adl_typing::core::{Expr, ExprKind, Extent, IndexArg, Lambda, Lit, Local, Param};
use adl_typing::ty::Ty;

/// Whether a primitive applies to arrays elementwise.
fn is_elementwise(p: Prim) -> bool {
    matches!(p, Prim::Un(_)) || matches!(p, Prim::Bin(b) if b != Bin::IntDiv)
}

/// Whether the body of a comprehension is straight-line arithmetic on numbers, on the indices, and on elements
/// of arrays at computed positions. It may then be evaluated on arrays of indices. Integer division is
/// excluded, because which of its errors is reported depends on the order of evaluation.
pub(super) fn is_vectorisable(indices: &[Local], e: &Expr) -> bool {
    e.ty == Ty::Float && (Body { indices }).number(e)
}

/// A comprehension as a function of its extents.
pub(super) fn of_extents(e: &Expr, name: Option<Symbol>) -> Lambda {
    let mut body = e.clone();
    let mut params = Vec::new();
    if let ExprKind::For(_, vars, ..) = &mut *body.kind {
        for (k, (_, name, extent)) in vars.iter_mut().enumerate() {
            let local = Local(u32::MAX - 2 - k as u32);
            params.push(Param { local, name: Some(*name), ty: Ty::Int });
            *extent = Extent::Bound(Expr { kind: ExprKind::Local(local).into(), ty: Ty::Int, span: e.span });
        }
    }
    Lambda { params, body, linear: false, name }
}

struct Body<'a> {
    indices: &'a [Local],
}

impl Body<'_> {
    fn number(&self, expr: &Expr) -> bool {
        if !matches!(expr.ty, Ty::Float | Ty::Int) {
            return false;
        }
        match &*expr.kind {
            ExprKind::Lit(Lit::Float(_) | Lit::Int(_)) | ExprKind::Local(_) | ExprKind::Global(_) => true,
            ExprKind::Let(_, _, a, b) => self.number(a) && self.number(b),
            ExprKind::Item(..) | ExprKind::Field(..) => self.outside(expr),
            ExprKind::Index(a, args) => self.element(a, args),
            ExprKind::App(f, args) => match &*f.kind {
                ExprKind::Prim(Prim::Number(NumberFn::PowInt), _) => expr.ty == Ty::Float && self.number(&args[0]),
                ExprKind::Prim(Prim::Number(NumberFn::ToFloat), _) => args.len() == 1 && self.number(&args[0]),
                ExprKind::Prim(p, _) => {
                    let known = if expr.ty == Ty::Int {
                        matches!(p, Prim::Bin(Bin::Add | Bin::Sub | Bin::Mul) | Prim::Un(Un::Neg))
                    } else {
                        is_elementwise(*p)
                    };
                    known
                        && args.len() == p.row().arity as usize
                        && args.iter().all(|a| a.ty == expr.ty && self.number(a))
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether this is a scalar element of an array that does not depend on the indices.
    fn element(&self, a: &Expr, args: &[IndexArg]) -> bool {
        let mut leaf = &a.ty;
        for _ in args {
            match leaf {
                Ty::Array(_, inner) => leaf = inner,
                _ => return false,
            }
        }
        matches!(leaf, Ty::Float | Ty::Int)
            && self.outside(a)
            && args.iter().all(|i| match i {
                IndexArg::At(i) => i.ty == Ty::Int && self.number(i),
                IndexArg::Slice(..) => false,
            })
    }

    /// Whether this is a variable other than an index, or a component of one.
    fn outside(&self, e: &Expr) -> bool {
        match &*e.kind {
            ExprKind::Local(l) => !self.indices.contains(l),
            ExprKind::Global(_) => true,
            ExprKind::Item(a, _) | ExprKind::Field(a, _) => self.outside(a),
            _ => false,
        }
    }
}

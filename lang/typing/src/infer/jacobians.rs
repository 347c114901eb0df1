//! Jacobians and Hessians of numbers, matrices, tuples and records.
//!
//! Their type has the structure of the output, and in each of its leaves that of the input, as in JAX. The primitives
//! work on vectors. So the input is flattened, and each block of the resulting matrix gets the shapes of its two
//! leaves.

use super::exprs::last_span;
use super::ops::Head;
use super::slices::{LetBindings, after, extent, int, prim, whole};
use super::{Infer, array, fun, mk, pending};
use crate::core::{Expr, ExprKind, IndexArg, Lambda, Param};
use crate::errors::derivatives;
use crate::errors::reason::Reason;
use crate::ty::{Class, RecordTy, Size, Ty};
use adl_prim::{ArrayFn, Bin, DerivativeFn, Prim};
use adl_syntax::ast;
use adl_syntax::span::Span;
use std::rc::Rc;

/// A number or array inside data, with the range of its numbers in the flattened vector.
struct FlatLeaf {
    value: Expr,
    from: Expr,
    to: Expr,
}

impl Infer<'_> {
    /// `jacobian func input` and its variants.
    pub(super) fn jacobian(&mut self, prim: Prim, [func, input]: [&ast::Expr; 2], span: Span) -> Expr {
        let callee = self.prim_value(prim, span);
        let (params, result, _) = self.parameters_of(&callee, 2);
        let name: Rc<str> = format!("`{}`", prim.name()).into();
        let point = self.infer(input, None);
        self.solve_ops();
        // What is open may be told by the function.
        if self.is_vector(&point.ty) && !matches!(self.resolve(&point.ty), Ty::Meta(_)) {
            self.expect(&params[1], &point.ty.clone(), last_span(input), &Reason::argument(1, 2, &name));
            if prim == Prim::Derivative(DerivativeFn::Hessian) {
                let f = self.argument(func, &params[0], (0, 2), &name);
                return mk(ExprKind::App(callee, vec![f, point]), result, span);
            }
        }
        let out = if prim == Prim::Derivative(DerivativeFn::Hessian) {
            self.number(Class::Real, span, "`hessian`")
        } else {
            self.meta()
        };
        let wanted = fun(point.ty.clone(), out.clone());
        let errors = self.diags.len();
        let function = if prim == Prim::Derivative(DerivativeFn::Hessian) {
            self.argument(func, &wanted, (0, 2), &name)
        } else {
            self.infer(func, Some(&wanted))
        };
        self.solve_ops();
        let why = Reason::argument(0, 2, &name);
        if self.diags.len() > errors || !self.expect(&wanted, &function.ty.clone(), last_span(func), &why) {
            return self.error_expr(span);
        }
        self.solve_ops();
        if matches!(self.resolve(&point.ty), Ty::Meta(_)) && self.is_vector(&point.ty) {
            self.expect(&params[1], &point.ty.clone(), last_span(input), &Reason::argument(1, 2, &name));
            self.solve_ops();
        }
        if self.is_vector(&point.ty) && (prim == Prim::Derivative(DerivativeFn::Hessian) || self.is_vector(&out)) {
            self.expect(&params[0], &function.ty.clone(), last_span(func), &why);
            return mk(ExprKind::App(callee, vec![function, point]), result, span);
        }
        if prim == Prim::Derivative(DerivativeFn::Hessian)
            && !self.expect(&Ty::Float, &out, last_span(func), &Reason::new("the result of the function of `hessian`"))
        {
            return self.error_expr(span);
        }
        let both = [(&point.ty, input.span), (&out, func.span)];
        if both.into_iter().any(|(t, at)| !self.is_differentiable(prim, &t.clone(), at)) {
            return self.error_expr(span);
        }
        self.structured(prim, function, point, &out, span)
    }

    /// Whether a type is, or may become, an array of numbers with one axis.
    fn is_vector(&self, t: &Ty) -> bool {
        match self.resolve(t) {
            Ty::Array(_, e) => matches!(self.head(&e), Head::Scalar | Head::Unknown),
            t => self.head(&t) == Head::Unknown,
        }
    }

    /// Reports data that does not consist of Floats, arrays, tuples and records.
    fn is_differentiable(&mut self, prim: Prim, ty: &Ty, at: Span) -> bool {
        match self.resolve(ty) {
            Ty::Float => true,
            t @ Ty::Meta(_) if self.head(&t) == Head::Scalar => self.unify(&Ty::Float, &t).is_ok(),
            Ty::Array(_, e) if !matches!(self.resolve(&e), Ty::Tuple(_) | Ty::Record(_)) => {
                self.is_differentiable(prim, &e, at)
            }
            Ty::Tuple(parts) => parts.iter().all(|t| self.is_differentiable(prim, t, at)),
            Ty::Record(r) => {
                let r = self.vars.open_record(&r);
                if r.tail.is_some() {
                    let d = derivatives::open_structure(at, prim.name(), &self.show(ty));
                    self.report(d);
                    return false;
                }
                r.fields.iter().all(|(_, t)| self.is_differentiable(prim, t, at))
            }
            t @ Ty::Meta(_) => {
                let d = derivatives::open_structure(at, prim.name(), &self.show(&t));
                self.report(d);
                false
            }
            t => {
                let d = derivatives::no_structure(at, prim.name(), &self.show(&t));
                self.report(d);
                false
            }
        }
    }

    fn structured(&mut self, prim: Prim, f: Expr, x: Expr, out: &Ty, span: Span) -> Expr {
        let mut lets = LetBindings::new();
        let (f, point) = (self.named(f, &mut lets), self.bound(x, &mut lets));
        let vector = array(Size::Unknown, Ty::Float);
        let ravel = |e: Expr| {
            let of = mk(ExprKind::Prim(Prim::Derivative(DerivativeFn::Ravel), vec![pending(&e.ty)]), Ty::Unit, span);
            mk(ExprKind::App(of, vec![e]), vector.clone(), span)
        };
        let call = |x: Expr| mk(ExprKind::App(f.clone(), vec![x]), out.clone(), span);
        let v = self.local();
        let unravel =
            mk(ExprKind::Prim(Prim::Derivative(DerivativeFn::Unravel), vec![pending(&point.ty)]), Ty::Unit, span);
        let inside = call(mk(
            ExprKind::App(unravel, vec![point.clone(), mk(ExprKind::Local(v), vector.clone(), span)]),
            point.ty.clone(),
            span,
        ));
        let body = if prim == Prim::Derivative(DerivativeFn::Hessian) { inside } else { ravel(inside) };
        let ty = fun(vector.clone(), body.ty.clone());
        let params = vec![Param { local: v, name: None, ty: vector.clone() }];
        let g = mk(ExprKind::Lam(Rc::new(Lambda { params, body, linear: false, name: None })), ty, span);
        let operator = mk(ExprKind::Prim(prim, vec![pending(&Ty::Float)]), Ty::Unit, span);
        let matrix =
            mk(ExprKind::App(operator, vec![g, ravel(point.clone())]), array(Size::Unknown, vector.clone()), span);
        let matrix = self.named(matrix, &mut lets);
        let y = if prim == Prim::Derivative(DerivativeFn::Hessian) {
            point.clone()
        } else {
            self.bound(call(point.clone()), &mut lets)
        };
        let (rows, columns) = (self.leaves(&y, span, &mut lets), self.leaves(&point, span, &mut lets));
        let made = shaped(&y, &mut rows.iter(), &mut |row| {
            shaped(&point, &mut columns.iter(), &mut |column| part(&matrix, row, column, span))
        });
        after(lets, made)
    }

    fn bound(&mut self, mut e: Expr, lets: &mut LetBindings) -> Expr {
        e.ty = self.resolve_deep(&e.ty);
        self.named(e, lets)
    }

    /// The leaves of data, in the order of `ravel`.
    fn leaves(&mut self, value: &Expr, span: Span, lets: &mut LetBindings) -> Vec<FlatLeaf> {
        let mut from = int(0, span);
        let mut out = Vec::new();
        let mut todo = vec![value.clone()];
        while let Some(value) = todo.pop() {
            let parts = parts(&value);
            if !parts.is_empty() {
                todo.extend(parts.into_iter().rev());
                continue;
            }
            let numbers = (0..axes(&value.ty))
                .map(|k| extent(&value, k, span))
                .reduce(|a, b| whole(Prim::Bin(Bin::Mul), vec![a, b], span));
            let to = whole(Prim::Bin(Bin::Add), vec![from.clone(), numbers.unwrap_or_else(|| int(1, span))], span);
            let to = self.named(to, lets);
            out.push(FlatLeaf { value, from: std::mem::replace(&mut from, to.clone()), to });
        }
        out
    }
}

/// The parts of a tuple or record.
fn parts(value: &Expr) -> Vec<Expr> {
    match &value.ty {
        Ty::Tuple(ts) => ts
            .iter()
            .enumerate()
            .map(|(k, t)| mk(ExprKind::Item(value.clone(), k as u32), t.clone(), value.span))
            .collect(),
        Ty::Record(r) => {
            r.fields.iter().map(|(name, t)| mk(ExprKind::Field(value.clone(), *name), t.clone(), value.span)).collect()
        }
        _ => Vec::new(),
    }
}

fn axes(t: &Ty) -> u32 {
    if let Ty::Array(_, e) = t { 1 + axes(e) } else { 0 }
}

/// Data with the structure of `like`, whose leaves `make` computes from its leaves.
fn shaped<'l>(
    like: &Expr,
    leaves: &mut dyn Iterator<Item = &'l FlatLeaf>,
    make: &mut dyn FnMut(&FlatLeaf) -> Expr,
) -> Expr {
    let inner: Vec<Expr> = parts(like).iter().map(|p| shaped(p, leaves, make)).collect();
    let types = || inner.iter().map(|e| e.ty.clone());
    match &like.ty {
        Ty::Tuple(_) => {
            let ty = Ty::Tuple(types().collect());
            mk(ExprKind::Tuple(inner), ty, like.span)
        }
        Ty::Record(r) => {
            let names = || r.fields.iter().map(|(name, _)| *name);
            let ty = Ty::Record(Rc::new(RecordTy { fields: names().zip(types()).collect(), tail: None }));
            mk(ExprKind::Record(names().zip(inner).collect()), ty, like.span)
        }
        _ => match leaves.next() {
            Some(leaf) => make(leaf),
            None => like.clone(),
        },
    }
}

/// The derivatives of one leaf with respect to another.
fn part(matrix: &Expr, row: &FlatLeaf, column: &FlatLeaf, span: Span) -> Expr {
    let (row_axes, column_axes) = (axes(&row.value.ty), axes(&column.value.ty));
    if row_axes + column_axes == 0 {
        return mk(
            ExprKind::Index(matrix.clone(), vec![IndexArg::At(row.from.clone()), IndexArg::At(column.from.clone())]),
            Ty::Float,
            span,
        );
    }
    let slice = |leaf: &FlatLeaf| IndexArg::Slice(Some(leaf.from.clone()), Some(leaf.to.clone()));
    let block = mk(
        ExprKind::Index(matrix.clone(), vec![slice(row), slice(column)]),
        array(Size::Unknown, array(Size::Unknown, Ty::Float)),
        span,
    );
    let extents = |leaf: &FlatLeaf, n: u32| (0..n).map(|k| extent(&leaf.value, k, span)).collect::<Vec<_>>();
    let dims: Vec<Expr> = extents(row, row_axes).into_iter().chain(extents(column, column_axes)).collect();
    let shape = mk(ExprKind::Array(dims), array(Size::from(u64::from(row_axes + column_axes), span), Ty::Int), span);
    let ty = over(&row.value.ty, &column.value.ty);
    prim(Prim::Array(ArrayFn::Reshape), vec![shape, block], ty, span)
}

/// The type of an array with another element type.
fn over(t: &Ty, leaf: &Ty) -> Ty {
    if let Ty::Array(n, e) = t { array(*n, over(e, leaf)) } else { leaf.clone() }
}

//! Comprehensions: `for i < n, j, x in xs -> e` and its reductions.
//!
//! `for x in xs -> e` is `for i -> let x = xs[i] in e`, with `xs` computed once, so nothing behind inference knows of
//! elements. Over rows it is a call of a function of module `rows`.

use super::apply::{bound_names, is_path, pat_names, same_path, strip, walk};
use super::exprs::{LambdaContext, last_span};
use super::pats::PatVar;
use super::slices::{LetBindings, after};
use super::{Infer, array, fun, mk, pending};
use crate::core::{CoreLit, Expr, ExprKind, Extent, ForKind, IndexArg, Local};
use crate::errors::reason::Reason;
use crate::errors::{elements, mismatch};
use crate::patterns::TPat;
use crate::ty::{Size, Ty, element_of_rows};
use adl_prim::ReductionFn;
use adl_syntax::ast;
use adl_syntax::ast::Generator;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;

/// An axis of a comprehension.
struct Axis<'a> {
    index: Local,
    name: Symbol,
    extent: Extent,
    size: Size,
    /// For `p in e`: the pattern, the array, and the type of its elements.
    element: Option<(&'a ast::Pat, Expr, Ty)>,
}

/// An element that a body names, before the body is wrapped in its definition.
pub(super) struct BoundElement {
    local: Local,
    pat: TPat,
    vars: Vec<PatVar>,
    value: Expr,
}

/// What stands after `in`.
pub(super) enum Source {
    /// An array, the size of its first axis, and the type of its elements.
    Array(Expr, Size, Ty),
    /// Rows, and their type.
    Rows(Expr, Ty),
}

impl Infer<'_> {
    pub(super) fn comprehension(
        &mut self,
        kind: ForKind,
        generators: &[Generator],
        body: &ast::Expr,
        span: Span,
    ) -> Expr {
        let before = self.enclosing.indices.len();
        let (mut lets, mut axes) = (Vec::new(), Vec::new());
        for generator in generators {
            let axis = match generator {
                Generator::Index(name, bound) => self.index_axis(*name, bound.as_ref(), generators, body),
                Generator::Element(pat, source) => match self.source(pat, source) {
                    Source::Rows(rows, of) if generators.len() == 1 => {
                        self.enclosing.indices.truncate(before);
                        return self.over_rows(kind, pat, (rows, of), body, span);
                    }
                    Source::Rows(..) => {
                        self.report(elements::rows_among_others(source.span, self.host.text(source.span)));
                        self.enclosing.indices.truncate(before);
                        return self.error_expr(span);
                    }
                    Source::Array(array, size, elem) => self.element_axis(pat, (array, size, elem), &mut lets),
                },
            };
            names_of(generator, &mut self.enclosing.indices);
            axes.push(axis);
        }
        self.enclosing.indices.truncate(before);
        let scope = self.scope.len();
        let sizes: Vec<Size> = axes.iter().map(|a| a.size).collect();
        let (out, bound) = self.bind_axes(axes);
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
        let body = bound.into_iter().rev().fold(body, |body, e| self.with_element(e, body));
        after(lets, mk(ExprKind::For(kind, out, body, pending(&elem)), ty, span))
    }

    /// `i < n`, or `i` alone.
    fn index_axis<'a>(
        &mut self,
        name: ast::Ident,
        bound: Option<&ast::Expr>,
        generators: &[Generator],
        body: &ast::Expr,
    ) -> Axis<'a> {
        let (extent, size) = match bound {
            Some(b) => {
                let e = self.check(b, &Ty::Int, &Reason::new("the bound of an index"));
                (Extent::Bound(e), self.size_of(b))
            }
            None => self.extent_from_use(name, generators, body),
        };
        Axis { index: self.local(), name: name.name, extent, size, element: None }
    }

    /// `p in e`, over an array.
    fn element_axis<'a>(
        &mut self,
        pat: &'a ast::Pat,
        (source, size, elem): (Expr, Size, Ty),
        lets: &mut LetBindings,
    ) -> Axis<'a> {
        let source = self.named(source, lets);
        let extent = Extent::Axes(vec![(source.clone(), 0)]);
        Axis { index: self.local(), name: Symbol::new("i"), extent, size, element: Some((pat, source, elem)) }
    }

    /// Brings the variables into scope. Returns the axes of Core, and the elements that the body is to be wrapped in.
    fn bind_axes(&mut self, axes: Vec<Axis<'_>>) -> (Vec<(Local, Symbol, Extent)>, Vec<BoundElement>) {
        let (mut out, mut bound) = (Vec::new(), Vec::new());
        for axis in axes {
            match axis.element {
                Some((pat, source, elem)) => bound.push(self.bind_element(pat, source, axis.index, &elem)),
                None => self.bind_mono(axis.name, axis.index, Ty::Int),
            }
            out.push((axis.index, axis.name, axis.extent));
        }
        (out, bound)
    }

    /// Brings the variables of `pat in source` into scope, at an index.
    pub(super) fn bind_element(&mut self, pat: &ast::Pat, source: Expr, index: Local, elem: &Ty) -> BoundElement {
        let mut vars = Vec::new();
        let typed = self.pat(pat, elem, &mut vars);
        let local = match &typed {
            TPat::Var(x) => *x,
            _ => self.local(),
        };
        self.push_vars(&vars);
        let at = vec![IndexArg::At(mk(ExprKind::Local(index), Ty::Int, pat.span))];
        let value = mk(ExprKind::Index(source, at), elem.clone(), pat.span);
        BoundElement { local, pat: typed, vars, value }
    }

    /// The body of a comprehension or loop after the definition of an element.
    pub(super) fn with_element(&mut self, element: BoundElement, body: Expr) -> Expr {
        let BoundElement { local, pat, vars, value } = element;
        if matches!(pat, TPat::Wild) {
            return body;
        }
        let (name, span, elem) = (vars.iter().find(|v| v.1 == local).map(|v| v.0), value.span, value.ty.clone());
        let body = self.destructure(local, &elem, pat, &vars, span, body);
        let (ty, at) = (body.ty.clone(), body.span);
        mk(ExprKind::Let(local, name, value, body), ty, at)
    }

    /// The source of elements. One of unknown type is an array.
    pub(super) fn source(&mut self, pat: &ast::Pat, source: &ast::Expr) -> Source {
        let expr = self.infer(source, None);
        self.solve_ops();
        let ty = self.resolve(&expr.ty);
        if let Some(of) = element_of_rows(&ty) {
            return Source::Rows(expr, of.clone());
        }
        if let Ty::Array(n, elem) = &ty {
            return Source::Array(expr, *n, (**elem).clone());
        }
        let (size, elem) = (self.size_meta(), self.meta());
        let whole = matches!(ty, Ty::Int) || matches!(&strip(source).kind, ast::ExprKind::Lit(ast::Lit::Int(_)));
        if whole {
            let bounded = matches!(pat.kind, ast::PatKind::Var(_) | ast::PatKind::Wild);
            let between = Span { lo: pat.span.hi, hi: source.span.lo, ..source.span };
            let text = (self.host.text(pat.span), self.host.text(source.span));
            self.report(elements::number(source.span, text, bounded.then_some(between)));
        } else if let Some(d) = elements::other_source(source.span, &self.show(&ty), self.host.text(source.span), &ty) {
            self.report(d);
        } else {
            self.expect(&array(size, elem.clone()), &ty, source.span, &Reason::new("what a `for` runs over"));
        }
        Source::Array(expr, size, elem)
    }

    /// `for p in rows -> e` is `rows.map (fun p -> e) rows`, and a reduction of it the function of that name.
    fn over_rows(
        &mut self,
        kind: ForKind,
        pat: &ast::Pat,
        (rows, of): (Expr, Ty),
        body: &ast::Expr,
        span: Span,
    ) -> Expr {
        let name = match kind {
            ForKind::Build => "map",
            ForKind::Reduce(p) => adl_prim::Prim::Reduction(p).name(),
        };
        // The module itself, whatever the name `rows` means here.
        let found = self.host.std_module("rows").and_then(|m| m.value(Symbol::new(name)).cloned());
        let Some(global) = found else { return self.error_expr(span) };
        let callee = self.instance(ExprKind::Global(global.id), &global.scheme, span, name);
        let (f, rest) = self.arrow(&callee.ty.clone());
        let (row, result) = self.arrow(&f);
        let (data, out) = self.arrow(&rest);
        let _ = self.unify(&row, &of);
        let _ = self.unify(&data, &rows.ty.clone());
        let context = LambdaContext { linear: false, inner: true, name: None };
        let open = self.meta();
        let want = fun(row, open);
        let function = self.lambda(std::slice::from_ref(pat), body, Some(&want), context, pat.span.to(body.span));
        let (_, found) = self.arrow(&function.ty.clone());
        self.expect(&result, &found, last_span(body), &Reason::new("the body"));
        mk(ExprKind::App(callee, vec![function, rows]), out, span)
    }

    /// The argument and result of a function type.
    fn arrow(&mut self, ty: &Ty) -> (Ty, Ty) {
        match self.resolve(ty) {
            Ty::Fun(a, b) | Ty::Lin(a, b) => ((*a).clone(), (*b).clone()),
            _ => (self.meta(), self.meta()),
        }
    }

    /// The arrays that an index without a bound indexes.
    fn extent_from_use(&mut self, name: ast::Ident, generators: &[Generator], body: &ast::Expr) -> (Extent, Size) {
        let (mut inner, mut elements) = (Vec::new(), Vec::new());
        generators.iter().for_each(|g| names_of(g, &mut inner));
        let own = generators.iter().filter(|g| matches!(g, Generator::Element(..)));
        own.for_each(|g| names_of(g, &mut elements));
        bound_names(body, &mut inner);
        let mut found: Vec<(ast::Expr, u32)> = Vec::new();
        let mut of_element = false;
        walk(body, &mut |e| {
            let ast::ExprKind::Index(a, args) = &e.kind else { return };
            for (axis, arg) in args.iter().enumerate() {
                let direct =
                    matches!(arg, ast::IndexArg::At(i) if matches!(i.kind, ast::ExprKind::Var(n) if n == name.name));
                of_element |= direct && !is_path(a, &elements);
                // Slices before the index do not change its axis.
                if direct && is_path(a, &inner) && !found.iter().any(|(b, k)| *k == axis as u32 && same_path(b, a)) {
                    found.push(((**a).clone(), axis as u32));
                }
            }
        });
        if found.is_empty() {
            let d = match of_element {
                true => elements::index_of_element(name.span, name.name.as_str()),
                false => mismatch::no_extent(name.span, name.name.as_str()),
            };
            let pair = generators.iter().find_map(|g| match g {
                Generator::Element(p, _) if p.span.lo > name.span.lo => Some(p.span),
                _ => None,
            });
            self.report(match pair {
                Some(p) if !of_element => elements::taken_apart(d, self.host.text(name.span.to(p))),
                _ => d,
            });
            let zero = mk(ExprKind::Lit(CoreLit::Int(0)), Ty::Int, name.span);
            return (Extent::Bound(zero), Size::Unknown);
        }
        let size = self.size_meta();
        let axes = found.into_iter().map(|(a, axis)| (self.axis_of_size(&a, axis, size, name.name), axis)).collect();
        (Extent::Axes(axes), size)
    }

    /// An array whose axis has a size, because an index runs over it.
    fn axis_of_size(&mut self, a: &ast::Expr, axis: u32, size: Size, index: Symbol) -> Expr {
        let c = self.infer(a, None);
        self.solve_ops();
        let mut t = self.meta();
        t = array(size, t);
        for _ in 0..axis {
            let n = self.size_meta();
            t = array(n, t);
        }
        let why = Reason::new(format!("an array that `{index}` indexes"));
        self.expect(&t, &c.ty.clone(), a.span, &why);
        c
    }
}

/// The variables of a generator.
pub(super) fn names_of(generator: &Generator, out: &mut Vec<Symbol>) {
    match generator {
        Generator::Index(i, _) => out.push(i.name),
        Generator::Element(p, _) => pat_names(p, out),
    }
}

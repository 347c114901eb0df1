//! Application, guards, and queries on syntax trees.

use super::argument_trials::TriedCall;
use super::{Infer, fun, mk, pending};
use crate::core::{self, ExprKind, ForKind};
use crate::errors::derivatives::{ResultKind, WrongResult};
use crate::errors::reason::Reason;
use crate::ty::{Class, Ty};
use adl_prim::{ArrayFn, DerivativeFn, HigherOrderFn, Prim, ReductionFn, Typing};
use adl_syntax::ast;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::rc::Rc;

impl Infer<'_> {
    pub(super) fn apply(&mut self, f: &ast::Expr, args: &[ast::Expr], want: Option<&Ty>, span: Span) -> core::Expr {
        let args: Vec<&ast::Expr> = args.iter().collect();
        let before = self.diags.len();
        let e = self.apply_to(f, &args, want, span, false);
        if !self.trial.on && !self.ops.is_empty() {
            self.solve_ops();
        }
        if self.diags.len() > before {
            self.other_arguments(TriedCall { f, args: &args, want, span }, before);
        }
        e
    }

    /// `expr args`. If `args_first`, the arguments precede the function (`x |> expr`) and are inferred first.
    pub(super) fn apply_to(
        &mut self,
        expr: &ast::Expr,
        args: &[&ast::Expr],
        want: Option<&Ty>,
        span: Span,
        args_first: bool,
    ) -> core::Expr {
        // `x |> f a` is `f a x`.
        if let (ast::ExprKind::App(g, more), true) = (&strip(expr).kind, args_first) {
            let all: Vec<&ast::Expr> = more.iter().chain(args.iter().copied()).collect();
            return self.apply_to(g, &all, want, span, false);
        }
        let head = strip(expr);
        if let Some(e) = self.foreign_statement(head, span) {
            return e;
        }
        if let ast::ExprKind::Con(m, c) = &head.kind {
            return self.constructor(*m, *c, args, span);
        }
        let prim = match &head.kind {
            ast::ExprKind::Var(name) => self.prim_named(*name),
            ast::ExprKind::Field(..) => self.member_alias(head),
            _ => None,
        };
        if let (Some(p @ Prim::Io(io)), [path], Some(want)) = (prim, args, want)
            && io.reads_typed()
        {
            let t = self.resolve_deep(want);
            if super::special::settled(&t) {
                return self.read_as(p, path, t, span);
            }
        }
        if let (Some(Prim::HigherOrder(HigherOrderFn::Along)), [axis, f]) = (prim, args) {
            return self.along_of(axis, f, want, span);
        }
        if let Some(p) = prim
            && let Some(e) = self.apply_prim(p, args, span)
        {
            return e;
        }
        // A function literal gets a function type as its expectation, so that the sizes it names stay local to it.
        let any = is_lambda(expr).then(|| self.meta());
        let callee = self.infer(expr, any.as_ref());
        self.apply_value(callee, &describe(expr), args, want, span)
    }

    /// Primitives with typing rules of their own, applied to all their arguments.
    fn apply_prim(&mut self, prim: Prim, args: &[&ast::Expr], span: Span) -> Option<core::Expr> {
        let row = prim.row();
        let arity = if prim == Prim::Array(ArrayFn::Arange) { args.len().clamp(1, 3) } else { row.arity as usize };
        if args.len() + 1 == arity && matches!(prim, Prim::Array(ArrayFn::Reshape)) {
            return Some(self.reshaper(args[0], span));
        }
        if args.len() < arity || arity == 0 {
            return None;
        }
        if let ([e], Prim::Reduction(p), true) = (args, prim, reduces(prim))
            && let ast::ExprKind::For(generators, body) = &e.kind
        {
            return Some(self.comprehension(ForKind::Reduce(p), generators, body, span));
        }
        let (now, later) = args.split_at(arity);
        let applied = match row.typing {
            Typing::Elementwise(_) => {
                let args = now.iter().map(|a| self.infer(a, None)).collect();
                self.arith(prim, args, span)
            }
            Typing::Special(_) => self.special(prim, now, span)?,
            Typing::Scheme(_)
                if matches!(
                    prim,
                    Prim::Derivative(
                        DerivativeFn::Jacobian | DerivativeFn::Jacfwd | DerivativeFn::Jacrev | DerivativeFn::Hessian
                    )
                ) =>
            {
                self.jacobian(prim, [now[0], now[1]], span)
            }
            Typing::Scheme(_) => return None,
        };
        if later.is_empty() {
            return Some(applied);
        }
        if !matches!(self.resolve(&applied.ty), Ty::Fun(..) | Ty::Lin(..)) && !self.may_be_function(&applied.ty.clone())
        {
            let d = self.too_many_for_prim(prim, args, arity);
            self.report(d);
            return Some(self.error_expr(span));
        }
        Some(self.apply_value(applied, &format!("`{}`", prim.name()).into(), later, None, span))
    }

    /// Applies an inferred callee to arguments, left to right but function literals last: the other arguments then
    /// determine the types of their parameters.
    pub(super) fn apply_value(
        &mut self,
        callee: core::Expr,
        name: &Rc<str>,
        args: &[&ast::Expr],
        want: Option<&Ty>,
        span: Span,
    ) -> core::Expr {
        let (params, result, wrong) = self.parameters_of(&callee, args.len());
        if let Some(other) = wrong {
            let errors = self.diags.len();
            for (i, a) in args.iter().enumerate() {
                match params.get(i) {
                    Some(p) => drop(self.argument(a, p, (i, args.len()), name)),
                    None => drop(self.infer(a, None)),
                }
            }
            // If an argument had an error itself, that may be the cause.
            if self.diags.len() == errors {
                let i = params.len();
                let d = match i {
                    0 => self.not_a_function(args[0], &callee, name, &other),
                    _ if matches!(other, Ty::Unit) => self.effect_with_extra_arguments(&callee, args, (i, name)),
                    _ => self.more_arguments(name, args, i),
                };
                self.report(d);
            }
            return self.error_expr(span);
        }
        // The expected result type can determine argument types. It is only a hint, so a mismatch is not reported here.
        if let Some(w) = want {
            self.hint_result(&result, w);
        }
        let args = self.arguments(args, &params, name);
        mk(ExprKind::App(callee, args), result, span)
    }

    /// Infers arguments, function literals last, because the other arguments determine the types of their parameters.
    /// If one of the others has an error, the literals get no expected types.
    fn arguments(&mut self, args: &[&ast::Expr], params: &[Ty], name: &Rc<str>) -> Vec<core::Expr> {
        let mut out: Vec<Option<core::Expr>> = vec![None; args.len()];
        let errors = self.diags.len();
        for (i, a) in args.iter().enumerate().filter(|(_, a)| !is_lambda(a)) {
            out[i] = Some(self.argument(a, &params[i], (i, args.len()), name));
        }
        let sound = self.diags.len() == errors;
        for (i, a) in args.iter().enumerate().filter(|(_, a)| is_lambda(a)) {
            self.solve_ops();
            out[i] = Some(match sound {
                true => self.argument(a, &params[i], (i, args.len()), name),
                false => self.infer(a, None),
            });
        }
        out.into_iter().flatten().collect()
    }

    /// Uses the expected type if the result type is a bare, unconstrained variable.
    fn hint_result(&mut self, t: &Ty, want: &Ty) {
        if let (Ty::Meta(m), w @ (Ty::Fun(..) | Ty::Record(_) | Ty::Tuple(_) | Ty::Data(..))) =
            (self.resolve(t), self.resolve(want))
            && self.vars[m].has(Class::Data)
        {
            let _ = self.unify(&Ty::Meta(m), &w);
        }
    }

    pub(super) fn argument(
        &mut self,
        expr: &ast::Expr,
        param: &Ty,
        (i, total): (usize, usize),
        name: &Rc<str>,
    ) -> core::Expr {
        let why = Reason::argument(i, total, name);
        let want = self.open_result(param, name);
        let checked = self.infer(expr, Some(&want));
        if let (Ty::Meta(_), false) = (self.resolve(&checked.ty), self.ops.is_empty()) {
            self.solve_ops();
        }
        // The result of a function to differentiate gets its own message.
        if self.gradient_result(name, param, &checked.ty, expr.span) {
            return checked;
        }
        if !self.expect(param, &checked.ty.clone(), super::exprs::last_span(expr), &why)
            && self.diags.last().is_some_and(|d| d.code == "E0211")
        {
            self.explain_nonlinear(expr);
        }
        checked
    }

    /// Replaces the result type of a differentiated function by a fresh one, so that the message can say what the
    /// operator requires.
    fn open_result(&mut self, param: &Ty, name: &str) -> Ty {
        match self.resolve(param) {
            Ty::Fun(p, _) if matches!(name, "`jacobian`" | "`jacfwd`" | "`jacrev`") => fun((*p).clone(), self.meta()),
            _ => param.clone(),
        }
    }

    /// The types of the first `n` parameters and of the result. If the callee takes fewer: also the type that is
    /// applied although it is not a function.
    pub(super) fn parameters_of(&mut self, callee: &core::Expr, n: usize) -> (Vec<Ty>, Ty, Option<Ty>) {
        let mut params = Vec::new();
        let mut ty = callee.ty.clone();
        for _ in 0..n {
            match self.resolve(&ty) {
                Ty::Fun(p, r) | Ty::Lin(p, r) => {
                    params.push((*p).clone());
                    ty = (*r).clone();
                }
                Ty::Meta(_) if self.may_be_function(&ty) => {
                    let (p, r) = (self.meta(), self.meta());
                    self.expect(&fun(p.clone(), r.clone()), &ty, callee.span, &Reason::new("the applied expression"));
                    params.push(p);
                    ty = r;
                }
                other => return (params, ty, Some(other)),
            }
        }
        (params, ty, None)
    }

    /// Whether the type may still become a function type.
    fn may_be_function(&mut self, t: &Ty) -> bool {
        self.solve_ops();
        let Ty::Meta(m) = self.resolve(t) else { return matches!(self.resolve(t), Ty::Fun(..) | Ty::Lin(..)) };
        let meta = &self.vars[m];
        !meta.scalar && meta.classes.iter().all(|c| c.0 == Class::Show) && !self.ops.gives(m, &|t| self.resolve(t))
    }

    /// Reports `grad f` for an `f` whose result is not a number.
    fn gradient_result(&mut self, name: &str, param: &Ty, actual: &Ty, span: Span) -> bool {
        let (Ty::Fun(_, s), Ty::Fun(_, r) | Ty::Lin(_, r)) = (self.resolve(param), self.resolve(actual)) else {
            return false;
        };
        let result = self.resolve(&r);
        let gives = match name {
            "`grad`" | "`value_and_grad`" | "`hvp`" | "`hessian`" | "`gradcheck`" => {
                let is_number = matches!(self.resolve(&s), Ty::Meta(m) if self.vars[m].has(Class::Real));
                match &result {
                    Ty::Float | Ty::F32 | Ty::Meta(_) | Ty::Var(_) => return false,
                    _ if !is_number => return false,
                    Ty::Array(..) => ResultKind::Array,
                    Ty::Int => ResultKind::Int,
                    Ty::Fun(..) | Ty::Lin(..) => ResultKind::Function,
                    _ => ResultKind::Other,
                }
            }
            _ => return false,
        };
        let d = WrongResult { op: name, span, ty: self.show(&result), gives }.diagnostic();
        self.report(d);
        true
    }

    /// `[| p |] * e`.
    pub(super) fn guard(&mut self, p: &ast::Expr, rest: Option<ast::Expr>, expr: &ast::Expr, span: Span) -> core::Expr {
        let cond = self.check(p, &Ty::Bool, &Reason::new("the condition of `[| |]`"));
        let body = match rest {
            Some(a) => {
                let whole = ast::Expr {
                    kind: ast::ExprKind::Bin(ast::BinOp::Mul, expr.span, Box::new(a), Box::new(expr.clone())),
                    span,
                };
                self.infer(&whole, None)
            }
            None => self.infer(expr, None),
        };
        let ty = body.ty.clone();
        self.require(Class::Diff, &ty, expr.span, "`[| |]`");
        mk(ExprKind::Guard(cond, body, pending(&ty)), ty, span)
    }
}

/// The expression without its parentheses.
pub(super) fn strip(e: &ast::Expr) -> &ast::Expr {
    match &e.kind {
        ast::ExprKind::Paren(e) => strip(e),
        _ => e,
    }
}

/// Whether an expression is a function literal, whose type the other arguments help to infer. `along 0 f` is one too:
/// it lacks its array.
fn is_lambda(e: &ast::Expr) -> bool {
    let along = |f: &ast::Expr| matches!(strip(f).kind, ast::ExprKind::Var(name) if name.as_str() == "along");
    matches!(strip(e).kind, ast::ExprKind::Fun(..) | ast::ExprKind::Lin(..) | ast::ExprKind::Section(_))
        || matches!(&strip(e).kind, ast::ExprKind::App(f, args) if args.len() == 2 && along(f))
}

pub(super) fn describe(f: &ast::Expr) -> Rc<str> {
    match &strip(f).kind {
        ast::ExprKind::Var(n) => format!("`{n}`").into(),
        ast::ExprKind::Con(_, c) => format!("`{}`", c.name).into(),
        ast::ExprKind::Field(r, n) => match &r.kind {
            ast::ExprKind::Var(m) => format!("`{m}.{}`", n.name).into(),
            ast::ExprKind::Con(None, m) => format!("`{}.{}`", m.name, n.name).into(),
            _ => format!("`.{}`", n.name).into(),
        },
        _ => "this function".into(),
    }
}

/// Primitives that can reduce a comprehension without building its array.
pub(super) fn reduces(p: Prim) -> bool {
    matches!(
        p,
        Prim::Reduction(
            ReductionFn::Sum
                | ReductionFn::Prod
                | ReductionFn::Maximum
                | ReductionFn::Minimum
                | ReductionFn::Mean
                | ReductionFn::Any
                | ReductionFn::All
        )
    )
}

/// The first factor of `a * b * c`, and the others, each with the span of the product that it ends.
pub(super) fn factors(e: &ast::Expr) -> (&ast::Expr, Vec<(&ast::Expr, Span)>) {
    let (mut first, mut others) = (e, Vec::new());
    while let ast::ExprKind::Bin(ast::BinOp::Mul, _, a, b) = &first.kind {
        others.push((&**b, first.span));
        first = a;
    }
    others.reverse();
    (first, others)
}

/// The product of the factors after the bracket in `[| p |] * a * ...`, without the last one.
pub(super) fn guarded(others: &[(&ast::Expr, Span)]) -> Option<ast::Expr> {
    let mut factors = others.iter().map(|(e, _)| (*e).clone());
    let first = factors.next()?;
    Some(factors.fold(first, |a, b| ast::Expr {
        span: a.span.to(b.span),
        kind: ast::ExprKind::Bin(ast::BinOp::Mul, b.span, Box::new(a), Box::new(b)),
    }))
}

/// Calls `f` on an expression and everything inside it.
pub(super) fn walk(e: &ast::Expr, f: &mut dyn FnMut(&ast::Expr)) {
    stacker::maybe_grow(32 * 1024, 1024 * 1024, || {
        f(e);
        for c in children(e) {
            walk(c, f);
        }
    });
}

fn children(expr: &ast::Expr) -> Vec<&ast::Expr> {
    use ast::ExprKind as K;
    match &expr.kind {
        K::Lit(_) | K::Var(_) | K::Con(..) | K::Section(_) | K::Error => Vec::new(),
        K::Interp(parts) => parts
            .iter()
            .filter_map(|p| match p {
                ast::StrPart::Expr(e) => Some(e),
                ast::StrPart::Text(_) => None,
            })
            .collect(),
        K::App(f, args) => std::iter::once(&**f).chain(args).collect(),
        K::Bin(_, _, a, b) => vec![a, b],
        K::Neg(a) | K::Fun(_, a) | K::Lin(_, a) | K::Paren(a) | K::Field(a, _) | K::Iverson(a) | K::Ann(a, _) => {
            vec![a]
        }
        K::Block(stmts) => stmts
            .iter()
            .flat_map(|s| match s {
                ast::Stmt::Let(g, _) => g.bindings.iter().map(|b| &b.body).collect(),
                ast::Stmt::Expr(e) => vec![e],
            })
            .collect(),
        K::If(c, a, b) => [Some(&**c), Some(&**a), b.as_deref()].into_iter().flatten().collect(),
        K::Match(s, arms) => {
            std::iter::once(&**s).chain(arms.iter().flat_map(|a| a.guard.iter().chain([&a.body]))).collect()
        }
        K::Tuple(parts) | K::Array(parts) => parts.iter().collect(),
        K::Record(fields) => fields.iter().map(|(_, e)| e).collect(),
        K::Update(r, changes) => std::iter::once(&**r).chain(changes.iter().flat_map(ast::Change::parts)).collect(),
        K::Index(a, args) => std::iter::once(&**a).chain(args.iter().flat_map(ast::IndexArg::parts)).collect(),
        K::For(generators, body) => generators.iter().filter_map(ast::Generator::expr).chain([&**body]).collect(),
        K::Loop(_, init, kind, body) => vec![init, kind.expr(), body],
    }
}

/// Names that are bound somewhere inside an expression.
pub(super) fn bound_names(e: &ast::Expr, out: &mut Vec<Symbol>) {
    walk(e, &mut |e| match &e.kind {
        ast::ExprKind::Fun(ps, _) => ps.iter().for_each(|p| pat_names(p, out)),
        ast::ExprKind::Lin(p, _) => pat_names(p, out),
        ast::ExprKind::Loop(p, _, kind, _) => {
            pat_names(p, out);
            match kind {
                ast::LoopKind::For(i, _) => out.push(i.name),
                ast::LoopKind::In(p, _) => pat_names(p, out),
                ast::LoopKind::While(_) => {}
            }
        }
        ast::ExprKind::For(generators, _) => generators.iter().for_each(|g| super::comprehensions::names_of(g, out)),
        ast::ExprKind::Match(_, arms) => arms.iter().for_each(|a| pat_names(&a.pat, out)),
        ast::ExprKind::Block(stmts) => {
            for s in stmts {
                if let ast::Stmt::Let(g, _) = s {
                    for b in &g.bindings {
                        pat_names(&b.pat, out);
                        b.params.iter().for_each(|p| pat_names(p, out));
                    }
                }
            }
        }
        _ => {}
    });
}

pub(super) fn pat_names(pattern: &ast::Pat, out: &mut Vec<Symbol>) {
    match &pattern.kind {
        ast::PatKind::Var(n) => out.push(*n),
        ast::PatKind::Tuple(ps) | ast::PatKind::Con(_, _, ps) | ast::PatKind::Array(ps) | ast::PatKind::Or(ps) => {
            ps.iter().for_each(|p| pat_names(p, out));
        }
        ast::PatKind::Record(fs, _) => fs.iter().for_each(|(_, p)| pat_names(p, out)),
        ast::PatKind::As(p, n) => {
            out.push(n.name);
            pat_names(p, out);
        }
        ast::PatKind::Ann(p, _) => pat_names(p, out),
        ast::PatKind::Wild | ast::PatKind::Lit(_) | ast::PatKind::Error => {}
    }
}

/// A name with fields and indices that mentions none of `bound`, so that it is cheap to evaluate outside their scope.
pub(super) fn is_path(e: &ast::Expr, bound: &[Symbol]) -> bool {
    let mut ok = true;
    walk(e, &mut |e| match &e.kind {
        ast::ExprKind::Var(n) => ok &= !bound.contains(n),
        ast::ExprKind::Field(..)
        | ast::ExprKind::Index(..)
        | ast::ExprKind::Lit(_)
        | ast::ExprKind::Paren(_)
        | ast::ExprKind::Con(..) => {}
        _ if super::slices::from_end(e).is_some() => {}
        _ => ok = false,
    });
    ok
}

/// Whether two paths are textually equal.
pub(super) fn same_path(a: &ast::Expr, b: &ast::Expr) -> bool {
    use ast::ExprKind as K;
    match (&strip(a).kind, &strip(b).kind) {
        (K::Var(x), K::Var(y)) => x == y,
        (K::Field(x, f), K::Field(y, g)) => f.name == g.name && same_path(x, y),
        (K::Lit(x), K::Lit(y)) => x == y,
        _ => false,
    }
}

/// Whether the sizes of arrays may change in the body of a loop.
pub(super) fn changes_sizes(e: &ast::Expr) -> bool {
    let mut found = false;
    walk(e, &mut |e| match &e.kind {
        ast::ExprKind::Bin(ast::BinOp::Append, ..) => found = true,
        ast::ExprKind::Var(n) => {
            found |= matches!(n.as_str(), "concat" | "take" | "drop" | "split" | "filter" | "partition");
        }
        ast::ExprKind::Index(_, args) => found |= args.iter().any(|a| matches!(a, ast::IndexArg::Slice(..))),
        _ => {}
    });
    found
}

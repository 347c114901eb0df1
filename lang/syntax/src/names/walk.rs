//! The names in expressions.

use super::{Binder, Meaning, NameKind, Resolver};
use crate::ast::{Arm, Change, Expr, ExprKind, Generator, IndexArg, LoopKind, Pat, PathStep, Stmt, StrPart};

impl Resolver<'_> {
    pub(super) fn expr(&mut self, e: &Expr) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.parts(e));
    }

    fn all<'e>(&mut self, es: impl IntoIterator<Item = &'e Expr>) {
        es.into_iter().for_each(|e| self.expr(e));
    }

    fn parts(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Lit(_) | ExprKind::Section(_) | ExprKind::Error => {}
            ExprKind::Interp(parts) => self.all(parts.iter().filter_map(|p| match p {
                StrPart::Text(_) => None,
                StrPart::Expr(e) => Some(e),
            })),
            ExprKind::Var(name) => self.name(NameKind::Value, *name, expr.span),
            ExprKind::Con(module, con) => self.member(*module, NameKind::Constructor, *con),
            ExprKind::App(f, args) => self.all([&**f].into_iter().chain(args)),
            ExprKind::Bin(_, _, a, b) => self.all([&**a, &**b]),
            ExprKind::Neg(a) | ExprKind::Paren(a) | ExprKind::Iverson(a) => self.expr(a),
            ExprKind::Fun(params, body) => self.function(params, body, Binder::Parameter),
            ExprKind::Lin(p, body) => self.function(std::slice::from_ref(&**p), body, Binder::Linear),
            ExprKind::Block(stmts) => self.block(stmts),
            ExprKind::If(c, a, b) => self.all([&**c, &**a].into_iter().chain(b.as_deref())),
            ExprKind::Match(of, arms) => self.match_arms(of, arms),
            ExprKind::Tuple(parts) | ExprKind::Array(parts) => self.all(parts),
            ExprKind::Record(fields) => self.record(fields),
            ExprKind::Update(r, changes) => self.update(r, changes),
            ExprKind::Field(r, name) => self.field(r, *name),
            ExprKind::Index(a, args) => self.all([&**a].into_iter().chain(args.iter().flat_map(IndexArg::parts))),
            ExprKind::For(generators, body) => self.comprehension(generators, body),
            ExprKind::Loop(p, init, kind, body) => self.repeat(p, init, kind, body),
            ExprKind::Ann(e, sig) => self.within(|r| {
                r.signature(sig);
                r.expr(e);
            }),
        }
    }

    fn function(&mut self, params: &[Pat], body: &Expr, how: Binder) {
        self.within(|r| {
            r.parameters(params, how);
            r.expr(body);
        });
    }

    fn block(&mut self, stmts: &[Stmt]) {
        self.within(|r| {
            for s in stmts {
                match s {
                    Stmt::Let(group, _) => r.local_let(group),
                    Stmt::Expr(e) => r.expr(e),
                }
            }
        });
    }

    fn match_arms(&mut self, of: &Expr, arms: &[Arm]) {
        self.expr(of);
        for arm in arms {
            self.within(|r| {
                r.pat(&arm.pat, Binder::Pattern);
                r.all(arm.guard.iter().chain([&arm.body]));
            });
        }
    }

    fn record(&mut self, fields: &[(crate::ast::Ident, Expr)]) {
        for (field, value) in fields {
            self.field_value(*field, value);
        }
    }

    /// `x = e`, or `x` for `x = x`.
    fn field_value(&mut self, field: crate::ast::Ident, value: &Expr) {
        if value.span == field.span {
            self.expr(value);
            if let Some(o) = self.out.last_mut() {
                o.punned = true;
            }
            return;
        }
        self.push(field.name, field.span, NameKind::Field, Meaning::Free, None);
        self.expr(value);
    }

    fn update(&mut self, r: &Expr, changes: &[Change]) {
        self.expr(r);
        for change in changes {
            if let Some(field) = change.field() {
                self.field_value(field, &change.value);
                continue;
            }
            for place in &change.place {
                match place {
                    PathStep::Field(name) => self.push(name.name, name.span, NameKind::Field, Meaning::Free, None),
                    PathStep::At(args, _) => self.all(args.iter().flat_map(IndexArg::parts)),
                }
            }
            self.expr(&change.value);
        }
    }

    /// `e.x`, or a member of a module.
    fn field(&mut self, base: &Expr, name: crate::ast::Ident) {
        let module = match base.kind {
            ExprKind::Con(None, m) => Some(m.name),
            ExprKind::Var(m) if self.find(NameKind::Value, m).is_none() && (self.library)(m) => Some(m),
            _ => None,
        };
        match module {
            Some(m) => {
                self.name(NameKind::Module, m, base.span);
                self.push(name.name, name.span, NameKind::Value, Meaning::Member(m), None);
            }
            None => {
                self.expr(base);
                self.push(name.name, name.span, NameKind::Field, Meaning::Free, None);
            }
        }
    }

    /// The bounds and sources do not see the variables.
    fn comprehension(&mut self, generators: &[Generator], body: &Expr) {
        self.within(|r| {
            r.all(generators.iter().filter_map(Generator::expr));
            for generator in generators {
                match generator {
                    Generator::Index(i, _) => r.bind(NameKind::Value, i.name, i.span, Binder::Index),
                    Generator::Element(p, _) => r.pat(p, Binder::Element),
                }
            }
            r.expr(body);
        });
    }

    fn repeat(&mut self, p: &Pat, init: &Expr, kind: &LoopKind, body: &Expr) {
        self.within(|resolver| {
            resolver.expr(init);
            if let LoopKind::For(_, outside) | LoopKind::In(_, outside) = kind {
                resolver.expr(outside);
            }
            resolver.pat(p, Binder::Pattern);
            match kind {
                LoopKind::For(i, _) => resolver.bind(NameKind::Value, i.name, i.span, Binder::Index),
                LoopKind::In(x, _) => resolver.pat(x, Binder::Element),
                LoopKind::While(c) => resolver.expr(c),
            }
            resolver.expr(body);
        });
    }
}

/// The direct subexpressions, in source order.
pub fn children(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::Lit(_) | ExprKind::Section(_) | ExprKind::Error | ExprKind::Var(_) | ExprKind::Con(..) => Vec::new(),
        ExprKind::Interp(parts) => {
            parts.iter().filter_map(|p| if let StrPart::Expr(e) = p { Some(e) } else { None }).collect()
        }
        ExprKind::App(f, args) => [&**f].into_iter().chain(args).collect(),
        ExprKind::Bin(_, _, a, b) => vec![a, b],
        ExprKind::Neg(a) | ExprKind::Paren(a) | ExprKind::Iverson(a) | ExprKind::Field(a, _) | ExprKind::Ann(a, _) => {
            vec![a]
        }
        ExprKind::Fun(_, body) | ExprKind::Lin(_, body) => vec![body],
        ExprKind::Block(stmts) => stmts
            .iter()
            .flat_map(|s| match s {
                Stmt::Let(group, _) => group.bindings.iter().map(|b| &b.body).collect::<Vec<_>>(),
                Stmt::Expr(e) => vec![e],
            })
            .collect(),
        ExprKind::If(c, a, b) => [&**c, &**a].into_iter().chain(b.as_deref()).collect(),
        ExprKind::Match(of, arms) => {
            [&**of].into_iter().chain(arms.iter().flat_map(|a| a.guard.iter().chain([&a.body]))).collect()
        }
        ExprKind::Tuple(parts) | ExprKind::Array(parts) => parts.iter().collect(),
        ExprKind::Record(fields) => fields.iter().map(|(_, e)| e).collect(),
        ExprKind::Update(r, changes) => [&**r].into_iter().chain(changes.iter().flat_map(Change::parts)).collect(),
        ExprKind::Index(a, args) => [&**a].into_iter().chain(args.iter().flat_map(IndexArg::parts)).collect(),
        ExprKind::For(generators, body) => generators.iter().filter_map(Generator::expr).chain([&**body]).collect(),
        ExprKind::Loop(_, init, kind, body) => vec![init, kind.expr(), body],
    }
}

/// Calls `f` on an expression and on everything inside, outermost first.
pub fn each_expr<'e>(e: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    let mut todo = vec![e];
    while let Some(e) = todo.pop() {
        f(e);
        todo.extend(children(e).into_iter().rev());
    }
}

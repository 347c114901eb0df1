//! What definitions, patterns and annotations bind.

use super::{Binder, NameKind, Resolver};
use crate::ast::{Binding, Constraint, LetGroup, Pat, PatKind, Signature, Size, Type, TypeBody, TypeDecl, TypeKind};

impl Resolver<'_> {
    /// A top-level `let`: without `rec` its names are in scope behind it only.
    pub(super) fn top_let(&mut self, group: &LetGroup) {
        let how = Binder::Item;
        if group.rec {
            group.bindings.iter().for_each(|b| self.pat(&b.pat, how));
        }
        group.bindings.iter().for_each(|b| self.binding(b));
        if !group.rec {
            group.bindings.iter().for_each(|b| self.pat(&b.pat, how));
        }
    }

    /// A `let` in a block. Its names stay in scope.
    pub(super) fn local_let(&mut self, group: &LetGroup) {
        if group.rec {
            group.bindings.iter().for_each(|b| self.pat(&b.pat, Binder::Let));
        }
        group.bindings.iter().for_each(|b| self.binding(b));
        if !group.rec {
            group.bindings.iter().for_each(|b| self.pat(&b.pat, Binder::Let));
        }
    }

    /// Parameters, annotation and body of a definition; not its own names.
    fn binding(&mut self, b: &Binding) {
        self.within(|r| {
            r.parameters(&b.params, Binder::Parameter);
            if let Some(sig) = &b.sig {
                r.signature(sig);
            }
            r.expr(&b.body);
        });
    }

    /// Parameters of a function. Sizes that their types name are in scope as values, under the parameters.
    pub(super) fn parameters(&mut self, params: &[Pat], how: Binder) {
        params.iter().for_each(|p| self.annotations(p));
        params.iter().for_each(|p| self.variables(p, how));
    }

    /// A pattern with its annotations.
    pub(super) fn pat(&mut self, p: &Pat, how: Binder) {
        self.annotations(p);
        self.variables(p, how);
    }

    fn annotations(&mut self, p: &Pat) {
        match &p.kind {
            PatKind::Ann(p, t) => {
                self.ty(t, true);
                self.annotations(p);
            }
            PatKind::Tuple(ps) | PatKind::Array(ps) | PatKind::Or(ps) | PatKind::Con(_, _, ps) => {
                ps.iter().for_each(|p| self.annotations(p));
            }
            PatKind::Record(fields, _) => fields.iter().for_each(|(_, p)| self.annotations(p)),
            PatKind::As(p, _) => self.annotations(p),
            PatKind::Wild | PatKind::Var(_) | PatKind::Lit(_) | PatKind::Error => {}
        }
    }

    fn variables(&mut self, pat: &Pat, how: Binder) {
        match &pat.kind {
            PatKind::Var(name) => self.variable(*name, pat.span, how),
            PatKind::As(p, name) => {
                self.variable(name.name, name.span, how);
                self.variables(p, how);
            }
            PatKind::Tuple(ps) | PatKind::Array(ps) => ps.iter().for_each(|p| self.variables(p, how)),
            PatKind::Or(alternatives) => self.alternatives(alternatives, how),
            PatKind::Con(module, con, ps) => {
                self.member(*module, NameKind::Constructor, *con);
                ps.iter().for_each(|p| self.variables(p, how));
            }
            PatKind::Record(fields, _) => {
                for (field, p) in fields {
                    let punned = p.span == field.span;
                    if !punned {
                        self.push(field.name, field.span, NameKind::Field, super::Meaning::Free, None);
                    }
                    self.variables(p, how);
                    if let (true, Some(o)) = (punned, self.out.last_mut()) {
                        o.punned = true;
                    }
                }
            }
            PatKind::Ann(p, _) => self.variables(p, how),
            PatKind::Wild | PatKind::Lit(_) | PatKind::Error => {}
        }
    }

    fn variable(&mut self, name: crate::symbol::Symbol, span: crate::span::Span, how: Binder) {
        match how {
            Binder::Item => self.define(NameKind::Value, name, span),
            _ => self.bind(NameKind::Value, name, span, how),
        }
    }

    /// The alternatives of a pattern bind the same names: those of the first are meant in all of them.
    fn alternatives(&mut self, alternatives: &[Pat], how: Binder) {
        let from = self.out.len();
        for (i, p) in alternatives.iter().enumerate() {
            let (scope, start) = (self.scope.len(), self.out.len());
            self.variables(p, how);
            if i == 0 {
                continue;
            }
            self.scope.truncate(scope);
            let (first, later) = self.out.split_at_mut(start);
            for o in later.iter_mut().filter(|o| o.binder.is_some()) {
                let same = first[from..].iter().find(|f| f.binder.is_some() && f.name == o.name);
                if let Some(first) = same {
                    (o.meaning, o.binder) = (first.meaning, None);
                }
            }
        }
    }

    pub(super) fn signature(&mut self, sig: &Signature) {
        for c in &sig.constraints {
            match c {
                Constraint::Class(_, v) => self.type_variable(v.name, v.span),
                Constraint::Operator(_, args, result) => {
                    args.iter().chain([result]).for_each(|t| self.ty(t, false));
                }
            }
        }
        self.ty(&sig.ty, false);
    }

    /// A type variable: the first one of its name binds it.
    fn type_variable(&mut self, name: crate::symbol::Symbol, span: crate::span::Span) {
        match self.find(NameKind::TypeVariable, name) {
            Some(_) => self.name(NameKind::TypeVariable, name, span),
            None => self.bind(NameKind::TypeVariable, name, span, Binder::Pattern),
        }
    }

    /// A type as written. `of_parameter`: sizes that it names first are values in the function.
    pub(super) fn ty(&mut self, t: &Type, of_parameter: bool) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.type_parts(t, of_parameter));
    }

    fn type_parts(&mut self, ty: &Type, of_parameter: bool) {
        match &ty.kind {
            TypeKind::Var(name) => self.type_variable(*name, ty.span),
            TypeKind::Con(module, name, args) => {
                self.member(*module, NameKind::Type, *name);
                args.iter().for_each(|a| self.ty(a, of_parameter));
            }
            TypeKind::Fun(a, b) | TypeKind::Lin(a, b) => {
                self.ty(a, of_parameter);
                self.ty(b, of_parameter);
            }
            TypeKind::Tuple(parts) => parts.iter().for_each(|p| self.ty(p, of_parameter)),
            TypeKind::Record(fields, row) => {
                for (field, t) in fields {
                    self.push(field.name, field.span, NameKind::Field, super::Meaning::Free, None);
                    self.ty(t, of_parameter);
                }
                if let Some(Some(row)) = row {
                    self.type_variable(row.name, row.span);
                }
            }
            TypeKind::Array(size, element) => {
                if let Size::Var(name) = size {
                    self.size(*name, of_parameter);
                }
                self.ty(element, of_parameter);
            }
            TypeKind::Hole | TypeKind::Error => {}
        }
    }

    fn size(&mut self, name: crate::ast::Ident, of_parameter: bool) {
        if self.find(NameKind::Size, name.name).is_some() {
            return self.name(NameKind::Size, name.name, name.span);
        }
        self.bind(NameKind::Size, name.name, name.span, Binder::Pattern);
        if of_parameter {
            self.scope.push((NameKind::Value, name.name, name.span));
        }
    }

    /// `type ... and ...`: the types know each other.
    pub(super) fn declarations(&mut self, decls: &[TypeDecl]) {
        for d in decls {
            self.define(NameKind::Type, d.name.name, d.name.span);
        }
        for d in decls {
            self.within(|r| {
                d.params.iter().for_each(|p| r.bind(NameKind::TypeVariable, p.name, p.span, Binder::Parameter));
                match &d.body {
                    TypeBody::Alias(t) => r.ty(t, false),
                    TypeBody::Sum(cons) => {
                        for c in cons {
                            r.define(NameKind::Constructor, c.name.name, c.name.span);
                            c.fields.iter().for_each(|t| r.ty(t, false));
                        }
                    }
                }
            });
        }
    }
}

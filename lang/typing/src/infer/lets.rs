//! Definitions: functions with their sizes, `let` groups.

use super::exprs::LambdaContext;
use super::generalise::DeferredConstraints;
use super::pats::PatVar;
use super::scope::{BoundName, Recursive};
use super::sizes::{open_sizes, size_places, size_vars};
use super::{Infer, RecKey, fun, map_type, mk};
use crate::core::{self, ExprKind, Lambda, Local, Param, SizeAt, SizeRep, Sizes};
use crate::errors::mismatch::{self, PromiseBroken};
use crate::errors::names;
use crate::errors::reason::Reason;
use crate::patterns::TPat;
use crate::ty::{Scheme, Size, SizeVar, Ty};
use adl_syntax::ast;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

/// An inferred and generalised binding.
pub(super) struct InferredBinding {
    pub name: Symbol,
    pub span: Span,
    pub scheme: Scheme,
    pub expr: core::Expr,
}

/// A member of `let ... and ...`.
enum LetMember {
    Name(Local, InferredBinding),
    Pattern(Local, core::Expr, TPat, Vec<PatVar>, Span),
}

/// The known properties of a function before its body is inferred.
pub(super) struct FunctionHead<'a> {
    pub params: &'a [ast::Pat],
    /// Parameter types from the context.
    pub wants: &'a [Ty],
    /// The result type from the context.
    pub ret: Option<&'a Ty>,
    pub body: &'a ast::Expr,
    pub linear: bool,
    pub name: Option<Symbol>,
    pub span: Span,
    /// The annotation of its result.
    pub sig: Option<&'a ast::Signature>,
    /// The type that recursive uses in its own body have.
    pub whole: Option<&'a Ty>,
    /// It is used where a function is expected. Sizes that its parameters name are then local to it.
    pub inner: bool,
}

/// A parameter: its local, and the pattern that destructures it.
struct Parameter {
    local: Local,
    ty: Ty,
    pat: TPat,
    vars: Vec<PatVar>,
    span: Span,
    /// Its annotation names sizes, so it has not been unified with the context's type yet.
    own: bool,
}

impl Infer<'_> {
    /// A function whose parameters are patterns.
    pub(super) fn function(&mut self, func: FunctionHead<'_>) -> core::Expr {
        let (scope, type_names, size_names) =
            (self.scope.len(), self.annotated.types.clone(), self.annotated.sizes.clone());
        let parts = self.parameters(func.params, func.wants);
        let ret = match func.sig {
            Some(sig) => {
                let t = self.signature(sig);
                self.closed_result(&parts, &size_names, t)
            }
            None => func.ret.cloned().unwrap_or_else(|| self.meta()),
        };
        if let Some(t) = func.whole {
            // Recursive uses have the type of the annotations. A mismatch is reported at the end.
            let own = parts.iter().rev().fold(ret.clone(), |r, p| fun(p.ty.clone(), r));
            let _ = self.unify(t, &own);
        }
        let sizes = self.entry_sizes(&parts, func.params);
        let outside = self.outside_sizes(&func, &sizes);
        // An expected result with undetermined sizes would capture the sizes of this function.
        let ret = if !outside.is_empty() && self.has_open_sizes(&ret) { self.meta() } else { ret };
        let outward = self.outward(&func, &parts, &outside);
        for p in &parts {
            self.push_vars(&p.vars);
        }
        self.enclosing.functions += 1;
        let body = self.function_body(&func, &parts, &ret, sizes);
        self.enclosing.functions -= 1;
        self.scope.truncate(scope);
        self.annotated.types = type_names;
        self.annotated.sizes = size_names;
        let mut ty = ret;
        for (i, t) in outward.into_iter().enumerate().rev() {
            ty = if func.linear && i == 0 { Ty::Lin(Rc::new(t), Rc::new(ty)) } else { fun(t, ty) };
        }
        if !outside.is_empty() {
            ty = with_sizes(&self.resolve_deep(&ty), &outside);
        }
        let params = parts
            .iter()
            .zip(func.params)
            .map(|(part, p)| Param { local: part.local, name: pattern_name(p), ty: part.ty.clone() })
            .collect();
        mk(ExprKind::Lam(Rc::new(Lambda { params, body, linear: func.linear, name: func.name })), ty, func.span)
    }

    fn parameters(&mut self, params: &[ast::Pat], wants: &[Ty]) -> Vec<Parameter> {
        let mut out = Vec::new();
        let mut seen: Vec<PatVar> = Vec::new();
        for (i, param) in params.iter().enumerate() {
            // A size that the annotation names must be found in the annotated type itself: the context may know it as a
            // constant.
            let own = self.names_sizes(param);
            let ty = wants.get(i).filter(|_| !own).cloned().unwrap_or_else(|| self.meta());
            let before = seen.len();
            let pat = self.pat(param, &ty, &mut seen);
            let local = match &pat {
                TPat::Var(x) => *x,
                _ => self.local(),
            };
            out.push(Parameter { local, ty, pat, vars: seen[before..].to_vec(), span: param.span, own });
        }
        out
    }

    /// The sizes that a function inside another expression binds, each with the size that the outside sees.
    fn outside_sizes(&mut self, f: &FunctionHead<'_>, sizes: &Sizes) -> HashMap<SizeVar, Size> {
        if !f.inner {
            return HashMap::new();
        }
        sizes.binds.iter().map(|(v, ..)| (*v, self.size_meta())).collect()
    }

    /// The parameter types as the context sees them, after those that name sizes were unified with the expected ones.
    fn outward(&mut self, f: &FunctionHead<'_>, parts: &[Parameter], outside: &HashMap<SizeVar, Size>) -> Vec<Ty> {
        let mut outward: Vec<Ty> = parts.iter().map(|p| p.ty.clone()).collect();
        for (i, want) in f.wants.iter().enumerate().filter(|(i, _)| parts[*i].own) {
            let own = with_sizes(&self.resolve_deep(&parts[i].ty), outside);
            if !self.expect(&own, want, parts[i].span, &Reason::new("what this pattern takes apart")) {
                outward[i] = want.clone();
            }
        }
        outward
    }

    fn has_open_sizes(&self, t: &Ty) -> bool {
        let mut open = false;
        map_type(&self.resolve_deep(t), &mut |_| None, &mut |s| {
            open |= matches!(s, Size::Meta(_));
            s
        });
        open
    }

    /// Whether the annotations of a pattern name a size without a value so far.
    fn names_sizes(&self, p: &ast::Pat) -> bool {
        let named = |name: &ast::Ident| self.annotated.sizes.get(&name.name).is_none_or(|(_, local)| local.is_none());
        match &p.kind {
            ast::PatKind::Ann(p, t) => written_sizes(t, &named) || self.names_sizes(p),
            ast::PatKind::Tuple(ps) | ast::PatKind::Or(ps) | ast::PatKind::Array(ps) | ast::PatKind::Con(_, _, ps) => {
                ps.iter().any(|p| self.names_sizes(p))
            }
            ast::PatKind::Record(fs, _) => fs.iter().any(|(_, p)| self.names_sizes(p)),
            ast::PatKind::As(p, _) => self.names_sizes(p),
            ast::PatKind::Wild | ast::PatKind::Var(_) | ast::PatKind::Lit(_) | ast::PatKind::Error => false,
        }
    }

    /// Infers the body, which first destructures the parameters and checks their sizes.
    fn function_body(&mut self, func: &FunctionHead<'_>, parts: &[Parameter], ret: &Ty, sizes: Sizes) -> core::Expr {
        let what = match func.name {
            Some(n) => format!("the result of `{n}`"),
            None => "the result of this function".to_owned(),
        };
        let why = match func.sig {
            Some(sig) => Reason::said(what, sig.ty.span, "the result's type is given here"),
            None => Reason::new(what),
        };
        let before = self.diags.len();
        let mut core = self.check(func.body, ret, &why);
        if let Some(sig) = func.sig.filter(|s| matches!(s.ty.kind, ast::TypeKind::Fun(..)) && self.diags.len() > before)
        {
            mismatch::whole_type_for_result(&mut self.diags[before], sig.ty.span);
        }
        if func.sig.is_some() || func.ret.is_some() {
            core = self.sized(core, ret, func.sig.map_or(func.body.span, |s| s.ty.span));
        }
        for p in parts.iter().rev() {
            core = self.destructure(p.local, &p.ty, p.pat.clone(), &p.vars, p.span, core);
        }
        if sizes.binds.is_empty() && sizes.checks.is_empty() {
            return core;
        }
        let (t, s) = (core.ty.clone(), core.span);
        mk(ExprKind::Sizes(sizes, core), t, s)
    }

    /// Sizes that only the result type names are determined by the returned value.
    fn closed_result(&self, parts: &[Parameter], outer: &HashMap<Symbol, (SizeVar, Option<Local>)>, ret: Ty) -> Ty {
        let mut known = self.known_sizes(outer);
        for p in parts {
            size_vars(&self.resolve_deep(&p.ty), &mut known);
        }
        open_sizes(&ret, &known)
    }

    /// Binds the sizes that parameter types name for the first time, and checks the others. Brings the names into
    /// scope.
    fn entry_sizes(&mut self, parts: &[Parameter], params: &[ast::Pat]) -> Sizes {
        let mut found: Vec<(Size, SizeAt)> = Vec::new();
        for (part, p) in parts.iter().zip(params) {
            let ty = self.resolve_deep(&part.ty);
            size_places(&ty, part.local, &mut Vec::new(), part.span, annotated(p), &mut found);
        }
        let mut sizes = Sizes { binds: Vec::new(), checks: Vec::new() };
        for (size, at) in found {
            match size {
                Size::Const(n, _) => sizes.checks.push((at, SizeRep::Const(n), n.to_string())),
                Size::Var(var) => {
                    let Some((name, known)) = self.annotated.size_name(var) else {
                        continue;
                    };
                    match known {
                        Some(l) => sizes.checks.push((at, SizeRep::Local(l), name.to_string())),
                        None => {
                            let local = self.local();
                            self.annotated.sizes.insert(name, (var, Some(local)));
                            self.hidden.sizes.insert(var, local);
                            self.scope.push(BoundName {
                                name,
                                local,
                                scheme: Rc::new(Scheme::mono(Ty::Int)),
                                recursive: None,
                                size: Some(var),
                                arity: 0,
                                closed: Cell::default(),
                            });
                            sizes.binds.push((var, local, name, at));
                        }
                    }
                }
                Size::Meta(_) | Size::Unknown => {}
            }
        }
        sizes
    }

    /// Infers the right-hand side of a binding, one level up.
    fn binding_body(&mut self, binding: &ast::Binding, want: Option<&Ty>) -> core::Expr {
        let name = pattern_name(&binding.pat);
        if binding.params.is_empty() {
            let Some(sig) = &binding.sig else {
                return match want {
                    Some(t) => self.check_named(&binding.body, t, name),
                    None => self.infer_named(&binding.body, None, name),
                };
            };
            let (type_names, size_names) = (self.annotated.types.clone(), self.annotated.sizes.clone());
            let ty = self.signature(sig);
            let ty = self.closed_signature(&ty, &size_names);
            let what = name.map_or("the value of this pattern".to_owned(), |n| format!("the value of `{n}`"));
            let expr = self.infer_named(&binding.body, Some(&ty), name);
            self.expect(
                &ty,
                &expr.ty.clone(),
                binding.body.span,
                &Reason::said(what, sig.ty.span, "its type is given here"),
            );
            let e = self.sized(expr, &ty, sig.ty.span);
            self.annotated.types = type_names;
            self.annotated.sizes = size_names;
            if let Some(w) = want {
                self.expect(w, &e.ty.clone(), binding.body.span, &Reason::new("this definition"));
            }
            return e;
        }
        let function = self.function(FunctionHead {
            params: &binding.params,
            wants: &[],
            ret: None,
            body: &binding.body,
            linear: false,
            name,
            span: binding.span,
            sig: binding.sig.as_ref(),
            whole: want,
            inner: false,
        });
        if let Some(w) = want {
            self.expect(w, &function.ty.clone(), binding.span, &Reason::new("this definition"));
        }
        function
    }

    fn check_named(&mut self, e: &ast::Expr, t: &Ty, name: Option<Symbol>) -> core::Expr {
        let c = self.infer_named(e, Some(t), name);
        self.expect(t, &c.ty.clone(), e.span, &Reason::new("this definition"));
        c
    }

    /// A lambda that is the value of a binding takes its name, for call stacks.
    fn infer_named(&mut self, e: &ast::Expr, want: Option<&Ty>, name: Option<Symbol>) -> core::Expr {
        if let ast::ExprKind::Fun(params, body) = &e.kind {
            let out = self.lambda(params, body, want, LambdaContext { linear: false, inner: false, name }, e.span);
            self.record_type(e.span, &out.ty);
            return out;
        }
        self.infer(e, want)
    }

    /// Infers one level up and generalises. Constrained variables are included if `general` returns true for the type.
    pub(super) fn enclosed(
        &mut self,
        f: impl FnOnce(&mut Self) -> core::Expr,
        general: impl FnOnce(&Self, &Ty) -> bool,
    ) -> (Scheme, core::Expr) {
        self.vars.level += 1;
        let (mark, given, promised) = (self.ops.mark(), self.annotated.given.len(), self.annotated.promised.len());
        let sizes = self.annotated.sizes.clone();
        let e = f(self);
        let function = general(self, &e.ty);
        let left = self.end_level(&e.ty, function, (mark, given), e.span);
        self.annotated.sizes = sizes;
        let scheme = self.generalise(&e.ty, function, left, e.span);
        self.check_promised_variables(promised);
        let e = self.abstracted(e, &scheme);
        (scheme, e)
    }

    /// Ends a level and returns the constraints for its uses. Operators of a value that is not a function are solved
    /// first; the variables that this creates belong to it.
    fn end_level(&mut self, ty: &Ty, function: bool, (mark, given): (u32, usize), span: Span) -> DeferredConstraints {
        let ops = match function {
            true => self.defer_to_uses(ty, self.vars.level - 1, mark, span),
            false => {
                self.settle_ops(self.vars.level - 1, mark);
                Vec::new()
            }
        };
        self.vars.level -= 1;
        DeferredConstraints { ops, given: self.annotated.given.split_off(given) }
    }

    /// Whether a type is a function, or a tuple, record or declared data that contains functions.
    pub(super) fn holds_function(&self, t: &Ty) -> bool {
        match self.resolve(t) {
            Ty::Fun(..) | Ty::Lin(..) => true,
            Ty::Tuple(parts) | Ty::Data(_, parts) => parts.iter().any(|p| self.holds_function(p)),
            Ty::Record(r) => self.vars.open_record(&r).fields.iter().any(|(_, t)| self.holds_function(t)),
            _ => false,
        }
    }

    fn abstracted(&mut self, e: core::Expr, scheme: &Scheme) -> core::Expr {
        let hidden = self.hidden(scheme);
        if hidden.is_empty() {
            return e;
        }
        let (t, s) = (e.ty.clone(), e.span);
        mk(ExprKind::Abs(hidden, e), t, s)
    }

    /// A non-recursive binding of one name.
    pub(super) fn single(&mut self, binding: &ast::Binding, name: Symbol) -> InferredBinding {
        let value = !binding.params.is_empty() || self.is_value(&binding.body);
        self.enclosing.defining.push((
            name,
            binding.pat.span,
            !binding.params.is_empty() || matches!(binding.body.kind, ast::ExprKind::Fun(..)),
        ));
        let (scheme, expr) = self.enclosed(|s| s.binding_body(binding, None), |s, t| value && s.holds_function(t));
        self.enclosing.defining.pop();
        if !value {
            self.note_computed(binding, name, &scheme);
        }
        self.record_scheme(binding.pat.span, &scheme);
        InferredBinding { name, span: binding.pat.span, scheme, expr }
    }

    /// A pattern binding: its value, which is not generalised, and the pattern with its variables.
    pub(super) fn pattern_value(&mut self, b: &ast::Binding) -> (core::Expr, TPat, Vec<PatVar>) {
        let e = self.binding_body(b, None);
        let mut vars = Vec::new();
        let pat = self.pat(&b.pat, &e.ty.clone(), &mut vars);
        (e, pat, vars)
    }

    /// A recursive group. `keys` identify the members inside it.
    pub(super) fn recursive(&mut self, group: &ast::LetGroup, keys: &[RecKey]) -> Vec<InferredBinding> {
        let scope = self.scope.len();
        self.vars.level += 1;
        self.distinct(group);
        let (mark, given, promised) = (self.ops.mark(), self.annotated.given.len(), self.annotated.promised.len());
        let sizes = self.annotated.sizes.clone();
        let outer: Rc<[SizeVar]> = sizes.values().map(|(v, _)| *v).collect();
        let mut metas = Vec::new();
        for (binding, key) in group.bindings.iter().zip(keys) {
            let t = self.linear_spine(binding).unwrap_or_else(|| self.meta());
            metas.push(t.clone());
            let name = pattern_name(&binding.pat).unwrap_or_else(|| Symbol::new("_"));
            let local = match key {
                RecKey::Local(l) => *l,
                RecKey::Global(g) => Local(u32::MAX - g.0),
            };
            self.scope.push(BoundName {
                name,
                local,
                scheme: Rc::new(Scheme::mono(t)),
                recursive: Some(Recursive {
                    outer: outer.clone(),
                    functions: self.enclosing.functions,
                    at: binding.pat.span,
                }),
                size: None,
                arity: 0,
                closed: Cell::default(),
            });
        }
        let bodies: Vec<core::Expr> =
            group.bindings.iter().zip(&metas).map(|(b, t)| self.binding_body(b, Some(t))).collect();
        let all = Ty::Tuple(metas.iter().cloned().collect());
        let functions = bodies.iter().all(|e| matches!(*e.kind, ExprKind::Lam(_)));
        let at = group.bindings.first().map_or(Span::default(), |b| b.pat.span);
        let left = self.end_level(&all, functions, (mark, given), at);
        self.annotated.sizes = sizes;
        let shared = self.generalise(&all, functions, left, at);
        self.check_promised_variables(promised);
        self.scope.truncate(scope);
        let rep_vars: Vec<_> = shared.rep_vars().collect();
        let mut out = Vec::new();
        for ((b, key), e) in group.bindings.iter().zip(keys).zip(bodies) {
            let scheme = Scheme { ty: self.resolve_deep(&e.ty), ..shared.clone() };
            self.hidden.groups.insert(*key, rep_vars.clone());
            let expr = self.abstracted(e, &shared);
            let name = pattern_name(&b.pat).unwrap_or_else(|| Symbol::new("_"));
            self.record_scheme(b.pat.span, &scheme);
            out.push(InferredBinding { name, span: b.pat.span, scheme, expr });
        }
        out
    }

    /// A `let` in a block: binds its names, infers the rest of the block, and wraps.
    pub(super) fn local_let(
        &mut self,
        group: &ast::LetGroup,
        span: Span,
        rest: impl FnOnce(&mut Self) -> core::Expr,
    ) -> core::Expr {
        if group.rec {
            return self.local_let_rec(group, span, rest);
        }
        let scope = self.scope.len();
        self.distinct(group);
        // In `let a = ... and b = ...` neither binding is in scope of the other.
        let mut ones = Vec::new();
        for b in &group.bindings {
            match pattern_name(&b.pat) {
                Some(name) if !matches!(b.pat.kind, ast::PatKind::Ann(..)) => {
                    let made = self.single(b, name);
                    ones.push(LetMember::Name(self.local(), made));
                }
                _ => {
                    let (e, pat, vars) = self.pattern_value(b);
                    ones.push(LetMember::Pattern(self.local(), e, pat, vars, b.pat.span));
                }
            }
        }
        for one in &ones {
            match one {
                LetMember::Name(local, m) => self.push_binding(*local, m.name, m.scheme.clone(), m.expr.arity()),
                LetMember::Pattern(_, _, _, vars, _) => self.push_vars(vars),
            }
        }
        let mut body = rest(self);
        self.scope.truncate(scope);
        for one in ones.into_iter().rev() {
            let t = body.ty.clone();
            body = match one {
                LetMember::Name(local, m) => mk(ExprKind::Let(local, Some(m.name), m.expr, body), t, span),
                LetMember::Pattern(local, e, pat, vars, s) => {
                    let ty = e.ty.clone();
                    let inner = self.destructure(local, &ty, pat, &vars, s, body);
                    mk(ExprKind::Let(local, None, e, inner), t, span)
                }
            };
        }
        body
    }

    /// A `let rec` in a block.
    fn local_let_rec(
        &mut self,
        group: &ast::LetGroup,
        span: Span,
        rest: impl FnOnce(&mut Self) -> core::Expr,
    ) -> core::Expr {
        let scope = self.scope.len();
        let keys: Vec<RecKey> = group.bindings.iter().map(|_| RecKey::Local(self.local())).collect();
        let made = self.recursive(group, &keys);
        let mut binds = Vec::new();
        for (m, key) in made.into_iter().zip(&keys) {
            let RecKey::Local(local) = *key else { continue };
            self.push_binding(local, m.name, m.scheme, m.expr.arity());
            binds.push((local, m.name, m.expr));
        }
        let body = rest(self);
        self.scope.truncate(scope);
        let t = body.ty.clone();
        self.check_rec_values(&binds);
        mk(ExprKind::LetRec(binds, body), t, span)
    }

    /// Brings a local into scope. Only sizes that parameter types bind are known as sizes; a local such as
    /// `let n = len x` is not.
    fn push_binding(&mut self, local: Local, name: Symbol, scheme: Scheme, arity: usize) {
        self.scope.push(BoundName {
            name,
            local,
            scheme: Rc::new(scheme),
            recursive: None,
            size: None,
            arity,
            closed: Cell::default(),
        });
    }

    /// The names of a group must be distinct.
    pub(super) fn distinct(&mut self, group: &ast::LetGroup) {
        let mut seen: Vec<(Symbol, Span)> = Vec::new();
        for binding in &group.bindings {
            let Some(name) = pattern_name(&binding.pat) else { continue };
            match seen.iter().find(|(n, _)| *n == name) {
                Some((_, first)) => {
                    let d = names::DuplicateName {
                        what: "definitions",
                        name: name.as_str(),
                        span: binding.pat.span,
                        first: Some(*first),
                    }
                    .diagnostic();
                    self.report(d);
                }
                None => seen.push((name, binding.pat.span)),
            }
        }
    }

    /// A type variable of an annotation stands for every type. It must not have been unified with a specific type or
    /// with another such variable.
    fn check_promised_variables(&mut self, from: usize) {
        let promised = self.annotated.promised.split_off(from);
        for (i, (name, ty, span)) in promised.iter().enumerate() {
            let is = self.resolve_rest(ty);
            let other = match &is {
                Ty::Meta(_) => continue,
                Ty::Var(_) => promised[..i].iter().find(|(_, u, _)| self.resolve_rest(u) == is).map(|(n, _, _)| *n),
                _ => None,
            };
            if matches!(is, Ty::Var(_)) && other.is_none() {
                continue;
            }
            let shown = other.map_or_else(|| self.show(&is), |o| o.to_string());
            self.report(
                PromiseBroken {
                    var: name.to_string(),
                    span: *span,
                    is: shown,
                    other: other.is_some(),
                    row: self.vars.is_row(ty),
                }
                .diagnostic(),
            );
        }
    }

    fn check_rec_values(&mut self, binds: &[(Local, Symbol, core::Expr)]) {
        for (_, name, e) in binds {
            let inner = match &*e.kind {
                ExprKind::Abs(_, inner) => inner,
                _ => e,
            };
            // A value that uses itself too early has been reported.
            if !matches!(*inner.kind, ExprKind::Lam(_))
                && !self.diags.iter().any(adl_syntax::diag::Diagnostic::is_error)
            {
                self.report(mismatch::recursive_value(e.span, name.as_str()));
            }
        }
    }
}

/// The name of a pattern that is a variable.
pub(super) fn pattern_name(p: &ast::Pat) -> Option<Symbol> {
    match &p.kind {
        ast::PatKind::Var(n) => Some(*n),
        ast::PatKind::Ann(p, _) => pattern_name(p),
        _ => None,
    }
}

/// Whether a written type has a named size that satisfies `named`.
fn written_sizes(t: &ast::Type, named: &dyn Fn(&ast::Ident) -> bool) -> bool {
    match &t.kind {
        ast::TypeKind::Array(size, e) => matches!(size, ast::Size::Var(name) if named(name)) || written_sizes(e, named),
        ast::TypeKind::Fun(a, b) | ast::TypeKind::Lin(a, b) => written_sizes(a, named) || written_sizes(b, named),
        ast::TypeKind::Tuple(parts) | ast::TypeKind::Con(_, _, parts) => parts.iter().any(|p| written_sizes(p, named)),
        ast::TypeKind::Record(fields, _) => fields.iter().any(|(_, t)| written_sizes(t, named)),
        ast::TypeKind::Var(_) | ast::TypeKind::Hole | ast::TypeKind::Error => false,
    }
}

/// The type with some of its sizes replaced.
fn with_sizes(t: &Ty, map: &HashMap<SizeVar, Size>) -> Ty {
    map_type(t, &mut |_| None, &mut |s| match s {
        Size::Var(v) => map.get(&v).copied().unwrap_or(s),
        s => s,
    })
}

fn annotated(p: &ast::Pat) -> bool {
    match &p.kind {
        ast::PatKind::Ann(..) => true,
        ast::PatKind::Tuple(ps) | ast::PatKind::Or(ps) | ast::PatKind::Array(ps) | ast::PatKind::Con(_, _, ps) => {
            ps.iter().any(annotated)
        }
        ast::PatKind::Record(fs, _) => fs.iter().any(|(_, p)| annotated(p)),
        ast::PatKind::As(p, _) => annotated(p),
        ast::PatKind::Wild | ast::PatKind::Var(_) | ast::PatKind::Lit(_) | ast::PatKind::Error => false,
    }
}

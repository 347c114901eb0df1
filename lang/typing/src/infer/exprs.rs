//! Expressions, construct by construct.

use super::{Infer, Why, array, fun, mk, pending};
use crate::core::{self, Arm, Con, Extent, ExprKind, ForKind, IndexArg, Lambda, Lit, LoopKind, Param};
use crate::errors;
use crate::patterns::compile;
use crate::ty::{Class, RecordTy, Size, Ty};
use adl_prim::Prim;
use adl_syntax::ast::{self, BinOp};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::rc::Rc;

/// Nested functions, arrays, records and applications that an expression may have.
const MAX_TYPE_DEPTH: usize = 400;

impl Infer<'_> {
    /// Infers and requires a type.
    pub(super) fn check(&mut self, e: &ast::Expr, ty: &Ty, why: &Why) -> core::Expr {
        let c = self.infer(e, Some(ty));
        self.expect(ty, &c.ty.clone(), last_span(e), why);
        c
    }

    /// Infers; `want` is what the context would like, and only guides.
    pub(super) fn infer(&mut self, e: &ast::Expr, want: Option<&Ty>) -> core::Expr {
        let deepens = matches!(
            e.kind,
            ast::ExprKind::Fun(..) | ast::ExprKind::Lin(..) | ast::ExprKind::Array(_) | ast::ExprKind::Record(_) | ast::ExprKind::Tuple(_) | ast::ExprKind::For(..)
                | ast::ExprKind::App(..)
        );
        if !deepens {
            return stacker::maybe_grow(96 * 1024, 1024 * 1024, || self.infer_inner(e, want));
        }
        // Types grow with these, and every level looks at the whole type.
        if self.depth >= MAX_TYPE_DEPTH {
            self.report(Diagnostic::error("E0107", e.span, "nested too deeply").hint("name the parts with `let`"));
            return self.error_expr(e.span);
        }
        self.depth += 1;
        let out = stacker::maybe_grow(96 * 1024, 1024 * 1024, || self.infer_inner(e, want));
        self.depth -= 1;
        out
    }

    fn infer_inner(&mut self, e: &ast::Expr, want: Option<&Ty>) -> core::Expr {
        let span = e.span;
        match &e.kind {
            ast::ExprKind::Lit(l) => self.literal(l, span),
            ast::ExprKind::Interp(parts) => self.interp(parts, span),
            ast::ExprKind::Var(name) => self.variable(*name, span),
            ast::ExprKind::Con(m, c) => self.constructor(*m, *c, &[], span),
            ast::ExprKind::Section(op) => self.section(*op, span),
            ast::ExprKind::App(f, args) => self.apply(f, args, want, span),
            ast::ExprKind::Bin(op, at, a, b) => self.binary(*op, *at, a, b, want, span),
            ast::ExprKind::Neg(a) => self.negate(a, span),
            ast::ExprKind::Fun(params, body) => self.lambda(params, body, want, false, None, span),
            ast::ExprKind::Lin(p, body) => self.lambda(std::slice::from_ref(p), body, want, true, None, span),
            ast::ExprKind::Block(stmts) => self.block(stmts, want, span),
            ast::ExprKind::If(c, a, b) => self.if_expr(c, a, b.as_deref(), want, span),
            ast::ExprKind::Match(s, arms) => self.match_expr(s, arms, want, span),
            ast::ExprKind::Tuple(parts) => self.tuple(parts, want, span),
            ast::ExprKind::Paren(e) => self.infer(e, want),
            ast::ExprKind::Record(fields) => self.record(fields, want, span),
            ast::ExprKind::Update(r, fields) => self.update(r, fields, want, span),
            ast::ExprKind::Field(r, name) => self.field(r, *name, span),
            ast::ExprKind::Array(parts) => self.array_literal(parts, want, span),
            ast::ExprKind::Index(a, args) => self.index(a, args, span),
            ast::ExprKind::For(vars, body) => self.comprehension(ForKind::Build, vars, body, span),
            ast::ExprKind::Iverson(p) => self.iverson(p, span),
            ast::ExprKind::Loop(p, init, kind, body) => self.loop_expr(p, init, kind, body, span),
            ast::ExprKind::Ann(e, sig) => {
                let names = self.type_names.clone();
                let ty = self.signature(sig);
                let c = self.check(e, &ty, &Why::from("this expression", sig.ty.span, "its type is given here"));
                self.type_names = names;
                core::Expr { ty, ..c }
            }
            ast::ExprKind::Error => self.error_expr(span),
        }
    }

    fn literal(&mut self, l: &ast::Lit, span: Span) -> core::Expr {
        let (kind, ty) = match l {
            ast::Lit::Unit => (ExprKind::Lit(Lit::Unit), Ty::Unit),
            ast::Lit::Bool(b) => (ExprKind::Lit(Lit::Bool(*b)), Ty::Bool),
            ast::Lit::Str(s) => (ExprKind::Lit(Lit::Str(s.as_str().into())), Ty::Str),
            ast::Lit::F32(x) => (ExprKind::Lit(Lit::F32(*x)), Ty::F32),
            ast::Lit::Int(n) => {
                let t = self.number(Class::Num, span, "a number");
                (ExprKind::IntAt(*n, pending(&t)), t)
            }
            ast::Lit::Float(x) => {
                let t = self.number(Class::Real, span, "a real number");
                (ExprKind::FloatAt(*x, pending(&t)), t)
            }
        };
        mk(kind, ty, span)
    }

    fn interp(&mut self, parts: &[ast::StrPart], span: Span) -> core::Expr {
        let parts = parts
            .iter()
            .map(|p| match p {
                ast::StrPart::Text(s) => mk(ExprKind::Lit(Lit::Str(s.as_str().into())), Ty::Str, span),
                ast::StrPart::Expr(e) => self.infer(e, None),
            })
            .collect();
        mk(ExprKind::Interp(parts), Ty::Str, span)
    }

    fn variable(&mut self, name: Symbol, span: Span) -> core::Expr {
        if let Some(b) = self.lookup(name).cloned() {
            // A member of a recursive group of globals stands in the scope under a reserved local.
            let kind = if b.recursive && b.local.0 > u32::MAX / 2 {
                ExprKind::Global(core::GlobalId(u32::MAX - b.local.0))
            } else {
                ExprKind::Local(b.local)
            };
            if b.recursive {
                let ty = b.scheme.ty.clone();
                return mk(ExprKind::Inst(mk(kind, ty.clone(), span), Vec::new()), ty, span);
            }
            return self.instance(kind, &b.scheme, span, "a function");
        }
        if let Some(g) = self.env.value(name).cloned() {
            if let Some(p) = g.alias {
                return self.prim_value(p, span);
            }
            return self.instance(ExprKind::Global(g.id), &g.scheme, span, g_name(name));
        }
        if self.env.broken.contains_key(&name) {
            return self.error_expr(span);
        }
        if let Some(p) = self.visible_prim(name) {
            return self.prim_value(p, span);
        }
        if let Some(home) = self.host.prelude_home(name.as_str()) {
            if let Some(g) = self.host.std_module(home).and_then(|m| m.value(name).cloned()) {
                return self.instance(ExprKind::Global(g.id), &g.scheme, span, g_name(name));
            }
        }
        let d = self.unknown(name, span);
        self.report(d);
        self.error_expr(span)
    }

    fn unknown(&self, name: Symbol, span: Span) -> Diagnostic {
        let mut known: Vec<&str> = self.scope.iter().map(|b| b.name.as_str()).chain(self.env.values.keys().map(|s| s.as_str())).collect();
        known.extend(Prim::ALL.iter().map(|p| p.name()));
        let near = errors::nearest(name.as_str(), known.into_iter());
        let d = errors::unknown_name(span, name.as_str(), near);
        match adl_syntax::errors::habits::word(name.as_str()) {
            Some(ours) => d.hint(ours),
            None => d,
        }
    }

    /// A primitive as a value.
    pub(super) fn prim_value(&mut self, p: Prim, span: Span) -> core::Expr {
        if let Some(e) = self.operator_value(p, span) {
            return e;
        }
        let (adl_prim::Typing::Scheme(text) | adl_prim::Typing::Elementwise(text) | adl_prim::Typing::Special(text)) = p.row().typing;
        let scheme = self.prim_scheme(text);
        let (ty, reps) = self.instantiate(&scheme, span, p.name());
        mk(ExprKind::Prim(p, reps.iter().map(pending).collect()), ty, span)
    }

    /// Elementwise primitives not applied: their operands may be scalars or arrays, whichever the context says.
    fn operator_value(&mut self, p: Prim, span: Span) -> Option<core::Expr> {
        let elementwise = matches!(p.row().typing, adl_prim::Typing::Elementwise(_));
        let arithmetic = matches!(p, Prim::Add | Prim::Sub | Prim::Mul | Prim::Div | Prim::IntDiv | Prim::Rem | Prim::Pow | Prim::Neg);
        if !elementwise && !arithmetic {
            return None;
        }
        let args: Vec<Ty> = (0..p.row().arity).map(|_| self.meta()).collect();
        let res = self.operate(p, args.iter().map(|t| (t.clone(), span)).collect(), span);
        let ty = args.into_iter().rev().fold(res, |r, a| fun(a, r));
        Some(mk(ExprKind::Prim(p, Vec::new()), ty, span))
    }

    fn section(&mut self, op: BinOp, span: Span) -> core::Expr {
        if let Some(p) = arith_prim(op) {
            return self.prim_value(p, span);
        }
        // Every other operator as `fun a b -> a op b`.
        let (x, y) = (Symbol::new("a"), Symbol::new("b"));
        let var = |name| ast::Expr { kind: ast::ExprKind::Var(name), span };
        let body = ast::Expr { kind: ast::ExprKind::Bin(op, span, Box::new(var(x)), Box::new(var(y))), span };
        let pat = |name| ast::Pat { kind: ast::PatKind::Var(name), span };
        self.lambda(&[pat(x), pat(y)], &body, None, false, None, span)
    }

    /// `fun p1 p2 -> e` and `lin p -> e`.
    pub(super) fn lambda(&mut self, params: &[ast::Pat], body: &ast::Expr, want: Option<&Ty>, linear: bool, name: Option<Symbol>, span: Span) -> core::Expr {
        let mut wants = Vec::new();
        let mut ret = None;
        let mut want = want.map(|t| self.resolve(t));
        for _ in params {
            match want {
                Some(Ty::Fun(a, b) | Ty::Lin(a, b)) => {
                    wants.push((*a).clone());
                    want = Some(self.resolve(&b));
                    ret = Some((*b).clone());
                }
                _ => {
                    ret = None;
                    break;
                }
            }
        }
        // The context's result type only guides: a mismatch is better reported on the whole.
        let ret = if wants.len() == params.len() { ret.filter(|t| !matches!(self.resolve(t), Ty::Meta(_))) } else { None };
        self.function(params, &wants, ret.as_ref(), body, linear, name, span, None, None)
    }

    fn block(&mut self, stmts: &[ast::Stmt], want: Option<&Ty>, span: Span) -> core::Expr {
        match stmts {
            [] => self.error_expr(span),
            [ast::Stmt::Expr(e)] => self.infer(e, want),
            [ast::Stmt::Let(..)] => self.error_expr(span),
            [ast::Stmt::Let(group, s), rest @ ..] => stacker::maybe_grow(96 * 1024, 1024 * 1024, || self.local_let(group, *s, |me| me.block(rest, want, span))),
            [ast::Stmt::Expr(e), rest @ ..] => {
                let first = self.infer(e, Some(&Ty::Unit));
                let why = Why::new("an expression that is not the last of its block");
                self.expect(&Ty::Unit, &first.ty.clone(), e.span, &why);
                let body = stacker::maybe_grow(96 * 1024, 1024 * 1024, || self.block(rest, want, span));
                let (local, t) = (self.local(), body.ty.clone());
                mk(ExprKind::Let(local, None, first, body), t, e.span)
            }
        }
    }

    fn if_expr(&mut self, c: &ast::Expr, a: &ast::Expr, b: Option<&ast::Expr>, want: Option<&Ty>, span: Span) -> core::Expr {
        let cond = self.check(c, &Ty::Bool, &Why::new("the condition of this `if`"));
        let yes = self.infer(a, want);
        let no = match b {
            Some(b) => {
                let no = self.infer(b, Some(&yes.ty.clone()));
                let why = Why::from("the `else` branch", last_span(a), format!("the `then` branch is {}", self.show(&yes.ty)));
                self.expect(&yes.ty.clone(), &no.ty.clone(), last_span(b), &why);
                no
            }
            None => {
                self.expect(&Ty::Unit, &yes.ty.clone(), last_span(a), &Why::new("the branch of an `if` without `else`"));
                mk(ExprKind::Lit(Lit::Unit), Ty::Unit, span)
            }
        };
        let ty = self.joined(&yes.ty, &no.ty);
        mk(ExprKind::If(cond, yes, no), ty, span)
    }

    /// A function is linear only if both branches are.
    fn joined(&self, a: &Ty, b: &Ty) -> Ty {
        match (self.resolve(a), self.resolve(b)) {
            (Ty::Lin(..), t @ Ty::Fun(..)) => t,
            // A size is known only if all branches agree on it.
            (Ty::Array(m, x), Ty::Array(n, y)) => {
                let (m, n) = (self.resolve_size(m), self.resolve_size(n));
                array(if m == n { m } else { Size::Unknown }, self.joined(&x, &y))
            }
            (Ty::Tuple(xs), Ty::Tuple(ys)) if xs.len() == ys.len() => Ty::Tuple(xs.iter().zip(ys.iter()).map(|(x, y)| self.joined(x, y)).collect()),
            (t, _) => t,
        }
    }

    fn match_expr(&mut self, s: &ast::Expr, arms: &[ast::Arm], want: Option<&Ty>, span: Span) -> core::Expr {
        let scrutinee = self.infer(s, None);
        let ty = match want {
            Some(t) => t.clone(),
            None => self.meta(),
        };
        let (mut pats, mut out) = (Vec::new(), Vec::new());
        let mut first: Option<Span> = None;
        for arm in arms {
            let scope = self.scope.len();
            let mut vars = Vec::new();
            let pat = self.pat(&arm.pat, &scrutinee.ty.clone(), &mut vars);
            self.push_vars(&vars);
            let guard = arm.guard.as_ref().map(|g| self.check(g, &Ty::Bool, &Why::new("the guard")));
            let body = self.infer(&arm.body, Some(&ty));
            let why = match first {
                Some(f) => Why::from("this arm", f, format!("the first arm is {}", self.show(&ty))),
                None => Why::new("this arm"),
            };
            self.expect(&ty, &body.ty.clone(), last_span(&arm.body), &why);
            first.get_or_insert(last_span(&arm.body));
            self.scope.truncate(scope);
            pats.push((pat, guard.is_some()));
            out.push(Arm { vars: vars.into_iter().map(|(n, l, t, _)| (l, n, t)).collect(), guard, body });
        }
        let root = self.local();
        let compiled = compile(root, pats, &mut || {
            self.locals += 1;
            core::Local(self.locals - 1)
        });
        if let Some(missing) = compiled.missing {
            let d = Diagnostic::error("E0401", s.span, format!("this match has no arm for `{missing}`")).hint(format!("add `| {missing} -> ...`"));
            self.report(d);
        }
        for (arm, reached) in arms.iter().zip(&compiled.reached) {
            if !reached {
                self.report(Diagnostic::warning("W0403", arm.pat.span, "this arm is never reached: earlier arms cover it"));
            }
        }
        let ty = out.iter().map(|a| a.body.ty.clone()).reduce(|a, b| self.joined(&a, &b)).unwrap_or(ty);
        mk(ExprKind::Match(scrutinee, root, compiled.tree, out), ty, span)
    }

    fn tuple(&mut self, parts: &[ast::Expr], want: Option<&Ty>, span: Span) -> core::Expr {
        let wants: Vec<Option<Ty>> = match want.map(|t| self.resolve(t)) {
            Some(Ty::Tuple(ts)) if ts.len() == parts.len() => ts.iter().cloned().map(Some).collect(),
            _ => vec![None; parts.len()],
        };
        let parts: Vec<core::Expr> = parts.iter().zip(&wants).map(|(e, w)| self.infer(e, w.as_ref())).collect();
        let ty = Ty::Tuple(parts.iter().map(|p| p.ty.clone()).collect());
        mk(ExprKind::Tuple(parts), ty, span)
    }

    fn fields(&mut self, fields: &[(ast::Ident, ast::Expr)], want: Option<&Ty>) -> Vec<(Symbol, core::Expr)> {
        let wanted = match want.map(|t| self.resolve(t)) {
            Some(Ty::Record(r)) => self.open_record(&r).fields,
            _ => Vec::new(),
        };
        let mut out: Vec<(Symbol, core::Expr)> = Vec::new();
        for (name, e) in fields {
            if out.iter().any(|(n, _)| *n == name.name) {
                self.report(Diagnostic::error("E0209", name.span, format!("the field `{}` is given twice", name.name)));
                continue;
            }
            let w = wanted.iter().find(|(n, _)| *n == name.name).map(|(_, t)| t.clone());
            out.push((name.name, self.infer(e, w.as_ref())));
        }
        out.sort_by_key(|(n, _)| n.as_str());
        out
    }

    fn record(&mut self, fields: &[(ast::Ident, ast::Expr)], want: Option<&Ty>, span: Span) -> core::Expr {
        let fields = self.fields(fields, want);
        let ty = Ty::Record(Rc::new(RecordTy { fields: fields.iter().map(|(n, e)| (*n, e.ty.clone())).collect(), tail: None }));
        mk(ExprKind::Record(fields), ty, span)
    }

    fn update(&mut self, r: &ast::Expr, fields: &[(ast::Ident, ast::Expr)], want: Option<&Ty>, span: Span) -> core::Expr {
        let base = self.infer(r, want);
        let fields = self.fields(fields, Some(&base.ty.clone()));
        let tail = Some(self.row_meta());
        let needed = Ty::Record(Rc::new(RecordTy { fields: fields.iter().map(|(n, e)| (*n, e.ty.clone())).collect(), tail }));
        self.expect(&base.ty.clone(), &needed, span, &Why::from("the new fields", r.span, format!("the record is {}", self.show(&base.ty))));
        let ty = base.ty.clone();
        mk(ExprKind::Update(base, fields), ty, span)
    }

    fn field(&mut self, r: &ast::Expr, name: ast::Ident, span: Span) -> core::Expr {
        if let Some(e) = self.module_member(r, name, span) {
            return e;
        }
        let base = self.infer(r, None);
        self.solve_ops();
        if name.name.as_str() == "T" {
            let elem = self.meta();
            let (n, m) = (self.size_meta(), self.size_meta());
            let wanted = array(n, array(m, elem.clone()));
            self.expect(&wanted, &base.ty.clone(), r.span, &Why::new("what is transposed"));
            return mk(ExprKind::App(mk(ExprKind::Prim(Prim::TransposeArray, Vec::new()), Ty::Unit, span), vec![base]), array(m, array(n, elem)), span);
        }
        let ty = self.meta();
        if let Ty::Record(rec) = self.resolve(&base.ty) {
            let open = self.open_record(&rec);
            if let Some((_, t)) = open.fields.iter().find(|(n, _)| *n == name.name) {
                let t = t.clone();
                return mk(ExprKind::Field(base, name.name), t, span);
            }
            if open.tail.is_none() {
                let near = errors::nearest(name.name.as_str(), open.fields.iter().map(|(n, _)| n.as_str()));
                let d = Diagnostic::error("E0206", name.span, format!("there is no field `{}` in {}", name.name, self.show(&base.ty)));
                self.report(match near {
                    Some(n) => d.hint(format!("did you mean `{n}`?")),
                    None => d,
                });
                return self.error_expr(span);
            }
        }
        let tail = Some(self.row_meta());
        let wanted = Ty::Record(Rc::new(RecordTy { fields: vec![(name.name, ty.clone())], tail }));
        self.expect(&wanted, &base.ty.clone(), r.span, &Why::new(format!("what `.{}` is taken from", name.name)));
        mk(ExprKind::Field(base, name.name), ty, span)
    }

    /// `M.f` and `random.key`.
    pub(super) fn module_member(&mut self, r: &ast::Expr, name: ast::Ident, span: Span) -> Option<core::Expr> {
        let (module, at) = match &r.kind {
            ast::ExprKind::Con(None, m) => (m.name, m.span),
            ast::ExprKind::Var(m) if self.lookup(*m).is_none() && self.env.value(*m).is_none() => (*m, r.span),
            _ => return None,
        };
        let Some(env) = self.module(module) else {
            if matches!(r.kind, ast::ExprKind::Con(..)) {
                self.report(errors::unknown_type(at, "module", module.as_str(), None).hint(format!("import it: `import \"file.adl\" as {module}`")));
                return Some(self.error_expr(span));
            }
            return None;
        };
        if let Some(g) = env.values.get(&name.name).cloned() {
            if let Some(p) = g.alias {
                return Some(self.prim_value(p, span));
            }
            return Some(self.instance(ExprKind::Global(g.id), &g.scheme, span, g_name(name.name)));
        }
        if env.broken.contains_key(&name.name) {
            return Some(self.error_expr(span));
        }
        let near = errors::nearest(name.name.as_str(), env.values.keys().map(|s| s.as_str()));
        self.report(errors::unknown_name(name.span, &format!("{module}.{}", name.name), near.map(|n| format!("{module}.{n}"))));
        Some(self.error_expr(span))
    }

    /// The primitive that a member of a module is another name of.
    pub(super) fn member_alias(&mut self, e: &ast::Expr) -> Option<Prim> {
        let ast::ExprKind::Field(r, name) = &e.kind else { return None };
        let module = match &r.kind {
            ast::ExprKind::Con(None, m) => m.name,
            ast::ExprKind::Var(m) if self.lookup(*m).is_none() && self.env.value(*m).is_none() => *m,
            _ => return None,
        };
        self.module(module)?.values.get(&name.name)?.alias
    }

    fn array_literal(&mut self, parts: &[ast::Expr], want: Option<&Ty>, span: Span) -> core::Expr {
        let elem = match want.map(|t| self.resolve(t)) {
            Some(Ty::Array(_, e)) => (*e).clone(),
            _ => self.meta(),
        };
        let mut out = Vec::new();
        let mut first: Option<Ty> = None;
        for (i, p) in parts.iter().enumerate() {
            let want = first.clone().unwrap_or_else(|| elem.clone());
            let c = self.infer(p, Some(&want));
            match &first {
                None => first = Some(c.ty.clone()),
                Some(t) => {
                    let why = Why::from(format!("element {i} of this array"), parts[0].span, format!("element 0 is {}", self.show(t)));
                    self.expect(&t.clone(), &c.ty.clone(), p.span, &why);
                }
            }
            out.push(c);
        }
        let n = parts.len() as u64;
        self.size_spans.push((n, span));
        mk(ExprKind::Array(out), array(Size::Const(n), first.unwrap_or(elem)), span)
    }

    fn index(&mut self, a: &ast::Expr, args: &[ast::IndexArg], span: Span) -> core::Expr {
        let base = self.infer(a, None);
        self.solve_ops();
        let mut t = base.ty.clone();
        let mut axes = Vec::new();
        for _ in args {
            let (n, e) = match self.resolve(&t) {
                Ty::Array(n, e) => (n, (*e).clone()),
                _ => {
                    let (n, e) = (self.size_meta(), self.meta());
                    self.expect(&array(n, e.clone()), &t, a.span, &Why::new("what is indexed"));
                    (n, e)
                }
            };
            axes.push(n);
            t = e;
        }
        let mut out = Vec::new();
        for (arg, n) in args.iter().zip(&axes).rev() {
            let why = Why::new("an index");
            out.push(match arg {
                ast::IndexArg::At(i) => IndexArg::At(self.check(i, &Ty::Int, &why)),
                ast::IndexArg::Slice(lo, hi) => {
                    t = array(slice_size(lo.as_ref(), hi.as_ref(), *n), t);
                    let lo = lo.as_ref().map(|e| self.check(e, &Ty::Int, &why));
                    let hi = hi.as_ref().map(|e| self.check(e, &Ty::Int, &why));
                    IndexArg::Slice(lo, hi)
                }
            });
        }
        out.reverse();
        mk(ExprKind::Index(base, out), t, span)
    }

    pub(super) fn comprehension(&mut self, kind: ForKind, vars: &[ast::ForVar], body: &ast::Expr, span: Span) -> core::Expr {
        let scope = self.scope.len();
        let mut out = Vec::new();
        let mut sizes = Vec::new();
        for v in vars {
            let (extent, size) = match &v.bound {
                Some(b) => {
                    let e = self.check(b, &Ty::Int, &Why::new("the bound of an index"));
                    (Extent::Bound(e), self.size_of(b))
                }
                None => self.extent_from_use(v, vars, body),
            };
            sizes.push(size);
            out.push((self.local(), v.name.name, extent));
        }
        for (local, name, _) in &out {
            self.bind_mono(*name, *local, Ty::Int);
        }
        let body = match kind {
            ForKind::Reduce(Prim::Any | Prim::All) => self.check(body, &Ty::Bool, &Why::new("the body")),
            _ => self.infer(body, None),
        };
        self.scope.truncate(scope);
        let elem = body.ty.clone();
        let ty = match kind {
            ForKind::Build => sizes.into_iter().rev().fold(elem.clone(), |t, n| array(n, t)),
            ForKind::Reduce(p) => self.reduced(p, &elem, span),
        };
        mk(ExprKind::For(kind, out, body, pending(&elem)), ty, span)
    }

    /// The arrays that an index without a bound indexes.
    fn extent_from_use(&mut self, v: &ast::ForVar, vars: &[ast::ForVar], body: &ast::Expr) -> (Extent, Size) {
        let mut inner: Vec<Symbol> = vars.iter().map(|v| v.name.name).collect();
        super::apply::bound_names(body, &mut inner);
        let mut found: Vec<(ast::Expr, u32)> = Vec::new();
        super::apply::walk(body, &mut |e| {
            let ast::ExprKind::Index(a, args) = &e.kind else { return };
            for (axis, arg) in args.iter().enumerate() {
                let direct = matches!(arg, ast::IndexArg::At(i) if matches!(i.kind, ast::ExprKind::Var(n) if n == v.name.name));
                // Slices before it do not change which axis it is.
                if direct && super::apply::is_path(a, &inner) && !found.iter().any(|(b, k)| *k == axis as u32 && super::apply::same_path(b, a)) {
                    found.push(((**a).clone(), axis as u32));
                }
            }
        });
        if found.is_empty() {
            self.report(
                Diagnostic::error("E0213", v.name.span, format!("the extent of `{}` is not known", v.name.name))
                    .hint(format!("give it a bound: `for {} < n -> ...`", v.name.name)),
            );
            let zero = mk(ExprKind::Lit(Lit::Int(0)), Ty::Int, v.name.span);
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
            let why = Why::new(format!("an array that `{}` indexes", v.name.name));
            self.expect(&t, &c.ty.clone(), a.span, &why);
            axes.push((c, axis));
        }
        (Extent::Axes(axes), size)
    }

    /// `[| p |]` alone: 1 or 0.
    fn iverson(&mut self, p: &ast::Expr, span: Span) -> core::Expr {
        let cond = self.check(p, &Ty::Bool, &Why::new("the condition of `[| |]`"));
        let t = self.number(Class::Num, span, "`[| |]`");
        let one = mk(ExprKind::IntAt(1, pending(&t)), t.clone(), span);
        let zero = mk(ExprKind::IntAt(0, pending(&t)), t.clone(), span);
        mk(ExprKind::If(cond, one, zero), t, span)
    }

    fn loop_expr(&mut self, p: &ast::Pat, init: &ast::Expr, kind: &ast::LoopKind, body: &ast::Expr, span: Span) -> core::Expr {
        let init_core = self.infer(init, None);
        let mut ty = init_core.ty.clone();
        if super::apply::changes_sizes(body) {
            ty = super::map_type(&self.resolve_deep(&ty), &mut |_| None, &mut |_| Size::Unknown);
        }
        let count = match kind {
            ast::LoopKind::For(i, n) => Some((*i, self.check(n, &Ty::Int, &Why::new("the number of rounds")))),
            ast::LoopKind::While(_) => None,
        };
        let scope = self.scope.len();
        let mut vars = Vec::new();
        let pat = self.pat(p, &ty, &mut vars);
        let state = match &pat {
            crate::patterns::TPat::Var(x) => *x,
            _ => self.local(),
        };
        self.push_vars(&vars);
        let kind = match (kind, count) {
            (ast::LoopKind::While(c), _) => {
                let cond = self.check(c, &Ty::Bool, &Why::new("the condition of the loop"));
                LoopKind::While(self.destructure(state, &ty, pat.clone(), &vars, p.span, cond))
            }
            (ast::LoopKind::For(..), Some((i, n))) => {
                let local = self.local();
                self.bind_mono(i.name, local, Ty::Int);
                LoopKind::For(local, n)
            }
            (ast::LoopKind::For(..), None) => return self.error_expr(span),
        };
        let why = Why::from("the next state", p.span, format!("the state is {}", self.show(&ty)));
        let body = self.check(body, &ty, &why);
        self.scope.truncate(scope);
        let body = self.destructure(state, &ty, pat, &vars, p.span, body);
        mk(ExprKind::Loop(state, init_core, kind, body), ty, span)
    }

    fn negate(&mut self, a: &ast::Expr, span: Span) -> core::Expr {
        let lit = match &a.kind {
            ast::ExprKind::Lit(ast::Lit::Int(n)) => Some(ast::Lit::Int(-n)),
            ast::ExprKind::Lit(ast::Lit::Float(x)) => Some(ast::Lit::Float(-x)),
            ast::ExprKind::Lit(ast::Lit::F32(x)) => Some(ast::Lit::F32(-x)),
            _ => None,
        };
        if let Some(l) = lit {
            return self.literal(&l, span);
        }
        let e = self.infer(a, None);
        self.arith(Prim::Neg, vec![e], span)
    }

    /// An arithmetic primitive on operands already inferred.
    pub(super) fn arith(&mut self, p: Prim, args: Vec<core::Expr>, span: Span) -> core::Expr {
        let ty = self.operate(p, args.iter().map(|a| (a.ty.clone(), a.span)).collect(), span);
        mk(ExprKind::App(mk(ExprKind::Prim(p, Vec::new()), Ty::Unit, span), args), ty, span)
    }

    fn binary(&mut self, op: BinOp, at: Span, a: &ast::Expr, b: &ast::Expr, want: Option<&Ty>, span: Span) -> core::Expr {
        match op {
            BinOp::PipeRight => self.apply_to(b, &[a], want, span, true),
            BinOp::PipeLeft => self.apply_to(a, &[b], want, span, false),
            BinOp::Compose => self.compose(a, b, span),
            BinOp::And | BinOp::Or => {
                let why = Why::new(format!("an operand of `{}`", op.text()));
                let x = self.check(a, &Ty::Bool, &why);
                let y = self.check(b, &Ty::Bool, &why);
                let known = mk(ExprKind::Lit(Lit::Bool(op == BinOp::Or)), Ty::Bool, at);
                let kind = if op == BinOp::And { ExprKind::If(x, y, known) } else { ExprKind::If(x, known, y) };
                mk(kind, Ty::Bool, span)
            }
            BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Gt | BinOp::Le | BinOp::Ge => self.comparison(op, a, b, span),
            BinOp::Cons => self.constructor(None, ast::Ident { name: Symbol::new("Cons"), span: at }, &[a, b], span),
            BinOp::Append => self.append(a, b, span),
            BinOp::MatMul => {
                let (x, y) = (self.infer(a, None), self.infer(b, None));
                self.mat_mul(x, y, span)
            }
            BinOp::Pow => self.power(a, b, span),
            BinOp::Mul => match super::apply::guarded(a) {
                Some((p, rest)) => self.guard(p, rest, b, span),
                None => self.plain_arith(Prim::Mul, a, b, want, span),
            },
            BinOp::Add => self.plain_arith(Prim::Add, a, b, want, span),
            BinOp::Sub => self.plain_arith(Prim::Sub, a, b, want, span),
            BinOp::Div => self.plain_arith(Prim::Div, a, b, want, span),
            BinOp::IntDiv => self.plain_arith(Prim::IntDiv, a, b, want, span),
            BinOp::Rem => self.plain_arith(Prim::Rem, a, b, want, span),
        }
    }

    fn plain_arith(&mut self, p: Prim, a: &ast::Expr, b: &ast::Expr, _want: Option<&Ty>, span: Span) -> core::Expr {
        let x = self.infer(a, None);
        let y = self.infer(b, None);
        self.arith(p, vec![x, y], span)
    }

    fn power(&mut self, a: &ast::Expr, b: &ast::Expr, span: Span) -> core::Expr {
        let x = self.infer(a, None);
        let literal = match &b.kind {
            ast::ExprKind::Lit(ast::Lit::Int(n)) => Some(*n),
            ast::ExprKind::Neg(e) => match &e.kind {
                ast::ExprKind::Lit(ast::Lit::Int(n)) => Some(-n),
                _ => None,
            },
            _ => None,
        };
        let Some(n) = literal.filter(|n| i32::try_from(*n).is_ok()) else {
            let y = self.infer(b, None);
            return self.arith(Prim::Pow, vec![x, y], span);
        };
        let ty = self.operate(Prim::PowInt, vec![(x.ty.clone(), x.span)], span);
        let exponent = mk(ExprKind::Lit(Lit::Int(n)), Ty::Int, b.span);
        mk(ExprKind::App(mk(ExprKind::Prim(Prim::PowInt, Vec::new()), Ty::Unit, span), vec![x, exponent]), ty, span)
    }

    fn comparison(&mut self, op: BinOp, a: &ast::Expr, b: &ast::Expr, span: Span) -> core::Expr {
        let x = self.infer(a, None);
        let y = self.infer(b, Some(&x.ty.clone()));
        self.solve_ops();
        let why = Why::from(format!("the right operand of `{}`", op.text()), a.span, format!("the left operand is {}", self.show(&x.ty)));
        self.expect(&x.ty.clone(), &y.ty.clone(), b.span, &why);
        let (class, name) = match op {
            BinOp::Eq => (Class::Eq, "`==`"),
            BinOp::Ne => (Class::Eq, "`!=`"),
            BinOp::Lt => (Class::Ord, "`<`"),
            BinOp::Gt => (Class::Ord, "`>`"),
            BinOp::Le => (Class::Ord, "`<=`"),
            _ => (Class::Ord, "`>=`"),
        };
        self.require(class, &x.ty.clone(), span, name);
        let p = arith_prim(op).unwrap_or(Prim::Eq);
        mk(ExprKind::App(mk(ExprKind::Prim(p, Vec::new()), Ty::Unit, span), vec![x, y]), Ty::Bool, span)
    }

    fn compose(&mut self, f: &ast::Expr, g: &ast::Expr, span: Span) -> core::Expr {
        let (a, b, c) = (self.meta(), self.meta(), self.meta());
        let f = self.check(f, &fun(a.clone(), b.clone()), &Why::new("the left side of `>>`"));
        let g = self.check(g, &fun(b.clone(), c.clone()), &Why::new("the right side of `>>`"));
        let (x, lf, lg) = (self.local(), self.local(), self.local());
        let call = |h: core::Local, ht: &Ty, arg: core::Expr, t: &Ty| mk(ExprKind::App(mk(ExprKind::Local(h), ht.clone(), span), vec![arg]), t.clone(), span);
        let linear = matches!((self.resolve(&f.ty), self.resolve(&g.ty)), (Ty::Lin(..), Ty::Lin(..)));
        let inner = call(lf, &f.ty, mk(ExprKind::Local(x), a.clone(), span), &b);
        let body = call(lg, &g.ty, inner, &c);
        let ty = if linear { Ty::Lin(Rc::new(a.clone()), Rc::new(c)) } else { fun(a.clone(), c) };
        let lam = Lambda { params: vec![Param { local: x, name: None, ty: a }], body, linear, name: None };
        let lam = mk(ExprKind::Lam(Rc::new(lam)), ty.clone(), span);
        let inner = mk(ExprKind::Let(lg, None, g, lam), ty.clone(), span);
        mk(ExprKind::Let(lf, None, f, inner), ty, span)
    }

    /// A constructor applied to its fields, or as a function where fewer are given.
    pub(super) fn constructor(&mut self, module: Option<ast::Ident>, con: ast::Ident, args: &[&ast::Expr], span: Span) -> core::Expr {
        let Some((data, tag)) = self.find_con(module, con) else {
            args.iter().for_each(|a| {
                self.infer(a, None);
            });
            return self.error_expr(span);
        };
        let (fields, whole) = self.con_types(&data, tag);
        if args.len() > fields.len() {
            self.report(Diagnostic::error("E0207", span, format!("`{}` takes {} fields, and {} are given", con.name, fields.len(), args.len())));
            return self.error_expr(span);
        }
        let mut given: Vec<core::Expr> = Vec::new();
        for (i, (a, t)) in args.iter().zip(&fields).enumerate() {
            given.push(self.check(a, t, &Why::new(format!("field {} of `{}`", i + 1, con.name))));
        }
        let data = self.tables.datas.get(&data.id).cloned().unwrap_or(data);
        if given.len() == fields.len() {
            return mk(ExprKind::Con(Con { data, tag }, given), whole, span);
        }
        // Fields that are still missing become parameters; those given are evaluated first.
        let held: Vec<(core::Local, core::Expr)> = given.into_iter().map(|e| (self.local(), e)).collect();
        let missing: Vec<(core::Local, Ty)> = fields[held.len()..].iter().map(|t| (self.local(), t.clone())).collect();
        let mut parts: Vec<core::Expr> = held.iter().map(|(l, e)| mk(ExprKind::Local(*l), e.ty.clone(), span)).collect();
        parts.extend(missing.iter().map(|(l, t)| mk(ExprKind::Local(*l), t.clone(), span)));
        let body = mk(ExprKind::Con(Con { data, tag }, parts), whole.clone(), span);
        let ty = missing.iter().rev().fold(whole, |r, (_, t)| fun(t.clone(), r));
        let params = missing.into_iter().map(|(local, ty)| Param { local, name: None, ty }).collect();
        let lam = Lambda { params, body, linear: false, name: Some(con.name) };
        let mut e = mk(ExprKind::Lam(Rc::new(lam)), ty.clone(), span);
        for (l, v) in held.into_iter().rev() {
            e = mk(ExprKind::Let(l, None, v, e), ty.clone(), span);
        }
        e
    }
}

/// The primitive of an arithmetic or comparison operator.
pub(super) fn arith_prim(op: BinOp) -> Option<Prim> {
    Some(match op {
        BinOp::Add => Prim::Add,
        BinOp::Sub => Prim::Sub,
        BinOp::Mul => Prim::Mul,
        BinOp::Div => Prim::Div,
        BinOp::IntDiv => Prim::IntDiv,
        BinOp::Rem => Prim::Rem,
        BinOp::Pow => Prim::Pow,
        BinOp::Eq => Prim::Eq,
        BinOp::Ne => Prim::Ne,
        BinOp::Lt => Prim::Lt,
        BinOp::Gt => Prim::Gt,
        BinOp::Le => Prim::Le,
        BinOp::Ge => Prim::Ge,
        BinOp::PipeLeft | BinOp::PipeRight | BinOp::Compose | BinOp::Or | BinOp::And | BinOp::Cons | BinOp::Append | BinOp::MatMul => return None,
    })
}

/// The size of `a:b` on an axis of size `n`.
fn slice_size(lo: Option<&ast::Expr>, hi: Option<&ast::Expr>, n: Size) -> Size {
    let literal = |e: &ast::Expr| match &e.kind {
        ast::ExprKind::Lit(ast::Lit::Int(k)) if *k >= 0 => Some(*k as u64),
        _ => None,
    };
    let lo = match lo {
        None => Some(0),
        Some(e) => literal(e),
    };
    let hi = match (hi, n) {
        (None, Size::Const(n)) => Some(n),
        (None, _) => return if lo == Some(0) { n } else { Size::Unknown },
        (Some(e), _) => literal(e),
    };
    match (lo, hi) {
        (Some(a), Some(b)) if a <= b => Size::Const(b - a),
        _ => Size::Unknown,
    }
}

/// The place to mark for the value of an expression: the last of a block.
pub(super) fn last_span(e: &ast::Expr) -> Span {
    match &e.kind {
        ast::ExprKind::Block(stmts) => match stmts.last() {
            Some(ast::Stmt::Expr(e)) => last_span(e),
            _ => e.span,
        },
        _ => e.span,
    }
}

fn g_name(name: Symbol) -> &'static str {
    name.as_str()
}

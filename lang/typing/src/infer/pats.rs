//! Patterns: their types, and the Core that destructures a value.

use super::{Infer, array, mk};
use crate::core::{self, Arm, Con, CoreLit, ExprKind, Local, Projection, SizeAt, SizeRep, Sizes};
use crate::errors::reason::Reason;
use crate::errors::{calls, names, patterns};
use crate::patterns::{TPat, compile};
use crate::ty::{Class, RecordTy, Size, Ty, TyVar};
use adl_syntax::ast;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A variable that a pattern binds.
pub(super) type PatVar = (Symbol, Local, Ty, Span);

impl Infer<'_> {
    /// Infers a pattern against `ty` and appends its variables to `vars`.
    pub(super) fn pat(&mut self, p: &ast::Pat, ty: &Ty, vars: &mut Vec<PatVar>) -> TPat {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.pat_parts(p, ty, vars))
    }

    fn pat_parts(&mut self, pat: &ast::Pat, ty: &Ty, vars: &mut Vec<PatVar>) -> TPat {
        match &pat.kind {
            ast::PatKind::Wild | ast::PatKind::Error => TPat::Wild,
            ast::PatKind::Var(name) => TPat::Var(self.pat_var(*name, ty, pat.span, vars)),
            ast::PatKind::Lit(l) => self.pat_lit(l, ty, pat.span),
            ast::PatKind::Tuple(parts) => {
                let types: Vec<Ty> = parts.iter().map(|_| self.meta()).collect();
                let known = self.expect(ty, &Ty::Tuple(types.clone().into()), pat.span, &Reason::new("this pattern"));
                let parts = parts
                    .iter()
                    .zip(&types)
                    .enumerate()
                    .map(|(i, (q, t))| (Projection::Item(i as u32), self.pat(q, t, vars)))
                    .collect();
                if known { TPat::Parts(parts) } else { TPat::Wild }
            }
            ast::PatKind::Record(fields, more) => self.pat_record(fields, *more, ty, pat.span, vars),
            ast::PatKind::Con(module, con, args) => self.pat_con(*module, *con, args, ty, pat.span, vars),
            ast::PatKind::Array(parts) => {
                let (elem, n) = (self.meta(), self.size_meta());
                self.expect(ty, &array(n, elem.clone()), pat.span, &Reason::new("this pattern"));
                let size = match self.resolve(ty) {
                    Ty::Array(n, _) => self.resolve_size(n),
                    _ => Size::Unknown,
                };
                let size = if let Size::Const(n, _) = size { Some(n as usize) } else { None };
                TPat::Array(parts.iter().map(|q| self.pat(q, &elem, vars)).collect(), size, ty.clone())
            }
            ast::PatKind::As(q, name) => {
                let local = self.pat_var(name.name, ty, name.span, vars);
                TPat::As(Box::new(self.pat(q, ty, vars)), local)
            }
            ast::PatKind::Or(alts) => self.pat_or(alts, ty, pat.span, vars),
            ast::PatKind::Ann(q, t) => {
                let wanted = self.annotation(t);
                self.expect(&wanted, ty, pat.span, &Reason::new("what this pattern takes apart"));
                self.pat(q, &wanted, vars)
            }
        }
    }

    fn pat_var(&mut self, name: Symbol, ty: &Ty, span: Span, vars: &mut Vec<PatVar>) -> Local {
        if let Some(first) = vars.iter().find(|v| v.0 == name) {
            let d = names::DuplicateName { what: "variables", name: name.as_str(), span, first: Some(first.3) }
                .diagnostic();
            self.report(d);
        }
        self.record_type(span, ty);
        let local = self.local();
        vars.push((name, local, ty.clone(), span));
        local
    }

    fn pat_lit(&mut self, l: &ast::Lit, ty: &Ty, span: Span) -> TPat {
        let (t, lit) = match l {
            ast::Lit::Unit => (Ty::Unit, CoreLit::Unit),
            ast::Lit::Bool(b) => (Ty::Bool, CoreLit::Bool(*b)),
            ast::Lit::Int(n) => (self.number(Class::Num, span, "a number"), CoreLit::Int(*n)),
            ast::Lit::Float(x) => (self.number(Class::Real, span, "a number"), CoreLit::Float(*x)),
            ast::Lit::F32(x) => (Ty::F32, CoreLit::F32(*x)),
            ast::Lit::Str(s) => (Ty::Str, CoreLit::Str(s.as_str().into())),
        };
        self.expect(ty, &t, span, &Reason::new("this pattern"));
        TPat::Lit(lit)
    }

    fn pat_record(
        &mut self,
        fields: &[(ast::Ident, ast::Pat)],
        more: bool,
        ty: &Ty,
        span: Span,
        vars: &mut Vec<PatVar>,
    ) -> TPat {
        if let Ty::Record(r) = self.resolve(ty) {
            let open = self.vars.open_record(&r);
            let known: HashSet<Symbol> = open.fields.iter().map(|(m, _)| *m).collect();
            let lost = fields.iter().find(|(n, _)| open.tail.is_none() && !known.contains(&n.name));
            if let Some((n, _)) = lost {
                let d = self.no_field(n.name, n.span, &open, None);
                self.report(d);
                for (_, q) in fields {
                    let t = self.meta();
                    self.pat(q, &t, vars);
                }
                return TPat::Wild;
            }
        }
        let mut typed: Vec<(Symbol, Ty)> = fields.iter().map(|(n, _)| (n.name, self.meta())).collect();
        let metas = typed.clone();
        typed.sort_by_key(|(n, _)| n.as_str());
        // A pattern names the fields it needs; a record may have others.
        let _ = more;
        let tail = Some(self.row_meta());
        let record = Ty::Record(Rc::new(RecordTy { fields: typed, tail }));
        let known = self.expect(ty, &record, span, &Reason::new("this pattern"));
        let parts = fields
            .iter()
            .zip(&metas)
            .map(|((n, q), (_, t))| (Projection::Field(n.name), self.pat(q, t, vars)))
            .collect();
        if known { TPat::Parts(parts) } else { TPat::Wild }
    }

    fn pat_con(
        &mut self,
        module: Option<ast::Ident>,
        con: ast::Ident,
        args: &[ast::Pat],
        ty: &Ty,
        span: Span,
        vars: &mut Vec<PatVar>,
    ) -> TPat {
        let Some((data, tag)) = self.find_con(module, con) else {
            for a in args {
                let t = self.meta();
                self.pat(a, &t, vars);
            }
            return TPat::Wild;
        };
        let (fields, whole) = self.con_types(&data, tag);
        let spread = match args {
            [one] if fields.len() > 1 => self.tuple_of_fields(con, one, fields.len()),
            _ => None,
        };
        let args = spread.as_deref().unwrap_or(args);
        let known = self.expect(ty, &whole, span, &Reason::new(format!("the pattern `{}`", con.name)));
        if fields.len() != args.len() {
            self.report(calls::pattern(span, con.name.as_str(), fields.len(), args.len()));
        }
        let mut subs: Vec<TPat> = Vec::new();
        for (i, a) in args.iter().enumerate() {
            // With a wrong number of parts, parts cannot be assigned to fields.
            let t = fields.get(i).filter(|_| fields.len() == args.len()).cloned().unwrap_or_else(|| self.meta());
            subs.push(self.pat(a, &t, vars));
        }
        subs.resize(fields.len(), TPat::Wild);
        if known { TPat::Con(Con { data, tag }, subs) } else { TPat::Wild }
    }

    /// The parts of `Cons(x, rest)`, which is reported as an error.
    fn tuple_of_fields(&mut self, con: ast::Ident, one: &ast::Pat, fields: usize) -> Option<Vec<ast::Pat>> {
        let ast::PatKind::Tuple(parts) = &one.kind else { return None };
        if parts.len() != fields {
            return None;
        }
        let texts: Vec<&str> = parts.iter().map(|p| self.host.text(p.span)).collect();
        let d = calls::pattern_of_tuple(one.span, con.name.as_str(), &texts);
        self.report(d);
        Some(parts.clone())
    }

    fn pat_or(&mut self, alts: &[ast::Pat], ty: &Ty, span: Span, vars: &mut Vec<PatVar>) -> TPat {
        let mut first: Vec<PatVar> = Vec::new();
        let mut out = Vec::new();
        for (i, alt) in alts.iter().enumerate() {
            let mut mine = Vec::new();
            let pat = self.pat(alt, ty, &mut mine);
            if i == 0 {
                first = mine;
                out.push(pat);
                continue;
            }
            let odd = |xs: &[PatVar], ys: &[PatVar]| -> Vec<String> {
                xs.iter().filter(|x| !ys.iter().any(|y| y.0 == x.0)).map(|x| x.0.to_string()).collect()
            };
            let mut differ = odd(&first, &mine);
            differ.extend(odd(&mine, &first));
            if !differ.is_empty() {
                self.report(names::alternatives_differ(span, &differ));
                continue;
            }
            let mut renames = Vec::new();
            for (name, local, t, s) in mine {
                if let Some(w) = first.iter().find(|w| w.0 == name).cloned() {
                    self.expect(&w.2, &t, s, &Reason::is(format!("`{name}`"), w.3, "the other", &w.2));
                    renames.push((local, w.1));
                }
            }
            out.push(rename(pat, &renames));
        }
        vars.extend(first);
        TPat::Or(out)
    }

    /// The constructor of that name.
    pub(super) fn find_con(
        &mut self,
        module: Option<ast::Ident>,
        con: ast::Ident,
    ) -> Option<(Rc<crate::ty::DataDecl>, u32)> {
        let found = match module {
            None => self.env.con(con.name).cloned(),
            Some(m) => self.module(m.name).and_then(|e| e.con(con.name).cloned()),
        };
        if found.is_none() {
            let near = self.nearest(con.name.as_str(), |me| {
                let base = me.env.base.iter().flat_map(|b| b.cons.keys());
                [me.env.cons.keys().map(|s| s.as_str()).collect(), base.map(|s| s.as_str()).collect()]
            });
            self.report(
                names::Unknown { what: Some("constructor"), name: con.name.as_str(), span: con.span, near }
                    .diagnostic(),
            );
        }
        found
    }

    /// The field types and the type of a constructor, instantiated with fresh metas.
    pub(super) fn con_types(&mut self, data: &Rc<crate::ty::DataDecl>, tag: u32) -> (Vec<Ty>, Ty) {
        let data = self.tables.datas.get(&data.id).cloned().unwrap_or_else(|| data.clone());
        let args: Vec<Ty> = data.params.iter().map(|_| self.meta()).collect();
        let mut map: HashMap<TyVar, Ty> = data.params.iter().copied().zip(args.iter().cloned()).collect();
        // Variables that are not parameters stand for types with errors, which unify with everything.
        let mut subst = |t: &Ty| {
            super::map_type(
                t,
                &mut |t| match t {
                    Ty::Var(v) => Some(map.entry(*v).or_insert_with(|| self.meta()).clone()),
                    _ => None,
                },
                &mut |s| s,
            )
        };
        let fields = data.cons[tag as usize].fields.iter().map(&mut subst).collect();
        (fields, Ty::Data(data.id, args.clone().into()))
    }

    /// Destructures the value in `local` by a pattern that must be irrefutable, then runs `body`.
    pub(super) fn destructure(
        &mut self,
        local: Local,
        ty: &Ty,
        pat: TPat,
        vars: &[PatVar],
        span: Span,
        body: core::Expr,
    ) -> core::Expr {
        let (e, refused) = self.destructure_with(local, ty, pat, vars, span, body);
        if let Some(d) = refused {
            self.report(d);
        }
        e
    }

    /// Like `destructure`, and reports a refutable pattern with the given message.
    pub(super) fn destructure_with(
        &mut self,
        local: Local,
        ty: &Ty,
        pat: TPat,
        vars: &[PatVar],
        span: Span,
        body: core::Expr,
    ) -> (core::Expr, Option<Diagnostic>) {
        match pat {
            TPat::Wild => return (body, None),
            TPat::Var(x) if x == local => return (body, None),
            _ => {}
        }
        let scrutinee = mk(ExprKind::Local(local), ty.clone(), span);
        let (mut pat, mut lengths) = (pat, Vec::new());
        let mut inner = Vec::new();
        self.extract_array_patterns(&mut pat, false, &mut inner);
        if !inner.is_empty() {
            return self.taken_apart_twice((local, ty), pat, inner, vars, span, body);
        }
        if let Err((want, have)) = assume_lengths(&mut pat, &mut Vec::new(), 0, &mut lengths) {
            return (body, Some(patterns::lengths(span, want, have)));
        }
        let root = self.local();
        let compiled = compile(root, &[(pat, false)], &mut || {
            self.locals += 1;
            Local(self.locals - 1)
        });
        let refused = match compiled.missing.first() {
            Some(missing) => Some(patterns::refutable(span, missing)),
            None => compiled.too_large.then(|| patterns::too_large(span)),
        };
        let (t, s) = (body.ty.clone(), body.span);
        let arm = Arm { vars: vars.iter().map(|(n, l, t, _)| (*l, *n, t.clone())).collect(), guard: None, body };
        let taken = mk(ExprKind::Match(scrutinee, root, compiled.tree, vec![arm]), t.clone(), s);
        if lengths.is_empty() {
            return (taken, refused);
        }
        let check =
            |(path, axis, n)| (SizeAt { from: local, path, axis, span }, SizeRep::Const(n as u64), String::new());
        let sizes = Sizes { binds: Vec::new(), checks: lengths.into_iter().map(check).collect() };
        (mk(ExprKind::Sizes(sizes, taken), t, s), refused)
    }

    /// Removes array patterns inside constructors, or inside elements of arrays, from a pattern and leaves a variable
    /// in the place of each. Their lengths are checked after the rest has been destructured.
    fn extract_array_patterns(&mut self, pattern: &mut TPat, inside: bool, out: &mut Vec<(Local, Ty, TPat)>) {
        match pattern {
            TPat::Array(_, _, ty) if inside => {
                let (local, ty) = (self.local(), ty.clone());
                out.push((local, ty, std::mem::replace(pattern, TPat::Var(local))));
            }
            TPat::Array(ps, ..) => ps.iter_mut().for_each(|p| {
                let row = matches!(p, TPat::Array(..));
                self.extract_array_patterns(p, !row, out);
            }),
            TPat::Con(_, ps) => ps.iter_mut().for_each(|p| self.extract_array_patterns(p, true, out)),
            TPat::Parts(ps) => ps.iter_mut().for_each(|(_, p)| self.extract_array_patterns(p, inside, out)),
            TPat::As(p, _) => self.extract_array_patterns(p, inside, out),
            // Alternatives are selected by lengths.
            TPat::Wild | TPat::Var(_) | TPat::Lit(_) | TPat::Or(_) => {}
        }
    }

    fn taken_apart_twice(
        &mut self,
        (local, ty): (Local, &Ty),
        pat: TPat,
        inner: Vec<(Local, Ty, TPat)>,
        vars: &[PatVar],
        span: Span,
        body: core::Expr,
    ) -> (core::Expr, Option<Diagnostic>) {
        let (mut body, mut refused) = (body, None);
        let mut first: Vec<PatVar> = inner.iter().map(|(l, t, _)| (Symbol::new("_"), *l, t.clone(), span)).collect();
        first.extend(vars.iter().filter(|(_, l, ..)| pat.binds(*l)).cloned());
        for (l, t, p) in inner.into_iter().rev() {
            let own: Vec<PatVar> = vars.iter().filter(|(_, l, ..)| p.binds(*l)).cloned().collect();
            let (e, d) = self.destructure_with(l, &t, p, &own, span, body);
            (body, refused) = (e, d.or(refused));
        }
        let (e, d) = self.destructure_with(local, ty, pat, &first, span, body);
        (e, d.or(refused))
    }

    pub(super) fn push_vars(&mut self, vars: &[PatVar]) {
        for (name, local, ty, _) in vars {
            self.bind_mono(*name, *local, ty.clone());
        }
    }
}

/// Array patterns whose lengths are not known from types: the path, axis and length of each, to be checked at run time.
/// Reports patterns whose length contradicts a length known from types.
fn assume_lengths(
    pattern: &mut TPat,
    path: &mut Vec<Projection>,
    axis: u32,
    out: &mut Vec<(Vec<Projection>, u32, usize)>,
) -> Result<(), (usize, usize)> {
    match pattern {
        TPat::As(p, _) => assume_lengths(p, path, axis, out),
        TPat::Parts(parts) if axis == 0 => parts.iter_mut().try_for_each(|(step, p)| {
            path.push(*step);
            let done = assume_lengths(p, path, 0, out);
            path.pop();
            done
        }),
        TPat::Array(parts, Some(n), _) if parts.len() != *n => Err((parts.len(), *n)),
        TPat::Array(parts, n, _) => {
            let place = (path.clone(), axis, parts.len());
            if n.is_none() && !out.contains(&place) {
                out.push(place);
            }
            *n = Some(parts.len());
            parts.iter_mut().try_for_each(|p| assume_lengths(p, path, axis + 1, out))
        }
        _ => Ok(()),
    }
}

fn rename(p: TPat, map: &[(Local, Local)]) -> TPat {
    let to = |l: Local| map.iter().find(|(a, _)| *a == l).map_or(l, |(_, b)| *b);
    match p {
        TPat::Wild | TPat::Lit(_) => p,
        TPat::Var(l) => TPat::Var(to(l)),
        TPat::Parts(ps) => TPat::Parts(ps.into_iter().map(|(s, p)| (s, rename(p, map))).collect()),
        TPat::Con(c, ps) => TPat::Con(c, ps.into_iter().map(|p| rename(p, map)).collect()),
        TPat::Array(ps, n, t) => TPat::Array(ps.into_iter().map(|p| rename(p, map)).collect(), n, t),
        TPat::Or(ps) => TPat::Or(ps.into_iter().map(|p| rename(p, map)).collect()),
        TPat::As(p, l) => TPat::As(Box::new(rename(*p, map)), to(l)),
    }
}

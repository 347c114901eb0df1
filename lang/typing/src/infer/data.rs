//! Tuples, records, arrays and constructors.

use super::open_records::FieldLookup;
use super::{Infer, array, fun, mk};
use crate::core::{self, Con, ExprKind, Lambda, Param};
use crate::errors::reason::Reason;
use crate::errors::{calls, names, records};
use crate::ty::{RecordTy, Size, Ty};
use adl_prim::{ArrayFn, Prim};
use adl_syntax::ast;
use adl_syntax::field_order;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

impl Infer<'_> {
    pub(super) fn tuple(&mut self, parts: &[ast::Expr], want: Option<&Ty>, span: Span) -> core::Expr {
        let wants: Vec<Option<Ty>> = match want.map(|t| self.resolve(t)) {
            Some(Ty::Tuple(ts)) if ts.len() == parts.len() => ts.iter().cloned().map(Some).collect(),
            _ => vec![None; parts.len()],
        };
        let parts: Vec<core::Expr> = parts.iter().zip(&wants).map(|(e, w)| self.infer(e, w.as_ref())).collect();
        let ty = Ty::Tuple(parts.iter().map(|p| p.ty.clone()).collect());
        mk(ExprKind::Tuple(parts), ty, span)
    }

    pub(super) fn fields(
        &mut self,
        fields: &[(ast::Ident, ast::Expr)],
        want: Option<&Ty>,
    ) -> Vec<(Symbol, core::Expr)> {
        let wanted = match want.map(|t| self.resolve(t)) {
            Some(Ty::Record(r)) => self.vars.open_record(&r).fields,
            _ => Vec::new(),
        };
        let wanted: HashMap<Symbol, Ty> = wanted.into_iter().collect();
        let mut seen: HashSet<Symbol> = HashSet::new();
        let mut out: Vec<(Symbol, core::Expr)> = Vec::new();
        for (name, e) in fields {
            if !seen.insert(name.name) {
                self.report(
                    names::DuplicateName { what: "fields", name: name.name.as_str(), span: name.span, first: None }
                        .diagnostic(),
                );
                continue;
            }
            out.push((name.name, self.infer(e, wanted.get(&name.name))));
        }
        out.sort_by_key(|(n, _)| n.as_str());
        out
    }

    pub(super) fn record(&mut self, fields: &[(ast::Ident, ast::Expr)], want: Option<&Ty>, span: Span) -> core::Expr {
        field_order::written(fields.iter().map(|(n, _)| n.name));
        let fields = self.fields(fields, want);
        let ty = Ty::Record(Rc::new(RecordTy {
            fields: fields.iter().map(|(n, e)| (*n, e.ty.clone())).collect(),
            tail: None,
        }));
        mk(ExprKind::Record(fields), ty, span)
    }

    /// `{expr with x = e, y}`.
    pub(super) fn update_fields(
        &mut self,
        expr: &ast::Expr,
        fields: &[(ast::Ident, ast::Expr)],
        want: Option<&Ty>,
        span: Span,
    ) -> core::Expr {
        let base = self.infer(expr, want);
        self.solve_ops();
        let places: Vec<ast::Ident> = fields.iter().map(|(n, _)| *n).collect();
        let fields = self.fields(fields, Some(&base.ty.clone()));
        for name in places {
            let Some((_, e)) = fields.iter().find(|(n, _)| *n == name.name) else { continue };
            let (t, at) = (e.ty.clone(), e.span);
            self.updated(&base, name, &t, expr.span, at);
        }
        let ty = base.ty.clone();
        mk(ExprKind::Update(base, fields), ty, span)
    }

    /// Requires that the new value of a field has the type of the old one.
    fn updated(&mut self, base: &core::Expr, name: ast::Ident, new: &Ty, record: Span, at: Span) {
        if let Ty::Record(rec) = self.resolve(&base.ty) {
            let open = self.vars.open_record(&rec);
            match open.fields.iter().find(|(n, _)| *n == name.name) {
                Some((_, old)) => {
                    let why = Reason::is(format!("the new `{}`", name.name), record, "the record", &base.ty);
                    self.expect(old, new, at, &why);
                    return;
                }
                None if open.tail.is_none() => {
                    let d = self.no_field(name.name, name.span, &open, Some(record));
                    self.report(d);
                    return;
                }
                None => {}
            }
        }
        let tail = Some(self.row_meta());
        let needed = Ty::Record(Rc::new(RecordTy { fields: vec![(name.name, new.clone())], tail }));
        self.expect(&needed, &base.ty.clone(), record, &Reason::new("the updated record"));
    }

    pub(super) fn field(&mut self, expr: &ast::Expr, name: ast::Ident, span: Span) -> core::Expr {
        if let Some(e) = self
            .library_member(expr, name, span)
            .or_else(|| self.file_name(expr, name, span))
            .or_else(|| self.module_member(expr, name, span))
        {
            return e;
        }
        let base = self.infer(expr, None);
        self.solve_ops();
        if name.name.as_str() == "T" {
            let elem = self.meta();
            let (n, m) = (self.size_meta(), self.size_meta());
            let wanted = array(n, array(m, elem.clone()));
            self.expect(&wanted, &base.ty.clone(), expr.span, &Reason::new("the operand of `.T`"));
            return mk(
                ExprKind::App(
                    mk(ExprKind::Prim(Prim::Array(ArrayFn::TransposeArray), Vec::new()), Ty::Unit, span),
                    vec![base],
                ),
                array(m, array(n, elem)),
                span,
            );
        }
        self.field_of_value(base, name, expr.span, span)
    }

    /// A field of the value whose expression is at `at`.
    pub(super) fn field_of_value(&mut self, base: core::Expr, name: ast::Ident, at: Span, span: Span) -> core::Expr {
        let why = Reason::new(format!("the record before `.{}`", name.name));
        if let Ty::Record(rec) = self.resolve(&base.ty) {
            return match self.known_field(&rec, name, &base, at, &why) {
                Some(t) => mk(ExprKind::Field(base, name.name), t, span),
                None => self.error_expr(span),
            };
        }
        let ty = self.meta();
        if !self.may_be_record(&base.ty) {
            let d = records::no_record(at, name.name.as_str(), &self.show(&base.ty));
            self.report(d);
            return self.error_expr(span);
        }
        let tail = Some(self.row_meta());
        let wanted = Ty::Record(Rc::new(RecordTy { fields: vec![(name.name, ty.clone())], tail }));
        self.expect(&wanted, &base.ty.clone(), at, &why);
        mk(ExprKind::Field(base, name.name), ty, span)
    }

    /// The type of a field of a record. An open record gets the field if it lacks it.
    fn known_field(
        &mut self,
        rec: &Rc<RecordTy>,
        name: ast::Ident,
        base: &core::Expr,
        at: Span,
        why: &Reason,
    ) -> Option<Ty> {
        match self.vars.look_up_field(rec, name.name) {
            FieldLookup::There(t) => Some(t),
            FieldLookup::Missing => {
                let open = self.vars.open_record(rec);
                let d = self.no_field(name.name, name.span, &open, None);
                self.report(d);
                None
            }
            FieldLookup::Open(rest) => {
                let ty = self.meta();
                let extended = self.extend_row(&rest, name.name, &ty);
                let wanted = Ty::Record(Rc::new(RecordTy { fields: vec![(name.name, ty.clone())], tail: None }));
                self.met(extended, &wanted, &base.ty, at, why);
                Some(ty)
            }
        }
    }

    pub(super) fn array_literal(&mut self, parts: &[ast::Expr], want: Option<&Ty>, span: Span) -> core::Expr {
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
                    let why = Reason::is(format!("element {i} of this array"), parts[0].span, "element 0", t);
                    self.expect(&t.clone(), &c.ty.clone(), p.span, &why);
                }
            }
            out.push(c);
        }
        let n = parts.len() as u64;
        mk(ExprKind::Array(out), array(Size::from(n, span), first.unwrap_or(elem)), span)
    }

    fn may_be_record(&self, t: &Ty) -> bool {
        match self.resolve(t) {
            Ty::Record(_) => true,
            Ty::Meta(m) => !self.vars[m].scalar,
            _ => false,
        }
    }

    /// A constructor applied to its fields. With fewer arguments it becomes a function.
    pub(super) fn constructor(
        &mut self,
        module: Option<ast::Ident>,
        con: ast::Ident,
        args: &[&ast::Expr],
        span: Span,
    ) -> core::Expr {
        let Some((data, tag)) = self.find_con(module, con) else {
            args.iter().for_each(|a| {
                self.infer(a, None);
            });
            return self.error_expr(span);
        };
        let (fields, whole) = self.con_types(&data, tag);
        if args.len() > fields.len() {
            self.report(calls::constructor(span, con.name.as_str(), fields.len(), args.len()));
            return self.error_expr(span);
        }
        let mut given: Vec<core::Expr> = Vec::new();
        for (i, (a, t)) in args.iter().zip(&fields).enumerate() {
            given.push(self.check(a, t, &Reason::new(format!("field {} of `{}`", i + 1, con.name))));
        }
        let data = self.tables.datas.get(&data.id).cloned().unwrap_or(data);
        if given.len() == fields.len() {
            return mk(ExprKind::Con(Con { data, tag }, given), whole, span);
        }
        // Missing fields become parameters; the given ones are evaluated first.
        let held: Vec<(core::Local, core::Expr)> = given.into_iter().map(|e| (self.local(), e)).collect();
        let missing: Vec<(core::Local, Ty)> = fields[held.len()..].iter().map(|t| (self.local(), t.clone())).collect();
        let mut parts: Vec<core::Expr> =
            held.iter().map(|(l, e)| mk(ExprKind::Local(*l), e.ty.clone(), span)).collect();
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

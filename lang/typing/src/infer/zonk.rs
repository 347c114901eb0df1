//! Resolves every meta in Core, makes representations from types, and checks `lin` bodies.

use super::{Infer, RecKey, mk};
use crate::core::{Arm, CoreLit, Expr, ExprKind, Extent, IndexArg, Lambda, LoopKind, Param, Rep, SizeRep};
use crate::errors::calls;
use crate::ty::{RecordTy, Size, Ty, each_field, part_of_each};
use adl_prim::{ArrayFn, Bin, IoFn, Prim, TextFn};
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::rc::Rc;

/// The number of arguments that a function still takes.
fn arrows(mut t: &Ty) -> usize {
    let mut n = 0;
    while let Ty::Fun(_, r) | Ty::Lin(_, r) = t {
        n += 1;
        t = r;
    }
    n
}

impl Infer<'_> {
    /// The type without metas. Unconstrained ones become type variables.
    pub(super) fn final_type(&mut self, t: &Ty) -> Ty {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.final_parts(t))
    }

    fn final_parts(&mut self, ty: &Ty) -> Ty {
        match ty {
            Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str | Ty::Var(_) => ty.clone(),
            Ty::Meta(m) => self.final_meta(*m),
            Ty::Fun(a, b) => super::fun(self.final_type(a), self.final_type(b)),
            Ty::Lin(a, b) => Ty::Lin(Rc::new(self.final_type(a)), Rc::new(self.final_type(b))),
            Ty::Tuple(parts) => {
                let at = parts.as_ptr();
                if let Some((_, known)) = self.finals.tuples.get(&at) {
                    return known.clone();
                }
                let out = Ty::Tuple(parts.iter().map(|p| self.final_type(p)).collect());
                self.finals.tuples.insert(at, (parts.clone(), out.clone()));
                out
            }
            Ty::Data(id, args) => {
                self.finals.each |= part_of_each(ty).is_some();
                Ty::Data(*id, args.iter().map(|a| self.final_type(a)).collect())
            }
            Ty::Array(n, e) => {
                let n = match self.resolve_size(*n) {
                    Size::Meta(_) => Size::Unknown,
                    n => n,
                };
                super::array(n, self.final_type(e))
            }
            Ty::Record(r) => {
                if let Some((_, known)) = self.finals.records.get(&Rc::as_ptr(r)) {
                    return known.clone();
                }
                let out = self.final_record(r);
                self.finals.records.insert(Rc::as_ptr(r), (r.clone(), out.clone()));
                out
            }
        }
    }

    fn final_meta(&mut self, m: u32) -> Ty {
        if let Some(known) = self.finals.metas.get(&m) {
            return known.clone();
        }
        let out = match self.resolve(&Ty::Meta(m)) {
            Ty::Meta(free) => self.close(free),
            bound => self.final_type(&bound),
        };
        self.finals.metas.insert(m, out.clone());
        out
    }

    /// Decides the final type of an inference variable that nothing constrains.
    fn close(&mut self, free: u32) -> Ty {
        let out = match self.vars[free].row {
            true => Ty::Record(Rc::new(RecordTy { fields: Vec::new(), tail: None })),
            false => Ty::Var(self.tables.var()),
        };
        self.vars[free].bound = Some(out.clone());
        out
    }

    fn final_record(&mut self, r: &Rc<RecordTy>) -> Ty {
        let open = self.vars.open_record(r);
        let mut fields: Vec<(Symbol, Ty)> = open.fields.iter().map(|(n, t)| (*n, self.final_type(t))).collect();
        fields.sort_by_key(|(n, _)| n.as_str());
        let tail = match open.tail.map(|t| self.final_type(&t)) {
            Some(Ty::Record(rest)) if rest.fields.is_empty() => rest.tail.clone(),
            tail => tail,
        };
        Ty::Record(Rc::new(RecordTy { fields, tail }))
    }

    fn rep(&mut self, r: Rep) -> Rep {
        match r {
            Rep::Base(t) => {
                let t = self.final_type(&t);
                self.rep_of(&t)
            }
            other => other,
        }
    }

    fn rep_of(&self, t: &Ty) -> Rep {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.rep_parts(t))
    }

    fn rep_parts(&self, ty: &Ty) -> Rep {
        match ty {
            Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str => Rep::Base(ty.clone()),
            Ty::Var(v) => self.hidden.reps.get(v).map_or(Rep::Other, |l| Rep::Hidden(*l)),
            Ty::Meta(_) | Ty::Fun(..) | Ty::Lin(..) => Rep::Other,
            Ty::Tuple(parts) => Rep::Tuple(parts.iter().map(|p| self.rep_of(p)).collect()),
            Ty::Record(r) => Rep::Record(r.fields.iter().map(|(n, t)| (*n, self.rep_of(t))).collect()),
            Ty::Array(n, e) => {
                let size = match n {
                    Size::Const(k, _) => SizeRep::Const(*k),
                    Size::Var(v) => self.hidden.sizes.get(v).map_or(SizeRep::Unknown, |l| SizeRep::Local(*l)),
                    Size::Meta(_) | Size::Unknown => SizeRep::Unknown,
                };
                Rep::Array(size, Box::new(self.rep_of(e)))
            }
            t if let Some(part) = part_of_each(t) => Rep::Record(vec![(each_field(), self.rep_of(part))]),
            Ty::Data(id, args) => match self.tables.datas.get(id) {
                Some(d) => Rep::Data(d.clone(), args.iter().map(|a| self.rep_of(a)).collect()),
                None => Rep::Other,
            },
        }
    }

    fn reps(&mut self, reps: Vec<Rep>) -> Vec<Rep> {
        reps.into_iter().map(|r| self.rep(r)).collect()
    }

    fn exprs(&mut self, es: Vec<Expr>) -> Vec<Expr> {
        es.into_iter().map(|e| self.zonk(e)).collect()
    }

    pub(super) fn zonk(&mut self, mut e: Expr) -> Expr {
        adl_syntax::stop::poll();
        stacker::maybe_grow(96 * 1024, 1024 * 1024, || {
            let ty = self.final_type(&e.ty);
            let kind = self.zonk_kind(e.take(), &ty, e.span);
            if let ExprKind::Inst(inner, reps) = &kind
                && reps.is_empty()
            {
                return inner.clone();
            }
            mk(kind, ty, e.span)
        })
    }

    fn zonk_kind(&mut self, kind: ExprKind, ty: &Ty, span: Span) -> ExprKind {
        match kind {
            ExprKind::Lit(l) => ExprKind::Lit(l),
            ExprKind::IntAt(n, rep) => match ty {
                Ty::Int => ExprKind::Lit(CoreLit::Int(n)),
                Ty::Float => ExprKind::Lit(CoreLit::Float(n as f64)),
                Ty::F32 => ExprKind::Lit(CoreLit::F32(n as f32)),
                _ => ExprKind::IntAt(n, self.rep(rep)),
            },
            ExprKind::FloatAt(x, rep) => match ty {
                Ty::Float => ExprKind::Lit(CoreLit::Float(x)),
                Ty::F32 => ExprKind::Lit(CoreLit::F32(x as f32)),
                _ => ExprKind::FloatAt(x, self.rep(rep)),
            },
            ExprKind::Local(l) => ExprKind::Local(l),
            ExprKind::Global(g) => ExprKind::Global(g),
            ExprKind::Prim(p, reps) => ExprKind::Prim(p, self.reps(reps)),
            ExprKind::Abs(ls, e) => ExprKind::Abs(ls, self.zonk(e)),
            ExprKind::Inst(e, reps) => self.zonk_inst(e, reps),
            ExprKind::Lam(l) => ExprKind::Lam(Rc::new(self.zonk_lambda(l, span))),
            ExprKind::App(f, args) => {
                let f = self.zonk(f);
                let args = self.exprs(args);
                if let ExprKind::Prim(Prim::Io(IoFn::Print | IoFn::Warn) | Prim::Text(TextFn::Show), _) = &*f.kind {
                    args.iter().for_each(|a| self.shown_function(a));
                }
                ExprKind::App(f, args)
            }
            ExprKind::Con(c, args) => ExprKind::Con(c, self.exprs(args)),
            ExprKind::Let(l, n, a, b) => {
                let a = self.zonk(a);
                ExprKind::Let(l, n, a, self.zonk(b))
            }
            ExprKind::LetRec(bs, e) => {
                let bs = bs.into_iter().map(|(l, n, e)| (l, n, self.zonk(e))).collect();
                ExprKind::LetRec(bs, self.zonk(e))
            }
            ExprKind::Sizes(s, e) => ExprKind::Sizes(s, self.zonk(e)),
            ExprKind::If(c, a, b) => {
                let (c, a) = (self.zonk(c), self.zonk(a));
                ExprKind::If(c, a, self.zonk(b))
            }
            ExprKind::Match(s, root, tree, arms) => {
                let s = self.zonk(s);
                let arms = arms.into_iter().map(|a| self.zonk_arm(a)).collect();
                ExprKind::Match(s, root, tree, arms)
            }
            ExprKind::Tuple(es) => ExprKind::Tuple(self.exprs(es)),
            ExprKind::Item(e, i) => ExprKind::Item(self.zonk(e), i),
            ExprKind::Record(fs) => ExprKind::Record(fs.into_iter().map(|(n, e)| (n, self.zonk(e))).collect()),
            ExprKind::Field(e, n) => ExprKind::Field(self.zonk(e), n),
            ExprKind::Update(e, fs) => {
                let e = self.zonk(e);
                ExprKind::Update(e, fs.into_iter().map(|(n, e)| (n, self.zonk(e))).collect())
            }
            ExprKind::Array(es) => ExprKind::Array(self.exprs(es)),
            ExprKind::Index(a, args) => {
                let a = self.zonk(a);
                ExprKind::Index(a, args.into_iter().map(|i| self.zonk_index(i)).collect())
            }
            ExprKind::For(k, vars, body, rep) => {
                let vars = vars.into_iter().map(|(l, n, x)| (l, n, self.zonk_extent(x))).collect();
                let body = self.zonk(body);
                ExprKind::For(k, vars, body, self.rep(rep))
            }
            ExprKind::Guard(c, e, rep) => {
                let (c, e) = (self.zonk(c), self.zonk(e));
                ExprKind::Guard(c, e, self.rep(rep))
            }
            ExprKind::Loop(l, init, kind, body) => {
                let init = self.zonk(init);
                let kind = match kind {
                    LoopKind::For(i, n) => LoopKind::For(i, self.zonk(n)),
                    LoopKind::While(c) => LoopKind::While(self.zonk(c)),
                };
                ExprKind::Loop(l, init, kind, self.zonk(body))
            }
            ExprKind::Interp(es) => {
                let es = self.exprs(es);
                es.iter().for_each(|e| self.shown_function(e));
                ExprKind::Interp(es)
            }
        }
    }

    /// Warns if a function is converted to text, as happens for a call that lacks an argument: the text is the
    /// function's type.
    fn shown_function(&mut self, expr: &Expr) {
        let (Ty::Fun(missing, _) | Ty::Lin(missing, _)) = &expr.ty else { return };
        let (callee, args) = match &*expr.kind {
            ExprKind::App(f, args) => (f, args.as_slice()),
            _ => (expr, &[][..]),
        };
        let (head, _, given) = expr.spine();
        let takes = given.len() + arrows(&expr.ty);
        let instead = match (&*head.kind, args.first().map(|a| &a.ty)) {
            (ExprKind::Prim(Prim::Bin(Bin::Max), _), Some(Ty::Array(..))) => {
                Some("the largest element of an array is `maximum xs`")
            }
            (ExprKind::Prim(Prim::Bin(Bin::Min), _), Some(Ty::Array(..))) => {
                Some("the smallest element of an array is `minimum xs`")
            }
            (ExprKind::Prim(Prim::Array(ArrayFn::Append), _), Some(Ty::Array(_, row)))
                if matches!(**row, Ty::Array(..)) =>
            {
                Some("the rows of an array, one after the other, are `flatten xs`")
            }
            _ => None,
        };
        let name = Some(self.host.text(callee.span))
            .filter(|t| !t.is_empty() && t.len() < 30 && !t.contains(char::is_whitespace))
            .unwrap_or("this function")
            .to_owned();
        let d = calls::shown(expr.span, &name, (takes, given.len()), &self.show(missing), instead);
        self.report(d);
    }

    /// A use inside its own recursive group passes the group's hidden parameters on.
    fn zonk_inst(&mut self, expr: Expr, reps: Vec<Rep>) -> ExprKind {
        if !reps.is_empty() {
            let e = self.zonk(expr);
            return ExprKind::Inst(e, self.reps(reps));
        }
        let key = match &*expr.kind {
            ExprKind::Local(l) => Some(RecKey::Local(*l)),
            ExprKind::Global(g) => Some(RecKey::Global(*g)),
            _ => None,
        };
        let vars = key.and_then(|k| self.hidden.groups.get(&k)).cloned().unwrap_or_default();
        let reps = vars.iter().filter_map(|v| self.hidden.reps.get(v)).map(|l| Rep::Hidden(*l)).collect();
        ExprKind::Inst(self.zonk(expr), reps)
    }

    fn zonk_lambda(&mut self, l: Rc<Lambda>, span: Span) -> Lambda {
        let l = Rc::try_unwrap(l).unwrap_or_else(|l| (*l).clone());
        let params = l.params.iter().map(|p| Param { ty: self.final_type(&p.ty), ..p.clone() }).collect();
        let body = self.zonk(l.body);
        let out = Lambda { params, body, linear: l.linear, name: l.name };
        if l.linear {
            let line = self.host.line(span, span);
            if let Err(d) = crate::linear::check(&out, &self.tables.functions, line) {
                self.report(*d);
            }
        }
        out
    }

    fn zonk_arm(&mut self, a: Arm) -> Arm {
        Arm {
            vars: a.vars.into_iter().map(|(l, n, t)| (l, n, self.final_type(&t))).collect(),
            guard: a.guard.map(|g| self.zonk(g)),
            body: self.zonk(a.body),
        }
    }

    fn zonk_index(&mut self, i: IndexArg) -> IndexArg {
        match i {
            IndexArg::At(e) => IndexArg::At(self.zonk(e)),
            IndexArg::Slice(a, b) => IndexArg::Slice(a.map(|e| self.zonk(e)), b.map(|e| self.zonk(e))),
        }
    }

    fn zonk_extent(&mut self, x: Extent) -> Extent {
        match x {
            Extent::Bound(e) => Extent::Bound(self.zonk(e)),
            Extent::Axes(axes) => Extent::Axes(axes.into_iter().map(|(e, k)| (self.zonk(e), k)).collect()),
        }
    }
}

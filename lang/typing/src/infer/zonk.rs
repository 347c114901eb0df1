//! Resolves every meta in Core, makes representations from types, and checks `lin` bodies.

use super::{Infer, RecKey, map_type, mk};
use crate::core::{Arm, Expr, ExprKind, Extent, IndexArg, Lambda, Lit, LoopKind, Param, Rep, SizeRep};
use crate::ty::{Size, Ty};
use adl_syntax::span::Span;
use std::rc::Rc;

impl Infer<'_> {
    /// The type without metas: those that nothing constrains become variables.
    pub(super) fn final_type(&mut self, t: &Ty) -> Ty {
        let t = self.resolve_deep(t);
        let mut fresh: Vec<(u32, Ty)> = Vec::new();
        let (tables, metas) = (&mut *self.tables, &self.metas);
        let out = map_type(&t, &mut |t| match t {
            Ty::Meta(m) if metas[*m as usize].row => {
                fresh.push((*m, Ty::Record(Rc::new(crate::ty::RecordTy { fields: Vec::new(), tail: None }))));
                fresh.last().map(|f| f.1.clone())
            }
            Ty::Meta(m) => match fresh.iter().find(|(k, _)| k == m) {
                Some((_, v)) => Some(v.clone()),
                None => {
                    let v = Ty::Var(tables.var());
                    fresh.push((*m, v.clone()));
                    Some(v)
                }
            },
            _ => None,
        }, &mut |s| if matches!(s, Size::Meta(_)) { Size::Unknown } else { s });
        for (m, v) in fresh {
            self.metas[m as usize].bound = Some(v);
        }
        out
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

    fn rep_parts(&self, t: &Ty) -> Rep {
        match t {
            Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str => Rep::Base(t.clone()),
            Ty::Var(v) => self.rep_locals.get(v).map_or(Rep::Other, |l| Rep::Hidden(*l)),
            Ty::Meta(_) | Ty::Fun(..) | Ty::Lin(..) => Rep::Other,
            Ty::Tuple(parts) => Rep::Tuple(parts.iter().map(|p| self.rep_of(p)).collect()),
            Ty::Record(r) => Rep::Record(r.fields.iter().map(|(n, t)| (*n, self.rep_of(t))).collect()),
            Ty::Array(n, e) => {
                let size = match n {
                    Size::Const(k, _) => SizeRep::Const(*k),
                    Size::Var(v) => self.size_locals.get(v).map_or(SizeRep::Unknown, |l| SizeRep::Local(*l)),
                    Size::Meta(_) | Size::Unknown => SizeRep::Unknown,
                };
                Rep::Array(size, Box::new(self.rep_of(e)))
            }
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
        stacker::maybe_grow(96 * 1024, 1024 * 1024, || {
            let ty = self.final_type(&e.ty);
            let kind = self.zonk_kind(e.take(), &ty, e.span);
            if let ExprKind::Inst(inner, reps) = &kind {
                if reps.is_empty() {
                    return inner.clone();
                }
            }
            mk(kind, ty, e.span)
        })
    }

    fn zonk_kind(&mut self, kind: ExprKind, ty: &Ty, span: Span) -> ExprKind {
        match kind {
            ExprKind::Lit(l) => ExprKind::Lit(l),
            ExprKind::IntAt(n, rep) => match ty {
                Ty::Int => ExprKind::Lit(Lit::Int(n)),
                Ty::Float => ExprKind::Lit(Lit::Float(n as f64)),
                Ty::F32 => ExprKind::Lit(Lit::F32(n as f32)),
                _ => ExprKind::IntAt(n, self.rep(rep)),
            },
            ExprKind::FloatAt(x, rep) => match ty {
                Ty::Float => ExprKind::Lit(Lit::Float(x)),
                Ty::F32 => ExprKind::Lit(Lit::F32(x as f32)),
                _ => ExprKind::FloatAt(x, self.rep(rep)),
            },
            ExprKind::Local(l) => ExprKind::Local(l),
            ExprKind::Global(g) => ExprKind::Global(g),
            ExprKind::Prim(p, reps) => ExprKind::Prim(p, self.reps(reps)),
            ExprKind::Abs(ls, e) => ExprKind::Abs(ls, self.zonk(e)),
            ExprKind::Inst(e, reps) => self.zonk_inst(e, reps),
            ExprKind::Lam(l) => ExprKind::Lam(Rc::new(self.zonk_lambda(&l, span))),
            ExprKind::App(f, args) => {
                let f = self.zonk(f);
                ExprKind::App(f, self.exprs(args))
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
            ExprKind::Interp(es) => ExprKind::Interp(self.exprs(es)),
        }
    }

    /// A use inside its own recursive group passes the group's hidden parameters on.
    fn zonk_inst(&mut self, e: Expr, reps: Vec<Rep>) -> ExprKind {
        if !reps.is_empty() {
            let e = self.zonk(e);
            return ExprKind::Inst(e, self.reps(reps));
        }
        let key = match &*e.kind {
            ExprKind::Local(l) => Some(RecKey::Local(*l)),
            ExprKind::Global(g) => Some(RecKey::Global(*g)),
            _ => None,
        };
        let vars = key.and_then(|k| self.rec_reps.get(&k)).cloned().unwrap_or_default();
        let reps = vars.iter().filter_map(|v| self.rep_locals.get(v)).map(|l| Rep::Hidden(*l)).collect();
        ExprKind::Inst(self.zonk(e), reps)
    }

    fn zonk_lambda(&mut self, l: &Rc<Lambda>, span: Span) -> Lambda {
        let params = l.params.iter().map(|p| Param { ty: self.final_type(&p.ty), ..p.clone() }).collect();
        let body = self.zonk(l.body.clone());
        let out = Lambda { params, body, linear: l.linear, name: l.name };
        if l.linear {
            let line = self.host.line(span, span);
            if let Err(d) = crate::linear::check(&out, line) {
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

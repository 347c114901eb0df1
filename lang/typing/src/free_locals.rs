//! Free locals of functions, hidden parameters and sizes included.

use crate::core::{Arm, Expr, ExprKind, Extent, IndexArg, Lambda, Local, LoopKind, Rep, SizeRep, Sizes, Tree};
use adl_syntax::symbol::Symbol;
use std::collections::HashSet;

/// Free locals of a function, in order of first use.
pub fn free_in_lambda(hidden: &[Local], lam: &Lambda) -> Vec<Local> {
    let mut f = FreeLocals { bound: HashSet::new(), out: Vec::new(), seen: HashSet::new() };
    f.bound.extend(hidden);
    f.lambda(lam);
    f.out
}

/// Free locals of mutually recursive functions.
pub fn free_in_group(members: &[(Local, &[Local], &Lambda)]) -> Vec<Local> {
    let mut f = FreeLocals { bound: HashSet::new(), out: Vec::new(), seen: HashSet::new() };
    f.bound.extend(members.iter().map(|m| m.0));
    for (_, hidden, lam) in members {
        f.bound.extend(*hidden);
        f.lambda(lam);
    }
    f.out
}

/// Free locals of a comprehension's body.
pub fn free_in_body(bound: &[Local], e: &Expr) -> Vec<Local> {
    let mut f = FreeLocals { bound: bound.iter().copied().collect(), out: Vec::new(), seen: HashSet::new() };
    f.expr(e);
    f.out
}

/// Collects free locals. Locals are unique within an item, so a flat set of bound ones suffices.
struct FreeLocals {
    bound: HashSet<Local>,
    out: Vec<Local>,
    seen: HashSet<Local>,
}

impl FreeLocals {
    fn local(&mut self, l: Local) {
        if !self.bound.contains(&l) && self.seen.insert(l) {
            self.out.push(l);
        }
    }

    fn lambda(&mut self, lam: &Lambda) {
        self.bound.extend(lam.params.iter().map(|p| p.local));
        self.expr(&lam.body);
    }

    fn rep(&mut self, r: &Rep) {
        match r {
            Rep::Hidden(l) => self.local(*l),
            Rep::Base(_) | Rep::Other => {}
            Rep::Array(n, e) => {
                if let SizeRep::Local(l) = n {
                    self.local(*l);
                }
                self.rep(e);
            }
            Rep::Tuple(ps) | Rep::Data(_, ps) => ps.iter().for_each(|p| self.rep(p)),
            Rep::Record(fs) => fs.iter().for_each(|(_, p)| self.rep(p)),
        }
    }

    fn expr(&mut self, e: &Expr) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.inner(e));
    }

    /// Visits expressions in order.
    fn all<'e>(&mut self, es: impl IntoIterator<Item = &'e Expr>) {
        es.into_iter().for_each(|e| self.expr(e));
    }

    fn inner(&mut self, expr: &Expr) {
        match &*expr.kind {
            ExprKind::Lit(_) | ExprKind::Global(_) => {}
            ExprKind::IntAt(_, r) | ExprKind::FloatAt(_, r) => self.rep(r),
            ExprKind::Local(l) => self.local(*l),
            ExprKind::Prim(_, rs) => self.reps(rs),
            ExprKind::Abs(ls, e) => self.under(ls.iter().copied(), e),
            ExprKind::Inst(e, rs) => self.with_reps(e, rs),
            ExprKind::Lam(l) => self.lambda(l),
            ExprKind::App(f, args) => self.all(std::iter::once(f).chain(args)),
            ExprKind::Con(_, es) | ExprKind::Tuple(es) | ExprKind::Array(es) | ExprKind::Interp(es) => self.all(es),
            ExprKind::Let(l, _, a, b) => self.bind(a, [*l], b),
            ExprKind::LetRec(bs, e) => self.recursive(bs, e),
            ExprKind::Sizes(s, e) => self.sizes(s, e),
            ExprKind::If(c, a, b) => self.all([c, a, b]),
            ExprKind::Match(s, root, tree, arms) => self.matching(s, *root, tree, arms),
            ExprKind::Item(e, _) | ExprKind::Field(e, _) => self.expr(e),
            ExprKind::Record(fs) => self.all(fs.iter().map(|f| &f.1)),
            ExprKind::Update(e, fs) => self.all(std::iter::once(e).chain(fs.iter().map(|f| &f.1))),
            ExprKind::Index(a, args) => self.index(a, args),
            ExprKind::For(_, vars, body, r) => self.comprehension(vars, body, r),
            ExprKind::Guard(c, e, r) => self.guarded(c, e, r),
            ExprKind::Loop(l, init, kind, body) => self.looping(*l, init, kind, body),
        }
    }

    fn reps(&mut self, rs: &[Rep]) {
        rs.iter().for_each(|r| self.rep(r));
    }

    fn with_reps(&mut self, e: &Expr, rs: &[Rep]) {
        self.expr(e);
        self.reps(rs);
    }

    fn under(&mut self, bound: impl IntoIterator<Item = Local>, e: &Expr) {
        self.bound.extend(bound);
        self.expr(e);
    }

    fn bind(&mut self, a: &Expr, bound: impl IntoIterator<Item = Local>, b: &Expr) {
        self.expr(a);
        self.under(bound, b);
    }

    fn recursive(&mut self, bs: &[(Local, Symbol, Expr)], e: &Expr) {
        self.bound.extend(bs.iter().map(|b| b.0));
        self.all(bs.iter().map(|b| &b.2).chain([e]));
    }

    fn sizes(&mut self, s: &Sizes, expr: &Expr) {
        for (at, want, _) in &s.checks {
            self.local(at.from);
            match want {
                SizeRep::Local(l) if !s.binds.iter().any(|b| b.1 == *l) => self.local(*l),
                _ => {}
            }
        }
        for b in &s.binds {
            self.local(b.3.from);
            self.bound.insert(b.1);
        }
        self.expr(expr);
    }

    fn matching(&mut self, s: &Expr, root: Local, tree: &Tree, arms: &[Arm]) {
        self.expr(s);
        self.bound.insert(root);
        self.tree(tree);
        for a in arms {
            self.bound.extend(a.vars.iter().map(|v| v.0));
            self.all(a.guard.iter().chain([&a.body]));
        }
    }

    fn index(&mut self, a: &Expr, args: &[IndexArg]) {
        self.expr(a);
        for i in args {
            match i {
                IndexArg::At(e) => self.expr(e),
                IndexArg::Slice(lo, hi) => self.all(lo.iter().chain(hi)),
            }
        }
    }

    fn comprehension(&mut self, vars: &[(Local, Symbol, Extent)], body: &Expr, r: &Rep) {
        for (l, _, x) in vars {
            match x {
                Extent::Bound(e) => self.expr(e),
                Extent::Axes(axes) => self.all(axes.iter().map(|a| &a.0)),
            }
            self.bound.insert(*l);
        }
        self.expr(body);
        self.rep(r);
    }

    fn guarded(&mut self, c: &Expr, e: &Expr, r: &Rep) {
        self.all([c, e]);
        self.rep(r);
    }

    fn looping(&mut self, l: Local, init: &Expr, kind: &LoopKind, body: &Expr) {
        self.expr(init);
        self.bound.insert(l);
        match kind {
            LoopKind::For(i, n) => self.bind(n, [*i], body),
            LoopKind::While(c) => self.all([c, body]),
        }
    }

    /// Locals that a tree binds.
    fn tree(&mut self, t: &Tree) {
        match t {
            Tree::Leaf(..) | Tree::Fail => {}
            Tree::Guard(_, _, rest) => self.tree(rest),
            Tree::Parts(ps, rest) => {
                self.bound.extend(ps.iter().map(|p| p.0));
                self.tree(rest);
            }
            Tree::Con(_, cases, default) => {
                for (_, fields, sub) in cases {
                    self.bound.extend(fields);
                    self.tree(sub);
                }
                default.iter().for_each(|d| self.tree(d));
            }
            Tree::Lit(_, cases, default) => {
                cases.iter().for_each(|c| self.tree(&c.1));
                self.tree(default);
            }
            Tree::Len(_, cases, default) => {
                for (_, elems, sub) in cases {
                    self.bound.extend(elems);
                    self.tree(sub);
                }
                self.tree(default);
            }
        }
    }
}

//! Free locals of functions, hidden parameters and sizes included.

use crate::core::{Expr, ExprKind, Extent, IndexArg, Lambda, Local, LoopKind, Rep, SizeRep, Tree};
use std::collections::HashSet;

/// Free locals of a function, in order of first use.
pub fn of_lambda(hidden: &[Local], lam: &Lambda) -> Vec<Local> {
    let mut f = Free { bound: HashSet::new(), out: Vec::new(), seen: HashSet::new() };
    f.bound.extend(hidden);
    f.lambda(lam);
    f.out
}

/// Free locals of several functions that know each other.
pub fn of_group(members: &[(Local, &[Local], &Lambda)]) -> Vec<Local> {
    let mut f = Free { bound: HashSet::new(), out: Vec::new(), seen: HashSet::new() };
    f.bound.extend(members.iter().map(|m| m.0));
    for (_, hidden, lam) in members {
        f.bound.extend(*hidden);
        f.lambda(lam);
    }
    f.out
}

/// Free locals of a comprehension's body.
pub fn of_body(bound: &[Local], e: &Expr) -> Vec<Local> {
    let mut f = Free { bound: bound.iter().copied().collect(), out: Vec::new(), seen: HashSet::new() };
    f.expr(e);
    f.out
}

/// Locals are unique within an item, so that a flat set of bound ones is enough.
struct Free {
    bound: HashSet<Local>,
    out: Vec<Local>,
    seen: HashSet<Local>,
}

impl Free {
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

    fn exprs(&mut self, es: &[Expr]) {
        es.iter().for_each(|e| self.expr(e));
    }

    fn expr(&mut self, e: &Expr) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.inner(e));
    }

    fn inner(&mut self, e: &Expr) {
        match &*e.kind {
            ExprKind::Lit(_) | ExprKind::Global(_) => {}
            ExprKind::IntAt(_, r) | ExprKind::FloatAt(_, r) => self.rep(r),
            ExprKind::Local(l) => self.local(*l),
            ExprKind::Prim(_, rs) => rs.iter().for_each(|r| self.rep(r)),
            ExprKind::Abs(ls, e) => {
                self.bound.extend(ls);
                self.expr(e);
            }
            ExprKind::Inst(e, rs) => {
                self.expr(e);
                rs.iter().for_each(|r| self.rep(r));
            }
            ExprKind::Lam(l) => self.lambda(l),
            ExprKind::App(f, args) => {
                self.expr(f);
                self.exprs(args);
            }
            ExprKind::Con(_, es) | ExprKind::Tuple(es) | ExprKind::Array(es) | ExprKind::Interp(es) => self.exprs(es),
            ExprKind::Let(l, _, a, b) => {
                self.expr(a);
                self.bound.insert(*l);
                self.expr(b);
            }
            ExprKind::LetRec(bs, e) => {
                self.bound.extend(bs.iter().map(|b| b.0));
                bs.iter().for_each(|b| self.expr(&b.2));
                self.expr(e);
            }
            ExprKind::Sizes(s, e) => {
                for (at, want, _) in &s.checks {
                    self.local(at.from);
                    if let SizeRep::Local(l) = want {
                        if !s.binds.iter().any(|b| b.1 == *l) {
                            self.local(*l);
                        }
                    }
                }
                for b in &s.binds {
                    self.local(b.3.from);
                    self.bound.insert(b.1);
                }
                self.expr(e);
            }
            ExprKind::If(c, a, b) => {
                self.expr(c);
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Match(s, root, tree, arms) => {
                self.expr(s);
                self.bound.insert(*root);
                self.tree(tree);
                for a in arms {
                    self.bound.extend(a.vars.iter().map(|v| v.0));
                    a.guard.iter().for_each(|g| self.expr(g));
                    self.expr(&a.body);
                }
            }
            ExprKind::Item(e, _) | ExprKind::Field(e, _) => self.expr(e),
            ExprKind::Record(fs) => fs.iter().for_each(|f| self.expr(&f.1)),
            ExprKind::Update(e, fs) => {
                self.expr(e);
                fs.iter().for_each(|f| self.expr(&f.1));
            }
            ExprKind::Index(a, args) => {
                self.expr(a);
                for i in args {
                    match i {
                        IndexArg::At(e) => self.expr(e),
                        IndexArg::Slice(lo, hi) => lo.iter().chain(hi).for_each(|e| self.expr(e)),
                    }
                }
            }
            ExprKind::For(_, vars, body, r) => {
                for (l, _, x) in vars {
                    match x {
                        Extent::Bound(e) => self.expr(e),
                        Extent::Axes(axes) => axes.iter().for_each(|a| self.expr(&a.0)),
                    }
                    self.bound.insert(*l);
                }
                self.expr(body);
                self.rep(r);
            }
            ExprKind::Guard(c, e, r) => {
                self.expr(c);
                self.expr(e);
                self.rep(r);
            }
            ExprKind::Loop(l, init, kind, body) => {
                self.expr(init);
                self.bound.insert(*l);
                match kind {
                    LoopKind::For(i, n) => {
                        self.expr(n);
                        self.bound.insert(*i);
                    }
                    LoopKind::While(c) => self.expr(c),
                }
                self.expr(body);
            }
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

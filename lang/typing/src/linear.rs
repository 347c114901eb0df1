//! Whether the body of `lin x -> e` is linear in `x` (language.md §3), with the place that is not.
//!
//! Every expression is *free* (it does not depend on a linear variable) or *linear* (it depends on them linearly, jointly).

use crate::core::{Expr, ExprKind, Extent, ForKind, IndexArg, Lambda, Lit, Local, LoopKind, Tree};
use crate::ty::Ty;
use adl_prim::{Linearity, Prim};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::collections::HashMap;
use std::rc::Rc;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Free,
    Linear,
}
use Kind::{Free, Linear};

type Out<T> = Result<T, Box<Diagnostic>>;

struct Checker {
    kinds: HashMap<Local, Kind>,
    /// Local functions, looked into where they are applied.
    functions: HashMap<Local, Rc<Lambda>>,
    /// The linear variable as the user calls it.
    name: String,
    depth: usize,
}

/// Checks a body in the given parameters.
pub(crate) fn check(body: &Expr, params: &[(Local, Option<Symbol>)]) -> Result<(), Box<Diagnostic>> {
    let name = params.iter().find_map(|(_, n)| *n).map_or("its argument".to_owned(), |n| format!("`{n}`"));
    let mut c = Checker { kinds: HashMap::new(), functions: HashMap::new(), name, depth: 0 };
    for (l, _) in params {
        c.kinds.insert(*l, Linear);
    }
    let kind = c.expr(body)?;
    c.result(kind, body)
}

/// Whether a type has no real leaf: what the linear structure does not see.
fn discrete(t: &Ty) -> bool {
    match t {
        Ty::Unit | Ty::Bool | Ty::Int | Ty::Str => true,
        Ty::Array(_, e) => discrete(e),
        Ty::Tuple(ps) => ps.iter().all(discrete),
        Ty::Record(r) => r.tail.is_none() && r.fields.iter().all(|(_, t)| discrete(t)),
        Ty::Float | Ty::F32 | Ty::Var(_) | Ty::Meta(_) | Ty::Fun(..) | Ty::Lin(..) | Ty::Data(..) => false,
    }
}

fn is_zero(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Lit(Lit::Float(x)) => *x == 0.0,
        ExprKind::Lit(Lit::F32(x)) => *x == 0.0,
        ExprKind::Lit(Lit::Int(0)) | ExprKind::IntAt(0, _) => true,
        ExprKind::FloatAt(x, _) => *x == 0.0,
        ExprKind::Prim(Prim::Zero, _) => true,
        ExprKind::App(f, args) => match &*f.kind {
            ExprKind::Prim(Prim::Replicate, _) => args.len() == 2 && is_zero(&args[1]),
            ExprKind::Prim(Prim::Mul, _) => args.iter().any(is_zero),
            ExprKind::Prim(Prim::Neg, _) => args.iter().all(is_zero),
            _ => false,
        },
        ExprKind::Tuple(es) | ExprKind::Array(es) => es.iter().all(|e| is_zero(e) || discrete(&e.ty)),
        ExprKind::Record(fs) => fs.iter().all(|(_, e)| is_zero(e) || discrete(&e.ty)),
        ExprKind::If(_, a, b) => is_zero(a) && is_zero(b),
        ExprKind::Let(_, _, _, b) | ExprKind::For(_, _, b, _) | ExprKind::Sizes(_, b) => is_zero(b),
        _ => discrete(&e.ty),
    }
}

impl Checker {
    fn error(&self, span: Span, text: String) -> Box<Diagnostic> {
        Box::new(Diagnostic::error("E0501", span, text))
    }

    fn result(&self, kind: Kind, e: &Expr) -> Out<()> {
        if kind == Free && !is_zero(e) {
            return Err(Box::new(
                self.error(e.span, format!("the result does not depend on {} and is not zero", self.name)).hint("a linear function maps zero to zero"),
            ));
        }
        Ok(())
    }

    /// Parts that stand side by side: free parts among linear ones must be zero.
    fn joint(&mut self, parts: &[&Expr], what: &str) -> Out<Kind> {
        let kinds = parts.iter().map(|e| self.expr(e)).collect::<Out<Vec<Kind>>>()?;
        if kinds.iter().all(|k| *k == Free) {
            return Ok(Free);
        }
        for (e, k) in parts.iter().zip(&kinds) {
            if *k == Free && !is_zero(e) {
                return Err(Box::new(
                    self.error(e.span, format!("{what} what depends linearly on {} with something that does not depend on it and is not zero", self.name))
                        .hint("a linear function maps zero to zero"),
                ));
            }
        }
        Ok(Linear)
    }

    /// Must be free.
    fn free(&mut self, e: &Expr, what: &str) -> Out<()> {
        match self.expr(e)? {
            Free => Ok(()),
            Linear => Err(self.error(e.span, format!("{what} depends on the linear variable {}", self.name))),
        }
    }

    fn bind(&mut self, l: Local, k: Kind) {
        self.kinds.insert(l, k);
    }

    fn expr(&mut self, e: &Expr) -> Out<Kind> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.expr_inner(e))
    }

    fn expr_inner(&mut self, e: &Expr) -> Out<Kind> {
        match &*e.kind {
            ExprKind::Lit(_) | ExprKind::IntAt(..) | ExprKind::FloatAt(..) | ExprKind::Global(_) | ExprKind::Prim(..) => Ok(Free),
            ExprKind::Local(l) => {
                // A number of the input that has no tangent (a size, an index) is no linear part.
                let k = self.kinds.get(l).copied().unwrap_or(Free);
                Ok(if discrete(&e.ty) { Free } else { k })
            }
            ExprKind::Abs(_, e) | ExprKind::Inst(e, _) => self.expr(e),
            ExprKind::Lam(l) => {
                // A function is judged where it is applied; one that is returned must not hold linear variables.
                let inner = self.lambda(l, &vec![Free; l.params.len()])?;
                if inner == Linear {
                    return Err(self.error(e.span, format!("a function that uses the linear variable {} is not itself linear data", self.name)));
                }
                Ok(Free)
            }
            ExprKind::App(f, args) => self.apply(f, args, e),
            ExprKind::Con(_, args) | ExprKind::Tuple(args) | ExprKind::Array(args) => self.joint(&args.iter().collect::<Vec<_>>(), "this joins"),
            ExprKind::Record(fs) => self.joint(&fs.iter().map(|(_, e)| e).collect::<Vec<_>>(), "this joins"),
            ExprKind::Update(r, fs) => self.joint(&std::iter::once(r).chain(fs.iter().map(|(_, e)| e)).collect::<Vec<_>>(), "this joins"),
            ExprKind::Item(a, _) | ExprKind::Field(a, _) => {
                let k = self.expr(a)?;
                Ok(if discrete(&e.ty) { Free } else { k })
            }
            ExprKind::Let(l, _, a, b) => {
                if let ExprKind::Lam(lam) = &*a.kind {
                    self.functions.insert(*l, lam.clone());
                } else {
                    let k = self.expr(a)?;
                    self.bind(*l, k);
                }
                self.expr(b)
            }
            ExprKind::LetRec(bs, b) => {
                for (_, _, f) in bs {
                    self.free(f, "a recursive function inside `lin`")?;
                }
                self.expr(b)
            }
            ExprKind::Sizes(_, b) => self.expr(b),
            ExprKind::If(c, a, b) => {
                self.free(c, "the condition of `if`")?;
                self.joint(&[a, b], "the branches mix")
            }
            ExprKind::Match(s, root, tree, arms) => {
                let k = self.expr(s)?;
                self.bind(*root, k);
                self.tree(tree, k, s)?;
                for arm in arms {
                    for (l, _, _) in &arm.vars {
                        self.bind(*l, k);
                    }
                    if let Some(g) = &arm.guard {
                        self.free(g, "a guard")?;
                    }
                }
                let bodies: Vec<&Expr> = arms.iter().map(|a| &a.body).collect();
                self.joint(&bodies, "the arms mix")
            }
            ExprKind::Index(a, args) => {
                for i in args {
                    let parts: Vec<&Expr> = match i {
                        IndexArg::At(e) => vec![e],
                        IndexArg::Slice(lo, hi) => lo.iter().chain(hi).collect(),
                    };
                    for p in parts {
                        self.free(p, "an index")?;
                    }
                }
                let k = self.expr(a)?;
                Ok(if discrete(&e.ty) { Free } else { k })
            }
            ExprKind::For(kind, vars, body, _) => {
                for (l, _, extent) in vars {
                    if let Extent::Bound(n) = extent {
                        self.free(n, "the bound of an index")?;
                    }
                    self.bind(*l, Free);
                }
                let k = self.expr(body)?;
                match kind {
                    ForKind::Build | ForKind::Reduce(Prim::Sum | Prim::Mean) => Ok(k),
                    ForKind::Reduce(p) if k == Linear => Err(self.not_linear(p.name(), e.span)),
                    ForKind::Reduce(_) => Ok(Free),
                }
            }
            ExprKind::Guard(c, b, _) => {
                self.free(c, "the condition of `[| |]`")?;
                self.expr(b)
            }
            ExprKind::Loop(state, init, kind, body) => self.loop_(*state, init, kind, body),
            ExprKind::Interp(es) => {
                for e in es {
                    self.free(e, "a text")?;
                }
                Ok(Free)
            }
        }
    }

    fn loop_(&mut self, state: Local, init: &Expr, kind: &LoopKind, body: &Expr) -> Out<Kind> {
        let mut k = self.expr(init)?;
        for _ in 0..2 {
            self.bind(state, k);
            match kind {
                LoopKind::For(i, n) => {
                    self.free(n, "the number of rounds")?;
                    self.bind(*i, Free);
                }
                LoopKind::While(c) => self.free(c, "the condition of the loop")?,
            }
            let next = self.expr(body)?;
            if next == k {
                return Ok(k);
            }
            k = Linear;
        }
        Ok(k)
    }

    /// What a tree takes apart has the kind of the scrutinee; branching needs what is free (or discrete).
    fn tree(&mut self, t: &Tree, k: Kind, s: &Expr) -> Out<()> {
        let branching = |me: &Self| match k {
            Free => Ok(()),
            Linear => Err(me.error(s.span, format!("`match` branches on a value that depends on the linear variable {}", me.name))),
        };
        match t {
            Tree::Leaf(..) | Tree::Fail => Ok(()),
            Tree::Guard(_, _, rest) => self.tree(rest, k, s),
            Tree::Parts(parts, rest) => {
                for (l, _, _) in parts {
                    self.bind(*l, k);
                }
                self.tree(rest, k, s)
            }
            Tree::Con(_, cases, default) => {
                // One constructor only is no branch.
                if cases.len() + usize::from(default.is_some()) > 1 {
                    branching(self)?;
                }
                for (_, fields, sub) in cases {
                    for l in fields {
                        self.bind(*l, k);
                    }
                    self.tree(sub, k, s)?;
                }
                default.iter().try_for_each(|d| self.tree(d, k, s))
            }
            Tree::Lit(_, _, _) => branching(self),
            Tree::Len(_, cases, default) => {
                for (_, elems, sub) in cases {
                    for l in elems {
                        self.bind(*l, k);
                    }
                    self.tree(sub, k, s)?;
                }
                self.tree(default, k, s)
            }
        }
    }

    fn not_linear(&self, what: &str, span: Span) -> Box<Diagnostic> {
        self.error(span, format!("`{what}` is not linear, and its argument depends on the linear variable {}", self.name))
    }

    fn lambda(&mut self, l: &Lambda, kinds: &[Kind]) -> Out<Kind> {
        self.depth += 1;
        if self.depth > 60 {
            return Err(self.error(l.body.span, "functions inside `lin` are nested too deeply to be checked".into()));
        }
        for (p, k) in l.params.iter().zip(kinds) {
            self.bind(p.local, *k);
        }
        let out = self.expr(&l.body);
        self.depth -= 1;
        out
    }

    /// The lambda that an expression is, or names.
    fn as_lambda(&self, f: &Expr) -> Option<Rc<Lambda>> {
        match &*f.kind {
            ExprKind::Lam(l) => Some(l.clone()),
            ExprKind::Local(l) => self.functions.get(l).cloned(),
            ExprKind::Inst(f, _) | ExprKind::Abs(_, f) => self.as_lambda(f),
            _ => None,
        }
    }

    fn apply(&mut self, f: &Expr, args: &[Expr], whole: &Expr) -> Out<Kind> {
        if let ExprKind::Prim(p, _) = &*f.kind {
            return self.primitive(*p, args, whole);
        }
        if let Some(l) = self.as_lambda(f) {
            if l.params.len() == args.len() {
                let kinds = args.iter().map(|a| self.expr(a)).collect::<Out<Vec<Kind>>>()?;
                return self.lambda(&l, &kinds);
            }
        }
        let callee = self.expr(f)?;
        let kinds = args.iter().map(|a| self.expr(a)).collect::<Out<Vec<Kind>>>()?;
        if callee == Free && kinds.iter().all(|k| *k == Free) {
            return Ok(Free);
        }
        // In `h a x` only the arrow of the argument that is linear must be `-o`.
        let mut t = &f.ty;
        for (a, k) in args.iter().zip(&kinds) {
            match t {
                Ty::Lin(_, r) => t = r,
                Ty::Fun(_, r) => {
                    if *k == Linear {
                        let name = match &*f.kind {
                            ExprKind::Local(_) | ExprKind::Global(_) | ExprKind::Inst(..) => "this function",
                            _ => "what is applied here",
                        };
                        return Err(Box::new(
                            self.error(a.span, format!("{name} is not linear (`->`, not `-o`), and its argument depends on the linear variable {}", self.name))
                                .hint("define it with `lin`"),
                        ));
                    }
                    t = r;
                }
                _ => break,
            }
        }
        Ok(if discrete(&whole.ty) { Free } else { Linear })
    }

    fn primitive(&mut self, p: Prim, args: &[Expr], whole: &Expr) -> Out<Kind> {
        let row = p.row();
        if row.linearity == Linearity::Mapped {
            return self.mapped(args, whole);
        }
        let kinds = args.iter().map(|a| self.expr(a)).collect::<Out<Vec<Kind>>>()?;
        if kinds.iter().all(|k| *k == Free) {
            return Ok(Free);
        }
        if matches!(p, Prim::Len | Prim::Shape | Prim::Rank) {
            return Ok(Free);
        }
        match row.linearity {
            Linearity::None | Linearity::Mapped => Err(self.not_linear(row.name, whole.span)),
            Linearity::Joint => {
                for (a, k) in args.iter().zip(&kinds) {
                    if *k == Free && !is_zero(a) {
                        return Err(Box::new(
                            self.error(a.span, format!("`{}` joins this, which does not depend on {}, with something linear", row.name, self.name))
                                .hint("a linear function maps zero to zero"),
                        ));
                    }
                }
                Ok(Linear)
            }
            Linearity::In(places) => {
                let mut linear_zero = Ok(());
                for (i, k) in kinds.iter().enumerate() {
                    let here = places.contains(&(i as u8));
                    if *k == Linear && !here {
                        return Err(self.not_linear(row.name, args[i].span));
                    }
                    if *k == Free && here && places.len() > 1 && !is_zero(&args[i]) {
                        linear_zero = Err(self.error(args[i].span, format!("`{}` is linear in this argument together with the other, and it does not depend on {}", row.name, self.name)));
                    }
                }
                linear_zero.map(|()| Linear)
            }
            Linearity::Bilinear => {
                if kinds.iter().filter(|k| **k == Linear).count() > 1 {
                    return Err(self.error(whole.span, format!("both sides of `{}` depend on the linear variable {}", row.name, self.name)));
                }
                Ok(Linear)
            }
        }
    }

    /// `map f xs ...`.
    fn mapped(&mut self, args: &[Expr], whole: &Expr) -> Out<Kind> {
        let [f, data @ ..] = args else { return Ok(Free) };
        let kinds = data.iter().map(|a| self.expr(a)).collect::<Out<Vec<Kind>>>()?;
        if let Some(l) = self.as_lambda(f) {
            if l.params.len() == kinds.len() {
                return self.lambda(&l, &kinds);
            }
        }
        if kinds.iter().all(|k| *k == Free) {
            return self.expr(f);
        }
        if let ExprKind::Prim(p, _) = &*f.kind {
            let joint = p.row().linearity == Linearity::Joint && kinds.iter().all(|k| *k == Linear);
            let single = p.row().linearity == Linearity::In(&[0]) && kinds.len() == 1;
            let scaled = p.row().linearity == Linearity::Bilinear && kinds.iter().filter(|k| **k == Linear).count() == 1;
            return if joint || single || scaled { Ok(Linear) } else { Err(self.not_linear(p.row().name, whole.span)) };
        }
        match &f.ty {
            Ty::Lin(..) if kinds.len() == 1 => Ok(Linear),
            _ => Err(self.error(f.span, format!("this function is not linear (`->`, not `-o`), and it is mapped over what depends on {}", self.name))),
        }
    }
}

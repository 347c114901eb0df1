//! Typed Core as text, for people (`adl ir --stage core`).

use crate::core::{Arm, Con, Def, Expr, ExprKind, Extent, ForKind, IndexArg, Lambda, Local, LoopKind, Sizes, Tree};
use adl_syntax::symbol::Symbol;
use std::fmt::Write;

/// A definition: its type, and its Core.
pub fn definition(d: &Def) -> String {
    let name = d.name.map_or("_".to_owned(), |n| n.to_string());
    let mut p = CorePrinter { out: String::new(), depth: 1 };
    p.expr(&d.expr);
    format!("{name} : {}\n{name} =\n  {}\n", crate::print::scheme(&d.scheme), p.out)
}

struct CorePrinter {
    out: String,
    depth: usize,
}

fn local(l: Local) -> String {
    format!("x{}", l.0)
}

impl CorePrinter {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn line(&mut self) {
        self.out.push('\n');
        self.out.push_str(&"  ".repeat(self.depth));
    }

    /// Runs `f` with one more level of indentation.
    fn inside(&mut self, f: impl FnOnce(&mut CorePrinter)) {
        self.depth += 1;
        self.line();
        f(self);
        self.depth -= 1;
    }

    fn expr(&mut self, e: &Expr) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.kind(e));
    }

    fn list(&mut self, open: &str, es: &[Expr], close: &str) {
        self.put(open);
        for (i, e) in es.iter().enumerate() {
            self.put(if i > 0 { ", " } else { "" });
            self.expr(e);
        }
        self.put(close);
    }

    /// An operand, in parentheses unless it is atomic.
    fn atom(&mut self, expr: &Expr) {
        let plain = matches!(
            *expr.kind,
            ExprKind::Lit(_)
                | ExprKind::Local(_)
                | ExprKind::Global(_)
                | ExprKind::Prim(..)
                | ExprKind::Tuple(_)
                | ExprKind::Record(_)
                | ExprKind::Array(_)
        );
        self.put(if plain { "" } else { "(" });
        self.expr(expr);
        self.put(if plain { "" } else { ")" });
    }

    fn atoms<'e>(&mut self, es: impl IntoIterator<Item = &'e Expr>) {
        for e in es {
            self.put(" ");
            self.atom(e);
        }
    }

    fn kind(&mut self, e: &Expr) {
        match &*e.kind {
            ExprKind::Lit(l) => self.put(&l.to_string()),
            ExprKind::IntAt(n, r) => self.put(&format!("{n}@{r:?}")),
            ExprKind::FloatAt(x, r) => self.put(&format!("{x:?}@{r:?}")),
            ExprKind::Local(l) => self.put(&local(*l)),
            ExprKind::Global(g) => self.put(&format!("g{}", g.0)),
            ExprKind::Prim(p, _) => self.put(&format!("`{}`", p.name())),
            ExprKind::Abs(ls, b) => {
                self.under(&format!("Λ {} ->", ls.iter().map(|l| local(*l)).collect::<Vec<_>>().join(" ")), b);
            }
            ExprKind::Inst(f, reps) => self.then(f, &format!("[{} hidden]", reps.len())),
            ExprKind::Lam(l) => self.lambda(l),
            ExprKind::App(f, args) => self.application(f, args),
            ExprKind::Con(c, args) => self.constructed(c, args),
            ExprKind::Let(l, _, v, b) => {
                self.binding(&format!("let {} : {}", local(*l), crate::print::ty(&v.ty)), v, b);
            }
            ExprKind::LetRec(defs, b) => self.recursive(defs, b),
            ExprKind::Sizes(s, b) => self.sizes(s, b),
            ExprKind::If(c, a, b) => self.branch(c, a, b),
            ExprKind::Match(v, l, tree, arms) => self.matching(v, *l, tree, arms),
            ExprKind::Tuple(es) => self.list("(", es, ")"),
            ExprKind::Array(es) => self.list("[", es, "]"),
            ExprKind::Item(a, k) => self.part(a, &k.to_string()),
            ExprKind::Field(a, n) => self.part(a, n.as_str()),
            ExprKind::Record(fs) => self.fields("{", fs),
            ExprKind::Update(r, fs) => self.update(r, fs),
            ExprKind::Index(a, at) => self.index(a, at),
            ExprKind::For(kind, over, b, _) => self.comprehension(*kind, over, b),
            ExprKind::Guard(c, b, _) => self.guarded(c, b),
            ExprKind::Loop(l, init, kind, b) => self.looping(*l, init, kind, b),
            ExprKind::Interp(es) => self.list("f(", es, ")"),
        }
    }

    fn under(&mut self, head: &str, b: &Expr) {
        self.put(head);
        self.inside(|p| p.expr(b));
    }

    fn then(&mut self, e: &Expr, text: &str) {
        self.expr(e);
        self.put(text);
    }

    fn part(&mut self, a: &Expr, name: &str) {
        self.atom(a);
        self.put(&format!(".{name}"));
    }

    fn lambda(&mut self, l: &Lambda) {
        let ps: Vec<String> =
            l.params.iter().map(|p| format!("({} : {})", local(p.local), crate::print::ty(&p.ty))).collect();
        self.under(&format!("{} {} ->", if l.linear { "lin" } else { "fun" }, ps.join(" ")), &l.body);
    }

    fn application(&mut self, f: &Expr, args: &[Expr]) {
        self.atom(f);
        self.atoms(args);
    }

    fn constructed(&mut self, c: &Con, args: &[Expr]) {
        self.put(constructor(c));
        self.atoms(args);
    }

    fn binding(&mut self, head: &str, v: &Expr, b: &Expr) {
        self.put(&format!("{head} = "));
        self.expr(v);
        self.line();
        self.expr(b);
    }

    fn recursive(&mut self, defs: &[(Local, Symbol, Expr)], b: &Expr) {
        for (l, _, v) in defs {
            self.put(&format!("let rec {} = ", local(*l)));
            self.expr(v);
            self.line();
        }
        self.expr(b);
    }

    fn sizes(&mut self, s: &Sizes, b: &Expr) {
        for (_, l, name, at) in &s.binds {
            self.put(&format!("size {name} = {} axis {} of {}", local(*l), at.axis, local(at.from)));
            self.line();
        }
        self.expr(b);
    }

    fn branch(&mut self, c: &Expr, a: &Expr, b: &Expr) {
        self.put("if ");
        self.expr(c);
        for (word, e) in [("then ", a), ("else ", b)] {
            self.inside(|p| {
                p.put(word);
                p.expr(e);
            });
        }
    }

    fn update(&mut self, r: &Expr, fs: &[(Symbol, Expr)]) {
        self.put("{");
        self.expr(r);
        self.fields(" with ", fs);
    }

    fn index(&mut self, a: &Expr, at: &[IndexArg]) {
        self.atom(a);
        self.indices(at);
    }

    fn guarded(&mut self, c: &Expr, b: &Expr) {
        self.put("[| ");
        self.expr(c);
        self.put(" |] * ");
        self.atom(b);
    }

    fn comprehension(&mut self, kind: ForKind, over: &[(Local, Symbol, Extent)], b: &Expr) {
        self.put(&match kind {
            ForKind::Build => "for".to_owned(),
            ForKind::Reduce(p) => format!("{} for", p.row().name),
        });
        for (l, _, x) in over {
            self.extent(*l, x);
        }
        self.under(" ->", b);
    }

    fn looping(&mut self, l: Local, init: &Expr, kind: &LoopKind, expr: &Expr) {
        self.put(&format!("loop {} = ", local(l)));
        self.expr(init);
        let bound = match kind {
            LoopKind::For(i, n) => {
                self.put(&format!(" for {} < ", local(*i)));
                n
            }
            LoopKind::While(c) => {
                self.put(" while ");
                c
            }
        };
        self.expr(bound);
        self.under(" do", expr);
    }

    fn fields(&mut self, open: &str, fs: &[(Symbol, Expr)]) {
        self.put(open);
        for (i, (n, e)) in fs.iter().enumerate() {
            self.put(&format!("{}{n} = ", if i > 0 { ", " } else { "" }));
            self.expr(e);
        }
        self.put("}");
    }

    fn extent(&mut self, l: Local, x: &Extent) {
        self.put(&format!(" {}", local(l)));
        match x {
            Extent::Bound(n) => {
                self.put(" < ");
                self.atom(n);
            }
            Extent::Axes(at) => {
                for (a, axis) in at {
                    self.put(&format!(" over axis {axis} of "));
                    self.atom(a);
                }
            }
        }
    }

    fn indices(&mut self, at: &[IndexArg]) {
        self.put("[");
        for (i, a) in at.iter().enumerate() {
            self.put(if i > 0 { ", " } else { "" });
            match a {
                IndexArg::At(e) => self.expr(e),
                IndexArg::Slice(lo, hi) => {
                    lo.iter().for_each(|e| self.expr(e));
                    self.put(":");
                    hi.iter().for_each(|e| self.expr(e));
                }
            }
        }
        self.put("]");
    }

    fn matching(&mut self, v: &Expr, l: Local, tree: &Tree, arms: &[Arm]) {
        self.put(&format!("match {} = ", local(l)));
        self.expr(v);
        self.inside(|p| p.tree(tree));
        for (k, a) in arms.iter().enumerate() {
            self.line();
            self.put(&format!("arm {k} -> "));
            self.inside(|p| p.expr(&a.body));
        }
    }

    fn tree(&mut self, node: &Tree) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match node {
            Tree::Leaf(k, binds) => {
                let binds: Vec<String> = binds.iter().map(|(a, b)| format!("{} = {}", local(*a), local(*b))).collect();
                self.put(format!("arm {k} {}", binds.join(", ")).trim_end());
            }
            Tree::Guard(k, _, rest) => {
                self.put(&format!("arm {k} if its guard holds, else"));
                self.inside(|p| p.tree(rest));
            }
            Tree::Parts(ps, rest) => {
                for (new, from, step) in ps {
                    self.put(&format!("{} = {} {step:?}; ", local(*new), local(*from)));
                }
                self.tree(rest);
            }
            Tree::Con(l, cases, rest) => {
                self.put(&format!("constructor of {}", local(*l)));
                for (c, fields, t) in cases {
                    let name = constructor(c);
                    self.case(&format!("{name} {}", fields.iter().map(|l| local(*l)).collect::<Vec<_>>().join(" ")), t);
                }
                rest.iter().for_each(|t| self.case("_", t));
            }
            Tree::Lit(l, cases, rest) => {
                self.put(&format!("value of {}", local(*l)));
                cases.iter().for_each(|(v, t)| self.case(&v.to_string(), t));
                self.case("_", rest);
            }
            Tree::Len(l, cases, rest) => {
                self.put(&format!("length of {}", local(*l)));
                for (n, fields, t) in cases {
                    self.case(&format!("{n}: {}", fields.iter().map(|l| local(*l)).collect::<Vec<_>>().join(" ")), t);
                }
                self.case("_", rest);
            }
            Tree::Fail => self.put("no match"),
        });
    }

    fn case(&mut self, head: &str, t: &Tree) {
        self.inside(|p| {
            let _ = write!(p.out, "| {} -> ", head.trim_end());
            p.tree(t);
        });
    }
}

fn constructor(c: &Con) -> &'static str {
    c.data.cons.get(c.tag as usize).map_or("?", |c| c.name.as_str())
}

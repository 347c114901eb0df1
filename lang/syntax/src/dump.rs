//! Prints the tree as text without spans: for tests, and for comparing trees.

use crate::ast::*;
use std::fmt::Write;

/// The whole program, one item per line.
pub fn program(program: &Program) -> String {
    let mut out = String::new();
    for item in &program.items {
        for line in item.doc.iter().flat_map(|d| d.split('\n')) {
            let _ = writeln!(out, "--| {line}");
        }
        Dump(&mut out).item(item);
        out.push('\n');
    }
    out
}

/// One expression.
pub fn expr(expr: &Expr) -> String {
    let mut out = String::new();
    Dump(&mut out).expr(expr);
    out
}

/// One signature.
pub fn signature(signature: &Signature) -> String {
    let mut out = String::new();
    Dump(&mut out).signature(signature);
    out
}

struct Dump<'a>(&'a mut String);

impl Dump<'_> {
    fn text(&mut self, text: impl AsRef<str>) {
        self.0.push_str(text.as_ref());
    }

    fn debug(&mut self, value: impl std::fmt::Debug) {
        let _ = write!(self.0, "{value:?}");
    }

    /// Prints a space before each element.
    fn each<T>(&mut self, all: &[T], mut one: impl FnMut(&mut Self, &T)) {
        for x in all {
            self.text(" ");
            one(self, x);
        }
    }

    fn group<T>(&mut self, head: &str, all: &[T], one: impl FnMut(&mut Self, &T)) {
        self.text("(");
        self.text(head);
        self.each(all, one);
        self.text(")");
    }

    fn item(&mut self, item: &Item) {
        match &item.kind {
            ItemKind::Let(group) => self.let_group(group),
            ItemKind::Types(decls) => self.group("types", decls, Self::type_decl),
            ItemKind::Import { what, alias } => {
                self.text("(import ");
                match what {
                    ImportSource::File(path, _) => self.debug(path),
                    ImportSource::Std(name) => self.text(name.name.as_str()),
                }
                if let Some(alias) = alias {
                    self.text(" as ");
                    self.text(alias.name.as_str());
                }
                self.text(")");
            }
            ItemKind::Test { name, body } => self.named("test", name, body),
            ItemKind::Bench { name, body } => self.named("bench", name, body),
            ItemKind::Expr(e) => self.expr(e),
            ItemKind::Error => self.text("<error>"),
        }
    }

    fn named(&mut self, word: &str, name: &str, body: &Expr) {
        self.text(format!("({word} {name:?} "));
        self.expr(body);
        self.text(")");
    }

    fn let_group(&mut self, group: &LetGroup) {
        self.group(if group.rec { "let rec" } else { "let" }, &group.bindings, Self::binding);
    }

    fn binding(&mut self, b: &Binding) {
        self.text("(");
        self.pat(&b.pat);
        self.each(&b.params, Self::pat);
        if let Some(sig) = &b.sig {
            self.text(" : ");
            self.signature(sig);
        }
        self.text(" = ");
        self.expr(&b.body);
        self.text(")");
    }

    fn signature(&mut self, sig: &Signature) {
        for constraint in &sig.constraints {
            match constraint {
                Constraint::Class(class, var) => self.text(format!("{} {}", class.name, var.name)),
                Constraint::Operator(op, args, res) => {
                    self.text(op.name.as_str());
                    self.each(args, Self::ty);
                    self.text(" : ");
                    self.ty(res);
                }
            }
            self.text(" => ");
        }
        self.ty(&sig.ty);
    }

    fn type_decl(&mut self, decl: &TypeDecl) {
        self.text("(");
        self.text(decl.name.name.as_str());
        self.each(&decl.params, |d, p| d.text(p.name.as_str()));
        match &decl.body {
            TypeBody::Alias(ty) => {
                self.text(" alias ");
                self.ty(ty);
            }
            TypeBody::Sum(constructors) => self.each(constructors, |d, c| {
                d.text("| ");
                d.text(c.name.name.as_str());
                d.each(&c.fields, Self::ty);
            }),
        }
        self.text(")");
    }

    fn ty(&mut self, ty: &Type) {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.ty_here(ty));
    }

    fn ty_here(&mut self, ty: &Type) {
        match &ty.kind {
            TypeKind::Var(name) => self.text(name.as_str()),
            TypeKind::Con(module, name, args) => {
                self.text(if args.is_empty() { "" } else { "(" });
                self.qualified(*module, *name);
                self.each(args, Self::ty);
                self.text(if args.is_empty() { "" } else { ")" });
            }
            TypeKind::Fun(a, b) | TypeKind::Lin(a, b) => {
                self.text(if matches!(ty.kind, TypeKind::Lin(..)) { "(-o " } else { "(-> " });
                self.ty(a);
                self.text(" ");
                self.ty(b);
                self.text(")");
            }
            TypeKind::Tuple(parts) => self.group("tuple", parts, Self::ty),
            TypeKind::Record(fields, rest) => {
                self.text("{");
                for (name, ty) in fields {
                    self.text(format!("{} : ", name.name));
                    self.ty(ty);
                    self.text(", ");
                }
                match rest {
                    Some(Some(row)) => self.text(format!("| {}", row.name)),
                    Some(None) => self.text(".."),
                    None => {}
                }
                self.text("}");
            }
            TypeKind::Array(size, element) => {
                match size {
                    Size::Const(n, _) => self.text(format!("[{n}]")),
                    Size::Var(n) => self.text(format!("[{}]", n.name)),
                    Size::Any(_) => self.text("[_]"),
                }
                self.ty(element);
            }
            TypeKind::Hole => self.text("_"),
            TypeKind::Error => self.text("<error>"),
        }
    }

    fn qualified(&mut self, module: Option<Ident>, name: Ident) {
        if let Some(module) = module {
            self.text(module.name.as_str());
            self.text(".");
        }
        self.text(name.name.as_str());
    }

    fn pat(&mut self, pat: &Pat) {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.pat_here(pat));
    }

    fn pat_here(&mut self, pat: &Pat) {
        match &pat.kind {
            PatKind::Wild => self.text("_"),
            PatKind::Var(name) => self.text(name.as_str()),
            PatKind::Lit(lit) => self.lit(lit),
            PatKind::Tuple(parts) => self.group("tuple", parts, Self::pat),
            PatKind::Record(fields, open) => {
                self.text("{");
                for (name, pat) in fields {
                    self.text(format!("{} = ", name.name));
                    self.pat(pat);
                    self.text(", ");
                }
                self.text(if *open { "..}" } else { "}" });
            }
            PatKind::Con(module, name, args) => {
                self.text(if args.is_empty() { "" } else { "(" });
                self.qualified(*module, *name);
                self.each(args, Self::pat);
                self.text(if args.is_empty() { "" } else { ")" });
            }
            PatKind::Array(parts) => self.group("array", parts, Self::pat),
            PatKind::As(pat, name) => {
                self.text("(as ");
                self.pat(pat);
                self.text(format!(" {})", name.name));
            }
            PatKind::Or(all) => self.group("or", all, Self::pat),
            PatKind::Ann(pat, ty) => {
                self.text("(: ");
                self.pat(pat);
                self.text(" ");
                self.ty(ty);
                self.text(")");
            }
            PatKind::Error => self.text("<error>"),
        }
    }

    fn lit(&mut self, lit: &Lit) {
        match lit {
            Lit::Unit => self.text("()"),
            Lit::Bool(b) => self.debug(b),
            Lit::Int(n) => self.debug(n),
            Lit::Float(x) => self.debug(x),
            Lit::F32(x) => self.text(format!("{x:?}f32")),
            Lit::Str(s) => self.debug(s),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.expr_here(expr));
    }

    fn expr_here(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Lit(lit) => self.lit(lit),
            ExprKind::Interp(parts) => self.group("f", parts, |d, part| match part {
                StrPart::Text(text) => d.debug(text),
                StrPart::Expr(e) => d.expr(e),
            }),
            ExprKind::Var(name) => self.text(name.as_str()),
            ExprKind::Con(module, name) => self.qualified(*module, *name),
            ExprKind::Section(op) => self.text(format!("(section {})", op.text())),
            ExprKind::App(f, args) => {
                self.text("(");
                self.expr(f);
                self.each(args, Self::expr);
                self.text(")");
            }
            ExprKind::Bin(op, _, a, b) => self.pair(op.text(), a, b),
            ExprKind::Neg(e) => self.one("neg", e),
            ExprKind::Fun(params, body) => self.function("fun", params, body),
            ExprKind::Lin(param, body) => self.function("lin", std::slice::from_ref(param), body),
            ExprKind::Block(stmts) => self.group("block", stmts, |d, stmt| match stmt {
                Stmt::Let(group, _) => d.let_group(group),
                Stmt::Expr(e) => d.expr(e),
            }),
            ExprKind::If(c, a, b) => {
                let parts: Vec<&Expr> = [&**c, &**a].into_iter().chain(b.as_deref()).collect();
                self.group("if", &parts, |d, e| d.expr(e));
            }
            ExprKind::Match(e, arms) => {
                self.text("(match ");
                self.expr(e);
                self.each(arms, Self::arm);
                self.text(")");
            }
            ExprKind::Tuple(parts) => self.group("tuple", parts, Self::expr),
            ExprKind::Paren(e) => self.one("paren", e),
            ExprKind::Record(fields) => {
                self.text("{");
                self.fields(fields);
            }
            ExprKind::Update(base, fields) => {
                self.text("{");
                self.expr(base);
                self.text(" with ");
                for change in fields {
                    self.place(&change.place);
                    self.text(" = ");
                    self.expr(&change.value);
                    self.text(", ");
                }
                self.text("}");
            }
            ExprKind::Field(base, name) => {
                self.expr(base);
                self.text(".");
                self.text(name.name.as_str());
            }
            ExprKind::Array(parts) => self.group("array", parts, Self::expr),
            ExprKind::Index(base, args) => {
                self.text("(index ");
                self.expr(base);
                self.each(args, Self::index);
                self.text(")");
            }
            ExprKind::For(generators, body) => self.comprehension(generators, body),
            ExprKind::Iverson(e) => self.one("iverson", e),
            ExprKind::Loop(pat, init, kind, body) => self.loop_expression(pat, init, kind, body),
            ExprKind::Ann(e, sig) => {
                self.text("(: ");
                self.expr(e);
                self.text(" ");
                self.signature(sig);
                self.text(")");
            }
            ExprKind::Error => self.text("<error>"),
        }
    }

    fn comprehension(&mut self, generators: &[Generator], body: &Expr) {
        self.text("(for");
        self.each(generators, |dump, generator| match generator {
            Generator::Index(name, bound) => {
                dump.text(name.name.as_str());
                if let Some(bound) = bound {
                    dump.text(" < ");
                    dump.expr(bound);
                }
            }
            Generator::Element(pat, source) => {
                dump.pat(pat);
                dump.text(" in ");
                dump.expr(source);
            }
        });
        self.text(" -> ");
        self.expr(body);
        self.text(")");
    }

    fn loop_expression(&mut self, pat: &Pat, init: &Expr, kind: &LoopKind, body: &Expr) {
        self.text("(loop ");
        self.pat(pat);
        self.text(" = ");
        self.expr(init);
        match kind {
            LoopKind::For(name, bound) => {
                self.text(format!(" for {} < ", name.name));
                self.expr(bound);
            }
            LoopKind::In(pat, source) => {
                self.text(" for ");
                self.pat(pat);
                self.text(" in ");
                self.expr(source);
            }
            LoopKind::While(condition) => {
                self.text(" while ");
                self.expr(condition);
            }
        }
        self.text(" do ");
        self.expr(body);
        self.text(")");
    }

    fn one(&mut self, head: &str, e: &Expr) {
        self.text(format!("({head} "));
        self.expr(e);
        self.text(")");
    }

    fn pair(&mut self, head: &str, a: &Expr, b: &Expr) {
        self.text(format!("({head} "));
        self.expr(a);
        self.text(" ");
        self.expr(b);
        self.text(")");
    }

    fn function(&mut self, head: &str, params: &[Pat], body: &Expr) {
        self.text(format!("({head}"));
        self.each(params, Self::pat);
        self.text(" -> ");
        self.expr(body);
        self.text(")");
    }

    fn arm(&mut self, arm: &Arm) {
        self.text("| ");
        self.pat(&arm.pat);
        if let Some(guard) = &arm.guard {
            self.text(" when ");
            self.expr(guard);
        }
        self.text(" -> ");
        self.expr(&arm.body);
    }

    fn fields(&mut self, fields: &[(Ident, Expr)]) {
        for (name, value) in fields {
            self.text(format!("{} = ", name.name));
            self.expr(value);
            self.text(", ");
        }
        self.text("}");
    }

    fn place(&mut self, place: &[PathStep]) {
        for (i, step) in place.iter().enumerate() {
            match step {
                PathStep::Field(name) => {
                    self.text(if i > 0 { format!(".{}", name.name) } else { name.name.to_string() });
                }
                PathStep::At(args, _) => {
                    self.text("(at");
                    self.each(args, Self::index);
                    self.text(")");
                }
            }
        }
    }

    fn index(&mut self, arg: &IndexArg) {
        match arg {
            IndexArg::At(e) => self.expr(e),
            IndexArg::Slice(slice) => {
                slice.from.iter().for_each(|e| self.expr(e));
                self.text(":");
                slice.to.iter().for_each(|e| self.expr(e));
                if let Some(step) = &slice.step {
                    self.text(":");
                    self.expr(step);
                }
            }
        }
    }
}

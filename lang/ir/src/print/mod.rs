//! Printer of the text form, which [`crate::parse`] reads.
//!
//! ```text
//! program   ::= (data | fn)…
//! data      ::= data D0 NAME = NAME(ty, …) | NAME | …            numbers count up from 0, functions likewise
//! fn        ::= fn f0 NAME (x_0: f64 ; dx_1~: f64) -> (f64 ; f64) { stmt… return y_2 ; t_3~ } unused(v4: f64)
//! block     ::= (params ; linear params) { stmt… return results ; linear results }
//! stmt      ::= x_0: f64, … ; dx_1~: f64, … = op @12..15         `;` is optional if all results are linear;
//!                                                                  without results: op alone
//! var       ::= NAME_7 | v7, linear ones with `~`                  7 is its number; other names are in backquotes
//! op        ::= 1.5 | 1.5f32 | 3 | true | "text" | zero ty
//!             | sin x | powi 3 x | mul x y | lt x y | not x | select c x y | to_f64 x | prim NAME x y …
//!             | dim 0 x | shape x | index x [i, j] shape s | index_add acc [i] v shape s | index_set acc [i] v shape s
//!             | slice x lo hi shape s | slice_add acc lo hi v shape s
//!             | gather x at shape s | gather_add acc at v shape s
//!             | reverse x | rotate n x | concat x y len n shape s | reshape x to from s | transpose x | replicate n x
//!             | sum x len n | sum_all x shape s | broadcast x s | array x y … shape s | dot x y | matmul x y | outer x y
//!             | cumsum x [reversed] | nonzero x | zeros x | construct D0.1 x y … | destruct D0.1 x
//!             | contract mul x [turned] y [turned] n m k | dup x~ | drop x~
//!             | if c { … } else { … } | switch x | (params) { … } | … end
//!             | loop (for n | while (params) { … }) [reverse] [carry (x ; y~)] [over (xs ; ys~)]
//!               [out (collect ; sum, boxed)] block
//!             | call f0(x ; y~) [jvp f1 | vjp f1] [checkpoint]
//!             | reduce (neutral) over (arrays) block | scan … | scan_exclusive …
//!             | reduce_by_index (dest) neutral (x) keys k values (xs) block
//! ty        ::= f64 | f32 | i64 | bool | str | D0 | []ty | [][]ty | … | [](ty)    parentheses: boxes that hold arrays
//! ```
//!
//! After the body of a function under construction stands `reserved`.
//!
//! `shape s`, `len n`, `from s` are omitted if the operation has none. `--` begins a comment.
//!
//! - [`Style::EXACT`] prints everything: spans (`@lo..hi`, `@file:lo..hi`, omitted if empty), variables that are
//!   not bound (`unused`), and the [`Role`] of variables (`v4: f64 step`, `v5: f64 derivative`).
//! - [`Style::PLAIN`] is for people: it omits these, and adds comments with the names of callees and constructors,
//!   and with source lines if [`Style::source`] is given.

mod ops;

use crate::func::{Block, Function, Program, Role, Stmt, Var};
use crate::names;
use crate::op::{Lit, Op};
use crate::ty::Ty;
use adl_syntax::span::Span;

/// How to print.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style<'a> {
    /// Print everything that [`crate::parse`] needs to rebuild an equal program.
    pub exact: bool,
    /// The text into which spans point, for comments with source lines.
    pub source: Option<&'a str>,
}

impl Style<'_> {
    /// The style for people.
    pub const PLAIN: Style<'static> = Style { exact: false, source: None };
    /// The style that can be parsed back without loss.
    pub const EXACT: Style<'static> = Style { exact: true, source: None };
}

/// Prints a program.
pub fn program(p: &Program, style: Style<'_>) -> String {
    let mut out = datas(p);
    for (i, f) in p.funcs.iter().enumerate() {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&labelled(p, f, &format!("f{i} "), style));
    }
    out
}

/// Prints the data types of a program.
pub fn datas(p: &Program) -> String {
    let mut out = String::new();
    for (i, d) in p.datas.iter().enumerate() {
        let cons: Vec<String> = d
            .cons
            .iter()
            .map(|(name, fields)| {
                let fields: Vec<String> = fields.iter().map(ty).collect();
                if fields.is_empty() { quoted(name) } else { format!("{}({})", quoted(name), fields.join(", ")) }
            })
            .collect();
        out.push_str(format!("data D{i} {} = {}", quoted(&d.name), cons.join(" | ")).trim_end());
        out.push('\n');
    }
    out
}

/// Prints one function, which need not be part of the program.
pub fn function(p: &Program, f: &Function, style: Style<'_>) -> String {
    labelled(p, f, "", style)
}

/// Prints one statement on one line, without the contents of its blocks, for messages.
pub fn head(p: &Program, f: &Function, s: &Stmt) -> String {
    let mut pr = Printer { p, f, style: Style::PLAIN, out: String::new(), depth: 0, line: 0, heads: true };
    pr.stmt(s);
    pr.out.trim_end().to_owned()
}

fn labelled(p: &Program, function: &Function, label: &str, style: Style<'_>) -> String {
    let mut pr = Printer { p, f: function, style, out: String::new(), depth: 0, line: 0, heads: false };
    pr.out.push_str(&format!("fn {label}{} ", quoted(&function.name)));
    pr.params(&function.body);
    let list = |vs: &[Var]| {
        vs.iter()
            .map(|v| function.vars.get(v.0 as usize).map_or("?".to_owned(), |i| ty(&i.ty)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let lin = list(&function.body.lin_results);
    let lin = if lin.is_empty() { lin } else { format!(" ; {lin}") };
    pr.out.push_str(&format!(" -> ({}{lin}) ", list(&function.body.results)));
    pr.braces(&function.body);
    if style.exact {
        pr.unused();
    }
    if function.reserved {
        pr.out.push_str(" reserved");
    }
    pr.out.push('\n');
    pr.out
}

/// Prints a type.
pub fn ty(t: &Ty) -> String {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match t {
        Ty::F64 => "f64".to_owned(),
        Ty::F32 => "f32".to_owned(),
        Ty::I64 => "i64".to_owned(),
        Ty::Bool => "bool".to_owned(),
        Ty::Str => "str".to_owned(),
        Ty::Data(d) => format!("D{}", d.0),
        Ty::Array(e, rank) => {
            let inner = if matches!(**e, Ty::Array(..)) { format!("({})", ty(e)) } else { ty(e) };
            format!("{}{inner}", "[]".repeat(*rank as usize))
        }
    })
}

/// Prints a variable as in [`function`].
pub fn var(f: &Function, v: Var) -> String {
    let Some(info) = f.vars.get(v.0 as usize) else { return format!("v{}?", v.0) };
    let tilde = if info.linear { "~" } else { "" };
    match &info.name {
        None => format!("v{}{tilde}", v.0),
        Some(n) if n.is_empty() || names::plain(n) => format!("{n}_{}{tilde}", v.0),
        Some(n) => format!("`{}`_{}{tilde}", escaped(n, '`'), v.0),
    }
}

fn role(r: Role) -> &'static str {
    match r {
        Role::Operation => "",
        Role::Step => " step",
        Role::Derivative => " derivative",
    }
}

/// The name of a function, type or constructor, quoted if necessary.
pub(crate) fn quoted(name: &str) -> String {
    // A constructor's name must not look like the beginning of a declaration.
    if names::plain(name) && !matches!(name, "data" | "fn") {
        name.to_owned()
    } else {
        format!("\"{}\"", escaped(name, '"'))
    }
}

fn escaped(text: &str, quote: char) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

fn literal(l: &Lit) -> String {
    match l {
        Lit::F64(x) if x.is_nan() => format!("nanx{:016x}", x.to_bits()),
        Lit::F64(x) => format!("{x:?}"),
        Lit::F32(x) if x.is_nan() => format!("nanx{:08x}", x.to_bits()),
        Lit::F32(x) => format!("{x:?}f32"),
        Lit::I64(n) => n.to_string(),
        Lit::Bool(b) => b.to_string(),
        Lit::Str(s) => format!("\"{}\"", escaped(s, '"')),
    }
}

pub(crate) struct Printer<'a> {
    p: &'a Program,
    f: &'a Function,
    style: Style<'a>,
    out: String,
    depth: usize,
    /// The last source line that was printed as a comment.
    line: usize,
    /// Whether blocks are omitted.
    heads: bool,
}

impl Printer<'_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub(crate) fn var(&self, v: Var) -> String {
        var(self.f, v)
    }

    pub(crate) fn vars(&self, vs: &[Var], sep: &str) -> String {
        vs.iter().map(|v| self.var(*v)).collect::<Vec<_>>().join(sep)
    }

    /// `x, y ; z~`.
    fn both(&self, vs: &[Var], lin: &[Var]) -> String {
        two(&self.vars(vs, ", "), &self.vars(lin, ", "))
    }

    fn typed(&self, vs: &[Var]) -> String {
        let one = |v: &Var| {
            let Some(info) = self.f.vars.get(v.0 as usize) else { return format!("{}: ?", self.var(*v)) };
            let role = if self.style.exact { role(info.role) } else { "" };
            format!("{}: {}{role}", self.var(*v), ty(&info.ty))
        };
        vs.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    fn params(&mut self, b: &Block) {
        let text = two(&self.typed(&b.params), &self.typed(&b.lin_params));
        self.put(&format!("({text})"));
    }

    fn newline(&mut self) {
        self.put("\n");
        self.put(&"  ".repeat(self.depth));
    }

    /// Prints `{ stmts return … }` on several lines; on one line if there are no statements.
    fn braces(&mut self, block: &Block) {
        if self.heads {
            return self.put("{ ... }");
        }
        let ret = format!("return {}", self.both(&block.results, &block.lin_results));
        if block.stmts.is_empty() {
            return self.put(&format!("{{ {} }}", ret.trim_end()));
        }
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            self.put("{");
            self.depth += 1;
            for s in &block.stmts {
                self.newline();
                self.stmt(s);
            }
            self.newline();
            self.put(ret.trim_end());
            self.depth -= 1;
            self.newline();
            self.put("}");
        });
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let lin = |v: &Var| self.f.vars.get(v.0 as usize).is_some_and(|i| i.linear);
        // A list that begins with a linear variable consists of linear results; a list with the wrong mode is
        // marked by its `;`.
        let bound = if stmt.outs.is_empty() && stmt.lin_outs.first().is_some_and(lin) {
            self.typed(&stmt.lin_outs)
        } else if stmt.lin_outs.is_empty() && stmt.outs.first().is_some_and(lin) {
            format!("{} ;", self.typed(&stmt.outs))
        } else {
            two(&self.typed(&stmt.outs), &self.typed(&stmt.lin_outs))
        };
        if !bound.is_empty() {
            self.put(&format!("{bound} = "));
        }
        self.op(&stmt.op);
        self.place(stmt.span);
        self.comment(stmt);
    }

    fn place(&mut self, s: Span) {
        if self.style.exact && s != Span::default() {
            let file = if s.file.0 == 0 { String::new() } else { format!("{}:", s.file.0) };
            self.put(&format!(" @{file}{}..{}", s.lo, s.hi));
        }
    }

    fn comment(&mut self, stmt: &Stmt) {
        if self.style.exact || self.heads {
            return;
        }
        let mut words = Vec::new();
        match &stmt.op {
            Op::Call { f, .. } => words.extend(self.p.funcs.get(f.0 as usize).map(|f| f.name.clone())),
            Op::Construct { data, tag, .. } | Op::Destruct { data, tag, .. } => {
                words.extend(
                    self.p.datas.get(data.0 as usize).and_then(|d| d.cons.get(*tag as usize)).map(|c| c.0.clone()),
                );
            }
            _ => {}
        }
        if let Some(text) = self.style.source.filter(|_| stmt.span != Span::default() && stmt.op.blocks().is_empty()) {
            let line = 1 + text.bytes().take(stmt.span.lo as usize).filter(|b| *b == b'\n').count();
            if line != self.line {
                words.push(format!("line {line}"));
                self.line = line;
            }
        }
        if !words.is_empty() {
            self.put(&format!("  -- {}", words.join(", ").replace('\n', " ")));
        }
    }

    /// Prints the variables that no block binds.
    fn unused(&mut self) {
        let mut bound = vec![false; self.f.vars.len()];
        let mut todo = vec![&self.f.body];
        while let Some(b) = todo.pop() {
            let outs = b.stmts.iter().flat_map(|s| s.outs.iter().chain(&s.lin_outs));
            for v in b.params.iter().chain(&b.lin_params).chain(outs) {
                if let Some(seen) = bound.get_mut(v.0 as usize) {
                    *seen = true;
                }
            }
            todo.extend(b.stmts.iter().flat_map(|s| s.op.blocks()));
        }
        let free: Vec<Var> = (0..bound.len()).filter(|i| !bound[*i]).map(|i| Var(i as u32)).collect();
        if !free.is_empty() {
            self.put(&format!(" unused({})", self.typed(&free)));
        }
    }
}

/// `x, y ; z`, without the `;` if nothing follows it.
fn two(left: &str, right: &str) -> String {
    match (left, right) {
        (l, "") => l.to_owned(),
        ("", r) => format!("; {r}"),
        (l, r) => format!("{l} ; {r}"),
    }
}

//! Code lenses: run, test and bench; for functions with a derivative its cost, its residuals and its code.

use crate::documents::Document;
use crate::server::Server;
use adl_syntax::ast::{Binding, Expr, ExprKind, Item, ItemKind};
use adl_syntax::names::{Meaning, Names, each_expr};
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use adl_typing::ty::Ty;
use lsp_types::{CodeLens, CodeLensParams, Command};
use serde_json::{Value as Json, json};
use std::collections::HashMap;

/// What is known about the derivative of a function: by address, name and the text of its item.
pub type Figures = HashMap<(String, String), (String, String)>;

/// Operators whose first argument is differentiated.
const OPERATORS: [&str; 6] = ["grad", "value_and_grad", "jacobian", "hessian", "residuals", "cost"];

/// A lens before it is shown: its place, title, command and arguments.
type FoundLens = (Span, String, &'static str, Json);

/// `textDocument/codeLens`.
pub fn lenses(server: &mut Server, params: CodeLensParams) -> Result<Vec<CodeLens>, String> {
    let uri = params.text_document.uri;
    server.document(&uri).ok_or("this text is not open")?;
    let document = server.documents.all.get(uri.as_str()).ok_or("this text is not open")?;
    let address = uri.as_str();
    let mut found: Vec<FoundLens> = Vec::new();
    if document.path.is_some() && !document.items().is_empty() {
        found.push((Span::default(), "run".to_owned(), "adl.run", json!([address])));
    }
    for (at, item) in document.items().iter().enumerate() {
        match &item.kind {
            ItemKind::Test { name, .. } => {
                found.push((item.span, "test".to_owned(), "adl.test", json!([address, name])));
            }
            ItemKind::Bench { name, .. } => {
                found.push((item.span, "bench".to_owned(), "adl.bench", json!([address, name])));
            }
            ItemKind::Let(group) => {
                let analysed = document.analysis().and_then(|a| a.items.get(at));
                let scheme = |b: &Binding| analysed.and_then(|i| i.places.scheme(b.pat.span));
                let differentiable = group.bindings.iter().filter(|b| scheme(b).is_some_and(|s| differentiable(&s.ty)));
                differentiable.for_each(|b| found.extend(of_derivative(&server.figures, document, address, item, b)));
            }
            _ => {}
        }
    }
    let lens = |(span, title, command, arguments): FoundLens| CodeLens {
        range: document.text.range(span),
        command: Some(Command { title, command: command.to_owned(), arguments: arguments.as_array().cloned() }),
        data: None,
    };
    Ok(found.into_iter().map(lens).collect())
}

/// The lenses of a function that has a derivative.
fn of_derivative(figures: &Figures, d: &Document, address: &str, item: &Item, b: &Binding) -> [FoundLens; 3] {
    let (at, name) = (b.pat.span, d.text.slice(b.pat.span));
    let known = known_figure(figures, address, name, d.text.slice(item.span));
    let cost = known.unwrap_or_else(|| "cost of the derivative".to_owned());
    let arguments = || json!([address, name]);
    [
        (at, cost, "adl.cost", arguments()),
        (at, "residuals".to_owned(), "adl.residuals", arguments()),
        (at, "show derivative".to_owned(), "adl.derivative", arguments()),
    ]
}

/// What is known about a function whose text is as it was.
fn known_figure(figures: &Figures, uri: &str, name: &str, text: &str) -> Option<String> {
    let (of, figure) = figures.get(&(uri.to_owned(), name.to_owned()))?;
    (of == text).then(|| figure.clone())
}

/// Whether a function returns one real number, and takes something that may have a derivative.
fn differentiable(t: &Ty) -> bool {
    let (mut t, mut last) = (t, None);
    while let Ty::Fun(a, b) | Ty::Lin(a, b) = t {
        (t, last) = (b, Some(a));
    }
    matches!(t, Ty::Float | Ty::F32) && last.is_some_and(|a| real(a))
}

/// Whether a type has a real part.
fn real(t: &Ty) -> bool {
    match t {
        Ty::Float | Ty::F32 | Ty::Var(_) => true,
        Ty::Array(_, e) => real(e),
        Ty::Tuple(parts) | Ty::Data(_, parts) => parts.iter().any(real),
        Ty::Record(r) => r.fields.iter().any(|(_, t)| real(t)),
        _ => false,
    }
}

/// The arguments of the first use of a function in a program that only names top-level values: `w0 xs` in
/// `grad (loss w0) xs`.
pub fn arguments(items: &[Item], names: &Names, name: Symbol, text: &dyn Fn(Span) -> String) -> Option<Vec<String>> {
    let mut found = None;
    for item in items {
        let (ItemKind::Expr(body) | ItemKind::Test { body, .. } | ItemKind::Bench { body, .. }) = &item.kind else {
            if let ItemKind::Let(group) = &item.kind {
                group.bindings.iter().for_each(|b| look(&b.body, names, name, &mut found));
            }
            continue;
        };
        look(body, names, name, &mut found);
    }
    found.map(|args| args.into_iter().map(text).collect())
}

fn look(e: &Expr, names: &Names, name: Symbol, found: &mut Option<Vec<Span>>) {
    each_expr(e, &mut |e| {
        let Some(args) = applied(e, name).filter(|args| !args.is_empty() && found.is_none()) else { return };
        let local = |span: &Span| {
            let inside = names.all.iter().filter(|o| span.lo <= o.span.lo && o.span.hi <= span.hi);
            let outer = |s: Span| names.exports.values().any(|e| *e == s) || span.lo <= s.lo && s.hi <= span.hi;
            inside.clone().any(|o| matches!(o.meaning, Meaning::Here(s) if !outer(s)))
        };
        if !args.iter().any(local) {
            *found = Some(args);
        }
    });
}

/// The arguments that a function takes in `f a b`, `grad f b` or `grad (f a) b`.
fn applied(e: &Expr, name: Symbol) -> Option<Vec<Span>> {
    let ExprKind::App(callee, args) = &e.kind else { return None };
    let spans = |args: &[Expr]| args.iter().map(|a| a.span).collect::<Vec<_>>();
    match &callee.kind {
        ExprKind::Var(f) if *f == name => Some(spans(args)),
        ExprKind::Var(op) if OPERATORS.contains(&op.as_str()) => {
            let (first, rest) = args.split_first()?;
            let mut head = first;
            while let ExprKind::Paren(inner) = &head.kind {
                head = inner;
            }
            let mut out = match &head.kind {
                ExprKind::Var(f) if *f == name => Vec::new(),
                ExprKind::App(f, given) if matches!(f.kind, ExprKind::Var(f) if f == name) => spans(given),
                _ => return None,
            };
            (!rest.is_empty()).then(|| {
                out.extend(spans(rest));
                out
            })
        }
        _ => None,
    }
}

//! Traversal of Core expressions.

use crate::core::{Expr, ExprKind, Extent, IndexArg, LoopKind};

/// The direct subexpressions.
pub fn children(expr: &Expr) -> Vec<&Expr> {
    match &*expr.kind {
        ExprKind::Lit(_)
        | ExprKind::IntAt(..)
        | ExprKind::FloatAt(..)
        | ExprKind::Local(_)
        | ExprKind::Global(_)
        | ExprKind::Prim(..) => Vec::new(),
        ExprKind::Abs(_, e)
        | ExprKind::Inst(e, _)
        | ExprKind::Sizes(_, e)
        | ExprKind::Item(e, _)
        | ExprKind::Field(e, _) => vec![e],
        ExprKind::Lam(l) => vec![&l.body],
        ExprKind::App(f, args) => std::iter::once(f).chain(args).collect(),
        ExprKind::Con(_, es) | ExprKind::Tuple(es) | ExprKind::Array(es) | ExprKind::Interp(es) => es.iter().collect(),
        ExprKind::Let(_, _, a, b) | ExprKind::Guard(a, b, _) => vec![a, b],
        ExprKind::LetRec(bs, e) => bs.iter().map(|b| &b.2).chain([e]).collect(),
        ExprKind::If(c, a, b) => vec![c, a, b],
        ExprKind::Match(s, _, _, arms) => {
            std::iter::once(s).chain(arms.iter().flat_map(|a| a.guard.iter().chain([&a.body]))).collect()
        }
        ExprKind::Record(fs) => fs.iter().map(|f| &f.1).collect(),
        ExprKind::Update(e, fs) => std::iter::once(e).chain(fs.iter().map(|f| &f.1)).collect(),
        ExprKind::Index(a, args) => std::iter::once(a).chain(args.iter().flat_map(index_parts)).collect(),
        ExprKind::For(_, vars, body, _) => vars.iter().flat_map(|v| extent_parts(&v.2)).chain([body]).collect(),
        ExprKind::Loop(_, init, kind, body) => {
            let c = match kind {
                LoopKind::For(_, n) => n,
                LoopKind::While(c) => c,
            };
            vec![init, c, body]
        }
    }
}

fn index_parts(i: &IndexArg) -> Vec<&Expr> {
    match i {
        IndexArg::At(e) => vec![e],
        IndexArg::Slice(lo, hi) => lo.iter().chain(hi).collect(),
    }
}

fn extent_parts(x: &Extent) -> Vec<&Expr> {
    match x {
        Extent::Bound(e) => vec![e],
        Extent::Axes(axes) => axes.iter().map(|a| &a.0).collect(),
    }
}

/// Calls `f` on an expression and everything inside.
pub fn walk<'e>(e: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    let mut todo = vec![e];
    while let Some(e) = todo.pop() {
        f(e);
        todo.extend(children(e));
    }
}

//! Determines from its text which arrows of a recursive definition are linear, so that uses inside the definition see
//! them.

use super::{Infer, fun};
use crate::ty::Ty;
use adl_syntax::ast;
use std::rc::Rc;

/// The arrows of a function's type, outermost first: whether each is `-o`.
type Arrows = Vec<bool>;

impl Infer<'_> {
    /// The type of a definition as far as its linear arrows; `None` if it has none.
    pub(super) fn linear_spine(&mut self, b: &ast::Binding) -> Option<Ty> {
        let mut arrows = vec![false; b.params.len()];
        arrows.extend(match &b.sig {
            Some(sig) => of_type(&sig.ty),
            None => of_expr(&b.body),
        });
        let last = arrows.iter().rposition(|linear| *linear)?;
        let result = self.meta();
        Some(arrows[..=last].iter().rev().fold(result, |r, linear| {
            let p = self.meta();
            if *linear { Ty::Lin(Rc::new(p), Rc::new(r)) } else { fun(p, r) }
        }))
    }
}

fn of_type(mut t: &ast::Type) -> Arrows {
    let mut out = Vec::new();
    loop {
        match &t.kind {
            ast::TypeKind::Fun(_, r) => {
                out.push(false);
                t = r;
            }
            ast::TypeKind::Lin(_, r) => {
                out.push(true);
                t = r;
            }
            _ => return out,
        }
    }
}

/// The arrows of a function literal. The branches of an `if` or `match` must agree.
fn of_expr(e: &ast::Expr) -> Arrows {
    stacker::maybe_grow(32 * 1024, 1024 * 1024, || match &e.kind {
        ast::ExprKind::Fun(ps, body) => [vec![false; ps.len()], of_expr(body)].concat(),
        ast::ExprKind::Lin(_, body) => [vec![true], of_expr(body)].concat(),
        ast::ExprKind::Paren(e) => of_expr(e),
        ast::ExprKind::Ann(_, sig) => of_type(&sig.ty),
        ast::ExprKind::Block(entries) => match entries.last() {
            Some(ast::Stmt::Expr(e)) => of_expr(e),
            _ => Vec::new(),
        },
        ast::ExprKind::If(_, a, Some(b)) => agreed([&**a, &**b].into_iter()),
        ast::ExprKind::Match(_, arms) => agreed(arms.iter().map(|a| &a.body)),
        _ => Vec::new(),
    })
}

fn agreed<'e>(parts: impl Iterator<Item = &'e ast::Expr>) -> Arrows {
    let mut all = parts.map(of_expr);
    let first = all.next().unwrap_or_default();
    if all.all(|a| a == first) { first } else { Vec::new() }
}

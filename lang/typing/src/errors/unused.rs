//! W0215: expression statements of a script whose value is discarded.

use super::Explanation;
use crate::core::{Expr, ExprKind};
use crate::print;
use crate::ty::{Scheme, Ty};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;

/// The warning for an expression statement that has a value; `place` and `text` are its span and source.
pub fn unused_value(expr: &Expr, place: Span, text: &str) -> Option<Diagnostic> {
    let show = |t: &Ty| print::scheme(&Scheme::mono(t.clone()));
    match &expr.ty {
        // An expression of type `a` never returns.
        Ty::Var(_) | Ty::Meta(_) => None,
        t if is_unit(t) => None,
        Ty::Fun(missing, rest) | Ty::Lin(missing, rest) => {
            let more = 1 + arrows(rest);
            let text = format!(
                "this is a function: it takes {more} more argument{}, and nothing happens without {}",
                if more == 1 { "" } else { "s" },
                if more == 1 { "it" } else { "them" }
            );
            let text = if is_call(expr) { text } else { text.replace(" more argument", " argument") };
            let d = Diagnostic::warning("W0215", expr.span, text);
            Some(if matches!(**missing, Ty::Var(_) | Ty::Meta(_)) {
                d
            } else {
                d.hint(format!("an argument of type {} is missing", show(missing)))
            })
        }
        t => {
            let diagnostic = Diagnostic::warning(
                "W0215",
                expr.span,
                format!("the value of this expression, of type {}, is not used", show(t)),
            );
            let simple = !is_call(expr) && (enclosed(text) || !text.contains(char::is_whitespace));
            if text.contains('\n') {
                return Some(diagnostic.hint(LONG));
            }
            let printed = if simple { format!("print {text}") } else { format!("print ({text})") };
            let d = if text.len() < 60 {
                diagnostic.hint(format!("write `{printed}` to see it, or `let _ = {text}` to drop it"))
            } else {
                diagnostic.hint(LONG)
            };
            Some(d.fix(place, printed))
        }
    }
}

const LONG: &str = "write `print (...)` to see it, or `let _ = ...` to drop it";

/// Whether a type carries no information, such as the result of `map print xs`.
fn is_unit(t: &Ty) -> bool {
    match t {
        Ty::Unit => true,
        Ty::Array(_, e) => is_unit(e),
        Ty::Tuple(parts) => parts.iter().all(is_unit),
        _ => false,
    }
}

fn is_call(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Abs(_, e) | ExprKind::Inst(e, _) => is_call(e),
        ExprKind::App(..) => true,
        _ => false,
    }
}

/// Whether one pair of parentheses or brackets encloses all of a text.
fn enclosed(text: &str) -> bool {
    let mut depth = 0;
    let closed = text.char_indices().find_map(|(i, c)| {
        depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
        (depth == 0).then_some(i)
    });
    text.starts_with(['(', '[', '{']) && closed == Some(text.len() - 1)
}

fn arrows(t: &Ty) -> usize {
    match t {
        Ty::Fun(_, r) | Ty::Lin(_, r) => 1 + arrows(r),
        _ => 0,
    }
}

pub(super) const EXPLANATIONS: &[Explanation] = &[(
    "W0215",
    "A file shows what it prints, and nothing else: the value of an expression that stands alone is lost. (At the prompt, in notebooks and after `-e` values are shown.) \
    A call that lacks an argument is a function, and does nothing.\n\
    \n\
    \x20   grad sin 0.0           -- wrong\n\
    \x20   print (grad sin 0.0)   -- right",
)];

//! Hints for argument conventions of other languages: a tuple for two arguments, the function after its array, methods
//! of matrices and strings, the transpose of a matrix.

use super::Infer;
use crate::core;
use crate::errors::calls;
use crate::errors::reason::Role;
use crate::ty::Ty;
use adl_prim::{GeneralFn, IoFn, Prim};
use adl_syntax::ast;
use adl_syntax::errors::foreign_syntax;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;

/// `transpose m`.
const NO_MATRIX: &str = "a matrix is transposed by `m.T`; `transpose` transposes a linear function";

impl Infer<'_> {
    /// A hint if the expected and actual types reveal what was meant.
    pub(super) fn foreign_convention_hint(&self, expected: &Ty, actual: &Ty, what: &Role) -> Option<String> {
        match what {
            Role::Argument { index, total, of } => self.argument_hint(expected, actual, (*index, *total), of),
            Role::Thing(t) if t == "the indexed value" && matches!(actual, Ty::Str) => {
                Some("`io.slice 0 1 text` is its first character, `io.chars text` all of them, `io.length text` their number".into())
            }
            Role::Thing(t) if t == "the indexed value" && matches!(actual, Ty::Tuple(_)) => {
                Some("a tuple is taken apart with `let (a, b) = t`, or by `fst` and `snd`".into())
            }
            Role::Thing(t) if t == "the operand of `.T`" && matches!(actual, Ty::Array(..)) => {
                Some("a vector has one axis; as a matrix of one column it is `reshape [n, 1] x`".into())
            }
            Role::Thing(t) if t.starts_with("the result of this function") && matches!(expected, Ty::Fun(..)) && !matches!(actual, Ty::Fun(..)) => {
                Some("this function is called with more arguments than it takes".into())
            }
            Role::Thing(t) if t == "the indexed value" && matches!(actual, Ty::Record(_)) => Some("a field of a record is taken by its name: `r.x`".into()),
            Role::Thing(t) if t.ends_with("side of `@`") && matches!(actual, Ty::Lin(..)) => Some(NO_MATRIX.into()),
            Role::Thing(t) if t == "an extent" && matches!(actual, Ty::Tuple(_)) => Some("a shape is written with brackets: `zeros [n, m]`".into()),
            Role::Thing(t) if t.contains("pattern") && matches!(expected, Ty::Fun(..)) && !matches!(actual, Ty::Fun(..)) => {
                Some("the value is a function: is an argument missing?".into())
            }
            Role::Thing(_) | Role::Right(_) => None,
        }
    }

    /// `open M` and other statements that adl lacks. Reports one error and suppresses the errors that would follow.
    pub(super) fn foreign_statement(&mut self, head: &ast::Expr, span: Span) -> Option<core::Expr> {
        let ast::ExprKind::Var(name) = head.kind else { return None };
        if !foreign_syntax::is_statement(name.as_str()) || self.is_defined(name) {
            return None;
        }
        self.infer(head, None);
        Some(self.error_expr(span))
    }

    /// Whether `// expr` is a comment of another language: words of which the first is not defined.
    pub(super) fn comment_by_slashes(&mut self, slashes: Span, expr: &ast::Expr) -> bool {
        let (head, more) = match &expr.kind {
            ast::ExprKind::App(f, args) => (&**f, args.as_slice()),
            _ => (expr, &[][..]),
        };
        let ast::ExprKind::Var(name) = head.kind else { return false };
        let alone = more.is_empty();
        let unknown = |me: &mut Self, e: &ast::Expr| matches!(e.kind, ast::ExprKind::Var(n) if !me.is_defined(n));
        if more.iter().filter(|e| unknown(self, e)).count() > 1 {
            self.report(foreign_syntax::foreign_comment(slashes, "//"));
            return true;
        }
        // A single word may also be a misspelling.
        let words = !self.is_defined(name)
            && !(alone && (self.has_near(name) || self.host.text(slashes.to(expr.span)).contains('\n')));
        if words {
            self.report(foreign_syntax::foreign_comment(slashes, "//"));
        }
        words
    }

    /// `assert a + b == c` and `print a + b`: the call binds tighter than the operators.
    pub(super) fn effect_before(&mut self, op: ast::BinOp, a: &ast::Expr, whole: Span) -> bool {
        use ast::BinOp as B;
        let mut left = a;
        while let ast::ExprKind::Bin(op, _, inner, _) = &left.kind {
            if matches!(op, B::PipeLeft | B::PipeRight | B::Compose) {
                return false;
            }
            left = inner;
        }
        let ast::ExprKind::App(callee, args) = &left.kind else { return false };
        let effect = matches!(callee.kind, ast::ExprKind::Var(name) if matches!(self.prim_named(name), Some(Prim::General(GeneralFn::Assert) | Prim::Io(IoFn::Print))));
        let Some(first) = args.first().filter(|_| effect && !matches!(op, B::PipeLeft | B::PipeRight | B::Compose))
        else {
            return false;
        };
        // `print "a" + "b"` concatenates strings.
        let texts =
            op == B::Add && matches!(first.kind, ast::ExprKind::Lit(ast::Lit::Str(_)) | ast::ExprKind::Interp(_));
        let behind = Span { lo: left.span.hi, ..whole };
        let rest = self.host.text(behind);
        let joined = texts && rest.trim_start().starts_with('+') && !rest.trim_start().starts_with("++");
        let sign = joined.then(|| behind.lo + (rest.len() - rest.trim_start().len()) as u32).map(|lo| Span {
            lo,
            hi: lo + 1,
            ..whole
        });
        let (head, inside) = (self.host.text(callee.span).to_owned(), Span { lo: first.span.lo, ..whole });
        let d = calls::effect_before(
            left.span,
            (&head, self.host.text(left.span)),
            if joined { "++" } else { op.text() },
            self.host.text(inside),
            (inside, sign),
        );
        self.report(d);
        true
    }

    pub(super) fn is_defined(&mut self, name: Symbol) -> bool {
        self.lookup(name).is_some()
            || self.env.value(name).is_some()
            || self.env.broken.contains_key(&name)
            || self.visible_prim(name).is_some()
            || self.host.prelude_home(name.as_str()).is_some()
    }

    fn argument_hint(&self, expected: &Ty, actual: &Ty, (index, total): (usize, usize), of: &str) -> Option<String> {
        let name = of.trim_matches('`');
        if name.is_empty() || !of.starts_with('`') {
            return None;
        }
        Some(match (expected, actual) {
            (Ty::Tuple(p), Ty::Tuple(q)) if p.len() == 2 && q.len() > 2 && matches!(name, "fst" | "snd") => {
                let names: Vec<String> = ('a'..='z').take(q.len()).map(String::from).collect();
                format!("{of} is for pairs; take others apart with a pattern: `let ({}) = t`", names.join(", "))
            }
            (Ty::Tuple(p), t)
                if (self.is_scalar_meta(t) || !matches!(t, Ty::Tuple(_) | Ty::Meta(_)))
                    && index == 1
                    && total == p.len() =>
            {
                format!("{of} takes one tuple: `{name} ({})`", letters(total, ", "))
            }
            (t, Ty::Tuple(q)) if total == 1 && (self.is_scalar_meta(t) || !matches!(t, Ty::Tuple(_) | Ty::Meta(_))) => {
                format!("arguments stand one after the other: `{name} {}`", letters(q.len(), " "))
            }
            (Ty::Fun(..), Ty::Array(..)) if index == 1 && total > 1 => {
                format!("the function stands first: `{name} f xs`")
            }
            (Ty::Lin(..), Ty::Array(_, row)) if name == "transpose" && matches!(self.resolve(row), Ty::Array(..)) => {
                NO_MATRIX.into()
            }
            (Ty::Array(..), Ty::Str) if name == "len" => "the length of a text is `io.length s`".into(),
            (Ty::Array(..), Ty::Str) => {
                "a text is not an array: `io.chars s` has its characters, `io.split` its parts".into()
            }
            (Ty::Data(d, _), Ty::Int | Ty::Meta(_)) if d.1.as_str() == "Key" => {
                "a key is made from a number: `random.key 42`".into()
            }
            _ => return None,
        })
    }

    fn is_scalar_meta(&self, t: &Ty) -> bool {
        self.vars.is_scalar(t)
    }
}

/// `a, b, c`.
fn letters(n: usize, between: &str) -> String {
    ('a'..='z').take(n).map(String::from).collect::<Vec<_>>().join(between)
}

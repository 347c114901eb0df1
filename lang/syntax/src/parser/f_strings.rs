//! f-strings.

use super::Parser;
use crate::ast::{Expr, ExprKind, StrPart};
use crate::errors::{expressions as errors, foreign_syntax, lexical};
use crate::token::{P, Tok};

impl Parser<'_> {
    pub(super) fn interpolated(&mut self) -> ExprKind {
        self.bump();
        let mut parts = Vec::new();
        loop {
            match self.raw().tok {
                _ if self.panic => break,
                Tok::FText(id) => {
                    parts.push(StrPart::Text(self.string(id)));
                    self.bump();
                }
                Tok::FOpen => parts.push(StrPart::Expr(self.interpolation())),
                Tok::FEnd => {
                    self.bump();
                    break;
                }
                _ => {
                    self.unexpected();
                    break;
                }
            }
        }
        ExprKind::Interp(parts)
    }

    fn interpolation(&mut self) -> Expr {
        let open = self.bump();
        if self.peek() == Tok::FClose {
            let at = open.to(self.bump());
            self.report(lexical::empty_interpolation(at));
            return Expr { kind: ExprKind::Error, span: at };
        }
        self.layout.open_bracket();
        let (no_for, slicing) = (std::mem::take(&mut self.no_for), std::mem::take(&mut self.slicing));
        let expr = self.expr();
        if self.peek() == Tok::FClose {
            self.bump();
        } else if matches!(self.peek(), Tok::P(P::Colon | P::Bang)) && !self.panic {
            let (at, found) = (self.here(), self.found());
            let fix = self.fixed_digits(expr.span);
            self.fail(foreign_syntax::format_in_text(
                errors::wanted("E0110", at, "`}`", &self.after(), Some(&found)),
                fix,
            ));
        } else {
            self.wanted("E0110", "`}`");
        }
        (self.no_for, self.slicing) = (no_for, slicing);
        self.layout.close();
        expr
    }
}

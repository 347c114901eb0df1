//! Patterns.

use super::{Parse, Parser};
use crate::ast::*;
use crate::span::Span;
use crate::token::{Kw, Tok};

impl Parser {
    /// `p | q`, `p as x`, `x :: xs`.
    pub(super) fn pat(&mut self) -> Parse<Pat> {
        self.nested(|p| {
            let first = p.pat_as()?;
            if !p.is(&Tok::Bar) {
                return Ok(first);
            }
            let lo = first.span;
            let mut alts = vec![first];
            while p.accept(&Tok::Bar) {
                alts.push(p.pat_as()?);
            }
            Ok(Pat { kind: PatKind::Or(alts), span: lo.to(p.prev_span()) })
        })
    }

    fn pat_as(&mut self) -> Parse<Pat> {
        let head = self.pat_con()?;
        self.pat_rest(head)
    }

    /// What may follow a pattern: `:: p`, `as x`.
    pub(super) fn pat_rest(&mut self, head: Pat) -> Parse<Pat> {
        let mut pat = head;
        if self.is(&Tok::Op(BinOp::Cons)) {
            let op = self.bump().span;
            let tail = self.nested(|p| {
                let head = p.pat_con()?;
                p.pat_rest(head)
            })?;
            let span = pat.span.to(tail.span);
            let con = Ident { name: crate::symbol::Symbol::new("Cons"), span: op };
            pat = Pat { kind: PatKind::Con(None, con, vec![pat, tail]), span };
        }
        while self.accept(&Tok::Kw(Kw::As)) {
            let name = self.ident("a name after `as`")?;
            let span = pat.span.to(name.span);
            pat = Pat { kind: PatKind::As(Box::new(pat), name), span };
        }
        Ok(pat)
    }

    /// `p, q` without parentheses, after a `let`.
    pub(super) fn bare_tuple_pat(&mut self, first: Pat) -> Parse<Pat> {
        let lo = first.span;
        let mut parts = vec![first];
        while self.accept(&Tok::Comma) {
            parts.push(self.pat_as()?);
        }
        Ok(Pat { kind: PatKind::Tuple(parts), span: lo.to(self.prev_span()) })
    }

    fn pat_con(&mut self) -> Parse<Pat> {
        if !matches!(self.peek().tok, Tok::Upper(_)) {
            return self.pat_atom("a pattern");
        }
        let (module, con) = self.qualified_con()?;
        let mut args = Vec::new();
        while self.starts_pat_atom() {
            args.push(self.pat_atom("a pattern")?);
        }
        let span = module.unwrap_or(con).span.to(self.prev_span());
        Ok(Pat { kind: PatKind::Con(module, con, args), span })
    }

    fn qualified_con(&mut self) -> Parse<(Option<Ident>, Ident)> {
        let name = self.upper("a constructor")?;
        if self.is(&Tok::Dot) && !self.raw().space && matches!(self.peek_ahead(1), Tok::Upper(_)) {
            self.bump();
            return Ok((Some(name), self.upper("a constructor")?));
        }
        Ok((None, name))
    }

    pub(super) fn starts_pat_atom(&self) -> bool {
        matches!(
            self.peek().tok,
            Tok::Ident(_) | Tok::Upper(_) | Tok::Underscore | Tok::Int(_) | Tok::Float(_) | Tok::F32(_) | Tok::Str(_)
                | Tok::LParen | Tok::LBrace | Tok::LBracket | Tok::Kw(Kw::True | Kw::False)
        )
    }

    pub(super) fn pat_atom(&mut self, what: &str) -> Parse<Pat> {
        let t = self.peek().clone();
        let kind = match t.tok {
            Tok::Ident(name) => PatKind::Var(name),
            Tok::Underscore => PatKind::Wild,
            Tok::Int(n) => PatKind::Lit(Lit::Int(n)),
            Tok::Float(x) => PatKind::Lit(Lit::Float(x)),
            Tok::F32(x) => PatKind::Lit(Lit::F32(x)),
            Tok::Str(s) => PatKind::Lit(Lit::Str(s)),
            Tok::Kw(k @ (Kw::True | Kw::False)) => PatKind::Lit(Lit::Bool(k == Kw::True)),
            Tok::Op(BinOp::Sub) => return self.negative_pat(t.span),
            Tok::Upper(_) => {
                let (module, con) = self.qualified_con()?;
                return Ok(Pat { kind: PatKind::Con(module, con, Vec::new()), span: t.span.to(self.prev_span()) });
            }
            Tok::LParen => return self.paren_pat(t.span),
            Tok::LBrace => return self.record_pat(t.span),
            Tok::LBracket => return self.array_pat(t.span),
            _ => return self.expected(what),
        };
        self.bump();
        Ok(Pat { kind, span: t.span })
    }

    fn negative_pat(&mut self, lo: Span) -> Parse<Pat> {
        self.bump();
        let lit = match self.peek().tok {
            Tok::Int(n) => Lit::Int(-n),
            Tok::Float(x) => Lit::Float(-x),
            Tok::F32(x) => Lit::F32(-x),
            _ => return self.expected("a number after `-`"),
        };
        Ok(Pat { kind: PatKind::Lit(lit), span: lo.to(self.bump().span) })
    }

    fn paren_pat(&mut self, open: Span) -> Parse<Pat> {
        self.bump();
        self.free(|p| {
            let mut parts = Vec::new();
            while !p.is(&Tok::RParen) {
                let pat = p.pat()?;
                let pat = if p.accept(&Tok::Colon) {
                    let ty = p.ty()?;
                    let span = pat.span.to(ty.span);
                    Pat { kind: PatKind::Ann(Box::new(pat), ty), span }
                } else {
                    pat
                };
                parts.push(pat);
                if !p.accept(&Tok::Comma) {
                    break;
                }
            }
            let span = open.to(p.close(&Tok::RParen, open)?);
            Ok(match parts.len() {
                0 => Pat { kind: PatKind::Lit(Lit::Unit), span },
                1 => Pat { span, ..parts.remove(0) },
                _ => Pat { kind: PatKind::Tuple(parts), span },
            })
        })
    }

    fn record_pat(&mut self, open: Span) -> Parse<Pat> {
        self.bump();
        self.free(|p| {
            let (mut fields, mut more) = (Vec::new(), false);
            while !p.is(&Tok::RBrace) {
                if p.accept(&Tok::DotDot) {
                    more = true;
                    break;
                }
                let name = p.field_name()?;
                let pat = if p.accept(&Tok::Equals) { p.pat()? } else { Pat { kind: PatKind::Var(name.name), span: name.span } };
                fields.push((name, pat));
                if !p.accept(&Tok::Comma) {
                    break;
                }
            }
            let span = open.to(p.close(&Tok::RBrace, open)?);
            Ok(Pat { kind: PatKind::Record(fields, more), span })
        })
    }

    fn array_pat(&mut self, open: Span) -> Parse<Pat> {
        self.bump();
        self.free(|p| {
            let mut parts = Vec::new();
            while !p.is(&Tok::RBracket) {
                parts.push(p.pat()?);
                if !p.accept(&Tok::Comma) {
                    break;
                }
            }
            let span = open.to(p.close(&Tok::RBracket, open)?);
            Ok(Pat { kind: PatKind::Array(parts), span })
        })
    }
}

//! Types as written.

use super::{Parse, Parser};
use crate::ast::*;
use crate::errors::syntax as err;
use crate::span::Span;
use crate::token::Tok;

impl Parser {
    /// `Diff w => w -> w`.
    pub(super) fn signature(&mut self) -> Parse<Signature> {
        let ty = self.ty()?;
        if !self.is(&Tok::FatArrow) {
            return Ok(Signature { constraints: Vec::new(), ty });
        }
        let Some(constraints) = constraints(&ty) else {
            let d = err::expected(ty.span, "constraints such as `Num a` before `=>`", "a type");
            return self.fail(d);
        };
        self.bump();
        Ok(Signature { constraints, ty: self.ty()? })
    }

    pub(super) fn ty(&mut self) -> Parse<Type> {
        self.nested(|p| {
            let from = p.type_app()?;
            let lolly = p.is(&Tok::Op(BinOp::Sub)) && matches!(p.peek_ahead(1), Tok::Ident(o) if o.as_str() == "o") && !p.toks[p.pos + 1].space;
            if !lolly && !p.is(&Tok::Arrow) {
                return Ok(from);
            }
            p.bump();
            if lolly {
                p.bump();
            }
            let to = p.ty()?;
            let span = from.span.to(to.span);
            let (from, to) = (Box::new(from), Box::new(to));
            Ok(Type { kind: if lolly { TypeKind::Lin(from, to) } else { TypeKind::Fun(from, to) }, span })
        })
    }

    fn type_app(&mut self) -> Parse<Type> {
        if !matches!(self.peek().tok, Tok::Upper(_)) {
            return self.type_atom();
        }
        let (module, name) = self.qualified_type()?;
        let mut args = Vec::new();
        while self.starts_type_atom() {
            args.push(self.type_atom()?);
        }
        let span = module.unwrap_or(name).span.to(self.prev_span());
        Ok(Type { kind: TypeKind::Con(module, name, args), span })
    }

    fn qualified_type(&mut self) -> Parse<(Option<Ident>, Ident)> {
        let name = self.upper("a type")?;
        if self.is(&Tok::Dot) && !self.raw().space && matches!(self.peek_ahead(1), Tok::Upper(_)) {
            self.bump();
            return Ok((Some(name), self.upper("a type")?));
        }
        Ok((None, name))
    }

    pub(super) fn starts_type_atom(&self) -> bool {
        matches!(self.peek().tok, Tok::Upper(_) | Tok::Ident(_) | Tok::LParen | Tok::LBrace | Tok::LBracket | Tok::Underscore)
    }

    pub(super) fn type_atom(&mut self) -> Parse<Type> {
        let t = self.peek().clone();
        match t.tok {
            Tok::Upper(_) => {
                let (module, name) = self.qualified_type()?;
                Ok(Type { kind: TypeKind::Con(module, name, Vec::new()), span: t.span.to(self.prev_span()) })
            }
            Tok::Ident(name) => {
                self.bump();
                // A standard module's type: `random.Key`.
                if self.is(&Tok::Dot) && !self.raw().space && matches!(self.peek_ahead(1), Tok::Upper(_)) {
                    self.bump();
                    let con = self.upper("a type")?;
                    return Ok(Type { kind: TypeKind::Con(Some(Ident { name, span: t.span }), con, Vec::new()), span: t.span.to(con.span) });
                }
                Ok(Type { kind: TypeKind::Var(name), span: t.span })
            }
            Tok::Underscore => {
                self.bump();
                Ok(Type { kind: TypeKind::Hole, span: t.span })
            }
            Tok::LParen => self.paren_type(t.span),
            Tok::LBrace => self.record_type(t.span),
            Tok::LBracket => self.array_type(t.span),
            _ => self.expected("a type"),
        }
    }

    fn paren_type(&mut self, open: Span) -> Parse<Type> {
        self.bump();
        self.free(|p| {
            let mut parts = Vec::new();
            while !p.is(&Tok::RParen) {
                parts.push(p.ty()?);
                if !p.accept(&Tok::Comma) {
                    break;
                }
            }
            let span = open.to(p.close(&Tok::RParen, open)?);
            Ok(match parts.len() {
                1 => Type { span, ..parts.remove(0) },
                _ => Type { kind: TypeKind::Tuple(parts), span },
            })
        })
    }

    fn record_type(&mut self, open: Span) -> Parse<Type> {
        self.bump();
        self.free(|p| {
            let mut fields = Vec::new();
            let mut tail = None;
            while !p.is(&Tok::RBrace) {
                if p.accept(&Tok::DotDot) {
                    tail = Some(None);
                    break;
                }
                if p.accept(&Tok::Bar) {
                    tail = Some(Some(p.ident("a row variable")?));
                    break;
                }
                let name = p.field_name()?;
                p.expect(&Tok::Colon, "`:` and the field's type")?;
                fields.push((name, p.ty()?));
                if !p.accept(&Tok::Comma) && !p.is(&Tok::Bar) {
                    break;
                }
            }
            let span = open.to(p.close(&Tok::RBrace, open)?);
            Ok(Type { kind: TypeKind::Record(fields, tail), span })
        })
    }

    fn array_type(&mut self, open: Span) -> Parse<Type> {
        self.bump();
        let size = match self.peek().tok {
            Tok::Int(n) => Size::Const(n, self.bump().span),
            Tok::Ident(name) => Size::Var(Ident { name, span: self.bump().span }),
            Tok::Underscore => Size::Any(self.bump().span),
            Tok::RBracket => Size::Any(open),
            _ => return self.expected("a size: a number, a name or `_`"),
        };
        self.close(&Tok::RBracket, open)?;
        let elem = self.nested(|p| match p.peek().tok {
            Tok::Upper(_) => p.type_app(),
            _ => p.type_atom(),
        })?;
        let span = open.to(elem.span);
        Ok(Type { kind: TypeKind::Array(size, Box::new(elem)), span })
    }
}

/// `Num a` or `(Diff a, Real s)`, read as a type, as constraints.
fn constraints(ty: &Type) -> Option<Vec<(Ident, Ident)>> {
    match &ty.kind {
        TypeKind::Tuple(parts) => {
            let all: Option<Vec<_>> = parts.iter().map(constraints).collect();
            Some(all?.into_iter().flatten().collect())
        }
        TypeKind::Con(None, class, args) => match args.as_slice() {
            [Type { kind: TypeKind::Var(name), span }] => Some(vec![(*class, Ident { name: *name, span: *span })]),
            _ => None,
        },
        _ => None,
    }
}

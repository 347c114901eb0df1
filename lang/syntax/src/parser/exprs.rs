//! Applications, atoms, and the expressions that begin with a keyword.

use super::operators::ABOVE_COMPARISON;
use super::{Parse, Parser};
use crate::ast::*;
use crate::errors::syntax as err;
use crate::span::Span;
use crate::token::{FPart, Kw, Tok, Token};

impl Parser {
    pub(super) fn application(&mut self) -> Parse<Expr> {
        if let Some(e) = self.keyword_expr()? {
            return Ok(e);
        }
        let head = self.postfix()?;
        let mut args = Vec::new();
        loop {
            if self.starts_atom() {
                args.push(self.postfix()?);
            } else if let Some(e) = self.trailing_arg()? {
                args.push(e);
                break;
            } else {
                break;
            }
        }
        if args.is_empty() {
            return Ok(head);
        }
        let span = head.span.to(self.prev_span());
        Ok(Expr { kind: ExprKind::App(Box::new(head), args), span })
    }

    /// `f xs fun x -> ...`: an expression that begins with a keyword may be the last argument.
    fn trailing_arg(&mut self) -> Parse<Option<Expr>> {
        match self.peek().tok {
            Tok::Kw(Kw::Fun | Kw::Lin | Kw::For | Kw::Match | Kw::If | Kw::Loop) => self.keyword_expr(),
            _ => Ok(None),
        }
    }

    fn keyword_expr(&mut self) -> Parse<Option<Expr>> {
        let Tok::Kw(kw) = self.peek().tok else { return Ok(None) };
        let lo = self.raw().span;
        let kind = match kw {
            Kw::Fun => self.fun()?,
            Kw::Lin => self.lin()?,
            Kw::If => self.if_expr()?,
            Kw::Match => self.match_expr()?,
            Kw::Loop => self.loop_expr()?,
            Kw::For if !self.no_for => self.for_expr()?,
            Kw::Let => {
                let (group, span) = self.let_group()?;
                self.expect(&Tok::Kw(Kw::In), "`in` (or a block on lines of its own)")?;
                let body = self.block("`in`")?;
                let mut stmts = vec![Stmt::Let(group, span)];
                match body.kind {
                    ExprKind::Block(rest) => stmts.extend(rest),
                    _ => stmts.push(Stmt::Expr(body)),
                }
                ExprKind::Block(stmts)
            }
            _ => return Ok(None),
        };
        Ok(Some(Expr { kind, span: lo.to(self.prev_span()) }))
    }

    fn starts_atom(&self) -> bool {
        matches!(
            self.peek().tok,
            Tok::Ident(_) | Tok::Upper(_) | Tok::Int(_) | Tok::Float(_) | Tok::F32(_) | Tok::Str(_) | Tok::FStr(_) | Tok::LParen
                | Tok::LBracket | Tok::LBrace | Tok::LIverson | Tok::Kw(Kw::True | Kw::False)
        )
    }

    /// An atom with its `.field`s and `[index]`es.
    fn postfix(&mut self) -> Parse<Expr> {
        let mut e = self.atom()?;
        loop {
            let t = self.peek();
            if t.space || t.first {
                return Ok(e);
            }
            match t.tok {
                Tok::Dot => {
                    self.bump();
                    e = self.field_of(e)?;
                }
                Tok::LBracket => e = self.index(e)?,
                _ => return Ok(e),
            }
        }
    }

    fn field_of(&mut self, e: Expr) -> Parse<Expr> {
        let name = self.field_name()?;
        let span = e.span.to(name.span);
        let module = match e.kind {
            ExprKind::Con(None, m) => Some(m),
            _ => None,
        };
        let constructor = name.name.as_str().starts_with(|c: char| c.is_ascii_uppercase());
        Ok(match module {
            Some(m) if constructor => Expr { kind: ExprKind::Con(Some(m), name), span },
            _ => Expr { kind: ExprKind::Field(Box::new(e), name), span },
        })
    }

    fn index(&mut self, array: Expr) -> Parse<Expr> {
        let open = self.bump().span;
        self.free(|p| {
            let mut args = Vec::new();
            loop {
                args.push(p.index_arg()?);
                if !p.accept(&Tok::Comma) {
                    break;
                }
            }
            let span = array.span.to(p.close(&Tok::RBracket, open)?);
            Ok(Expr { kind: ExprKind::Index(Box::new(array), args), span })
        })
    }

    fn index_arg(&mut self) -> Parse<IndexArg> {
        let lower = if self.is(&Tok::Colon) { None } else { Some(self.expr()?) };
        if !self.accept(&Tok::Colon) {
            return match lower {
                Some(e) => Ok(IndexArg::At(e)),
                None => self.expected("an index"),
            };
        }
        let upper = if matches!(self.peek().tok, Tok::Comma | Tok::RBracket) { None } else { Some(self.expr()?) };
        Ok(IndexArg::Slice(lower, upper))
    }

    fn atom(&mut self) -> Parse<Expr> {
        let t = self.peek().clone();
        let kind = match t.tok {
            Tok::Ident(name) => ExprKind::Var(name),
            Tok::Upper(name) => ExprKind::Con(None, Ident { name, span: t.span }),
            Tok::Int(n) => ExprKind::Lit(Lit::Int(n)),
            Tok::Float(x) => ExprKind::Lit(Lit::Float(x)),
            Tok::F32(x) => ExprKind::Lit(Lit::F32(x)),
            Tok::Str(s) => ExprKind::Lit(Lit::Str(s)),
            Tok::Kw(k @ (Kw::True | Kw::False)) => ExprKind::Lit(Lit::Bool(k == Kw::True)),
            Tok::FStr(parts) => {
                self.bump();
                let parts = self.interpolated(parts)?;
                return Ok(Expr { kind: ExprKind::Interp(parts), span: t.span });
            }
            Tok::LParen => return self.paren(t.span),
            Tok::LBracket => return self.array(t.span),
            Tok::LBrace => return self.record(t.span),
            Tok::LIverson => return self.iverson(t.span),
            _ => return self.no_atom(),
        };
        self.bump();
        Ok(Expr { kind, span: t.span })
    }

    fn no_atom(&mut self) -> Parse<Expr> {
        let (span, found) = self.found();
        let before = &self.toks[self.pos.saturating_sub(1)];
        let after = if self.pos == 0 { String::new() } else { before.tok.describe() };
        let d = match (self.pos, &self.raw().tok) {
            (1.., Tok::End) => err::missing_expr(span, &after, &found),
            (_, Tok::Equals) => err::equals_for_compare(span),
            _ => err::expected(span, "an expression", &found),
        };
        self.fail(d)
    }

    fn interpolated(&mut self, parts: Vec<FPart>) -> Parse<Vec<StrPart>> {
        parts
            .into_iter()
            .map(|part| match part {
                FPart::Text(text) => Ok(StrPart::Text(text)),
                FPart::Expr(toks) => self.nested_tokens(toks).map(StrPart::Expr),
            })
            .collect()
    }

    /// Parses the tokens of `{...}` in an interpolated string.
    fn nested_tokens(&mut self, toks: Vec<Token>) -> Parse<Expr> {
        let saved = (std::mem::replace(&mut self.toks, toks), self.pos);
        self.pos = 0;
        let out = self.free(|p| {
            let e = p.expr()?;
            if p.peek().tok == Tok::End { Ok(e) } else { p.expected("`}`") }
        });
        (self.toks, self.pos) = saved;
        out
    }

    fn paren(&mut self, open: Span) -> Parse<Expr> {
        self.bump();
        self.free(|p| {
            if p.is(&Tok::RParen) {
                let span = open.to(p.bump().span);
                return Ok(Expr { kind: ExprKind::Lit(Lit::Unit), span });
            }
            if let (Tok::Op(op), Tok::RParen) = (p.peek().tok.clone(), p.peek_ahead(1).clone()) {
                p.bump();
                let span = open.to(p.bump().span);
                return Ok(Expr { kind: ExprKind::Section(op), span });
            }
            let mut parts = Vec::new();
            let mut comma = false;
            while !p.is(&Tok::RParen) {
                parts.push(p.paren_part()?);
                comma = p.accept(&Tok::Comma);
                if !comma {
                    break;
                }
            }
            let span = open.to(p.close(&Tok::RParen, open)?);
            if parts.len() == 1 && !comma {
                let inner = parts.remove(0);
                return Ok(Expr { kind: ExprKind::Paren(Box::new(inner)), span });
            }
            Ok(Expr { kind: ExprKind::Tuple(parts), span })
        })
    }

    /// `e`, `e : T`, or a block.
    fn paren_part(&mut self) -> Parse<Expr> {
        let e = self.block("`(`")?;
        if !self.accept(&Tok::Colon) {
            return Ok(e);
        }
        let sig = self.signature()?;
        let span = e.span.to(sig.ty.span);
        Ok(Expr { kind: ExprKind::Ann(Box::new(e), sig), span })
    }

    fn array(&mut self, open: Span) -> Parse<Expr> {
        self.bump();
        self.free(|p| {
            let mut parts = Vec::new();
            while !p.is(&Tok::RBracket) {
                parts.push(p.expr()?);
                if !p.accept(&Tok::Comma) {
                    break;
                }
            }
            let span = open.to(p.close(&Tok::RBracket, open)?);
            Ok(Expr { kind: ExprKind::Array(parts), span })
        })
    }

    fn record(&mut self, open: Span) -> Parse<Expr> {
        self.bump();
        self.free(|p| {
            let punned = matches!(p.peek().tok, Tok::Ident(_) | Tok::Upper(_)) && matches!(p.peek_ahead(1), Tok::Equals | Tok::Comma | Tok::RBrace);
            let base = if punned || p.is(&Tok::RBrace) {
                None
            } else {
                let e = p.expr()?;
                p.expect(&Tok::Kw(Kw::With), "`with` (or a field and `=`)")?;
                Some(e)
            };
            let mut fields = Vec::new();
            while !p.is(&Tok::RBrace) {
                fields.push(p.record_field()?);
                if !p.accept(&Tok::Comma) {
                    break;
                }
            }
            let span = open.to(p.close(&Tok::RBrace, open)?);
            let kind = match base {
                Some(e) => ExprKind::Update(Box::new(e), fields),
                None => ExprKind::Record(fields),
            };
            Ok(Expr { kind, span })
        })
    }

    fn record_field(&mut self) -> Parse<(Ident, Expr)> {
        let name = self.field_name()?;
        let value = if self.accept(&Tok::Equals) { self.block("`=`")? } else { Expr { kind: ExprKind::Var(name.name), span: name.span } };
        Ok((name, value))
    }

    fn iverson(&mut self, open: Span) -> Parse<Expr> {
        self.bump();
        self.free(|p| {
            let e = p.expr()?;
            let span = open.to(p.close(&Tok::RIverson, open)?);
            Ok(Expr { kind: ExprKind::Iverson(Box::new(e)), span })
        })
    }

    fn fun(&mut self) -> Parse<ExprKind> {
        self.bump();
        let mut params = vec![self.pat_atom("a parameter after `fun`")?];
        while self.starts_pat_atom() {
            params.push(self.pat_atom("a parameter")?);
        }
        self.expect(&Tok::Arrow, "`->`")?;
        Ok(ExprKind::Fun(params, Box::new(self.block("`->`")?)))
    }

    fn lin(&mut self) -> Parse<ExprKind> {
        self.bump();
        let param = self.pat_atom("a parameter after `lin`")?;
        self.expect(&Tok::Arrow, "`->`")?;
        Ok(ExprKind::Lin(Box::new(param), Box::new(self.block("`->`")?)))
    }

    fn if_expr(&mut self) -> Parse<ExprKind> {
        self.bump();
        let cond = self.expr()?;
        if self.is(&Tok::Equals) {
            let span = self.raw().span;
            return self.fail(err::equals_for_compare(span));
        }
        self.expect(&Tok::Kw(Kw::Then), "`then`")?;
        let yes = self.block("`then`")?;
        let no = if self.accept(&Tok::Kw(Kw::Else)) { Some(Box::new(self.block("`else`")?)) } else { None };
        Ok(ExprKind::If(Box::new(cond), Box::new(yes), no))
    }

    fn match_expr(&mut self) -> Parse<ExprKind> {
        self.bump();
        let scrutinee = self.expr()?;
        self.expect(&Tok::Kw(Kw::With), "`with`")?;
        // Arms on lines of their own stand in one column; a bar further left belongs to an outer match.
        let column = if self.raw().first && self.is(&Tok::Bar) { Some(self.raw().col) } else { None };
        self.accept(&Tok::Bar);
        let mut arms = Vec::new();
        loop {
            arms.push(self.arm()?);
            let t = self.peek();
            let ours = t.tok == Tok::Bar && (!t.first || column.is_none_or(|c| t.col >= c));
            if !ours {
                break;
            }
            self.bump();
        }
        Ok(ExprKind::Match(Box::new(scrutinee), arms))
    }

    fn arm(&mut self) -> Parse<Arm> {
        let mut pat = self.pat()?;
        if self.is(&Tok::Comma) {
            pat = self.bare_tuple_pat(pat)?;
        }
        let guard = if self.accept(&Tok::Kw(Kw::When)) { Some(self.expr()?) } else { None };
        self.expect(&Tok::Arrow, "`->`")?;
        let body = self.block("`->`")?;
        Ok(Arm { pat, guard, body })
    }

    fn for_expr(&mut self) -> Parse<ExprKind> {
        self.bump();
        let mut vars = Vec::new();
        loop {
            let name = match self.peek().tok {
                Tok::Underscore => Ident { name: crate::symbol::Symbol::new("_"), span: self.bump().span },
                _ => self.ident("an index after `for`")?,
            };
            let bound = if self.accept(&Tok::Op(BinOp::Lt)) { Some(self.binary(ABOVE_COMPARISON)?) } else { None };
            vars.push(ForVar { name, bound });
            if !self.accept(&Tok::Comma) {
                break;
            }
        }
        self.expect(&Tok::Arrow, "`->`")?;
        Ok(ExprKind::For(vars, Box::new(self.block("`->`")?)))
    }

    fn loop_expr(&mut self) -> Parse<ExprKind> {
        self.bump();
        let pat = self.pat_atom("the loop's state after `loop`")?;
        self.expect(&Tok::Equals, "`=` and the state's first value")?;
        let outer = std::mem::replace(&mut self.no_for, true);
        let init = self.expr();
        self.no_for = outer;
        let init = init?;
        let kind = if self.accept(&Tok::Kw(Kw::For)) {
            let name = match self.peek().tok {
                Tok::Underscore => Ident { name: crate::symbol::Symbol::new("_"), span: self.bump().span },
                _ => self.ident("a counter after `for`")?,
            };
            self.expect(&Tok::Op(BinOp::Lt), "`<` and the number of rounds")?;
            LoopKind::For(name, Box::new(self.binary(ABOVE_COMPARISON)?))
        } else if self.accept(&Tok::Kw(Kw::While)) {
            LoopKind::While(Box::new(self.expr()?))
        } else {
            return self.expected("`for i < n do` or `while c do`");
        };
        self.expect(&Tok::Kw(Kw::Do), "`do`")?;
        let body = self.block("`do`")?;
        Ok(ExprKind::Loop(Box::new(pat), Box::new(init), kind, Box::new(body)))
    }
}

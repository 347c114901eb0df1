//! Top-level items.

use super::layout::Ctx;
use super::{Abandon, Parse, Parser};
use crate::ast::*;
use crate::errors::syntax as err;
use crate::span::Span;
use crate::token::{Kw, Tok};

impl Parser {
    pub(super) fn program(&mut self) -> Program {
        let mut items = Vec::new();
        // A cell that is indented as a whole reads as if it were not.
        let margin = self.toks.iter().filter(|t| t.first && t.tok != Tok::End).map(|t| t.col).min().unwrap_or(0);
        for t in &mut self.toks {
            t.col = t.col.saturating_sub(margin);
            t.indent = t.indent.saturating_sub(margin);
        }
        while self.raw().tok != Tok::End {
            if matches!(self.raw().tok, Tok::SemiSemi | Tok::Semi) {
                self.bump();
                continue;
            }
            items.push(self.item());
        }
        Program { items }
    }

    fn item(&mut self) -> Item {
        let (start, lo) = (self.pos, self.raw().span);
        let doc = self.raw().doc.clone();
        self.ctxs = vec![Ctx::Block { col: 0, base: 0, mid: false, start }];
        self.depth = 0;
        self.no_for = false;
        let kind = match self.item_kind().and_then(|k| self.item_end().map(|()| k)) {
            Ok(kind) => kind,
            Err(Abandon) => {
                self.skip_item(start);
                ItemKind::Error
            }
        };
        self.ctxs.clear();
        Item { kind, span: lo.to(self.prev_span()), doc }
    }

    /// After an item stands the next one, `;;` or the end.
    fn item_end(&mut self) -> Parse<()> {
        let t = self.raw();
        if t.tok == Tok::End || t.tok == Tok::SemiSemi || t.first && t.col == 0 && !t.tok.continues() {
            return Ok(());
        }
        if self.accept(&Tok::Semi) {
            return Ok(());
        }
        let (span, found) = self.found();
        let d = match self.raw().tok {
            Tok::Equals => err::equals_for_compare(span),
            _ => err::expected(span, "the end of this item", &found),
        };
        self.fail(d)
    }

    fn skip_item(&mut self, start: usize) {
        if self.pos == start {
            self.bump();
        }
        loop {
            let t = self.raw();
            if t.tok == Tok::End || t.tok == Tok::SemiSemi || t.first && t.col == 0 && !t.tok.continues() {
                return;
            }
            self.bump();
        }
    }

    fn item_kind(&mut self) -> Parse<ItemKind> {
        match self.peek().tok {
            Tok::Kw(Kw::Let) => self.top_let(),
            Tok::Kw(Kw::Type) => self.type_decls(),
            Tok::Kw(Kw::Import) => self.import(),
            Tok::Ident(name) if matches!(name.as_str(), "test" | "bench") && matches!(self.peek_ahead(1), Tok::Str(_)) => self.test_item(name.as_str()),
            Tok::Kw(Kw::Then | Kw::Else | Kw::In | Kw::With | Kw::And | Kw::Do | Kw::As | Kw::When | Kw::Rec)
            | Tok::RParen | Tok::RBracket | Tok::RBrace | Tok::Equals | Tok::Arrow | Tok::Comma => {
                let (span, found) = self.found();
                self.fail(err::bad_item(span, &found))
            }
            _ => self.statement_expr().map(ItemKind::Expr),
        }
    }

    /// An expression, or several joined by `;`.
    fn statement_expr(&mut self) -> Parse<Expr> {
        let first = self.expr()?;
        if !self.is(&Tok::Semi) {
            return Ok(first);
        }
        let lo = first.span;
        let mut stmts = vec![Stmt::Expr(first)];
        while self.accept(&Tok::Semi) && !matches!(self.peek().tok, Tok::End | Tok::SemiSemi) {
            stmts.push(Stmt::Expr(self.expr()?));
        }
        let hi = self.prev_span();
        Ok(match stmts.len() {
            1 => match stmts.remove(0) {
                Stmt::Expr(e) => e,
                Stmt::Let(..) => unreachable!("only expressions were pushed"),
            },
            _ => Expr { kind: ExprKind::Block(stmts), span: lo.to(hi) },
        })
    }

    fn top_let(&mut self) -> Parse<ItemKind> {
        let (group, span) = self.let_group()?;
        if !self.accept(&Tok::Kw(Kw::In)) {
            return Ok(ItemKind::Let(group));
        }
        let body = self.block("`in`")?;
        let whole = span.to(body.span);
        let mut stmts = vec![Stmt::Let(group, span)];
        match body.kind {
            ExprKind::Block(rest) => stmts.extend(rest),
            _ => stmts.push(Stmt::Expr(body)),
        }
        Ok(ItemKind::Expr(Expr { kind: ExprKind::Block(stmts), span: whole }))
    }

    /// `let [rec] b and b ...`.
    pub(super) fn let_group(&mut self) -> Parse<(LetGroup, Span)> {
        let lo = self.bump().span;
        let rec = self.accept(&Tok::Kw(Kw::Rec));
        let mut bindings = vec![self.binding()?];
        while self.accept(&Tok::Kw(Kw::And)) {
            self.accept(&Tok::Kw(Kw::Rec));
            bindings.push(self.binding()?);
        }
        Ok((LetGroup { rec, bindings }, lo.to(self.prev_span())))
    }

    fn binding(&mut self) -> Parse<Binding> {
        let lo = self.raw().span;
        let mut pat = self.pat_atom("a name or pattern after `let`")?;
        let mut params = Vec::new();
        if matches!(pat.kind, PatKind::Var(_)) {
            while self.starts_pat_atom() {
                params.push(self.pat_atom("a parameter")?);
            }
        }
        if params.is_empty() {
            pat = self.pat_rest(pat)?;
            if self.is(&Tok::Comma) {
                pat = self.bare_tuple_pat(pat)?;
            }
        }
        let sig = if self.accept(&Tok::Colon) { Some(self.signature()?) } else { None };
        self.expect(&Tok::Equals, "`=`")?;
        let body = self.block("`=`")?;
        let span = lo.to(body.span);
        Ok(Binding { pat, params, sig, body, span })
    }

    fn import(&mut self) -> Parse<ItemKind> {
        self.bump();
        let what = match self.peek().tok.clone() {
            Tok::Str(path) => ImportSource::File(path, self.bump().span),
            Tok::Ident(name) => ImportSource::Std(Ident { name, span: self.bump().span }),
            _ => return self.expected("a file name in quotes, or a standard module"),
        };
        let alias = if self.accept(&Tok::Kw(Kw::As)) { Some(self.upper("an upper-case name for the module")?) } else { None };
        if alias.is_none() && matches!(what, ImportSource::File(..)) {
            return self.expected("`as` and an upper-case name for the module");
        }
        Ok(ItemKind::Import { what, alias })
    }

    fn test_item(&mut self, word: &str) -> Parse<ItemKind> {
        self.bump();
        let Tok::Str(name) = self.bump().tok else { return self.expected("a name in quotes") };
        self.expect(&Tok::Equals, "`=`")?;
        let body = self.block("`=`")?;
        Ok(if word == "test" { ItemKind::Test { name, body } } else { ItemKind::Bench { name, body } })
    }

    fn type_decls(&mut self) -> Parse<ItemKind> {
        self.bump();
        let mut decls = vec![self.type_decl()?];
        while self.accept(&Tok::Kw(Kw::And)) {
            decls.push(self.type_decl()?);
        }
        Ok(ItemKind::Types(decls))
    }

    fn type_decl(&mut self) -> Parse<TypeDecl> {
        let alias = matches!(self.peek().tok, Tok::Ident(n) if n.as_str() == "alias");
        if alias {
            self.bump();
        }
        let name = self.upper("the type's name (upper case)")?;
        let mut params = Vec::new();
        while let Tok::Ident(_) = self.peek().tok {
            params.push(self.ident("a type parameter")?);
        }
        self.expect(&Tok::Equals, "`=`")?;
        let body = if alias { TypeBody::Alias(self.ty()?) } else { self.sum_body()? };
        Ok(TypeDecl { name, params, body, span: name.span.to(self.prev_span()) })
    }

    fn sum_body(&mut self) -> Parse<TypeBody> {
        self.accept(&Tok::Bar);
        if !matches!(self.peek().tok, Tok::Upper(_)) {
            let (span, found) = self.found();
            let d = err::expected(span, "a constructor (upper case)", &found).hint("for another name of a type write `type alias`");
            return self.fail(d);
        }
        let mut cons = Vec::new();
        loop {
            let name = self.upper("a constructor (upper case)")?;
            let mut fields = Vec::new();
            while self.starts_type_atom() {
                fields.push(self.type_atom()?);
            }
            cons.push(ConDecl { name, fields, span: name.span.to(self.prev_span()) });
            if !self.accept(&Tok::Bar) {
                return Ok(TypeBody::Sum(cons));
            }
        }
    }
}

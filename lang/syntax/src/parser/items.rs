//! Top-level items, and the bindings of `let`.

use super::Parser;
use super::blocks::{Semi, replace_by_error, spoil_bindings};
use crate::ast::{
    Binding, ConDecl, Expr, ExprKind, Ident, ImportSource, Item, ItemKind, LetGroup, Pat, PatKind, Program, Stmt,
    TypeBody, TypeDecl,
};
use crate::errors::{foreign_syntax, items as errors, layout as layout_errors};
use crate::span::Span;
use crate::token::{CommentKind, Kw, P, Tok, Token};

impl Parser<'_> {
    pub(super) fn program(&mut self) -> Program {
        let mut items = Vec::new();
        while self.raw().tok != Tok::End {
            if self.raw().tok == Tok::P(P::SemiSemi) {
                self.pos += 1;
                continue;
            }
            crate::stop::poll();
            let (before, said) = (self.pos, self.diagnostics.len());
            let mut item = self.item();
            self.expect_end();
            match self.foreign_definition(before, said) {
                Some(kind) => item.kind = kind,
                None if self.panic => {
                    spoil_item(&mut item.kind);
                    self.hint_foreign_word(before);
                }
                None => {}
            }
            items.push(item);
            self.end_item(before);
            self.entry_start = self.raw().lo;
        }
        Program { items }
    }

    /// Skips the rest of a broken item.
    fn end_item(&mut self, start: usize) {
        while self.panic {
            let (token, next) = (self.raw(), self.raw_at(1));
            let at_next = self.pos > start && self.layout.begins_item(&token, &next);
            if at_next || matches!(token.tok, Tok::End | Tok::P(P::SemiSemi)) {
                self.panic = false;
            } else {
                self.pos += 1;
            }
        }
        if self.pos == start {
            self.pos += 1;
        }
    }

    fn item(&mut self) -> Item {
        // The first token of an item is visible in any column.
        self.show_next();
        let first = self.raw();
        let (start, doc) = (self.span_of(&first), self.doc_above(&first));
        let kind = self.deeper(|parser| match parser.peek() {
            Tok::Kw(Kw::Let) => parser.let_item(),
            Tok::Kw(Kw::Type) => parser.type_item(),
            Tok::Kw(Kw::Import) => parser.import_item(),
            Tok::Ident(word) => match parser.named_item(word.as_str()) {
                Some(kind) => kind,
                None if parser.foreign_declaration() || parser.foreign_type() => ItemKind::Error,
                None if parser.signature_alone() => {
                    let at = parser.here();
                    parser.fail(foreign_syntax::signature_alone(at));
                    ItemKind::Error
                }
                None if parser.is_missing_let() => ItemKind::Let(parser.definition_without_let(Semi::Ours)),
                None => parser.expression_item(),
            },
            _ if parser.starts_expression() => parser.expression_item(),
            _ => parser.no_item(),
        });
        let broken = self.panic && self.pos > 0 && self.previous_span().lo < start.lo;
        let span = self.since(start);
        let kind = if broken { ItemKind::Error } else { self.replace_values_by_errors(kind, span) };
        Item { kind, span, doc }
    }

    /// An item in which the lexer skipped something is not what was intended. Its names are kept and their values
    /// become errors, so that later passes do not report them again.
    fn replace_values_by_errors(&self, kind: ItemKind, span: Span) -> ItemKind {
        let inside = |at: Span| span.lo <= at.lo && at.lo <= span.hi;
        let skipped = |code: &str| matches!(code, "E0101" | "E0102" | "E0103" | "E0105" | "E0108");
        if !self.lexical_errors.iter().any(|(code, at)| skipped(code) && inside(*at)) {
            return kind;
        }
        let error = || Expr { kind: ExprKind::Error, span };
        match kind {
            ItemKind::Let(mut group) => {
                group.bindings.iter_mut().for_each(|b| b.body = error());
                ItemKind::Let(group)
            }
            ItemKind::Test { name, .. } => ItemKind::Test { name, body: error() },
            ItemKind::Bench { name, .. } => ItemKind::Bench { name, body: error() },
            ItemKind::Expr(_) => ItemKind::Expr(error()),
            ItemKind::Types(_) | ItemKind::Import { .. } | ItemKind::Error => kind,
        }
    }

    /// The `--|` lines directly above `first`.
    fn doc_above(&self, first: &Token) -> Option<String> {
        let after = self.previous().map_or(0, |t| t.hi);
        let comments = &self.lexed.comments;
        let end = comments.partition_point(|c| c.span.lo < first.lo);
        let mut lines = Vec::new();
        let mut below = first.lo;
        for comment in comments[..end].iter().rev() {
            let between = self.text.get(comment.span.hi as usize..below as usize).unwrap_or("");
            let adjacent = between.trim().is_empty() && between.matches('\n').count() <= 1;
            if comment.kind != CommentKind::Doc || comment.span.lo < after || !comment.own_line || !adjacent {
                break;
            }
            let text = self.source(comment.span);
            let text = text.strip_prefix("--|").unwrap_or(text);
            lines.push(text.strip_prefix(' ').unwrap_or(text));
            below = comment.span.lo;
        }
        lines.reverse();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn no_item(&mut self) -> ItemKind {
        let (token, found) = (self.raw(), self.found());
        let at = self.span_of(&token);
        match token.tok {
            Tok::P(p) if p.closes() => self.fail(layout_errors::unmatched(at, p.text())),
            Tok::P(P::StarStar | P::ColonEq | P::LtGt | P::Amp | P::Dollar) => {
                self.expr();
            }
            Tok::Kw(Kw::While) => {
                self.expr();
            }
            Tok::P(P::Dot) if matches!(self.raw_at(1).tok, Tok::Int(_)) => {
                self.expr();
            }
            Tok::P(P::At) => self.fail(foreign_syntax::decorator(at)),
            _ => self.fail(errors::no_item(at, &found)),
        }
        ItemKind::Error
    }

    /// An expression evaluated for its effect, or several as `e1; e2`.
    fn expression_item(&mut self) -> ItemKind {
        let first = self.raw();
        ItemKind::Expr(self.entries(&first, Semi::Ours))
    }

    fn let_item(&mut self) -> ItemKind {
        let start = self.bump();
        let group = self.let_group(Semi::Ours);
        if !self.at_kw(Kw::In) {
            return ItemKind::Let(group);
        }
        let span = self.since(start);
        self.bump();
        if self.body_left_of_item() {
            return ItemKind::Let(group);
        }
        let mut stmts = vec![Stmt::Let(group, span)];
        let body = self.block();
        match body.kind {
            ExprKind::Block(more) => stmts.extend(more),
            _ => stmts.push(Stmt::Expr(body)),
        }
        ItemKind::Expr(Expr { kind: ExprKind::Block(stmts), span: self.since(start) })
    }

    /// Called after the `in` of an item. If the body is in the items' column, reports it and makes the definitions and
    /// the body separate items.
    fn body_left_of_item(&mut self) -> bool {
        let next = self.raw();
        if self.peek() != Tok::End || !next.line_start || matches!(next.tok, Tok::End | Tok::P(_)) {
            return false;
        }
        let at = self.previous_span();
        self.report(layout_errors::in_before_item(at));
        true
    }

    /// `test "name" = e` and `bench "name" = e`. Elsewhere these words are ordinary names.
    fn named_item(&mut self, word: &str) -> Option<ItemKind> {
        let Tok::Str(id) = self.raw_at(1).tok else { return None };
        if !matches!(word, "test" | "bench") || self.raw_at(2).tok != Tok::P(P::Eq) {
            return None;
        }
        for _ in 0..3 {
            self.bump();
        }
        let (name, body) = (self.string(id), self.block());
        Some(if word == "test" { ItemKind::Test { name, body } } else { ItemKind::Bench { name, body } })
    }

    fn import_item(&mut self) -> ItemKind {
        self.bump();
        let what = match self.peek() {
            Tok::Str(id) => ImportSource::File(self.string(id), self.bump()),
            Tok::Ident(name) => ImportSource::Std(Ident { name, span: self.bump() }),
            _ => {
                self.wanted("E0110", "a file's path in quotes or a module's name");
                return ItemKind::Error;
            }
        };
        let alias = if self.eat_kw(Kw::As) { self.module_name(&what) } else { None };
        if alias.is_none() && matches!(what, ImportSource::File(..)) && !self.panic {
            let at = self.previous_span();
            self.fail(errors::import_alias(at));
            return ItemKind::Error;
        }
        ItemKind::Import { what, alias }
    }

    fn module_name(&mut self, what: &ImportSource) -> Option<Ident> {
        match (self.peek(), what) {
            (Tok::Con(name), _) | (Tok::Ident(name), ImportSource::Std(_)) => Some(Ident { name, span: self.bump() }),
            _ => {
                self.wanted("E0110", "an upper-case module name");
                None
            }
        }
    }

    // let

    /// The bindings after `let`.
    pub(super) fn let_group(&mut self, semi: Semi) -> LetGroup {
        let rec = self.eat_kw(Kw::Rec);
        self.foreign_modifier();
        let mut bindings = vec![self.binding(semi)];
        while self.at_kw(Kw::And) {
            let at = self.bump();
            if self.and_is_logical() {
                self.fail(foreign_syntax::foreign_operator(at, "and"));
                break;
            }
            bindings.push(self.binding(semi));
        }
        LetGroup { rec, bindings }
    }

    fn binding(&mut self, semi: Semi) -> Binding {
        let start = self.here();
        let (pat, params) = self.left_side();
        let sig = if self.eat(P::Colon) || self.doubled_colon() { Some(self.signature()) } else { None };
        if sig.is_some() && self.hidden(0) && self.raw().tok != Tok::End {
            let at = self.since(start);
            self.fail(foreign_syntax::signature_alone(at));
        }
        let body = if self.expect(P::Eq) { self.deeper(|p| p.block_with(semi)) } else { self.error_expr() };
        Binding { pat, params, sig, body, span: self.since(start) }
    }

    /// `f p1 p2` or a pattern.
    pub(super) fn left_side(&mut self) -> (Pat, Vec<Pat>) {
        let Tok::Ident(name) = self.peek() else { return (self.pattern_with_commas(), Vec::new()) };
        if !self.signature_by_cons(1)
            && matches!(self.visible(1), Tok::P(P::Cons | P::Comma | P::Bar) | Tok::Kw(Kw::As))
        {
            return (self.pattern_with_commas(), Vec::new());
        }
        let pat = Pat { kind: PatKind::Var(name), span: self.bump() };
        let mut params = Vec::new();
        while self.starts_pattern_atom() {
            params.push(self.pattern_atom());
        }
        (pat, params)
    }

    // type

    fn type_item(&mut self) -> ItemKind {
        self.bump();
        let mut decls = vec![self.type_decl()];
        while self.eat_kw(Kw::And) {
            decls.push(self.type_decl());
        }
        match self.panic && decls.len() == 1 && decls[0].name.name.as_str() == "_" {
            true => ItemKind::Error,
            false => ItemKind::Types(decls),
        }
    }

    fn type_decl(&mut self) -> TypeDecl {
        let start = self.here();
        let alias = matches!(self.peek(), Tok::Ident(word) if word.as_str() == "alias");
        if alias {
            self.bump();
        }
        let name = match self.peek() {
            Tok::Con(name) => Ident { name, span: self.bump() },
            Tok::Ident(name) => {
                let span = self.bump();
                if !self.follows_lexical_error() {
                    self.report(errors::lower_case_declaration(span, name.as_str()));
                }
                Ident { name, span }
            }
            _ => {
                self.wanted("E0110", "the type's name (upper-case)");
                self.no_name()
            }
        };
        let mut params = Vec::new();
        while let Tok::Ident(name) = self.peek() {
            params.push(Ident { name, span: self.bump() });
        }
        self.expect(P::Eq);
        let body = match alias || self.missing_alias(name) {
            true => TypeBody::Alias(self.ty()),
            false => TypeBody::Sum(self.constructors(name)),
        };
        TypeDecl { name, params, body, span: self.since(start) }
    }

    /// `type Point = {x : Float}`: the missing `alias` is reported and assumed, so that uses of the type are not
    /// errors.
    fn missing_alias(&mut self, declared: Ident) -> bool {
        let forgotten = !self.panic && !matches!(self.peek(), Tok::Con(_) | Tok::Ident(_)) && self.starts_type_atom();
        if forgotten {
            let at = self.here();
            self.report(errors::type_without_constructor(at, declared.name.as_str(), declared.span));
        }
        forgotten
    }

    fn constructors(&mut self, declared: Ident) -> Vec<ConDecl> {
        self.eat(P::Bar);
        let mut all = Vec::new();
        while let Some(constructor) = self.constructor(declared) {
            all.push(constructor);
            if !self.eat(P::Bar) {
                break;
            }
        }
        all
    }

    fn constructor(&mut self, declared: Ident) -> Option<ConDecl> {
        let Tok::Con(name) = self.peek() else {
            let at = self.here();
            match self.starts_type_atom() {
                true => self.fail(errors::type_without_constructor(at, declared.name.as_str(), declared.span)),
                false => self.wanted("E0110", "a constructor (upper-case)"),
            }
            return None;
        };
        let name = Ident { name, span: self.bump() };
        if let Tok::Ident(of) = self.peek()
            && Self::is_of(of)
        {
            let at = self.bump();
            self.report(errors::of_in_constructor(at));
        }
        let mut fields = Vec::new();
        while self.starts_type_atom() {
            fields.push(self.type_atom());
            if self.at(P::Star) && !self.panic {
                let at = self.bump();
                self.report(errors::product_in_constructor(at));
            }
        }
        Some(ConDecl { name, fields, span: self.since(name.span) })
    }
}

fn spoil_item(kind: &mut ItemKind) {
    match kind {
        ItemKind::Let(group) => spoil_bindings(group),
        ItemKind::Test { body, .. } | ItemKind::Bench { body, .. } | ItemKind::Expr(body) => replace_by_error(body),
        ItemKind::Types(_) | ItemKind::Import { .. } | ItemKind::Error => {}
    }
}

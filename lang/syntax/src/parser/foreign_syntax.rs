//! Foreign syntax at the level of words and operators. It is recognised so that the error names the adl form, and so
//! that the rest is parsed as intended.

use super::Parser;
use super::blocks::Semi;
use super::control::{ARROW_OF_FOR, HEAD_OF_LOOP};
use super::expressions::starts_atom;
use crate::ast::{Binding, Expr, ExprKind, ItemKind, LetGroup, Pat, PatKind};
use crate::diag::Diagnostic;
use crate::errors::{expressions as errors, foreign_syntax};
use crate::limits::parser_foreign_syntax::LOOK_AHEAD;
use crate::span::Span;
use crate::token::{Kw, P, Tok};

/// The hint for a condition on the elements of a comprehension.
const MASKED: &str = "elements are selected by a mask, `for x in xs[xs .> 0.0] -> ...`, or by `filter`; a term is left out of a sum by `[| p |] * e`";

impl Parser<'_> {
    /// A hint for a word of another language directly before the error.
    pub(super) fn foreign_word_here(&self) -> Option<&'static str> {
        let last = (self.pos + 1).min(self.lexed.tokens.len());
        let first = last.saturating_sub(40);
        let words = (first..last).rev().take_while(|i| self.lexed.tokens[*i].lo >= self.entry_start);
        let mut telling = words.filter_map(|i| match self.lexed.tokens[i].tok {
            Tok::Ident(name) if foreign_syntax::is_unlikely_name(name.as_str()) => {
                let next = self.lexed.tokens.get(i + 1).map_or(Tok::End, |t| t.tok);
                (starts_atom(next) || next == Tok::P(P::Bar)).then(|| foreign_syntax::word(name.as_str()))?
            }
            _ => None,
        });
        telling.next()
    }

    /// A hint if `what` was expected and `found` is there.
    pub(super) fn hint_for_unwanted(&self, code: &str, what: &str, found: &str) -> Option<String> {
        let tok = self.raw().tok;
        let names =
            matches!(code, "E0128") || matches!(what, "a parameter" | "a name" | "a field's name" | "`=`" | "`->`");
        match (tok, what) {
            (Tok::Kw(Kw::And), _) => foreign_syntax::stray_sign("and").map(str::to_owned),
            (Tok::Kw(Kw::Do), ARROW_OF_FOR) => Some("`for i < n -> e` builds an array; `do` belongs to loops: `loop x = start for i < n do next`, or `loop u = () for i < n do print i` for what it does".to_owned()),
            (Tok::P(p), ARROW_OF_FOR) if p.closes() => Some("a comprehension begins with its `for`: `for x in xs -> f x` for all `f x`, `sum for x in xs -> f x` for their sum".to_owned()),
            (Tok::P(P::Colon | P::LBrace), ARROW_OF_FOR) => Some("`for x in xs -> e` builds an array; what changes from step to step is a `loop s = start for x in xs do ...`".to_owned()),
            (Tok::Kw(Kw::If), ARROW_OF_FOR) => Some(MASKED.to_owned()),
            (Tok::P(p), "`then`") if p.closes() && self.in_generator() => Some(MASKED.to_owned()),
            (Tok::P(P::Lt), "`in`") => Some("each index has its own bound: `for i < n, j < m -> ...`".to_owned()),
            (Tok::Kw(Kw::With | Kw::Then | Kw::Else | Kw::Do | Kw::In), "`=`" | "`->`") => None,
            (Tok::Kw(Kw::With), _) => Some(format!("a record is changed in part by `{{r with x = ...}}`; {}", foreign_syntax::ELEMENT)),
            (_, "`->`") if matches!(self.previous().map(|t| t.tok), Some(Tok::Ident(w)) if w.as_str() == "case") => Some("a case is written `| pattern -> value`".to_owned()),
            (Tok::Kw(Kw::If), "`->`") => Some("a guard is written with `when`: `| n when n > 0 -> ...`".to_owned()),
            (Tok::Kw(kw), _) if names => Some(foreign_syntax::reserved(kw)),
            (Tok::P(P::Eq), "an expression" | "a pattern") => match self.previous()?.tok {
                Tok::Kw(kw) => Some(foreign_syntax::reserved(kw)),
                _ => None,
            },
            (Tok::P(P::Colon | P::LBrace) | Tok::Kw(Kw::Else), "`then`") => Some("a choice is written `if c then a else b`".to_owned()),
            (Tok::P(P::ColonEq), "`=`") => Some("a name is defined with `=`".to_owned()),
            (Tok::P(P::EqEq), "`=`") => Some("`==` compares; a name is defined with `=`".to_owned()),
            (Tok::P(P::Eq), "`->`") => Some("a function without a name is `fun x -> ...`; with one, `let f x = ...`".to_owned()),
            (Tok::P(P::Colon | P::FatArrow | P::LBrace | P::Plus | P::Minus | P::Star |
P::Slash) | Tok::Ident(_), "`->`") => Some("a function is written `fun x -> ...`".to_owned()),
            (Tok::Con(name), super::types::SIZE) => Some(format!("an array of these is written `[]{name}`")),
            (Tok::P(P::LBracket), super::types::SIZE) => Some("an array of arrays is written `[][]Float`".to_owned()),
            (Tok::P(P::Bar), what) if what.contains("`]`") => Some("an array is built with `for i < n -> ...`, one from the elements of another with `for x in xs -> ...`".to_owned()),
            (Tok::P(P::FatArrow | P::Arrow | P::Colon), "`with`") => Some("write `match e with | pattern -> ...`".to_owned()),
            (Tok::P(P::Arrow), "`=`") if matches!(self.raw_at(1).tok, Tok::Con(_) | Tok::P(P::LBracket)) => {
                Some("the type of the result follows a `:`, as in `let f (x : Float) : Float = ...`".to_owned())
            }
            (Tok::P(P::FatArrow | P::Arrow), "`=`") => Some("the body of a definition follows `=`; an arrow follows `fun x`".to_owned()),
            (Tok::Kw(Kw::Do), "an expression") => Some("a block needs no `do`: its lines stand in one column".to_owned()),
            (Tok::P(P::Bar), "`with`") if self.in_braces() => Some("a record is changed in part by `{r with x = ...}`".to_owned()),
            (Tok::P(P::DotDot), "an expression") if self.previous().is_some_and(|t| t.tok == Tok::P(P::LBrace)) => {
                Some("a record is changed in part by `{r with x = ...}`".to_owned())
            }
            (Tok::P(P::RBrace), "`with`") => Some("braces hold records, as in `{x = e}`; a block is indented".to_owned()),
            (_, "`do`") => Some("write `loop x = start for i < n do next`, or `loop x = start while c do next`".to_owned()),
            (Tok::P(P::Comma), HEAD_OF_LOOP) => {
                Some("several values are carried as a tuple: `loop (x, y) = (a, b) for i < n do ...`".to_owned())
            }
            (Tok::Kw(kw), "an expression") if self.raw_at(1).tok == Tok::P(P::Eq) => Some(foreign_syntax::reserved(kw)),
            (_, "an expression") => foreign_syntax::stray_sign(found.trim_matches('`')).map(str::to_owned),
            _ => None,
        }
    }

    /// Fails at what other languages write in the place of `<` or `in`.
    pub(super) fn foreign_generator(&mut self) {
        let at = self.here();
        match self.peek() {
            Tok::P(P::Lt) if self.at_left_arrow() => {
                let at = Span { hi: self.span_of(&self.raw_at(1)).hi, ..at };
                self.fail(foreign_syntax::elements_of(at, "<-"));
            }
            Tok::Ident(of) if of.as_str() == "of" => self.fail(foreign_syntax::elements_of(at, "of")),
            Tok::P(P::Colon) => self.fail(foreign_syntax::elements_of(at, ":")),
            Tok::P(p @ (P::Le | P::Gt | P::Ge | P::Eq)) => self.fail(errors::for_bound(at, p.text())),
            _ => {}
        }
    }

    /// `(x in xs)`, `(int i = 0; ...)`: the head of a `for` in parentheses.
    pub(super) fn at_foreign_head(&self) -> bool {
        self.at(P::LParen)
            && matches!(
                (self.raw_at(1).tok, self.raw_at(2).tok),
                (Tok::Kw(Kw::Let), _)
                    | (Tok::Ident(_), Tok::Ident(_) | Tok::Kw(Kw::In) | Tok::P(P::Eq | P::Lt | P::Le))
            )
    }

    /// The sign of `0..n` or `1:n` after the source of a generator.
    pub(super) fn range_sign(&self, source: &Expr) -> Option<&'static str> {
        match self.peek() {
            Tok::P(P::DotDot) => Some(".."),
            Tok::P(P::Colon) if matches!(source.kind, ExprKind::Lit(_)) => Some(":"),
            _ => None,
        }
    }

    /// Whether the entry up to here has a `for` with an `in` after it.
    fn in_generator(&self) -> bool {
        let entry = self.lexed.tokens[..self.pos].iter().rev().take(40).take_while(|t| t.lo >= self.entry_start);
        let mut words = entry.filter(|t| matches!(t.tok, Tok::Kw(Kw::For | Kw::In)));
        words.next().is_some_and(|t| t.tok == Tok::Kw(Kw::In))
            && words.next().is_some_and(|t| t.tok == Tok::Kw(Kw::For))
    }

    /// `x <- e`: a `<` directly followed by a minus and white space.
    pub(super) fn at_left_arrow(&self) -> bool {
        let (minus, next) = (self.raw_at(1), self.raw_at(2));
        self.at(P::Lt) && minus.tok == Tok::P(P::Minus) && !minus.space_before && next.space_before
    }

    /// Parses the rest of `x := e`, `x <- e` or `x += e`, whose operator has `signs` more tokens.
    pub(super) fn assignment(&mut self, left: &Expr, signs: usize) -> Expr {
        let start = self.here();
        for _ in 0..signs {
            self.bump();
        }
        let at = self.since(start);
        self.report_assignment(at, left);
        let right = self.expr();
        Expr { kind: ExprKind::Error, span: left.span.to(right.span) }
    }

    pub(super) fn report_assignment(&mut self, at: Span, left: &Expr) {
        let sign = self.source(at);
        self.report(match left.kind {
            ExprKind::Index(..) => foreign_syntax::element_assignment(at, sign),
            _ => foreign_syntax::foreign_operator(at, sign),
        });
    }

    /// The number of tokens of an assignment operator that comes next: `:=`, `<-` or `+=`.
    pub(super) fn assignment_sign(&self) -> Option<usize> {
        let next = self.raw_at(1);
        match self.peek() {
            Tok::P(P::ColonEq) => Some(1),
            Tok::P(P::Lt) if self.at_left_arrow() => Some(2),
            Tok::P(P::Plus | P::Minus | P::Star | P::Slash) if next.tok == Tok::P(P::Eq) && !next.space_before => {
                Some(2)
            }
            _ => None,
        }
    }

    /// Whether the entry here is `x = e` or `f x y = e`, a definition without `let`.
    pub(super) fn is_missing_let(&self) -> bool {
        if !matches!(self.peek(), Tok::Ident(_)) {
            return false;
        }
        let mut open = 0usize;
        for ahead in 1..LOOK_AHEAD {
            let token = self.raw_at(ahead);
            if token.line_start {
                return false;
            }
            match token.tok {
                Tok::P(P::Eq | P::ColonEq) if open == 0 => return true,
                Tok::P(P::LBracket) if !token.space_before => return false,
                Tok::P(p) if p.opens() => open += 1,
                Tok::P(p) if p.closes() && open == 0 => return false,
                Tok::P(p) if p.closes() => open -= 1,
                // A definition after `where` is handled separately.
                Tok::Ident(word) if word.as_str() == "where" => return false,
                Tok::Ident(_) | Tok::Con(_) | Tok::Underscore => {}
                Tok::P(P::Colon) => {}
                _ if open > 0 => {}
                _ => return false,
            }
        }
        false
    }

    /// Parses a definition without `let`, or with another keyword in its place.
    pub(super) fn definition_without_let(&mut self, semi: Semi) -> LetGroup {
        let foreign = match (self.raw().tok, self.raw_at(1).tok) {
            (Tok::Ident(word), Tok::Ident(_)) => foreign_syntax::defines(word.as_str()),
            _ => false,
        };
        if foreign {
            let at = self.bump();
            self.report(foreign_syntax::foreign_definition(at, self.source(at)));
        }
        let start = self.here();
        let (pat, params) = self.left_side();
        let sig = if self.eat(P::Colon) { Some(self.signature()) } else { None };
        let body = match self.peek() {
            Tok::P(P::Eq | P::ColonEq) => {
                let at = self.bump();
                if !foreign {
                    self.report(match self.source(at) {
                        "=" => {
                            let left = self.left_of_equals(start, at);
                            let d = errors::equals_in_expression(at, left);
                            // The hint omits keywords of other languages.
                            let plain = left
                                .is_some_and(|l| d.hint.as_ref().is_some_and(|h| h.contains(&format!("let {l} ="))));
                            if plain { d.fix(Span { hi: start.lo, ..start }, "let ") } else { d }
                        }
                        sign => foreign_syntax::foreign_operator(at, sign),
                    });
                }
                self.deeper(|p| p.block_with(semi))
            }
            _ => {
                self.wanted("E0110", "`=`");
                self.error_expr()
            }
        };
        LetGroup { rec: false, bindings: vec![Binding { pat, params, sig, body, span: self.since(start) }] }
    }

    /// The text of the left side that began at `start`, if it is short.
    fn left_of_equals(&self, start: Span, equals: Span) -> Option<&str> {
        let left = self.text.get(start.lo as usize..equals.lo as usize)?.trim_end();
        (left.len() < 40 && !left.contains('\n')).then_some(left)
    }

    /// Consumes the `mut` of `let mut x = ...`.
    pub(super) fn foreign_modifier(&mut self) {
        let (word, name, next) = (self.raw(), self.raw_at(1), self.raw_at(2));
        let Tok::Ident(text) = word.tok else { return };
        let plain = matches!(next.tok, Tok::P(P::Eq | P::Colon));
        if matches!(text.as_str(), "mut" | "mutable") && matches!(name.tok, Tok::Ident(_)) && plain && !name.line_start
        {
            let at = self.bump();
            self.report(foreign_syntax::foreign_modifier(at, text.as_str()));
        }
    }

    /// `@jit` on its own line above a `let`; otherwise `@` would be an operator that continues the line above.
    fn at_decorator(&self) -> bool {
        let (at, name, next) = (self.raw(), self.raw_at(1), self.raw_at(2));
        let word = matches!(name.tok, Tok::Ident(_)) && !name.space_before && !name.line_start;
        at.tok == Tok::P(P::At) && at.line_start && word && next.line_start && next.tok == Tok::Kw(Kw::Let)
    }

    /// Reports a decorator here, if there is one.
    pub(super) fn decorator(&mut self) -> bool {
        if self.at_decorator() {
            let at = self.here().to(self.span_of(&self.raw_at(1)));
            self.fail(foreign_syntax::decorator(at));
            return true;
        }
        false
    }

    /// Whether `:` or `::` here separates a name from a signature on a line of its own.
    pub(super) fn signature_alone(&self) -> bool {
        let sign = self.raw_at(1);
        matches!(self.raw().tok, Tok::Ident(_))
            && matches!(sign.tok, Tok::P(P::Colon | P::Cons))
            && !sign.line_start
            && {
                let line = (2..LOOK_AHEAD).map(|i| self.raw_at(i)).take_while(|t| !t.line_start && t.tok != Tok::End);
                let mut arrow = false;
                let types = line.map(|t| {
                    arrow |= t.tok == Tok::P(P::Arrow);
                    matches!(t.tok, Tok::Ident(_) | Tok::Con(_) | Tok::Underscore | Tok::Int(_) | Tok::P(_))
                        && t.tok != Tok::P(P::Eq)
                });
                types.fold(true, |all, one| all & one) && arrow
            }
    }

    /// An item `def f(x): ...`: reports one error, and binds the name for the rest of the file.
    pub(super) fn foreign_definition(&mut self, start: usize, said: usize) -> Option<ItemKind> {
        let at = |i: usize| self.lexed.tokens.get(start + i).copied();
        let (word, name, next) = (at(0)?, at(1)?, at(2)?);
        let (Tok::Ident(text), Tok::Ident(defined)) = (word.tok, name.tok) else { return None };
        let parameters =
            next.tok == Tok::P(P::LParen) && !next.space_before && !matches!(text.as_str(), "val" | "const");
        if !foreign_syntax::defines(text.as_str()) || name.line_start || !(self.panic || parameters) {
            return None;
        }
        let (at, span) = (self.span_of(&word), self.span_of(&name));
        self.diagnostics.truncate(said);
        self.broken = true;
        self.diagnostics.push(foreign_syntax::foreign_definition(at, text.as_str()));
        let pat = Pat { kind: PatKind::Var(defined), span };
        let body = Expr { kind: ExprKind::Error, span };
        Some(ItemKind::Let(LetGroup {
            rec: false,
            bindings: vec![Binding { pat, params: Vec::new(), sig: None, body, span }],
        }))
    }

    /// `module M`, `data T` and other declarations that adl lacks.
    pub(super) fn foreign_declaration(&mut self) -> bool {
        let (word, name) = (self.raw(), self.raw_at(1));
        let Tok::Ident(text) = word.tok else { return false };
        let declares = foreign_syntax::declares(text.as_str()) && matches!(name.tok, Tok::Con(_)) && !name.line_start;
        let follows = self.raw_at(2).tok;
        if declares && !starts_atom(follows) && follows != Tok::End {
            self.fail(foreign_syntax::foreign_definition(self.span_of(&word), text.as_str()));
        }
        self.panic
    }

    /// A `.` in place of an operand: `+.` of OCaml, or `.5`.
    pub(super) fn stray_point(&mut self) -> Option<Expr> {
        let (point, next) = (self.raw(), self.raw_at(1));
        let at = self.span_of(&point);
        if let (Tok::Int(_), false) = (next.tok, next.space_before) {
            self.bump();
            let digits = self.bump();
            self.report(errors::number_without_zero(at.to(digits), self.source(digits)));
            return Some(Expr { kind: ExprKind::Error, span: at.to(digits) });
        }
        if !self.operator_before() {
            return None;
        }
        let sign = self.previous_span().to(at);
        self.report(foreign_syntax::foreign_operator(sign, self.source(sign)));
        self.bump();
        Some(self.operand())
    }

    /// A hint for a broken item that begins with `return`, `open` and the like.
    pub(super) fn hint_foreign_word(&mut self, start: usize) {
        let Tok::Ident(word) = self.lexed.tokens[start].tok else { return };
        let lo = self.lexed.tokens[start].lo;
        if let (true, Some(hint)) = (self.panic, foreign_syntax::word(word.as_str()))
            && let Some(last) = self.diagnostics.last_mut().filter(|d| d.primary.span.lo >= lo)
        {
            last.hint = Some(hint.to_owned());
        }
    }

    /// `@@` and `^^`: the second of two adjacent operators.
    pub(super) fn doubled_operator(&mut self) -> bool {
        let same = self.previous().is_some_and(|t| t.tok == self.raw().tok) && !self.raw().space_before;
        if same && matches!(self.peek(), Tok::P(P::At | P::Caret)) {
            let at = self.previous_span().to(self.here());
            self.fail(foreign_syntax::foreign_operator(at, self.source(at)));
        }
        self.panic
    }

    /// `===`, `!==`, `<<`, `+++`: an operator directly after the one that was just read.
    pub(super) fn doubled_sign(&self) -> bool {
        let before = self.previous().map(|t| t.tok);
        !self.raw().space_before
            && matches!(
                (before, self.raw().tok),
                (Some(Tok::P(P::EqEq | P::Ne)), Tok::P(P::Eq)) | (Some(Tok::P(P::Lt)), Tok::P(P::Lt))
            )
    }

    /// `x++` at the end of an entry.
    pub(super) fn at_increment(&self) -> bool {
        let plus = self.previous().is_some_and(|t| t.tok == Tok::P(P::Append) && !t.space_before);
        plus && (self.hidden(0) || matches!(self.raw().tok, Tok::P(P::Semi | P::RParen)))
    }

    /// An earlier `//` on this line that looks like the start of a comment because words follow it.
    pub(super) fn slashes_before(&self) -> Option<Span> {
        let last = self.pos.min(self.lexed.tokens.len() - 1);
        let word = |i: usize| {
            self.lexed.tokens.get(i).is_some_and(|t| matches!(t.tok, Tok::Ident(_) | Tok::Con(_)) && !t.line_start)
        };
        for i in (last.saturating_sub(LOOK_AHEAD)..=last).rev() {
            let token = self.lexed.tokens[i];
            if token.tok == Tok::P(P::SlashSlash) && word(i + 1) && word(i + 2) {
                return Some(self.span_of(&token));
            }
            if token.line_start {
                break;
            }
        }
        None
    }

    /// Whether a `;` precedes `span`.
    pub(super) fn after_semicolon(&self, span: Span) -> bool {
        let at = self.lexed.tokens.partition_point(|t| t.lo < span.lo);
        at.checked_sub(1).and_then(|i| self.lexed.tokens.get(i)).is_some_and(|t| t.tok == Tok::P(P::Semi))
    }

    /// Whether the brackets at `open` directly follow the operand that they index.
    pub(super) fn is_index(&self, open: Span) -> bool {
        let at = self.lexed.tokens.partition_point(|t| t.lo < open.lo);
        at > 0 && self.lexed.tokens.get(at).is_some_and(|t| !t.space_before)
    }

    /// Whether the brackets from `open` to here follow an operand and a space.
    pub(super) fn looks_like_slice(&self, open: Span, closer: P) -> bool {
        let at = self.lexed.tokens.partition_point(|t| t.lo < open.lo);
        let before = at.checked_sub(1).and_then(|i| self.lexed.tokens.get(i));
        let operand = before.is_some_and(|t| matches!(t.tok, Tok::Ident(_) | Tok::P(P::RParen | P::RBracket)));
        self.at(P::Colon) && closer == P::RBracket && operand
    }

    /// Adds a hint for a word of another language, unless the diagnostic has a hint.
    pub(super) fn with_foreign_hint(&self, diagnostic: Diagnostic) -> Diagnostic {
        match self.foreign_word_here() {
            Some(hint) => diagnostic.hint(hint),
            None => diagnostic,
        }
    }
}

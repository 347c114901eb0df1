//! Constructs of other languages: `where` clauses, `a \ b`, `f . g`, `[1 2; 3 4]`, `Float[3]`, `x :: T`.

use super::Parser;
use super::expressions::{LEFT_DIVISION, starts_atom};
use crate::ast::{Expr, ExprKind, LetGroup, Lit, PatKind, Type, TypeKind};
use crate::errors::foreign_syntax;
use crate::limits::parser_foreign_constructs::LOOK_AHEAD;
use crate::span::Span;
use crate::symbol::Symbol;
use crate::token::{Kw, P, Tok};

impl<'a> Parser<'a> {
    /// Whether the next `\` is not a lambda: no arrow follows its names.
    pub(super) fn left_divides(&self) -> bool {
        self.at(P::Backslash) && !self.operand_is_missing() && {
            let named =
                |t: &Tok| matches!(t, Tok::Ident(_) | Tok::Underscore | Tok::P(P::LParen | P::RParen | P::Comma));
            let after = (1..LOOK_AHEAD).map(|i| self.raw_at(i).tok).find(|t| !named(t));
            !matches!(after, Some(Tok::P(P::Arrow | P::Dot | P::FatArrow)))
        }
    }

    /// Whether the last token cannot end an operand.
    fn operand_is_missing(&self) -> bool {
        match self.previous().map(|t| t.tok) {
            Some(Tok::P(p)) => !p.closes(),
            Some(Tok::Kw(_)) | None => true,
            Some(_) => false,
        }
    }

    /// Parses the rest of `a \ b` from the `\` on.
    pub(super) fn left_division(&mut self, left: Expr) -> Expr {
        let at = self.bump();
        let right = self.expr_above(LEFT_DIVISION);
        let span = left.span.to(right.span);
        self.report(foreign_syntax::left_division(at, span, &self.atomic(left.span), &self.atomic(right.span)));
        Expr { kind: ExprKind::Error, span }
    }

    /// The source of an expression as an argument, in parentheses if needed.
    fn atomic(&self, span: Span) -> String {
        let text = self.source(span);
        if text.contains(' ') && !text.starts_with(['(', '[']) { format!("({text})") } else { text.to_owned() }
    }

    /// Whether a `where` with definitions follows; if so, reports it.
    pub(super) fn where_clause(&mut self) -> bool {
        let word = matches!(self.peek(), Tok::Ident(w) if w.as_str() == "where");
        if !word || !self.definition_at(1) {
            return false;
        }
        let (at, next) = (self.here(), self.raw_at(1));
        let line = self.text[at.lo as usize..].lines().next().unwrap_or("").trim_end();
        let clause = Span { hi: at.lo + line.len() as u32, ..at };
        // A clause of several lines is not moved by an automatic fix.
        let more = self.text[clause.hi as usize..]
            .lines()
            .nth(1)
            .is_some_and(|l| l.starts_with([' ', '\t']) && !l.trim().is_empty());
        let definition =
            line.strip_prefix("where").map(str::trim_start).filter(|d| !next.line_start && !more && !d.contains("--"));
        let fix = definition.map(|d| (d, Span { lo: self.end_before(at), ..clause }, self.value_start()));
        let diagnostic = foreign_syntax::where_clause(at, fix);
        self.fail(diagnostic);
        true
    }

    fn end_before(&self, at: Span) -> u32 {
        self.text[..at.lo as usize].trim_end().len() as u32
    }

    /// The start of the value of the current entry: after its first `=`, or the start of the entry.
    fn value_start(&self) -> Span {
        let tokens = &self.lexed.tokens;
        let first = tokens.partition_point(|t| t.lo < self.entry_start);
        let equals = (first..self.pos).find(|i| tokens[*i].tok == Tok::P(P::Eq));
        let at = tokens[equals.map_or(first, |i| i + 1)].lo;
        Span { lo: at, hi: at, file: self.file }
    }

    /// Whether names and patterns up to an `=` on one line begin `ahead` tokens further on.
    fn definition_at(&self, ahead: usize) -> bool {
        if !matches!(self.raw_at(ahead).tok, Tok::Ident(_) | Tok::P(P::LParen)) {
            return false;
        }
        for i in ahead..ahead + LOOK_AHEAD {
            let token = self.raw_at(i);
            match token.tok {
                _ if i > ahead && token.line_start => return false,
                Tok::P(P::Eq) => return true,
                Tok::Ident(_) | Tok::Con(_) | Tok::Underscore | Tok::P(P::LParen | P::RParen | P::Comma) => {}
                _ => return false,
            }
        }
        false
    }

    /// Whether a name directly follows `f(`, or a comma in such parentheses.
    pub(super) fn is_argument(&self, name: Span) -> bool {
        let tokens = &self.lexed.tokens;
        let at = tokens.partition_point(|t| t.lo < name.lo);
        let (mut open, mut first) = (0usize, true);
        for i in (0..at).rev().take(LOOK_AHEAD) {
            match tokens[i].tok {
                Tok::P(P::Comma) if open == 0 => {}
                Tok::P(P::LParen) if open == 0 => {
                    let call = i > 0 && !tokens[i].space_before && matches!(tokens[i - 1].tok, Tok::Ident(_));
                    return call;
                }
                Tok::P(p) if p.closes() => open += 1,
                Tok::P(p) if p.opens() => match open.checked_sub(1) {
                    Some(n) => open = n,
                    None => return false,
                },
                // The token directly before the name must be the bracket or a comma.
                _ if first => return false,
                _ => {}
            }
            first = false;
        }
        false
    }

    /// Whether a `{` was read after the last `match`.
    pub(super) fn in_braces(&self) -> bool {
        let before = self.lexed.tokens[..self.pos].iter().rev().take(LOOK_AHEAD).map(|t| t.tok);
        before.into_iter().find(|t| matches!(t, Tok::P(P::LBrace) | Tok::Kw(Kw::Match))) == Some(Tok::P(P::LBrace))
    }

    /// Whether the next token is a `.` with white space on both sides, as in `f . g`.
    pub(super) fn at_composition(&self) -> bool {
        let (point, next) = (self.raw(), self.raw_at(1));
        point.space_before && next.space_before && !point.line_start && !next.line_start && starts_atom(next.tok)
    }

    /// Parses the rest of `f . g . h` from its first `.` on.
    pub(super) fn composition(&mut self, first: Expr) -> Expr {
        let at = self.here();
        let mut parts = vec![first];
        while self.at(P::Dot) && self.at_composition() {
            self.bump();
            let part = self.apart(super::Parser::atom);
            parts.push(part);
        }
        let span = parts[0].span.to(parts[parts.len() - 1].span);
        let ours: Vec<&str> = parts.iter().rev().map(|p| self.source(p.span)).collect();
        let ours = ours.join(" >> ");
        self.report(foreign_syntax::composition(at, span, ours));
        Expr { kind: ExprKind::Error, span }
    }

    /// Reports `[1 2 3]` and `[1, 2; 3, 4]`, whose brackets are at `whole`. `said`: the number of errors before them.
    pub(super) fn rows_without_commas(&mut self, parts: &[Expr], whole: Span, said: usize) -> bool {
        let by_semicolon =
            self.diagnostics.get(said).is_some_and(|d| d.code == "E0126" && d.primary.span.lo >= whole.lo);
        let row = parts.iter().find_map(juxtaposed);
        if row.is_none() && !by_semicolon {
            return false;
        }
        let Some(ours) = self.array_as_written(parts, whole) else { return row.is_some() };
        match row {
            Some(at) if !by_semicolon => self.report(foreign_syntax::elements_without_commas(at, whole, ours)),
            _ => {
                let d = self.diagnostics.remove(said);
                let hint = if ours.len() < 60 { format!("write `{ours}`") } else { d.hint.clone().unwrap_or_default() };
                self.diagnostics.insert(said, d.hint(hint).fix(whole, ours));
            }
        }
        row.is_some()
    }

    /// The adl form of an array whose elements have no commas and whose rows end with `;`.
    fn array_as_written(&self, parts: &[Expr], whole: Span) -> Option<String> {
        let mut rows: Vec<Vec<&str>> = vec![Vec::new()];
        for (index, part) in parts.iter().enumerate() {
            let elements = match (juxtaposed(part), &part.kind) {
                (Some(_), ExprKind::App(f, args)) => {
                    std::iter::once(&**f).chain(args).map(|e| self.source(e.span)).collect()
                }
                _ => vec![self.source(part.span)],
            };
            rows.last_mut()?.extend(elements);
            let end = parts.get(index + 1).map_or(whole.hi, |p| p.span.lo);
            let between = self.text.get(part.span.hi as usize..end as usize)?;
            if between.contains("--") || between.contains("(*") {
                return None;
            }
            if between.contains(';') && index + 1 < parts.len() {
                rows.push(Vec::new());
            }
        }
        let column = rows.len() > 1 && rows.iter().all(|r| r.len() == 1);
        Some(match rows.len() {
            1 => format!("[{}]", rows[0].join(", ")),
            _ if column => format!("[{}]", rows.concat().join(", ")),
            _ => format!("[{}]", rows.iter().map(|r| format!("[{}]", r.join(", "))).collect::<Vec<_>>().join(", ")),
        })
    }

    /// Whether an element type directly followed by its size comes next: `Float[3]`.
    pub(super) fn element_before_size(&self) -> bool {
        let (open, name) = (self.raw_at(1), self.raw());
        let element = match name.tok {
            Tok::Con(t) => matches!(t.as_str(), "Float" | "Int" | "Bool" | "String" | "F32"),
            Tok::Ident(t) => element(t).is_some(),
            _ => false,
        };
        element && open.tok == Tok::P(P::LBracket) && !open.space_before && !self.hidden(1)
    }

    /// Reads `Float[3][4]`.
    pub(super) fn size_behind_element(&mut self) -> Type {
        let start = self.bump();
        let mut sizes = String::new();
        while self.at(P::LBracket) && !self.raw().space_before && !self.panic {
            let open = self.bump();
            self.in_brackets(open, P::RBracket, |p| {
                while !p.at(P::RBracket) && p.peek() != Tok::End {
                    p.bump();
                }
            });
            sizes += &self.source(self.since(open)).replace(", ", "][").replace(',', "][");
        }
        let (at, name) = (self.since(start), self.source(start));
        let ours = element(Symbol::new(name)).unwrap_or(name);
        self.report(foreign_syntax::size_behind_element(at, format!("{sizes}{ours}")));
        Type { kind: TypeKind::Error, span: at }
    }

    /// Whether a `::` `ahead` tokens further on stands for the `:` of a signature.
    pub(super) fn signature_by_cons(&self, ahead: usize) -> bool {
        if self.visible(ahead) != Tok::P(P::Cons) {
            return false;
        }
        let line = (ahead + 1..LOOK_AHEAD)
            .map(|i| self.raw_at(i))
            .take_while(|t| !t.line_start && !matches!(t.tok, Tok::End | Tok::P(P::Eq)));
        let types = ["Float", "Int", "Bool", "String", "F32"];
        line.map(|t| t.tok)
            .any(|t| t == Tok::P(P::Arrow) || matches!(t, Tok::Con(name) if types.contains(&name.as_str())))
    }

    /// Whether no definition follows the `and` that was just read.
    pub(super) fn and_is_logical(&self) -> bool {
        let line = (0..LOOK_AHEAD)
            .map(|i| self.raw_at(i))
            .enumerate()
            .take_while(|(i, t)| t.tok != Tok::End && !(*i > 0 && t.line_start));
        !self.raw().line_start && line.map(|(_, t)| t.tok).all(|t| !matches!(t, Tok::P(P::Eq | P::Colon)))
    }

    /// Consumes a `::` in place of `:` and reports it.
    pub(super) fn doubled_colon(&mut self) -> bool {
        let here = self.signature_by_cons(0);
        if here {
            let at = self.bump();
            self.report(foreign_syntax::doubled_colon(at));
        }
        here
    }

    /// `data T a = A | B a`.
    pub(super) fn foreign_type(&mut self) -> bool {
        let (word, name) = (self.raw(), self.raw_at(1));
        let Tok::Ident(text) = word.tok else { return false };
        let declares =
            matches!(text.as_str(), "data" | "newtype" | "enum") && matches!(name.tok, Tok::Con(_)) && !name.line_start;
        let parameters = (2..LOOK_AHEAD).map(|i| self.raw_at(i).tok).find(|t| !matches!(t, Tok::Ident(_)));
        if declares && parameters == Some(Tok::P(P::Eq)) {
            self.fail(foreign_syntax::foreign_type(self.span_of(&word), text.as_str()));
        }
        self.panic
    }

    /// The format of `{x:.2f}` from the colon on, as a call: its span and text. Lexical errors in the digits are not
    /// reported.
    pub(super) fn fixed_digits(&mut self, value: Span) -> Option<(Span, String)> {
        let colon = self.here();
        let rest = self.text.get(colon.hi as usize..)?;
        let format = rest.split('}').next().filter(|f| f.len() < 12 && !f.contains('\n'))?;
        let end = colon.hi + format.len() as u32;
        self.diagnostics.retain(|d| d.code != "E0105" || d.primary.span.lo < colon.lo || d.primary.span.lo >= end);
        let digits = format.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('.')?.trim_end_matches('f');
        let call = format!("io.fixed {digits} {}", self.atomic(value));
        (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some((Span { hi: end, ..value }, call))
    }

    /// The body of a one-line `let` whose `in` is missing: where it begins, and its text. It begins where parsing would
    /// otherwise apply a number, or pass the name being defined as an argument in its own definition.
    pub(super) fn missing_in(&self, group: &LetGroup, span: Span) -> Option<(Span, &'a str)> {
        let [binding] = group.bindings.as_slice() else { return None };
        let text = self.source(span);
        if group.rec || text.contains('\n') || !text.contains('=') {
            return None;
        }
        let name = match binding.pat.kind {
            PatKind::Var(name) if binding.params.is_empty() => Some(name),
            _ => None,
        };
        let at = body_after(&binding.body, name)?;
        Some((Span { hi: at, lo: at, ..span }, self.text.get(at as usize..span.hi as usize)?))
    }
}

/// The position where a number is applied, or where `name` is an argument.
fn body_after(e: &Expr, name: Option<Symbol>) -> Option<u32> {
    match &e.kind {
        ExprKind::App(f, args) => {
            let number = matches!(f.kind, ExprKind::Lit(Lit::Int(_) | Lit::Float(_) | Lit::F32(_)));
            let own = |e: &&Expr| matches!(e.kind, ExprKind::Var(n) if Some(n) == name);
            match args.first().filter(|_| number) {
                Some(first) => Some(first.span.lo),
                None => args.iter().find(own).map(|a| a.span.lo),
            }
        }
        ExprKind::Bin(_, _, a, b) => body_after(a, name).or_else(|| body_after(b, name)),
        ExprKind::Neg(a) => body_after(a, name),
        _ => None,
    }
}

/// Numbers without commas between them, which parse as the application of a number.
fn juxtaposed(e: &Expr) -> Option<Span> {
    let ExprKind::App(f, _) = &e.kind else { return None };
    matches!(f.kind, ExprKind::Lit(Lit::Int(_) | Lit::Float(_) | Lit::F32(_) | Lit::Str(_) | Lit::Bool(_)))
        .then_some(e.span)
}

/// The adl type for a lower-case number type of another language.
fn element(name: Symbol) -> Option<&'static str> {
    Some(match name.as_str() {
        "float" | "double" => "Float",
        "int" | "long" => "Int",
        "bool" => "Bool",
        "string" => "String",
        _ => return None,
    })
}

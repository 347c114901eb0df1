//! Token classes for editors, the REPL and notebooks.

use crate::lexer::lex;
use crate::span::FileId;
use crate::token::{Kw, P, Tok, Token};
use std::ops::Range;

/// Classes of tokens that a highlighter distinguishes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// A reserved word, or a contextual keyword (`test`, `alias`).
    Keyword,
    /// A `lower_case` name or `_`.
    Name,
    /// A constructor or module.
    Constructor,
    /// A type's name.
    Type,
    /// A number.
    Number,
    /// A string, or a text part of an f-string.
    String,
    /// A comment of any kind.
    Comment,
    /// An operator, arrow, `=`, `:` and the like.
    Operator,
    /// A bracket, comma or semicolon.
    Bracket,
}

/// The tokens and comments of `text`, in order, with their byte ranges. Never fails, and is fast enough to run at every
/// key press.
pub fn tokens(text: &str) -> Vec<(Range<usize>, Class)> {
    let lexed = lex(FileId::default(), text);
    let mut types = TypeTracker::default();
    let mut all: Vec<(Range<usize>, Class)> = Vec::with_capacity(lexed.tokens.len() + lexed.comments.len());
    for (i, token) in lexed.tokens.iter().enumerate() {
        let in_type = types.step(token);
        let next = lexed.tokens.get(i + 1);
        if let Some(class) = class(token, next, in_type) {
            let mut lo = token.lo as usize;
            // The closing quotation mark belongs to the last part of the text, if there is one behind the expression.
            if token.tok == Tok::FEnd && text[..lo].ends_with('"') && all.last().is_some_and(|(r, _)| r.end < lo) {
                lo -= 1;
            }
            all.push((lo..token.hi as usize, class));
        }
    }
    all.extend(lexed.comments.iter().map(|c| (c.span.lo as usize..c.span.hi as usize, Class::Comment)));
    all.sort_by_key(|(range, _)| range.start);
    all
}

/// `text` as HTML. Tokens are `span`s of the classes `k` (keywords), `n` (numbers), `s` (strings), `c` (comments) and
/// `t` (types and constructors).
pub fn html(text: &str) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for (range, class) in tokens(text) {
        let class = match class {
            Class::Keyword => "k",
            Class::Number => "n",
            Class::String => "s",
            Class::Comment => "c",
            Class::Constructor | Class::Type => "t",
            Class::Name | Class::Operator | Class::Bracket => continue,
        };
        if range.start < at {
            continue;
        }
        out += &escape(&text[at..range.start]);
        out += &format!("<span class=\"{class}\">{}</span>", escape(&text[range.clone()]));
        at = range.end;
    }
    out + &escape(&text[at..])
}

/// Text in HTML, also between quotes.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn class(token: &Token, next: Option<&Token>, in_type: bool) -> Option<Class> {
    Some(match token.tok {
        Tok::Kw(Kw::True | Kw::False) => Class::Constructor,
        Tok::Kw(_) => Class::Keyword,
        Tok::Ident(name) => {
            let before_string = next.is_some_and(|t| matches!(t.tok, Tok::Str(_)));
            match name.as_str() {
                "test" | "bench" if token.line_start && before_string => Class::Keyword,
                "alias" if in_type => Class::Keyword,
                _ => Class::Name,
            }
        }
        Tok::Con(_) if in_type => Class::Type,
        Tok::Con(_) => Class::Constructor,
        Tok::Int(_) | Tok::Float(_) | Tok::F32(_) => Class::Number,
        Tok::Str(_) | Tok::FStart | Tok::FText(_) | Tok::FEnd => Class::String,
        Tok::FOpen | Tok::FClose => Class::Bracket,
        Tok::Underscore => Class::Name,
        Tok::P(p) if p.is_bracket() => Class::Bracket,
        Tok::P(_) => Class::Operator,
        Tok::End => return None,
    })
}

/// Tracks type positions: after `:` up to `=` or to the token that closes or separates at its level. Type declarations
/// count too, except the constructors that they declare.
#[derive(Default)]
struct TypeTracker {
    depth: u32,
    /// Bracket depth of the `:` that opened the type.
    since: Option<u32>,
    declaration: bool,
    /// Whether the next upper-case name is a constructor declaration.
    declares: bool,
}

impl TypeTracker {
    fn step(&mut self, token: &Token) -> bool {
        if token.line_start && token.col == 0 && !matches!(token.tok, Tok::P(_) | Tok::Kw(Kw::And)) {
            *self = TypeTracker::default();
        }
        let declares = std::mem::take(&mut self.declares);
        let here = (self.since.is_some() || self.declaration) && !(declares && matches!(token.tok, Tok::Con(_)));
        match token.tok {
            Tok::Kw(Kw::Type) => self.declaration = true,
            Tok::P(p) if p.opens() => self.depth += 1,
            Tok::P(p) if p.closes() => {
                self.depth = self.depth.saturating_sub(1);
                self.end_if(|since, depth| depth < since);
            }
            Tok::P(P::Colon) => self.since = self.since.or(Some(self.depth)),
            Tok::P(P::Comma) => self.end_if(|since, depth| depth <= since && since > 0),
            Tok::P(P::Eq) => {
                self.end_if(|since, depth| depth <= since);
                self.declares = self.declaration;
            }
            Tok::P(P::Bar) => self.declares = self.declaration && self.depth == 0,
            _ => {}
        }
        here
    }

    fn end_if(&mut self, ends: impl Fn(u32, u32) -> bool) {
        if self.since.is_some_and(|since| ends(since, self.depth)) {
            self.since = None;
        }
    }
}

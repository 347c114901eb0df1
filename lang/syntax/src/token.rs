//! Tokens: what the lexer makes and the parser and highlighters read.

use crate::ast::BinOp;
use crate::span::Span;
use crate::symbol::Symbol;

/// A token with the facts that the layout rule needs.
#[derive(Clone, PartialEq, Debug)]
pub struct Token {
    /// What it is.
    pub tok: Tok,
    /// Where it is.
    pub span: Span,
    /// 0-based column, in characters.
    pub col: u32,
    /// Whether it is the first token of its line.
    pub first: bool,
    /// Column of the first token of its line.
    pub indent: u32,
    /// Whether white space or a comment stands before it.
    pub space: bool,
    /// The `--|` lines just above it.
    pub doc: Option<String>,
}

/// A keyword.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Kw {
    Let, Rec, And, In, If, Then, Else, Match, With, When, Fun, Lin, For, While, Do, Loop, Type, Alias, Import, As,
    Test, Bench, True, False,
}

/// Keywords as written. `test`, `bench`, `alias` and `import` are words only where an item or declaration may start.
pub const KEYWORDS: &[(&str, Kw)] = &[
    ("let", Kw::Let), ("rec", Kw::Rec), ("and", Kw::And), ("in", Kw::In), ("if", Kw::If), ("then", Kw::Then),
    ("else", Kw::Else), ("match", Kw::Match), ("with", Kw::With), ("when", Kw::When), ("fun", Kw::Fun),
    ("lin", Kw::Lin), ("for", Kw::For), ("while", Kw::While), ("do", Kw::Do), ("loop", Kw::Loop), ("type", Kw::Type),
    ("import", Kw::Import), ("as", Kw::As), ("true", Kw::True), ("false", Kw::False),
];

/// Part of an `f"..."` token.
#[derive(Clone, PartialEq, Debug)]
pub enum FPart {
    /// Literal text.
    Text(String),
    /// The tokens between `{` and `}`, ending in `End`.
    Expr(Vec<Token>),
}

/// A token.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Tok {
    Ident(Symbol), Upper(Symbol), Int(i64), Float(f64), F32(f32), Str(String), FStr(Vec<FPart>), Kw(Kw), Op(BinOp),
    LParen, RParen, LBracket, RBracket, LBrace, RBrace, LIverson, RIverson, Comma, Semi, SemiSemi, Colon, Dot, DotDot,
    Equals, Arrow, FatArrow, Bar, Underscore,
    /// Could not be read; an error was reported.
    Bad,
    /// End of the text, or of the block that the parser is in.
    End,
}

impl Tok {
    /// How error messages name it.
    pub fn describe(&self) -> String {
        match self {
            Tok::Ident(s) | Tok::Upper(s) => format!("`{s}`"),
            Tok::Int(n) => format!("`{n}`"),
            Tok::Float(x) => format!("`{x:?}`"),
            Tok::F32(x) => format!("`{x:?}f32`"),
            Tok::Str(_) | Tok::FStr(_) => "a text".into(),
            Tok::Kw(k) => {
                let name = KEYWORDS.iter().find(|(_, kw)| kw == k).map_or("?", |(n, _)| n);
                format!("the keyword `{name}`")
            }
            Tok::Op(op) => format!("`{}`", op.text()),
            Tok::Bad => "something unreadable".into(),
            Tok::End => "the end".into(),
            other => format!("`{}`", other.punctuation()),
        }
    }

    fn punctuation(&self) -> &'static str {
        match self {
            Tok::LParen => "(", Tok::RParen => ")", Tok::LBracket => "[", Tok::RBracket => "]", Tok::LBrace => "{",
            Tok::RBrace => "}", Tok::LIverson => "[|", Tok::RIverson => "|]", Tok::Comma => ",", Tok::Semi => ";",
            Tok::SemiSemi => ";;", Tok::Colon => ":", Tok::Dot => ".", Tok::DotDot => "..", Tok::Equals => "=",
            Tok::Arrow => "->", Tok::FatArrow => "=>", Tok::Bar => "|", Tok::Underscore => "_",
            _ => "?",
        }
    }

    /// Whether a line that starts with it, in the column of a block, continues the entry above (language.md §8).
    pub fn continues(&self) -> bool {
        match self {
            Tok::Op(BinOp::Sub) => false,
            Tok::Op(_) | Tok::Bar | Tok::RParen | Tok::RBracket | Tok::RBrace | Tok::RIverson | Tok::Comma | Tok::Semi => true,
            Tok::Kw(k) => matches!(k, Kw::Then | Kw::Else | Kw::In | Kw::With | Kw::And | Kw::Do),
            _ => false,
        }
    }
}

/// A comment, for the formatter.
#[derive(Clone, PartialEq, Debug)]
pub struct Comment {
    /// Where it is.
    pub span: Span,
    /// Whether nothing but white space stands before it on its line.
    pub own_line: bool,
}

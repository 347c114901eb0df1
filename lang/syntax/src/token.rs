//! Tokens: the lexer's output and the parser's input.

use crate::span::Span;
use crate::symbol::Symbol;

/// Reserved words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Kw {
    Let,
    Rec,
    And,
    In,
    If,
    Then,
    Else,
    Match,
    With,
    When,
    As,
    Fun,
    Lin,
    For,
    Loop,
    While,
    Do,
    Type,
    Import,
    True,
    False,
}

impl Kw {
    /// Every reserved word.
    pub const ALL: [Kw; 21] = [
        Kw::Let,
        Kw::Rec,
        Kw::And,
        Kw::In,
        Kw::If,
        Kw::Then,
        Kw::Else,
        Kw::Match,
        Kw::With,
        Kw::When,
        Kw::As,
        Kw::Fun,
        Kw::Lin,
        Kw::For,
        Kw::Loop,
        Kw::While,
        Kw::Do,
        Kw::Type,
        Kw::Import,
        Kw::True,
        Kw::False,
    ];

    /// The spelling in source text.
    pub fn text(self) -> &'static str {
        match self {
            Kw::Let => "let",
            Kw::Rec => "rec",
            Kw::And => "and",
            Kw::In => "in",
            Kw::If => "if",
            Kw::Then => "then",
            Kw::Else => "else",
            Kw::Match => "match",
            Kw::With => "with",
            Kw::When => "when",
            Kw::As => "as",
            Kw::Fun => "fun",
            Kw::Lin => "lin",
            Kw::For => "for",
            Kw::Loop => "loop",
            Kw::While => "while",
            Kw::Do => "do",
            Kw::Type => "type",
            Kw::Import => "import",
            Kw::True => "true",
            Kw::False => "false",
        }
    }

    /// The reserved word spelled `name`.
    pub fn from_name(name: &str) -> Option<Kw> {
        Kw::ALL.into_iter().find(|k| k.text() == name)
    }
}

/// The kinds of tokens. String contents are stored in [`crate::lexer::Lexed::strings`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tok {
    /// A reserved word.
    Kw(Kw),
    /// `lower_case` name.
    Ident(Symbol),
    /// `UpperCase` name.
    Con(Symbol),
    /// An integer's magnitude, at most 2⁶³ (2⁶³ itself is valid only after a minus).
    Int(u64),
    /// A Float literal.
    Float(f64),
    /// A literal with the suffix `f32`.
    F32(f32),
    /// A string literal without interpolation.
    Str(u32),
    /// `f"`.
    FStart,
    /// Text inside `f"..."`.
    FText(u32),
    /// `{` that opens an interpolated expression.
    FOpen,
    /// `}` that closes it.
    FClose,
    /// The closing quote of `f"..."`.
    FEnd,
    /// `_`.
    Underscore,
    /// Operators, punctuation and brackets.
    P(P),
    /// End of the text. The parser also sees it where the layout rule hides the next token.
    End,
}

/// Operators, punctuation and brackets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum P {
    LParen,
    RParen,
    LBracket,
    RBracket,
    LBrace,
    RBrace,
    LIverson,
    RIverson,
    Comma,
    Semi,
    SemiSemi,
    Dot,
    DotDot,
    Colon,
    Eq,
    Bar,
    Arrow,
    FatArrow,
    Backslash,
    PipeLeft,
    PipeRight,
    Compose,
    OrOr,
    AndAnd,
    EqEq,
    Ne,
    Lt,
    Gt,
    Le,
    Ge,
    DotOr,
    DotAnd,
    DotEq,
    DotNe,
    DotLt,
    DotGt,
    DotLe,
    DotGe,
    Cons,
    Append,
    Plus,
    Minus,
    Star,
    Slash,
    SlashSlash,
    Percent,
    At,
    Caret,
    // Operators of other languages, recognised so that the error can name adl's.
    StarStar,
    ColonEq,
    LtGt,
    Bang,
    Amp,
    Dollar,
}

impl P {
    /// All spellings; among those with a common prefix the longest comes first.
    pub const ALL: [P; 54] = [
        P::LIverson,
        P::RIverson,
        P::LParen,
        P::RParen,
        P::LBracket,
        P::RBracket,
        P::LBrace,
        P::RBrace,
        P::SemiSemi,
        P::Semi,
        P::Comma,
        P::DotOr,
        P::DotAnd,
        P::DotEq,
        P::DotNe,
        P::DotLe,
        P::DotLt,
        P::DotGe,
        P::DotGt,
        P::DotDot,
        P::Dot,
        P::Cons,
        P::ColonEq,
        P::Colon,
        P::EqEq,
        P::FatArrow,
        P::Eq,
        P::Arrow,
        P::Minus,
        P::PipeRight,
        P::OrOr,
        P::Bar,
        P::PipeLeft,
        P::Le,
        P::LtGt,
        P::Lt,
        P::Compose,
        P::Ge,
        P::Gt,
        P::AndAnd,
        P::Amp,
        P::Ne,
        P::Bang,
        P::Append,
        P::Plus,
        P::StarStar,
        P::Star,
        P::SlashSlash,
        P::Slash,
        P::Percent,
        P::At,
        P::Caret,
        P::Backslash,
        P::Dollar,
    ];

    /// The spelling in source text.
    pub fn text(self) -> &'static str {
        match self {
            P::LParen => "(",
            P::RParen => ")",
            P::LBracket => "[",
            P::RBracket => "]",
            P::LBrace => "{",
            P::RBrace => "}",
            P::LIverson => "[|",
            P::RIverson => "|]",
            P::Comma => ",",
            P::Semi => ";",
            P::SemiSemi => ";;",
            P::Dot => ".",
            P::DotDot => "..",
            P::Colon => ":",
            P::Eq => "=",
            P::Bar => "|",
            P::Arrow => "->",
            P::FatArrow => "=>",
            P::Backslash => "\\",
            P::PipeLeft => "<|",
            P::PipeRight => "|>",
            P::Compose => ">>",
            P::OrOr => "||",
            P::AndAnd => "&&",
            P::EqEq => "==",
            P::Ne => "!=",
            P::Lt => "<",
            P::DotOr => ".||",
            P::DotAnd => ".&&",
            P::DotEq => ".==",
            P::DotNe => ".!=",
            P::DotLt => ".<",
            P::DotGt => ".>",
            P::DotLe => ".<=",
            P::DotGe => ".>=",
            P::Gt => ">",
            P::Le => "<=",
            P::Ge => ">=",
            P::Cons => "::",
            P::Append => "++",
            P::Plus => "+",
            P::Minus => "-",
            P::Star => "*",
            P::Slash => "/",
            P::SlashSlash => "//",
            P::Percent => "%",
            P::At => "@",
            P::Caret => "^",
            P::StarStar => "**",
            P::ColonEq => ":=",
            P::LtGt => "<>",
            P::Bang => "!",
            P::Amp => "&",
            P::Dollar => "$",
        }
    }

    /// Whether it opens a bracket.
    pub fn opens(self) -> bool {
        matches!(self, P::LParen | P::LBracket | P::LBrace | P::LIverson)
    }

    /// Whether it closes a bracket.
    pub fn closes(self) -> bool {
        matches!(self, P::RParen | P::RBracket | P::RBrace | P::RIverson)
    }

    /// Whether it is punctuation that groups or separates, not an operator.
    pub fn is_bracket(self) -> bool {
        self.opens() || self.closes() || matches!(self, P::Comma | P::Semi | P::SemiSemi)
    }
}

/// A token with its position and its layout properties.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// Its kind and contents.
    pub tok: Tok,
    /// First byte.
    pub lo: u32,
    /// One past the last byte.
    pub hi: u32,
    /// 0-based column in characters (tabs advance to multiples of 8). For the first token of a line: the column where
    /// the line's text begins, even if that is a comment.
    pub col: u32,
    /// Column where the text of its line begins.
    pub indent: u32,
    /// Whether it is the first token of its line.
    pub line_start: bool,
    /// Whether it follows white space, a comment or the start of the text.
    pub space_before: bool,
}

/// The three kinds of comments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommentKind {
    /// `-- text`.
    Line,
    /// `--| text`.
    Doc,
    /// `(* text *)`.
    Block,
}

/// A comment with its position.
#[derive(Clone, Copy, Debug)]
pub struct Comment {
    /// Which kind.
    pub kind: CommentKind,
    /// Includes the comment marks, excludes the newline.
    pub span: Span,
    /// Whether only white space precedes it on its line.
    pub own_line: bool,
    /// Its 0-based column.
    pub col: u32,
}

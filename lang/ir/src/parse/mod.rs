//! Parser of the text form. The grammar is in the head of [`crate::print`].
//!
//! [`program`] accepts the output of [`crate::print::program`] in either style. It checks the syntax only;
//! [`mod@crate::verify`] finds other faults.

mod lex;
mod ops;
mod vars;

use crate::func::{Block, DataDecl, FnId, Function, Program, Stmt, VarInfo};
use crate::ty::{DataId, Ty};
use adl_syntax::span::{FileId, Span};
use lex::{Tok, Token};
use std::fmt;
use std::rc::Rc;
use vars::WrittenVar;

/// A syntax error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// 1-based.
    pub line: usize,
    /// 1-based, in characters.
    pub col: usize,
    /// What was expected.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.line, self.col, self.message)
    }
}

pub(crate) type ParseResult<T> = Result<T, ParseError>;

/// Largest nesting depth of blocks and types.
const DEEPEST: usize = 1000;

/// Parses a program.
pub fn program(text: &str) -> ParseResult<Program> {
    let mut parser = Parser::new(text)?;
    let mut out = Program::default();
    loop {
        if parser.word_is("data") {
            let d = parser.data(out.datas.len())?;
            out.add_data(d);
        } else if parser.word_is("fn") {
            let f = parser.function(out.funcs.len())?;
            out.add(f);
        } else if parser.tok() == &Tok::End {
            return Ok(out);
        } else {
            return parser.expected("`data` or `fn`");
        }
    }
}

/// Parses one function.
pub fn function(text: &str) -> ParseResult<Function> {
    let mut p = Parser::new(text)?;
    let f = p.function(0)?;
    if p.tok() == &Tok::End { Ok(f) } else { p.expected("the end") }
}

pub(crate) struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// Limit of variable numbers.
    most: u32,
    vars: Vec<Option<VarInfo>>,
    /// Uses with the positions of their tokens, to be checked at the end of the function.
    uses: Vec<(WrittenVar, usize)>,
}

impl Parser {
    fn new(text: &str) -> ParseResult<Parser> {
        let most = text.len().max(1 << 16) as u32;
        Ok(Parser { tokens: lex::tokens(text)?, at: 0, depth: 0, most, vars: Vec::new(), uses: Vec::new() })
    }

    fn tok(&self) -> &Tok {
        self.ahead(0)
    }

    fn ahead(&self, n: usize) -> &Tok {
        self.tokens.get(self.at + n).map_or(&Tok::End, |t| &t.tok)
    }

    fn error_at<T>(&self, at: usize, message: String) -> ParseResult<T> {
        let t = &self.tokens[at.min(self.tokens.len() - 1)];
        Err(ParseError { line: t.line, col: t.col, message })
    }

    pub(crate) fn expected<T>(&self, what: &str) -> ParseResult<T> {
        let found = match self.tok() {
            Tok::Word(w) => format!("`{w}`"),
            Tok::Tick(n, i) => format!("`{n}`_{i}"),
            Tok::Str(_) => "a text".to_owned(),
            Tok::Num(n) => format!("`{n}`"),
            Tok::Sign(s) => format!("`{s}`"),
            Tok::End => "the end".to_owned(),
        };
        self.error_at(self.at, format!("{what} was expected, not {found}"))
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.tok(), Tok::Sign(s) if *s == sign)
    }

    fn take(&mut self, sign: &str) -> bool {
        let yes = self.is(sign);
        self.at += usize::from(yes);
        yes
    }

    pub(crate) fn sign(&mut self, sign: &str) -> ParseResult<()> {
        if self.take(sign) { Ok(()) } else { self.expected(&format!("`{sign}`")) }
    }

    fn word_is(&self, word: &str) -> bool {
        matches!(self.tok(), Tok::Word(w) if w == word)
    }

    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let yes = self.word_is(word);
        self.at += usize::from(yes);
        yes
    }

    fn word(&mut self, word: &str) -> ParseResult<()> {
        if self.take_word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    /// A plain or quoted name.
    fn name(&mut self) -> ParseResult<String> {
        match self.tok().clone() {
            Tok::Word(w) | Tok::Str(w) => {
                self.at += 1;
                Ok(w)
            }
            _ => self.expected("a name"),
        }
    }

    /// An unsigned number.
    pub(crate) fn nat(&mut self) -> ParseResult<u32> {
        match self.tok() {
            Tok::Num(n) => match n.parse() {
                Ok(n) => {
                    self.at += 1;
                    Ok(n)
                }
                Err(_) => self.expected("a natural number"),
            },
            _ => self.expected("a natural number"),
        }
    }

    /// The number in a name like `f3` or `D2`.
    fn prefixed_number(&mut self, letter: char, what: &str) -> ParseResult<u32> {
        match self.tok() {
            Tok::Word(w) => match w.strip_prefix(letter).and_then(|n| n.parse().ok()) {
                Some(n) => {
                    self.at += 1;
                    Ok(n)
                }
                None => self.expected(what),
            },
            _ => self.expected(what),
        }
    }

    fn function_ref(&mut self) -> ParseResult<FnId> {
        self.prefixed_number('f', "a function such as `f0`").map(FnId)
    }

    fn data_ref(&mut self) -> ParseResult<DataId> {
        self.prefixed_number('D', "a data type such as `D0`").map(DataId)
    }

    /// A constructor `D0.1`.
    fn constructor(&mut self) -> ParseResult<(DataId, u32)> {
        let data = self.data_ref()?;
        self.sign(".")?;
        Ok((data, self.nat()?))
    }

    /// Parses one nesting level deeper, up to the limit.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Parser) -> ParseResult<T>) -> ParseResult<T> {
        if self.depth >= DEEPEST {
            return self.error_at(self.at, format!("nested more than {DEEPEST} deep"));
        }
        self.depth += 1;
        let r = stacker::maybe_grow(64 * 1024, 1024 * 1024, || f(self));
        self.depth -= 1;
        r
    }

    /// Items separated by commas, up to one of the signs that end the list.
    pub(crate) fn list<T>(
        &mut self,
        ends: &[&str],
        mut item: impl FnMut(&mut Parser) -> ParseResult<T>,
    ) -> ParseResult<Vec<T>> {
        let mut out = Vec::new();
        if ends.iter().any(|e| self.is(e)) {
            return Ok(out);
        }
        loop {
            out.push(item(self)?);
            if !self.take(",") {
                return Ok(out);
            }
        }
    }

    /// `( … ; … )`.
    fn two<T>(&mut self, mut item: impl FnMut(&mut Parser) -> ParseResult<T>) -> ParseResult<(Vec<T>, Vec<T>)> {
        self.sign("(")?;
        let left = self.list(&[";", ")"], &mut item)?;
        let right = if self.take(";") { self.list(&[")"], &mut item)? } else { Vec::new() };
        self.sign(")")?;
        Ok((left, right))
    }

    pub(crate) fn ty(&mut self) -> ParseResult<Ty> {
        let mut rank = 0;
        while self.take("[") {
            self.sign("]")?;
            rank += 1;
        }
        let base = if self.take("(") {
            let inner = self.nested(Parser::ty)?;
            self.sign(")")?;
            inner
        } else {
            self.base_ty()?
        };
        Ok(if rank == 0 { base } else { Ty::Array(Rc::new(base), rank) })
    }

    fn base_ty(&mut self) -> ParseResult<Ty> {
        for (word, ty) in [("f64", Ty::F64), ("f32", Ty::F32), ("i64", Ty::I64), ("bool", Ty::Bool), ("str", Ty::Str)] {
            if self.take_word(word) {
                return Ok(ty);
            }
        }
        self.prefixed_number('D', "a type").map(|n| Ty::Data(DataId(n)))
    }

    fn data(&mut self, number: usize) -> ParseResult<DataDecl> {
        self.word("data")?;
        if self.data_ref()?.0 as usize != number {
            return self.error_at(self.at - 1, format!("this is data type D{number}"));
        }
        let name = self.name()?;
        self.sign("=")?;
        let mut cons = Vec::new();
        let more =
            |p: &Parser| matches!(p.tok(), Tok::Str(_)) || matches!(p.tok(), Tok::Word(w) if w != "data" && w != "fn");
        while more(self) {
            let con = self.name()?;
            let fields = if self.is("(") { self.two(Parser::ty)?.0 } else { Vec::new() };
            cons.push((con, fields));
            if !self.take("|") {
                break;
            }
        }
        Ok(DataDecl { name, cons, declared: None })
    }

    fn function(&mut self, number: usize) -> ParseResult<Function> {
        self.word("fn")?;
        let labelled =
            matches!(self.tok(), Tok::Word(w) if w.strip_prefix('f').is_some_and(|n| n.parse::<u32>().is_ok()));
        if labelled && !matches!(self.ahead(1), Tok::Sign("(")) && self.function_ref()?.0 as usize != number {
            return self.error_at(self.at - 1, format!("this is function f{number}"));
        }
        let name = self.name()?;
        self.vars.clear();
        self.uses.clear();
        let (params, lin_params) = self.two(Parser::binding)?;
        self.sign("->")?;
        let place = self.at;
        let (tys, lin_tys) = self.two(Parser::ty)?;
        let mut body = self.braces()?;
        (body.params, body.lin_params) = (params, lin_params);
        if self.take_word("unused") {
            self.two(Parser::binding)?;
        }
        let reserved = self.take_word("reserved");
        let f = Function { name, vars: self.finish_vars()?, body, reserved };
        if f.tys(&f.body.results) != tys || f.tys(&f.body.lin_results) != lin_tys {
            return self.error_at(place, "the results have other types".to_owned());
        }
        Ok(f)
    }

    /// `(params ; linear) { … }`.
    fn block(&mut self) -> ParseResult<Block> {
        let (params, lin_params) = self.two(Parser::binding)?;
        let mut b = self.braces()?;
        (b.params, b.lin_params) = (params, lin_params);
        Ok(b)
    }

    /// `{ … return x ; y }`.
    fn braces(&mut self) -> ParseResult<Block> {
        self.nested(|parser| {
            let mut block = Block::default();
            parser.sign("{")?;
            while !parser.word_is("return") {
                block.stmts.push(parser.stmt()?);
            }
            parser.word("return")?;
            block.results = parser.list(&[";", "}"], Parser::var)?;
            if parser.take(";") {
                block.lin_results = parser.list(&["}"], Parser::var)?;
            }
            parser.sign("}")?;
            Ok(block)
        })
    }

    fn stmt(&mut self) -> ParseResult<Stmt> {
        let (mut outs, mut lin_outs) = (Vec::new(), Vec::new());
        if self.at_binding() || self.is(";") {
            let linear = self.written().is_some_and(|(w, _)| w.linear);
            outs = self.list(&[";"], Parser::binding)?;
            if self.take(";") {
                lin_outs = self.list(&["="], Parser::binding)?;
            } else if linear {
                std::mem::swap(&mut outs, &mut lin_outs);
            }
            self.sign("=")?;
        }
        let op = self.op()?;
        Ok(Stmt { outs, lin_outs, op, span: self.span()? })
    }

    /// `@lo..hi` or `@file:lo..hi`, if present.
    fn span(&mut self) -> ParseResult<Span> {
        if !self.take("@") {
            return Ok(Span::default());
        }
        let first = self.nat()?;
        let (file, lo) = if self.take(":") { (first, self.nat()?) } else { (0, first) };
        self.sign("..")?;
        Ok(Span { file: FileId(file), lo, hi: self.nat()? })
    }
}

//! Parser of operations.

use super::lex::Tok;
use super::{ParseResult, Parser};
use crate::func::Var;
use crate::names;
use crate::op::{Contract, Lit, Loop, Op, Out, Rule, RuleKind, Soac, Terms, Trip};
use adl_prim::{Bin, Cmp, Prim, Un, UnByWord};
use std::rc::Rc;

impl Parser {
    pub(super) fn op(&mut self) -> ParseResult<Op> {
        if let Some(l) = self.literal()? {
            return Ok(Op::Lit(l));
        }
        let Tok::Word(word) = self.tok().clone() else { return self.expected("an operation") };
        let place = self.at;
        self.at += 1;
        if let Some(op) = self.elementwise(&word)? {
            return Ok(op);
        }
        if let Some(op) = Op::parse_row(self, &word)? {
            return Ok(op);
        }
        match self.structured(&word)? {
            Some(op) => Ok(op),
            None => self.error_at(place, format!("there is no operation `{word}`")),
        }
    }

    /// A literal, if one follows.
    fn literal(&mut self) -> ParseResult<Option<Lit>> {
        let lit = match self.tok() {
            Tok::Str(s) => Lit::Str(Rc::from(s.as_str())),
            Tok::Num(n) => match number(n) {
                Some(l) => l,
                None => return self.expected("a number"),
            },
            Tok::Word(w) => match w.as_str() {
                "true" => Lit::Bool(true),
                "false" => Lit::Bool(false),
                "inf" | "inff32" => match number(w) {
                    Some(l) => l,
                    None => return Ok(None),
                },
                w => match w.strip_prefix("nanx").and_then(nan) {
                    Some(l) => l,
                    None => return Ok(None),
                },
            },
            Tok::Tick(..) | Tok::Sign(_) | Tok::End => return Ok(None),
        };
        self.at += 1;
        Ok(Some(lit))
    }

    /// `(x, y)`.
    fn vars(&mut self) -> ParseResult<Vec<Var>> {
        self.two(Parser::var).map(|(vs, _)| vs)
    }

    fn elementwise(&mut self, word: &str) -> ParseResult<Option<Op>> {
        if let Some(u) = Un::by_word(word) {
            let u = match u {
                UnByWord::Plain(u) => u,
                UnByWord::Parameter(make) => self.parameter(make)?,
            };
            return Ok(Some(Op::Un(u, self.var()?)));
        }
        if let Some(b) = Bin::ALL.iter().find(|b| b.word() == word) {
            return Ok(Some(Op::Bin(*b, self.var()?, self.var()?)));
        }
        if let Some(c) = Cmp::ALL.iter().find(|c| c.word() == word) {
            return Ok(Some(Op::Cmp(*c, self.var()?, self.var()?)));
        }
        if let Some(c) = names::CONVS.iter().find(|c| names::conv(**c) == word) {
            return Ok(Some(Op::Convert(*c, self.var()?)));
        }
        Ok(None)
    }

    /// The numeric parameter of an operator.
    fn parameter(&mut self, make: fn(i64) -> Option<Un>) -> ParseResult<Un> {
        let n = match self.tok() {
            Tok::Num(n) => n.parse().ok().and_then(make),
            _ => None,
        };
        match n {
            Some(n) => {
                self.at += 1;
                Ok(n)
            }
            None => self.expected("a number"),
        }
    }

    fn contract(&mut self) -> ParseResult<Op> {
        let all = [Terms::Mul, Terms::Scale, Terms::Scaled];
        let Some(terms) = all.into_iter().find(|t| self.take_word(names::terms(*t))) else {
            return self.expected("`mul`, `scale` or `scaled`");
        };
        let (a, left) = (self.var()?, self.take_word("turned"));
        let (b, right) = (self.var()?, self.take_word("turned"));
        let size = [self.var()?, self.var()?, self.var()?];
        Ok(Op::Contract(Box::new(Contract { terms, a, b, size, turned: [left, right] })))
    }

    /// Operations whose text form has more than operands: built-ins, contractions, data, control flow, calls, reductions.
    fn structured(&mut self, word: &str) -> ParseResult<Option<Op>> {
        if let Some(kind) = names::SOACS.iter().find(|k| names::soac(**k) == word) {
            let neutral = self.vars()?;
            self.word("over")?;
            let arrays = self.vars()?;
            return Ok(Some(Op::Soac(Box::new(Soac { kind: *kind, op: self.block()?, neutral, arrays }))));
        }
        Ok(Some(match word {
            "prim" => {
                let place = self.at;
                let name = self.name()?;
                let Some(p) = Prim::by_word(&name) else {
                    return self.error_at(place, format!("there is no built-in `{name}`"));
                };
                Op::Prim(p, self.many()?)
            }
            "contract" => self.contract()?,
            "construct" => {
                let (data, tag) = self.constructor()?;
                Op::Construct { data, tag, fields: self.many()? }
            }
            "destruct" => {
                let (data, tag) = self.constructor()?;
                Op::Destruct { a: self.var()?, data, tag }
            }
            "if" => {
                let c = self.var()?;
                let a = self.branch()?;
                self.word("else")?;
                Op::If(c, Box::new(a), Box::new(self.branch()?))
            }
            "switch" => {
                let d = self.var()?;
                let mut arms = Vec::new();
                while self.take("|") {
                    arms.push(self.block()?);
                }
                self.word("end")?;
                Op::Switch(d, arms)
            }
            "loop" => self.trip()?,
            "call" => self.call()?,
            "reduce_by_index" => self.by_index()?,
            _ => return Ok(None),
        }))
    }

    fn branch(&mut self) -> ParseResult<crate::func::Block> {
        if self.is("(") { self.block() } else { self.braces() }
    }

    fn trip(&mut self) -> ParseResult<Op> {
        let trip = if self.take_word("while") {
            Trip::While(self.block()?)
        } else {
            self.word("for")?;
            Trip::Count(self.var()?)
        };
        let reverse = self.take_word("reverse");
        let (init, lin_init) = if self.take_word("carry") { self.two(Parser::var)? } else { Default::default() };
        let (xs, lin_xs) = if self.take_word("over") { self.two(Parser::var)? } else { Default::default() };
        let (outs, lin_outs) = if self.take_word("out") { self.two(Parser::out)? } else { Default::default() };
        let body = self.block()?;
        Ok(Op::Loop(Box::new(Loop { trip, reverse, init, lin_init, xs, lin_xs, outs, lin_outs, body })))
    }

    fn out(&mut self) -> ParseResult<Out> {
        for o in names::OUTS {
            if self.take_word(names::out(*o)) {
                return Ok(*o);
            }
        }
        self.expected("`collect`, `boxed` or `sum`")
    }

    fn call(&mut self) -> ParseResult<Op> {
        let f = self.function_ref()?;
        let (args, lin_args) = self.two(Parser::var)?;
        let mut rule = None;
        for (word, kind) in [("jvp", RuleKind::Jvp), ("vjp", RuleKind::Vjp), ("inverse", RuleKind::Inverse)] {
            if self.take_word(word) {
                rule = Some(Rule { kind, func: self.function_ref()? });
            }
        }
        Ok(Op::Call { f, args, lin_args, rule, checkpoint: self.take_word("checkpoint") })
    }

    fn by_index(&mut self) -> ParseResult<Op> {
        let dest = self.vars()?;
        self.word("neutral")?;
        let neutral = self.vars()?;
        self.word("keys")?;
        let keys = self.var()?;
        self.word("values")?;
        let values = self.vars()?;
        Ok(Op::ReduceByIndex { dest, op: Box::new(self.block()?), neutral, keys, values })
    }
}

/// A number. Floats have a point, an exponent or are named; the suffix `f32` marks 32-bit ones.
fn number(text: &str) -> Option<Lit> {
    if let Some(short) = text.strip_suffix("f32") {
        return short.parse().ok().map(Lit::F32);
    }
    if let Ok(n) = text.parse::<i64>() {
        return Some(Lit::I64(n));
    }
    let float = text.contains('.') || text.contains('e') || text.contains("inf");
    if float { text.parse().ok().map(Lit::F64) } else { None }
}

/// A nan with its bits: 16 hexadecimal digits, or 8 for 32-bit ones.
fn nan(bits: &str) -> Option<Lit> {
    match bits.len() {
        16 => u64::from_str_radix(bits, 16).ok().map(|b| Lit::F64(f64::from_bits(b))),
        8 => u32::from_str_radix(bits, 16).ok().map(|b| Lit::F32(f32::from_bits(b))),
        _ => None,
    }
}

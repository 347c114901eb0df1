//! Parser of variables: their spelling, bindings and uses.

use super::lex::Tok;
use super::{ParseResult, Parser};
use crate::func::{Role, Var, VarInfo};
use crate::ty::Ty;
use std::rc::Rc;

/// A variable as written in the text.
#[derive(Clone, PartialEq)]
pub(super) struct WrittenVar {
    number: u32,
    name: Option<Rc<str>>,
    pub(super) linear: bool,
}

impl Parser {
    /// Builds the table of variables. An error if a use does not match its binding.
    pub(super) fn finish_vars(&mut self) -> ParseResult<Vec<VarInfo>> {
        for (w, at) in &self.uses {
            match self.vars.get(w.number as usize) {
                Some(Some(info)) if info.name == w.name && info.linear == w.linear => {}
                Some(Some(_)) => {
                    return self.error_at(*at, format!("variable {} has another name where it is bound", w.number));
                }
                _ => return self.error_at(*at, format!("variable {} is not bound anywhere", w.number)),
            }
        }
        // Variables that the plain style does not print.
        let hidden = || VarInfo::new(Ty::Bool, false);
        Ok(std::mem::take(&mut self.vars).into_iter().map(|v| v.unwrap_or_else(hidden)).collect())
    }

    /// The variable written here, if there is one, and its number of tokens.
    pub(super) fn written(&self) -> Option<(WrittenVar, usize)> {
        let (name, number) = match self.tok() {
            Tok::Tick(name, n) => (Some(Rc::from(name.as_str())), *n),
            Tok::Word(w) => match w.rsplit_once('_') {
                Some((name, n)) => (Some(Rc::from(name)), digits(n)?),
                None => (None, digits(w.strip_prefix('v')?)?),
            },
            _ => return None,
        };
        let linear = matches!(self.ahead(1), Tok::Sign("~"));
        Some((WrittenVar { number, name, linear }, 1 + usize::from(linear)))
    }

    /// Whether the results of a statement start here.
    pub(super) fn at_binding(&self) -> bool {
        self.written().is_some_and(|(_, n)| matches!(self.ahead(n), Tok::Sign(":")))
    }

    /// A binding `x_3: f64`.
    pub(super) fn binding(&mut self) -> ParseResult<Var> {
        let Some((written, n)) = self.written() else { return self.expected("a variable") };
        if written.number > self.most {
            return self.expected("a smaller number of a variable");
        }
        let place = self.at;
        self.at += n;
        self.sign(":")?;
        let ty = self.ty()?;
        let info = VarInfo { ty, linear: written.linear, name: written.name, role: self.role() };
        let i = written.number as usize;
        if self.vars.len() <= i {
            self.vars.resize(i + 1, None);
        }
        if self.vars[i].as_ref().is_some_and(|old| *old != info) {
            return self.error_at(place, format!("variable {i} is bound twice, differently"));
        }
        self.vars[i] = Some(info);
        Ok(Var(written.number))
    }

    fn role(&mut self) -> Role {
        let role = match self.tok() {
            Tok::Word(w) if w == "step" => Role::Step,
            Tok::Word(w) if w == "derivative" => Role::Derivative,
            _ => return Role::Operation,
        };
        self.at += 1;
        role
    }

    /// A use of a variable.
    pub(crate) fn var(&mut self) -> ParseResult<Var> {
        let Some((w, n)) = self.written() else { return self.expected("a variable") };
        let number = w.number;
        self.uses.push((w, self.at));
        self.at += n;
        Ok(Var(number))
    }

    /// Uses of variables, as many as follow.
    pub(crate) fn many(&mut self) -> ParseResult<Vec<Var>> {
        let mut out = Vec::new();
        while self.written().is_some() && !self.at_binding() {
            out.push(self.var()?);
        }
        Ok(out)
    }
}

fn digits(n: &str) -> Option<u32> {
    if n.bytes().all(|b| b.is_ascii_digit()) { n.parse().ok() } else { None }
}

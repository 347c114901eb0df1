//! Operands as the rows of [`crate::rows`] list them: how each kind is traversed, printed and parsed.

use crate::collective::Collective;
use crate::func::Var;
use crate::op::Trip;
use crate::parse::{ParseResult, Parser};
use crate::print::{self, Printer};
use crate::ty::Ty;
use std::fmt::Write;

/// A part of an operation that may hold variables. Nested blocks are not visited.
pub(crate) trait Operand {
    /// Calls `f` with each variable.
    fn visit(&self, f: &mut dyn FnMut(Var));
    /// Calls `f` with a reference to each variable.
    fn visit_mut(&mut self, f: &mut dyn FnMut(&mut Var));
}

/// A part of an operation in the text form. `label` is the literal beside the operand in its row.
pub(crate) trait Written: Sized {
    /// Prints the part with a blank before it.
    fn print(&self, printer: &Printer, label: &str, out: &mut String);
    /// Parses what `print` prints.
    fn parse(parser: &mut Parser, label: &str) -> ParseResult<Self>;
}

impl Operand for Var {
    fn visit(&self, f: &mut dyn FnMut(Var)) {
        f(*self);
    }
    fn visit_mut(&mut self, f: &mut dyn FnMut(&mut Var)) {
        f(self);
    }
}

impl Operand for [Var] {
    fn visit(&self, f: &mut dyn FnMut(Var)) {
        self.iter().copied().for_each(f);
    }
    fn visit_mut(&mut self, f: &mut dyn FnMut(&mut Var)) {
        self.iter_mut().for_each(f);
    }
}

impl Operand for Option<Var> {
    fn visit(&self, f: &mut dyn FnMut(Var)) {
        self.as_slice().visit(f);
    }
    fn visit_mut(&mut self, f: &mut dyn FnMut(&mut Var)) {
        self.as_mut_slice().visit_mut(f);
    }
}

impl Operand for Trip {
    fn visit(&self, f: &mut dyn FnMut(Var)) {
        if let Trip::Count(count) = self {
            f(*count);
        }
    }
    fn visit_mut(&mut self, f: &mut dyn FnMut(&mut Var)) {
        if let Trip::Count(count) = self {
            f(count);
        }
    }
}

/// Parts of a row that hold no variables.
macro_rules! no_variables {
    ($($ty:ty),*) => { $(impl Operand for $ty {
        fn visit(&self, _: &mut dyn FnMut(Var)) {}
        fn visit_mut(&mut self, _: &mut dyn FnMut(&mut Var)) {}
    })* };
}

no_variables!(u32, bool, Ty, Collective);

impl Written for Var {
    fn print(&self, printer: &Printer, _: &str, out: &mut String) {
        let _ = write!(out, " {}", printer.var(*self));
    }
    fn parse(parser: &mut Parser, _: &str) -> ParseResult<Var> {
        parser.var()
    }
}

/// An optional operand is written behind its label.
impl Written for Option<Var> {
    fn print(&self, printer: &Printer, label: &str, out: &mut String) {
        if let Some(var) = self {
            let _ = write!(out, " {label} {}", printer.var(*var));
        }
    }
    fn parse(parser: &mut Parser, label: &str) -> ParseResult<Option<Var>> {
        if parser.take_word(label) { parser.var().map(Some) } else { Ok(None) }
    }
}

/// With the label `"[]"` a list is written `[x, y]`, else as variables up to the next word.
impl Written for Vec<Var> {
    fn print(&self, printer: &Printer, label: &str, out: &mut String) {
        if label == "[]" {
            let _ = write!(out, " [{}]", printer.vars(self, ", "));
        } else {
            self.iter().for_each(|var| var.print(printer, label, out));
        }
    }
    fn parse(parser: &mut Parser, label: &str) -> ParseResult<Vec<Var>> {
        if label != "[]" {
            return parser.many();
        }
        parser.sign("[")?;
        let vars = parser.list(&["]"], Parser::var)?;
        parser.sign("]")?;
        Ok(vars)
    }
}

/// The number of an axis.
impl Written for u32 {
    fn print(&self, _: &Printer, _: &str, out: &mut String) {
        let _ = write!(out, " {self}");
    }
    fn parse(parser: &mut Parser, _: &str) -> ParseResult<u32> {
        parser.nat()
    }
}

/// A flag is its label, or nothing.
impl Written for bool {
    fn print(&self, _: &Printer, label: &str, out: &mut String) {
        if *self {
            let _ = write!(out, " {label}");
        }
    }
    fn parse(parser: &mut Parser, label: &str) -> ParseResult<bool> {
        Ok(parser.take_word(label))
    }
}

impl Written for Collective {
    fn print(&self, _: &Printer, _: &str, out: &mut String) {
        let _ = write!(out, " {}", self.word());
    }
    fn parse(parser: &mut Parser, _: &str) -> ParseResult<Collective> {
        match Collective::ALL.into_iter().find(|kind| parser.take_word(kind.word())) {
            Some(kind) => Ok(kind),
            None => parser.expected("a kind of collective"),
        }
    }
}

impl Written for Ty {
    fn print(&self, _: &Printer, _: &str, out: &mut String) {
        let _ = write!(out, " {}", print::ty(self));
    }
    fn parse(parser: &mut Parser, _: &str) -> ParseResult<Ty> {
        parser.ty()
    }
}

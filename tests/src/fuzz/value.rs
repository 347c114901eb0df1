//! Values of the reference, and operations on all numbers in a value.

use super::ast::{FuzzExpr, Name};
use super::number::Num;
use std::rc::Rc;

/// A value. It borrows the bodies of functions from the program.
#[derive(Clone)]
pub enum FuzzVal<'a> {
    /// A number.
    Num(Num),
    /// A whole number.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// An array.
    Array(Rc<Vec<FuzzVal<'a>>>),
    /// A tuple or record.
    Tuple(Rc<Vec<FuzzVal<'a>>>),
    /// Declared data.
    Con(&'static str, Rc<Vec<FuzzVal<'a>>>),
    /// A function.
    Fun(Rc<FuzzFun<'a>>),
}

/// A function.
pub enum FuzzFun<'a> {
    /// `fun x -> body` with its environment.
    Closure(&'a Name, &'a FuzzExpr, Env<'a>),
    /// A library function with the arguments given so far.
    Library(&'a str, Vec<FuzzVal<'a>>),
    /// The composition of two functions.
    Compose(FuzzVal<'a>, FuzzVal<'a>),
    /// A function with the same values, such as from `checkpoint` or a correct custom derivative rule.
    Same(FuzzVal<'a>),
}

/// An environment, innermost binding first.
pub type Env<'a> = Option<Rc<Binding<'a>>>;

/// A binding.
pub struct Binding<'a> {
    /// The name.
    pub name: &'a Name,
    /// Its value.
    pub value: FuzzVal<'a>,
    /// The enclosing environment.
    pub outer: Env<'a>,
}

/// The environment with one name more.
pub fn bind<'a>(env: &Env<'a>, name: &'a Name, value: FuzzVal<'a>) -> Env<'a> {
    Some(Rc::new(Binding { name, value, outer: env.clone() }))
}

/// The value of a name.
pub fn find<'a>(env: &Env<'a>, name: &Name) -> Option<FuzzVal<'a>> {
    let mut at = env.as_ref();
    while let Some(b) = at {
        if b.name == name {
            return Some(b.value.clone());
        }
        at = b.outer.as_ref();
    }
    None
}

impl<'a> FuzzVal<'a> {
    /// A number without tangents.
    pub fn flat(x: f64) -> FuzzVal<'a> {
        FuzzVal::Num(Num::Flat(x))
    }

    /// An array.
    pub fn array(vs: Vec<FuzzVal<'a>>) -> FuzzVal<'a> {
        FuzzVal::Array(Rc::new(vs))
    }

    /// A pair.
    pub fn pair(a: FuzzVal<'a>, b: FuzzVal<'a>) -> FuzzVal<'a> {
        FuzzVal::Tuple(Rc::new(vec![a, b]))
    }

    /// Replaces each number; functions and discrete parts are unchanged.
    pub fn map(&self, f: &mut impl FnMut(&Num) -> Num) -> FuzzVal<'a> {
        let mut all = |vs: &[FuzzVal<'a>]| Rc::new(vs.iter().map(|v| v.map(f)).collect::<Vec<_>>());
        match self {
            FuzzVal::Num(n) => FuzzVal::Num(f(n)),
            FuzzVal::Array(vs) => FuzzVal::Array(all(vs)),
            FuzzVal::Tuple(vs) => FuzzVal::Tuple(all(vs)),
            FuzzVal::Con(c, vs) => FuzzVal::Con(c, all(vs)),
            _ => self.clone(),
        }
    }

    /// Its numbers, in order.
    pub fn numbers(&self) -> Vec<Num> {
        let mut out = Vec::new();
        self.map(&mut |n| {
            out.push(n.clone());
            n.clone()
        });
        out
    }

    /// The value with its numbers replaced.
    pub fn with(&self, numbers: &[Num]) -> FuzzVal<'a> {
        let mut rest = numbers.iter();
        self.map(&mut |n| rest.next().unwrap_or(n).clone())
    }

    /// The words that are compared with adl's output: numbers, truth values, constructors.
    pub fn words(&self, out: &mut Vec<String>) {
        match self {
            FuzzVal::Num(n) => out.push(format!("{:?}", n.value())),
            FuzzVal::Int(i) => out.push(i.to_string()),
            FuzzVal::Bool(b) => out.push(b.to_string()),
            FuzzVal::Array(vs) | FuzzVal::Tuple(vs) => vs.iter().for_each(|v| v.words(out)),
            FuzzVal::Con(c, vs) => {
                if !["Cons", "Nil"].contains(c) {
                    out.push((*c).to_owned());
                }
                vs.iter().for_each(|v| v.words(out));
            }
            FuzzVal::Fun(_) => out.push("<fun>".to_owned()),
        }
    }
}

//! Values of the reference, and operations on all numbers in a value.

use super::ast::{Expr, Name};
use super::number::Num;
use std::rc::Rc;

/// A value. It borrows the bodies of functions from the program.
#[derive(Clone)]
pub enum Val<'a> {
    /// A number.
    Num(Num),
    /// A whole number.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// An array.
    Array(Rc<Vec<Val<'a>>>),
    /// A tuple or record.
    Tuple(Rc<Vec<Val<'a>>>),
    /// Declared data.
    Con(&'static str, Rc<Vec<Val<'a>>>),
    /// A function.
    Fun(Rc<Fun<'a>>),
}

/// A function.
pub enum Fun<'a> {
    /// `fun x -> body` with its environment.
    Closure(&'a Name, &'a Expr, Env<'a>),
    /// A library function with the arguments given so far.
    Library(&'a str, Vec<Val<'a>>),
    /// The composition of two functions.
    Compose(Val<'a>, Val<'a>),
    /// A function with the same values, such as from `checkpoint` or a correct custom derivative rule.
    Same(Val<'a>),
}

/// An environment, innermost binding first.
pub type Env<'a> = Option<Rc<Bound<'a>>>;

/// A binding.
pub struct Bound<'a> {
    /// The name.
    pub name: &'a Name,
    /// Its value.
    pub value: Val<'a>,
    /// The enclosing environment.
    pub outer: Env<'a>,
}

/// The environment with one name more.
pub fn bind<'a>(env: &Env<'a>, name: &'a Name, value: Val<'a>) -> Env<'a> {
    Some(Rc::new(Bound { name, value, outer: env.clone() }))
}

/// The value of a name.
pub fn find<'a>(env: &Env<'a>, name: &Name) -> Option<Val<'a>> {
    let mut at = env.as_ref();
    while let Some(b) = at {
        if b.name == name {
            return Some(b.value.clone());
        }
        at = b.outer.as_ref();
    }
    None
}

impl<'a> Val<'a> {
    /// A number without tangents.
    pub fn flat(x: f64) -> Val<'a> {
        Val::Num(Num::Flat(x))
    }

    /// An array.
    pub fn array(vs: Vec<Val<'a>>) -> Val<'a> {
        Val::Array(Rc::new(vs))
    }

    /// A pair.
    pub fn pair(a: Val<'a>, b: Val<'a>) -> Val<'a> {
        Val::Tuple(Rc::new(vec![a, b]))
    }

    /// Replaces each number; functions and discrete parts are unchanged.
    pub fn map(&self, f: &mut impl FnMut(&Num) -> Num) -> Val<'a> {
        let mut all = |vs: &[Val<'a>]| Rc::new(vs.iter().map(|v| v.map(f)).collect::<Vec<_>>());
        match self {
            Val::Num(n) => Val::Num(f(n)),
            Val::Array(vs) => Val::Array(all(vs)),
            Val::Tuple(vs) => Val::Tuple(all(vs)),
            Val::Con(c, vs) => Val::Con(c, all(vs)),
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
    pub fn with(&self, numbers: &[Num]) -> Val<'a> {
        let mut rest = numbers.iter();
        self.map(&mut |n| rest.next().unwrap_or(n).clone())
    }

    /// The words that are compared with adl's output: numbers, truth values, constructors.
    pub fn words(&self, out: &mut Vec<String>) {
        match self {
            Val::Num(n) => out.push(format!("{:?}", n.value())),
            Val::Int(i) => out.push(i.to_string()),
            Val::Bool(b) => out.push(b.to_string()),
            Val::Array(vs) | Val::Tuple(vs) => vs.iter().for_each(|v| v.words(out)),
            Val::Con(c, vs) => {
                if !["Cons", "Nil"].contains(c) {
                    out.push((*c).to_owned());
                }
                vs.iter().for_each(|v| v.words(out));
            }
            Val::Fun(_) => out.push("<fun>".to_owned()),
        }
    }
}

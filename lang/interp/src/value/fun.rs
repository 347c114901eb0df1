//! Functions as values.

use super::Value;
use super::drop::release;
use crate::ad::linear_map::LinearMap;
use crate::error::Res;
use crate::vm::code::Code;
use crate::vm::code_list::CodeList;
use adl_prim::Prim;
use adl_syntax::symbol::Symbol;
use std::rc::Rc;

/// A function value.
pub enum Fun {
    /// A primitive with its hidden arguments.
    Prim(Prim, Vec<Value>),
    /// Code with captured values.
    Closure(Rc<Code>, Vec<Value>),
    /// A member of a recursive group.
    Member(Rc<RecursiveGroup>, u32),
    /// A partial application.
    Partial(Rc<Fun>, Vec<Value>),
    /// A derivative, or the transpose of a linear function.
    Linear(LinearMap),
    /// `custom_jvp` (or `custom_vjp`, if true) of a function and a rule.
    Custom(Value, Value, bool),
    /// `checkpoint f`.
    Checkpoint(Value),
    /// `invertible {op, lift, lower, inverse}`.
    Invertible(Value),
    /// A function of the program that embeds adl.
    Host(HostFun),
}

/// A function of the program that embeds adl. It has no derivative.
pub struct HostFun {
    /// Its name, for messages.
    pub name: String,
    /// Its number of arguments.
    pub arity: usize,
    /// Its type as text.
    pub ty: String,
    /// Computes it from values without tapes.
    pub call: Box<dyn Fn(&[Value]) -> Res<Value>>,
}

/// A group of mutually recursive functions, with their captured values. Member functions are created on demand,
/// so that there are no reference cycles.
pub struct RecursiveGroup {
    /// The code of the members.
    pub codes: CodeList,
    /// Captured values, shared by all members.
    pub captured: Vec<Value>,
}

impl Drop for RecursiveGroup {
    fn drop(&mut self) {
        release(&mut self.captured);
    }
}

impl Drop for Fun {
    fn drop(&mut self) {
        match self {
            Fun::Closure(_, vals) | Fun::Partial(_, vals) | Fun::Prim(_, vals) => {
                if !vals.is_empty() {
                    release(vals);
                }
            }
            Fun::Custom(a, b, _) => release(&mut vec![std::mem::take(a), std::mem::take(b)]),
            Fun::Checkpoint(a) | Fun::Invertible(a) => release(&mut vec![std::mem::take(a)]),
            Fun::Member(..) | Fun::Linear(_) | Fun::Host(_) => {}
        }
    }
}

impl std::fmt::Debug for Fun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<fun{} : {}>", self.called(), self.type_text())
    }
}

impl Fun {
    /// Its type as text, as far as it is known.
    pub fn type_text(&self) -> String {
        match self {
            Fun::Prim(p, _) => {
                let (adl_prim::Typing::Scheme(t) | adl_prim::Typing::Elementwise(t) | adl_prim::Typing::Special(t)) =
                    p.row().typing;
                t.to_owned()
            }
            Fun::Closure(c, _) => c.ty.clone(),
            Fun::Member(g, i) => g.codes[*i as usize].ty.clone(),
            Fun::Partial(f, args) => {
                // Remove one arrow for each argument that is already applied.
                let mut t = f.type_text();
                for _ in args {
                    t = after_arrow(&t).unwrap_or(t);
                }
                t
            }
            Fun::Linear(_) => "a -o b".into(),
            Fun::Custom(f, ..) | Fun::Checkpoint(f) => match f {
                Value::Fun(f) => f.type_text(),
                _ => "a -> b".into(),
            },
            Fun::Invertible(_) => "a -> a -> a".into(),
            Fun::Host(h) => h.ty.clone(),
        }
    }

    /// A space and the name of the function, or that of the enclosing definition; empty if it has none. `…`
    /// stands for arguments that are already applied.
    pub fn called(&self) -> String {
        let of = |name: Option<Symbol>| name.map_or(String::new(), |n| format!(" {n}"));
        match self {
            // Names that begin with `__` are internal.
            Fun::Prim(p, _) => {
                Some(p.name()).filter(|n| !n.starts_with("__")).map_or(String::new(), |n| format!(" {n}"))
            }
            Fun::Closure(c, _) => of(c.name),
            Fun::Member(g, i) => of(g.codes[*i as usize].name),
            Fun::Partial(f, args) => match f.called() {
                name if name.is_empty() => name,
                name => name + &" …".repeat(args.len()),
            },
            Fun::Custom(Value::Fun(f), ..) | Fun::Checkpoint(Value::Fun(f)) => f.called(),
            Fun::Host(h) => format!(" {}", h.name),
            Fun::Linear(_) | Fun::Custom(..) | Fun::Checkpoint(_) | Fun::Invertible(_) => String::new(),
        }
    }

    /// Number of arguments that are still to be applied.
    pub fn arity(&self) -> usize {
        match self {
            Fun::Prim(p, _) => p.row().arity as usize,
            Fun::Closure(c, _) => c.params as usize,
            Fun::Member(g, i) => g.codes[*i as usize].params as usize,
            Fun::Partial(f, args) => f.arity().saturating_sub(args.len()),
            Fun::Linear(_) | Fun::Custom(..) | Fun::Checkpoint(_) => 1,
            Fun::Invertible(_) => 2,
            Fun::Host(h) => h.arity,
        }
    }
}

/// The text after the first arrow outside brackets.
fn after_arrow(t: &str) -> Option<String> {
    let t = t.split_once("=> ").map_or(t, |(_, t)| t);
    let mut depth = 0i32;
    for (i, c) in t.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '-' if depth == 0 && (t[i..].starts_with("-> ") || t[i..].starts_with("-o ")) => {
                return Some(t[i + 3..].to_owned());
            }
            _ => {}
        }
    }
    None
}

//! Prints the declarations of types and constructors.

use crate::Session;
use adl_syntax::symbol::Symbol;
use adl_typing::env::{Alias, TypeName};
use adl_typing::print::TypePrinter;
use adl_typing::ty::{DataDecl, DataId, Ty, TyVar};
use std::rc::Rc;

/// `type Tree a = Leaf | Node (Tree a) a (Tree a)`.
pub(crate) fn declaration(d: &DataDecl) -> String {
    let mut printer = TypePrinter::default();
    let head = printer.ty(&applied(d.id, &d.params));
    // A constructor with its fields is printed like a type with its arguments.
    let cons: Vec<String> =
        d.cons.iter().map(|c| printer.ty(&Ty::Data(DataId(d.id.0, c.name), c.fields.clone().into()))).collect();
    if cons.is_empty() { format!("type {head}") } else { format!("type {head} = {}", cons.join(" | ")) }
}

/// The type of the constructor with a tag.
pub(crate) fn constructor(d: &DataDecl, tag: u32) -> Option<String> {
    let con = d.cons.iter().find(|c| c.tag == tag)?;
    let arrow = |to: Ty, from: &Ty| Ty::Fun(Rc::new(from.clone()), Rc::new(to));
    Some(TypePrinter::default().ty(&con.fields.iter().rev().fold(applied(d.id, &d.params), arrow)))
}

/// What a type name was declared as.
pub(crate) fn type_name(name: Symbol, t: &TypeName) -> String {
    match t {
        TypeName::Data(d) => declaration(d),
        TypeName::Alias(a) => alias(name, a),
    }
}

fn alias(name: Symbol, a: &Alias) -> String {
    let mut printer = TypePrinter::default();
    let head = printer.ty(&applied(DataId(0, name), &a.params));
    format!("type alias {head} = {}", printer.ty(&a.body))
}

/// A type applied to its parameters.
fn applied(name: DataId, params: &[TyVar]) -> Ty {
    Ty::Data(name, params.iter().map(|v| Ty::Var(*v)).collect())
}

impl Session {
    /// Whether an entry or a loaded file declared a type or constructor of this name.
    pub(crate) fn declares(&self, name: &str) -> bool {
        let name = Symbol::new(name);
        self.env.types.contains_key(&name) || self.env.cons.contains_key(&name)
    }

    /// The declaration of a type, also of a module's. For a constructor, also its type.
    pub(crate) fn declared(&mut self, name: &str) -> Option<String> {
        let (module, symbol) = match name.rsplit_once('.') {
            Some((module, member)) => (Some(self.module_named(module)?), Symbol::new(member)),
            None => (None, Symbol::new(name)),
        };
        let env = module.as_deref().unwrap_or(&self.env);
        match (env.type_name(symbol).cloned(), env.con(symbol).cloned()) {
            (Some(t), _) => Some(type_name(symbol, &t)),
            (None, Some((d, tag))) => Some(format!("{name} : {}\n\n{}", constructor(&d, tag)?, declaration(&d))),
            (None, None) => None,
        }
    }
}

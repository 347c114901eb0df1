//! Prints the declarations of types and constructors.

use crate::Session;
use adl_syntax::symbol::Symbol;
use adl_typing::env::{Alias, TypeName};
use adl_typing::print::Printer;
use adl_typing::ty::{DataDecl, DataId, Ty, TyVar};

/// `type Tree a = Leaf | Node (Tree a) a (Tree a)`.
fn declaration(d: &DataDecl) -> String {
    let mut printer = Printer::default();
    let head = printer.ty(&applied(d.id, &d.params));
    // A constructor with its fields is printed like a type with its arguments.
    let cons: Vec<String> = d.cons.iter().map(|c| printer.ty(&Ty::Data(DataId(d.id.0, c.name), c.fields.clone().into()))).collect();
    if cons.is_empty() { format!("type {head}") } else { format!("type {head} = {}", cons.join(" | ")) }
}

fn alias(name: Symbol, a: &Alias) -> String {
    let mut printer = Printer::default();
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

    /// The declaration of a type. For a constructor, also its type.
    pub(crate) fn declared(&mut self, name: &str) -> Option<String> {
        let symbol = Symbol::new(name);
        match (self.env.type_name(symbol).cloned(), self.env.con(symbol).cloned()) {
            (Some(TypeName::Data(d)), _) => Some(declaration(&d)),
            (Some(TypeName::Alias(a)), _) => Some(alias(symbol, &a)),
            (None, Some((d, _))) => {
                let ty = self.type_of(name).ok()?;
                Some(format!("{name} : {ty}\n\n{}", declaration(&d)))
            }
            (None, None) => None,
        }
    }
}

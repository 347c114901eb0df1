//! What is in scope: the results of earlier items.

use crate::core::GlobalId;
use crate::ty::{DataDecl, DataId, Scheme, SizeVar, Ty, TyVar};
use adl_prim::Prim;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::collections::HashMap;
use std::rc::Rc;

/// A top-level value.
#[derive(Clone, Debug)]
pub struct Global {
    /// Its id.
    pub id: GlobalId,
    /// Its scheme.
    pub scheme: Rc<Scheme>,
    /// Where it is defined.
    pub span: Span,
    /// Doc comment.
    pub doc: Option<Rc<str>>,
    /// The primitive that it is only another name of (`let uniform = __rand_uniform`).
    pub alias: Option<Prim>,
    /// The parameters of the function that is written in its definition; 0 if none is.
    pub arity: usize,
}

/// A type name.
#[derive(Clone, Debug)]
pub enum TypeName {
    /// `type`.
    Data(Rc<DataDecl>),
    /// `type alias`.
    Alias(Rc<Alias>),
}

/// A type alias. Its body holds no inference variables, since those belong to one item.
#[derive(Clone, Debug)]
pub struct Alias {
    /// Type parameters.
    pub params: Vec<TyVar>,
    /// Parts that the declaration leaves open (`_`, `..`, types with errors), which each use makes anew; whether each is the rest of a record.
    pub open: Vec<(TyVar, bool)>,
    /// Sizes that the declaration names, which each use makes anew.
    pub sizes: Vec<SizeVar>,
    /// What it stands for.
    pub body: Ty,
}

/// A persistent map: a copy takes constant time, and adding a name to a copy leaves the original as it is.
pub type Names<T> = rpds::HashTrieMap<Symbol, T>;

/// Names in scope, after each item.
#[derive(Clone, Debug, Default)]
pub struct Env {
    /// Values.
    pub values: Names<Global>,
    /// Types.
    pub types: Names<TypeName>,
    /// Constructors.
    pub cons: Names<(Rc<DataDecl>, u32)>,
    /// Imported modules by alias.
    pub modules: Names<Rc<Env>>,
    /// What is visible below: the prelude.
    pub base: Option<Rc<Env>>,
    /// Names that a definition with errors would have bound: silent.
    pub broken: Names<Span>,
}

impl Env {
    /// A value by name, the base included.
    pub fn value(&self, name: Symbol) -> Option<&Global> {
        self.values.get(&name).or_else(|| self.base.as_ref().and_then(|b| b.value(name)))
    }

    /// A type by name.
    pub fn type_name(&self, name: Symbol) -> Option<&TypeName> {
        self.types.get(&name).or_else(|| self.base.as_ref().and_then(|b| b.type_name(name)))
    }

    /// A constructor by name.
    pub fn con(&self, name: Symbol) -> Option<&(Rc<DataDecl>, u32)> {
        self.cons.get(&name).or_else(|| self.base.as_ref().and_then(|b| b.con(name)))
    }

    /// Refines the type of a value after it was run.
    pub fn set_type(&mut self, name: Symbol, scheme: Scheme) {
        if let Some(g) = self.values.get(&name) {
            let g = Global { scheme: Rc::new(scheme), ..g.clone() };
            self.values.insert_mut(name, g);
        }
    }
}

/// The element type of a column of a CSV file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Column {
    Int, Float, Bool, Text,
}

/// Why a data file has no type: the error's code and text.
pub type NoHeader = (&'static str, String);

/// What checking asks of the world.
pub trait CheckHost {
    /// Names (as identifiers) and types of a CSV file's columns.
    fn csv_header(&mut self, path: &str) -> Result<Vec<(String, Column)>, NoHeader>;
    /// Element type and shape of the arrays of an NPY or NPZ file; the name is empty for NPY.
    fn npy_header(&mut self, path: &str) -> Result<Vec<(String, Column, Vec<u64>)>, NoHeader>;
    /// A standard module, loaded on first use.
    fn std_module(&mut self, name: &str) -> Option<Rc<Env>>;
    /// The 1-based line of a place, with the file's name where that is not `near`'s: `line 3`.
    fn line(&self, span: Span, near: Span) -> String;
    /// The source text of a place.
    fn text(&self, span: Span) -> &str;
    /// The source text behind a place, to the end of its line.
    fn rest(&self, span: Span) -> &str;
    /// The names of the standard modules.
    fn std_modules(&self) -> Vec<&'static str>;
    /// The standard modules that have a member of a name.
    fn std_homes(&self, name: &str) -> Vec<&'static str>;
    /// The standard module that defines a name which is in scope everywhere.
    fn prelude_home(&mut self, name: &str) -> Option<&'static str>;
}

/// Counters and tables that live as long as a session.
#[derive(Default)]
pub struct Tables {
    /// Next global.
    pub globals: u32,
    /// Next type variable.
    pub vars: u32,
    /// Next size variable.
    pub sizes: u32,
    /// Declared types.
    pub datas: HashMap<DataId, Rc<DataDecl>>,
    /// Types declared since this list was last taken.
    pub declared: Vec<DataId>,
    /// Unknown names of the text at hand for which a near one was looked for.
    pub looked_for: usize,
    /// Where types are declared.
    pub places: HashMap<DataId, Span>,
    /// Where the type of what is read is left to the uses of a function: the operation.
    pub reads: HashMap<TyVar, (Span, &'static str)>,
    /// Derivatives at a type that is left to the uses of a function: by a variable of that type, the type and the operator.
    pub points: HashMap<TyVar, Vec<(Ty, &'static str)>>,
    /// Functions that are computed, whose types were decided by default.
    pub(crate) computed: HashMap<Symbol, crate::infer::Computed>,
    /// How often something else was tried where arguments do not fit.
    pub tried: usize,
    /// Names that definitions of the text at hand give, with the places of the names and of the definitions.
    pub defined: HashMap<Symbol, Vec<(Span, Span)>>,
}

impl Tables {
    /// A new global.
    pub fn global(&mut self) -> GlobalId {
        self.globals += 1;
        GlobalId(self.globals - 1)
    }

    /// A new type variable.
    pub fn var(&mut self) -> TyVar {
        self.vars += 1;
        TyVar(self.vars - 1)
    }

    /// Adds a declared type, or completes it.
    pub(crate) fn declare(&mut self, decl: Rc<DataDecl>) {
        self.declared.push(decl.id);
        self.datas.insert(decl.id, decl);
    }

    /// A new size variable.
    pub fn size(&mut self) -> SizeVar {
        self.sizes += 1;
        SizeVar(self.sizes - 1)
    }
}

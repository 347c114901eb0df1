//! The environment: names defined by earlier items.

use crate::core::GlobalId;
use crate::ty::{DataDecl, DataId, Scheme, SizeVar, Ty, TyVar};
use adl_prim::{IoFn, Prim};
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
    /// The primitive that this name is an alias of (`let uniform = __rand_uniform`).
    pub alias: Option<Prim>,
    /// The number of parameters if the definition is a function literal; 0 otherwise.
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
    /// Parts that the declaration leaves open (`_`, `..`, types with errors), each with whether it is a row variable.
    /// Every use of the alias instantiates them afresh.
    pub open: Vec<(TyVar, bool)>,
    /// Sizes that the declaration names; every use instantiates them afresh.
    pub sizes: Vec<SizeVar>,
    /// The aliased type.
    pub body: Ty,
}

/// A persistent map: copying takes constant time, and extending a copy leaves the original unchanged.
pub type NameMap<T> = rpds::HashTrieMap<Symbol, T>;

/// Names in scope, after each item.
#[derive(Clone, Debug, Default)]
pub struct Env {
    /// Values.
    pub values: NameMap<Global>,
    /// Types.
    pub types: NameMap<TypeName>,
    /// Constructors.
    pub cons: NameMap<(Rc<DataDecl>, u32)>,
    /// Imported modules by alias.
    pub modules: NameMap<Rc<Env>>,
    /// The enclosing scope, which every lookup falls back to: the prelude.
    pub base: Option<Rc<Env>>,
    /// Names whose definitions had errors. Uses of them are not reported again.
    pub broken: NameMap<Span>,
}

impl Env {
    /// Looks a value up by name, in the base too.
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

    /// Replaces the type of a value by a more precise one after it was evaluated.
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
    Int,
    Float,
    Bool,
    Text,
}

/// The type of the rows of a data file.
#[derive(Clone, PartialEq, Debug)]
pub enum RowType {
    /// A record of columns: their names, as identifiers, and element types.
    Record(Vec<(String, Column)>),
    /// A number, or an array of this shape.
    Numbers(Column, Vec<u64>),
}

/// Why the type of a data file could not be determined: the error's code and text.
pub type NoHeader = (&'static str, String);

/// What type checking needs from its host: headers of data files, standard modules, source text.
pub trait CheckHost {
    /// Names (as identifiers) and types of the columns of a file in the format of `reader`.
    fn table_header(&mut self, reader: IoFn, path: &str) -> Result<Vec<(String, Column)>, NoHeader>;
    /// Element type and shape of the arrays of an NPY or NPZ file; the name is empty for NPY.
    fn npy_header(&mut self, path: &str) -> Result<Vec<(String, Column, Vec<u64>)>, NoHeader>;
    /// The type of the rows of a table that is read chunk by chunk.
    fn row_type(&mut self, _path: &str) -> Result<RowType, NoHeader> {
        Err(("E0801", "there are no files here".to_owned()))
    }
    /// A standard module, loaded on first use.
    fn std_module(&mut self, name: &str) -> Option<Rc<Env>>;
    /// The 1-based line of a span as text (`line 3`), with the file's name if it differs from `near`'s.
    fn line(&self, span: Span, near: Span) -> String;
    /// The source text of a place.
    fn text(&self, span: Span) -> &str;
    /// The source text from the end of a span to the end of its line.
    fn rest(&self, span: Span) -> &str;
    /// The names of the standard modules.
    fn std_modules(&self) -> Vec<&'static str>;
    /// The standard modules that have a member of this name.
    fn std_homes(&self, name: &str) -> Vec<&'static str>;
    /// The standard module that defines a name of the prelude.
    fn prelude_home(&mut self, name: &str) -> Option<&'static str>;
}

/// The definition of a function that was computed.
#[derive(Clone, Debug)]
pub(crate) struct Computed {
    /// Its name.
    pub name: Span,
    /// Its value.
    pub body: Span,
    /// Its type when it was defined.
    pub ty: Ty,
    /// Whether the value is a call or a name, to which an argument can be added.
    pub applied: bool,
}

impl Computed {
    /// Moves its places.
    pub fn shift(&mut self, by: crate::Moved<'_>) {
        (self.name, self.body, self.ty) = (by(self.name), by(self.body), crate::moved::ty(&self.ty, by));
    }
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
    /// Types declared since this list was last emptied.
    pub declared: Vec<DataId>,
    /// The number of unknown names in the current text for which similar names were searched.
    pub looked_for: usize,
    /// The places of the declarations.
    pub places: HashMap<DataId, Span>,
    /// Operations that read data whose type is decided at each use of the enclosing function, by that type variable.
    pub reads: HashMap<TyVar, (Span, &'static str)>,
    /// Derivatives at types that are decided at each use of the enclosing function: for each type variable, the types
    /// and operators.
    pub points: HashMap<TyVar, Vec<(Ty, &'static str)>>,
    /// Functions that are computed, whose types were decided by default.
    pub(crate) computed: HashMap<Symbol, Computed>,
    /// How often something else was tried where arguments do not fit.
    pub tried: usize,
    /// The definitions that are functions.
    pub(crate) functions: crate::linear::Definitions,
    /// Names that the current text defines, each with the spans of the name and of its definition.
    pub defined: HashMap<Symbol, Vec<(Span, Span)>>,
}

impl Tables {
    /// Allocates a global.
    pub fn global(&mut self) -> GlobalId {
        self.globals += 1;
        GlobalId(self.globals - 1)
    }

    /// Allocates a type variable.
    pub fn var(&mut self) -> TyVar {
        self.vars += 1;
        TyVar(self.vars - 1)
    }

    /// Releases the functions of definitions that are not kept.
    pub fn release(&mut self, kept: impl Fn(GlobalId) -> bool) {
        self.functions.retain(|id, _| kept(*id));
    }

    /// Adds a declared type, or completes it.
    pub(crate) fn declare(&mut self, decl: Rc<DataDecl>) {
        self.declared.push(decl.id);
        self.datas.insert(decl.id, decl);
    }

    /// Allocates a size variable.
    pub fn size(&mut self) -> SizeVar {
        self.sizes += 1;
        SizeVar(self.sizes - 1)
    }
}

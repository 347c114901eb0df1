//! What each name of a text refers to, as far as the text alone says: for editors.
//!
//! Names that the text does not bind are [`Meaning::Free`]: they belong to the library, to earlier cells, or to nothing.
//! Type inference has its own rules of scope (`lang/typing`); a test compares both.
//!
//! [`resolve`] walks the tree with a stack of names in scope. `walk` has the forms of expressions, `binders` what patterns,
//! types and definitions bind.

mod binders;
mod walk;

use crate::ast::{ImportSource, Item, ItemKind, Program};
use crate::span::Span;
use crate::symbol::Symbol;
use std::collections::HashMap;

/// The kinds of names. Each kind has its own scope.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum NameKind {
    /// A variable or a top-level value.
    Value,
    /// A declared type.
    Type,
    /// A type variable of an annotation or declaration.
    TypeVariable,
    /// A size that an annotation names.
    Size,
    /// A constructor.
    Constructor,
    /// A module, by its alias.
    Module,
    /// A field of a record.
    Field,
}

/// What a name refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// The name bound at this place of the text.
    Here(Span),
    /// A member of the module that is imported under this name.
    Member(Symbol),
    /// Not bound in this text.
    Free,
}

/// How a name is bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binder {
    /// By a top-level item.
    Item,
    /// By a `let` in a block.
    Let,
    /// As a parameter of a function.
    Parameter,
    /// As a parameter of `lin`.
    Linear,
    /// In a pattern for the elements that a comprehension or loop runs over.
    Element,
    /// As an index of a comprehension or loop.
    Index,
    /// By another pattern, or by an annotation.
    Pattern,
}

/// A name at a place.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Occurrence {
    /// The name as written.
    pub name: Symbol,
    /// Where it stands.
    pub span: Span,
    /// What kind of name it is.
    pub kind: NameKind,
    /// What it refers to; for a binder, itself.
    pub meaning: Meaning,
    /// Set where the name is bound.
    pub binder: Option<Binder>,
    /// Whether it also stands for a record field of this name, as in `{x}`.
    pub punned: bool,
}

/// All names of a text, in source order.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Sorted by place.
    pub all: Vec<Occurrence>,
    /// The last top-level definition of each name.
    pub exports: HashMap<(NameKind, Symbol), Span>,
}

impl Names {
    /// The names at a position, which may be at the end of a name.
    pub fn at(&self, pos: u32) -> impl Iterator<Item = &Occurrence> {
        self.all.iter().filter(move |o| o.span.lo <= pos && pos <= o.span.hi)
    }

    /// All places of the name that is bound at `span`, whose file is that of the names.
    pub fn of(&self, span: Span) -> impl Iterator<Item = &Occurrence> {
        let same = move |s: Span| (s.lo, s.hi) == (span.lo, span.hi);
        self.all.iter().filter(move |o| matches!(o.meaning, Meaning::Here(s) if same(s)))
    }

    /// The binder at a place.
    pub fn binder(&self, span: Span) -> Option<&Occurrence> {
        self.all.iter().find(|o| (o.span.lo, o.span.hi) == (span.lo, span.hi) && o.binder.is_some())
    }
}

/// Finds what each name of a text refers to. `library` says which lower-case names are standard modules.
pub fn resolve(program: &Program, library: &dyn Fn(Symbol) -> bool) -> Names {
    let mut resolver = Resolver::new(library);
    program.items.iter().for_each(|item| resolver.item(item));
    resolver.out.sort_by_key(|o| (o.span.lo, o.span.hi));
    Names { all: resolver.out, exports: resolver.top }
}

/// The local variables in scope where a marker stands as a variable, innermost first, with the places that bind them.
/// Of variables of one name only the innermost counts.
pub fn in_scope(program: &Program, marker: Symbol) -> Vec<(Symbol, Span)> {
    let mut resolver = Resolver { marker: Some(marker), ..Resolver::new(&|_| false) };
    program.items.iter().for_each(|item| resolver.item(item));
    resolver.seen
}

struct Resolver<'a> {
    /// Local names, innermost last.
    scope: Vec<(NameKind, Symbol, Span)>,
    top: HashMap<(NameKind, Symbol), Span>,
    out: Vec<Occurrence>,
    library: &'a dyn Fn(Symbol) -> bool,
    /// The variable whose scope is asked for.
    marker: Option<Symbol>,
    /// What is in scope there.
    seen: Vec<(Symbol, Span)>,
}

impl<'a> Resolver<'a> {
    fn new(library: &'a dyn Fn(Symbol) -> bool) -> Resolver<'a> {
        Resolver { scope: Vec::new(), top: HashMap::new(), out: Vec::new(), library, marker: None, seen: Vec::new() }
    }

    /// Notes the variables in scope.
    fn look_around(&mut self) {
        for (kind, name, span) in self.scope.iter().rev() {
            if *kind == NameKind::Value && !self.seen.iter().any(|(n, _)| n == name) {
                self.seen.push((*name, *span));
            }
        }
    }
}

impl Resolver<'_> {
    fn item(&mut self, item: &Item) {
        match &item.kind {
            ItemKind::Let(group) => self.top_let(group),
            ItemKind::Types(decls) => self.declarations(decls),
            ItemKind::Import { what, alias } => {
                if let ImportSource::Std(name) = what {
                    self.push(name.name, name.span, NameKind::Module, Meaning::Free, None);
                }
                if let Some(a) = alias {
                    self.define(NameKind::Module, a.name, a.span);
                }
            }
            ItemKind::Test { body, .. } | ItemKind::Bench { body, .. } | ItemKind::Expr(body) => self.expr(body),
            ItemKind::Error => {}
        }
        self.scope.clear();
    }

    fn push(&mut self, name: Symbol, span: Span, kind: NameKind, meaning: Meaning, binder: Option<Binder>) {
        self.out.push(Occurrence { name, span, kind, meaning, binder, punned: false });
    }

    /// Binds a top-level name.
    fn define(&mut self, kind: NameKind, name: Symbol, span: Span) {
        self.top.insert((kind, name), span);
        self.push(name, span, kind, Meaning::Here(span), Some(Binder::Item));
    }

    /// Binds a local name.
    fn bind(&mut self, kind: NameKind, name: Symbol, span: Span, how: Binder) {
        self.scope.push((kind, name, span));
        self.push(name, span, kind, Meaning::Here(span), Some(how));
    }

    fn find(&self, kind: NameKind, name: Symbol) -> Option<Span> {
        let local = self.scope.iter().rev().find(|(k, n, _)| *k == kind && *n == name);
        local.map(|(_, _, s)| *s).or_else(|| self.top.get(&(kind, name)).copied())
    }

    /// A use of a name.
    fn name(&mut self, kind: NameKind, name: Symbol, span: Span) {
        if self.marker == Some(name) {
            self.look_around();
        }
        let meaning = self.find(kind, name).map_or(Meaning::Free, Meaning::Here);
        self.push(name, span, kind, meaning, None);
    }

    /// A use of a name that may stand behind the name of a module.
    fn member(&mut self, module: Option<crate::ast::Ident>, kind: NameKind, name: crate::ast::Ident) {
        let Some(module) = module else { return self.name(kind, name.name, name.span) };
        self.name(NameKind::Module, module.name, module.span);
        self.push(name.name, name.span, kind, Meaning::Member(module.name), None);
    }

    /// Runs `f`; the names that it binds are out of scope behind it.
    fn within(&mut self, f: impl FnOnce(&mut Self)) {
        let scope = self.scope.len();
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || f(self));
        self.scope.truncate(scope);
    }
}

/// Calls `f` on each local definition in an expression, in source order.
pub fn each_binding<'e>(e: &'e crate::ast::Expr, f: &mut dyn FnMut(&'e crate::ast::Binding)) {
    walk::each_expr(e, &mut |e| {
        if let crate::ast::ExprKind::Block(stmts) = &e.kind {
            for s in stmts {
                if let crate::ast::Stmt::Let(group, _) = s {
                    group.bindings.iter().for_each(&mut *f);
                }
            }
        }
    });
}

pub use walk::{children, each_expr};

//! Parts of the state of [`super::Infer`] that belong together: what annotations say, hidden parameters, the forms
//! around an expression, and what can be checked only when all types are known.

use crate::core::{self, Local};
use crate::ty::{Class, Constraint, RecordTy, SizeVar, Ty, TyVar};
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::collections::HashMap;
use std::rc::Rc;

/// What the annotations in scope name and require.
#[derive(Clone, Default)]
pub(super) struct Annotations {
    /// Type variables, by name.
    pub types: HashMap<Symbol, Ty>,
    /// Size variables, by name, with the local that holds each.
    pub sizes: HashMap<Symbol, (SizeVar, Option<Local>)>,
    /// The names of size variables.
    pub size_labels: HashMap<SizeVar, Symbol>,
    /// Classes and names of rigid variables.
    pub rigid: HashMap<TyVar, (Vec<Class>, Symbol)>,
    /// Type variables with the place of their first use.
    pub promised: Vec<(Symbol, Ty, Span)>,
    /// Operator constraints of the signatures of the enclosing definitions.
    pub given: Vec<Constraint>,
}

impl Annotations {
    /// Whether an annotation in scope names this size variable.
    pub fn names_size(&self, var: SizeVar) -> bool {
        self.sizes.values().any(|(named, _)| *named == var)
    }

    /// The name that an annotation in scope gives a size variable, and the local that holds it.
    pub fn size_name(&self, var: SizeVar) -> Option<(Symbol, Option<Local>)> {
        self.sizes.iter().find(|(_, (named, _))| *named == var).map(|(name, (_, local))| (*name, *local))
    }
}

/// A member of a recursive group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum RecKey {
    Local(Local),
    Global(core::GlobalId),
}

/// The locals of hidden parameters: representations of types, and sizes that those contain.
#[derive(Clone, Default)]
pub(super) struct HiddenParams {
    /// Locals of size variables.
    pub sizes: HashMap<SizeVar, Local>,
    /// Locals of generalised variables.
    pub reps: HashMap<TyVar, Local>,
    /// The variables for which the members of recursive groups take parameters.
    pub groups: HashMap<RecKey, Vec<TyVar>>,
}

/// The definitions, functions and comprehensions around the expression that is being inferred.
#[derive(Clone, Default)]
pub(super) struct Enclosing {
    /// The number of functions.
    pub functions: usize,
    /// The names of the definitions, with whether each is a function. A name is in scope only if it is recursive.
    pub defining: Vec<(Symbol, Span, bool)>,
    /// The variables of the comprehension before the bound or source that is being inferred.
    pub indices: Vec<Symbol>,
    /// The nesting depth of forms that make types deeper.
    pub depth: usize,
}

/// What is checked when all types of an item are known.
#[derive(Default)]
pub(super) struct FinalChecks {
    /// Data that must have a real leaf, with the operation that requires it.
    pub spaces: Vec<(Ty, Span, &'static str)>,
    /// Points of derivatives, which must have a real leaf.
    pub points: Vec<(Ty, Span, &'static str)>,
    /// Uses of functions whose read operations have an undetermined type, with those operations.
    pub reads: HashMap<Span, (Span, &'static str)>,
}

/// Final types, each computed once however often it occurs in the item.
#[derive(Default)]
pub(super) struct FinalTypes {
    pub metas: HashMap<u32, Ty>,
    /// By address. The record is kept alive so that its address is not reused.
    pub records: HashMap<*const RecordTy, (Rc<RecordTy>, Ty)>,
    pub tuples: HashMap<*const Ty, (Rc<[Ty]>, Ty)>,
    /// Whether a type of the item mentions `Each`.
    pub each: bool,
}

/// State of a trial.
#[derive(Clone, Default)]
pub(super) struct Trial {
    /// Set inside a trial. Trials are not nested.
    pub on: bool,
    /// The type of the argument that was added.
    pub hole: Option<Ty>,
}

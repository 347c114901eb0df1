//! Inference: AST → Core with metas, then zonking.
//!
//! Hindley–Milner by levels, bidirectional where that determines lambda parameters early. Class constraints are
//! attached to metas. Arithmetic creates *operator constraints* ([`ops`]), which wait until an operand's type is known.
//! Constraints that remain when a function is generalised become part of its scheme; each use decides them.

mod along;
mod annot;
mod apply;
mod argument_trials;
mod binary;
mod broadcast;
mod common_mistakes;
mod comprehensions;
mod control;
mod data;
mod defaulted;
mod deferred;
mod each;
mod exprs;
mod fill;
mod foreign_syntax;
mod generalise;
mod indexing;
mod items;
mod jacobians;
mod lets;
mod linear_arrows;
mod masks;
mod names;
mod op_constraints;
mod open_records;
mod ops;
mod pats;
mod places;
mod powers;
mod products;
mod redeclared_types;
mod scope;
mod shape_examples;
mod signature_constraints;
mod sizes;
mod slices;
mod special;
mod state;
mod trials;
mod unify;
mod unify_errors;
mod unknown_rank;
mod updates;
mod variables;
mod zonk;

pub use items::{CheckedItem, check_item, inspect_item};
pub use places::Places;
pub use shape_examples::example_shapes;
pub use trials::definitions;

use crate::core::{self, CoreLit, ExprKind, Local};
pub(crate) use crate::core::{mk, pending};
use crate::env::{CheckHost, Env, Tables};
use crate::print::TypePrinter;
use crate::ty::{Class, DataId, Scheme, Size, Ty};
pub(crate) use crate::ty::{array, fun, map_type};
use adl_prim::Prim;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use op_constraints::DeferredOps;
use scope::BoundName;
use state::{Annotations, Enclosing, FinalChecks, FinalTypes, HiddenParams, RecKey, Trial};
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::rc::Rc;
use variables::InferenceVariables;

pub(crate) struct Infer<'a> {
    env: Env,
    tables: &'a mut Tables,
    host: &'a mut dyn CheckHost,
    /// Whether names that begin with `__` are visible.
    internal: bool,
    vars: InferenceVariables,
    scope: scope::Scope,
    locals: u32,
    ops: DeferredOps,
    diags: Vec<Diagnostic>,
    annotated: Annotations,
    hidden: HiddenParams,
    enclosing: Enclosing,
    at_end: FinalChecks,
    /// The final forms of inference variables and records.
    finals: FinalTypes,
    /// State of a trial inference, if this is one.
    trial: Trial,
    /// The types of places, if an editor asks for them.
    places: Option<places::Recorder>,
}

impl<'a> Infer<'a> {
    fn new(env: &Env, tables: &'a mut Tables, host: &'a mut dyn CheckHost, internal: bool) -> Infer<'a> {
        Infer {
            env: env.clone(),
            tables,
            host,
            internal,
            vars: InferenceVariables::default(),
            scope: scope::Scope::default(),
            locals: 0,
            ops: DeferredOps::default(),
            diags: Vec::new(),
            annotated: Annotations::default(),
            hidden: HiddenParams::default(),
            enclosing: Enclosing::default(),
            at_end: FinalChecks::default(),
            finals: FinalTypes::default(),
            trial: Trial::default(),
            places: None,
        }
    }

    fn local(&mut self) -> Local {
        self.locals += 1;
        Local(self.locals - 1)
    }

    fn meta(&mut self) -> Ty {
        self.vars.fresh()
    }

    /// Requires that a meta is a number.
    fn make_scalar(&mut self, t: &Ty) {
        if let Ty::Meta(m) = self.resolve(t)
            && !self.vars[m].scalar
        {
            self.vars[m].scalar = true;
            self.wake(m);
        }
    }

    /// Marks operators that wait for a meta as ready.
    fn wake(&mut self, m: u32) {
        self.ops.wake(m);
    }

    /// A fresh meta for a number.
    fn number(&mut self, class: Class, span: Span, what: &'static str) -> Ty {
        let t = self.meta();
        if let Ty::Meta(m) = t {
            self.vars[m].classes.push((class, span, what));
            self.vars[m].scalar = true;
        }
        t
    }

    fn size_meta(&mut self) -> Size {
        self.vars.fresh_size()
    }

    fn report(&mut self, d: Diagnostic) {
        let again =
            self.diags.iter().any(|e| e.code == d.code && e.primary.span == d.primary.span && e.message == d.message);
        if self.diags.len() < 200 && !again {
            self.diags.push(d);
        }
    }

    /// A placeholder for an expression with an error; its type unifies with everything.
    fn error_expr(&mut self, span: Span) -> core::Expr {
        let ty = self.meta();
        mk(ExprKind::Lit(CoreLit::Unit), ty, span)
    }

    fn show(&self, t: &Ty) -> String {
        self.show_marked(t, &HashMap::new())
    }

    /// A type as text, with marks that distinguish declared types of the same name.
    fn show_marked(&self, t: &Ty, marks: &HashMap<DataId, String>) -> String {
        let t = self.resolve_deep(t);
        let mut numbers = Vec::new();
        let alone = matches!(t, Ty::Meta(_));
        // A single number is shown as the type it would default to; numbers of undetermined type are shown as
        // variables.
        let ty = map_type(
            &t,
            &mut |t| match t {
                Ty::Meta(m) if self.vars[*m].scalar => {
                    let classes = &self.vars[*m].classes;
                    if classes.iter().any(|c| c.0 == Class::Real) {
                        return Some(Ty::Float);
                    }
                    if alone || classes.iter().any(|c| c.2 == "a number") {
                        return Some(Ty::Int);
                    }
                    if !numbers.contains(m) {
                        numbers.push(*m);
                    }
                    None
                }
                _ => None,
            },
            &mut |s| s,
        );
        let mut p = TypePrinter::default();
        p.mark(marks);
        // The most recent annotations are named first: they belong to the current function.
        let mut written: Vec<_> = self.annotated.rigid.iter().map(|(v, (_, name))| (*v, *name)).collect();
        written.sort_unstable_by_key(|(v, _)| Reverse(*v));
        written.into_iter().for_each(|(v, name)| p.name_var(v, name.as_str()));
        let mut sizes: Vec<_> = self.annotated.size_labels.iter().map(|(v, name)| (*v, *name)).collect();
        sizes.sort_unstable_by_key(|(v, _)| Reverse(*v));
        sizes.into_iter().for_each(|(v, name)| p.name_size(v, name.as_str()));
        let text = p.ty(&ty);
        let numbers: Vec<String> = numbers.into_iter().map(|m| format!("Num {}", p.ty(&Ty::Meta(m)))).collect();
        match numbers.as_slice() {
            [] => text,
            [one] => format!("{one} => {text}"),
            _ => format!("({}) => {text}", numbers.join(", ")),
        }
    }

    fn resolve(&self, t: &Ty) -> Ty {
        self.vars.resolve(t)
    }

    fn resolve_size(&self, s: Size) -> Size {
        self.vars.resolve_size(s)
    }

    fn resolve_deep(&self, t: &Ty) -> Ty {
        self.vars.resolve_deep(t)
    }

    /// The primitive of this name, if it is not shadowed.
    fn prim_named(&self, name: Symbol) -> Option<Prim> {
        if self.lookup(name).is_some() {
            return None;
        }
        match self.env.value(name) {
            Some(g) => g.alias,
            None => self.visible_prim(name),
        }
    }

    fn visible_prim(&self, name: Symbol) -> Option<Prim> {
        let text = name.as_str();
        if text.starts_with("__") && !self.internal {
            return None;
        }
        Prim::by_name(text).filter(|_| text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text != "neg")
    }

    fn lookup(&self, name: Symbol) -> Option<&BoundName> {
        self.scope.find(name)
    }

    fn bind_mono(&mut self, name: Symbol, local: Local, ty: Ty) {
        self.scope.push(BoundName {
            name,
            local,
            scheme: Rc::new(Scheme::mono(ty)),
            recursive: None,
            size: None,
            arity: 0,
            closed: Cell::default(),
        });
    }
}

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
mod control;
mod data;
mod defaulted;
mod deferred;
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
mod trials;
mod unify;
mod unify_errors;
mod unknown_rank;
mod updates;
mod zonk;

pub(crate) use defaulted::Computed;
pub use items::{CheckedItem, check_item, inspect_item};
pub use places::Places;
pub use shape_examples::example_shapes;
pub(crate) use signature_constraints::spelling;
pub use trials::definitions;
pub(crate) use unify::implies;

use crate::core::{self, ExprKind, Lit, Local, Rep};
use crate::env::{CheckHost, Env, Tables};
use crate::print::Printer;
use crate::ty::{Class, Constraint, DataId, Scheme, Size, SizeVar, Ty, TyVar};
use adl_prim::Prim;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use scope::Bound;
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::rc::Rc;

/// An inference variable.
#[derive(Clone, Debug)]
struct Meta {
    bound: Option<Ty>,
    level: u32,
    /// Each with the place and the operation that require it.
    classes: Vec<(Class, Span, &'static str)>,
    /// It is a number: a literal, or an operand after defaulting.
    scalar: bool,
    /// The user's name for it.
    name: Option<Symbol>,
    /// It is a row variable.
    row: bool,
    /// An array of this type keeps its type when elements are appended: its length is not part of the type.
    grows: bool,
}

pub(crate) struct Infer<'a> {
    env: Env,
    tables: &'a mut Tables,
    host: &'a mut dyn CheckHost,
    /// Whether names that begin with `__` are visible.
    internal: bool,
    metas: Vec<Meta>,
    sizes: Vec<Option<Size>>,
    size_levels: Vec<u32>,
    scope: scope::Scope,
    level: u32,
    locals: u32,
    ops: deferred::DeferredOps,
    diags: Vec<Diagnostic>,
    /// Type variables named in annotations.
    type_names: HashMap<Symbol, Ty>,
    /// Size variables named in annotations, with the local that holds each.
    size_names: HashMap<Symbol, (SizeVar, Option<Local>)>,
    /// The names of size variables in annotations.
    size_labels: HashMap<SizeVar, Symbol>,
    /// Locals of size variables, for representations.
    size_locals: HashMap<SizeVar, Local>,
    /// Hidden parameters of generalised variables.
    rep_locals: HashMap<TyVar, Local>,
    /// Hidden parameters of the members of recursive groups.
    rec_reps: HashMap<RecKey, Vec<TyVar>>,
    /// Classes of rigid variables.
    rigid: HashMap<TyVar, (Vec<Class>, Symbol)>,
    /// Type variables of annotations, with the place of their first use.
    promised: Vec<(Symbol, Ty, Span)>,
    /// Operator constraints of the signatures of the enclosing definitions.
    given: Vec<Constraint>,
    /// The other indices of the comprehension whose bound is being inferred.
    beside: Vec<Symbol>,
    /// Data that must have a real leaf, checked when all types are known.
    spaces: Vec<(Ty, Span, &'static str)>,
    /// Points of derivatives, which must have a real leaf.
    points: Vec<(Ty, Span, &'static str)>,
    /// The number of enclosing functions.
    functions: usize,
    /// Names of the definition being inferred: in scope only if it is recursive.
    defining: Vec<(Symbol, Span, bool)>,
    /// The nesting depth of forms that make types deeper.
    depth: usize,
    /// The lowest level at which variables of different levels were unified since [`Infer::settle_ops`] last ran.
    met_at: u32,
    /// The known fields of open records, by their first row variable.
    rows: HashMap<u32, open_records::OpenFields>,
    /// The final forms of inference variables and records.
    finals: zonk::FinalTypes,
    /// Uses of functions whose read operations have an undetermined type, with those operations.
    reads: HashMap<Span, (Span, &'static str)>,
    /// State of a trial inference, if this is one.
    trial: trials::Trial,
    /// The types of places, if an editor asks for them.
    places: Option<places::Recorder>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum RecKey {
    Local(Local),
    Global(core::GlobalId),
}

impl<'a> Infer<'a> {
    fn new(env: &Env, tables: &'a mut Tables, host: &'a mut dyn CheckHost, internal: bool) -> Infer<'a> {
        Infer {
            env: env.clone(),
            tables,
            host,
            internal,
            metas: Vec::new(),
            sizes: Vec::new(),
            size_levels: Vec::new(),
            scope: scope::Scope::default(),
            level: 0,
            locals: 0,
            ops: deferred::DeferredOps::default(),
            diags: Vec::new(),
            type_names: HashMap::new(),
            size_names: HashMap::new(),
            size_labels: HashMap::new(),
            size_locals: HashMap::new(),
            rep_locals: HashMap::new(),
            rec_reps: HashMap::new(),
            rigid: HashMap::new(),
            promised: Vec::new(),
            given: Vec::new(),
            beside: Vec::new(),
            spaces: Vec::new(),
            points: Vec::new(),
            functions: 0,
            defining: Vec::new(),
            depth: 0,
            met_at: u32::MAX,
            rows: HashMap::new(),
            finals: zonk::FinalTypes::default(),
            reads: HashMap::new(),
            trial: trials::Trial::default(),
            places: None,
        }
    }

    fn local(&mut self) -> Local {
        self.locals += 1;
        Local(self.locals - 1)
    }

    fn meta(&mut self) -> Ty {
        self.metas.push(Meta {
            bound: None,
            level: self.level,
            classes: Vec::new(),
            scalar: false,
            name: None,
            row: false,
            grows: false,
        });
        Ty::Meta(self.metas.len() as u32 - 1)
    }

    /// Requires that a meta is a number.
    fn make_scalar(&mut self, t: &Ty) {
        if let Ty::Meta(m) = self.resolve(t)
            && !self.metas[m as usize].scalar
        {
            self.metas[m as usize].scalar = true;
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
            self.metas[m as usize].classes.push((class, span, what));
            self.metas[m as usize].scalar = true;
        }
        t
    }

    fn size_meta(&mut self) -> Size {
        self.sizes.push(None);
        self.size_levels.push(self.level);
        Size::Meta(self.sizes.len() as u32 - 1)
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
        mk(ExprKind::Lit(Lit::Unit), ty, span)
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
                Ty::Meta(m) if self.metas[*m as usize].scalar => {
                    let classes = &self.metas[*m as usize].classes;
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
        let mut p = Printer::default();
        p.mark(marks);
        // The most recent annotations are named first: they belong to the current function.
        let mut written: Vec<_> = self.rigid.iter().map(|(v, (_, name))| (*v, *name)).collect();
        written.sort_unstable_by_key(|(v, _)| Reverse(*v));
        written.into_iter().for_each(|(v, name)| p.name_var(v, name.as_str()));
        let mut sizes: Vec<_> = self.size_labels.iter().map(|(v, name)| (*v, *name)).collect();
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

    /// Replaces bound metas at the top of a type.
    fn resolve(&self, t: &Ty) -> Ty {
        let mut t = t.clone();
        while let Ty::Meta(m) = t {
            match &self.metas[m as usize].bound {
                Some(b) => t = b.clone(),
                None => break,
            }
        }
        t
    }

    fn resolve_size(&self, s: Size) -> Size {
        let mut s = s;
        while let Size::Meta(m) = s {
            match self.sizes[m as usize] {
                Some(b) => s = b,
                None => break,
            }
        }
        s
    }

    /// Replaces all bound metas in a type.
    fn resolve_deep(&self, t: &Ty) -> Ty {
        let t = self.resolve(t);
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || {
            map_type(
                &t,
                &mut |t| match t {
                    Ty::Meta(_) => {
                        let r = self.resolve(t);
                        Some(if matches!(r, Ty::Meta(_)) { r } else { self.resolve_deep(&r) })
                    }
                    Ty::Record(r) if r.tail.is_some() => Some(self.joined_record(r)),
                    _ => None,
                },
                &mut |s| self.resolve_size(s),
            )
        })
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

    fn lookup(&self, name: Symbol) -> Option<&Bound> {
        self.scope.find(name)
    }

    fn bind_mono(&mut self, name: Symbol, local: Local, ty: Ty) {
        self.scope.push(Bound {
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

/// Builds an expression.
pub(crate) fn mk(kind: ExprKind, ty: Ty, span: Span) -> core::Expr {
    core::Expr { kind: Box::new(kind), ty, span }
}

/// A representation that zonking builds from a type when all metas are known.
fn pending(ty: &Ty) -> Rep {
    Rep::Base(ty.clone())
}

/// Rebuilds a type bottom-up: `f` may replace a node, `g` a size.
pub(crate) fn map_type(t: &Ty, f: &mut dyn FnMut(&Ty) -> Option<Ty>, g: &mut dyn FnMut(Size) -> Size) -> Ty {
    stacker::maybe_grow(32 * 1024, 1024 * 1024, || map_parts(t, f, g))
}

fn map_parts(t: &Ty, on_type: &mut dyn FnMut(&Ty) -> Option<Ty>, on_size: &mut dyn FnMut(Size) -> Size) -> Ty {
    if let Some(r) = on_type(t) {
        return r;
    }
    match t {
        Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str | Ty::Var(_) | Ty::Meta(_) => t.clone(),
        Ty::Fun(a, b) => Ty::Fun(Rc::new(map_type(a, on_type, on_size)), Rc::new(map_type(b, on_type, on_size))),
        Ty::Lin(a, b) => Ty::Lin(Rc::new(map_type(a, on_type, on_size)), Rc::new(map_type(b, on_type, on_size))),
        Ty::Tuple(parts) => Ty::Tuple(parts.iter().map(|p| map_type(p, on_type, on_size)).collect()),
        Ty::Array(n, e) => Ty::Array(on_size(*n), Rc::new(map_type(e, on_type, on_size))),
        Ty::Data(id, args) => Ty::Data(*id, args.iter().map(|a| map_type(a, on_type, on_size)).collect()),
        Ty::Record(r) => {
            let mut fields: Vec<(Symbol, Ty)> =
                r.fields.iter().map(|(n, t)| (*n, map_type(t, on_type, on_size))).collect();
            let mut tail = r.tail.as_ref().map(|t| map_type(t, on_type, on_size));
            // The fields of a row that is now known are merged.
            while let Some(Ty::Record(more)) = tail {
                fields.extend(more.fields.iter().cloned());
                tail = more.tail.clone();
            }
            fields.sort_by_key(|(n, _)| n.as_str());
            Ty::Record(Rc::new(crate::ty::RecordTy { fields, tail }))
        }
    }
}

/// `a -> b`.
pub(crate) fn fun(a: Ty, b: Ty) -> Ty {
    Ty::Fun(Rc::new(a), Rc::new(b))
}

/// `[n]a`.
pub(crate) fn array(n: Size, a: Ty) -> Ty {
    Ty::Array(n, Rc::new(a))
}

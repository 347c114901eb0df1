//! Defers values that are used only on slow paths: error messages of checks, and shapes of possible symbolic zeros.

use super::element_access::scalar_at;
use super::{BoundVar, Emit, group};
use crate::shims;
use adl_ir::{Block, Function, Lit, Op, Stmt, Ty, Var};
use adl_prim::{GeneralFn, Prim};
use cranelift_codegen::ir::Value;
use std::collections::{HashMap, HashSet};

/// The deferred values of a function.
#[derive(Default)]
pub(super) struct DeferredValues {
    /// Texts used only by failing checks, and the number of the constant of each.
    texts: HashSet<Var>,
    said: HashMap<Var, i64>,
    /// Shapes used only on slow paths, and the statement that computes each.
    pub(super) shapes: HashSet<Var>,
    asked: HashMap<Var, Stmt>,
}

impl DeferredValues {
    /// Finds the deferrable values of a function; none is bound yet.
    pub(super) fn of(f: &Function) -> DeferredValues {
        DeferredValues { texts: only_said(f), said: HashMap::new(), shapes: only_asked(f), asked: HashMap::new() }
    }
}

/// Literal texts that are used only by checks.
fn only_said(func: &Function) -> HashSet<Var> {
    fn of(block: &Block, texts: &mut HashSet<Var>, read: &mut HashSet<Var>) {
        for s in &block.stmts {
            match &s.op {
                Op::Lit(Lit::Str(_)) => texts.extend(&s.outs),
                Op::Prim(Prim::General(GeneralFn::Assert), _) if s.outs.is_empty() => {}
                op => op.each_operand(&mut |v| {
                    read.insert(v);
                }),
            }
            for part in s.op.blocks() {
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || of(part, texts, read));
            }
        }
        read.extend(block.results.iter().chain(&block.lin_results));
    }
    let (mut texts, mut read) = (HashSet::new(), HashSet::new());
    of(&func.body, &mut texts, &mut read);
    texts.retain(|v| !read.contains(v));
    texts
}

/// Shapes made of Ints that are used only by slow paths.
fn only_asked(func: &Function) -> HashSet<Var> {
    fn of(func: &Function, block: &Block, shapes: &mut HashSet<Var>, read: &mut HashSet<Var>) {
        for stmt in &block.stmts {
            if let (Op::ArrayLit { shape: None, .. }, [v]) = (&stmt.op, &stmt.outs[..]) {
                shapes.extend((*func.ty(*v) == Ty::shape()).then_some(*v));
            }
            let asked = shape_of(&stmt.op).filter(|_| has_fast_way(func, stmt));
            let mut times = 0;
            stmt.op.each_operand(&mut |v| {
                times += usize::from(asked == Some(v));
                if asked != Some(v) || times > 1 {
                    read.insert(v);
                }
            });
            for part in stmt.op.blocks() {
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || of(func, part, shapes, read));
            }
        }
        read.extend(block.results.iter().chain(&block.lin_results));
    }
    let (mut shapes, mut read) = (HashSet::new(), HashSet::new());
    of(func, &func.body, &mut shapes, &mut read);
    shapes.retain(|v| !read.contains(v));
    shapes
}

/// The shape operand that an operation needs if its array is a symbolic zero.
fn shape_of(op: &Op) -> Option<Var> {
    match op {
        Op::Index { shape, .. }
        | Op::IndexAdd { shape, .. }
        | Op::IndexSet { shape, .. }
        | Op::Slice { shape, .. }
        | Op::SliceAdd { shape, .. }
        | Op::ArrayLit { shape, .. } => *shape,
        _ => None,
    }
}

/// Whether an operation usually runs without calling the interpreter.
fn has_fast_way(f: &Function, s: &Stmt) -> bool {
    match &s.op {
        Op::ArrayLit { elems, .. } => elems.iter().all(|v| *f.ty(*v) == Ty::F64),
        Op::Index { a, at, .. } | Op::IndexAdd { acc: a, at, .. } | Op::IndexSet { acc: a, at, .. }
            if scalar_at(f.ty(*a), at.len()).is_some() =>
        {
            true
        }
        _ => group::member(f, s).is_some(),
    }
}

impl Emit<'_, '_, '_> {
    /// Defers a shape. Returns whether it is deferrable.
    pub(super) fn shape_later(&mut self, s: &Stmt) -> bool {
        let [v] = s.outs[..] else { return false };
        if !self.held.later.shapes.contains(&v) {
            return false;
        }
        self.held.later.asked.insert(v, s.clone());
        self.held.pinned.insert(v);
        self.vals[v.0 as usize] = Some(BoundVar { v: self.frame.ctx, view: None, row: None });
        true
    }

    /// Whether a variable is a deferred shape.
    pub(super) fn is_later(&self, v: Var) -> bool {
        self.held.later.asked.contains_key(&v)
    }

    /// Adds a text to the constants. Returns its number.
    pub(super) fn text(&mut self, t: &str) -> i64 {
        self.job.tables.consts.push(adl_interp::value::Value::Str(std::rc::Rc::new(t.into())));
        self.job.tables.consts.len() as i64 - 1
    }

    /// Defers a text. Returns whether it is deferrable.
    pub(super) fn later(&mut self, v: Var, t: &str) -> bool {
        if !self.held.later.texts.contains(&v) {
            return false;
        }
        let id = self.text(t);
        self.held.later.said.insert(v, id);
        self.held.pinned.insert(v);
        self.vals[v.0 as usize] = Some(BoundVar { v: self.frame.ctx, view: None, row: None });
        true
    }

    /// The number of a deferred text's constant.
    pub(super) fn said(&self, v: Var) -> Option<i64> {
        self.held.later.said.get(&v).copied()
    }

    /// Materialises a deferred text or shape.
    pub(super) fn say(&mut self, v: Var) -> Option<Value> {
        if let Some(s) = self.held.later.asked.get(&v).cloned() {
            return self.slow_lent(&s).first().copied();
        }
        let id = *self.held.later.said.get(&v)?;
        let id = self.int(id);
        self.runtime(shims::constant as *const u8, &[self.frame.ctx, id], 1)
    }
}

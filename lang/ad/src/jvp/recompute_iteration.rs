//! Recomputation of one iteration of a stateless loop, for the tangent of a single element of an array that the
//! loop collects.
//!
//! `minimum (map f xs)` needs the derivative of `f` at only one of the `xs`. J therefore recomputes the iteration
//! at that index and differentiates it. The tangents of the other iterations are dead code, the reverse pass needs
//! no array of cotangents that is almost all zeros, and the residuals of one iteration are stored instead of all.

use super::J;
use crate::limits::jvp_recompute_iteration::MOST;
use adl_ir::{Block, Function, Loop, Op, Out, Trip, Ty, Var};
use adl_specialise::Unsupported;
use std::collections::HashMap;
use std::rc::Rc;

/// Loops of which an iteration may be recomputed, and the number of readers of each array.
#[derive(Default)]
pub(crate) struct RecomputableLoops {
    /// For each collected array: the loop depth, the loop, and the index of the output.
    made: HashMap<Var, (u32, Rc<Loop>, usize)>,
    /// The number of operations that read more of an array than its extents.
    readers: HashMap<Var, usize>,
    /// Current loop depth.
    pub depth: u32,
    /// Whether an iteration is being recomputed. Recomputation is not nested.
    recomputing: bool,
}

impl RecomputableLoops {
    /// Counts the readers in a function, before J.
    pub fn of(src: &Function) -> RecomputableLoops {
        let mut t = RecomputableLoops::default();
        t.count(&src.body);
        t
    }

    fn count(&mut self, b: &Block) {
        b.results.iter().for_each(|v| *self.readers.entry(*v).or_default() += 1);
        for s in &b.stmts {
            if !matches!(s.op, Op::Dim(..) | Op::Shape(_)) {
                s.op.each_operand(&mut |v| *self.readers.entry(v).or_default() += 1);
            }
            s.op.blocks().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.count(b)));
        }
    }

    /// Records a loop of the source.
    pub fn note(&mut self, l: &Loop, outs: &[Var]) {
        let free = l.init.is_empty() && matches!(l.trip, Trip::Count(_));
        if !free || self.recomputing || size(&l.body) > MOST || crate::soac::has_output(&l.body) {
            return;
        }
        let mut shared = None;
        for (k, (v, out)) in outs.iter().zip(&l.outs).enumerate() {
            if *out != Out::Sum && self.readers.get(v) == Some(&1) {
                let l = shared.get_or_insert_with(|| Rc::new(l.clone())).clone();
                self.made.insert(*v, (self.depth, l, k));
            }
        }
    }
}

/// The number of statements of a block, nested ones included.
fn size(b: &Block) -> usize {
    let inside = |b: &Block| stacker::maybe_grow(64 * 1024, 1024 * 1024, || size(b));
    b.stmts.len() + b.stmts.iter().flat_map(|s| s.op.blocks()).map(inside).sum::<usize>()
}

impl J<'_> {
    /// The tangent of `a[i]`, where the index `i` is in bounds.
    pub(crate) fn tangent_at(&mut self, a: Var, i: Var, shape: Var, ty: Ty) -> Result<Var, Unsupported> {
        match self.recompute_iteration_at(a, i)? {
            Some(t) => Ok(t),
            None => {
                let t = self.tangent(a);
                Ok(self.b.lin(Op::Index { a: t, at: vec![i], shape: Some(shape) }, ty))
            }
        }
    }

    /// The same tangent by recomputing an iteration, if a loop collected the array and nothing else reads it.
    fn recompute_iteration_at(&mut self, a: Var, i: Var) -> Result<Option<Var>, Unsupported> {
        let Some((depth, ir_loop, position)) = self.turned.made.get(&a).cloned() else { return Ok(None) };
        if depth != self.turned.depth || self.turned.recomputing {
            return Ok(None);
        }
        self.turned.recomputing = true;
        self.b.open();
        let mut args = vec![i];
        for x in &ir_loop.xs {
            let ty = self.b.ty(*x).elem();
            args.push(self.b.one(Op::Index { a: *x, at: vec![i], shape: None }, ty));
        }
        let results = self.b.inline(&ir_loop.body, &args);
        let made = self.b.close(results, Vec::new());
        let done = self.derive_all(&made.stmts);
        self.turned.recomputing = false;
        done?;
        Ok(Some(self.tangent(made.results[position])))
    }
}

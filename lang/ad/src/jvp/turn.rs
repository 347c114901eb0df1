//! The tangent of one element of what a loop without state collects: that of the turn which makes it, done again.
//!
//! `minimum (map f xs)` needs the derivative of `f` at one of the `xs`. With the turn done again at that index, tangents of all others are
//! dead code, backwards no array of cotangents is nearly all zeros, and one turn's residuals are kept, not all.

use super::J;
use adl_ir::{Block, Function, Loop, Op, Out, Turns, Ty, Var};
use adl_specialise::Unsupported;
use std::collections::HashMap;
use std::rc::Rc;

/// Statements of a turn that is done again.
const MOST: usize = 48;

/// Loops whose turns may be done again, and how often arrays are read.
#[derive(Default)]
pub(crate) struct Turned {
    /// What a loop collects: how deep in loops that stands, the loop, and which of its outputs.
    made: HashMap<Var, (u32, Rc<Loop>, usize)>,
    /// How many operations read more of an array than extents.
    readers: HashMap<Var, usize>,
    /// Loops around.
    pub depth: u32,
    /// Whether a turn is being done again: then no other is inside.
    again: bool,
}

impl Turned {
    /// Before J of a function.
    pub fn of(src: &Function) -> Turned {
        let mut t = Turned::default();
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

    /// Notes a loop of the source.
    pub fn note(&mut self, l: &Loop, outs: &[Var]) {
        let free = l.init.is_empty() && matches!(l.turns, Turns::For(_));
        if !free || self.again || size(&l.body) > MOST || crate::soac::has_output(&l.body) {
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

/// Statements of a block and of those inside.
fn size(b: &Block) -> usize {
    let inside = |b: &Block| stacker::maybe_grow(64 * 1024, 1024 * 1024, || size(b));
    b.stmts.len() + b.stmts.iter().flat_map(|s| s.op.blocks()).map(inside).sum::<usize>()
}

impl J<'_> {
    /// The tangent of `a[i]`, which stands at an index within `a`.
    pub(crate) fn tangent_at(&mut self, a: Var, i: Var, shape: Var, ty: Ty) -> Result<Var, Unsupported> {
        match self.turn_again(a, i)? {
            Some(t) => Ok(t),
            None => {
                let t = self.tangent(a);
                Ok(self.b.lin(Op::Index { a: t, at: vec![i], shape: Some(shape) }, ty))
            }
        }
    }

    /// The same by doing a turn again, where one made it and nothing else reads the array.
    fn turn_again(&mut self, a: Var, i: Var) -> Result<Option<Var>, Unsupported> {
        let Some((depth, l, k)) = self.turned.made.get(&a).cloned() else { return Ok(None) };
        if depth != self.turned.depth || self.turned.again {
            return Ok(None);
        }
        self.turned.again = true;
        self.b.open();
        let mut args = vec![i];
        for x in &l.xs {
            let ty = self.b.ty(*x).elem();
            args.push(self.b.one(Op::Index { a: *x, at: vec![i], shape: None }, ty));
        }
        let results = self.b.inline(&l.body, &args);
        let made = self.b.close(results, Vec::new());
        let done = self.derive_all(&made.stmts);
        self.turned.again = false;
        done?;
        Ok(Some(self.tangent(made.results[k])))
    }
}

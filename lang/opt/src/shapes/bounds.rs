//! Bounds of loop indices: an index is in bounds of an array with as many elements as the loop has iterations.

use super::{AxisExtent, ShapeAnalysis};
use adl_ir::{Block, Cmp, Lit, Op, Var};
use std::collections::{HashMap, HashSet};

/// Known bounds of loop indices.
#[derive(Default)]
pub(super) struct IndexBounds {
    /// Maps a loop index to the requested trip count.
    pub below: HashMap<Var, Var>,
    /// Maps a loop's trip count result to the requested trip count; the result is 0 if the latter is negative.
    pub trip: HashMap<Var, Var>,
    /// Comparisons that always hold.
    hold: HashSet<Var>,
}

impl IndexBounds {
    /// Replaces comparisons that hold by literals.
    pub fn write(&self, b: &mut Block) {
        if self.hold.is_empty() {
            return;
        }
        for s in &mut b.stmts {
            if matches!(s.op, Op::Cmp(..)) && s.outs.iter().all(|v| self.hold.contains(v)) {
                s.op = Op::Lit(Lit::Bool(true));
            }
            s.op.blocks_mut().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.write(b)));
        }
    }
}

impl ShapeAnalysis<'_> {
    /// Whether an index is below an extent, at any place of the function.
    pub(super) fn below(&self, i: Var, e: AxisExtent) -> bool {
        if let (AxisExtent::Lit(i), Some(n)) = (self.plain(AxisExtent::Is(i)), self.known_value(e, 0)) {
            return 0 <= i && i < n;
        }
        let Some(n) = self.bounds.below.get(&i).map(|n| self.plain(AxisExtent::Is(*n))) else { return false };
        let trip = match e {
            AxisExtent::Is(v) => self.bounds.trip.get(&v).map(|m| self.plain(AxisExtent::Is(*m))),
            AxisExtent::Lit(_) | AxisExtent::Of(..) => None,
        };
        n == e || trip == Some(n)
    }

    /// Records a comparison of Ints.
    pub(super) fn compared(&mut self, c: Cmp, of: (Var, Var), out: Var) {
        self.holds(c, of, out);
        if c == Cmp::Eq {
            self.equal.insert(out, of);
        }
    }

    /// Decides whether a comparison of Ints holds because one of them is a loop index.
    fn holds(&mut self, c: Cmp, (a, b): (Var, Var), out: Var) {
        let negative = |v: Var| !matches!(self.plain(AxisExtent::Is(v)), AxisExtent::Lit(..=0));
        let index = |v: Var| self.bounds.below.contains_key(&v);
        let inside = |i: Var, n: Var| index(i) && self.below(i, self.plain(AxisExtent::Is(n)));
        let holds = match c {
            Cmp::Ge => index(a) && !negative(b),
            Cmp::Le => index(b) && !negative(a),
            Cmp::Lt => inside(a, b),
            Cmp::Gt => inside(b, a),
            Cmp::Eq | Cmp::Ne => false,
        };
        if holds {
            self.bounds.hold.insert(out);
        } else {
            self.bounds.hold.remove(&out);
        }
    }
}

//! Broadcasting: elementwise operators on arrays of different rank.

use super::op_constraints::OpConstraint;
use super::ops::Head;
use super::{Infer, array};
use crate::errors::reason::Reason;
use crate::ty::{Size, Ty};
use adl_syntax::span::Span;

impl Infer<'_> {
    /// The number of axes if the type determines it; 0 for a number.
    pub(super) fn known_rank(&self, t: &Ty) -> Option<u64> {
        match self.resolve(t) {
            Ty::Array(_, e) => Some(1 + self.known_rank(&e)?),
            t => (self.head(&t) != Head::Unknown).then_some(0),
        }
    }

    /// `a op b` on two arrays of numbers. If a rank is not known yet, the operator waits. By default the ranks are
    /// equal.
    pub(super) fn arrays(&mut self, op: &OpConstraint, force: bool) -> bool {
        let (a, b) = (op.args[0].0.clone(), op.args[1].0.clone());
        match (self.known_rank(&a), self.known_rank(&b)) {
            (Some(m), Some(n)) if m != n => self.repeated(op, usize::from(m > n)),
            (Some(_), Some(_)) => self.same(op, &a, &b),
            _ if !force => false,
            _ => self.same(op, &a, &b),
        }
    }

    /// Broadcasts operand `low`, which has the lower rank, along the leading axes of the other operand.
    fn repeated(&mut self, op: &OpConstraint, low: usize) -> bool {
        if self.report_mixed_numbers(op) {
            return true;
        }
        let (high, low_at) = (op.args[1 - low].clone(), op.args[low].clone());
        if self.leaf(op, &high.0).is_none() {
            return true;
        }
        let side = ["left", "right"];
        let what = format!("the {} operand of {}", side[low], Self::op_name(op.prim));
        let res = self.spread(what, &low_at, (&high, ["the left operand", "the right operand"][1 - low]));
        self.finish(op, &self.map_leaf(&res, op.prim))
    }

    /// The type of an array with the rank of `high` whose last axes are those of `low`. Reports constant extents that
    /// differ.
    pub(super) fn spread(&mut self, what: String, low: &(Ty, Span), (high, other): (&(Ty, Span), &'static str)) -> Ty {
        let (low_rank, high_rank) = (self.rank(&low.0), self.rank(&high.0));
        let tail = self.inner(&high.0, high_rank - low_rank);
        let why = Reason::is(what, high.1, other, &high.0);
        if let Err(unify_error) = self.unify(&tail, &low.0) {
            let mut d = self.unify_error(unify_error, &tail, &low.0, low.1, &why);
            if self
                .extents(&low.0)
                .iter()
                .zip(self.extents(&high.0))
                .all(|(x, y)| matches!((x, y), (Size::Const(x, _), Size::Const(y, _)) if *x == y))
            {
                d = d.hint("an array is repeated along the leading axes of the other, so that its extents must be the last ones: for the first ones write `map2 (fun row x -> ...) m v`");
            }
            self.report(d);
            return high.0.clone();
        }
        self.sharper_inside(&high.0, high_rank - low_rank, &low.0)
    }

    /// The type under the first `axes` axes of an array.
    fn inner(&self, t: &Ty, axes: u64) -> Ty {
        match self.resolve(t) {
            Ty::Array(_, e) if axes > 0 => self.inner(&e, axes - 1),
            t => t,
        }
    }

    fn extents(&self, t: &Ty) -> Vec<Size> {
        let (mut t, mut out) = (self.resolve(t), Vec::new());
        while let Ty::Array(n, e) = t {
            out.push(self.resolve_size(n));
            t = self.resolve(&e);
        }
        out
    }

    /// The type in which the part under the first `axes` axes is replaced by whichever type has more precise sizes.
    fn sharper_inside(&self, t: &Ty, axes: u64, low: &Ty) -> Ty {
        match self.resolve(t) {
            Ty::Array(n, e) if axes > 0 => array(n, self.sharper_inside(&e, axes - 1, low)),
            t => self.sharper(&t, low),
        }
    }
}

//! The conditions of a predicate, classified by their effect on a sum.

use super::affine::Affine;
use super::predicate::{Atom, LinearForm};
use crate::limits::tensor_bounds::FACTOR;

/// The remaining range of a sum.
#[derive(Default)]
pub(super) struct SumBounds {
    /// Conditions that do not depend on the index of the sum.
    pub(super) guards: Vec<Atom>,
    /// The single remaining index: this form, divided by a positive number.
    pub(super) one: Option<(Affine, i64)>,
    /// Lower bounds and exclusive upper bounds, as forms divided by positive numbers and rounded up.
    pub(super) from: Vec<(Affine, i64)>,
    pub(super) to: Vec<(Affine, i64)>,
    /// Conditions `= 0` (true) or `≥ 0`, whose factors are known only when the sum starts.
    pub(super) unknown: Vec<(LinearForm, bool)>,
    /// A form that must be a multiple of another one.
    pub(super) stride: Option<(LinearForm, Affine)>,
    /// Whether the bounds express all conditions.
    pub(super) all: bool,
}

impl SumBounds {
    /// Classifies conditions. `None` if they do not narrow the sum.
    pub(super) fn of(atoms: Vec<Atom>) -> Option<SumBounds> {
        let mut out = SumBounds { all: true, ..SumBounds::default() };
        for a in atoms {
            out.add(a);
        }
        if out.one.is_some() {
            // With a single index left, the other conditions are tested at that index.
            out.all &= !out.narrower();
        }
        let some = !out.guards.is_empty() || out.one.is_some() || out.narrower();
        some.then_some(out)
    }

    /// Whether the sum has fewer iterations than before.
    pub(super) fn narrower(&self) -> bool {
        !self.from.is_empty() || !self.to.is_empty() || !self.unknown.is_empty() || self.stride.is_some()
    }

    fn add(&mut self, a: Atom) {
        let taken = match &a {
            Atom::Zero(l) | Atom::Positive(l) | Atom::Multiple(l, _) if l.still() => {
                self.guards.push(a);
                return;
            }
            Atom::Zero(l) => match l.factor() {
                Some(by) => self.equation(l, by),
                None => self.with_unknown(l, true),
            },
            Atom::Positive(l) => match l.factor() {
                Some(by) => self.bound(l, by),
                None => self.with_unknown(l, false),
            },
            Atom::Multiple(l, k) => self.congruence(l, k),
            Atom::Test => None,
        };
        self.all &= taken.is_some();
    }

    fn equation(&mut self, l: &LinearForm, by: i64) -> Option<()> {
        let (whole, by) = (l.rest.times(if by > 0 { -1 } else { 1 })?, by.checked_abs()?);
        self.one.is_none().then(|| self.one = Some((whole, by)))
    }

    fn with_unknown(&mut self, l: &LinearForm, equal: bool) -> Option<()> {
        self.unknown.push((l.clone(), equal));
        Some(())
    }

    /// The bound from by·i + rest ≥ 0: i ≥ -rest / by, or i < (rest + 1) / -by, rounded up.
    fn bound(&mut self, l: &LinearForm, by: i64) -> Option<()> {
        let (bound, size) =
            (if by > 0 { l.rest.times(-1)? } else { l.rest.plus(1, &Affine::constant(1))? }, by.checked_abs()?);
        if by > 0 { &mut self.from } else { &mut self.to }.push((bound, size));
        Some(())
    }

    fn congruence(&mut self, l: &LinearForm, k: &Affine) -> Option<()> {
        let by = l.factor()?;
        let solved = if k.terms.is_empty() {
            by.checked_abs()? <= FACTOR && k.constant <= FACTOR
        } else {
            by.checked_abs()? == 1
        };
        (solved && self.stride.is_none()).then(|| self.stride = Some((l.clone(), k.clone())))
    }
}

//! The conditions of a predicate, sorted by what they do for a sum.

use super::affine::Affine;
use super::predicate::{Atom, Linear};

/// Factors and moduli up to this size are solved for.
const FACTOR: i64 = 1 << 20;

/// What a sum is narrowed to.
#[derive(Default)]
pub(super) struct Bounds {
    /// Conditions on the whole sum.
    pub(super) guards: Vec<Atom>,
    /// One index: this, divided by a positive number.
    pub(super) one: Option<(Affine, i64)>,
    /// From each, and below each, divided and rounded up.
    pub(super) from: Vec<(Affine, i64)>,
    pub(super) to: Vec<(Affine, i64)>,
    /// Zeros (true) and what is not negative, with factors that are known when the sum begins.
    pub(super) unknown: Vec<(Linear, bool)>,
    /// What is a multiple of what.
    pub(super) stride: Option<(Linear, Affine)>,
    /// Whether these are all conditions.
    pub(super) all: bool,
}

impl Bounds {
    /// Sorts conditions. `None` if they narrow nothing.
    pub(super) fn of(atoms: Vec<Atom>) -> Option<Bounds> {
        let mut out = Bounds { all: true, ..Bounds::default() };
        for a in atoms {
            out.add(a);
        }
        if out.one.is_some() {
            // The others are tested at the one index.
            out.all &= !out.narrower();
        }
        let some = !out.guards.is_empty() || out.one.is_some() || out.narrower();
        some.then_some(out)
    }

    /// Whether fewer turns are left than before.
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

    fn equation(&mut self, l: &Linear, by: i64) -> Option<()> {
        let (whole, by) = (l.rest.times(if by > 0 { -1 } else { 1 })?, by.checked_abs()?);
        self.one.is_none().then(|| self.one = Some((whole, by)))
    }

    fn with_unknown(&mut self, l: &Linear, equal: bool) -> Option<()> {
        self.unknown.push((l.clone(), equal));
        Some(())
    }

    /// by·i + rest ≥ 0: i ≥ -rest / by, or i < (rest + 1) / -by, rounded up.
    fn bound(&mut self, l: &Linear, by: i64) -> Option<()> {
        let (bound, size) = (if by > 0 { l.rest.times(-1)? } else { l.rest.plus(1, &Affine::constant(1))? }, by.checked_abs()?);
        if by > 0 { &mut self.from } else { &mut self.to }.push((bound, size));
        Some(())
    }

    fn congruence(&mut self, l: &Linear, k: &Affine) -> Option<()> {
        let by = l.factor()?;
        let solved = if k.terms.is_empty() { by.checked_abs()? <= FACTOR && k.constant <= FACTOR } else { by.checked_abs()? == 1 };
        (solved && self.stride.is_none()).then(|| self.stride = Some((l.clone(), k.clone())))
    }
}

//! Solves predicates: equalities eliminate sums, inequalities narrow them (§2.2, §4.3 of the paper).

use super::affine::Affine;
use super::path::{ArrayShape, ReadSite, Subscript};
use adl_ir::{Builder, Ty, Var};
use std::collections::HashSet;

/// An index determined by others.
pub(super) enum IndexValue {
    /// Equal to this form.
    Is(Affine),
    /// Equal to this form divided by a number, where it is divisible.
    Part(Affine, i64),
    /// The remainder of this form by the trip count of the index, where the position is below that.
    Wrapped { form: Affine, divisor: Affine, position: Var },
}

/// A remaining sum with its bounds: at least each form in `from`, and below each in `to`, where forms are divided
/// by the number and rounded up.
pub(super) struct BoundedSum {
    pub(super) index: Var,
    pub(super) from: Vec<(Affine, i64)>,
    pub(super) to: Vec<(Affine, i64)>,
}

/// `h = a(i)` solved for the indices `i`.
pub(super) struct Solution {
    /// The position in the array.
    pub(super) h: Vec<Var>,
    /// Indices determined by the position and the remaining sums.
    pub(super) known: Vec<(Var, IndexValue)>,
    /// The remaining sums, from the outermost inwards.
    pub(super) sums: Vec<BoundedSum>,
    /// Forms that are 0 wherever a term contributes.
    pub(super) equal: Vec<Affine>,
    /// Forms that are not negative there.
    pub(super) positive: Vec<Affine>,
}

/// Solves for the positions at which a site reads.
pub(super) fn solve(b: &mut Builder, site: &ReadSite) -> Option<Solution> {
    let positions: Vec<Var> = site.at.iter().map(|_| b.func.fresh(Ty::I64, false)).collect();
    let mut solution =
        Solution { h: positions.clone(), known: Vec::new(), sums: Vec::new(), equal: Vec::new(), positive: Vec::new() };
    let mut left: Vec<(Var, &Subscript)> = positions.iter().copied().zip(&site.at).collect();
    while !left.is_empty() {
        // Prefers an equation that determines an index without a division.
        let next = left.iter().position(|(_, at)| solution.determines(site, at)).unwrap_or(0);
        let (h, at) = left.remove(next);
        solution.equation(site, h, at)?;
    }
    let mut conditions = Vec::new();
    for axis in &site.axes {
        if let Some((_, k)) = solution.known.iter().find(|(v, _)| *v == axis.index) {
            let value = match k {
                IndexValue::Is(a) => a.clone(),
                IndexValue::Part(..) => Affine::var(axis.index),
                IndexValue::Wrapped { divisor, position, .. } => {
                    let last = divisor.plus(-1, &Affine::constant(1))?;
                    conditions.push(last.plus(-1, &Affine::var(*position))?);
                    continue;
                }
            };
            for from in axis.from() {
                conditions.push(value.plus(-1, &solution.substituted(&from)?)?);
            }
            for to in axis.to() {
                let last = solution.substituted(to)?.plus(-1, &Affine::constant(1))?;
                conditions.push(last.plus(-1, &value)?);
            }
        }
    }
    solution.bounds(site, &mut conditions)?;
    conditions.retain(|c| !holds_everywhere(c, &solution.h, &site.extents));
    // A remainder is taken where the conditions hold.
    let wrapped = |v: &Var| solution.known.iter().any(|(k, is)| k == v && matches!(is, IndexValue::Wrapped { .. }));
    if conditions.iter().chain(&solution.equal).any(|c| c.terms.keys().any(wrapped)) {
        return None;
    }
    solution.positive = conditions;
    Some(solution)
}

/// Whether a condition holds for any position, since positions are not negative and are below the extents.
fn holds_everywhere(c: &Affine, h: &[Var], extents: &ArrayShape) -> bool {
    let mut c = c.clone();
    if let ArrayShape::Trip(extents) = extents {
        for (v, n) in h.iter().zip(extents).filter(|(v, _)| c.factor(**v) < 0).collect::<Vec<_>>() {
            let Some(least) = n.plus(-1, &Affine::constant(1)).and_then(|last| c.with(*v, &last)) else { return false };
            c = least;
        }
    }
    c.constant >= 0 && c.terms.iter().all(|(v, k)| *k > 0 && h.contains(v))
}

impl Solution {
    fn substituted(&self, a: &Affine) -> Option<Affine> {
        let mut a = a.clone();
        for (v, k) in &self.known {
            if let IndexValue::Is(is) = k {
                a = a.with(*v, is)?;
            }
        }
        Some(a)
    }

    /// Whether an equation has an undetermined index with factor 1 or -1.
    fn determines(&self, site: &ReadSite, at: &Subscript) -> bool {
        let open = |v: Var| !self.known.iter().any(|(k, _)| *k == v);
        at.divisor.is_none()
            && self
                .substituted(&at.form)
                .is_some_and(|at| site.axes.iter().any(|a| open(a.index) && at.factor(a.index).abs() == 1))
    }

    /// Uses `h = at` to determine an index, the outermost possible one.
    fn equation(&mut self, site: &ReadSite, h: Var, at: &Subscript) -> Option<()> {
        if let Some(divisor) = &at.divisor {
            return self.wrapped(site, h, &at.form, divisor);
        }
        let at = self.substituted(&at.form)?;
        let open = |v: Var| !self.known.iter().any(|(k, _)| *k == v);
        let mut free = site.axes.iter().map(|a| a.index).filter(|v| open(*v) && at.factor(*v) != 0);
        let unit = free.clone().find(|v| at.factor(*v).abs() == 1);
        let position = Affine::var(h);
        if let Some(v) = unit {
            let is = position.plus(-1, &at.without(v))?.times(at.factor(v))?;
            for (_, k) in &mut self.known {
                if let IndexValue::Is(a) = k {
                    *a = a.with(v, &is)?;
                }
            }
            self.known.push((v, IndexValue::Is(is)));
        } else if let Some(v) = free.next() {
            let rest = position.plus(-1, &at.without(v))?;
            let indices: HashSet<Var> = site.axes.iter().map(|a| a.index).collect();
            if !rest.all(&|v| !indices.contains(&v)) {
                return None;
            }
            self.known.push((v, IndexValue::Part(rest, at.factor(v))));
        } else {
            self.equal.push(position.plus(-1, &at)?);
        }
        Some(())
    }

    /// Uses `h = at % divisor` to determine an index whose trip count is the divisor.
    fn wrapped(&mut self, site: &ReadSite, position: Var, at: &Affine, divisor: &Affine) -> Option<()> {
        let at = self.substituted(at)?;
        let of_axis = |v: Var| site.axes.iter().find(|a| a.index == v);
        let mut indices = at.terms.keys().filter_map(|v| of_axis(*v));
        let (Some(axis), None) = (indices.next(), indices.next()) else { return None };
        let index = axis.index;
        let open = !self.known.iter().any(|(k, _)| *k == index);
        if !open || at.factor(index).abs() != 1 || !axis.is_plain() || axis.trip != *divisor {
            return None;
        }
        let form = Affine::var(position).plus(-1, &at.without(index))?.times(at.factor(index))?;
        self.known.push((index, IndexValue::Wrapped { form, divisor: divisor.clone(), position }));
        Some(())
    }

    /// Gives each remaining sum the bounds that follow once the sums around it are fixed.
    fn bounds(&mut self, site: &ReadSite, conditions: &mut Vec<Affine>) -> Option<()> {
        let left: Vec<Var> =
            site.axes.iter().map(|a| a.index).filter(|v| !self.known.iter().any(|(k, _)| k == v)).collect();
        for (n, index) in left.iter().enumerate() {
            let settled = |v: Var| !left[n..].contains(&v);
            let axis = site.axes.iter().find(|a| a.index == *index)?;
            for from in axis.first.iter().flat_map(|first| &first.of) {
                conditions.push(Affine::var(*index).plus(-1, &self.substituted(from)?)?);
            }
            for to in axis.to() {
                let last = self.substituted(to)?.plus(-1, &Affine::constant(1))?;
                conditions.push(last.plus(-1, &Affine::var(*index))?);
            }
            let mut sum = BoundedSum { index: *index, from: Vec::new(), to: Vec::new() };
            conditions.retain(|c| {
                let (k, rest) = (c.factor(*index), c.without(*index));
                if k == 0 || !rest.all(&settled) {
                    return true;
                }
                // k·i + rest ≥ 0: i ≥ -rest / k, or i < (rest + 1) / -k, rounded up.
                let bound = if k > 0 { rest.times(-1) } else { rest.plus(1, &Affine::constant(1)) };
                let Some(bound) = bound else { return true };
                if k > 0 { &mut sum.from } else { &mut sum.to }.push((bound, k.saturating_abs()));
                false
            });
            if sum.to.is_empty() {
                return None;
            }
            self.sums.push(sum);
        }
        Some(())
    }
}

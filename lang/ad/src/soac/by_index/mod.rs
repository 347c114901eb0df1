//! J of `reduce_by_index` (§4). The destination's element counts as the first element of each bin. So the histogram
//! need not be rewritten to start from neutral elements, and the destination wins ties.

mod product;
mod segments;

use super::SoacGroup;
use super::laws::{Trial, TrialOutcome};
use super::partials::{self, Coef, PartialRow};
use crate::jvp::J;
use adl_ir::{Block, Cmp, Op, SoacKind, Stmt, Ty, Var};
use adl_opt::interchange::{self, arbitrary_value};
use adl_opt::operators;
use adl_prim::{Bin, ReductionFn};
use adl_specialise::Unsupported;

/// A histogram whose components depend on each other.
pub(super) struct Histogram {
    pub(super) dest: Vec<Var>,
    pub(super) op: Block,
    pub(super) neutral: Vec<Var>,
    pub(super) keys: Var,
    pub(super) values: Vec<Var>,
    pub(super) outs: Vec<Var>,
}

impl Histogram {
    fn op(&self, op: Block) -> Op {
        Op::ReduceByIndex {
            dest: self.dest.clone(),
            op: Box::new(op),
            neutral: self.neutral.clone(),
            keys: self.keys,
            values: self.values.clone(),
        }
    }
}

pub(super) const NAME: &str = "reduce_by_index";

impl J<'_> {
    /// J of a histogram.
    pub(crate) fn by_index(&mut self, statement: &Stmt) -> Result<(), Unsupported> {
        let Op::ReduceByIndex { dest, op, neutral, keys, values } = &statement.op else { return Ok(()) };
        if !statement.outs.iter().any(|o| self.act.has(*o)) {
            self.b.push(statement.clone());
            return Ok(());
        }
        let inlined = self.inlined(op);
        if self.ad.only_loops {
            return self.histogram_loop(statement, "only loops are wanted");
        }
        let flat = |v: &Var| matches!(self.b.func.ty(*v), Ty::Array(e, _) if e.is_flat());
        if !dest.iter().chain(values).all(flat) {
            return self.histogram_loop(statement, "its elements are no numbers or arrays of numbers");
        }
        if operators::has_output(&inlined) {
            return self.histogram_loop(statement, "its operator prints");
        }
        let whole = Histogram {
            dest: dest.clone(),
            op: inlined,
            neutral: neutral.clone(),
            keys: *keys,
            values: values.clone(),
            outs: statement.outs.clone(),
        };
        let Some(parts) = interchange::parts(&mut self.b, &whole.op(whole.op.clone())) else {
            return self.histogram(&whole, statement);
        };
        for (places, op) in parts {
            let stmt = Stmt {
                outs: places.iter().map(|k| statement.outs[*k]).collect(),
                lin_outs: Vec::new(),
                op,
                span: statement.span,
            };
            match &stmt.op {
                Op::ReduceByIndex { dest, op, neutral, keys, values } if stmt.outs.iter().any(|o| self.act.has(*o)) => {
                    let h = Histogram {
                        dest: dest.clone(),
                        op: self.copied_operator(op),
                        neutral: neutral.clone(),
                        keys: *keys,
                        values: values.clone(),
                        outs: stmt.outs.clone(),
                    };
                    self.histogram(&h, &stmt)?;
                }
                _ => self.b.push(stmt),
            }
        }
        Ok(())
    }

    fn histogram(&mut self, histogram: &Histogram, stmt: &Stmt) -> Result<(), Unsupported> {
        if self.act.block_reads(&histogram.op) {
            return self.histogram_loop(stmt, "its operator captures a variable that is differentiated");
        }
        let known = operators::known(&self.b.func, &histogram.op).or_else(|| self.is_sum(&histogram.op));
        let known = known.or_else(|| self.multiplies_rows(&histogram.op));
        let scalars = histogram.neutral.iter().all(|v| self.b.ty(*v).rank() == 0);
        let rows = matches!(histogram.neutral[..], [v] if self.b.ty(v).rank() == 1);
        match known {
            Some(Bin::Add) => {
                self.b.push(stmt.clone());
                self.decide(stmt.span, NAME, "+: each bin's cotangent (§4.2.1)", "");
                self.histogram_sum(histogram);
                Ok(())
            }
            Some(op @ (Bin::Min | Bin::Max)) if scalars => {
                self.decide(
                    stmt.span,
                    NAME,
                    "min, max: the first position in each bin, found with it (§4.2.2, Fig. 5)",
                    "",
                );
                let place = self.extreme_places(histogram, op);
                self.histogram_extreme(histogram, place);
                Ok(())
            }
            Some(Bin::Mul) if scalars || rows => {
                self.b.push(stmt.clone());
                self.decide(stmt.span, NAME, "*: products of the others in each bin, zeros counted (§4.2.3)", "");
                self.histogram_product(histogram)
            }
            _ => match interchange::by_columns(&mut self.b, &histogram.op(histogram.op.clone()), &|_| None) {
                None if scalars => match self.chooser(&histogram.op) {
                    Some(op) => {
                        self.decide(stmt.span, NAME, super::choice::RULE, "");
                        let place = self.with_places_in_bins(histogram, op, histogram.outs[0]);
                        self.histogram_extreme(histogram, place);
                        Ok(())
                    }
                    None => self.any_histogram(histogram, stmt),
                },
                Some(made) => self.histogram_of_elements(stmt, made),
                None => self.any_histogram(histogram, stmt),
            },
        }
    }

    /// Whether an operator multiplies rows element by element.
    fn multiplies_rows(&mut self, op: &Block) -> Option<Bin> {
        let column = operators::as_elementwise(&self.b.func, op)?.block(&mut self.b);
        operators::known(&self.b.func, &column).filter(|b| *b == Bin::Mul)
    }

    fn histogram_loop(&mut self, s: &Stmt, why: &str) -> Result<(), Unsupported> {
        let Op::ReduceByIndex { dest, op, keys, values, .. } = &s.op else { return Ok(()) };
        self.decide(s.span, NAME, "the loop that it is, backwards", why);
        self.b.open();
        super::as_loop::histogram(&mut self.b, s, dest, *keys, values, op);
        let made = self.b.close(Vec::new(), Vec::new());
        self.derive_all(&made.stmts)
    }

    /// Adds contributions, one for each value, to the tangents of the bins. Keys out of range contribute nothing.
    pub(super) fn collected_in_bins(
        &mut self,
        dest: Var,
        keys: Var,
        start: Option<Var>,
        parts: Option<Var>,
    ) -> Option<Var> {
        let Some(v) = parts else { return start };
        let (ty, shape) = (self.tangent_ty(dest), self.b.shape(dest));
        let acc = start.unwrap_or_else(|| self.lin_zero(ty.clone()));
        Some(self.b.lin(Op::GatherAdd { acc, at: keys, v, shape: Some(shape) }, ty))
    }

    fn histogram_sum(&mut self, h: &Histogram) {
        let t = self.collected_in_bins(h.dest[0], h.keys, self.has(h.dest[0]), self.has(h.values[0]));
        self.set_tangent(h.outs[0], t);
    }

    /// Emits `out` by an operator on elements paired with their positions, where the destination's elements have
    /// position -1. Returns the positions.
    fn with_places_in_bins(&mut self, histogram: &Histogram, op: Block, out: Var) -> Var {
        let n = self.b.dim(histogram.keys, 0);
        let places = self.iota(n);
        let none = self.b.int(-1);
        let shape = self.b.shape(histogram.dest[0]);
        let nowhere = self.b.one(Op::Broadcast { a: none, shape }, Ty::shape());
        let lifted = Op::ReduceByIndex {
            dest: vec![histogram.dest[0], nowhere],
            op: Box::new(op),
            neutral: vec![histogram.neutral[0], none],
            keys: histogram.keys,
            values: vec![histogram.values[0], places],
        };
        let place = self.b.func.fresh(Ty::shape(), false);
        let span = self.b.span;
        self.b.push(Stmt { outs: vec![out, place], lin_outs: Vec::new(), op: lifted, span });
        place
    }

    /// The same for extremes. If a bin contains a nan, the first one is found by a more expensive operator.
    fn extreme_places(&mut self, h: &Histogram, op: Bin) -> Var {
        let (elem, y) = (self.b.ty(h.neutral[0]), h.outs[0]);
        let quick = self.extreme_with_place(&elem, op);
        let place = self.with_places_in_bins(h, quick, y);
        let nan = self.b.cmp(Cmp::Ne, y, y);
        let any = self.b.prim(adl_prim::Prim::Reduction(ReductionFn::Any), &[nan], Ty::Bool);
        self.b.open();
        let careful = self.keep_better(&elem, op);
        let ty = self.b.ty(y);
        let again = self.b.func.fresh(ty, false);
        let first = self.with_places_in_bins(h, careful, again);
        let some = self.b.close(vec![first], Vec::new());
        self.b.open();
        let none = self.b.close(vec![place], Vec::new());
        self.b.one(Op::If(any, Box::new(some), Box::new(none)), Ty::shape())
    }

    /// The tangent of each bin's selected value, the first among equals; the destination's tangent if its element
    /// was selected.
    fn histogram_extreme(&mut self, histogram: &Histogram, place: Var) {
        let (dest, values) = (histogram.dest[0], histogram.values[0]);
        let ty = self.tangent_ty(dest);
        let stays = self.has(dest).map(|t| {
            let zero = self.b.int(0);
            let taken = self.b.cmp(Cmp::Ge, place, zero);
            let (no, yes) = (self.b.real(0.0, dest), self.b.real(1.0, dest));
            let c = self.b.one(Op::Select(taken, no, yes), ty.clone());
            self.b.bin(Bin::ScaleTangent, c, t)
        });
        let taken = self.has(values).map(|v| {
            let all = self.b.shape(values);
            self.b.lin(Op::Gather { a: v, at: place, shape: Some(all) }, ty.clone())
        });
        let t = self.lin_sum(stays, taken);
        self.set_tangent(histogram.outs[0], t);
    }

    fn histogram_product(&mut self, h: &Histogram) -> Result<(), Unsupported> {
        let (cd, cv) = self.products_in_bins([h.dest[0], h.keys, h.values[0], h.outs[0]])?;
        let start = self.has(h.dest[0]).map(|t| self.b.bin(Bin::ScaleTangent, cd, t));
        let parts = self.has(h.values[0]).map(|t| self.b.bin(Bin::ScaleTangent, cv, t));
        let t = self.collected_in_bins(h.dest[0], h.keys, start, parts);
        self.set_tangent(h.outs[0], t);
        Ok(())
    }

    /// The interchange, without transposes: one histogram of the elements of all rows.
    fn histogram_of_elements(&mut self, s: &Stmt, made: Op) -> Result<(), Unsupported> {
        self.decide(s.span, NAME, "the interchange with the map inside (§4.2.5): a histogram of all elements", "");
        self.derive(&Stmt { outs: s.outs.clone(), lin_outs: Vec::new(), op: made, span: s.span })
    }

    /// For any associative arithmetic operator on numbers: by sorting the keys, and two scans in each segment (Fig. 4).
    fn any_histogram(&mut self, histogram: &Histogram, stmt: &Stmt) -> Result<(), Unsupported> {
        if !operators::elementwise(&self.b.func, &histogram.op) {
            return self.histogram_loop(stmt, "the operator is not straight-line arithmetic on numbers");
        }
        match self.trial(&histogram.op).as_ref().map_or(TrialOutcome::Unknown, Trial::associative) {
            TrialOutcome::Holds => {}
            TrialOutcome::Fails => {
                return self.histogram_loop(stmt, "its operator is not associative: the order of the elements counts");
            }
            TrialOutcome::Unknown => {
                return self.histogram_loop(stmt, "whether its operator is associative could not be tried");
            }
        }
        self.b.push(stmt.clone());
        self.decide(
            stmt.span,
            NAME,
            "sorted keys, one scan in each segment, and a linear recurrence (§4.1 with §5.2, instead of Fig. 4)",
            "the operator is none that has a rule of its own",
        );
        self.sorted_histogram(histogram);
        Ok(())
    }

    /// In each segment of the sorted values, ẏᵢ = ∂₁ ẏᵢ₋₁ + ∂₂ ȧᵢ, as in a scan that starts with the destination's
    /// element. The tangent of the bin is the last one.
    fn sorted_histogram(&mut self, histogram: &Histogram) {
        let arity = histogram.dest.len();
        let sorted = segments::prefixes(self, histogram);
        let units: Vec<PartialRow> = (0..2 * arity).map(partials::unit).collect();
        let rows: Vec<PartialRow> = self
            .with_partials(&histogram.op, &[&sorted.before[..], &sorted.values].concat(), &units)
            .into_iter()
            .map(|(_, r)| r)
            .collect();
        let given: Vec<Option<Var>> = histogram.values.iter().map(|v| self.sorted_tangent(*v, sorted.order)).collect();
        let driven = rows
            .iter()
            .enumerate()
            .map(|(j, row)| {
                let own: PartialRow = row.iter().filter(|(m, _)| **m >= arity).map(|(m, c)| (*m, *c)).collect();
                let own = self.row_times(&own, &|m| given[m - arity]);
                let seeds = self.of_destination(histogram, &sorted, (j, row));
                self.lin_sum(own, seeds)
            })
            .collect();
        let within: Vec<PartialRow> =
            rows.iter().map(|row| row.iter().filter(|(m, _)| **m < arity).map(|(m, c)| (*m, *c)).collect()).collect();
        let neutral = sorted
            .values
            .iter()
            .map(|v| {
                let ty = self.b.ty(*v).elem();
                arbitrary_value(&mut self.b, &ty)
            })
            .collect();
        let g = SoacGroup {
            kind: SoacKind::Scan,
            op: Block::default(),
            neutral,
            arrays: sorted.values.clone(),
            outs: histogram.outs.clone(),
        };
        let all = self.prefixes(&g, &within, driven, sorted.first);
        for ((d, y), t) in histogram.dest.iter().zip(&histogram.outs).zip(all) {
            if self.act.has(*y) {
                let t = self.last_in_bins(histogram, &sorted, *d, t);
                self.set_tangent(*y, t);
            }
        }
    }

    /// A coefficient that is set to zero at the first value of each bin.
    pub(super) fn but_at(&mut self, first: Var, c: Coef, like: Var) -> Coef {
        let (zero, ty) = (self.b.real(0.0, like), self.b.ty(like));
        let c = partials::number(&mut self.b, c, Some(like));
        Coef::Is(self.b.one(Op::Select(first, zero, c), ty))
    }

    fn sorted_tangent(&mut self, v: Var, order: Var) -> Option<Var> {
        let t = self.has(v)?;
        let (shape, ty) = (self.b.shape(v), self.tangent_ty(v));
        Some(self.b.lin(Op::Gather { a: t, at: order, shape: Some(shape) }, ty))
    }

    /// The contributions of the destination's tangents to the first values of the bins.
    fn of_destination(
        &mut self,
        h: &Histogram,
        sorted: &segments::SortedPrefixes,
        (j, row): (usize, &PartialRow),
    ) -> Option<Var> {
        let (ty, all) = (self.tangent_ty(h.dest[j]), self.b.shape(sorted.values[0]));
        let mut sum = None;
        for (m, c) in row.iter().filter(|(m, _)| **m < h.dest.len()) {
            let Some(t) = self.has(h.dest[*m]) else { continue };
            let shape = self.b.shape(h.dest[*m]);
            let t = self.b.lin(Op::Gather { a: t, at: sorted.bins, shape: Some(shape) }, ty.clone());
            let c = match c {
                Coef::Is(c) if self.b.ty(*c).rank() > 0 => {
                    Coef::Is(self.b.one(Op::Gather { a: *c, at: sorted.firsts, shape: None }, ty.clone()))
                }
                c => *c,
            };
            let part = self.scaled_by(c, t);
            sum = self.lin_sum(sum, Some(part));
        }
        let zero = self.lin_zero(ty.clone());
        sum.map(|v| self.b.lin(Op::GatherAdd { acc: zero, at: sorted.firsts, v, shape: Some(all) }, ty))
    }

    /// The tangents at the last values of the bins; the destination's tangents for empty bins.
    fn last_in_bins(
        &mut self,
        h: &Histogram,
        sorted: &segments::SortedPrefixes,
        d: Var,
        t: Option<Var>,
    ) -> Option<Var> {
        let ty = self.tangent_ty(d);
        let own = self.has(d).map(|own| {
            let c = sorted.untouched(&mut self.b, d);
            self.b.bin(Bin::ScaleTangent, c, own)
        });
        let all = self.b.shape(h.keys);
        let v = t.map(|t| self.b.lin(Op::Gather { a: t, at: sorted.lasts, shape: Some(all) }, ty.clone()));
        self.collected_in_bins(d, sorted.bins, own, v)
    }
}

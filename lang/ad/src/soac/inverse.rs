//! Operators with an inverse (§3.3, and §4.2.4 with Fig. 6): the combination of all other elements is the total
//! with the one element removed, so no scans are needed. The user provides the inverse (`invertible`). It is
//! represented as the rule of a call whose callee is the reduction or histogram.

use super::SoacGroup;
use super::by_index::{Histogram, NAME};
use super::partials::{self, PartialRow, PartialRows};
use crate::jvp::J;
use adl_ir::{Block, FnId, Op, Soac, SoacKind, Stmt, Var};
use adl_opt::operators;
use adl_specialise::Unsupported;
use std::collections::HashMap;

impl J<'_> {
    /// J of a call of a reduction or histogram whose operator has an inverse.
    pub(crate) fn by_inverse(&mut self, s: &Stmt, f: FnId, args: &[Var], inverse: FnId) -> Result<(), Unsupported> {
        let (stmts, results) = self.inlined_call(f, args);
        let last = stmts.last().filter(|l| l.outs == results).cloned();
        let Some(last) = last else {
            return self.derive(&Stmt {
                op: Op::Call { f, args: args.to_vec(), lin_args: Vec::new(), rule: None, checkpoint: false },
                ..s.clone()
            });
        };
        self.derive_all(&stmts[..stmts.len() - 1])?;
        let whole = Stmt { outs: s.outs.clone(), span: s.span, ..last };
        match &whole.op {
            Op::Soac(c) if c.kind == SoacKind::Reduce && c.neutral.iter().all(|e| self.has(*e).is_none()) => {
                match self.with_inverse(&c.op, args, inverse) {
                    Some(pair) => self.inverted_reduction(&whole, c, pair),
                    None => self.derive(&whole),
                }
            }
            Op::ReduceByIndex { dest, op, neutral, keys, values } => match self.with_inverse(op, args, inverse) {
                Some((op, inverse)) => {
                    let h = Histogram {
                        dest: dest.clone(),
                        op,
                        neutral: neutral.clone(),
                        keys: *keys,
                        values: values.clone(),
                        outs: whole.outs.clone(),
                    };
                    self.inverted_histogram(&whole, &h, &inverse)
                }
                None => self.derive(&whole),
            },
            _ => self.derive(&whole),
        }
    }

    /// The operator and its inverse, if this rule applies and no better one does. The operator must be
    /// straight-line arithmetic on numbers, must not capture active variables, and must not consist of operators
    /// that have rules of their own.
    fn with_inverse(&mut self, op: &Block, args: &[Var], inverse: FnId) -> Option<(Block, Block)> {
        let op = self.inlined(op);
        let own =
            |part: &Vec<usize>| operators::known(&self.b.func, &operators::restrict(&self.b.func, &op, part)).is_some();
        let known = operators::groups(&self.b.func, &op).iter().all(own);
        let scalars = op.params.iter().all(|v| self.b.ty(*v).rank() == 0);
        if known || !scalars || self.ad.only_loops {
            return None;
        }
        let pair: Vec<Var> = op
            .params
            .iter()
            .map(|v| {
                let ty = self.b.ty(*v);
                self.b.func.fresh(ty, false)
            })
            .collect();
        let (stmts, results) = self.inlined_call(inverse, &[args, &pair[..]].concat());
        let mut inverse = Block { params: pair, stmts, results, ..Block::default() };
        adl_ir::rewrite::dce::prune(&self.b.func, &mut inverse);
        let simple = |b: &Block| operators::elementwise(&self.b.func, b) && !self.act.block_reads(b);
        (simple(&op) && simple(&inverse)).then_some((op, inverse))
    }

    /// Partial derivatives of `rest ⊙ a` with respect to `a`, where `rest ⊙ a` is the total.
    fn partials_from_inverse(&mut self, (op, inverse): (&Block, &Block), totals: &[Var], elems: &[Var]) -> PartialRows {
        let w = elems.len();
        let none = vec![PartialRow::new(); w];
        let units: Vec<PartialRow> = (0..w).map(partials::unit).collect();
        let rest = self.with_partials(inverse, &[totals, elems].concat(), &[none.clone(), none.clone()].concat());
        // A value that does not depend on the element is a scalar. It is broadcast to the array's length, because
        // branches may select it.
        let rest: Vec<Var> = rest.into_iter().zip(elems).map(|((r, _), a)| self.as_long_as(r, *a)).collect();
        self.with_partials(op, &[&rest[..], elems].concat(), &[none, units].concat())
    }

    fn as_long_as(&mut self, x: Var, a: Var) -> Var {
        if self.b.ty(x).rank() > 0 {
            return x;
        }
        let (shape, ty) = (self.b.shape(a), self.b.ty(x).array(1));
        self.b.one(Op::Broadcast { a: x, shape }, ty)
    }

    fn inverted_reduction(&mut self, s: &Stmt, c: &Soac, (op, inverse): (Block, Block)) -> Result<(), Unsupported> {
        self.b.push(s.clone());
        self.decide(s.span, "reduce", "the inverse: the total without each element (§3.3)", "");
        let g =
            SoacGroup { kind: c.kind, op, neutral: c.neutral.clone(), arrays: c.arrays.clone(), outs: s.outs.clone() };
        let totals: Vec<Var> = g.outs.iter().zip(&g.arrays).map(|(y, a)| self.as_long_as(*y, *a)).collect();
        let all = self.partials_from_inverse((&g.op, &inverse), &totals, &g.arrays);
        self.totals(&g, all);
        Ok(())
    }

    fn inverted_histogram(&mut self, s: &Stmt, histogram: &Histogram, inverse: &Block) -> Result<(), Unsupported> {
        self.b.push(s.clone());
        self.decide(s.span, NAME, "the inverse: each bin's total without the element (§4.2.4, Fig. 6)", "");
        let totals: Vec<Var> = histogram.outs.iter().map(|y| self.in_bins(*y, histogram.keys)).collect();
        let values = self.partials_from_inverse((&histogram.op, inverse), &totals, &histogram.values);
        let starts = if histogram.dest.iter().any(|d| self.has(*d).is_some()) {
            self.partials_from_inverse((&histogram.op, inverse), &histogram.outs, &histogram.dest)
        } else {
            Vec::new()
        };
        let (given, own) = [&histogram.values, &histogram.dest]
            .map(|vs| vs.iter().map(|v| (*v, self.has(*v))).collect::<HashMap<Var, Option<Var>>>())
            .into();
        for (j, y) in histogram.outs.iter().enumerate() {
            if self.act.has(*y) {
                let start = starts.get(j).and_then(|(_, row)| self.row_times(row, &|k| own[&histogram.dest[k]]));
                let parts = self.row_times(&values[j].1, &|k| given[&histogram.values[k]]);
                let t = self.collected_in_bins(histogram.dest[j], histogram.keys, start, parts);
                self.set_tangent(*y, t);
            }
        }
        Ok(())
    }

    /// The total of each value's bin; zeros for keys out of range.
    fn in_bins(&mut self, y: Var, keys: Var) -> Var {
        let (ty, shape) = (self.b.ty(y), self.b.shape(y));
        self.b.one(Op::Gather { a: y, at: keys, shape: Some(shape) }, ty)
    }
}

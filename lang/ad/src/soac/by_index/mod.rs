//! J of `reduce_by_index` (§4). What stands in the destination is the first element of each bin: so it needs no rewriting to neutral
//! elements, and ties go to it.

mod product;
mod segments;

use super::laws::{Law, Trial};
use super::operator::{self, Column};
use super::partials::{self, Coef, Row};
use crate::jvp::J;
use adl_ir::{Block, Cmp, Lit, Op, Stmt, Ty, Var};
use adl_prim::Bin;
use adl_specialise::Unsupported;

pub(super) use product::Products;


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
        Op::ReduceByIndex { dest: self.dest.clone(), op: Box::new(op), neutral: self.neutral.clone(), keys: self.keys, values: self.values.clone() }
    }
}

pub(super) const NAME: &str = "reduce_by_index";

impl J<'_> {
    /// A histogram.
    pub(crate) fn by_index(&mut self, s: &Stmt) -> Result<(), Unsupported> {
        let Op::ReduceByIndex { dest, op, neutral, keys, values } = &s.op else { return Ok(()) };
        if !s.outs.iter().any(|o| self.act.has(*o)) {
            self.b.push(s.clone());
            return Ok(());
        }
        let inlined = self.inlined(op);
        if self.ad.only_loops {
            return self.histogram_loop(s, "only loops are wanted");
        }
        let flat = |v: &Var| matches!(self.b.func.ty(*v), Ty::Array(e, _) if e.is_flat());
        if !dest.iter().chain(values).all(flat) {
            return self.histogram_loop(s, "its elements are no numbers or arrays of numbers");
        }
        if operator::has_output(&inlined) {
            return self.histogram_loop(s, "its operator prints");
        }
        let whole = Histogram { dest: dest.clone(), op: inlined, neutral: neutral.clone(), keys: *keys, values: values.clone(), outs: s.outs.clone() };
        let parts = operator::groups(&self.b.func, &whole.op);
        if parts.len() < 2 {
            return self.histogram(&whole, s);
        }
        for part in parts {
            let pick = |vs: &[Var]| -> Vec<Var> { part.iter().map(|k| vs[*k]).collect() };
            let op = operator::restrict(&self.b.func, &whole.op, &part);
            let op = self.another(&op);
            let h = Histogram { dest: pick(dest), op, neutral: pick(neutral), keys: *keys, values: pick(values), outs: pick(&s.outs) };
            let own = self.another(&h.op);
            let stmt = Stmt { outs: h.outs.clone(), lin_outs: Vec::new(), op: h.op(own), span: s.span };
            if h.outs.iter().any(|o| self.act.has(*o)) {
                self.histogram(&h, &stmt)?;
            } else {
                self.b.push(stmt);
            }
        }
        Ok(())
    }

    fn histogram(&mut self, h: &Histogram, s: &Stmt) -> Result<(), Unsupported> {
        if self.act.block_reads(&h.op) {
            return self.histogram_loop(s, "its operator captures a variable that is differentiated");
        }
        let known = operator::known(&self.b.func, &h.op).or_else(|| self.adds(&h.op));
        let scalars = h.neutral.iter().all(|v| self.b.ty(*v).rank() == 0);
        match known {
            Some(Bin::Add) => {
                self.b.push(s.clone());
                self.decide(s.span, NAME, "+: each bin's cotangent (§4.2.1)", "");
                self.histogram_sum(h);
                Ok(())
            }
            Some(op @ (Bin::Min | Bin::Max)) if scalars => {
                self.b.push(s.clone());
                self.decide(s.span, NAME, "min, max: the first position in each bin (§4.2.2, Fig. 5)", "");
                let op = self.first_better(&self.b.ty(h.neutral[0]), op);
                self.histogram_extreme(h, op);
                Ok(())
            }
            Some(Bin::Mul) if scalars => {
                self.b.push(s.clone());
                self.decide(s.span, NAME, "*: products of the others in each bin, zeros counted (§4.2.3)", "");
                self.histogram_product(h)
            }
            _ => match operator::vectorised(&self.b.func, &h.op) {
                None if scalars => match self.chooser(&h.op) {
                    Some(op) => {
                        self.b.push(s.clone());
                        self.decide(s.span, NAME, super::choice::RULE, "");
                        self.histogram_extreme(h, op);
                        Ok(())
                    }
                    None => self.any_histogram(h, s),
                },
                Some(column) => self.histogram_columns(h, s, &column),
                None => self.any_histogram(h, s),
            },
        }
    }

    fn histogram_loop(&mut self, s: &Stmt, why: &str) -> Result<(), Unsupported> {
        let Op::ReduceByIndex { dest, op, keys, values, .. } = &s.op else { return Ok(()) };
        self.decide(s.span, NAME, "the loop that it is, backwards", why);
        self.b.open();
        super::fold::histogram(&mut self.b, s, dest, *keys, values, op);
        let made = self.b.close(Vec::new(), Vec::new());
        self.derive_all(&made.stmts)
    }

    /// The bin of each value; for keys out of range one more, behind the others. And the number of bins.
    pub(super) fn bins(&mut self, h: &Histogram) -> (Var, Var) {
        let w = self.b.dim(h.dest[0], 0);
        (segments::bins(&mut self.b, h.keys, w), w)
    }

    /// Adds contributions, one for each value, to tangents of the bins.
    pub(super) fn collected_in_bins(&mut self, dest: Var, (bins, w): (Var, Var), start: Option<Var>, parts: Option<Var>) -> Option<Var> {
        let parts = match parts {
            Some(p) => p,
            None => return start,
        };
        let ty = self.tangent_ty(dest);
        let (zero, one) = (self.b.int(0), self.b.int(1));
        let more = self.b.bin(Bin::Add, w, one);
        let whole = self.b.shape(dest);
        let longer = self.b.one(Op::IndexSet { acc: whole, at: vec![zero], v: more, shape: None }, Ty::shape());
        let mut acc = self.lin_zero(ty.clone());
        if let Some(t) = start {
            acc = self.b.lin(Op::SliceAdd { acc, lo: zero, hi: w, v: t, shape: Some(longer) }, ty.clone());
        }
        let acc = self.b.lin(Op::GatherAdd { acc, at: bins, v: parts, shape: Some(longer) }, ty.clone());
        Some(self.b.lin(Op::Slice { a: acc, lo: zero, hi: w, shape: Some(longer) }, ty))
    }

    fn histogram_sum(&mut self, h: &Histogram) {
        let bins = self.bins(h);
        let t = self.collected_in_bins(h.dest[0], bins, self.has(h.dest[0]), self.has(h.values[0]));
        self.set_tangent(h.outs[0], t);
    }

    /// The tangent of the value that each bin took, the first of equal ones; the destination's where it stayed.
    fn histogram_extreme(&mut self, h: &Histogram, op: Block) {
        let (dest, values) = (h.dest[0], h.values[0]);
        let n = self.b.dim(h.keys, 0);
        let places = self.iota(n);
        let none = self.b.int(-1);
        let shape = self.b.shape(dest);
        let nowhere = self.b.one(Op::Spread { a: none, shape }, Ty::shape());
        let lifted = Op::ReduceByIndex { dest: vec![dest, nowhere], op: Box::new(op), neutral: vec![h.neutral[0], none], keys: h.keys, values: vec![values, places] };
        let tys = [self.b.ty(dest), Ty::shape()];
        let place = self.b.emit(lifted, &tys, &[]).0[1];
        let zero = self.b.int(0);
        let taken = self.b.cmp(Cmp::Ge, place, zero);
        let ty = self.tangent_ty(dest);
        let mut t = self.has(dest).map(|t| {
            let (no, yes) = (self.b.real(0.0, dest), self.b.real(1.0, dest));
            let stays = self.b.one(Op::Select(taken, no, yes), ty.clone());
            self.b.bin(Bin::Scale, stays, t)
        });
        if let Some(v) = self.has(values) {
            let at = self.b.one(Op::Nonzero(taken), Ty::shape());
            let from = self.b.one(Op::Gather { a: place, at, shape: None }, Ty::shape());
            let all = self.b.shape(values);
            let v = self.b.lin(Op::Gather { a: v, at: from, shape: Some(all) }, ty.clone());
            let acc = t.unwrap_or_else(|| self.lin_zero(ty.clone()));
            t = Some(self.b.lin(Op::GatherAdd { acc, at, v, shape: Some(shape) }, ty));
        }
        self.set_tangent(h.outs[0], t);
    }

    fn histogram_product(&mut self, h: &Histogram) -> Result<(), Unsupported> {
        let bins = self.bins(h);
        let (cd, cv) = self.products_in_bins([h.dest[0], bins.0, h.values[0], h.outs[0]])?;
        let start = self.has(h.dest[0]).map(|t| self.b.bin(Bin::Scale, cd, t));
        let parts = self.has(h.values[0]).map(|t| self.b.bin(Bin::Scale, cv, t));
        let t = self.collected_in_bins(h.dest[0], bins, start, parts);
        self.set_tangent(h.outs[0], t);
        Ok(())
    }

    /// The interchange (§4.2.5): a histogram of each column.
    fn histogram_columns(&mut self, h: &Histogram, s: &Stmt, column: &Column) -> Result<(), Unsupported> {
        self.decide(s.span, NAME, "the interchange with the map inside (§4.2.5), then column by column", "");
        let (n, w, zero) = (self.b.dim(h.keys, 0), self.b.dim(h.dest[0], 0), self.b.int(0));
        let all = self.b.bin(Bin::Min, n, w);
        let empty = self.b.cmp(Cmp::Eq, all, zero);
        self.b.open();
        let none = self.b.close(h.dest.clone(), Vec::new());
        self.b.open();
        let firsts: Vec<Var> = h.dest.iter().map(|d| {
            let ty = self.b.ty(*d).elem();
            self.b.one(Op::Index { a: *d, at: vec![zero], shape: None }, ty)
        }).collect();
        self.checked_once(&h.op, &firsts, &h.values, zero);
        let (dest, values) = (self.transposed(&h.dest), self.transposed(&h.values));
        let columns = self.b.dim(dest[0], 0);
        let made = self.column_histograms(h, column, columns, (&dest, &values));
        let results = made.iter().zip(&dest).map(|(m, d)| {
            let (to, ty) = (self.b.shape(*d), self.b.ty(*d));
            let whole = self.b.one(Op::Reshape { a: *m, to, from: None }, ty.clone());
            self.b.one(Op::Transpose(whole), ty)
        }).collect();
        let some = self.b.close(results, Vec::new());
        let op = Op::If(empty, Box::new(none), Box::new(some));
        self.derive(&Stmt { outs: h.outs.clone(), lin_outs: Vec::new(), op, span: s.span })
    }

    fn column_histograms(&mut self, h: &Histogram, column: &Column, n: Var, (dest, values): (&[Var], &[Var])) -> Vec<Var> {
        let xs = [dest, values].concat();
        let elems = self.b.open_loop(&xs);
        let (d, v) = elems.split_at(dest.len());
        let op = column.block(&mut self.b);
        let tys: Vec<Ty> = d.iter().map(|x| self.b.ty(*x)).collect();
        // The neutral elements are not read.
        let neutral = op.params[..dest.len()].iter().map(|p| self.b.ty(*p)).collect::<Vec<_>>().into_iter().map(|t| self.nothing(&t)).collect();
        let inner = Op::ReduceByIndex { dest: d.to_vec(), op: Box::new(op), neutral, keys: h.keys, values: v.to_vec() };
        let (made, _) = self.b.emit(inner, &tys, &[]);
        let body = self.b.close(made, Vec::new());
        self.collected(n, xs, body, &tys)
    }

    fn nothing(&mut self, ty: &Ty) -> Var {
        match ty {
            Ty::F64 => self.b.lit(Lit::F64(0.0)),
            Ty::F32 => self.b.lit(Lit::F32(0.0)),
            Ty::I64 => self.b.lit(Lit::I64(0)),
            Ty::Bool => self.b.lit(Lit::Bool(false)),
            other => self.b.one(Op::Zero(other.clone()), other.clone()),
        }
    }

    /// By sorting the keys and two scans in each segment (Fig. 4), if the operator is associative arithmetic on numbers.
    fn any_histogram(&mut self, h: &Histogram, s: &Stmt) -> Result<(), Unsupported> {
        if !operator::elementwise(&self.b.func, &h.op) {
            return self.histogram_loop(s, "the operator is not straight-line arithmetic on numbers");
        }
        match self.trial(&h.op).as_ref().map_or(Law::Unknown, Trial::associative) {
            Law::Holds => {}
            Law::Fails => return self.histogram_loop(s, "its operator is not associative: the order of the elements counts"),
            Law::Unknown => return self.histogram_loop(s, "whether its operator is associative could not be tried"),
        }
        self.b.push(s.clone());
        self.decide(s.span, NAME, "sorted keys and two scans in each segment (§4.1, Fig. 4)", "the operator is none that has a rule of its own");
        let (bins, w) = self.bins(h);
        let sorted = segments::sorted(&mut self.b, &h.op, &h.neutral, &h.dest, &h.values, bins);
        let k = h.dest.len();
        let triple = sorted.triple(&mut self.b, &h.op);
        let none = vec![Row::new(); k];
        let units: Vec<Row> = (0..k).map(partials::unit).collect();
        let args = [&sorted.before[..], &sorted.values, &sorted.after, &[sorted.last]].concat();
        let rows = self.with_partials(&triple, &args, &[&none[..], &units, &none, &[Row::new()]].concat());
        let starts = self.of_destination(h, &sorted, w);
        let given: Vec<Option<Var>> = h.values.iter().map(|v| self.sorted_tangent(*v, sorted.order)).collect();
        for (j, (y, (_, row))) in h.outs.iter().zip(&rows).enumerate() {
            if self.act.has(*y) {
                let parts = self.row_times(row, &|k| given[k]);
                let t = self.collected_in_bins(h.dest[j], (sorted.bins, w), starts[j], parts);
                self.set_tangent(*y, t);
            }
        }
        Ok(())
    }

    fn sorted_tangent(&mut self, v: Var, order: Var) -> Option<Var> {
        let t = self.has(v)?;
        let (shape, ty) = (self.b.shape(v), self.tangent_ty(v));
        Some(self.b.lin(Op::Gather { a: t, at: order, shape: Some(shape) }, ty))
    }

    /// The destination's tangents, times what all that fell into each bin makes of them.
    fn of_destination(&mut self, h: &Histogram, sorted: &segments::Sorted, w: Var) -> Vec<Option<Var>> {
        let given: Vec<Option<Var>> = h.dest.iter().map(|d| self.has(*d)).collect();
        if given.iter().all(Option::is_none) {
            return given;
        }
        let k = h.dest.len();
        let rest = sorted.rest(&mut self.b, &h.op);
        let units: Vec<Row> = (0..k).map(partials::unit).collect();
        let rows = self.with_partials(&h.op, &[&sorted.seeds[..], &rest].concat(), &[units, vec![Row::new(); k]].concat());
        let firsts = sorted.firsts(&mut self.b, w);
        let mut out = Vec::new();
        for (j, (_, row)) in rows.into_iter().enumerate() {
            let mut whole = Row::new();
            // Bins into which nothing fell keep what they had.
            for m in 0..k {
                match row.get(&m) {
                    Some(Coef::One) if m == j => {
                        whole.insert(m, Coef::One);
                    }
                    c if c.is_some() || m == j => {
                        let c = sorted.spread(&mut self.b, c.copied(), h.dest[j]);
                        whole.insert(m, Coef::Is(firsts.in_bins(&mut self.b, c, if m == j { 1.0 } else { 0.0 }, h.dest[j])));
                    }
                    _ => {}
                }
            }
            out.push(self.row_times(&whole, &|m| given[m]));
        }
        out
    }
}

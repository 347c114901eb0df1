//! Sparse partial derivatives of straight-line operators: which of them are zero, one or minus one follows from the
//! code.
//!
//! An operator on numbers is executed here on entire arrays of arguments. A branch becomes an elementwise selection.

use crate::jvp::{J, derivative, partials};
use adl_ir::{Block, Builder, Lit, Op, Stmt, Var};
use adl_prim::{Bin, Un};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A partial derivative other than zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Coef {
    One,
    MinusOne,
    Is(Var),
}

/// The partial derivatives of a value, by argument. Missing entries are zero.
pub(super) type PartialRow = BTreeMap<usize, Coef>;

/// The results of an operator with their partial derivatives.
pub(super) type PartialRows = Vec<(Var, PartialRow)>;

/// The derivative of the `k`-th argument with respect to itself.
pub(super) fn unit(k: usize) -> PartialRow {
    PartialRow::from([(k, Coef::One)])
}

impl J<'_> {
    /// Emits an operator on arguments whose derivatives are `rows`.
    pub(super) fn with_partials(&mut self, op: &Block, args: &[Var], rows: &[PartialRow]) -> PartialRows {
        let mut run = PartialsRun { b: &mut self.b, names: HashMap::new(), rows: HashMap::new() };
        for ((p, a), row) in op.params.iter().zip(args).zip(rows) {
            run.names.insert(*p, *a);
            run.rows.insert(*p, row.clone());
        }
        run.stmts(&op.stmts);
        op.results.iter().map(|r| (run.name(*r), run.row(*r))).collect()
    }

    /// `c t`.
    pub(super) fn scaled_by(&mut self, c: Coef, t: Var) -> Var {
        match c {
            Coef::One => t,
            Coef::MinusOne => self.b.un(Un::Neg, t),
            Coef::Is(c) => self.b.bin(Bin::ScaleTangent, c, t),
        }
    }

    /// The sum of `row[k] t[k]` over the entries for which `t` exists; `None` if there are none.
    pub(super) fn row_times(&mut self, row: &PartialRow, t: &dyn Fn(usize) -> Option<Var>) -> Option<Var> {
        let mut sum = None;
        for (k, c) in row {
            if let Some(t) = t(*k) {
                let part = self.scaled_by(*c, t);
                sum = self.lin_sum(sum, Some(part));
            }
        }
        sum
    }
}

struct PartialsRun<'a> {
    b: &'a mut Builder,
    names: HashMap<Var, Var>,
    /// The derivatives of the operator's variables.
    rows: HashMap<Var, PartialRow>,
}

impl PartialsRun<'_> {
    fn name(&self, v: Var) -> Var {
        *self.names.get(&v).unwrap_or(&v)
    }

    fn row(&self, v: Var) -> PartialRow {
        self.rows.get(&v).cloned().unwrap_or_default()
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        for s in stmts {
            self.stmt(s);
        }
    }

    fn bind(&mut self, s: &Stmt, v: Var, row: PartialRow) {
        if let Some(o) = s.outs.first() {
            self.names.insert(*o, v);
            self.rows.insert(*o, row);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.op {
            Op::Lit(l) => {
                let v = self.b.lit(l.clone());
                self.bind(stmt, v, PartialRow::new());
            }
            Op::Un(u, a) => {
                let x = self.name(*a);
                let y = self.b.un(*u, x);
                let row = self.unary(*u, x, y, self.row(*a));
                self.bind(stmt, y, row);
            }
            Op::Bin(op, p, q) => {
                let (x, y) = (self.name(*p), self.name(*q));
                let z = self.b.bin(*op, x, y);
                let row = self.binary(*op, (x, y, z), (self.row(*p), self.row(*q)));
                self.bind(stmt, z, row);
            }
            Op::Cmp(c, p, q) => {
                let v =
                    self.b.cmp(*c, self.names.get(p).copied().unwrap_or(*p), self.names.get(q).copied().unwrap_or(*q));
                self.bind(stmt, v, PartialRow::new());
            }
            Op::Not(a) => {
                let x = self.name(*a);
                let ty = self.b.ty(x);
                let v = self.b.one(Op::Not(x), ty);
                self.bind(stmt, v, PartialRow::new());
            }
            Op::Select(c, p, q) => {
                let c = self.name(*c);
                let v = self.choose(c, (self.name(*p), self.name(*q)));
                let row = self.choose_rows(c, v, &self.row(*p), &self.row(*q));
                self.bind(stmt, v, row);
            }
            Op::Convert(to, a) => {
                let v = self.b.convert(*to, self.names.get(a).copied().unwrap_or(*a));
                let row = self.row(*a).into_iter().map(|(k, c)| (k, self.converted(*to, c))).collect();
                let real = self.b.ty(v).scalar().is_real();
                self.bind(stmt, v, if real { row } else { PartialRow::new() });
            }
            Op::If(c, yes, no) => self.branches(stmt, *c, yes, no),
            other => debug_assert!(matches!(other, Op::Prim(..)), "an operator that is not straight-line"),
        }
    }

    fn converted(&mut self, to: adl_ir::Conv, c: Coef) -> Coef {
        match c {
            Coef::Is(v) => Coef::Is(self.b.convert(to, v)),
            known => known,
        }
    }

    fn branches(&mut self, s: &Stmt, c: Var, yes: &Block, no: &Block) {
        self.stmts(&yes.stmts);
        self.stmts(&no.stmts);
        let c = self.name(c);
        for (o, (p, q)) in s.outs.iter().zip(yes.results.iter().zip(&no.results)) {
            let v = self.choose(c, (self.name(*p), self.name(*q)));
            let row = self.choose_rows(c, v, &self.row(*p), &self.row(*q));
            self.names.insert(*o, v);
            self.rows.insert(*o, row);
        }
    }

    fn unary(&mut self, op: Un, x: Var, y: Var, row: PartialRow) -> PartialRow {
        if row.is_empty() || op.is_flat() {
            return PartialRow::new();
        }
        let d = match op {
            Un::Neg => Coef::MinusOne,
            _ => Coef::Is(derivative(self.b, op, x, y)),
        };
        self.times(d, &row)
    }

    fn binary(&mut self, op: Bin, (x, y, z): (Var, Var, Var), (left, right): (PartialRow, PartialRow)) -> PartialRow {
        if left.is_empty() && right.is_empty() {
            return PartialRow::new();
        }
        let (dx, dy) = match op {
            Bin::Add => (Coef::One, Coef::One),
            Bin::Sub => (Coef::One, Coef::MinusOne),
            Bin::Mul | Bin::ScaleTangent => (Coef::Is(y), Coef::Is(x)),
            _ => {
                let (dx, dy) = partials(self.b, op, x, y, z);
                (Coef::Is(dx), Coef::Is(dy))
            }
        };
        let (p, q) = (self.times(dx, &left), self.times(dy, &right));
        self.plus(p, q)
    }

    fn times(&mut self, d: Coef, row: &PartialRow) -> PartialRow {
        row.iter().map(|(k, c)| (*k, self.product(d, *c))).collect()
    }

    fn product(&mut self, d: Coef, c: Coef) -> Coef {
        match (d, c) {
            (Coef::One, c) | (c, Coef::One) => c,
            (Coef::MinusOne, Coef::MinusOne) => Coef::One,
            (Coef::MinusOne, Coef::Is(v)) | (Coef::Is(v), Coef::MinusOne) => Coef::Is(self.b.un(Un::Neg, v)),
            (Coef::Is(d), Coef::Is(c)) => Coef::Is(self.b.bin(Bin::ScaleTangent, d, c)),
        }
    }

    fn plus(&mut self, mut partial_row: PartialRow, q: PartialRow) -> PartialRow {
        for (index, coef) in q {
            match partial_row.get(&index).copied() {
                None => {
                    partial_row.insert(index, coef);
                }
                Some(Coef::One) if coef == Coef::MinusOne => {
                    partial_row.remove(&index);
                }
                Some(Coef::MinusOne) if coef == Coef::One => {
                    partial_row.remove(&index);
                }
                Some(d) => {
                    let like = [coef, d].into_iter().find_map(|c| if let Coef::Is(v) = c { Some(v) } else { None });
                    let (c, d) = (number(self.b, coef, like), number(self.b, d, like));
                    partial_row.insert(index, Coef::Is(self.b.bin(Bin::Add, d, c)));
                }
            }
        }
        partial_row
    }

    /// An elementwise selection.
    fn choose(&mut self, c: Var, (x, y): (Var, Var)) -> Var {
        let (rc, rx, ry) = (self.b.ty(c).rank(), self.b.ty(x).rank(), self.b.ty(y).rank());
        let (x, y) = match rc {
            // A scalar condition selects one of two arrays of equal rank.
            0 if rx > ry => (x, self.spread_like(y, x)),
            0 if ry > rx => (self.spread_like(x, y), y),
            _ => (x, y),
        };
        let ty = self.b.ty(x).scalar().array(rc.max(rx).max(ry));
        self.b.one(Op::Select(c, x, y), ty)
    }

    fn spread_like(&mut self, x: Var, like: Var) -> Var {
        let ty = self.b.ty(x).array(self.b.ty(like).rank());
        let shape = self.b.shape(like);
        self.b.one(Op::Broadcast { a: x, shape }, ty)
    }

    fn choose_rows(&mut self, condition: Var, like: Var, p: &PartialRow, q: &PartialRow) -> PartialRow {
        let keys: BTreeSet<usize> = p.keys().chain(q.keys()).copied().collect();
        let mut out = PartialRow::new();
        for k in keys {
            let (x, y) = (p.get(&k).copied(), q.get(&k).copied());
            out.insert(
                k,
                match (x, y) {
                    (Some(x), Some(y)) if x == y => x,
                    _ => {
                        let zero = self.b.real(0.0, like);
                        let x = x.map_or(zero, |x| number(self.b, x, Some(like)));
                        let y = y.map_or(zero, |y| number(self.b, y, Some(like)));
                        Coef::Is(self.choose(condition, (x, y)))
                    }
                },
            );
        }
        out
    }
}

/// A coefficient as a variable.
pub(super) fn number(b: &mut Builder, c: Coef, like: Option<Var>) -> Var {
    let constant = |b: &mut Builder, x: f64| match like {
        Some(v) => b.real(x, v),
        None => b.lit(Lit::F64(x)),
    };
    match c {
        Coef::One => constant(b, 1.0),
        Coef::MinusOne => constant(b, -1.0),
        Coef::Is(v) => v,
    }
}

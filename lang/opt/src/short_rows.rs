//! Products with small matrices, and arithmetic on matrices with short rows, as loops over the rows.
//!
//! ```text
//! c = replicate n u;  x = sub a c;  y = matmul x w;  loop for n over (y) (i, r) { … }      w has 3 rows of 3 numbers
//! ⟼  x = loop for n over (a) (i, r) { r - u };  y = loop for n over (x) (i, r) { r @ w };  loop for n over (y) …
//! ```
//!
//! The bodies compute rows number by number. The loops are fused with each other and with the code around them, and the
//! cotangents of `u` and `w` are sums of numbers. So a transformation of points costs its arithmetic, and stores no matrix between
//! two steps. [`mod@crate::row_products`] does the opposite for larger matrices.
//!
//! In a loop without carried values, the product of a vector and a small matrix from outside of the loop is written out, too,
//! so that the cotangent of the matrix is not carried from iteration to iteration. (Where there are carried values, as in a
//! Kalman filter, the numbers would all be residuals: its gradient would take three times as long.)
//!
//! A row of a product has the bits of the product of that row. Arithmetic becomes a loop if a loop is all that reads its
//! result. All extents are known to agree, so nothing that could fail is left out.

use crate::fuse::{definitions, readers};
use crate::limits::scalar_replacement::MOST;
use crate::limits::short_rows::LONGEST;
use crate::shapes::Extents;
use crate::written_sums::{inner_product, term_by_term};
use adl_ir::{Block, Function, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use adl_syntax::span::Span;
use std::collections::{HashMap, HashSet};

/// Rewrites a function without symbolic zeros. Returns whether it changed.
pub fn short_rows(f: &mut Function) -> bool {
    if !has_candidates(f, &f.body) {
        return false;
    }
    let extents = Extents::of(f);
    let mut body = std::mem::take(&mut f.body);
    let mut changed = block(f, &mut body, &extents);
    for s in &mut body.stmts {
        changed |= in_loops(f, s, &extents);
    }
    f.body = body;
    changed
}

fn is_matrix(f: &Function, v: Var) -> bool {
    *f.ty(v) == Ty::F64.array(2)
}

/// The matrix that an operation makes of others by rows, perhaps.
fn by_rows(f: &Function, s: &Stmt) -> Option<Var> {
    let [out] = s.outs[..] else { return None };
    let suits = match &s.op {
        Op::MatMul(a, b) => is_matrix(f, *a) && is_matrix(f, *b),
        Op::Un(..) | Op::Bin(Bin::Add | Bin::Sub | Bin::Mul | Bin::Div, ..) => true,
        _ => false,
    };
    (suits && is_matrix(f, out) && s.lin_outs.is_empty()).then_some(out)
}

/// The matrix and the vector of a product.
fn vector_product(f: &Function, s: &Stmt) -> Option<(Var, Var)> {
    let Op::MatMul(a, b) = s.op else { return None };
    let is_vector = |v: Var| *f.ty(v) == Ty::F64.array(1);
    match [is_matrix(f, a) && is_vector(b), is_vector(a) && is_matrix(f, b)] {
        [true, _] => Some((a, b)),
        [_, true] => Some((b, a)),
        _ => None,
    }
    .filter(|_| s.lin_outs.is_empty() && s.outs.len() == 1)
}

fn has_candidates(f: &Function, b: &Block) -> bool {
    b.stmts.iter().any(|s| {
        by_rows(f, s).is_some()
            || vector_product(f, s).is_some()
            || stacker::maybe_grow(64 * 1024, 1024 * 1024, || s.op.blocks().into_iter().any(|b| has_candidates(f, b)))
    })
}

/// Whether a matrix is so small that [`mod@crate::scalar_replacement`] keeps it in scalars.
pub(crate) fn is_small(extents: &Extents, matrix: Var) -> bool {
    let [rows, columns] = [0, 1].map(|axis| extents.literal(matrix, axis));
    rows.zip(columns).and_then(|(n, m)| n.checked_mul(m)).is_some_and(|size| size <= MOST as i64)
}

fn block(function: &mut Function, body: &mut Block, extents: &Extents) -> bool {
    let mut changed = false;
    for inner in body.stmts.iter_mut().flat_map(|s| s.op.blocks_mut()) {
        changed |= stacker::maybe_grow(64 * 1024, 1024 * 1024, || block(function, inner, extents));
    }
    if !body.stmts.iter().any(|s| by_rows(function, s).is_some()) {
        return changed;
    }
    let (defs, readers) = (definitions(body), readers(body));
    // Matrices of which a loop reads the rows.
    let mut read: HashSet<Var> = HashSet::new();
    for at in (0..body.stmts.len()).rev() {
        if let Op::Loop(l) = &body.stmts[at].op {
            read.extend(&l.xs);
            continue;
        }
        let Some(out) = by_rows(function, &body.stmts[at]) else { continue };
        let only_rows = read.contains(&out) && readers.get(&out) == Some(&1);
        let view = BlockView { extents, defs: &defs, stmts: &body.stmts };
        let Some(operands) = view.operands(function, at, only_rows) else { continue };
        read.extend(operands.iter().filter_map(|(v, with)| (*with == LoopOperand::Row).then_some(*v)));
        let widths = view.widths(&body.stmts[at], &operands);
        let made = over_rows(function, &body.stmts[at], &operands, widths);
        body.stmts.splice(at..=at, made);
        changed = true;
    }
    changed
}

/// Writes out the products in the loops of a statement.
fn in_loops(function: &mut Function, stmt: &mut Stmt, extents: &Extents) -> bool {
    let mut changed = false;
    if let Op::Loop(l) = &mut stmt.op
        && l.init.is_empty()
    {
        let made: HashSet<Var> =
            l.body.params.iter().chain(l.body.stmts.iter().flat_map(|s| &s.outs)).copied().collect();
        for at in (0..l.body.stmts.len()).rev() {
            let product = vector_product(function, &l.body.stmts[at]).filter(|(matrix, _)| !made.contains(matrix));
            if let Some(written) = product.and_then(|by| written_out(function, &l.body.stmts[at], by, extents)) {
                l.body.stmts.splice(at..=at, written);
                changed = true;
            }
        }
    }
    for inner in stmt.op.blocks_mut() {
        for s in &mut inner.stmts {
            changed |= stacker::maybe_grow(64 * 1024, 1024 * 1024, || in_loops(function, s, extents));
        }
    }
    changed
}

/// The product of a vector and a small matrix, number by number.
fn written_out(f: &mut Function, stmt: &Stmt, (matrix, vector): (Var, Var), extents: &Extents) -> Option<Vec<Stmt>> {
    let [rows, columns] = [0, 1].map(|axis| extents.literal(matrix, axis));
    let (rows, columns, len) = (rows?, columns?, extents.literal(vector, 0)?);
    let from_left = matches!(stmt.op, Op::MatMul(a, _) if a == vector);
    let (inner, outer) = if from_left { (rows, columns) } else { (columns, rows) };
    // A single column is added in another order.
    if !is_small(extents, matrix) || inner != len || len == 0 || from_left && outer == 1 {
        return None;
    }
    let mut made = RowCode { f, stmts: Vec::new(), span: stmt.span };
    let numbers: Vec<Var> = (0..len).map(|k| made.number(vector, &[k])).collect();
    let elems: Vec<Var> = match from_left {
        true => (0..outer).map(|j| made.term_by_term(&numbers, matrix, j)).collect(),
        false => (0..outer).map(|i| made.inner_product(matrix, i, &numbers)).collect(),
    };
    let op = Op::ArrayLit { elems, shape: None };
    made.stmts.push(Stmt { outs: stmt.outs.clone(), lin_outs: Vec::new(), op, span: stmt.span });
    Some(made.stmts)
}

/// What stands for an operand in the loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LoopOperand {
    /// Its row.
    Row,
    /// A variable from outside of the loop.
    Is(Var),
}

/// A block as it was before the pass, with the extents of its arrays.
struct BlockView<'a> {
    extents: &'a Extents,
    /// The positions of definitions.
    defs: &'a HashMap<Var, usize>,
    stmts: &'a [Stmt],
}

impl BlockView<'_> {
    /// What stands for the operands of a statement, if it is to become a loop. `only_rows`: a loop is all that reads its
    /// result.
    fn operands(&self, function: &Function, at: usize, only_rows: bool) -> Option<Vec<(Var, LoopOperand)>> {
        match self.stmts[at].op {
            Op::MatMul(a, b) => {
                let fits = self.extents.literal(a, 1)? == self.extents.literal(b, 0)?;
                // A single column is added in another order.
                let wide = self.extents.literal(b, 1)? > 1;
                let large = wide && is_small(self.extents, b) && !is_small(self.extents, a);
                (fits && large).then(|| vec![(a, LoopOperand::Row), (b, LoopOperand::Is(b))])
            }
            Op::Un(_, a) if only_rows && self.is_short(a) => Some(vec![(a, LoopOperand::Row)]),
            Op::Bin(_, a, b) if only_rows => {
                let matrix = [a, b].into_iter().find(|v| is_matrix(function, *v) && self.repeated(*v).is_none())?;
                let operands = [a, b].map(|v| Some((v, self.operand(function, v, matrix)?)));
                self.is_short(matrix).then(|| operands.into_iter().collect())?
            }
            _ => None,
        }
    }

    /// The lengths of a row over which the loop runs, and of a row of the result.
    fn widths(&self, s: &Stmt, operands: &[(Var, LoopOperand)]) -> (i64, i64) {
        let row = operands.iter().find(|(_, with)| *with == LoopOperand::Row);
        let inner = row.and_then(|(v, _)| self.extents.literal(*v, 1)).unwrap_or_default();
        match s.op {
            Op::MatMul(_, by) => (inner, self.extents.literal(by, 1).unwrap_or_default()),
            _ => (inner, inner),
        }
    }

    /// Whether the rows of a matrix are short, and their number is not.
    fn is_short(&self, matrix: Var) -> bool {
        let short = self.extents.literal(matrix, 1).is_some_and(|n| (1..=LONGEST).contains(&n));
        short && !is_small(self.extents, matrix)
    }

    /// What stands for an operand beside the rows of `matrix`, if it has the extents of that or none.
    fn operand(&self, f: &Function, v: Var, matrix: Var) -> Option<LoopOperand> {
        if *f.ty(v) == Ty::F64 {
            return Some(LoopOperand::Is(v));
        }
        if let Some((n, row)) = self.repeated(v) {
            let fits = self.extents.is(matrix, 0, n) && self.extents.literal(row, 0) == self.extents.literal(matrix, 1);
            return fits.then_some(LoopOperand::Is(row));
        }
        let agree = (0..2).all(|axis| self.extents.agree(v, matrix, axis));
        (is_matrix(f, v) && agree).then_some(LoopOperand::Row)
    }

    /// The number of rows of a matrix that are all the same vector, and that vector.
    fn repeated(&self, matrix: Var) -> Option<(Var, Var)> {
        match self.stmts[*self.defs.get(&matrix)?].op {
            Op::Replicate { n, a } => Some((n, a)),
            _ => None,
        }
    }
}

/// The statement as a loop over the rows of some operands, whose body computes the numbers of a row one by one, and what
/// precedes the loop.
fn over_rows(function: &mut Function, stmt: &Stmt, operands: &[(Var, LoopOperand)], widths: (i64, i64)) -> Vec<Stmt> {
    let mut xs: Vec<Var> = operands.iter().filter(|(_, with)| *with == LoopOperand::Row).map(|(v, _)| *v).collect();
    xs.dedup();
    let index = function.fresh(Ty::I64, false);
    let rows: Vec<Var> = xs.iter().map(|_| function.fresh(Ty::F64.array(1), false)).collect();
    let mut made = RowCode { f: function, stmts: Vec::new(), span: stmt.span };
    let elems = made.row(stmt, operands, widths, &|v| xs.iter().position(|x| *x == v).map(|k| rows[k]));
    let result = made.push(Op::ArrayLit { elems, shape: None }, Ty::F64.array(1));
    let stmts = std::mem::take(&mut made.stmts);
    let n = made.push(Op::Dim(xs[0], 0), Ty::I64);
    let params = [&[index][..], &rows].concat();
    let body = Block { params, stmts, results: vec![result], ..Block::default() };
    let ir_loop = Loop { xs, outs: vec![Out::Collect], ..Loop::new(Trip::Count(n), body) };
    let trips = made.f.fresh(Ty::I64, false);
    let op = Op::Loop(Box::new(ir_loop));
    made.stmts.push(Stmt { outs: vec![stmt.outs[0], trips], lin_outs: Vec::new(), op, span: stmt.span });
    made.stmts
}

/// Statements that compute rows number by number, as they are emitted.
struct RowCode<'a> {
    f: &'a mut Function,
    stmts: Vec<Stmt>,
    span: Span,
}

impl RowCode<'_> {
    fn push(&mut self, op: Op, ty: Ty) -> Var {
        let v = self.f.fresh(ty, false);
        self.stmts.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op, span: self.span });
        v
    }

    fn number(&mut self, a: Var, at: &[i64]) -> Var {
        let at = at.iter().map(|i| self.push(Op::Lit(Lit::I64(*i)), Ty::I64)).collect();
        self.push(Op::Index { a, at, shape: None }, Ty::F64)
    }

    /// The numbers of a row of the result. `row`: the row of a matrix over which the loop runs.
    fn row(
        &mut self,
        stmt: &Stmt,
        operands: &[(Var, LoopOperand)],
        (inner, width): (i64, i64),
        row: &dyn Fn(Var) -> Option<Var>,
    ) -> Vec<Var> {
        if let Op::MatMul(a, by) = stmt.op {
            let left: Vec<Var> = (0..inner).map(|k| self.number(row(a).unwrap_or(a), &[k])).collect();
            return (0..width).map(|j| self.term_by_term(&left, by, j)).collect();
        }
        let each = |made: &mut Self, k: i64| {
            let mut numbers = HashMap::new();
            for (v, with) in operands {
                let of = match with {
                    LoopOperand::Row => row(*v).unwrap_or(*v),
                    LoopOperand::Is(of) => *of,
                };
                let number = if *made.f.ty(of) == Ty::F64 { of } else { made.number(of, &[k]) };
                numbers.insert(*v, number);
            }
            let mut op = stmt.op.clone();
            op.map_operands(&mut |v| numbers.get(&v).copied().unwrap_or(v));
            made.push(op, Ty::F64)
        };
        (0..width).map(|k| each(self, k)).collect()
    }

    /// The inner product of a row of a matrix and a vector.
    fn inner_product(&mut self, matrix: Var, row: i64, vector: &[Var]) -> Var {
        let column: Vec<Var> = (0..).zip(vector).map(|(k, _)| self.number(matrix, &[row, k])).collect();
        inner_product(&column, vector, Lit::F64(0.0), &mut |op| self.push(op, Ty::F64))
    }

    /// The product of a row and a column of a matrix, in the order of products of matrices.
    fn term_by_term(&mut self, row: &[Var], by: Var, column: i64) -> Var {
        let column: Vec<Var> = (0..).zip(row).map(|(k, _)| self.number(by, &[k, column])).collect();
        term_by_term(row, &column, Lit::F64(0.0), &mut |op| self.push(op, Ty::F64))
    }
}

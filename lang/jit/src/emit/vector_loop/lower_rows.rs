//! Lowers operations on whole rows in the body of a loop to inner loops over their elements, so that the loop can be
//! vectorised: elementwise operators, broadcasts, sums and inner products of vectors. Adjacent operations on rows of one
//! length share a loop, and rows that only this loop reads are never made.
//!
//! Inner products become sums of products, which are added in the same order. Extents that an operation needs to be
//! equal are compared by checks, which the plan hoists out of the loop; if they differ, the original statements run. A
//! row of each iteration that is read several times is copied first: its elements lie apart from those of the other
//! iterations, and those of the copy lie beside them.

use super::plan::{definitions, uses};
use adl_ir::rewrite::rename::rename_op;
use adl_ir::{Block, Cmp, Function, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::{Bin, GeneralFn, Prim};
use adl_syntax::span::Span;
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// What an operation makes of the elements of its rows.
enum RowOp {
    Elementwise,
    /// This many copies of a number.
    Replicate(Var),
    /// The sum, of one row or of the products of two.
    Total(Option<Var>),
}

/// The loop that the last operations have become, which others may join.
struct Fused {
    length: Var,
    span: Span,
    /// Rows that it iterates over, and the variables of their elements.
    xs: Vec<(Var, Var)>,
    stmts: Vec<Stmt>,
    /// The rows that it makes, and the variables of their elements.
    made: Vec<(Var, Var)>,
    /// Sums of the elements of these variables.
    totals: Vec<(Var, Var)>,
    /// How often it reads the rows that it makes.
    reads: HashMap<Var, usize>,
}

struct Lowering<'a> {
    f: &'a Function,
    made: Function,
    /// The number of uses of each variable.
    uses: HashMap<Var, usize>,
    /// The lengths of rows.
    lengths: HashMap<Var, Var>,
    /// Rows that are symbolic zeros, or are it before the first iteration of an inner loop that adds to them.
    zeros: HashSet<Var>,
    /// Rows of an iteration that inner loops or branches make. Their sums need no other loop.
    stored: HashSet<Var>,
    /// Accumulated arrays.
    carried: HashSet<Var>,
}

/// A function with the variables of another, to which those of lowered loops are added. Of its statements it has those
/// only of which a plan asks the values.
pub(super) fn with_variables(f: &Function) -> Rc<Function> {
    let stmts = definitions(&f.body).into_iter().cloned().collect();
    Rc::new(Function { vars: f.vars.clone(), body: Block { stmts, ..Block::default() }, ..Function::default() })
}

/// Lowers the operations on rows in the body of a loop. `made`: what [`with_variables`] gave, or the last result.
pub(super) fn lower(f: &Function, made: Rc<Function>, ir_loop: &Loop) -> (Rc<Function>, Loop) {
    let made = Rc::unwrap_or_clone(made);
    let zeros = made.body.stmts.iter().filter(|s| matches!(s.op, Op::Zero(_))).map(|s| s.outs[0]).collect();
    let mut uses = HashMap::new();
    count(&ir_loop.body, &mut uses);
    let mut lowering =
        Lowering { f, made, uses, lengths: HashMap::new(), zeros, stored: HashSet::new(), carried: HashSet::new() };
    let carried = ir_loop.body.params.iter().skip(1).take(ir_loop.init.len()).filter(|v| f.ty(**v).rank() > 0);
    lowering.carried.extend(carried);
    let body = lowering.block(&ir_loop.body);
    let body = lowering.copy_rows(ir_loop, body);
    (Rc::new(lowering.made), Loop { body, ..shell(ir_loop) })
}

/// A loop without its body.
fn shell(l: &Loop) -> Loop {
    Loop {
        trip: l.trip.clone(),
        reverse: l.reverse,
        init: l.init.clone(),
        lin_init: l.lin_init.clone(),
        xs: l.xs.clone(),
        lin_xs: l.lin_xs.clone(),
        outs: l.outs.clone(),
        lin_outs: l.lin_outs.clone(),
        body: Block::default(),
    }
}

fn is_row(ty: &Ty) -> bool {
    matches!(ty, Ty::Array(of, 1) if **of == Ty::F64)
}

/// An operation on rows.
fn row_op(f: &Function, s: &Stmt) -> Option<RowOp> {
    let ([out], true) = (&s.outs[..], s.lin_outs.is_empty()) else { return None };
    let row = |v: &Var| is_row(f.ty(*v));
    let operand = |v: &Var| row(v) || *f.ty(*v) == Ty::F64;
    Some(match &s.op {
        Op::Un(_, a) if row(a) => RowOp::Elementwise,
        Op::Bin(_, a, b) if row(out) && operand(a) && operand(b) => RowOp::Elementwise,
        Op::Replicate { n, a } if row(out) && *f.ty(*a) == Ty::F64 => RowOp::Replicate(*n),
        Op::Dot(a, b) if row(a) && row(b) => RowOp::Total(Some(*b)),
        Op::Sum { a, .. } | Op::SumAll { a, .. } if row(a) && *f.ty(*out) == Ty::F64 => RowOp::Total(None),
        _ => return None,
    })
}

/// Whether a block operates on rows.
pub(super) fn has_rows(f: &Function, b: &Block) -> bool {
    b.stmts.iter().any(|s| {
        row_op(f, s).is_some()
            || s.op.blocks().into_iter().any(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || has_rows(f, b)))
    })
}

/// Counts the uses of all variables.
fn count(b: &Block, uses: &mut HashMap<Var, usize>) {
    b.results.iter().for_each(|v| *uses.entry(*v).or_default() += 1);
    for s in &b.stmts {
        s.op.each_operand(&mut |v| *uses.entry(v).or_default() += 1);
        s.op.blocks().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || count(b, uses)));
    }
}

/// Whether an operation, or a block in it, reads a variable.
fn reads(op: &Op, is: &dyn Fn(Var) -> bool) -> bool {
    let mut found = false;
    op.each_operand(&mut |v| found |= is(v));
    found
        || op.blocks().into_iter().any(|b| {
            b.results.iter().any(|v| is(*v))
                || stacker::maybe_grow(64 * 1024, 1024 * 1024, || b.stmts.iter().any(|s| reads(&s.op, is)))
        })
}

/// How often statements read a row, and how often inner loops do. Extents do not count.
fn read(b: &Block, row: Var, inside: bool, times: &mut [usize; 2]) {
    for s in &b.stmts {
        if !matches!(s.op, Op::Dim(..)) {
            s.op.each_operand(&mut |v| times[usize::from(inside)] += usize::from(v == row));
        }
        let inside = inside || matches!(s.op, Op::Loop(_));
        let blocks = s.op.blocks();
        blocks.into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || read(b, row, inside, times)));
    }
}

/// Whether a row is read by additions only.
fn is_added_to(b: &Block, row: Var) -> bool {
    let adds = |s: &&Stmt| matches!(s.op, Op::Bin(Bin::Add, x, y) if (x == row) != (y == row));
    b.stmts.iter().filter(adds).count() == uses(b, row)
}

/// Whether inner loops read a row, or several statements do.
fn is_reread(b: &Block, row: Var) -> bool {
    let mut times = [0; 2];
    read(b, row, false, &mut times);
    times[1] > 0 || times[0] > 1
}

/// A statement with one result.
fn statement(out: Var, op: Op, span: Span) -> Stmt {
    Stmt { outs: vec![out], lin_outs: Vec::new(), op, span }
}

impl Fused {
    fn new(length: Var, span: Span) -> Fused {
        Fused {
            length,
            span,
            xs: Vec::new(),
            stmts: Vec::new(),
            made: Vec::new(),
            totals: Vec::new(),
            reads: HashMap::new(),
        }
    }

    /// The variable of a row's elements.
    fn made(&self, row: Var) -> Option<Var> {
        self.made.iter().find(|(v, _)| *v == row).map(|(_, x)| *x)
    }

    /// Whether a variable is a result.
    fn gives(&self, v: Var) -> bool {
        self.made(v).is_some() || self.totals.iter().any(|(out, _)| *out == v)
    }
}

impl Lowering<'_> {
    fn block(&mut self, body: &Block) -> Block {
        let (mut to, mut open) = (Vec::new(), None);
        for s in &body.stmts {
            if !self.join(s, &mut open, &mut to) {
                if open.as_ref().is_some_and(|f: &Fused| reads(&s.op, &|v| f.gives(v))) {
                    self.close(open.take(), &mut to);
                }
                let s = self.other(s, &mut to);
                to.push(s);
            }
        }
        self.close(open, &mut to);
        Block {
            params: body.params.clone(),
            lin_params: body.lin_params.clone(),
            stmts: to,
            results: body.results.clone(),
            lin_results: body.lin_results.clone(),
        }
    }

    /// A statement that does not operate on rows.
    fn other(&mut self, stmt: &Stmt, to: &mut Vec<Stmt>) -> Stmt {
        let op = match &stmt.op {
            Op::Loop(l) => Op::Loop(Box::new(self.inner(stmt, l, to))),
            Op::If(c, x, y) => {
                let arms = [x, y].map(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.block(b)));
                for (k, v) in stmt.outs.iter().enumerate() {
                    self.chosen(*v, [x.results[k], y.results[k]]);
                }
                let [x, y] = arms.map(Box::new);
                Op::If(*c, x, y)
            }
            Op::SumAll { a, .. } if is_row(self.f.ty(*a)) => Op::Sum { a: *a, n: None },
            Op::Bin(Bin::Add, acc, _) | Op::IndexAdd { acc, .. } if self.carried.contains(acc) => {
                self.carried.extend(&stmt.outs);
                stmt.op.clone()
            }
            op => op.clone(),
        };
        Stmt { op, ..stmt.clone() }
    }

    /// An inner loop. Rows that it carries are rows like others.
    fn inner(&mut self, stmt: &Stmt, ir_loop: &Loop, to: &mut Vec<Stmt>) -> Loop {
        let (carried, elements) = ir_loop.body.params[1..].split_at(ir_loop.init.len());
        for (row, a) in elements.iter().zip(&ir_loop.xs).filter(|(v, _)| is_row(self.f.ty(**v))) {
            if matches!(self.f.ty(*a), Ty::Array(of, 2) if **of == Ty::F64) {
                let n = self.fresh(Ty::I64);
                to.push(statement(n, Op::Dim(*a, 1), stmt.span));
                self.lengths.insert(*row, n);
            }
        }
        for (row, init) in carried.iter().zip(&ir_loop.init).filter(|(v, _)| self.f.ty(**v).rank() > 0) {
            if !is_row(self.f.ty(*row)) || self.zeros.contains(init) && !is_added_to(&ir_loop.body, *row) {
                self.carried.insert(*row);
            } else if self.zeros.contains(init) {
                self.zeros.insert(*row);
            } else {
                let n = self.length(*init, to);
                self.lengths.insert(*row, n);
                self.stored.insert(*row);
            }
        }
        let body = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.block(&ir_loop.body));
        let mut made = Loop { body, ..shell(ir_loop) };
        for (k, (row, out)) in carried.iter().zip(&stmt.outs).enumerate().filter(|(_, (v, _))| is_row(self.f.ty(**v))) {
            if self.zeros.contains(row) {
                self.start(&mut made, k, to);
            }
            if let Some(n) = self.lengths.get(&made.body.results[k]).copied() {
                self.lengths.insert(*out, n);
            }
            self.stored.insert(*out);
        }
        let outs = stmt.outs.iter().skip(ir_loop.init.len()).zip(&ir_loop.outs);
        for row in outs.filter(|(v, o)| **o == Out::Collect && is_row(self.f.ty(**v))).map(|(v, _)| *v) {
            self.stored.insert(row);
            if let Trip::Count(n) = ir_loop.trip {
                self.lengths.insert(row, n);
            }
        }
        made
    }

    /// Starts a carried row, to which numbers are added, with additive identities (-0) instead of a symbolic zero. There
    /// must be an iteration.
    fn start(&mut self, ir_loop: &mut Loop, index: usize, to: &mut Vec<Stmt>) {
        let (Some(length), Trip::Count(count)) =
            (self.lengths.get(&ir_loop.body.results[index]).copied(), &ir_loop.trip)
        else {
            return;
        };
        if ir_loop.body.stmts.iter().any(|s| s.outs.contains(&length)) {
            return;
        }
        let one = self.fresh(Ty::I64);
        to.push(statement(one, Op::Lit(Lit::I64(1)), Span::default()));
        self.check(Cmp::Ge, *count, one, to);
        let (x, row) = (self.fresh(Ty::F64), self.fresh(Ty::F64.array(1)));
        let nothing = statement(x, Op::Lit(Lit::F64(-0.0)), Span::default());
        let made = self.over(length, Vec::new(), Vec::new(), (vec![nothing], vec![x]), vec![row], Span::default());
        to.push(made);
        ir_loop.init[index] = row;
    }

    /// Notes what a branch chooses.
    fn chosen(&mut self, v: Var, arms: [Var; 2]) {
        if arms.iter().any(|a| self.carried.contains(a)) {
            self.carried.insert(v);
        } else if is_row(self.f.ty(v)) {
            self.stored.insert(v);
            let lengths = arms.map(|a| self.lengths.get(&a).copied());
            if let [Some(n), Some(m)] = lengths
                && n == m
            {
                self.lengths.insert(v, n);
            }
        }
    }

    /// Adds an operation on rows to the open loop, or to a new one. Returns whether this was possible.
    fn join(&mut self, stmt: &Stmt, open: &mut Option<Fused>, to: &mut Vec<Stmt>) -> bool {
        let Some(op) = row_op(self.f, stmt) else { return false };
        let mut operands: SmallVec<[Var; 3]> = SmallVec::new();
        stmt.op.each_operand(&mut |v| operands.push(v));
        if operands.iter().any(|v| self.carried.contains(v)) {
            return false;
        }
        operands.retain(|v| matches!(self.f.ty(*v), Ty::F64 | Ty::Bool) || is_row(self.f.ty(*v)));
        let rows: SmallVec<[Var; 3]> =
            operands.iter().copied().filter(|v| is_row(self.f.ty(*v)) && !self.zeros.contains(v)).collect();
        let makes = |f: &Fused, v: &Var| f.made(*v).is_some();
        let is_open = |v: &Var| open.as_ref().is_some_and(|f| makes(f, v));
        // The sum of a row that another loop makes is added up as it makes it.
        if matches!(op, RowOp::Total(None)) && rows.first().is_some_and(|v| self.stored.contains(v) && !is_open(v)) {
            return false;
        }
        let fits = open.as_ref().is_some_and(|f| {
            let same = |v: &Var| makes(f, v) || self.lengths.get(v) == Some(&f.length);
            let length = if let RowOp::Replicate(n) = op { n == f.length } else { rows.iter().any(same) };
            length && !f.totals.iter().any(|(out, _)| operands.contains(out))
        });
        if !fits {
            self.close(open.take(), to);
            // A length that is known is that of rows outside of this block, too.
            let row = rows.iter().find(|v| self.lengths.contains_key(v)).or(rows.first());
            let length = match (&op, row) {
                (RowOp::Replicate(n), _) => self.at_least_zero(*n, to),
                (_, Some(row)) => self.length(*row, to),
                _ => return false,
            };
            *open = Some(Fused::new(length, stmt.span));
        }
        let Some(fused) = open else { return false };
        for row in rows.into_iter().filter(|row| fused.made(*row).is_none()) {
            self.have_length(row, fused.length, to);
        }
        self.add(stmt, &op, &operands, fused);
        true
    }

    /// Appends the check that a row has a length.
    fn have_length(&mut self, row: Var, length: Var, to: &mut Vec<Stmt>) {
        let n = self.length(row, to);
        self.check(Cmp::Eq, n, length, to);
        self.lengths.insert(row, length);
    }

    /// Adds an operation to a loop that it fits.
    fn add(&mut self, stmt: &Stmt, op: &RowOp, operands: &[Var], fused: &mut Fused) {
        let mut names = HashMap::new();
        for row in operands.iter().filter(|v| is_row(self.f.ty(**v))) {
            let element = self.element(*row, fused);
            names.insert(*row, element);
        }
        let element = |v: Var| names.get(&v).copied().unwrap_or(v);
        match op {
            RowOp::Elementwise => {
                let x = self.fresh(Ty::F64);
                let mut op = stmt.op.clone();
                rename_op(&mut op, &names);
                fused.stmts.push(statement(x, op, stmt.span));
                fused.made.push((stmt.outs[0], x));
            }
            RowOp::Replicate(_) => fused.made.push((stmt.outs[0], operands[0])),
            RowOp::Total(None) => fused.totals.push((stmt.outs[0], element(operands[0]))),
            RowOp::Total(Some(b)) => {
                let x = self.fresh(Ty::F64);
                let product = Op::Bin(Bin::Mul, element(operands[0]), element(*b));
                fused.stmts.push(statement(x, product, stmt.span));
                fused.totals.push((stmt.outs[0], x));
            }
        }
    }

    /// The variable of the elements of a row in a loop.
    fn element(&mut self, row: Var, fused: &mut Fused) -> Var {
        if let Some(x) = fused.made(row) {
            *fused.reads.entry(row).or_default() += 1;
            return x;
        }
        if let Some((_, x)) = fused.xs.iter().find(|(v, _)| *v == row) {
            return *x;
        }
        let x = self.fresh(Ty::F64);
        fused.xs.push((row, x));
        x
    }

    /// Appends a loop and the sums of what it collects.
    fn close(&mut self, fused: Option<Fused>, to: &mut Vec<Stmt>) {
        let Some(fused) = fused else { return };
        let (mut outs, mut results, mut sums) = (Vec::new(), Vec::new(), Vec::new());
        for (row, x) in &fused.made {
            self.lengths.insert(*row, fused.length);
            self.stored.insert(*row);
            if self.uses.get(row) > fused.reads.get(row) {
                outs.push(*row);
                results.push(*x);
            }
        }
        for (out, term) in &fused.totals {
            let terms = self.fresh(Ty::F64.array(1));
            outs.push(terms);
            results.push(*term);
            sums.push(statement(*out, Op::Sum { a: terms, n: None }, fused.span));
        }
        if !outs.is_empty() {
            let xs = fused.xs.iter().map(|(row, _)| *row).collect();
            let elements = fused.xs.iter().map(|(_, x)| *x).collect();
            let l = self.over(fused.length, xs, elements, (fused.stmts, results), outs, fused.span);
            to.push(l);
            to.extend(sums);
        }
    }

    /// A loop over the elements of rows that collects rows.
    fn over(
        &mut self,
        length: Var,
        xs: Vec<Var>,
        elements: Vec<Var>,
        (stmts, results): (Vec<Stmt>, Vec<Var>),
        mut outs: Vec<Var>,
        span: Span,
    ) -> Stmt {
        let params = std::iter::once(self.fresh(Ty::I64)).chain(elements).collect();
        let l = Loop {
            xs,
            outs: vec![Out::Collect; outs.len()],
            ..Loop::new(Trip::Count(length), Block { params, stmts, results, ..Block::default() })
        };
        outs.push(self.fresh(Ty::I64));
        Stmt { outs, lin_outs: Vec::new(), op: Op::Loop(Box::new(l)), span }
    }

    /// Copies rows of the iterations that are read several times.
    fn copy_rows(&mut self, l: &Loop, mut block: Block) -> Block {
        let again = |v: &Var| is_row(self.f.ty(*v)) && is_reread(&block, *v);
        let mut copied: HashSet<Var> = block.params.iter().skip(1 + l.init.len()).copied().filter(again).collect();
        let mut moving: HashSet<Var> = block.params.first().copied().into_iter().collect();
        for s in &block.stmts {
            let ([out], true) = (&s.outs[..], reads(&s.op, &|v| moving.contains(&v))) else { continue };
            match &s.op {
                Op::Bin(..) => _ = moving.insert(*out),
                Op::Index { .. } if again(out) => _ = copied.insert(*out),
                _ => {}
            }
        }
        let mut stmts = Vec::new();
        for row in &mut block.params {
            if copied.contains(row) {
                *row = self.copy(*row, &mut stmts);
            }
        }
        for mut s in std::mem::take(&mut block.stmts) {
            let mut copy = Vec::new();
            for row in &mut s.outs {
                if copied.contains(row) {
                    *row = self.copy(*row, &mut copy);
                }
            }
            stmts.push(s);
            stmts.extend(copy);
        }
        Block { stmts, ..block }
    }

    /// Makes a copy of a row, which takes its name. Returns the new name of the row.
    fn copy(&mut self, row: Var, to: &mut Vec<Stmt>) -> Var {
        let original = self.fresh(Ty::F64.array(1));
        let n = self.fresh(Ty::I64);
        to.push(statement(n, Op::Dim(original, 0), Span::default()));
        let x = self.fresh(Ty::F64);
        let l = self.over(n, vec![original], vec![x], (Vec::new(), vec![x]), vec![row], Span::default());
        to.push(l);
        original
    }

    fn fresh(&mut self, ty: Ty) -> Var {
        self.made.fresh(ty, false)
    }

    /// The length of a row.
    fn length(&mut self, row: Var, to: &mut Vec<Stmt>) -> Var {
        if let Some(n) = self.lengths.get(&row) {
            return *n;
        }
        let n = self.fresh(Ty::I64);
        to.push(statement(n, Op::Dim(row, 0), Span::default()));
        self.lengths.insert(row, n);
        n
    }

    /// Appends a check of two Ints.
    fn check(&mut self, compare: Cmp, n: Var, m: Var, to: &mut Vec<Stmt>) {
        if n == m {
            return;
        }
        let holds = self.fresh(Ty::Bool);
        to.push(statement(holds, Op::Cmp(compare, n, m), Span::default()));
        let assert = Op::Prim(Prim::General(GeneralFn::Assert), vec![holds]);
        to.push(Stmt { outs: Vec::new(), ..statement(holds, assert, Span::default()) });
    }

    /// Appends the check that an Int is not negative.
    fn at_least_zero(&mut self, n: Var, to: &mut Vec<Stmt>) -> Var {
        let zero = self.fresh(Ty::I64);
        to.push(statement(zero, Op::Lit(Lit::I64(0)), Span::default()));
        self.check(Cmp::Ge, n, zero, to);
        n
    }
}

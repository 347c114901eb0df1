//! Vectorises loops: if iterations are independent straight-line code on scalars, the loop becomes operations
//! on entire arrays.
//!
//! ```text
//! loop for n over (x) out (sum, collect) { y = x * a; return y, y }
//! ⟼  if n >= 8 { xs = take n x; ys = xs * a; s = sum ys; return s, ys } else { the loop }
//! ```
//!
//! A variable of the body that depends on the index or on an element becomes a *column*, an array of its values
//! in all iterations. Any other variable remains a scalar. `take` also materialises a symbolic zero. Errors may
//! occur in a different order; this is not observable, because on any error the caller evaluates the program
//! again by the ordinary interpreter.

use crate::limits::ir_vectorise::FEWEST;
use adl_ir::{Block, Cmp, Function, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::{ArrayFn, Prim};
use adl_syntax::span::Span;
use std::collections::HashMap;

/// Vectorises all suitable loops of a function.
pub(crate) fn loops(f: &mut Function) {
    let mut body = std::mem::take(&mut f.body);
    block(f, &mut body, true);
    f.body = body;
}

/// For native code, which keeps loops: sums that [`loops`] would compute by array operations are computed by
/// the same operations, because the order of additions determines the result bits.
pub(crate) fn sums(f: &mut Function) {
    let mut body = std::mem::take(&mut f.body);
    block(f, &mut body, false);
    f.body = body;
}

/// `whole`: whether straight-line loops become array operations.
fn block(f: &mut Function, b: &mut Block, whole: bool) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        for mut s in std::mem::take(&mut b.stmts) {
            s.op.blocks_mut().into_iter().for_each(|b| block(f, b, whole));
            let made = match &s.op {
                Op::Loop(l) if whole && adl_opt::straight(f, l) => VectorisedBody::of(f, l, s.span),
                _ => None,
            };
            match made {
                Some(c) => c.choice(f, s, &mut b.stmts),
                None => sum_in_array_order(f, s, &mut b.stmts),
            }
        }
    });
}

/// Sums the terms of any other loop in the order that [`loops`] uses for straight-line code. Whether a body is
/// straight-line code depends on the checkpointing plan; the result bits must not.
fn sum_in_array_order(func: &mut Function, mut stmt: Stmt, to: &mut Vec<Stmt>) {
    let span = stmt.span;
    let Op::Loop(ir_loop) = &mut stmt.op else { return to.push(stmt) };
    let Trip::Count(trip_count) = ir_loop.trip else { return to.push(stmt) };
    let mut sums = Vec::new();
    let first = ir_loop.body.results.len().saturating_sub(ir_loop.outs.len());
    for (k, o) in ir_loop.outs.iter_mut().enumerate() {
        let ty = func.ty(ir_loop.body.results[first + k]).clone();
        if *o == Out::Sum && matches!(ty, Ty::F64 | Ty::F32) {
            *o = Out::Collect;
            let part = func.fresh(ty.array(1), false);
            sums.push((std::mem::replace(&mut stmt.outs[first + k], part), part, ty));
        }
    }
    let reverse = ir_loop.reverse;
    to.push(stmt);
    for (total, part, ty) in sums {
        if !reverse && ty == Ty::F64 {
            // For few elements this order gives the same bits.
            to.push(Stmt {
                outs: vec![total],
                lin_outs: Vec::new(),
                op: Op::Sum { a: part, n: Some(trip_count) },
                span,
            });
            continue;
        }
        let whole = func.fresh(ty.clone(), false);
        let sum = Stmt { outs: vec![whole], lin_outs: Vec::new(), op: Op::Sum { a: part, n: Some(trip_count) }, span };
        let (i, x, trip) = (func.fresh(Ty::I64, false), func.fresh(ty, false), func.fresh(Ty::I64, false));
        let body = Block { params: vec![i, x], results: vec![x], ..Block::default() };
        let each = Loop { reverse, xs: vec![part], outs: vec![Out::Sum], ..Loop::new(Trip::Count(trip_count), body) };
        // `short_or_vectorised` binds the results of the short loop itself.
        let few = Stmt { outs: vec![total, trip], lin_outs: Vec::new(), op: Op::Loop(Box::new(each)), span };
        let count = func.fresh(Ty::I64, false);
        let many = Block {
            stmts: vec![sum, Stmt { outs: vec![count], lin_outs: Vec::new(), op: Op::Lit(Lit::I64(0)), span }],
            results: vec![whole, count],
            ..Block::default()
        };
        short_or_vectorised(func, few, trip_count, many, to);
    }
}

/// Selects between the loop for small trip counts and `whole` for large ones.
fn short_or_vectorised(f: &mut Function, mut s: Stmt, n: Var, whole: Block, to: &mut Vec<Stmt>) {
    let (outs, span) = (s.outs.clone(), s.span);
    let mut push = |f: &mut Function, op: Op, ty: Ty| {
        let v = f.fresh(ty, false);
        to.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op, span });
        v
    };
    let limit = push(f, Op::Lit(Lit::I64(FEWEST)), Ty::I64);
    let many = push(f, Op::Cmp(Cmp::Ge, n, limit), Ty::Bool);
    s.outs = outs.iter().map(|v| f.fresh(f.ty(*v).clone(), false)).collect();
    let few = Block { results: s.outs.clone(), stmts: vec![s], ..Block::default() };
    to.push(Stmt { outs, lin_outs: Vec::new(), op: Op::If(many, Box::new(whole), Box::new(few)), span });
}

fn flat(f: &Function, v: Var) -> bool {
    f.ty(v).is_flat()
}

/// The vectorised body of a loop.
struct VectorisedBody {
    n: Var,
    stmts: Vec<Stmt>,
    /// The variable that replaces each variable of the body, and whether it is a column.
    now: HashMap<Var, (Var, bool)>,
    results: Vec<Var>,
    span: Span,
}

impl VectorisedBody {
    fn of(func: &mut Function, ir_loop: &Loop, span: Span) -> Option<VectorisedBody> {
        let Trip::Count(trip_count) = ir_loop.trip else { return None };
        let mut body =
            VectorisedBody { n: trip_count, stmts: Vec::new(), now: HashMap::new(), results: Vec::new(), span };
        let mut used = vec![false; func.vars.len()];
        let mark = |used: &mut Vec<bool>, v: Var| used[v.0 as usize] = true;
        for s in &ir_loop.body.stmts {
            s.op.each_operand(&mut |v| mark(&mut used, v));
        }
        ir_loop.body.results.iter().for_each(|v| mark(&mut used, *v));
        let (index, elems) = ir_loop.body.params.split_first()?;
        if used[index.0 as usize] {
            let v = body.push(func, Op::Prim(Prim::Array(ArrayFn::Iota), vec![trip_count]), Ty::I64.array(1));
            body.now.insert(*index, (v, true));
        }
        for (p, x) in elems.iter().zip(&ir_loop.xs).filter(|(p, _)| used[p.0 as usize]) {
            if !flat(func, *p) {
                return None;
            }
            let ty = func.ty(*p).array(1);
            let v = body.push(func, Op::Prim(Prim::Array(ArrayFn::Take), vec![trip_count, *x]), ty);
            body.now.insert(*p, (v, true));
        }
        for s in &ir_loop.body.stmts {
            body.stmt(func, s)?;
        }
        for (o, r) in ir_loop.outs.iter().zip(&ir_loop.body.results) {
            let col = body.column(func, *r);
            let ty = func.ty(*r).clone();
            let v = if *o == Out::Sum { body.push(func, Op::Sum { a: col, n: Some(trip_count) }, ty) } else { col };
            body.results.push(v);
        }
        Some(body)
    }

    fn push(&mut self, f: &mut Function, op: Op, ty: Ty) -> Var {
        let v = f.fresh(ty, false);
        self.stmts.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op, span: self.span });
        v
    }

    fn operand(&self, v: Var) -> (Var, bool) {
        self.now.get(&v).copied().unwrap_or((v, false))
    }

    /// The variable as a column; a scalar is broadcast.
    fn column(&mut self, f: &mut Function, v: Var) -> Var {
        match self.operand(v) {
            (v, true) => v,
            (v, false) => {
                let ty = f.ty(v).array(1);
                self.push(f, Op::Replicate { n: self.n, a: v }, ty)
            }
        }
    }

    fn stmt(&mut self, func: &mut Function, s: &Stmt) -> Option<()> {
        self.span = s.span;
        let out = *s.outs.first()?;
        let mut columns = false;
        s.op.each_operand(&mut |v| columns |= self.operand(v).1);
        let ty = if columns { func.ty(out).array(1) } else { func.ty(out).clone() };
        let mut op = match (&s.op, columns) {
            (Op::Index { a, at, .. }, true) => {
                // An array that changes between iterations cannot be gathered from.
                if self.operand(*a).1 {
                    return None;
                }
                Op::Gather { a: *a, at: at[0], shape: None }
            }
            // A selection by one condition, or between scalars, becomes a selection between columns.
            (Op::Select(c, a, b), true) => {
                let (a, b) = (self.column(func, *a), self.column(func, *b));
                let v = self.push(func, Op::Select(self.operand(*c).0, a, b), ty);
                self.now.insert(out, (v, true));
                return Some(());
            }
            (op, _) => op.clone(),
        };
        op.map_operands(&mut |v| self.operand(v).0);
        let v = self.push(func, op, ty);
        self.now.insert(out, (v, columns));
        Some(())
    }

    /// Emits the loop for small trip counts and array operations for large ones.
    fn choice(self, f: &mut Function, s: Stmt, to: &mut Vec<Stmt>) {
        let mut results = self.results;
        results.push(self.n);
        short_or_vectorised(f, s, self.n, Block { stmts: self.stmts, results, ..Block::default() }, to);
    }
}

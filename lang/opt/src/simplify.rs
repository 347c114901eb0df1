//! Algebraic simplification: operations whose result is an operand, branches on a known condition, loop elements
//! that equal the index or are constant. The same traversal folds constants ([`crate::fold`]), traces extents
//! ([`crate::extent`]) and eliminates common subexpressions ([`crate::cse`]).

use crate::cse::SeenStmts;
use crate::extent::ShapeFacts;
use crate::fold::Lits;
use adl_ir::rewrite::is_pure;
use adl_ir::{Block, Conv, Function, Lit, Loop, Op, Stmt, Trip, Ty, Var};
use adl_prim::{ArrayFn, Bin, GeneralFn, Prim, Un};
use std::collections::{HashMap, HashSet};

/// Simplifies a function.
pub fn simplify(func: &mut Function) {
    let mut body = std::mem::take(&mut func.body);
    let params = body.params.iter().copied().collect();
    let mut s = Simplifier {
        f: func,
        params,
        names: HashMap::new(),
        lits: Lits::default(),
        seen: SeenStmts::default(),
        extents: ShapeFacts::default(),
        defs: HashMap::new(),
    };
    s.seen.open();
    s.block(&mut body);
    func.body = body;
}

struct Simplifier<'a> {
    f: &'a mut Function,
    params: HashSet<Var>,
    /// Replacements of variables.
    names: HashMap<Var, Var>,
    lits: Lits,
    seen: SeenStmts,
    extents: ShapeFacts,
    /// Definitions that later rules look at: involutions, and arrays of one element.
    defs: HashMap<Var, Op>,
}

impl Simplifier<'_> {
    fn name(&self, v: Var) -> Var {
        *self.names.get(&v).unwrap_or(&v)
    }

    fn block(&mut self, b: &mut Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut out = Vec::with_capacity(b.stmts.len());
            self.stmts(std::mem::take(&mut b.stmts), &mut out);
            b.stmts = out;
            for r in b.results.iter_mut().chain(&mut b.lin_results) {
                *r = self.name(*r);
            }
        });
    }

    fn stmts(&mut self, from: Vec<Stmt>, out: &mut Vec<Stmt>) {
        for mut stmt in from {
            stmt.op.map_operands(&mut |v| *self.names.get(&v).unwrap_or(&v));
            if matches!(&stmt.op, Op::Prim(Prim::General(GeneralFn::Assert), args) if args.first().and_then(|c| self.lits.get(*c)) == Some(&Lit::Bool(true)))
            {
                continue;
            }
            if let Some(b) = self.known_arm(&mut stmt) {
                self.stmts(b.stmts, out);
                for (v, r) in stmt
                    .outs
                    .iter()
                    .zip(&b.results)
                    .chain(stmt.lin_outs.iter().zip(&b.lin_results))
                    .filter(|(v, r)| v != r)
                {
                    self.names.insert(*v, self.name(*r));
                }
                continue;
            }
            if let Op::Loop(l) = &mut stmt.op {
                self.elements(l);
            }
            for part in stmt.op.blocks_mut() {
                self.seen.open();
                self.block(part);
                self.seen.close();
            }
            if let (Op::Loop(l), Some(trip)) = (&stmt.op, stmt.outs.last())
                && let Trip::Count(n) = l.trip
                && (self.lits.int(n).is_some_and(|n| n >= 0) || matches!(self.defs.get(&n), Some(Op::Dim(..))))
            {
                self.names.insert(*trip, n);
            }
            if let Some(number) = self.of_copies(&mut stmt) {
                out.extend(self.stmt(number));
                stmt.op.map_operands(&mut |v| self.name(v));
            }
            out.extend(self.stmt(stmt));
        }
    }

    /// Arithmetic on vectors all elements of which are equal becomes a vector of copies of one number, which the
    /// returned statement computes.
    fn of_copies(&mut self, stmt: &mut Stmt) -> Option<Stmt> {
        let copied = |v: Var| match self.defs.get(&v) {
            Some(Op::Replicate { n, a }) if *self.f.ty(*a) == Ty::F64 => Some((*n, *a)),
            _ => None,
        };
        let (n, op) = match stmt.op {
            Op::Un(op, a) => copied(a).map(|(n, x)| (n, Op::Un(op, x)))?,
            Op::Bin(op, a, b) => {
                let ((n, x), (m, y)) = (copied(a)?, copied(b)?);
                (n == m).then_some((n, Op::Bin(op, x, y)))?
            }
            _ => return None,
        };
        let number = self.f.fresh(Ty::F64, false);
        stmt.op = Op::Replicate { n, a: number };
        Some(Stmt { op, outs: vec![number], lin_outs: Vec::new(), span: stmt.span })
    }

    /// The arm of a branch on a known condition, or the only iteration of a loop with trip count 1.
    fn known_arm(&mut self, s: &mut Stmt) -> Option<Block> {
        match &mut s.op {
            Op::Loop(l) => self.single_iteration(l, &s.outs),
            Op::If(c, a, b) => match self.lits.get(*c) {
                Some(Lit::Bool(true)) => Some(std::mem::take(a)),
                Some(Lit::Bool(false)) => Some(std::mem::take(b)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The body of a loop with trip count 1, if nothing is linear or collected and its elements are known.
    fn single_iteration(&mut self, ir_loop: &mut Loop, outs: &[Var]) -> Option<Block> {
        let Trip::Count(count) = ir_loop.trip else { return None };
        let linear = !(ir_loop.lin_init.is_empty()
            && ir_loop.lin_xs.is_empty()
            && ir_loop.lin_outs.is_empty()
            && ir_loop.body.lin_params.is_empty());
        if self.lits.int(count) != Some(1) || linear || !ir_loop.outs.is_empty() {
            return None;
        }
        let mut elements = Vec::new();
        for x in &ir_loop.xs {
            match self.defs.get(x) {
                Some(Op::ArrayLit { elems, .. }) => elements.push(*elems.first()?),
                _ => return None,
            }
        }
        let mut b = std::mem::take(&mut ir_loop.body);
        let (index, trip) = (*b.params.first()?, *outs.last()?);
        let span = b.stmts.first().map(|s| s.span).unwrap_or_default();
        let int = |n: i64, v: Var| Stmt { op: Op::Lit(Lit::I64(n)), outs: vec![v], lin_outs: Vec::new(), span };
        self.names.extend(b.params.iter().skip(1).copied().zip(ir_loop.init.iter().copied().chain(elements)));
        b.stmts.insert(0, int(0, index));
        b.stmts.push(int(1, trip));
        b.results.push(trip);
        Some(b)
    }

    /// Removes loop elements that equal the index, are constant, or occur twice.
    fn elements(&mut self, ir_loop: &mut Loop) {
        let (Some(index), Trip::Count(n)) = (ir_loop.body.params.first().copied(), &ir_loop.trip) else { return };
        let (n, offset) = (*n, 1 + ir_loop.init.len());
        let mut position = 0;
        while position < ir_loop.xs.len() {
            let known = match self.defs.get(&ir_loop.xs[position]) {
                Some(Op::Prim(Prim::Array(ArrayFn::Iota), m)) if m.first() == Some(&n) => Some(index),
                Some(Op::Replicate { n: m, a }) if *m == n => Some(*a),
                _ => ir_loop.xs[..position]
                    .iter()
                    .position(|x| *x == ir_loop.xs[position])
                    .map(|j| ir_loop.body.params[offset + j]),
            };
            match known {
                Some(v) => {
                    let v = self.name(v);
                    self.names.insert(ir_loop.body.params.remove(offset + position), v);
                    ir_loop.xs.remove(position);
                }
                None => position += 1,
            }
        }
    }

    /// Simplifies a statement. `None` if it is not needed any more.
    fn stmt(&mut self, mut stmt: Stmt) -> Option<Stmt> {
        self.extents.learn(self.f, &stmt);
        if !stmt.lin_outs.is_empty() {
            return Some(stmt);
        }
        if let ([out], true) = (stmt.outs.as_slice(), is_pure(&stmt.op)) {
            let out = *out;
            self.cheaper(&mut stmt.op);
            if let Some(v) = self.same(&stmt.op) {
                self.names.insert(out, v);
                return None;
            }
            if let Some(l) = self.lits.folded(&stmt.op).or_else(|| self.compared(&stmt.op)) {
                stmt.op = Op::Lit(l);
            }
            match &stmt.op {
                Op::Lit(l) => self.lits.put(out, l.clone()),
                Op::Un(Un::Neg, _)
                | Op::Not(_)
                | Op::Reverse(_)
                | Op::Transpose(_)
                | Op::Prim(Prim::Array(ArrayFn::Iota), _)
                | Op::Replicate { .. }
                | Op::Broadcast { .. }
                | Op::ArrayLit { .. }
                | Op::Zero(_)
                | Op::Dim(..) => {
                    self.defs.insert(out, stmt.op.clone());
                }
                _ => {}
            }
        }
        match self.seen.find(self.f, &stmt) {
            None => Some(stmt),
            Some(old) => {
                self.names.extend(stmt.outs.iter().copied().zip(old));
                None
            }
        }
    }

    /// A cheaper form of the same operation: a square becomes a product, and a scalar is combined with an array
    /// without being copied first. (Not in sums, because a sum with a symbolic zero is the other operand.)
    fn cheaper(&self, op: &mut Op) {
        // The arguments are available anyway; an array derived from them should not be stored for its shape alone.
        if let Op::Dim(a, _) | Op::Shape(a) = op {
            *a = self.extents.first(*a).filter(|x| self.params.contains(x)).unwrap_or(*a);
        }
        let Op::Bin(bin, a, b) = op else { return };
        match bin {
            Bin::Pow if self.lits.is(*b, 2.0) => *op = Op::Bin(Bin::Mul, *a, *a),
            Bin::Mul | Bin::ScaleTangent | Bin::Div => {
                if let Some(x) = self.everywhere(*a, *b) {
                    *a = x;
                } else if let Some(x) = self.everywhere(*b, *a) {
                    *b = x;
                }
            }
            _ => {}
        }
    }

    /// The number that a constant array contains, if it has the shape of the other operand.
    fn everywhere(&self, a: Var, other: Var) -> Option<Var> {
        let (Op::Replicate { a: x, .. } | Op::Broadcast { a: x, .. }) = self.defs.get(&a)? else { return None };
        (self.f.ty(*x).rank() == 0 && self.f.ty(a).rank() == self.f.ty(other).rank()).then_some(*x)
    }

    /// The result of comparing an Int with itself.
    fn compared(&self, op: &Op) -> Option<Lit> {
        match op {
            Op::Cmp(c, a, b) if a == b && *self.f.ty(*a) == Ty::I64 => {
                Some(Lit::Bool(c.holds(Some(std::cmp::Ordering::Equal))))
            }
            _ => None,
        }
    }

    /// The operand that equals the operation's result.
    fn same(&self, op: &Op) -> Option<Var> {
        let one = |v: Var| self.lits.is_one(v);
        let none = |v: Var| self.lits.int(v) == Some(0);
        let symbolic = |v: Var| matches!(self.defs.get(&v), Some(Op::Zero(t)) if t.rank() > 0);
        let kept = |v: Var, other: Var| (self.f.ty(v).rank() >= self.f.ty(other).rank()).then_some(v);
        match op {
            Op::Bin(Bin::Mul | Bin::ScaleTangent, a, b) if one(*a) => kept(*b, *a),
            Op::Bin(Bin::Mul | Bin::ScaleTangent | Bin::Div | Bin::Pow, a, b) if one(*b) => kept(*a, *b),
            Op::Bin(Bin::Add, a, b) if none(*a) || symbolic(*a) => kept(*b, *a),
            Op::Bin(Bin::Add, a, b) if symbolic(*b) => kept(*a, *b),
            Op::Bin(Bin::Add | Bin::Sub, a, b) if none(*b) => kept(*a, *b),
            Op::Bin(Bin::Min | Bin::Max, a, b) if a == b => Some(*a),
            Op::Bin(Bin::Max, a, b) if none(*b) && matches!(self.defs.get(a), Some(Op::Dim(..))) => Some(*a),
            Op::Un(Un::Powi(1), a) => Some(*a),
            Op::Un(Un::Neg, a) | Op::Not(a) | Op::Reverse(a) | Op::Transpose(a) => self.involution_operand(op, *a),
            Op::Select(c, a, b) => match self.lits.get(*c) {
                Some(Lit::Bool(true)) => kept(*a, *b),
                Some(Lit::Bool(false)) => kept(*b, *a),
                _ => (a == b && self.f.ty(*c).rank() == 0).then_some(*a),
            },
            Op::Convert(Conv::ToF64, a) if *self.f.ty(*a).scalar() == Ty::F64 => Some(*a),
            Op::Convert(Conv::ToF32, a) if *self.f.ty(*a).scalar() == Ty::F32 => Some(*a),
            Op::Convert(Conv::ToI64, a) if *self.f.ty(*a).scalar() == Ty::I64 => Some(*a),
            Op::Index { a, at, .. } => match (self.defs.get(a)?, self.lits.int(*at.first()?)?) {
                (Op::ArrayLit { elems, .. }, k) if at.len() == 1 => elems.get(usize::try_from(k).ok()?).copied(),
                _ => None,
            },
            Op::Dim(a, k) => self.extents.find(*a, *k, &|v| self.seen.extent(v, *k)),
            _ => None,
        }
    }

    /// The operand of an involution that is applied twice. (Not of negation on Ints, because the least Int has no
    /// negative.)
    fn involution_operand(&self, op: &Op, a: Var) -> Option<Var> {
        match (op, self.defs.get(&a)?) {
            (Op::Un(Un::Neg, _), Op::Un(Un::Neg, x)) if self.f.ty(*x).scalar().is_real() => Some(*x),
            (Op::Not(_), Op::Not(x)) | (Op::Reverse(_), Op::Reverse(x)) | (Op::Transpose(_), Op::Transpose(x)) => {
                Some(*x)
            }
            _ => None,
        }
    }
}

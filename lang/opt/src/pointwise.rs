//! Trip arithmetic on entire vectors into loops over their elements, which are then fused ([`mod@crate::fuse`]).
//! For native code, which vectorises such loops and stores only their outputs.
//!
//! ```text
//! y = mul x a; z = add y b   ⟼   n = dim 0 x; assert n == dim 0 b;
//!                                y = loop for n over (x) collect { … }; z = loop for n over (y, b) collect { … }
//! ```
//!
//! If an assertion fails, the runtime evaluates the call again in the interpreter, which reports the error. A
//! function that does anything else with arrays is left alone, because those operations would stand between the
//! loops and prevent fusion.

use crate::limits::pointwise::FEWEST;
use adl_ir::{Added, Block, Cmp, Function, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::{Bin, GeneralFn, Prim};
use adl_syntax::span::Span;
use std::collections::HashMap;

/// Rewrites a function, none of whose arrays is a symbolic zero. Returns whether it changed.
pub fn pointwise(func: &mut Function) -> bool {
    let linear = !func.body.lin_params.is_empty() || !func.body.lin_results.is_empty();
    if linear
        || !func.body.stmts.iter().all(|s| suits(func, s))
        || func.body.stmts.iter().filter(|s| on_vectors(func, s)).count() < FEWEST
    {
        return false;
    }
    let stmts = std::mem::take(&mut func.body.stmts);
    let mut p = VectorLoops {
        f: func,
        out: Vec::with_capacity(2 * stmts.len()),
        extents: HashMap::new(),
        same: HashMap::new(),
        filled: HashMap::new(),
    };
    stmts.into_iter().for_each(|s| p.stmt(s));
    let out = p.out;
    func.body.stmts = out;
    crate::pipelines::clean(func, adl_ir::Zeros::Materialized);
    true
}

fn is_vector(f: &Function, v: Var) -> bool {
    matches!(f.ty(v), Ty::Array(e, 1) if **e == Ty::F64)
}

/// Whether a statement is an operation on the elements of vectors that becomes a loop.
fn on_vectors(f: &Function, s: &Stmt) -> bool {
    let operand = |v: &Var| is_vector(f, *v) || *f.ty(*v) == Ty::F64;
    match &s.op {
        Op::Un(_, a) => is_vector(f, *a),
        Op::Bin(op, a, b) => {
            let known =
                matches!(op, Bin::Add | Bin::Sub | Bin::Mul | Bin::Div | Bin::ScaleTangent | Bin::Min | Bin::Max);
            known && operand(a) && operand(b) && (is_vector(f, *a) || is_vector(f, *b))
        }
        _ => false,
    }
}

/// Whether a statement may stay beside such loops.
fn suits(func: &Function, stmt: &Stmt) -> bool {
    let number = |v: &Var| func.ty(*v).is_flat();
    if !stmt.lin_outs.is_empty() {
        return false;
    }
    match &stmt.op {
        Op::Lit(_) | Op::Dim(..) | Op::Prim(Prim::General(GeneralFn::Assert), _) => true,
        Op::Replicate { a, .. } => *func.ty(*a) == Ty::F64,
        Op::Sum { a, .. } | Op::SumAll { a, .. } => is_vector(func, *a),
        Op::Dot(a, b) => is_vector(func, *a) && is_vector(func, *b),
        Op::Un(..) | Op::Bin(..) | Op::Cmp(..) | Op::Not(_) | Op::Select(..) | Op::Convert(..)
            if stmt.outs.iter().all(number) =>
        {
            true
        }
        _ => on_vectors(func, stmt),
    }
}

struct VectorLoops<'a> {
    f: &'a mut Function,
    out: Vec<Stmt>,
    /// The lengths of vectors.
    extents: HashMap<Var, Var>,
    /// Maps an extent to an equal one that represents it.
    same: HashMap<Var, Var>,
    /// Constant vectors: the length and the number.
    filled: HashMap<Var, (Var, Var)>,
}

impl VectorLoops<'_> {
    fn push(&mut self, op: Op, ty: Ty, span: Span) -> Var {
        let v = self.f.fresh(ty, false);
        self.out.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op, span });
        v
    }

    fn stmt(&mut self, stmt: Stmt) {
        let span = stmt.span;
        match stmt.op {
            Op::Un(op, a) if on_vectors(self.f, &stmt) => self.each(&stmt, &[a], &|v| Op::Un(op, v[0])),
            Op::Bin(op, a, b) if on_vectors(self.f, &stmt) => self.each(&stmt, &[a, b], &|v| Op::Bin(op, v[0], v[1])),
            Op::Dot(a, b) => {
                let terms = self.f.fresh(Ty::F64.array(1), false);
                self.each(&Stmt { outs: vec![terms], ..stmt.clone() }, &[a, b], &|v| Op::Bin(Bin::Mul, v[0], v[1]));
                self.out.push(Stmt { op: Op::Sum { a: terms, n: None }, span, ..stmt });
            }
            Op::Replicate { n, a } => {
                if let Some(v) = stmt.outs.first() {
                    self.filled.insert(*v, (n, a));
                    self.extents.insert(*v, n);
                }
                self.out.push(stmt);
            }
            _ => self.out.push(stmt),
        }
    }

    /// The representative of an extent.
    fn first(&self, mut n: Var) -> Var {
        while let Some(m) = self.same.get(&n) {
            n = *m;
        }
        n
    }

    fn extent(&mut self, a: Var, span: Span) -> Var {
        if let Some(n) = self.extents.get(&a) {
            return self.first(*n);
        }
        let n = self.push(Op::Dim(a, 0), Ty::I64, span);
        self.extents.insert(a, n);
        n
    }

    /// Unifies two extents from here on.
    fn unite(&mut self, first: Var, second: Var, span: Span) {
        if first == second {
            return;
        }
        let mut added = Added::new(self.f, span);
        let equal = added.cmp(Cmp::Eq, first, second);
        added.assert(equal, "vectors of different lengths");
        self.out.append(&mut added.stmts);
        self.same.insert(second, first);
    }

    /// Emits a loop that applies an operation to each element of vectors, and to scalars.
    fn each(&mut self, statement: &Stmt, operands: &[Var], op: &dyn Fn(&[Var]) -> Op) {
        let mut long: Option<Var> = None;
        let (mut xs, mut params, mut given) = (Vec::new(), vec![self.f.fresh(Ty::I64, false)], Vec::new());
        let only_filled = operands.iter().all(|v| !is_vector(self.f, *v) || self.filled.contains_key(v));
        for operand in operands {
            if !is_vector(self.f, *operand) {
                given.push(*operand);
                continue;
            }
            let n = self.extent(*operand, statement.span);
            match long {
                Some(m) => self.unite(m, n, statement.span),
                None => long = Some(n),
            }
            match (self.filled.get(operand), xs.iter().position(|x| x == operand)) {
                (Some((_, x)), _) if !only_filled => given.push(*x),
                (_, Some(k)) => given.push(params[k + 1]),
                _ => {
                    xs.push(*operand);
                    params.push(self.f.fresh(Ty::F64, false));
                    given.extend(params.last());
                }
            }
        }
        let (Some(extent), Some(out)) = (long, statement.outs.first()) else { return self.out.push(statement.clone()) };
        let result = self.f.fresh(Ty::F64, false);
        let stmt = Stmt { outs: vec![result], lin_outs: Vec::new(), op: op(&given), span: statement.span };
        let body = Block { params, stmts: vec![stmt], results: vec![result], ..Block::default() };
        let ir_loop = Loop { xs, outs: vec![Out::Collect], ..Loop::new(Trip::Count(extent), body) };
        let trip = self.f.fresh(Ty::I64, false);
        self.out.push(Stmt {
            outs: vec![*out, trip],
            lin_outs: Vec::new(),
            op: Op::Loop(Box::new(ir_loop)),
            span: statement.span,
        });
        self.extents.insert(*out, extent);
    }
}

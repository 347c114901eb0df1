//! Sparsity patterns: which entries of its matrix a linear function may have, derived from its code. All
//! coefficients are replaced by 1, and a branch on data by both of its arms. The remaining function depends on Ints
//! and shapes only, so evaluating it with sets of inputs gives the pattern for all points with the same Ints and
//! shapes: bands of stencils, blocks of maps over rows, gathers at indices from data.

pub use crate::results::Structure;
use crate::{Ad, check};
use adl_ir::rewrite::{dce, linear_uses};
use adl_ir::{Block, Builder, FnId, Function, Lit, Loop, Op, Program, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use std::collections::{HashMap, HashSet};

impl Ad {
    /// The pattern of a linear function; `None` if it depends on more than Ints and shapes.
    pub fn structure(&mut self, program: &mut Program, id: FnId) -> Option<Structure> {
        if let Some(s) = self.linear.structures.get(&id) {
            return s.clone();
        }
        // The depth of a recursion depends on data.
        self.linear.structures.insert(id, None);
        let src = program.func(id).clone();
        let made = function(self, program, &src)?;
        let exact = made.1;
        let made = made.0;
        let mut read = HashSet::new();
        operands(&made.body, &mut read);
        let reads = made.body.params.iter().map(|v| read.contains(v)).collect();
        check::made("structure", program, &made);
        let out = Structure { func: program.add(made), reads, exact };
        self.linear.structures.insert(id, Some(out.clone()));
        Some(out)
    }
}

fn function(ad: &mut Ad, p: &mut Program, src: &Function) -> Option<(Function, bool)> {
    let mut b = Builder::on(src.clone());
    b.func.name = format!("structure of {}", src.name);
    b.adopt(&src.body.params, &src.body.lin_params);
    let data = src.body.params.iter().copied().filter(|v| !of_ints(src.ty(*v))).collect();
    let mut s = PatternBuilder { ad, p, b, names: HashMap::new(), data, nothing: HashSet::new(), exact: true };
    s.stmts(&src.body.stmts)?;
    let lin_results = s.named(&src.body.lin_results);
    let exact = s.exact;
    let mut out = s.b.finish(Vec::new(), lin_results);
    dce::remove_dead_relaxed(&mut out);
    linear_uses::uses(&mut out);
    Some((out, exact))
}

/// Whether a type consists of Ints, arrays of Ints, and boxes of these.
fn of_ints(ty: &Ty) -> bool {
    match ty {
        Ty::I64 => true,
        Ty::Array(e, _) => of_ints(e),
        Ty::F64 | Ty::F32 | Ty::Bool | Ty::Str | Ty::Data(_) => false,
    }
}

/// Collects all variables that a block and its nested blocks read.
fn operands(b: &Block, out: &mut HashSet<Var>) {
    let mut work = vec![b];
    while let Some(b) = work.pop() {
        out.extend(b.results.iter().chain(&b.lin_results));
        for s in &b.stmts {
            s.op.each_operand(&mut |v| _ = out.insert(v));
            work.extend(s.op.blocks());
        }
    }
}

struct PatternBuilder<'a> {
    ad: &'a mut Ad,
    p: &'a mut Program,
    b: Builder,
    /// Renaming: copies to originals, and results of branches to their replacements.
    names: HashMap<Var, Var>,
    /// Variables that depend on real numbers of the point.
    data: HashSet<Var>,
    /// Numbers that are literally 0: coefficients without an entry.
    nothing: HashSet<Var>,
    exact: bool,
}

impl PatternBuilder<'_> {
    fn name(&self, v: Var) -> Var {
        *self.names.get(&v).unwrap_or(&v)
    }

    fn named(&self, vs: &[Var]) -> Vec<Var> {
        vs.iter().map(|v| self.name(*v)).collect()
    }

    fn stmts(&mut self, stmts: &[Stmt]) -> Option<()> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || stmts.iter().try_for_each(|s| self.stmt(s)))
    }

    fn block(&mut self, b: &Block) -> Option<Block> {
        self.b.open();
        self.b.adopt(&b.params, &b.lin_params);
        self.stmts(&b.stmts)?;
        let (results, lin) = (self.named(&b.results), self.named(&b.lin_results));
        Some(self.b.close(results, lin))
    }

    fn stmt(&mut self, s: &Stmt) -> Option<()> {
        let mut stmt = s.clone();
        self.b.span = stmt.span;
        let mut linear = !stmt.lin_outs.is_empty();
        stmt.op.each_operand(&mut |v| linear |= self.b.func.linear(v));
        if !linear && linear_uses::captured_by(&self.b.func, &stmt.op).is_empty() {
            self.plain(&stmt);
            self.b.push(stmt);
            return Some(());
        }
        let names = std::mem::take(&mut self.names);
        stmt.op.map_operands(&mut |v| *names.get(&v).unwrap_or(&v));
        self.names = names;
        match &mut stmt.op {
            Op::Dup(a) => {
                let a = *a;
                self.names.extend(stmt.lin_outs.iter().map(|c| (*c, a)));
                return Some(());
            }
            Op::Drop(_) => return Some(()),
            Op::If(c, a, b) if self.data.contains(c) => {
                let (a, b) = (a.clone(), b.clone());
                return self.both(&stmt, &a, &b);
            }
            Op::Switch(..) => return None,
            Op::If(_, a, b) => (**a, **b) = (self.block(a)?, self.block(b)?),
            Op::Loop(l) => self.trip(l)?,
            Op::Call { f, args, lin_args, .. } if !lin_args.is_empty() => *f = self.callee(*f, args)?,
            _ => return self.leaf(stmt),
        }
        self.b.push(stmt);
        Some(())
    }

    fn trip(&mut self, ir_loop: &mut Loop) -> Option<()> {
        let Trip::Count(n) = ir_loop.trip else { return None };
        if self.data.contains(&n) {
            return None;
        }
        let (carried, elems) = ir_loop.body.params[1..].split_at(ir_loop.init.len());
        let told: Vec<Var> = ir_loop
            .xs
            .iter()
            .zip(elems)
            .filter(|(x, _)| self.data.contains(x))
            .map(|(_, e)| *e)
            .chain(carried.iter().copied())
            .collect();
        self.data.extend(told);
        ir_loop.body = self.block(&ir_loop.body)?;
        Some(())
    }

    fn callee(&mut self, f: FnId, args: &[Var]) -> Option<FnId> {
        // The pattern of a callee must not depend on an Int that depends on the point.
        let callee = self.p.func(f).clone();
        let told = args.iter().zip(&callee.body.params).any(|(a, v)| self.data.contains(a) && of_ints(callee.ty(*v)));
        let made = self.ad.structure(self.p, f).filter(|_| !told)?;
        self.exact &= made.exact;
        Some(made.func)
    }

    /// Analyses non-linear code: whether it depends on the point.
    fn plain(&mut self, s: &Stmt) {
        let mut depends = false;
        s.op.each_operand(&mut |v| depends |= self.data.contains(&v));
        let mut inside = HashSet::new();
        s.op.blocks().into_iter().for_each(|b| operands(b, &mut inside));
        depends |= inside.iter().any(|v| self.data.contains(v));
        if matches!(s.op, Op::Lit(Lit::F64(x)) if x == 0.0) {
            self.nothing.extend(&s.outs);
        }
        if depends && !matches!(s.op, Op::Shape(_) | Op::Dim(..) | Op::Size(_)) {
            self.data.extend(&s.outs);
        }
    }

    /// Replaces a branch on data by the sum of the results of both arms.
    fn both(&mut self, s: &Stmt, a: &Block, block: &Block) -> Option<()> {
        self.exact = false;
        if !s.outs.is_empty() || !a.params.is_empty() {
            return None;
        }
        self.stmts(&a.stmts)?;
        let first = self.named(&a.lin_results);
        self.stmts(&block.stmts)?;
        let second = self.named(&block.lin_results);
        for ((o, x), y) in s.lin_outs.iter().zip(first).zip(second) {
            let sum = if matches!(self.b.ty(*o), Ty::Data(_)) || !self.b.ty(*o).scalar().is_flat() {
                return None;
            } else {
                self.b.bin(Bin::Add, x, y)
            };
            self.names.insert(*o, sum);
        }
        Some(())
    }

    /// Ones of the shape of a coefficient.
    fn ones(&mut self, c: Var) -> Var {
        let ty = self.b.ty(c);
        let one = match ty.scalar() {
            Ty::F32 => self.b.one(Op::Lit(Lit::F32(1.0)), Ty::F32),
            _ => self.b.one(Op::Lit(Lit::F64(1.0)), Ty::F64),
        };
        if ty.rank() == 0 {
            return one;
        }
        let shape = self.b.shape(c);
        self.b.one(Op::Broadcast { a: one, shape }, ty)
    }

    fn leaf(&mut self, mut stmt: Stmt) -> Option<()> {
        match &mut stmt.op {
            Op::Bin(Bin::ScaleTangent, a, b) if self.nothing.contains(a) && self.b.ty(*b) == Ty::F64 => {
                stmt.op = Op::Zero(Ty::F64);
            }
            Op::Bin(_, a, b) => self.coefficients([a, b]),
            Op::Dot(a, b) | Op::MatMul(a, b) | Op::Outer(a, b) => {
                self.exact = false;
                self.coefficients([a, b]);
            }
            Op::Select(c, a, b) if self.data.contains(c) => {
                self.exact = false;
                let same =
                    self.b.ty(*a) == self.b.ty(*b) && stmt.lin_outs.iter().all(|o| self.b.ty(*o) == self.b.ty(*a));
                same.then_some(())?;
                stmt.op = Op::Bin(Bin::Add, *a, *b);
            }
            op => {
                let mut told = false;
                op.each_operand(&mut |v| told |= self.data.contains(&v));
                if told {
                    return None;
                }
            }
        }
        self.b.push(stmt);
        Some(())
    }

    fn coefficients(&mut self, operands: [&mut Var; 2]) {
        for v in operands {
            if !self.b.func.linear(*v) {
                *v = self.ones(*v);
            }
        }
    }
}

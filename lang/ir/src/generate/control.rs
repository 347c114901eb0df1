//! Control flow, reductions and calls.

use super::{LARGEST, ProgramGenerator, VarKind};
use crate::func::{Block, Var};
use crate::op::{Cmp, Loop, Op, Out, Soac, SoacKind, Trip};
use crate::ty::Ty;
use adl_prim::Bin;

impl ProgramGenerator {
    /// A block with these parameters, some statements, and results of these kinds.
    pub(super) fn block(&mut self, params: &[(VarKind, f64)], steps: usize, results: &[VarKind]) -> Block {
        let outside = self.scope.len();
        self.depth += 1;
        self.b.open();
        for (kind, bound) in params {
            self.param(kind.clone(), *bound);
        }
        (0..steps).for_each(|_| self.step());
        let mut vars: Vec<Var> = results.iter().map(|k| self.var_of_kind(k)).collect();
        if let Some(i) = results.iter().position(|k| *k == VarKind::Real(vec![])) {
            vars[i] = self.with_unread(vars[i], outside);
        }
        self.depth -= 1;
        self.scope.truncate(outside);
        self.b.close(vars, vec![])
    }

    /// Kinds of results that a block can return: reals of a shape in scope, possibly data.
    fn result_kinds(&mut self) -> Vec<VarKind> {
        let n = self.rng.between(1, 2);
        (0..n)
            .map(|_| match self.rng.below(8) {
                0 => VarKind::List,
                1 => super::data::DATA[self.rng.below(4)].clone(),
                2 | 3 => self.pick(|k| matches!(k, VarKind::Real(_))).map_or(VarKind::Real(vec![]), |k| k.kind),
                _ => VarKind::Real(vec![]),
            })
            .collect()
    }

    fn emit(&mut self, op: Op, kinds: Vec<VarKind>) {
        self.place();
        let tys: Vec<Ty> = kinds.iter().map(|k| self.ty(k)).collect();
        let (outs, _) = self.b.emit(op, &tys, &[]);
        for (v, kind) in outs.into_iter().zip(kinds) {
            self.know(v, kind, 1.0);
        }
    }

    pub(super) fn if_(&mut self) {
        let (c, kinds) = (self.condition(), self.result_kinds());
        let (n, m) = (self.rng.below(4), self.rng.below(3));
        let a = self.block(&[], n, &kinds);
        let b = self.block(&[], m, &kinds);
        self.emit(Op::If(c, Box::new(a), Box::new(b)), kinds);
    }

    pub(super) fn switch(&mut self) {
        let kinds = self.result_kinds();
        let (of, arms) = self.arms(&kinds);
        self.emit(Op::Switch(of, arms), kinds);
    }

    /// A loop of few iterations; the trip count is a literal or a non-negative Int.
    pub(super) fn loop_(&mut self) {
        let known =
            self.pick(|k| matches!(k, VarKind::Int(lo, hi) if *lo >= 0 && *hi <= 4)).filter(|_| self.rng.once_in(3));
        let trip = self.rng.below(4);
        let (count, exact, most) = match known {
            Some(k) => (k.v, false, 4),
            None => (self.b.int(trip as i64), true, trip),
        };
        let carried = if self.rng.once_in(2) { self.result_kinds() } else { Vec::new() };
        let init: Vec<Var> = carried.iter().map(|k| self.var_of_kind(k)).collect();
        let xs = if exact && trip > 0 {
            self.pick(|k| matches!(k, VarKind::Real(s) if s.first() == Some(&trip)) || *k == VarKind::Boxes(trip))
        } else {
            None
        };
        let mut params = vec![(VarKind::Int(0, most.max(1) as i64 - 1), 0.0)];
        params.extend(carried.iter().map(|k| (k.clone(), if matches!(k, VarKind::Real(_)) { 1.0 } else { LARGEST })));
        if let Some(VarKind::Real(s)) = xs.as_ref().map(|x| &x.kind) {
            params.push((VarKind::Real(s[1..].to_vec()), xs.as_ref().map_or(1.0, |x| x.bound)));
        }
        if let Some(VarKind::Boxes(_)) = xs.as_ref().map(|x| &x.kind) {
            params.push((VarKind::Box, LARGEST));
        }
        let (outs, made) = self.outputs(exact);
        let steps = self.rng.between(1, 4);
        let body = self.block(&params, steps, &[carried.clone(), made.clone()].concat());
        let op = Loop {
            reverse: self.rng.once_in(2),
            init,
            xs: xs.iter().map(|x| x.v).collect(),
            outs: outs.clone(),
            ..Loop::new(Trip::Count(count), body)
        };
        self.emit_loop(op, carried, &outs, &made, trip);
    }

    /// The outputs of a loop, and the kinds of their elements. Arrays are not collected if the trip count may be
    /// zero, because such arrays have lost their inner extents.
    fn outputs(&mut self, exact: bool) -> (Vec<Out>, Vec<VarKind>) {
        let n = self.rng.between(1, 2);
        (0..n)
            .map(|_| match self.rng.below(4) {
                0 if exact && self.rng.once_in(3) => (Out::Collect, VarKind::Box),
                0 | 1 if exact => (Out::Collect, VarKind::Real(vec![])),
                2 if exact => (Out::Boxed, VarKind::Real(vec![self.rng.between(1, 3)])),
                _ => (Out::Sum, VarKind::Real(vec![])),
            })
            .unzip()
    }

    fn emit_loop(&mut self, ir_loop: Loop, carried: Vec<VarKind>, outs: &[Out], made: &[VarKind], trip: usize) {
        self.place();
        let mut tys: Vec<Ty> = carried.iter().map(|k| self.ty(k)).collect();
        for (o, k) in outs.iter().zip(made) {
            let t = self.ty(k);
            tys.push(match o {
                Out::Collect => t.array(1),
                Out::Boxed => t.boxed(),
                Out::Sum => t,
            });
        }
        tys.push(Ty::I64);
        let (vars, _) = self.b.emit(Op::Loop(Box::new(ir_loop)), &tys, &[]);
        for (v, k) in vars.iter().zip(&carried) {
            self.know(*v, k.clone(), 1.0);
        }
        for ((var, o), kind) in vars[carried.len()..].iter().zip(outs).zip(made) {
            match o {
                Out::Collect if *kind == VarKind::Box => {
                    self.know(*var, VarKind::Boxes(trip), LARGEST);
                }
                Out::Collect => {
                    self.know(*var, VarKind::Real(vec![trip]), 1.0);
                }
                Out::Sum => {
                    self.know(*var, kind.clone(), LARGEST);
                }
                // The elements are read immediately.
                Out::Boxed if trip > 0 => {
                    let at = vec![self.b.int(trip as i64 - 1)];
                    self.one(Op::Index { a: *var, at, shape: None }, kind.clone(), 1.0);
                }
                Out::Boxed => {}
            }
        }
    }

    /// A `while` loop that counts up to a limit and carries other values.
    pub(super) fn while_(&mut self) {
        let kinds = self.result_kinds();
        let start = self.b.int(0);
        let init: Vec<Var> =
            std::iter::once(start).chain(kinds.iter().map(|k| self.var_of_kind(k)).collect::<Vec<_>>()).collect();
        let limit = self.rng.below(4) as i64;
        let all: Vec<(VarKind, f64)> =
            std::iter::once((VarKind::Int(0, 3), 0.0)).chain(kinds.iter().map(|k| (k.clone(), LARGEST))).collect();
        self.b.open();
        let params: Vec<Var> = all
            .iter()
            .map(|(k, _)| {
                let t = self.ty(k);
                self.b.param(t)
            })
            .collect();
        let (end, less) = (self.b.int(limit), Cmp::Lt);
        let again = self.b.cmp(less, params[0], end);
        let test = self.b.close(vec![again], vec![]);
        let params: Vec<(VarKind, f64)> = std::iter::once((VarKind::Int(0, 3), 0.0)).chain(all).collect();
        let steps = self.rng.between(1, 3);
        // Outputs of a `while` loop are collected in arrays that grow.
        let collects = limit > 0 && self.rng.once_in(2);
        let made: Vec<VarKind> = if collects { vec![VarKind::Real(vec![])] } else { Vec::new() };
        let outs: Vec<Out> = made.iter().map(|_| Out::Collect).collect();
        let mut body = self.block(&params, steps, &[kinds.clone(), made.clone()].concat());
        let (one, next) = (self.b.func.fresh(Ty::I64, false), self.b.func.fresh(Ty::I64, false));
        let plain = |outs: Vec<Var>, op: Op| crate::func::Stmt { outs, lin_outs: vec![], op, span: Default::default() };
        body.stmts.push(plain(vec![one], Op::Lit(crate::op::Lit::I64(1))));
        body.stmts.push(plain(vec![next], Op::Bin(Bin::Add, body.params[1], one)));
        body.results.insert(0, next);
        let carried: Vec<VarKind> = std::iter::once(VarKind::Int(0, 3)).chain(kinds).collect();
        let op = Loop { init, outs: outs.clone(), ..Loop::new(Trip::While(test), body) };
        self.emit_loop(op, carried, &outs, &made, limit as usize);
    }

    /// An associative operator on `arity` components that keeps values within -4 ... 4, and its neutral element: sums,
    /// products (also with a free variable), extremes, composition of linear functions.
    fn operator(&mut self, arity: usize) -> (Block, Vec<f64>) {
        let (op, unit) =
            [(Bin::Add, 0.0), (Bin::Mul, 1.0), (Bin::Max, -LARGEST), (Bin::Min, LARGEST)][self.rng.below(4)];
        let free =
            (arity == 1 && op == Bin::Mul && self.rng.once_in(3)).then(|| self.var_of_kind(&VarKind::Real(vec![])));
        self.b.open();
        let p: Vec<Var> = (0..2 * arity).map(|_| self.b.param(Ty::F64)).collect();
        let results = match p.as_slice() {
            // Products of 2×2 matrices.
            [a, b, c, d, e, f, g, h] => {
                let mut cell = |x: Var, y: Var, z: Var, w: Var| {
                    let (l, r) = (self.b.bin(Bin::Mul, x, y), self.b.bin(Bin::Mul, z, w));
                    self.b.bin(Bin::Add, l, r)
                };
                vec![cell(*a, *e, *b, *g), cell(*a, *f, *b, *h), cell(*c, *e, *d, *g), cell(*c, *f, *d, *h)]
            }
            // x -> a + b x.
            [a1, b1, a2, b2] => {
                let t = self.b.bin(Bin::Mul, *b2, *a1);
                vec![self.b.bin(Bin::Add, *a2, t), self.b.bin(Bin::Mul, *b1, *b2)]
            }
            [x, y, ..] => {
                let z = self.b.bin(op, *x, *y);
                vec![free.map_or(z, |c| self.b.bin(Bin::Mul, z, c))]
            }
            _ => Vec::new(),
        };
        let units = match arity {
            4 => vec![1.0, 0.0, 0.0, 1.0],
            2 => vec![0.0, 1.0],
            _ => vec![unit],
        };
        (self.b.close(results, vec![]), units)
    }

    pub(super) fn soac(&mut self) {
        let n = [1, 1, 2, 2, 4][self.rng.below(5)];
        let len = self.rng.below(5);
        let arrays: Vec<Var> = (0..n).map(|_| self.var_of_kind(&VarKind::Real(vec![len]))).collect();
        let kind = [SoacKind::Reduce, SoacKind::Scan, SoacKind::ScanExclusive][self.rng.below(3)];
        let (op, units) = self.operator(n);
        let neutral: Vec<Var> = units.into_iter().map(|x| self.b.lit(crate::op::Lit::F64(x))).collect();
        let shape = if kind == SoacKind::Reduce { vec![] } else { vec![len] };
        self.place();
        let tys = vec![self.ty(&VarKind::Real(shape.clone())); n];
        let (outs, _) = self.b.emit(Op::Soac(Box::new(Soac { kind, op, neutral, arrays })), &tys, &[]);
        outs.into_iter().for_each(|v| {
            // Products of matrices may exceed the bound.
            let k = self.know(v, VarKind::Real(shape.clone()), 16.0);
            let last = self.scope.pop();
            last.filter(|l| l.v == k).iter().for_each(|l| {
                self.damped(l);
            });
        });
    }

    pub(super) fn by_index(&mut self) {
        let (bins, n) = (self.rng.between(1, 4), self.rng.between(1, 4));
        let (dest, values) = (self.var_of_kind(&VarKind::Real(vec![bins])), self.var_of_kind(&VarKind::Real(vec![n])));
        // Some keys are out of range.
        let keys: Vec<i64> = (0..n).map(|_| self.rng.below(bins + 2) as i64 - 1).collect();
        let keys = self.ints(&keys);
        let (op, units) = self.operator(1);
        let neutral = self.b.lit(crate::op::Lit::F64(units[0]));
        let op = Op::ReduceByIndex {
            dest: vec![dest],
            op: Box::new(op),
            neutral: vec![neutral],
            keys,
            values: vec![values],
        };
        self.one(op, VarKind::Real(vec![bins]), 5.0);
        let last = self.scope.pop();
        last.iter().for_each(|k| {
            self.damped(k);
        });
    }

    pub(super) fn call(&mut self) {
        if self.helpers.is_empty() {
            return self.scalar_step();
        }
        let h = self.helpers[self.rng.below(self.helpers.len())].clone();
        let args = h.params.iter().map(|k| self.var_of_kind(k)).collect();
        let op = Op::Call { f: h.f, args, lin_args: vec![], rule: None, checkpoint: self.rng.once_in(6) };
        self.emit(op, h.results);
    }
}

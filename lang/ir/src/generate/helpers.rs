//! Functions that the main function may call.

use super::data::CONS;
use super::{HelperFn, LARGEST, ProgramGenerator, VarKind};
use crate::build::Builder;
use crate::func::{FnId, Var};
use crate::op::{Cmp, Op};
use crate::ty::Ty;
use adl_prim::{Bin, Un};

impl ProgramGenerator {
    /// Adds up to three functions, fewer for small programs.
    pub(super) fn helpers(&mut self, size: usize) {
        for i in 0..(size / 4).min(3) {
            let f = self.program.reserve("");
            self.scope.clear();
            self.read.clear();
            self.b = Builder::new(&format!("helper {i}"));
            let h = match self.rng.below(5) {
                0 => self.plain(f),
                1 => self.fold(f),
                2 => self.mutual(f),
                3 => self.unbox(f),
                _ => self.countdown(f),
            };
            self.helpers.push(h);
        }
    }

    fn set(&mut self, f: FnId, results: Vec<Var>) {
        let b = std::mem::replace(&mut self.b, Builder::new(""));
        self.program.set(f, b.finish(results, vec![]));
    }

    /// A function of some statements, which may call the functions before it.
    fn plain(&mut self, id: FnId) -> HelperFn {
        let params = vec![VarKind::Real(vec![]), VarKind::Real(vec![self.rng.between(1, 3)])];
        params.iter().for_each(|k| {
            self.param(k.clone(), 1.0);
        });
        let n = self.rng.between(1, 5);
        (0..n).for_each(|_| self.step());
        let results = vec![VarKind::Real(vec![])];
        let first = self.var_of_kind(&results[0]);
        let all = self.with_unread(first, 0);
        self.set(id, vec![all]);
        HelperFn { f: id, params, results }
    }

    /// Recursion over a list: `id (Cons x rest) y = g x y (id rest y)`.
    fn fold(&mut self, id: FnId) -> HelperFn {
        let real = || VarKind::Real(vec![]);
        let (list, y) = (self.param(VarKind::List, LARGEST), self.param(real(), 1.0));
        let nil = self.block(&[], 1, &[real()]);
        self.b.open();
        let outside = self.scope.len();
        self.param(real(), LARGEST);
        let rest = self.param(VarKind::List, LARGEST);
        let op = Op::Call { f: id, args: vec![rest, y], lin_args: vec![], rule: None, checkpoint: false };
        let r = self.one(op, real(), 1.0);
        let inner = self.block_inside(r);
        self.scope.truncate(outside);
        let cons = self.b.close(vec![inner], vec![]);
        let out = self.one(Op::Switch(list, vec![nil, cons]), real(), 1.0);
        debug_assert_eq!(CONS, 1);
        self.set(id, vec![out]);
        HelperFn { f: id, params: vec![VarKind::List, real()], results: vec![real()] }
    }

    /// A few statements, and a damped result that depends on `r`.
    fn block_inside(&mut self, r: Var) -> Var {
        let n = self.rng.between(1, 3);
        (0..n).for_each(|_| self.scalar_step());
        let x = self.scalar();
        let sum = self.b.bin(Bin::Add, r, x.v);
        self.b.un(Un::Tanh, sum)
    }

    /// The tail-recursive function `f n x = if n <= 0 then x else f (n - 1) (g x)`.
    fn countdown(&mut self, f: FnId) -> HelperFn {
        self.counts(f, f, true)
    }

    /// Mutual recursion without tail calls: `f n x = if n <= 0 then x else tanh (g (n - 1) (h x))`, and `g`
    /// likewise with `f`.
    fn mutual(&mut self, f: FnId) -> HelperFn {
        let g = self.program.reserve("");
        self.counts(g, f, false);
        self.scope.clear();
        self.read.clear();
        self.b = Builder::new("other half");
        self.counts(f, g, false)
    }

    /// The function `id`, which calls `callee` with `n - 1`, as a tail call or not.
    fn counts(&mut self, id: FnId, callee: FnId, tail: bool) -> HelperFn {
        let real = || VarKind::Real(vec![]);
        let (n, x) = (self.param(VarKind::Int(0, 3), 0.0), self.param(real(), 1.0));
        let zero = self.b.int(0);
        let done = self.b.cmp(Cmp::Le, n, zero);
        self.b.open();
        let stop = self.b.close(vec![x], vec![]);
        self.b.open();
        let outside = self.scope.len();
        let y = self.block_inside(x);
        let one = self.b.int(1);
        let less = self.b.bin(Bin::Sub, n, one);
        self.place();
        let op = Op::Call {
            f: callee,
            args: vec![less, y],
            lin_args: vec![],
            rule: None,
            checkpoint: !tail && self.rng.once_in(6),
        };
        let (r, _) = self.b.emit(op, &[Ty::F64], &[]);
        let r = if tail { r[0] } else { self.block_inside(r[0]) };
        self.scope.truncate(outside);
        let go = self.b.close(vec![r], vec![]);
        let out = self.one(Op::If(done, Box::new(stop), Box::new(go)), real(), 1.0);
        self.set(id, vec![out]);
        HelperFn { f: id, params: vec![VarKind::Int(0, 3), real()], results: vec![real()] }
    }

    /// A function from one box to another.
    fn unbox(&mut self, f: FnId) -> HelperFn {
        let (of, y) = (self.param(VarKind::Box, LARGEST), self.param(VarKind::Real(vec![]), 1.0));
        let x = self.unboxed(of);
        let sum = self.b.bin(Bin::Mul, x.v, y);
        let r = self.block_inside(sum);
        self.know(r, VarKind::Real(vec![]), 1.0);
        let out = self.new_data(&VarKind::Box);
        self.set(f, vec![out, r]);
        HelperFn {
            f,
            params: vec![VarKind::Box, VarKind::Real(vec![])],
            results: vec![VarKind::Box, VarKind::Real(vec![])],
        }
    }
}

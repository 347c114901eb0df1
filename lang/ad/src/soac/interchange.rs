//! Operators that act on each element of arrays (§3.2.4, §4.2.5, §5.3.2): `reduce (map2 op)` is `map (reduce op)` on the transpose. The
//! sums and products that are made are the same, in the same order; what is made is differentiated.

use super::operator::{Column, has_checks};
use super::{Group, Soac};
use crate::jvp::J;
use adl_ir::{Block, Cmp, Lit, Loop, Op, Out, SoacKind, Stmt, Turns, Ty, Var};
use adl_specialise::Unsupported;

impl J<'_> {
    pub(super) fn interchanged(&mut self, g: &Group, s: &Stmt, column: Column) -> Result<(), Unsupported> {
        self.decide(s.span, g.name(), "the interchange with the map inside (§3.2.4, §5.3.2), then column by column", "");
        let reduces = g.kind == SoacKind::Reduce;
        let (n, zero) = (self.b.dim(g.arrays[0], 0), self.b.int(0));
        let empty = self.b.cmp(Cmp::Eq, n, zero);
        self.b.open();
        let none = self.b.close(if reduces { g.neutral.clone() } else { g.arrays.clone() }, Vec::new());
        self.b.open();
        self.checked_once(&g.op, &g.neutral, &g.arrays, zero);
        let turned = self.transposed(&g.arrays);
        let made = self.columns(g, &column, &turned);
        let results = made.iter().zip(g.neutral.iter().zip(&turned)).map(|(m, (e, t))| {
            let to = self.b.shape(if reduces { *e } else { *t });
            let ty = self.b.ty(if reduces { *e } else { *t });
            let whole = self.b.one(Op::Reshape { a: *m, to, from: None }, ty.clone());
            if reduces { whole } else { self.b.one(Op::Transpose(whole), ty) }
        }).collect();
        let some = self.b.close(results, Vec::new());
        let op = Op::If(empty, Box::new(none), Box::new(some));
        self.derive(&Stmt { outs: g.outs.clone(), lin_outs: Vec::new(), op, span: s.span })
    }

    /// The operator's checks of shapes, which are the same for all elements.
    pub(super) fn checked_once(&mut self, op: &Block, left: &[Var], arrays: &[Var], at: Var) {
        if has_checks(op) {
            let firsts: Vec<Var> = arrays.iter().map(|a| {
                let ty = self.b.ty(*a).elem();
                self.b.one(Op::Index { a: *a, at: vec![at], shape: None }, ty)
            }).collect();
            self.b.inline(op, &[left, &firsts].concat());
        }
    }

    pub(super) fn transposed(&mut self, arrays: &[Var]) -> Vec<Var> {
        arrays.iter().map(|a| {
            let ty = self.b.ty(*a);
            self.b.one(Op::Transpose(*a), ty)
        }).collect()
    }

    /// The element that all of an array are, if it is known to be filled with one.
    fn filled(&self, v: Var) -> Option<Lit> {
        self.uniform.get(&v).filter(|_| self.b.ty(v).rank() == 1).cloned()
    }

    /// The construct on each column.
    fn columns(&mut self, g: &Group, column: &Column, turned: &[Var]) -> Vec<Var> {
        let n = self.b.dim(g.neutral[0], 0);
        let known: Vec<Option<Lit>> = g.neutral.iter().map(|e| self.filled(*e)).collect();
        let neutral: Vec<Var> = g.neutral.iter().zip(&known).filter(|(_, k)| k.is_none()).map(|(e, _)| *e).collect();
        let xs = [&neutral[..], turned].concat();
        let elems = self.b.open_loop(&xs);
        let (given, arrays) = elems.split_at(neutral.len());
        let mut given = given.iter();
        let mut firsts = Vec::new();
        for k in &known {
            match (k, k.is_none().then(|| given.next()).flatten()) {
                (Some(l), _) => firsts.push(self.b.lit(l.clone())),
                (None, Some(v)) => firsts.push(*v),
                (None, None) => {}
            }
        }
        let op = column.block(&mut self.b);
        let tys: Vec<Ty> = if g.kind == SoacKind::Reduce { firsts.iter().map(|v| self.b.ty(*v)).collect() } else { arrays.iter().map(|v| self.b.ty(*v)).collect() };
        let inner = Soac { kind: g.kind, op, neutral: firsts, arrays: arrays.to_vec() };
        let (made, _) = self.b.emit(Op::Soac(Box::new(inner)), &tys, &[]);
        let body = self.b.close(made, Vec::new());
        self.collected(n, xs, body, &tys)
    }

    /// A loop without state that collects the results of its body.
    pub(super) fn collected(&mut self, n: Var, xs: Vec<Var>, body: Block, tys: &[Ty]) -> Vec<Var> {
        let l = Loop {
            turns: Turns::For(n),
            reverse: false,
            init: Vec::new(),
            lin_init: Vec::new(),
            xs,
            lin_xs: Vec::new(),
            outs: vec![Out::Collect; tys.len()],
            lin_outs: Vec::new(),
            body,
        };
        let mut over: Vec<Ty> = tys.iter().map(|t| t.array(1)).collect();
        over.push(Ty::I64);
        let (mut outs, _) = self.b.emit(Op::Loop(Box::new(l)), &over, &[]);
        outs.pop();
        outs
    }
}

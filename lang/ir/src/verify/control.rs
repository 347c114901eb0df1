//! Control flow: invariants 3 and 4 of blocks and calls, 7 across branches, 8.

use super::{UsedLinear, Verifier, types};
use crate::func::{Block, Function, Stmt, Var};
use crate::op::{Loop, Op, Out, RuleKind, Soac, Trip};
use crate::print;
use crate::ty::Ty;

fn one_more(e: &Ty) -> impl Fn(&Ty) -> bool {
    move |t: &Ty| t.rank() > 0 && t.elem() == *e
}

/// The types of variables. Missing variables are skipped, since they are another fault.
fn tys_of(f: &Function, vs: &[Var]) -> Vec<Ty> {
    vs.iter().map(|v| f.vars.get(v.0 as usize).map_or(Ty::Bool, |i| i.ty.clone())).collect()
}

impl<'a> Verifier<'a> {
    /// Checks the blocks of an operation; `sound`: its operands and results exist.
    pub(super) fn control(&mut self, stmt: &'a Stmt, sound: bool, taken: &mut UsedLinear) {
        if sound {
            match &stmt.op {
                Op::If(c, a, b) => self.if_(stmt, *c, a, b),
                Op::Switch(d, arms) => self.switch(stmt, *d, arms),
                Op::Loop(l) => self.loop_(stmt, l),
                Op::Call { .. } => self.call(stmt),
                Op::Soac(x) => self.soac(stmt, x),
                Op::ReduceByIndex { dest, op, neutral, keys, values } => {
                    self.has_types("the keys", &[*keys], &[Ty::shape()]);
                    let dests = self.tys(dest);
                    self.operator(op, neutral, dest, values);
                    self.results(stmt, &dests, &[]);
                }
                _ => {}
            }
        }
        match &stmt.op {
            Op::If(_, a, b) => self.branches(&[a, b], taken),
            Op::Switch(_, arms) => self.branches(&arms.iter().collect::<Vec<_>>(), taken),
            Op::Loop(l) => {
                if let Trip::While(test) = &l.trip {
                    self.non_linear_block(test);
                }
                let from = self.block(&l.body);
                self.take_all(from, taken);
            }
            Op::Soac(x) => self.non_linear_block(&x.op),
            Op::ReduceByIndex { op, .. } => self.non_linear_block(op),
            _ => {}
        }
    }

    /// All arms must use the same linear variables from outside.
    fn branches(&mut self, blocks: &[&'a Block], taken: &mut UsedLinear) {
        let sets: Vec<UsedLinear> = blocks.iter().map(|b| self.block(b)).collect();
        let union: UsedLinear = sets.iter().flatten().copied().collect();
        for v in &union {
            if let Some(i) = sets.iter().position(|s| !s.contains(v)) {
                self.fault(7, format!("{} is not used in branch {i}, but in another", self.name(*v)));
            }
        }
        self.take_all(union, taken);
    }

    fn non_linear_block(&mut self, b: &'a Block) {
        let before = std::mem::replace(&mut self.lin_banned, true);
        self.block(b);
        self.lin_banned = before;
    }

    fn tys(&self, vs: &[Var]) -> Vec<Ty> {
        tys_of(self.f, vs)
    }

    /// Checks invariants 3 and 4 for a list of variables.
    fn has_types(&mut self, what: &str, vs: &[Var], want: &[Ty]) {
        if vs.len() != want.len() {
            return self.fault(4, format!("{what}: {} are needed, {} are there", want.len(), vs.len()));
        }
        for (v, t) in vs.iter().zip(want) {
            if self.known(*v) && self.f.ty(*v) != t {
                self.fault(
                    3,
                    format!("{what}: {} is {}, not {}", self.name(*v), print::ty(self.f.ty(*v)), print::ty(t)),
                );
            }
        }
    }

    fn results(&mut self, s: &Stmt, tys: &[Ty], lin_tys: &[Ty]) {
        self.has_types("results", &s.outs, tys);
        self.has_types("linear results", &s.lin_outs, lin_tys);
    }

    fn if_(&mut self, s: &Stmt, c: Var, a: &Block, b: &Block) {
        self.has_types("the condition", &[c], &[Ty::Bool]);
        for branch in [a, b] {
            self.branch(s, branch, &[]);
        }
    }

    fn branch(&mut self, s: &Stmt, b: &Block, params: &[Ty]) {
        self.has_types("parameters of a branch", &b.params, params);
        self.has_types("linear parameters of a branch", &b.lin_params, &[]);
        let (tys, lin_tys) = (self.tys(&s.outs), self.tys(&s.lin_outs));
        self.has_types("results of a branch", &b.results, &tys);
        self.has_types("linear results of a branch", &b.lin_results, &lin_tys);
    }

    fn switch(&mut self, s: &Stmt, d: Var, arms: &[Block]) {
        let Ty::Data(data) = self.f.ty(d).clone() else {
            return self.fault(3, format!("{} is no data", self.name(d)));
        };
        let count = self.p.datas.get(data.0 as usize).map_or(0, |d| d.cons.len());
        if count != arms.len() {
            self.fault(4, format!("{count} branches are needed, {} are there", arms.len()));
        }
        for (tag, arm) in arms.iter().enumerate() {
            if let Ok(fields) = types::constructor(self.p, data, tag as u32) {
                self.branch(s, arm, &fields);
            }
        }
    }

    fn loop_(&mut self, stmt: &Stmt, ir_loop: &Loop) {
        let (init, lin_init) = (self.tys(&ir_loop.init), self.tys(&ir_loop.lin_init));
        match &ir_loop.trip {
            Trip::Count(n) => self.has_types("the trip count", &[*n], &[Ty::I64]),
            Trip::While(test) => {
                self.has_types("parameters of the test", &test.params, &init);
                self.has_types("result of the test", &test.results, &[Ty::Bool]);
                if ir_loop.reverse {
                    self.fault(4, "a while loop has no last turn to begin with".to_owned());
                }
            }
        }
        for v in ir_loop.xs.iter().chain(&ir_loop.lin_xs) {
            if self.f.ty(*v).rank() == 0 {
                self.fault(3, format!("{} is no array", self.name(*v)));
            }
        }
        let elems = |v: &Self, xs: &[Var]| v.tys(xs).iter().map(Ty::elem).collect::<Vec<_>>();
        let params = [vec![Ty::I64], init.clone(), elems(self, &ir_loop.xs)].concat();
        self.has_types("parameters of the body", &ir_loop.body.params, &params);
        let lin_params = [lin_init.clone(), elems(self, &ir_loop.lin_xs)].concat();
        self.has_types("linear parameters of the body", &ir_loop.body.lin_params, &lin_params);
        let collected = self.side_of_loop(&init, &ir_loop.outs, &ir_loop.body.results, &stmt.outs, 1);
        let lin_collected =
            self.side_of_loop(&lin_init, &ir_loop.lin_outs, &ir_loop.body.lin_results, &stmt.lin_outs, 0);
        if let (true, true, Some(last)) = (collected, lin_collected, stmt.outs.last()) {
            self.has_types("the trip count", &[*last], &[Ty::I64]);
        }
    }

    /// Checks the results of a loop's body and of the loop, on one side of the `;`. Returns whether their number is
    /// right.
    fn side_of_loop(&mut self, init: &[Ty], outs: &[Out], body: &[Var], results: &[Var], more: usize) -> bool {
        let carried = init.len();
        if body.len() != carried + outs.len() || results.len() != carried + outs.len() + more {
            let (have, of_body) = (results.len(), body.len());
            self.fault(
                4,
                format!(
                    "{} results are needed, and {more} of the loop; the body has {of_body}, the loop {have}",
                    carried + outs.len()
                ),
            );
            return false;
        }
        self.has_types("carried results of the body", &body[..carried], init);
        self.has_types("carried results", &results[..carried], init);
        let tys = self.tys(body);
        for (index, o) in outs.iter().enumerate() {
            let (expected, whole) = (&tys[carried + index], self.tys(&[results[carried + index]])[0].clone());
            let fits = match o {
                Out::Collect => one_more(expected)(&whole),
                Out::Boxed => expected.boxed() == whole,
                Out::Sum => *expected == whole,
            };
            if !fits {
                self.fault(
                    3,
                    format!(
                        "{} is {}, but is made of {}",
                        self.name(results[carried + index]),
                        print::ty(&whole),
                        print::ty(expected)
                    ),
                );
            }
        }
        true
    }

    fn call(&mut self, s: &Stmt) {
        let Op::Call { f, args, lin_args, rule, .. } = &s.op else { return };
        let Some(callee) = self.p.funcs.get(f.0 as usize).cloned() else { return };
        if callee.reserved {
            return;
        }
        let body = &callee.body;
        self.has_types("arguments", args, &tys_of(&callee, &body.params));
        self.has_types("linear arguments", lin_args, &tys_of(&callee, &body.lin_params));
        self.results(s, &tys_of(&callee, &body.results), &tys_of(&callee, &body.lin_results));
        let Some(declared) = rule else { return };
        let Some(rule) = self.p.funcs.get(declared.func.0 as usize).cloned().filter(|f| !f.reserved) else {
            return;
        };
        let kind = match declared.kind {
            RuleKind::Jvp => "jvp",
            RuleKind::Vjp => "vjp",
            RuleKind::Inverse => "inverse",
        };
        if !tys_of(&rule, &rule.body.params).starts_with(&tys_of(&callee, &body.params)) {
            self.fault(
                4,
                format!("the {kind} rule `{}` does not begin with the parameters of `{}`", rule.name, callee.name),
            );
        }
        if declared.kind != RuleKind::Inverse
            && !tys_of(&rule, &rule.body.results).starts_with(&tys_of(&callee, &body.results))
        {
            self.fault(
                4,
                format!("the {kind} rule `{}` does not begin with the results of `{}`", rule.name, callee.name),
            );
        }
    }

    fn soac(&mut self, stmt: &Stmt, x: &Soac) {
        for v in &x.arrays {
            if self.f.ty(*v).rank() == 0 {
                return self.fault(3, format!("{} is no array", self.name(*v)));
            }
        }
        self.operator(&x.op, &x.neutral, &x.arrays, &x.arrays);
        let tys = match x.kind {
            crate::op::SoacKind::Reduce => self.tys(&x.neutral),
            crate::op::SoacKind::Scan | crate::op::SoacKind::ScanExclusive => self.tys(&x.arrays),
        };
        self.results(stmt, &tys, &[]);
    }

    /// Checks an operator, which takes accumulated values (of the elements of `dest`) and elements of `arrays` to
    /// accumulated values.
    fn operator(&mut self, op: &Block, neutral: &[Var], dest: &[Var], arrays: &[Var]) {
        let elems = |v: &Self, arrays: &[Var]| -> Vec<Ty> { v.tys(arrays).iter().map(Ty::elem).collect() };
        let (sums, elems) = (elems(self, dest), elems(self, arrays));
        if dest.is_empty() {
            self.fault(4, "no component says how often the operator runs".to_owned());
        }
        self.has_types("neutral elements", neutral, &sums);
        self.has_types("parameters of the operator", &op.params, &[&sums[..], &elems].concat());
        self.has_types("results of the operator", &op.results, &sums);
    }
}

//! T: transposition (§7) of linear functions `(r… ; ẋ…) -> ( ; ẏ…)` into `(r… ; ÿ…) -> ( ; ẍ…)`.
//!
//! Statements are read from the last to the first. Each linear variable has at most one cotangent at a time; what a statement contributes
//! is added to it. Copies made by `dup` are one variable with their original, so that adding up is where the uses are, and a contribution
//! to one element of an array is added to that element alone ([`Op::IndexAdd`]), not as an array of zeros.
//!
//! - A branch is given the cotangents so far of the linear variables that it reads from outside, and returns them with its contributions.
//! - A loop runs the other way round: what it carried is carried back, arrays that it read are collected, outputs that it collected are
//!   read, sums become copies and copies sums. Cotangents of arrays from outside are carried and added to in place; where a comprehension
//!   reads them at affine indices, they are comprehensions themselves ([`crate::tensor`]).
//! - Calls go to transposed callees, which are given the cotangents so far of their arguments and return them with what they add. So a
//!   recursion adds to arrays in place, and a sum does not depend on how its terms are spread over functions.

mod control;
mod rules;

use crate::Ad;
use crate::tensor::affine::Forms;
use crate::{check, dce, explicit};
use adl_ir::{Block, Builder, FnId, Function, Op, Program, Stmt, Ty, Var};
use adl_prim::Bin;
use adl_specialise::Unsupported;
use std::collections::HashMap;

impl Ad {
    /// T of a linear function: `(r… ; ẋ…) -> ( ; ẏ…)` becomes `(r… ; ÿ…) -> ( ; ẍ…)`.
    pub fn transpose(&mut self, p: &mut Program, f: FnId) -> Result<FnId, Unsupported> {
        self.transposed(p, f, false)
    }

    /// T of a linear function. `adding`: the result takes, after the cotangents of the results, those so far of the parameters, and adds
    /// to them.
    fn transposed(&mut self, p: &mut Program, f: FnId, adding: bool) -> Result<FnId, Unsupported> {
        if let Some(t) = self.transposes.get(&(f, adding)) {
            return Ok(*t);
        }
        let src = p.func(f).clone();
        let name = match src.name.strip_prefix("transpose ") {
            Some(n) => n.to_owned(),
            None => format!("transpose {}", src.name),
        };
        let id = p.reserve(&name);
        self.transposes.insert((f, adding), id);
        // A caller inside the recursion needs the signature now.
        let mut early = Function { name: name.clone(), vars: src.vars.clone(), body: Block::default() };
        early.body.params = src.body.params.clone();
        early.body.lin_params = src.body.lin_results.clone();
        if adding {
            early.body.lin_params.extend(&src.body.lin_params);
        }
        early.body.lin_results = src.body.lin_params.clone();
        p.set(id, early);
        match function(self, p, &src, &name, adding) {
            Ok(made) => {
                check::made("transpose", p, &made);
                p.set(id, made);
                Ok(id)
            }
            Err(e) => {
                self.transposes.remove(&(f, adding));
                Err(e)
            }
        }
    }
}

fn function(ad: &mut Ad, p: &mut Program, src: &Function, name: &str, adding: bool) -> Result<Function, Unsupported> {
    let literals = Forms::literals(&src.body);
    let mut t = T { ad, p, b: Builder::on(src.clone()), roots: HashMap::new(), cts: HashMap::new(), literals };
    t.b.func.name = name.to_owned();
    let cts: Vec<Var> = src.tys(&src.body.lin_results).into_iter().map(|ty| t.b.func.fresh(ty, true)).collect();
    let mut params = cts.clone();
    if adding {
        for x in &src.body.lin_params {
            let so_far = t.b.func.fresh(src.ty(*x).clone(), true);
            params.push(so_far);
            t.set(*x, so_far);
        }
    }
    t.b.adopt(&src.body.params, &params);
    t.block(&src.body, &cts)?;
    let results: Vec<Var> = src.body.lin_params.iter().map(|x| t.finished(*x)).collect();
    let mut out = t.b.finish(Vec::new(), results);
    dce::remove_dead_relaxed(&mut out);
    explicit::uses(&mut out);
    Ok(out)
}

pub(crate) struct T<'a> {
    ad: &'a mut Ad,
    p: &'a mut Program,
    pub(crate) b: Builder,
    /// What each copy is a copy of.
    roots: HashMap<Var, Var>,
    /// The cotangent so far of each (root) variable.
    pub(crate) cts: HashMap<Var, Var>,
    /// Int literals.
    pub(crate) literals: Forms,
}

impl T<'_> {
    pub(crate) fn root(&self, v: Var) -> Var {
        let mut v = v;
        while let Some(r) = self.roots.get(&v) {
            v = *r;
        }
        v
    }

    fn zero(&mut self, ty: Ty) -> Var {
        self.b.lin(Op::Zero(ty.clone()), ty)
    }

    /// The cotangent of a variable all whose uses have been seen; zero if there was none.
    pub(crate) fn finished(&mut self, v: Var) -> Var {
        let r = self.root(v);
        match self.cts.remove(&r) {
            Some(c) => c,
            None => {
                let ty = self.b.ty(v);
                self.zero(ty)
            }
        }
    }

    /// Adds a contribution to the cotangent of `v`.
    pub(crate) fn add(&mut self, v: Var, ct: Var) {
        let r = self.root(v);
        let sum = match self.cts.get(&r) {
            Some(c) => {
                let c = *c;
                self.b.bin(Bin::Add, c, ct)
            }
            None => ct,
        };
        self.cts.insert(r, sum);
    }

    /// The cotangent of `v` so far, to be added to in place.
    fn accumulator(&mut self, v: Var) -> Var {
        let r = self.root(v);
        match self.cts.get(&r) {
            Some(c) => *c,
            None => {
                let ty = self.b.ty(v);
                self.zero(ty)
            }
        }
    }

    fn set(&mut self, v: Var, ct: Var) {
        let r = self.root(v);
        self.cts.insert(r, ct);
    }

    /// Transposes a block's statements into the open block. `cts`: the cotangents of its linear results. Afterwards `self.cts` has those
    /// of its parameters and of the variables that it read from outside.
    fn block(&mut self, b: &Block, cts: &[Var]) -> Result<(), Unsupported> {
        for s in &b.stmts {
            if let Op::Dup(a) = &s.op {
                self.note_copies(&s.lin_outs, *a);
            } else if s.lin_outs.is_empty() && !self.reads_linear(s) {
                self.b.push(s.clone());
            }
        }
        for (r, ct) in b.lin_results.iter().zip(cts) {
            self.add(*r, *ct);
        }
        for s in b.stmts.iter().rev() {
            self.b.span = s.span;
            if !s.lin_outs.is_empty() {
                self.stmt(s)?;
            }
        }
        Ok(())
    }

    /// Copies are one variable with their original.
    pub(crate) fn note_copies(&mut self, copies: &[Var], of: Var) {
        self.roots.extend(copies.iter().map(|c| (*c, of)));
    }

    pub(crate) fn reads_linear(&self, s: &Stmt) -> bool {
        let mut found = false;
        s.op.each_operand(&mut |v| found |= self.b.func.linear(v));
        found || !explicit::captured_by(&self.b.func, &s.op).is_empty()
    }

    fn stmt(&mut self, s: &Stmt) -> Result<(), Unsupported> {
        match &s.op {
            Op::Dup(_) => Ok(()),
            Op::If(..) | Op::Switch(..) => self.branches(s),
            Op::Loop(_) => self.nest_or_loop(s),
            Op::Call { f, args, lin_args, .. } => self.call(s, *f, args, lin_args),
            Op::Fields { a, data, tag } => {
                // Absent fields stay absent: nothing to rebuild where no field has a cotangent.
                if s.lin_outs.iter().any(|o| self.cts.contains_key(&self.root(*o))) {
                    let fields = s.lin_outs.iter().map(|o| self.finished(*o)).collect();
                    let ty = Ty::Data(*data);
                    let ct = self.b.lin(Op::Con { data: *data, tag: *tag, fields }, ty);
                    self.add(*a, ct);
                }
                Ok(())
            }
            _ => {
                let Some(out) = s.lin_outs.first() else { return Ok(()) };
                let r = self.root(*out);
                // Without a cotangent there is nothing to pass on.
                match self.cts.remove(&r) {
                    Some(ct) => self.leaf(s, ct),
                    None => Ok(()),
                }
            }
        }
    }

    fn call(&mut self, s: &Stmt, f: FnId, args: &[Var], lin_args: &[Var]) -> Result<(), Unsupported> {
        let back = self.ad.transposed(self.p, f, true)?;
        let mut cts: Vec<Var> = s.lin_outs.iter().map(|o| self.finished(*o)).collect();
        // Where two arguments are copies of one variable, the second starts from nothing.
        let mut given = Vec::new();
        for a in lin_args {
            let r = self.root(*a);
            cts.push(if given.contains(&r) {
                let ty = self.b.ty(*a);
                self.zero(ty)
            } else {
                given.push(r);
                let so_far = self.accumulator(*a);
                self.cts.remove(&r);
                so_far
            });
        }
        let tys: Vec<Ty> = lin_args.iter().map(|a| self.b.ty(*a)).collect();
        let op = Op::Call { f: back, args: args.to_vec(), lin_args: cts, rule: None, checkpoint: false };
        let (_, made) = self.b.emit(op, &[], &tys);
        for (a, ct) in lin_args.iter().zip(made) {
            self.add(*a, ct);
        }
        Ok(())
    }
}

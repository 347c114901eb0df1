//! T: transposition (§7) of linear functions `(r… ; ẋ…) -> ( ; ẏ…)` into `(r… ; ÿ…) -> ( ; ẍ…)`.
//!
//! Statements are processed from the last to the first. Each linear variable has at most one cotangent at a time,
//! to which the contributions of statements are added. Copies made by `dup` share the cotangent of their original,
//! so that contributions are added where the uses are. A contribution to one element of an array is added to that
//! element only ([`Op::IndexAdd`]), not as an array of zeros.
//!
//! - A branch takes the cotangents so far of the linear variables that it reads from outside, and returns them with
//!   its contributions added.
//! - A loop runs in reverse order: cotangents of carried values are carried back, cotangents of arrays that it read
//!   elementwise are collected, cotangents of collected outputs are read elementwise, sums become broadcasts, and
//!   broadcasts become sums. Cotangents of captured arrays are carried and added to in place. If a comprehension
//!   reads them at affine indices, they become comprehensions themselves (`crate::tensor`).
//! - A call becomes a call of the transposed callee. It takes the cotangents so far of its arguments, if there are
//!   any, and returns them with its contributions added. So recursive functions add to arrays in place, and the
//!   order of a sum does not depend on how its terms are divided among functions.

mod control;
mod rules;

use crate::Ad;
use crate::check;
use crate::limits::transpose::VARIANTS;
use crate::tensor::affine::Forms;
use adl_ir::rewrite::{dce, linear_uses};
use adl_ir::{Block, Builder, Collective, FnId, Function, Op, Program, Stmt, Ty, Var};
use adl_prim::{Bin, Un};
use adl_specialise::Unsupported;
use std::collections::HashMap;

impl Ad {
    /// T of a linear function: `(r… ; ẋ…) -> ( ; ẏ…)` becomes `(r… ; ÿ…) -> ( ; ẍ…)`.
    pub fn transpose(&mut self, p: &mut Program, f: FnId) -> Result<FnId, Unsupported> {
        let none = vec![false; p.func(f).body.lin_params.len()];
        Ok(self.transposed(p, f, &none)?.0)
    }

    /// T of a linear function that also takes accumulators: cotangents so far of parameters, which follow the
    /// cotangents of the results. The Bools tell for which parameters. These are the parameters in `there`, or all
    /// of them once there are [`VARIANTS`] versions of the function.
    fn transposed(
        &mut self,
        program: &mut Program,
        func_id: FnId,
        there: &[bool],
    ) -> Result<(FnId, Vec<bool>), Unsupported> {
        let made = self.linear.transposes.entry(func_id).or_default();
        if let Some((_, t)) = made.iter().find(|(t, _)| t == there) {
            return Ok((*t, there.to_vec()));
        }
        let there = if made.len() < VARIANTS { there.to_vec() } else { vec![true; there.len()] };
        if let Some((_, t)) = made.iter().find(|(t, _)| *t == there) {
            return Ok((*t, there));
        }
        let src = program.func(func_id).clone();
        let name = match src.name.strip_prefix("transpose ") {
            Some(n) => n.to_owned(),
            None => format!("transpose {}", src.name),
        };
        let id = program.reserve(&name);
        self.linear.transposes.entry(func_id).or_default().push((there.clone(), id));
        // Recursive callers need the signature before the body exists.
        let mut early =
            Function { name: name.clone(), vars: src.vars.clone(), body: Block::default(), ..Function::default() };
        early.body.params = src.body.params.clone();
        early.body.lin_params = src.body.lin_results.clone();
        early.body.lin_params.extend(selected_params(&src.body.lin_params, &there));
        early.body.lin_results = src.body.lin_params.clone();
        program.set(id, early);
        let made = function(self, program, &src, &name, &there);
        match made.and_then(|made| self.count(&made).map(|()| made)) {
            Ok(made) => {
                check::made("transpose", program, &made);
                program.set(id, made);
                Ok((id, there))
            }
            Err(e) => {
                self.linear.transposes.entry(func_id).or_default().retain(|(_, t)| *t != id);
                Err(e)
            }
        }
    }
}

/// The elements of `all` selected by `there`.
fn selected_params<'v>(all: &'v [Var], there: &'v [bool]) -> impl Iterator<Item = &'v Var> {
    all.iter().zip(there).filter(|(_, t)| **t).map(|(v, _)| v)
}

fn function(ad: &mut Ad, p: &mut Program, src: &Function, name: &str, there: &[bool]) -> Result<Function, Unsupported> {
    let literals = Forms::outside(src);
    let mut transform = T {
        ad,
        p,
        b: Builder::on(src.clone()),
        roots: HashMap::new(),
        cts: HashMap::new(),
        literals,
        products: HashMap::new(),
    };
    transform.b.func.name = name.to_owned();
    let cts: Vec<Var> = src.tys(&src.body.lin_results).into_iter().map(|ty| transform.b.func.fresh(ty, true)).collect();
    let mut params = cts.clone();
    for x in selected_params(&src.body.lin_params, there) {
        let so_far = transform.b.func.fresh(src.ty(*x).clone(), true);
        params.push(so_far);
        transform.set(*x, so_far);
    }
    transform.b.adopt(&src.body.params, &params);
    transform.block(&src.body, &cts)?;
    let results: Vec<Var> = src.body.lin_params.iter().map(|x| transform.final_cotangent(*x)).collect();
    let mut out = transform.b.finish(Vec::new(), results);
    dce::remove_dead_relaxed(&mut out);
    linear_uses::uses(&mut out);
    Ok(out)
}

/// Whether a statement, or a block in it, reads one of these variables.
pub(crate) fn reads(s: &Stmt, vars: &[Var]) -> bool {
    stacker::maybe_grow(32 * 1024, 1024 * 1024, || {
        let mut found = false;
        s.op.each_operand(&mut |v| found |= vars.contains(&v));
        found
            || s.op.blocks().iter().any(|b| {
                b.results.iter().chain(&b.lin_results).any(|v| vars.contains(v))
                    || b.stmts.iter().any(|s| reads(s, vars))
            })
    })
}

pub(crate) struct T<'a> {
    pub(crate) ad: &'a mut Ad,
    p: &'a mut Program,
    pub(crate) b: Builder,
    /// The original of each copy.
    roots: HashMap<Var, Var>,
    /// The cotangent so far of each original variable.
    pub(crate) cts: HashMap<Var, Var>,
    /// Int literals, and affine forms computed outside of all loops.
    pub(crate) literals: Forms,
    /// Cotangents that are matrix products (the operands), or their negatives (`true`).
    products: HashMap<Var, (Var, Var, bool)>,
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

    /// The cotangent of a variable whose uses have all been processed; a symbolic zero if there was no contribution.
    pub(crate) fn final_cotangent(&mut self, v: Var) -> Var {
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

    /// Takes the cotangent of `v` so far, to be added to in place.
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

    /// Transposes a block's statements into the open block. `cts` are the cotangents of its linear results.
    /// Afterwards `self.cts` has those of its parameters and of the variables that it read from outside.
    ///
    /// Statements that recompute a checkpoint's intermediates are delayed until they are needed, so that only one
    /// checkpoint's intermediates exist at a time.
    fn block(&mut self, block: &Block, cts: &[Var]) -> Result<(), Unsupported> {
        let mut later: Vec<&Stmt> = Vec::new();
        for s in &block.stmts {
            if let Op::Dup(a) = &s.op {
                self.note_copies(&s.lin_outs, *a);
            } else if s.lin_outs.is_empty() && !self.reads_linear(s) {
                self.wanted(&mut later, s);
                match &s.op {
                    Op::Call { f, .. } if self.ad.unzip.kept.values().any(|k| k == f) => later.push(s),
                    _ => self.b.push(s.clone()),
                }
            }
        }
        for (r, ct) in block.lin_results.iter().zip(cts) {
            self.add(*r, *ct);
        }
        for s in block.stmts.iter().rev() {
            self.b.span = s.span;
            if !s.lin_outs.is_empty() {
                self.wanted(&mut later, s);
                self.stmt(s)?;
            }
        }
        Ok(())
    }

    /// Emits those of the delayed statements that `reader` needs.
    fn wanted(&mut self, later: &mut Vec<&Stmt>, reader: &Stmt) {
        later.retain(|s| {
            let read = reads(reader, &s.outs);
            if read {
                self.b.push((*s).clone());
            }
            !read
        });
    }

    /// Records that variables are copies of `of`.
    pub(crate) fn note_copies(&mut self, copies: &[Var], of: Var) {
        self.roots.extend(copies.iter().map(|c| (*c, of)));
    }

    pub(crate) fn reads_linear(&self, s: &Stmt) -> bool {
        let mut found = false;
        s.op.each_operand(&mut |v| found |= self.b.func.linear(v));
        found || !linear_uses::captured_by(&self.b.func, &s.op).is_empty()
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), Unsupported> {
        match &stmt.op {
            Op::Dup(_) => Ok(()),
            Op::If(..) | Op::Switch(..) => self.branches(stmt),
            Op::Loop(_) => self.nest_or_loop(stmt),
            Op::Call { f, args, lin_args, .. } => self.call(stmt, *f, args, lin_args),
            Op::Collective { kind, args, at } => {
                self.sent_back(stmt, *kind, args, *at);
                Ok(())
            }
            Op::Destruct { a, data, tag } => {
                // If no field has a cotangent, the data's cotangent stays a symbolic zero.
                if stmt.lin_outs.iter().any(|o| self.cts.contains_key(&self.root(*o))) {
                    let fields = stmt.lin_outs.iter().map(|o| self.final_cotangent(*o)).collect();
                    let ty = Ty::Data(*data);
                    let ct = self.b.lin(Op::Construct { data: *data, tag: *tag, fields }, ty);
                    self.add(*a, ct);
                }
                Ok(())
            }
            _ => {
                let Some(out) = stmt.lin_outs.first() else { return Ok(()) };
                let r = self.root(*out);
                // Without a cotangent there is nothing to propagate.
                match self.cts.remove(&r) {
                    Some(ct) => self.leaf(stmt, ct),
                    None => Ok(()),
                }
            }
        }
    }

    /// The transpose of a collective sends the cotangents of all its results together.
    fn sent_back(&mut self, s: &Stmt, kind: Collective, args: &[Var], at: Option<Var>) {
        let roots: Vec<Var> = s.lin_outs.iter().map(|o| self.root(*o)).collect();
        let some = (0..args.len()).filter(|k| self.cts.contains_key(&roots[*k]));
        let (args, roots): (Vec<Var>, Vec<Var>) = some.map(|k| (args[k], roots[k])).unzip();
        let cts: Vec<Var> = roots.iter().filter_map(|r| self.cts.remove(r)).collect();
        if cts.is_empty() {
            return;
        }
        let at = if kind == Collective::Shift { at.map(|k| self.to_other_side(k)) } else { at };
        let tys: Vec<Ty> = args.iter().map(|a| self.b.ty(*a)).collect();
        let (_, made) = self.b.emit(Op::Collective { kind: kind.transposed(), args: cts, at }, &[], &tys);
        args.into_iter().zip(made).for_each(|(a, ct)| self.add(a, ct));
    }

    /// The number of places of a shift back. That of a shift that is a transpose is the first one's again.
    fn to_other_side(&mut self, places: Var) -> Var {
        match self.b.definition(places).map(|s| &s.op) {
            Some(Op::Un(Un::Neg, first)) => *first,
            _ => self.b.un(Un::Neg, places),
        }
    }

    fn call(&mut self, s: &Stmt, function: FnId, args: &[Var], lin_args: &[Var]) -> Result<(), Unsupported> {
        let mut cts: Vec<Var> = s.lin_outs.iter().map(|o| self.final_cotangent(*o)).collect();
        // If two arguments are copies of one variable, the second one starts without a cotangent.
        let roots: Vec<Var> = lin_args.iter().map(|a| self.root(*a)).collect();
        let there: Vec<bool> =
            roots.iter().enumerate().map(|(i, r)| self.cts.contains_key(r) && !roots[..i].contains(r)).collect();
        let (back, takes) = self.ad.transposed(self.p, function, &there)?;
        for (i, (a, r)) in lin_args.iter().zip(&roots).enumerate().filter(|(i, _)| takes[*i]) {
            let so_far = if there[i] { self.cts.remove(r) } else { None };
            let ty = self.b.ty(*a);
            cts.push(so_far.unwrap_or_else(|| self.zero(ty)));
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

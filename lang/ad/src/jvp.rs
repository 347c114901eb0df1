//! J: forward mode into the linear fragment (§5).
//!
//! The primal statements stay as they are; beside each one that is active stand the coefficients that its rule needs, which are
//! non-linear, and the statements that make its tangent, which are linear. A variable keeps its number; its tangent is a new one.
//! Tangents may here be used any number of times; [`crate::explicit`] makes that explicit afterwards.

mod call;
mod leaf;
mod prims;
mod turn;

use crate::memo::Arrays;
use crate::Ad;
use crate::activity::Activity;
use crate::tensor::narrow::Which;
use crate::{check, dce, explicit};
use adl_ir::{Block, Builder, FnId, Function, Lit, Loop, Op, Out, Program, Role, Stmt, Turns, Ty, Var};
use adl_prim::scalar::{d_bin, d_un};
use adl_prim::{Bin, Ops, Un};
use adl_specialise::Unsupported;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::rc::Rc;

/// A function with its tangent: `(x… ; ẋ…) -> (y… ; ẏ…)`.
#[derive(Clone, Debug)]
pub struct Jvp {
    /// The function.
    pub func: FnId,
    /// Which results have a tangent.
    pub active: Vec<bool>,
}

impl Ad {
    /// Whether arrays of a function may be absent.
    pub fn arrays(&mut self, p: &Program, f: FnId) -> Arrays {
        if p.absent && !self.zeros {
            // From now on what calls give may be absent, of functions that have been transformed too.
            self.zeros = true;
            self.jvps.clear();
        }
        if self.zeros || self.absent.contains(&f) { Arrays::MayBeAbsent } else { Arrays::There }
    }

    /// A function that is not differentiated, with its arrays of brackets pushed to where they are read and without the sums of which brackets leave one
    /// term; if there are any. Results are the same bits.
    pub fn undifferentiated(f: &Function) -> Option<Function> {
        let pushed = crate::tensor::push::pushed(f);
        crate::tensor::narrow::narrowed(pushed.as_ref().unwrap_or(f), Which::OneTerm).or(pushed)
    }

    /// Whether a function was made here.
    pub fn has_made(&self, f: FnId) -> bool {
        self.absent.contains(&f)
    }

    /// The function as it is differentiated: what is computed once has one tangent.
    pub(crate) fn prepared(&self, p: &Program, f: FnId, arrays: Arrays) -> Rc<Function> {
        let src = p.func(f).clone();
        if self.ready.contains(&f) {
            // Another cleanup could find more, and what is added up would be something else than without segments.
            return src;
        }
        let mut f = (*src).clone();
        if let Some(cleanup) = self.cleanup {
            // Small functions stand where they were called: what one makes another reads.
            cleanup(p, &mut f, arrays);
        }
        let pushed = crate::tensor::push::pushed(&f);
        let narrowed = crate::tensor::narrow::narrowed(pushed.as_ref().unwrap_or(&f), Which::All).or(pushed);
        if let Some(made) = narrowed {
            f = made;
            if let Some(cleanup) = self.cleanup {
                cleanup(p, &mut f, arrays);
            }
        }
        // Dead code has a part in the order of sums: a loop whose active carry is dead would add to cotangents in place, without it each sum is
        // made apart. Divided functions have none, so the others may not either.
        dce::remove_dead(&mut f);
        // What was a derivative is a program like another now.
        f.vars.iter_mut().for_each(|v| v.role = Role::Operation);
        Rc::new(f)
    }

    /// J of a function. `wrt` says which parameters carry a tangent; those whose type has none do not, whatever it says.
    pub fn jvp(&mut self, p: &mut Program, f: FnId, wrt: &[bool]) -> Result<Jvp, Unsupported> {
        let arrays = self.arrays(p, f);
        let src = p.func(f).clone();
        let params = &src.body.params;
        let wrt: Vec<bool> = params.iter().zip(wrt).map(|(x, w)| *w && self.tangent_ty(p, &src.ty(*x).clone()).is_some()).collect();
        if let Some(j) = self.jvps.get(&(f, wrt.clone())) {
            return Ok(j.clone());
        }
        self.complete(p, f)?;
        let src = self.prepared(p, f, arrays);
        let active = self.active_results(p, f, &wrt);
        let j = Jvp { func: p.reserve(&format!("jvp {}", src.name)), active };
        self.jvps.insert((f, wrt.clone()), j.clone());
        self.sources.insert(j.func, src.clone());
        let made = function(self, p, &src, &wrt, &j.active);
        match made.and_then(|made| self.count(&made).map(|()| made)) {
            Ok(mut made) => {
                check::made("jvp", p, &made);
                if let Some(cleanup) = self.cleanup {
                    cleanup(p, &mut made, arrays);
                }
                p.set(j.func, made);
                Ok(j)
            }
            Err(e) => {
                self.jvps.remove(&(f, wrt));
                Err(e)
            }
        }
    }
}

fn function(ad: &mut Ad, p: &mut Program, src: &Function, wrt: &[bool], active: &[bool]) -> Result<Function, Unsupported> {
    let act = Activity::of(ad, p, src, wrt);
    let wanted = leaf::wanted_shapes(&src.body, &act);
    let mut j = J { ad, p, act, wanted, b: Builder::on(src.clone()), tan: HashMap::new(), shapes: HashMap::new(), extents: HashMap::new(), lits: HashMap::new(), uniform: HashMap::new(), turned: turn::Turned::of(src) };
    j.b.func.name = format!("jvp {}", src.name);
    let params = &src.body.params;
    let mut lin_params = Vec::new();
    for (x, w) in params.iter().zip(wrt) {
        if *w {
            lin_params.push(j.fresh_tangent(*x));
        }
    }
    j.b.adopt(params, &lin_params);
    params.iter().for_each(|x| j.defined(*x));
    for s in &src.body.stmts {
        j.stmt(s)?;
    }
    let lin_results = src.body.results.iter().zip(active).filter(|(_, a)| **a).map(|(r, _)| j.tangent(*r)).collect();
    let mut out = j.b.finish(src.body.results.clone(), lin_results);
    dce::remove_dead_relaxed(&mut out);
    explicit::uses(&mut out);
    Ok(out)
}

/// One run of J over a function.
pub(crate) struct J<'a> {
    pub(crate) ad: &'a mut Ad,
    pub(crate) p: &'a mut Program,
    pub(crate) act: Activity,
    pub(crate) b: Builder,
    /// The tangent of each variable that has one.
    pub(crate) tan: HashMap<Var, Var>,
    /// Arrays whose shapes rules ask for.
    wanted: HashSet<Var>,
    /// Their shapes, made where the arrays are.
    shapes: HashMap<Var, Var>,
    /// Extents of rows.
    extents: HashMap<Var, Vec<Var>>,
    /// Values that are known.
    pub(crate) lits: HashMap<Var, Lit>,
    /// Arrays filled with one known number.
    pub(crate) uniform: HashMap<Var, Lit>,
    /// Loops whose turns may be done again.
    turned: turn::Turned,
}

impl J<'_> {
    pub(crate) fn tangent_ty(&mut self, v: Var) -> Ty {
        let ty = self.b.ty(v);
        self.ad.tangent_ty(self.p, &ty).unwrap_or(ty)
    }

    /// A new linear variable for the tangent of `v`.
    pub(crate) fn fresh_tangent(&mut self, v: Var) -> Var {
        let ty = self.tangent_ty(v);
        let t = self.b.func.fresh(ty, true);
        self.b.func.vars[t.0 as usize].name = self.b.func.vars[v.0 as usize].name.clone();
        self.tan.insert(v, t);
        t
    }

    /// The tangent of an active variable; a zero where there is none.
    pub(crate) fn tangent(&mut self, v: Var) -> Var {
        match self.tan.get(&v) {
            Some(t) => *t,
            None => {
                let ty = self.tangent_ty(v);
                self.b.lin(Op::Zero(ty.clone()), ty)
            }
        }
    }

    /// The tangent, if there is one.
    pub(crate) fn has(&self, v: Var) -> Option<Var> {
        self.tan.get(&v).copied()
    }

    /// To be said of each variable where it is bound: its shape is taken there if a rule wants it.
    fn defined(&mut self, v: Var) {
        if self.wanted.contains(&v) && !self.shapes.contains_key(&v) {
            let s = self.b.shape(v);
            self.shapes.insert(v, s);
        }
    }

    /// The shape of an array.
    pub(crate) fn shape(&mut self, v: Var) -> Var {
        match self.shapes.get(&v) {
            Some(s) => *s,
            None => self.b.shape(v),
        }
    }

    pub(crate) fn stmt(&mut self, s: &Stmt) -> Result<(), Unsupported> {
        self.b.span = s.span;
        match &s.op {
            Op::If(c, a, b) => {
                let wanted = self.wanted_outs(s);
                let (a, b) = (self.branch(a, &[], &wanted)?, self.branch(b, &[], &wanted)?);
                self.bind(s, Op::If(*c, Box::new(a), Box::new(b)), &wanted);
            }
            Op::Switch(x, arms) => {
                let wanted = self.wanted_outs(s);
                let arms = arms.iter().enumerate().map(|(k, arm)| self.arm(*x, k as u32, arm, &wanted)).collect::<Result<_, _>>()?;
                self.bind(s, Op::Switch(*x, arms), &wanted);
            }
            Op::Loop(l) => self.loop_(s, l)?,
            Op::Call { .. } => self.call(s)?,
            Op::Soac(c) => self.soac(s, c)?,
            Op::ReduceByIndex { .. } => self.by_index(s)?,
            _ => self.leaf(s)?,
        }
        self.note(s);
        s.outs.iter().for_each(|v| self.defined(*v));
        Ok(())
    }

    /// Remembers what is known of a statement's result.
    fn note(&mut self, s: &Stmt) {
        match (&s.op, s.outs.first()) {
            (Op::Lit(l), Some(o)) => {
                self.lits.insert(*o, l.clone());
            }
            (Op::Replicate { a, .. } | Op::Spread { a, .. }, Some(o)) => {
                let known = self.lits.get(a).or_else(|| self.uniform.get(a)).cloned();
                self.uniform.extend(known.map(|l| (*o, l)));
            }
            _ => {}
        }
    }

    /// Takes account of a statement that was not in the source: which of its variables are active, which shapes rules will ask for.
    pub(crate) fn watch(&mut self, s: &Stmt) {
        let f = std::mem::take(&mut self.b.func);
        self.act.stmt(self.ad, self.p, &f, s);
        leaf::wanted_of(s, &self.act, &mut self.wanted);
        self.b.func = f;
    }

    /// J of a statement that was not in the source.
    pub(crate) fn derive(&mut self, s: &Stmt) -> Result<(), Unsupported> {
        self.watch(s);
        self.stmt(s)
    }

    /// Which of a statement's results are active.
    fn wanted_outs(&self, s: &Stmt) -> Vec<bool> {
        s.outs.iter().map(|o| self.act.has(*o)).collect()
    }

    /// Binds a statement's results, and tangents of those in `wanted`.
    fn bind(&mut self, s: &Stmt, op: Op, wanted: &[bool]) {
        let lin_outs = s.outs.iter().zip(wanted).filter(|(_, w)| **w).map(|(o, _)| self.fresh_tangent(*o)).collect();
        self.b.push(Stmt { outs: s.outs.clone(), lin_outs, op, span: s.span });
    }

    /// A block whose wanted results come with tangents. `before` are parameters' tangents.
    pub(crate) fn branch(&mut self, b: &Block, lin_params: &[Var], wanted: &[bool]) -> Result<Block, Unsupported> {
        self.b.open();
        self.b.adopt(&b.params, lin_params);
        b.params.iter().for_each(|v| self.defined(*v));
        for s in &b.stmts {
            self.stmt(s)?;
        }
        let lin_results = b.results.iter().zip(wanted).filter(|(_, w)| **w).map(|(r, _)| self.tangent(*r)).collect();
        Ok(self.b.close(b.results.clone(), lin_results))
    }

    /// An arm of a switch: its fields' tangents are those of the scrutinee's tangent.
    fn arm(&mut self, x: Var, tag: u32, arm: &Block, wanted: &[bool]) -> Result<Block, Unsupported> {
        self.b.open();
        self.b.adopt(&arm.params, &[]);
        if let (Some(t), Ty::Data(data)) = (self.has(x), self.tangent_ty(x)) {
            let mut lin_outs = Vec::new();
            for v in &arm.params {
                let ty = self.b.ty(*v);
                if self.ad.tangent_ty(self.p, &ty).is_some() {
                    lin_outs.push(self.fresh_tangent(*v));
                }
            }
            let span = self.b.span;
            self.b.push(Stmt { outs: Vec::new(), lin_outs, op: Op::Fields { a: t, data, tag }, span });
        }
        arm.params.iter().for_each(|v| self.defined(*v));
        for s in &arm.stmts {
            self.stmt(s)?;
        }
        let lin_results = arm.results.iter().zip(wanted).filter(|(_, w)| **w).map(|(r, _)| self.tangent(*r)).collect();
        Ok(self.b.close(arm.results.clone(), lin_results))
    }

    fn loop_(&mut self, s: &Stmt, l: &Loop) -> Result<(), Unsupported> {
        let carried = l.init.len();
        let (carry, elems) = l.body.params[1..].split_at(carried);
        let live: Vec<bool> = carry.iter().map(|v| self.act.has(*v)).collect();
        let lin_init: Vec<Var> = l.init.iter().zip(&live).filter(|(_, a)| **a).map(|(v, _)| self.tangent(*v)).collect();
        let lin_xs: Vec<Var> = l.xs.iter().filter_map(|v| self.has(*v)).collect();
        let mut lin_params: Vec<Var> = carry.iter().zip(&live).filter(|(_, a)| **a).map(|(v, _)| self.fresh_tangent(*v)).collect();
        for (x, e) in l.xs.iter().zip(elems) {
            if self.has(*x).is_some() {
                lin_params.push(self.fresh_tangent(*e));
            }
            self.row_shape(*x, *e);
        }
        let outs: Vec<bool> = l.outs.iter().enumerate().map(|(k, _)| self.act.has(s.outs[carried + k])).collect();
        let wanted: Vec<bool> = live.iter().chain(&outs).copied().collect();
        self.turned.depth += 1;
        let body = self.branch(&l.body, &lin_params, &wanted)?;
        self.turned.depth -= 1;
        self.turned.note(l, &s.outs);
        let lin_outs: Vec<Out> = l.outs.iter().zip(&outs).filter(|(_, a)| **a).map(|(o, _)| *o).collect();
        let turns: Turns = l.turns.clone();
        let made = Loop { turns, reverse: l.reverse, init: l.init.clone(), lin_init, xs: l.xs.clone(), lin_xs, outs: l.outs.clone(), lin_outs, body };
        let mut wanted = wanted;
        wanted.push(false);
        self.bind(s, Op::Loop(Box::new(made)), &wanted);
        Ok(())
    }

    /// The shape of a row of an array is known before the loop. (Written out, so that reads of elements of rows are seen to read the array.)
    fn row_shape(&mut self, x: Var, row: Var) {
        let Ty::Array(e, rank) = self.b.ty(x) else { return };
        if rank < 2 || !e.is_flat() || self.has(x).is_none() {
            return;
        }
        let extents = match self.extents.get(&x) {
            Some(known) => known[1..].to_vec(),
            None => (1..rank).map(|k| self.b.dim(x, k)).collect(),
        };
        if self.wanted.contains(&row) {
            let s = self.b.one(Op::Stack { elems: extents.clone(), shape: None }, Ty::shape());
            self.shapes.insert(row, s);
        }
        self.extents.insert(row, extents);
    }
}

/// The derivative of `y = op x`, which counts as one function.
pub(crate) fn derivative(b: &mut Builder, op: Un, x: Var, y: Var) -> Var {
    let first = b.func.vars.len();
    let Ok(d) = d_un(&mut Emit(b), op, &x, &y);
    b.derivative(first, &[d]);
    d
}

/// The partial derivatives of `z = op x y`, which count as one function each; those of `min` and `max` are brackets, which cost nothing.
pub(crate) fn partials(b: &mut Builder, op: Bin, x: Var, y: Var, z: Var) -> (Var, Var) {
    let first = b.func.vars.len();
    let Ok((dx, dy)) = d_bin(&mut Emit(b), op, &x, &y, &z);
    let brackets = matches!(op, Bin::Min | Bin::Max);
    b.derivative(first, &[dx, dy][..if brackets { 0 } else { 2 }]);
    (dx, dy)
}

/// Derivative rules of scalar operators, emitted into a function.
struct Emit<'a>(&'a mut Builder);

impl Ops for Emit<'_> {
    type V = Var;
    type E = Infallible;
    fn constant(&mut self, x: f64, like: &Var) -> Var {
        self.0.real(x, *like)
    }
    fn un(&mut self, op: Un, x: &Var) -> Result<Var, Infallible> {
        Ok(self.0.un(op, *x))
    }
    fn bin(&mut self, op: Bin, x: &Var, y: &Var) -> Result<Var, Infallible> {
        Ok(self.0.bin(op, *x, *y))
    }
}

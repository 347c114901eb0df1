//! Analyses the body of a loop: which affine functions of the carried numbers it computes, if any.

use crate::fuse::reads_of;
use adl_ir::{Block, Function, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::{Bin, GeneralFn, Prim, Un};
use adl_syntax::span::Span;
use std::collections::{HashMap, HashSet};

/// Largest number of statements of a body that is analysed.
const STATEMENTS: usize = 1024;

/// A coefficient of a carried number, or an additive term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Coef {
    Zero,
    One,
    Is(Var),
}

/// An affine function of the carried numbers.
#[derive(Clone, Debug)]
pub(super) struct AffineForm {
    /// The coefficient of each carried number.
    pub of: Vec<Coef>,
    /// The additive term: never [`Coef::One`].
    pub rest: Coef,
}

/// The body of a loop, analysed.
#[derive(Debug)]
pub(super) struct AffineBody {
    /// The statements of the body that do not depend on carried numbers, and the computation of the coefficients.
    pub stmts: Vec<Stmt>,
    /// The new value of each carried number.
    pub forms: Vec<AffineForm>,
    /// The type of the numbers and of the coefficients.
    pub ty: Ty,
    /// The number of variables introduced for coefficients. They follow the last variable of the function.
    pub made: usize,
}

/// Analyses the body of a loop that carries real numbers only. `zero` tells which variables from outside are known
/// to be 0. `None` if a function is not affine.
pub(super) fn read(func: &Function, l: &Loop, numbers: &[usize], zero: &dyn Fn(Var) -> bool) -> Option<AffineBody> {
    let body = &l.body;
    let plain = l.lin_init.is_empty() && l.lin_xs.is_empty() && l.lin_outs.is_empty() && !l.outs.contains(&Out::Boxed);
    if !plain || !matches!(l.trip, Trip::Count(_)) || numbers.is_empty() || body.stmts.len() > STATEMENTS {
        return None;
    }
    let ty = func.ty(body.params[1 + numbers[0]]).clone();
    let mut analysis = BodyAnalysis {
        f: func,
        ty: ty.clone(),
        zero,
        zeros: HashSet::new(),
        forms: HashMap::new(),
        iteration: AffineBody { stmts: Vec::new(), forms: Vec::new(), ty, made: 0 },
    };
    for (i, k) in numbers.iter().enumerate() {
        let p = body.params[1 + k];
        if *func.ty(p) != analysis.ty || !matches!(analysis.ty, Ty::F64 | Ty::F32) {
            return None;
        }
        let of = (0..numbers.len()).map(|j| if i == j { Coef::One } else { Coef::Zero }).collect();
        analysis.forms.insert(p, Some(AffineForm { of, rest: Coef::Zero }));
    }
    for s in &body.stmts {
        if !s.lin_outs.is_empty() || !analysis.stmt(s) {
            return None;
        }
    }
    for k in numbers {
        let form = analysis.form(body.results[*k], numbers.len())?;
        analysis.iteration.forms.push(form);
    }
    Some(analysis.iteration)
}

struct BodyAnalysis<'a> {
    f: &'a Function,
    ty: Ty,
    zero: &'a dyn Fn(Var) -> bool,
    /// Variables that are 0 in the body.
    zeros: HashSet<Var>,
    /// Variables that depend on carried numbers; `None` if the dependence is not affine.
    forms: HashMap<Var, Option<AffineForm>>,
    iteration: AffineBody,
}

impl BodyAnalysis<'_> {
    /// Analyses a statement. Returns false if a carried number is used in an unsupported way.
    fn stmt(&mut self, stmt: &Stmt) -> bool {
        let mut depends = false;
        let mut see = |v: &Var| depends |= self.forms.contains_key(v);
        stmt.op.each_operand(&mut |v| see(&v));
        stmt.op.blocks().into_iter().for_each(|b| reads_of(b).iter().for_each(&mut see));
        if !depends {
            if matches!(stmt.op, Op::Lit(Lit::F64(0.0) | Lit::F32(0.0)))
                || matches!(&stmt.op, Op::Zero(t) if t.is_flat())
            {
                self.zeros.extend(&stmt.outs);
            }
            self.iteration.stmts.push(stmt.clone());
            return true;
        }
        if let Op::If(c, a, b) = &stmt.op
            && !self.forms.contains_key(c)
            && [a, b].iter().all(|b| b.stmts.iter().all(|s| self.is_harmless(s)))
        {
            return self.either(*c, (a, b), stmt);
        }
        let form = self.of(&stmt.op, stmt.span);
        self.forms.extend(stmt.outs.iter().map(|v| (*v, form.clone())));
        !matches!(stmt.op, Op::Prim(Prim::General(GeneralFn::Assert), _))
    }

    /// Whether a statement of an arm may be executed although the other arm is taken: arithmetic on real numbers,
    /// which cannot fail.
    fn is_harmless(&self, s: &Stmt) -> bool {
        let real = |v: &Var| matches!(self.f.ty(*v), Ty::F64 | Ty::F32);
        match &s.op {
            Op::Lit(_) | Op::Dup(_) | Op::Drop(_) => true,
            Op::Zero(t) => t.is_flat(),
            Op::Un(..) | Op::Bin(..) | Op::Select(..) => s.outs.iter().all(real),
            Op::Cmp(_, a, _) => real(a),
            _ => false,
        }
    }

    /// Analyses a branch on a condition that does not depend on carried numbers: both arms are computed, and each
    /// result is selected.
    fn either(&mut self, c: Var, (a, b): (&Block, &Block), s: &Stmt) -> bool {
        let read = a.stmts.iter().chain(&b.stmts).all(|s| self.stmt(s));
        for (out, (x, y)) in s.outs.iter().zip(a.results.iter().zip(&b.results)) {
            let chosen = Op::Select(c, *x, *y);
            if [x, y].iter().any(|v| self.forms.contains_key(v)) {
                let form = if *self.f.ty(*out) == self.ty { self.of(&chosen, s.span) } else { None };
                self.forms.insert(*out, form);
            } else if self.f.ty(*out).rank() == 0 && self.f.ty(*out).is_flat() {
                self.iteration.stmts.push(Stmt { outs: vec![*out], lin_outs: Vec::new(), op: chosen, span: s.span });
            } else {
                self.forms.insert(*out, None);
            }
        }
        read
    }

    /// The result of an operation as an affine function.
    fn of(&mut self, op: &Op, at: Span) -> Option<AffineForm> {
        match op {
            Op::Bin(b @ (Bin::Add | Bin::Sub), x, y) => {
                let n = self.length(&[*x, *y])?;
                let (x, y) = (self.form(*x, n)?, self.form(*y, n)?);
                Some(self.both(x, y, |r, x, y| r.sum(*b, x, y, at)))
            }
            Op::Bin(b @ (Bin::Mul | Bin::ScaleTangent), x, y) => {
                match (self.forms.get(x).cloned(), self.forms.get(y).cloned()) {
                    (None, Some(form)) => Some(self.each(form?, |r, c| r.scaled(*b, *x, c, at))),
                    (Some(form), None) if *b == Bin::Mul => Some(self.each(form?, |r, c| r.scaled(*b, *y, c, at))),
                    _ => None,
                }
            }
            Op::Bin(Bin::Div, x, y) if !self.forms.contains_key(y) => {
                let form = self.forms.get(x).cloned()??;
                Some(self.each(form, |r, c| match c {
                    Coef::Zero => Coef::Zero,
                    c => {
                        let c = r.var(c, at);
                        Coef::Is(r.op(Op::Bin(Bin::Div, c, *y), at))
                    }
                }))
            }
            Op::Un(Un::Neg, x) => {
                let form = self.forms.get(x).cloned()??;
                Some(self.each(form, |r, c| r.negated(c, at)))
            }
            Op::Select(c, x, y) if !self.forms.contains_key(c) => {
                let n = self.length(&[*x, *y])?;
                let (x, y) = (self.form(*x, n)?, self.form(*y, n)?);
                Some(self.both(x, y, |r, x, y| {
                    if x == y {
                        return x;
                    }
                    let (x, y) = (r.var(x, at), r.var(y, at));
                    Coef::Is(r.op(Op::Select(*c, x, y), at))
                }))
            }
            _ => None,
        }
    }

    /// The number of carried numbers, taken from an operand that depends on them.
    fn length(&self, vs: &[Var]) -> Option<usize> {
        vs.iter().find_map(|v| self.forms.get(v)).and_then(|f| f.as_ref().map(|f| f.of.len()))
    }

    /// A variable as an affine function of the carried numbers.
    fn form(&self, v: Var, n: usize) -> Option<AffineForm> {
        match self.forms.get(&v) {
            Some(form) => form.clone(),
            None if (self.zero)(v) || self.zeros.contains(&v) => {
                Some(AffineForm { of: vec![Coef::Zero; n], rest: Coef::Zero })
            }
            None => Some(AffineForm { of: vec![Coef::Zero; n], rest: Coef::Is(v) }),
        }
    }

    fn each(&mut self, form: AffineForm, mut change: impl FnMut(&mut Self, Coef) -> Coef) -> AffineForm {
        AffineForm { of: form.of.into_iter().map(|c| change(self, c)).collect(), rest: change(self, form.rest) }
    }

    fn both(
        &mut self,
        x: AffineForm,
        y: AffineForm,
        mut join: impl FnMut(&mut Self, Coef, Coef) -> Coef,
    ) -> AffineForm {
        AffineForm {
            of: x.of.into_iter().zip(y.of).map(|(x, y)| join(self, x, y)).collect(),
            rest: join(self, x.rest, y.rest),
        }
    }

    fn sum(&mut self, b: Bin, x: Coef, y: Coef, at: Span) -> Coef {
        match (x, y) {
            (x, Coef::Zero) => x,
            (Coef::Zero, y) if b == Bin::Add => y,
            (Coef::Zero, y) => self.negated(y, at),
            (x, y) => {
                let (x, y) = (self.var(x, at), self.var(y, at));
                Coef::Is(self.op(Op::Bin(b, x, y), at))
            }
        }
    }

    fn scaled(&mut self, b: Bin, by: Var, c: Coef, at: Span) -> Coef {
        match c {
            Coef::Zero => Coef::Zero,
            Coef::One => Coef::Is(by),
            Coef::Is(v) => Coef::Is(self.op(Op::Bin(b, by, v), at)),
        }
    }

    fn negated(&mut self, c: Coef, at: Span) -> Coef {
        if c == Coef::Zero {
            return c;
        }
        let v = self.var(c, at);
        Coef::Is(self.op(Op::Un(Un::Neg, v), at))
    }

    fn var(&mut self, c: Coef, at: Span) -> Var {
        let one = match c {
            Coef::Is(v) => return v,
            Coef::Zero => 0.0,
            Coef::One => 1.0,
        };
        self.op(Op::Lit(crate::real(&self.ty, one)), at)
    }

    fn op(&mut self, op: Op, at: Span) -> Var {
        let v = Var((self.f.vars.len() + self.iteration.made) as u32);
        self.iteration.made += 1;
        self.iteration.stmts.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op, span: at });
        v
    }
}

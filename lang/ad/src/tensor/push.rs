//! Arrays of brackets are not materialised if only elements of them are read (the paper's β-rule of `gen`): the
//! element `(⊞ i j. [p] x[i])[e, e']` is `[p] x[i]` at `i = e`, `j = e'`. So a matrix that is zero off its diagonal
//! costs no more in a sum than its diagonal, and its cotangent is not a matrix.
//!
//! An array is pushed to its readers if its elements are numbers that are only moved, or computed by little
//! arithmetic, under predicates that compare indices, and if all readers provably read within bounds. The pass runs
//! before J, and before sums are narrowed.

use super::affine::{Affine, Forms};
use super::bracket_array::{BracketArray, candidates};
use crate::limits::tensor_push::MOST;
use adl_ir::{Block, Builder, Cmp, Function, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::{Bin, GeneralFn, Prim};
use std::collections::{HashMap, HashSet};

/// The function with its arrays of brackets pushed to their readers; `None` if there are none.
pub(crate) fn pushed(src: &Function) -> Option<Function> {
    let mut now: Option<Function> = None;
    let mut done: HashSet<Var> = HashSet::new();
    for _ in 0..MOST {
        let f = now.as_ref().unwrap_or(src);
        let views: Vec<BracketArray> = candidates(f).into_iter().filter(|v| !done.contains(&v.array)).collect();
        let Some((view, made)) = views.into_iter().find_map(|v| Some((v.array, v.pushed(f)?))) else { break };
        done.insert(view);
        now = Some(made);
    }
    now
}

/// A part of the array: the index for each fixed axis, and for each remaining axis the offset added to positions.
#[derive(Clone)]
struct PushedPart {
    fixed: Vec<Option<Var>>,
    open: Vec<(usize, Option<Var>)>,
}

/// One attempt to rewrite a function.
struct Pusher<'a> {
    view: &'a BracketArray,
    b: Builder,
    forms: Forms,
    /// The enclosing loops, with their trip counts.
    axes: Vec<(Var, Affine)>,
    /// Ints that are not negative.
    extents: HashSet<Var>,
    /// Forms that are not negative if a condition holds, and in the arms of enclosing branches.
    implied: HashMap<Var, Vec<Affine>>,
    facts: Vec<Affine>,
    /// Literals that are false.
    never: HashSet<Var>,
    parts: HashMap<Var, PushedPart>,
    /// Renaming of variables.
    names: HashMap<Var, Var>,
    /// The number of enclosing `while` loops, and the loop depth of the array.
    whiles: usize,
    depth: (usize, usize),
    /// Whether an element has already been read.
    read: bool,
    /// Rows that are read as a whole; they are materialised as vectors.
    whole: HashSet<Var>,
    /// A row that turned out to be read as a whole.
    found: Option<Var>,
}

impl BracketArray {
    fn pushed(&self, func: &Function) -> Option<Function> {
        let mut whole = HashSet::new();
        for _ in 0..MOST {
            let all =
                PushedPart { fixed: vec![None; self.rank()], open: (0..self.rank()).map(|k| (k, None)).collect() };
            let parts = HashMap::from([(self.array, all)]);
            let mut pusher = Pusher {
                view: self,
                b: Builder::on(func.clone()),
                forms: Forms::literals(&func.body),
                axes: Vec::new(),
                extents: HashSet::new(),
                implied: HashMap::new(),
                facts: Vec::new(),
                never: HashSet::new(),
                parts,
                names: HashMap::new(),
                whiles: 0,
                depth: (0, 0),
                read: false,
                whole,
                found: None,
            };
            let made = pusher.stmts(&func.body.stmts);
            let read = func.body.results.iter().any(|r| pusher.parts.contains_key(r));
            if let (Some(stmts), false) = (made, read) {
                let results = func.body.results.iter().map(|r| *pusher.names.get(r).unwrap_or(r)).collect();
                let mut out = Function { body: Block { stmts, results, ..func.body.clone() }, ..pusher.b.func };
                adl_ir::rewrite::dce::remove_dead(&mut out);
                return Some(out);
            }
            whole = pusher.whole;
            // Retry, with that row materialised where it is taken.
            whole.insert(pusher.found.filter(|v| *v != self.array && !whole.contains(v))?);
        }
        None
    }
}

impl Pusher<'_> {
    fn stmts(&mut self, stmts: &[Stmt]) -> Option<Vec<Stmt>> {
        let mut out = Vec::new();
        for s in stmts {
            let mut stmt = s.clone();
            stmt.op.map_operands(&mut |v| *self.names.get(&v).unwrap_or(&v));
            self.forms.note(&self.b.func, &stmt);
            match &stmt.op {
                Op::Dim(..) => self.extents.extend(&stmt.outs),
                Op::Cmp(op, a, b) if *self.b.func.ty(*a) == Ty::I64 => {
                    let facts = self.compared(*op, *a, *b);
                    self.implied.insert(stmt.outs[0], facts);
                }
                // An assertion holds in the rest of the block.
                Op::Prim(Prim::General(GeneralFn::Assert), args) => {
                    let facts = args.first().and_then(|c| self.implied.get(c)).cloned().unwrap_or_default();
                    self.facts.extend(facts);
                }
                op if super::narrow::is_never(op) => self.never.extend(&stmt.outs),
                _ => {}
            }
            if stmt.outs.contains(&self.view.array) {
                self.depth = (self.axes.len(), self.whiles);
            }
            self.stmt(&stmt, &mut out)?;
        }
        Some(out)
    }

    fn stmt(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) -> Option<()> {
        let part = |v: &Var| self.parts.get(v).cloned();
        match &stmt.op {
            Op::Index { a, at, .. } if self.parts.contains_key(a) => {
                let read = self.indexed(part(a)?, at, out)?;
                self.bind(stmt.outs[0], read, out)
            }
            Op::Transpose(a) if self.parts.contains_key(a) => {
                let mut turned = part(a)?;
                turned.open.swap(0, 1);
                self.parts.insert(stmt.outs[0], turned);
                Some(())
            }
            Op::Slice { a, lo, hi, .. } if self.parts.contains_key(a) => {
                let mut cut = part(a)?;
                let axis = cut.open.first()?.0;
                let (lo_form, hi_form) = (self.forms.of(*lo), self.forms.of(*hi));
                let n = self.forms.of(self.view.trip(axis)?);
                let inside = cut.open[0].1.is_none()
                    && self.not_negative(&lo_form)
                    && self.not_negative(&hi_form.plus(-1, &lo_form)?)
                    && self.not_negative(&n.plus(-1, &hi_form)?);
                cut.open[0].1 = (lo_form != Affine::constant(0)).then_some(*lo);
                // The end of a slice needs no check: the reader's loop is as long as the slice.
                inside.then(|| self.parts.insert(stmt.outs[0], cut))?;
                Some(())
            }
            Op::Dim(a, k) if self.parts.contains_key(a) => {
                let (axis, start) = *part(a)?.open.get(*k as usize)?;
                let n = self.view.trip(axis).filter(|_| {
                    start.is_none() && self.parts[a].fixed.iter().all(Option::is_none) && *a == self.view.array
                })?;
                self.names.insert(stmt.outs[0], n);
                Some(())
            }
            Op::Loop(l) => self.loop_(stmt, l, out),
            _ => self.other(stmt, out),
        }
    }

    /// The forms that are not negative if a comparison holds.
    fn compared(&self, op: Cmp, a: Var, right: Var) -> Vec<Affine> {
        let (left, b) = (self.forms.of(a), self.forms.of(right));
        let less =
            |x: &Affine, y: &Affine, strict: i64| y.plus(-1, x).and_then(|d| d.plus(-strict, &Affine::constant(1)));
        let facts = match op {
            Cmp::Eq => [less(&left, &b, 0), less(&b, &left, 0)],
            Cmp::Lt => [less(&left, &b, 1), None],
            Cmp::Le => [less(&left, &b, 0), None],
            Cmp::Gt => [less(&b, &left, 1), None],
            Cmp::Ge => [less(&b, &left, 0), None],
            // A non-negative extent other than 0 is at least 1.
            Cmp::Ne if b == Affine::constant(0) && self.extents.iter().any(|n| left == Affine::var(*n)) => {
                [left.plus(-1, &Affine::constant(1)), None]
            }
            Cmp::Ne => [None, None],
        };
        facts.into_iter().flatten().collect()
    }

    /// Recognises `p && q`, a branch whose other arm is false.
    fn both(&mut self, s: &Stmt) {
        let (Op::If(c, a, b), [o]) = (&s.op, s.outs.as_slice()) else { return };
        let never = b.results.iter().all(|r| self.never.contains(r));
        if never && *self.b.func.ty(*o) == Ty::Bool {
            let of = |v: Option<&Var>| v.and_then(|v| self.implied.get(v)).cloned().unwrap_or_default();
            let facts = [of(Some(c)), of(a.results.first())].concat();
            self.implied.insert(*o, facts);
        }
    }

    /// Processes a statement, possibly with blocks, that does not read the array itself.
    fn other(&mut self, s: &Stmt, out: &mut Vec<Stmt>) -> Option<()> {
        let mut read = None;
        s.op.each_operand(&mut |v| read = read.or(self.parts.contains_key(&v).then_some(v)));
        let mut stmt = s.clone();
        let (known, condition) = (self.facts.len(), if let Op::If(c, ..) = stmt.op { Some(c) } else { None });
        for (k, b) in stmt.op.blocks_mut().into_iter().enumerate() {
            self.facts.truncate(known);
            self.facts
                .extend(condition.filter(|_| k == 0).and_then(|c| self.implied.get(&c)).cloned().unwrap_or_default());
            read = read.or(b.results.iter().chain(&b.params).find(|r| self.parts.contains_key(r)).copied());
            if read.is_none() {
                b.stmts = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.stmts(&b.stmts))?;
                b.results.iter_mut().for_each(|r| *r = *self.names.get(r).unwrap_or(r));
                read = b.results.iter().find(|r| self.parts.contains_key(r)).copied();
            }
        }
        self.facts.truncate(known);
        if read.is_some() {
            self.found = read;
            return None;
        }
        self.both(&stmt);
        out.push(stmt);
        Some(())
    }

    fn loop_(&mut self, stmt: &Stmt, source: &Loop, out: &mut Vec<Stmt>) -> Option<()> {
        let mut ir_loop = source.clone();
        let mut first = Vec::new();
        let index = *ir_loop.body.params.first()?;
        let trip = match ir_loop.trip {
            Trip::Count(n) => Some(self.forms.of(n)),
            Trip::While(_) => None,
        };
        let depth = self.axes.len();
        self.whiles += usize::from(trip.is_none());
        self.axes.extend(trip.map(|n| (index, n)));
        let mut k = 0;
        while k < ir_loop.xs.len() {
            let Some(part) = self.parts.get(&ir_loop.xs[k]).cloned() else {
                k += 1;
                continue;
            };
            let e = ir_loop.body.params.remove(1 + ir_loop.init.len() + k);
            ir_loop.xs.remove(k);
            let read = self.fix(part, &[index], &mut first)?;
            self.bind(e, read, &mut first)?;
        }
        let made = Stmt { op: Op::Loop(Box::new(ir_loop)), ..stmt.clone() };
        let mut inner = Vec::new();
        let done = self.other(&made, &mut inner);
        self.whiles -= usize::from(self.axes.len() == depth);
        self.axes.truncate(depth);
        done?;
        let mut made = inner.pop()?;
        if let Op::Loop(l) = &mut made.op {
            l.body.stmts.splice(0..0, first);
        }
        out.push(made);
        Some(())
    }

    /// The part at further indices, if these are provably within bounds.
    fn indexed(&mut self, part: PushedPart, at: &[Var], out: &mut Vec<Stmt>) -> Option<PushedPart> {
        for (i, (axis, start)) in at.iter().zip(&part.open) {
            let mut form = self.forms.of(*i);
            if let Some(start) = start {
                form = form.plus(1, &self.forms.of(*start))?;
            }
            let n = self.forms.of(self.view.trip(*axis)?);
            let last = n.plus(-1, &form)?.plus(-1, &Affine::constant(1))?;
            if !self.not_negative(&form) || !self.not_negative(&last) {
                return None;
            }
        }
        self.fix(part, at, out)
    }

    fn fix(&mut self, mut part: PushedPart, at: &[Var], out: &mut Vec<Stmt>) -> Option<PushedPart> {
        for i in at {
            let (axis, start) = *part.open.first()?;
            part.open.remove(0);
            part.fixed[axis] = Some(match start {
                None => *i,
                Some(start) => {
                    let sum = self.b.func.fresh(Ty::I64, false);
                    let s = Stmt {
                        outs: vec![sum],
                        lin_outs: Vec::new(),
                        op: Op::Bin(Bin::Add, start, *i),
                        span: Default::default(),
                    };
                    self.forms.note(&self.b.func, &s);
                    out.push(s);
                    sum
                }
            });
        }
        Some(part)
    }

    /// Binds a variable to a part: computes the number, or records a row to be read later.
    fn bind(&mut self, var: Var, part: PushedPart, out: &mut Vec<Stmt>) -> Option<()> {
        if part.open.is_empty() {
            let at = part.fixed.into_iter().collect::<Option<Vec<_>>>()?;
            if self.view.arithmetic && !self.once(&at) {
                return None;
            }
            let is = self.element(&at, out);
            self.names.insert(var, is);
            return Some(());
        }
        if !self.whole.contains(&var) {
            self.parts.insert(var, part);
            return Some(());
        }
        self.row(var, part, out)
    }

    /// Whether no element is read twice: this is the only reader, and its indices determine the indices of all
    /// enclosing loops.
    fn once(&mut self, at: &[Var]) -> bool {
        let forms: Vec<Affine> = at.iter().map(|v| self.forms.of(*v)).collect();
        let around: Vec<Var> = self.axes[self.depth.0..].iter().map(|a| a.0).collect();
        let alone = |f: &Affine, i: Var| f.factor(i) != 0 && around.iter().all(|j| *j == i || f.factor(*j) == 0);
        let determined = around.iter().all(|i| forms.iter().any(|f| alone(f, *i)));
        !std::mem::replace(&mut self.read, true) && self.whiles == self.depth.1 && determined
    }

    /// Emits a row that is read as a whole.
    fn row(&mut self, var: Var, part: PushedPart, out: &mut Vec<Stmt>) -> Option<()> {
        let [(axis, None)] = part.open[..] else { return None };
        if self.view.arithmetic {
            return None;
        }
        let n = self.view.trip(axis)?;
        let (index, trips) = (self.b.func.fresh(Ty::I64, false), self.b.func.fresh(Ty::I64, false));
        let at = (0..self.view.rank())
            .map(|k| if k == axis { Some(index) } else { part.fixed[k] })
            .collect::<Option<Vec<_>>>()?;
        let mut stmts = Vec::new();
        let elem = self.element(&at, &mut stmts);
        let body = Block { params: vec![index], stmts, results: vec![elem], ..Block::default() };
        let ir_loop = Loop { outs: vec![Out::Collect], ..Loop::new(Trip::Count(n), body) };
        out.push(Stmt {
            outs: vec![var, trips],
            lin_outs: Vec::new(),
            op: Op::Loop(Box::new(ir_loop)),
            span: Default::default(),
        });
        Some(())
    }

    /// Emits the computation of an element.
    fn element(&mut self, at: &[Var], out: &mut Vec<Stmt>) -> Var {
        let view = self.view;
        let mut names: HashMap<Var, Var> = HashMap::new();
        let mut rows: HashMap<Var, (Var, Vec<Var>)> = HashMap::new();
        for (level, ir_loop) in view.loops.iter().enumerate() {
            names.insert(ir_loop.body.params[0], at[level]);
            for (x, e) in ir_loop.xs.iter().zip(&ir_loop.body.params[1..]) {
                let (base, mut read) = rows.get(x).cloned().unwrap_or((*x, Vec::new()));
                read.push(at[level]);
                if self.b.ty(*e).rank() > 0 {
                    rows.insert(*e, (base, read));
                    continue;
                }
                let ty = self.b.ty(*e);
                let new = self.b.func.fresh(ty, false);
                names.insert(*e, new);
                out.push(Stmt {
                    outs: vec![new],
                    lin_outs: Vec::new(),
                    op: Op::Index { a: base, at: read, shape: None },
                    span: Default::default(),
                });
            }
            for (k, s) in ir_loop.body.stmts.iter().enumerate() {
                if view.next.get(level) != Some(&k) {
                    let s = self.b.copy_stmt(s, &mut names);
                    self.forms.note(&self.b.func, &s);
                    out.push(s);
                }
            }
        }
        *names.get(&view.result).unwrap_or(&view.result)
    }

    /// Whether a form is not negative for all values of the enclosing loop indices, given the enclosing branches.
    fn not_negative(&self, a: &Affine) -> bool {
        self.holds_everywhere(a)
            || self.facts.iter().any(|f| a.plus(-1, f).is_some_and(|rest| self.holds_everywhere(&rest)))
    }

    fn holds_everywhere(&self, a: &Affine) -> bool {
        let mut affine = a.clone();
        for (i, n) in self.axes.iter().rev() {
            let least =
                if affine.factor(*i) < 0 { n.plus(-1, &Affine::constant(1)) } else { Some(Affine::constant(0)) };
            let Some(next) = least.and_then(|l| affine.with(*i, &l)) else { return false };
            affine = next;
        }
        // A loop's extent is at least 1 inside of the loop; other extents are at least 0.
        let one = |v: Var| self.axes.iter().any(|(_, n)| *n == Affine::var(v));
        let least: Option<i64> = affine
            .terms
            .iter()
            .map(|(v, k)| match () {
                () if *k > 0 && one(*v) => Some(*k),
                () if *k > 0 && self.extents.contains(v) => Some(0),
                () => None,
            })
            .sum();
        least.is_some_and(|k| k.saturating_add(affine.constant) >= 0)
    }
}

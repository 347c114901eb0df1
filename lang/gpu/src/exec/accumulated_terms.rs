//! Finds what an iteration adds to a carried value: follows the value back from its result to its parameter, through
//! branches and the additions of inner loops.

use super::carried_to_sums::push;
use adl_ir::{Block, Function, Lit, Loop, Op, Stmt, Ty, Var};
use adl_prim::Bin;
use std::collections::{HashMap, HashSet};

/// A term that is added.
#[derive(Clone, Debug)]
pub(super) struct Term {
    /// The indices; empty if the term is added to the whole value.
    pub keys: Vec<Var>,
    /// The added value.
    pub v: Var,
    /// The shape of the value that it is added to.
    pub shape: Option<Var>,
    /// For many rows, whose positions are the elements of one array: the number of axes that they index, and the
    /// extents over which the rows range.
    pub rows: Option<(usize, Vec<Var>)>,
    /// Whether the term is added at all.
    pub taken: Option<Var>,
}

/// Rows that are added after a loop.
#[derive(Clone, Debug)]
pub(super) struct RowsAfterLoop {
    /// The value to which they are added.
    pub acc: Var,
    pub term: Term,
    /// The variables that its statements define.
    pub made: Vec<Var>,
}

/// One step back from the result of a carried value.
#[derive(Debug)]
pub(super) enum BackStep {
    /// A statement that defines this variable.
    Add(Term, Var),
    Rows(RowsAfterLoop),
    /// A branch that defines this variable, with the steps in its arms.
    Either(Var, Vec<BackStep>, Vec<BackStep>),
}

/// All variables that a block binds, including nested blocks.
pub(super) fn bound(b: &Block) -> HashSet<Var> {
    fn visit(b: &Block, all: &mut HashSet<Var>) {
        all.extend(b.params.iter().chain(&b.lin_params));
        for s in &b.stmts {
            all.extend(s.outs.iter().chain(&s.lin_outs));
            s.op.blocks().into_iter().for_each(|b| visit(b, all));
        }
    }
    let mut all = HashSet::new();
    visit(b, &mut all);
    all
}

/// The number of uses of each variable in a block.
fn counts(b: &Block) -> HashMap<Var, usize> {
    let mut n = HashMap::new();
    super::turns::reads(b, &mut |v| *n.entry(v).or_default() += 1);
    n
}

/// Adds all variables that depend on those in the set.
fn depending(block: &Block, on: &mut HashSet<Var>) {
    for stmt in &block.stmts {
        stmt.op.blocks().into_iter().for_each(|b| depending(b, on));
        let mut hit = false;
        stmt.op.each_operand(&mut |v| hit |= on.contains(&v));
        match &stmt.op {
            Op::If(_, a, b) if !hit => {
                for (o, (x, y)) in stmt.outs.iter().zip(a.results.iter().zip(&b.results)) {
                    if on.contains(x) || on.contains(y) {
                        on.insert(*o);
                    }
                }
            }
            op => {
                hit |= op
                    .blocks()
                    .into_iter()
                    .flat_map(|b| b.results.iter().chain(&b.lin_results))
                    .any(|v| on.contains(v));
                if hit {
                    on.extend(stmt.outs.iter().chain(&stmt.lin_outs));
                }
            }
        }
    }
}

/// A carried value that is being followed.
struct FollowedCarry<'a> {
    f: &'a Function,
    groups: &'a HashMap<Var, RowsAfterLoop>,
    counts: HashMap<Var, usize>,
    inside: HashSet<Var>,
    depends: HashSet<Var>,
}

/// The steps from the result of carried value `k` to its parameter, last step first. `None` unless it is only
/// accumulated to and not otherwise used.
pub(super) fn steps(f: &Function, l: &Loop, k: usize, groups: &HashMap<Var, RowsAfterLoop>) -> Option<Vec<BackStep>> {
    let (param, result) = (*l.body.params.get(k + 1)?, *l.body.results.get(k)?);
    if !matches!(f.ty(param).scalar(), Ty::F64 | Ty::F32) || f.linear(param) {
        return None;
    }
    let mut depends = HashSet::from([param]);
    depending(&l.body, &mut depends);
    let back = FollowedCarry { f, groups, counts: counts(&l.body), inside: bound(&l.body), depends };
    let (steps, base, reads) = back.from(&l.body, result)?;
    (base == param && back.counts.get(&param) == Some(&reads)).then_some(steps)
}

impl FollowedCarry<'_> {
    fn outside(&self, v: Var) -> bool {
        !self.inside.contains(&v)
    }

    /// The steps from a variable back to one that the block does not define. Also returns that variable, and how often
    /// the steps read it.
    fn from(&self, b: &Block, mut at: Var) -> Option<(Vec<BackStep>, Var, usize)> {
        let (mut steps, mut reads) = (Vec::new(), 1);
        loop {
            let made = b.stmts.iter().find(|s| s.outs.contains(&at));
            let Some(s) = made else { return Some((steps, at, reads)) };
            if self.counts.get(&at) != Some(&reads) || !s.lin_outs.is_empty() {
                return None;
            }
            let (step, next, by) = self.step(s, at)?;
            steps.push(step);
            (at, reads) = (next, by);
        }
    }

    fn step(&self, stmt: &Stmt, at: Var) -> Option<(BackStep, Var, usize)> {
        if let Some(g) = self.groups.get(&at) {
            let (_, extents) = g.term.rows.as_ref()?;
            let fine = extents.iter().chain(&g.term.shape).all(|v| self.outside(*v));
            return fine.then(|| (BackStep::Rows(g.clone()), g.acc, 1));
        }
        let rank = |v: Var| self.f.ty(v).rank() as usize;
        let term = |keys: &[Var], v: Var, shape| Term { keys: keys.to_vec(), v, shape, rows: None, taken: None };
        match &stmt.op {
            Op::Bin(Bin::Add, a, b)
                if self.f.ty(*a) == self.f.ty(*b) && self.depends.contains(a) != self.depends.contains(b) =>
            {
                let (next, v) = if self.depends.contains(a) { (*a, *b) } else { (*b, *a) };
                Some((BackStep::Add(term(&[], v, None), at), next, 1))
            }
            Op::IndexAdd { acc, at: keys, v, shape } => {
                let fine = shape.is_none_or(|s| self.outside(s))
                    && rank(*v) + keys.len() == rank(*acc)
                    && keys.iter().chain([v]).all(|x| !self.depends.contains(x));
                fine.then(|| (BackStep::Add(term(keys, *v, *shape), at), *acc, 1))
            }
            Op::If(_, a, b) => {
                let k = stmt.outs.iter().position(|o| *o == at)?;
                let (x, base, n) = self.from(a, *a.results.get(k)?)?;
                let (y, other, m) = self.from(b, *b.results.get(k)?)?;
                (base == other).then_some((BackStep::Either(at, x, y), base, n + m))
            }
            _ => None,
        }
    }
}

/// Removes steps from a block. Returns the terms, as variables of the block. `inside`: the variables bound in the loop,
/// which are extended.
pub(super) fn lifted(
    func: &mut Function,
    block: &mut Block,
    steps: Vec<BackStep>,
    inside: &mut HashSet<Var>,
) -> Vec<Term> {
    let mut terms = Vec::new();
    for step in steps {
        match step {
            BackStep::Add(t, made) => {
                block.stmts.retain(|s| s.outs != [made]);
                terms.push(t);
            }
            BackStep::Rows(g) => {
                block.stmts.retain(|s| s.outs.is_empty() || !s.outs.iter().all(|v| g.made.contains(v)));
                terms.push(g.term);
            }
            BackStep::Either(made, x, y) => {
                let Some(s) = block.stmts.iter_mut().find(|s| s.outs.contains(&made)) else { continue };
                let Some(k) = s.outs.iter().position(|o| *o == made) else { continue };
                let Op::If(_, a, b) = &mut s.op else { continue };
                s.outs.remove(k);
                a.results.remove(k);
                b.results.remove(k);
                let (x, y) = (lifted(func, a, x, inside), lifted(func, b, y, inside));
                let mut arms = ExtendedArms { f: func, a, b, outs: &mut s.outs, inside };
                terms.extend(arms.joined(x, y));
            }
        }
    }
    terms
}

/// A branch whose results are extended with the terms of its arms.
struct ExtendedArms<'a> {
    f: &'a mut Function,
    a: &'a mut Block,
    b: &'a mut Block,
    outs: &'a mut Vec<Var>,
    inside: &'a mut HashSet<Var>,
}

impl ExtendedArms<'_> {
    /// The terms of both arms, as results of the branch. Compatible terms of both arms share one result.
    fn joined(&mut self, x: Vec<Term>, mut others: Vec<Term>) -> Vec<Term> {
        let mut terms = Vec::new();
        for t in x {
            let alike = |u: &Term| {
                t.rows.is_none()
                    && u.rows.is_none()
                    && u.shape == t.shape
                    && u.keys.len() == t.keys.len()
                    && self.f.ty(u.v) == self.f.ty(t.v)
            };
            let partner = others.iter().position(alike).map(|k| others.remove(k));
            terms.push(self.term(Some(t), partner));
        }
        for t in others {
            terms.push(self.term(None, Some(t)));
        }
        terms
    }

    fn term(&mut self, x: Option<Term>, y: Option<Term>) -> Term {
        // At least one of the two exists.
        let Some(one) = x.as_ref().or(y.as_ref()).cloned() else {
            return Term { keys: Vec::new(), v: Var(0), shape: None, rows: None, taken: None };
        };
        let (left, right) = (x.as_ref(), y.as_ref());
        let value = self.put([left.map(|t| t.v), right.map(|t| t.v)], self.f.ty(one.v).clone(), &|f, to, ty| {
            push(f, to, Op::Zero(ty.clone()), ty)
        });
        let fixed = |t: Option<&Term>| {
            t.is_none_or(|t| t.rows.is_none() && t.keys == one.keys && t.keys.iter().all(|k| !self.inside.contains(k)))
        };
        if one.keys.is_empty() || fixed(left) && fixed(right) {
            return Term { v: value, taken: None, ..one };
        }
        let none = |f: &mut Function, to: &mut Vec<Stmt>, ty: Ty| {
            let none = push(f, to, Op::Lit(Lit::I64(-1)), Ty::I64);
            match &one.rows {
                Some((_, extents)) => {
                    let shape = push(f, to, Op::ArrayLit { elems: extents.clone(), shape: None }, Ty::shape());
                    push(f, to, Op::Broadcast { a: none, shape }, ty)
                }
                None => none,
            }
        };
        let keys = (0..one.keys.len())
            .map(|k| {
                self.put([left.map(|t| t.keys[k]), right.map(|t| t.keys[k])], self.f.ty(one.keys[k]).clone(), &none)
            })
            .collect();
        let taken = if one.rows.is_some() { None } else { Some(self.taken(left, right)) };
        Term { keys, v: value, shape: one.shape, rows: one.rows.clone(), taken }
    }

    /// The variable that says whether a term is added.
    fn taken(&mut self, p: Option<&Term>, q: Option<&Term>) -> Var {
        let mut known = |t: Option<&Term>, first: bool| {
            let to = if first { &mut self.a.stmts } else { &mut self.b.stmts };
            match t.and_then(|t| t.taken) {
                Some(v) => v,
                None => push(self.f, to, Op::Lit(Lit::Bool(t.is_some())), Ty::Bool),
            }
        };
        let both = [Some(known(p, true)), Some(known(q, false))];
        self.put(both, Ty::Bool, &|_, _, _| Var(0))
    }

    /// Adds a result to both arms; an arm without one gets the result of `filler`.
    fn put(&mut self, of: [Option<Var>; 2], ty: Ty, filler: &dyn Fn(&mut Function, &mut Vec<Stmt>, Ty) -> Var) -> Var {
        let [x, y] = of;
        let x = x.unwrap_or_else(|| filler(self.f, &mut self.a.stmts, ty.clone()));
        let y = y.unwrap_or_else(|| filler(self.f, &mut self.b.stmts, ty.clone()));
        self.a.results.push(x);
        self.b.results.push(y);
        let made = self.f.fresh(ty, false);
        self.inside.insert(made);
        self.outs.push(made);
        made
    }
}

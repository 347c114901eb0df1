//! The interior of a loop: where each condition on the index is known.

use adl_ir::{Block, Cmp, Conv, Function, Lit, Op, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use std::collections::{HashMap, HashSet};

/// An affine function of the loop's index: a sum of loop-invariant variables, a constant, and a multiple of the index.
#[derive(Clone, Default)]
pub(super) struct AffineInIndex {
    pub index: i64,
    /// The variables, with whether they are subtracted.
    pub terms: Vec<(bool, Var)>,
    pub number: i64,
}

impl AffineInIndex {
    fn constant(number: i64) -> AffineInIndex {
        AffineInIndex { number, ..AffineInIndex::default() }
    }

    /// This function plus or minus another one. `None` on overflow.
    fn plus(&self, other: &AffineInIndex, minus: bool) -> Option<AffineInIndex> {
        let sign = if minus { -1 } else { 1 };
        let mut terms = self.terms.clone();
        for (m, v) in &other.terms {
            match terms.iter().position(|t| *t == (*m == minus, *v)) {
                Some(opposite) => _ = terms.remove(opposite),
                None => terms.push((*m != minus, *v)),
            }
        }
        let number = other.number.checked_mul(sign).and_then(|n| self.number.checked_add(n))?;
        Some(AffineInIndex { index: self.index + sign * other.index, terms, number })
    }

    /// The negative of this function, minus `number`.
    pub fn negated(&self, number: i64) -> Option<AffineInIndex> {
        AffineInIndex::constant(number.checked_neg()?).plus(self, true)
    }

    /// The number that this function is, if it is one.
    fn as_number(&self) -> Option<i64> {
        (self.index == 0 && self.terms.is_empty()).then_some(self.number)
    }

    /// How often a variable is added.
    fn times(&self, v: Var) -> i64 {
        self.terms.iter().filter(|(_, t)| *t == v).map(|(minus, _)| if *minus { -1 } else { 1 }).sum()
    }
}

/// A condition on the index.
#[derive(Clone)]
enum Test {
    /// A function is at least 0.
    Least(AffineInIndex),
    /// A function is 0.
    Zero(AffineInIndex),
    /// A variable from outside of the loop.
    Invariant(Var),
    Not(Box<Test>),
    Both(Box<[Test; 2]>),
    Either(Box<[Test; 2]>),
}

impl Test {
    fn not(self) -> Test {
        Test::Not(Box::new(self))
    }
}

/// What holds in the interior.
#[derive(Clone)]
pub(super) enum InteriorFact {
    /// A function is at least 0.
    Least(AffineInIndex),
    /// A function is not 0.
    NonZero(AffineInIndex),
    /// A variable from outside of the loop is this.
    Invariant(Var, bool),
}

impl InteriorFact {
    /// Whether it depends on the index.
    pub fn depends(&self) -> bool {
        matches!(self, InteriorFact::Least(a) | InteriorFact::NonZero(a) if a.index != 0)
    }
}

/// The interior: where each branch takes one arm, and minima, maxima and remainders are one function of the index.
#[derive(Default)]
pub(super) struct Interior {
    pub bounds: Vec<InteriorFact>,
    /// What the conditions of branches are in it.
    pub known: HashMap<Var, bool>,
    /// Minima, maxima and remainders, with the operand that they are in it.
    pub chosen: HashMap<Var, Var>,
    /// Remainders that are their dividend plus or minus the divisor in it.
    pub wrapped: HashMap<Var, Bin>,
    /// Sums, differences, minima and maxima that are numbers in it.
    pub numbers: HashMap<Var, i64>,
}

impl Interior {
    /// Whether a test for equality decides where it is.
    pub fn has_equalities(&self) -> bool {
        self.bounds.iter().any(|bound| matches!(bound, InteriorFact::NonZero(_)))
    }
}

/// The Ints and Bools of a function that are literals.
#[derive(Default)]
pub(super) struct Literals {
    ints: HashMap<Var, i64>,
    bools: HashMap<Var, bool>,
}

impl Literals {
    pub fn of(b: &Block) -> Literals {
        let mut all = Literals::default();
        all.add(b);
        all
    }

    /// The value of an Int that is a literal.
    pub fn int(&self, v: Var) -> Option<i64> {
        self.ints.get(&v).copied()
    }

    fn add(&mut self, b: &Block) {
        for s in &b.stmts {
            match (&s.op, &s.outs[..]) {
                (Op::Lit(Lit::I64(n)), [v]) => _ = self.ints.insert(*v, *n),
                (Op::Lit(Lit::Bool(b)), [v]) => _ = self.bools.insert(*v, *b),
                (op, _) => op.blocks().into_iter().for_each(|b| self.add(b)),
            }
        }
    }
}

/// Finds the interior of a loop.
pub(super) struct InteriorAnalysis<'a> {
    f: &'a Function,
    index: Var,
    trip: Var,
    literals: &'a Literals,
    /// Ints of the loop's body that are affine functions of the index.
    ints: HashMap<Var, AffineInIndex>,
    /// Conditions in the loop's body.
    tests: HashMap<Var, Test>,
    /// Variables bound in the body.
    inside: HashSet<Var>,
    /// Variables on which the trip counts of inner loops depend, or numbers.
    trips: HashSet<Var>,
    interior: Interior,
}

impl InteriorAnalysis<'_> {
    /// The interior of a loop over `trip` iterations. `inside`: what its body binds.
    pub fn of(
        f: &Function,
        literals: &Literals,
        (index, trip): (Var, Var),
        body: &Block,
        inside: Vec<Var>,
    ) -> Interior {
        let mut analysis = InteriorAnalysis {
            f,
            index,
            trip,
            literals,
            ints: HashMap::new(),
            tests: HashMap::new(),
            inside: inside.into_iter().collect(),
            trips: trips(body),
            interior: Interior::default(),
        };
        analysis.block(body);
        analysis.interior
    }

    fn affine(&self, v: Var) -> Option<AffineInIndex> {
        if v == self.index {
            return Some(AffineInIndex { index: 1, ..AffineInIndex::default() });
        }
        match (self.literals.ints.get(&v), self.ints.get(&v)) {
            (Some(n), _) => Some(AffineInIndex::constant(*n)),
            (None, Some(a)) => Some(a.clone()),
            (None, None) if self.inside.contains(&v) => None,
            (None, None) => Some(AffineInIndex { terms: vec![(false, v)], ..AffineInIndex::default() }),
        }
    }

    fn test(&self, v: Var) -> Option<Test> {
        match self.tests.get(&v) {
            Some(t) => Some(t.clone()),
            None if self.inside.contains(&v) => None,
            None => Some(Test::Invariant(v)),
        }
    }

    fn block(&mut self, b: &Block) {
        for s in &b.stmts {
            match (&s.op, &s.outs[..]) {
                (Op::Loop(l), _) => self.block(&l.body),
                (Op::Bin(op @ (Bin::Min | Bin::Max), x, y), [v]) if *self.f.ty(*v) == Ty::I64 => {
                    self.extremum(*v, *op, *x, *y);
                }
                (Op::Bin(Bin::Rem, x, m), [v]) if *self.f.ty(*v) == Ty::I64 => _ = self.remainder(*v, *x, *m),
                _ if self.condition(s) => {}
                (Op::If(c, yes, no), _) => match self.branch(*c) {
                    Some(true) => self.block(yes),
                    Some(false) => self.block(no),
                    None => {}
                },
                _ => {}
            }
        }
    }

    /// What the condition of a branch is in the interior.
    fn branch(&mut self, c: Var) -> Option<bool> {
        if let Some(known) = self.interior.known.get(&c) {
            return Some(*known);
        }
        let (known, bounds) = self.decide(&self.test(c)?, true)?;
        self.interior.bounds.extend(bounds);
        self.interior.known.insert(c, known);
        Some(known)
    }

    /// Records a condition, or an Int that is an affine function. Returns whether the statement is of this kind.
    fn condition(&mut self, s: &Stmt) -> bool {
        let [var] = s.outs[..] else { return false };
        let test = match &s.op {
            Op::Lit(Lit::I64(_) | Lit::Bool(_)) => return true,
            Op::Bin(op @ (Bin::Add | Bin::Sub), x, y) if *self.f.ty(var) == Ty::I64 => {
                let sum = self.affine(*x).zip(self.affine(*y)).and_then(|(x, y)| x.plus(&y, *op == Bin::Sub));
                if let Some(sum) = sum {
                    self.is(var, sum);
                }
                return true;
            }
            Op::Cmp(c, x, y) if *self.f.ty(*x) == Ty::I64 => self.compare(*c, *x, *y),
            Op::Not(x) => self.test(*x).map(Test::not),
            Op::If(c, yes, no) if *self.f.ty(var) == Ty::Bool => self.connective(*c, yes, no),
            _ => None,
        };
        let found = test.is_some();
        self.tests.extend(test.map(|test| (var, test)));
        found
    }

    /// A branch with a literal in one arm: a conjunction or a disjunction.
    fn connective(&mut self, predicate: Var, yes: &Block, no: &Block) -> Option<Test> {
        for s in yes.stmts.iter().chain(&no.stmts) {
            if !self.condition(s) {
                return None;
            }
        }
        let (yes, no) = (yes.results[0], no.results[0]);
        let c = self.test(predicate)?;
        Some(match (self.literals.bools.get(&yes), self.literals.bools.get(&no)) {
            (Some(true), _) => Test::Either(Box::new([c, self.test(no)?])),
            (Some(false), _) => Test::Both(Box::new([c.not(), self.test(no)?])),
            (_, Some(false)) => Test::Both(Box::new([c, self.test(yes)?])),
            (_, Some(true)) => Test::Either(Box::new([c.not(), self.test(yes)?])),
            (None, None) => return None,
        })
    }

    /// A comparison of Ints.
    fn compare(&self, c: Cmp, x: Var, y: Var) -> Option<Test> {
        let (x, y) = (self.affine(x)?, self.affine(y)?);
        let one = AffineInIndex::constant(1);
        Some(match c {
            Cmp::Ge => Test::Least(x.plus(&y, true)?),
            Cmp::Le => Test::Least(y.plus(&x, true)?),
            Cmp::Gt => Test::Least(x.plus(&y, true)?.plus(&one, true)?),
            Cmp::Lt => Test::Least(y.plus(&x, true)?.plus(&one, true)?),
            Cmp::Eq => Test::Zero(x.plus(&y, true)?),
            Cmp::Ne => Test::Zero(x.plus(&y, true)?).not(),
        })
    }

    /// Chooses what a test is in the interior, and what must hold for that. `preferred`: the choice if nothing is known.
    fn decide(&self, test: &Test, preferred: bool) -> Option<(bool, Vec<InteriorFact>)> {
        match test {
            Test::Least(a) if a.index.abs() > 1 => None,
            Test::Least(a) if self.likely(a).unwrap_or(preferred) => Some((true, vec![InteriorFact::Least(a.clone())])),
            Test::Least(a) => Some((false, vec![InteriorFact::Least(a.negated(1)?)])),
            Test::Zero(a) if a.index.abs() > 1 => None,
            Test::Zero(a) => Some((false, vec![InteriorFact::NonZero(a.clone())])),
            Test::Invariant(v) => Some((preferred, vec![InteriorFact::Invariant(*v, preferred)])),
            Test::Not(t) => self.decide(t, !preferred).map(|(known, bounds)| (!known, bounds)),
            Test::Both(all) => self.connected(all, true),
            Test::Either(all) => self.connected(all, false),
        }
    }

    /// A conjunction, where `neutral` is true, or a disjunction. One side decides it if it is the opposite of `neutral`.
    fn connected(&self, [a, b]: &[Test; 2], neutral: bool) -> Option<(bool, Vec<InteriorFact>)> {
        let (first, mut bounds) = self.decide(a, neutral)?;
        if first != neutral {
            return Some((first, bounds));
        }
        let (second, others) = self.decide(b, neutral)?;
        if second != neutral {
            return Some((second, others));
        }
        bounds.extend(others);
        Some((neutral, bounds))
    }

    /// Whether a function is at least 0 in the middle of the loop, if that is known.
    fn likely(&self, a: &AffineInIndex) -> Option<bool> {
        // In halves of the trip count.
        let halves = a.index + 2 * a.times(self.trip);
        if a.terms.iter().any(|(_, v)| *v != self.trip) {
            return None;
        }
        match self.literals.ints.get(&self.trip) {
            Some(n) => Some(a.index.checked_mul(*n)?.checked_add(a.number.checked_mul(2)?)? >= 0),
            None if halves != 0 => Some(halves > 0),
            None => Some(a.number >= 0),
        }
    }

    /// Records what an Int is in the interior.
    fn is(&mut self, v: Var, a: AffineInIndex) {
        self.interior.numbers.extend(a.as_number().map(|n| (v, n)));
        self.ints.insert(v, a);
    }

    /// Chooses the operand that a minimum or maximum is in the interior: the one that it is in the middle of the loop, if
    /// that is known.
    fn extremum(&mut self, var: Var, op: Bin, x: Var, y: Var) {
        let Some((a, b)) = self.affine(x).zip(self.affine(y)) else { return };
        let Some(least) = (if op == Bin::Min { b.plus(&a, true) } else { a.plus(&b, true) }) else { return };
        let first = match (least.as_number(), a.index, b.index) {
            (Some(n), ..) => n >= 0,
            (None, ..) if least.index.abs() != 1 => return,
            (None, 1 | -1, 0) => self.likely(&least).unwrap_or(!self.trips.contains(&var)),
            (None, 0, 1 | -1) => self.likely(&least).unwrap_or(self.trips.contains(&var)),
            _ => return,
        };
        let (chosen, it) = if first { (x, a) } else { (y, b) };
        let least = if first { Some(least) } else { least.negated(0) };
        if let Some(least) = least {
            self.interior.bounds.extend(least.as_number().is_none().then_some(InteriorFact::Least(least)));
            self.interior.chosen.insert(var, chosen);
            self.is(var, it);
        }
    }

    /// Finds the quotient in the interior, which is -1, 0 or 1.
    fn remainder(&mut self, var: Var, operand: Var, modulus: Var) -> Option<()> {
        let (dividend, divisor) = (self.affine(operand)?, self.affine(modulus)?);
        if dividend.index.abs() != 1 || divisor.index != 0 {
            return None;
        }
        let trip = self.literals.ints.get(&self.trip);
        let quotient = match self.literals.ints.get(&modulus) {
            Some(m) if *m > 0 && dividend.terms.is_empty() => {
                let n = trip.filter(|n| **n / 2 <= *m)?;
                (dividend.index * (n / 2) + dividend.number).div_euclid(*m)
            }
            Some(m) => {
                if trip.is_some_and(|n| *n == *m) {
                    i64::from(dividend.index > 0) - 1
                } else {
                    return None;
                }
            }
            None => dividend.times(modulus) + i64::from(dividend.index > 0) - 1,
        };
        let rest = match quotient {
            0 => dividend,
            1 => dividend.plus(&divisor, true)?,
            -1 => dividend.plus(&divisor, false)?,
            _ => return None,
        };
        let below = divisor.plus(&rest, true)?.plus(&AffineInIndex::constant(1), true)?;
        self.interior.bounds.extend([InteriorFact::Least(rest.clone()), InteriorFact::Least(below)]);
        match quotient {
            0 => _ = self.interior.chosen.insert(var, operand),
            _ => _ = self.interior.wrapped.insert(var, if quotient > 0 { Bin::Sub } else { Bin::Add }),
        }
        self.ints.insert(var, rest);
        Some(())
    }
}

/// The variables of a block on which the trip counts of loops in it depend, or numbers, as the number of equal terms of a
/// sum over a band.
fn trips(b: &Block) -> HashSet<Var> {
    let mut out = HashSet::new();
    trips_of(b, &mut out);
    out
}

fn trips_of(b: &Block, out: &mut HashSet<Var>) {
    for s in b.stmts.iter().rev() {
        s.op.blocks().into_iter().for_each(|inner| trips_of(inner, out));
        match &s.op {
            Op::Loop(l) => _ = if let Trip::Count(n) = l.trip { out.insert(n) } else { false },
            Op::Convert(Conv::ToF64, n) => _ = out.insert(*n),
            op if s.outs.iter().any(|v| out.contains(v)) => op.each_operand(&mut |v| _ = out.insert(v)),
            _ => {}
        }
    }
}

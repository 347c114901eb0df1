//! How much work a call will be, roughly and before it runs: statements times turns. It decides what is compiled.
//!
//! Operations on large arrays, and loops that become chains of such ([`super::strips`]), do not count: compiling them gains nothing. In functions that are
//! nothing but arithmetic on large arrays ([`adl_opt::pointwise`]) they count a little: as native code they read and write memory alone. Operations on arrays
//! that are known to be short ([`sizes`]), as rows of a large one are, count like any other: what they take is mostly being interpreted.

mod sizes;
pub(crate) mod volume;

use super::native::Source;
use super::strips;
use crate::value::{Value, seq};
use adl_ir::{Block, FnId, Function, Loop, Op, Stmt, Turns, Var};
use sizes::Sizes;
use std::cell::RefCell;
use std::collections::HashMap;

/// Turns that are guessed where nothing tells them, and no argument is longer.
const TURNS: u64 = 64;

/// Statements that may be interpreted in the time that compiling one takes.
const RATIO: u64 = 150;

/// Elements of large arrays of which native code does arithmetic faster by as much as a statement takes, seen that code that does several turns at once
/// takes long to compile.
const ELEMENTS: u64 = 512;

/// What compiling anything takes, in statements.
const LEAST: u64 = 4000;

/// Statements of functions that are looked at to find out how large a function with all it calls is.
const MOST: usize = 100_000;

/// The work from which on a function is worth compiling: grows with its size and that of what it calls.
pub(crate) fn worth(source: &Source, f: &Function) -> u64 {
    let mut size = 0;
    let mut seen = std::collections::HashSet::new();
    let mut todo: Vec<&Block> = vec![&f.body];
    while let Some(b) = todo.pop() {
        size += b.stmts.len();
        if size > MOST {
            break;
        }
        for s in &b.stmts {
            todo.extend(s.op.blocks());
            if let Op::Call { f, .. } = &s.op {
                if seen.insert(*f) {
                    todo.extend(source.func(*f).map(|g| &g.body));
                }
            }
        }
    }
    LEAST + RATIO * size as u64
}

/// Statements that a call runs, calls inside counted as one turn of what they call. `chains`: whether arithmetic on large arrays counts.
pub(crate) fn of_call(source: &Source, f: &Function, chains: bool, args: &mut dyn Iterator<Item = &Value>) -> u64 {
    let known = RefCell::default();
    let mut e = Estimate { source, f, known: &known, sizes: Sizes::default(), chains, depth: 0, longest: TURNS, large: false };
    for (v, x) in f.body.params.iter().chain(&f.body.lin_params).zip(args) {
        match x {
            Value::Int(n) => e.sizes.set_int(*v, *n),
            x => {
                if let Some(s) = seq::shape(x) {
                    e.large |= s.iter().product::<usize>() >= strips::LARGE;
                    e.longest = e.longest.max(s.first().map_or(0, |n| *n as u64));
                    e.sizes.set_shape(*v, s.iter().map(|n| Some(*n as i64)).collect());
                }
            }
        }
    }
    e.block(&f.body)
}

struct Estimate<'a> {
    source: &'a Source,
    f: &'a Function,
    /// What was found of functions that are called, by how deep: a function that is called from many places is looked into once.
    known: &'a RefCell<HashMap<(FnId, u32), u64>>,
    sizes: Sizes,
    /// Whether arithmetic on large arrays counts.
    chains: bool,
    /// Calls around.
    depth: u32,
    /// How many elements an array has of which nothing else is known.
    longest: u64,
    /// Whether an argument is a large array.
    large: bool,
}

impl Estimate<'_> {
    fn block(&mut self, b: &Block) -> u64 {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || b.stmts.iter().fold(0u64, |n, s| n.saturating_add(self.stmt(s))))
    }

    fn stmt(&mut self, s: &Stmt) -> u64 {
        self.sizes.learn(self.f, s);
        match &s.op {
            Op::Loop(l) if self.turns(l) >= strips::LARGE as u64 && strips::suits(self.f, l) => {
                if self.chains { self.turns(l).saturating_mul(l.body.stmts.len() as u64) / ELEMENTS } else { 1 }
            }
            _ if self.large && strips::on_arrays(self.f, s) && !self.sizes.small(self.f, s) => 0,
            Op::Loop(l) => {
                self.sizes.enter(l);
                let turn = self.block(&l.body);
                self.sizes.leave(l, s, self.known_turns(l));
                self.turns(l).saturating_mul(turn).saturating_add(1)
            }
            Op::Soac(x) => {
                self.sizes.operator(x);
                let step = self.block(&x.op);
                self.sizes.reduced(x, s);
                self.extent(x.arrays.first()).saturating_mul(step).saturating_add(1)
            }
            Op::ReduceByIndex { op, keys, .. } => self.extent(Some(keys)).saturating_mul(self.block(op)).saturating_add(1),
            Op::Call { f, .. } => self.call(*f),
            op => op.blocks().into_iter().map(|b| self.block(b)).max().unwrap_or(0).saturating_add(1),
        }
    }

    /// A few levels of calls are looked into, so that recursion ends.
    fn call(&mut self, f: FnId) -> u64 {
        let Some(g) = self.source.func(f).filter(|_| self.depth < 3) else { return 1 };
        let key = (f, self.depth);
        if let Some(work) = self.known.borrow().get(&key) {
            return *work;
        }
        let mut inner = Estimate { source: self.source, f: g, known: self.known, sizes: Sizes::default(), chains: false, depth: self.depth + 1, longest: self.longest, large: self.large };
        let work = inner.block(&g.body).saturating_add(1);
        self.known.borrow_mut().insert(key, work);
        work
    }

    fn turns(&self, l: &Loop) -> u64 {
        match &l.turns {
            Turns::For(_) => self.known_turns(l).map_or(self.longest, |n| u64::try_from(n).unwrap_or(0)),
            Turns::While(_) => TURNS * TURNS,
        }
    }

    fn known_turns(&self, l: &Loop) -> Option<i64> {
        match &l.turns {
            Turns::For(n) => self.sizes.int(*n),
            Turns::While(_) => None,
        }
    }

    fn extent(&self, a: Option<&Var>) -> u64 {
        a.and_then(|a| self.sizes.len(*a)).map_or(self.longest, |n| u64::try_from(n).unwrap_or(0))
    }
}

//! Cost model for compilation: a rough estimate of the work of a call before it runs, as statements times trip
//! counts. It decides what is compiled.
//!
//! Operations on large arrays, and loops that become chains of them ([`super::fuse_elementwise`]), do not count, because
//! compiling them gains nothing. If a function is nothing but arithmetic on large arrays
//! ([`adl_opt::pointwise`]), they count a little, because native code avoids the traffic of intermediate
//! arrays. Operations on arrays that are known to be short ([`known_sizes`]), such as rows of a large array, count
//! like scalar ones: most of their time is interpretation overhead.

pub(crate) mod device_cost;
mod known_sizes;

use super::fuse_elementwise;
use super::lowered_ir::LoweredIr;
use crate::limits::ir_cost_model::{ELEMENTS, ITERATIONS, LEAST, MOST, RATIO};
use crate::value::{Value, seq};
use adl_ir::{Block, FnId, Function, Loop, Op, Stmt, Trip, Var};
use known_sizes::{KnownExtents, Sizes};
use std::cell::RefCell;
use std::collections::HashMap;

/// The work from which compiling a function pays off: it grows with the size of the function and its callees.
pub(crate) fn compile_threshold(source: &LoweredIr, function: &Function) -> u64 {
    let mut size = 0;
    let mut seen = std::collections::HashSet::new();
    let mut todo: Vec<&Block> = vec![&function.body];
    while let Some(b) = todo.pop() {
        size += b.stmts.len();
        if size > MOST {
            break;
        }
        for s in &b.stmts {
            todo.extend(s.op.blocks());
            if let Op::Call { f, .. } = &s.op
                && seen.insert(*f)
            {
                todo.extend(source.func(*f).map(|g| &g.body));
            }
        }
    }
    LEAST + RATIO * size as u64
}

/// Estimated number of statements that a call runs. `chains` says whether arithmetic on large arrays counts.
pub(crate) fn estimate_call(
    source: &LoweredIr,
    func: &Function,
    chains: bool,
    args: &mut dyn Iterator<Item = &Value>,
) -> u64 {
    let known = RefCell::default();
    let mut estimate = Estimate {
        source,
        f: func,
        known: &known,
        sizes: Sizes::default(),
        chains,
        depth: 0,
        longest: ITERATIONS,
        large: false,
    };
    for (v, x) in func.body.params.iter().chain(&func.body.lin_params).zip(args) {
        match x {
            Value::Int(n) => estimate.sizes.set_int(*v, *n),
            x => {
                if func.ty(*v).is_flat() {
                    estimate.sizes.set_shape(*v, KnownExtents::new());
                } else if let Some(s) = seq::shape(x) {
                    estimate.large |= s.iter().product::<usize>() >= fuse_elementwise::LARGE;
                    estimate.longest = estimate.longest.max(s.first().map_or(0, |n| *n as u64));
                    estimate.sizes.set_shape(*v, s.iter().map(|n| Some(*n as i64)).collect());
                }
            }
        }
    }
    estimate.block(&func.body)
}

struct Estimate<'a> {
    source: &'a LoweredIr,
    f: &'a Function,
    /// Estimates of callees by depth: a function with many call sites is analysed once.
    known: &'a RefCell<HashMap<(FnId, u32), u64>>,
    sizes: Sizes,
    /// Whether arithmetic on large arrays counts.
    chains: bool,
    /// The depth of calls.
    depth: u32,
    /// Assumed number of elements of an array of unknown size.
    longest: u64,
    /// Whether an argument is a large array.
    large: bool,
}

impl Estimate<'_> {
    fn block(&mut self, b: &Block) -> u64 {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || b.stmts.iter().fold(0u64, |n, s| n.saturating_add(self.stmt(s))))
    }

    fn stmt(&mut self, stmt: &Stmt) -> u64 {
        self.sizes.learn(self.f, stmt);
        match &stmt.op {
            Op::Loop(l) if self.trip(l) >= fuse_elementwise::LARGE as u64 && fuse_elementwise::suits(self.f, l) => {
                if self.chains {
                    self.trip(l).saturating_mul(l.body.stmts.len() as u64) / ELEMENTS
                } else {
                    1
                }
            }
            _ if self.large && fuse_elementwise::on_arrays(self.f, stmt) && !self.sizes.small(self.f, stmt) => 0,
            Op::Loop(l) => {
                self.sizes.enter(l);
                let iteration = self.block(&l.body);
                self.sizes.leave(l, stmt, self.known_trip(l));
                self.trip(l).saturating_mul(iteration).saturating_add(1)
            }
            Op::Soac(x) => {
                self.sizes.operator(x);
                let step = self.block(&x.op);
                self.sizes.reduced(x, stmt);
                self.extent(x.arrays.first()).saturating_mul(step).saturating_add(1)
            }
            Op::ReduceByIndex { dest, op, keys, values, .. } => {
                self.sizes.histogram((dest, values), op, stmt);
                self.extent(Some(keys)).saturating_mul(self.block(op)).saturating_add(1)
            }
            Op::Call { f, .. } => self.call(*f),
            op => op.blocks().into_iter().map(|b| self.block(b)).max().unwrap_or(0).saturating_add(1),
        }
    }

    /// The depth is limited, so that recursion ends.
    fn call(&mut self, f: FnId) -> u64 {
        let Some(callee) = self.source.func(f).filter(|_| self.depth < 3) else { return 1 };
        let key = (f, self.depth);
        if let Some(work) = self.known.borrow().get(&key) {
            return *work;
        }
        let mut inner = Estimate {
            source: self.source,
            f: callee,
            known: self.known,
            sizes: Sizes::default(),
            chains: false,
            depth: self.depth + 1,
            longest: self.longest,
            large: self.large,
        };
        let work = inner.block(&callee.body).saturating_add(1);
        self.known.borrow_mut().insert(key, work);
        work
    }

    fn trip(&self, l: &Loop) -> u64 {
        match &l.trip {
            Trip::Count(_) => self.known_trip(l).map_or(self.longest, |n| u64::try_from(n).unwrap_or(0)),
            Trip::While(_) => ITERATIONS * ITERATIONS,
        }
    }

    fn known_trip(&self, l: &Loop) -> Option<i64> {
        match &l.trip {
            Trip::Count(n) => self.sizes.int(*n),
            Trip::While(_) => None,
        }
    }

    fn extent(&self, a: Option<&Var>) -> u64 {
        a.and_then(|a| self.sizes.len(*a)).map_or(self.longest, |n| u64::try_from(n).unwrap_or(0))
    }
}

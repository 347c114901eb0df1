//! Cost model for devices: a rough estimate, before a call runs, of its data-parallel operations and of the
//! number of kernels. Operations on large arrays, which the parent module counts as free, are all that counts
//! here.

use super::known_sizes::Sizes;
use crate::ir::lowered_ir::LoweredIr;
use crate::limits::ir_cost_model_device_cost::{DEPTH, ITERATIONS, KNOWN};
use crate::value::{Value, seq};
use adl_ir::{Block, FnId, Function, Loop, Op, Stmt, Trip, Ty, Var};
use adl_opt::device::recurrence;
use adl_prim::{Prim, ReductionFn};
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// Key of an estimate: a function, the depth of the call, and a hash of what is known about its arguments.
type EstimateKey = (FnId, u32, u64);

/// Estimated work for a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Volume {
    /// Number of data-parallel element operations.
    pub wide: u64,
    /// Number of sequential steps, each of which needs at least one kernel.
    pub steps: u64,
}

impl Volume {
    fn and(self, other: Volume) -> Volume {
        Volume { wide: self.wide.saturating_add(other.wide), steps: self.steps.saturating_add(other.steps) }
    }

    fn times(self, n: u64) -> Volume {
        Volume { wide: self.wide.saturating_mul(n), steps: self.steps.saturating_mul(n) }
    }

    fn step(wide: u64) -> Volume {
        Volume { wide, steps: 1 }
    }
}

/// Estimates a call with these arguments, on the IR before the passes for native code.
pub(crate) fn estimate_call<'v>(source: &LoweredIr, func: &Function, args: impl Iterator<Item = &'v Value>) -> Volume {
    let known = RefCell::default();
    let mut estimate = Estimate { source, f: func, known: &known, sizes: Sizes::default(), depth: 0, longest: 1 };
    for (v, x) in func.body.params.iter().chain(&func.body.lin_params).zip(args) {
        match x {
            Value::Int(n) => estimate.sizes.set_int(*v, *n),
            x => {
                if let Some(s) = seq::shape(x) {
                    estimate.longest = estimate.longest.max(s.iter().product::<usize>() as u64);
                    estimate.sizes.set_shape(*v, s.iter().map(|n| Some(*n as i64)).collect());
                }
            }
        }
    }
    estimate.block(&func.body)
}

/// A hash of the sizes on which the estimate of a call depends.
pub(crate) fn key(args: &[Value]) -> u64 {
    let mut h = DefaultHasher::new();
    for v in args {
        match v {
            Value::Int(n) => n.hash(&mut h),
            v => seq::shape(v).map(|s| &s[..]).hash(&mut h),
        }
    }
    h.finish()
}

struct Estimate<'a> {
    source: &'a LoweredIr,
    f: &'a Function,
    /// Estimates of callees and known sizes of their results, by depth and by known argument sizes: a function
    /// with many call sites is analysed once.
    known: &'a RefCell<HashMap<EstimateKey, (Volume, Rc<Sizes>)>>,
    sizes: Sizes,
    /// The depth of calls.
    depth: u32,
    /// Number of elements of the largest argument, assumed for arrays of unknown size.
    longest: u64,
}

impl Estimate<'_> {
    fn block(&mut self, b: &Block) -> Volume {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            b.stmts.iter().fold(Volume::default(), |v, s| v.and(self.stmt(s)))
        })
    }

    fn stmt(&mut self, stmt: &Stmt) -> Volume {
        self.sizes.learn(self.f, stmt);
        match &stmt.op {
            Op::Loop(l) => {
                self.sizes.enter(l);
                let state = (!l.init.is_empty() || !l.lin_init.is_empty() || matches!(l.trip, Trip::While(_)))
                    && !recurrence::at_once(self.f, l);
                let iteration = if state { self.block(&l.body) } else { Volume::step(self.serial(&l.body)) };
                self.sizes.leave(l, stmt, self.known_trip(l));
                let n = self.trip(l);
                if state { iteration.times(n) } else { Volume::step(iteration.wide.saturating_mul(n)) }
            }
            Op::Soac(x) => {
                self.sizes.operator(x);
                let step = self.serial(&x.op).max(1);
                self.sizes.reduced(x, stmt);
                Volume::step(self.extent(x.arrays.first()).saturating_mul(step))
            }
            Op::ReduceByIndex { dest, op, keys, values, .. } => {
                self.sizes.histogram((dest, values), op, stmt);
                Volume::step(self.extent(Some(keys)).saturating_mul(self.serial(op).max(1)))
            }
            Op::Call { f, args, lin_args, .. } => self.call(*f, args.iter().chain(lin_args), stmt),
            op if !op.blocks().is_empty() => {
                op.blocks().into_iter().map(|b| self.block(b)).max_by_key(|v| v.wide).unwrap_or_default()
            }
            _ => self.plain(stmt),
        }
    }

    /// Operations of a block that is run by a single thread.
    fn serial(&mut self, b: &Block) -> u64 {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            b.stmts.iter().fold(0u64, |n, s| n.saturating_add(self.alone(s)))
        })
    }

    fn alone(&mut self, stmt: &Stmt) -> u64 {
        self.sizes.learn(self.f, stmt);
        match &stmt.op {
            Op::Loop(l) => {
                self.sizes.enter(l);
                let iteration = self.serial(&l.body).max(1);
                self.sizes.leave(l, stmt, self.known_trip(l));
                self.trip(l).saturating_mul(iteration)
            }
            Op::Call { f, args, lin_args, .. } => self.call(*f, args.iter().chain(lin_args), stmt).wide.max(1),
            op if !op.blocks().is_empty() => {
                op.blocks().into_iter().map(|b| self.serial(b)).max().unwrap_or(0).saturating_add(1)
            }
            _ => self.plain(stmt).wide.max(1),
        }
    }

    /// An operation without nested blocks: its number of elements.
    fn plain(&self, s: &Stmt) -> Volume {
        let mut elements = None;
        let mut largest = |v: Var| {
            if matches!(self.f.ty(v), Ty::Array(..)) {
                elements = elements.max(Some(self.sizes.count(v).unwrap_or(self.longest)));
            }
        };
        s.op.each_operand(&mut largest);
        s.outs.iter().chain(&s.lin_outs).for_each(|v| largest(*v));
        match (&s.op, elements) {
            (Op::Dim(..) | Op::Shape(_) | Op::Reshape { .. } | Op::Drop(_) | Op::Dup(_), _) | (_, None) => {
                Volume::default()
            }
            (Op::Prim(Prim::Reduction(ReductionFn::MatMul), args), Some(n)) => Volume::step(
                n.saturating_mul(args.get(1).and_then(|b| self.sizes.len(*b)).map_or(1, |k| k.max(1) as u64)),
            ),
            (Op::Contract { .. }, Some(n)) => Volume::step(n.saturating_mul(8)),
            // Reading or writing an element does not process the array.
            (Op::Index { .. } | Op::IndexAdd { .. } | Op::IndexSet { .. }, Some(_)) => Volume::step(1),
            (_, Some(n)) => Volume::step(n),
        }
    }

    /// A call. The sizes of its arguments are passed to the callee, and those of its results are passed back.
    fn call<'v>(&mut self, function: FnId, args: impl Iterator<Item = &'v Var>, stmt: &Stmt) -> Volume {
        let Some(callee) = self.source.inlined(function).filter(|_| self.depth < DEPTH) else { return Volume::step(1) };
        let mut sizes = Sizes::default();
        if self.known.borrow().len() < KNOWN {
            sizes.given(&self.sizes, args.zip(callee.body.params.iter().chain(&callee.body.lin_params)));
        }
        let results = || callee.body.results.iter().chain(&callee.body.lin_results);
        let key = (function, self.depth, sizes.key());
        let known = self.known.borrow().get(&key).cloned();
        let (volume, made) = known.unwrap_or_else(|| {
            let mut inner = Estimate {
                source: self.source,
                f: &callee,
                known: self.known,
                sizes,
                depth: self.depth + 1,
                longest: self.longest,
            };
            let v = inner.block(&callee.body);
            let mut made = Sizes::default();
            made.given(&inner.sizes, results().zip(results()));
            (v, Rc::new(made))
        });
        self.sizes.given(&made, results().zip(stmt.outs.iter().chain(&stmt.lin_outs)));
        self.known.borrow_mut().insert(key, (volume, made));
        volume
    }

    fn trip(&self, l: &Loop) -> u64 {
        match &l.trip {
            Trip::Count(_) => {
                self.known_trip(l).map_or(self.longest.max(ITERATIONS), |n| u64::try_from(n).unwrap_or(0))
            }
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

//! Random well-typed non-linear programs for property tests (feature `generate`).
//!
//! [`program`] generates a program from a seed and a size. Programs terminate: loops have few iterations, and
//! recursion counts down or follows a short list. They are smooth at their arguments: branches depend on Ints,
//! Bools and data, never on reals; there are no `abs` or `floor`; elements that `min`, `max` and sorting find equal
//! are the same variable, so they are equal everywhere. Values stay bounded: the generator knows a bound of each
//! real variable, and damps what could leave -4 ... 4. It also knows all shapes, so no index is out of bounds.
//!
//! Programs contain: scalar and array arithmetic, indexing and updates, `if`, `switch`, loops that carry, collect,
//! box and sum, `while` loops, reductions, scans, histograms, lists, pairs, boxes and shapes, operators with free
//! variables, arrays of data, sorting, extremes, means, variances, products and traces, calls, and recursion (over
//! lists, counting down, and mutual).
//!
//! Most of what a block computes contributes to its results, so little of a program is dead code.
//!
//! [`rows`] makes what is generated from the table of operations: one small program for each way in which the operation
//! of a row can be applied, and random chains of operations. [`maps`] makes loops over vectors, which fusion is about.
//!
//! The same seed with a smaller size gives a smaller program of the same kind; [`smallest`] searches for the
//! smallest one that fails.

mod arrays;
pub mod choices;
mod control;
mod data;
mod helpers;
pub mod maps;
pub mod rng;
pub mod rows;
mod scalars;

use crate::build::Builder;
use crate::eval::Val;
use crate::func::{FnId, Program, Role, Var};
use crate::op::Op;
use crate::ty::Ty;
use adl_syntax::span::{FileId, Span};
use rng::Rng;
use std::collections::HashSet;

/// A program with suitable arguments.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The verified program.
    pub program: Program,
    /// Its main function. The first result is an f64.
    pub main: FnId,
    /// Arguments.
    pub args: Vec<Val>,
    /// The seed from which it was generated.
    pub seed: u64,
    /// The size from which it was generated.
    pub size: usize,
}

/// Generates a program of about `size` statements.
pub fn program(seed: u64, size: usize) -> Generated {
    let mut generator = ProgramGenerator::new(seed);
    generator.helpers(size);
    let name = format!("random {seed}");
    generator.b = Builder::new(&name);
    let args = generator.main_params();
    (0..size).for_each(|_| generator.step());
    let first = generator.var_of_kind(&VarKind::Real(vec![]));
    let mut results = vec![generator.with_unread(first, 0)];
    for _ in 0..generator.rng.below(3) {
        let known = generator.pick(|k| matches!(k, VarKind::Real(_)) || data::DATA.contains(k));
        results.extend(known.map(|k| k.v));
    }
    let f = std::mem::replace(&mut generator.b, Builder::new("")).finish(results, vec![]);
    let main = generator.program.add(f);
    Generated { program: generator.program, main, args, seed, size }
}

/// The smallest program of a seed, up to a size, for which `fails` holds.
pub fn smallest(seed: u64, size: usize, mut fails: impl FnMut(&Generated) -> bool) -> Option<Generated> {
    (0..=size).map(|n| program(seed, n)).find(|g| fails(g))
}

/// The kind of a variable, as known to the generator.
#[derive(Clone, PartialEq, Debug)]
enum VarKind {
    /// Reals of this shape; an empty shape means a scalar.
    Real(Vec<usize>),
    /// An Int in this range, both ends included.
    Int(i64, i64),
    Bool,
    List,
    Pair,
    /// A box of one real.
    Box,
    /// Data with several constructors.
    Shape,
    /// An array of boxes.
    Boxes(usize),
}

#[derive(Clone, Debug)]
struct ScopedVar {
    v: Var,
    kind: VarKind,
    /// A bound of the magnitude of its reals.
    bound: f64,
}

/// A function that may be called.
#[derive(Clone, Debug)]
struct HelperFn {
    f: FnId,
    params: Vec<VarKind>,
    results: Vec<VarKind>,
}

struct ProgramGenerator {
    rng: Rng,
    program: Program,
    b: Builder,
    /// Variables in scope.
    scope: Vec<ScopedVar>,
    /// Variables that have been used as operands.
    read: HashSet<Var>,
    helpers: Vec<HelperFn>,
    /// The number of enclosing blocks.
    depth: usize,
    types: data::DataTypes,
    places: u32,
}

/// Values of larger magnitude are damped.
const LARGEST: f64 = 4.0;

impl ProgramGenerator {
    fn new(seed: u64) -> ProgramGenerator {
        let mut program = Program::default();
        let types = data::DataTypes::declare(&mut program);
        ProgramGenerator {
            rng: Rng::new(seed),
            program,
            b: Builder::new(""),
            scope: Vec::new(),
            read: HashSet::new(),
            helpers: Vec::new(),
            depth: 0,
            types,
            places: 0,
        }
    }

    fn ty(&self, k: &VarKind) -> Ty {
        match k {
            VarKind::Real(shape) => Ty::F64.array(shape.len() as u32),
            VarKind::Int(..) => Ty::I64,
            VarKind::Bool => Ty::Bool,
            VarKind::List | VarKind::Pair | VarKind::Box | VarKind::Shape => self.types.of(k).map_or(Ty::F64, Ty::Data),
            VarKind::Boxes(_) => self.ty(&VarKind::Box).array(1),
        }
    }

    fn know(&mut self, v: Var, kind: VarKind, bound: f64) -> Var {
        self.scope.push(ScopedVar { v, kind, bound });
        v
    }

    /// Gives the next statement a source location of its own.
    fn place(&mut self) {
        self.places += 4;
        self.b.span = Span { file: FileId(0), lo: self.places, hi: self.places + 3 };
    }

    /// Appends a statement with one result.
    fn one(&mut self, op: Op, kind: VarKind, bound: f64) -> Var {
        self.place();
        let ty = self.ty(&kind);
        let v = self.b.one(op, ty);
        if self.rng.once_in(5) {
            let names = ["x", "y", "total", "a'", "two words"];
            self.b.func.vars[v.0 as usize].name = Some(names[self.rng.below(names.len())].into());
        }
        self.b.func.vars[v.0 as usize].role =
            [Role::Operation, Role::Step, Role::Operation, Role::Derivative, Role::Operation][v.0 as usize % 5];
        self.know(v, kind, bound)
    }

    /// Adds a parameter to the innermost open block.
    fn param(&mut self, kind: VarKind, bound: f64) -> Var {
        let ty = self.ty(&kind);
        let v = self.b.param(ty);
        self.know(v, kind, bound)
    }

    /// A random variable in scope of a suitable kind, with a preference for recent ones.
    fn pick(&mut self, ok: impl Fn(&VarKind) -> bool) -> Option<ScopedVar> {
        let fits: Vec<usize> = (0..self.scope.len()).filter(|i| ok(&self.scope[*i].kind)).collect();
        let skip = self.rng.below(fits.len()).min(self.rng.below(fits.len()));
        let known = fits.len().checked_sub(1 + skip).map(|i| self.scope[fits[i]].clone())?;
        self.read.insert(known.v);
        Some(known)
    }

    /// A variable of exactly this kind, with reals in -1 ... 1; a new one if there is none.
    fn var_of_kind(&mut self, kind: &VarKind) -> Var {
        let found = self.pick(|k| k == kind);
        let known = match found {
            Some(k) => k,
            None => self.make(kind),
        };
        if matches!(kind, VarKind::Real(_)) && known.bound > 1.0 {
            return self.damped(&known);
        }
        known.v
    }

    /// A new variable of this kind.
    fn make(&mut self, kind: &VarKind) -> ScopedVar {
        let var = match kind {
            VarKind::Real(shape) if shape.is_empty() => self.literal(),
            VarKind::Real(shape) => {
                let x = self.scalar();
                let sizes = self.ints(&shape.iter().map(|n| *n as i64).collect::<Vec<_>>());
                self.one(Op::Broadcast { a: x.v, shape: sizes }, kind.clone(), x.bound)
            }
            VarKind::Int(lo, hi) => {
                let n = lo + self.rng.below((hi - lo + 1) as usize) as i64;
                let v = self.b.int(n);
                self.know(v, kind.clone(), 0.0)
            }
            VarKind::Bool => self.condition(),
            VarKind::List | VarKind::Pair | VarKind::Box | VarKind::Shape => self.new_data(kind),
            VarKind::Boxes(n) => {
                let elems = (0..*n).map(|_| self.var_of_kind(&VarKind::Box)).collect();
                self.one(Op::ArrayLit { elems, shape: None }, kind.clone(), LARGEST)
            }
        };
        let bound = self.scope.iter().rev().find(|k| k.v == var).map_or(1.0, |k| k.bound);
        ScopedVar { v: var, kind: kind.clone(), bound }
    }

    /// Adds the parameters of the main function, and returns arguments.
    fn main_params(&mut self) -> Vec<Val> {
        self.scope.clear();
        self.read.clear();
        let (n, m) = (self.rng.between(2, 4), self.rng.between(1, 3));
        let trip = self.rng.below(4) as i64;
        let kinds = [vec![], vec![], vec![n], vec![m, n]].map(VarKind::Real);
        let more = [VarKind::Int(0, 3), VarKind::Bool, VarKind::List, VarKind::Shape, VarKind::Boxes(2)];
        let mut args = Vec::new();
        for kind in kinds.into_iter().chain(more) {
            args.push(self.argument(&kind, trip));
            self.param(kind, 1.5);
        }
        args
    }

    fn argument(&mut self, kind: &VarKind, int: i64) -> Val {
        match kind {
            VarKind::Real(shape) if shape.is_empty() => Val::F64(self.rng.real()),
            VarKind::Real(shape) => {
                let n = shape.iter().product();
                let elems = (0..n).map(|_| Val::F64(self.rng.real())).collect();
                Val::array(shape.clone(), elems)
            }
            VarKind::Int(..) => Val::I64(int),
            VarKind::Bool => Val::Bool(self.rng.once_in(2)),
            VarKind::List => {
                let n = self.rng.below(4);
                (0..n).fold(Val::data(0, vec![]), |l, _| Val::data(data::CONS, vec![Val::F64(self.rng.real()), l]))
            }
            VarKind::Pair | VarKind::Box | VarKind::Shape => self.data_argument(kind),
            VarKind::Boxes(n) => Val::array(vec![*n], (0..*n).map(|_| self.argument(&VarKind::Box, int)).collect()),
        }
    }

    /// Appends one random construct.
    fn step(&mut self) {
        let control = if self.depth < 3 { self.rng.below(20) } else { 0 };
        match control {
            12 => self.if_(),
            13 | 14 => self.loop_(),
            15 => self.while_(),
            16 => self.soac(),
            17 => self.by_index(),
            18 => self.switch(),
            19 => self.call(),
            n if n % 2 == 0 => self.scalar_step(),
            _ => self.array_step(),
        }
    }
}

//! What a function says about its Ints, shapes and arrays.

use crate::fuse;
use adl_ir::{Block, Function, Lit, Loop, Op, Ty, Var};
use adl_prim::Bin;
use std::collections::{HashMap, HashSet};

/// Definitions of a function's Ints and shapes.
#[derive(Default)]
pub(super) struct Ints {
    literals: HashMap<Var, i64>,
    /// Differences of two Ints.
    less: HashMap<Var, (Var, Var)>,
    /// First extents of arrays.
    dims: HashMap<Var, Var>,
    /// Variables that are the shape of an array.
    shapes: HashMap<Var, Var>,
    /// First elements of literal arrays of Ints.
    pub firsts: HashMap<Var, Var>,
    /// Literals and extents, which the host knows.
    host: HashSet<Var>,
}

/// Limit of the bindings of a kernel, fixed so that the result is the same for all devices: some allow only 31.
pub(super) const SEEN: usize = 24;

impl Ints {
    /// The definitions in a block and in the blocks inside it.
    pub fn of(b: &Block) -> Ints {
        let mut all = Ints::default();
        all.learn(b);
        all
    }

    fn learn(&mut self, block: &Block) {
        for s in &block.stmts {
            if matches!(s.op, Op::Lit(_) | Op::Dim(..)) {
                self.host.extend(&s.outs);
            }
            match &s.op {
                Op::Lit(Lit::I64(n)) => _ = self.literals.insert(s.outs[0], *n),
                Op::Bin(Bin::Sub, n, k) => _ = self.less.insert(s.outs[0], (*n, *k)),
                Op::Dim(a, 0) => _ = self.dims.insert(s.outs[0], *a),
                Op::Shape(a) => _ = self.shapes.insert(s.outs[0], *a),
                Op::ArrayLit { elems, .. } => self.firsts.extend(elems.first().map(|n| (s.outs[0], *n))),
                op => {
                    op.blocks().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.learn(b)));
                }
            }
        }
    }

    /// Whether a variable is this literal.
    pub fn is(&self, v: Var, n: i64) -> bool {
        self.literals.get(&v) == Some(&n)
    }

    /// `n`, if the variable is `n - 1`.
    pub fn before(&self, v: Var) -> Option<Var> {
        self.less.get(&v).filter(|(_, k)| self.is(*k, 1)).map(|(n, _)| *n)
    }

    /// The number of values that a loop reads from outside plus the number of its outputs: an upper bound of the
    /// bindings of its kernel. Extents and literals are not counted, because the host knows them.
    pub fn seen(&self, l: &Loop) -> usize {
        let mut inside = l.body.params.clone();
        adl_ir::rewrite::bound(&l.body, &mut inside);
        let mut read = fuse::reads_of(&l.body);
        read.extend(&l.xs);
        inside.iter().for_each(|v| _ = read.remove(v));
        read.into_iter().filter(|v| !self.host.contains(v)).count() + l.outs.len()
    }

    /// Whether an array of this shape has `n` rows.
    pub fn begins(&self, shape: Var, n: Var) -> bool {
        self.firsts.get(&shape) == Some(&n) || self.shapes.get(&shape).is_some_and(|a| self.dims.get(&n) == Some(a))
    }
}

pub(super) fn is_array(f: &Function, v: Var) -> bool {
    f.ty(v).rank() > 0 && !f.linear(v)
}

/// Whether an array's elements are scalars, not boxed arrays or data.
pub(super) fn of_numbers(f: &Function, v: Var) -> bool {
    matches!(f.ty(v), Ty::Array(e, _) if e.is_flat())
}

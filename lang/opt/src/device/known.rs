//! The dataflow facts of the device pass at the current statement: materialised arrays, lengths of vectors, and
//! zeros without a sign.

use adl_ir::{Function, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use std::collections::{HashMap, HashSet};

/// The facts that hold at the current statement.
#[derive(Clone, Default)]
pub(super) struct DeviceFacts {
    /// Arrays that are materialised, so no symbolic zeros.
    pub there: HashSet<Var>,
    /// The length of an array, by the representative of the arrays of equal length.
    pub extents: HashMap<Var, Var>,
    /// Maps a vector to another one of the same length.
    pub alike: HashMap<Var, Var>,
    /// Ints that are extents, and therefore not negative.
    pub sizes: HashSet<Var>,
    /// Variables that are replaced by others.
    pub names: HashMap<Var, Var>,
    /// Vectors with the same number at all indices.
    pub filled: HashMap<Var, Var>,
    /// Comparisons of two Ints for equality; `n ≥ 0` is recorded as a pair of `n` and 0.
    pub equal: HashMap<Var, (Var, Var)>,
    pub natural: HashMap<Var, Var>,
    /// Arrays that are symbolic zeros.
    pub symbolic_zero: HashSet<Var>,
    /// Elements of arrays of Ints.
    pub lists: HashMap<Var, Vec<Var>>,
    /// Conditions that an assertion has established.
    pub holds: HashSet<Var>,
    /// Numbers that are 0.0, never -0.0.
    pub zeros: HashSet<Var>,
    /// Numbers that are never -0.0, and arrays of such numbers.
    pub unsigned: HashSet<Var>,
    /// Ints with a known value.
    pub ints: HashMap<Var, i64>,
    /// Vectors whose elements equal their indices.
    pub indices: HashSet<Var>,
    /// Positions chosen by scans over indices: each element equals its own index or the element before it.
    pub placed: HashSet<Var>,
    /// Vectors made by loops.
    pub made: HashSet<Var>,
}

pub(super) fn is_vector(f: &Function, v: Var) -> bool {
    matches!(f.ty(v), Ty::Array(e, 1) if e.is_flat()) && !f.linear(v)
}

impl DeviceFacts {
    /// Records the facts about a vector that an operation makes.
    pub fn vector(&mut self, out: Var, op: &Op) {
        match op {
            Op::Replicate { n, a } => {
                self.filled.insert(out, *a);
                self.as_long(out, *n);
                if self.unsigned.contains(a) {
                    self.unsigned.insert(out);
                }
            }
            Op::Cumsum { a, .. } | Op::Reverse(a) | Op::Rotate { a, .. } => {
                self.like(out, *a);
                // Sums start at 0.0, so they are never -0.0.
                if matches!(op, Op::Cumsum { .. }) || self.unsigned.contains(a) {
                    self.unsigned.insert(out);
                }
            }
            op => self.array(out, op),
        }
    }

    /// Records the facts about an array that an operation makes.
    pub fn array(&mut self, out: Var, op: &Op) {
        match op {
            // The operation fails if this is not an extent of the array.
            Op::Slice { lo, hi, .. } if self.ints.get(lo) == Some(&0) => {
                self.sizes.insert(*hi);
                self.set_extent(out, *hi);
            }
            Op::Reverse(a) | Op::Rotate { a, .. } => self.like(out, *a),
            _ => {}
        }
    }

    /// Records the facts about a reshaped array. The operation fails if the shape does not fit.
    pub fn reshaped(&mut self, out: Var, a: Var, to: Var) {
        if let Some(n) = self.lists.get(&to).and_then(|all| all.first().copied()) {
            self.sizes.insert(n);
            self.set_extent(out, n);
        }
        if self.unsigned.contains(&a) {
            self.unsigned.insert(out);
        }
    }

    pub fn literal(&mut self, out: Var, x: &Lit) {
        let (zero, unsigned) = match x {
            Lit::F64(x) => (x.to_bits() == 0, x.to_bits() != (-0.0f64).to_bits()),
            Lit::F32(x) => (x.to_bits() == 0, x.to_bits() != (-0.0f32).to_bits()),
            Lit::I64(x) => {
                self.ints.insert(out, *x);
                (false, *x == 0)
            }
            Lit::Bool(_) | Lit::Str(_) => (false, false),
        };
        if zero {
            self.zeros.insert(out);
        }
        if unsigned {
            self.unsigned.insert(out);
        }
    }

    /// Records a zero: a number, or a symbolic zero.
    pub fn nothing(&mut self, out: Var, number: bool) {
        if number { &mut self.zeros } else { &mut self.symbolic_zero }.insert(out);
        self.unsigned.insert(out);
    }

    /// Records the facts about an array to which something was added.
    pub fn added_to(&mut self, out: Var, acc: Var, vector: bool) {
        if vector && self.there.contains(&acc) {
            self.like(out, acc);
        }
        if self.unsigned.contains(&acc) {
            self.unsigned.insert(out);
        }
    }

    /// Whether a vector that is added to a slice of a symbolic zero covers all of it.
    pub fn is_whole(&self, acc: Var, (lo, hi): (Var, Var), v: Var, shape: Var) -> bool {
        let long = matches!(self.lists.get(&shape).map(Vec::as_slice), Some([n]) if *n == hi);
        self.symbolic_zero.contains(&acc) && self.ints.get(&lo) == Some(&0) && long && self.extent(v) == Some(hi)
    }

    /// The representative of the vectors that have the same length.
    pub fn first(&self, v: Var) -> Var {
        self.alike.get(&v).copied().unwrap_or(v)
    }

    pub fn extent(&self, v: Var) -> Option<Var> {
        self.extents.get(&self.first(v)).copied()
    }

    pub fn set_extent(&mut self, v: Var, n: Var) {
        self.extents.insert(self.first(v), n);
    }

    /// Records that a vector has length `n`, if `n` is known to be an extent.
    pub fn as_long(&mut self, v: Var, n: Var) {
        if self.sizes.contains(&n) {
            self.set_extent(v, n);
        }
    }

    /// The arrays of the same length as `v` among those known in `before`.
    pub fn as_long_as(&self, v: Var, before: &DeviceFacts) -> HashSet<Var> {
        let (first, n) = (self.first(v), self.extent(v));
        let same = |a: &Var| self.first(*a) == first || n.is_some() && self.extent(*a) == n;
        before.there.iter().copied().filter(same).collect()
    }

    /// Records that a vector has the same length as another.
    pub fn like(&mut self, v: Var, other: Var) {
        self.alike.insert(v, self.first(other));
    }

    /// Records that the arrays that a stateless loop collects are as long as its trip count.
    pub fn looped(&mut self, func: &Function, stmt: &Stmt, ir_loop: &Loop) {
        let (Trip::Count(trip), Some(count)) = (&ir_loop.trip, stmt.outs.last()) else { return };
        self.sizes.insert(*count);
        if self.sizes.contains(trip) {
            self.names.insert(*count, *trip);
        }
        if !ir_loop.init.is_empty() {
            return;
        }
        let n = if self.sizes.contains(trip) { *trip } else { *count };
        let mut inside = Vec::new();
        adl_ir::rewrite::bound(&ir_loop.body, &mut inside);
        for ((v, o), r) in stmt.outs.iter().zip(&ir_loop.outs).zip(&ir_loop.body.results) {
            if *o == Out::Collect {
                self.set_extent(*v, n);
                if is_vector(func, *v) && !inside.contains(r) {
                    self.filled.insert(*v, *r);
                    self.unsigned.extend(self.unsigned.contains(r).then_some(*v));
                }
                if is_vector(func, *v) {
                    self.made.insert(*v);
                }
            }
        }
    }
}

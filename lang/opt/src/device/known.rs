//! What the pass knows of variables where it is: which arrays are there, how long vectors are, and where zeros have no sign.

use adl_ir::{Function, Lit, Loop, Op, Out, Stmt, Turns, Ty, Var};
use std::collections::{HashMap, HashSet};

/// What is known of variables where the pass is.
#[derive(Clone, Default)]
pub(super) struct Known {
    /// Arrays that are no absent zeros.
    pub there: HashSet<Var>,
    /// How long arrays are, by the first of those that are equally long.
    pub extents: HashMap<Var, Var>,
    /// Vectors that are as long as another.
    pub alike: HashMap<Var, Var>,
    /// Ints that are extents, and so not negative.
    pub sizes: HashSet<Var>,
    /// Other names of variables.
    pub names: HashMap<Var, Var>,
    /// Vectors of one number.
    pub filled: HashMap<Var, Var>,
    /// Comparisons of Ints for equality, and of Ints with 0: not negative.
    pub equal: HashMap<Var, (Var, Var)>,
    pub natural: HashMap<Var, Var>,
    /// Arrays that are absent zeros.
    pub absent: HashSet<Var>,
    /// Lists of Ints.
    pub lists: HashMap<Var, Vec<Var>>,
    /// Conditions that assertions say hold.
    pub holds: HashSet<Var>,
    /// Numbers that are 0, without a sign.
    pub zeros: HashSet<Var>,
    /// Numbers that are no zero with a sign, and arrays of such.
    pub unsigned: HashSet<Var>,
    /// Ints that are known.
    pub ints: HashMap<Var, i64>,
    /// Vectors whose elements are their indices.
    pub indices: HashSet<Var>,
    /// Places that scans of indices chose, each of them its own or the one before it.
    pub placed: HashSet<Var>,
    /// Vectors that loops make.
    pub made: HashSet<Var>,
}

pub(super) fn is_vector(f: &Function, v: Var) -> bool {
    matches!(f.ty(v), Ty::Array(e, 1) if e.is_flat()) && !f.linear(v)
}

impl Known {
    /// A vector that such an operation makes.
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
                // Sums begin at 0.
                if matches!(op, Op::Cumsum { .. }) || self.unsigned.contains(a) {
                    self.unsigned.insert(out);
                }
            }
            op => self.array(out, op),
        }
    }

    /// An array that such an operation makes.
    pub fn array(&mut self, out: Var, op: &Op) {
        match op {
            // The operation fails where this is no extent.
            Op::Slice { lo, hi, .. } if self.ints.get(lo) == Some(&0) => {
                self.sizes.insert(*hi);
                self.set_extent(out, *hi);
            }
            Op::Reverse(a) | Op::Rotate { a, .. } => self.like(out, *a),
            _ => {}
        }
    }

    /// The same numbers in another shape, of which the operation fails if it is none.
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

    /// A zero: a number, or an absent array.
    pub fn nothing(&mut self, out: Var, number: bool) {
        if number { &mut self.zeros } else { &mut self.absent }.insert(out);
        self.unsigned.insert(out);
    }

    /// An array to which something was added.
    pub fn added_to(&mut self, out: Var, acc: Var, vector: bool) {
        if vector && self.there.contains(&acc) {
            self.like(out, acc);
        }
        if self.unsigned.contains(&acc) {
            self.unsigned.insert(out);
        }
    }

    /// Whether a vector that is added to a part of an absent one is all of it.
    pub fn is_whole(&self, acc: Var, (lo, hi): (Var, Var), v: Var, shape: Var) -> bool {
        let long = matches!(self.lists.get(&shape).map(Vec::as_slice), Some([n]) if *n == hi);
        self.absent.contains(&acc) && self.ints.get(&lo) == Some(&0) && long && self.extent(v) == Some(hi)
    }

    /// The first vector that is as long.
    pub fn first(&self, v: Var) -> Var {
        self.alike.get(&v).copied().unwrap_or(v)
    }

    pub fn extent(&self, v: Var) -> Option<Var> {
        self.extents.get(&self.first(v)).copied()
    }

    pub fn set_extent(&mut self, v: Var, n: Var) {
        self.extents.insert(self.first(v), n);
    }

    /// A vector has so many elements, if that is a size.
    pub fn as_long(&mut self, v: Var, n: Var) {
        if self.sizes.contains(&n) {
            self.set_extent(v, n);
        }
    }

    /// The arrays that are as long as this one, of those that were there before.
    pub fn as_long_as(&self, v: Var, before: &Known) -> HashSet<Var> {
        let (first, n) = (self.first(v), self.extent(v));
        let same = |a: &Var| self.first(*a) == first || n.is_some() && self.extent(*a) == n;
        before.there.iter().copied().filter(same).collect()
    }

    /// One vector is as long as another.
    pub fn like(&mut self, v: Var, other: Var) {
        self.alike.insert(v, self.first(other));
    }

    /// What loops without state make has as many elements as they have turns.
    pub fn looped(&mut self, f: &Function, s: &Stmt, l: &Loop) {
        let (Turns::For(n), Some(count)) = (&l.turns, s.outs.last()) else { return };
        self.sizes.insert(*count);
        if self.sizes.contains(n) {
            self.names.insert(*count, *n);
        }
        if !l.init.is_empty() {
            return;
        }
        let n = if self.sizes.contains(n) { *n } else { *count };
        let mut inside = Vec::new();
        crate::copy::bound(&l.body, &mut inside);
        for ((v, o), r) in s.outs.iter().zip(&l.outs).zip(&l.body.results) {
            if *o == Out::Collect {
                self.set_extent(*v, n);
                if is_vector(f, *v) && !inside.contains(r) {
                    self.filled.insert(*v, *r);
                    self.unsigned.extend(self.unsigned.contains(r).then_some(*v));
                }
                if is_vector(f, *v) {
                    self.made.insert(*v);
                }
            }
        }
    }
}

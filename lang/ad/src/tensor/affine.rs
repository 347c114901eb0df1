//! Affine functions of Ints, of which the subscripts of comprehensions consist.

use adl_ir::{Block, Builder, Function, Lit, Op, Stmt, Ty, Var};
use adl_prim::{Bin, Un};
use std::collections::{BTreeMap, HashMap};

/// `Σ kᵢ·vᵢ + k`. No factor is 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Affine {
    pub(crate) terms: BTreeMap<Var, i64>,
    pub(crate) constant: i64,
}

impl Affine {
    pub(crate) fn var(v: Var) -> Affine {
        Affine { terms: BTreeMap::from([(v, 1)]), constant: 0 }
    }

    pub(crate) fn constant(k: i64) -> Affine {
        Affine { terms: BTreeMap::new(), constant: k }
    }

    /// The factor of a variable; 0 if it does not occur.
    pub(crate) fn factor(&self, v: Var) -> i64 {
        self.terms.get(&v).copied().unwrap_or(0)
    }

    /// `self + k·other`; `None` on overflow.
    pub(crate) fn plus(&self, k: i64, other: &Affine) -> Option<Affine> {
        let mut out = self.clone();
        out.constant = out.constant.checked_add(other.constant.checked_mul(k)?)?;
        for (v, c) in &other.terms {
            let sum = out.factor(*v).checked_add(c.checked_mul(k)?)?;
            if sum == 0 {
                out.terms.remove(v);
            } else {
                out.terms.insert(*v, sum);
            }
        }
        Some(out)
    }

    pub(crate) fn times(&self, k: i64) -> Option<Affine> {
        Affine::default().plus(k, self)
    }

    /// The function without a variable's term.
    pub(crate) fn without(&self, v: Var) -> Affine {
        let mut out = self.clone();
        out.terms.remove(&v);
        out
    }

    /// The function with `is` substituted for a variable.
    pub(crate) fn with(&self, v: Var, is: &Affine) -> Option<Affine> {
        match self.factor(v) {
            0 => Some(self.clone()),
            k => self.without(v).plus(k, is),
        }
    }

    /// The function with variables renamed.
    pub(crate) fn renamed(&self, names: &HashMap<Var, Var>) -> Affine {
        let mut out = Affine::constant(self.constant);
        for (v, k) in &self.terms {
            *out.terms.entry(*names.get(v).unwrap_or(v)).or_insert(0) += k;
        }
        out
    }

    /// Whether all variables satisfy a condition.
    pub(crate) fn all(&self, ok: &dyn Fn(Var) -> bool) -> bool {
        self.terms.keys().all(|v| ok(*v))
    }

    /// Emits the value. Positive terms are added before negative ones.
    pub(crate) fn emit(&self, builder: &mut Builder) -> Var {
        let mut terms: Vec<(Var, i64)> = self.terms.iter().map(|(v, k)| (*v, *k)).collect();
        terms.sort_by_key(|(v, k)| (*k < 0, *v));
        let mut sum = None;
        for (v, k) in terms {
            let size = k.unsigned_abs();
            let part = if size == 1 {
                v
            } else {
                let k = builder.int(i64::try_from(size).unwrap_or(i64::MAX));
                builder.bin(Bin::Mul, k, v)
            };
            sum = Some(match (sum, k < 0) {
                (Some(s), false) => builder.bin(Bin::Add, s, part),
                (Some(s), true) => builder.bin(Bin::Sub, s, part),
                (None, false) => part,
                (None, true) => builder.un(Un::Neg, part),
            });
        }
        match (sum, self.constant) {
            (Some(s), 0) => s,
            (Some(s), k) if k > 0 => {
                let k = builder.int(k);
                builder.bin(Bin::Add, s, k)
            }
            (Some(s), k) => {
                let k = builder.int(k.saturating_neg());
                builder.bin(Bin::Sub, s, k)
            }
            (None, k) => builder.int(k),
        }
    }
}

/// Known affine forms of Ints, and the extents in shapes that are written out. A variable without an entry stands
/// for itself.
#[derive(Clone, Default)]
pub(crate) struct Forms {
    of: HashMap<Var, Affine>,
    shapes: HashMap<Var, Vec<Var>>,
}

impl Forms {
    /// The literals and shapes of a function, at any depth.
    pub(crate) fn literals(body: &Block) -> Forms {
        let mut out = Forms::default();
        let mut work = vec![body];
        while let Some(b) = work.pop() {
            for s in &b.stmts {
                if let (Op::Lit(Lit::I64(k)), [v]) = (&s.op, s.outs.as_slice()) {
                    out.of.insert(*v, Affine::constant(*k));
                }
                if let (Op::ArrayLit { elems, .. }, [v]) = (&s.op, s.outs.as_slice()) {
                    out.shapes.insert(*v, elems.clone());
                }
                work.extend(s.op.blocks());
            }
        }
        out
    }

    /// The same, and the Ints that are computed outside of all loops.
    pub(crate) fn outside(f: &Function) -> Forms {
        let mut out = Forms::literals(&f.body);
        f.body.stmts.iter().for_each(|s| out.note(f, s));
        out
    }

    pub(crate) fn of(&self, v: Var) -> Affine {
        self.of.get(&v).cloned().unwrap_or_else(|| Affine::var(v))
    }

    /// The extents of a shape.
    pub(crate) fn shape(&self, v: Var) -> Option<Vec<Affine>> {
        Some(self.shapes.get(&v)?.iter().map(|n| self.of(*n)).collect())
    }

    /// Records the extents of a shape.
    pub(crate) fn set_shape(&mut self, v: Var, extents: Vec<Var>) {
        self.shapes.insert(v, extents);
    }

    /// The variables of a shape that is written out.
    pub(crate) fn written(&self, v: Var) -> Option<&[Var]> {
        self.shapes.get(&v).map(Vec::as_slice)
    }

    /// Records the form of a variable.
    pub(crate) fn set(&mut self, v: Var, form: Affine) {
        self.of.insert(v, form);
    }

    /// Records what a statement defines.
    pub(crate) fn note(&mut self, f: &Function, s: &Stmt) {
        let [out] = s.outs.as_slice() else { return };
        if *f.ty(*out) != Ty::I64 {
            return;
        }
        let form = match &s.op {
            Op::Lit(Lit::I64(k)) => Some(Affine::constant(*k)),
            Op::Un(Un::Neg, a) => self.of(*a).times(-1),
            Op::Bin(Bin::Add, a, b) => self.of(*a).plus(1, &self.of(*b)),
            Op::Bin(Bin::Sub, a, b) => self.of(*a).plus(-1, &self.of(*b)),
            Op::Bin(Bin::Mul, a, b) => {
                let (a, b) = (self.of(*a), self.of(*b));
                match (a.terms.is_empty(), b.terms.is_empty()) {
                    (true, _) => b.times(a.constant),
                    (_, true) => a.times(b.constant),
                    _ => None,
                }
            }
            _ => None,
        };
        self.of.extend(form.map(|form| (*out, form)));
    }
}

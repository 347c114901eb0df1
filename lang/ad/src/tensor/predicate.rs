//! What a predicate requires of one index: conditions `by·i + rest = 0`, `≥ 0` or `≡ 0 (mod k)`, whose coefficients
//! do not depend on the index.
//!
//! Comparisons of affine forms have this form directly. A quotient `a // k` compared with `c` gives two
//! inequalities, and a remainder `a % k = c` a congruence. For `max` and `min`, both operands are bounded. A
//! loop-invariant factor of the index is known when the sum starts.

use super::affine::Affine;
use super::narrow::Narrow;
use crate::limits::tensor_predicate::DEEPEST;
use adl_ir::{Cmp, Op, Ty, Var};
use adl_prim::Bin;
use std::collections::HashSet;

/// `by·i + rest`.
#[derive(Clone, Debug)]
pub(super) struct LinearForm {
    pub(super) by: Affine,
    pub(super) rest: Affine,
}

impl LinearForm {
    fn plus(&self, k: i64, other: &LinearForm) -> Option<LinearForm> {
        Some(LinearForm { by: self.by.plus(k, &other.by)?, rest: self.rest.plus(k, &other.rest)? })
    }

    fn and(&self, k: i64) -> Option<LinearForm> {
        Some(LinearForm { by: self.by.clone(), rest: self.rest.plus(1, &Affine::constant(k))? })
    }

    fn times(&self, k: i64) -> Option<LinearForm> {
        Some(LinearForm { by: self.by.times(k)?, rest: self.rest.times(k)? })
    }

    /// Whether the index does not occur.
    pub(super) fn still(&self) -> bool {
        self.by == Affine::default()
    }

    /// The factor of the index, if it is a literal.
    pub(super) fn factor(&self) -> Option<i64> {
        self.by.terms.is_empty().then_some(self.by.constant)
    }
}

/// One condition of a conjunction.
#[derive(Clone, Debug)]
pub(super) enum Atom {
    /// The form is 0.
    Zero(LinearForm),
    /// The form is not negative.
    Positive(LinearForm),
    /// The form is a multiple of a positive number.
    Multiple(LinearForm, Affine),
    /// Any other condition.
    Test,
}

/// The index of a sum, and the variables bound in the sum.
pub(super) struct SumIndex<'a> {
    pub(super) index: Var,
    pub(super) bound: &'a HashSet<Var>,
}

/// The negation of a comparison.
pub(super) fn negated(op: Cmp) -> Cmp {
    match op {
        Cmp::Eq => Cmp::Ne,
        Cmp::Ne => Cmp::Eq,
        Cmp::Lt => Cmp::Ge,
        Cmp::Ge => Cmp::Lt,
        Cmp::Gt => Cmp::Le,
        Cmp::Le => Cmp::Gt,
    }
}

/// The comparison with its operands exchanged.
pub(super) fn turned(op: Cmp) -> Cmp {
    match op {
        Cmp::Eq | Cmp::Ne => op,
        Cmp::Lt => Cmp::Gt,
        Cmp::Gt => Cmp::Lt,
        Cmp::Le => Cmp::Ge,
        Cmp::Ge => Cmp::Le,
    }
}

impl Narrow {
    /// Appends the conditions of which `c` (or its negation, if `!holds`) consists.
    pub(super) fn atoms(&mut self, test: Var, holds: bool, sum: &SumIndex, out: &mut Vec<Atom>, depth: u32) {
        let Some(op) = self.defs.get(&test).cloned().filter(|_| depth < DEEPEST) else {
            out.push(Atom::Test);
            return;
        };
        match &op {
            Op::Cmp(op, a, b) if *self.b.func.ty(*a) == Ty::I64 => {
                let (op, a, b) = (if holds { *op } else { negated(*op) }, self.forms.of(*a), self.forms.of(*b));
                let known = out.len();
                if self.compared(op, &a, &b, sum, out, depth).is_none() {
                    out.truncate(known);
                    out.push(Atom::Test);
                }
            }
            Op::Not(a) => self.atoms(*a, !holds, sum, out, depth + 1),
            Op::If(c, a, b) => {
                let (Some(x), Some(y)) = (a.results.first(), b.results.first()) else { return out.push(Atom::Test) };
                // `if c then x else y` is a conjunction if one arm cannot hold: of c and x, or of not c and y.
                let (c_holds, of) = match () {
                    () if self.is(*y, !holds) => (true, *x),
                    () if self.is(*x, !holds) => (false, *y),
                    () => return out.push(Atom::Test),
                };
                self.atoms(*c, c_holds, sum, out, depth + 1);
                if !self.is(of, holds) {
                    self.atoms(of, holds, sum, out, depth + 1);
                }
            }
            _ => out.push(Atom::Test),
        }
    }

    /// Whether a Bool is this literal.
    fn is(&self, v: Var, value: bool) -> bool {
        matches!(self.defs.get(&v), Some(Op::Lit(adl_ir::Lit::Bool(b))) if *b == value)
    }

    fn compared(
        &mut self,
        op: Cmp,
        a: &Affine,
        b: &Affine,
        sum: &SumIndex,
        out: &mut Vec<Atom>,
        depth: u32,
    ) -> Option<()> {
        let d = a.plus(-1, b)?;
        let Some((v, k)) = self.nonlinear_term(&d, sum) else { return self.plain(op, &d, sum, out) };
        // Compares v with -k·rest instead of k·v + rest with 0 (k is 1 or -1).
        let (op, c) = (if k < 0 { turned(op) } else { op }, d.without(v).times(-k)?);
        let Some(Op::Bin(of, x, y)) = self.defs.get(&v).cloned() else { return None };
        let (x, y) = (self.forms.of(x), self.forms.of(y));
        match (of, op) {
            (Bin::Rem, _) => self.remainder(op, &x, &y, &c, sum, out),
            (Bin::IntDiv, _) => self.quotient(op, &x, &y, &c, sum, out),
            (Bin::Max, Cmp::Lt | Cmp::Le) | (Bin::Min, Cmp::Gt | Cmp::Ge) if depth < DEEPEST => {
                self.compared(op, &x, &c, sum, out, depth + 1)?;
                self.compared(op, &y, &c, sum, out, depth + 1)
            }
            _ => None,
        }
    }

    /// A remainder, quotient, minimum or maximum in a form, with its factor; those that depend on the index come first.
    fn nonlinear_term(&self, d: &Affine, sum: &SumIndex) -> Option<(Var, i64)> {
        let of_index = |v: Var| match self.defs.get(&v) {
            Some(Op::Bin(Bin::Rem | Bin::IntDiv | Bin::Min | Bin::Max, x, y)) => {
                Some([x, y].into_iter().any(|x| self.forms.of(*x).factor(sum.index) != 0))
            }
            _ => None,
        };
        let all = d
            .terms
            .iter()
            .filter(|(v, k)| k.abs() == 1 && **v != sum.index && sum.bound.contains(v))
            .map(|(v, k)| (*v, *k));
        all.filter_map(|(v, k)| Some((of_index(v)?, v, k)))
            .max_by_key(|(of_index, ..)| *of_index)
            .map(|(_, v, k)| (v, k))
    }

    /// The condition from comparing `d` with 0.
    fn plain(&mut self, op: Cmp, d: &Affine, sum: &SumIndex, out: &mut Vec<Atom>) -> Option<()> {
        let d = self.linear(d, sum, 0)?;
        out.push(match op {
            Cmp::Eq => Atom::Zero(d),
            Cmp::Lt => Atom::Positive(d.times(-1)?.and(-1)?),
            Cmp::Le => Atom::Positive(d.times(-1)?),
            Cmp::Gt => Atom::Positive(d.and(-1)?),
            Cmp::Ge => Atom::Positive(d),
            Cmp::Ne => return None,
        });
        Some(())
    }

    /// The condition from comparing `dividend % divisor` with `c`.
    fn remainder(
        &mut self,
        op: Cmp,
        dividend: &Affine,
        divisor: &Affine,
        residue: &Affine,
        sum: &SumIndex,
        out: &mut Vec<Atom>,
    ) -> Option<()> {
        let other = Affine::constant(1).plus(-1, residue)?;
        let compared = match op {
            Cmp::Eq => residue,
            // There are only two remainders modulo 2.
            Cmp::Ne
                if *divisor == Affine::constant(2)
                    && residue.terms.is_empty()
                    && (0..2).contains(&residue.constant) =>
            {
                &other
            }
            _ => return None,
        };
        let (lx, lc) = (self.linear(dividend, sum, 0)?, self.linear(compared, sum, 0)?);
        self.is_positive(divisor, sum).then_some(())?;
        let last = self.linear(&divisor.plus(-1, &Affine::constant(1))?, sum, 0)?;
        out.push(Atom::Positive(lc.clone()));
        out.push(Atom::Positive(last.plus(-1, &lc)?));
        out.push(Atom::Multiple(lx.plus(-1, &lc)?, divisor.clone()));
        Some(())
    }

    /// The conditions from comparing `x // k` with `c`: `x` is compared with multiples of `k`.
    fn quotient(
        &mut self,
        op: Cmp,
        dividend: &Affine,
        k: &Affine,
        c: &Affine,
        sum: &SumIndex,
        out: &mut Vec<Atom>,
    ) -> Option<()> {
        let (x, c) = (self.linear(dividend, sum, 0)?, self.linear(c, sum, 0)?);
        self.is_positive(k, sum).then_some(())?;
        let k = self.linear(k, sum, 0)?;
        let from = self.product(&k, &c)?;
        let next = from.plus(1, &k)?;
        let (at_least, below) = (x.plus(-1, &from)?, from.plus(-1, &x)?.and(-1)?);
        let (past, within) = (x.plus(-1, &next)?, next.plus(-1, &x)?.and(-1)?);
        match op {
            Cmp::Eq => out.extend([Atom::Positive(at_least), Atom::Positive(within)]),
            Cmp::Lt => out.push(Atom::Positive(below)),
            Cmp::Le => out.push(Atom::Positive(within)),
            Cmp::Gt => out.push(Atom::Positive(past)),
            Cmp::Ge => out.push(Atom::Positive(at_least)),
            Cmp::Ne => return None,
        }
        Some(())
    }

    /// Whether a loop-invariant divisor is positive. A divisor from outside is recorded to be asserted.
    pub(super) fn is_positive(&mut self, k: &Affine, sum: &SumIndex) -> bool {
        let still = k.all(&|v| v != sum.index && !sum.bound.contains(&v));
        if k.terms.is_empty() {
            return k.constant > 0;
        }
        let known = still && k.plus(-1, &Affine::constant(1)).is_some_and(|rest| self.not_negative(&rest));
        let one =
            k.terms.keys().next().copied().filter(|v| *k == Affine::var(*v) && !self.axes.iter().any(|(i, _)| i == v));
        if let Some(v) = one.filter(|_| still && !known) {
            self.divisors.insert(v);
            return true;
        }
        known
    }

    /// A form as a linear function of the index.
    fn linear(&mut self, a: &Affine, sum: &SumIndex, depth: u32) -> Option<LinearForm> {
        let mut out = LinearForm { by: Affine::default(), rest: Affine::constant(a.constant) };
        for (v, factor) in &a.terms {
            let part = match () {
                () if *v == sum.index => LinearForm { by: Affine::constant(1), rest: Affine::default() },
                () if !sum.bound.contains(v) => LinearForm { by: Affine::default(), rest: Affine::var(*v) },
                () => {
                    let Some(Op::Bin(op, x, y)) = self.defs.get(v).cloned().filter(|_| depth < DEEPEST) else {
                        return None;
                    };
                    let (x, y) = (self.forms.of(x), self.forms.of(y));
                    let (x, y) = (self.linear(&x, sum, depth + 1)?, self.linear(&y, sum, depth + 1)?);
                    match op {
                        Bin::Mul => self.product(&x, &y)?,
                        // Both are loop-invariant, so the product may be computed before the sum.
                        _ if x.still() && y.still() => {
                            let (x, y) = (x.rest.emit(&mut self.b), y.rest.emit(&mut self.b));
                            LinearForm { by: Affine::default(), rest: Affine::var(self.b.bin(op, x, y)) }
                        }
                        _ => return None,
                    }
                }
            };
            out = out.plus(*factor, &part)?;
        }
        Some(out)
    }

    /// A product with a loop-invariant factor.
    fn product(&mut self, x: &LinearForm, y: &LinearForm) -> Option<LinearForm> {
        let (still, other) = if x.still() { (x, y) } else { (y, x) };
        still.still().then_some(())?;
        Some(LinearForm { by: self.times(&still.rest, &other.by)?, rest: self.times(&still.rest, &other.rest)? })
    }

    fn times(&mut self, x: &Affine, y: &Affine) -> Option<Affine> {
        match (x.terms.is_empty(), y.terms.is_empty()) {
            (true, _) => y.times(x.constant),
            (_, true) => x.times(y.constant),
            _ => {
                let (x, y) = (x.emit(&mut self.b), y.emit(&mut self.b));
                Some(Affine::var(self.b.bin(Bin::Mul, x, y)))
            }
        }
    }
}

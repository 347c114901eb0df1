//! Operators whose result depends on the axes of their operands: `@`, `++`, `reshape`, `clamp`, `diag`, `stack`.

use super::deferred::OpConstraint;
use super::ops::Head;
use super::{Infer, array};
use crate::errors::classes;
use crate::errors::reason::Reason;
use crate::errors::sizes::{self, KnownSize};
use crate::ty::{Class, Size, Ty};
use adl_syntax::span::Span;

impl Infer<'_> {
    /// The number of axes of an operand of `@`, if its type determines it.
    fn axes(&self, t: &Ty) -> Option<u8> {
        let Ty::Array(_, e) = self.resolve(t) else { return None };
        match self.resolve(&e) {
            Ty::Array(..) => Some(2),
            e => match self.head(&e) {
                Head::Scalar => Some(1),
                _ => None,
            },
        }
    }

    /// `a @ b`: the axes of both operands select the product. A result with known axes also determines it.
    pub(super) fn solve_product(&mut self, op: &OpConstraint, force: bool) -> bool {
        let (a, b) = (op.args[0].0.clone(), op.args[1].0.clone());
        let shape = match (self.axes(&a), self.axes(&b), self.axes(&op.res)) {
            (Some(m), Some(n), _) => (m, n),
            (Some(2), None, Some(1)) => (2, 1),
            (Some(2), None, Some(2)) => (2, 2),
            (None, Some(2), Some(1)) => (1, 2),
            (None, Some(2), Some(2)) => (2, 2),
            (Some(1), None, _) => (1, 2),
            (None, Some(1), _) => (2, 1),
            _ if !force => {
                // An operand that cannot be an array is an error, whatever the other one is.
                let wrong = [&a, &b].iter().any(|t| !matches!(self.head(t), Head::Unknown | Head::Array));
                if !wrong {
                    return false;
                }
                (2, 2)
            }
            (None, None, Some(1)) => (2, 1),
            _ => (2, 2),
        };
        self.product(op, shape)
    }

    fn product(&mut self, op: &OpConstraint, shape: (u8, u8)) -> bool {
        let s = self.number(Class::Num, op.span, "`@`");
        let (n, m, k) = (self.size_meta(), self.size_meta(), self.size_meta());
        let (ta, tb, res) = match shape {
            (2, 2) => (array(n, array(m, s.clone())), array(m, array(k, s.clone())), array(n, array(k, s))),
            (2, _) => (array(n, array(m, s.clone())), array(m, s.clone()), array(n, s)),
            (_, 2) => (array(m, s.clone()), array(m, array(k, s.clone())), array(k, s)),
            _ => {
                self.report(classes::two_vectors(op.span));
                return true;
            }
        };
        let ((a, sa), (b, sb)) = (op.args[0].clone(), op.args[1].clone());
        if let Some((left, right)) = self.inner_sizes(&a, &b, shape.0) {
            let d = sizes::inner(op.span, (sa, self.show(&a), left), (sb, self.show(&b), right));
            self.report(d);
            return self.finish(op, &res);
        }
        let why = Reason::is("the right side of `@`", sa, "the left side", &a);
        if self.expect(&ta, &a, sa, &Reason::new("the left side of `@`")) {
            self.expect(&tb, &b, sb, &why);
        }
        self.finish(op, &res)
    }

    /// The last axis of the left side of a product, which has `axes`, and the first of its right side, where both are known and differ.
    fn inner_sizes(&self, a: &Ty, b: &Ty, axes: u8) -> Option<(KnownSize, KnownSize)> {
        let (Ty::Array(n, row), Ty::Array(m, _)) = (self.resolve(a), self.resolve(b)) else { return None };
        let n = match self.resolve(&row) {
            Ty::Array(k, _) => k,
            _ if axes > 1 => return None,
            _ => n,
        };
        let known = |s: Size| match self.resolve_size(s) {
            Size::Const(size, at) => {
                Some(KnownSize { size, origin: (at.0 != Span::default()).then(|| (at.0, self.host.line(at.0, at.0))) })
            }
            _ => None,
        };
        Some((known(n)?, known(m)?)).filter(|(l, r)| l.size != r.size)
    }

    /// `clamp lo hi x`.
    pub(super) fn solve_clamp(&mut self, op: &OpConstraint, force: bool) -> bool {
        let x = op.args[2].0.clone();
        match self.head(&x) {
            Head::Unknown if !force => {
                if op.args[..2].iter().all(|b| self.is_number(&b.0)) {
                    self.keep(op, &x, Class::Nums);
                }
                let whole = self.resolve_deep(&x);
                op.args[..2].iter().all(|b| self.resolve_deep(&b.0) == whole) && self.keep(op, &x, Class::Nums)
            }
            _ if !force && op.args[..2].iter().any(|b| self.head(&b.0) == Head::Unknown) => false,
            Head::Bad | Head::Compound => self.reject(op, &x, op.args[2].1),
            Head::Unknown | Head::Scalar | Head::Array => {
                let Some(leaf) = self.leaf(op, &x) else { return true };
                let mut whole = op.args[2].clone();
                for (i, bound) in op.args[..2].iter().cloned().enumerate() {
                    match (self.known_rank(&bound.0), self.known_rank(&whole.0)) {
                        (Some(m @ 1..), Some(n)) if m <= n => {
                            whole.0 = self.spread("a bound of `clamp`".into(), &bound, (&whole, "what is clamped"));
                        }
                        (Some(1..), Some(_)) => {
                            whole = (self.spread("what is clamped".into(), &whole, (&bound, "a bound")), op.args[i].1);
                        }
                        _ => {
                            self.expect(&leaf, &bound.0, bound.1, &Reason::new("a bound of `clamp`"));
                        }
                    }
                }
                self.finish(op, &whole.0)
            }
        }
    }

    /// `norm x`: a number, for an array of any rank.
    pub(super) fn solve_norm(&mut self, op: &OpConstraint, force: bool) -> bool {
        let (t, span) = op.args[0].clone();
        let leaf = self.bottom(&t);
        if self.head(&leaf) == Head::Unknown && !force {
            return false;
        }
        self.expect(&op.res.clone(), &leaf, span, &Reason::new("the argument of `norm`"));
        true
    }

    /// `a ++ b` on arrays, Strings and lists; arrays by default.
    pub(super) fn solve_append(&mut self, op: &OpConstraint, force: bool) -> bool {
        let ((a, sa), (b, sb)) = (op.args[0].clone(), op.args[1].clone());
        let known = [&a, &b, &op.res]
            .into_iter()
            .map(|t| self.resolve(t))
            .find(|t| !matches!(t, Ty::Meta(m) if !self.metas[*m as usize].scalar));
        match known {
            None if !force => false,
            None | Some(Ty::Array(..)) => self.append_arrays(op, (&a, sa), (&b, sb)),
            Some(t @ (Ty::Str | Ty::Data(..))) => {
                if let Some(d) = self.applied_before(&a, (sa, sb), "++") {
                    self.report(d);
                } else if self.expect(&t, &a, sa, &Reason::is("the left side of `++`", sb, "the right side", &b)) {
                    self.expect(&t, &b, sb, &Reason::is("the right side of `++`", sa, "the left side", &a));
                }
                self.finish(op, &t)
            }
            Some(t) => {
                let at = if self.resolve(&b) == t { sb } else { sa };
                let d =
                    self.applied_before(&a, (sa, sb), "++").unwrap_or_else(|| classes::not_joined(at, &self.show(&t)));
                self.report(d);
                true
            }
        }
    }

    fn append_arrays(&mut self, op: &OpConstraint, (a, sa): (&Ty, Span), (b, sb): (&Ty, Span)) -> bool {
        let (m, n, t) = (self.size_meta(), self.size_meta(), self.meta());
        let left =
            self.expect(&array(m, t.clone()), a, sa, &Reason::is("the left side of `++`", sb, "the right side", b));
        if left
            && !self.expect(&array(n, t.clone()), b, sb, &Reason::is("the right side of `++`", sa, "the left side", a))
        {
            return true;
        }
        let size = match (self.resolve_size(m), self.resolve_size(n)) {
            (Size::Const(a, _), Size::Const(b, _)) => {
                a.checked_add(b).map_or(Size::Unknown, |n| Size::from(n, op.span))
            }
            _ => Size::Unknown,
        };
        self.finish(op, &array(size, t))
    }

    /// `reshape [n, m] x`: the element type is that under all axes of `x`, which must be known.
    pub(super) fn solve_reshape(&mut self, op: &OpConstraint, force: bool) -> bool {
        let leaf = self.bottom(&op.args[0].0);
        match self.head(&leaf) {
            Head::Unknown if !force => return false,
            // As in arithmetic, an undetermined operand defaults to a number.
            Head::Unknown => {
                self.require(Class::Num, &leaf, op.span, "reshape");
                self.make_scalar(&leaf);
            }
            Head::Scalar | Head::Compound | Head::Bad | Head::Array => {}
        }
        let _ = self.unify(&op.res.clone(), &leaf);
        true
    }

    /// `diag x`: the diagonal matrix of a vector, or the diagonal of a matrix.
    pub(super) fn solve_diag(&mut self, op: &OpConstraint, force: bool) -> bool {
        let (x, at) = op.args[0].clone();
        let Ty::Array(n, t) = self.resolve(&x) else { return false };
        match self.resolve(&t) {
            Ty::Array(m, s) => {
                let why = Reason::new("the matrix of `diag`");
                self.expect(&array(n, array(n, (*s).clone())), &array(n, array(m, (*s).clone())), at, &why);
                self.finish(op, &array(n, (*s).clone()))
            }
            t if self.head(&t) == Head::Unknown && !force => false,
            t => {
                let s = self.number(Class::Num, op.span, "`diag`");
                self.expect(&s, &t, at, &Reason::new("an element of the vector of `diag`"));
                self.finish(op, &array(n, array(n, t)))
            }
        }
    }

    /// `stack xs`: converts a list to an array, and returns an array of arrays unchanged.
    pub(super) fn solve_stack(&mut self, op: &OpConstraint, force: bool) -> bool {
        let (x, at) = op.args[0].clone();
        match self.resolve(&x) {
            t @ Ty::Array(..) => self.finish(op, &t),
            Ty::Meta(_) if !force => false,
            t => {
                let elem = self.meta();
                let list = self.list_of(elem.clone());
                self.expect(&list, &t, at, &Reason::new("the argument of `stack`"));
                self.finish(op, &array(Size::Unknown, elem))
            }
        }
    }

    /// The type under all axes that are known.
    pub(super) fn bottom(&self, t: &Ty) -> Ty {
        match self.resolve(t) {
            Ty::Array(_, e) => self.bottom(&e),
            t => t,
        }
    }
}

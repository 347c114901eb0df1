//! Operators whose result depends on the axes of their operands: `@`, `++`, `reshape`, `clamp`, `diag`, `stack`.

use super::op_constraints::OpConstraint;
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

    /// `left @ right`: the axes of both operands select the product. A result with known axes also determines it.
    pub(super) fn solve_product(&mut self, op: &OpConstraint, force: bool) -> bool {
        let (left, right) = (op.args[0].0.clone(), op.args[1].0.clone());
        let shape = match (self.axes(&left), self.axes(&right), self.axes(&op.res)) {
            (Some(m), Some(n), _) => (m, n),
            (Some(2), None, Some(1)) => (2, 1),
            (Some(2), None, Some(2)) => (2, 2),
            (None, Some(2), Some(1)) => (1, 2),
            (None, Some(2), Some(2)) => (2, 2),
            (Some(1), None, _) => (1, 2),
            (None, Some(1), _) => (2, 1),
            _ if !force => {
                // An operand that cannot be an array is an error, whatever the other one is.
                let wrong = [&left, &right].iter().any(|t| !matches!(self.head(t), Head::Unknown | Head::Array));
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
        let (Ty::Array(n, row), Ty::Array(rows, _)) = (self.resolve(a), self.resolve(b)) else { return None };
        let columns = match self.resolve(&row) {
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
        Some((known(columns)?, known(rows)?)).filter(|(l, r)| l.size != r.size)
    }

    /// `clamp lo hi operand`.
    pub(super) fn solve_clamp(&mut self, op: &OpConstraint, force: bool) -> bool {
        let operand = op.args[2].0.clone();
        match self.head(&operand) {
            Head::Unknown if !force => {
                if op.args[..2].iter().all(|b| self.is_number(&b.0)) {
                    self.keep(op, &operand, Class::Nums);
                }
                let whole = self.resolve_deep(&operand);
                op.args[..2].iter().all(|b| self.resolve_deep(&b.0) == whole) && self.keep(op, &operand, Class::Nums)
            }
            _ if !force && op.args[..2].iter().any(|b| self.head(&b.0) == Head::Unknown) => false,
            Head::Bad | Head::Compound => self.reject(op, &operand, op.args[2].1),
            Head::Unknown | Head::Scalar | Head::Array => {
                let Some(leaf) = self.leaf(op, &operand) else { return true };
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

    /// `left ++ right` on arrays, Strings and lists; arrays by default.
    pub(super) fn solve_append(&mut self, op: &OpConstraint, force: bool) -> bool {
        let ((left, sa), (right, sb)) = (op.args[0].clone(), op.args[1].clone());
        let known = [&left, &right, &op.res]
            .into_iter()
            .map(|t| self.resolve(t))
            .find(|t| !matches!(t, Ty::Meta(m) if !self.vars[*m].scalar));
        match known {
            None if !force => false,
            None | Some(Ty::Array(..)) => self.append_arrays(op, (&left, sa), (&right, sb)),
            Some(t @ (Ty::Str | Ty::Data(..))) => {
                if let Some(d) = self.applied_before(&left, (sa, sb), "++") {
                    self.report(d);
                } else if self.expect(&t, &left, sa, &Reason::is("the left side of `++`", sb, "the right side", &right))
                {
                    self.expect(&t, &right, sb, &Reason::is("the right side of `++`", sa, "the left side", &left));
                }
                self.finish(op, &t)
            }
            Some(t) => {
                let at = if self.resolve(&right) == t { sb } else { sa };
                let d = self
                    .applied_before(&left, (sa, sb), "++")
                    .unwrap_or_else(|| classes::not_joined(at, &self.show(&t)));
                self.report(d);
                true
            }
        }
    }

    fn append_arrays(&mut self, op: &OpConstraint, (first, sa): (&Ty, Span), (second, sb): (&Ty, Span)) -> bool {
        let (first_size, second_size, elem) = (self.size_meta(), self.size_meta(), self.meta());
        let left = self.expect(
            &array(first_size, elem.clone()),
            first,
            sa,
            &Reason::is("the left side of `++`", sb, "the right side", second),
        );
        if left
            && !self.expect(
                &array(second_size, elem.clone()),
                second,
                sb,
                &Reason::is("the right side of `++`", sa, "the left side", first),
            )
        {
            return true;
        }
        let size = match (self.resolve_size(first_size), self.resolve_size(second_size)) {
            (Size::Const(a, _), Size::Const(b, _)) => {
                a.checked_add(b).map_or(Size::Unknown, |n| Size::from(n, op.span))
            }
            _ => Size::Unknown,
        };
        self.finish(op, &array(size, elem))
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
        let Ty::Array(size, ty) = self.resolve(&x) else { return false };
        match self.resolve(&ty) {
            Ty::Array(m, s) => {
                let why = Reason::new("the matrix of `diag`");
                self.expect(&array(size, array(size, (*s).clone())), &array(size, array(m, (*s).clone())), at, &why);
                self.finish(op, &array(size, (*s).clone()))
            }
            t if self.head(&t) == Head::Unknown && !force => false,
            t => {
                let s = self.number(Class::Num, op.span, "`diag`");
                self.expect(&s, &t, at, &Reason::new("an element of the vector of `diag`"));
                self.finish(op, &array(size, array(size, t)))
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

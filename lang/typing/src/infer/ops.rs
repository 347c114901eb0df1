//! Operator constraints: arithmetic on types that may not be known yet (language.md §2).

use super::{Infer, array};
use crate::ty::{Class, Ty};
use adl_prim::{Prim, Typing};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;

/// `op` applied to `args` gives `res`.
#[derive(Clone, Debug)]
pub(super) struct Op {
    prim: Prim,
    args: Vec<(Ty, Span)>,
    res: Ty,
    span: Span,
}

/// What is known of an operand.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Head {
    /// A number, or a rigid variable that is one.
    Scalar,
    Array,
    /// A tuple, record, declared type, or a rigid `Diff` variable.
    Compound,
    Unknown,
    Bad,
}

impl Infer<'_> {
    /// Adds a constraint and solves it if it can be.
    pub(super) fn operate(&mut self, prim: Prim, args: Vec<(Ty, Span)>, span: Span) -> Ty {
        let res = self.meta();
        let op = Op { prim, args, res: res.clone(), span };
        if !self.solve(&op, false) {
            self.ops.push(op);
        }
        res
    }

    /// Solves what can be solved, until nothing changes.
    pub(super) fn solve_ops(&mut self) {
        loop {
            let before = self.ops.len();
            let waiting = std::mem::take(&mut self.ops);
            for op in waiting {
                if !self.solve(&op, false) {
                    self.ops.push(op);
                }
            }
            if self.ops.is_empty() || self.ops.len() >= before {
                return;
            }
        }
    }

    /// Solves the constraints all of whose types belong to levels above `level`, by default where they must.
    pub(super) fn settle_ops(&mut self, level: u32) {
        self.solve_ops();
        self.keep_outer(level);
        while let Some(i) = self.ops.iter().position(|op| self.is_inner(op, level)) {
            let op = self.ops.remove(i);
            self.solve(&op, true);
            self.solve_ops();
            self.keep_outer(level);
        }
    }

    /// What waits for outer types keeps its own from being generalised, and what waits for those in turn.
    fn keep_outer(&mut self, level: u32) {
        loop {
            let mut changed = false;
            for op in self.ops.clone() {
                let types: Vec<Ty> = op.args.iter().map(|a| a.0.clone()).chain([op.res.clone()]).collect();
                let outer = types.iter().any(|t| self.least_level(t) <= level);
                if outer && types.iter().any(|t| { let l = self.least_level(t); l > level && l != u32::MAX }) {
                    types.iter().for_each(|t| self.lower(t, level));
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Decides the first waiting constraint by default.
    pub(super) fn force_first(&mut self) {
        if !self.ops.is_empty() {
            let op = self.ops.remove(0);
            self.solve(&op, true);
        }
    }

    fn is_inner(&self, op: &Op, level: u32) -> bool {
        op.args.iter().map(|a| &a.0).chain([&op.res]).all(|t| self.least_level(t) > level)
    }

    fn least_level(&self, t: &Ty) -> u32 {
        match self.resolve(t) {
            Ty::Meta(m) => self.metas[m as usize].level,
            Ty::Array(_, e) => self.least_level(&e),
            _ => u32::MAX,
        }
    }

    fn head(&self, t: &Ty) -> Head {
        match self.resolve(t) {
            Ty::Int | Ty::Float | Ty::F32 => Head::Scalar,
            Ty::Meta(m) if self.metas[m as usize].scalar => Head::Scalar,
            Ty::Meta(_) => Head::Unknown,
            Ty::Array(..) => Head::Array,
            Ty::Var(v) => match self.rigid.get(&v) {
                Some((classes, _)) if classes.iter().any(|c| matches!(c, Class::Num | Class::Real)) => Head::Scalar,
                Some((classes, _)) if classes.contains(&Class::Diff) => Head::Compound,
                _ => Head::Bad,
            },
            Ty::Tuple(_) | Ty::Record(_) | Ty::Data(..) => Head::Compound,
            Ty::Unit | Ty::Bool | Ty::Str | Ty::Fun(..) | Ty::Lin(..) => Head::Bad,
        }
    }

    /// Whether the constraint is done (solved, or found wrong and reported). `force`: decide by default.
    fn solve(&mut self, op: &Op, force: bool) -> bool {
        if op.prim == Prim::MatMul {
            return self.solve_product(op, force);
        }
        match op.args.len() {
            1 => self.solve_unary(op, force),
            2 => self.solve_binary(op, force),
            _ => self.solve_clamp(op, force),
        }
    }

    fn class(prim: Prim) -> Class {
        match prim {
            Prim::Add | Prim::Sub | Prim::Mul | Prim::Neg | Prim::Rem | Prim::PowInt | Prim::IntDiv => Class::Num,
            _ => match prim.row().typing {
                Typing::Elementwise(text) if text.starts_with("Num") => Class::Num,
                _ => Class::Real,
            },
        }
    }

    fn op_name(prim: Prim) -> &'static str {
        match prim {
            Prim::Add => "`+`",
            Prim::Sub | Prim::Neg => "`-`",
            Prim::Mul => "`*`",
            Prim::Div => "`/`",
            Prim::IntDiv => "`//`",
            Prim::Rem => "`%`",
            Prim::Pow | Prim::PowInt => "`^`",
            Prim::MatMul => "`@`",
            other => other.name(),
        }
    }

    /// The number at the bottom of nested arrays gets the operator's class; its type is returned.
    fn leaf(&mut self, op: &Op, t: &Ty) -> Option<Ty> {
        let mut t = self.resolve(t);
        while let Ty::Array(_, e) = t {
            t = self.resolve(&e);
        }
        if op.prim == Prim::IntDiv {
            if self.unify(&Ty::Int, &t).is_err() {
                let d = Diagnostic::error("E0205", op.span, format!("`//` needs Ints, and this is {}", self.show(&t))).hint("`/` divides real numbers");
                self.report(d);
                return None;
            }
            return Some(Ty::Int);
        }
        if let Ty::Meta(m) = t {
            self.metas[m as usize].scalar = true;
        }
        let class = Self::class(op.prim);
        match self.has_class(class, &t, op.span, Self::op_name(op.prim)) {
            Ok(()) => Some(t),
            Err(part) => {
                let d = self.class_error(class, op.span, Self::op_name(op.prim), &part, op.span);
                self.report(d);
                None
            }
        }
    }

    /// The result on one number of type `t`.
    fn scalar_result(prim: Prim, t: &Ty) -> Ty {
        match prim {
            Prim::IsNan | Prim::IsInf => Ty::Bool,
            Prim::ToFloat | Prim::F32ToFloat => Ty::Float,
            Prim::ToInt => Ty::Int,
            Prim::ToF32 => Ty::F32,
            _ => t.clone(),
        }
    }

    fn finish(&mut self, op: &Op, res: &Ty) -> bool {
        let why = super::Why::new(format!("the result of {}", Self::op_name(op.prim)));
        self.expect(&op.res.clone(), res, op.span, &why);
        true
    }

    fn reject(&mut self, op: &Op, t: &Ty, span: Span) -> bool {
        let d = self.class_error(Self::class(op.prim), op.span, Self::op_name(op.prim), t, span);
        self.report(d);
        true
    }

    fn solve_unary(&mut self, op: &Op, force: bool) -> bool {
        let (t, span) = op.args[0].clone();
        match self.head(&t) {
            Head::Unknown if !force => false,
            Head::Unknown | Head::Scalar => match self.leaf(op, &t) {
                Some(s) => self.finish(op, &Self::scalar_result(op.prim, &s)),
                None => true,
            },
            Head::Array => {
                if op.prim == Prim::Neg && self.compound_leaf(&t) {
                    self.require(Class::Diff, &t, span, "`-`");
                    return self.finish(op, &t);
                }
                match self.leaf(op, &t) {
                    Some(_) => {
                        let res = self.map_leaf(&t, op.prim);
                        self.finish(op, &res)
                    }
                    None => true,
                }
            }
            Head::Compound if op.prim == Prim::Neg => {
                self.require_space(&t, span, "`-`");
                self.finish(op, &t)
            }
            Head::Compound | Head::Bad => self.reject(op, &t, span),
        }
    }

    /// The array type with the operator applied to its numbers.
    fn map_leaf(&self, t: &Ty, prim: Prim) -> Ty {
        match self.resolve(t) {
            Ty::Array(n, e) => array(n, self.map_leaf(&e, prim)),
            t => Self::scalar_result(prim, &t),
        }
    }

    /// Whether an array holds tuples, records or declared data.
    fn compound_leaf(&self, t: &Ty) -> bool {
        match self.resolve(t) {
            Ty::Array(_, e) => self.compound_leaf(&e),
            t => self.head(&t) == Head::Compound,
        }
    }

    /// Data with at least one real leaf (a rigid variable may have one).
    fn require_space(&mut self, t: &Ty, span: Span, op: &'static str) {
        self.require(Class::Diff, t, span, op);
        if !self.has_real(t, 0) {
            let d = Diagnostic::error("E0205", span, format!("{op} needs data with a real number in it, and {} has none", self.show(t)));
            self.report(d);
        }
    }

    fn has_real(&self, t: &Ty, depth: u32) -> bool {
        match self.resolve(t) {
            Ty::Float | Ty::F32 | Ty::Var(_) | Ty::Meta(_) => true,
            Ty::Array(_, e) => self.has_real(&e, depth),
            Ty::Tuple(parts) => parts.iter().any(|p| self.has_real(p, depth)),
            Ty::Record(r) => {
                let r = self.open_record(&r);
                r.tail.is_some() || r.fields.iter().any(|(_, t)| self.has_real(t, depth))
            }
            Ty::Data(id, args) => {
                args.iter().any(|a| self.has_real(a, depth))
                    || depth < 8
                        && self.tables.datas.get(&id).is_some_and(|d| {
                            d.cons.iter().flat_map(|c| &c.fields).any(|f| !matches!(f, Ty::Var(_)) && self.has_real(f, depth + 1))
                        })
            }
            Ty::Unit | Ty::Bool | Ty::Int | Ty::Str | Ty::Fun(..) | Ty::Lin(..) => false,
        }
    }

    fn solve_binary(&mut self, op: &Op, force: bool) -> bool {
        let ((a, sa), (b, sb)) = (op.args[0].clone(), op.args[1].clone());
        let additive = matches!(op.prim, Prim::Add | Prim::Sub);
        let scaling = matches!(op.prim, Prim::Mul | Prim::Div);
        let (ha, hb) = (self.head(&a), self.head(&b));
        match (ha, hb) {
            (Head::Bad, _) => self.reject(op, &a, sa),
            (_, Head::Bad) => self.reject(op, &b, sb),
            (Head::Scalar, Head::Scalar) => self.same(op, &a, &b),
            (Head::Array, Head::Array) => {
                if additive && (self.compound_leaf(&a) || self.compound_leaf(&b)) {
                    return self.same_compound(op, &a, &b);
                }
                self.same(op, &a, &b)
            }
            (Head::Array, Head::Scalar) => self.broadcast(op, &a, &b, sb),
            (Head::Scalar, Head::Array) => self.broadcast(op, &b, &a, sa),
            (Head::Compound, Head::Compound | Head::Unknown) | (Head::Unknown, Head::Compound) if additive => self.same_compound(op, &a, &b),
            (Head::Compound, Head::Scalar) if scaling => self.scale(op, &a, &b, sa, sb),
            (Head::Scalar, Head::Compound) if op.prim == Prim::Mul => self.scale(op, &b, &a, sb, sa),
            (Head::Compound, Head::Unknown) if scaling => self.scale(op, &a, &b, sa, sb),
            (Head::Unknown, Head::Compound) if op.prim == Prim::Mul => self.scale(op, &b, &a, sb, sa),
            (Head::Compound, _) | (_, Head::Compound) => self.not_elementwise(op, &a, &b),
            (Head::Unknown, _) | (_, Head::Unknown) if !force => false,
            (Head::Array, Head::Unknown) if scaling => self.broadcast(op, &a, &b, sb),
            (Head::Unknown, Head::Array) if op.prim == Prim::Mul => self.broadcast(op, &b, &a, sa),
            (Head::Unknown, _) | (_, Head::Unknown) => self.same(op, &a, &b),
        }
    }

    fn not_elementwise(&mut self, op: &Op, a: &Ty, b: &Ty) -> bool {
        let text = format!("{} is not defined between {} and {}", Self::op_name(op.prim), self.show(a), self.show(b));
        let d = Diagnostic::error("E0205", op.span, text)
            .note("on tuples, records and declared data: `+` and `-` between two of one type, and `*` and `/` by a number");
        self.report(d);
        true
    }

    /// Both operands and the result have one type.
    fn same(&mut self, op: &Op, a: &Ty, b: &Ty) -> bool {
        let why = super::Why::from(format!("the right operand of {}", Self::op_name(op.prim)), op.args[0].1, format!("the left operand is {}", self.show(a)));
        if !self.expect(a, b, op.args[1].1, &why) {
            return true;
        }
        match self.leaf(op, a) {
            // Of two sizes keep the one that says more.
            Some(_) => {
                let res = self.sharper(a, b);
                self.finish(op, &res)
            }
            None => true,
        }
    }

    fn sharper(&self, a: &Ty, b: &Ty) -> Ty {
        match (self.resolve(a), self.resolve(b)) {
            (Ty::Array(m, x), Ty::Array(n, y)) => {
                let m = self.resolve_size(m);
                let size = if m == crate::ty::Size::Unknown { self.resolve_size(n) } else { m };
                array(size, self.sharper(&x, &y))
            }
            (a, _) => a,
        }
    }

    fn same_compound(&mut self, op: &Op, a: &Ty, b: &Ty) -> bool {
        let why = super::Why::from(format!("the right operand of {}", Self::op_name(op.prim)), op.args[0].1, format!("the left operand is {}", self.show(a)));
        if self.expect(a, b, op.args[1].1, &why) {
            self.require_space(a, op.span, Self::op_name(op.prim));
        }
        self.finish(op, a)
    }

    fn broadcast(&mut self, op: &Op, arr: &Ty, scalar: &Ty, span: Span) -> bool {
        if self.compound_leaf(arr) && matches!(op.prim, Prim::Mul | Prim::Div) {
            return self.scale(op, arr, scalar, op.span, span);
        }
        let Some(leaf) = self.leaf(op, arr) else { return true };
        let why = super::Why::new(format!("the number that {} spreads over the array", Self::op_name(op.prim)));
        self.expect(&leaf, scalar, span, &why);
        self.finish(op, arr)
    }

    fn scale(&mut self, op: &Op, data: &Ty, scalar: &Ty, sd: Span, ss: Span) -> bool {
        self.require_space(data, sd, Self::op_name(op.prim));
        if let Ty::Meta(m) = self.resolve(scalar) {
            self.metas[m as usize].scalar = true;
        }
        self.require(Class::Real, scalar, ss, Self::op_name(op.prim));
        self.finish(op, data)
    }

    /// The number of axes of an operand of `@`, where its type says it.
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

    /// `a @ b`: which product it is depends on the axes of both; a result whose axes are known decides too.
    fn solve_product(&mut self, op: &Op, force: bool) -> bool {
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
                // What is known to be no array at all is wrong whatever the other is.
                let wrong = [&a, &b].iter().any(|t| !matches!(self.head(t), Head::Unknown | Head::Array));
                if !wrong {
                    return false;
                }
                (2, 2)
            }
            _ => (2, 2),
        };
        self.product(op, shape)
    }

    fn product(&mut self, op: &Op, shape: (u8, u8)) -> bool {
        let s = self.number(Class::Num, op.span, "`@`");
        let (n, m, k) = (self.size_meta(), self.size_meta(), self.size_meta());
        let (ta, tb, res) = match shape {
            (2, 2) => (array(n, array(m, s.clone())), array(m, array(k, s.clone())), array(n, array(k, s))),
            (2, _) => (array(n, array(m, s.clone())), array(m, s.clone()), array(n, s)),
            (_, 2) => (array(m, s.clone()), array(m, array(k, s.clone())), array(k, s)),
            _ => {
                let d = Diagnostic::error("E0205", op.span, "`@` needs a matrix on one side, and both are vectors").hint("`dot x y` is the inner product");
                self.report(d);
                return true;
            }
        };
        let ((a, sa), (b, sb)) = (op.args[0].clone(), op.args[1].clone());
        let why = super::Why::from("the right side of `@`", sa, format!("the left side is {}", self.show(&a)));
        if self.expect(&ta, &a, sa, &super::Why::new("the left side of `@`")) {
            self.expect(&tb, &b, sb, &why);
        }
        self.finish(op, &res)
    }

    /// `clamp lo hi x`.
    fn solve_clamp(&mut self, op: &Op, force: bool) -> bool {
        let x = op.args[2].0.clone();
        match self.head(&x) {
            Head::Unknown if !force => false,
            Head::Bad | Head::Compound => self.reject(op, &x, op.args[2].1),
            Head::Unknown | Head::Scalar | Head::Array => {
                let Some(leaf) = self.leaf(op, &x) else { return true };
                for (t, span) in op.args[..2].to_vec() {
                    self.expect(&leaf, &t, span, &super::Why::new("a bound of `clamp`"));
                }
                self.finish(op, &x)
            }
        }
    }
}

//! Operator constraints: arithmetic on types that may not be known yet (language.md §2).

use super::waiting::Op;
use super::{Infer, array};
use crate::errors::classes;
use crate::errors::mismatch::Mixed;
use crate::errors::reason::Why;
use crate::ty::{Class, Ty};
use adl_prim::{Prim, Typing};
use adl_syntax::span::Span;

/// What is known of an operand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Head {
    /// A number, or a rigid variable that is one.
    Scalar,
    Array,
    /// A tuple, record, declared type, or a rigid `Diff` variable.
    Compound,
    Unknown,
    Bad,
}

impl Infer<'_> {
    pub(super) fn head(&self, t: &Ty) -> Head {
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
    pub(super) fn solve(&mut self, op: &Op, force: bool) -> bool {
        match op.prim {
            Prim::MatMul => self.solve_product(op, force),
            Prim::Append => self.solve_append(op, force),
            Prim::Reshape => self.solve_reshape(op, force),
            Prim::Clamp => self.solve_clamp(op, force),
            Prim::Norm => self.solve_norm(op, force),
            Prim::Sum | Prim::Prod | Prim::Mean | Prim::Variance => self.solve_reduction(op, force),
            _ if op.args.len() == 1 => self.solve_unary(op, force),
            Prim::Pow if self.has_whole_exponent(op) => self.solve_whole_power(op, force),
            _ => self.solve_binary(op, force),
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
    pub(super) fn leaf(&mut self, op: &Op, t: &Ty) -> Option<Ty> {
        let mut t = self.resolve(t);
        while let Ty::Array(_, e) = t {
            t = self.resolve(&e);
        }
        if op.prim == Prim::IntDiv {
            if self.unify(&Ty::Int, &t).is_err() {
                let d = classes::whole_division(op.span, &self.show(&t));
                self.report(d);
                return None;
            }
            return Some(Ty::Int);
        }
        self.make_scalar(&t);
        let class = Self::class(op.prim);
        match self.has_class(class, &t, op.span, Self::op_name(op.prim)) {
            Ok(()) => Some(t),
            Err(part) => {
                // The operand that is so, where it is one.
                let at = op.args.iter().find(|(t, _)| self.resolve(t) == part).map_or(op.span, |(_, at)| *at);
                let d = self.class_error(class, op.span, Self::op_name(op.prim), &part, at);
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

    pub(super) fn finish(&mut self, op: &Op, res: &Ty) -> bool {
        let why = Why::new(format!("the result of {}", classes::quoted(Self::op_name(op.prim))));
        self.expect(&op.res.clone(), res, op.span, &why);
        true
    }

    pub(super) fn reject(&mut self, op: &Op, t: &Ty, span: Span) -> bool {
        let mut d = self.class_error(Self::class(op.prim), op.span, Self::op_name(op.prim), t, span);
        if let Some((other, at)) = op.args.iter().find(|(_, at)| *at != span) {
            d = d.also(*at, format!("the other operand is {}", self.show(other)));
        }
        if let Some(call) = self.negative_argument(op, t) {
            d = d.hint(format!("a negative argument stands in parentheses: `{call}`"));
        }
        self.report(d);
        true
    }

    /// The call that is meant where a function has a number subtracted that is written like a negative one: `f x -1.0`.
    fn negative_argument(&self, op: &Op, t: &Ty) -> Option<String> {
        let ([(_, left), (_, right)], Prim::Sub, Ty::Fun(..)) = (op.args.as_slice(), op.prim, self.resolve(t)) else { return None };
        let between = self.host.text(Span { lo: left.hi, hi: right.lo, ..*left });
        let close = between.starts_with(char::is_whitespace) && between.ends_with('-');
        close.then(|| format!("{} (-{})", self.host.text(*left), self.host.text(*right)))
    }

    pub(super) fn solve_unary(&mut self, op: &Op, force: bool) -> bool {
        let (t, span) = op.args[0].clone();
        match self.head(&t) {
            Head::Unknown if self.from_result(op, &t) => self.solve_unary(op, force),
            Head::Unknown if !force => false,
            Head::Unknown if op.prim == Prim::Neg && self.is_space(&t) => self.finish(op, &t),
            Head::Unknown | Head::Scalar => match self.leaf(op, &t) {
                Some(s) => self.finish(op, &Self::scalar_result(op.prim, &s)),
                None => true,
            },
            Head::Array => {
                if op.prim == Prim::Neg && self.compound_leaf(&t) {
                    self.require_space(&t, span, "`-`");
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
    pub(super) fn compound_leaf(&self, t: &Ty) -> bool {
        match self.resolve(t) {
            Ty::Array(_, e) => self.compound_leaf(&e),
            t => self.head(&t) == Head::Compound,
        }
    }

    /// Data with at least one real leaf (a variable may have one). What is not known yet is looked at again at the end.
    fn require_space(&mut self, t: &Ty, span: Span, op: &'static str) {
        if self.require(Class::Diff, t, span, op) {
            self.spaces.push((t.clone(), span, op));
        }
    }

    /// Reports data that was added and has no real number in it.
    pub(super) fn check_spaces(&mut self) {
        for (t, span, op) in std::mem::take(&mut self.spaces) {
            if !self.has_real(&t, 0) {
                let d = classes::no_real_part(span, op, &self.show(&t));
                self.report(d);
            }
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

    pub(super) fn solve_binary(&mut self, op: &Op, force: bool) -> bool {
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
            (Head::Unknown, _) | (_, Head::Unknown) => self.solve_unknown(op, force),
        }
    }

    fn not_elementwise(&mut self, op: &Op, a: &Ty, b: &Ty) -> bool {
        let name = classes::quoted(Self::op_name(op.prim));
        let d = classes::not_elementwise(op.span, &name, (op.args[0].1, &self.show(a)), (op.args[1].1, &self.show(b)));
        self.report(d);
        true
    }

    /// Both operands and the result have one type.
    pub(super) fn same(&mut self, op: &Op, a: &Ty, b: &Ty) -> bool {
        if let Some(fix) = self.mixed(op, a, b) {
            let [(_, sa), (_, sb)] = [&op.args[0], &op.args[1]];
            let mixed = Mixed { op: classes::quoted(Self::op_name(op.prim)), left: (*sa, self.show(a)), right: (*sb, self.show(b)), fix };
            self.report(mixed.diagnostic());
            return true;
        }
        let why = Why::right(Self::op_name(op.prim), op.args[0].1, a);
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

    /// What to write where the numbers of two operands have different types.
    fn mixed(&self, op: &Op, a: &Ty, b: &Ty) -> Option<String> {
        if op.prim == Prim::IntDiv {
            return None;
        }
        let number = |t: &Ty| {
            let mut t = self.resolve(t);
            while let Ty::Array(_, e) = t {
                t = self.resolve(&e);
            }
            match t {
                Ty::Meta(m) if self.metas[m as usize].scalar => {
                    let real = self.metas[m as usize].classes.iter().any(|c| c.0 == Class::Real);
                    // A literal that may be any number is mixed with none, but a real one does not become an Int.
                    if real { Some((Ty::Float, true)) } else { None }
                }
                t @ (Ty::Int | Ty::Float | Ty::F32) => Some((t, false)),
                _ => None,
            }
        };
        let ((x, free_x), (y, free_y)) = (number(a)?, number(b)?);
        let (sa, sb) = (op.args[0].1, op.args[1].1);
        let name = Self::op_name(op.prim).trim_matches('`');
        let whole = |left: String, right: String| {
            let infix = !name.starts_with(|c: char| c.is_alphabetic());
            if infix { format!("convert one: `{left} {name} {right}`") } else { format!("convert one: `{name} {} {}`", atom(&left), atom(&right)) }
        };
        let text = |s: Span| {
            let t = self.host.text(s);
            if t.is_empty() || t.len() > 30 || t.contains('\n') { "...".to_owned() } else { t.to_owned() }
        };
        match (&x, &y) {
            (Ty::Int, Ty::Float) => Some(whole(self.converted("float", sa), text(sb))),
            (Ty::Float, Ty::Int) => Some(whole(text(sa), self.converted("float", sb))),
            (Ty::F32, Ty::Float) if !free_y => Some(whole(self.converted("to_float", sa), text(sb))),
            (Ty::Float, Ty::F32) if !free_x => Some(whole(text(sa), self.converted("to_float", sb))),
            (Ty::Int, Ty::F32) => Some(whole(self.converted("to_f32", sa), text(sb))),
            (Ty::F32, Ty::Int) => Some(whole(text(sa), self.converted("to_f32", sb))),
            _ => None,
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

    pub(super) fn same_compound(&mut self, op: &Op, a: &Ty, b: &Ty) -> bool {
        let why = Why::right(Self::op_name(op.prim), op.args[0].1, a);
        if self.expect(a, b, op.args[1].1, &why) {
            self.require_space(a, op.span, Self::op_name(op.prim));
        }
        self.finish(op, a)
    }

    pub(super) fn broadcast(&mut self, op: &Op, arr: &Ty, scalar: &Ty, span: Span) -> bool {
        if self.compound_leaf(arr) && matches!(op.prim, Prim::Mul | Prim::Div) {
            return self.scale(op, arr, scalar, op.span, span);
        }
        if let Some(fix) = self.mixed(op, &op.args[0].0.clone(), &op.args[1].0.clone()) {
            let [(a, sa), (b, sb)] = [&op.args[0], &op.args[1]];
            let mixed = Mixed { op: classes::quoted(Self::op_name(op.prim)), left: (*sa, self.show(a)), right: (*sb, self.show(b)), fix };
            self.report(mixed.diagnostic());
            return true;
        }
        let Some(leaf) = self.leaf(op, arr) else { return true };
        let why = Why::new(format!("the number that {} spreads over the array", classes::quoted(Self::op_name(op.prim))));
        self.expect(&leaf, scalar, span, &why);
        self.finish(op, arr)
    }

    pub(super) fn scale(&mut self, op: &Op, data: &Ty, scalar: &Ty, sd: Span, ss: Span) -> bool {
        self.require_space(data, sd, Self::op_name(op.prim));
        self.make_scalar(scalar);
        self.require(Class::Real, scalar, ss, Self::op_name(op.prim));
        self.finish(op, data)
    }
}

/// In parentheses where it is not one word.
fn atom(text: &str) -> String {
    if text.contains(' ') && !text.starts_with('(') { format!("({text})") } else { text.to_owned() }
}

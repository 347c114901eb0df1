//! Operator constraints: arithmetic on types that may not be known yet.

use super::op_constraints::OpConstraint;
use super::{Infer, array};
use crate::errors::mismatch::MixedNumbers;
use crate::errors::reason::Reason;
use crate::errors::{classes, constraints, derivatives};
use crate::ty::{Class, Ty};
use adl_prim::{ArrayFn, Bin, NumberFn, Prim, ReductionFn, Typing, Un};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;

/// The known part of an operand's type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Head {
    /// A number, or a rigid variable that is one.
    Scalar,
    Array,
    /// A tuple, record, declared type, or a rigid `Diff` variable.
    Compound,
    /// Of unknown rank: an inference variable, an array of one, or a rigid variable of any rank.
    Unknown,
    Bad,
}

/// Whether an operator may be a constraint of a scheme.
pub(super) fn is_constraint(p: Prim) -> bool {
    let special = matches!(
        p,
        Prim::Reduction(ReductionFn::MatMul | ReductionFn::Norm)
            | Prim::Array(ArrayFn::Append | ArrayFn::Reshape | ArrayFn::Where | ArrayFn::Diag | ArrayFn::Stack)
    );
    let arithmetic =
        matches!(p, Prim::Bin(Bin::Add | Bin::Sub | Bin::Mul | Bin::Div | Bin::IntDiv | Bin::Rem | Bin::Pow));
    special || arithmetic || matches!(p.row().typing, Typing::Elementwise(_))
}

/// The number of operands that determine its result type.
pub(super) fn operands(p: Prim) -> u8 {
    if p == Prim::Array(ArrayFn::Reshape) { 1 } else { p.row().arity }
}

impl Infer<'_> {
    pub(super) fn head(&self, t: &Ty) -> Head {
        match self.resolve(t) {
            Ty::Int | Ty::Float | Ty::F32 => Head::Scalar,
            Ty::Meta(m) if self.vars[m].scalar => Head::Scalar,
            Ty::Meta(_) => Head::Unknown,
            Ty::Array(_, e) => match self.head(&e) {
                Head::Unknown => Head::Unknown,
                _ => Head::Array,
            },
            Ty::Var(v) => match self.annotated.rigid.get(&v) {
                Some((classes, _)) if classes.iter().any(|c| matches!(c, Class::Num | Class::Real)) => Head::Scalar,
                Some((classes, _))
                    if classes.iter().any(|c| matches!(c, Class::Nums | Class::Reals | Class::Space)) =>
                {
                    Head::Unknown
                }
                _ if self.is_given(v) => Head::Unknown,
                Some((classes, _)) if classes.contains(&Class::Diff) => Head::Compound,
                _ => Head::Bad,
            },
            Ty::Tuple(_) | Ty::Record(_) | Ty::Data(..) => Head::Compound,
            Ty::Unit | Ty::Bool | Ty::Str | Ty::Fun(..) | Ty::Lin(..) => Head::Bad,
        }
    }

    /// Like `head`, for an operand of an operator. Comparisons and logic treat Strings and Bools as scalars.
    pub(super) fn operand(&self, prim: Prim, t: &Ty) -> Head {
        match self.head(t) {
            Head::Bad
                if (is_logic(prim) || matches!(prim, Prim::CompareEach(_)))
                    && matches!(self.resolve(t), Ty::Bool | Ty::Str) =>
            {
                Head::Scalar
            }
            head => head,
        }
    }

    /// Tries to solve a constraint. Returns whether it is done (solved, or reported as an error). `force`: apply
    /// defaults.
    pub(super) fn solve(&mut self, op: &OpConstraint, force: bool) -> bool {
        if self.solve_given(op) {
            return true;
        }
        let before = self.diags.len();
        let done = self.solve_here(op, force);
        if let Some(place) = op.inside.as_ref().filter(|_| self.diags.len() > before) {
            // An error that another class constraint of the same function reported is not repeated.
            let told = |d: &Diagnostic| {
                d.is_error() && d.secondary.iter().map(|l| l.span).chain([d.primary.span]).any(|at| at == op.span)
            };
            if self.diags[..before].iter().any(told) {
                self.diags.truncate(before);
                return done;
            }
            let call = self.operation_shown(op);
            self.diags[before..].iter_mut().for_each(|d| constraints::explain(d, place, &call));
        }
        done
    }

    fn solve_here(&mut self, op: &OpConstraint, force: bool) -> bool {
        match op.prim {
            Prim::Reduction(ReductionFn::MatMul) => self.solve_product(op, force),
            Prim::Array(ArrayFn::Append) => self.solve_append(op, force),
            Prim::Array(ArrayFn::Reshape) => self.solve_reshape(op, force),
            Prim::Number(NumberFn::Clamp) => self.solve_clamp(op, force),
            Prim::Reduction(ReductionFn::Norm) => self.solve_norm(op, force),
            Prim::Array(ArrayFn::Where) => self.solve_where(op, force),
            Prim::Array(ArrayFn::Diag) => self.solve_diag(op, force),
            Prim::Array(ArrayFn::Stack) => self.solve_stack(op, force),
            _ if op.args.len() == 1 => self.solve_unary(op, force),
            Prim::Bin(Bin::Pow) if self.has_whole_exponent(op) => self.solve_whole_power(op, force),
            _ => self.solve_binary(op, force),
        }
    }

    fn class(prim: Prim) -> Class {
        match prim {
            Prim::Bin(Bin::Add | Bin::Sub | Bin::Mul | Bin::Rem | Bin::IntDiv)
            | Prim::Un(Un::Neg)
            | Prim::Number(NumberFn::PowInt) => Class::Num,
            _ => match prim.row().typing {
                Typing::Elementwise(text) if text.starts_with("Num") => Class::Num,
                _ => Class::Real,
            },
        }
    }

    pub(super) fn op_name(prim: Prim) -> &'static str {
        match prim {
            Prim::Bin(Bin::Add) => "`+`",
            Prim::Bin(Bin::Sub) | Prim::Un(Un::Neg) => "`-`",
            Prim::Bin(Bin::Mul) => "`*`",
            Prim::Bin(Bin::Div) => "`/`",
            Prim::Bin(Bin::IntDiv) => "`//`",
            Prim::Bin(Bin::Rem) => "`%`",
            Prim::Bin(Bin::Pow) | Prim::Number(NumberFn::PowInt) => "`^`",
            Prim::Reduction(ReductionFn::MatMul) => "`@`",
            other => other.name(),
        }
    }

    /// Requires the operator's class of the number under all axes, and returns its type.
    pub(super) fn leaf(&mut self, op: &OpConstraint, unresolved: &Ty) -> Option<Ty> {
        let mut ty = self.resolve(unresolved);
        while let Ty::Array(_, e) = ty {
            ty = self.resolve(&e);
        }
        if op.prim == Prim::Bin(Bin::IntDiv) {
            if self.unify(&Ty::Int, &ty).is_err() {
                let d = classes::whole_division(op.span, &self.show(&ty));
                self.report(d);
                return None;
            }
            return Some(Ty::Int);
        }
        if is_logic(op.prim) {
            let at = op.args.iter().find(|(a, _)| self.bottom(a) == ty).map_or(op.span, |(_, at)| *at);
            return self
                .expect(
                    &Ty::Bool,
                    &ty,
                    at,
                    &Reason::new(format!("an operand of {}", classes::quoted(Self::op_name(op.prim)))),
                )
                .then_some(Ty::Bool);
        }
        self.make_scalar(&ty);
        let class = match &ty {
            Ty::Bool | Ty::Str if matches!(op.prim, Prim::CompareEach(_)) => Class::Ord,
            _ => Self::class(op.prim),
        };
        match self.has_class(class, &ty, op.span, Self::op_name(op.prim)) {
            Ok(()) => Some(ty),
            Err(part) => {
                // Mark the operand that has this type, if there is one.
                let at = op.args.iter().find(|(t, _)| self.bottom(t) == part).map_or(op.span, |(_, at)| *at);
                let d = self.class_error(class, op.span, Self::op_name(op.prim), &part, at);
                self.report(d);
                None
            }
        }
    }

    /// The result type for scalar operands of type `t`.
    pub(super) fn scalar_result(prim: Prim, t: &Ty) -> Ty {
        match prim {
            Prim::Number(NumberFn::IsNan | NumberFn::IsInf) => Ty::Bool,
            p if is_logic(p) || matches!(p, Prim::CompareEach(_)) => Ty::Bool,
            Prim::Number(NumberFn::ToFloat) => Ty::Float,
            Prim::Number(NumberFn::ToInt) => Ty::Int,
            Prim::Number(NumberFn::ToF32) => Ty::F32,
            _ => t.clone(),
        }
    }

    /// The class of an operand of unknown rank.
    pub(super) fn rank_class(prim: Prim) -> Class {
        match prim {
            Prim::Bin(Bin::Add | Bin::Sub) | Prim::Un(Un::Neg) => Class::Space,
            _ if Self::class(prim) == Class::Num => Class::Nums,
            _ => Class::Reals,
        }
    }

    /// Unifies the result with the type of an operand of unknown rank.
    pub(super) fn keep(&mut self, op: &OpConstraint, t: &Ty, class: Class) -> bool {
        match self.has_class(class, t, op.span, Self::op_name(op.prim)) {
            Ok(()) => self.finish(op, t),
            Err(part) => {
                let d = self.class_error(class, op.span, Self::op_name(op.prim), &part, op.span);
                self.report(d);
                true
            }
        }
    }

    pub(super) fn finish(&mut self, op: &OpConstraint, res: &Ty) -> bool {
        let why = Reason::new(format!("the result of {}", classes::quoted(Self::op_name(op.prim))));
        self.expect(&op.res.clone(), res, op.span, &why);
        true
    }

    pub(super) fn reject(&mut self, op: &OpConstraint, ty: &Ty, span: Span) -> bool {
        // `f -1 2`: the application of 1 has been reported.
        if self.negative_argument(op, ty).is_some_and(|m| {
            self.diags.iter().any(|d| d.code == "E0204" && d.fix.iter().any(|e| e.span.lo == m.primary.span.lo))
        }) {
            return true;
        }
        if let Some(d) = self.negative_argument(op, ty).or_else(|| self.effect_as_operand(op)) {
            self.report(d);
            return true;
        }
        let mut diagnostic = self.class_error(Self::class(op.prim), op.span, Self::op_name(op.prim), ty, span);
        if let Some((at, hint)) = self.explain_missing_argument(ty, span) {
            diagnostic = diagnostic.also(at, "it is defined here").hint(hint);
        }
        if let Some((other, at)) = op.args.iter().find(|(_, at)| *at != span) {
            diagnostic = diagnostic.also(*at, format!("the other operand is {}", self.show(other)));
        }
        let names = Self::op_name(op.prim) == "`+`" && op.args.iter().all(|(t, _)| matches!(self.resolve(t), Ty::Str));
        if let (true, [(_, left), (_, right)]) = (names, op.args.as_slice()) {
            let between = Span { lo: left.hi, hi: right.lo, ..*left };
            let sign = self.host.text(between).find('+').map(|i| Span {
                lo: between.lo + i as u32,
                hi: between.lo + i as u32 + 1,
                ..between
            });
            diagnostic = sign.into_iter().fold(diagnostic.hint("texts are joined with `++`"), |d, at| d.fix(at, "++"));
        }
        self.report(diagnostic);
        true
    }

    pub(super) fn solve_unary(&mut self, op: &OpConstraint, force: bool) -> bool {
        let (ty, span) = op.args[0].clone();
        match self.operand(op.prim, &ty) {
            Head::Unknown if Self::converts(op.prim) => self.solve_conversion(op, &ty, force),
            Head::Unknown if is_logic(op.prim) => self.solve_not(op, &ty, force),
            Head::Unknown => self.keep(op, &ty, Self::rank_class(op.prim)),
            Head::Scalar => match self.leaf(op, &ty) {
                Some(s) => self.finish(op, &Self::scalar_result(op.prim, &s)),
                None => true,
            },
            Head::Array => {
                if op.prim == Prim::Un(Un::Neg) && self.compound_leaf(&ty) {
                    self.require_space(&ty, span, "`-`");
                    return self.finish(op, &ty);
                }
                match self.leaf(op, &ty) {
                    Some(_) => {
                        let res = self.map_leaf(&ty, op.prim);
                        self.finish(op, &res)
                    }
                    None => true,
                }
            }
            Head::Compound if op.prim == Prim::Un(Un::Neg) => {
                self.require_space(&ty, span, "`-`");
                self.finish(op, &ty)
            }
            Head::Compound | Head::Bad => self.reject(op, &ty, span),
        }
    }

    /// The array type with the operator applied to its element type.
    pub(super) fn map_leaf(&self, t: &Ty, prim: Prim) -> Ty {
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

    /// Requires data with at least one real leaf; a variable may have one. Types that are not known yet are checked at
    /// the end.
    fn require_space(&mut self, t: &Ty, span: Span, op: &'static str) {
        // Parts of ranks are combined inside of `comm.each`.
        let deep = self.resolve_deep(t);
        let class = if super::each::mentions(&deep) { Class::Space } else { Class::Diff };
        if self.require(class, t, span, op) {
            self.at_end.spaces.push((t.clone(), span, op));
        }
    }

    /// Reports additions of data without a real number.
    pub(super) fn check_spaces(&mut self) {
        for (t, span, op) in std::mem::take(&mut self.at_end.spaces) {
            if !self.has_real(&t, 0) {
                let d = classes::no_real_part(span, op, &self.show(&t));
                self.report(d);
            }
        }
    }

    /// Reports derivatives at data with only discrete parts: they would be that data again.
    pub(super) fn check_points(&mut self) {
        for (t, span, op) in std::mem::take(&mut self.at_end.points) {
            if !self.has_real(&t, 0) && !matches!(self.resolve(&t), Ty::Unit | Ty::Fun(..) | Ty::Lin(..)) {
                let d = derivatives::nothing_real(span, op, &self.show(&t));
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
                let r = self.vars.open_record(&r);
                r.tail.is_some() || r.fields.iter().any(|(_, t)| self.has_real(t, depth))
            }
            Ty::Data(id, args) => {
                args.iter().any(|a| self.has_real(a, depth))
                    || depth < 8
                        && self.tables.datas.get(&id).is_some_and(|d| {
                            d.cons
                                .iter()
                                .flat_map(|c| &c.fields)
                                .any(|f| !matches!(f, Ty::Var(_)) && self.has_real(f, depth + 1))
                        })
            }
            Ty::Unit | Ty::Bool | Ty::Int | Ty::Str | Ty::Fun(..) | Ty::Lin(..) => false,
        }
    }

    pub(super) fn solve_binary(&mut self, op: &OpConstraint, force: bool) -> bool {
        let ((left, sa), (right, sb)) = (op.args[0].clone(), op.args[1].clone());
        let additive = matches!(op.prim, Prim::Bin(Bin::Add | Bin::Sub));
        let scaling = matches!(op.prim, Prim::Bin(Bin::Mul | Bin::Div));
        let (ha, hb) = (self.operand(op.prim, &left), self.operand(op.prim, &right));
        match (ha, hb) {
            (Head::Bad, _) => self.reject(op, &left, sa),
            (_, Head::Bad) => self.reject(op, &right, sb),
            (Head::Scalar, Head::Scalar) => self.same(op, &left, &right),
            (Head::Array, Head::Array) => {
                if additive && (self.compound_leaf(&left) || self.compound_leaf(&right)) {
                    return self.same_compound(op, &left, &right);
                }
                self.arrays(op, force)
            }
            (Head::Array, Head::Scalar) => self.broadcast(op, &left, &right, sb),
            (Head::Scalar, Head::Array) => self.broadcast(op, &right, &left, sa),
            (Head::Compound, Head::Compound | Head::Unknown) | (Head::Unknown, Head::Compound) if additive => {
                self.same_compound(op, &left, &right)
            }
            (Head::Compound, Head::Scalar) if scaling => self.scale(op, &left, &right, sa, sb),
            (Head::Scalar, Head::Compound) if op.prim == Prim::Bin(Bin::Mul) => self.scale(op, &right, &left, sb, sa),
            (Head::Compound, Head::Unknown) if scaling => self.scale(op, &left, &right, sa, sb),
            (Head::Unknown, Head::Compound) if op.prim == Prim::Bin(Bin::Mul) => self.scale(op, &right, &left, sb, sa),
            (Head::Compound, _) | (_, Head::Compound) => self.not_elementwise(op, &left, &right),
            (Head::Unknown, _) | (_, Head::Unknown) => self.solve_unknown(op, force),
        }
    }

    fn not_elementwise(&mut self, op: &OpConstraint, a: &Ty, b: &Ty) -> bool {
        let name = classes::quoted(Self::op_name(op.prim));
        let d = classes::not_elementwise(op.span, &name, (op.args[0].1, &self.show(a)), (op.args[1].1, &self.show(b)));
        self.report(d);
        true
    }

    /// Unifies both operands and the result.
    pub(super) fn same(&mut self, op: &OpConstraint, left: &Ty, right: &Ty) -> bool {
        if self.report_mixed_numbers(op) {
            return true;
        }
        let why = Reason::right(Self::op_name(op.prim), op.args[0].1, left);
        if !self.expect(left, right, op.args[1].1, &why) {
            return true;
        }
        match self.leaf(op, left) {
            // Of two sizes keep the more precise one.
            Some(_) => {
                let res = self.sharper(left, right);
                self.finish(op, &self.map_leaf(&res, op.prim))
            }
            None => true,
        }
    }

    /// Reports operands with different number types.
    pub(super) fn report_mixed_numbers(&mut self, op: &OpConstraint) -> bool {
        let [(a, sa), (b, sb)] = [&op.args[0], &op.args[1]];
        let Some(fix) = self.mixed(op, a, b) else { return false };
        let edit = self.converted_operand((a, op.operand_place(0)), (b, op.operand_place(1)));
        let mixed = MixedNumbers {
            op: classes::quoted(Self::op_name(op.prim)),
            left: (*sa, self.show(a)),
            right: (*sb, self.show(b)),
            fix,
            edit,
        };
        self.report(mixed.diagnostic());
        true
    }

    /// The operand to convert if the number types of two operands differ, and its conversion.
    fn converted_operand(&self, (a, sa): (&Ty, Span), (b, sb): (&Ty, Span)) -> Option<(Span, String)> {
        let (at, f) = match (self.bottom(a), self.bottom(b)) {
            (Ty::Int, Ty::Float | Ty::Meta(_)) => (sa, "float"),
            (Ty::Float | Ty::Meta(_), Ty::Int) => (sb, "float"),
            (Ty::F32, Ty::Float) => (sa, "to_float"),
            (Ty::Float, Ty::F32) => (sb, "to_float"),
            (Ty::Int, Ty::F32) => (sa, "to_f32"),
            (Ty::F32, Ty::Int) => (sb, "to_f32"),
            _ => return None,
        };
        Some((at, super::unify_errors::conversion(f, self.host.text(at))))
    }

    /// An operand as text beside an operator in a hint.
    fn operand_text(&self, span: Span, op: &str) -> String {
        let t = self.host.text(span);
        let operators = [" + ", " - ", " * ", " / ", " // ", " % ", " @ ", " ^ "];
        match t.is_empty() || t.len() > 30 || t.contains('\n') {
            true => "...".to_owned(),
            false if op != "+" && operators.iter().any(|o| t.contains(o)) && !t.starts_with(['(', '[']) => {
                format!("({t})")
            }
            false => t.to_owned(),
        }
    }

    /// A hint if the number types of two operands differ.
    fn mixed(&self, op: &OpConstraint, first: &Ty, second: &Ty) -> Option<String> {
        if op.prim == Prim::Bin(Bin::IntDiv) {
            return None;
        }
        let number = |ty: &Ty| {
            let mut t = self.resolve(ty);
            while let Ty::Array(_, e) = t {
                t = self.resolve(&e);
            }
            match t {
                Ty::Meta(m) if self.vars[m].scalar => {
                    let real = self.vars[m].has(Class::Real);
                    // An undetermined literal fits every number type, but a real literal does not become an Int.
                    if real { Some((Ty::Float, true)) } else { None }
                }
                t @ (Ty::Int | Ty::Float | Ty::F32) => Some((t, false)),
                _ => None,
            }
        };
        let ((left_ty, free_x), (right_ty, free_y)) = (number(first)?, number(second)?);
        let (sa, sb) = (op.operand_place(0), op.operand_place(1));
        let name = Self::op_name(op.prim).trim_matches('`');
        let whole = |left: String, right: String| {
            let infix = !name.starts_with(|c: char| c.is_alphabetic());
            if infix {
                format!("convert one: `{left} {name} {right}`")
            } else {
                format!("convert one: `{name} {} {}`", atom(&left), atom(&right))
            }
        };
        let text = |s: Span| self.operand_text(s, name);
        match (&left_ty, &right_ty) {
            (Ty::Int, Ty::Float) => Some(whole(self.converted("float", sa), text(sb))),
            (Ty::Float, Ty::Int) => Some(whole(text(sa), self.converted("float", sb))),
            (Ty::F32, Ty::Float) if !free_y => Some(whole(self.converted("to_float", sa), text(sb))),
            (Ty::Float, Ty::F32) if !free_x => Some(whole(text(sa), self.converted("to_float", sb))),
            (Ty::Int, Ty::F32) => Some(whole(self.converted("to_f32", sa), text(sb))),
            (Ty::F32, Ty::Int) => Some(whole(text(sa), self.converted("to_f32", sb))),
            _ => None,
        }
    }

    pub(super) fn sharper(&self, a: &Ty, b: &Ty) -> Ty {
        match (self.resolve(a), self.resolve(b)) {
            (Ty::Array(m, x), Ty::Array(n, y)) => {
                let m = self.resolve_size(m);
                let size = if m == crate::ty::Size::Unknown { self.resolve_size(n) } else { m };
                array(size, self.sharper(&x, &y))
            }
            (a, _) => a,
        }
    }

    pub(super) fn same_compound(&mut self, op: &OpConstraint, a: &Ty, b: &Ty) -> bool {
        let why = Reason::right(Self::op_name(op.prim), op.args[0].1, a);
        if self.expect(a, b, op.args[1].1, &why) {
            self.require_space(a, op.span, Self::op_name(op.prim));
        }
        self.finish(op, a)
    }

    pub(super) fn broadcast(&mut self, op: &OpConstraint, arr: &Ty, scalar: &Ty, span: Span) -> bool {
        if self.compound_leaf(arr) && matches!(op.prim, Prim::Bin(Bin::Mul | Bin::Div)) {
            return self.scale(op, arr, scalar, op.span, span);
        }
        if self.report_mixed_numbers(op) {
            return true;
        }
        let Some(leaf) = self.leaf(op, arr) else { return true };
        let why =
            Reason::new(format!("the number that {} spreads over the array", classes::quoted(Self::op_name(op.prim))));
        self.expect(&leaf, scalar, span, &why);
        self.finish(op, &self.map_leaf(arr, op.prim))
    }

    pub(super) fn scale(&mut self, op: &OpConstraint, data: &Ty, scalar: &Ty, sd: Span, ss: Span) -> bool {
        self.require_space(data, sd, Self::op_name(op.prim));
        self.make_scalar(scalar);
        self.require(Class::Real, scalar, ss, Self::op_name(op.prim));
        self.finish(op, data)
    }
}

/// Whether an operator combines Bools.
pub(super) fn is_logic(p: Prim) -> bool {
    matches!(p, Prim::Number(NumberFn::Not | NumberFn::AndEach | NumberFn::OrEach))
}

/// The text in parentheses unless it is one word.
fn atom(text: &str) -> String {
    if text.contains(' ') && !text.starts_with('(') { format!("({text})") } else { text.to_owned() }
}

//! Operator constraints of a written signature: `(a @ b : c) => a -> b -> c`.

use super::op_constraints::OpConstraint;
use super::{Infer, ops};
use crate::errors::constraints;
use crate::print::{INFIX, spelling};
use crate::ty::{Class, Constraint, OperationSite, Ty, TyVar};
use adl_prim::{ArrayFn, Prim};
use adl_syntax::ast;
use std::rc::Rc;

fn spelled(name: &str) -> Option<Prim> {
    INFIX
        .iter()
        .find(|(_, text)| *text == name)
        .map(|(p, _)| *p)
        .or_else(|| Prim::by_name(name).filter(|p| ops::is_constraint(*p)))
}

impl Infer<'_> {
    /// Adds an operator constraint of a signature.
    pub(super) fn give(&mut self, op: ast::Ident, args: &[ast::Type], res: &ast::Type) {
        let Some(prim) = spelled(op.name.as_str()).filter(|p| usize::from(ops::operands(*p)) == args.len()) else {
            self.report(constraints::no_operator(op.span, op.name.as_str()));
            return;
        };
        let operands = args.iter().map(|t| t.span).collect();
        let args = args.iter().map(|t| self.annotation(t)).collect();
        let res = self.annotation(res);
        let place = OperationSite { span: op.span, operands, within: self.enclosing.defining.last().map(|d| d.0) };
        self.annotated.given.push(Constraint { prim, args, res, at: Rc::new(place) });
    }

    /// Whether a constraint of the signature mentions a variable.
    pub(super) fn is_given(&self, v: TyVar) -> bool {
        self.annotated.given.iter().any(|c| c.args.iter().chain([&c.res]).any(|t| self.bottom(t) == Ty::Var(v)))
    }

    /// Solves an operator by a constraint of the signature.
    pub(super) fn solve_given(&mut self, op: &OpConstraint) -> bool {
        if self.annotated.given.is_empty() {
            return false;
        }
        let args: Vec<Ty> = op.args.iter().map(|a| self.resolve_deep(&a.0)).collect();
        let same = |t: &Ty, a: &Ty| self.resolve_deep(t) == *a;
        let of = |fits: &dyn Fn(&Ty, &Ty) -> bool| {
            self.annotated
                .given
                .iter()
                .find(|c| c.prim == op.prim && c.args.iter().zip(&args).all(|(t, a)| fits(t, a)))
                .cloned()
        };
        let literals = |t: &Ty, a: &Ty| {
            same(t, a)
                || (op.prim == Prim::Array(ArrayFn::Where)
                    || matches!(op.prim, Prim::CompareEach(_))
                    || self.rank(a) > 0)
                    && self.is_of_literals(t, a)
        };
        let Some(promised) = of(&same).or_else(|| of(&literals)) else { return false };
        for (t, a) in promised.args.iter().zip(&args) {
            let _ = self.unify(t, a);
        }
        self.finish(op, &promised.res)
    }

    /// Whether an operand's number type is still undetermined, as for literals, so that it may equal the promised type.
    /// Beside a single number, an elementwise operator needs no constraint.
    fn is_of_literals(&self, promised: &Ty, operand: &Ty) -> bool {
        let (number, literal) = (self.bottom(promised), self.bottom(operand));
        let fits = match (&number, &literal) {
            (Ty::Var(_) | Ty::Float | Ty::F32, Ty::Meta(_)) => true,
            (Ty::Int, Ty::Meta(m)) => !self.vars[*m].has(Class::Real),
            _ => false,
        };
        let open = fits && self.is_number(&number) && self.is_number(&literal);
        open && self.with_leaf(operand, &number) == self.resolve_deep(promised)
    }

    /// Reports operators on type variables of a signature that does not list them.
    pub(super) fn check_promised(&mut self, ops: Vec<OpConstraint>) -> Vec<OpConstraint> {
        let (kept, missing): (Vec<OpConstraint>, Vec<OpConstraint>) =
            ops.into_iter().partition(|op| !self.only_rigid(op) || self.like_an_operand(op));
        for op in missing {
            let d = constraints::not_promised(op.span, &self.operation_shown(&op), &self.constraint_shown(&op));
            self.report(d);
        }
        kept
    }

    fn only_rigid(&self, op: &OpConstraint) -> bool {
        let mut open = op.args.iter().map(|a| self.bottom(&a.0)).filter(|t| !self.is_number(t)).peekable();
        open.peek().is_some()
            && open.all(
                |t| matches!(t, Ty::Var(v) if self.annotated.rigid.get(&v).is_some_and(|(_, name)| !name.as_str().is_empty())),
            )
    }

    /// Whether classes suffice: a number beside an operand whose type the result has.
    fn like_an_operand(&self, op: &OpConstraint) -> bool {
        let res = self.resolve_deep(&op.res);
        op.args.iter().any(|a| self.is_number(&a.0)) && op.args.iter().any(|a| self.resolve_deep(&a.0) == res)
    }

    /// An operation with its operand types, as text.
    pub(super) fn operation_shown(&self, op: &OpConstraint) -> String {
        let (name, infix) = spelling(op.prim);
        let args: Vec<String> = op.args.iter().map(|a| self.show(&a.0)).collect();
        match args.as_slice() {
            [a, b] if infix => format!("{a} {name} {b}"),
            _ => format!("{name} {}", args.join(" ")),
        }
    }

    fn constraint_shown(&self, op: &OpConstraint) -> String {
        format!("{} : c", self.operation_shown(op))
    }

    /// The classes of a variable of a signature.
    pub(super) fn rigid_classes(&self, v: TyVar) -> Vec<Class> {
        self.annotated.rigid.get(&v).map_or_else(Vec::new, |(classes, _)| classes.clone())
    }
}

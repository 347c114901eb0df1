//! Calls under `lin`: of primitives by their rows, of functions by their bodies, of others by their arrows.

use super::{Call, Checker, Dependence, Frame, FunctionDefinition, LinearResult, discrete};
use super::{Free, Linear};
use crate::core::{Expr, ExprKind, GlobalId, Lambda};
use crate::errors::linearity::Nonlinearity;
use crate::ty::Ty;
use adl_prim::{ArrayFn, Fold, Linearity, NumberFn, Prim, Un};
use adl_syntax::span::Span;
use std::rc::Rc;

/// What a function is.
#[derive(Clone)]
pub(super) enum Callee {
    /// A function literal, and the frame of the locals that it mentions.
    Lambda(Rc<Lambda>, usize),
    /// A definition whose body is not being checked already.
    Defined(GlobalId, FunctionDefinition),
    /// A primitive.
    Prim(Prim),
    /// A function of which only the type is known.
    Of(Ty),
}

/// An argument of a call of a definition.
struct Argument {
    kind: Dependence,
    zero: bool,
    function: Option<Callee>,
}

impl Checker<'_> {
    /// What the function is that an expression is, or that it refers to by name.
    fn callee(&self, function: &Expr) -> Callee {
        let known = match &*function.kind {
            ExprKind::Lam(l) => Some(Callee::Lambda(l.clone(), self.current)),
            ExprKind::Local(l) => self.frame().functions.get(l).cloned(),
            ExprKind::Global(id) if !self.open.contains(id) => {
                // What was written with `lin` has been checked.
                let found = self.definitions.get(id).filter(|d| !d.lambda.linear);
                found.map(|d| Callee::Defined(*id, d.clone()))
            }
            ExprKind::Prim(p, _) => Some(Callee::Prim(*p)),
            ExprKind::Inst(f, _) | ExprKind::Abs(_, f) => Some(self.callee(f)),
            _ => None,
        };
        known.unwrap_or_else(|| Callee::Of(function.ty.clone()))
    }

    pub(super) fn apply(&mut self, expr: &Expr, args: &[Expr], whole: &Expr) -> LinearResult<Dependence> {
        let callee = self.callee(expr);
        match &callee {
            Callee::Prim(p) => return self.primitive(*p, args, whole),
            Callee::Lambda(l, frame) if l.params.len() == args.len() => {
                let kinds = args.iter().map(|a| self.expr(a)).collect::<LinearResult<Vec<Dependence>>>()?;
                return self.lambda(l, *frame, &kinds);
            }
            Callee::Defined(id, d) if d.lambda.params.len() == args.len() => {
                let args = args.iter().map(|a| self.argument(a)).collect::<LinearResult<Vec<Argument>>>()?;
                return self.defined(*id, d, args, expr.span);
            }
            Callee::Lambda(..) | Callee::Defined(..) | Callee::Of(_) => {}
        }
        let function = self.expr(expr)?;
        let kinds = args.iter().map(|a| self.expr(a)).collect::<LinearResult<Vec<Dependence>>>()?;
        if function == Free && kinds.iter().all(|k| *k == Free) {
            return Ok(Free);
        }
        // In `h a x` only the arrow of the linear argument must be `-o`.
        let mut t = if let Callee::Of(t) = &callee { t } else { &expr.ty };
        for k in &kinds {
            match t {
                Ty::Lin(_, r) => t = r,
                Ty::Fun(_, r) => {
                    if *k == Linear {
                        return Err(self.fault(Nonlinearity::PlainFunction, expr.span));
                    }
                    t = r;
                }
                _ => break,
            }
        }
        Ok(if discrete(&whole.ty) { Free } else { Linear })
    }

    fn argument(&mut self, e: &Expr) -> LinearResult<Argument> {
        if !matches!(e.ty, Ty::Fun(..) | Ty::Lin(..)) {
            return Ok(Argument { kind: self.expr(e)?, zero: self.is_zero(e), function: None });
        }
        let callee = self.callee(e);
        // What a function literal captures is seen where it is applied.
        let kind = if let Callee::Lambda(..) = callee { Free } else { self.expr(e)? };
        Ok(Argument { kind, zero: false, function: Some(callee) })
    }

    /// The kind of a call of a definition, by its body.
    fn defined(
        &mut self,
        id: GlobalId,
        definition: &FunctionDefinition,
        args: Vec<Argument>,
        span: Span,
    ) -> LinearResult<Dependence> {
        let literals = args.iter().any(|a| matches!(a.function, Some(Callee::Lambda(..))));
        if !literals && args.iter().all(|a| a.kind == Free) {
            return Ok(Free);
        }
        let plain = args.iter().all(|a| a.function.is_none() && !a.zero);
        let key = (id, args.iter().map(|a| a.kind).collect());
        if let Some(known) = self.known.get(&key).filter(|_| plain) {
            return Ok(*known);
        }
        let name = definition.lambda.name.map_or_else(|| "this function".to_owned(), |n| n.to_string());
        let call = self.frame().call.clone().unwrap_or(Call { name, span, internal: definition.internal });
        let mut frame = Frame { call: Some(call), ..Frame::default() };
        for (p, a) in definition.lambda.params.iter().zip(args) {
            if a.zero {
                frame.zeros.insert(p.local);
            }
            frame.functions.extend(a.function.map(|f| (p.local, f)));
        }
        self.frames.push(frame);
        self.open.push(id);
        let out = self.lambda(&definition.lambda, self.frames.len() - 1, &key.1);
        self.open.pop();
        self.frames.pop();
        if let (Ok(kind), true) = (&out, plain) {
            self.known.insert(key, *kind);
        }
        out
    }

    fn primitive(&mut self, prim: Prim, args: &[Expr], whole: &Expr) -> LinearResult<Dependence> {
        let row = prim.row();
        let op = spelled(prim);
        match row.linearity {
            Linearity::Mapped => return self.mapped(args),
            Linearity::Folded(f) => return self.folded(f, op, args, whole),
            _ => {}
        }
        let kinds = args.iter().map(|a| self.expr(a)).collect::<LinearResult<Vec<Dependence>>>()?;
        if kinds.iter().all(|k| *k == Free) {
            return Ok(Free);
        }
        if matches!(prim, Prim::Array(ArrayFn::Len | ArrayFn::Shape | ArrayFn::Rank)) {
            return Ok(Free);
        }
        match row.linearity {
            Linearity::None | Linearity::Mapped | Linearity::Folded(_) => Err(self.not_linear(op, whole.span)),
            Linearity::Joint => {
                for (a, k) in args.iter().zip(&kinds) {
                    if *k == Free && !self.is_zero(a) {
                        return Err(self.fault(Nonlinearity::Constant(&format!("`{op}`")), a.span));
                    }
                }
                Ok(Linear)
            }
            Linearity::In(places) => {
                let mut linear_zero = Ok(());
                for (i, k) in kinds.iter().enumerate() {
                    let here = places.contains(&(i as u8));
                    if *k == Linear && !here {
                        return Err(self.not_linear(op, args[i].span));
                    }
                    if *k == Free && here && places.len() > 1 && !self.is_zero(&args[i]) {
                        linear_zero = Err(self.fault(Nonlinearity::Constant(&format!("`{op}`")), args[i].span));
                    }
                }
                linear_zero.map(|()| Linear)
            }
            Linearity::Bilinear => {
                if kinds.iter().filter(|k| **k == Linear).count() > 1 {
                    return Err(self.fault(Nonlinearity::BothSides(op), whole.span));
                }
                Ok(Linear)
            }
        }
    }

    /// `map f xs ...`.
    fn mapped(&mut self, args: &[Expr]) -> LinearResult<Dependence> {
        let [f, data @ ..] = args else { return Ok(Free) };
        let kinds = data.iter().map(|a| self.expr(a)).collect::<LinearResult<Vec<Dependence>>>()?;
        self.applied(f, &kinds)
    }

    /// The kind of the result of a function applied to elements of these kinds.
    fn applied(&mut self, expr: &Expr, kinds: &[Dependence]) -> LinearResult<Dependence> {
        let callee = self.callee(expr);
        match &callee {
            Callee::Lambda(l, frame) if l.params.len() == kinds.len() => return self.lambda(l, *frame, kinds),
            Callee::Defined(id, d) if d.lambda.params.len() == kinds.len() => {
                let given = kinds.iter().map(|k| Argument { kind: *k, zero: false, function: None });
                return self.defined(*id, d, given.collect(), expr.span);
            }
            _ => {}
        }
        if kinds.iter().all(|k| *k == Free) {
            return self.expr(expr);
        }
        let linear = kinds.iter().filter(|k| **k == Linear).count();
        if let Callee::Prim(p) = callee {
            let fits = match p.row().linearity {
                Linearity::Joint => linear == kinds.len(),
                Linearity::Bilinear => linear == 1,
                // All arguments except the one in the linear position must be free.
                Linearity::In([at]) => linear == 1 && kinds.get(*at as usize) == Some(&Linear),
                Linearity::In(_) | Linearity::None | Linearity::Mapped | Linearity::Folded(_) => false,
            };
            return if fits { Ok(Linear) } else { Err(self.not_linear(spelled(p), expr.span)) };
        }
        // A function of several arguments is only known to be linear in each `-o` argument while the others are free.
        let arrow = kinds.iter().position(|k| *k == Linear).unwrap_or_default();
        let mut t = if let Callee::Of(t) = &callee { t } else { &expr.ty };
        for _ in 0..arrow {
            if let Ty::Fun(_, r) | Ty::Lin(_, r) = t {
                t = r;
            }
        }
        match t {
            Ty::Lin(..) if linear == 1 => Ok(Linear),
            _ => Err(self.fault(Nonlinearity::PlainMapped, expr.span)),
        }
    }

    /// The kinds of a fold's arguments except the function. Only states and elements may be linear.
    fn fold_kinds(&mut self, fold: Fold, op: &str, args: &[Expr]) -> LinearResult<Vec<Dependence>> {
        let mut kinds = vec![Free; args.len()];
        for (i, a) in args.iter().enumerate().filter(|(i, _)| *i != fold.function as usize) {
            kinds[i] = self.expr(a)?;
            if kinds[i] == Linear && i != fold.elements as usize && !fold.states.contains(&(i as u8)) {
                return Err(self.not_linear(op, a.span));
            }
        }
        Ok(kinds)
    }

    /// A fold is linear, like a loop, if an initial state or a step is. Free initial states must then be zero.
    fn folded(&mut self, fold: Fold, op: &str, args: &[Expr], whole: &Expr) -> LinearResult<Dependence> {
        let at = |i: u8| args.get(i as usize);
        let (Some(function), Some(elements)) = (at(fold.function), at(fold.elements)) else {
            // A partial application: the arguments must be free.
            args.iter()
                .try_for_each(|a| self.free(a, "an argument of a function that is not applied to all of them"))?;
            return Ok(Free);
        };
        let kinds = self.fold_kinds(fold, op, args)?;
        let of = |i: u8| kinds.get(i as usize).copied().unwrap_or(Free);
        let element = if discrete(&elements.ty) { Free } else { of(fold.elements) };
        let mut state = if fold.states.iter().any(|i| of(*i) == Linear) { Linear } else { Free };
        let step = |me: &mut Self, state| {
            me.applied(function, &if fold.element_first { [element, state] } else { [state, element] })
        };
        let mut next = step(self, state);
        // An initial state of zero counts as linear.
        let zero = |me: &Self, i: &u8| of(*i) == Linear || at(*i).is_none_or(|e| me.is_zero(e));
        if state == Free && !next.as_ref().is_ok_and(|n| *n == Free) {
            let again = step(self, Linear);
            if next.is_ok() || again.is_ok() {
                (state, next) = (Linear, again);
            }
        }
        let next = next?;
        if state == Free {
            return Ok(Free);
        }
        if let Some(part) = fold.states.iter().find(|i| !zero(self, i)).and_then(|i| at(*i)) {
            return Err(self.fault(Nonlinearity::Constant(&format!("`{op}`")), part.span));
        }
        match next {
            Linear => Ok(Linear),
            // A step that ignores the state and is free must return zero.
            Free => match self.callee(function) {
                Callee::Lambda(l, _) if self.is_zero(&l.body) => Ok(Linear),
                _ => Err(self.not_linear(op, whole.span)),
            },
        }
    }
}

/// The name of a primitive in source programs.
fn spelled(p: Prim) -> &'static str {
    match p {
        Prim::Number(NumberFn::PowInt) => "^",
        Prim::Un(Un::Neg) => "-",
        Prim::Array(ArrayFn::Put) => "{x with [i] = v}",
        p => p.row().name,
    }
}

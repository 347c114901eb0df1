//! Decides whether the body of `lin x -> e` is linear in `x`, and reports the place where it is not.
//!
//! Every expression is *free* (independent of the linear variables) or *linear* (jointly linear in the linear variables
//! it mentions).

use crate::core::{Expr, ExprKind, Extent, ForKind, IndexArg, Lambda, Lit, Local, LoopKind, Tree};
use crate::errors::linearity::{self, Fault, Variables};
use crate::ty::Ty;
use adl_prim::{ArrayFn, Bin, Fold, GeneralFn, Linearity, NumberFn, Prim, ReductionFn, Un};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Dependence {
    Free,
    Linear,
}
use Dependence::{Free, Linear};

type Out<T> = Result<T, Box<Diagnostic>>;

struct Checker {
    kinds: HashMap<Local, Dependence>,
    /// Local functions; their bodies are checked where they are applied.
    functions: HashMap<Local, Rc<Lambda>>,
    /// Locals that are zero.
    zeros: HashSet<Local>,
    /// The linear variables by their source names, for messages.
    vars: Variables,
    depth: usize,
}

/// Checks the body of a `lin`; `line` is its place for messages.
pub(crate) fn check(lam: &Lambda, line: String) -> Result<(), Box<Diagnostic>> {
    let vars = Variables { names: names(lam), span: None, line };
    let mut c = Checker { kinds: HashMap::new(), functions: HashMap::new(), zeros: HashSet::new(), vars, depth: 0 };
    for p in &lam.params {
        c.kinds.insert(p.local, Linear);
    }
    let kind = c.expr(&lam.body)?;
    c.result(kind, &lam.body)
}

/// The source names of the parameter: of the variable, or of all variables that its pattern binds.
fn names(lam: &Lambda) -> Vec<String> {
    let mut body = &lam.body;
    while let ExprKind::Sizes(_, inner) = &*body.kind {
        body = inner;
    }
    let of_pattern = || match &*body.kind {
        ExprKind::Match(s, _, _, arms)
            if arms.len() == 1
                && matches!(&*s.kind, ExprKind::Local(l) if lam.params.iter().any(|p| p.local == *l)) =>
        {
            arms[0].vars.iter().map(|(_, n, _)| n.to_string()).collect()
        }
        _ => Vec::new(),
    };
    match lam.params.iter().find_map(|p| p.name) {
        Some(n) => vec![n.to_string()],
        None => of_pattern(),
    }
}

/// Whether a type has no real leaf, so that linearity does not concern it.
fn discrete(t: &Ty) -> bool {
    match t {
        Ty::Unit | Ty::Bool | Ty::Int | Ty::Str => true,
        Ty::Array(_, e) => discrete(e),
        Ty::Tuple(ps) => ps.iter().all(discrete),
        Ty::Record(r) => r.tail.is_none() && r.fields.iter().all(|(_, t)| discrete(t)),
        Ty::Float | Ty::F32 | Ty::Var(_) | Ty::Meta(_) | Ty::Fun(..) | Ty::Lin(..) | Ty::Data(..) => false,
    }
}

impl Checker {
    /// Whether an expression is zero, or data whose numbers are all zero.
    fn is_zero(&self, expr: &Expr) -> bool {
        match &*expr.kind {
            ExprKind::Lit(Lit::Float(x)) => *x == 0.0,
            ExprKind::Lit(Lit::F32(x)) => *x == 0.0,
            ExprKind::Lit(Lit::Int(0)) | ExprKind::IntAt(0, _) => true,
            ExprKind::FloatAt(x, _) => *x == 0.0,
            ExprKind::Prim(Prim::General(GeneralFn::Zero), _) => true,
            ExprKind::Local(l) if self.zeros.contains(l) => true,
            ExprKind::App(f, args) => match &*f.kind {
                ExprKind::Prim(Prim::Array(ArrayFn::Replicate), _) => args.len() == 2 && self.is_zero(&args[1]),
                ExprKind::Prim(Prim::Bin(Bin::Mul), _) => args.iter().any(|a| self.is_zero(a)),
                ExprKind::Prim(Prim::Un(Un::Neg), _) => args.iter().all(|a| self.is_zero(a)),
                _ => false,
            },
            // A constructor fixes the structure, not a magnitude: data whose numbers are all zero counts as zero.
            ExprKind::Con(_, es) | ExprKind::Tuple(es) | ExprKind::Array(es) => {
                es.iter().all(|e| self.is_zero(e) || discrete(&e.ty))
            }
            ExprKind::Record(fs) => fs.iter().all(|(_, e)| self.is_zero(e) || discrete(&e.ty)),
            ExprKind::If(_, a, b) => self.is_zero(a) && self.is_zero(b),
            ExprKind::Let(_, _, _, b) | ExprKind::For(_, _, b, _) | ExprKind::Sizes(_, b) => self.is_zero(b),
            _ => discrete(&expr.ty),
        }
    }

    fn fault(&self, fault: Fault<'_>, span: Span) -> Box<Diagnostic> {
        Box::new(linearity::diagnostic(fault, span, &self.vars))
    }

    fn result(&self, kind: Dependence, e: &Expr) -> Out<()> {
        if kind == Free && !self.is_zero(e) {
            return Err(self.fault(Fault::NoDependence, e.span));
        }
        Ok(())
    }

    /// Components of one value: if some are linear, every free component must be zero.
    fn joint(&mut self, parts: &[&Expr], what: &str) -> Out<Dependence> {
        let kinds = parts.iter().map(|e| self.expr(e)).collect::<Out<Vec<Dependence>>>()?;
        if kinds.iter().all(|k| *k == Free) {
            return Ok(Free);
        }
        for (e, k) in parts.iter().zip(&kinds) {
            if *k == Free && !self.is_zero(e) {
                return Err(self.fault(Fault::Constant(what), e.span));
            }
        }
        Ok(Linear)
    }

    /// Requires that an expression is free.
    fn free(&mut self, e: &Expr, what: &str) -> Out<()> {
        match self.expr(e)? {
            Free => Ok(()),
            Linear => Err(self.fault(Fault::Depends(what), e.span)),
        }
    }

    fn bind(&mut self, l: Local, k: Dependence) {
        self.kinds.insert(l, k);
    }

    fn expr(&mut self, e: &Expr) -> Out<Dependence> {
        adl_syntax::stop::poll();
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.expr_inner(e))
    }

    fn expr_inner(&mut self, expr: &Expr) -> Out<Dependence> {
        match &*expr.kind {
            ExprKind::Lit(_)
            | ExprKind::IntAt(..)
            | ExprKind::FloatAt(..)
            | ExprKind::Global(_)
            | ExprKind::Prim(..) => Ok(Free),
            ExprKind::Local(l) => {
                // Numbers of the input that have no tangent (sizes, indices) count as free.
                let k = self.kinds.get(l).copied().unwrap_or(Free);
                Ok(if discrete(&expr.ty) { Free } else { k })
            }
            ExprKind::Abs(_, e) | ExprKind::Inst(e, _) => self.expr(e),
            ExprKind::Lam(l) => {
                // A function is checked where it is applied. A returned function must not capture linear variables.
                let inner = self.lambda(l, &vec![Free; l.params.len()])?;
                if inner == Linear {
                    return Err(self.fault(Fault::Captured, expr.span));
                }
                Ok(Free)
            }
            ExprKind::App(f, args) => self.apply(f, args, expr),
            ExprKind::Con(_, args) | ExprKind::Tuple(args) | ExprKind::Array(args) => {
                self.joint(&args.iter().collect::<Vec<_>>(), "this")
            }
            ExprKind::Record(fs) => self.joint(&fs.iter().map(|(_, e)| e).collect::<Vec<_>>(), "this record"),
            ExprKind::Update(r, fs) => {
                self.joint(&std::iter::once(r).chain(fs.iter().map(|(_, e)| e)).collect::<Vec<_>>(), "this record")
            }
            ExprKind::Item(a, _) | ExprKind::Field(a, _) => {
                let k = self.expr(a)?;
                Ok(if discrete(&expr.ty) { Free } else { k })
            }
            ExprKind::Let(l, _, a, b) => {
                if let ExprKind::Lam(lam) = &*a.kind {
                    self.functions.insert(*l, lam.clone());
                } else {
                    let k = self.expr(a)?;
                    self.bind(*l, k);
                    if self.is_zero(a) {
                        self.zeros.insert(*l);
                    }
                }
                self.expr(b)
            }
            ExprKind::LetRec(bs, b) => {
                for (_, _, f) in bs {
                    self.free(f, "a recursive function inside `lin`")?;
                }
                self.expr(b)
            }
            ExprKind::Sizes(_, b) => self.expr(b),
            ExprKind::If(c, a, b) => {
                self.free(c, "the condition of `if`")?;
                self.joint(&[a, b], "this `if`")
            }
            ExprKind::Match(s, root, tree, arms) => {
                let k = self.expr(s)?;
                self.bind(*root, k);
                self.tree(tree, k, s)?;
                for arm in arms {
                    for (l, _, _) in &arm.vars {
                        self.bind(*l, k);
                    }
                    if let Some(g) = &arm.guard {
                        self.free(g, "a guard")?;
                    }
                }
                let bodies: Vec<&Expr> = arms.iter().map(|a| &a.body).collect();
                self.joint(&bodies, "this `match`")
            }
            ExprKind::Index(a, args) => {
                for i in args {
                    let parts: Vec<&Expr> = match i {
                        IndexArg::At(e) => vec![e],
                        IndexArg::Slice(lo, hi) => lo.iter().chain(hi).collect(),
                    };
                    for p in parts {
                        self.free(p, "an index")?;
                    }
                }
                let k = self.expr(a)?;
                Ok(if discrete(&expr.ty) { Free } else { k })
            }
            ExprKind::For(kind, vars, body, _) => {
                for (l, _, extent) in vars {
                    if let Extent::Bound(n) = extent {
                        self.free(n, "the bound of an index")?;
                    }
                    self.bind(*l, Free);
                }
                let k = self.expr(body)?;
                match kind {
                    ForKind::Build | ForKind::Reduce(ReductionFn::Sum | ReductionFn::Mean) => Ok(k),
                    ForKind::Reduce(p) if k == Linear => Err(self.not_linear(p.row().name, expr.span)),
                    ForKind::Reduce(_) => Ok(Free),
                }
            }
            ExprKind::Guard(c, b, _) => {
                self.free(c, "the condition of `[| |]`")?;
                self.expr(b)
            }
            ExprKind::Loop(state, init, kind, body) => self.loop_(*state, init, kind, body),
            ExprKind::Interp(es) => {
                for e in es {
                    self.free(e, "a text")?;
                }
                Ok(Free)
            }
        }
    }

    /// The state of a loop is linear if its initial value or its next value is. Both must then map zero to zero.
    fn loop_(&mut self, state: Local, init: &Expr, kind: &LoopKind, body: &Expr) -> Out<Dependence> {
        let first = self.expr(init)?;
        let mut dependence = first;
        let mut next = self.turn(state, dependence, kind, body);
        // A state that starts free may become linear; zero counts as both.
        if dependence == Free && (next.as_ref().is_ok_and(|n| *n == Linear) || next.is_err() && self.is_zero(init)) {
            dependence = Linear;
            next = self.turn(state, dependence, kind, body);
        }
        let next = next?;
        for (part, is) in [(init, first), (body, next)] {
            if dependence == Linear && is == Free && !self.is_zero(part) {
                return Err(self.fault(Fault::Constant("this loop"), part.span));
            }
        }
        Ok(dependence)
    }

    /// The kind of the next state after one iteration.
    fn turn(&mut self, state: Local, k: Dependence, kind: &LoopKind, body: &Expr) -> Out<Dependence> {
        self.bind(state, k);
        match kind {
            LoopKind::For(i, n) => {
                self.free(n, "the number of rounds")?;
                self.bind(*i, Free);
            }
            LoopKind::While(c) => self.free(c, "the condition of the loop")?,
        }
        self.expr(body)
    }

    /// The parts that a tree binds have the scrutinee's kind. Branching requires a free (or discrete) scrutinee.
    fn tree(&mut self, t: &Tree, dependence: Dependence, expr: &Expr) -> Out<()> {
        let branching = |me: &Self| match dependence {
            Free => Ok(()),
            Linear => Err(me.fault(Fault::Branches, expr.span)),
        };
        match t {
            Tree::Leaf(..) | Tree::Fail => Ok(()),
            Tree::Guard(_, _, rest) => self.tree(rest, dependence, expr),
            Tree::Parts(parts, rest) => {
                for (l, _, _) in parts {
                    self.bind(*l, dependence);
                }
                self.tree(rest, dependence, expr)
            }
            Tree::Con(_, cases, default) => {
                // A match with a single constructor does not branch.
                if cases.len() + usize::from(default.is_some()) > 1 {
                    branching(self)?;
                }
                for (_, fields, sub) in cases {
                    for l in fields {
                        self.bind(*l, dependence);
                    }
                    self.tree(sub, dependence, expr)?;
                }
                default.iter().try_for_each(|d| self.tree(d, dependence, expr))
            }
            Tree::Lit(_, _, _) => branching(self),
            Tree::Len(_, cases, default) => {
                for (_, elems, sub) in cases {
                    for l in elems {
                        self.bind(*l, dependence);
                    }
                    self.tree(sub, dependence, expr)?;
                }
                self.tree(default, dependence, expr)
            }
        }
    }

    fn not_linear(&self, what: &str, span: Span) -> Box<Diagnostic> {
        self.fault(Fault::NotLinear(what), span)
    }

    fn lambda(&mut self, l: &Lambda, kinds: &[Dependence]) -> Out<Dependence> {
        self.depth += 1;
        if self.depth > 60 {
            return Err(self.fault(Fault::TooDeep, l.body.span));
        }
        for (p, k) in l.params.iter().zip(kinds) {
            self.bind(p.local, *k);
        }
        let out = self.expr(&l.body);
        self.depth -= 1;
        out
    }

    /// The lambda that an expression is, or that it refers to by name.
    fn as_lambda(&self, f: &Expr) -> Option<Rc<Lambda>> {
        match &*f.kind {
            ExprKind::Lam(l) => Some(l.clone()),
            ExprKind::Local(l) => self.functions.get(l).cloned(),
            ExprKind::Inst(f, _) | ExprKind::Abs(_, f) => self.as_lambda(f),
            _ => None,
        }
    }

    fn apply(&mut self, expr: &Expr, args: &[Expr], whole: &Expr) -> Out<Dependence> {
        if let ExprKind::Prim(p, _) = &*expr.kind {
            return self.primitive(*p, args, whole);
        }
        if let Some(l) = self.as_lambda(expr)
            && l.params.len() == args.len()
        {
            let kinds = args.iter().map(|a| self.expr(a)).collect::<Out<Vec<Dependence>>>()?;
            return self.lambda(&l, &kinds);
        }
        let callee = self.expr(expr)?;
        let kinds = args.iter().map(|a| self.expr(a)).collect::<Out<Vec<Dependence>>>()?;
        if callee == Free && kinds.iter().all(|k| *k == Free) {
            return Ok(Free);
        }
        // In `h a x` only the arrow of the linear argument must be `-o`.
        let mut t = &expr.ty;
        for k in &kinds {
            match t {
                Ty::Lin(_, r) => t = r,
                Ty::Fun(_, r) => {
                    if *k == Linear {
                        return Err(self.fault(Fault::PlainFunction, expr.span));
                    }
                    t = r;
                }
                _ => break,
            }
        }
        Ok(if discrete(&whole.ty) { Free } else { Linear })
    }

    fn primitive(&mut self, prim: Prim, args: &[Expr], whole: &Expr) -> Out<Dependence> {
        let row = prim.row();
        let op = spelled(prim);
        match row.linearity {
            Linearity::Mapped => return self.mapped(args),
            Linearity::Folded(f) => return self.folded(f, op, args, whole),
            _ => {}
        }
        let kinds = args.iter().map(|a| self.expr(a)).collect::<Out<Vec<Dependence>>>()?;
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
                        return Err(self.fault(Fault::Constant(&format!("`{op}`")), a.span));
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
                        linear_zero = Err(self.fault(Fault::Constant(&format!("`{op}`")), args[i].span));
                    }
                }
                linear_zero.map(|()| Linear)
            }
            Linearity::Bilinear => {
                if kinds.iter().filter(|k| **k == Linear).count() > 1 {
                    return Err(self.fault(Fault::BothSides(op), whole.span));
                }
                Ok(Linear)
            }
        }
    }

    /// `map f xs ...`.
    fn mapped(&mut self, args: &[Expr]) -> Out<Dependence> {
        let [f, data @ ..] = args else { return Ok(Free) };
        let kinds = data.iter().map(|a| self.expr(a)).collect::<Out<Vec<Dependence>>>()?;
        self.applied(f, &kinds)
    }

    /// The kind of the result of a function applied to elements of these kinds.
    fn applied(&mut self, expr: &Expr, kinds: &[Dependence]) -> Out<Dependence> {
        if let Some(l) = self.as_lambda(expr)
            && l.params.len() == kinds.len()
        {
            return self.lambda(&l, kinds);
        }
        if kinds.iter().all(|k| *k == Free) {
            return self.expr(expr);
        }
        let linear = kinds.iter().filter(|k| **k == Linear).count();
        if let ExprKind::Prim(p, _) = &*expr.kind {
            let fits = match p.row().linearity {
                Linearity::Joint => linear == kinds.len(),
                Linearity::Bilinear => linear == 1,
                // All arguments except the one in the linear position must be free.
                Linearity::In([at]) => linear == 1 && kinds.get(*at as usize) == Some(&Linear),
                Linearity::In(_) | Linearity::None | Linearity::Mapped | Linearity::Folded(_) => false,
            };
            return if fits { Ok(Linear) } else { Err(self.not_linear(spelled(*p), expr.span)) };
        }
        // A function of several arguments is only known to be linear in each `-o` argument while the others are free.
        let arrow = kinds.iter().position(|k| *k == Linear).unwrap_or_default();
        let mut t = &expr.ty;
        for _ in 0..arrow {
            if let Ty::Fun(_, r) | Ty::Lin(_, r) = t {
                t = r;
            }
        }
        match t {
            Ty::Lin(..) if linear == 1 => Ok(Linear),
            _ => Err(self.fault(Fault::PlainMapped, expr.span)),
        }
    }

    /// The kinds of a fold's arguments except the function. Only states and elements may be linear.
    fn fold_kinds(&mut self, fold: Fold, op: &str, args: &[Expr]) -> Out<Vec<Dependence>> {
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
    fn folded(&mut self, fold: Fold, op: &str, args: &[Expr], whole: &Expr) -> Out<Dependence> {
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
            return Err(self.fault(Fault::Constant(&format!("`{op}`")), part.span));
        }
        match next {
            Linear => Ok(Linear),
            // A step that ignores the state and is free must return zero.
            Free => match self.as_lambda(function) {
                Some(l) if self.is_zero(&l.body) => Ok(Linear),
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

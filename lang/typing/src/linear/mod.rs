//! Decides whether the body of `lin x -> e` is linear in `x`, and reports the place where it is not.
//!
//! Every expression is *free* (independent of the linear variables) or *linear* (jointly linear in the linear variables
//! it mentions). The bodies of functions are checked where these are applied, those of earlier definitions too: so a
//! definition needs no `lin` to be applied to linear variables, of any of its parameters.

mod calls;

use crate::core::{Arm, CoreLit, Expr, ExprKind, Extent, ForKind, GlobalId, IndexArg, Lambda, Local, LoopKind, Tree};
use crate::errors::linearity::{self, LinearVariables, Nonlinearity};
use crate::limits::linear::{MAX_BODIES, MAX_NESTED};
use crate::ty::Ty;
use adl_prim::{ArrayFn, Bin, GeneralFn, Prim, ReductionFn, Un};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use calls::Callee;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Dependence {
    Free,
    Linear,
}
use Dependence::{Free, Linear};

type LinearResult<T> = Result<T, Box<Diagnostic>>;

/// A definition that is a function.
#[derive(Clone)]
pub(crate) struct FunctionDefinition {
    /// The function.
    pub lambda: Rc<Lambda>,
    /// Whether it is of the standard library, so that messages do not speak of its body.
    pub internal: bool,
}

/// The definitions that are functions.
pub(crate) type Definitions = HashMap<GlobalId, FunctionDefinition>;

/// What is known about the locals of an item.
#[derive(Default)]
struct Frame {
    kinds: HashMap<Local, Dependence>,
    /// Local functions; their bodies are checked where they are applied.
    functions: HashMap<Local, Callee>,
    /// Locals that are zero.
    zeros: HashSet<Local>,
    /// For the body of a definition, the call of it that is checked.
    call: Option<Call>,
}

/// A call of a definition in the body of the `lin`.
#[derive(Clone)]
struct Call {
    name: String,
    span: Span,
    internal: bool,
}

struct Checker<'a> {
    definitions: &'a Definitions,
    /// The item of the `lin`, and the definitions whose bodies are being checked, each called by the one before.
    frames: Vec<Frame>,
    /// Whose locals the checked expression mentions.
    current: usize,
    /// The definitions whose bodies are being checked.
    open: Vec<GlobalId>,
    /// What calls of definitions have resulted in, by the kinds of their arguments.
    known: HashMap<(GlobalId, Vec<Dependence>), Dependence>,
    /// The linear variables by their source names, for messages.
    vars: LinearVariables,
    depth: usize,
    bodies: usize,
}

/// Checks the body of a `lin`; `line` is its place for messages.
pub(crate) fn check(lam: &Lambda, definitions: &Definitions, line: String) -> Result<(), Box<Diagnostic>> {
    let mut checker = Checker {
        definitions,
        frames: vec![Frame::default()],
        current: 0,
        open: Vec::new(),
        known: HashMap::new(),
        vars: LinearVariables { names: names(lam), span: None, line },
        depth: 0,
        bodies: 0,
    };
    for p in &lam.params {
        checker.bind(p.local, Linear);
    }
    let kind = checker.expr(&lam.body)?;
    checker.result(kind, &lam.body)
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

impl Checker<'_> {
    fn frame(&self) -> &Frame {
        &self.frames[self.current]
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frames[self.current]
    }

    /// Whether an expression is zero, or data whose numbers are all zero.
    fn is_zero(&self, expr: &Expr) -> bool {
        match &*expr.kind {
            ExprKind::Lit(CoreLit::Float(x)) => *x == 0.0,
            ExprKind::Lit(CoreLit::F32(x)) => *x == 0.0,
            ExprKind::Lit(CoreLit::Int(0)) | ExprKind::IntAt(0, _) => true,
            ExprKind::FloatAt(x, _) => *x == 0.0,
            ExprKind::Prim(Prim::General(GeneralFn::Zero), _) => true,
            ExprKind::Local(l) if self.frame().zeros.contains(l) => true,
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

    /// A message. If the fault is in the body of a definition, it is about the call of that.
    fn fault(&self, fault: Nonlinearity<'_>, span: Span) -> Box<Diagnostic> {
        Box::new(match &self.frame().call {
            None => linearity::diagnostic(fault, span, &self.vars),
            Some(call) => {
                let message = linearity::diagnostic(Nonlinearity::NotLinear(&call.name), call.span, &self.vars);
                if call.internal { message } else { message.hint(linearity::inside(fault, &call.name, &self.vars)) }
            }
        })
    }

    fn result(&self, kind: Dependence, e: &Expr) -> LinearResult<()> {
        if kind == Free && !self.is_zero(e) {
            return Err(self.fault(Nonlinearity::NoDependence, e.span));
        }
        Ok(())
    }

    /// Components of one value: if some are linear, every free component must be zero.
    fn joint(&mut self, parts: &[&Expr], what: &str) -> LinearResult<Dependence> {
        let kinds = parts.iter().map(|e| self.expr(e)).collect::<LinearResult<Vec<Dependence>>>()?;
        if kinds.iter().all(|k| *k == Free) {
            return Ok(Free);
        }
        for (e, k) in parts.iter().zip(&kinds) {
            if *k == Free && !self.is_zero(e) {
                return Err(self.fault(Nonlinearity::Constant(what), e.span));
            }
        }
        Ok(Linear)
    }

    /// Requires that an expression is free.
    fn free(&mut self, e: &Expr, what: &str) -> LinearResult<()> {
        match self.expr(e)? {
            Free => Ok(()),
            Linear => Err(self.fault(Nonlinearity::Depends(what), e.span)),
        }
    }

    fn bind(&mut self, l: Local, k: Dependence) {
        self.frame_mut().kinds.insert(l, k);
    }

    fn expr(&mut self, e: &Expr) -> LinearResult<Dependence> {
        adl_syntax::stop::poll();
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.expr_inner(e))
    }

    fn expr_inner(&mut self, expr: &Expr) -> LinearResult<Dependence> {
        match &*expr.kind {
            ExprKind::Lit(_)
            | ExprKind::IntAt(..)
            | ExprKind::FloatAt(..)
            | ExprKind::Global(_)
            | ExprKind::Prim(..) => Ok(Free),
            ExprKind::Local(l) => {
                if let Some(Callee::Lambda(function, frame)) = self.frame().functions.get(l).cloned() {
                    return self.value(&function, frame, expr.span);
                }
                // Numbers of the input that have no tangent (sizes, indices) count as free.
                let k = self.frame().kinds.get(l).copied().unwrap_or(Free);
                Ok(if discrete(&expr.ty) { Free } else { k })
            }
            ExprKind::Abs(_, e) | ExprKind::Inst(e, _) => self.expr(e),
            ExprKind::Lam(l) => self.value(l, self.current, expr.span),
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
            ExprKind::Let(l, _, a, rest) => {
                if let ExprKind::Lam(lam) = &*a.kind {
                    let function = Callee::Lambda(lam.clone(), self.current);
                    self.frame_mut().functions.insert(*l, function);
                } else {
                    let k = self.expr(a)?;
                    self.bind(*l, k);
                    if self.is_zero(a) {
                        self.frame_mut().zeros.insert(*l);
                    }
                }
                self.expr(rest)
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
            ExprKind::Match(s, root, tree, arms) => self.match_arms(s, *root, tree, arms),
            ExprKind::Index(a, args) => {
                self.indices(args)?;
                let k = self.expr(a)?;
                Ok(if discrete(&expr.ty) { Free } else { k })
            }
            ExprKind::For(kind, vars, body, _) => self.comprehension(kind, vars, body, expr.span),
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

    /// A match depends on the variable as its bodies do; what chooses an arm must not.
    fn match_arms(&mut self, scrutinee: &Expr, root: Local, tree: &Tree, arms: &[Arm]) -> LinearResult<Dependence> {
        let k = self.expr(scrutinee)?;
        self.bind(root, k);
        self.tree(tree, k, scrutinee)?;
        for arm in arms {
            for (l, _, _) in &arm.vars {
                self.bind(*l, k);
            }
            if let Some(guard) = &arm.guard {
                self.free(guard, "a guard")?;
            }
        }
        let bodies: Vec<&Expr> = arms.iter().map(|a| &a.body).collect();
        self.joint(&bodies, "this `match`")
    }

    /// Indices choose elements, so that none may depend on the variable.
    fn indices(&mut self, args: &[IndexArg]) -> LinearResult<()> {
        for i in args {
            let parts: Vec<&Expr> = match i {
                IndexArg::At(e) => vec![e],
                IndexArg::Slice(lo, hi) => lo.iter().chain(hi).collect(),
            };
            for p in parts {
                self.free(p, "an index")?;
            }
        }
        Ok(())
    }

    /// Comprehensions, sums and means are linear in their bodies; other reductions are not.
    fn comprehension(
        &mut self,
        kind: &ForKind,
        vars: &[(Local, Symbol, Extent)],
        body: &Expr,
        span: Span,
    ) -> LinearResult<Dependence> {
        for (l, _, extent) in vars {
            if let Extent::Bound(n) = extent {
                self.free(n, "the bound of an index")?;
            }
            self.bind(*l, Free);
        }
        let k = self.expr(body)?;
        match kind {
            ForKind::Build | ForKind::Reduce(ReductionFn::Sum | ReductionFn::Mean) => Ok(k),
            ForKind::Reduce(p) if k == Linear => Err(self.not_linear(p.row().name, span)),
            ForKind::Reduce(_) => Ok(Free),
        }
    }

    /// The state of a loop is linear if its initial value or its next value is. Both must then map zero to zero.
    fn loop_(&mut self, state: Local, init: &Expr, kind: &LoopKind, body: &Expr) -> LinearResult<Dependence> {
        let first = self.expr(init)?;
        let mut dependence = first;
        let mut next = self.iteration(state, dependence, kind, body);
        // A state that starts free may become linear; zero counts as both.
        if dependence == Free && (next.as_ref().is_ok_and(|n| *n == Linear) || next.is_err() && self.is_zero(init)) {
            dependence = Linear;
            next = self.iteration(state, dependence, kind, body);
        }
        let next = next?;
        for (part, is) in [(init, first), (body, next)] {
            if dependence == Linear && is == Free && !self.is_zero(part) {
                return Err(self.fault(Nonlinearity::Constant("this loop"), part.span));
            }
        }
        Ok(dependence)
    }

    /// The kind of the next state after one iteration.
    fn iteration(&mut self, state: Local, k: Dependence, kind: &LoopKind, body: &Expr) -> LinearResult<Dependence> {
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
    fn tree(&mut self, t: &Tree, dependence: Dependence, expr: &Expr) -> LinearResult<()> {
        let branching = |me: &Self| match dependence {
            Free => Ok(()),
            Linear => Err(me.fault(Nonlinearity::Branches, expr.span)),
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
        self.fault(Nonlinearity::NotLinear(what), span)
    }

    /// A function is checked where it is applied. As a value it must not capture linear variables.
    fn value(&mut self, l: &Lambda, frame: usize, span: Span) -> LinearResult<Dependence> {
        match self.lambda(l, frame, &vec![Free; l.params.len()])? {
            Linear => Err(self.fault(Nonlinearity::Captured, span)),
            Free => Ok(Free),
        }
    }

    /// The kind of the body of a function whose locals belong to a frame.
    fn lambda(&mut self, l: &Lambda, frame: usize, kinds: &[Dependence]) -> LinearResult<Dependence> {
        (self.depth, self.bodies) = (self.depth + 1, self.bodies + 1);
        if self.depth > MAX_NESTED || self.bodies > MAX_BODIES {
            return Err(self.fault(Nonlinearity::TooDeep, l.body.span));
        }
        let caller = std::mem::replace(&mut self.current, frame);
        for (p, k) in l.params.iter().zip(kinds) {
            self.bind(p.local, *k);
        }
        let out = self.expr(&l.body);
        (self.current, self.depth) = (caller, self.depth - 1);
        out
    }
}

//! Typed Core: the small explicit language that the evaluator runs and the specialiser reads.
//!
//! ```text
//! e ::= lit | numlit@rep | x | global | prim@reps
//!     | Λ reps. e | e @ reps                  (hidden representations of constrained type variables)
//!     | λ x… . e | e e… | con e… | let x = e in e | letrec x = λ… in e
//!     | if | match (decision tree) | (e, …) | {f = e, …} | e.f | {e with …} | [e, …] | e[i…]
//!     | for … -> e | fold-for | guard p e | loop
//! ```

use crate::ty::{DataDecl, Scheme, SizeVar, Ty};
use adl_prim::{Prim, ReductionFn};
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::rc::Rc;

/// A local variable, unique within its item.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Local(pub u32);

/// A top-level value, unique within a session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct GlobalId(pub u32);

/// An expression.
#[derive(PartialEq, Debug)]
pub struct Expr {
    /// Its form.
    pub kind: Box<ExprKind>,
    /// Its type.
    pub ty: Ty,
    /// The source text it was made from.
    pub span: Span,
}

impl Expr {
    /// Moves the expression out and leaves a unit literal in its place.
    pub(crate) fn take(&mut self) -> ExprKind {
        std::mem::replace(&mut *self.kind, ExprKind::Lit(CoreLit::Unit))
    }

    /// The function if this is a function literal, also under hidden parameters.
    pub fn lambda(&self) -> Option<&Rc<Lambda>> {
        match &*self.kind {
            ExprKind::Abs(_, e) => e.lambda(),
            ExprKind::Lam(lam) => Some(lam),
            _ => None,
        }
    }

    /// The number of parameters if this is a function literal (also under hidden parameters); 0 otherwise.
    pub fn arity(&self) -> usize {
        self.lambda().map_or(0, |lam| lam.params.len())
    }

    /// Splits an application into its callee, the callee's hidden arguments and the arguments.
    pub fn spine(&self) -> (&Expr, &[Rep], Vec<&Expr>) {
        match &*self.kind {
            ExprKind::App(f, args) => {
                let (head, reps, mut all) = f.spine();
                all.extend(args);
                (head, reps, all)
            }
            ExprKind::Inst(f, reps) => (f, reps, Vec::new()),
            ExprKind::Prim(_, reps) => (self, reps, Vec::new()),
            _ => (self, &[], Vec::new()),
        }
    }
}

/// Blocks of many thousand `let`s nest equally deeply. Cloning and dropping them therefore grows the stack on demand.
impl Clone for Expr {
    fn clone(&self) -> Expr {
        let kind = stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.kind.clone());
        Expr { kind, ty: self.ty.clone(), span: self.span }
    }
}

impl Drop for Expr {
    fn drop(&mut self) {
        if let ExprKind::Lit(_) | ExprKind::Local(_) | ExprKind::Global(_) = *self.kind {
            return;
        }
        let kind = self.take();
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || drop(kind));
    }
}

/// A run-time representation of a type, passed as a hidden argument.
#[derive(Clone, PartialEq, Debug)]
pub enum Rep {
    /// The hidden parameter of a type variable in scope.
    Hidden(Local),
    /// `()`, `Bool`, `Int`, `Float`, `F32`, `String`.
    Base(Ty),
    /// `[n]a`.
    Array(SizeRep, Box<Rep>),
    /// `(a, b)`.
    Tuple(Vec<Rep>),
    /// `{x : a}`, sorted by name.
    Record(Vec<(Symbol, Rep)>),
    /// A declared type at its arguments.
    Data(Rc<DataDecl>, Vec<Rep>),
    /// Functions, and every other type without a run-time representation.
    Other,
}

/// A size in a [`Rep`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SizeRep {
    /// A compile-time constant.
    Const(u64),
    /// The local that holds it.
    Local(Local),
    /// Determined only by the value at run time.
    Unknown,
}

/// A literal.
#[derive(Clone, PartialEq, Debug)]
pub enum CoreLit {
    /// `()`.
    Unit,
    /// `true`.
    Bool(bool),
    /// An `Int`.
    Int(i64),
    /// A `Float`.
    Float(f64),
    /// An `F32`.
    F32(f32),
    /// A `String`.
    Str(Rc<str>),
}

/// Printed as in source text.
impl std::fmt::Display for CoreLit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CoreLit::Unit => f.write_str("()"),
            CoreLit::Bool(b) => write!(f, "{b}"),
            CoreLit::Int(n) => write!(f, "{n}"),
            CoreLit::Float(x) => write!(f, "{x:?}"),
            CoreLit::F32(x) => write!(f, "{x:?}f32"),
            CoreLit::Str(s) => write!(f, "{s:?}"),
        }
    }
}

/// A constructor of a declared type.
#[derive(Clone, PartialEq, Debug)]
pub struct Con {
    /// The declaration.
    pub data: Rc<DataDecl>,
    /// Which constructor.
    pub tag: u32,
}

/// A parameter of a `λ`.
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    /// The variable. (Patterns are matched in the body.)
    pub local: Local,
    /// The name in the source, if the parameter is a plain variable.
    pub name: Option<Symbol>,
    /// Its type.
    pub ty: Ty,
}

/// A function.
#[derive(Clone, PartialEq, Debug)]
pub struct Lambda {
    /// Never empty.
    pub params: Vec<Param>,
    /// The body.
    pub body: Expr,
    /// Whether it was written with `lin`.
    pub linear: bool,
    /// The name of the definition it belongs to, for call stacks.
    pub name: Option<Symbol>,
}

/// One step of a path from a value to one of its parts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Projection {
    /// Component of a tuple.
    Item(u32),
    /// Field of a record.
    Field(Symbol),
}

/// The location of a size that a signature names: the extent of `axis` of the array that `path` reaches from `from`.
#[derive(Clone, PartialEq, Debug)]
pub struct SizeAt {
    /// A parameter.
    pub from: Local,
    /// The path from the parameter to the array.
    pub path: Vec<Projection>,
    /// Which axis of that array.
    pub axis: u32,
    /// The annotation.
    pub span: Span,
}

/// Sizes of a function's parameters, bound and checked on entry.
#[derive(Clone, PartialEq, Debug)]
pub struct Sizes {
    /// Size variables with the local that holds each as an `Int`, in order.
    pub binds: Vec<(SizeVar, Local, Symbol, SizeAt)>,
    /// Extents that must equal a constant or a size bound earlier: (location, expected size, name for messages).
    pub checks: Vec<(SizeAt, SizeRep, String)>,
}

/// Indexing.
#[derive(Clone, PartialEq, Debug)]
pub enum IndexArg {
    /// `i`.
    At(Expr),
    /// `a:b`.
    Slice(Option<Expr>, Option<Expr>),
}

/// Where the extent of a comprehension's index comes from.
#[derive(Clone, PartialEq, Debug)]
pub enum Extent {
    /// `i < n`.
    Bound(Expr),
    /// The axes that `i` indexes; they must agree. (Array expressions are free of the indices.)
    Axes(Vec<(Expr, u32)>),
}

/// The result of a comprehension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForKind {
    /// An array with one axis for each index.
    Build,
    /// `sum for`, `prod for`, ...: reduces the elements without building the array. The function is one of Sum, Prod,
    /// Maximum, Minimum, Mean, Any, All. With several indices it reduces over all of them.
    Reduce(ReductionFn),
}

/// How a `loop` repeats.
#[derive(Clone, PartialEq, Debug)]
pub enum LoopKind {
    /// `for i < n`.
    For(Local, Expr),
    /// `while c`; `c` sees the state.
    While(Expr),
}

/// A decision tree over locals already bound.
#[derive(Clone, PartialEq, Debug)]
pub enum Tree {
    /// Run the arm after copying locals into its variables: (arm's variable, tree's local).
    Leaf(usize, Vec<(Local, Local)>),
    /// Like `Leaf` if the arm's guard holds; otherwise continues with the given tree.
    Guard(usize, Vec<(Local, Local)>, Box<Tree>),
    /// Bind parts of a tuple or record: (new local, from, step).
    Parts(Vec<(Local, Local, Projection)>, Box<Tree>),
    /// Branch on a constructor; each case binds one local for each field.
    Con(Local, Vec<(Con, Vec<Local>, Tree)>, Option<Box<Tree>>),
    /// Branch on equality with literals.
    Lit(Local, Vec<(CoreLit, Tree)>, Box<Tree>),
    /// Branch on an array's length; each case binds one local for each element.
    Len(Local, Vec<(u64, Vec<Local>, Tree)>, Box<Tree>),
    /// No arm matches. Occurs only where exhaustiveness cannot be decided (a refutable `let` is rejected earlier).
    Fail,
}

/// An arm of a match.
#[derive(Clone, PartialEq, Debug)]
pub struct Arm {
    /// Variables that the leaves assign before the arm runs.
    pub vars: Vec<(Local, Symbol, Ty)>,
    /// `when g`.
    pub guard: Option<Expr>,
    /// The body.
    pub body: Expr,
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// A literal of a known type.
    Lit(CoreLit),
    /// An integer literal at a type variable (`Num a`); the representation selects the number type at run time.
    IntAt(i64, Rep),
    /// A real literal at a type variable.
    FloatAt(f64, Rep),
    /// A local.
    Local(Local),
    /// A top-level value defined earlier, or in the same recursive group.
    Global(GlobalId),
    /// A primitive with the representations of its constrained type variables, in its scheme's order
    /// (empty for arithmetic and elementwise functions, which look at their operands).
    Prim(Prim, Vec<Rep>),
    /// Abstraction over hidden parameters; occurs only at the top of a `let`-bound or top-level value.
    Abs(Vec<Local>, Expr),
    /// Hidden arguments.
    Inst(Expr, Vec<Rep>),
    /// A function.
    Lam(Rc<Lambda>),
    /// Application to one or more arguments (curried: may be partial or over-applied).
    App(Expr, Vec<Expr>),
    /// Application of a constructor to all its fields.
    Con(Con, Vec<Expr>),
    /// `let x = e in b`.
    Let(Local, Option<Symbol>, Expr, Expr),
    /// `let rec f = λ… and … in b`; every right-hand side is `Lam` or `Abs` of `Lam`.
    LetRec(Vec<(Local, Symbol, Expr)>, Expr),
    /// Binds and checks sizes, then the body.
    Sizes(Sizes, Expr),
    /// `if`.
    If(Expr, Expr, Expr),
    /// Binds the scrutinee to the local, then runs the decision tree.
    Match(Expr, Local, Tree, Vec<Arm>),
    /// `(a, b)`.
    Tuple(Vec<Expr>),
    /// Component of a tuple.
    Item(Expr, u32),
    /// `{x = e}`, sorted by name.
    Record(Vec<(Symbol, Expr)>),
    /// `r.x`.
    Field(Expr, Symbol),
    /// `{r with x = e}`.
    Update(Expr, Vec<(Symbol, Expr)>),
    /// `[a, b]`.
    Array(Vec<Expr>),
    /// `x[i, j]`.
    Index(Expr, Vec<IndexArg>),
    /// Comprehension: indices with extents, then the body. The `Rep` is the element's.
    For(ForKind, Vec<(Local, Symbol, Extent)>, Expr, Rep),
    /// `[| p |] * e`: `e` where `p` holds, else the zero of the representation.
    Guard(Expr, Expr, Rep),
    /// `loop state = init for/while … do body`; patterns are matched inside.
    Loop(Local, Expr, LoopKind, Expr),
    /// `f"…"`: `show` (plain for strings) of each part, concatenated.
    Interp(Vec<Expr>),
}

/// One definition.
#[derive(Clone, PartialEq, Debug)]
pub struct Def {
    /// Its id.
    pub global: GlobalId,
    /// The user's name; `None` for the hidden value of a pattern binding.
    pub name: Option<Symbol>,
    /// Its scheme.
    pub scheme: Scheme,
    /// Its value.
    pub expr: Expr,
    /// The place of the name in the source.
    pub span: Span,
    /// Doc comment.
    pub doc: Option<Rc<str>>,
}

/// A checked top-level item.
#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    /// Definitions, evaluated in order; functions among them may be mutually recursive.
    Defs(Vec<Def>),
    /// An expression (echoed in the REPL).
    Expr(Expr),
    /// `test "name" = e`.
    Test(Rc<str>, Expr),
    /// `bench "name" = e`.
    Bench(Rc<str>, Expr),
    /// Declarations only; there is nothing to run.
    Nothing,
}

/// Builds an expression.
pub(crate) fn mk(kind: ExprKind, ty: Ty, span: Span) -> Expr {
    Expr { kind: Box::new(kind), ty, span }
}

/// A representation that zonking builds from a type when all metas are known.
pub(crate) fn pending(ty: &Ty) -> Rep {
    Rep::Base(ty.clone())
}

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
use adl_prim::Prim;
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
    /// What it is.
    pub kind: Box<ExprKind>,
    /// Its type.
    pub ty: Ty,
    /// Where it came from.
    pub span: Span,
}

impl Expr {
    /// What it is, leaving a unit behind.
    pub(crate) fn take(&mut self) -> ExprKind {
        std::mem::replace(&mut *self.kind, ExprKind::Lit(Lit::Unit))
    }

    /// The parameters of the function that is written here; 0 if none is.
    pub fn arity(&self) -> usize {
        match &*self.kind {
            ExprKind::Abs(_, e) => e.arity(),
            ExprKind::Lam(lam) => lam.params.len(),
            _ => 0,
        }
    }

    /// The function at the bottom of an application, its hidden arguments, and its arguments.
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

/// Blocks of many thousand `let`s nest as deep: what is inside is copied, and dropped, on a stack that is long enough.
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

/// A run-time representation of a type: what a hidden argument holds.
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
    /// Functions and whatever else has no representation.
    Other,
}

/// A size in a [`Rep`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SizeRep {
    /// Known.
    Const(u64),
    /// The local that holds it.
    Local(Local),
    /// Not known.
    Unknown,
}

/// A literal.
#[derive(Clone, PartialEq, Debug)]
pub enum Lit {
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

/// As in a program.
impl std::fmt::Display for Lit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Lit::Unit => f.write_str("()"),
            Lit::Bool(b) => write!(f, "{b}"),
            Lit::Int(n) => write!(f, "{n}"),
            Lit::Float(x) => write!(f, "{x:?}"),
            Lit::F32(x) => write!(f, "{x:?}f32"),
            Lit::Str(s) => write!(f, "{s:?}"),
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
    /// The variable (patterns are matched in the body).
    pub local: Local,
    /// The user's name, where it has one.
    pub name: Option<Symbol>,
    /// Its type.
    pub ty: Ty,
}

/// A function.
#[derive(Clone, PartialEq, Debug)]
pub struct Lambda {
    /// At least one.
    pub params: Vec<Param>,
    /// The body.
    pub body: Expr,
    /// Whether it is `lin`.
    pub linear: bool,
    /// The name of the definition it belongs to, for call stacks.
    pub name: Option<Symbol>,
}

/// One step from a value to a part of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// Component of a tuple.
    Item(u32),
    /// Field of a record.
    Field(Symbol),
}

/// Where a size that a signature names is found: the extent of `axis` of the part of `from`.
#[derive(Clone, PartialEq, Debug)]
pub struct SizeAt {
    /// A parameter.
    pub from: Local,
    /// The way to an array inside it.
    pub path: Vec<Step>,
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
    /// Extents that must equal a constant or an earlier bound size: (where, expected, name to print).
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

/// What a comprehension builds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForKind {
    /// An array, one axis an index.
    Build,
    /// `sum for`, `prod for`, ...: nothing is built. The primitive is one of Sum, Prod, Maximum, Minimum,
    /// Mean, Any, All. Over several indices it reduces over all of them.
    Reduce(Prim),
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
    /// Like `Leaf`, if the arm's guard holds; else the rest.
    Guard(usize, Vec<(Local, Local)>, Box<Tree>),
    /// Bind parts of a tuple or record: (new local, from, step).
    Parts(Vec<(Local, Local, Step)>, Box<Tree>),
    /// Branch on a constructor; each case binds one local a field.
    Con(Local, Vec<(Con, Vec<Local>, Tree)>, Option<Box<Tree>>),
    /// Branch on equality with literals.
    Lit(Local, Vec<(Lit, Tree)>, Box<Tree>),
    /// Branch on an array's length; each case binds one local an element.
    Len(Local, Vec<(u64, Vec<Local>, Tree)>, Box<Tree>),
    /// No arm matches: only where exhaustiveness cannot be decided (refutable `let` is an error
    /// before this).
    Fail,
}

/// An arm of a match.
#[derive(Clone, PartialEq, Debug)]
pub struct Arm {
    /// Variables that leaves assign.
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
    Lit(Lit),
    /// An integer literal at a type variable (`Num a`); its representation says which number it is.
    IntAt(i64, Rep),
    /// A real literal at a type variable.
    FloatAt(f64, Rep),
    /// A local.
    Local(Local),
    /// An earlier (or mutually recursive) top-level value.
    Global(GlobalId),
    /// A primitive with the representations of its constrained type variables, in its scheme's order
    /// (empty for arithmetic and elementwise functions, which look at their operands).
    Prim(Prim, Vec<Rep>),
    /// Hidden parameters; stands only at the top of a `let`-bound or top-level value.
    Abs(Vec<Local>, Expr),
    /// Hidden arguments.
    Inst(Expr, Vec<Rep>),
    /// A function.
    Lam(Rc<Lambda>),
    /// Application to one or more arguments (curried: may be partial or over-applied).
    App(Expr, Vec<Expr>),
    /// Constructor application, saturated.
    Con(Con, Vec<Expr>),
    /// `let x = e in b`.
    Let(Local, Option<Symbol>, Expr, Expr),
    /// `let rec f = λ… and … in b`; every right-hand side is `Lam` or `Abs` of `Lam`.
    LetRec(Vec<(Local, Symbol, Expr)>, Expr),
    /// Binds and checks sizes, then the body.
    Sizes(Sizes, Expr),
    /// `if`.
    If(Expr, Expr, Expr),
    /// Binds the scrutinee to the local, then decides.
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
    /// Where the name stands.
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
    /// Declarations only.
    Nothing,
}

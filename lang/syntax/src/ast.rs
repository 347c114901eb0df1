//! The abstract syntax tree, as written by the user: no names resolved, no sugar removed.
//!
//! Every node has a [`Span`]. Sugar that the tree keeps (so that the formatter can print it back):
//! operators, sections, `f"..."`, blocks, comprehensions. Comments are not in the tree; the
//! formatter re-attaches them by position from the token stream.

use crate::span::Span;
use crate::symbol::Symbol;

/// A name at a place.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ident {
    /// The name.
    pub name: Symbol,
    /// Where it stands.
    pub span: Span,
}

/// A whole file, cell or REPL entry.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// In source order. Items that could not be parsed are [`ItemKind::Error`].
    pub items: Vec<Item>,
}

/// A top-level item.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    /// Its form.
    pub kind: ItemKind,
    /// From its first to its last token (doc comment excluded).
    pub span: Span,
    /// The `--|` lines above it, joined by newlines, without the marks.
    pub doc: Option<String>,
}

/// The forms of top-level items.
#[derive(Clone, PartialEq, Debug)]
pub enum ItemKind {
    /// `let ...`, `let rec ... and ...`.
    Let(LetGroup),
    /// `type ... and ...`.
    Types(Vec<TypeDecl>),
    /// `import "file.adl" as M` (alias required for files) or `import random` (alias `None`).
    Import {
        /// File path as written, or the module's name.
        what: ImportSource,
        /// `as M`.
        alias: Option<Ident>,
    },
    /// `test "name" = e`.
    Test {
        /// The name.
        name: String,
        /// A `Bool`.
        body: Expr,
    },
    /// `bench "name" = e`.
    Bench {
        /// The name.
        name: String,
        /// The expression to be timed.
        body: Expr,
    },
    /// An expression evaluated for its effect or echoed.
    Expr(Expr),
    /// Did not parse; a diagnostic was reported.
    Error,
}

/// The source of an import.
#[derive(Clone, PartialEq, Debug)]
pub enum ImportSource {
    /// `import "path"`.
    File(String, Span),
    /// `import random`.
    Std(Ident),
}

/// One `let` with its `and`s.
#[derive(Clone, PartialEq, Debug)]
pub struct LetGroup {
    /// `let rec`.
    pub rec: bool,
    /// Never empty.
    pub bindings: Vec<Binding>,
}

/// `p = e`, `f x y : T = e`, `x : T = e`.
#[derive(Clone, PartialEq, Debug)]
pub struct Binding {
    /// The bound pattern; a function's is [`PatKind::Var`].
    pub pat: Pat,
    /// Parameters: `let f p1 p2 = ...` (empty for plain bindings).
    pub params: Vec<Pat>,
    /// The annotation after `:`. For a function it is the result type. Otherwise it is the whole type, and may have
    /// constraints.
    pub sig: Option<Signature>,
    /// The right-hand side.
    pub body: Expr,
    /// The binding.
    pub span: Span,
}

/// `Diff w => Float -> w`.
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    /// `(Diff a, a @ b : c)`.
    pub constraints: Vec<Constraint>,
    /// The type.
    pub ty: Type,
}

/// A constraint on the type variables of a signature.
#[derive(Clone, PartialEq, Debug)]
pub enum Constraint {
    /// `Diff a`: class name and type variable.
    Class(Ident, Ident),
    /// `a @ b : c`, or `where a b c : d`: the operator, its operands, its result.
    Operator(Ident, Vec<Type>, Type),
}

/// One declared type.
#[derive(Clone, PartialEq, Debug)]
pub struct TypeDecl {
    /// `Shape`.
    pub name: Ident,
    /// Type parameters.
    pub params: Vec<Ident>,
    /// Right-hand side.
    pub body: TypeBody,
    /// The declaration.
    pub span: Span,
}

/// Right-hand side of a type declaration.
#[derive(Clone, PartialEq, Debug)]
pub enum TypeBody {
    /// `type alias P = T`.
    Alias(Type),
    /// `A T1 T2 | B`.
    Sum(Vec<ConDecl>),
}

/// `Cons a (List a)`.
#[derive(Clone, PartialEq, Debug)]
pub struct ConDecl {
    /// The constructor.
    pub name: Ident,
    /// Field types.
    pub fields: Vec<Type>,
    /// All of it.
    pub span: Span,
}

/// A type as written.
#[derive(Clone, PartialEq, Debug)]
pub struct Type {
    /// Its form.
    pub kind: TypeKind,
    /// Where it is.
    pub span: Span,
}

/// A type as written.
#[derive(Clone, PartialEq, Debug)]
pub enum TypeKind {
    /// `a`.
    Var(Symbol),
    /// `Float`, `List a`, `M.Shape`: optional module, name, arguments.
    Con(Option<Ident>, Ident, Vec<Type>),
    /// `a -> b`.
    Fun(Box<Type>, Box<Type>),
    /// `a -o b`.
    Lin(Box<Type>, Box<Type>),
    /// `(a, b)`; `()` when empty.
    Tuple(Vec<Type>),
    /// `{x : a | r}`: fields and an optional row variable (`{x : a, ..}` is `Some(None)`).
    Record(Vec<(Ident, Type)>, Option<Option<Ident>>),
    /// `[n]a`.
    Array(Size, Box<Type>),
    /// `_`: to be inferred.
    Hole,
    /// Did not parse.
    Error,
}

/// A size as written.
#[derive(Clone, PartialEq, Debug)]
pub enum Size {
    /// `[3]`.
    Const(i64, Span),
    /// `[n]`.
    Var(Ident),
    /// `[]` or `[_]`: any size.
    Any(Span),
}

/// A pattern.
#[derive(Clone, PartialEq, Debug)]
pub struct Pat {
    /// Its form.
    pub kind: PatKind,
    /// Where it is.
    pub span: Span,
}

/// A pattern.
#[derive(Clone, PartialEq, Debug)]
pub enum PatKind {
    /// `_`.
    Wild,
    /// `x`.
    Var(Symbol),
    /// A literal (numbers may be negative).
    Lit(Lit),
    /// `()`, `(a, b)`.
    Tuple(Vec<Pat>),
    /// `{x = p, y}` (punned fields have `Var` patterns); `true` if it ends in `..`.
    Record(Vec<(Ident, Pat)>, bool),
    /// `Circle r`, `M.None`; `x :: xs` is `Cons`.
    Con(Option<Ident>, Ident, Vec<Pat>),
    /// `[a, b]`: an array of exactly these elements.
    Array(Vec<Pat>),
    /// `p as x`.
    As(Box<Pat>, Ident),
    /// `p | q`.
    Or(Vec<Pat>),
    /// `(p : T)`.
    Ann(Box<Pat>, Type),
    /// Did not parse.
    Error,
}

/// A literal.
#[derive(Clone, PartialEq, Debug)]
pub enum Lit {
    /// `()`.
    Unit,
    /// `true`.
    Bool(bool),
    /// `3`: any `Num`.
    Int(i64),
    /// `3.0`: any `Real`.
    Float(f64),
    /// `3.0f32`.
    F32(f32),
    /// `"text"`.
    Str(String),
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// Its form.
    pub kind: ExprKind,
    /// Where it is. Parentheses are inside the span of the `Paren` node only.
    pub span: Span,
}

/// Binary operators, loosest first. docs/book/src/reference/expressions.md has the table of precedences.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum BinOp {
    PipeLeft,
    PipeRight,
    Compose,
    Or,
    OrEach,
    And,
    AndEach,
    Eq,
    Ne,
    Lt,
    Gt,
    Le,
    Ge,
    EqEach,
    NeEach,
    LtEach,
    GtEach,
    LeEach,
    GeEach,
    Cons,
    Append,
    Add,
    Sub,
    Mul,
    Div,
    IntDiv,
    Rem,
    MatMul,
    Pow,
}

impl BinOp {
    /// Every operator.
    pub const ALL: [BinOp; 29] = [
        BinOp::PipeLeft,
        BinOp::PipeRight,
        BinOp::Compose,
        BinOp::Or,
        BinOp::OrEach,
        BinOp::And,
        BinOp::AndEach,
        BinOp::Eq,
        BinOp::Ne,
        BinOp::Lt,
        BinOp::Gt,
        BinOp::Le,
        BinOp::Ge,
        BinOp::EqEach,
        BinOp::NeEach,
        BinOp::LtEach,
        BinOp::GtEach,
        BinOp::LeEach,
        BinOp::GeEach,
        BinOp::Cons,
        BinOp::Append,
        BinOp::Add,
        BinOp::Sub,
        BinOp::Mul,
        BinOp::Div,
        BinOp::IntDiv,
        BinOp::Rem,
        BinOp::MatMul,
        BinOp::Pow,
    ];

    /// The spelling in source text.
    pub fn text(self) -> &'static str {
        match self {
            BinOp::PipeLeft => "<|",
            BinOp::PipeRight => "|>",
            BinOp::Compose => ">>",
            BinOp::Or => "||",
            BinOp::And => "&&",
            BinOp::Eq => "==",
            BinOp::Ne => "!=",
            BinOp::Lt => "<",
            BinOp::Gt => ">",
            BinOp::Le => "<=",
            BinOp::Ge => ">=",
            BinOp::OrEach => ".||",
            BinOp::AndEach => ".&&",
            BinOp::EqEach => ".==",
            BinOp::NeEach => ".!=",
            BinOp::LtEach => ".<",
            BinOp::GtEach => ".>",
            BinOp::LeEach => ".<=",
            BinOp::GeEach => ".>=",
            BinOp::Cons => "::",
            BinOp::Append => "++",
            BinOp::Add => "+",
            BinOp::Sub => "-",
            BinOp::Mul => "*",
            BinOp::Div => "/",
            BinOp::IntDiv => "//",
            BinOp::Rem => "%",
            BinOp::MatMul => "@",
            BinOp::Pow => "^",
        }
    }
}

/// One part of `f"..."`.
#[derive(Clone, PartialEq, Debug)]
pub enum StrPart {
    /// Literal text, escapes resolved.
    Text(String),
    /// `{e}`.
    Expr(Expr),
}

/// One argument of `x[...]`.
#[derive(Clone, PartialEq, Debug)]
pub enum IndexArg {
    /// `i`.
    At(Expr),
    /// `a:b`, `a:`, `:b`, `:`, `a:b:s`.
    Slice(Box<Slice>),
}

impl IndexArg {
    /// The expressions in the argument.
    pub fn parts(&self) -> impl Iterator<Item = &Expr> {
        let (at, slice) = match self {
            IndexArg::At(e) => (Some(e), None),
            IndexArg::Slice(s) => (None, Some(&**s)),
        };
        at.into_iter().chain(slice.into_iter().flat_map(Slice::parts))
    }
}

/// `from:to:step`, each part optional.
#[derive(Clone, PartialEq, Debug)]
pub struct Slice {
    /// Before the first colon.
    pub from: Option<Expr>,
    /// After the first colon: the first position that is not included.
    pub to: Option<Expr>,
    /// Behind the second colon.
    pub step: Option<Expr>,
}

impl Slice {
    /// The parts that are present, in order.
    pub fn parts(&self) -> impl Iterator<Item = &Expr> {
        self.from.iter().chain(&self.to).chain(&self.step)
    }
}

/// `x = e`, `w[i, j] = e` or `[i] = e` of an update.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// The path to the replaced part: at least one step.
    pub place: Vec<PathStep>,
    /// The new value; for a punned field, a `Var` of the field's name.
    pub value: Expr,
}

/// A step on the path to the part that an update replaces.
#[derive(Clone, PartialEq, Debug)]
pub enum PathStep {
    /// `x`.
    Field(Ident),
    /// `[i, j]`.
    At(Vec<IndexArg>, Span),
}

impl Change {
    /// The field, if the path is a single field.
    pub fn field(&self) -> Option<Ident> {
        match self.place.as_slice() {
            [PathStep::Field(name)] => Some(*name),
            _ => None,
        }
    }

    /// The expressions in the step.
    pub fn parts(&self) -> impl Iterator<Item = &Expr> {
        let at = self.place.iter().flat_map(|p| match p {
            PathStep::Field(_) => &[][..],
            PathStep::At(args, _) => args.as_slice(),
        });
        at.flat_map(IndexArg::parts).chain([&self.value])
    }
}

/// What a comprehension runs over: one axis of its result.
#[derive(Clone, PartialEq, Debug)]
pub enum Generator {
    /// `i < n`, or `i` alone, whose extent is that of the arrays it indexes.
    Index(Ident, Option<Expr>),
    /// `p in e`: the elements of an array, or rows of a table.
    Element(Pat, Expr),
}

impl Generator {
    /// The bound, or the source of the elements.
    pub fn expr(&self) -> Option<&Expr> {
        match self {
            Generator::Index(_, bound) => bound.as_ref(),
            Generator::Element(_, source) => Some(source),
        }
    }
}

/// How a `loop` repeats.
#[derive(Clone, PartialEq, Debug)]
pub enum LoopKind {
    /// `for i < n do`.
    For(Ident, Box<Expr>),
    /// `for p in e do`.
    In(Pat, Box<Expr>),
    /// `while c do`.
    While(Box<Expr>),
}

impl LoopKind {
    /// The bound, source or condition.
    pub fn expr(&self) -> &Expr {
        match self {
            LoopKind::For(_, e) | LoopKind::In(_, e) | LoopKind::While(e) => e,
        }
    }
}

/// One arm of a `match`.
#[derive(Clone, PartialEq, Debug)]
pub struct Arm {
    /// The pattern.
    pub pat: Pat,
    /// `when g`.
    pub guard: Option<Expr>,
    /// After `->`.
    pub body: Expr,
}

/// One entry of a block.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// `let p = e` (the rest of the block is its scope).
    Let(LetGroup, Span),
    /// An expression. Unless it is the last entry, it must be `()`.
    Expr(Expr),
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// A literal.
    Lit(Lit),
    /// `f"a {x}"`.
    Interp(Vec<StrPart>),
    /// `x`.
    Var(Symbol),
    /// `Circle`, `M.Circle`.
    Con(Option<Ident>, Ident),
    /// `(+)`.
    Section(BinOp),
    /// `f a b`: the function and at least one argument.
    App(Box<Expr>, Vec<Expr>),
    /// `a + b`.
    Bin(BinOp, Span, Box<Expr>, Box<Expr>),
    /// `-a`.
    Neg(Box<Expr>),
    /// `fun p1 p2 -> e`.
    Fun(Vec<Pat>, Box<Expr>),
    /// `lin p -> e`.
    Lin(Box<Pat>, Box<Expr>),
    /// A block of at least one entry, the last of which is an expression. `let p = e in b`, `e1; e2` and indented
    /// blocks all parse to this.
    Block(Vec<Stmt>),
    /// `if c then a else b`; `else` may be missing when `a` is `()`.
    If(Box<Expr>, Box<Expr>, Option<Box<Expr>>),
    /// `match e with ...`.
    Match(Box<Expr>, Vec<Arm>),
    /// `(a, b)`.
    Tuple(Vec<Expr>),
    /// `(e)`.
    Paren(Box<Expr>),
    /// `{x = e, y}` (punned fields hold `Var`).
    Record(Vec<(Ident, Expr)>),
    /// `{r with x = e, w[i] = f}`.
    Update(Box<Expr>, Vec<Change>),
    /// `e.x`, `M.f` (then `e` is `Con`), `random.key` (then `e` is `Var`), `e.T`.
    Field(Box<Expr>, Ident),
    /// `[a, b]`.
    Array(Vec<Expr>),
    /// `x[i, j]`.
    Index(Box<Expr>, Vec<IndexArg>),
    /// `for i < n, j, x in xs -> e`.
    For(Vec<Generator>, Box<Expr>),
    /// `[| p |]`.
    Iverson(Box<Expr>),
    /// `loop p = e for i < n do b`.
    Loop(Box<Pat>, Box<Expr>, LoopKind, Box<Expr>),
    /// `(e : T)`.
    Ann(Box<Expr>, Signature),
    /// Did not parse.
    Error,
}

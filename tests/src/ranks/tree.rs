//! Expressions without types, and the concrete types of one use.

use std::fmt::Write;

/// A concrete type. Sizes that are known only at run time are `None`.
#[derive(Clone, PartialEq, Debug)]
pub enum Ty {
    /// `Float`.
    Float,
    /// `Int`.
    Int,
    /// `Bool`.
    Bool,
    /// `[n]t`.
    Array(Option<usize>, Box<Ty>),
    /// `(a, b)`.
    Tuple(Vec<Ty>),
    /// `{p : a, q : b}`.
    Record(Vec<(&'static str, Ty)>),
}

impl Ty {
    /// An array of Floats.
    pub fn floats(sizes: &[usize]) -> Ty {
        sizes.iter().rev().fold(Ty::Float, |t, n| Ty::Array(Some(*n), Box::new(t)))
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        if let Ty::Array(_, e) = self { 1 + e.rank() } else { 0 }
    }

    /// The type under all axes.
    pub fn leaf(&self) -> &Ty {
        if let Ty::Array(_, e) = self { e.leaf() } else { self }
    }

    /// The array with another element type.
    pub fn with_leaf(&self, leaf: &Ty) -> Ty {
        if let Ty::Array(n, e) = self { Ty::Array(*n, Box::new(e.with_leaf(leaf))) } else { leaf.clone() }
    }

    /// Numbers, or an array of them.
    pub fn is_numeric(&self) -> bool {
        matches!(self.leaf(), Ty::Float | Ty::Int)
    }

    /// Floats, or an array of them.
    pub fn is_real(&self) -> bool {
        *self.leaf() == Ty::Float
    }

    /// The parts of a tuple or record.
    pub fn parts(&self) -> Option<Vec<&Ty>> {
        match self {
            Ty::Tuple(ts) => Some(ts.iter().collect()),
            Ty::Record(fs) => Some(fs.iter().map(|f| &f.1).collect()),
            _ => None,
        }
    }

    /// As it is written.
    pub fn text(&self) -> String {
        match self {
            Ty::Float => "Float".into(),
            Ty::Int => "Int".into(),
            Ty::Bool => "Bool".into(),
            Ty::Array(n, e) => format!("[{}]{}", n.map_or("_".into(), |n| n.to_string()), e.text()),
            Ty::Tuple(ts) => format!("({})", ts.iter().map(Ty::text).collect::<Vec<_>>().join(", ")),
            Ty::Record(fs) => {
                format!("{{{}}}", fs.iter().map(|(f, t)| format!("{f} : {}", t.text())).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// An index.
#[derive(Clone, Debug)]
pub enum At {
    /// `x[2]`, `x[-1]`.
    Literal(i64),
    /// `x[i]`, of an Int in scope.
    Name(String),
    /// `x[1:]`, `x[:-1]`, `x[::2]`.
    Slice(&'static str),
}

/// An expression. Lambdas are written where they are used.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A name.
    Var(String),
    /// An array literal.
    Literal(Ty, String),
    /// A Float.
    Float(f64),
    /// An Int literal, which is a Float beside a Float.
    Int(i64),
    /// `sin x`, `-x`.
    Un(&'static str, Box<Expr>),
    /// An operator between two operands, or a function of two.
    Bin(&'static str, Box<Expr>, Box<Expr>),
    /// A function of the library whose arguments are arrays or tuples.
    Call(&'static str, Vec<Expr>),
    /// A function of the program, applied to arguments.
    User(String, Vec<Arg>),
    /// `x[i, j]`.
    Index(Box<Expr>, Vec<At>),
    /// `(a, b)`.
    Tuple(Vec<Expr>),
    /// `{p = a, q = b}`.
    Record(Vec<(&'static str, Expr)>),
    /// `r.p`.
    Field(Box<Expr>, &'static str),
    /// `{r with p = e}`.
    Update(Box<Expr>, &'static str, Box<Expr>),
    /// `let x = a in b`.
    Let(String, Box<Expr>, Box<Expr>),
    /// `let (x, y) = a in b`.
    LetTuple(Vec<String>, Box<Expr>, Box<Expr>),
    /// `let f x y = a in b`.
    LetFun(String, Vec<String>, Box<Expr>, Box<Expr>),
    /// `map (fun x -> a) b`, or `map2` of two.
    Map(Vec<String>, Box<Expr>, Vec<Expr>),
    /// `map f b` of a function of the program.
    MapName(String, Box<Expr>),
    /// `for i < n -> a`, or the sum of that.
    For(bool, String, usize, Box<Expr>),
    /// `for x in a -> b`, or the sum of that.
    ForIn(bool, String, Box<Expr>, Box<Expr>),
    /// `loop s = a for i < n do b`.
    Loop(String, usize, Box<Expr>, Box<Expr>),
    /// `let rec f n x = if n == 0 then x else f (n - 1) b in f 2 a`.
    Rec(String, String, Box<Expr>, Box<Expr>),
    /// `if a then b else c`.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A derivative operator at a function of one parameter, with its other arguments.
    Derivative(&'static str, String, Box<Expr>, Vec<Expr>),
}

/// An argument of a function of the program.
#[derive(Clone, Debug)]
pub enum Arg {
    /// A value.
    Value(Expr),
    /// A function of the program or the library.
    Name(String),
    /// `fun x -> a`.
    Lambda(String, Expr),
}

/// `let f x y = a`.
#[derive(Clone, Debug)]
pub struct Def {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: Vec<String>,
    /// Its body.
    pub body: Expr,
}

/// A call of a definition.
#[derive(Clone, Debug)]
pub struct Use {
    /// The index of the definition.
    pub def: usize,
    /// The arguments.
    pub args: Vec<CallArg>,
    /// How it is called.
    pub way: Way,
}

/// An argument of a call.
#[derive(Clone, Debug)]
pub enum CallArg {
    /// A literal of a type.
    Value(Ty, String),
    /// A function.
    Fun(Arg),
}

/// How a definition is used.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Way {
    /// By itself.
    Plain,
    /// Inside `map`, over two copies of the first argument.
    Mapped,
    /// Its derivative in the direction of its first argument.
    Jvp,
}

/// Definitions and uses.
#[derive(Clone, Debug)]
pub struct Program {
    /// Each may call those before it.
    pub defs: Vec<Def>,
    /// Calls.
    pub uses: Vec<Use>,
}

/// The text of a value of a type, from a stream of numbers.
pub fn value(t: &Ty, number: &mut dyn FnMut() -> f64) -> String {
    match t {
        Ty::Float => float(number()),
        Ty::Int => format!("({} : Int)", (number() * 2.0).abs() as i64 + 1),
        Ty::Bool => (number() > 0.0).to_string(),
        Ty::Array(n, e) => {
            format!("[{}]", (0..n.unwrap_or(2)).map(|_| value(e, number)).collect::<Vec<_>>().join(", "))
        }
        Ty::Tuple(ts) => format!("({})", ts.iter().map(|t| value(t, number)).collect::<Vec<_>>().join(", ")),
        Ty::Record(fs) => {
            let mut text = String::from("{");
            for (i, (f, t)) in fs.iter().enumerate() {
                let _ = write!(text, "{}{f} = {}", if i == 0 { "" } else { ", " }, value(t, number));
            }
            text + "}"
        }
    }
}

/// A Float as an operand.
pub fn float(x: f64) -> String {
    if x.is_sign_negative() { format!("({x:?})") } else { format!("{x:?}") }
}

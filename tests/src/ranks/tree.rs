//! Expressions without types, and the concrete types of one use.

use std::fmt::Write;

/// A concrete type. Sizes that are known only at run time are `None`.
#[derive(Clone, PartialEq, Debug)]
pub enum ConcreteTy {
    /// `Float`.
    Float,
    /// `Int`.
    Int,
    /// `Bool`.
    Bool,
    /// `[n]t`.
    Array(Option<usize>, Box<ConcreteTy>),
    /// `(a, b)`.
    Tuple(Vec<ConcreteTy>),
    /// `{p : a, q : b}`.
    Record(Vec<(&'static str, ConcreteTy)>),
}

impl ConcreteTy {
    /// An array of Floats.
    pub fn floats(sizes: &[usize]) -> ConcreteTy {
        sizes.iter().rev().fold(ConcreteTy::Float, |t, n| ConcreteTy::Array(Some(*n), Box::new(t)))
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        if let ConcreteTy::Array(_, e) = self { 1 + e.rank() } else { 0 }
    }

    /// The type under all axes.
    pub fn leaf(&self) -> &ConcreteTy {
        if let ConcreteTy::Array(_, e) = self { e.leaf() } else { self }
    }

    /// The array with another element type.
    pub fn with_leaf(&self, leaf: &ConcreteTy) -> ConcreteTy {
        if let ConcreteTy::Array(n, e) = self {
            ConcreteTy::Array(*n, Box::new(e.with_leaf(leaf)))
        } else {
            leaf.clone()
        }
    }

    /// Numbers, or an array of them.
    pub fn is_numeric(&self) -> bool {
        matches!(self.leaf(), ConcreteTy::Float | ConcreteTy::Int)
    }

    /// Floats, or an array of them.
    pub fn is_real(&self) -> bool {
        *self.leaf() == ConcreteTy::Float
    }

    /// The parts of a tuple or record.
    pub fn parts(&self) -> Option<Vec<&ConcreteTy>> {
        match self {
            ConcreteTy::Tuple(ts) => Some(ts.iter().collect()),
            ConcreteTy::Record(fs) => Some(fs.iter().map(|f| &f.1).collect()),
            _ => None,
        }
    }

    /// As it is written.
    pub fn text(&self) -> String {
        match self {
            ConcreteTy::Float => "Float".into(),
            ConcreteTy::Int => "Int".into(),
            ConcreteTy::Bool => "Bool".into(),
            ConcreteTy::Array(n, e) => format!("[{}]{}", n.map_or("_".into(), |n| n.to_string()), e.text()),
            ConcreteTy::Tuple(ts) => format!("({})", ts.iter().map(ConcreteTy::text).collect::<Vec<_>>().join(", ")),
            ConcreteTy::Record(fs) => {
                format!("{{{}}}", fs.iter().map(|(f, t)| format!("{f} : {}", t.text())).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// An index.
#[derive(Clone, Debug)]
pub enum RankIndex {
    /// `x[2]`, `x[-1]`.
    Literal(i64),
    /// `x[i]`, of an Int in scope.
    Name(String),
    /// `x[1:]`, `x[:-1]`, `x[::2]`.
    Slice(&'static str),
}

/// An expression. Lambdas are written where they are used.
#[derive(Clone, Debug)]
pub enum RankExpr {
    /// A name.
    Var(String),
    /// An array literal.
    Literal(ConcreteTy, String),
    /// A Float.
    Float(f64),
    /// An Int literal, which is a Float beside a Float.
    Int(i64),
    /// `sin x`, `-x`.
    Un(&'static str, Box<RankExpr>),
    /// An operator between two operands, or a function of two.
    Bin(&'static str, Box<RankExpr>, Box<RankExpr>),
    /// A function of the library whose arguments are arrays or tuples.
    Call(&'static str, Vec<RankExpr>),
    /// A function of the program, applied to arguments.
    User(String, Vec<FunctionArg>),
    /// `x[i, j]`.
    Index(Box<RankExpr>, Vec<RankIndex>),
    /// `(a, b)`.
    Tuple(Vec<RankExpr>),
    /// `{p = a, q = b}`.
    Record(Vec<(&'static str, RankExpr)>),
    /// `r.p`.
    Field(Box<RankExpr>, &'static str),
    /// `{r with p = e}`.
    Update(Box<RankExpr>, &'static str, Box<RankExpr>),
    /// `let x = a in b`.
    Let(String, Box<RankExpr>, Box<RankExpr>),
    /// `let (x, y) = a in b`.
    LetTuple(Vec<String>, Box<RankExpr>, Box<RankExpr>),
    /// `let f x y = a in b`.
    LetFun(String, Vec<String>, Box<RankExpr>, Box<RankExpr>),
    /// `map (fun x -> a) b`, or `map2` of two.
    Map(Vec<String>, Box<RankExpr>, Vec<RankExpr>),
    /// `map f b` of a function of the program.
    MapName(String, Box<RankExpr>),
    /// `for i < n -> a`, or the sum of that.
    For(bool, String, usize, Box<RankExpr>),
    /// `for x in a -> b`, or the sum of that.
    ForIn(bool, String, Box<RankExpr>, Box<RankExpr>),
    /// `loop s = a for i < n do b`.
    Loop(String, usize, Box<RankExpr>, Box<RankExpr>),
    /// `let rec f n x = if n == 0 then x else f (n - 1) b in f 2 a`.
    Rec(String, String, Box<RankExpr>, Box<RankExpr>),
    /// `if a then b else c`.
    If(Box<RankExpr>, Box<RankExpr>, Box<RankExpr>),
    /// A derivative operator at a function of one parameter, with its other arguments.
    Derivative(&'static str, String, Box<RankExpr>, Vec<RankExpr>),
}

/// An argument of a function of the program.
#[derive(Clone, Debug)]
pub enum FunctionArg {
    /// A value.
    Value(RankExpr),
    /// A function of the program or the library.
    Name(String),
    /// `fun x -> a`.
    Lambda(String, RankExpr),
}

/// `let f x y = a`.
#[derive(Clone, Debug)]
pub struct Def {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: Vec<String>,
    /// Its body.
    pub body: RankExpr,
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
    Value(ConcreteTy, String),
    /// A function.
    Fun(FunctionArg),
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
pub struct RankProgram {
    /// Each may call those before it.
    pub defs: Vec<Def>,
    /// Calls.
    pub uses: Vec<Use>,
}

/// The text of a value of a type, from a stream of numbers.
pub fn value(ty: &ConcreteTy, number: &mut dyn FnMut() -> f64) -> String {
    match ty {
        ConcreteTy::Float => float(number()),
        ConcreteTy::Int => format!("({} : Int)", (number() * 2.0).abs() as i64 + 1),
        ConcreteTy::Bool => (number() > 0.0).to_string(),
        ConcreteTy::Array(n, e) => {
            format!("[{}]", (0..n.unwrap_or(2)).map(|_| value(e, number)).collect::<Vec<_>>().join(", "))
        }
        ConcreteTy::Tuple(ts) => format!("({})", ts.iter().map(|t| value(t, number)).collect::<Vec<_>>().join(", ")),
        ConcreteTy::Record(fs) => {
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

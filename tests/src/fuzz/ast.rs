//! The syntax tree of generated programs: typed, with unique names.

use std::collections::HashSet;
use std::sync::Arc;

/// A name. The generator never creates the same one twice in a program.
pub type Name = Arc<str>;

/// A type. Arrays have their run-time sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum FuzzTy {
    /// A number.
    Float,
    /// A whole number.
    Int,
    /// A truth value.
    Bool,
    /// An array with its number of elements.
    Array(Box<FuzzTy>, usize),
    /// A tuple of two or more.
    Tuple(Vec<FuzzTy>),
    /// A record with fields `p`, `q`, `r`.
    Record(Vec<FuzzTy>),
    /// A function of one argument.
    Fun(Box<FuzzTy>, Box<FuzzTy>),
    /// `Option a`.
    Option(Box<FuzzTy>),
    /// `List a`.
    List(Box<FuzzTy>),
    /// A type declared by the program.
    Data(Decl),
}

/// The declared types.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decl {
    /// A function, or two components of which one is a number.
    Layer,
    /// A chain of functions.
    Net,
    /// A binary tree of numbers.
    Tree,
    /// A sum type without functions.
    Shape,
    /// A record with a function, inside a constructor.
    Cell,
}

/// All declared types.
pub const DECLS: [Decl; 5] = [Decl::Layer, Decl::Net, Decl::Tree, Decl::Shape, Decl::Cell];

/// Names of the fields of records.
pub const FIELDS: [&str; 3] = ["p", "q", "r"];

impl Decl {
    /// Its name and declaration.
    pub fn text(self) -> (&'static str, &'static str) {
        match self {
            Decl::Layer => ("Layer", "type Layer = Layer (Float -> Float) | Scaled Float (Float -> Float)"),
            Decl::Net => ("Net", "type Net = End | More (Float -> Float) Net"),
            Decl::Tree => ("Tree", "type Tree = Leaf Float | Node Tree Tree"),
            Decl::Shape => ("Shape", "type Shape = Ball Float | Box Float Float | Poly ([_]Float)"),
            Decl::Cell => ("Cell", "type Cell = Cell {p : Float, q : Float -> Float}"),
        }
    }
}

impl FuzzTy {
    /// A vector.
    pub fn vector(n: usize) -> FuzzTy {
        FuzzTy::Array(Box::new(FuzzTy::Float), n)
    }

    /// A matrix.
    pub fn matrix(n: usize, m: usize) -> FuzzTy {
        FuzzTy::Array(Box::new(FuzzTy::vector(m)), n)
    }

    /// A function.
    pub fn fun(a: FuzzTy, b: FuzzTy) -> FuzzTy {
        FuzzTy::Fun(Box::new(a), Box::new(b))
    }

    /// A function of two arguments.
    pub fn fun2(a: FuzzTy, b: FuzzTy, c: FuzzTy) -> FuzzTy {
        FuzzTy::fun(a, FuzzTy::fun(b, c))
    }

    /// A function of numbers.
    pub fn scalar() -> FuzzTy {
        FuzzTy::fun(FuzzTy::Float, FuzzTy::Float)
    }

    /// Whether it contains a function.
    pub fn has_function(&self) -> bool {
        match self {
            FuzzTy::Float | FuzzTy::Int | FuzzTy::Bool => false,
            FuzzTy::Array(t, _) | FuzzTy::Option(t) | FuzzTy::List(t) => t.has_function(),
            FuzzTy::Tuple(ts) | FuzzTy::Record(ts) => ts.iter().any(FuzzTy::has_function),
            FuzzTy::Fun(..) => true,
            FuzzTy::Data(d) => !matches!(d, Decl::Tree | Decl::Shape),
        }
    }

    /// Whether it is declared data, which has constructors.
    pub fn is_data(&self) -> bool {
        matches!(self, FuzzTy::Option(_) | FuzzTy::List(_) | FuzzTy::Data(_))
    }

    /// The constructors of data, with their fields.
    pub fn constructors(&self) -> Vec<(&'static str, Vec<FuzzTy>)> {
        let own = |d| FuzzTy::Data(d);
        match self {
            FuzzTy::Option(t) => vec![("None", vec![]), ("Some", vec![(**t).clone()])],
            FuzzTy::List(t) => vec![("Nil", vec![]), ("Cons", vec![(**t).clone(), self.clone()])],
            FuzzTy::Data(Decl::Layer) => {
                vec![("Layer", vec![FuzzTy::scalar()]), ("Scaled", vec![FuzzTy::Float, FuzzTy::scalar()])]
            }
            FuzzTy::Data(Decl::Net) => vec![("End", vec![]), ("More", vec![FuzzTy::scalar(), own(Decl::Net)])],
            FuzzTy::Data(Decl::Tree) => {
                vec![("Leaf", vec![FuzzTy::Float]), ("Node", vec![own(Decl::Tree), own(Decl::Tree)])]
            }
            FuzzTy::Data(Decl::Shape) => {
                vec![
                    ("Ball", vec![FuzzTy::Float]),
                    ("Box", vec![FuzzTy::Float, FuzzTy::Float]),
                    ("Poly", vec![FuzzTy::vector(2)]),
                ]
            }
            FuzzTy::Data(Decl::Cell) => vec![("Cell", vec![FuzzTy::Record(vec![FuzzTy::Float, FuzzTy::scalar()])])],
            _ => vec![],
        }
    }
}

/// A constructor with the names of its fields.
#[derive(Clone, Debug, PartialEq)]
pub struct DataConstructor {
    /// The constructor.
    pub con: &'static str,
    /// The names of its fields.
    pub fields: Vec<Name>,
    /// In a recursion: names for the recursive results of the fields of the same type.
    pub results: Vec<(usize, Name)>,
}

/// The operation that an expression applies to its operands, `kids`.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// A bound name, or a function of the library.
    Var(Name),
    /// A number.
    Float(f64),
    /// A whole number.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// An operator between two parts.
    Infix(&'static str),
    /// A library function, possibly with literal arguments (`take 2`), applied to all operands.
    Call(String),
    /// `let x = 0 in 1`.
    Let(Name),
    /// `let (x, y) = 0 in 1`.
    LetTuple(Vec<Name>),
    /// `fun x -> 0`.
    Fun(Name),
    /// `0 1`.
    Apply,
    /// `1 |> 0`.
    Pipe,
    /// `0 >> 1`.
    Compose,
    /// `if 0 then 1 else 2`.
    If,
    /// A tuple.
    Tuple,
    /// A record.
    Record,
    /// The field of a record with this index.
    Field(usize),
    /// An array of all parts.
    Array,
    /// `0[1]`.
    Index,
    /// `0[a:b]`.
    Slice(usize, usize),
    /// A constructor on its parts.
    Con(&'static str),
    /// `match 0 with` arms, in the order of constructors.
    Match(Vec<DataConstructor>),
    /// `for i < n -> 0`.
    For(Name, usize),
    /// `sum for i < n -> 0`.
    SumFor(Name, usize),
    /// `for x in 0 -> 1`; several names are the pattern of a tuple.
    ForIn(Vec<Name>),
    /// `sum for x in 0 -> 1`.
    SumForIn(Vec<Name>),
    /// `loop s = 0 for i < n do 1`.
    Loop(Name, Name, usize),
    /// `loop s = 0 for x in 1 do 2`.
    LoopIn(Name, Vec<Name>),
    /// `loop s = 0 while k < n && 2 do 1`, with a counter.
    While(Name, Name, usize),
    /// A recursion down from `count`: `go count 0`, where the body of `go n s` is 2, and `r` stands for `go (n - 1) 1`
    /// in it.
    Rec {
        /// The function.
        go: Name,
        /// The number.
        n: Name,
        /// The state.
        s: Name,
        /// The result from below.
        r: Name,
        /// The initial count.
        count: usize,
    },
    /// Two mutually recursive functions with `count` calls in all, starting from 0. The steps are 1 and 2.
    Mutual {
        /// The functions.
        names: [Name; 2],
        /// The number.
        n: Name,
        /// The state.
        s: Name,
        /// The initial count.
        count: usize,
    },
    /// A recursion over data (operand 0), with an arm for each constructor.
    Walk {
        /// The function.
        go: Name,
        /// Its argument.
        t: Name,
        /// The arms.
        arms: Vec<DataConstructor>,
    },
    /// A function of one number with a custom derivative rule that is correct, in forward or reverse mode.
    Custom {
        /// Whether it uses `custom_jvp`; otherwise `custom_vjp`.
        forward: bool,
        /// The rule's argument.
        x: Name,
        /// The value.
        y: Name,
        /// The slope.
        d: Name,
        /// The tangent or cotangent.
        c: Name,
    },
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct FuzzExpr {
    /// Its operation.
    pub op: Op,
    /// Its type.
    pub ty: FuzzTy,
    /// Its operands.
    pub kids: Vec<FuzzExpr>,
}

impl FuzzExpr {
    /// An expression.
    pub fn new(op: Op, ty: FuzzTy, kids: Vec<FuzzExpr>) -> FuzzExpr {
        FuzzExpr { op, ty, kids }
    }

    /// A name.
    pub fn var(name: &Name, ty: &FuzzTy) -> FuzzExpr {
        FuzzExpr::new(Op::Var(name.clone()), ty.clone(), vec![])
    }

    /// A number.
    pub fn float(x: f64) -> FuzzExpr {
        FuzzExpr::new(Op::Float(x), FuzzTy::Float, vec![])
    }

    /// A whole number.
    pub fn int(i: i64) -> FuzzExpr {
        FuzzExpr::new(Op::Int(i), FuzzTy::Int, vec![])
    }

    /// A function of the library on its arguments.
    pub fn call(name: impl Into<String>, ty: FuzzTy, kids: Vec<FuzzExpr>) -> FuzzExpr {
        FuzzExpr::new(Op::Call(name.into()), ty, kids)
    }

    /// The number of nodes.
    pub fn size(&self) -> usize {
        1 + self.kids.iter().map(FuzzExpr::size).sum::<usize>()
    }

    /// The names that the expression binds in its operand `kid`.
    pub fn binds(&self, kid: usize) -> Vec<&Name> {
        match &self.op {
            Op::Let(x) if kid == 1 => vec![x],
            Op::LetTuple(xs) if kid == 1 => xs.iter().collect(),
            Op::Fun(x) | Op::For(x, _) | Op::SumFor(x, _) => vec![x],
            Op::ForIn(xs) | Op::SumForIn(xs) if kid == 1 => xs.iter().collect(),
            Op::LoopIn(s, xs) if kid == 2 => [s].into_iter().chain(xs).collect(),
            Op::Match(arms) | Op::Walk { arms, .. } if kid > 0 => {
                arms[kid - 1].fields.iter().chain(arms[kid - 1].results.iter().map(|r| &r.1)).collect()
            }
            Op::Loop(s, i, _) | Op::While(s, i, _) if kid == 1 => vec![s, i],
            Op::While(s, _, _) if kid == 2 => vec![s],
            Op::Rec { n, s, .. } if kid == 1 => vec![n, s],
            Op::Rec { n, s, r, .. } if kid == 2 => vec![n, s, r],
            Op::Mutual { n, s, .. } if kid > 0 => vec![n, s],
            _ => vec![],
        }
    }

    /// Whether all its names are bound here or in `scope`, or belong to the library.
    pub fn is_closed(&self, scope: &mut Vec<Name>) -> bool {
        if let Op::Var(x) = &self.op {
            return scope.contains(x) || is_library(x);
        }
        // A custom derivative must not capture differentiated values.
        if matches!(self.op, Op::Custom { .. }) {
            return self.kids[0].is_closed(&mut vec![]);
        }
        self.kids.iter().enumerate().all(|(i, k)| {
            let before = scope.len();
            scope.extend(self.binds(i).into_iter().cloned());
            let closed = k.is_closed(scope);
            scope.truncate(before);
            closed
        })
    }

    /// Visits every subexpression, itself first.
    pub fn each<'a>(&'a self, f: &mut impl FnMut(&'a FuzzExpr)) {
        f(self);
        self.kids.iter().for_each(|k| k.each(f));
    }
}

/// Whether a name belongs to the library: names of the program end in a digit.
pub fn is_library(name: &str) -> bool {
    !name.ends_with(|c: char| c.is_ascii_digit())
}

/// A program: definitions, the last of which is a function `f0` of one argument, and a point at which it is
/// differentiated.
#[derive(Clone, Debug)]
pub struct FuzzProgram {
    /// Definitions before the function.
    pub globals: Vec<(Name, FuzzExpr)>,
    /// Its parameter.
    pub param: Name,
    /// The type of the parameter.
    pub input: FuzzTy,
    /// Its body.
    pub body: FuzzExpr,
    /// Two points, a direction, and a cotangent of the result: literals.
    pub points: [FuzzExpr; 2],
    /// The direction.
    pub direction: FuzzExpr,
    /// The cotangent.
    pub cotangent: FuzzExpr,
}

impl FuzzProgram {
    /// The function as an expression.
    pub fn function(&self) -> FuzzExpr {
        FuzzExpr::new(
            Op::Fun(self.param.clone()),
            FuzzTy::fun(self.input.clone(), self.body.ty.clone()),
            vec![self.body.clone()],
        )
    }

    /// The number of nodes.
    pub fn size(&self) -> usize {
        self.body.size() + self.globals.iter().map(|g| 1 + g.1.size()).sum::<usize>()
    }

    /// Whether every name in it is bound.
    pub fn is_closed(&self) -> bool {
        let mut scope = Vec::new();
        for (name, e) in &self.globals {
            if !e.is_closed(&mut scope) {
                return false;
            }
            scope.push(name.clone());
        }
        scope.push(self.param.clone());
        self.body.is_closed(&mut scope)
    }

    /// The declared types that it mentions.
    pub fn decls(&self) -> Vec<Decl> {
        let mut seen = HashSet::new();
        let mut visit = |t: &FuzzTy| mentioned(t, &mut seen);
        visit(&self.input);
        for (_, e) in &self.globals {
            e.each(&mut |e| visit(&e.ty));
        }
        self.body.each(&mut |e| visit(&e.ty));
        DECLS.into_iter().filter(|d| seen.contains(d.text().0)).collect()
    }
}

fn mentioned(t: &FuzzTy, seen: &mut HashSet<&'static str>) {
    match t {
        FuzzTy::Float | FuzzTy::Int | FuzzTy::Bool => {}
        FuzzTy::Array(t, _) | FuzzTy::Option(t) | FuzzTy::List(t) => mentioned(t, seen),
        FuzzTy::Tuple(ts) | FuzzTy::Record(ts) => ts.iter().for_each(|t| mentioned(t, seen)),
        FuzzTy::Fun(a, b) => {
            mentioned(a, seen);
            mentioned(b, seen);
        }
        FuzzTy::Data(d) => {
            seen.insert(d.text().0);
        }
    }
}

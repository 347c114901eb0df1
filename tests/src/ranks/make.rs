//! Random definitions without type annotations, and calls of them at types of several ranks.
//!
//! A definition is generated for one choice of concrete types, at which it is valid. Further calls are chosen at
//! random.

use super::tree::{Arg, At, CallArg, Def, Expr, Program, Ty, Use, Way, value};
use super::write::pair;
use crate::fuzz::random::Random;

/// The generator.
pub struct Maker {
    random: Random,
    scope: Vec<(String, Ty)>,
    functions: Vec<Function>,
    names: usize,
    defs: Vec<Def>,
}

/// A function in scope, with the types for which it was generated.
#[derive(Clone)]
struct Function {
    name: String,
    params: Vec<Param>,
    result: Ty,
}

#[derive(Clone)]
enum Param {
    Value(Ty),
    Fun(Ty, Ty),
}

fn boxed(e: Expr) -> Box<Expr> {
    Box::new(e)
}

fn bin(op: &'static str, a: Expr, b: Expr) -> Expr {
    Expr::Bin(op, boxed(a), boxed(b))
}

/// The program of a seed, and for each call whether it was generated to be valid.
pub fn program(seed: u64) -> Program {
    let mut m = Maker { random: Random::new(seed), scope: vec![], functions: vec![], names: 0, defs: vec![] };
    for k in 0..=m.random.below(3) {
        m.definition(k);
    }
    let defs = std::mem::take(&mut m.defs);
    let mut p = Program { defs, uses: vec![] };
    for at in 0..p.defs.len() {
        m.calls(&mut p, at);
    }
    p
}

impl Maker {
    fn word(&mut self, of: &[&'static str]) -> &'static str {
        of[self.random.below(of.len())]
    }

    fn name(&mut self, of: &str) -> String {
        self.names += 1;
        format!("{of}{}", self.names)
    }

    fn some_type(&mut self) -> Ty {
        let size = 2 + self.random.below(2);
        match self.random.below(12) {
            0..4 => Ty::Float,
            4..7 => Ty::floats(&[size]),
            7..9 => Ty::floats(&[2, size]),
            9 => Ty::Tuple(vec![Ty::Float, Ty::floats(&[2])]),
            10 => Ty::Record(vec![("w", Ty::floats(&[2, size])), ("b", Ty::floats(&[size]))]),
            _ => Ty::Tuple(vec![Ty::floats(&[size]), Ty::Float]),
        }
    }

    fn definition(&mut self, k: usize) {
        self.scope.clear();
        let mut params = Vec::new();
        let mut names = Vec::new();
        let outer = self.functions.len();
        for _ in 0..=self.random.below(3) {
            let x = self.name("x");
            if self.random.once_in(8) {
                let (a, b) =
                    if self.random.once_in(2) { (Ty::Float, Ty::Float) } else { (Ty::floats(&[2]), Ty::floats(&[2])) };
                self.functions.push(Function {
                    name: x.clone(),
                    params: vec![Param::Value(a.clone())],
                    result: b.clone(),
                });
                params.push(Param::Fun(a, b));
            } else {
                let t = self.some_type();
                self.scope.push((x.clone(), t.clone()));
                params.push(Param::Value(t));
            }
            names.push(x);
        }
        let result = if self.random.once_in(2) { Ty::Float } else { self.some_type() };
        let depth = 2 + self.random.below(3);
        let body = self.expr(&result, depth);
        self.functions.truncate(outer);
        let name = format!("f{k}");
        self.functions.push(Function { name: name.clone(), params, result });
        self.defs.push(Def { name, params: names, body });
    }

    fn leaf(&mut self, t: &Ty) -> Expr {
        let mut fits: Vec<Expr> = Vec::new();
        for (x, u) in &self.scope {
            let var = || Expr::Var(x.clone());
            if u == t {
                fits.extend([var(), var()]);
            }
            match u {
                Ty::Array(_, e) if **e == *t => {
                    fits.extend([Expr::Index(boxed(var()), vec![At::Literal(-1)]), Expr::Call("sum", vec![var()])]);
                }
                Ty::Array(..) if *t == Ty::Float => fits.push(Expr::Call("norm", vec![var()])),
                Ty::Tuple(ts) if ts.len() == 2 => {
                    fits.extend((0..2).filter(|i| ts[*i] == *t).map(|i| Expr::Call(["fst", "snd"][i], vec![var()])));
                }
                Ty::Record(fs) => fits.extend(fs.iter().filter(|f| f.1 == *t).map(|f| Expr::Field(boxed(var()), f.0))),
                _ => {}
            }
        }
        if !fits.is_empty() && !self.random.once_in(6) {
            return self.random.of(&fits).clone();
        }
        match t {
            Ty::Float => Expr::Float((self.random.float() * 10.0).round() / 10.0),
            Ty::Tuple(ts) => Expr::Tuple(ts.iter().map(|t| self.leaf(t)).collect()),
            Ty::Record(fs) => Expr::Record(fs.iter().map(|(f, t)| (*f, self.leaf(t))).collect()),
            _ => Expr::Literal(t.clone(), value(t, &mut || (self.random.float() * 10.0).round() / 10.0)),
        }
    }

    fn under(&mut self, bound: &[(String, Ty)], t: &Ty, d: usize) -> Expr {
        let before = self.scope.len();
        self.scope.extend(bound.iter().cloned());
        let e = self.expr(t, d);
        self.scope.truncate(before);
        e
    }

    fn expr(&mut self, t: &Ty, d: usize) -> Expr {
        if d == 0 || self.random.once_in(10) {
            return self.leaf(t);
        }
        let d = d - 1;
        match self.random.below(16) {
            0 => {
                let (x, u) = (self.name("y"), self.some_type());
                let a = self.expr(&u, d);
                Expr::Let(x.clone(), boxed(a), boxed(self.under(&[(x, u)], t, d)))
            }
            1 => self.local_function(t, d),
            2 | 3 => self.call(t, d),
            4 => {
                let c = bin("<", self.expr(&Ty::Float, d), self.expr(&Ty::Float, d));
                Expr::If(boxed(c), boxed(self.expr(t, d)), boxed(self.expr(t, d)))
            }
            5 => {
                let s = self.name("s");
                let init = self.expr(t, d);
                let body = self.under(&[(s.clone(), t.clone())], t, d);
                if self.random.once_in(2) {
                    Expr::Loop(s, 2, boxed(init), boxed(body))
                } else {
                    Expr::Rec(self.name("go"), s, boxed(init), boxed(body))
                }
            }
            6 => {
                let (x, y, u, v) = (self.name("y"), self.name("y"), self.some_type(), self.some_type());
                let a = self.expr(&Ty::Tuple(vec![u.clone(), v.clone()]), d);
                Expr::LetTuple(vec![x.clone(), y.clone()], boxed(a), boxed(self.under(&[(x, u), (y, v)], t, d)))
            }
            7 | 8 => self.derivative(t, d),
            _ => self.own(t, d),
        }
    }

    /// A local function that is used at one type here; calls of the definition may use it at others.
    fn local_function(&mut self, t: &Ty, d: usize) -> Expr {
        let (f, x, u) = (self.name("g"), self.name("y"), self.some_type());
        let r = if self.random.once_in(2) { u.clone() } else { self.some_type() };
        let body = self.under(&[(x.clone(), u.clone())], &r, d);
        self.functions.push(Function { name: f.clone(), params: vec![Param::Value(u)], result: r });
        let rest = self.expr(t, d + 1);
        self.functions.pop();
        Expr::LetFun(f, vec![x], boxed(body), boxed(rest))
    }

    fn call(&mut self, t: &Ty, d: usize) -> Expr {
        let fits: Vec<Function> = self
            .functions
            .iter()
            .filter(|f| {
                f.result == *t || matches!((t, &f.params[..]), (Ty::Array(_, e), [Param::Value(_)]) if **e == f.result)
            })
            .cloned()
            .collect();
        if fits.is_empty() {
            return self.own(t, d);
        }
        let f = self.random.of(&fits).clone();
        if let (true, [Param::Value(u)], Ty::Array(n, _)) = (f.result != *t, &f.params[..], t) {
            return Expr::MapName(f.name, boxed(self.expr(&Ty::Array(*n, Box::new(u.clone())), d)));
        }
        let args = f
            .params
            .iter()
            .map(|p| match p {
                Param::Value(u) => Arg::Value(self.expr(u, d)),
                Param::Fun(a, b) => self.passed(a, b, d),
            })
            .collect();
        Expr::User(f.name, args)
    }

    fn passed(&mut self, a: &Ty, b: &Ty, d: usize) -> Arg {
        if a == b && self.random.once_in(2) {
            return Arg::Name((self.word(&["sin", "tanh", "sigmoid"])).into());
        }
        let x = self.name("y");
        Arg::Lambda(x.clone(), self.under(&[(x, a.clone())], b, d))
    }

    fn derivative(&mut self, t: &Ty, d: usize) -> Expr {
        let x = self.name("p");
        let at = self.some_type();
        match self.random.below(4) {
            0 | 1 => {
                let body = self.under(&[(x.clone(), t.clone())], &Ty::Float, d);
                Expr::Derivative("grad", x, boxed(body), vec![self.expr(t, d)])
            }
            2 => {
                let body = self.under(&[(x.clone(), at.clone())], t, d);
                let both = Expr::Derivative("jvp", x, boxed(body), vec![self.leaf(&at), self.leaf(&at)]);
                Expr::Call(if self.random.once_in(3) { "fst" } else { "snd" }, vec![both])
            }
            _ => {
                let body = self.under(&[(x.clone(), t.clone())], &at, d);
                Expr::Derivative("pull", x, boxed(body), vec![self.leaf(t), self.leaf(&at)])
            }
        }
    }

    fn own(&mut self, t: &Ty, d: usize) -> Expr {
        match t {
            Ty::Float => self.number(d),
            Ty::Array(n, e) if t.is_real() => self.array(t, n.unwrap_or(2), e, d),
            Ty::Array(n, e) => {
                let i = self.name("i");
                Expr::For(false, i, n.unwrap_or(2), boxed(self.expr(e, d)))
            }
            _ => match self.random.below(4) {
                0 => bin("*", self.expr(&Ty::Float, d), self.expr(t, d)),
                1 => bin(["+", "-"][self.random.below(2)], self.expr(t, d), self.expr(t, d)),
                2 => match t {
                    Ty::Record(fs) => {
                        let (f, u) = self.random.of(fs).clone();
                        Expr::Update(boxed(self.expr(t, d)), f, boxed(self.expr(&u, d)))
                    }
                    _ => Expr::Un("-", boxed(self.expr(t, d))),
                },
                _ => match t {
                    Ty::Tuple(ts) => Expr::Tuple(ts.iter().map(|t| self.expr(t, d)).collect()),
                    Ty::Record(fs) => Expr::Record(fs.iter().map(|(f, t)| (*f, self.expr(t, d))).collect()),
                    _ => self.leaf(t),
                },
            },
        }
    }

    /// Operations on numbers or arrays of them, elementwise.
    fn elementwise(&mut self, t: &Ty, d: usize) -> Expr {
        match self.random.below(5) {
            0 => Expr::Un(
                self.word(&["sin", "cos", "tanh", "sigmoid", "-", "abs", "relu", "softplus"]),
                boxed(self.expr(t, d)),
            ),
            1 => bin(self.word(&["min", "max", "hypot"]), self.expr(t, d), self.expr(t, d)),
            2 => bin("^", self.expr(t, d), Expr::Int(2)),
            3 => {
                let e = self.expr(t, d);
                match self.random.below(3) {
                    0 => bin("*", Expr::Int(2), e),
                    1 => bin("/", e, Expr::Int(2)),
                    _ => bin("+", e, Expr::Float(0.5)),
                }
            }
            _ => bin(self.word(&["+", "-", "*", "*"]), self.expr(t, d), self.expr(t, d)),
        }
    }

    fn number(&mut self, d: usize) -> Expr {
        let n = 2 + self.random.below(2);
        let v = Ty::floats(&[n]);
        match self.random.below(9) {
            0..3 => self.elementwise(&Ty::Float, d),
            3 => Expr::Call(self.word(&["sum", "mean", "maximum", "prod"]), vec![self.expr(&v, d)]),
            4 => {
                let t = self.some_type();
                let t = if t.rank() > 0 { t } else { v };
                Expr::Call("norm", vec![self.expr(&t, d)])
            }
            5 => Expr::Call("dot", vec![self.expr(&v, d), self.expr(&v, d)]),
            6 => {
                let i = self.name("i");
                let array = self.expr(&v, 0);
                let other = self.expr(&Ty::Float, d);
                let element = match array {
                    Expr::Var(_) => Expr::Index(boxed(array), vec![At::Name(i.clone())]),
                    _ => other.clone(),
                };
                Expr::For(true, i, n, boxed(bin("*", element, other)))
            }
            7 => Expr::Call("chosen", vec![self.leaf(&v)]),
            _ => Expr::Index(boxed(self.expr(&v, d)), vec![At::Literal(self.random.below(n) as i64 - 1)]),
        }
    }

    fn array(&mut self, t: &Ty, n: usize, e: &Ty, d: usize) -> Expr {
        match self.random.below(12) {
            0..3 => self.elementwise(t, d),
            // Broadcasting.
            3 | 4 => {
                let low = if self.random.once_in(2) { Ty::Float } else { e.clone() };
                let (a, b) = (self.expr(t, d), self.expr(&low, d));
                let op = self.word(&["+", "-", "*"]);
                if self.random.once_in(2) { bin(op, a, b) } else { bin(op, b, a) }
            }
            5 | 6 => match e {
                Ty::Array(Some(m), _) => {
                    bin("@", self.expr(&Ty::floats(&[n, 2]), d), self.expr(&Ty::floats(&[2, *m]), d))
                }
                _ if self.random.once_in(2) => {
                    bin("@", self.expr(&Ty::floats(&[n, 2]), d), self.expr(&Ty::floats(&[2]), d))
                }
                _ => bin("@", self.expr(&Ty::floats(&[2]), d), self.expr(&Ty::floats(&[2, n]), d)),
            },
            7 => {
                let (x, row) = (self.name("r"), if self.random.once_in(2) { Ty::Float } else { Ty::floats(&[2]) });
                let rows = self.expr(&Ty::Array(Some(n), Box::new(row.clone())), d);
                Expr::Map(vec![x.clone()], boxed(self.under(&[(x, row)], e, d)), vec![rows])
            }
            8 => {
                let (x, y) = (self.name("r"), self.name("r"));
                let (a, b) = (self.expr(t, d), self.expr(t, d));
                Expr::Map(
                    vec![x.clone(), y.clone()],
                    boxed(self.under(&[(x, e.clone()), (y, e.clone())], e, d)),
                    vec![a, b],
                )
            }
            9 => {
                let i = self.name("i");
                Expr::For(false, i, n, boxed(self.expr(e, d)))
            }
            10 => match self.random.below(4) {
                0 => Expr::Call(
                    self.word(&["sum", "mean"]),
                    vec![self.expr(&Ty::Array(Some(2), Box::new(t.clone())), d)],
                ),
                1 => Expr::Index(
                    boxed(self.expr(&Ty::Array(Some(n + 1), Box::new(e.clone())), d)),
                    vec![At::Slice([":-1", "1:"][self.random.below(2)])],
                ),
                2 => Expr::Call("reverse", vec![self.expr(t, d)]),
                _ => match e {
                    Ty::Array(Some(m), _) => Expr::Call("T", vec![self.expr(&Ty::floats(&[*m, n]), d)]),
                    _ => Expr::Index(boxed(self.expr(&Ty::floats(&[n, 2]), d)), vec![At::Slice(":"), At::Literal(0)]),
                },
            },
            _ => {
                let c = bin(self.word(&[".<", ".>="]), self.expr(t, d), self.expr(&Ty::Float, d));
                Expr::Call("where", vec![c, self.expr(t, d), self.expr(&Ty::Float, d)])
            }
        }
    }

    /// Calls of a definition: at its own types, at other valid types, and at some invalid ones.
    fn calls(&mut self, p: &mut Program, at: usize) {
        let f = self.functions[at].clone();
        let (mut right, mut wrong) = (Vec::new(), 0);
        for k in 0..30 {
            let types: Vec<Param> = f.params.iter().map(|t| if k == 0 { t.clone() } else { self.changed(t) }).collect();
            let shown: Vec<String> =
                types.iter().map(|t| if let Param::Value(t) = t { t.text() } else { String::new() }).collect();
            if right.contains(&shown) {
                continue;
            }
            let args = types.iter().map(|t| self.given(t)).collect();
            let mut u = Use { def: at, args, way: Way::Plain };
            if !pair(p, &u).fits {
                wrong += 1;
                if wrong < 3 {
                    p.uses.push(u);
                }
                continue;
            }
            if let (CallArg::Value(..), true) = (&u.args[0], right.len() < 4) {
                u.way = *self.random.of(&[Way::Plain, Way::Mapped, Way::Jvp]);
                if !pair(p, &u).fits {
                    u.way = Way::Plain;
                }
            }
            if right.len() < 4 {
                right.push(shown);
                p.uses.push(u);
            }
        }
    }

    fn given(&mut self, t: &Param) -> CallArg {
        match t {
            Param::Value(t) => CallArg::Value(t.clone(), value(t, &mut || (self.random.float() * 10.0).round() / 10.0)),
            Param::Fun(..) => CallArg::Fun(Arg::Name((self.word(&["sin", "tanh", "sigmoid"])).into())),
        }
    }

    /// Another type: of another rank or size.
    fn changed(&mut self, t: &Param) -> Param {
        let Param::Value(t) = t else { return t.clone() };
        Param::Value(match self.random.below(8) {
            0..3 => t.clone(),
            3 | 4 => lifted(t),
            5 => {
                if let Ty::Array(_, e) = t {
                    (**e).clone()
                } else {
                    Ty::floats(&[2])
                }
            }
            6 => {
                if let Ty::Array(n, e) = t {
                    Ty::Array(n.map(|n| n + 1), e.clone())
                } else {
                    lifted(&lifted(t))
                }
            }
            _ => self.some_type(),
        })
    }
}

/// The type with one more leading axis in every component.
fn lifted(t: &Ty) -> Ty {
    match t {
        Ty::Tuple(ts) => Ty::Tuple(ts.iter().map(lifted).collect()),
        Ty::Record(fs) => Ty::Record(fs.iter().map(|(f, t)| (*f, lifted(t))).collect()),
        t => Ty::Array(Some(2), Box::new(t.clone())),
    }
}

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

    fn definition(&mut self, index: usize) {
        self.scope.clear();
        let mut params = Vec::new();
        let mut names = Vec::new();
        let outer = self.functions.len();
        for _ in 0..=self.random.below(3) {
            let param = self.name("x");
            if self.random.once_in(8) {
                let (a, b) =
                    if self.random.once_in(2) { (Ty::Float, Ty::Float) } else { (Ty::floats(&[2]), Ty::floats(&[2])) };
                self.functions.push(Function {
                    name: param.clone(),
                    params: vec![Param::Value(a.clone())],
                    result: b.clone(),
                });
                params.push(Param::Fun(a, b));
            } else {
                let t = self.some_type();
                self.scope.push((param.clone(), t.clone()));
                params.push(Param::Value(t));
            }
            names.push(param);
        }
        let result = if self.random.once_in(2) { Ty::Float } else { self.some_type() };
        let depth = 2 + self.random.below(3);
        let body = self.expr(&result, depth);
        self.functions.truncate(outer);
        let name = format!("f{index}");
        self.functions.push(Function { name: name.clone(), params, result });
        self.defs.push(Def { name, params: names, body });
    }

    fn leaf(&mut self, ty: &Ty) -> Expr {
        let mut fits: Vec<Expr> = Vec::new();
        for (x, u) in &self.scope {
            let var = || Expr::Var(x.clone());
            if u == ty {
                fits.extend([var(), var()]);
            }
            match u {
                Ty::Array(_, e) if **e == *ty => {
                    fits.extend([Expr::Index(boxed(var()), vec![At::Literal(-1)]), Expr::Call("sum", vec![var()])]);
                }
                Ty::Array(..) if *ty == Ty::Float => fits.push(Expr::Call("norm", vec![var()])),
                Ty::Tuple(ts) if ts.len() == 2 => {
                    fits.extend((0..2).filter(|i| ts[*i] == *ty).map(|i| Expr::Call(["fst", "snd"][i], vec![var()])));
                }
                Ty::Record(fs) => fits.extend(fs.iter().filter(|f| f.1 == *ty).map(|f| Expr::Field(boxed(var()), f.0))),
                _ => {}
            }
        }
        if !fits.is_empty() && !self.random.once_in(6) {
            return self.random.of(&fits).clone();
        }
        match ty {
            Ty::Float => Expr::Float((self.random.float() * 10.0).round() / 10.0),
            Ty::Tuple(ts) => Expr::Tuple(ts.iter().map(|t| self.leaf(t)).collect()),
            Ty::Record(fs) => Expr::Record(fs.iter().map(|(f, t)| (*f, self.leaf(t))).collect()),
            _ => Expr::Literal(ty.clone(), value(ty, &mut || (self.random.float() * 10.0).round() / 10.0)),
        }
    }

    fn under(&mut self, bound: &[(String, Ty)], t: &Ty, d: usize) -> Expr {
        let before = self.scope.len();
        self.scope.extend(bound.iter().cloned());
        let e = self.expr(t, d);
        self.scope.truncate(before);
        e
    }

    fn expr(&mut self, ty: &Ty, d: usize) -> Expr {
        if d == 0 || self.random.once_in(10) {
            return self.leaf(ty);
        }
        let depth = d - 1;
        match self.random.below(16) {
            0 => {
                let (x, u) = (self.name("y"), self.some_type());
                let a = self.expr(&u, depth);
                Expr::Let(x.clone(), boxed(a), boxed(self.under(&[(x, u)], ty, depth)))
            }
            1 => self.local_function(ty, depth),
            2 | 3 => self.call(ty, depth),
            4 => {
                let c = bin("<", self.expr(&Ty::Float, depth), self.expr(&Ty::Float, depth));
                Expr::If(boxed(c), boxed(self.expr(ty, depth)), boxed(self.expr(ty, depth)))
            }
            5 => {
                let s = self.name("s");
                let init = self.expr(ty, depth);
                let body = self.under(&[(s.clone(), ty.clone())], ty, depth);
                if self.random.once_in(2) {
                    Expr::Loop(s, 2, boxed(init), boxed(body))
                } else {
                    Expr::Rec(self.name("go"), s, boxed(init), boxed(body))
                }
            }
            6 => {
                let (x, y, u, v) = (self.name("y"), self.name("y"), self.some_type(), self.some_type());
                let a = self.expr(&Ty::Tuple(vec![u.clone(), v.clone()]), depth);
                Expr::LetTuple(vec![x.clone(), y.clone()], boxed(a), boxed(self.under(&[(x, u), (y, v)], ty, depth)))
            }
            7 | 8 => self.derivative(ty, depth),
            _ => self.own(ty, depth),
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

    fn call(&mut self, ty: &Ty, depth: usize) -> Expr {
        let fits: Vec<Function> = self
            .functions
            .iter()
            .filter(|f| {
                f.result == *ty
                    || matches!((ty, &f.params[..]), (Ty::Array(_, e), [Param::Value(_)]) if **e == f.result)
            })
            .cloned()
            .collect();
        if fits.is_empty() {
            return self.own(ty, depth);
        }
        let callee = self.random.of(&fits).clone();
        if let (true, [Param::Value(u)], Ty::Array(n, _)) = (callee.result != *ty, &callee.params[..], ty) {
            return Expr::MapName(callee.name, boxed(self.expr(&Ty::Array(*n, Box::new(u.clone())), depth)));
        }
        let args = callee
            .params
            .iter()
            .map(|p| match p {
                Param::Value(u) => Arg::Value(self.expr(u, depth)),
                Param::Fun(a, b) => self.passed(a, b, depth),
            })
            .collect();
        Expr::User(callee.name, args)
    }

    fn passed(&mut self, a: &Ty, b: &Ty, d: usize) -> Arg {
        if a == b && self.random.once_in(2) {
            return Arg::Name((self.word(&["sin", "tanh", "sigmoid"])).into());
        }
        let x = self.name("y");
        Arg::Lambda(x.clone(), self.under(&[(x, a.clone())], b, d))
    }

    fn derivative(&mut self, ty: &Ty, depth: usize) -> Expr {
        let param = self.name("p");
        let at = self.some_type();
        match self.random.below(4) {
            0 | 1 => {
                let body = self.under(&[(param.clone(), ty.clone())], &Ty::Float, depth);
                Expr::Derivative("grad", param, boxed(body), vec![self.expr(ty, depth)])
            }
            2 => {
                let body = self.under(&[(param.clone(), at.clone())], ty, depth);
                let both = Expr::Derivative("jvp", param, boxed(body), vec![self.leaf(&at), self.leaf(&at)]);
                Expr::Call(if self.random.once_in(3) { "fst" } else { "snd" }, vec![both])
            }
            _ => {
                let body = self.under(&[(param.clone(), ty.clone())], &at, depth);
                Expr::Derivative("pull", param, boxed(body), vec![self.leaf(ty), self.leaf(&at)])
            }
        }
    }

    fn own(&mut self, ty: &Ty, depth: usize) -> Expr {
        match ty {
            Ty::Float => self.number(depth),
            Ty::Array(n, e) if ty.is_real() => self.array(ty, n.unwrap_or(2), e, depth),
            Ty::Array(n, e) => {
                let i = self.name("i");
                Expr::For(false, i, n.unwrap_or(2), boxed(self.expr(e, depth)))
            }
            _ => match self.random.below(4) {
                0 => bin("*", self.expr(&Ty::Float, depth), self.expr(ty, depth)),
                1 => bin(["+", "-"][self.random.below(2)], self.expr(ty, depth), self.expr(ty, depth)),
                2 => match ty {
                    Ty::Record(fs) => {
                        let (f, u) = self.random.of(fs).clone();
                        Expr::Update(boxed(self.expr(ty, depth)), f, boxed(self.expr(&u, depth)))
                    }
                    _ => Expr::Un("-", boxed(self.expr(ty, depth))),
                },
                _ => match ty {
                    Ty::Tuple(ts) => Expr::Tuple(ts.iter().map(|t| self.expr(t, depth)).collect()),
                    Ty::Record(fs) => Expr::Record(fs.iter().map(|(f, t)| (*f, self.expr(t, depth))).collect()),
                    _ => self.leaf(ty),
                },
            },
        }
    }

    /// Operations on numbers or arrays of them, elementwise.
    fn elementwise(&mut self, ty: &Ty, depth: usize) -> Expr {
        match self.random.below(5) {
            0 => Expr::Un(
                self.word(&["sin", "cos", "tanh", "sigmoid", "-", "abs", "relu", "softplus"]),
                boxed(self.expr(ty, depth)),
            ),
            1 => bin(self.word(&["min", "max", "hypot"]), self.expr(ty, depth), self.expr(ty, depth)),
            2 => bin("^", self.expr(ty, depth), Expr::Int(2)),
            3 => {
                let e = self.expr(ty, depth);
                match self.random.below(3) {
                    0 => bin("*", Expr::Int(2), e),
                    1 => bin("/", e, Expr::Int(2)),
                    _ => bin("+", e, Expr::Float(0.5)),
                }
            }
            _ => bin(self.word(&["+", "-", "*", "*"]), self.expr(ty, depth), self.expr(ty, depth)),
        }
    }

    fn number(&mut self, depth: usize) -> Expr {
        let len = 2 + self.random.below(2);
        let vector = Ty::floats(&[len]);
        match self.random.below(9) {
            0..3 => self.elementwise(&Ty::Float, depth),
            3 => Expr::Call(self.word(&["sum", "mean", "maximum", "prod"]), vec![self.expr(&vector, depth)]),
            4 => {
                let t = self.some_type();
                let t = if t.rank() > 0 { t } else { vector };
                Expr::Call("norm", vec![self.expr(&t, depth)])
            }
            5 => Expr::Call("dot", vec![self.expr(&vector, depth), self.expr(&vector, depth)]),
            6 => {
                let i = self.name("i");
                let array = self.expr(&vector, 0);
                let other = self.expr(&Ty::Float, depth);
                let element = match array {
                    Expr::Var(_) => Expr::Index(boxed(array), vec![At::Name(i.clone())]),
                    _ => other.clone(),
                };
                Expr::For(true, i, len, boxed(bin("*", element, other)))
            }
            7 if self.random.once_in(2) => {
                let (x, source) = (self.name("r"), self.expr(&vector, depth));
                let body = boxed(self.under(&[(x.clone(), Ty::Float)], &Ty::Float, depth));
                Expr::ForIn(true, x, boxed(source), body)
            }
            7 => Expr::Call("chosen", vec![self.leaf(&vector)]),
            _ => Expr::Index(boxed(self.expr(&vector, depth)), vec![At::Literal(self.random.below(len) as i64 - 1)]),
        }
    }

    fn array(&mut self, ty: &Ty, len: usize, elem: &Ty, depth: usize) -> Expr {
        match self.random.below(12) {
            0..3 => self.elementwise(ty, depth),
            // Broadcasting.
            3 | 4 => {
                let low = if self.random.once_in(2) { Ty::Float } else { elem.clone() };
                let (a, b) = (self.expr(ty, depth), self.expr(&low, depth));
                let op = self.word(&["+", "-", "*"]);
                if self.random.once_in(2) { bin(op, a, b) } else { bin(op, b, a) }
            }
            5 | 6 => match elem {
                Ty::Array(Some(m), _) => {
                    bin("@", self.expr(&Ty::floats(&[len, 2]), depth), self.expr(&Ty::floats(&[2, *m]), depth))
                }
                _ if self.random.once_in(2) => {
                    bin("@", self.expr(&Ty::floats(&[len, 2]), depth), self.expr(&Ty::floats(&[2]), depth))
                }
                _ => bin("@", self.expr(&Ty::floats(&[2]), depth), self.expr(&Ty::floats(&[2, len]), depth)),
            },
            7 => {
                let (x, row) = (self.name("r"), if self.random.once_in(2) { Ty::Float } else { Ty::floats(&[2]) });
                let rows = self.expr(&Ty::Array(Some(len), Box::new(row.clone())), depth);
                if self.random.once_in(2) {
                    let body = boxed(self.under(&[(x.clone(), row)], elem, depth));
                    return Expr::ForIn(false, x, boxed(rows), body);
                }
                Expr::Map(vec![x.clone()], boxed(self.under(&[(x, row)], elem, depth)), vec![rows])
            }
            8 => {
                let (x, y) = (self.name("r"), self.name("r"));
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                Expr::Map(
                    vec![x.clone(), y.clone()],
                    boxed(self.under(&[(x, elem.clone()), (y, elem.clone())], elem, depth)),
                    vec![a, b],
                )
            }
            9 => {
                let i = self.name("i");
                Expr::For(false, i, len, boxed(self.expr(elem, depth)))
            }
            10 => match self.random.below(4) {
                0 => Expr::Call(
                    self.word(&["sum", "mean"]),
                    vec![self.expr(&Ty::Array(Some(2), Box::new(ty.clone())), depth)],
                ),
                1 => Expr::Index(
                    boxed(self.expr(&Ty::Array(Some(len + 1), Box::new(elem.clone())), depth)),
                    vec![At::Slice([":-1", "1:"][self.random.below(2)])],
                ),
                2 => Expr::Call("reverse", vec![self.expr(ty, depth)]),
                _ => match elem {
                    Ty::Array(Some(m), _) => Expr::Call("T", vec![self.expr(&Ty::floats(&[*m, len]), depth)]),
                    _ => Expr::Index(
                        boxed(self.expr(&Ty::floats(&[len, 2]), depth)),
                        vec![At::Slice(":"), At::Literal(0)],
                    ),
                },
            },
            _ => {
                let c = bin(self.word(&[".<", ".>="]), self.expr(ty, depth), self.expr(&Ty::Float, depth));
                Expr::Call("where", vec![c, self.expr(ty, depth), self.expr(&Ty::Float, depth)])
            }
        }
    }

    /// Calls of a definition: at its own types, at other valid types, and at some invalid ones.
    fn calls(&mut self, program: &mut Program, at: usize) {
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
            let mut usage = Use { def: at, args, way: Way::Plain };
            if !pair(program, &usage).fits {
                wrong += 1;
                if wrong < 3 {
                    program.uses.push(usage);
                }
                continue;
            }
            if let (CallArg::Value(..), true) = (&usage.args[0], right.len() < 4) {
                usage.way = *self.random.of(&[Way::Plain, Way::Mapped, Way::Jvp]);
                if !pair(program, &usage).fits {
                    usage.way = Way::Plain;
                }
            }
            if right.len() < 4 {
                right.push(shown);
                program.uses.push(usage);
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
        let Param::Value(ty) = t else { return t.clone() };
        Param::Value(match self.random.below(8) {
            0..3 => ty.clone(),
            3 | 4 => lifted(ty),
            5 => {
                if let Ty::Array(_, e) = ty {
                    (**e).clone()
                } else {
                    Ty::floats(&[2])
                }
            }
            6 => {
                if let Ty::Array(n, e) = ty {
                    Ty::Array(n.map(|n| n + 1), e.clone())
                } else {
                    lifted(&lifted(ty))
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

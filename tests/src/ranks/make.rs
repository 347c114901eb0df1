//! Random definitions without type annotations, and calls of them at types of several ranks.
//!
//! A definition is generated for one choice of concrete types, at which it is valid. Further calls are chosen at
//! random.

use super::tree::{CallArg, ConcreteTy, Def, FunctionArg, RankExpr, RankIndex, RankProgram, Use, Way, value};
use super::write::pair;
use crate::fuzz::random::Random;

/// The generator.
pub struct Maker {
    random: Random,
    scope: Vec<(String, ConcreteTy)>,
    functions: Vec<GeneratedFunction>,
    names: usize,
    defs: Vec<Def>,
}

/// A function in scope, with the types for which it was generated.
#[derive(Clone)]
struct GeneratedFunction {
    name: String,
    params: Vec<Param>,
    result: ConcreteTy,
}

#[derive(Clone)]
enum Param {
    Value(ConcreteTy),
    Fun(ConcreteTy, ConcreteTy),
}

fn boxed(e: RankExpr) -> Box<RankExpr> {
    Box::new(e)
}

fn bin(op: &'static str, a: RankExpr, b: RankExpr) -> RankExpr {
    RankExpr::Bin(op, boxed(a), boxed(b))
}

/// The program of a seed, and for each call whether it was generated to be valid.
pub fn program(seed: u64) -> RankProgram {
    let mut m = Maker { random: Random::new(seed), scope: vec![], functions: vec![], names: 0, defs: vec![] };
    for k in 0..=m.random.below(3) {
        m.definition(k);
    }
    let defs = std::mem::take(&mut m.defs);
    let mut p = RankProgram { defs, uses: vec![] };
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

    fn some_type(&mut self) -> ConcreteTy {
        let size = 2 + self.random.below(2);
        match self.random.below(12) {
            0..4 => ConcreteTy::Float,
            4..7 => ConcreteTy::floats(&[size]),
            7..9 => ConcreteTy::floats(&[2, size]),
            9 => ConcreteTy::Tuple(vec![ConcreteTy::Float, ConcreteTy::floats(&[2])]),
            10 => ConcreteTy::Record(vec![("w", ConcreteTy::floats(&[2, size])), ("b", ConcreteTy::floats(&[size]))]),
            _ => ConcreteTy::Tuple(vec![ConcreteTy::floats(&[size]), ConcreteTy::Float]),
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
                let (a, b) = if self.random.once_in(2) {
                    (ConcreteTy::Float, ConcreteTy::Float)
                } else {
                    (ConcreteTy::floats(&[2]), ConcreteTy::floats(&[2]))
                };
                self.functions.push(GeneratedFunction {
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
        let result = if self.random.once_in(2) { ConcreteTy::Float } else { self.some_type() };
        let depth = 2 + self.random.below(3);
        let body = self.expr(&result, depth);
        self.functions.truncate(outer);
        let name = format!("f{index}");
        self.functions.push(GeneratedFunction { name: name.clone(), params, result });
        self.defs.push(Def { name, params: names, body });
    }

    fn leaf(&mut self, ty: &ConcreteTy) -> RankExpr {
        let mut fits: Vec<RankExpr> = Vec::new();
        for (x, u) in &self.scope {
            let var = || RankExpr::Var(x.clone());
            if u == ty {
                fits.extend([var(), var()]);
            }
            match u {
                ConcreteTy::Array(_, e) if **e == *ty => {
                    fits.extend([
                        RankExpr::Index(boxed(var()), vec![RankIndex::Literal(-1)]),
                        RankExpr::Call("sum", vec![var()]),
                    ]);
                }
                ConcreteTy::Array(..) if *ty == ConcreteTy::Float => fits.push(RankExpr::Call("norm", vec![var()])),
                ConcreteTy::Tuple(ts) if ts.len() == 2 => {
                    fits.extend(
                        (0..2).filter(|i| ts[*i] == *ty).map(|i| RankExpr::Call(["fst", "snd"][i], vec![var()])),
                    );
                }
                ConcreteTy::Record(fs) => {
                    fits.extend(fs.iter().filter(|f| f.1 == *ty).map(|f| RankExpr::Field(boxed(var()), f.0)));
                }
                _ => {}
            }
        }
        if !fits.is_empty() && !self.random.once_in(6) {
            return self.random.of(&fits).clone();
        }
        match ty {
            ConcreteTy::Float => RankExpr::Float((self.random.float() * 10.0).round() / 10.0),
            ConcreteTy::Tuple(ts) => RankExpr::Tuple(ts.iter().map(|t| self.leaf(t)).collect()),
            ConcreteTy::Record(fs) => RankExpr::Record(fs.iter().map(|(f, t)| (*f, self.leaf(t))).collect()),
            _ => RankExpr::Literal(ty.clone(), value(ty, &mut || (self.random.float() * 10.0).round() / 10.0)),
        }
    }

    fn under(&mut self, bound: &[(String, ConcreteTy)], t: &ConcreteTy, d: usize) -> RankExpr {
        let before = self.scope.len();
        self.scope.extend(bound.iter().cloned());
        let e = self.expr(t, d);
        self.scope.truncate(before);
        e
    }

    fn expr(&mut self, ty: &ConcreteTy, d: usize) -> RankExpr {
        if d == 0 || self.random.once_in(10) {
            return self.leaf(ty);
        }
        let depth = d - 1;
        match self.random.below(16) {
            0 => {
                let (x, u) = (self.name("y"), self.some_type());
                let a = self.expr(&u, depth);
                RankExpr::Let(x.clone(), boxed(a), boxed(self.under(&[(x, u)], ty, depth)))
            }
            1 => self.local_function(ty, depth),
            2 | 3 => self.call(ty, depth),
            4 => {
                let c = bin("<", self.expr(&ConcreteTy::Float, depth), self.expr(&ConcreteTy::Float, depth));
                RankExpr::If(boxed(c), boxed(self.expr(ty, depth)), boxed(self.expr(ty, depth)))
            }
            5 => {
                let s = self.name("s");
                let init = self.expr(ty, depth);
                let body = self.under(&[(s.clone(), ty.clone())], ty, depth);
                if self.random.once_in(2) {
                    RankExpr::Loop(s, 2, boxed(init), boxed(body))
                } else {
                    RankExpr::Rec(self.name("go"), s, boxed(init), boxed(body))
                }
            }
            6 => {
                let (x, y, u, v) = (self.name("y"), self.name("y"), self.some_type(), self.some_type());
                let a = self.expr(&ConcreteTy::Tuple(vec![u.clone(), v.clone()]), depth);
                RankExpr::LetTuple(
                    vec![x.clone(), y.clone()],
                    boxed(a),
                    boxed(self.under(&[(x, u), (y, v)], ty, depth)),
                )
            }
            7 | 8 => self.derivative(ty, depth),
            _ => self.own(ty, depth),
        }
    }

    /// A local function that is used at one type here; calls of the definition may use it at others.
    fn local_function(&mut self, t: &ConcreteTy, d: usize) -> RankExpr {
        let (f, x, u) = (self.name("g"), self.name("y"), self.some_type());
        let r = if self.random.once_in(2) { u.clone() } else { self.some_type() };
        let body = self.under(&[(x.clone(), u.clone())], &r, d);
        self.functions.push(GeneratedFunction { name: f.clone(), params: vec![Param::Value(u)], result: r });
        let rest = self.expr(t, d + 1);
        self.functions.pop();
        RankExpr::LetFun(f, vec![x], boxed(body), boxed(rest))
    }

    fn call(&mut self, ty: &ConcreteTy, depth: usize) -> RankExpr {
        let fits: Vec<GeneratedFunction> = self
            .functions
            .iter()
            .filter(|f| {
                f.result == *ty
                    || matches!((ty, &f.params[..]), (ConcreteTy::Array(_, e), [Param::Value(_)]) if **e == f.result)
            })
            .cloned()
            .collect();
        if fits.is_empty() {
            return self.own(ty, depth);
        }
        let callee = self.random.of(&fits).clone();
        if let (true, [Param::Value(u)], ConcreteTy::Array(n, _)) = (callee.result != *ty, &callee.params[..], ty) {
            return RankExpr::MapName(
                callee.name,
                boxed(self.expr(&ConcreteTy::Array(*n, Box::new(u.clone())), depth)),
            );
        }
        let args = callee
            .params
            .iter()
            .map(|p| match p {
                Param::Value(u) => FunctionArg::Value(self.expr(u, depth)),
                Param::Fun(a, b) => self.passed(a, b, depth),
            })
            .collect();
        RankExpr::User(callee.name, args)
    }

    fn passed(&mut self, a: &ConcreteTy, b: &ConcreteTy, d: usize) -> FunctionArg {
        if a == b && self.random.once_in(2) {
            return FunctionArg::Name((self.word(&["sin", "tanh", "sigmoid"])).into());
        }
        let x = self.name("y");
        FunctionArg::Lambda(x.clone(), self.under(&[(x, a.clone())], b, d))
    }

    fn derivative(&mut self, ty: &ConcreteTy, depth: usize) -> RankExpr {
        let param = self.name("p");
        let at = self.some_type();
        match self.random.below(4) {
            0 | 1 => {
                let body = self.under(&[(param.clone(), ty.clone())], &ConcreteTy::Float, depth);
                RankExpr::Derivative("grad", param, boxed(body), vec![self.expr(ty, depth)])
            }
            2 => {
                let body = self.under(&[(param.clone(), at.clone())], ty, depth);
                let both = RankExpr::Derivative("jvp", param, boxed(body), vec![self.leaf(&at), self.leaf(&at)]);
                RankExpr::Call(if self.random.once_in(3) { "fst" } else { "snd" }, vec![both])
            }
            _ => {
                let body = self.under(&[(param.clone(), ty.clone())], &at, depth);
                RankExpr::Derivative("pull", param, boxed(body), vec![self.leaf(ty), self.leaf(&at)])
            }
        }
    }

    fn own(&mut self, ty: &ConcreteTy, depth: usize) -> RankExpr {
        match ty {
            ConcreteTy::Float => self.number(depth),
            ConcreteTy::Array(n, e) if ty.is_real() => self.array(ty, n.unwrap_or(2), e, depth),
            ConcreteTy::Array(n, e) => {
                let i = self.name("i");
                RankExpr::For(false, i, n.unwrap_or(2), boxed(self.expr(e, depth)))
            }
            _ => match self.random.below(4) {
                0 => bin("*", self.expr(&ConcreteTy::Float, depth), self.expr(ty, depth)),
                1 => bin(["+", "-"][self.random.below(2)], self.expr(ty, depth), self.expr(ty, depth)),
                2 => match ty {
                    ConcreteTy::Record(fs) => {
                        let (f, u) = self.random.of(fs).clone();
                        RankExpr::Update(boxed(self.expr(ty, depth)), f, boxed(self.expr(&u, depth)))
                    }
                    _ => RankExpr::Un("-", boxed(self.expr(ty, depth))),
                },
                _ => match ty {
                    ConcreteTy::Tuple(ts) => RankExpr::Tuple(ts.iter().map(|t| self.expr(t, depth)).collect()),
                    ConcreteTy::Record(fs) => {
                        RankExpr::Record(fs.iter().map(|(f, t)| (*f, self.expr(t, depth))).collect())
                    }
                    _ => self.leaf(ty),
                },
            },
        }
    }

    /// Operations on numbers or arrays of them, elementwise.
    fn elementwise(&mut self, ty: &ConcreteTy, depth: usize) -> RankExpr {
        match self.random.below(5) {
            0 => RankExpr::Un(
                self.word(&["sin", "cos", "tanh", "sigmoid", "-", "abs", "relu", "softplus"]),
                boxed(self.expr(ty, depth)),
            ),
            1 => bin(self.word(&["min", "max", "hypot"]), self.expr(ty, depth), self.expr(ty, depth)),
            2 => bin("^", self.expr(ty, depth), RankExpr::Int(2)),
            3 => {
                let e = self.expr(ty, depth);
                match self.random.below(3) {
                    0 => bin("*", RankExpr::Int(2), e),
                    1 => bin("/", e, RankExpr::Int(2)),
                    _ => bin("+", e, RankExpr::Float(0.5)),
                }
            }
            _ => bin(self.word(&["+", "-", "*", "*"]), self.expr(ty, depth), self.expr(ty, depth)),
        }
    }

    fn number(&mut self, depth: usize) -> RankExpr {
        let len = 2 + self.random.below(2);
        let vector = ConcreteTy::floats(&[len]);
        match self.random.below(9) {
            0..3 => self.elementwise(&ConcreteTy::Float, depth),
            3 => RankExpr::Call(self.word(&["sum", "mean", "maximum", "prod"]), vec![self.expr(&vector, depth)]),
            4 => {
                let t = self.some_type();
                let t = if t.rank() > 0 { t } else { vector };
                RankExpr::Call("norm", vec![self.expr(&t, depth)])
            }
            5 => RankExpr::Call("dot", vec![self.expr(&vector, depth), self.expr(&vector, depth)]),
            6 => {
                let i = self.name("i");
                let array = self.expr(&vector, 0);
                let other = self.expr(&ConcreteTy::Float, depth);
                let element = match array {
                    RankExpr::Var(_) => RankExpr::Index(boxed(array), vec![RankIndex::Name(i.clone())]),
                    _ => other.clone(),
                };
                RankExpr::For(true, i, len, boxed(bin("*", element, other)))
            }
            7 if self.random.once_in(2) => {
                let (x, source) = (self.name("r"), self.expr(&vector, depth));
                let body = boxed(self.under(&[(x.clone(), ConcreteTy::Float)], &ConcreteTy::Float, depth));
                RankExpr::ForIn(true, x, boxed(source), body)
            }
            7 => RankExpr::Call("chosen", vec![self.leaf(&vector)]),
            _ => RankExpr::Index(
                boxed(self.expr(&vector, depth)),
                vec![RankIndex::Literal(self.random.below(len) as i64 - 1)],
            ),
        }
    }

    fn array(&mut self, ty: &ConcreteTy, len: usize, elem: &ConcreteTy, depth: usize) -> RankExpr {
        match self.random.below(12) {
            0..3 => self.elementwise(ty, depth),
            // Broadcasting.
            3 | 4 => {
                let low = if self.random.once_in(2) { ConcreteTy::Float } else { elem.clone() };
                let (a, b) = (self.expr(ty, depth), self.expr(&low, depth));
                let op = self.word(&["+", "-", "*"]);
                if self.random.once_in(2) { bin(op, a, b) } else { bin(op, b, a) }
            }
            5 | 6 => match elem {
                ConcreteTy::Array(Some(m), _) => bin(
                    "@",
                    self.expr(&ConcreteTy::floats(&[len, 2]), depth),
                    self.expr(&ConcreteTy::floats(&[2, *m]), depth),
                ),
                _ if self.random.once_in(2) => bin(
                    "@",
                    self.expr(&ConcreteTy::floats(&[len, 2]), depth),
                    self.expr(&ConcreteTy::floats(&[2]), depth),
                ),
                _ => bin(
                    "@",
                    self.expr(&ConcreteTy::floats(&[2]), depth),
                    self.expr(&ConcreteTy::floats(&[2, len]), depth),
                ),
            },
            7 => {
                let (x, row) =
                    (self.name("r"), if self.random.once_in(2) { ConcreteTy::Float } else { ConcreteTy::floats(&[2]) });
                let rows = self.expr(&ConcreteTy::Array(Some(len), Box::new(row.clone())), depth);
                if self.random.once_in(2) {
                    let body = boxed(self.under(&[(x.clone(), row)], elem, depth));
                    return RankExpr::ForIn(false, x, boxed(rows), body);
                }
                RankExpr::Map(vec![x.clone()], boxed(self.under(&[(x, row)], elem, depth)), vec![rows])
            }
            8 => {
                let (x, y) = (self.name("r"), self.name("r"));
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                RankExpr::Map(
                    vec![x.clone(), y.clone()],
                    boxed(self.under(&[(x, elem.clone()), (y, elem.clone())], elem, depth)),
                    vec![a, b],
                )
            }
            9 => {
                let i = self.name("i");
                RankExpr::For(false, i, len, boxed(self.expr(elem, depth)))
            }
            10 => match self.random.below(4) {
                0 => RankExpr::Call(
                    self.word(&["sum", "mean"]),
                    vec![self.expr(&ConcreteTy::Array(Some(2), Box::new(ty.clone())), depth)],
                ),
                1 => RankExpr::Index(
                    boxed(self.expr(&ConcreteTy::Array(Some(len + 1), Box::new(elem.clone())), depth)),
                    vec![RankIndex::Slice([":-1", "1:"][self.random.below(2)])],
                ),
                2 => RankExpr::Call("reverse", vec![self.expr(ty, depth)]),
                _ => match elem {
                    ConcreteTy::Array(Some(m), _) => {
                        RankExpr::Call("T", vec![self.expr(&ConcreteTy::floats(&[*m, len]), depth)])
                    }
                    _ => RankExpr::Index(
                        boxed(self.expr(&ConcreteTy::floats(&[len, 2]), depth)),
                        vec![RankIndex::Slice(":"), RankIndex::Literal(0)],
                    ),
                },
            },
            _ => {
                let c = bin(self.word(&[".<", ".>="]), self.expr(ty, depth), self.expr(&ConcreteTy::Float, depth));
                RankExpr::Call("where", vec![c, self.expr(ty, depth), self.expr(&ConcreteTy::Float, depth)])
            }
        }
    }

    /// Calls of a definition: at its own types, at other valid types, and at some invalid ones.
    fn calls(&mut self, program: &mut RankProgram, at: usize) {
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
            Param::Fun(..) => CallArg::Fun(FunctionArg::Name((self.word(&["sin", "tanh", "sigmoid"])).into())),
        }
    }

    /// Another type: of another rank or size.
    fn changed(&mut self, t: &Param) -> Param {
        let Param::Value(ty) = t else { return t.clone() };
        Param::Value(match self.random.below(8) {
            0..3 => ty.clone(),
            3 | 4 => lifted(ty),
            5 => {
                if let ConcreteTy::Array(_, e) = ty {
                    (**e).clone()
                } else {
                    ConcreteTy::floats(&[2])
                }
            }
            6 => {
                if let ConcreteTy::Array(n, e) = ty {
                    ConcreteTy::Array(n.map(|n| n + 1), e.clone())
                } else {
                    lifted(&lifted(ty))
                }
            }
            _ => self.some_type(),
        })
    }
}

/// The type with one more leading axis in every component.
fn lifted(t: &ConcreteTy) -> ConcreteTy {
    match t {
        ConcreteTy::Tuple(ts) => ConcreteTy::Tuple(ts.iter().map(lifted).collect()),
        ConcreteTy::Record(fs) => ConcreteTy::Record(fs.iter().map(|(f, t)| (*f, lifted(t))).collect()),
        t => ConcreteTy::Array(Some(2), Box::new(t.clone())),
    }
}

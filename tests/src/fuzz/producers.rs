//! Productions for specific types: arithmetic, array operations, constructors, derivative operators.

use super::ast::{Decl, FuzzExpr, FuzzTy, Op};
use super::generate::{Generator, NESTING};

impl Generator {
    /// Operations of a specific type.
    pub fn own(&mut self, ty: &FuzzTy, depth: usize) -> FuzzExpr {
        if self.nesting < NESTING
            && !ty.has_function()
            && self.differentiates()
            && let Some(e) = self.derivative(ty, depth)
        {
            return e;
        }
        match ty {
            FuzzTy::Float => self.float(depth),
            FuzzTy::Int => self.int(depth),
            FuzzTy::Bool => self.truth(depth),
            FuzzTy::Array(u, n) if **u == FuzzTy::Float => self.vector(*n, depth),
            FuzzTy::Array(u, n) => self.array(u, *n, depth),
            FuzzTy::Tuple(ts) => self.tuple(ty, ts, depth),
            FuzzTy::Record(ts) => {
                FuzzExpr::new(Op::Record, ty.clone(), ts.iter().map(|t| self.expr(t, depth)).collect())
            }
            FuzzTy::Fun(a, b) => self.function(ty, a, b, depth),
            FuzzTy::Option(_) | FuzzTy::List(_) | FuzzTy::Data(_) => self.constructed(ty, depth),
        }
    }

    fn constructed(&mut self, t: &FuzzTy, d: usize) -> FuzzExpr {
        let all = t.constructors();
        let own = FuzzTy::Data(Decl::Net);
        let (con, fields) = self.random.of(&all).clone();
        let depth = if *t == own { d.saturating_sub(1) } else { d };
        FuzzExpr::new(
            Op::Con(con),
            t.clone(),
            fields
                .iter()
                .map(|u| if u == t && self.random.once_in(2) { self.leaf(u) } else { self.expr(u, depth) })
                .collect(),
        )
    }

    fn tuple(&mut self, t: &FuzzTy, ts: &[FuzzTy], d: usize) -> FuzzExpr {
        if let [FuzzTy::Array(a, n), FuzzTy::Array(b, m)] = ts
            && n == m
            && self.random.once_in(3)
        {
            let pairs = FuzzTy::Array(Box::new(FuzzTy::Tuple(vec![(**a).clone(), (**b).clone()])), *n);
            return FuzzExpr::call("unzip", t.clone(), vec![self.expr(&pairs, d)]);
        }
        FuzzExpr::new(Op::Tuple, t.clone(), ts.iter().map(|t| self.expr(t, d)).collect())
    }

    fn function(&mut self, ty: &FuzzTy, from: &FuzzTy, to: &FuzzTy, depth: usize) -> FuzzExpr {
        let scalar = *ty == FuzzTy::scalar();
        match self.random.below(12) {
            0 if scalar => self.library_function(),
            1 if self.nesting < NESTING && scalar => {
                let f = self.differentiated(&FuzzTy::Float, &FuzzTy::Float, depth);
                FuzzExpr::call(
                    *self.random.of(&["grad", "grad", "grad", "engine.grad Taped", "grad_with RecomputeAll"]),
                    ty.clone(),
                    vec![f],
                )
            }
            2 | 3 => {
                let middle = self.any_type(0);
                let (f, g) = (
                    self.expr(&FuzzTy::fun(from.clone(), middle.clone()), depth),
                    self.expr(&FuzzTy::fun(middle, to.clone()), depth),
                );
                FuzzExpr::new(Op::Compose, ty.clone(), vec![f, g])
            }
            4 => FuzzExpr::call("checkpoint", ty.clone(), vec![self.expr(ty, depth)]),
            5 if scalar => self.custom(),
            _ => self.lambda(ty, depth),
        }
    }

    /// A closed function with a custom derivative rule.
    fn custom(&mut self) -> FuzzExpr {
        let scope = std::mem::take(&mut self.scope);
        let nesting = std::mem::replace(&mut self.nesting, NESTING);
        let f = self.lambda(&FuzzTy::scalar(), 2);
        (self.scope, self.nesting) = (scope, nesting);
        let forward = self.random.once_in(2);
        let op = Op::Custom { forward, x: self.name("x"), y: self.name("y"), d: self.name("d"), c: self.name("c") };
        FuzzExpr::new(op, FuzzTy::scalar(), vec![f])
    }

    fn float(&mut self, depth: usize) -> FuzzExpr {
        let ty = FuzzTy::Float;
        let len = 1 + self.random.below(3);
        let vector = FuzzTy::vector(len);
        match self.random.below(22) {
            0..3 => {
                let f = *self.random.of(&[
                    "sin", "cos", "tanh", "atan", "sigmoid", "exp", "-", "abs", "relu", "softplus", "erf", "sqrt",
                    "log", "cbrt", "expm1", "sinh",
                ]);
                FuzzExpr::call(f, ty, vec![self.safe(f, depth)])
            }
            3..8 => {
                let op = *self.random.of(&["+", "-", "*", "*", "+"]);
                FuzzExpr::new(
                    Op::Infix(op),
                    ty,
                    vec![self.expr(&FuzzTy::Float, depth), self.expr(&FuzzTy::Float, depth)],
                )
            }
            8 => self.quotient(depth),
            9 => self.power(depth),
            10 => {
                let f = *self.random.of(&["min", "max", "hypot", "atan2"]);
                FuzzExpr::call(f, ty, vec![self.expr(&FuzzTy::Float, depth), self.expr(&FuzzTy::Float, depth)])
            }
            11 | 12 => {
                let f = *self.random.of(&["sum", "sum", "prod", "mean", "maximum", "minimum", "norm", "first", "last"]);
                FuzzExpr::call(f, ty, vec![self.expr(&vector, depth)])
            }
            13 => FuzzExpr::call("dot", ty, vec![self.expr(&vector, depth), self.expr(&vector, depth)]),
            14 if self.random.once_in(2) => self.comprehended(&ty, &FuzzTy::Float, len, depth),
            14 => {
                let i = self.name("i");
                let body = self.under(&[(i.clone(), FuzzTy::Int)], |g| g.expr(&FuzzTy::Float, depth));
                FuzzExpr::new(Op::SumFor(i, len), ty, vec![body])
            }
            15 => FuzzExpr::call("float", ty, vec![self.expr(&FuzzTy::Int, depth.min(2))]),
            16 => {
                let p = self.lambda(&FuzzTy::fun(FuzzTy::Float, FuzzTy::Bool), depth.min(2));
                FuzzExpr::call("sum filter", ty, vec![p, self.expr(&vector, depth)])
            }
            17 => self.reduced(&vector, depth),
            18 => FuzzExpr::call(format!("^ {}", self.random.below(4)), ty, vec![self.expr(&FuzzTy::Float, depth)]),
            20 => match self.random.below(4) {
                0 => FuzzExpr::call("weighed", ty, vec![self.expr(&vector, depth), self.expr(&vector, depth)]),
                1 => FuzzExpr::call("weighed", ty, vec![self.expr(&FuzzTy::Float, depth), self.expr(&vector, depth)]),
                _ => self.helped(&ty, &ty, &ty, depth),
            },
            // The masked operand is written twice.
            19 => {
                let kept = FuzzExpr::call("mask", vector.clone(), vec![self.leaf(&vector), self.leaf(&FuzzTy::Float)]);
                FuzzExpr::call("sum", ty, vec![kept])
            }
            _ => match self.random.below(3) {
                0 => FuzzExpr::call("trace", ty, vec![self.expr(&FuzzTy::matrix(2, 2), depth)]),
                1 => FuzzExpr::call("stop_grad", ty, vec![self.expr(&FuzzTy::Float, depth)]),
                _ => FuzzExpr::new(Op::Index, ty, vec![self.expr(&vector, depth), self.place(len)]),
            },
        }
    }

    /// A function without annotations, of two argument types.
    pub fn helped(&mut self, t: &FuzzTy, a: &FuzzTy, b: &FuzzTy, d: usize) -> FuzzExpr {
        FuzzExpr::call(*self.random.of(&["affine", "spread"]), t.clone(), vec![self.expr(a, d), self.expr(b, d)])
    }

    /// An argument in the domain of a function, for functions with a restricted domain.
    fn safe(&mut self, f: &str, d: usize) -> FuzzExpr {
        let x = self.expr(&FuzzTy::Float, d);
        let infix = |op, a, b| FuzzExpr::new(Op::Infix(op), FuzzTy::Float, vec![a, b]);
        match f {
            "exp" | "expm1" | "sinh" => FuzzExpr::call("sin", FuzzTy::Float, vec![x]),
            "sqrt" | "log" | "cbrt" => infix("+", FuzzExpr::float(1.5), FuzzExpr::call("sin", FuzzTy::Float, vec![x])),
            _ => x,
        }
    }

    fn quotient(&mut self, d: usize) -> FuzzExpr {
        let below = FuzzExpr::call("cos", FuzzTy::Float, vec![self.expr(&FuzzTy::Float, d)]);
        let below = FuzzExpr::new(Op::Infix("+"), FuzzTy::Float, vec![FuzzExpr::float(2.0), below]);
        FuzzExpr::new(Op::Infix("/"), FuzzTy::Float, vec![self.expr(&FuzzTy::Float, d), below])
    }

    /// A power: a literal exponent for any base, or any exponent for a positive base.
    fn power(&mut self, d: usize) -> FuzzExpr {
        if self.random.once_in(2) {
            let n = *self.random.of(&[2.0, 3.0, 1.0, 0.0]);
            return FuzzExpr::new(
                Op::Infix("^"),
                FuzzTy::Float,
                vec![self.expr(&FuzzTy::Float, d), FuzzExpr::float(n)],
            );
        }
        let base = FuzzExpr::call("exp", FuzzTy::Float, vec![self.safe("exp", d)]);
        let exponent = if self.random.once_in(3) { self.vanishing() } else { self.expr(&FuzzTy::Float, d) };
        FuzzExpr::new(Op::Infix("^"), FuzzTy::Float, vec![base, exponent])
    }

    /// A number that is 0 at this point but has a derivative.
    fn vanishing(&mut self) -> FuzzExpr {
        let x = self.leaf(&FuzzTy::Float);
        let held = FuzzExpr::call("stop_grad", FuzzTy::Float, vec![x.clone()]);
        FuzzExpr::new(Op::Infix("-"), FuzzTy::Float, vec![x, held])
    }

    fn reduced(&mut self, v: &FuzzTy, d: usize) -> FuzzExpr {
        let (f, e) = self.operator(d);
        FuzzExpr::call("reduce", FuzzTy::Float, vec![f, FuzzExpr::float(e), self.expr(v, d)])
    }

    /// An operator of reductions with its neutral element: associative, or any.
    pub fn operator(&mut self, depth: usize) -> (FuzzExpr, f64) {
        let t = FuzzTy::fun2(FuzzTy::Float, FuzzTy::Float, FuzzTy::Float);
        let named = |f: &str| {
            FuzzExpr::new(Op::Var(f.into()), FuzzTy::fun2(FuzzTy::Float, FuzzTy::Float, FuzzTy::Float), vec![])
        };
        match self.random.below(6) {
            0 => (named("(+)"), 0.0),
            1 => (named("(*)"), 1.0),
            2 => (named("max"), -9.0),
            3 => self.sum_with_a_check(),
            4 => self.affine_sum(),
            _ => (self.lambda(&t, depth), 0.5),
        }
    }

    /// `x + y + [.., c, ..][i]`: an operator with a bounds check inside.
    fn sum_with_a_check(&mut self) -> (FuzzExpr, f64) {
        let (x, y) = (self.name("x"), self.name("y"));
        let (a, b) = (FuzzExpr::var(&x, &FuzzTy::Float), FuzzExpr::var(&y, &FuzzTy::Float));
        let v = self.under(&[(x.clone(), FuzzTy::Float)], |g| g.expr(&FuzzTy::vector(2), 2));
        let at = self.index(2);
        let c = FuzzExpr::new(Op::Index, FuzzTy::Float, vec![v, at]);
        let infix = |op, a, b| FuzzExpr::new(Op::Infix(op), FuzzTy::Float, vec![a, b]);
        let body = infix("+", infix("+", a, b), c);
        let inner = FuzzExpr::new(Op::Fun(y), FuzzTy::scalar(), vec![body]);
        (FuzzExpr::new(Op::Fun(x), FuzzTy::fun2(FuzzTy::Float, FuzzTy::Float, FuzzTy::Float), vec![inner]), 0.0)
    }

    /// `x + y + k x y`, which is associative for every k.
    fn affine_sum(&mut self) -> (FuzzExpr, f64) {
        let (x, y) = (self.name("x"), self.name("y"));
        let (a, b) = (FuzzExpr::var(&x, &FuzzTy::Float), FuzzExpr::var(&y, &FuzzTy::Float));
        let k = self.leaf(&FuzzTy::Float);
        let infix = |op, a, b| FuzzExpr::new(Op::Infix(op), FuzzTy::Float, vec![a, b]);
        let body = infix("+", infix("+", a.clone(), b.clone()), infix("*", k, infix("*", a, b)));
        let inner = FuzzExpr::new(Op::Fun(y), FuzzTy::scalar(), vec![body]);
        (FuzzExpr::new(Op::Fun(x), FuzzTy::fun2(FuzzTy::Float, FuzzTy::Float, FuzzTy::Float), vec![inner]), 0.0)
    }

    fn int(&mut self, depth: usize) -> FuzzExpr {
        let n = 1 + self.random.below(4);
        match self.random.below(5) {
            0 => FuzzExpr::call("len", FuzzTy::Int, vec![self.expr(&FuzzTy::vector(n), depth.min(2))]),
            1 => FuzzExpr::new(
                Op::Infix("%"),
                FuzzTy::Int,
                vec![self.expr(&FuzzTy::Int, depth.min(2)), FuzzExpr::int(n as i64)],
            ),
            2 | 3 => {
                let op = *self.random.of(&["+", "-", "*"]);
                FuzzExpr::new(
                    Op::Infix(op),
                    FuzzTy::Int,
                    vec![self.expr(&FuzzTy::Int, depth.min(2)), self.leaf(&FuzzTy::Int)],
                )
            }
            _ => self.leaf(&FuzzTy::Int),
        }
    }

    fn truth(&mut self, d: usize) -> FuzzExpr {
        let depth = d.min(2);
        match self.random.below(6) {
            0..3 => {
                let op = *self.random.of(&["<", ">", "<=", ">="]);
                FuzzExpr::new(
                    Op::Infix(op),
                    FuzzTy::Bool,
                    vec![self.expr(&FuzzTy::Float, depth), self.expr(&FuzzTy::Float, depth)],
                )
            }
            3 => {
                let op = *self.random.of(&["<", "==", "!="]);
                FuzzExpr::new(
                    Op::Infix(op),
                    FuzzTy::Bool,
                    vec![self.leaf(&FuzzTy::Int), self.expr(&FuzzTy::Int, depth)],
                )
            }
            4 => FuzzExpr::call("not", FuzzTy::Bool, vec![self.expr(&FuzzTy::Bool, depth)]),
            _ => {
                let op = *self.random.of(&["&&", "||"]);
                FuzzExpr::new(
                    Op::Infix(op),
                    FuzzTy::Bool,
                    vec![self.expr(&FuzzTy::Bool, depth), self.expr(&FuzzTy::Bool, depth)],
                )
            }
        }
    }

    /// A function to be differentiated.
    fn differentiated(&mut self, a: &FuzzTy, b: &FuzzTy, d: usize) -> FuzzExpr {
        self.nesting += 1;
        let t = FuzzTy::fun(a.clone(), b.clone());
        let f = if self.random.below(3) > 0 { self.active_lambda(a, b, d) } else { self.expr(&t, d) };
        self.nesting -= 1;
        f
    }

    /// A lambda whose parameter is differentiated.
    fn active_lambda(&mut self, a: &FuzzTy, b: &FuzzTy, d: usize) -> FuzzExpr {
        let x = self.name("x");
        self.activate(&x);
        let body = self.reading(&[(x.clone(), a.clone())], b, d);
        FuzzExpr::new(Op::Fun(x), FuzzTy::fun(a.clone(), b.clone()), vec![body])
    }

    /// A derivative operator with a result of the given type.
    fn derivative(&mut self, ty: &FuzzTy, depth: usize) -> Option<FuzzExpr> {
        if !has_real(ty) {
            return None;
        }
        if let FuzzTy::Array(row, n) = ty
            && let (FuzzTy::Array(e, m), true) = (&**row, self.random.below(4) > 0)
        {
            return (**e == FuzzTy::Float).then(|| self.matrix_of_partials(ty, *n, *m, depth));
        }
        let point = match self.random.below(3) {
            0 => FuzzTy::Float,
            1 => FuzzTy::vector(1 + self.random.below(3)),
            _ => FuzzTy::Tuple(vec![FuzzTy::Float, FuzzTy::vector(2)]),
        };
        if *ty == FuzzTy::Float && self.random.once_in(4) {
            let (n, m) = (1 + self.random.below(2), 1 + self.random.below(2));
            let partials = self.matrix_of_partials(&FuzzTy::matrix(n, m), n, m, depth);
            let row = FuzzExpr::new(Op::Index, FuzzTy::vector(m), vec![partials, self.index(n)]);
            return Some(FuzzExpr::new(Op::Index, FuzzTy::Float, vec![row, self.index(m)]));
        }
        if let (Some((from, to)), true) = (partial(ty, &point), self.random.once_in(4)) {
            let way = *self.random.of(&["jacobian", "jacfwd", "jacrev"]);
            return Some(FuzzExpr::call(
                way,
                ty.clone(),
                vec![self.differentiated(&from, &to, depth), self.expr(&from, depth)],
            ));
        }
        let has_data = contains_data(ty);
        Some(match self.random.below(if has_data { 4 } else { 9 }) {
            0..3 => {
                let way = *self.random.of(&[
                    "grad",
                    "grad",
                    "grad",
                    "grad",
                    "engine.grad Taped",
                    "engine.grad Staged",
                    "engine.grad Linearize",
                    "grad_with RecomputeAll",
                    "grad_with Sqrt",
                    "grad_with (Revolve 1)",
                ]);
                FuzzExpr::call(
                    way,
                    ty.clone(),
                    vec![self.differentiated(ty, &FuzzTy::Float, depth), self.expr(ty, depth)],
                )
            }
            3 => {
                let pair = FuzzExpr::call(
                    "value_and_grad",
                    FuzzTy::Tuple(vec![FuzzTy::Float, ty.clone()]),
                    vec![self.differentiated(ty, &FuzzTy::Float, depth), self.expr(ty, depth)],
                );
                FuzzExpr::call("snd", ty.clone(), vec![pair])
            }
            4 => {
                let pair = FuzzExpr::call(
                    "jvp",
                    FuzzTy::Tuple(vec![ty.clone(), ty.clone()]),
                    vec![self.differentiated(&point, ty, depth), self.expr(&point, depth), self.expr(&point, depth)],
                );
                FuzzExpr::call(if self.random.once_in(3) { "fst" } else { "snd" }, ty.clone(), vec![pair])
            }
            5 => FuzzExpr::call(
                "push",
                ty.clone(),
                vec![self.differentiated(&point, ty, depth), self.expr(&point, depth), self.expr(&point, depth)],
            ),
            6 | 7 => {
                // The point of `pull_linear` is written twice.
                let (way, x) = if self.random.once_in(4) {
                    ("pull_linear", self.leaf(ty))
                } else {
                    ("pull", self.expr(ty, depth))
                };
                FuzzExpr::call(
                    way,
                    ty.clone(),
                    vec![self.differentiated(ty, &point, depth), x, self.expr(&point, depth)],
                )
            }
            _ => FuzzExpr::call(
                "hvp",
                ty.clone(),
                vec![self.differentiated(ty, &FuzzTy::Float, depth), self.expr(ty, depth), self.expr(ty, depth)],
            ),
        })
    }

    /// A Jacobian or Hessian.
    fn matrix_of_partials(&mut self, t: &FuzzTy, n: usize, m: usize, d: usize) -> FuzzExpr {
        let (from, to) = (FuzzTy::vector(m), FuzzTy::vector(n));
        if n == m && self.random.once_in(3) {
            return FuzzExpr::call(
                "hessian",
                t.clone(),
                vec![self.differentiated(&from, &FuzzTy::Float, d), self.expr(&from, d)],
            );
        }
        let way = *self.random.of(&["jacobian", "jacfwd", "jacrev"]);
        FuzzExpr::call(way, t.clone(), vec![self.differentiated(&from, &to, d), self.expr(&from, d)])
    }
}

/// Whether data of a type may contain a real number, as points of derivatives must.
fn has_real(t: &FuzzTy) -> bool {
    match t {
        FuzzTy::Int | FuzzTy::Bool | FuzzTy::Fun(..) => false,
        FuzzTy::Float | FuzzTy::Data(_) => true,
        FuzzTy::Array(u, _) | FuzzTy::Option(u) | FuzzTy::List(u) => has_real(u),
        FuzzTy::Tuple(ts) | FuzzTy::Record(ts) => ts.iter().any(has_real),
    }
}

/// Whether a type is possible for a Jacobian: Floats, arrays of Floats, and tuples and records of those outside arrays.
fn has_structure(t: &FuzzTy, in_array: bool) -> bool {
    match t {
        FuzzTy::Float => true,
        FuzzTy::Array(u, _) => has_structure(u, true),
        FuzzTy::Tuple(ts) | FuzzTy::Record(ts) => !in_array && ts.iter().all(|t| has_structure(t, false)),
        _ => false,
    }
}

/// The input and output types of a function whose Jacobian has the given type; one of them is a number.
fn partial(t: &FuzzTy, point: &FuzzTy) -> Option<(FuzzTy, FuzzTy)> {
    match (t, point) {
        (FuzzTy::Float, _) => Some((FuzzTy::Float, FuzzTy::Float)),
        (FuzzTy::Array(e, _), FuzzTy::Float) if **e == FuzzTy::Float => Some((FuzzTy::Float, t.clone())),
        _ if has_structure(t, false) => Some((t.clone(), FuzzTy::Float)),
        _ => None,
    }
}

/// Whether values of a type may differ in their constructors or in discrete parts.
fn contains_data(t: &FuzzTy) -> bool {
    match t {
        FuzzTy::Float => false,
        FuzzTy::Array(u, _) => contains_data(u),
        FuzzTy::Tuple(ts) | FuzzTy::Record(ts) => ts.iter().any(contains_data),
        _ => true,
    }
}

//! Productions for specific types: arithmetic, array operations, constructors, derivative operators.

use super::ast::{Decl, Expr, Op, Ty};
use super::generate::{Generator, NESTING};

impl Generator {
    /// Operations of a specific type.
    pub fn own(&mut self, t: &Ty, d: usize) -> Expr {
        if self.nesting < NESTING
            && !t.has_function()
            && self.differentiates()
            && let Some(e) = self.derivative(t, d)
        {
            return e;
        }
        match t {
            Ty::Float => self.float(d),
            Ty::Int => self.int(d),
            Ty::Bool => self.truth(d),
            Ty::Array(u, n) if **u == Ty::Float => self.vector(*n, d),
            Ty::Array(u, n) => self.array(u, *n, d),
            Ty::Tuple(ts) => self.tuple(t, ts, d),
            Ty::Record(ts) => Expr::new(Op::Record, t.clone(), ts.iter().map(|t| self.expr(t, d)).collect()),
            Ty::Fun(a, b) => self.function(t, a, b, d),
            Ty::Option(_) | Ty::List(_) | Ty::Data(_) => self.constructed(t, d),
        }
    }

    fn constructed(&mut self, t: &Ty, d: usize) -> Expr {
        let all = t.constructors();
        let own = Ty::Data(Decl::Net);
        let (con, fields) = self.random.of(&all).clone();
        let depth = if *t == own { d.saturating_sub(1) } else { d };
        Expr::new(
            Op::Con(con),
            t.clone(),
            fields
                .iter()
                .map(|u| if u == t && self.random.once_in(2) { self.leaf(u) } else { self.expr(u, depth) })
                .collect(),
        )
    }

    fn tuple(&mut self, t: &Ty, ts: &[Ty], d: usize) -> Expr {
        if let [Ty::Array(a, n), Ty::Array(b, m)] = ts
            && n == m
            && self.random.once_in(3)
        {
            let pairs = Ty::Array(Box::new(Ty::Tuple(vec![(**a).clone(), (**b).clone()])), *n);
            return Expr::call("unzip", t.clone(), vec![self.expr(&pairs, d)]);
        }
        Expr::new(Op::Tuple, t.clone(), ts.iter().map(|t| self.expr(t, d)).collect())
    }

    fn function(&mut self, t: &Ty, a: &Ty, b: &Ty, d: usize) -> Expr {
        let scalar = *t == Ty::scalar();
        match self.random.below(12) {
            0 if scalar => self.library_function(),
            1 if self.nesting < NESTING && scalar => {
                let f = self.differentiated(&Ty::Float, &Ty::Float, d);
                Expr::call(
                    *self.random.of(&["grad", "grad", "grad", "engine.grad Taped", "grad_with RecomputeAll"]),
                    t.clone(),
                    vec![f],
                )
            }
            2 | 3 => {
                let middle = self.any_type(0);
                let (f, g) =
                    (self.expr(&Ty::fun(a.clone(), middle.clone()), d), self.expr(&Ty::fun(middle, b.clone()), d));
                Expr::new(Op::Compose, t.clone(), vec![f, g])
            }
            4 => Expr::call("checkpoint", t.clone(), vec![self.expr(t, d)]),
            5 if scalar => self.custom(),
            _ => self.lambda(t, d),
        }
    }

    /// A closed function with a custom derivative rule.
    fn custom(&mut self) -> Expr {
        let scope = std::mem::take(&mut self.scope);
        let nesting = std::mem::replace(&mut self.nesting, NESTING);
        let f = self.lambda(&Ty::scalar(), 2);
        (self.scope, self.nesting) = (scope, nesting);
        let forward = self.random.once_in(2);
        let op = Op::Custom { forward, x: self.name("x"), y: self.name("y"), d: self.name("d"), c: self.name("c") };
        Expr::new(op, Ty::scalar(), vec![f])
    }

    fn float(&mut self, d: usize) -> Expr {
        let t = Ty::Float;
        let n = 1 + self.random.below(3);
        let v = Ty::vector(n);
        match self.random.below(22) {
            0..3 => {
                let f = *self.random.of(&[
                    "sin", "cos", "tanh", "atan", "sigmoid", "exp", "-", "abs", "relu", "softplus", "erf", "sqrt",
                    "log", "cbrt", "expm1", "sinh",
                ]);
                Expr::call(f, t, vec![self.safe(f, d)])
            }
            3..8 => {
                let op = *self.random.of(&["+", "-", "*", "*", "+"]);
                Expr::new(Op::Infix(op), t, vec![self.expr(&Ty::Float, d), self.expr(&Ty::Float, d)])
            }
            8 => self.quotient(d),
            9 => self.power(d),
            10 => {
                let f = *self.random.of(&["min", "max", "hypot", "atan2"]);
                Expr::call(f, t, vec![self.expr(&Ty::Float, d), self.expr(&Ty::Float, d)])
            }
            11 | 12 => {
                let f = *self.random.of(&["sum", "sum", "prod", "mean", "maximum", "minimum", "norm", "first", "last"]);
                Expr::call(f, t, vec![self.expr(&v, d)])
            }
            13 => Expr::call("dot", t, vec![self.expr(&v, d), self.expr(&v, d)]),
            14 => {
                let i = self.name("i");
                let body = self.under(&[(i.clone(), Ty::Int)], |g| g.expr(&Ty::Float, d));
                Expr::new(Op::SumFor(i, n), t, vec![body])
            }
            15 => Expr::call("float", t, vec![self.expr(&Ty::Int, d.min(2))]),
            16 => {
                let p = self.lambda(&Ty::fun(Ty::Float, Ty::Bool), d.min(2));
                Expr::call("sum filter", t, vec![p, self.expr(&v, d)])
            }
            17 => self.reduced(&v, d),
            18 => Expr::call(format!("^ {}", self.random.below(4)), t, vec![self.expr(&Ty::Float, d)]),
            20 => match self.random.below(4) {
                0 => Expr::call("weighed", t, vec![self.expr(&v, d), self.expr(&v, d)]),
                1 => Expr::call("weighed", t, vec![self.expr(&Ty::Float, d), self.expr(&v, d)]),
                _ => self.helped(&t, &t, &t, d),
            },
            // The masked operand is written twice.
            19 => {
                let kept = Expr::call("mask", v.clone(), vec![self.leaf(&v), self.leaf(&Ty::Float)]);
                Expr::call("sum", t, vec![kept])
            }
            _ => match self.random.below(3) {
                0 => Expr::call("trace", t, vec![self.expr(&Ty::matrix(2, 2), d)]),
                1 => Expr::call("stop_grad", t, vec![self.expr(&Ty::Float, d)]),
                _ => Expr::new(Op::Index, t, vec![self.expr(&v, d), self.place(n)]),
            },
        }
    }

    /// A function without annotations, of two argument types.
    pub fn helped(&mut self, t: &Ty, a: &Ty, b: &Ty, d: usize) -> Expr {
        Expr::call(*self.random.of(&["affine", "spread"]), t.clone(), vec![self.expr(a, d), self.expr(b, d)])
    }

    /// An argument in the domain of a function, for functions with a restricted domain.
    fn safe(&mut self, f: &str, d: usize) -> Expr {
        let x = self.expr(&Ty::Float, d);
        let infix = |op, a, b| Expr::new(Op::Infix(op), Ty::Float, vec![a, b]);
        match f {
            "exp" | "expm1" | "sinh" => Expr::call("sin", Ty::Float, vec![x]),
            "sqrt" | "log" | "cbrt" => infix("+", Expr::float(1.5), Expr::call("sin", Ty::Float, vec![x])),
            _ => x,
        }
    }

    fn quotient(&mut self, d: usize) -> Expr {
        let below = Expr::call("cos", Ty::Float, vec![self.expr(&Ty::Float, d)]);
        let below = Expr::new(Op::Infix("+"), Ty::Float, vec![Expr::float(2.0), below]);
        Expr::new(Op::Infix("/"), Ty::Float, vec![self.expr(&Ty::Float, d), below])
    }

    /// A power: a literal exponent for any base, or any exponent for a positive base.
    fn power(&mut self, d: usize) -> Expr {
        if self.random.once_in(2) {
            let n = *self.random.of(&[2.0, 3.0, 1.0, 0.0]);
            return Expr::new(Op::Infix("^"), Ty::Float, vec![self.expr(&Ty::Float, d), Expr::float(n)]);
        }
        let base = Expr::call("exp", Ty::Float, vec![self.safe("exp", d)]);
        let exponent = if self.random.once_in(3) { self.vanishing() } else { self.expr(&Ty::Float, d) };
        Expr::new(Op::Infix("^"), Ty::Float, vec![base, exponent])
    }

    /// A number that is 0 at this point but has a derivative.
    fn vanishing(&mut self) -> Expr {
        let x = self.leaf(&Ty::Float);
        let held = Expr::call("stop_grad", Ty::Float, vec![x.clone()]);
        Expr::new(Op::Infix("-"), Ty::Float, vec![x, held])
    }

    fn reduced(&mut self, v: &Ty, d: usize) -> Expr {
        let (f, e) = self.operator(d);
        Expr::call("reduce", Ty::Float, vec![f, Expr::float(e), self.expr(v, d)])
    }

    /// An operator of reductions with its neutral element: associative, or any.
    pub fn operator(&mut self, d: usize) -> (Expr, f64) {
        let t = Ty::fun2(Ty::Float, Ty::Float, Ty::Float);
        let named = |f: &str| Expr::new(Op::Var(f.into()), Ty::fun2(Ty::Float, Ty::Float, Ty::Float), vec![]);
        match self.random.below(6) {
            0 => (named("(+)"), 0.0),
            1 => (named("(*)"), 1.0),
            2 => (named("max"), -9.0),
            3 => self.sum_with_a_check(),
            4 => self.affine_sum(),
            _ => (self.lambda(&t, d), 0.5),
        }
    }

    /// `x + y + [.., c, ..][i]`: an operator with a bounds check inside.
    fn sum_with_a_check(&mut self) -> (Expr, f64) {
        let (x, y) = (self.name("x"), self.name("y"));
        let (a, b) = (Expr::var(&x, &Ty::Float), Expr::var(&y, &Ty::Float));
        let v = self.under(&[(x.clone(), Ty::Float)], |g| g.expr(&Ty::vector(2), 2));
        let at = self.index(2);
        let c = Expr::new(Op::Index, Ty::Float, vec![v, at]);
        let infix = |op, a, b| Expr::new(Op::Infix(op), Ty::Float, vec![a, b]);
        let body = infix("+", infix("+", a, b), c);
        let inner = Expr::new(Op::Fun(y), Ty::scalar(), vec![body]);
        (Expr::new(Op::Fun(x), Ty::fun2(Ty::Float, Ty::Float, Ty::Float), vec![inner]), 0.0)
    }

    /// `x + y + k x y`, which is associative for every k.
    fn affine_sum(&mut self) -> (Expr, f64) {
        let (x, y) = (self.name("x"), self.name("y"));
        let (a, b) = (Expr::var(&x, &Ty::Float), Expr::var(&y, &Ty::Float));
        let k = self.leaf(&Ty::Float);
        let infix = |op, a, b| Expr::new(Op::Infix(op), Ty::Float, vec![a, b]);
        let body = infix("+", infix("+", a.clone(), b.clone()), infix("*", k, infix("*", a, b)));
        let inner = Expr::new(Op::Fun(y), Ty::scalar(), vec![body]);
        (Expr::new(Op::Fun(x), Ty::fun2(Ty::Float, Ty::Float, Ty::Float), vec![inner]), 0.0)
    }

    fn int(&mut self, d: usize) -> Expr {
        let n = 1 + self.random.below(4);
        match self.random.below(5) {
            0 => Expr::call("len", Ty::Int, vec![self.expr(&Ty::vector(n), d.min(2))]),
            1 => Expr::new(Op::Infix("%"), Ty::Int, vec![self.expr(&Ty::Int, d.min(2)), Expr::int(n as i64)]),
            2 | 3 => {
                let op = *self.random.of(&["+", "-", "*"]);
                Expr::new(Op::Infix(op), Ty::Int, vec![self.expr(&Ty::Int, d.min(2)), self.leaf(&Ty::Int)])
            }
            _ => self.leaf(&Ty::Int),
        }
    }

    fn truth(&mut self, d: usize) -> Expr {
        let d = d.min(2);
        match self.random.below(6) {
            0..3 => {
                let op = *self.random.of(&["<", ">", "<=", ">="]);
                Expr::new(Op::Infix(op), Ty::Bool, vec![self.expr(&Ty::Float, d), self.expr(&Ty::Float, d)])
            }
            3 => {
                let op = *self.random.of(&["<", "==", "!="]);
                Expr::new(Op::Infix(op), Ty::Bool, vec![self.leaf(&Ty::Int), self.expr(&Ty::Int, d)])
            }
            4 => Expr::call("not", Ty::Bool, vec![self.expr(&Ty::Bool, d)]),
            _ => {
                let op = *self.random.of(&["&&", "||"]);
                Expr::new(Op::Infix(op), Ty::Bool, vec![self.expr(&Ty::Bool, d), self.expr(&Ty::Bool, d)])
            }
        }
    }

    /// A function to be differentiated.
    fn differentiated(&mut self, a: &Ty, b: &Ty, d: usize) -> Expr {
        self.nesting += 1;
        let t = Ty::fun(a.clone(), b.clone());
        let f = if self.random.below(3) > 0 { self.active_lambda(a, b, d) } else { self.expr(&t, d) };
        self.nesting -= 1;
        f
    }

    /// A lambda whose parameter is differentiated.
    fn active_lambda(&mut self, a: &Ty, b: &Ty, d: usize) -> Expr {
        let x = self.name("x");
        self.activate(&x);
        let body = self.reading(&[(x.clone(), a.clone())], b, d);
        Expr::new(Op::Fun(x), Ty::fun(a.clone(), b.clone()), vec![body])
    }

    /// A derivative operator with a result of the given type.
    fn derivative(&mut self, t: &Ty, d: usize) -> Option<Expr> {
        if !has_real(t) {
            return None;
        }
        if let Ty::Array(row, n) = t
            && let (Ty::Array(e, m), true) = (&**row, self.random.below(4) > 0)
        {
            return (**e == Ty::Float).then(|| self.matrix_of_partials(t, *n, *m, d));
        }
        let point = match self.random.below(3) {
            0 => Ty::Float,
            1 => Ty::vector(1 + self.random.below(3)),
            _ => Ty::Tuple(vec![Ty::Float, Ty::vector(2)]),
        };
        if *t == Ty::Float && self.random.once_in(4) {
            let (n, m) = (1 + self.random.below(2), 1 + self.random.below(2));
            let partials = self.matrix_of_partials(&Ty::matrix(n, m), n, m, d);
            let row = Expr::new(Op::Index, Ty::vector(m), vec![partials, self.index(n)]);
            return Some(Expr::new(Op::Index, Ty::Float, vec![row, self.index(m)]));
        }
        if let (Some((from, to)), true) = (partial(t, &point), self.random.once_in(4)) {
            let way = *self.random.of(&["jacobian", "jacfwd", "jacrev"]);
            return Some(Expr::call(way, t.clone(), vec![self.differentiated(&from, &to, d), self.expr(&from, d)]));
        }
        let has_data = contains_data(t);
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
                Expr::call(way, t.clone(), vec![self.differentiated(t, &Ty::Float, d), self.expr(t, d)])
            }
            3 => {
                let pair = Expr::call(
                    "value_and_grad",
                    Ty::Tuple(vec![Ty::Float, t.clone()]),
                    vec![self.differentiated(t, &Ty::Float, d), self.expr(t, d)],
                );
                Expr::call("snd", t.clone(), vec![pair])
            }
            4 => {
                let pair = Expr::call(
                    "jvp",
                    Ty::Tuple(vec![t.clone(), t.clone()]),
                    vec![self.differentiated(&point, t, d), self.expr(&point, d), self.expr(&point, d)],
                );
                Expr::call(if self.random.once_in(3) { "fst" } else { "snd" }, t.clone(), vec![pair])
            }
            5 => Expr::call(
                "push",
                t.clone(),
                vec![self.differentiated(&point, t, d), self.expr(&point, d), self.expr(&point, d)],
            ),
            6 | 7 => {
                // The point of `pull_linear` is written twice.
                let (way, x) =
                    if self.random.once_in(4) { ("pull_linear", self.leaf(t)) } else { ("pull", self.expr(t, d)) };
                Expr::call(way, t.clone(), vec![self.differentiated(t, &point, d), x, self.expr(&point, d)])
            }
            _ => Expr::call(
                "hvp",
                t.clone(),
                vec![self.differentiated(t, &Ty::Float, d), self.expr(t, d), self.expr(t, d)],
            ),
        })
    }

    /// A Jacobian or Hessian.
    fn matrix_of_partials(&mut self, t: &Ty, n: usize, m: usize, d: usize) -> Expr {
        let (from, to) = (Ty::vector(m), Ty::vector(n));
        if n == m && self.random.once_in(3) {
            return Expr::call(
                "hessian",
                t.clone(),
                vec![self.differentiated(&from, &Ty::Float, d), self.expr(&from, d)],
            );
        }
        let way = *self.random.of(&["jacobian", "jacfwd", "jacrev"]);
        Expr::call(way, t.clone(), vec![self.differentiated(&from, &to, d), self.expr(&from, d)])
    }
}

/// Whether data of a type may contain a real number, as points of derivatives must.
fn has_real(t: &Ty) -> bool {
    match t {
        Ty::Int | Ty::Bool | Ty::Fun(..) => false,
        Ty::Float | Ty::Data(_) => true,
        Ty::Array(u, _) | Ty::Option(u) | Ty::List(u) => has_real(u),
        Ty::Tuple(ts) | Ty::Record(ts) => ts.iter().any(has_real),
    }
}

/// Whether a type is possible for a Jacobian: Floats, arrays of Floats, and tuples and records of those outside arrays.
fn has_structure(t: &Ty, in_array: bool) -> bool {
    match t {
        Ty::Float => true,
        Ty::Array(u, _) => has_structure(u, true),
        Ty::Tuple(ts) | Ty::Record(ts) => !in_array && ts.iter().all(|t| has_structure(t, false)),
        _ => false,
    }
}

/// The input and output types of a function whose Jacobian has the given type; one of them is a number.
fn partial(t: &Ty, point: &Ty) -> Option<(Ty, Ty)> {
    match (t, point) {
        (Ty::Float, _) => Some((Ty::Float, Ty::Float)),
        (Ty::Array(e, _), Ty::Float) if **e == Ty::Float => Some((Ty::Float, t.clone())),
        _ if has_structure(t, false) => Some((t.clone(), Ty::Float)),
        _ => None,
    }
}

/// Whether values of a type may differ in their constructors or in discrete parts.
fn contains_data(t: &Ty) -> bool {
    match t {
        Ty::Float => false,
        Ty::Array(u, _) => contains_data(u),
        Ty::Tuple(ts) | Ty::Record(ts) => ts.iter().any(contains_data),
        _ => true,
    }
}

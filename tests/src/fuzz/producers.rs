//! Productions for specific types: arithmetic, array operations, constructors, derivative operators.

use super::ast::{Decl, Expr, Op, Ty};
use super::generate::{Generator, NESTING};

impl Generator {
    /// Operations of a specific type.
    pub fn own(&mut self, ty: &Ty, depth: usize) -> Expr {
        if self.nesting < NESTING
            && !ty.has_function()
            && self.differentiates()
            && let Some(e) = self.derivative(ty, depth)
        {
            return e;
        }
        match ty {
            Ty::Float => self.float(depth),
            Ty::Int => self.int(depth),
            Ty::Bool => self.truth(depth),
            Ty::Array(u, n) if **u == Ty::Float => self.vector(*n, depth),
            Ty::Array(u, n) => self.array(u, *n, depth),
            Ty::Tuple(ts) => self.tuple(ty, ts, depth),
            Ty::Record(ts) => Expr::new(Op::Record, ty.clone(), ts.iter().map(|t| self.expr(t, depth)).collect()),
            Ty::Fun(a, b) => self.function(ty, a, b, depth),
            Ty::Option(_) | Ty::List(_) | Ty::Data(_) => self.constructed(ty, depth),
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

    fn function(&mut self, ty: &Ty, from: &Ty, to: &Ty, depth: usize) -> Expr {
        let scalar = *ty == Ty::scalar();
        match self.random.below(12) {
            0 if scalar => self.library_function(),
            1 if self.nesting < NESTING && scalar => {
                let f = self.differentiated(&Ty::Float, &Ty::Float, depth);
                Expr::call(
                    *self.random.of(&["grad", "grad", "grad", "engine.grad Taped", "grad_with RecomputeAll"]),
                    ty.clone(),
                    vec![f],
                )
            }
            2 | 3 => {
                let middle = self.any_type(0);
                let (f, g) = (
                    self.expr(&Ty::fun(from.clone(), middle.clone()), depth),
                    self.expr(&Ty::fun(middle, to.clone()), depth),
                );
                Expr::new(Op::Compose, ty.clone(), vec![f, g])
            }
            4 => Expr::call("checkpoint", ty.clone(), vec![self.expr(ty, depth)]),
            5 if scalar => self.custom(),
            _ => self.lambda(ty, depth),
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

    fn float(&mut self, depth: usize) -> Expr {
        let ty = Ty::Float;
        let len = 1 + self.random.below(3);
        let vector = Ty::vector(len);
        match self.random.below(22) {
            0..3 => {
                let f = *self.random.of(&[
                    "sin", "cos", "tanh", "atan", "sigmoid", "exp", "-", "abs", "relu", "softplus", "erf", "sqrt",
                    "log", "cbrt", "expm1", "sinh",
                ]);
                Expr::call(f, ty, vec![self.safe(f, depth)])
            }
            3..8 => {
                let op = *self.random.of(&["+", "-", "*", "*", "+"]);
                Expr::new(Op::Infix(op), ty, vec![self.expr(&Ty::Float, depth), self.expr(&Ty::Float, depth)])
            }
            8 => self.quotient(depth),
            9 => self.power(depth),
            10 => {
                let f = *self.random.of(&["min", "max", "hypot", "atan2"]);
                Expr::call(f, ty, vec![self.expr(&Ty::Float, depth), self.expr(&Ty::Float, depth)])
            }
            11 | 12 => {
                let f = *self.random.of(&["sum", "sum", "prod", "mean", "maximum", "minimum", "norm", "first", "last"]);
                Expr::call(f, ty, vec![self.expr(&vector, depth)])
            }
            13 => Expr::call("dot", ty, vec![self.expr(&vector, depth), self.expr(&vector, depth)]),
            14 if self.random.once_in(2) => self.comprehended(&ty, &Ty::Float, len, depth),
            14 => {
                let i = self.name("i");
                let body = self.under(&[(i.clone(), Ty::Int)], |g| g.expr(&Ty::Float, depth));
                Expr::new(Op::SumFor(i, len), ty, vec![body])
            }
            15 => Expr::call("float", ty, vec![self.expr(&Ty::Int, depth.min(2))]),
            16 => {
                let p = self.lambda(&Ty::fun(Ty::Float, Ty::Bool), depth.min(2));
                Expr::call("sum filter", ty, vec![p, self.expr(&vector, depth)])
            }
            17 => self.reduced(&vector, depth),
            18 => Expr::call(format!("^ {}", self.random.below(4)), ty, vec![self.expr(&Ty::Float, depth)]),
            20 => match self.random.below(4) {
                0 => Expr::call("weighed", ty, vec![self.expr(&vector, depth), self.expr(&vector, depth)]),
                1 => Expr::call("weighed", ty, vec![self.expr(&Ty::Float, depth), self.expr(&vector, depth)]),
                _ => self.helped(&ty, &ty, &ty, depth),
            },
            // The masked operand is written twice.
            19 => {
                let kept = Expr::call("mask", vector.clone(), vec![self.leaf(&vector), self.leaf(&Ty::Float)]);
                Expr::call("sum", ty, vec![kept])
            }
            _ => match self.random.below(3) {
                0 => Expr::call("trace", ty, vec![self.expr(&Ty::matrix(2, 2), depth)]),
                1 => Expr::call("stop_grad", ty, vec![self.expr(&Ty::Float, depth)]),
                _ => Expr::new(Op::Index, ty, vec![self.expr(&vector, depth), self.place(len)]),
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
        let depth = d.min(2);
        match self.random.below(6) {
            0..3 => {
                let op = *self.random.of(&["<", ">", "<=", ">="]);
                Expr::new(Op::Infix(op), Ty::Bool, vec![self.expr(&Ty::Float, depth), self.expr(&Ty::Float, depth)])
            }
            3 => {
                let op = *self.random.of(&["<", "==", "!="]);
                Expr::new(Op::Infix(op), Ty::Bool, vec![self.leaf(&Ty::Int), self.expr(&Ty::Int, depth)])
            }
            4 => Expr::call("not", Ty::Bool, vec![self.expr(&Ty::Bool, depth)]),
            _ => {
                let op = *self.random.of(&["&&", "||"]);
                Expr::new(Op::Infix(op), Ty::Bool, vec![self.expr(&Ty::Bool, depth), self.expr(&Ty::Bool, depth)])
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
    fn derivative(&mut self, ty: &Ty, depth: usize) -> Option<Expr> {
        if !has_real(ty) {
            return None;
        }
        if let Ty::Array(row, n) = ty
            && let (Ty::Array(e, m), true) = (&**row, self.random.below(4) > 0)
        {
            return (**e == Ty::Float).then(|| self.matrix_of_partials(ty, *n, *m, depth));
        }
        let point = match self.random.below(3) {
            0 => Ty::Float,
            1 => Ty::vector(1 + self.random.below(3)),
            _ => Ty::Tuple(vec![Ty::Float, Ty::vector(2)]),
        };
        if *ty == Ty::Float && self.random.once_in(4) {
            let (n, m) = (1 + self.random.below(2), 1 + self.random.below(2));
            let partials = self.matrix_of_partials(&Ty::matrix(n, m), n, m, depth);
            let row = Expr::new(Op::Index, Ty::vector(m), vec![partials, self.index(n)]);
            return Some(Expr::new(Op::Index, Ty::Float, vec![row, self.index(m)]));
        }
        if let (Some((from, to)), true) = (partial(ty, &point), self.random.once_in(4)) {
            let way = *self.random.of(&["jacobian", "jacfwd", "jacrev"]);
            return Some(Expr::call(
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
                Expr::call(way, ty.clone(), vec![self.differentiated(ty, &Ty::Float, depth), self.expr(ty, depth)])
            }
            3 => {
                let pair = Expr::call(
                    "value_and_grad",
                    Ty::Tuple(vec![Ty::Float, ty.clone()]),
                    vec![self.differentiated(ty, &Ty::Float, depth), self.expr(ty, depth)],
                );
                Expr::call("snd", ty.clone(), vec![pair])
            }
            4 => {
                let pair = Expr::call(
                    "jvp",
                    Ty::Tuple(vec![ty.clone(), ty.clone()]),
                    vec![self.differentiated(&point, ty, depth), self.expr(&point, depth), self.expr(&point, depth)],
                );
                Expr::call(if self.random.once_in(3) { "fst" } else { "snd" }, ty.clone(), vec![pair])
            }
            5 => Expr::call(
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
                Expr::call(way, ty.clone(), vec![self.differentiated(ty, &point, depth), x, self.expr(&point, depth)])
            }
            _ => Expr::call(
                "hvp",
                ty.clone(),
                vec![self.differentiated(ty, &Ty::Float, depth), self.expr(ty, depth), self.expr(ty, depth)],
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

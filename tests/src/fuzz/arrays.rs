//! Generators of arrays.

use super::ast::{Expr, Op, Ty};
use super::generate::Generator;

impl Generator {
    /// An array of non-numeric elements.
    pub fn array(&mut self, u: &Ty, n: usize, d: usize) -> Expr {
        let t = Ty::Array(Box::new(u.clone()), n);
        if let Ty::Array(e, m) = u
            && **e == Ty::Float
            && self.random.once_in(2)
        {
            return self.matrix(n, *m, d);
        }
        if let (Ty::Tuple(ts), true) = (u, self.random.once_in(3))
            && let [a, b] = &ts[..]
        {
            let side = |t: &Ty| Ty::Array(Box::new(t.clone()), n);
            return Expr::call("zip", t, vec![self.expr(&side(a), d), self.expr(&side(b), d)]);
        }
        self.any_array(u, n, d)
    }

    /// Generators that work for every element type.
    fn any_array(&mut self, u: &Ty, n: usize, d: usize) -> Expr {
        let t = Ty::Array(Box::new(u.clone()), n);
        match self.random.below(10) {
            0..3 => Expr::new(Op::Array, t, (0..n).map(|_| self.expr(u, d)).collect()),
            3..5 => {
                let i = self.name("i");
                let body = self.under(&[(i.clone(), Ty::Int)], |g| g.expr(u, d));
                Expr::new(Op::For(i, n), t, vec![body])
            }
            5 | 6 => {
                let from = self.any_type(1);
                let f = self.expr(&Ty::fun(from.clone(), u.clone()), d);
                Expr::call("map", t, vec![f, self.expr(&Ty::Array(Box::new(from), n), d)])
            }
            7 => {
                let (a, b) = (self.any_type(0), self.any_type(0));
                let f = self.lambda(&Ty::fun2(a.clone(), b.clone(), u.clone()), d);
                let side = |t: Ty| Ty::Array(Box::new(t), n);
                Expr::call("map2", t, vec![f, self.expr(&side(a), d), self.expr(&side(b), d)])
            }
            8 => self.moved(&t, n, d),
            _ => Expr::call(format!("replicate {n}"), t, vec![self.expr(u, d)]),
        }
    }

    /// The same elements in another order, or with some replaced.
    fn moved(&mut self, t: &Ty, n: usize, d: usize) -> Expr {
        let Ty::Array(u, _) = t else { return self.leaf(t) };
        let sized = |n| Ty::Array(u.clone(), n);
        match self.random.below(8) {
            6 => Expr::call(
                "every",
                t.clone(),
                vec![{
                    let from = (2 * n).saturating_sub(self.random.below(2));
                    self.expr(&sized(from), d)
                }],
            ),
            7 => {
                let at = self.random.below(n) as i64;
                let at = if self.random.once_in(2) { at } else { at - n as i64 };
                Expr::call(format!("update {at}"), t.clone(), vec![self.expr(t, d), self.expr(u, d)])
            }
            0 => Expr::call("reverse", t.clone(), vec![self.expr(t, d)]),
            1 => Expr::call(format!("rotate {}", 1 + self.random.below(2)), t.clone(), vec![self.expr(t, d)]),
            2 => {
                let at = self.random.below(n + 1);
                Expr::new(Op::Infix("++"), t.clone(), vec![self.expr(&sized(at), d), self.expr(&sized(n - at), d)])
            }
            3 => {
                let k = self.random.below(2);
                let f = if self.random.once_in(2) { format!("drop {k}") } else { format!("take {n}") };
                let from = if f.starts_with("drop") { n + k } else { n + 1 };
                Expr::call(f, t.clone(), vec![self.expr(&sized(from), d)])
            }
            4 => {
                let at = Expr::new(Op::Array, Ty::Array(Box::new(Ty::Int), n), (0..n).map(|_| self.index(3)).collect());
                Expr::call("gather", t.clone(), vec![self.expr(&sized(3), d), at])
            }
            _ => {
                let at = Expr::new(Op::Array, Ty::Array(Box::new(Ty::Int), 1), vec![self.index(n)]);
                Expr::call("scatter", t.clone(), vec![self.expr(t, d), at, self.expr(&sized(1), d)])
            }
        }
    }

    /// A vector.
    pub fn vector(&mut self, n: usize, d: usize) -> Expr {
        let t = Ty::vector(n);
        if n == 0 {
            return Expr::new(Op::Slice(0, 0), t, vec![self.expr(&Ty::vector(2), d)]);
        }
        let m = 1 + self.random.below(3);
        match self.random.below(19) {
            0..5 => self.any_array(&Ty::Float, n, d),
            5 => {
                let op = *self.random.of(&["+", "-", "*"]);
                Expr::new(Op::Infix(op), t.clone(), vec![self.expr(&t, d), self.expr(&t, d)])
            }
            6 => Expr::new(Op::Infix("*"), t.clone(), vec![self.expr(&Ty::Float, d), self.expr(&t, d)]),
            7 => {
                let f = *self.random.of(&["sin", "cos", "tanh", "-", "sigmoid", "abs", "atan"]);
                Expr::call(f, t.clone(), vec![self.expr(&t, d)])
            }
            8 | 9 => Expr::call(
                *self.random.of(&["cumsum", "cumprod", "sort", "reverse", "cumprod"]),
                t.clone(),
                vec![self.expr(&t, d)],
            ),
            10 => {
                let (f, e) = self.operator(d);
                Expr::call(
                    if self.random.once_in(3) { "scan_exclusive" } else { "scan" },
                    t.clone(),
                    vec![f, Expr::float(e), self.expr(&t, d)],
                )
            }
            11 => self.histogram(n, m, d),
            14 => Expr::call(
                format!("along 1 {}", self.random.of(&["sum", "mean", "maximum", "norm"])),
                t,
                vec![self.expr(&Ty::matrix(n, m), d)],
            ),
            16 => {
                let other = if self.random.once_in(2) { Ty::Float } else { t.clone() };
                if self.random.once_in(2) { self.helped(&t, &other, &t, d) } else { self.helped(&t, &t, &other, d) }
            }
            15 | 17 => match self.random.below(4) {
                0 => Expr::call(*self.random.of(&["zeros", "ones", "float arange"]), t, vec![]),
                1 => Expr::call("full", t, vec![self.expr(&Ty::Float, d)]),
                2 => Expr::call(format!("^ {}", self.random.below(4)), t.clone(), vec![self.expr(&t, d)]),
                _ => Expr::call("where below", t.clone(), vec![self.leaf(&t), self.leaf(&Ty::Float), self.expr(&t, d)]),
            },
            12 => Expr::new(Op::Infix("@"), t, vec![self.expr(&Ty::matrix(n, m), d), self.expr(&Ty::vector(m), d)]),
            13 => match self.random.below(3) {
                0 => Expr::call("column 0", t, vec![self.expr(&Ty::matrix(n, m), d)]),
                1 => Expr::new(Op::Index, t, vec![self.expr(&Ty::matrix(m, n), d), self.index(m)]),
                _ => Expr::new(Op::Slice(1, n + 1), t, vec![self.expr(&Ty::vector(n + 1), d)]),
            },
            _ => self.moved(&t, n, d),
        }
    }

    fn histogram(&mut self, n: usize, m: usize, d: usize) -> Expr {
        let t = Ty::vector(n);
        let (f, e) = match self.random.below(3) {
            0 => ("(+)", 0.0),
            1 => ("(*)", 1.0),
            _ => ("max", -9.0),
        };
        let f = Expr::new(Op::Var(f.into()), Ty::fun2(Ty::Float, Ty::Float, Ty::Float), vec![]);
        let keys = Expr::new(Op::Array, Ty::Array(Box::new(Ty::Int), m), (0..m).map(|_| self.index(n)).collect());
        Expr::call(
            "histogram",
            t.clone(),
            vec![self.expr(&t, d), f, Expr::float(e), keys, self.expr(&Ty::vector(m), d)],
        )
    }

    fn matrix(&mut self, n: usize, m: usize, d: usize) -> Expr {
        let t = Ty::matrix(n, m);
        // Without elements a literal's rows have no length, and meet no matrix that was made otherwise.
        let way = if n * m == 0 { 5 } else { self.random.below(8) };
        match way {
            // By rank: a vector meets every row.
            6 => {
                let op = *self.random.of(&["+", "-", "*"]);
                let (rows, row) = (self.expr(&t, d), self.expr(&Ty::vector(m), d));
                Expr::new(Op::Infix(op), t, if self.random.once_in(2) { vec![rows, row] } else { vec![row, rows] })
            }
            7 if self.random.once_in(2) => Expr::call("full", t, vec![self.expr(&Ty::Float, d)]),
            7 => self.helped(&t, &Ty::vector(m), &t, d),
            0 => Expr::call("outer", t, vec![self.expr(&Ty::vector(n), d), self.expr(&Ty::vector(m), d)]),
            1 => Expr::call("T", t, vec![self.expr(&Ty::matrix(m, n), d)]),
            2 => Expr::new(Op::Infix("@"), t, vec![self.expr(&Ty::matrix(n, 2), d), self.expr(&Ty::matrix(2, m), d)]),
            3 => {
                let op = *self.random.of(&["+", "-", "*"]);
                Expr::new(Op::Infix(op), t.clone(), vec![self.expr(&t, d), self.expr(&t, d)])
            }
            4 => Expr::new(Op::Infix("*"), t.clone(), vec![self.expr(&Ty::Float, d), self.expr(&t, d)]),
            _ => Expr::new(Op::Array, t, (0..n).map(|_| self.expr(&Ty::vector(m), d)).collect()),
        }
    }
}

//! Generators of arrays.

use super::ast::{FuzzExpr, FuzzTy, Name, Op};
use super::generate::Generator;

impl Generator {
    /// An array of non-numeric elements.
    pub fn array(&mut self, ty: &FuzzTy, len: usize, depth: usize) -> FuzzExpr {
        let array_ty = FuzzTy::Array(Box::new(ty.clone()), len);
        if let FuzzTy::Array(e, m) = ty
            && **e == FuzzTy::Float
            && self.random.once_in(2)
        {
            return self.matrix(len, *m, depth);
        }
        if let (FuzzTy::Tuple(ts), true) = (ty, self.random.once_in(3))
            && let [a, b] = &ts[..]
        {
            let side = |t: &FuzzTy| FuzzTy::Array(Box::new(t.clone()), len);
            return FuzzExpr::call("zip", array_ty, vec![self.expr(&side(a), depth), self.expr(&side(b), depth)]);
        }
        self.any_array(ty, len, depth)
    }

    /// Generators that work for every element type.
    fn any_array(&mut self, ty: &FuzzTy, len: usize, depth: usize) -> FuzzExpr {
        let array_ty = FuzzTy::Array(Box::new(ty.clone()), len);
        match self.random.below(10) {
            0..3 => FuzzExpr::new(Op::Array, array_ty, (0..len).map(|_| self.expr(ty, depth)).collect()),
            3 => self.comprehended(&array_ty, ty, len, depth),
            4 => {
                let i = self.name("i");
                let body = self.under(&[(i.clone(), FuzzTy::Int)], |g| g.expr(ty, depth));
                FuzzExpr::new(Op::For(i, len), array_ty, vec![body])
            }
            5 | 6 => {
                let from = self.any_type(1);
                let f = self.expr(&FuzzTy::fun(from.clone(), ty.clone()), depth);
                FuzzExpr::call("map", array_ty, vec![f, self.expr(&FuzzTy::Array(Box::new(from), len), depth)])
            }
            7 => {
                let (a, b) = (self.any_type(0), self.any_type(0));
                let f = self.lambda(&FuzzTy::fun2(a.clone(), b.clone(), ty.clone()), depth);
                let side = |t: FuzzTy| FuzzTy::Array(Box::new(t), len);
                FuzzExpr::call("map2", array_ty, vec![f, self.expr(&side(a), depth), self.expr(&side(b), depth)])
            }
            8 => self.moved(&array_ty, len, depth),
            _ => FuzzExpr::call(format!("replicate {len}"), array_ty, vec![self.expr(ty, depth)]),
        }
    }

    /// `for x in xs -> e`, or its sum if the result is the type of the body.
    pub fn comprehended(&mut self, result: &FuzzTy, body: &FuzzTy, len: usize, depth: usize) -> FuzzExpr {
        let (names, source) = self.elements(len, depth);
        let body_of = self.under(&names, |g| g.expr(body, depth));
        let xs = names.into_iter().map(|n| n.0).collect();
        let op = if result == body { Op::SumForIn(xs) } else { Op::ForIn(xs) };
        FuzzExpr::new(op, result.clone(), vec![source, body_of])
    }

    /// Names for an element, or for the parts of a pair, and an array of so many.
    pub fn elements(&mut self, len: usize, depth: usize) -> (Vec<(Name, FuzzTy)>, FuzzExpr) {
        let parts: Vec<FuzzTy> = (0..=self.random.below(2)).map(|_| self.any_type(1)).collect();
        let elem = if let [one] = &parts[..] { one.clone() } else { FuzzTy::Tuple(parts.clone()) };
        let source = self.expr(&FuzzTy::Array(Box::new(elem), len), depth);
        (parts.into_iter().map(|t| (self.name("e"), t)).collect(), source)
    }

    /// The same elements in another order, or with some replaced.
    fn moved(&mut self, ty: &FuzzTy, len: usize, depth: usize) -> FuzzExpr {
        let FuzzTy::Array(elem, _) = ty else { return self.leaf(ty) };
        let sized = |n| FuzzTy::Array(elem.clone(), n);
        match self.random.below(8) {
            6 => FuzzExpr::call(
                "every",
                ty.clone(),
                vec![{
                    let from = (2 * len).saturating_sub(self.random.below(2));
                    self.expr(&sized(from), depth)
                }],
            ),
            7 => {
                let at = self.random.below(len) as i64;
                let at = if self.random.once_in(2) { at } else { at - len as i64 };
                FuzzExpr::call(format!("update {at}"), ty.clone(), vec![self.expr(ty, depth), self.expr(elem, depth)])
            }
            0 => FuzzExpr::call("reverse", ty.clone(), vec![self.expr(ty, depth)]),
            1 => FuzzExpr::call(format!("rotate {}", 1 + self.random.below(2)), ty.clone(), vec![self.expr(ty, depth)]),
            2 => {
                let at = self.random.below(len + 1);
                FuzzExpr::new(
                    Op::Infix("++"),
                    ty.clone(),
                    vec![self.expr(&sized(at), depth), self.expr(&sized(len - at), depth)],
                )
            }
            3 => {
                let k = self.random.below(2);
                let f = if self.random.once_in(2) { format!("drop {k}") } else { format!("take {len}") };
                let from = if f.starts_with("drop") { len + k } else { len + 1 };
                FuzzExpr::call(f, ty.clone(), vec![self.expr(&sized(from), depth)])
            }
            4 => {
                let at = FuzzExpr::new(
                    Op::Array,
                    FuzzTy::Array(Box::new(FuzzTy::Int), len),
                    (0..len).map(|_| self.index(3)).collect(),
                );
                FuzzExpr::call("gather", ty.clone(), vec![self.expr(&sized(3), depth), at])
            }
            _ => {
                let at = FuzzExpr::new(Op::Array, FuzzTy::Array(Box::new(FuzzTy::Int), 1), vec![self.index(len)]);
                FuzzExpr::call("scatter", ty.clone(), vec![self.expr(ty, depth), at, self.expr(&sized(1), depth)])
            }
        }
    }

    /// A vector.
    pub fn vector(&mut self, len: usize, depth: usize) -> FuzzExpr {
        let ty = FuzzTy::vector(len);
        if len == 0 {
            return FuzzExpr::new(Op::Slice(0, 0), ty, vec![self.expr(&FuzzTy::vector(2), depth)]);
        }
        let inner = 1 + self.random.below(3);
        match self.random.below(19) {
            0..5 => self.any_array(&FuzzTy::Float, len, depth),
            5 => {
                let op = *self.random.of(&["+", "-", "*"]);
                FuzzExpr::new(Op::Infix(op), ty.clone(), vec![self.expr(&ty, depth), self.expr(&ty, depth)])
            }
            6 => {
                FuzzExpr::new(Op::Infix("*"), ty.clone(), vec![self.expr(&FuzzTy::Float, depth), self.expr(&ty, depth)])
            }
            7 => {
                let f = *self.random.of(&["sin", "cos", "tanh", "-", "sigmoid", "abs", "atan"]);
                FuzzExpr::call(f, ty.clone(), vec![self.expr(&ty, depth)])
            }
            8 | 9 => FuzzExpr::call(
                *self.random.of(&["cumsum", "cumprod", "sort", "reverse", "cumprod"]),
                ty.clone(),
                vec![self.expr(&ty, depth)],
            ),
            10 => {
                let (f, e) = self.operator(depth);
                FuzzExpr::call(
                    if self.random.once_in(3) { "scan_exclusive" } else { "scan" },
                    ty.clone(),
                    vec![f, FuzzExpr::float(e), self.expr(&ty, depth)],
                )
            }
            11 => self.histogram(len, inner, depth),
            14 => FuzzExpr::call(
                format!("along 1 {}", self.random.of(&["sum", "mean", "maximum", "norm"])),
                ty,
                vec![self.expr(&FuzzTy::matrix(len, inner), depth)],
            ),
            16 => {
                let other = if self.random.once_in(2) { FuzzTy::Float } else { ty.clone() };
                if self.random.once_in(2) {
                    self.helped(&ty, &other, &ty, depth)
                } else {
                    self.helped(&ty, &ty, &other, depth)
                }
            }
            15 | 17 => match self.random.below(4) {
                0 => FuzzExpr::call(*self.random.of(&["zeros", "ones", "float arange"]), ty, vec![]),
                1 => FuzzExpr::call("full", ty, vec![self.expr(&FuzzTy::Float, depth)]),
                2 => FuzzExpr::call(format!("^ {}", self.random.below(4)), ty.clone(), vec![self.expr(&ty, depth)]),
                _ => FuzzExpr::call(
                    "where below",
                    ty.clone(),
                    vec![self.leaf(&ty), self.leaf(&FuzzTy::Float), self.expr(&ty, depth)],
                ),
            },
            12 => FuzzExpr::new(
                Op::Infix("@"),
                ty,
                vec![self.expr(&FuzzTy::matrix(len, inner), depth), self.expr(&FuzzTy::vector(inner), depth)],
            ),
            13 => match self.random.below(3) {
                0 => FuzzExpr::call("column 0", ty, vec![self.expr(&FuzzTy::matrix(len, inner), depth)]),
                1 => {
                    FuzzExpr::new(Op::Index, ty, vec![self.expr(&FuzzTy::matrix(inner, len), depth), self.index(inner)])
                }
                _ => FuzzExpr::new(Op::Slice(1, len + 1), ty, vec![self.expr(&FuzzTy::vector(len + 1), depth)]),
            },
            _ => self.moved(&ty, len, depth),
        }
    }

    fn histogram(&mut self, bins: usize, updates: usize, depth: usize) -> FuzzExpr {
        let ty = FuzzTy::vector(bins);
        let (operator, neutral) = match self.random.below(3) {
            0 => ("(+)", 0.0),
            1 => ("(*)", 1.0),
            _ => ("max", -9.0),
        };
        let f =
            FuzzExpr::new(Op::Var(operator.into()), FuzzTy::fun2(FuzzTy::Float, FuzzTy::Float, FuzzTy::Float), vec![]);
        let keys = FuzzExpr::new(
            Op::Array,
            FuzzTy::Array(Box::new(FuzzTy::Int), updates),
            (0..updates).map(|_| self.index(bins)).collect(),
        );
        FuzzExpr::call(
            "histogram",
            ty.clone(),
            vec![self.expr(&ty, depth), f, FuzzExpr::float(neutral), keys, self.expr(&FuzzTy::vector(updates), depth)],
        )
    }

    fn matrix(&mut self, height: usize, width: usize, depth: usize) -> FuzzExpr {
        let ty = FuzzTy::matrix(height, width);
        // Without elements a literal's rows have no length, and meet no matrix that was made otherwise.
        let way = if height * width == 0 { 5 } else { self.random.below(8) };
        match way {
            // By rank: a vector meets every row.
            6 => {
                let op = *self.random.of(&["+", "-", "*"]);
                let (rows, row) = (self.expr(&ty, depth), self.expr(&FuzzTy::vector(width), depth));
                FuzzExpr::new(Op::Infix(op), ty, if self.random.once_in(2) { vec![rows, row] } else { vec![row, rows] })
            }
            7 if self.random.once_in(2) => FuzzExpr::call("full", ty, vec![self.expr(&FuzzTy::Float, depth)]),
            7 => self.helped(&ty, &FuzzTy::vector(width), &ty, depth),
            0 => FuzzExpr::call(
                "outer",
                ty,
                vec![self.expr(&FuzzTy::vector(height), depth), self.expr(&FuzzTy::vector(width), depth)],
            ),
            1 => FuzzExpr::call("T", ty, vec![self.expr(&FuzzTy::matrix(width, height), depth)]),
            2 => FuzzExpr::new(
                Op::Infix("@"),
                ty,
                vec![self.expr(&FuzzTy::matrix(height, 2), depth), self.expr(&FuzzTy::matrix(2, width), depth)],
            ),
            3 => {
                let op = *self.random.of(&["+", "-", "*"]);
                FuzzExpr::new(Op::Infix(op), ty.clone(), vec![self.expr(&ty, depth), self.expr(&ty, depth)])
            }
            4 => {
                FuzzExpr::new(Op::Infix("*"), ty.clone(), vec![self.expr(&FuzzTy::Float, depth), self.expr(&ty, depth)])
            }
            _ => FuzzExpr::new(Op::Array, ty, (0..height).map(|_| self.expr(&FuzzTy::vector(width), depth)).collect()),
        }
    }
}

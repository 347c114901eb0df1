//! Type-directed generation of random programs: an expression of any requested type, from the names in scope.
//!
//! To add a feature, add an `Op` (`ast`) or a library function; its syntax (`print`); its semantics (`evaluate`,
//! `library`); and a production here. Productions that work for every type belong in `any`, others in `producers`.
//! `features` counts how often it is generated.

use super::ast::{DECLS, DataConstructor, Decl, FuzzExpr, FuzzProgram, FuzzTy, Name, Op};
use super::features;
use super::random::Random;
use std::collections::HashSet;

/// The state of the generator: a source of random numbers, and the scope.
pub struct Generator {
    /// The source of random choices.
    pub random: Random,
    /// Names in scope with their types.
    pub scope: Vec<(Name, FuzzTy)>,
    /// The number of enclosing derivative operators.
    pub nesting: usize,
    /// Names whose values depend on the point of differentiation.
    active: HashSet<Name>,
    /// A subset of all productions and types for this program, so that programs differ more from each other.
    habit: Habit,
    names: usize,
}

/// The productions and types that a program may use, and the frequency of derivative operators.
struct Habit {
    productions: Vec<usize>,
    types: Vec<usize>,
    derivatives: usize,
}

/// The number of productions of `any`, and of types of `any_type`.
const PRODUCTIONS: usize = 16;
const TYPES: usize = 20;

impl Habit {
    fn all() -> Habit {
        Habit { productions: (0..PRODUCTIONS).collect(), types: (0..TYPES).collect(), derivatives: 4 }
    }

    /// Two of three programs use a restricted subset.
    fn random(random: &mut Random) -> Habit {
        if random.once_in(3) {
            return Habit::all();
        }
        let mut some = |n: usize, of: usize| (0..n).map(|_| random.below(of)).collect();
        let (productions, types) = (some(4, PRODUCTIONS), some(5, TYPES));
        Habit { productions, types, derivatives: 2 + random.below(4) }
    }
}

/// The maximal nesting of derivative operators.
pub const NESTING: usize = 3;

impl Generator {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Generator {
        Generator {
            random: Random::new(seed),
            scope: Vec::new(),
            nesting: 0,
            active: HashSet::new(),
            habit: Habit::all(),
            names: 0,
        }
    }

    /// A generator whose names differ from those of [`Generator::new`].
    pub fn beside(seed: u64) -> Generator {
        Generator { names: 1000 + (seed as usize % 1000) * 1000, ..Generator::new(seed) }
    }

    /// Records that a name depends on the point of differentiation.
    pub fn activate(&mut self, x: &Name) {
        self.active.insert(x.clone());
    }

    /// Records that if its value does.
    fn inherit(&mut self, x: &Name, value: &FuzzExpr) {
        if self.is_active(value) {
            self.activate(x);
        }
    }

    fn is_active(&self, e: &FuzzExpr) -> bool {
        let mut found = false;
        e.each(&mut |e| found |= matches!(&e.op, Op::Var(x) if self.active.contains(x)));
        found
    }

    /// A new name.
    pub fn name(&mut self, of: &str) -> Name {
        self.names += 1;
        format!("{of}{}", self.names).into()
    }

    /// Generates a part in a scope extended by these names.
    pub fn under<T>(&mut self, names: &[(Name, FuzzTy)], make: impl FnOnce(&mut Generator) -> T) -> T {
        let before = self.scope.len();
        self.scope.extend(names.iter().cloned());
        let made = make(self);
        self.scope.truncate(before);
        made
    }

    /// A whole program.
    pub fn program(&mut self) -> FuzzProgram {
        self.habit = Habit::random(&mut self.random);
        let mut globals = Vec::new();
        for _ in 0..self.random.below(3) {
            let t = if self.random.once_in(2) { self.function_type() } else { self.any_type(2) };
            let e = self.expr(&t, 2);
            let name = self.name("g");
            globals.push((name.clone(), e));
            self.scope.push((name, t));
        }
        let input = match self.random.below(6) {
            0 => FuzzTy::Tuple(vec![self.differentiable(0), FuzzTy::Int]),
            1 => FuzzTy::Tuple(vec![FuzzTy::Float, FuzzTy::vector(2)]),
            _ => self.differentiable(2),
        };
        let output = if self.random.below(3) > 0 { FuzzTy::Float } else { self.differentiable(2) };
        let param = self.name("x");
        self.activate(&param);
        let depth = 3 + self.random.below(4);
        let body = self.under(&[(param.clone(), input.clone())], |g| g.taken_apart(&param, &input, &output, depth));
        self.scope.clear();
        let points = [self.literal(&input, 0), self.literal(&input, 0)];
        let direction = self.like(&points[0]);
        let cotangent = self.literal(&output, 0);
        FuzzProgram { globals, param, input, body, points, direction, cotangent }
    }

    /// The body of a function, which often begins by naming the components of its parameter.
    fn taken_apart(&mut self, param: &Name, input: &FuzzTy, output: &FuzzTy, depth: usize) -> FuzzExpr {
        let FuzzTy::Tuple(ts) = input else { return self.expr(output, depth) };
        let names: Vec<Name> = ts.iter().map(|_| self.name("x")).collect();
        names.iter().for_each(|x| self.activate(x));
        let bound: Vec<(Name, FuzzTy)> = names.iter().cloned().zip(ts.iter().cloned()).collect();
        let body = self.under(&bound, |g| g.expr(output, depth));
        FuzzExpr::new(Op::LetTuple(names), output.clone(), vec![FuzzExpr::var(param, input), body])
    }

    /// A literal with the same constructors and sizes as another one.
    pub fn like(&mut self, e: &FuzzExpr) -> FuzzExpr {
        match &e.op {
            Op::Float(_) => FuzzExpr::float(self.random.float()),
            _ => FuzzExpr { kids: e.kids.iter().map(|k| self.like(k)).collect(), ..e.clone() },
        }
    }

    /// The type of a function.
    pub fn function_type(&mut self) -> FuzzTy {
        match self.random.below(6) {
            0..3 => FuzzTy::scalar(),
            3 => FuzzTy::fun(self.differentiable(1), self.differentiable(1)),
            4 => FuzzTy::fun(self.any_type(1), FuzzTy::Float),
            _ => FuzzTy::fun2(FuzzTy::Float, FuzzTy::Float, FuzzTy::Float),
        }
    }

    /// Any type.
    pub fn any_type(&mut self, depth: usize) -> FuzzTy {
        let size = 1 + self.random.below(3);
        if depth == 0 {
            return self
                .random
                .of(&[FuzzTy::Float, FuzzTy::Float, FuzzTy::Int, FuzzTy::vector(2), FuzzTy::scalar()])
                .clone();
        }
        let at = self.random.below(self.habit.types.len());
        match self.habit.types[at] {
            0..3 => FuzzTy::Float,
            3..6 => FuzzTy::vector(size),
            6 => FuzzTy::Int,
            7 => FuzzTy::Bool,
            8 => FuzzTy::matrix(2, size),
            9..11 => FuzzTy::Tuple(vec![self.any_type(depth - 1), self.any_type(depth - 1)]),
            11 => FuzzTy::Record(vec![self.any_type(depth - 1), self.any_type(depth - 1)]),
            12 => FuzzTy::Array(Box::new(FuzzTy::scalar()), 1 + self.random.below(2)),
            13 => FuzzTy::Array(Box::new(FuzzTy::Tuple(vec![FuzzTy::Float, self.any_type(0)])), size),
            14 => FuzzTy::Option(Box::new(self.any_type(depth - 1))),
            15 => FuzzTy::List(Box::new(self.any_type(depth - 1))),
            16..18 => FuzzTy::Data(*self.random.of(&DECLS)),
            _ => self.function_type(),
        }
    }

    /// A type that can be differentiated.
    pub fn differentiable(&mut self, depth: usize) -> FuzzTy {
        let size = 1 + self.random.below(3);
        match self.random.below(if depth == 0 { 6 } else { 14 }) {
            0..3 => FuzzTy::Float,
            3..6 => FuzzTy::vector(size),
            6 => FuzzTy::matrix(2, size),
            7 | 8 => FuzzTy::Tuple(vec![FuzzTy::Float, FuzzTy::vector(2)]),
            9 => FuzzTy::Tuple(vec![
                self.differentiable(depth - 1),
                if self.random.once_in(4) { FuzzTy::Int } else { self.differentiable(depth - 1) },
            ]),
            10 => FuzzTy::Record(vec![self.differentiable(depth - 1), self.differentiable(depth - 1)]),
            11 => FuzzTy::Option(Box::new(self.differentiable(depth - 1))),
            12 => FuzzTy::List(Box::new(self.differentiable(depth - 1))),
            _ => FuzzTy::Data(if self.random.once_in(2) { Decl::Tree } else { Decl::Shape }),
        }
    }

    /// Decides whether to generate a derivative operator.
    pub fn differentiates(&mut self) -> bool {
        self.random.once_in(self.habit.derivatives)
    }

    /// An expression of a type with an approximate depth.
    pub fn expr(&mut self, t: &FuzzTy, depth: usize) -> FuzzExpr {
        if depth == 0 {
            return self.leaf(t);
        }
        if self.random.once_in(10) {
            return self.leaf(t);
        }
        if self.random.below(5) < 2 { self.any(t, depth - 1) } else { self.own(t, depth - 1) }
    }

    /// Productions for any type.
    fn any(&mut self, ty: &FuzzTy, depth: usize) -> FuzzExpr {
        let at = self.random.below(self.habit.productions.len());
        match self.habit.productions[at] {
            0 | 1 => self.local(ty, depth),
            2 => self.local_function(ty, depth),
            3 => self.local_tuple(ty, depth),
            4 => FuzzExpr::new(
                Op::If,
                ty.clone(),
                vec![self.expr(&FuzzTy::Bool, depth.min(2)), self.expr(ty, depth), self.expr(ty, depth)],
            ),
            5 | 6 => self.matched(ty, depth),
            7 | 8 => self.applied(ty, depth),
            9 => self.part_of(ty, depth),
            10 | 11 => self.looped(ty, depth),
            12 => self.recursion(ty, depth),
            13 => self.walk(ty, depth),
            14 => self.folded(ty, depth),
            _ => self.passed(ty, depth),
        }
    }

    fn local(&mut self, t: &FuzzTy, d: usize) -> FuzzExpr {
        let u = self.any_type(2);
        let value = self.expr(&u, d);
        let x = self.name("x");
        self.inherit(&x, &value);
        let body = self.reading(&[(x.clone(), u)], t, d);
        FuzzExpr::new(Op::Let(x), t.clone(), vec![value, body])
    }

    fn local_function(&mut self, t: &FuzzTy, d: usize) -> FuzzExpr {
        let u = self.function_type();
        let value = self.lambda(&u, d);
        let f = self.name("f");
        self.inherit(&f, &value);
        let body = self.reading(&[(f.clone(), u)], t, d);
        FuzzExpr::new(Op::Let(f), t.clone(), vec![value, body])
    }

    fn local_tuple(&mut self, ty: &FuzzTy, depth: usize) -> FuzzExpr {
        let mut ts: Vec<FuzzTy> = (0..2 + self.random.below(2)).map(|_| self.any_type(1)).collect();
        // An array pattern, whose length is checked at run time.
        let whole = if self.random.once_in(4) {
            ts = vec![ts[0].clone(); ts.len()];
            FuzzTy::Array(Box::new(ts[0].clone()), ts.len())
        } else {
            FuzzTy::Tuple(ts.clone())
        };
        let value = self.expr(&whole, depth);
        let bound: Vec<(Name, FuzzTy)> = ts.into_iter().map(|t| (self.name("x"), t)).collect();
        bound.iter().for_each(|b| self.inherit(&b.0, &value));
        let body = self.reading(&bound, ty, depth);
        FuzzExpr::new(Op::LetTuple(bound.into_iter().map(|b| b.0).collect()), ty.clone(), vec![value, body])
    }

    /// Data of any kind.
    pub fn data_type(&mut self) -> FuzzTy {
        match self.random.below(5) {
            0 => FuzzTy::Option(Box::new(self.any_type(1))),
            1 => FuzzTy::List(Box::new(self.any_type(1))),
            _ => FuzzTy::Data(*self.random.of(&DECLS)),
        }
    }

    fn matched(&mut self, ty: &FuzzTy, d: usize) -> FuzzExpr {
        let u = self.data_type();
        let mut kids = vec![self.expr(&u, d)];
        let mut arms = Vec::new();
        for (con, fields) in u.constructors() {
            let bound: Vec<(Name, FuzzTy)> = fields.into_iter().map(|t| (self.name("x"), t)).collect();
            bound.iter().for_each(|b| self.inherit(&b.0, &kids[0]));
            let body = self.reading(&bound, ty, d);
            kids.push(body);
            arms.push(DataConstructor { con, fields: bound.into_iter().map(|b| b.0).collect(), results: vec![] });
        }
        FuzzExpr::new(Op::Match(arms), ty.clone(), kids)
    }

    /// An application: direct, by a pipe, or of a lambda.
    fn applied(&mut self, t: &FuzzTy, d: usize) -> FuzzExpr {
        let u = if self.random.once_in(2) { FuzzTy::Float } else { self.any_type(1) };
        let f = self.expr(&FuzzTy::fun(u.clone(), t.clone()), d);
        let x = self.expr(&u, d);
        FuzzExpr::new(if self.random.once_in(4) { Op::Pipe } else { Op::Apply }, t.clone(), vec![f, x])
    }

    /// A component of a larger value, whose other components are unused.
    fn part_of(&mut self, t: &FuzzTy, d: usize) -> FuzzExpr {
        let other = self.any_type(1);
        match self.random.below(4) {
            0 => FuzzExpr::call("fst", t.clone(), vec![self.expr(&FuzzTy::Tuple(vec![t.clone(), other]), d)]),
            1 => FuzzExpr::call("snd", t.clone(), vec![self.expr(&FuzzTy::Tuple(vec![other, t.clone()]), d)]),
            2 => FuzzExpr::new(Op::Field(1), t.clone(), vec![self.expr(&FuzzTy::Record(vec![other, t.clone()]), d)]),
            _ => {
                let n = 1 + self.random.below(3);
                let array = self.expr(&FuzzTy::Array(Box::new(t.clone()), n), d);
                let at = self.place(n);
                FuzzExpr::new(Op::Index, t.clone(), vec![array, at])
            }
        }
    }

    /// An index below n.
    pub fn index(&mut self, n: usize) -> FuzzExpr {
        if self.random.once_in(2) {
            return FuzzExpr::int(self.random.below(n) as i64);
        }
        let i = self.leaf(&FuzzTy::Int);
        FuzzExpr::new(Op::Infix("%"), FuzzTy::Int, vec![i, FuzzExpr::int(n as i64)])
    }

    /// An index into an array of n elements; a literal may count from the end.
    pub fn place(&mut self, n: usize) -> FuzzExpr {
        if self.random.once_in(6) { FuzzExpr::int(-1 - self.random.below(n) as i64) } else { self.index(n) }
    }

    fn looped(&mut self, ty: &FuzzTy, depth: usize) -> FuzzExpr {
        let init = self.expr(ty, depth);
        let (state, index) = (self.name("s"), self.name("i"));
        let count = self.random.below(4);
        let bound = [(index.clone(), FuzzTy::Int), (state.clone(), ty.clone())];
        self.activate(&state);
        if count > 0 && self.random.once_in(4) {
            let (mut bound, source) = self.elements(count, depth);
            let xs = bound.iter().map(|b| b.0.clone()).collect();
            bound.push((state.clone(), ty.clone()));
            let body = self.reading(&bound, ty, depth);
            return FuzzExpr::new(Op::LoopIn(state, xs), ty.clone(), vec![init, source, body]);
        }
        let body = self.reading(&bound, ty, depth);
        if self.random.once_in(4) {
            let cond = self.under(&bound[1..], |g| g.expr(&FuzzTy::Bool, 1));
            return FuzzExpr::new(Op::While(state, index, count), ty.clone(), vec![init, body, cond]);
        }
        FuzzExpr::new(Op::Loop(state, index, count), ty.clone(), vec![init, body])
    }

    fn recursion(&mut self, ty: &FuzzTy, depth: usize) -> FuzzExpr {
        let (counter, state, result) = (self.name("n"), self.name("s"), self.name("r"));
        let count = self.random.below(4);
        let init = self.expr(ty, depth);
        let bound = [(counter.clone(), FuzzTy::Int), (state.clone(), ty.clone()), (result.clone(), ty.clone())];
        self.activate(&state);
        self.activate(&result);
        let step = self.reading(&bound[..2], ty, depth);
        if self.random.once_in(4) {
            let other = self.reading(&bound[..2], ty, depth);
            let names = [self.name("f"), self.name("f")];
            return FuzzExpr::new(
                Op::Mutual { names, n: counter, s: state, count },
                ty.clone(),
                vec![init, step, other],
            );
        }
        let after = if self.random.once_in(2) { FuzzExpr::var(&result, ty) } else { self.reading(&bound, ty, depth) };
        let go = self.name("f");
        FuzzExpr::new(Op::Rec { go, n: counter, s: state, r: result, count }, ty.clone(), vec![init, step, after])
    }

    /// A recursion over data.
    fn walk(&mut self, ty: &FuzzTy, depth: usize) -> FuzzExpr {
        let data = match self.random.below(4) {
            0 => FuzzTy::List(Box::new(self.any_type(0))),
            1 => FuzzTy::Data(Decl::Tree),
            2 => FuzzTy::Data(Decl::Net),
            _ => FuzzTy::List(Box::new(FuzzTy::scalar())),
        };
        let mut kids = vec![self.expr(&data, depth)];
        let mut arms = Vec::new();
        for (con, fields) in data.constructors() {
            let mut bound: Vec<(Name, FuzzTy)> = fields.iter().map(|t| (self.name("x"), t.clone())).collect();
            let names = bound.iter().map(|b| b.0.clone()).collect();
            let results: Vec<(usize, Name)> =
                (0..fields.len()).filter(|i| fields[*i] == data).map(|i| (i, self.name("r"))).collect();
            bound.extend(results.iter().map(|r| (r.1.clone(), ty.clone())));
            results.iter().for_each(|r| self.activate(&r.1));
            let body = self.reading(&bound, ty, depth);
            kids.push(body);
            arms.push(DataConstructor { con, fields: names, results });
        }
        FuzzExpr::new(Op::Walk { go: self.name("f"), t: self.name("t"), arms }, ty.clone(), kids)
    }

    fn folded(&mut self, t: &FuzzTy, d: usize) -> FuzzExpr {
        let (n, u) = (1 + self.random.below(3), self.any_type(1));
        let array = self.expr(&FuzzTy::Array(Box::new(u.clone()), n), d);
        let right = self.random.once_in(4);
        let f = if right { FuzzTy::fun2(u, t.clone(), t.clone()) } else { FuzzTy::fun2(t.clone(), u, t.clone()) };
        let f = self.lambda(&f, d);
        FuzzExpr::call(if right { "foldr" } else { "fold" }, t.clone(), vec![f, self.expr(t, d), array])
    }

    /// The same value through an operation that does not change it.
    fn passed(&mut self, t: &FuzzTy, d: usize) -> FuzzExpr {
        match self.random.below(3) {
            0 => FuzzExpr::call("id", t.clone(), vec![self.expr(t, d)]),
            1 => FuzzExpr::call(
                "where",
                t.clone(),
                vec![self.expr(&FuzzTy::Bool, d.min(1)), self.expr(t, d), self.expr(t, d)],
            ),
            _ => self.local(t, d),
        }
    }

    /// An expression in the scope of bound names, which usually uses the last one.
    pub fn reading(&mut self, bound: &[(Name, FuzzTy)], ty: &FuzzTy, d: usize) -> FuzzExpr {
        self.under(bound, |generator| {
            let body = generator.expr(ty, d);
            let Some((x, u)) = bound.last() else { return body };
            if *ty != FuzzTy::Float || generator.random.once_in(4) || features::reads(&body, x) {
                return body;
            }
            let mut found = Vec::new();
            if *u == FuzzTy::scalar() {
                let at = generator.leaf(&FuzzTy::Float);
                found.push(FuzzExpr::new(Op::Apply, FuzzTy::Float, vec![FuzzExpr::var(x, u), at]));
            } else {
                reach(FuzzExpr::var(x, u), ty, 2, &mut found);
            }
            if found.is_empty() {
                return body;
            }
            let at = generator.random.below(found.len());
            let op = *generator.random.of(&["+", "*", "-"]);
            FuzzExpr::new(Op::Infix(op), FuzzTy::Float, vec![body, found.swap_remove(at)])
        })
    }

    /// A lambda.
    pub fn lambda(&mut self, t: &FuzzTy, d: usize) -> FuzzExpr {
        let FuzzTy::Fun(a, b) = t else { return self.expr(t, d) };
        let x = self.name("x");
        let bound = [(x.clone(), (**a).clone())];
        let body = if matches!(**b, FuzzTy::Fun(..)) {
            self.under(&bound, |g| g.lambda(b, d))
        } else {
            self.reading(&bound, b, d)
        };
        FuzzExpr::new(Op::Fun(x), t.clone(), vec![body])
    }

    /// A literal of a type; for a function type, a small lambda.
    pub fn literal(&mut self, ty: &FuzzTy, depth: usize) -> FuzzExpr {
        match ty {
            FuzzTy::Float => FuzzExpr::float(self.random.float()),
            FuzzTy::Int => FuzzExpr::int(self.random.below(4) as i64),
            FuzzTy::Bool => FuzzExpr::new(Op::Bool(self.random.once_in(2)), FuzzTy::Bool, vec![]),
            FuzzTy::Array(u, n) => {
                FuzzExpr::new(Op::Array, ty.clone(), (0..*n).map(|_| self.literal(u, depth)).collect())
            }
            FuzzTy::Tuple(ts) => {
                FuzzExpr::new(Op::Tuple, ty.clone(), ts.iter().map(|t| self.literal(t, depth)).collect())
            }
            FuzzTy::Record(ts) => {
                FuzzExpr::new(Op::Record, ty.clone(), ts.iter().map(|t| self.literal(t, depth)).collect())
            }
            FuzzTy::Fun(..) if *ty == FuzzTy::scalar() && self.random.once_in(2) => self.library_function(),
            FuzzTy::Fun(..) => self.lambda(ty, depth),
            FuzzTy::Option(_) | FuzzTy::List(_) | FuzzTy::Data(_) => {
                let all = ty.constructors();
                // Recursive types end at the fourth level.
                let ends: Vec<_> = all.iter().filter(|c| !c.1.contains(ty)).cloned().collect();
                let (con, fields) =
                    if depth > 3 { self.random.of(&ends).clone() } else { self.random.of(&all).clone() };
                FuzzExpr::new(Op::Con(con), ty.clone(), fields.iter().map(|t| self.literal(t, depth + 1)).collect())
            }
        }
    }

    /// A function of one number by name.
    pub fn library_function(&mut self) -> FuzzExpr {
        let f = *self.random.of(&["sin", "cos", "tanh", "atan", "sigmoid", "sin", "id", "softplus", "abs"]);
        FuzzExpr::new(Op::Var(f.into()), FuzzTy::scalar(), vec![])
    }

    /// A smallest expression of a type: a name, a component of one, a function applied to one, or a literal.
    pub fn leaf(&mut self, ty: &FuzzTy) -> FuzzExpr {
        let mut found = Vec::new();
        for (x, u) in &self.scope {
            reach(FuzzExpr::var(x, u), ty, 2, &mut found);
        }
        if self.random.below(3) > 0 && found.iter().any(|e| self.is_active(e)) {
            found.retain(|e| self.is_active(e));
        }
        if !found.is_empty() && self.random.below(8) > 0 {
            // Recently bound names are preferred.
            let n = found.len();
            let at = if self.random.once_in(2) { n - 1 - self.random.below(n.min(4)) } else { self.random.below(n) };
            return found.swap_remove(at);
        }
        match ty {
            FuzzTy::Array(..) | FuzzTy::Tuple(_) | FuzzTy::Record(_) if self.random.once_in(2) => self.of_leaves(ty),
            FuzzTy::Fun(..) if self.random.once_in(2) => self.lambda(ty, 0),
            _ => self.literal(ty, 1),
        }
    }

    /// An array, tuple or record of leaves.
    fn of_leaves(&mut self, t: &FuzzTy) -> FuzzExpr {
        match t {
            FuzzTy::Array(u, n) => FuzzExpr::new(Op::Array, t.clone(), (0..*n).map(|_| self.leaf(u)).collect()),
            FuzzTy::Tuple(ts) => FuzzExpr::new(Op::Tuple, t.clone(), ts.iter().map(|t| self.leaf(t)).collect()),
            FuzzTy::Record(ts) => FuzzExpr::new(Op::Record, t.clone(), ts.iter().map(|t| self.leaf(t)).collect()),
            _ => self.leaf(t),
        }
    }
}

/// All paths from a value to components of the wanted type.
fn reach(expr: FuzzExpr, want: &FuzzTy, depth: usize, out: &mut Vec<FuzzExpr>) {
    if expr.ty == *want {
        return out.push(expr);
    }
    if depth == 0 {
        return;
    }
    match &expr.ty.clone() {
        FuzzTy::Tuple(ts) if ts.len() == 2 => {
            for (t, f) in ts.iter().zip(["fst", "snd"]) {
                reach(FuzzExpr::call(f, t.clone(), vec![expr.clone()]), want, depth - 1, out);
            }
        }
        FuzzTy::Record(ts) => {
            for (i, t) in ts.iter().enumerate() {
                reach(FuzzExpr::new(Op::Field(i), t.clone(), vec![expr.clone()]), want, depth - 1, out);
            }
        }
        FuzzTy::Array(t, n) => {
            for i in 0..*n {
                reach(
                    FuzzExpr::new(Op::Index, (**t).clone(), vec![expr.clone(), FuzzExpr::int(i as i64)]),
                    want,
                    depth - 1,
                    out,
                );
            }
        }
        FuzzTy::Fun(a, b) if **a == FuzzTy::Float && !matches!(expr.op, Op::Call(_)) => {
            reach(
                FuzzExpr::new(Op::Apply, (**b).clone(), vec![expr.clone(), FuzzExpr::float(0.7)]),
                want,
                depth - 1,
                out,
            );
        }
        _ => {}
    }
}

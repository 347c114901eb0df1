//! The reference: a direct evaluator of generated programs. Derivatives of any nesting use dual numbers.

use super::ast::{DataConstructor, FuzzExpr, FuzzTy, Name, Op};
use super::features;
use super::number::Num;
use super::value::{Env, FuzzFun, FuzzVal, bind, find};
use std::rc::Rc;

/// The reason why a program has no reference answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoAnswer {
    /// It takes too long.
    Fuel,
    /// A number is too large or nan.
    Large,
    /// A comparison of numbers depends on rounding.
    Fragile,
    /// An index is out of bounds, or a component does not exist.
    Invalid,
}

/// A result of evaluation.
pub type Outcome<'a> = Result<FuzzVal<'a>, NoAnswer>;

/// The state of the evaluator.
pub struct Reference {
    /// The remaining steps.
    pub fuel: usize,
    /// The largest number so far.
    pub largest: f64,
    tags: u32,
}

/// The largest number that a program may compute with.
const LARGE: f64 = 1e5;

impl Reference {
    /// An evaluator with a limit of steps.
    pub fn new(fuel: usize) -> Reference {
        Reference { fuel, largest: 1.0, tags: 0 }
    }

    /// A fresh tag for a derivative.
    pub fn tag(&mut self) -> u32 {
        self.tags += 1;
        self.tags
    }

    /// Counts steps.
    pub fn spend(&mut self, steps: usize) -> Result<(), NoAnswer> {
        self.fuel = self.fuel.checked_sub(steps).ok_or(NoAnswer::Fuel)?;
        Ok(())
    }

    /// Checks a computed number.
    pub fn number<'a>(&mut self, n: Num) -> Outcome<'a> {
        let size = n.magnitude();
        self.largest = self.largest.max(size);
        if size > LARGE { Err(NoAnswer::Large) } else { Ok(FuzzVal::Num(n)) }
    }

    /// The value of an expression.
    pub fn eval<'a>(&mut self, expr: &'a FuzzExpr, env: &Env<'a>) -> Outcome<'a> {
        self.spend(1)?;
        let FuzzExpr { op, kids, .. } = expr;
        Ok(match op {
            Op::Var(x) => find(env, x).unwrap_or_else(|| FuzzVal::Fun(Rc::new(FuzzFun::Library(x, vec![])))),
            Op::Float(x) => FuzzVal::flat(*x),
            Op::Int(i) => FuzzVal::Int(*i),
            Op::Bool(b) => FuzzVal::Bool(*b),
            Op::Infix("&&") => FuzzVal::Bool(self.truth(&kids[0], env)? && self.truth(&kids[1], env)?),
            Op::Infix("||") => FuzzVal::Bool(self.truth(&kids[0], env)? || self.truth(&kids[1], env)?),
            Op::Infix(f) => {
                let (a, b) = (self.eval(&kids[0], env)?, self.eval(&kids[1], env)?);
                self.infix(f, &a, &b)?
            }
            Op::Call(name) if kids.is_empty() || name == "full" => {
                let x = kids.first().map_or(Ok(FuzzVal::flat(f64::from(name == "ones"))), |k| self.eval(k, env))?;
                filled(name, &expr.ty, &x)
            }
            Op::Call(name) => {
                let args = kids.iter().map(|k| self.eval(k, env)).collect::<Result<Vec<_>, _>>()?;
                // A derivative operator without its point is a function of the point.
                if matches!(expr.ty, FuzzTy::Fun(..)) && features::is_derivative(expr) {
                    FuzzVal::Fun(Rc::new(FuzzFun::Library(name, args)))
                } else {
                    self.library(name, args)?
                }
            }
            Op::Fun(x) => FuzzVal::Fun(Rc::new(FuzzFun::Closure(x, &kids[0], env.clone()))),
            Op::Apply | Op::Pipe => {
                let (f, x) = (self.eval(&kids[0], env)?, self.eval(&kids[1], env)?);
                self.apply(&f, x)?
            }
            Op::Compose => {
                FuzzVal::Fun(Rc::new(FuzzFun::Compose(self.eval(&kids[0], env)?, self.eval(&kids[1], env)?)))
            }
            Op::Custom { .. } => FuzzVal::Fun(Rc::new(FuzzFun::Same(self.eval(&kids[0], env)?))),
            Op::If => {
                let arm = if self.truth(&kids[0], env)? { &kids[1] } else { &kids[2] };
                self.eval(arm, env)?
            }
            Op::Tuple | Op::Record => FuzzVal::Tuple(Rc::new(self.all(kids, env)?)),
            Op::Array => FuzzVal::array(self.all(kids, env)?),
            Op::Con(c) => FuzzVal::Con(c, Rc::new(self.all(kids, env)?)),
            Op::Field(i) => {
                let v = self.eval(&kids[0], env)?;
                self.part(&v, *i)?
            }
            Op::Index | Op::Slice(..) => self.element(op, kids, env)?,
            _ => self.binding(expr, env)?,
        })
    }

    fn all<'a>(&mut self, es: &'a [FuzzExpr], env: &Env<'a>) -> Result<Vec<FuzzVal<'a>>, NoAnswer> {
        es.iter().map(|e| self.eval(e, env)).collect()
    }

    fn truth<'a>(&mut self, e: &'a FuzzExpr, env: &Env<'a>) -> Result<bool, NoAnswer> {
        if let FuzzVal::Bool(b) = self.eval(e, env)? { Ok(b) } else { Err(NoAnswer::Invalid) }
    }

    /// A part of a tuple, record or constructor.
    pub fn part<'a>(&self, v: &FuzzVal<'a>, i: usize) -> Outcome<'a> {
        match v {
            FuzzVal::Tuple(vs) | FuzzVal::Con(_, vs) | FuzzVal::Array(vs) => {
                vs.get(i).cloned().ok_or(NoAnswer::Invalid)
            }
            _ => Err(NoAnswer::Invalid),
        }
    }

    fn element<'a>(&mut self, op: &Op, kids: &'a [FuzzExpr], env: &Env<'a>) -> Outcome<'a> {
        let array = self.eval(&kids[0], env)?;
        if let (Op::Slice(a, b), FuzzVal::Array(vs)) = (op, &array) {
            return vs.get(*a..*b).map(|part| FuzzVal::array(part.to_vec())).ok_or(NoAnswer::Invalid);
        }
        match self.eval(&kids[1], env)? {
            // A negative literal counts from the end.
            FuzzVal::Int(i) if i < 0 && matches!(kids[1].op, Op::Int(_)) => self.part(&array, counted(&array, i)?),
            FuzzVal::Int(i) => self.part(&array, usize::try_from(i).map_err(|_| NoAnswer::Invalid)?),
            _ => Err(NoAnswer::Invalid),
        }
    }

    /// Expressions that bind names.
    fn binding<'a>(&mut self, expr: &'a FuzzExpr, env: &Env<'a>) -> Outcome<'a> {
        let kids = &expr.kids;
        match &expr.op {
            Op::Let(x) => {
                let v = self.eval(&kids[0], env)?;
                self.eval(&kids[1], &bind(env, x, v))
            }
            Op::LetTuple(xs) => {
                let v = self.eval(&kids[0], env)?;
                let inner = self.parts(xs, &v, env)?;
                self.eval(&kids[1], &inner)
            }
            Op::Match(arms) => {
                let v = self.eval(&kids[0], env)?;
                let (at, inner) = self.arm(arms, &v, env)?;
                self.eval(&kids[at + 1], &inner)
            }
            Op::Walk { arms, .. } => {
                let v = self.eval(&kids[0], env)?;
                self.walk(arms, &kids[1..], &v, env)
            }
            Op::For(i, n) | Op::SumFor(i, n) => {
                let items = (0..*n)
                    .map(|k| self.eval(&kids[0], &bind(env, i, FuzzVal::Int(k as i64))))
                    .collect::<Result<Vec<_>, _>>()?;
                if matches!(expr.op, Op::For(..)) { Ok(FuzzVal::array(items)) } else { self.total(&items) }
            }
            Op::ForIn(xs) | Op::SumForIn(xs) => {
                let source = self.eval(&kids[0], env)?;
                let items = elements(&source)?
                    .iter()
                    .map(|v| {
                        let inner = self.element_bound(xs, v, env)?;
                        self.eval(&kids[1], &inner)
                    })
                    .collect::<Result<Vec<_>, _>>()?;
                if matches!(expr.op, Op::ForIn(..)) { Ok(FuzzVal::array(items)) } else { self.total(&items) }
            }
            _ => self.repeated(expr, env),
        }
    }

    /// Binds the parts of a tuple or array to names.
    fn parts<'a>(&self, xs: &'a [Name], v: &FuzzVal<'a>, env: &Env<'a>) -> Result<Env<'a>, NoAnswer> {
        let mut inner = env.clone();
        for (i, x) in xs.iter().enumerate() {
            inner = bind(&inner, x, self.part(v, i)?);
        }
        Ok(inner)
    }

    /// Binds an element to a name, or its parts to several.
    fn element_bound<'a>(&self, xs: &'a [Name], v: &FuzzVal<'a>, env: &Env<'a>) -> Result<Env<'a>, NoAnswer> {
        if let [x] = xs { Ok(bind(env, x, v.clone())) } else { self.parts(xs, v, env) }
    }

    /// Loops, and recursions over a count.
    fn repeated<'a>(&mut self, e: &'a FuzzExpr, env: &Env<'a>) -> Outcome<'a> {
        let kids = &e.kids;
        let mut state = self.eval(&kids[0], env)?;
        match &e.op {
            Op::Loop(s, i, n) | Op::While(s, i, n) => {
                for k in 0..*n {
                    let inner = bind(&bind(env, s, state.clone()), i, FuzzVal::Int(k as i64));
                    if matches!(e.op, Op::While(..)) && !self.truth(&kids[2], &inner)? {
                        break;
                    }
                    state = self.eval(&kids[1], &inner)?;
                }
                Ok(state)
            }
            Op::LoopIn(s, xs) => {
                let source = self.eval(&kids[1], env)?;
                for v in elements(&source)? {
                    let inner = self.element_bound(xs, v, &bind(env, s, state))?;
                    state = self.eval(&kids[2], &inner)?;
                }
                Ok(state)
            }
            Op::Mutual { n, s, count, .. } => {
                for k in 0..*count {
                    let inner = bind(&bind(env, n, FuzzVal::Int((*count - k) as i64)), s, state);
                    state = self.eval(&kids[1 + k % 2], &inner)?;
                }
                Ok(state)
            }
            Op::Rec { n, s, r, count, .. } => self.descend((n, s, r), kids, *count, state, env),
            _ => Err(NoAnswer::Invalid),
        }
    }

    fn descend<'a>(
        &mut self,
        (counter, carried, result): (&'a Name, &'a Name, &'a Name),
        kids: &'a [FuzzExpr],
        count: usize,
        state: FuzzVal<'a>,
        env: &Env<'a>,
    ) -> Outcome<'a> {
        if count == 0 {
            return Ok(state);
        }
        let inner = bind(&bind(env, counter, FuzzVal::Int(count as i64)), carried, state);
        let next = self.eval(&kids[1], &inner)?;
        let below = self.descend((counter, carried, result), kids, count - 1, next, env)?;
        self.eval(&kids[2], &bind(&inner, result, below))
    }

    /// The index of the arm that matches a value, and the environment with its fields.
    fn arm<'a>(
        &mut self,
        arms: &'a [DataConstructor],
        v: &FuzzVal<'a>,
        env: &Env<'a>,
    ) -> Result<(usize, Env<'a>), NoAnswer> {
        let FuzzVal::Con(c, fields) = v else { return Err(NoAnswer::Invalid) };
        let at = arms.iter().position(|a| a.con == *c).ok_or(NoAnswer::Invalid)?;
        let mut inner = env.clone();
        for (x, field) in arms[at].fields.iter().zip(fields.iter()) {
            inner = bind(&inner, x, field.clone());
        }
        Ok((at, inner))
    }

    fn walk<'a>(
        &mut self,
        arms: &'a [DataConstructor],
        bodies: &'a [FuzzExpr],
        v: &FuzzVal<'a>,
        env: &Env<'a>,
    ) -> Outcome<'a> {
        self.spend(1)?;
        let (at, mut inner) = self.arm(arms, v, env)?;
        for (i, r) in &arms[at].results {
            let below = self.walk(arms, bodies, &self.part(v, *i)?, env)?;
            inner = bind(&inner, r, below);
        }
        self.eval(&bodies[at], &inner)
    }

    /// A function applied.
    pub fn apply<'a>(&mut self, f: &FuzzVal<'a>, argument: FuzzVal<'a>) -> Outcome<'a> {
        let FuzzVal::Fun(f) = f else { return Err(NoAnswer::Invalid) };
        match &**f {
            FuzzFun::Closure(name, body, env) => self.eval(body, &bind(env, name, argument)),
            FuzzFun::Compose(f, g) => {
                let y = self.apply(f, argument)?;
                self.apply(g, y)
            }
            FuzzFun::Same(f) => self.apply(f, argument),
            FuzzFun::Library(name, args) => {
                let mut args = args.clone();
                args.push(argument);
                // The only library functions of two arguments that occur as values are operators of reductions.
                if args.len() == 1 && (["min", "max"].contains(name) || name.starts_with("(")) {
                    return Ok(FuzzVal::Fun(Rc::new(FuzzFun::Library(name, args))));
                }
                self.library(name, args)
            }
        }
    }

    /// A function of two arguments applied.
    pub fn apply2<'a>(&mut self, f: &FuzzVal<'a>, x: FuzzVal<'a>, y: FuzzVal<'a>) -> Outcome<'a> {
        let g = self.apply(f, x)?;
        self.apply(&g, y)
    }
}

/// The elements of an array.
fn elements<'v, 'a>(v: &'v FuzzVal<'a>) -> Result<&'v [FuzzVal<'a>], NoAnswer> {
    if let FuzzVal::Array(vs) = v { Ok(vs) } else { Err(NoAnswer::Invalid) }
}

/// The position of an element that is counted from the end.
pub fn counted(array: &FuzzVal, i: i64) -> Result<usize, NoAnswer> {
    let FuzzVal::Array(vs) = array else { return Err(NoAnswer::Invalid) };
    let from = if i < 0 { vs.len() as i64 } else { 0 };
    usize::try_from(from + i).map_err(|_| NoAnswer::Invalid)
}

/// An array of a type, filled with one value or with the positions.
fn filled<'a>(name: &str, t: &FuzzTy, x: &FuzzVal<'a>) -> FuzzVal<'a> {
    let FuzzTy::Array(row, n) = t else { return x.clone() };
    let element = |i: usize| if name == "float arange" { FuzzVal::flat(i as f64) } else { filled(name, row, x) };
    FuzzVal::array((0..*n).map(element).collect())
}

//! Programs generated from the rows of [`crate::rows`]: a new row is among them without further work.
//!
//! - [`instances`]: one program for each way in which the operation of a row can be applied to a pool of numbers and
//!   arrays, with arguments.
//! - [`chain`]: random operations, each applied to results of earlier ones.
//!
//! Operations with blocks, calls and data are not among them; the random programs of [`super::program`] have those.

use super::choices::{Choices, Chosen, Each, RandomChoices};
use super::rng::Rng;
use crate::build::Builder;
use crate::eval::{self, Val};
use crate::func::{FnId, Function, Program, Var};
use crate::op::{Cmp, Contract, Conv, Lit, Op, Terms};
use crate::rows::NAMES;
use crate::ty::Ty;
use crate::verify::types::{self, ResultTypes};
use adl_prim::{Bin, Prim, Typing, Un};
use std::collections::HashMap;

/// Rows whose operations are not generated here.
pub const ELSEWHERE: &[&str] =
    &["Construct", "Destruct", "Dup", "Drop", "If", "Switch", "Loop", "Call", "Soac", "ReduceByIndex"];

/// A program with the only function `f`, and arguments for it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of the row, or of the chain.
    pub name: String,
    /// The program.
    pub program: Program,
    /// Its function.
    pub main: FnId,
    /// Arguments: each is read.
    pub args: Vec<Val>,
    /// What the reference evaluator gives.
    pub results: Result<Vec<Val>, String>,
}

impl Case {
    pub(super) fn new(name: &str, func: Function, args: Vec<Val>) -> Case {
        let mut program = Program::default();
        let main = program.add(func);
        let results = eval::run(&program, main, &args, &[]).map(|out| out.results).map_err(|e| e.message);
        Case { name: name.to_owned(), program, main, args, results }
    }

    /// The only operation of an instance.
    pub fn op(&self) -> Option<&Op> {
        self.program.func(self.main).body.stmts.first().map(|s| &s.op)
    }

    /// The program as text.
    pub fn text(&self) -> String {
        crate::print::program(&self.program, crate::print::Style::PLAIN)
    }
}

/// Two numbers, two vectors and two matrices with elements of type `scalar`, Ints, indices, a shape, and Bools. The
/// first of a kind are between 0 and 1, where all functions but `acosh` are defined, the second above 1.
fn pool(scalar: &Ty) -> Vec<(Ty, Val)> {
    let number = |x: f64| match scalar {
        Ty::F32 => Val::F32(x as f32),
        Ty::I64 => Val::I64((10.0 * x) as i64 - 6),
        _ => Val::F64(x),
    };
    let array = |shape: &[usize], xs: &[f64]| {
        (scalar.array(shape.len() as u32), Val::array(shape.to_vec(), xs.iter().map(|x| number(*x)).collect()))
    };
    let bools = |xs: [bool; 3]| Val::array(vec![3], xs.iter().map(|x| Val::Bool(*x)).collect());
    vec![
        (scalar.clone(), number(0.37)),
        (scalar.clone(), number(1.71)),
        array(&[3], &[0.42, 0.83, 0.15]),
        array(&[3], &[1.27, 2.38, 1.64]),
        array(&[2, 3], &[0.31, -0.74, 0.56, 0.92, 0.18, -0.65]),
        array(&[3, 2], &[1.13, 1.86, 0.49, 1.52, 2.07, 1.35]),
        (Ty::I64, Val::I64(0)),
        (Ty::I64, Val::I64(1)),
        (Ty::I64, Val::I64(3)),
        (Ty::shape(), Val::ints(&[1, 0, 1])),
        (Ty::shape(), Val::ints(&[3, 2])),
        (Ty::Bool, Val::Bool(true)),
        (Ty::Bool.array(1), bools([true, false, true])),
    ]
}

/// A function with the variables of a pool as parameters.
fn with_pool(name: &str, pool: &[(Ty, Val)]) -> Builder {
    let mut b = Builder::new(name);
    for (ty, _) in pool {
        b.param(ty.clone());
    }
    b
}

/// How many instances may differ in their arguments only: those with numbers as results, those without, and those that
/// fail.
const ALIKE: [usize; 3] = [2, 1, 1];

/// Applications of operations to the pool of numbers of this type, one or two for each operation and types of operands.
pub fn instances(scalar: &Ty) -> Vec<Case> {
    let pool = pool(scalar);
    let rows = NAMES.iter().filter(|name| !ELSEWHERE.contains(name));
    rows.flat_map(|row| instances_of(row, &pool)).collect()
}

fn instances_of(row: &str, pool: &[(Ty, Val)]) -> Vec<Case> {
    let base = with_pool("f", pool).func;
    let mut each = Each::new((0..pool.len() as u32).map(Var).collect());
    let (mut out, mut alike) = (Vec::new(), HashMap::<String, [usize; 3]>::new());
    loop {
        let op = choose(row, &base, &mut each);
        if let Some(case) = op.and_then(|op| result_ty(&base, &op, pool).map(|ty| single(row, op, ty, pool))) {
            let numbers = |vals: &Vec<Val>| vals.iter().any(|val| val.scalars() > 0);
            let which = case.results.as_ref().map_or(2, |vals| usize::from(!numbers(vals)));
            let count = &mut alike.entry(case.text()).or_default()[which];
            *count += 1;
            if *count <= ALIKE[which] {
                out.push(case);
            }
        }
        if !each.advance() {
            return out;
        }
    }
}

/// The program that applies an operation to variables of the pool; those that it does not read are left out.
fn single(row: &str, mut op: Op, ty: Ty, pool: &[(Ty, Val)]) -> Case {
    let mut b = Builder::new("f");
    let mut read = Vec::new();
    op.each_operand(&mut |v| read.push(v));
    read.sort_unstable();
    read.dedup();
    let args = read.iter().filter_map(|v| pool.get(v.0 as usize)).cloned();
    let (tys, args): (Vec<Ty>, Vec<Val>) = args.unzip();
    let params: Vec<Var> = tys.into_iter().map(|ty| b.param(ty)).collect();
    op.map_operands(&mut |v| read.iter().position(|r| *r == v).map_or(v, |k| params[k]));
    let result = b.one(op, ty);
    Case::new(row, b.finish(vec![result], Vec::new()), args)
}

/// The type of the single result of an operation, if its operands have the required types.
fn result_ty(f: &Function, op: &Op, vals: &[(Ty, Val)]) -> Option<Ty> {
    let value = |v: &Var| vals.get(v.0 as usize).map(|(_, val)| val);
    match types::expected(&Program::default(), f, op).ok()? {
        ResultTypes::Tys(tys) => <[Ty; 1]>::try_from(tys).ok().map(|[ty]| ty),
        ResultTypes::OneMore(ty) => Some(ty.scalar().array(ty.rank() + 1)),
        ResultTypes::ArrayOf(ty) => match op {
            Op::Reshape { to: shape, .. } | Op::Broadcast { shape, .. } => {
                let rank = value(shape)?.scalars() as u32;
                (rank > 0).then(|| ty.array(rank))
            }
            _ => None,
        },
        ResultTypes::Anything => match op {
            Op::Prim(prim, args) => {
                let args: Vec<Val> = args.iter().map(|v| value(v).cloned()).collect::<Option<_>>()?;
                eval::host::simple(*prim, &args).ok().and_then(|val| ty_of(&val))
            }
            _ => None,
        },
    }
}

/// The type of a value; `None` if it does not tell.
fn ty_of(val: &Val) -> Option<Ty> {
    match val {
        Val::F64(_) => Some(Ty::F64),
        Val::F32(_) => Some(Ty::F32),
        Val::I64(_) => Some(Ty::I64),
        Val::Bool(_) => Some(Ty::Bool),
        Val::Array(a) => {
            let elem = ty_of(a.elems.first()?)?;
            a.elems.iter().all(|e| e.fits(&elem)).then(|| elem.array(a.shape.len() as u32))
        }
        Val::Str(_) | Val::Data(_) | Val::SymbolicZero | Val::Deps(_) => None,
    }
}

/// An operation of a row. Rows with a text form of their own need an arm here.
fn choose(row: &str, function: &Function, choices: &mut dyn Choices) -> Option<Op> {
    let int = |choices: &mut dyn Choices| {
        let v = choices.var()?;
        (*function.ty(v) == Ty::I64).then_some(v)
    };
    Some(match row {
        "Lit" => Op::Lit([Lit::F64(0.5), Lit::F32(0.5), Lit::I64(3), Lit::Bool(true)][choices.below(4)].clone()),
        "Un" => Op::Un(one_of(choices, &functions()), choices.var()?),
        "Bin" => Op::Bin(one_of(choices, Bin::ALL), choices.var()?, choices.var()?),
        "Cmp" => {
            let order = [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Gt, Cmp::Le, Cmp::Ge];
            Op::Cmp(one_of(choices, &order), choices.var()?, choices.var()?)
        }
        "Convert" => Op::Convert(one_of(choices, &[Conv::ToF64, Conv::ToF32, Conv::ToI64]), choices.var()?),
        "Prim" => {
            let prim = one_of(choices, Prim::ALL);
            if matches!(prim, Prim::Un(_) | Prim::Bin(_)) {
                return None; // These have rows of their own.
            }
            let args: Vec<Var> = (0..prim.row().arity).map(|_| choices.var()).collect::<Option<_>>()?;
            if !takes(prim, &function.tys(&args)) {
                return None;
            }
            Op::Prim(prim, args)
        }
        "Contract" => {
            let (a, b) = (choices.var()?, choices.var()?);
            if *function.ty(b) != Ty::F64.array(2) {
                return None;
            }
            let size = [int(choices)?, int(choices)?, int(choices)?];
            let terms = one_of(choices, &[Terms::Mul, Terms::Scale, Terms::Scaled]);
            let turned = [bool::choose(choices, "")?, bool::choose(choices, "")?];
            Op::Contract(Box::new(Contract { terms, a, b, size, turned }))
        }
        row => return Op::choose(row, choices),
    })
}

/// Whether a built-in takes operands of these types, as the type in its row says: `Real a => [n]a -> Int -> a`.
fn takes(prim: Prim, tys: &[Ty]) -> bool {
    let (Typing::Scheme(text) | Typing::Elementwise(text) | Typing::Special(text)) = prim.row().typing;
    let (class, text) = text.split_once(" => ").unwrap_or(("", text));
    let any_rank = matches!(prim.row().typing, Typing::Elementwise(_));
    let mut variable = None;
    text.split(" -> ").zip(tys).all(|(argument, ty)| {
        let rank = argument.matches('[').count() as u32;
        let element = match argument.rsplit(']').next() {
            Some("Int") => Ty::I64,
            Some("Float") => Ty::F64,
            Some("Bool") => Ty::Bool,
            _ => variable.get_or_insert_with(|| ty.scalar().clone()).clone(),
        };
        let of_class = if class.starts_with("Real") { element.is_real() } else { true };
        let counts = element != Ty::Bool || argument.ends_with("Bool");
        *ty.scalar() == element && of_class && counts && (ty.rank() == rank || any_rank && rank == 0)
    })
}

/// All elementwise functions, with some parameters.
pub fn functions() -> Vec<Un> {
    let parameters =
        [Un::Powi(0), Un::Powi(1), Un::Powi(2), Un::Powi(3), Un::Powi(-2), Un::Polygamma(1), Un::Polygamma(2)];
    [Un::ALL, &parameters].concat()
}

fn one_of<T: Copy>(choices: &mut dyn Choices, all: &[T]) -> T {
    all[choices.below(all.len())]
}

/// The largest magnitude and the most numbers of a result within a chain.
const LARGEST: f64 = 1e3;
const MOST: u64 = 64;
/// How often operands are drawn for a row before another row is drawn.
const TRIES: usize = 300;

/// A program of random operations that are `suitable`, most of which read results of others. It evaluates without errors
/// to finite numbers.
pub fn chain(seed: u64, length: usize, scalar: &Ty, suitable: impl Fn(&Op) -> bool) -> Case {
    let name = format!("chain_{seed}");
    let mut known = pool(scalar);
    let args: Vec<Val> = known.iter().map(|(_, val)| val.clone()).collect();
    let mut builder = with_pool(&name, &known);
    let mut random = RandomChoices { rng: Rng::new(seed), vars: Vec::new() };
    let rows: Vec<&str> = NAMES.iter().copied().filter(|name| !ELSEWHERE.contains(name)).collect();
    let mut read = vec![true; known.len()];
    for _ in 0..length {
        let made = args.len() as u32..known.len() as u32;
        random.vars = (0..known.len() as u32).chain(made.clone()).chain(made.clone()).chain(made).map(Var).collect();
        let row = rows[random.rng.below(rows.len())];
        let mut applied = None;
        for _ in 0..TRIES {
            let op = choose(row, &builder.func, &mut random).filter(&suitable);
            applied = op.and_then(|op| result_ty(&builder.func, &op, &known).and_then(|ty| value(op, ty, &known)));
            if applied.is_some() {
                break;
            }
        }
        let Some((op, ty, val)) = applied else { continue };
        op.each_operand(&mut |v| read[v.0 as usize] = true);
        builder.one(op, ty.clone());
        known.push((ty, val));
        read.push(false);
    }
    let unread = (0..known.len()).filter(|k| !read[*k]).map(|k| Var(k as u32)).collect();
    Case::new(&name, builder.finish(unread, Vec::new()), args)
}

/// An operation with its type and its value, if they are suitable for a chain.
fn value(op: Op, ty: Ty, known: &[(Ty, Val)]) -> Option<(Op, Ty, Val)> {
    let case = single("", op.clone(), ty.clone(), known);
    let val = case.results.ok()?.pop()?;
    let tame = |x: &f64| x.is_finite() && x.abs() <= LARGEST;
    let ints = val.leaves().iter().all(|v| !matches!(v, Val::I64(n) if n.abs() > LARGEST as i64));
    (val.scalars() <= MOST && ints && val.reals().iter().all(tame) && !val.is_symbolic_zero()).then_some((op, ty, val))
}

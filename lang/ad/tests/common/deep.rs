//! Programs with deeply nested branches.

use super::Rng;
use adl_ir::eval::{Arr, Val};
use adl_ir::{Builder, Cmp, FnId, Lit, Loop, Op, Program, Trip, Ty, Var};
use adl_prim::{Bin, Un};

/// The form of one level of a nest.
#[derive(Clone, Copy, PartialEq, Debug)]
enum NestLevel {
    /// `if x < c then sin (c x) else` the rest.
    Else,
    /// `if x > c then` the rest `else sin (c x)`.
    Then,
    /// The rest at another number, computed at each level.
    Own,
    /// The rest is not the branch's final value.
    Inner,
    /// The rest at a sum over an array that is made at each level.
    Array,
    /// Two consecutive branches, with the rest inside of the second.
    Two,
    /// The rest is the body of a loop.
    Trip,
}

const LEVELS: [NestLevel; 6] =
    [NestLevel::Else, NestLevel::Then, NestLevel::Own, NestLevel::Inner, NestLevel::Array, NestLevel::Two];

/// A nest of `depth` levels, whose forms repeat every three or four levels, depending on the seed; one level in
/// eleven is a loop of two iterations. Its arguments are a number and an array.
pub fn program(seed: u64, depth: u32) -> (Program, FnId, Vec<Val>) {
    let mut rng = Rng::new(seed * 77 + 5);
    let period: Vec<NestLevel> = (0..3 + seed % 2).map(|_| LEVELS[(rng.unit() * 6.0) as usize % 6]).collect();
    let mut levels: Vec<NestLevel> = (0..depth).map(|k| period[k as usize % period.len()]).collect();
    levels.iter_mut().skip(7).step_by(11).filter(|_| seed.is_multiple_of(3)).for_each(|l| *l = NestLevel::Trip);
    let mut b = Builder::new("deep");
    let (x, a) = (b.param(Ty::F64), b.param(Ty::F64.array(1)));
    let y = nest(&mut b, &levels, x, a);
    let mut p = Program::default();
    let f = p.add(b.finish(vec![y], vec![]));
    let a =
        Val::Array(std::rc::Rc::new(Arr { shape: vec![3], elems: vec![Val::F64(0.4), Val::F64(0.7), Val::F64(0.9)] }));
    (p, f, vec![Val::F64(0.3 + 0.05 * (seed % 13) as f64), a])
}

fn real(b: &mut Builder, x: f64) -> Var {
    b.lit(Lit::F64(x))
}

fn one(b: &mut Builder, x: Var, c: f64) -> Var {
    let c = real(b, c);
    let y = b.bin(Bin::Mul, x, c);
    b.un(Un::Sin, y)
}

/// Emits `if x < c` with the two arms.
fn branch(
    builder: &mut Builder,
    (x, threshold): (Var, f64),
    then: impl FnOnce(&mut Builder) -> Var,
    other: impl FnOnce(&mut Builder) -> Var,
) -> Var {
    let c = real(builder, threshold);
    let c = builder.cmp(Cmp::Lt, x, c);
    builder.open();
    let y = then(builder);
    let yes = builder.close(vec![y], vec![]);
    builder.open();
    let y = other(builder);
    let no = builder.close(vec![y], vec![]);
    builder.emit(Op::If(c, Box::new(yes), Box::new(no)), &[Ty::F64], &[]).0[0]
}

fn nest(builder: &mut Builder, levels: &[NestLevel], input: Var, array: Var) -> Var {
    let Some((level, rest)) = levels.split_first() else { return builder.bin(Bin::Mul, input, input) };
    // Deep levels are reached for some arguments only.
    let threshold = -1.2 + 0.02 * levels.len() as f64;
    match level {
        NestLevel::Else => {
            branch(builder, (input, threshold), |b| one(b, input, threshold), |b| nest(b, rest, input, array))
        }
        NestLevel::Then => {
            branch(builder, (input, -threshold), |b| nest(b, rest, input, array), |b| one(b, input, threshold))
        }
        NestLevel::Own => {
            let y = one(builder, input, 1.0 + threshold);
            branch(builder, (y, threshold), |b| one(b, y, threshold), |b| nest(b, rest, y, array))
        }
        NestLevel::Inner => branch(
            builder,
            (input, threshold),
            |b| one(b, input, threshold),
            |b| {
                let y = b.un(Un::Cos, input);
                let z = nest(b, rest, y, array);
                let z = b.bin(Bin::Mul, z, y);
                b.un(Un::Tanh, z)
            },
        ),
        NestLevel::Array => branch(
            builder,
            (input, threshold),
            |b| one(b, input, threshold),
            |b| {
                let ys = b.one(Op::Bin(Bin::Mul, array, input), Ty::F64.array(1));
                let ys = b.one(Op::Un(Un::Tanh, ys), Ty::F64.array(1));
                let y = b.one(Op::Sum { a: ys, n: None }, Ty::F64);
                nest(b, rest, y, array)
            },
        ),
        NestLevel::Two => {
            let y = branch(builder, (input, 0.1), |b| one(b, input, 2.0), |b| one(b, input, 0.5));
            branch(builder, (y, threshold), |b| one(b, y, threshold), |b| nest(b, rest, y, array))
        }
        NestLevel::Trip => {
            let n = builder.int(2);
            builder.open();
            let (_, y) = (builder.param(Ty::I64), builder.param(Ty::F64));
            let z = nest(builder, rest, y, array);
            let body = builder.close(vec![z], vec![]);
            let made = Loop {
                trip: Trip::Count(n),
                reverse: false,
                init: vec![input],
                lin_init: vec![],
                xs: vec![],
                lin_xs: vec![],
                outs: vec![],
                lin_outs: vec![],
                body,
            };
            builder.emit(Op::Loop(Box::new(made)), &[Ty::F64, Ty::I64], &[]).0[0]
        }
    }
}

//! Code that computes the work of statements whose cost is neither one nor the number of elements.

use adl_ir::{Builder, Conv, Lit, Op, Stmt, Ty, Var};
use adl_prim::{Bin, DerivativeFn, GeneralFn, Prim, ReductionFn, Un};

/// The number of scalars in a value.
pub(super) fn size(b: &mut Builder, v: Var) -> Var {
    match b.ty(v).rank() {
        0 => b.int(1),
        _ => b.one(Op::Size(v), Ty::I64),
    }
}

/// The number of scalars in several values.
pub(super) fn sizes(b: &mut Builder, vs: &[Var]) -> Var {
    let mut sum = None;
    for v in vs {
        let n = size(b, *v);
        sum = Some(match sum {
            Some(m) => b.bin(Bin::Add, m, n),
            None => n,
        });
    }
    sum.unwrap_or_else(|| b.int(0))
}

/// `x - y`, at least 0.
fn less(b: &mut Builder, x: Var, y: Var) -> Var {
    let d = b.bin(Bin::Sub, x, y);
    let zero = b.int(0);
    b.bin(Bin::Max, d, zero)
}

/// `2 n - 1`, at least 0.
fn products(b: &mut Builder, n: Var) -> Var {
    let (one, two) = (b.int(1), b.int(2));
    let twice = b.bin(Bin::Mul, two, n);
    less(b, twice, one)
}

/// The work of a statement, in the cost model of `adl_ir::eval::cost`.
pub(super) fn own(builder: &mut Builder, stmt: &Stmt) -> Var {
    match &stmt.op {
        Op::Dot(x, _) => {
            let n = size(builder, *x);
            products(builder, n)
        }
        Op::MatMul(x, _) => {
            let inner = builder.ty(*x).rank().saturating_sub(1);
            let inner = builder.dim(*x, inner);
            let (each, made) = (products(builder, inner), sizes(builder, &stmt.outs));
            builder.bin(Bin::Mul, each, made)
        }
        Op::Sum { a, .. } | Op::SumAll { a, .. } => {
            let (n, made) = (size(builder, *a), sizes(builder, &stmt.outs));
            less(builder, n, made)
        }
        Op::IndexAdd { v, .. } | Op::IndexSet { v, .. } | Op::SliceAdd { v, .. } | Op::GatherAdd { v, .. } => {
            let (n, two) = (size(builder, *v), builder.int(2));
            builder.bin(Bin::Mul, two, n)
        }
        Op::Nonzero(a) | Op::Zeros(a) => size(builder, *a),
        Op::Prim(p, args) => prim(builder, *p, args, &stmt.outs),
        _ => builder.int(1),
    }
}

fn prim(builder: &mut Builder, p: Prim, args: &[Var], outs: &[Var]) -> Var {
    let (read, made, one) = (sizes(builder, args), sizes(builder, outs), builder.int(1));
    let each = builder.bin(Bin::Max, read, made);
    let each = builder.bin(Bin::Max, each, one);
    let times = match p {
        Prim::Derivative(DerivativeFn::StopGrad) | Prim::General(GeneralFn::Id) => builder.int(0),
        Prim::Reduction(ReductionFn::Argsort) => {
            // The number of binary digits.
            let (x, two) =
                (builder.convert(Conv::ToF64, each), builder.lit(Lit::F64(std::f64::consts::LN_2 * (1.0 - 1e-12))));
            let x = builder.un(Un::Log, x);
            let x = builder.bin(Bin::Div, x, two);
            let x = builder.un(Un::Floor, x);
            let n = builder.convert(Conv::ToI64, x);
            builder.bin(Bin::Add, n, one)
        }
        Prim::Linalg(_) => {
            let axes: Vec<(Var, u32)> = args.iter().flat_map(|a| (0..builder.ty(*a).rank()).map(|k| (*a, k))).collect();
            axes.into_iter().fold(one, |most, (a, k)| {
                let n = builder.dim(a, k);
                builder.bin(Bin::Max, most, n)
            })
        }
        _ => one,
    };
    builder.bin(Bin::Mul, each, times)
}

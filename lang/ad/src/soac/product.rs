//! Products of all other elements: the coefficients of a reduction by `*` (§3.2.3, Fig. 3).
//!
//! If the total product is neither zero nor out of range, they are quotients. If it is zero, the zeros are counted:
//! with one zero, only its own coefficient is non-zero; with several, all are zero. If products under- or overflow,
//! two exclusive scans compute the coefficients. Only the scans are exact as functions everywhere (quotients are
//! not, at zeros), so they define the derivative: the function generated here is called with a rule.

use crate::Ad;
use crate::jvp::J;
use adl_ir::{Builder, Cmp, FnId, Lit, Op, Program, Rule, RuleKind, Soac, SoacKind, Ty, Var};
use adl_prim::{Bin, ReductionFn, Un};
use adl_specialise::Unsupported;

impl J<'_> {
    /// For each element of `a`, the product of `e` and all other elements; `y` is the total product.
    pub(super) fn products_of_others(&mut self, e: Var, a: Var, y: Var) -> Result<Var, Unsupported> {
        let elem = self.b.ty(e);
        let (f, rule) = others(self.ad, self.p, &elem)?;
        let rule = Some(Rule { kind: RuleKind::Jvp, func: rule });
        let ty = self.b.ty(a);
        Ok(self.b.one(Op::Call { f, args: vec![e, a, y], lin_args: Vec::new(), rule, checkpoint: false }, ty))
    }
}

/// The function `(e, a, y) -> c` and its forward rule.
fn others(ad: &mut Ad, program: &mut Program, elem: &Ty) -> Result<(FnId, FnId), Unsupported> {
    if let Some(known) = ad.helpers.others.get(elem) {
        return Ok(*known);
    }
    let mut b = Builder::new("products of the others, by scans");
    let (e, a) = (b.param(elem.clone()), b.param(elem.array(1)));
    let c = by_scans(&mut b, e, a);
    let slow = program.add(b.finish(vec![c], Vec::new()));
    let mut b = Builder::new("products of the others");
    let (e, a, y) = (b.param(elem.clone()), b.param(elem.array(1)), b.param(elem.clone()));
    let c = fast(&mut b, program, slow, (e, a, y));
    let f = program.add(b.finish(vec![c], Vec::new()));
    let rule = rule(ad, program, (f, slow), elem)?;
    ad.helpers.others.insert(elem.clone(), (f, rule));
    Ok((f, rule))
}

/// The function `(e, a, y, ė, ȧ, ẏ) -> (c, ċ)`: `ċ` is that of the version by scans, `c` is what the function itself
/// returns. So values have the same bits inside derivatives, where a plan may compute them by either. The total `y`
/// is not differentiated, because it depends on the others.
fn rule(ad: &mut Ad, program: &mut Program, (f, slow): (FnId, FnId), elem: &Ty) -> Result<FnId, Unsupported> {
    let j = ad.jvp(program, slow, &[true, true])?;
    let forward = ad.erase(program, j.func);
    let this = program.reserve("rule of products of the others");
    let mut b = Builder::new("rule of products of the others");
    let tys = [elem.clone(), elem.array(1), elem.clone()];
    let x: Vec<Var> = tys.iter().map(|t| b.param(t.clone())).collect();
    let dx: Vec<Var> = tys.iter().map(|t| b.param(t.clone())).collect();
    let rule = Some(Rule { kind: RuleKind::Jvp, func: this });
    let call = Op::Call { f, args: x.clone(), lin_args: Vec::new(), rule, checkpoint: false };
    let c = b.one(call, elem.array(1));
    let (out, _) = b.call(program, forward, &[x[0], x[1], dx[0], dx[1]], &[]);
    program.set(this, b.finish(vec![c, out[1]], Vec::new()));
    Ok(this)
}

/// Prefix products times suffix products.
fn by_scans(builder: &mut Builder, e: Var, array: Var) -> Var {
    let ty = builder.ty(array);
    let scan = |b: &mut Builder, from: Var, over: Var| {
        let op = adl_opt::operators::product(b, &ty.elem());
        b.one(
            Op::Soac(Box::new(Soac { kind: SoacKind::ScanExclusive, op, neutral: vec![from], arrays: vec![over] })),
            ty.clone(),
        )
    };
    let before = scan(builder, e, array);
    let turned = builder.one(Op::Reverse(array), ty.clone());
    let one = builder.real(1.0, array);
    let after = scan(builder, one, turned);
    let after = builder.one(Op::Reverse(after), ty.clone());
    builder.bin(Bin::Mul, before, after)
}

/// Bounds of the total product within which quotients are accurate to rounding.
fn bounds(elem: &Ty) -> (f64, f64) {
    if *elem == Ty::F32 { (1e-30, 1e30) } else { (1e-280, 1e280) }
}

/// Whether each number is within these bounds, far from under- and overflow.
pub(super) fn is_in_range(b: &mut Builder, x: Var) -> Var {
    let (lo, hi) = bounds(b.ty(x).scalar());
    let size = b.un(Un::Abs, x);
    let (lo, hi) = (b.real(lo, x), b.real(hi, x));
    let (above, below) = (b.cmp(Cmp::Ge, size, lo), b.cmp(Cmp::Le, size, hi));
    let never = b.lit(Lit::Bool(false));
    let ty = b.ty(above);
    b.one(Op::Select(above, below, never), ty)
}

fn fast(builder: &mut Builder, p: &Program, slow: FnId, (e, a, y): (Var, Var, Var)) -> Var {
    let ty = builder.ty(a);
    let fine = is_in_range(builder, y);
    let zero = builder.real(0.0, y);
    builder.open();
    let c = builder.bin(Bin::Div, y, a);
    let yes = builder.close(vec![c], Vec::new());
    builder.open();
    let none = builder.cmp(Cmp::Eq, y, zero);
    let c =
        either(builder, none, &ty, &mut |b| with_zeros(b, p, slow, e, a), &mut |b| b.call(p, slow, &[e, a], &[]).0[0]);
    let no = builder.close(vec![c], Vec::new());
    builder.one(Op::If(fine, Box::new(yes), Box::new(no)), ty)
}

/// Emits a branch with one result.
fn either(
    builder: &mut Builder,
    condition: Var,
    ty: &Ty,
    yes: &mut dyn FnMut(&mut Builder) -> Var,
    no: &mut dyn FnMut(&mut Builder) -> Var,
) -> Var {
    let mut arm = |make: &mut dyn FnMut(&mut Builder) -> Var| {
        builder.open();
        let made = make(builder);
        Box::new(builder.close(vec![made], Vec::new()))
    };
    let (yes, no) = (arm(yes), arm(no));
    builder.one(Op::If(condition, yes, no), ty.clone())
}

/// The case in which the total product is zero. With two or more zeros all coefficients are zero; with one, all but
/// its own; without any, the product has underflowed.
fn with_zeros(builder: &mut Builder, program: &Program, slow: FnId, neutral: Var, array: Var) -> Var {
    let ty = builder.ty(array);
    let (zero, first, single) = (builder.real(0.0, array), builder.int(0), builder.int(1));
    let places = builder.one(Op::Zeros(array), Ty::shape());
    let count = builder.dim(places, 0);
    let several = builder.cmp(Cmp::Gt, count, single);
    let shape = builder.shape(array);
    let none = builder.one(Op::Broadcast { a: zero, shape }, ty.clone());
    either(builder, several, &ty, &mut |_| none, &mut |builder| {
        let one = builder.cmp(Cmp::Eq, count, single);
        either(
            builder,
            one,
            &ty,
            &mut |builder| {
                let at = vec![builder.one(Op::Index { a: places, at: vec![first], shape: None }, Ty::I64)];
                let unit = builder.real(1.0, array);
                let rest = builder.one(Op::IndexSet { acc: array, at: at.clone(), v: unit, shape: None }, ty.clone());
                let product = builder.prim(ReductionFn::Prod, &[rest], ty.elem());
                let product = builder.bin(Bin::Mul, neutral, product);
                let exact = is_in_range(builder, product);
                either(
                    builder,
                    exact,
                    &ty,
                    &mut |builder| {
                        builder.one(Op::IndexSet { acc: none, at: at.clone(), v: product, shape: None }, ty.clone())
                    },
                    &mut |builder| builder.call(program, slow, &[neutral, array], &[]).0[0],
                )
            },
            &mut |builder| builder.call(program, slow, &[neutral, array], &[]).0[0],
        )
    })
}

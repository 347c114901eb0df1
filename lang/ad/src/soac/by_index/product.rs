//! Products of all other elements of a bin (§4.2.3), as in [`super::super::product`]: by quotients, then by
//! counting zeros, then by scans. The scans are exact as functions and define the derivative.

use super::super::product::is_in_range;
use super::segments;
use crate::Ad;
use crate::jvp::J;
use adl_ir::{Block, Builder, Cmp, Conv, FnId, Op, Program, Rule, RuleKind, Ty, Var};
use adl_opt::{interchange, operators};
use adl_prim::{Bin, ReductionFn};
use adl_specialise::Unsupported;

impl J<'_> {
    /// The coefficients of the destination's elements and of the values. `args` are `[dest, keys, values, histogram]`.
    pub(super) fn products_in_bins(&mut self, args: [Var; 4]) -> Result<(Var, Var), Unsupported> {
        let ty = self.b.ty(args[0]);
        let (f, rule) = products(self.ad, self.p, &ty.elem())?;
        let rule = Some(Rule { kind: RuleKind::Jvp, func: rule });
        let op = Op::Call { f, args: args.to_vec(), lin_args: Vec::new(), rule, checkpoint: false };
        let (made, _) = self.b.emit(op, &[ty.clone(), ty], &[]);
        Ok((made[0], made[1]))
    }
}

fn products(ad: &mut Ad, program: &mut Program, elem: &Ty) -> Result<(FnId, FnId), Unsupported> {
    if let Some(known) = ad.helpers.in_bins.get(elem) {
        return Ok(*known);
    }
    let many = elem.array(1);
    let name = if elem.rank() > 0 { "element by element" } else { "by scans" };
    let mut b = Builder::new(&format!("products of the others in bins, {name}"));
    let (dest, keys, values) = (b.param(many.clone()), b.param(Ty::shape()), b.param(many.clone()));
    let (cd, cv) = match elem.rank() {
        0 => by_scans(&mut b, dest, keys, values),
        _ => by_elements(&mut b, products(ad, program, &elem.elem())?, dest, keys, values),
    };
    let slow = program.add(b.finish(vec![cd, cv], Vec::new()));
    let mut b = Builder::new("products of the others in bins");
    let args = [many.clone(), Ty::shape(), many.clone(), many].map(|t| b.param(t));
    let out = fast(&mut b, program, slow, args);
    let f = program.add(b.finish(out, Vec::new()));
    let rule = rule(ad, program, (f, slow), elem)?;
    ad.helpers.in_bins.insert(elem.clone(), (f, rule));
    Ok((f, rule))
}

/// J of the version by scans, beside the values of the function itself. The histogram (the last argument) is not
/// differentiated, because it depends on the others.
fn rule(ad: &mut Ad, program: &mut Program, (f, slow): (FnId, FnId), elem: &Ty) -> Result<FnId, Unsupported> {
    let j = ad.jvp(program, slow, &[true, false, true])?;
    let forward = ad.erase(program, j.func);
    let this = program.reserve("rule of products of the others in bins");
    let many = elem.array(1);
    let mut b = Builder::new("rule of products of the others in bins");
    let x = [many.clone(), Ty::shape(), many.clone(), many.clone()].map(|t| b.param(t));
    let dx = [many.clone(), many.clone(), many.clone()].map(|t| b.param(t));
    let rule = Some(Rule { kind: RuleKind::Jvp, func: this });
    let call = Op::Call { f, args: x.to_vec(), lin_args: Vec::new(), rule, checkpoint: false };
    let (values, _) = b.emit(call, &[many.clone(), many], &[]);
    let (out, _) = b.call(program, forward, &[x[0], x[1], x[2], dx[0], dx[1]], &[]);
    program.set(this, b.finish([&values[..], &out[2..]].concat(), Vec::new()));
    Ok(this)
}

fn by_scans(builder: &mut Builder, dest: Var, keys: Var, values: Var) -> (Var, Var) {
    let ty = builder.ty(dest);
    let op = operators::product(builder, &ty.elem());
    let one = builder.real(1.0, dest);
    let w = builder.dim(dest, 0);
    let bins = segments::bins(builder, keys, w);
    let s = segments::sorted(builder, &op, &[one], &[dest], &[values], bins);
    let after = builder.one(Op::Select(s.last, one, s.after[0]), ty.clone());
    let c = builder.bin(Bin::Mul, s.before[0], after);
    let zero = builder.real(0.0, dest);
    let shape = builder.shape(values);
    let acc = builder.one(Op::Broadcast { a: zero, shape }, ty.clone());
    let cv = builder.one(Op::GatherAdd { acc, at: s.order, v: c, shape: None }, ty);
    let rest = builder.bin(Bin::Mul, s.values[0], after);
    let firsts = s.firsts(builder, w);
    (firsts.in_bins(builder, rest, 1.0, dest), cv)
}

/// The coefficients for rows, by those of a histogram of all their elements, which `f` computes and `rule` differentiates.
fn by_elements(builder: &mut Builder, (f, rule): (FnId, FnId), dest: Var, keys: Var, values: Var) -> (Var, Var) {
    let (bins, width) = (builder.dim(dest, 0), builder.dim(dest, 1));
    let keys = interchange::keys_of_elements(builder, keys, bins, width);
    let [d, v] = [dest, values].map(|x| interchange::flattened(builder, x));
    let ty = builder.ty(d);
    let (op, one) = (operators::product(builder, &ty.elem()), builder.real(1.0, d));
    let counted = Op::ReduceByIndex { dest: vec![d], op: Box::new(op), neutral: vec![one], keys, values: vec![v] };
    let y = builder.one(counted, ty.clone());
    let rule = Some(Rule { kind: RuleKind::Jvp, func: rule });
    let call = Op::Call { f, args: vec![d, keys, v, y], lin_args: Vec::new(), rule, checkpoint: false };
    let made = builder.emit(call, &[ty.clone(), ty], &[]).0;
    (interchange::like_another(builder, made[0], dest), interchange::like_another(builder, made[1], values))
}

/// Gathers from each value's bin; 0 for keys out of range.
fn of_bins(b: &mut Builder, a: Var, keys: Var) -> Var {
    let (ty, shape) = (b.ty(a), b.shape(a));
    b.one(Op::Gather { a, at: keys, shape: Some(shape) }, ty)
}

fn all_ordinary(b: &mut Builder, x: Var) -> Var {
    let x = if b.ty(x).rank() > 1 { interchange::flattened(b, x) } else { x };
    let each = is_in_range(b, x);
    b.prim(ReductionFn::All, &[each], Ty::Bool)
}

fn fast(builder: &mut Builder, program: &Program, slow: FnId, [dest, keys, values, y]: [Var; 4]) -> Vec<Var> {
    let ty = builder.ty(dest);
    let fine = all_ordinary(builder, y);
    builder.open();
    let cd = builder.bin(Bin::Div, y, dest);
    let own = of_bins(builder, y, keys);
    let cv = builder.bin(Bin::Div, own, values);
    let yes = builder.close(vec![cd, cv], Vec::new());
    builder.open();
    let made = match ty.rank() {
        1 => with_zeros(builder, program, slow, [dest, keys, values]),
        _ => builder.call(program, slow, &[dest, keys, values], &[]).0,
    };
    let no = builder.close(made, Vec::new());
    builder.emit(Op::If(fine, Box::new(yes), Box::new(no)), &[ty.clone(), ty], &[]).0
}

/// The case in which a product is zero or out of range. In a bin without zeros a coefficient is the quotient. With
/// one zero, only its coefficient is non-zero, the product of the others. With several zeros, all coefficients are
/// zero.
fn with_zeros(builder: &mut Builder, program: &Program, slow: FnId, [dest, keys, values]: [Var; 3]) -> Vec<Var> {
    let ty = builder.ty(dest);
    let (zero, one, none) = (builder.real(0.0, dest), builder.real(1.0, dest), builder.int(0));
    let mut split = |x: Var| {
        let is_zero = builder.cmp(Cmp::Eq, x, zero);
        let rest = builder.one(Op::Select(is_zero, one, x), ty.clone());
        (is_zero, rest, builder.one(Op::Convert(Conv::ToI64, is_zero), Ty::shape()))
    };
    let ((zd, targets, nd), (zv, factors, nv)) = (split(dest), split(values));
    let op = pairs(builder, &ty.elem());
    let counted = Op::ReduceByIndex {
        dest: vec![targets, nd],
        op: Box::new(op),
        neutral: vec![one, none],
        keys,
        values: vec![factors, nv],
    };
    let made = builder.emit(counted, &[ty.clone(), Ty::shape()], &[]).0;
    let (product, count) = (made[0], made[1]);
    let fine = all_ordinary(builder, product);
    builder.open();
    let single = builder.int(1);
    let (without, with_one) = (builder.cmp(Cmp::Eq, count, none), builder.cmp(Cmp::Eq, count, single));
    let whole = builder.one(Op::Select(without, product, zero), ty.clone());
    let rest = builder.one(Op::Select(with_one, product, zero), ty.clone());
    let cd = coefficient(builder, zd, targets, (whole, rest));
    let (whole, rest) = (of_bins(builder, whole, keys), of_bins(builder, rest, keys));
    let cv = coefficient(builder, zv, factors, (whole, rest));
    let yes = builder.close(vec![cd, cv], Vec::new());
    builder.open();
    let (made, _) = builder.call(program, slow, &[dest, keys, values], &[]);
    let no = builder.close(made, Vec::new());
    builder.emit(Op::If(fine, Box::new(yes), Box::new(no)), &[ty.clone(), ty], &[]).0
}

/// The operator `(x, i) (y, j)`: (x y, i + j).
fn pairs(b: &mut Builder, elem: &Ty) -> Block {
    b.open();
    let [x, i, y, j] = [elem.clone(), Ty::I64, elem.clone(), Ty::I64].map(|t| b.param(t));
    let (product, count) = (b.bin(Bin::Mul, x, y), b.bin(Bin::Add, i, j));
    b.close(vec![product, count], Vec::new())
}

fn coefficient(b: &mut Builder, is_zero: Var, x: Var, (whole, rest): (Var, Var)) -> Var {
    let ty = b.ty(x);
    let quotient = b.bin(Bin::Div, whole, x);
    b.one(Op::Select(is_zero, rest, quotient), ty)
}

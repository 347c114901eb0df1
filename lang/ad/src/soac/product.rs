//! Products of the other elements: the coefficients of a reduction by `*` (§3.2.3, Fig. 3).
//!
//! Where the product is neither zero nor out of range they are quotients. Zeros are looked for where the product is zero: with one, only its
//! own coefficient is not zero, with several none is. Where products under- or overflow, two exclusive scans make them. The last is exact as a function everywhere
//! (quotients are not, at zeros), so that it stands for the derivative: the function made here is called with a rule.

use crate::Ad;
use crate::jvp::J;
use adl_ir::{Builder, Cmp, FnId, Lit, Op, Program, Rule, RuleKind, Soac, SoacKind, Ty, Var};
use adl_prim::{Bin, Prim, Un};
use adl_specialise::Unsupported;
use std::collections::HashMap;

/// Functions that rules call, by the type of numbers: `others` and its rule.
#[derive(Default)]
pub(crate) struct Helpers {
    others: HashMap<Ty, (FnId, FnId)>,
    /// The same in bins.
    pub(super) in_bins: super::by_index::Products,
}

impl J<'_> {
    /// The product of `e` and of all elements of `a` but one, for each; `y` is that of all.
    pub(super) fn products_of_others(&mut self, e: Var, a: Var, y: Var) -> Result<Var, Unsupported> {
        let elem = self.b.ty(e);
        let (f, rule) = others(self.ad, self.p, &elem)?;
        let rule = Some(Rule { kind: RuleKind::Jvp, func: rule });
        let ty = self.b.ty(a);
        Ok(self.b.one(Op::Call { f, args: vec![e, a, y], lin_args: Vec::new(), rule, checkpoint: false }, ty))
    }
}

/// `(e, a, y) -> c` and its forward rule.
fn others(ad: &mut Ad, p: &mut Program, elem: &Ty) -> Result<(FnId, FnId), Unsupported> {
    if let Some(known) = ad.helpers.others.get(elem) {
        return Ok(*known);
    }
    let mut b = Builder::new("products of the others, by scans");
    let (e, a) = (b.param(elem.clone()), b.param(elem.array(1)));
    let c = by_scans(&mut b, e, a);
    let slow = p.add(b.finish(vec![c], Vec::new()));
    let mut b = Builder::new("products of the others");
    let (e, a, y) = (b.param(elem.clone()), b.param(elem.array(1)), b.param(elem.clone()));
    let c = fast(&mut b, p, slow, (e, a, y));
    let f = p.add(b.finish(vec![c], Vec::new()));
    let rule = rule(ad, p, slow, elem)?;
    ad.helpers.others.insert(elem.clone(), (f, rule));
    Ok((f, rule))
}

/// `(e, a, y, ė, ȧ, ẏ) -> (c, ċ)`: J of what the scans make. The product itself is not looked at: it depends on the others.
fn rule(ad: &mut Ad, p: &mut Program, slow: FnId, elem: &Ty) -> Result<FnId, Unsupported> {
    let j = ad.jvp(p, slow, &[true, true])?;
    let forward = ad.erase(p, j.func);
    let mut b = Builder::new("rule of products of the others");
    let tys = [elem.clone(), elem.array(1), elem.clone()];
    let x: Vec<Var> = tys.iter().map(|t| b.param(t.clone())).collect();
    let dx: Vec<Var> = tys.iter().map(|t| b.param(t.clone())).collect();
    let (out, _) = b.call(p, forward, &[x[0], x[1], dx[0], dx[1]], &[]);
    Ok(p.add(b.finish(out, Vec::new())))
}

/// Products before each element times products after it.
fn by_scans(b: &mut Builder, e: Var, a: Var) -> Var {
    let ty = b.ty(a);
    let scan = |b: &mut Builder, from: Var, over: Var| {
        let op = super::operator::product(b, &ty.elem());
        b.one(Op::Soac(Box::new(Soac { kind: SoacKind::ScanExclusive, op, neutral: vec![from], arrays: vec![over] })), ty.clone())
    };
    let before = scan(b, e, a);
    let turned = b.one(Op::Reverse(a), ty.clone());
    let one = b.real(1.0, a);
    let after = scan(b, one, turned);
    let after = b.one(Op::Reverse(after), ty.clone());
    b.bin(Bin::Mul, before, after)
}

/// Bounds within which quotients of a product are exact to rounding.
fn bounds(elem: &Ty) -> (f64, f64) {
    if *elem == Ty::F32 { (1e-30, 1e30) } else { (1e-280, 1e280) }
}

/// Whether each number is far from under- and overflow.
pub(super) fn ordinary(b: &mut Builder, x: Var) -> Var {
    let (lo, hi) = bounds(b.ty(x).scalar());
    let size = b.un(Un::Abs, x);
    let (lo, hi) = (b.real(lo, x), b.real(hi, x));
    let (above, below) = (b.cmp(Cmp::Ge, size, lo), b.cmp(Cmp::Le, size, hi));
    let never = b.lit(Lit::Bool(false));
    let ty = b.ty(above);
    b.one(Op::Select(above, below, never), ty)
}

fn fast(b: &mut Builder, p: &Program, slow: FnId, (e, a, y): (Var, Var, Var)) -> Var {
    let ty = b.ty(a);
    let fine = ordinary(b, y);
    let zero = b.real(0.0, y);
    b.open();
    let c = b.bin(Bin::Div, y, a);
    let yes = b.close(vec![c], Vec::new());
    b.open();
    let none = b.cmp(Cmp::Eq, y, zero);
    let c = either(b, none, &ty, &mut |b| with_zeros(b, p, slow, e, a), &mut |b| b.call(p, slow, &[e, a], &[]).0[0]);
    let no = b.close(vec![c], Vec::new());
    b.one(Op::If(fine, Box::new(yes), Box::new(no)), ty)
}

/// One or the other.
fn either(b: &mut Builder, c: Var, ty: &Ty, yes: &mut dyn FnMut(&mut Builder) -> Var, no: &mut dyn FnMut(&mut Builder) -> Var) -> Var {
    let mut arm = |make: &mut dyn FnMut(&mut Builder) -> Var| {
        b.open();
        let made = make(b);
        Box::new(b.close(vec![made], Vec::new()))
    };
    let (yes, no) = (arm(yes), arm(no));
    b.one(Op::If(c, yes, no), ty.clone())
}

/// Where the product is zero: with two zeros all coefficients are, with one all but its own, and without any it has underflown.
fn with_zeros(b: &mut Builder, p: &Program, slow: FnId, e: Var, a: Var) -> Var {
    let ty = b.ty(a);
    let (zero, first, single) = (b.real(0.0, a), b.int(0), b.int(1));
    let places = b.one(Op::Zeros(a), Ty::shape());
    let count = b.dim(places, 0);
    let several = b.cmp(Cmp::Gt, count, single);
    let shape = b.shape(a);
    let none = b.one(Op::Spread { a: zero, shape }, ty.clone());
    either(b, several, &ty, &mut |_| none, &mut |b| {
        let one = b.cmp(Cmp::Eq, count, single);
        either(b, one, &ty, &mut |b| {
            let at = vec![b.one(Op::Index { a: places, at: vec![first], shape: None }, Ty::I64)];
            let unit = b.real(1.0, a);
            let rest = b.one(Op::IndexSet { acc: a, at: at.clone(), v: unit, shape: None }, ty.clone());
            let product = b.prim(Prim::Prod, &[rest], ty.elem());
            let product = b.bin(Bin::Mul, e, product);
            let exact = ordinary(b, product);
            either(b, exact, &ty, &mut |b| b.one(Op::IndexSet { acc: none, at: at.clone(), v: product, shape: None }, ty.clone()), &mut |b| b.call(p, slow, &[e, a], &[]).0[0])
        }, &mut |b| b.call(p, slow, &[e, a], &[]).0[0])
    })
}

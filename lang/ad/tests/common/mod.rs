//! Numerical checks of every transformation of a program's last function.
#![allow(dead_code)]

pub mod deep;
pub mod programs;

use adl_ad::Ad;
use adl_ad::segment::Segments;
use adl_ad::unzip::UnzipPlan;
use adl_ir::eval::{Val, run};
use adl_ir::{Builder, FnId, Op, Program, Ty};

/// A small random number generator.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as f64) / f64::from(1u32 << 31)
    }
}

/// A random argument of a type: reals in 0.3..1.3, arrays with extents of 5, small Ints.
pub fn input(rng: &mut Rng, ty: &Ty) -> Val {
    match ty {
        Ty::F64 => Val::F64(0.3 + rng.next()),
        Ty::F32 => Val::F32(0.3 + rng.next() as f32),
        Ty::I64 => Val::I64(3),
        Ty::Bool => Val::Bool(true),
        Ty::Array(e, r) => {
            let shape = vec![5; *r as usize];
            let n = 5usize.pow(*r);
            let elems =
                (0..n).map(|k| if **e == Ty::I64 { Val::I64((k as i64 * 7) % 5) } else { input(rng, e) }).collect();
            Val::Array(std::rc::Rc::new(adl_ir::eval::Arr { shape, elems }))
        }
        other => panic!("no input of type {other:?}"),
    }
}

/// The real numbers in a value, in order.
pub fn reals(v: &Val, out: &mut Vec<f64>) {
    match v {
        Val::F64(x) => out.push(*x),
        Val::F32(x) => out.push(f64::from(*x)),
        Val::Array(a) => a.elems.iter().for_each(|e| reals(e, out)),
        Val::Data(c) => c.fields.iter().for_each(|e| reals(e, out)),
        _ => {}
    }
}

/// The real numbers of a tangent, one for each real of its value `v`; zeros for symbolic zeros.
fn tangents(ad: &mut Ad, p: &mut Program, ty: &Ty, v: &Val, t: &Val, out: &mut Vec<f64>) {
    match (v, ty, t) {
        (Val::Data(c), Ty::Data(d), Val::Data(t)) => {
            let tys = p.data(*d).cons[c.tag as usize].1.clone();
            let mut there = t.fields.iter();
            for (v, ty) in c.fields.iter().zip(&tys) {
                if ad.tangent_ty(p, ty).is_some() {
                    tangents(ad, p, ty, v, there.next().unwrap_or(&Val::SymbolicZero), out);
                }
            }
        }
        (Val::Array(a), Ty::Array(e, _), Val::Array(t)) => {
            a.elems.iter().zip(&t.elems).for_each(|(v, t)| tangents(ad, p, e, v, t, out));
        }
        (_, _, Val::SymbolicZero) => {
            let mut n = Vec::new();
            reals(v, &mut n);
            out.resize(out.len() + n.len(), 0.0);
        }
        (_, _, t) => reals(t, out),
    }
}

fn map_reals(v: &Val, f: &mut dyn FnMut(f64) -> f64) -> Val {
    match v {
        Val::F64(x) => Val::F64(f(*x)),
        Val::F32(x) => Val::F32(f(f64::from(*x)) as f32),
        Val::Array(a) => Val::Array(std::rc::Rc::new(adl_ir::eval::Arr {
            shape: a.shape.clone(),
            elems: a.elems.iter().map(|e| map_reals(e, f)).collect(),
        })),
        Val::Data(c) => Val::Data(std::rc::Rc::new(adl_ir::eval::Con {
            tag: c.tag,
            fields: c.fields.iter().map(|e| map_reals(e, f)).collect(),
        })),
        other => other.clone(),
    }
}

/// A value of the tangent type: data keeps only the fields that have tangents.
fn tangent_of(ad: &mut Ad, p: &mut Program, ty: &Ty, v: &Val) -> Option<Val> {
    ad.tangent_ty(p, ty)?;
    match (v, ty) {
        (Val::Data(c), Ty::Data(d)) => {
            let tys = p.data(*d).cons[c.tag as usize].1.clone();
            let fields = c.fields.iter().zip(&tys).filter_map(|(v, t)| tangent_of(ad, p, t, v)).collect();
            Some(Val::Data(std::rc::Rc::new(adl_ir::eval::Con { tag: c.tag, fields })))
        }
        (Val::Array(a), Ty::Array(e, _)) => {
            let elems = a.elems.iter().filter_map(|v| tangent_of(ad, p, e, v)).collect();
            Some(Val::Array(std::rc::Rc::new(adl_ir::eval::Arr { shape: a.shape.clone(), elems })))
        }
        _ => Some(v.clone()),
    }
}

/// Random tangents of values, for those types that have them.
pub fn directions(ad: &mut Ad, p: &mut Program, rng: &mut Rng, tys: &[Ty], vals: &[Val]) -> Vec<Val> {
    let like: Vec<Val> = tys.iter().zip(vals).filter_map(|(t, v)| tangent_of(ad, p, t, v)).collect();
    like.iter().map(|v| map_reals(v, &mut |_| rng.next() - 0.5)).collect()
}

fn call(p: &Program, f: FnId, args: &[Val]) -> Vec<Val> {
    run(p, f, args, &[])
        .unwrap_or_else(|e| panic!("{e}\n{}", adl_ir::print::program(p, adl_ir::print::Style::PLAIN)))
        .results
}

/// `a . b`, where symbolic zeros count as zero.
fn dot(a: &[Val], b: &[Val]) -> f64 {
    // Zeros inside of data may be symbolic zeros, too.
    a.iter()
        .zip(b)
        .map(|(a, b)| match (a, b) {
            (Val::F64(x), Val::F64(y)) => x * y,
            (Val::F32(x), Val::F32(y)) => f64::from(*x) * f64::from(*y),
            (Val::Array(x), Val::Array(y)) => dot(&x.elems, &y.elems),
            (Val::Data(x), Val::Data(y)) => dot(&x.fields, &y.fields),
            _ => 0.0,
        })
        .sum()
}

/// Compares a derivative `d` with the values below, at and above a point. If the one-sided slopes differ, as at
/// ties of maxima, it must lie between them.
fn close_to_slope(what: &str, d: f64, (down, at, up): (f64, f64, f64), h: f64, tolerance: f64) {
    let (left, right) = ((at - down) / h, (up - at) / h);
    let slack = 1e3 * tolerance * (1.0 + left.abs().max(right.abs()));
    if (left - right).abs() <= slack {
        close(what, d, (up - down) / (2.0 * h), tolerance);
    } else {
        assert!(
            left.min(right) - slack <= d && d <= left.max(right) + slack,
            "{what}: {d} is not between {left} and {right}"
        );
    }
}

fn close(what: &str, a: f64, b: f64, tolerance: f64) {
    let scale = 1.0 + a.abs().max(b.abs());
    assert!((a - b).abs() <= tolerance * scale, "{what}: {a} against {b}");
}

/// `x + h d`. The reals of `d` correspond to those of `x`, in order.
fn moved(x: &[Val], d: &[Val], h: f64) -> Vec<Val> {
    let mut step = Vec::new();
    d.iter().for_each(|d| reals(d, &mut step));
    let mut k = step.into_iter();
    x.iter().map(|x| map_reals(x, &mut |v| v + h * k.next().unwrap_or(0.0))).collect()
}

fn result_tys(p: &Program, f: FnId) -> Vec<Ty> {
    p.func(f).tys(&p.func(f).body.results)
}

fn param_tys(p: &Program, f: FnId) -> Vec<Ty> {
    p.func(f).tys(&p.func(f).body.params)
}

fn only<T: Clone>(v: &[T], keep: &[bool]) -> Vec<T> {
    v.iter().zip(keep).filter(|(_, k)| **k).map(|(v, _)| v.clone()).collect()
}

/// Checks the first and second derivatives of the last function.
pub fn check(name: &str, p: Program, plan: &UnzipPlan, how: Segments, optimise: bool) -> Vec<Val> {
    let f = FnId(p.funcs.len() as u32 - 1);
    let rng = &mut Rng(7);
    let x: Vec<Val> = p.func(f).tys(&p.func(f).body.params).iter().map(|t| input(rng, t)).collect();
    check_at(name, p, f, &x, plan, how, optimise)
}

/// Checks the first and second derivatives of a function at a point.
pub fn check_at(
    name: &str,
    mut p: Program,
    f: FnId,
    x: &[Val],
    plan: &UnzipPlan,
    how: Segments,
    optimise: bool,
) -> Vec<Val> {
    if let Err(why) = adl_ir::verify::verify_program(&p) {
        panic!("{name}: {why}");
    }
    let mut ad = Ad::new();
    ad.optimise = optimise;
    let rng = &mut Rng(7);
    let g = ad.segmented(&mut p, f, how);
    let grad = first(name, &mut ad, &mut p, g, x, plan, rng);
    second(name, &mut ad, &mut p, g, x, rng);
    grad
}

/// The cotangents of the arguments at a fixed cotangent of the results.
pub fn gradient(mut p: Program, f: FnId, x: &[Val], plan: &UnzipPlan, how: Segments) -> Vec<Val> {
    let mut ad = Ad::new();
    let g = ad.segmented(&mut p, f, how);
    let l = ad.linearize_with(&mut p, g, &vec![true; x.len()], plan).unwrap_or_else(|e| panic!("{}", e.why));
    let out = call(&p, l.primal, x);
    let (tys, vals) = (only(&result_tys(&p, g), &l.active), only(&out[..l.results], &l.active));
    let ct = directions(&mut ad, &mut p, &mut Rng(99), &tys, &vals);
    call(&p, l.cotangent, &[&out[l.results..], &ct[..]].concat())
}

/// The number of reals in some values.
pub fn scalars(x: &[Val]) -> u64 {
    x.iter()
        .map(|v| {
            let mut out = Vec::new();
            reals(v, &mut out);
            out.len() as u64
        })
        .sum()
}

/// Values, tangents and cotangents. Returns the cotangent at a fixed direction.
fn first(name: &str, ad: &mut Ad, p: &mut Program, f: FnId, x: &[Val], plan: &UnzipPlan, rng: &mut Rng) -> Vec<Val> {
    let wrt = vec![true; x.len()];
    let l = ad.linearize_with(p, f, &wrt, plan).unwrap_or_else(|e| panic!("{name}: {}", e.why));
    let y = call(p, f, x);
    let out = call(p, l.primal, x);
    assert_eq!(out[..l.results], y[..], "{name}: the primal's values");
    let residuals = &out[l.results..];
    let tys = param_tys(p, f);
    let given = directions(ad, p, rng, &tys, x);
    let dx = &given;
    let dy = call(p, l.tangent, &[residuals, &given[..]].concat());
    let h = 1e-6;
    let (up, down) = (call(p, f, &moved(x, dx, h)), call(p, f, &moved(x, dx, -h)));
    let (mut k, results) = (0, result_tys(p, f));
    for (n, active) in l.active.iter().enumerate() {
        let (mut a, mut b, mut c, mut d) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        reals(&up[n], &mut a);
        reals(&y[n], &mut b);
        reals(&down[n], &mut c);
        if *active {
            tangents(ad, p, &results[n], &y[n], &dy[k], &mut d);
            k += 1;
        }
        d.resize(a.len(), 0.0);
        for ((a, b), (c, d)) in a.iter().zip(&b).zip(c.iter().zip(&d)) {
            close_to_slope(&format!("{name}: tangent of result {n}"), *d, (*c, *b, *a), h, 2e-7);
        }
    }
    let (forward, _) = adl_specialise::Transforms::jvp(ad, p, f, &wrt).unwrap_or_else(|e| panic!("{name}: {}", e.why));
    let both = call(p, forward, &[x, &given[..]].concat());
    for (a, b) in both[l.results..].iter().zip(&dy) {
        close(
            &format!("{name}: forward mode"),
            dot(std::slice::from_ref(a), std::slice::from_ref(a)),
            dot(std::slice::from_ref(b), std::slice::from_ref(b)),
            1e-12,
        );
    }
    let (tys, vals) = (only(&result_tys(p, f), &l.active), only(&y, &l.active));
    let ct = directions(ad, p, &mut Rng(99), &tys, &vals);
    let cx = call(p, l.cotangent, &[residuals, &ct[..]].concat());
    close(&format!("{name}: the transpose"), dot(&ct, &dy), dot(&cx, &given), 1e-12);
    twice(name, ad, p, f, plan, residuals, &given, &dy);
    cx
}

/// Transposing twice must give the linear function back.
#[allow(clippy::too_many_arguments)]
fn twice(
    name: &str,
    ad: &mut Ad,
    p: &mut Program,
    f: FnId,
    plan: &UnzipPlan,
    residuals: &[Val],
    given: &[Val],
    dy: &[Val],
) {
    let wrt = vec![true; p.func(f).body.params.len()];
    let j = ad.jvp(p, f, &wrt).unwrap_or_else(|e| panic!("{name}: {}", e.why));
    let u = ad.unzip(p, j.func, plan).unwrap_or_else(|e| panic!("{name}: {}", e.why));
    let t = ad.transpose(p, u.linear).unwrap_or_else(|e| panic!("{name}: {}", e.why));
    let tt = ad.transpose(p, t).unwrap_or_else(|e| panic!("{name}: {}", e.why));
    let back = run(p, tt, residuals, given).unwrap_or_else(|e| panic!("{name}: {e}")).lin_results;
    for (a, b) in back.iter().zip(dy) {
        let d = moved(std::slice::from_ref(b), std::slice::from_ref(a), -1.0);
        close(&format!("{name}: transposed twice"), dot(&d, &d), 0.0, 1e-20);
    }
}

/// Differentiates the gradient, as a function of x, in both modes.
fn second(name: &str, ad: &mut Ad, p: &mut Program, f: FnId, x: &[Val], rng: &mut Rng) {
    let l = ad
        .linearize_with(p, f, &vec![true; x.len()], &UnzipPlan::store_all())
        .unwrap_or_else(|e| panic!("{name}: {}", e.why));
    let callee = p.func(l.cotangent).clone();
    let kept = p.func(l.primal).body.results.len() - l.results;
    let mut b = Builder::new("gradient");
    let params: Vec<_> = p.func(f).tys(&p.func(f).body.params).into_iter().map(|t| b.param(t)).collect();
    let cts: Vec<_> = callee.tys(&callee.body.params[kept..]).into_iter().map(|t| b.param(t)).collect();
    let (out, _) = b.call(p, l.primal, &params, &[]);
    let args = [&out[l.results..], &cts[..]].concat();
    let tys = callee.tys(&callee.body.results);
    let (grad, _) =
        b.emit(Op::Call { f: l.cotangent, args, lin_args: vec![], rule: None, checkpoint: false }, &tys, &[]);
    // A gradient that is a symbolic zero has no shape, so the others are scaled.
    let g = p.add(b.finish(grad, vec![]));
    let y = call(p, f, x);
    let (tys, vals) = (only(&result_tys(p, f), &l.active), only(&y, &l.active));
    let at = [x, &directions(ad, p, rng, &tys, &vals)[..]].concat();
    let wrt = vec![true; at.len()];
    let m =
        ad.linearize_with(p, g, &wrt, &UnzipPlan::store_all()).unwrap_or_else(|e| panic!("{name}, second: {}", e.why));
    let out = call(p, m.primal, &at);
    let residuals = &out[m.results..];
    let tys = param_tys(p, g);
    let given = directions(ad, p, rng, &tys, &at);
    let dx = &given;
    let dy = call(p, m.tangent, &[residuals, &given[..]].concat());
    let h = 1e-6;
    let (up, down) = (call(p, g, &moved(&at, dx, h)), call(p, g, &moved(&at, dx, -h)));
    let (mut k, results) = (0, result_tys(p, g));
    for (n, active) in m.active.iter().enumerate() {
        let (mut a, mut b, mut c, mut d) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        reals(&up[n], &mut a);
        reals(&out[n], &mut b);
        reals(&down[n], &mut c);
        if *active {
            tangents(ad, p, &results[n], &out[n], &dy[k], &mut d);
            k += 1;
        }
        d.resize(a.len(), 0.0);
        for ((a, b), (c, d)) in a.iter().zip(&b).zip(c.iter().zip(&d)) {
            close_to_slope(&format!("{name}: second derivative, part {n}"), *d, (*c, *b, *a), h, 2e-6);
        }
    }
    let (tys, vals) = (only(&result_tys(p, g), &m.active), only(&out[..m.results], &m.active));
    let ct = directions(ad, p, rng, &tys, &vals);
    let cx = call(p, m.cotangent, &[residuals, &ct[..]].concat());
    close(&format!("{name}: the second transpose"), dot(&ct, &dy), dot(&cx, &given), 1e-11);
}

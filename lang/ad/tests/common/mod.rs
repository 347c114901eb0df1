//! Numerical checks of every transformation of a program's last function.
#![allow(dead_code)]

pub mod deep;
pub mod nests;
pub mod programs;
pub mod rules;
pub mod tally;

use adl_ad::Ad;
use adl_ad::segment::Segments;
use adl_ad::unzip::UnzipPlan;
use adl_ir::eval::{Val, run};
pub use adl_ir::generate::rng::Rng;
use adl_ir::{Builder, FnId, Op, Program, Ty};

/// A random argument of a type: reals in 0.3..1.3, arrays with extents of 5, small Ints.
pub fn input(rng: &mut Rng, ty: &Ty) -> Val {
    match ty {
        Ty::F64 => Val::F64(0.3 + rng.unit()),
        Ty::F32 => Val::F32(0.3 + rng.unit() as f32),
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

/// The real numbers of a tangent, one for each real of its value `val`; zeros for symbolic zeros.
fn tangents(ad: &mut Ad, program: &mut Program, ty: &Ty, val: &Val, tangent: &Val, out: &mut Vec<f64>) {
    match (val, ty, tangent) {
        (Val::Data(c), Ty::Data(d), Val::Data(t)) => {
            let tys = program.data(*d).cons[c.tag as usize].1.clone();
            let mut there = t.fields.iter();
            for (v, ty) in c.fields.iter().zip(&tys) {
                if ad.tangent_ty(program, ty).is_some() {
                    tangents(ad, program, ty, v, there.next().unwrap_or(&Val::SymbolicZero), out);
                }
            }
        }
        (Val::Array(a), Ty::Array(e, _), Val::Array(t)) => {
            a.elems.iter().zip(&t.elems).for_each(|(v, t)| tangents(ad, program, e, v, t, out));
        }
        (_, _, Val::SymbolicZero) => {
            let mut n = Vec::new();
            reals(val, &mut n);
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
fn tangent_of(ad: &mut Ad, p: &mut Program, ty: &Ty, val: &Val) -> Option<Val> {
    ad.tangent_ty(p, ty)?;
    match (val, ty) {
        (Val::Data(c), Ty::Data(d)) => {
            let tys = p.data(*d).cons[c.tag as usize].1.clone();
            let fields = c.fields.iter().zip(&tys).filter_map(|(v, t)| tangent_of(ad, p, t, v)).collect();
            Some(Val::Data(std::rc::Rc::new(adl_ir::eval::Con { tag: c.tag, fields })))
        }
        (Val::Array(a), Ty::Array(e, _)) => {
            let elems = a.elems.iter().filter_map(|v| tangent_of(ad, p, e, v)).collect();
            Some(Val::Array(std::rc::Rc::new(adl_ir::eval::Arr { shape: a.shape.clone(), elems })))
        }
        _ => Some(val.clone()),
    }
}

/// Random tangents of values, for those types that have them.
pub fn directions(ad: &mut Ad, p: &mut Program, rng: &mut Rng, tys: &[Ty], vals: &[Val]) -> Vec<Val> {
    let like: Vec<Val> = tys.iter().zip(vals).filter_map(|(t, v)| tangent_of(ad, p, t, v)).collect();
    like.iter().map(|v| map_reals(v, &mut |_| rng.unit() - 0.5)).collect()
}

fn call(p: &Program, f: FnId, args: &[Val]) -> Vec<Val> {
    run(p, f, args, &[])
        .unwrap_or_else(|e| panic!("{e}\n{}", adl_ir::print::program(p, adl_ir::print::Style::PLAIN)))
        .results
}

/// `a . b`, where symbolic zeros count as zero.
fn dot(a: &[Val], b: &[Val]) -> f64 {
    // Arrays inside of data may be symbolic zeros, too.
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
    let rng = &mut Rng::new(7);
    let x: Vec<Val> = p.func(f).tys(&p.func(f).body.params).iter().map(|t| input(rng, t)).collect();
    check_at(name, p, f, &x, plan, how, optimise)
}

/// Checks the first and second derivatives of a function at a point.
pub fn check_at(
    name: &str,
    mut program: Program,
    id: FnId,
    point: &[Val],
    plan: &UnzipPlan,
    how: Segments,
    optimise: bool,
) -> Vec<Val> {
    if let Err(why) = adl_ir::verify::verify_program(&program) {
        panic!("{name}: {why}");
    }
    let mut ad = Ad::new();
    ad.optimise = optimise;
    let rng = &mut Rng::new(7);
    let g = ad.segmented(&mut program, id, how);
    let grad = first(name, &mut ad, &mut program, g, point, plan, rng);
    second(name, &mut ad, &mut program, g, point, rng);
    grad
}

/// The cotangents of the arguments at a fixed cotangent of the results.
pub fn gradient(mut p: Program, f: FnId, x: &[Val], plan: &UnzipPlan, how: Segments) -> Vec<Val> {
    let mut ad = Ad::new();
    let g = ad.segmented(&mut p, f, how);
    let l = ad.linearize_with(&mut p, g, &vec![true; x.len()], plan).unwrap_or_else(|e| panic!("{}", e.why));
    let out = call(&p, l.primal, x);
    let (tys, vals) = (only(&result_tys(&p, g), &l.active), only(&out[..l.results], &l.active));
    let ct = directions(&mut ad, &mut p, &mut Rng::new(99), &tys, &vals);
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
fn first(
    name: &str,
    ad: &mut Ad,
    program: &mut Program,
    id: FnId,
    point: &[Val],
    plan: &UnzipPlan,
    rng: &mut Rng,
) -> Vec<Val> {
    let wrt = vec![true; point.len()];
    let linearized = ad.linearize_with(program, id, &wrt, plan).unwrap_or_else(|e| panic!("{name}: {}", e.why));
    let value = call(program, id, point);
    let out = call(program, linearized.primal, point);
    // Sums over an index may be added in another order.
    if out[..linearized.results] != value[..] {
        let numbers = |vs: &[Val]| {
            let mut all = Vec::new();
            vs.iter().for_each(|v| reals(v, &mut all));
            all
        };
        let (found, expected) = (numbers(&out[..linearized.results]), numbers(&value));
        assert_eq!(found.len(), expected.len(), "{name}: the primal's values");
        found.iter().zip(&expected).for_each(|(a, b)| close(&format!("{name}: the primal's values"), *a, *b, 1e-12));
    }
    let residuals = &out[linearized.results..];
    let tys = param_tys(program, id);
    let given = directions(ad, program, rng, &tys, point);
    let dx = &given;
    let dy = call(program, linearized.tangent, &[residuals, &given[..]].concat());
    let step = 1e-6;
    let (up, down) = (call(program, id, &moved(point, dx, step)), call(program, id, &moved(point, dx, -step)));
    let (mut k, results) = (0, result_tys(program, id));
    for (index, active) in linearized.active.iter().enumerate() {
        let (mut a, mut b, mut c, mut d) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        reals(&up[index], &mut a);
        reals(&value[index], &mut b);
        reals(&down[index], &mut c);
        if *active {
            tangents(ad, program, &results[index], &value[index], &dy[k], &mut d);
            k += 1;
        }
        d.resize(a.len(), 0.0);
        for ((a, b), (c, d)) in a.iter().zip(&b).zip(c.iter().zip(&d)) {
            close_to_slope(&format!("{name}: tangent of result {index}"), *d, (*c, *b, *a), step, 2e-7);
        }
    }
    let (forward, _) =
        adl_specialise::Transforms::jvp(ad, program, id, &wrt).unwrap_or_else(|e| panic!("{name}: {}", e.why));
    let both = call(program, forward, &[point, &given[..]].concat());
    for (a, b) in both[linearized.results..].iter().zip(&dy) {
        close(
            &format!("{name}: forward mode"),
            dot(std::slice::from_ref(a), std::slice::from_ref(a)),
            dot(std::slice::from_ref(b), std::slice::from_ref(b)),
            1e-12,
        );
    }
    let (tys, vals) = (only(&result_tys(program, id), &linearized.active), only(&value, &linearized.active));
    let ct = directions(ad, program, &mut Rng::new(99), &tys, &vals);
    let cx = call(program, linearized.cotangent, &[residuals, &ct[..]].concat());
    close(&format!("{name}: the transpose"), dot(&ct, &dy), dot(&cx, &given), 1e-12);
    twice(name, ad, program, id, plan, residuals, &given, &dy);
    cx
}

/// Transposing twice must give the linear function back.
#[allow(clippy::too_many_arguments)]
fn twice(
    name: &str,
    ad: &mut Ad,
    program: &mut Program,
    f: FnId,
    plan: &UnzipPlan,
    residuals: &[Val],
    given: &[Val],
    dy: &[Val],
) {
    let wrt = vec![true; program.func(f).body.params.len()];
    let j = ad.jvp(program, f, &wrt).unwrap_or_else(|e| panic!("{name}: {}", e.why));
    let u = ad.unzip(program, j.func, plan).unwrap_or_else(|e| panic!("{name}: {}", e.why));
    let t = ad.transpose(program, u.linear).unwrap_or_else(|e| panic!("{name}: {}", e.why));
    let tt = ad.transpose(program, t).unwrap_or_else(|e| panic!("{name}: {}", e.why));
    let back = run(program, tt, residuals, given).unwrap_or_else(|e| panic!("{name}: {e}")).lin_results;
    for (a, b) in back.iter().zip(dy) {
        let d = moved(std::slice::from_ref(b), std::slice::from_ref(a), -1.0);
        close(&format!("{name}: transposed twice"), dot(&d, &d), 0.0, 1e-20);
    }
}

/// Differentiates the gradient, as a function of x, in both modes.
fn second(name: &str, ad: &mut Ad, program: &mut Program, id: FnId, point: &[Val], rng: &mut Rng) {
    let linearized = ad
        .linearize_with(program, id, &vec![true; point.len()], &UnzipPlan::store_all())
        .unwrap_or_else(|e| panic!("{name}: {}", e.why));
    let callee = program.func(linearized.cotangent).clone();
    let kept = program.func(linearized.primal).body.results.len() - linearized.results;
    let mut builder = Builder::new("gradient");
    let params: Vec<_> =
        program.func(id).tys(&program.func(id).body.params).into_iter().map(|t| builder.param(t)).collect();
    let cts: Vec<_> = callee.tys(&callee.body.params[kept..]).into_iter().map(|t| builder.param(t)).collect();
    let (out, _) = builder.call(program, linearized.primal, &params, &[]);
    let args = [&out[linearized.results..], &cts[..]].concat();
    let tys = callee.tys(&callee.body.results);
    let (grad, _) = builder.emit(
        Op::Call { f: linearized.cotangent, args, lin_args: vec![], rule: None, checkpoint: false },
        &tys,
        &[],
    );
    // A gradient that is a symbolic zero has no shape, so the others are scaled.
    let gradient = program.add(builder.finish(grad, vec![]));
    let y = call(program, id, point);
    let (tys, vals) = (only(&result_tys(program, id), &linearized.active), only(&y, &linearized.active));
    let at = [point, &directions(ad, program, rng, &tys, &vals)[..]].concat();
    let wrt = vec![true; at.len()];
    let again = ad
        .linearize_with(program, gradient, &wrt, &UnzipPlan::store_all())
        .unwrap_or_else(|e| panic!("{name}, second: {}", e.why));
    let out = call(program, again.primal, &at);
    let residuals = &out[again.results..];
    let tys = param_tys(program, gradient);
    let given = directions(ad, program, rng, &tys, &at);
    let dx = &given;
    let dy = call(program, again.tangent, &[residuals, &given[..]].concat());
    let step = 1e-6;
    let (up, down) = (call(program, gradient, &moved(&at, dx, step)), call(program, gradient, &moved(&at, dx, -step)));
    let (mut k, results) = (0, result_tys(program, gradient));
    for (index, active) in again.active.iter().enumerate() {
        let (mut a, mut b, mut c, mut d) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        reals(&up[index], &mut a);
        reals(&out[index], &mut b);
        reals(&down[index], &mut c);
        if *active {
            tangents(ad, program, &results[index], &out[index], &dy[k], &mut d);
            k += 1;
        }
        d.resize(a.len(), 0.0);
        for ((a, b), (c, d)) in a.iter().zip(&b).zip(c.iter().zip(&d)) {
            close_to_slope(&format!("{name}: second derivative, part {index}"), *d, (*c, *b, *a), step, 2e-6);
        }
    }
    let (tys, vals) = (only(&result_tys(program, gradient), &again.active), only(&out[..again.results], &again.active));
    let ct = directions(ad, program, rng, &tys, &vals);
    let cx = call(program, again.cotangent, &[residuals, &ct[..]].concat());
    close(&format!("{name}: the second transpose"), dot(&ct, &dy), dot(&cx, &given), 1e-11);
}

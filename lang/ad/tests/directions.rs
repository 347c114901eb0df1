//! A function vectorised over directions must agree with one direction at a time.

use crate::common;

use adl_ad::Ad;
use adl_ad::unzip::UnzipPlan;
use adl_ir::eval::{Arr, Con, Val, run};
use adl_ir::generate::{maps, rows};
use adl_ir::{FnId, Program, Ty};
use common::Rng;
use common::programs::PROGRAMS;
use common::rules::has_derivative;
use std::rc::Rc;

const K: usize = 3;

/// Stacks values along a last axis for directions.
fn together(vs: &[Val]) -> Val {
    if let Val::Data(data) = &vs[0] {
        let field = |i: usize| {
            together(
                &vs.iter()
                    .filter_map(|v| match v {
                        Val::Data(c) => Some(c.fields[i].clone()),
                        _ => None,
                    })
                    .collect::<Vec<_>>(),
            )
        };
        return Val::Data(Rc::new(Con { tag: data.tag, fields: (0..data.fields.len()).map(field).collect() }));
    }
    let arr = |v: &Val| v.arr().map(|a| (a.shape.clone(), a.elems.clone()));
    let Some((shape, first)) = arr(&vs[0]) else {
        return Val::Array(Rc::new(Arr { shape: vec![vs.len()], elems: vs.to_vec() }));
    };
    let all: Vec<Vec<Val>> = vs.iter().filter_map(|v| arr(v).map(|a| a.1)).collect();
    if matches!(first.first(), Some(Val::Array(_) | Val::Data(_))) {
        let elems = (0..first.len()).map(|i| together(&all.iter().map(|e| e[i].clone()).collect::<Vec<_>>())).collect();
        return Val::Array(Rc::new(Arr { shape, elems }));
    }
    let elems = (0..first.len()).flat_map(|i| all.iter().map(move |e| e[i].clone())).collect();
    Val::Array(Rc::new(Arr { shape: [shape, vec![vs.len()]].concat(), elems }))
}

fn numbers(v: &Val) -> Vec<f64> {
    let mut out = Vec::new();
    common::reals(v, &mut out);
    out
}

fn compare(name: &str, p: &Program, (one, all): (FnId, FnId), kept: &[Val], dirs: &[Vec<Val>]) {
    let wide: Vec<Val> =
        (0..dirs[0].len()).map(|i| together(&dirs.iter().map(|d| d[i].clone()).collect::<Vec<_>>())).collect();
    let args = [kept, &[Val::I64(K as i64)]].concat();
    let got = run(p, all, &args, &wide).unwrap_or_else(|e| panic!("{name}: {e}"));
    for (index, dir) in dirs.iter().enumerate() {
        let want = run(p, one, kept, dir).unwrap_or_else(|e| panic!("{name}: {e}"));
        for (actual, expected) in got.lin_results.iter().zip(&want.lin_results) {
            // Data in a field or array may be a symbolic zero for all directions together but a materialised one
            // for a single direction.
            let holds = |v: &Val| {
                matches!(v, Val::Data(_))
                    || v.arr().is_some_and(|a| a.elems.iter().any(|e| matches!(e, Val::Data(_) | Val::SymbolicZero)))
            };
            let (data, g, w) = (holds(expected) || holds(actual), numbers(actual), numbers(expected));
            if data && g.len() != K * w.len() {
                continue;
            }
            let g: Vec<f64> =
                if g.is_empty() { vec![0.0; w.len()] } else { g.into_iter().skip(index).step_by(K).collect() };
            let w = if w.is_empty() { vec![0.0; g.len()] } else { w };
            assert_eq!(g.len(), w.len(), "{name}");
            g.iter()
                .zip(&w)
                .for_each(|(g, w)| assert!((g - w).abs() <= 1e-12 * (1.0 + w.abs()), "{name}: {g} against {w}"));
        }
    }
}

fn check(name: &str, mut program: Program, f: FnId, args: &[Val]) -> bool {
    let mut ad = Ad::new();
    let wrt = vec![true; args.len()];
    let Ok(j) = ad.jvp(&mut program, f, &wrt) else { return false };
    let unzipped =
        ad.unzip(&mut program, j.func, &UnzipPlan::store_all()).unwrap_or_else(|e| panic!("{name}: {}", e.why));
    let transposed = ad.transpose(&mut program, unzipped.linear).unwrap_or_else(|e| panic!("{name}: {}", e.why));
    let primal = run(&program, unzipped.primal, args, &[]).unwrap_or_else(|e| panic!("{name}: {e}"));
    let kept = &primal.results[unzipped.results..];
    let tys: Vec<Ty> = program.func(f).tys(&program.func(f).body.params);
    let dirs: Vec<Vec<Val>> =
        (0..K).map(|d| common::directions(&mut ad, &mut program, &mut Rng::new(d as u64 + 3), &tys, args)).collect();
    let (Ok(forward), Ok(back)) = (ad.batch(&mut program, unzipped.linear), ad.batch(&mut program, transposed)) else {
        return false;
    };
    compare(name, &program, (unzipped.linear, forward), kept, &dirs);
    let outs = run(&program, unzipped.linear, kept, &dirs[0]).unwrap_or_else(|e| panic!("{name}: {e}")).lin_results;
    if outs.iter().any(Val::is_symbolic_zero) {
        return true;
    }
    let tys = program.func(unzipped.linear).tys(&program.func(unzipped.linear).body.lin_results);
    let cts: Vec<Vec<Val>> =
        (0..K).map(|d| common::directions(&mut ad, &mut program, &mut Rng::new(d as u64 + 9), &tys, &outs)).collect();
    compare(name, &program, (transposed, back), kept, &cts);
    true
}

#[test]
fn of_small_programs() {
    let mut done = 0;
    for (name, text) in PROGRAMS {
        let p = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let f = FnId(p.funcs.len() as u32 - 1);
        let mut rng = Rng::new(1);
        let args: Vec<Val> = p.func(f).tys(&p.func(f).body.params).iter().map(|t| common::input(&mut rng, t)).collect();
        done += usize::from(check(name, p, f, &args));
    }
    assert!(done * 2 > PROGRAMS.len(), "{done} of {}", PROGRAMS.len());
}

#[test]
fn of_generated_programs() {
    let mut done = 0;
    for seed in 0..300 {
        let g = adl_ir::generate::program(seed, 6 + (seed % 40) as usize);
        done += usize::from(check(&format!("seed {seed}"), g.program, g.main, &g.args));
    }
    assert!(done > 30, "{done} of 300");
}

#[test]
fn of_all_rows_and_of_loops() {
    let (mut done, mut all) = (0, 0);
    let rows = rows::instances(&Ty::F64).into_iter().filter(|case| case.op().is_some_and(has_derivative));
    for case in rows.chain((0..100).map(|seed| maps::program(seed, 4))) {
        let finite = |vals: &Vec<Val>| vals.iter().flat_map(Val::reals).all(f64::is_finite);
        if case.args.iter().any(|arg| !arg.reals().is_empty()) && case.results.as_ref().is_ok_and(finite) {
            all += 1;
            done += usize::from(check(&case.text(), case.program.clone(), case.main, &case.args));
        }
    }
    assert!(10 * done > 9 * all, "{done} of {all}");
}

//! A constructor for each arm: as text, and values that stay the same.

use adl_ir::eval::{Val, run};
use adl_ir::print::{self, Style};
use adl_ir::{FnId, Program, verify};
use adl_opt::arm_constructors;
use std::path::Path;
use std::rc::Rc;

fn read(end: &str) -> String {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes");
    std::fs::read_to_string(dir.join(format!("arms.{end}"))).unwrap_or_default()
}

/// The program after the pass. The function at `entry` is the one that callers see.
fn split(p: &Program, entry: usize) -> (Program, bool) {
    let mut q = p.clone();
    q.funcs.swap(0, entry);
    let changed = arm_constructors::split(&mut q.funcs, &mut q.datas);
    q.funcs.swap(0, entry);
    for f in &q.funcs {
        verify(&q, f).unwrap_or_else(|e| panic!("{}: {e:?}", f.name));
    }
    (q, changed)
}

/// `arms.ir` after the pass; `UPDATE=1` rewrites `arms.out`.
#[test]
fn an_arm_stores_what_is_read_after_it() {
    let p = adl_ir::parse::program(&read("ir")).unwrap_or_else(|e| panic!("{e}"));
    let (q, changed) = split(&p, 0);
    assert!(changed);
    let out = print::program(&q, Style::PLAIN);
    if std::env::var_os("UPDATE").is_some() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes");
        std::fs::write(dir.join("arms.out"), &out).unwrap_or_else(|e| panic!("{e}"));
    }
    assert_eq!(out, read("out"));
}

fn numbers(x: &[f64]) -> Val {
    Val::Array(Rc::new(adl_ir::eval::Arr { shape: vec![x.len()], elems: x.iter().copied().map(Val::F64).collect() }))
}

fn leaf(x: f64) -> Val {
    Val::data(0, vec![Val::F64(x)])
}

#[test]
fn values_stay_the_same() {
    let p = adl_ir::parse::program(&read("ir")).unwrap_or_else(|e| panic!("{e}"));
    let (q, _) = split(&p, 0);
    let three = Val::data(1, [0.5, -2.0, 3.0].map(Val::F64).to_vec());
    let tree = Val::data(1, vec![leaf(0.3), Val::data(1, vec![leaf(-1.5), leaf(2.0)])]);
    for (x, wide) in [(vec![0.7], three), (vec![0.1, -0.4, 2.0, 1.5, 0.9], Val::data(0, Vec::new()))] {
        for (t, c) in [(&tree, 1.0), (&leaf(4.0), -0.75)] {
            let args = [numbers(&x), Val::F64(c), t.clone(), wide.clone()];
            let [before, after] = [&p, &q].map(|p| run(p, FnId(0), &args, &[]).unwrap_or_else(|e| panic!("{e}")));
            assert_eq!(format!("{:?}", before.results), format!("{:?}", after.results));
        }
    }
}

#[test]
fn types_that_callers_see_stay() {
    let p = adl_ir::parse::program(&read("ir")).unwrap_or_else(|e| panic!("{e}"));
    let (q, _) = split(&p, 7);
    assert_eq!(p.datas[1], q.datas[1]);
    assert_eq!(p.datas[2], q.datas[2]);
}

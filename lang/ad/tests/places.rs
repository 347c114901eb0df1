//! The statements of derivatives say from which place of the program they were made: errors in derivatives are reported
//! there, and costs are shown by line.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use adl_ad::Ad;
use adl_ad::unzip::UnzipPlan;
use adl_ir::eval::{Val, run};
use adl_ir::generate;
use adl_ir::{Block, FnId, Op, Program};
use adl_syntax::span::{FileId, Span};
use std::collections::HashSet;

/// Gives each statement of a block and of its blocks a place of its own.
fn number(b: &mut Block, next: &mut u32) {
    for s in &mut b.stmts {
        *next += 10;
        s.span = Span { file: FileId(7), lo: *next, hi: *next + 3 };
        s.op.blocks_mut().into_iter().for_each(|b| number(b, next));
    }
}

fn numbered(mut p: Program) -> Program {
    let mut next = 0;
    for f in 0..p.funcs.len() as u32 {
        let mut made = (**p.func(FnId(f))).clone();
        number(&mut made.body, &mut next);
        p.set(FnId(f), made);
    }
    p
}

/// All places of the statements of a block, and whether they are calls.
fn places(b: &Block, out: &mut Vec<(Span, bool)>) {
    for s in &b.stmts {
        out.push((s.span, matches!(s.op, Op::Call { .. })));
        s.op.blocks().into_iter().for_each(|b| places(b, out));
    }
}

fn all(p: &Program, f: FnId) -> Vec<(Span, bool)> {
    let mut out = Vec::new();
    p.callees(f, |_, _| true).into_iter().for_each(|f| places(&p.func(f).body, &mut out));
    out
}

#[test]
fn calls_in_derivatives_have_places_of_calls() {
    let mut found = 0;
    for seed in 0..100 {
        let g = generate::program(seed, 6 + seed as usize % 40);
        let mut p = numbered(g.program);
        let calls = |p: &Program, f: FnId| {
            let calls = all(p, f).into_iter().filter(|(_, call)| *call);
            calls.map(|(span, _)| span).collect::<HashSet<Span>>()
        };
        let source = calls(&p, g.main);
        let l = Ad::new().linearize_with(&mut p, g.main, &vec![true; g.args.len()], &UnzipPlan::store_all()).unwrap();
        for f in [l.primal, l.tangent, l.cotangent] {
            let made = calls(&p, f);
            found += made.len();
            let others: Vec<&Span> = made.difference(&source).collect();
            assert!(others.is_empty(), "seed {seed}: {others:?} in {}", p.func(f).name);
        }
    }
    assert!(found > 100, "{found}");
}

/// Sums and maps in several loops, whose halves can be joined.
const JOINED: [&str; 3] = [
    "v6: f64 = exp v5 v7: f64 = mul v6 v6 return v7",
    "v6: f64 = sin v5 v7: f64 = mul v6 v5 v8: f64 = exp v7 return v8",
    "v6: bool = lt v5 v2 v7: f64 = if v6 { v8: f64 = exp v5 return v8 } else { return v5 } v9: f64 = mul v7 v7 return v9",
];

#[test]
fn joined_halves_have_places_and_the_same_values() {
    for ty in ["f64", "f32"] {
        for body in JOINED {
            let text = format!(
                "fn f0 f (v0: []f64, v1: f64) -> (f64) {{ v2: f64 = 0.5 v3: i64 = dim 0 v0
                 v10: f64, v11: i64 = loop for v3 over (v0) out (sum) (v4: i64, v5: f64) {{ {body} }}
                 v12: f64 = mul v10 v1 return v12 }}"
            )
            .replace("f64", ty);
            let p = adl_ir::parse::program(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let mut p = numbered(p);
            let source: HashSet<Span> = all(&p, FnId(0)).into_iter().map(|(span, _)| span).collect();
            let l = Ad::new().linearize_with(&mut p, FnId(0), &[true, true], &UnzipPlan::store_all()).unwrap();
            let joined = adl_opt::fuse_halves::join(&p, l.primal, l.cotangent).unwrap_or_else(|| panic!("{text}"));
            let joined = p.add(joined);
            all(&p, joined).iter().for_each(|(span, _)| assert!(source.contains(span), "{span:?} in {text}"));
            let real = |x: f64| if ty == "f32" { Val::F32(x as f32) } else { Val::F64(x) };
            let args = [Val::array(vec![3], [0.3, 0.9, -0.4].map(real).to_vec()), real(1.5)];
            let halves = run(&p, l.primal, &args, &[]).unwrap().results;
            let back = [&halves[1..], &[real(1.0)]].concat();
            let back = run(&p, l.cotangent, &back, &[]).unwrap().results;
            let have = run(&p, joined, &args, &[]).unwrap().results;
            assert_eq!(have, [&halves[..1], &back[..]].concat(), "{text}");
        }
    }
}

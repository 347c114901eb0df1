//! The statements of derivatives say from which place of the program they were made: errors in derivatives are reported
//! there, and costs are shown by line.

use adl_ad::Ad;
use adl_ad::unzip::UnzipPlan;
use adl_ir::eval::{Val, run};
use adl_ir::{Block, FnId, Program};
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

/// All places of the statements of a block.
fn places(b: &Block, out: &mut Vec<Span>) {
    for s in &b.stmts {
        out.push(s.span);
        s.op.blocks().into_iter().for_each(|b| places(b, out));
    }
}

fn all(p: &Program, f: FnId) -> Vec<Span> {
    let mut out = Vec::new();
    p.callees(f, |_, _| true).into_iter().for_each(|f| places(&p.func(f).body, &mut out));
    out
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
                "fn f0 f (v0: []f64, v1: f64) -> (f64) {{ v2: f64 = HALF v3: i64 = dim 0 v0
                 v10: f64, v11: i64 = loop for v3 over (v0) out (sum) (v4: i64, v5: f64) {{ {body} }}
                 v12: f64 = mul v10 v1 return v12 }}"
            )
            .replace("f64", ty)
            .replace("HALF", if ty == "f32" { "0.5f32" } else { "0.5" });
            let parsed = adl_ir::parse::program(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let mut program = numbered(parsed);
            let source: HashSet<Span> = all(&program, FnId(0)).into_iter().collect();
            let l = Ad::new().linearize_with(&mut program, FnId(0), &[true, true], &UnzipPlan::store_all()).unwrap();
            let joined =
                adl_opt::fuse_halves::join(&program, l.primal, l.cotangent).unwrap_or_else(|| panic!("{text}"));
            let joined = program.add(joined);
            all(&program, joined).iter().for_each(|span| assert!(source.contains(span), "{span:?} in {text}"));
            let real = |x: f64| if ty == "f32" { Val::F32(x as f32) } else { Val::F64(x) };
            let args = [Val::array(vec![3], [0.3, 0.9, -0.4].map(real).to_vec()), real(1.5)];
            let halves = run(&program, l.primal, &args, &[]).unwrap().results;
            let back = [&halves[1..], &[real(1.0)]].concat();
            let back = run(&program, l.cotangent, &back, &[]).unwrap().results;
            let have = run(&program, joined, &args, &[]).unwrap().results;
            assert_eq!(have, [&halves[..1], &back[..]].concat(), "{text}");
        }
    }
}

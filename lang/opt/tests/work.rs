//! Passes on generated programs and their derivatives: results have the same bits, and the reference evaluator
//! never counts more work.

use adl_ad::Ad;
use adl_ad::unzip::UnzipPlan;
use adl_ir::Zeros;
use adl_ir::eval::{Val, run};
use adl_ir::generate;
use adl_ir::{FnId, Function, Program};
use adl_opt::PipelineStep::{self, Run};
use adl_opt::pipelines;

fn programs() -> u64 {
    std::env::var("ADL_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

fn bits(v: &Val, out: &mut Vec<u64>) {
    match v {
        Val::F64(x) => out.push(x.to_bits()),
        Val::F32(x) => out.push(u64::from(x.to_bits())),
        Val::I64(n) => out.push(*n as u64),
        Val::Bool(b) => out.push(u64::from(*b)),
        Val::Str(_) | Val::SymbolicZero | Val::Deps(_) => out.push(u64::MAX),
        Val::Array(a) => {
            out.extend(a.shape.iter().map(|n| *n as u64));
            a.elems.iter().for_each(|e| bits(e, out));
        }
        Val::Data(c) => {
            out.push(u64::from(c.tag));
            c.fields.iter().for_each(|e| bits(e, out));
        }
    }
}

fn all_bits(vs: &[Val]) -> Vec<u64> {
    let mut out = Vec::new();
    vs.iter().for_each(|v| bits(v, &mut out));
    out
}

/// Single passes, then the pipelines.
const PIPELINES: &[&[PipelineStep]] = &[
    &[Run(&pipelines::SIMPLIFY)],
    &[Run(&pipelines::DEAD)],
    &[Run(&pipelines::FUSE)],
    &[Run(&pipelines::FUSE_NATIVE)],
    &[Run(&pipelines::HOIST)],
    pipelines::FUNCTION,
    &[PipelineStep::All(pipelines::INLINED), PipelineStep::All(pipelines::FINISH)],
    pipelines::NATIVE,
    pipelines::COMPILED,
];
const FUSED: usize = 3;
const HOIST: usize = 4;
/// From this entry on, scalar replacement is included: reading elements and assembling arrays counts as work, and
/// so does the initial 0 of a sum.
const APART: usize = 5;

/// Runs a function before and after each pipeline, and returns the results.
fn compare(program: &mut Program, f: FnId, args: &[Val], arrays: Zeros, seed: u64) -> Vec<Val> {
    let plain = run(program, f, args, &[]).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    let mut made: Function = (**program.func(f)).clone();
    let mut hoisted = 0;
    for (pass, pipeline) in PIPELINES.iter().enumerate() {
        // A reduction that becomes a loop needs its trip count. A hoisted statement is computed once even if the loop runs zero
        // times.
        hoisted = match pass {
            FUSED => 8 + plain.counts.total / 16,
            HOIST => 32 + plain.counts.total / 8,
            APART => 32 + plain.counts.total,
            _ => hoisted,
        };
        // Hoisting alone must not need materialised arrays.
        let zeros = if pass == HOIST { Zeros::Symbolic } else { arrays };
        adl_opt::run(pipeline, program, &mut made, zeros);
        adl_ir::verify(program, &made).unwrap_or_else(|e| panic!("seed {seed}, pass {pass}: {e:?}"));
        let g = program.add(made.clone());
        let now = run(program, g, args, &[]).unwrap_or_else(|e| panic!("seed {seed}, pass {pass}: {e}"));
        assert_eq!(all_bits(&now.results), all_bits(&plain.results), "seed {seed}, pass {pass}");
        assert!(
            now.counts.total <= plain.counts.total + hoisted,
            "seed {seed}, pass {pass}: {} against {}",
            now.counts.total,
            plain.counts.total
        );
    }
    plain.results
}

#[test]
fn results_are_the_same_bits_for_no_more_work() {
    for seed in 0..programs() {
        let g = generate::program(seed, 6 + (seed % 40) as usize);
        let mut program = g.program.clone();
        compare(&mut program, g.main, &g.args, Zeros::Materialized, seed);
        let mut ad = Ad::new();
        ad.optimise = true;
        let wrt = vec![true; g.args.len()];
        let l = ad
            .linearize_with(&mut program, g.main, &wrt, &UnzipPlan::store_all())
            .unwrap_or_else(|e| panic!("seed {seed}: {}", e.why));
        let mut outs = compare(&mut program, l.primal, &g.args, Zeros::Symbolic, seed);
        let mut seeds = outs.split_off(l.results);
        for v in outs.iter().zip(&l.active).filter(|(_, a)| **a).map(|(v, _)| v) {
            seeds.push(v.clone());
        }
        if program.func(l.cotangent).body.params.len() == seeds.len() && outs.iter().all(|v| !matches!(v, Val::Data(_)))
        {
            compare(&mut program, l.cotangent, &seeds, Zeros::Symbolic, seed);
        }
    }
}

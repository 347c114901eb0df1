//! The theorems of *You Only Linearize Once* as properties of generated programs: J costs at most a constant times
//! the program, U preserves work, T preserves amortised work, code grows linearly, and transposing twice gives the
//! same function at no higher cost. Moreover, derivatives agree with central differences and with each other, and
//! have the same bits under every plan.
//!
//! `ADL_PROGRAMS=10000` makes the run longer, `ADL_SEED=7` runs one seed; a failing program is shrunk and printed.

use crate::common;

use adl_ad::Ad;
use adl_ad::segment::Segments;
use adl_ad::unzip::UnzipPlan;
use adl_ir::eval::run;
use adl_ir::generate::{self, Generated};
use adl_ir::{Block, FnId, Op, Program};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Seeds of programs that exposed bugs: in 900, the trip count of a loop in a lifted nest is the index of the
/// enclosing loop.
const FOUND: [u64; 1] = [900];

fn programs() -> u64 {
    std::env::var("ADL_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(500)
}

/// The number of operations and operands: every node of the grammar, as counted in §8.
fn size(program: &Program, id: FnId) -> usize {
    fn of(b: &Block) -> usize {
        let own = b.params.len() + b.lin_params.len() + b.results.len() + b.lin_results.len();
        own + b
            .stmts
            .iter()
            .map(|s| {
                let mut n = 1 + s.outs.len() + s.lin_outs.len();
                s.op.each_operand(&mut |_| n += 1);
                n + s.op.blocks().into_iter().map(of).sum::<usize>()
            })
            .sum::<usize>()
    }
    of(&program.func(id).body)
}

fn seeds(check: fn(&Generated)) {
    let only: Option<u64> = std::env::var("ADL_SEED").ok().and_then(|n| n.parse().ok());
    let all: Vec<u64> = only.map_or_else(|| (0..programs()).chain(FOUND).collect(), |n| vec![n]);
    for seed in all {
        let size = 6 + (seed % 40) as usize;
        let g = generate::program(seed, size);
        if catch_unwind(AssertUnwindSafe(|| check(&g))).is_err() {
            let small = generate::smallest(seed, size, |g| catch_unwind(AssertUnwindSafe(|| check(g))).is_err());
            let text = small.map(|g| {
                format!("size {}:\n{}", g.size, adl_ir::print::program(&g.program, adl_ir::print::Style::PLAIN))
            });
            panic!("seed {seed} fails, at {}", text.unwrap_or_default());
        }
    }
}

#[test]
fn derivatives_agree() {
    seeds(|g| {
        common::check_at(
            "generated",
            g.program.clone(),
            g.main,
            &g.args,
            &UnzipPlan::store_all(),
            Segments::None,
            false,
        );
    });
}

#[test]
fn plans_do_not_change_gradients() {
    seeds(|g| {
        let bits = |plan: &UnzipPlan, how| common::gradient(g.program.clone(), g.main, &g.args, plan, how);
        let stored = bits(&UnzipPlan::store_all(), Segments::None);
        assert_eq!(stored, bits(&UnzipPlan::recompute_all(), Segments::None));
        assert_eq!(stored, bits(&UnzipPlan::store_all(), Segments::Sqrt));
        assert_eq!(stored, bits(&UnzipPlan::store_all(), Segments::Revolve(2)));
        assert_eq!(stored, bits(&UnzipPlan::store_all(), Segments::Partial(100)));
    });
}

/// The program without checkpoints, which repeat work by design.
fn without_checkpoints(p: &Program) -> Program {
    fn clear(b: &mut Block) {
        for s in &mut b.stmts {
            if let Op::Call { checkpoint, .. } = &mut s.op {
                *checkpoint = false;
            }
            s.op.blocks_mut().into_iter().for_each(clear);
        }
    }
    let mut out = p.clone();
    for f in &mut out.funcs {
        clear(&mut std::rc::Rc::make_mut(f).body);
    }
    out
}

/// Whether a function has a loop inside of a loop.
fn has_nests(p: &Program) -> bool {
    fn deep(b: &Block, loops: usize) -> bool {
        b.stmts.iter().any(|s| {
            let loops = loops + usize::from(matches!(s.op, Op::Loop(_)));
            loops > 1 || s.op.blocks().into_iter().any(|b| deep(b, loops))
        })
    }
    p.funcs.iter().any(|f| deep(&f.body, 0))
}

#[test]
fn work_is_preserved() {
    seeds(|generated| {
        let (mut program, mut ad) = (without_checkpoints(&generated.program), Ad::new());
        let wrt = vec![true; generated.args.len()];
        let work = run(&program, generated.main, &generated.args, &[]).unwrap_or_else(|e| panic!("{e}")).counts.total;
        let j = ad.jvp(&mut program, generated.main, &wrt).unwrap_or_else(|e| panic!("{}", e.why));
        let unzipped = ad.unzip(&mut program, j.func, &UnzipPlan::store_all()).unwrap_or_else(|e| panic!("{}", e.why));
        let transposed = ad.transpose(&mut program, unzipped.linear).unwrap_or_else(|e| panic!("{}", e.why));
        let tt = ad.transpose(&mut program, transposed).unwrap_or_else(|e| panic!("{}", e.why));
        let tys = program.func(generated.main).tys(&program.func(generated.main).body.params);
        let dx = common::directions(&mut ad, &mut program, &mut common::Rng::new(5), &tys, &generated.args);
        let both = run(&program, j.func, &generated.args, &dx).unwrap_or_else(|e| panic!("{e}"));
        assert!(both.counts.total <= 12 * work + 60, "J: {} against {work}", both.counts.total);
        let primal = run(&program, unzipped.primal, &generated.args, &[]).unwrap_or_else(|e| panic!("{e}"));
        let kept = &primal.results[unzipped.results..];
        let linear = run(&program, unzipped.linear, kept, &dx).unwrap_or_else(|e| panic!("{e}"));
        // Index arithmetic is repeated where its result is read, and in loops inside of loops what is cheaper than a
        // residual; both only once.
        let again = if has_nests(&program) { primal.counts.arithmetic } else { 0 };
        let work = |c: [&adl_ir::eval::WorkCounts; 2]| (c[0].arithmetic + c[1].arithmetic, c[0].total + c[1].total);
        let (arithmetic, total) = work([&primal.counts, &linear.counts]);
        assert!(arithmetic <= both.counts.arithmetic + again, "U: {arithmetic} against {}", both.counts.arithmetic);
        assert!(4 * total <= 5 * (both.counts.total + 2 * again) + 16, "U: {total} against {}", both.counts.total);
        let tys = program.func(unzipped.linear).tys(&program.func(unzipped.linear).body.lin_results);
        let ct = common::directions(&mut ad, &mut program, &mut common::Rng::new(6), &tys, &linear.lin_results);
        let back = run(&program, transposed, kept, &ct).unwrap_or_else(|e| panic!("{e}"));
        let (inputs, outputs) = (common::scalars(&dx), common::scalars(&linear.lin_results));
        // The theorem is about linear work: a gather that replaces a scatter also computes its positions.
        let bound = linear.counts.total + linear.counts.beyond + outputs;
        assert!(back.counts.linear <= bound, "T: {} against the bound {bound}", back.counts.linear);
        assert!(
            back.counts.non_linear <= 8 * (bound + inputs),
            "T: {} computing indices, against the bound {bound}",
            back.counts.non_linear
        );
        assert!(
            back.counts.total + outputs <= 3 * linear.counts.total + inputs + 4 * outputs + 20,
            "T: {} against {}",
            back.counts.total,
            linear.counts.total
        );
        let again = run(&program, tt, kept, &dx).unwrap_or_else(|e| panic!("{e}"));
        assert!(
            again.counts.total <= 2 * linear.counts.total + 2 * (inputs + outputs) + 60,
            "T T: {} against {}",
            again.counts.total,
            linear.counts.total
        );
    });
}

#[test]
fn code_grows_linearly() {
    seeds(|g| {
        let (mut p, mut ad) = (g.program.clone(), Ad::new());
        let before: usize = (0..p.funcs.len()).map(|k| size(&p, FnId(k as u32))).sum();
        let wrt = vec![true; g.args.len()];
        ad.linearize_with(&mut p, g.main, &wrt, &UnzipPlan::store_all()).unwrap_or_else(|e| panic!("{}", e.why));
        let after: usize = (0..p.funcs.len()).map(|k| size(&p, FnId(k as u32))).sum();
        assert!(after <= 60 * before + 200, "{after} nodes from {before}");
    });
}

/// Checks programs nested `depth` deep, for some seeds.
fn nests(depth: u32, check: fn(u64, u32)) {
    for seed in 0..programs().min(2000) / 10 {
        if let Err(e) = catch_unwind(AssertUnwindSafe(|| check(seed, depth))) {
            eprintln!("the nest of seed {seed}");
            std::panic::resume_unwind(e);
        }
    }
}

#[test]
fn deep_nests_are_differentiated() {
    nests(20, |seed, depth| {
        let (p, f, x) = common::deep::program(seed, depth);
        common::check_at("nest", p, f, &x, &UnzipPlan::store_all(), Segments::None, false);
    });
}

#[test]
fn code_grows_linearly_with_the_depth_of_nests() {
    nests(24, |seed, depth| {
        let made = |depth: u32| {
            let (mut p, f, x) = common::deep::program(seed, depth);
            let before = size(&p, f);
            Ad::new()
                .linearize_with(&mut p, f, &vec![true; x.len()], &UnzipPlan::store_all())
                .unwrap_or_else(|e| panic!("{}", e.why));
            let after: usize = (0..p.funcs.len()).map(|k| size(&p, FnId(k as u32))).sum();
            (before, after - before)
        };
        let ((n0, m0), (n1, m1), (n2, m2)) = (made(depth), made(2 * depth), made(4 * depth));
        let grows = |n: usize, m: usize| m as f64 / n as f64;
        let (first, second) = (grows(n1 - n0, m1 - m0), grows(n2 - n1, m2 - m1));
        assert!(second <= 1.25 * first, "{first:.1} nodes for each of {n0}..{n1}, {second:.1} for each of {n1}..{n2}");
    });
}

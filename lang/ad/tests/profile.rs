//! Profiles must predict what happens: the exact bytes of residuals and the repeated work. Gradients must have the
//! same bits.

use crate::common;

use adl_ad::Ad;
use adl_ad::profile::{Count, Forecast};
use adl_ad::segment::Segments;
use adl_ad::unzip::UnzipPlan;
use adl_ir::eval::{Val, run};
use adl_ir::{FnId, Program, Ty};
use common::programs::PROGRAMS;
use common::{Rng, input};
use std::collections::BTreeSet;

fn program(name: &str, text: &str) -> Program {
    adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Bytes of a residual. Data and text count as references, but the boxes of recursive functions are opened.
fn bytes(p: &Program, v: &Val, ty: &Ty) -> u64 {
    match (v, ty) {
        (Val::SymbolicZero, Ty::Array(..)) => 0,
        (Val::Array(a), Ty::Array(e, _)) => a.elems.iter().map(|v| bytes(p, v, e)).sum(),
        (Val::Data(c), Ty::Data(d)) if p.data(*d).name.starts_with("Residuals of") => {
            8 + c.fields.iter().zip(&p.data(*d).cons[c.tag as usize].1).map(|(v, t)| bytes(p, v, t)).sum::<u64>()
        }
        (_, Ty::F32) => 4,
        (_, Ty::Bool) => 1,
        _ => 8,
    }
}

struct Case {
    p: Program,
    ad: Ad,
    f: FnId,
    x: Vec<Val>,
}

/// A function with arguments.
type Given = (Program, FnId, Vec<Val>);

fn given(name: &str, text: &str) -> Given {
    let p = program(name, text);
    let f = FnId(p.funcs.len() as u32 - 1);
    let mut rng = Rng::new(11);
    let x = p.func(f).tys(&p.func(f).body.params).iter().map(|t| input(&mut rng, t)).collect();
    (p, f, x)
}

fn case((mut p, f, x): Given, how: Segments) -> Case {
    let mut ad = Ad::new();
    let f = ad.segmented(&mut p, f, how);
    Case { p, ad, f, x }
}

impl Case {
    fn forecast(&mut self, name: &str, plan: &UnzipPlan) -> Forecast {
        let wrt = vec![true; self.x.len()];
        let j = self.ad.jvp(&mut self.p, self.f, &wrt).unwrap_or_else(|e| panic!("{name}: {}", e.why));
        let made = self.ad.profile(&mut self.p, j.func).unwrap_or_else(|e| panic!("{name}: {}", e.why));
        let out = run(&self.p, made.func, &self.x, &[]).unwrap_or_else(|e| panic!("{name}: {e}")).results;
        let counts: Vec<i64> = out[made.results..]
            .iter()
            .map(|v| if let Val::I64(n) = v { *n } else { panic!("{name}: no count") })
            .collect();
        let counted = made.counted(&counts);
        assert!(counted.counts.contains_key(&Count::Again));
        self.ad.forecast(&mut self.p, j.func, plan, &counted).unwrap_or_else(|e| panic!("{name}: {}", e.why))
    }

    /// Actual bytes of the residuals, and the gradient at a fixed cotangent.
    fn really(&mut self, name: &str, plan: &UnzipPlan) -> (u64, Vec<Val>) {
        let wrt = vec![true; self.x.len()];
        let linearized =
            self.ad.linearize_with(&mut self.p, self.f, &wrt, plan).unwrap_or_else(|e| panic!("{name}: {}", e.why));
        let out = run(&self.p, linearized.primal, &self.x, &[]).unwrap_or_else(|e| panic!("{name}: {e}")).results;
        let tys = self.p.func(linearized.primal).tys(&self.p.func(linearized.primal).body.results);
        let stored = out.iter().zip(&tys).skip(linearized.results).map(|(v, t)| bytes(&self.p, v, t)).sum();
        let mut rng = Rng::new(5);
        let cts: Vec<Val> = out[..linearized.results]
            .iter()
            .zip(&tys)
            .zip(&linearized.active)
            .filter(|(_, a)| **a)
            .map(|((v, t), _)| like(&mut rng, v, t))
            .collect();
        let cx = run(&self.p, linearized.cotangent, &[&out[linearized.results..], &cts].concat(), &[])
            .unwrap_or_else(|e| panic!("{name}: {e}"))
            .results;
        (stored, cx)
    }
}

fn like(rng: &mut Rng, v: &Val, ty: &Ty) -> Val {
    match v {
        Val::Array(a) => Val::Array(std::rc::Rc::new(adl_ir::eval::Arr {
            shape: a.shape.clone(),
            elems: a.elems.iter().map(|e| like(rng, e, ty.scalar())).collect(),
        })),
        Val::F32(_) => Val::F32(rng.unit() as f32),
        Val::F64(_) => Val::F64(rng.unit()),
        _ => Val::zero(ty),
    }
}

impl Case {
    /// Work and peak bytes of checkpoints of a half, by its metered function; must agree with the evaluator's counts.
    fn took(
        &mut self,
        what: &str,
        f: FnId,
        args: &[Val],
        boxes: &BTreeSet<adl_ir::DataId>,
    ) -> Option<(Vec<Val>, u64, u64)> {
        let metered = self.ad.metered(&mut self.p, f, boxes).ok()?;
        let mut out = run(&self.p, metered, args, &[]).unwrap_or_else(|e| panic!("{what}: {e}")).results;
        let took = out.split_off(self.p.func(f).body.results.len());
        let number = |v: &Val| if let Val::I64(n) = v { *n as u64 } else { panic!("{what}: no count") };
        Some((out, number(&took[0]), number(&took[1])))
    }

    /// The cost of a plan beyond executing everything once: work and peak bytes; `None` if it cannot be metered.
    fn extra(&mut self, what: &str, plan: &UnzipPlan, whole: &mut Case) -> Option<(u64, u64)> {
        let wrt = vec![true; self.x.len()];
        let jvp = self.ad.jvp(&mut self.p, self.f, &wrt).unwrap();
        let unzipped = self.ad.unzip(&mut self.p, jvp.func, plan).unwrap();
        let back = self.ad.transpose(&mut self.p, unzipped.linear).unwrap();
        let boxes = self.ad.all_boxes(&mut self.p, jvp.func, plan).unwrap();
        let point = self.x.clone();
        let (out, forwards, _) = self.took(what, unzipped.primal, &point, &boxes)?;
        let counted = run(&self.p, unzipped.primal, &point, &[]).unwrap().counts.non_linear;
        // Moving data counts as one number in one model, and as all its numbers in the other.
        assert!(
            forwards.abs_diff(counted) <= 2 + counted / 50,
            "{what}: forwards {forwards} metered, {counted} counted"
        );
        let tys = self.p.func(unzipped.primal).tys(&self.p.func(unzipped.primal).body.results);
        let stored: u64 = out.iter().zip(&tys).skip(unzipped.results).map(|(v, t)| bytes(&self.p, v, t)).sum();
        let (_, reverse, peak) = self.took(what, back, &out[unzipped.results..], &boxes)?;
        let once = {
            let j = whole.ad.jvp(&mut whole.p, whole.f, &wrt).unwrap();
            whole.took(what, j.func, &point, &boxes)?.1
        };
        Some(((forwards + reverse).saturating_sub(once), stored + peak))
    }
}

/// Plans that differ as much as possible.
fn plans(rows: &[adl_ad::profile::ResidualRow], seed: u64) -> Vec<UnzipPlan> {
    let mut rng = Rng::new(seed);
    let mut out = vec![UnzipPlan::store_all(), UnzipPlan::recompute_all()];
    for _ in 0..3 {
        let store: BTreeSet<_> =
            rows.iter().filter(|r| !r.residual.movable || rng.unit() < 0.5).map(|r| r.residual.at).collect();
        out.push(UnzipPlan::storing(store, rows.iter().map(|r| r.residual.at.0).collect()));
    }
    out
}

fn check(name: &str, make: impl Fn() -> Given, seed: u64) {
    let (mut first, mut places) = (None, None);
    for how in [Segments::None, Segments::Sqrt, Segments::Partial(77), Segments::Revolve(2)] {
        let rows = case(make(), how).forecast(name, &UnzipPlan::store_all()).rows;
        for plan in plans(&rows, seed) {
            let what = format!("{name} under {how:?} {plan:?}");
            let mut c = case(make(), how);
            let told = c.forecast(&what, &plan);
            let (stored, gradient) = c.really(&what, &plan);
            assert_eq!(told.stored, stored, "{what}: bytes\n{:#?}", told.rows);
            let before = first.get_or_insert_with(|| gradient.clone());
            assert_eq!(*before, gradient, "{what}: the gradient");
            // Segmented loops are tested with the plan that stores everything.
            if how != Segments::None && plan != UnzipPlan::store_all() {
                continue;
            }
            let mut whole = case(make(), Segments::None);
            if let Some((again, peak)) = case(make(), how).extra(&what, &plan, &mut whole) {
                // The prediction for checkpoints assumes that they store everything.
                assert!(
                    told.peak == peak || plan != UnzipPlan::store_all(),
                    "{what}: {} bytes at most foretold, {peak} at most there",
                    told.peak
                );
                let once = whole.forecast(&what, &UnzipPlan::store_all()).work;
                // Where T emits gathers, it also computes the positions, which is not predicted.
                let told = (told.again + told.work).saturating_sub(once);
                let computed = *places.get_or_insert(again.saturating_sub(told));
                let told = told + computed;
                let slack = if name == "small" { again } else { again / 20 };
                assert!(
                    told.abs_diff(again) <= 8 + slack || computed > 20,
                    "{what}: {told} foretold, {again} done again"
                );
            }
        }
    }
}

#[test]
fn forecasts_of_bytes_are_exact() {
    for (k, (name, text)) in PROGRAMS.iter().enumerate() {
        check(name, || given(name, text), k as u64);
    }
}

#[test]
fn forecasts_for_deep_nests_are_exact() {
    for seed in 0..40 {
        check("nest", || common::deep::program(seed, 12 + (seed % 9) as u32), seed);
    }
}

#[test]
fn forecasts_for_generated_programs_are_exact() {
    let count: u64 = std::env::var("ADL_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(500);
    for seed in 0..count / 8 {
        let size = 6 + (seed % 40) as usize;
        let at = |size| {
            move || {
                let g = adl_ir::generate::program(seed, size);
                (g.program, g.main, g.args)
            }
        };
        let fails = |g: &adl_ir::generate::Generated| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check("small", at(g.size), seed))).is_err()
        };
        if fails(&adl_ir::generate::program(seed, size)) {
            let text = adl_ir::generate::smallest(seed, size, fails).map(|g| {
                format!("size {}:\n{}", g.size, adl_ir::print::program(&g.program, adl_ir::print::Style::PLAIN))
            });
            panic!("seed {seed} fails, at {}", text.unwrap_or_default());
        }
    }
}

/// A chain of `n` functions, each with two counters of its own and those of its callees.
fn chain(n: usize) -> Program {
    let mut text = "fn f0 last (v0: f64) -> (f64) { v1: f64 = sin v0 return v1 }\n".to_owned();
    for k in 1..n {
        text += &format!(
            "fn f{k} link (v0: f64) -> (f64) {{ v1: f64 = 0.5 v2: bool = gt v0 v1 v3: f64 = if v2 {{ v4: f64 = \
             call f{}(v0) return v4 }} else {{ return v0 }} return v3 }}\n",
            k - 1
        );
    }
    program("chain", &text)
}

#[test]
fn a_profile_whose_size_grows_with_the_square_of_the_program_is_refused() {
    for (n, fits) in [(40, true), (400, false)] {
        let mut p = chain(n);
        let f = FnId(p.funcs.len() as u32 - 1);
        let made = Ad::new().profile(&mut p, f);
        match made {
            Ok(_) => assert!(fits, "{n}"),
            Err(e) => assert!(!fits && e.why.contains("too many counters"), "{n}: {}", e.why),
        }
    }
}

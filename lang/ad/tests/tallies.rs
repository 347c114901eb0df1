//! What each transformation makes of many programs, in numbers of operations: the small programs of these tests, random
//! ones, and all rows of the table of operations. `UPDATE=1` rewrites `tests/snapshots/tallies.txt`. A rule that makes
//! more than it did, or stores more, shows here; the other snapshots show how.

use crate::common;

use adl_ad::Ad;
use adl_ad::segment::Segments;
use adl_ad::unzip::UnzipPlan;
use adl_ir::generate::{self, maps, rows};
use adl_ir::print::{self, Style};
use adl_ir::{FnId, Program, Ty};
use common::rules::has_derivative;
use common::tally::Tally;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Functions whose tallies are added up, with the programs that they belong to.
type TalliedFunctions = Vec<(Program, FnId)>;

/// A program as text; its last function is differentiated.
fn parsed(text: &str) -> (Program, FnId) {
    let p = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let last = FnId(p.funcs.len() as u32 - 1);
    (p, last)
}

/// The programs by the name under which their tallies are recorded.
fn groups() -> BTreeMap<String, TalliedFunctions> {
    let mut all = BTreeMap::new();
    let small = common::programs::PROGRAMS.iter().map(|(_, text)| parsed(text));
    let nests = (200..240).map(|seed| parsed(&common::nests::text(seed)));
    let sums = (200..260).map(|seed| parsed(&common::nests::bracketed(seed)));
    let vectors = (0..40).map(|k| maps::program(2000 + k, 3 + k as usize % 8)).map(|c| (c.program, c.main));
    let mixed = (0..40).map(|k| generate::program(2000 + k, 6 + (k % 40) as usize)).map(|g| (g.program, g.main));
    let deep = (0..6).map(|seed| common::deep::program(seed, 6)).map(|(p, f, _)| (p, f));
    // Deep enough for arms with numbers.
    let deeper = (0..6).map(|seed| common::deep::program(seed, 11)).map(|(p, f, _)| (p, f));
    let chains = (0..40)
        .map(|seed| rows::chain(2000 + seed, 4 + seed as usize % 9, &Ty::F64, has_derivative))
        .map(|c| (c.program, c.main));
    let named: [(&str, TalliedFunctions); 8] = [
        ("small", small.collect()),
        ("nests", nests.collect()),
        ("bracketed", sums.collect()),
        ("maps", vectors.collect()),
        ("mixed", mixed.collect()),
        ("deep", deep.collect()),
        ("deeper", deeper.collect()),
        ("chains", chains.collect()),
    ];
    all.extend(named.map(|(name, group)| (name.to_owned(), group)));
    let cases = rows::instances(&Ty::F64).into_iter().filter(|case| case.op().is_some_and(has_derivative));
    for case in cases {
        all.entry(format!("rows of {}", case.name)).or_insert_with(Vec::new).push((case.program, case.main));
    }
    all
}

/// What is made of a function in some way: functions by the name of their stage.
struct StageFunctions {
    program: Program,
    stages: Vec<(&'static str, FnId)>,
}

/// The stages of both modes.
fn stages(program: &Program, func_id: FnId, plan: &UnzipPlan, how: Segments, optimise: bool) -> Option<StageFunctions> {
    let (mut copy, mut ad) = (program.clone(), Ad::new());
    ad.optimise = optimise;
    let segmented = ad.segmented(&mut copy, func_id, how);
    let wrt = vec![true; copy.func(segmented).body.params.len()];
    let jvp = ad.jvp(&mut copy, segmented, &wrt).ok()?;
    let u = ad.unzip(&mut copy, jvp.func, plan).ok()?;
    let back = ad.transpose(&mut copy, u.linear).ok()?;
    let mut stages = vec![("jvp", jvp.func), ("primal", u.primal), ("linear", u.linear), ("transpose", back)];
    if let Ok(again) = ad.transpose(&mut copy, back) {
        stages.push(("transposed twice", again));
    }
    for (name, linear) in [("directions", u.linear), ("transposed directions", back)] {
        stages.extend(ad.batch(&mut copy, linear).ok().map(|g| (name, g)));
    }
    stages.extend(ad.structure(&mut copy, u.linear).map(|s| ("structure", s.func)));
    stages.extend(ad.profile(&mut copy, jvp.func).ok().map(|profile| ("profile", profile.func)));
    let erased = ad.linearize_with(&mut copy, segmented, &wrt, plan).ok()?;
    stages.extend([("optimised primal", erased.primal), ("optimised transpose", erased.cotangent)]);
    Some(StageFunctions { program: copy, stages })
}

/// The plans, ways to store states, and whether the optimiser runs in between.
fn ways() -> Vec<(&'static str, UnzipPlan, Segments, bool)> {
    let stored = UnzipPlan::store_all;
    vec![
        ("stored", stored(), Segments::None, false),
        ("optimised", stored(), Segments::None, true),
        ("recomputed", UnzipPlan::recompute_all(), Segments::None, true),
        ("segments", stored(), Segments::Sqrt, false),
        ("part in segments", stored(), Segments::Partial(64), false),
        ("revolve", stored(), Segments::Revolve(3), false),
    ]
}

#[test]
fn transformations_make_as_many_operations_as_recorded() {
    let mut text = String::new();
    for (name, group) in groups() {
        let mut tallies: BTreeMap<(usize, &str), Tally> = BTreeMap::new();
        // Plans and segments are about programs.
        let all = ways();
        let ways = match name.as_str() {
            "deeper" => &all[..2],
            _ if name.starts_with("rows of") => &all[1..2],
            _ => &all[..],
        };
        for (program, f) in &group {
            for (way, (_, plan, how, optimise)) in ways.iter().enumerate() {
                let Some(made) = stages(program, *f, plan, *how, *optimise) else { continue };
                for (stage, g) in made.stages {
                    let tally = tallies.entry((way, stage)).or_default();
                    let func = made.program.func(g);
                    tally.count(&print::function(&made.program, func, Style::PLAIN));
                    tally.add("results", (func.body.results.len() + func.body.lin_results.len()) as i64);
                }
            }
        }
        _ = writeln!(text, "{name}");
        for ((way, stage), tally) in &tallies {
            // Only what differs from the first way.
            let first = tallies.get(&(0, *stage)).filter(|_| *way > 0);
            let shown = first.map_or_else(|| tally.clone(), |first| tally.since(first));
            if shown != Tally::default() {
                _ = writeln!(text, "  {}, {stage}: {shown}", ways[*way].0);
            }
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/tallies.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = text.lines().zip(recorded.lines()).find(|(x, y)| x != y);
    assert!(text == recorded, "{} differs: {differs:?}", path.display());
}

//! What each pass and pipeline makes of many programs, in numbers of operations: the programs of `tests/passes`, random
//! ones, and derivatives. `UPDATE=1` rewrites `tests/passes/tallies.txt`. A pass that does less than it did, or more,
//! shows here; its own programs in `tests/passes` show how.

use crate::common;
use crate::steps;

use adl_ad::Ad;
use adl_ad::unzip::UnzipPlan;
use adl_ir::generate::{self, maps, rows};
use adl_ir::print::{self, Style};
use adl_ir::{FnId, Program, Ty, Zeros};
use adl_opt::PipelineStep::{self, All};
use adl_opt::pipelines;
use common::tally::Tally;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Functions whose tallies are added up, with the programs that they belong to.
type TalliedFunctions = Vec<(Program, FnId)>;

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes")
}

/// All functions of a program as text.
fn parsed(text: &str) -> TalliedFunctions {
    let p = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    (0..p.funcs.len() as u32).map(|f| (p.clone(), FnId(f))).collect()
}

/// The two halves of the derivative of a function, in reverse mode; nothing for a function without a derivative.
fn halves(program: &Program, f: FnId, plan: &UnzipPlan) -> TalliedFunctions {
    let (mut p, mut ad) = (program.clone(), Ad::new());
    ad.optimise = true;
    let wrt = vec![true; p.func(f).body.params.len()];
    match ad.linearize_with(&mut p, f, &wrt, plan) {
        Ok(made) => [made.primal, made.tangent, made.cotangent].map(|f| (p.clone(), f)).to_vec(),
        Err(_) => TalliedFunctions::new(),
    }
}

fn derivatives(group: &TalliedFunctions) -> TalliedFunctions {
    group.iter().flat_map(|(p, f)| halves(p, *f, &UnzipPlan::store_all())).collect()
}

/// The programs that passes run on, by the name under which their tallies are recorded.
fn groups() -> BTreeMap<String, TalliedFunctions> {
    let mut all = BTreeMap::new();
    let files = std::fs::read_dir(dir()).unwrap().map(|e| e.unwrap().path());
    for file in files.filter(|p| p.extension().is_some_and(|e| e == "ir")) {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        all.insert(name, parsed(&std::fs::read_to_string(&file).unwrap()));
    }
    for (what, scalar) in [("floats", Ty::F64), ("ints", Ty::I64), ("narrow floats", Ty::F32)] {
        let chain = |seed: u64| rows::chain(1000 + seed, 3 + seed as usize % 12, &scalar, |_| true);
        all.insert(format!("chains of {what}"), (0..30).map(chain).map(|c| (c.program, c.main)).collect());
    }
    let vectors: TalliedFunctions =
        (0..40).map(|k| maps::program(1000 + k, 3 + k as usize % 8)).map(|c| (c.program, c.main)).collect();
    let mixed: TalliedFunctions =
        (0..25).map(|k| generate::program(1000 + k, 6 + (k % 40) as usize)).map(|g| (g.program, g.main)).collect();
    let nests: TalliedFunctions = (100..120)
        .flat_map(|seed| [common::nests::text(seed), common::nests::bracketed(seed)])
        .flat_map(|text| parsed(&text))
        .collect();
    let small: TalliedFunctions =
        common::programs::PROGRAMS.iter().map(|(_, text)| parsed(text)).filter_map(|mut all| all.pop()).collect();
    for (name, group) in [("maps", vectors), ("mixed", mixed), ("nests", nests), ("small", small)] {
        all.insert(format!("{name}, derivatives"), derivatives(&group));
        all.insert(name.to_owned(), group);
    }
    all
}

/// The tally of each function of a group.
fn tallies(group: &TalliedFunctions) -> Vec<Tally> {
    let of = |(program, f): &(Program, FnId)| Tally::of(&print::function(program, program.func(*f), Style::PLAIN));
    group.iter().map(of).collect()
}

/// What some steps change in the tally of a group, whose functions have these tallies.
fn change(group: &TalliedFunctions, tallies: &[Tally], steps: &[PipelineStep], zeros: Zeros) -> Tally {
    let mut change = Tally::default();
    for ((program, f), before) in group.iter().zip(tallies) {
        let func = program.func(*f);
        let mut made = (**func).clone();
        adl_opt::run(steps, program, &mut made, zeros);
        // Most passes find nothing to do in most functions.
        if made != **func {
            change.add_all(&Tally::of(&print::function(program, &made, Style::PLAIN)).since(before));
        }
    }
    change.since(&Tally::default())
}

#[test]
fn passes_make_as_many_operations_as_recorded() {
    let mut text = String::new();
    for (name, group) in groups() {
        let before = tallies(&group);
        let mut all = Tally::default();
        before.iter().for_each(|tally| all.add_all(tally));
        _ = writeln!(text, "{name}: {all}");
        let device = [All(pipelines::INLINED), All(pipelines::FOR_DEVICE), All(pipelines::VECTORS)];
        for (pass, steps) in steps::all().into_iter().chain([("DEVICE".to_owned(), device.into())]) {
            let [materialized, symbolic] =
                [Zeros::Materialized, Zeros::Symbolic].map(|zeros| change(&group, &before, &steps, zeros));
            if materialized != Tally::default() {
                _ = writeln!(text, "  {pass}: {materialized}");
            }
            if symbolic != materialized {
                _ = writeln!(text, "  {pass}, symbolic zeros: {symbolic}");
            }
        }
    }
    let path = dir().join("tallies.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = text.lines().zip(recorded.lines()).find(|(x, y)| x != y);
    assert!(text == recorded, "{} differs: {differs:?}", path.display());
}

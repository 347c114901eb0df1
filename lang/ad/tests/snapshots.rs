//! What J, U and T make, as text: of the small programs of these tests, and of random comprehensions. `UPDATE=1` rewrites
//! the files in `tests/snapshots`. A rule that makes more than it did, or stores more, shows here first.

use crate::common;

use adl_ad::Ad;
use adl_ad::unzip::UnzipPlan;
use adl_ir::print::{Style, function};
use adl_ir::{FnId, Program};
use common::programs::PROGRAMS;
use std::path::Path;

/// The primal half and the transposed linear half of the last function.
fn halves(name: &str, text: &str, plan: &UnzipPlan) -> String {
    let mut p: Program = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{name}: {e}"));
    let (f, mut ad) = (FnId(p.funcs.len() as u32 - 1), Ad::new());
    let wrt = vec![true; p.func(f).body.params.len()];
    let made = ad.jvp(&mut p, f, &wrt).and_then(|j| {
        let unzipped = ad.unzip(&mut p, j.func, plan)?;
        Ok((unzipped.primal, ad.transpose(&mut p, unzipped.linear)?))
    });
    match made {
        Ok((primal, back)) => [primal, back].map(|f| function(&p, p.func(f), Style::PLAIN)).join("\n"),
        Err(e) => format!("{}\n", e.why),
    }
}

fn compare(file: &str, texts: &[(String, String)], plan: &UnzipPlan) {
    let made = texts.iter().map(|(name, text)| format!("-- {name}\n{}\n", halves(name, text, plan)));
    let made: String = made.collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(file);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    let first = made.lines().zip(recorded.lines()).position(|(x, y)| x != y);
    assert!(made == recorded, "{file} differs from line {first:?} on");
}

#[test]
fn halves_of_small_programs_are_as_recorded() {
    let texts: Vec<_> = PROGRAMS.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    compare("programs.out", &texts, &UnzipPlan::store_all());
}

#[test]
fn halves_of_comprehensions_are_as_recorded() {
    let texts: Vec<_> = (0..24).map(|seed| (format!("nest {seed}"), common::nests::text(seed))).collect();
    compare("nests.out", &texts, &UnzipPlan::store_all());
    compare("nests_recomputed.out", &texts[..6], &UnzipPlan::recompute_all());
}

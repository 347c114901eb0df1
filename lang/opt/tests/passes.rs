//! Golden tests of single passes, as text.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use adl_ir::print::{self, Style};
use adl_ir::{Function, Program};
use adl_opt::fuse::For;
use std::collections::HashSet;
use std::path::Path;

type Pass = fn(&Program, &mut Function);

const PASSES: &[(&str, Pass)] = &[
    ("simplify", |_, f| adl_opt::simplify::simplify(f)),
    ("cse", |_, f| adl_opt::simplify::simplify(f)),
    ("hoist", |_, f| adl_opt::hoist::hoist(f, &HashSet::new())),
    ("shapes", |_, f| {
        let safe = adl_opt::shapes::known(f);
        adl_opt::hoist::hoist(f, &safe);
    }),
    ("scalars", |_, f| {
        adl_opt::scalar_replacement::scalars(f, adl_opt::scalar_replacement::Sums::Written);
        adl_opt::simplify::simplify(f);
        adl_ad::dce::remove_dead(f);
    }),
    ("dead", |_, f| adl_ad::dce::remove_dead(f)),
    ("fuse", |_, f| _ = adl_opt::fuse::fuse(f, For::Any)),
    ("fuse_native", |_, f| _ = adl_opt::fuse::fuse(f, For::Native)),
    ("elements", |_, f| _ = adl_opt::index_pushdown::elements(f, adl_opt::index_pushdown::Order::Free)),
    ("interchange", |_, f| _ = adl_opt::interchange::interchange(f)),
    ("pointwise", |_, f| {
        adl_opt::pointwise::pointwise(f);
        adl_opt::fuse::fuse(f, For::Native);
        adl_ad::dce::remove_dead(f);
    }),
    ("device", |p, f| {
        adl_opt::finish_for_device(p, f);
        adl_opt::device::vectors(p, f);
    }),
    ("terms", |_, f| adl_opt::sum_order::terms(f)),
    ("contract", |_, f| _ = adl_opt::contract::contract(f)),
    ("rows", |_, f| {
        adl_opt::row_of_row::rows(f);
        adl_ad::dce::remove_dead(f);
    }),
    ("direct", |_, f| adl_opt::row_element::read_elements_directly(f)),
    ("inline", adl_opt::inline::inline),
    ("finish", adl_opt::finish),
];

/// Applies the pass `NAME` to `NAME.ir` and compares with `NAME.out`. `UPDATE=1` rewrites the latter.
#[test]
fn passes_change_text_as_recorded() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes");
    for (name, pass) in PASSES {
        let read = |end: &str| std::fs::read_to_string(dir.join(format!("{name}.{end}"))).unwrap_or_default();
        let p = adl_ir::parse::program(&read("ir")).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut out = String::new();
        for f in &p.funcs {
            adl_ir::verify(&p, f).unwrap_or_else(|e| panic!("{name}: {} {e:?}", f.name));
            let mut made = (**f).clone();
            pass(&p, &mut made);
            adl_ir::verify(&p, &made).unwrap_or_else(|e| panic!("{name}: {} {e:?}", f.name));
            out += &print::function(&p, &made, Style::PLAIN);
            out += "\n";
        }
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(dir.join(format!("{name}.out")), &out).unwrap_or_else(|e| panic!("{e}"));
        }
        assert_eq!(out, read("out"), "{name}");
    }
}

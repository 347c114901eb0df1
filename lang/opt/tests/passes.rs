//! Golden tests of single passes, as text.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use adl_ir::Zeros;
use adl_ir::print::{self, Style};
use adl_opt::Step::{self, All, Run};
use adl_opt::pipelines::*;
use std::path::Path;

/// Pipelines by the name of their file. Arrays count as materialised.
const PIPELINES: &[(&str, &[Step])] = &[
    ("simplify", &[Run(&SIMPLIFY)]),
    ("cse", &[Run(&SIMPLIFY)]),
    ("hoist", &[Run(&HOIST)]),
    ("shapes", &[Run(&HOIST)]),
    ("scalars", &[Run(&SCALARS_WRITTEN), Run(&SIMPLIFY), Run(&DEAD)]),
    ("dead", &[Run(&DEAD)]),
    ("fuse", &[Run(&FUSE)]),
    ("fuse_native", &[Run(&FUSE_NATIVE)]),
    ("elements", &[Run(&PUSHDOWN)]),
    ("interchange", &[Run(&INTERCHANGE)]),
    ("pointwise", &[Run(&POINTWISE_LOOPS), Run(&FUSE_NATIVE), Run(&DEAD)]),
    ("device", &[All(FOR_DEVICE), All(VECTORS)]),
    ("terms", &[Run(&TERMS)]),
    ("contract", &[Run(&CONTRACT)]),
    ("rows", &[Run(&ROWS), Run(&DEAD)]),
    ("direct", &[Run(&ROW_ELEMENTS)]),
    ("inline", &[Run(&INLINE)]),
    ("finish", &[All(INLINED), All(FINISH)]),
];

/// Pipelines whose arrays may be symbolic zeros.
const SYMBOLIC: [&str; 3] = ["hoist", "device", "finish"];

/// Applies the pass `NAME` to `NAME.ir` and compares with `NAME.out`. `UPDATE=1` rewrites the latter.
#[test]
fn passes_change_text_as_recorded() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes");
    for (name, pipeline) in PIPELINES {
        let read = |end: &str| std::fs::read_to_string(dir.join(format!("{name}.{end}"))).unwrap_or_default();
        let p = adl_ir::parse::program(&read("ir")).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut out = String::new();
        for f in &p.funcs {
            adl_ir::verify(&p, f).unwrap_or_else(|e| panic!("{name}: {} {e:?}", f.name));
            let mut made = (**f).clone();
            let zeros = if SYMBOLIC.contains(name) { Zeros::Symbolic } else { Zeros::Materialized };
            adl_opt::run(pipeline, &p, &mut made, zeros);
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

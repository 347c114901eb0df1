//! Golden tests of single passes, as text.

use adl_ir::Zeros;
use adl_ir::print::{self, Style};
use adl_opt::PipelineStep::{self, All, Run};
use adl_opt::pipelines::*;
use std::path::Path;

/// Pipelines by the name of their output, and the name of the file of programs if it is another. Arrays count as
/// materialised.
const PIPELINES: &[(&str, &str, &[PipelineStep])] = &[
    ("simplify", "", &[Run(&SIMPLIFY)]),
    ("cse", "", &[Run(&SIMPLIFY)]),
    ("hoist", "", &[Run(&HOIST)]),
    ("shapes", "", &[Run(&HOIST)]),
    ("scalars", "", &[Run(&SCALARS_WRITTEN), Run(&SIMPLIFY), Run(&DEAD)]),
    ("scalars_kept", "scalars", &[Run(&SCALARS), Run(&SIMPLIFY), Run(&DEAD)]),
    ("scalars_ordered", "", &[Run(&SCALARS_ORDERED), Run(&SIMPLIFY), Run(&DEAD)]),
    ("scalars_device", "scalars", &[Run(&SCALARS_DEVICE), Run(&SIMPLIFY), Run(&DEAD)]),
    ("dead", "", &[Run(&DEAD)]),
    ("fuse", "", &[Run(&FUSE)]),
    ("fuse_native", "", &[Run(&FUSE_NATIVE)]),
    ("fuse_device", "fuse", &[Run(&FUSE_DEVICE)]),
    ("elements", "", &[Run(&PUSHDOWN)]),
    ("elements_ordered", "elements", &[Run(&PUSHDOWN_ORDERED)]),
    ("interchange", "", &[Run(&INTERCHANGE)]),
    ("interchange_device", "interchange", &[Run(&INTERCHANGE_DEVICE)]),
    ("flatten", "", &[Run(&FLATTEN)]),
    ("split", "", &[Run(&SPLIT)]),
    ("pointwise", "", &[Run(&POINTWISE_LOOPS), Run(&FUSE_NATIVE), Run(&DEAD)]),
    ("device", "", &[All(FOR_DEVICE), All(VECTORS)]),
    ("device_maps", "fuse", &[All(FOR_DEVICE), All(VECTORS)]),
    ("sides", "", &[Run(&SIDES)]),
    ("diagonals", "", &[Run(&DIAGONALS), All(CLEANUP)]),
    ("diagonals_differentiated", "diagonals", &[Run(&DIAGONALS_DIFFERENTIATED), All(CLEANUP)]),
    ("terms", "", &[Run(&TERMS)]),
    ("contract", "", &[Run(&CONTRACT)]),
    ("contract_matrices", "contract", &[Run(&CONTRACT_MATRICES), All(CLEANUP)]),
    ("loop_rows", "", &[Run(&LOOP_ROWS)]),
    ("sums", "", &[Run(&SUMS)]),
    ("vector_products", "", &[Run(&VECTOR_PRODUCTS)]),
    ("updated_zeros", "", &[Run(&UPDATED_ZEROS)]),
    ("products", "", &[Run(&PRODUCTS)]),
    ("products_ordered", "products", &[Run(&PRODUCTS_ORDERED)]),
    ("short_rows", "", &[Run(&SHORT_ROWS)]),
    ("rows", "", &[Run(&ROWS), Run(&DEAD)]),
    ("inline", "", &[Run(&INLINE)]),
    ("inline_all", "inline", &[Run(&INLINE_ALL)]),
    ("finish", "", &[All(INLINED), All(FINISH)]),
];

/// Pipelines whose arrays may be symbolic zeros.
const SYMBOLIC: [&str; 5] = ["hoist", "device", "device_maps", "finish", "updated_zeros"];

/// Applies pipelines to files `NAME.ir` and compares with `NAME.out`. `UPDATE=1` rewrites the latter.
#[test]
fn passes_change_text_as_recorded() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes");
    for (name, input, pipeline) in PIPELINES {
        let input = if input.is_empty() { name } else { input };
        let read =
            |file: &str, end: &str| std::fs::read_to_string(dir.join(format!("{file}.{end}"))).unwrap_or_default();
        let p = adl_ir::parse::program(&read(input, "ir")).unwrap_or_else(|e| panic!("{name}: {e}"));
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
        assert_eq!(out, read(name, "out"), "{name}");
    }
}

/// The passes of a pipeline.
fn passes(steps: &[PipelineStep], out: &mut Vec<&'static str>) {
    for step in steps {
        match step {
            Run(pass) | PipelineStep::Materialized(pass) => out.push(pass.name),
            PipelineStep::Then(first, steps) => {
                out.extend(first.iter().map(|pass| pass.name));
                passes(steps, out);
            }
            PipelineStep::Rounds(pass, steps) => {
                out.push(pass.name);
                passes(steps, out);
            }
            All(steps) => passes(steps, out),
        }
    }
}

/// A new pass needs programs: one that it changes at least.
#[test]
fn each_pass_has_programs_of_its_own() {
    let mut shown = Vec::new();
    for (_, _, pipeline) in PIPELINES {
        if let [Run(_), ..] = pipeline {
            passes(&pipeline[..1], &mut shown);
        } else {
            passes(pipeline, &mut shown);
        }
    }
    let missing: Vec<&str> = PASSES.iter().map(|pass| pass.name).filter(|name| !shown.contains(name)).collect();
    assert_eq!(missing, [""; 0]);
}

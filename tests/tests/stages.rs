//! Stages of functions: the text of every stage of every function of the examples, programs and benchmarks reads back as a
//! program that holds, and has the operations that `stages.txt` records. `UPDATE=1` rewrites it.

#[path = "../../lang/ad/tests/common/tally.rs"]
mod tally;

use adl_ad::Ad;
use adl_ir::print::{Style, function};
use adl_ir::verify::verify_program;
use adl_ir::{Program, Zeros};
use adl_opt::PipelineStep::All;
use adl_opt::pipelines::{COMPILED, FINISH, FOR_DEVICE, INLINED, NATIVE, POINTWISE, SMALL, VECTORS};
use adl_session::Session;
use adl_tests::session;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tally::Tally;

/// Names that a text defines at top level.
fn names(text: &str) -> Vec<String> {
    let defined = |l: &str| {
        l.strip_prefix("let ").map(|r| {
            r.trim_start_matches("rec ")
                .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '\'')
                .next()
                .unwrap_or("")
                .to_owned()
        })
    };
    let mut all: Vec<String> = text.lines().filter_map(defined).filter(|n| !n.is_empty() && n != "_").collect();
    all.dedup();
    all
}

fn files() -> Vec<PathBuf> {
    let list = |dir: &str| std::fs::read_dir(adl_tests::root().join(dir)).unwrap().map(|e| e.unwrap().path());
    let mut all: Vec<PathBuf> = ["examples", "tests/programs", "tests/bench", "tests/gradbench"]
        .into_iter()
        .flat_map(list)
        .filter(|p| p.extension().is_some_and(|e| e == "adl"))
        .collect();
    all.sort();
    all
}

/// The tallies of stages, and what is wrong with their texts.
#[derive(Default)]
struct StageRecord {
    tallies: BTreeMap<String, Tally>,
    texts: usize,
    wrong: Vec<String>,
}

impl StageRecord {
    /// Records all stages of a function of a session.
    fn function(&mut self, s: &mut Session, name: &str, of: &str) {
        for stage in ["spec", "jvp", "unzip", "transpose", "opt"] {
            // Values, and functions that are not specialised, have no IR.
            let Ok(text) = s.ir(stage, name, &[]) else { continue };
            self.texts += 1;
            self.tallies.entry(stage.to_owned()).or_default().count(&text);
            let read = adl_ir::parse::program(&text)
                .map_err(|e| e.to_string())
                .and_then(|p| verify_program(&p).map_err(|e| e.clone()).map(|()| p));
            if let (Ok(program), "spec" | "opt") = (&read, stage) {
                last_passes(stage, program, &mut self.tallies);
            }
            self.wrong.extend(read.err().map(|e| format!("{stage} of {name} in {of}: {e}\n{text}")));
        }
    }

    /// The lines of `stages.txt`; the tallies are empty afterwards.
    fn lines(&mut self, label: &str) -> String {
        std::mem::take(&mut self.tallies)
            .into_iter()
            .map(|(stage, tally)| format!("{label}, {stage}: {tally}\n"))
            .collect()
    }
}

/// The functions that a file defines.
fn of_file(record: &mut StageRecord, path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let (mut s, _) = session();
    s.run_file(&path.file_name().unwrap().to_string_lossy(), adl_tests::definitions(&text).as_bytes());
    for name in names(&text) {
        record.function(&mut s, &name, &path.display().to_string());
    }
    record.lines(&path.file_stem().unwrap().to_string_lossy())
}

/// Tallies what machine code and kernels are made of: all functions of a stage after the last passes.
fn last_passes(stage: &str, program: &Program, tallies: &mut BTreeMap<String, Tally>) {
    let pipelines = [
        ("native", vec![All(INLINED), All(FINISH), All(POINTWISE), All(NATIVE), All(SMALL), All(COMPILED)]),
        ("device", vec![All(INLINED), All(FOR_DEVICE), All(VECTORS)]),
    ];
    let zeros = if stage == "spec" { Zeros::Materialized } else { Zeros::Symbolic };
    for (name, steps) in pipelines {
        for f in &program.funcs {
            let mut made = (**f).clone();
            if stage == "spec"
                && let Some(narrowed) = Ad::undifferentiated(f)
            {
                made = narrowed;
            }
            adl_opt::run(&steps, program, &mut made, zeros);
            let tally = tallies.entry(format!("{stage}, {name}")).or_default();
            tally.count(&function(program, &made, Style::PLAIN));
        }
    }
}

#[test]
fn the_text_of_every_stage_reads_back_and_has_the_recorded_operations() {
    let (mut record, mut recorded) = (StageRecord::default(), String::new());
    for path in files() {
        recorded += &of_file(&mut record, &path);
    }
    assert!(record.wrong.is_empty(), "{}", record.wrong.join("\n"));
    assert!(record.texts > 250, "{}", record.texts);
    compare(&recorded);
}

/// Compares the operations of all stages with those recorded.
fn compare(have: &str) {
    let path = adl_tests::root().join("tests/tests/stages.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, have).unwrap();
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default();
    let wrong = have.lines().filter(|line| !want.lines().any(|l| l == *line));
    let wrong: Vec<&str> = wrong.collect();
    assert!(have == want, "{} differs: {}", path.display(), wrong.join("\n"));
}

/// The first line of a stage's text.
fn head(stage: &str, program: &str, args: &[&str]) -> String {
    let (mut s, _) = session();
    assert!(s.eval(program).ok());
    let args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
    match s.ir(stage, "f", &args) {
        Ok(t) => t.lines().next().unwrap_or_default().to_owned(),
        Err(d) => d[0].message.clone(),
    }
}

#[test]
fn generic_functions_are_shown_at_floats() {
    assert_eq!(head("spec", "let f x y = x * y", &[]), "fn f0 f (v0: f64, v1: f64) -> (f64) {");
    assert_eq!(head("spec", "let f x y = x * y", &["1.5f32", "2.0f32"]), "fn f0 f (v0: f32, v1: f32) -> (f32) {");
    assert_eq!(head("spec", "let f p = p.a * p.b", &[]), "fn f0 f (v0: f64, v1: f64) -> (f64) {");
    assert_eq!(head("spec", "let f (x : [n]a) (k : Int) = x[k]", &[]), "fn f0 f (v0: []f64, v1: i64) -> (f64) {");
    assert_eq!(
        head("spec", "let f g x = g (g x)", &[]),
        "this function has no IR, because of an argument whose type is open: give one"
    );
}

#[test]
fn convolutions_are_transposed_to_correlations_in_functions_too() {
    let (mut s, _) = session();
    let program = "let conv (x : [n]Float) (k : [m]Float) = for i < n - m + 1 -> sum for j < m -> x[i + j] * k[j]\nlet f x = sum (conv x [1.0, 2.0, 3.0])";
    assert!(s.eval(program).ok());
    for (name, args) in [("conv", vec![]), ("f", vec!["[1.0, 2.0, 3.0, 4.0]".to_owned()])] {
        let text = s.ir("transpose", name, &args).unwrap_or_else(|d| panic!("{}", d[0].message));
        assert!(text.contains("loop") && !text.contains("index_add") && !text.contains("gather_add"), "{text}");
    }
}

/// The text of a stage of `f`.
fn stage(stage: &str, program: &str) -> String {
    let (mut s, _) = session();
    assert!(s.eval(program).ok());
    s.ir(stage, "f", &[]).unwrap_or_else(|d| panic!("{}", d[0].message))
}

/// The adjoint of a convolution is one correlation, and a second one adds another; where a few elements are read again, these are added in
/// place.
#[test]
fn affine_reads_are_gathered() {
    let conv =
        "let conv (x : [n]Float) (k : [m]Float) : [_]Float = for i < n - m + 1 -> sum for j < m -> x[i + j] * k[j]\n";
    let scatters = |body: &str| {
        let text = stage("transpose", &format!("{conv}let f {body}"));
        text.contains("_add") || text.contains("carry")
    };
    for body in [
        "(x : [n]Float) (k : [m]Float) = conv x k",
        "(x : [n]Float) = dot (conv x [1.0, 2.0]) (conv x [3.0, -1.0])",
        "(x : [n]Float) = (sum for i < n - 2 -> sin x[i + 2]) + (sum for i < n - 2 -> cos x[i + 2])",
        "(x : [n]Float) = sum for i < n // 2 -> x[2 * i]",
    ] {
        assert!(!scatters(body), "{body}: {}", stage("transpose", &format!("{conv}let f {body}")));
    }
    assert!(scatters("(x : [n]Float) = (sum for i < 2 -> cos x[i + 2]) + (sum for i < n - 2 -> sin x[i + 2])"));
}

#[test]
fn native_loops_have_what_they_do_not_change_in_front_of_them() {
    let (mut s, _) = session();
    assert!(s.eval("let f (x : [n]Float) (a : Float) = loop s = 0.0 for i < n do loop s = s for j < i do s * 0.5 + x[j] * (x[i] / (a + float i))").ok());
    let text = s.ir("clif", "f", &[]).unwrap();
    let blocks: Vec<&str> = text.split("\nblock").collect();
    let number = |b: &str| b.split(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse::<u32>().ok());
    // A jump to a header that is met before: the end of a turn.
    let trip = |b: &&&str| b.rsplit_once("jump block").is_some_and(|(_, to)| number(to) < number(b));
    let ends: Vec<&&str> = blocks.iter().filter(trip).collect();
    assert!(text.contains("fdiv") && ends.iter().any(|b| b.contains("fmul")), "{text}");
    assert!(ends.iter().all(|b| !(b.contains("fmul") && b.contains("fdiv"))), "{text}");
}

//! Sizes and words of the source, and the order of its crates.

#[path = "tidy/layers.rs"]
mod layers;
#[path = "tidy/locals.rs"]
mod locals;
#[path = "tidy/modules.rs"]
mod modules;
#[path = "tidy/type_names.rs"]
mod type_names;

use modules::Modules;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Lines that no function may have, and from which on it counts as long.
const HARD: usize = 60;
const LONG: usize = 40;

/// Functions over `LONG` lines that there may be. It only falls.
const LONG_FUNCTIONS: usize = 246;

/// Functions over `HARD` lines, with why they are.
const ALLOWED: &[(&str, &str)] = &[
    ("lang/ad/src/activity.rs: stmt", "an arm for each operation of the IR"),
    ("lang/ad/src/jvp/leaf.rs: tangent_of", "an arm for each operation of the IR"),
    ("lang/ad/src/transpose/rules.rs: leaf", "an arm for each operation of the IR"),
    ("lang/gpu/src/wgsl/ops.rs: of_array", "an arm for each operation of the IR"),
    ("lang/interp/src/ad/traced.rs: by_columns", "an arm for each primitive that moves rows"),
    ("lang/interp/src/vm/compile/exprs.rs: into_inner", "an arm for each form of Core"),
    ("lang/interp/src/vm/compile/liveness.rs: defines", "an arm for each instruction"),
    ("lang/interp/src/vm/compile/liveness.rs: uses", "an arm for each instruction"),
    ("lang/interp/src/vm/compile/matches.rs: tree_inner", "an arm for each form of decision tree"),
    (
        "lang/interp/src/vm/run.rs: steps",
        "the loop of the evaluator: an arm for each instruction, its registers in locals",
    ),
    ("lang/ir/src/eval/cost.rs: work", "an arm for each operation of the IR"),
    ("lang/ir/src/eval/mod.rs: one", "an arm for each operation of the IR"),
    ("lang/ir/src/print/ops.rs: simple", "an arm for each operation of the IR"),
    ("lang/syntax/src/dump.rs: expr_here", "an arm for each form of expression"),
    ("lang/typing/src/infer/special.rs: special", "an arm for each primitive whose type depends on literals"),
    ("lang/typing/src/infer/unify.rs: class_of_parts", "an arm for each form of type"),
    ("lang/typing/src/infer/zonk.rs: zonk_kind", "an arm for each form of Core"),
    ("lang/typing/src/linear/mod.rs: expr_inner", "an arm for each form of Core"),
];

/// From this number of fields on a struct is to come apart.
const FIELDS: usize = 20;

/// Modules of a crate that may use each other in a cycle.
const CYCLE: usize = 10;

/// Crates with larger cycles, and the size of the largest one. It only falls.
const CYCLES: &[(&str, usize)] = &[("editors/server", 16), ("python", 12)];

/// Crates whose limits and thresholds stand in one file, `limits.rs`.
const LIMITED: &[&str] = &[
    "lang/ad",
    "lang/gpu",
    "lang/interp",
    "lang/jit",
    "lang/opt",
    "lang/session",
    "lang/specialise",
    "lang/syntax",
    "lang/typing",
];

/// Numbers that these crates name in other files: parts of layouts and of orders of sums. It only falls.
const SCATTERED: usize = 80;

/// Where `lang/` looks at the machine that it runs on, with why it may.
const IO: &[(&str, &str, &str)] = &[
    ("lang/interp/src/memory.rs", "std::fs::", "how much memory there is: arrays beyond it are refused"),
    (
        "lang/gpu/src/adapter.rs",
        "std::fs::",
        "how many threads there are: the environment is changed by one that is alone",
    ),
];

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for e in std::fs::read_dir(dir).unwrap() {
        let path = e.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && name != "node_modules" && !name.starts_with('.') {
            files(&path, out);
        } else if ["rs", "adl", "md", "toml", "txt"].iter().any(|x| path.extension().is_some_and(|e| e == *x)) {
            out.push(path);
        }
    }
}

fn all() -> Vec<(String, String)> {
    let root = adl_tests::root().canonicalize().unwrap();
    let mut out = Vec::new();
    files(&root, &mut out);
    out.sort();
    out.iter()
        .map(|p| (p.strip_prefix(&root).unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(p).unwrap()))
        .collect()
}

/// Files of Rust that are not tests.
fn sources() -> impl Iterator<Item = (String, String)> {
    all().into_iter().filter(|(n, _)| n.ends_with(".rs") && !n.contains("tests/") && !n.ends_with("/tests.rs"))
}

/// Rust sources without their tests.
fn library() -> Vec<(String, String)> {
    sources().map(|(n, t)| (n, t.split("#[cfg(test)]").next().unwrap_or("").to_owned())).collect()
}

#[test]
fn files_are_small_and_finished() {
    let marks = [
        concat!("todo", "!("),
        concat!("unimpl", "emented!("),
        concat!("FIX", "ME"),
        concat!("#[ig", "nore"),
        concat!("dbg", "!("),
    ];
    let mut wrong = Vec::new();
    let all = all();
    for (name, text) in &all {
        let lines = text.lines().count();
        if lines > 1000 && name.ends_with(".rs") {
            wrong.push(format!("{name}: {lines} lines"));
        }
        wrong.extend(
            marks.iter().filter(|m| name.ends_with(".rs") && text.contains(*m)).map(|m| format!("{name}: {m}")),
        );
    }
    for (name, code) in library() {
        let native = ["lang/jit/", "lang/gpu/", "mpi/", "python/"].iter().any(|d| name.starts_with(d));
        let banned = [".unwrap()", ".expect(\"", "panic!(", if native { "no word" } else { "unsafe " }];
        let found = code
            .lines()
            .filter(|l| !l.trim_start().starts_with("//"))
            .flat_map(|l| banned.iter().filter(move |b| l.contains(*b)));
        wrong.extend(found.map(|b| format!("{name}: {b}")));
        if name.starts_with("lang/") {
            let io = ["std::fs::", "println!(", "std::process::", "std::env::var"];
            wrong.extend(
                io.iter()
                    .filter(|w| code.contains(*w) && !IO.iter().any(|(f, x, _)| *f == name && x == *w))
                    .map(|w| format!("{name}: {w} (nothing in lang/ does IO)")),
            );
        }
        wrong.extend(code.lines().filter(|l| banner(l)).map(|l| format!("{name}: a banner: {l}")));
    }
    assert!(all.len() > 100);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn unsafe_code_says_why_it_is_sound() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    let places = ["lang/jit/src", "lang/gpu/src", "mpi/src", "python/src", "tests/src/bench/native.rs"];
    let of_tests = all().into_iter().filter(|(n, _)| n.starts_with("tests/src/"));
    for (name, code) in library().into_iter().chain(of_tests).filter(|(n, _)| places.iter().any(|d| n.starts_with(d))) {
        let lines: Vec<&str> = code.lines().collect();
        for (i, l) in lines.iter().enumerate() {
            let code = l.trim_start();
            // Functions state what they demand; a block states why it holds.
            if code.starts_with("//") || !code.contains("unsafe {") {
                continue;
            }
            seen += 1;
            if !lines[i.saturating_sub(3)..i].iter().any(|l| l.contains("// SAFETY: ")) {
                wrong.push(format!("{name}:{}: {code}", i + 1));
            }
        }
    }
    assert!(seen > 10);
    assert!(wrong.is_empty(), "without `SAFETY`:\n{}", wrong.join("\n"));
}

/// A comment that only draws a line.
fn banner(line: &str) -> bool {
    let l = line.trim();
    l.starts_with("//")
        && (l.contains("----") || l.contains("====") || l.contains("****"))
        && !l.contains('|')
        && !l.contains('+')
}

#[test]
fn functions_are_short() {
    let mut over = Vec::new();
    let mut long = Vec::new();
    for (file, code) in library() {
        for (name, length) in functions(&code) {
            let full = format!("{file}: {name}");
            match length {
                n if n > HARD && !ALLOWED.iter().any(|(a, _)| *a == full) => over.push(format!("{full}: {n} lines")),
                n if n > LONG => long.push(format!("{full}: {n} lines")),
                _ => {}
            }
        }
    }
    assert!(over.is_empty(), "over {HARD} lines:\n{}", over.join("\n"));
    assert!(
        long.len() <= LONG_FUNCTIONS,
        "{} functions have more than {LONG} lines, {LONG_FUNCTIONS} may:\n{}",
        long.len(),
        long.join("\n")
    );
}

#[test]
fn structs_have_few_fields() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (file, code) in sources() {
        let parsed = syn::parse_file(&code).unwrap_or_else(|e| panic!("{file}: {e}"));
        for item in parsed.items {
            if let syn::Item::Struct(s) = item {
                seen += 1;
                if s.fields.len() >= FIELDS {
                    wrong.push(format!("{file}: {} has {} fields", s.ident, s.fields.len()));
                }
            }
        }
    }
    assert!(seen > 300);
    assert!(wrong.is_empty(), "{FIELDS} fields or more:\n{}", wrong.join("\n"));
}

#[test]
fn limits_stand_in_one_file() {
    let mut found = Vec::new();
    let mut limits = 0;
    for (file, code) in sources().filter(|(f, _)| LIMITED.iter().any(|c| f.starts_with(&format!("{c}/src/")))) {
        if file.ends_with("/limits.rs") {
            limits += code.matches("pub const ").count();
            continue;
        }
        let parsed = syn::parse_file(&code).unwrap_or_else(|e| panic!("{file}: {e}"));
        for item in parsed.items {
            if let syn::Item::Const(c) = item
                && is_quantity(&c.ty)
            {
                found.push(format!("{file}: {}", c.ident));
            }
        }
    }
    assert!(limits > 200);
    assert!(found.len() <= SCATTERED, "{} constants, {SCATTERED} may:\n{}", found.len(), found.join("\n"));
}

/// Whether a type is that of a number or of a time.
fn is_quantity(ty: &syn::Type) -> bool {
    let names = ["usize", "u8", "u16", "u32", "u64", "i32", "i64", "f64", "Duration"];
    matches!(ty, syn::Type::Path(p) if p.path.segments.last().is_some_and(|s| names.iter().any(|n| s.ident == n)))
}

#[test]
fn modules_form_no_large_cycles() {
    let mut crates: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (file, code) in sources() {
        if let Some((name, module)) = file.split_once("/src/") {
            crates.entry(name.to_owned()).or_default().push((module.to_owned(), code));
        }
    }
    let mut wrong = Vec::new();
    for (name, files) in &crates {
        let files: Vec<(&str, &str)> = files.iter().map(|(f, t)| (f.as_str(), t.as_str())).collect();
        let allowed = CYCLES.iter().find(|(c, _)| c == name).map_or(CYCLE, |(_, n)| *n);
        if let Some(largest) = Modules::of(&files).cycles().first().filter(|c| c.len() > allowed) {
            let modules: Vec<String> = largest.iter().map(|m| m.join("::")).collect();
            wrong.push(format!("{name}: {} modules, {allowed} may: {}", largest.len(), modules.join(" ")));
        }
    }
    assert!(crates.len() > 10);
    assert!(wrong.is_empty(), "cycles of modules:\n{}", wrong.join("\n"));
}

#[test]
fn the_interpreter_has_layers() {
    let files: Vec<(String, String)> = library()
        .into_iter()
        .filter_map(|(file, code)| Some((file.strip_prefix("lang/interp/src/")?.to_owned(), code)))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(f, t)| (f.as_str(), t.as_str())).collect();
    assert!(files.len() > 150);
    let wrong = layers::faults(&files);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_step_up_between_layers_is_found() {
    let files = [
        ("value.rs", "use crate::vm::machine::Machine;\nfn f(m: &mut Machine) { m.run() }"),
        ("vm/machine.rs", "pub struct Machine;"),
        ("vm/run.rs", "use super::machine::Machine;\nimpl Machine { fn run(&mut self) {} }"),
        ("elsewhere.rs", ""),
    ];
    assert_eq!(
        layers::faults(&files),
        [
            "elsewhere is in no layer",
            "value uses vm::machine, which is above it",
            "value calls `run` of the machine, which is above it",
        ]
    );
}

#[test]
fn a_cycle_of_modules_is_found() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\npub use b::Two;"),
        ("a.rs", "pub struct One;\nfn f() { g!(crate::b::two()) }"),
        ("b.rs", "use crate::a::One;\npub struct Two;\n#[cfg(test)]\nmod tests { use crate::c; }"),
        ("c/mod.rs", "mod d;\nfn f() { d::f() }"),
        ("c/d.rs", "use crate::Two;\npub fn f() {}"),
    ];
    let cycles = Modules::of(&files).cycles();
    assert_eq!(cycles, [[["a"], ["b"]]]);
    let asks_its_parent = ("c/d.rs", "use super::E;\npub fn f(_: E) {}");
    let mut with_parent = files;
    with_parent[4] = asks_its_parent;
    assert_eq!(Modules::of(&with_parent).cycles().len(), 2);
}

#[test]
fn a_scalar_operator_is_one_row() {
    let sources = library();
    let named: Vec<&str> = sources
        .iter()
        .filter(|(n, text)| !n.starts_with("tests/") && text.to_lowercase().contains("erfinv"))
        .map(|(n, _)| n.as_str())
        .collect();
    // The row, and the function that `libm` lacks. The rest is made of the row.
    assert_eq!(named, ["lang/prim/src/special.rs", "lang/prim/src/table/unary.rs"]);
}

/// The files outside of tests that name a simple operation of the IR, as `docs/adding.md` lists them.
const OF_AN_OPERATION: &[&str] = &[
    "lang/ad/src/jvp/leaf.rs",
    "lang/ad/src/profile/work.rs",
    "lang/ad/src/transpose/rules.rs",
    "lang/gpu/src/exec/array_ops.rs",
    "lang/gpu/src/exec/replay.rs",
    "lang/gpu/src/wgsl/ops.rs",
    "lang/interp/src/ir/eval_op.rs",
    "lang/ir/src/eval/cost.rs",
    "lang/ir/src/eval/mod.rs",
    "lang/ir/src/shape_rule.rs",
    "lang/ir/src/verify/types.rs",
    "lang/opt/src/device/mod.rs",
];

#[test]
fn an_ir_operation_is_one_row_and_its_rules() {
    let sources = library();
    let named: Vec<&str> =
        sources.iter().filter(|(_, text)| text.contains("Op::Zeros(_)")).map(|(n, _)| n.as_str()).collect();
    let more: Vec<_> = named.iter().filter(|n| !OF_AN_OPERATION.contains(n)).collect();
    assert!(named.len() > 5 && more.is_empty(), "{more:?}");
}

/// Functions of a formatted source with their lengths. A `match` of one-line arms counts as one line: it is a table.
fn functions(code: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = code.lines().collect();
    let mut out = Vec::new();
    for (index, l) in lines.iter().enumerate() {
        let indent = l.len() - l.trim_start().len();
        // A declaration without a body has no length.
        let Some(name) = function_name(l.trim_start()).filter(|_| !l.trim_end().ends_with(';')) else { continue };
        // A body ends where its own indentation has a closing brace again.
        let end = lines[index..]
            .iter()
            .position(|m| m.len() > indent && m.starts_with(&" ".repeat(indent)) && m[indent..].starts_with('}'));
        let Some(n) = end.filter(|_| l.contains('{') || lines.get(index + 1).is_some_and(|n| !n.trim().is_empty()))
        else {
            continue;
        };
        let body = &lines[index..=index + n];
        let arms = body.iter().filter(|b| b.contains(" => ") && !b.trim_end().ends_with(['{', '('])).count();
        out.push((name, if arms * 2 >= body.len() { body.len() - arms + 1 } else { body.len() }));
    }
    out
}

/// Words of the project's old dialect. docs/glossary.md has those of today.
const OLD_WORDS: &[&str] = &[
    "road", "roads", "turns", "absent", "heat", "door", "doors", "starved", "attend", "habits", "desk", "clash",
    "pace", "paces",
];

/// Phrases without a named agent, in comments and documents.
const OLD_PHRASES: &[&str] =
    &["nobody", "whoever", "somebody", "main road", "second road", "is no function", "turned round"];

/// Files that are to be deleted, whose names stay until then.
const OLD_FILES: &[&str] = &["lang/gpu/src/exec/turns.rs", "lang/opt/src/device/"];

/// The words of a name in snake or camel case, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut out: Vec<String> = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_uppercase() && !out.last().is_some_and(|w| w.ends_with(char::is_uppercase)) {
            out.push(String::new());
        }
        if c != '_' {
            out.last_mut().unwrap().push(c);
        }
    }
    out.into_iter().map(|w| w.to_lowercase()).filter(|w| !w.is_empty()).collect()
}

/// The name that a line declares for others, if it declares one.
fn public_name(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = rest.strip_prefix('(').map_or(rest, |r| r.split_once(')').map_or("", |(_, r)| r)).trim_start();
    let (kind, rest) = rest.split_once(' ')?;
    let named = ["fn", "struct", "enum", "trait", "type", "const", "static", "mod"].contains(&kind);
    named.then(|| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(""))
}

#[test]
fn names_and_prose_are_in_the_words_of_the_glossary() {
    let mut wrong = Vec::new();
    let old = |name: &str| words(name).into_iter().any(|w| OLD_WORDS.contains(&w.as_str()));
    for (name, code) in library().into_iter().filter(|(n, _)| !OLD_FILES.iter().any(|f| n.starts_with(f))) {
        let stem = name.rsplit('/').next().unwrap().trim_end_matches(".rs");
        if old(stem) {
            wrong.push(format!("{name}: the name of the file"));
        }
        wrong.extend(code.lines().filter_map(public_name).filter(|n| old(n)).map(|n| format!("{name}: `{n}`")));
        let prose = code.lines().filter(|l| l.trim_start().starts_with("//"));
        wrong.extend(prose.filter(|l| has_old_phrase(l)).map(|l| format!("{name}: {}", l.trim())));
    }
    for (name, text) in all().into_iter().filter(|(n, _)| n.ends_with(".md")) {
        wrong.extend(text.lines().filter(|l| has_old_phrase(l)).map(|l| format!("{name}: {l}")));
    }
    assert!(
        words("DeviceTimes_of") == ["device", "times", "of"] && public_name("    pub(crate) fn of<T>(") == Some("of")
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_type_has_a_name_of_its_own() {
    let files: Vec<(String, String)> = all().into_iter().filter(|(n, _)| n.ends_with(".rs")).collect();
    let borrowed: Vec<(&str, &str)> = files.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    assert_eq!(type_names::faults(&borrowed), Vec::<String>::new());
    let one = "struct Nest; mod a { impl T for B { type Known = u8; } }";
    assert_eq!(type_names::faults(&[("a", one), ("b", one)]), Vec::<String>::new());
    let faults = type_names::faults(&[("a", one), ("b", one), ("c", "fn f() { type Nest = u8; enum Known {} }")]);
    assert_eq!(faults, ["`Known` in c", "`Nest` in a, b, c"]);
}

#[test]
fn locals_that_live_long_have_words_for_names() {
    let files = all().into_iter().filter(|(n, _)| n.ends_with(".rs"));
    let found: Vec<String> = files.flat_map(|(name, code)| locals::faults(&name, &code)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    let body = |last: &str| format!("fn f(p: P) {{\n    let q = p;{}    {last}\n}}", "\n".repeat(12));
    assert_eq!(locals::faults("a", &body("p.q()")), ["a:1: `p`"]);
    assert_eq!(locals::faults("a", &body("g(1..q)")), ["a:2: `q`"]);
    assert!(locals::faults("a", "fn f(p: P) -> P { p }").is_empty());
}

fn has_old_phrase(line: &str) -> bool {
    let line = line.to_lowercase();
    OLD_PHRASES.iter().any(|p| {
        line.match_indices(p).any(|(at, _)| {
            let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
            edge(line[..at].chars().next_back()) && edge(line[at + p.len()..].chars().next())
        })
    })
}

fn function_name(line: &str) -> Option<String> {
    let mut rest = line;
    for word in ["pub(crate) ", "pub(super) ", "pub ", "const "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let name = rest.strip_prefix("fn ")?;
    Some(name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
}

#[test]
fn crates_stand_in_the_order_of_the_pipeline() {
    let text = std::fs::read_to_string(adl_tests::root().join("docs/ARCHITECTURE.md")).unwrap();
    let map = text.split("## Code map").nth(1).and_then(|t| t.split("\n## ").next()).unwrap();
    let order: Vec<&str> = map.lines().filter_map(|l| l.strip_prefix("- `")?.split('`').next()).collect();
    let manifests: Vec<(String, String)> =
        all().into_iter().filter_map(|(n, t)| Some((n.strip_suffix("/Cargo.toml")?.to_owned(), t))).collect();
    let mut wrong = Vec::new();
    let name_of =
        |t: &str| t.lines().find_map(|l| l.strip_prefix("name = \"")?.strip_suffix('"').map(str::to_owned)).unwrap();
    for (dir, manifest) in &manifests {
        let Some(at) = order.iter().position(|o| o == dir) else {
            wrong.push(format!("{dir} is not in the code map"));
            continue;
        };
        let dependencies = manifest.split("\n[").find(|s| s.starts_with("dependencies]")).unwrap_or("");
        for d in dependencies.lines().filter_map(|l| l.split(['.', ' ', '=']).next()).filter(|d| d.starts_with("adl")) {
            let from = manifests.iter().find(|(_, t)| name_of(t) == d).map_or("", |(n, _)| n.as_str());
            if order.iter().position(|o| *o == from).is_none_or(|p| p >= at) {
                wrong.push(format!("{dir} depends on {d}, which the code map puts after it"));
            }
        }
        if !manifest.contains("[lints]\nworkspace = true") {
            wrong.push(format!("{dir} does not inherit the lints"));
        }
        let root = adl_tests::root().join(dir).join("src");
        let head = std::fs::read_to_string(root.join("lib.rs"))
            .or_else(|_| std::fs::read_to_string(root.join("main.rs")))
            .unwrap();
        if !head.starts_with("//! ") {
            wrong.push(format!("{dir} has no comment at its head"));
        }
    }
    assert!(manifests.len() >= 8);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

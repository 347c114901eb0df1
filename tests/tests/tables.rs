//! Parquet and Arrow IPC files: they come back as they were written, files of other writers read, and a wrong file is an error with
//! its place.

use adl_session::Session;
use adl_tests::{Memory, echo_in, root};
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

fn session() -> (Session, Memory) {
    let host = Memory::default();
    (Session::new(Box::new(host.clone())), host)
}

fn check(s: &mut Session, cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(text, want)| {
            let have = echo_in(s, text);
            (have != *want).then(|| format!("{text}\n    gives {have}\n    not   {want}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same cases for both formats: `FORMAT` stands for its name, `CODE` for its code, `PART` for what it
/// calls a part, `TITLE` for its name with an article.
fn check_both(cases: &[(&str, &str)]) {
    for (format, code, part, title) in
        [("parquet", "E0806", "row group", "a Parquet"), ("arrow", "E0807", "record batch", "an Arrow IPC")]
    {
        let (mut s, host) = session();
        host.files.borrow_mut().insert("none".to_owned(), b"PAR2 ARROW2 and so on".to_vec());
        let spell =
            |t: &str| t.replace("FORMAT", format).replace("CODE", code).replace("PART", part).replace("TITLE", title);
        let cases: Vec<(String, String)> = cases.iter().map(|(a, b)| (spell(a), spell(b))).collect();
        let cases: Vec<(&str, &str)> = cases.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        check(&mut s, &cases);
    }
}

#[test]
fn tables_come_back_as_they_were_written() {
    check_both(&[
        (
            "write_FORMAT \"t\" {x = [1.5, nan, -0.0], n = [1, -9223372036854775807, 3], b = [true, false, true], s = [\"a\", \"\", \"é\\n\"]}",
            "() : ()",
        ),
        (
            "read_FORMAT \"t\"",
            "{x = [1.5, nan, -0.0], n = [1, -9223372036854775807, 3], b = [true, false, true], s = [\"a\", \"\", \"é\\n\"]} : {x : [3]Float, n : [3]Int, b : [3]Bool, s : [3]String}",
        ),
        ("(read_FORMAT \"t\" : {n : [_]Float})", "{n = [1.0, -9.223372036854776e18, 3.0]} : {n : [3]Float}"),
        ("(read_FORMAT \"t\" : {x : [_]F32})", "{x = [1.5, nan, -0.0]} : {x : [3]F32}"),
        (
            "(read_FORMAT \"t\" : [_]{b : Bool, n : Int})",
            "[{b = true, n = 1}, {b = false, n = -9223372036854775807}, {b = true, n = 3}] : [3]{b : Bool, n : Int}",
        ),
        (
            "write_FORMAT \"o\" {m = [Some 1, None, Some 3], t = [None, Some \"b\", Some \"c\"], y = [Some 0.5, None, None]}",
            "() : ()",
        ),
        (
            "(read_FORMAT \"o\" : {m : [_](Option Int), t : [_](Option String), y : [_]Float})",
            "{m = [Some 1, None, Some 3], t = [None, Some \"b\", Some \"c\"], y = [0.5, nan, nan]} : {m : [3]Option Int, t : [3]Option String, y : [3]Float}",
        ),
        ("write_FORMAT \"e\" {x = [1.0][0:0], s = [\"a\"][0:0]}", "() : ()"),
        ("(read_FORMAT \"e\" : {x : [_]Float, s : [_]String})", "{x = [], s = []} : {x : [0]Float, s : [0]String}"),
        ("write_FORMAT \"m\" {a = [1.0, 2.0], b = [3.0, 4.0]}", "() : ()"),
        ("(read_FORMAT \"m\" : [_][2]Float)", "[[1.0, 3.0], [2.0, 4.0]] : [2][2]Float"),
        ("write_FORMAT \"r\" [{a = 1, b = true}, {a = 2, b = false}]", "() : ()"),
        ("read_FORMAT \"r\"", "{a = [1, 2], b = [true, false]} : {a : [2]Int, b : [2]Bool}"),
        ("write_FORMAT \"f\" (read_FORMAT \"t\" : {x : [_]F32})", "() : ()"),
        ("read_FORMAT \"f\"", "{x = [1.5, nan, -0.0]} : {x : [3]Float}"),
    ]);
}

#[test]
fn wrong_tables_are_errors_with_their_place() {
    check_both(&[
        ("write_FORMAT \"t\" {price = [1.5, 2.5], n = [1, 2], m = [Some 1, None], s = [\"a\", \"b\"]}", "() : ()"),
        (
            "(read_FORMAT \"t\" : {prize : [_]Float})",
            "CODE: t: there is no column `prize`: the file has 4 columns (price, n, m, s)",
        ),
        ("(read_FORMAT \"t\" : {n : [_]String})", "CODE: t: the column `n` holds int64, and the type wants String"),
        ("(read_FORMAT \"t\" : {m : [_]Int})", "CODE: t: the column `m` has a null in row 1 of PART 0"),
        ("(read_FORMAT \"t\" : {n : [3]Int})", "E0702: t has 2 rows, and the type wants 3"),
        ("(read_FORMAT \"none\" : {x : [_]Int})", "CODE: none: this is not TITLE file"),
        ("(read_FORMAT \"nosuch\" : {x : [_]Int})", "E0801: nosuch: there is no such file"),
        ("let p = \"t\" in print (read_FORMAT p)", "E0210: the type of the result of `read_FORMAT` is not known"),
        ("write_FORMAT \"w\" {x = [1.0], y = [1, 2]}", "CODE: the column `x` has 1 rows, and `y` has 2"),
        ("write_FORMAT \"w\" 3", "CODE: `write_FORMAT` writes a record of columns or an array of records"),
        (
            "write_FORMAT \"w\" {x = [(1, 2)]}",
            "CODE: the field `x` cannot be a column: its elements must be numbers, Bools or Strings, or an Option of one",
        ),
    ]);
}

#[test]
fn files_of_other_writers_read() {
    let (mut session, _) = session();
    for file in [
        "pyarrow_snappy.parquet",
        "pyarrow_gzip.parquet",
        "pyarrow_lz4.parquet",
        "polars_zstd.parquet",
        "pyarrow_lz4.arrow",
        "polars_zstd.arrow",
    ] {
        let reader = if file.ends_with("parquet") { "read_parquet" } else { "read_arrow" };
        let read = format!(
            "let t : {{x : [_]Float, f : [_]Float, i : [_]Int, u : [_]Int, b : [_]Bool, s : [_]String, d : [_]String, maybe : [_](Option Int), miss : [_]Float}} = {reader} \"tests/data/tables/{file}\""
        );
        let done = session.eval(&read);
        assert!(done.ok(), "{file}: {:?}", done.diags);
        check(
            &mut session,
            &[
                (
                    "(sum t.x, sum t.f, sum t.i, sum t.u, count t.b)",
                    "(262.5, 221.25, 64210, 13230, 20) : (Float, Float, Int, Int, Int)",
                ),
                (
                    "(t.s[59], t.d[1], t.d[2])",
                    "(\"row 59 é\", \"versicolor\", \"a name of more than twelve bytes\") : (String, String, String)",
                ),
                (
                    "(t.maybe[0], t.maybe[1], t.maybe[56])",
                    "(None, Some 1, None) : (Option Int, Option Int, Option Int)",
                ),
                ("(count (map is_nan t.miss), t.miss[59])", "(7, 29.5) : (Int, Float)"),
            ],
        );
        let narrow = format!("({reader} \"tests/data/tables/{file}\" : {{maybe : [_]Int}})");
        let refused = echo_in(&mut session, &narrow);
        assert!(refused.contains("the column `maybe` has a null in row 0 of"), "{file}: {refused}");
    }
}

/// A Python with these modules; says in one line if there is none.
fn python(modules: &str) -> Option<String> {
    let python = std::env::var("ADL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python).args(["-c", &format!("import {modules}")]).output();
    if found.is_ok_and(|o| o.status.success()) {
        return Some(python);
    }
    println!("skipped: no Python with {modules}");
    None
}

fn run(python: &str, dir: &Path, script: &str) -> String {
    let out = Command::new(python).args(["-c", script]).current_dir(dir).output().expect("Python runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[test]
fn other_tools_read_what_adl_writes() {
    let (mut session, host) = session();
    for format in ["parquet", "arrow"] {
        let write = format!(
            "write_{format} \"w.{format}\" {{x = map (fun i -> float i * 0.5) (iota 3000), n = iota 3000, b = map (fun i -> i % 3 == 0) (iota 3000), s = map (fun i -> show i) (iota 3000), m = map (fun i -> if i % 7 == 0 then None else Some i) (iota 3000)}}"
        );
        assert_eq!(echo_in(&mut session, &write), "() : ()");
    }
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in host.files.borrow().iter() {
        std::fs::write(dir.path().join(name), bytes).unwrap();
    }
    let readers: HashMap<&str, &str> = HashMap::from([
        (
            "pyarrow",
            "import pyarrow.parquet as pq, pyarrow.feather as fe\nread = [pq.read_table('w.parquet'), fe.read_table('w.arrow')]\nread = [t.to_pydict() for t in read]",
        ),
        (
            "pandas, pyarrow",
            "import pandas as pd\nread = [pd.read_parquet('w.parquet'), pd.read_feather('w.arrow')]\nread = [{k: [None if v != v else v for v in t[k]] for k in t} for t in read]",
        ),
        (
            "polars",
            "import polars as pl\nread = [pl.read_parquet('w.parquet'), pl.read_ipc('w.arrow')]\nread = [t.to_dict(as_series=False) for t in read]",
        ),
    ]);
    for (modules, script) in readers {
        let Some(python) = python(modules) else { continue };
        let compare = "\nN = range(3000)\nwant = dict(x=[i * 0.5 for i in N], n=list(N), b=[i % 3 == 0 for i in N], s=[str(i) for i in N], m=[None if i % 7 == 0 else i for i in N])\nfor t in read:\n    assert list(t) == list('xnbsm'), list(t)\n    for k in want: assert list(t[k]) == want[k], k\nprint('equal')";
        assert_eq!(run(&python, dir.path(), &format!("{script}{compare}")).trim(), "equal", "{modules}");
    }
}

/// Damaged files are errors: every cut, and bytes changed at random, in files of several writers.
#[test]
fn damaged_tables_are_errors() {
    let mut state = 1u64;
    let mut random = move |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for entry in std::fs::read_dir(root().join("tests/data/tables")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let reader = if name.ends_with("parquet") { "read_parquet" } else { "read_arrow" };
        let whole = std::fs::read(&path).unwrap();
        let (mut session, host) = session();
        for round in 0..150 {
            let mut bytes = whole.clone();
            match round % 3 {
                0 => bytes.truncate(random(whole.len())),
                _ => (0..=random(8)).for_each(|_| bytes[random(whole.len())] = random(256) as u8),
            }
            host.files.borrow_mut().insert("f".to_owned(), bytes);
            let said = echo_in(
                &mut session,
                &format!(
                    "({reader} \"f\" : [_]{{x : Float, i : Int, b : Bool, s : String, d : String, maybe : Option Int}})"
                ),
            );
            assert!(!said.contains("internal error"), "{name}, round {round}: {said}");
        }
    }
}

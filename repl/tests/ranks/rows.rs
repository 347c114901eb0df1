//! Tables in chunks on several ranks.

use super::{Dir, RunOutput, all_gone, on, start, wheel, with_path};
use std::process::Command;

/// A table of five files, seven chunks of an array, and chunks that are made.
const PROGRAM: &str = "\
let made = rows.generate 13 (fun k -> map (fun x -> {x = x, y = sin (3.0 * x) + float k / 7.0}) (random.normal (random.fold_in (random.key 7) k) [50]))
let files : Rows {x : Float, y : Float} = rows.open \"parts\"
let loss data w = rows.sum (fun r -> (w.a * r.x * sin (w.c[0] * r.x) + w.c[1] - r.y) ^ 2) data
let w = {a = 0.537, c = [0.123, 0.71]}
print (loss made w, grad (loss made) w)
print (loss files w, grad (loss files) w)
print (jvp (loss files) w w)
print (grad (fun a -> rows.mean (fun v -> v * v) (rows.map (fun r -> r.x * a - r.y) made)) 0.77)
print (rows.fold_chunks (fun a b -> a + b) (fun xs -> sum (map (fun r -> r.x * 0.1) xs)) files)
print (rows.reduce_by_index 3 (+) 0.0 (fun r -> int (abs r.x * 2.0)) (fun r -> r.y) made)
print (rows.collect (rows.scan (+) 0.0 (fun r -> r.x) files))
print (rows.count files, rows.count (rows.filter (fun r -> r.x > 0.3) made))
let same (data : Rows {x : Float, y : Float}) w = sum for {x, y} in data -> (w.a * x * sin (w.c[0] * x) + w.c[1] - y) ^ 2
print (same files w == loss files w, same made w == loss made w, grad (same files) w == grad (loss files) w)
print (same made w, grad (same made) w, mean for r in made -> r.y, prod for r in files -> 1.0 + r.y / 90.0)
print (maximum for r in made -> r.x, minimum for r in files -> r.x, any for r in made -> r.x > 3.0, all for r in files -> r.y < 1.0)
let top a = maximum for r in files -> sin (a * r.x) - r.y
print (top 0.7, grad top 0.7, grad (fun a -> sum for v in (for r in made -> a * r.x) -> v * v) 0.7)
print (maximum for r in rows.filter (fun r -> r.x > 5.0) files -> r.y)
";

/// CSV files of different lengths, one without rows.
fn parts(dir: &Dir) {
    for k in 0..5_u32 {
        let rows = (0..(k * 7) % 11).map(|i| format!("{},0.{}\n", f64::from(i * i + k) / 7.0, 1 + i % 9));
        dir.file(&format!("parts/{k}.csv"), format!("x,y\n{}", rows.collect::<String>()));
    }
}

#[test]
fn all_numbers_of_ranks_have_the_same_bits() {
    let dir = Dir::new("rows");
    parts(&dir);
    dir.file("a.adl", PROGRAM);
    let alone = dir.adl(&["a.adl"]);
    assert_eq!((alone.code, alone.err.as_str()), (0, ""));
    // From six on there are ranks without a chunk of `files`.
    for ranks in [1, 2, 3, 4, 5, 6, 7, 8, 16] {
        let Some(run) = on(&dir, ranks, &["a.adl"]) else { return };
        run.is(0, &alone.out, "");
    }
    // Tapes have bits of their own.
    let taped = dir.adl(&["--ad", "taped", "a.adl"]);
    for ranks in [2, 3, 4, 7] {
        on(&dir, ranks, &["--ad", "taped", "a.adl"]).unwrap().is(0, &taped.out, "");
    }
}

#[test]
fn a_gradient_over_rows_sends_two_messages() {
    let dir = Dir::new("rows-messages");
    parts(&dir);
    let text = PROGRAM.lines().take(4).collect::<Vec<_>>().join("\n");
    dir.file("a.adl", format!("{text}\nprint (grad (loss files) w)\n")).file("none.adl", text);
    let sent = |file: &str| {
        let run = on(&dir, 2, &["--derivation", file])?;
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(!run.err.contains("taped"), "{}", run.err);
        let line = run.err.lines().find(|l| l.starts_with("messages: ")).map(str::to_owned);
        line.and_then(|l| l.split(' ').nth(1)?.parse::<u32>().ok())
    };
    let Some(before) = sent("none.adl") else { return };
    assert_eq!(sent("a.adl"), Some(before + 2));
}

/// A program on two ranks in two directories.
fn apart(dir: &Dir, program: &str) -> Option<RunOutput> {
    let adl = env!("CARGO_BIN_EXE_adl");
    let at = |name: &str| dir.path().join(name).display().to_string();
    let mut command = Command::new(wheel()?);
    command.args([
        "-wdir",
        &at("one"),
        "-n",
        "1",
        adl,
        "-e",
        program,
        ":",
        "-wdir",
        &at("two"),
        "-n",
        "1",
        adl,
        "-e",
        program,
    ]);
    let run = start(with_path(command, dir), None).end();
    all_gone(dir);
    Some(run)
}

const SUM: &str = "let data : Rows {x : Float} = rows.open \"t.csv\"\nprint (rows.sum (fun r -> r.x) data)";

#[test]
fn a_file_that_one_rank_cannot_read_is_an_error_of_that_rank() {
    let dir = Dir::new("rows-unreadable");
    dir.file("one/t.csv", "x\n1.5\n2.5\n").file("two/u.csv", "");
    let Some(run) = apart(&dir, SUM) else { return };
    assert_eq!(run.code, 1);
    for part in ["error[E0801]", "t.csv: there is no such file", "on rank 1 of 2"] {
        assert!(run.err.contains(part), "{part}: {}", run.err);
    }
    assert_eq!(run.err.matches("error[").count(), 1, "{}", run.err);
}

#[test]
fn tables_that_differ_between_ranks_are_an_error() {
    let dir = Dir::new("rows-differ");
    dir.file("one/t.csv", "x\n1.5\n2.5\n").file("two/t.csv", "x\n1.5\n2.5\n3.5\n");
    let Some(run) = apart(&dir, SUM) else { return };
    assert_eq!(run.code, 1);
    for part in ["error[E0726]", "t.csv: the ranks see different tables", "1 chunk, 10 bytes", "1 chunk, 14 bytes"] {
        assert!(run.err.contains(part), "{part}: {}", run.err);
    }
}

#[test]
fn a_row_that_does_not_fit_is_an_error_of_its_rank() {
    let dir = Dir::new("rows-bad");
    dir.file("t/0.csv", "x\n1.5\n2.5\n").file("t/1.csv", "x\n1.5\ntwo\n");
    dir.file("a.adl", SUM.replace("t.csv", "t"));
    let Some(run) = on(&dir, 2, &["a.adl"]) else { return };
    assert_eq!(run.code, 1);
    for part in ["error[E0802]", "t/1.csv:3:1: `two` in column 1 (`x`)", "on rank 1 of 2"] {
        assert!(run.err.contains(part), "{part}: {}", run.err);
    }
    all_gone(&dir);
}

//! Runs on several ranks: on MPICH's wheel, which is installed once below `target/`, and on Debian's MPICH and Open MPI
//! where they are installed. What is missing is said in one line. Every run has a limit of time.

#![cfg(unix)]
use crate::common;
#[path = "ranks/compositions.rs"]
mod compositions;
#[path = "ranks/data.rs"]
mod data;
#[path = "ranks/ends.rs"]
mod ends;
#[path = "ranks/losses.rs"]
mod losses;
#[path = "ranks/notebooks.rs"]
mod notebooks;
#[path = "ranks/rows.rs"]
mod rows;

use common::{Dir, RunOutput, text_of};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// What a run may take, before the test fails and ends it.
const LIMIT: Duration = Duration::from_secs(120);

/// The version of MPICH's wheel.
const MPICH: &str = "mpich==5.0.2";

/// Writes a line that is shown although the test holds.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// The `mpiexec` of MPICH's wheel, in an environment that is made once.
fn wheel() -> Option<&'static Path> {
    static WHEEL: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = WHEEL.get_or_init(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpich");
        let mpiexec = dir.join("bin/mpiexec");
        let run = |c: &mut Command| match c.output() {
            Ok(o) if o.status.success() => Ok(()),
            Ok(o) => Err(text_of(&o.stderr)),
            Err(e) => Err(e.to_string()),
        };
        if !mpiexec.is_file() {
            run(Command::new("python3").args(["-m", "venv"]).arg(&dir))?;
            run(Command::new(dir.join("bin/python")).args(["-m", "pip", "install", "-q", MPICH]))?;
        }
        Ok(mpiexec)
    });
    match found {
        Ok(p) => Some(p),
        Err(why) => {
            say(&format!(
                "runs on several ranks are not tested: expected python3 with venv and {MPICH}: {}",
                why.trim()
            ));
            None
        }
    }
}

/// A run under a launcher, in a process group of its own.
struct Started {
    child: Child,
    at: Instant,
}

fn start(mut c: Command, input: Option<&str>) -> Started {
    c.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = c.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    if let Some(text) = input {
        stdin.write_all(text.as_bytes()).unwrap();
    }
    Started { child, at: Instant::now() }
}

impl Started {
    /// Sends a signal to the launcher.
    fn signal(&self, name: &str) {
        Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
    }

    /// Waits for the end; a run beyond the limit is ended and fails the test.
    fn end(mut self) -> RunOutput {
        let read = |r: Option<Box<dyn Read + Send>>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                r.unwrap().read_to_end(&mut bytes).unwrap();
                text_of(&bytes)
            })
        };
        let out = read(self.child.stdout.take().map(|s| Box::new(s) as Box<dyn Read + Send>));
        let err = read(self.child.stderr.take().map(|s| Box::new(s) as Box<dyn Read + Send>));
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if self.at.elapsed() > LIMIT {
                let group = format!("-{}", self.child.id());
                Command::new("kill").args(["-KILL", "--", &group]).status().unwrap();
                panic!("a run on several ranks has not ended after {LIMIT:?}");
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        RunOutput { code: status.code().unwrap_or(-1), out: out.join().unwrap(), err: err.join().unwrap() }
    }
}

/// `adl` on so many ranks of MPICH's wheel.
fn on(dir: &Dir, ranks: usize, args: &[&str]) -> Option<RunOutput> {
    Some(start(command(dir, ranks, args)?, None).end())
}

fn command(dir: &Dir, ranks: usize, args: &[&str]) -> Option<Command> {
    let mut c = Command::new(wheel()?);
    c.args(["-n", &ranks.to_string(), env!("CARGO_BIN_EXE_adl")]).args(args);
    Some(with_path(c, dir))
}

/// The launcher's directory is on the path, so that the library beside it is found.
fn with_path(mut c: Command, dir: &Dir) -> Command {
    let own = wheel().unwrap().parent().unwrap().to_owned();
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(own).chain(std::env::split_paths(&rest));
    c.env("PATH", std::env::join_paths(all).unwrap()).env_remove("ADL_MPI").current_dir(dir.path());
    // The mark by which leftover processes are found.
    c.env("ADL_TEST_RANKS", dir.path());
    c
}

/// The processes of a test that still run, and have this variable: process and value.
fn running(dir: &Dir, variable: &str) -> Vec<(String, String)> {
    let mark = format!("ADL_TEST_RANKS={}", dir.path().display());
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|p| {
        let pid = p.file_name().to_str()?.to_owned();
        let environment = std::fs::read(p.path().join("environ")).ok()?;
        let words: Vec<&[u8]> = environment.split(|b| *b == 0).collect();
        let value = words.iter().find_map(|w| w.strip_prefix(variable.as_bytes())?.strip_prefix(b"="))?;
        words.contains(&mark.as_bytes()).then(|| (pid, text_of(value)))
    })
    .collect()
}

/// The ranks of a test that still run: process and rank.
fn left(dir: &Dir) -> Vec<(String, String)> {
    [running(dir, "PMI_RANK"), running(dir, "OMPI_COMM_WORLD_RANK")].concat()
}

/// The launchers of Debian's MPICH and Open MPI that are on the path.
fn launchers_of_debian() -> Vec<PathBuf> {
    let found = ["mpiexec.mpich", "mpiexec.openmpi"].map(|name| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).map(|d| d.join(name)).find(|p| p.is_file());
        if found.is_none() {
            say(&format!("`{name}` of Debian is not tested: expected it on the path, found none"));
        }
        found
    });
    found.into_iter().flatten().collect()
}

/// Lets Open MPI run for the superuser, and with more ranks than cores.
fn allow_all(c: &mut Command) {
    c.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    c.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
}

/// No rank of a test is left behind, and no process that watches them. A process that has been killed may take a moment to vanish.
fn all_gone(dir: &Dir) {
    let since = Instant::now();
    loop {
        let all = [left(dir), running(dir, "ADL_RANK_WATCHER")].concat();
        if all.is_empty() {
            break;
        }
        assert!(since.elapsed() < Duration::from_secs(5), "left behind: {all:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// <y, A x> = <Aᵀ y, x> for each primitive.
const ADJOINTS: &str = include_str!("ranks/adjoints.adl");

#[test]
fn each_primitive_has_its_adjoint() {
    let dir = Dir::new("adjoints");
    dir.file("a.adl", ADJOINTS);
    for ranks in 1..=4 {
        for flags in [&["a.adl"][..], &["--ad", "taped", "a.adl"], &["--no-jit", "a.adl"]] {
            let Some(run) = on(&dir, ranks, flags) else { return };
            assert_eq!((run.code, run.err.as_str()), (0, ""));
            assert_eq!(run.out.lines().count(), 11, "{}", run.out);
            assert!(run.out.lines().all(|l| l.ends_with(" true true")), "{ranks} ranks: {}", run.out);
        }
    }
}

#[test]
fn other_libraries_of_mpi_have_the_same_results() {
    let dir = Dir::new("libraries");
    dir.file("a.adl", ADJOINTS);
    for launcher in launchers_of_debian() {
        let mut c = Command::new(&launcher);
        c.args(["-n", "3", env!("CARGO_BIN_EXE_adl"), "a.adl"]).current_dir(dir.path()).env_remove("ADL_MPI");
        allow_all(&mut c);
        let run = start(c, None).end();
        let right = run.out.matches(" true true").count();
        assert_eq!((run.code, right), (0, 11), "{}: {}{}", launcher.display(), run.out, run.err);
    }
}

#[test]
fn random_compositions_have_adjoints() {
    const PROGRAMS: u64 = 20;
    const EACH: usize = 50;
    let dir = Dir::new("compositions");
    for seed in 0..PROGRAMS {
        dir.file("a.adl", compositions::program(seed, EACH));
        let ranks = 1 + seed as usize % 4;
        let flags: &[&str] = if seed % 5 == 4 { &["--ad", "taped", "a.adl"] } else { &["a.adl"] };
        let Some(run) = on(&dir, ranks, flags) else { return };
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", dir.read("a.adl"));
        assert_eq!(run.out.lines().count(), EACH);
        assert!(run.out.lines().all(|l| l.ends_with(" true")), "{ranks} ranks: {}\n{}", run.out, dir.read("a.adl"));
    }
}

const FIT: &str = "\
let x = comm.mine (for i < 7, j < 2 -> float (i * 3 + j) / 10.0)
let y = comm.mine (for i < 7 -> float (i % 2))
let loss p =
  let one row = sigmoid (dot row p.w + p.b)
  comm.total (comm.each (fun (xs, ys) -> sum (map2 (fun r t -> (one r - t) ^ 2) xs ys)) (comm.zip x y))
let start = {w = [0.3, -0.2], b = 0.1}
print (grad loss start)
print (loop p = start for i < 20 do p - 0.1 * grad loss p)
print (hessian (fun w -> loss {w = w, b = 0.1}) [0.3, -0.2])
";

/// The numbers in a text.
fn numbers(text: &str) -> Vec<f64> {
    let words = text.split(|c: char| !(c.is_ascii_digit() || ".e-".contains(c)));
    words.filter_map(|w| w.parse().ok()).collect()
}

#[test]
fn gradients_agree_for_all_numbers_of_ranks() {
    let dir = Dir::new("gradients");
    dir.file("a.adl", FIT);
    let alone = dir.adl(&["a.adl"]);
    assert_eq!((alone.code, alone.err.as_str()), (0, ""));
    // Nine ranks are more than there are rows.
    for ranks in [1, 2, 3, 4, 9] {
        let mut bits = Vec::new();
        for flags in [&["a.adl"][..], &["--no-jit", "a.adl"], &["a.adl"]] {
            let Some(run) = on(&dir, ranks, flags) else { return };
            assert_eq!((run.code, run.err.as_str()), (0, ""));
            let (have, want) = (numbers(&run.out), numbers(&alone.out));
            assert_eq!(have.len(), want.len());
            assert!(have.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-12), "{}{}", run.out, alone.out);
            bits.push(run.out);
        }
        assert!(bits.iter().all(|b| *b == bits[0]), "{bits:?}");
        // Plain values are equal on all ranks.
        let Some(run) = on(&dir, ranks, &["--all-ranks", "a.adl"]) else { return };
        let mut lines: Vec<&str> = run.out.lines().map(|l| l.split_once(": ").unwrap().1).collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), 3, "{}", run.out);
    }
}

/// Second derivatives, of a total and of a sum over rows.
const SECOND: &str = "\
let rows_of = for i < 7 -> {x = [float (i * 3) / 10.0, float (i * 3 + 1) / 10.0], y = float (i % 2)}
let error w r = (sigmoid (dot r.x w + 0.1) - r.y) ^ 2
let own = comm.mine rows_of
let loss w = comm.total (comm.each (fun rs -> sum (map (error w) rs)) own)
let table = rows.blocks 2 rows_of
let over_rows w = rows.sum (error w) table
let w = [0.3, -0.2]
print (hessian loss w, hvp loss w [1.0, 0.5])
print (grad (fun w -> dot (grad loss w) (grad loss w)) w)
print (hessian over_rows w, hvp over_rows w [1.0, 0.5])
print (grad (fun w -> dot (grad over_rows w) (grad over_rows w)) w)
";

#[test]
fn second_derivatives_of_totals_are_compiled() {
    let dir = Dir::new("second");
    dir.file("a.adl", SECOND);
    let alone = dir.adl(&["--derivation", "a.adl"]);
    assert!(alone.code == 0 && !alone.err.contains("taped"), "{}", alone.err);
    assert_eq!(alone.err.matches("compiled AD").count(), 6, "{}", alone.err);
    let taped = dir.adl(&["--ad", "taped", "a.adl"]);
    let close = |out: &str| {
        let (have, want) = (numbers(out), numbers(&taped.out));
        assert_eq!(have.len(), want.len());
        assert!(have.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-12), "{out}{}", taped.out);
    };
    close(&alone.out);
    for ranks in [2, 3, 4] {
        let Some(run) = on(&dir, ranks, &["--derivation", "a.adl"]) else { return };
        assert!(run.code == 0 && !run.err.contains("taped"), "{}", run.err);
        close(&run.out);
        // Those over rows are trees.
        assert!(run.out.lines().skip(2).eq(alone.out.lines().skip(2)), "{}{}", run.out, alone.out);
        // Other tiers send the same messages.
        close(&on(&dir, ranks, &["--no-jit", "a.adl"]).unwrap().out);
        close(&on(&dir, ranks, &["--ad", "taped", "a.adl"]).unwrap().out);
    }
}

#[test]
fn a_gradient_sends_two_messages() {
    let dir = Dir::new("messages");
    let text = FIT.lines().take(6).collect::<Vec<_>>().join("\n");
    dir.file("a.adl", format!("{text}\nprint (grad loss start)\n")).file("none.adl", text);
    let sent = |file: &str| {
        let run = on(&dir, 3, &["--derivation", file])?;
        assert_eq!(run.code, 0, "{}", run.err);
        let line = run.err.lines().find(|l| l.starts_with("messages: ")).map(str::to_owned);
        line.and_then(|l| l.split(' ').nth(1)?.parse::<u32>().ok())
    };
    let Some(before) = sent("none.adl") else { return };
    // The loss, and the gradient of all parameters.
    assert_eq!(sent("a.adl"), Some(before + 2));
}

#[test]
fn no_rows_and_tiers_that_differ() {
    let dir = Dir::new("empty");
    dir.file("a.adl", "let x = comm.mine (filter (fun v -> v > 9.0) [1.0, 2.0])\nprint (grad (fun w -> comm.total (comm.each (fun v -> sum (map (fun a -> a * w * w) v)) x)) 2.0)\nprint (comm.gather x)\n");
    dir.file("b.adl", FIT);
    let Some(run) = on(&dir, 3, &["a.adl"]) else { return };
    run.is(0, "0.0\n[]\n", "");
    // One rank has native code, one interprets, one has tapes: they send the same messages.
    let adl = env!("CARGO_BIN_EXE_adl");
    let mut c = Command::new(wheel().unwrap());
    c.args(["-n", "1", adl, "b.adl", ":", "-n", "1", adl, "--no-jit", "b.adl"]);
    let run = start(with_path(c, &dir), None).end();
    assert_eq!((run.code, run.err.as_str(), run.out.lines().count()), (0, "", 3));
}

#[test]
fn rank_0_prints_and_reads() {
    let dir = Dir::new("prints");
    dir.file("a.adl", "print (io.input \"\")\nprint (args ())\nprint (read_text \"t.txt\")\nwrite_text \"out.txt\" \"x\"\nlet r = comm.each (fun r -> print r) comm.rank\nprint (time () >= 0.0, env \"ADL_TEST_WORD\")\n");
    dir.file("t.txt", "text");
    let Some(mut c) = command(&dir, 3, &["a.adl", "one"]) else { return };
    c.env("ADL_TEST_WORD", "w");
    start(c, Some("line\n")).end().is(0, "line\n[\"one\"]\ntext\n0\n(true, Some \"w\")\n", "");
    assert_eq!(dir.read("out.txt"), "x");
    let run = on(&dir, 2, &["--all-ranks", "-e", "print comm.size"]).unwrap();
    let mut lines: Vec<&str> = run.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0: 2", "1: 2"]);
    // A file that there is not is one error, of rank 0.
    let run = on(&dir, 3, &["none.adl"]).unwrap();
    assert_eq!((run.code, run.err.matches("there is no such file").count()), (1, 1), "{}", run.err);
    // An error of types too.
    dir.file("b.adl", "print (1 + \"a\")\n");
    let run = on(&dir, 3, &["b.adl"]).unwrap();
    assert_eq!((run.code, run.err.matches("error[").count()), (1, 1), "{}", run.err);
}

#[test]
fn the_flag_starts_the_ranks() {
    let dir = Dir::new("flag");
    if wheel().is_none() {
        return;
    }
    let mut c = Command::new(env!("CARGO_BIN_EXE_adl"));
    c.args(["--ranks", "3", "-e", "print comm.size"]);
    start(with_path(c, &dir), None).end().is(0, "3\n", "");
    let mut c = dir.command(&["--ranks", "2", "-e", "1"]);
    c.env("PATH", "/nowhere");
    common::finish(c).is(2, "", "expected `mpiexec` on the path, found none");
}

#[test]
fn a_launcher_without_a_library_is_an_error() {
    let dir = Dir::new("library");
    let mut c = dir.command(&["-e", "1"]);
    c.env("PMI_RANK", "0").env("PMI_SIZE", "1").env("ADL_MPI", "/nowhere/libmpi.so");
    common::finish(c).is(1, "", "PMI_RANK");
    let mut c = dir.command(&["-e", "1"]);
    c.env("PMI_RANK", "0").env("PMI_SIZE", "1").env("ADL_MPI", "/nowhere/libmpi.so");
    common::finish(c).is(1, "", "/nowhere/libmpi.so");
}

/// Two ranks with flags of their own.
fn with_flags(dir: &Dir, first: &[&str], second: &[&str]) -> Option<RunOutput> {
    let adl = env!("CARGO_BIN_EXE_adl");
    let mut c = Command::new(wheel()?);
    c.args(["-n", "1", adl])
        .args(first)
        .args(["-e", "print 1", ":", "-n", "1", adl])
        .args(second)
        .args(["-e", "print 1"]);
    let run = start(with_path(c, dir), None).end();
    all_gone(dir);
    Some(run)
}

#[test]
fn ranks_that_compute_otherwise_are_refused() {
    let dir = Dir::new("otherwise");
    for (flags, text) in [
        (["--ad", "taped"], "--ad differs between ranks: compiled on rank 0, taped on rank 1"),
        (["--plan", "sqrt"], "--plan differs between ranks: store_all on rank 0, sqrt on rank 1"),
        (["--device", "auto"], "`--device auto` lets each rank choose"),
    ] {
        let Some(run) = with_flags(&dir, &[], &flags) else { return };
        assert!(run.code != 0 && run.out.is_empty() && run.err.contains(text), "{}{}", run.out, run.err);
    }
    // Another tier has the same bits.
    with_flags(&dir, &[], &["--no-jit"]).unwrap().is(0, "1\n", "");
    // What is wrong with a command line is said once.
    let run = on(&dir, 3, &["--none", "-e", "1"]).unwrap();
    assert_eq!((run.code, run.err.matches("unexpected argument").count()), (2, 1), "{}", run.err);
}

#[test]
fn a_rank_that_fails_ends_all_and_is_named() {
    let dir = Dir::new("fails");
    dir.file("a.adl", "print \"begin\"\nlet e = comm.each (fun r -> if r == 1 then (error \"bad data\" : Float) else 2.0) comm.rank\nprint (comm.total e)\n");
    let Some(run) = on(&dir, 3, &["a.adl"]) else { return };
    assert_eq!((run.code, run.out.as_str()), (1, "begin\n"));
    for part in ["bad data", "a.adl:2:", "on rank 1 of 3"] {
        assert!(run.err.contains(part), "{part}: {}", run.err);
    }
    assert_eq!(run.err.matches("error[").count(), 1, "{}", run.err);
    all_gone(&dir);
}

#[test]
fn ranks_at_different_operations_are_an_error_with_both_places() {
    let dir = Dir::new("apart");
    dir.file("a.adl", "let x = comm.spread 1.0\nprint (comm.total x)\n");
    dir.file("b.adl", "let x = comm.spread 1.0\nprint (comm.gather (comm.each (fun v -> [v]) x))\n");
    dir.file("c.adl", "let x = comm.spread 1.0\n");
    if wheel().is_none() {
        return;
    }
    let adl = env!("CARGO_BIN_EXE_adl");
    for (other, named) in [("b.adl", "comm.gather"), ("c.adl", "the end of the program")] {
        // The first message is the file, which rank 0 reads for all, so the programs are given as text.
        let (a, b) = (dir.read("a.adl"), dir.read(other));
        let mut c = Command::new(wheel().unwrap());
        c.args(["-n", "1", adl, "-e", &a, ":", "-n", "1", adl, "-e", &b]);
        let run = start(with_path(c, &dir), None).end();
        assert_eq!(run.code, 1);
        assert!(run.err.contains("rank 0 at comm.total") && run.err.contains(named), "{}", run.err);
        assert_eq!(run.err.matches("error[E0726]").count(), 1, "{}", run.err);
        all_gone(&dir);
    }
}

#[test]
fn definitions_that_differ_are_found() {
    let dir = Dir::new("check");
    dir.file("a.adl", format!("{FIT}let e = comm.each (fun r -> float r) comm.rank\nlet f x = x\nlet t = (\"a\", Some [1, 2], {{x = (true, [\"b\"])}})\n"));
    let Some(run) = on(&dir, 3, &["--check-ranks", "a.adl"]) else { return };
    assert_eq!((run.code, run.err.as_str(), run.out.lines().count()), (0, "", 3));
    let adl = env!("CARGO_BIN_EXE_adl");
    for (a, b) in
        [("1.0", "1.5"), ("[1, 2, 3]", "[1, 2, 4]"), ("(true, \"a\")", "(true, \"b\")"), ("[Some 1.0]", "[None]")]
    {
        let mut c = Command::new(wheel().unwrap());
        let program = |value: &str| format!("let one = 1\nlet x = {value}\nprint one");
        c.args(["-n", "1", adl, "--check-ranks", "-e", &program(a), ":"]);
        c.args(["-n", "1", adl, "--check-ranks", "-e", &program(b)]);
        let run = start(with_path(c, &dir), None).end();
        assert_eq!((run.code, run.out.as_str()), (1, ""));
        assert!(run.err.contains("error[E0726]: `x` differs on rank 1 from that on rank 0"), "{}", run.err);
        assert!(run.err.contains("<1>:2:5"), "{}", run.err);
    }
    all_gone(&dir);
}

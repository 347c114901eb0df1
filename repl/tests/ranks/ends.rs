//! Ends of runs from outside: ranks that are killed, interrupts, a launcher that is killed.

use super::{Dir, LIMIT, Started, all_gone, allow_all, command, launchers_of_debian, left, start, wheel, with_path};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

const ENDLESS: &str = "print \"begin\"\nwrite_text \"begun\" \"\"\nlet e = comm.each (fun r -> if r == 1 then (loop i = 0 while i >= 0 do (i + 1) % 7) else 0) comm.rank\nprint (comm.total e)\n";

/// Waits until all ranks run the program: rank 0 has written a file, and told the others.
fn begun(dir: &Dir) {
    let (file, since) = (dir.path().join("begun"), Instant::now());
    while !file.exists() {
        assert!(since.elapsed() < LIMIT, "the ranks do not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    std::fs::remove_file(file).unwrap();
}

/// An endless run that `adl` has started itself, with a directory of its own for the socket.
fn endless(dir: &Dir, ranks: usize) -> Option<Started> {
    wheel()?;
    std::fs::create_dir_all(dir.path().join("tmp")).unwrap();
    dir.file("a.adl", ENDLESS);
    let mut c = Command::new(env!("CARGO_BIN_EXE_adl"));
    c.args(["--ranks", &ranks.to_string(), "a.adl"]).env("TMPDIR", dir.path().join("tmp"));
    let run = start(with_path(c, dir), None);
    begun(dir);
    Some(run)
}

/// Nothing of a run is left, neither a process nor the socket.
fn nothing_left(dir: &Dir) {
    all_gone(dir);
    assert_eq!(std::fs::read_dir(dir.path().join("tmp")).unwrap().count(), 0);
}

fn kill(dir: &Dir, rank: &str, signal: &str) {
    let (pid, _) = left(dir).into_iter().find(|(_, r)| r == rank).unwrap();
    Command::new("kill").args([signal, &pid]).status().unwrap();
}

#[test]
fn a_killed_rank_ends_the_run() {
    let dir = Dir::new("killed");
    dir.file("a.adl", ENDLESS);
    let Some(c) = command(&dir, 3, &["a.adl"]) else { return };
    let run = start(c, None);
    begun(&dir);
    kill(&dir, "2", "-KILL");
    let run = run.end();
    assert_ne!(run.code, 0);
    assert!((run.out.clone() + &run.err).contains("Killed (signal 9)"), "{}{}", run.out, run.err);
    all_gone(&dir);
}

#[test]
fn a_killed_rank_is_named() {
    let dir = Dir::new("named");
    for (rank, signal) in [("2", "-KILL"), ("0", "-KILL"), ("1", "-ABRT")] {
        let Some(run) = endless(&dir, 3) else { return };
        kill(&dir, rank, signal);
        let run = run.end();
        assert_ne!(run.code, 0);
        let named = format!("error[E0726]: rank {rank} of 3 was killed: the run has ended");
        assert!(run.err.contains(&named), "{}{}", run.out, run.err);
        assert_eq!(run.err.matches("was killed").count(), 1, "{}", run.err);
        nothing_left(&dir);
    }
}

#[test]
fn a_killed_rank_is_named_under_other_launchers() {
    for launcher in launchers_of_debian() {
        let dir = Dir::new("named-elsewhere");
        // `--ranks` starts the first `mpiexec` on the path. A link would not do: MPICH's looks for its parts beside it.
        let own = dir.path().join("own");
        std::fs::create_dir_all(&own).unwrap();
        let script = own.join("mpiexec");
        std::fs::write(&script, format!("#!/bin/sh\nexec {} \"$@\"\n", launcher.display())).unwrap();
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&path))).unwrap();
        dir.file("a.adl", ENDLESS);
        for rank in ["2", "0"] {
            let mut c = Command::new(env!("CARGO_BIN_EXE_adl"));
            c.args(["--ranks", "3", "a.adl"]).current_dir(dir.path()).env_remove("ADL_MPI");
            c.env("PATH", &path).env("ADL_TEST_RANKS", dir.path());
            allow_all(&mut c);
            let run = start(c, None);
            begun(&dir);
            kill(&dir, rank, "-KILL");
            let run = run.end();
            let named = format!("error[E0726]: rank {rank} of 3 was killed: the run has ended");
            assert!(run.code != 0 && run.err.contains(&named), "{}: {}{}", launcher.display(), run.out, run.err);
            all_gone(&dir);
        }
    }
}

#[test]
fn a_run_that_ends_otherwise_names_no_rank() {
    let dir = Dir::new("otherwise-ended");
    for (signal, code) in [("-INT", 130), ("-TERM", 15)] {
        let Some(run) = endless(&dir, 3) else { return };
        run.signal(signal);
        let run = run.end();
        assert!(run.code == code && !run.err.contains("was killed"), "{signal}: {} {}", run.code, run.err);
        nothing_left(&dir);
    }
    let one_fails = "comm.total (comm.each (fun r -> if r == 1 then [1.0][r + 5] else 0.0) comm.rank)";
    for (program, error) in [(one_fails, "error[E0701]"), ("1 + \"a\"", "error[E0205]"), ("comm.size", "")] {
        let mut c = Command::new(env!("CARGO_BIN_EXE_adl"));
        c.args(["--ranks", "3", "-e", program]).env("TMPDIR", dir.path().join("tmp"));
        let run = start(with_path(c, &dir), None).end();
        assert_eq!(run.code, i32::from(!error.is_empty()), "{}", run.err);
        assert!(run.err.starts_with(error) && !run.err.contains("was killed"), "{}", run.err);
        nothing_left(&dir);
    }
}

#[test]
fn a_killed_launcher_leaves_no_rank() {
    let dir = Dir::new("launcher");
    let Some(run) = endless(&dir, 3) else { return };
    run.signal("-KILL");
    assert_eq!(run.end().code, -1);
    nothing_left(&dir);
}

#[test]
fn an_interrupt_ends_all_ranks() {
    let dir = Dir::new("interrupt");
    dir.file("a.adl", ENDLESS);
    let Some(c) = command(&dir, 2, &["a.adl"]) else { return };
    let run = start(c, None);
    begun(&dir);
    run.signal("-INT");
    let at = Instant::now();
    let run = run.end();
    assert!(at.elapsed() < Duration::from_secs(10));
    assert!(run.code == 130 && run.out.starts_with("begin\n"), "{}{}", run.out, run.err);
    all_gone(&dir);
}

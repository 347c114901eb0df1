//! Notebooks over several ranks.

use super::{Dir, LIMIT, all_gone, start, wheel, with_path};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn notebook(cells: &[&str]) -> String {
    let cell = |code: &&str| json!({"cell_type": "code", "source": code, "metadata": {}, "outputs": [], "execution_count": null});
    let cells: Vec<Json> = cells.iter().map(cell).collect();
    json!({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).to_string()
}

/// `adl` with arguments, which starts its ranks.
fn adl(dir: &Dir, args: &[&str]) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_adl"));
    c.args(args);
    with_path(c, dir)
}

#[test]
fn a_notebook_runs_on_all_ranks() {
    let dir = Dir::new("notebook");
    if wheel().is_none() {
        return;
    }
    dir.file("t.txt", "text");
    dir.file(
        "a.ipynb",
        notebook(&[
            "let d = comm.mine [1.0, 2.0, 3.0, 4.0, 5.0]\nprint comm.size",
            "grad (fun w -> comm.total (comm.each (fun v -> sum (map (fun x -> w * w * x) v)) d)) 1.0",
            "read_text \"t.txt\"",
            ":type d",
            "comm.gather (comm.each (fun r -> [r]) comm.rank)",
        ]),
    );
    let run = start(adl(&dir, &["notebook", "run", "--ranks", "3", "a.ipynb"]), None).end();
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let book: Json = serde_json::from_str(&dir.read("a.ipynb")).unwrap();
    let shown = book["cells"].to_string();
    for part in ["[\"3\\n\"]", "\"30.0 : Float", "text", "Each [_]Float", "[0, 1, 2] : [3]Int"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let again = start(adl(&dir, &["notebook", "run", "--check", "--ranks", "3", "a.ipynb"]), None).end();
    assert_eq!((again.code, again.err.as_str()), (0, ""));
    all_gone(&dir);
}

#[test]
fn a_rank_that_fails_is_an_error_of_the_cell() {
    let dir = Dir::new("notebook-fails");
    if wheel().is_none() {
        return;
    }
    let bad = "comm.total (comm.each (fun r -> if r == 1 then (error \"bad data\" : Float) else 2.0) comm.rank)";
    dir.file("a.ipynb", notebook(&["let x = 1.0", bad, "x"]));
    let run = start(adl(&dir, &["notebook", "run", "--ranks", "3", "a.ipynb"]), None).end();
    assert_eq!(run.code, 1, "{}", run.err);
    for part in ["cell 2", "bad data", "on rank 1 of 3"] {
        assert!(run.err.contains(part), "{part}: {}", run.err);
    }
    all_gone(&dir);
    // A cell that may fail, and what comes after it.
    let mut book: Json = serde_json::from_str(&notebook(&["let x = 1.5", bad, "comm.total (comm.spread x)"])).unwrap();
    book["cells"][1]["metadata"] = json!({"tags": ["raises-exception"]});
    dir.file("b.ipynb", book.to_string());
    let run = start(adl(&dir, &["notebook", "run", "--ranks", "3", "b.ipynb"]), None).end();
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(dir.read("b.ipynb").contains("4.5 : Float"), "{}", dir.read("b.ipynb"));
    all_gone(&dir);
}

#[test]
fn the_notebook_of_ranks_has_the_outputs_that_are_stored() {
    let dir = Dir::new("notebook-stored");
    if wheel().is_none() {
        return;
    }
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../notebooks/ranks.ipynb");
    let book = book.display().to_string();
    let run = start(adl(&dir, &["notebook", "run", "--check", "--ranks", "4", &book]), None).end();
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    all_gone(&dir);
}

#[test]
fn what_has_no_ranks_says_so() {
    let dir = Dir::new("no-ranks");
    for args in [&["--ranks", "2"][..], &["--ranks", "2", "fmt", "a.adl"], &["check", "--ranks", "2", "a.adl"]] {
        dir.adl(args).is(2, "", "`--ranks` is for programs, notebooks and kernels");
    }
}

/// A client of Jupyter: two cells, an endless one on one rank that is interrupted, one after it, a restart, and a rank that
/// is killed.
const CLIENT: &str = include_str!("client.py");

#[test]
fn a_kernel_runs_over_ranks() {
    let dir = Dir::new("kernel-ranks");
    if wheel().is_none() {
        return;
    }
    dir.file("client.py", CLIENT);
    let mut c = crate::jupyter::jupyter("python");
    c.args(["client.py", env!("CARGO_BIN_EXE_adl")]);
    let path = c.get_envs().find(|(n, _)| *n == "PATH").and_then(|(_, v)| v.map(ToOwned::to_owned));
    let mut c = with_path(c, &dir);
    if let Some(path) = path {
        let own = wheel().unwrap().parent().unwrap().to_owned();
        let all = std::iter::once(own).chain(std::env::split_paths(&path));
        c.env("PATH", std::env::join_paths(all).unwrap());
    }
    assert!(LIMIT > Duration::from_secs(60));
    let run = start(c, None).end();
    // On a busy machine Jupyter kills a kernel that takes too long to end, and the launcher prints so.
    assert_eq!((run.code, run.out.lines().last()), (0, Some("all right")), "{}", run.err);
    let (before, after) = run.err.split_once("restarted\n").unwrap();
    assert!(!before.contains("was killed"), "{before}");
    assert!(after.contains("error[E0726]: rank 2 of 3 was killed: the run has ended"), "{after}");
    all_gone(&dir);
}

#[test]
fn a_kernel_for_ranks_is_installed_beside_the_other() {
    let dir = Dir::new("kernelspec-ranks");
    let adl = |args: &[&str]| {
        let mut c = dir.command(args);
        c.env("JUPYTER_DATA_DIR", dir.path().join("data"));
        crate::common::finish(c)
    };
    assert_eq!(adl(&["kernel", "install", "--user"]).code, 0);
    assert_eq!(adl(&["kernel", "install", "--ranks", "3", "--user"]).code, 0);
    let spec: Json = serde_json::from_str(&dir.read("data/kernels/adl-3-ranks/kernel.json")).unwrap();
    assert_eq!(spec["display_name"], "adl (3 ranks)");
    assert_eq!(spec["argv"].as_array().unwrap()[1..4], ["--ranks", "3", "kernel"].map(Json::from));
    assert_eq!(adl(&["kernel", "uninstall", "--ranks", "3", "--user"]).code, 0);
    assert!(dir.path().join("data/kernels/adl/kernel.json").is_file());
    assert!(!dir.path().join("data/kernels/adl-3-ranks").exists());
}

//! Files written by adl: an existing file is either replaced entirely or unchanged.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]
#![cfg(unix)]

use crate::common;

use common::{Dir, RunOutput, finish, text_of};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

/// A program that becomes much longer by `fmt`.
fn narrow() -> String {
    (0..300)
        .map(|i| format!("let f{i} x=if x>{i} then(if x>{i} then x+{i} else x*{i}) else(if x<{i} then x else {i})\n"))
        .collect()
}

const NOTEBOOK: &str = r#"{"cells": [{"cell_type": "code", "execution_count": null, "id": "a", "metadata": {}, "outputs": [], "source": ["iota 900"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#;

/// Commands that replace the files of [`filled`], each with the file and its previous contents.
fn writers() -> Vec<(&'static [&'static str], &'static str, &'static str, String)> {
    vec![
        (&["fmt", "a.adl"], "", "a.adl", narrow()),
        (&["notebook", "run", "n.ipynb"], "", "n.ipynb", NOTEBOOK.into()),
        (&[], "let big = \"BIG\"\n:save s.adl\n", "s.adl", "old session\n".into()),
        (&["-e", "write_text \"t.txt\" (show (iota 3000))"], "", "t.txt", "old text\n".into()),
        (&["-e", "write_csv \"t.csv\" {a = iota 3000}"], "", "t.csv", "old table\n".into()),
        (&["-e", "write_npy \"t.npy\" (iota 3000)"], "", "t.npy", "old array\n".into()),
        (&["-e", "write_json \"t.json\" (iota 3000)"], "", "t.json", "old data\n".into()),
        (&["-e", "plot.save \"p.svg\" (plot.line_y (map float (iota 500)))"], "", "p.svg", "old picture\n".into()),
    ]
}

fn filled(d: &Dir) {
    for (_, _, file, old) in writers() {
        d.file(file, old);
    }
}

fn names(dir: &Path) -> Vec<String> {
    let mut out: Vec<String> =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    out.sort();
    out
}

/// A run in which files may not grow beyond about a kibibyte, as on a full disk.
fn short_of_room(d: &Dir, args: &[&str], input: &str) -> RunOutput {
    let mut c = Command::new("sh");
    c.args(["-c", "ulimit -f 2 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_adl")])
        .args(args)
        .current_dir(d.path())
        .env("ADL_HISTORY", "");
    d.file(".input", input);
    c.stdin(std::fs::File::open(d.path().join(".input")).unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(c)
}

#[test]
fn a_write_that_fails_leaves_the_old_file() {
    let dir = Dir::new("short");
    filled(&dir);
    dir.file(".input", "");
    let before = names(dir.path());
    for (args, input, file, old) in writers() {
        let r = short_of_room(&dir, args, &input.replace("BIG", &"x".repeat(3000)));
        assert_eq!((r.code, dir.read(file) == old), (1, true), "{args:?}: {}{}", r.out, r.err);
        assert!(r.err.contains("File too large"), "{args:?}: {}", r.err);
        assert_eq!(names(dir.path()), before, "{args:?}");
        // With enough space they replace it.
        dir.piped(args, input);
        assert!(
            std::fs::read(dir.path().join(file)).unwrap() != old.as_bytes() && names(dir.path()) == before,
            "{args:?}"
        );
    }
    let r = short_of_room(&dir, &["doc", "--html", "."], "");
    assert_eq!(r.code, 1, "{}", r.err);
    assert!(!names(dir.path()).iter().any(|n| n.ends_with(".tmp")));
}

/// The same on a full file system, if one can be mounted.
#[test]
fn a_full_disk_leaves_the_old_file() {
    let dir = Dir::new("full-disk");
    let here = dir.path().join("disk");
    std::fs::create_dir(&here).unwrap();
    for (args, input, file, old) in writers() {
        dir.file("old", &old).file("input", input.replace("BIG", &"x".repeat(3000)));
        let script = "mount -t tmpfs -o size=64k none disk || exit 77
            cd disk && cp ../old \"$1\" && cp -p \"$1\" ../copy && shift
            dd if=/dev/zero of=filler bs=1k count=64 2>../dd
            \"$ADL\" \"$@\" <../input >../out 2>../err
            echo $? >../code; ls -A >../names; cp -p \"$FILE\" ../after";
        let mut c = Command::new("unshare");
        c.args(["--mount", "--map-root-user", "sh", "-c", script, "sh", file]).args(args).current_dir(dir.path());
        c.env("ADL", env!("CARGO_BIN_EXE_adl")).env("ADL_HISTORY", "").env("FILE", file);
        match c.output() {
            Ok(o) if o.status.success() => {}
            o => {
                return println!(
                    "not tested: no file system may be mounted here ({:?})",
                    o.map(|o| text_of(&o.stderr))
                );
            }
        }
        let (code, err) = (dir.read("code"), dir.read("err"));
        assert!(code == "1\n" && err.contains("No space left on device"), "{args:?}: {code}{}{err}", dir.read("out"));
        assert!(dir.read("after") == old, "{args:?}");
        let mut there = vec!["filler".to_owned(), file.to_owned()];
        there.sort();
        assert_eq!(dir.read("names").lines().collect::<Vec<_>>(), there, "{args:?}");
    }
}

#[test]
fn what_is_replaced_keeps_its_mode_and_its_links() {
    let d = Dir::new("links");
    for (args, input, file, old) in writers() {
        d.file("real", &old);
        let at = |name: &str| d.path().join(name);
        std::fs::set_permissions(at("real"), std::fs::Permissions::from_mode(0o640)).unwrap();
        symlink("real", at(file)).unwrap();
        let r = d.piped(args, input);
        assert_eq!((r.code, r.err.as_str()), (0, ""), "{args:?}");
        assert!(std::fs::symlink_metadata(at(file)).unwrap().is_symlink(), "{args:?}");
        assert_eq!(std::fs::metadata(at("real")).unwrap().mode() & 0o777, 0o640, "{args:?}");
        assert!(std::fs::read(at("real")).unwrap() != old.as_bytes(), "{args:?}");
    }
}

#[test]
fn descriptors_devices_and_pipes_are_written_directly() {
    let dir = Dir::new("devices");
    dir.file("a.adl", "print \"a\"\nwrite_text \"/dev/stdout\" \"b\\n\"\nprint \"c\"\nwrite_text \"/dev/stderr\" \"d\\n\"\nwrite_text \"/dev/null\" \"e\"\n");
    if !Path::new("/dev/stdout").exists() {
        return;
    }
    dir.adl(&["a.adl"]).is(0, "a\nb\nc\n", "d\n");
    // The same if standard output is a file, which must not be replaced by another.
    let out = std::fs::File::create(dir.path().join("out")).unwrap();
    assert!(dir.command(&["a.adl"]).stdout(out).status().unwrap().success());
    assert_eq!(dir.read("out"), "a\nb\nc\n");
    if Path::new("/dev/full").exists() {
        dir.adl(&["-e", "write_text \"/dev/full\" \"x\""]).is(1, "", "/dev/full: No space left on device");
    }
    dir.adl(&["-e", "write_text \"no/such\" \"x\""]).is(1, "", "no/such: there is no such directory");
    dir.adl(&["-e", "write_text \".\" \"x\""]).is(1, "", "it is a directory");
}

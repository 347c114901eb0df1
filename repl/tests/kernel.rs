//! The kernel under Jupyter: Jupyter's own tests for kernels, behaviour that users rely on, and installation.

use crate::jupyter;

use jupyter::{jupyter, run};
use std::path::Path;
use std::process::Command;

#[test]
fn jupyters_own_tests() {
    let said = run(jupyter("python").arg("tests/jupyter/conformance.py")).unwrap_or_else(|e| panic!("{e}"));
    assert!(!said.contains("skipped"), "{said}");
    assert!(said.contains("Ran 13 tests"), "{said}");
}

#[test]
fn what_users_count_on() {
    // They wait most of the time, so two processes side by side take half as long.
    let halves = [&["Cells", "Models"][..], &["Interact", "Lives", "Notebooks", "Table"]];
    let behaviour = |classes| run(jupyter("python").arg("tests/jupyter/behaviour.py").args(classes));
    let said = std::thread::scope(|scope| {
        let running = halves.map(|classes| scope.spawn(move || behaviour(classes)));
        running.map(|half| half.join().unwrap().unwrap_or_else(|e| panic!("{e}")))
    });
    let ran = |said: &String| -> usize {
        let count = said.split("Ran ").nth(1).and_then(|rest| rest.split(' ').next());
        count.unwrap_or_else(|| panic!("{said}")).parse().unwrap()
    };
    let text = std::fs::read_to_string(jupyter::root().join("tests/jupyter/behaviour.py")).unwrap();
    assert_eq!(said.iter().map(ran).sum::<usize>(), text.matches("    def test_").count(), "{said:?}");
}

#[test]
fn front_ends_find_the_kernel() {
    let said = run(jupyter("jupyter").args(["kernelspec", "list", "--json"])).unwrap();
    let found: serde_json::Value =
        serde_json::from_str(&said[said.find('{').unwrap()..=said.rfind('}').unwrap()]).unwrap();
    let adl = &found["kernelspecs"]["adl"];
    assert_eq!(
        (adl["spec"]["display_name"].as_str(), adl["spec"]["interrupt_mode"].as_str()),
        (Some("adl"), Some("message"))
    );
    let dir = Path::new(adl["resource_dir"].as_str().unwrap());
    assert!(["logo-svg.svg", "logo-32x32.png", "logo-64x64.png"].iter().all(|f| dir.join(f).is_file()));
}

#[test]
fn installing_and_removing() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernelspec");
    let _ = std::fs::remove_dir_all(&dir);
    let adl = |args: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_adl"))
            .args(args)
            .env("JUPYTER_DATA_DIR", dir.join("user"))
            .env("VIRTUAL_ENV", dir.join("venv"))
            .output()
            .unwrap()
    };
    for (flag, place) in [
        (&["--user"][..], "user/kernels/adl"),
        (&["--sys-prefix"], "venv/share/jupyter/kernels/adl"),
        (&[], "user/kernels/adl"),
    ] {
        let with = |what: &'static str| [&["kernel", what][..], flag].concat();
        assert!(adl(&with("install")).status.success());
        assert!(dir.join(place).join("kernel.json").is_file());
        assert!(adl(&with("install")).status.success(), "again");
        assert!(adl(&with("uninstall")).status.success());
        assert!(!dir.join(place).exists());
        assert_eq!(adl(&with("uninstall")).status.code(), Some(1));
    }
    assert_eq!(adl(&["kernel", "install", "--user", "--sys-prefix"]).status.code(), Some(2));
}

//! Formatting, lints and documentation, by the tools that Rust installs. A missing component is one line.
//!
//! `cargo clippy` and `cargo doc` would check all dependencies once more. Here their compilers read the libraries that the
//! tests were built with, so only the workspace itself is checked.

use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}

/// A tool that Rust installs beside cargo. Says so if it is missing.
fn tool(name: &str, component: &str) -> Option<PathBuf> {
    let path = cargo().with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if !path.exists() {
        println!("`{name}` is missing: its check is skipped (rustup component add {component})");
    }
    path.exists().then_some(path)
}

fn output(command: &mut Command) -> Output {
    command.current_dir(adl_tests::root()).output().unwrap_or_else(|e| panic!("{command:?}: {e}"))
}

fn assert_clean(what: &str, out: &Output) {
    let (stdout, stderr) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{what}\n{stdout}{stderr}");
}

#[test]
fn the_source_is_formatted() {
    if tool("cargo-fmt", "rustfmt").is_some() {
        assert_clean("cargo fmt", &output(Command::new(cargo()).args(["fmt", "--all", "--check"])));
    }
}

#[test]
fn clippy_has_no_warnings() {
    let Some(clippy) = tool("clippy-driver", "clippy") else { return };
    let build = Build::of_the_tests();
    for t in &build.targets {
        let emit = ["--emit=metadata", "--out-dir"].map(str::to_owned);
        let test = t.test.then(|| "--test".to_owned());
        let mut command = build.compile(&clippy, t);
        command.args(emit).arg(build.scratch.path()).args(test);
        assert_clean(&format!("clippy: {}", t.source), &output(&mut command));
    }
    assert!(build.targets.len() > 40, "{} targets", build.targets.len());
}

#[test]
fn rustdoc_has_no_warnings() {
    let Some(rustdoc) = tool("rustdoc", "rustc") else { return };
    let build = Build::of_the_tests();
    let libraries = || build.targets.iter().filter(|t| t.is_library() && !t.test);
    for t in libraries() {
        let mut command = build.compile(&rustdoc, t);
        command.arg("--out-dir").arg(build.scratch.path());
        assert_clean(&format!("rustdoc: {}", t.source), &output(&mut command));
    }
    assert!(libraries().count() > 18);
}

/// A target of the workspace that the tests compile.
struct CargoTarget {
    package: String,
    name: String,
    kind: String,
    source: String,
    edition: String,
    test: bool,
    features: Vec<String>,
    /// The compiled file.
    file: String,
}

impl CargoTarget {
    fn is_library(&self) -> bool {
        !["bin", "test", "example", "custom-build"].contains(&self.kind.as_str())
    }
}

/// What cargo has compiled for the tests.
struct Build {
    targets: Vec<CargoTarget>,
    /// The library of each package.
    libraries: HashMap<String, String>,
    /// Of each package of the workspace, what it depends on: the name in code, and the package.
    dependencies: HashMap<String, Vec<(String, String)>>,
    /// The directories of build scripts.
    out_dirs: HashMap<String, String>,
    lints: Vec<String>,
    scratch: tempfile::TempDir,
}

fn text(v: &Value) -> String {
    v.as_str().unwrap_or_default().to_owned()
}

fn texts(v: &Value) -> Vec<String> {
    v.as_array().into_iter().flatten().map(text).collect()
}

impl Build {
    fn of_the_tests() -> Build {
        let mut command = Command::new(cargo());
        command.args(["test", "--workspace", "--no-run", "--message-format=json", "--quiet"]);
        command.args((!cfg!(debug_assertions)).then_some("--release"));
        let out = output(&mut command);
        assert_clean("cargo test --no-run", &out);
        let mut build = Build {
            targets: Vec::new(),
            libraries: HashMap::new(),
            dependencies: HashMap::new(),
            out_dirs: HashMap::new(),
            lints: lints(),
            scratch: tempfile::tempdir().unwrap(),
        };
        let messages = String::from_utf8(out.stdout).unwrap();
        messages.lines().filter_map(|l| serde_json::from_str(l).ok()).for_each(|m: Value| build.add(&m));
        build.read_dependencies();
        let here = |t: &CargoTarget| build.dependencies.contains_key(&t.package);
        let (targets, _) = std::mem::take(&mut build.targets).into_iter().partition(here);
        Build { targets, ..build }
    }

    /// Adds what a message of cargo says.
    fn add(&mut self, message: &Value) {
        let package = text(&message["package_id"]);
        if message["reason"] == "build-script-executed" {
            self.out_dirs.insert(package, text(&message["out_dir"]));
        } else if message["reason"] == "compiler-artifact" {
            let t = &message["target"];
            let target = CargoTarget {
                name: text(&t["name"]),
                kind: text(&t["kind"][0]),
                source: text(&t["src_path"]),
                edition: text(&t["edition"]),
                test: message["profile"]["test"] == true,
                features: texts(&message["features"]),
                file: texts(&message["filenames"]).into_iter().find(|f| !f.ends_with(".rmeta")).unwrap_or_default(),
                package,
            };
            if target.is_library() && !target.test {
                let rlib = texts(&message["filenames"]).into_iter().find(|f| f.ends_with(".rlib"));
                let file = rlib.unwrap_or_else(|| target.file.clone());
                // A library may be there a second time without optimisation, for macros.
                if message["profile"]["opt_level"] == "0" {
                    self.libraries.entry(target.package.clone()).or_insert(file);
                } else {
                    self.libraries.insert(target.package.clone(), file);
                }
            }
            self.targets.push(target);
        }
    }

    fn read_dependencies(&mut self) {
        let version = output(Command::new(tool("rustc", "rustc").unwrap()).arg("-vV"));
        let version = String::from_utf8(version.stdout).unwrap();
        let host = version.lines().find_map(|l| l.strip_prefix("host: ")).unwrap();
        let out = output(Command::new(cargo()).args(["metadata", "--format-version=1", "--filter-platform", host]));
        assert_clean("cargo metadata", &out);
        let all: Value = serde_json::from_slice(&out.stdout).unwrap();
        let members = texts(&all["workspace_members"]);
        for node in all["resolve"]["nodes"].as_array().unwrap() {
            let id = text(&node["id"]);
            if members.contains(&id) {
                let deps = node["deps"].as_array().unwrap().iter().map(|d| (text(&d["name"]), text(&d["pkg"])));
                self.dependencies.insert(id, deps.collect());
            }
        }
    }

    /// A compiler with the arguments and variables that cargo would give it for this target.
    fn compile(&self, compiler: &Path, target: &CargoTarget) -> Command {
        let crate_name = target.name.replace('-', "_");
        let root = Path::new(&target.source).ancestors().find(|d| d.join("Cargo.toml").exists()).unwrap();
        let debug = Path::new(env!("CARGO_BIN_EXE_fuzz")).parent().unwrap();
        let mut command = Command::new(compiler);
        command.args([&target.source, "--crate-name", &crate_name, "--edition", &target.edition]);
        if !target.test {
            command.args(["--crate-type", if target.is_library() { "lib" } else { "bin" }]);
        }
        command.arg("-L").arg(format!("dependency={}", debug.join("deps").display()));
        for (name, package) in &self.dependencies[&target.package] {
            if let Some(file) = self.libraries.get(package) {
                command.arg("--extern").arg(format!("{name}={file}"));
            }
        }
        let own = self.targets.iter().find(|o| o.package == target.package && o.is_library() && !o.test);
        if let (Some(own), false) = (own, target.is_library() || target.kind == "custom-build") {
            command.arg("--extern").arg(format!("{}={}", own.name, self.libraries[&own.package]));
        }
        for feature in &target.features {
            command.arg("--cfg").arg(format!("feature={feature:?}"));
        }
        command.args(&self.lints).args(["-D", "warnings"]);
        command.env("CARGO_MANIFEST_DIR", root).env("CARGO_PKG_VERSION", env!("CARGO_PKG_VERSION"));
        command.env("CARGO_TARGET_TMPDIR", env!("CARGO_TARGET_TMPDIR"));
        for bin in self.targets.iter().filter(|o| o.kind == "bin") {
            command.env(format!("CARGO_BIN_EXE_{}", bin.name), &bin.file);
        }
        if let Some(directory) = self.out_dirs.get(&target.package) {
            command.env("OUT_DIR", directory);
        }
        command
    }
}

/// The lints of the workspace, as arguments.
fn lints() -> Vec<String> {
    let manifest = std::fs::read_to_string(adl_tests::root().join("Cargo.toml")).unwrap();
    let (mut prefix, mut all) = (None, Vec::new());
    for line in manifest.lines() {
        if line.starts_with('[') {
            prefix = match line {
                "[workspace.lints.rust]" => Some(""),
                "[workspace.lints.clippy]" => Some("clippy::"),
                _ => None,
            };
        } else if let (Some(prefix), Some((name, level))) = (prefix, line.split_once(" = ")) {
            all.push(format!("--{}={prefix}{name}", level.trim_matches('"')));
        }
    }
    assert!(all.len() > 20, "{all:?}");
    all
}

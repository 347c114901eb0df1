//! Jupyter in a Python environment below `target/`, created on first use. If it cannot be installed, the test fails
//! with that message.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs a command; returns its output, or its messages if it failed.
pub fn run(command: &mut Command) -> Result<String, String> {
    let shown = format!("{command:?}");
    let out = command.output().map_err(|e| format!("{shown}: {e}"))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    if out.status.success() { Ok(text) } else { Err(format!("{shown} failed:\n{text}")) }
}

/// The last line of an error, for a message in one line.
pub fn gist(e: &str) -> &str {
    e.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("")
}

/// The first of these programs on the path. If there is none, the Debian packages are installed.
#[allow(dead_code)]
pub fn program(names: &[&str], packages: &[&str]) -> PathBuf {
    let found = || {
        names
            .iter()
            .find_map(|n| run(Command::new("sh").args(["-c", &format!("command -v {n}")])).ok())
            .map(|p| PathBuf::from(p.trim()))
    };
    if let Some(p) = found() {
        return p;
    }
    install(packages);
    found().unwrap_or_else(|| {
        panic!("{} was installed, but {} is not on the path", packages.join(" "), names.join(" or "))
    })
}

/// Installs Debian packages.
pub fn install(packages: &[&str]) {
    let wanted = packages.join(" ");
    let get = format!("apt-get install -y --no-install-recommends {wanted}");
    if let Err(e) = run(Command::new("sh").args(["-c", &format!("({get} || (apt-get update && {get})) 2>&1")])) {
        panic!("the tests need {wanted}, which apt-get could not install: {}", gist(&e));
    }
}

/// Python with venv. If it is missing, the Debian packages are installed, once for tests that run side by side.
pub fn python() -> Command {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        if run(Command::new("python3").args(["-c", "import ensurepip, venv"])).is_err() {
            install(&["python3", "python3-venv"]);
        }
    });
    Command::new("python3")
}

/// A new Python environment.
fn venv(dir: &Path) -> Result<String, String> {
    let _ = std::fs::remove_dir_all(dir);
    run(python().args(["-m", "venv"]).arg(dir))
}

/// A Python environment with Jupyter and the kernel under test.
fn environment() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("jupyter");
        std::fs::create_dir_all(&dir).unwrap();
        // Test binaries that run concurrently create it once.
        let lock = std::fs::File::create(dir.with_extension("lock")).unwrap();
        lock.lock().unwrap();
        let wanted = std::fs::read_to_string(root().join("tests/jupyter/requirements.txt")).unwrap();
        let mark = dir.join("installed.txt");
        if std::fs::read_to_string(&mark).ok().as_deref() != Some(wanted.as_str()) {
            let installed = venv(&dir).and_then(|_| {
                run(Command::new(dir.join("bin/python"))
                    .args(["-m", "pip", "install", "-q", "-r"])
                    .arg(root().join("tests/jupyter/requirements.txt")))
            });
            if let Err(e) = installed {
                panic!("the tests of the kernel need python3 with venv, and packages from PyPI: {}", gist(&e));
            }
            std::fs::write(mark, wanted).unwrap();
        }
        run(Command::new(env!("CARGO_BIN_EXE_adl")).args(["kernel", "install", "--prefix"]).arg(&dir)).unwrap();
        dir
    })
}

/// A command in the environment, isolated from other Jupyter installations.
pub fn jupyter(program: &str) -> Command {
    let dir = environment();
    let mut command = Command::new(dir.join("bin").join(program));
    // The extension of the Python package stands behind the kernel under test.
    let data = [dir.join("share/jupyter"), root().join("python/adl.data/data/share/jupyter")];
    command
        .current_dir(root())
        .env("VIRTUAL_ENV", dir)
        .env("JUPYTER_PATH", std::env::join_paths(data).unwrap())
        .env("JUPYTER_DATA_DIR", dir.join("data"))
        .env("JUPYTER_RUNTIME_DIR", dir.join("runtime"))
        .env("JUPYTER_CONFIG_DIR", dir.join("config"))
        .env("IPYTHONDIR", dir.join("ipython"))
        .env("JUPYTER_PLATFORM_DIRS", "1");
    command
}

//! The live table of residuals, the protocol and the colours in `JupyterLab`, in a headless browser.

use crate::jupyter;

use jupyter::{gist, jupyter, program, root, run};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A browser: `$CHROME`, an installed one, or Debian's, which is then installed.
fn browser() -> PathBuf {
    let known = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    std::env::var_os("CHROME").map_or_else(|| program(&known, &["chromium"]), PathBuf::from)
}

/// playwright-core, which drives it.
fn playwright() -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("playwright");
    let module = dir.join("node_modules/playwright-core");
    if !module.join("package.json").is_file() {
        std::fs::create_dir_all(&dir).unwrap();
        program(&["node"], &["nodejs"]);
        let npm = program(&["npm"], &["npm"]);
        let made = run(Command::new(npm)
            .args(["install", "--no-save", "--no-audit", "--no-fund", "--prefix"])
            .arg(&dir)
            .arg("playwright-core@1.65.1"));
        if let Err(e) = made {
            panic!("the test of the live table needs node and playwright-core from npm: {}", gist(&e));
        }
    }
    module
}

/// A server that is stopped at the end of the test.
struct Lab(Child);

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts `JupyterLab` in a directory; also returns its address.
fn lab(dir: &Path) -> (Lab, String) {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut child = jupyter("jupyter")
        .args([
            "lab",
            "--no-browser",
            "--allow-root",
            "--ServerApp.token=",
            "--ServerApp.password=",
            "--LabApp.news_url=None",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        ])
        .arg(format!("--ServerApp.port={port}"))
        .arg(format!("--ServerApp.root_dir={}", dir.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut log = String::new();
    loop {
        let mut line = String::new();
        assert!(said.read_line(&mut line).unwrap() > 0, "JupyterLab did not start:\n{log}");
        log.push_str(&line);
        if line.contains(&format!("http://127.0.0.1:{port}/lab"))
            || line.contains(&format!("http://localhost:{port}/lab"))
        {
            break;
        }
    }
    // The rest of the output is discarded, so that it does not fill the pipe.
    std::thread::spawn(move || std::io::copy(&mut said.by_ref(), &mut std::io::sink()));
    (Lab(child), format!("http://127.0.0.1:{port}"))
}

/// The output of a browser script on `JupyterLab` in a directory of this name that contains these files.
fn in_lab(name: &str, files: &[&str], script: &str) -> String {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // JupyterLab asks about notebooks that differ from what a run before, perhaps one that was ended, has left.
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    for f in files {
        std::fs::copy(root().join("tests/jupyter").join(f), dir.join(f)).unwrap();
    }
    let (browser, playwright) = (browser(), playwright());
    let (_lab, url) = lab(&dir);
    run(Command::new("node")
        .arg(root().join("tests/jupyter").join(script))
        .args([&playwright, &browser])
        .arg(url)
        .arg(&dir))
    .unwrap_or_else(|e| panic!("{e}"))
}

// A single test: several servers at the same time would share JupyterLab's settings.
#[test]
fn the_kernel_in_jupyterlab() {
    let said = in_lab("lab", &["live.ipynb"], "browser.mjs");
    assert!(said.contains("the live table works"), "{said}");
    let said = in_lab("protocol", &[], "protocol.mjs");
    assert!(said.contains("JupyterLab shows what the kernel says"), "{said}");
    let said = in_lab("colours", &["colours.adl"], "colours.mjs");
    assert!(said.contains("JupyterLab colours adl"), "{said}");
}

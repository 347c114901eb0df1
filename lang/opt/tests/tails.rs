//! Tail calls as loops: as text, and with the results of before.

use adl_ir::eval::{Val, run};
use adl_ir::print::{self, Style};
use adl_ir::{FnId, Op, Program, Ty};
use std::collections::HashSet;
use std::path::Path;

/// Small arguments, so that functions that count down end.
fn argument(ty: &Ty) -> Val {
    match ty {
        Ty::I64 => Val::I64(4),
        Ty::F64 => Val::F64(0.75),
        Ty::Array(..) => Val::floats(&[0.5, -1.25, 2.0]),
        other => panic!("no argument of type {other:?}"),
    }
}

/// `tails.ir` with each function as the root in turn; `UPDATE=1` rewrites `tails.out`.
#[test]
fn tail_calls_become_loops() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes");
    let read = |end: &str| std::fs::read_to_string(dir.join(format!("tails.{end}"))).unwrap_or_default();
    let before: Program = adl_ir::parse::program(&read("ir")).unwrap_or_else(|e| panic!("{e}"));
    let mut after = before.clone();
    let mut seen = HashSet::new();
    let calls_itself = |p: &Program, f: FnId| {
        fn calls(b: &adl_ir::Block, f: FnId) -> bool {
            b.stmts.iter().any(|s| {
                matches!(s.op, Op::Call { f: callee, .. } if callee == f)
                    || s.op.blocks().into_iter().any(|b| calls(b, f))
            })
        }
        calls(&p.func(f).body, f)
    };
    for f in (0..before.funcs.len() as u32).map(FnId) {
        adl_ir::verify(&before, before.func(f)).unwrap_or_else(|e| panic!("{e:?}"));
        adl_opt::tail_calls::as_loops(&mut after, f, &mut seen);
        adl_ir::verify(&after, after.func(f)).unwrap_or_else(|e| panic!("{e:?}"));
        let name = &before.func(f).name;
        assert_eq!(calls_itself(&after, f), name.starts_with("not"), "{name}");
        let args: Vec<Val> = before.func(f).tys(&before.func(f).body.params).iter().map(argument).collect();
        let [want, have] = [&before, &after].map(|p| run(p, f, &args, &[]).unwrap_or_else(|e| panic!("{e}")).results);
        assert_eq!(have, want, "{name}");
    }
    let out = print::program(&after, Style::PLAIN);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(dir.join("tails.out"), &out).unwrap_or_else(|e| panic!("{e}"));
    }
    assert_eq!(out, read("out"));
}

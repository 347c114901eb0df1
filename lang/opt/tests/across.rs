//! Elimination of dead results: as text, and on generated programs of which one result is read.

use adl_ir::eval::run;
use adl_ir::print::{self, Style};
use adl_ir::{Block, FnId, Function, Op, Program, Stmt, Var, VarInfo, verify};
use adl_opt::ipo_dce;
use std::path::Path;

fn verified(p: &Program) {
    for f in &p.funcs {
        verify(p, f).unwrap_or_else(|e| panic!("{}: {e:?}", f.name));
    }
}

/// `across.ir` with each function as the root in turn; `UPDATE=1` rewrites `across.out`.
#[test]
fn what_is_read_is_made() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes");
    let read = |end: &str| std::fs::read_to_string(dir.join(format!("across.{end}"))).unwrap_or_default();
    let mut p = adl_ir::parse::program(&read("ir")).unwrap_or_else(|e| panic!("{e}"));
    let mut out = String::new();
    for f in (0..p.funcs.len() as u32).map(FnId) {
        let made = ipo_dce::trim(&mut p, f).root;
        out += &format!("f{} is f{}\n", f.0, made.0);
    }
    verified(&p);
    out += &print::program(&p, Style::PLAIN);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(dir.join("across.out"), &out).unwrap_or_else(|e| panic!("{e}"));
    }
    assert_eq!(out, read("out"));
}

/// Adds a function that calls `f` and returns one of its results.
fn reader(p: &mut Program, f: FnId, which: usize) -> FnId {
    let callee = p.func(f);
    let vars = |vs: &[Var]| -> Vec<VarInfo> { callee.tys(vs).into_iter().map(|ty| VarInfo::new(ty, false)).collect() };
    let (params, results) = (vars(&callee.body.params), vars(&callee.body.results));
    let args: Vec<Var> = (0..params.len() as u32).map(Var).collect();
    let outs: Vec<Var> = (params.len() as u32..(params.len() + results.len()) as u32).map(Var).collect();
    let call = Op::Call { f, args: args.clone(), lin_args: Vec::new(), rule: None, checkpoint: false };
    let stmt = Stmt { outs: outs.clone(), lin_outs: Vec::new(), op: call, span: Default::default() };
    let body = Block { params: args, stmts: vec![stmt], results: vec![outs[which]], ..Block::default() };
    p.add(Function { name: "reader".into(), vars: [params, results].concat(), body, ..Function::default() })
}

#[test]
fn generated_programs_give_the_same_for_no_more_work() {
    let mut changed = 0;
    for seed in 0..300 {
        let g = adl_ir::generate::program(seed, 6 + (seed % 40) as usize);
        let mut p = g.program.clone();
        for which in 0..p.func(g.main).body.results.len() {
            let root = reader(&mut p, g.main, which);
            let made = ipo_dce::trim(&mut p, root).root;
            verified(&p);
            changed += usize::from(made != root);
            let [plain, trimmed] =
                [root, made].map(|f| run(&p, f, &g.args, &[]).unwrap_or_else(|e| panic!("seed {seed}: {e}")));
            assert_eq!(format!("{:?}", plain.results), format!("{:?}", trimmed.results), "seed {seed}");
            assert!(
                trimmed.counts.total <= plain.counts.total,
                "seed {seed}: {} against {}",
                trimmed.counts.total,
                plain.counts.total
            );
        }
    }
    assert!(changed > 50, "only {changed} programs were changed");
}

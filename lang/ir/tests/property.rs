//! Random programs: verified, printed and parsed, evaluated.

use adl_ir::eval::{Evaluator, Simple};
use adl_ir::generate::{self, Generated};
use adl_ir::print::{self, Style};
use adl_ir::{Op, Program, parse, verify};
use std::collections::BTreeSet;

fn each(test: impl Fn(&Generated) -> Result<(), String>) {
    for seed in 0..400 {
        let size = 1 + (seed as usize * 7) % 45;
        if test(&generate::program(seed, size)).is_err() {
            let small = generate::smallest(seed, size, |g| test(g).is_err()).expect("the one that failed");
            let why = test(&small).unwrap_err();
            panic!("seed {seed}, size {}: {why}\n{}", small.size, print::program(&small.program, Style::PLAIN));
        }
    }
}

#[test]
fn programs_are_well_typed() {
    each(|g| verify::verify_program(&g.program));
}

#[test]
fn exact_text_reads_back_equal() {
    each(|g| {
        let text = print::program(&g.program, Style::EXACT);
        let back = parse::program(&text).map_err(|e| e.to_string())?;
        if back == g.program { Ok(()) } else { Err("the program that was read differs".to_owned()) }
    });
}

#[test]
fn plain_text_reads_back_without_places() {
    each(|g| {
        let text = print::program(&g.program, Style::PLAIN);
        let back = parse::program(&text).map_err(|e| e.to_string())?;
        verify::verify_program(&back)?;
        if print::program(&back, Style::PLAIN) == text { Ok(()) } else { Err("the text changed".to_owned()) }
    });
}

#[test]
fn programs_end_tamely_and_work_adds_up() {
    each(|g| {
        let mut host = Simple;
        let mut ev = Evaluator::new(&g.program, &mut host);
        ev.fuel = 1_000_000;
        let out = ev.run(g.main, &g.args, &[]).map_err(|e| e.to_string())?;
        let again = Evaluator::new(&g.program, &mut Simple).run(g.main, &g.args, &[]).map_err(|e| e.to_string())?;
        let wild = out.results.iter().flat_map(adl_ir::Val::reals).any(|x| x.is_nan() || x.abs() > 10.0);
        let by_span: u64 = out.counts.by_span.values().sum();
        match () {
            () if out != again => Err("two runs differ".to_owned()),
            () if wild => Err(format!("wild results: {:?}", out.results)),
            () if by_span != out.counts.total || out.counts.linear != 0 => Err("counts do not add up".to_owned()),
            () => Ok(()),
        }
    });
}

/// The keywords of all operations in a program.
fn words(p: &Program) -> BTreeSet<&'static str> {
    let mut out = BTreeSet::new();
    let mut todo: Vec<_> = p.funcs.iter().map(|f| &f.body).collect();
    while let Some(b) = todo.pop() {
        for stmt in &b.stmts {
            out.insert(match &stmt.op {
                Op::If(..) => "if",
                Op::Switch(..) => "switch",
                Op::Call { .. } => "call",
                Op::Soac(_) => "soac",
                Op::ReduceByIndex { .. } => "by_index",
                Op::Construct { .. } => "construct",
                Op::Destruct { .. } => "fields",
                Op::IndexAdd { .. } => "index_add",
                Op::MatMul(..) => "matmul",
                Op::Loop(l) => match (&l.trip, l.init.is_empty()) {
                    (adl_ir::Trip::While(_), _) => "while",
                    (_, true) => "map",
                    (_, false) => "carry",
                },
                _ => "other",
            });
            todo.extend(stmt.op.blocks());
        }
    }
    out
}

#[test]
fn the_generator_reaches_every_construct() {
    let mut seen = BTreeSet::new();
    for seed in 0..100 {
        seen.extend(words(&generate::program(seed, 30).program));
    }
    let want = [
        "if",
        "switch",
        "call",
        "soac",
        "by_index",
        "construct",
        "fields",
        "index_add",
        "matmul",
        "while",
        "map",
        "carry",
        "other",
    ];
    assert_eq!(seen, want.into_iter().collect());
}

#[test]
fn shrinking_finds_the_smallest() {
    let has_loop = |g: &Generated| words(&g.program).contains("map");
    let seed = (0..).find(|s| has_loop(&generate::program(*s, 30))).expect("a seed");
    let small = generate::smallest(seed, 30, has_loop).expect("it has one");
    assert!(has_loop(&small) && (small.size == 0 || !has_loop(&generate::program(seed, small.size - 1))));
}

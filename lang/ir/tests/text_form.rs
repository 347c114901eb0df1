//! The text form: literals and names, comments in the plain style, syntax errors, and invalid texts.

use adl_ir::generate::{self, rng::Rng};
use adl_ir::print::{self, Style};
use adl_ir::{DataDecl, Lit, Op, Program, Ty, parse};

fn round_trip(p: &Program) {
    let text = print::program(p, Style::EXACT);
    let back = parse::program(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    // Compares the debug output, so that nan equals nan and -0.0 differs from 0.0.
    assert_eq!(format!("{back:?}"), format!("{p:?}"), "{text}");
}

#[test]
fn every_literal_reads_back() {
    let mut builder = adl_ir::Builder::new("literals");
    for number in [
        0.0,
        -0.0,
        1.0,
        0.1,
        1e300,
        1e-300,
        5e-324,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        -f64::NAN,
        1e16,
    ] {
        builder.lit(Lit::F64(number));
        builder.lit(Lit::F32(number as f32));
    }
    for n in [0, -1, i64::MIN, i64::MAX] {
        builder.int(n);
    }
    for s in ["", "plain", "a \"quoted\" \\ text", "line\nfeed\ttab\u{0}", "-- no comment", "\u{3bb} \u{1f600}"] {
        builder.lit(Lit::Str(s.into()));
    }
    builder.lit(Lit::Bool(true));
    let mut p = Program::default();
    p.add(builder.finish(vec![], vec![]));
    round_trip(&p);
    // The bits of a nan are kept.
    let Op::Lit(Lit::F64(x)) =
        parse::program("fn f () -> () { v0: f64 = nanxfff8000000000001 return }").unwrap().funcs[0].body.stmts[0].op
    else {
        panic!("a literal");
    };
    assert_eq!(x.to_bits(), 0xfff8_0000_0000_0001);
}

#[test]
fn every_name_reads_back() {
    let mut program = Program::default();
    for name in [
        "",
        "x",
        "x_1",
        "v7",
        "f0",
        "data",
        "fn",
        "return",
        "true",
        "inf",
        "two words",
        "a'",
        "'",
        "1st",
        "`",
        "\"",
        "\\",
        "a\nb",
        "\u{3bb}",
        "D0",
        "_",
    ] {
        let mut b = adl_ir::Builder::new(name);
        let (x, y) = (b.param(Ty::F64), b.lin_param(Ty::F64));
        b.func.vars[0].name = Some(name.into());
        b.func.vars[1].name = Some(name.into());
        // A variable that is not bound.
        b.func.fresh(Ty::F64.array(2).boxed(), true);
        program.add(b.finish(vec![x], vec![y]));
        program.add_data(DataDecl {
            name: name.to_owned(),
            cons: vec![(name.to_owned(), vec![]), (name.to_owned(), vec![Ty::Str, Ty::F32.array(3)])],
            declared: None,
        });
    }
    program.add_data(DataDecl::default());
    program.reserve("to be made");
    round_trip(&program);
}

#[test]
fn people_see_lines_and_callees() {
    let source = "let square x = x * x\n\nlet f x = square x + 1.0\n";
    let text = "data D0 List = Nil | Cons(f64, D0)
fn f0 \"jvp square\" (x_0: f64) -> (f64) {
  v1: f64 = mul x_0 x_0 @15..20
  return v1
}
fn f1 f (x_0: f64) -> (f64, D0) {
  v1: f64 = call f0(x_0) checkpoint @33..41
  v2: f64 = 1.0 @44..47
  v3: f64 = add v1 v2 @33..47
  v4: D0 = construct D0.0
  return v3, v4
}";
    let p = parse::program(text).unwrap();
    round_trip(&p);
    let shown = print::program(&p, Style { exact: false, source: Some(source) });
    let want = "data D0 List = Nil | Cons(f64, D0)

fn f0 \"jvp square\" (x_0: f64) -> (f64) {
  v1: f64 = mul x_0 x_0  -- line 1
  return v1
}

fn f1 f (x_0: f64) -> (f64, D0) {
  v1: f64 = call f0(x_0) checkpoint  -- jvp square, line 3
  v2: f64 = 1.0
  v3: f64 = add v1 v2
  v4: D0 = construct D0.0  -- Nil
  return v3, v4
}
";
    assert_eq!(shown, want);
}

#[test]
fn errors_say_where() {
    let at = |text: &str| parse::program(text).unwrap_err().to_string();
    assert_eq!(
        at("fn f (v0: f64) -> (f64) {\n  v1: f64 = sinn v0\n  return v1\n}"),
        "2:13: there is no operation `sinn`"
    );
    assert_eq!(at("fn f (v0: f64) -> (f64) {\n  return v1\n}"), "2:10: variable 1 is not bound anywhere");
    assert_eq!(at("fn f (x_0: f64) -> (f64) { return y_0 }"), "1:35: variable 0 has another name where it is bound");
    assert_eq!(at("fn f (x_0: f64) -> (f64) { return x_0~ }"), "1:35: variable 0 has another name where it is bound");
    assert_eq!(at("fn f (v0: f64) -> (i64) { return v0 }"), "1:19: the results have other types");
    assert_eq!(at("fn f (v0 f64)"), "1:10: `:` was expected, not `f64`");
    assert_eq!(at("fn f (v0: float)"), "1:11: a type was expected, not `float`");
    assert_eq!(at("fn f () -> () {"), "1:16: an operation was expected, not the end");
    assert_eq!(at("fn f () -> () { return } x"), "1:26: `data` or `fn` was expected, not `x`");
    assert_eq!(at("fn f1 f () -> () { return }"), "1:4: this is function f0");
    assert_eq!(at("fn f () -> () { prim nothing return }"), "1:22: there is no built-in `nothing`");
    assert_eq!(at("fn f () -> () { v0: str = \"open"), "1:32: the quoted text does not end");
    assert_eq!(
        at("fn f () -> () { v0: i64 = 99999999999999999999 return }"),
        "1:27: a number was expected, not `99999999999999999999`"
    );
    assert_eq!(
        at("fn f (v4000000000: f64) -> () { return }"),
        "1:7: a smaller number of a variable was expected, not `v4000000000`"
    );
    assert_eq!(at("fn f (v0: f64) -> () { v0: i64 = 1 return }"), "1:24: variable 0 is bound twice, differently");
    assert_eq!(at("?"), "1:1: `?` means nothing here");
}

#[test]
fn deep_texts_are_refused() {
    let types = format!("fn f (v0: {}f64", "[](".repeat(100_000));
    assert!(parse::program(&types).unwrap_err().message.contains("deep"));
    let blocks = format!("fn f (v0: bool) -> () {{ {}", "if v0 { ".repeat(100_000));
    assert!(parse::program(&blocks).unwrap_err().message.contains("deep"));
}

/// Mutated texts give errors or other programs, on which the verifier and the evaluator must not panic.
/// `FUZZ_SEEDS=6000` tries more.
#[test]
fn mutated_texts_do_no_harm() {
    let mut rng = Rng::new(1);
    let (mut read, mut refused) = (0, 0);
    for seed in 0..std::env::var("FUZZ_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(150) {
        let generated = generate::program(seed, 12);
        let text: Vec<char> = print::program(&generated.program, Style::EXACT).chars().collect();
        for _ in 0..20 {
            let mut mutated = text.clone();
            for _ in 0..rng.between(1, 3) {
                let (i, j) = (rng.below(mutated.len()), rng.below(mutated.len()));
                match rng.below(4) {
                    0 => {
                        mutated.remove(i);
                    }
                    1 => mutated[i] = mutated[j],
                    2 => mutated.insert(i, mutated[j]),
                    _ => {
                        mutated.drain(i..(i + 5).min(mutated.len()));
                    }
                }
            }
            let t: String = mutated.into_iter().collect();
            let Ok(p) = parse::program(&t) else {
                refused += 1;
                continue;
            };
            read += 1;
            let _ = adl_ir::verify::verify_program(&p);
            print::program(&p, Style::PLAIN);
            let mut host = adl_ir::eval::Simple;
            let mut ev = adl_ir::Evaluator::new(&p, &mut host);
            ev.fuel = 20_000;
            let _ = ev.run(generated.main, &generated.args, &[]);
        }
    }
    assert!(read > 200 && refused > 200, "{read} {refused}");
}

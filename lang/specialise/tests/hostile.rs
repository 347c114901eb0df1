//! Programs for which a naive specialiser would not terminate, or would generate too much code.

use crate::common;

use adl_ad::Ad;
use adl_ir::Program;
use adl_specialise::{Cache, specialise};
use adl_typing::ty::Ty;
use common::{CheckedDefinitions, check, made, made_as, signature};
use std::time::Instant;

/// The reason why a program is not specialised.
fn refused(text: &str) -> String {
    match made_as(text, &signature(text)) {
        Err(u) => u.why,
        Ok(m) => panic!("{}", common::ir(&m.program)),
    }
}

#[test]
fn functions_that_grow_from_call_to_call() {
    let start = Instant::now();
    check(
        "let rec go (n : Int) (k : Float -> Float) : Float = if n == 0 then k 1.0 else go (n - 1) (fun x -> k (x * 2.0))\nlet it = go 9 (fun x -> x)",
    );
    check("type F = F (Float -> Float)\nlet it = match F sin with | F f -> f 1.0");
    // A function that takes itself has no type, but a constructor makes it possible.
    check(
        "type R = R (R -> Float -> Float)\nlet f (r : R) (x : Float) = match r with | R g -> if x > 100.0 then x else g r (x * 2.0)\nlet it = f (R f) 1.0",
    );
    assert!(start.elapsed().as_secs() < 20);
}

#[test]
fn types_that_grow_from_level_to_level() {
    let nested = "-- at Float\ntype Nest a = End | More a (Nest (a, a))\nlet main (x : Float) = match More x End with | End -> 0.0 | More y _ -> y";
    assert!(refused(nested).contains("ever larger types"));
}

#[test]
fn what_has_no_place_in_the_ir() {
    for (text, why) in [
        ("-- at Float\nlet main (x : Float) = map (fun k -> (fun y -> y * k)) [x]", "a result that is a function"),
        ("-- at Float\ntype F = F (Float -> Float)\nlet main (x : Float) = F sin", "a result that is a function"),
        ("-- at Float\nlet main (x : Float) = (fun y -> x * y)", "a result that is a function"),
    ] {
        assert!(refused(text).contains(why), "{text}: {}", refused(text));
    }
}

#[test]
fn values_that_double_from_line_to_line() {
    let lines: String = (0..13).map(|k| format!("  let y{} = (y{k}, y{k})\n", k + 1)).collect();
    let text = format!("-- at Float\nlet main (y0 : Float) =\n{lines}  let (a, _) = y13\n  let (b, _) = a\n  y0");
    assert!(refused(&text).contains("very many parts"), "{}", refused(&text));
}

#[test]
fn a_type_that_has_no_place_in_the_ir_is_refused_again() {
    let mut definitions = CheckedDefinitions::new();
    let text = "type Marks = Marks ([_]()) | Scale Float\nlet main (x : Float) = match (if x > 1.0 then Scale x else Marks [()]) with | Marks _ -> x | Scale y -> x * y";
    definitions.program(text).unwrap();
    let (mut program, mut ad, mut cache) = (Program::default(), Ad::new(), Cache::default());
    for attempt in 0..2 {
        let made = specialise(&mut definitions, &mut ad, &mut program, &mut cache, &[Ty::Float]);
        let why = made.err().map(|u| u.why.clone()).unwrap_or_default();
        assert!(why.contains("an array of `()`"), "attempt {attempt}: {why}");
    }
}

/// The number of statements in all functions.
fn size(text: &str) -> usize {
    common::ir(&made(&format!("{text}\nlet main () = it")).unwrap_or_else(|u| panic!("{}", u.why)).program)
        .lines()
        .count()
}

#[test]
fn code_grows_with_the_program() {
    // Each function calls the one before twice.
    let chain = |n: usize| {
        let mut t = "let f0 (x : Float) = for i < 2 -> x\n".to_owned();
        (1..n).for_each(|k| t.push_str(&format!("let f{k} (x : Float) = f{} x + f{} (x + 1.0)\n", k - 1, k - 1)));
        format!("{t}let it = f{} 1.0", n - 1)
    };
    assert!(size(&chain(40)) < 3 * size(&chain(20)));
    // A default that nine of ten constructors reach, in three places.
    let cons: Vec<String> = (0..10).map(|k| format!("C{k} Float")).collect();
    let many = format!(
        "type T = {}\nlet f a b c = match (a, b, c) with | (C0 x, _, _) -> x | (_, C0 x, _) -> x * 2.0 | (_, _, C0 x) -> x * 3.0 | _ -> 0.0\nlet it = f (C1 1.0) (C2 2.0) (C0 3.0)",
        cons.join(" | ")
    );
    assert!(size(&many) < 400, "{}", size(&many));
    check(&many);
}

#[test]
fn long_and_deep_programs() {
    let lets: String = (0..3000).map(|k| format!("  let x{} = x{k} + 1.0\n", k + 1)).collect();
    check(&format!("let f (x0 : Float) =\n{lets}  x3000\nlet it = f 1.0"));
    let nested = format!("let f (x : Float) = {}x{}\nlet it = f 1.0", "(1.0 + ".repeat(1000), ")".repeat(1000));
    check(&nested);
    let ifs = format!(
        "let f (x : Float) = {} 0.0\nlet it = f 150.5",
        (0..200).map(|k| format!("if x < {k}.0 then {k}.5 else ")).collect::<String>()
    );
    check(&ifs);
}

#[test]
fn a_function_is_made_once_for_each_level_of_derivatives() {
    let text = "-- at Float
type F = F (Float -> Float)
let square = custom_jvp (fun z -> z * z) (fun z -> (z * z, lin dz -> 2.0 * z * dz))
let applied o (x : Float) = match o with | F g -> g x
let choose (x : Float) = if x > 2.0 then F sin else F cos
let rec f (x : Float) : Float =
  let b = square x
  let a = applied (choose x) x
  if x > 3.0 then grad f (x - 1.0) else a * b
let main x = grad f x";
    let made = made_as(text, &signature(text)).unwrap_or_else(|u| panic!("{}", u.why));
    for name in ["f", "applied", "choose", "apply", "custom", "rule"] {
        let count = made.program.funcs.iter().filter(|f| f.name == *name).count();
        assert_eq!(count, 2, "{name}");
    }
}

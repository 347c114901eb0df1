//! Large programs of a given size, to measure how the time of checking grows.

use std::fmt::Write;

/// Concatenates the texts that `f` returns for `0..n`, separated by `between`.
fn each(n: usize, between: &str, f: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    for i in 0..n {
        if i > 0 {
            out.push_str(between);
        }
        out.push_str(&f(i));
    }
    out
}

/// `let rec f x = match x with | S Z -> 1 | S (S Z) -> 2 ...`.
fn nested_patterns(n: usize) -> String {
    let mut out = "type N = Z | S N\nlet f x = match x with\n  | Z -> 0\n".to_owned();
    for i in 1..n {
        let _ = writeln!(out, "  | {}Z{} -> {i}", "S (".repeat(i), ")".repeat(i));
    }
    out.push_str("  | _ -> 9\n");
    out
}

fn list_patterns(n: usize) -> String {
    let mut out = "let f x = match x with\n  | Nil -> 0\n".to_owned();
    for i in 1..n {
        let _ = writeln!(out, "  | {} :: Nil -> x0", each(i, " :: ", |k| format!("x{k}")));
    }
    out.push_str("  | _ -> 9\n");
    out
}

fn tuple_patterns(n: usize) -> String {
    let mut out = "type C = A | B | C\nlet f x = match x with\n".to_owned();
    for i in 0..n {
        let _ = writeln!(out, "  | ({}) -> {i}", each(n, ", ", |k| if k == i { "A".into() } else { "B".into() }));
    }
    out.push_str("  | _ -> 9\n");
    out
}

/// A program of size `n`.
pub type Make = fn(usize) -> String;

/// Names, sizes that take some milliseconds, and generators.
pub const PROGRAMS: &[(&str, usize, Make)] = &[
    ("fields of an open record", 500, |n| format!("let f r = {}\n", each(n, " + ", |i| format!("r.a{i}")))),
    ("an open record passed on", 250, |n| {
        format!(
            "{}\nlet f r = {}\n",
            each(n, "\n", |i| format!("let g{i} r = r.a{i} + 1.0")),
            each(n, " + ", |i| format!("g{i} r"))
        )
    }),
    ("a record pattern", 500, |n| {
        format!(
            "let f {{{}}} = a0\nlet r = f {{{}}}\n",
            each(n, ", ", |i| format!("a{i}")),
            each(n, ", ", |i| format!("a{i} = {i}"))
        )
    }),
    ("constructor patterns of depth 1 to n", 50, nested_patterns),
    ("list patterns of length 1 to n", 50, list_patterns),
    ("n tuples of n constructors", 50, tuple_patterns),
    ("literal arms", 2_000, |n| {
        format!("let f x = match x with\n{}\n  | _ -> 0\n", each(n, "\n", |i| format!("  | {i} -> {i}")))
    }),
    ("text arms", 2_000, |n| {
        format!("let f x = match x with\n{}\n  | _ -> 0\n", each(n, "\n", |i| format!("  | \"t{i}\" -> {i}")))
    }),
    ("constructors and arms", 1_000, |n| {
        format!(
            "type T = {}\nlet f x = match x with\n{}\n",
            each(n, " | ", |i| format!("C{i} Int")),
            each(n, "\n", |i| format!("  | C{i} y -> y + {i}"))
        )
    }),
    ("unknown names beside known ones", 1_000, |n| {
        format!(
            "{}\n{}\n",
            each(n, "\n", |i| format!("let known{i} = {i}")),
            each(n, "\n", |i| format!("let other{i} = unknwn{i}"))
        )
    }),
    ("unknown names in one item", 900, |n| format!("let f x = {}\n", each(n, " + ", |i| format!("unknwn{i}")))),
    ("definitions", 4_000, |n| format!("{}\n", each(n, "\n", |i| format!("let a{i} = {i}")))),
    ("definitions of functions", 2_000, |n| {
        format!("let f0 x = x\n{}\n", each(n, "\n", |i| format!("let f{} x = f{i} x + 1.0", i + 1)))
    }),
    ("local definitions", 4_000, |n| {
        format!("let f x =\n{}\n  a0\n", each(n, "\n", |i| format!("  let a{i} = x + {i}.0")))
    }),
    ("local functions", 1_000, |n| {
        format!("let f x =\n{}\n  g0 x\n", each(n, "\n", |i| format!("  let g{i} y = y + x * {i}.0")))
    }),
    ("a chain of local definitions", 4_000, |n| {
        format!(
            "let f x =\n  let a0 = sin x\n{}\n  a{n}\n",
            each(n, "\n", |i| format!("  let a{} = sin a{i} * 2.0", i + 1))
        )
    }),
    ("local generic functions", 500, |n| {
        format!("let f x =\n{}\n  g0 x\n", each(n, "\n", |i| format!("  let g{i} : Num a => a -> a = fun y -> y + y")))
    }),
    ("parameters", 900, |n| {
        format!("let f {} = {}\n", each(n, " ", |i| format!("x{i}")), each(n, " + ", |i| format!("x{i}")))
    }),
    ("pairs of parameters", 300, |n| {
        format!(
            "let f {} = ({})\n",
            each(n, " ", |i| format!("x{i}")),
            each(n, ", ", |i| format!("x{i} * x{}", (i + 1) % n))
        )
    }),
    ("arguments", 240, |n| {
        format!("let f {} = x0\nlet y = f {}\n", each(n, " ", |i| format!("x{i}")), each(n, " ", |i| format!("{i}.5")))
    }),
    ("elements of an array", 10_000, |n| format!("let a = [{}]\n", each(n, ", ", |i| format!("{i}.5")))),
    ("elements of a list", 400, |n| format!("let a = {} :: Nil\n", each(n, " :: ", |i| format!("{i}.5")))),
    ("pairs in an array", 4_000, |n| format!("let a = [{}]\n", each(n, ", ", |i| format!("({i}, {i}.5)")))),
    ("records in an array", 2_000, |n| format!("let a = [{}]\n", each(n, ", ", |i| format!("{{x = {i}, y = {i}.5}}")))),
    ("fields of a record", 900, |n| {
        format!(
            "let r = {{{}}}\nlet s = {}\n",
            each(n, ", ", |i| format!("a{i} = {i}.5")),
            each(n, " + ", |i| format!("r.a{i}"))
        )
    }),
    ("updates of a record", 300, |n| {
        format!(
            "let r = {{{}}}\nlet s = {{r with {}}}\n",
            each(n, ", ", |i| format!("a{i} = {i}.5")),
            each(n, ", ", |i| format!("a{i} = 0.5"))
        )
    }),
    ("components of a tuple", 1_000, |n| format!("let t = ({})\n", each(n, ", ", |i| format!("{i}.5")))),
    ("a tuple taken apart", 500, |n| {
        format!("let t = ({})\nlet ({}) = t\n", each(n, ", ", |i| format!("{i}.5")), each(n, ", ", |i| format!("a{i}")))
    }),
    ("operators", 900, |n| format!("let f x = {}\n", each(n, " * ", |i| format!("(x + {i}.0)")))),
    ("pipes", 900, |n| format!("let f x = x {}\n", each(n, " ", |_| "|> sin".into()))),
    ("compositions", 900, |n| format!("let f = {}\n", each(n, " >> ", |_| "sin".into()))),
    ("nested parentheses", 400, |n| format!("let a = {}1{}\n", "(".repeat(n), ")".repeat(n))),
    ("nested conditions", 900, |n| format!("let f x = {} 0\n", each(n, " ", |i| format!("if x == {i} then {i} else")))),
    ("types", 2_000, |n| {
        format!("{}\n", each(n, "\n", |i| format!("type T{i} = A{i} | B{i} T{}", i.saturating_sub(1))))
    }),
    ("aliases", 2_000, |n| {
        format!("type alias T0 = [n]Float\n{}\n", each(n, "\n", |i| format!("type alias T{} = T{i}", i + 1)))
    }),
    ("mutually recursive types", 1_000, |n| {
        format!("type {}\n", each(n, "\nand ", |i| format!("T{i} = A{i} | B{i} T{}", (i + 1) % n)))
    }),
    ("mutually recursive functions", 500, |n| {
        format!(
            "let rec {}\n",
            each(n, "\nand ", |i| format!("f{i} x = if x == 0 then 0 else f{} (x - 1)", (i + 1) % n))
        )
    }),
    ("interpolations", 4_000, |n| format!("let f x = f\"{}\"\n", each(n, " ", |_| "{x}".into()))),
    ("statements", 4_000, |n| format!("let f x =\n{}\n  x\n", each(n, "\n", |i| format!("  print (x + {i}.0)")))),
    ("or-patterns", 2_000, |n| {
        format!("let f x = match x with\n  | {} -> 1\n  | _ -> 0\n", each(n, " | ", |i| format!("{i}")))
    }),
    ("guards", 1_000, |n| {
        format!("let f x = match x with\n{}\n  | _ -> 0\n", each(n, "\n", |i| format!("  | y when y > {i} -> {i}")))
    }),
    ("arms that nothing reaches", 1_000, |n| {
        format!("let f x = match x with\n  | _ -> 0\n{}\n", each(n, "\n", |i| format!("  | {i} -> {i}")))
    }),
    ("types that differ", 1_000, |n| format!("{}\n", each(n, "\n", |i| format!("let a{i} = 1 + \"t{i}\"")))),
    ("indices", 900, |n| format!("let f (x : [_]Float) = {}\n", each(n, " + ", |i| format!("x[{i}]")))),
    ("comprehensions", 1_000, |n| {
        format!(
            "let f (x : [_]Float) =\n{}\n  a0\n",
            each(n, "\n", |i| format!("  let a{i} = for j < len x -> x[j] + {i}.0"))
        )
    }),
    ("calls of a generic function", 2_000, |n| {
        format!("let g x y = (x, y)\nlet f x = [{}]\n", each(n, ", ", |_| "g x 1.0".into()))
    }),
    ("tests", 2_000, |n| format!("{}\n", each(n, "\n", |i| format!("test \"t{i}\" = {i} + 1 == {}", i + 1)))),
    ("annotations with sizes", 500, |n| {
        format!("{}\n", each(n, "\n", |i| format!("let f{i} (x : [n]Float) (y : [n][m]Float) : [m]Float = x @ y")))
    }),
    ("sizes of one function", 300, |n| format!("let f {} = 1\n", each(n, " ", |i| format!("(x{i} : [n{i}]Float)")))),
];

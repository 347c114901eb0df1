//! Both derivations give the same results: every program, with derivatives by transformed code and on the tape.

use crate::programs::{expected, run};
use adl_tests::{echo_in, session};
use std::path::PathBuf;

fn scripts() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = ["tests/programs", "examples"].into_iter().flat_map(crate::programs::scripts).collect();
    // What a plan stores, and the patterns of sparse Jacobians, are of compiled AD alone. A tape keeps a record of each
    // number, which the gradient of a large Jacobian has too many of; and no extents of the rows of no rows.
    let compiled_only = ["long_ode", "sparse", "jacobian_sparse_gradients", "empty_arrays", "no_rows"];
    // What is repeated until native code runs takes half of a minute each on a tape, and shows nothing of it.
    let repeated = ["short_sums", "nests", "grad_joined"];
    all.retain(|p| {
        let name = p.file_stem().and_then(|n| n.to_str()).unwrap_or("");
        !compiled_only.contains(&name) && !repeated.contains(&name)
    });
    all
}

/// Whether two texts are equal but for the last digits of numbers.
fn agree(a: &str, b: &str) -> bool {
    let words = |t: &str| -> Vec<String> {
        t.split(|c: char| c.is_whitespace() || "()[],{}=:".contains(c)).map(str::to_owned).collect()
    };
    let (a, b) = (words(a), words(b));
    a.len() == b.len()
        && a.iter().zip(&b).all(|(x, y)| match (x.parse::<f64>(), y.parse::<f64>()) {
            (Ok(x), Ok(y)) => {
                x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-6 * (1.0 + x.abs().max(y.abs()))
            }
            _ => x == y,
        })
}

/// What transformed code prints is recorded, which the test of programs checks.
#[test]
fn programs_print_the_same_by_both_derivations() {
    let mut wrong = Vec::new();
    for path in scripts() {
        let (_, taped) = run(&path, false);
        let transformed = std::fs::read_to_string(expected(&path)).unwrap();
        if !agree(&taped, &transformed) {
            wrong.push(format!("{}:\n--- taped\n{taped}\n--- compiled\n{transformed}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Programs of these kinds are specialised.
#[test]
fn functions_in_arrays_order_and_arrays_of_data_are_compiled() {
    let cases = [
        ("fold (fun a f -> f a) x [sin, (fun y -> y * x)]", "0.7"),
        ("fold (fun a f -> f a * x) x layers", "0.7"),
        ("model.act (x * model.w[1])", "0.7"),
        ("sum (map (fun f -> f x) (for i < 4 -> (fun y -> y * x * float i)))", "0.7"),
        ("fold (fun a l -> l.act (a * l.w)) x [{act = sin, w = x}, {act = tanh, w = 2.0}]", "0.7"),
        ("(let s = sort [(2, x), (1, x * x), (2, sin x)] in (fun (k, v) -> float k * v) s[0])", "0.7"),
        ("(maximum [{a = 1, b = x}, {a = 2, b = x * x}]).b", "0.7"),
        ("(let g = grad (fun ss -> sum (map area ss)) [C x, D x 2.0] in sum (map area g))", "0.7"),
        ("fold through x net", "0.7"),
        ("sum (map sum (rows 0 [x, x * x])) + sum (map sum (for i < 0 -> for j < 3 -> x * float j)) + x", "0.7"),
        ("sum (map (fun c -> exp (sum c)) (rows 0 [x, x * x]).T) * x", "0.7"),
        ("fold through x (reverse net)", "0.7"),
        ("sum (map (fun (w, f) -> w * f x) weighted)", "0.7"),
        // Results of derivatives that are zero without knowing their extents.
        ("x + last (snd (value_and_grad (fun (y : [_]Float) -> 0.5) [0.5, 0.5, 0.5]))", "0.7"),
        ("x * (snd (jvp (fun (y : (Float, [_]Float)) -> [x, x]) (0.5, [0.5, 0.5]) (0.5, [0.5, 0.5])))[1] + x", "0.7"),
        ("sin (x + (hvp (fun (y : [_]Float) -> 0.5) [0.5, x, 0.5] [0.5, 0.5, 0.5])[0])", "0.7"),
        // In each arm one of the functions that `where` selects from captures nothing.
        (
            "(let z = [x, 0.5] in sum (map (where (0.5 <= z[0]) (checkpoint (fun (g : Float -> Float) -> z[1])) \
             (fun (g : Float -> Float) -> norm z - g 0.5)) [sigmoid, (fun (b : Float) -> reduce (+) 0.5 z)]))",
            "(-1.5)",
        ),
    ];
    let mut wrong = Vec::new();
    for (body, point) in cases {
        let (mut session, _) = session();
        let data = [
            "type L = Act (Float -> Float) | Times Float",
            "let net = [Act sin, Times 2.0, Act (fun x -> x * x)]",
            "let through v l = match l with | Act f -> f v | Times w -> w * v",
            "let weighted = [(2.0, sin), (3.0, fun x -> x * x)]",
            "let rows (n : Int) (x : [_]Float) = for i < n -> x * float i",
        ];
        data.iter().for_each(|d| drop(echo_in(&mut session, d)));
        for d in [
            "type S = C Float | D Float Float",
            "let area s = match s with | C r -> r * r * r | D a b -> a * b * b",
            "let layers = [sin, tanh, (fun (x : Float) -> x * x)]",
            "let model = {act = tanh, w = [1.0, 2.0]}",
        ] {
            echo_in(&mut session, d);
        }
        let have = echo_in(&mut session, &format!("(gradcheck (fun (x : Float) -> {body}) {point}).ok"));
        if have != "true : Bool" || session.derivations().iter().any(|r| r.contains("taped")) {
            wrong.push(format!("{body}: {have}, {:?}", session.derivations()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each new function makes the group of all functions larger; what that takes must not grow with the square of their number.
#[test]
fn programs_of_thousands_of_functions() {
    let n = 5000;
    let mut text: String = (0..n).map(|k| format!("let f{k} (x : Float) = sin (x * {k}.5) * x\n")).collect();
    let all: Vec<String> = (0..n).map(|k| format!("grad f{k} 0.5")).collect();
    text += &format!(
        "let want = sum (map (fun k -> let a = float k + 0.5 in sin (0.5 * a) + 0.5 * a * cos (0.5 * a)) (iota {n}))\n"
    );
    text += &format!("print (show (abs (sum [{}] - want) < 1e-6))\n", all.join(", "));
    let (mut s, out) = session();
    let result = s.run_file("many.adl", text.as_bytes());
    assert!(result.diags.is_empty(), "{:?}", result.diags.first());
    assert_eq!(*out.borrow(), "true\n");
}

/// What has once been refused needlessly: long chains of calls, powers below a `map`, and long straight code, which becomes native too.
#[test]
fn long_programs_are_compiled() {
    let chain: String =
        (1..1000).map(|k| format!("let f{k} (x : Float) : Float = f{} (x * 0.999) + 0.001\n", k - 1)).collect();
    let straight: String = (2..2500)
        .map(|k| {
            format!(
                "  let a{k} = {} (a{} - a{} * 0.5) + 0.1\n",
                ["sin", "tanh", "cos"][k % 3],
                k - 1,
                k - (k * k % k.min(20)) - 1
            )
        })
        .collect();
    let cases = [
        (format!("let f0 (x : Float) : Float = sin x\n{chain}"), "gradcheck f999 0.5"),
        (
            "let sq (x : Float) : Float = x ^ 2\nlet f (u : Float) : Float = sum (map (fun s -> sq s) [u, 2.0 * u])\n"
                .to_owned(),
            "gradcheck f 0.5",
        ),
        (
            format!(
                "let f (x : Float) : Float =\n  let a0 = x\n  let a1 = x * 0.5\n{straight}  a2499\nlet g n = loop s = 0.0 for i < n do s + grad f (0.001 * float i)\nlet many = g 5000\n"
            ),
            "gradcheck f 0.5",
        ),
    ];
    for (text, ask) in cases {
        let (mut s, _) = session();
        let ran = s.run_file("long.adl", text.as_bytes());
        assert!(ran.diags.is_empty(), "{:?}", ran.diags.first());
        assert_eq!(echo_in(&mut s, &format!("({ask}).ok")), "true : Bool", "{text:.100}");
        assert!(s.derivations().iter().all(|r| r.contains("compiled AD")), "{:?}", s.derivations());
        assert!(
            !text.contains("many") || s.derivations().iter().any(|r| r.contains("native")),
            "{:?}",
            s.derivations()
        );
    }
}

/// A derivative inside a derivative inside ... of functions that are data is ever more code; beyond a bound it is taped.
#[test]
fn code_of_nested_derivatives_is_bounded() {
    let f = "let f (a : Float) : Float =\n  let h = loop h = (fun x -> a * sin x) for q < 3 do (if q == 1 then (fun y -> h (y * a)) else (fun y -> h y * h (y + a)))\n  h a\n";
    let (mut s, _) = session();
    assert!(s.eval(f).ok());
    assert_eq!(echo_in(&mut s, "grad (grad (grad (grad (grad (grad f))))) 0.6 < 0.0"), "true : Bool");
    assert!(s.derivations().iter().any(|r| r.contains("grows too large")), "{:?}", s.derivations());
}

/// A session that makes new functions for ever keeps a bounded number of what was made from them.
#[test]
fn what_is_kept_is_bounded() {
    let (mut session, _) = session();
    assert!(session.eval("let keep (x : Float) : Float = x * x * x").ok());
    let mut most = 0;
    for k in 0..10_000 {
        let have = echo_in(&mut session, &format!("grad (fun (x : Float) -> x * {k}.0) 1.0"));
        assert_eq!(have, format!("{k}.0 : Float"));
        most = most.max(session.derived_functions());
    }
    assert!(most < 6000, "{most} functions");
    assert_eq!(echo_in(&mut session, "grad keep 2.0"), "12.0 : Float");
    // A derivative at a point outlives what it was made from.
    assert!(session.eval("let (y, push) = linearize keep 2.0").ok());
    for k in 0..1000 {
        echo_in(&mut session, &format!("grad (fun (x : Float) -> x * x + {k}.5) 1.0"));
    }
    assert_eq!(echo_in(&mut session, "push 1.0"), "12.0 : Float");
}

//! Chains of operations on large arrays give the bits of the operations one after the other, whatever their length and the number of
//! threads: the value that comes with a gradient (compiled AD) against the ordinary evaluation, and gradients against the tape.

use adl_ir::generate::rng::Rng;
use adl_tests::{echo_in, session};

/// An expression over the vector `x`, the vector `y` and the number `c`.
fn vector(rng: &mut Rng, depth: usize) -> String {
    if depth == 0 {
        return ["x", "y", "x", "(x * c)"][rng.below(4)].to_owned();
    }
    let mut a = || vector(rng, depth - 1);
    let (left, right) = (a(), a());
    match rng.below(12) {
        0 => format!("(exp (0.1 * {left}))"),
        1 => format!("(sin {left})"),
        2 => format!("(tanh {left})"),
        3 => format!("({left} + {right})"),
        4 => format!("({left} - {right})"),
        5 => format!("({left} * {right})"),
        6 => format!("({left} / (2.0 + {right} * {right}))"),
        7 => format!("({left} * c - 0.5)"),
        8 => format!("(log (1.0 + {left} * {left}))"),
        9 => format!("({left} - mean {right})"),
        10 => format!("(for i < len x -> let u = {} in u * u + 0.5 * u)", ["x[i]", "y[i]", "x[i] * c"][rng.below(3)]),
        _ => format!("(max {left} 0.25)"),
    }
}

fn number(r: &mut Rng) -> String {
    let (v, w) = (vector(r, 3), vector(r, 2));
    match r.below(4) {
        0 => format!("sum {v}"),
        1 => format!("dot {v} {w}"),
        2 => format!("mean {v} + sum ({w} * {w})"),
        _ => format!("sum {v} * 0.001 + sum (tanh {w})"),
    }
}

#[test]
fn chains_give_the_same_bits() {
    for (seed, len) in (0..).zip([4095, 4096, 4097, 5000, 8192, 20_000, 65_536, 70_001, 100_000]) {
        let mut r = Rng::new(seed);
        let (mut session, _) = session();
        let setup = format!(
            "let x = for i < {len} -> 0.5 + 0.001 * float (i % 701)\nlet y = for i < {len} -> 0.25 + 0.002 * float (i % 333)\nlet c = 0.75"
        );
        assert!(session.eval(&setup).diags.is_empty(), "{setup}");
        for _ in 0..6 {
            let function = format!("(fun (x : [_]Float) -> {})", number(&mut r));
            let plain = echo_in(&mut session, &format!("{function} x"));
            let with = echo_in(&mut session, &format!("fst (value_and_grad {function} x)"));
            assert_eq!(plain, with, "{len}: {function}");
            let gradient = |s: &mut _| {
                echo_in(s, &format!("let g = grad {function} x in (sum (abs g) > 0.0, g[{}], g[0])", len - 1))
            };
            let main = gradient(&mut session);
            session.set_jit(false);
            assert_eq!(main, gradient(&mut session), "{len}: {function}");
            session.set_jit(true);
            session.set_threads(1);
            assert_eq!(main, gradient(&mut session), "{len}, one thread: {function}");
            session.set_threads(0);
            let near = format!(
                "let (a, b) = (grad {function} x, tape x) in maximum (abs (a - b)) <= 1e-9 * (1.0 + maximum (abs b))"
            );
            session.set_compiled_ad(false);
            assert!(
                session.eval(&format!("let tape z = grad {function} z\nlet taped = tape x")).diags.is_empty(),
                "{function}"
            );
            session.set_compiled_ad(true);
            assert_eq!(echo_in(&mut session, &near.replace("tape x", "taped")), "true : Bool", "{len}: {function}");
        }
    }
}

/// The same of operations that are instructions: such functions become loops, and native code.
fn arithmetic(r: &mut Rng, depth: usize) -> String {
    if depth == 0 {
        return ["x", "y", "c", "0.0", "x"][r.below(5)].to_owned();
    }
    let mut a = || arithmetic(r, depth - 1);
    let (p, q) = (a(), a());
    match r.below(9) {
        0 => format!("({p} - {q})"),
        1 => format!("({p} * {q})"),
        2 => format!("({p} / (2.0 + {q} * {q}))"),
        3 => format!("(max {p} {q})"),
        4 => format!("(min {p} {q})"),
        5 => format!("(sqrt (abs {p}))"),
        6 => format!("({p} ^ 2)"),
        7 => format!("(-{p})"),
        _ => format!("({p} + {q})"),
    }
}

#[test]
fn arithmetic_becomes_native_and_gives_the_same_bits() {
    for (seed, len) in (0..).zip([4096, 5001, 20_000, 70_001]) {
        let mut rng = Rng::new(100 + seed);
        for _ in 0..4 {
            let (v, w) = (arithmetic(&mut rng, 3), arithmetic(&mut rng, 2));
            let text = format!(
                "let n = {len}
let x = for i < n -> float (i % 701 - 350) / 100.0
let y = for i < n -> 0.25 + 0.002 * float (i % 333)
let f (x : []Float) (y : []Float) (c : Float) = let v = x + 0.0 * y + {v} in (v + x * 0.5, sum (v * y) + dot v (x + {w}) - sum (x * x) / 2.0)
let g (x : []Float) = grad (fun x -> snd (f x y 0.75)) x
let rec often (k : Int) (s : Float) : Float = if k == 0 then s else let ((a, b), d) = (f x y (1.0 / float k), g x) in often (k - 1) (s * 0.5 + a[k] + b + d[k] + sum d)
let (a, b) = f x y 0.5
print (often 40 0.0, sum a, a[n - 1], b, sum (g x))
print (f x y[1:] 0.5)"
            );
            let run = |jit: bool, threads: usize| {
                let (mut s, out) = session();
                s.set_jit(jit);
                s.set_threads(threads);
                let result = s.run_file("arithmetic.adl", text.as_bytes());
                for d in &result.diags {
                    out.borrow_mut().push_str(&adl_syntax::render::text(d, &s.sources, false));
                }
                let native = s.derivations().iter().any(|r| r == "call f: specialised, native");
                s.set_threads(0);
                let text = out.borrow().clone();
                (text, native)
            };
            let (plain, _) = run(false, 1);
            assert!(plain.contains("do not match"), "{plain}");
            for threads in [1, 3] {
                let (fast, native) = run(true, threads);
                assert_eq!(plain, fast, "{threads} threads: {text}");
                assert!(native || len < 70_000, "{text}");
            }
        }
    }
}

//! Operators and comparisons on arrays of different rank agree with the same thing written with `map`: values, and gradients by both derivations.

use adl_session::Session;
use adl_tests::{echo_in, session};

const OPERATORS: &[&str] =
    &["a + b", "a - b", "a * b", "a / b", "a % b", "a ^ b", "atan2 a b", "min a b", "max a b", "hypot a b"];

/// `op` on operands of `ranks`, with a `map` for each leading axis.
fn mapped(op: &str, ranks: (usize, usize)) -> String {
    let at = |x: &str, rank: usize| format!("({x} : {}Float)", ["[n]", "[m]", "[k]"][3 - rank..].concat());
    match ranks {
        (p, q) if p > q => format!("(map (fun {} -> {}) a)", at("a", p - 1), mapped(op, (p - 1, q))),
        (p, q) if p < q => format!("(map (fun {} -> {}) b)", at("b", q - 1), mapped(op, (p, q - 1))),
        _ => format!("({op})"),
    }
}

/// An array of a rank: positive numbers, no two of which are equal or multiples of each other.
fn array(rank: usize, seed: f64) -> String {
    if rank == 0 {
        return "1.9".to_owned();
    }
    let shape = &["2", "3", "4"][3 - rank..];
    let count: usize = [2, 3, 4][3 - rank..].iter().product();
    format!("(reshape [{}] (sin (linspace {seed} {} {count}) + 1.7))", shape.join(", "), seed + 1.37)
}

fn total(rank: usize, e: &str) -> String {
    (0..rank).fold(e.to_owned(), |e, _| format!("sum ({e})"))
}

fn disagreements(compiled: bool, jit: bool) -> Vec<String> {
    let (mut session, _) = session();
    session.set_compiled_ad(compiled);
    session.set_jit(jit);
    let mut wrong = Vec::new();
    for (left_rank, right_rank) in [(2, 1), (1, 2), (3, 1), (1, 3), (3, 2), (2, 3)] {
        for op in OPERATORS {
            let ty = |rank: usize| format!("{}Float", ["[n]", "[m]", "[k]"][3 - rank..].concat());
            let function = |body: &str| {
                let body = total(left_rank.max(right_rank), &format!("sin ({body})"));
                format!("fun (a : {}, b : {}) -> {body}", ty(left_rank), ty(right_rank))
            };
            let (plain, by_map) = (function(op), function(&mapped(op, (left_rank, right_rank))));
            let (x, y) = (array(left_rank, 0.3), array(right_rank, 0.9));
            let dots = format!("{} + {}", total(left_rank, "a * c"), total(right_rank, "b * e"));
            let text = format!(
                "let f = {plain}\nlet g = {by_map}\nlet at = ({x}, {y})\nlet near u v = abs (u - v) < 1e-9\n\
                 let close (u : {left_rank}, w : {right_rank}) (v : {left_rank}, z : {right_rank}) = near ({us}) 0.0 && near ({ws}) 0.0\n\
                 let (p, q) = (grad f at, grad g at)\n(near (f at) (g at), close p q, (gradcheck f at).ok, \
                 (let (y, d) = jvp f at at in let (a, b) = grad f at in let (c, e) = at in near d ({dots})))",
                left_rank = ty(left_rank),
                right_rank = ty(right_rank),
                us = total(left_rank, "abs (u - v)"),
                ws = total(right_rank, "abs (w - z)"),
            );
            let have = echo_in(&mut session, &text);
            if have != "(true, true, true, true) : (Bool, Bool, Bool, Bool)" {
                wrong.push(format!("{op} at ranks {left_rank} and {right_rank}: {have}\n{text}"));
            }
        }
    }
    wrong
}

#[test]
fn operators_on_arrays_of_different_rank_are_those_of_the_rows() {
    for (compiled, jit) in [(true, true), (true, false), (false, true)] {
        let wrong = disagreements(compiled, jit);
        assert!(wrong.is_empty(), "compiled AD {compiled}, native {jit}: {}", wrong.join("\n"));
    }
}

/// `op` on the elements of operands of `ranks`.
fn by_element(op: &str, ranks: (usize, usize)) -> String {
    match ranks {
        (0, 0) => format!("({op})"),
        (p, q) if p > q => format!("(map (fun a -> {}) a)", by_element(op, (p - 1, q))),
        (p, q) if p < q => format!("(map (fun b -> {}) b)", by_element(op, (p, q - 1))),
        (p, q) => format!("(map2 (fun a b -> {}) a b)", by_element(op, (p - 1, q - 1))),
    }
}

/// Checks that `plain` on operands of `ranks` is `op` on their elements: whole, in a `map`, and in differentiated code, as a mask
/// of a choice.
fn check_mask(session: &mut Session, ranks: (usize, usize), plain: &str, op: &str) {
    let ty = |rank: usize| format!("{}Float", ["[n]", "[m]", "[k]"][3 - rank..].concat());
    let text = format!(
        "let f (a : {0}) (b : {1}) = {plain}\nlet g (a : {0}) (b : {1}) = {2}\nlet x = {3}\nlet y = {4}\n\
         let h (a : {0}, b : {1}) = {5}\n(f x y == g x y, map (fun a -> f a y) [x, x] == [g x y, g x y], (gradcheck h (x, {6})).ok)",
        ty(ranks.0),
        ty(ranks.1),
        by_element(op, ranks),
        array(ranks.0, 0.3),
        array(ranks.1, 0.3),
        total(ranks.0.max(ranks.1), &format!("where ({plain}) (sin a * b) (b + a * a)")),
        array(ranks.1, 0.9),
    );
    assert_eq!(echo_in(session, &text), "(true, true, true) : (Bool, Bool, Bool)", "{text}");
}

#[test]
fn comparisons_and_masks_of_elements_are_those_of_numbers() {
    for jit in [true, false] {
        let (mut session, _) = session();
        session.set_jit(jit);
        for ranks in [(1, 1), (2, 1), (1, 2), (3, 1), (2, 3), (3, 0), (0, 2)] {
            for op in ["<", "<=", ">", ">=", "==", "!="] {
                check_mask(&mut session, ranks, &format!("a .{op} b"), &format!("a {op} b"));
            }
            if ranks.0.min(ranks.1) > 0 {
                for op in ["&&", "||"] {
                    let (plain, each) = (format!("(a .> 2.5) .{op} (b .> 2.6)"), format!("a > 2.5 {op} b > 2.6"));
                    check_mask(&mut session, ranks, &plain, &each);
                }
            }
        }
    }
}

#[test]
fn extents_that_only_a_run_knows_are_checked() {
    let f = "let f (x : [_][_]Float) (y : [_]Float) : [_][_]Float = x + y\n";
    let have = |call: &str| adl_tests::echo(&format!("{f}{call}"));
    assert_eq!(have("f [[1.0, 2.0]] [1.0]"), "E0702: arrays of shape [1, 2] and [1] do not match");
    assert_eq!(have("f [[1.0], [2.0]] [1.0, 2.0]"), "E0702: arrays of shape [2, 1] and [2] do not match");
    assert_eq!(
        have("grad (fun y -> sum (sum (f [[1.0], [2.0]] y))) [1.0, 2.0]"),
        "E0702: arrays of shape [2, 1] and [2] do not match"
    );
    assert_eq!(
        have("map (fun i -> f [[1.0], [2.0]] [1.0, 2.0]) (iota 3)"),
        "E0702: arrays of shape [2, 1] and [2] do not match"
    );
}

#[test]
fn the_array_of_lower_rank_is_not_repeated_in_memory() {
    let (mut s, _) = session();
    echo_in(
        &mut s,
        "let f (x : [n][k]Float) (b : [k]Float) = sum (sum ((x + b) * b))\nlet x = replicate 100 (linspace 0.0 1.0 50)",
    );
    let have = echo_in(
        &mut s,
        "let f2 (b : [50]Float) = f x b\nmatch residuals f2 (linspace 1.0 2.0 50) with | Residuals t _ -> t.bytes < 2 * 8 * 100 * 50",
    );
    assert_eq!(have, "true : Bool");
}

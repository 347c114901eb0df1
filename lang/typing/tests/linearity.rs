//! Which functions `lin` accepts.

use crate::common;

use common::Checker;

const LINEAR: &[&str] = &[
    "lin (x : Float) -> x :: Nil",
    "lin (x : Float) -> (x, None)",
    "lin (x : Float) -> if true then B x else A",
    "lin (x : Float) -> (x, Some 0.0)",
    "lin (v : [_]Float) -> reduce (+) 0.0 v",
    "lin (v : [_]Float) -> scan (+) 0.0 v",
    "lin (v : [_]Float) -> scan_exclusive (fun a b -> a + b) 0.0 (map (fun x -> 2.0 * x) v)",
    "lin (v : [_]Float) -> reduce_by_index [0.0, 0.0] (+) 0.0 [0, 1, 0] v",
    "lin (v : [_]Float) -> fold (fun a x -> 0.5 * a + x) 0.0 v",
    "lin (v : [_]Float) -> fold (fun (a, b) x -> (a + x, b - x)) (0.0, 0.0) v",
    "lin (v : [_]Float) -> foldr (fun x a -> x - a) 0.0 v",
    "lin (x : Float) -> fold (*) x [1.0, 2.0]",
    "lin (x : Float) -> fold (fun a k -> a + k * x) 0.0 [1.0, 2.0]",
    "lin (m : [n][k]Float) -> reduce (fun a b -> a + b) (replicate 3 0.0) m",
    "lin (v : [_]Float) -> solve [[1.0, 2.0], [3.0, 4.0]] v",
    "lin (v : [2]Float) -> linalg.solve_lower [[1.0, 0.0], [3.0, 4.0]] v",
    "lin (v : [2]Float) -> {v with [0] = 0.0, [1] = 2.0 * v[0]}",
    "lin (v : [3]Float) -> let none = 0.0 in {v with [::2] = none}",
    "lin (v : [3]Float) -> v[::-1] + v[-3:]",
];

const NOT_LINEAR: &[&str] = &[
    "lin (v : [_]Float) -> reduce (*) 1.0 v",
    "lin (v : [_]Float) -> reduce max 0.0 v",
    "lin (v : [_]Float) -> reduce (+) 1.0 v",
    "lin (v : [_]Float) -> scan (fun a b -> a + b + 1.0) 0.0 v",
    "lin (v : [_]Float) -> fold (fun a x -> a * x) 0.0 v",
    "lin (x : Float) -> fold (+) x [1.0, 2.0]",
    "lin (x : Float) -> fold (fun a k -> 1.0) x [1.0, 2.0]",
    "lin (v : [_]Float) -> fold (fun a x -> if x > 0.0 then a + x else a) 0.0 v",
    "lin (v : [_]Float) -> reduce_by_index [1.0, 0.0] (+) 0.0 [0, 1, 0] v",
    "lin (v : [2]Float) -> reduce_by_index [0.0, 0.0] max 0.0 [0, 1] v",
    "lin (x : Float) -> (x, Some 1.0)",
    "lin (x : Float) -> x :: 1.0 :: Nil",
    "lin (v : [_]Float) -> cumprod v",
    "lin (a : [2][2]Float) -> solve a [1.0, 2.0]",
    "lin (a : [2][2]Float) -> linalg.solve_lower a [1.0, 2.0]",
    "lin (v : [2]Float) -> {v with [0] = 1.0}",
    "lin (v : [2]Float) -> {[1.0, 2.0] with [0] = v[1]}",
];

#[test]
fn what_maps_zero_to_zero_and_sums_to_sums_is_accepted() {
    let mut checker = Checker::new();
    for text in LINEAR {
        let out = checker.check(&format!("type T = A | B Float\nlet f = {text}\n"));
        assert_eq!(out.errors(), Vec::<&str>::new(), "{text}: {}", out.diags[0].message);
    }
}

#[test]
fn everything_else_is_refused() {
    let mut checker = Checker::new();
    for text in NOT_LINEAR {
        assert_eq!(checker.check(&format!("let f = {text}\n")).errors(), ["E0501"], "{text}");
    }
}

#[test]
fn an_input_of_which_nothing_is_known_is_a_float() {
    let mut checker = Checker::new();
    assert_eq!(checker.check("let x = transpose (lin (x, y) -> x) 3.0").type_of("x"), "(Float, Float)");
    assert_eq!(checker.check("let x = transpose (lin (x, y) -> x)").type_of("x"), "(Diff a, Diff b) => a -o (a, b)");
}

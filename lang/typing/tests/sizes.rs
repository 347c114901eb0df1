//! Sizes named by the parameters of functions inside expressions.

use crate::common;

use common::Checker;

/// Types of `x` after a program without errors.
const TYPES: &[(&str, &str)] = &[
    ("let x = grad (fun (v : [n]Float) -> sum v / float n) [1.0, 2.0]", "[2]Float"),
    ("let x = map (fun (v : [n]Float) -> v * float n) [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]", "[3][2]Float"),
    ("let x = vjp (fun (v : [n]Float) -> sum v / float n) [1.0, 2.0]", "(Float, Float -o [2]Float)"),
    ("let x = jvp (fun (v : [n]Float) -> v / float n) [1.0, 2.0] [1.0, 1.0]", "([2]Float, [2]Float)"),
    ("let x = [1.0, 2.0] |> grad (fun (v : [n]Float) -> sum v / float n)", "[2]Float"),
    ("let x = grad (fun (v : [n]Float) -> sum v / float n)", "[n]Float -> [n]Float"),
    ("let x m = map (fun (v : [n]Float) -> sum v / float n) m", "[n][m]Float -> [n]Float"),
    ("let x = jacobian (fun (v : [n]Float) -> for i < n -> v[i] * v[n - 1 - i]) [1.0, 2.0, 3.0]", "[3][3]Float"),
    (
        "let x = grad (fun (m : [n][k]Float, v : [k]Float) -> sum (m @ v) / float (n * k)) ([[1.0, 2.0]], [1.0, 2.0])",
        "([1][2]Float, [2]Float)",
    ),
    ("let x = fold (fun acc (v : [n]Float) -> acc + sum v / float n) 0.0 [[1.0], [2.0]]", "Float"),
    ("let x = map2 (fun (v : [n]Float) (w : [n]Float) -> dot v w / float n)", "[n][m]Float -> [n][m]Float -> [n]Float"),
    ("let x (u : [n]Float) = map (fun (v : [n]Float) -> dot u v / float n) [u]", "[n]Float -> [1]Float"),
    ("let x = (fun (v : [n]Float) -> v * float n) [1.0, 2.0]", "[2]Float"),
    (
        "let h (f : [n]Float -> [n]Float) (x : [n]Float) = f x\nlet x = h (fun (v : [k]Float) -> v * float k) [1.0, 2.0]",
        "[2]Float",
    ),
    ("let x = transpose (lin (v : [n]Float) -> sum v / float n)", "Float -o [n]Float"),
    ("let x = fun (v : [k]Float) -> sum v / float k", "[k]Float -> Float"),
    ("let r = {f = fun (v : [n]Float) -> sum v / float n}\nlet x = r.f", "[n]Float -> Float"),
];

#[test]
fn sizes_of_parameters_are_known_in_the_body_and_nowhere_else() {
    let mut checker = Checker::new();
    for (text, ty) in TYPES {
        let out = checker.check(text);
        assert_eq!(out.errors(), Vec::<&str>::new(), "{text}: {}", out.diags[0].message);
        assert_eq!(out.type_of("x"), *ty, "{text}");
    }
}

#[test]
fn what_does_not_fit_an_annotation_is_said_once() {
    let mut checker = Checker::new();
    let out = checker.check("let x = map (fun (v : [n]Int) -> sum v) [[1.0, 2.0]]");
    assert_eq!(out.errors(), ["E0203"]);
    assert_eq!(checker.check("let f (m : [_][3]Float) = map (fun (v : [2]Float) -> sum v) m").errors(), ["E0301"]);
}

//! Gradients of functions of a vector. Every method of computing them, specialised and transformed, is compared to
//! taped gradients.

use crate::common;

/// Functions of `x : [3]Float`.
const FUNCTIONS: &[&str] = &[
    "sum (map (fun v -> v * sin v) x)",
    "sum for i -> x[i] * x[i]",
    "sum for i < 2 -> x[i + 1] * x[i]",
    "prod x + (prod for i -> 1.0 + x[i])",
    "maximum x * minimum x + x[argmax x]",
    "mean x * variance x",
    "norm x + dot x (reverse x)",
    "sum (sort x * [1.0, 2.0, 3.0])",
    "sum (cumsum x * x) + sum (cumprod x)",
    "sum (filter (fun v -> v > 0.8) x)",
    "let (a, b) = partition (fun v -> v > 0.8) x in sum a * sum b",
    "sum (gather x [0, 0, 2] * [1.0, 2.0, 3.0])",
    "sum (scatter_within x [1, 0, 7] [x[2] * 2.0, 5.0, 1.0] * [1.0, 2.0, 3.0])",
    "sum (concat x x * [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])",
    "sum (flatten (outer x x)) + trace (outer x x)",
    "let m = outer x x in sum (m @ x) + sum (x @ m) + sum (flatten (m @ m.T))",
    "let (a, b) = split 1 x in sum a * sum b + first x * last x",
    "sum (rotate 1 x * x) + sum (take 2 x) * sum (drop 2 x)",
    "reduce (*) 1.0 x + reduce max 0.0 x + reduce (+) 1.0 x",
    "fst (reduce (fun (a, b) (c, d) -> (a * c, a * d + b)) (1.0, 0.0) (zip x (map sin x)))",
    "sum (scan (*) 1.0 x) + sum (scan_exclusive (+) 0.0 x)",
    "sum (reduce_by_index [0.0, 1.0] (+) 0.0 [0, 1, 0] x * [2.0, 3.0])",
    "fold (fun a v -> a * v + v) 1.0 x + foldr (fun v a -> a * v + v) 1.0 x",
    "loop y = x[0] for i < 3 do y * x[i]",
    "loop y = x[0] while y < 50.0 do y * 3.0 + x[1]",
    "sum (sort_by (fun v -> -v) x * [1.0, 2.0, 3.0])",
    "sum (where (map (fun v -> v > 0.8) x) x (2.0 * x))",
    "sum (diag (diag x) * x)",
    "sum (flatten (reshape [3, 1] x * 2.0))",
    "sum (linspace x[0] x[1] 5)",
    "sum (replicate 3 x[0] * x)",
    "(let rec go i acc = if i == 3 then acc else go (i + 1) (acc * x[i]) in go 0 1.0)",
    "let f = (if x[0] > 0.4 then (fun v -> v * x[1]) else (fun v -> v)) in f (f x[2])",
    "list.fold (fun a v -> a * v) 1.0 (list.of_array x)",
    "sum (map (fun (a, b) -> a * b) (zip x (map exp x)))",
    "grad (fun z -> z * z * x[0]) x[1]",
    "sum (grad (fun y -> prod y) x * x)",
    "let (y, back) = vjp (fun z -> map sin z) x in sum (back (y * x))",
    "let (y, l) = linearize (fun z -> z * z) x in sum (l x) + sum y",
    "sum (flatten (hessian (fun z -> prod z) x))",
    "checkpoint (fun z -> sum (map exp z)) (x * x)",
    "custom_jvp (fun z -> sum z) (fun z -> (sum z, lin dz -> 3.0 * sum dz)) (x * x)",
    "sum (solve [[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]] x)",
    "det (outer x x + eye 3)",
    "sum (flatten (inv (outer x x + eye 3)))",
    "sum (flatten (cholesky (outer x x + eye 3)))",
    "sum for i < 3, j < 3 -> [| i < j |] * x[i] / (1.0 + x[j])",
    "match x with | [a, b, c] -> a * b + c | _ -> 0.0",
    "(maximum for i -> x[i] * x[i]) + (mean for i -> x[i])",
    "ravel (x, x[0]) |> sum",
    "sum (unravel (1.0, [1.0, 1.0]) x |> (fun (a, b) -> a * b))",
];

#[test]
fn gradients_of_every_construct() {
    let mut wrong = Vec::new();
    for f in FUNCTIONS {
        let text = format!(
            "let f (x : [3]Float) : Float = {f}\nlet it = (f [0.7, 0.9, 1.3], grad f [0.7, 0.9, 1.3])\nlet main () = it"
        );
        let (a, b) = (common::by_ir(&text), common::by_vm(&text));
        if !matches!((&a, &b), (Ok(x), Ok(y)) if common::agree(x, y)) {
            wrong.push(format!("{f}\n    specialised {a:?}\n    ordinary    {b:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

//! Functions that tests differentiate by every available method.

/// Scalar functions of a vector of three positive numbers, one or more for each rule.
pub const FUNCTIONS: &[&str] = &[
    "sum x", "prod x", "mean x", "variance x", "maximum x", "minimum x", "norm x", "dot x (sin x)", "x[0] * x[2] / x[1]", "sum (cumsum x * x)",
    "sum (cumprod x * x)", "sum (reverse x * x)", "sum (rotate 1 x * x)", "sum (take 2 x * drop 1 x)", "last x * first x", "sum (concat x x * concat x (sin x))",
    "sum (flatten (outer x x))", "sum ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] @ x * [2.0, 3.0])", "sum (x @ (outer x x) * x)", "trace (outer x x @ outer x x)",
    "sum (gather x [2, 0, 2] * x)", "sum (scatter x [1] [x[0] * x[2]] * x)", "sum (reduce_by_index [1.0, 2.0] (+) 0.0 [0, 1, 0] x * [3.0, 4.0])",
    "sum (reduce_by_index [1.0, 2.0] (*) 1.0 [0, 1, 0] x * [3.0, 4.0])", "reduce (fun a b -> a * b + a + b) 0.0 x", "sum (scan (fun a b -> a * b + a + b) 0.0 x * x)",
    "sum (scan_exclusive (*) 1.0 x * x)", "fold (fun a b -> sin (a + b)) 0.0 x", "foldr (fun a b -> sin (a * b)) 1.0 x", "sum (sort x * [1.0, 2.0, 3.0])",
    "sum (filter (fun v -> v > 0.6) x)", "sum (reshape [3, 1] x @ [2.0])", "sum (map (fun v -> v * v * v) x)", "sum (map2 (fun a b -> a / b) x (reverse x))",
    "sum (map (fun v -> if v > 0.6 then v * v else sin v) x)", "sum for i -> x[i] * x[i]", "sum for i < 3, j < 3 -> [| i != j |] * x[i] * x[j] * x[j]",
    "prod for i < 3 -> x[i] + 1.0", "maximum for i < 3 -> sin x[i]", "mean for i < 3 -> exp x[i]", "loop s = x[0] for i < 5 do s * x[1] + sin s",
    "(solve [[2.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 1.0]] x)[0] * x[1]", "det (outer x x + eye 3)", "logdet (outer x x + eye 3)", "sum (flatten (inv (outer x x + eye 3)))",
    "sum (flatten (cholesky (outer x x + eye 3)))", "sum (fst (eigh (outer x [1.0, 2.0, 3.0] + (outer x [1.0, 2.0, 3.0]).T + diag [1.0, 5.0, 9.0])) * [1.0, 2.0, 3.0])",
    "sum ((let (u, s, vt) = svd (outer x x + diag [1.0, 2.0, 3.0]) in s) * [1.0, 2.0, 3.0])", "sum (flatten (snd (qr (outer x x + diag [1.0, 2.0, 3.0]))))",
    "sum (where [true, false, true] (x * x) (sin x))", "sum (diag x @ x)", "sum (diag (outer x x))", "sum (stack (x :: x :: Nil) @ x)", "sum (ravel (x[0], [x[1], x[2]]) * x)",
    "sum (clamp 0.3 0.8 x * x)", "hypot x[0] x[1] + atan2 x[1] x[2]", "x[0] ^ x[1] + x[2] ^ 3 + x[0] % 0.25", "min x[0] x[1] * max x[1] x[2]", "stats.logsumexp x", "sum (stats.softmax x * x)",
    "(ode.rk4 (fun t y -> -y * t) x 0.0 1.0 5)[0]", "sum (linspace x[0] x[1] 4)", "sum (replicate 4 x[0]) * x[1]", "sum (snd (split 1 x) * [2.0, 3.0])", "list.fold (fun a v -> a * v) 1.0 (list.of_array x)",
    "sum ((for i < 3 -> x[i] * x[(i + 1) % 3]) * x)", "sum (map (fun (a, b) -> a * b) (zip x (sin x)))", "sum (map (fun r -> r.p * r.q) (map (fun v -> {p = v, q = v * v}) x))",
    "(let (p, q) = unzip (zip x (x * x)) in dot p q)", "to_float (to_f32 0.5) * x[0] * x[1]", "(linalg.expm (0.1 * outer x x))[0, 1]", "sum (x[0:2] * x[1:3])", "dot (checkpoint (fun v -> sin v) x) x",
    "sum (sum (outer x x * x - sin x / (1.0 + outer x x)))", "sum (map (fun r -> sum (sum (outer r x + r))) (outer x x))",
    "sum (x[x .> 0.6] * 2.0) + sum (sum ((outer x x)[x .< 0.6]))", "sum (sum (where (outer x x .> 0.2 * x) (sin x) (outer x x)))", "sum (along 1 norm (outer x x) * along 0 maximum (outer x [1.0, 2.0, 3.0]))", "sum (along 1 mean (along 0 cumsum (outer x x) * x) * x)",
    "sum (along 1 (fun v -> sum (v * v) / (1.0 + maximum v)) (map (outer x) (outer x x)))[0]",
    "sum (map (fun r -> sum (r[r .> 0.3 .|| r .< 0.1] ^ 2)) (outer x x))", "sum (sum (clamp (0.5 * x) [0.9, 0.9, 0.9] (outer x x)))",
];

/// Functions of a number.
pub const UNARY: &[&str] = &[
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "expm1", "log", "log1p", "sqrt", "cbrt", "abs", "sigmoid", "relu", "softplus", "erf",
    "erfc", "lgamma", "digamma", "gamma", "floor", "ceil", "round", "sign",
];

//! The bound of *Differentiating a Tensor Language* (Theorem 6.35): arithmetic of a gradient, with inputs and outputs, is at most four times that of its
//! function. Work is counted, so machines do not matter; sizes are such that inputs are few against turns. Jacobians with structure take few directions.

const SHARED: &str = "let v k n : [_]Float = for i < n -> 0.3 + 0.5 * sin (float (k * n + i))
let mat k n : [_][_]Float = for i < n, j < n -> 0.3 + 0.4 * cos (float (k + 7 * i + 3 * j))";

/// Functions of four vectors.
const VECTORS: &[(&str, &str)] = &[
    ("conv product of 4", "sum for i < 64, j < 32 -> x[i + j] * k[j] * y[i] * z[j]"),
    ("conv product of 5", "sum for i < 64, j < 32 -> x[i + j] * k[j] * y[i] * z[j] * x[i]"),
    ("own product 4", "sum for i < 8 -> x[i] * k[i] * y[i] * z[i]"),
    ("pair product of 6", "sum for i < 64, j < 32 -> x[i] * k[j] * y[i] * z[j] * x[j] * y[j]"),
    ("triple chain", "sum for i < 24, j < 24, l < 24 -> x[i + j] * y[j + l] * z[l] * k[i]"),
    ("triple 3", "sum for i < 24, j < 24, l < 24 -> x[i + j + l] * y[j] * z[l]"),
    ("triple 6", "sum for i < 24, j < 24, l < 24 -> x[i + j + l] * y[j] * z[l] * x[i] * y[l] * z[i]"),
    ("cubic", "sum for i < 64, j < 32 -> x[i + j] ^ 3 * k[j]"),
    ("sin cos", "sum for i < 64, j < 32 -> sin (x[i] * y[j]) * cos (x[i + j] + y[j])"),
    ("exp of squares", "sum for i < 64, j < 32 -> exp (- (x[i] - y[j]) ^ 2)"),
    ("branch on data", "sum for i < 90 -> if y[i] > 0.3 then x[i] * x[i + 1] * x[i + 2] * y[i] else x[i]"),
    ("branch on data 2", "sum for i < 64, j < 32 -> if k[j] > 0.3 then x[i + j] * k[j] * y[i] * z[i] else 0.0"),
    (
        "both arms",
        "sum for i < 64, j < 32 -> if k[j] > 0.3 then x[i + j] * k[j] * y[i] * z[i] else x[i] * y[j] * k[j] * z[i + j]",
    ),
    ("triangle product", "sum for i < 60 -> sum for j < i + 1 -> x[i - j] * k[j] * y[i] * z[j] * y[j]"),
    ("triangle brackets", "sum for i < 60, j < 20 -> [| j <= i |] * x[i] * k[j] * y[j] * z[i] * y[i]"),
    (
        "nested sums",
        "sum for i < 60 -> (sum for j < 32 -> x[i + j] * k[j] * y[j]) * (sum for j < 32 -> x[i] * z[i + j] * y[j])",
    ),
    (
        "gathered by data",
        "let ks = (for i < 64 -> (7 * i) % 60) in sum for i < 64, j < 32 -> x[ks[i]] * y[j] * k[i + j] * z[i]",
    ),
    ("polynomial 8", "sum for i < 90 -> x[i] * x[i+1] * x[i+2] * x[i+3] * x[i+4] * x[i+5] * x[i+6] * x[i+7]"),
    ("strided", "sum for i < 32, j < 32 -> x[2 * i + j] * k[j] * y[2 * i] * z[i + 2 * j]"),
    ("nested asin", "sum for i < 64, j < 32 -> asin (asin (asin (0.1 * x[i] * y[j])))"),
    ("nested functions", "sum for i < 64, j < 32 -> atan (tanh (exp (log1p (sqrt (x[i] * x[i] + y[j] * y[j])))))"),
    ("alone", "sum for i < 90 -> acos (0.2 * x[i]) + erf (y[i]) + tan (0.2 * z[i])"),
    ("nested gamma", "sum for i < 64, j < 32 -> lgamma (2.0 + gamma (1.5 + digamma (3.0 + x[i] * y[j])))"),
    ("nested errors", "sum for i < 64, j < 32 -> erf (erfc (erf (erfc (x[i] * y[j]))))"),
    ("nested gates", "sum for i < 64, j < 32 -> sigmoid (softplus (sigmoid (softplus (x[i] - y[j]))))"),
    ("nested powers", "sum for i < 64, j < 32 -> (((1.0 + x[i] ^ 2) ^ 3) ^ y[j]) ^ 0.7"),
    ("nested roots", "sum for i < 90 -> cbrt (sqrt (abs (cbrt (sqrt (abs x[i])))))"),
    ("nested hyperbolas", "sum for i < 90 -> cosh (sinh (tanh (cosh (sinh (tanh x[i])))))"),
    ("nested arcs", "sum for i < 64, j < 32 -> atan2 (atan2 (atan2 x[i] (2.0 + y[j])) (3.0 + x[j])) (4.0 + y[i])"),
    ("nested lengths", "sum for i < 64, j < 32 -> hypot (hypot (hypot x[i] y[j]) x[j]) y[i]"),
    ("nested quotients", "sum for i < 64, j < 32 -> ((x[i] / (1.0 + y[j])) / (2.0 + x[j])) / (3.0 + y[i])"),
    ("nested extremes", "sum for i < 90 -> max (min (max x[i] y[i]) x[i + 1]) (min y[i + 1] (max x[i + 2] k[i]))"),
    ("remainders", "sum for i < 64, j < 32 -> ((x[i] + 3.0) % (1.0 + y[j])) % (0.3 + x[j])"),
    ("powers of powers", "sum for i < 64, j < 32 -> ((1.0 + x[i]) ^ (1.0 + y[j])) ^ (1.0 + x[j])"),
    (
        "functions of two",
        "sum for i < 64, j < 32 -> (2.0 + x[i]) ^ y[j] + atan2 (x[i]) (y[j] + 2.0) * hypot x[i] (y[j] + 2.0)",
    ),
    ("continued fraction", "sum for i < 64, j < 32 -> x[i] / (2.0 + y[j] / (2.0 + z[i] / (2.0 + k[j] / 3.0)))"),
    ("division", "sum for i < 32, j < 32 -> x[i + j] / (k[j] + 2.0) * y[i] / (z[j] + 3.0)"),
];

/// Functions of three matrices.
const MATRICES: &[(&str, &str)] = &[
    ("matrix chain", "sum for i < 12, j < 12, l < 12 -> a[i,j] * b[j,l] * c[l,i]"),
    ("matrix chain 4", "sum for i < 12, j < 12, l < 12 -> a[i,j] * b[j,l] * c[l,i] * a[l,j]"),
    ("matrix chain 6", "sum for i < 12, j < 12, l < 12 -> a[i,j] * b[j,l] * c[l,i] * a[l,j] * b[i,l] * c[i, j]"),
    ("stencil product", "sum for i < 11, j < 11 -> a[i,j] * a[i+1,j] * a[i,j+1] * b[i,j] * b[i+1,j+1]"),
    ("2-D conv of 4", "sum for i < 10, j < 10, p < 3, q < 3 -> a[i+p,j+q] * b[p,q] * c[i,j] * c[i+p, q]"),
    ("diag", "sum for i < 12 -> a[i,i]"),
    ("diag 2", "sum for i < 12, j < 12 -> a[i,i] * a[i,j] * b[j,j]"),
];

/// What is wrong with a function's gradient: its ratio, or its value.
fn fault(s: &mut adl_session::Session, name: &str, f: &str, x: &str) -> Option<String> {
    let mut value = |text: &str| adl_tests::echo_in(s, text);
    let ratio = value(&format!("(cost ({f}) ({x})).arithmetic.ratio"));
    let right = value(&format!("(gradcheck ({f}) ({x})).ok"));
    (right != "true : Bool" || !ratio.trim_end_matches(" : Float").parse::<f64>().is_ok_and(|r| r <= 4.0))
        .then(|| format!("{name}: ratio {ratio}, right: {right}"))
}

#[test]
fn gradients_are_at_most_four_times_their_functions() {
    let mut session = adl_tests::session().0;
    assert!(session.eval(SHARED).ok());
    let mut faults = Vec::new();
    for (name, body) in VECTORS {
        faults.extend(fault(
            &mut session,
            name,
            &format!("fun (x, k, y, z) -> {body}"),
            "v 0 110, v 1 110, v 2 110, v 3 110",
        ));
    }
    for (name, body) in MATRICES {
        faults.extend(fault(&mut session, name, &format!("fun (a, b, c) -> {body}"), "mat 0 12, mat 1 12, mat 2 12"));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Jacobians, the argument, and in how many directions they are found.
const PASSES: &[(&str, &str, &str)] = &[
    ("fun (x : [_]Float) -> for i < len x - 2 -> x[i] - 2.0 * x[i + 1] * x[i + 2]", "v 0 24", "3"),
    ("map (fun w -> if w > 0.3 then w * w else 3.0 * w)", "v 0 24", "1"),
    ("fun x -> flatten (map (fun (r : [4]Float) -> r * sum (r * r)) (reshape [6, 4] x))", "v 0 24", "4"),
    (
        "fun x -> let (c, p) = (reshape [3, 4] x[0:12], reshape [6, 2] x[12:24]) in flatten (for o < 18 -> c[o % 3] * sum p[o // 3])",
        "v 0 24",
        "3",
    ),
];

#[test]
fn jacobians_with_structure_take_few_directions() {
    let mut s = adl_tests::session().0;
    assert!(s.eval(SHARED).ok());
    for (f, x, passes) in PASSES {
        assert_eq!(
            adl_tests::echo_in(&mut s, &format!("(jacobian_passes ({f}) ({x})).passes")),
            format!("{passes} : Int"),
            "{f}"
        );
    }
}

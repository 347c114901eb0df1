//! Plans from outside: gradients are the same bits under every plan, and what is foretold is what is stored.

use adl_tests::{echo_in, session};

/// Functions with a point, over what programs are made of.
const FUNCTIONS: &[(&str, &str)] = &[
    ("(fun (x : Float) -> sin x * exp (cos x))", "0.5"),
    ("(fun (x : Float) -> loop y = x for i < 137 do y + 0.01 * sin (y * x))", "0.5"),
    ("(fun (x : [3]Float) -> let y = loop y = x for i < 50 do y + 0.01 * sin (x * y) in dot y y)", "[0.5, 0.25, -1.0]"),
    ("(fun (x : Float) -> loop y = x while y < 50.0 do y * 1.5 + x)", "0.7"),
    ("(fun (x : [4]Float) -> sum (map (fun v -> if v > 0.0 then sin v * v else exp v) x))", "[0.5, -0.5, 2.0, -3.0]"),
    (
        "(fun (p : {a : Float, b : [2]Float}) -> loop s = p.a for i < 30 do if s > 1.0 then s * 0.5 + p.b[0] else s * s + p.b[1])",
        "{a = 0.3, b = [0.2, 0.7]}",
    ),
    ("(fun (x : Float) -> let rec power n = if n == 0 then 1.0 else x * sin (power (n - 1)) in power 20)", "0.9"),
    ("(fun (x : Float) -> loop y = x for i < 12 do loop z = y for j < i do tanh (z * x) + y)", "0.4"),
    (
        "(fun (x : [3][3]Float) -> let y = loop y = x for i < 9 do tanh (x @ y) in trace (y @ x))",
        "[[0.1, 0.2, 0.3], [0.4, -0.5, 0.6], [0.7, 0.8, -0.9]]",
    ),
    ("(fun (x : Float) -> let f = checkpoint (fun v -> sin (exp v) * v) in f (f x))", "0.4"),
    ("(fun (x : Float) -> reduce (fun a b -> a * b + a) x (map (fun i -> x * float i) (iota 9)))", "0.4"),
    ("(fun (x : F32) -> loop y = x for i < 20 do y * y - x)", "0.3f32"),
    ("(fun (xs : [5]Float) -> fold (fun acc v -> tanh (acc + v)) 0.1 xs)", "[0.1, 0.2, 0.3, 0.4, 0.5]"),
    (
        "(fun (k : [3]Float) -> let x = linspace 0.0 1.0 12 in sum (map (fun v -> v * v) (for i < 10 -> sum for j < 3 -> k[j] * x[i + j])))",
        "[0.1, -0.4, 0.7]",
    ),
    (
        "(fun (p : (Float, [_]Float)) -> let (a, v) = p in sum (map (fun y -> sin (a * y)) (map (fun y -> sin (a * y)) v)))",
        "(1.079, [-0.447, -1.118, 0.967])",
    ),
    ("(fun (u : Float) -> sum (loop g = [1.0, 2.0] for t < 100 do sin (g + u)))", "0.9"),
    (
        "(fun (v : [_]Float) -> sin ((sum for i < 5 -> loop h = v[0] for q < 2 do sin v[0]) * sum (map (fun y -> v[1]) v)))",
        "[1.079, -0.447, 0.967]",
    ),
    (
        "(fun (x : [_][_]Float) -> sum for i < len x, j < len x -> 1.0 / sqrt (sum ((x[i] - x[j]) ^ 2) + 0.1))",
        "[[0.5, 0.2, -0.3], [0.1, 0.9, 0.4]]",
    ),
];

const PLANS: [&str; 9] = [
    "StoreAll",
    "RecomputeAll",
    "Auto",
    "Sqrt",
    "Revolve 1",
    "Revolve 3",
    "Revolve 100",
    "Budget 100_000_000",
    "ByHand []",
];

#[test]
fn every_plan_gives_the_same_bits() {
    let mut wrong = Vec::new();
    for (f, x) in FUNCTIONS {
        let (mut s, _) = session();
        for p in PLANS {
            let have = echo_in(
                &mut s,
                &format!(
                    "(grad_with ({p}) {f} ({x}) == grad {f} ({x}), snd (value_and_grad_with ({p}) {f} ({x})) == grad {f} ({x}))"
                ),
            );
            if have != "(true, true) : (Bool, Bool)" {
                wrong.push(format!("{p} {f}: {have}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_foretold_is_stored() {
    let mut wrong = Vec::new();
    for (function, x) in FUNCTIONS {
        let (mut s, _) = session();
        echo_in(&mut s, &format!("let f = {function}"));
        for p in PLANS {
            let have = echo_in(
                &mut s,
                &format!(
                    "let g = grad_with ({p}) f ({x}) in match residuals f ({x}) |> with_plan ({p}) with | Residuals t _ -> (t.measured == Some t.bytes, t.bytes > 0, t.peak >= t.bytes)"
                ),
            );
            if have != "(true, true, true) : (Bool, Bool, Bool)" {
                wrong.push(format!("{p} {function}: {have}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a plan takes is measured in the run: the most bytes and the extra work are what was foretold, for long loops too.
#[test]
fn what_is_foretold_is_measured() {
    let long = (
        "(fun (x : Float) -> fst (loop (y, v) = (x, 0.0) for i < 30_000 do let a = sin y * exp (0.0 - v * v) in (y + 0.001 * v, v - 0.001 * a)))",
        "0.5",
    );
    let mut wrong = Vec::new();
    for (function, x) in FUNCTIONS[..4].iter().chain(&FUNCTIONS[5..6]).chain(&[long]) {
        let (mut s, _) = session();
        echo_in(&mut s, &format!("let f = {function}"));
        for p in ["StoreAll", "RecomputeAll", "Sqrt", "Revolve 3", "Revolve 20"] {
            let have = echo_in(
                &mut s,
                &format!(
                    "let g = grad_with ({p}) f ({x}) in match residuals f ({x}) |> with_plan ({p}) with | Residuals t _ -> (t.measured_peak == Some t.peak, t.measured_again == Some t.again)"
                ),
            );
            if have != "(true, true) : (Bool, Bool)" {
                wrong.push(format!("{p} {function}: {have}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every residual that can be recomputed, alone and with all others.
#[test]
fn plans_by_hand_give_the_same_bits() {
    let mut wrong = Vec::new();
    for (function, point) in FUNCTIONS {
        let (mut session, _) = session();
        echo_in(&mut session, &format!("let f = {function}"));
        echo_in(
            &mut session,
            &format!(
                "let ids = match residuals f ({point}) with | Residuals t _ -> map (fun r -> r.id) (filter (fun r -> r.movable) t.rows)"
            ),
        );
        let one = echo_in(
            &mut session,
            &format!(
                "all (map (fun id -> grad_with (residuals f ({point}) |> recompute [id] |> plan) f ({point}) == grad f ({point})) ids)"
            ),
        );
        let all = echo_in(
            &mut session,
            &format!("grad_with (residuals f ({point}) |> recompute ids |> plan) f ({point}) == grad f ({point})"),
        );
        let back = echo_in(
            &mut session,
            &format!(
                "match residuals f ({point}) |> recompute ids |> store ids with | Residuals t _ -> len t.recomputed == 0 && t.again == (match residuals f ({point}) with | Residuals u _ -> u.again)"
            ),
        );
        for have in [one, all, back] {
            if have != "true : Bool" {
                wrong.push(format!("{function}: {have}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Budgets between the least that a plan reaches and storing everything: the gradient has the same bits, what is predicted is measured.
#[test]
fn plans_between_give_the_same_bits() {
    let mut wrong = Vec::new();
    for (function, point) in FUNCTIONS {
        let (mut session, _) = session();
        echo_in(&mut session, &format!("let f = {function}"));
        echo_in(
            &mut session,
            &format!(
                "let low = match residuals f ({point}) with | Residuals t _ -> minimum (map (fun p -> p.peak) t.frontier)"
            ),
        );
        echo_in(&mut session, &format!("let high = match residuals f ({point}) with | Residuals t _ -> t.peak"));
        echo_in(
            &mut session,
            &format!(
                "let ok n = let g = grad_with (Budget n) f ({point}) in match residuals f ({point}) |> with_plan (Budget n) with | Residuals t _ -> g == grad f ({point}) && t.measured == Some t.bytes && t.peak <= n"
            ),
        );
        let have = echo_in(&mut session, "all (map (fun k -> ok (low + (high - low) * k // 7)) (iota 8))");
        if have != "true : Bool" {
            wrong.push(format!("{function}: {have}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const ENERGY: &str = "let energy (n : Int) (p : {mu : Float, v : Float, x : Float}) : Float =\n  let dt = 20.0 / float n\n  let (x, v) = loop (x, v) = (p.x, p.v) for i < n do\n    let force = p.mu * (1.0 - x * x) * v - x\n    (x + dt * v, v + dt * force)\n  x * x + v * v";

/// More memory is less work, and between √n segments and storing everything there are many plans.
#[test]
fn work_falls_as_the_budget_grows() {
    let (mut session, _) = session();
    echo_in(&mut session, ENERGY);
    echo_in(&mut session, "let start = {mu = 0.5, v = 0.0, x = 1.0}");
    echo_in(
        &mut session,
        "let took n = match residuals (energy 2000) start |> with_plan (Budget n) with | Residuals t _ -> (t.peak, t.again)",
    );
    let budgets: Vec<u64> =
        (0..25).map(|k| (2700.0 * (64_000.0 / 2700.0_f64).powf(f64::from(k) / 24.0)) as u64).collect();
    echo_in(&mut session, &format!("let plans = map took {budgets:?}"));
    let have = echo_in(&mut session, "all (map (fun k -> snd plans[k + 1] <= snd plans[k]) (iota 24))");
    assert_eq!(have, "true : Bool", "{}", echo_in(&mut session, "plans"));
    let have = echo_in(&mut session, "len (filter (fun k -> fst plans[k + 1] != fst plans[k]) (iota 24)) >= 18");
    assert_eq!(have, "true : Bool", "{}", echo_in(&mut session, "plans"));
    let have = echo_in(
        &mut session,
        "let g = grad_with (Budget 20_000) (energy 2000) start in match residuals (energy 2000) start |> with_plan (Budget 20_000) with | Residuals t _ -> (g == grad (energy 2000) start, t.measured == Some t.bytes, t.measured_peak == Some t.peak, t.measured_again == Some t.again)",
    );
    assert_eq!(have, "(true, true, true, true) : (Bool, Bool, Bool, Bool)");
}

/// A measurement is of a plan and of arguments of some sizes.
#[test]
fn measurements_belong_to_sizes() {
    let (mut session, _) = session();
    echo_in(&mut session, ENERGY);
    echo_in(&mut session, "let start = {mu = 0.5, v = 0.0, x = 1.0}");
    echo_in(&mut session, "let g = grad_with StoreAll (energy 2000) start");
    let measured = |s: &mut adl_session::Session, n: u32| {
        echo_in(
            s,
            &format!(
                "match residuals (energy {n}) start with | Residuals t _ -> (t.measured == Some t.bytes, t.measured == None)"
            ),
        )
    };
    assert_eq!(measured(&mut session, 200), "(false, true) : (Bool, Bool)");
    assert_eq!(measured(&mut session, 2000), "(true, false) : (Bool, Bool)");
    echo_in(&mut session, "let g = grad_with StoreAll (energy 200) start");
    assert_eq!(measured(&mut session, 200), "(true, false) : (Bool, Bool)");
    assert_eq!(measured(&mut session, 2000), "(true, false) : (Bool, Bool)");
}

/// Rows say what they are: sizes, which of the values that a loop carries, and why they cannot be recomputed.
#[test]
fn rows_say_what_they_are() {
    let (mut session, _) = session();
    echo_in(&mut session, ENERGY);
    echo_in(
        &mut session,
        "let rows = match residuals (energy 2000) {mu = 0.5, v = 0.0, x = 1.0} with | Residuals t _ -> t.rows",
    );
    let named = echo_in(
        &mut session,
        "map (fun r -> r.expression) (filter (fun r -> r.reason == \"what a loop carries\") rows)",
    );
    assert_eq!(named, "[\"x of the loop\", \"v of the loop\"] : [2]String");
    let given = echo_in(
        &mut session,
        "map (fun r -> (r.id, r.movable)) (filter (fun r -> r.reason == \"a result of a loop, which runs once\") rows)",
    );
    assert_eq!(given, "[(5, false), (6, false)] : [2](Int, Bool)");
    let fixed = echo_in(&mut session, "map (fun r -> r.id) (filter (fun r -> not r.movable) rows)");
    assert_eq!(echo_in(&mut session, "len rows"), "9 : Int");
    assert_eq!(fixed, "[0, 1, 3, 4, 5, 6] : [6]Int");
    assert!(
        echo_in(&mut session, "grad_with (ByHand [5]) (energy 2000) {mu = 0.5, v = 0.0, x = 1.0}")
            .starts_with("E0722: residual 5 cannot be recomputed: it is a result of a loop, which runs once")
    );
    let shapes = |s: &mut adl_session::Session, f: &str, x: &str| {
        echo_in(s, &format!("match residuals ({f}) ({x}) with | Residuals t _ -> map (fun r -> r.shape) t.rows"))
    };
    assert_eq!(
        shapes(&mut session, "fun (x : [200][2]Float) -> sum (sum (sin x * x))", "for i < 200, j < 2 -> 0.1"),
        "[\"[200][2]Float\", \"[200][2]Float\", \"[200][2]Float\"] : [3]String"
    );
}

#[test]
fn budgets_are_kept_or_refused() {
    let (mut session, _) = session();
    echo_in(&mut session, "let f (x : Float) : Float = loop y = x for i < 1000 do sin y * y");
    for n in [20_000, 9_000, 2_000, 1_500] {
        let have = echo_in(
            &mut session,
            &format!(
                "let g = grad_with (Budget {n}) f 0.9 in match residuals f 0.9 |> with_plan (Budget {n}) with | Residuals t _ -> (t.peak <= {n}, g == grad f 0.9)"
            ),
        );
        assert_eq!(have, "(true, true) : (Bool, Bool)", "{n}");
    }
    let have = echo_in(&mut session, "grad_with (Budget 100) f 0.9");
    assert!(have.starts_with("E0722: no plan for this gradient keeps within 100 bytes: the least is "), "{have}");
}

/// What each operation costs is in the reference; these are counted by hand.
#[test]
fn costs_are_counted() {
    let (mut session, _) = session();
    echo_in(&mut session, "let f (x : Float) : Float = sin x * x + 2.0");
    // sin, *, +.
    assert_eq!(echo_in(&mut session, "(cost f 0.5).primal"), "3 : Int");
    // cos; then three scalings and one addition.
    assert_eq!(echo_in(&mut session, "(cost f 0.5).tangent"), "5 : Int");
    assert_eq!(echo_in(&mut session, "let c = cost f 0.5 in c.ratio <= c.bound"), "true : Bool");
    assert_eq!(
        echo_in(
            &mut session,
            "let c = cost f 0.5 in sum (map (fun l -> l.primal) c.lines) == c.primal && sum (map (fun l -> l.adjoint) c.lines) == c.adjoint"
        ),
        "true : Bool"
    );
    assert_eq!(echo_in(&mut session, "(cost (fun (n : Int) -> n + 1) 3).adjoint"), "0 : Int");
}

/// Calls of calls: code grows with the functions, not with the tree of calls, and so does the time that compiling takes.
#[test]
fn code_grows_with_functions_not_with_calls() {
    let (mut session, _) = session();
    echo_in(&mut session, "let f0 (x : Float) = sin x * 0.9");
    for k in 1..=24 {
        let below = k - 1;
        let twice = if k % 8 == 0 { format!("f{below} (f{below} x)") } else { format!("f{below} x + cos x") };
        echo_in(
            &mut session,
            &format!(
                "let f{k} (x : Float) = if x > 100.0 then f{below} (f{below} x) + f{below} (x * x) else 0.5 * ({twice})"
            ),
        );
    }
    assert_eq!(echo_in(&mut session, "(gradcheck f24 0.7).ok"), "true : Bool");
    assert!(session.derivations().iter().all(|r| !r.contains("taped")), "{:?}", session.derivations());
}

/// The bound holds, and is no more than a few times the work, also where arrays are captured, read in part, or inside data.
#[test]
fn costs_keep_within_their_bound() {
    let (mut session, _) = session();
    for d in [
        "type T = Leaf Float | Node T T",
        "let rec total t = match t with | Leaf x -> x * x | Node a b -> total a * total b",
        "let rec power (x : Float) (n : Int) : Float = if n == 0 then 1.0 else x * power x (n - 1)",
    ] {
        echo_in(&mut session, d);
    }
    let cases = [
        ("fun (x : Float) -> (map (fun i -> x) (iota 50))[0]", "2.0"),
        ("fun (xs : [40]Float) -> sum (map (fun x -> x * xs[0]) xs)", "(map float (iota 40))"),
        ("fun (xs : [40]Float) -> (map (fun x -> x * sum xs) xs)[3]", "(map float (iota 40))"),
        (
            "fun (xs : [6]Float) -> sum (map (fun i -> sum (map (fun x -> if x > 2.0 then xs[i] else 0.0) xs)) (iota 6))",
            "(map float (iota 6))",
        ),
        ("fun (xs : [6]Float) -> let ys = exp xs in let zs = reverse ys in zs[1] * ys[2]", "(map float (iota 6))"),
        (
            "fun (x : Float) -> sum (loop a = replicate 9 x for i < 5 do map (fun k -> if k == i then a[k] * x else a[k]) (iota 9))",
            "1.5",
        ),
        ("fun (x : Float, n : Int) -> power x n", "(1.1, 30)"),
        ("total", "(Node (Node (Leaf 1.0) (Leaf 2.0)) (Leaf 3.0))"),
        (
            "fun (k : [3]Float) -> sum (map (fun v -> v * v) (for i < 10 -> sum for j < 3 -> k[j] * (linspace 0.0 1.0 12)[i + j]))",
            "[0.1, -0.4, 0.7]",
        ),
        ("fun (m : [4][4]Float) -> sum (sum (m @ m.T))", "(for i < 4, j < 4 -> float (i + j))"),
        ("fun (xs : [8]Float) -> maximum xs + prod xs + last (cumsum (sort xs))", "(for i < 8 -> float (i * i))"),
        (
            "fun (xs : [8]Float) -> let x = loop x = xs while sum x < 100.0 do x + xs[0] * x[1] in sum x",
            "(replicate 8 1.0)",
        ),
    ];
    let mut wrong = Vec::new();
    for (f, x) in cases {
        let have = echo_in(
            &mut session,
            &format!(
                "let c = cost ({f}) {x} in (c.ratio <= c.bound, c.bound <= 8.0 * c.ratio, sum (map (fun l -> l.adjoint) c.lines) == c.adjoint)"
            ),
        );
        if have != "(true, true, true) : (Bool, Bool, Bool)" {
            wrong.push(format!("{f}: {have}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn absent_arrays_take_no_bytes() {
    let (mut s, _) = session();
    echo_in(
        &mut s,
        "let f (x : [3]Float) = let (g, h) = jvp (grad (fun w -> sum (w * w * w))) x [1.0, 0.0, 2.0] in sum (g * h)",
    );
    echo_in(&mut s, "let g (v : [2]Float) = let r = loop s = v for i < 4 do s * v + sin s in sum r");
    echo_in(&mut s, "let h (x : [2]Float) = sum (sum (hessian g x))");
    for (f, x) in [("f", "[1.0, 2.0, 3.0]"), ("h", "[0.4, 0.5]")] {
        for plan in ["StoreAll", "RecomputeAll", "Sqrt", "Revolve 2"] {
            let have = echo_in(
                &mut s,
                &format!(
                    "let a = grad_with ({plan}) {f} {x} in match residuals {f} {x} |> with_plan ({plan}) with | Residuals t _ -> t.measured == Some t.bytes && a == grad {f} {x}"
                ),
            );
            assert_eq!(have, "true : Bool", "{f} {plan}");
        }
    }
}

#[test]
fn costs_name_the_rules() {
    let rules = |op: &str| {
        let (mut s, _) = session();
        echo_in(&mut s, &format!("let f (x : [3]Float) : Float = {op}"));
        echo_in(
            &mut s,
            "fold (fun acc r -> acc ++ f\"{r.construct} {r.line} {r.rule}; {r.why}|\") \"\" (cost f [0.5, 0.7, 0.2]).rules",
        )
    };
    let cases = [
        ("reduce (+) 0.0 x", "reduce 1 +: copies"),
        ("reduce (fun a b -> min b a) inf x", "reduce 1 min, max: the first position"),
        ("prod x", "reduce 1 *: products of the others"),
        ("maximum x", "reduce 1 min, max: the first position"),
        ("minimum x", "reduce 1 min, max: the first position"),
        (
            "reduce (fun a b -> a + b + a * b) 0.0 x",
            "reduce 1 two exclusive scans, on whole arrays (§3.1, Fig. 2); the operator is none that has a rule of its own",
        ),
        (
            "reduce (fun a b -> a + x[0] * b) 0.0 x",
            "reduce 1 the loop that it is, backwards; its operator captures a variable that is differentiated",
        ),
        (
            "reduce (fun a b -> a - b) 0.0 x",
            "reduce 1 the loop that it is, backwards; its operator is not associative: the order of the elements counts",
        ),
        ("last (cumsum x)", "scan 1 +: running sums"),
        ("last (scan max (-inf) x)", "scan 1 min, max"),
        ("sum (reduce_by_index (replicate 2 0.0) (+) 0.0 [0, 1, 0] x)", "reduce_by_index 1 +: each bin's cotangent"),
    ];
    let wrong: Vec<String> = cases
        .iter()
        .map(|(op, want)| (op, want, rules(op)))
        .filter(|(_, want, have)| !have.contains(*want))
        .map(|(op, _, have)| format!("{op}: {have}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

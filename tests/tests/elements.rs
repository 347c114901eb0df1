//! `map` and comprehensions give what the function gives for each element alone: values, errors, effects and
//! derivatives, in the interpreter and in compiled code.

use adl_tests::{echo, echo_in, session};

/// Functions of an element `v` of a vector of Floats, with `w`, `ws` and `m` captured.
const BODIES: &[&str] = &[
    "v * w + 1.0",
    "sin v * w * w",
    "if v > 0.0 then v * v else w * v",
    "if v > 0.0 then sqrt v else if v < -1.0 then v * w else 0.0",
    "dot ws [v, w, v * w]",
    "sum (v * ws)",
    "maximum (ws * v)",
    "minimum (map (fun a -> (a - v) * (a - v) * w) ws)",
    "sum (map (fun a -> if a > v then a * v else w) ws)",
    "(v, v * w)",
    "{a = v, b = [v, w]}",
    "fst (v * w, v)",
    "({a = v, b = w}).a * 2.0",
    "let f x = x * w in f (f v)",
    "let g = fun x -> x * v in g w + g v",
    "(m @ [v, w, 1.0])[1]",
    "([v, w, 1.0] @ m)[2] * v",
    "m[1] * v",
    "m[0][1] * v",
    "m[0, 2] * v",
    "[v, w] * 2.0",
    "[[v, w], [w, v]] @ [v, 1.0]",
    "loop y = v for i < 3 do sin y * w",
    "loop y = v while y < 2.0 do y * y + 1.0",
    "let rec p n x = if n == 0 then 1.0 else x * p (n - 1) x in p 3 v * w",
    "fold (fun a b -> a * b + v) w ws",
    "clamp 0.0 1.0 v * w",
    "max v w",
    "v ^ 3 * w",
    "abs v",
    "float (int v) * w",
    "if is_nan v then 0.0 else v * w",
    "mean (ws * v)",
    "sum for i < 3 -> ws[i] * v",
    "maximum for i < 3 -> ws[i] * v * w",
    "for i < 3 -> ws[i] * v",
    "(reverse (ws * v))[0]",
    "first (ws * v) + last (ws * w)",
    "let x = [v, w] in x[0] * x[1]",
    "match v > w with | true -> v * v | false -> w",
    "match (v, w) with | (a, b) -> a * b",
    "[| v > 0.0 |] * sqrt v * w",
    "stats.logsumexp (ws * v)",
    "sum (stats.softmax (ws * v) * ws)",
    "(fun a b -> a * b) v w",
    "let (p, q) = (v * w, v) in p - q",
    "grad (fun x -> x * x * w) v",
    "checkpoint (fun x -> x * w) v",
    "sum (sort (ws * v) * ws)",
    "norm (ws * v)",
    "if v > 0.0 && w > 1.0 then v else w * v",
    "(if v > 0.0 then sin else cos) v * w",
    "(if w > 0.0 then sin else cos) v",
    "w * w",
    "w",
    "1.0",
    "[w, w]",
    "(v > 0.0, v)",
    "if v > 0.0 then (v, 1) else (w, 2)",
    "sum (take 2 (ws * v))",
    "len (ws * v) |> float |> fun n -> n * v",
    "let x = ws * v in x[int (abs v) % 3]",
    "ws[if v > 0.0 then 0 else 1] * v",
    "-v",
    "where (v > 0.0) (v * w) w",
    "if v == w then 1.0 else v",
    "{({a = v, b = w}) with b = v * w}",
    "sum (map2 (fun a b -> a * b * v) ws (ws * w))",
    "sum (map (fun r -> dot r ws * v) m)",
    "grad (fun x -> sum (x * x * v)) (ws * v)",
    "jvp (fun x -> x * x * w) v (v * w)",
    "value_and_grad (fun r -> r.a * r.b * r.b) {a = v, b = w}",
    "grad (fun (a, b) -> a * sin b * v) (v, w)",
    "grad (fun x -> if x > 0.0 then x * w else sin x) v",
    "jacobian (fun x -> [x[0] * x[1], sin x[0], x[2] * v, w]) (ws * v)",
    "jacfwd (fun x -> [x[0] * x[1], sin x[2]]) (ws * v)",
    "jacrev (fun x -> x[0:2] * w) (ws * v)",
    "jacobian (fun x -> [dot x x * w]) (ws * v)",
    "grad (fun x -> x * grad (fun y -> x * y * y * w) v) v",
    "snd (jvp (grad (fun x -> x ^ 3 * w)) v w)",
    "grad (fun _x -> w) v",
    "sum ([v, w] ++ ws * v)",
    "(ws * v)[1:] * w",
    "(m * v)[1, 0:2]",
    "(m * v)[0:2, 1:] * w",
    "(m * v).T @ ws",
    "let mul a b = a * b in (mul v) w",
    "sum (map ((fun a b -> a * b + v) w) ws)",
    "sum (map ((fun a b -> a * b) v) (ws * v))",
    "[[v, w], [w, v]] @ [[1.0, v, w], [w, 2.0, v]]",
    "(m * v) @ (ws * v)",
    "(ws * v) @ (m * v)",
    "foldr (fun a b -> a * b + v) w ws",
    "{ws with [1] = v}",
    "{(ws * v) with [int (abs v) % 3] = w * v}",
    "{m with [0, 1] = v, [2, :] = ws * v}",
    "{m with [int (abs v) % 3] = ws}",
    "scatter (ws * v) [2, 0] [w, v]",
    "scatter_within (m * v) [1, 9, 0, -1] [ws, ws, ws * w, ws]",
    "loop y = ws for i < 3 do {y with [i] = y[i] * v + w}",
    "loop y = ws * v for i < 6 do {y with [i % 3] = sin y[(i + 1) % 3]}",
    "let y = ws * v in sum {y with [0] = w} + y[0]",
];

const SETUP: &str = "let xs = map (fun i -> 3.0 * sin (float i)) (iota 20)\nlet alone f xs = list.to_array (list.map f (list.of_array xs))\n";

#[test]
fn values_are_those_of_each_element_alone() {
    // Compiled code computes so many elements at once.
    values(8200);
    values(20);
}

fn values(count: usize) {
    let (mut s, _) = session();
    echo_in(&mut s, &SETUP.replace("iota 20", &format!("iota {count}")));
    let mut wrong = Vec::new();
    for body in BODIES {
        let f = format!(
            "(fun v -> let (w, ws, m) = (1.3, [0.5, -0.2, 0.9], [[1.0, 2.0, 3.0], [0.5, 0.1, 0.2], [2.0, 0.3, 1.0]]) in {body})"
        );
        let have = echo_in(
            &mut s,
            &format!(
                "let (a, b) = (map {f} xs, alone {f} xs)\nlet close = maximum (abs (ravel a - ravel b)) <= 1e-14 * maximum (abs (ravel a))\n(close, len a == len b)"
            ),
        );
        if have != "(true, true) : (Bool, Bool)" {
            wrong.push(format!("{body}: {have}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn comprehensions_are_those_of_each_index_alone() {
    let (mut session, _) = session();
    echo_in(&mut session, SETUP);
    echo_in(
        &mut session,
        "let p = ((1.3, [0.5, -0.2, 0.9], [[1.0, 2.0, 3.0], [0.5, 0.1, 0.2], [2.0, 0.3, 1.0]]), xs)\nlet weigh y = let r = ravel y in dot r (map (fun i -> cos (float i)) (iota (len r)))",
    );
    let mut wrong = Vec::new();
    for body in BODIES {
        let with = "(((w, ws, m), xs) : ((Float, [3]Float, [3][3]Float), [20]Float))";
        let test = format!(
            "let alone {with} = let f = (fun (v : Float) -> weigh ({body})) in list.to_array (list.map f (list.of_array xs))\n\
             let vector {with} = for i < 20 -> weigh (let v = xs[i] in {body})\n\
             let matrix {with} = for i < 4, j < 5 -> (let v = xs[5 * i + j] in {body})\n\
             let total {with} = sum for i < 4, j < 5 -> weigh (let v = xs[5 * i + j] in {body})\n\
             let close a b = maximum (abs (ravel a - ravel b)) <= 1e-12 * (1.0 + maximum (abs (ravel a)))\n\
             let same = len (ravel (matrix p)) == 20 * len (ravel ((fun {with} -> let v = xs[0] in ravel ({body})) p))\n\
             (close (alone p) (vector p), close (sum (alone p)) (total p), same, close (grad (fun p -> sum (alone p)) p) (grad total p))"
        );
        let have = echo_in(&mut session, &test);
        if have != "(true, true, true, true) : (Bool, Bool, Bool, Bool)" {
            wrong.push(format!("{body}: {have}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn derivatives_are_those_of_each_element_alone() {
    let (mut session, _) = session();
    echo_in(&mut session, SETUP);
    echo_in(
        &mut session,
        "let p = ((1.3, [0.5, -0.2, 0.9], [[1.0, 2.0, 3.0], [0.5, 0.1, 0.2], [2.0, 0.3, 1.0]]), xs)\nlet weigh y = let r = ravel y in dot r (map (fun i -> cos (float i)) (iota (len r)))",
    );
    let mut wrong = Vec::new();
    for body in BODIES {
        let test = format!(
            "let run each (((w, ws, m), xs) : ((Float, [3]Float, [3][3]Float), [20]Float)) = weigh (each (fun (v : Float) -> {body}) xs)\n\
             let (f, g) = (run map, run alone)\nlet d = unravel p (map (fun i -> sin (float i)) (iota (len (ravel p))))\n\
             let close a b = maximum (abs (ravel a - ravel b)) <= 1e-12 * (1.0 + maximum (abs (ravel a)))\n\
             (close (grad f p) (grad g p), close (jvp f p d) (jvp g p d), close (hvp f p d) (hvp g p d), close (grad (fun x -> snd (jvp f x d)) p) (hvp g p d))"
        );
        let have = echo_in(&mut session, &test);
        if have != "(true, true, true, true) : (Bool, Bool, Bool, Bool)" {
            wrong.push(format!("{body}: {have}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn effects_and_errors_come_in_the_order_of_the_elements() {
    let (mut s, out) = session();
    echo_in(&mut s, "map (fun i -> let _ = print i in i * i) (iota 10)");
    assert_eq!(*out.borrow(), "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    out.borrow_mut().clear();
    echo_in(&mut s, "let hello u = print \"hello\"\nmap (fun x -> let _ = hello () in x) (iota 10)");
    assert_eq!(out.borrow().matches("hello").count(), 10);
    for (text, want) in [
        ("map (fun i -> [1, 2, 3][i]) (iota 10)", "E0701: index 3 is out of bounds for an array of length 3"),
        (
            "map (fun i -> if i > 4 then [1, 2][i] else 0) (iota 10)",
            "E0701: index 5 is out of bounds for an array of length 2",
        ),
        ("map (fun i -> if i == 7 then error \"seven\" else 10 // (i - 8)) (iota 10)", "E0706: seven"),
        ("map (fun i -> 10 // (i - 8)) (iota 10)", "E0704: division of an Int by zero"),
        ("map (fun i -> if i < 3 then [1, 2, 3][i] else 0) (iota 10)", "[1, 2, 3, 0, 0, 0, 0, 0, 0, 0] : [10]Int"),
        (
            "map (fun i -> if i == 8 then 0 else 10 // (i - 8)) (iota 10)",
            "[-2, -2, -2, -2, -3, -4, -5, -10, 0, 10] : [10]Int",
        ),
        ("map (fun i -> 2 ^ 62 * i) (iota 10)", "E0703: Int overflow: the result does not fit in 64 bits"),
        ("map show (iota 9)", "[\"0\", \"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\"] : [9]String"),
        (
            "map (fun i -> if i > 5 then Some i else None) (iota 8)",
            "[None, None, None, None, None, None, Some 6, Some 7] : [8](Option Int)",
        ),
        ("for i < 10 -> [1, 2, 3][i]", "E0701: index 3 is out of bounds for an array of length 3"),
        ("sum for i < 20000 -> 10 // (i - 19999)", "E0704: division of an Int by zero"),
        ("sum for i < 20 -> if i < 3 then [1, 2, 3][i] else 0", "6 : Int"),
        ("sum for i < 20 -> 2 ^ 62 * i", "E0703: Int overflow: the result does not fit in 64 bits"),
        ("maximum for i < 20 -> if i == 7 then nan else float i", "nan : Float"),
        ("sum for i < 20 -> [float i, 1.0]", "[190.0, 20.0] : [2]Float"),
        ("sum for i < 20 -> {a = float i}", "{a = 190.0} : {a : Float}"),
        ("map (fun i -> ()) (iota 8)", "[(), (), (), (), (), (), (), ()] : [8]()"),
        (
            "map (fun x -> x > 3.0 || x < 1.0) (map float (iota 8))",
            "[true, false, false, false, true, true, true, true] : [8]Bool",
        ),
    ] {
        let have = echo(text);
        assert!(
            have == want
                || want.starts_with('[')
                    && have.replace("](Option Int)", "]Option Int") == want.replace("](Option Int)", "]Option Int"),
            "{text}: {have}"
        );
    }
}

#[test]
fn results_without_elements_have_their_extents() {
    let (mut session, _) = session();
    echo_in(&mut session, "let xs = [1.0, 2.0]\nlet rows (n : Int) (x : [_]Float) = for i < n -> x * float i");
    for (text, want) in [
        ("(map (fun i -> xs * float i) (iota 0)).T", "[[], []] : [2][0]Float"),
        ("(for i < 0 -> xs * float i).T", "[[], []] : [2][0]Float"),
        ("(rows 0 xs).T", "[[], []] : [2][0]Float"),
        (
            "engine.grad Linearize (fun (x : [_]Float) -> let y = map (fun (f : (Float -> Float, Float)) -> x) (replicate 0 (abs, 0.5)) ++ (for i < 2 -> x) in sum y[0]) xs",
            "[1.0, 1.0] : [2]Float",
        ),
    ] {
        assert_eq!(echo_in(&mut session, text), want, "{text}");
    }
}

#[test]
fn loops_may_be_nested_deeply() {
    // Estimates multiply with each level.
    let body = (0..13).fold("y * 0.5 + x".to_owned(), |body, k| format!("loop y = y for i{k} < 1 do ({body})"));
    let (mut s, _) = session();
    echo_in(&mut s, &format!("let f (x : [_]Float) = let y = x in {body}"));
    assert_eq!(echo_in(&mut s, "grad (fun x -> sum (f x)) [1.0, 2.0]"), "[1.5, 1.5] : [2]Float");
    assert_eq!(echo_in(&mut s, "map (fun x -> sum (f x)) [[1.0, 2.0], [3.0, 4.0]]"), "[4.5, 10.5] : [2]Float");
}

/// Programs with the number of scalar records that one gradient may leave: the derivative is compiled.
const TAPED: &[(&str, &str, usize)] = &[
    (
        "logistic loss",
        "let x = random.normal (random.key 1) [200, 5]\nlet y = map (fun v -> if v > 0.0 then 1.0 else 0.0) (x @ replicate 5 1.0)\nlet p = replicate 5 0.1\nlet loss w = let p = map (fun row -> sigmoid (dot row w)) x in mean (map2 (fun p y -> -(y * log p + (1.0 - y) * log (1.0 - p))) p y)",
        5,
    ),
    (
        "two layers",
        "let x = random.normal (random.key 1) [200, 4]\nlet y = map sum x\nlet p = {a = random.normal (random.key 2) [4, 6], b = replicate 6 0.1, c = replicate 6 0.2, d = 0.0}\nlet net p (row : [4]Float) = dot p.c (tanh (row @ p.a + p.b)) + p.d\nlet loss p = mean (map2 (fun row t -> (net p row - t) ^ 2) x y)",
        5,
    ),
    (
        "mixture",
        "let x = random.normal (random.key 1) [200, 2]\nlet p = random.normal (random.key 3) [4, 2]\nlet loss (mu : [4][2]Float) = -(sum (map (fun r -> stats.logsumexp (map (fun m -> -0.5 * sum ((r - m) * (r - m))) mu)) x))",
        5,
    ),
    (
        "k-means",
        "let x = random.normal (random.key 1) [200, 3]\nlet p = random.normal (random.key 3) [5, 3]\nlet loss (c : [5][3]Float) = sum (map (fun p -> minimum (map (fun q -> sum ((p - q) * (p - q))) c)) x)",
        5,
    ),
    (
        "convolution",
        "let x = random.normal (random.key 1) [220]\nlet p = random.normal (random.key 2) [8]\nlet loss w = sum (map (fun i -> (sum for j < 8 -> w[j] * x[i + j]) ^ 2) (iota 200))",
        5,
    ),
    (
        "branches",
        "let x = random.normal (random.key 1) [200]\nlet p = 2.0\nlet loss a = sum (map (fun v -> if v > 0.0 then a * v * v else sin (a * v)) x)",
        5,
    ),
    (
        "records",
        "let p = map (fun i -> {m = sin (float i), v = 1.0 + float i}) (iota 200)\nlet loss ps = sum (map (fun r -> r.m * r.m / r.v + log r.v) ps)",
        5,
    ),
];

#[test]
fn derivatives_of_maps_need_no_tape() {
    for (name, setup, most) in TAPED {
        let (mut s, _) = session();
        let before = echo_in(&mut s, setup);
        let start = s.recorded();
        let have = echo_in(&mut s, "(gradcheck loss p).ok");
        assert_eq!(have, "true : Bool", "{name}: {before}");
        let (scalar, array) = (s.recorded().scalar - start.scalar, s.recorded().array - start.array);
        assert!(scalar <= *most && array < 60, "{name}: {scalar} scalar records and {array} of arrays");
    }
}

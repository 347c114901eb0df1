//! The engines of reverse mode: one gradient by all of them, and the costs that the paper proves.

use adl_session::Session;
use adl_tests::functions::{FUNCTIONS, unary};
use adl_tests::{echo_in, session};

/// Texts that must answer `true`.
fn all_true(s: &mut Session, cases: impl IntoIterator<Item = String>) {
    let wrong: Vec<String> = cases
        .into_iter()
        .map(|c| (echo_in(s, &c), c))
        .filter(|(have, _)| have != "true : Bool")
        .map(|(have, c)| format!("{c}\n    gives {have}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether all engines agree, but for rounding, with `Linearize`. `Naive` may give up, and `Unf` be out of its field.
const AGREE: &str = "let may e s = match e with\n  | Naive -> s == \"limit\"\n  | Unf -> s == \"unsupported\"\n  | _ -> false\n\
                     let agree bound c = all (map3 (fun e s d -> s == \"ok\" && d <= bound || may e s) c.engine c.status c.difference)";

#[test]
fn every_engine_has_the_gradients_of_every_rule() {
    let (mut s, _) = session();
    assert!(s.eval(AGREE).ok());
    let elementwise = unary().map(|f| format!("sum ({f} x * x)"));
    let all = FUNCTIONS.iter().map(|f| (*f).to_owned()).chain(elementwise);
    all_true(&mut s, all.map(|f| format!("let f (x : [3]Float) : Float = {f}\nlet x = [0.37, 0.71, 0.52]\nagree (1e-10 * (1.0 + norm (grad f x))) (engine.compare f x)")));
}

#[test]
fn engines_nest_in_engines() {
    let (mut session, _) = session();
    let ways = "[Naive, Staged, Cayley, Sparse, Mutable, Taped]";
    all_true(
        &mut session,
        FUNCTIONS.iter().step_by(3).map(|f| {
            format!(
                "let f (x : [3]Float) : Float = {f}\nlet x = [0.37, 0.71, 0.52]\nlet v = [0.3, -1.2, 0.7]\nlet h = hvp f x v\n\
                 all (map (fun e -> norm (engine.grad e (fun x -> dot (engine.grad e f x) v) x - h) <= 1e-9 * (1.0 + norm h)) {ways})"
            )
        }),
    );
    let mixed = [
        ("grad (fun x -> engine.grad Naive (fun y -> y * y * y * x) 2.0) 3.0", "12.0 : Float"),
        ("engine.grad Sparse (fun x -> grad (fun y -> y * y * x) x) 3.0", "12.0 : Float"),
        ("snd (jvp (engine.grad Unf (fun x -> x ^ 3)) 2.0 1.0)", "12.0 : Float"),
        ("engine.grad Unf (engine.grad Unf (fun x -> x ^ 3)) 2.0", "12.0 : Float"),
        ("engine.grad Staged (fun x -> x * engine.grad Cayley (fun y -> x + y) 1.0) 3.0", "1.0 : Float"),
        ("map (engine.grad Mutable sin) [0.0]", "[1.0] : [1]Float"),
    ];
    for (text, want) in mixed {
        assert_eq!(echo_in(&mut session, text), want, "{text}");
    }
}

/// A text at every engine that has it.
fn everywhere(text: &str, engines: &[&str]) -> Vec<String> {
    let (mut s, _) = session();
    assert!(s.eval("type Tree = Leaf | Node Tree Float Tree\nlet rec total t = match t with\n  | Leaf -> 0.0\n  | Node l x r -> total l + x * x + total r").ok());
    engines.iter().map(|e| echo_in(&mut s, &text.replace('E', e))).collect()
}

#[test]
fn gradients_of_data_kinks_and_precisions() {
    let all = ["Linearize", "Naive", "Staged", "Cayley", "Sparse", "Mutable", "Taped", "Unf"];
    // By hand.
    let cases = [
        ("engine.grad E (fun (x, y) -> x * y) (3.0, 4.0)", "(4.0, 3.0) : (Float, Float)"),
        (
            "engine.grad E (fun r -> sum (r.w * r.w) * r.b) {w = [1.0, 2.0], b = 3.0}",
            "{w = [6.0, 12.0], b = 5.0} : {w : [2]Float, b : Float}",
        ),
        ("engine.grad E total (Node (Node Leaf 1.0 Leaf) 2.0 Leaf)", "Node (Node Leaf 2.0 Leaf) 4.0 Leaf : Tree"),
        (
            "engine.grad E (fun ts -> sum (map total ts)) [Node Leaf 1.0 Leaf, Leaf]",
            "[Node Leaf 2.0 Leaf, Leaf] : [2]Tree",
        ),
        (
            "engine.grad E (fun xs -> list.fold (fun a v -> a * v) 1.0 xs) (2.0 :: 3.0 :: 4.0 :: Nil)",
            "Cons 12.0 (Cons 8.0 (Cons 6.0 Nil)) : List Float",
        ),
        (
            "engine.grad E (fun xs -> sum (map (fun (a, b) -> a * b) xs)) [(1.0, 2.0), (3.0, 4.0)]",
            "[(2.0, 1.0), (4.0, 3.0)] : [2](Float, Float)",
        ),
        ("engine.grad E (fun (x, n, s) -> x * float n) (2.0, 3, \"t\")", "(3.0, 3, \"t\") : (Float, Int, String)"),
        ("engine.grad E (fun (n : Int) -> 1.0) 3", "3 : Int"),
        ("engine.grad E (fun x -> 1.0) 2.0", "0.0 : Float"),
        ("engine.grad E id 2.0", "1.0 : Float"),
        ("engine.grad E (fun (x : [0]Float) -> sum x) []", "[] : [0]Float"),
        ("engine.grad E abs 0.0", "0.0 : Float"),
        ("engine.grad E relu 0.0", "0.0 : Float"),
        ("engine.grad E (fun (a, b) -> max a b) (1.0, 1.0)", "(1.0, 0.0) : (Float, Float)"),
        ("engine.grad E (fun (xs : [3]Float) -> minimum xs) [2.0, 1.0, 1.0]", "[0.0, 1.0, 0.0] : [3]Float"),
        ("engine.grad E (fun (xs : [2]Float) -> norm xs) [0.0, 0.0]", "[0.0, 0.0] : [2]Float"),
        // The square root's derivative at 0 is infinite and not chosen.
        (
            "engine.grad E (fun (xs : [2]Float) -> sum (where (map (fun x -> x > 0.0) xs) (sqrt xs) 0.0)) [0.0, 4.0]",
            "[0.0, 0.25] : [2]Float",
        ),
        ("engine.grad E (fun x -> x * x) 1.5f32", "3.0 : F32"),
        ("engine.grad E (fun (x : [2]F32) -> sum (x * x)) [1.5f32, 2.0f32]", "[3.0, 4.0] : [2]F32"),
        ("engine.grad E (fun x -> to_f32 (x * x)) 1.5", "3.0 : Float"),
        ("engine.grad E (engine.grad E (fun x -> x * x * x)) 1.5f32", "9.0 : F32"),
    ];
    for (text, want) in cases {
        assert_eq!(everywhere(text, &all), vec![want; 8], "{text}");
    }
    // Rules that only running them tells.
    let ruled = [
        (
            "engine.grad E (fun x -> custom_jvp (fun x -> x * x) (fun x -> (x * x, lin d -> 10.0 * d)) (x * x)) 2.0",
            "40.0 : Float",
        ),
        (
            "engine.grad E (custom_vjp (fun (x : [2]F32) -> sum x) (fun x -> (sum x, lin d -> d * x))) [1.0f32, 2.0f32]",
            "[1.0, 2.0] : [2]F32",
        ),
        (
            "engine.grad E (fun x -> sum (checkpoint (fun (v : [2]Float) -> v * v) x * x)) [1.0, 2.0]",
            "[3.0, 12.0] : [2]Float",
        ),
    ];
    for (text, want) in ruled {
        assert_eq!(everywhere(text, &all[..7]), vec![want; 7], "{text}");
        assert!(
            everywhere(text, &["Unf"])[0].starts_with("E0721: the engine `Unf` cannot differentiate this function"),
            "{text}"
        );
    }
}

/// A number from a session.
fn number(s: &mut Session, text: &str) -> i64 {
    let have = echo_in(s, text);
    have.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{text} gives {have}"))
}

#[test]
fn what_grad_does_is_counted_as_the_code_that_it_runs() {
    let (mut session, _) = session();
    assert!(session.eval("let f (x : Float) : Float = sin x * x\nlet chain n x = loop y = x for i < n do y + y").ok());
    // sin and *; cos, then three scalings and one addition; the values of cos, sin and x.
    assert_eq!(
        echo_in(&mut session, "let r = engine.run Linearize f 0.5 in (r.primal, r.backward, r.memory)"),
        "(2, 5, 24) : (Int, Int, Int)"
    );
    for n in [1, 10, 1000] {
        assert_eq!(
            echo_in(&mut session, &format!("let r = engine.run Linearize (chain {n}) 1.0 in (r.primal, r.backward)")),
            format!("({n}, {n}) : (Int, Int)")
        );
    }
    let same = "let r = engine.run Linearize (chain 7) 1.0\nlet c = cost (chain 7) 1.0\n(r.primal, r.backward, r.memory) == (c.primal, c.adjoint, c.bytes)";
    assert_eq!(echo_in(&mut session, same), "true : Bool");
}

#[test]
fn naive_doubles_at_each_step_and_the_others_are_linear() {
    let (mut session, _) = session();
    assert!(session.eval("let chain n x = loop y = x for i < n do y + y").ok());
    for n in 1..16 {
        // One call for the result, two for each that it calls, down to the input.
        assert_eq!(number(&mut session, &format!("(engine.run Naive (chain {n}) 1.0).calls")), (2 << n) - 1);
        for e in ["Staged", "Cayley", "Sparse", "Mutable"] {
            assert_eq!(number(&mut session, &format!("(engine.run {e} (chain {n}) 1.0).calls")), n + 1, "{e}");
        }
        assert_eq!(number(&mut session, &format!("(engine.run Unf (chain {n}) 1.0).calls")), n);
        assert_eq!(number(&mut session, &format!("(engine.run Staged (chain {n}) 1.0).primal")), n);
    }
    for e in ["Linearize", "Staged", "Cayley", "Sparse", "Mutable", "Taped", "Unf"] {
        let mut cost = |what: &str, n: i64| number(&mut session, &format!("(engine.run {e} (chain {n}) 1.0).{what}"));
        for what in ["backward", "memory"] {
            let (a, b, c) = (cost(what, 100), cost(what, 200), cost(what, 300));
            assert_eq!(b - a, c - b, "{e}: {what} of 100, 200 and 300 steps: {a}, {b}, {c}");
        }
    }
}

#[test]
fn what_is_collected_costs_what_the_paper_says() {
    let (mut session, _) = session();
    assert!(session.eval("let squares (x : [_]Float) = sum (x * x)").ok());
    let mut growth = |e: &str| {
        let mut cost =
            |n: i64| number(&mut session, &format!("(engine.run {e} squares (replicate {n} 1.0)).backward")) as f64;
        cost(1000) / cost(100)
    };
    // Ten times the input: 10 times the work where it is linear, 15 with a logarithm, 100 where whole gradients are added or copied.
    for (e, low, high) in [
        ("Taped", 9.5, 10.5),
        ("Unf", 9.5, 10.5),
        ("Mutable", 9.5, 10.5),
        ("Sparse", 11.0, 16.0),
        ("Cayley", 60.0, 101.0),
        ("Staged", 80.0, 101.0),
        ("Naive", 60.0, 101.0),
    ] {
        let have = growth(e);
        assert!((low..high).contains(&have), "{e}: {have}");
    }
    // A balanced input keeps what `Cayley` copies small: a tree of tuples instead of an array.
    let tree = "let f (((a, b), (c, d)), ((p, q), (r, s))) = a * b + c * d + p * q + r * s\nlet x = (((1.0, 2.0), (3.0, 4.0)), ((5.0, 6.0), (7.0, 8.0)))\n";
    let flat = "let f (x : [8]Float) = x[0] * x[1] + x[2] * x[3] + x[4] * x[5] + x[6] * x[7]\nlet x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]\n";
    let staged = number(&mut session, &format!("{tree}(engine.run Staged f x).backward"));
    assert!(number(&mut session, &format!("{tree}(engine.run Cayley f x).backward")) < staged);
    assert_eq!(number(&mut session, &format!("{flat}(engine.run Staged f x).backward")), staged);
}

#[test]
fn limits_are_errors_with_a_code() {
    let (mut session, _) = session();
    assert!(
        session
            .eval("let chain n x = loop y = x for i < n do y + y\nlet big = random.normal (random.key 1) [300, 300]")
            .ok()
    );
    let cases = [
        (
            "engine.grad Naive (chain 20) 1.0",
            "E0720: the engine `Naive` gave up: its backpropagators were called 1048576 times",
        ),
        (
            "engine.run Naive (chain 64) 1.0",
            "E0720: the engine `Naive` gave up: its backpropagators were called 1048576 times",
        ),
        ("(engine.run Naive (chain 19) 1.0).calls", "1048575 : Int"),
        (
            "engine.grad Mutable (fun a -> sum (flatten (a @ a))) big",
            "E0720: the engine `Mutable` gave up: the run has more than 4194304 operations on single numbers",
        ),
        (
            "engine.grad Staged (fun (x : [20000]Float) -> sum (x * x)) (replicate 20000 1.0)",
            "E0720: the engine `Staged` gave up: its backward pass takes more than 134217728 operations",
        ),
        (
            "norm (engine.grad Unf (fun a -> sum (flatten (a @ a))) big - grad (fun a -> sum (flatten (a @ a))) big) < 1e-9",
            "true : Bool",
        ),
        ("engine.grad Naive (fun x -> [x][1]) 1.0", "E0701: index 1 is out of bounds for an array of length 1"),
        (
            "(engine.compare (fun x -> checkpoint sin (chain 30 x)) 1e-9).status",
            "[\"ok\", \"limit\", \"ok\", \"ok\", \"ok\", \"ok\", \"ok\", \"unsupported\"] : [8]String",
        ),
        ("engine.compare (fun x -> [x][1]) 1.0", "E0701: index 1 is out of bounds for an array of length 1"),
    ];
    for (text, want) in cases {
        assert_eq!(echo_in(&mut session, text), want, "{text}");
    }
}

#[test]
fn long_runs_and_deep_data_do_not_overflow() {
    let (mut s, _) = session();
    let calls =
        "map (fun e -> (engine.run e (fun x -> loop y = x for i < 300000 do y * 1.00001) 1.0).calls) engine.all";
    assert_eq!(echo_in(&mut s, calls), "[0, 300001, 300001, 300001, 300001, 300001, 0, 300000] : [8]Int");
    let deep = "let xs = list.of_array (replicate 2000 1.0)\nlet c = engine.compare (list.fold (fun a v -> a + v * v) 0.0) xs\n(c.status, maximum c.difference)";
    let ok = ["\"ok\""; 8].join(", ");
    assert_eq!(echo_in(&mut s, deep), format!("([{ok}], 0.0) : ([8]String, Float)"));
    let deeper = "let g = engine.grad Sparse (list.fold (fun a v -> a + v * v) 0.0) (list.of_array (replicate 100000 1.0))\nlist.fold (+) 0.0 g";
    assert_eq!(echo_in(&mut s, deeper), "200000.0 : Float");
}

/// Numbers that look random, the same each time.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }
    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// The definition of `v{k}` from earlier values and the array `xs`. Values stay within about ±4.
fn definition(draw: &mut Draw, k: usize) -> String {
    let (first, second, third) = (draw.below(k), draw.below(k), draw.below(k));
    let i = draw.below(3);
    match draw.below(12) {
        0 => format!("sin (v{first} * v{second})"),
        1 => format!("v{first} - 0.5 * v{second}"),
        2 => format!("(v{first} + v{second}) / (2.0 + v{third} * v{third})"),
        3 => format!("if v{first} < v{second} then tanh v{first} else v{second} * cos v{third}"),
        4 => format!("loop s = v{first} for i < {} do tanh (s * v{second} + xs[i % 3])", 1 + draw.below(4)),
        5 => format!("mean (map (fun x -> tanh (x * v{first})) xs) + xs[{i}]"),
        6 => format!(
            "(let f = (if v{first} > 0.0 then fun t -> t * v{second} else fun t -> t - v{second}) in tanh (f v{third}))"
        ),
        7 => format!("(let r = {{p = v{first}, q = (v{second}, v{third})}} in r.p * tanh (fst r.q) + 0.1 * snd r.q)"),
        8 => format!("tanh (dot xs (v{first} * {} xs))", draw.pick(&["reverse", "rotate 1", "cumsum", "sort"])),
        9 => format!(
            "(match (if v{first} > 0.3 then Some v{second} else None) with | Some t -> sin t | None -> v{third})"
        ),
        10 => {
            format!(
                "(let rec go n t = if n == 0 then t else go (n - 1) (tanh (t + v{first})) in go {} v{second})",
                draw.below(4)
            )
        }
        _ => format!("min v{first} (max v{second} v{third})"),
    }
}

#[test]
fn random_programs_have_one_gradient() {
    let (mut session, _) = session();
    assert!(session.eval(AGREE).ok());
    let mut draw = Draw(7);
    let programs: Vec<String> = (0..150)
        .map(|_| {
            let n = 3 + draw.below(14);
            let lines: Vec<String> = (2..n).map(|k| format!("  let v{k} = {}\n", definition(&mut draw, k))).collect();
            let ends: Vec<String> = (0..n).map(|k| format!("v{k}")).collect();
            format!(
                "let f (v0, r, xs : [3]Float) : Float =\n  let v1 = r.a\n{}  {}\nlet x = (0.{}, {{a = -0.{}, n = 3}}, [0.3, -0.8, 0.5])\nagree 1e-10 (engine.compare f x)",
                lines.concat(),
                ends.join(" + "),
                1 + draw.below(900),
                1 + draw.below(900)
            )
        })
        .collect();
    all_true(&mut session, programs);
    // The check can fail.
    assert_eq!(
        echo_in(&mut session, "let c = engine.compare f x\nagree 1e-10 {c with difference = replicate 8 1e-9}"),
        "false : Bool"
    );
}

/// The paper's programs, with gradients by hand.
#[test]
fn programs_of_the_paper() {
    let (mut session, _) = session();
    let path = adl_tests::root().join("notebooks/engines.adl");
    let run = session.run_file("engines.adl", &std::fs::read(path).unwrap());
    assert!(run.ok());
    // The rotation by a quaternion u + w: the gradient in v of the direction d is the rotation of d by the inverse.
    let cases = [
        ("engine.grad E scalar_mult (3.0, 4.0) == (4.0, 3.0)"),
        ("engine.grad E dot_product (1.0 :: 2.0 :: Nil, 3.0 :: 4.0 :: Nil) == (3.0 :: 4.0 :: Nil, 1.0 :: 2.0 :: Nil)"),
        ("engine.grad E sum_mat_vec ([[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0]) == ([[5.0, 6.0], [5.0, 6.0]], [4.0, 6.0])"),
        ("(let (g, _) = engine.grad E rotated (v, q) in norm (ravel g - ravel (rotate_vec_by_quat (Vec3 1.0 2.0 3.0, Quaternion (-0.1) (-0.2) (-0.3) 0.9))) < 1e-14)"),
        ("(let (_, Quaternion x y z w) = engine.grad E rotated (v, q) in let f = (fun a b c d -> rotated (v, Quaternion a b c d)) in abs (w - (f 0.1 0.2 0.3 0.900001 - f 0.1 0.2 0.3 0.899999) / 2e-6) < 1e-8)"),
    ];
    for e in ["Linearize", "Naive", "Staged", "Cayley", "Sparse", "Mutable", "Taped", "Unf"] {
        all_true(&mut session, cases.iter().map(|c| c.replace('E', e)));
    }
}

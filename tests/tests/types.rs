//! Types that are inferred, as the REPL prints them, and sizes that are checked when the code runs.

/// Definitions and an expression, with the type of its value.
const TYPES: &[(&str, &str)] = &[
    // Constraints generalise and print.
    ("let sq x = x * x\nsq", "Nums a => a -> a"),
    ("let f x = sin x\nf", "Reals a => a -> a"),
    ("fun x -> x * x", "Nums a => a -> a"),
    ("let step : Diff w => Float -> w -> w -> w = fun lr w g -> w - lr * g\nstep", "Diff w => Float -> w -> w -> w"),
    ("let f x y = (x + 1, y / 2)\nf", "(Nums a, Space b) => a -> b -> (a, b)"),
    ("let f x y = x < y\nf", "Ord a => a -> a -> Bool"),
    ("let f x y = x == y\nf", "Eq a => a -> a -> Bool"),
    ("let f x = show x ++ \"!\"\nf", "Show a => a -> String"),
    ("let f x = x ^ 3\nf", "Nums a => a -> a"),
    ("let f x y = x ^ y\nf", "a ^ b : c => a -> b -> c"),
    ("let f x = int x + 1\nf", "(Nums a, Nums b, int a : b) => a -> b"),
    ("let f (x : F32) = x * 2.0\nf", "F32 -> F32"),
    ("let f g x = grad g x\nf", "(Diff a, Real s) => (a -> s) -> a -> a"),
    ("let f x = vjp sin x\nf", "Reals a => a -> (a, a -o a)"),
    ("let rec fact n = if n == 0 then 1 else n * fact (n - 1)\nfact", "Num a => a -> a"),
    ("let rec even n = n == 0 || odd (n - 1) and odd n = n != 0 && even (n - 1)\nodd", "Num a => a -> Bool"),
    // Beside an array: what is added is one, what it is multiplied with is a number.
    ("let x = [1.0, 2.0]\nlet f a b = x + a * b\nf", "(a * b : d, [2]Float + d : c) => a -> b -> c"),
    ("let f (x : [n]Float) a b = a * b + x\nf", "(a * b : d, d + [n]Float : c) => [n]Float -> a -> b -> c"),
    ("let f (x : [n]Float) a b = x + a / b\nf", "(a / b : d, [n]Float + d : c) => [n]Float -> a -> b -> c"),
    ("let f (x : [n]Float) a b = x * a + b\nf", "([n]Float * a : d, d + b : c) => [n]Float -> a -> b -> c"),
    ("let f (x : [n]Float) a b = a * x * b\nf", "(a * [n]Float : d, d * b : c) => [n]Float -> a -> b -> c"),
    (
        "let f (x : [n]Float) a b c = a * x + b * c\nf",
        "(a * [n]Float : e, b * c : f, e + f : d) => [n]Float -> a -> b -> c -> d",
    ),
    (
        "let f (x : [n]Float) g a = x + a * g x\nf",
        "(b * a : d, [n]Float + d : c) => [n]Float -> ([n]Float -> a) -> b -> c",
    ),
    (
        "let f (m : [n][n]Float) (w : [n][n]Float) v = (m * v) @ (w * v)\nf",
        "([n][n]Float * a : c, c @ c : b) => [n][n]Float -> [n][n]Float -> a -> b",
    ),
    (
        "let lerp (a : [n]Float) b t = a + t * (b - a)\nlerp",
        "(a - [n]Float : d, b * d : e, [n]Float + e : c) => [n]Float -> a -> b -> c",
    ),
    ("let lerp a b t = a + t * (b - a)\nlerp", "(b - a : e, c * e : f, a + f : d) => a -> b -> c -> d"),
    ("let f x y = sum (x * y)\nf", "(Space c, a * b : [n]c) => a -> b -> c"),
    ("let f x y = sum ((x - y) ^ 2)\nf", "(Nums c, a - b : [n]c) => a -> b -> c"),
    ("let f (x : [n]Float) c = where (x > c) x 0.0\nf", "[n]Float -> [n]Float -> [n]Float"),
    ("let f x = (x - mean x) / sqrt (variance x)\nf", "Reals a => [n]a -> [n]a"),
    ("let f a x = a @ x - x\nf", "(a @ b : d, d - b : c) => a -> b -> c"),
    (
        "let f a b x y = a * x + b * y + sum x\nf",
        "(Space c, a * [n]c : f, b * d : g, f + g : h, h + c : e) => a -> b -> [n]c -> d -> e",
    ),
    // The standard library is as narrow as it is true.
    ("stats.histogram", "Int -> Float -> Float -> [n]Float -> [_]Int"),
    ("stats.bincount", "Int -> [n]Int -> [_]Int"),
    ("list.length", "List a -> Int"),
    (
        "ode.dopri5",
        "Diff y => {rtol : Float, atol : Float, max_steps : Int | r} -> (Float -> y -> y) -> y -> Float -> Float -> {y : y, steps : Int, rejected : Int}",
    ),
    ("nn.dense", "Key -> Int -> Int -> {w : [_][_]Float, b : [_]Float}"),
    // Let-polymorphism, local too.
    ("let pair x = (x, x) in (pair 1, pair \"a\")", "((Int, Int), (String, String))"),
    ("let f x = let g y = (x, y) in (g true, g \"a\")\nf", "a -> ((a, Bool), (a, String))"),
    ("let twice f = f >> f\ntwice", "(a -> a) -> a -> a"),
    ("let k = fun x y -> x\nk", "a -> b -> a"),
    // Records.
    ("let f r = r.x + 1.0\nf", "Nums a => {x : a | b} -> a"),
    ("let f r = {r with x = r.x * 2}\nf", "Space a => {x : a | b} -> {x : a | b}"),
    ("let f {x, y} = x\nf {x = 1, y = 2, z = 3}", "Int"),
    ("let f r = {r with x = 1.5} in f {x = 1.0, y = \"a\"}", "{x : Float, y : String}"),
    // Declared types.
    (
        "type Tree a = Leaf | Node (Tree a) a (Tree a)\nlet rec insert x t = match t with | Leaf -> Node Leaf x Leaf | Node l y r -> if x < y then Node (insert x l) y r else Node l y (insert x r)\ninsert",
        "Ord a => a -> Tree a -> Tree a",
    ),
    (
        "type Rose a = Rose a (Forest a) and Forest a = Empty | Grove (Rose a) (Forest a)\nGrove",
        "Rose a -> Forest a -> Forest a",
    ),
    ("type alias Pair a b = (a, b)\nlet swap ((x, y) : Pair a b) : Pair b a = (y, x)\nswap", "(a, b) -> (b, a)"),
    // Sizes.
    (
        "let loss (w : [d]Float) (x : [n][d]Float) (y : [n]Float) : Float = mean (map2 (fun r y -> dot r w - y) x y)\nloss",
        "[d]Float -> [n][d]Float -> [n]Float -> Float",
    ),
    ("let f (x : [n]Float) = x / float n\nf", "[n]Float -> [n]Float"),
    ("let f a b = for i -> a[i] * b[i]\nf", "a * b : c => [n]a -> [n]b -> [n]c"),
    ("let f x y = x @ y\nf", "a @ b : c => a -> b -> c"),
    ("let f x = x.T\nf", "[n][m]a -> [m][n]a"),
    ("let r = reshape [2, 3]\nr", "reshape [n]a : b => [n]a -> [2][3]b"),
    ("map (reshape [2, 1]) [[1.0, 2.0], [3.0, 4.0]]", "[2][2][1]Float"),
    ("concat [1.0] [2.0, 3.0]", "[3]Float"),
    ("filter (fun x -> x > 1) [1, 2, 3]", "[2]Int"),
    ("for i < 2, j < 3 -> i + j", "[2][3]Int"),
    ("jacobian (fun x -> [sum x, x[0]]) [1.0, 2.0, 3.0]", "[2][3]Float"),
    ("let x = [1.0, 2.0, 3.0]\nx[1:]", "[2]Float"),
    // Primitives are values.
    ("map sin", "Reals a => [n]a -> [n]a"),
    ("reduce (+) 0.0", "Real a => [n]a -> a"),
    ("foldr", "(a -> b -> b) -> b -> [n]a -> b"),
    ("zip3", "[n]a -> [n]b -> [n]c -> [n](a, b, c)"),
    ("grad", "(Diff a, Real s) => (a -> s) -> a -> a"),
    ("let h = grad in h (fun x -> x * x) 3.0", "Float"),
    ("reduce (++) \"\" [\"a\", \"b\"]", "String"),
    ("fold (fun acc x -> acc ++ x) \"\" [\"a\"]", "String"),
    ("map2 (@) [[[1.0]]] [[[2.0]]]", "[1][1][1]Float"),
    // What a use decides.
    (
        "let step g (v : [n]Float) dt = (let a = -(g v) in v + dt * a)\nstep",
        "(Space a, b * a : d, [n]Float + d : c) => ([n]Float -> a) -> [n]Float -> b -> c",
    ),
    ("let axpy (x : [n]Float) s y = x + s * y\naxpy", "(a * b : d, [n]Float + d : c) => [n]Float -> a -> b -> c"),
    (
        "let f (p : {a : Float, b : [n]Float}) g = (let d = 0.1 * g p in p - d)\nf {a = 1.0, b = [1.0]} (fun p -> p)",
        "{a : Float, b : [1]Float}",
    ),
    (
        "let rk f (y : [n]Float) h = (let k = f y in let k2 = f (y + h / 2.0 * k) in y + h * (k + k2))\nrk",
        "(Space a, Space b, b * a : c, [n]Float + c : [n]Float) => ([n]Float -> a) -> [n]Float -> b -> [n]Float",
    ),
    (
        "let f (x : [n]Float) p k = x ^ p + (k + k)\nf",
        "(Space b, [n]Float ^ a : d, d + b : c) => [n]Float -> a -> b -> c",
    ),
    ("let swish x = (let y : [3]Float = x * sigmoid (-x) in y)\nswish", "[3]Float -> [3]Float"),
    ("let softmax z = (let m = maximum z in let e = exp (z - m) in e / sum e)\nsoftmax", "Reals a => [n]a -> [n]a"),
    (
        "let kalman p (x, z) = (let k = p @ inv (p + eye 2) in x + k @ (z - x))\nkalman",
        "(a + [2][2]Float : [n][n]Float, a @ [n][n]Float : e, c - b : f, e @ f : g, b + g : d) => a -> (b, c) -> d",
    ),
    (
        "let gate p (x, h) = (let z = p.w @ x + p.u @ h + p.b in (sigmoid z[0:2], tanh z[2:4]))\ngate",
        "(Reals g, c @ e : h, b @ f : a1, h + a1 : b1, b1 + a : [n]g) => {b : a, u : b, w : c | d} -> (e, f) -> ([2]g, [2]g)",
    ),
    (
        "let f g (x : [n]Float) = (let s = norm (g x) in let m : [2][2]Float = g x in s)\nf",
        "([n]Float -> [2][2]Float) -> [n]Float -> Float",
    ),
    (
        "let cov (x : [n][d]Float) = (let c = map (fun r -> r - mean x) x in c.T @ c / float n)\ncov",
        "[n][d]Float -> [d][d]Float",
    ),
    // A recursive call has sizes of its own; branches of different sizes have none.
    (
        "let rec halve (x : [n]Float) : Float = if n < 2 then x[0] else halve x[0:n // 2]\nhalve [1.0, 2.0, 3.0]",
        "Float",
    ),
    (
        "let rec smooth k (x : [n]Float) : [n]Float = if k == 0 then x else smooth (k - 1) (x + 1.0)\nsmooth 1 [1.0]",
        "[1]Float",
    ),
    (
        "let rec deep ls (x : [d]Float) : [_]Float = match ls with | Nil -> x | (w : [_][_]Float) :: rest -> deep rest (w @ x)\ndeep ([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]] :: Nil) [1.0, 2.0]",
        "[3]Float",
    ),
    (
        "let g o = match o with | None -> [] | Some x -> filter (fun v -> v > 0.0) x\ng (Some [1.0, 2.0]) + [1.0, 2.0]",
        "[2]Float",
    ),
    // Reductions as values.
    ("let f : [n][m]Float -> [m]Float = sum\nf", "[n][m]Float -> [m]Float"),
    ("(sum >> sum) [[1.0]]", "Float"),
    ("map mean [[[1.0, 2.0]]]", "[1][2]Float"),
    ("let f = sum\nf", "Space a => [n]a -> a"),
    ("map norm [[[3.0, 4.0]]]", "[1]Float"),
    ("map2 pow [2.0] [3.0]", "[1]Float"),
    // Linear functions.
    ("let f = lin x -> 2.0 * x\nf", "Space a => a -o a"),
    ("let f = (lin x -> 2.0 * x) >> (lin x -> -x)\nf", "Space a => a -o a"),
    ("let f (g : Float -> Float) = g 1.0\nf (lin x -> 3.0 * x)", "Float"),
    // Literals.
    ("(1, 1.0, 1 / 2, 2 ^ 0.5, [1, 2.5], 1 + 0.5)", "(Int, Float, Float, Float, [2]Float, Float)"),
];

#[test]
fn inferred_types_print_as_signatures_are_written() {
    let mut wrong = Vec::new();
    for (text, want) in TYPES {
        let (mut s, _) = adl_tests::session();
        let out = s.eval(text);
        let have = match out.echoes.last() {
            Some(e) if out.ok() => e.ty.clone(),
            _ => out.diags.first().map_or("nothing".into(), |d| d.message.clone()),
        };
        if have != *want {
            wrong.push(format!("{text}\n    wanted {want}\n    got    {have}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Programs whose sizes only their values know, with the error that stops them.
const SIZES_AT_RUN_TIME: &[(&str, &str)] = &[
    ("let f (x : [n]Float) : [3]Float = x\nf [1.0, 2.0]", "an array has size 2 where the signature says 3"),
    ("let f : [n]Float -> [3]Float = fun x -> x\nf [1.0, 2.0]", "an array has size 2 where the signature says 3"),
    ("let c : [3]Float = filter (fun x -> x > 0.0) [1.0, 2.0]", "an array has size 2 where the signature says 3"),
    ("(filter (fun x -> x > 0.0) [1.0] : [2]Float)", "an array has size 1 where the signature says 2"),
    (
        "let f (x : [n]Float) (y : [n]Float) = n\nf [1.0, 2.0] (filter (fun x -> x > 1.0) [1.0, 2.0])",
        "an array has size 1 where the signature says `n`, which is 2",
    ),
    (
        "let f (x : [n]Float) : [n]Float = filter (fun v -> v > 0.0) x\nf [1.0, -2.0]",
        "an array has size 1 where the signature says `n`, which is 2",
    ),
];

#[test]
fn sizes_that_only_values_know_are_checked_when_the_code_runs() {
    for (text, want) in SIZES_AT_RUN_TIME {
        let (mut s, _) = adl_tests::session();
        let out = s.eval(text);
        let have = out.diags.first().map_or("", |d| d.message.as_str());
        assert_eq!((have, out.diags.first().map(|d| d.code)), (*want, Some("E0702")), "{text}");
    }
}

/// A file of `n` lines, `line(i)` each.
fn long(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).map(line).collect()
}

#[test]
fn long_programs_are_checked_in_proportion_to_their_length() {
    let before = |i: usize| i.saturating_sub(1);
    let programs = [
        long(5000, |i| format!("let f{i} (x : [n]Float) = sum (map (fun v -> v * 2.0) x) / float n\n")),
        format!("let f x0 =\n{}  x4999\n", long(4999, |i| format!("  let x{} = x{i} * 1.0 + x{}\n", i + 1, before(i)))),
        format!("let x = [{}]\n", long(20_000, |i| format!("{i}.0, "))),
        format!(
            "type T = {}\nlet f x = match x with\n{}",
            long(300, |i| format!("| C{i} Int ")),
            long(300, |i| format!("  | C{i} y -> y\n"))
        ),
    ];
    for text in programs {
        let (mut s, _) = adl_tests::session();
        let start = std::time::Instant::now();
        let diags = s.check_file("long.adl", text.as_bytes());
        assert!(diags.is_empty(), "{:?}", diags.first());
        // Far above what it takes, far below what quadratic work would.
        assert!(start.elapsed().as_secs() < 6, "{:?}: {}", start.elapsed(), &text[..60]);
    }
}

#[test]
fn types_that_double_at_each_step_end_in_an_error() {
    let text = format!("let f x0 =\n{}  x60\n", long(60, |i| format!("  let x{} = (x{i}, x{i})\n", i + 1)));
    let nested = format!("let dup x = (x, x)\nlet y = {}1{}\n", "dup (".repeat(60), ")".repeat(60));
    for text in [text, nested] {
        let (mut s, _) = adl_tests::session();
        let diags = s.check_file("double.adl", text.as_bytes());
        assert_eq!(diags.iter().map(|d| d.code).collect::<Vec<_>>(), ["E0210"]);
    }
}

//! Types that are inferred, as the REPL prints them, and sizes that are checked when the code runs.

/// Definitions and an expression, with the type of its value.
const TYPES: &[(&str, &str)] = &[
    // Constraints generalise and print.
    ("let sq x = x * x\nsq", "Num a => a -> a"),
    ("let f x = sin x\nf", "Real a => a -> a"),
    ("fun x -> x * x", "Num a => a -> a"),
    ("let step : Diff w => Float -> w -> w -> w = fun lr w g -> w - lr * g\nstep", "Diff w => Float -> w -> w -> w"),
    ("let f x y = (x + 1, y / 2)\nf", "(Num a, Real b) => a -> b -> (a, b)"),
    ("let f x y = x < y\nf", "Ord a => a -> a -> Bool"),
    ("let f x y = x == y\nf", "Eq a => a -> a -> Bool"),
    ("let f x = show x ++ \"!\"\nf", "Show a => a -> String"),
    ("let f x = x ^ 3\nf", "Num a => a -> a"),
    ("let f x y = x ^ y\nf", "Real a => a -> a -> a"),
    ("let f x = int x + 1\nf", "Num a => a -> Int"),
    ("let f (x : F32) = x * 2.0\nf", "F32 -> F32"),
    ("let f g x = grad g x\nf", "(Diff a, Real s) => (a -> s) -> a -> a"),
    ("let f x = vjp sin x\nf", "Real a => a -> (a, a -o a)"),
    ("let rec fact n = if n == 0 then 1 else n * fact (n - 1)\nfact", "Num a => a -> a"),
    ("let rec even n = n == 0 || odd (n - 1) and odd n = n != 0 && even (n - 1)\nodd", "Num a => a -> Bool"),
    // Beside an array: what is added is one, what it is multiplied with is a number.
    ("let x = [1.0, 2.0]\nlet f a b = x + a * b\nf", "Float -> [2]Float -> [2]Float"),
    ("let f (x : [n]Float) a b = a * b + x\nf", "[n]Float -> Float -> [n]Float -> [n]Float"),
    ("let f (x : [n]Float) a b = x + a / b\nf", "[n]Float -> [n]Float -> Float -> [n]Float"),
    ("let f (x : [n]Float) a b = x * a + b\nf", "[n]Float -> Float -> [n]Float -> [n]Float"),
    ("let f (x : [n]Float) a b = a * x * b\nf", "[n]Float -> Float -> Float -> [n]Float"),
    ("let f (x : [n]Float) a b c = a * x + b * c\nf", "[n]Float -> Float -> Float -> [n]Float -> [n]Float"),
    ("let f (x : [n]Float) g a = x + a * g x\nf", "[n]Float -> ([n]Float -> [n]Float) -> Float -> [n]Float"),
    ("let f (m : [n][n]Float) (w : [n][n]Float) v = (m * v) @ (w * v)\nf", "[n][n]Float -> [n][n]Float -> Float -> [n][n]Float"),
    ("let lerp (a : [n]Float) b t = a + t * (b - a)\nlerp", "[n]Float -> [n]Float -> Float -> [n]Float"),
    ("let lerp a b t = a + t * (b - a)\nlerp", "Num a => a -> a -> a -> a"),
    ("let f x y = sum (x * y)\nf", "Num a => [n]a -> [n]a -> a"),
    ("let f x y = sum ((x - y) ^ 2)\nf", "Num a => [n]a -> [n]a -> a"),
    ("let f (x : [n]Float) c = where (x > c) x 0.0\nf", "[n]Float -> [n]Float -> [n]Float"),
    ("let f x = (x - mean x) / sqrt (variance x)\nf", "Real a => [n]a -> [n]a"),
    ("let f a x = a @ x - x\nf", "Num a => [n][n]a -> [n]a -> [n]a"),
    ("let f a b x y = a * x + b * y + sum x\nf", "Num a => a -> a -> [n]a -> [n]a -> [n]a"),
    // The standard library is as narrow as it is true.
    ("stats.histogram", "Int -> Float -> Float -> [n]Float -> [_]Int"),
    ("stats.bincount", "Int -> [n]Int -> [_]Int"),
    ("list.length", "List a -> Int"),
    ("ode.dopri5", "Diff y => {rtol : Float, atol : Float, max_steps : Int | a} -> (Float -> y -> y) -> y -> Float -> Float -> {y : y, steps : Int, rejected : Int}"),
    ("nn.dense", "Key -> Int -> Int -> {w : [_][_]Float, b : [_]Float}"),
    // Let-polymorphism, local too.
    ("let pair x = (x, x) in (pair 1, pair \"a\")", "((Int, Int), (String, String))"),
    ("let f x = let g y = (x, y) in (g true, g \"a\")\nf", "a -> ((a, Bool), (a, String))"),
    ("let twice f = f >> f\ntwice", "(a -> a) -> a -> a"),
    ("let k = fun x y -> x\nk", "a -> b -> a"),
    // Records.
    ("let f r = r.x + 1.0\nf", "Real a => {x : a | b} -> a"),
    ("let f r = {r with x = r.x * 2}\nf", "Num a => {x : a | b} -> {x : a | b}"),
    ("let f {x, y} = x\nf {x = 1, y = 2, z = 3}", "Int"),
    ("let f r = {r with x = 1.5} in f {x = 1.0, y = \"a\"}", "{x : Float, y : String}"),
    // Declared types.
    ("type Tree a = Leaf | Node (Tree a) a (Tree a)\nlet rec insert x t = match t with | Leaf -> Node Leaf x Leaf | Node l y r -> if x < y then Node (insert x l) y r else Node l y (insert x r)\ninsert", "Ord a => a -> Tree a -> Tree a"),
    ("type Rose a = Rose a (Forest a) and Forest a = Empty | Grove (Rose a) (Forest a)\nGrove", "Rose a -> Forest a -> Forest a"),
    ("type alias Pair a b = (a, b)\nlet swap ((x, y) : Pair a b) : Pair b a = (y, x)\nswap", "(a, b) -> (b, a)"),
    // Sizes.
    ("let loss (w : [d]Float) (x : [n][d]Float) (y : [n]Float) : Float = mean (map2 (fun r y -> dot r w - y) x y)\nloss", "[d]Float -> [n][d]Float -> [n]Float -> Float"),
    ("let f (x : [n]Float) = x / float n\nf", "[n]Float -> [n]Float"),
    ("let f a b = for i -> a[i] * b[i]\nf", "Num a => [n]a -> [n]a -> [n]a"),
    ("let f x y = x @ y\nf", "Num a => [n][m]a -> [m][k]a -> [n][k]a"),
    ("let f x = x.T\nf", "[n][m]a -> [m][n]a"),
    ("let r = reshape [2, 3]\nr", "Num a => [n]a -> [2][3]a"),
    ("map (reshape [2, 1]) [[1.0, 2.0], [3.0, 4.0]]", "[2][2][1]Float"),
    ("concat [1.0] [2.0, 3.0]", "[3]Float"),
    ("filter (fun x -> x > 1) [1, 2, 3]", "[2]Int"),
    ("for i < 2, j < 3 -> i + j", "[2][3]Int"),
    ("jacobian (fun x -> [sum x, x[0]]) [1.0, 2.0, 3.0]", "[2][3]Float"),
    ("let x = [1.0, 2.0, 3.0]\nx[1:]", "[2]Float"),
    // Primitives are values.
    ("map sin", "Real a => [n]a -> [n]a"),
    ("reduce (+) 0.0", "Real a => [n]a -> a"),
    ("foldr", "(a -> b -> b) -> b -> [n]a -> b"),
    ("zip3", "[n]a -> [n]b -> [n]c -> [n](a, b, c)"),
    ("grad", "(Diff a, Real s) => (a -> s) -> a -> a"),
    ("let h = grad in h (fun x -> x * x) 3.0", "Float"),
    ("reduce (++) \"\" [\"a\", \"b\"]", "String"),
    ("fold (fun acc x -> acc ++ x) \"\" [\"a\"]", "String"),
    ("map2 (@) [[[1.0]]] [[[2.0]]]", "[1][1][1]Float"),
    // What waits for its operands: a sum beside an array says more than a sign, a product more than a difference.
    ("let step g (v : [n]Float) dt = (let a = -(g v) in v + dt * a)\nstep", "([n]Float -> [n]Float) -> [n]Float -> Float -> [n]Float"),
    ("let axpy (x : [n]Float) s y = x + s * y\naxpy", "[n]Float -> Float -> [n]Float -> [n]Float"),
    ("let f (p : {a : Float, b : [n]Float}) g = (let d = 0.1 * g p in p - d)\nf {a = 1.0, b = [1.0]} (fun p -> p)", "{a : Float, b : [1]Float}"),
    ("let rk f (y : [n]Float) h = (let k = f y in let k2 = f (y + h / 2.0 * k) in y + h * (k + k2))\nrk", "([n]Float -> [n]Float) -> [n]Float -> Float -> [n]Float"),
    ("let f (x : [n]Float) p k = x ^ p + (k + k)\nf", "[n]Float -> Float -> [n]Float -> [n]Float"),
    ("let swish x = (let y : [3]Float = x * sigmoid (-x) in y)\nswish", "[3]Float -> [3]Float"),
    ("let softmax z = (let m = maximum z in let e = exp (z - m) in e / sum e)\nsoftmax", "Real a => [n]a -> [n]a"),
    ("let kalman p (x, z) = (let k = p @ inv (p + eye 2) in x + k @ (z - x))\nkalman", "[2][2]Float -> ([2]Float, [2]Float) -> [2]Float"),
    ("let gate p (x, h) = (let z = p.w @ x + p.u @ h + p.b in (sigmoid z[0:2], tanh z[2:4]))\ngate", "Real a => {b : [n]a, u : [n][m]a, w : [n][k]a | b} -> ([k]a, [m]a) -> ([2]a, [2]a)"),
    ("let f g (x : [n]Float) = (let s = norm (g x) in let m : [2][2]Float = g x in s)\nf", "([n]Float -> [2][2]Float) -> [n]Float -> Float"),
    ("let cov (x : [n][d]Float) = (let c = map (fun r -> r - mean x) x in c.T @ c / float n)\ncov", "[n][d]Float -> [d][d]Float"),
    // A recursive call has sizes of its own; branches of different sizes have none.
    ("let rec halve (x : [n]Float) : Float = if n < 2 then x[0] else halve x[0:n // 2]\nhalve [1.0, 2.0, 3.0]", "Float"),
    ("let rec smooth k (x : [n]Float) : [n]Float = if k == 0 then x else smooth (k - 1) (x + 1.0)\nsmooth 1 [1.0]", "[1]Float"),
    ("let rec deep ls (x : [d]Float) : [_]Float = match ls with | Nil -> x | (w : [_][_]Float) :: rest -> deep rest (w @ x)\ndeep ([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]] :: Nil) [1.0, 2.0]", "[3]Float"),
    ("let g o = match o with | None -> [] | Some x -> filter (fun v -> v > 0.0) x\ng (Some [1.0, 2.0]) + [1.0, 2.0]", "[2]Float"),
    // Reductions as values.
    ("let f : [n][m]Float -> [m]Float = sum\nf", "[n][m]Float -> [m]Float"),
    ("(sum >> sum) [[1.0]]", "Float"),
    ("map mean [[[1.0, 2.0]]]", "[1][2]Float"),
    ("let f = sum\nf", "Num a => [n]a -> a"),
    ("map norm [[[3.0, 4.0]]]", "[1]Float"),
    ("map2 pow [2.0] [3.0]", "[1]Float"),
    // Linear functions.
    ("let f = lin x -> 2.0 * x\nf", "Real a => a -o a"),
    ("let f = (lin x -> 2.0 * x) >> (lin x -> -x)\nf", "Real a => a -o a"),
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
    ("let f (x : [n]Float) (y : [n]Float) = n\nf [1.0, 2.0] (filter (fun x -> x > 1.0) [1.0, 2.0])", "an array has size 1 where the signature says `n`, which is 2"),
    ("let f (x : [n]Float) : [n]Float = filter (fun v -> v > 0.0) x\nf [1.0, -2.0]", "an array has size 1 where the signature says `n`, which is 2"),
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
        format!("type T = {}\nlet f x = match x with\n{}", long(300, |i| format!("| C{i} Int ")), long(300, |i| format!("  | C{i} y -> y\n"))),
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

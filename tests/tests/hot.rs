//! Hot functions run as native code, with the same results and the same errors as interpreted.

use adl_tests::session;

/// What a program prints, its errors included, and which functions were called as native code.
fn run(text: &str, jit: bool) -> (String, Vec<String>) {
    let (mut s, out) = session();
    s.set_jit(jit);
    let result = s.run_file("hot.adl", text.as_bytes());
    for d in &result.diags {
        out.borrow_mut().push_str(&adl_syntax::render::text(d, &s.sources, false));
    }
    let calls = s
        .derivations()
        .into_iter()
        .filter_map(|r| Some(r.strip_prefix("call ")?.strip_suffix(": specialised, native")?.to_owned()))
        .collect();
    let text = out.borrow().clone();
    (text, calls)
}

/// Runs a program both ways; `native` are the functions that become native.
fn check(text: &str, native: &[&str]) {
    let ((plain, none), (fast, calls)) = (run(text, false), run(text, true));
    assert!(none.is_empty(), "{none:?}");
    assert_eq!(plain, fast, "{text}");
    for name in native {
        assert!(calls.iter().any(|c| c == name), "`{name}` is not among {calls:?} of\n{text}");
    }
    assert!(!native.is_empty() || calls.is_empty(), "{calls:?}");
}

#[test]
fn loops_and_recursion_become_native() {
    check("let go n = loop s = 0.0 for i < n do s + sin (float i) / (1.0 + float i)\nprint (go 20000)", &["go"]);
    check("let s = loop s = 0 for i < 20000 do s + i * i % 7\nprint s", &["s"]);
    check("let w = loop (x, n) = (100.0, 0) while x > 1e-3 do (x * 0.999, n + 1)\nprint w", &["w"]);
    check("let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)\nprint (fib 20)", &["fib"]);
    let minors = "let rec minor a row cols = if len cols == 1 then a[row, cols[0]] else sum for j < len cols -> (if j % 2 == 0 then 1.0 else -1.0) * a[row, cols[j]] * minor a (row + 1) (take j cols ++ drop (j + 1) cols)
print (minor (for i < 7, j < 7 -> sin (float (i * 7 + j))) 0 (iota 7))";
    check(minors, &["minor"]);
    check(
        "let rec even n = if n == 0 then true else odd (n - 1)\nand odd n = if n == 0 then false else even (n - 1)\nprint (even 100001)",
        &["even"],
    );
    let polymorphic = "let f n =
  let h = 20.0 / float n
  let force x v = (1.0 - x * x) * v - x
  let rec go i x v =
    if i == 0 then x * x + v * v
    else
      let w = v + force x v
      go (i - 1) (x + h * w) (v + h * force x w)
  go n 1.0 0.0
print (f 20000)";
    check(polymorphic, &["go"]);
    check("let rec count n acc = if n == 0 then acc else count (n - 1) (acc + n)\nprint (count 200000 0)", &["count"]);
}

#[test]
fn sums_of_sums_are_added_like_sums_of_arrays() {
    check(
        "let nested n m = sum for i < n -> (sum for j < m -> sin (float (i * 7 + j * 3)) / float (1 + j))
let go ns =
  let few = loop s = 0.0 for t < 4000 do s + nested (t % 40) (t % 11)
  (few, for k < len ns -> nested ns[k] 3)
print (go [0, 1, 7, 8, 9, 15, 16, 17, 31, 1023, 1024, 1025, 2047, 2048, 2049, 5000])",
        &["go"],
    );
}

#[test]
fn conditions_on_indices_narrow_sums_and_keep_bits() {
    check(
        "let windows n w (x : [_]Float) =
  for i < n // 128 + 2 -> (sum for j < n -> [| 128 * i - w <= j && j < 128 * i + w |] * x[j] ^ 2)
let below n (x : [_]Float) = for i < n // 128 + 2 -> (sum for j < n -> [| j < 128 * i - 3 |] * sin x[j])
let go ns (x : [_]Float) =
  let few = loop s = 0.0 for t < 4000 do s + sum (windows (t % 30) 3 x) + sum (below (t % 20) x)
  (few, for k < len ns -> (sum (windows ns[k] 9 x), sum (windows ns[k] 700 x), sum (below ns[k] x)))
print (go [0, 1, 7, 130, 1000, 1023, 1024, 1025, 2050] (for i < 3000 -> sin (float (i * i))))",
        &["windows", "below"],
    );
}

/// An operation on large arrays that is not done at all once the function around it is specialised.
#[test]
fn functions_that_make_large_arrays_are_specialised() {
    let text = "let f (x : [_]Float) : Float = trace (diag (x * x))
let x = for i < 300 -> sin (float i)
for t < 5 -> print (f x)
print (f (for i < 3 -> 1.0))";
    let (mut s, out) = session();
    s.set_jit(true);
    s.run_file("hot.adl", text.as_bytes());
    let derivations = s.derivations();
    assert!(derivations.iter().any(|r| r.starts_with("call f: specialised")), "{derivations:?}");
    assert_eq!(out.borrow().clone(), run(text, false).0);
}

#[test]
fn loops_of_what_prints_become_native() {
    let lcg = "loop s = 1 for i < 20000 do (s * 1103515245 + 12345) % 2147483648";
    check(&format!("print ({lcg})"), &["fun"]);
    check(&format!("let main () =\n  let r = {lcg}\n  print r\nmain ()"), &["main"]);
    check(
        &format!("let say x = print x\nlet main n =\n  let s = {lcg}\n  say (s + n)\n  s\nlet r = main 1"),
        &["main"],
    );
    check(&format!("let text n = (let s = {lcg} in f\"{{s}} of {{n}}\")\nprint (text 1)"), &["text"]);
    check(
        &format!(
            "let main () =\n  loop t = 0 for k < 3 do\n    let s = {lcg}\n    print (k, s)\n    s + t\nprint (main ())"
        ),
        &["main"],
    );
    // Arrays that the loop has alone change in place; errors are as they are otherwise, and it cannot be seen that the loop is called.
    let array = "let main () =
  let n = 5000
  let a = loop a = replicate n 0 for i < n - 1 do scatter a [i + 1] [(a[i] * 7 + i) % 1001]
  print (sum a)
  let b = loop b = a for i < 2 * n do scatter b [i % n] [b[i] + 1]
  print (sum b)
main ()";
    check(array, &["main"]);
    check(
        "let main k =\n  print k\n  loop s = 0 for i < 9000 do if i == 8000 then s // k else s + i\nprint (main 1)\nprint (main 0)",
        &["main"],
    );
}

#[test]
fn data_and_arrays_come_back_as_they_were() {
    let tree = "type Tree = Leaf Float | Node Tree Tree
let rec build n = if n == 0 then Leaf 1.0 else Node (build (n - 1)) (build (n - 1))
let rec total t = match t with
  | Leaf x -> x
  | Node a b -> total a + 0.5 * total b
print (total (build 13))
print (build 2)";
    check(tree, &["build", "total"]);
    check(
        "let r n = loop r = {a = 0.0, b = [1.0]} for i < n do {r with a = r.a + r.b[0] * 0.1}\nprint (r 9000)",
        &["r"],
    );
    let updates = "let st n = loop (a, k) = (replicate 100 0.0, 0) for i < n do
  (scatter a [i % 100] [float i + a[(i * 7) % 100] * 0.5], k + i % 3)
print (st 20000)";
    check(updates, &["st"]);
    check(
        "let mm n = loop a = [[1.0, 0.1], [0.2, 1.0]] for i < n do (let b = a @ a in b / (trace b))\nprint (mm 9000)",
        &["mm"],
    );
}

#[test]
fn small_vectors_of_any_size_give_the_same_bits() {
    let text = "let spring (k : Float) (x : [_]Float) = -(k * x) - 0.1 * sum (x * x) * x
let fall n (x0 : [_]Float) = loop (x, v) = (x0, 0.0 * x0) for i < n do
  let a = spring 0.3 x
  (x + 0.01 * v, 0.999 * v + 0.01 * a)
let go x = let (y, v) = fall 4000 x in (y, sum v, norm v, maximum y)
print (go [1.0], go [1.0, 2.0], go [0.1, -0.2, 0.3], go [1.0, 2.0, 3.0, 4.0], go [1.0, 0.5, 0.25, 0.125, 0.0], go [0.7, 0.1])
let pull (x : [_][_]Float) = sum for i < len x -> norm x[i] + dot x[i] x[0]
let walk x = loop s = 0.0 for i < 3000 do 0.5 * s + pull (x * (1.0 + 0.001 * s))
print (walk [[1.0, 2.0], [3.0, 4.0]], walk [[1.0, 2.0, 0.5], [3.0, 4.0, 0.1]], walk [[2.0], [0.5]], walk (for i < 3, j < 9 -> float (i - j)))";
    check(text, &["fall", "walk"]);
    let wrong = "let third n (x : [_]Float) = loop s = 0.0 for i < n do 0.5 * s + x[2]
print (third 5000 [1.0, 2.0, 3.0])
print (third 5000 [1.0, 2.0])";
    check(wrong, &["third"]);
}

#[test]
fn sums_and_scans_give_the_same_bits() {
    let text = "let f x = sum (for i < 37 -> sin (x * float i)) + x ^ 3 - x ^ 2.5 + sqrt (abs x)
let go n = loop s = 0.0 for i < n do 0.5 * s + f (0.001 * float i)
let scans n = loop s = 0.0 for i < n do
  s * 0.9 + (sum for j < 1 + i % 20 -> 1.0 / float (1 + j)) + sum (scan (+) 0.0 [1.0, s * 0.01, 3.0])
let folds n = loop s = 1.0 for i < n do fold (fun a b -> a * 0.3 + b) 0.0 [s * 0.1, 0.2, 0.7] + mean [s, 2.0] * 0.1 + prod [0.5, s]
print (go 5000, scans 9000, folds 9000)";
    check(text, &["go", "scans", "folds"]);
}

#[test]
fn contractions_are_the_sums_that_they_were() {
    let text = "let products (a : [n][k]Float) (b : [k][m]Float) : [n][m]Float = for i, j -> sum for l -> a[i, l] * b[l, j]
let turned (a : [k][n]Float) (b : [m][k]Float) (c : [n]Float) : [n][m]Float = for i, j -> sum for l -> b[j, l] * (c[i] * a[l, i])
let shifted (a : [n][k]Float) (b : [k][m]Float) (c : [m]Float) : [n][m]Float = for i, j -> relu (c[j] + (sum for l -> exp a[i, l] * b[l, j]))
let batches (a : [r][n][k]Float) (b : [k][m]Float) : [r][n][m]Float = for e, i, j -> sum for l -> a[e, i, l] * b[l, j]
let right (a : [n][k]Float) (b : [k]Float) : [n]Float = for i -> sum for l -> a[i, l] * b[l]
let left (a : [k][n]Float) (b : [k]Float) : [n]Float = for i -> sum for l -> a[l, i] * b[l]
let numbers (key : Int) (n : Int) (m : Int) = random.normal (random.key key) [n, m]
let show (n : Int) (k : Int) (m : Int) =
  let (a, b, c) = (numbers 1 n k, numbers 2 k m, numbers 3 1 m)
  let one = grad (fun (a, b) -> sum (flatten (products a b ^ 2))) (a, b)
  let two = grad (fun (a, b, c) -> sum (flatten (shifted a b c))) (a, b, c[0])
  let three = grad (fun (a, b) -> sum (right a b ^ 2) + sum (left a.T b)) (a, b.T[0])
  (products a b, turned a.T b.T a.T[0], shifted a b c[0], batches [a, a] b, right a b.T[0], left b b.T[0][:k], one, two, three)
print (show 30 40 20)
print (show 5 1100 7)
print (show 4 8 4)
print (show 3 300 400)
print (show 90 7 70)
let far = products (for i < 20, l < 30 -> if i == l then inf else float (i - l)) (for l < 30, j < 20 -> if l > j then 0.0 else float l)
print far
print (grad (fun b -> sum (flatten (products (for i < 20, l < 30 -> if i == 3 then inf else 1.0) b)[0:2])) (numbers 1 30 20))
";
    assert_eq!(run(text, false).0, run(text, true).0);
}

#[test]
fn random_keys_are_split_natively() {
    let text = "let rec draw k n acc =
  let keys = random.split k 2
  if n == 0 then acc else draw keys[0] (n - 1) (0.5 * acc + random.uniform keys[1] [])
print (draw (random.key 7) 5000 0.0)";
    check(text, &["draw"]);
}

#[test]
fn derivatives_inside_hot_loops() {
    check(
        "let descend n = loop x = [1.0, 2.0] for i < n do x - 0.01 * grad (fun v -> dot v v + sin v[0]) x\nprint (descend 5000)",
        &["descend"],
    );
    // A hot function that is differentiated later is differentiated, not only called.
    check(
        "let f x = loop y = x for i < 5000 do 0.5 * (y + 2.0 / y)\nprint (f 1.0)\nprint (grad (fun x -> f x * x) 1.0)",
        &["f"],
    );
}

#[test]
fn scans_and_reductions_of_small_matrices_give_the_same_bits() {
    let text = "let n = 3001
let rows (k : Int) (m : Int) = for i < n, a < k, b < m -> (if a == b then 1.0 else 0.0) + sin (float (i * i + 7 * a + b)) / 50.0
let product (xs : [n][k][k]Float) = reduce (fun a b -> a @ b) (eye k) xs
let products (xs : [n][k][k]Float) = scan (fun a b -> a @ b) (eye k) xs
let sums (xs : [n][k][k]Float) = scan (fun a b -> a + 0.5 * b.T) (for i < k, j < k -> 0.0) xs
let paths (xs : [n][k][k]Float) (v : [k]Float) = scan (fun a b -> a + b) v (map (fun m -> m @ v) xs)
let total (m : [_][_]Float) = sum (sum m)
let show k =
  let (xs, v) = (rows k k, for i < k -> 1.0 + float i)
  print (product xs, total (sum (products xs)), products xs[n - 1 : n], total (sum (sums xs)), total (paths xs v))
  print (sum (grad (fun xs -> total (product xs)) xs))
  print (sum (grad (fun xs -> total (sum (products xs))) xs), grad (fun xs -> (products xs)[5, 0, k - 1]) xs[0 : 7])
  print (sum (grad (fun xs -> total (sum (sums xs))) xs), grad (fun v -> total (paths xs v)) v)
  print (grad (fun xs -> total (product (reverse xs)) - total (product xs)) xs[0 : 4])
show 2
show 3
show 5
show 1
let rotations (t : [n]Float) = scan (fun a b -> a @ b) (eye 2) (for i < n -> [[cos t[i], 0.0 - sin t[i]], [sin t[i], cos t[i]]])
let ts = for i < 4000 -> 0.01 * float (i % 13)
print (rotations ts)[3999 :]
print (sum (grad (fun t -> sum (sum (rotations t)[len t - 1])) ts))
let rec halves (xs : [n][k][k]Float) = if len xs == 1 then xs[0] else halves xs[0 : len xs // 2] @ halves xs[len xs // 2 :]
print (halves (rows 2 2), halves (rows 3 3))
let made (n : Int) = for i < n -> [[float i, 1.0], [0.5, 2.0]]
let turned (n : Int) (m : [2][2]Float) = loop (k, ms) = (m, made 5000) for i < n do (k @ ms[i] / 5000.0, ms)
print (shape (made 0), sum (made 9000), fst (turned 5000 (eye 2)))
let points (n : Int) = for i < n -> [float i, float (i * i), 1.0]
print (shape (points 0), sum (points 9000), reverse (points 9000)[0 : 2])
";
    let ((plain, _), (fast, calls)) = (run(text, false), run(text, true));
    assert_eq!(plain, fast);
    assert!(plain.lines().count() > 20 && !plain.contains("error"), "{plain}");
    assert!(calls.len() > 2, "{calls:?}");
}

#[test]
fn stencils_and_their_gradients_give_the_same_bits() {
    let text = "let second (x : [n]Float) : Float = sum for i < n - 2 -> (x[i] - 2.0 * x[i + 1] + x[i + 2]) ^ 2
let inner (u : [n][m]Float) : Float = sum for i < n - 2, j < m - 2 -> (u[i + 1, j + 1] + 0.1 * (u[i, j + 1] + u[i + 2, j + 1] + u[i + 1, j] + u[i + 1, j + 2] - 4.0 * u[i + 1, j + 1])) ^ 2
let blur (u : [n][m]Float) : [n][m]Float = for i < n, j < m ->
  if i == 0 || j == 0 || i == n - 1 || j == m - 1 then u[i, j]
  else u[i, j] + 0.1 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
let edges (x : [n]Float) : [n]Float = for i < n -> if i >= 2 && i < n - 3 then x[i - 2] * x[i + 3] else x[i]
let late (x : [n]Float) (k : Int) : [n]Float = for i < n -> if i + k <= n - 1 then (if k > 2 then x[i + k] * x[i] else x[i]) else 0.0
let x = random.normal (random.key 1) [5000]
let u = random.normal (random.key 1) [150, 130]
let both (x : [_]Float) = (edges x, grad second x, grad (fun x -> sum (edges x ^ 2)) x, late x 3, late x 0, grad (fun x -> sum (late x 4 ^ 2)) x)
print (both x)
EACH
print (sum (blur u), sum (grad inner u), sum (grad (fun u -> sum (sum (blur u ^ 3))) u))
print (grad inner u[0 : 3, 0 : 60], grad inner u[0 : 60, 0 : 4])
";
    let text = text.replace(
        "EACH",
        &[5, 47, 48, 49, 50, 51, 52, 53, 54, 55, 400].map(|n| format!("print (both x[0 : {n}])")).join("\n"),
    );
    let ((plain, _), (fast, calls)) = (run(&text, false), run(&text, true));
    assert_eq!(plain, fast);
    assert!(plain.lines().count() == 14 && !plain.contains("error"), "{plain}");
    assert!(calls.iter().any(|c| c == "blur"), "{calls:?}");
}

/// What a program's derivatives took, after it ran.
fn derivations(text: &str, jit: bool) -> Vec<String> {
    let (mut s, _) = session();
    s.set_jit(jit);
    let result = s.run_file("hot.adl", text.as_bytes());
    assert!(result.diags.is_empty(), "{:?}", result.diags);
    s.derivations()
}

#[test]
fn gradients_over_short_rows_of_large_arrays_are_native_at_once() {
    let text = "let loss (x : [n]Float) : Float =
  let rows = reshape [len x // 8, 8] x
  sum (map (fun r -> sum r) (scan (map2 (*)) (replicate 8 1.0) rows))
let x = for i < 80000 -> 0.9 + 0.2 * sin (float i)
print (sum (grad loss x))";
    let found = derivations(text, true);
    assert!(found.iter().any(|r| r.starts_with("grad loss: compiled AD, native")), "{found:?}");
}

#[test]
fn checks_inside_gradients_are_compiled() {
    let text = "let loss (x : [n]Float) : Float =
  let rows = reshape [len x // 8, 8] x
  sum (map (fun r -> sum r) (scan (map2 (*)) (replicate 8 1.0) rows))
let x = for i < 800 -> 0.9 + 0.2 * sin (float i)
print (sum (for i < 8 -> float i + sum (grad loss x)))";
    let found = derivations(text, false);
    assert!(found.iter().any(|r| r.starts_with("grad loss: compiled AD")), "{found:?}");
    assert!(!found.iter().any(|r| r.contains("taped")), "{found:?}");
}

#[test]
fn errors_are_those_of_the_interpreter() {
    check("let bad n = loop s = 1 for i < n do if i < 5000 then s else s * 1000000007\nprint (bad 10000)", &[]);
    check("let xs = [1.0, 2.0, 3.0]\nlet bad n = loop s = 0.0 for i < n do s + xs[i // 2000]\nprint (bad 10000)", &[]);
}

#[test]
fn effects_happen_once() {
    check(
        "let noisy n = loop s = 0 for i < n do (let _ = if i % 2500 == 0 then print (show i) else () in s + i)\nprint (noisy 10000)",
        &[],
    );
}

/// Sums of comprehensions, and what else adds numbers: one order of additions in every engine, whatever computes the terms.
const SUMS: &[&str] = &[
    "sum for i < n -> x[i] * x[i]",
    "sum for i < n -> if i % 3 == 0 then x[i] else 0.1",
    "sum for i < n -> [| i % 3 == 1 |] * x[i]",
    "sum for i < n -> newton (abs x[i] + 0.1)",
    "sum for i < n -> power (i % 5) x[i]",
    "sum for i < 150 -> sum for j < 140 -> m[i, j]",
    "sum for i < 150, j < 140 -> m[i, j]",
    "sum for i < 150, j < 140 -> if i < j then m[i, j] else 0.0",
    "sum for i < 1500, j < 7 -> x[i + j] * x[j]",
    "sum for i < 7, j < 2500 -> x[i] * x[j] + 0.1",
    "sum for i < 50, j < 40, k < 10 -> m[i, j] * m[j, k]",
    "sum (sum for i < 2000, j < 10 -> [x[i], x[j]])",
    "sum for i < 120, j < 120 -> [| i == j |] * m[i, j]",
    "prod for i < n -> 1.0 + x[i] / 1000.0",
    "mean for i < n -> x[i]",
    "mean for i < 150, j < 140 -> m[i, j]",
    "maximum for i < 150, j < 140 -> m[i, j] * x[i]",
    "sum (map (fun y -> newton (abs y + 0.1)) x)",
    "trace (diag (take 100 x))",
    "trace (take 100 (m.T)[:, :100] @ m[:100, :100])",
    "sum (reduce (map2 (fun a b -> a + b)) (replicate 140 0.0) m)",
    "sum (reduce (map2 (fun a b -> a + b * b)) [0.0, 0.0, 0.0] rows)",
    "sum (ravel (scan (map2 (fun a b -> max a b + 0.01)) [0.0, 0.0, 0.0] rows))",
    "sum (ravel (reduce_by_index (for i < 5, j < 3 -> 0.0) (map2 (fun a b -> a + b)) [0.0, 0.0, 0.0] (for i < len rows -> i % 6) rows))",
    "let (a, b) = reduce (fun (a, b) (c, d) -> (map2 (fun p q -> p + q) a c, max b d)) ([0.0, 0.0, 0.0], 0.0) (map (fun r -> (r, r[0])) rows) in sum a + b",
    "sum (ravel (for i < 100, j < 140 -> sum for k < 150 -> m[k, i] * m[k, j]))",
];

#[test]
fn comprehensions_give_the_same_bits() {
    let shared = "let n = 20011
let x = for i < n -> sin (float (i * i)) / 3.0
let m = for i < 150, j < 140 -> cos (float (i * j)) / 3.0
let rows = reshape [n // 3, 3] (take (n // 3 * 3) x)
let newton a = loop x = 1.0 while abs (x * x - a) > 1e-9 do 0.5 * (x + a / x)
let rec power k y = if k == 0 then y else power (k - 1) (y * 1.1)
";
    let each: String = SUMS
        .iter()
        .enumerate()
        .map(|(k, s)| format!("let s{k} u = {s}\nprint ({k}, s{k} (), loop t = 0.0 for i < 4 do {s})\n"))
        .collect();
    let text = format!("{shared}{each}");
    let ((plain, _), (fast, calls)) = (run(&text, false), run(&text, true));
    assert_eq!(plain.lines().count(), SUMS.len(), "{plain}");
    assert_eq!(plain, fast);
    assert!(calls.len() > 12, "{calls:?}");
}

#[test]
fn large_comprehensions_are_native_at_once() {
    check(
        "let m = for i < 300, j < 300 -> float (i - j)\nlet p = for i < 100, j < 100 -> sum for k < 300 -> m[i, k] * m[k, j]\nprint (p[3, 4], sum (ravel p))",
        &["m", "p"],
    );
    // A body that may fail is evaluated again, to say where.
    check("let x = [1, 2, 0]\nlet y = for i < 9000 -> 7 // x[i % 3]\nprint y", &[]);
    // Data made natively is of its type.
    let shapes = "type Shape = Circle Float | Rect (Float, Float) | Dot
let shapes = for i < 9000 -> if i % 3 == 0 then Circle (float i) else if i % 3 == 1 then Rect (1.0, float i) else Dot
let area s = match s with
  | Circle r -> 3.0 * r * r
  | Rect (a, b) -> a * b
  | Dot -> 0.0
let areas = for i < 9000 -> area shapes[i]
print (sum areas, shapes[4])";
    check(shapes, &["shapes", "areas"]);
}

//! Programs with every construct: specialised code and the interpreter agree.

use crate::common;

use common::check;

/// Checks programs that are separated by lines of dashes; each defines `it`.
fn all(text: &str) {
    text.split("\n----\n").for_each(check);
}

#[test]
fn scalars_tuples_records() {
    all(r#"
let f (x : Float) = let y = x * 2.0 in if y > 3.0 then y else -y
let it = (f 1.0, f 2.0)
----
let r = {a = 1.0, b = (2, true)}
let it = {r with a = r.a + 1.0}
----
let swap (a, b) = (b, a)
let it = swap (swap (1, 2.5))
----
let it = (7 // 2, (-7) // 2, (-7) % 2, 5.5 % 2.0, 2 ^ 10, 2.0 ^ 0.5, float 3, int (-2.7))
----
let a : {x : Float, y : (Float, Int)} = {x = 1.0, y = (2.0, 3)}
let it = (a + a - 0.5 * a, -a)
----
let it = (1 < 2, "a" < "b", (1, 2.0) < (1, 3.0), [1, 2] == [1, 2], [1.0] == [2.0], (1, "x") == (1, "x"), true == false)
"#);
}

#[test]
fn functions() {
    all(r#"
let twice f x = f (f x)
let it = (twice (fun x -> x * 3.0) 2.0, twice (fun x -> x + 1) 5, twice not true)
----
let compose f g x = f (g x)
let add a b = a + b
let it = (compose (add 1) (add 2) 3, (add 1.5 >> add 2.0) 1.0)
----
let pick b = if b then (fun x -> x + 1.0) else (fun x -> x * 10.0)
let use (k : Int) = let f = pick (k > 2) in (f 1.0, f 2.0)
let it = (use 1, use 3)
----
let pick (k : Int) (c : Float) = if k == 0 then (fun x -> x + c) else if k == 1 then (fun x -> x * c) else sin
let it = for k < 4 -> pick k 3.0 2.0
----
let h = {f = fun x -> x * 2.0, g = sin}
let it = (h.f 2.0, h.g 0.0)
----
let id2 x = x
let it = let f = id2 in (f 1, f 2.5, f "s", (id2 id2) true)
----
let k3 x y z = x + y * z
let it = let p = k3 1.0 in let q = p 2.0 in (q 3.0, q 4.0)
----
let choose p = match p with | (true, c) -> (fun x -> x + c) | (false, c) -> (fun x -> c)
let apply f = (f 1.0, f 2.0)
let it = (apply (choose (true, 5.0)), apply (choose (false, 6.0)))
----
let it = let xs = [1.0, 2.0, 3.0] in xs |> map (fun x -> x * x) |> sum
"#);
}

#[test]
fn recursion() {
    all(r"
let rec fact (n : Int) : Int = if n <= 1 then 1 else n * fact (n - 1)
let it = fact 10
----
let rec even (n : Int) : Bool = if n == 0 then true else odd (n - 1)
and odd (n : Int) : Bool = if n == 0 then false else even (n - 1)
let it = (even 10, odd 7, even 3)
----
let power (x : Float) (n : Int) =
  let rec go acc k = if k == 0 then acc else go (acc * x) (k - 1)
  go 1.0 n
let it = (power 2.0 10, power 1.5 3)
----
let rec gcd a b = if b == 0 then a else gcd b (a % b)
let it = gcd 48 36
----
let rec iterate f n x = if n == 0 then x else f (iterate f (n - 1) x)
let it = (iterate (fun x -> x * 2.0) 5 1.0, iterate (fun x -> x + 1) 5 1)
----
let rec divmod a b = if a < b then (0, a) else let (q, r) = divmod (a - b) b in (q + 1, r)
let it = divmod 17 5
");
}

#[test]
fn data() {
    all(r#"
type Shape = Circle Float | Rect {w : Float, h : Float} | Dot
let area s = match s with | Circle r -> pi * r * r | Rect {w, h} -> w * h | Dot -> 0.0
let it = (area (Circle 1.0), area (Rect {w = 2.0, h = 3.0}), area Dot)
----
let rec total xs = match xs with | Nil -> 0.0 | x :: rest -> x + total rest
let it = total (1.0 :: 2.0 :: 3.5 :: Nil)
----
let it = list.map (fun x -> x * 2) (1 :: 2 :: 3 :: Nil)
----
let it = (list.reverse (1 :: 2 :: Nil), list.fold (+) 0 (1 :: 2 :: Nil), list.to_array (1.0 :: 2.0 :: Nil))
----
type Tree a = Leaf | Node (Tree a) a (Tree a)
let rec insert x t = match t with
  | Leaf -> Node Leaf x Leaf
  | Node l y r when x < y -> Node (insert x l) y r
  | Node l y r -> Node l y (insert x r)
let rec sum_tree t = match t with | Leaf -> 0 | Node l x r -> sum_tree l + x + sum_tree r
let it = let t = insert 3 (insert 1 (insert 2 Leaf)) in (t, sum_tree t)
----
type Expr = Num Float | Add Expr Expr | Mul Expr Expr | Neg Expr
let rec eval e = match e with
  | Num x -> x
  | Add (Num 0.0) b -> eval b
  | Add a b -> eval a + eval b
  | Mul a b -> eval a * eval b
  | Neg (Neg a) -> eval a
  | Neg a -> -(eval a)
let it = eval (Add (Num 0.0) (Mul (Num 3.0) (Neg (Neg (Add (Num 1.0) (Num 2.0))))))
----
let safe x = if x > 0.0 then Some (log x) else None
let it = (get_or 9.0 (safe 1.0), get_or 9.0 (safe (-1.0)), safe 1.0, safe (-1.0))
----
let classify n = match n with | 0 -> "zero" | 1 | 2 -> "few" | _ -> "many"
let it = (classify 0, classify 1, classify 2, classify 3)
----
let f p = match p with | (0, _) -> 1 | (_, 0) -> 2 | (a, b) when a == b -> 3 | _ -> 4
let it = (f (0, 5), f (5, 0), f (2, 2), f (1, 2))
----
let f xs = match xs with | [] -> 0.0 | [x] -> x | [x, y] -> x * y | _ -> -1.0
let it = (f [], f [3.0], f [3.0, 4.0], f [1.0, 2.0, 3.0])
----
let a = 1.0 :: 2.0 :: Nil
let it = (a + a, 0.5 * a, a - a, a == a, a ++ a, stack ([1.0] :: [2.0] :: Nil))
----
type Rec = {x : Float}
"#
    .trim_end()
    .trim_end_matches("type Rec = {x : Float}")
    .trim_end()
    .trim_end_matches("----"));
}

#[test]
fn loops_and_arrays() {
    all(r"
let x = [1.0, 2.0, 3.0]
let a = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
let it = ((for i -> x[i] * 2.0), (for i < 2 -> x[i + 1]), (for i, j -> a[i, j] * x[i]), (for i < 3, j < 3 -> i - j))
----
let x = [1.0, 2.0, 3.0]
let it = ((sum for i -> x[i] * x[i]), (prod for i -> x[i]), (maximum for i -> -x[i]), (mean for i -> x[i]), (any for i -> x[i] > 2.0), (all for i -> x[i] > 2.0))
----
let x = [1.0, 3.0, 2.0]
let it = ((maximum for i -> (x[i] * 2.0, i)), (minimum for i -> (x[i] * 2.0, i)))
----
let f (n : Int) (a : [_][_]Float) = sum for i < n, j < n -> [| i < j |] * a[i, j]
let it = f 2 [[1.0, 2.0, 9.0], [3.0, 4.0, 9.0]]
----
let it = loop (a, b) = (0, 1) for i < 10 do (b, a + b + i * 0)
----
let it = loop x = 100.0 while x > 1.0 do x / 3.0
----
let a = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
let it = (a[0], a[:, 1], a[1, 0:2], a[0:1], a[:, 1:3], a[1:, 0], a[:, :], len a, shape a, rank a)
----
let ps = [(1, 2.0), (3, 4.0)]
let it = (ps[1], map (fun (a, b) -> (b, a)) ps, unzip ps, reverse ps, ps ++ ps, take 1 ps, len ps, for i -> ps[i])
----
let it = (scatter_within [0, 0, 0] [2, 0, 7] [5, 7, 9], filter (fun x -> x > 1) [1, 2, 3], partition (fun x -> x > 1.5) [1.0, 2.0], sort_by (fun (a, _) -> -a) [(1, 2.0), (3, 4.0)])
----
let it = (reduce (fun (a, b) (c, d) -> (a * c, a * d + b)) (1.0, 0.0) [(2.0, 1.0), (3.0, 2.0)], scan (*) 1 [1, 2, 3], scan_exclusive max 0 [3, 1, 4])
----
let it = reduce_by_index [0.0, 10.0] (+) 0.0 [0, 1, 0, 5] [1.0, 2.0, 3.0, 4.0]
----
let f (x : [n]Float) (y : [n]Float) = sum x / float n + dot x y
let it = f [1.0, 2.0] [3.0, 4.0]
----
let it = (flatten [[1, 2], [3, 4]], reshape [2, 2] [1, 2, 3, 4], split 1 [1, 2, 3], rotate 1 [1, 2, 3], diag [1.0, 2.0], diag [[1.0, 2.0], [3.0, 4.0]], eye 2, linspace 0.0 0.3 4)
----
let zs : [3]Float = zero
let it = (zs, (zero : (Float, Int)), (let e : [_]Float = [] in len e), replicate 2 (1.0, true), where [true, false] 1.0 2.0, where true [1.0] [2.0])
----
let g (x : [n]Float) = for i < n -> if i > 0 then x[i - 1] + x[i] else x[i]
let it = g [1.0, 2.0, 4.0]
----
let it = for i < 2 -> (i, float i, [i, i + 1])
----
let it = map (fun row -> sum row) [[1.0, 2.0], [3.0, 4.0]]
----
let m = [[1.0, 2.0], [3.0, 4.0]]
let v = [1.0, 1.0]
let it = (m @ v, v @ m, m @ m, m.T, outer v v, dot v v, trace m, norm v, variance v, cumsum v, prod m, maximum m[0])
");
}

#[test]
fn derivatives_inside() {
    all(r"
let f x = x * x * x
let it = (grad f 2.0, grad (grad f) 2.0, let h = grad in h f 1.0, map (grad f) [1.0, 2.0])
----
let loss w = sum for i -> w[i] * w[i]
let it = loop w = [1.0, 2.0] for i < 3 do w - 0.1 * grad loss w
----
let f {a, b} = a * sum b
let it = grad f {a = 2.0, b = [1.0, 2.0]}
----
let it = let (y, l) = linearize (fun (x, y) -> (x * y, x + y)) (2.0, 3.0) in (y, l (1.0, 0.0), (transpose l) (1.0, 0.0))
----
let it = let (y, back) = vjp (fun x -> map sin x) [0.0, 1.0] in (y, back [1.0, 1.0])
----
let c = [3.0, 4.0]
let f x = sum (x * c) * x[0]
let it = (grad f [1.0, 2.0], hessian f [1.0, 2.0], hvp f [1.0, 2.0] [1.0, 0.0], jvp f [1.0, 2.0] [1.0, 0.0])
----
let f x = [x[0] * x[1], sin x[0], x[1] ^ 2]
let it = (jacobian f [1.0, 2.0], jacfwd f [1.0, 2.0], jacrev f [1.0, 2.0])
----
let sq = custom_jvp (fun x -> x * x) (fun x -> (x * x, lin dx -> 10.0 * dx))
let it = (sq 3.0, grad sq 3.0, grad (fun x -> sq (2.0 * x)) 3.0)
----
let k = 10.0
let sq = custom_vjp (fun x -> x * x) (fun x -> (x * x, lin dy -> k * dy))
let it = grad (fun x -> sq (2.0 * x)) 3.0
----
let a = [[2.0, 1.0], [1.0, 3.0]]
let it = grad (fun a -> sum for i, j -> a[i, j] * stop_grad a[j, i]) a
----
let it = grad (fun (x, n) -> x * float n) (2.0, 3)
----
let it = (grad (fun x -> let g = grad (fun y -> x * y * y) in g x) 3.0, grad (checkpoint (fun x -> sin (sin x))) 0.5)
----
type Shape = Circle Float | Rect {w : Float, h : Float, n : Int}
let area s = match s with | Circle r -> r * r | Rect {w, h, n} -> w * h * float n
let it = (grad area (Circle 3.0), grad area (Rect {w = 2.0, h = 3.0, n = 2}), jvp area (Circle 3.0) (Circle 2.0))
----
let rec total xs = match xs with | Nil -> 0.0 | x :: rest -> x * x + total rest
let it = (grad total (1.0 :: 2.0 :: Nil), grad (fun c -> total (list.map (fun x -> c * x) (1.0 :: 2.0 :: Nil))) 3.0)
----
let (y, back) = vjp (fun x -> (x * x) :: (2.0 * x) :: Nil) 3.0
let it = (y, back (1.0 :: 10.0 :: Nil), snd (jvp (fun x -> Some x) 1.0 2.0), (transpose_at [0.0, 0.0] (lin x -> (x[0], sum x))) (1.0, 2.0))
----
type Layer = Layer {w : [_][_]Float, b : [_]Float}
let apply (Layer {w, b}) (x : [_]Float) : [_]Float = w @ x + b
let net = Layer {w = [[1.0, 2.0], [3.0, 4.0]], b = [0.5, 0.5]} :: Nil
let loss net = sum (list.fold (fun x l -> apply l x) [1.0, 1.0] net)
let it = (grad loss net, loop n = net for i < 2 do n - 0.1 * grad loss n)
----
let rec pow x n = if n == 0 then 1.0 else x * pow x (n - 1)
let it = (grad (fun x -> pow x 3) 2.0, grad (fun x -> loop y = x for i < 3 do y * x) 2.0, grad (fun x -> loop y = x while y < 100.0 do y * x) 3.0)
");
}

#[test]
fn errors_stop_both() {
    all(r#"
let it = let x = [1.0] in x[3]
----
let f (x : Float) : Float = if x > 0.0 then error "no" else x
let it = f 1.0
----
let f (x : Float) : Float = if x > 0.0 then error "no" else x
let it = f (-1.0)
----
let f (x : [n]Float) (y : [n]Float) = x[0] + y[0]
let it = f (filter (fun x -> x > 0.0) [1.0, -1.0]) (filter (fun x -> x > 0.0) [1.0, 2.0])
----
let it = for i < -1 -> i
----
let it = (assert (1 > 2); 1)
----
let rec find (p : Int -> Bool) (n : Int) : Int = if n > 100 then error f"not found {n}" else if p n then n else find p (n + 1)
let it = find (fun n -> n * n > 50) 0
"#);
}

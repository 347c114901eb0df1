//! Programs whose derivatives were once taped, because the specialiser refused them.

use adl_tests::{echo_in, session};

const TYPES: [&str; 3] = [
    "type Cell = Cell {p : Float, q : Float -> Float}",
    "type Shape = Ball Float | Box Float (Float -> Float)",
    "type Layer = Layer (Float -> Float) | Scaled Float (Float -> Float)",
];

/// What each program has, its function, and an expression that is true.
const PROGRAMS: [(&str, &str, &str); 32] = [
    (
        "a Jacobian without rows",
        "let g (x : Float) : Float = x * x + sum (jacrev (fun (y : Float) -> ([] : [_]Float)) x)",
        "grad g 2.0 == 4.0",
    ),
    (
        "a gradient of a function inside itself",
        "let rec g (x : Float) : Float = if x < 1.0 then x * x else 0.5 * grad (fun (y : Float) -> g (y - 1.0) * y) x",
        "abs (grad g 2.5 - 6.25) < 1e-12 && abs (grad g 1.5 - 2.5) < 1e-12",
    ),
    (
        "functions of a loop that differentiate those before",
        "let g (x : Float) = (loop (s : [_](Float -> Float)) = [tanh, (fun y -> x * y), (fun y -> y * y)] for i < 2 do [(fun y -> jacfwd (fun z -> s[2] (0.7 * z)) (s[1] 0.7) + y), (fun y -> x - y), (fun y -> s[1] y - y)])[0] x",
        "abs (grad g 0.3 - 1.7) < 1e-12",
    ),
    (
        "functions in data that differentiate others",
        "let g (x : Float) : Float = (let (Scaled _ f | Layer f) = Scaled 1.0 (fun (y : Float) -> y * y * x) in let h = (if x > 0.0 then Layer (fun (y : Float) -> grad f y * y) else Scaled 2.0 cos) in match h with | Layer k -> k x | Scaled a k -> a * k x)",
        "abs (grad g 1.5 - 13.5) < 1e-12",
    ),
    (
        "derivatives of a recursive function inside each other",
        "let rec g (n : Int) (x : Float) : Float = if n == 0 then x * x else grad (fun (y : Float) -> g (n - 1) y * y) x",
        "grad (g 1) 0.5 == 3.0 && grad (g 2) 0.5 == 9.0 && grad (g 4) 0.5 == 81.0 && grad (g 1) 0.5 == 3.0",
    ),
    (
        "an engine in a function that is differentiated",
        "let g (x : [_]Float) : Float = sum (x * engine.grad Staged (fun (y : [_]Float) -> sum (y * y * y)) x)",
        "grad g [1.0, 2.0] == [9.0, 36.0]",
    ),
    (
        "an engine as a function in data",
        "let g (x : Float) : Float = match Layer (engine.grad Taped (fun (y : Float) -> x * y * y)) with | Layer f -> f x | Scaled a f -> f a",
        "grad g 3.0 == 12.0",
    ),
    (
        "an engine in a gradient in a function that is differentiated",
        "let g (x : Float) = grad (fun (y : Float) -> engine.grad Linearize (fun (z : Float) -> x * y * y * z * z) x) x",
        "snd (jvp g 1.0 1.0) == 12.0",
    ),
    (
        "an argument that does not tell its type, to an operator on a derivative",
        "let g (x : Option Float) : Float = match x with | None -> 0.0 | Some y -> y * y",
        "hvp g None None == None",
    ),
    (
        "an empty list of pairs",
        "let g (x : List (Float, [_]Float)) : Float = list.fold (fun s (a, v) -> s + a * sum v) 0.0 x",
        "snd (jvp (grad g) Nil Nil) == Nil",
    ),
    ("the numbers of an empty vector", "let g (x : [_]Float) : Float = sum (x * x)", "len (hessian g []) == 0"),
    (
        "rows of texts",
        "let g (x : Float) : Float = x * sum (map (fun s -> if s == \"bc\" then 2.0 else 1.0) (flatten [[\"a\", \"bc\"], [\"d\", \"ef\"]]))",
        "grad g 2.0 == 5.0",
    ),
    (
        "rows of pairs with functions",
        "let g (x : Float) : Float = sum (map (fun (r : [_](Float, Float -> Float)) -> (snd r[0]) (fst r[1])) [[(x, sin), (2.0, fun y -> y * x)], [(1.0, fun y -> y * y), (x, cos)]])",
        "abs (grad g 1.5 - 3.0) < 1e-12",
    ),
    (
        "a matrix of data with functions, of which one element is read",
        "let g (x : Float) : Float = sum (for i < 2 -> (let c = [[Cell {p = x, q = fun y -> x * y}, Cell {p = 2.0, q = fun y -> y * y}], [Cell {p = 1.0, q = exp}, Cell {p = x, q = fun y -> y}]] in match c[i][1 - i] with Cell r -> r.q r.p))",
        "grad g 1.5 == 0.0",
    ),
    (
        "a matrix of data as the argument",
        "let g (xs : [_][_](Option Float)) : Float = sum (map (fun r -> sum (map (fun o -> match o with | None -> 0.0 | Some y -> y * y) r)) xs)",
        "grad g [[Some 1.0, None], [None, Some 2.0]] == [[Some 2.0, None], [None, Some 4.0]] && hvp g [[Some 1.0, None], [None, Some 2.0]] [[Some 1.0, None], [None, Some 3.0]] == [[Some 2.0, None], [None, Some 6.0]]",
    ),
    (
        "the rows, columns and parts of a matrix of data",
        "let g (x : Float) : Float = (let m = [[Some x, None], [Some 2.0, Some (x * x)]] in let value o = match o with | None -> x | Some y -> y * y in sum (map value m.T[1]) + sum (map value (m[1:, :])[0]) + sum (map value (reverse m)[0]) + value (last {m with [0] = [None, Some x]}[0]))",
        "grad g 1.0 == 1.0 + 4.0 + 4.0 + 4.0 + 2.0",
    ),
    (
        "a matrix of data that a loop changes",
        "let g (x : Float) : Float = (let m = loop m = [[Some x, None], [None, None]] for i < 3 do {m with [1][i % 2] = match m[0][0] with | None -> None | Some y -> Some (x * y)} in sum (map (fun o -> match o with | None -> 0.0 | Some y -> y) m[1]))",
        "grad g 3.0 == 12.0",
    ),
    (
        "data in a comprehension of two indices",
        "let g (x : Float) : Float = (let m = for i < 2 -> for j < 3 -> (if i == j then Some (x * x) else None) in sum (for i < 2 -> sum (map (fun o -> match o with | None -> 0.0 | Some y -> y) m[i])))",
        "grad g 3.0 == 12.0",
    ),
    (
        "a fold of functions, with the argument of its result",
        "let g (x : Float) : Float = fold (fun (f : Float -> Float) (a : Float) (z : Float) -> f (z * a)) (fun y -> x * y) [1.0, 2.0] 3.0",
        "grad g 1.5 == 6.0",
    ),
    (
        "the same under another name",
        "let g (x : Float) : Float = (let again = fold (fun (f : Float -> Float) (a : Float) (z : Float) -> f (z * a)) in again (fun y -> x * y) [1.0, 2.0] x)",
        "grad g 1.5 == 6.0",
    ),
    (
        "functions that `scatter` replaces by others",
        "let g (x : Float) : Float = (let fs = scatter [(x, (fun (y : Float) -> x + y)), (2.0, sin)] [0] [(2.0 * x, fun (y : Float) -> y * y)] in (snd fs[0]) (fst fs[0]))",
        "grad g 1.5 == 12.0",
    ),
    (
        "a function in data that has no instance",
        "let g (x : Float) : Float = match Some id with | None -> 0.0 | Some _ -> x * x",
        "grad g 1.5 == 3.0",
    ),
    (
        "a function in data that is taken out where it was put in",
        "let g (x : Float) : Float = (match Cell {p = x, q = (fun y -> y * x)} with Cell c -> c.q c.p) + (match Box x (fun y -> y * y) with | Ball y -> y | Box y f -> f y)",
        "grad g 1.5 == 6.0",
    ),
    (
        "a derivative in a function in data, of a function that applies others in data",
        "let g (x : Float) : Float = match (if x > 1.0 then Layer (fun (y : Float) -> grad (fun (z : Float) -> match Cell {p = z, q = (fun a -> a * a)} with Cell c -> c.q c.p) y) else Scaled x sin) with | Layer f -> f x * x | Scaled a f -> f a",
        "grad g 1.5 == 6.0",
    ),
    (
        "known constructors in constructors",
        "let g (x : Float) : Float = match x :: 2.0 :: Nil with | Nil -> 0.0 | a :: Nil -> a | a :: b :: _ -> a * b * x",
        "grad g 1.5 == 6.0",
    ),
    (
        "rows of a forward Jacobian, of which one is a symbolic zero",
        "let g (x : Float) : Float = (jacfwd (fun (y : [_]Float) -> where [true, false] [0.5, 1.5] [x, y[0] * x]) [x])[1][0]",
        "jvp g 2.0 1.0 == (2.0, 1.0) && hvp g 2.0 1.0 == 0.0",
    ),
    (
        "branches that give arrays of different functions",
        "let g (x : Float) : Float = (let (fs : [_](Float -> Float)) = (if x > 1.0 then [(fun y -> x * y), sin] else [cos, fun y -> y * y]) in sum (map (fun (f : Float -> Float) -> f x) fs))",
        "abs (grad g 2.0 - (4.0 + cos 2.0)) < 1e-12 && abs (grad g 0.5 - (1.0 - sin 0.5)) < 1e-12 && abs (hvp g 0.5 1.0 - (2.0 - cos 0.5)) < 1e-12",
    ),
    (
        "branches that give arrays of functions of which some capture arrays",
        "let g (x : [_]Float) : Float = (let fs = where (x[0] > 1.0) [(0.5, fun (y : Float) -> sum x * y), (1.0, sin)] [(2.0, sin), (1.0, fun (y : Float) -> (3.0 * x[0] + 0.0) * y)] in sum (map (fun ((a, f) : (Float, Float -> Float)) -> a * f a) fs))",
        "grad g [2.0, 1.0] == [0.25, 0.25] && grad g [0.5, 1.0] == [3.0, 0.0]",
    ),
    (
        "branches that give matrices of functions",
        "let g (x : Float) : Float = (let fs = (if x > 1.0 then [[(fun (y : Float) -> x * y), sin], [exp, exp]] else [[sin, cos], [exp, (fun (y : Float) -> x * x * y)]]) in fs[0][0] 1.5 + fs[1][1] 1.5)",
        "grad g 2.0 == 1.5 && grad g 0.5 == 1.5",
    ),
    (
        "branches that give arrays of functions, of which one comes from a recursive function",
        "let g (x : Float) : Float = (let rec h (n : Int) (fs : [_](Float -> Float)) : [_](Float -> Float) = (if n <= 0 then fs else h (n - 1) [cos, fs[0]]) in let fs = (if x > 1.0 then h 2 [sin, cos] else [(fun y -> x * y), exp]) in sum (map (fun (f : Float -> Float) -> f x) fs))",
        "abs (grad g 2.0 + 2.0 * sin 2.0) < 1e-12 && abs (grad g 0.5 - (1.0 + exp 0.5)) < 1e-12",
    ),
    (
        "a checkpoint of a function of functions that gives no number yet",
        "let g (x : Float) : Float = x * x + sum (checkpoint (fun (h : Float -> Float) (k : Float -> Float) -> [2.0]) sin cos)",
        "grad g 1.5 == 3.0",
    ),
    (
        "rows of no rows that a loop hands on",
        "let g (x : Float) : Float = x * sum (map sum ((for i < 0 -> loop s = [x] for j < 2 do s * x) ++ [[x], [x]]))",
        "grad g 1.5 == 6.0",
    ),
];

/// What each program has, its entries, and an expression that is true.
const CAPTURED: [(&str, &[&str], &str); 3] = [
    (
        "a tuple from outside with declared data that may have functions",
        &[
            "let outside = ((Nil : List (Float -> Float)), 2.0)",
            "let g (x : Float) : Float = snd outside * x + (match fst outside with | Nil -> x * x | Cons f _ -> f x)",
        ],
        "grad g 1.5 == 5.0",
    ),
    (
        "a record from outside with functions in declared data, and one without",
        &[
            "let net (s : List (Float -> Float)) = {layers = s, scale = 2.0}",
            "let g (n : {layers : List (Float -> Float), scale : Float}) (x : Float) : Float = n.scale * (match n.layers with | Nil -> x * x | Cons f _ -> f x)",
        ],
        "grad (g (net Nil)) 1.5 == 6.0 && grad (g (net ((fun y -> 3.0 * y) :: Nil))) 1.5 == 6.0 && grad (g (net Nil)) 2.0 == 8.0",
    ),
    (
        "arrays from outside of declared data that may have functions",
        &[
            "let outside = [(Nil : List (Float -> Float)), Nil]",
            "let none = outside[0:0]",
            "let g (x : Float) : Float = x * x * sum (map (fun (s : List (Float -> Float)) -> (match s with | Nil -> x | Cons f _ -> f x)) (outside ++ none))",
        ],
        "grad g 1.5 == 13.5",
    ),
];

#[test]
fn data_from_outside_may_have_functions() {
    for (what, entries, expression) in CAPTURED {
        let (mut session, _) = session();
        entries.iter().for_each(|e| assert!(session.eval(e).ok(), "{what}: {e}"));
        assert_eq!(echo_in(&mut session, expression), "true : Bool", "{what}");
        let derivations = session.derivations();
        assert!(derivations.iter().all(|r| !r.contains("taped")), "{what}: {derivations:?}");
    }
}

#[test]
fn what_was_refused_is_compiled() {
    let mut wrong = Vec::new();
    for (what, function, expression) in PROGRAMS {
        let (mut session, _) = session();
        TYPES.iter().for_each(|t| assert!(session.eval(t).ok()));
        let echo = session.eval(function);
        assert!(echo.ok(), "{what}: {:?}", echo.diags);
        let have = echo_in(&mut session, expression);
        let derivations = session.derivations();
        if have != "true : Bool" || derivations.is_empty() || derivations.iter().any(|r| r.contains("taped")) {
            wrong.push(format!("{what}: {have}, {derivations:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Code for one more derivative of a function inside itself is made on demand, as long as it is small.
#[test]
fn large_code_for_derivatives_inside_themselves_is_not_made() {
    let (mut session, _) = session();
    let g = "let rec g (n : Int) (x : Float) : Float = if n == 0 then x * x else grad (fun (y : Float) -> g (n - 1) y * y) x";
    assert!(session.eval(g).ok());
    assert_eq!(echo_in(&mut session, "grad (g 8) 0.5"), "6561.0 : Float");
    let derivations = session.derivations();
    assert!(
        derivations.iter().any(|r| r.contains("taped") && r.contains("deeper than is compiled")),
        "{derivations:?}"
    );
    // What it needs of levels is known for each run.
    assert_eq!(echo_in(&mut session, "grad (g 1) 0.5"), "3.0 : Float");
    assert!(session.derivations().iter().all(|r| !r.contains("taped")), "{:?}", session.derivations());
}

/// An engine runs in code that is not differentiated, however often that runs. Its cost is that of the tape.
#[test]
fn engines_run_where_nothing_is_differentiated() {
    let (mut session, _) = session();
    assert!(
        session
            .eval("let g (n : Int) (x : Float) : Float = engine.grad Naive (fun y -> loop z = y for i < n do z + z) x")
            .ok()
    );
    assert_eq!(echo_in(&mut session, "loop s = 0.0 for i < 20000 do s + g 2 (float i)"), "80000.0 : Float");
    let error = echo_in(&mut session, "loop s = 0.0 for i < 2 do s + g 30 s");
    assert!(error.starts_with("E0720"), "{error}");
    assert!(session.derivations().iter().all(|r| !r.starts_with("call g")), "{:?}", session.derivations());
    assert_eq!(echo_in(&mut session, "grad (g 30) 1.0"), "0.0 : Float");
    assert_eq!(
        echo_in(&mut session, "grad (fun x -> (engine.run Taped (fun y -> y * y * x) x).value) 2.0"),
        "12.0 : Float"
    );
    let derivations = session.derivations();
    assert!(derivations.iter().any(|r| r.contains("the cost of an engine")), "{derivations:?}");
}

//! Derivatives whose arrays of zeros are symbolic are compiled, where the code asks for an extent of such an array.

use adl_tests::{echo_in, session};

/// What each program was mended for, its entries, and an expression that is true.
const PROGRAMS: [(&str, &[&str], &str); 20] = [
    (
        "an element of a product with a symbolic zero, whose shapes were compared",
        &[
            "let g (x : Float) = (reduce_by_index [x, 0.5] (*) 1.0 [1, 1] [0.5, 0.5])[1]",
            "let h (x : Float) = hvp (fun (x : Float) -> grad g x) x 0.7",
        ],
        "h 1.7 == 0.0",
    ),
    (
        "the same by `max`, in a function that calls itself",
        &[
            "let rec f (n : Int) (s : [_]Float) : [_]Float = if n <= 0 then s else f (n - 1) s",
            "let g (x : Float) : Float = foldr (fun _ -> sin) 0.5 (f 0 (reduce_by_index [0.5, x, x] max 0.5 [2, 1] [x, x]))",
        ],
        "hvp g 0.7 (-0.9) == 0.0",
    ),
    (
        "the capture of a function that is not chosen, whose extent left its branch",
        &[
            "type Net = End | More (Float -> Float) Net",
            "let rows (net : Net) ((a, x) : (Float, [_]Float)) = map (match net with | End -> (fun (i : Int) -> jacrev (fun (y : [_]Float) -> y) x) | More _ _ -> (fun (i : Int) -> [x, x])) [1]",
            "let g ((a, x) : (Float, [_]Float)) : Float = fold (fun (s : Float) (m : [_][_]Float) -> m[1][0]) 0.5 (rows (More id End) (a, x))",
        ],
        "grad g (-1.6, [-0.5, 0.1]) == (0.0, [1.0, 0.0])",
    ),
    (
        "an empty array of data, after which others stand",
        &[
            "type Cell = Cell {p : Float, q : Float -> Float}",
            "let g (x : Float) = map (fun (Cell c) -> c.q (c.p * x)) (([] : [_]Cell) ++ [Cell {p = 2.0, q = sin}, Cell {p = 3.0, q = exp}])",
        ],
        "snd (vjp g 0.0) [1.0, 10.0] == 32.0",
    ),
    (
        "an empty array of functions, before which others stand",
        &["let g (x : Float) = sum (map (fun (f : Float -> Float) -> f x) ([sin, exp] ++ ([] : [_](Float -> Float))))"],
        "grad g 0.0 == 2.0",
    ),
    (
        "arrays of other functions that are joined or changed",
        &[
            "let g (x : Float) = sum (map (fun (f : Float -> Float) -> f x) ({[sin, cos] with [1] = exp} ++ [fun y -> x * y]))",
        ],
        "grad g 0.0 == 2.0",
    ),
    (
        "the capture of a function in data that another call returns",
        &[
            "type Net = End | More (Float -> Float) Net",
            "type Tree = Leaf Float | Node Tree Tree",
            "let rec f (t : Tree) (x : [_]Float) : [_]Float = match t with | Leaf _ -> [0.5, 0.5] | Node a b -> (let r = f a x in (let _ = f b x in map (fun (_ : Net) -> r[1]) [More (fun (_ : Float) -> x[1]) End, End]))",
            "let g (y : Float) = jacrev (fun (x : [_]Float) -> f (Leaf x[1]) x) [0.5, 0.5]",
        ],
        "snd (jvp g 1.5 (-1.2)) == [[0.0, 0.0], [0.0, 0.0]]",
    ),
    (
        "the same under two more derivatives",
        &[
            "type Net = End | More (Float -> Float) Net",
            "let rec f (t : Net) (y : [_]Float) : [_]Float -> [_]Float = match t with | End -> (fun _ -> y) | More _ rest -> (let r = f rest y in r)",
            "let g ((a, y) : (Float, [_]Float)) : Float = ((snd (vjp (fun (x : [_]Float) -> (jacrev (f (More (fun (_ : Float) -> x[0]) End) y) x)[0][0]) [0.5])) 0.5)[0]",
        ],
        "grad g (-0.8, [-1.8, -0.4]) == (0.0, [0.0, 0.0])",
    ),
    (
        "rows of a cotangent that a recursive function may not have",
        &[
            "let g (x : [_][_]Float) : Float = fold (fun (_ : Float) (_ : [_][_]Float) -> 0.5) 0.5 (let rec f (n : Int) (s : [_][_][_]Float) : [_][_][_]Float = (if n <= 0 then s else f (n - 1) (for i < 2 -> x @ s[0])) in f 1 (for i < 2 -> [[0.5, 0.5, 0.5], [0.5, 0.5, x[0][1]]]))",
        ],
        "hvp g [[1.4, -1.5], [1.8, -1.1]] [[0.7, 1.4], [0.8, -0.4]] == [[0.0, 0.0], [0.0, 0.0]]",
    ),
    (
        "an update of the cotangent of an absent array, in a segment of a plan",
        &[
            "let g ((a, n) : (Float, Int)) : Float = (hessian (fun (x : [_]Float) -> fold (fun (_ : Float) ((b, _) : (Float, Float)) -> b) 0.5 (let rec f (t : List (Float -> Float)) : [_](Float, Float) = (match t with | Nil -> [(0.5, 0.5)] | Cons _ rest -> (let r = f rest in r)) in f (Cons (fun (_ : Float) -> x[n]) Nil)) * x[0]) [0.5])[0][n % 1]",
        ],
        "grad_with Sqrt g (-0.5, 2) == (0.0, 2)",
    ),
    (
        "an array of no data in a branch",
        &[
            "type Cell = Cell Float",
            "let cells (n : Int) (x : Float) = if n > 0 then replicate n (Cell x) else ([] : [_]Cell)",
            "let g (n : Int) (x : Float) = sum (map (fun (Cell y) -> y * y) (cells n x ++ [Cell x]))",
        ],
        "grad (g 0) 3.0 == 6.0 && grad (g 2) 3.0 == 18.0",
    ),
    (
        "the capture of a function that is not chosen, passed to the function that is",
        &[
            "let g ((a, x) : (Float, [_]Float)) : [_][_]Float = map (checkpoint (match (Nil : List Float) with | Nil -> (fun (_ : Float) -> [0.5, a]) | Cons _ _ -> (fun (_ : Float) -> [x[0], a]))) [1.0, 2.0]",
        ],
        "snd (jvp g (1.7, [0.1]) (1.5, [2.0])) == [[0.0, 1.5], [0.0, 1.5]]",
    ),
    (
        "a copy without dead results of the transpose of a function that is not chosen",
        &[
            "type Layer = Layer (Float -> Float) | Scaled Float (Float -> Float)",
            "type Net = End | More (Float -> Float) Net",
            "let g (x : Float) : Float = match Layer (fun (_ : Float) -> x) with | Layer f -> f 0.5 | Scaled a f -> (jacobian (fun (y : [_]Float) -> (match More (fun (b : Float) -> dot ([[b, a, a]] @ [0.5, 0.5, 0.5]) (take 1 [a, f 0.5])) End with | End -> y | More _ _ -> y)) [0.5])[0][0]",
        ],
        "hvp g 1.1 1.8 == 0.0",
    ),
    (
        "the cotangent that a loop starts with, collected by its first iteration",
        &[
            "let g (x : Float) : Float = dot [0.5, 0.5, 0.5] (foldr (fun (_ : Float) (y : [_]Float) -> x * y) (cumprod [0.5, 0.5, 0.5]) [0.5, 0.5])",
        ],
        "hvp g 2.0 3.0 == 2.625",
    ),
    (
        "a function in data, in which a derivative tests sizes but prints nothing",
        &[
            "type Layer = Layer (Float -> Float) | Scaled Float (Float -> Float)",
            "let g (x : Float) : Float = match Scaled x (fun (y : Float) -> sum (jacfwd (fun (z : [3]Float) -> [x * z[0] * y]) [0.5, 0.5, 0.5])[0]) with | Layer f -> f x | Scaled a f -> a * f a",
        ],
        "grad g 2.0 == 12.0",
    ),
    (
        "the capture of a function that is not chosen, of which a derivative is inside of a derivative",
        &[
            "let g ((_, x) : (Float, [_]Float)) : Float = checkpoint (match (None : Option Float) with | None -> (fun (y : Float) -> y * x[1]) | Some _ -> (fun (_ : Float) -> x[0])) 0.5",
        ],
        "hvp g (-0.7, [-0.4, -1.6]) (-0.9, [-0.1, 1.1]) == (0.0, [0.0, 0.0])",
    ),
    (
        "a symbolic zero that the segments of a loop receive",
        &[
            "type Shape = Ball Float | Poly [_]Float",
            "let g (x : [_]Float) : Float = snd (linearize (fun (y : [_]Float) -> fold (fun (_ : Float) -> abs) 0.5 (match Ball 0.5 with | Ball _ -> [0.5, y[0]] | Poly z -> z)) x) x",
        ],
        "grad_with Sqrt g [1.6] == [1.0]",
    ),
    (
        "dead code of a profile, which reads an array that does not exist",
        &[
            "let g (x : Float) : Float = jacfwd (fun (y : Float) -> (hessian (fun (z : [_]Float) -> prod [0.5, y, z[1]]) [0.5, 0.5])[1][0]) x",
        ],
        "engine.grad Linearize g 0.3 == 0.0",
    ),
    (
        "rows of cotangents of functions, of which the first is a symbolic zero, beside an array that is carried",
        &[
            "let g ((x, v) : (Float, [_]Float)) : Float = fold (fun (a : Float) (fs : [_](Float -> Float)) -> v[1] - fs[0] 0.5) 0.5 [[sin, cos], [(fun (z : Float) -> x), sin]]",
        ],
        "hvp g (0.3, [1.0, 2.0]) (1.0, [1.0, 2.0]) == (0.0, [0.0, 0.0])",
    ),
    (
        "rows of functions, of which one captures an array",
        &[
            "let g ((x, v) : (Float, [_]Float)) : Float = dot [0.5] (fst (loop (s : [_]Float, i : Int) = ([[0.5, 0.5]] @ (map (fun (fs : [_](Float -> Float)) -> (reduce (fun (y : Float) -> atan) 0.5 [0.5, v[0], x]) * fs[0] 0.5) [[(fun (y : Float) -> v[0]), abs], [cos, sigmoid]]), 0) while i < 0 && false do ([0.5], i + 1)))",
        ],
        "grad g (1.1, [-0.1, -1.1]) == (0.08796182826814171, [0.20824531666860793, 0.0])",
    ),
];

#[test]
fn code_with_absent_arrays_is_compiled() {
    for (what, entries, expression) in PROGRAMS {
        let (mut session, _) = session();
        for entry in entries {
            let echo = session.eval(entry);
            assert!(echo.ok(), "{what}: {entry}: {:?}", echo.diags);
        }
        assert_eq!(echo_in(&mut session, expression), "true : Bool", "{what}");
        let derivations = session.derivations();
        assert!(!derivations.is_empty() && derivations.iter().all(|r| !r.contains("taped")), "{what}: {derivations:?}");
    }
}

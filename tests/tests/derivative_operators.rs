//! What the derivative operators say where there is no derivative, or data do not fit.

use adl_tests::echo;

fn check(cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(text, want)| {
            let have = echo(text);
            (have != *want).then(|| format!("{text}\n  gives {have}\n  not   {want}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn directions_and_cotangents_have_the_structure_of_their_values() {
    check(&[
        (
            "type S = A Float | B Float\njvp (fun s -> match s with | A x -> x | B x -> x) (A 1.0) (B 1.0)",
            "E0711: the direction is B 1.0, which has not the structure of A 1.0",
        ),
        (
            "type S = A Float | B Float\nA 1.0 + B 2.0",
            "E0711: data of different structure cannot be added: A 1.0 and B 2.0",
        ),
        (
            "let (y, back) = vjp (fun x -> if x > 0.0 then Some x else None) 1.0\nback None",
            "E0711: the argument of a linear function is None, which has not the structure of Some 1.0",
        ),
        (
            "jvp (list.fold (fun a b -> a + b) 0.0) (1.0 :: 2.0 :: Nil) (1.0 :: Nil)",
            "E0711: the direction is Cons 1.0 Nil, which has not the structure of Cons 1.0 (Cons 2.0 Nil)",
        ),
        (
            "let v = filter (fun x -> x > 0.0) [1.0] in jvp sum [1.0, 2.0] v",
            "E0702: the direction has arrays of shape [1] where [2] is needed",
        ),
        (
            "let v = filter (fun x -> x > 0.0) [1.0] in let (y, back) = vjp (fun v -> v * 2.0) [1.0, 2.0] in back v",
            "E0702: the argument of a linear function has arrays of shape [1] where [2] is needed",
        ),
        (
            "let v = filter (fun x -> x > 0.0) [1.0] in hvp (fun xs -> sum xs) [1.0, 2.0] v",
            "E0702: the direction has arrays of shape [1] where [2] is needed",
        ),
        (
            "let f = custom_vjp (fun (x : [_]Float) -> sum x) (fun x -> (sum x, lin d -> replicate 5 d))\ngrad f [1.0, 2.0]",
            "E0702: the cotangent from a custom derivative has arrays of shape [5] where [2] is needed",
        ),
        (
            "let f = custom_jvp (fun (x : [_]Float) -> x) (fun x -> (x, lin d -> take 1 d))\njvp f [1.0, 2.0] [1.0, 1.0]",
            "E0702: the tangent from a custom derivative has arrays of shape [1] where [2] is needed",
        ),
    ]);
}

#[test]
fn a_custom_rule_may_not_capture_what_is_differentiated() {
    let captures =
        "a function with a custom derivative uses a value that is being differentiated and is not its argument";
    check(&[
        (
            "grad (fun w -> (custom_jvp (fun x -> w * x) (fun x -> (w * x, lin d -> w * d))) w) 2.0",
            &format!("E0716: {captures}"),
        ),
        (
            "grad (fun w -> let g = fun v -> w * v in (custom_jvp (fun x -> g x) (fun x -> (g x, lin d -> g 1.0 * d))) w) 2.0",
            &format!("E0716: {captures}"),
        ),
        ("grad (fun w -> (custom_jvp (fun x -> w * x) (fun x -> (w * x, lin d -> w * d))) 3.0) 2.0", "3.0 : Float"),
        (
            "grad (fun w -> grad (custom_jvp (fun x -> w * x) (fun x -> (w * x, lin d -> w * d))) 3.0) 2.0",
            "1.0 : Float",
        ),
    ]);
}

#[test]
fn the_shape_of_a_transposed_functions_input_must_be_known() {
    let unknown = "E0715: the shape of the input of this linear function is not known here";
    check(&[
        ("let f : [n]Float -o Float = lin x -> sum x\n(transpose f) 1.0", unknown),
        ("let f : Option Float -o Option Float = lin x -> x\n(transpose f) (Some 1.0)", unknown),
        ("(transpose_at [0.0, 0.0] (lin x -> sum x)) 1.0", "[1.0, 1.0] : [2]Float"),
        (
            "(transpose (lin (x : [2](Float, Float)) -> unzip x)) ([1.0, 2.0], [3.0, 4.0])",
            "[(1.0, 3.0), (2.0, 4.0)] : [2](Float, Float)",
        ),
        (
            "(transpose (lin (x : [1]{a : Float, b : [2]Float}) -> x)) [{a = 1.0, b = [2.0, 3.0]}]",
            "[{a = 1.0, b = [2.0, 3.0]}] : [1]{a : Float, b : [2]Float}",
        ),
        ("let g (x : [n]Float) = (transpose (lin (v : [n]Float) -> x * v)) x\ng [1.0, 2.0]", "[1.0, 4.0] : [2]Float"),
        ("transpose (snd (linearize (fun x -> x * x) [1.0, 2.0])) [1.0, 1.0]", "[2.0, 4.0] : [2]Float"),
        ("(transpose (lin (x : [3]Float) -> (zero : Float))) 1.0", "[0.0, 0.0, 0.0] : [3]Float"),
    ]);
}

#[test]
fn what_has_no_derivative_is_a_type_error() {
    for text in [
        "grad (fun x -> [x, x]) 1.0",
        "grad (fun x -> fun y -> x) 1.0",
        "jvp (fun x -> fun y -> x) 1.0 1.0",
        "grad (fun f -> f 1.0) sin",
        "hessian (fun x -> x) [1.0]",
    ] {
        let have = echo(text);
        assert!(have.starts_with("E02") || have.starts_with("E06"), "{text}: {have}");
    }
}

#[test]
fn errors_inside_differentiated_code_are_as_outside() {
    check(&[
        ("grad (fun xs -> xs[5]) [1.0, 2.0]", "E0701: index 5 is out of bounds for an array of length 2"),
        ("grad (fun x -> if x > 0.5 then error \"bad\" else x) 1.0", "E0706: bad"),
        ("grad (fun x -> x * float (1 // 0)) 1.0", "E0704: division of an Int by zero"),
        ("grad maximum ([] : [0]Float)", &echo("maximum ([] : [0]Float)")),
        (
            "let rec f x = x * f (x + 1.0)\ngrad f 1.0",
            "E0707: too many nested calls: the recursion does not seem to end",
        ),
    ]);
}

#[test]
fn a_session_goes_on_after_an_error_inside_a_derivative() {
    let (mut s, _) = adl_tests::session();
    for _ in 0..3 {
        let e = adl_tests::echo_in(
            &mut s,
            "grad (fun x -> grad (fun y -> if y > 0.0 then error \"bad\" else x * y) x) 1.0",
        );
        assert_eq!(e, "E0706: bad");
        assert_eq!(adl_tests::echo_in(&mut s, "grad (grad (fun x -> x * x * x)) 2.0"), "12.0 : Float");
    }
}

#[test]
fn checkpoints_see_what_functions_inside_data_capture() {
    check(&[
        (
            "grad (fun w -> let fs = (fun x -> w * x, 1) in (checkpoint (fun x -> (fst fs) x * x)) 3.0) 2.0",
            "9.0 : Float",
        ),
        (
            "grad (fun w -> let (y, l) = linearize (fun x -> w * x * x) 3.0 in (checkpoint (fun d -> l d * d)) 2.0) 5.0",
            "24.0 : Float",
        ),
        (
            "grad (fun w -> let rec p n x = if n == 0 then 1.0 else w * x * p (n - 1) x in (checkpoint (p 3)) 2.0) 1.0",
            "24.0 : Float",
        ),
        ("grad (fun w -> (checkpoint (map (fun x -> w * x))) [1.0, 2.0] |> sum) 1.0", "3.0 : Float"),
    ]);
}

#[test]
fn kinks_have_the_documented_derivatives() {
    check(&[
        (
            "(grad abs 0.0, grad relu 0.0, grad sign 0.0, grad floor 1.5, grad round 2.5, grad ceil 1.0)",
            "(0.0, 0.0, 0.0, 0.0, 0.0, 0.0) : (Float, Float, Float, Float, Float, Float)",
        ),
        (
            "(grad (fun (x, y) -> min x y) (1.0, 1.0), grad (fun (x, y) -> max x y) (1.0, 1.0))",
            "((1.0, 0.0), (1.0, 0.0)) : ((Float, Float), (Float, Float))",
        ),
        (
            "(grad maximum [1.0, 3.0, 3.0], grad minimum [2.0, 1.0, 1.0])",
            "([0.0, 1.0, 0.0], [0.0, 1.0, 0.0]) : ([3]Float, [3]Float)",
        ),
        ("jvp maximum [1.0, 3.0, 3.0] [1.0, 10.0, 100.0]", "(3.0, 10.0) : (Float, Float)"),
        ("grad (reduce max (-inf)) [1.0, 3.0, 3.0]", "[0.0, 1.0, 0.0] : [3]Float"),
        ("grad (fun x -> maximum for i -> x[i]) [1.0, 3.0, 3.0]", "[0.0, 1.0, 0.0] : [3]Float"),
        (
            "(grad (fun (x, y) -> hypot x y) (0.0, 0.0), grad norm [0.0, 0.0], grad (fun (x : [2]F32) -> norm x) [0.0f32, 0.0f32])",
            "((0.0, 0.0), [0.0, 0.0], [0.0, 0.0]) : ((Float, Float), [2]Float, [2]F32)",
        ),
        ("map (grad (clamp 0.0 1.0)) [-0.5, 0.0, 0.5, 1.0, 1.5]", "[0.0, 1.0, 1.0, 1.0, 0.0] : [5]Float"),
        ("grad (fun x -> sum (clamp 0.0 1.0 x)) [-0.5, 0.0, 0.5, 1.0, 1.5]", "[0.0, 1.0, 1.0, 1.0, 0.0] : [5]Float"),
        ("grad (fun x -> sum (sort x * [1.0, 10.0, 100.0])) [2.0, 1.0, 2.0]", "[10.0, 1.0, 100.0] : [3]Float"),
        (
            "grad (fun x -> sum (reduce_by_index [2.0, 0.0] max (-inf) [0, 1, 1] x)) [2.0, 3.0, 3.0]",
            "[0.0, 1.0, 0.0] : [3]Float",
        ),
        (
            "grad (fun d -> sum (reduce_by_index d max (-inf) [0, 1, 1] [2.0, 3.0, 3.0])) [2.0, 0.0]",
            "[1.0, 0.0] : [2]Float",
        ),
        (
            "(grad (fun x -> x ^ 0.0) 0.0, grad (fun x -> x ^ 2.0) 0.0, grad (fun y -> 0.0 ^ y) 2.0)",
            "(0.0, 0.0, 0.0) : (Float, Float, Float)",
        ),
    ]);
}

#[test]
fn what_a_mask_drops_never_makes_nan() {
    check(&[
        (
            "(grad (fun x -> [| x > 0.0 |] * log x) (-1.0), grad (fun x -> [| x != 0.0 |] * (1.0 / x)) 0.0)",
            "(0.0, 0.0) : (Float, Float)",
        ),
        ("grad (fun x -> sum (where (map (fun v -> v > 0.0) x) (sqrt x) 0.0)) [0.0, 4.0]", "[0.0, 0.25] : [2]Float"),
        (
            "jvp (fun x -> sum (where (map (fun v -> v > 0.0) x) (sqrt x) 0.0)) [0.0, 4.0] [1.0, 1.0]",
            "(2.0, 0.25) : (Float, Float)",
        ),
        (
            "grad (fun x -> sum for i < 3 -> [| i > 0 |] * (x[i] * x[i - 1])) [1.0, 2.0, 3.0]",
            "[2.0, 4.0, 2.0] : [3]Float",
        ),
        ("grad (fun x -> ([| x > 1.0 |] * {a = x, b = [x]}).a) 0.5", "0.0 : Float"),
        (
            "hessian (fun x -> sum for i < 3 -> [| x[i] > 0.0 |] * log x[i]) [1.0, -1.0, 2.0]",
            "[[-1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, -0.25]] : [3][3]Float",
        ),
    ]);
}

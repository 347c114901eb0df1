//! Functions as data whose codes are found late: programs that the fuzzer found. They are one long line each, as its printer writes them,
//! because the order in which types of functions are met decides.

use adl_tests::{echo_in, session};

/// A list of functions is empty, so that their type has no codes when it is first applied; then `f` returns one.
const LATE: &str = "let a (x : Float) : Float = (jacobian sin 0.5) + 10.0 * (grad ((let u : Float = (let rec h (t : List (Float -> Float)) : Float = (match t with | Nil -> 0.5 | Cons p q -> (let r = h q in 0.5)) in h (Nil : List (Float -> Float))) in (let rec f (n : Int) (s : Float -> Float -> Float) : Float -> Float -> Float = (if n <= 0 then s else f (n - 1) s) in f 0 (fun (y : Float) -> sin))) 0.5) 0.5)";

/// The entry is specialised again, because a derivative inside finds new codes. `f32` and its residuals stay.
const AGAIN: &str = "let f0 (x1 : [_]Float) : Float = (let rec f255 (n2 : Int) (s3 : Float) : Float = (if n2 <= 0 then s3 else f256 (n2 - 1) ((transpose_at s3 (snd (linearize (let rec f115 (n111 : Int) (s112 : Float -> Float) : Float -> Float = (if n111 <= 0 then s112 else f115 (n111 - 1) s112) in f115 0 sin) s3))) 0.5)) and f256 (n2 : Int) (s3 : Float) : Float = (if n2 <= 0 then s3 else f255 (n2 - 1) 0.5) in f255 0 (hvp ((fun (x25 : Float) (x26 : Float) -> (let rec f32 (t33 : Tree) : Float = (match t33 with | Leaf x27 -> x1[0] | Node x28 x29 -> (let r30 = f32 x28 in (let r31 = f32 x29 in r30))) in f32 (Leaf 0.5))) >> (let rec f43 (n39 : Int) (s40 : (Float -> Float) -> Float) : (Float -> Float) -> Float = (if n39 <= 0 then s40 else f43 (n39 - 1) s40) in f43 0 (fun (x147001 : Float -> Float) -> (x147001 0.5)))) 0.5 0.5))";

#[test]
fn a_code_that_is_found_after_the_first_application_is_applied() {
    let (mut s, _) = session();
    assert!(s.eval(LATE).ok());
    assert_eq!(echo_in(&mut s, "fst (value_and_grad a 0.4) == a 0.4"), "true : Bool");
}

#[test]
fn residuals_of_functions_that_stay_keep_their_types() {
    let (mut s, _) = session();
    assert!(s.eval("type Tree = Leaf Float | Node Tree Tree").ok());
    assert!(s.eval(AGAIN).ok());
    assert_eq!(echo_in(&mut s, "f0 [-0.5, -0.2, 0.4]"), "0.0 : Float");
    assert_eq!(echo_in(&mut s, "grad f0 [-0.5, -0.2, 0.4]"), "[0.0, 0.0, 0.0] : [3]Float");
    assert_eq!(echo_in(&mut s, "snd (jvp f0 [-0.5, -0.2, 0.4] [-1.3, -1.1, 1.4])"), "0.0 : Float");
}

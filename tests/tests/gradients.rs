//! Every differentiable primitive: forward against central differences, forward against reverse, and second derivatives in all orders.

use adl_tests::functions::{FUNCTIONS, unary};
use adl_tests::{echo_in, session};

fn all() -> Vec<String> {
    let elementwise = unary().map(|f| format!("sum ({f} x * x)"));
    FUNCTIONS.iter().map(|s| (*s).to_owned()).chain(elementwise).collect()
}

#[test]
fn gradients_agree_with_central_differences_and_forward_mode() {
    let (mut s, _) = session();
    let mut wrong = Vec::new();
    for f in all() {
        for x in ["[0.37, 0.71, 0.52]", "[0.9, 0.21, 0.65]"] {
            let test = format!(
                "let f (x : [3]Float) : Float = {f}\nlet x = {x}\nlet v = [0.3, -1.2, 0.7]\nlet g = grad f x\n\
                 ((gradcheck f x).ok, abs (snd (jvp f x v) - dot g v) <= 1e-11 * (1.0 + norm g))"
            );
            let have = echo_in(&mut s, &test);
            if have != "(true, true) : (Bool, Bool)" {
                wrong.push(format!("{f} at {x}: {have}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn second_derivatives_agree_in_every_order() {
    let (mut s, _) = session();
    let mut wrong = Vec::new();
    for f in all() {
        let test = format!(
            "let f (x : [3]Float) : Float = {f}\nlet x = [0.37, 0.71, 0.52]\nlet v = [0.3, -1.2, 0.7]\nlet w = [1.1, 0.4, -0.6]\n\
             let reverse_reverse = dot (grad (fun x -> dot (grad f x) v) x) w\nlet forward_reverse = dot (hvp f x v) w\n\
             let reverse_forward = dot (grad (fun x -> snd (jvp f x v)) x) w\nlet forward_forward = snd (jvp (fun x -> snd (jvp f x v)) x w)\n\
             let h = hessian f x\nlet all = [reverse_reverse, forward_reverse, reverse_forward, forward_forward, dot (h @ v) w, dot (h.T @ v) w]\n\
             maximum all - minimum all <= 1e-8 * (1.0 + maximum (abs all))"
        );
        let have = echo_in(&mut s, &test);
        if have != "true : Bool" {
            wrong.push(format!("{f}: {have}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

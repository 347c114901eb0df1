//! The rows of all primitives: their types, and their derivatives as text.

use adl_prim::rule::derivative;
use adl_prim::{ArrayFn, Bin, Prim, ReductionFn, Typing, Un};

#[test]
fn every_type_text_parses() {
    for p in Prim::ALL {
        let (Typing::Scheme(t) | Typing::Elementwise(t) | Typing::Special(t)) = p.row().typing;
        assert!(adl_syntax::parse_signature(t).is_ok(), "{p:?}: {t}");
        assert_eq!(Prim::by_name(p.name()), Some(*p));
    }
}

#[test]
fn rules_are_readable() {
    for (prim, want) in [
        (Prim::Un(Un::Sin), "Derivative of `sin x`: `cos x`."),
        (Prim::Un(Un::Cos), "Derivative of `cos x`: `-sin x`."),
        (Prim::Un(Un::Tan), "Derivative of `tan x`: `1 + tan x ^ 2`."),
        (Prim::Un(Un::Tanh), "Derivative of `tanh x`: `1 / cosh x ^ 2`."),
        (Prim::Un(Un::Sqrt), "Derivative of `sqrt x`: `1 / (2 * sqrt x)`."),
        (Prim::Un(Un::Acos), "Derivative of `acos x`: `-(1 / sqrt ((1 - x) * (1 + x)))`."),
        (Prim::Un(Un::Sigmoid), "Derivative of `sigmoid x`: `sigmoid x * sigmoid (-x)`."),
        (Prim::Un(Un::Erf), "Derivative of `erf x`: `2 / sqrt pi * exp (-x ^ 2)`."),
        (Prim::Un(Un::Relu), "Derivative of `relu x`: `(1 where x > 0, else 0)`."),
        (Prim::Bin(Bin::Mul), "Derivatives of `x * y`: in x `y`, in y `x`."),
        (Prim::Bin(Bin::Div), "Derivatives of `x / y`: in x `1 / y`, in y `-(x / y * (1 / y))`."),
        (Prim::Bin(Bin::Pow), "Derivatives of `x ^ y`: in x `x ^ (y - 1) * y`, in y `log x * x ^ y`."),
        (Prim::Bin(Bin::Hypot), "Derivatives of `hypot x y`: in x `x / hypot x y`, in y `y / hypot x y`."),
        (
            Prim::Bin(Bin::Atan2),
            "Derivatives of `atan2 x y`: in x `y / (x ^ 2 + y ^ 2)`, in y `-(x / (x ^ 2 + y ^ 2))`.",
        ),
        (
            Prim::Bin(Bin::Min),
            "Derivatives of `min x y`: in x `(1 where x <= y, else 0)`, in y `(1 where x > y, else 0)`.",
        ),
        (Prim::Reduction(ReductionFn::Sum), "Linear: its derivative is itself, applied to the tangent."),
        (Prim::Array(ArrayFn::Zip), "Linear: its derivative is itself, applied to the tangents."),
    ] {
        assert_eq!(derivative(prim).as_deref(), Some(want));
    }
}

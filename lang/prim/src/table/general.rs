//! Functions of any data.

use super::{Linearity as L, Row, family, scheme};

family! {
    /// A function of any data.
    GeneralFn {
        Fst "fst": scheme("(a, b) -> a", 1, L::In(&[0])), "First of a pair.", ["fst (1, 2) => 1 : Int"];
        Snd "snd": scheme("(a, b) -> b", 1, L::In(&[0])), "Second of a pair.", ["snd (1, 2) => 2 : Int"];
        Id "id": scheme("a -> a", 1, L::In(&[0])), "Its argument.", ["id 3 => 3 : Int"];
        Zero "zero": scheme("Diff a => a", 0, L::None), "The zero of a type (of unknown shape where its sizes are not known).",
        ["(zero : Float) => 0.0 : Float"];
        Assert "assert": scheme("Bool -> ()", 1, L::None), "An error unless the condition holds.", ["assert (1 < 2) => () : ()"];
        Error "error": scheme("String -> a", 1, L::None), "Stops with a message.", [];
    }
}

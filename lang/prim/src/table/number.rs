//! Numbers and Bools: logic, tests, constants, conversions.

use super::{Linearity as L, Row, elementwise, family, scheme, special};

family! {
    /// A function of numbers or Bools that is not a scalar operator.
    NumberFn {
        PowInt "__powi": special("Num a => a -> Int -> a", 2, L::None), "Power with an Int exponent.", [];
        Not "not": elementwise("Bool -> Bool", 1), "Logical negation, elementwise on arrays.",
        ["not true => false : Bool", "not [true, false] => [false, true] : [2]Bool"];
        AndEach ".&&": elementwise("Bool -> Bool -> Bool", 2), "Both, elementwise. Unlike `&&` it evaluates both.",
        ["[true, false] .&& true => [true, false] : [2]Bool"];
        OrEach ".||": elementwise("Bool -> Bool -> Bool", 2), "Either, elementwise. Unlike `||` it evaluates both.",
        ["[true, false] .|| [false, false] => [true, false] : [2]Bool"];
        IsNan "is_nan": elementwise("Reals a => a -> Bool", 1), "Whether it is not a number.", ["is_nan nan => true : Bool"];
        IsInf "is_inf": elementwise("Reals a => a -> Bool", 1), "Whether it is infinite.", ["is_inf (-inf) => true : Bool"];
        Clamp "clamp": elementwise("Nums a => a -> a -> a -> a", 3),
        "`clamp lo hi x`; the bounds may be arrays. The derivative at a bound is 1.",
        ["clamp 0.0 1.0 1.5 => 1.0 : Float"];
        Pi "pi": scheme("Real a => a", 0, L::None), "3.14159….", ["pi => 3.141592653589793 : Float"];
        E "e": scheme("Real a => a", 0, L::None), "2.71828….", ["e => 2.718281828459045 : Float"];
        Inf "inf": scheme("Real a => a", 0, L::None), "Infinity.", ["inf => inf : Float"];
        Nan "nan": scheme("Real a => a", 0, L::None), "Not a number.", ["nan => nan : Float"];
        ToFloat "float": elementwise("Nums a => a -> Float", 1), "Any number as a Float.", ["float 3 => 3.0 : Float"];
        ToInt "int": elementwise("Nums a => a -> Int", 1),
        "The whole part, towards zero. A number that no Int holds is an error.",
        ["int (-1.5) => -1 : Int"];
        ToF32 "to_f32": elementwise("Nums a => a -> F32", 1), "Rounded to 32 bits.", ["to_f32 0.5 => 0.5 : F32"];
    }
}

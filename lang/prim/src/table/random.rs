//! Random numbers (module `random` wraps them).

use super::{Linearity as L, Row, family, scheme, special};

family! {
    /// A function of random keys.
    RandomFn {
        RandKey "__rand_key": scheme("Int -> (Int, Int)", 1, L::None), "The two words of a key from a seed.", [];
        RandSplit "__rand_split": scheme("Int -> Int -> Int -> [_](Int, Int)", 3, L::None), "n new keys.", [];
        RandUniform "__rand_uniform": special("k -> [r]Int -> [_]Float", 2, L::None),
        "`random.uniform key shape`: uniform in [0, 1). The shape is a literal; `[]` gives one number.",
        [];
        RandNormal "__rand_normal": special("k -> [r]Int -> [_]Float", 2, L::None),
        "`random.normal key shape`: standard normal. The shape is a literal.",
        [];
        RandInt "__rand_int": special("k -> Int -> Int -> [r]Int -> [_]Int", 4, L::None),
        "`random.int key lo hi shape`: uniform in lo ... hi - 1. The shape is a literal.",
        [];
        RandPermutation "__rand_permutation": scheme("Int -> Int -> Int -> [_]Int", 3, L::None), "A random order of 0 ... n - 1.", [];
    }
}

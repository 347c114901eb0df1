//! Pseudo-random numbers from a seed, the same on every machine.

use adl_ir::generate::rng::Rng;
use std::ops::{Deref, DerefMut};

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(Rng);

impl Random {
    /// The stream of a seed. Streams of consecutive seeds do not overlap.
    pub fn new(seed: u64) -> Random {
        Random(Rng::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d))
    }

    /// A random element.
    pub fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// A number between -2 and 2 with three decimals.
    pub fn float(&mut self) -> f64 {
        (self.below(4001) as f64 - 2000.0) / 1000.0
    }
}

impl Deref for Random {
    type Target = Rng;
    fn deref(&self) -> &Rng {
        &self.0
    }
}

impl DerefMut for Random {
    fn deref_mut(&mut self) -> &mut Rng {
        &mut self.0
    }
}

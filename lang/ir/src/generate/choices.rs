//! Operands of operations that are chosen one by one: at random, or each possible one in turn.

use super::rng::Rng;
use crate::collective::Collective;
use crate::func::Var;
use crate::ty::Ty;

/// Makes the choices of which an operation consists.
pub trait Choices {
    /// A number below `n`, which is at least 1.
    fn below(&mut self, n: usize) -> usize;
    /// The variables that may be operands.
    fn vars(&self) -> &[Var];

    /// One of the variables; `None` if there is none.
    fn var(&mut self) -> Option<Var> {
        let n = self.vars().len();
        if n == 0 {
            return None;
        }
        let k = self.below(n);
        self.vars().get(k).copied()
    }
}

/// A part of an operation that can be chosen. `label` is the literal beside the operand in its row.
pub(crate) trait Chosen: Sized {
    fn choose(choices: &mut dyn Choices, label: &str) -> Option<Self>;
}

impl Chosen for Var {
    fn choose(choices: &mut dyn Choices, _: &str) -> Option<Var> {
        choices.var()
    }
}

/// Such operands are for linear operations, and J adds them, except for the operand `at` of a collective.
impl Chosen for Option<Var> {
    fn choose(choices: &mut dyn Choices, label: &str) -> Option<Option<Var>> {
        if label == "at" && choices.below(2) == 1 { choices.var().map(Some) } else { Some(None) }
    }
}

/// One or two variables.
impl Chosen for Vec<Var> {
    fn choose(choices: &mut dyn Choices, _: &str) -> Option<Vec<Var>> {
        let n = 1 + choices.below(2);
        (0..n).map(|_| choices.var()).collect()
    }
}

/// The number of an axis.
impl Chosen for u32 {
    fn choose(choices: &mut dyn Choices, _: &str) -> Option<u32> {
        Some(choices.below(2) as u32)
    }
}

impl Chosen for bool {
    fn choose(choices: &mut dyn Choices, _: &str) -> Option<bool> {
        Some(choices.below(2) == 1)
    }
}

impl Chosen for Collective {
    fn choose(choices: &mut dyn Choices, _: &str) -> Option<Collective> {
        Collective::ALL.get(choices.below(Collective::ALL.len())).copied()
    }
}

impl Chosen for Ty {
    fn choose(choices: &mut dyn Choices, _: &str) -> Option<Ty> {
        let scalar = [Ty::F64, Ty::F32, Ty::I64][choices.below(3)].clone();
        Some(scalar.array(choices.below(3) as u32))
    }
}

/// All sequences of choices, in order.
#[derive(Debug)]
pub struct Each {
    vars: Vec<Var>,
    /// The choices made, each with the number of possible ones.
    made: Vec<(usize, usize)>,
    at: usize,
}

impl Each {
    /// Choices among these variables.
    pub fn new(vars: Vec<Var>) -> Each {
        Each { vars, made: Vec::new(), at: 0 }
    }

    /// Goes on to the next sequence, unless this was the last one.
    pub fn advance(&mut self) -> bool {
        self.made.truncate(self.at);
        self.at = 0;
        while let Some((choice, bound)) = self.made.pop() {
            if choice + 1 < bound {
                self.made.push((choice + 1, bound));
                return true;
            }
        }
        false
    }
}

impl Choices for Each {
    fn below(&mut self, n: usize) -> usize {
        if self.at == self.made.len() {
            self.made.push((0, n));
        }
        self.at += 1;
        self.made[self.at - 1].0
    }

    fn vars(&self) -> &[Var] {
        &self.vars
    }
}

/// Random choices.
#[derive(Debug)]
pub struct RandomChoices {
    /// Where the choices come from.
    pub rng: Rng,
    /// The variables that may be operands.
    pub vars: Vec<Var>,
}

impl Choices for RandomChoices {
    fn below(&mut self, n: usize) -> usize {
        self.rng.below(n)
    }

    fn vars(&self) -> &[Var] {
        &self.vars
    }
}

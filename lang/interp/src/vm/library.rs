//! The code of a group of functions, which may grow: older groups share what they have in common with newer ones.

use super::code::Code;
use std::ops::Index;
use std::rc::Rc;

/// Functions of a chunk.
const CHUNK: usize = 64;

/// Code by number. A copy takes a word for each [`CHUNK`] functions, so that a program that grows a function at a time may have a group for
/// each of its states.
#[derive(Clone, Default, Debug)]
pub struct Codes(Vec<Rc<Vec<Rc<Code>>>>);

impl Codes {
    /// Number of functions.
    pub fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * CHUNK + last.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A function's code.
    pub fn get(&self, i: usize) -> Option<&Rc<Code>> {
        self.0.get(i / CHUNK)?.get(i % CHUNK)
    }

    /// All functions.
    pub fn iter(&self) -> impl Iterator<Item = &Rc<Code>> {
        self.0.iter().flat_map(|c| c.iter())
    }

    /// Adds a function.
    pub fn push(&mut self, code: Rc<Code>) {
        match self.0.last_mut().filter(|c| c.len() < CHUNK) {
            Some(last) => Rc::make_mut(last).push(code),
            None => self.0.push(Rc::new(vec![code])),
        }
    }
}

impl Index<usize> for Codes {
    type Output = Rc<Code>;

    fn index(&self, i: usize) -> &Rc<Code> {
        &self.0[i / CHUNK][i % CHUNK]
    }
}

impl FromIterator<Rc<Code>> for Codes {
    fn from_iter<I: IntoIterator<Item = Rc<Code>>>(all: I) -> Codes {
        let mut out = Codes::default();
        all.into_iter().for_each(|c| out.push(c));
        out
    }
}

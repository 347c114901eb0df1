//! The code of a group of functions that can grow: copies share their common prefix.

use super::code::Code;
use crate::limits::vm_code_list::CHUNK;
use std::ops::Index;
use std::rc::Rc;

/// Code by function number. A copy takes one word for each `CHUNK` functions, so that a program to which
/// functions are added one at a time can have a group for each of its states.
#[derive(Clone, Default, Debug)]
pub struct CodeList(Vec<Rc<Vec<Rc<Code>>>>);

impl CodeList {
    /// Number of functions.
    pub fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * CHUNK + last.len())
    }

    /// Whether there are no functions.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The code of function `i`.
    pub fn get(&self, i: usize) -> Option<&Rc<Code>> {
        self.0.get(i / CHUNK)?.get(i % CHUNK)
    }

    /// All functions in order.
    pub fn iter(&self) -> impl Iterator<Item = &Rc<Code>> {
        self.0.iter().flat_map(|c| c.iter())
    }

    /// Appends a function.
    pub fn push(&mut self, code: Rc<Code>) {
        match self.0.last_mut().filter(|c| c.len() < CHUNK) {
            Some(last) => Rc::make_mut(last).push(code),
            None => self.0.push(Rc::new(vec![code])),
        }
    }
}

impl Index<usize> for CodeList {
    type Output = Rc<Code>;

    fn index(&self, i: usize) -> &Rc<Code> {
        &self.0[i / CHUNK][i % CHUNK]
    }
}

impl FromIterator<Rc<Code>> for CodeList {
    fn from_iter<I: IntoIterator<Item = Rc<Code>>>(all: I) -> CodeList {
        let mut out = CodeList::default();
        all.into_iter().for_each(|c| out.push(c));
        out
    }
}

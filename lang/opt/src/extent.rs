//! Extents of arrays that are known without asking the array: those of what it was made from. Unlike [`crate::shapes`] it looks within one
//! turn only, and is right where arrays may be absent.

use adl_ir::{Function, Op, Out, SoacKind, Stmt, Var};
use adl_prim::Bin;
use std::collections::{HashMap, HashSet};

/// Arrays that are looked at for one extent.
const MOST: usize = 32;

/// What is known of shapes.
#[derive(Default)]
pub struct Extents {
    /// Arrays of the same shape.
    like: HashMap<Var, Vec<Var>>,
    /// The extents of first axes.
    first: HashMap<Var, Var>,
    /// Arrays that are there, and of the same shape, where this one is.
    made_of: HashMap<Var, Var>,
}

impl Extents {
    /// Learns from a statement.
    pub fn learn(&mut self, f: &Function, s: &Stmt) {
        if let (Some(a), [out], []) = (source(f, &s.op), s.outs.as_slice(), s.lin_outs.as_slice()) {
            let first = self.made_of.get(&a).copied().unwrap_or(a);
            self.made_of.insert(*out, first);
        }
        match &s.op {
            Op::Un(_, a) | Op::Convert(_, a) | Op::Not(a) | Op::Reverse(a) => self.alike(f, s, &[*a]),
            Op::Rotate { a, .. } | Op::Cumsum { a, .. } | Op::IndexSet { acc: a, shape: None, .. } => self.alike(f, s, &[*a]),
            Op::Soac(x) if x.kind != SoacKind::Reduce => {
                for (out, a) in s.outs.iter().zip(&x.arrays).filter(|(v, a)| f.ty(**v).rank() == 1 && f.ty(**a).rank() == 1) {
                    self.like.insert(*out, vec![*a]);
                }
            }
            Op::Bin(Bin::Scale, _, b) => self.alike(f, s, &[*b]),
            Op::Bin(_, a, b) | Op::Cmp(_, a, b) => self.alike(f, s, &[*a, *b]),
            Op::Loop(l) => {
                let k = l.init.len();
                if let Some(turns) = s.outs.last() {
                    self.first.extend(s.outs.iter().skip(k).zip(&l.outs).filter(|(_, o)| **o != Out::Sum).map(|(v, _)| (*v, *turns)));
                }
            }
            _ => {}
        }
    }

    fn alike(&mut self, f: &Function, s: &Stmt, from: &[Var]) {
        for out in &s.outs {
            let rank = f.ty(*out).rank();
            let same: Vec<Var> = from.iter().copied().filter(|v| rank > 0 && f.ty(*v).rank() == rank && !f.linear(*v)).collect();
            self.like.insert(*out, same);
        }
    }

    /// The array from which an array was made element by element, over any number of steps: code that asks for its shape instead need not
    /// keep the array.
    pub fn first(&self, a: Var) -> Option<Var> {
        self.made_of.get(&a).copied()
    }

    /// The variable that an extent is. `made` knows extents that have been asked for: an array of which one was asked is there, which an
    /// array that only stands for one of the same shape need not be.
    pub fn find(&self, a: Var, axis: u32, made: &dyn Fn(Var) -> Option<Var>) -> Option<Var> {
        let (mut todo, mut seen) = (vec![a], HashSet::new());
        while let Some(v) = todo.pop() {
            if let Some(n) = made(v).or_else(|| self.first.get(&v).copied().filter(|_| axis == 0)) {
                return Some(n);
            }
            if seen.len() < MOST && seen.insert(v) {
                todo.extend(self.like.get(&v).into_iter().flatten());
            }
        }
        None
    }
}

/// An operand that has the shape of the result, and is there where the result is.
fn source(f: &Function, op: &Op) -> Option<Var> {
    let array = |v: &Var| f.ty(*v).rank() > 0 && !f.linear(*v);
    match op {
        Op::Un(_, a) => Some(*a).filter(array),
        // A sum with something absent is the other operand.
        Op::Bin(Bin::Add | Bin::Sub, ..) => None,
        Op::Bin(_, a, b) => [*a, *b].into_iter().find(array),
        _ => None,
    }
}

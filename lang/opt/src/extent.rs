//! Extents of arrays that can be computed without the array, from what it was made of. Unlike [`crate::shapes`],
//! this analysis looks at one iteration only, and it is valid where arrays may be symbolic zeros.

use crate::limits::extent::MOST;
use adl_ir::{Function, Op, Out, SoacKind, Stmt, Ty, Var};
use adl_prim::{ArrayFn, Bin, Prim};
use std::collections::{HashMap, HashSet};

/// Known facts about shapes.
#[derive(Default)]
pub struct ShapeFacts {
    /// Arrays of the same shape.
    like: HashMap<Var, Vec<Var>>,
    /// Extents that are variables, by array and axis.
    stated: HashMap<(Var, u32), Var>,
    /// Elements of arrays, for those that state a shape.
    elems: HashMap<Var, Vec<Var>>,
    /// Maps an array to an array of the same shape that is materialised whenever the key is.
    made_of: HashMap<Var, Var>,
}

impl ShapeFacts {
    /// Records what a statement tells about shapes.
    pub fn learn(&mut self, func: &Function, stmt: &Stmt) {
        if let (Some(a), [out], []) = (source(func, &stmt.op), stmt.outs.as_slice(), stmt.lin_outs.as_slice()) {
            let first = self.made_of.get(&a).copied().unwrap_or(a);
            self.made_of.insert(*out, first);
        }
        match &stmt.op {
            Op::Un(_, a) | Op::Convert(_, a) | Op::Not(a) | Op::Reverse(a) => self.alike(func, stmt, &[*a]),
            Op::Rotate { a, .. } | Op::Cumsum { a, .. } | Op::IndexSet { acc: a, shape: None, .. } => {
                self.alike(func, stmt, &[*a]);
            }
            Op::Soac(x) if x.kind != SoacKind::Reduce => {
                for (out, a) in stmt
                    .outs
                    .iter()
                    .zip(&x.arrays)
                    .filter(|(v, a)| func.ty(**v).rank() == 1 && func.ty(**a).rank() == 1)
                {
                    self.like.insert(*out, vec![*a]);
                }
            }
            Op::Bin(Bin::ScaleTangent, _, b) => self.alike(func, stmt, &[*b]),
            Op::Bin(_, a, b) | Op::Cmp(_, a, b) => self.alike(func, stmt, &[*a, *b]),
            Op::Loop(l) => {
                let k = l.init.len();
                if let Some(trip) = stmt.outs.last() {
                    self.stated.extend(
                        stmt.outs
                            .iter()
                            .skip(k)
                            .zip(&l.outs)
                            .filter(|(_, o)| **o != Out::Sum)
                            .map(|(v, _)| ((*v, 0), *trip)),
                    );
                }
            }
            op => {
                if let [out] = stmt.outs.as_slice() {
                    self.state(func, *out, op);
                }
            }
        }
    }

    /// Records extents that are operands.
    fn state(&mut self, func: &Function, out: Var, op: &Op) {
        match op {
            Op::ArrayLit { elems, .. } if *func.ty(out) == Ty::shape() => _ = self.elems.insert(out, elems.clone()),
            Op::Replicate { n, .. } => _ = self.stated.insert((out, 0), *n),
            Op::Prim(Prim::Array(ArrayFn::Iota), args) => self.stated.extend(args.first().map(|n| ((out, 0), *n))),
            // The sides of matrices stay those of the array, from which scalar replacement knows its elements.
            Op::Reshape { to, .. } | Op::Broadcast { shape: to, .. } if func.ty(out).rank() == 1 => {
                self.stated.extend(self.elems.get(to).and_then(|e| e.first()).map(|n| ((out, 0), *n)));
            }
            _ => {}
        }
    }

    fn alike(&mut self, f: &Function, s: &Stmt, from: &[Var]) {
        for out in &s.outs {
            let rank = f.ty(*out).rank();
            let same: Vec<Var> =
                from.iter().copied().filter(|v| rank > 0 && f.ty(*v).rank() == rank && !f.linear(*v)).collect();
            self.like.insert(*out, same);
        }
    }

    /// The array from which `a` was made element by element, in any number of steps. Asking for the shape of that
    /// array instead means that `a` need not be stored.
    pub fn first(&self, a: Var) -> Option<Var> {
        self.made_of.get(&a).copied()
    }

    /// The variable that equals this extent of `a`. `made` finds extents that the code has already asked for. Such
    /// an array is materialised; an array that is only known to have the same shape may be a symbolic zero.
    pub fn find(&self, a: Var, axis: u32, made: &dyn Fn(Var) -> Option<Var>) -> Option<Var> {
        let (mut todo, mut seen) = (vec![a], HashSet::new());
        while let Some(v) = todo.pop() {
            if let Some(n) = made(v).or_else(|| self.stated.get(&(v, axis)).copied()) {
                return Some(n);
            }
            if seen.len() < MOST && seen.insert(v) {
                todo.extend(self.like.get(&v).into_iter().flatten());
            }
        }
        None
    }
}

/// An operand that has the shape of the result, and is materialised whenever the result is.
fn source(f: &Function, op: &Op) -> Option<Var> {
    let array = |v: &Var| f.ty(*v).rank() > 0 && !f.linear(*v);
    match op {
        Op::Un(_, a) => Some(*a).filter(array),
        // If one operand is a symbolic zero, the sum is the other operand.
        Op::Bin(Bin::Add | Bin::Sub, ..) => None,
        Op::Bin(_, a, b) => [*a, *b].into_iter().find(array),
        _ => None,
    }
}

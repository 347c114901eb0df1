//! Elements of rows, read from the array.
//!
//! ```text
//! loop for n over (a) (i, row) { … index row [j] … }
//! ⟼  loop for n (i) { … index a [i, j] … }
//! ```
//!
//! Done before derivatives are made, where more loops stand around the read than the array has axes, as in a product of matrices written as a comprehension: a read
//! at indices of an array that is there anyway is made again, but elements of a row that a loop binds would be kept for each turn of all loops.

use adl_ir::{Block, Function, Loop, Op, Stmt, Turns, Ty, Var};
use std::collections::{HashMap, HashSet};

/// Reads elements of rows directly.
pub fn direct(f: &mut Function) {
    let mut body = std::mem::take(&mut f.body);
    let mut d = Direct { f, outside: body.params.iter().copied().collect(), dims: HashMap::new(), shapes: Vec::new() };
    for mut s in std::mem::take(&mut body.stmts) {
        d.stmt(&mut s, 0);
        for (shape, x, turns) in std::mem::take(&mut d.shapes) {
            let stmts = d.shape(shape, x, turns, &s);
            body.stmts.extend(stmts);
        }
        d.outside.extend(&s.outs);
        if let (Op::Dim(a, axis), [v]) = (&s.op, &s.outs[..]) {
            d.dims.entry((*a, *axis)).or_insert(*v);
        }
        body.stmts.push(s);
    }
    d.f.body = body;
}

struct Direct<'a> {
    f: &'a mut Function,
    /// What is bound outside of all loops, so far.
    outside: HashSet<Var>,
    /// Extents that have been taken there.
    dims: HashMap<(Var, u32), Var>,
    /// Shapes that are to be made before the statement which is looked at: of which array, with how many rows.
    shapes: Vec<(Var, Var, Var)>,
}

impl Direct<'_> {
    fn stmt(&mut self, s: &mut Stmt, depth: u32) {
        let mut inner = depth;
        if let Op::Loop(l) = &mut s.op {
            inner += 1;
            self.rows(l, inner);
        }
        for b in s.op.blocks_mut() {
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || b.stmts.iter_mut().for_each(|s| self.stmt(s, inner)));
        }
    }

    /// The rows that a loop at some depth binds.
    fn rows(&mut self, l: &mut Loop, depth: u32) {
        let Turns::For(n) = l.turns else { return };
        let first = 1 + l.init.len();
        for k in (0..l.xs.len()).rev() {
            let (x, e) = (l.xs[k], l.body.params[first + k]);
            let rank = self.f.ty(x).rank();
            let flat = rank > 1 && self.f.ty(x).scalar().is_flat() && [x, n].iter().all(|v| self.outside.contains(v));
            if flat && shallowest(&l.body, e, rank - 1, depth).is_some_and(|d| d > rank && d < u32::MAX) {
                l.xs.remove(k);
                l.body.params.remove(first + k);
                let shape = self.f.fresh(Ty::shape(), false);
                self.shapes.push((shape, x, n));
                let i = l.body.params[0];
                replace(&mut l.body, e, (x, i, shape));
            }
        }
    }

    /// The shape of an array of which a loop says how many rows it has, so that T sees that the loops read all of it.
    fn shape(&mut self, shape: Var, x: Var, rows: Var, like: &Stmt) -> Vec<Stmt> {
        let (mut stmts, mut elems) = (Vec::new(), vec![rows]);
        let mut push = |op: Op, v: Var| stmts.push(Stmt { op, outs: vec![v], lin_outs: Vec::new(), span: like.span });
        for axis in 1..self.f.ty(x).rank() {
            let known = self.dims.get(&(x, axis)).copied();
            elems.push(known.unwrap_or_else(|| {
                let v = self.f.fresh(Ty::I64, false);
                push(Op::Dim(x, axis), v);
                v
            }));
        }
        push(Op::Stack { elems, shape: None }, shape);
        stmts
    }
}

/// How many loops stand around the read of a number of a row that has the fewest of them; `None` where it is read otherwise.
fn shallowest(b: &Block, row: Var, axes: u32, depth: u32) -> Option<u32> {
    let mut least = u32::MAX;
    for s in &b.stmts {
        let number = matches!(&s.op, Op::Index { a, at, shape: None } if *a == row && at.len() as u32 == axes && !at.contains(&row));
        let mut other = false;
        s.op.each_operand(&mut |v| other |= v == row && !number);
        if other {
            return None;
        }
        least = if number { least.min(depth) } else { least };
        let inner = depth + u32::from(matches!(s.op, Op::Loop(_)));
        for b in s.op.blocks() {
            least = least.min(stacker::maybe_grow(64 * 1024, 1024 * 1024, || shallowest(b, row, axes, inner))?);
        }
    }
    (!b.results.contains(&row)).then_some(least)
}

/// Reads of a row become reads of an array at an index, with the array's shape.
fn replace(b: &mut Block, row: Var, of: (Var, Var, Var)) {
    for s in &mut b.stmts {
        match &mut s.op {
            Op::Index { a, at, shape } if *a == row => {
                *a = of.0;
                at.insert(0, of.1);
                *shape = Some(of.2);
            }
            op => op.blocks_mut().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || replace(b, row, of))),
        }
    }
}

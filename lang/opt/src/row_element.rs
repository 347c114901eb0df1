//! Reads elements of rows directly from the array that has these rows.
//!
//! ```text
//! loop for n over (a) (i, row) { … index row [j] … }
//! ⟼  loop for n (i) { … index a [i, j] … }
//! ```
//!
//! The pass runs before differentiation, and rewrites only reads with more enclosing loops than the array has axes,
//! as in a matrix product written as a comprehension. Reverse mode recomputes a read at indices of an array that is
//! available anyway, but would store the elements of a row bound by a loop once for each iteration of all loops.

use adl_ir::{Block, Function, Loop, Op, Stmt, Trip, Ty, Var};
use std::collections::{HashMap, HashSet};

/// Rewrites reads of elements of rows.
pub fn read_elements_directly(f: &mut Function) {
    let mut body = std::mem::take(&mut f.body);
    let mut elements =
        RowElements { f, outside: body.params.iter().copied().collect(), dims: HashMap::new(), shapes: Vec::new() };
    for mut s in std::mem::take(&mut body.stmts) {
        elements.stmt(&mut s, 0);
        for (shape, x, trip) in std::mem::take(&mut elements.shapes) {
            let stmts = elements.shape(shape, x, trip, &s);
            body.stmts.extend(stmts);
        }
        elements.outside.extend(&s.outs);
        if let (Op::Dim(a, axis), [v]) = (&s.op, &s.outs[..]) {
            elements.dims.entry((*a, *axis)).or_insert(*v);
        }
        body.stmts.push(s);
    }
    elements.f.body = body;
}

struct RowElements<'a> {
    f: &'a mut Function,
    /// Variables bound outside of all loops so far.
    outside: HashSet<Var>,
    /// Extents that have been computed there.
    dims: HashMap<(Var, u32), Var>,
    /// Shapes to be computed before the current statement: the variable of the shape, the array, and its number of
    /// rows.
    shapes: Vec<(Var, Var, Var)>,
}

impl RowElements<'_> {
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

    /// Rewrites the reads of rows bound by loop `ir_loop`, which stands at this loop depth.
    fn rows(&mut self, ir_loop: &mut Loop, depth: u32) {
        let Trip::Count(n) = ir_loop.trip else { return };
        let first = 1 + ir_loop.init.len();
        for k in (0..ir_loop.xs.len()).rev() {
            let (x, e) = (ir_loop.xs[k], ir_loop.body.params[first + k]);
            let rank = self.f.ty(x).rank();
            let flat = rank > 1 && self.f.ty(x).scalar().is_flat() && [x, n].iter().all(|v| self.outside.contains(v));
            if flat && shallowest(&ir_loop.body, e, rank - 1, depth).is_some_and(|d| d > rank && d < u32::MAX) {
                ir_loop.xs.remove(k);
                ir_loop.body.params.remove(first + k);
                let shape = self.f.fresh(Ty::shape(), false);
                self.shapes.push((shape, x, n));
                let i = ir_loop.body.params[0];
                replace(&mut ir_loop.body, e, (x, i, shape));
            }
        }
    }

    /// Emits the shape of an array whose number of rows is the loop's trip count. Transposition thus sees that the
    /// loops read the entire array.
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
        push(Op::ArrayLit { elems, shape: None }, shape);
        stmts
    }
}

/// The smallest number of loops around a read of an element of `row`; `None` if `row` is also read in another way.
fn shallowest(block: &Block, row: Var, axes: u32, depth: u32) -> Option<u32> {
    let mut least = u32::MAX;
    for s in &block.stmts {
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
    (!block.results.contains(&row)).then_some(least)
}

/// Replaces reads of a row by reads of the array at an index, with the array's shape.
fn replace(b: &mut Block, row: Var, of: (Var, Var, Var)) {
    for s in &mut b.stmts {
        match &mut s.op {
            Op::Index { a, at, shape } if *a == row => {
                *a = of.0;
                at.insert(0, of.1);
                *shape = Some(of.2);
            }
            op => op
                .blocks_mut()
                .into_iter()
                .for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || replace(b, row, of))),
        }
    }
}

//! Code motion along diagonals: what the body of a nest of loops computes from the sum of two indices only is computed
//! once for each sum, before the nest.
//!
//! ```text
//! for i < n out (sum) { for j < m out (sum) { e(x[i + j]) } }
//! ⟼  h = for s < n + m - 1 { e(x[s]) };  for i < n out (sum) { for j < m out (sum) { h[i + j] } }
//! ```
//!
//! The indices may be subtracted too, have bounds that differ from row to row, or begin at a bound. The range of the sum
//! follows by interval arithmetic, and is clipped to the extents of the arrays that are read. So `h` ends where a read
//! fails, and so does the read of `h`. Derivatives keep no residual for each pair of indices, but one for each sum.
//!
//! Each element is computed as before, so values have the same bits.

use crate::limits::diagonals::{FEW, INTERVAL, ROOTS, SMALL, STEPS};
use adl_ir::rewrite::rename::free;
use adl_ir::rewrite::{is_pure, never_fails};
use adl_ir::{Block, Builder, Function, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var, Zeros};
use adl_prim::Bin;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Moves code out of nests. `fewest` is the number of operations for each array that is made, from which code is moved.
pub fn diagonals(f: &mut Function, zeros: Zeros, fewest: usize) -> bool {
    if zeros != Zeros::Materialized {
        return false;
    }
    let mut body = std::mem::take(&mut f.body);
    let b = Builder::on(std::mem::take(f));
    let mut nests = Nests { b, ints: HashMap::new(), levels: HashMap::new(), loops: Vec::new(), fewest, moved: false };
    nests.block(&mut body);
    *f = Function { body, ..nests.b.func };
    nests.moved
}

/// A loop around the current block.
struct EnclosingLoop {
    index: Var,
    trip: Var,
    /// What is computed before the loop.
    before: Vec<Stmt>,
}

/// A sum of variables with factors, and a constant.
type AffineForm = (BTreeMap<Var, i64>, i64);

/// An element that depends on the diagonal only: the array, the subscript, and the constant in it.
struct Read {
    array: Var,
    at: Var,
    constant: i64,
}

/// What depends on a diagonal in a block.
struct Diagonal {
    /// The level of the loop before which it is computed.
    level: usize,
    reads: HashMap<Var, Read>,
    /// The positions of the statements.
    stmts: Vec<usize>,
    /// The results that other statements read.
    roots: Vec<Var>,
}

struct Nests {
    b: Builder,
    /// The operations of Ints.
    ints: HashMap<Var, Op>,
    /// The number of loops around the binding of a variable. Those without an entry are bound outside of all loops.
    levels: HashMap<Var, usize>,
    loops: Vec<EnclosingLoop>,
    fewest: usize,
    moved: bool,
}

impl Nests {
    fn block(&mut self, body: &mut Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut out = Vec::with_capacity(body.stmts.len());
            for mut stmt in std::mem::take(&mut body.stmts) {
                self.levels.extend(stmt.outs.iter().map(|v| (*v, self.loops.len())));
                if let (Op::Lit(Lit::I64(_)) | Op::Bin(..) | Op::Dim(..), [v]) = (&stmt.op, &stmt.outs[..])
                    && *self.b.func.ty(*v) == Ty::I64
                {
                    self.ints.insert(*v, stmt.op.clone());
                }
                match &mut stmt.op {
                    Op::Loop(l) if matches!(l.trip, Trip::Count(_)) => out.extend(self.body(l)),
                    op => {
                        // Other blocks run under a condition, or once for several elements.
                        let loops = std::mem::take(&mut self.loops);
                        op.blocks_mut().into_iter().for_each(|b| self.block(b));
                        self.loops = loops;
                    }
                }
                out.push(stmt);
            }
            body.stmts = out;
        });
    }

    /// The body of a loop. Returns what is computed before it.
    fn body(&mut self, ir_loop: &mut Loop) -> Vec<Stmt> {
        let (Trip::Count(trip), Some(index)) = (&ir_loop.trip, ir_loop.body.params.first()) else { return Vec::new() };
        self.loops.push(EnclosingLoop { index: *index, trip: *trip, before: Vec::new() });
        let params = ir_loop.body.params.iter().chain(&ir_loop.body.lin_params);
        self.levels.extend(params.map(|v| (*v, self.loops.len())));
        self.block(&mut ir_loop.body);
        if self.loops.len() > 1 {
            self.along(&mut ir_loop.body);
        }
        self.loops.pop().map(|around| around.before).unwrap_or_default()
    }

    fn level(&self, v: Var) -> usize {
        self.levels.get(&v).copied().unwrap_or(0)
    }

    /// Moves what a block computes along diagonals.
    fn along(&mut self, body: &mut Block) {
        let mut seen: HashSet<BTreeMap<Var, i64>> = HashSet::new();
        let mut position = 0;
        while position < body.stmts.len() {
            if let Some((_, form)) = self.read(&body.stmts[position])
                && seen.insert(form.0.clone())
                && let Some(diagonal) = self.diagonal(body, &form.0)
            {
                position += usize::from(self.moved(body, position, &diagonal));
            }
            position += 1;
        }
    }

    /// A read of an element of a vector at a sum of Ints.
    fn read(&self, s: &Stmt) -> Option<(Read, AffineForm)> {
        let (Op::Index { a, at, shape: None }, [v]) = (&s.op, &s.outs[..]) else { return None };
        let [at] = at[..] else { return None };
        if *self.b.func.ty(*v) != Ty::F64 {
            return None;
        }
        let form = self.form(at)?;
        Some((Read { array: *a, at, constant: form.1 }, form))
    }

    fn form(&self, var: Var) -> Option<AffineForm> {
        let (x, y, sign) = match self.ints.get(&var) {
            Some(Op::Lit(Lit::I64(n))) => return Some((BTreeMap::new(), *n)),
            Some(Op::Bin(Bin::Add, x, y)) => (*x, *y, 1),
            Some(Op::Bin(Bin::Sub, x, y)) => (*x, *y, -1),
            _ => return Some((BTreeMap::from([(var, 1)]), 0)),
        };
        let ((mut terms, a), (others, b)) = (self.form(x)?, self.form(y)?);
        for (v, k) in others {
            let sum = terms.remove(&v).unwrap_or(0) + sign * k;
            if sum != 0 {
                terms.insert(v, sum);
            }
        }
        let constant = a.checked_add(b.checked_mul(sign)?)?;
        (terms.len() <= INTERVAL && constant.abs() < SMALL).then_some((terms, constant))
    }

    /// What a block computes along a diagonal, if that is worth an array.
    fn diagonal(&self, body: &Block, key: &BTreeMap<Var, i64>) -> Option<Diagonal> {
        let mut levels: Vec<usize> = key.keys().map(|v| self.level(*v)).filter(|level| *level > 0).collect();
        levels.sort_unstable();
        let level = *levels.first()?;
        let inside = |v: &Var| self.level(*v) >= level;
        if levels.len() < 2 || *levels.last()? < self.loops.len() || key.iter().any(|(v, k)| inside(v) && k.abs() != 1)
        {
            return None;
        }
        let mut found = Diagonal { level, reads: HashMap::new(), stmts: Vec::new(), roots: Vec::new() };
        let (mut along, mut computed) = (HashSet::new(), HashSet::new());
        for (position, s) in body.stmts.iter().enumerate() {
            let [v] = s.outs[..] else { continue };
            match self.read(s) {
                Some((read, form)) if form.0 == *key && !inside(&read.array) => {
                    along.insert(v);
                    found.reads.insert(v, read);
                }
                _ if self.arithmetic(s, &along, &inside) => {
                    along.insert(v);
                    computed.insert(v);
                }
                _ => continue,
            }
            found.stmts.push(position);
        }
        let mut read: HashSet<Var> = body.results.iter().chain(&body.lin_results).copied().collect();
        for (_, s) in body.stmts.iter().enumerate().filter(|(k, _)| found.stmts.binary_search(k).is_err()) {
            s.op.each_operand(&mut |v| _ = read.insert(v));
            s.op.blocks().into_iter().for_each(|b| read.extend(free(&self.b.func, b)));
        }
        let results = found.stmts.iter().map(|k| body.stmts[*k].outs[0]);
        found.roots = results.filter(|v| computed.contains(v) && read.contains(v)).collect();
        let real = found.roots.iter().all(|v| *self.b.func.ty(*v) == Ty::F64);
        let needed = self.needed(body, &mut found);
        let work = needed.intersection(&computed).count();
        let few = (1..=ROOTS).contains(&found.roots.len());
        (real && few && work >= self.fewest * found.roots.len()).then_some(found)
    }

    /// Whether a statement is arithmetic on values of a diagonal, at least one, and on loop-invariant ones.
    fn arithmetic(&self, s: &Stmt, along: &HashSet<Var>, inside: &dyn Fn(&Var) -> bool) -> bool {
        let (mut some, mut all) = (false, true);
        s.op.each_operand(&mut |v| {
            some |= along.contains(&v);
            all &= along.contains(&v) || !inside(&v);
        });
        let kind = matches!(s.op, Op::Un(..) | Op::Bin(..) | Op::Cmp(..) | Op::Select(..));
        let scalar = s.outs.iter().all(|v| matches!(self.b.func.ty(*v), Ty::F64 | Ty::Bool));
        kind && some && all && scalar && s.lin_outs.is_empty() && is_pure(&s.op) && never_fails(&self.b.func, &s.op)
    }

    /// The variables from which the roots are computed. Other statements are dropped.
    fn needed(&self, body: &Block, found: &mut Diagonal) -> HashSet<Var> {
        let mut needed: HashSet<Var> = found.roots.iter().copied().collect();
        for k in found.stmts.iter().rev() {
            if needed.contains(&body.stmts[*k].outs[0]) {
                body.stmts[*k].op.each_operand(&mut |v| _ = needed.insert(v));
            }
        }
        found.stmts.retain(|k| needed.contains(&body.stmts[*k].outs[0]));
        found.reads.retain(|v, _| needed.contains(v));
        needed
    }

    /// Computes a diagonal before its loop, and reads it in the block. Returns whether the range of its sums is known.
    fn moved(&mut self, body: &mut Block, position: usize, found: &Diagonal) -> bool {
        let first = found.stmts.iter().find_map(|k| found.reads.get(&body.stmts[*k].outs[0]));
        let Some(Read { at, constant, .. }) = first else { return false };
        self.b.span = body.stmts[position].span;
        self.b.open();
        let range = self.range(found, (*at, *constant));
        let arrays = range.map(|(from, count)| self.computed(body, found, (from, count, *constant)));
        let mut before = self.b.close(Vec::new(), Vec::new()).stmts;
        let (Some((from, _)), Some(arrays)) = (range, arrays) else { return false };
        self.loops[found.level - 1].before.append(&mut before);
        let place = self.b.func.fresh(Ty::I64, false);
        for (root, array) in found.roots.iter().zip(arrays) {
            let index = Op::Index { a: array, at: vec![place], shape: None };
            body.stmts.iter_mut().filter(|s| s.outs == [*root]).for_each(|s| s.op = index.clone());
        }
        let op = Op::Bin(Bin::Sub, *at, from);
        body.stmts.insert(found.stmts[0], Stmt { op, outs: vec![place], lin_outs: Vec::new(), span: self.b.span });
        self.moved = true;
        true
    }

    /// The first sum at which all reads succeed, and the number of such sums. `at` is one of the subscripts, with its
    /// constant.
    fn range(&mut self, found: &Diagonal, (at, constant): (Var, i64)) -> Option<(Var, Var)> {
        let mut steps = STEPS;
        let mut from = self.bound(at, false, found.level, &mut steps)?;
        let last = self.bound(at, true, found.level, &mut steps)?;
        let one = self.b.int(1);
        let mut to = self.b.bin(Bin::Add, last, one);
        let mut read: Vec<(Var, i64)> = found.reads.values().map(|r| (r.array, r.constant - constant)).collect();
        read.sort_unstable();
        read.dedup();
        for (array, ahead) in read {
            let (begin, ahead) = (self.b.int(-ahead), self.b.int(ahead));
            from = self.b.bin(Bin::Max, from, begin);
            let extent = self.b.dim(array, 0);
            let end = self.b.bin(Bin::Sub, extent, ahead);
            to = self.b.bin(Bin::Min, to, end);
        }
        let zero = self.b.int(0);
        let count = self.b.bin(Bin::Sub, to, from);
        Some((from, self.b.bin(Bin::Max, count, zero)))
    }

    /// Emits the loop that computes the roots at `count` sums from `from` on.
    fn computed(&mut self, body: &Block, found: &Diagonal, (from, count, constant): (Var, Var, i64)) -> Vec<Var> {
        self.b.open();
        let k = self.b.param(Ty::I64);
        let sum = self.b.bin(Bin::Add, k, from);
        let mut names = HashMap::new();
        for position in &found.stmts {
            let s = &body.stmts[*position];
            let mut copy = self.b.copy_stmt(s, &mut names);
            if let (Op::Index { at, .. }, Some(read)) = (&mut copy.op, found.reads.get(&s.outs[0])) {
                let ahead = read.constant - constant;
                *at = vec![if ahead == 0 {
                    sum
                } else {
                    let ahead = self.b.int(ahead);
                    self.b.bin(Bin::Add, sum, ahead)
                }];
            }
            self.b.push(copy);
        }
        let block = self.b.close(found.roots.iter().map(|v| names[v]).collect(), Vec::new());
        let ir_loop = Loop { outs: vec![Out::Collect; found.roots.len()], ..Loop::new(Trip::Count(count), block) };
        let mut tys = vec![Ty::F64.array(1); found.roots.len()];
        tys.push(Ty::I64);
        let (mut arrays, _) = self.b.emit(Op::Loop(Box::new(ir_loop)), &tys, &[]);
        arrays.truncate(found.roots.len());
        arrays
    }

    /// The largest value of an Int in the loops from a level on, or the smallest, by interval arithmetic.
    /// At most `steps` variables are looked at.
    fn bound(&mut self, var: Var, largest: bool, level: usize, steps: &mut usize) -> Option<Var> {
        if self.level(var) < level {
            return Some(self.moderate(var));
        }
        *steps = steps.checked_sub(1)?;
        if let Some(around) = self.loops.iter().position(|l| l.index == var) {
            if !largest {
                return Some(self.b.int(0));
            }
            let trip = self.bound(self.loops[around].trip, true, level, steps)?;
            let one = self.b.int(1);
            return Some(self.b.bin(Bin::Sub, trip, one));
        }
        let op = self.ints.get(&var)?.clone();
        match op {
            Op::Lit(Lit::I64(n)) => (n.abs() < SMALL).then(|| self.b.int(n)),
            Op::Bin(op @ (Bin::Add | Bin::Sub), x, y) => {
                let x = self.bound(x, largest, level, steps)?;
                let y = self.bound(y, largest == (op == Bin::Add), level, steps)?;
                Some(self.b.bin(op, x, y))
            }
            Op::Bin(op @ (Bin::Min | Bin::Max), x, y) => {
                // A range that is known when it is compiled may be a little larger.
                let few = |v: &Var| matches!(self.ints.get(v), Some(Op::Lit(Lit::I64(n))) if n.abs() <= FEW);
                if let (true, Some(v)) = (largest == (op == Bin::Min), [x, y].into_iter().find(few)) {
                    return self.bound(v, largest, level, steps);
                }
                let both = (self.bound(x, largest, level, steps), self.bound(y, largest, level, steps));
                match both {
                    (Some(x), Some(y)) => Some(self.b.bin(op, x, y)),
                    (Some(x), None) | (None, Some(x)) if largest == (op == Bin::Min) => Some(x),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// An Int from outside, so far from the largest Ints that sums do not overflow. Any other one leads out of arrays.
    fn moderate(&mut self, v: Var) -> Var {
        if self.is_moderate(v, INTERVAL) {
            return v;
        }
        let (low, high) = (self.b.int(-SMALL), self.b.int(SMALL));
        let v = self.b.bin(Bin::Max, v, low);
        self.b.bin(Bin::Min, v, high)
    }

    fn is_moderate(&self, v: Var, deep: usize) -> bool {
        match self.ints.get(&v) {
            Some(Op::Dim(..)) => true,
            Some(Op::Lit(Lit::I64(n))) => n.abs() < SMALL,
            Some(Op::Bin(Bin::Add | Bin::Sub | Bin::Min | Bin::Max, x, y)) if deep > 0 => {
                self.is_moderate(*x, deep - 1) && self.is_moderate(*y, deep - 1)
            }
            _ => false,
        }
    }
}

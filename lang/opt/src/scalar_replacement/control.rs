//! Scalar replacement in control flow: branches that return small arrays, loops that carry them, and unrolling of
//! short loops.

use super::facts::BlockFacts;
use super::matrices::ArraySize;
use super::{LoopStart, MOST, Scalars, Sums};
use crate::limits::scalar_replacement_control::{ALL, GUESSES, ITERATIONS};
use adl_ir::{Block, Lit, Loop, Op, Out, Stmt, Trip, Var};
use adl_prim::Bin;
use std::collections::HashSet;

impl Scalars<'_> {
    pub(super) fn branches(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        let mut known: Vec<BlockFacts> = Vec::new();
        for b in stmt.op.blocks_mut() {
            known.push(self.inner(b));
        }
        self.learn_given(&stmt, &mut known);
        let sizes: Vec<Option<ArraySize>> = (0..stmt.outs.len()).map(|k| self.given(&stmt, k, &mut known)).collect();
        if sizes.iter().all(Option::is_none) {
            return out.push(stmt);
        }
        let like = Stmt { op: Op::Lit(Lit::I64(0)), outs: Vec::new(), lin_outs: Vec::new(), span: stmt.span };
        for (b, layer) in stmt.op.blocks_mut().into_iter().zip(known) {
            self.layers.push(layer);
            let mut stmts = std::mem::take(&mut b.stmts);
            b.results = self.spread(&b.results.clone(), &sizes, &like, &mut stmts);
            b.stmts = stmts;
            self.layers.pop();
        }
        let (outs, arrays) = self.fresh_for(&stmt.outs, &sizes);
        stmt.outs = outs;
        out.push(stmt);
        for (a, size, elems) in arrays {
            self.bind_array(a, size, elems, &like, out);
        }
    }

    /// The size of a branch's `k`-th result, if all arms know it and one arm has built the array from elements.
    fn given(&mut self, s: &Stmt, k: usize, known: &mut [BlockFacts]) -> Option<ArraySize> {
        if !self.is_vector(s.outs[k]) && !self.is_matrix(s.outs[k]) || self.left < 4 * MOST {
            return None;
        }
        let (mut size, mut made) = (None, false);
        for (b, layer) in s.op.blocks().into_iter().zip(known) {
            self.layers.push(std::mem::take(layer));
            let r = b.results[k];
            let n = self.size(r);
            made |= n.is_some_and(|n| self.all_numbers(r, n));
            *layer = self.layers.pop().unwrap_or_default();
            if n.is_none() || size.is_some_and(|m| Some(m) != n) {
                return None;
            }
            size = n;
        }
        size.filter(|_| made)
    }

    /// Replaces variables of known size by their elements.
    fn spread(&mut self, vars: &[Var], sizes: &[Option<ArraySize>], like: &Stmt, out: &mut Vec<Stmt>) -> Vec<Var> {
        let mut all = Vec::new();
        for (k, v) in vars.iter().enumerate() {
            match sizes.get(k).copied().flatten() {
                Some(n) => all.extend(self.numbers_of(*v, n, like, out)),
                None => all.push(*v),
            }
        }
        all
    }

    /// New variables for all results, with elements in the place of arrays of known size; and these arrays, to be
    /// assembled.
    fn fresh_for(&mut self, vars: &[Var], sizes: &[Option<ArraySize>]) -> (Vec<Var>, Vec<(Var, ArraySize, Vec<Var>)>) {
        let (mut all, mut arrays) = (Vec::new(), Vec::new());
        for (k, v) in vars.iter().enumerate() {
            match sizes.get(k).copied().flatten() {
                Some(n) => {
                    let ty = self.f.ty(*v).scalar().clone();
                    let elems: Vec<Var> = (0..n.len).map(|_| self.f.fresh(ty.clone(), false)).collect();
                    all.extend(&elems);
                    arrays.push((*v, n, elems));
                }
                None => all.push(*v),
            }
        }
        (all, arrays)
    }

    pub(super) fn looped(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        if let Some(n) = self.trip_count_to_unroll(&stmt) {
            return self.unroll(stmt, n, out);
        }
        // On a device such a loop starts with zeros, so that it is recognised as a recurrence.
        let device = self.begin == LoopStart::Zeros;
        if let Op::Loop(l) = &stmt.op
            && device
            && self.peeled(&stmt, l, out)
        {
            return;
        }
        let Op::Loop(ir_loop) = &mut stmt.op else { return out.push(stmt) };
        self.elements_of(ir_loop);
        let like = Stmt { op: Op::Lit(Lit::I64(0)), outs: Vec::new(), lin_outs: Vec::new(), span: stmt.span };
        self.fill(ir_loop, &stmt.outs, &like, out);
        if let Op::Loop(l) = &stmt.op
            && !device
            && self.peeled(&stmt, l, out)
        {
            return;
        }
        let Op::Loop(ir_loop) = &mut stmt.op else { return out.push(stmt) };
        ir_loop.init.iter().for_each(|v| self.open(*v, &like, out));
        let mut sizes: Vec<Option<ArraySize>> = ir_loop
            .init
            .iter()
            .map(|v| self.size(*v).filter(|_| self.guesses < GUESSES && self.left > 8 * MOST))
            .collect();
        while sizes.iter().any(Option::is_some) {
            let (left, changed, mut guess) = (self.left, self.changed, (**ir_loop).clone());
            self.guesses += 1;
            let (arrays, right) = self.with_assumed_sizes(&mut guess, &sizes, &stmt.outs, stmt.span, out);
            self.guesses -= 1;
            if right.iter().eq(&sizes) {
                **ir_loop = guess;
                let (outs, made) = arrays;
                stmt.outs = outs;
                out.push(stmt);
                return made.into_iter().for_each(|(a, size, elems)| self.bind_array(a, size, elems, &like, out));
            }
            (self.left, self.changed) = (left, changed);
            sizes = right;
        }
        self.keep_arrays(stmt, out);
    }

    /// Records what an iteration is given: its index, and rows of known length.
    fn elements_of(&mut self, l: &Loop) {
        let Some(iteration) = l.body.params.first() else { return };
        if let Trip::Count(n) = l.trip {
            let n = self.literal(n);
            self.note(|l| l.ints.trips.extend(n.map(|n| (*iteration, n))));
        }
        for (x, p) in l.xs.iter().zip(&l.body.params[1 + l.init.len()..]) {
            let _ = self.is_row(*p, *x, *iteration) || self.is_matrix_element(*p, *x, *iteration);
            if let Some(n) = self.identity(*x) {
                self.note(|l| _ = l.lens.insert(*p, n));
            }
        }
    }

    /// Materialises symbolic zeros that a loop starts with and only adds to, if their size is known. The elements
    /// are numbers whose addition changes nothing.
    fn fill(&mut self, ir_loop: &mut Loop, outs: &[Var], like: &Stmt, out: &mut Vec<Stmt>) {
        if self.sums == Sums::Kept || matches!(ir_loop.trip, Trip::While(_)) {
            return;
        }
        for (position, result) in outs.iter().enumerate().take(ir_loop.init.len()) {
            let symbolic_zero = self.find(|known| known.zeros.get(&ir_loop.init[position]).copied()).is_some()
                && !self.read_vars.contains(result);
            let Some(size) = Some(ir_loop.body.params[1 + position])
                .filter(|_| symbolic_zero)
                .and_then(|p| self.added_to(&ir_loop.body, p))
            else {
                continue;
            };
            let nothing = self.real(-0.0, ir_loop.init[position], like, out);
            let v = self.f.fresh(self.f.ty(ir_loop.init[position]).clone(), false);
            self.bind_array(v, size, vec![nothing; size.len], like, out);
            ir_loop.init[position] = v;
        }
    }

    /// The size of the arrays that are added to a block parameter, if that is all the block does with it.
    fn added_to(&self, b: &Block, p: Var) -> Option<ArraySize> {
        let (mut size, mut other) = (None, b.results.contains(&p));
        for s in &b.stmts {
            match s.op {
                Op::Bin(Bin::Add, x, y) if x == p || y == p => {
                    size = size.or(self.size_of_row(if x == p { y } else { x }));
                }
                _ => {
                    s.op.each_operand(&mut |v| other |= v == p);
                    other |= s.op.blocks().into_iter().any(|b| mentions(b, p));
                }
            }
        }
        size.filter(|_| !other)
    }

    /// Processes a loop whose carried arrays stay arrays.
    fn keep_arrays(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        let mut collected = Vec::new();
        if let Op::Loop(l) = &mut stmt.op {
            if let Trip::While(c) = &mut l.trip {
                self.inner(c);
            }
            self.layers.push(BlockFacts::default());
            self.block(&mut l.body);
            collected = self.collected(l, l.init.len(), &stmt.outs);
            self.layers.pop();
        }
        self.learn_collected(collected);
        out.push(stmt);
    }
}

/// Whether a block reads a variable.
fn mentions(b: &Block, v: Var) -> bool {
    let mut all = HashSet::new();
    super::reads(b, &mut all);
    all.contains(&v)
}

/// The results of a loop, and the arrays among them that have to be assembled from elements.
type LoopResults = (Vec<Var>, Vec<(Var, ArraySize, Vec<Var>)>);

impl Scalars<'_> {
    /// Rewrites a loop to carry the elements of arrays with assumed sizes. Returns for which of them the assumption
    /// holds.
    fn with_assumed_sizes(
        &mut self,
        ir_loop: &mut Loop,
        sizes: &[Option<ArraySize>],
        outs: &[Var],
        span: adl_syntax::span::Span,
        out: &mut Vec<Stmt>,
    ) -> (LoopResults, Vec<Option<ArraySize>>) {
        let like = Stmt { op: Op::Lit(Lit::I64(0)), outs: Vec::new(), lin_outs: Vec::new(), span };
        if let Trip::While(c) = &mut ir_loop.trip {
            let params = std::mem::take(&mut c.params);
            self.enter(c, &params, sizes, 0, &like);
            self.layers.pop();
        }
        let params = std::mem::take(&mut ir_loop.body.params);
        self.enter(&mut ir_loop.body, &params, sizes, 1, &like);
        let width = ir_loop.init.len();
        let mut right = sizes.to_vec();
        for (i, size) in right.iter_mut().enumerate() {
            let r = ir_loop.body.results[i];
            *size = size.filter(|n| self.size(r) == Some(*n) && self.all_numbers(r, *n));
        }
        let collected = self.collected(ir_loop, width, outs);
        let mut stmts = std::mem::take(&mut ir_loop.body.stmts);
        let carried = if right.iter().eq(sizes) {
            self.spread(&ir_loop.body.results[..width], sizes, &like, &mut stmts)
        } else {
            ir_loop.body.results[..width].to_vec()
        };
        ir_loop.body.results.splice(..width, carried);
        ir_loop.body.stmts = stmts;
        self.layers.pop();
        if !right.iter().eq(sizes) {
            return ((Vec::new(), Vec::new()), right);
        }
        self.learn_collected(collected);
        ir_loop.init = self.spread(&ir_loop.init.clone(), sizes, &like, out);
        (self.fresh_for(outs, sizes), right)
    }

    /// Processes the body of a loop whose parameters after the first `skip` are carried values. Its layer stays open.
    fn enter(&mut self, block: &mut Block, params: &[Var], sizes: &[Option<ArraySize>], skip: usize, like: &Stmt) {
        self.layers.push(BlockFacts::default());
        let all: Vec<Option<ArraySize>> = std::iter::repeat_n(None, skip).chain(sizes.iter().copied()).collect();
        let (params, arrays) = self.fresh_for(params, &all);
        block.params = params;
        let mut first = Vec::new();
        for (a, size, elems) in arrays {
            self.bind_array(a, size, elems, like, &mut first);
        }
        self.block(block);
        first.append(&mut block.stmts);
        block.stmts = first;
    }

    /// The trip count of a loop that is to be unrolled.
    fn trip_count_to_unroll(&self, stmt: &Stmt) -> Option<i64> {
        let Op::Loop(ir_loop) = &stmt.op else { return None };
        let Trip::Count(n) = ir_loop.trip else { return None };
        let count = self.literal(n).filter(|n| (1..=ITERATIONS).contains(n))?;
        if stmt.outs.first().is_some_and(|sum| self.contracted.contains(sum)) {
            return None;
        }
        let linear = !(stmt.lin_outs.is_empty()
            && ir_loop.lin_init.is_empty()
            && ir_loop.lin_xs.is_empty()
            && ir_loop.body.lin_params.is_empty());
        let k = ir_loop.init.len();
        let mut outs = ir_loop.outs.iter().zip(&ir_loop.body.results[k..]);
        let simple = outs.all(|(o, r)| match o {
            Out::Collect => {
                self.f.ty(*r).is_flat() && self.f.ty(*r).rank() == 0
                    || self.begin == LoopStart::Zeros && self.is_vector(*r)
            }
            Out::Sum => self.is_number(*r),
            Out::Boxed => false,
        });
        let plain = ir_loop.body.stmts.iter().all(|s| s.op.blocks().is_empty() && !matches!(s.op, Op::Call { .. }));
        let all = ir_loop.body.stmts.len() * count as usize;
        let fits = all <= ALL && all + 8 * MOST < self.left;
        (!linear && !ir_loop.reverse && simple && plain && fits && !ir_loop.body.results.is_empty()).then_some(count)
    }

    /// Unrolls a loop.
    fn unroll(&mut self, stmt: Stmt, count: i64, out: &mut Vec<Stmt>) {
        let like = Stmt { op: Op::Lit(Lit::I64(0)), outs: Vec::new(), lin_outs: Vec::new(), span: stmt.span };
        let Op::Loop(ir_loop) = stmt.op else { return };
        let width = ir_loop.init.len();
        let mut carried = ir_loop.init.clone();
        let mut made: Vec<Vec<Var>> = vec![Vec::new(); ir_loop.outs.len()];
        for iteration in 0..count {
            let index = self.int(iteration, &like, out);
            let mut given = vec![index];
            given.extend(&carried);
            for (x, p) in ir_loop.xs.iter().zip(&ir_loop.body.params[1 + width..]) {
                let v = self.f.fresh(self.f.ty(*p).clone(), false);
                self.stmts(
                    vec![Stmt {
                        op: Op::Index { a: *x, at: vec![index], shape: None },
                        outs: vec![v],
                        lin_outs: Vec::new(),
                        span: like.span,
                    }],
                    out,
                );
                given.push(self.name(v));
            }
            let mut body = self.copy(&ir_loop.body, &given);
            self.left = self.left.saturating_sub(body.stmts.len());
            self.stmts(std::mem::take(&mut body.stmts), out);
            let results: Vec<Var> = body.results.iter().map(|r| self.name(*r)).collect();
            carried = results[..width].to_vec();
            made.iter_mut().zip(&results[width..]).for_each(|(m, r)| m.push(*r));
        }
        for (v, c) in stmt.outs.iter().zip(&carried) {
            self.note(|l| _ = l.names.insert(*v, *c));
        }
        for ((v, o), m) in stmt.outs.iter().skip(width).zip(&ir_loop.outs).zip(made) {
            self.output(*v, *o, m, &like, out);
        }
        if let Some(trip) = stmt.outs.get(width + ir_loop.outs.len()) {
            let n = self.int(count, &like, out);
            self.note(|l| _ = l.names.insert(*trip, n));
        }
        self.changed = true;
    }

    /// Emits an output of an unrolled loop from the values of its iterations.
    fn output(&mut self, v: Var, o: Out, made: Vec<Var>, like: &Stmt, out: &mut Vec<Stmt>) {
        match o {
            Out::Sum => {
                let zero = self.real(0.0, v, like, out);
                let sum = made.into_iter().fold(zero, |sum, x| self.like(Op::Bin(Bin::Add, sum, x), x, like, out));
                self.note(|l| _ = l.names.insert(v, sum));
            }
            Out::Collect | Out::Boxed => self.stmts(
                vec![Stmt {
                    op: Op::ArrayLit { elems: made, shape: None },
                    outs: vec![v],
                    lin_outs: Vec::new(),
                    span: like.span,
                }],
                out,
            ),
        }
    }

    /// Copies a block with `given` in the place of its parameters and new variables for everything it binds.
    pub(super) fn copy(&mut self, b: &Block, given: &[Var]) -> Block {
        adl_ir::rewrite::copy(self.f, b, b.params.iter().copied().zip(given.iter().copied()).collect())
    }

    /// Copies a block with new variables for its parameters and everything it binds.
    pub(super) fn copy_all(&mut self, b: &Block) -> Block {
        adl_ir::rewrite::copy_all(self.f, b)
    }
}

//! Adjoints of comprehensions, as comprehensions (Fig. 16).

use super::affine::{Affine, Forms};
use super::path::{self, ArrayShape, ReadSite};
use super::solve::{BoundedSum, IndexValue, Solution, solve};
use crate::transpose::T;
use adl_ir::rewrite::linear_uses::captured_by;
use adl_ir::rewrite::rename::rename_op;
use adl_ir::{Block, Cmp, Conv, Function, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use adl_specialise::Unsupported;
use std::collections::{HashMap, HashSet};

/// The cotangent of a value in the nest: an element of an array, or a scalar. The indices are ordered from the
/// outermost loop inwards.
#[derive(Clone)]
struct NestCotangent {
    whole: Var,
    at: Vec<Var>,
    shape: Option<Var>,
}

/// Renaming of the nest's variables.
#[derive(Default)]
struct NestNames {
    new: HashMap<Var, Var>,
    /// Rows of arrays: the array, and the indices of the row.
    rows: HashMap<Var, (Var, Vec<Var>)>,
    /// Slices: the array, and the first index.
    slices: HashMap<Var, (Var, Var)>,
    /// The shapes of arrays from outside over which loops run. (Computed here, because the arrays may be symbolic
    /// zeros where they are bound.)
    shapes: HashMap<Var, Var>,
}

impl T<'_> {
    /// Transposes the nest's reads of outside arrays at affine indices into comprehensions. Returns the nest
    /// without those reads.
    pub(crate) fn gathered(&mut self, stmt: &Stmt) -> Result<Option<Stmt>, Unsupported> {
        let Some((l, _)) = path::comprehension(&stmt.op) else { return Ok(None) };
        let Some(shapes) = self.shapes_of_outputs(stmt, l) else { return Ok(None) };
        let mut rest: Option<Stmt> = None;
        for array in captured_by(&self.b.func, &stmt.op) {
            let ty = self.b.ty(array);
            if ty.rank() == 0 || !ty.scalar().is_real() {
                continue;
            }
            let mut forms = self.literals.clone();
            let Some(nest) = path::indexed(&mut self.b, &mut forms, rest.as_ref().unwrap_or(stmt), array) else {
                self.added_in_place(stmt, "a row of an array is used as a whole");
                continue;
            };
            let Op::Loop(ir_loop) = &nest.op else { continue };
            let Some(sites) = self.sites(&nest, ir_loop, array, &forms) else {
                self.added_in_place(
                    stmt,
                    "an index, or the trip count of a loop around it, is no sum of indices with known factors",
                );
                continue;
            };
            let some = self.cts.contains_key(&self.root(array))
                && !sites.iter().all(|(site, sol)| Self::reads_almost_all(site, sol));
            if some {
                self.added_in_place(stmt, "a few elements only are read, of an array that has a cotangent already");
            }
            if some && ty.rank() == 1 {
                continue;
            }
            let (sites, few) = self.split_sites(sites, ir_loop, &|sol| some || ty.rank() > 1 && !sol.equal.is_empty());
            if !few.is_empty() && !some {
                self.added_in_place(stmt, "a diagonal, a row or a column only is read, of an array of more places");
            }
            if !sites.is_empty() {
                self.ad.decide(
                    stmt.span,
                    "comprehension",
                    "gathers: each element is solved for the indices that read it (tensor language, Fig. 16)",
                    "",
                );
            }
            for (site, solution) in &sites {
                self.contribute(&nest, ir_loop, site, solution, array, &shapes)?;
            }
            rest = Some(without(&self.b.func, &nest, array, &few));
        }
        Ok(rest)
    }

    fn added_in_place(&mut self, s: &Stmt, why: &str) {
        self.ad.decide(s.span, "comprehension", "additions in place, at the elements that are read", why);
    }

    /// Whether a site reads almost the entire array. (To materialise an array for a few elements would cost more
    /// than the sum itself.)
    fn reads_almost_all(site: &ReadSite, sol: &Solution) -> bool {
        let ArrayShape::Trip(extents) = &site.extents else { return false };
        let span = |at: &Affine| {
            site.axes.iter().filter(|a| at.factor(a.index) != 0).try_fold(Affine::constant(1), |sum, a| {
                sum.plus(at.factor(a.index).checked_abs()?, &a.trip.plus(-1, &Affine::constant(1))?)
            })
        };
        let about =
            |at: &Affine, n: &Affine| span(at).and_then(|s| n.plus(-1, &s)).is_some_and(|rest| rest.terms.is_empty());
        sol.equal.is_empty() && site.at.iter().zip(extents).all(|(at, n)| about(&at.form, n))
    }

    /// All reads of an array, each solved for the positions that it reads.
    fn sites(&mut self, nest: &Stmt, l: &Loop, v: Var, forms: &Forms) -> Option<Vec<(ReadSite, Solution)>> {
        let places = path::reads(&self.b.func, &l.body, v)?;
        places
            .into_iter()
            .map(|p| {
                let site = path::site(&self.b.func, nest, p, forms)?;
                let solution = solve(&mut self.b, &site)?;
                Some((site, solution))
            })
            .collect()
    }

    /// Splits the sites into those to be solved and those that stay in the nest, the latter with the array's shape.
    /// A read of only a few positions (a diagonal, or a row) stays, because comparing all positions would cost more
    /// than the additions.
    fn split_sites(
        &mut self,
        sites: Vec<(ReadSite, Solution)>,
        ir_loop: &Loop,
        few: &dyn Fn(&Solution) -> bool,
    ) -> (Vec<(ReadSite, Solution)>, HashMap<Var, Var>) {
        let (few, all): (Vec<_>, Vec<_>) = sites.into_iter().partition(|(_, solution)| few(solution));
        let mut shapes = HashMap::new();
        for (site, _) in few {
            let shape = match &site.extents {
                ArrayShape::Of(shape) => *shape,
                ArrayShape::Trip(dims) => {
                    let elems = dims.iter().map(|d| d.emit(&mut self.b)).collect();
                    self.b.one(Op::ArrayLit { elems, shape: None }, Ty::shape())
                }
            };
            shapes.extend(path::at_place(&ir_loop.body, &site.place).lin_outs.iter().map(|to| (*to, shape)));
        }
        (all, shapes)
    }

    /// The shapes, computed before the nest, of its array outputs that have cotangents. `None` if an output is not
    /// made by nested comprehensions.
    fn shapes_of_outputs(&mut self, s: &Stmt, l: &Loop) -> Option<HashMap<Var, Var>> {
        let mut found = Vec::new();
        for (k, o) in s.lin_outs.iter().enumerate() {
            if l.lin_outs[k] == Out::Boxed {
                return None;
            }
            if self.b.ty(*o).rank() > 0 && self.cts.contains_key(&self.root(*o)) {
                found.push((*o, self.trip_of_output(s, l, k)?));
            }
        }
        Some(
            found
                .into_iter()
                .map(|(o, dims)| {
                    let elems = dims.iter().map(|d| d.emit(&mut self.b)).collect();
                    (o, self.b.one(Op::ArrayLit { elems, shape: None }, Ty::shape()))
                })
                .collect(),
        )
    }

    /// The extents of a nest's output, if they are known before the nest.
    fn trip_of_output(&self, source: &Stmt, ir_loop: &Loop, k: usize) -> Option<Vec<Affine>> {
        let (mut forms, mut dims) = (self.literals.clone(), Vec::new());
        let (mut stmt, mut out) = (source, k);
        loop {
            let (l, trip) = path::comprehension(&stmt.op)?;
            if l.lin_outs[out] == Out::Collect {
                dims.push(forms.of(trip));
            }
            let result = l.body.lin_results[out];
            if self.b.ty(result).rank() == 0 {
                break;
            }
            l.body.stmts.iter().for_each(|s| forms.note(&self.b.func, s));
            stmt = l.body.stmts.iter().find(|s| s.lin_outs.contains(&result))?;
            out = stmt.lin_outs.iter().position(|o| *o == result)?;
        }
        let inside = bound_inside(&ir_loop.body);
        dims.iter().all(|d| d.all(&|v| !inside.contains(&v))).then_some(dims)
    }

    /// The cotangent of an array that a loop inside of the nest makes. It is read elementwise, so its shape is needed.
    fn within(&mut self, s: &Stmt, k: usize, whole: Var, names: &NestNames) -> Result<NestCotangent, Unsupported> {
        let shape = match &s.op {
            Op::Loop(l) if self.b.ty(whole).rank() > 0 => {
                let dims = self
                    .trip_of_output(s, l, k)
                    .ok_or_else(|| Unsupported::new("an inner loop whose extents are not known before it", s.span))?;
                let elems = dims.iter().map(|d| d.renamed(&names.new).emit(&mut self.b)).collect();
                Some(self.b.one(Op::ArrayLit { elems, shape: None }, Ty::shape()))
            }
            _ => None,
        };
        Ok(NestCotangent { whole, at: Vec::new(), shape })
    }

    /// Adds the cotangent of everything that a site reads.
    fn contribute(
        &mut self,
        s: &Stmt,
        ir_loop: &Loop,
        site: &ReadSite,
        sol: &Solution,
        var: Var,
        shapes: &HashMap<Var, Var>,
    ) -> Result<(), Unsupported> {
        let cts: Vec<Option<NestCotangent>> = s
            .lin_outs
            .iter()
            .map(|o| {
                let whole = *self.cts.get(&self.root(*o))?;
                Some(NestCotangent { whole, at: Vec::new(), shape: shapes.get(o).copied() })
            })
            .collect();
        if cts.iter().all(Option::is_none) {
            return Ok(());
        }
        let ty = self.b.ty(var);
        let extents: Vec<Var> = match &site.extents {
            ArrayShape::Trip(trip) => trip.iter().map(|t| t.emit(&mut self.b)).collect(),
            ArrayShape::Of(shape) => (0..sol.h.len())
                .map(|d| {
                    let d = self.b.int(d as i64);
                    self.b.one(Op::Index { a: *shape, at: vec![d], shape: None }, Ty::I64)
                })
                .collect(),
        };
        let mut names = NestNames::default();
        self.outer_shapes(&ir_loop.body, ir_loop, &mut names);
        let saved = std::mem::take(&mut self.cts);
        for h in &sol.h {
            self.b.open();
            self.b.adopt(&[*h], &[]);
        }
        let mut value = self.guarded(ir_loop, site, sol, &cts, names)?;
        for (d, n) in extents.iter().enumerate().rev() {
            let body = self.b.close(Vec::new(), vec![value]);
            value = self.nest(*n, Out::Collect, body, ty.scalar().array((sol.h.len() - d) as u32));
        }
        self.cts = saved;
        self.add(var, value);
        Ok(())
    }

    /// Computes the shapes of arrays from outside over which the nest's loops run.
    fn outer_shapes(&mut self, nest: &Block, ir_loop: &Loop, names: &mut NestNames) {
        let inside = bound_inside(nest);
        let mut work = vec![ir_loop];
        while let Some(l) = work.pop() {
            for x in l.xs.iter().filter(|x| !inside.contains(x)) {
                if !names.shapes.contains_key(x) {
                    let shape = self.b.shape(*x);
                    names.shapes.insert(*x, shape);
                }
            }
            let mut blocks = vec![&l.body];
            while let Some(b) = blocks.pop() {
                for s in &b.stmts {
                    match &s.op {
                        Op::Loop(l) => work.push(l),
                        op => blocks.extend(op.blocks()),
                    }
                }
            }
        }
    }

    /// Emits a comprehension with one linear output.
    fn nest(&mut self, n: Var, out: Out, body: Block, ty: Ty) -> Var {
        let ir_loop = Loop { lin_outs: vec![out], ..Loop::new(Trip::Count(n), body) };
        self.b.emit(Op::Loop(Box::new(ir_loop)), &[Ty::I64], &[ty]).1[0]
    }

    /// Emits the element at one position: a sum if the position satisfies the conditions, else zero.
    fn guarded(
        &mut self,
        ir_loop: &Loop,
        site: &ReadSite,
        sol: &Solution,
        cts: &[Option<NestCotangent>],
        mut names: NestNames,
    ) -> Result<Var, Unsupported> {
        let mut guards = Vec::new();
        let zero = self.b.int(0);
        for (v, k) in &sol.known {
            if let IndexValue::Part(whole, by) = k {
                let (whole, by) = (whole.emit(&mut self.b), self.b.int(*by));
                let rest = self.b.bin(Bin::Rem, whole, by);
                guards.push(self.b.cmp(Cmp::Eq, rest, zero));
                let part = self.b.bin(Bin::IntDiv, whole, by);
                names.new.insert(*v, part);
            }
        }
        for a in &sol.equal {
            let a = a.renamed(&names.new).emit(&mut self.b);
            guards.push(self.b.cmp(Cmp::Eq, a, zero));
        }
        for a in &sol.positive {
            let a = a.renamed(&names.new).emit(&mut self.b);
            guards.push(self.b.cmp(Cmp::Ge, a, zero));
        }
        self.under(&guards, ir_loop, site, sol, cts, &mut names)
    }

    fn under(
        &mut self,
        guards: &[Var],
        ir_loop: &Loop,
        site: &ReadSite,
        sol: &Solution,
        cts: &[Option<NestCotangent>],
        names: &mut NestNames,
    ) -> Result<Var, Unsupported> {
        let Some((first, rest)) = guards.split_first() else {
            // Behind the guards, where the position is below the divisor, which is then no zero.
            for (v, k) in &sol.known {
                if let IndexValue::Wrapped { form, divisor, .. } = k {
                    let (form, divisor) = (form.emit(&mut self.b), divisor.emit(&mut self.b));
                    let at = self.b.bin(Bin::Rem, form, divisor);
                    names.new.insert(*v, at);
                }
            }
            return self.sums(&sol.sums, ir_loop, site, sol, cts, names);
        };
        self.b.open();
        let value = self.under(rest, ir_loop, site, sol, cts, names)?;
        let ty = self.b.ty(value);
        let some = self.b.close(Vec::new(), vec![value]);
        Ok(self.or_zero_branch(*first, some, true, ty))
    }

    /// Emits a linear branch whose other arm is zero.
    fn or_zero_branch(&mut self, c: Var, some: Block, holds: bool, ty: Ty) -> Var {
        self.b.open();
        let zero = self.b.lin(Op::Zero(ty.clone()), ty.clone());
        let none = self.b.close(Vec::new(), vec![zero]);
        let (a, b) = if holds { (some, none) } else { (none, some) };
        self.b.emit(Op::If(c, Box::new(a), Box::new(b)), &[], &[ty]).1[0]
    }

    fn sums(
        &mut self,
        sums: &[BoundedSum],
        ir_loop: &Loop,
        site: &ReadSite,
        sol: &Solution,
        cts: &[Option<NestCotangent>],
        names: &mut NestNames,
    ) -> Result<Var, Unsupported> {
        let Some((sum, rest)) = sums.split_first() else { return self.innermost(ir_loop, site, sol, cts, names) };
        let (from, to) = (self.bound(&sum.from, Bin::Max, names), self.bound(&sum.to, Bin::Min, names));
        let (trip, start) = match (from, to) {
            (None, Some(to)) if sum.to.len() == 1 => (to, None),
            (from, Some(to)) => {
                let zero = self.b.int(0);
                let from = match from {
                    Some(from) => self.b.bin(Bin::Max, from, zero),
                    None => zero,
                };
                let n = self.b.bin(Bin::Sub, to, from);
                (self.b.bin(Bin::Max, n, zero), Some(from))
            }
            (_, None) => unreachable!("a sum has a bound"),
        };
        self.b.open();
        let iteration = self.b.func.fresh(Ty::I64, false);
        self.b.adopt(&[iteration], &[]);
        let index = match start {
            Some(start) if !sum.from.is_empty() => self.b.bin(Bin::Add, start, iteration),
            _ => iteration,
        };
        names.new.insert(sum.index, index);
        let value = self.sums(rest, ir_loop, site, sol, cts, names)?;
        let ty = self.b.ty(value);
        let body = self.b.close(Vec::new(), vec![value]);
        let constant = ty == Ty::F64 && !body.stmts.iter().any(|s| s.lin_outs.contains(&value));
        Ok(if constant { self.times(trip, value) } else { self.nest(trip, Out::Sum, body, ty) })
    }

    /// The sum of as many equal terms.
    fn times(&mut self, trip: Var, value: Var) -> Var {
        let zero = self.b.int(0);
        let trip = self.b.bin(Bin::Max, trip, zero);
        let count = self.b.one(Op::Convert(Conv::ToF64, trip), Ty::F64);
        self.b.lin(Op::Bin(Bin::ScaleTangent, count, value), Ty::F64)
    }

    /// The largest or smallest of several bounds.
    fn bound(&mut self, bounds: &[(Affine, i64)], pick: Bin, names: &NestNames) -> Option<Var> {
        let mut all = None;
        for (a, by) in bounds {
            // Division rounded up: -(-a // by).
            let one = if *by == 1 {
                a.renamed(&names.new).emit(&mut self.b)
            } else {
                let a = a.times(-1).unwrap_or_else(|| a.clone()).renamed(&names.new).emit(&mut self.b);
                let by = self.b.int(*by);
                let down = self.b.bin(Bin::IntDiv, a, by);
                self.b.un(adl_prim::Un::Neg, down)
            };
            all = Some(match all {
                Some(b) => self.b.bin(pick, b, one),
                None => one,
            });
        }
        all
    }

    /// Emits one term: the nest's own code at known indices.
    fn innermost(
        &mut self,
        ir_loop: &Loop,
        site: &ReadSite,
        sol: &Solution,
        cts: &[Option<NestCotangent>],
        names: &mut NestNames,
    ) -> Result<Var, Unsupported> {
        for (v, k) in &sol.known {
            if let IndexValue::Is(a) = k {
                let at = a.renamed(&names.new).emit(&mut self.b);
                names.new.insert(*v, at);
            }
        }
        self.term_of_loop(ir_loop, cts, site, 0, names)
    }

    fn term_of_loop(
        &mut self,
        ir_loop: &Loop,
        cts: &[Option<NestCotangent>],
        site: &ReadSite,
        depth: usize,
        names: &mut NestNames,
    ) -> Result<Var, Unsupported> {
        let Some((index, elems)) = ir_loop.body.params.split_first() else {
            unreachable!("a loop's body has an index")
        };
        let index = self.index_of_loop(*index, site, names);
        for (x, e) in ir_loop.xs.iter().zip(elems) {
            self.element(*x, *e, index, names);
        }
        let inner: Vec<Option<NestCotangent>> = cts
            .iter()
            .zip(&ir_loop.lin_outs)
            .map(|(ct, out)| {
                let mut ct = ct.clone()?;
                if *out != Out::Sum {
                    ct.at.push(index);
                }
                Some(ct)
            })
            .collect();
        self.term(&ir_loop.body, &inner, site, depth, names)
    }

    /// The index of a loop in the nest's code, where the solution has the sum of it and a maximum.
    fn index_of_loop(&mut self, index: Var, site: &ReadSite, names: &mut NestNames) -> Var {
        let new = |v: Var| *names.new.get(&v).unwrap_or(&v);
        let first = site.axes.iter().find(|a| a.index == index).and_then(|a| a.first.as_ref());
        let Some(first) = first else { return new(index) };
        let from_zero = self.b.bin(Bin::Sub, new(index), new(first.is));
        names.new.insert(index, from_zero);
        from_zero
    }

    /// Binds an element that a loop reads to its indices in the outermost array.
    fn element(&mut self, x: Var, elem: Var, index: Var, names: &mut NestNames) {
        let ty = self.b.ty(elem);
        let (base, at) = match (names.rows.get(&x), names.slices.get(&x)) {
            (Some((base, at)), _) => (*base, [&at[..], &[index]].concat()),
            // The element stands in the array itself, so the slice is not needed.
            (None, Some((base, lo))) => (*base, vec![self.b.bin(Bin::Add, *lo, index)]),
            (None, None) => (*names.new.get(&x).unwrap_or(&x), vec![index]),
        };
        if ty.rank() > 0 && self.b.ty(base).rank() == ty.rank() + at.len() as u32 {
            names.rows.insert(elem, (base, at.clone()));
        }
        let shape = names.shapes.get(&base).copied();
        let v = self.b.one(Op::Index { a: base, at, shape }, ty);
        names.new.insert(elem, v);
    }

    /// The cotangent of the value that the site reads, computed from the cotangents of a block's results.
    fn term(
        &mut self,
        block: &Block,
        cts: &[Option<NestCotangent>],
        site: &ReadSite,
        depth: usize,
        names: &mut NestNames,
    ) -> Result<Var, Unsupported> {
        let target = path::next(&site.place, depth);
        for s in &block.stmts {
            if let Op::Dup(a) = &s.op {
                self.note_copies(&s.lin_outs, *a);
            } else if s.lin_outs.is_empty() && !self.reads_linear(s) {
                self.copied(s, names);
                if let (Op::Slice { a, lo, .. }, [part]) = (&s.op, &s.outs[..]) {
                    let new = |v: &Var| *names.new.get(v).unwrap_or(v);
                    names.slices.insert(*part, (new(a), new(lo)));
                }
            }
        }
        let deps = path::dependents(&self.b.func, block, target).unwrap_or_default();
        let mut arrays: HashMap<Var, NestCotangent> = HashMap::new();
        for (r, ct) in block.lin_results.iter().zip(cts) {
            let Some(ct) = ct.as_ref().filter(|_| deps.contains(r)) else { continue };
            // A branch on the path contains the read; if it is not taken, nothing is read.
            if self.b.ty(*r).rank() > 0 || depth < site.place.steps.len() && block.stmts[target].lin_outs.contains(r) {
                arrays.insert(*r, ct.clone());
            } else {
                let ct = self.at(ct, *r);
                self.add(*r, ct);
            }
        }
        for stmt in block.stmts[target + 1..].iter().rev() {
            let Some(o) = stmt.lin_outs.first().filter(|o| deps.contains(o)) else { continue };
            match stmt.op {
                Op::Dup(_) => continue,
                Op::If(..) => {
                    self.copied_branches(stmt, names)?;
                    continue;
                }
                _ => {}
            }
            let root = self.root(*o);
            if let Some(ct) = self.cts.remove(&root) {
                let mut s = stmt.clone();
                rename_op(&mut s.op, &names.new);
                self.leaf(&s, ct)?;
            }
        }
        self.into_target(&block.stmts[target], arrays, site, depth, names)
    }

    /// Transposes a copy of a branch with new variables.
    fn copied_branches(&mut self, s: &Stmt, names: &NestNames) -> Result<(), Unsupported> {
        let copy = self.b.copy_stmt(s, &mut names.new.clone());
        for (o, c) in s.lin_outs.iter().zip(&copy.lin_outs) {
            let root = self.root(*o);
            if let Some(ct) = self.cts.remove(&root) {
                self.add(*c, ct);
            }
        }
        self.branches(&copy)
    }

    fn into_target(
        &mut self,
        stmt: &Stmt,
        mut arrays: HashMap<Var, NestCotangent>,
        site: &ReadSite,
        depth: usize,
        names: &mut NestNames,
    ) -> Result<Var, Unsupported> {
        let Some((_, arm)) = site.place.steps.get(depth) else { return Ok(self.final_cotangent(stmt.lin_outs[0])) };
        let mut cts: Vec<Option<NestCotangent>> = Vec::new();
        for (k, o) in stmt.lin_outs.iter().enumerate() {
            let root = self.root(*o);
            cts.push(match arrays.remove(o) {
                Some(ct) => Some(ct),
                None => self.cts.remove(&root).map(|whole| self.within(stmt, k, whole, names)).transpose()?,
            });
        }
        match &stmt.op {
            Op::Loop(l) => self.term_of_loop(l, &cts, site, depth + 1, names),
            Op::If(c, ..) => {
                let c = *names.new.get(c).unwrap_or(c);
                let blocks = stmt.op.blocks();
                self.b.open();
                let value = self.term(blocks[*arm], &cts, site, depth + 1, names)?;
                let ty = self.b.ty(value);
                let some = self.b.close(Vec::new(), vec![value]);
                Ok(self.or_zero_branch(c, some, *arm == 0, ty))
            }
            _ => unreachable!("a path leads through loops and branches"),
        }
    }

    /// A cotangent, at the type of `r`.
    fn at(&mut self, ct: &NestCotangent, r: Var) -> Var {
        if ct.at.is_empty() {
            return ct.whole;
        }
        let ty = self.b.ty(r);
        self.b.lin(Op::Index { a: ct.whole, at: ct.at.clone(), shape: ct.shape }, ty)
    }

    /// Copies a non-linear statement.
    fn copied(&mut self, s: &Stmt, names: &mut NestNames) {
        let mut s = s.clone();
        if let Op::Index { a, at, .. } = &mut s.op
            && let Some((base, row)) = names.rows.get(a)
        {
            let at = row.iter().copied().chain(at.iter().map(|v| *names.new.get(v).unwrap_or(v))).collect();
            s.op = Op::Index { a: *base, at, shape: names.shapes.get(base).copied() };
        }
        let s = self.b.copy_stmt(&s, &mut names.new);
        self.b.push(s);
    }
}

fn bound_inside(b: &Block) -> HashSet<Var> {
    let mut out = HashSet::new();
    let mut work = vec![b];
    while let Some(b) = work.pop() {
        out.extend(&b.params);
        for s in &b.stmts {
            out.extend(&s.outs);
            work.extend(s.op.blocks());
        }
    }
    out
}

/// The nest with reads of `array` replaced by zeros, except for the reads in `but`, which get the array's shape.
fn without(func: &Function, source: &Stmt, array: Var, but: &HashMap<Var, Var>) -> Stmt {
    let mut stmt = source.clone();
    let Op::Loop(l) = &mut stmt.op else { return stmt };
    let copies = path::copies(&l.body);
    let gone = |v: Var| path::original(&copies, v) == array;
    let mut work = vec![&mut l.body];
    while let Some(b) = work.pop() {
        b.stmts.retain(|s| !but.is_empty() || !matches!(&s.op, Op::Dup(a) | Op::Drop(a) if gone(*a)));
        for s in &mut b.stmts {
            match &mut s.op {
                Op::Index { a, shape, .. } if gone(*a) => match but.get(&s.lin_outs[0]) {
                    Some(of) => *shape = Some(*of),
                    None => s.op = Op::Zero(func.ty(s.lin_outs[0]).clone()),
                },
                _ => {}
            }
            work.extend(s.op.blocks_mut());
        }
    }
    stmt
}

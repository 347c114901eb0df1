//! Let-lifting of reads (Fig. 7). A nest that reads arrays at many affine indices, and whose transposed body is
//! expensive, is transposed once into the cotangents of all its reads. A gather then moves each of these to its
//! position.
//!
//! ```text
//! Σ i. c₁ ẋ[i] + c₂ ẋ[i + 1] + …   ⟼   w₁ = ⊞ i. ẋ[i]   w₂ = ⊞ i. ẋ[i + 1]   …   Σ i. c₁ w₁[i] + c₂ w₂[i] + …
//! ```
//!
//! Otherwise each read is transposed separately ([`super::gather`]) and recomputes its coefficient: k factors of a
//! product would need k² products. Each lifted read stores one number for each iteration of the nest, as stored
//! coefficients would. If the trip counts of the loops vary between iterations, nothing is lifted, and the one
//! transposed nest adds in place.

use super::affine::{Affine, Forms};
use super::narrow::bound_in;
use super::path::{self, ArrayShape, ReadSite};
use crate::transpose::T;
use adl_ir::rewrite::linear_uses::captured_by;
use adl_ir::{Block, Function, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use std::collections::{HashMap, HashSet};

/// A read: the array, and the variable of the element.
struct LiftedRead {
    of: Var,
    to: Var,
    site: ReadSite,
}

impl T<'_> {
    /// The statements that perform the reads, and the nest that uses their results. Reads that remain in the nest
    /// are transposed to additions in place.
    pub(crate) fn lifted(&mut self, s: &Stmt) -> Option<(Vec<Stmt>, Stmt)> {
        path::comprehension(&s.op)?;
        let mut forms = self.literals.clone();
        let mut nest = s.clone();
        let (mut gathered, mut reads): (HashSet<Var>, Vec<LiftedRead>) = (HashSet::new(), Vec::new());
        for v in captured_by(&self.b.func, &s.op) {
            let ty = self.b.ty(v);
            if ty.rank() == 0 || !ty.scalar().is_real() {
                continue;
            }
            let Some(made) = path::indexed(&mut self.b, &mut forms, &nest, v) else { continue };
            let Some(all) = self.all_reads(&made, v, &forms) else { continue };
            gathered.extend(all.iter().map(|r| r.to));
            if all.iter().all(|r| liftable(&made, r)) {
                nest = made;
                reads.extend(all);
            }
        }
        if gathered.is_empty() || !let_lifting_pays_off(&self.b.func, &nest, &gathered) {
            return None;
        }
        let copies = reads.iter().map(|r| self.copy(r, &mut nest)).collect::<Option<Vec<_>>>()?;
        let lifted: HashSet<Var> = reads.iter().map(|r| r.of).collect();
        if let Op::Loop(l) = &mut nest.op {
            remove_copies(&mut l.body, &lifted);
        }
        Some((copies, nest))
    }

    /// All reads of an array, if each of them can be transposed to a gather.
    fn all_reads(&mut self, nest: &Stmt, v: Var, forms: &Forms) -> Option<Vec<LiftedRead>> {
        let Op::Loop(l) = &nest.op else { return None };
        let places = path::reads(&self.b.func, &l.body, v)?;
        places
            .into_iter()
            .map(|place| {
                let to = *path::at_place(&l.body, &place).lin_outs.first()?;
                let site = path::site(&self.b.func, nest, place, forms)?;
                super::solve::solve(&mut self.b, &site)?;
                Some(LiftedRead { of: v, to, site })
            })
            .collect()
    }

    /// Emits `⊞ axes. v[at]`, and replaces the read in the nest by its elements.
    fn copy(&mut self, lifted_read: &LiftedRead, nest: &mut Stmt) -> Option<Stmt> {
        let (rank, scalar) = (lifted_read.site.axes.len() as u32, self.b.ty(lifted_read.of).scalar().clone());
        let shape = match &lifted_read.site.extents {
            ArrayShape::Of(shape) => *shape,
            ArrayShape::Trip(dims) => {
                let elems: Vec<Var> = dims.iter().map(|n| self.known(n)).collect();
                let shape = self.b.one(Op::ArrayLit { elems: elems.clone(), shape: None }, Ty::shape());
                self.literals.set_shape(shape, elems);
                shape
            }
        };
        let trip: Vec<Var> = lifted_read.site.axes.iter().map(|a| self.known(&a.trip)).collect();
        let mut names = HashMap::new();
        for a in &lifted_read.site.axes {
            let index = self.b.func.fresh(Ty::I64, false);
            names.insert(a.index, index);
            self.b.open();
            self.b.adopt(&[index], &[]);
        }
        let mut at = Vec::new();
        for subscript in &lifted_read.site.at {
            let form = subscript.form.renamed(&names).emit(&mut self.b);
            at.push(match &subscript.divisor {
                Some(m) => {
                    let m = m.emit(&mut self.b);
                    self.b.bin(Bin::Rem, form, m)
                }
                None => form,
            });
        }
        let mut value = self.b.lin(Op::Index { a: lifted_read.of, at, shape: Some(shape) }, scalar.clone());
        let array = self.b.func.fresh(scalar.array(rank), true);
        let mut made = None;
        for (level, n) in trip.iter().enumerate().rev() {
            let body = self.b.close(Vec::new(), vec![value]);
            let ir_loop = Loop { lin_outs: vec![Out::Collect], ..Loop::new(Trip::Count(*n), body) };
            let op = Op::Loop(Box::new(ir_loop));
            if level > 0 {
                value = self.b.emit(op, &[Ty::I64], &[scalar.array(rank - level as u32)]).1[0];
            } else {
                let trips = self.b.func.fresh(Ty::I64, false);
                made = Some(Stmt { outs: vec![trips], lin_outs: vec![array], op, span: nest.span });
            }
        }
        let Op::Loop(l) = &mut nest.op else { return None };
        pass_elements(&mut self.b.func, l, array, lifted_read.to).then_some(())?;
        made
    }

    /// A variable with the value of an affine form.
    fn known(&mut self, a: &Affine) -> Var {
        let v = a.emit(&mut self.b);
        if *a != Affine::var(v) {
            self.literals.set(v, a.clone());
        }
        v
    }
}

/// Whether a read can be moved before the nest: the trip counts of all loops around it must be loop-invariant. A
/// read in a branch is not moved, because it is cheaper to add only if the branch is taken.
fn liftable(nest: &Stmt, r: &LiftedRead) -> bool {
    let Op::Loop(l) = &nest.op else { return false };
    let inside = bound_in(&l.body);
    let loops = r.site.axes.len() == r.site.place.steps.len() + 1;
    loops && r.site.axes.iter().all(|a| a.is_plain() && a.trip.all(&|v| !inside.contains(&v)))
}

/// Passes the elements of `array` through a loop and the loops inside of it, down to the read that binds `to`.
fn pass_elements(f: &mut Function, ir_loop: &mut Loop, array: Var, to: Var) -> bool {
    let here = ir_loop.body.stmts.iter().position(|s| s.lin_outs == [to] && matches!(s.op, Op::Index { .. }));
    let elem = if let Some(k) = here {
        ir_loop.body.stmts.remove(k);
        to
    } else {
        let row = f.fresh(f.ty(array).elem(), true);
        let inner = ir_loop.body.stmts.iter_mut().any(|s| match &mut s.op {
            Op::Loop(inner) if path::holds(&inner.body, to) => pass_elements(f, inner, row, to),
            _ => false,
        });
        if !inner {
            return false;
        }
        row
    };
    ir_loop.lin_xs.push(array);
    ir_loop.body.lin_params.push(elem);
    true
}

/// Removes `dup`s and `drop`s of arrays that are no longer read.
fn remove_copies(b: &mut Block, arrays: &HashSet<Var>) {
    let copies = path::copies(b);
    let mut work = vec![b];
    while let Some(b) = work.pop() {
        b.stmts.retain(|s| !matches!(&s.op, Op::Dup(a) | Op::Drop(a) if arrays.contains(&path::original(&copies, *a))));
        work.extend(b.stmts.iter_mut().flat_map(|s| s.op.blocks_mut()));
    }
}

/// Whether separate transposed bodies, for each read and for the other linear operands, would make the gradient
/// cost more than four times the function (Theorem 6.35), and one common body is cheaper. Only linear statements
/// are considered, so that the choice does not depend on the plan.
fn let_lifting_pays_off(func: &Function, nest: &Stmt, gathered: &HashSet<Var>) -> bool {
    let Op::Loop(l) = &nest.op else { return false };
    let (mut stmts, mut others) = (Vec::new(), HashSet::new());
    let mut work = vec![&l.body];
    while let Some(b) = work.pop() {
        others.extend(&b.lin_params);
        for s in &b.stmts {
            s.op.each_operand(&mut |v| _ = func.linear(v) && others.insert(v));
            stmts.push(s);
            work.extend(s.op.blocks());
        }
    }
    let made: HashSet<Var> = stmts.iter().flat_map(|s| &s.lin_outs).copied().collect();
    others.retain(|v| !made.contains(v));
    // Elements that are read in other ways than by gathers.
    others.extend(stmts.iter().filter(|s| matches!(s.op, Op::Index { .. })).flat_map(|s| &s.lin_outs));
    others.retain(|v| func.ty(*v).rank() == 0 && !gathered.contains(v));
    let cost = |from: &HashSet<Var>| dependents(func, &stmts, from);
    let sources = gathered.len() + others.len();
    let single: usize = gathered.iter().map(|v| cost(&HashSet::from([*v]))).sum::<usize>() + cost(&others);
    let all = cost(&gathered.union(&others).copied().collect());
    let (function, functions_of_one) = primal(func, &stmts);
    single > all + 1 && single + sources + functions_of_one > 3 * function
}

/// The number of operations of the primal from which linear statements come, including the sum, and how many of
/// these are functions of one number.
fn primal(f: &Function, stmts: &[&Stmt]) -> (usize, usize) {
    let (mut additions, mut scalings) = (Vec::new(), HashSet::new());
    for s in stmts {
        match (&s.op, s.lin_outs.as_slice()) {
            (Op::Bin(Bin::Add | Bin::Sub, a, b), [_]) => additions.push((*a, *b)),
            (Op::Bin(..), [o]) if f.ty(*o).rank() == 0 => _ = scalings.insert(*o),
            _ => {}
        }
    }
    let products = additions.iter().filter(|(a, b)| scalings.contains(a) && scalings.contains(b)).count();
    let of_one = scalings.len().saturating_sub(2 * products);
    (additions.len() + of_one + 1, of_one)
}

/// The number of operations in the transposes of the statements that depend on some numbers.
fn dependents(func: &Function, stmts: &[&Stmt], from: &HashSet<Var>) -> usize {
    let (mut reached, mut counted) = (from.clone(), HashSet::new());
    let mut grown = true;
    while std::mem::take(&mut grown) {
        for (index, stmt) in stmts.iter().enumerate() {
            let mut reads = false;
            stmt.op.each_operand(&mut |v| reads |= reached.contains(&v));
            reads |= stmt.op.blocks().iter().any(|b| b.lin_results.iter().any(|v| reached.contains(v)));
            if !reads {
                continue;
            }
            match &stmt.op {
                // The second operand is negated.
                Op::Bin(Bin::Sub, _, b) if reached.contains(b) => _ = counted.insert(index),
                Op::Bin(Bin::Add | Bin::Sub, ..) => {}
                Op::Bin(..) => _ = counted.insert(index),
                // A copy is transposed to an addition.
                Op::Un(..) | Op::Dup(_) if stmt.lin_outs.iter().all(|o| func.ty(*o).rank() == 0) => {
                    _ = counted.insert(index);
                }
                _ => {}
            }
            for o in &stmt.lin_outs {
                grown |= reached.insert(*o);
            }
        }
    }
    counted.len()
}

//! Let-lifting of reads (Fig. 7): a nest that reads arrays at many affine indices, and whose transposed body costs much, is transposed once,
//! into the cotangents of all its reads; a gather brings each of them to its place.
//!
//! ```text
//! Σ i. c₁ ẋ[i] + c₂ ẋ[i + 1] + …   ⟼   w₁ = ⊞ i. ẋ[i]   w₂ = ⊞ i. ẋ[i + 1]   …   Σ i. c₁ w₁[i] + c₂ w₂[i] + …
//! ```
//!
//! Otherwise each read is gathered for itself ([`super::gather`]), and computes its coefficient anew. Lifted reads take as much memory as the arrays:
//! it is done where a nest has no more indices than the array that it reads.

use super::affine::{Affine, Forms};
use super::narrow::bound_in;
use super::path::{self, Extents, Site};
use crate::explicit::captured_by;
use crate::transpose::T;
use adl_ir::{Block, Function, Loop, Op, Out, Stmt, Turns, Ty, Var};
use adl_prim::Bin;
use std::collections::{HashMap, HashSet};

/// Reads from which it is looked at.
const FEWEST: usize = 5;

/// A read: the array, and what its element is called.
struct Read {
    of: Var,
    to: Var,
    site: Site,
}

impl T<'_> {
    /// The statements that read, and the nest that reads what they make.
    pub(crate) fn lifted(&mut self, s: &Stmt) -> Option<(Vec<Stmt>, Stmt)> {
        path::comprehension(&s.op)?;
        let mut forms = self.literals.clone();
        let mut nest = s.clone();
        let mut reads: Vec<Read> = Vec::new();
        for v in captured_by(&self.b.func, &s.op) {
            let ty = self.b.ty(v);
            if ty.rank() == 0 || !ty.scalar().is_real() {
                continue;
            }
            let Some(made) = path::indexed(&mut self.b, &mut forms, &nest, v) else { continue };
            if let Some(more) = self.all_reads(&made, v, &forms) {
                nest = made;
                reads.extend(more);
            }
        }
        if reads.len() < FEWEST || !pays(&self.b.func, &nest, &reads) {
            return None;
        }
        let copies = reads.iter().map(|r| self.copy(r, &mut nest)).collect::<Option<Vec<_>>>()?;
        let lifted: HashSet<Var> = reads.iter().map(|r| r.of).collect();
        if let Op::Loop(l) = &mut nest.op {
            forget(&mut l.body, &lifted);
        }
        Some((copies, nest))
    }

    /// All reads of an array, if each can be lifted and some are not at the nest's own indices.
    fn all_reads(&self, nest: &Stmt, v: Var, forms: &Forms) -> Option<Vec<Read>> {
        let Op::Loop(l) = &nest.op else { return None };
        let inside = bound_in(&l.body);
        let mut out = Vec::new();
        for place in path::reads(&self.b.func, &l.body, v)? {
            let mut b = &l.body;
            for (k, _) in &place.steps {
                let Op::Loop(inner) = &b.stmts[*k].op else { return None };
                b = &inner.body;
            }
            let to = *b.stmts[place.stmt].lin_outs.first()?;
            let site = path::site(&self.b.func, nest, place, forms)?;
            let fixed = site.axes.iter().all(|a| a.turns.all(&|v| !inside.contains(&v)));
            if !fixed || site.axes.len() > self.b.ty(v).rank() as usize {
                return None;
            }
            out.push(Read { of: v, to, site });
        }
        out.iter().any(|r| !own(&r.site)).then_some(out)
    }

    /// `⊞ axes. v[at]`, and the nest with its elements in the place of the read.
    fn copy(&mut self, r: &Read, nest: &mut Stmt) -> Option<Stmt> {
        let (d, scalar) = (r.site.axes.len() as u32, self.b.ty(r.of).scalar().clone());
        let shape = match &r.site.extents {
            Extents::Of(shape) => *shape,
            Extents::Turns(dims) => {
                let elems: Vec<Var> = dims.iter().map(|n| self.known(n)).collect();
                let shape = self.b.one(Op::Stack { elems: elems.clone(), shape: None }, Ty::shape());
                self.literals.set_shape(shape, elems);
                shape
            }
        };
        let turns: Vec<Var> = r.site.axes.iter().map(|a| self.known(&a.turns)).collect();
        let mut names = HashMap::new();
        for a in &r.site.axes {
            let index = self.b.func.fresh(Ty::I64, false);
            names.insert(a.index, index);
            self.b.open();
            self.b.adopt(&[index], &[]);
        }
        let at = r.site.at.iter().map(|a| a.renamed(&names).emit(&mut self.b)).collect();
        let mut value = self.b.lin(Op::Index { a: r.of, at, shape: Some(shape) }, scalar.clone());
        let w = self.b.func.fresh(scalar.array(d), true);
        let mut made = None;
        for (k, n) in turns.iter().enumerate().rev() {
            let body = self.b.close(Vec::new(), vec![value]);
            let l = Loop { turns: Turns::For(*n), reverse: false, init: Vec::new(), lin_init: Vec::new(), xs: Vec::new(), lin_xs: Vec::new(), outs: Vec::new(), lin_outs: vec![Out::Collect], body };
            let op = Op::Loop(Box::new(l));
            if k > 0 {
                value = self.b.emit(op, &[Ty::I64], &[scalar.array(d - k as u32)]).1[0];
            } else {
                let trips = self.b.func.fresh(Ty::I64, false);
                made = Some(Stmt { outs: vec![trips], lin_outs: vec![w], op, span: nest.span });
            }
        }
        let Op::Loop(l) = &mut nest.op else { return None };
        thread(&mut self.b.func, l, w, r.to).then_some(())?;
        made
    }

    /// A variable whose form is known.
    fn known(&mut self, a: &Affine) -> Var {
        let v = a.emit(&mut self.b);
        if *a != Affine::var(v) {
            self.literals.set(v, a.clone());
        }
        v
    }
}

/// Whether a read is at the nest's own indices.
fn own(site: &Site) -> bool {
    site.at.len() == site.axes.len() && site.at.iter().zip(&site.axes).all(|(at, a)| *at == Affine::var(a.index))
}

/// Makes the elements of `w` those of a loop and of the loops inside, down to the read that makes `to`.
fn thread(f: &mut Function, l: &mut Loop, w: Var, to: Var) -> bool {
    let here = l.body.stmts.iter().position(|s| s.lin_outs == [to] && matches!(s.op, Op::Index { .. }));
    let e = match here {
        Some(k) => {
            l.body.stmts.remove(k);
            to
        }
        None => {
            let row = f.fresh(f.ty(w).elem(), true);
            let inner = l.body.stmts.iter_mut().any(|s| match &mut s.op {
                Op::Loop(inner) if path::holds(&inner.body, to) => thread(f, inner, row, to),
                _ => false,
            });
            if !inner {
                return false;
            }
            row
        }
    };
    l.lin_xs.push(w);
    l.body.lin_params.push(e);
    true
}

/// Removes copies of arrays that are not read any more.
fn forget(b: &mut Block, arrays: &HashSet<Var>) {
    let copies = path::copies(b);
    let mut work = vec![b];
    while let Some(b) = work.pop() {
        b.stmts.retain(|s| !matches!(&s.op, Op::Dup(a) | Op::Drop(a) if arrays.contains(&path::original(&copies, *a))));
        work.extend(b.stmts.iter_mut().flat_map(|s| s.op.blocks_mut()));
    }
}

/// Whether the transposed bodies of the single reads cost more than that of all, with the gathers.
fn pays(f: &Function, nest: &Stmt, reads: &[Read]) -> bool {
    let Op::Loop(l) = &nest.op else { return false };
    let mut stmts = Vec::new();
    let mut work = vec![&l.body];
    while let Some(b) = work.pop() {
        for s in &b.stmts {
            stmts.push(s);
            work.extend(s.op.blocks());
        }
    }
    let cost = |from: &HashSet<Var>| {
        let (scalings, coefficients) = dependents(&stmts, from);
        scalings + computed(f, &stmts, coefficients)
    };
    let single: usize = reads.iter().map(|r| cost(&HashSet::from([r.to]))).sum();
    let all = cost(&reads.iter().map(|r| r.to).collect());
    2 * single > 3 * all && single > 2 * reads.len()
}

/// How many products with linear numbers depend on some, and their coefficients.
fn dependents(stmts: &[&Stmt], from: &HashSet<Var>) -> (usize, HashSet<Var>) {
    let (mut reached, mut scalings, mut coefficients) = (from.clone(), HashSet::new(), HashSet::new());
    let mut grown = true;
    while std::mem::take(&mut grown) {
        for (k, s) in stmts.iter().enumerate() {
            let mut reads = false;
            s.op.each_operand(&mut |v| reads |= reached.contains(&v));
            reads |= s.op.blocks().iter().any(|b| b.lin_results.iter().any(|v| reached.contains(v)));
            if !reads {
                continue;
            }
            if let Op::Bin(op, a, b) = &s.op {
                if !matches!(op, Bin::Add | Bin::Sub) {
                    scalings.insert(k);
                    coefficients.extend([*a, *b].into_iter().filter(|v| !reached.contains(v)));
                }
            }
            for o in &s.lin_outs {
                grown |= reached.insert(*o);
            }
        }
    }
    (scalings.len(), coefficients)
}

/// How many operations on numbers make some variables.
fn computed(f: &Function, stmts: &[&Stmt], wanted: HashSet<Var>) -> usize {
    let mut wanted = wanted;
    let mut done = HashSet::new();
    let mut grown = true;
    while std::mem::take(&mut grown) {
        for (k, s) in stmts.iter().enumerate() {
            let counts = s.outs.iter().any(|o| wanted.contains(o) && f.ty(*o).is_real()) && matches!(s.op, Op::Un(..) | Op::Bin(..));
            if counts && done.insert(k) {
                grown = true;
                s.op.each_operand(&mut |v| _ = wanted.insert(v));
            }
        }
    }
    done.len()
}

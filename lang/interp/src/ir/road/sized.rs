//! Functions of small vectors, and of matrices with small rows, at the sizes of their arguments: where types leave a size open, code for all sizes keeps an
//! array where code for two or three numbers keeps these in registers ([`mod@adl_opt::scalars`]).
//!
//! A variant begins with assertions that the sizes are those; it is only run where they are. Reports and plans are of the function itself.

use super::{Entered, Road};
use crate::value::{Buf, Value};
use adl_ir::{Cmp, FnId, Function, Lit, Op, Stmt, Ty, Var};
use adl_opt::scalars::{Sums, scalars};
use adl_prim::Prim;
use std::collections::HashMap;
use std::rc::Rc;

/// Numbers in a vector or a row that is small.
const SMALL: usize = 4;

/// Variants of one function. Beyond, there is the one for all sizes.
const VARIANTS: usize = 4;

/// Extents of parameters: which one, its axis, how many.
type Sizes = Vec<(usize, u32, usize)>;

/// What has been made, by function.
pub(super) type Variants = HashMap<FnId, Vec<(Sizes, Rc<Entered>)>>;

impl Road {
    /// The function for arguments of these sizes, if they are small and that gains something; else itself.
    pub(super) fn sized(&mut self, e: &Rc<Entered>, leaves: &[Value]) -> Rc<Entered> {
        let f = e.entry.func;
        let sizes = small(leaves);
        if sizes.is_empty() || self.ad.has_made(f) {
            return e.clone();
        }
        let known = self.variants.get(&f).map_or(&[][..], Vec::as_slice);
        if let Some((_, made)) = known.iter().find(|(s, _)| *s == sizes) {
            return made.clone();
        }
        if known.len() >= VARIANTS {
            return e.clone();
        }
        let made = self.variant(e, &sizes).unwrap_or_else(|| e.clone());
        self.variants.entry(f).or_default().push((sizes, made.clone()));
        made
    }

    fn variant(&mut self, e: &Rc<Entered>, sizes: &Sizes) -> Option<Rc<Entered>> {
        let src = self.program.func(e.entry.func).clone();
        let mut made = (*src).clone();
        assert_sizes(&mut made, sizes)?;
        let mut trial = made.clone();
        adl_opt::inline::inline(&self.program, &mut trial);
        if !scalars(&mut trial, Sums::Written) {
            return None;
        }
        let func = self.program.reserve(&src.name);
        self.program.set(func, made);
        let mut entry = e.entry.clone();
        entry.func = func;
        Some(Rc::new(Entered { entry, datas: e.datas.clone(), origin: e.origin }))
    }
}

/// The sizes of small vectors, of the rows of matrices, and of small matrices.
fn small(leaves: &[Value]) -> Sizes {
    let mut out = Vec::new();
    for (k, v) in leaves.iter().enumerate() {
        let Value::Array(a) = v else { continue };
        let is_small = |axis: usize| (1..=SMALL).contains(&a.shape[axis]);
        match a.shape.len() {
            1 | 2 if !matches!(a.buf, Buf::F64(_)) => {}
            1 if is_small(0) => out.push((k, 0, a.shape[0])),
            2 if is_small(1) => {
                out.push((k, 1, a.shape[1]));
                out.extend(is_small(0).then_some((k, 0, a.shape[0])));
            }
            _ => {}
        }
    }
    out
}

/// Lets a function begin with assertions that extents of parameters are these.
fn assert_sizes(f: &mut Function, sizes: &Sizes) -> Option<()> {
    let mut first = Vec::new();
    let mut stmt = |f: &mut Function, op: Op, ty: Option<Ty>| -> Var {
        let outs: Vec<Var> = ty.into_iter().map(|t| f.fresh(t, false)).collect();
        first.push(Stmt { outs: outs.clone(), lin_outs: Vec::new(), op, span: Default::default() });
        outs.first().copied().unwrap_or(Var(0))
    };
    for (k, axis, n) in sizes {
        let p = *f.body.params.get(*k)?;
        if f.ty(p).rank() <= *axis {
            return None;
        }
        let n = stmt(f, Op::Lit(Lit::I64(*n as i64)), Some(Ty::I64));
        let extent = stmt(f, Op::Dim(p, *axis), Some(Ty::I64));
        let same = stmt(f, Op::Cmp(Cmp::Eq, extent, n), Some(Ty::Bool));
        let text = stmt(f, Op::Lit(Lit::Str("arguments of other sizes".into())), Some(Ty::Str));
        stmt(f, Op::Prim(Prim::Assert, vec![same, text]), None);
    }
    first.append(&mut f.body.stmts);
    f.body.stmts = first;
    Some(())
}

//! `jacobian`, `jacfwd`, `jacrev` and `hessian` inside code that is differentiated or compiled. All directions are
//! computed in one pass, or one after the other if the code works on scalars.

use crate::derive::DerivableFunction;
use crate::val::{Linear, Val};
use crate::{Attempt, Spec};
use adl_ir::{Block, Cmp, FnId, Function, Op, Out, Ty as IrTy, Var};
use adl_prim::{ArrayFn, Bin, DerivativeFn};

impl Spec<'_> {
    /// The Jacobian of `f` at the vector `x`, by columns or by rows.
    pub(crate) fn jacobian(&mut self, p: DerivativeFn, f: &Val, x: &Val) -> Attempt<Val> {
        let Some(k) = self.known(f, x)? else { return Ok(Val::Bottom) };
        let l = self.linear_of(&k)?;
        let (n, m) = (self.extent(x, 0)?, self.extent(&l.y, 0)?);
        let (forward, back) = (Linear { transposed: false, ..l.clone() }, Linear { transposed: true, ..l });
        match p {
            DerivativeFn::Jacfwd => self.columns(&k, &forward, n, m),
            DerivativeFn::Jacrev => self.rows(&k, &back, m, n),
            _ => {
                let fewer = self.b.cmp(Cmp::Le, n, m);
                self.branch_on(fewer, &mut |s| s.columns(&k, &forward, n, m), &mut |s| s.rows(&k, &back, m, n))
            }
        }
    }

    /// Computes the Jacobian from `n` directions, all at once if possible. The image has `m` components.
    fn columns(&mut self, k: &DerivableFunction, l: &Linear, n: Var, m: Var) -> Attempt<Val> {
        if let Some(all) = self.all_directions(k, l, n, m)? {
            return Ok(all);
        }
        let all = self.images(l, n, m)?;
        self.transpose(&all)
    }

    fn rows(&mut self, k: &DerivableFunction, l: &Linear, m: Var, n: Var) -> Attempt<Val> {
        match self.all_directions(k, l, m, n)? {
            Some(all) => self.transpose(&all),
            None => self.images(l, m, n),
        }
    }

    /// The images of all `n` basis vectors in one pass, as the columns of a matrix with `m` rows.
    fn all_directions(&mut self, k: &DerivableFunction, l: &Linear, n: Var, m: Var) -> Attempt<Option<Val>> {
        let Some(wide) = self.wide(k, l) else { return Ok(None) };
        let from = self.leaf(if l.transposed { &l.y } else { &l.x })?;
        let mut args = l.residuals.clone();
        args.extend([n, self.identity(n, from)]);
        let outs = self.call_derivative(wide, &args);
        let [out] = outs[..] else { return Err(self.no("a Jacobian of something else than a vector")) };
        // Symbolic zeros are materialised.
        let zero = self.b.real(0.0, from);
        let zeros = self.spread(zero, vec![m, n]);
        Ok(Some(Val::Leaf(self.b.bin(Bin::Add, zeros, out))))
    }

    /// The code of the derivative for many directions, if available.
    fn wide(&mut self, k: &DerivableFunction, l: &Linear) -> Option<FnId> {
        let f = self.p.func(if l.transposed { l.cotangent } else { l.tangent });
        let active = l.active.first().is_some_and(|a| *a) && !works_on_scalars(f, &f.body);
        active.then(|| self.t.directions(self.p, k.target.id, &k.wrt, l.transposed).ok()).flatten()
    }

    /// The identity matrix, with the number type of `like`.
    fn identity(&mut self, n: Var, like: Var) -> Var {
        let (one, zero) = (self.b.real(1.0, like), self.b.real(0.0, like));
        let (ints, t) = (IrTy::I64.array(1), self.b.ty(like).array(1));
        let at = self.b.prim(ArrayFn::Iota, &[n], ints.clone());
        let columns = self.b.one(Op::Replicate { n, a: at }, ints.array(1));
        let rows = self.b.one(Op::Transpose(columns), ints.array(1));
        let here = self.b.one(Op::Cmp(Cmp::Eq, rows, columns), IrTy::Bool.array(2));
        self.b.one(Op::Select(here, one, zero), t)
    }

    /// Applies a linear map to each of `n` basis vectors. The images have so many components, also if there is none.
    fn images(&mut self, l: &Linear, n: Var, components: Var) -> Attempt<Val> {
        let from = self.leaf(if l.transposed { &l.y } else { &l.x })?;
        let (one, zero) = (self.b.real(1.0, from), self.b.real(0.0, from));
        let t = self.b.ty(from);
        self.each(n, &[], Out::Collect, &mut |s, i, _| {
            let zeros = s.b.one(Op::Replicate { n, a: zero }, t.clone());
            let basis = s.b.one(Op::IndexSet { acc: zeros, at: vec![i], v: one, shape: None }, t.clone());
            let image = s.apply_linear(l, &Val::Leaf(basis))?;
            s.learn_length(&image, components);
            Ok(image)
        })
    }
}

/// Whether code works mainly on scalars. For many directions at once, each of them would become an array.
fn works_on_scalars(f: &Function, b: &Block) -> bool {
    let number = |v: &Var| f.ty(*v).rank() == 0;
    b.stmts.iter().all(|s| match &s.op {
        Op::If(_, x, y) => {
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || works_on_scalars(f, x) && works_on_scalars(f, y))
        }
        Op::Zero(_) | Op::ArrayLit { .. } | Op::Concat { .. } | Op::Slice { .. } | Op::Shape(_) => true,
        Op::IndexAdd { v, .. } | Op::IndexSet { v, .. } => number(v),
        Op::SliceAdd { .. } => true,
        op => op.blocks().is_empty() && !matches!(op, Op::Call { .. }) && s.outs.iter().chain(&s.lin_outs).all(number),
    })
}

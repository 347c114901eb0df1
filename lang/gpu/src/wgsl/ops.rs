//! Statements without blocks.

use super::deferred_arrays::ElementSource;
use super::scalar::compare;
use super::{Emit, StridedView, VarValue, load};
use crate::array::Scalar;
use crate::error::{Check, Res, unsupported};
use adl_ir::{Block, Op, Stmt, Ty, Var};
use adl_prim::{Prim, ReductionFn};

impl Emit<'_> {
    /// Emits the statements of a block whose parameters are bound.
    pub(crate) fn stmts(&mut self, b: &Block) -> Res<()> {
        b.stmts.iter().try_for_each(|s| self.write(s))
    }

    /// Emits one statement.
    pub(crate) fn write(&mut self, stmt: &Stmt) -> Res<()> {
        self.step(stmt.span)?;
        let outs: Vec<Var> = stmt.outs.iter().chain(&stmt.lin_outs).copied().collect();
        if self.control(&stmt.op, &outs)? {
            return Ok(());
        }
        match (&stmt.op, outs.as_slice()) {
            (Op::Drop(_), _) => Ok(()),
            (Op::Dup(a), _) => {
                let p = self.place(*a)?;
                outs.iter().for_each(|o| self.bind(*o, p.clone()));
                Ok(())
            }
            (
                Op::Prim(
                    p @ Prim::Reduction(
                        ReductionFn::Minimum | ReductionFn::Maximum | ReductionFn::Argmin | ReductionFn::Argmax,
                    ),
                    args,
                ),
                [out],
            ) if args.len() == 1 => {
                let a = self.elements(args[0])?;
                let (x, i) =
                    self.extreme(&a, matches!(p, Prim::Reduction(ReductionFn::Minimum | ReductionFn::Argmin)))?;
                match p {
                    Prim::Reduction(ReductionFn::Minimum | ReductionFn::Maximum) => {
                        self.bind_number(*out, a.scalar(), &x);
                    }
                    _ => self.iteration_index(Some(out), &i),
                }
                Ok(())
            }
            (Op::Prim(p, args), _) => {
                let seen: Vec<Var> =
                    args.iter().copied().filter(|v| !matches!(self.ty(*v), Ty::Str | Ty::Data(_))).collect();
                let args = seen.into_iter().map(|v| self.number(v)).collect::<Res<Vec<_>>>()?;
                let made = self.prim(*p, &args)?;
                outs.iter().zip(made).for_each(|(o, (s, t))| self.bind_number(*o, s, &t));
                Ok(())
            }
            (op, [out]) => self.one(op, *out),
            _ => unsupported("an operation of several results in a kernel"),
        }
    }

    /// Emits an operation with one result.
    fn one(&mut self, op: &Op, out: Var) -> Res<()> {
        if let Some(made) = self.put_off(op)? {
            self.bind(out, made.place());
            return Ok(());
        }
        match op {
            Op::Lit(adl_ir::Lit::Str(_)) => self.bind(out, VarValue::Nothing),
            Op::Replicate { n, a } => {
                let made = self.copies(*n, *a)?;
                self.bind(out, made.place());
            }
            Op::ArrayLit { elems, .. } => self.stack(elems, out)?,
            // Most shapes are only used by operations on symbolic zeros, which do not occur in kernels.
            Op::Shape(_) => self.bind(out, VarValue::Nothing),
            Op::Index { a, at, .. } => self.index(*a, at, out)?,
            Op::Slice { .. } | Op::Transpose(_) | Op::Reverse(_) => self.part_of(op, out)?,
            Op::Zero(_) => {
                let s = self.scalar(out)?;
                let zero = self.zero(s);
                self.bind_number(out, s, &zero);
            }
            _ => {
                let (s, t) = self.value(op)?;
                self.bind_number(out, s, &t);
            }
        }
        Ok(())
    }

    /// Emits an operation with a scalar result.
    fn value(&mut self, op: &Op) -> Res<(Scalar, String)> {
        Ok(match op {
            Op::Lit(l) => self.literal(l)?,
            Op::Un(u, a) => {
                let (s, x) = self.number(*a)?;
                (s, self.un(*u, s, &x)?)
            }
            Op::Bin(b, x, y) => {
                let ((s, x), (_, y)) = (self.number(*x)?, self.number(*y)?);
                (s, self.bin(*b, s, &x, &y)?)
            }
            Op::Cmp(c, x, y) => {
                let ((s, x), (_, y)) = (self.number(*x)?, self.number(*y)?);
                (Scalar::Bool, compare(*c, s, &x, &y))
            }
            Op::Not(a) => (Scalar::Bool, format!("(!{})", self.number(*a)?.1)),
            Op::Select(c, x, y) => {
                let ((_, c), (s, x), (_, y)) = (self.number(*c)?, self.number(*x)?, self.number(*y)?);
                (s, format!("select({y}, {x}, {c})"))
            }
            Op::Convert(c, a) => {
                let (s, x) = self.number(*a)?;
                self.convert(*c, s, &x)?
            }
            _ => self.of_array(op)?,
        })
    }

    /// Emits an operation on arrays with a scalar result; rejects all that kernels do not support.
    fn of_array(&mut self, op: &Op) -> Res<(Scalar, String)> {
        match op {
            Op::Dim(a, axis) => {
                let d = self.elements(*a)?.dims().get(*axis as usize).cloned().unwrap_or_default();
                self.int_of(&d)
            }
            Op::Size(a) => {
                let all = self.elements(*a)?.dims().join(" * ");
                self.int_of(&format!("({all})"))
            }
            Op::Sum { a, .. } | Op::SumAll { a, .. } => {
                let x = self.elements(*a)?;
                if matches!(op, Op::Sum { .. }) && x.dims().len() != 1 {
                    return unsupported("sums of matrices inside of a kernel");
                }
                self.sum(&x, None)
            }
            Op::Dot(a, b) => {
                let (x, y) = (self.elements(*a)?, self.elements(*b)?);
                self.sum(&x, Some(&y))
            }
            Op::Replicate { .. }
            | Op::ArrayLit { .. }
            | Op::Lit(_)
            | Op::Un(..)
            | Op::Bin(..)
            | Op::Cmp(..)
            | Op::Not(_)
            | Op::Select(..)
            | Op::Convert(..)
            | Op::Zero(_)
            | Op::Index { .. }
            | Op::Slice { .. }
            | Op::Transpose(_)
            | Op::Reverse(_)
            | Op::Dup(_)
            | Op::Drop(_)
            | Op::Prim(..) => unsupported("an operation that gives no number"),
            Op::Shape(_)
            | Op::IndexAdd { .. }
            | Op::IndexSet { .. }
            | Op::SliceAdd { .. }
            | Op::Gather { .. }
            | Op::GatherAdd { .. }
            | Op::Rotate { .. }
            | Op::Concat { .. }
            | Op::Reshape { .. }
            | Op::Broadcast { .. }
            | Op::MatMul(..)
            | Op::Contract(_)
            | Op::Outer(..)
            | Op::Cumsum { .. }
            | Op::Nonzero(_)
            | Op::Zeros(_) => unsupported("an array that is made inside of a kernel"),
            Op::Construct { .. }
            | Op::Destruct { .. }
            | Op::If(..)
            | Op::Switch(..)
            | Op::Loop(_)
            | Op::Call { .. }
            | Op::Soac(_)
            | Op::ReduceByIndex { .. } => unsupported("data inside of a kernel"),
            Op::Collective { .. } => unsupported("messages inside of a kernel"),
        }
    }

    fn int_of(&mut self, word: &str) -> Res<(Scalar, String)> {
        self.has(Scalar::I64)?;
        Ok((Scalar::I64, format!("l_of({word})")))
    }

    /// Emits an array literal of scalars or rows.
    fn stack(&mut self, elems: &[Var], out: Var) -> Res<()> {
        let all = elems.iter().map(|v| self.elements(*v)).collect::<Res<Vec<_>>>()?;
        let Some(first) = all.first() else { return unsupported("an array of nothing") };
        let count = self.word(all.len() as u32);
        let alike = all.iter().all(|e| {
            e.dims().len() == first.dims().len()
                && e.dims()
                    .iter()
                    .zip(first.dims())
                    .all(|(a, b)| self.known(a).is_some() && self.known(a) == self.known(b))
        });
        if alike && let Some(parts) = self.parts(count.clone(), &all) {
            self.bind(out, parts.place());
            return Ok(());
        }
        let to = self.scratch(first.scalar(), &[vec![count], first.dims().to_vec()].concat())?;
        for (k, e) in all.iter().enumerate() {
            if e.dims().iter().zip(&to.dims[1..]).any(|(a, b)| self.known(a) != self.known(b)) {
                return unsupported("rows of different lengths in a kernel");
            }
            let row = self.row(&to, &format!("{k}u"));
            self.fill(&row, e)?;
        }
        self.bind(out, VarValue::StridedView(to));
        Ok(())
    }

    /// An element, or the subarray at the leading indices.
    fn index(&mut self, array: Var, at: &[Var], out: Var) -> Res<()> {
        if let Some(part) = self.indexed_part(array, at)? {
            self.bind(out, part.place());
            return Ok(());
        }
        // A single element of a deferred array is computed alone.
        let e = self.elements(array)?;
        if matches!(e, ElementSource::DeferredArray(_)) && e.dims().len() == at.len() {
            let dims = e.dims().to_vec();
            let at = at.iter().zip(&dims).map(|(v, d)| self.in_bounds(*v, d)).collect::<Res<Vec<_>>>()?;
            let x = self.at(&e, &at)?;
            self.bind_number(out, e.scalar(), &x);
            return Ok(());
        }
        let mut w = self.array(array)?;
        for v in at {
            let i = self.in_bounds(*v, &w.dims[0])?;
            w = self.row(&w, &i);
        }
        self.bind_view(out, w);
        Ok(())
    }

    /// An index as a word; it is checked unless the host knows that it is in bounds.
    fn in_bounds(&mut self, v: Var, dim: &str) -> Res<String> {
        let (_, i) = self.number(v)?;
        Ok(match self.iteration_in_bounds(v, dim) {
            Some(i) => i,
            None => {
                let check = self.check(Check::Bounds);
                self.define("i", &format!("l_at({i}, {dim}, {check})"))
            }
        })
    }

    /// The part of a deferred array literal, possibly nested, at indices that the host knows.
    fn indexed_part(&mut self, a: Var, at: &[Var]) -> Res<Option<ElementSource>> {
        let mut part = self.elements(a)?;
        for v in at {
            let (_, i) = self.number(*v)?;
            match self.part_at(&part, &i) {
                Some(inner) => part = inner,
                None => return Ok(None),
            }
        }
        Ok(Some(part))
    }

    /// A loop index that needs no check: the host knows that the axis is at least as long as the loop.
    fn iteration_in_bounds(&self, v: Var, dim: &str) -> Option<String> {
        // Inlined functions have variables of their own.
        let (word, trip) = self.trip.get(&v).filter(|_| self.calls.is_empty())?;
        (self.known(dim)? >= *trip as i64).then(|| word.clone())
    }

    /// Binds a view; without axes it is a scalar.
    pub(crate) fn bind_view(&mut self, out: Var, w: StridedView) {
        match w.dims.is_empty() {
            true => self.bind_number(out, w.scalar, &load(w.array, w.scalar, &w.base)),
            false => self.bind(out, VarValue::StridedView(w)),
        }
    }

    /// The row of a view at an index that is in bounds.
    pub(crate) fn row(&mut self, w: &StridedView, i: &str) -> StridedView {
        let (base, step) = (&w.base, &w.steps[0]);
        let moved = if step == "1u" { i.to_owned() } else { format!("{i} * {step}") };
        let base = if base == "0u" { moved } else { format!("{base} + {moved}") };
        let base = self.define("k", &base);
        StridedView { base, dims: w.dims[1..].to_vec(), steps: w.steps[1..].to_vec(), ..w.clone() }
    }

    /// Slices, transposes and reversals, which are views.
    fn part_of(&mut self, op: &Op, out: Var) -> Res<()> {
        let view = match op {
            Op::Slice { a, lo, hi, .. } => {
                let (mut w, (_, lo), (_, hi)) = (self.array(*a)?, self.number(*lo)?, self.number(*hi)?);
                let check = self.check(Check::Bounds);
                let n = format!("l_of({})", w.dims[0]);
                let fine = self.define("f", &format!("{lo} >= 0li && {lo} <= {hi} && {hi} <= {n}"));
                self.line(&format!("if !{fine} {{ fault({check}); }}"));
                w.base = self.define("k", &format!("{} + select(0u, u32({lo}), {fine}) * {}", w.base, w.steps[0]));
                w.dims[0] = self.define("k", &format!("select(0u, u32({hi} - {lo}), {fine})"));
                w
            }
            Op::Transpose(a) => {
                let mut w = self.array(*a)?;
                w.dims.swap(0, 1);
                w.steps.swap(0, 1);
                w
            }
            Op::Reverse(a) => {
                // Strides are computed modulo 2³².
                let mut w = self.array(*a)?;
                w.base = self.define("k", &format!("{} + ({} - 1u) * {}", w.base, w.dims[0], w.steps[0]));
                w.steps[0] = self.define("k", &format!("0u - {}", w.steps[0]));
                w
            }
            _ => return unsupported("no part of an array"),
        };
        self.bind(out, VarValue::StridedView(view));
        Ok(())
    }
}

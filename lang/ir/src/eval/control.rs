//! Control flow, calls, reductions and scans.

use super::value::Val;
use super::{BlockResults, CallFrame, EvalResult, Evaluator, arrays, scalar};
use crate::func::{Block, Stmt, Var};
use crate::op::{Loop, Op, Out, Soac, SoacKind, Trip};
use crate::ty::Ty;
use adl_prim::Bin;
use adl_syntax::span::Span;

impl Evaluator<'_> {
    /// The results of a call or of an operation with blocks; `None` for other operations.
    pub(super) fn control(&mut self, fr: &mut CallFrame<'_>, stmt: &Stmt) -> Option<EvalResult<BlockResults>> {
        Some(match &stmt.op {
            Op::If(c, a, b) => match fr.get(*c) {
                Val::Bool(true) => self.inner(fr, a, Vec::new()),
                Val::Bool(false) => self.inner(fr, b, Vec::new()),
                other => Err(fr.error(format!("a Bool was expected, not {}", other.kind()), stmt.span)),
            },
            Op::Switch(d, arms) => match fr.get(*d).clone() {
                Val::Data(c) if (c.tag as usize) < arms.len() => {
                    self.inner(fr, &arms[c.tag as usize], c.fields.clone())
                }
                other => Err(fr.error(
                    format!("data of {} constructors was expected, not {}", arms.len(), other.kind()),
                    stmt.span,
                )),
            },
            Op::Loop(l) => self.trip(fr, l, stmt),
            Op::Call { f, args, lin_args, .. } => {
                let (args, lin_args) = (fr.vals(args), fr.vals(lin_args));
                self.call(*f, args, lin_args)
            }
            Op::Soac(x) => self.soac(fr, x, stmt).map(|outs| (outs, Vec::new())),
            Op::ReduceByIndex { dest, op, keys, values, .. } => {
                self.histogram(fr, (dest, *keys, values), op, stmt.span).map(|outs| (outs, Vec::new()))
            }
            _ => return None,
        })
    }

    fn inner(&mut self, fr: &mut CallFrame<'_>, b: &Block, args: Vec<Val>) -> EvalResult<BlockResults> {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.block(fr, b, args, Vec::new()))
    }

    #[inline(never)]
    fn trip(&mut self, fr: &mut CallFrame<'_>, ir_loop: &Loop, stmt: &Stmt) -> EvalResult<BlockResults> {
        let mut carried = (fr.vals(&ir_loop.init), fr.vals(&ir_loop.lin_init));
        let xs = (fr.vals(&ir_loop.xs), fr.vals(&ir_loop.lin_xs));
        let mut outs = (Outputs::new(&ir_loop.outs), Outputs::new(&ir_loop.lin_outs));
        let limit = match &ir_loop.trip {
            Trip::Count(n) => Some(arrays::int(fr.get(*n)).map_err(|e| fr.error(e, stmt.span))?.max(0)),
            Trip::While(_) => None,
        };
        let mut iteration: i64 = 0;
        while self.has_next_iteration(fr, ir_loop, limit, iteration, &carried.0)? {
            let i = if ir_loop.reverse { limit.unwrap_or(0) - 1 - iteration } else { iteration };
            let elems = |fr: &CallFrame<'_>, xs: &[Val], params: &[Var], skip: usize| -> EvalResult<Vec<Val>> {
                let elem =
                    |(k, x): (usize, &Val)| element(x, i, params.get(skip + k).map_or(&Ty::Bool, |v| fr.f.ty(*v)));
                xs.iter().enumerate().map(elem).collect::<Result<_, _>>().map_err(|e| fr.error(e, stmt.span))
            };
            let (n, m) = (carried.0.len(), carried.1.len());
            let (plain, lin) =
                (elems(fr, &xs.0, &ir_loop.body.params, 1 + n)?, elems(fr, &xs.1, &ir_loop.body.lin_params, m)?);
            let args = [vec![Val::I64(i)], carried.0, plain].concat();
            let mut done = stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
                self.block(fr, &ir_loop.body, args, [carried.1, lin].concat())
            })?;
            let (made, lin_made) = (done.0.split_off(n.min(done.0.len())), done.1.split_off(m.min(done.1.len())));
            let work = (outs.0.put(made), outs.1.put(lin_made));
            for (work, linear) in [(work.0, false), (work.1, true)] {
                let work = work.map_err(|e| fr.error(e, stmt.span))?;
                self.counts.arithmetic += work;
                self.counts.add(stmt.span, linear, work);
            }
            carried = done;
            iteration += 1;
            self.counts.steps += 1;
        }
        let (n, m) = (carried.0.len(), carried.1.len());
        let finish = |fr: &CallFrame<'_>, o: Outputs, vars: &[Var], skip: usize| {
            o.finish(fr, vars.get(skip..).unwrap_or(&[]), ir_loop.reverse, stmt.span)
        };
        let plain = [carried.0, finish(fr, outs.0, &stmt.outs, n)?, vec![Val::I64(iteration)]].concat();
        Ok((plain, [carried.1, finish(fr, outs.1, &stmt.lin_outs, m)?].concat()))
    }

    /// Whether another iteration follows.
    fn has_next_iteration(
        &mut self,
        fr: &mut CallFrame<'_>,
        l: &Loop,
        limit: Option<i64>,
        iteration: i64,
        carried: &[Val],
    ) -> EvalResult<bool> {
        match &l.trip {
            Trip::Count(_) => Ok(iteration < limit.unwrap_or(0)),
            Trip::While(test) => {
                let (results, _) = self.inner(fr, test, carried.to_vec())?;
                Ok(matches!(results.first(), Some(Val::Bool(true))))
            }
        }
    }

    #[inline(never)]
    fn soac(&mut self, fr: &mut CallFrame<'_>, soac: &Soac, stmt: &Stmt) -> EvalResult<Vec<Val>> {
        let arrays: Vec<Val> = fr.vals(&soac.arrays);
        let n = arrays
            .first()
            .map_or(Ok(0), |a| arrays::array(a).map(|a| arrays::rows(a).0))
            .map_err(|e| fr.error(e, stmt.span))?;
        let mut acc = fr.vals(&soac.neutral);
        let mut prefixes: Vec<Vec<Val>> = vec![Vec::new(); arrays.len()];
        for i in 0..n {
            if soac.kind == SoacKind::ScanExclusive {
                prefixes.iter_mut().zip(&acc).for_each(|(p, a)| p.push(a.clone()));
            }
            let elems: Result<Vec<Val>, String> =
                arrays.iter().zip(&acc).map(|(a, like)| element(a, i as i64, &zero_type_of(like))).collect();
            let elems = elems.map_err(|e| fr.error(e, stmt.span))?;
            acc = self.inner(fr, &soac.op, [acc, elems].concat())?.0;
            if soac.kind == SoacKind::Scan {
                prefixes.iter_mut().zip(&acc).for_each(|(p, a)| p.push(a.clone()));
            }
        }
        if soac.kind == SoacKind::Reduce {
            return Ok(acc);
        }
        let shape = |a: &Val| a.arr().map(|a| a.shape.clone());
        let tys = soac.arrays.iter().map(|v| fr.f.ty(*v));
        let outs: Result<Vec<Val>, String> =
            prefixes.into_iter().zip(tys).zip(&arrays).map(|((p, ty), a)| arrays::stack(p, ty, shape(a))).collect();
        outs.map_err(|e| fr.error(e, stmt.span))
    }

    /// Applies the operator to `dest` at each key in bounds, in order.
    #[inline(never)]
    fn histogram(
        &mut self,
        fr: &mut CallFrame<'_>,
        (dest, keys, values): (&[Var], Var, &[Var]),
        op: &Block,
        span: Span,
    ) -> EvalResult<Vec<Val>> {
        let fail = |fr: &CallFrame<'_>, e: String| fr.error(e, span);
        let tys: Vec<Ty> = fr.f.tys(dest);
        let mut columns: Vec<Vec<Val>> = Vec::new();
        for d in fr.vals(dest) {
            let a = arrays::array(&d).map_err(|e| fail(fr, e))?;
            columns.push((0..arrays::rows(a).0).map(|i| arrays::row(a, i)).collect());
        }
        let shapes: Vec<Option<Vec<usize>>> = fr.vals(dest).iter().map(|d| d.arr().map(|a| a.shape.clone())).collect();
        let n = columns.first().map_or(0, Vec::len);
        let zeros = fr.f.tys(op.params.get(dest.len()..).unwrap_or_default());
        let (keys, values) = (fr.get(keys).clone(), fr.vals(values));
        for (j, key) in arrays::array(&keys).map_err(|e| fail(fr, e))?.elems.iter().enumerate() {
            let Some(i) = arrays::int(key).ok().and_then(|k| usize::try_from(k).ok()).filter(|i| *i < n) else {
                continue;
            };
            let old: Vec<Val> = columns.iter().map(|c| c[i].clone()).collect();
            let new: Result<Vec<Val>, String> =
                values.iter().zip(&zeros).map(|(v, ty)| element(v, j as i64, ty)).collect();
            let new = new.map_err(|e| fail(fr, e))?;
            let made = self.inner(fr, op, [old, new].concat())?.0;
            columns.iter_mut().zip(made).for_each(|(c, x)| c[i] = x);
        }
        let outs: Result<Vec<Val>, String> =
            columns.into_iter().zip(&tys).zip(shapes).map(|((c, ty), shape)| arrays::stack(c, ty, shape)).collect();
        outs.map_err(|e| fail(fr, e))
    }
}

/// The type whose zero stands for the same kind of value. Only scalars have a zero other than the symbolic one.
fn zero_type_of(like: &Val) -> Ty {
    match like {
        Val::F32(_) => Ty::F32,
        Val::F64(_) => Ty::F64,
        Val::I64(_) => Ty::I64,
        Val::Bool(_) => Ty::Bool,
        Val::Str(_) | Val::Array(_) | Val::Data(_) | Val::SymbolicZero | Val::Deps(_) => Ty::Str,
    }
}

/// Element `i` of an array; the zero of `ty` if the array is a symbolic zero.
fn element(x: &Val, i: i64, ty: &Ty) -> Result<Val, String> {
    if x.is_symbolic_zero() {
        return Ok(Val::zero(ty));
    }
    let a = arrays::array(x)?;
    let (n, _) = arrays::rows(a);
    match usize::try_from(i) {
        Ok(i) if i < n => Ok(arrays::row(a, i)),
        _ => Err(format!("index {i} is out of bounds for an array of length {n}")),
    }
}

/// The non-linear or the linear outputs of a loop.
struct Outputs {
    kinds: Vec<Out>,
    /// For each output the collected values, or the sum so far.
    made: Vec<Vec<Val>>,
}

impl Outputs {
    fn new(kinds: &[Out]) -> Outputs {
        Outputs { kinds: kinds.to_vec(), made: vec![Vec::new(); kinds.len()] }
    }

    /// Adds the outputs of an iteration. Returns the work of the additions.
    fn put(&mut self, vals: Vec<Val>) -> Result<u64, String> {
        let mut work = 0;
        for ((kind, made), v) in self.kinds.iter().zip(&mut self.made).zip(vals) {
            match (kind, made.pop()) {
                (Out::Sum, Some(sum)) => {
                    let next = scalar::bin(Bin::Add, &sum, &v)?;
                    work += if sum.is_symbolic_zero() || v.is_symbolic_zero() { 0 } else { next.scalars() };
                    made.push(next);
                }
                (_, last) => {
                    made.extend(last);
                    made.push(v);
                }
            }
        }
        Ok(work)
    }

    fn finish(self, fr: &CallFrame<'_>, vars: &[Var], reverse: bool, span: Span) -> EvalResult<Vec<Val>> {
        let mut out = Vec::new();
        for ((kind, mut made), v) in self.kinds.into_iter().zip(self.made).zip(vars) {
            let ty = fr.f.ty(*v);
            if reverse {
                made.reverse();
            }
            out.push(match kind {
                Out::Sum => made.pop().unwrap_or_else(|| Val::zero(ty)),
                Out::Boxed => Val::array(vec![made.len()], made),
                // If a linear array is collected in zero iterations, its inner extents are unknown, so it is a
                // symbolic zero.
                Out::Collect if made.is_empty() && ty.rank() > 1 && fr.f.linear(*v) => Val::SymbolicZero,
                Out::Collect => arrays::stack(made, ty, None).map_err(|e| fr.error(e, span))?,
            });
        }
        Ok(out)
    }
}

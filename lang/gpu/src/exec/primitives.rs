//! Primitives.

use super::numbers::{lit, val};
use super::{Exec, ExecFrame, Value};
use crate::array::Array;
use crate::error::{Check, Error, FailedCheck, Res, unsupported};
use crate::limits::exec_primitives::KEYS;
use crate::{compaction, data_movement, index, pointwise, random, soac, sort};
use adl_ir::{Lit, Op, Stmt, Val, Var};
use adl_prim::{ArrayFn, Bin, DerivativeFn, GeneralFn, Prim, RandomFn, ReductionFn};
use std::rc::Rc;

impl<'a> Exec<'a> {
    /// Runs a primitive.
    pub(super) fn prim(&mut self, fr: &mut ExecFrame<'a>, prim: Prim, args: &[Var], stmt: &Stmt) -> Res<Vec<Value>> {
        let values = fr.all(args)?;
        let gpu = self.gpu;
        let one = |a: Res<Array>| a.map(|a| vec![Value::Array(a)]);
        match (prim, args) {
            (Prim::General(GeneralFn::Assert), [c, ..]) => {
                if self.holds(fr, *c)? {
                    return Ok(Vec::new());
                }
                Err(Error::Fault(FailedCheck { what: Check::Assertion, span: stmt.span }))
            }
            (Prim::General(GeneralFn::Error), _) => {
                Err(Error::Fault(FailedCheck { what: Check::Assertion, span: stmt.span }))
            }
            (Prim::Derivative(DerivativeFn::StopGrad) | Prim::General(GeneralFn::Id), _) => Ok(values),
            (Prim::Array(ArrayFn::Iota), [n]) => one(data_movement::iota(gpu, self.size(fr, *n)?)),
            (Prim::Array(ArrayFn::Range), [lo, hi]) => {
                one(compaction::range(gpu, self.int(fr, *lo)?, self.int(fr, *hi)?))
            }
            (Prim::Array(ArrayFn::Eye), [n]) => {
                let ones = self.spread(&self.device_number(&Lit::F64(1.0))?, vec![self.size(fr, *n)?])?;
                one(data_movement::diag(gpu, &ones))
            }
            (Prim::Reduction(ReductionFn::Argsort), [a]) => one(sort::argsort(gpu, &self.array(fr, *a)?)),
            (Prim::Array(ArrayFn::ScatterWithin), [d, at, v]) => {
                one(index::scatter(gpu, &self.array(fr, *d)?, &self.array(fr, *at)?, &self.array(fr, *v)?))
            }
            (
                Prim::Random(
                    RandomFn::RandKey
                    | RandomFn::RandSplit
                    | RandomFn::RandUniform
                    | RandomFn::RandNormal
                    | RandomFn::RandInt,
                ),
                _,
            ) => self.random(fr, prim, args),
            (p, [a]) if matches!(fr.get(*a)?, Value::Array(_) | Value::Ints(_)) && fr.rank(*a) > 0 => {
                let a = self.array(fr, *a)?;
                self.of_array(p, &a).map(|v| vec![v])
            }
            _ => self.of_numbers(fr, prim, args, stmt),
        }
    }

    /// Runs a scalar primitive with the reference evaluator.
    fn of_numbers(&mut self, fr: &ExecFrame<'a>, p: Prim, args: &[Var], s: &Stmt) -> Res<Vec<Value>> {
        let numbers = args.iter().map(|v| self.number(fr, *v).map(|l| val(&l))).collect::<Res<Vec<Val>>>()?;
        if pointwise::is_pointwise(&s.op) || s.outs.len() != 1 {
            return unsupported(format!("`{}`", p.name()));
        }
        match adl_ir::eval::host::simple(p, &numbers) {
            Ok(v) => Ok(vec![Value::Number(lit(&v)?)]),
            Err(_) => unsupported(format!("`{}`", p.name())),
        }
    }

    /// The words of a random key.
    fn key(&self, fr: &ExecFrame<'a>, v: Var) -> Res<random::Key> {
        let Value::Data(_, fields) = fr.get(v)? else { return unsupported("no key in the place of one") };
        match &fields[..] {
            [a, b] => Ok([self.whole_number(a)? as u64, self.whole_number(b)? as u64]),
            _ => unsupported("no key in the place of one"),
        }
    }

    /// Random numbers and keys.
    fn random(&mut self, fr: &ExecFrame<'a>, prim: Prim, args: &[Var]) -> Res<Vec<Value>> {
        let (gpu, int) = (self.gpu, |w: i64| Value::Number(Lit::I64(w)));
        Ok(match (prim, args) {
            (Prim::Random(RandomFn::RandKey), [seed]) => {
                random::key(self.int(fr, *seed)? as u64).map(|w| int(w as i64)).to_vec()
            }
            (Prim::Random(RandomFn::RandSplit), [a, b, n]) => {
                let (key, n) = ([self.int(fr, *a)? as u64, self.int(fr, *b)? as u64], self.size(fr, *n)?);
                match n <= KEYS {
                    true => random::split(key, n).map(|w| Value::Ints(Rc::new(w))).to_vec(),
                    false => random::split_on_device(gpu, key, n)?.map(Value::Array).to_vec(),
                }
            }
            (Prim::Random(RandomFn::RandUniform), [k, shape]) => {
                vec![Value::Array(random::uniform(gpu, self.key(fr, *k)?, self.ints(fr, *shape)?)?)]
            }
            (Prim::Random(RandomFn::RandNormal), [k, shape]) => {
                vec![Value::Array(random::normal(gpu, self.key(fr, *k)?, self.ints(fr, *shape)?)?)]
            }
            (Prim::Random(RandomFn::RandInt), [k, lo, hi, shape]) => {
                let bounds = (self.int(fr, *lo)?, self.int(fr, *hi)?);
                vec![Value::Array(random::ints(gpu, self.key(fr, *k)?, bounds, self.ints(fr, *shape)?)?)]
            }
            _ => return unsupported(format!("`{}`", prim.name())),
        })
    }
}

/// Whether the first two statements compute the minimum (or maximum) of one array and its index: one kernel computes
/// both.
pub(super) fn are_extremes(stmts: &[Stmt]) -> bool {
    let [Stmt { op: Op::Prim(p, x), .. }, Stmt { op: Op::Prim(q, y), .. }, ..] = stmts else { return false };
    let both = |p, q| {
        matches!(
            (p, q),
            (Prim::Reduction(ReductionFn::Minimum), Prim::Reduction(ReductionFn::Argmin))
                | (Prim::Reduction(ReductionFn::Maximum), Prim::Reduction(ReductionFn::Argmax))
        )
    };
    x == y && (both(*p, *q) || both(*q, *p))
}

impl Exec<'_> {
    /// Runs both such statements.
    pub(super) fn extremes(&self, fr: &mut ExecFrame<'_>, stmts: &[Stmt]) -> Res<()> {
        for (s, other) in [(&stmts[0], &stmts[1]), (&stmts[1], &stmts[0])] {
            if let Op::Prim(p @ Prim::Reduction(ReductionFn::Minimum | ReductionFn::Maximum), args) = &s.op {
                let made =
                    soac::extreme(self.gpu, &self.array(fr, args[0])?, *p == Prim::Reduction(ReductionFn::Minimum))?;
                fr.bind(&[s.outs[0], other.outs[0]], made.map(Value::Array).to_vec())?;
            }
        }
        Ok(())
    }

    /// Runs a primitive of one array.
    fn of_array(&mut self, prim: Prim, array: &Array) -> Res<Value> {
        let gpu = self.gpu;
        match prim {
            Prim::Reduction(ReductionFn::Minimum | ReductionFn::Maximum) => {
                soac::extreme(gpu, array, prim == Prim::Reduction(ReductionFn::Minimum)).map(|[x, _]| Value::Array(x))
            }
            Prim::Reduction(ReductionFn::Argmin | ReductionFn::Argmax) => {
                soac::extreme(gpu, array, prim == Prim::Reduction(ReductionFn::Argmin)).map(|[_, i]| Value::Array(i))
            }
            Prim::Reduction(ReductionFn::Any | ReductionFn::All) => {
                soac::any(gpu, array, prim == Prim::Reduction(ReductionFn::All)).map(Value::Array)
            }
            Prim::Reduction(ReductionFn::Prod) => soac::along(gpu, array, Bin::Mul).map(Value::Array),
            Prim::Reduction(ReductionFn::Cumprod) => soac::running(gpu, array, Bin::Mul, false).map(Value::Array),
            _ => unsupported(format!("`{}`", prim.name())),
        }
    }
}

//! Invariants 3 and 4 for operations without blocks: types of operands and results.

use crate::collective::Collective;
use crate::func::{Function, Program, Var};
use crate::op::{Contract, Conv, Op};
use crate::print;
use crate::ty::Ty;
use adl_prim::{Bin, Un};

/// The result types of an operation.
pub(crate) enum ResultTypes {
    /// Exactly these types.
    Tys(Vec<Ty>),
    /// One array, of rank one more than this type.
    OneMore(Ty),
    /// One array of any rank with this element type.
    ArrayOf(Ty),
    /// Not determined by the operation.
    Anything,
}

type TypeCheck<T> = Result<T, String>;

/// Checks the operands and results of an operation without blocks, linear or not. Control flow is accepted.
pub(super) fn check(p: &Program, f: &Function, op: &Op, outs: &[Var]) -> TypeCheck<()> {
    let found = f.tys(outs);
    let show = |ts: &[Ty]| ts.iter().map(print::ty).collect::<Vec<_>>().join(", ");
    let one = |what: String, ok: &dyn Fn(&Ty) -> bool| match found.as_slice() {
        [t] if ok(t) => Ok(()),
        _ => Err(format!("gives {what}, not ({})", show(&found))),
    };
    match expected(p, f, op)? {
        ResultTypes::Tys(tys) if tys == found => Ok(()),
        ResultTypes::Tys(tys) => Err(format!("gives ({}), not ({})", show(&tys), show(&found))),
        ResultTypes::OneMore(t) => {
            one(format!("an array of {}", print::ty(&t)), &|out| out.rank() > 0 && out.elem() == t)
        }
        ResultTypes::ArrayOf(t) => {
            one(format!("an array of {} of any rank", print::ty(&t)), &|out| out.rank() > 0 && *out.scalar() == t)
        }
        ResultTypes::Anything => Ok(()),
    }
}

/// What an operation gives, if its operands have the types that it requires.
pub(crate) fn expected(p: &Program, f: &Function, op: &Op) -> TypeCheck<ResultTypes> {
    TypeChecker { p, f }.of(op)
}

struct TypeChecker<'a> {
    p: &'a Program,
    f: &'a Function,
}

fn need(ok: bool, why: impl FnOnce() -> String) -> TypeCheck<()> {
    if ok { Ok(()) } else { Err(why()) }
}

fn gives(t: Ty) -> TypeCheck<ResultTypes> {
    Ok(ResultTypes::Tys(vec![t]))
}

impl TypeChecker<'_> {
    fn ty(&self, v: Var) -> Ty {
        self.f.ty(v).clone()
    }

    /// Requires that operand `v` has type `t`.
    fn is(&self, v: Var, t: &Ty) -> TypeCheck<()> {
        let found = self.f.ty(v);
        need(found == t, || format!("{} is {}, not {}", print::var(self.f, v), print::ty(found), print::ty(t)))
    }

    fn all(&self, vs: &[Var], t: &Ty) -> TypeCheck<()> {
        vs.iter().try_for_each(|v| self.is(*v, t))
    }

    fn array(&self, v: Var) -> TypeCheck<Ty> {
        let t = self.ty(v);
        need(t.rank() > 0, || format!("{} is {}, not an array", print::var(self.f, v), print::ty(&t)))?;
        Ok(t)
    }

    fn rank(&self, v: Var, rank: u32) -> TypeCheck<Ty> {
        let t = self.array(v)?;
        need(t.rank() == rank && t.scalar().is_flat(), || {
            format!("{} is {}, not an array of numbers of rank {rank}", print::var(self.f, v), print::ty(&t))
        })?;
        Ok(t)
    }

    /// Checks an optional operand such as `shape`, if present.
    fn extra(&self, v: &Option<Var>, t: &Ty) -> TypeCheck<()> {
        v.map_or(Ok(()), |v| self.is(v, t))
    }

    fn of(&self, op: &Op) -> TypeCheck<ResultTypes> {
        let (int, shape) = (Ty::I64, Ty::shape());
        match op {
            Op::Lit(l) => gives(l.ty()),
            Op::Zero(t) => gives(t.clone()),
            Op::Un(u, a) => self.un(*u, *a),
            Op::Bin(b, x, y) => self.bin(*b, *x, *y),
            Op::Cmp(_, x, y) => self.cmp(*x, *y),
            Op::Not(a) => {
                let t = self.ty(*a);
                need(*t.scalar() == Ty::Bool, || "the operand of `not` is no Bool".to_owned())?;
                gives(t)
            }
            Op::Select(c, x, y) => self.select(*c, *x, *y),
            Op::Convert(c, a) => self.convert(*c, *a),
            Op::Prim(..) => Ok(ResultTypes::Anything),
            Op::Dim(a, axis) => {
                let t = self.array(*a)?;
                need(*axis < t.rank(), || format!("there is no axis {axis} in {}", print::ty(&t)))?;
                gives(int)
            }
            Op::Shape(a) => self.array(*a).and_then(|_| gives(shape)),
            Op::Size(a) => self.array(*a).and_then(|_| gives(int)),
            Op::Zeros(a) => self
                .array(*a)
                .and_then(|t| {
                    need(t.rank() == 1 && t.elem().is_real(), || "zeros are of a vector of real numbers".into())
                })
                .and_then(|()| gives(shape)),
            Op::Nonzero(a) => self.is(*a, &Ty::Bool.array(1)).and_then(|()| gives(shape)),
            Op::Reverse(a) => self.array(*a).and_then(gives),
            Op::Cumsum { a, .. } => self.array(*a).and_then(|t| self.additive(&t).and_then(|()| gives(t))),
            Op::Rotate { n, a } => self.is(*n, &int).and_then(|()| self.array(*a)).and_then(gives),
            Op::Replicate { n, a } => self.is(*n, &int).map(|()| ResultTypes::OneMore(self.ty(*a))),
            Op::Broadcast { a, shape: s } => {
                self.is(*s, &shape)?;
                need(self.f.ty(*a).is_flat(), || "only a number is spread".to_owned())?;
                Ok(ResultTypes::ArrayOf(self.ty(*a)))
            }
            Op::Dup(a) => Ok(ResultTypes::Tys(vec![self.ty(*a); 2])),
            Op::Drop(_) => Ok(ResultTypes::Tys(Vec::new())),
            Op::Collective { kind, args, at } => self.collective(*kind, args, *at),
            Op::Construct { .. } | Op::Destruct { .. } => self.data(op),
            Op::Dot(..) | Op::MatMul(..) | Op::Outer(..) => self.product(op),
            Op::Contract(c) => self.contraction(c),
            Op::If(..) | Op::Switch(..) | Op::Loop(_) | Op::Call { .. } | Op::Soac(_) | Op::ReduceByIndex { .. } => {
                Ok(ResultTypes::Anything)
            }
            Op::Index { .. } | Op::IndexAdd { .. } | Op::IndexSet { .. } | Op::Slice { .. } | Op::SliceAdd { .. } => {
                self.part(op)
            }
            Op::Gather { .. } | Op::GatherAdd { .. } => self.part(op),
            Op::Concat { .. }
            | Op::Reshape { .. }
            | Op::Transpose(_)
            | Op::Sum { .. }
            | Op::SumAll { .. }
            | Op::ArrayLit { .. } => self.whole(op),
        }
    }

    /// The result type of a read or update of a part of an array.
    fn part(&self, op: &Op) -> TypeCheck<ResultTypes> {
        let shape = Ty::shape();
        match op {
            Op::Index { a, at, shape: s } => self.extra(s, &shape).and_then(|()| self.at(*a, at)).and_then(gives),
            Op::IndexAdd { acc, at, v, shape: s } | Op::IndexSet { acc, at, v, shape: s } => {
                self.extra(s, &shape)?;
                self.is(*v, &self.at(*acc, at)?)?;
                gives(self.ty(*acc))
            }
            Op::Slice { a, lo, hi, shape: s } => {
                self.extra(s, &shape)?;
                self.all(&[*lo, *hi], &Ty::I64)?;
                self.array(*a).and_then(gives)
            }
            Op::SliceAdd { acc, lo, hi, v, shape: s } => {
                self.extra(s, &shape)?;
                self.all(&[*lo, *hi], &Ty::I64)?;
                self.is(*v, &self.array(*acc)?)?;
                gives(self.ty(*acc))
            }
            Op::Gather { a, at, shape: s } => {
                self.extra(s, &shape)?;
                self.is(*at, &shape)?;
                self.array(*a).and_then(gives)
            }
            Op::GatherAdd { acc, at, v, shape: s } => {
                self.extra(s, &shape)?;
                self.is(*at, &shape)?;
                self.is(*v, &self.array(*acc)?)?;
                gives(self.ty(*acc))
            }
            _ => Ok(ResultTypes::Anything),
        }
    }

    /// The result type of an operation on entire arrays that changes the shape.
    fn whole(&self, op: &Op) -> TypeCheck<ResultTypes> {
        match op {
            Op::Concat { a, b, len, shape } => {
                self.extra(len, &Ty::I64)?;
                self.extra(shape, &Ty::shape())?;
                let t = self.array(*a)?;
                self.is(*b, &t)?;
                gives(t)
            }
            Op::Reshape { a, to, from } => {
                self.extra(from, &Ty::shape())?;
                self.is(*to, &Ty::shape())?;
                Ok(ResultTypes::ArrayOf(self.array(*a)?.scalar().clone()))
            }
            Op::Transpose(a) => {
                let t = self.array(*a)?;
                need(t.rank() > 1, || "only an array of two axes or more is transposed".to_owned())?;
                gives(t)
            }
            Op::Sum { a, n } => {
                self.extra(n, &Ty::I64)?;
                let t = self.array(*a)?;
                self.additive(&t)?;
                gives(t.elem())
            }
            Op::SumAll { a, shape } => {
                self.extra(shape, &Ty::shape())?;
                let t = self.array(*a)?;
                self.additive(t.scalar())?;
                gives(t.scalar().clone())
            }
            Op::ArrayLit { elems, shape } => {
                self.extra(shape, &Ty::shape())?;
                let Some(first) = elems.first() else { return Err("nothing is stacked".to_owned()) };
                let t = self.ty(*first);
                self.all(elems, &t)?;
                Ok(ResultTypes::OneMore(t))
            }
            _ => Ok(ResultTypes::Anything),
        }
    }

    fn at(&self, a: Var, at: &[Var]) -> TypeCheck<Ty> {
        self.all(at, &Ty::I64)?;
        let t = self.array(a)?;
        need(at.len() <= t.rank() as usize, || format!("{} indices in {}", at.len(), print::ty(&t)))?;
        Ok(at.iter().fold(t, |t, _| t.elem()))
    }

    fn additive(&self, t: &Ty) -> TypeCheck<()> {
        need(!matches!(t.scalar(), Ty::Bool | Ty::Str), || format!("{} has no sum", print::ty(t)))
    }

    fn un(&self, u: Un, a: Var) -> TypeCheck<ResultTypes> {
        let t = self.ty(a);
        let ok = match t.scalar() {
            Ty::F64 | Ty::F32 => true,
            Ty::I64 => matches!(u, Un::Neg | Un::Abs | Un::Sign | Un::Powi(_)),
            Ty::Data(_) | Ty::Array(..) => u == Un::Neg,
            Ty::Bool | Ty::Str => false,
        };
        need(ok, || format!("it is not defined on {}", print::ty(&t)))?;
        gives(t)
    }

    /// Both operands have one element type; an array is combined with an array of its rank, or with a scalar.
    fn bin(&self, op: Bin, x: Var, y: Var) -> TypeCheck<ResultTypes> {
        let (a, b) = (self.ty(x), self.ty(y));
        let wrong = || format!("it is not defined on {} and {}", print::ty(&a), print::ty(&b));
        if !a.scalar().is_flat() || !b.scalar().is_flat() {
            return self.compound(op, a.clone(), b.clone()).ok_or_else(wrong);
        }
        let real_only = matches!(op, Bin::Div | Bin::Pow | Bin::Atan2 | Bin::Hypot);
        let kind = a.scalar().is_real() || *a.scalar() == Ty::I64 && !real_only;
        let ranks = a.rank() == b.rank() || a.rank() == 0 || b.rank() == 0;
        need(kind && ranks && a.scalar() == b.scalar(), wrong)?;
        gives(if a.rank() >= b.rank() { a } else { b })
    }

    /// Data and boxed arrays form vector spaces: sums, and scaling by a real number.
    fn compound(&self, op: Bin, a: Ty, b: Ty) -> Option<ResultTypes> {
        let t = match op {
            Bin::Add | Bin::Sub if a == b => a,
            Bin::Mul | Bin::ScaleTangent if a.is_real() => b,
            Bin::Mul | Bin::Div if b.is_real() => a,
            _ => return None,
        };
        (*t.scalar() != Ty::Str).then(|| ResultTypes::Tys(vec![t]))
    }

    fn cmp(&self, x: Var, y: Var) -> TypeCheck<ResultTypes> {
        let (a, b) = (self.ty(x), self.ty(y));
        let ranks = a.rank() == b.rank() || a.rank() == 0 || b.rank() == 0;
        let rank = a.rank().max(b.rank());
        let known = a.scalar().is_flat() || a == Ty::Str;
        need(known && ranks && a.scalar() == b.scalar(), || {
            format!("{} and {} cannot be compared", print::ty(&a), print::ty(&b))
        })?;
        gives(Ty::Bool.array(rank))
    }

    fn select(&self, c: Var, x: Var, y: Var) -> TypeCheck<ResultTypes> {
        let (cond, a, b) = (self.ty(c), self.ty(x), self.ty(y));
        if cond == Ty::Bool {
            self.is(y, &a)?;
            return gives(a);
        }
        let fits = |t: &Ty| t.scalar().is_flat() && (t.rank() == 0 || t.rank() == cond.rank());
        need(*cond.scalar() == Ty::Bool, || "the condition is no Bool".to_owned())?;
        need(fits(&a) && fits(&b) && a.scalar() == b.scalar(), || {
            format!("{} and {} do not fit the condition", print::ty(&a), print::ty(&b))
        })?;
        gives(a.scalar().array(cond.rank()))
    }

    fn convert(&self, c: Conv, a: Var) -> TypeCheck<ResultTypes> {
        let t = self.ty(a);
        need(t.scalar().is_flat(), || format!("{} is no number", print::ty(&t)))?;
        let to = match c {
            Conv::ToF64 => Ty::F64,
            Conv::ToF32 => Ty::F32,
            Conv::ToI64 => Ty::I64,
        };
        gives(to.array(t.rank()))
    }

    fn product(&self, op: &Op) -> TypeCheck<ResultTypes> {
        let (left, right, rank) = match op {
            Op::Dot(a, b) => {
                let rank = self.f.ty(*a).rank().max(1);
                (self.rank(*a, rank)?, self.rank(*b, rank)?, 0)
            }
            Op::Outer(a, b) => {
                let rank = self.f.ty(*b).rank();
                (self.rank(*a, 1)?, self.rank(*b, rank.max(1))?, 1 + rank)
            }
            Op::MatMul(a, b) => {
                let ranks = (self.f.ty(*a).rank(), self.f.ty(*b).rank());
                need(matches!(ranks, (1, 2..) | (2, 1..)), || {
                    format!("no product of ranks {} and {}", ranks.0, ranks.1)
                })?;
                (self.rank(*a, ranks.0)?, self.rank(*b, ranks.1)?, ranks.0 + ranks.1 - 2)
            }
            _ => return Ok(ResultTypes::Anything),
        };
        need(left.scalar() == right.scalar() && *left.scalar() != Ty::Bool, || {
            format!("no product of {} and {}", print::ty(&left), print::ty(&right))
        })?;
        gives(left.scalar().array(rank))
    }

    fn contraction(&self, c: &Contract) -> TypeCheck<ResultTypes> {
        let rank = self.ty(c.a).rank();
        need((1..=2).contains(&rank), || "a contraction is of matrices, or of a vector and a matrix".to_owned())?;
        self.is(c.a, &Ty::F64.array(rank))?;
        self.is(c.b, &Ty::F64.array(2))?;
        c.size.iter().try_for_each(|v| self.is(*v, &Ty::I64))?;
        gives(Ty::F64.array(rank))
    }

    fn collective(&self, kind: Collective, args: &[Var], at: Option<Var>) -> TypeCheck<ResultTypes> {
        let wanted = match kind {
            kind if kind.by_lengths() => Some(Ty::shape()),
            kind if kind.by_rank() || kind.by_chunks() => Some(Ty::I64),
            _ => None,
        };
        match (wanted, at) {
            (Some(t), Some(v)) => self.is(v, &t)?,
            (None, None) => {}
            _ => return Err(format!("`{}` with another operand `at`", kind.word())),
        }
        let tys: Vec<Ty> = args.iter().map(|v| self.ty(*v)).collect();
        need(!tys.is_empty(), || "nothing is sent".to_owned())?;
        tys.iter().try_for_each(|t| {
            need(*t.scalar() != Ty::Str && (t.rank() > 0 || !kind.on_rows()), || {
                format!("`{}` does not send {}", kind.word(), print::ty(t))
            })?;
            if kind.adds() { self.additive(t) } else { Ok(()) }
        })?;
        Ok(ResultTypes::Tys(tys))
    }

    fn data(&self, op: &Op) -> TypeCheck<ResultTypes> {
        match op {
            Op::Construct { data, tag, fields } => {
                let want = constructor(self.p, *data, *tag)?;
                need(want.len() == fields.len(), || format!("{} fields, not {}", want.len(), fields.len()))?;
                fields.iter().zip(&want).try_for_each(|(v, t)| self.is(*v, t))?;
                gives(Ty::Data(*data))
            }
            Op::Destruct { a, data, tag } => {
                self.is(*a, &Ty::Data(*data))?;
                constructor(self.p, *data, *tag).map(ResultTypes::Tys)
            }
            _ => Ok(ResultTypes::Anything),
        }
    }
}

/// The fields of a constructor.
pub(super) fn constructor(p: &Program, data: crate::ty::DataId, tag: u32) -> TypeCheck<Vec<Ty>> {
    let d = p.datas.get(data.0 as usize).ok_or_else(|| format!("there is no data type D{}", data.0))?;
    let c = d.cons.get(tag as usize).ok_or_else(|| format!("D{} has no constructor {tag}", data.0))?;
    Ok(c.1.clone())
}

//! Values that differ from rank to rank. In the IR `Each a` is laid out as `a`; that it differs is known here alone.
//!
//! The body of `comm.each` is specialised where it stands. What its function captures is plain, except for parts of
//! values that differ: each plain variable with a tangent passes through [`Collective::Spread`], whose transpose sums
//! the cotangents of all ranks. The body is local, so operations on all ranks are refused in it.

use crate::val::{Fun, Val};
use crate::{Attempt, Spec};
use adl_ir::{Collective, Lit, Op, Ty as IrTy, Var};
use adl_prim::CommFn;
use adl_typing::ty;
use std::collections::HashMap;
use std::rc::Rc;

/// A value that differs from rank to rank.
fn differing(v: Val) -> Val {
    Val::Record(vec![(ty::each_field(), v)])
}

impl Val {
    /// The part of each rank, if the value is an `Each`.
    pub(crate) fn of_each(&self) -> Option<&Val> {
        match self {
            Val::Record(fields) => match fields.as_slice() {
                [(name, v)] if *name == ty::each_field() => Some(v),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Spec<'_> {
    /// A function of module `comm`. `here`: its function is a literal at the application.
    pub(crate) fn comm_prim(&mut self, prim: CommFn, args: &[Val], here: bool) -> Attempt<Val> {
        let kind = match prim {
            CommFn::Size => {
                return Ok(Val::Leaf(self.b.one(Op::Prim(prim.into(), Vec::new()), IrTy::I64)));
            }
            _ if self.local => return Err(self.no("an operation on all ranks inside `comm.each`")),
            CommFn::Rank => {
                return Ok(differing(Val::Leaf(self.b.one(Op::Prim(prim.into(), Vec::new()), IrTy::I64))));
            }
            CommFn::Each => return self.on_each_rank(&args[0], &args[1], here),
            CommFn::FoldChunks => return self.fold_chunks(&args[0], &args[1]),
            CommFn::Zip => {
                return Ok(differing(Val::Tuple(vec![self.part_of(&args[0])?, self.part_of(&args[1])?])));
            }
            prim => match Collective::of(prim) {
                Some(kind) => kind,
                None => return Err(self.no("lengths of parts by themselves")),
            },
        };
        self.collective(kind, args)
    }

    fn collective(&mut self, kind: Collective, args: &[Val]) -> Attempt<Val> {
        let [.., last] = args else { return Err(self.no("a collective without a value")) };
        let value = if kind.takes_plain() { last.clone() } else { self.part_of(last)? };
        let at = match args {
            [by, _] => Some(self.leaf(by)?),
            _ if kind.by_lengths() => {
                let n = self.extent(&value, 0)?;
                Some(match kind {
                    Collective::Mine | Collective::ScatterSum => self.b.prim(CommFn::Blocks, &[n], IrTy::shape()),
                    _ => {
                        self.effects += 1;
                        self.b.prim(CommFn::Lengths, &[n], IrTy::shape())
                    }
                })
            }
            _ => None,
        };
        let made = self.exchanged(kind, &value, at)?;
        Ok(if kind.gives_plain() { made } else { differing(made) })
    }

    /// Applies a collective to the leaves of a value, in one operation.
    fn exchanged(&mut self, kind: Collective, value: &Val, at: Option<Var>) -> Attempt<Val> {
        if value.has_fun() {
            return Err(self.no("functions that are sent to other ranks"));
        }
        let leaves = value.leaves();
        let mut args = Vec::new();
        for x in &leaves {
            let t = self.b.ty(*x);
            let sent = t.scalar().is_flat() && (!kind.adds() || *t.scalar() != IrTy::Bool);
            match kind {
                // What has no tangent needs no transpose.
                Collective::Spread if !self.has_tangent(*x) => {}
                Collective::Spread => args.push(*x),
                _ if sent => args.push(*x),
                _ => {
                    return Err(
                        self.no(format!("`comm.{}` of texts, declared data, or Bools that are added", kind.word()))
                    );
                }
            }
        }
        if args.is_empty() {
            return Ok(value.clone());
        }
        let tys: Vec<IrTy> = args.iter().map(|x| self.b.ty(*x)).collect();
        let (outs, _) = self.b.emit(Op::Collective { kind, args: args.clone(), at }, &tys, &[]);
        self.effects += 1;
        let made: HashMap<Var, Var> = args.into_iter().zip(outs).collect();
        Ok(value.map(&mut |x| made.get(&x).copied().unwrap_or(x)))
    }

    fn on_each_rank(&mut self, f: &Val, x: &Val, here: bool) -> Attempt<Val> {
        let part = self.part_of(x)?;
        let f = self.function_of(f)?;
        let f = self.spread_captured(&f, Collective::Spread, None)?;
        let outside = std::mem::replace(&mut self.local, true);
        let made = if here { self.apply_here(&f, vec![part], None) } else { self.call(&f, vec![part], None) };
        self.local = outside;
        match made? {
            Val::Bottom => Ok(Val::Bottom),
            v => Ok(differing(v)),
        }
    }

    /// A function of the block of chunks of each rank.
    fn fold_chunks(&mut self, f: &Val, n: &Val) -> Attempt<Val> {
        let n = self.leaf(n)?;
        let f = self.function_of(f)?;
        let f = self.spread_captured(&f, Collective::SpreadRows, Some(n))?;
        let block = Val::Leaf(self.b.prim(CommFn::Block, &[n], IrTy::shape()));
        let ends = [0, 1].map(|k| self.lit(Lit::I64(k)));
        let ends = ends.into_iter().map(|k| self.element(&block, &[k])).collect::<Attempt<Vec<_>>>()?;
        let outside = std::mem::replace(&mut self.local, true);
        let made = self.call(&f, ends, None);
        self.local = outside;
        match made? {
            Val::Bottom => Ok(Val::Bottom),
            v => Ok(differing(v)),
        }
    }

    /// The function with each plain number that it captures passed through an operation of the kind.
    pub(crate) fn spread_captured(&mut self, fun: &Rc<Fun>, kind: Collective, at: Option<Var>) -> Attempt<Rc<Fun>> {
        let mut args: Vec<Var> = Vec::new();
        for x in fun.plain_leaves() {
            if self.has_tangent(x) && !args.contains(&x) {
                args.push(x);
            }
        }
        if args.is_empty() {
            return Ok(fun.clone());
        }
        let tys: Vec<IrTy> = args.iter().map(|x| self.b.ty(*x)).collect();
        let (outs, _) = self.b.emit(Op::Collective { kind, args: args.clone(), at }, &tys, &[]);
        self.effects += usize::from(kind != Collective::Fork);
        let made: HashMap<Var, Var> = args.into_iter().zip(outs).collect();
        Ok(Rc::new(fun.map_plain(&mut |x| made.get(&x).copied().unwrap_or(x))))
    }

    fn part_of(&self, v: &Val) -> Attempt<Val> {
        match (v.of_each(), v) {
            (Some(part), _) => Ok(part.clone()),
            (None, Val::Bottom) => Ok(Val::Bottom),
            _ => Err(self.no("a value of each rank that is laid out otherwise")),
        }
    }
}

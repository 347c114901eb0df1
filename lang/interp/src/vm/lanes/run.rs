//! Batched execution of instructions.

use super::shape::{lanes_of, same};
use super::{DEPTH, Give, Lane, Lanes, SPLITS, Siblings, Try};
use crate::ops::{self, interrupt::InterruptFlag};
use crate::value::{Buf, Data, Record, Rep, Tuple, Value, compare, seq};
use crate::vm::code::{Code, I, IndexKind, R};
use crate::vm::parts::{compare_values, literal_equal, number_at, rep_with, step_into};
use crate::vm::{Fun, Group};
use adl_prim::Cmp;
use adl_typing::core::{Projection, SizeAt};
use std::rc::Rc;

/// The batched activation of a function. The lanes of a register are those of the `version` in which it was
/// written. They are narrowed to the current lanes when the register is read after branches.
#[derive(Clone)]
struct Frame {
    code: Rc<Code>,
    siblings: Siblings,
    n: usize,
    regs: Vec<(Lane, usize)>,
    /// For each earlier version, the positions of the current lanes in it.
    selections: Vec<Rc<Vec<i64>>>,
}

impl Frame {
    fn set(&mut self, r: R, l: Lane) {
        self.regs[r as usize] = (l, self.selections.len());
    }
}

impl Lanes<'_> {
    /// Applies a function in all lanes.
    pub(super) fn call(&mut self, lanes: usize, f: Lane, mut args: Vec<Lane>) -> Try<Lane> {
        let own = f.clone();
        let (code, captured, siblings) = match f {
            Lane::Closure(code, captured) => (code, captured, None),
            Lane::Partial(g, first) => return self.call(lanes, *g, first.into_iter().chain(args).collect()),
            Lane::Same(Value::Fun(f)) => {
                if lanes > 0 && args.iter().all(|a| same(a).is_some()) {
                    let args = args.iter().filter_map(same).cloned().collect();
                    return Ok(Lane::Same(self.m.call_fun(f, args)?));
                }
                let all = |vs: &[Value]| vs.iter().cloned().map(Lane::Same).collect::<Vec<_>>();
                match &*f {
                    Fun::Closure(code, c) => (code.clone(), all(c), None),
                    Fun::Member(g, i) => (g.codes[*i as usize].clone(), all(&g.captured), Some((g.clone(), *i))),
                    Fun::Partial(g, first) => {
                        let args = all(first).into_iter().chain(args).collect();
                        return self.call(lanes, Lane::Same(Value::Fun(g.clone())), args);
                    }
                    Fun::Prim(p, reps) if args.len() == p.row().arity as usize => {
                        return self.primitive(lanes, *p, reps, args);
                    }
                    Fun::Prim(p, _) if args.len() < p.row().arity as usize => {
                        return Ok(Lane::Partial(Box::new(own), args));
                    }
                    // The others have no code of their own.
                    _ => return Err(Give::Never),
                }
            }
            _ => return Err(Give::Never),
        };
        let params = code.params as usize;
        if args.len() < params {
            return Ok(Lane::Partial(Box::new(own), args));
        }
        let rest = args.split_off(params);
        let out = self.enter(lanes, code, siblings, args, captured)?;
        if rest.is_empty() { Ok(out) } else { self.call(lanes, out, rest) }
    }

    fn enter(
        &mut self,
        n: usize,
        code: Rc<Code>,
        siblings: Siblings,
        args: Vec<Lane>,
        captured: Vec<Lane>,
    ) -> Try<Lane> {
        let mut regs: Vec<(Lane, usize)> = args.into_iter().chain(captured).map(|l| (l, 0)).collect();
        regs.resize(code.registers as usize, (Lane::Same(Value::Unit), 0));
        self.nested(Frame { code, siblings, n, regs, selections: Vec::new() }, 0)
    }

    fn nested(&mut self, frame: Frame, pc: usize) -> Try<Lane> {
        if self.depth >= DEPTH {
            return Err(Give::Now);
        }
        self.depth += 1;
        let out = crate::memory::on_stack(128 * 1024, 2 * 1024 * 1024, || self.steps(frame, pc));
        self.depth -= 1;
        out
    }

    /// The value of a register in the current lanes.
    fn get(&mut self, f: &mut Frame, r: R) -> Try<Lane> {
        let (lane, version) = &f.regs[r as usize];
        if *version == f.selections.len() || matches!(lane, Lane::Same(_)) {
            return Ok(lane.clone());
        }
        let at = f.selections[*version].clone();
        let l = self.select(&lane.clone(), &at)?;
        f.set(r, l.clone());
        Ok(l)
    }

    /// Moves the value out of a register that is not read again before it is written, so that it can be updated
    /// in place.
    fn take(&mut self, f: &mut Frame, r: R) -> Try<Lane> {
        let lane = self.get(f, r)?;
        f.set(r, Lane::Same(Value::Unit));
        Ok(lane)
    }

    fn range(&mut self, f: &mut Frame, first: R, n: u32) -> Try<Vec<Lane>> {
        (first..first + n).map(|r| self.take(f, r)).collect()
    }

    fn steps(&mut self, mut frame: Frame, mut pc: usize) -> Try<Lane> {
        let code = frame.code.clone();
        loop {
            let ins = code.instrs[pc];
            pc += 1;
            if frame.n == 0 {
                self.step()?;
            }
            match ins {
                I::Jump(t) => pc = t as usize,
                I::JumpUnless(..) | I::JumpUnlessCmp(..) => {
                    let (c, t) = self.tested(&mut frame, ins)?;
                    match self.condition(c)? {
                        Ok(true) => {}
                        Ok(false) => pc = t as usize,
                        Err(mask) => return self.branch(frame, &mask, pc, t as usize),
                    }
                }
                I::Switch(a, k) => {
                    let (targets, default) = &code.tables.targets[k as usize];
                    pc = match self.get(&mut frame, a)? {
                        Lane::Same(Value::Data(v)) => {
                            targets.get(v.con.tag as usize).copied().unwrap_or(*default) as usize
                        }
                        _ => return Err(Give::Never),
                    };
                }
                I::LoopHead(i, n, exit) => match (self.get(&mut frame, i)?, self.get(&mut frame, n)?) {
                    (Lane::Same(Value::Int(i)), Lane::Same(Value::Int(n))) if i >= n => pc = exit as usize,
                    (Lane::Same(Value::Int(_)), Lane::Same(Value::Int(_))) => {}
                    _ => return Err(Give::Never),
                },
                I::LoopNext(i, head) => {
                    let Lane::Same(Value::Int(k)) = self.get(&mut frame, i)? else { return Err(Give::Never) };
                    frame.set(i, Lane::Same(Value::Int(k + 1)));
                    self.m.poll()?;
                    pc = head as usize;
                }
                I::Back(head) => {
                    self.m.poll()?;
                    pc = head as usize;
                }
                I::Ret(r) => return self.get(&mut frame, r),
                I::TailCall(g, first, n) => {
                    let (g, args) = (self.get(&mut frame, g)?, self.range(&mut frame, first, n)?);
                    self.m.poll()?;
                    return self.call(frame.n, g, args);
                }
                I::TailSibling(k, first, n) => {
                    let args = self.range(&mut frame, first, n)?;
                    self.m.poll()?;
                    return self.sibling_call(&frame, k, args);
                }
                other => self.value_step(&mut frame, &code, other)?,
            }
        }
    }

    /// The condition and the target of a conditional jump.
    fn tested(&mut self, f: &mut Frame, ins: I) -> Try<(Lane, u32)> {
        match ins {
            I::JumpUnless(c, t) => Ok((self.get(f, c)?, t)),
            I::JumpUnlessCmp(op, a, b, t) => {
                let (a, b) = (self.get(f, a)?, self.get(f, b)?);
                Ok((self.compare(f.n, op, &a, &b)?, t))
            }
            _ => Err(Give::Never),
        }
    }

    fn sibling_call(&mut self, f: &Frame, k: u32, args: Vec<Lane>) -> Try<Lane> {
        let Some((g, _)) = &f.siblings else { return Err(Give::Never) };
        self.call(f.n, Lane::Same(Value::Fun(Rc::new(Fun::Member(g.clone(), k)))), args)
    }

    /// A condition: one Bool if it is equal in all lanes, otherwise one for each lane.
    fn condition(&mut self, c: Lane) -> Try<Result<bool, Vec<bool>>> {
        let mask = match c {
            Lane::Same(v) => return Ok(Ok(matches!(v, Value::Bool(true)))),
            Lane::Each(Value::Array(a)) => match a.buf() {
                Buf::Bool(b) => b.clone(),
                _ => return Err(Give::Never),
            },
            _ => return Err(Give::Never),
        };
        Ok(match (mask.contains(&true), mask.contains(&false)) {
            (true, true) | (false, false) => Err(mask),
            (yes, _) => Ok(yes),
        })
    }

    /// Runs both sides of a branch to their ends, each on its lanes.
    fn branch(&mut self, frame: Frame, mask: &[bool], then: usize, otherwise: usize) -> Try<Lane> {
        self.splits += 1;
        if self.splits > SPLITS {
            return Err(Give::Now);
        }
        let chosen = mask.iter().filter(|c| **c).count();
        let (mut yes, mut no, mut from) =
            (Vec::with_capacity(chosen), Vec::with_capacity(mask.len() - chosen), Vec::with_capacity(mask.len()));
        for (i, c) in mask.iter().enumerate() {
            let side = if *c { &mut yes } else { &mut no };
            from.push(side.len() as i64);
            side.push(i as i64);
        }
        let (na, nb) = (yes.len(), no.len());
        if na + nb == 0 {
            let either = self.nested(frame.clone(), otherwise);
            return if either.is_ok() { either } else { self.nested(frame, then) };
        }
        for (k, c) in from.iter_mut().zip(mask) {
            *k += if *c { 0 } else { na as i64 };
        }
        let a = self.nested(narrowed(frame.clone(), yes), then)?;
        let b = self.nested(narrowed(frame, no), otherwise)?;
        self.merge((a, na), (b, nb), &from)
    }

    /// Instructions that compute values.
    fn value_step(&mut self, frame: &mut Frame, code: &Code, ins: I) -> Try<()> {
        let (dest, out) = match ins {
            I::Const(d, k) => (d, Lane::Same(code.consts[k as usize].clone())),
            I::Move(d, s) => (d, self.get(frame, s)?),
            I::Take(d, s) => (d, self.take(frame, s)?),
            I::Global(d, g) => (d, Lane::Same(self.m.global(g).cloned().ok_or(Give::Now)?)),
            I::Un(op, d, a) => {
                let a = self.get(frame, a)?;
                (d, self.un(op, a)?)
            }
            I::Bin(op, d, a, b) => {
                let (a, b) = (self.get(frame, a)?, self.get(frame, b)?);
                (d, self.bin(frame.n, op, &a, &b)?)
            }
            I::Cmp(op, d, a, b) => {
                let (a, b) = (self.get(frame, a)?, self.get(frame, b)?);
                (d, self.compare(frame.n, op, &a, &b)?)
            }
            I::Call(d, g, first, n) => {
                let (g, args) = (self.get(frame, g)?, self.range(frame, first, n)?);
                (d, self.call(frame.n, g, args)?)
            }
            I::CallSibling(d, k, first, n) => {
                let args = self.range(frame, first, n)?;
                (d, self.sibling_call(frame, k, args)?)
            }
            I::Sibling(d, k) => {
                let Some((g, _)) = &frame.siblings else { return Err(Give::Never) };
                (d, Lane::Same(Value::Fun(Rc::new(Fun::Member(g.clone(), k)))))
            }
            I::Prim(d, p, first, hidden, n) => {
                let reps: Vec<Value> = self.range(frame, first, hidden)?.iter().filter_map(same).cloned().collect();
                let args = self.range(frame, first + hidden, n)?;
                (d, self.primitive(frame.n, p, &reps, args)?)
            }
            I::PrimFun(d, p, first, n) => {
                let reps: Vec<Value> = self.range(frame, first, n)?.iter().filter_map(same).cloned().collect();
                (d, Lane::Same(Value::Fun(Rc::new(Fun::Prim(p, reps)))))
            }
            I::Closure(d, k, first, n) => {
                let captured = self.range(frame, first, n)?;
                let inner = code.codes[k as usize].clone();
                let common: Vec<Value> = captured.iter().filter_map(same).cloned().collect();
                (
                    d,
                    if common.len() == captured.len() {
                        Lane::Same(Value::Fun(Rc::new(Fun::Closure(inner, common))))
                    } else {
                        Lane::Closure(inner, captured)
                    },
                )
            }
            I::Group(d, k, first, n) => {
                let captured: Vec<Value> = self
                    .range(frame, first, n)?
                    .iter()
                    .map(|l| same(l).cloned().ok_or(Give::Never))
                    .collect::<Try<_>>()?;
                let codes = code.groups[k as usize].clone();
                let members = codes.len() as u32;
                let group = Rc::new(Group { codes, captured });
                for i in 0..members {
                    frame.set(d + i, Lane::Same(Value::Fun(Rc::new(Fun::Member(group.clone(), i)))));
                }
                return Ok(());
            }
            other => return self.data_step(frame, code, other),
        };
        frame.set(dest, out);
        Ok(())
    }

    /// Instructions that construct and destructure data.
    fn data_step(&mut self, frame: &mut Frame, code: &Code, ins: I) -> Try<()> {
        let (dest, out) = match ins {
            I::Tuple(d, first, n) => (d, tuple(self.range(frame, first, n)?)),
            I::Record(d, k, first, n) => (d, record(&code.tables.names[k as usize], self.range(frame, first, n)?)),
            I::Con(d, k, first, n) => {
                let fields = self
                    .range(frame, first, n)?
                    .iter()
                    .map(|l| same(l).cloned().ok_or(Give::Never))
                    .collect::<Try<_>>()?;
                (d, Lane::Same(Value::Data(Rc::new(Data { con: code.tables.cons[k as usize].clone(), fields }))))
            }
            I::Array(d, first, n) => {
                let parts = self.range(frame, first, n)?;
                (d, self.array(frame.n, &parts)?)
            }
            I::Item(d, a, i) => (d, part(self.get(frame, a)?, Projection::Item(i))?),
            I::Field(d, a, name) => (d, part(self.get(frame, a)?, Projection::Field(name))?),
            I::Update(d, a, k, first, n) => {
                let (old, vals) = (self.get(frame, a)?, self.range(frame, first, n)?);
                (d, update(old, &code.tables.names[k as usize], vals)?)
            }
            other => return self.array_step(frame, code, other),
        };
        frame.set(dest, out);
        Ok(())
    }

    /// Instructions on array elements, comprehensions and literals.
    fn array_step(&mut self, frame: &mut Frame, code: &Code, ins: I) -> Try<()> {
        let (dest, out) = match ins {
            I::Index1(d, a, i) => {
                let (a, i) = (self.get(frame, a)?, self.get(frame, i)?);
                (d, self.element(frame.n, &a, &i)?)
            }
            I::Index(d, a, k, first) => {
                let kinds = code.tables.indices[k as usize].clone();
                let n: u32 = kinds.iter().map(super::super::parts::index_width).sum();
                let (a, at) = (self.get(frame, a)?, self.range(frame, first, n)?);
                (d, self.index(frame.n, a, &kinds, &at)?)
            }
            I::ConField(d, a, i) => match self.get(frame, a)? {
                Lane::Same(Value::Data(v)) => (d, Lane::Same(v.fields[i as usize].clone())),
                _ => return Err(Give::Never),
            },
            I::IsLit(d, a, k) => {
                let a = self.get(frame, a)?;
                (d, is_literal(&a, &code.consts[k as usize])?)
            }
            I::IsLen(d, a, n) => {
                let shape = super::shape::shape_of(&self.get(frame, a)?)?;
                (d, Lane::Same(Value::Bool(shape.and_then(|s| s.first().copied()).unwrap_or(0) == n as usize)))
            }
            I::Elem(d, a, i) => {
                let a = self.get(frame, a)?;
                (d, self.element(frame.n, &a, &Lane::Same(Value::Int(i64::from(i))))?)
            }
            I::For(d, k, g, first, n) => {
                let (g, mut args) = (self.get(frame, g)?, self.range(frame, first, n + 1)?);
                let rep = args.pop().as_ref().and_then(same).cloned().unwrap_or_default();
                let extents: Vec<Value> =
                    args.iter().map(|l| same(l).cloned().ok_or(Give::Never)).collect::<Try<_>>()?;
                (d, self.comprehension(frame.n, code.tables.kinds[k as usize], g, &extents, &rep)?)
            }
            other => return self.type_step(frame, code, other),
        };
        frame.set(dest, out);
        Ok(())
    }

    /// Instructions on sizes and run-time types. Any other instruction is not supported.
    fn type_step(&mut self, frame: &mut Frame, code: &Code, ins: I) -> Try<()> {
        let (dest, out) = match ins {
            I::AxisLen(d, a, axis) => {
                let shape = super::shape::shape_of(&self.get(frame, a)?)?.unwrap_or_default();
                (d, Lane::Same(Value::Int(shape.get(axis as usize).copied().unwrap_or(0) as i64)))
            }
            I::Rep(d, k) => {
                let regs = &frame.regs;
                let rep = rep_with(
                    &|l| same(&regs[l as usize].0).cloned().unwrap_or_default(),
                    &code.tables.reps[k as usize],
                );
                (d, Lane::Same(Value::Rep(rep)))
            }
            I::NumAt(d, k, rep) => {
                let rep = self.get(frame, rep)?;
                (d, Lane::Same(number_at(&code.consts[k as usize], same(&rep).ok_or(Give::Never)?)))
            }
            I::ZeroOf(d, rep) => match self.get(frame, rep)? {
                Lane::Same(Value::Rep(r)) if matches!(*r, Rep::Float | Rep::F32 | Rep::Int) => {
                    (d, Lane::Same(r.zero()))
                }
                _ => return Err(Give::Now),
            },
            I::SizeAt(d, k) => (d, Lane::Same(Value::Int(extent(frame, &code.tables.sizes[k as usize].0)?))),
            I::CheckSize(k, r) => {
                let (at, _, constant) = &code.tables.sizes[k as usize];
                let want = match (constant, &frame.regs[r as usize].0) {
                    (Some(c), _) => *c as i64,
                    (None, Lane::Same(Value::Int(n))) => *n,
                    _ => return Err(Give::Never),
                };
                return if extent(frame, at)? == want { Ok(()) } else { Err(Give::Now) };
            }
            I::SameExtent(a, b) => match (self.get(frame, a)?, self.get(frame, b)?) {
                (Lane::Same(Value::Int(x)), Lane::Same(Value::Int(y))) if x == y => return Ok(()),
                _ => return Err(Give::Now),
            },
            _ => return Err(Give::Never),
        };
        frame.set(dest, out);
        Ok(())
    }

    pub(super) fn compare(&mut self, lanes: usize, op: Cmp, a: &Lane, b: &Lane) -> Try<Lane> {
        if let (Some(x), Some(y)) = (same(a), same(b)) {
            return Ok(Lane::Same(Value::Bool(compare_values(op, x, y)?)));
        }
        if super::shape::shape_of(a)?.is_some() || super::shape::shape_of(b)?.is_some() {
            return Err(Give::Never);
        }
        let (x, y) = (plain(a)?, plain(b)?);
        let at = |v: &Value, i: usize| match v {
            Value::Array(a) => crate::value::array::elem(a, i),
            v => v.clone(),
        };
        let bits = match ops::compared(InterruptFlag(&self.m.interrupt), op, &x, &y, lanes) {
            Some(bits) => bits?,
            None => (0..lanes).map(|i| compare_values(op, &at(&x, i), &at(&y, i))).collect::<Result<Vec<bool>, _>>()?,
        };
        Ok(Lane::Each(crate::value::array::make(crate::value::Shape::from_slice(&[lanes]), Buf::Bool(bits))))
    }

    fn index(&mut self, lanes: usize, lane: Lane, kinds: &[IndexKind], at: &[Lane]) -> Try<Lane> {
        if let (Some(v), true) = (same(&lane), at.iter().all(|i| same(i).is_some())) {
            let at: Vec<Value> = at.iter().filter_map(same).cloned().collect();
            return Ok(Lane::Same(ops::index::index(self.m, &v.clone(), kinds, &at)?));
        }
        if !kinds.iter().all(|k| matches!(k, IndexKind::At)) {
            return self.slice(lanes, &lane, kinds, at);
        }
        if let Some(v) = self.elements(&lane, at)? {
            return Ok(v);
        }
        at.iter().try_fold(lane, |a, i| self.element(lanes, &a, i))
    }
}

/// The activation restricted to some of its lanes.
fn narrowed(mut f: Frame, at: Vec<i64>) -> Frame {
    f.n = at.len();
    for s in &mut f.selections {
        *s = Rc::new(at.iter().map(|i| s[*i as usize]).collect());
    }
    f.selections.push(Rc::new(at));
    f
}

/// The extent to which a size in a signature refers, in one lane's array.
fn extent(f: &Frame, at: &SizeAt) -> Try<i64> {
    let mut l = f.regs[at.from.0 as usize].0.clone();
    for s in &at.path {
        l = part(l, *s)?;
    }
    let shape = super::shape::shape_of(&l)?.unwrap_or_default();
    Ok(shape.get(at.axis as usize).copied().unwrap_or(0) as i64)
}

/// The values, if each of them is equal in all lanes.
fn all_same(parts: &[Lane]) -> Option<Vec<Value>> {
    parts.iter().map(|p| same(p).cloned()).collect()
}

fn tuple(parts: Vec<Lane>) -> Lane {
    match all_same(&parts) {
        Some(vals) => Lane::Same(Value::Tuple(Rc::new(Tuple(vals)))),
        None => Lane::Tuple(parts),
    }
}

fn record(names: &Rc<[adl_syntax::symbol::Symbol]>, parts: Vec<Lane>) -> Lane {
    match all_same(&parts) {
        Some(vals) => Lane::Same(Value::Record(Rc::new(Record { names: names.clone(), vals }))),
        None => Lane::Record(names.clone(), parts),
    }
}

/// The primal values of lanes, without derivative parts.
fn plain(l: &Lane) -> Try<Value> {
    match l {
        Lane::Same(v) | Lane::Each(v) => Ok(compare::primal(v)),
        Lane::Tuple(_) | Lane::Record(..) | Lane::Closure(..) | Lane::Partial(..) => Err(Give::Never),
    }
}

fn part(l: Lane, s: Projection) -> Try<Lane> {
    match (l, s) {
        (Lane::Same(v), s) => Ok(Lane::Same(step_into(&v, s)?)),
        (Lane::Tuple(mut ps), Projection::Item(i)) if (i as usize) < ps.len() => Ok(ps.swap_remove(i as usize)),
        (Lane::Record(names, mut ps), Projection::Field(name)) => match names.iter().position(|n| *n == name) {
            Some(i) => Ok(ps.swap_remove(i)),
            None => Err(Give::Never),
        },
        _ => Err(Give::Never),
    }
}

fn update(old: Lane, names: &[adl_syntax::symbol::Symbol], vals: Vec<Lane>) -> Try<Lane> {
    let (all, mut parts) = match old {
        Lane::Record(all, parts) => (all, parts),
        Lane::Same(Value::Record(r)) => (r.names.clone(), r.vals.iter().cloned().map(Lane::Same).collect()),
        _ => return Err(Give::Never),
    };
    for (name, v) in names.iter().zip(vals) {
        let i = all.iter().position(|n| n == name).ok_or(Give::Never)?;
        parts[i] = v;
    }
    Ok(Lane::Record(all, parts))
}

fn is_literal(l: &Lane, lit: &Value) -> Try<Lane> {
    match l {
        Lane::Same(v) => Ok(Lane::Same(Value::Bool(literal_equal(v, lit)?))),
        Lane::Each(_) => {
            let Value::Array(array) = plain(l)? else { return Err(Give::Never) };
            if array.shape.len() != 1 {
                return Err(Give::Never);
            }
            let bits = match (array.buf(), lit) {
                (Buf::I64(v), Value::Int(n)) => v.iter().map(|x| x == n).collect(),
                (Buf::Bool(v), Value::Bool(b)) => v.iter().map(|x| x == b).collect(),
                _ => (0..array.len())
                    .map(|i| literal_equal(&crate::value::array::elem(&array, i), lit))
                    .collect::<Result<Vec<bool>, _>>()?,
            };
            lanes_of(&crate::value::array::make(array.shape.clone(), Buf::Bool(bits)))
        }
        Lane::Tuple(_) | Lane::Record(..) | Lane::Closure(..) | Lane::Partial(..) => Err(Give::Never),
    }
}

/// The number of elements of each lane's array.
pub(super) fn row_len(v: &Value) -> usize {
    seq::shape(v).and_then(|s| s.get(1).copied()).unwrap_or(0)
}

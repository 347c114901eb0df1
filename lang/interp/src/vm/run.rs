//! The loop.

use super::code::{Cmp, Code, I};
use super::{Frame, Fun, Group, Machine, nowhere};
use crate::ad;
use crate::error::{Error, Res, codes};
use crate::ir;
use crate::ops::{self, arith};
use crate::value::{Buf, Data, Record, Rep, Tuple, Value, compare, seq, show};
use adl_prim::Bin;
use adl_typing::core::{self, SizeRep, Step};
use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::atomic::Ordering as Atomic;

/// Puts a number into a register. One that holds a number already is written as a number: writing the tag too, and reading both at once
/// later, would make the reader wait for the writer.
#[inline(always)]
fn set_float(slot: &mut Value, x: f64) {
    match slot {
        Value::Float(y) => *y = x,
        other => *other = Value::Float(x),
    }
}

/// Machine stack that one nested call through a primitive may take.
const REENTRY: usize = 4096;

impl Machine {
    pub(super) fn enter(&mut self, code: Rc<Code>) -> Res<Value> {
        let depth = self.frames.len();
        self.push_frame(code, None, 0)?;
        if let (Some(f), true) = (self.frames.last_mut(), self.compiler.is_some()) {
            // An expression is a function of `()`.
            f.args = Some([Value::Unit].into());
        }
        self.run(depth)
    }

    pub(super) fn push_frame(&mut self, code: Rc<Code>, fun: Option<Rc<Fun>>, dst: usize) -> Res<()> {
        let base = self.regs.len();
        if (base + code.registers as usize) * 16 + self.frames.len() * size_of::<Frame>() + self.reentries > self.stack_budget {
            return Err(super::too_deep());
        }
        self.regs.resize(base + code.registers as usize, Value::Unit);
        self.frames.push(Frame { code, fun, pc: 0, base, dst, args: None });
        Ok(())
    }

    /// Calls from primitives: a new loop on the (growing) machine stack.
    pub(crate) fn call_fun(&mut self, f: Rc<Fun>, args: Vec<Value>) -> Res<Value> {
        self.poll()?;
        self.nested(|m| m.call_inner(f, args))
    }

    /// Something that runs a loop of its own on the (growing) machine stack; frames of calls that fail are removed.
    pub(super) fn nested(&mut self, run: impl FnOnce(&mut Machine) -> Res<Value>) -> Res<Value> {
        let (depth, base) = (self.frames.len(), self.regs.len());
        self.reentries += REENTRY;
        let out = stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || run(self));
        self.reentries = self.reentries.saturating_sub(REENTRY);
        if out.is_err() {
            self.frames.truncate(depth);
            self.regs.truncate(base);
        }
        out
    }

    fn call_inner(&mut self, f: Rc<Fun>, mut args: Vec<Value>) -> Res<Value> {
        let arity = f.arity();
        if args.len() < arity || arity == 0 {
            return if args.is_empty() { Ok(Value::Fun(f)) } else { Ok(Value::Fun(Rc::new(Fun::Partial(f, args)))) };
        }
        if args.len() > arity {
            let rest = args.split_off(arity);
            let g = self.call_fun(f, args)?;
            return self.call(&g, &rest);
        }
        let depth = self.frames.len();
        match &*f {
            Fun::Closure(..) | Fun::Member(..) => {
                if let Some(v) = self.hot_apply(&f, &args)? {
                    return Ok(v);
                }
                self.begin(f, args, 0)?;
                self.run(depth)
            }
            _ => self.apply_other(&f, args),
        }
    }

    /// Pushes the frame of a closure or member applied to all its arguments.
    pub(super) fn begin(&mut self, f: Rc<Fun>, args: Vec<Value>, dst: usize) -> Res<()> {
        let code = match &*f {
            Fun::Closure(c, _) => c.clone(),
            Fun::Member(g, i) => g.codes[*i as usize].clone(),
            _ => return Err(Error::new(codes::STRUCTURE, "no code")),
        };
        self.push_frame(code, Some(f.clone()), dst)?;
        let base = self.regs.len() - self.frames.last().map_or(0, |f| f.code.registers as usize);
        let n = args.len();
        for (i, a) in args.into_iter().enumerate() {
            self.regs[base + i] = a;
        }
        self.keep_arguments(base, n);
        self.load_captures(&f, base + n);
        Ok(())
    }

    fn load_captures(&mut self, f: &Fun, at: usize) {
        let captured: &[Value] = match f {
            Fun::Closure(_, c) => c,
            Fun::Member(g, _) => &g.captured,
            _ => &[],
        };
        for (i, v) in captured.iter().enumerate() {
            self.regs[at + i] = v.clone();
        }
    }

    /// Functions without code, applied to all their arguments.
    fn apply_other(&mut self, f: &Fun, mut args: Vec<Value>) -> Res<Value> {
        match f {
            Fun::Prim(p, reps) => ops::apply(self, *p, reps, &mut args),
            Fun::Partial(g, first) => {
                let all = first.iter().cloned().chain(args).collect();
                self.call_fun(g.clone(), all)
            }
            Fun::Linear(map) => ad::linear::apply(self, map, args.swap_remove(0)),
            Fun::Custom(g, rule, vjp) => ad::operators::custom(self, g, rule, *vjp, args.swap_remove(0)),
            Fun::Checkpoint(g) => ad::operators::checkpointed(self, g, args.swap_remove(0)),
            Fun::Invertible(r) => ops::higher::invertible(self, r, &args[0], &args[1]),
            Fun::Closure(..) | Fun::Member(..) => Err(Error::new(codes::STRUCTURE, "no primitive")),
        }
    }

    /// Runs until the frame above `depth` returns.
    pub(super) fn run(&mut self, depth: usize) -> Res<Value> {
        match self.steps(depth) {
            Ok(v) => Ok(v),
            Err(e) => {
                let e = self.located(e, depth);
                let base = self.frames.get(depth).map_or(self.regs.len(), |f| f.base);
                self.frames.truncate(depth);
                self.regs.truncate(base);
                Err(e)
            }
        }
    }

    /// Adds the place and the call stack while an error leaves the frames above `depth`.
    fn located(&self, mut e: Box<Error>, depth: usize) -> Box<Error> {
        for f in self.frames[depth..].iter().rev() {
            let span = f.code.spans.get(f.pc.saturating_sub(1)).copied().unwrap_or_default();
            self.place(&mut e, span);
            if e.diag.stack.len() < super::lowered::MAX_STACK && f.fun.is_some() {
                let name = f.code.name.map_or("fun".to_owned(), |n| n.to_string());
                e.diag.stack.push((name, span));
            }
        }
        e
    }

    /// The place of an error is the innermost one that is the user's, or the innermost of all.
    pub(super) fn place(&self, e: &mut Error, span: adl_syntax::span::Span) {
        if e.located || nowhere(span) {
            return;
        }
        let users = !self.library.contains(&span.file);
        if users || nowhere(e.diag.primary.span) {
            e.diag.primary.span = span;
        }
        e.located = users;
    }

    fn range(&mut self, base: usize, first: u32, n: u32) -> Vec<Value> {
        let at = base + first as usize;
        self.regs[at..at + n as usize].iter_mut().map(std::mem::take).collect()
    }

    fn steps(&mut self, depth: usize) -> Res<Value> {
        let Some(frame) = self.frames.last() else { return Ok(Value::Unit) };
        let (mut code, mut base, mut pc) = (frame.code.clone(), frame.base, frame.pc);
        macro_rules! reg {
            ($r:expr) => {
                self.regs[base + $r as usize]
            };
        }
        macro_rules! reload {
            () => {{
                let Some(f) = self.frames.last() else { return Ok(Value::Unit) };
                code = f.code.clone();
                base = f.base;
                pc = f.pc;
            }};
        }
        macro_rules! save {
            () => {
                if let Some(f) = self.frames.last_mut() {
                    f.pc = pc;
                }
            };
        }
        macro_rules! check {
            ($e:expr) => {
                match $e {
                    Ok(v) => v,
                    Err(e) => {
                        save!();
                        return Err(e);
                    }
                }
            };
        }
        loop {
            let ins = code.instrs[pc];
            pc += 1;
            match ins {
                I::Const(d, k) => match &code.consts[k as usize] {
                    Value::Float(x) => set_float(&mut reg!(d), *x),
                    v => reg!(d) = v.clone(),
                },
                I::Move(d, s) => match &reg!(s) {
                    Value::Float(x) => {
                        let x = *x;
                        set_float(&mut reg!(d), x);
                    }
                    v => {
                        let v = v.clone();
                        reg!(d) = v;
                    }
                },
                I::Take(d, s) => match &reg!(s) {
                    Value::Float(x) => {
                        let x = *x;
                        set_float(&mut reg!(d), x);
                    }
                    _ => {
                        let v = std::mem::take(&mut reg!(s));
                        reg!(d) = v;
                    }
                },
                I::Global(d, g) => match self.globals.get(g.0 as usize).and_then(|v| v.as_ref()) {
                    Some(v) => reg!(d) = v.clone(),
                    None => check!(Err(Error::new(codes::UNDEFINED, "this definition is used before it has its value"))),
                },
                I::Bin(op, d, a, b) => {
                    if let (Value::Float(x), Value::Float(y)) = (&reg!(a), &reg!(b)) {
                        let z = op.eval(*x, *y);
                        set_float(&mut reg!(d), z);
                        continue;
                    }
                    let out = match (&reg!(a), &reg!(b)) {
                        (Value::Int(x), Value::Int(y)) => match op {
                            Bin::Add => match x.checked_add(*y) {
                                Some(z) => Value::Int(z),
                                None => check!(arith::int_bin(op, *x, *y).map(Value::Int)),
                            },
                            _ => check!(arith::int_bin(op, *x, *y).map(Value::Int)),
                        },
                        (x, y) => {
                            let (x, y) = (x.clone(), y.clone());
                            let fast = check!(ad::scalar_bin(self, op, &x, &y));
                            match fast {
                                Some(v) => v,
                                None => check!(arith::bin(self, op, x, y)),
                            }
                        }
                    };
                    reg!(d) = out;
                }
                I::Un(op, d, a) => {
                    if let Value::Float(x) = &reg!(a) {
                        let y = op.eval(*x);
                        set_float(&mut reg!(d), y);
                        continue;
                    }
                    let v = reg!(a).clone();
                    let out = check!(arith::un(self, op, v));
                    reg!(d) = out;
                }
                I::Cmp(op, d, a, b) => {
                    let out = check!(compare_values(op, &reg!(a), &reg!(b)));
                    reg!(d) = Value::Bool(out);
                }
                I::Jump(t) => pc = t as usize,
                I::JumpUnless(c, t) => {
                    if !matches!(reg!(c), Value::Bool(true)) {
                        pc = t as usize;
                    }
                }
                I::JumpUnlessCmp(op, a, b, t) => {
                    if !check!(compare_values(op, &reg!(a), &reg!(b))) {
                        pc = t as usize;
                    }
                }
                I::Call(d, f, first, n) => {
                    let Value::Fun(f) = reg!(f).clone() else {
                        check!(Err(Error::new(codes::STRUCTURE, "this is no function")))
                    };
                    save!();
                    if f.arity() == n as usize && matches!(&*f, Fun::Closure(..) | Fun::Member(..)) {
                        check!(self.call_code(f, base, first, n, base + d as usize));
                        reload!();
                    } else {
                        let args = self.range(base, first, n);
                        let v = check!(self.call_fun(f, args));
                        reg!(d) = v;
                    }
                }
                I::CallSibling(d, k, first, n) => {
                    save!();
                    let f = check!(self.sibling(k));
                    check!(self.call_code(f, base, first, n, base + d as usize));
                    reload!();
                }
                I::TailCall(f, first, n) => {
                    let Value::Fun(f) = std::mem::take(&mut reg!(f)) else {
                        check!(Err(Error::new(codes::STRUCTURE, "this is no function")))
                    };
                    save!();
                    if f.arity() == n as usize && matches!(&*f, Fun::Closure(..) | Fun::Member(..)) {
                        let v = check!(self.tail(f, base, first, n));
                        if let Some(v) = v.and_then(|v| self.ret(v, depth)) {
                            return Ok(v);
                        }
                        reload!();
                    } else {
                        let args = self.range(base, first, n);
                        let v = check!(self.call_fun(f, args));
                        if let Some(v) = self.ret(v, depth) {
                            return Ok(v);
                        }
                        reload!();
                    }
                }
                I::TailSibling(k, first, n) => {
                    save!();
                    let f = check!(self.sibling(k));
                    let v = check!(self.tail(f, base, first, n));
                    if let Some(v) = v.and_then(|v| self.ret(v, depth)) {
                        return Ok(v);
                    }
                    reload!();
                }
                I::Sibling(d, k) => {
                    save!();
                    let f = check!(self.sibling(k));
                    reg!(d) = Value::Fun(f);
                }
                I::Ret(a) => {
                    let v = std::mem::take(&mut reg!(a));
                    if let Some(v) = self.ret(v, depth) {
                        return Ok(v);
                    }
                    reload!();
                }
                I::Prim(d, p, first, hidden, n) => {
                    save!();
                    let reps = self.range(base, first, hidden);
                    let mut args = self.range(base, first + hidden, n);
                    let v = check!(ops::apply(self, p, &reps, &mut args));
                    reg!(d) = v;
                }
                I::PrimFun(d, p, first, n) => {
                    let reps = self.range(base, first, n);
                    reg!(d) = Value::Fun(Rc::new(Fun::Prim(p, reps)));
                }
                I::Closure(d, k, first, n) => {
                    let captured = self.range(base, first, n);
                    reg!(d) = Value::Fun(Rc::new(Fun::Closure(code.codes[k as usize].clone(), captured)));
                }
                I::Group(d, k, first, n) => {
                    let captured = self.range(base, first, n);
                    let codes = code.groups[k as usize].clone();
                    let members = codes.len() as u32;
                    let group = Rc::new(Group { codes, captured });
                    for i in 0..members {
                        reg!(d + i) = Value::Fun(Rc::new(Fun::Member(group.clone(), i)));
                    }
                }
                I::Tuple(d, first, n) => {
                    let vals = self.range(base, first, n);
                    reg!(d) = Value::Tuple(Rc::new(Tuple(vals)));
                }
                I::Record(d, k, first, n) => {
                    let vals = self.range(base, first, n);
                    reg!(d) = Value::Record(Rc::new(Record { names: code.names[k as usize].clone(), vals }));
                }
                I::Con(d, k, first, n) => {
                    let fields = self.range(base, first, n);
                    reg!(d) = Value::Data(Rc::new(Data { con: code.cons[k as usize].clone(), fields }));
                }
                I::Array(d, first, n) => {
                    save!();
                    let vals = self.range(base, first, n);
                    let v = check!(seq::pack(self, vals));
                    reg!(d) = v;
                }
                I::Item(d, a, i) => {
                    let v = check!(step_into(&reg!(a), Step::Item(i)));
                    reg!(d) = v;
                }
                I::Field(d, a, name) => {
                    let v = check!(step_into(&reg!(a), Step::Field(name)));
                    reg!(d) = v;
                }
                I::Update(d, a, k, first, n) => {
                    let vals = self.range(base, first, n);
                    let names = code.names[k as usize].clone();
                    let old = std::mem::take(&mut reg!(a));
                    let v = check!(update(old, &names, vals));
                    reg!(d) = v;
                }
                I::Index1(d, a, i) => {
                    save!();
                    let v = match (&reg!(a), &reg!(i)) {
                        (Value::Array(arr), Value::Int(i)) => match &arr.buf {
                            Buf::F64(v) if arr.shape.len() == 1 && (*i as usize) < v.len() => {
                                let x = v[*i as usize];
                                set_float(&mut reg!(d), x);
                                continue;
                            }
                            Buf::I64(v) if arr.shape.len() == 1 && (*i as usize) < v.len() => Value::Int(v[*i as usize]),
                            _ => {
                                let (a, i) = (reg!(a).clone(), *i);
                                check!(element(self, &a, i))
                            }
                        },
                        (a, Value::Int(i)) => {
                            let (a, i) = (a.clone(), *i);
                            check!(element(self, &a, i))
                        }
                        (a, i @ Value::Array(_)) => {
                            let (a, i) = (a.clone(), i.clone());
                            check!(ops::whole::elements(self, &a, &[i]))
                        }
                        _ => check!(Err(Error::new(codes::STRUCTURE, "an index must be an Int"))),
                    };
                    reg!(d) = v;
                }
                I::Index(d, a, k, first) => {
                    save!();
                    let kinds = code.indices[k as usize].clone();
                    let n: u32 = kinds.iter().map(index_width).sum();
                    let args = self.range(base, first, n);
                    let a = reg!(a).clone();
                    let v = match ops::whole::any_array(&args) {
                        true => check!(ops::whole::elements(self, &a, &args)),
                        false => check!(ops::index::index(self, &a, &kinds, &args)),
                    };
                    reg!(d) = v;
                }
                I::Switch(a, k) => {
                    let (targets, default) = &code.tables[k as usize];
                    let t = match &reg!(a) {
                        Value::Data(v) => targets.get(v.con.tag as usize).copied().unwrap_or(*default),
                        _ => *default,
                    };
                    pc = t as usize;
                }
                I::ConField(d, a, i) => {
                    let v = match &reg!(a) {
                        Value::Data(v) => v.fields[i as usize].clone(),
                        _ => Value::Zero,
                    };
                    reg!(d) = v;
                }
                I::IsLit(d, a, k) => {
                    let same = check!(literal_equal(&reg!(a), &code.consts[k as usize]));
                    reg!(d) = Value::Bool(same);
                }
                I::IsLen(d, a, n) => reg!(d) = Value::Bool(seq::len(&reg!(a)) == n as usize),
                I::Elem(d, a, i) => {
                    save!();
                    let a = reg!(a).clone();
                    let v = check!(seq::elem(self, &a, i as usize));
                    reg!(d) = v;
                }
                I::LoopHead(i, n, exit) => {
                    if let (Value::Int(i), Value::Int(n)) = (&reg!(i), &reg!(n)) {
                        if i >= n {
                            pc = exit as usize;
                        } else if self.tick.load(Atomic::Relaxed) {
                            save!();
                            self.report_progress();
                        }
                    }
                }
                I::LoopNext(i, head) => {
                    if let Value::Int(k) = &mut reg!(i) {
                        *k += 1;
                    }
                    if code.heat.turn() {
                        save!();
                        if let Some(v) = check!(self.hot_frame()) {
                            if let Some(v) = self.ret(v, depth) {
                                return Ok(v);
                            }
                            reload!();
                            continue;
                        }
                    }
                    if self.interrupt.load(Atomic::Relaxed) {
                        check!(self.poll());
                    }
                    pc = head as usize;
                }
                I::Back(head) => {
                    if code.heat.turn() {
                        save!();
                        if let Some(v) = check!(self.hot_frame()) {
                            if let Some(v) = self.ret(v, depth) {
                                return Ok(v);
                            }
                            reload!();
                            continue;
                        }
                    }
                    if self.interrupt.load(Atomic::Relaxed) {
                        check!(self.poll());
                    }
                    pc = head as usize;
                }
                I::For(d, k, f, first, n) => {
                    save!();
                    let mut args = self.range(base, first, n + 1);
                    let rep = args.pop().unwrap_or_default();
                    let f = std::mem::take(&mut reg!(f));
                    let kind = code.kinds[k as usize];
                    let v = check!(ops::higher::comprehension(self, kind, &f, &args, &rep));
                    reg!(d) = v;
                }
                I::AxisLen(d, a, axis) => {
                    let n = seq::shape(&reg!(a)).and_then(|s| s.get(axis as usize).copied());
                    reg!(d) = Value::Int(n.unwrap_or(0) as i64);
                }
                I::SameExtent(a, b) => {
                    if let (Value::Int(x), Value::Int(y)) = (&reg!(a), &reg!(b)) {
                        if x != y {
                            let e = Error::new(codes::SIZE, format!("one index runs over arrays of length {x} and {y}")).hint("give the index a bound: `for i < n -> ...`");
                            check!(Err(e));
                        }
                    }
                }
                I::Rep(d, k) => {
                    let rep = self.rep(base, &code.reps[k as usize]);
                    reg!(d) = Value::Rep(rep);
                }
                I::NumAt(d, k, rep) => {
                    let v = number_at(&code.consts[k as usize], &reg!(rep));
                    reg!(d) = v;
                }
                I::ZeroOf(d, rep) => {
                    let v = match &reg!(rep) {
                        Value::Rep(r) => r.zero(),
                        _ => Value::Zero,
                    };
                    reg!(d) = v;
                }
                I::SizeAt(d, k) => {
                    let n = check!(self.extent(base, &code.sizes[k as usize].0));
                    reg!(d) = Value::Int(n as i64);
                }
                I::CheckSize(k, r) => {
                    let (at, name, constant) = &code.sizes[k as usize];
                    let n = check!(self.extent(base, at)) as i64;
                    let want = match (constant, &reg!(r)) {
                        (Some(c), _) => *c as i64,
                        (None, Value::Int(n)) => *n,
                        _ => n,
                    };
                    if n != want {
                        let what = if constant.is_some() { want.to_string() } else { format!("`{name}`, which is {want}") };
                        let mut e = Error::new(codes::SIZE, format!("an array has size {n} where the signature says {what}"));
                        e.diag.secondary.push(adl_syntax::diag::Label { span: at.span, text: "the signature".into() });
                        check!(Err(e));
                    }
                }
                I::Interp(d, first, n) => {
                    let parts = self.range(base, first, n);
                    let text: String = parts.iter().map(show::plain).collect();
                    reg!(d) = Value::Str(Rc::new(text.into()));
                }
                I::Step(k) => {
                    save!();
                    check!(self.step(base, &code.steps[k as usize]));
                }
                I::CallFn(k) => {
                    save!();
                    check!(self.call_fn(&code.calls[k as usize], base));
                    reload!();
                }
                I::TailFn(k) => {
                    save!();
                    if let Some(v) = self.tail_fn(&code.calls[k as usize], base, depth)? {
                        return Ok(v);
                    }
                    reload!();
                }
                I::RetMany(k) => {
                    let vals = self.taken(base, &code.rets[k as usize]);
                    if let Some(v) = self.ret_many(vals, depth) {
                        return Ok(v);
                    }
                    reload!();
                }
                I::At1(d, a, i, z) => {
                    let v = match (&reg!(a), &reg!(i)) {
                        (Value::Array(arr), Value::Int(i)) => match &arr.buf {
                            Buf::F64(v) if arr.shape.len() == 1 && (*i as usize) < v.len() => {
                                let x = v[*i as usize];
                                set_float(&mut reg!(d), x);
                                continue;
                            }
                            _ => check!(ir::rows::at(&reg!(a), &[Value::Int(*i)])),
                        },
                        (Value::Zero, _) => code.consts[z as usize].clone(),
                        (a, i) => check!(ir::rows::at(a, std::slice::from_ref(i))),
                    };
                    reg!(d) = v;
                }
                I::At2(d, a, i, j, z) => {
                    let v = match (&reg!(a), &reg!(i), &reg!(j)) {
                        (Value::Zero, _, _) => code.consts[z as usize].clone(),
                        (Value::Array(arr), Value::Int(i), Value::Int(j)) => match (&arr.buf, &arr.shape[..]) {
                            (Buf::F64(v), [n, m]) if (*i as usize) < *n && (*j as usize) < *m => Value::Float(v[*i as usize * m + *j as usize]),
                            _ => check!(ir::rows::at(&reg!(a), &[Value::Int(*i), Value::Int(*j)])),
                        },
                        (a, i, j) => check!(ir::rows::at(a, &[i.clone(), j.clone()])),
                    };
                    reg!(d) = v;
                }
                I::FieldOr(d, a, i, z) => {
                    let v = match &reg!(a) {
                        Value::Data(v) => v.fields[i as usize].clone(),
                        _ => code.consts[z as usize].clone(),
                    };
                    reg!(d) = v;
                }
                I::Push(acc, a) => {
                    if let Value::Float(x) = &reg!(a) {
                        let x = *x;
                        if ir::buffer::push_float(&mut reg!(acc), x) {
                            continue;
                        }
                    }
                    let v = reg!(a).clone();
                    check!(ir::buffer::push(&mut reg!(acc), &v));
                }
                I::ToFloat(d, a) => {
                    let x = match &reg!(a) {
                        Value::Float(x) => *x,
                        Value::F32(x) => f64::from(*x),
                        Value::Int(n) => *n as f64,
                        Value::Bool(b) => f64::from(u8::from(*b)),
                        _ => 0.0,
                    };
                    set_float(&mut reg!(d), x);
                }
                I::NoMatch => check!(Err(super::no_match())),
            }
        }
    }

    /// Leaves the top frame with a value: the result of the run, if it was the last.
    pub(super) fn ret(&mut self, v: Value, depth: usize) -> Option<Value> {
        let f = self.frames.pop()?;
        self.regs.truncate(f.base);
        if self.frames.len() == depth {
            return Some(v);
        }
        self.regs[f.dst] = v;
        None
    }

    fn sibling(&mut self, k: u32) -> Res<Rc<Fun>> {
        match self.frames.last().and_then(|f| f.fun.clone()).as_deref() {
            Some(Fun::Member(_, i)) if *i == k => self.frames.last().and_then(|f| f.fun.clone()).ok_or_else(no_group),
            Some(Fun::Member(g, _)) => Ok(Rc::new(Fun::Member(g.clone(), k))),
            _ => Err(no_group()),
        }
    }

    /// Pushes a frame whose arguments stand in registers of the current one.
    fn call_code(&mut self, f: Rc<Fun>, base: usize, first: u32, n: u32, dst: usize) -> Res<()> {
        if self.interrupt.load(Atomic::Relaxed) {
            self.poll()?;
        }
        let code = match &*f {
            Fun::Closure(c, _) => c.clone(),
            Fun::Member(g, i) => g.codes[*i as usize].clone(),
            _ => return Err(no_group()),
        };
        let given = base + first as usize;
        if let Some(v) = self.hot_call(&f, &code, given..given + n as usize)? {
            self.regs[dst] = v;
            return Ok(());
        }
        let top = self.regs.len();
        self.push_frame(code, Some(f.clone()), dst)?;
        for i in 0..n as usize {
            let v = std::mem::take(&mut self.regs[base + first as usize + i]);
            self.regs[top + i] = v;
        }
        self.keep_arguments(top, n as usize);
        self.load_captures(&f, top + n as usize);
        Ok(())
    }

    /// Replaces the current frame, or gives its result where that is native code's.
    fn tail(&mut self, f: Rc<Fun>, base: usize, first: u32, n: u32) -> Res<Option<Value>> {
        if self.interrupt.load(Atomic::Relaxed) {
            self.poll()?;
        }
        let code = match &*f {
            Fun::Closure(c, _) => c.clone(),
            Fun::Member(g, i) => g.codes[*i as usize].clone(),
            _ => return Err(no_group()),
        };
        let given = base + first as usize;
        if let Some(v) = self.hot_call(&f, &code, given..given + n as usize)? {
            return Ok(Some(v));
        }
        let args = self.range(base, first, n);
        self.regs.truncate(base);
        self.regs.resize(base + code.registers as usize, Value::Unit);
        for (i, a) in args.into_iter().enumerate() {
            self.regs[base + i] = a;
        }
        self.load_captures(&f, base + n as usize);
        if let Some(frame) = self.frames.last_mut() {
            frame.code = code;
            frame.fun = Some(f);
            frame.pc = 0;
            frame.args = None;
        }
        self.keep_arguments(base, n as usize);
        Ok(None)
    }

    /// A representation with its registers looked up.
    fn rep(&self, base: usize, r: &core::Rep) -> Rc<Rep> {
        rep_with(&|l| self.regs[base + l as usize].clone(), r)
    }

    /// The extent that a signature names.
    fn extent(&self, base: usize, at: &core::SizeAt) -> Res<usize> {
        let mut v = self.regs[base + at.from.0 as usize].clone();
        for s in &at.path {
            v = step_into(&v, *s)?;
        }
        Ok(seq::shape(&v).and_then(|s| s.get(at.axis as usize).copied()).unwrap_or(0))
    }
}

/// A representation with its registers looked up by `look`.
pub(super) fn rep_with(look: &dyn Fn(u32) -> Value, r: &core::Rep) -> Rc<Rep> {
    use adl_typing::ty::Ty;
    Rc::new(match r {
        core::Rep::Hidden(l) => {
            return match look(l.0) {
                Value::Rep(r) => r,
                _ => Rc::new(Rep::Other),
            };
        }
        core::Rep::Base(t) => match t {
            Ty::Unit => Rep::Unit,
            Ty::Bool => Rep::Bool,
            Ty::Int => Rep::Int,
            Ty::Float => Rep::Float,
            Ty::F32 => Rep::F32,
            Ty::Str => Rep::Str,
            _ => Rep::Other,
        },
        core::Rep::Array(n, e) => {
            let n = match n {
                SizeRep::Const(k) => Some(*k as usize),
                SizeRep::Local(l) => match look(l.0) {
                    Value::Int(n) => usize::try_from(n).ok(),
                    _ => None,
                },
                SizeRep::Unknown => None,
            };
            Rep::Array(n, rep_with(look, e))
        }
        core::Rep::Tuple(ps) => Rep::Tuple(ps.iter().map(|p| rep_with(look, p)).collect()),
        core::Rep::Record(fs) => Rep::Record(fs.iter().map(|(n, p)| (*n, rep_with(look, p))).collect()),
        core::Rep::Data(d, ps) => Rep::Data(d.clone(), ps.iter().map(|p| rep_with(look, p)).collect()),
        core::Rep::Other => Rep::Other,
    })
}

pub(super) fn index_width(k: &super::code::IndexKind) -> u32 {
    match k {
        super::code::IndexKind::At => 1,
        super::code::IndexKind::Slice(a, b) => u32::from(*a) + u32::from(*b),
    }
}

fn no_group() -> Box<Error> {
    Error::new(codes::STRUCTURE, "no recursive group here")
}

fn element(m: &mut Machine, a: &Value, i: i64) -> Res<Value> {
    match usize::try_from(i) {
        Ok(k) => seq::elem(m, a, k),
        Err(_) => Err(seq::out_of_bounds(i, seq::len(a))),
    }
}

pub(super) fn compare_values(op: Cmp, a: &Value, b: &Value) -> Res<bool> {
    let order = match (a, b) {
        (Value::Int(x), Value::Int(y)) => Some(x.cmp(y)),
        (Value::Float(x), Value::Float(y)) => x.partial_cmp(y),
        _ => compare::partial(a, b)?,
    };
    Ok(match op {
        Cmp::Eq => order == Some(Ordering::Equal),
        Cmp::Ne => order != Some(Ordering::Equal),
        Cmp::Lt => order == Some(Ordering::Less),
        Cmp::Gt => order == Some(Ordering::Greater),
        Cmp::Le => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Cmp::Ge => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    })
}

/// A literal pattern: an Int literal fits any number of that value.
pub(super) fn literal_equal(v: &Value, lit: &Value) -> Res<bool> {
    match (compare::primal(v), lit) {
        (Value::Float(x), Value::Int(n)) => Ok(x == *n as f64),
        (Value::F32(x), Value::Int(n)) => Ok(x == *n as f32),
        (Value::F32(x), Value::Float(y)) => Ok(f64::from(x) == *y),
        (v, lit) => compare::equal(&v, lit),
    }
}

pub(super) fn number_at(k: &Value, rep: &Value) -> Value {
    let Value::Rep(r) = rep else { return k.clone() };
    match (&**r, k) {
        (Rep::Float, Value::Int(n)) => Value::Float(*n as f64),
        (Rep::F32, Value::Int(n)) => Value::F32(*n as f32),
        (Rep::F32, Value::Float(x)) => Value::F32(*x as f32),
        _ => k.clone(),
    }
}

/// A part of a tuple or record; of a zero of unknown shape, that zero.
pub(crate) fn step_into(v: &Value, s: Step) -> Res<Value> {
    match (v, s) {
        (Value::Tuple(t), Step::Item(i)) => Ok(t.0[i as usize].clone()),
        (Value::Record(r), Step::Field(name)) => match r.names.iter().position(|n| *n == name) {
            Some(i) => Ok(r.vals[i].clone()),
            None => Err(Error::new(codes::STRUCTURE, format!("there is no field `{name}`"))),
        },
        (Value::Zero, _) => Ok(Value::Zero),
        _ => Err(Error::new(codes::STRUCTURE, format!("{} cannot be taken apart here", show::show(v)))),
    }
}

fn update(old: Value, names: &[adl_syntax::symbol::Symbol], vals: Vec<Value>) -> Res<Value> {
    let Value::Record(r) = old else { return Err(Error::new(codes::STRUCTURE, "only records are updated")) };
    let mut r = match Rc::try_unwrap(r) {
        Ok(mut r) => Record { names: r.names.clone(), vals: std::mem::take(&mut r.vals) },
        Err(r) => Record { names: r.names.clone(), vals: r.vals.clone() },
    };
    for (n, v) in names.iter().zip(vals) {
        if let Some(i) = r.names.iter().position(|m| m == n) {
            r.vals[i] = v;
        }
    }
    Ok(Value::Record(Rc::new(r)))
}


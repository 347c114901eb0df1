//! Calls and returns: frames, arguments, captured values.

use super::code::Code;
use super::{CallFrame, Fun, Machine};
use crate::ad;
use crate::error::{Error, Res, codes};
use crate::limits::vm_calls::REENTRY;
use crate::ops;
use crate::value::Value;
use std::rc::Rc;
use std::sync::atomic::Ordering;

impl Machine {
    pub(super) fn enter(&mut self, code: Rc<Code>) -> Res<Value> {
        let depth = self.frames.len();
        self.push_frame(code, None, 0)?;
        if let (Some(f), true) = (self.frames.last_mut(), self.compiler.is_some()) {
            // An expression is compiled as a function of `()`.
            f.args = Some([Value::Unit].into());
        }
        self.run(depth)
    }

    pub(super) fn push_frame(&mut self, code: Rc<Code>, fun: Option<Rc<Fun>>, dst: usize) -> Res<()> {
        let base = self.regs.len();
        if (base + code.registers as usize) * 16 + self.frames.len() * size_of::<CallFrame>() + self.stack.reentries
            > self.stack.budget
        {
            return Err(super::too_deep());
        }
        crate::memory::grow(&mut self.regs, code.registers as usize)?;
        crate::memory::grow(&mut self.frames, 1)?;
        self.regs.resize(base + code.registers as usize, Value::Unit);
        self.frames.push(CallFrame { code, fun, pc: 0, base, dst, args: None });
        Ok(())
    }

    /// Calls a function from a primitive: runs a nested interpreter loop on the native stack, which grows on
    /// demand.
    pub(crate) fn call_fun(&mut self, f: Rc<Fun>, args: Vec<Value>) -> Res<Value> {
        self.poll()?;
        self.nested(|m| m.call_inner(f, args))
    }

    /// Runs `run`, which starts a nested interpreter loop, on the growing native stack. If it fails, the frames
    /// that it pushed are removed.
    pub(super) fn nested(&mut self, run: impl FnOnce(&mut Machine) -> Res<Value>) -> Res<Value> {
        let (depth, base) = (self.frames.len(), self.regs.len());
        self.stack.reentries += REENTRY;
        let out = crate::memory::on_stack(128 * 1024, 2 * 1024 * 1024, || run(self));
        self.stack.reentries = self.stack.reentries.saturating_sub(REENTRY);
        if out.is_err() {
            self.frames.truncate(depth);
            self.regs.truncate(base);
        }
        out
    }

    fn call_inner(&mut self, fun: Rc<Fun>, mut args: Vec<Value>) -> Res<Value> {
        let arity = fun.arity();
        if args.len() < arity || arity == 0 {
            return if args.is_empty() {
                Ok(Value::Fun(fun))
            } else {
                Ok(Value::Fun(Rc::new(Fun::Partial(fun, args))))
            };
        }
        if args.len() > arity {
            let rest = args.split_off(arity);
            let g = self.call_fun(fun, args)?;
            return self.call(&g, &rest);
        }
        let depth = self.frames.len();
        match &*fun {
            Fun::Closure(..) | Fun::Member(..) => {
                if let Some(v) = self.hot_apply(&fun, &args)? {
                    return Ok(v);
                }
                self.begin(fun, args, 0)?;
                self.run(depth)
            }
            _ => self.apply_other(&fun, args),
        }
    }

    /// Pushes the frame of a closure or group member that is applied to all its arguments.
    pub(super) fn begin(&mut self, f: Rc<Fun>, args: Vec<Value>, dst: usize) -> Res<()> {
        let code = code_of(&f)?;
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

    /// Applies a function without register code to all its arguments.
    fn apply_other(&mut self, f: &Fun, mut args: Vec<Value>) -> Res<Value> {
        match f {
            Fun::Prim(p, reps) => ops::apply(self, *p, reps, &mut args),
            Fun::Partial(g, first) => {
                let all = first.iter().cloned().chain(args).collect();
                self.call_fun(g.clone(), all)
            }
            Fun::Linear(map) => ad::operators::derivative::apply(self, map, args.swap_remove(0)),
            Fun::Custom(g, rule, vjp) => ad::operators::custom(self, g, rule, *vjp, args.swap_remove(0)),
            Fun::Checkpoint(g) => ad::operators::checkpointed(self, g, args.swap_remove(0)),
            Fun::Invertible(r) => ops::higher_order::invertible(self, r, &args[0], &args[1]),
            Fun::Host(h) => ad::operators::on_host(self, h, &args),
            Fun::Closure(..) | Fun::Member(..) => Err(Error::new(codes::STRUCTURE, "no primitive")),
        }
    }

    /// Pops the top frame with a result. Returns the result if that frame was the outermost one of this run.
    pub(super) fn ret(&mut self, v: Value, depth: usize) -> Option<Value> {
        let f = self.frames.pop()?;
        self.regs.truncate(f.base);
        if self.frames.len() == depth {
            return Some(v);
        }
        self.regs[f.dst] = v;
        None
    }

    pub(super) fn sibling(&mut self, k: u32) -> Res<Rc<Fun>> {
        match self.frames.last().and_then(|f| f.fun.clone()).as_deref() {
            Some(Fun::Member(_, i)) if *i == k => self.frames.last().and_then(|f| f.fun.clone()).ok_or_else(no_group),
            Some(Fun::Member(g, _)) => Ok(Rc::new(Fun::Member(g.clone(), k))),
            _ => Err(no_group()),
        }
    }

    /// Prepares a call: the code to run, or the result, if native code or a device has already computed it.
    fn prepare_call(&mut self, f: &Rc<Fun>, base: usize, first: u32, n: u32) -> Res<CallOutcome> {
        if self.interrupt.load(Ordering::Relaxed) {
            self.poll()?;
        }
        let code = code_of(f)?;
        let given = base + first as usize;
        Ok(match self.hot_call(f, &code, given..given + n as usize)? {
            Some(v) => CallOutcome::Value(v),
            None => CallOutcome::Code(code),
        })
    }

    /// Pushes a frame whose arguments are in registers of the current frame.
    fn call_code(&mut self, fun: Rc<Fun>, base: usize, first: u32, count: u32, dst: usize) -> Res<()> {
        let code = match self.prepare_call(&fun, base, first, count)? {
            CallOutcome::Code(code) => code,
            CallOutcome::Value(v) => {
                self.regs[dst] = v;
                return Ok(());
            }
        };
        let top = self.regs.len();
        self.push_frame(code, Some(fun.clone()), dst)?;
        for i in 0..count as usize {
            let v = std::mem::take(&mut self.regs[base + first as usize + i]);
            self.regs[top + i] = v;
        }
        self.keep_arguments(top, count as usize);
        self.load_captures(&fun, top + count as usize);
        Ok(())
    }

    /// Tail call: replaces the current frame. Returns the result if native code has already computed it.
    fn tail(&mut self, fun: Rc<Fun>, base: usize, first: u32, count: u32) -> Res<Option<Value>> {
        let code = match self.prepare_call(&fun, base, first, count)? {
            CallOutcome::Code(code) => code,
            CallOutcome::Value(v) => return Ok(Some(v)),
        };
        let args = self.range(base, first, count);
        self.regs.truncate(base);
        self.regs.resize(base + code.registers as usize, Value::Unit);
        for (i, a) in args.into_iter().enumerate() {
            self.regs[base + i] = a;
        }
        self.load_captures(&fun, base + count as usize);
        if let Some(frame) = self.frames.last_mut() {
            frame.code = code;
            frame.fun = Some(fun);
            frame.pc = 0;
            frame.args = None;
        }
        self.keep_arguments(base, count as usize);
        Ok(None)
    }

    /// Calls the function in a register. The registers `[d, f, first]` are those of the result, the function
    /// and the first argument.
    pub(super) fn call_value(&mut self, base: usize, [d, f, first]: [u32; 3], n: u32) -> Res<()> {
        let f = self.function(base, f)?;
        if f.arity() == n as usize && matches!(&*f, Fun::Closure(..) | Fun::Member(..)) {
            return self.call_code(f, base, first, n, base + d as usize);
        }
        let args = self.range(base, first, n);
        self.regs[base + d as usize] = self.call_fun(f, args)?;
        Ok(())
    }

    pub(super) fn call_sibling(&mut self, base: usize, [d, k, first]: [u32; 3], n: u32) -> Res<()> {
        let f = self.sibling(k)?;
        self.call_code(f, base, first, n, base + d as usize)
    }

    /// Tail call of the function in a register. Returns the result if it is already known; otherwise the
    /// current frame has become the callee's.
    pub(super) fn tail_value(&mut self, base: usize, f: u32, first: u32, n: u32) -> Res<Option<Value>> {
        let f = self.function(base, f)?;
        if f.arity() == n as usize && matches!(&*f, Fun::Closure(..) | Fun::Member(..)) {
            return self.tail(f, base, first, n);
        }
        let args = self.range(base, first, n);
        self.call_fun(f, args).map(Some)
    }

    pub(super) fn tail_sibling(&mut self, base: usize, k: u32, first: u32, n: u32) -> Res<Option<Value>> {
        let f = self.sibling(k)?;
        self.tail(f, base, first, n)
    }

    fn function(&self, base: usize, f: u32) -> Res<Rc<Fun>> {
        match &self.regs[base + f as usize] {
            Value::Fun(f) => Ok(f.clone()),
            _ => Err(Error::new(codes::STRUCTURE, "this is not a function")),
        }
    }
}

/// The outcome of preparing a call.
enum CallOutcome {
    Code(Rc<Code>),
    Value(Value),
}

fn code_of(f: &Fun) -> Res<Rc<Code>> {
    match f {
        Fun::Closure(c, _) => Ok(c.clone()),
        Fun::Member(g, i) => Ok(g.codes[*i as usize].clone()),
        _ => Err(Error::new(codes::STRUCTURE, "this function has no code")),
    }
}

fn no_group() -> Box<Error> {
    Error::new(codes::STRUCTURE, "no recursive group here")
}

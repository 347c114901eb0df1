//! Instructions of lowered IR: operations on registers, calls within a program, multiple results.

use super::code::{Arg, FnCall, I, LoweredStep, R};
use super::{CallFrame, Fun, Machine};
use crate::device::CallTarget;
use crate::error::{Error, Res, codes};
use crate::fault;
use crate::ir;
use crate::ir::native::Native;
use crate::ops::interrupt::InterruptFlag;
use crate::upcalls::RunsLowered;
use crate::value::{Tuple, Value};
use adl_syntax::span::Span;
use smallvec::SmallVec;
use std::rc::Rc;
use std::sync::atomic::Ordering;

/// Maximum number of frames in the call stack of an error.
pub(super) const MAX_STACK: usize = 20;

fn no_program() -> Box<Error> {
    Error::new(codes::STRUCTURE, "no lowered function here")
}

impl RunsLowered for Machine {
    fn call_lowered(&mut self, f: &Rc<Fun>, args: Vec<Value>, results: usize) -> Res<Vec<Value>> {
        self.call_packed(f, args, results, false)
    }

    fn call_packed(&mut self, fun: &Rc<Fun>, args: Vec<Value>, results: usize, pack_results: bool) -> Res<Vec<Value>> {
        if let Fun::Member(g, i) = &**fun {
            let code = g.codes[*i as usize].clone();
            let timed = match self.call_target(&code, &args) {
                CallTarget::Cpu(t) => t,
                CallTarget::Device(call) => match self.run_on_device(&code, call, &args)? {
                    Some(outs) => return Ok(outs),
                    None => None,
                },
            };
            let outs = self.call_on_cpu(fun, &code, args, results, pack_results);
            self.timed(&code, timed);
            return outs;
        }
        self.run_lowered(fun, args, results)
    }
}

impl Machine {
    /// Like [`RunsLowered::call_packed`], on the CPU.
    pub(crate) fn call_on_cpu(
        &mut self,
        fun: &Rc<Fun>,
        code: &super::code::Code,
        mut args: Vec<Value>,
        results: usize,
        pack_results: bool,
    ) -> Res<Vec<Value>> {
        if let Some(native) = self.native_code(code, args.iter()) {
            self.pack_results = pack_results;
            let outs = self.run_native(&*native, args);
            self.pack_results = false;
            return outs;
        }
        if let Some(state) = ir::native::state_of(code) {
            state.unpack(&mut args);
        }
        self.run_lowered(fun, args, results)
    }

    fn run_lowered(&mut self, f: &Rc<Fun>, args: Vec<Value>, results: usize) -> Res<Vec<Value>> {
        let depth = self.frames.len();
        let v = self.nested(|m| {
            m.begin(f.clone(), args, 0)?;
            m.run(depth)
        })?;
        Ok(match v {
            Value::Tuple(t) if results != 1 => match Rc::try_unwrap(t) {
                Ok(mut t) => std::mem::take(&mut t.0),
                Err(t) => t.0.clone(),
            },
            v => vec![v],
        })
    }

    /// The operands of an instruction; those that are not used again are moved out of their registers.
    pub(super) fn taken(&mut self, base: usize, args: &[Arg]) -> SmallVec<[Value; 4]> {
        args.iter()
            .map(|a| {
                let r = &mut self.regs[base + a.r as usize];
                if a.last { std::mem::take(r) } else { r.clone() }
            })
            .collect()
    }

    pub(super) fn step(&mut self, base: usize, s: &LoweredStep) -> Res<()> {
        let mut args = self.taken(base, &s.args);
        fault::point(fault::PanicPoint::Lowered);
        let outs = ir::eval_op::run(self, &s.what, &mut args, &s.zeros)?;
        for (r, v) in s.outs.iter().zip(outs) {
            self.regs[base + *r as usize] = v;
        }
        Ok(())
    }

    /// Tries to run a chain of operations on large arrays. Returns false if the arrays are small or do not fit.
    pub(super) fn strips(
        &mut self,
        base: usize,
        (s, args, outs): &(ir::fuse_elementwise::FusedChain, Box<[Arg]>, Box<[R]>),
    ) -> Res<bool> {
        let done = {
            let operands: SmallVec<[&Value; 8]> = args.iter().map(|a| &self.regs[base + a.r as usize]).collect();
            s.run(InterruptFlag(&self.interrupt), &operands)
        };
        let Some(made) = done else { return Ok(false) };
        let made = made?;
        for a in args.iter().filter(|a| a.last) {
            self.regs[base + a.r as usize] = Value::default();
        }
        for (r, v) in outs.iter().zip(made) {
            self.regs[base + *r as usize] = v;
        }
        Ok(true)
    }

    /// The code of another function of the running program, and the function itself.
    fn program(&self, callee: u32) -> Res<(Rc<super::code::Code>, Rc<Fun>)> {
        match self.frames.last().and_then(|f| f.fun.clone()) {
            Some(f) => match &*f {
                Fun::Member(g, _) => Ok((g.codes[callee as usize].clone(), f.clone())),
                _ => Err(no_program()),
            },
            None => Err(no_program()),
        }
    }

    pub(super) fn call_fn(&mut self, fn_call: &FnCall, base: usize) -> Res<()> {
        if self.interrupt.load(Ordering::Relaxed) {
            self.poll()?;
        }
        let (code, fun) = self.program(fn_call.callee)?;
        if let Some(native) = self.native_code(&code, fn_call.args.iter().map(|a| &self.regs[base + a.r as usize])) {
            let args = self.taken(base, &fn_call.args).into_vec();
            let outs = self.run_native(&*native, args)?;
            for (r, v) in fn_call.outs.iter().zip(outs) {
                self.regs[base + *r as usize] = v;
            }
            return Ok(());
        }
        let top = self.regs.len();
        self.push_frame(code, Some(fun), base + fn_call.outs.first().map_or(0, |r| *r as usize))?;
        for (i, a) in fn_call.args.iter().enumerate() {
            let r = &mut self.regs[base + a.r as usize];
            let v = if a.last { std::mem::take(r) } else { r.clone() };
            self.regs[top + i] = v;
        }
        Ok(())
    }

    /// A tail call: the frame is replaced. Returns the result of the run if the run ends with it.
    pub(super) fn tail_fn(&mut self, c: &FnCall, base: usize, depth: usize) -> Res<Option<Value>> {
        if self.interrupt.load(Ordering::Relaxed) {
            self.poll()?;
        }
        let (code, _) = self.program(c.callee)?;
        let native = self.native_code(&code, c.args.iter().map(|a| &self.regs[base + a.r as usize]));
        let args = self.taken(base, &c.args);
        if let Some(native) = native {
            return self.tail_native(&*native, args.into_vec(), depth);
        }
        self.regs.truncate(base);
        self.regs.resize(base + code.registers as usize, Value::Unit);
        for (i, a) in args.into_iter().enumerate() {
            self.regs[base + i] = a;
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.code = code;
            frame.pc = 0;
        }
        Ok(None)
    }

    /// A tail call of native code. The frame stays until the native code has run, because the frames below it
    /// are suspended in calls.
    fn tail_native(&mut self, native: &dyn Native, args: Vec<Value>, depth: usize) -> Res<Option<Value>> {
        let out = self.run_native(native, args);
        if out.is_err()
            && let Some(f) = self.frames.pop()
        {
            self.regs.truncate(f.base);
        }
        let mut outs = out?;
        Ok(match (outs.len(), outs.pop()) {
            (1, Some(v)) => self.ret(v, depth),
            (_, last) => self.ret_many(outs.into_iter().chain(last).collect(), depth),
        })
    }

    /// Adds the source position and the name of a frame that an error unwinds.
    pub fn leave(&self, e: &mut Error, name: &str, span: Span) {
        self.place(e, span);
        if e.diag.stack.len() < MAX_STACK {
            e.diag.stack.push((name.to_owned(), span));
        }
    }

    /// Pops the top frame with several results, and stores them in the registers given by the caller's call. If
    /// it was the outermost frame of this run, returns them as a tuple.
    pub(super) fn ret_many(&mut self, vals: SmallVec<[Value; 4]>, depth: usize) -> Option<Value> {
        let f: CallFrame = self.frames.pop()?;
        self.regs.truncate(f.base);
        if self.frames.len() > depth {
            if let Some(caller) = self.frames.last()
                && let Some(I::CallFn(k)) = caller.code.instrs.get(caller.pc.saturating_sub(1))
            {
                let base = caller.base;
                for (r, v) in caller.code.lowered.calls[*k as usize].outs.iter().zip(vals) {
                    self.regs[base + *r as usize] = v;
                }
            }
            return None;
        }
        Some(Value::Tuple(Rc::new(Tuple(vals.into_vec()))))
    }
}

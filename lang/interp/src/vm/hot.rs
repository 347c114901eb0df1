//! Profiling of interpreted functions: hot functions are specialised and compiled to native code.
//!
//! Loops count iterations; functions that call others, including themselves, count calls. When a counter
//! reaches the threshold, native code evaluates the function *from its start* on its original arguments, which
//! the frame has kept, and the frame returns that result. If native evaluation fails for any reason, including
//! an error in the program, the interpreter continues where it was, and the function stays interpreted. Later
//! calls of a hot function run native code immediately.
//!
//! The effects of a function with effects have happened when its frame becomes hot. So the frame continues in the
//! interpreter, and native code begins with the next call.
//!
//! Both ways compute the same bits, so the choice is not observable in results.

use super::code::Code;
use super::{Fun, Machine};
use crate::error::Res;
use crate::ir::derive::compile_plain;
use crate::limits::vm_profile::THRESHOLD;
use crate::value::Value;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How native code comes to run a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// By a call.
    Call,
    /// By the restart of a frame that has run for some time.
    Restart,
}

impl Machine {
    /// Whether hot functions may be compiled at present.
    pub(crate) fn may_compile(&self) -> bool {
        (self.compiler.is_some() || self.device.is_on()) && compile_plain::wanted(self)
    }

    /// Keeps the arguments of a frame for a restart, while the code is not hot.
    #[inline]
    pub(super) fn keep_arguments(&mut self, base: usize, n: usize) {
        let Some(code) = self.frames.last().map(|f| &f.code) else { return };
        if code.profile.keeps() && self.may_compile() {
            let args = self.regs[base..base + n].into();
            if let Some(f) = self.frames.last_mut() {
                f.args = Some(args);
            }
        }
    }

    /// Runs a call natively or on a device, if the profile says so. `args` are moved out only in that case.
    #[inline]
    pub(super) fn hot_call(
        &mut self,
        fun: &Rc<Fun>,
        code: &Rc<Code>,
        args: std::ops::Range<usize>,
    ) -> Res<Option<Value>> {
        if self.device.is_on() && self.offered(code, &self.regs[args.clone()]) {
            let args = self.regs[args.clone()].to_vec();
            if let Some(v) = self.called_on_device(fun, code, args)? {
                return Ok(Some(v));
            }
        }
        if !code.profile.call() {
            return Ok(None);
        }
        let args = self.regs[args].to_vec();
        self.run_compiled(fun.clone(), code, args, Start::Call)
    }

    /// Restarts the top frame, whose code has become hot, as native code. Returns its result.
    #[cold]
    pub(super) fn hot_frame(&mut self) -> Res<Option<Value>> {
        let Some(f) = self.frames.last_mut() else { return Ok(None) };
        let (args, code) = (f.args.take(), f.code.clone());
        let fun = f.fun.clone().unwrap_or_else(|| Rc::new(Fun::Closure(code.clone(), Vec::new())));
        match args {
            Some(args) => {
                let here = self.frames.len() - 1;
                let outer = std::mem::replace(&mut self.stack.replaced, here);
                let out = self.run_compiled(fun, &code, args.into_vec(), Start::Restart);
                self.stack.replaced = outer;
                out
            }
            None => {
                code.profile.left.set(THRESHOLD);
                Ok(None)
            }
        }
    }

    /// Like [`Machine::hot_call`], for arguments in a slice.
    #[inline]
    pub(super) fn hot_apply(&mut self, fun: &Rc<Fun>, args: &[Value]) -> Res<Option<Value>> {
        let code = match &**fun {
            Fun::Closure(c, _) => c,
            Fun::Member(g, i) => &g.codes[*i as usize],
            _ => return Ok(None),
        };
        if self.device.is_on()
            && self.offered(code, args)
            && let Some(v) = self.called_on_device(fun, &code.clone(), args.to_vec())?
        {
            return Ok(Some(v));
        }
        if code.profile.call() {
            self.run_compiled(fun.clone(), &code.clone(), args.to_vec(), Start::Call)
        } else {
            Ok(None)
        }
    }

    #[cold]
    fn run_compiled(&mut self, fun: Rc<Fun>, code: &Code, mut args: Vec<Value>, from: Start) -> Res<Option<Value>> {
        if !self.may_compile() {
            // Compilation is not possible at present, for example because numbers are traced by a tape.
            code.profile.left.set(if code.profile.native.get() || code.profile.chains.get() {
                code.profile.left.get()
            } else {
                THRESHOLD
            });
            return Ok(None);
        }
        if self.stack.repeats && !code.profile.native.get() && !code.profile.chains.get() {
            code.profile.left.set(1);
            return Ok(None);
        }
        // Leading type representations and functions become part of the closure, so that code is specialised to
        // them.
        let known = args.iter().take_while(|a| matches!(a, Value::Rep(_) | Value::Fun(_))).count().min(args.len() - 1);
        let rest = args.split_off(known);
        let f = if known == 0 { fun } else { Rc::new(Fun::Partial(fun, args)) };
        // Counting is off meanwhile, because the call may recurse; the values are restored after an error.
        let before = (code.profile.left.replace(0), code.profile.native.replace(false));
        // Operations on large arrays are parallel when interpreted; in native code only loops are.
        let chains = code.profile.chains.replace(false);
        let start = Instant::now();
        let callee = Value::Fun(f);
        if from == Start::Restart && compile_plain::has_effects(self, &callee, &rest) {
            code.profile.native.set(true);
            code.profile.chains.set(chains);
            return Ok(None);
        }
        let out = if chains {
            compile_plain::call_lowered(self, &callee, &rest)
        } else {
            compile_plain::call(self, &callee, &rest)
        };
        match &out {
            Ok(Some(_)) if chains => {
                let pays = self.chain_pays(code, start.elapsed(), &callee, &rest);
                code.profile.left.set(before.0);
                code.profile.native.set(before.1);
                code.profile.chained(*pays.as_ref().unwrap_or(&true));
                pays?;
            }
            Ok(Some(v)) => {
                let time = start.elapsed();
                let data = rest.iter().chain([v]).any(|v| matches!(v, Value::Data(_)));
                if code.profile.samples(time) && !compile_plain::has_effects(self, &callee, &rest) {
                    self.sample(code, (time, data), &callee, &rest)?;
                }
                code.profile.ran(time);
            }
            Ok(None) => code.profile.freeze(),
            Err(_) => {
                code.profile.left.set(before.0.max(1));
                code.profile.native.set(before.1);
                code.profile.chains.set(chains);
            }
        }
        out
    }

    /// Whether lowered code that took so long is to be called again.
    fn chain_pays(&mut self, code: &Code, lowered: Duration, f: &Value, args: &[Value]) -> Res<bool> {
        if !code.profile.samples_chain(lowered) {
            return Ok(true);
        }
        Ok(!compile_plain::has_effects(self, f, args) && lowered <= self.interpreted(f, args)?)
    }

    /// Repeats a call in the interpreter, and returns its time.
    fn interpreted(&mut self, f: &Value, args: &[Value]) -> Res<Duration> {
        let explained = self.compiled_ad.explain.len();
        let outer = std::mem::replace(&mut self.stack.repeats, true);
        let start = Instant::now();
        let out = self.call(f, args);
        self.stack.repeats = outer;
        self.compiled_ad.explain.truncate(explained);
        out.map(|_| start.elapsed())
    }

    /// Repeats a call in the interpreter and records which was faster; `native` is the time that it took as native code, `data`: it has declared data.
    fn sample(&mut self, code: &Code, (native, data): (Duration, bool), f: &Value, args: &[Value]) -> Res<()> {
        let interpreted = self.interpreted(f, args)?;
        if data {
            let (fast, slow) = code.profile.both.get();
            code.profile.both.set((fast + native, slow + interpreted));
        } else {
            let (compared, won) = code.profile.votes.get();
            code.profile.votes.set((compared + 1, won + u32::from(native <= interpreted)));
        }
        Ok(())
    }
}

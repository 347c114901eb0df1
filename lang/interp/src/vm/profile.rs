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

use super::code::{Code, I};
use super::{Fun, Machine};
use crate::error::Res;
use crate::ir::derive::compile_plain;
use crate::limits::vm_profile::{CHAIN, CHAIN_LEAST, LEAST, SAMPLED, SHORT, SHORT_WITH_DATA, THRESHOLD, TRIAL};
use crate::value::Value;
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Value of [`Profile::arrays`] after that decision.
const DECIDED: u8 = u8::MAX;

/// How native code comes to run a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// By a call.
    Call,
    /// By the restart of a frame that has run for some time.
    Restart,
}

/// The profile of a code object.
#[derive(Debug, Default)]
pub struct Profile {
    /// Iterations and calls left until it is hot; 0 if they are not counted.
    left: Cell<u32>,
    /// Whether calls run native code.
    native: Cell<bool>,
    /// Whether it has loops, whose iterations are counted.
    loops: bool,
    /// Whether calls are counted: it calls functions, or evaluates comprehensions whose bodies may call some.
    calls: bool,
    /// The number of operations on large arrays until the decision, and whether calls run lowered code with
    /// fused chains.
    arrays: Cell<u8>,
    chains: Cell<bool>,
    /// Of calls of lowered code that take almost no time, how many are not repeated in the interpreter until the next one
    /// is, and how many after that.
    short: Cell<(u32, u32)>,
    /// The number of native calls, and their total time.
    runs: Cell<(u32, Duration)>,
    /// The number of consecutive calls that a device refused.
    pub(crate) offered: Cell<u8>,
    /// Total times of the calls with declared data that ran both natively and in the interpreter.
    both: Cell<(Duration, Duration)>,
    /// Of other calls that ran both ways, their number, and how many were as fast natively. A vote, because the time of a single
    /// short call may be anything on a busy machine.
    votes: Cell<(u32, u32)>,
}

impl Profile {
    /// The initial profile of code that the compiler has made.
    pub(super) fn of(instrs: &[I]) -> Profile {
        let loops = instrs.iter().any(|i| matches!(i, I::LoopNext(..) | I::Back(_)));
        let calls = instrs
            .iter()
            .any(|i| matches!(i, I::For(..) | I::Call(..) | I::TailCall(..) | I::CallSibling(..) | I::TailSibling(..)));
        let left = if loops || calls { THRESHOLD } else { 0 };
        Profile { left: Cell::new(left), loops, calls, short: Cell::new((0, SAMPLED)), ..Profile::default() }
    }

    /// Counts a loop iteration. Returns whether the code becomes hot with it.
    #[inline(always)]
    pub(super) fn iteration(&self) -> bool {
        let n = self.left.get();
        self.left.set(n.saturating_sub(1));
        n == 1
    }

    /// Counts a call. Returns whether it should run native or lowered code.
    #[inline(always)]
    fn call(&self) -> bool {
        self.native.get() || self.chains.get() || self.calls && self.iteration()
    }

    /// Counts an operation on large arrays. After [`CHAIN`] of them, calls run lowered code, which fuses
    /// several in one pass.
    #[cold]
    pub(super) fn array(&self) {
        let n = self.arrays.get();
        if n < DECIDED {
            self.arrays.set(if n + 1 < CHAIN { n + 1 } else { DECIDED });
            self.chains.set(n + 1 >= CHAIN);
        }
    }

    /// Whether frames keep their arguments for a restart.
    #[inline(always)]
    pub(super) fn keeps(&self) -> bool {
        self.loops && self.left.get() > 0
    }

    /// Whether a call of lowered code that took so long should be repeated in the interpreter: if it took almost no time,
    /// either the arrays are small, or lowered code does without them. The more often lowered code was faster, the more
    /// seldom.
    fn samples_chain(&self, time: Duration) -> bool {
        if time >= CHAIN_LEAST {
            return false;
        }
        let (left, pause) = self.short.get();
        self.short.set(if left == 0 { (pause, pause.saturating_mul(2)) } else { (left - 1, pause) });
        left == 0
    }

    /// Records whether lowered code pays. If not, counting starts again.
    fn chained(&self, pays: bool) {
        self.chains.set(pays);
        self.arrays.set(if pays { DECIDED } else { 0 });
        if !pays {
            self.short.set((0, SAMPLED));
        }
    }

    /// Decides that the code stays interpreted.
    fn freeze(&self) {
        self.left.set(0);
        self.native.set(false);
        self.arrays.set(DECIDED);
        self.chains.set(false);
    }

    /// Whether a native call that took so long should be repeated in the interpreter; `data`: it has declared data.
    fn samples(&self, time: Duration, data: bool) -> bool {
        let n = self.runs.get().0 + 1;
        n < TRIAL && n.is_multiple_of(SAMPLED) && time < if data { SHORT_WITH_DATA } else { SHORT }
    }

    /// Records a native call.
    fn ran(&self, time: Duration) {
        let (n, sum) = self.runs.get();
        let (n, sum) = (n + 1, sum.saturating_add(time));
        self.left.set(0);
        let ((compared, won), (fast, slow)) = (self.votes.get(), self.both.get());
        let pays = match compared {
            0 if slow.is_zero() => sum >= LEAST * n,
            0 => fast <= slow,
            _ => 2 * won >= compared,
        };
        self.native.set(n != TRIAL || pays);
        self.runs.set((n.min(TRIAL), sum));
    }
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
                if code.profile.samples(time, data) && !compile_plain::has_effects(self, &callee, &rest) {
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
        let start = Instant::now();
        self.call(f, args)?;
        self.compiled_ad.explain.truncate(explained);
        Ok(start.elapsed())
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

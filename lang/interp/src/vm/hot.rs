//! Functions that turn out to be hot are specialised and evaluated as native code.
//!
//! Loops count their turns, and functions that call others (themselves, perhaps) their calls. At the threshold the function is evaluated *from its start* as
//! native code on its arguments, which frames keep until then, and its frame is left with the result. That is right because a function
//! that can be specialised has no effects; whatever fails on that way (an error too) is met again by going on here, and the function
//! then stays interpreted. Once it is hot, later calls go there at once.
//!
//! Results are the same bits either way, so nothing else tells which way was taken.

use super::code::{Code, I};
use super::{Fun, Machine};
use crate::error::Res;
use crate::ir::road::primal;
use crate::value::Value;
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Turns and calls from which on a function is hot.
const THRESHOLD: u32 = 3000;

/// Operations on large arrays that are worth being done together.
const CHAIN: u8 = 2;

/// Whether they are has been decided.
const DECIDED: u8 = u8::MAX;

/// Native calls after which it is looked at whether they were worth it.
const TRIAL: u32 = 200;

/// What a native call must take on average: below, entering it costs more than it gains.
const LEAST: Duration = Duration::from_micros(5);

/// Native calls of which one is made both ways, where data has to become cells and values again: that may take longer than native code saves.
const SAMPLED: u32 = 50;

/// What a native call may take for that.
const SHORT: Duration = Duration::from_millis(1);

/// How hot some code is.
#[derive(Debug, Default)]
pub struct Heat {
    /// Turns and calls until it is hot; 0 if they are not counted.
    left: Cell<u32>,
    /// Whether calls go to native code.
    native: Cell<bool>,
    /// Whether there are loops, whose turns count.
    loops: bool,
    /// Whether calls count: of functions that call others, which may be themselves, or evaluate comprehensions, whose bodies may call them.
    calls: bool,
    /// Operations on large arrays so far, until it is decided; whether calls go to whole chains of such.
    arrays: Cell<u8>,
    chains: Cell<bool>,
    /// Native calls so far, and the time that they took.
    runs: Cell<(u32, Duration)>,
    /// Calls in a row that were offered to a device in vain.
    pub(crate) offered: Cell<u8>,
    /// What calls took that were made both ways: as native code, and interpreted.
    both: Cell<(Duration, Duration)>,
}

impl Heat {
    /// Of code that the compiler has made.
    pub(super) fn of(instrs: &[I]) -> Heat {
        let loops = instrs.iter().any(|i| matches!(i, I::LoopNext(..) | I::Back(_)));
        let calls = instrs.iter().any(|i| matches!(i, I::For(..) | I::Call(..) | I::TailCall(..) | I::CallSibling(..) | I::TailSibling(..)));
        let left = if loops || calls { THRESHOLD } else { 0 };
        Heat { left: Cell::new(left), loops, calls, ..Heat::default() }
    }

    /// Of a comprehension: the first that is large is tried.
    pub(super) fn of_comprehension() -> Heat {
        Heat { native: Cell::new(true), ..Heat::default() }
    }

    /// Whether the code becomes hot with this turn of a loop.
    #[inline(always)]
    pub(super) fn turn(&self) -> bool {
        let n = self.left.get();
        self.left.set(n.saturating_sub(1));
        n == 1
    }

    /// Whether a call is to go to native code.
    #[inline(always)]
    fn call(&self) -> bool {
        self.native.get() || self.chains.get() || self.calls && self.turn()
    }

    /// After an operation on large arrays: from the second on, calls go to code that does several of them in one pass.
    #[cold]
    pub(super) fn array(&self) {
        let n = self.arrays.get();
        if n < DECIDED {
            self.arrays.set(if n + 1 < CHAIN { n + 1 } else { DECIDED });
            self.chains.set(n + 1 >= CHAIN);
        }
    }

    /// Whether frames keep their arguments.
    #[inline(always)]
    pub(super) fn keeps(&self) -> bool {
        self.loops && self.left.get() > 0
    }

    /// After a call of a chain: where that takes no time the arrays are small, and it is waited for large ones again.
    fn chained(&self, time: Duration) {
        let large = time >= 4 * LEAST;
        self.chains.set(large);
        self.arrays.set(if large { DECIDED } else { 0 });
    }

    /// Stays interpreted.
    fn freeze(&self) {
        self.left.set(0);
        self.native.set(false);
        self.arrays.set(DECIDED);
        self.chains.set(false);
    }

    /// Whether a native call that took so long is to be made interpreted as well.
    fn samples(&self, time: Duration) -> bool {
        let n = self.runs.get().0 + 1;
        time < SHORT && n < TRIAL && n % SAMPLED == 0
    }

    /// After a native call.
    fn ran(&self, time: Duration) {
        let (n, sum) = self.runs.get();
        let (n, sum) = (n + 1, sum.saturating_add(time));
        self.left.set(0);
        let (fast, slow) = self.both.get();
        self.native.set(n != TRIAL || sum >= LEAST * n && fast <= slow);
        self.runs.set((n.min(TRIAL), sum));
    }
}

impl Machine {
    /// Whether hot functions may become native now.
    pub(crate) fn heats(&self) -> bool {
        (self.compiler.is_some() || self.device.is_on()) && primal::wanted(self)
    }

    /// The arguments of a frame, kept for a start from the beginning while the code is not hot.
    #[inline]
    pub(super) fn keep_arguments(&mut self, base: usize, n: usize) {
        let Some(code) = self.frames.last().map(|f| &f.code) else { return };
        if code.heat.keeps() && self.heats() {
            let args = self.regs[base..base + n].into();
            if let Some(f) = self.frames.last_mut() {
                f.args = Some(args);
            }
        }
    }

    /// The result of a call by native code, if it goes there. `args` are taken only then.
    #[inline]
    pub(super) fn hot_call(&mut self, f: &Rc<Fun>, code: &Rc<Code>, args: std::ops::Range<usize>) -> Res<Option<Value>> {
        if self.device.is_on() && self.offered(code, &self.regs[args.clone()]) {
            let args = self.regs[args.clone()].to_vec();
            if let Some(v) = self.called_on_device(f, code, args)? {
                return Ok(Some(v));
            }
        }
        if !code.heat.call() {
            return Ok(None);
        }
        let args = self.regs[args].to_vec();
        self.heated(f.clone(), code, args)
    }

    /// The result of the frame on top, whose code has become hot, by native code from the start.
    #[cold]
    pub(super) fn hot_frame(&mut self) -> Res<Option<Value>> {
        let Some(f) = self.frames.last_mut() else { return Ok(None) };
        let (args, code) = (f.args.take(), f.code.clone());
        let fun = f.fun.clone().unwrap_or_else(|| Rc::new(Fun::Closure(code.clone(), Vec::new())));
        match args {
            Some(args) => {
                let here = self.frames.len() - 1;
                let outer = std::mem::replace(&mut self.replaced, here);
                let out = self.heated(fun, &code, args.into_vec());
                self.replaced = outer;
                out
            }
            None => {
                code.heat.left.set(THRESHOLD);
                Ok(None)
            }
        }
    }

    /// The same for arguments in a list.
    #[inline]
    pub(super) fn hot_apply(&mut self, f: &Rc<Fun>, args: &[Value]) -> Res<Option<Value>> {
        let code = match &**f {
            Fun::Closure(c, _) => c,
            Fun::Member(g, i) => &g.codes[*i as usize],
            _ => return Ok(None),
        };
        if self.device.is_on() && self.offered(code, args) {
            if let Some(v) = self.called_on_device(f, &code.clone(), args.to_vec())? {
                return Ok(Some(v));
            }
        }
        if code.heat.call() { self.heated(f.clone(), &code.clone(), args.to_vec()) } else { Ok(None) }
    }

    /// A large comprehension whose body is given, by native code.
    pub(crate) fn hot_comprehension(&mut self, body: &Value, extents: &[Value]) -> Res<Option<Value>> {
        let Value::Fun(f) = body else { return Ok(None) };
        let Fun::Closure(code, captured) = &**f else { return Ok(None) };
        match &code.whole {
            Some(whole) if whole.heat.native.get() && self.heats() => self.heated(Rc::new(Fun::Closure(whole.clone(), captured.clone())), &whole.clone(), extents.to_vec()),
            _ => Ok(None),
        }
    }

    #[cold]
    fn heated(&mut self, f: Rc<Fun>, code: &Code, mut args: Vec<Value>) -> Res<Option<Value>> {
        if !self.heats() {
            // Not now: while derivatives are taped, numbers are not plain.
            code.heat.left.set(if code.heat.native.get() || code.heat.chains.get() { code.heat.left.get() } else { THRESHOLD });
            return Ok(None);
        }
        // Types, and functions in front: native code is made for those that are given.
        let known = args.iter().take_while(|a| matches!(a, Value::Rep(_) | Value::Fun(_))).count().min(args.len() - 1);
        let rest = args.split_off(known);
        let f = if known == 0 { f } else { Rc::new(Fun::Partial(f, args)) };
        // In case of an error inside, or of a call of this function by itself.
        let before = (code.heat.left.replace(0), code.heat.native.replace(false));
        // Large arrays are work for all threads, which native code has for loops alone.
        let chains = code.heat.chains.replace(false);
        let start = Instant::now();
        let f = Value::Fun(f);
        let out = if chains { primal::call_lowered(self, &f, &rest) } else { primal::call(self, &f, &rest) };
        match &out {
            Ok(Some(_)) if chains => {
                (code.heat.left.set(before.0), code.heat.native.set(before.1));
                code.heat.chained(start.elapsed());
            }
            Ok(Some(v)) => {
                let time = start.elapsed();
                if code.heat.samples(time) && rest.iter().chain([v]).any(|v| matches!(v, Value::Data(_))) {
                    self.sample(code, time, &f, &rest)?;
                }
                code.heat.ran(time);
            }
            Ok(None) => code.heat.freeze(),
            Err(_) => {
                code.heat.left.set(before.0.max(1));
                code.heat.native.set(before.1);
                code.heat.chains.set(chains);
            }
        }
        out
    }

    /// Makes a call that took `native` as native code once more, interpreted.
    fn sample(&mut self, code: &Code, native: Duration, f: &Value, args: &[Value]) -> Res<()> {
        let start = Instant::now();
        self.call(f, args)?;
        let (fast, slow) = code.heat.both.get();
        code.heat.both.set((fast + native, slow + start.elapsed()));
        Ok(())
    }
}

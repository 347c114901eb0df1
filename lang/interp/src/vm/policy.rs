//! Chooses where `map`, `reduce`, a comprehension and the like run: the interpreter, element by element, or one call
//! of compiled code for all elements. [`choose`] decides from a [`Request`], which has all that counts; the profile
//! of the function that is applied remembers what its elements have cost so far.
//!
//! Results have the same bits either way, so the choice is not observable in them.

use super::code::Code;
pub(crate) use super::profile::ElementProfile;
use super::{Fun, Machine};
use crate::error::Res;
use crate::ir::derive::compile_plain;
use crate::limits::vm_policy::{ATTEMPTS, COMPILATION, FEW, MANY};
use crate::value::Value;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// What is known when a function is about to be applied to elements.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The number of elements.
    pub count: usize,
    /// The time that the interpreter has spent on elements of this function.
    pub spent: Duration,
    /// The number of failures of compiled code.
    pub failures: u8,
    /// Whether code may be compiled now: not on a tape, and not while numbers are checked for nan.
    pub compiles: bool,
}

/// Where elements are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tier {
    /// By one call of the function for each, in the interpreter.
    Interpreter,
    /// By one call of compiled code: native code, a device, or lowered code where neither is there.
    Compiled,
}

/// The choice. Without elements compiled code tells the extents of the result.
pub fn choose(request: Request) -> Tier {
    let Request { count, spent, failures, compiles } = request;
    let worth = count == 0 || count >= MANY || count >= FEW && spent >= COMPILATION;
    if compiles && failures < ATTEMPTS && worth { Tier::Compiled } else { Tier::Interpreter }
}

/// The code of a function that is applied to elements, and whether a primitive such as `grad` is applied to it first.
fn code_of(func: &Value) -> Option<(Rc<Code>, bool)> {
    let Value::Fun(fun) = func else { return None };
    let (mut fun, mut operand) = (fun.clone(), None);
    loop {
        let inner = match &*fun {
            Fun::Closure(code, _) => return Some((code.clone(), false)),
            Fun::Member(group, index) => return Some((group.codes.get(*index as usize)?.clone(), false)),
            Fun::Partial(inner, args) => {
                operand = args.iter().find(|a| matches!(a, Value::Fun(_))).cloned();
                inner.clone()
            }
            Fun::Prim(..) => return code_of(&operand?).map(|(code, _)| (code, true)),
            _ => return None,
        };
        fun = inner;
    }
}

/// The profile of a function that is applied to elements.
fn profile_of(func: &Value) -> Option<Rc<ElementProfile>> {
    code_of(func).map(|(code, operand)| code.elements[usize::from(operand)].clone())
}

/// A function that is about to be applied to elements, and the same as one call.
pub(crate) struct ElementCall<'a> {
    /// The function of one element.
    pub func: &'a Value,
    /// The number of elements.
    pub count: usize,
    /// The function of all elements, and its arguments.
    pub all: Value,
    pub args: Vec<Value>,
}

/// The time of a run in the interpreter.
pub(crate) struct Watch<'a> {
    call: &'a ElementCall<'a>,
    /// When it started, if compiled code may take over.
    start: Option<Instant>,
}

impl Watch<'_> {
    /// To be called before element `index`. Once the run has taken as long as compilation does, compiled code
    /// computes all elements, if the function has no effects; then this returns the result.
    #[inline]
    pub(crate) fn before(&mut self, m: &mut Machine, index: usize) -> Res<Option<Value>> {
        // The clock is read after 16 elements, and earlier if one may take long.
        match self.start {
            Some(start) if (index.is_multiple_of(FEW) || index.is_power_of_two()) && start.elapsed() >= COMPILATION => {
                self.restart(m)
            }
            _ => Ok(None),
        }
    }

    #[cold]
    fn restart(&mut self, m: &mut Machine) -> Res<Option<Value>> {
        self.start = None;
        if compile_plain::has_effects(m, &self.call.all, &self.call.args) { Ok(None) } else { m.compiled(self.call) }
    }
}

impl Machine {
    /// Applies a function to elements: by compiled code, or by `interpret`, which asks the watch before each element.
    pub(crate) fn elements(
        &mut self,
        call: &ElementCall<'_>,
        interpret: impl FnOnce(&mut Machine, &mut Watch<'_>) -> Res<Value>,
    ) -> Res<Value> {
        let profile = profile_of(call.func);
        let request = Request {
            count: call.count,
            spent: profile.as_ref().map_or(Duration::ZERO, |p| p.spent.get()),
            failures: profile.as_ref().map_or(0, |p| p.failures.get()),
            compiles: (compile_plain::wanted(self) || call.count == 0 && self.ad.depth() == 0) && !self.check_nan,
        };
        let compiled = choose(request) == Tier::Compiled;
        if compiled && let Some(v) = self.compiled(call)? {
            return Ok(v);
        }
        let may_compile = !compiled && call.count >= FEW && request.compiles && request.failures < ATTEMPTS;
        let start = may_compile.then(Instant::now);
        let out = interpret(self, &mut Watch { call, start });
        if let (Some(profile), Some(start)) = (profile, start) {
            profile.spent.set(profile.spent.get().saturating_add(start.elapsed()));
        }
        out
    }

    /// Runs compiled code for all elements. `None` if that failed; no effects have occurred in that case.
    fn compiled(&mut self, call: &ElementCall<'_>) -> Res<Option<Value>> {
        let out = compile_plain::call_native_or_interpreted(self, &call.all, &call.args)?;
        if let Some(profile) = profile_of(call.func) {
            let failures = profile.failures.get().saturating_add(1);
            profile.failures.set(if out.is_some() { 0 } else { failures });
        }
        Ok(out)
    }
}

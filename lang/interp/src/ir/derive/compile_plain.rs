//! Compilation of hot functions that are called without differentiation: they are specialised like
//! differentiated ones, and run as native code.
//!
//! These functions and their callees are optimised separately from code for differentiation, because their
//! results must have the same bits as the interpreter's.

use super::{CompiledAd, NotCompiled, entered, not, with};
use crate::device::{CallTarget, CpuTimer};
use crate::error::Res;
use crate::ir::native::state_of;
use crate::upcalls::RunsLowered;
use crate::value::Value;
use crate::vm::{Fun, Machine};
use adl_ir::Zeros;
use adl_ir::{Block, FnId, Op};
use adl_opt::pipelines;
use adl_typing::core::{Lambda, Local, Param};
use adl_typing::ty::Ty;
use std::rc::Rc;

pub(crate) use super::wanted;

/// The name of the operator in reports.
const CALL: &str = "call";

/// Calls `f` as native code. `None` if it cannot be specialised or compiled.
pub(crate) fn call(m: &mut Machine, f: &Value, args: &[Value]) -> Res<Option<Value>> {
    called(m, f, args, WantedTier::Native)
}

/// Calls `f` in the tier that suits the arguments: chains of operations on large arrays are interpreted, by all
/// threads.
pub(crate) fn call_lowered(m: &mut Machine, f: &Value, args: &[Value]) -> Res<Option<Value>> {
    called(m, f, args, WantedTier::Either)
}

/// Calls `f` as native code or, if it is not compiled, as lowered code in the interpreter. The results are the
/// same.
pub(crate) fn call_native_or_interpreted(m: &mut Machine, f: &Value, args: &[Value]) -> Res<Option<Value>> {
    called(m, f, args, WantedTier::Any)
}

/// Calls `f` on the device. `None` if the device does not run the call.
pub(crate) fn call_on_device(m: &mut Machine, f: &Value, args: &[Value]) -> Res<Option<Value>> {
    called(m, f, args, WantedTier::Device)
}

/// Whether a call of `f` has effects, if it can be specialised. Otherwise no compiled code of it runs.
pub(crate) fn has_effects(m: &mut Machine, f: &Value, args: &[Value]) -> bool {
    entered(m, f, args).is_ok_and(|(e, _)| e.entry.effects)
}

/// The tier in which code should run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WantedTier {
    /// Native code only.
    Native,
    /// Native code if possible, otherwise interpreted.
    Any,
    /// Whichever is estimated to be faster.
    Either,
    /// The device only.
    Device,
}

fn called(m: &mut Machine, f: &Value, args: &[Value], tier: WantedTier) -> Res<Option<Value>> {
    let others = std::mem::take(&mut m.ran_native);
    let out = super::attempt(m, |m| attempt(m, f, args, tier));
    m.ran_native = others;
    match out {
        Ok(v) => Ok(v.ok()),
        Err(e) if e.stops() => Err(e),
        Err(_) => Ok(None),
    }
}

fn attempt(machine: &mut Machine, func: &Value, args: &[Value], tier: WantedTier) -> Res<Result<Value, NotCompiled>> {
    let (e, leaves) = or_not_compiled!(entered(machine, func, args));
    if e.entry.engines {
        return Ok(Err(not("an engine of reverse mode, which adds in an order of its own")));
    }
    let specialized = machine.compiled_ad.sized(&e, &leaves);
    let fun = or_not_compiled!(with(machine, |compiled_ad, _| {
        let f = compiled_ad.plain(specialized.entry.func);
        compiled_ad.linker.function(&compiled_ad.program, f).map_err(|e| not(&e.diag.message))
    }));
    let results = machine.compiled_ad.program.func(specialized.entry.func).body.results.len();
    let (outs, compiled) = match offered(machine, &fun, &leaves)? {
        (Some(outs), _) => (outs, false),
        (None, _) if tier == WantedTier::Device => return Ok(Err(not("code that is not for the device"))),
        (None, timed) => {
            let compiled = tier != WantedTier::Either && compiled(machine, &fun, &leaves);
            if tier == WantedTier::Native && !compiled {
                return Ok(Err(not("code that is too large to be compiled")));
            }
            machine.effects.rewind();
            let outs = machine.cpu_only(|m| m.call_lowered(&fun, leaves, results))?;
            if let Fun::Member(g, i) = &*fun {
                machine.timed(&g.codes[*i as usize], timed);
            }
            (outs, compiled)
        }
    };
    let v = specialized.datas.from_leaves(&specialized.entry.result, &mut outs.into_iter());
    if v.is_some() {
        machine.compiled_ad.ran = machine.device.take();
        machine.compiled_ad.called(func, compiled || machine.ran_native);
    }
    Ok(v.ok_or_else(|| not("a result of another layout than its type says")))
}

/// Offers the call to the device. Returns the results if it ran there; otherwise a timer, if the time on the
/// CPU is to be recorded.
fn offered(m: &mut Machine, fun: &Fun, leaves: &[Value]) -> Res<(Option<Vec<Value>>, Option<CpuTimer>)> {
    let Fun::Member(g, i) = fun else { return Ok((None, None)) };
    let code = g.codes[*i as usize].clone();
    Ok(match m.call_target(&code, leaves) {
        CallTarget::Cpu(timed) => (None, timed),
        CallTarget::Device(call) => (m.run_on_device(&code, call, leaves)?, None),
    })
}

/// Whether native code of a lowered function exists for these arguments; compiles it if that was not tried
/// before.
pub(super) fn compiled(m: &Machine, fun: &Fun, args: &[Value]) -> bool {
    let (Fun::Member(g, i), Some(compiler)) = (fun, &m.compiler) else { return false };
    state_of(&g.codes[*i as usize]).is_some_and(|s| s.compile_for(compiler, &m.compiled_ad.clock, args.iter()))
}

impl CompiledAd {
    /// Optimises a function for undifferentiated calls.
    pub(super) fn compile_plain(&mut self, f: FnId) {
        self.plain(f);
    }

    /// The version of a function that is optimised for undifferentiated calls.
    fn plain(&mut self, f: FnId) -> FnId {
        let arrays = self.ad.arrays(&self.program, f);
        let key = (f, arrays == Zeros::Materialized);
        if let Some(g) = self.derived.plain.get(&key) {
            return *g;
        }
        let src = self.program.func(f).clone();
        if self.ad.has_made(f) || !src.body.lin_params.is_empty() {
            return f;
        }
        let id = self.program.reserve(&src.name);
        self.derived.plain.insert(key, id);
        let mut made = (*src).clone();
        adl_opt::run(pipelines::PLAIN, &self.program, &mut made, arrays);
        if let Some(better) = adl_ad::Ad::undifferentiated(&made) {
            made = better;
            adl_opt::run(pipelines::PLAIN, &self.program, &mut made, arrays);
        }
        adl_opt::run(pipelines::SUM_ORDER, &self.program, &mut made, arrays);
        self.plain_calls(&mut made.body);
        self.program.set(id, made);
        if arrays == Zeros::Materialized {
            self.linker.arrays_are_materialized(id);
        }
        id
    }

    fn plain_calls(&mut self, b: &mut Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for s in &mut b.stmts {
                if let Op::Call { f, rule: None, .. } = &mut s.op {
                    *f = self.plain(*f);
                }
                s.op.blocks_mut().into_iter().for_each(|b| self.plain_calls(b));
            }
        });
    }

    /// Records a call that was made this way.
    fn called(&mut self, f: &Value, native: bool) {
        let op = std::mem::replace(&mut self.op, CALL);
        self.entered = None;
        self.note(f, native, None);
        self.op = op;
    }
}

/// Wraps an expression as a function of `()`.
pub(crate) fn thunk(body: adl_typing::core::Expr, name: Option<adl_syntax::symbol::Symbol>) -> Rc<Lambda> {
    let param = Param { local: Local(u32::MAX - 1), name: None, ty: Ty::Unit };
    Rc::new(Lambda { params: vec![param], body, linear: false, name })
}

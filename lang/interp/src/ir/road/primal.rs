//! Hot functions that are not differentiated: specialised like those that are, and run as native code.
//!
//! They are optimised on their own, as are the functions that they call: the results are to be those of the interpreter, bit by bit.

use super::{Not, Road, entered, not, with};
use crate::device::{Timed, Way};
use crate::error::Res;
use crate::value::Value;
use crate::vm::{Fun, Machine};
use adl_ad::Arrays;
use adl_ir::{Block, FnId, Op};
use adl_typing::core::{Lambda, Local, Param};
use adl_typing::ty::Ty;
use std::rc::Rc;

pub(crate) use super::wanted;

/// The name of the operator in reports.
const CALL: &str = "call";

/// `f` of plain arguments by native code. `None` where this road cannot be taken.
pub(crate) fn call(m: &mut Machine, f: &Value, args: &[Value]) -> Res<Option<Value>> {
    called(m, f, args, Tier::Native)
}

/// The same in whichever tier suits the arguments: chains of operations on large arrays are interpreted, by all threads.
pub(crate) fn call_lowered(m: &mut Machine, f: &Value, args: &[Value]) -> Res<Option<Value>> {
    called(m, f, args, Tier::Either)
}

/// The same by native code or, where nothing is compiled, by the interpreter: results do not depend on that.
pub(crate) fn call_anyhow(m: &mut Machine, f: &Value, args: &[Value]) -> Res<Option<Value>> {
    called(m, f, args, Tier::Any)
}

/// The same by the device, or not at all.
pub(crate) fn call_on_device(m: &mut Machine, f: &Value, args: &[Value]) -> Res<Option<Value>> {
    called(m, f, args, Tier::Device)
}

/// How code is to run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tier {
    /// As native code, or not at all.
    Native,
    /// As native code where that can be.
    Any,
    /// As is estimated to be faster.
    Either,
    /// On the device, or not at all.
    Device,
}

fn called(m: &mut Machine, f: &Value, args: &[Value], tier: Tier) -> Res<Option<Value>> {
    let others = std::mem::take(&mut m.ran_native);
    let out = attempt(m, f, args, tier);
    m.ran_native = others;
    match out {
        Ok(v) => Ok(v.ok()),
        Err(e) if e.stops() => Err(e),
        Err(_) => Ok(None),
    }
}

fn attempt(m: &mut Machine, f: &Value, args: &[Value], tier: Tier) -> Res<Result<Value, Not>> {
    let (e, leaves) = possible!(entered(m, f, args));
    let e = m.road.sized(&e, &leaves);
    let fun = possible!(with(m, |road, _| {
        let f = road.plain(e.entry.func);
        road.linker.function(&road.program, f).map_err(|e| not(&e.diag.message))
    }));
    let results = m.road.program.func(e.entry.func).body.results.len();
    let (outs, compiled) = match offered(m, &fun, &leaves)? {
        (Some(outs), _) => (outs, false),
        (None, _) if tier == Tier::Device => return Ok(Err(not("code that is not for the device"))),
        (None, timed) => {
            let compiled = tier != Tier::Either && compiled(m, &fun, &leaves);
            if tier == Tier::Native && !compiled {
                return Ok(Err(not("code that is too large to be compiled")));
            }
            let outs = m.here(|m| m.call_lowered(&fun, leaves, results))?;
            if let Fun::Member(g, i) = &*fun {
                m.timed(&g.codes[*i as usize], timed);
            }
            (outs, compiled)
        }
    };
    let v = e.datas.put_together(&e.entry.result, &mut outs.into_iter());
    if v.is_some() {
        m.road.ran = m.device.take();
        m.road.called(f, compiled || m.ran_native);
    }
    Ok(v.ok_or_else(|| not("a result of another layout than its type says")))
}

/// What the device gives, where the call goes there; otherwise its time may be wanted.
fn offered(m: &mut Machine, fun: &Fun, leaves: &[Value]) -> Res<(Option<Vec<Value>>, Option<Timed>)> {
    let Fun::Member(g, i) = fun else { return Ok((None, None)) };
    let code = g.codes[*i as usize].clone();
    Ok(match m.way(&code, leaves) {
        Way::Cpu(timed) => (None, timed),
        Way::Device(call) => (m.run_on_device(&code, call, leaves)?, None),
    })
}

/// Whether a lowered function is native code for these arguments, now if it was not before.
pub(super) fn compiled(m: &Machine, fun: &Fun, args: &[Value]) -> bool {
    let (Fun::Member(g, i), Some(compiler)) = (fun, &m.compiler) else { return false };
    g.codes[*i as usize].native.as_ref().is_some_and(|s| s.compile_for(compiler, &m.road.clock, args.iter()))
}

impl Road {
    /// The function for those who do not differentiate it.
    fn plain(&mut self, f: FnId) -> FnId {
        let arrays = self.ad.arrays(&self.program, f);
        let key = (f, arrays == Arrays::There);
        if let Some(g) = self.plain.get(&key) {
            return *g;
        }
        let src = self.program.func(f).clone();
        if self.ad.has_made(f) || !src.body.lin_params.is_empty() {
            return f;
        }
        let id = self.program.reserve(&src.name);
        self.plain.insert(key, id);
        let mut made = (*src).clone();
        adl_opt::plain(&self.program, &mut made, arrays);
        if let Some(better) = adl_ad::Ad::undifferentiated(&made) {
            made = better;
            adl_opt::plain(&self.program, &mut made, arrays);
        }
        adl_opt::contract::contract(&mut made);
        adl_opt::terms::terms(&mut made);
        self.plain_calls(&mut made.body);
        self.program.set(id, made);
        if arrays == Arrays::There {
            self.linker.arrays_are_there(id);
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

    /// Notes that a function has been called by this road.
    fn called(&mut self, f: &Value, native: bool) {
        let op = std::mem::replace(&mut self.op, CALL);
        self.entered = None;
        self.note(f, native, None);
        self.op = op;
    }
}

/// An expression as a function of `()`.
pub(crate) fn thunk(body: adl_typing::core::Expr, name: Option<adl_syntax::symbol::Symbol>) -> Rc<Lambda> {
    let param = Param { local: Local(u32::MAX - 1), name: None, ty: Ty::Unit };
    Rc::new(Lambda { params: vec![param], body, linear: false, name })
}

//! A gradient in one run: the function, and then its transpose on what that keeps.
//!
//! Native code has data in a form of its own, and makes values of the interpreter of those that leave it. What a recursive function keeps is as large as all
//! its calls: it had better not leave. So where residuals are data, and there is native code, both halves are one function of the IR.

use super::{Lined, Not, Ready, Road, answer, attempt, readied, recorded_by, wanted, with};
use crate::ad::linear::LinearMap;
use crate::error::Res;
use crate::ir::tangents;
use crate::value::Value;
use crate::vm::{Fun, Machine};
use adl_ir::{Builder, Ty};
use std::rc::Rc;

/// A function at a point, differentiated.
pub(crate) enum Recorded {
    /// The value and the derivative.
    Map(Value, LinearMap),
    /// The value and the gradient.
    Whole(Value, Value),
}

/// `f x` with its gradient, or with its derivative at `x`.
pub(crate) fn record_whole(m: &mut Machine, f: &Value, x: &Value) -> Res<Option<Recorded>> {
    if !wanted(m) {
        return Ok(None);
    }
    let out = attempt(m, |m| recorded(m, f, x));
    let out = answer(m, f, out)?;
    if let Some(Recorded::Whole(..)) = out {
        m.road.settle();
    }
    Ok(out)
}

fn recorded(m: &mut Machine, f: &Value, x: &Value) -> Res<Result<Recorded, Not>> {
    let ready = possible!(readied(m, f, x)?);
    if let Some(fun) = native(m, &ready) {
        let Ready { lined, mut leaves, .. } = ready;
        leaves.push(match lined.entered.entry.result.leaves().first() {
            Some(Ty::F32) => Value::F32(1.0),
            _ => Value::Float(1.0),
        });
        return run(m, x, &lined, &fun, leaves);
    }
    let lined = ready.lined.clone();
    let out = recorded_by(m, f, x, ready)?;
    lined.hot.set(m.ran_native);
    Ok(out.map(|(y, map)| Recorded::Map(y, map)))
}

/// Both halves as one function, if it is native, or had better be.
fn native(m: &mut Machine, ready: &Ready) -> Option<Rc<Fun>> {
    let l = &ready.lined;
    if m.road.given.is_some() || ready.plan != super::Plan::StoreAll || l.active[..] != [true] || !l.kept.iter().any(holds_data) {
        return None;
    }
    let compiler = m.compiler.clone()?;
    if l.whole.get().is_none() {
        let made = with(m, |road, _| Ok(road.whole(l))).ok().flatten();
        l.whole.set(made).ok()?;
    }
    let fun = l.whole.get()?.clone()?;
    let Fun::Member(g, i) = &*fun else { return None };
    let code = g.codes[*i as usize].clone();
    let ready = match (&code.native, l.hot.get()) {
        (Some(state), true) => state.compile(&compiler, &m.road.clock),
        _ => m.native_code(&code, ready.leaves.iter()).is_some(),
    };
    ready.then_some(fun)
}

fn holds_data(ty: &Ty) -> bool {
    match ty {
        Ty::Data(_) => true,
        Ty::Array(e, _) => holds_data(e),
        _ => false,
    }
}

impl Road {
    fn whole(&mut self, l: &Lined) -> Option<Rc<Fun>> {
        let [primal, cotangent] = l.halves.map(|f| self.program.func(f).clone());
        let (name, results) = (primal.name.trim_start_matches("primal "), &primal.body.results);
        let (Some(seed), [y]) = (cotangent.body.params.last(), &results[..l.results]) else { return None };
        if !matches!(primal.ty(*y), Ty::F64 | Ty::F32) || cotangent.body.params.len() != results.len() {
            return None;
        }
        let mut b = Builder::new(&format!("gradient {name}"));
        let params: Vec<_> = primal.body.params.iter().map(|v| b.param(primal.ty(*v).clone())).collect();
        let seed = b.param(cotangent.ty(*seed).clone());
        let outs = b.call(&self.program, l.halves[0], &params, &[]).0;
        let args = [&outs[l.results..], &[seed]].concat();
        let grads = b.call(&self.program, l.halves[1], &args, &[]).0;
        let made = b.finish([&outs[..l.results], &grads].concat(), Vec::new());
        let id = self.program.add(made);
        self.linker.function(&self.program, id).ok()
    }
}

fn run(m: &mut Machine, x: &Value, l: &Lined, fun: &Rc<Fun>, leaves: Vec<Value>) -> Res<Result<Recorded, Not>> {
    let e = &l.entered;
    let broken = || super::not("a result of another layout than its type says");
    let Some(arg) = e.entry.inputs.first().map(|i| &i.layout) else { return Ok(Err(broken())) };
    let n = l.results + arg.leaves().iter().filter(|t| e.datas.has_tangent(t)).count();
    let mut outs = m.call_lowered(fun, leaves, n)?.into_iter();
    let y = possible!(e.datas.put_together(&e.entry.result, &mut outs).ok_or_else(broken));
    let g = possible!(e.datas.merge(x, arg, &mut outs.map(tangents::unsigned_zeros)).ok_or_else(broken));
    Ok(Ok(Recorded::Whole(y, g)))
}

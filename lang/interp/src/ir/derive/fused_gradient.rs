//! Fused gradients: the primal half and its transpose as one IR function. There are three cases:
//!
//! - Residuals contain declared data, and there is native code. Data that leaves native code is converted to
//!   values of the interpreter, and the residuals of a recursive function are as large as its tree of calls. In
//!   a fused gradient they stay in native code.
//! - A forward loop stores arrays only for a reverse loop. Both loops are fused ([`adl_opt::fuse_halves`]), and
//!   nothing is stored.
//! - Both halves are pure arithmetic on large arrays. As one function they form one chain of operations
//!   ([`crate::ir::fuse_elementwise`]), whose residuals stay in the cache or, on a device, in registers. Code that only
//!   computes the value is removed if the caller does not ask for it, unless it performs a check that the rest
//!   does not.

use super::{
    CompiledAd, FusedGradient, Linearized, NotCompiled, PreparedGradient, UnsignedZeros, answer, attempt,
    gradient_target, readied, recorded_by, wanted, with,
};
use crate::ad::linear::LinearMap;
use crate::error::Res;
use crate::ir::native::{OnDevice, state_of};
use crate::ir::{fuse_elementwise, tangents};
use crate::limits::ir_derive_fused_gradient::{MANY, MOST, WORTH};
use crate::upcalls::RunsLowered;
use crate::value::{Kind, Value, seq};
use crate::vm::{Fun, Machine};
use adl_ir::{Block, Builder, FnId, Function, Lit, Op, Ty, Var};
use adl_prim::Bin;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The result of differentiating a function at a point.
pub(crate) enum Differentiated {
    /// The value and the derivative.
    Map(Value, LinearMap),
    /// The value and the gradient.
    FusedGradient(Value, Value),
}

/// `f x`, with the gradient of `f` at `x` or the derivative for later use. If `value` is false, the value may
/// be left out.
pub(crate) fn record_gradient(m: &mut Machine, f: &Value, x: &Value, value: bool) -> Res<Option<Differentiated>> {
    if !wanted(m) {
        return Ok(None);
    }
    let out = attempt(m, |m| recorded(m, f, x, value));
    let out = answer(m, f, out)?;
    if let Some(Differentiated::FusedGradient(..)) = out {
        m.compiled_ad.add_to_last_call();
    }
    Ok(out)
}

fn recorded(
    machine: &mut Machine,
    func: &Value,
    input: &Value,
    value: bool,
) -> Res<Result<Differentiated, NotCompiled>> {
    let ready = or_not_compiled!(readied(machine, func, input)?);
    // With `--check-nan` the value is always computed, because a non-finite value in it must stop the program.
    if !machine.check_nan
        && machine.compiled_ad.plans.given.is_none()
        && ready.plan == super::Plan::StoreAll
        && ready.lined.active[..] == [true]
    {
        if machine.device.is_measured() {
            return match gradient_target::side(machine, input, &ready, value) {
                gradient_target::GradientTarget::Device(out) => out,
                gradient_target::GradientTarget::Cpu(size) => {
                    machine.cpu_only(|m| on_cpu(m, (func, input), ready, value, Some(size)))
                }
            };
        }
        let whole = if machine.device.is_wanted() { fused_for_device(machine, &ready.lined, value) } else { None };
        return match whole {
            Some(whole) => run(machine, input, &ready.lined, &whole, ready.leaves),
            None => on_cpu(machine, (func, input), ready, value, None),
        };
    }
    by_two_functions(machine, (func, input), ready, None)
}

/// Computes a gradient that may be fused by the fastest way on the CPU. `measured` is the number of scalars in
/// the arguments, if the time is to be recorded.
fn on_cpu(
    m: &mut Machine,
    (f, x): (&Value, &Value),
    ready: PreparedGradient,
    value: bool,
    measured: Option<u64>,
) -> Res<Result<Differentiated, NotCompiled>> {
    let (start, lined) = (Instant::now(), ready.lined.clone());
    let joined = joined(m, &ready).map(|fun| FusedGradient { fun, plain: UnsignedZeros::None, value: true });
    let whole = joined.or_else(|| native(m, &ready, value).or_else(|| together(m, &lined, value)));
    let Some(whole) = whole else { return by_two_functions(m, (f, x), ready, measured) };
    let out = run(m, x, &lined, &whole, ready.leaves);
    if let Some(size) = measured {
        gradient_target::took_here(&lined, size, start);
    }
    out
}

/// Runs the primal half, and returns the derivative for later.
fn by_two_functions(
    m: &mut Machine,
    (f, x): (&Value, &Value),
    ready: PreparedGradient,
    measured: Option<u64>,
) -> Res<Result<Differentiated, NotCompiled>> {
    let lined = ready.lined.clone();
    let out = recorded_by(m, f, x, ready, measured)?;
    lined.profile.native.set(m.ran_native);
    Ok(out.map(|(y, map)| Differentiated::Map(y, map)))
}

/// Both halves with fused loops, if loops can be fused and the arguments are large.
fn joined(machine: &mut Machine, ready: &PreparedGradient) -> Option<Rc<Fun>> {
    let linearized = &ready.lined;
    let longest = ready.leaves.iter().filter_map(seq::shape).map(|s| s.iter().product::<usize>()).max().unwrap_or(0);
    // A loop that carries an accumulator would be a single thread on a device.
    if machine.device.is_wanted() || longest < MANY || linearized.kept.iter().any(holds_data) || linearized.results != 1
    {
        return None;
    }
    let again = linearized.fused.loops.get().is_some();
    if !again {
        let made = with(machine, |compiled_ad, _| Ok(compiled_ad.joined(linearized))).ok().flatten();
        linearized.fused.loops.set(made).ok()?;
    }
    let fun = linearized.fused.loops.get()?.clone()?;
    // The cost model does not count chains of operations on large arrays as savings of compilation; replacing
    // them all by one loop does save time.
    if again && longest >= fuse_elementwise::LARGE {
        super::compile_plain::compiled(machine, &fun, &ready.leaves);
    }
    Some(fun)
}

/// Both halves as one function for a device. Forward and reverse work may share a kernel, in which residuals
/// stay, and the value is not computed unless it is asked for. If the device refuses this function, the halves
/// are offered separately.
pub(super) fn fused_for_device(m: &mut Machine, l: &Linearized, value: bool) -> Option<FusedGradient> {
    if l.kept.iter().any(holds_data) {
        return None;
    }
    let made = &l.fused.on_device[usize::from(value)];
    if made.get().is_none() {
        let fun = with(m, |compiled_ad, _| Ok(compiled_ad.whole(l, value, UnsignedZeros::Arrays))).ok().flatten();
        made.set(fun).ok()?;
    }
    let whole = made.get()?.clone()?;
    let Fun::Member(g, i) = &*whole.fun else { return None };
    let refused = state_of(&g.codes[*i as usize]).is_some_and(|s| matches!(s.on_device(), Some(OnDevice::Never(_))));
    (!refused).then_some(whole)
}

/// The fused gradient, if residuals contain data and its native code exists or should be compiled.
fn native(machine: &mut Machine, ready: &PreparedGradient, value: bool) -> Option<FusedGradient> {
    let l = &ready.lined;
    if !l.kept.iter().any(holds_data) {
        return None;
    }
    let compiler = machine.compiler.clone()?;
    let whole = made(machine, l, value)?;
    let Fun::Member(g, i) = &*whole.fun else { return None };
    let code = g.codes[*i as usize].clone();
    let ready = match (state_of(&code), l.profile.native.get()) {
        (Some(state), true) => state.compile_for(&compiler, &machine.compiled_ad.clock, ready.leaves.iter()),
        _ => machine.native_code(&code, ready.leaves.iter()).is_some(),
    };
    ready.then_some(whole)
}

/// The fused gradient, if both halves are pure arithmetic on arrays and the gradient takes long.
fn together(machine: &mut Machine, linearized: &Linearized, value: bool) -> Option<FusedGradient> {
    let (times, least) = linearized.profile.halves.get();
    if times < 2 || least < WORTH {
        return None;
    }
    if linearized.fused.halves[usize::from(value)].get().is_none()
        && !linearized.halves.iter().all(|f| arithmetic(machine.compiled_ad.program.func(*f)))
    {
        linearized.profile.halves.set((0, Duration::MAX));
        return None;
    }
    made(machine, linearized, value)
}

fn made(m: &mut Machine, l: &Linearized, value: bool) -> Option<FusedGradient> {
    let made = &l.fused.halves[usize::from(value)];
    if made.get().is_none() {
        let fun = with(m, |compiled_ad, _| Ok(compiled_ad.whole(l, value, UnsignedZeros::Vectors))).ok().flatten();
        made.set(fun).ok()?;
    }
    made.get()?.clone()
}

/// Whether a function consists of operations without blocks and of loops that become such operations, some of
/// them on arrays.
fn arithmetic(f: &Function) -> bool {
    let stmts = &f.body.stmts;
    let simple = |op: &Op| match op {
        Op::Loop(l) => fuse_elementwise::suits(f, l),
        Op::Call { .. } => false,
        op => op.blocks().is_empty(),
    };
    stmts.len() <= MOST
        && stmts.iter().all(|s| simple(&s.op))
        && stmts.iter().any(|s| fuse_elementwise::on_arrays(f, s))
}

impl Linearized {
    /// Records the time of a gradient that was computed by two halves.
    fn took(&self, time: Duration) {
        let (times, least) = self.profile.halves.get();
        // The first call includes compilation.
        let least = if times == 0 { Duration::MAX } else { least.min(time) };
        self.profile.halves.set((times.saturating_add(1), least));
    }
}

/// Records the time of a gradient that began at `start`, after its derivative `map` was applied.
pub(crate) fn took(map: &LinearMap, start: Instant) {
    if let Some(main) = super::compiled(map) {
        main.lined.took(start.elapsed());
        if let Some(size) = main.cpu_only {
            gradient_target::took_here(&main.lined, size, start);
        }
    }
}

fn holds_data(ty: &Ty) -> bool {
    match ty {
        Ty::Data(_) => true,
        Ty::Array(e, _) => holds_data(e),
        _ => false,
    }
}

impl CompiledAd {
    fn joined(&mut self, l: &Linearized) -> Option<Rc<Fun>> {
        let made = adl_opt::fuse_halves::join(&self.program, l.halves[0], l.halves[1])?;
        let id = self.program.add(made);
        self.linker.function(&self.program, id).ok()
    }

    fn whole(&mut self, linearized: &Linearized, value: bool, plain: UnsignedZeros) -> Option<FusedGradient> {
        let [primal, cotangent] = linearized.halves.map(|f| self.program.func(f).clone());
        let (name, results) = (primal.name.trim_start_matches("primal "), &primal.body.results);
        let [y] = &results[..linearized.results] else { return None };
        if !matches!(primal.ty(*y), Ty::F64 | Ty::F32) || cotangent.body.params.len() != results.len() {
            return None;
        }
        let mut b = Builder::new(&format!("gradient {name}"));
        let params: Vec<_> = primal.body.params.iter().map(|v| b.param(primal.ty(*v).clone())).collect();
        let outs = b.call(&self.program, linearized.halves[0], &params, &[]).0;
        let one = b.real(1.0, *outs.first()?);
        let args = [&outs[linearized.results..], &[one]].concat();
        let mut grads = b.call(&self.program, linearized.halves[1], &args, &[]).0;
        let plain = if unsigned(&mut b, linearized, &params, &mut grads, plain) { plain } else { UnsignedZeros::None };
        let value = value || self.checks_indices(linearized.halves[0]);
        let values = if value { &outs[..linearized.results] } else { &[] };
        let made = b.finish([values, &grads].concat(), Vec::new());
        let id = self.program.add(made);
        if self.ad.arrays(&self.program, linearized.source) == adl_ir::Zeros::Materialized {
            self.linker.arrays_are_materialized(id);
        }
        Some(FusedGradient { fun: self.linker.function(&self.program, id).ok()?, plain, value })
    }

    /// Whether a function gathers at indices that must be in bounds. The scatter in the transpose does not
    /// check them, so the value must be computed too.
    fn checks_indices(&self, f: FnId) -> bool {
        self.program.callees(f, |_, _| true).into_iter().any(|f| gathers(&self.program.func(f).body))
    }
}

fn gathers(b: &Block) -> bool {
    b.stmts.iter().any(|s| matches!(s.op, Op::Gather { shape: None, .. }) || s.op.blocks().into_iter().any(gathers))
}

/// Replaces -0 by 0 in gradients that are vectors or arrays, inside the loop that produces them. Returns
/// whether it applied.
fn unsigned(builder: &mut Builder, l: &Linearized, params: &[Var], grads: &mut [Var], plain: UnsignedZeros) -> bool {
    let wrt: Vec<Var> = params
        .iter()
        .zip(&l.wrt)
        .filter(|(p, wrt)| **wrt && builder.ty(**p).scalar().is_real())
        .map(|(p, _)| *p)
        .collect();
    if wrt.len() != grads.len() || wrt.iter().zip(&*grads).any(|(p, g)| builder.ty(*p) != builder.ty(*g)) {
        return false;
    }
    for (p, gradient) in wrt.into_iter().zip(grads) {
        let ty = builder.ty(p);
        if plain == UnsignedZeros::Arrays && matches!(ty, Ty::Array(..)) {
            let zero = builder.real(0.0, *gradient);
            *gradient = builder.bin(Bin::Add, zero, *gradient);
        }
        if plain != UnsignedZeros::Vectors || !is_vector(&ty) {
            continue;
        }
        let (n, zero) = (builder.dim(p, 0), builder.lit(Lit::F64(0.0)));
        let zeros = builder.one(Op::Replicate { n, a: zero }, Ty::F64.array(1));
        *gradient = builder.bin(Bin::Add, zeros, *gradient);
    }
    true
}

fn is_vector(ty: &Ty) -> bool {
    matches!(ty, Ty::Array(e, 1) if **e == Ty::F64)
}

pub(super) fn run(
    machine: &mut Machine,
    input: &Value,
    l: &Linearized,
    whole: &FusedGradient,
    leaves: Vec<Value>,
) -> Res<Result<Differentiated, NotCompiled>> {
    let specialized = &l.specialized;
    let broken = || super::not("a result of another layout than its type says");
    let Some(arg) = specialized.entry.inputs.first().map(|i| &i.layout) else { return Ok(Err(broken())) };
    let values = if whole.value { l.results } else { 0 };
    let n = values + arg.leaves().iter().filter(|t| specialized.datas.has_tangent(t)).count();
    machine.effects.rewind();
    let mut outs = machine.call_lowered(&whole.fun, leaves, n)?.into_iter();
    let value = if whole.value {
        or_not_compiled!(specialized.datas.from_leaves(&specialized.entry.result, &mut outs).ok_or_else(broken))
    } else {
        Value::Unit
    };
    let g = or_not_compiled!(
        specialized
            .datas
            .merge(input, arg, &mut outs.map(|v| if whole.plain.has(&v) { v } else { tangents::unsigned_zeros(v) }))
            .ok_or_else(broken)
    );
    Ok(Ok(Differentiated::FusedGradient(value, g)))
}

impl UnsignedZeros {
    fn has(self, v: &Value) -> bool {
        match v {
            Value::Array(a) => {
                self == UnsignedZeros::Arrays
                    || self == UnsignedZeros::Vectors && a.shape.len() == 1 && a.kind() == Kind::F64
            }
            _ => false,
        }
    }
}

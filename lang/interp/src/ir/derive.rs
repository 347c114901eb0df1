//! Derivative operators by compiled AD: specialisation, transformation of IR, lowering, and evaluation.
//!
//! An operator at top level, outside any derivative that is being computed, first asks this module. It answers
//! `None` if the function cannot be specialised; taped AD then computes the derivative, and [`CompiledAd::explain`]
//! records why. A repeated run replays its effects (`vm::effects`), so a run-time error is handled in the same way: taped AD runs
//! into it again and reports it in terms of the user's program.
//!
//! Compiled code is cached together with the facts about captured values on which it depends; a second call
//! compiles nothing. The cache is bounded: a session that keeps creating functions clears it when it exceeds
//! `FUNCTIONS`.

/// Evaluates to the `Ok` value, or returns `Ok(Err(..))` with the reason why compilation is not possible.
macro_rules! or_not_compiled {
    ($e:expr) => {
        match $e {
            Ok(v) => v,
            Err(n) => return Ok(Err(n)),
        }
    };
}

pub(crate) mod compile_plain;
pub(crate) mod cost;
mod derivative_stats;
pub(crate) mod directions;
mod fused_gradient;
mod gradient_target;
mod measure;
mod passes;
mod plan;
pub mod report;
mod resolve_plan;
mod shape_variants;
pub mod stages;
pub mod table;

pub use cost::rules_of;
pub(crate) use derivative_stats::CompileClock;
pub use derivative_stats::DerivativeStats;
pub(crate) use fused_gradient::{Differentiated, record_gradient, took};
pub use plan::{Plan, SPELLINGS};

use super::layout_leaves::DataTypes;
use super::lower::Linker;
use super::tangents;
use super::world::{self, ValueFact, Values};
use crate::ad::linear::{self, LinearMap, Traced};
use crate::device::{DeviceRuns, DeviceTimes};
use crate::error::{Error, Res, codes};
use crate::limits::ir_derive::{FUNCTIONS, KEPT, MEASURES};
use crate::value::Value;
use crate::vm::code::Code;
use crate::vm::{Fun, Machine};
use adl_ad::Ad;
use adl_ir::{FnId, Program};
use adl_prim::Prim;
use adl_specialise::HostCall;
use adl_specialise::world::{Entry, Transforms, Unsupported, ValuePath};
use adl_syntax::span::Span;
use adl_typing::ty::Ty;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::Instant;

/// How derivatives are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Derivation {
    /// By compiled AD if possible, otherwise by taped AD.
    #[default]
    Compiled,
    /// Always by taped AD.
    Taped,
}

/// A record of how a derivative was computed.
#[derive(Clone, Debug)]
pub struct DerivativeRecord {
    /// The operator.
    pub op: String,
    /// The differentiated function: its name, if it has one.
    pub function: String,
    /// Whether compiled or taped AD was used.
    pub derivation: Derivation,
    /// Whether any of its code ran natively.
    pub native: bool,
    /// What a device did for it.
    pub device: DeviceRuns,
    /// Why compiled AD was not possible, if it was not.
    pub why: Option<String>,
    /// The source position of that reason.
    pub span: Span,
    /// Number of calls, and time spent on compilation.
    pub spent: DerivativeStats,
    /// The differentiated function in the IR, if compiled AD was used.
    func: Option<FnId>,
}

impl DerivativeRecord {
    /// Whether two records agree in everything but statistics and the use of native code.
    fn same(&self, other: &DerivativeRecord) -> bool {
        (&self.op, &self.function, self.derivation, &self.why, self.span, self.func)
            == (&other.op, &other.function, other.derivation, &other.why, other.span, other.func)
    }
}

/// The state of compiled AD: one program that contains all compiled functions, and the caches.
pub struct CompiledAd {
    /// Whether compiled or taped AD is selected.
    pub choice: Derivation,
    /// The last derivatives of this evaluation.
    pub explain: Vec<DerivativeRecord>,
    /// The operator that is running.
    pub(crate) op: &'static str,
    /// The function that was last specialised for it.
    entered: Option<FnId>,
    pub(super) program: Program,
    pub(super) ad: Ad,
    specialised: SpecialisedCode,
    linker: Linker,
    /// The checkpointing plan of every gradient without a plan of its own.
    pub plan: Plan,
    plans: FunctionPlans,
    derived: DerivedCode,
    /// What a device did for the running operator.
    ran: DeviceRuns,
    /// Time spent on compilation for the running operator.
    pub(crate) clock: CompileClock,
    /// Functions to which tail-call elimination has been applied.
    turned: HashSet<FnId>,
    /// The calls of the host that compiled code contains, and the data types in their layouts.
    host_calls: HashMap<(Prim, Rc<str>), (Rc<HostCall>, Rc<DataTypes>)>,
}

/// Functions of the program in the IR, by what they were specialised to.
#[derive(Default)]
struct SpecialisedCode {
    cache: adl_specialise::Cache,
    /// The specialiser's cache for code in which loops that collect rows may run zero iterations.
    cache_no_rows: adl_specialise::Cache,
    /// Whether such code is being compiled now.
    allow_zero_trips: bool,
    /// The specialisations of each definition.
    made: HashMap<(&'static str, usize), Vec<CacheEntry>>,
}

/// Plans of single functions, and what the runs of plans have told.
#[derive(Default)]
struct FunctionPlans {
    /// The identity of the definition, the function (kept alive so that its address stays unique), and the plan.
    applied: Vec<((&'static str, usize), Value, Plan)>,
    /// The plan passed to the running operator.
    given: Option<Plan>,
    decisions: resolve_plan::PlanCache,
    /// Memory that the last runs stored.
    measured: Vec<MemoryMeasurement>,
}

/// What was made of functions in the IR.
#[derive(Default)]
struct DerivedCode {
    lines: HashMap<(FnId, resolve_plan::ResolvedPlan), Rc<Linearized>>,
    jvps: HashMap<FnId, Rc<Forward>>,
    /// Versions of functions that are optimised for undifferentiated calls. The flag says whether all their
    /// arrays are materialised.
    plain: HashMap<(FnId, bool), FnId>,
    /// Versions of functions that are specialised to the shapes of their arguments.
    variants: shape_variants::Variants,
}

impl Default for CompiledAd {
    fn default() -> CompiledAd {
        let mut ad = Ad::new();
        ad.optimise = true;
        CompiledAd {
            choice: Derivation::default(),
            explain: Vec::new(),
            op: "",
            entered: None,
            program: Program::default(),
            ad,
            specialised: SpecialisedCode::default(),
            linker: Linker::default(),
            plan: Plan::default(),
            plans: FunctionPlans::default(),
            derived: DerivedCode::default(),
            ran: DeviceRuns::default(),
            clock: CompileClock::default(),
            turned: HashSet::new(),
            host_calls: HashMap::new(),
        }
    }
}

/// User settings, which survive clearing the cache.
pub struct Settings {
    choice: Derivation,
    plan: Plan,
    applied: Vec<((&'static str, usize), Value, Plan)>,
}

/// A measurement: the memory that a gradient of this function stored under this plan, at arguments of these
/// sizes.
struct MemoryMeasurement {
    func: FnId,
    how: resolve_plan::ResolvedPlan,
    sizes: Vec<i64>,
    bytes: u64,
}

/// A cache entry: a specialisation, or the reason why there is none, with the facts on which it depends.
struct CacheEntry {
    args: Vec<Ty>,
    /// Whether its loops that collect rows may run zero iterations.
    allow_zero_trips: bool,
    facts: Vec<(ValuePath, ValueFact)>,
    /// Keeps code alive whose address occurs in the facts.
    _keep: Vec<Rc<Code>>,
    entry: Result<Rc<Specialized>, Unsupported>,
}

pub(crate) struct Specialized {
    pub entry: Entry,
    pub datas: Rc<DataTypes>,
    /// The same function before shape specialisation.
    origin: FnId,
}

/// The halves of a gradient as one function, built on demand; `None` if that is not possible.
#[derive(Default)]
struct FusedForms {
    /// Without and with the value of the function.
    halves: [std::cell::OnceCell<Option<fused_gradient::FusedGradient>>; 2],
    /// Likewise for a device.
    on_device: [std::cell::OnceCell<Option<fused_gradient::FusedGradient>>; 2],
    /// With fused forward and reverse loops, for large arguments.
    loops: std::cell::OnceCell<Option<Rc<Fun>>>,
}

/// What was timed about the gradients of a function.
#[derive(Default)]
struct GradientProfile {
    /// For [`crate::device::Mode::Auto`]: times of entire gradients on the CPU and on a device.
    device: std::cell::RefCell<DeviceTimes>,
    /// The number of gradients that were computed by two separate halves, and the shortest of their times after the
    /// first one.
    halves: std::cell::Cell<(u32, std::time::Duration)>,
    /// Whether the primal half, or a callee of it, ran natively the last time.
    native: std::cell::Cell<bool>,
}

/// A linearised function: its primal half, tangent half and transpose.
struct Linearized {
    specialized: Rc<Specialized>,
    primal: Rc<Fun>,
    tangent: Rc<Fun>,
    cotangent: Rc<Fun>,
    /// Number of results of the original function; residuals follow them.
    results: usize,
    /// Number of results of the primal half, including residuals.
    outs: usize,
    /// Types of the residuals.
    kept: Vec<adl_ir::Ty>,
    /// The primal half and the transpose, in the program.
    halves: [FnId; 2],
    fused: FusedForms,
    profile: GradientProfile,
    active: Vec<bool>,
    /// What was linearised: the function, the parameters with respect to which it is differentiated, and the
    /// plan.
    source: FnId,
    wrt: Vec<bool>,
    plan: adl_ad::unzip::UnzipPlan,
    /// The derivative for many directions at once, in forward and in reverse mode.
    wide: std::cell::RefCell<[Option<Rc<Fun>>; 2]>,
    /// The sparsity pattern of the Jacobian that was last derived from the code.
    pattern: std::cell::RefCell<Option<directions::SparsityPattern>>,
}

/// A function in forward mode.
struct Forward {
    entered: Rc<Specialized>,
    func: Rc<Fun>,
    results: usize,
    active: Vec<bool>,
}

/// A derivative at a point: the residuals, and the code that reads them.
pub(crate) struct Map {
    lined: Rc<Linearized>,
    residuals: Vec<Value>,
    /// The function and the point.
    at: (Value, Value),
    /// If the CPU was chosen for this gradient by measured time: the size class key, which is the number of
    /// scalars in the arguments.
    cpu_only: Option<u64>,
    /// The results of the function's effects, which must not be repeated.
    effects: Vec<Value>,
}

impl Map {
    /// The values that the derivative keeps alive.
    pub(crate) fn holds(&self) -> impl Iterator<Item = &Value> {
        self.residuals.iter().chain([&self.at.0, &self.at.1]).chain(&self.effects)
    }
}

/// The reason why compiled AD is not possible.
pub(crate) struct NotCompiled(pub Unsupported);

impl From<Unsupported> for NotCompiled {
    fn from(u: Unsupported) -> NotCompiled {
        NotCompiled(u)
    }
}

fn not(why: &str) -> NotCompiled {
    NotCompiled(Unsupported::new(why, Span::default()))
}

impl CompiledAd {
    fn note(&mut self, f: &Value, native: bool, why: Option<Unsupported>) {
        if self.explain.len() >= KEPT {
            self.clock = CompileClock::default();
            return;
        }
        let function = name_of(f);
        let derivation = if why.is_some() { Derivation::Taped } else { Derivation::Compiled };
        let func = self.entered.take().filter(|_| derivation == Derivation::Compiled);
        let (why, span) = why.map_or((None, Span::default()), |u| (Some(u.why), u.span));
        let record = DerivativeRecord {
            op: self.op.to_owned(),
            function,
            derivation,
            native,
            device: std::mem::take(&mut self.ran),
            why,
            span,
            spent: DerivativeStats::default(),
            func,
        };
        // Consecutive equal calls share one record, which leaves room for others.
        match self.explain.last_mut() {
            Some(last) if last.same(&record) => {
                last.native |= record.native;
                last.device.add(record.device);
            }
            _ => self.explain.push(record),
        }
        self.count_call();
    }

    /// Number of IR functions in the cache.
    pub fn functions(&self) -> usize {
        self.program.funcs.len()
    }

    /// Functions that have plans of their own.
    pub(crate) fn kept_functions(&self) -> impl Iterator<Item = &Value> {
        self.plans.applied.iter().map(|a| &a.1)
    }

    /// The user's settings.
    pub(crate) fn settings(&self) -> Settings {
        Settings { choice: self.choice, plan: self.plan.clone(), applied: self.plans.applied.clone() }
    }

    /// An empty cache with these settings.
    pub(crate) fn with(s: Settings) -> CompiledAd {
        let plans = FunctionPlans { applied: s.applied, ..FunctionPlans::default() };
        CompiledAd { choice: s.choice, plan: s.plan, plans, ..CompiledAd::default() }
    }

    /// Clears the cache. Derivatives at a point that are still alive own their code.
    pub(crate) fn forget(&mut self) {
        let new = CompiledAd::default();
        self.explain.iter_mut().for_each(|e| e.func = None);
        *self = CompiledAd {
            choice: self.choice,
            explain: std::mem::take(&mut self.explain),
            op: self.op,
            specialised: SpecialisedCode {
                allow_zero_trips: self.specialised.allow_zero_trips,
                ..SpecialisedCode::default()
            },
            plan: self.plan.clone(),
            plans: FunctionPlans {
                applied: std::mem::take(&mut self.plans.applied),
                given: self.plans.given.take(),
                ..FunctionPlans::default()
            },
            clock: std::mem::take(&mut self.clock),
            ..new
        };
    }

    fn enter(&mut self, m: &Machine, f: &Value, args: &[Value]) -> Result<Rc<Specialized>, NotCompiled> {
        let e = self.entry(m, f, args)?;
        self.entered = Some(e.entry.func);
        Ok(e)
    }

    fn entry(&mut self, m: &Machine, f: &Value, args: &[Value]) -> Result<Rc<Specialized>, NotCompiled> {
        let tys = args
            .iter()
            .enumerate()
            .map(|(i, a)| {
                world::parameter(f, i)
                    .or_else(|| world::type_of(m, a))
                    .ok_or_else(|| not("an argument whose type its value does not tell"))
            })
            .collect::<Result<Vec<Ty>, NotCompiled>>()?;
        self.enter_at(m, f, args, tys)
    }

    /// Specialises a function to arguments of known types.
    pub(super) fn enter_at(
        &mut self,
        m: &Machine,
        func: &Value,
        args: &[Value],
        tys: Vec<Ty>,
    ) -> Result<Rc<Specialized>, NotCompiled> {
        let mut values = Values { allow_zero_trips: self.specialised.allow_zero_trips, ..Values::new(m, func, args) };
        let (root, allow_zero_trips) = (world::root(func), self.specialised.allow_zero_trips);
        if let Some(made) = self.specialised.made.get(&root).and_then(|all| {
            all.iter().find(|e| e.args == tys && e.allow_zero_trips == allow_zero_trips && values.fits(&e.facts))
        }) {
            return made.entry.clone().map_err(NotCompiled);
        }
        let start = Instant::now();
        if self.program.funcs.len() > FUNCTIONS {
            self.forget();
        }
        let cache = if allow_zero_trips { &mut self.specialised.cache_no_rows } else { &mut self.specialised.cache };
        self.ad.begin();
        let entry = adl_specialise::specialise(&mut values, &mut self.ad, &mut self.program, cache, &tys);
        let entry = entry.map(|mut entry| {
            let trimmed = adl_opt::ipo_dce::trim(&mut self.program, entry.func);
            entry.func = trimmed.root;
            self.ad.copied(trimmed.copies);
            let parts = adl_opt::tail_calls::as_loops(&mut self.program, entry.func, &mut self.turned);
            self.ad.copied(parts);
            self.ad.given_zeros(adl_opt::shapes::receivers(&self.program, entry.func));
            let datas = Rc::new(DataTypes::new(&entry.datas));
            self.host_calls.extend(entry.host_calls.drain().map(|(key, call)| (key, (call, datas.clone()))));
            Rc::new(Specialized { origin: entry.func, entry, datas })
        });
        let mut keep = std::mem::take(&mut values.keep);
        keep.extend(world::code_of(func));
        self.specialised.made.entry(root).or_default().push(CacheEntry {
            args: tys,
            allow_zero_trips,
            facts: values.facts,
            _keep: keep,
            entry: entry.clone(),
        });
        self.clock.add_transform_time(start);
        entry.map_err(NotCompiled)
    }

    /// A call of the host that compiled code contains.
    pub(super) fn host_call(&self, p: Prim, key: &Rc<str>) -> Option<(Rc<HostCall>, Rc<DataTypes>)> {
        self.host_calls.get(&(p, key.clone())).cloned()
    }

    /// Which parameters carry tangents: those of the arguments, not those of captured values.
    pub(super) fn wrt(&self, e: &Specialized) -> Vec<bool> {
        let params = self.program.func(e.entry.func).body.params.len();
        let args = e.entry.inputs.first().map_or(0, |i| i.layout.leaves().len());
        (0..params).map(|i| i < args).collect()
    }

    fn lined(
        &mut self,
        specialized: Rc<Specialized>,
        how: &resolve_plan::ResolvedPlan,
    ) -> Result<Rc<Linearized>, NotCompiled> {
        let key = (specialized.entry.func, how.clone());
        if let Some(l) = self.derived.lines.get(&key) {
            return Ok(l.clone());
        }
        let start = Instant::now();
        self.ad.begin();
        let wrt = self.wrt(&specialized);
        let id = self.ad.segmented(&mut self.program, specialized.entry.func, how.segments);
        let linearized = self.ad.linearize_with(&mut self.program, id, &wrt, &how.plan)?;
        let mut link = |f| self.linker.function(&self.program, f).map_err(|e| not(&e.diag.message));
        let (primal, tangent, cotangent) =
            (link(linearized.primal)?, link(linearized.tangent)?, link(linearized.cotangent)?);
        let made_by = self.program.func(linearized.primal);
        let outs = made_by.body.results.len();
        let kept = made_by.tys(&made_by.body.results[linearized.results..]);
        let made = Rc::new(Linearized {
            specialized: specialized.clone(),
            primal,
            tangent,
            cotangent,
            results: linearized.results,
            outs,
            kept,
            halves: [linearized.primal, linearized.cotangent],
            fused: FusedForms::default(),
            profile: GradientProfile::default(),
            active: linearized.active,
            source: id,
            wrt,
            plan: how.plan.clone(),
            wide: Default::default(),
            pattern: Default::default(),
        });
        self.derived.lines.insert(key, made.clone());
        self.clock.add_transform_time(start);
        Ok(made)
    }

    /// The plan for a function's gradient.
    fn plan_of(&self, f: &Value) -> Plan {
        let mine = || self.plans.applied.iter().find(|(r, ..)| *r == world::definition(f)).map(|(.., p)| p);
        self.plans.given.as_ref().or_else(mine).unwrap_or(&self.plan).clone()
    }

    /// Sets the plan for all gradients of a function.
    pub fn apply(&mut self, f: &Value, plan: Plan) {
        let root = world::definition(f);
        self.plans.applied.retain(|(r, ..)| *r != root);
        self.plans.applied.push((root, f.clone(), plan));
    }

    fn measure(&mut self, l: &Linearized, (how, sizes): (resolve_plan::ResolvedPlan, Vec<i64>), residuals: &[Value]) {
        let Ok(boxes) = self
            .differentiated(&l.specialized, how.segments)
            .and_then(|j| Ok(self.ad.boxes(&mut self.program, j, &how.plan)?))
        else {
            return;
        };
        let made = MemoryMeasurement {
            func: l.specialized.origin,
            bytes: self.bytes_of(&boxes, &l.kept, residuals),
            how,
            sizes,
        };
        self.plans.measured.retain(|old| !old.is_of(made.func, &made.how, &made.sizes));
        if self.plans.measured.len() >= MEASURES {
            self.plans.measured.remove(0);
        }
        self.plans.measured.push(made);
    }

    /// The memory that the last run of a function under a plan stored, at arguments of these sizes.
    fn measured(&self, f: FnId, how: &resolve_plan::ResolvedPlan, sizes: &[i64]) -> Option<u64> {
        self.plans.measured.iter().find(|old| old.is_of(f, how, sizes)).map(|old| old.bytes)
    }

    fn pushed(&mut self, specialized: Rc<Specialized>) -> Result<Rc<Forward>, NotCompiled> {
        if let Some(l) = self.derived.jvps.get(&specialized.entry.func) {
            return Ok(l.clone());
        }
        let start = Instant::now();
        self.ad.begin();
        let wrt = self.wrt(&specialized);
        let (func, active) = Transforms::jvp(&mut self.ad, &mut self.program, specialized.entry.func, &wrt)?;
        let func = self.linker.function(&self.program, func).map_err(|e| not(&e.diag.message))?;
        let results = self.program.func(specialized.entry.func).body.results.len();
        let made = Rc::new(Forward { entered: specialized.clone(), func, results, active });
        self.derived.jvps.insert(specialized.entry.func, made.clone());
        self.clock.add_transform_time(start);
        Ok(made)
    }
}

/// Whether two functions have the same definition, ignoring arguments of partial application.
pub fn same_definition(f: &Value, g: &Value) -> bool {
    matches!((f, g), (Value::Fun(_), Value::Fun(_))) && world::definition(f) == world::definition(g)
}

impl MemoryMeasurement {
    fn is_of(&self, f: FnId, how: &resolve_plan::ResolvedPlan, sizes: &[i64]) -> bool {
        self.func == f && self.how == *how && self.sizes == sizes
    }
}

/// The name of a function value.
pub(crate) fn name_of(f: &Value) -> String {
    match f {
        Value::Fun(f) => name(f),
        _ => "fun".into(),
    }
}

/// Runs an operator under a plan.
pub(crate) fn under<T>(m: &mut Machine, plan: &Value, run: impl FnOnce(&mut Machine) -> Res<T>) -> Res<T> {
    let plan = Plan::of(plan)?;
    let before = m.compiled_ad.plans.given.replace(plan);
    let out = run(m);
    m.compiled_ad.plans.given = before;
    out
}

/// The error for a plan on a function that compiled AD does not support.
pub(crate) fn no_plans_error(u: &Unsupported) -> Box<Error> {
    Error::new(codes::PLAN, format!("there are no plans for this function, because of {}", u.why))
        .hint("its derivatives are taped, which stores everything")
}

fn name(f: &Fun) -> String {
    match f {
        Fun::Closure(c, _) => c.name.map_or("fun".into(), |n| n.to_string()),
        Fun::Member(g, i) => g.codes[*i as usize].name.map_or("fun".into(), |n| n.to_string()),
        Fun::Prim(p, _) => p.name().to_owned(),
        Fun::Partial(g, _) => name(g),
        Fun::Custom(g, ..) | Fun::Checkpoint(g) => match g {
            Value::Fun(g) => name(g),
            _ => "fun".into(),
        },
        Fun::Linear(_) | Fun::Invertible(_) => "fun".into(),
        Fun::Host(h) => h.name.clone(),
    }
}

/// The values of all parameters of a specialised function.
fn inputs(m: &Machine, e: &Specialized, f: &Value, args: &[Value]) -> Result<Vec<Value>, NotCompiled> {
    let values = Values::new(m, f, args);
    let mut out = Vec::new();
    for i in &e.entry.inputs {
        let v = values.at(&i.place).ok_or_else(|| not("a value that is not there yet"))?;
        e.datas
            .to_leaves(&v, &i.layout, &mut out)
            .ok_or_else(|| not("a value of another layout than its type says"))?;
    }
    Ok(out)
}

/// Whether compiled AD should be attempted.
pub(crate) fn wanted(m: &Machine) -> bool {
    m.compiled_ad.choice == Derivation::Compiled && m.ad.depth() == 0
}

/// Lends the state of compiled AD out of the machine while `run` uses both.
fn with<T>(
    m: &mut Machine,
    run: impl FnOnce(&mut CompiledAd, &Machine) -> Result<T, NotCompiled>,
) -> Result<T, NotCompiled> {
    let spare = m.spare_ad.take().unwrap_or_default();
    let mut compiled_ad = std::mem::replace(&mut m.compiled_ad, spare);
    let out = run(&mut compiled_ad, m);
    m.spare_ad = Some(std::mem::replace(&mut m.compiled_ad, compiled_ad));
    out
}

/// The specialised function, with the values of its parameters.
fn entered(m: &mut Machine, f: &Value, args: &[Value]) -> Result<(Rc<Specialized>, Vec<Value>), NotCompiled> {
    with(m, |compiled_ad, m| {
        let e = compiled_ad.enter(m, f, args)?;
        let leaves = inputs(m, &e, f, args)?;
        Ok((e, leaves))
    })
}

/// The end of an attempt. `None` means that taped AD must be used; interrupts are passed on.
fn answer<T>(machine: &mut Machine, func: &Value, out: Res<Result<T, NotCompiled>>) -> Res<Option<T>> {
    let why = match out {
        Ok(Ok(v)) => {
            let native = std::mem::take(&mut machine.ran_native);
            machine.compiled_ad.ran = machine.device.take();
            machine.compiled_ad.note(func, native, None);
            return Ok(Some(v));
        }
        Ok(Err(NotCompiled(u))) => u,
        Err(e) if e.stops() || e.diag.code == codes::PLAN => return Err(e),
        Err(e) => Unsupported::new(format!("an error: {}", e.diag.message), e.diag.primary.span),
    };
    machine.ran_native = false;
    if let Some(Plan::Budget(_)) = machine.compiled_ad.plans.given {
        // Taped AD could not keep to the memory bound, and would repeat the effects of the function.
        return Err(no_plans_error(&why));
    }
    machine.compiled_ad.note(func, false, Some(why));
    Ok(None)
}

/// Runs code that assumes that loops which collect rows run at least once. If that assertion fails, runs code
/// without the assumption. If there is no result, the caller computes it in another way, without repeating effects.
fn attempt<T>(
    machine: &mut Machine,
    run: impl Fn(&mut Machine) -> Res<Result<T, NotCompiled>>,
) -> Res<Result<T, NotCompiled>> {
    machine.effects.begin();
    let out = match run(machine) {
        Err(e) if e.diag.code == codes::ASSERT => {
            machine.effects.rewind();
            machine.compiled_ad.specialised.allow_zero_trips = true;
            let out = run(machine);
            machine.compiled_ad.specialised.allow_zero_trips = false;
            out
        }
        out => out,
    };
    machine.effects.end(matches!(out, Ok(Ok(_))));
    out
}

/// `f x`, and the derivative of `f` at `x`.
pub(crate) fn record(m: &mut Machine, f: &Value, x: &Value) -> Res<Option<(Value, LinearMap)>> {
    if !wanted(m) {
        return Ok(None);
    }
    let out = attempt(m, |m| recorded(m, f, x));
    answer(m, f, out)
}

fn recorded(m: &mut Machine, f: &Value, x: &Value) -> Res<Result<(Value, LinearMap), NotCompiled>> {
    let ready = or_not_compiled!(readied(m, f, x)?);
    recorded_by(m, f, x, ready, None)
}

/// A linearised function with the values of its parameters.
struct PreparedGradient {
    lined: Rc<Linearized>,
    leaves: Vec<Value>,
    plan: Plan,
    how: resolve_plan::ResolvedPlan,
}

fn readied(m: &mut Machine, f: &Value, x: &Value) -> Res<Result<PreparedGradient, NotCompiled>> {
    let (e, leaves) = or_not_compiled!(entered(m, f, std::slice::from_ref(x)));
    let plan = m.compiled_ad.plan_of(f);
    let how = or_not_compiled!(resolve_plan::resolve(m, &e, &leaves, &plan)?);
    let lined = or_not_compiled!(with(m, |compiled_ad, _| compiled_ad.lined(e, &how)));
    Ok(Ok(PreparedGradient { lined, leaves, plan, how }))
}

/// `cpu_only` is given if the CPU was chosen by measured time: the number of scalars in the arguments.
fn recorded_by(
    machine: &mut Machine,
    func: &Value,
    input: &Value,
    ready: PreparedGradient,
    cpu_only: Option<u64>,
) -> Res<Result<(Value, LinearMap), NotCompiled>> {
    let PreparedGradient { lined, leaves, plan, how } = ready;
    let measured =
        (machine.compiled_ad.plans.given.is_some() || plan != Plan::StoreAll).then(|| resolve_plan::sizes(&leaves));
    machine.effects.rewind();
    let mut outs = machine.call_packed(&lined.primal, leaves, lined.outs, true)?;
    let residuals = outs.split_off(lined.results.min(outs.len()));
    let effects = machine.effects.performed();
    if let Some(sizes) = measured {
        machine.compiled_ad.measure(&lined, (how, sizes), &residuals);
    }
    let e = &lined.specialized;
    let Some(output) = e.datas.from_leaves(&e.entry.result, &mut outs.into_iter()) else {
        return Ok(Err(not("a result of another layout than its type says")));
    };
    let like = |v: &Value| Traced { like: v.clone(), nodes: Vec::new() };
    let map = LinearMap {
        tape: Rc::default(),
        input: like(input),
        output: like(&output),
        transposed: false,
        original: None,
        main: Some(Rc::new(Map {
            lined: lined.clone(),
            residuals,
            at: (func.clone(), input.clone()),
            cpu_only,
            effects,
        })),
    };
    Ok(Ok((output, map)))
}

/// Applies a derivative to a tangent, or its transpose to a cotangent. If that fails, taped AD is used.
pub(crate) fn apply(machine: &mut Machine, map: &LinearMap, main: &Map, value: &Value) -> Res<Value> {
    let out = if main.cpu_only.is_some() {
        machine.cpu_only(|m| applied(m, map, main, value))
    } else {
        applied(machine, map, main, value)
    };
    match out {
        Err(e) if !e.stops() => {
            let why = Unsupported::new(format!("an error: {}", e.diag.message), e.diag.primary.span);
            machine.compiled_ad.note(&main.at.0, false, Some(why));
            machine.effects.repeat(&main.effects);
            let (_, taped) = linear::taped(machine, Default::default(), &main.at.0, &main.at.1)?;
            linear::apply(machine, &LinearMap { transposed: map.transposed, ..taped }, value.clone())
        }
        out => {
            // The record was made with the primal half; add the statistics of the half that has run now.
            let (native, ran) = (std::mem::take(&mut machine.ran_native), machine.device.take());
            if let Some(last) = machine.compiled_ad.explain.last_mut().filter(|e| e.derivation == Derivation::Compiled)
            {
                last.native |= native;
                last.device.add(ran);
            }
            machine.compiled_ad.add_to_last_call();
            out
        }
    }
}

fn applied(machine: &mut Machine, map: &LinearMap, main: &Map, v: &Value) -> Res<Value> {
    let broken = || Error::new(codes::STRUCTURE, "a linear function is applied to data of another structure");
    let linearized = &main.lined;
    let specialized = &linearized.specialized;
    let Some(arg) = specialized.entry.inputs.first().map(|i| &i.layout) else { return Err(broken()) };
    let result = &specialized.entry.result;
    let mut args = main.residuals.clone();
    let from = if map.transposed { result } else { arg };
    let mut seeds = Vec::new();
    specialized.datas.tangents(v, from, &mut seeds).ok_or_else(broken)?;
    if map.transposed {
        let active = linearized
            .active
            .iter()
            .zip(result.leaves())
            .filter(|(_, t)| specialized.datas.has_tangent(t))
            .map(|(a, _)| *a);
        args.extend(seeds.into_iter().zip(active).filter(|(_, a)| *a).map(|(s, _)| s));
        let n = arg.leaves().iter().filter(|t| specialized.datas.has_tangent(t)).count();
        let outs = machine.call_lowered(&linearized.cotangent, args, n)?;
        return specialized
            .datas
            .merge(&map.input.like, arg, &mut outs.into_iter().map(tangents::unsigned_zeros))
            .ok_or_else(broken);
    }
    args.extend(seeds);
    let n = linearized.active.iter().filter(|a| **a).count();
    let outs = machine.call_lowered(&linearized.tangent, args, n)?;
    specialized
        .datas
        .merge(&map.output.like, result, &mut spread(specialized, &linearized.active, outs).into_iter())
        .ok_or_else(broken)
}

/// Tangents of all results whose type has a tangent; symbolic zeros for inactive results.
fn spread(e: &Specialized, active: &[bool], outs: Vec<Value>) -> Vec<Value> {
    let mut next = outs.into_iter();
    let leaves = e.entry.result.leaves();
    active
        .iter()
        .zip(&leaves)
        .filter(|(_, t)| e.datas.has_tangent(t))
        .map(|(a, _)| if *a { next.next().unwrap_or(Value::Zero) } else { Value::Zero })
        .collect()
}

/// `f x`, and its derivative in the direction `v`.
pub(crate) fn jvp(m: &mut Machine, f: &Value, x: &Value, v: &Value) -> Res<Option<(Value, Value)>> {
    if !wanted(m) {
        return Ok(None);
    }
    let out = attempt(m, |m| pushed(m, f, x, v));
    answer(m, f, out)
}

fn pushed(machine: &mut Machine, f: &Value, x: &Value, value: &Value) -> Res<Result<(Value, Value), NotCompiled>> {
    if linear::same_structure("the direction", value, x).is_err() {
        return Ok(Err(not("a tangent of another structure")));
    }
    let args = std::slice::from_ref(x);
    let (e, mut leaves) = or_not_compiled!(entered(machine, f, args));
    let e = machine.compiled_ad.sized(&e, &leaves);
    let forward = or_not_compiled!(with(machine, |compiled_ad, _| compiled_ad.pushed(e)));
    let specialized = &forward.entered;
    let layout = or_not_compiled!(
        specialized.entry.inputs.first().map(|i| &i.layout).ok_or_else(|| not("a function without arguments"))
    );
    or_not_compiled!(
        specialized.datas.tangents(value, layout, &mut leaves).ok_or_else(|| not("a tangent of another structure"))
    );
    machine.effects.rewind();
    let mut outs =
        machine.call_lowered(&forward.func, leaves, forward.results + forward.active.iter().filter(|a| **a).count())?;
    let tangents = outs.split_off(forward.results.min(outs.len()));
    let Some(y) = specialized.datas.from_leaves(&specialized.entry.result, &mut outs.into_iter()) else {
        return Ok(Err(not("a result of another layout than its type says")));
    };
    let tangents = spread(specialized, &forward.active, tangents);
    let Some(t) = specialized.datas.merge(&y, &specialized.entry.result, &mut tangents.into_iter()) else {
        return Ok(Err(not("a tangent of another structure")));
    };
    Ok(Ok((y, t)))
}

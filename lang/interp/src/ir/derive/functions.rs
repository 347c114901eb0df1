//! What compiled AD makes of functions, on demand: specialisations, linearised functions, functions in forward mode.

use super::attempt::name_of;
use super::derivative_stats::{CompileClock, DerivativeStats};
use super::state::*;
use crate::ir::layout_leaves::DataTypes;
use crate::ir::world::{self, EntryValues};
use crate::limits::ir_derive::{DEEPENED, FUNCTIONS, KEPT, MEASURES};
use crate::value::Value;
use crate::value::plan::Plan;
use crate::vm::Machine;
use adl_ir::FnId;
use adl_prim::Prim;
use adl_specialise::HostCall;
use adl_specialise::world::{DEEPER, Transforms, Unsupported};
use adl_syntax::span::Span;
use adl_typing::ty::Ty;
use std::rc::Rc;
use std::time::Instant;

impl CompiledAd {
    pub(super) fn note(&mut self, f: &Value, native: bool, why: Option<Unsupported>) {
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
            specialised: SpecialisedCode { assumptions: self.specialised.assumptions, ..SpecialisedCode::default() },
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

    pub(super) fn enter(&mut self, m: &Machine, f: &Value, args: &[Value]) -> Result<Rc<Specialized>, NotCompiled> {
        let e = self.entry(m, f, args)?;
        self.entered = Some(e.entry.func);
        Ok(e)
    }

    pub(super) fn entry(&mut self, m: &Machine, f: &Value, args: &[Value]) -> Result<Rc<Specialized>, NotCompiled> {
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
        let assumptions = self.specialised.assumptions;
        let mut values = EntryValues { assumptions, ..EntryValues::new(m, func, args) };
        let root = world::root(func);
        if let Some(made) = self.specialised.find(&root, &tys, &values) {
            return made.entry.clone().map_err(NotCompiled);
        }
        self.may_deepen(&root, &tys, &mut values)?;
        let start = Instant::now();
        if self.program.funcs.len() > FUNCTIONS {
            self.forget();
        }
        let cache = self.specialised.caches.entry(assumptions).or_default();
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
            Rc::new(Specialized { entry, datas })
        });
        let mut keep = std::mem::take(&mut values.keep);
        keep.extend(world::code_of(func));
        self.specialised.made.entry(root).or_default().push(CacheEntry {
            args: tys,
            assumptions,
            facts: values.facts,
            _keep: keep,
            entry: entry.clone(),
        });
        self.clock.add_transform_time(start);
        entry.map_err(NotCompiled)
    }

    /// An error if code with one level fewer is so large that the next level would cost more than a tape.
    fn may_deepen(
        &self,
        root: &(&'static str, usize),
        tys: &[Ty],
        values: &mut EntryValues,
    ) -> Result<(), NotCompiled> {
        let wanted = values.assumptions;
        values.assumptions.levels -= 1;
        let fewer = self.specialised.find(root, tys, values).and_then(|made| made.entry.as_ref().ok());
        values.assumptions = wanted;
        let size = |e: &Rc<Specialized>| {
            let all = self.program.callees(e.entry.func, |_, _| true);
            all.into_iter().map(|f| self.program.func(f).vars.len()).sum::<usize>()
        };
        if fewer.is_some_and(|e| size(e) > DEEPENED) { Err(not(DEEPER)) } else { Ok(()) }
    }

    /// A call of the host that compiled code contains.
    pub(in crate::ir) fn host_call(&self, p: Prim, key: &Rc<str>) -> Option<(Rc<HostCall>, Rc<DataTypes>)> {
        self.host_calls.get(&(p, key.clone())).cloned()
    }

    /// Which parameters carry tangents: those of the arguments, not those of captured values.
    pub(super) fn wrt(&self, e: &Specialized) -> Vec<bool> {
        let params = self.program.func(e.entry.func).body.params.len();
        let args = e.entry.inputs.first().map_or(0, |i| i.layout.leaves().len());
        (0..params).map(|i| i < args).collect()
    }

    pub(super) fn lined(
        &mut self,
        specialized: Rc<Specialized>,
        how: &ResolvedPlan,
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
    pub(super) fn plan_of(&self, f: &Value) -> Plan {
        let mine = || self.plans.applied.iter().find(|(r, ..)| *r == world::definition(f)).map(|(.., p)| p);
        self.plans.given.as_ref().or_else(mine).unwrap_or(&self.plan).clone()
    }

    /// Sets the plan for all gradients of a function.
    pub fn apply(&mut self, f: &Value, plan: Plan) {
        let root = world::definition(f);
        self.plans.applied.retain(|(r, ..)| *r != root);
        self.plans.applied.push((root, f.clone(), plan));
    }

    pub(super) fn measure(&mut self, l: &Linearized, (how, sizes): (ResolvedPlan, Vec<i64>), residuals: &[Value]) {
        let Ok(boxes) = self
            .differentiated(&l.specialized, how.segments)
            .and_then(|j| Ok(self.ad.boxes(&mut self.program, j, &how.plan)?))
        else {
            return;
        };
        let made = MemoryMeasurement {
            func: l.specialized.entry.func,
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
    pub(super) fn measured(&self, f: FnId, how: &ResolvedPlan, sizes: &[i64]) -> Option<u64> {
        self.plans.measured.iter().find(|old| old.is_of(f, how, sizes)).map(|old| old.bytes)
    }

    pub(super) fn pushed(&mut self, specialized: Rc<Specialized>) -> Result<Rc<Forward>, NotCompiled> {
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

impl MemoryMeasurement {
    fn is_of(&self, f: FnId, how: &ResolvedPlan, sizes: &[i64]) -> bool {
        self.func == f && self.how == *how && self.sizes == sizes
    }
}

//! The state of compiled AD, as data: the program of all compiled functions, what was made of each, and what was
//! measured. The machine owns it; the other modules here fill it.

use super::compression::{Fact, Pattern};
use super::derivative_stats::{CompileClock, DerivativeStats};
use super::shape_variants::Variants;
use crate::ad::linear_map::CompiledDerivative;
use crate::device::{DeviceRuns, DeviceTimes};
use crate::ir::layout_leaves::DataTypes;
use crate::ir::lower::Linker;
use crate::ir::value_fact::ValueFact;
use crate::ir::world::EntryValues;
use crate::value::Value;
use crate::value::fun::Fun;
use crate::value::plan::Plan;
use crate::vm::code::Code;
use adl_ad::segment::Segments;
use adl_ad::{Ad, unzip};
use adl_ir::{FnId, Program};
use adl_prim::Prim;
use adl_specialise::world::{Entry, Unsupported, ValuePath};
use adl_specialise::{Assumptions, HostCall};
use adl_syntax::span::Span;
use adl_typing::ty::Ty;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

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
    pub(super) func: Option<FnId>,
}

impl DerivativeRecord {
    /// Whether two records agree in everything but statistics and the use of native code.
    pub(super) fn same(&self, other: &DerivativeRecord) -> bool {
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
    pub(super) entered: Option<FnId>,
    pub(in crate::ir) program: Program,
    pub(super) ad: Ad,
    pub(super) specialised: SpecialisedCode,
    pub(super) linker: Linker,
    /// The checkpointing plan of every gradient without a plan of its own.
    pub plan: Plan,
    pub(super) plans: FunctionPlans,
    pub(super) derived: DerivedCode,
    /// What a device did for the running operator.
    pub(super) ran: DeviceRuns,
    /// Time spent on compilation for the running operator.
    pub(crate) clock: CompileClock,
    /// Functions to which tail-call elimination has been applied.
    pub(super) turned: HashSet<FnId>,
    /// The calls of the host that compiled code contains, and the data types in their layouts.
    pub(super) host_calls: HashMap<(Prim, Rc<str>), (Rc<HostCall>, Rc<DataTypes>)>,
}

/// Functions of the program in the IR, by what they were specialised to.
#[derive(Default)]
pub(super) struct SpecialisedCode {
    /// The specialiser's caches, by what the code assumes.
    pub(super) caches: HashMap<Assumptions, adl_specialise::Cache>,
    /// What the code that is wanted now assumes at most.
    pub(super) assumptions: Assumptions,
    /// The specialisations of each definition.
    pub(super) made: HashMap<(&'static str, usize), Vec<CacheEntry>>,
}

impl SpecialisedCode {
    /// What was made of a definition for such a call: the code that assumes least, which runs do not repeat, or else why
    /// there is none.
    pub(super) fn find(&self, root: &(&'static str, usize), args: &[Ty], values: &EntryValues) -> Option<&CacheEntry> {
        let wanted = values.assumptions;
        let serves = |e: &&CacheEntry| {
            e.assumptions.allow_zero_trips == wanted.allow_zero_trips && e.assumptions.levels >= wanted.levels
        };
        let all = self.made.get(root)?.iter().filter(serves);
        all.filter(|e| e.args == args && values.fits(&e.facts)).max_by_key(|e| (e.entry.is_ok(), e.assumptions.levels))
    }
}

/// Plans of single functions, and what the runs of plans have told.
#[derive(Default)]
pub(super) struct FunctionPlans {
    /// The identity of the definition, the function (kept alive so that its address stays unique), and the plan.
    pub(super) applied: Vec<((&'static str, usize), Value, Plan)>,
    /// The plan passed to the running operator.
    pub(super) given: Option<Plan>,
    pub(super) decisions: PlanCache,
    /// Memory that the last runs stored.
    pub(super) measured: Vec<MemoryMeasurement>,
}

/// What was made of functions in the IR.
#[derive(Default)]
pub(super) struct DerivedCode {
    pub(super) lines: HashMap<(FnId, ResolvedPlan), Rc<Linearized>>,
    pub(super) jvps: HashMap<FnId, Rc<Forward>>,
    /// Versions of functions that are optimised for undifferentiated calls. The flag says whether all their
    /// arrays are materialised.
    pub(super) plain: HashMap<(FnId, bool), FnId>,
    /// Versions of functions that are specialised to the shapes of their arguments.
    pub(super) variants: Variants,
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
    pub(super) choice: Derivation,
    pub(super) plan: Plan,
    pub(super) applied: Vec<((&'static str, usize), Value, Plan)>,
}

/// A measurement: the memory that a gradient of this function stored under this plan, at arguments of these
/// sizes.
pub(super) struct MemoryMeasurement {
    pub(super) func: FnId,
    pub(super) how: ResolvedPlan,
    pub(super) sizes: Vec<i64>,
    pub(super) bytes: u64,
}

/// A cache entry: a specialisation, or the reason why there is none, with the facts on which it depends.
pub(super) struct CacheEntry {
    pub(super) args: Vec<Ty>,
    /// What it assumes.
    pub(super) assumptions: Assumptions,
    pub(super) facts: Vec<(ValuePath, ValueFact)>,
    /// Keeps code alive whose address occurs in the facts.
    pub(super) _keep: Vec<Rc<Code>>,
    pub(super) entry: Result<Rc<Specialized>, Unsupported>,
}

pub(crate) struct Specialized {
    pub entry: Entry,
    pub datas: Rc<DataTypes>,
}

/// The halves of a gradient as one function, built on demand; `None` if that is not possible.
#[derive(Default)]
pub(super) struct FusedForms {
    /// Without and with the value of the function.
    pub(super) halves: [std::cell::OnceCell<Option<FusedGradient>>; 2],
    /// Likewise for a device.
    pub(super) on_device: [std::cell::OnceCell<Option<FusedGradient>>; 2],
    /// With fused forward and reverse loops, for large arguments.
    pub(super) loops: std::cell::OnceCell<Option<Rc<Fun>>>,
}

/// What was timed about the gradients of a function.
#[derive(Default)]
pub(super) struct GradientProfile {
    /// For [`crate::device::Mode::Auto`]: times of entire gradients on the CPU and on a device.
    pub(super) device: std::cell::RefCell<DeviceTimes>,
    /// The number of gradients that were computed by two separate halves, and the shortest of their times after the
    /// first one.
    pub(super) halves: std::cell::Cell<(u32, std::time::Duration)>,
    /// Whether the primal half, or a callee of it, ran natively the last time.
    pub(super) native: std::cell::Cell<bool>,
}

/// A linearised function: its primal half, tangent half and transpose.
pub(super) struct Linearized {
    pub(super) specialized: Rc<Specialized>,
    pub(super) primal: Rc<Fun>,
    pub(super) tangent: Rc<Fun>,
    pub(super) cotangent: Rc<Fun>,
    /// Number of results of the original function; residuals follow them.
    pub(super) results: usize,
    /// Number of results of the primal half, including residuals.
    pub(super) outs: usize,
    /// Types of the residuals.
    pub(super) kept: Vec<adl_ir::Ty>,
    /// The primal half and the transpose, in the program.
    pub(super) halves: [FnId; 2],
    pub(super) fused: FusedForms,
    pub(super) profile: GradientProfile,
    pub(super) active: Vec<bool>,
    /// What was linearised: the function, the parameters with respect to which it is differentiated, and the
    /// plan.
    pub(super) source: FnId,
    pub(super) wrt: Vec<bool>,
    pub(super) plan: adl_ad::unzip::UnzipPlan,
    /// The derivative for many directions at once, in forward and in reverse mode.
    pub(super) wide: std::cell::RefCell<[Option<Rc<Fun>>; 2]>,
    /// The sparsity pattern of the Jacobian that was last derived from the code.
    pub(super) pattern: std::cell::RefCell<Option<SparsityPattern>>,
}

/// A function in forward mode.
pub(super) struct Forward {
    pub(super) entered: Rc<Specialized>,
    pub(super) func: Rc<Fun>,
    pub(super) results: usize,
    pub(super) active: Vec<bool>,
}

/// A derivative at a point: the residuals, and the code that reads them.
pub(crate) struct Map {
    pub(super) lined: Rc<Linearized>,
    pub(super) residuals: Vec<Value>,
    /// The function and the point.
    pub(super) at: (Value, Value),
    /// If the CPU was chosen for this gradient by measured time: the size class key, which is the number of
    /// scalars in the arguments.
    pub(super) cpu_only: Option<u64>,
    /// The results of the function's effects, which must not be repeated.
    pub(super) effects: Vec<Value>,
}

impl CompiledDerivative for Map {
    fn holds(&self) -> Vec<&Value> {
        self.residuals.iter().chain([&self.at.0, &self.at.1]).chain(&self.effects).collect()
    }
}

/// The reason why compiled AD is not possible.
pub(crate) struct NotCompiled(pub Unsupported);

impl From<Unsupported> for NotCompiled {
    fn from(u: Unsupported) -> NotCompiled {
        NotCompiled(u)
    }
}

pub(super) fn not(why: &str) -> NotCompiled {
    NotCompiled(Unsupported::new(why, Span::default()))
}

/// A linearised function with the values of its parameters.
pub(super) struct PreparedGradient {
    pub(super) lined: Rc<Linearized>,
    pub(super) leaves: Vec<Value>,
    pub(super) plan: Plan,
    pub(super) how: ResolvedPlan,
}

/// A sparsity pattern that was derived from the code, with what it depends on; no pattern if the sets became
/// too large.
#[derive(Debug)]
pub(super) struct SparsityPattern {
    pub(super) size: (usize, usize),
    pub(super) entries: u64,
    pub(super) facts: Vec<Fact>,
    pub(super) found: Option<Rc<Pattern>>,
}

/// Both halves as one function.
#[derive(Clone)]
pub(super) struct FusedGradient {
    pub(super) fun: Rc<Fun>,
    pub(super) plain: UnsignedZeros,
    /// Whether it also returns the value.
    pub(super) value: bool,
}

/// The gradients in which the function itself already replaces -0 by 0.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UnsignedZeros {
    None,
    Vectors,
    Arrays,
}

/// Parameters of the transformations.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct ResolvedPlan {
    pub segments: Segments,
    pub plan: unzip::UnzipPlan,
}

/// A cache of decisions, by function, plan and argument sizes.
#[derive(Default)]
pub(crate) struct PlanCache(pub(super) Vec<((FnId, Plan, Vec<i64>), ResolvedPlan)>);

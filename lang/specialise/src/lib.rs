//! A closure at known types → first-order IR.
//!
//! The specialiser evaluates typed Core with *abstract values* (`val`): trees whose leaves are IR variables, and
//! whose functions are known code with abstract captured values. So higher-order code, tuples, records, polymorphism
//! and derivative operators disappear, while loops, recursion and branches on data remain. Functions are specialised
//! once for each combination of code and argument layouts, and never inlined at every call. So the IR grows linearly
//! with the program.
//!
//! - A called function becomes an IR function. Its parameters are the leaves of its captured values, of its arguments,
//!   and of the globals that its code can reach. Only these functions are inlined: small ones without calls, function
//!   literals that are applied where they are written, and short ones of arguments whose zeros are known (`sparse`).
//! - A function selected by a branch becomes a tagged closure: an Int, and the captured values of every candidate.
//! - A function inside declared data, or one that grows from call to call, is represented as data: `defunctionalise`.
//! - A derivative operator on a known function becomes calls of transformed IR, generated through [`Transforms`].
//! - Values from outside (arguments, captured values, globals) become parameters of the entry: [`Entry::inputs`].
//! - Type variables are instantiated by a substitution: every use of a polymorphic function determines its types.
//!
//! Code that cannot be specialised is reported as [`Unsupported`] with the reason; derivatives then use taped AD. The
//! list of these cases is in docs/ARCHITECTURE.md.
//!
//! Reading order: [`layout`], [`world`] (the interface), `val`, `types`, `key` (when two calls may share code),
//! `eval` (the cases of Core), `join_branches` (branches), `matches`, `loops`, `call` (functions of the IR), `prims` and the
//! files named after families of primitives, `derive` and `jacobian` (derivative operators), `defunctionalise` (functions as
//! data), `inputs` (values from outside).
//!
//! What is *not* here: run-time values (behind [`World`]), the transformations themselves (`lang/ad`), and any IO.

mod arith;
mod array_prims;
mod broadcast;
mod call;
mod comm;
mod compare;
mod data_prims;
mod defunctionalise;
mod derive;
mod eval;
mod extents;
mod higher_order;
pub mod host_calls;
mod index;
mod info;
mod inputs;
mod jacobian;
mod join_branches;
mod key;
pub mod layout;
mod limits;
mod loops;
mod matches;
mod polymorphic_data;
mod prims;
mod reduce;
mod rows;
mod sparse;
mod tangents;
mod types;
pub(crate) mod val;
pub mod world;

pub use layout::Layout;
pub use world::{
    Assumptions, DEEPER, Entry, EntryInput, FunView, HostCall, Linearized, Root, Transforms, Unsupported, ValueKind,
    ValuePath, World,
};

use adl_ir::{Builder, DataId, FnId, Lit, Program, Var};
use adl_prim::Prim;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use adl_typing::core::{ExprKind, GlobalId, Lambda, Local};
use adl_typing::ty::Ty;
use key::Key;
use limits::entry::ATTEMPTS;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use val::{Subst, Val};

pub(crate) type Attempt<T> = Result<T, Unsupported>;

/// Results of specialisation that are kept between calls: IR functions by code and layouts, and data types. A cache
/// belongs to one [`Program`].
#[derive(Default)]
pub struct Cache {
    made: HashMap<Key, Specialized>,
    infos: HashMap<*const Lambda, Rc<info::CodeInfo>>,
    /// Code that reaches no top-level values except code.
    closed: HashSet<*const Lambda>,
    /// Functions with only hidden arguments, by the address of their value.
    thunks: HashMap<*const ExprKind, Rc<Lambda>>,
    datas: HashMap<(adl_typing::ty::DataId, Vec<Ty>), DataId>,
    data_tys: HashMap<DataId, Ty>,
    layouts: HashMap<DataId, Rc<Vec<(Symbol, Vec<Layout>)>>>,
    host_calls: HashMap<(Prim, Rc<str>), Rc<HostCall>>,
    /// Functions that contain effects.
    effectful: HashSet<FnId>,
    /// Those with effects besides messages between ranks.
    outputs: HashSet<FnId>,
    /// Gradients of engines.
    engines: HashSet<FnId>,
}

/// A specialised function, or one in progress.
#[derive(Clone)]
pub(crate) struct Specialized {
    id: FnId,
    /// Globals whose leaves are parameters before those of its inputs.
    globals: Rc<[GlobalId]>,
    /// The result over the function's own variables; `None` while it is in progress.
    result: Option<Val>,
}

/// What is known of the values of variables.
#[derive(Default)]
struct KnownValues {
    literals: HashMap<Var, Lit>,
    /// Data that was built here: the constructor's tag and its fields, in which functions are still code.
    built: HashMap<Var, (u32, Rc<[Val]>)>,
}

/// Functions that are used before their bodies exist.
#[derive(Default)]
struct EarlyCalls {
    /// Those that were called.
    called: HashSet<FnId>,
    /// Those whose types did not tell the result, with its layout once it is known.
    results: HashMap<FnId, Option<Layout>>,
    /// The number of derivatives of a function inside itself around the code that is specialised.
    inside: u8,
    /// Functions whose bodies, and those of all their callees, exist.
    complete: HashSet<FnId>,
}

/// The state of specialising one entry.
pub(crate) struct Spec<'a> {
    world: &'a mut dyn World,
    t: &'a mut dyn Transforms,
    p: &'a mut Program,
    cache: &'a mut Cache,
    b: Builder,
    env: HashMap<Local, Val>,
    subst: Subst,
    globals: Rc<BTreeMap<GlobalId, Val>>,
    /// Values of variables.
    known: KnownValues,
    /// Facts about extents.
    sizes: extents::KnownExtents,
    /// Facts about zeros.
    sparse: sparse::KnownZeros,
    /// Elements of arrays that the enclosing loops read.
    elems: Vec<loops::LoopElement>,
    /// Set while code for numbers is evaluated on entire arrays. Functions that it calls are then inlined.
    whole: bool,
    /// Set while the function of `comm.each` is evaluated.
    local: bool,
    /// Keys of functions specialised for this entry, which are removed if it fails.
    new: Vec<Key>,
    /// The number of effects emitted so far.
    effects: usize,
    /// The number of those that are not messages between ranks.
    outputs: usize,
    early: EarlyCalls,
    /// Functions represented as data.
    boxes: defunctionalise::FunctionData,
}

impl<'a> Spec<'a> {
    fn new(
        world: &'a mut dyn World,
        t: &'a mut dyn Transforms,
        p: &'a mut Program,
        cache: &'a mut Cache,
        boxes: defunctionalise::FunctionData,
    ) -> Spec<'a> {
        Spec {
            world,
            t,
            p,
            cache,
            b: Builder::new("entry"),
            env: HashMap::new(),
            subst: Rc::new(BTreeMap::new()),
            globals: Rc::new(BTreeMap::new()),
            known: KnownValues::default(),
            sizes: extents::KnownExtents::default(),
            sparse: sparse::KnownZeros::default(),
            elems: Vec::new(),
            whole: false,
            local: false,
            new: Vec::new(),
            effects: 0,
            outputs: 0,
            early: EarlyCalls::default(),
            boxes,
        }
    }

    /// A failure at the current place.
    pub(crate) fn no(&self, why: impl Into<String>) -> Unsupported {
        Unsupported::new(why, self.b.span)
    }
}

/// Specialises the function at [`Root::Fun`] for arguments of these types. They have no type variables; their sizes are
/// ignored.
pub fn specialise(
    world: &mut dyn World,
    transforms: &mut dyn Transforms,
    program: &mut Program,
    cache: &mut Cache,
    args: &[Ty],
) -> Result<Entry, Unsupported> {
    let mut boxes = defunctionalise::FunctionData::default();
    for attempt in 1.. {
        let mut spec = Spec::new(world, transforms, program, cache, boxes);
        let mut out = spec.entry(args);
        if spec.boxes.late && attempt < ATTEMPTS {
            // Derivatives have used incomplete types of functions. Those of the next attempt have all codes.
            spec.discard_new();
            spec.t.forget_data(spec.p, &spec.boxes.types());
            boxes = spec.boxes.again();
            continue;
        }
        if spec.boxes.late {
            out = Err(spec.no("functions inside data that derivatives make without end"));
        }
        if out.is_err() {
            spec.discard_new();
        }
        spec.discard_function_data();
        return out;
    }
    Err(Unsupported::new("nothing was specialised", Span::default()))
}

/// Whether a span has no source.
pub(crate) fn nowhere(s: Span) -> bool {
    s == Span::default()
}

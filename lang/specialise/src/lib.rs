//! A closure at known types → first-order IR.
//!
//! The specialiser evaluates typed Core with *abstract values* ([`val`]): trees whose leaves are IR variables, and whose functions are
//! known code with abstract captured values. So higher-order code, tuples, records, polymorphism and derivative operators disappear, while
//! loops, recursion and branches on data stay. Functions are specialised once for each code and layout of arguments, never copied at
//! calls, so that the IR grows linearly with the program.
//!
//! - A called function becomes an IR function of the leaves of what it captures, of its arguments, and of the globals that its code can
//!   reach. Only functions that are small and call nothing, and those written at the place where they are applied, become part of a block.
//! - A function that a branch chooses becomes a tagged closure: an Int, and the captured values of every candidate.
//! - A function inside declared data, or one that grows from call to call, is data itself: [`boxes`].
//! - A derivative operator applied to a known function becomes calls of transformed IR, made through [`Transforms`].
//! - Values that come from outside (arguments, captured values, globals) become parameters of the entry: [`Entry::inputs`].
//! - Type variables are followed with a substitution: every use of a polymorphic function says at which types.
//!
//! What cannot be specialised is an [`Unsupported`] with its reason; derivatives then take the second road (taped dual numbers). The list
//! of these cases is in docs/ARCHITECTURE.md.
//!
//! Reading order: [`layout`], [`world`] (the seams), [`val`], `types`, `key` (when two calls may share code), `eval` (the cases of Core),
//! `join` (branches), `matches`, `loops`, `call` (functions of the IR), `prims` and the files named after families of primitives,
//! `derive` and `jacobian` (derivative operators), `boxes` (functions as data), `inputs` (values from outside).
//!
//! What is *not* here: run-time values (behind [`World`]), the transformations themselves (`lang/ad`), and any IO.

mod arith;
mod arrays;
mod boxes;
mod broadcast;
mod call;
mod compare;
mod data;
mod derive;
mod eval;
mod higher;
mod index;
mod info;
mod inputs;
mod jacobian;
mod join;
mod key;
pub mod layout;
mod loops;
mod matches;
mod prims;
mod reduce;
mod sizes;
mod sparse;
mod tangents;
mod types;
mod undecided;
pub(crate) mod val;
pub mod world;

pub use layout::Layout;
pub use world::{Entry, FunView, Input, Linearized, Place, Root, Transforms, Unsupported, View, World};

use adl_ir::{Builder, DataId, FnId, Lit, Program, Var};
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use adl_typing::core::{ExprKind, GlobalId, Lambda, Local};
use adl_typing::ty::Ty;
use key::Key;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use val::{Subst, Val};

pub(crate) type Res<T> = Result<T, Unsupported>;

/// What specialisation remembers between calls: functions that were made, by code and layouts, and data types. It belongs to one
/// [`Program`].
#[derive(Default)]
pub struct Cache {
    made: HashMap<Key, Made>,
    infos: HashMap<*const Lambda, Rc<info::Info>>,
    /// Code that reaches no top-level value but code.
    closed: HashSet<*const Lambda>,
    /// Functions of hidden arguments only, by the address of their value.
    thunks: HashMap<*const ExprKind, Rc<Lambda>>,
    datas: HashMap<(adl_typing::ty::DataId, Vec<Ty>), DataId>,
    data_tys: HashMap<DataId, Ty>,
    layouts: HashMap<DataId, Rc<Vec<(Symbol, Vec<Layout>)>>>,
}

/// A function that was made, or is being made.
#[derive(Clone)]
pub(crate) struct Made {
    id: FnId,
    /// Globals whose leaves it takes before its inputs.
    globals: Rc<[GlobalId]>,
    /// The result over the function's own variables; `None` while it is being made.
    result: Option<Val>,
}

/// The specialiser at work on one function.
pub(crate) struct Spec<'a> {
    world: &'a mut dyn World,
    t: &'a mut dyn Transforms,
    p: &'a mut Program,
    cache: &'a mut Cache,
    b: Builder,
    env: HashMap<Local, Val>,
    subst: Subst,
    globals: Rc<BTreeMap<GlobalId, Val>>,
    /// Literals by variable.
    lits: HashMap<Var, Lit>,
    /// What is known of extents.
    sizes: sizes::Known,
    /// What is known of zeros.
    sparse: sparse::Known,
    /// Elements of arrays that loops around read.
    elems: Vec<loops::Elem>,
    /// Whether code for numbers is evaluated with whole arrays in their place: what it calls becomes part of the block.
    whole: bool,
    /// Keys of functions made for this entry, to be forgotten if it fails.
    new: Vec<Key>,
    /// Functions that are data.
    boxes: boxes::Boxes,
}

impl Spec<'_> {
    /// A reason at the current place.
    pub(crate) fn no(&self, why: impl Into<String>) -> Unsupported {
        Unsupported::new(why, self.b.span)
    }
}

/// Specialises the function at [`Root::Fun`] for arguments of these types (without variables; sizes do not matter).
pub fn specialise(world: &mut dyn World, t: &mut dyn Transforms, p: &mut Program, cache: &mut Cache, args: &[Ty]) -> Result<Entry, Unsupported> {
    let mut s = Spec {
        world,
        t,
        p,
        cache,
        b: Builder::new("entry"),
        env: HashMap::new(),
        subst: Rc::new(BTreeMap::new()),
        globals: Rc::new(BTreeMap::new()),
        lits: HashMap::new(),
        sizes: sizes::Known::default(),
        sparse: sparse::Known::default(),
        elems: Vec::new(),
        whole: false,
        new: Vec::new(),
        boxes: boxes::Boxes::default(),
    };
    let out = s.entry(args);
    if out.is_err() {
        for k in std::mem::take(&mut s.new) {
            s.cache.made.remove(&k);
        }
    }
    s.forget_boxes();
    out
}

/// No place in a text.
pub(crate) fn nowhere(s: Span) -> bool {
    s == Span::default()
}

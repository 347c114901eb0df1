//! The specialiser's interface: what it requires from its environment, and its result.

use crate::layout::Layout;
use adl_ir::{DataId, FnId, Program};
use adl_prim::Prim;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use adl_typing::core::{Def, GlobalId, Lambda, Local};
use adl_typing::ty::{DataDecl, Ty};
use std::collections::HashMap;
use std::rc::Rc;

/// The start of a path to a run-time value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Root {
    /// The function being specialised.
    Fun,
    /// An argument.
    Arg(u32),
    /// A top-level value.
    Global(GlobalId),
}

/// The path to a run-time value. Paths instead of values allow the code to be reused for other values of the same
/// layout.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ValuePath {
    /// The start of the path.
    pub root: Root,
    /// At each function, the index of a captured value or of an argument already given (see [`FunView`]).
    pub steps: Vec<u32>,
}

/// The kind of value at a place.
#[derive(Clone, Debug)]
pub enum ValueKind {
    /// Data without functions, or declared data.
    Data,
    /// A function.
    Fun(FunView),
    /// A tuple that contains functions, with its number of components; steps: the components.
    Tuple(u32),
    /// A record that contains functions, with its fields sorted by name; steps: the fields.
    Record(Vec<Symbol>),
    /// An array whose elements contain functions, with its length; steps: the elements.
    Array(u32),
    /// A run-time type (a captured hidden argument), as a type without variables.
    Rep(Ty),
    /// A value that IR cannot represent, with the reason. A global of function type that is opaque is evaluated from
    /// its Core where it is needed.
    Opaque(String),
}

#[allow(missing_docs)]
/// A function value. The steps from it are numbered in the order given here.
#[derive(Clone, Debug)]
pub enum FunView {
    /// Code with captured values; steps: the captured values, in the order of `captured`.
    Closure { hidden: Vec<Local>, lam: Rc<Lambda>, captured: Vec<Local> },
    /// A member of a recursive group; steps: the captured values.
    Member { group: Vec<(Local, Vec<Local>, Rc<Lambda>)>, index: u32, captured: Vec<Local> },
    /// A primitive.
    Prim(Prim),
    /// A partial application; steps: the function, then the arguments.
    Partial(u32),
    /// A function with a custom rule (`vjp`: from cotangents); steps: the function, the rule.
    Custom { vjp: bool },
    /// `checkpoint f`; steps: the function.
    Checkpoint,
}

/// What specialised code assumes of its runs, because most runs need no more. A run that needs more fails, and the code
/// is specialised again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Assumptions {
    /// Whether loops that collect rows may run no iteration, so that code must compute the row extents in another way.
    /// Otherwise such a loop is a failed assertion.
    pub allow_zero_trips: bool,
    /// How many derivatives of one function are taken inside each other. Deeper ones are the error [`DEEPER`]. Each
    /// level multiplies the code, so levels are added one at a time.
    pub levels: u8,
}

/// The error of a derivative of a function inside itself that is deeper than [`Assumptions::levels`].
pub const DEEPER: &str = "a derivative of a function inside itself, deeper than is compiled";

impl Default for Assumptions {
    fn default() -> Assumptions {
        Assumptions { allow_zero_trips: false, levels: 1 }
    }
}

/// The environment: run-time values by place, and Core by global.
pub trait World {
    /// The kind of value at a place.
    fn view(&mut self, at: &ValuePath) -> ValueKind;
    /// The type of data at a place, as far as its value determines it (sizes are ignored). Called only if Core has no
    /// type without variables. `None` is allowed, for example for an empty list.
    fn ty(&mut self, _at: &ValuePath) -> Option<Ty> {
        None
    }
    /// The constructor tag and number of fields of the declared data at a place; steps: the fields. Called only if the
    /// fields may contain functions.
    fn constructor(&mut self, _at: &ValuePath) -> Option<(u32, u32)> {
        None
    }
    /// The length of the array at a place, if it has one axis and is short; steps: the elements. Called only if they may
    /// contain functions.
    fn length(&mut self, _at: &ValuePath) -> Option<u32> {
        None
    }
    /// What the code may assume of its runs.
    fn assumptions(&self) -> Assumptions {
        Assumptions::default()
    }
    /// The definition of a global.
    fn global(&mut self, id: GlobalId) -> Option<Rc<Def>>;
    /// The declaration of a type.
    fn data(&mut self, id: adl_typing::ty::DataId) -> Option<Rc<DataDecl>>;
}

/// A linearised function. `wrt` selects the parameters with tangents; parameters of types without reals have none in
/// any case.
#[derive(Clone, Debug)]
pub struct Linearized {
    /// `(x…) -> (y…, residual…)`.
    pub primal: FnId,
    /// The number of `y`s.
    pub results: usize,
    /// `(residual…, dx…) -> (dy…)`, with linearity erased: `dx` for the parameters in `wrt`, `dy` for the results that
    /// have a tangent.
    pub tangent: FnId,
    /// `(residual…, ct_y…) -> (ct_x…)`, with linearity erased.
    pub cotangent: FnId,
    /// Which results have a tangent.
    pub active: Vec<bool>,
}

/// The transformations of `lang/ad` that the specialiser needs for derivative operators inside the code.
pub trait Transforms {
    /// Forward mode: `(x…, dx…) -> (y…, dy…)` with linearity erased, with tangents of the parameters in `wrt` and of
    /// the active results.
    fn jvp(&mut self, p: &mut Program, f: FnId, wrt: &[bool]) -> Result<(FnId, Vec<bool>), Unsupported>;
    /// Forward mode followed by unzipping and transposition.
    fn linearize(&mut self, p: &mut Program, f: FnId, wrt: &[bool]) -> Result<Linearized, Unsupported>;
    /// The tangent or cotangent function of `linearize` for `k` directions at once: `(residual…, k, dx…) -> (dy…)`.
    /// Tangents have one more axis, the last, of extent `k`.
    fn directions(&mut self, p: &mut Program, f: FnId, wrt: &[bool], transposed: bool) -> Result<FnId, Unsupported>;
    /// Forgets what was derived from these data types, and from data that contain them: their constructors have changed.
    fn forget_data(&mut self, p: &Program, changed: &std::collections::HashSet<adl_ir::DataId>) {
        let _ = (p, changed);
    }
    /// The tangent type of a type. Reals and arrays of them are their own tangent types, discrete types have `None`,
    /// and data has its tangent data type (`None` if it contains no reals).
    fn tangent_ty(&mut self, p: &mut Program, ty: &adl_ir::Ty) -> Option<adl_ir::Ty> {
        let _ = p;
        ty.scalar().is_real().then(|| ty.clone())
    }
}

/// Parameters of an entry: the leaves of one value.
#[derive(Clone, PartialEq, Debug)]
pub struct EntryInput {
    /// The value's place.
    pub place: ValuePath,
    /// The value's layout.
    pub layout: Layout,
}

/// How to call the host: the primitive, and the layouts of its arguments and of its result.
#[derive(Clone, PartialEq, Debug)]
pub struct HostCall {
    /// The primitive.
    pub prim: Prim,
    /// Its arguments.
    pub args: Vec<Layout>,
    /// Its result.
    pub result: Layout,
}

/// A specialised function and how to call it from outside.
///
/// It fails in the same cases as the interpreter, but not with the same text (`Op::Prim` of `Assert` and `Error`
/// without a result carry a constant text). So after a failure the caller repeats the call in the interpreter, which
/// reports the error in the user's terms. The host must not repeat the effects ([`HostCall`]) of the first run then.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The IR function. Its parameters are the leaves of all inputs in order: first the arguments, in order and whether
    /// used or not.
    pub func: FnId,
    /// Its inputs.
    pub inputs: Vec<EntryInput>,
    /// The layout of its result.
    pub result: Layout,
    /// The constructors of every data type that occurs: the name, and the layout of each field.
    pub datas: HashMap<DataId, Rc<Vec<(Symbol, Vec<Layout>)>>>,
    /// Whether it has effects.
    pub effects: bool,
    /// Whether it contains gradients of engines, which are computed as by `grad`. Code that is not differentiated runs
    /// the engines instead.
    pub engines: bool,
    /// The calls of the host that the program may contain, by primitive and first operand.
    pub host_calls: HashMap<(Prim, Rc<str>), Rc<HostCall>>,
}

/// The reason why something cannot be specialised.
#[derive(Clone, PartialEq, Debug)]
pub struct Unsupported {
    /// In the user's terms: "a function inside an array".
    pub why: String,
    /// Where.
    pub span: Span,
}

impl Unsupported {
    /// A reason with its place.
    pub fn new(why: impl Into<String>, span: Span) -> Unsupported {
        Unsupported { why: why.into(), span }
    }
}

//! What the specialiser asks of its surroundings, and what it gives back.

use crate::layout::Layout;
use adl_ir::{DataId, FnId, Program};
use adl_prim::Prim;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use adl_typing::core::{Def, GlobalId, Lambda, Local};
use adl_typing::ty::{DataDecl, Ty};
use std::collections::HashMap;
use std::rc::Rc;

/// Where a way to a value begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Root {
    /// The function that is specialised.
    Fun,
    /// An argument.
    Arg(u32),
    /// A top-level value.
    Global(GlobalId),
}

/// A run-time value, named by the way to it, so that the same code serves other values of the same layout.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// Where the way begins.
    pub root: Root,
    /// At each function, the number of a captured value or of an argument already given (see [`FunView`]).
    pub steps: Vec<u32>,
}

/// What stands at a place.
#[derive(Clone, Debug)]
pub enum View {
    /// Data without functions, or declared data.
    Data,
    /// A function.
    Fun(FunView),
    /// A tuple of so many parts with functions among them; steps: the parts.
    Tuple(u32),
    /// A record with functions among its fields, sorted by name; steps: the fields.
    Record(Vec<Symbol>),
    /// An array of elements with functions in them; steps: the elements.
    Array(u32),
    /// A run-time type (captured hidden arguments), as a type without variables.
    Rep(Ty),
    /// Something that IR has no place for: why. A global of this kind whose type is a function's is evaluated from its Core where it is
    /// needed.
    Opaque(String),
}

#[allow(missing_docs)]
/// A function value. Steps from it: 0, 1, ... in the order that is said here.
#[derive(Clone, Debug)]
pub enum FunView {
    /// Code with captured values; steps: the captured values, in the order of `captured`.
    Closure { hidden: Vec<Local>, lam: Rc<Lambda>, captured: Vec<Local> },
    /// A member of a recursive group; steps: the captured values.
    Member { group: Vec<(Local, Vec<Local>, Rc<Lambda>)>, index: u32, captured: Vec<Local> },
    /// A primitive.
    Prim(Prim),
    /// A function with some arguments; steps: the function, then the arguments.
    Partial(u32),
    /// A function with a custom rule (`vjp`: from cotangents); steps: the function, the rule.
    Custom { vjp: bool },
    /// `checkpoint f`; steps: the function.
    Checkpoint,
}

/// The surroundings: run-time values by place, and Core by global.
pub trait World {
    /// What stands at a place.
    fn view(&mut self, at: &Place) -> View;
    /// The type of data at a place, as far as its value tells it (sizes do not matter). Asked only where Core has no type without
    /// variables: `None` is an honest answer, for an empty list for example.
    fn ty(&mut self, _at: &Place) -> Option<Ty> {
        None
    }
    /// The number of the constructor of the declared data at a place, and how many fields it has; steps: the fields. Asked only where functions
    /// may be among them.
    fn constructor(&mut self, _at: &Place) -> Option<(u32, u32)> {
        None
    }
    /// Whether loops that collect rows may make no turn: their rows' extents are then found from outside. Otherwise that is an error, for which
    /// nothing needs to be computed.
    fn no_rows(&self) -> bool {
        false
    }
    /// The definition of a global.
    fn global(&mut self, id: GlobalId) -> Option<Rc<Def>>;
    /// The declaration of a type.
    fn data(&mut self, id: adl_typing::ty::DataId) -> Option<Rc<DataDecl>>;
}

/// A linearised function. `wrt` says which parameters carry a tangent; types without reals have none, whatever it says.
#[derive(Clone, Debug)]
pub struct Linearized {
    /// `(x…) -> (y…, residual…)`.
    pub primal: FnId,
    /// Number of `y`s.
    pub results: usize,
    /// `(residual…, dx…) -> (dy…)`, all non-linear (erased); `dx` for the parameters in `wrt`, `dy` for the results that have one.
    pub tangent: FnId,
    /// `(residual…, ct_y…) -> (ct_x…)`, erased.
    pub cotangent: FnId,
    /// Which results have a tangent.
    pub active: Vec<bool>,
}

/// The transformations of `lang/ad`, as the specialiser needs them for derivative operators inside the code.
pub trait Transforms {
    /// Forward mode: `(x…, dx…) -> (y…, dy…)`, erased, with the tangents of the parameters in `wrt` and of the active results.
    fn jvp(&mut self, p: &mut Program, f: FnId, wrt: &[bool]) -> Result<(FnId, Vec<bool>), Unsupported>;
    /// Forward mode, unzipped, with the transpose.
    fn linearize(&mut self, p: &mut Program, f: FnId, wrt: &[bool]) -> Result<Linearized, Unsupported>;
    /// The tangent function of that, or the cotangent function, in many directions at once: `(residual…, k, dx…) -> (dy…)` with an axis
    /// more, the last, of `k` directions.
    fn directions(&mut self, p: &mut Program, f: FnId, wrt: &[bool], transposed: bool) -> Result<FnId, Unsupported>;
    /// The type of the tangent of a value of that type: reals and arrays of them have their own type, discrete ones `None`, data its
    /// tangent data (`None` without reals).
    fn tangent_ty(&mut self, p: &mut Program, ty: &adl_ir::Ty) -> Option<adl_ir::Ty> {
        let _ = p;
        ty.scalar().is_real().then(|| ty.clone())
    }
}

/// A parameter of an entry: the leaves of a value.
#[derive(Clone, PartialEq, Debug)]
pub struct Input {
    /// Which value.
    pub place: Place,
    /// How it is spread over parameters.
    pub layout: Layout,
}

/// A specialised function with how to call it from outside.
///
/// It stops with an error in the same cases as the ordinary evaluator, but not with the same text (`Op::Prim` of `Assert` and `Error`,
/// with no result, carry a constant text). Specialised code has no effects, so that the runtime may answer an error by evaluating the call in the
/// ordinary way, which reports it in the user's terms.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The function; its parameters are the leaves of all inputs in order. Arguments come first, in order, whether used or not.
    pub func: FnId,
    /// Its inputs.
    pub inputs: Vec<Input>,
    /// How its results make a value.
    pub result: Layout,
    /// Constructors of every data type that occurs: name and layout of each argument that the language's constructor has.
    pub datas: HashMap<DataId, Rc<Vec<(Symbol, Vec<Layout>)>>>,
}

/// Why something cannot be specialised.
#[derive(Clone, PartialEq, Debug)]
pub struct Unsupported {
    /// In the user's words: "a function inside an array".
    pub why: String,
    /// Where.
    pub span: Span,
}

impl Unsupported {
    /// A reason at a place.
    pub fn new(why: impl Into<String>, span: Span) -> Unsupported {
        Unsupported { why: why.into(), span }
    }
}

//! Operations.

use crate::collective::Collective;
use crate::func::{Block, FnId, Var};
use crate::ty::{DataId, Ty};
pub use adl_prim::Cmp;
use adl_prim::{Bin, Prim, Un};
use std::rc::Rc;

/// A literal.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Lit {
    F64(f64),
    F32(f32),
    I64(i64),
    Bool(bool),
    Str(Rc<str>),
}

impl Lit {
    /// Its type.
    pub fn ty(&self) -> Ty {
        match self {
            Lit::F64(_) => Ty::F64,
            Lit::F32(_) => Ty::F32,
            Lit::I64(_) => Ty::I64,
            Lit::Bool(_) => Ty::Bool,
            Lit::Str(_) => Ty::Str,
        }
    }
}

/// A conversion between numbers. A `Bool` converts to 0 or 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Conv {
    ToF64,
    ToF32,
    ToI64,
}

/// Loop bound.
#[derive(Clone, PartialEq, Debug)]
pub enum Trip {
    /// A fixed trip count.
    Count(Var),
    /// Repeat while the block's single Bool result holds. Its parameters are the carried non-linear values.
    While(Block),
}

/// How the outputs of a loop's iterations are combined.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Out {
    /// They are collected in an array; all have one shape. A reversed loop fills it from the end.
    Collect,
    /// They are collected in a one-dimensional array of boxes, each with a shape of its own (residuals).
    Boxed,
    /// They are summed, from zero.
    Sum,
}

/// `map`, comprehensions, sums over indices, and loops.
///
/// Parameters of `body`: the index, the carried values, the elements of `xs`; linear: carried values, elements.
/// Results of `body`: carried values, outputs; linear: the same. Results of the loop: carried values, outputs, and
/// the trip count; linear: carried values, outputs. The body may read variables from outside. If these are linear,
/// each iteration has a copy. A loop without carried values is *stateless*: its iterations are independent of each
/// other.
#[derive(Clone, PartialEq, Debug)]
pub struct Loop {
    /// Loop bound.
    pub trip: Trip,
    /// Whether the index runs from the last one down to 0.
    pub reverse: bool,
    /// Initial values of the non-linear carried values.
    pub init: Vec<Var>,
    /// Initial values of the linear carried values.
    pub lin_init: Vec<Var>,
    /// Non-linear arrays of which each iteration reads the element at its index.
    pub xs: Vec<Var>,
    /// Linear arrays of which each iteration reads the element at its index.
    pub lin_xs: Vec<Var>,
    /// How each non-linear output is combined.
    pub outs: Vec<Out>,
    /// How each linear output is combined.
    pub lin_outs: Vec<Out>,
    /// One iteration.
    pub body: Block,
}

impl Loop {
    /// A loop that carries, reads and returns nothing.
    pub fn new(trip: Trip, body: Block) -> Loop {
        let (init, lin_init, xs, lin_xs) = Default::default();
        Loop { trip, reverse: false, init, lin_init, xs, lin_xs, outs: Vec::new(), lin_outs: Vec::new(), body }
    }
}

/// The kind of a second-order array combinator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SoacKind {
    /// Reduction from the left, starting with the neutral element.
    Reduce,
    /// Inclusive scan: the reduction of each prefix, up to and including the element.
    Scan,
    /// Exclusive scan: the reduction of the elements before each element.
    ScanExclusive,
}

/// A reduction or scan by an associative operator over tuples of arrays.
#[derive(Clone, PartialEq, Debug)]
pub struct Soac {
    /// Reduction or scan.
    pub kind: SoacKind,
    /// The operator. Parameters: accumulated values, then elements. Results: the new accumulated values.
    pub op: Block,
    /// The neutral element, one variable for each component.
    pub neutral: Vec<Var>,
    /// One array for each component.
    pub arrays: Vec<Var>,
}

/// A derivative rule given by the user, to be used instead of the callee's own derivative.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// What `func` computes.
    pub kind: RuleKind,
    /// For [`RuleKind::Jvp`] and [`RuleKind::Vjp`] the type is `(args, t…) -> (results, u…)`, and `u` is linear in
    /// `t`. For `Jvp`, `t` is the arguments' tangent and `u` the results'. For `Vjp`, `t` is the results' cotangent
    /// and `u` the arguments'. For [`RuleKind::Inverse`] the type is `(args, z…, b…) -> (a…)`, with `a ⊙ b = z`.
    pub func: FnId,
}

/// The kind of a custom rule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RuleKind {
    /// Maps tangents to tangents.
    Jvp,
    /// Maps cotangents to cotangents.
    Vjp,
    /// Not a derivative: the inverse of the operator of the callee, which is a single reduction or histogram.
    Inverse,
}

/// The terms of a contraction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Terms {
    /// Products.
    Mul,
    /// Elements of `b`, scaled by those of `a`: 0 if either is 0, as in [`Bin::ScaleTangent`].
    Scale,
    /// Elements of `a`, scaled by those of `b`.
    Scaled,
}

impl Terms {
    /// One term.
    pub fn eval(self, a: f64, b: f64) -> f64 {
        match self {
            Terms::Mul => a * b,
            Terms::Scale => Bin::ScaleTangent.eval(a, b),
            Terms::Scaled => Bin::ScaleTangent.eval(b, a),
        }
    }
}

/// A contraction `Σ l. a[i, l] · b[j, l]` of two matrices, for the first `n` rows of `a`, the first `m` rows of
/// `b`, and `k` terms, which are added as [`Op::Sum`] adds them. The optimiser introduces it after all
/// differentiation.
#[derive(Clone, PartialEq, Debug)]
pub struct Contract {
    /// What the terms are.
    pub terms: Terms,
    /// One factor: a matrix of Floats. It may be a vector instead, for one row; then the result is a vector as well.
    pub a: Var,
    /// The other factor: a matrix.
    pub b: Var,
    /// The extents `n`, `m` and `k`.
    pub size: [Var; 3],
    /// For each factor, whether its first index runs over the terms.
    pub turned: [bool; 2],
}

/// An operation. An operand called `shape` is an array of Ints: the shape of a linear operand or result. It is
/// `None` if everything is non-linear.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Op {
    /// A constant.
    Lit(Lit),
    /// A zero; a symbolic zero for arrays and data.
    Zero(Ty),
    /// An elementwise function of a number or an array.
    Un(Un, Var),
    /// An elementwise operator; a scalar is combined with each element of an array. Linear cases: `add` and `sub`
    /// of two linear operands of one shape, `mul` and `scale` (linear in the right operand), `div` (in the left
    /// one). `scale` may also combine a linear scalar with a non-linear array.
    Bin(Bin, Var, Var),
    /// A comparison of two scalars, texts or Bools; elementwise on arrays of numbers.
    Cmp(Cmp, Var, Var),
    /// Negation.
    Not(Var),
    /// `a` if the condition holds, else `b`. With an array of Bools, elementwise (then `a` and `b` are arrays of
    /// its shape or scalars). Linear in `a` and `b`.
    Select(Var, Var, Var),
    /// Elementwise conversion. Linear between reals.
    Convert(Conv, Var),
    /// A built-in with all its arguments, in the order of the primitive table; never linear.
    Prim(Prim, Vec<Var>),
    /// The extent of an axis.
    Dim(Var, u32),
    /// All extents, as an array of Ints.
    Shape(Var),
    /// The number of elements, including those in boxes; 0 for a symbolic zero.
    Size(Var),
    /// `a[i, j, ...]`: an element, or the array at the leading indices.
    Index { a: Var, at: Vec<Var>, shape: Option<Var> },
    /// `acc` with `v` added at the indices.
    IndexAdd { acc: Var, at: Vec<Var>, v: Var, shape: Option<Var> },
    /// `acc` with the element at the indices replaced by `v`.
    IndexSet { acc: Var, at: Vec<Var>, v: Var, shape: Option<Var> },
    /// `a[lo:hi]` along the first axis.
    Slice { a: Var, lo: Var, hi: Var, shape: Option<Var> },
    /// `acc` with `v` added to `acc[lo:hi]`.
    SliceAdd { acc: Var, lo: Var, hi: Var, v: Var, shape: Option<Var> },
    /// Elements of the first axis at an array of indices, which must be in bounds. If `shape` is given, indices out
    /// of bounds give zeros instead.
    Gather { a: Var, at: Var, shape: Option<Var> },
    /// `acc` with the elements of `v` added at the indices. If `shape` is given, elements at indices out of bounds
    /// are ignored.
    GatherAdd { acc: Var, at: Var, v: Var, shape: Option<Var> },
    /// The first axis reversed.
    Reverse(Var),
    /// Rotated left by `n` along the first axis.
    Rotate { n: Var, a: Var },
    /// Concatenation along the first axis; `len` is the length of `a`, `shape` that of the result.
    Concat { a: Var, b: Var, len: Option<Var>, shape: Option<Var> },
    /// The same elements in another shape; `from` is the shape of `a`.
    Reshape { a: Var, to: Var, from: Option<Var> },
    /// The first two axes exchanged.
    Transpose(Var),
    /// `n` copies along a new first axis.
    Replicate { n: Var, a: Var },
    /// The sum along the first axis, whose length is `n`.
    Sum { a: Var, n: Option<Var> },
    /// Broadcast: an array of the shape with one number everywhere.
    Broadcast { a: Var, shape: Var },
    /// The sum of all numbers of an array.
    SumAll { a: Var, shape: Option<Var> },
    /// An array of the given elements (at least one); `shape` is that of the result.
    ArrayLit { elems: Vec<Var>, shape: Option<Var> },
    /// Sum of the products of the elements of two arrays of one shape, of any rank. Linear in either.
    Dot(Var, Var),
    /// Matrix·matrix, matrix·vector or vector·matrix. Linear in either. The right operand may have additional axes,
    /// which act as columns.
    MatMul(Var, Var),
    /// A contraction.
    Contract(Box<Contract>),
    /// The products of each element of a vector with each element of an array. Linear in either.
    Outer(Var, Var),
    /// Prefix sums along the first axis, from the end if reversed.
    Cumsum { a: Var, reverse: bool },
    /// Positions of `true`.
    Nonzero(Var),
    /// Positions of the zeros of an array of real numbers.
    Zeros(Var),
    /// A constructor. Linear in its fields.
    Construct { data: DataId, tag: u32, fields: Vec<Var> },
    /// All fields of data with this constructor. Linear; the fields of a symbolic zero are symbolic zeros.
    Destruct { a: Var, data: DataId, tag: u32 },
    /// Two copies of a linear variable.
    Dup(Var),
    /// Discards a linear variable.
    Drop(Var),
    /// A two-way branch; the first block runs if the condition holds.
    If(Var, Box<Block>, Box<Block>),
    /// A branch with one arm for each constructor. The parameters of an arm are the fields.
    Switch(Var, Vec<Block>),
    /// A loop.
    Loop(Box<Loop>),
    /// A call. `checkpoint`: reverse mode stores the arguments only, and repeats the call.
    Call { f: FnId, args: Vec<Var>, lin_args: Vec<Var>, rule: Option<Rule>, checkpoint: bool },
    /// A reduction or scan.
    Soac(Box<Soac>),
    /// Values of all ranks of a run; result `k` is made of operand `k`, and all are sent together. `at` is described at
    /// the kinds. Linear in all of `args`.
    Collective { kind: Collective, args: Vec<Var>, at: Option<Var> },
    /// A histogram: applies `op` to `dest` at each key in bounds. Parameters and results of the block are as in
    /// [`Soac`]. After differentiation the number and types of `values` may differ from those of `dest`, because
    /// fusion may add computations to the operator.
    ReduceByIndex { dest: Vec<Var>, op: Box<Block>, neutral: Vec<Var>, keys: Var, values: Vec<Var> },
}

/// Which operands of an operation may be linear.
#[derive(Clone, PartialEq, Debug)]
pub enum LinearIn {
    /// None.
    Nothing,
    /// All of these, or none.
    All(Vec<Var>),
    /// One of these, or none.
    OneOf(Vec<Var>),
    /// Control flow and calls: defined by their components.
    Parts,
}

impl Op {
    /// The nested blocks.
    pub fn blocks(&self) -> Vec<&Block> {
        match self {
            Op::If(_, a, b) => vec![a, b],
            Op::Switch(_, bs) => bs.iter().collect(),
            Op::Loop(l) => match &l.trip {
                Trip::While(c) => vec![c, &l.body],
                Trip::Count(_) => vec![&l.body],
            },
            Op::Soac(s) => vec![&s.op],
            Op::ReduceByIndex { op, .. } => vec![op],
            _ => Vec::new(),
        }
    }

    /// The same branch with other arms.
    pub fn with_arms(&self, mut arms: Vec<Block>) -> Op {
        match self {
            Op::If(c, ..) => {
                let b = arms.pop().unwrap_or_default();
                let a = arms.pop().unwrap_or_default();
                Op::If(*c, Box::new(a), Box::new(b))
            }
            Op::Switch(x, _) => Op::Switch(*x, arms),
            other => other.clone(),
        }
    }

    /// The nested blocks, mutably.
    pub fn blocks_mut(&mut self) -> Vec<&mut Block> {
        match self {
            Op::If(_, a, b) => vec![a, b],
            Op::Switch(_, bs) => bs.iter_mut().collect(),
            Op::Loop(l) => match &mut l.trip {
                Trip::While(c) => vec![c, &mut l.body],
                Trip::Count(_) => vec![&mut l.body],
            },
            Op::Soac(s) => vec![&mut s.op],
            Op::ReduceByIndex { op, .. } => vec![op],
            _ => Vec::new(),
        }
    }
}

//! Operations.

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

/// A conversion between numbers. From `Bool`: 0 or 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Conv {
    ToF64, ToF32, ToI64,
}

/// How often a loop turns.
#[derive(Clone, PartialEq, Debug)]
pub enum Turns {
    /// So many times.
    For(Var),
    /// While the block's one Bool result holds; its parameters are the carried non-linear values.
    While(Block),
}

/// What becomes of an output of a loop's turns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Out {
    /// An array of them, all of one shape. A reversed loop fills it from the end.
    Collect,
    /// A one-dimensional array of boxes, each of its own shape (residuals).
    Boxed,
    /// Their sum, from zero.
    Sum,
}

/// `map`, comprehensions, sums over indices, and loops.
///
/// Parameters of `body`: the turn's index, the carried values, the elements of `xs`; linear: carried, elements. Results of `body`:
/// carried, outputs; linear the same. Results of the loop: carried, outputs, and the number of turns; linear: carried, outputs. The
/// body sees the non-linear variables around it. It also sees the linear ones: each turn then has a copy.
/// Without carried values the turns are independent of each other.
#[derive(Clone, PartialEq, Debug)]
pub struct Loop {
    /// How often.
    pub turns: Turns,
    /// Whether the index runs from the last to 0.
    pub reverse: bool,
    /// Initial values of what is carried.
    pub init: Vec<Var>,
    /// The linear ones.
    pub lin_init: Vec<Var>,
    /// Arrays of which each turn reads the element at its index.
    pub xs: Vec<Var>,
    /// The linear ones.
    pub lin_xs: Vec<Var>,
    /// What becomes of each output.
    pub outs: Vec<Out>,
    /// Of each linear output.
    pub lin_outs: Vec<Out>,
    /// One turn.
    pub body: Block,
}

/// Which second-order array combinator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SoacKind {
    /// From the left, beginning with the neutral element.
    Reduce,
    /// Each prefix, the element included.
    Scan,
    /// Each prefix without the element.
    ScanExclusive,
}

/// A reduction or scan by an associative operator over tuples of arrays.
#[derive(Clone, PartialEq, Debug)]
pub struct Soac {
    /// Which.
    pub kind: SoacKind,
    /// Parameters: accumulated values, elements; results: the new accumulated values.
    pub op: Block,
    /// The neutral element.
    pub neutral: Vec<Var>,
    /// One array for each component.
    pub arrays: Vec<Var>,
}

/// A derivative given by the user instead of the callee's own.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// Which direction `func` gives.
    pub kind: RuleKind,
    /// `(args, t…) -> (results, u…)`: for [`RuleKind::Jvp`] `t` is the arguments' tangent and `u` the results'; for
    /// [`RuleKind::Vjp`] `t` is the results' cotangent and `u` the arguments'. `u` is linear in `t`. For [`RuleKind::Inverse`] it is
    /// `(args, z…, b…) -> (a…)` with `a ⊙ b = z`.
    pub func: FnId,
}

/// The direction of a custom rule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RuleKind {
    /// From tangents to tangents.
    Jvp,
    /// From cotangents to cotangents.
    Vjp,
    /// No derivative: the callee is one reduction or histogram, whose operator has this inverse.
    Inverse,
}

/// What the terms of a contraction are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Terms {
    /// Products.
    Mul,
    /// Numbers of `b`, scaled by those of `a`: a zero stays zero whatever scales it.
    Scale,
    /// Numbers of `a`, scaled by those of `b`.
    Scaled,
}

impl Terms {
    /// A term.
    pub fn eval(self, a: f64, b: f64) -> f64 {
        match self {
            Terms::Mul => a * b,
            Terms::Scale => Bin::Scale.eval(a, b),
            Terms::Scaled => Bin::Scale.eval(b, a),
        }
    }
}

/// Sums of products of two matrices' numbers, `Σ l. a[i, l] · b[j, l]` for the first `n` rows of the one and `m` of the other, and `k` terms, which are added
/// as [`Op::Sum`] adds them. The optimiser makes it when nothing will be differentiated any more.
#[derive(Clone, PartialEq, Debug)]
pub struct Contract {
    /// What the terms are.
    pub terms: Terms,
    /// One factor: a matrix of Floats, or a vector for one row, and then the result is a vector.
    pub a: Var,
    /// The other: a matrix.
    pub b: Var,
    /// The extents `n`, `m` and `k`.
    pub size: [Var; 3],
    /// Of which factor the first index runs over the terms.
    pub turned: [bool; 2],
}

/// An operation. Operands called `shape` are arrays of Ints that say the shape of a linear operand or result; they are `None` where all
/// is non-linear.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Op {
    /// A constant.
    Lit(Lit),
    /// A zero. Of an array or of data: absent.
    Zero(Ty),
    /// An elementwise function of a number or an array.
    Un(Un, Var),
    /// An elementwise operator; a number meets each element of an array. Linear: `add`, `sub` of two linear operands of one shape,
    /// `mul` and `scale` (the right operand linear), `div` (the left one). A linear number meets a non-linear array in `scale` too.
    Bin(Bin, Var, Var),
    /// A comparison of two scalars, texts or Bools; elementwise on arrays of numbers.
    Cmp(Cmp, Var, Var),
    /// Negation.
    Not(Var),
    /// `a` where the condition holds, else `b`: as a whole, or elementwise under an array of Bools (where `a` and `b` are arrays of its
    /// shape or numbers). Linear in `a` and `b`.
    Select(Var, Var, Var),
    /// Elementwise conversion. Linear between reals.
    Convert(Conv, Var),
    /// A built-in whose arguments are all there, in the table's order; never linear.
    Prim(Prim, Vec<Var>),
    /// The extent of an axis.
    Dim(Var, u32),
    /// All extents.
    Shape(Var),
    /// The number of elements, those in boxes included; 0 of an absent array.
    Count(Var),
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
    /// Elements of the first axis at an array of indices, all in bounds; where `shape` is given, zeros at those out of bounds.
    Gather { a: Var, at: Var, shape: Option<Var> },
    /// `acc` with the elements of `v` added at the indices; where `shape` is given, those out of bounds are left out.
    GatherAdd { acc: Var, at: Var, v: Var, shape: Option<Var> },
    /// The first axis turned round.
    Reverse(Var),
    /// Rotated left by `n` along the first axis.
    Rotate { n: Var, a: Var },
    /// One after the other along the first axis; `len` is the length of `a`, `shape` that of the result.
    Concat { a: Var, b: Var, len: Option<Var>, shape: Option<Var> },
    /// The same elements in another shape; `from` is the shape of `a`.
    Reshape { a: Var, to: Var, from: Option<Var> },
    /// The first two axes exchanged.
    Transpose(Var),
    /// `n` copies along a new first axis.
    Replicate { n: Var, a: Var },
    /// The sum along the first axis, whose length is `n`.
    Sum { a: Var, n: Option<Var> },
    /// An array of the shape, with one number everywhere.
    Spread { a: Var, shape: Var },
    /// The sum of all numbers of an array.
    Total { a: Var, shape: Option<Var> },
    /// An array of the given elements (at least one); `shape` is that of the result.
    Stack { elems: Vec<Var>, shape: Option<Var> },
    /// Sum of the products of the elements of two arrays of one shape, of any rank. Linear in either.
    Dot(Var, Var),
    /// Matrix·matrix, matrix·vector or vector·matrix. Linear in either. The right operand may have more axes, which stand for columns.
    MatMul(Var, Var),
    /// A contraction.
    Contract(Box<Contract>),
    /// Products of each element of a vector with each of an array. Linear in either.
    Outer(Var, Var),
    /// Running sums along the first axis, from the end if reversed.
    Cumsum { a: Var, reverse: bool },
    /// Positions of `true`.
    Nonzero(Var),
    /// Positions of the zeros of an array of real numbers.
    Zeros(Var),
    /// A constructor. Linear in its fields.
    Con { data: DataId, tag: u32, fields: Vec<Var> },
    /// All fields of data that has this constructor. Linear; the fields of absent data are absent.
    Fields { a: Var, data: DataId, tag: u32 },
    /// Two of a linear variable.
    Dup(Var),
    /// None of a linear variable.
    Drop(Var),
    /// Two branches.
    If(Var, Box<Block>, Box<Block>),
    /// A branch for each constructor, whose parameters are its fields.
    Switch(Var, Vec<Block>),
    /// A loop.
    Loop(Box<Loop>),
    /// A call. `checkpoint`: reverse mode keeps the arguments only.
    Call { f: FnId, args: Vec<Var>, lin_args: Vec<Var>, rule: Option<Rule>, checkpoint: bool },
    /// A reduction or scan.
    Soac(Box<Soac>),
    /// `dest` with `op` applied at each key in bounds; parameters and results of the block as in [`Soac`]. After differentiation the
    /// elements of `values` may be of other types and numbers than those of `dest`: what was fused makes the ones from the others.
    ReduceByIndex { dest: Vec<Var>, op: Box<Block>, neutral: Vec<Var>, keys: Var, values: Vec<Var> },
}

/// Which operands of an operation may be linear.
#[derive(Clone, PartialEq, Debug)]
pub enum LinearIn {
    /// None.
    Nothing,
    /// All of these, or none.
    All(Vec<Var>),
    /// Exactly one of these, or none.
    OneOf(Vec<Var>),
    /// Control flow and calls: their parts say.
    Parts,
}

impl Op {
    /// Which operands may be linear.
    pub fn linear_in(&self) -> LinearIn {
        use LinearIn::{All, Nothing, OneOf, Parts};
        match self {
            Op::Lit(_) | Op::Cmp(..) | Op::Not(_) | Op::Prim(..) | Op::Dim(..) | Op::Shape(_) | Op::Count(_) | Op::Nonzero(_) | Op::Zeros(_) | Op::Contract(_) | Op::Soac(_) | Op::ReduceByIndex { .. } => Nothing,
            Op::Zero(_) => All(Vec::new()),
            Op::Un(Un::Neg, a) | Op::Convert(Conv::ToF64 | Conv::ToF32, a) => All(vec![*a]),
            Op::Un(..) | Op::Convert(..) => Nothing,
            Op::Bin(Bin::Add | Bin::Sub, a, b) => All(vec![*a, *b]),
            Op::Bin(Bin::Mul | Bin::Scale, _, b) => All(vec![*b]),
            Op::Bin(Bin::Div, a, _) => All(vec![*a]),
            Op::Bin(..) => Nothing,
            Op::Select(_, a, b) => All(vec![*a, *b]),
            Op::Index { a, .. } | Op::Slice { a, .. } | Op::Gather { a, .. } | Op::Reshape { a, .. } => All(vec![*a]),
            Op::IndexAdd { acc, v, .. } | Op::IndexSet { acc, v, .. } | Op::SliceAdd { acc, v, .. } | Op::GatherAdd { acc, v, .. } => All(vec![*acc, *v]),
            Op::Reverse(a) | Op::Rotate { a, .. } | Op::Transpose(a) | Op::Replicate { a, .. } | Op::Sum { a, .. } => All(vec![*a]),
            Op::Spread { a, .. } | Op::Total { a, .. } | Op::Cumsum { a, .. } | Op::Fields { a, .. } | Op::Dup(a) | Op::Drop(a) => All(vec![*a]),
            Op::Concat { a, b, .. } => All(vec![*a, *b]),
            Op::Stack { elems: vs, .. } | Op::Con { fields: vs, .. } => All(vs.clone()),
            Op::Dot(a, b) | Op::MatMul(a, b) | Op::Outer(a, b) => OneOf(vec![*a, *b]),
            Op::If(..) | Op::Switch(..) | Op::Loop(_) | Op::Call { .. } => Parts,
        }
    }

    /// The blocks inside.
    pub fn blocks(&self) -> Vec<&Block> {
        match self {
            Op::If(_, a, b) => vec![a, b],
            Op::Switch(_, bs) => bs.iter().collect(),
            Op::Loop(l) => match &l.turns {
                Turns::While(c) => vec![c, &l.body],
                Turns::For(_) => vec![&l.body],
            },
            Op::Soac(s) => vec![&s.op],
            Op::ReduceByIndex { op, .. } => vec![op],
            _ => Vec::new(),
        }
    }

    /// The branch on the same value with other arms.
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

    /// The blocks inside, to be changed.
    pub fn blocks_mut(&mut self) -> Vec<&mut Block> {
        match self {
            Op::If(_, a, b) => vec![a, b],
            Op::Switch(_, bs) => bs.iter_mut().collect(),
            Op::Loop(l) => match &mut l.turns {
                Turns::While(c) => vec![c, &mut l.body],
                Turns::For(_) => vec![&mut l.body],
            },
            Op::Soac(s) => vec![&mut s.op],
            Op::ReduceByIndex { op, .. } => vec![op],
            _ => Vec::new(),
        }
    }
}

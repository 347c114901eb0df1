//! The shape of each operation's result from the shapes of its operands, written once for every analysis of shapes.

use crate::func::Var;
use crate::op::Op;
use adl_prim::{ArrayFn, Prim, ReductionFn};

/// What an analysis knows about shapes: one extent for each axis.
pub trait Shapes {
    /// An extent, or that nothing is known about it.
    type Extent: Clone + PartialEq;

    /// The shape of a variable; empty for a number.
    fn shape(&self, v: Var) -> Option<Vec<Self::Extent>>;
    /// The value of an Int variable.
    fn int(&self, v: Var) -> Self::Extent;
    /// A constant.
    fn constant(&self, n: usize) -> Self::Extent;
    /// `hi - lo`, for Int variables.
    fn difference(&self, hi: Var, lo: Var) -> Self::Extent;
    /// The sum of two extents.
    fn sum(&self, a: Self::Extent, b: Self::Extent) -> Self::Extent;
    /// The elements of an array of Ints.
    fn elements(&self, list: Var) -> Option<Vec<Self::Extent>>;
    /// The shape of an elementwise operation on these operands: that of the operand with most axes.
    fn widest(&self, operands: &[Var]) -> Option<Vec<Self::Extent>>;
}

impl Op {
    /// The shape of the single result of an operation without blocks, as far as its operands determine it.
    pub fn shape_of_result<S: Shapes>(&self, shapes: &S) -> Option<Vec<S::Extent>> {
        let of = |v: &Var| shapes.shape(*v);
        let rows = |v: &Var, from: usize| Some(shapes.shape(*v)?.get(from..)?.to_vec());
        let below = |n: S::Extent, mut rest: Vec<S::Extent>| {
            rest.insert(0, n);
            rest
        };
        match self {
            Op::Un(_, a) | Op::Convert(_, a) | Op::Not(a) | Op::Reverse(a) | Op::Rotate { a, .. } => of(a),
            Op::Cumsum { a, .. } | Op::Dup(a) => of(a),
            Op::IndexAdd { acc, .. } | Op::IndexSet { acc, .. } => of(acc),
            Op::SliceAdd { acc, .. } | Op::GatherAdd { acc, .. } => of(acc),
            Op::Bin(_, a, b) | Op::Cmp(_, a, b) => shapes.widest(&[*a, *b]),
            Op::Select(c, a, b) => match of(c).filter(|shape| !shape.is_empty()) {
                Some(shape) => Some(shape),
                None => of(a).filter(|shape| Some(shape) == of(b).as_ref()),
            },
            Op::Index { a, at, .. } => rows(a, at.len()),
            Op::Sum { a, .. } => rows(a, 1),
            Op::Slice { a, lo, hi, .. } => Some(below(shapes.difference(*hi, *lo), rows(a, 1)?)),
            Op::Gather { a, at, .. } => Some([of(at)?, rows(a, 1)?].concat()),
            Op::Concat { a, b, .. } => {
                // An array without rows may have other extents.
                let rest = rows(a, 1).filter(|rest| Some(rest) == rows(b, 1).as_ref())?;
                Some(below(shapes.sum(of(a)?.first()?.clone(), of(b)?.first()?.clone()), rest))
            }
            Op::Transpose(a) => {
                let mut shape = of(a).filter(|shape| shape.len() > 1)?;
                shape.swap(0, 1);
                Some(shape)
            }
            Op::Reshape { to: shape, .. } | Op::Broadcast { shape, .. } => shapes.elements(*shape),
            Op::Replicate { n, a } => Some(below(shapes.int(*n), of(a)?)),
            Op::ArrayLit { elems, .. } => Some(below(shapes.constant(elems.len()), of(elems.first()?)?)),
            Op::Outer(a, b) => Some([of(a)?, of(b)?].concat()),
            Op::MatMul(a, b) => {
                let mut shape = of(a)?;
                shape.pop()?;
                Some([shape, rows(b, 1)?].concat())
            }
            Op::Contract(c) => {
                let rank = of(&c.a)?.len();
                Some(c.size[2 - rank.min(2)..2].iter().map(|n| shapes.int(*n)).collect())
            }
            Op::Prim(p, args) => shapes.built_in(*p, args),
            Op::Dot(..) | Op::SumAll { .. } | Op::Dim(..) | Op::Size(_) | Op::Lit(_) => Some(Vec::new()),
            Op::Shape(a) => Some(vec![shapes.constant(of(a)?.len())]),
            // Symbolic zeros have no shape, positions are as many as there are, and data has fields.
            Op::Zero(_) | Op::Nonzero(_) | Op::Zeros(_) | Op::Construct { .. } | Op::Destruct { .. } => None,
            Op::Drop(_) | Op::If(..) | Op::Switch(..) | Op::Loop(_) | Op::Call { .. } => None,
            Op::Soac(_) | Op::ReduceByIndex { .. } | Op::Collective { .. } => None,
        }
    }
}

/// Built-ins whose arguments determine the shape.
trait BuiltIn: Shapes {
    fn built_in(&self, p: Prim, args: &[Var]) -> Option<Vec<Self::Extent>> {
        match p {
            Prim::Array(ArrayFn::Iota) => Some(vec![self.int(*args.first()?)]),
            Prim::Array(ArrayFn::Eye) => Some(vec![self.int(*args.first()?); 2]),
            Prim::Reduction(ReductionFn::Argsort) => self.shape(*args.first()?),
            _ => None,
        }
    }
}

impl<S: Shapes> BuiltIn for S {}

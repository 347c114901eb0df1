//! Chains of elementwise operators, as data. `fused_chain` runs them.

use adl_prim::{Bin, Un};

/// The source of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChainOperand {
    /// An input array.
    Input(usize),
    /// A scalar, broadcast to all elements.
    Number(usize),
    /// The result of a previous member.
    Slot(usize),
}

/// An operation of a chain.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ChainOp {
    /// A unary operator.
    Un(Un, ChainOperand),
    /// A binary operator.
    Bin(Bin, ChainOperand, ChainOperand),
    /// A constant.
    Fill(ChainOperand),
}

/// A reduction over all elements.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Total {
    /// The sum.
    Sum(ChainOperand),
    /// The inner product.
    Dot(ChainOperand, ChainOperand),
}

/// A chain of operations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    /// The operations, each with the slot for its result, which must differ from the slots of its operands.
    pub members: Vec<(ChainOp, usize)>,
    /// The number of slots.
    pub slots: usize,
    /// Slots that are stored as result arrays.
    pub stored: Vec<usize>,
    /// Reductions over all elements.
    pub totals: Vec<Total>,
}

/// A lowered chain of statements.
#[derive(Debug)]
pub struct FusedChain {
    pub(crate) chain: Chain,
    /// Number of operands that are arrays; they are followed by scalars, and by the lengths of filled arrays.
    pub(crate) arrays: usize,
    pub(crate) numbers: usize,
}

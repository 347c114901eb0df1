//! The facts that hold in a block: what is known of its arrays, of their extents and of its Ints.

use super::matrices::MatrixElems;
use adl_ir::Var;
use std::collections::{HashMap, HashSet};

/// An extent of an array of Floats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum KnownExtent {
    /// The length of a vector.
    Length(Var),
    /// The number of rows of a matrix.
    RowCount(Var),
    /// The length of a matrix's rows.
    RowLength(Var),
    /// An extent of the matrices in an array, by the array's axis.
    Side(Var, u32),
}

/// An element of an array.
#[derive(Clone, Copy, Debug)]
pub(super) enum ElemSource {
    /// A scalar variable.
    Is(Var),
    /// An element of another array.
    Of(Var, usize),
}

/// What is known of Ints.
#[derive(Clone, Default)]
pub(super) struct IntFacts {
    /// Their values, if known.
    pub values: HashMap<Var, i64>,
    /// The elements of arrays of Ints, if all are known.
    pub arrays: HashMap<Var, Vec<i64>>,
    /// Variables bound to Int literals.
    pub literals: HashMap<i64, Var>,
    /// Ints that are extents.
    pub extent_of: HashMap<Var, KnownExtent>,
    /// Extents of vectors that an assertion of the block, possibly a later one, equates with a literal.
    pub asserted: HashMap<Var, Var>,
    /// Loop indices, with the loop's trip count.
    pub trips: HashMap<Var, i64>,
    /// Ints that are this extent or 0: extents of what a loop collects, which are 0 if it does not run.
    pub unless_empty: HashMap<Var, i64>,
    /// Comparisons for equality.
    pub equal: HashMap<Var, (Var, Var)>,
}

/// The facts that hold in a block.
#[derive(Clone, Default)]
pub(super) struct BlockFacts {
    pub ints: IntFacts,
    /// Lengths of arrays, which are also known to be materialised.
    pub lens: HashMap<Var, usize>,
    /// Extents with a known value. An assertion that establishes it may come later in this block.
    pub extents: HashMap<KnownExtent, usize>,
    /// Elements of arrays built from others.
    pub elems: HashMap<Var, Vec<ElemSource>>,
    /// Variables of elements that have been read.
    pub read: HashMap<(Var, usize), Var>,
    /// Vectors that are rows of matrices of known row length, with the matrix and the index.
    pub rows: HashMap<Var, (Var, Var)>,
    /// Matrices that are elements of arrays of matrices, with the array and the index.
    pub matrix_elements: HashMap<Var, (Var, Var)>,
    /// Elements of arrays of Ints.
    pub lists: HashMap<Var, Vec<Var>>,
    /// Shapes with one literal extent, that is, of vectors of this length.
    pub shapes: HashMap<Var, usize>,
    /// Vectors and matrices that are symbolic zeros.
    pub zeros: HashSet<Var>,
    /// Small matrices whose elements are scalars.
    pub grids: HashMap<Var, MatrixElems>,
    /// Identity matrices, with their size.
    pub identities: HashMap<Var, usize>,
    /// Replacements of variables.
    pub names: HashMap<Var, Var>,
}

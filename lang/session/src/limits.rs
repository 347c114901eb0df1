//! The limits of what a session shows and keeps, one module for each file that uses them.
//!
//! Widths are columns of a terminal, lengths are characters.
//! A figure without a time or a count beside it has no measurement on record.

/// Limits of `boundary`.
pub(crate) mod boundary {
    /// Bytes of stack with which an entry begins. A call of native code that finds less than about half of it takes a
    /// stack of its own, which costs 10 us and the time of other threads.
    pub const STACK_LEFT: usize = 5 << 20;
    /// Bytes of the stack of an entry that begins with less, beside the stack for recursion in native code. With that,
    /// a call of a recursive function takes 2 us where a stack of its own takes 24 us.
    pub const STACK: usize = 16 << 20;
}

/// Limits of `completion_ranking`.
pub(crate) mod completion_ranking {
    /// The number of candidates whose types are checked; more would cause a noticeable delay.
    pub const MOST: usize = 100;
    /// Longer entries are not checked repeatedly.
    pub const LONG: usize = 2000;
    /// The number of arguments that may follow the one at the cursor.
    pub const MORE: usize = 3;
}

/// Limits of `docs`.
pub(crate) mod docs {
    /// The length up to which a type is considered readable.
    pub const READABLE: usize = 60;
}

/// Limits of `echo`.
pub(crate) mod echo {
    /// The maximal number of lines of a laid-out value.
    pub const LINES: usize = 40;
    /// The maximal number of lines of the value of a definition.
    pub const NAMED: usize = 8;
    /// The maximal number of lines of a type.
    pub const TYPE: usize = 3;
    /// The maximal number of rows of a matrix, table or vector; of longer ones the first and last rows are shown.
    pub const ROWS: usize = 20;
    /// The smallest supported screen width.
    pub const NARROW: usize = 20;
}

/// Limits of `echo::grid`.
pub(crate) mod echo_grid {
    /// The maximal width of a text in a cell.
    pub const CELL: usize = 40;
    /// The maximal number of slices shown of an array of rank 3 or higher.
    pub const SLICES: usize = 4;
}

/// Limits of `echo::text`.
pub(crate) mod echo_text {
    /// The length from which an array is abbreviated.
    pub const MANY: usize = 1000;
    /// The number of elements of it that are shown at either end.
    pub const EDGE: usize = 3;
    /// The maximal length of an abridged line.
    pub const LONG: usize = 2000;
    /// The length from which a list is abbreviated.
    pub const LIST: usize = 100;
}

/// Limits of `gc`.
pub(crate) mod gc {
    /// The minimal number of new definitions between collections. The time of a collection is proportional to the number of
    /// definitions kept.
    pub const MANY: u32 = 256;
    /// Values with more numbers than this trigger an earlier collection.
    pub const LARGE: usize = 1 << 16;
}

/// Limits of `related`.
pub(crate) mod related {
    /// The maximal number of names to list.
    pub const MAX_RELATED: usize = 6;
    /// The length of a common prefix that makes names related.
    pub const STEM: usize = 3;
}

/// Limits of `snapshots`.
pub(crate) mod snapshots {
    /// The maximal number of entries that can be undone.
    pub const MAX_UNDO: usize = 100;
}

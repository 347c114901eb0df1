//! Ranks and the messages between them (module `comm` has these names). `Each a` is a value that may differ from rank to
//! rank; a plain value is equal on all. The inner product of `Each a` is summed over the ranks, which determines the
//! transposes.

use super::{Linearity as L, Row, family, hidden, scheme};

family! {
    /// A function of values on several ranks.
    CommFn {
        Rank "__comm_rank": scheme("() -> Each Int", 1, L::None), "The number of each rank, from 0.", [];
        Size "__comm_size": scheme("() -> Int", 1, L::None), "The number of ranks.", [];
        Each "__comm_each": scheme("(a -> b) -> Each a -> Each b", 2, L::Mapped),
        "`comm.each f x`: the function on each rank's part. It sends nothing. A plain value that `f` reads is spread.",
        [];
        Zip "__comm_zip": scheme("Each a -> Each b -> Each (a, b)", 2, L::Joint), "Both parts of each rank.", [];
        Spread "__comm_spread": scheme("Diff a => a -> Each a", 1, L::Joint),
        "The value as a part of each rank. Its transpose is `comm.total`.",
        [];
        Total "__comm_total": scheme("Diff a => Each a -> a", 1, L::Joint),
        "The sum of all parts, an all-reduce. Its transpose is `comm.spread`.",
        [];
        Mine "__comm_mine": scheme("Diff a => [n]a -> Each [_]a", 1, L::Joint),
        "Deals an array out in blocks: each rank has its own. Its transpose is `comm.gather`.",
        [];
        Gather "__comm_gather": scheme("Diff a => Each [n]a -> [_]a", 1, L::Joint),
        "The parts of all ranks, one behind the other, an all-gather. Its transpose deals out parts of these lengths.",
        [];
        ScatterSum "__comm_scatter_sum": scheme("Diff a => Each [n]a -> Each [_]a", 1, L::Joint),
        "The sum of all parts, dealt out in blocks, a reduce-scatter. Its transpose is `comm.gather_each`.",
        [];
        GatherEach "__comm_gather_each": scheme("Diff a => Each [n]a -> Each [_]a", 1, L::Joint),
        "As `comm.gather`; each rank may then change its copy. Its transpose is `comm.scatter_sum`.",
        [];
        Shift "__comm_shift": scheme("Diff a => Int -> Each a -> Each a", 2, L::In(&[1])),
        "`comm.shift k x`: rank r has the part of rank r - k, cyclically. Its transpose is `comm.shift (-k)`.",
        [];
        Exchange "__comm_exchange": scheme("Diff a => Each [p]a -> Each [p]a", 1, L::Joint),
        "An all-to-all: element s of rank r becomes element r of rank s. It is its own transpose.",
        [];
        From "__comm_from": scheme("Diff a => Int -> Each a -> a", 2, L::In(&[1])),
        "`comm.from r x`: the part of rank r, a broadcast. All parts have one shape. Its transpose is `comm.place r`.",
        [];
        Place "__comm_place": scheme("Diff a => Int -> a -> Each a", 2, L::In(&[1])),
        "`comm.place r x`: x on rank r, 0 on the others. Its transpose is `comm.from r`.",
        [];
        FoldChunks "__rows_fold_chunks": scheme("(Int -> Int -> b) -> Int -> Each b", 2, L::None),
        "`f n`: the function at both ends of each rank's block of n chunks. A rank without chunks takes one that another has.",
        [];
        SumChunks "__rows_sum_chunks": scheme("Diff b => Int -> Each b -> b", 2, L::In(&[1])),
        "`n x`: the sum of the parts of the ranks that have some of n chunks, by a balanced tree.",
        [];
        Block "__rows_block": hidden("Int -> [2]Int", 1), "Both ends of the own block of n chunks, which has one at least.", [];
        Blocks "__comm_blocks": hidden("Int -> [_]Int", 1), "The lengths of the blocks in which n elements are dealt out.", [];
        Lengths "__comm_lengths": hidden("Int -> [_]Int", 1), "The lengths of the parts of all ranks.", [];
    }
}

impl CommFn {
    /// The name in error messages: `comm.total`.
    pub fn title(self) -> String {
        self.row().name.trim_start_matches('_').replacen('_', ".", 1)
    }

    /// Whether it sends messages, so that every rank must run it equally often and in one order.
    pub const fn sends(self) -> bool {
        matches!(self, CommFn::Lengths)
    }
}

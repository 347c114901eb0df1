//! The kinds of [`crate::Op::Collective`], operations on values that differ from rank to rank.
//!
//! Plain values are equal on all ranks. The inner product of a value that differs is the sum of those on the ranks.
//! Hence the transposes.

/// What the ranks do with their values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Collective {
    /// The plain value, as a value of each rank. Sends nothing.
    Spread,
    /// The sum over the ranks, on all of them.
    Total,
    /// The rows of the own part of a plain array. `at`: the lengths of all parts. Sends nothing.
    Mine,
    /// All parts, one behind the other, as a plain array. `at`: their lengths.
    Gather,
    /// The rows of the own part of the sum over the ranks. `at`: the lengths of all parts.
    ScatterSum,
    /// All parts, one behind the other, as an array of each rank. `at`: their lengths.
    GatherEach,
    /// The value of the rank that is `at` places before, cyclically.
    Shift,
    /// Row r of rank s becomes row s of rank r.
    Exchange,
    /// The value of rank `at`, on all of them.
    From,
    /// The plain value on rank `at`, zeros on the others. Sends nothing.
    Place,
    /// The plain value, for the ranks that have some of `at` chunks. Sends nothing.
    SpreadRows,
    /// The sum over the ranks that have some of `at` chunks, by a balanced tree over the ranks.
    TotalRows,
    /// The plain value as it is, for one term of a sum. The cotangents of that term are summed by themselves. Sends
    /// nothing.
    Fork,
}

use Collective::{
    Exchange, Fork, From, Gather, GatherEach, Mine, Place, ScatterSum, Shift, Spread, SpreadRows, Total, TotalRows,
};
use adl_prim::CommFn;

impl Collective {
    /// Every kind.
    pub const ALL: [Collective; 13] = [
        Spread, Total, Mine, Gather, ScatterSum, GatherEach, Shift, Exchange, From, Place, SpreadRows, TotalRows, Fork,
    ];

    /// The kind that a function of module `comm` applies; `None` if it applies none.
    pub fn of(p: CommFn) -> Option<Collective> {
        Some(match p {
            CommFn::Spread => Spread,
            CommFn::Total => Total,
            CommFn::Mine => Mine,
            CommFn::Gather => Gather,
            CommFn::ScatterSum => ScatterSum,
            CommFn::GatherEach => GatherEach,
            CommFn::Shift => Shift,
            CommFn::Exchange => Exchange,
            CommFn::From => From,
            CommFn::Place => Place,
            CommFn::SumChunks => TotalRows,
            CommFn::Rank
            | CommFn::Size
            | CommFn::Each
            | CommFn::Zip
            | CommFn::FoldChunks
            | CommFn::Block
            | CommFn::Blocks
            | CommFn::Lengths => return None,
        })
    }

    /// Whether its operand is a plain value, equal on all ranks.
    pub fn takes_plain(self) -> bool {
        matches!(self, Spread | Mine | Place | SpreadRows | Fork)
    }

    /// Whether its result is a plain value.
    pub fn gives_plain(self) -> bool {
        self.transposed().takes_plain()
    }

    /// The kind of the transpose. That of [`Collective::Shift`] is by as many places to the other side.
    pub fn transposed(self) -> Collective {
        match self {
            Spread => Total,
            Total => Spread,
            Mine => Gather,
            Gather => Mine,
            ScatterSum => GatherEach,
            GatherEach => ScatterSum,
            Shift => Shift,
            Exchange => Exchange,
            From => Place,
            Place => From,
            SpreadRows => TotalRows,
            TotalRows => SpreadRows,
            Fork => Fork,
        }
    }

    /// Its word in the text form, and its name in module `comm`.
    pub fn word(self) -> &'static str {
        match self {
            Spread => "spread",
            Total => "total",
            Mine => "mine",
            Gather => "gather",
            ScatterSum => "scatter_sum",
            GatherEach => "gather_each",
            Shift => "shift",
            Exchange => "exchange",
            From => "from",
            Place => "place",
            SpreadRows => "spread_rows",
            TotalRows => "total_rows",
            Fork => "fork",
        }
    }

    /// Whether ranks send messages.
    pub fn sends(self) -> bool {
        !self.takes_plain()
    }

    /// Whether it acts on the rows of arrays.
    pub fn on_rows(self) -> bool {
        self.by_lengths() || self == Exchange
    }

    /// Whether `at` has the lengths of all parts.
    pub fn by_lengths(self) -> bool {
        matches!(self, Mine | Gather | ScatterSum | GatherEach)
    }

    /// Whether `at` is a number of ranks, or of one.
    pub fn by_rank(self) -> bool {
        matches!(self, Shift | From | Place)
    }

    /// Whether `at` is a number of chunks.
    pub fn by_chunks(self) -> bool {
        matches!(self, SpreadRows | TotalRows)
    }

    /// Whether it adds numbers.
    pub fn adds(self) -> bool {
        matches!(self, Total | TotalRows)
    }
}

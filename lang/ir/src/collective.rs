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
}

use Collective::{Exchange, From, Gather, GatherEach, Mine, Place, ScatterSum, Shift, Spread, Total};
use adl_prim::CommFn;

impl Collective {
    /// Every kind.
    pub const ALL: [Collective; 10] =
        [Spread, Total, Mine, Gather, ScatterSum, GatherEach, Shift, Exchange, From, Place];

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
            CommFn::Rank | CommFn::Size | CommFn::Each | CommFn::Zip | CommFn::Blocks | CommFn::Lengths => return None,
        })
    }

    /// Whether its operand is a plain value, equal on all ranks.
    pub fn takes_plain(self) -> bool {
        matches!(self, Spread | Mine | Place)
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
}

//! Brackets in sums whose result must keep its bits, that is, the order of additions ([`adl_ir::sum_order`]). Terms that
//! are 0 change no partial sum. So the terms outside of the bounds may be left out, if what remains begins at a multiple of
//! the number of partial sums, ends at one or at the end of the sum, and lies in one chunk. Otherwise all terms are added.

use super::bounds::SumBounds;
use super::narrow::{Bracket, Narrow};
use adl_ir::sum_order::{CHUNK, PARTIAL};
use adl_ir::{Cmp, Loop, Ty, Var};
use adl_prim::{Bin, Un};

impl Narrow {
    /// Whether a sum has bounds that may differ between the iterations of a loop around it.
    pub(super) fn keeps_order(&self, ir_loop: &Loop, bounds: &SumBounds) -> bool {
        let numbers = ir_loop.body.results.iter().all(|r| matches!(self.b.ty(*r), Ty::F64 | Ty::I64));
        numbers && !self.axes.is_empty() && !(bounds.from.is_empty() && bounds.to.is_empty())
    }

    /// Emits the sum over the indices within the bounds; the predicate stays.
    pub(super) fn same_order(&mut self, ir_loop: &Loop, bracket: &Bracket, bounds: &SumBounds, trip: Var) -> Vec<Var> {
        let (first, count) = self.window(bounds, trip);
        self.b.open();
        let iteration = self.b.param(Ty::I64);
        let at = self.b.bin(Bin::Add, first, iteration);
        let results = self.term(ir_loop, bracket, false, at);
        let body = self.b.close(results, Vec::new());
        self.sum_loop(ir_loop, count, body)
    }

    /// The first index, and the number of indices.
    fn window(&mut self, bounds: &SumBounds, trip: Var) -> (Var, Var) {
        let (from, to) = self.ends(bounds, trip);
        let [zero, partial, chunk] = [0, PARTIAL, CHUNK].map(|n| self.b.int(n as i64));
        let from = self.b.bin(Bin::Min, from.unwrap_or(zero), trip);
        let from = self.b.bin(Bin::Max, from, zero);
        let before = self.b.bin(Bin::Rem, from, partial);
        let first = self.b.bin(Bin::Sub, from, before);
        let minus = self.b.un(Un::Neg, to);
        let after = self.b.bin(Bin::Rem, minus, partial);
        let end = self.b.bin(Bin::Add, to, after);
        let end = self.b.bin(Bin::Min, end, trip);
        let inside = self.b.bin(Bin::Rem, first, chunk);
        let start = self.b.bin(Bin::Sub, first, inside);
        let limit = self.b.bin(Bin::Add, start, chunk);
        let fits = self.b.cmp(Cmp::Le, end, limit);
        let (first, end) = (self.choose(fits, first, zero), self.choose(fits, end, trip));
        let count = self.b.bin(Bin::Sub, end, first);
        (first, self.b.bin(Bin::Max, count, zero))
    }
}

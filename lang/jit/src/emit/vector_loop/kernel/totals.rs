//! Totals in registers: a strip is a chunk of the order of sums, and the lanes of a vector step are its eight partial sums.

use super::{Kernel, LaneValue, Total};
use crate::limits::emit_vector_loop_kernel::TOTALS;
use adl_ir::sum_order::PARTIAL;
use cranelift_codegen::ir::{InstBuilder, Value};
use smallvec::SmallVec;

impl Kernel<'_, '_, '_, '_> {
    /// Whether the terms of all totals are added as they come, instead of being stored first.
    pub(super) fn totals_in_registers(&self) -> bool {
        let totals = self.k.totals;
        self.k.vectors.iterations() == PARTIAL as i64
            && (1..=TOTALS).contains(&(totals.len() * self.k.vectors.side))
            && totals.iter().all(|t| matches!(t, Total::Out(_)))
    }

    /// Sets all sums to zero.
    pub(super) fn clear_totals(&mut self) {
        if self.totals_in_registers() {
            let zero = self.e.b.ins().f64const(0.0);
            let ty = self.vector();
            let zeros = self.e.b.ins().splat(ty, zero);
            self.partial = vec![zeros; self.k.vectors.side * self.k.totals.len()];
            self.rest = vec![zero; self.k.totals.len()];
        }
    }

    /// The sums that the loop with these vectors changes.
    pub(super) fn sums_of(&self, side: usize) -> Vec<Value> {
        match side {
            _ if !self.is_last() => Vec::new(),
            0 => self.rest.clone(),
            _ => self.partial.clone(),
        }
    }

    /// Sets what [`Kernel::sums_of`] gives.
    pub(super) fn set_sums(&mut self, side: usize, sums: &[Value]) {
        if self.is_last() {
            *(if side == 0 { &mut self.rest } else { &mut self.partial }) = sums.to_vec();
        }
    }

    /// Adds the terms of the current iterations.
    pub(super) fn add_to_totals(&mut self) {
        let l = self.k.l;
        for (t, total) in self.k.totals.iter().enumerate() {
            let Total::Out(out) = total else { continue };
            let x = self.float(l.body.results[l.init.len() + out]);
            match (self.side, &x) {
                (0, LaneValue::One(x)) => self.rest[t] = self.e.b.ins().fadd(self.rest[t], *x),
                _ => {
                    for (u, x) in self.many(&x).into_iter().enumerate() {
                        let k = self.k.vectors.side * t + u;
                        self.partial[k] = self.e.b.ins().fadd(self.partial[k], x);
                    }
                }
            }
        }
    }

    /// A total from its partial sums.
    pub(super) fn total_in_registers(&mut self, t: usize) -> Value {
        let side = self.k.vectors.side;
        let partial = self.partial[side * t..][..side].to_vec();
        let lanes: SmallVec<[Value; PARTIAL]> = self.lanes_of(&partial);
        let quarters: SmallVec<[Value; 4]> = (0..4).map(|k| self.e.b.ins().fadd(lanes[k], lanes[k + 4])).collect();
        let halves = [0, 2].map(|k| self.e.b.ins().fadd(quarters[k], quarters[k + 1]));
        let all = self.e.b.ins().fadd(halves[0], halves[1]);
        self.e.b.ins().fadd(all, self.rest[t])
    }
}

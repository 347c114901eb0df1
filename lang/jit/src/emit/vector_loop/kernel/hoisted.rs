//! Functions in inner loops whose arguments are the same in all iterations of the kernel. They are evaluated once for a
//! strip, by an iteration that has no other effect, and kept in scratch memory.

use super::{Kernel, LOOSE, LaneValue, STRIP, of_totals};
use crate::limits::emit_vector_loop_rows::LONGEST;
use adl_ir::{Op, Var};
use cranelift_codegen::ir::{InstBuilder, Value, types};

/// The stage of the iteration that evaluates them.
const HOISTING: usize = usize::MAX;

impl Kernel<'_, '_, '_, '_> {
    /// Evaluates the functions.
    pub(super) fn hoist(&mut self) {
        if self.k.p.rows.hoisted.is_empty() {
            return;
        }
        (self.stage, self.side, self.at) = (HOISTING, 0, self.e.int(0));
        self.index = self.given[1];
        self.iteration();
    }

    /// The value of a function.
    pub(super) fn function_or_hoisted(&mut self, out: Var, op: &Op) -> LaneValue {
        let Some(k) = self.k.p.rows.hoisted.iter().position(|(v, _)| *v == out) else {
            return self.called(out).unwrap_or_else(|| self.function(op));
        };
        let place = self.hoisted_place(k);
        if self.stage != HOISTING {
            return LaneValue::One(self.e.b.ins().load(types::F64, LOOSE, place, 0));
        }
        let x = self.function(op);
        self.store(&x, place);
        x
    }

    /// The offset of their values in scratch memory, in Floats.
    pub(super) fn scratch_hoisted(&self) -> i64 {
        of_totals(self.k.totals) + STRIP * self.k.stages.buffers as i64
    }

    fn hoisted_place(&mut self, k: usize) -> Value {
        let inner = self.k.p.rows.hoisted[k].1;
        let first = self.scratch_hoisted() + LONGEST * k as i64;
        let bytes = self.e.b.ins().ishl_imm_s(self.inner[inner], 3);
        let place = self.e.b.ins().iadd(self.given[3], bytes);
        self.e.b.ins().iadd_imm_s(place, 8 * first)
    }
}

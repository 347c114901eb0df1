//! Outputs of a kernel, and rows that are added to accumulated arrays.

use super::super::plan::{Output, VarClass};
use super::super::rows::RowLoop;
use super::{Kernel, LOOSE, LaneValue};
use adl_ir::Var;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use smallvec::SmallVec;

impl Kernel<'_, '_, '_, '_> {
    /// Stores an output of the iterations. `word`: the parameter word of its address.
    pub(super) fn output(&mut self, out: usize, word: usize, result: Var) {
        let k = self.k;
        let first = self.words[&word];
        match &k.p.outs[out] {
            Output::Number => {
                let x = self.float(result);
                let bytes = self.e.b.ins().ishl_imm_s(self.index, 3);
                let at = self.e.b.ins().iadd(first, bytes);
                self.store(&x, at);
            }
            Output::Bool => {
                let x = self.float(result);
                let at = self.e.b.ins().iadd(first, self.index);
                for (lane, x) in (0_i32..).zip(self.lanes(&x)) {
                    let bit = self.bit(x);
                    self.e.b.ins().store(LOOSE, bit, at, lane);
                }
            }
            Output::Int => {
                let bytes = self.e.b.ins().ishl_imm_s(self.index, 3);
                let at = self.e.b.ins().iadd(first, bytes);
                for (lane, x) in (0_i32..).zip(self.ints(result)) {
                    self.e.b.ins().store(LOOSE, x, at, 8 * lane);
                }
            }
            Output::Row(row) => self.output_row(row, first),
        }
    }

    /// A Bool of a lane as a byte.
    fn bit(&mut self, x: Value) -> Value {
        if self.e.b.func.dfg.value_type(x) == types::I8 {
            return x;
        }
        let byte = self.e.b.ins().ireduce(types::I8, x);
        self.e.b.ins().band_imm_s(byte, 1)
    }

    /// An Int of each iteration.
    fn ints(&mut self, v: Var) -> SmallVec<[Value; 8]> {
        let Some(VarClass::Int(n)) = self.k.p.classes.get(&v) else {
            let x = self.float(v);
            let lanes = self.lanes(&x);
            return lanes.iter().map(|x| self.e.b.ins().fcvt_to_sint_sat(types::I64, *x)).collect();
        };
        let (mut x, s) = self.int(*n);
        let step = self.step(s);
        let mut all = SmallVec::new();
        for _ in 0..self.iterations().max(1) {
            all.push(x);
            x = self.e.b.ins().iadd(x, step);
        }
        all
    }

    /// Stores a row of each iteration, one behind the other.
    fn output_row(&mut self, row: &RowLoop, first: Value) {
        let (length, _) = self.int(self.k.p.inner[row.inner].trip);
        let row_bytes = self.e.b.ins().ishl_imm_s(length, 3);
        let bytes = self.e.b.ins().imul(self.index, row_bytes);
        let mut start = self.e.b.ins().iadd(first, bytes);
        let mut starts = vec![start];
        for _ in 1..self.iterations() {
            start = self.e.b.ins().iadd(start, row_bytes);
            starts.push(start);
        }
        self.over_row(row, &mut |k, at, x| {
            let bytes = k.e.b.ins().ishl_imm_s(at, 3);
            let numbers = k.lanes(&x);
            for (start, x) in starts.iter().zip(numbers) {
                let place = k.e.b.ins().iadd(*start, bytes);
                k.e.b.ins().store(LOOSE, x, place, 0);
            }
        });
    }

    /// Adds a row of each iteration to an accumulated array.
    pub(super) fn accumulate_row(&mut self, out: Var) {
        let k = self.k;
        let (Some(row), Some(VarClass::Sum(sum))) = (k.p.rows.accumulated.get(&out), k.p.classes.get(&out)) else {
            return;
        };
        let first = self.words[&k.w.sums[*sum]];
        self.over_row(row, &mut |k, at, x: LaneValue| {
            let bytes = k.e.b.ins().ishl_imm_s(at, 3);
            let place = k.e.b.ins().iadd(first, bytes);
            k.combine(place, &x, &mut |e, old, x| e.b.ins().fadd(old, x));
        });
    }
}

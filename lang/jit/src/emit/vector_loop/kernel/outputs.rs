//! Outputs of a kernel, and rows that are added to accumulated arrays.

use super::super::iteration_rows::RowLoop;
use super::super::plan::{IterationOutput, VarClass};
use super::{Kernel, LOOSE, LaneValue};
use adl_ir::{Loop, Var};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use smallvec::SmallVec;

impl Kernel<'_, '_, '_, '_> {
    /// Stores an output of the iterations. `word`: the parameter word of its address.
    pub(super) fn output(&mut self, out: usize, word: usize, result: Var) {
        let k = self.k;
        let first = self.words[&word];
        match &k.p.outs[out] {
            IterationOutput::Number => {
                let x = self.float(result);
                let bytes = self.e.b.ins().ishl_imm_s(self.index, 3);
                let at = self.e.b.ins().iadd(first, bytes);
                self.store(&x, at);
            }
            IterationOutput::Bool => {
                let x = self.float(result);
                let at = self.e.b.ins().iadd(first, self.index);
                for (lane, x) in (0_i32..).zip(self.lanes(&x)) {
                    let bit = self.bit(x);
                    self.e.b.ins().store(LOOSE, bit, at, lane);
                }
            }
            IterationOutput::Int => {
                let bytes = self.e.b.ins().ishl_imm_s(self.index, 3);
                let at = self.e.b.ins().iadd(first, bytes);
                for (lane, x) in (0_i32..).zip(self.ints(result)) {
                    self.e.b.ins().store(LOOSE, x, at, 8 * lane);
                }
            }
            IterationOutput::Row(row) => self.output_row(row, first),
            IterationOutput::Table(_) => {}
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
        let job = self.k;
        let (Some((row, at)), Some(VarClass::Sum(sum))) = (job.p.rows.accumulated.get(&out), job.p.classes.get(&out))
        else {
            return;
        };
        let first = self.words[&job.w.sums[*sum]];
        if let Some(at) = at {
            return self.accumulate_at(row, *at, job.w.sums[*sum]);
        }
        self.over_row(row, &mut |k, at, x: LaneValue| {
            let bytes = k.e.b.ins().ishl_imm_s(at, 3);
            let place = k.e.b.ins().iadd(first, bytes);
            k.combine(place, &x, &mut |e, old, x| e.b.ins().fadd(old, x));
        });
    }

    /// Adds a row of each iteration to the row of a matrix at an index, which may differ from iteration to iteration.
    fn accumulate_at(&mut self, row: &RowLoop, at: Var, word: usize) {
        let first = self.words[&word];
        let bytes = self.e.b.ins().ishl_imm_s(self.words[&(word + 2)], 3);
        let mut starts: SmallVec<[Value; 8]> = SmallVec::new();
        for index in self.ints(at) {
            let before = self.e.b.ins().imul(index, bytes);
            starts.push(self.e.b.ins().iadd(first, before));
        }
        if self.k.falls && self.side > 0 {
            starts.reverse();
        }
        self.over_row(row, &mut |k, column, x| {
            let bytes = k.e.b.ins().ishl_imm_s(column, 3);
            for (start, x) in starts.iter().zip(k.in_order(&x)) {
                let place = k.e.b.ins().iadd(*start, bytes);
                let old = k.e.b.ins().load(types::F64, LOOSE, place, 0);
                let new = k.e.b.ins().fadd(old, x);
                k.e.b.ins().store(LOOSE, new, place, 0);
            }
        });
    }

    /// Whether an inner loop collects or carries rows.
    pub(super) fn makes_rows(&self, inner: usize) -> bool {
        let rows = &self.k.p.rows;
        rows.tables.iter().any(|t| t.inner == inner) || rows.carried.iter().any(|c| c.inner == inner)
    }

    /// Stores the rows of an iteration of an inner loop, and adds them to accumulated arrays.
    pub(super) fn store_tables(&mut self, inner: usize, ir_loop: &Loop) {
        let job = self.k;
        // The iteration that evaluates hoisted functions has no other effect.
        if !self.is_last() {
            return;
        }
        for (t, table) in job.p.rows.tables.iter().enumerate().filter(|(_, t)| t.inner == inner) {
            let node = self.node(ir_loop.body.params[0]);
            let [(at, _), (rows, _), (length, _)] =
                [node, job.p.inner[inner].trip, job.p.inner[table.row.inner].trip].map(|n| self.int(n));
            let of = |out: &&(usize, usize)| matches!(job.p.outs[out.0], IterationOutput::Table(of) if of == t);
            let mut starts: SmallVec<[Value; 8]> = SmallVec::new();
            let bytes = self.e.b.ins().ishl_imm_s(length, 3);
            let before = self.e.b.ins().imul(at, bytes);
            for (_, word) in job.stored.iter().filter(of) {
                let all = self.e.b.ins().imul(rows, bytes);
                let iterations = self.e.b.ins().imul(self.index, all);
                let mut start = self.e.b.ins().iadd(self.words[word], iterations);
                start = self.e.b.ins().iadd(start, before);
                for _ in 0..self.iterations().max(1) {
                    starts.push(start);
                    start = self.e.b.ins().iadd(start, all);
                }
            }
            let sum = table.to.map(|sum| self.e.b.ins().iadd(self.words[&job.w.sums[sum]], before));
            if starts.is_empty() && sum.is_none() {
                continue;
            }
            self.over_row(&table.row, &mut |k, column, x| {
                let bytes = k.e.b.ins().ishl_imm_s(column, 3);
                let numbers = k.lanes(&x);
                for (start, x) in starts.iter().zip(numbers.iter().cycle()) {
                    let place = k.e.b.ins().iadd(*start, bytes);
                    k.e.b.ins().store(LOOSE, *x, place, 0);
                }
                if let Some(sum) = sum {
                    let place = k.e.b.ins().iadd(sum, bytes);
                    k.combine(place, &x, &mut |e, old, x| e.b.ins().fadd(old, x));
                }
            });
        }
    }
}

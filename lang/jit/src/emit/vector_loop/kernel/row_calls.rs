//! Functions that are called on whole rows ([`super::super::row_calls`]).

use super::{Kernel, LaneValue};
use adl_ir::{Loop, Var};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use smallvec::SmallVec;

impl Kernel<'_, '_, '_, '_> {
    /// Stores the arguments of an inner loop's functions for all `n` iterations, and calls the functions.
    pub(super) fn row_calls(&mut self, inner: usize, ir_loop: &Loop, count: Value) {
        let k = self.k;
        let Some(calls) = k.p.rows.calls.get(&inner) else { return };
        self.only = Some(&calls.needed);
        let zero = self.e.int(0);
        let (header, vals) = self.e.header(&[zero]);
        let (body, exit) = (self.e.fresh(), self.e.fresh());
        let more = self.e.b.ins().icmp(IntCC::SignedLessThan, vals[0], count);
        self.e.stays(more, body, exit, &[]);
        self.e.b.switch_to_block(body);
        self.inner[inner] = vals[0];
        self.elements(&ir_loop.body.params);
        self.block(&ir_loop.body);
        for call in &calls.calls {
            for (arg, row) in call.args.iter().zip(&call.rows) {
                let (x, place) = (self.float(*arg), self.in_row(*row, vals[0]));
                self.store(&x, place);
            }
        }
        let next = self.e.b.ins().iadd_imm_s(vals[0], 1);
        self.e.goto(header, &[next]);
        self.e.b.switch_to_block(exit);
        self.only = None;
        let lanes = (self.iterations() as i64).max(1);
        let numbers = self.e.b.ins().imul_imm_s(count, lanes);
        for call in &calls.calls {
            let places: SmallVec<[Value; 2]> = call.rows.iter().map(|row| self.rows[*row]).collect();
            self.apply(call.fun, &places, numbers);
        }
    }

    /// The result of a function that has been called on a row.
    pub(super) fn called(&mut self, out: Var) -> Option<LaneValue> {
        let (inner, row) = *self.k.p.rows.called.get(&out)?;
        let place = self.in_row(row, self.inner[inner]);
        Some(self.beside(place))
    }
}

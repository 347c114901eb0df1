//! Rows in scratch memory, their elements and extrema.

use super::super::rows::{Element, Extremum};
use super::{Kernel, LOOSE, LaneValue, STRIP, of_totals};
use crate::limits::emit_vector_loop_rows::LONGEST;
use adl_ir::{Loop, Var};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value, types};
use smallvec::SmallVec;

impl Kernel<'_, '_, '_, '_> {
    /// The offset of rows in scratch memory, in Floats.
    pub(super) fn scratch_rows(&self) -> i64 {
        of_totals(self.k.totals) + STRIP * self.k.stages.buffers as i64
    }

    /// The address of an element of a stored row, for all iterations of a vector step.
    fn in_row(&mut self, row: usize, at: Value) -> Value {
        let first = self.scratch_rows() + LONGEST * 2 * (self.k.side * row) as i64;
        let width = self.width();
        let bytes = self.e.b.ins().imul_imm_s(at, width);
        let place = self.e.b.ins().iadd(self.given[3], bytes);
        self.e.b.ins().iadd_imm_s(place, 8 * first)
    }

    /// Loads an element of a row for each iteration.
    pub(super) fn row_element(&mut self, element: &Element) -> LaneValue {
        match element {
            Element::Row(k, at) => {
                let (at, _) = self.int(*at);
                let place = self.in_row(*k, at);
                self.beside(place)
            }
            Element::Array(a, at) => self.load(*a, at),
        }
    }

    /// Whether an inner loop collects rows that are stored.
    pub(super) fn stores_rows(&self, inner: usize) -> bool {
        self.k.p.rows.stored.iter().any(|(_, i)| *i == inner)
    }

    /// Stores the elements that an iteration of an inner loop gives to rows.
    pub(super) fn store_rows(&mut self, inner: usize, outs: &[Var], ir_loop: &Loop) {
        let k = self.k;
        for (row, (v, _)) in k.p.rows.stored.iter().enumerate().filter(|(_, (_, i))| *i == inner) {
            let Some(out) = outs.iter().position(|o| o == v) else { continue };
            let x = self.float(ir_loop.body.results[out]);
            let node = self.node(ir_loop.body.params[0]);
            let (at, _) = self.int(node);
            let place = self.in_row(row, at);
            self.store(&x, place);
        }
    }

    /// The numbers of the iterations as scalars, in the order of the lanes.
    fn lanes(&mut self, x: &LaneValue) -> SmallVec<[Value; 8]> {
        match x {
            LaneValue::One(x) if self.side == 0 => SmallVec::from_elem(*x, 1),
            x => {
                let all = self.many(x);
                all.iter().flat_map(|v| [0, 1].map(|l| self.e.b.ins().extractlane(*v, l))).collect()
            }
        }
    }

    /// An extremum, its position, or the element at a position.
    pub(super) fn found_in_row(&mut self, out: Var) -> LaneValue {
        let rows = &self.k.p.rows;
        match (rows.extrema.get(&out), rows.chosen.get(&out)) {
            (Some(x), _) => self.extremum(x),
            (_, Some((first, position))) => self.chosen(first, *position),
            _ => LaneValue::One(self.e.b.ins().f64const(0.0)),
        }
    }

    /// Loads the element at a position that differs from iteration to iteration. `first`: the row's first element.
    fn chosen(&mut self, first: &Element, position: Var) -> LaneValue {
        let position = self.float(position);
        let positions = self.lanes(&position);
        let zero = self.e.int(0);
        let (starts, width) = match first {
            Element::Row(k, _) => {
                let start = self.in_row(*k, zero);
                let starts = (0..positions.len() as i64).map(|l| self.e.b.ins().iadd_imm_s(start, 8 * l)).collect();
                (starts, self.width())
            }
            Element::Array(a, at) => {
                let (start, step) = self.place(self.k.w.arrays[*a], at);
                (if self.side == 0 { vec![start] } else { self.places(start, step) }, 8)
            }
        };
        let numbers: SmallVec<[Value; 8]> = positions
            .iter()
            .zip(starts)
            .map(|(at, start)| {
                let at = self.e.b.ins().fcvt_to_sint_sat(types::I64, *at);
                let bytes = self.e.b.ins().imul_imm_s(at, width);
                let place = self.e.b.ins().iadd(start, bytes);
                self.e.b.ins().load(types::F64, LOOSE, place, 0)
            })
            .collect();
        if self.side == 0 {
            return LaneValue::One(numbers[0]);
        }
        let pair = |k: &mut Self, x: &[Value]| {
            let low = k.e.b.ins().scalar_to_vector(types::F64X2, x[0]);
            k.e.b.ins().insertlane(low, x[1], 1)
        };
        LaneValue::Many(numbers.chunks(2).map(|x| pair(self, x)).collect())
    }

    /// An extremum of a row, or its position: the first of several; a NaN is more extreme than any number.
    fn extremum(&mut self, x: &Extremum) -> LaneValue {
        let (n, _) = self.int(self.k.p.inner[x.inner].trip);
        let (zero, one) = (self.e.int(0), self.e.int(1));
        let registers = self.registers();
        self.inner[x.inner] = zero;
        let best = self.row_element(&x.element);
        let start = LaneValue::One(self.e.b.ins().f64const(0.0));
        let mut first = vec![one];
        first.extend(self.registers_of(&best));
        first.extend(self.registers_of(&start));
        let (header, vals) = self.e.header(&first);
        let (body, exit) = (self.e.fresh(), self.e.fresh());
        let more = self.e.b.ins().icmp(IntCC::SignedLessThan, vals[0], n);
        self.e.stays(more, body, exit, &[]);
        self.e.b.switch_to_block(body);
        self.inner[x.inner] = vals[0];
        let (best, at) = (self.of_registers(&vals[1..=registers]), self.of_registers(&vals[1 + registers..]));
        let (number, index) = (self.row_element(&x.element), self.e.b.ins().fcvt_from_sint(types::F64, vals[0]));
        let better = self.better(x.least, &number, &best);
        let (best, at) = (self.choose(&better, &number, &best), self.choose(&better, &LaneValue::One(index), &at));
        let mut next = vec![self.e.b.ins().iadd_imm_s(vals[0], 1)];
        next.extend(self.registers_of(&best));
        next.extend(self.registers_of(&at));
        let next: Vec<BlockArg> = next.into_iter().map(BlockArg::Value).collect();
        self.e.b.ins().jump(header, &next);
        self.e.b.switch_to_block(exit);
        let (best, at) = vals[1..].split_at(registers);
        self.of_registers(if x.position { at } else { best })
    }

    /// Whether a number is more extreme than the best before it.
    fn better(&mut self, least: bool, x: &LaneValue, best: &LaneValue) -> LaneValue {
        let code = if least { FloatCC::LessThan } else { FloatCC::GreaterThan };
        self.each(&[x, best], &mut |k, v| {
            let beyond = k.e.b.ins().fcmp(code, v[0], v[1]);
            let nan = k.e.b.ins().fcmp(FloatCC::NotEqual, v[0], v[0]);
            let number = k.e.b.ins().fcmp(FloatCC::Equal, v[1], v[1]);
            let beyond = k.e.b.ins().bor(beyond, nan);
            k.e.b.ins().band(beyond, number)
        })
    }
}

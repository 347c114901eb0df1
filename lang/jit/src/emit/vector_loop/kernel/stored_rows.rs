//! Rows in scratch memory, their elements and extrema.

use super::super::iteration_rows::{Element, Extremum, RowLoop};
use super::super::plan::{Node, VarClass};
use super::{Kernel, LOOSE, LaneValue, Stride};
use crate::limits::emit_vector_loop_rows::LONGEST;
use adl_ir::{Loop, Var};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value, types};
use smallvec::SmallVec;

impl Kernel<'_, '_, '_, '_> {
    /// Computes the addresses of the stored rows. They lie side by side, because rows that are a power of two apart
    /// would fall into the same sets of the cache.
    pub(super) fn place_rows(&mut self) {
        let first = self.scratch_hoisted() + LONGEST * self.k.p.rows.hoisted.len() as i64;
        let mut place = self.e.b.ins().iadd_imm_s(self.given[3], 8 * first);
        for length in &self.k.p.rows.stored {
            self.rows.push(place);
            let (n, _) = self.int(*length);
            let bytes = self.e.b.ins().imul_imm_s(n, 8 * self.k.vectors.iterations());
            place = self.e.b.ins().iadd(place, bytes);
        }
    }

    /// The address of an element of a stored row, for all iterations of a vector step.
    pub(super) fn in_row(&mut self, row: usize, at: Value) -> Value {
        let width = self.width();
        let bytes = self.e.b.ins().imul_imm_s(at, width);
        self.e.b.ins().iadd(self.rows[row], bytes)
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
            Element::At(a, position, at) => self.at_row(*a, *position, *at),
            Element::Either(c, arms) => {
                let [x, y] = arms.each_ref().map(|x| self.row_element(x));
                let c = self.float(*c);
                self.choose(&c, &x, &y)
            }
            Element::Zero => LaneValue::One(self.e.b.ins().f64const(0.0)),
        }
    }

    /// Whether an inner loop collects rows that are stored.
    pub(super) fn stores_rows(&self, inner: usize) -> bool {
        self.k.p.rows.collected.iter().any(|(_, i, _)| *i == inner)
    }

    /// Stores the elements that an iteration of an inner loop gives to rows.
    pub(super) fn store_rows(&mut self, inner: usize, outs: &[Var], ir_loop: &Loop) {
        let k = self.k;
        for (v, _, row) in k.p.rows.collected.iter().filter(|(_, i, _)| *i == inner) {
            let Some(out) = outs.iter().position(|o| o == v) else { continue };
            let x = self.float(ir_loop.body.results[out]);
            let node = self.node(ir_loop.body.params[0]);
            let (at, _) = self.int(node);
            let place = self.in_row(*row, at);
            self.store(&x, place);
        }
    }

    /// The numbers that an inner loop carries, by index.
    pub(super) fn carried_numbers(&self, ir_loop: &Loop) -> SmallVec<[usize; 4]> {
        let is_row = |v: &Var| matches!(self.k.p.classes.get(v), Some(VarClass::Row(_)));
        (0..ir_loop.init.len()).filter(|k| !is_row(&ir_loop.body.params[1 + k])).collect()
    }

    /// Stores the rows that an inner loop carries, before the first iteration.
    pub(super) fn start_rows(&mut self, inner: usize) {
        let k = self.k;
        for carried in k.p.rows.carried.iter().filter(|c| c.inner == inner) {
            self.copy_row(&carried.start, carried.row);
        }
    }

    /// Stores the rows that an iteration of an inner loop hands to the next one.
    pub(super) fn next_rows(&mut self, inner: usize) {
        let k = self.k;
        for carried in k.p.rows.carried.iter().filter(|c| c.inner == inner) {
            if let Some(next) = &carried.next {
                self.copy_row(next, carried.row);
            }
        }
    }

    fn copy_row(&mut self, from: &RowLoop, to: usize) {
        self.over_row(from, &mut |k, at, x| {
            let place = k.in_row(to, at);
            k.store(&x, place);
        });
    }

    /// The numbers of the iterations as scalars, in the order of the lanes.
    pub(super) fn lanes(&mut self, x: &LaneValue) -> SmallVec<[Value; 8]> {
        match x {
            LaneValue::One(x) if self.side == 0 => SmallVec::from_elem(*x, 1),
            x => {
                let all = self.many(x);
                self.lanes_of(&all)
            }
        }
    }

    /// The sum of a row that has been stored.
    pub(super) fn row_sum(&mut self, of: &RowLoop) -> LaneValue {
        let (n, _) = self.int(self.k.p.inner[of.inner].trip);
        let sums = self.start_sums(1, n);
        let zero = self.e.b.ins().f64const(0.0);
        let mut first = vec![self.e.int(0)];
        first.extend(self.registers_of(&LaneValue::One(zero)));
        let (header, vals) = self.e.header(&first);
        let (body, exit) = (self.e.fresh(), self.e.fresh());
        let more = self.e.b.ins().icmp(IntCC::SignedLessThan, vals[0], n);
        self.e.stays(more, body, exit, &[]);
        self.e.b.switch_to_block(body);
        self.inner[of.inner] = vals[0];
        let term = self.row_element(&of.element);
        let after = self.add_terms(&sums, vals[0], &[term], &vals[1..]);
        let next = self.e.b.ins().iadd_imm_s(vals[0], 1);
        self.e.goto(header, &[&[next], &after[..]].concat());
        self.e.b.switch_to_block(exit);
        let total = self.end_sums(&sums, &vals[1..]);
        self.of_registers(&total)
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
        let at: SmallVec<[Value; 8]> =
            positions.iter().map(|x| self.e.b.ins().fcvt_to_sint_sat(types::I64, *x)).collect();
        self.at_positions(first, &at)
    }

    /// Loads an element of the row of a matrix at a position that differs from iteration to iteration.
    fn at_row(&mut self, a: usize, position: Var, at: Node) -> LaneValue {
        let word = self.k.w.arrays[a];
        let ((at, _), position) = (self.int(at), self.float(position));
        let bytes = self.e.b.ins().ishl_imm_s(at, 3);
        let start = self.e.b.ins().iadd(self.words[&word], bytes);
        let row = self.e.b.ins().ishl_imm_s(self.words[&(word + 2)], 3);
        let numbers: SmallVec<[Value; 8]> = self
            .lanes(&position)
            .into_iter()
            .map(|position| {
                let position = self.e.b.ins().fcvt_to_sint_sat(types::I64, position);
                let bytes = self.e.b.ins().imul(position, row);
                let place = self.e.b.ins().iadd(start, bytes);
                self.e.b.ins().load(types::F64, LOOSE, place, 0)
            })
            .collect();
        self.of_lanes(&numbers)
    }

    /// Loads the elements at these positions.
    fn at_positions(&mut self, first: &Element, at: &[Value]) -> LaneValue {
        let zero = self.e.int(0);
        let places = match first {
            Element::Row(k, _) => {
                let start = self.in_row(*k, zero);
                self.lane_places(start, at)
            }
            Element::Array(a, first) => {
                let (start, step) = self.place(self.k.w.arrays[*a], first);
                let starts = if self.side == 0 { vec![start] } else { self.places(start, step) };
                let bytes = at.iter().map(|at| self.e.b.ins().ishl_imm_s(*at, 3)).collect::<Vec<Value>>();
                starts.iter().zip(bytes).map(|(start, bytes)| self.e.b.ins().iadd(*start, bytes)).collect()
            }
            Element::Either(c, arms) => {
                let [x, y] = arms.each_ref().map(|x| self.at_positions(x, at));
                let c = self.float(*c);
                return self.choose(&c, &x, &y);
            }
            // A position within a row at a position is none of the cases.
            Element::Zero | Element::At(..) => return LaneValue::One(self.e.b.ins().f64const(0.0)),
        };
        let numbers: SmallVec<[Value; 8]> =
            places.iter().map(|at| self.e.b.ins().load(types::F64, LOOSE, *at, 0)).collect();
        self.of_lanes(&numbers)
    }

    /// The addresses of the elements of a stored row at positions, one in each lane.
    fn lane_places(&mut self, row: Value, at: &[Value]) -> SmallVec<[Value; 8]> {
        let width = self.width();
        (0_i64..)
            .zip(at)
            .map(|(lane, at)| {
                let bytes = self.e.b.ins().imul_imm_s(*at, width);
                let place = self.e.b.ins().iadd(row, bytes);
                self.e.b.ins().iadd_imm_s(place, 8 * lane)
            })
            .collect()
    }

    /// Emits a loop over the elements of a row.
    pub(super) fn over_row(&mut self, of: &RowLoop, f: &mut dyn FnMut(&mut Self, Value, LaneValue)) {
        let (n, _) = self.int(self.k.p.inner[of.inner].trip);
        let zero = self.e.int(0);
        let (header, vals) = self.e.header(&[zero]);
        let (body, exit) = (self.e.fresh(), self.e.fresh());
        let more = self.e.b.ins().icmp(IntCC::SignedLessThan, vals[0], n);
        self.e.stays(more, body, exit, &[]);
        self.e.b.switch_to_block(body);
        self.inner[of.inner] = vals[0];
        let x = self.row_element(&of.element);
        f(self, vals[0], x);
        let next = self.e.b.ins().iadd_imm_s(vals[0], 1);
        self.e.goto(header, &[next]);
        self.e.b.switch_to_block(exit);
    }

    /// Stores the elements of a row that an array literal lists.
    pub(super) fn list_row(&mut self, out: Var, elems: &[Var]) {
        let Some(row) = self.k.p.rows.listed.get(&out).copied() else { return };
        for (at, v) in (0..).zip(elems) {
            let x = self.float(*v);
            let at = self.e.int(at);
            let place = self.in_row(row, at);
            self.store(&x, place);
        }
    }

    /// Adds a number to a row at an index or position.
    pub(super) fn row_add(&mut self, out: Var) {
        let job = self.k;
        let Some(add) = job.p.rows.added.get(&out) else { return };
        if let Some(copied) = &add.copied {
            self.copy_row(copied, add.row);
        }
        let number = self.float(add.number);
        let same = match job.p.classes.get(&add.at) {
            Some(VarClass::Int(n)) => Some(self.int(*n)).filter(|(_, s)| matches!(s, Stride::Known(0))),
            _ => None,
        };
        if let Some((at, _)) = same {
            let place = self.in_row(add.row, at);
            let old = self.beside(place);
            let new = self.each(&[&old, &number], &mut |k, x| k.e.b.ins().fadd(x[0], x[1]));
            return self.store(&new, place);
        }
        let position = self.number_of(add.at);
        let positions = self.lanes(&position);
        let at: SmallVec<[Value; 8]> =
            positions.iter().map(|x| self.e.b.ins().fcvt_to_sint_sat(types::I64, *x)).collect();
        let zero = self.e.int(0);
        let start = self.in_row(add.row, zero);
        let (places, numbers) = (self.lane_places(start, &at), self.lanes(&number));
        for (place, x) in places.into_iter().zip(numbers) {
            let old = self.e.b.ins().load(types::F64, LOOSE, place, 0);
            let new = self.e.b.ins().fadd(old, x);
            self.e.b.ins().store(LOOSE, new, place, 0);
        }
    }

    /// An extremum of a row, or its position: the first of several; a NaN is more extreme than any number.
    fn extremum(&mut self, extreme: &Extremum) -> LaneValue {
        let (count, _) = self.int(self.k.p.inner[extreme.inner].trip);
        let (zero, one) = (self.e.int(0), self.e.int(1));
        let registers = self.registers();
        self.inner[extreme.inner] = zero;
        let best = self.row_element(&extreme.element);
        let start = LaneValue::One(self.e.b.ins().f64const(0.0));
        let mut first = vec![one];
        first.extend(self.registers_of(&best));
        first.extend(self.registers_of(&start));
        let (header, vals) = self.e.header(&first);
        let (body, exit) = (self.e.fresh(), self.e.fresh());
        let more = self.e.b.ins().icmp(IntCC::SignedLessThan, vals[0], count);
        self.e.stays(more, body, exit, &[]);
        self.e.b.switch_to_block(body);
        self.inner[extreme.inner] = vals[0];
        let (best, at) = (self.of_registers(&vals[1..=registers]), self.of_registers(&vals[1 + registers..]));
        let (number, index) = (self.row_element(&extreme.element), self.e.b.ins().fcvt_from_sint(types::F64, vals[0]));
        let better = self.better(extreme.least, &number, &best);
        let (best, at) = (self.choose(&better, &number, &best), self.choose(&better, &LaneValue::One(index), &at));
        let mut next = vec![self.e.b.ins().iadd_imm_s(vals[0], 1)];
        next.extend(self.registers_of(&best));
        next.extend(self.registers_of(&at));
        let next: Vec<BlockArg> = next.into_iter().map(BlockArg::Value).collect();
        self.e.b.ins().jump(header, &next);
        self.e.b.switch_to_block(exit);
        let (best, at) = vals[1..].split_at(registers);
        self.of_registers(if extreme.position { at } else { best })
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

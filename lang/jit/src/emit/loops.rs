//! Sequential loops.

use super::control::BELOW;
use super::ordered_sum::OrderedSum;
use super::rows_in_place::{RowBuffer, RowSlot};
use super::{EmissionScope, Emit, inner, is_ref};
use crate::handle::ValueForm;
use crate::output_buffer;
use crate::runtime::WordKind;
use crate::shims;
use adl_interp::ir::eval_op::LoweredOp;
use adl_interp::ir::live::NEVER;
use adl_interp::ir::lower::zero_of;
use adl_ir::{Loop, Op, Out, Stmt, Trip, Ty, Var};
use cranelift_codegen::ir::{self, InstBuilder, Value, types};
use std::collections::HashSet;

/// An output of a loop: an output buffer, or the index of a sum among the header's parameters.
enum LoopOutput {
    Buffer(Value, WordKind),
    /// A buffer with room for all elements, which are scalars; and its address.
    Reserved(Value, WordKind, Value),
    Sum(usize),
    /// A sum in the order of sums of arrays, and the index of the sum of its last terms.
    OrderedSum(OrderedSum, usize),
    /// A buffer for the rows of an inner loop.
    Rows(RowBuffer),
    /// The row of an enclosing loop.
    RowSlot(RowSlot),
}

/// Whether outputs are written to their final positions, so that a reversed loop fills its buffer from the end.
fn placed(l: &Loop, kind: WordKind) -> bool {
    matches!(l.trip, Trip::Count(_)) && !matches!(kind, WordKind::Ref(_) | WordKind::Data(_))
}

/// The state of a loop that is being emitted.
struct LoopState {
    header: ir::Block,
    counter: Value,
    carry: Vec<Value>,
    sums: Vec<Value>,
    made: Vec<(Var, LoopOutput)>,
}

impl Emit<'_, '_, '_> {
    pub(super) fn loop_(&mut self, stmt: &Stmt, ir_loop: &Loop, at: u32, sc: &EmissionScope) {
        let dying = self.dying_inside(at, sc);
        let inits: Vec<Var> = ir_loop.init.iter().chain(&ir_loop.lin_init).copied().collect();
        let kept: HashSet<Var> = ir_loop
            .xs
            .iter()
            .chain(&ir_loop.lin_xs)
            .copied()
            .chain(inner(sc, at).iter().flat_map(|i| i.free.keys().copied()))
            .collect();
        let taken: Vec<Var> = inits
            .iter()
            .zip(self.takes(&inits, at, sc, &|v| kept.contains(&v)))
            .filter(|(_, t)| *t)
            .map(|(v, _)| *v)
            .collect();
        let given = self.owned(&inits, at, sc, &|v| kept.contains(&v));
        let count = match &ir_loop.trip {
            Trip::Count(n) => Some(self.val(*n)),
            Trip::While(_) => None,
        };
        let loop_state = self.start(stmt, ir_loop, &given, count);
        let has_loops = ir_loop.body.stmts.iter().any(|s| matches!(s.op, Op::Loop(_)));
        let around = self.enter_loop(has_loops);
        let exit = self.fresh();
        let goes_on = self.again(ir_loop, &loop_state, count, at, sc);
        let body = self.fresh();
        self.stays(goes_on, body, exit, &[]);
        self.b.switch_to_block(body);
        self.iteration(ir_loop, &loop_state, count, at, sc);
        self.nest = around;
        self.b.switch_to_block(exit);
        self.end(stmt, ir_loop, &loop_state);
        let mut gone: Vec<Var> = inits
            .into_iter()
            .chain(kept)
            .filter(|v| !taken.contains(v) && (dying.contains(v) || self.dies(*v, at, sc)))
            .collect();
        gone.sort_unstable();
        gone.dedup();
        for v in gone.into_iter().filter(|v| is_ref(self.f.ty(*v))).collect::<Vec<_>>() {
            let x = self.val(v);
            self.let_go(v, x);
        }
    }

    /// Emits the loop header, whose parameters are the counter, the carried values and the sums.
    fn start(&mut self, s: &Stmt, ir_loop: &Loop, given: &[Value], count: Option<Value>) -> LoopState {
        let (k, m) = (ir_loop.init.len(), ir_loop.lin_init.len());
        let named: Vec<Var> =
            s.outs.iter().skip(k).take(ir_loop.outs.len()).chain(s.lin_outs.iter().skip(m)).copied().collect();
        let plain = ir_loop.outs.iter().zip(&ir_loop.body.results[k..]);
        let linear = ir_loop.lin_outs.iter().zip(&ir_loop.body.lin_results[m..]);
        let all: Vec<(Out, Var)> = plain.chain(linear).map(|(o, v)| (*o, *v)).collect();
        let (mut first, mut made) = (vec![self.int(0)], Vec::new());
        first.extend(given);
        let mut sums = 0;
        for ((out, v), name) in all.into_iter().zip(named) {
            let ty = self.ty(v).clone();
            made.push((
                v,
                if let Some(p) = self.held.places.remove(&name) {
                    LoopOutput::RowSlot(p)
                } else if let Some(rows) = self.rows_of(ir_loop, out, v, count) {
                    LoopOutput::Rows(rows)
                } else if let (Some(total), Some(n)) = (self.held.totals.remove(&name), count) {
                    first.push(self.zero(&ty));
                    sums += 1;
                    LoopOutput::OrderedSum(self.start_sum(name, total, n), sums - 1)
                } else if out == Out::Sum {
                    first.push(self.zero(&ty));
                    sums += 1;
                    LoopOutput::Sum(sums - 1)
                } else {
                    let boxed = out == Out::Boxed;
                    let around = self.held.collected.buffers.get(&name).copied();
                    let buffer = self.new_buffer_in(around, &ty, boxed, count);
                    match count {
                        Some(n) if ty.is_flat() && !boxed => {
                            LoopOutput::Reserved(buffer, WordKind::of(&ty), self.reserve(buffer, n))
                        }
                        _ if boxed => LoopOutput::Buffer(buffer, WordKind::Ref(ValueForm(0))),
                        _ => LoopOutput::Buffer(buffer, WordKind::of(&ty)),
                    }
                },
            ));
        }
        let (header, vals) = self.header(&first);
        let c = given.len();
        LoopState { header, counter: vals[0], carry: vals[1..=c].to_vec(), sums: vals[c + 1..].to_vec(), made }
    }

    /// Creates a block with parameters, and jumps to it with these values.
    pub(super) fn header(&mut self, first: &[Value]) -> (ir::Block, Vec<Value>) {
        let header = self.fresh();
        for v in first {
            let t = self.b.func.dfg.value_type(*v);
            self.b.append_block_param(header, t);
        }
        self.goto(header, first);
        self.b.switch_to_block(header);
        (header, self.b.block_params(header).to_vec())
    }

    pub(super) fn new_buffer(&mut self, ty: &Ty, boxed: bool, n: Option<Value>) -> Value {
        self.new_buffer_in(None, ty, boxed, n)
    }

    /// Allocates an output buffer; if possible, as a slot of the buffer `around`, to which it will be appended.
    fn new_buffer_in(&mut self, around: Option<Value>, ty: &Ty, boxed: bool, count: Option<Value>) -> Value {
        self.job.tables.buffers.push((ty.clone(), boxed));
        let id = self.int(self.job.tables.buffers.len() as i64 - 1);
        let n = match count {
            Some(n) => n,
            None => self.int(0),
        };
        let site = self.site();
        let site = self.int(i64::from(site));
        let h = match around {
            None => self.runtime(shims::new_buffer as *const u8, &[self.frame.ctx, id, n, site], 1),
            Some(all) => self.runtime(shims::new_part as *const u8, &[self.frame.ctx, id, n, site, all], 1),
        };
        let h = h.unwrap_or(id);
        let fail = self.frame.fail;
        self.unless(h, fail, &[]);
        h
    }

    /// The condition under which the loop continues.
    fn again(&mut self, l: &Loop, t: &LoopState, n: Option<Value>, at: u32, sc: &EmissionScope) -> Value {
        match (&l.trip, n) {
            (Trip::While(c), _) => {
                for (p, x) in c.params.iter().zip(&t.carry) {
                    self.held.pinned.insert(*p);
                    self.bind(*p, *x);
                }
                self.block(c, &EmissionScope { info: &inner(sc, at)[0], dying: &HashSet::new() });
                self.val(c.results[0])
            }
            (Trip::Count(_), Some(n)) => self.b.ins().icmp(BELOW, t.counter, n),
            (Trip::Count(_), None) => self.b.ins().iconst(types::I8, 0),
        }
    }

    /// Emits one iteration, and the jump back to the header.
    fn iteration(&mut self, ir_loop: &Loop, loop_state: &LoopState, count: Option<Value>, at: u32, sc: &EmissionScope) {
        let site = self.at;
        let infos = inner(sc, at);
        let nothing = HashSet::new();
        let sc = EmissionScope { info: &infos[infos.len() - 1], dying: &nothing };
        if let (1, Some(n)) = (self.nest.depth, count) {
            self.report(loop_state.counter, n);
        }
        let body = &ir_loop.body;
        let index = match (ir_loop.reverse, count) {
            (true, Some(n)) => {
                let last = self.b.ins().iadd_imm_s(n, -1);
                self.b.ins().isub(last, loop_state.counter)
            }
            _ => loop_state.counter,
        };
        if let Some(p) = body.params.first() {
            self.bind(*p, index);
        }
        let (plain, linear) = (ir_loop.init.len(), ir_loop.lin_init.len());
        let carried: Vec<Var> =
            body.params.iter().skip(1).take(plain).chain(body.lin_params.iter().take(linear)).copied().collect();
        for (p, x) in carried.iter().zip(&loop_state.carry) {
            self.bind(*p, *x);
        }
        for (row, made) in &loop_state.made {
            if let LoopOutput::Rows(rows) = made {
                self.place_row(*row, rows, loop_state.counter);
            }
        }
        let elems: Vec<(Var, Var)> = body
            .params
            .iter()
            .skip(1 + plain)
            .chain(body.lin_params.iter().skip(linear))
            .copied()
            .zip(ir_loop.xs.iter().chain(&ir_loop.lin_xs).copied())
            .collect();
        self.elements(&elems, index);
        carried.iter().for_each(|p| self.drop_unread(*p));
        let buffers = loop_state
            .made
            .iter()
            .filter_map(|(v, m)| if let LoopOutput::Buffer(h, _) = m { Some((*v, *h)) } else { None });
        self.collect_rows(body, buffers);
        self.block(body, &sc);
        self.at = site;
        self.end_iteration(ir_loop, loop_state, index, &sc);
    }

    /// Binds the elements of the arrays that this iteration reads.
    pub(super) fn elements(&mut self, pairs: &[(Var, Var)], index: Value) {
        for (p, a) in pairs {
            if self.last[p.0 as usize] != NEVER && !self.bind_row(*p, *a, index) {
                let x = self.read(*a, index, *p);
                self.bind(*p, x);
            }
        }
    }

    /// Reads an element of an array, which becomes the value of `p`.
    fn read(&mut self, a: Var, index: Value, p: Var) -> Value {
        if !is_ref(self.ty(p))
            && let Some(x) = self.element_of(a, index, |e| e.row(a, index, p))
        {
            return x;
        }
        self.row(a, index, p)
    }

    /// Stores the outputs, adds up the sums, and jumps back to the header with the carried values.
    fn end_iteration(&mut self, ir_loop: &Loop, loop_state: &LoopState, index: Value, sc: &EmissionScope) {
        let block = &ir_loop.body;
        let end = block.stmts.len() as u32;
        let (k, m) = (ir_loop.init.len(), ir_loop.lin_init.len());
        let carried: Vec<Var> = block.results[..k].iter().chain(&block.lin_results[..m]).copied().collect();
        let mut sums = loop_state.sums.clone();
        for (var, made) in &loop_state.made {
            let value = self.val(*var);
            match made {
                LoopOutput::Buffer(h, kind) if self.held.collected.placed.contains(var) => {
                    let own = WordKind::of(self.f.ty(*var));
                    self.count_row(*h, value, |e| e.push(*h, *kind, loop_state.counter, own, value));
                }
                LoopOutput::Buffer(h, kind) => {
                    let at = if placed(ir_loop, *kind) { index } else { loop_state.counter };
                    self.push(*h, *kind, at, WordKind::of(self.f.ty(*var)), value);
                }
                LoopOutput::Reserved(_, kind, data) => self.store_at(*data, index, *kind, value),
                LoopOutput::Sum(i) => sums[*i] = self.add_up(sums[*i], *var, value),
                LoopOutput::OrderedSum(s, i) => sums[*i] = self.add_term(s, loop_state.counter, sums[*i], value),
                LoopOutput::Rows(_) => {}
                LoopOutput::RowSlot(p) => self.add_to_row(*p, loop_state.counter, value),
            }
        }
        let mut next = vec![self.b.ins().iadd_imm_s(loop_state.counter, 1)];
        next.extend(self.owned(&carried, end, sc, &|_| false));
        next.extend(sums);
        let rest: Vec<Var> = loop_state
            .made
            .iter()
            .map(|(v, _)| *v)
            .filter(|v| !carried.contains(v) && !self.held.collected.placed.contains(v))
            .collect();
        self.release_dying(&rest, end, sc);
        self.poll();
        self.goto(loop_state.header, &next);
    }

    /// Appends an element to a buffer. `into`: the kind of the buffer, if its elements are scalars.
    pub(super) fn push(&mut self, buffer: Value, into: WordKind, len: Value, kind: WordKind, x: Value) {
        if into == kind && !matches!(kind, WordKind::Ref(_) | WordKind::Data(_)) {
            return self.append(buffer, len, kind, x);
        }
        let w = self.to_word(kind, x);
        let code = self.int(output_buffer::kind_code(kind));
        let site = self.site();
        let site = self.int(i64::from(site));
        self.fallible(shims::push as *const u8, &[self.frame.ctx, buffer, w, code, site]);
    }

    /// Adds an iteration's output to its sum.
    fn add_up(&mut self, sum: Value, v: Var, term: Value) -> Value {
        match self.ty(v).clone() {
            Ty::F64 => self.b.ins().fadd(sum, term),
            Ty::F32 => {
                let (p, q) = (self.b.ins().fpromote(types::F64, sum), self.b.ins().fpromote(types::F64, term));
                let z = self.b.ins().fadd(p, q);
                self.b.ins().fdemote(types::F32, z)
            }
            Ty::I64 => {
                let (z, ok) = self.int_add(sum, term);
                self.or_slow_add(ok, z, sum, term)
            }
            ty => {
                let kind = WordKind::of(&ty);
                let what = LoweredOp::Op(Op::Bin(adl_prim::Bin::Add, Var(0), Var(1)));
                let takes = vec![is_ref(&ty), false];
                self.slow_on(what, &[(kind, sum), (kind, term)], takes, vec![kind], vec![zero_of(&ty)])[0]
            }
        }
    }

    /// Binds the results of a loop.
    fn end(&mut self, stmt: &Stmt, ir_loop: &Loop, loop_state: &LoopState) {
        let (carried, lin_carried) = (ir_loop.init.len(), ir_loop.lin_init.len());
        let order: Vec<Var> = stmt
            .outs
            .iter()
            .skip(carried)
            .take(ir_loop.outs.len())
            .chain(stmt.lin_outs.iter().skip(lin_carried))
            .copied()
            .collect();
        let mut outs = Vec::new();
        for ((_, made), v) in loop_state.made.iter().zip(&order) {
            outs.push(match made {
                LoopOutput::Buffer(h, kind) => {
                    self.finish(*h, loop_state.counter, ir_loop.reverse && !placed(ir_loop, *kind), *v)
                }
                LoopOutput::Reserved(h, ..) => self.finish(*h, loop_state.counter, false, *v),
                LoopOutput::Sum(i) => loop_state.sums[*i],
                LoopOutput::Rows(rows) => self.finish_rows(rows, loop_state.counter, *v),
                LoopOutput::OrderedSum(s, i) => {
                    self.end_sum(s, loop_state.sums[*i]);
                    self.frame.ctx
                }
                LoopOutput::RowSlot(_) => self.frame.ctx,
            });
        }
        let (plain, linear) = outs.split_at(ir_loop.outs.len());
        let all =
            [&loop_state.carry[..carried], plain, &[loop_state.counter], &loop_state.carry[carried..], linear].concat();
        let placed: Vec<Var> = loop_state
            .made
            .iter()
            .zip(&order)
            .filter(|((_, m), _)| matches!(m, LoopOutput::RowSlot(_) | LoopOutput::OrderedSum(..)))
            .map(|(_, v)| *v)
            .collect();
        // This precedes the binding, so that no view of these rows is created.
        self.held.viewed.retain(|v| !placed.contains(v));
        self.held.pinned.extend(&placed);
        self.bind_outs(stmt, &all);
    }

    pub(super) fn finish(&mut self, buffer: Value, len: Value, reverse: bool, v: Var) -> Value {
        let how = i64::from(ValueForm::of(self.f.ty(v)).0) << 1 | i64::from(reverse);
        let how = self.int(how);
        self.runtime(shims::finish_buffer as *const u8, &[self.frame.ctx, buffer, len, how], 1).unwrap_or(buffer)
    }

    pub(super) fn extent(&mut self, h: Value) -> Value {
        self.runtime(shims::extent as *const u8, &[h], 1).unwrap_or(h)
    }
}

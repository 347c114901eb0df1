//! Reductions, scans and histograms: loops over the elements with an accumulator, or calls of run-time loops if the
//! operator is a single scalar operation.

use super::control::BELOW;
use super::{EmissionScope, Emit, inner, is_ref, machine_type};
use crate::handle::ValueForm;
use crate::runtime::WordKind;
use crate::scan_loops;
use crate::shims;
use adl_interp::ir::eval_op::LoweredOp;
use adl_ir::{Block, Cmp, Op, Soac, SoacKind, Stmt, Ty, Var};
use adl_prim::Bin;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, Value, types};
use std::collections::HashSet;

/// The number of an operator that is a single Float operation on its two parameters, in order.
fn simple(op: &Block) -> Option<usize> {
    let ([s], [x, y], [r]) = (&op.stmts[..], &op.params[..], &op.results[..]) else { return None };
    match (&s.op, &s.outs[..]) {
        (Op::Bin(op, a, b), [out]) if a == x && b == y && a != b && out == r => {
            scan_loops::SIMPLE.iter().position(|o| o == op)
        }
        _ => None,
    }
}

/// The number of `min` or `max` for an operator that computes an extreme value and its position (the first one if
/// values are equal).
fn extreme(op: &Block) -> Option<usize> {
    let ([x, p, y, q], [best, place]) = (&op.params[..], &op.results[..]) else { return None };
    let made = |v: &Var| op.stmts.iter().find(|s| s.outs[..] == [*v]).map(|s| &s.op);
    let (Some(Op::Bin(op2, a, b)), Some(Op::Select(c, k, l))) = (made(best), made(place)) else { return None };
    let keeps = match (op2, made(c)) {
        (Bin::Min, Some(Op::Cmp(Cmp::Le, a, b))) | (Bin::Max, Some(Op::Cmp(Cmp::Ge, a, b))) => (a, b) == (x, y),
        _ => false,
    };
    (keeps && op.stmts.len() == 3 && (a, b) == (x, y) && (k, l) == (p, q))
        .then(|| scan_loops::SIMPLE.iter().position(|o| o == op2))
        .flatten()
}

impl Emit<'_, '_, '_> {
    /// Releases the variables that die at a statement with blocks and were not consumed.
    fn end_soac(
        &mut self,
        used: &[Var],
        taken: &[bool],
        firsts: &[Var],
        dying: &HashSet<Var>,
        at: u32,
        sc: &EmissionScope,
    ) {
        let gone: HashSet<Var> = firsts.iter().zip(taken).filter(|(_, t)| **t).map(|(v, _)| *v).collect();
        let mut all: Vec<Var> = used
            .iter()
            .copied()
            .filter(|v| self.dies(*v, at, sc))
            .chain(dying.iter().copied())
            .filter(|v| !gone.contains(v))
            .collect();
        all.sort_unstable();
        all.dedup();
        for v in all.into_iter().filter(|v| is_ref(self.f.ty(*v))).collect::<Vec<_>>() {
            let x = self.val(v);
            self.let_go(v, x);
        }
    }

    /// Emits a reduction or scan: a loop over the elements with an accumulator.
    pub(super) fn soac(&mut self, stmt: &Stmt, soac: &Soac, at: u32, sc: &EmissionScope) {
        let dying = self.dying_inside(at, sc);
        let keep = |v: Var| soac.arrays.contains(&v) || inner(sc, at)[0].free.contains_key(&v);
        let taken = self.takes(&soac.neutral, at, sc, &keep);
        let acc = self.owned(&soac.neutral, at, sc, &keep);
        let first = self.val(soac.arrays[0]);
        let extent = self.extent(first);
        let done = self.fresh();
        super::outs(stmt).for_each(|v| _ = self.b.append_block_param(done, machine_type(self.f.ty(*v))));
        self.running(soac, (first, acc[0]), done);
        let buffers: Vec<Value> = match soac.kind {
            SoacKind::Reduce => Vec::new(),
            SoacKind::Scan | SoacKind::ScanExclusive => {
                soac.neutral.iter().map(|v| self.new_buffer(&self.f.ty(*v).clone(), false, Some(extent))).collect()
            }
        };
        let zero = self.int(0);
        let (header, vals) = self.header(&[&[zero], &acc[..]].concat());
        let (body, exit) = (self.fresh(), self.fresh());
        let goes_on = self.b.ins().icmp(BELOW, vals[0], extent);
        self.stays(goes_on, body, exit, &[]);
        self.b.switch_to_block(body);
        let around = self.enter_loop(false);
        self.combine(soac, &vals, &buffers, header, &EmissionScope { info: &inner(sc, at)[0], dying: &HashSet::new() });
        self.nest = around;
        self.b.switch_to_block(exit);
        let outs =
            if soac.kind == SoacKind::Reduce { vals[1..].to_vec() } else { self.scanned(stmt, soac, &vals, &buffers) };
        self.goto(done, &outs);
        self.b.switch_to_block(done);
        let outs = self.b.block_params(done).to_vec();
        let used: Vec<Var> = soac.neutral.iter().chain(&soac.arrays).copied().collect();
        self.end_soac(&used, &taken, &soac.neutral, &dying, at, sc);
        self.bind_outs(stmt, &outs);
    }

    /// Finishes the results of a scan, and releases the accumulator.
    fn scanned(&mut self, s: &Stmt, x: &Soac, vals: &[Value], buffers: &[Value]) -> Vec<Value> {
        let order: Vec<Var> = super::outs(s).copied().collect();
        for (v, a) in x.neutral.iter().zip(&vals[1..]) {
            if is_ref(self.f.ty(*v)) {
                self.let_go(*v, *a);
            }
        }
        buffers.iter().zip(&order).map(|(h, v)| self.finish(*h, vals[0], false, *v)).collect()
    }

    /// Scans by a scalar operator in a run-time loop: jumps to `done` with the result if the array is materialised.
    fn running(&mut self, x: &Soac, (array, neutral): (Value, Value), done: ir::Block) {
        let scanned =
            x.kind == SoacKind::Scan && x.arrays.len() == 1 && ValueForm::of(self.f.ty(x.arrays[0])) == ValueForm::ROW;
        let Some(op) = simple(&x.op).filter(|_| scanned) else { return };
        let (op, none) = (self.int(op as i64), self.int(0));
        let neutral = self.to_word(WordKind::F64, neutral);
        let made = self.runtime(shims::prefix as *const u8, &[self.frame.ctx, array, neutral, op], 1).unwrap_or(none);
        let next = self.fresh();
        self.b.ins().brif(made, done, &[ir::BlockArg::Value(made)], next, &[]);
        self.b.switch_to_block(next);
    }

    /// Emits one iteration: combines the accumulator with an element.
    fn combine(&mut self, soac: &Soac, vals: &[Value], buffers: &[Value], header: ir::Block, sc: &EmissionScope) {
        let site = self.at;
        let width = soac.neutral.len();
        let kinds: Vec<WordKind> = soac.neutral.iter().map(|v| WordKind::of(self.f.ty(*v))).collect();
        if soac.kind == SoacKind::ScanExclusive {
            for ((h, kind), a) in buffers.iter().zip(&kinds).zip(&vals[1..]) {
                self.push(*h, *kind, vals[0], *kind, *a);
            }
        }
        for (p, a) in soac.op.params[..width].iter().zip(&vals[1..]) {
            self.bind(*p, *a);
        }
        let pairs: Vec<(Var, Var)> = soac.op.params[width..].iter().copied().zip(soac.arrays.iter().copied()).collect();
        self.elements(&pairs, vals[0]);
        soac.op.params[..width].iter().for_each(|p| self.drop_unread(*p));
        self.block(&soac.op, sc);
        self.at = site;
        let mut next = vec![self.b.ins().iadd_imm_s(vals[0], 1)];
        next.extend(self.owned(&soac.op.results, soac.op.stmts.len() as u32, sc, &|_| false));
        if soac.kind == SoacKind::Scan {
            for ((h, kind), a) in buffers.iter().zip(&kinds).zip(&next[1..].to_vec()) {
                self.push(*h, *kind, vals[0], *kind, *a);
            }
        }
        self.poll();
        self.goto(header, &next);
    }

    /// Emits a histogram: `dest` with the operator applied at each key that is in bounds.
    pub(super) fn by_index(
        &mut self,
        stmt: &Stmt,
        (dest, keys, values, op): (&[Var], Var, &[Var], &Block),
        at: u32,
        sc: &EmissionScope,
    ) {
        let dying = self.dying_inside(at, sc);
        let keep = |v: Var| values.contains(&v) || v == keys || inner(sc, at)[0].free.contains_key(&v);
        let taken = self.takes(dest, at, sc, &keep);
        let given = self.owned(dest, at, sc, &keep);
        let keys_handle = self.val(keys);
        let done = self.fresh();
        given.iter().for_each(|_| _ = self.b.append_block_param(done, types::I64));
        self.counted(dest, (keys, values, op), &given, done);
        let scope = EmissionScope { info: &inner(sc, at)[0], dying: &HashSet::new() };
        let made = self.each_key(stmt, (dest, keys, values, op), (keys_handle, &given), &scope);
        self.goto(done, &made);
        self.b.switch_to_block(done);
        let made = self.b.block_params(done).to_vec();
        let used: Vec<Var> = dest.iter().chain(values).copied().chain([keys]).collect();
        self.end_soac(&used, &taken, dest, &dying, at, sc);
        self.bind_outs(stmt, &made);
    }

    /// Emits the loop over keys and values. Returns the destinations after the loop.
    fn each_key(
        &mut self,
        stmt: &Stmt,
        (dest, keys, values, op): (&[Var], Var, &[Var], &Block),
        (keys_handle, given): (Value, &[Value]),
        sc: &EmissionScope,
    ) -> Vec<Value> {
        let (n, extent) = (self.extent(keys_handle), self.extent(given[0]));
        let zero = self.int(0);
        let (header, vals) = self.header(&[&[zero], given].concat());
        let (body, exit, next) = (self.fresh(), self.fresh(), self.fresh());
        given.iter().for_each(|_| {
            self.b.append_block_param(next, types::I64);
        });
        let goes_on = self.b.ins().icmp(BELOW, vals[0], n);
        self.stays(goes_on, body, exit, &[]);
        self.b.switch_to_block(body);
        let key = self.key(keys, vals[0]);
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThan, key, extent);
        self.unless(inside, next, &vals[1..]);
        let around = self.enter_loop(false);
        let made = self.apply_at(stmt, (dest, values, op), (&vals, key), sc);
        self.nest = around;
        self.goto(next, &made);
        self.b.switch_to_block(next);
        let mut back = vec![self.b.ins().iadd_imm_s(vals[0], 1)];
        back.extend(self.b.block_params(next).to_vec());
        self.poll();
        self.goto(header, &back);
        self.b.switch_to_block(exit);
        vals[1..].to_vec()
    }

    /// Histograms by an operator on numbers or on rows in a run-time loop: jumps to `done` with the destination if all
    /// arrays are materialised.
    fn counted(&mut self, dest: &[Var], (keys, values, op): (Var, &[Var], &Block), given: &[Value], done: ir::Block) {
        if let ([d, _], [v, _]) = (dest, values) {
            return self.placed((*d, *v), (keys, values, op), given, done);
        }
        let ([d], [v], [given]) = (dest, values, given) else { return };
        let given = *given;
        let floats = |a: &Var| *self.f.ty(*a).scalar() == Ty::F64 && ValueForm::of(self.f.ty(*a)).is_numbers();
        let Some(op) = simple(op).filter(|_| floats(d) && floats(v)) else { return };
        let (keys, values, op) = (self.val(keys), self.val(*v), self.int(op as i64));
        let none = self.int(0);
        let made =
            self.runtime(shims::histogram as *const u8, &[self.frame.ctx, given, keys, values, op], 1).unwrap_or(none);
        let next = self.fresh();
        self.b.ins().brif(made, done, &[ir::BlockArg::Value(made)], next, &[]);
        self.b.switch_to_block(next);
    }

    /// Histograms by `min` or `max` with positions in a run-time loop: jumps to `done` with the destinations.
    fn placed(
        &mut self,
        (d, numbers): (Var, Var),
        (keys, values, op): (Var, &[Var], &Block),
        given: &[Value],
        done: ir::Block,
    ) {
        let floats = [d, numbers].iter().all(|a| ValueForm::of(self.f.ty(*a)) == ValueForm::ROW);
        let Some(op) = extreme(op).filter(|_| floats) else { return };
        for (i, h) in given.iter().enumerate() {
            self.b.ins().stack_store(types::I64, *h, self.frame.slot, 8 * i as i32);
        }
        let slot = self.b.ins().stack_addr(types::I64, self.frame.slot, 0);
        let (keys, values, places, op) = (self.val(keys), self.val(numbers), self.val(values[1]), self.int(op as i64));
        let none = self.int(0);
        let did = self
            .runtime(shims::histogram_places as *const u8, &[self.frame.ctx, slot, keys, values, places, op], 1)
            .unwrap_or(none);
        let (yes, next) = (self.fresh(), self.fresh());
        self.b.ins().brif(did, yes, &[], next, &[]);
        self.b.switch_to_block(yes);
        let made: Vec<Value> = (0..given.len())
            .map(|i| self.b.ins().stack_load(types::I64, types::I64, self.frame.slot, 8 * i as i32))
            .collect();
        self.goto(done, &made);
        self.b.switch_to_block(next);
    }

    /// Reads the key of an iteration.
    fn key(&mut self, keys: Var, iteration: Value) -> Value {
        let h = self.val(keys);
        let slow = |e: &mut Self| {
            let index = LoweredOp::Op(Op::Index { a: Var(0), at: vec![Var(1)], shape: None });
            let args = [(WordKind::of(e.f.ty(keys)), h), (WordKind::I64, iteration)];
            e.slow_on(index, &args, vec![false; 2], vec![WordKind::I64], vec![adl_interp::value::Value::Int(0)])[0]
        };
        match self.element_of(keys, iteration, slow) {
            Some(key) => key,
            None => slow(self),
        }
    }

    /// Applies the operator at one key. Returns the updated destinations.
    fn apply_at(
        &mut self,
        s: &Stmt,
        (dest, values, op): (&[Var], &[Var], &Block),
        (vals, key): (&[Value], Value),
        sc: &EmissionScope,
    ) -> Vec<Value> {
        let site = self.at;
        let w = dest.len();
        // The results' variables denote the current destinations.
        let names: Vec<Var> = super::outs(s).copied().collect();
        for (v, h) in names.iter().zip(&vals[1..]) {
            self.bind(*v, *h);
        }
        let pairs: Vec<(Var, Var)> = op.params[..w].iter().copied().zip(names.iter().copied()).collect();
        self.elements(&pairs, key);
        let pairs: Vec<(Var, Var)> = op.params[w..].iter().copied().zip(values.iter().copied()).collect();
        self.elements(&pairs, vals[0]);
        self.block(op, sc);
        self.at = site;
        let mut made = Vec::new();
        for (bin, result) in names.iter().zip(&op.results) {
            let (handle, value, kind) = (self.val(*bin), self.val(*result), WordKind::of(self.f.ty(*result)));
            let into = WordKind::of(self.f.ty(*bin));
            let slow = |e: &mut Self| {
                e.slow_on(
                    LoweredOp::Put,
                    &[(into, handle), (WordKind::I64, key), (kind, value)],
                    vec![true, false, false],
                    vec![into],
                    vec![adl_interp::value::Value::Zero],
                )[0]
            };
            let view = self.vals[bin.0 as usize].as_ref().and_then(|b| b.view.clone());
            made.push(match (view, self.ty(*bin).clone()) {
                (Some(view), Ty::Array(e, 1)) if *e == *self.ty(*result) && e.is_flat() => {
                    self.update_in_place((handle, &view), &[key], value, &e, false, slow)
                }
                _ => slow(self),
            });
        }
        self.release_dying(&op.results, op.stmts.len() as u32, sc);
        made
    }
}

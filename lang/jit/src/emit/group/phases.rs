//! Groups with elementary functions: the loop runs in phases.
//!
//! Functions that are not instructions are evaluated by vectorised library kernels on many numbers per call. A group
//! with such functions iterates over strips and runs several phases on each. A phase computes the arguments of the
//! functions that depend only on earlier phases, and stores them in scratch memory. The kernels replace them by the
//! results, which the next phase reads. The arguments of one function in one phase are contiguous, so that one call
//! suffices, however short the arrays are.

use super::super::{Emit, LOOSE, is_ref};
use super::plan::Group;
use super::run::{ElementRange, Loop};
use super::{Member, is_plain};
use crate::limits::emit_group_phases::STRIP;
use crate::runtime;
use crate::shims;
use adl_ir::Var;
use adl_prim::Un;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use std::collections::{HashMap, HashSet};

/// The kernels' vector width: elements after the last argument, up to a multiple of it, are also evaluated.
const WIDTH: i64 = 8;

/// The arguments of one function in one phase.
pub(super) struct ArgumentBatch {
    phase: u32,
    op: Un,
    /// The results.
    outs: Vec<Var>,
    /// The results of the second function of a pair (see [`pairs`]) on the same arguments.
    others: Vec<Var>,
}

impl ArgumentBatch {
    /// The scratch size in Floats of the results of one function.
    fn room(&self) -> i64 {
        self.outs.len() as i64 * STRIP + WIDTH
    }
}

/// The assignment of members to phases.
#[derive(Default)]
pub(super) struct Phases {
    /// The phase from which each result is available: for functions, the one after that of their arguments.
    of: HashMap<Var, u32>,
    pub batches: Vec<ArgumentBatch>,
    /// Values, other than results of functions, that later phases read.
    kept: Vec<Var>,
    /// Rows that must be read before they are updated.
    early: Vec<Var>,
    /// Members whose results are not needed.
    idle: Vec<Var>,
}

impl Phases {
    /// Assigns members to phases. `stored`: results that are stored to arrays in any case.
    pub fn new(members: &[(u32, Var, Member)], stored: &[Var]) -> Phases {
        let mut phases = Phases::default();
        let pairs = pairs(members);
        for (_, out, m) in members {
            let mut phase = m.elements().iter().map(|v| phases.phase(*v)).max().unwrap_or(0);
            if let Some(acc) = m.changed() {
                phase = phase.max(phases.phase(acc));
            }
            if let Some(op) = function(m) {
                phases.batch(*out, (phase, op), &pairs);
                phase += 1;
            }
            phases.of.insert(*out, phase);
        }
        let reads = |v: Var| {
            members
                .iter()
                .filter(|(_, out, m)| m.elements().contains(&v) && !pairs.iter().any(|(_, w)| w == out))
                .count()
        };
        let idle = |(_, w): &(Var, Var)| members.iter().find(|(_, out, _)| out == w).map(|(_, _, m)| m.elements()[0]);
        phases.idle = pairs.iter().filter_map(idle).filter(|v| reads(*v) == 0 && !stored.contains(v)).collect();
        let changes = |a: Var| members.iter().any(|(_, _, m)| m.changed() == Some(a));
        phases.early = members.iter().filter(|(_, _, m)| m.base().is_some_and(changes)).map(|(_, v, _)| *v).collect();
        let loaded = |(_, v, m): &&(u32, Var, Member)| {
            m.base().is_some() && !phases.early.contains(v) || m.changed().is_some() || function(m).is_some()
        };
        let loaded: HashSet<Var> = members.iter().filter(loaded).map(|(_, v, _)| *v).collect();
        phases
            .keep(members, |out, v| pairs.iter().any(|(_, w)| *w == out) || loaded.contains(&v) || stored.contains(&v));
        phases
    }

    /// Adds a function call to the batch of its function and phase. The second function of a pair is added with the
    /// first.
    fn batch(&mut self, out: Var, (phase, op): (u32, Un), pairs: &[(Var, Var)]) {
        if pairs.iter().any(|(_, w)| *w == out) {
            return;
        }
        let other = pairs.iter().find(|(v, _)| *v == out).map(|(_, w)| *w);
        match self.batches.iter_mut().find(|b| b.phase == phase && b.op == op && b.others.is_empty() == other.is_none())
        {
            Some(b) => {
                b.outs.push(out);
                b.others.extend(other);
            }
            None => {
                self.batches.push(ArgumentBatch { phase, op, outs: vec![out], others: other.into_iter().collect() });
            }
        }
    }

    /// Finds the values that later phases read. `not`: whether a member reads an operand from elsewhere than scratch
    /// memory.
    fn keep(&mut self, members: &[(u32, Var, Member)], not: impl Fn(Var, Var) -> bool) {
        for (_, out, m) in members.iter().filter(|(_, out, _)| !self.idle.contains(out)) {
            let runs = self.phase(*out) - u32::from(function(m).is_some());
            for v in m.elements() {
                let later = self.of.get(&v).is_some_and(|made| *made < runs);
                if later && !not(*out, v) && !self.kept.contains(&v) {
                    self.kept.push(v);
                }
            }
        }
    }

    /// The phase from which a value is available.
    pub fn phase(&self, v: Var) -> u32 {
        self.of.get(&v).copied().unwrap_or(0)
    }

    /// The phase in which a member is computed.
    fn runs(&self, out: Var, m: &Member) -> u32 {
        self.phase(out) - u32::from(function(m).is_some())
    }

    fn last(&self) -> u32 {
        self.of.values().copied().max().unwrap_or(0)
    }

    /// The scratch size of a strip in Floats.
    fn room(&self) -> i64 {
        let batches: i64 = self.batches.iter().map(|b| if b.others.is_empty() { b.room() } else { 2 * b.room() }).sum();
        batches + self.kept.len() as i64 * STRIP
    }
}

/// The function of a member that is not an instruction.
fn function(m: &Member) -> Option<Un> {
    match m {
        Member::Un(op, _) if !is_plain(*op) => Some(*op),
        _ => None,
    }
}

/// Pairs of functions that one kernel evaluates, because derivatives use both: the logistic function of a number and of
/// its negative, and the hyperbolic tangent and its derivative.
fn pairs(members: &[(u32, Var, Member)]) -> Vec<(Var, Var)> {
    let of = |v: Var| members.iter().find(|(_, out, _)| *out == v).map(|(_, _, m)| m);
    let negative = |v: Var| match of(v) {
        Some(Member::Un(Un::Neg, x)) => Some(*x),
        _ => None,
    };
    let mut found: Vec<(Var, Var)> = Vec::new();
    for (_, second, m) in members {
        let (op, x) = match m {
            Member::Un(Un::Sigmoid, y) => (Un::Sigmoid, negative(*y)),
            Member::Un(Un::Sech2, x) => (Un::Tanh, Some(*x)),
            _ => continue,
        };
        let Some(x) = x else { continue };
        let first = members.iter().find(|(_, v, m)| {
            matches!(m, Member::Un(u, z) if *u == op && *z == x)
                && found.iter().all(|(a, b)| a != v && b != v && a != second)
        });
        if let Some((_, v, _)) = first {
            found.push((*v, *second));
        }
    }
    found
}

/// The position in a phase's loop.
#[derive(Clone, Copy)]
struct Now {
    phase: u32,
    /// The byte offset of the elements.
    o: Value,
    t: Type,
}

impl Emit<'_, '_, '_> {
    /// Emits the loop of a group with functions over `n` elements.
    pub(super) fn run_phases(&mut self, group: &Group, ir_loop: &mut Loop, n: Value, stores: &[(Var, Value)]) {
        let words = self.int(group.phases.room());
        let room = self.runtime(runtime::room as *const u8, &[self.frame.ctx, words], 1).unwrap_or(words);
        let zero = self.int(0);
        let (header, vals) = self.header(&[zero]);
        let start = vals[0];
        let (body, exit) = (self.fresh(), self.fresh());
        let more = self.b.ins().icmp(IntCC::SignedLessThan, start, n);
        self.stays(more, body, exit, &[]);
        self.b.switch_to_block(body);
        let (left, most) = (self.b.ins().isub(n, start), self.int(STRIP));
        let len = self.b.ins().umin(left, most);
        let first = self.b.ins().ishl_imm_s(start, 3);
        let places = self.places_of(group, ir_loop, (room, first, len), stores);
        for phase in 0..=group.phases.last() {
            let reads = |(_, out, m): &(u32, Var, Member)| {
                (m.base().is_none() || group.phases.early.contains(out)) && group.phases.runs(*out, m) == phase
            };
            if !group.members.iter().any(reads) && !stores.iter().any(|(v, _)| group.phases.phase(*v) == phase) {
                continue;
            }
            let pairs = self.b.ins().band_imm_s(len, !1);
            let ends = [pairs, len].map(|k| {
                let bytes = self.b.ins().ishl_imm_s(k, 3);
                self.b.ins().iadd(first, bytes)
            });
            let o = self.strip_of(group, ir_loop, (first, ends[0]), (phase, types::F64X2), stores);
            self.strip_of(group, ir_loop, (o, ends[1]), (phase, types::F64), stores);
            for (b, place) in group.phases.batches.iter().zip(&places).filter(|(b, _)| b.phase == phase) {
                self.evaluate(b, *place, len);
            }
        }
        let next = self.b.ins().iadd(start, len);
        self.goto(header, &[next]);
        self.b.switch_to_block(exit);
    }

    /// Calls the kernel for a batch, which has `len` arguments for each result.
    fn evaluate(&mut self, b: &ArgumentBatch, place: Value, len: Value) {
        let count = self.b.ins().imul_imm_s(len, b.outs.len() as i64);
        if b.others.is_empty() {
            self.job.tables.maps.push(b.op);
            let id = self.int(self.job.tables.maps.len() as i64 - 1);
            self.runtime(shims::map_strip as *const u8, &[self.frame.ctx, id, place, count], 0);
        } else {
            let other = self.b.ins().iadd_imm_s(place, 8 * b.room());
            let kernel =
                if b.op == Un::Tanh { shims::tanh_and_sech2 as *const u8 } else { shims::sigmoids as *const u8 };
            self.runtime(kernel, &[place, other, count], 0);
        }
    }

    /// Assigns scratch memory to the values that later phases read, with addresses biased by the strip's offset.
    /// Returns the address of each batch.
    fn places_of(
        &mut self,
        group: &Group,
        ir_loop: &mut Loop,
        (room, first, len): (Value, Value, Value),
        stores: &[(Var, Value)],
    ) -> Vec<Value> {
        let row = self.b.ins().ishl_imm_s(len, 3);
        let (mut used, mut begins) = (0, Vec::new());
        ir_loop.rooms.clear();
        for batch in &group.phases.batches {
            begins.push(self.b.ins().iadd_imm_s(room, 8 * used));
            for outs in [&batch.outs, &batch.others].into_iter().filter(|o| !o.is_empty()) {
                let begin = self.b.ins().iadd_imm_s(room, 8 * used);
                let mut at = self.b.ins().isub(begin, first);
                for (k, v) in outs.iter().enumerate() {
                    if k > 0 {
                        at = self.b.ins().iadd(at, row);
                    }
                    ir_loop.rooms.insert(*v, at);
                }
                used += batch.room();
            }
        }
        for v in &group.phases.kept {
            let begin = self.b.ins().iadd_imm_s(room, 8 * used);
            let at = self.b.ins().isub(begin, first);
            ir_loop.rooms.insert(*v, at);
            used += STRIP;
        }
        for (v, data) in stores {
            ir_loop.rooms.entry(*v).or_insert(*data);
        }
        begins
    }

    /// Emits a phase on the byte range from `start` to `end`. Returns the offset at which it stopped. A phase without
    /// members emits no code.
    fn strip_of(
        &mut self,
        group: &Group,
        ir_loop: &Loop,
        (start, end): (Value, Value),
        (phase, t): (u32, Type),
        stores: &[(Var, Value)],
    ) -> Value {
        let (header, vals) = self.header(&[start]);
        let o = vals[0];
        let (body, exit) = (self.fresh(), self.fresh());
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, o, end);
        self.stays(more, body, exit, &[]);
        self.b.switch_to_block(body);
        self.phase_at(group, ir_loop, Now { phase, o, t }, stores);
        let next = self.b.ins().iadd_imm_s(o, i64::from(t.bytes()));
        self.goto(header, &[next]);
        self.b.switch_to_block(exit);
        o
    }

    /// Emits a phase at one position. (Groups with functions have no sums.)
    fn phase_at(&mut self, group: &Group, ir_loop: &Loop, now: Now, stores: &[(Var, Value)]) {
        let mut vals: HashMap<Var, Value> = HashMap::new();
        let idle = |v: &Var| group.phases.idle.contains(v) || group.phases.batches.iter().any(|b| b.others.contains(v));
        for (_, out, m) in
            group.members.iter().filter(|(_, out, m)| group.phases.runs(*out, m) == now.phase && !idle(out))
        {
            let of = |e: &mut Self, vals: &mut HashMap<Var, Value>, v: Var| e.value_in(group, ir_loop, vals, v, now);
            let value = match m {
                Member::Un(op, a) => {
                    let x = of(self, &mut vals, *a);
                    if function(m).is_some() {
                        self.leave_at(ir_loop.rooms[out], now, x);
                        continue;
                    }
                    self.un(*op, x)
                }
                Member::Bin(op, a, b) => {
                    let (x, y) = (of(self, &mut vals, *a), of(self, &mut vals, *b));
                    self.bin(*op, x, y)
                }
                Member::Fill { x, .. } => of(self, &mut vals, *x),
                Member::Row { .. } | Member::Slice { .. } if group.phases.early.contains(out) => {
                    self.value_in(group, ir_loop, &mut vals, *out, now)
                }
                Member::Row { .. } | Member::Slice { .. } | Member::Total { .. } => continue,
                Member::ToRow { v, add, .. } => {
                    let x = of(self, &mut vals, *v);
                    self.change(&ir_loop.targets[out], x, *add, now.o, now.t, 0)
                }
                Member::ToSlice { v, .. } => {
                    let x = of(self, &mut vals, *v);
                    self.change(&ir_loop.targets[out], x, true, now.o, now.t, 0)
                }
            };
            if group.phases.kept.contains(out) {
                self.leave_at(ir_loop.rooms[out], now, value);
            }
            vals.insert(*out, value);
        }
        for (v, data) in stores.iter().filter(|(v, _)| group.phases.phase(*v) == now.phase) {
            let x = self.value_in(group, ir_loop, &mut vals, *v, now);
            self.leave_at(*data, now, x);
        }
    }

    fn leave_at(&mut self, at: Value, now: Now, x: Value) {
        let p = self.b.ins().iadd(at, now.o);
        self.b.ins().store(LOOSE, x, p, 0);
    }

    /// The elements of an operand: computed in this phase, loaded from an array, or from an earlier phase.
    fn value_in(&mut self, g: &Group, ir_loop: &Loop, vals: &mut HashMap<Var, Value>, var: Var, now: Now) -> Value {
        if vals.contains_key(&var)
            || !is_ref(self.ty(var))
            || ir_loop.inputs.contains_key(&var)
            || self.held.collected.symbolic_zero.contains(&var)
        {
            return self.element_in(ir_loop, vals, var, now.o, now.t, 0);
        }
        let kept = now.phase > 0 && g.phases.kept.contains(&var);
        let from = match ir_loop.parts.get(&var).filter(|_| !kept) {
            Some(s) => s.clone(),
            None => ElementRange { base: ir_loop.rooms[&var], mask: None },
        };
        let p = self.at_offset(&from, now.o);
        let x = self.b.ins().load(now.t, LOOSE, p, 0);
        vals.insert(var, x);
        x
    }
}

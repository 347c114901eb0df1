//! Groups with elementary functions: the loop in phases.
//!
//! Functions that are no instructions are evaluated by the library's kernels, on many numbers at once. A group with such members runs on strips, and on each in
//! phases: a phase computes the arguments of the functions that need no others first and leaves them in a strip's room, the kernels put results in their
//! place, and the next phase goes on with these. Arguments of one function in one phase lie side by side, so that the kernel is called once for them, however
//! short the arrays are.

use super::super::{Emit, LOOSE, is_ref};
use super::plan::Group;
use super::run::{Loop, Source};
use super::{Member, is_plain};
use crate::runtime;
use adl_ir::Var;
use adl_prim::Un;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use std::collections::{HashMap, HashSet};

/// Elements of a strip.
const STRIP: i64 = 256;

/// Numbers that kernels take at a time: what lies behind arguments that are no multiple of it is evaluated too.
const WIDTH: i64 = 8;

/// Arguments of one function.
pub(super) struct Batch {
    phase: u32,
    op: Un,
    /// Results.
    outs: Vec<Var>,
}

/// When members of a group run.
#[derive(Default)]
pub(super) struct Phases {
    /// The phase of members' results; of functions, the one after that of their arguments.
    of: HashMap<Var, u32>,
    pub batches: Vec<Batch>,
    /// What later phases read, besides results of functions.
    kept: Vec<Var>,
    /// Rows that are read before they are changed.
    early: Vec<Var>,
}

impl Phases {
    /// Of members. `stored`: results that are stored anyway.
    pub fn new(members: &[(u32, Var, Member)], stored: &[Var]) -> Phases {
        let mut p = Phases::default();
        for (_, out, m) in members {
            let mut phase = m.elements().iter().map(|v| p.phase(*v)).max().unwrap_or(0);
            if let Some(acc) = m.changed() {
                phase = phase.max(p.phase(acc));
            }
            if let Some(op) = function(m) {
                match p.batches.iter_mut().find(|b| b.phase == phase && b.op == op) {
                    Some(b) => b.outs.push(*out),
                    None => p.batches.push(Batch { phase, op, outs: vec![*out] }),
                }
                phase += 1;
            }
            p.of.insert(*out, phase);
        }
        let changes = |a: Var| members.iter().any(|(_, _, m)| m.changed() == Some(a));
        p.early = members.iter().filter(|(_, _, m)| m.base().is_some_and(changes)).map(|(_, v, _)| *v).collect();
        let loaded = |(_, v, m): &&(u32, Var, Member)| m.base().is_some() && !p.early.contains(v) || m.changed().is_some() || function(m).is_some();
        let loaded: HashSet<Var> = members.iter().filter(loaded).map(|(_, v, _)| *v).collect();
        for (_, out, m) in members {
            let runs = p.runs(*out, m);
            for v in m.elements() {
                let later = p.of.get(&v).is_some_and(|made| *made < runs);
                if later && !loaded.contains(&v) && !stored.contains(&v) && !p.kept.contains(&v) {
                    p.kept.push(v);
                }
            }
        }
        p
    }

    /// The phase of a value.
    pub fn phase(&self, v: Var) -> u32 {
        self.of.get(&v).copied().unwrap_or(0)
    }

    /// The phase in which a member runs.
    fn runs(&self, out: Var, m: &Member) -> u32 {
        self.phase(out) - u32::from(function(m).is_some())
    }

    fn last(&self) -> u32 {
        self.of.values().copied().max().unwrap_or(0)
    }

    /// Numbers that a strip needs room for.
    fn room(&self) -> i64 {
        let batches: i64 = self.batches.iter().map(|b| b.outs.len() as i64 * STRIP + WIDTH).sum();
        batches + self.kept.len() as i64 * STRIP
    }
}

/// The function of a member that is no instruction.
fn function(m: &Member) -> Option<Un> {
    match m {
        Member::Un(op, _) if !is_plain(*op) => Some(*op),
        _ => None,
    }
}

/// Where a phase stands.
#[derive(Clone, Copy)]
struct Now {
    phase: u32,
    /// The offset of the elements.
    o: Value,
    t: Type,
}

impl Emit<'_, '_, '_> {
    /// The loop of a group with functions on `n` elements.
    pub(super) fn run_phases(&mut self, g: &Group, l: &mut Loop, n: Value, stores: &[(Var, Value)]) {
        let words = self.int(g.phases.room());
        let room = self.runtime(runtime::room as *const u8, &[self.ctx, words], 1).unwrap_or(words);
        let zero = self.int(0);
        let (header, vals) = self.header(&[zero]);
        let start = vals[0];
        let (body, exit) = (self.b.create_block(), self.b.create_block());
        let more = self.b.ins().icmp(IntCC::SignedLessThan, start, n);
        self.b.ins().brif(more, body, &[], exit, &[]);
        self.b.switch_to_block(body);
        let (left, most) = (self.b.ins().isub(n, start), self.int(STRIP));
        let len = self.b.ins().umin(left, most);
        let first = self.b.ins().ishl_imm_s(start, 3);
        let places = self.places_of(g, l, (room, first, len), stores);
        for phase in 0..=g.phases.last() {
            let reads = |(_, out, m): &(u32, Var, Member)| (m.base().is_none() || g.phases.early.contains(out)) && g.phases.runs(*out, m) == phase;
            if !g.members.iter().any(reads) && !stores.iter().any(|(v, _)| g.phases.phase(*v) == phase) {
                continue;
            }
            let pairs = self.b.ins().band_imm_s(len, !1);
            let ends = [pairs, len].map(|k| {
                let bytes = self.b.ins().ishl_imm_s(k, 3);
                self.b.ins().iadd(first, bytes)
            });
            let o = self.strip_of(g, l, (first, ends[0]), (phase, types::F64X2), stores);
            self.strip_of(g, l, (o, ends[1]), (phase, types::F64), stores);
            for (k, b) in g.phases.batches.iter().enumerate().filter(|(_, b)| b.phase == phase) {
                self.job.tables.maps.push(b.op);
                let id = self.int(self.job.tables.maps.len() as i64 - 1);
                let count = self.b.ins().imul_imm_s(len, b.outs.len() as i64);
                self.runtime(runtime::map as *const u8, &[self.ctx, id, places[k], count], 0);
            }
        }
        let next = self.b.ins().iadd(start, len);
        self.goto(header, &[next]);
        self.b.switch_to_block(exit);
    }

    /// Where a strip's room has what later phases read: as if the whole array were there. Where each batch begins.
    fn places_of(&mut self, g: &Group, l: &mut Loop, (room, first, len): (Value, Value, Value), stores: &[(Var, Value)]) -> Vec<Value> {
        let row = self.b.ins().ishl_imm_s(len, 3);
        let (mut used, mut begins) = (0, Vec::new());
        l.rooms.clear();
        for b in &g.phases.batches {
            let begin = self.b.ins().iadd_imm_s(room, 8 * used);
            let mut at = self.b.ins().isub(begin, first);
            for (k, v) in b.outs.iter().enumerate() {
                if k > 0 {
                    at = self.b.ins().iadd(at, row);
                }
                l.rooms.insert(*v, at);
            }
            begins.push(begin);
            used += b.outs.len() as i64 * STRIP + WIDTH;
        }
        for v in &g.phases.kept {
            let begin = self.b.ins().iadd_imm_s(room, 8 * used);
            let at = self.b.ins().isub(begin, first);
            l.rooms.insert(*v, at);
            used += STRIP;
        }
        for (v, data) in stores {
            l.rooms.entry(*v).or_insert(*data);
        }
        begins
    }

    /// A phase, on bytes from `start` to `end`; where it has ended. Nothing is emitted where it has nothing to do.
    fn strip_of(&mut self, g: &Group, l: &Loop, (start, end): (Value, Value), (phase, t): (u32, Type), stores: &[(Var, Value)]) -> Value {
        let (header, vals) = self.header(&[start]);
        let o = vals[0];
        let (body, exit) = (self.b.create_block(), self.b.create_block());
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, o, end);
        self.b.ins().brif(more, body, &[], exit, &[]);
        self.b.switch_to_block(body);
        self.phase_at(g, l, Now { phase, o, t }, stores);
        let next = self.b.ins().iadd_imm_s(o, i64::from(t.bytes()));
        self.goto(header, &[next]);
        self.b.switch_to_block(exit);
        o
    }

    /// What a phase does at one place.
    fn phase_at(&mut self, g: &Group, l: &Loop, now: Now, stores: &[(Var, Value)]) {
        let mut vals: HashMap<Var, Value> = HashMap::new();
        for (_, out, m) in g.members.iter().filter(|(_, out, m)| g.phases.runs(*out, m) == now.phase) {
            let of = |e: &mut Self, vals: &mut HashMap<Var, Value>, v: Var| e.value_in(g, l, vals, v, now);
            let x = match m {
                Member::Un(op, a) => {
                    let x = of(self, &mut vals, *a);
                    if function(m).is_some() {
                        self.leave_at(l.rooms[out], now, x);
                        continue;
                    }
                    self.un(*op, x)
                }
                Member::Bin(op, a, b) => {
                    let (x, y) = (of(self, &mut vals, *a), of(self, &mut vals, *b));
                    self.bin(*op, x, y)
                }
                Member::Fill { x, .. } => of(self, &mut vals, *x),
                Member::Row { .. } | Member::Slice { .. } if g.phases.early.contains(out) => self.value_in(g, l, &mut vals, *out, now),
                Member::Row { .. } | Member::Slice { .. } => continue,
                Member::ToRow { v, add, .. } => {
                    let x = of(self, &mut vals, *v);
                    self.change(&l.targets[out], x, *add, now.o, now.t, 0)
                }
                Member::ToSlice { v, .. } => {
                    let x = of(self, &mut vals, *v);
                    self.change(&l.targets[out], x, true, now.o, now.t, 0)
                }
            };
            if g.phases.kept.contains(out) {
                self.leave_at(l.rooms[out], now, x);
            }
            vals.insert(*out, x);
        }
        for (v, data) in stores.iter().filter(|(v, _)| g.phases.phase(*v) == now.phase) {
            let x = self.value_in(g, l, &mut vals, *v, now);
            self.leave_at(*data, now, x);
        }
    }

    fn leave_at(&mut self, at: Value, now: Now, x: Value) {
        let p = self.b.ins().iadd(at, now.o);
        self.b.ins().store(LOOSE, x, p, 0);
    }

    /// The elements of an operand: of this phase, of an array, or of a phase before.
    fn value_in(&mut self, g: &Group, l: &Loop, vals: &mut HashMap<Var, Value>, v: Var, now: Now) -> Value {
        if vals.contains_key(&v) || !is_ref(self.ty(v)) || l.inputs.contains_key(&v) || self.absent.contains(&v) {
            return self.element_in(l, vals, v, now.o, now.t, 0);
        }
        let kept = now.phase > 0 && g.phases.kept.contains(&v);
        let from = match l.parts.get(&v).filter(|_| !kept) {
            Some(s) => s.clone(),
            None => Source { base: l.rooms[&v], mask: None },
        };
        let p = self.at_offset(&from, now.o);
        let x = self.b.ins().load(now.t, LOOSE, p, 0);
        vals.insert(v, x);
        x
    }
}

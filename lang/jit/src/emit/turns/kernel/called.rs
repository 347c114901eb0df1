//! Stages of a strip: what each one computes, the buffers between them, and the functions that are called in between.

use super::{Kernel, LOOSE, STRIP, Val, functions, of_totals};
use super::super::stages::{Call, Fun};
use adl_ir::{Op, Var};
use cranelift_codegen::ir::{InstBuilder, StackSlotData, StackSlotKind, Value, types};
use smallvec::SmallVec;

impl Kernel<'_, '_, '_, '_> {
    /// Whether this is the stage that stores and adds up.
    pub(super) fn is_last(&self) -> bool {
        self.stage == self.k.stages.last()
    }

    /// Whether this stage computes a variable, or reads it.
    pub(super) fn wants(&self, v: Var) -> bool {
        self.k.stages.needed.get(self.stage).is_none_or(|n| n.contains(&v))
    }

    /// Where a buffer begins.
    fn buffer(&mut self, k: usize) -> Value {
        self.e.b.ins().iadd_imm_s(self.given[3], 8 * (of_totals(self.k.totals) + STRIP * k as i64))
    }

    /// Where it has the numbers of these turns.
    fn in_buffer(&mut self, k: usize) -> Value {
        let (first, bytes) = (self.buffer(k), self.e.b.ins().ishl_imm_s(self.at, 3));
        self.e.b.ins().iadd(first, bytes)
    }

    fn read(&mut self, k: usize) -> Val {
        let at = self.in_buffer(k);
        self.beside(at)
    }

    /// Numbers of turns that lie side by side.
    fn beside(&mut self, at: Value) -> Val {
        if self.side == 0 {
            return Val::One(self.e.b.ins().load(types::F64, LOOSE, at, 0));
        }
        Val::Many((0..self.side).map(|u| self.e.b.ins().load(types::F64X2, LOOSE, at, 16 * u as i32)).collect())
    }

    /// Reads what a stage before has kept, if it has.
    pub(super) fn from_before(&mut self, v: Var) -> bool {
        let Some(kept) = self.k.stages.kept.get(&v).filter(|k| k.stage < self.stage) else { return false };
        let x = self.read(kept.buffer);
        self.env.insert(v, x);
        true
    }

    /// Keeps what later stages read.
    pub(super) fn keep(&mut self, v: Var, x: &Val) {
        if let Some(kept) = self.k.stages.kept.get(&v).filter(|k| k.stage == self.stage) {
            let at = self.in_buffer(kept.buffer);
            self.store(x, at);
        }
    }

    /// The call that makes a variable.
    pub(super) fn call_of(&self, v: Var) -> Option<usize> {
        self.k.stages.calls.iter().position(|c| c.out == v)
    }

    /// What a function is to be called with, or what it has given.
    pub(super) fn around_call(&mut self, call: usize) {
        let k = self.k;
        let c = &k.stages.calls[call];
        if c.stage == self.stage {
            for (i, v) in c.args.iter().enumerate() {
                let (x, at) = (self.float(*v), self.in_buffer(c.buffer + i));
                self.store(&x, at);
            }
        } else if self.wants(c.out) {
            let x = self.read(c.buffer);
            self.env.insert(c.out, x);
        }
    }

    /// Calls a function for all turns of the strip.
    pub(super) fn call(&mut self, c: &Call) {
        let args: SmallVec<[Value; 2]> = (0..c.args.len()).map(|i| self.buffer(c.buffer + i)).collect();
        self.apply(c.fun, &args, self.given[2]);
    }

    /// Puts what a function gives for `n` numbers in the place of its first argument.
    fn apply(&mut self, f: Fun, args: &[Value], n: Value) {
        let (at, more) = match f {
            Fun::Un(op) => functions::strip_of_unary(op),
            Fun::Bin(op) => (functions::strip_of_binary(op), None),
        };
        let mut args = args.to_vec();
        args.push(n);
        if let Some(more) = more {
            args.push(self.e.int(more));
        }
        self.e.runtime(at, &args, 0);
    }

    /// A function in a loop inside: called for the turns that are done together.
    pub(super) fn function(&mut self, op: &Op) -> Val {
        let Some((f, args)) = Fun::of(op) else { return Val::One(self.e.b.ins().f64const(0.0)) };
        let args: Vec<Val> = args.into_iter().map(|v| self.float(v)).collect();
        if args.iter().all(|a| matches!(a, Val::One(_))) {
            return self.each(&args.iter().collect::<Vec<&Val>>(), &mut |k, x| match f {
                Fun::Un(op) => k.e.un(op, x[0]),
                Fun::Bin(op) => k.e.bin(op, x[0], x[1]),
            });
        }
        let size = 16 * self.side as u32;
        let slot = self.e.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size * args.len() as u32, 4));
        let mut places: SmallVec<[Value; 2]> = SmallVec::new();
        for (i, x) in args.iter().enumerate() {
            let at = self.e.b.ins().stack_addr(types::I64, slot, (size * i as u32) as i32);
            self.store(x, at);
            places.push(at);
        }
        let n = self.e.int(2 * self.side as i64);
        self.apply(f, &places, n);
        self.beside(places[0])
    }
}

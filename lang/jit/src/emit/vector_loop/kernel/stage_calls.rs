//! Stages of a strip: the values of each stage, the buffers between stages, and the function calls.

use super::super::libm_stages::{Call, MathFunction};
use super::{Kernel, LOOSE, LaneValue, STRIP, of_totals, scalar_math};
use adl_ir::{Op, Var};
use cranelift_codegen::ir::{InstBuilder, StackSlotData, StackSlotKind, Value, types};
use smallvec::SmallVec;

impl Kernel<'_, '_, '_, '_> {
    /// Whether this is the stage that stores and accumulates.
    pub(super) fn is_last(&self) -> bool {
        self.stage == self.k.stages.last() && self.only.is_none()
    }

    /// Whether this stage computes or reads a variable.
    pub(super) fn wants(&self, v: Var) -> bool {
        let needed = self.k.stages.needed.get(self.stage);
        needed.is_none_or(|n| n.contains(&v)) && self.only.is_none_or(|n| n.contains(&v))
    }

    /// The address of a buffer.
    fn buffer(&mut self, k: usize) -> Value {
        self.e.b.ins().iadd_imm_s(self.given[3], 8 * (of_totals(self.k.totals) + STRIP * k as i64))
    }

    /// The address of the current iterations' numbers in a buffer.
    fn in_buffer(&mut self, k: usize) -> Value {
        let (first, bytes) = (self.buffer(k), self.e.b.ins().ishl_imm_s(self.at, 3));
        self.e.b.ins().iadd(first, bytes)
    }

    fn read(&mut self, k: usize) -> LaneValue {
        let at = self.in_buffer(k);
        self.beside(at)
    }

    /// Loads contiguous numbers of the iterations.
    pub(super) fn beside(&mut self, at: Value) -> LaneValue {
        if self.side == 0 {
            return LaneValue::One(self.e.b.ins().load(types::F64, LOOSE, at, 0));
        }
        LaneValue::Many((0..self.side).map(|u| self.load_vector(at, u)).collect())
    }

    /// Loads a value that an earlier stage has stored. Returns whether there is one.
    pub(super) fn from_before(&mut self, v: Var) -> bool {
        let Some(kept) = self.k.stages.kept.get(&v).filter(|k| k.stage < self.stage) else { return false };
        let x = self.read(kept.buffer);
        self.env.insert(v, x);
        true
    }

    /// Stores a value that later stages read.
    pub(super) fn keep(&mut self, v: Var, x: &LaneValue) {
        if let Some(kept) = self.k.stages.kept.get(&v).filter(|k| k.stage == self.stage) {
            let at = self.in_buffer(kept.buffer);
            self.store(x, at);
        }
    }

    /// The call that computes a variable.
    pub(super) fn call_of(&self, v: Var) -> Option<usize> {
        self.k.stages.calls.iter().position(|c| c.out == v)
    }

    /// Stores the arguments of a call, or loads its result.
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

    /// Calls a function on all iterations of the strip.
    pub(super) fn call(&mut self, c: &Call) {
        let args: SmallVec<[Value; 2]> = (0..c.args.len()).map(|i| self.buffer(c.buffer + i)).collect();
        self.apply(c.fun, &args, self.given[2]);
    }

    /// Replaces `n` numbers at the first argument by the function's results.
    pub(super) fn apply(&mut self, f: MathFunction, args: &[Value], n: Value) {
        let (at, more) = match f {
            MathFunction::Un(op) => scalar_math::block_function_of_unary(op),
            MathFunction::Bin(op) => (scalar_math::block_function_of_binary(op), None),
        };
        let mut args = args.to_vec();
        args.push(n);
        if let Some(more) = more {
            args.push(self.e.int(more));
        }
        self.e.runtime(at, &args, 0);
    }

    /// Evaluates a function in an inner loop, for the iterations of one vector step.
    pub(super) fn function(&mut self, op: &Op) -> LaneValue {
        let Some((math, args)) = MathFunction::of(op) else { return LaneValue::One(self.e.b.ins().f64const(0.0)) };
        let args: Vec<LaneValue> = args.into_iter().map(|v| self.float(v)).collect();
        if args.iter().all(|a| matches!(a, LaneValue::One(_))) {
            return self.each(&args.iter().collect::<Vec<&LaneValue>>(), &mut |k, x| match math {
                MathFunction::Un(op) => k.e.un(op, x[0]),
                MathFunction::Bin(op) => k.e.bin(op, x[0], x[1]),
            });
        }
        let size = self.width() as u32;
        let slot = self.e.b.create_sized_stack_slot(StackSlotData::new(
            StackSlotKind::ExplicitSlot,
            size * args.len() as u32,
            4,
        ));
        let mut places: SmallVec<[Value; 2]> = SmallVec::new();
        for (i, x) in args.iter().enumerate() {
            let at = self.e.b.ins().stack_addr(types::I64, slot, (size * i as u32) as i32);
            self.store(x, at);
            places.push(at);
        }
        let n = self.iterations() as i64;
        let n = self.e.int(n);
        self.apply(math, &places, n);
        self.beside(places[0])
    }
}

//! The machine as operations on values see it.

use super::Machine;
use crate::ad::{self, tape::Tape};
use crate::error::Res;
use crate::ops;
use crate::upcalls::{CollectiveSite, Upcalls};
use crate::value::Value;
use adl_ir::Collective;
use adl_prim::{Bin, Prim, Un};
use adl_typing::ty::{DataDecl, DataId};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

impl Upcalls for Machine {
    fn interrupt(&self) -> &AtomicBool {
        &self.interrupt
    }
    fn poll(&self) -> Res<()> {
        Machine::poll(self)
    }
    fn call(&mut self, f: &Value, args: &[Value]) -> Res<Value> {
        Machine::call(self, f, args)
    }
    fn apply_primitive(&mut self, p: Prim, reps: &[Value], args: &mut [Value]) -> Res<Value> {
        ops::apply(self, p, reps, args)
    }
    fn untraced_primitive(&mut self, p: Prim, reps: &[Value], args: &mut [Value]) -> Res<Value> {
        ops::plain(self, p, reps, args)
    }
    fn declaration(&self, id: DataId) -> Option<Rc<DataDecl>> {
        self.definitions.datas.get(&id).cloned()
    }
    fn tape(&mut self, level: u16) -> Option<&mut Tape> {
        self.ad.tape(level)
    }
    fn traced_unary(&mut self, op: Un, value: &Value) -> Res<Value> {
        ad::arith_un(self, op, value)
    }
    fn traced_binary(&mut self, op: Bin, a: &Value, b: &Value) -> Res<Value> {
        ad::arith_bin(self, op, a, b)
    }
    fn traced_element(&mut self, array: &Value, index: usize) -> Res<Value> {
        ad::elem(self, array, index)
    }
    fn traced_pack(&mut self, vals: Vec<Value>) -> Res<Value> {
        ad::pack(self, vals)
    }
    fn open_tape(&mut self, tape: Tape) -> Res<u16> {
        self.ad.open(ad::DerivativeLevel::Reverse(tape))
    }
    fn close_tape(&mut self, level: u16) -> Tape {
        self.ad.close(level)
    }
    fn repeat_effects(&mut self, results: &[Value]) {
        self.effects.repeat(results);
    }
    fn collective(
        &mut self,
        kind: Collective,
        leaves: Vec<Value>,
        at: &Value,
        site: CollectiveSite,
    ) -> Res<Vec<Value>> {
        ops::comm::collective(self, kind, leaves, at, site)
    }
    fn unary_on_device(&mut self, op: Un, a: &Value) -> Res<Option<Value>> {
        Machine::unary_on_device(self, op, a)
    }
    fn binary_on_device(&mut self, op: Bin, a: &Value, b: &Value) -> Res<Option<Value>> {
        Machine::binary_on_device(self, op, a, b)
    }
}

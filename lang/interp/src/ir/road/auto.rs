//! With `auto`, a gradient goes to the CPU or to a device as a whole, whichever has been faster at about so many numbers. Halves that are
//! measured apart would each pay for what the other has left on the other side.

use super::whole::{Recorded, Whole, run, whole_for_device};
use super::{Lined, Not, Ready};
use crate::device::Next;
use crate::error::Res;
use crate::value::{Value, seq};
use crate::vm::Machine;
use std::time::Instant;

/// How many numbers a function is given: what times are kept by.
fn numbers(leaves: &[Value]) -> u64 {
    leaves.iter().map(|v| seq::shape(v).map_or(1, |s| s.iter().product::<usize>() as u64)).fold(0, u64::saturating_add)
}

/// The gradient, if a device is to do it; otherwise how many numbers it is given, if the CPU is to do it and times decide.
pub(super) enum Side {
    /// The device has done it.
    Device(Res<Result<Recorded, Not>>),
    /// The CPU is to do all of it.
    Cpu(u64),
}

/// Where a gradient is computed that may be computed as a whole.
pub(super) fn side(m: &mut Machine, x: &Value, ready: &Ready, value: bool) -> Side {
    let (l, size) = (&ready.lined, numbers(&ready.leaves));
    let measured = match l.paces.borrow().next(size) {
        Next::Cpu | Next::MeasureCpu => return Side::Cpu(size),
        Next::Device => false,
        Next::MeasureDevice => true,
    };
    match whole_for_device(m, l, value) {
        Some(whole) => Side::Device(on_device(m, x, ready, &whole, measured)),
        None => {
            l.paces.borrow_mut().refused(size);
            Side::Cpu(size)
        }
    }
}

fn on_device(m: &mut Machine, x: &Value, ready: &Ready, whole: &Whole, measured: bool) -> Res<Result<Recorded, Not>> {
    let (l, size, start) = (&ready.lined, numbers(&ready.leaves), Instant::now());
    let (out, done) = m.there(measured, |m| run(m, x, l, whole, ready.leaves.clone()));
    match done {
        true if measured => l.paces.borrow_mut().took(size, true, start.elapsed()),
        true => {}
        false => l.paces.borrow_mut().refused(size),
    }
    out
}

/// Notes what a gradient took on the CPU.
pub(super) fn took_here(l: &Lined, size: u64, start: Instant) {
    l.paces.borrow_mut().took(size, false, start.elapsed());
}

//! The `gradient_target` device mode for gradients: the entire gradient runs on the CPU or on the device, whichever was
//! faster for arguments of about that size. If both halves were timed separately, each would pay for
//! transferring the data that the other one left on the other processor.

use super::FusedGradient;
use super::fused_gradient::{Differentiated, fused_for_device, run};
use super::{Linearized, NotCompiled, PreparedGradient};
use crate::device::NextTarget;
use crate::error::Res;
use crate::value::{Value, seq};
use crate::vm::Machine;
use std::time::Instant;

/// The number of scalars in the arguments, by which times are classified.
fn numbers(leaves: &[Value]) -> u64 {
    leaves.iter().map(|v| seq::shape(v).map_or(1, |s| s.iter().product::<usize>() as u64)).fold(0, u64::saturating_add)
}

/// Where a gradient runs.
pub(super) enum GradientTarget {
    /// It was computed on the device.
    Device(Res<Result<Differentiated, NotCompiled>>),
    /// The CPU must compute all of it; the field is the number of scalars in the arguments.
    Cpu(u64),
}

/// Decides where to compute a gradient that may run as one function, and runs it if that is the device.
pub(super) fn side(m: &mut Machine, x: &Value, ready: &PreparedGradient, value: bool) -> GradientTarget {
    let (l, size) = (&ready.lined, numbers(&ready.leaves));
    let measured = match l.profile.device.borrow().next(size) {
        NextTarget::Cpu | NextTarget::MeasureCpu => return GradientTarget::Cpu(size),
        NextTarget::Device => false,
        NextTarget::MeasureDevice => true,
    };
    match fused_for_device(m, l, value) {
        Some(whole) => GradientTarget::Device(on_device(m, x, ready, &whole, measured)),
        None => {
            l.profile.device.borrow_mut().refused(size);
            GradientTarget::Cpu(size)
        }
    }
}

fn on_device(
    m: &mut Machine,
    x: &Value,
    ready: &PreparedGradient,
    whole: &FusedGradient,
    measured: bool,
) -> Res<Result<Differentiated, NotCompiled>> {
    let (l, size, start) = (&ready.lined, numbers(&ready.leaves), Instant::now());
    let (out, done) = m.device_only(measured, |m| run(m, x, l, whole, ready.leaves.clone()));
    match done {
        true if measured => l.profile.device.borrow_mut().took(size, true, start.elapsed()),
        true => {}
        false => l.profile.device.borrow_mut().refused(size),
    }
    out
}

/// Records the time of a gradient on the CPU.
pub(super) fn took_here(l: &Linearized, size: u64, start: Instant) {
    l.profile.device.borrow_mut().took(size, false, start.elapsed());
}

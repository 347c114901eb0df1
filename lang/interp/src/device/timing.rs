//! Timing of a function on the CPU and on the device, to choose the faster one.

use crate::limits::device_timing::{TIMES, WORTH};
use std::collections::HashMap;
use std::time::Duration;

/// The number of timed calls of one size class, and the shortest time, for each target.
#[derive(Clone, Copy, Default, Debug)]
struct TargetTimes {
    cpu: (u32, Option<Duration>),
    device: (u32, Option<Duration>),
}

/// Where the next call runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextTarget {
    /// On the CPU; its time is recorded.
    MeasureCpu,
    /// On the device; its time is recorded.
    MeasureDevice,
    /// On the CPU.
    Cpu,
    /// On the device.
    Device,
}

/// The profile of one function: times by size class, which is the binary logarithm of the number of element
/// operations.
#[derive(Default, Debug)]
pub struct DeviceTimes(HashMap<u32, TargetTimes>);

fn class(wide: u64) -> u32 {
    wide.max(1).ilog2()
}

impl DeviceTimes {
    /// Where a call with `wide` element operations runs.
    pub fn next(&self, wide: u64) -> NextTarget {
        let t = self.0.get(&class(wide)).copied().unwrap_or_default();
        match (t.cpu, t.device) {
            ((n, Some(cpu)), _) if n >= TIMES && cpu < WORTH => NextTarget::Cpu,
            ((n, _), _) if n < TIMES => NextTarget::MeasureCpu,
            (_, (n, _)) if n < TIMES => NextTarget::MeasureDevice,
            ((_, Some(cpu)), (_, Some(device))) if device < cpu => NextTarget::Device,
            _ => NextTarget::Cpu,
        }
    }

    /// Records the time of a call.
    pub fn took(&mut self, wide: u64, on_device: bool, time: Duration) {
        let t = self.0.entry(class(wide)).or_default();
        let (n, least) = if on_device { &mut t.device } else { &mut t.cpu };
        *n += 1;
        *least = Some(least.map_or(time, |l| l.min(time)));
    }

    /// Records that the device does not run calls of this size class.
    pub fn refused(&mut self, wide: u64) {
        self.0.entry(class(wide)).or_default().device = (TIMES, None);
    }
}

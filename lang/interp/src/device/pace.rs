//! Which of CPU and device is faster for a function, by measuring both.

use std::collections::HashMap;
use std::time::Duration;

/// What a call must take on the CPU for a device to be tried: less than that, opening one and compiling its kernels is never earned back.
const WORTH: Duration = Duration::from_millis(5);

/// Times that each is measured: the first time, things are made.
const TIMES: u32 = 2;

/// What calls of about one size took.
#[derive(Clone, Copy, Default, Debug)]
struct Times {
    cpu: (u32, Option<Duration>),
    device: (u32, Option<Duration>),
}

/// What is next for a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// The CPU, and how long it takes is noted.
    MeasureCpu,
    /// The device, and how long it takes is noted.
    MeasureDevice,
    /// The CPU.
    Cpu,
    /// The device.
    Device,
}

/// Times of a function, by about how much there is to do: a power of two.
#[derive(Default, Debug)]
pub(crate) struct Pace(HashMap<u32, Times>);

fn class(wide: u64) -> u32 {
    wide.max(1).ilog2()
}

impl Pace {
    /// Where a call with so much to do goes.
    pub fn next(&self, wide: u64) -> Next {
        let t = self.0.get(&class(wide)).copied().unwrap_or_default();
        match (t.cpu, t.device) {
            ((n, Some(cpu)), _) if n >= TIMES && cpu < WORTH => Next::Cpu,
            ((n, _), _) if n < TIMES => Next::MeasureCpu,
            (_, (n, _)) if n < TIMES => Next::MeasureDevice,
            ((_, Some(cpu)), (_, Some(device))) if device < cpu => Next::Device,
            _ => Next::Cpu,
        }
    }

    /// Notes what a call took.
    pub fn took(&mut self, wide: u64, on_device: bool, time: Duration) {
        let t = self.0.entry(class(wide)).or_default();
        let (n, least) = if on_device { &mut t.device } else { &mut t.cpu };
        *n += 1;
        *least = Some(least.map_or(time, |l| l.min(time)));
    }

    /// Notes that the device does not do such calls.
    pub fn refused(&mut self, wide: u64) {
        self.0.entry(class(wide)).or_default().device = (TIMES, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(cpu: &[u64], device: &[u64]) -> Next {
        let mut p = Pace::default();
        cpu.iter().for_each(|ms| p.took(1000, false, Duration::from_millis(*ms)));
        device.iter().for_each(|ms| p.took(1023, true, Duration::from_millis(*ms)));
        p.next(1010)
    }

    #[test]
    fn both_are_measured_where_the_cpu_takes_long() {
        assert_eq!(after(&[], &[]), Next::MeasureCpu);
        assert_eq!(after(&[50], &[]), Next::MeasureCpu);
        assert_eq!(after(&[50, 1], &[]), Next::Cpu);
        assert_eq!(after(&[50, 40], &[]), Next::MeasureDevice);
        assert_eq!(after(&[50, 40], &[90]), Next::MeasureDevice);
        assert_eq!(after(&[50, 40], &[90, 2]), Next::Device);
        assert_eq!(after(&[50, 40], &[90, 41]), Next::Cpu);
    }

    #[test]
    fn sizes_are_apart_and_what_is_refused_is_not_tried_again() {
        let mut p = Pace::default();
        (0..2).for_each(|_| p.took(1000, false, Duration::from_millis(50)));
        assert_eq!((p.next(1000), p.next(5000)), (Next::MeasureDevice, Next::MeasureCpu));
        p.refused(1000);
        assert_eq!(p.next(1000), Next::Cpu);
    }
}

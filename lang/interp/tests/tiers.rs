//! Where code runs: the choice between interpreter, compiled code and device, and what it is made of.

use adl_interp::internals::tiers::{ATTEMPTS, CompileTimes, DeviceTimes, MANY, NextTarget, Request, Tier, choose};
use adl_interp::ir::derive::DerivativeStats;
use std::time::Duration;

#[test]
fn the_table() {
    let of = |count, spent, failures, compiles| {
        choose(Request { count, spent: Duration::from_millis(spent), failures, compiles })
    };
    use Tier::{Compiled, Interpreter};
    for (request, tier, why) in [
        ((1, 0, 0, true), Interpreter, "few elements, nothing known"),
        ((1000, 0, 0, true), Interpreter, "compilation may take longer"),
        ((1000, 1, 0, true), Interpreter, "it still may"),
        ((1000, 2, 0, true), Compiled, "as much time is spent as compilation takes"),
        ((15, 100, 0, true), Interpreter, "too few for a call of compiled code"),
        ((16, 100, 0, true), Compiled, "enough for one"),
        ((MANY, 0, 0, true), Compiled, "many elements"),
        ((MANY, 0, 2, true), Compiled, "failures may be due to the values"),
        ((MANY, 0, ATTEMPTS, true), Interpreter, "it never succeeds"),
        ((MANY, 100, 0, false), Interpreter, "not possible now"),
        ((0, 0, 0, true), Compiled, "the extents of nothing"),
        ((0, 0, 0, false), Interpreter, "nothing"),
    ] {
        let (count, spent, failures, compiles) = request;
        assert_eq!(of(count, spent, failures, compiles), tier, "{why}: {request:?}");
    }
}

fn after(cpu: &[u64], device: &[u64]) -> NextTarget {
    let mut p = DeviceTimes::default();
    cpu.iter().for_each(|ms| p.took(1000, false, Duration::from_millis(*ms)));
    device.iter().for_each(|ms| p.took(1023, true, Duration::from_millis(*ms)));
    p.next(1010)
}

#[test]
fn both_are_measured_where_the_cpu_takes_long() {
    assert_eq!(after(&[], &[]), NextTarget::MeasureCpu);
    assert_eq!(after(&[50], &[]), NextTarget::MeasureCpu);
    assert_eq!(after(&[50, 1], &[]), NextTarget::Cpu);
    assert_eq!(after(&[50, 40], &[]), NextTarget::MeasureDevice);
    assert_eq!(after(&[50, 40], &[90]), NextTarget::MeasureDevice);
    assert_eq!(after(&[50, 40], &[90, 2]), NextTarget::Device);
    assert_eq!(after(&[50, 40], &[90, 41]), NextTarget::Cpu);
}

#[test]
fn sizes_are_apart_and_what_is_refused_is_not_tried_again() {
    let mut p = DeviceTimes::default();
    (0..2).for_each(|_| p.took(1000, false, Duration::from_millis(50)));
    assert_eq!((p.next(1000), p.next(5000)), (NextTarget::MeasureDevice, NextTarget::MeasureCpu));
    p.refused(1000);
    assert_eq!(p.next(1000), NextTarget::Cpu);
}

#[test]
fn a_call_for_which_something_is_made_later_did_not_find_it() {
    let ms = Duration::from_millis(1);
    let mut s = DerivativeStats::default();
    s.call(CompileTimes { made: ms, ..CompileTimes::default() });
    s.call(CompileTimes::default());
    s.call(CompileTimes::default());
    assert_eq!((s.calls, s.kept, s.made), (3, 2, ms));
    s.add(CompileTimes::default());
    assert_eq!(s.kept, 2);
    s.add(CompileTimes { compiled: ms, ..CompileTimes::default() });
    s.add(CompileTimes { compiled: ms, ..CompileTimes::default() });
    assert_eq!((s.calls, s.kept, s.compiled), (3, 1, 2 * ms));
}

//! Where code runs: the choice between interpreter, compiled code and device, and what it is made of.

use adl_interp::internals::tiers::{
    ATTEMPTS, CHAIN, CompileTimes, DeviceTimes, ITERATION, LARGE, MANY, NextTarget, Profile, Request, SAMPLED, SHORT,
    THRESHOLD, TRIAL, Tier, choose,
};
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

/// Whether code that calls functions is to be compiled at its next call, after operations on arrays of these lengths.
fn hot_after(lengths: impl IntoIterator<Item = usize>, fuses: bool) -> bool {
    let profile = Profile::new(false, true);
    lengths.into_iter().for_each(|n| profile.array(n, fuses));
    profile.call()
}

#[test]
fn operations_on_arrays_count_as_the_iterations_that_take_as_long() {
    let (short, long) = (ITERATION - 1, LARGE - 1);
    let operations = THRESHOLD as usize / (long / ITERATION);
    assert!(!hot_after([], false));
    assert!(!hot_after(vec![short; 2 * THRESHOLD as usize], false), "less than an iteration each");
    assert!(!hot_after(vec![long; operations - 1], false));
    assert!(hot_after(vec![long; operations + 1], false));
    assert!(hot_after(vec![10 * ITERATION; THRESHOLD as usize / 10], false));
    // Counting stops at 1: the next call is the one that is compiled.
    let profile = Profile::new(false, true);
    (0..3 * operations).for_each(|_| profile.array(long, false));
    assert!(profile.call() && !profile.call());
}

#[test]
fn operations_on_large_arrays_count_for_chains_if_they_are_fused() {
    let few = usize::from(CHAIN) - 1;
    assert!(!hot_after(vec![LARGE; few], true));
    assert!(hot_after(vec![LARGE; few + 1], true));
    assert!(!hot_after(vec![LARGE; 1000], false), "maps are parallel in the interpreter");
    let decided = Profile::new(false, true);
    decided.freeze();
    (0..=few).for_each(|_| decided.array(LARGE, true));
    assert!(!decided.call(), "the decision is not taken again");
}

#[test]
fn code_without_calls_and_loops_is_not_counted() {
    let profile = Profile::new(false, false);
    (0..1000).for_each(|_| profile.array(LARGE - 1, true));
    assert!(!profile.iteration() && !profile.call());
}

#[test]
fn short_native_calls_are_compared_with_the_interpreter_three_times() {
    let (short, profile) = (SHORT / 2, Profile::new(true, false));
    let mut compared = 0;
    for _ in 1..2 * TRIAL {
        compared += u32::from(profile.samples(short));
        profile.ran(short);
    }
    assert_eq!(compared, (TRIAL - 1) / SAMPLED);
    assert!(profile.call(), "no comparison was lost");
    let long = Profile::new(true, false);
    for _ in 1..2 * TRIAL {
        assert!(!long.samples(SHORT));
        long.ran(SHORT);
    }
    assert!(long.call());
}

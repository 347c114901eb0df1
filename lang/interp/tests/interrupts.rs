//! Where long operations end when they are interrupted.

use adl_interp::error::codes;
use adl_interp::internals::InterruptFlag;
use adl_interp::internals::polling::{STRIDE, collect, copy, each, listen, poll};
use adl_interp::ops::parallel::{changed, made};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn loops_end_when_they_are_asked_to() {
    let flag = Arc::new(AtomicBool::new(false));
    listen(&flag);
    let mut v = collect(3 * STRIDE, |i| i).unwrap();
    assert_eq!((v.len(), v[3 * STRIDE - 1]), (3 * STRIDE, 3 * STRIDE - 1));
    assert_eq!(copy(&v).unwrap(), v);
    // The interrupt comes in the second part, so the third one is not processed.
    let mut parts = 0;
    let out = each(&mut v, |_| {
        parts += 1;
        flag.store(parts == 2, Ordering::Relaxed);
    });
    assert_eq!((out.unwrap_err().diag.code, parts), (codes::INTERRUPT, 2));
    assert!(collect(1, |i| i).is_err() && copy(&v).is_err());
    listen(&Arc::default());
    assert!(poll().is_ok());
}

#[test]
fn long_work_is_left_behind_on_an_interrupt() {
    let flag = Arc::new(AtomicBool::new(false));
    assert_eq!(InterruptFlag(&flag).aside(0, || 1).unwrap(), 1);
    assert_eq!(InterruptFlag(&flag).aside(u64::MAX, || 2).unwrap(), 2);
    let setter = flag.clone();
    let start = std::time::Instant::now();
    let timer = std::thread::spawn(move || setter.store(true, Ordering::Relaxed));
    let out = InterruptFlag(&flag).aside(u64::MAX, || std::thread::sleep(Duration::from_secs(5)));
    timer.join().unwrap();
    assert_eq!(out.unwrap_err().diag.code, codes::INTERRUPT);
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}

#[test]
fn an_interrupt_ends_it() {
    let on = AtomicBool::new(true);
    assert!(made::<f64>(InterruptFlag(&on), 1000, |_, _| ()).is_err());
    assert!(changed(InterruptFlag(&on), &mut [0.0; 1000], |_, _| ()).is_err());
}

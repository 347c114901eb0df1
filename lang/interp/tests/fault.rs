//! Panics as errors, and where they are caught.

use adl_interp::fault::{aside, catch, helper, resume, resume_from, shielded};
use adl_interp::interrupted;
use std::time::Duration;

#[test]
fn a_boundary_has_message_and_place() {
    let fault = catch(|| [1, 2, 3][std::hint::black_box(5)]).unwrap_err();
    assert_eq!(fault.message, "index out of bounds: the len is 3 but the index is 5");
    assert!(fault.place.as_deref().is_some_and(|p| p.contains("fault.rs:")), "{fault:?}");
    assert_eq!(catch(|| 7), Ok(7));
}

#[test]
fn a_shielded_panic_waits_for_native_code_to_return() {
    let fault = catch(|| {
        let got = shielded(|| 3, || [1, 2][std::hint::black_box(2)]);
        assert_eq!((got, interrupted()), (3, true));
        resume();
    });
    assert_eq!(fault.unwrap_err().message, "index out of bounds: the len is 2 but the index is 2");
    assert!(!interrupted());
    resume();
}

#[test]
fn a_helper_that_panics_goes_on_and_is_heard_of() {
    let (send, steps) = std::sync::mpsc::channel();
    let (told, stops) = std::sync::mpsc::channel();
    let mut n = 0;
    let step = move || {
        n += 1;
        send.send(n).ok()?;
        Some([Duration::ZERO; 2][if n == 1 { std::hint::black_box(7) } else { 0 }])
    };
    let stop = move || {
        let _ = told.send(());
    };
    helper("adl-test", step, stop).unwrap();
    assert_eq!((steps.recv(), stops.recv()), (Ok(1), Ok(())));
    assert!(aside().is_some_and(|f| f.message.contains("the index is 7") && f.place.is_some()));
    assert_eq!((steps.recv(), aside()), (Ok(2), None));
}

#[test]
fn a_boundary_knows_the_place_of_a_panic_on_another_thread() {
    let fault = catch(|| {
        let thread =
            std::thread::Builder::new().name("adl-test".into()).spawn(|| [1, 2, 3, 4][std::hint::black_box(9)]);
        thread.map_or(0, |t| t.join().unwrap_or_else(|p| resume_from(p)))
    });
    let fault = fault.unwrap_err();
    assert!(fault.message.contains("the index is 9") && fault.place.is_some(), "{fault:?}");
}

//! Sessions: what front ends rely on.

use adl_interp::host::Host;
use adl_session::Session;
use adl_tests::{echo_in, session};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A host whose `print` sets a flag, and that keeps what it hears of progress.
struct Watcher {
    flag: Rc<RefCell<Arc<AtomicBool>>>,
    heard: Rc<RefCell<Vec<(u64, u64)>>>,
}

impl Host for Watcher {
    fn print(&mut self, _text: &str) {
        self.flag.borrow().store(true, Ordering::Relaxed);
    }
    fn progress(&mut self, done: u64, total: u64) {
        self.heard.borrow_mut().push((done, total));
    }
}

type Heard = Rc<RefCell<Vec<(u64, u64)>>>;

fn watched() -> (Session, Rc<RefCell<Arc<AtomicBool>>>, Heard) {
    let (flag, heard) = (Rc::new(RefCell::new(Arc::default())), Heard::default());
    let s = Session::new(Box::new(Watcher { flag: flag.clone(), heard: heard.clone() }));
    (s, flag, heard)
}

#[test]
fn progress_is_that_of_the_outermost_counted_loop() {
    let (mut s, flag, heard) = watched();
    *flag.borrow_mut() = s.tick();
    let out = s.eval("loop x = 0 for i < 3 do\n  print i\n  loop y = x for j < 5 do y + 1");
    assert!(out.ok());
    assert_eq!(*heard.borrow(), [(0, 3), (1, 3), (2, 3)]);
    heard.borrow_mut().clear();
    assert!(s.eval("let f n =\n  print n\n  loop y = 0 for j < 2 do y + n\nloop x = 0 for i < 2 do x + f i\nf 1").ok());
    assert_eq!(*heard.borrow(), [(0, 2), (1, 2), (0, 2)]);
}

#[test]
fn progress_goes_on_in_native_code() {
    let (mut s, flag, heard) = watched();
    *flag.borrow_mut() = s.tick();
    let tick = s.tick();
    let asking = std::thread::spawn(move || {
        for _ in 0..200 {
            tick.store(true, std::sync::atomic::Ordering::Relaxed);
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    });
    assert!(s.eval("loop s = 0.0 for i < 30000000 do s + sin (float i)").ok());
    asking.join().expect("the thread ends");
    let heard = heard.borrow();
    assert!(heard.iter().any(|(done, _)| *done > 1_000_000), "{heard:?}");
}

#[test]
fn an_interrupt_leaves_the_session_whole() {
    let (mut s, flag, _) = watched();
    *flag.borrow_mut() = s.interrupt();
    assert!(s.eval("let a = 1\nlet rec spin n = (let _ = (if n == 3 then print 1 else ()) in spin (n + 1))").ok());
    let out = s.eval("let b = spin 0");
    assert!(out.interrupted && out.diags[0].code == "E0708" && out.diags[0].stack[0].0 == "spin");
    s.clear_interrupt();
    assert_eq!(echo_in(&mut s, "a + 1"), "2 : Int");
    assert_eq!(echo_in(&mut s, "b"), "E0201: unknown name `b`");
}

#[test]
fn an_entry_runs_up_to_its_first_error() {
    let (mut s, out) = session();
    let r = s.eval("let c = 10\nprint c\nlet c = c + [1][1]\nprint 2\nlet d = 3");
    assert!(!r.ok() && r.echoes.len() == 1);
    assert_eq!(*out.borrow(), "10\n");
    assert_eq!(echo_in(&mut s, "c"), "10 : Int");
    assert!(echo_in(&mut s, "d").starts_with("E0201"));
    // One that does not parse does not run at all.
    assert!(!s.eval("let c = 20\nlet e = )").ok());
    assert_eq!(echo_in(&mut s, "c"), "10 : Int");
}

#[test]
fn true_sizes_are_known_to_what_follows() {
    let (mut s, _) = session();
    assert!(s.eval("let xs = filter (fun x -> x > 1.0) [1.0, 2.0, 3.0]").ok());
    assert_eq!(
        echo_in(&mut s, "xs + [1.0, 2.0, 3.0]"),
        "E0301: [2]Float does not match [3]Float: size 2 is from line 1 of <1>, size 3 from line 1"
    );
    assert_eq!(
        echo_in(&mut s, "({a = xs}, Some xs)"),
        "({a = [2.0, 3.0]}, Some [2.0, 3.0]) : ({a : [2]Float}, Option [2]Float)"
    );
}

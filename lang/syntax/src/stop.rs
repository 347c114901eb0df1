//! Interrupts while a text is parsed and checked: what loops over a program looks at a flag now and then, and leaves by unwinding.
//!
//! Parsing and checking are total and return no errors of this kind, so there is nothing to hand them through. The flag belongs to a thread, and only
//! as long as a boundary is around that catches [`Stopped`].

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static FLAG: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// What an interrupt unwinds with.
#[derive(Debug)]
pub struct Stopped;

/// As long as it lives, a flag is looked at.
pub struct Listening(Option<Arc<AtomicBool>>);

/// From now on this thread looks at a flag. To be called below a boundary that catches [`Stopped`].
pub fn listen(flag: Arc<AtomicBool>) -> Listening {
    Listening(FLAG.replace(Some(flag)))
}

impl Drop for Listening {
    fn drop(&mut self) {
        FLAG.set(self.0.take());
    }
}

/// Unwinds if an interrupt was asked for.
#[inline]
pub fn poll() {
    if FLAG.with_borrow(|f| f.as_ref().is_some_and(|f| f.load(Ordering::Relaxed))) {
        resume_unwind(Box::new(Stopped));
    }
}

//! The end of a run that takes more memory than there is.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

struct Shared {
    interrupt: Mutex<Arc<AtomicBool>>,
    /// Bytes that the process held; 0 as long as nothing is wrong.
    bytes: AtomicU64,
    running: AtomicBool,
}

/// Set from elsewhere to stop a run because memory is used up. Stops it as an interrupt does, with another error.
#[derive(Clone)]
pub struct Starved(Arc<Shared>);

/// The same, without keeping the machine's part alive.
pub struct WeakStarved(Weak<Shared>);

impl Starved {
    pub(super) fn new(interrupt: Arc<AtomicBool>) -> Starved {
        Starved(Arc::new(Shared { interrupt: Mutex::new(interrupt), bytes: AtomicU64::new(0), running: AtomicBool::new(false) }))
    }

    /// Stops the run, if there is one. `bytes`: what the process holds. Allocates nothing.
    pub fn set(&self, bytes: u64) {
        if self.0.running.load(Ordering::Relaxed) {
            self.0.bytes.store(bytes.max(1), Ordering::Relaxed);
            self.interrupt();
        }
    }

    /// Stops the run, if there is one, as an interrupt does.
    pub fn interrupt(&self) {
        if self.0.running.load(Ordering::Relaxed) {
            // The thread that changes the flag holds it for a moment; who watches asks again soon.
            if let Ok(interrupt) = self.0.interrupt.try_lock() {
                interrupt.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Stops runs by another flag from now on.
    pub(super) fn stops(&self, flag: Arc<AtomicBool>) {
        if let Ok(mut interrupt) = self.0.interrupt.lock() {
            *interrupt = flag;
        }
    }

    /// Whether a run has been told to stop, and has not ended yet.
    pub fn ending(&self) -> bool {
        self.get().is_some()
    }

    /// What the process held when it was stopped.
    pub(super) fn get(&self) -> Option<u64> {
        Some(self.0.bytes.load(Ordering::Relaxed)).filter(|b| *b > 0)
    }

    /// Forgets it.
    pub(super) fn clear(&self) {
        self.0.bytes.store(0, Ordering::Relaxed);
    }

    /// A run begins or ends; whether there was one around it.
    pub(super) fn run(&self, running: bool) -> bool {
        self.0.running.swap(running, Ordering::Relaxed)
    }

    /// For a thread that watches.
    pub fn downgrade(&self) -> WeakStarved {
        WeakStarved(Arc::downgrade(&self.0))
    }
}

impl WeakStarved {
    /// The whole again, if its machine is still there.
    pub fn upgrade(&self) -> Option<Starved> {
        self.0.upgrade().map(Starved)
    }
}

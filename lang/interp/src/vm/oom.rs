//! Stops a run that exhausts memory.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

struct OomState {
    interrupt: Mutex<Arc<AtomicBool>>,
    /// The number of bytes that the process held when the run was stopped; 0 if it was not.
    bytes: AtomicU64,
    running: AtomicBool,
}

/// A handle by which another thread stops a run because memory is exhausted. The run stops as by an interrupt,
/// but with another error.
#[derive(Clone)]
pub struct OutOfMemoryFlag(Arc<OomState>);

/// A handle that does not keep the machine's state alive.
pub struct WeakOutOfMemoryFlag(Weak<OomState>);

impl OutOfMemoryFlag {
    pub(super) fn new(interrupt: Arc<AtomicBool>) -> OutOfMemoryFlag {
        OutOfMemoryFlag(Arc::new(OomState {
            interrupt: Mutex::new(interrupt),
            bytes: AtomicU64::new(0),
            running: AtomicBool::new(false),
        }))
    }

    /// Stops the run, if one is in progress. `bytes` is the memory held by the process. Does not allocate.
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

    /// Sets the flag by which runs are stopped from now on.
    pub(super) fn stops(&self, flag: Arc<AtomicBool>) {
        if let Ok(mut interrupt) = self.0.interrupt.lock() {
            *interrupt = flag;
        }
    }

    /// Whether the run was told to stop and has not ended yet.
    pub fn ending(&self) -> bool {
        self.get().is_some()
    }

    /// The number of bytes that the process held when the run was stopped.
    pub(super) fn get(&self) -> Option<u64> {
        Some(self.0.bytes.load(Ordering::Relaxed)).filter(|b| *b > 0)
    }

    /// Clears the request to stop.
    pub(super) fn clear(&self) {
        self.0.bytes.store(0, Ordering::Relaxed);
    }

    /// Records the beginning or the end of a run. Returns whether a run was in progress before.
    pub(super) fn run(&self, running: bool) -> bool {
        self.0.running.swap(running, Ordering::Relaxed)
    }

    /// A handle for a watching thread.
    pub fn downgrade(&self) -> WeakOutOfMemoryFlag {
        WeakOutOfMemoryFlag(Arc::downgrade(&self.0))
    }
}

impl WeakOutOfMemoryFlag {
    /// The full handle, if the machine still exists.
    pub fn upgrade(&self) -> Option<OutOfMemoryFlag> {
        self.0.upgrade().map(OutOfMemoryFlag)
    }
}

//! The end of a run that takes more memory than there is.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// Set from elsewhere to stop a run because memory is used up. Stops it as an interrupt does, with another error.
#[derive(Clone)]
pub struct Starved {
    interrupt: Arc<AtomicBool>,
    /// Bytes that the process held; 0 as long as nothing is wrong.
    bytes: Arc<AtomicU64>,
}

/// The same, without keeping the machine's part alive.
pub struct WeakStarved(Weak<AtomicBool>, Weak<AtomicU64>);

impl Starved {
    pub(super) fn new(interrupt: Arc<AtomicBool>) -> Starved {
        Starved { interrupt, bytes: Arc::default() }
    }

    /// Stops the run. `bytes`: what the process holds.
    pub fn set(&self, bytes: u64) {
        self.bytes.store(bytes.max(1), Ordering::Relaxed);
        self.interrupt.store(true, Ordering::Relaxed);
    }

    /// What the process held when it was stopped.
    pub(super) fn get(&self) -> Option<u64> {
        Some(self.bytes.load(Ordering::Relaxed)).filter(|b| *b > 0)
    }

    /// Forgets it.
    pub(super) fn clear(&self) {
        self.bytes.store(0, Ordering::Relaxed);
    }

    /// For a thread that watches.
    pub fn downgrade(&self) -> WeakStarved {
        WeakStarved(Arc::downgrade(&self.interrupt), Arc::downgrade(&self.bytes))
    }
}

impl WeakStarved {
    /// The whole again, if its machine is still there.
    pub fn upgrade(&self) -> Option<Starved> {
        Some(Starved { interrupt: self.0.upgrade()?, bytes: self.1.upgrade()? })
    }
}

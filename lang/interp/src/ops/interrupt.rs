//! Interrupts in long operations: they poll, or run on a separate thread that can be abandoned.

use crate::error::{Error, Res, codes};
use crate::fault;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::limits::ops_interrupt::LONG;
pub(crate) use crate::polling::STRIDE;

/// A handle on the interrupt flag.
#[derive(Clone, Copy)]
pub struct InterruptFlag<'a>(pub &'a AtomicBool);

impl InterruptFlag<'_> {
    /// An error if an interrupt was requested.
    #[inline]
    pub fn poll(self) -> Res<()> {
        if self.0.load(Ordering::Relaxed) { Err(Error::new(codes::INTERRUPT, "interrupted")) } else { Ok(()) }
    }

    /// Whether an interrupt was requested.
    #[inline]
    pub fn is_set(self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Does work of about `flops` operations that cannot ask by itself. Where that is long, a thread does it, and on an interrupt no caller
    /// waits for it: it ends when it is done, and its result is dropped.
    pub fn aside<T: Send + 'static>(self, flops: u64, work: impl FnOnce() -> T + Send + 'static) -> Res<T> {
        self.poll()?;
        if flops < LONG {
            return Ok(work());
        }
        let (send, receive) = mpsc::channel();
        let work = Arc::new(std::sync::Mutex::new(Some(work)));
        let theirs = work.clone();
        let take = |w: &std::sync::Mutex<Option<_>>| w.lock().ok().and_then(|mut w| w.take());
        let spawned = std::thread::Builder::new().name("adl-work".into()).spawn(move || {
            if let Some(f) = take(&theirs) {
                // The receiver may be gone.
                let _ = send.send(catch_unwind(AssertUnwindSafe(|| {
                    fault::point(fault::PanicPoint::Work);
                    f()
                })));
            }
        });
        if spawned.is_err() {
            // No thread could be created: the work runs on this one.
            return take(&work).map(|f| f()).ok_or_else(lost);
        }
        loop {
            match receive.recv_timeout(Duration::from_millis(10)) {
                Ok(Ok(result)) => return Ok(result),
                Ok(Err(panic)) => fault::resume_from(panic),
                Err(RecvTimeoutError::Timeout) => self.poll()?,
                Err(RecvTimeoutError::Disconnected) => return Err(lost()),
            }
        }
    }
}

fn lost() -> Box<Error> {
    Error::new(codes::MEMORY, "the thread of a long operation ended without a result")
}

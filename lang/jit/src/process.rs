//! What the process was started with, as it was before Rust's runtime looked.
//!
//! The runtime opens `/dev/null` in the place of a standard descriptor that is closed, after which writing to it succeeds.

use std::sync::atomic::{AtomicU8, Ordering};

/// A bit for each of the three standard descriptors that was closed.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Whether a standard descriptor (0 to 2) was closed when the process began. Elsewhere than on Linux none counts as closed.
pub fn was_closed(descriptor: u8) -> bool {
    CLOSED.load(Ordering::Relaxed) & (1 << descriptor) != 0
}

#[cfg(target_os = "linux")]
extern "C" fn look() {
    for descriptor in 0..3 {
        // SAFETY: asking for the flags of a descriptor has no preconditions and changes nothing.
        if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } == -1 {
            CLOSED.fetch_or(1 << descriptor, Ordering::Relaxed);
        }
    }
}

// SAFETY: functions in this section are called once, before `main`, with arguments that C functions may ignore. `look` needs nothing of Rust's runtime.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

//! The state of the standard descriptors at process start, recorded before Rust's runtime changes it.
//!
//! The runtime opens `/dev/null` for a standard descriptor that is closed, after which writes to it succeed.

use std::sync::atomic::{AtomicU8, Ordering};

/// One bit for each standard descriptor that was closed.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Whether a standard descriptor (0 to 2) was closed when the process started. Always false on systems other than
/// Linux.
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

// SAFETY: functions in this section are called once, before `main`, with arguments that C functions may ignore. `look`
// uses nothing that Rust's runtime initialises.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

//! Ctrl-C while adl runs on the main thread.
//!
//! Python's handler only sets a flag, which the interpreter looks at when it runs again. So a run of more than a moment gets
//! a handler of its own, which sets the engine's flag and calls Python's. A helper installs it, so that short calls pay nothing.

use adl_session::Session;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// How long a run lasts before it gets a handler.
const MOMENT: Duration = Duration::from_millis(20);

/// Odd while adl runs on the main thread; each run has its own number.
static RUN: AtomicU64 = AtomicU64::new(0);
/// Whether the helper sleeps until it is woken.
static ASLEEP: AtomicBool = AtomicBool::new(true);
static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
static HELPER: OnceLock<Option<std::thread::Thread>> = OnceLock::new();
/// The handler that ours stands in for, while it is installed.
static BEFORE: Mutex<Option<libc::sigaction>> = Mutex::new(None);
/// The same for the handler itself, which must not take locks: the address of the function.
static CHAINED: AtomicU64 = AtomicU64::new(0);

/// A run on the main thread, until it is dropped.
pub struct WatchedRun(bool);

/// Watches a run that this thread begins.
pub fn watch(session: &Session) -> WatchedRun {
    let main = on_main_thread();
    if main {
        FLAG.get_or_init(|| session.interrupt());
        RUN.fetch_add(1, Ordering::SeqCst);
        if ASLEEP.load(Ordering::SeqCst)
            && let Some(helper) = HELPER.get_or_init(start)
        {
            helper.unpark();
        }
    }
    WatchedRun(main)
}

/// Whether this is the thread that Python runs signals on.
fn on_main_thread() -> bool {
    thread_local! { static MAIN: bool = {
        // SAFETY: the calls have no preconditions.
        #[cfg(target_os = "linux")]
        unsafe { libc::getpid() == libc::gettid() }
        // SAFETY: the same.
        #[cfg(target_vendor = "apple")]
        unsafe { libc::pthread_main_np() == 1 }
        #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
        false
    }; }
    MAIN.with(|main| *main)
}

impl Drop for WatchedRun {
    fn drop(&mut self) {
        if self.0 {
            RUN.fetch_add(1, Ordering::SeqCst);
            if CHAINED.load(Ordering::SeqCst) != 0 {
                restore();
            }
        }
    }
}

fn start() -> Option<std::thread::Thread> {
    let helper = std::thread::Builder::new().name("adl-interrupt".into()).spawn(help).ok()?;
    Some(helper.thread().clone())
}

/// The helper: gives a handler to runs that last, and sleeps when there are none.
fn help() {
    let mut idle = 0;
    loop {
        let run = RUN.load(Ordering::SeqCst);
        std::thread::sleep(MOMENT);
        if run % 2 == 1 && RUN.load(Ordering::SeqCst) == run {
            install(run);
        }
        idle = if RUN.load(Ordering::SeqCst) == run && run.is_multiple_of(2) { idle + 1 } else { 0 };
        if idle > 50 {
            ASLEEP.store(true, Ordering::SeqCst);
            if RUN.load(Ordering::SeqCst) == run {
                std::thread::park();
            }
            ASLEEP.store(false, Ordering::SeqCst);
            idle = 0;
        }
    }
}

extern "C" fn on_interrupt(signal: libc::c_int) {
    if let Some(flag) = FLAG.get() {
        flag.store(true, Ordering::Relaxed);
    }
    let chained = CHAINED.load(Ordering::SeqCst);
    if chained != 0 {
        // SAFETY: `install` stored the address of a handler that takes a signal's number, and it is never 0.
        let handler: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(chained as usize) };
        handler(signal);
    }
}

fn install(run: u64) {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    if before.is_some() || RUN.load(Ordering::SeqCst) != run {
        return;
    }
    // SAFETY: `sigaction` is plain data, for which zeros are valid; the pointers are to locals that live through the calls.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGINT, std::ptr::null(), &raw mut old) != 0 {
            return;
        }
        let plain = old.sa_flags & libc::SA_SIGINFO == 0;
        // Ignored and default interrupts stay what they are.
        if !plain || old.sa_sigaction == libc::SIG_IGN || old.sa_sigaction == libc::SIG_DFL {
            return;
        }
        CHAINED.store(old.sa_sigaction as u64, Ordering::SeqCst);
        let mut ours = old;
        ours.sa_sigaction = on_interrupt as *const () as usize;
        libc::sigaction(libc::SIGINT, &raw const ours, std::ptr::null_mut());
        *before = Some(old);
    }
}

fn restore() {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(old) = before.take() {
        // SAFETY: `old` is what the system returned for this signal.
        unsafe { libc::sigaction(libc::SIGINT, &raw const old, std::ptr::null_mut()) };
        CHAINED.store(0, Ordering::SeqCst);
    }
}
